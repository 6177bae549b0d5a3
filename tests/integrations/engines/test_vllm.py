"""vLLM on the embedded weights with the plugin: structured outputs, drafts, refusals, and the processor for bans."""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path
from typing import Any

import pytest

import detent
from tests.integrations.engines.cases import GRAMMAR, PROMPTS, SCHEMA, TAG, TOOL, WORDS, cases, chat_ids, check_text

pytestmark = pytest.mark.engines
os.environ |= {"VLLM_PLUGINS": "detent", "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1"}
vllm = pytest.importorskip("vllm")

from vllm import SamplingParams  # noqa: E402
from vllm.exceptions import VLLMValidationError  # noqa: E402
from vllm.sampling_params import StructuredOutputsParams  # noqa: E402

from write_transformers import write_transformers  # noqa: E402

TURN = {"style": "detent", "tools": [TOOL], "tool_choice": "required", "max_calls": 1}


def _engine(folder: Path, **options: Any) -> Any:
    return vllm.LLM(
        str(folder),
        max_model_len=512,
        max_num_seqs=8,
        enforce_eager=True,
        dtype="float32",
        structured_outputs_config={"backend": "guidance"},
        logits_processors=options.pop("logits_processors", None),
        **options,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("folder")
    write_transformers(path)
    return path


@pytest.fixture(scope="module")
def engine(folder: Path) -> Any:
    found = _engine(folder, logits_processors=["detent.integrations.vllm_processor:RuleProcessor"])
    yield found
    del found
    gc.collect()


def _write(engine: Any, parameters: list[Any]) -> list[Any]:
    """Return the outputs of all prompts with all parameters, in one batch."""
    pairs = [(prompt, each) for each in parameters for prompt in PROMPTS]
    prompts = [{"prompt_token_ids": chat_ids(prompt)} for prompt, _ in pairs]
    return [each.outputs[0] for each in engine.generate(prompts, [p for _, p in pairs], use_tqdm=False)]


def _outputs(**rule: Any) -> Any:
    return SamplingParams(max_tokens=100, temperature=1.0, seed=3, structured_outputs=StructuredOutputsParams(**rule))


def _with(**arguments: Any) -> Any:
    return SamplingParams(max_tokens=80, temperature=1.0, seed=4, extra_args={"detent": arguments})


def test_detent_is_the_backend(engine: Any) -> None:
    from vllm.v1 import structured_output

    assert structured_output.GuidanceBackend.__module__ == "detent.integrations.vllm"


def test_all_kinds_in_one_batch(engine: Any) -> None:
    rules = [
        {"regex": WORDS},
        {"json": SCHEMA},
        {"choice": ["red", "green", "blue"]},
        {"structural_tag": json.dumps(TAG)},
    ]
    found = _write(engine, [_outputs(**rule) for rule in rules])
    texts = [out.text for out in found]
    assert {out.finish_reason for out in found} == {"stop"}
    count = len(PROMPTS)
    for name, part in zip(("regex", "json", "choice"), (texts[:count], texts[count:], texts[2 * count :]), strict=True):
        for text in part[:count]:
            assert cases()[name].is_right(text), (name, text)
    tagged = detent.regex("<t>[a-z]{3}</t>") + detent.json_schema(SCHEMA)
    assert all(tagged.accepts(text) for text in texts[3 * count :])


def test_grammars_and_objects_that_end(engine: Any) -> None:
    found = _write(engine, [_outputs(grammar=GRAMMAR), _outputs(json_object=True)])
    grammar, objects = found[: len(PROMPTS)], found[len(PROMPTS) :]
    language = detent.gbnf(GRAMMAR)
    for out in grammar:  # a text without a budget may be cut off by max_tokens
        assert cases()["grammar"].is_right(out.text) if out.finish_reason == "stop" else language.why(out.text + "\x00")
    for out in objects:
        assert out.finish_reason == "length" or isinstance(json.loads(out.text), dict)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"regex": "a("}, "unterminated"),
        ({"json": {"type": "integer", "minimum": 3, "maximum": 2}}, "no text"),
        ({"json": {"type": "nonsense"}}, "structured_outputs.json"),
        ({"grammar": "root ::= other"}, "structured_outputs.grammar"),
        ({"structural_tag": '{"type": "structural_tag", "format": {"type": "qwen"}}'}, "supported are"),
        ({"regex": "a", "whitespace_pattern": "x"}, "whitespace_pattern"),
    ],
)
def test_wrong_rules_are_refused_before_the_engine(engine: Any, rule: dict[str, Any], message: str) -> None:
    with pytest.raises(VLLMValidationError, match=message):
        _write(engine, [_outputs(**rule)])
    assert not engine.llm_engine.has_unfinished_requests()


def test_bans_budgets_canonical_tokens_and_turns(engine: Any) -> None:
    parameters = [
        _with(ban=["e", "talk"]),
        _with(regex="[A-Za-z ,.]{20,60}", ban=["e", "talk"], budget=True),
        _with(regex="[a-z]{5,12} [0-9]{2}", canonical=True, budget=True),
        _with(turn=TURN, budget=True),
        _with(grammar=GRAMMAR, budget=True),
        _with(json_object=True, budget=True),
    ]
    found = _write(engine, parameters)
    count = len(PROMPTS)
    vocabulary = detent.load_model().vocabulary
    for out in found[:count]:
        assert "e" not in out.text and "talk" not in out.text
    for name, start in (("ban", 1), ("canonical", 2), ("turn", 3), ("grammar", 4)):
        for out in found[start * count : (start + 1) * count]:
            assert out.finish_reason == "stop", (name, out)
            check_text(name, out.text, vocabulary, list(out.token_ids))
    for out in found[5 * count :]:
        assert out.finish_reason == "stop"
        assert isinstance(json.loads(out.text), dict)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ban": "word"}, "list of texts"),
        ({"bann": ["word"]}, "unknown"),
        ({"regex": "a", "json": {}}, "each say"),
        ({"regex": "a("}, "unterminated"),
        ({"regex": "a", "ban": ["a"]}, "banned|no text"),
    ],
)
def test_wrong_arguments_are_refused(engine: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(VLLMValidationError, match=message):
        _write(engine, [_with(**arguments)])
    with pytest.raises(VLLMValidationError, match="exclude"):
        both = _outputs(regex="a")
        both.extra_args = {"detent": {"ban": ["b"]}}
        _write(engine, [both])


def test_drafts_change_no_text(folder: Path, engine: Any) -> None:
    greedy = [
        SamplingParams(max_tokens=64, temperature=0.0, structured_outputs=StructuredOutputsParams(**rule))
        for rule in ({"json": SCHEMA}, {"regex": WORDS}, {"grammar": GRAMMAR}, {"choice": ["red", "green"]})
    ]
    expected = [out.text for out in _write(engine, greedy)]
    drafts = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3, "prompt_lookup_min": 1}
    other = _engine(folder, speculative_config=drafts)
    assert [out.text for out in _write(other, greedy)] == expected
