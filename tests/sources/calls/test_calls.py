"""Calls in every style: texts that models write, values, and what is refused."""

from __future__ import annotations

import ast
import dataclasses
import json
import pickle
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

import detent
from detent import Call
from detent.errors import ArgumentError, DetentError
from detent.turns import STYLES as STYLES_OF_FAMILIES
from tests.support.random_texts import texts


def get_user_info(user_id: int, special: Literal["black", "white"] = "black") -> None:
    """Look a user up."""


class Unit(Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


@dataclass
class Place:
    name: str
    height: float | None = None


def weather(place: Place, unit: Unit = Unit.CELSIUS, days: list[int] | None = None) -> None:
    """Tell the weather."""


class Reminder(BaseModel):
    text: str = Field(max_length=5)
    hour: int = Field(ge=0, le=23)


ADD = {
    "type": "function",
    "function": {
        "name": "math.add",
        "description": "Add two numbers",
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "minimum": 0},
                "b": {"type": "integer"},
                "note": {"type": "string"},
            },
            "required": ["a", "b"],
        },
    },
}
NOW = {"name": "now"}
ALL = [get_user_info, weather, Reminder, ADD, NOW]
STYLES = ["llama3-pythonic", "llama3-json", "hermes", "mistral-v3", "openai"]


def spell(style: str, calls: list[tuple[str, dict[str, Any]]]) -> str:
    """Write calls as the style's models do."""
    if style == "llama3-pythonic":
        return "[" + ", ".join(f"{n}({', '.join(f'{k}={v!r}' for k, v in a.items())})" for n, a in calls) + "]"
    key = "parameters" if style == "llama3-json" else "arguments"
    written = [json.dumps({"name": name, key: arguments}, ensure_ascii=False) for name, arguments in calls]
    if style == "hermes":
        return "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in written)
    if style == "llama3-json":
        return "; ".join(written)
    return f"{'[TOOL_CALLS]' if style == 'mistral-v3' else ''}[{', '.join(written)}]"


