"""The reason of a refusal in a turn: the open parts agree with a naive reader, named keywords with jsonschema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import jsonschema
import pytest

import detent
from detent import _core
from detent.queries import ByteDfa
from detent.reason import Reason
from detent.reason_search import find_reasons
from detent.turns.outline import Calls, Choice, EndOfTurn, Fixed, Gap, Outline, Part, Repeat, Sequence, Tag
from detent.turns.value import TurnValue
from tests.test_reasons import _DEFS, _random_schema, _with_only

STYLES = ("qwen3", "hermes", "llama3-json", "mistral-v3", "deepseek-v3", "gpt-oss", "llama3-pythonic", "qwen3-coder")
STYLES += ("glm4.5", "gemma4", "detent", "kimi-k2")

_PYTHON_ESCAPE = re.compile(rb"""\\[^"\\/bfnrtu]""")
"""An escape that JSON does not have; if a backslash stands before it, also a character that follows."""

Leaf = tuple[str, str, int]
"""The name and the text of a part's reason, and where the part begins."""


class _NaiveReader:
    """All ways in which a beginning of a text fits an outline, by trying each part at each position."""

    def __init__(self, value: TurnValue, text: bytes) -> None:
        self.value, self.text = value, text
        self.open: set[Leaf] = set()
        self._dfas: dict[_core.Node, ByteDfa] = {}
        self.is_complete = len(text) in self.ends(value.outline, {0})

    def ends(self, outline: Outline, starts: set[int]) -> set[int]:
        if isinstance(outline, (Fixed, Tag)):
            return self._literal(outline.text if isinstance(outline, Fixed) else outline.name, starts)
        if isinstance(outline, Gap):
            for character in outline.text:
                starts = starts | self._literal(character, starts)
            return starts
        if isinstance(outline, EndOfTurn):  # no letters
            return starts
        if isinstance(outline, Part):
            role = outline.role if outline.role != "none" else "notation"
            return self._node(outline.node, role, "", starts)
        if isinstance(outline, Calls):
            return self._calls(outline, starts)
        if isinstance(outline, Sequence):
            for part in outline.parts:
                starts = self.ends(part, starts)
            return starts
        if isinstance(outline, Choice):
            return set().union(*(self.ends(option, starts) for option in outline.options))
        return self._repeat(outline, starts)

    def _repeat(self, outline: Repeat, starts: set[int]) -> set[int]:
        found = set(starts) if outline.minimum == 0 else set()
        rounds = 0
        while starts and (outline.maximum is None or rounds < outline.maximum):
            starts = self.ends(outline.body, self.ends(outline.separator, starts) if rounds else starts)
            rounds += 1
            if rounds >= outline.minimum:
                found |= starts
        return found

    def _calls(self, calls: Calls, starts: set[int]) -> set[int]:
        found: set[int] = set()
        names = ", ".join(self.value.names)
        for index, (name, node) in enumerate(zip(calls.names, calls.arguments, strict=True), calls.first):
            if ByteDfa(node).is_empty():
                continue
            ends = self._literal(name, starts, ("name", names))
            found |= self._node(node, "arguments", self.value.names[index], self.ends(calls.between, ends))
        return found

    def _literal(self, literal: str, starts: set[int], shown: tuple[str, str] | None = None) -> set[int]:
        data, found = literal.encode(), set()
        for start in starts:
            rest = self.text[start : start + len(data)]
            if data.startswith(rest) and len(rest) < len(data):
                self.open.add((*(shown or ("notation", literal)), 0))
            elif rest == data:
                found.add(start + len(data))
        return found

    def _node(self, node: _core.Node, name: str, text: str, starts: set[int]) -> set[int]:
        tags = sorted(tag.encode() for tag in self.value.style.tags)
        dfa = self._dfas.setdefault(node, ByteDfa(_core.without_special(_core.special_as_text(node, tags))))
        found: set[int] = set()
        for start in starts:
            found.update(dfa.ends(self.text, start))
            state = dfa.after(self.text[start:])
            if state and dfa.expected(state):
                self.open.add((name, text, start if name in ("arguments", "answer") else 0))
        return found


