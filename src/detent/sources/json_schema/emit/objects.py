"""Objects: members in the order of the schema, each allowed subset, as one shared chain of expressions."""

from __future__ import annotations

from detent import _core
from detent.sources.json_schema.assertions.assertions import Conjunction
from detent.sources.json_schema.assertions.formulas import FALSE, TRUE, Formula
from detent.sources.json_schema.emit.any_order import emit_in_any_order
from detent.sources.json_schema.emit.counted_members import can_be_counted, emit_counted_members
from detent.sources.json_schema.emit.member_kinds import emit_member_kinds
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.emit.tasks import Continuation, Task, ValueEmitter
from detent.sources.json_schema.solve.member_kinds import member_options
from detent.sources.json_schema.solve.object_plan import ObjectPlan, sizes
from detent.sources.nodes import concat, lower_count, repeat, upper_count

__all__ = ["emit_object"]

_State = tuple[Formula, bool]
"""A residual, and whether a member has been written."""
_Edge = tuple["Conjunction | None", _State]
"""The value of a member, or None where the member is left out, and the next state."""


def emit_object(values: ValueEmitter, spelling: Spelling, plan: ObjectPlan) -> Task:
    """Emit the objects of a plan."""
    if plan.is_empty:
        return _core.empty()
    if not values.is_ordered:
        return (yield from emit_in_any_order(values, spelling, plan))
    if plan.residual is TRUE:
        return (yield from _emit_chain(values, spelling, plan))
    return (yield from _OrderedWalk(values, spelling, plan).emit())


def _emit_chain(values: ValueEmitter, spelling: Spelling, plan: ObjectPlan) -> Task:
    """Emit the objects of a plan without residual, the common case."""
    members: list[tuple[_core.Node, bool]] = []
    for name in plan.order:
        value = plan.value_of(name)
        is_required = name in plan.required
        if value is plan.solver.document.nothing:
            if is_required:
                return _core.empty()
            continue
        inner = values.try_immediate(value)
        if inner is None:
            inner = yield value
        members.append((_core.concat([spelling.name(name), spelling.colon, inner]), is_required))
    free: list[_core.Node] = []
    for names, value, _ in plan.free_options(TRUE):
        inner = values.try_immediate(value)
        if inner is None:
            inner = yield value
        free.append(_core.concat([spelling.free_label(names.strings), inner]))
    others = _core.union(free) if free else None
    some = concat(spelling.open_object, _core.ordered(members, others, spelling.comma, True), spelling.close_object)
    return some if any(is_required for _, is_required in members) else _core.union([spelling.empty_object, some])


