"""The named reason of a refusal agrees with brute force, for patterns, grammars, schemas, words and operators."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

import jsonschema
import pytest

import detent
from detent.reason import Reason, smallest
from detent.reason_search import find_reasons

_LETTERS = "abc"


def _refusals(
    language: detent.Language, rng: Random, alphabet: bytes, count: int, max_bytes: int = 40
) -> Iterator[tuple[bytes, bytes]]:
    """Yield beginnings of texts, and a byte, or the end, that may not follow them."""
    for _ in range(count):
        text = language.sample(rng, max_bytes=max(max_bytes, len(language.shortest())))
        started = text[: rng.randint(0, len(text))]
        refused = [bytes([byte]) for byte in alphabet if not language._dfa().after(started + bytes([byte]))]
        if not language.accepts(started):
            refused.append(b"")
        if refused:
            yield started, rng.choice(refused)


# --- Patterns


@dataclass
class _Pattern:
    """A pattern in writing: its text, and the parts of its tree with their positions."""

    rng: Random
    text: str = ""
    assertions: list[tuple[int, int]] = field(default_factory=list)

    def write(self, text: str) -> int:
        start = len(self.text)
        self.text += text
        return start

    def tree(self, depth: int) -> Any:
        """Write a random expression; return it as a tuple: its kind, then its parts."""
        kind = self.rng.choice(["class", "class", "class", "concat", "concat", "union", "repeat", "assertion"])
        if depth == 0 or kind == "class":
            letters = "".join(sorted(self.rng.sample(_LETTERS, self.rng.randint(1, 2))))
            start = self.write(letters if len(letters) == 1 else f"[{letters}]")
            return ("class", letters, start, len(self.text))
        if kind == "assertion":
            return self.assertion()
        self.write("(?:")
        if kind == "repeat":
            body = self.tree(depth - 1)
            least = self.rng.randint(0, 1)
            most = least + self.rng.randint(1 - least, 2)
            self.write(f"){{{least},{most}}}")
            return ("repeat", body, least, most)
        parts = []
        for index in range(self.rng.randint(2, 3)):
            if index and kind == "union":
                self.write("|")
            parts.append(self.tree(depth - 1))
        self.write(")")
        return (kind, *parts)

    def assertion(self) -> Any:
        letters = "".join(sorted(self.rng.sample(_LETTERS, 2)))
        ahead = self.rng.choice(["", f"[{letters}]*"])
        forms = [f"(?={ahead}[{letters}])", f"(?!{ahead}{letters})", f"(?<={letters[0]})", f"(?<!{letters[0]})", r"\B"]
        start = self.write(self.rng.choice(forms))
        self.assertions.append((start, len(self.text)))
        return ("assertion",)


def _ends(tree: Any, text: str, start: int) -> set[int]:
    """Return where a match that begins at `start` may end; assertions hold everywhere."""
    if tree[0] == "assertion":
        return {start}
    if tree[0] == "class":
        return {start + 1} if start < len(text) and text[start] in tree[1] else set()
    if tree[0] == "union":
        return set().union(*(_ends(part, text, start) for part in tree[1:]))
    parts = tree[1:] if tree[0] == "concat" else [tree[1]] * tree[3]
    reached = {start}
    found = {start} if tree[0] == "repeat" and tree[2] == 0 else set()
    for index, part in enumerate(parts):
        reached = {end for each in reached for end in _ends(part, text, each)}
        if tree[0] == "repeat" and index + 1 >= tree[2]:
            found |= reached
    return found if tree[0] == "repeat" else reached


def _open_classes(tree: Any, text: str, start: int) -> set[tuple[int, int]]:
    """Return the positions of the classes that may read what follows a text, in a match that begins at `start`."""
    if tree[0] == "assertion":
        return set()
    if tree[0] == "class":
        return {(tree[2], tree[3])} if start == len(text) else set()
    if tree[0] == "union":
        return set().union(*(_open_classes(part, text, start) for part in tree[1:]))
    found: set[tuple[int, int]] = set()
    reached = {start}
    for part in tree[1:] if tree[0] == "concat" else [tree[1]] * tree[3]:
        found |= set().union(*(_open_classes(part, text, each) for each in reached))
        reached = {end for each in reached for end in _ends(part, text, each)}
    return found


def _longest(tree: Any) -> int:
    if tree[0] in ("assertion", "class"):
        return int(tree[0] == "class")
    if tree[0] == "union":
        return max(map(_longest, tree[1:]))
    return sum(map(_longest, tree[1:])) if tree[0] == "concat" else tree[3] * _longest(tree[1])


def _without_parts(pattern: str, spans: list[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        pattern = pattern[:start] + "(?:)" + pattern[end:]
    return pattern


def _extends(pattern: str, text: str, longest: int, *, ends: bool) -> bool:
    """Return whether some text that begins so, or with `ends` the text itself, matches: by trying all of them."""
    compiled = re.compile(pattern)
    if ends:
        return compiled.fullmatch(text) is not None
    return any(
        compiled.fullmatch(text + "".join(rest))
        for length in range(longest - len(text) + 1)
        for rest in product(_LETTERS, repeat=length)
    )


@pytest.mark.long
def test_places_and_assertions_of_patterns() -> None:
    rng = Random(7)
    seen = {"pattern": 0, "assertion": 0}
    while sum(seen.values()) < 400 or seen["assertion"] < 60:
        written = _Pattern(rng)
        tree = written.tree(3)
        pattern, longest = written.text, _longest(tree)
        language = detent.regex(pattern)
        if longest > 7 or language.is_empty():
            continue
        for started, following in _refusals(language, rng, b"abcd", 3):
            reasons = find_reasons(language, started, following)
            text = started.decode() + following.decode()
            bare = _without_parts(pattern, written.assertions)
            if not _extends(bare, text, longest, ends=not following):
                found = {(each.position, each.position + len(each.name)) for each in reasons}
                assert found == _open_classes(tree, started.decode(), 0), (pattern, started, following)
                assert {each.kind for each in reasons} <= {"pattern"}
                seen["pattern"] += 1
                continue
            kept = [(each.position, each.position + len(each.name)) for each in reasons]
            assert kept and {each.kind for each in reasons} == {"assertion"}, (pattern, started, following)
            for left_out in [None, *kept]:  # these assertions refuse together, and none of them is superfluous
                some = [span for span in written.assertions if span not in kept or span == left_out]
                allows = _extends(_without_parts(pattern, some), text, longest, ends=not following)
                assert allows == (left_out is not None), (pattern, started, following, reasons)
            seen["assertion"] += 1


@pytest.mark.parametrize(
    ("pattern", "flags", "started", "following", "named"),
    [
        (r"(?x) a  # one" "\n" r"  b+ [c d] (?#no) e", 0, b"abbc", b"x", ["e"]),
        (r"(?i:stra(?:ß|ss))e", 0, "straß".encode()[:-1], b"x", ["ß"]),
        (r"[é-ü]|€", 0, b"\xc3", b"\x00", ["[é-ü]"]),
        (r"a++[ab]", 0, b"aa", b"", ["a++"]),
        (r"(?s:.)x|.y|[^\n]z", 0, b"\n", b"y", ["x"]),
        (r"\d{2,3}(?P<sep>[-/])\w", re.ASCII, b"123", b"4", ["[-/]"]),
        (r"(?:a|b[^\s\S])c", 0, b"", b"b", ["a"]),
        (r"\bx(?!y)\w*", 0, b"x", b"y", ["(?!y)"]),
    ],
)
def test_positions_in_patterns(pattern: str, flags: int, started: bytes, following: bytes, named: list[str]) -> None:
    reasons = find_reasons(detent.regex(pattern, flags), started, following)
    assert [each.name for each in reasons] == named
    assert [pattern[each.position :].startswith(each.name) for each in reasons] == [True] * len(named)


# --- Grammars


@dataclass
class _Grammar:
    """A random grammar: for each rule the alternatives, as tuples of terminals and names of rules."""

    rules: dict[str, list[tuple[str, ...]]]

    @classmethod
    def random(cls, rng: Random) -> _Grammar:
        names = ["root", "one", "two"][: rng.randint(1, 3)]
        rules = {}
        for name in names:
            ending = tuple(f'"{rng.choice(_LETTERS)}{rng.choice(["", *_LETTERS])}"' for _ in range(rng.randint(1, 2)))
            rows = [ending]
            for _ in range(rng.randint(0, 2)):
                symbols = [f'"{rng.choice(_LETTERS)}"', "[ab]", *names, *names]
                rows.append(tuple(rng.choice(symbols) for _ in range(rng.randint(1, 3))))
            rules[name] = rows
        return cls(rules)

    def written(self, arrow: str) -> str:
        """Return the text of the grammar, an alternative a line."""
        lines = [
            f"{name if index == 0 else ''} {arrow if index == 0 else '|'} {' '.join(map(self._written(arrow), row))}"
            for name, rows in self.rules.items()
            for index, row in enumerate(rows)
        ]
        text = "\n".join(line.strip() + " " for line in lines)
        return text.replace(" \n|", " |\n") if arrow == "::=" else text.replace("root", "start")

    @staticmethod
    def _written(arrow: str) -> Callable[[str], str]:
        return lambda symbol: symbol if arrow == "::=" or not symbol.startswith("[") else f"/{symbol}/"

    def open_at(self, text: str) -> set[tuple[str, int, str]]:
        """Return the rule, the alternative and the symbol of each terminal that may read what follows a text."""
        ends: dict[tuple[str, int], set[int]] = {}
        found: dict[tuple[str, int], set[tuple[str, int, str]]] = {}
        while True:
            before = sum(map(len, ends.values())) + sum(map(len, found.values()))
            for name, rows in self.rules.items():
                for start in range(len(text) + 1):
                    for index, row in enumerate(rows):
                        reached = {start}
                        for symbol in row:
                            key = (name, start)
                            for at in reached:
                                inner = self._open_in(symbol, text, at, found)
                                own = {(name, index, symbol)} if inner is None else inner
                                found.setdefault(key, set()).update(own)
                            reached = {end for at in reached for end in self._ends_of(symbol, text, at, ends)}
                        ends.setdefault((name, start), set()).update(reached)
            if sum(map(len, ends.values())) + sum(map(len, found.values())) == before:
                return found.get(("root", 0), set())

    @staticmethod
    def _ends_of(symbol: str, text: str, start: int, ends: dict[tuple[str, int], set[int]]) -> set[int]:
        if symbol[0] == '"':
            return {start + len(symbol) - 2} if text.startswith(symbol[1:-1], start) else set()
        if symbol[0] == "[":
            return {start + 1} if text[start : start + 1] in ("a", "b") else set()
        return set(ends.get((symbol, start), ()))

    @staticmethod
    def _open_in(symbol: str, text: str, start: int, found: Any) -> set[tuple[str, int, str]] | None:
        """Return what is open in a symbol; None for a terminal that is open itself."""
        if symbol[0] == '"':
            rest = text[start:]
            return None if symbol[1:-1].startswith(rest) and len(rest) < len(symbol) - 2 else set()
        if symbol[0] == "[":
            return None if start == len(text) else set()
        return set(found.get((symbol, start), ()))


@pytest.mark.parametrize(("count", "named"), [(50, 50), (40_000, 0)])
def test_items_of_a_long_pattern_are_named_up_to_a_number(count: int, named: int) -> None:
    reasons = find_reasons(detent.regex("a|" * count), b"", b"b")
    assert [reason.name for reason in reasons] == ["a"] * named
    assert len({reason.position for reason in reasons}) == named


@pytest.mark.long
@pytest.mark.parametrize("notation", ["gbnf", "ebnf", "lark"])
def test_open_terminals_of_grammars(notation: str) -> None:
    rng = Random(5)
    checked = 0
    while checked < 100:
        rules = _Grammar.random(rng)
        text = rules.written(":" if notation == "lark" else "::=")
        if notation == "lark":
            language = detent.grammar(text, lexer="dynamic_complete")
        else:
            language = detent.gbnf(text) if notation == "gbnf" else detent.ebnf(text)
        lines = [(name, index) for name, rows in rules.rules.items() for index in range(len(rows))]
        for started, following in _refusals(language, rng, b"abcd", 2, 8):
            reasons = find_reasons(language, started, following)
            found = {(each.name.replace("start", "root"), each.position, each.text.strip("/")) for each in reasons}
            expected = {
                (name, lines.index((name, index)) + 1, symbol)
                for name, index, symbol in rules.open_at(started.decode())
            }
            assert found == expected, (text, started, following)
            assert {each.kind for each in reasons} <= {"rule"}
            checked += 1


def test_what_takes_a_terminal_away_is_named() -> None:
    keywords = detent.grammar('start: "if" NAME "then" NAME\n| NAME "=" NAME\nNAME: /[a-z]+/\n%ignore " "')
    (reason,) = find_reasons(keywords, b"if ", b"=")
    assert (reason.kind, reason.name, reason.text, reason.position) == ("lexer", "start", '"="', 2)
    names = detent.ebnf("Name ::= [A-Z] (Char - 'x')*\nChar ::= [a-z]")
    assert [(each.kind, each.name, each.position) for each in find_reasons(names, b"Ab", b"x")] == [
        ("difference", "Name", 1)
    ]
    assert [each.text for each in find_reasons(names, b"Ab", b"7")] == ["[a-z]"]


# --- JSON Schema

_DEFS = {"n": {"type": "integer", "maximum": 3}, "s": {"type": "string", "maxLength": 2}}


def _random_schema(rng: Random, depth: int) -> Any:
    kind = rng.choice(["integer", "string", "enum", "object", "array", "anyOf", "allOf", "oneOf", "ref", "not"])
    if depth == 0 and kind in ("object", "array", "anyOf", "allOf", "oneOf"):
        kind = "string"
    if kind == "integer":
        bounds = {"minimum": rng.randint(0, 3), "maximum": rng.randint(3, 5)}
        return {"type": "integer", **{key: bounds[key] for key in bounds if rng.random() < 0.7}}
    if kind == "string":
        choices = {"maxLength": rng.randint(1, 2), "minLength": 1, "pattern": rng.choice(["^x", "y$", "^[xy]*$", "xx"])}
        return {"type": "string", **{key: choices[key] for key in choices if rng.random() < 0.5}}
    if kind == "enum":
        return {"enum": rng.sample(["x", "xy", 1, 2, 12, True, None], rng.randint(1, 3))}
    if kind == "object":
        names = rng.sample(["a", "b", "c"], rng.randint(1, 3))
        schema: dict[str, Any] = {"type": "object"}
        schema["properties"] = {name: _random_schema(rng, depth - 1) for name in names}
        if rng.random() < 0.7:
            schema["required"] = rng.sample(names, rng.randint(1, len(names)))
        if rng.random() < 0.6:
            schema["additionalProperties"] = False
        if rng.random() < 0.3:
            schema["maxProperties"] = rng.randint(1, 2)
        return schema
    if kind == "array":
        schema = {"type": "array", "items": _random_schema(rng, depth - 1)}
        bounds = {"minItems": 1, "maxItems": 2, "prefixItems": [_random_schema(rng, 0)]}
        return {**schema, **{key: bounds[key] for key in bounds if rng.random() < 0.5}}
    if kind == "ref":
        return {"$ref": f"#/$defs/{rng.choice('ns')}"}
    if kind == "not":
        return {"type": rng.choice(["integer", "string"]), "not": {"enum": rng.sample(["x", "xy", 1, 3], 2)}}
    return {kind: [_random_schema(rng, depth - 1) for _ in range(2)]}


_STRUCTURE = ("properties", "$defs", "items", "prefixItems", "anyOf", "allOf", "$ref")


def _keywords(schema: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of the conditions in a schema of these tests."""
    if schema is False:
        yield path
    if isinstance(schema, dict):
        for key, value in schema.items():
            here = (*path, key)
            if key in ("properties", "$defs"):
                for name in value:
                    yield from _keywords(value[name], (*here, name))
            elif key in ("prefixItems", "anyOf", "allOf", "oneOf"):
                if key == "oneOf":
                    yield here
                for index, item in enumerate(value):
                    yield from _keywords(item, (*here, index))
            elif key in ("items", "additionalProperties"):
                yield from _keywords(value, here)
            elif key == "required":
                yield from ((*here, index) for index in range(len(value)))
            elif key not in _STRUCTURE:
                yield here


