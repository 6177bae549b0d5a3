"""Arrays: a chain of the first items and a repeat of the others."""

from __future__ import annotations

from detent import _core
from detent.errors import UnsupportedError
from detent.sources.json_schema.assertions.formulas import TRUE, Formula
from detent.sources.json_schema.emit.tasks import Continuation, Task, ValueEmitter
from detent.sources.json_schema.parse.schema_node import SchemaNode
from detent.sources.json_schema.solve.array_plan import ArrayPlan
from detent.sources.nodes import concat, lower_count, optional, repeat, upper_count

__all__ = ["emit_array"]

_MAX_MEMBERS = 16
"""The number of listed values whose sets are states. A list of distinct items has the states of one text only."""
_WORK_OF_STATE = 4  # a state of an array takes as long as four branches of a combination


def emit_array(values: ValueEmitter, plan: ArrayPlan) -> Task:
    """Emit the arrays of a plan."""
    if plan.is_empty:
        return _core.empty()
    if plan.distinct_values is not None:
        required = plan.required_values(plan.distinct_values)
        if required is not None and not plan.uniform_from:
            if len(plan.distinct_values) > _MAX_MEMBERS and not required and values.spelling.has_json_values:
                return (yield from _emit_unique(values, plan, plan.min_items, plan.max_items))
            return (yield from _emit_distinct(values, plan, plan.distinct_values, required))
        plan.refuse_distinct()
    if plan.is_distinct:
        lengths = plan.lengths()
        if lengths is not None and not plan.uniform_from and values.spelling.has_json_values:
            ranges = []
            for min_items, max_items in lengths:
                ranges.append((yield from _emit_unique(values, plan, min_items, max_items)))
            return _core.union(ranges) if ranges else _core.empty()
        _refuse_unique(values, plan)
    if plan.residual is TRUE:
        return (yield from _emit_chain(values, plan))
    return (yield from _ArrayWalk(values, plan).emit())


def _emit_chain(values: ValueEmitter, plan: ArrayPlan) -> Task:
    """Emit the arrays of a plan without residual, the common case."""
    spelling, max_items = values.spelling, plan.max_items
    if max_items == 0:
        return spelling.empty_array
    fixed = plan.uniform_from if max_items is None else min(plan.uniform_from, max_items)
    items: list[_core.Node] = []
    for index in range(fixed + (max_items is None or max_items > fixed)):
        value = plan.value(index)
        inner = values.try_immediate(value)
        if inner is None:
            inner = yield value
        items.append(inner)
    if fixed == 0:
        upper = None if max_items is None else max_items - 1
        more = repeat(concat(spelling.comma, items[0]), lower_count(max(plan.min_items - 1, 0)), upper_count(upper))
    else:
        more = _core.epsilon()
        if len(items) > fixed:
            upper = None if max_items is None else max_items - fixed
            min_items = lower_count(max(plan.min_items - fixed, 0))
            more = repeat(concat(spelling.comma, items[fixed]), min_items, upper_count(upper))
        for index in range(fixed - 1, 0, -1):
            more = concat(spelling.comma, items[index], more)
            if index >= plan.min_items:
                more = optional(more)
    whole = concat(spelling.open_array, items[0], more, spelling.close_array)
    return whole if plan.min_items else _core.union([spelling.empty_array, whole])


def _emit_unique(values: ValueEmitter, plan: ArrayPlan, min_items: int, max_items: int | None) -> Task:
    """Emit arrays of `min_items` to `max_items` items of which no two are equal."""
    spelling = values.spelling
    if max_items == 0:
        return spelling.empty_array
    value = plan.value(0)
    item = values.try_immediate(value)
    if item is None:
        item = yield value
    try:
        fewest = lower_count(max(min_items, 1))
        items = _core.distinct(item, _core.epsilon(), spelling.comma, fewest, upper_count(max_items))
    except UnsupportedError:
        plan.refuse_unique(
            "the items contain the array itself, so that the number of different ones is not known",
            "leave minItems or uniqueItems out there",
        )
        return (yield from _emit_chain(values, plan))
    if item.has_distinct and not values.takes_nested_lists(plan, items):
        plan.refuse_nested()
        return (yield from _emit_chain(values, plan))
    whole = concat(spelling.open_array, items, spelling.close_array)
    return whole if min_items else _core.union([spelling.empty_array, whole])


