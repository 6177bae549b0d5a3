r"""Arguments as tagged texts: `<parameter=a>`, the value, `</parameter>`, for each argument.

The value of an argument that takes strings, perhaps beside numbers, booleans and null, is *raw*: a string is written
without quotes, and does not contain the closing tag. Where such a text is JSON of another value that the argument
takes, that value is meant. Other values are JSON on one line; a value that is no object or array may also be True,
False or None, which the templates of several families write; not where a template says which values are strings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from detent import _core
from detent.errors import UnsupportedError
from detent.limits import Limits
from detent.queries import ByteDfa
from detent.sources.calls.function import Function
from detent.sources.calls.locate import json_end
from detent.sources.json_schema.assertions.assertions import Conjunction
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.assertions.formulas import TRUE
from detent.sources.json_schema.emit.emitter import Emitter
from detent.sources.json_schema.emit.json_spelling import json_spelling
from detent.sources.json_schema.emit.nested_lists import are_taken
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.emit.tasks import ValueEmitter
from detent.sources.json_schema.parse.values import ARRAY, OBJECT, STRING
from detent.sources.json_schema.solve.array_plan import ArrayPlan
from detent.sources.json_schema.solve.merged import MergedAssertions
from detent.sources.json_schema.solve.number_sets import NumberSet
from detent.sources.json_schema.solve.object_plan import ObjectPlan
from detent.sources.json_schema.solve.solver import Solver
from detent.sources.json_schema.solve.splitting import split
from detent.sources.json_schema.solve.string_sets import StringSet, string_set
from detent.sources.nodes import ANY_BYTES, concat, short_repr, union
from detent.sources.regex import regex

__all__ = ["XmlArguments", "XmlTemplate"]

_DEFAULT_LIMITS = Limits()
_JSON = json_spelling("written", "line")
_WORDS = {"True": "true", "False": "false", "None": "null"}
_NAME = regex(r"[\w.:/-]+")._node
_QUOTED = concat('"', ANY_BYTES)


@dataclass(frozen=True)
class XmlTemplate:
    r"""The texts around the name and the value of an argument.

    >>> XmlTemplate.read("<parameter={key}>\n{value}\n</parameter>\n")
    XmlTemplate('<parameter=', '>\n', '\n</parameter>\n')
    """

    before_name: str
    after_name: str
    after_value: str
    before_string: str = ""
    before_other: str = ""
    tags: tuple[str, ...] = ()
    """The texts in the template that are special tokens where a vocabulary has them."""

    @staticmethod
    def read(template: str, tags: Sequence[str] = ()) -> XmlTemplate:
        """Read a template with the slots ``{key}`` and ``{value}``, and perhaps ``{is_string}`` between them."""
        before_name, _, rest = template.partition("{key}")
        middle, _, after_value = rest.partition("{value}")
        after_name, slot, before_value = middle.partition("{is_string}")
        if not slot:
            before_value = ""
        texts = f"true{before_value}" if slot else "", f"false{before_value}" if slot else ""
        return XmlTemplate(before_name, after_name, after_value, *texts, tuple(tags))

    def node(self, text: str) -> _core.Node:
        """Return the node of a text of the template."""
        names = sorted((tag for tag in self.tags if tag in text), key=len, reverse=True)
        pieces = re.split(f"({'|'.join(map(re.escape, names))})", text) if names else [text]
        literals = [_core.literal(piece.encode()) for piece in pieces]
        tagged = zip(pieces, literals, strict=True)
        return concat(*[_core.special(piece.encode(), node) if piece in names else node for piece, node in tagged])

    def __repr__(self) -> str:
        return f"XmlTemplate({self.before_name!r}, {self.after_name!r}, {self.after_value!r})"

    @property
    def closing_tag(self) -> str:
        """The text that raw values do not contain."""
        return self.after_value.strip()


class XmlArguments:
    r"""The arguments of a function as tagged texts.

    >>> import detent
    >>> def search(text: str, limit: int): ...
    >>> from detent.sources.calls.function import read_functions
    >>> template = XmlTemplate.read("<{key}>{value}</{key}>".replace("</{key}>", "</>"))
    >>> arguments = XmlArguments(read_functions(search)[0], template)
    >>> arguments.members("<text>12 cats</><limit>3</>")
    {'text': '"12 cats"', 'limit': '3'}
    """

    def __init__(self, function: Function, template: XmlTemplate) -> None:
        self._function = function
        self._template = template
        self._solver = Solver(SchemaDocument(function.schema, False, function.formats, _DEFAULT_LIMITS))
        self._plans: list[ObjectPlan] | None = None
        self._others: dict[str, list[ByteDfa]] = {}

    def node(self) -> _core.Node:
        """Return the texts of the arguments."""
        return Emitter(self._solver, _JSON, outermost=_XmlSpelling(self._template, self._function.name)).emit()

    def members(self, text: str) -> dict[str, str]:
        """Return the arguments of a text, each as JSON."""
        return self.complete_members(text, 0)[0]

    def complete_members(self, text: str, start: int) -> tuple[dict[str, str], int]:
        """Return the complete arguments from `start` on, each as JSON, and where the last of them ends.

        Cost: linear in the text from `start` on; a search for the closing tag alone where no argument is complete.
        """
        found: dict[str, str] = {}
        while (started := self._started(text, start)) is not None:
            name, position = started
            end = text.find(self._template.after_value, position)
            if end >= 0:
                end = text.find(self._template.after_value, self._end_of_json(name, text, position))
            if end < 0:
                break
            found[name] = self._as_json(name, text[position:end])
            start = end + len(self._template.after_value)
        return found, start

    def string_so_far(self, text: str, start: int) -> tuple[str, str] | None:
        """Return the name and the certain part of the raw string that begins at `start` and is not complete."""
        started = self._started(text, start)
        if started is None:
            return None
        name, position = started
        written = self._string_so_far(name, text, position)
        return None if written is None else (name, written)

    def _started(self, text: str, start: int) -> tuple[str, int] | None:
        """Return the name of the argument that begins at `start`, and where its value begins; None if cut before."""
        template = self._template
        if not text.startswith(template.before_name, start):
            return None
        start += len(template.before_name)
        named = text.find(template.after_name, start)
        return None if named < 0 else (text[start:named], named + len(template.after_name))

    def raw_names(self, names: Sequence[str]) -> list[str]:
        """Return the arguments whose values are raw, of these names."""
        plans = self._object_plans()
        values = {name: [value for plan in plans for value in _values_of(plan, name)] for name in names}
        return [name for name in names if all(_raw_strings(self._solver, value) for value in values[name])]

    def _end_of_json(self, name: str, text: str, start: int) -> int:
        """Return the end of an object or array at `start`, whose strings may hold a closing tag; else `start`."""
        template = self._template
        if template.before_string:
            start += len(template.before_other) if text.startswith(template.before_other, start) else 0
            is_other = text.startswith(("{", "["), start)
        else:
            is_other = self._begins_container(name, text, start)
        return json_end(text, start) if is_other else start

    def _begins_container(self, name: str, text: str, start: int) -> bool:
        """Whether an object or array of an argument begins at `start`; such an argument is never a raw string."""
        bracket = text[start : start + 1].encode()
        return bracket in (b"{", b"[") and any(
            other.longest_prefix(bracket)[0] == 1 for other in self._other_values(name)
        )

    def _as_json(self, name: str, written: str) -> str:
        template = self._template
        if template.before_string:
            if not written.startswith(template.before_string):
                return written[len(template.before_other) :]
            written = written[len(template.before_string) :]
        elif any(other.accepts(written.encode()) for other in self._other_values(name)):
            return _WORDS.get(written, written)
        return json.dumps(written, ensure_ascii=False)

    def _string_so_far(self, name: str, text: str, start: int) -> str | None:
        """Return the certain part of a raw string whose closing tag is missing; None if it may be another value."""
        before = self._template.before_string
        if (before and not text.startswith(before, start)) or (
            not before and self._begins_container(name, text, start)
        ):
            return None
        written = _without_partial_tag(text[start + len(before) :], self._template.after_value)
        data = written.encode()
        is_other = not before and any(other.longest_prefix(data)[0] == len(data) for other in self._other_values(name))
        return None if is_other or not written else written

    def _other_values(self, name: str) -> list[ByteDfa]:
        """Return the texts of an argument's values that are no raw strings."""
        if name not in self._others:
            values = [value for plan in self._object_plans() for value in _values_of(plan, name)]
            nodes = [_others(self._solver, value) or Emitter(self._solver, _JSON).emit(value) for value in values]
            self._others[name] = [ByteDfa(node) for node in nodes]
        return self._others[name]

    def _object_plans(self) -> list[ObjectPlan]:
        if self._plans is None:
            solver = self._solver
            pending = [solver.document.conjunction([solver.document.root])]
            self._plans = []
            while pending:
                conjunction = pending.pop()
                merged = solver.merged(conjunction)
                found = split(solver, merged, 1)
                if found is not None:
                    pending += [solver.document.conjunction(each) for each in found.alternatives]
                    continue
                formulas = (
                    None if merged.is_empty or not merged.kinds & OBJECT else solver.formulas.about(merged, OBJECT)
                )
                if formulas is not None:
                    self._plans.append(ObjectPlan(solver, conjunction, merged.declared, formulas))
        return self._plans


