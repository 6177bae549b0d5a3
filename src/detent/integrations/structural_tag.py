"""Structural tags as vLLM, SGLang and XGrammar write them: a JSON object that describes free text and tagged parts.

There are two notations. The older one lists tags and their triggers::

    {"type": "structural_tag", "triggers": ["<f="], "structures": [{"begin": "<f=a>", "schema": {}, "end": "</f>"}]}

The newer one is a tree of formats (XGrammar 0.1.24 and newer)::

    {"type": "structural_tag", "format": {"type": "sequence", "elements": [...]}}

Each format becomes a language. What cannot be held exactly, such as the number of tokens of a part, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from detent import _core
from detent.errors import ArgumentError, UnsupportedError
from detent.language import Language
from detent.origin import Origin, Quotes
from detent.sources.grammar import gbnf
from detent.sources.json_schema import json_schema
from detent.sources.nodes import ANY_BYTES, UTF8, concat, encode, optional, repeat, short_repr, union
from detent.sources.regex import regex
from detent.sources.words import containing, special_token, text

__all__ = ["structural_tag"]

_BYTE = _core.byte_set(bytes(range(256)))
_DEPTH = 64

_Format = Mapping[str, Any]


def structural_tag(described: str | Mapping[str, Any]) -> Language[str]:
    """Make the language of a structural tag.

    >>> add = {"begin": "<f=add>", "schema": {"type": "integer"}, "end": "</f>"}
    >>> rule = structural_tag({"type": "structural_tag", "structures": [add], "triggers": ["<f="]})
    >>> rule.accepts("The sum: <f=add>7</f>."), rule.accepts("<f=sub>7</f>")
    (True, False)

    Parameters
    ----------
    described : str or mapping
        The object, or its JSON text.

    Raises
    ------
    ArgumentError
        It is no structural tag.
    UnsupportedError
        A format, or one of its options, cannot be held exactly.
    """
    tag = _parsed(described)
    if "structures" in tag or "triggers" in tag:
        _check_keys(tag, "structural_tag", {"type", "structures", "triggers"})
        tags = [_older_tag(each) for each in _list(tag, "structures", "structural_tag")]
        node = _triggered({"triggers": tag.get("triggers"), "tags": tags}, "structural_tag", 0)
    else:
        _check_keys(tag, "structural_tag", {"type", "format"})
        node = _node(tag.get("format"), "format", 0)
    return Language(node, "structural tag", _origin=Origin(quotes=Quotes.MIXED))


def _parsed(described: str | Mapping[str, Any]) -> _Format:
    value: Any = described
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"structural_tag must be a JSON object: {error}") from None
    if not isinstance(value, Mapping):
        raise ArgumentError(f"structural_tag must be a JSON object, got {short_repr(described)}")
    return value


def _older_tag(tag: object) -> _Format:
    if not isinstance(tag, Mapping):
        raise ArgumentError(f"structural_tag: a structure must be an object, got {short_repr(tag)}")
    _check_keys(tag, "structures", {"begin", "schema", "end"})
    content = {"type": "json_schema", "json_schema": tag.get("schema", True)}
    return {"type": "tag", "begin": tag.get("begin"), "content": content, "end": tag.get("end")}


def _node(described: object, path: str, depth: int) -> _core.Node:
    """Return the expression of a format."""
    if not isinstance(described, Mapping) or not isinstance(described.get("type"), str):
        raise ArgumentError(f"structural_tag: {path} must be an object with a type, got {short_repr(described)}")
    kind = described["type"]
    if depth > _DEPTH:
        raise UnsupportedError(f"structural_tag: {path} is nested deeper than {_DEPTH} formats")
    if kind not in _FORMATS:
        known = ", ".join(sorted(_FORMATS))
        raise UnsupportedError(f"structural_tag: {path} has the type {short_repr(kind)}; supported are {known}")
    keys, make = _FORMATS[kind]
    _check_keys(described, path, {"type", *keys})
    return make(described, path, depth + 1)


def _check_keys(described: _Format, path: str, known: set[str]) -> None:
    """Refuse a key that is unknown, and one whose value would change the meaning."""
    for key, value in described.items():
        if key not in known and value not in (None, [], False):
            raise UnsupportedError(f"structural_tag: {path} has {key}, which is not supported; leave it out")


def _flag(described: _Format, key: str, path: str) -> bool:
    value = described.get(key)
    if value is not None and not isinstance(value, bool):
        raise ArgumentError(f"structural_tag: {path}.{key} must be true or false, got {short_repr(value)}")
    return bool(value)


def _text(described: _Format, key: str, path: str) -> str:
    value = described.get(key)
    if not isinstance(value, str):
        raise ArgumentError(f"structural_tag: {path}.{key} must be a string, got {short_repr(value)}")
    encode(value, "structural_tag")
    return value


def _list(described: _Format, key: str, path: str) -> Sequence[Any]:
    value = described.get(key, ())
    if not isinstance(value, (list, tuple)):
        raise ArgumentError(f"structural_tag: {path}.{key} must be a list, got {short_repr(value)}")
    return value


def _texts(described: _Format, key: str, path: str) -> list[str]:
    texts = [_text({key: each}, key, path) for each in _list(described, key, path)]
    if not all(texts):
        raise ArgumentError(f"structural_tag: {path}.{key} has an empty text")
    return texts


def _constant(described: _Format, path: str, depth: int) -> _core.Node:
    return _core.literal(_text(described, "value", path).encode())


def _schema(described: _Format, path: str, depth: int) -> _core.Node:
    if described.get("style", "json") != "json":
        raise UnsupportedError(
            f"structural_tag: {path} has the style {short_repr(described['style'])}; only json is supported, and "
            "detent.turn writes calls in the notations of model families"
        )
    schema = described.get("json_schema")
    if not isinstance(schema, (Mapping, bool)):
        raise ArgumentError(f"structural_tag: {path}.json_schema must be a schema, got {short_repr(schema)}")
    known: Any = schema
    return json_schema(known)._node


def _any_text(described: _Format, path: str, depth: int) -> _core.Node:
    most = described.get("max_chars")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 0):
        raise ArgumentError(f"structural_tag: {path}.max_chars must be an integer from 0 on, got {short_repr(most)}")
    return _excluding(text(0, most)._node, _texts(described, "excludes", path))


def _excluding(node: _core.Node, words: Sequence[str]) -> _core.Node:
    if not words:
        return node
    return _core.intersection([node, _core.complement(containing(*words)._node)])


def _sequence(described: _Format, path: str, depth: int) -> _core.Node:
    return concat(*_elements(described, path, depth))


def _either(described: _Format, path: str, depth: int) -> _core.Node:
    return union(*_elements(described, path, depth))


def _elements(described: _Format, path: str, depth: int) -> list[_core.Node]:
    elements = _list(described, "elements", path)
    if not elements:
        raise ArgumentError(f"structural_tag: {path}.elements is empty")
    return [_node(each, f"{path}.elements[{index}]", depth) for index, each in enumerate(elements)]


def _repeated(minimum: int, maximum: int | None) -> Callable[[_Format, str, int], _core.Node]:
    def make(described: _Format, path: str, depth: int) -> _core.Node:
        return repeat(_node(described.get("content"), f"{path}.content", depth), minimum, maximum)

    return make


def _counted(described: _Format, path: str, depth: int) -> _core.Node:
    bounds = described.get("min"), described.get("max")
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in bounds):
        raise ArgumentError(f"structural_tag: {path} needs integers min and max, got {short_repr(bounds)}")
    least, most = int(bounds[0] or 0), int(bounds[1] or 0)
    if least < 0 or (most != -1 and most < least):
        raise ArgumentError(f"structural_tag: {path} cannot be repeated at least {least} and at most {most} times")
    return _repeated(least, None if most == -1 else most)(described, path, depth)


def _token(described: _Format, path: str, depth: int) -> _core.Node:
    token = described.get("token")
    if not isinstance(token, str):
        raise UnsupportedError(f"structural_tag: {path}.token must be the name of a special token, not a number")
    return special_token(token)._node


def _mark(described: object, path: str, depth: int) -> _core.Node:
    """Return the begin or the end of a tag: a text, one of several, or a special token."""
    if isinstance(described, Mapping):
        return _node(described, path, depth)
    marks = described if isinstance(described, (list, tuple)) else [described]
    if not marks:
        raise ArgumentError(f"structural_tag: {path} is an empty list")
    return union(*(_text({"text": each}, "text", path) for each in marks))


def _tag(described: _Format, path: str, depth: int) -> _core.Node:
    begin = _mark(described.get("begin"), f"{path}.begin", depth)
    return concat(begin, _closed(described, path, depth))


def _closed(described: _Format, path: str, depth: int) -> _core.Node:
    """Return the content of a tag and its end. Free text as the content ends before the first end."""
    content = _node(described.get("content"), f"{path}.content", depth)
    end = _mark(described.get("end"), f"{path}.end", depth)
    whole = concat(content, end)
    if described["content"]["type"] != "any_text" or end.has_special:
        return whole
    later = concat(ANY_BYTES, end, repeat(_BYTE, 1, None))
    return _core.intersection([whole, _core.complement(later)])


def _tags(described: _Format, path: str) -> list[_Format]:
    tags = _list(described, "tags", path)
    if not tags or not all(isinstance(each, Mapping) for each in tags):
        raise ArgumentError(f"structural_tag: {path}.tags must be a list of tags, at least one")
    for index, each in enumerate(tags):
        _check_keys(each, f"{path}.tags[{index}]", {"type", "begin", "content", "end"})
    return list(tags)


def _triggered(described: _Format, path: str, depth: int) -> _core.Node:
    triggers = list(dict.fromkeys(_texts(described, "triggers", path)))
    if not triggers:
        raise ArgumentError(f"structural_tag: {path}.triggers must be a list of texts, at least one")
    tags = _tags(described, path)
    excluded = _texts(described, "excludes", path)
    seen = concat(ANY_BYTES, union(*triggers))
    early = _core.complement(concat(seen, repeat(_BYTE, 1, None)))  # a trigger ended before the end
    parts: list[_core.Node] = []
    used: set[str] = set()
    for index, tag in enumerate(tags):
        begin = _text(tag, "begin", f"{path}.tags[{index}]")
        trigger = next((each for each in triggers if begin.startswith(each)), None)
        if trigger is None:
            raise ArgumentError(f"structural_tag: the tag {short_repr(begin)} begins with none of the triggers")
        used.add(trigger)
        opened = _core.intersection([concat(_excluding(UTF8, excluded), trigger), early])
        rest = _closed(tag, f"{path}.tags[{index}]", depth)
        parts.append(concat(opened, begin[len(trigger) :], rest))
    if unused := set(triggers) - used:
        raise ArgumentError(f"structural_tag: the trigger {short_repr(min(unused))} opens no tag; leave it out")
    least = int(_flag(described, "at_least_one", path))
    if _flag(described, "stop_after_first", path):
        free = _core.intersection([_excluding(UTF8, excluded), _core.complement(concat(seen, ANY_BYTES))])
        return union(*parts) if least else union(*parts, free)
    free = _core.intersection([_excluding(UTF8, excluded), _core.complement(concat(seen, ANY_BYTES))])
    return concat(repeat(union(*parts), least, None), free)


def _separated(described: _Format, path: str, depth: int) -> _core.Node:
    tags = union(*(_tag(each, f"{path}.tags[{index}]", depth) for index, each in enumerate(_tags(described, path))))
    further = concat(_text(described, "separator", path), tags)
    some = concat(tags, repeat(further, 0, 0 if _flag(described, "stop_after_first", path) else None))
    return some if _flag(described, "at_least_one", path) else optional(some)


_FORMATS: dict[str, tuple[tuple[str, ...], Callable[[_Format, str, int], _core.Node]]] = {
    "const_string": (("value",), _constant),
    "json_schema": (("json_schema", "style"), _schema),
    "any_text": (("excludes", "max_chars"), _any_text),
    "regex": (("pattern",), lambda described, path, depth: regex(_text(described, "pattern", path))._node),
    "grammar": (("grammar",), lambda described, path, depth: gbnf(_text(described, "grammar", path))._node),
    "sequence": (("elements",), _sequence),
    "or": (("elements",), _either),
    "tag": (("begin", "content", "end"), _tag),
    "triggered_tags": (("triggers", "tags", "at_least_one", "stop_after_first", "excludes"), _triggered),
    "tags_with_separator": (("tags", "separator", "at_least_one", "stop_after_first"), _separated),
    "optional": (("content",), _repeated(0, 1)),
    "star": (("content",), _repeated(0, None)),
    "plus": (("content",), _repeated(1, None)),
    "repeat": (("min", "max", "content"), _counted),
    "token": (("token",), _token),
}
"""The keys of each type of format, and the function that makes its expression."""