@pytest.mark.parametrize("style", STYLES)
def test_calls_are_accepted_and_read(style: str) -> None:
    rule = detent.calls(ALL, style=style)
    one = [("get_user_info", {"user_id": 7890, "special": "black"})]
    assert rule.parse(spell(style, one)) == [Call("get_user_info", {"user_id": 7890, "special": "black"})]
    assert rule.parse(spell(style, [("get_user_info", {"user_id": -1})]))[0].name == "get_user_info"
    many = [("math.add", {"a": 1, "b": 2}), ("now", {}), ("math.add", {"a": 0, "b": -2, "note": 'it\'s "é"\n'})]
    assert rule.parse(spell(style, many)) == [Call(name, arguments) for name, arguments in many]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "calls",
    [
        [("get_user_info", {"user_id": "7890"})],
        [("get_user_info", {"user_id": 1.5})],
        [("get_user_info", {"special": "black"})],
        [("get_user_info", {"user_id": 1, "special": "green"})],
        [("get_user_info", {"user_id": 1, "other": 1})],
        [("get_user_info", {})],
        [("math.add", {"a": -1, "b": 0})],
        [("Reminder", {"text": "abcdef", "hour": 1})],
        [("Reminder", {"text": "abc", "hour": 24})],
        [("unknown", {})],
        [("now", {}), ("unknown", {})],
        [],
    ],
    ids=str,
)
def test_what_the_functions_do_not_take_is_refused(style: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert not detent.calls(ALL, style=style).accepts(spell(style, calls))


@pytest.mark.parametrize("style", STYLES)
def test_arguments_come_back_as_the_functions_types(style: str) -> None:
    rule = detent.calls(ALL, style=style)
    arguments = {"place": {"name": "Bern", "height": 540.5}, "unit": "f", "days": [1, 2]}
    (call,) = rule.parse(spell(style, [("weather", arguments)]))
    assert call == Call("weather", {"place": Place("Bern", 540.5), "unit": Unit.FAHRENHEIT, "days": [1, 2]})
    (call,) = rule.parse(spell(style, [("Reminder", {"text": "tea", "hour": 7})]))
    assert call == Call("Reminder", {"text": "tea", "hour": 7})


@pytest.mark.parametrize("style", STYLES)
def test_how_many_calls(style: str) -> None:
    call = ("now", {})
    two = detent.calls(NOW, style=style, parallel=2)
    assert [two.accepts(spell(style, [call] * count)) for count in range(4)] == [False, True, True, False]
    single = detent.calls(NOW, style=style, parallel=False)
    assert not single.accepts(spell(style, [call] * 2))
    text = spell(style, [call])
    assert single.accepts(text[1:-1] if style == "openai" else text)


@pytest.mark.parametrize("style", STYLES)
def test_what_is_written_can_be_read(style: str) -> None:
    rule = detent.calls(ALL, style=style, parallel=2)
    for text in texts(rule, 40):
        calls = rule.parse(text)
        assert isinstance(calls, list)
        assert calls
        assert all(call.name in ("get_user_info", "weather", "Reminder", "math.add", "now") for call in calls)


def test_pythonic_calls_are_python() -> None:
    rule = detent.calls([get_user_info, ADD, NOW], style="llama3-pythonic")
    for text in texts(rule, 60, seed=1):
        tree = ast.parse(text, mode="eval").body
        assert isinstance(tree, ast.List)
        read = []
        for call in tree.elts:
            assert isinstance(call, ast.Call)
            assert not call.args
            values = {argument.arg: ast.literal_eval(argument.value) for argument in call.keywords}
            read.append(Call(ast.unparse(call.func), values))
        assert read == rule.parse(text)


def test_pythonic_spellings() -> None:
    rule = detent.calls([get_user_info], style="llama3-pythonic")
    for text in (
        "[get_user_info(user_id=7890, special='black')]",
        '[get_user_info(user_id=7890, special="black")]',
        "[get_user_info(user_id=7890,special='black')]",
        "[get_user_info(user_id=7890)]",
        "[get_user_info(user_id=1), get_user_info(user_id=2)]",
    ):
        assert rule.accepts(text)
    for text in (
        "get_user_info(user_id=7890)",
        "[get_user_info(7890)]",
        "[get_user_info(special='black', user_id=7890)]",
        "[get_user_info(user_id=7890,)]",
        "[get_user_info(user_id=7890)]<|eot_id|>",
        "[]",
    ):
        assert not rule.accepts(text)


def test_the_marker_is_a_special_token_or_text() -> None:
    call = '[{"name": "now", "arguments": {}}]'
    marked = detent.calls(NOW, style="mistral-v3")
    # For a prompt that ends with the marker.
    bare = detent.calls(NOW, style=dataclasses.replace(STYLES_OF_FAMILIES["mistral-v3"], before_calls="[", tags=()))
    for text in ("[TOOL_CALLS]" + call, "[TOOL_CALLS] " + call):
        assert marked.parse(text) == [Call("now", {})]
        assert not bare.accepts(text)
    assert bare.parse(call) == [Call("now", {})]
    letters = [bytes([byte]) for byte in range(256)]
    special = detent.Vocabulary([*letters, b"[TOOL_CALLS]", b"</s>"], eos_token_ids=[257], special_token_ids=[256])
    assert detent.compile(marked, special).matcher().allowed().tolist() == [256]
    assert detent.compile(bare, special).matcher().allowed().tolist() == [ord("[")]
    matcher = detent.compile(marked, detent.Vocabulary([*letters, b"</s>"], eos_token_ids=[256])).matcher()
    matcher.advance_bytes(b"[TOOL_CALLS][")


def test_languages_of_calls_are_pickled() -> None:
    for style in STYLES:
        rule = pickle.loads(pickle.dumps(detent.calls([ADD, NOW], style=style)))
        assert rule.parse(spell(style, [("now", {})])) == [Call("now", {})]


@pytest.mark.parametrize(
    ("functions", "options", "said"),
    [
        ([], {}, "at least one"),
        ([NOW, NOW], {}, "two functions"),
        ([lambda x: x], {}, "no name"),
        ([5], {}, "int"),
        ([{"name": ""}], {}, "name"),
        ([{"type": "function", "function": {}}], {}, "name"),
        ([{"name": "f", "parameters": 5}], {}, "JSON Schema"),
        ([NOW], {"style": "smoke"}, "hermes"),
        ([NOW], {"parallel": 0}, "parallel"),
        ([NOW], {"parallel": "yes"}, "parallel"),
    ],
)
def test_wrong_arguments(functions: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(detent.ArgumentError, match=said):
        detent.calls(functions, **{"style": "openai", **options})


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ({"name": "to-do"}, "identifier"),
        ({"name": "class"}, "identifier"),
        ({"name": "f", "parameters": {"properties": {"if": {}}}}, "identifier"),
    ],
)
def test_what_python_calls_cannot_hold_is_refused(function: Any, said: str) -> None:
    with pytest.raises(detent.UnsupportedError, match=said):
        detent.calls(function, style="llama3-pythonic")
    detent.calls(function, style="openai")


