"""Classes of free names: the names that no schema mentions, partitioned by the patterns and schemas about names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
_Start = list[frozenset[int]]
"""The bytes that names may have at their first positions."""


class FreeNames(NamedTuple):
    """A class of free names, or several with the same conditions, for which one stands."""

    name_class: NameClass
    strings: StringSet


class _Class(NamedTuple):
    """Names with the same verdicts: those of `inside` that are in none of `outside`."""

    verdicts: _Verdicts
    inside: StringSet
    outside: tuple[_Side, ...]
    starts: tuple[_Start, ...]
    """How the names of each satisfied criterion begin."""
    has_name: bool
    """Whether a search has found a name of the class."""

    @property
    def strings(self) -> StringSet:
        """The names."""
        found = self.inside
        for side in self.outside:
            found = found.intersection(side.failing)
        return found

    def begins_like(self, start: _Start) -> bool:
        """Whether a name of the class may begin so, too, as far as the starts tell."""
        return all(_may_meet(start, one) for one in self.starts)


class _Side(NamedTuple):
    """The names for which a criterion holds, those for which it does not, and how each of the former begins."""

    satisfying: StringSet
    failing: StringSet
    start: _Start

    def split(self, criterion: Criterion, names: _Class) -> Iterator[_Class]:
        """Yield the names of a class for which the criterion holds, if there may be any, and the others."""
        verdicts = names.verdicts
        if not names.begins_like(self.start):
            yield names._replace(verdicts=(*verdicts, (criterion, False)))
            return
        yield _Class(
            (*verdicts, (criterion, True)),
            names.inside.intersection(self.satisfying),
            tuple(side for side in names.outside if _may_meet(side.start, self.start)),  # the others exclude nothing
            (*names.starts, self.start),
            False,
        )
        yield names._replace(
            verdicts=(*verdicts, (criterion, False)),
            outside=(*names.outside, self),
            has_name=False,
        )


def _may_meet(one: _Start, other: _Start) -> bool:
    """Whether a name may begin in both ways."""
    return all(first & second for first, second in zip(one, other, strict=False))


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
    classes = [_Class((), unmentioned, (), (), False)]
    is_complete = True
    room = SearchRoom(_MAX_SEARCHED)
    for criterion in criteria:
        satisfying = solver.satisfying(criterion)
        side = _Side(satisfying, solver.failing(criterion), satisfying.first_sets() if len(criteria) > 3 else [])
        divided = [part for names in classes for part in side.split(criterion, names)]
        classes = [part for part in divided if not _is_forbidden(solver, part.verdicts, every)]
        is_complete &= len(classes) == len(divided)
        classes = [names for names in classes if names.inside.listed is None or names.strings.listed]
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
    found = [FreeNames(NameClass(names.verdicts), names.strings) for names in classes]
    return _united(solver, found, every, residual_names, unmentioned if is_complete else None)


def _with_names(classes: list[_Class], room: SearchRoom) -> list[_Class]:
    """Return the classes that have a name; raises `LimitError` with the patterns of the class that is too large."""
    found = []
    for names in classes:
        try:
            has_name = names.has_name or not names.strings.is_empty(room)
        except LimitError as error:
            patterns = [f"{criterion:.40}" for criterion, _ in names.verdicts if isinstance(criterion, str)]
            raise LimitError(
                f"the patterns of names {', '.join(map(repr, patterns[:4]))} overlap in too many ways to find which "
                "names match several; anchor them with ^ and $, or begin each with a text of its own",
                subject="name_classes",
                limit=_MAX_SEARCHED,
                given=error.given,
            ) from error
        if has_name:
            found.append(names._replace(has_name=True))
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
    every_name: StringSet | None,
) -> list[FreeNames]:
    """Unite the classes with the same conditions; leave out those whose members have no value.

    `every_name` are the names of all classes together, if none was left out.
    """
    groups: dict[Any, list[FreeNames]] = {}
    for names in classes:
        schemas: list[SignedSchema] = [one.schema for one in every if names.name_class.is_within(one.names)]
        if solver.values(schemas) is solver.document.nothing:
            continue
        key = (tuple(schemas), tuple(names.name_class.is_within(one) for one in residual_names))
        groups.setdefault(key, []).append(names)
    if len(groups) == 1 and every_name is not None:
        (group,) = groups.values()
        if len(group) == len(classes):
            return [FreeNames(group[0].name_class, every_name)]
    return [
        FreeNames(group[0].name_class, union_of_strings([names.strings for names in group]))
        for group in groups.values()
    ]
