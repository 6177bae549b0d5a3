"""Arrays: items in order, as a chain for the first ones and a repeat for the rest.

As with objects, what holds in any case is sorted by index, and what is left (contains, alternatives, negations) is a
residual formula whose derivatives by the items are the states of the walk.

uniqueItems is exact where the items have a few possible values, or where there is at most one item; then it says of
each value that it occurs at most once. Otherwise it is refused: no grammar compares texts of any length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detent import _core
from detent.errors import LimitError
from detent.sources.json_schema.formula import Formula
from detent.sources.json_schema.place import Conjunction, Literal
from detent.sources.json_schema.strings import open_count, repeat_count
from detent.sources.nodes import concat, optional, repeat

if TYPE_CHECKING:
    from detent.sources.json_schema.compiler import Compiler, Steps

__all__ = ["node"]

_MOST_OPTIONS = 256
_FEW_VALUES = 6
_LONGEST_PREFIX = 100_000

_Options = list[tuple[tuple[Literal, ...], Formula]]


def node(compiler: Compiler, conjunction: Conjunction, formulas: list[Formula]) -> Steps:
    """Give the texts of the arrays for which all formulas hold."""
    facet = _Facet(compiler, conjunction, formulas)
    if facet.is_empty:
        return _core.empty()
    if facet.repeated_once is not None:
        return (yield from _unordered(facet, facet.repeated_once))
    return (yield from (_chain(facet) if facet.residual is compiler.algebra.true else _walked(facet)))


class _Facet:
    """What holds of an array, sorted: by index, for all items from an index on, the length, and the residual."""

    def __init__(self, compiler: Compiler, conjunction: Conjunction, formulas: list[Formula]) -> None:
        self.compiler = compiler
        self.conjunction = conjunction
        self.items: dict[int, list[Literal]] = {}
        self.rest: list[tuple[int, Literal]] = []
        self.least, self.most = 0, None  # type: int, int | None
        self.repeated_once: list[Any] | None = None
        residual: list[Formula] = []
        for formula in formulas:
            kind, parts = formula.kind, formula.parts
            if kind == "item":
                self.items.setdefault(parts[0], []).append(parts[1])
            elif kind == "rest":
                self.rest.append(parts)
            elif kind == "at_least":
                self.least = max(self.least, parts[0])
            elif kind == "at_most":
                self.most = parts[0] if self.most is None else min(self.most, parts[0])
            else:
                residual.append(formula)
        # From `uniform` on, all items are alike.
        self.uniform = max([index + 1 for index in self.items] + [start for start, _ in self.rest] + [0])
        if self.uniform > _LONGEST_PREFIX:
            raise LimitError(f"{self.uniform} items with schemas of their own, above the limit of {_LONGEST_PREFIX}")
        self.most = self._cut()
        self.residual = self._counted(self._without_unique(compiler.algebra.conjunction(residual)))
        self.is_empty = (self.most is not None and self.least > self.most) or (self.residual is compiler.algebra.false)
        # From `last` on, an item's index does not matter: neither for its schema nor for the length.
        self.last = max(self.uniform, self.least if self.most is None else self.most)
        self._walks: dict[tuple[int, Formula], Any] = {}
        self._options: dict[tuple[int, Formula], list[tuple[Conjunction, Formula]]] = {}

    def _cut(self) -> int | None:
        """End the array before the first item that no value can be."""
        most = self.most
        for index in range(self.uniform + 1 if most is None else min(most, self.uniform + 1)):
            if self.value(index, ()) is self.compiler.schemas.never:
                return index
        return most

    def literals_at(self, index: int) -> tuple[Literal, ...]:
        """Give the literals that an item satisfies in any case."""
        return (*self.items.get(index, ()), *(literal for start, literal in self.rest if start <= index))

    def value(self, index: int, literals: tuple[Literal, ...]) -> Conjunction:
        """Give the conjunction of an item."""
        return self.compiler.values([*self.literals_at(index), *literals])

    def _counted(self, formula: Formula) -> Formula:
        """Decide the counts in the residual that the bounds of the length decide."""
        algebra, least, most = self.compiler.algebra, self.least, self.most
        if formula.kind in ("and", "or"):
            combine = algebra.conjunction if formula.kind == "and" else algebra.disjunction
            return combine([self._counted(part) for part in formula.parts])
        if formula.kind == "at_least":
            if formula.parts[0] <= least:
                return algebra.true
            return algebra.false if most is not None and formula.parts[0] > most else formula
        if formula.kind == "at_most":
            if formula.parts[0] < least:
                return algebra.false
            return algebra.true if most is not None and most <= formula.parts[0] else formula
        return formula

    # uniqueItems.

    def _without_unique(self, formula: Formula) -> Formula:
        """Say that items are unique by counting each of their possible values."""
        algebra = self.compiler.algebra
        if formula.kind in ("and", "or"):
            combine = algebra.conjunction if formula.kind == "and" else algebra.disjunction
            return combine([self._without_unique(part) for part in formula.parts])
        if formula.kind not in ("unique", "repeated"):
            return formula
        is_unique = formula.kind == "unique"
        if self.most is not None and (self.most <= 1 or self._are_apart(self.most)):
            return algebra.true if is_unique else algebra.false
        values = self._possible_values()
        place = formula.parts[0]
        if values is None:
            reason = "the items have too many possible values to tell whether two are equal"
            remedy = "give the items an enum, or leave uniqueItems out and check the value"
            self.compiler.schemas.refuse(place, "uniqueItems", reason, remedy)
            return algebra.true
        constants = [self.compiler.schemas.constant(value, place) for value in values]
        if len(constants) <= _FEW_VALUES or not is_unique:
            few = [algebra.few(0, constant, 1) for constant in constants]
            return algebra.conjunction(few) if is_unique else algebra.negate(algebra.conjunction(few))
        self.repeated_once = constants
        return algebra.true

    def _are_apart(self, most: int) -> bool:
        """Whether no two items can be equal, because their schemas exclude each other."""
        from detent.sources.json_schema.exclusive import exclude

        if most > 8:
            return False
        units = [[unit for unit in self.value(index, ()).units if _is_literal(unit)] for index in range(most)]
        return all(
            exclude(self.compiler.schemas, units[one], units[other])  # type: ignore[arg-type]  # literals, as selected
            for one in range(most)
            for other in range(one)
        )

    def _possible_values(self) -> list[Any] | None:
        """Give the values that an item can have, if they are few."""
        found: dict[Any, Any] = {}
        last = self.uniform if self.most is None else min(self.uniform, self.most - 1)
        for index in range(last + 1):
            values = self.compiler.few_values(self.value(index, ()))
            if values is None:
                return None
            found.update(values)
        return list(found.values())

    # The walk.

    def options(self, index: int, formula: Formula) -> list[tuple[Conjunction, Formula]]:
        """Give the ways on by the item at an index: its value, and what is left of the formula for the rest."""
        if self.most is not None and index >= self.most:
            return []
        key = (min(index, self.uniform), formula)
        found = self._options.get(key)
        if found is None:
            never, false = self.compiler.schemas.never, self.compiler.algebra.false
            ways = [(self.value(index, more), left) for more, left in self.derive(formula, self.literals_at(index))]
            found = self._options[key] = [way for way in ways if way[0] is not never and way[1] is not false]
        return found

    def derive(self, formula: Formula, base: tuple[Literal, ...]) -> _Options:
        """Give more literals of an item's value, and what is left of the formula, for each way to go on."""
        kind, parts, algebra = formula.kind, formula.parts, self.compiler.algebra
        if kind == "and":
            options: _Options = [((), algebra.true)]
            for part in parts:
                options = self._merged(
                    [
                        ((*literals, *more), algebra.conjunction((left, right)))
                        for literals, left in options
                        for more, right in self.derive(part, base)
                    ]
                )
            return options
        if kind == "or":
            return self._merged([option for part in parts for option in self.derive(part, base)])
        return self._derive_atom(kind, parts, formula, base)

    def _derive_atom(self, kind: str, parts: tuple[Any, ...], formula: Formula, base: tuple[Literal, ...]) -> _Options:
        if kind not in ("item", "rest", "many", "few") or parts[0] > 0:
            return self._passed(kind, parts, formula)
        algebra, literal = self.compiler.algebra, parts[1]
        holds = algebra.true if kind == "item" else formula
        if kind in ("many", "few"):
            holds = getattr(algebra, kind)(0, literal, parts[2] - 1)
        fails = formula if kind in ("many", "few") else algebra.false
        decided = self.compiler.decided(base, literal)
        if decided is not None:
            return [((), holds if decided else fails)]
        found: _Options = [((literal,), holds)]
        if kind == "many":
            # Its negation is not asked for: that the item counts is another way.
            found.append(((), fails))
        elif kind == "few":
            found.append(((algebra.opposite(literal),), fails))
        return found

    def _passed(self, kind: str, parts: tuple[Any, ...], formula: Formula) -> _Options:
        """The same for what does not ask of the first item."""
        algebra = self.compiler.algebra
        if kind == "at_least":
            return [((), algebra.at_least(parts[0] - 1))]
        if kind == "at_most":
            return [((), algebra.at_most(parts[0] - 1))] if parts[0] > 0 else []
        if kind in ("true", "false"):
            return [((), formula)] if kind == "true" else []
        return [((), getattr(algebra, kind)(parts[0] - 1, *parts[1:]))]

    def _merged(self, options: _Options) -> _Options:
        if len(options) < 2:
            return options
        found: dict[frozenset[Literal], tuple[tuple[Literal, ...], list[Formula]]] = {}
        for literals, left in options:
            if left is not self.compiler.algebra.false:
                found.setdefault(frozenset(literals), (tuple(dict.fromkeys(literals)), []))[1].append(left)
        kept = [
            (literals, self.compiler.algebra.disjunction(lefts))
            for literals, lefts in found.values()
            if len(literals) < 2 or self.compiler.values(list(literals)) is not self.compiler.schemas.never
        ]
        if len(kept) > _MOST_OPTIONS:
            raise LimitError(
                f"one item is subject to over {_MOST_OPTIONS} combinations of schemas; simplify contains, anyOf and not"
            )
        return kept

    def may_end(self, index: int, formula: Formula) -> bool:
        """Whether the array may have that many items, and end there."""
        return index >= self.least and self.is_complete(formula)

    def is_complete(self, formula: Formula) -> bool:
        """Whether a formula asks for no more items."""
        kind, parts = formula.kind, formula.parts
        if kind in ("and", "or"):
            return (all if kind == "and" else any)(self.is_complete(part) for part in parts)
        return kind not in ("false", "at_least", "many")

    def walk(self, index: int, formula: Formula) -> Any:
        """Give the walk from an index and a formula on, when an item has been written."""
        key = (min(index, self.last), formula)
        found = self._walks.get(key)
        if found is None:
            from detent.sources.json_schema.compiler import Walk

            self.compiler.spend(1)
            found = self._walks[key] = Walk(lambda: _following(self, *key))
        return found


