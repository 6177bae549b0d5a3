"""Members as lists of kinds: which sequences of kinds of members an object may be, as a language of the core.

The index of a kind is a byte, and the order of the list is a language over these bytes: "has a member" is the language
of the texts with such a byte, and so on. The core intersects and derives it while a text is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from detent import _core
from detent.errors import LimitError, UnsupportedError
from detent.sources.json_schema.assertions.formulas import (
    FALSE,
    TRUE,
    And,
    Combination,
    EveryMember,
    Formula,
    HasMember,
    LacksMember,
    MaxSize,
    MemberValue,
    MinSize,
    SomeMember,
)
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.emit.tasks import Task, ValueEmitter
from detent.sources.json_schema.parse.schema_node import SignedSchema
from detent.sources.json_schema.solve.member_kinds import MemberKind, compares_names, member_kinds
from detent.sources.json_schema.solve.object_plan import ObjectPlan
from detent.sources.nodes import concat, lower_count, repeat, upper_count

__all__ = ["emit_member_kinds"]

_MAX_ORDER_STATES = 30_000
_MAX_ORDER_BYTES = 1 << 23
_MAX_ORDER_WORK = 500_000
_FOLLOWED_TEXTS = 4
_FOLLOWED_MEMBERS = 6


def emit_member_kinds(
    values: ValueEmitter, spelling: Spelling, plan: ObjectPlan, formula: Formula, names: Iterable[str]
) -> Task:
    """Emit one or more members in any order, for which a formula holds: the declared `names`, and free ones."""
    is_compared = compares_names(plan, formula)
    if is_compared and not spelling.has_json_values:
        _refuse(plan, formula, "names are compared in JSON only")
        is_compared = False
    names = list(names)
    kinds = member_kinds(plan, formula, names, lists_names=is_compared)
    parts: list[tuple[_core.Node | None, _core.Node]] = []
    for kind in kinds:
        inner = values.try_immediate(kind.value)
        if inner is None:
            inner = yield kind.value
        if kind.name is not None:
            parts.append((None, concat(spelling.name(kind.name), spelling.colon, inner)))
        elif kind.free is not None and is_compared:
            parts.append((spelling.names(kind.free.strings), concat(spelling.colon, inner)))
        elif kind.free is not None:
            parts.append((None, concat(spelling.free_label(kind.free.strings), inner)))
    order = _Order(plan, kinds).of_list(formula, [name for name in names if name in plan.required])
    _check_order(order, len(kinds))
    try:
        _check_names([key for key, _ in parts if key is not None], spelling)
    except UnsupportedError:
        _refuse(plan, formula, "a pattern leaves more than 64 such names, and less than a million")
        parts = [(None, rest if key is None else concat(key, rest)) for key, rest in parts]
    return _core.ordered_kinds(parts, order, spelling.comma)


def _refuse(plan: ObjectPlan, formula: Formula, why: str) -> None:
    if plan.counts_free_names(formula):
        plan.refuse_size(1, f"the number of undeclared names is not known; {why}")
    else:
        plan.refuse_some(why)


def _check_order(order: _core.Node, count: int) -> None:
    """Raise a `LimitError` for an order whose states take long to find: some texts are followed.

    Whether a sequence of kinds can be completed is a search, as for every Boolean combination.
    """
    try:
        automaton = _core.Automaton(order, _MAX_ORDER_STATES, _MAX_ORDER_BYTES, _MAX_ORDER_WORK)
        class_of = automaton.class_of
        for first in range(0, count, max(count // _FOLLOWED_TEXTS, 1)):
            state = automaton.start
            for length in range(_FOLLOWED_MEMBERS):
                row = automaton.row(state) if state else []
                following = [row[class_of[kind]] for kind in range(count)] if row else []
                live = [to for to in following if to]
                if not live:
                    break
                state = live[(first + 7 * length) % len(live)]
    except LimitError as error:
        raise LimitError(
            "with members in any order, the schema's alternatives combine in too many ways; simplify anyOf, oneOf and "
            'not, or write order="schema"',
            subject="combinations",
            limit=error.limit,
            given=error.given,
        ) from None


def _check_names(keys: Sequence[_core.Node], spelling: Spelling) -> None:
    """Raise the error of names that may be too few to be compared."""
    for key in dict.fromkeys(keys):
        order = repeat(_core.byte_set(b"\0"), 1, None)
        _core.Automaton(_core.ordered_kinds([(key, spelling.colon)], order, spelling.comma), 10_000, 1 << 25, 10**6)


class _Order:
    """Formulas about members as languages over the indexes of kinds."""

    def __init__(self, plan: ObjectPlan, kinds: Sequence[MemberKind]) -> None:
        self.plan = plan
        self.kinds = kinds
        self.every = range(len(kinds))
        self._known: dict[Formula, _core.Node] = {}

    def of_list(self, formula: Formula, required: Sequence[str]) -> _core.Node:
        """Return the lists of one member or more, each declared one at most once, for which a formula holds."""
        by_name: dict[str, list[int]] = {}
        others: list[int] = []
        for index, kind in enumerate(self.kinds):
            if kind.name is None:
                others.append(index)
            else:
                by_name.setdefault(kind.name, []).append(index)
        members = [(self._one(indexes), name in required) for name, indexes in by_name.items()]
        members += [(_core.empty(), True) for name in required if name not in by_name]
        others_node = self._one(others) if others else None
        once = _core.unordered(members, others_node, _core.epsilon(), 1, None)
        return _core.intersection([once, self.of(formula)])

    def of(self, formula: Formula) -> _core.Node:
        """Return the lists for which a formula holds."""
        known = self._known.get(formula)
        if known is None:
            if isinstance(formula, Combination):
                combine = _core.intersection if isinstance(formula, And) else _core.union
                known = combine([self.of(part) for part in formula.parts])
            else:
                known = self._of_atom(formula)
            self._known[formula] = known
        return known

    def _of_atom(self, formula: Formula) -> _core.Node:
        if formula is FALSE:
            return _core.empty()
        if isinstance(formula, (MinSize, MaxSize)):
            is_lower = isinstance(formula, MinSize)
            least, most = (lower_count(formula.count), None) if is_lower else (0, upper_count(formula.count))
            return repeat(self._one(self.every), least, most)
        if isinstance(formula, HasMember):
            return self._some(self._named(formula.name))
        if isinstance(formula, LacksMember):
            return self._none(self._named(formula.name))
        if isinstance(formula, MemberValue):
            return self._none(self._failing(self._named(formula.name), formula.schema))
        if isinstance(formula, EveryMember):
            inside = [i for i in self.every if self.kinds[i].is_in(self.plan, formula.names)]
            return self._none(self._failing(inside, formula.schema))
        if isinstance(formula, SomeMember):
            inside = [i for i in self.every if self.kinds[i].is_in(self.plan, formula.names)]
            return self._some([i for i in inside if formula.schema in self.kinds[i].satisfied])
        assert formula is TRUE  # noqa: S101 - no other formula is about members
        return repeat(self._one(self.every), 0, None)

    def _named(self, name: str) -> list[int]:
        return [index for index in self.every if self.kinds[index].name == name]

    def _failing(self, indexes: Iterable[int], schema: SignedSchema) -> list[int]:
        return [index for index in indexes if schema not in self.kinds[index].satisfied]

    def _one(self, indexes: Iterable[int]) -> _core.Node:
        return _core.byte_set(bytes(indexes))

    def _some(self, indexes: Sequence[int]) -> _core.Node:
        rest = repeat(self._one(self.every), 0, None)
        return concat(rest, self._one(indexes), rest)

    def _none(self, indexes: Sequence[int]) -> _core.Node:
        return repeat(self._one(index for index in self.every if index not in indexes), 0, None)
