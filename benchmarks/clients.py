"""Real clients against a server: structured outputs, tools, streams, errors, and many at once.

    python -P benchmarks/clients.py http://127.0.0.1:8000          # each client that is installed, as a Markdown table

Clients want versions of each other that differ: run it in one environment for each, such as
`pip install instructor openai`. The server is started apart: `detent serve`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Literal

from pydantic import BaseModel, Field

MODEL = "detent"
TEXT = "Anna Berg is 34. Anna Berg lives in Oslo. Write the person as JSON."
WEATHER = "What is the weather in Oslo in celsius?"
AT_ONCE = 50

PROMPT_ONLY = {
    ("instructor", "mode JSON"),
    ("instructor", "mode MD_JSON"),
    ("pydantic-ai", "PromptedOutput"),
    ("dspy", "JSONAdapter"),
}
"""Modes that write the schema into the prompt, and send no constraint or `json_object` alone."""


class Person(BaseModel):
    """A person."""

    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=150)
    city: Literal["Oslo", "Rome", "Lima"]


def get_weather(city: Literal["Oslo", "Rome"], unit: Literal["celsius", "fahrenheit"]) -> str:
    """Return the weather of a city."""
    return f"sunny in {city}, {unit}"


TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Return the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "enum": ["Oslo", "Rome"]},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}


def expect(condition: object, found: object = None) -> None:
    """Raise an error unless a condition holds."""
    if not condition:
        raise AssertionError(f"not what was expected: {found}")


def expect_person(value: object) -> None:
    """Raise an error unless a value is a `Person`."""
    expect(isinstance(value, Person), value)


def expect_call(arguments: Any) -> None:
    """Raise an error unless the arguments are those of `get_weather`."""
    expect(arguments.keys() == {"city", "unit"}, arguments)
    expect(arguments["city"] in ("Oslo", "Rome") and arguments["unit"] in ("celsius", "fahrenheit"), arguments)


def together(check: Callable[[], object]) -> None:
    """Run a check in many threads at once."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for done in [threads.submit(check) for _ in range(AT_ONCE)]:
            done.result()


def expect_refusal(ask: Callable[[], object], field: str = "max_tokens") -> None:
    """Raise an error unless the server's message, which names a field, reaches the caller."""
    try:
        ask()
    except Exception as error:
        expect(field in str(error), error)
    else:
        raise AssertionError("a wrong field was accepted")


def messages(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def check_openai(url: str) -> dict[str, Callable[[], Any]]:
    import openai

    client: Any = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    quick: Any = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)

    def parse() -> None:
        answer = client.chat.completions.parse(model=MODEL, messages=messages(TEXT), response_format=Person)
        expect_person(answer.choices[0].message.parsed)

    def tools() -> None:
        answer = client.chat.completions.create(
            model=MODEL, messages=messages(WEATHER), tools=[TOOL], tool_choice="required", parallel_tool_calls=False
        )
        [call] = answer.choices[0].message.tool_calls
        expect_call(json.loads(call.function.arguments))

    def stream() -> None:
        ask = {"model": MODEL, "messages": messages(TEXT), "temperature": 0, "response_format": Person}
        whole = client.chat.completions.parse(**ask).choices[0].message.content
        with client.chat.completions.stream(**ask) as events:
            written = "".join(event.delta for event in events if event.type == "content.delta")
        expect(written == whole, (written, whole))

    def stream_tools() -> None:
        with client.chat.completions.stream(
            model=MODEL, messages=messages(WEATHER), tools=[TOOL], tool_choice="required", parallel_tool_calls=False
        ) as events:
            final = [event for event in events if event.type == "tool_calls.function.arguments.done"]
        expect_call(json.loads(final[0].arguments))

    def at_once() -> None:
        async def run() -> None:
            async def one(number: int) -> None:
                answer = await quick.chat.completions.parse(
                    model=MODEL, messages=messages(TEXT), response_format=Person, seed=number
                )
                expect_person(answer.choices[0].message.parsed)

            await asyncio.gather(*map(one, range(AT_ONCE)))

        asyncio.run(run())

    return {
        "chat, parse": parse,
        "chat, strict tools": tools,
        "chat, stream equals whole": stream,
        "chat, stream of tools": stream_tools,
        **_responses(client),
        "errors": lambda: _misspelt(client),
        f"{AT_ONCE} at once": at_once,
    }


def _misspelt(client: Any) -> None:
    import openai

    try:
        client.chat.completions.create(model=MODEL, messages=messages("Hi"), extra_body={"max_tokes": 3})
    except openai.BadRequestError as error:
        expect(error.param == "max_tokes")
    else:
        raise AssertionError("a misspelt field was accepted")


