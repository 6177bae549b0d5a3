"""STYLES: the notations of the known model families."""

from __future__ import annotations

from detent.turns.style import Style

__all__ = ["STYLES"]

_ALL = (
    Style(
        name="qwen3",
        call='<tool_call>\n{"name": "{name}", "arguments": {arguments}}\n</tool_call>',
        separator="\n",
        before_calls="\n",
        thinking=("<think>\n", "\n</think>\n\n"),
        tags=("<think>", "</think>", "<tool_call>", "</tool_call>"),
        end_of_calls="<|im_end|>",
        end_of_text="<|im_end|>",
        source="https://huggingface.co/Qwen/Qwen3-8B/blob/main/tokenizer_config.json (chat_template)",
    ),
    Style(
        name="gpt-oss",
        call="<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}",
        separator="<|call|><|start|>assistant",
        thinking=("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"),
        text=("<|channel|>final<|message|>", ""),
        preamble=("<|channel|>commentary<|message|>", "<|end|><|start|>assistant"),
        tags=("<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|start|>", "<|call|>"),
        end_of_calls="<|call|>",
        end_of_text="<|return|>",
        source="https://cookbook.openai.com/articles/openai-harmony",
    ),
    Style(
        name="llama3-pythonic",
        call="{name}{arguments}",
        arguments="python",
        separator=", ",
        before_calls="[",
        after_calls="]",
        preamble=None,
        end_of_calls="<|eot_id|>",
        end_of_text="<|eot_id|>",
        source="https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_2/",
    ),
)

STYLES: dict[str, Style] = {style.name: style for style in _ALL}
"""The known styles by name."""
