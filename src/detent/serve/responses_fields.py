"""ResponsesRequest: the body of /v1/responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Discriminator, Field, StrictBool, StrictFloat, StrictInt, Tag

from detent.serve.chat_fields import RuleFields, StreamOptions
from detent.serve.fields import Body, Fields, Inert, Many, Schema, ToolName, WantedTool

__all__ = ["FunctionTool", "JsonSchemaFormat", "ResponsesRequest"]


class InputText(Fields):
    type: Literal["input_text", "output_text", "text"]
    text: str
    annotations: Inert = None
    logprobs: Inert = None


_Content: TypeAlias = str | Many[InputText]


class InputMessage(Fields):
    """A message; its "type" may be left out."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: _Content
    id: Inert = None
    status: Inert = None
    phase: Inert = None


class FunctionCallItem(Fields):
    """A call of an earlier turn."""

    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    id: Inert = None
    status: Inert = None


class CustomCallItem(Fields):
    """A call of a custom tool in an earlier turn."""

    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    input: str
    id: Inert = None
    status: Inert = None


class CallOutputItem(Fields):
    """What a call returned."""

    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: str
    output: str | Many[InputText]
    id: Inert = None
    status: Inert = None


class ReasoningText(Fields):
    type: Literal["reasoning_text", "summary_text"]
    text: str


class ReasoningItem(Fields):
    """The thinking of an earlier turn, which the next message of the assistant gets."""

    type: Literal["reasoning"]
    id: Inert = None
    summary: Many[ReasoningText] = Field(default_factory=list)
    content: Many[ReasoningText] | None = None
    status: Inert = None
    encrypted_content: Inert = None


def _item_type(item: Any) -> str:
    return str(item.get("type", "message") if isinstance(item, dict) else getattr(item, "type", "message"))


InputItem: TypeAlias = Annotated[
    Annotated[InputMessage, Tag("message")]
    | Annotated[FunctionCallItem, Tag("function_call")]
    | Annotated[CustomCallItem, Tag("custom_tool_call")]
    | Annotated[CallOutputItem, Tag("function_call_output")]
    | Annotated[CallOutputItem, Tag("custom_tool_call_output")]
    | Annotated[ReasoningItem, Tag("reasoning")],
    Discriminator(_item_type),
]


class FunctionTool(Fields):
    """A function that the model may call."""

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {"defer_loading": (False,)}

    type: Literal["function"]
    name: ToolName
    description: str | None = None
    parameters: Schema | None = None
    strict: StrictBool | None = None
    output_schema: Inert = None
    allowed_callers: Inert = None


class TextInput(Fields):
    type: Literal["text"]


class GrammarInput(Fields):
    type: Literal["grammar"]
    definition: str
    syntax: Literal["lark", "regex"]


class CustomTool(Fields):
    """A tool whose input is a text."""

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {"defer_loading": (False,)}

    type: Literal["custom"]
    name: ToolName
    description: str | None = None
    format: Annotated[TextInput | GrammarInput, Field(discriminator="type")] | None = None
    allowed_callers: Inert = None


class NamedChoice(Fields):
    type: Literal["function", "custom"]
    name: WantedTool


class AllowedTools(Fields):
    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Many[NamedChoice]


class TextFormat(Fields):
    """An answer of any text."""

    type: Literal["text"]


class JsonObjectFormat(Fields):
    """An answer that is a JSON object."""

    type: Literal["json_object"]


class JsonSchemaFormat(Fields):
    """An answer that is valid against a JSON Schema."""

    type: Literal["json_schema"]
    name: str
    schema_: Schema = Field(alias="schema")
    description: str | None = None
    strict: StrictBool | None = None


class TextOptions(Fields):
    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {"verbosity": ("medium",)}

    format: Annotated[TextFormat | JsonObjectFormat | JsonSchemaFormat, Field(discriminator="type")] | None = None


class ReasoningOptions(Fields):
    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {"context": ("auto",), "mode": ("auto",)}

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    summary: Inert = None
    generate_summary: Inert = None


class ResponsesRequest(Body, RuleFields):
    """The body of a response; nothing is stored, so a conversation is sent whole each time."""

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "access_programs": (),
        "background": (False,),
        "background_options": (),
        "context_management": (),
        "conversation": (),
        "image": (),
        "max_tool_calls": (),
        "moderation": (),
        "previous_response_id": (),
        "prompt": (),
        "truncation": ("disabled",),
    }

    input: str | Many[InputItem]
    instructions: str | None = None
    max_output_tokens: StrictInt | None = Field(None, ge=1)
    text: TextOptions | None = None
    tools: Many[Annotated[FunctionTool | CustomTool, Field(discriminator="type")]] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedChoice | AllowedTools | None = None
    parallel_tool_calls: StrictBool | None = None
    reasoning: ReasoningOptions | None = None
    thinking_tokens: StrictInt | None = Field(None, ge=0)
    top_logprobs: StrictInt | None = Field(None, ge=0, le=20)
    logit_bias: dict[str, StrictFloat] | None = None
    stream_options: StreamOptions | None = None
    include: Many[Literal["message.output_text.logprobs", "reasoning.encrypted_content"]] | None = None

    metadata: Inert = None
    prompt_cache_key: Inert = None
    prompt_cache_options: Inert = None
    prompt_cache_retention: Inert = None
    safety_identifier: Inert = None
    service_tier: Inert = None
    store: Inert = None
    user: Inert = None