def _with_only(schema: Any, pointers: set[str]) -> Any:
    """Return the schema with these conditions alone: the others are taken out one by one, the last first."""
    relaxed = copy.deepcopy(schema)
    for path in reversed(list(_keywords(schema))):
        if "".join(f"/{key}" for key in path) in pointers:
            continue
        holder = relaxed
        for key in path[:-1]:
            holder = holder[key]
        if path[-1] == "oneOf":
            holder["allOf"] = [*holder.get("allOf", []), {"anyOf": holder.pop("oneOf")}]
        else:
            del holder[path[-1]]
    return relaxed


def _values(rng: Random) -> list[Any]:
    scalars: list[Any] = [True, None, *range(14), "", *("".join(t) for n in (1, 2, 3) for t in product("xy", repeat=n))]
    arrays = [[rng.choice(scalars) for _ in range(rng.randint(0, 3))] for _ in range(400)]
    objects = []
    for _ in range(4000):
        names = rng.sample(["a", "b", "c", "d"], rng.randint(0, 3))
        objects.append({name: rng.choice([rng.choice(scalars), rng.choice(arrays)]) for name in names})
    return scalars + arrays + objects + [[each] for each in objects[:300]]


@pytest.mark.long
def test_keywords_of_schemas() -> None:
    rng = Random(11)
    values = [(json.dumps(value, separators=(",", ":")).encode(), value) for value in _values(rng)]
    kinds: dict[str, int] = {}
    anything = detent.json_value(whitespace="compact")._dfa()
    while kinds.get("keyword", 0) < 300:
        schema = {"$defs": _DEFS, **_random_schema(rng, 2)}
        try:
            language = detent.json_schema(schema, whitespace="compact")
        except detent.DetentError:
            continue
        if language.is_empty():
            continue
        free = detent.json_schema(schema, whitespace="compact", order="any")
        for started, following in _refusals(language, rng, b'"xy123,:{}[]abcd', 4, 30):
            is_json = anything.after(started + following) if following else anything.accepts(started)
            if rng.random() < 0.95 and not is_json:
                continue
            reasons = find_reasons(language, started, following)
            kind = reasons[0].kind if reasons else "none"
            kinds[kind] = kinds.get(kind, 0) + 1
            if kind == "syntax":
                _check_syntax(started, following)
            elif kind == "order":
                _check_order(free, schema, started, following)
                _check_keywords_in_order(schema, {each.name for each in reasons[1:]}, started, following)
            else:
                assert {each.kind for each in reasons} == {"keyword"}, (schema, started, following)
                _check_keywords(schema, {each.name for each in reasons}, started, following, values)
    assert min(kinds["syntax"], kinds["order"]) > 4