def _responses(client: Any) -> dict[str, Callable[[], Any]]:
    def responses() -> None:
        answer = client.responses.parse(model=MODEL, input=TEXT, text_format=Person)
        expect_person(answer.output_parsed)

    def responses_stream() -> None:
        with client.responses.stream(model=MODEL, input=TEXT, text_format=Person, temperature=0) as events:
            written = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        wanted = {"type": "json_schema", "name": "person", "schema": Person.model_json_schema()}
        whole = client.responses.create(model=MODEL, input=TEXT, temperature=0, text={"format": wanted}).output_text
        expect(written == whole, (written, whole))

    def responses_tools() -> None:
        tool = {"type": "function", **TOOL["function"]}  # type: ignore[dict-item]
        answer = client.responses.create(
            model=MODEL, input=WEATHER, tools=[tool], tool_choice="required", parallel_tool_calls=False
        )
        expect_call(json.loads(answer.output[0].arguments))

    return {
        "responses, parse": responses,
        "responses, stream equals whole": responses_stream,
        "responses, tools": responses_tools,
    }


def check_instructor(url: str) -> dict[str, Callable[[], Any]]:
    import instructor
    import openai

    def mode(chosen: Any) -> Callable[[], None]:
        def run() -> None:
            client = instructor.from_openai(openai.OpenAI(base_url=f"{url}/v1", api_key="none"), mode=chosen)
            person = client.chat.completions.create(
                model=MODEL, messages=messages(TEXT), response_model=Person, max_retries=0
            )
            expect_person(person)

        return run

    def partial() -> None:
        client = instructor.from_openai(
            openai.OpenAI(base_url=f"{url}/v1", api_key="none"), mode=instructor.Mode.JSON_SCHEMA
        )
        *_, person = client.chat.completions.create_partial(
            model=MODEL, messages=messages(TEXT), response_model=Person, max_retries=0
        )
        Person.model_validate(person.model_dump())

    def misspelt() -> None:
        client = instructor.from_openai(openai.OpenAI(base_url=f"{url}/v1", api_key="none"))
        client.chat.completions.create(
            model=MODEL, messages=messages(TEXT), response_model=Person, max_retries=0, extra_body={"max_tokes": 3}
        )

    names = ("TOOLS", "TOOLS_STRICT", "JSON", "JSON_SCHEMA", "MD_JSON")
    return {
        **{f"mode {name}": mode(getattr(instructor.Mode, name)) for name in names if hasattr(instructor.Mode, name)},
        "stream of partial objects": partial,
        "errors": lambda: expect_refusal(misspelt),
        f"{AT_ONCE} at once": lambda: together(mode(instructor.Mode.TOOLS)),
    }


def check_pydantic_ai(url: str) -> dict[str, Callable[[], Any]]:
    from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=f"{url}/v1", api_key="none"))

    def output(wrap: Any) -> Callable[[], None]:
        def run() -> None:
            agent: Any = Agent(model, output_type=wrap(Person), retries=0)
            expect_person(agent.run_sync(TEXT).output)

        return run

    def stream() -> None:
        async def run() -> None:
            agent: Any = Agent(model, output_type=NativeOutput(Person), retries=0)
            async with agent.run_stream(TEXT) as result:
                expect_person(await result.get_output())

        asyncio.run(run())

    def misspelt() -> None:
        Agent(model, retries=0).run_sync(TEXT, model_settings={"extra_body": {"max_tokes": 3}})

    def at_once() -> None:
        agent: Any = Agent(model, output_type=ToolOutput(Person), retries=0)

        async def run() -> None:
            for result in await asyncio.gather(*[agent.run(TEXT) for _ in range(AT_ONCE)]):
                expect_person(result.output)

        asyncio.run(run())

    return {
        "NativeOutput": output(NativeOutput),
        "ToolOutput": output(ToolOutput),
        "PromptedOutput": output(PromptedOutput),
        "stream": stream,
        "errors": lambda: expect_refusal(misspelt),
        f"{AT_ONCE} at once": at_once,
    }


def check_litellm(url: str) -> dict[str, Callable[[], Any]]:
    import litellm

    common = {"model": f"openai/{MODEL}", "api_base": f"{url}/v1", "api_key": "none"}

    def schema() -> None:
        answer: Any = litellm.completion(**common, messages=messages(TEXT), response_format=Person)
        Person.model_validate_json(answer.choices[0].message.content)

    def tools() -> None:
        answer: Any = litellm.completion(
            **common, messages=messages(WEATHER), tools=[TOOL], tool_choice="required", parallel_tool_calls=False
        )
        expect_call(json.loads(answer.choices[0].message.tool_calls[0].function.arguments))

    def stream() -> None:
        ask: Any = {**common, "messages": messages(TEXT), "response_format": Person, "temperature": 0}
        whole: Any = litellm.completion(**ask)
        pieces: Any = litellm.completion(**ask, stream=True)
        written = "".join(piece.choices[0].delta.content or "" for piece in pieces)
        expect(written == whole.choices[0].message.content)

    def misspelt() -> None:
        litellm.completion(**common, messages=messages(TEXT), extra_body={"max_tokes": 3})

    return {
        "schema": schema,
        "tools": tools,
        "stream equals whole": stream,
        "errors": lambda: expect_refusal(misspelt),
        f"{AT_ONCE} at once": lambda: together(schema),
    }