def _is_literal(unit: object) -> bool:
    from detent.sources.json_schema.place import Negative, Place

    return isinstance(unit, (Place, Negative))


def _chain(facet: _Facet) -> Steps:
    """The common case: nothing but items and their number."""
    compiler, layout = facet.compiler, facet.compiler.layout
    most = facet.most
    if most == 0:
        return layout.empty_array
    fixed = facet.uniform if most is None else min(facet.uniform, most)
    items: list[_core.Node] = []
    for index in range(fixed + (most is None or most > fixed)):
        value = facet.value(index, ())
        inner = compiler.at_once(value)
        if inner is None:
            inner = yield value
        items.append(inner)
    if fixed == 0:
        upper = None if most is None else most - 1
        more = repeat(concat(layout.comma, items[0]), repeat_count(max(facet.least - 1, 0)), open_count(upper))
        whole = concat(layout.open_array, items[0], more, layout.close_array)
    else:
        more = _core.epsilon()
        if len(items) > fixed:
            upper = None if most is None else most - fixed
            least = repeat_count(max(facet.least - fixed, 0))
            more = repeat(concat(layout.comma, items[fixed]), least, open_count(upper))
        for index in range(fixed - 1, 0, -1):
            more = concat(layout.comma, items[index], more)
            if index >= facet.least:
                more = optional(more)
        whole = concat(layout.open_array, items[0], more, layout.close_array)
    return whole if facet.least else _core.union([layout.empty_array, whole])


