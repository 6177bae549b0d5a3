"""generate and stream: what comes out, when it ends, what is refused; with models that are functions."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import detent
from detent.errors import ArgumentError, EmptyLanguageError, ModelError, StateError
from detent.models import CallableModel

# Every byte is a token; then some longer ones, one without text, a special one and the end of text.
BYTES = [bytes([byte]) for byte in range(256)]
TOKENS: list[bytes | None] = [
    *BYTES,
    b"yes",
    b"no",
    b"12",
    "é".encode(),
    "日".encode()[:2],
    None,
    b"<control>",
    b"</s>",
]
BLANK, CONTROL, END = 261, 262, 263
VOCABULARY = detent.Vocabulary(TOKENS, eos_token_ids=[END], special_token_ids=[CONTROL], size=270)


def model(
    function: Callable[[Sequence[int]], object] = lambda ids: np.zeros(270), vocabulary: detent.Vocabulary = VOCABULARY
) -> CallableModel:
    return CallableModel(function, vocabulary, encode=lambda text: list(text.encode()))  # type: ignore[arg-type]


def preferring(*token_ids: int) -> CallableModel:
    """Return a model that likes the ids in this order, and everything else less."""
    logits = np.zeros(270)
    for rank, token_id in enumerate(token_ids):
        logits[token_id] = 1000 - 10 * rank
    return model(lambda ids: logits)


def spelling(text: bytes, prompt: int) -> CallableModel:
    """Return a model that writes `text` byte by byte after a prompt of that many tokens, and then the end."""

    def function(ids: Sequence[int]) -> np.ndarray:
        done = len(ids) - prompt
        logits = np.full(270, -50.0)
        logits[text[done] if done < len(text) else END] = 50
        return logits

    return model(function)


@pytest.mark.parametrize("pattern", ["[0-9]{3}-[0-9]{4}", "yes|no", "(a|b)*c", "é{2,5}", "日+本?", "x?"])
def test_the_text_is_in_the_language(pattern: str) -> None:
    ends = set()
    for seed in range(20):
        out = detent.generate(model(), "p", detent.regex(pattern), max_tokens=40, seed=seed)
        ends.add(out.finish_reason)
        assert re.fullmatch(pattern, out.text)
        assert out.prompt_token_count == 1
    assert "stop" in ends


def test_ids_spell_the_text_without_end_of_text() -> None:
    out = detent.generate(preferring(END, 256), "p", detent.regex("(yes){1,3}"), temperature=0)
    assert out == detent.generation.Output("yes", (256,), "stop", "yes", None, 1)
    assert VOCABULARY.decode(out.token_ids) == b"yes"


def test_an_output_is_frozen_and_hashable() -> None:
    out = detent.generate(model(), "p", detent.regex("a"))
    assert len({out, out}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        out.text = "b"  # type: ignore[misc]


def test_greedy_takes_the_likeliest_that_is_allowed() -> None:
    assert (
        detent.generate(preferring(BLANK, CONTROL, ord("z"), 257, 256), "", detent.regex("yes|no"), temperature=0).text
        == "no"
    )


def test_seeds_repeat_and_differ() -> None:
    texts = [detent.generate(model(), "p", detent.regex("[a-z]{20}"), seed=seed).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_a_guide_is_compiled_once_and_reused() -> None:
    guide = detent.compile(detent.regex("[ab]{8}"), VOCABULARY)
    texts = {detent.generate(model(), "p", guide, seed=seed).text for seed in range(10)}
    assert len(texts) > 5
    assert texts == {detent.generate(model(), "p", detent.regex("[ab]{8}"), seed=seed).text for seed in range(10)}


def test_token_ids_are_a_prompt_too() -> None:
    seen: list[list[int]] = []
    it = model(lambda ids: seen.append(list(ids)) or np.zeros(270))
    for prompt in ([7, CONTROL], (7, CONTROL), np.array([7, CONTROL])):
        assert detent.generate(it, prompt, detent.regex("[ab]")).prompt_token_count == 2  # type: ignore[arg-type]
    assert seen == [[7, CONTROL]] * 3


class TestEnds:
    def test_a_text_that_cannot_go_on_ends_without_asking_the_model(self) -> None:
        calls: list[int] = []
        it = model(lambda ids: calls.append(len(ids)) or np.zeros(270))
        out = detent.generate(it, "p", detent.regex("[ab]{3}"))
        assert (len(out.text), out.finish_reason, calls) == (3, "stop", [1, 2, 3])

    def test_the_empty_text(self) -> None:
        assert detent.generate(model(lambda ids: 1 / 0), "p", detent.regex("")) == detent.generation.Output(
            "", (), "stop", "", None, 1
        )

    def test_the_last_token_may_complete_the_text(self) -> None:
        out = detent.generate(model(), "p", detent.regex("a{3}"), max_tokens=3)
        assert (out.text, out.finish_reason) == ("aaa", "stop")

    def test_too_few_tokens_for_any_text(self) -> None:
        with pytest.raises(detent.LimitError, match=r"max_tokens=2 is too few: .* 'aaa', 3 tokens"):
            detent.generate(model(), "p", detent.regex("a{3}"), max_tokens=2)

    def test_the_text_is_complete_when_the_tokens_are_spent(self) -> None:
        out = detent.generate(preferring(ord("a")), "p", detent.regex("a+(bc)?"), max_tokens=2, temperature=0)
        assert (out.text, out.finish_reason, out.budget_bound_at) == ("aa", "length", 1)  # no room for "bc"
        out = detent.generate(preferring(ord("a")), "p", detent.regex("a+bc"), max_tokens=6, temperature=0)
        assert (out.text, out.finish_reason, out.budget_bound_at) == ("aaaabc", "length", 4)

    def test_end_of_text_only_where_the_text_may_end(self) -> None:
        out = detent.generate(preferring(END), "p", detent.regex("[ab]{2}|[ab]{4}"), temperature=0)
        assert len(out.text) == 2

    @pytest.mark.parametrize("end", [1, 3])
    def test_each_end_of_text_id_ends(self, end: int) -> None:
        vocabulary = detent.Vocabulary([b"a", b"", b"b", b""], eos_token_ids=[1, 3])
        it = model(lambda ids: [50.0 * (i == (end if len(ids) > 2 else 0)) for i in range(4)], vocabulary)
        for language in (None, detent.regex("[ab]*")):
            out = detent.generate(it, [0], language, temperature=0, max_tokens=9)
            assert (out.text, out.token_ids, out.finish_reason) == ("aa", (0, 0), "stop")

    def test_a_vocabulary_without_end_of_text(self) -> None:
        vocabulary = detent.Vocabulary([b"a", b"b"], eos_token_ids=None)
        it = model(lambda ids: [0.0, 0.0], vocabulary)
        assert detent.generate(it, [0], detent.regex("[ab]{5}")).finish_reason == "stop"
        for language in (None, detent.regex("[ab]*")):
            out = detent.generate(it, [0], language, max_tokens=5)
            assert (len(out.text), out.finish_reason) == (5, "length")


class TestUnconstrained:
    def test_the_model_writes_what_it_likes(self) -> None:
        out = detent.generate(spelling("Hé, 日本!".encode(), 1), "p", temperature=0)
        assert (out.text, out.finish_reason) == ("Hé, 日本!", "stop")

    def test_ids_that_are_no_text_are_never_written(self) -> None:
        assert (
            detent.generate(preferring(BLANK, CONTROL, 265, ord("z"), END), "p", temperature=0, max_tokens=3).text
            == "zzz"
        )

    def test_bytes_that_are_not_utf8_are_replaced(self) -> None:
        data = b"a\xffb\xe6\x97"
        out = detent.generate(spelling(data, 1), "p", temperature=0)
        assert out.text == data.decode("utf-8", "replace")
        assert VOCABULARY.decode(out.token_ids) == data

    def test_half_a_character_at_the_cut_is_left_out(self) -> None:
        out = detent.generate(spelling("ab日".encode(), 1), "p", temperature=0, max_tokens=4)
        assert (out.text, len(out.token_ids), out.finish_reason) == ("ab", 4, "length")


class TestStream:
    @pytest.mark.parametrize("pattern", ["[0-9]{3}-[0-9]{4}", "(日|é|a){3,9}", ".{5,20}"])
    @pytest.mark.parametrize("max_tokens", [7, 100])
    def test_pieces_join_to_the_text(self, pattern: str, max_tokens: int) -> None:
        for seed in range(5):
            options = {"max_tokens": max_tokens, "seed": seed}
            pieces = detent.stream(model(), "p", detent.regex(pattern), **options)  # type: ignore[arg-type]
            out = detent.generate(model(), "p", detent.regex(pattern), **options)  # type: ignore[arg-type]
            assert "".join(list(pieces)) == out.text
            assert pieces.output == out

    def test_pieces_are_whole_characters_as_they_come(self) -> None:
        pieces = list(detent.stream(spelling("aé日🙂".encode(), 1), "p", temperature=0))
        assert pieces == ["a", "é", "日", "🙂"]

    def test_the_model_runs_while_iterating(self) -> None:
        calls: list[int] = []
        pieces = detent.stream(model(lambda ids: calls.append(len(ids)) or np.zeros(270)), "p", detent.regex("[ab]{3}"))
        assert calls == []
        assert len(next(pieces)) == 1
        assert calls == [1]
        with pytest.raises(StateError, match="not ended"):
            _ = pieces.output
        assert len(list(pieces)) == 2
        assert len(pieces.output.text) == 3
        assert list(pieces) == []

    def test_arguments_are_checked_before_iterating(self) -> None:
        with pytest.raises(ArgumentError):
            detent.stream(model(), "p", max_tokens=0)
        with pytest.raises(EmptyLanguageError):
            detent.stream(model(), "p", detent.regex("[^\\s\\S]"))


class TestRefusals:
    @pytest.mark.parametrize("max_tokens", [0, -1, 1.0, "9", None, True, float("nan")])
    def test_max_tokens(self, max_tokens: object) -> None:
        with pytest.raises(ArgumentError, match="max_tokens"):
            detent.generate(model(), "p", max_tokens=max_tokens)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "options",
        [{"temperature": -1}, {"temperature": float("nan")}, {"top_k": 0}, {"top_p": 2}, {"min_p": 1.5}, {"seed": -1}],
        ids=str,
    )
    def test_sampling(self, options: dict[str, float]) -> None:
        with pytest.raises(ArgumentError):
            detent.generate(model(), "p", **options)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "prompt", [None, b"bytes", 5, ["a"], [1.5], [True], [-1], [270], {1, 2}, "\ud800"], ids=ascii
    )
    def test_prompt(self, prompt: object) -> None:
        with pytest.raises(ArgumentError, match="prompt"):
            detent.generate(model(), prompt)  # type: ignore[arg-type]

    @pytest.mark.parametrize("language", ["yes|no", re.compile("a"), 5])
    def test_language(self, language: object) -> None:
        with pytest.raises(ArgumentError, match="generate needs a language"):
            detent.generate(model(), "p", language)  # type: ignore[arg-type]

    @pytest.mark.parametrize("thing", [None, "gpt2", len, VOCABULARY])
    def test_model(self, thing: object) -> None:
        with pytest.raises(ArgumentError, match="CallableModel"):
            detent.generate(thing, "p")  # type: ignore[arg-type]

    def test_a_guide_of_another_vocabulary(self) -> None:
        other = detent.Vocabulary([*TOKENS[:-1], b"", b"<end>"], eos_token_ids=[264], size=270)
        with pytest.raises(ArgumentError, match="vocabulary"):
            detent.generate(model(), "p", detent.compile(detent.regex("a"), other))

    def test_a_guide_of_an_equal_vocabulary(self) -> None:
        equal = detent.Vocabulary(TOKENS, eos_token_ids=[END], special_token_ids=[CONTROL], size=270)
        assert detent.generate(model(), "p", detent.compile(detent.regex("a"), equal)).text == "a"

    @pytest.mark.parametrize("width", [0, 264, 269, 271])
    def test_logits_of_another_width(self, width: int) -> None:
        class Session:
            token_ids: list[int] = []  # noqa: RUF012 - a protocol's attribute
            logits = np.zeros(width, dtype=np.float32)

            def append(self, token_ids: Sequence[int]) -> None: ...
            def crop(self, length: int) -> None: ...

        class Misfit:
            vocabulary = VOCABULARY

            def encode(self, prompt: str) -> list[int]:
                return [0]

            def start(self, token_ids: Sequence[int]) -> Session:
                return Session()

        with pytest.raises(ModelError, match=f"size={width}"):
            detent.generate(Misfit(), "p", detent.regex("[ab]"))


class TestBadLogits:
    @staticmethod
    def with_values(allowed: float, banned: float) -> CallableModel:
        logits = np.full(270, banned, dtype=np.float32)
        logits[[ord("a"), ord("b")]] = allowed
        return model(lambda ids: logits)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("temperature", [0, 1])
    def test_at_what_is_allowed_it_is_an_error(self, value: float, temperature: float) -> None:
        with pytest.raises(ModelError):
            detent.generate(self.with_values(value, 0), "p", detent.regex("[ab]"), temperature=temperature)
        with pytest.raises(ModelError):
            detent.generate(self.with_values(value, value), "p", temperature=temperature)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("temperature", [0, 1])
    def test_at_what_is_banned_it_makes_no_difference(self, value: float, temperature: float) -> None:
        out = detent.generate(self.with_values(0, value), "p", detent.regex("[ab]{5}"), temperature=temperature)
        assert re.fullmatch("[ab]{5}", out.text)

    def test_the_model_may_rule_out_a_part_itself(self) -> None:
        logits = np.full(270, -np.inf)
        logits[ord("b")] = 0
        assert detent.generate(model(lambda ids: logits), "p", detent.regex("[ab]{5}")).text == "bbbbb"

    def test_the_models_row_is_not_written_to(self) -> None:
        logits = np.zeros(270, dtype=np.float32)
        logits.flags.writeable = False
        detent.generate(model(lambda ids: logits), "p", detent.regex("[ab]{5}"))


def test_a_bias_moves_the_choice_within_the_rule(real: detent.models.BatchModel) -> None:
    vocabulary, rule = real.vocabulary, detent.regex("[0-9]{3}|yes")
    digits = {id: 100.0 for id in range(len(vocabulary)) if vocabulary.token_bytes(id) == b"7"}
    assert detent.generate(real, "Agreed?", rule, temperature=0, canonical=False, logit_bias=digits).text == "777"
    request = detent.Request("Agreed?", rule, temperature=0, canonical=False, logit_bias=digits)
    assert [out.text for out in detent.generate_batch(real, [request, request])] == ["777", "777"]
    assert detent.generate(real, "Agreed?", detent.literal("yes"), temperature=0, logit_bias=digits).text == "yes"


@pytest.mark.parametrize("bias", [[1], {"1": 2.0}, {-1: 2.0}, {10**6: 2.0}, {1: float("nan")}, {1: True}, {1: "x"}])
def test_a_bias_that_is_none(real: detent.models.BatchModel, bias: Any) -> None:
    with pytest.raises(ArgumentError, match="logit_bias"):
        detent.generate(real, "Agreed?", logit_bias=bias)
