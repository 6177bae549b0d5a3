"""Compiler: from conjunctions of schemas to nodes, by kinds of values; every conjunction once.

A conjunction is *flattened* into what it says of each kind of value. Scalars are sets, computed at once. Objects and
arrays are walked (`objects`, `arrays`) and ask for the nodes of their members' values; they do so by `yield`, so that
one loop with an explicit stack does what would otherwise be recursion over the schema. A conjunction that is asked
for while it is being made is recursive: it becomes a rule of a grammar, all others are plain nodes.
"""

from __future__ import annotations

from collections.abc import Generator
from decimal import Decimal
from math import ceil, floor
from typing import Any, TypeAlias

from detent import _core
from detent.errors import LimitError, SchemaError
from detent.sources.json_schema import arrays, objects
from detent.sources.json_schema.exclusive import exclude
from detent.sources.json_schema.flat import Flat, circle, flatten
from detent.sources.json_schema.formula import Formula
from detent.sources.json_schema.json_values import (
    ARRAY,
    BOOLEAN,
    EVERY_KIND,
    FRACTION,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
)
from detent.sources.json_schema.keysets import KeySet
from detent.sources.json_schema.layout import Layout
from detent.sources.json_schema.number_sets import number_set
from detent.sources.json_schema.place import Choice, Conjunction, Literal, Negative, Own, Place, Unit
from detent.sources.json_schema.schemas import Schemas
from detent.sources.json_schema.strings import Strings, evaluate

__all__ = ["Compiler", "Steps", "Walk"]

_MOST_SPLITS = 32
_FEW = 64
_DEEPEST_CHOICE = 8
_LIGHT = frozenset(
    "title description default examples $comment type required not anyOf oneOf allOf if then else properties "
    "minProperties maxProperties dependentRequired".split()
)


class Walk:
    """A state on the way along an object or array, from which what follows is one node."""

    __slots__ = ("node", "start")

    def __init__(self, start: Any) -> None:
        self.start = start
        self.node: _core.Node | None = None


class Same:
    """A conjunction that speaks of the same value as the one that asks for it."""

    __slots__ = ("conjunction",)

    def __init__(self, conjunction: Conjunction) -> None:
        self.conjunction = conjunction


Steps: TypeAlias = "Generator[Conjunction | Walk | Same, _core.Node, _core.Node]"