def test_pythonic_arguments_take_every_keyword() -> None:
    schema = {
        "properties": {"a": {"not": {"const": 1}, "type": "integer"}, "b": {"type": "boolean"}},
        "minProperties": 1,
        "additionalProperties": {"type": "null"},
        "dependentRequired": {"a": ["b"]},
    }
    rule = detent.calls({"name": "f", "parameters": schema}, style="llama3-pythonic")
    assert rule.parse("[f(a=2, b=True, c=None)]") == [detent.Call("f", {"a": 2, "b": True, "c": None})]
    assert rule.accepts("[f(b=False)]") and rule.accepts("[f(_x1=None)]")
    for text in ("[f()]", "[f(a=2)]", "[f(a=1, b=True)]", "[f(c=1)]", "[f(if=None)]", "[f(1=None)]", "[f(b=1)]"):
        assert not rule.accepts(text), text
    either = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}}
    rule = detent.calls({"name": "f", "parameters": either}, style="llama3-pythonic")
    assert rule.accepts("[f(a=[])]") and rule.accepts("[f(b='')]") and not rule.accepts("[f(a=1, b=2)]")


SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOLS: dict[str, Any] = {
    "OpenAI": {"type": "function", "function": {"name": "f", "description": "x", "strict": True, "parameters": SCHEMA}},
    "OpenAI, responses": {"type": "function", "name": "f", "strict": True, "parameters": SCHEMA, "defer_loading": True},
    "Anthropic": {
        "name": "f", "description": "x", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"},
        "type": "custom", "defer_loading": True, "allowed_callers": ["direct"], "input_examples": [{"a": 1}],
    },
    "MCP": {
        "name": "f", "title": "F", "inputSchema": SCHEMA, "outputSchema": {}, "annotations": {"readOnlyHint": True},
        "icons": [], "_meta": {}, "execution": {"taskSupport": "optional"},
    },
    "Gemini": {"functionDeclarations": [{"name": "f", "behavior": "BLOCKING", "parametersJsonSchema": SCHEMA}]},
}  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_tools_of_all_apis_are_read_with_all_their_keys(tool: dict[str, Any]) -> None:
    rule = detent.calls([tool], style="openai")
    assert rule.parse('[{"name": "f", "arguments": {"a": 1}}]') == [Call("f", {"a": 1})]
    assert not rule.accepts('[{"name": "f", "arguments": {}}]')


def _with_unknown_hint(x: Nope) -> None:  # type: ignore[name-defined]  # noqa: F821
    ...


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ({"name": "f", "parameter": SCHEMA}, "'f' has the unknown key 'parameter'; the schema .* under one of"),
        ({"type": "function", "function": {"name": "f", "args": {}}}, "unknown key 'args'"),
        ({"type": "function", "function": {"name": "f"}, "parameters": SCHEMA}, "'parameters' beside 'function'"),
        ({"type": "function", "function": {"name": "f"}, "args": SCHEMA}, "unknown key 'args'"),
        ({"name": "f", "parameters": SCHEMA, "input_schema": SCHEMA}, "both 'parameters' and 'input_schema'"),
        ({"name": "f", "parameters": "x"}, "must be a JSON Schema, a dict, got 'x'"),
        ({"name": "f", "parameters": {"type": "string"}}, "must be of the type 'object', got 'string'"),
        ({"type": "web_search_20250305", "name": "f"}, "of the type 'web_search_20250305' and has no schema"),
        ({"type": "custom", "name": "f"}, "of the type 'custom' and has no schema"),
        ({"type": "web_search"}, "has no name"),
        ({"functionDeclarations": [{"name": "f"}], "codeExecution": {}}, "unknown key 'codeExecution'"),
        ("f", "must be a callable, a tool dict or a model, got 'f', a str"),
        (lambda x: x, "^a lambda has no name that a model can call; define a function with def$"),
    ],
)
def test_what_is_no_tool(tool: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        detent.calls([tool], style="openai")


def test_an_unknown_annotation_shows_no_address() -> None:
    message = "^_with_unknown_hint: <function _with_unknown_hint> cannot be made a schema: name 'Nope' is not defined; "
    with pytest.raises(detent.UnsupportedError, match=message):
        detent.calls([_with_unknown_hint], style="openai")


@pytest.mark.parametrize("style", ["openai", "llama3-pythonic"])
def test_errors_of_a_schema_name_the_function(style: str) -> None:
    good = {"name": "good", "parameters": SCHEMA}
    for wrong, message in (
        ({"properties": {"a": {"type": "strin"}}}, "type at /properties/a must be one of"),
        ({"properties": {"a": {"$ref": "#/nope"}}}, r"\$ref at /properties/a"),
    ):
        with pytest.raises(DetentError, match=f"^the function 'bad': {message}") as caught:
            detent.calls([good, {"name": "bad", "parameters": wrong}], style=style)
        assert getattr(caught.value, "pointer", None) == "/properties/a"


def test_null_means_no_arguments() -> None:
    for tool in ({"name": "f"}, {"name": "f", "parameters": None, "description": None}):
        assert detent.calls([tool], style="openai").parse('[{"name": "f", "arguments": {}}]') == [Call("f", {})]
