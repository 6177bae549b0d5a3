"""Counted members: free members of which no two have one name, so that their number is that of the parsed object."""

from __future__ import annotations

from detent import _core
from detent.errors import UnsupportedError
from detent.sources.json_schema.emit.member_kinds import emit_member_kinds
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.emit.tasks import Task, ValueEmitter
from detent.sources.json_schema.solve.object_plan import ObjectPlan
from detent.sources.nodes import upper_count

__all__ = ["can_be_counted", "emit_counted_members"]


def can_be_counted(plan: ObjectPlan, spelling: Spelling) -> bool:
    """Whether the free members of a plan are one list of the core, which knows the names that were read."""
    return len(plan.free) == 1 and spelling.has_json_values


def emit_counted_members(
    values: ValueEmitter, spelling: Spelling, plan: ObjectPlan, least: int, most: int | None
) -> Task:
    """Emit `least` to `most` free members with different names, and the commas between them; `least` is 1 or more."""
    if most is not None and most < least:
        return _core.empty()
    [names] = plan.free
    value = plan.solver.values(plan.schemas_of_class(names.name_class))
    inner = values.try_immediate(value)
    if inner is None:
        inner = yield value
    name = spelling.names(names.strings)
    member = _core.concat([spelling.colon, inner])
    try:
        return _core.distinct(name, member, spelling.comma, least, upper_count(most), True)
    except UnsupportedError:  # members contain the object itself: a list of kinds knows the shortest ones
        algebra = plan.solver.algebra
        counts = [algebra.at_least(least), *([] if most is None else [algebra.at_most(most)])]
        return (yield from emit_member_kinds(values, spelling, plan, algebra.conjunction(counts), ()))