class _XmlSpelling(Spelling):
    """An object as tagged texts; its members are emitted by `_XmlValues`."""

    null, true, false = _JSON.null, _JSON.true, _JSON.false
    object_start = empty_end = _core.epsilon()
    open_array, close_array, empty_array = _JSON.open_array, _JSON.close_array, _JSON.empty_array
    empty_object = _core.epsilon()

    def __init__(self, template: XmlTemplate, function: str) -> None:
        self._template = template
        self._function = function
        self.colon = template.node(template.after_name)
        self.comma = template.node(template.after_value + template.before_name)
        self.open_object = self.before_member = template.node(template.before_name)
        self.close_object = template.node(template.after_value)

    @property
    def any_name(self) -> _core.Node:
        """See `Spelling.any_name`."""
        return concat(_NAME, self.colon)

    @property
    def any_scalar(self) -> _core.Node:
        """See `Spelling.any_scalar`."""
        return _JSON.any_scalar

    def name(self, name: str) -> _core.Node:
        """See `Spelling.name`.

        Raises
        ------
        UnsupportedError
            The name has characters that a tag cannot hold.
        """
        if not name or any(not (character.isalnum() or character in "_.:/-") for character in name):
            raise UnsupportedError(
                f"the argument name {short_repr(name)} of {short_repr(self._function)} cannot stand in a tag; rename "
                "it, or use a style that writes JSON"
            )
        return _core.literal(name.encode())

    def names(self, names: StringSet) -> _core.Node:
        """See `Spelling.names`."""
        return _core.intersection([names.node(), _NAME])

    def strings(self, strings: StringSet) -> _core.Node:
        """See `Spelling.strings`."""
        return _JSON.strings(strings)

    def numbers(self, sets: Sequence[NumberSet]) -> _core.Node:
        """See `Spelling.numbers`."""
        return _JSON.numbers(sets)

    def members(self, values: ValueEmitter) -> ValueEmitter:
        """See `Spelling.members`."""
        return _XmlValues(values, self._template)


