"""The laws of the algebra over generated languages and all small ones, products without dead ends, and broken laws."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent.testing import (
    LawViolation,
    check_algebra,
    check_language,
    check_matcher,
    check_membership,
    check_operators,
    laws,
)
from tests.support.reference import Machine, Tokens, Tree, all_trees, language, random_tree, strings, trees, universe

TEXTS = sorted(universe(b"abx", 4), key=lambda text: (len(text), text))


# --- Generated languages


@pytest.mark.long
@settings(max_examples=80)
@given(trees(4), trees(4), trees(4))
def test_the_algebra_of_three_languages(a: Tree, b: Tree, c: Tree) -> None:
    check_algebra(language(a), language(b), language(c))


@settings(max_examples=200)
@given(trees(6))
def test_a_language_is_what_its_tree_says(tree: Tree) -> None:
    held = strings(tree, b"abx", 4)
    check_membership(language(tree), held.__contains__, TEXTS)


@settings(max_examples=150)
@given(trees(5), st.randoms(use_true_random=False))
def test_the_answers_of_a_language_agree(tree: Tree, rng: Random) -> None:
    check_language(language(tree), TEXTS[::3], rng=rng)


@settings(max_examples=150)
@given(trees(4), trees(4))
def test_operators_are_what_they_are_defined_as(a: Tree, b: Tree) -> None:
    check_operators(language(a), language(b), TEXTS[::2])


# --- Languages of every kind of source

_SOURCES = [
    detent.regex(r"(?!ab)[ab]*(?<!b)"),
    detent.regex(r"[ab-]*\bb\b[ab-]{0,2}"),
    detent.regex(r"(?m:^a$\n?)*"),
    detent.regex("[^a]é?|漢{1,9}"),
    detent.text(1, 2),
    detent.literal("ab"),
    detent.literal(b"\xff\x00"),
    detent.byte_class(b"abx"),
    detent.choice("a", "ab", "b-b"),
    detent.containing("ab", "b", whole_words=True),
    detent.without("AB", ignore_case=True),
    detent.join("-", detent.regex("a+"), minimum=1, maximum=3),
    detent.integer(-12, 250),
]


@pytest.mark.parametrize("number", range(len(_SOURCES)))
def test_languages_of_every_source(number: int) -> None:
    mine, others = _SOURCES[number], Random(number).sample(_SOURCES, 2)
    texts = [*TEXTS[::5], "é", "漢漢", "b-b", "a\na\n", "17", "-12", "251", b"\xff\x00"]
    check_language(mine, texts)
    check_operators(mine, others[0], [text.encode() if isinstance(text, str) else text for text in texts])
    for other in others:
        for law in (laws.commutativity, laws.absorption, laws.de_morgan, laws.difference, laws.order):
            law(mine, other)


# --- All small ones


@pytest.mark.parametrize("size", range(1, 5))
def test_every_small_tree_on_every_small_text(size: int) -> None:
    texts = universe(b"ab", 5)
    for tree in all_trees(size):
        check_membership(language(tree), strings(tree, b"ab", 5).__contains__, texts)


def test_every_pair_of_small_trees() -> None:
    small = [language(tree) for size in (1, 2) for tree in all_trees(size)]
    for a, b in product(small, repeat=2):
        for law in (laws.commutativity, laws.absorption, laws.de_morgan, laws.difference, laws.order):
            law(a, b)


def test_every_small_tree_by_itself() -> None:
    for size in (1, 2, 3):
        for tree in all_trees(size):
            a = language(tree)
            for law in (laws.double_complement, laws.excluded_middle, laws.idempotence, laws.repetition):
                law(a)


def test_equality_is_that_of_the_automata() -> None:
    """Two trees are equal if and only if their machines cannot be told apart, byte by byte."""
    machines = {tree: Machine(tree) for size in (1, 2, 3) for tree in all_trees(size)}
    rng = Random(5)
    for a in machines:
        for b in rng.sample(list(machines), 12):
            assert (language(a) == language(b)) == _alike(machines[a], machines[b]), (a, b)


def _alike(first: Machine, second: Machine) -> bool:
    pending, seen = [(0, 0)], {(0, 0)}
    while pending:
        x, y = pending.pop()
        if first.accepting[x] != second.accepting[y]:
            return False
        for byte in b"abx":
            after = first.after(x, bytes([byte])), second.after(y, bytes([byte]))
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return True


# --- Products: no dead ends, and nothing missing

_TOKENS = [b"a", b"b", b"ab", b"ba", b"bb", b"aab", b"", b"ab"]
_SMALL = detent.Vocabulary([*_TOKENS, b"</s>"], eos_token_ids=[len(_TOKENS)])
_SPARSE_TOKENS = [b"aa", b"bb", b"aba", b"b"]
_SPARSE = detent.Vocabulary([*_SPARSE_TOKENS, b""], eos_token_ids=[len(_SPARSE_TOKENS)], size=40)
_BYTE_TOKENS = [bytes([byte]) for byte in range(256)] + [b"ab", b"ba", b"bbx", b"aab"]
_BYTES = detent.Vocabulary([*_BYTE_TOKENS, b""], eos_token_ids=[len(_BYTE_TOKENS)])
VOCABULARIES = [
    pytest.param(_SMALL, _TOKENS, id="single letters"),
    pytest.param(_SPARSE, _SPARSE_TOKENS, id="sparse"),
    pytest.param(_BYTES, _BYTE_TOKENS, id="every byte"),
]


@pytest.mark.parametrize(("vocabulary", "tokens"), VOCABULARIES)
def test_products_of_small_trees_exhaustively(vocabulary: detent.Vocabulary, tokens: list[bytes]) -> None:
    """The masks of `a & b & ~c` at every text of up to three tokens, against trying all continuations."""
    small = [tree for size in (1, 2) for tree in all_trees(size)] + [("rep", ("set", b"ab"), 0, 3)]
    triples = list(product(small, repeat=3))
    for a, b, c in Random(3).sample(triples, 150 if len(tokens) > 100 else 500):
        _check_product(("and", ("and", a, b), ("not", c)), vocabulary, tokens)


@pytest.mark.parametrize(("vocabulary", "tokens"), VOCABULARIES)
def test_products_of_random_trees(vocabulary: detent.Vocabulary, tokens: list[bytes]) -> None:
    rng = Random(17)
    for _ in range(60 if len(tokens) > 100 else 200):
        a, b, c = (random_tree(rng, rng.randrange(1, 4)) for _ in range(3))
        _check_product(("and", ("and", a, b), ("not", c)), vocabulary, tokens)


def _check_product(tree: Tree, vocabulary: detent.Vocabulary, tokens: list[bytes]) -> None:
    reference = Tokens(Machine(tree), tokens)
    held = language(tree)
    if reference.need[0] is None:
        with pytest.raises(detent.EmptyLanguageError):
            detent.compile(held, vocabulary)
        return
    end = vocabulary.eos_token_ids[0]
    matcher = detent.compile(held, vocabulary).matcher()
    pending: list[tuple[list[int], int]] = [([], 0)]
    seen = {0}
    while pending:
        ids, state = pending.pop()
        matcher.rollback(len(matcher))
        for token_id in ids:
            matcher.advance(token_id)
        expected = set(reference.steps[state]) | ({end} if reference.machine.accepting[state] else set())
        assert set(matcher.allowed().tolist()) == expected, (tree, ids)
        for token_id, after in reference.steps[state].items() if len(ids) < 3 else ():
            if after not in seen:
                seen.add(after)
                pending.append(([*ids, token_id], after))


@settings(max_examples=150)
@given(trees(4), trees(4), trees(3), st.randoms(use_true_random=False), st.sampled_from([_SMALL, _SPARSE, _BYTES]))
def test_walks_through_products(a: Tree, b: Tree, c: Tree, rng: Random, vocabulary: detent.Vocabulary) -> None:
    rule = language(a) & language(b) & ~language(c)
    try:
        guide = detent.compile(rule, vocabulary)
    except detent.EmptyLanguageError:
        return
    check_matcher(guide, rng, steps=8, tries=8)


def test_a_long_product_of_words_that_exclude_each_other() -> None:
    """Each operand alone has ways on at every place; all together leave one text."""
    rule = detent.regex("[ab]{12}")
    for place in range(12):
        rule = rule & ~(detent.regex(f"[ab]{{{place}}}") + ("a" if place % 3 else "b") + detent.regex("[ab]*"))
    assert list(rule.enumerate()) == [b"abb" * 4]
    check_matcher(detent.compile(rule, _SMALL), Random(0))


# --- Laws that are broken are reported


class Texts:
    """A finite language by its texts, with as many operators as the laws below use; `fault` breaks one."""

    def __init__(self, texts: set[bytes], fault: str = "") -> None:
        self.texts, self.fault = frozenset(texts), fault

    def __or__(self, other: Texts) -> Texts:
        return Texts({*self.texts} if self.fault == "|" else {*self.texts, *other.texts}, self.fault)

    def __and__(self, other: Texts) -> Texts:
        return Texts(set(self.texts & other.texts), self.fault)

    def counterexample(self, other: Texts) -> bytes | None:
        return min(self.texts - other.texts, default=None)

    def accepts(self, text: bytes) -> bool:
        return text in self.texts

    def __le__(self, other: Texts) -> bool:
        return self.texts < other.texts if self.fault == "<=" else self.texts <= other.texts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Texts) and self.texts == other.texts

    def __hash__(self) -> int:
        return id(self) if self.fault == "hash" else hash(self.texts)


@pytest.mark.parametrize(
    ("fault", "law", "counterexample"),
    [("|", "commutativity of |", b"a"), ("<=", "commutativity of |", None), ("hash", "commutativity of |", None)],
)
def test_a_wrong_operator_breaks_a_law(fault: str, law: str, counterexample: bytes | None) -> None:
    a: Any = Texts({b"a", b"b"}, fault)
    b: Any = Texts({b"b", b"c"}, fault)
    with pytest.raises(LawViolation, match=r"commutativity of \|") as caught:
        laws.commutativity(a, b)
    assert (caught.value.law, caught.value.counterexample) == (law, counterexample)
    laws.commutativity(Texts({b"a"}), Texts({b"b"}))  # type: ignore[arg-type]


def test_a_violation_is_an_assertion_and_a_detent_error() -> None:
    with pytest.raises(AssertionError) as caught:
        check_membership(detent.regex("a"), lambda text: True, [b"a", b"b"])
    assert isinstance(caught.value, detent.DetentError)
    assert caught.value.counterexample == b"b"  # type: ignore[attr-defined]
    assert str(caught.value) == "membership: b'b' is in Language(regex 'a')"


class Faulty(detent.Matcher):
    """A matcher with one fault, which a subclass adds; its forks have it too."""

    def fork(self) -> Faulty:
        copy = type(self)(self)
        copy.guide = self.guide
        return copy


class FaultyGuide:
    """A guide that starts faulty matchers."""

    def __init__(self, guide: detent.Guide, kind: type[Faulty]) -> None:
        self.guide, self.kind = guide, kind
        self.language, self.vocabulary = guide.language, guide.vocabulary

    def matcher(self, max_tokens: int | None = None, *, count_eos: bool = False) -> Faulty:
        matcher = self.kind(self.guide._core)  # type: ignore[attr-defined]
        matcher.guide = self.guide
        return matcher


def _mask(change: Callable[[Faulty, Any], None]) -> type[Faulty]:
    """Write masks that `change` has had."""

    class Masked(Faulty):
        def fill_mask(self, row: Any) -> None:
            super().fill_mask(row)
            change(self, row)

    return Masked


def _bit(bit: int, value: bool) -> type[Faulty]:
    def change(faulty: Faulty, row: Any) -> None:
        row[0] = row[0] | 1 << bit if value else row[0] & ~(1 << bit)

    return _mask(change)


def _member(name: str, value: Any) -> type[Faulty]:
    return type(name, (Faulty,), {name: value})


def _stay(faulty: Faulty, token_id: int) -> None:
    """Take only what is allowed, like `advance`, and then stay in place."""
    detent.Matcher.advance(faulty, token_id)
    detent.Matcher.rollback(faulty, 1)


_END = len(_TOKENS)
_FLIP = cycle((0, 1))
_FAULTS = {
    "a bit of padding": ({"padding"}, _bit(30, True)),
    "the end always": ({"end of text"}, _bit(_END, True)),
    "the end never": ({"batch", "end of text", "never stuck"}, _bit(_END, False)),
    "an id without text": ({"ids without text"}, _bit(6, True)),
    "too much": ({"soundness"}, _bit(4, True)),
    "too little": ({"refused tokens", "never stuck", "batch"}, _bit(0, False)),
    "nothing": ({"never stuck"}, _mask(lambda faulty, row: row.fill(0) if not faulty.is_accepting else None)),
    "a dead end": ({"dead end"}, _mask(lambda faulty, row: row.fill(0) if len(faulty) else None)),
    "another mask each time": ({"allowed"}, _mask(lambda faulty, row: row.fill(next(_FLIP)))),
    "complete at once": ({"accepting"}, _member("is_accepting", property(lambda faulty: True))),
    "a fork that is tied": ({"advance", "rollback", "refused tokens"}, _member("fork", lambda faulty: faulty)),
    "no rollback": ({"rollback"}, _member("rollback", lambda faulty, steps=1: None)),
    "no advance": ({"advance"}, _member("advance", _stay)),
    "a squeeze to come": ({"budget_bound_at"}, _member("budget_bound_at", property(lambda faulty: 99))),
    "another explanation": ({"explain"}, _member("explain", lambda faulty, token_id: "token 0 allowed")),
}


@pytest.mark.parametrize("name", _FAULTS)
def test_a_wrong_matcher_breaks_a_law(name: str) -> None:
    expected, kind = _FAULTS[name]
    guide: Any = FaultyGuide(detent.compile(detent.regex("(ab)*a"), _SMALL), kind)
    with pytest.raises(LawViolation) as caught:
        for seed in range(8):
            check_matcher(guide, Random(seed), steps=6)
    assert caught.value.law in expected


def test_a_limit_that_is_not_kept_is_reported() -> None:
    guide = detent.compile(detent.regex("(ab)*a"), _SMALL)

    class Endless:
        language, vocabulary = guide.language, guide.vocabulary

        def matcher(self, max_tokens: int | None = None, *, count_eos: bool = False) -> detent.Matcher:
            return guide.matcher()

    with pytest.raises(LawViolation) as caught:
        for seed in range(20):
            check_matcher(Endless(), Random(seed), max_tokens=2)  # type: ignore[arg-type]
    assert caught.value.law == "budget"
