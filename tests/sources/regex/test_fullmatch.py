"""Random patterns and texts against `re.fullmatch`."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import detent
from tests.support.acceptance import accepts

CHARACTERS = "aAbBkKsS\u212a\u017fßẞéÉ漢😀_1- \n"
SETTINGS = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

atoms = st.one_of(
    st.sampled_from([r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", ".", "^", "$", r"\A", r"\Z", r"\b", r"\B"]),
    st.sampled_from(list(CHARACTERS)).map(re.escape),
    st.tuples(
        st.booleans(),
        st.lists(st.sampled_from([r"\w", r"\S", r"\d", "a-k", "B-Z", "-", "é-\u212a", "K", "漢"]), min_size=1),
    ).map(lambda drawn: f"[{'^' if drawn[0] else ''}{''.join(dict.fromkeys(drawn[1]))}]".replace("--", "-")),
)
repeats = st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{0,2}?", "{2,}", "{,1}"])
openers = st.sampled_from(["(?:", "(", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?-i:", "(?s:", "(?a:", "(?m:"])
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, repeats).map(lambda drawn: f"(?:{drawn[0]}){drawn[1]}"),
        st.tuples(openers, inner).map(lambda drawn: f"{drawn[0]}{drawn[1]})"),
    ),
    max_leaves=8,
)
flag_sets = st.sets(st.sampled_from([re.I, re.M, re.S, re.A])).map(lambda flags: int(sum(flags)))
texts = st.lists(st.text(CHARACTERS, max_size=5), min_size=1, max_size=20)


@SETTINGS
@given(patterns, flag_sets, texts, st.randoms(use_true_random=False))
def test_acceptance(pattern, flags, texts, random):
    assume(sum(map(pattern.count, ["*", "+", ",}", ",3}"])) < 4)  # the oracle backtracks: nested loops cost it minutes
    try:
        matches = re.compile(pattern, flags).fullmatch
    except (re.error, FutureWarning):
        assume(False)
    # Texts that match are rare by chance: mend some by copying pieces of the pattern's own characters.
    own = [character for character in pattern if character in CHARACTERS]
    texts = [*texts, *("".join(random.choices(own, k=size)) for size in range(1, 5) if own), ""]
    wanted = {text: matches(text) is not None for text in texts}
    assert accepts(pattern, flags, texts) == wanted


@SETTINGS
@given(st.text(r"ab01()[]{}|*+?^$\.,-:=!<>#P& épuUNx\n" + "\ud800", max_size=12), flag_sets)
def test_any_text_compiles_or_raises_our_error(pattern, flags):
    try:
        language = detent.regex(pattern, flags)
    except detent.DetentError as error:
        assert len(str(error).encode()) <= 512
        assert error.position is None or 0 <= error.position <= len(pattern)
        return
    assert str(language)
    try:
        re.compile(pattern, flags)
    except re.error as error:
        assert r"\p" in pattern.lower() or "look-behind" in str(error)
