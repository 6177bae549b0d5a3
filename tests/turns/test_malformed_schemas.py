"""Malformed schemas of tools: every style and the chat template refuse them with typed errors, or take them as one."""

from __future__ import annotations

import copy
import warnings
from random import Random
from typing import Any

import pytest

import detent
from detent.models.embedded_template import texts_of
from detent.turns import STYLES

_JSON: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, "", "x", "integer", "(", [], {}, [None], ["a", 1], ["a", "a"], [[]]),
    *({"a": 5}, {"a": "b"}, {"type": "integer"}, "\ud800"),
]
_NO_JSON: list[Any] = [{1: {}}, {b"a": 1}, {"a"}, ("a", "b"), b"x", float("nan")]
_NOTES = ["title", "description"]
_KEYWORDS = (
    "enum const type minimum maximum multipleOf pattern format minLength maxLength items prefixItems minItems maxItems "
    "uniqueItems properties required additionalProperties patternProperties $ref $defs anyOf not"
).split()


def _parameters(rng: Random) -> dict[str, Any]:
    """Return parameters of which one to three keywords have values that are drawn blindly."""
    inner = {"type": "object", "properties": {"c": {"type": "integer"}}}
    parameters: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}, "b": inner}}
    for _ in range(rng.randrange(1, 4)):
        target: Any = parameters
        for name in rng.choice([(), ("properties",), ("properties", "a"), ("properties", "a"), ("properties", "b")]):
            target = target.get(name) if isinstance(target, dict) else None
        if isinstance(target, dict):
            keyword = rng.choice(_KEYWORDS + _NOTES)
            wrong = _JSON if keyword in _NOTES else _JSON + _NO_JSON  # what a note says may not be read
            target[keyword] = copy.deepcopy(rng.choice(wrong))
    return parameters


def _takes(make: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            make()
        except detent.DetentError:
            return False
    return True


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 300))])
def test_malformed_schemas_raise_typed_errors(seed: int) -> None:
    rng = Random(seed)
    refused = 0
    for _ in range(60):
        parameters = _parameters(rng)
        tool = {"name": "f", "parameters": parameters}
        style = rng.choice(sorted(STYLES))
        takes = _takes(lambda tool=tool, style=style: detent.calls([tool], style=style))
        assert takes == _takes(lambda tool=tool, style=style: detent.turn([tool], style=style))
        # A style may refuse more, such as names of arguments that it cannot write.
        assert not takes or _takes(lambda parameters=parameters: detent.json_schema(parameters)), parameters
        _takes(lambda tool=tool: texts_of(detent.Chat("hi", tools=[tool])))
        refused += not takes
    assert 10 < refused < 60


def test_a_name_that_no_text_holds_is_refused() -> None:
    for make in (detent.turn, detent.calls):
        for style in sorted(STYLES):
            with pytest.raises(detent.ArgumentError, match=r"the name of a function got '.ud800'"):
                make([{"name": "\ud800", "parameters": {"type": "object"}}], style=style)


@pytest.mark.parametrize("choice", ["auto", "required", "f"])
def test_more_calls_than_a_text_holds_are_no_limit(choice: str) -> None:
    tool = {"name": "f", "parameters": {"type": "object", "additionalProperties": False}}
    turn = detent.turn([tool], style="qwen3", tool_choice=choice, max_calls=10**30)
    call = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    assert turn.accepts("\n".join([call] * 3))
