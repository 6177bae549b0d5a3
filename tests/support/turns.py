"""Turns for tests: random turns, their texts, and what the events of a text say together."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import tokenizers

import detent
from detent.turns import (
    AnswerDelta,
    AnswerFinished,
    ArgumentsDelta,
    CallFinished,
    CallId,
    CallStarted,
    Style,
    TextDelta,
    ThinkingDelta,
    Turn,
    TurnFinished,
)

TOOLS = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer", "minimum": 1},
                "units": {"enum": ["C", "F"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "detail": {"type": "object", "properties": {"wind": {"type": "boolean"}}, "required": ["wind"]},
            },
            "required": ["city"],
        },
    },
    {
        "name": "get_weather_map",
        "parameters": {"type": "object", "properties": {"zoom": {"type": "number"}}, "required": ["zoom"]},
    },
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]
"""Tools of which one name begins another, and one takes no arguments."""

WORDS = ["</", "think", "tool", "_call", "name", "get", "é", "Oslo", '": ', '", "', "parameter", "<|", "😀"]


@cache
def vocabulary_of(style: Style, with_special: bool) -> detent.Vocabulary:
    """Return a vocabulary with all bytes, some words, and the tags of a style as special tokens or not at all."""
    tokens = [bytes([byte]) for byte in range(256)] + [word.encode() for word in WORDS]
    ends = [tag for tag in (style.end_of_calls, style.end_of_text) if tag]
    special = list(dict.fromkeys([*style.tags, *ends])) if with_special else []
    ids = range(len(tokens), len(tokens) + len(special) + 1)
    tokens += [*(tag.encode() for tag in special), b"<end>"]
    eos = [token_id for token_id in ids if tokens[token_id].decode() in (*ends, "<end>")]
    return detent.Vocabulary(tokens, eos_token_ids=eos, special_token_ids=ids)


@cache
def tokenizer_of(style: Style) -> tuple[tokenizers.Tokenizer, detent.Vocabulary]:
    """Return the embedded model's tokenizer with the tags of a style as special tokens, and its vocabulary."""
    data = json.loads((files("detent.models") / "weights" / "tokenizer.json").read_text(encoding="utf-8"))
    ids = {token["content"]: token["id"] for token in data["added_tokens"]}
    ends = [tag for tag in (style.end_of_calls, style.end_of_text) if tag]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    for tag in dict.fromkeys((*style.tags, *ends)):
        if tag not in ids:
            ids[tag] = max(*ids.values(), *data["model"]["vocab"].values()) + 1
            data["added_tokens"].append({"id": ids[tag], "content": tag, **flags})
    path = Path(_FOLDER.name) / f"{style.name}.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    eos = {ids[tag] for tag in ends} or {ids["<|end|>"]}
    return tokenizers.Tokenizer.from_file(str(path)), detent.Vocabulary.from_file(path, eos_token_ids=sorted(eos))


_FOLDER = TemporaryDirectory()  # the files are read again when the first canonical guide is compiled


_PIECES = "a,é,😀, ,\n,<,</,<t,{,[,\",',>,think,tool_call,},]].,Well. ,日本,|,=,<|,channel".split(",")


def random_text(rng: Random, most: int = 8) -> str:
    """Return a text with many beginnings of tags in it."""
    return "".join(rng.choice(_PIECES) for _ in range(rng.randrange(most)))


def random_arguments(rng: Random, name: str) -> dict[str, Any]:
    if name == "get_weather":
        arguments: dict[str, Any] = {"city": random_text(rng)}
        if rng.random() < 0.5:
            arguments["days"] = rng.randrange(1, 400)
        if rng.random() < 0.5:
            arguments["units"] = rng.choice("CF")
        if rng.random() < 0.5:
            arguments["tags"] = [random_text(rng, 4) for _ in range(rng.randrange(3))]
        if rng.random() < 0.5:
            arguments["detail"] = {"wind": rng.random() < 0.5}
        return arguments
    return {"zoom": rng.choice([1, 2.5, -0.25])} if name == "get_weather_map" else {}


