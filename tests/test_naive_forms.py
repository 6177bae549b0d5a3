"""Naive forms of operations: ordered members, grammars met with regular languages, merged counts, beginnings."""

from __future__ import annotations

from itertools import chain, combinations, product, takewhile
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent import _core
from detent.queries import ByteDfa
from tests.support.reference import Machine, Tree, language


def _strings(node: _core.Node, longest: int) -> set[bytes]:
    return set(takewhile(lambda text: len(text) <= longest, ByteDfa(node).counts.enumerate()))


def _union(texts: list[bytes]) -> _core.Node:
    return _core.union([_core.literal(text) for text in texts])


# --- Members in order. Naive form: choose a subset that contains the required ones, then join all choices of texts.

_LONGEST = 6
_texts = st.lists(st.binary(min_size=1, max_size=2).map(lambda text: bytes(97 + byte % 3 for byte in text)), max_size=2)


def _ordered(
    members: list[tuple[list[bytes], bool]], others: list[bytes], separator: bytes, longest: int, nonempty: bool
) -> set[bytes]:
    found: set[bytes] = set()
    for chosen in chain.from_iterable(combinations(range(len(members)), size) for size in range(len(members) + 1)):
        if any(required and index not in chosen for index, (_, required) in enumerate(members)):
            continue
        sequences: set[tuple[bytes, ...]] = {()}
        for index in chosen:
            sequences = {(*parts, text) for parts in sequences for text in members[index][0]}
        while sequences:
            found |= {separator.join(parts) for parts in sequences if parts or not nonempty}
            sequences = {
                (*parts, text)
                for parts in sequences
                for text in others
                if len(separator.join((*parts, text))) <= longest
            }
    return {text for text in found if len(text) <= longest}


@settings(max_examples=300)
@given(
    st.lists(st.tuples(_texts, st.booleans()), max_size=4), _texts, st.sampled_from([b"", b",", b"a"]), st.booleans()
)
def test_ordered_members(
    members: list[tuple[list[bytes], bool]], others: list[bytes], separator: bytes, nonempty: bool
) -> None:
    node = _core.ordered(
        [(_union(texts), required) for texts, required in members], _union(others), _core.literal(separator), nonempty
    )
    assert _strings(node, _LONGEST) == _ordered(members, others, separator, _LONGEST, nonempty)


# --- A grammar and a regular language. Naive form: the least relation on the states of the regular one for each rule.

Production = list["int | bytes"]  # calls of rules by number, and texts


def _relation(rules: list[list[Production]], machine: Machine) -> list[set[tuple[int, int]]]:
    """Return for each rule the pairs of states between which its texts lead (Bar-Hillel, Perles & Shamir 1961)."""
    relations: list[set[tuple[int, int]]] = [set() for _ in rules]
    states = range(len(machine))
    is_stable = False
    while not is_stable:
        is_stable = True
        for rule, productions in enumerate(rules):
            for production in productions:
                pairs = {(state, state) for state in states}
                for symbol in production:
                    if isinstance(symbol, bytes):
                        pairs = {(start, machine.after(end, symbol)) for start, end in pairs}
                    else:
                        pairs = {(start, last) for start, end in pairs for at, last in relations[symbol] if at == end}
                if not pairs <= relations[rule]:
                    relations[rule] |= pairs
                    is_stable = False
    return relations


def _grammar(rules: list[list[Production]]) -> _core.Node:
    def symbol(value: int | bytes) -> _core.Node:
        return _core.literal(value) if isinstance(value, bytes) else _core.reference(value)

    sums = [_core.union([_core.concat([symbol(each) for each in row]) for row in productions]) for productions in rules]
    return _core.grammar(sums, 0)


def _random_rules(rng: Random) -> list[list[Production]]:
    """Return rules whose calls follow a text, so that none is left-recursive, and which nest without a bound."""
    count = rng.randint(1, 3)

    def text() -> bytes:
        return bytes(rng.choices(b"ab", k=rng.randint(1, 2)))

    rules: list[list[Production]] = []
    for _ in range(count):
        nested: list[Production] = [[text(), rng.randrange(count), text()] for _ in range(rng.randint(1, 2))]
        rules.append([*nested, [rng.choice([b"", text()])]])
    return rules


@pytest.mark.parametrize("seed", range(60))
def test_grammar_met_with_a_regular_language(seed: int) -> None:
    rng = Random(seed)
    rules = _random_rules(rng)
    # Residues of lengths and letters: they often exclude all texts, but only at infinitely many states.
    period, start, end = rng.randint(2, 4), rng.randrange(4), rng.choice([b"aab", b"bab", b"abb", b"ba"])
    block: Tree = ("set", b"ab")
    tree: Tree = (
        "cat",
        ("rep", ("rep", block, period, period), 0, None),
        ("cat", ("rep", block, start, start), ("text", end)),
    )
    machine = Machine(tree)
    expected = any(machine.accepting[last] for first, last in _relation(rules, machine)[0] if first == 0)
    node = _core.intersection([_grammar(rules), language(tree)._node])
    _VERDICTS.append(expected)
    assert ByteDfa(node).is_empty() is not expected