def check_langchain_openai(url: str) -> dict[str, Callable[[], Any]]:
    from langchain_openai import ChatOpenAI

    model: Any = ChatOpenAI(model=MODEL, base_url=f"{url}/v1", api_key="none", max_retries=0)

    def structured(method: str) -> Callable[[], None]:
        return lambda: expect_person(model.with_structured_output(Person, method=method).invoke(TEXT))

    def tools() -> None:
        answer = model.bind_tools([get_weather], tool_choice="required", strict=True).invoke(WEATHER)
        expect_call(answer.tool_calls[0]["args"])

    def stream() -> None:
        greedy = model.bind(temperature=0, max_tokens=60)
        whole = greedy.invoke("Can we talk?").content
        expect(whole and "".join(piece.content for piece in greedy.stream("Can we talk?")) == whole, whole)

    return {
        "json_schema": structured("json_schema"),
        "function_calling": structured("function_calling"),
        "tools": tools,
        "stream equals whole": stream,
        "errors": lambda: expect_refusal(lambda: model.invoke(TEXT, extra_body={"max_tokes": 3})),
        f"{AT_ONCE} at once": lambda: together(structured("json_schema")),
    }


def check_dspy(url: str) -> dict[str, Callable[[], Any]]:
    import dspy
    from dspy.lm15 import AccessPolicy, ModelSupport, OpenAIChatCompat, ProviderDefinition, register_provider

    class Extract(dspy.Signature):  # type: ignore[misc]
        """Write the person of the text."""

        text: str = dspy.InputField()
        person: Person = dspy.OutputField()
        is_adult: bool = dspy.OutputField()

    # dspy sends a schema only to models that it knows, and to those of providers that are declared.
    register_provider(
        ProviderDefinition.chat(
            AccessPolicy(provider="detent", env_keys=("DETENT_KEY",), base_url=f"{url}/v1"), compat=OpenAIChatCompat()
        ),
        supports=ModelSupport(response_schema=True, function_calling=True),
    )

    def asked(provider: str, **options: Any) -> None:
        model = dspy.LM(f"{provider}/{MODEL}", api_base=f"{url}/v1", api_key="none", cache=False, **options)
        with dspy.context(lm=model, adapter=dspy.JSONAdapter()):
            answer: Any = dspy.Predict(Extract)(text=TEXT)
        expect_person(answer.person)
        expect(isinstance(answer.is_adult, bool))
        if provider == "detent":
            sent = model.history[-1]["kwargs"].get("response_format")
            expect(sent, model.history[-1])

    def tools() -> None:
        model = dspy.LM(f"detent/{MODEL}", api_base=f"{url}/v1", api_key="none", cache=False)
        signature = dspy.Signature("question: str, tools: list[dspy.Tool] -> calls: dspy.ToolCalls")
        with dspy.context(lm=model, adapter=dspy.JSONAdapter(use_native_function_calling=True)):
            found: Any = dspy.Predict(signature)(
                question="What is the weather in Oslo?", tools=[dspy.Tool(get_weather)]
            )
        for call in found.calls.tool_calls:
            expect_call(call.args)

    def wrong() -> None:
        dspy.LM(f"detent/{MODEL}", api_base=f"{url}/v1", api_key="none", cache=False, num_retries=0)(
            "Hi", temperature=9
        )

    return {
        "JSONAdapter, declared provider": lambda: asked("detent"),
        "tools, declared provider": tools,
        "errors": lambda: expect_refusal(wrong, "temperature"),
        f"{AT_ONCE} at once": lambda: together(lambda: asked("detent")),
        "JSONAdapter": lambda: asked("openai", max_tokens=200),
    }


CLIENTS: dict[str, Callable[[str], dict[str, Callable[[], Awaitable[None] | None]]]] = {
    "openai": check_openai,
    "instructor": check_instructor,
    "pydantic-ai": check_pydantic_ai,
    "litellm": check_litellm,
    "langchain-openai": check_langchain_openai,
    "dspy": check_dspy,
}


def main() -> int:
    url = sys.argv[1].rstrip("/")
    chosen = sys.argv[2:]
    failed = 0
    print("| client | version | mode | result |\n|---|---|---|---|")
    for name, make in CLIENTS.items():
        module = name.replace("-", "_")
        if (chosen and name not in chosen) or not find_spec(module):
            continue
        package = "pydantic-ai-slim" if name == "pydantic-ai" else name
        for mode, check in make(url).items():
            try:
                check()
                result = "holds"
            except Exception as error:
                if (name, mode) in PROMPT_ONLY:
                    result = "not held: the schema is in the prompt alone"
                else:
                    failed += 1
                    result = f"fails: {type(error).__name__}: {(str(error) or repr(error)).splitlines()[0][:160]}"
            print(f"| {name} | {version(package)} | {mode} | {result} |", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
