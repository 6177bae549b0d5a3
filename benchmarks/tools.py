"""400 tools with 10 parameters each: detent's turn beside the structural tags of xgrammar and llguidance, in one run.

    python -m benchmarks.tools --tokenizer path/to/qwen2/tokenizer.json --record

The tools are made at random from a seed, other ones in each round. A round compiles them on a new vocabulary, fills the
first mask, and follows turns: some text, then calls with random arguments, in the tokens of the tokenizer. Every engine
follows the same tokens; a mask is filled before each. The notation is `<function=name>{...}</function>`, whose tags are
plain text for every engine.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks import engines
from benchmarks.engines import Engine, read_tokens
from benchmarks.timing import timed

TOOLS, PARAMETERS, ROUNDS, TURNS = 400, 10, 5, 8
RECORD = Path(__file__).parent / "record"
_WORDS = "size city name date kind limit order query filter page level color width price user team".split()


class Detent(engines.Detent):
    """The whole turn: text, and any number of calls."""

    def compile(self, pattern: str) -> object:
        rule = self.detent.turn(json.loads(pattern), style="functionary-v3.1")
        return self.detent.compile(rule, self.vocabulary)


class LLGuidance(engines.LLGuidance):
    """Structural tags with the trigger `<function=`."""

    def compile(self, pattern: str) -> object:
        tag = self.llguidance.StructTag
        tags = [
            tag(trigger="<function=", begin=f"<function={tool['name']}>", grammar=tool["parameters"], end="</function>")
            for tool in json.loads(pattern)
        ]
        matcher = self.llguidance.LLMatcher(self.vocabulary, tag.to_grammar(tags), log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def walk(self, compiled: Any) -> Any:
        compiled.reset()

        def fill() -> None:
            compiled.unsafe_compute_mask_ptr(self.row.ctypes.data, self.row.nbytes)

        return fill, compiled.consume_token


class XGrammar(engines.XGrammar):
    """Structural tags with the trigger `<function=`; white space as JSON serialisers write it."""

    def compile(self, pattern: str) -> object:
        def content(schema: Any) -> dict[str, Any]:
            return {"type": "json_schema", "json_schema": schema}

        tags = [
            {
                "type": "tag",
                "begin": f"<function={tool['name']}>",
                "content": content(tool["parameters"]),
                "end": "</function>",
            }
            for tool in json.loads(pattern)
        ]
        form = {"type": "triggered_tags", "triggers": ["<function="], "tags": tags}
        return self.vocabulary.compile_structural_tag(json.dumps({"type": "structural_tag", "format": form}))

    def walk(self, compiled: Any) -> Any:
        matcher = self.xgrammar.GrammarMatcher(compiled)
        return lambda: matcher.fill_next_token_bitmask(self.bitmask), matcher.accept_token


def random_tools(rng: Random) -> list[dict[str, Any]]:
    """Return the tools of one round."""
    return [_tool(rng, index) for index in range(TOOLS)]


def _tool(rng: Random, index: int) -> dict[str, Any]:
    names = [f"{rng.choice(_WORDS)}_{rng.choice(_WORDS)}_{number}" for number in range(PARAMETERS)]
    properties = {name: _schema(rng) for name in names}
    required = [name for name in names if rng.random() < 0.5]
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": f"{rng.choice(_WORDS)}_{rng.choice(_WORDS)}_{index}", "parameters": parameters}


def _schema(rng: Random) -> dict[str, Any]:
    kind = rng.choice(["string", "integer", "number", "boolean", "enum", "array", "object"])
    if kind == "enum":
        return {"type": "string", "enum": rng.sample(_WORDS, 4)}
    if kind == "array":
        return {"type": "array", "items": {"type": rng.choice(["string", "integer"])}}
    if kind == "object":
        inner = {word: {"type": rng.choice(["string", "integer"])} for word in rng.sample(_WORDS, 2)}
        return {"type": "object", "properties": inner, "required": list(inner), "additionalProperties": False}
    return {"type": kind}


def _value(rng: Random, schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema["type"]
    if kind == "object":
        return {name: _value(rng, inner) for name, inner in schema["properties"].items()}
    if kind == "array":
        return [_value(rng, schema["items"]) for _ in range(rng.randrange(1, 4))]
    sentence = " ".join(rng.choice(_WORDS) for _ in range(rng.randrange(1, 8)))
    return {"string": sentence, "integer": rng.randrange(10_000), "number": rng.random(), "boolean": True}[kind]


def random_turn(rng: Random, tools: Sequence[dict[str, Any]]) -> str:
    """Return a text with two calls."""
    parts = [f"Let me see. {' '.join(rng.choice(_WORDS) for _ in range(20))} < 5. "]
    for _ in range(2):
        tool = rng.choice(tools)
        schema = tool["parameters"]
        chosen = [name for name in schema["properties"] if name in schema["required"] or rng.random() < 0.5]
        arguments = {name: _value(rng, schema["properties"][name]) for name in chosen}
        parts.append(f"<function={tool['name']}>{json.dumps(arguments)}</function>")
    return "".join(parts)


def measure(engine: Engine, tools: Sequence[dict[str, Any]], turns: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the nanoseconds of one round."""
    engine.vocabulary = engine.make_vocabulary()
    text = json.dumps(tools)
    compile_time, compiled = timed(lambda: engine.compile(text))
    fill, _ = engine.walk(compiled)
    first, _ = timed(fill)
    masks = []
    for ids in turns:
        fill, advance = engine.walk(compiled)
        for token_id in ids:
            spent, _ = timed(fill)
            masks.append(spent)
            if not engine.row.view(np.uint32)[token_id >> 5] >> (token_id & 31) & 1:
                raise ValueError(f"{type(engine).__name__} refuses token {token_id} of a valid turn")
            advance(token_id)
    return {"compile": compile_time, "first": first, "masks": masks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--record", action="store_true", help="keep the table in record/")
    arguments = parser.parse_args()
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(arguments.tokenizer))
    tokens, eos = read_tokens(arguments.tokenizer)
    engines: dict[str, Engine] = {}
    versions = {}
    for name, make in (("detent", Detent), ("llguidance", LLGuidance), ("xgrammar", XGrammar)):
        engines[name] = make(arguments.tokenizer, tokens, eos)
        versions[name] = engines[name].version
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in engines}
    for number in range(ROUNDS + 1):  # the first round loads what an engine loads at its first use
        rng = Random(number)
        tools = random_tools(rng)
        turns = [tokenizer.encode(random_turn(rng, tools), add_special_tokens=False).ids for _ in range(TURNS)]
        for name, engine in engines.items():
            found = measure(engine, tools, turns)
            if number:
                results[name].append(found)
    page = report(results, versions, arguments.tokenizer.parent.name)
    print(page)
    if arguments.record:
        (RECORD / f"{date.today()}-tools-{arguments.tokenizer.parent.name}.md").write_text(page, encoding="utf-8")