def test_alternatives_that_would_refuse_the_text_itself_are_no_reason() -> None:
    """Without their keywords, both alternatives take every kind, and `oneOf` alone has no value."""
    kinds = [
        {"properties": {"is": {"const": kind}, size: {"maximum": 9}}, "required": ["is"]}
        for kind, size in (("cat", "lives"), ("dog", "height"))
    ]
    members = {"kind": {"oneOf": kinds}, "mail": {"type": "string", "format": "email"}}
    language = detent.json_schema({"type": "object", "properties": members}, whitespace="compact")

    def named(text: str) -> list[str]:
        mismatch = language.why(text)
        assert mismatch is not None
        return [each.name for each in mismatch.reasons]

    assert named('{"kind":{"is":"cat"},"mail":"a.b"}') == ["/properties/mail/format"]
    assert named('{"kind":{"is":"cow"}}') == [
        "/properties/kind/oneOf/0/properties/is/const",
        "/properties/kind/oneOf/1/properties/is/const",
    ]
    assert named('{"kind":{"is":"dog","height":10}}') == [
        "/properties/kind/oneOf/0/properties/is/const",
        "/properties/kind/oneOf/1/properties/height/maximum",
    ]
    both = detent.json_schema({"oneOf": [{"type": "integer"}, {"multipleOf": 5}]}, whitespace="compact")
    assert [each.name for each in find_reasons(both, b"1", b"")] == []
    assert [each.name for each in find_reasons(both, b"10", b"")] == ["/oneOf", "/oneOf/1/multipleOf"]