def _in_brackets(inside: _core.Node) -> _core.Node:
    nested = _core.concat([_core.literal(b"a"), _core.reference(0), _core.literal(b"a")])
    return _core.grammar([_core.union([nested, inside])], 0)


@pytest.mark.parametrize("seed", range(40))
def test_intersections_of_rules_inside_a_rule(seed: int) -> None:
    """An intersection of right-linear rules inside a rule has the verdict of the same intersection without rules."""
    rng = Random(seed)
    step, last = (bytes(rng.choices(b"ab", k=rng.randint(1, 2))) for _ in range(2))
    looped = _grammar([[[step, 0], [last]]])
    plain = _core.concat([_core.repeat(_core.literal(step), 0, None), _core.literal(last)])
    other, regular = (
        detent.regex(
            "".join(f"(({rng.choice(['a', 'b', 'ab', 'a|b'])}){{{rng.randint(1, 3)}}})*" for _ in range(2))
        )._node
        for _ in range(2)
    )
    verdicts = {
        ByteDfa(_core.intersection([_in_brackets(_core.intersection([inside, other])), regular])).is_empty()
        for inside in (looped, plain)
    }
    assert len(verdicts) == 1


def test_intersections_of_rules_with_too_many_residuals_are_refused() -> None:
    balanced = _grammar([[[b"a", 0, b"b"], [b"ab"]]])
    inside = _core.intersection([balanced, detent.regex("(aa)*(bb)*")._node])
    with pytest.raises(detent.UnsupportedError, match="combine the languages in one step"):
        ByteDfa(_core.intersection([_in_brackets(inside), detent.regex("a*(bb)*ba*")._node])).is_empty()


_VERDICTS: list[bool] = []


def test_grammars_of_both_verdicts_were_met() -> None:
    assert {True, False} <= set(_VERDICTS) or not _VERDICTS


# --- Counts. Naive form: the set of counts, by arithmetic.


def _counts(tree: Tree, longest: int) -> frozenset[int]:
    """Return the lengths of the texts of a tree over one letter."""
    kind, *parts = tree
    if kind == "set":
        return frozenset([1])
    if kind == "or":
        return _counts(parts[0], longest) | _counts(parts[1], longest)
    inner = _counts(parts[0], longest)
    if kind == "cat":
        return frozenset(x + y for x in inner for y in _counts(parts[1], longest) if x + y <= longest)
    _, minimum, maximum = parts
    sums = frozenset([0])
    for _ in range(minimum):
        sums = frozenset(x + y for x in sums for y in inner if x + y <= longest)
    found = sums
    for _ in range(longest if maximum is None else maximum - minimum):
        sums = frozenset(x + y for x in sums for y in inner if x + y <= longest)
        found |= sums
    return found


_letter: st.SearchStrategy[Tree] = st.just(("set", b"a"))
_bounds = st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4)))
_count_trees: st.SearchStrategy[Tree] = st.recursive(
    _letter,
    lambda inner: st.one_of(
        st.tuples(st.just("or"), inner, inner),
        st.tuples(st.just("cat"), inner, inner),
        st.tuples(inner, _bounds).map(lambda pair: ("rep", pair[0], pair[1][0], _add(*pair[1]))),
    ),
    max_leaves=8,
)


def _add(minimum: int, more: int | None) -> int | None:
    return None if more is None else minimum + more


@pytest.mark.long
@settings(max_examples=400)
@given(_count_trees)
def test_merged_counts(tree: Tree) -> None:
    longest = 30
    node = language(tree)._node
    assert {len(text) for text in _strings(node, longest)} == _counts(tree, longest)


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 4), st.sampled_from([b"", b"b", b"ab"])), min_size=1, max_size=5
    )
)
def test_merged_counts_with_tails(parts: list[tuple[int, int, bytes]]) -> None:
    node = _core.union(
        [
            _core.concat([_core.repeat(_core.byte_set(b"a"), low, low + more), _core.literal(tail)])
            for low, more, tail in parts
        ]
    )
    expected = {b"a" * count + tail for low, more, tail in parts for count in range(low, low + more + 1)}
    assert _strings(node, 20) == expected


# --- Beginnings: all strings that begin with a text. Naive form: try each prefix.


@settings(max_examples=200)
@given(_count_trees, st.sampled_from(["", "a", "ba", "[ab]*b"]))
def test_beginnings(tree: Tree, forbidden: str) -> None:
    """A guard before all strings is no part that may be empty: it still forbids."""
    begins, rest = language(tree), detent.regex(forbidden) if forbidden else None
    every = _core.repeat(_core.byte_set(bytes(range(256))), 0, None)
    guard = _core.epsilon() if rest is None else _core.not_followed_by(_core.concat([rest._node, every]), b"")
    dfa = ByteDfa(_core.concat([begins._node, guard, every]))
    for text in ("".join(letters) for length in range(5) for letters in product("ab", repeat=length)):
        cuts = [cut for cut in range(len(text) + 1) if begins.accepts(text[:cut])]
        if rest is not None:
            cuts = [cut for cut in cuts if not any(rest.accepts(text[cut:end]) for end in range(cut, len(text) + 1))]
        assert dfa.accepts(text.encode()) == bool(cuts)
