"""SGLang's server with detent's grammar backend: requests over HTTP, a model that thinks, and refusals."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import detent
from tests.integrations.engines.cases import GRAMMAR, SCHEMA, TAG, WORDS, cases
from tests.integrations.engines.server import Server, check_answers, running
from tests.integrations.engines.thinking import write_thinking
from write_transformers import write_transformers

pytestmark = pytest.mark.engines
torch = pytest.importorskip("torch")
pytest.importorskip("sglang")

RULES: dict[str, dict[str, Any]] = {
    "json": {"response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}}},
    "regex": {"regex": WORDS},
    "grammar": {"ebnf": GRAMMAR},
}


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the embedded model, or of one that thinks; on the CPU if there is no GPU."""
    folder = tmp_path_factory.mktemp("folder")
    if request.param == "thinking":
        write_thinking(folder)
    else:
        write_transformers(folder)
    start = Path(__file__).parents[2] / "support" / "sglang_server.py"
    options = "--port {port} --grammar-backend detent --mem-fraction-static 0.1 --max-total-tokens 4096"
    command = [sys.executable, str(start), "--model-path", str(folder), *options.split()]
    if not torch.cuda.is_available():
        command += "--device cpu --attention-backend torch_native --sampling-backend pytorch".split()
    if request.param == "thinking":
        command += ["--reasoning-parser", "deepseek-r1"]
    with running(command, folder / "log", SGLANG_USE_CPU_ENGINE="1", OMP_NUM_THREADS="1") as found:
        yield found


@pytest.mark.parametrize("server", ["plain", "thinking"], indirect=True)
def test_answers_are_of_their_rules(server: Server, request: pytest.FixtureRequest) -> None:
    thinking = check_answers(server, RULES, "reasoning_content")
    assert set(thinking) == {"thinking" in request.node.callspec.id}


@pytest.mark.parametrize("server", ["plain"], indirect=True)
def test_structural_tags_and_many_requests_at_once(server: Server) -> None:
    parameters = {"max_new_tokens": 100, "temperature": 1.0, "n": 8, "structural_tag": json.dumps(TAG)}
    status, found = server.post("/generate", {"text": "Make up a person.", "sampling_params": parameters})
    assert status == 200, found
    tagged = detent.regex("<t>[a-z]{3}</t>") + detent.json_schema(SCHEMA)
    assert len(found) == 8
    assert all(tagged.accepts(each["text"]) for each in found), [each["text"] for each in found]


@pytest.mark.parametrize("server", ["plain", "thinking"], indirect=True)
def test_wrong_rules_get_the_status_400(server: Server) -> None:
    schema = {"type": "integer", "minimum": 3, "maximum": 2}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert "no text" in server.refusal(response_format=form)
    assert "unterminated" in server.refusal(regex="a(")
    assert "not defined" in server.refusal(ebnf="root ::= other")
    assert cases()["regex"].is_right(server.chat(**RULES["regex"])["message"]["content"])  # the server goes on