def test_contains_of_which_none_is_needed_is_no_reason() -> None:
    schema = {"minItems": 2, "minContains": 0, "maxContains": 1, "contains": {"const": 1}, "type": "array"}
    language = detent.json_schema(schema, whitespace="compact")
    assert [each.name for each in find_reasons(language, b"[2", b"]")] == ["/minItems"]
    assert [each.name for each in find_reasons(language, b"[1,1", b"]")] == ["/maxContains", "/contains"]


@pytest.mark.parametrize("reference", ["#/own", "#/own/inner"])
@pytest.mark.filterwarnings("ignore::detent.errors.SchemaWarning")
def test_definitions_under_a_keyword_of_ones_own(reference: str) -> None:
    target = {"type": "string", "maxLength": 1}
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": reference}},
        "additionalProperties": False,
        "own": target if reference == "#/own" else {"inner": target},
    }
    language = detent.json_schema(schema, whitespace="compact")
    assert [each.name for each in find_reasons(language, b'{"', b"b")] == ["/additionalProperties"]
    assert [each.name for each in find_reasons(language, b'{"a":"x', b"y")] == [f"{reference[1:]}/maxLength"]


def _completed(language: detent.Language, started: bytes, following: bytes) -> Any:
    """Return the value of a text of a language that begins so; the value of the text itself if nothing follows."""
    if not following:
        return json.loads(started)
    return json.loads(started + following + language._dfa().completion(language._dfa().after(started + following)))