class _OrderedWalk:
    """Emits the objects of a plan with a residual: one state for each derivative at each declared name."""

    def __init__(self, values: ValueEmitter, spelling: Spelling, plan: ObjectPlan) -> None:
        self.values = values
        self.spelling = spelling
        self.plan = plan
        self._continuations: dict[Formula, Continuation] = {}

    def emit(self) -> Task:
        plan, spelling = self.plan, self.spelling
        layers: list[dict[_State, list[_Edge]]] = [{(plan.residual, False): []}]
        for name in plan.order:
            layers.append(self._next_layer(name, layers[-1]))
        nodes: dict[_State, _core.Node] = {}
        for formula, is_written in layers[-1]:
            if spelling.has_json_values and self._compares_names(formula):
                nodes[formula, is_written] = yield self._kinds(formula, is_written)
                continue
            plan.check_witnesses(formula)
            is_counted = sizes(formula) is not None and can_be_counted(plan, spelling)
            left = formula if is_counted else plan.with_countable_sizes(formula)
            nodes[formula, is_written] = yield self._after_member(left) if is_written else self._first_free(left)
        names = list(plan.order)
        for index in range(len(names) - 1, -1, -1):
            label = concat(spelling.name(names[index]), spelling.colon)
            later, nodes = nodes, {}
            for state, edges in layers[index].items():
                parts = []
                for value, target in edges:
                    if value is None:
                        parts.append(later[target])
                        continue
                    inner = self.values.try_immediate(value)
                    if inner is None:
                        inner = yield value
                    before = spelling.comma if state[1] else spelling.before_member
                    parts.append(_core.concat([before, label, inner, later[target]]))
                nodes[state] = _core.union(parts)
        return concat(spelling.object_start, nodes[plan.residual, False])

    def _next_layer(self, name: str, layer: dict[_State, list[_Edge]]) -> dict[_State, list[_Edge]]:
        """Add the edges of a layer by one declared name, and return the states that they lead to."""
        plan, solver = self.plan, self.plan.solver
        known = plan.schemas_of(name)
        found: dict[_State, list[_Edge]] = {}
        for (formula, is_written), edges in layer.items():
            if name not in plan.required:
                left = plan.without(formula, name)
                if left is not FALSE:
                    edges.append((None, (left, is_written)))
            for schemas, left in member_options(plan, formula, name, known):
                value = solver.values([*known, *schemas])
                if value is not solver.document.nothing and left is not FALSE:
                    edges.append((value, (left, True)))
            for _, target in edges:
                found.setdefault(target, [])
            solver.spend(len(edges))
        return found

    # Free members.

    def _compares_names(self, formula: Formula) -> bool:
        """Whether free members are counted, or several must have certain values, and no other way knows their names."""
        plan = self.plan
        if plan.has_witnesses(formula):
            return True
        is_counted = sizes(formula) is not None and can_be_counted(plan, self.spelling)
        return not is_counted and plan.counts_free_names(formula)

    def _kinds(self, formula: Formula, is_written: bool) -> Continuation:
        """Return the rest of an object after a member, or after the opening bracket, where free members have kinds."""
        return Continuation(lambda: self._emit_kinds(formula, is_written))

    def _emit_kinds(self, formula: Formula, is_written: bool) -> Task:
        spelling = self.spelling
        members = yield from emit_member_kinds(self.values, spelling, self.plan, formula, ())
        some = concat(spelling.comma if is_written else spelling.before_member, members, spelling.close_object)
        end = spelling.close_object if is_written else spelling.empty_end
        return _core.union([end, some]) if self.plan.is_complete(formula) else some

    def _after_member(self, formula: Formula) -> Continuation:
        """Return the rest of an object after a member: free members and the closing bracket."""
        found = self._continuations.get(formula)
        if found is None:
            self.plan.solver.spend(1)
            found = self._continuations[formula] = Continuation(lambda: self._emit_after_member(formula))
        return found

    def _first_free(self, formula: Formula) -> Continuation:
        """Return the rest of an object after the opening bracket, where no member has been written."""
        return Continuation(lambda: self._emit_first_free(formula))

    def _is_counted(self, least: int) -> bool:
        """Whether the number of different free names matters: a text may repeat one, and one is there in any case."""
        return least > 1 and can_be_counted(self.plan, self.spelling)

    def _emit_any_free(self) -> Task:
        """Emit one free member, where the residual is about the number of members alone."""
        free: list[_core.Node] = []
        for names, value, _ in self.plan.free_options(TRUE):
            inner = self.values.try_immediate(value)
            if inner is None:
                inner = yield value
            free.append(concat(self.spelling.free_label(names.strings), inner))
        return _core.union(free)

    def _emit_after_member(self, formula: Formula) -> Task:
        spelling = self.spelling
        counts = sizes(formula)
        if counts is not None and self._is_counted(counts[0]):
            more = yield from emit_counted_members(self.values, spelling, self.plan, *counts)
            return concat(spelling.comma, more, spelling.close_object)
        if counts is not None:
            member = yield from self._emit_any_free()
            more = repeat(concat(spelling.comma, member), lower_count(counts[0]), upper_count(counts[1]))
            return concat(more, spelling.close_object)
        loops: list[_core.Node] = []
        parts = [spelling.close_object] if self.plan.is_complete(formula) else []
        for names, value, left in self.plan.free_options(formula):
            inner = self.values.try_immediate(value)
            if inner is None:
                inner = yield value
            member = concat(spelling.comma, spelling.free_label(names.strings), inner)
            if left is formula:
                loops.append(member)
            else:
                parts.append(concat(member, (yield self._after_member(left))))
        return concat(repeat(_core.union(loops), 0, None), _core.union(parts))

    def _emit_first_free(self, formula: Formula) -> Task:
        spelling = self.spelling
        counts = sizes(formula)
        if counts is not None and self._is_counted(counts[0]):
            more = yield from emit_counted_members(self.values, spelling, self.plan, *counts)
            return concat(spelling.before_member, more, spelling.close_object)
        if counts is not None:
            least, most = counts
            parts = [spelling.empty_end] if least == 0 else []
            if most is None or most > 0:
                member = yield from self._emit_any_free()
                upper = None if most is None else most - 1
                more = repeat(concat(spelling.comma, member), lower_count(max(least - 1, 0)), upper_count(upper))
                parts.append(concat(spelling.before_member, member, more, spelling.close_object))
            return _core.union(parts)
        parts = [spelling.empty_end] if self.plan.is_complete(formula) else []
        for names, value, left in self.plan.free_options(formula):
            inner = self.values.try_immediate(value)
            if inner is None:
                inner = yield value
            label = spelling.free_label(names.strings)
            parts.append(concat(spelling.before_member, label, inner, (yield self._after_member(left))))
        return _core.union(parts)
