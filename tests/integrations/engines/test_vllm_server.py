"""vLLM's server with the plugin: requests over HTTP, a model that thinks, drafts, and refusals."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integrations.engines.cases import GRAMMAR, SCHEMA, WORDS, cases
from tests.integrations.engines.server import Server, check_answers, running
from tests.integrations.engines.thinking import write_thinking
from write_transformers import write_transformers

pytestmark = pytest.mark.engines
pytest.importorskip("vllm")

DRAFTS = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3, "prompt_lookup_min": 1}
RULES: dict[str, dict[str, Any]] = {
    "json": {"response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}}},
    "regex": {"structured_outputs": {"regex": WORDS}},
    "choice": {"structured_outputs": {"choice": ["red", "green", "blue"]}},
    "grammar": {"structured_outputs": {"grammar": GRAMMAR}},
}


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the embedded model with the processor of bans, and one that thinks and writes drafts."""
    folder = tmp_path_factory.mktemp("folder")
    if request.param == "plain":
        write_transformers(folder)
        own = ["--logits-processors", "detent.integrations.vllm_processor:RuleProcessor"]
    else:
        write_thinking(folder)
        own = ["--reasoning-parser", "deepseek_r1", "--speculative-config", json.dumps(DRAFTS)]
    options = "--served-model-name model --port {port} --max-model-len 512 --max-num-seqs 8 --enforce-eager"
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder), *options.split()]
    command += ["--dtype", "float32", "--structured-outputs-config.backend", "guidance", *own]
    with running(command, folder / "log", VLLM_PLUGINS="detent", VLLM_CPU_KVCACHE_SPACE="1") as found:
        yield found


@pytest.mark.parametrize("server", ["plain", "thinking"], indirect=True)
def test_answers_are_of_their_rules(server: Server, request: pytest.FixtureRequest) -> None:
    thinking = check_answers(server, RULES, "reasoning")
    assert set(thinking) == {"thinking" in request.node.callspec.id}


@pytest.mark.parametrize("server", ["plain", "thinking"], indirect=True)
def test_wrong_rules_get_the_status_400(server: Server) -> None:
    schema = {"type": "integer", "minimum": 3, "maximum": 2}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert "no text" in server.refusal(response_format=form)
    assert "unterminated" in server.refusal(structured_outputs={"regex": "a("})
    assert "not defined" in server.refusal(structured_outputs={"grammar": "root ::= other"})
    assert server.chat(**RULES["choice"])["message"]["content"] in ("red", "green", "blue")  # the server goes on


@pytest.mark.parametrize("server", ["plain"], indirect=True)
def test_bans_and_budgets(server: Server) -> None:
    rule = {"regex": "[A-Za-z ,.]{20,60}", "ban": ["e", "talk"], "budget": True}
    choice = server.chat(vllm_xargs={"detent": json.dumps(rule)})
    assert choice["finish_reason"] == "stop"
    assert cases()["ban"].is_right(choice["message"]["content"])
    assert "unknown" in server.refusal(vllm_xargs={"detent": json.dumps({"bann": ["e"]})})
    assert "exclude" in server.refusal(vllm_xargs={"detent": json.dumps(rule)}, **RULES["regex"])


@pytest.mark.parametrize("server", ["thinking"], indirect=True)
def test_drafts_are_made(server: Server) -> None:
    with urllib.request.urlopen(server.address + "/metrics") as response:
        lines = response.read().decode().splitlines()
    drafted = [line for line in lines if line.startswith("vllm:spec_decode_num_draft_tokens_total")]
    assert float(drafted[0].split()[-1]) > 0