def _check_syntax(started: bytes, following: bytes) -> None:
    """No JSON text without white space begins so."""
    if not following:
        with pytest.raises(ValueError, match=r"."):
            json.loads(started)
    else:
        assert not detent.json_value(whitespace="compact")._dfa().after(started + following)


def _check_order(free: detent.Language, schema: Any, started: bytes, following: bytes) -> None:
    """A valid value begins so, with its members in another order."""
    value = _completed(free, started, following)
    jsonschema.Draft202012Validator(schema).validate(value)
    declared = list(schema.get("properties", {}))
    if isinstance(value, dict) and set(value) <= set(declared):
        assert [name for name in declared if name in value] != list(value) or any(
            isinstance(each, (dict, list)) for each in value.values()
        )


def _check_keywords_in_order(schema: Any, pointers: set[str], started: bytes, following: bytes) -> None:
    """The order of members and the keywords refuse together; without any one of the keywords they do not."""

    def refuses(kept: set[str]) -> bool | None:
        dfa = detent.json_schema(_with_only(schema, kept), whitespace="compact")._dfa()
        if dfa.after(started) == 0:
            return None  # alternatives that exclude each other refuse the text itself
        return dfa.after(started + following) == 0 if following else not dfa.accepts(started)

    assert refuses(pointers)
    assert not any(refuses(pointers - {left_out}) for left_out in pointers)