def report(results: dict[str, list[dict[str, Any]]], versions: dict[str, str], tokenizer: str) -> str:
    """Return the page of a run."""
    lines = [
        f"# {TOOLS} tools with {PARAMETERS} parameters, {tokenizer}, {date.today()}",
        "",
        f"`python -m benchmarks.tools`; {platform.machine()}, Python {platform.python_version()}, one thread, CPU time;"
        f" {ROUNDS} rounds of other tools, {TURNS} turns of two calls each, the same tokens for every engine; medians"
        " of the rounds, masks of all rounds, each state at its first visit or later as it comes.",
        "",
        "| engine | compile | first mask | compile and first mask | mask, median | p99 | worst |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rounds in results.items():
        compiled = np.median([each["compile"] for each in rounds]) / 1e6
        first = np.median([each["first"] for each in rounds]) / 1e6
        both = np.median([each["compile"] + each["first"] for each in rounds]) / 1e6
        masks = np.concatenate([each["masks"] for each in rounds]) / 1e3
        median, p99 = np.percentile(masks, [50, 99])
        lines.append(
            f"| {name} {versions[name]} | {compiled:.0f} ms | {first:.2f} ms | {both:.0f} ms"
            f" | {median:.1f} µs | {p99:.0f} µs | {masks.max():.0f} µs |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
