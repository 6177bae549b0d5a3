"""Lists of several kinds of items against plain Python: every mask on the way through random texts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from random import Random

import pytest

import detent
from detent import _core
from detent.language import Language
from detent.sources.nodes import concat, repeat, union

_TOKENS = ['"', "x", "y", '"x', 'x"', '":0', '","', '",', ",", '"x":', "0", "1", '1,"', '0,"x":', "a", "b", "a,b"]
_TOKENS += ["{", "}", '":1}', "0}", "0,a", '"":1,"', '"":0,"":', ',"x":1,"x":0', "\\u0078"]
# Kinds: 0 is the member a, 1 the member b; 2 has a name and the value 0, 3 has a name and the value 1.
_PLAIN = ["a", "b"]


def _one(*kinds: int) -> _core.Node:
    return _core.byte_set(bytes(kinds))


_ANY = repeat(_one(0, 1, 2, 3), 0, None)
_ONCE = _core.unordered([(_one(0), False), (_one(1), False)], _one(2, 3), _core.epsilon(), 0, None)
_ORDERS: dict[str, tuple[_core.Node, Callable[[str], bool]]] = {
    "some 3": (_core.intersection([_ONCE, concat(_ANY, _one(3), _ANY)]), lambda kinds: "3" in kinds),
    "two named": (
        _core.intersection([_ONCE, concat(_ANY, _one(2, 3), _ANY, _one(2, 3), _ANY)]),
        lambda kinds: len(kinds.replace("0", "").replace("1", "")) >= 2,
    ),
    "a implies 3": (
        _core.intersection([_ONCE, union(repeat(_one(1, 2, 3), 0, None), concat(_ANY, _one(3), _ANY))]),
        lambda kinds: "0" not in kinds or "3" in kinds,
    ),
    "three or b": (
        _core.intersection([_ONCE, union(repeat(_one(0, 1, 2, 3), 3, None), concat(_ANY, _one(1), _ANY))]),
        lambda kinds: len(kinds) >= 3 or "1" in kinds,
    ),
    "at most two": (_core.intersection([_ONCE, repeat(_one(0, 1, 2, 3), 0, 2)]), lambda kinds: len(kinds) <= 2),
}


def _language(order: _core.Node) -> Language:
    name = concat('"', _core.json_string(repeat(union("x", "y"), 0, None)), '"')
    kinds = [(None, concat("a")), (None, concat("b")), (name, concat(":0")), (name, concat(":1"))]
    return Language(concat("{", _core.ordered_kinds(kinds, order, concat(",")), "}"), "a list of kinds")


def _states(text: str) -> set[tuple[str, frozenset[str], str]]:
    """Read the beginning of a text: the kinds of whole items, their names, and the beginning of an open item."""
    if not text.startswith("{"):
        return set()
    found: set[tuple[str, frozenset[str], str]] = set()
    items = text[1:].split(",")
    kinds, names = "", frozenset[str]()
    for item in items[:-1]:
        read = _item(item)
        if read is None or (read[1] is not None and read[1] in names):
            return set()
        kinds, names = kinds + read[0], names | ({read[1]} if read[1] is not None else set())
    found.add((kinds, names, items[-1]))
    return found


def _name(text: str) -> str | None:
    text = text.replace("\\u0078", "x").replace("\\u0079", "y")
    return text if set(text) <= {"x", "y"} else None


def _item(text: str) -> tuple[str, str | None] | None:
    if text in _PLAIN:
        return str(_PLAIN.index(text)), None
    if len(text) >= 4 and text[0] == '"' and text[-3:-1] == '":' and text[-1] in "01":
        name = _name(text[1:-3])
        return None if name is None else (str(2 + int(text[-1])), name)
    return None


def _begins_item(text: str, names: frozenset[str]) -> str:
    """Return the kinds that an item with this beginning, shorter than the item, may have."""
    if text == "":
        return "0123"
    if text[0] != '"':
        return ""
    body = text[1:]
    for cut in range(1, min(6, len(body) + 1)):  # an escape that is not over
        tail = body[-cut:]
        if tail[0] == "\\" and ("\\u0078".startswith(tail) or tail == "\\u0079"[:cut]) and '"' not in body:
            body = body[:-cut]
            break
    if '"' not in body:
        return "23" if _name(body) is not None else ""
    inner, rest = body.split('"', 1)
    name = _name(inner)
    return "23" if name is not None and name not in names and rest in ("", ":") else ""


def _is_live(text: str, holds: Callable[[str], bool]) -> bool:
    def may_hold(kinds: str, least: int) -> bool:
        longer = ("".join(more) for count in range(least, 4) for more in product("0123", repeat=count))
        return any(_is_list(kinds + more) and holds(kinds + more) for more in longer)

    if text == "":
        return may_hold("", 0)
    if text.endswith("}"):
        return _accepts(text, holds)
    for kinds, names, last in _states(text):
        read = _item(last)
        if read is not None and (read[1] is None or read[1] not in names) and may_hold(kinds + read[0], 0):
            return True
        if any(may_hold(kinds + kind, 0) for kind in _begins_item(last, names)):
            return True
    return text == "{" and may_hold("", 0)


def _is_list(kinds: str) -> bool:
    return kinds.count("0") <= 1 and kinds.count("1") <= 1


def _accepts(text: str, holds: Callable[[str], bool]) -> bool:
    if text == "{}":
        return holds("")
    for kinds, names, last in _states(text[:-1]) if text.endswith("}") and "}" not in text[:-1] else ():
        read = _item(last)
        if read is not None and (read[1] is None or read[1] not in names):
            return _is_list(kinds + read[0]) and holds(kinds + read[0])
    return False


@pytest.mark.parametrize("name", _ORDERS)
def test_every_mask(name: str) -> None:
    order, holds = _ORDERS[name]
    language = _language(order)
    letters = sorted(set("".join(_TOKENS)) | set("u0789\\"))
    tokens = list(dict.fromkeys([*letters, *_TOKENS]))
    eos = len(tokens)
    vocabulary = detent.Vocabulary([token.encode() for token in tokens] + [b""], eos_token_ids=[eos])
    guide = detent.compile(language, vocabulary)
    rng = Random(name)
    compared = 0
    for _ in range(40):
        matcher, text = guide.matcher(), ""
        while len(text) < 40:
            expected = [i for i, token in enumerate(tokens) if _is_live(text + token, holds)]
            assert [i for i in matcher.allowed() if i < eos] == expected, text
            assert (eos in matcher.allowed()) == _accepts(text, holds), text
            compared += 1
            if not expected:
                break
            # Long tokens first: they repeat names inside one token.
            i = rng.choice(expected) if rng.random() < 0.6 else max(expected, key=lambda i: len(tokens[i]))
            matcher.advance(i)
            text += tokens[i]
    assert compared > 200
    text = language.shortest().decode()
    assert _accepts(text, holds)
    for _ in range(10):
        matcher, written = guide.matcher(max_tokens=len(text) + 2), ""
        while eos not in matcher.allowed():
            i = rng.choice(list(matcher.allowed()))
            matcher.advance(i)
            written += tokens[i]
        assert _accepts(written, holds), written


def test_orders_without_keys_combine_with_every_operator() -> None:
    kinds: list[tuple[_core.Node | None, _core.Node]] = [(None, concat("a")), (None, concat("b"))]
    order = concat(_one(0), repeat(_one(0, 1), 0, None))
    language = Language(_core.ordered_kinds(kinds, order, concat(",")), "a list of kinds")
    assert (language & detent.regex("[^b]*")).shortest() == b"a"
    assert (~language).accepts("b") and not (~language).accepts("a,b")
    assert language == detent.regex("a(,[ab])*")


def test_few_names_and_bad_lists_are_refused() -> None:
    name = concat('"', union("x", "y"), '"')
    few = _core.ordered_kinds([(name, concat(":0"))], repeat(_one(0), 2, None), concat(","))
    with pytest.raises(detent.UnsupportedError, match="names"):
        Language(few, "few names").shortest()
    with pytest.raises(detent.ArgumentError):
        _core.ordered_kinds([(None, concat("a"))] * 257, _one(0), concat(","))
    inner = _core.ordered_kinds([(None, concat("a"))], _one(0), concat(","))
    with pytest.raises(detent.ArgumentError):
        _core.ordered_kinds([(None, concat("a"))], inner, concat(","))