def _check_keywords(
    schema: Any, pointers: set[str], started: bytes, following: bytes, values: list[tuple[bytes, Any]]
) -> None:
    """Together the keywords allow the text and refuse every value that goes on so; without any one of them they do not.

    Without one of them, alternatives that exclude each other may refuse the text itself.
    """
    relaxed = _with_only(schema, pointers)
    assert detent.json_schema(relaxed, whitespace="compact", order="any")._dfa().after(started)
    validator = jsonschema.Draft202012Validator(relaxed)
    begins = [pair for pair in values if (pair[0].startswith(started + following) if following else pair[0] == started)]
    for _, value in begins if len(begins) < 200 else Random(0).sample(begins, 200):
        assert not validator.is_valid(value), (schema, pointers, started, following, value)
    for left_out in pointers:
        weaker = _with_only(schema, pointers - {left_out})
        language = detent.json_schema(weaker, whitespace="compact", order="any")
        if '"oneOf"' in json.dumps(weaker) and not language._dfa().after(started):
            continue
        value = _completed(language, started, following)
        jsonschema.Draft202012Validator(weaker).validate(value)


# --- Words and operators


@pytest.mark.long
def test_words_and_operands() -> None:
    rng = Random(3)
    checked = 0
    while checked < 150:
        words = sorted({"".join(rng.choices("ab", k=rng.randint(1, 3))) for _ in range(rng.randint(1, 4))})
        pattern = rng.choice(["[ab]{0,6}", "(?:ab|b)*", "a[ab]*b", "[ab]*a"])
        longest = 8
        language = detent.regex(pattern) & detent.without(*words)
        if language.is_empty():
            continue
        for started, following in _refusals(language, rng, b"abc", 2):
            if len(started) > 5:
                continue
            reasons = find_reasons(language, started, following)
            named = [each.name[1:-1] for each in reasons if each.kind == "word"]
            with_pattern = any(each.kind != "word" for each in reasons)
            wanted = [("pattern", None)] * with_pattern + [("word", each) for each in named]
            for left_out in [None, *wanted]:
                kept = [part for part in wanted if part != left_out]
                allows = any(
                    (("pattern", None) not in kept or re.fullmatch(pattern, text))
                    and not any(word in text for kind, word in kept if kind == "word")
                    for text in _texts(started.decode(), following.decode(), longest)
                )
                assert allows == (left_out is not None), (pattern, words, started, following, reasons)
            checked += 1


