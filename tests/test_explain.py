"""What a matcher says about a token: every kind of refusal, and that the sentence agrees with the mask."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from tests.support.reference import Machine, Tokens, TooManyStates, Tree, language, trees

# Beside text: an end of text, a special id, an id without text, and padding.
_TOKENS = [b"a", b"b", b"ab", b"ba", b"</s>", b"<special>", b"", b"aab"]
_END, _SPECIAL, _NO_TEXT, _PADDING = 4, 5, 6, 9
_VOCABULARY = detent.Vocabulary(_TOKENS, eos_token_ids=[_END], special_token_ids=[_SPECIAL], size=12)
_SPARSE = detent.Vocabulary([b"aa", b"b", b"ab", b"</s>"], eos_token_ids=[3])


def _matcher(pattern: str, *, vocabulary: detent.Vocabulary = _VOCABULARY, **limits: Any) -> detent.Matcher:
    return detent.compile(detent.regex(pattern), vocabulary).matcher(**limits)


def test_an_allowed_token() -> None:
    assert _matcher("a[ab]").explain(2) == "token 2 b'ab' allowed"
    assert _matcher("a?").explain(_END) == "token 4 b'</s>' allowed"


def test_a_byte_that_the_language_does_not_hold() -> None:
    matcher = _matcher("a[ab]")
    assert matcher.explain(1) == (
        "token 1 b'b' refused at byte 0, where b'b' stands: expected 'a', "
        "by 'a' at character 0 of 'a[ab]'; the shortest completion is 'ab'"
    )
    assert matcher.explain(7) == (
        "token 7 b'aab' refused at byte 2, where b'b' stands: expected end of text; the shortest completion is 'ab'"
    )


def test_a_byte_where_the_text_may_end() -> None:
    matcher = _matcher("a+|")
    assert matcher.explain(1) == (
        "token 1 b'b' refused at byte 0, where b'b' stands: expected 'a' or end of text, by 'a' at character 0 of 'a+|'"
    )
    matcher.advance(0)
    assert matcher.explain(2) == (
        "token 2 b'ab' refused at byte 1, where b'b' stands: expected 'a' or end of text, "
        "by 'a' at character 0 of 'a+|'"
    )


def test_the_end_before_the_text_is_complete() -> None:
    matcher = _matcher("a(ba)*")
    expected = "token 4 b'</s>' refused: the text is not complete, by 'a' at character {} of 'a(ba)*'; {}"
    completion = "the shortest completion is 'a'"
    assert matcher.explain(_END) == expected.format(0, completion)
    matcher.advance(2)
    assert matcher.explain(_END) == expected.format(3, completion)


@pytest.mark.parametrize("token_id", [_SPECIAL, _NO_TEXT, _PADDING])
def test_an_id_without_text(token_id: int) -> None:
    text = _VOCABULARY.token_bytes(token_id)
    why = "it is special, and the rule does not ask for it here" if text else "it has no text, so no rule allows it"
    sentence = f"token {token_id} {text!r} refused: {why}"
    assert _matcher(".*").explain(token_id) == sentence


def test_anything_after_the_end() -> None:
    matcher = _matcher("a*")
    matcher.advance(_END)
    assert matcher.explain(0) == "token 0 b'a' refused: the text has ended"
    assert matcher.explain(_END) == "token 4 b'</s>' refused: the text has ended"


def test_a_token_that_leaves_too_few() -> None:
    assert _matcher("ab|abab", max_tokens=1).explain(0) == (
        "token 0 b'a' refused: it leaves no way to complete the text in the tokens left: 'ab' takes 2, and 1 is left; "
        "the shortest completion is 'ab'"
    )


def test_a_token_when_none_is_left() -> None:
    matcher = _matcher("a*", max_tokens=1)
    matcher.advance(0)
    assert matcher.explain(0) == (
        "token 0 b'a' refused: it leaves no way to complete the text in the tokens left: 'a' takes 1, and 0 are left"
    )


def test_a_token_after_which_the_vocabulary_cannot_go_on() -> None:
    matcher = _matcher("baaa|bab", vocabulary=_SPARSE)
    matcher.advance(1)
    assert matcher.explain(0) == (
        "token 0 b'aa' refused: the vocabulary cannot write what would have to follow; the shortest completion is 'ab'"
    )


def test_refused_bytes_are_named() -> None:
    """The error of `advance_bytes` has the byte, its position and what is expected; nothing is taken."""
    matcher = _matcher("a{3}b*")
    with pytest.raises(detent.StateError, match=r"byte b'x' at 3 of b'aaax' .*expected there: 'b' or end of text"):
        matcher.advance_bytes(b"aaax")
    assert matcher.step_count == 0
    with pytest.raises(detent.StateError, match="token"):
        _matcher("aa|ba{30}", max_tokens=3).advance_bytes(b"b")


def test_a_token_after_which_the_vocabulary_cannot_go_on_from_bytes() -> None:
    """There is no budget to speak of."""
    matcher = _matcher("baaa|bab", vocabulary=_SPARSE)
    matcher.advance_bytes(b"b")
    assert "cannot write what would have to follow" in matcher.explain(0)
    limited = _matcher("baaa|bab", vocabulary=_SPARSE, max_tokens=9)
    limited.advance_bytes(b"b")
    assert "cannot write what would have to follow" in limited.explain(0)


def test_the_completion_is_one_that_the_vocabulary_can_write() -> None:
    assert _matcher("aaa|aab", vocabulary=_SPARSE).explain(1).endswith("the shortest completion is 'aab'")


def test_the_completion_is_the_shortest_in_tokens_and_so_fits_every_budget() -> None:
    vocabulary = detent.Vocabulary([b"a", b"b", b"c", b"dddd", b""], eos_token_ids=[4])
    assert _matcher("abc|dddd", vocabulary=vocabulary, max_tokens=2).explain(0) == (
        "token 0 b'a' refused: it leaves no way to complete the text in the tokens left: 'abc' takes 3, and 2 are "
        "left; the shortest completion is 'dddd'"
    )


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("[a-z]", "[a-z]"),
        ("[a-c0-9_]", "[0-9_a-c]"),
        (" ", "' '"),
        ("é", "'é'"),
        ("\n|\t", r"[\t\n]"),
        ("[acegikmoqsuwyACE]", "[ACEacegikmoq…]"),
    ],
)
def test_how_expected_characters_are_shown(pattern: str, expected: str) -> None:
    every_byte = detent.Vocabulary([bytes([byte]) for byte in range(256)] + [b""], eos_token_ids=[256])
    said = _matcher(pattern, vocabulary=every_byte).explain(ord("%"))
    assert f"where b'%' stands: expected {expected}, by {pattern.partition('|')[0]!r} at character 0 of " in said


def test_a_long_completion_is_cut() -> None:
    vocabulary = detent.Vocabulary([b"c", b"b", b""], eos_token_ids=[2])
    said = _matcher("b?c{5000}", vocabulary=vocabulary).explain(2)
    assert said.startswith("token 2 b'' refused: the text is not complete, by 'b' at character 0 of 'b?c{5000}' or ")
    assert "; the shortest completion is 'cccc" in said
    assert len(said) < 512


@pytest.mark.parametrize("token_id", [-1, 12, 2**62])
def test_an_id_outside_the_vocabulary(token_id: int) -> None:
    with pytest.raises(detent.DetentError, match="is not in the vocabulary: its ids are 0 to 11"):
        _matcher("a").explain(token_id)


@pytest.mark.parametrize("token_id", ["a", None, 1.5, 2**70])
def test_an_id_that_is_none(token_id: Any) -> None:
    with pytest.raises(detent.DetentError):
        _matcher("a").explain(token_id)


def test_explaining_changes_nothing() -> None:
    matcher = _matcher("(ab)*a", max_tokens=4)
    matcher.advance(0)
    before = matcher.allowed().tolist(), matcher.token_ids, matcher.budget_bound_at
    for token_id in range(12):
        matcher.explain(token_id)
    assert (matcher.allowed().tolist(), matcher.token_ids, matcher.budget_bound_at) == before


_REFUSED = re.compile(
    r"token (?P<id>\d+) (?P<text>b.*?) refused"
    r"( at byte (?P<offset>\d+), where (?P<byte>b.*?) stands: expected (?P<expected>.+?)"
    r"|: (?P<why>the text is not complete|it has no text, so no rule allows it"
    r"|it is special, and the rule does not ask for it here"
    r"|(the search of this step ended before it found a|it leaves no) way to complete the text in the tokens left"
    r"|the vocabulary cannot write what would have to follow)"
    r"(: (?P<needed>'.*) takes (?P<count>\d+), and (?P<left>\d+) (is|are) left)?)(, by .+?)?"
    r"(; the shortest completion is (?P<completion>'.*))?$"
)


@settings(max_examples=120)
@given(trees(5), st.randoms(use_true_random=False), st.sampled_from([_VOCABULARY, _SPARSE]), st.integers(0, 3))
def test_every_sentence_is_true(tree: Tree, rng: Random, vocabulary: detent.Vocabulary, extra: int) -> None:
    """At every place of a walk, for every id, against the reference."""
    special = {*vocabulary.special_token_ids}
    tokens = [b"" if i in special else vocabulary.token_bytes(i) for i in range(len(vocabulary))]
    try:
        reference = Tokens(Machine(tree, most=120), tokens)
    except TooManyStates:
        return
    if reference.need[0] is None:
        return
    left = reference.need[0] + extra
    matcher = detent.compile(language(tree), vocabulary).matcher(left)
    state = 0
    while True:
        for token_id, text in enumerate(tokens):
            said = matcher.explain(token_id)
            if token_id in matcher.allowed():
                assert said == f"token {token_id} {vocabulary.token_bytes(token_id)!r} allowed"
            else:
                is_end = token_id in vocabulary.eos_token_ids
                _check_sentence(said, is_end, text, reference, state, left)
        allowed = sorted(reference.within(state, left))
        if not allowed:
            return
        chosen = rng.choice(allowed)
        matcher.advance(chosen)
        state, left = reference.steps[state][chosen], left - 1


def _check_sentence(said: str, is_end: bool, text: bytes, reference: Tokens, state: int, left: int) -> None:
    found = _REFUSED.fullmatch(said)
    assert found, said
    machine = reference.machine
    live = [_live(machine, place, reference.alphabet) for place in range(len(machine))]
    offset = next((n for n in range(len(text)) if not live[machine.after(state, text[: n + 1])]), None)
    if is_end:
        assert found["why"] == "the text is not complete", said
    elif not text:
        special, empty = "it is special, and the rule does not ask for it here", "it has no text, so no rule allows it"
        assert found["why"] == (empty if found["text"] == "b''" else special), said
    elif offset is not None:
        assert (int(found["offset"]), found["byte"]) == (offset, repr(text[offset : offset + 1])), said
        after = machine.after(state, text[:offset])
        assert ("end of text" in found["expected"]) == machine.accepting[after], said
        assert ("a" in found["expected"]) == live[machine.after(after, b"a")], said
    elif reference.need[machine.after(state, text)] is not None:
        assert found["why"] == "it leaves no way to complete the text in the tokens left", said
        after = reference.need[machine.after(state, text)]
        assert after is not None
        assert (int(found["count"]), int(found["left"])) == (after + 1, left), said
    else:
        assert found["why"] == "the vocabulary cannot write what would have to follow", said
    if found["completion"]:
        _check_completion(found["completion"], reference, state, left)


def _check_completion(shown: str, reference: Tokens, state: int, left: int) -> None:
    text = shown[1:-1]  # of a, b and no more
    need = reference.need[state]
    assert need is not None and need <= left
    if re.fullmatch("[ab]*", text):
        assert reference.machine.accepting[reference.machine.after(state, text.encode())]


def _live(machine: Machine, state: int, alphabet: bytes) -> bool:
    pending, seen = [state], {state}
    while pending:
        at = pending.pop()
        if machine.accepting[at]:
            return True
        for byte in alphabet:
            after = machine.after(at, bytes([byte]))
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return False