def _walked(facet: _Facet) -> Steps:
    compiler, layout = facet.compiler, facet.compiler.layout
    ways = [layout.empty_array] if facet.may_end(0, facet.residual) else []
    for value, left in facet.options(0, facet.residual):
        inner = yield from compiler.node(value)
        ways.append(concat(layout.open_array, inner, (yield facet.walk(1, left))))
    return _core.union(ways)


def _following(facet: _Facet, index: int, formula: Formula) -> Steps:
    """What follows an item: a comma and the next one, or the end."""
    compiler, layout = facet.compiler, facet.compiler.layout
    if formula is compiler.algebra.true and index >= facet.uniform:
        return (yield from _repeated(facet, index))
    ways = [layout.close_array] if facet.may_end(index, formula) else []
    loops: list[_core.Node] = []
    is_last = index == facet.last and facet.most is None
    for value, left in facet.options(index, formula):
        inner = compiler.at_once(value)
        if inner is None:
            inner = yield value
        item = concat(layout.comma, inner)
        if is_last and left is formula:
            loops.append(item)
        else:
            ways.append(concat(item, (yield facet.walk(index + 1, left))))
    return concat(repeat(_core.union(loops), 0, None), _core.union(ways))


def _repeated(facet: _Facet, index: int) -> Steps:
    """What follows where only the number of items is left to care for."""
    layout, most = facet.compiler.layout, facet.most
    least = repeat_count(max(facet.least - index, 0))
    if most is not None and index >= most:
        return layout.close_array
    item = yield from facet.compiler.node(facet.value(index, ()))
    upper = None if most is None else open_count(most - index)
    return concat(repeat(concat(layout.comma, item), least, upper), layout.close_array)


def _unordered(facet: _Facet, constants: list[Any]) -> Steps:
    """Items out of a list, each at most once."""
    compiler, layout = facet.compiler, facet.compiler.layout
    if facet.residual is not compiler.algebra.true or facet.uniform:
        reason = f"beside other conditions, unique items can have at most {_FEW_VALUES} values"
        place = compiler.flat(facet.conjunction).place
        compiler.schemas.refuse(place, "uniqueItems", reason, "take the other conditions away, or shorten the enum")
        return (yield from (_chain(facet) if facet.residual is compiler.algebra.true else _walked(facet)))
    members = []
    for constant in constants:
        value = facet.value(0, (constant,))
        inner = compiler.at_once(value)
        members.append((inner if inner is not None else (yield value), False))
    least, most = max(facet.least, 1), facet.most
    if least > len(members):
        return _core.empty() if facet.least else layout.empty_array
    items = _core.unordered(members, None, layout.comma, least, open_count(most))
    whole = concat(layout.open_array, items, layout.close_array)
    return whole if facet.least else _core.union([layout.empty_array, whole])
