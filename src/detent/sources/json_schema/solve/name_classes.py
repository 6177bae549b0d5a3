"""Classes of free names: the names that no schema mentions, partitioned by the patterns and schemas about names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from detent.errors import LimitError
from detent.sources.json_schema.assertions.formulas import EveryMember
from detent.sources.json_schema.assertions.property_names import Criterion, NameClass, NameSet
from detent.sources.json_schema.parse.schema_node import SignedSchema
from detent.sources.json_schema.solve.solver import Solver
from detent.sources.json_schema.solve.string_sets import SearchRoom, StringSet, union_of_strings

__all__ = ["FreeNames", "name_classes"]

_MAX_CLASSES = 64
_MAX_SEARCHED = 48 << 20
"""Bytes of the automata that find which classes have a name: some 0.7 s; real schemas take up to 34 MB."""
_Verdicts = tuple[tuple[Criterion, bool], ...]


class FreeNames(NamedTuple):
    """A class of free names, or several with the same conditions, for which one stands."""

    name_class: NameClass
    strings: StringSet


def name_classes(
    solver: Solver, mentioned: Iterable[str], every: list[EveryMember], residual_names: list[NameSet]
) -> list[FreeNames]:
    """Return the classes of free names whose members have values.

    `every` are the conditions on all members whose name is in a set; `residual_names` are the sets of names in the
    residual, which also decide whether two classes are alike.
    """
    criteria: dict[Criterion, None] = {}
    for names in [*(one.names for one in every), *residual_names]:
        criteria.update(dict.fromkeys(names.criteria))
    unmentioned = StringSet(excluded=frozenset(mentioned))
    classes: list[tuple[_Verdicts, StringSet]] = [((), unmentioned)]
    room = SearchRoom(_MAX_SEARCHED)
    for criterion in criteria:
        inside = solver.satisfying(criterion)
        outside = solver.failing(criterion)
        classes = [
            ((*verdicts, (criterion, verdict)), strings.intersection(side))
            for verdicts, strings in classes
            for verdict, side in ((True, inside), (False, outside))
            if not _is_forbidden(solver, (*verdicts, (criterion, verdict)), every)
        ]
        classes = [(verdicts, strings) for verdicts, strings in classes if strings.listed is None or strings.listed]
        if len(criteria) > 3 and len(classes) > 3:
            classes = _with_names(classes, room)
        if len(classes) > _MAX_CLASSES:
            raise LimitError(
                f"{len(criteria)} patterns of names overlap in over {_MAX_CLASSES} ways; "
                "make patternProperties disjoint",
                subject="name_classes",
                limit=_MAX_CLASSES,
                given=len(classes),
            )
    found = [FreeNames(NameClass(verdicts), strings) for verdicts, strings in classes]
    return _united(solver, found, every, residual_names, unmentioned)


def _with_names(classes: list[tuple[_Verdicts, StringSet]], room: SearchRoom) -> list[tuple[_Verdicts, StringSet]]:
    """Return the classes that have a name; raises `LimitError` with the patterns of the class that is too large."""
    found = []
    for verdicts, strings in classes:
        try:
            is_empty = strings.is_empty(room)
        except LimitError as error:
            patterns = [f"{criterion:.40}" for criterion, _ in verdicts if isinstance(criterion, str)]
            raise LimitError(
                f"the patterns of names {', '.join(map(repr, patterns[:4]))} overlap in too many ways to find which "
                "names match several; anchor them with ^ and $, or begin each with a text of its own",
                subject="name_classes",
                limit=_MAX_SEARCHED,
                given=error.given,
            ) from error
        if not is_empty:
            found.append((verdicts, strings))
    return found


def _is_forbidden(solver: Solver, verdicts: _Verdicts, every: list[EveryMember]) -> bool:
    """Whether the verdicts so far imply that members of a class are forbidden."""
    known = dict(verdicts)
    for one in every:
        is_decided = one.schema is solver.document.never and all(criterion in known for criterion in one.names.criteria)
        if is_decided and NameClass(verdicts).is_within(one.names):
            return True
    return False


def _united(
    solver: Solver,
    classes: list[FreeNames],
    every: list[EveryMember],
    residual_names: list[NameSet],
    unmentioned: StringSet,
) -> list[FreeNames]:
    """Unite the classes with the same conditions; leave out those whose members have no value."""
    groups: dict[Any, list[FreeNames]] = {}
    for names in classes:
        schemas: list[SignedSchema] = [one.schema for one in every if names.name_class.is_within(one.names)]
        if solver.values(schemas) is solver.document.nothing:
            continue
        key = (tuple(schemas), tuple(names.name_class.is_within(one) for one in residual_names))
        groups.setdefault(key, []).append(names)
    # With n criteria and no class left out there are 2^n classes; if all are united, they are all unmentioned names.
    is_complete = bool(classes) and len(classes) == 1 << len(classes[0].name_class.verdicts)
    if len(groups) == 1 and is_complete:
        (group,) = groups.values()
        if len(group) == len(classes):
            return [FreeNames(group[0].name_class, unmentioned)]
    return [
        FreeNames(group[0].name_class, union_of_strings([names.strings for names in group]))
        for group in groups.values()
    ]