def _texts(started: str, following: str, longest: int) -> Iterator[str]:
    if not following:
        yield started
        return
    for length in range(longest - len(started)):
        for rest in product("abc", repeat=length):
            yield started + following + "".join(rest)


def test_operands() -> None:
    two = detent.regex("[a-z]{2}")
    union = detent.date() | detent.regex("never")
    assert find_reasons(union, b"nev", b"x") == (Reason("pattern", "e", "never", 3),)
    assert [each.kind for each in find_reasons(union, b"", b"x")] == ["language", "pattern"]
    parts = detent.date() + " " + detent.regex("[a-z]+!")
    assert [each.name for each in find_reasons(parts, b"2021-01-01 ab", b"1")] == ["[a-z]", "!"]
    assert [str(each) for each in find_reasons(two - detent.literal("ab"), b"a", b"b")] == [
        "regex '[a-z]{2}'",
        "the excluded 'ab'",
    ]
    schema = detent.json_schema({"type": "object", "additionalProperties": {"type": "string"}})
    hidden = find_reasons(schema & detent.without("bad"), rb'{"x": "\u0062a', b"d")
    assert hidden in ((), (Reason("word", "'bad'"),))
    assert find_reasons(schema - detent.containing("evil", "bad"), b'{"x": "ba', b"d")[-1] == Reason("word", "'bad'")


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_rounds_and_complements(seed: int) -> None:
    """Reasons of repetitions are those of each round that may be under way; those of a complement are its operand."""
    rng = Random(seed)
    checked = 0
    while checked < (40 if seed == 1 else 250):
        pattern = rng.choice(["ab", "a|ab", "[ab]c?", "a{1,3}", "(?:ab|ba){1,2}c", "(a|(b)c)", "abc?", "b*a"])
        part = detent.regex(pattern)
        low, high = rng.choice([(0, None), (0, 1), (1, 2), (2, 3), (0, 3), (2, None)])
        rule = part.optional() if (low, high) == (0, 1) else part.repeat(low, high)
        for started, following in _refusals(rule, rng, b"abcd", 3, 8):
            text = started.decode()
            most = "" if high is None else high - 1
            starts = [at for at in range(len(text) + 1) if re.fullmatch(f"(?:{pattern}){{0,{most}}}", text[:at])]
            expected: set[Reason] = set()
            for at in starts:
                dfa = part._dfa()
                state = dfa.after(started[at:])
                if state and dfa.expected(state):
                    may_end = not following and part.accepts(started[at:])
                    expected.update(find_reasons(part, started[at:], b"\xfe" if may_end else following))
            assert set(find_reasons(rule, started, following)) == expected, (rule, started, following)
            checked += 1
        rest = ~rule
        for started, following in _refusals(rest, rng, b"abcd", 3, 4):
            every = _texts(started.decode(), following.decode(), len(started) + 5)
            assert all(rule.accepts(text) for text in every), (rule, started, following)
            assert find_reasons(rest, started, following) == (Reason("language", f"the excluded {rule.description}"),)


