"""Spelling: how JSON values are written, as expressions of the core.

A spelling has the tokens between values, and turns sets of strings and numbers into texts. The emitter knows nothing of
the target notation beside its spelling.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from detent import _core
from detent.sources.json_schema.solve.number_sets import NumberSet
from detent.sources.json_schema.solve.string_sets import StringSet
from detent.sources.nodes import concat, repeat, union

if TYPE_CHECKING:
    from detent.sources.json_schema.emit.tasks import ValueEmitter

__all__ = ["Spelling"]


class Spelling(ABC):
    """The tokens of a notation, and the texts of scalars."""

    null: _core.Node
    true: _core.Node
    false: _core.Node
    comma: _core.Node
    colon: _core.Node
    """What stands between a name and its value."""
    open_array: _core.Node
    close_array: _core.Node
    empty_array: _core.Node
    open_object: _core.Node
    close_object: _core.Node
    empty_object: _core.Node
    has_json_values = False
    """Whether values are JSON texts, so that the core can compare them."""
    object_start: _core.Node
    """The opening bracket alone: `open_object` is this and `before_member`, `empty_object` this and `empty_end`."""
    before_member: _core.Node
    empty_end: _core.Node

    @property
    @abstractmethod
    def any_name(self) -> _core.Node:
        """Any name of a member, and the colon."""

    @abstractmethod
    def name(self, name: str) -> _core.Node:
        """Return the texts of a declared name."""

    def member_order(self, names: Iterable[str]) -> Iterable[str]:
        """Return declared names in the order in which their members are written."""
        return names

    @abstractmethod
    def names(self, names: StringSet) -> _core.Node:
        """Return the texts of a set of names that are not declared."""

    def free_label(self, names: StringSet) -> _core.Node:
        """Return the texts of a set of names that are not declared, with the colon."""
        return self.any_name if names.is_everything else concat(self.names(names), self.colon)

    @abstractmethod
    def strings(self, strings: StringSet) -> _core.Node:
        """Return the texts of a set of strings."""

    @abstractmethod
    def numbers(self, sets: Sequence[NumberSet]) -> _core.Node:
        """Return the texts of a union of sets of numbers."""

    def members(self, values: ValueEmitter) -> ValueEmitter:
        """Return the emitter of the members of an outermost object in this spelling."""
        return values

    @property
    @abstractmethod
    def any_scalar(self) -> _core.Node:
        """The texts of all strings, numbers, booleans and null."""

    @cached_property
    def anything(self) -> _core.Node:
        """The texts of all values: the one recursive language that most schemas need, shared by all."""
        value = _core.reference(0)
        member = concat(self.any_name, value)
        array = concat(self.open_array, value, repeat(concat(self.comma, value), 0, None), self.close_array)
        members = concat(self.open_object, member, repeat(concat(self.comma, member), 0, None), self.close_object)
        anything = _core.grammar([union(self.any_scalar, self.empty_array, array, self.empty_object, members)], 0)
        _core.share(anything)
        return anything
