"""/v1/chat/completions, /v1/responses and /api/chat: turns held to schemas and tools, streamed and whole."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from typing import Any

import pytest

import detent
from detent.serve.conversation import Conversation, rule_of_turn
from detent.serve.errors import ApiError
from detent.turns.styles import find_style

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
WEATHER = {
    "name": "get_weather",
    "description": "Return the weather.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 9}, "unit": {"enum": ["celsius", "fahrenheit"]}},
        "required": ["city", "unit"],
        "additionalProperties": False,
    },
    "strict": True,
}
ALARM = {"name": "set_alarm", "parameters": {"type": "object", "properties": {"hour": {"type": "integer"}}}}
TOOLS = [{"type": "function", "function": function} for function in (WEATHER, ALARM)]
NONE_ALLOWED = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}
UNNAMED = [{"properties": each} for each in (None, 5, ["a", 1], "ab")]
"""Parameters whose names a chat template cannot tell."""
MALFORMED = [{"properties": {"a": each}} for each in (5, {"enum": 5}, {"enum": {"b": 1}})]
ASK = [{"role": "user", "content": "What is the weather in Oslo in celsius?"}]
TALK = [{"role": "user", "content": "Can we talk?"}]
ROLES = "'system', 'developer', 'user', 'assistant' or 'tool'"
FORMAT = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON, "strict": True}}


def tool(parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": parameters}}


def chat(client: Any, **arguments: Any) -> Any:
    return client.chat.completions.create(model="detent", messages=ASK, temperature=0, **arguments)


class TestChat:
    def test_free_text(self, client: Any) -> None:
        answer = chat(client, max_tokens=20)
        assert answer.choices[0].message.content
        assert answer.choices[0].message.role == "assistant"
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens

    def test_a_schema(self, client: Any) -> None:
        person = json.loads(chat(client, response_format=FORMAT).choices[0].message.content)
        assert person.keys() == {"name", "age"}
        assert isinstance(
            json.loads(chat(client, response_format={"type": "json_object"}).choices[0].message.content), dict
        )

    def test_a_pydantic_model_is_parsed(self, client: Any) -> None:
        from pydantic import BaseModel

        class Person(BaseModel):
            name: str
            age: int

        answer = client.chat.completions.parse(model="detent", messages=ASK, response_format=Person, max_tokens=60)
        assert isinstance(answer.choices[0].message.parsed, Person)

    @pytest.mark.parametrize(
        ("choice", "names"),
        [
            ("required", {"get_weather", "set_alarm"}),
            ({"type": "function", "function": {"name": "set_alarm"}}, {"set_alarm"}),
            (
                {
                    "type": "allowed_tools",
                    "allowed_tools": {
                        "mode": "required",
                        "tools": [{"type": "function", "function": {"name": "get_weather"}}],
                    },
                },
                {"get_weather"},
            ),
        ],
    )
    def test_tools(self, client: Any, choice: Any, names: set[str]) -> None:
        answer = chat(client, tools=TOOLS, tool_choice=choice, parallel_tool_calls=False, max_tokens=60).choices[0]
        assert answer.finish_reason == "tool_calls"
        [call] = answer.message.tool_calls
        assert call.function.name in names
        arguments = json.loads(call.function.arguments)
        if call.function.name == "get_weather":
            assert arguments == {"city": "Oslo", "unit": "celsius"}
        assert chat(client, tools=TOOLS, tool_choice="none", max_tokens=9).choices[0].message.tool_calls is None

    def test_a_custom_tool_with_a_grammar(self, client: Any) -> None:
        grammar = {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[0-9]{3}"}}
        tools = [{"type": "custom", "custom": {"name": "dial", "format": grammar}}]
        [call] = (
            chat(client, tools=tools, tool_choice="required", parallel_tool_calls=False).choices[0].message.tool_calls
        )
        assert call.type == "custom"
        assert call.custom.name == "dial"
        assert len(call.custom.input) == 3
        assert call.custom.input.isdecimal()

    def test_a_conversation_with_a_result(self, client: Any) -> None:
        answer = chat(client, tools=TOOLS, tool_choice="required", parallel_tool_calls=False).choices[0].message
        call = answer.tool_calls[0]
        messages = [
            {"role": "developer", "content": "Be brief."},
            *ASK,
            answer.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "sunny, 20 degrees"},
        ]
        again = client.chat.completions.create(model="detent", messages=messages, max_tokens=20)
        assert again.choices[0].message.content
        assert again.usage.prompt_tokens > 30

    @pytest.mark.parametrize(
        "arguments",
        [
            {"max_tokens": 30},
            {"response_format": FORMAT},
            {"tools": TOOLS, "tool_choice": "required", "max_tokens": 80},
            {"tools": TOOLS, "n": 3, "seed": 5, "temperature": 1.5, "max_tokens": 40},
        ],
    )
    def test_a_stream_equals_the_whole(self, client: Any, arguments: dict[str, Any]) -> None:
        arguments = {"model": "detent", "messages": ASK, "temperature": 0, **arguments}
        whole = client.chat.completions.create(**arguments)
        contents: dict[int, str] = {}
        calls: dict[int, dict[int, list[str]]] = {}
        reasons = {}
        for chunk in client.chat.completions.create(**arguments, stream=True):
            for choice in chunk.choices:
                contents[choice.index] = contents.get(choice.index, "") + (choice.delta.content or "")
                for part in choice.delta.tool_calls or []:
                    known = calls.setdefault(choice.index, {}).setdefault(part.index, ["", ""])
                    known[0] += part.function.name or ""
                    known[1] += part.function.arguments or ""
                reasons[choice.index] = choice.finish_reason or reasons.get(choice.index)
        for choice in whole.choices:
            assert contents[choice.index] == (choice.message.content or "")
            written = [[call.function.name, call.function.arguments] for call in choice.message.tool_calls or []]
            assert [*calls.get(choice.index, {}).values()] == written
            assert reasons[choice.index] == choice.finish_reason

    def test_bans_probabilities_and_reports(self, client: Any) -> None:
        choice = chat(client, max_tokens=5, logprobs=True, top_logprobs=2, extra_body={"report": True}).choices[0]
        assert "".join(each.token for each in choice.logprobs.content).startswith(choice.message.content)
        assert {len(each.top_logprobs) for each in choice.logprobs.content} == {2}
        assert choice.report["model_calls"] >= 1
        rule = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"enum": ["listen", "go"]}}}
        banned = chat(client, response_format=rule, extra_body={"ban": ["listen"]}).choices[0].message.content
        assert json.loads(banned) == "go"

    @pytest.mark.parametrize(
        ("body", "param"),
        [
            (
                {"tools": [{"type": "function", "function": {"name": "f", "paramters": {}}}]},
                "tools[0].function.paramters",
            ),
            ({"tool_choice": {"type": "function", "function": {"name": "g"}}, "tools": TOOLS}, "tool_choice"),
            ({"tool_choice": "required"}, "tool_choice"),
            ({"tool_choice": NONE_ALLOWED, "tools": TOOLS}, "tool_choice"),
            *[({"tools": [tool(each)]}, "tools[0].function.parameters") for each in UNNAMED],
            ({"tools": [tool(UNNAMED[0])], "tool_choice": "none"}, "tools[0].function.parameters"),
            *[({"tools": [tool(each)]}, "tools#/properties/a") for each in MALFORMED],
            ({"tools": [*TOOLS, TOOLS[0]]}, "tools"),
            (
                {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "auto"}}},
                "tool_choice.function.name",
            ),
            ({"tools": [{"type": "function", "function": {"name": "required"}}]}, "tools[0].function.name"),
            ({"json_schema": "1"}, "json_schema"),
            ({"top_k": -2}, "top_k"),
            ({"response_format": {"type": "json_object", "schema": 1}}, "response_format.schema"),
            ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
            ({"messages": []}, "messages"),
            ({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "x"}}}}, None),
            ({"reasoning_effort": "high"}, "reasoning_effort"),
            ({"thinking_tokens": 50}, "thinking_tokens"),
            ({"thinking_tokens": 50, "reasoning_effort": "low"}, "thinking_tokens"),
            ({"stop": ['"'], "response_format": FORMAT}, "response_format.json_schema.schema"),
            ({"stop": [""]}, "stop"),
            ({"stop": ["a"] * 65}, "stop"),
            ({"functions": []}, "functions"),
            ({"top_logprobs": 3}, "top_logprobs"),
        ],
    )
    def test_an_error_names_the_field(self, client: Any, body: dict[str, Any], param: str | None) -> None:
        import openai

        with pytest.raises(openai.BadRequestError) as caught:
            client.post("/chat/completions", body={"messages": ASK, **body}, cast_to=object)
        assert caught.value.type == "invalid_request_error"
        if param is not None:
            assert caught.value.param == param

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ({"ban": "talk"}, "ban: Input should be a valid array or an object"),
            ({"ban": ["a", ""]}, "ban[1]: String should have at least 1 character (1 more error)"),
            (
                {"tool_choice": "f", "tools": TOOLS},
                "tool_choice: Input should be 'none', 'auto' or 'required' or an object",
            ),
            ({"tools": [WEATHER]}, "tools[0].type: Field required"),
            ({"messages": [{"role": "usr"}]}, f"messages[0].role: Input should be {ROLES}, got 'usr'"),
            (
                {"thinking_tokens": 50},
                "thinking_tokens: models of the style 'detent' do not think; leave thinking_tokens out",
            ),
            ({"structured_outputs": {"choice": []}}, "choice must be a list of texts, at least one, got []"),
        ],
    )
    def test_an_error_says_what_the_field_may_be(self, client: Any, body: dict[str, Any], message: str) -> None:
        import openai

        with pytest.raises(openai.BadRequestError) as caught:
            client.post("/chat/completions", body={"messages": ASK, **body}, cast_to=object)
        assert caught.value.body["message"] == message and caught.value.param is not None

    def test_an_answer_without_a_text_has_the_keywords_that_exclude_each_other(self, client: Any) -> None:
        import openai

        schema = {"type": "array", "minItems": 3, "maxItems": 2}
        wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
        with pytest.raises(openai.BadRequestError, match="minItems 3 and maxItems 2 exclude each other"):
            chat(client, response_format=wanted)

    @pytest.mark.parametrize("max_tokens", [16, 18, 20])
    def test_what_a_rule_holds_is_not_cut_off(self, client: Any, max_tokens: int) -> None:
        """Clients discard what ended by "length", and this text is complete."""
        note = {"type": "object", "properties": {"note": {"type": "string", "minLength": 30}}, "required": ["note"]}
        wanted = {"type": "json_schema", "json_schema": {"name": "note", "schema": note}}
        choice = chat(client, response_format=wanted, max_tokens=max_tokens, extra_body={"report": True}).choices[0]
        assert choice.finish_reason == "stop" and choice.report["finish_reason"] == "length"
        assert json.loads(choice.message.content).keys() == {"note"}
        chunks = list(chat(client, response_format=wanted, max_tokens=max_tokens, stream=True))
        assert chunks[-1].choices[0].finish_reason == "stop"
        text = {"format": {"type": "json_schema", "name": "note", "schema": note}}
        answer = client.responses.create(
            model="detent", input="Can we talk?", text=text, max_output_tokens=max_tokens, temperature=0
        )
        assert answer.status == "completed" and json.loads(answer.output_text).keys() == {"note"}

    def test_a_text_without_a_rule_is_cut_off(self, client: Any) -> None:
        for options in ({}, {"tools": TOOLS, "tool_choice": "none"}, {"stop": ["zz"]}, {"extra_body": {"ban": ["zz"]}}):
            options = {"model": "detent", "messages": TALK, "temperature": 0, "max_tokens": 3, **options}
            choice = client.chat.completions.create(**options).choices[0]
            assert choice.finish_reason == "length", options
            chunks = list(client.chat.completions.create(stream=True, **options))
            assert chunks[-1].choices[0].finish_reason == "length", options
        answer = client.responses.create(model="detent", input="Can we talk?", max_output_tokens=3, temperature=0)
        assert answer.status == "incomplete" and answer.incomplete_details.reason == "max_output_tokens"

    def test_a_rule_beside_tools_is_the_form_of_the_answer(self, client: Any) -> None:
        """docs/server.md says so."""
        for seed in range(4):
            options = {"tools": TOOLS, "seed": seed, "extra_body": {"guided_regex": "No[.]{3}"}}
            choice = client.chat.completions.create(model="detent", messages=TALK, **options).choices[0]
            assert choice.message.tool_calls if choice.message.content is None else choice.message.content == "No..."
        choice = chat(client, tools=TOOLS, tool_choice="none", extra_body={"guided_regex": "No[.]{3}"}).choices[0]
        assert (choice.message.content, choice.message.tool_calls) == ("No...", None)

    def test_a_required_call_comes_before_an_answer(self, client: Any) -> None:
        choice = chat(client, tools=TOOLS, tool_choice="required", response_format=FORMAT).choices[0]
        assert choice.finish_reason == "tool_calls" and choice.message.content is None

    def test_calls_are_not_cut_off(self, client: Any) -> None:
        say = {
            "type": "function",
            "function": {"name": "say", "parameters": {"properties": {"text": {"type": "string"}}}},
        }
        choice = chat(client, tools=[say], tool_choice="required", max_tokens=30).choices[0]
        assert choice.finish_reason == "tool_calls" and choice.message.tool_calls


class TestResponses:
    def test_text_and_schema(self, client: Any) -> None:
        answer = client.responses.create(model="detent", input="Can we talk?", max_output_tokens=40, instructions="Hi.")
        assert answer.status in ("completed", "incomplete")
        assert answer.output_text
        wanted = {"format": {"type": "json_schema", "name": "person", "schema": PERSON, "strict": True}}
        answer = client.responses.create(model="detent", input="Anna Berg is 34.", text=wanted)
        assert json.loads(answer.output_text).keys() == {"name", "age"}
        assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens

    def test_a_pydantic_model_is_parsed(self, client: Any) -> None:
        from pydantic import BaseModel

        class Person(BaseModel):
            name: str
            age: int

        answer = client.responses.parse(model="detent", input="Anna is 34.", text_format=Person, max_output_tokens=60)
        assert isinstance(answer.output_parsed, Person)

    def test_tools_and_their_results(self, client: Any) -> None:
        tools = [{"type": "function", **WEATHER}]
        answer = client.responses.create(
            model="detent", input=ASK, tools=tools, tool_choice="required", parallel_tool_calls=False, temperature=0
        )
        [call] = answer.output
        assert (call.type, call.name, json.loads(call.arguments)) == (
            "function_call",
            "get_weather",
            {"city": "Oslo", "unit": "celsius"},
        )
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        again = client.responses.create(model="detent", input=[*ASK, call, result], tools=tools, tool_choice="none")
        assert again.output_text

    @pytest.mark.parametrize(
        "arguments",
        [
            {"max_output_tokens": 30},
            {"text": {"format": {"type": "json_schema", "name": "p", "schema": PERSON}}},
            {"tools": [{"type": "function", **WEATHER}], "tool_choice": "required", "max_output_tokens": 90},
        ],
    )
    def test_a_stream_equals_the_whole(self, client: Any, arguments: dict[str, Any]) -> None:
        arguments = {"model": "detent", "input": ASK, "temperature": 0, **arguments}
        whole = client.responses.create(**arguments)
        with client.responses.stream(**arguments) as stream:
            events = list(stream)
            final = stream.get_final_response()
        assert [event.sequence_number for event in events] == list(range(len(events)))
        assert final.output_text == whole.output_text

        def shown(response: Any) -> list[Any]:
            return [
                item.model_dump(exclude={"id", "call_id", "parsed_arguments", "parsed"}) for item in response.output
            ]

        written = "".join(event.delta for event in events if event.type.endswith(".delta"))
        texts = [item.get("arguments") or item["content"][0]["text"] for item in shown(whole)]
        assert written == "".join(texts)
        assert (final.status, final.usage) == (whole.status, whole.usage)

    @pytest.mark.parametrize(
        ("body", "param"),
        [
            ({"previous_response_id": "x"}, "previous_response_id"),
            ({"text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": 3}}}}, "text.format.schema"),
            ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
            (
                {"tools": [{"type": "function", "name": "f"}], "tool_choice": {"type": "function", "name": "none"}},
                "tool_choice.name",
            ),
            ({"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": []}}, "tool_choice"),
            ({"tools": [{"type": "function", "name": "f", "parameters": UNNAMED[0]}]}, "tools[0].parameters"),
            ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content[0].type"),
        ],
    )
    def test_an_error_names_the_field(self, client: Any, body: dict[str, Any], param: str) -> None:
        import openai

        with pytest.raises(openai.BadRequestError) as caught:
            client.post("/responses", body={"input": "Hi", **body}, cast_to=object)
        assert caught.value.param == param


class TestOllama:
    def post(self, url: str, body: Any) -> list[Any]:
        request = urllib.request.Request(f"{url}/api/chat", json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            return [json.loads(line) for line in answer]

    def test_thinking_of_a_model_that_does_not_think_names_the_field(self, url: str) -> None:
        with pytest.raises(urllib.error.HTTPError) as caught:
            self.post(url, {"model": "detent", "messages": TALK, "think": "low"})
        assert b"leave think out" in caught.value.read()

    def test_a_text_without_a_rule_is_cut_off(self, url: str) -> None:
        options = {"num_predict": 3, "temperature": 0}
        [whole] = self.post(url, {"model": "detent", "messages": TALK, "stream": False, "options": options})
        assert whole["done_reason"] == "length"

    def test_a_format_streamed_and_whole(self, url: str) -> None:
        body = {"model": "detent", "messages": ASK, "format": PERSON, "options": {"temperature": 0, "num_predict": 60}}
        lines = self.post(url, body)
        text = "".join(line["message"]["content"] for line in lines)
        assert json.loads(text).keys() == {"name", "age"}
        assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
        [whole] = self.post(url, {**body, "stream": False})
        assert whole["message"]["content"] == text
        assert whole["done_reason"] in ("stop", "length")

    def test_tools(self, url: str) -> None:
        lines = self.post(url, {"messages": ASK, "tools": TOOLS, "options": {"temperature": 0}})
        calls = [call for line in lines for call in line["message"].get("tool_calls", [])]
        assert calls[0]["function"]["name"] == "get_weather"
        assert calls[0]["function"]["arguments"] == {"city": "Oslo", "unit": "celsius"}


class Unnamed:
    """The embedded model, without the name of its style."""

    def __init__(self) -> None:
        inner: Any = detent.load_model()
        self.vocabulary, self.encode, self.start, self.chat = inner.vocabulary, inner.encode, inner.start, True
        self.encode_chat, self.read, self.fork = inner.encode_chat, inner.read, inner.fork


def test_a_model_whose_style_is_not_known(serve: Any) -> None:
    openai = pytest.importorskip("openai")
    with serve(Unnamed()) as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        assert json.loads(chat(client, response_format=FORMAT).choices[0].message.content).keys() == {"name", "age"}
        assert chat(client, tools=TOOLS, tool_choice="none", max_tokens=9).choices[0].message.tool_calls is None
        with pytest.raises(openai.BadRequestError, match="--style") as caught:
            chat(client, tools=TOOLS)
        assert caught.value.param == "tools"
    with serve(Unnamed(), style="detent") as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        assert chat(client, tools=TOOLS, tool_choice="required").choices[0].message.tool_calls


def test_thinking_then_an_answer(serve: Any) -> None:
    openai = pytest.importorskip("openai")
    with serve(style="qwen3") as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        for effort in ("none", "low"):
            ask = {"response_format": FORMAT, "reasoning_effort": effort, "max_tokens": 200}
            message = chat(client, **ask).choices[0].message
            assert json.loads(message.content).keys() == {"name", "age"}
            thinking = getattr(message, "reasoning_content", None)
            assert thinking is None or effort != "none"
            streamed = "".join(
                chunk.choices[0].delta.content or "" for chunk in chat(client, **ask, stream=True) if chunk.choices
            )
            assert streamed == message.content
        short = chat(client, response_format=FORMAT, max_tokens=60, extra_body={"thinking_tokens": 8}).choices[0]
        assert json.loads(short.message.content).keys() == {"name", "age"}
        with pytest.raises(openai.BadRequestError, match="asks for no thinking, and thinking_tokens for 8 tokens"):
            chat(client, reasoning_effort="none", extra_body={"thinking_tokens": 8})


@pytest.mark.parametrize(
    "wanted", [{"effort": "none"}, {"thinking_tokens": 0}, {"effort": "low", "thinking_tokens": 0}]
)
def test_no_thinking_after_a_prompt_that_opens_it(wanted: dict[str, Any]) -> None:
    model = detent.load_model()
    prompt = model.vocabulary.encode_canonical(b"<think>\n")
    with pytest.raises(ApiError, match="opens the thinking") as caught:
        rule_of_turn(Conversation((), **wanted), prompt, model, find_style("qwen3", "the test"))
    assert caught.value.param == ("thinking_tokens" if "thinking_tokens" in wanted else "reasoning_effort")


@pytest.mark.parametrize(
    ("post", "path", "field"),
    [
        ({"reasoning": {"effort": "low"}, "input": "Hi"}, "/responses", "reasoning.effort"),
        ({"thinking_tokens": 9, "input": "Hi"}, "/responses", "thinking_tokens"),
    ],
)
def test_thinking_of_a_model_that_does_not_think_names_the_field(
    client: Any, post: dict[str, Any], path: str, field: str
) -> None:
    import openai

    with pytest.raises(openai.BadRequestError, match=f"leave {re.escape(field)} out") as caught:
        client.post(path, body={"model": "detent", **post}, cast_to=object)
    assert caught.value.param == field
