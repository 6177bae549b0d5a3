"""Families whose arguments are parameters in tags: strings as raw text, other values as JSON."""

from __future__ import annotations

from dataclasses import replace

from detent.turns.style import Style

__all__ = ["XML_FAMILIES"]

_THINK = ("<think>", "</think>")
_QWEN3_CODER = Style(
    name="qwen3-coder",
    call="<tool_call>\n<function={name}>\n{arguments}</function>\n</tool_call>",
    arguments="xml",
    parameter="<parameter={key}>\n{value}\n</parameter>\n",
    separator="\n",
    before_calls="\n\n",
    tags=("<tool_call>", "</tool_call>"),
    end_of_calls="<|im_end|>",
    end_of_text="<|im_end|>",
    source="Qwen/Qwen3-Coder-30B-A3B-Instruct: chat_template.jinja",
)
_QWEN35 = replace(
    _QWEN3_CODER,
    name="qwen3.5",
    thinking=("<think>\n", "\n</think>\n\n"),
    tags=(*_QWEN3_CODER.tags, *_THINK),
    source="Qwen/Qwen3.5-4B: chat_template.jinja",
)
_GLM45 = Style(
    name="glm4.5",
    call="<tool_call>{name}\n{arguments}</tool_call>",
    arguments="xml",
    parameter="<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n",
    separator="\n",
    before_calls="\n",
    thinking=("\n<think>", "</think>\n"),
    tags=("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", *_THINK),
    end_of_calls="<|observation|>",
    end_of_text="<|user|>",
    source="zai-org/GLM-4.5: chat_template.jinja (also GLM 4.6)",
)
_DSML = Style(
    name="deepseek-v3.2",
    call='<｜DSML｜invoke name="{name}">\n{arguments}</｜DSML｜invoke>',
    arguments="xml",
    parameter='<｜DSML｜parameter name="{key}" string="{is_string}">{value}</｜DSML｜parameter>\n',
    separator="\n",
    before_calls="\n\n<｜DSML｜function_calls>\n",
    after_calls="\n</｜DSML｜function_calls>",
    thinking=_THINK,
    tags=("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", "</｜DSML｜parameter>", *_THINK),
    end_of_calls="<｜end▁of▁sentence｜>",
    end_of_text="<｜end▁of▁sentence｜>",
    source="deepseek-ai/DeepSeek-V3.2: encoding",
)

XML_FAMILIES = (
    _QWEN3_CODER,
    _QWEN35,
    replace(
        _QWEN35,
        name="nemotron3",
        before_calls="\n",
        after_calls="\n",
        thinking=("<think>\n", "\n</think>\n"),
        source="nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16: chat_template.jinja",
    ),
    replace(
        _QWEN35,
        name="step3.5",
        separator="",
        before_calls="",
        thinking=("<think>\n", "\n</think>\n"),
        source="stepfun-ai/Step-3.5-Flash: chat_template.jinja",
    ),
    replace(
        _QWEN3_CODER,
        name="seed-oss",
        call="<seed:tool_call>\n<function={name}>\n{arguments}</function>\n</seed:tool_call>",
        parameter="<parameter={key}>{value}</parameter>\n",
        thinking=("<seed:think>", "</seed:think>\n"),
        tags=("<seed:tool_call>", "</seed:tool_call>", "<seed:think>", "</seed:think>"),
        end_of_calls="<seed:eos>",
        end_of_text="<seed:eos>",
        source="ByteDance-Seed/Seed-OSS-36B-Instruct: chat_template.jinja",
    ),
    _GLM45,
    replace(
        _GLM45,
        name="glm4.7",
        call="<tool_call>{name}{arguments}</tool_call>",
        parameter="<arg_key>{key}</arg_key><arg_value>{value}</arg_value>",
        separator="",
        before_calls="",
        thinking=_THINK,
        source="zai-org/GLM-4.7-Flash: chat_template.jinja (also GLM 5)",
    ),
    replace(
        _GLM45,
        name="longcat-lite",
        call="<longcat_tool_call>{name}\n{arguments}</longcat_tool_call>",
        parameter="<longcat_arg_key>{key}</longcat_arg_key>\n<longcat_arg_value>{value}</longcat_arg_value>\n",
        separator="{?\n?}",
        before_calls="",
        thinking=("<longcat_think>\n", "\n</longcat_think>\n"),
        tags=(
            "<longcat_tool_call>",
            "</longcat_tool_call>",
            "<longcat_arg_key>",
            "</longcat_arg_key>",
            "<longcat_arg_value>",
            "</longcat_arg_value>",
            "<longcat_think>",
            "</longcat_think>",
        ),
        end_of_calls="</longcat_s>",
        end_of_text="</longcat_s>",
        source="https://github.com/ml-explore/mlx-lm mlx_lm/tool_parsers/longcat.py (LongCat Flash Lite)",
    ),
    Style(
        name="minimax-m2",
        call='<invoke name="{name}">\n{arguments}</invoke>',
        arguments="xml",
        parameter='<parameter name="{key}">{value}</parameter>\n',
        separator="\n",
        before_calls="\n<minimax:tool_call>\n",
        after_calls="\n</minimax:tool_call>",
        thinking=("<think>\n", "\n</think>\n\n"),
        tags=("<minimax:tool_call>", "</minimax:tool_call>", *_THINK),
        end_of_calls="[e~[",
        end_of_text="[e~[",
        source="MiniMaxAI/MiniMax-M2: docs/tool_calling_guide.md",
    ),
    _DSML,
    replace(
        _DSML,
        name="deepseek-v4",
        before_calls="\n\n<｜DSML｜tool_calls>\n",
        after_calls="\n</｜DSML｜tool_calls>",
        tags=("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", "</｜DSML｜parameter>", *_THINK),
        source="https://github.com/ggml-org/llama.cpp models/templates (DeepSeek-V4)",
    ),
)
