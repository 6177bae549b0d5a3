"""Objects with members in any order: one set of members for each way to satisfy the residual."""

from __future__ import annotations

from detent import _core
from detent.sources.json_schema.assertions.formulas import TRUE, Formula
from detent.sources.json_schema.emit.counted_members import can_be_counted, emit_counted_members
from detent.sources.json_schema.emit.member_kinds import emit_member_kinds
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.emit.tasks import Task, ValueEmitter
from detent.sources.json_schema.solve.member_kinds import compares_names, has_too_many_kinds
from detent.sources.json_schema.solve.member_sets import HasFreeMember, MemberSets, atoms_of
from detent.sources.json_schema.solve.object_plan import ObjectPlan, sizes
from detent.sources.nodes import concat, lower_count, upper_count

__all__ = ["emit_in_any_order"]


def emit_in_any_order(values: ValueEmitter, spelling: Spelling, plan: ObjectPlan) -> Task:
    """Emit the objects of a plan with members in any order."""
    compares = _compares_names(plan, spelling)
    sets = MemberSets(plan)
    terms = None if compares else sets.few()
    if terms is None and not compares and has_too_many_kinds(plan, plan.residual, plan.order):
        terms = sets.many()
    if terms is None:
        members = yield from emit_member_kinds(values, spelling, plan, plan.residual, plan.order)
        some = concat(spelling.open_object, members, spelling.close_object)
        may_be_empty = not plan.required and plan.is_complete(plan.residual)
        return _core.union([spelling.empty_object, some]) if may_be_empty else some
    parts = []
    for term in terms:
        part = yield from _emit_term(values, spelling, plan, atoms_of(term))
        parts.append(part)
    return _core.union(parts)


def _compares_names(plan: ObjectPlan, spelling: Spelling) -> bool:
    """Whether the names of members are compared, in a way that a list of free members alone does not have."""
    if not spelling.has_json_values or not compares_names(plan, plan.residual):
        return False
    counts = sizes(plan.residual)
    if counts is None:
        return True
    if counts[0] <= len(plan.required) + 1:
        return False  # one free member is there in any case
    return bool(plan.order) or not can_be_counted(plan, spelling)


def _emit_term(values: ValueEmitter, spelling: Spelling, plan: ObjectPlan, atoms: tuple[Formula, ...]) -> Task:
    """Emit the objects for which a conjunction of atoms holds."""
    solver = plan.solver
    nothing = solver.document.nothing
    required_free = [plan.free[atom.index] for atom in atoms if isinstance(atom, HasFreeMember)]
    plan = plan.with_residual([atom for atom in atoms if atom is not TRUE and not isinstance(atom, HasFreeMember)])
    if plan.is_empty:
        return _core.empty()
    least, most = sizes(plan.residual) or (0, None)
    named = [(name, plan.value_of(name)) for name in plan.order]
    if any(value is nothing and name in plan.required for name, value in named):
        return _core.empty()
    members: list[tuple[_core.Node, bool]] = []
    for name, value in named:
        inner = values.try_immediate(value) or (yield value)
        if value is not nothing:
            members.append((concat(concat(spelling.name(name), spelling.colon), inner), name in plan.required))
    for free in required_free:
        value = solver.values(plan.schemas_of_class(free.name_class))
        inner = values.try_immediate(value) or (yield value)
        members.append((concat(spelling.free_label(free.strings), inner), True))
    others: list[_core.Node] = []
    for free, value, _ in plan.free_options(TRUE):
        inner = values.try_immediate(value) or (yield value)
        others.append(concat(spelling.free_label(free.strings), inner))
    if others and least > 1 and least > len(plan.required) + 1:
        if not members and can_be_counted(plan, spelling):
            counted = yield from emit_counted_members(values, spelling, plan, least, most)
            return concat(spelling.open_object, counted, spelling.close_object)
        least = plan.refuse_size(len(plan.required) + 1)
    needed = max(least, len(plan.required), len(required_free))
    if most == 0 or not (members or others):
        return _core.empty() if needed else spelling.empty_object
    other = _core.union(others) if others else None
    written = _core.unordered(members, other, spelling.comma, lower_count(max(least, 1)), upper_count(most))
    some = concat(spelling.open_object, written, spelling.close_object)
    return _core.union([some] if needed else [spelling.empty_object, some])
