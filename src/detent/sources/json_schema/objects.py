"""Objects: members in the order of the schema, each subset that the schema allows, as one shared chain of nodes.

What holds of every object of the conjunction is sorted by member: which names are required, which literals a value must
satisfy. What is left is a *residual* formula (counts, dependencies, alternatives, negations), in most schemas none. The
walk goes along the declared names in order; its state is what the residual has become, so that thousands of
combinations of optional members are a few states. The names that no schema mentions come last, any number of them, in
any order.

The same free name may come twice in a text, and `json.loads` keeps the last. What must hold of *every* member is
exact in spite of it; that *some* free member has a certain value, or that there are two or more of them, cannot be
held, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from detent import _core
from detent.errors import LimitError
from detent.sources.json_schema.formula import Formula
from detent.sources.json_schema.json_values import is_text
from detent.sources.json_schema.keysets import Cell, KeySet
from detent.sources.json_schema.place import Conjunction, Literal
from detent.sources.json_schema.strings import Strings, either, open_count, repeat_count, spelled
from detent.sources.nodes import concat, repeat

if TYPE_CHECKING:
    from detent.sources.json_schema.compiler import Compiler, Steps

__all__ = ["Facet", "node"]

_MOST_CELLS = 64
_MOST_OPTIONS = 256
_COUNTS = frozenset(("at_least", "at_most"))

_Options: TypeAlias = "list[tuple[tuple[Literal, ...], Formula]]"


def node(compiler: Compiler, conjunction: Conjunction, declared: Iterable[str], formulas: list[Formula]) -> Steps:
    """Give the texts of the objects for which all formulas hold."""
    facet = Facet(compiler, conjunction, declared, formulas)
    if facet.is_empty:
        return _core.empty()
    if not compiler.is_ordered:
        from detent.sources.json_schema import unordered

        return (yield from unordered.node(facet))
    return (yield from (_chain(facet) if facet.residual is compiler.algebra.true else _layers(facet)))


class Facet:
    """What holds of an object, sorted: by name, for all names of a set, and the residual."""

    def __init__(
        self, compiler: Compiler, conjunction: Conjunction, declared: Iterable[str], formulas: list[Formula]
    ) -> None:
        self.compiler = compiler
        self.conjunction = conjunction
        self.required: dict[str, None] = {}
        self.literals: dict[str, list[Literal]] = {}
        self.every: list[tuple[KeySet, Literal]] = []
        self.is_empty = False
        falsity = compiler.schemas.falsity
        rest: list[Formula] = []
        for formula in formulas:
            kind, parts = formula.kind, formula.parts
            if kind == "value":
                self.literals.setdefault(parts[0], []).append(parts[1])
            elif kind == "has":
                self.required[parts[0]] = None
            elif kind == "lacks":
                self.literals.setdefault(parts[0], []).append(falsity)
            elif kind == "every":
                self.every.append(parts)
            else:
                rest.append(formula)
        self.order = self._ordered(declared, formulas, rest)
        self.is_empty = any(name not in self.order for name in self.required)
        self.residual = self._residual(rest)
        self.is_empty = self.is_empty or self.residual is compiler.algebra.false
        self._cells: list[tuple[Cell, _core.Node]] | None = None
        self._walks: dict[Formula, Any] = {}
        self._formulas = formulas

    def _ordered(self, declared: Iterable[str], formulas: list[Formula], rest: list[Formula]) -> dict[str, None]:
        """Give the names that are not free: those with a value first, each in the order of the text."""
        order = dict.fromkeys(declared)
        order.update(dict.fromkeys(self.literals))
        for formula in rest:
            order.update(_valued(formula))
        for formula in formulas:
            if formula.kind != "every":
                order.update(self.compiler.algebra.mentioned(formula))
        for keys, _ in self.every:
            if not keys.names <= order.keys():
                order.update(dict.fromkeys(keys.listed))
        # Half of a surrogate pair is never written.
        return {name: None for name in order if is_text(name)}

    def narrowed(self, more: Iterable[Formula]) -> Facet:
        """Give the facet with atoms in the place of the residual."""
        kept = [formula for formula in self._formulas if formula.kind in ("value", "has", "lacks", "every")]
        return Facet(self.compiler, self.conjunction, self.order, [*kept, *more])

    def counts(self) -> tuple[int, int | None]:
        """Give the least and the largest number of members, where the residual only counts."""
        return _counts(self.residual) or (0, None)

    def _residual(self, rest: list[Formula]) -> Formula:
        """Leave out the counts that are met anyway."""
        least = max((formula.parts[0] for formula in rest if formula.kind == "at_least"), default=0)
        most = min((formula.parts[0] for formula in rest if formula.kind == "at_most"), default=None)
        algebra = self.compiler.algebra
        kept = [formula for formula in rest if formula.kind not in _COUNTS]
        if least > len(self.required):
            kept.append(algebra.at_least(least))
        if most is not None:
            if most < max(least, len(self.required)):
                return algebra.false
            kept.append(algebra.at_most(most))
        return algebra.conjunction(kept)

    # Declared members.

    def literals_of(self, name: str) -> list[Literal]:
        """Give the literals that the value of a declared member satisfies in any case."""
        found = list(self.literals.get(name, ()))
        for keys, literal in self.every:
            if self.compiler.is_within(keys, name):
                found.append(literal)
        return found

    def absent(self, formula: Formula, name: str) -> Formula:
        """Give what is left of a formula where there is no member of that name."""
        kind, algebra = formula.kind, self.compiler.algebra
        if kind in ("and", "or"):
            if name not in algebra.mentioned(formula):
                return formula
            known = self.compiler.absent.get((formula, name))
            if known is None:
                combine = algebra.conjunction if kind == "and" else algebra.disjunction
                known = combine([self.absent(part, name) for part in formula.parts])
                self.compiler.absent[formula, name] = known
            return known
        if kind in ("has", "lacks", "value") and formula.parts[0] == name:
            return algebra.false if kind == "has" else algebra.true
        return formula

    def present(self, formula: Formula, name: str, base: list[Literal]) -> _Options:
        """Give the ways on where there is one: literals of its value, and what is left of the formula."""
        return self._derive(formula, name, None, base)

    def _derive(self, formula: Formula, name: str, cell: Cell | None, base: list[Literal]) -> _Options:
        kind, parts, algebra = formula.kind, formula.parts, self.compiler.algebra
        if not formula.is_general and name not in algebra.mentioned(formula):
            return [((), formula)]
        if kind in ("and", "or"):
            key = (formula, cell or name, tuple(base))
            known = self.compiler.derived.get(key)
            if known is None:
                if kind == "and":
                    known = self._derive_all(formula, name, cell, base)
                else:
                    known = self._merged([way for part in parts for way in self._derive(part, name, cell, base)], base)
                self.compiler.derived[key] = known
            return known
        if kind in ("every", "some"):
            return self._derive_names(formula, name, cell)
        if kind in ("at_least", "at_most"):
            fewer = (algebra.at_least if kind == "at_least" else algebra.at_most)(parts[0] - 1)
            return [] if fewer is algebra.false else [((), fewer)]
        if kind in ("true", "false") or cell is not None or parts[0] != name:
            return [((), formula)]
        if kind == "lacks":
            return []
        decided = True if kind == "has" else self.compiler.decided(tuple(base), parts[1])
        if decided is None:
            return [((parts[1],), algebra.true)]
        return [((), algebra.true)] if decided else []

    def _derive_names(self, formula: Formula, name: str, cell: Cell | None) -> _Options:
        algebra, schemas = self.compiler.algebra, self.compiler.schemas
        keys, literal = formula.parts
        if not (cell.within(keys) if cell is not None else self.compiler.is_within(keys, name)):
            return [((), formula)]
        if formula.kind == "every":
            return [] if literal is schemas.falsity else [((literal,), formula)]
        if literal is schemas.truth:
            return [((), algebra.true)]
        if cell is None:
            return [((literal,), algebra.true), ((), formula)]
        # The witness is the last of its cell, so that no later member can have its name.
        last = algebra.every(schemas.cell(cell), schemas.falsity)
        return [((literal,), last), ((), formula)]

    def _derive_all(self, formula: Formula, name: str, cell: Cell | None, base: list[Literal]) -> _Options:
        options: _Options = [((), self.compiler.algebra.true)]
        untouched: list[Formula] = []
        for part in formula.parts:
            derived = self._derive(part, name, cell, base)
            if len(derived) == 1 and derived[0] == ((), part):
                untouched.append(part)
                continue
            options = self._merged(
                [
                    ((*literals, *more), self.compiler.algebra.conjunction((left, right)))
                    for literals, left in options
                    for more, right in derived
                ],
                base,
            )
            self.compiler.spend(len(options))
        if not untouched:
            return options
        return [(literals, self.compiler.algebra.conjunction((left, *untouched))) for literals, left in options]

    def _merged(self, options: _Options, base: list[Literal]) -> _Options:
        """One option for each set of literals, without those that no value satisfies."""
        if len(options) < 2:
            return options
        never, false = self.compiler.schemas.never, self.compiler.algebra.false
        found: dict[frozenset[Literal], tuple[tuple[Literal, ...], list[Formula]]] = {}
        for literals, left in options:
            if left is not false:
                found.setdefault(frozenset(literals), (tuple(dict.fromkeys(literals)), []))[1].append(left)
        kept = [
            (literals, self.compiler.algebra.disjunction(lefts))
            for literals, lefts in found.values()
            if not literals or self.compiler.values([*base, *literals]) is not never
        ]
        if len(kept) > _MOST_OPTIONS:
            raise LimitError(
                f"the value of one member is subject to over {_MOST_OPTIONS} combinations of schemas; simplify anyOf, "
                "oneOf and not"
            )
        return kept

    # Free members: those that no schema mentions.

    @property
    def cells(self) -> list[tuple[Cell, _core.Node]]:
        """The sets of free names on which all patterns agree, with the nodes of their texts in JSON, `":` included."""
        if self._cells is None:
            self._cells = self._find_cells()
        return self._cells

    def _find_cells(self) -> list[tuple[Cell, _core.Node]]:
        splitters: dict[object, None] = {}
        for keys in [keys for keys, _ in self.every] + _key_sets(self.residual):
            splitters.update(dict.fromkeys(keys.splitters()))
        unmentioned = Strings(excluded=frozenset(self.order))
        cells: list[tuple[tuple[tuple[object, bool], ...], Strings]] = [((), unmentioned)]
        for splitter in splitters:
            inside = self.compiler.schemas.names_found(splitter) if isinstance(splitter, str) else None
            if inside is None:
                inside = self.compiler.strings(splitter)  # type: ignore[arg-type]  # a literal
            outside = _complement(inside)
            cells = [
                ((*verdicts, (splitter, verdict)), names.both(side))
                for verdicts, names in cells
                for verdict, side in ((True, inside), (False, outside))
                if not self._is_closed((*verdicts, (splitter, verdict)), splitters)
            ]
            cells = [(verdicts, names) for verdicts, names in cells if names.listed is None or names.listed]
            if len(splitters) > 3 and len(cells) > 3:
                cells = [(verdicts, names) for verdicts, names in cells if not names.is_empty()]
            if len(cells) > _MOST_CELLS:
                raise LimitError(
                    f"{len(splitters)} patterns of names overlap in over {_MOST_CELLS} ways; "
                    "make patternProperties disjoint"
                )
        return self._merge_cells([(Cell(verdicts), names) for verdicts, names in cells])

    def _is_closed(self, verdicts: tuple[tuple[object, bool], ...], splitters: dict[object, None]) -> bool:
        """Whether members of a (perhaps unfinished) cell are forbidden already."""
        falsity = self.compiler.schemas.falsity
        known = dict(verdicts)
        for keys, literal in self.every:
            is_decided = literal is falsity and all(splitter in known for splitter in keys.splitters())
            if is_decided and Cell(verdicts).within(keys):
                return True
        return False

    def _merge_cells(self, cells: list[tuple[Cell, Strings]]) -> list[tuple[Cell, _core.Node]]:
        """Unite the cells of which everything says the same."""
        key_sets = _key_sets(self.residual)
        merged: dict[Any, list[tuple[Cell, Strings]]] = {}
        for cell, names in cells:
            literals = self.literals_in(cell)
            if self.compiler.values(literals) is self.compiler.schemas.never:
                continue
            key = (tuple(literals), tuple(cell.within(keys) for keys in key_sets))
            merged.setdefault(key, []).append((cell, names))
        is_all = len(merged) == 1 and len(next(iter(merged.values()))) == len(cells) and not self._is_cut(cells)
        found = []
        for group in merged.values():
            names = Strings(excluded=frozenset(self.order)) if is_all else either([names for _, names in group])
            if not (names.excluded or names.nodes or names.least or names.most is not None or names.listed is not None):
                found.append((group[0][0], self.compiler.layout.any_member))
            else:
                found.append((group[0][0], concat(names.json(), self.compiler.layout.colon)))
        return found

    def _is_cut(self, cells: list[tuple[Cell, Strings]]) -> bool:
        """Whether cells were left out on the way, so that those that are left are not all names."""
        count = len(cells[0][0].verdicts)
        return len(cells) != 1 << count

    def literals_in(self, cell: Cell) -> list[Literal]:
        """Give the literals that values of the members of a cell satisfy in any case."""
        return [literal for keys, literal in self.every if cell.within(keys)]

    def free(self, formula: Formula) -> Formula:
        """Make sure that what is asked of the free members can be held in spite of names that come twice."""
        if not self.cells:
            return formula
        algebra = self.compiler.algebra
        if formula.kind in ("and", "or"):
            combine = algebra.conjunction if formula.kind == "and" else algebra.disjunction
            return combine(self.free(part) for part in formula.parts)
        if formula.kind == "at_least" and formula.parts[0] > 1:
            return algebra.at_least(self.refuse_count(1))
        return formula

    def check_witnesses(self, formula: Formula) -> None:
        """Refuse to look for two free members of certain values where both may have to be the last of a cell."""
        for cell, _ in self.cells:
            if self._witnesses(formula, cell) > 1:
                self.refuse_some("and for another one; a text may have the same name twice, and the last one counts")

    def _witnesses(self, formula: Formula, cell: Cell) -> int:
        if formula.kind in ("and", "or"):
            counts = [self._witnesses(part, cell) for part in formula.parts]
            return sum(counts) if formula.kind == "and" else max(counts)
        if formula.kind != "some" or formula.parts[1] is self.compiler.schemas.truth:
            return 0
        return int(cell.within(formula.parts[0]))

    def refuse_count(self, instead: int) -> int:
        """Refuse to count free members; in lenient mode give the count that can be held."""
        reason = "a text may have the same undeclared name twice, so the number of different ones cannot be counted"
        remedy = "declare the names, with additionalProperties: false, or lower the count"
        self.compiler.schemas.refuse(self.compiler.flat(self.conjunction).place, "minProperties", reason, remedy)
        return instead

    def refuse_some(self, why: str) -> None:
        """Refuse to look for a free member with a certain value."""
        remedy = "declare the names, or write the condition without the negation of additionalProperties"
        reason = f"it asks for some undeclared member with a certain value; {why}"
        self.compiler.schemas.refuse(self.compiler.flat(self.conjunction).place, "not", reason, remedy)

    def is_complete(self, formula: Formula) -> bool:
        """Whether the object may end here."""
        kind, parts = formula.kind, formula.parts
        if kind in ("and", "or"):
            return (all if kind == "and" else any)(self.is_complete(part) for part in parts)
        if kind == "at_least":
            return bool(parts[0] <= 0)
        return kind in ("true", "every", "at_most", "value", "lacks")

    def free_options(self, formula: Formula) -> Iterable[tuple[_core.Node, Conjunction, Formula]]:
        """Give the ways on by a free member: the node of its name, its value, and what is left of the formula."""
        for cell, name in self.cells:
            base = self.literals_in(cell)
            for literals, left in self._derive(formula, "", cell, base):
                value = self.compiler.values([*base, *literals])
                if value is not self.compiler.schemas.never and left is not self.compiler.algebra.false:
                    yield name, value, left

    def walk(self, formula: Formula) -> Any:
        """Give the walk over the free members from a formula on, when a member has been written."""
        found = self._walks.get(formula)
        if found is None:
            from detent.sources.json_schema.compiler import Walk

            self.compiler.spend(1)
            found = self._walks[formula] = Walk(lambda: _free_rest(self, formula))
        return found


def _valued(formula: Formula) -> dict[str, None]:
    if formula.kind in ("and", "or"):
        return {name: None for part in formula.parts for name in _valued(part)}
    return {formula.parts[0]: None} if formula.kind == "value" else {}


def _key_sets(formula: Formula) -> list[KeySet]:
    if formula.kind in ("and", "or"):
        return list(dict.fromkeys(keys for part in formula.parts for keys in _key_sets(part)))
    return [formula.parts[0]] if formula.kind in ("every", "some") else []


def _complement(names: Strings) -> Strings:
    if names.listed is not None:
        return Strings(excluded=frozenset(names.listed))
    return Strings(nodes=(_core.complement(names.node()), _TEXT))


# The common case: nothing but members.


def _chain(facet: Facet) -> Steps:
    compiler, layout = facet.compiler, facet.compiler.layout
    members: list[tuple[_core.Node, bool]] = []
    for name in facet.order:
        value = compiler.values(facet.literals_of(name))
        is_required = name in facet.required
        if value is compiler.schemas.never:
            if is_required:
                return _core.empty()
            continue
        inner = compiler.at_once(value)
        if inner is None:
            inner = yield value
        members.append((_core.concat([_core.literal(spelled(name)), layout.colon, inner]), is_required))
    free: list[_core.Node] = []
    for name_node, value, _ in facet.free_options(compiler.algebra.true):
        inner = compiler.at_once(value)
        if inner is None:
            inner = yield value
        free.append(_core.concat([name_node, inner]))
    return _linked(facet, members, _core.union(free) if free else None)


def _linked(facet: Facet, members: list[tuple[_core.Node, bool]], free: _core.Node | None) -> _core.Node:
    """Put the members in a row: a comma stands before each but the first that is written."""
    layout = facet.compiler.layout
    some = concat(layout.open_object, _core.ordered(members, free, layout.comma, True), layout.close_object)
    return some if any(is_required for _, is_required in members) else _core.union([layout.empty_object, some])


# With a residual: the states of the walk, name by name.

_State = tuple[Formula, bool]
_Edge = tuple["Conjunction | None", _State]


def _layers(facet: Facet) -> Steps:
    compiler, layout = facet.compiler, facet.compiler.layout
    layers: list[dict[_State, list[_Edge]]] = [{(facet.residual, False): []}]
    for name in facet.order:
        layers.append(_next_layer(facet, name, layers[-1]))
    nodes: dict[_State, _core.Node] = {}
    for formula, is_written in layers[-1]:
        facet.check_witnesses(formula)
        left = facet.free(formula)
        nodes[formula, is_written] = yield facet.walk(left) if is_written else _start(facet, left)
    names = list(facet.order)
    for index in range(len(names) - 1, -1, -1):
        label = concat(_core.literal(spelled(names[index])), layout.colon)
        later, nodes = nodes, {}
        for state, edges in layers[index].items():
            parts = []
            for value, target in edges:
                if value is None:
                    parts.append(later[target])
                    continue
                inner = compiler.at_once(value)
                if inner is None:
                    inner = yield value
                before = [layout.comma] if state[1] else []
                parts.append(_core.concat([*before, label, inner, later[target]]))
            nodes[state] = _core.union(parts)
    return concat(layout.open_object, nodes[facet.residual, False])


def _next_layer(facet: Facet, name: str, layer: dict[_State, list[_Edge]]) -> dict[_State, list[_Edge]]:
    compiler = facet.compiler
    base = facet.literals_of(name)
    found: dict[_State, list[_Edge]] = {}
    for (formula, is_written), edges in layer.items():
        if name not in facet.required:
            left = facet.absent(formula, name)
            if left is not compiler.algebra.false:
                edges.append((None, (left, is_written)))
        for literals, left in facet.present(formula, name, base):
            value = compiler.values([*base, *literals])
            if value is not compiler.schemas.never and left is not compiler.algebra.false:
                edges.append((value, (left, True)))
        for _, target in edges:
            found.setdefault(target, [])
        compiler.spend(len(edges))
    return found


def _start(facet: Facet, formula: Formula) -> Any:
    """The walk over the free members where none has been written before."""
    from detent.sources.json_schema.compiler import Walk

    return Walk(lambda: _free_start(facet, formula))


def _counts(formula: Formula) -> tuple[int, int | None] | None:
    """Give the bounds of a formula that only counts."""
    parts = formula.parts if formula.kind == "and" else (formula,)
    least, most = 0, None
    for part in parts:
        if part.kind == "at_least":
            least = max(least, part.parts[0])
        elif part.kind == "at_most":
            most = part.parts[0] if most is None else min(most, part.parts[0])
        elif part.kind != "true":
            return None
    return least, most


def _any_free(facet: Facet) -> Steps:
    """One free member, where the residual does not care which."""
    free: list[_core.Node] = []
    for name, value, _ in facet.free_options(facet.compiler.algebra.true):
        inner = facet.compiler.at_once(value)
        if inner is None:
            inner = yield value
        free.append(concat(name, inner))
    return _core.union(free)


def _free_rest(facet: Facet, formula: Formula) -> Steps:
    """What follows a member that has been written: free members and the end."""
    layout = facet.compiler.layout
    counts = _counts(formula)
    if counts is not None:
        member = yield from _any_free(facet)
        return concat(
            repeat(concat(layout.comma, member), repeat_count(counts[0]), open_count(counts[1])), layout.close_object
        )
    loops: list[_core.Node] = []
    ways = [layout.close_object] if facet.is_complete(formula) else []
    for name, value, left in facet.free_options(formula):
        inner = facet.compiler.at_once(value)
        if inner is None:
            inner = yield value
        member = concat(layout.comma, name, inner)
        if left is formula:
            loops.append(member)
        else:
            ways.append(concat(member, (yield facet.walk(left))))
    return concat(repeat(_core.union(loops), 0, None), _core.union(ways))


def _free_start(facet: Facet, formula: Formula) -> Steps:
    """The same where no member has been written."""
    layout = facet.compiler.layout
    counts = _counts(formula)
    if counts is not None:
        least, most = counts
        starts = [_CLOSE] if least == 0 else []
        if most is None or most > 0:
            member = yield from _any_free(facet)
            upper = None if most is None else most - 1
            more = repeat(concat(layout.comma, member), repeat_count(max(least - 1, 0)), open_count(upper))
            starts.append(concat(member, more, layout.close_object))
        return _core.union(starts)
    ways = [_CLOSE] if facet.is_complete(formula) else []
    for name, value, left in facet.free_options(formula):
        inner = facet.compiler.at_once(value)
        if inner is None:
            inner = yield value
        ways.append(concat(name, inner, (yield facet.walk(left))))
    return _core.union(ways)


_CLOSE = _core.literal(b"}")
_TEXT = _core.repeat(_core.chars([(0, 0x10FFFF)]), 0, None)
