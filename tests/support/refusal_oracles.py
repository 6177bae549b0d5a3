"""Judges of named reasons that share no code with detent's search: `regex`, jsonschema, and an Earley recogniser.

A refusal is the text so far, and the character, or the end, that may not follow it. Each judge takes a refusal with the
reasons that detent names. It returns what is wrong with them, or an empty string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import jsonschema
import regex

import detent
from detent.queries import ByteDfa
from detent.reason import Reason


class NotJudgedError(Exception):
    """The judge knows too little: `regex` backtracks for too long, or jsonschema does not check a format exactly."""


_MARK = "\ue000"


def refusals(language: detent.Language, rng: Random, alphabet: str, count: int) -> Iterator[tuple[str, str]]:
    """Yield beginnings of texts, and a character, or the end, that may not follow them."""
    dfa = language._dfa()
    for _ in range(count):
        text = language.sample(rng, max_bytes=len(dfa.some_completion(dfa.start)) + 60).decode()
        started = text[: rng.randint(0, len(text))]
        state = dfa.after(started.encode())
        refused = [each for each in alphabet if not dfa.step(state, ord(each))]
        if not dfa.is_accepting(state):
            refused.append("")
        if refused:
            yield started, rng.choice(refused)


def completions(language: detent.Language, started: str, rng: Random, count: int) -> Iterator[str]:
    """Yield texts of a language that begin so: the shortest one, and random ones."""
    dfa = language._dfa()
    state = dfa.after(started.encode())
    if not state:
        return
    yield started + dfa.some_completion(state).decode()
    for _ in range(count):
        yield started + _walk(dfa, state, rng, rng.randint(1, 40))


def _walk(dfa: ByteDfa, state: int, rng: Random, most: int) -> str:
    text = bytearray()
    while len(text) < most:
        if dfa.is_accepting(state) and rng.random() < 0.2:
            return text.decode()
        plain = [byte for byte in dfa.expected(state) if 0x20 <= byte < 0x7F]
        if not plain:
            break
        byte = rng.choice(plain)
        text.append(byte)
        state = dfa.step(state, byte)
    return (bytes(text) + dfa.some_completion(state)).decode()


# Patterns: `regex` reads the pattern with its items changed


def judge_pattern(pattern: str, started: str, following: str, reasons: Sequence[Reason], rng: Random) -> str:
    """Judge the locations, or the assertions, that are named for a pattern.

    No location reads the character. Each location reads something there: with a mark as a second choice, some text
    begins so, and `regex` matches it. No other location does: if the named ones may not read at that position, `regex`
    matches none of the texts that go on there. Assertions: without any one of them, some text begins with
    the refused character.
    """
    if not reasons:  # right where only the end may follow
        is_whole = _matches(pattern, started)
        return "" if is_whole and not list(_longer(detent.regex(pattern), started, rng)) else "no reason"
    spans = [(each.position or 0, (each.position or 0) + len(each.name)) for each in reasons]
    if any(pattern[start:end] != each.name for each, (start, end) in zip(reasons, spans, strict=True)):
        return "a name does not stand at its position"
    if {each.kind for each in reasons} == {"assertion"}:
        return _judge_assertions(pattern, started, following, spans, rng)
    if {each.kind for each in reasons} != {"pattern"}:
        return "reasons of other kinds"
    for start, end in spans:
        if following and _matches(pattern[start:end], following):
            return f"{pattern[start:end]} at {start} reads the character"
        marked = pattern[:start] + f"(?:{pattern[start:end]}|{_MARK})" + pattern[end:]
        if not _goes_on(marked, started, rng) and not _goes_on(_without_anchors(marked), started, rng):
            return f"{pattern[start:end]} at {start} cannot read the next character"
    others = _replaced(pattern, spans, lambda item: f"(?:{item}(?<!\\A[\\s\\S]{{{len(started) + 1}}}))")
    for text in _longer(detent.regex(pattern), started, rng):
        if _matches(pattern, text) and _matches(others, text):
            return f"another location reads the next character of {text!r}"
    return ""


def _matches(pattern: str, text: str) -> bool:
    """Match a whole text by `regex`, which backtracks."""
    try:
        return regex.fullmatch(pattern, text, timeout=2) is not None
    except TimeoutError:
        raise NotJudgedError from None


def _goes_on(marked: str, started: str, rng: Random) -> bool:
    texts = list(completions(detent.regex(marked), started + _MARK, rng, 0))
    return bool(texts) and _matches(marked, texts[0])


def _without_anchors(pattern: str) -> str:
    """Take out ``^`` and ``$``: locations are those of a pattern without its assertions."""
    items = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", pattern, re.DOTALL)
    return "".join(item for item in items if item not in ("^", "$"))


def _judge_assertions(pattern: str, started: str, following: str, spans: Sequence[tuple[int, int]], rng: Random) -> str:
    for index in range(len(spans)):
        weaker = _replaced(pattern, [spans[index]], lambda item: "(?:)")
        language = detent.regex(weaker)
        texts = list(completions(language, started + following, rng, 4)) if following else [started]
        if not any(_matches(weaker, text) for text in texts):
            return f"the assertion at {spans[index][0]} alone does not refuse"
    return ""


def _longer(language: detent.Language, started: str, rng: Random) -> Iterator[str]:
    dfa = language._dfa()
    state = dfa.after(started.encode())
    expected = [chr(byte) for byte in dfa.expected(state) if byte < 0x80]
    for character in expected if len(expected) < 12 else rng.sample(expected, 12):
        yield from completions(language, started + character, rng, 1)


def _replaced(pattern: str, spans: Sequence[tuple[int, int]], change: Any) -> str:
    for start, end in sorted(spans, reverse=True):
        pattern = pattern[:start] + change(pattern[start:end]) + pattern[end:]
    return pattern


# Schemas: jsonschema says which keywords a value violates


def judge_schema(schema: Any, started: str, following: str, reasons: Sequence[Reason], rng: Random) -> str:
    """Judge the keywords that are named for a schema.

    Every JSON value that begins so violates one of them, says jsonschema; and for each of them there is such a value
    that violates it. Values are the shortest text of JSON that begins so and random ones.
    """
    kinds = {each.kind for each in reasons}
    anything = detent.json_value(whitespace="compact")
    partial = started + following
    if kinds == {"syntax"}:
        texts = [partial] if not following else list(_closed(partial))
        is_spelling = reasons[0].name.startswith("the spelling")
        return f"JSON texts begin so: {texts}" if any(_is_json(each, is_own=is_spelling) for each in texts) else ""
    if kinds == {"order"}:
        free = detent.json_schema(schema, whitespace="compact", order="any")
        texts = list(completions(free, partial, rng, 0)) if following else [started]
        return "" if texts and _without_formats(schema).is_valid(json.loads(texts[0])) else "no valid value begins so"
    if kinds - {"order"} != {"keyword"}:
        return f"kinds {sorted(kinds)}"
    named = {each.name for each in reasons if each.kind == "keyword"}
    if any(name.endswith("/format") for name in named):
        raise NotJudgedError
    texts = list(completions(anything, partial, rng, 25)) if following else [started]
    seen: set[str] = set()
    for text in texts:
        if _is_unusual(text, started):
            continue
        violated = violations(schema, json.loads(text))
        if not violated & named and (violated or "order" not in kinds):  # a valid value may have another order
            return f"{text} violates {sorted(violated)[:4]}, not {sorted(named)}"
        seen |= violated & named
    return "" if seen == named else f"no value was found that violates {sorted(named - seen)}"


def validator_of(schema: Any) -> Any:
    """Return jsonschema's validator of the draft that the schema names."""
    found = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return found(schema, format_checker=jsonschema.FormatChecker())


