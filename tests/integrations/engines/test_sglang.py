"""SGLang's grammar backends, at the level of its classes: no model runs here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import detent
from tests.integrations.engines.cases import GRAMMAR, SCHEMA, WORDS

pytestmark = pytest.mark.engines
pytest.importorskip("sglang.srt.constrained.base_grammar_backend")

import torch  # noqa: E402
from sglang.srt.constrained.base_grammar_backend import GRAMMAR_BACKEND_REGISTRY, InvalidGrammarObject  # noqa: E402
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend  # noqa: E402
from sglang.srt.runtime_context import get_context  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402

import tests.support.sglang_server  # noqa: E402, F401  (SGLang imports what a CPU lacks)
from detent.integrations.sglang import DetentGrammarBackend, make_backend, register  # noqa: E402
from tests.integrations.engines.thinking import write_thinking  # noqa: E402
from write_transformers import write_transformers  # noqa: E402


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("folder")
    write_transformers(path)
    return AutoTokenizer.from_pretrained(path)


@pytest.fixture(scope="module")
def backend(tokenizer: Any) -> Any:
    return DetentGrammarBackend(tokenizer, 2080, {0})  # wider than the tokenizer


def _get(backend: Any, kind: str, text: str, *, reasoning: bool = False) -> Any:
    """Return the grammar of a request as SGLang's manager does: from its threads, then as a copy from its cache."""
    found, hit = backend.get_cached_or_future_value((kind, text), reasoning)
    if not hit:
        found = found.result(30)
        backend.set_cache((kind, text), found.copy())
        found, hit = backend.get_cached_or_future_value((kind, text), reasoning)
        assert hit
    return found


@pytest.mark.parametrize(
    ("kind", "text", "good"),
    [
        ("json", json.dumps(SCHEMA), '{"name": "Ada", "age": 36}'),
        ("json", "$$ANY$$", '{"a": [1]}'),
        ("regex", WORDS, "Hello world."),
        ("ebnf", GRAMMAR, "1+(22)"),
        (
            "structural_tag",
            json.dumps(
                {
                    "type": "structural_tag",
                    "structures": [{"begin": "<f>", "schema": {}, "end": "</f>"}],
                    "triggers": ["<f>"],
                }
            ),
            "So <f>7</f>",
        ),
    ],
)
def test_masks_follow_the_tokens(backend: Any, kind: str, text: str, good: str) -> None:
    vocabulary = detent.load_model().vocabulary
    grammar, rule = _get(backend, kind, text), _get(backend, kind, text)
    tokens = [*vocabulary.encode_canonical(good), 0]
    matcher = grammar.state.guide.matcher()
    mask = grammar.allocate_vocab_mask(2080, 3, "cpu")
    for token in tokens:
        grammar.reset_vocab_mask(mask)
        grammar.fill_vocab_mask(mask, 1)
        assert (mask[0] == -1).all() and (mask[2] == -1).all()
        logits = torch.zeros(3, 2080)
        grammar.apply_vocab_mask(logits, grammar.move_vocab_mask(mask, "cpu"))
        assert (logits[1] == 0).nonzero().flatten().tolist() == matcher.allowed().tolist()
        assert not torch.isinf(logits[0]).any()
        grammar.accept_token(token)
        matcher.advance(token)
    assert grammar.is_terminated() and grammar.finished
    grammar.accept_token(0)  # SGLang may ask again after the end
    grammar.rollback(2)
    assert not grammar.is_terminated()
    grammar.accept_token(tokens[-2])
    grammar.accept_token(0)
    assert grammar.is_terminated()
    assert not rule.is_terminated()  # a copy is a request of its own


def test_a_wrong_token_ends_the_request(backend: Any) -> None:
    grammar = _get(backend, "regex", "[0-9]+")
    with pytest.raises(ValueError, match="may not follow"):
        grammar.accept_token(0)


WRONG = [
    ("json", "{"),
    ("json", '{"type": "x"}'),
    ("regex", "a("),
    ("ebnf", "root ::= x"),
    ("structural_tag", "[]"),
]


def test_wrong_rules_are_refused(backend: Any) -> None:
    for kind, text in WRONG:
        found = backend.get_cached_or_future_value((kind, text), False)[0].result(30)
        assert isinstance(found, InvalidGrammarObject)
        assert found.error_message


def test_the_backend_is_registered(tokenizer: Any) -> None:
    from sglang.srt.server_args import GRAMMAR_BACKEND_CHOICES

    register()
    register()
    assert GRAMMAR_BACKEND_CHOICES.count("detent") == 1
    with get_context().override_server_args(reasoning_parser=None) as options:
        assert type(GRAMMAR_BACKEND_REGISTRY["detent"](options, tokenizer, 2048, {0})) is DetentGrammarBackend


def test_grammars_that_are_kept_are_bounded(tokenizer: Any) -> None:
    backend = DetentGrammarBackend(tokenizer, 2048, {0})
    for number in range(300):
        _get(backend, "regex", f"a{{{number + 1}}}")
    assert len(backend.cache) == 256
    assert ("regex", "a{300}") in backend.cache and ("regex", "a{1}") not in backend.cache


def test_strict_thinking_excludes_tokens(tmp_path: Path) -> None:
    write_thinking(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    with get_context().override_server_args(reasoning_parser="qwen3", enable_strict_thinking=True) as options:
        backend = make_backend(options, tokenizer, 2080, {0})
    grammar = _get(backend, "regex", "[0-9]{2}", reasoning=True)
    grammar.maybe_init_reasoning(True)
    excluded = grammar.think_excluded_token_ids
    assert excluded
    mask = grammar.allocate_vocab_mask(2080, 1, "cpu")
    grammar.fill_vocab_mask(mask, 0)
    assert not any(int(mask[0][each >> 5]) >> (each & 31) & 1 for each in excluded)
    grammar.accept_token(tokenizer.convert_tokens_to_ids("</think>"))
    for token in [*detent.load_model().vocabulary.encode_canonical("42"), 0]:
        grammar.accept_token(token)
    assert grammar.is_terminated()


def test_thinking_is_free_and_the_answer_is_held(tmp_path: Path) -> None:
    write_thinking(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    end = tokenizer.convert_tokens_to_ids("</think>")
    with get_context().override_server_args(reasoning_parser="deepseek-r1") as options:
        backend = make_backend(options, tokenizer, 2080, {0})
    assert isinstance(backend, ReasonerGrammarBackend)
    grammar = _get(backend, "regex", "[0-9]{2}", reasoning=True)
    grammar.maybe_init_reasoning(True)
    for token in [50, 60, end]:
        grammar.accept_token(token)
    digits = detent.load_model().vocabulary.encode_canonical("42")
    mask = grammar.allocate_vocab_mask(2080, 1, "cpu")
    grammar.fill_vocab_mask(mask, 0)
    assert int(mask[0][digits[0] >> 5]) >> (digits[0] & 31) & 1
    assert sum(bin(word & 0xFFFFFFFF).count("1") for word in mask[0].tolist()) <= 110  # digits, and pairs of them
    with pytest.raises(ValueError):
        grammar.accept_token(end)
    for token in [*digits, 0]:
        grammar.accept_token(token)
    assert grammar.is_terminated()
