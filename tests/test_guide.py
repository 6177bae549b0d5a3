"""Guide.matcher: what its budget arguments mean; that budgets are exact is shown in test_budget."""

from __future__ import annotations

import copy

import pytest

import detent

VOCABULARY = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
GUIDE = detent.compile(detent.regex("a+b"), VOCABULARY)


def longest(matcher: detent.Matcher) -> int:
    """Count the tokens of the text that takes the lowest id while it may."""
    count = 0
    while (allowed := matcher.allowed().tolist()) != [2]:
        matcher.advance(allowed[0])
        count += 1
    return count


@pytest.mark.parametrize(
    ("max_tokens", "headroom", "count_eos", "tokens"),
    [(10, 0, False, 10), (10, 0, True, 9), (10, 3, False, 7), (10, 3, True, 6), (10, 9, False, 2), (2, 5, False, 2)],
)
def test_the_text_ends_as_many_tokens_before_the_limit_as_asked_or_can_be(
    max_tokens: int, headroom: int, count_eos: bool, tokens: int
) -> None:
    assert longest(GUIDE.matcher(max_tokens, headroom=headroom, count_eos=count_eos)) == tokens


@pytest.mark.parametrize("headroom", [-1, 1.5, None, True, "1"])
def test_a_wrong_reserve(headroom: object) -> None:
    with pytest.raises(detent.ArgumentError, match="headroom"):
        GUIDE.matcher(10, headroom=headroom)  # type: ignore[arg-type]


@pytest.mark.parametrize("max_tokens", [-1, 1.5, True, "1", 2**32])
def test_a_wrong_limit(max_tokens: object) -> None:
    with pytest.raises(detent.ArgumentError, match="max_tokens"):
        GUIDE.matcher(max_tokens)  # type: ignore[arg-type]


@pytest.mark.parametrize("argument", [{"count_eos": True}, {"headroom": 1}, {"headroom": -1}])
def test_arguments_that_need_a_limit(argument: dict[str, int]) -> None:
    with pytest.raises(detent.ArgumentError, match="pass max_tokens"):
        GUIDE.matcher(**argument)  # type: ignore[arg-type]


def test_a_copy_is_the_guide_itself() -> None:
    vocabulary = detent.load_model().vocabulary
    for canonical in (False, True):
        guide = detent.compile(detent.regex("[a-z]{3}"), vocabulary, canonical=canonical)
        assert copy.copy(guide) is guide
        assert copy.deepcopy({"guide": guide})["guide"] is guide


def test_a_budget_for_texts_that_are_not_written_out() -> None:
    many = detent.json_schema({"type": "array", "minItems": 1_000_000})
    guide = detent.compile(many, detent.load_model().vocabulary)
    for tokens in (256, 30_000, 256):
        with pytest.raises(
            detent.LimitError, match=f"no text of .* is known to fit into max_tokens={tokens}: "
        ) as caught:
            guide.matcher(tokens)
        assert caught.value.subject == "max_tokens"