def _refuse_unique(values: ValueEmitter, plan: ArrayPlan) -> None:
    if not values.spelling.has_json_values:
        plan.refuse_unique("items with many values are compared in JSON only", "give the items an enum")
    elif plan.uniform_from:
        plan.refuse_unique("the first items have schemas of their own, and many values", "give the items one schema")
    else:
        plan.refuse_unique("contains and alternatives count items with many values", "take the other conditions away")


def _emit_distinct(
    values: ValueEmitter, plan: ArrayPlan, constants: list[SchemaNode], required: set[SchemaNode]
) -> Task:
    """Emit arrays of listed values, each at most once, and the required ones once."""
    spelling = values.spelling
    members = []
    for constant in constants:
        value = plan.value(0, (constant,))
        inner = values.try_immediate(value)
        members.append((inner if inner is not None else (yield value), constant in required))
    min_items, max_items = max(plan.min_items, 1), plan.max_items
    needs_item = plan.min_items > 0 or bool(required)
    if min_items > len(members):
        return _core.empty() if needs_item else spelling.empty_array
    items = _core.unordered(members, None, spelling.comma, min_items, upper_count(max_items))
    whole = concat(spelling.open_array, items, spelling.close_array)
    return whole if needs_item else _core.union([spelling.empty_array, whole])


class _ArrayWalk:
    """Emits the arrays of a plan with a residual: one state for each derivative at each index."""

    def __init__(self, values: ValueEmitter, plan: ArrayPlan) -> None:
        self.values = values
        self.spelling = values.spelling
        self.plan = plan
        self._continuations: dict[tuple[int, Formula], Continuation] = {}

    def emit(self) -> Task:
        parts = [self.spelling.empty_array] if self.plan.may_end(0, self.plan.residual) else []
        for value, left in self.plan.options(0, self.plan.residual):
            inner = self.values.try_immediate(value)
            if inner is None:
                inner = yield value
            parts.append(concat(self.spelling.open_array, inner, (yield self._after_item(1, left))))
        return _core.union(parts)

    def _after_item(self, index: int, formula: Formula) -> Continuation:
        """Return the rest of an array after the item before an index."""
        key = (min(index, self.plan.last), formula)
        found = self._continuations.get(key)
        if found is None:
            self.plan.solver.spend(_WORK_OF_STATE)
            found = self._continuations[key] = Continuation(lambda: self._emit_after_item(*key))
        return found

    def _emit_after_item(self, index: int, formula: Formula) -> Task:
        plan, spelling = self.plan, self.spelling
        if formula is TRUE and index >= plan.uniform_from:
            return (yield from self._emit_repeated(index))
        parts = [spelling.close_array] if plan.may_end(index, formula) else []
        loops: list[_core.Node] = []
        is_last = index == plan.last and plan.max_items is None
        for value, left in plan.options(index, formula):
            inner = self.values.try_immediate(value)
            if inner is None:
                inner = yield value
            item = concat(spelling.comma, inner)
            if is_last and left is formula:
                loops.append(item)
            else:
                parts.append(concat(item, (yield self._after_item(index + 1, left))))
        return concat(repeat(_core.union(loops), 0, None), _core.union(parts))

    def _emit_repeated(self, index: int) -> Task:
        """Emit the rest of an array in which only the number of items is undecided."""
        plan, spelling, max_items = self.plan, self.spelling, self.plan.max_items
        min_items = lower_count(max(plan.min_items - index, 0))
        if max_items is not None and index >= max_items:
            return spelling.close_array
        value = plan.value(index)
        item = self.values.try_immediate(value) or (yield value)
        upper = None if max_items is None else upper_count(max_items - index)
        return concat(repeat(concat(spelling.comma, item), min_items, upper), spelling.close_array)