def _rule(rng: Random, style: str) -> tuple[detent.Language[Any], detent.Language[Any], dict[str, Any]]:
    """Return a turn of a style, the same without conditions on arguments, and the schemas of its functions."""
    schemas: dict[str, Any] = {}
    for name in ("find", "find_all", "put")[: rng.randint(1, 3)]:
        schema: dict[str, Any] = {}
        while schema.get("type") != "object":
            schema = {"$defs": _DEFS, **_random_schema(rng, 2)}
        schemas[name] = {**schema, "additionalProperties": False}
    choice: Any = rng.choice(["required", "required", "auto"])

    def turn(schemas: dict[str, Any]) -> detent.Language[Any]:
        tools = [{"name": name, "parameters": schema} for name, schema in schemas.items()]
        return detent.turn(tools, style=style, tool_choice=choice, text=choice == "auto")

    return turn(schemas), turn({name: _with_only(schema, set()) for name, schema in schemas.items()}), schemas


def _refusals(
    rule: detent.Language[Any], free: detent.Language[Any], rng: Random, shortest: int, count: int
) -> Iterator[tuple[bytes, bytes]]:
    """Yield beginnings of turns, and what may not follow: mostly what would be allowed without the conditions."""
    alphabet = [bytes([byte]) for byte in b'"xy123,:{}[]()abc<>/\n =tfn']
    for _ in range(count):
        text = rule.sample(rng, max_bytes=shortest + rng.choice([40, 200]))
        wants_conditions = rng.random() < 0.7
        for _ in range(8 if wants_conditions else 1):
            started = text[: rng.randint(len(text) // 2, len(text))]
            refused = [byte for byte in alphabet if not rule._dfa().after(started + byte)]
            by_conditions = [byte for byte in refused if free._dfa().after(started + byte)]
            if wants_conditions and by_conditions:
                refused = by_conditions
                break
        if not rule.accepts(started) and not (wants_conditions and by_conditions):
            refused.append(b"")
        if refused:
            yield started, rng.choice(refused)


def _check(style: str, seed: int, count: int) -> dict[str, int]:
    rng = Random(f"{style} {seed}")
    kinds: dict[str, int] = {}
    while sum(kinds.values()) < count:
        try:
            rule, free, schemas = _rule(rng, style)
            shortest = len(rule.shortest())
        except detent.DetentError:  # no call is valid, the style cannot write it, or the shortest is far to search for
            continue
        value = rule.value
        assert isinstance(value, TurnValue)
        for started, following in _refusals(rule, free, rng, shortest, 6):
            case = (style, schemas, started, following)
            reasons = find_reasons(rule, started, following)
            reader = _NaiveReader(value, started)
            assert bool(reasons) == bool(reader.open), case
            named = {(each.name, each.text) for each in reasons if each.kind == "part"}
            inside = {each.part for each in reasons if each.kind != "part"}
            expected = {leaf[:2] for leaf in reader.open}
            assert named | {(n, t) for n, t in expected if str(Reason("part", n, t)) in inside} == expected, case
            for each in reasons:
                kinds[each.kind] = kinds.get(each.kind, 0) + 1
            keywords = [each for each in reasons if each.kind == "keyword"]
            starts = [leaf[2] for leaf in reader.open if leaf[0] == "arguments"]
            if keywords and len(starts) == 1:
                _check_keywords(value, schemas, keywords, started[starts[0] :], following, rng, case)
    return kinds


def _check_keywords(
    value: TurnValue,
    schemas: dict[str, Any],
    keywords: list[Reason],
    started: bytes,
    following: bytes,
    rng: Random,
    case: Any,
) -> None:
    """Arguments that begin so are invalid by the keywords; without any of them some are valid, or none begins so."""
    (function,) = (each for each in value.functions if str(Reason("part", "arguments", each.name)) == keywords[0].part)
    schema = schemas[function.name]
    pointers = {each.name for each in keywords}
    kept = jsonschema.Draft202012Validator(_with_only(schema, pointers))
    for found in _beginning_so(value, function, {}, schema, started, following, rng) or []:
        if value.style.arguments == "python" and (
            '"' in str(list(found.values())) or _PYTHON_ESCAPE.search(started + following)
        ):
            continue  # python_strings: with a pattern, strings have the escapes of JSON only
        assert not kept.is_valid(found), (*case, pointers, found)
    for left_out in pointers:
        weaker = _with_only(schema, pointers - {left_out})
        validator = jsonschema.Draft202012Validator(weaker)
        arguments = _beginning_so(value, function, weaker, schema, started, following, rng)
        assert arguments is None or any(map(validator.is_valid, arguments)), (*case, pointers, left_out)


def _beginning_so(
    value: TurnValue, function: Any, weaker: dict[str, Any], schema: Any, started: bytes, following: bytes, rng: Random
) -> list[Any] | None:
    """Return arguments of a weaker schema whose text begins so; nothing where it refuses what was written already."""
    weaker = weaker or _with_only(schema, set())
    known = value.notation.weakened(function, weaker)
    tags = sorted(tag.encode() for tag in value.style.tags)
    if value.style.arguments == "json":  # a reason that is no order is one in any order
        node = detent.json_schema(weaker, whitespace="line", order="any")._node
    else:
        node = _core.without_special(_core.special_as_text(value.notation.node(known), tags))
    if ByteDfa(node).after(started) == 0:
        return None
    if not following:
        texts = [started] if ByteDfa(node).accepts(started) else []
    else:
        every = concat_rest(node, started + following)
        texts = [every.shortest(), *(every.sample(rng, max_bytes=len(every.shortest()) + 20) for _ in range(4))]
    return [detent.json_value().parse(value.notation.as_json(known, text.decode())) for text in texts]


def concat_rest(node: _core.Node, start: bytes) -> detent.Language[Any]:
    """Return the texts of a node that begin so."""
    return detent.Language(node, "arguments") & (detent.literal(start) + detent.text())


@pytest.mark.parametrize("style", ["qwen3", "llama3-pythonic", "qwen3-coder"])
def test_reasons_in_turns(style: str) -> None:
    assert _check(style, 1, 6)


def test_a_function_of_very_many_arguments_is_named_alone() -> None:
    """To try each order of its arguments would cost the square of their number."""
    for count, kind in ((10, "keyword"), (300, "part")):
        properties = {f"p{number}": {"type": "string", "maxLength": 5} for number in range(count)}
        tool = {"name": "f", "parameters": {"type": "object", "properties": properties}}
        rule = detent.turn(tool, style="qwen3-coder", thinking="none", tool_choice="required")
        (reason,) = rule.why("<tool_call>\n<function=f>\n<parameter=p3>\nabcdef").reasons
        assert reason.kind == kind


def test_a_function_without_valid_arguments_is_not_named() -> None:
    never = {"type": "object", "properties": {"a": {"enum": ["x"], "minLength": 2}}, "required": ["a"]}
    tools = [{"name": "find", "parameters": {"type": "object"}}, {"name": "find_all", "parameters": never}]
    rule = detent.turn(tools, style="gemma4", thinking="none", tool_choice="required")
    reasons = rule.why("<|tool_call>call:find}").reasons
    assert "find_all" not in "".join(map(str, reasons)), reasons


@pytest.mark.long
@pytest.mark.parametrize("style", STYLES)
def test_more_reasons_in_turns(style: str) -> None:
    kinds = _check(style, 2, 80)
    assert min(kinds.get("part", 0), kinds.get("keyword", 0)) > 2


def test_a_text_without_its_tags_is_advised() -> None:
    """`Vocabulary.decode` leaves out tags that are special tokens; other texts without tags get no advice."""

    def book(flight: str) -> None: ...

    call = '{"name": "book", "arguments": {"flight": ""}}'
    rule = detent.turn(book, style="qwen3", thinking="none", tool_choice="required", text=False)
    for each in (rule, rule & detent.without("damn")):
        assert str(each.why(f"\n{call}\n")).endswith("rule.parser(vocabulary), or join their vocabulary.token_bytes")
        assert str(each.why("")).endswith("vocabulary.token_bytes")
    assert rule.why("<tool_call>\n{}").hint is None
    closing = detent.turn(style="qwen3", thinking="open")
    assert closing.why("I think").hint is not None
    answer = detent.turn(style="qwen3", thinking="none", answer=["yes", "no"])
    assert answer.why("maybe").hint is None


def test_a_wrong_argument_is_named_by_its_pointer_and_keyword() -> None:
    tool = {"name": "f", "parameters": {"properties": {"day": {"type": "string", "format": "date"}}, "type": "object"}}
    rule = detent.turn(tool, style="qwen3", thinking="none")
    found = rule.why('<tool_call>\n{"name": "f", "arguments": {"day": "2020-02-30"}}\n</tool_call>')
    assert found.part == "the arguments of 'f' at /day"
    assert "[0-2] of the arguments of 'f' at /day is expected, by /properties/day/format \"date\" in" in str(found)
