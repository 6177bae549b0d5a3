"""Every example runs, offline and by itself, and shows what it says."""

from __future__ import annotations

import re
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS = {
    "ray_job": ("ray",),
    "table_jax_loop": ("jax",),
    "table_static_cache": ("torch", "transformers"),
    "transformers_generate": ("torch", "transformers"),
    "transformers_processor": ("torch", "transformers"),
}
SHOWS = {
    "agent_loop": r'calls get_weather with \{"city": "Oslo", "unit": "celsius"\}\ntool: (.|\n)*answer: \{.degrees.: \d',
    "agent_turn": r"add\(\{'a': 17, 'b': 25\}\) = 42\n\nthought in \d+ characters, then add\nmismatch at byte 75, "
    r"after Turn\(thinking='Easy.'\)\n(.|\n)*\^\n",
    "algebra": r"Hello, world\. +True\n +Hello, darned! +False\n(.|\n)*even <= pairs: False, as b'aa' shows\n",
    "banned_words": r"likes: .*listen.*\nWithout .*: +'((?!listen|talk).)*'\n.*b'listen'\n(.|\n)* 48 ways(.|\n)*\n\{",
    "budget": r"has 12 tokens\.\n  12 tokens: \{.*\n(.|\n)*  11 tokens: max_tokens=11 is too few: .*\n",
    "fidelity": r"plain mask: +'The' 0\.7.*\n +canonical mask: +'William' (.|\n)*'Theodore' .* 0\.7(.|\n)* model calls",
    "function_calls": r"llama3-pythonic  get_user_info\{'user_id': 7890(.|\n)*\n\[\w+\(.*\)\] -> .*\n.*TaggedPart\(",
    "grammars": r"'if = 2' +False\n(.|\n)*True False\nnothing stands(.|\n)*complete: True\n.*complete: True\n",
    "gzip_model": r"among 4 answers: under the seventh step\n",
    "ray_job": r"JobSummary\(rows=4, failed=2, token_count=\d+\)\nWhat is 0 \+ 2\? \d+\nWhat is 1 \+ 2\? .*nothing",
    "regex_basics": r"\n    \d{4}-\d\d-\d\d   \(.*\n.*\n    (Yes|No)   \((.|\n)*\(ab\)\+ allows \['b'\], taking 'b'\n",
    "table_jax_loop": r"a date +'\d{4}-\d\d-\d\d' +True\n(.*True\n){2}\d+ steps of 3 rows, .* nothing transferred\n",
    "table_static_cache": r"\d{4}-\d\d-\d\d \(True\)\n.* (Yes|No) \(True\)\n",
    "token_table": r"12312 +then \[b'3'\]\n123123 +then \[b'</s>'\]\n(.|\n)*after 123123: \[4\]\n",
    "transformers_generate": r"likes: .*listen.*\nWithout .*: +'((?!listen|talk).)*'\n.*b'listen' cost 0 passes\n"
    r"( +-\d.*'((?!listen).)*'\n){2}.*'2021-03-07'\n.*Anna Berg.*34(.|\n)*",
    "transformers_processor": r"greedy +\['\d{4}-\d\d-\d\d'\]\n(.|\n)*a row +\['\d{4}-\d\d-\d\d', '(Yes|No)'\]\n",
}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if missing := [package for package in NEEDS.get(path.stem, ()) if not find_spec(package)]:
        pytest.skip(f"needs {' and '.join(missing)}")
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    shown = capsys.readouterr().out
    assert re.search(SHOWS[path.stem], shown), shown


def test_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "fidelity.svg"
    path = EXAMPLES / "fidelity.py"
    monkeypatch.setattr(sys, "argv", [str(path), str(picture)])
    runpy.run_path(str(path), run_name="__main__")
    drawn = picture.read_text(encoding="utf-8")
    bars = re.findall(r"(William|Theodore) +(\d+) %", drawn)
    assert sorted(bars) == [("Theodore", "73"), ("William", "27"), ("William", "97"), ("William", "97")]