def _without_formats(schema: Any) -> Any:
    """Return a validator that takes all dates: Python's has no year 0, which RFC 3339 has."""
    return jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)(schema)


def violations(schema: Any, value: Any) -> set[str]:
    """Return the JSON pointers of all keywords that a value violates, those inside of choices too."""
    found: set[str] = set()
    pending = [(error, list(error.absolute_schema_path)) for error in validator_of(schema).iter_errors(value)]
    while pending:
        error, path = pending.pop()
        pointer = _pointer(schema, path)
        found.add(pointer)
        if error.validator == "required":
            missing = [index for index, name in enumerate(error.validator_value) if name not in error.instance]
            found |= {f"{pointer}/{index}" for index in missing}
        pending += [(each, path + list(each.relative_schema_path)) for each in error.context]
    return found


def _pointer(schema: Any, path: Sequence[Any]) -> str:
    """Return where a keyword stands: references are followed, as jsonschema's paths go through them."""
    node, names = schema, []
    for key in path:
        while isinstance(node, dict) and "$ref" in node and key not in node:
            names = [part.replace("~1", "/").replace("~0", "~") for part in node["$ref"].lstrip("#").split("/")[1:]]
            node = schema
            for name in names:
                node = node[int(name) if isinstance(node, list) else name]
        names.append(str(key))
        try:
            node = node[key]
        except (KeyError, IndexError, TypeError):
            node = None
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)


def _is_unusual(text: str, started: str) -> bool:
    """Whether a text goes on with two members of a name, or an integer with a fraction: no serialiser writes them."""
    is_unusual = False

    def note(pairs: list[tuple[str, Any]]) -> None:
        nonlocal is_unusual
        is_unusual |= len({name for name, _ in pairs}) < len(pairs)

    def number(written: str) -> float:
        nonlocal is_unusual
        is_unusual |= float(written).is_integer() and written not in started
        return float(written)

    json.loads(text, object_pairs_hook=note, parse_float=number)
    return is_unusual