def random_turn(rng: Random, style: Style, *, thinks: bool | None = None) -> Turn:
    """Return a turn that the style can write."""
    if thinks is None:
        thinks = style.thinking is not None and rng.random() < 0.6
    names = [tool["name"] for tool in TOOLS]
    called = rng.choices(names, k=rng.choice([0, 0, 1, 1, 2, 3]))[: None if style.parallel else 1]
    calls = [detent.Call(name, random_arguments(rng, name)) for name in called]
    text: str | None = None
    if not calls or style.preamble is not None:
        text = _plain(random_text(rng, 12), style, None if calls else TOOLS) or None
    thinking = _plain(random_text(rng, 12), style, None) or "Hm" if thinks else None
    return Turn(thinking, text, tuple(calls))


def _plain(text: str, style: Style, tools: Any) -> str:
    """Return a text without tags, and without white space at its ends, which belongs to the tags."""
    for tag in style.tags:
        text = text.replace(tag, "")
    text = text.strip()
    if tools and not style.trigger:
        text = text.lstrip("[{<`\n ")  # calls without a tag begin with one of these
    return text


def marked(style: Style) -> tuple[Style, dict[str, str]]:
    """Return a style whose tags are single characters that no other text has, and the tag of each character."""
    characters = {tag: chr(0xE000 + number) for number, tag in enumerate(sorted(style.tags, key=len, reverse=True))}
    pattern = re.compile("|".join(map(re.escape, characters)) or r"(?!)")

    def mark(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(mark, value))
        return pattern.sub(lambda tag: characters[tag[0]], value) if isinstance(value, str) else value

    templates = "call call_variants parameter quote separator before_calls after_calls thinking text preamble".split()
    changed = {field: mark(getattr(style, field)) for field in templates}
    written = replace(style, **changed, tags=(), name=f"{style.name} marked")
    return written, {character: tag for tag, character in characters.items()}


def tokens_of(rng: Random, text: str, tag_of: dict[str, str], vocabulary: detent.Vocabulary) -> list[int]:
    """Return a random tokenization of a text of a `marked` style: tags are special tokens where there are any."""
    ids: list[int] = []
    special = {vocabulary.token_bytes(token_id): token_id for token_id in vocabulary.special_token_ids}
    longer = _longer_tokens(vocabulary)
    pieces = re.split(f"([{''.join(tag_of)}])", text) if tag_of else [text]
    for piece in pieces:
        data = tag_of.get(piece, piece).encode()
        if piece in tag_of and data in special:
            ids.append(special[data])
            continue
        at = 0
        while at < len(data):
            fitting = [token for token in longer.get(data[at], ()) if data.startswith(token[0], at)]
            taken, token_id = rng.choice(fitting) if fitting and rng.random() < 0.7 else (data[at : at + 1], data[at])
            ids.append(token_id)
            at += len(taken)
    return ids


@cache
def _longer_tokens(vocabulary: detent.Vocabulary) -> dict[int, list[tuple[bytes, int]]]:
    """Return the text tokens of more than one byte by their first byte; the first 256 ids are the bytes."""
    found: dict[int, list[tuple[bytes, int]]] = {}
    for token_id in set(range(len(vocabulary))) - set(vocabulary.special_token_ids):
        data = vocabulary.token_bytes(token_id)
        if len(data) > 1:
            found.setdefault(data[0], []).append((data, token_id))
    return found


def render(rng: Random, style: Style, turn: Turn) -> str:
    """Write a turn by replacing the slots of the templates: the plainest renderer."""
    parts = []
    if turn.thinking is not None:
        assert style.thinking is not None
        parts += [style.thinking[0], turn.thinking, style.thinking[1]]
    if not turn.calls:
        return "".join([*parts, style.text[0], turn.text or "", style.text[1]])
    if turn.text is not None:
        assert style.preamble is not None
        parts += [style.preamble[0], turn.text, style.preamble[1]]
    written = []
    for index, call in enumerate(turn.calls):
        arguments = write_arguments(rng, style, call)
        text = optional(rng, rng.choice((style.call, *style.call_variants)))
        text = text.replace("{name}", call.name).replace("{index}", str(index)).replace("{id}", "abc123XYZ")
        written.append(text.replace("{arguments}", arguments))
    between = [optional(rng, style.separator) for _ in written[1:]]
    calls = "".join(text for pair in zip(written, [*between, ""], strict=True) for text in pair)
    return "".join([*parts, optional(rng, style.before_calls), calls, optional(rng, style.after_calls)])


