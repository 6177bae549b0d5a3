"""The budget: the smaller of max_tokens and the rest of the context; and when it decided the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import detent
from detent.errors import ArgumentError, LimitError
from detent.models import CallableModel

VOCABULARY = detent.Vocabulary([b"a", b"b", b"c", b"</s>"], eos_token_ids=[3])


class Bounded(CallableModel):
    """A model with a context; a longer sequence is an error, as in a real one."""

    context = 10

    def __init__(self, *preferred: int) -> None:
        def function(ids: Sequence[int]) -> list[float]:
            assert len(ids) <= self.context
            return [-float(preferred.index(token_id)) if token_id in preferred else -50.0 for token_id in range(4)]

        super().__init__(function, VOCABULARY, encode=lambda text: [0] * len(text))


def test_the_context_bounds_the_budget() -> None:
    out = detent.generate(Bounded(0), "p" * 4, max_tokens=3000, temperature=0)
    assert (out.text, out.finish_reason) == ("a" * 6, "length")
    assert (out.report.budget, out.report.budget_from) == (6, "context")
    assert "budget of 6 tokens (context)" in str(out.report)
    out = detent.generate(Bounded(0), "p" * 4, detent.regex("a*bc"), max_tokens=3000, temperature=0)
    assert (out.text, out.finish_reason) == ("aaaabc", "length")


def test_max_tokens_bounds_the_budget() -> None:
    out = detent.generate(Bounded(0), "p" * 4, max_tokens=3, temperature=0)
    assert (out.text, out.report.budget, out.report.budget_from) == ("aaa", 3, "max_tokens")


def test_none_is_the_context() -> None:
    out = detent.generate(Bounded(0), "p" * 7, max_tokens=None, temperature=0)
    assert (out.text, out.report.budget_from) == ("aaa", "context")
    model = CallableModel(lambda ids: [0.0] * 4, VOCABULARY)
    with pytest.raises(ArgumentError, match="max_tokens"):
        detent.generate(model, [0], max_tokens=None)


def test_a_prompt_that_fills_the_context_is_refused_before_the_first_token() -> None:
    for write in (detent.generate, detent.stream):
        with pytest.raises(LimitError, match="shorten the prompt") as caught:
            write(Bounded(0), "p" * 10)  # type: ignore[operator]
        assert (caught.value.subject, caught.value.limit, caught.value.given) == ("context", 10, 10)
        with pytest.raises(LimitError, match=r"2 tokens left after the prompt of 8.*, 3; shorten") as caught:
            write(Bounded(0), "p" * 8, detent.regex("abc"), max_tokens=3000)  # type: ignore[operator]
        assert (caught.value.subject, caught.value.limit, caught.value.given) == ("context", 2, 3)


def test_models_know_their_context() -> None:
    model = detent.load_model()
    assert model.context == 2048
    prompt = "Tell me a story. " * 400
    length = len(model.encode(prompt))
    with pytest.raises(LimitError, match=f"the prompt has {length} tokens"):
        detent.generate(model, prompt, max_tokens=3000)
    pytest.importorskip("transformers", reason="needs transformers")
    from tests.support import tiny_llama

    it = detent.models.Transformers(tiny_llama.model(), tiny_llama.tokenizer())
    assert it.context == it.model.config.max_position_embeddings
    out = detent.generate(it, "yes no", temperature=0, max_tokens=10**6)
    assert out.prompt_token_count + len(out.token_ids) <= it.context
    assert out.report.budget_from == "context"


class TestFinishReason:
    """ "length" exactly where the budget excluded a token that the model preferred."""

    @pytest.mark.parametrize(
        ("pattern", "preferred", "max_tokens", "expected"),
        [
            ("a*", (0, 3), 4, ("aaaa", "length")),
            ("a*", (3, 0), 4, ("", "stop")),
            ("a*bc", (0, 1), 4, ("aabc", "length")),
            ("a*bc", (1, 0), 4, ("bc", "stop")),  # the budget never bound
            ("a{4}", (0,), 4, ("aaaa", "stop")),
            ("(aa|bbbb)c?", (0, 2, 3), 3, ("aac", "length")),  # it left "a" alone, so the model was not asked
            ("(aa|ca|bbbb)c?", (0, 2, 3), 3, ("aac", "stop")),  # it removed "b", which the model did not prefer
            ("(aa|bbbb)c?", (1, 0, 3), 3, ("aa", "length")),
            ("a(bc)?", (0, 1), 2, ("a", "length")),
        ],
    )
    def test_by_hand(
        self, pattern: str, preferred: tuple[int, ...], max_tokens: int, expected: tuple[str, str]
    ) -> None:
        out = detent.generate(Bounded(*preferred), "p", detent.regex(pattern), max_tokens=max_tokens, temperature=0)
        assert (out.text, out.finish_reason) == expected

    def test_after_a_rewind_the_text_that_remains_counts(self) -> None:
        rule = detent.regex("(ab|b)(c*)")
        plain = detent.generate(Bounded(0, 1, 2), "p", rule, max_tokens=2, temperature=0)
        assert (plain.text, plain.finish_reason) == ("ab", "length")
        out = detent.generate(Bounded(0, 1, 3, 2), "p", rule, max_tokens=2, temperature=0, ban=["ab"])
        assert (out.text, out.finish_reason) == ("b", "stop")

    def test_the_budget_does_not_change_the_text_where_it_is_large(self) -> None:
        model = detent.load_model()
        texts = [
            detent.generate(model, "Tell me a story.", seed=3, temperature=1, max_tokens=count) for count in (400, 900)
        ]
        assert texts[0].text == texts[1].text
        assert {out.finish_reason for out in texts} == {"stop"}


def test_alternatives() -> None:
    def function(ids: Sequence[int]) -> np.ndarray:
        return np.log([0.1, 0.2, 0.3, 0.4])

    model = CallableModel(function, VOCABULARY)
    out = detent.generate(model, [0], detent.regex("[ab]{2}c"), temperature=0, alternatives=3)
    first = out.report.steps[0]
    assert [each.token_id for each in first.alternatives] == [3, 2, 1]
    assert [np.exp(each.log_probability) for each in first.alternatives] == pytest.approx([0.4, 0.3, 0.2])
    assert [each.is_allowed for each in first.alternatives] == [False, False, True]
    assert out.log_probabilities == (pytest.approx(np.log(0.2)), pytest.approx(np.log(0.2)), None)  # "c" is forced
    assert out.report.steps[2].alternatives == ()
    everything = detent.generate(model, [0], detent.regex("[ab]"), alternatives=99).report.steps[0].alternatives
    assert len(everything) == 4
    assert detent.generate(model, [0], detent.regex("[ab]")).report.steps[0].alternatives == ()
