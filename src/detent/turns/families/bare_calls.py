"""Families whose arguments are bare objects: `{city:<|"|>Oslo<|"|>,days:3}`."""

from __future__ import annotations

from detent.turns.style import Style

__all__ = ["BARE_FAMILIES"]

BARE_FAMILIES = (
    Style(
        name="functiongemma",
        call="<start_function_call>call:{name}{arguments}<end_function_call>",
        arguments="bare",
        quote="<escape>",
        tags=("<start_function_call>", "<end_function_call>", "<escape>"),
        end_of_calls="<start_function_response>",
        end_of_text="<end_of_turn>",
        source="https://ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices",
    ),
    Style(
        name="gemma4",
        call="<|tool_call>call:{name}{arguments}<tool_call|>",
        arguments="bare",
        quote='<|"|>',
        thinking=("<|channel>thought\n", "\n<channel|>"),
        tags=("<|tool_call>", "<tool_call|>", '<|"|>', "<|channel>", "<channel|>"),
        end_of_calls="<|tool_response>",
        end_of_text="<turn|>",
        source="https://ai.google.dev/gemma/docs/core/prompt-formatting-gemma4",
    ),
)
