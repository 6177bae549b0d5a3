"""A turn: a model calls a tool or thinks within a budget, and its events arrive while it writes."""

from __future__ import annotations

import detent
from detent.turns import CallFinished, TextDelta, TurnFinished


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def main() -> None:
    """Stream a turn of the embedded model, then read a text that another service might have written."""
    model = detent.load_model()
    prompt = detent.Chat([{"role": "user", "content": "What is 17 plus 25? Use the tool."}], tools=[add])
    rule = detent.turn([add], style="detent", max_calls=1)
    for event in detent.stream_turn(model, prompt, rule, temperature=0):
        if isinstance(event, TextDelta):
            print(event.text, end="")
        elif isinstance(event, CallFinished) and isinstance(event.call, detent.Call):
            print(f"{event.call.name}({event.call.arguments}) = {add(**event.call.arguments)}")

    # A model that thinks: at most 40 tokens, its tags included, and what they leave suffices for the call.
    rule = detent.turn([add], style="qwen3", tool_choice="required", thinking="required", thinking_tokens=40)
    out = detent.generate(model, "Add 2 and 3.", rule, max_tokens=120, seed=0)
    print(f"\nthought in {len(out.value.thinking or '')} characters, then {out.value.calls[0].name}")

    # The parser needs no model. On a text that leaves the rule, it says where, and keeps what was valid.
    parser = rule.parser()
    text = '<think>Easy.</think><tool_call>\n{"name": "add", "arguments": {"a": 2, "b": "3"}}\n</tool_call>'
    *_, last = parser.feed(text)
    if not isinstance(last, TurnFinished):
        raise TypeError(last)
    print(f"{last.reason} at byte {last.position}, after {last.turn}")
    print(last.mismatch)


if __name__ == "__main__":
    main()