def optional(rng: Random, template: str) -> str:
    """Write or leave out each optional part of a template."""
    return re.sub(r"\{\?(.*?)\?\}", lambda part: part[1] if rng.random() < 0.5 else "", template, flags=re.DOTALL)


def write_arguments(rng: Random, style: Style, call: Any) -> str:
    if style.arguments == "json":
        return json.dumps(call.arguments, ensure_ascii=rng.random() < 0.3)
    if style.arguments in ("python", "keywords"):
        words = rng.random() < 0.5 and style.arguments == "keywords"
        return f"({', '.join(f'{name}={_literal(value, words)}' for name, value in call.arguments.items())})"
    if style.arguments == "bare":
        return _bare(call.arguments, style.quote)
    pieces = []
    for key, value in call.arguments.items():
        raw = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        pieces.append(style.parameter.replace("{key}", key).replace("{value}", raw))
        pieces[-1] = pieces[-1].replace("{is_string}", str(isinstance(value, str)).lower(), 1)
    return "".join(pieces)


def _literal(value: Any, with_json_words: bool) -> str:
    """Write a Python literal, whose words are those of JSON if asked."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_literal(one, with_json_words)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_literal(one, with_json_words) for one in value) + "]"
    return json.dumps(value) if with_json_words and value in (True, False, None) else repr(value)


def _bare(value: Any, quote: str) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_bare(value[key], quote)}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_bare(item, quote) for item in value) + "]"
    return f"{quote}{value}{quote}" if isinstance(value, str) else json.dumps(value)


def chunks(rng: Random, data: Any) -> list[Any]:
    """Cut bytes or token ids at random positions; sometimes into single ones."""
    if rng.random() < 0.1:
        return [data[i : i + 1] for i in range(len(data))]
    count = rng.choice([0, 1, 2, 4, 8, 16])
    cuts = sorted({0, len(data), *(rng.randrange(len(data) + 1) for _ in range(count))})
    return [data[a:b] for a, b in pairwise(cuts)]


def collect(events: list[Any]) -> tuple[Turn, TurnFinished | None]:
    """Return the turn that events say together, and check their order and their partial values."""
    thinking = ""
    text, fragments, answer_text = "", "", ""
    calls: list[Any] = []
    ids: dict[int, str] = {}
    name: str | None = None
    answer: Any = None
    last: TurnFinished | None = None
    for event in events:
        assert last is None, "an event after the last"
        if isinstance(event, ThinkingDelta):
            assert event.text and not text and not calls
            thinking += event.text
        elif isinstance(event, TextDelta):
            assert event.text
            text += event.text
        elif isinstance(event, CallStarted):
            assert event.index == len(calls) and name is None
            name, fragments = event.name, ""
        elif isinstance(event, ArgumentsDelta):
            assert event.index == len(calls) and name is not None and event.text
            fragments += event.text
            partial = event.value
        elif isinstance(event, CallFinished):
            assert event.index == len(calls) and event.call.name == name
            if fragments:
                assert partial is None or set(partial) <= set(event.call.arguments)
            calls.append(event.call)
            name = None
        elif isinstance(event, CallId):
            assert event.index == len(calls) or (name is None and event.index == len(calls) - 1)
            ids[event.index] = event.id
        elif isinstance(event, AnswerDelta):
            assert event.text
            answer_text += event.text
        elif isinstance(event, AnswerFinished):
            answer = event.value
        else:
            assert isinstance(event, TurnFinished)
            last = event
    if last is not None:
        written = {index: call.id for index, call in enumerate(last.turn.calls) if getattr(call, "id", None)}
        assert written == {index: ids[index] for index in ids if index < len(last.turn.calls)}
    return Turn(thinking or None, text or None, tuple(calls), answer), last
