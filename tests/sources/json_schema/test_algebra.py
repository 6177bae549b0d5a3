"""Formulas of the algebra have the truth tables of the trees that they were made of."""

from __future__ import annotations

from itertools import chain, combinations
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent.errors import DetentError
from detent.sources.json_schema.assertions.algebra import Algebra
from detent.sources.json_schema.assertions.formulas import FALSE, TRUE, And, Combination, Formula, HasMember
from detent.sources.json_schema.parse.dialect import DEFAULT
from detent.sources.json_schema.parse.schema_node import Base, SchemaNode
from detent.sources.json_schema.solve.member_kinds import _after_kind
from detent.sources.json_schema.solve.member_sets import _weakest, atoms_of

NAMES = "abcd"
SUBSETS = [frozenset(names) for names in chain.from_iterable(combinations(NAMES, size) for size in range(5))]
TREES = st.recursive(
    st.sampled_from(NAMES),
    lambda inner: st.tuples(st.sampled_from(["and", "or", "not"]), st.lists(inner, min_size=1, max_size=4)),
    max_leaves=14,
)
START = Base(DEFAULT, None)


def new_algebra() -> Algebra:
    return Algebra(100_000, SchemaNode(True, START, None, ""), SchemaNode(False, START, None, ""))


def made(algebra: Algebra, tree: Any) -> Formula:
    if isinstance(tree, str):
        return algebra.has(tree)
    operation, inner = tree
    parts = [made(algebra, one) for one in inner]
    if operation == "not":
        return algebra.negate(algebra.conjunction(parts))
    return algebra.conjunction(parts) if operation == "and" else algebra.disjunction(parts)


def holds(tree: Any, names: frozenset[str]) -> bool:
    """Evaluate a tree naively."""
    if isinstance(tree, str):
        return tree in names
    operation, inner = tree
    values = [holds(one, names) for one in inner]
    return any(values) if operation == "or" else all(values) if operation == "and" else not all(values)


def value(formula: Formula, names: frozenset[str]) -> bool:
    if isinstance(formula, Combination):
        return (all if isinstance(formula, And) else any)(value(part, names) for part in formula.parts)
    if formula in (TRUE, FALSE):
        return formula is TRUE
    return (formula.name in names) is isinstance(formula, HasMember)  # type: ignore[attr-defined]


@settings(max_examples=500, deadline=None)
@given(st.lists(TREES, min_size=1, max_size=4))
def test_formulas_have_the_truth_table_of_their_trees(trees: list[Any]) -> None:
    algebra = new_algebra()
    for tree in trees:  # earlier formulas and negations are known to the later ones
        formula = made(algebra, tree)
        assert [value(formula, names) for names in SUBSETS] == [holds(tree, names) for names in SUBSETS]
        if isinstance(formula, Combination):
            atoms = {part for part in formula.parts if not isinstance(part, Combination)}
            assert atoms.isdisjoint(algebra.contradicting(atoms))


@settings(max_examples=500, deadline=None)
@given(TREES, st.sampled_from(NAMES))
def test_a_derivative_by_a_kind_is_the_formula_with_that_member(tree: Any, name: str) -> None:
    algebra = new_algebra()
    plan: Any = SimpleNamespace(solver=SimpleNamespace(algebra=algebra))
    formula = made(algebra, tree)
    left = _after_kind(plan, formula, name, frozenset(), {})
    assert name not in algebra.mentioned_names(left)
    for names in SUBSETS:
        assert value(left, names) == holds(tree, names | {name})


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), st.booleans()), max_size=8))
def test_the_weakest_terms(cases: list[dict[str, bool]]) -> None:
    algebra = new_algebra()
    terms = [
        algebra.conjunction([algebra.has(name) if is_there else algebra.lacks(name) for name, is_there in case.items()])
        for case in cases
    ]
    terms = list(dict.fromkeys(terms))
    expected = [
        term
        for term in terms
        if term is TRUE
        or not any(other is TRUE or {*atoms_of(other)} < {*atoms_of(term)} for other in terms if other is not term)
    ]
    assert _weakest(terms) == expected


def test_multiples_that_are_excluded() -> None:
    """A multiple of 12 is one of 4: nothing is left, and that takes no automaton with hundreds of states."""
    for multiple, other in ((12, 4), (12, 5), (0.5, 0.25), (0.25, 0.5), (7, 7)):
        schema = {"type": "number", "multipleOf": multiple, "not": {"multipleOf": other}}
        expected = [
            text
            for text in ("0", "12", "60", "0.5", "0.25", "0.75", "7", "1")
            if float(text) % multiple == 0 and float(text) % other
        ]
        try:
            language = detent.json_schema(schema)
            found = [text for text in ("0", "12", "60", "0.5", "0.25", "0.75", "7", "1") if language.accepts(text)]
        except DetentError:
            found = []
        assert found == expected, schema