class _XmlValues:
    """Emits the values of arguments: raw where they may be strings."""

    def __init__(self, values: ValueEmitter, template: XmlTemplate) -> None:
        self.solver = values.solver
        self.spelling = values.spelling
        self.is_ordered = values.is_ordered
        self._template = template
        self._without_tag = _core.complement(concat(ANY_BYTES, template.closing_tag, ANY_BYTES))
        self._known: dict[Conjunction, _core.Node] = {}

    def try_immediate(self, conjunction: Conjunction) -> _core.Node:
        """See `ValueEmitter.try_immediate`."""
        if conjunction not in self._known:
            self._known[conjunction] = self._value(conjunction)
        return self._known[conjunction]

    def takes_nested_lists(self, plan: ArrayPlan, items: _core.Node) -> bool:
        """See `ValueEmitter.takes_nested_lists`: each value has rules of its own."""
        return are_taken(items, [])

    def _value(self, conjunction: Conjunction) -> _core.Node:
        template = self._template
        strings = _raw_strings(self.solver, conjunction)
        others = _others(self.solver, conjunction, has_words=not template.before_string)
        if others is None:
            return concat(template.before_other, Emitter(self.solver, _JSON).emit(conjunction))
        if strings is None:
            return concat(template.before_other, others)
        raw = _core.intersection([union(*strings), self._without_tag])
        if not template.before_string:
            return union(_core.intersection([raw, _core.complement(others)]), others)
        return union(concat(template.before_string, raw), concat(template.before_other, others))


def _scalar_parts(solver: Solver, conjunction: Conjunction) -> list[MergedAssertions] | None:
    """Return the alternatives of a conjunction of scalars; None if it has other values."""
    parts: list[MergedAssertions] = []
    pending = [conjunction]
    while pending:
        merged = solver.merged(pending.pop())
        if merged.is_empty:
            continue
        found = split(solver, merged, 1)
        if found is not None:
            pending += [solver.document.conjunction(each) for each in found.alternatives]
        elif merged.kinds & (ARRAY | OBJECT):
            return None
        else:
            parts.append(merged)
    return parts


def _raw_strings(solver: Solver, conjunction: Conjunction) -> list[_core.Node] | None:
    """Return the strings of a value that is raw; None if it is JSON."""
    strings = [part for part in _scalar_parts(solver, conjunction) or [] if part.kinds & STRING]
    if not strings:
        return None
    return [string_set(solver.document, solver.formulas.about_scalar(part, STRING)).node() for part in strings]


def _others(solver: Solver, conjunction: Conjunction, *, has_words: bool = True) -> _core.Node | None:
    """Return the texts of a scalar's values that are no strings; None if the value may be an object or array."""
    parts = _scalar_parts(solver, conjunction)
    if parts is None:
        return None
    emitter = Emitter(solver, _JSON)
    scalars = [node for part in parts if part.kinds != STRING for node in emitter.scalars(part)]
    written = _core.intersection([union(*scalars), _core.complement(_QUOTED)])
    if not has_words:
        return written
    dfa = ByteDfa(written)
    return union(written, *[python for python, json_word in _WORDS.items() if dfa.accepts(json_word.encode())])


def _values_of(plan: ObjectPlan, name: str) -> list[Conjunction]:
    if name in plan.order:
        return [plan.value_of(name)]
    return [value for names, value, _ in plan.free_options(TRUE) if names.strings.accepts(name)]


def _without_partial_tag(text: str, tag: str) -> str:
    """Return the text without a beginning of the tag at its end."""
    overlap = next((count for count in range(len(tag), 0, -1) if text.endswith(tag[:count])), 0)
    return text[: len(text) - overlap]
