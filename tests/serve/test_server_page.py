"""The examples of docs/server.md that need a running server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "server.md"


def test_the_example_of_openais_client(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openai")
    example = re.findall(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0]
    assert "http://127.0.0.1:8000/v1" in example
    code = compile(example.replace("http://127.0.0.1:8000", url), str(PAGE), "exec", dont_inherit=True)
    exec(code, {"__name__": "__main__"})
    person, written, *_, message = capsys.readouterr().out.splitlines()
    assert person.startswith("name=")
    assert '"city": ' in written
    assert message.startswith("max_tokes ")
    assert "did you mean 'max_tokens'?" in message
