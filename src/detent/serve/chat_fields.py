"""ChatRequest: the body of /v1/chat/completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from detent.serve.fields import Body, Fields, Inert, Many, Schema, ToolName, WantedTool

__all__ = [
    "ChatRequest",
    "FunctionTool",
    "JsonObjectFormat",
    "JsonSchemaFormat",
    "Message",
    "StructuralTagFormat",
    "TextFormat",
]


class TextPart(Fields):
    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "file": (),
        "image_url": (),
        "input_audio": (),
        "video_url": (),
    }

    type: Literal["text"]
    text: str


class FunctionCall(Fields):
    name: str
    arguments: str


class ToolCall(Fields):
    id: str
    type: Literal["function"] = "function"
    function: FunctionCall
    index: Inert = None


class CustomCall(Fields):
    name: str
    input: str


class CustomToolCall(Fields):
    id: str
    type: Literal["custom"]
    custom: CustomCall


_Content: TypeAlias = str | Many[TextPart]


class SystemMessage(Fields):
    role: Literal["system", "developer"]
    content: _Content
    name: str | None = None


class UserMessage(Fields):
    role: Literal["user"]
    content: _Content
    name: str | None = None


class AssistantMessage(Fields):
    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {"audio": (), "refusal": (), "function_call": ()}

    role: Literal["assistant"]
    content: _Content | None = None
    name: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: Many[Annotated[ToolCall | CustomToolCall, Field(discriminator="type")]] | None = None
    annotations: Inert = None


class ToolMessage(Fields):
    role: Literal["tool"]
    content: _Content
    tool_call_id: str
    name: str | None = None


Message: TypeAlias = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")
]


class Function(Fields):
    name: ToolName
    description: str | None = None
    parameters: Schema | None = None
    strict: StrictBool | None = None


class FunctionTool(Fields):
    """A function that the model may call."""

    type: Literal["function"]
    function: Function


class GrammarDefinition(Fields):
    definition: str
    syntax: Literal["lark", "regex"]


class TextInput(Fields):
    type: Literal["text"]


class GrammarInput(Fields):
    type: Literal["grammar"]
    grammar: GrammarDefinition


class Custom(Fields):
    name: ToolName
    description: str | None = None
    format: Annotated[TextInput | GrammarInput, Field(discriminator="type")] | None = None


class CustomTool(Fields):
    type: Literal["custom"]
    custom: Custom


class NamedFunction(Fields):
    name: WantedTool


class FunctionChoice(Fields):
    type: Literal["function"]
    function: NamedFunction


class CustomChoice(Fields):
    type: Literal["custom"]
    custom: NamedFunction


class AllowedTools(Fields):
    mode: Literal["auto", "required"]
    tools: Many[Annotated[FunctionChoice | CustomChoice, Field(discriminator="type")]]


class AllowedToolsChoice(Fields):
    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


class TextFormat(Fields):
    """An answer of any text."""

    type: Literal["text"]


class JsonObjectFormat(Fields):
    """An answer that is a JSON object, of a schema if there is one, as llama.cpp and others take it."""

    type: Literal["json_object"]
    schema_: Schema | None = Field(None, alias="schema")


class JsonSchema(Fields):
    name: str
    schema_: Schema = Field(alias="schema")
    description: str | None = None
    strict: StrictBool | None = None


class JsonSchemaFormat(Fields):
    """An answer that is valid against a JSON Schema."""

    type: Literal["json_schema"]
    json_schema: JsonSchema


class StreamOptions(Fields):
    include_usage: StrictBool = False
    include_obfuscation: Inert = None
    continuous_usage_stats: StrictBool = False


class StructuralTagFormat(BaseModel):
    """A structural tag as an answer's format, in either notation; `detent.integrations` reads its other fields."""

    model_config = ConfigDict(extra="allow")

    type: Literal["structural_tag"]


class StructuredOutputs(Fields):
    """vLLM's field: exactly one of the rules."""

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "disable_additional_properties": (False,),
        "disable_any_whitespace": (False,),
        "disable_fallback": (True, False),
        "whitespace_pattern": (),
    }

    json_: Schema | str | None = Field(None, alias="json")
    json_object: StrictBool | None = None
    regex: str | None = None
    choice: Many[str] | None = None
    grammar: str | None = None
    structural_tag: str | dict[str, Any] | None = None


class RuleFields(Fields):
    """The constraints that engines added to OpenAI's API, for chat and plain completions alike."""

    elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ["choice", "json", "regex", "structural_tag"], "structured_outputs"
    )

    structured_outputs: StructuredOutputs | None = None
    guided_json: Schema | str | None = None
    guided_regex: str | None = None
    guided_choice: Many[str] | None = None
    guided_grammar: str | None = None
    grammar: str | None = None
    json_schema: Schema | None = None


class ChatRequest(Body, RuleFields):
    """The body of a chat completion."""

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "audio": (),
        "frequency_penalty": (0,),
        "function_call": (),
        "functions": (),
        "modalities": (["text"],),
        "moderation": (),
        "prediction": (),
        "presence_penalty": (0,),
        "store": (False,),
        "verbosity": ("medium",),
        "web_search_options": (),
    }

    messages: Many[Message] = Field(min_length=1)
    max_tokens: StrictInt | None = Field(None, ge=1)
    max_completion_tokens: StrictInt | None = Field(None, ge=1)
    n: StrictInt = Field(1, ge=1)
    stop: str | Many[str] | None = None
    stream_options: StreamOptions | None = None
    logprobs: StrictBool | None = None
    top_logprobs: StrictInt | None = Field(None, ge=0, le=20)
    logit_bias: dict[str, StrictFloat] | None = None
    response_format: (
        Annotated[TextFormat | JsonObjectFormat | JsonSchemaFormat | StructuralTagFormat, Field(discriminator="type")]
        | None
    ) = None
    tools: Many[Annotated[FunctionTool | CustomTool, Field(discriminator="type")]] | None = None
    tool_choice: (
        Literal["none", "auto", "required"]
        | Annotated[FunctionChoice | CustomChoice | AllowedToolsChoice, Field(discriminator="type")]
        | None
    ) = None
    parallel_tool_calls: StrictBool | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    thinking_tokens: StrictInt | None = Field(None, ge=0)

    metadata: Inert = None
    prompt_cache_key: Inert = None
    prompt_cache_options: Inert = None
    prompt_cache_retention: Inert = None
    safety_identifier: Inert = None
    service_tier: Inert = None
    user: Inert = None
