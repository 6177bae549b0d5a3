"""Objects whose members come in any order: one set of members for each way to satisfy the residual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detent import _core
from detent.errors import LimitError
from detent.sources.json_schema.formula import Formula
from detent.sources.json_schema.strings import open_count, repeat_count, spelled
from detent.sources.nodes import concat

if TYPE_CHECKING:
    from detent.sources.json_schema.compiler import Steps
    from detent.sources.json_schema.objects import Facet

__all__ = ["node"]

_MOST_TERMS = 256


def node(facet: Facet) -> Steps:
    """Give the texts of the objects of a facet, members in any order."""
    parts = []
    for term in _terms(facet, facet.residual):
        part = yield from _term(facet, term.parts if term.kind == "and" else (term,))
        parts.append(part)
    return _core.union(parts)


def _terms(facet: Facet, formula: Formula) -> list[Formula]:
    """Give the disjunctive normal form, without what asks for *some* member and what contradicts itself."""
    algebra = facet.compiler.algebra
    if formula.kind == "some":
        keys, literal = formula.parts
        named = [name for name in facet.order if facet.compiler.is_within(keys, name)]
        terms = [algebra.conjunction((algebra.has(name), algebra.value(name, literal))) for name in named]
        cells = [index for index, (cell, _) in enumerate(facet.cells) if cell.within(keys)]
        if cells and literal is not facet.compiler.schemas.truth:
            facet.refuse_some("members come in any order, and a text may have the same name twice")
            return [algebra.true]
        return [*terms, *(algebra.atom("free", index) for index in cells)]
    if formula.kind == "or":
        return _few([term for part in formula.parts for term in _terms(facet, part)])
    if formula.kind != "and":
        return [formula] if formula is not algebra.false else []
    terms = [algebra.true]
    # Short alternatives first: what they decide makes long ones shorter.
    for options in sorted((_terms(facet, part) for part in formula.parts), key=len):
        combined = [algebra.conjunction((term, option)) for term in terms for option in options]
        terms = _few([term for term in dict.fromkeys(combined) if _is_consistent(facet, term)])
        facet.compiler.spend(len(combined))
    return terms


def _is_consistent(facet: Facet, term: Formula) -> bool:
    """Whether no required member of a term is plainly impossible."""
    algebra, compiler = facet.compiler.algebra, facet.compiler
    if term is algebra.false:
        return False
    parts = term.parts if term.kind == "and" else (term,)
    names = [part.parts[0] for part in parts if part.kind in ("has", "value")]
    required = {part.parts[0] for part in parts if part.kind == "has"}.union(facet.required)
    for name in dict.fromkeys(names):
        if name in required:
            literals = [part.parts[1] for part in parts if part.kind == "value" and part.parts[0] == name]
            if compiler.values([*facet.literals_of(name), *literals]) is compiler.schemas.never:
                return False
    return True


def _few(terms: list[Formula]) -> list[Formula]:
    if len(terms) > _MOST_TERMS:
        raise _too_many()
    return terms


def _too_many() -> LimitError:
    return LimitError(
        f"with members in any order, the schema's alternatives combine in over {_MOST_TERMS} ways; "
        'simplify anyOf, oneOf and not, or write order="schema"'
    )


def _term(facet: Facet, term: tuple[Formula, ...]) -> Steps:
    """The members of one conjunction of atoms."""
    compiler, layout = facet.compiler, facet.compiler.layout
    cells = [facet.cells[atom.parts[0]] for atom in term if atom.kind == "free"]
    facet = facet.narrowed([atom for atom in term if atom.kind not in ("true", "free")])
    if facet.is_empty:
        return _core.empty()
    least, most = facet.counts()
    named = [(name, compiler.values(facet.literals_of(name))) for name in facet.order]
    if any(value is compiler.schemas.never and name in facet.required for name, value in named):
        return _core.empty()
    members: list[tuple[_core.Node, bool]] = []
    for name, value in named:
        inner = yield from compiler.node(value)
        if value is not compiler.schemas.never:
            label = concat(_core.literal(spelled(name)), layout.colon)
            members.append((concat(label, inner), name in facet.required))
    for cell, label in cells:
        inner = yield from compiler.node(compiler.values(facet.literals_in(cell)))
        members.append((concat(label, inner), True))
    free: list[_core.Node] = []
    for label, value, _ in facet.free_options(compiler.algebra.true):
        inner = yield from compiler.node(value)
        free.append(concat(label, inner))
    if free and least > 1 and least > len(facet.required) + 1:
        least = facet.refuse_count(len(facet.required) + 1)
    needed = max(least, len(facet.required), len(cells))
    if most == 0 or not (members or free):
        return _core.empty() if needed else layout.empty_object
    others = _core.union(free) if free else None
    parts = [] if needed else [layout.empty_object]
    written = _core.unordered(members, others, layout.comma, repeat_count(max(least, 1)), open_count(most))
    parts.append(concat(layout.open_object, written, layout.close_object))
    return _core.union(parts)