def test_excluded_words_of_a_complement() -> None:
    rule = detent.regex("[a-z]{4}") & ~detent.containing("bad", "evil")
    assert [(each.kind, each.name) for each in find_reasons(rule, b"ba", b"d")] == [
        ("language", "regex '[a-z]{4}'"),  # without it, bytes that are no text may follow
        ("word", "'bad'"),
    ]
    assert rule == pickle.loads(pickle.dumps(rule))
    deep = detent.literal("a")
    for _ in range(500):
        deep = ~deep.repeat(0, 2)
    assert len(find_reasons(deep, b"", b"")) == 1  # the operators that are remembered end somewhere
    assert pickle.loads(pickle.dumps(deep)).accepts("") == deep.accepts("")


def test_an_item_of_a_group_is_named_without_its_parenthesis() -> None:
    """The position and the name of each item, whatever group it is repeated in."""
    for pattern, text, names in [
        (r"([0-9]+)?\.[0-9]+", "x", [("[0-9]", 1), ("\\.", 9)]),
        ("(?:(?P<n>[ab]*c)+|(?i:d+))?e", "x", [("[ab]", 9), ("c", 14), ("d", 22), ("e", 27)]),
        ("((a){2}){3}", "b", [("a", 2)]),
        ("(?=(b+))(?:[ab]+|c)", "x", [("[ab]", 11), ("c", 17)]),
    ]:
        found = find_reasons(detent.regex(pattern), b"", text.encode())
        assert [(each.name, each.position) for each in found] == names


def test_a_language_without_parts_has_no_reasons() -> None:
    assert find_reasons(detent.date(), b"2021-", b"9") == ()
    assert find_reasons(detent.regex("a"), b"", b"a") == ()  # it is allowed
    assert find_reasons(detent.regex("a") & detent.literal("b"), b"", b"a") == ()  # there is no text


def test_smallest_sets_are_minimal() -> None:
    rng = Random(1)
    for _ in range(300):
        needs = [set(rng.sample(range(12), rng.randint(1, 4))) for _ in range(rng.randint(1, 3))]

        def refuses(kept: list[int], needs: list[set[int]] = needs) -> bool:
            return any(need <= set(kept) for need in needs)

        found = smallest(range(12), refuses)
        assert found is not None and refuses(found)
        assert not any(refuses([each for each in found if each != one]) for one in found)
    assert smallest("ab", lambda kept: False) is None


def test_a_mismatch_has_reasons() -> None:
    language = detent.json_schema({"type": "object", "properties": {"age": {"maximum": 120}}})
    mismatch = language.why('{"age": 130}')
    assert mismatch is not None
    assert mismatch.reasons == (Reason("keyword", "/properties/age/maximum", "120"),)
    assert mismatch == copy.copy(mismatch)