_ENDINGS = ("", *'0 a e0 :0 " 0" ":0 "a":0 n" 0000" 000" 00" "":0 rue ue e alse lse se ull ll l null'.split())


def _closed(text: str) -> Iterator[str]:
    """Yield texts that begin so and close what is open: one of them is JSON if a compact JSON text begins so."""
    closing = "".join(reversed(_open_brackets(text)))
    for ending in _ENDINGS if " " not in text else ():
        yield text + ending + closing
        yield text + ending + ":0" + closing


def _open_brackets(text: str) -> list[str]:
    stack: list[str] = []
    is_string = is_escaped = False
    for character in text:
        if is_string:
            is_escaped = character == "\\" and not is_escaped
            is_string = is_escaped or character != '"'
            if character == '"' and not is_string:
                continue
        elif character == '"':
            is_string = True
        elif character in "[{":
            stack.append("]" if character == "[" else "}")
        elif character in "]}" and stack:
            stack.pop()
    return stack


def _is_json(text: str, *, is_own: bool) -> bool:
    """Whether Python reads a text; with `is_own`, whether it writes the same."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return not is_own or json.dumps(value, separators=(",", ":"), ensure_ascii=False) == text


# Grammars: an Earley recogniser over rows of terminals and names of rules


class Rows:
    """A grammar in GBNF, one alternative on each line, that an Earley recogniser reads character by character.

    Terminals are literals in double quotes, and character classes in brackets; the other symbols are names of rules.
    """

    def __init__(self, text: str) -> None:
        self.rules: dict[str, list[tuple[int, list[str]]]] = {}
        name = ""
        for number, line in enumerate(text.strip().split("\n"), 1):
            head, _, body = line.partition("::=") if "::=" in line else (name, "", line)
            name = head.strip()
            symbols = re.findall(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[a-z][a-z0-9-]*', body)
            self.rules.setdefault(name, []).append((number, symbols))

    def open_at(self, text: str) -> set[tuple[str, int, str]]:
        """Return rule, line and symbol of each terminal that may read what follows a text."""
        sets: list[set[tuple[str, int, int, int, int]]] = [set() for _ in range(len(text) + 1)]
        sets[0] = {("root", index, 0, 0, 0) for index in range(len(self.rules["root"]))}
        for at in range(len(text) + 1):
            pending = list(sets[at])
            while pending:
                name, index, dot, inside, start = pending.pop()
                symbols = self.rules[name][index][1]
                new: list[tuple[int, tuple[str, int, int, int, int]]] = []
                if dot == len(symbols):
                    for other in list(sets[start]):
                        row = self.rules[other[0]][other[1]][1]
                        if other[2] < len(row) and row[other[2]] == name and not other[3]:
                            new.append((at, (other[0], other[1], other[2] + 1, 0, other[4])))
                elif symbols[dot] in self.rules:
                    new += [(at, (symbols[dot], each, 0, 0, at)) for each in range(len(self.rules[symbols[dot]]))]
                    if any(each[0] == symbols[dot] and each[4] == at and self._is_done(each) for each in sets[at]):
                        new.append((at, (name, index, dot + 1, 0, start)))
                elif at < len(text) and self._reads(symbols[dot], inside, text[at]):
                    is_done = symbols[dot][0] == "[" or inside + 1 == len(self._literal(symbols[dot]))
                    after = (name, index, dot + 1, 0, start) if is_done else (name, index, dot, inside + 1, start)
                    new.append((at + 1, after))
                for position, item in new:
                    if item not in sets[position]:
                        sets[position].add(item)
                        if position == at:
                            pending.append(item)
        found = set()
        for name, index, dot, _, _ in sets[len(text)]:
            line, symbols = self.rules[name][index]
            if dot < len(symbols) and symbols[dot] not in self.rules:
                found.add((name, line, symbols[dot]))
        return found

    def reads(self, text: str, following: str) -> bool:
        """Return whether some terminal reads this character after the text."""
        return bool(following) and bool(self.open_at(text + following))

    def _is_done(self, item: tuple[str, int, int, int, int]) -> bool:
        return item[2] == len(self.rules[item[0]][item[1]][1])

    @staticmethod
    def _literal(symbol: str) -> str:
        return str(json.loads(symbol))

    def _reads(self, symbol: str, inside: int, character: str) -> bool:
        if symbol[0] == "[":
            return re.fullmatch(symbol, character) is not None
        return self._literal(symbol)[inside] == character


def judge_grammar(rows: Rows, started: str, following: str, reasons: Sequence[Reason]) -> str:
    """Judge the terminals that are named for a grammar: exactly those that Earley's items have open."""
    if reasons and {each.kind for each in reasons} != {"rule"}:
        return f"kinds {sorted({each.kind for each in reasons})}"
    found = {(each.name, each.position, each.text) for each in reasons}
    expected = rows.open_at(started)
    if rows.reads(started, following):
        return "the grammar reads the character"
    return "" if found == expected else f"named {sorted(map(str, found ^ expected))} differ"