class Compiler:
    """The nodes of one document's conjunctions."""

    def __init__(self, schemas: Schemas, layout: Layout, is_ordered: bool) -> None:
        self.schemas = schemas
        self.algebra = schemas.algebra
        self.layout = layout
        self.is_ordered = is_ordered
        self._formulas: dict[tuple[Unit, int], Formula] = {}
        self._strings: dict[Literal, Strings] = {}
        self._within: dict[tuple[KeySet, str], bool] = {}
        self._weights: dict[Conjunction, int] = {}
        self._decided: dict[tuple[tuple[Literal, ...], Literal], bool | None] = {}
        # What is left of a formula without a member of a name, and the ways on with one: what `objects` knows already.
        self.absent: dict[tuple[Formula, str], Formula] = {}
        self.derived: dict[Any, list[tuple[tuple[Literal, ...], Formula]]] = {}
        self._work = 0

    # The loop.

    def compile(self) -> _core.Node:
        """Give the node of the whole document."""
        root = self.schemas.conjunction([self.schemas.root])
        node = self.at_once(root)
        if node is None:
            node, rules = self._run(root)
            if rules:
                node = _core.grammar([*rules, node], len(rules))
        return node

    def _run(self, root: Conjunction) -> tuple[_core.Node, list[_core.Node]]:
        rules: list[_core.Node] = []
        indexes: dict[Conjunction | Walk, int] = {}
        # What is being made, and where it lies on the stack; `fresh` is the last one that speaks of a value of its own.
        making: dict[Conjunction | Walk, int] = {root: 0}
        stack: list[tuple[Conjunction | Walk, Steps, int]] = [(root, self._value(root), 0)]
        answer: _core.Node | None = None
        while True:
            asker, steps, fresh = stack[-1]
            try:
                wanted = next(steps) if answer is None else steps.send(answer)
            except StopIteration as done:
                node: _core.Node = done.value
                stack.pop()
                del making[asker]
                if asker in indexes:
                    rules[indexes[asker]] = node
                    node = _core.reference(indexes[asker])
                asker.node = answer = node
                if not stack:
                    return node, rules
                continue
            is_same = isinstance(wanted, Same)
            target = wanted.conjunction if isinstance(wanted, Same) else wanted
            answer = target.node
            if answer is None and target in making:
                if is_same and making[target] >= fresh:
                    raise self._circle(target)
                if target not in indexes:
                    indexes[target] = len(rules)
                    rules.append(_core.empty())
                answer = _core.reference(indexes[target])
            elif answer is None:
                making[target] = len(stack)
                inner = self._value(target) if isinstance(target, Conjunction) else target.start()
                stack.append((target, inner, fresh if is_same else len(stack)))

    def _circle(self, target: Conjunction | Walk) -> SchemaError:
        units = target.units if isinstance(target, Conjunction) else ()
        place = next((unit for unit in units if isinstance(unit, Place)), self.schemas.root)
        return circle(place)

    def spend(self, amount: int) -> None:
        """Count work: states and branches."""
        self._work += amount
        if self._work > self.schemas.limits.pattern_size:
            raise LimitError(
                f"the schema's combinations need over {self.schemas.limits.pattern_size} states; simplify its oneOf, "
                "anyOf, not and counts, or raise Limits(pattern_size=...)"
            )

    # Conjunctions.

    def flat(self, conjunction: Conjunction) -> Flat:
        """Give what a conjunction says of each kind of value."""
        if conjunction.flat is None:
            conjunction.flat = flatten(self.schemas, conjunction.units)
        return conjunction.flat

    def values(self, literals: list[Literal]) -> Conjunction:
        """Give the conjunction of a member's or item's literals; `never` if there plainly is no such value."""
        found = literals[0].conjunction if len(literals) == 1 and isinstance(literals[0], Place) else None
        if found is None:
            found = self.schemas.conjunction(literals)  # type: ignore[arg-type]  # a list of literals is one of units
        if found.node is None and self.flat(found).is_empty:
            return self.schemas.never
        return found

    def decided(self, base: tuple[Literal, ...], literal: Literal) -> bool | None:
        """Whether each value of some literals is one of another literal, or none is; None if that is not plain."""
        key = (base, literal)
        if key not in self._decided:
            opposite = self.algebra.opposite(literal)
            verdict: bool | None = None
            if literal in base or exclude(self.schemas, list(base), [opposite]):
                verdict = True
            elif opposite in base or exclude(self.schemas, list(base), [literal]):
                verdict = False
            self._decided[key] = verdict
        return self._decided[key]

    def at_once(self, conjunction: Conjunction) -> _core.Node | None:
        """Give the node if it is known, or needs no others."""
        if conjunction.node is None:
            flat = self.flat(conjunction)
            if flat.is_empty:
                conjunction.node = _core.empty()
            elif flat.is_trivial:
                conjunction.node = self.layout.anything
            elif not flat.kinds & (ARRAY | OBJECT) and not flat.choices and not flat.negatives:
                conjunction.node = _union(self._scalars(flat))
        return conjunction.node

    def node(self, conjunction: Conjunction) -> Steps:
        """Give the node, at once or later."""
        known = self.at_once(conjunction)
        return known if known is not None else (yield conjunction)

    def _value(self, conjunction: Conjunction) -> Steps:
        flat = self.flat(conjunction)
        if flat.is_empty:
            return _core.empty()
        split = self._split(flat, self._weights.get(conjunction, 1))
        if split is not None:
            parts = []
            weight, alternatives = split
            for units in alternatives:
                inner = self.schemas.conjunction(units)
                self._weights.setdefault(inner, weight)
                node = self.at_once(inner)
                parts.append(node if node is not None else (yield Same(inner)))
            return _union(parts)
        if flat.is_trivial:
            return self.layout.anything
        parts = self._scalars(flat)
        if flat.kinds & ARRAY:
            formulas = self._said(flat, ARRAY)
            if formulas is not None:
                parts.append((yield from arrays.node(self, conjunction, formulas)))
        if flat.kinds & OBJECT:
            formulas = self._said(flat, OBJECT)
            if formulas is not None:
                parts.append((yield from objects.node(self, conjunction, flat.declared, formulas)))
        return _union(parts)

    # Choices: either split into a conjunction for each alternative, or part of a formula.

    def _split(self, flat: Flat, weight: int) -> tuple[int, list[list[Unit]]] | None:
        """Give the conjunctions that a conjunction is the union of, if splitting its choices is worth it.

        `weight` is the number of conjunctions that have come of it by multiplying choices so far.
        """
        choices = [choice for choice in flat.choices if choice.kinds & flat.kinds]
        if not choices:
            return None
        is_alone = flat.is_bare and len(choices) == 1
        split: list[Choice] = []
        count = 1
        for choice in choices:
            if not is_alone and flat.kinds == OBJECT and self._is_light(choice, flat):
                continue
            if weight * count * len(choice.alternatives) > _MOST_SPLITS and not is_alone:
                continue
            count *= len(choice.alternatives)
            split.append(choice)
        if not split:
            return None
        self.spend(count)
        rest: list[Unit] = [unit for unit in flat.rest if unit not in split]
        found = [rest]
        for choice in split:
            found = [[*units, *alternative] for units in found for alternative in self._alternatives(choice, flat)]
        return (weight if is_alone else weight * count), found

    def _alternatives(self, choice: Choice, flat: Flat) -> list[tuple[Unit, ...]]:
        """The alternatives; formulas among them speak of objects or arrays, so other kinds are an alternative too."""
        alternatives = list(choice.alternatives)
        if choice.kinds != EVERY_KIND and flat.kinds & ~choice.kinds:
            alternatives.append((self.schemas.kinds(EVERY_KIND & ~choice.kinds),))
            alternatives = [
                (*units, self.schemas.kinds(choice.kinds)) if index < len(alternatives) - 1 else units
                for index, units in enumerate(alternatives)
            ]
        return alternatives

    def _is_light(self, choice: Choice, flat: Flat) -> bool:
        """Whether alternatives bring no members of their own, so that one walk along the object serves them all."""
        work: list[tuple[Unit, int]] = [(unit, 0) for units in choice.alternatives for unit in units]
        while work:
            unit, depth = work.pop()
            if isinstance(unit, Formula):
                continue
            place = unit.place if isinstance(unit, (Negative, Own)) else unit
            if not isinstance(place, Place) or depth > 4:
                return False
            schema = place.schema
            if isinstance(schema, bool):
                continue
            if not schema or not _LIGHT.issuperset(schema):
                return False
            record = self.schemas.record(place)
            if any(name not in flat.names for name in record.declared):
                return False
            work.extend((inner, depth + 1) for inner in record.units)
            work.extend(
                (inner, depth + 1) for option in record.choices for units in option.alternatives for inner in units
            )
        return True

    # Formulas.

    def _said(self, flat: Flat, kind: int) -> list[Formula] | None:
        """Give the formulas that hold of a kind of value, flat conjunctions of them apart; None if one is false."""
        formulas = list(flat.said(kind))
        for negative in flat.negatives:
            formulas.append(self.formula(negative, kind))
        for choice in flat.choices:
            if choice.kinds & kind:
                formulas.append(self.formula(choice, kind))
        if flat.allowed is not None and kind & (ARRAY | OBJECT):
            formulas.append(self._listed(flat.allowed, kind, flat.place))
        found: list[Formula] = []
        for formula in formulas:
            if formula.kind == "false":
                return None
            if formula.kind == "and":
                found.extend(formula.parts)
            elif formula.kind != "true":
                found.append(formula)
        return found

    def _listed(self, allowed: dict[Any, Any], kind: int, place: Place) -> Formula:
        values = [value for value in allowed.values() if isinstance(value, list if kind == ARRAY else dict)]
        places = [self.schemas.constant(value, place) for value in values]
        return self.algebra.disjunction([self.formula(place, kind) for place in places])

    def formula(self, unit: Unit, kind: int) -> Formula:
        """Give what a unit says of a kind of value; in-place subschemas are looked through."""
        known = self._formulas.get((unit, kind))
        if known is not None:
            return known
        making: set[Unit] = set()
        stack = [unit]
        while stack:
            top = stack[-1]
            if (top, kind) in self._formulas:
                stack.pop()
                continue
            missing = [inner for inner in self._inner(top, kind) if (inner, kind) not in self._formulas]
            if missing:
                if top in making:
                    raise circle(next(one for one in stack if isinstance(one, Place)))
                making.add(top)
                stack.extend(missing)
                continue
            self._formulas[top, kind] = self._combined(top, kind)
            stack.pop()
        return self._formulas[unit, kind]

    def _inner(self, unit: Unit, kind: int) -> list[Unit]:
        """The units whose formulas that of a unit is made of."""
        if isinstance(unit, Formula):
            return []
        if isinstance(unit, Negative):
            return [unit.place]
        if isinstance(unit, Choice):
            return [inner for units in unit.alternatives for inner in units]
        record = self.schemas.record(unit.place if isinstance(unit, Own) else unit)
        if isinstance(unit, Own) or not record.kinds & kind:
            return []
        return [*record.units, *(choice for choice in record.choices if choice.kinds & kind)]

    def _combined(self, unit: Unit, kind: int) -> Formula:
        algebra = self.algebra
        if isinstance(unit, Formula):
            return unit
        if isinstance(unit, Negative):
            return algebra.negate(self._formulas[unit.place, kind])
        if isinstance(unit, Choice):
            return algebra.disjunction(
                algebra.conjunction(self._formulas[inner, kind] for inner in units) for units in unit.alternatives
            )
        record = self.schemas.record(unit.place if isinstance(unit, Own) else unit)
        kinds = record.kinds & kind
        if not kinds:
            return algebra.false
        parts: list[Formula] = []
        if kind == NUMBER and kinds != NUMBER:
            parts.append(algebra.atom("test", "integer", None, kinds == INTEGER))
        if record.allowed is not None:
            place = unit.place if isinstance(unit, Own) else unit
            is_scalar = kind not in (ARRAY, OBJECT)
            allowed = record.allowed
            parts.append(self._in(allowed, kind) if is_scalar else self._listed(allowed, kind, place))
        parts.extend(
            {NUMBER: record.number, STRING: record.string, ARRAY: record.array, OBJECT: record.object}.get(kind, ())
        )
        if not isinstance(unit, Own):
            parts.extend(self._formulas[inner, kind] for inner in self._inner(unit, kind))
        return algebra.conjunction(parts)

    def _in(self, allowed: dict[Any, Any], kind: int) -> Formula:
        keys = frozenset(key for key, value in allowed.items() if _is_kind(value, kind))
        return self.algebra.atom("test", "in", keys, True) if keys else self.algebra.false

    # Scalars.

    def _scalars(self, flat: Flat) -> list[_core.Node]:
        parts: list[_core.Node] = []
        if flat.kinds & NULL and self._allows(flat, NULL, None):
            parts.append(_NULL)
        if flat.kinds & BOOLEAN:
            if self._allows(flat, BOOLEAN, ("boolean", True)):
                parts.append(_TRUE)
            if self._allows(flat, BOOLEAN, ("boolean", False)):
                parts.append(_FALSE)
        if flat.kinds & NUMBER:
            parts.append(number_set(self._scalar(flat, NUMBER)))
        if flat.kinds & STRING:
            parts.append(evaluate(self.schemas, self._scalar(flat, STRING)).json())
        return parts

    def _scalar(self, flat: Flat, kind: int) -> Formula:
        formulas = self._said(flat, kind)
        if formulas is None:
            return self.algebra.false
        if flat.allowed is not None:
            formulas.append(self._in(flat.allowed, kind))
        if kind == NUMBER and flat.kinds & NUMBER in (INTEGER, FRACTION):
            formulas.append(self.algebra.atom("test", "integer", None, bool(flat.kinds & INTEGER)))
        return self.algebra.conjunction(formulas)

    def _allows(self, flat: Flat, kind: int, key: Any) -> bool:
        if flat.allowed is not None and key not in flat.allowed:
            return False
        formulas = self._said(flat, kind)
        return formulas is not None and all(_holds(formula, key) for formula in formulas)

    def strings(self, literal: Literal) -> Strings:
        """Give the strings of a literal."""
        found = self._strings.get(literal)
        if found is None:
            found = self._strings[literal] = evaluate(self.schemas, self.formula(literal, STRING))
        return found

    def few_values(self, conjunction: Conjunction, depth: int = 0) -> dict[Any, Any] | None:
        """Give values of which one is every value of a conjunction, by canonical key; None if they may be many."""
        flat = self.flat(conjunction)
        if flat.is_empty:
            return {}
        if flat.allowed is not None:
            return flat.allowed if len(flat.allowed) <= _FEW else None
        for choice in flat.choices if depth < _DEEPEST_CHOICE else ():
            parts = [self.schemas.conjunction(list(units)) for units in choice.alternatives]
            several = [self.few_values(part, depth + 1) for part in parts] if choice.kinds == EVERY_KIND else [None]
            if None not in several:
                found = {key: value for values in several for key, value in (values or {}).items()}
                return found if len(found) <= _FEW else None
        return self._few_plain(flat)

    def _few_plain(self, flat: Flat) -> dict[Any, Any] | None:
        """The same where nothing is listed."""
        found: dict[Any, Any] = {}
        if flat.kinds & ~(NULL | BOOLEAN | INTEGER):
            return None
        if flat.kinds & INTEGER:
            least = [ceil(bound) for what, bound, holds in _tests(flat.number) if what == "from" and holds]
            most = [floor(bound) for what, bound, holds in _tests(flat.number) if what == "to" and holds]
            if not least or not most or min(most) - max(least) >= _FEW:
                return None
            found.update((Decimal(number), number) for number in range(max(least), min(most) + 1))
        if flat.kinds & BOOLEAN:
            found.update({("boolean", True): True, ("boolean", False): False})
        if flat.kinds & NULL:
            found[None] = None
        return found

    # Names of members.

    def is_within(self, keys: KeySet, name: str) -> bool:
        """Whether a name is in a set of names."""
        if keys.kind == "others" and (name in keys.names or not keys.patterns):
            return name not in keys.names
        known = self._within.get((keys, name))
        if known is None:
            known = self._within[keys, name] = self._is_within(keys, name)
        return known

    def _is_within(self, keys: KeySet, name: str) -> bool:
        if keys.literal is not None:
            return self.strings(keys.literal).accepts(name)
        found = any(self.pattern(pattern).accepts(name) for pattern in keys.patterns)
        return found if keys.kind == "found" else not found

    def pattern(self, pattern: str) -> Strings:
        """Give the names that a pattern finds."""
        return self.schemas.names_found(pattern)


def _tests(formulas: list[Formula]) -> list[tuple[Any, ...]]:
    return [formula.parts for formula in formulas if formula.kind == "test"]


def _union(parts: list[_core.Node]) -> _core.Node:
    return parts[0] if len(parts) == 1 else _core.union(parts)


def _is_kind(value: Any, kind: int) -> bool:
    if kind == STRING:
        return isinstance(value, str)
    if kind == BOOLEAN:
        return isinstance(value, bool)
    if kind == NULL:
        return value is None
    return not isinstance(value, (str, bool, list, dict)) and value is not None


def _holds(formula: Formula, key: Any) -> bool:
    if formula.kind == "test":
        _, keys, holds = formula.parts
        return (key in keys) is bool(holds)
    if formula.kind in ("true", "false"):
        return formula.kind == "true"
    combine = all if formula.kind == "and" else any
    return combine(_holds(part, key) for part in formula.parts)


_NULL, _TRUE, _FALSE = _core.literal(b"null"), _core.literal(b"true"), _core.literal(b"false")
