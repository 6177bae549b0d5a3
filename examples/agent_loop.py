"""An agent: a model thinks, calls a tool, reads the result, thinks again, and answers in JSON that a schema holds.

    python examples/agent_loop.py [MODEL]

Without a path, the model is that of the package, which has not learned to think. `tools/train_thinking.py` writes the
folder of one that has; `tools/write_transformers.py` and `tools/write_gguf.py` make other formats of it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import detent
from detent.models import ChatModel, LlamaCpp, Transformers
from detent.turns import CallFinished, CallStarted, ThinkingDelta, TurnFinished

WEATHER = {"type": "object", "properties": {"degrees": {"type": "integer"}, "sky": {"type": "string"}}}
ANSWER = {**WEATHER, "required": ["degrees", "sky"], "additionalProperties": False}


def get_weather(city: str, unit: str) -> dict[str, object]:
    """Return the weather of a city."""
    return {"degrees": 7 if unit == "celsius" else 45, "sky": "rain"}


def convert(amount: int, to: str) -> dict[str, object]:
    """Convert an amount to a currency."""
    return {"value": amount * 2}


TOOLS = {tool.__name__: tool for tool in (get_weather, convert)}


def load(path: str | None) -> ChatModel:
    """Load the model of the package, or that of a path: a GGUF file, a folder of transformers, or one of our layout."""
    if path is None:
        return detent.load_model()
    if path.endswith(".gguf"):
        return LlamaCpp(path)
    if not (Path(path) / "tokenizer_config.json").is_file():
        return detent.load_model(path)
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return Transformers(AutoModelForCausalLM.from_pretrained(path), AutoTokenizer.from_pretrained(path))


def write_turn(model: ChatModel, chat: detent.Chat, rule: detent.Language[Any]) -> detent.turns.Turn:
    """Write one turn, and show its events as they come."""
    for event in detent.stream_turn(model, chat, rule, max_tokens=160, temperature=0):
        if isinstance(event, ThinkingDelta):
            print(event.text, end="")
        elif isinstance(event, CallStarted):
            print(f"\n  calls {event.name}", end="")
        elif isinstance(event, CallFinished) and isinstance(event.call, detent.Call):
            print(f" with {json.dumps(event.call.arguments)}", end="")
        elif isinstance(event, TurnFinished):
            print()
            return event.turn
    raise RuntimeError("a stream of events ends with TurnFinished")


def answer(model: ChatModel, request: str, *, thinks: bool) -> Any:
    """Answer a request with the tools."""
    print("user:", request)
    style = "qwen3" if thinks else "detent"
    thinking: dict[str, Any] = {"thinking": "required", "thinking_tokens": 60} if thinks else {}
    chat = detent.Chat(request, tools=list(TOOLS.values()))
    rule = detent.turn(list(TOOLS.values()), style=style, tool_choice="required", max_calls=1, **thinking)
    (call,) = write_turn(model, chat, rule).calls
    result = TOOLS[call.name](**call.arguments)
    print("tool:", json.dumps(result))
    told = chat.with_messages(
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "name": call.name, "content": json.dumps(result)},
    )
    return write_turn(model, told, detent.turn(style=style, answer=ANSWER, **thinking)).answer


def main() -> None:
    """Hold one conversation."""
    path = sys.argv[1] if len(sys.argv) > 1 else None
    request = "What is the weather in Oslo in celsius? Reply as JSON."
    print("answer:", answer(load(path), request, thinks=path is not None))


if __name__ == "__main__":
    main()
