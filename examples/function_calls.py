"""Function calls: a model writes calls that can always be read, and they are carried out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import detent


def get_user_info(user_id: int, special: Literal["black", "white"] = "black") -> str:
    """Look a user up."""
    return f"user {user_id} likes {special}"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


FUNCTIONS: dict[str, Callable[..., Any]] = {"get_user_info": get_user_info, "add": add}


def main() -> None:
    """Read calls in every style, then let the embedded model write some."""
    # Each model family writes calls in a style of its own; the value is the same.
    functions = list(FUNCTIONS.values())
    for style, text in (
        ("llama3-pythonic", "[get_user_info(user_id=7890, special='black'), add(a=1, b=2)]"),
        ("llama3-json", '{"name": "add", "parameters": {"a": 1, "b": 2}}'),
        ("hermes", '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'),
        ("openai", '[{"name": "add", "arguments": {"a": 1, "b": 2}}]'),
    ):
        calls: Any = detent.calls(functions, style=style).parse(text)
        for call in calls:
            print(f"{style:16} {call.name}{call.arguments} -> {FUNCTIONS[call.name](**call.arguments)}")

    # Whatever the model prefers, the text is a call with all that the function needs.
    model = detent.load_model()
    rule = detent.calls(functions, style="llama3-pythonic", parallel=False)
    out = detent.generate(model, "Look up user 7890.", rule, max_tokens=40, seed=0)
    for call in out.value:
        print(f"{out.text} -> {FUNCTIONS[call.name](**call.arguments)}")

    # Free text until a trigger; from there on the tag holds.
    tagged = detent.structural_tags([("<add>", add, "</add>")], triggers=["<add>"])
    print(tagged.parse('The sum: <add>{"a": 1, "b": 2}</add>.'))


if __name__ == "__main__":
    main()
