"""The core takes hostile numbers in every binding: it raises, and neither crashes nor reads what is not its own.

Every function and method of the stub `_core.pyi` is called with good arguments, of which one or two are then replaced.
"""

from __future__ import annotations

import ast
import random
import struct
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import detent
from detent import _core
from detent.sources.json_schema.emit import plain_text
from detent.sources.json_schema.emit.json_spelling import json_spelling

EXPECTED = (detent.DetentError, TypeError, ValueError, IndexError, OverflowError, BufferError, MemoryError)
INTEGERS = [-(2**63), -1, 0, 1, 2, 3, 255, 256, 10**6, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**63, 2**64]
BYTES = [b"", b"\x00", b"abc", b"\xff" * 4, b"\xff" * 8, b"\x00" * 16, struct.pack("<4I", 7, 0, 2**32 - 1, 1), b"a\xc3"]


def readonly(values: Any, dtype: Any = np.int32) -> Any:
    array = np.ascontiguousarray(np.array(values, dtype))
    array.setflags(write=False)
    return array


ARRAYS = [
    np.zeros(0, np.int32), np.zeros(1, np.int32), readonly([0]), readonly([7] * 8), readonly([-1] * 8),
    np.zeros((2, 2), np.int32), np.zeros(1, np.float32), np.zeros(7, np.float32), np.zeros(3, np.int64),
    np.zeros(64, np.float32)[::2], np.zeros((4, 4), np.float32).T, np.zeros(5, np.uint8)[1:], None, "text", 7,
    np.broadcast_to(np.zeros(1, np.float32), (3, 9)), np.zeros((2, 3, 4), np.int32), memoryview(b"abcd"),
]  # fmt: skip


def nodes() -> list[_core.Node]:
    a = _core.literal(b"a")
    return [a, _core.empty(), _core.epsilon(), _core.repeat(a, 0, None), _core.reference(3), _core.special(b"<s>")]


TOKENS = [b"a", b"b", b"ab", b"", b"x"]


@cache
def vocabulary() -> _core.Vocabulary:
    return _core.Vocabulary(TOKENS, [3], [3], len(TOKENS))


@cache
def encoder() -> _core.Encoder:
    return _core.Encoder(**ENCODER)


ENCODER: dict[str, Any] = {
    "pieces": False, "texts": TOKENS, "base_symbols": struct.pack("<6I", 97, 0, 98, 1, 120, 4), "byte_tokens": b"",
    "merges": struct.pack("<4I", 0, 1, 0, 2), "ignore_merges": False, "class_ranges": [(0, 0)], "class_count": 1,
    "unknown_score": 0.0,
    "pretokenizer": [(1, 1, 1, 0), (0, 0, 0, 0)], "single_pretoken": False, "scores": b"", "split_at_spaces": False,
}  # fmt: skip
DFA: dict[str, Any] = {
    "next": readonly([[0, 0, 0], [0, 0, 1], [0, 2, 1]]), "token_class": readonly([1, 0, 0, 2, 0]),
    "masks": readonly([[0], [8], [9]]), "mask_index": readonly([0, 1, 2]), "distance": readonly([2**31 - 1, -1, 0]),
}  # fmt: skip
LANGUAGE = _core.union([_core.repeat(_core.literal(b"a"), 0, None), _core.literal(b"ab")])


def machine() -> _core.LanguageMachine:
    return _core.LanguageMachine(LANGUAGE, vocabulary(), 1000, 1 << 20, 10**6)


#: Good objects by the class that a method belongs to, and good arguments by the name of a parameter.
OBJECTS: dict[str, Callable[[], Any]] = {
    "Node": lambda: LANGUAGE,
    "CancelFlag": _core.CancelFlag,
    "Vocabulary": vocabulary,
    "Encoder": encoder,
    "Automaton": lambda: _core.Automaton(LANGUAGE, 1000, 1 << 20, 10**6),
    "LanguageSet": lambda: _core.LanguageSet([LANGUAGE], 1000, 1 << 20, 10**6),
    "TokenMachine": machine,
    "LanguageMachine": machine,
    "Matcher": lambda: _core.Matcher(machine(), 3),
    "TokenDfa": lambda: _core.TokenDfa(**DFA),
    "MaskSlots": lambda: _core.MaskSlots(np.zeros((9, 1), np.int32), 9, 1),
    "PlainSchemas": lambda: plain_text._core_reader(json_spelling("written", None), True),
    "PlainReader": lambda: plain_text.open_text('{"type": "null"}', json_spelling("written", None), is_ordered=True),
}
ARGUMENTS: dict[str, Callable[[], Any]] = {
    **{name: partial(ENCODER.get, name) for name in ENCODER},
    **{name: partial(DFA.get, name) for name in DFA},
    "arg": lambda: LANGUAGE, "text": lambda: b"ab", "values": lambda: b"ab", "ranges": lambda: [(0, 0)],
    "parts": lambda: [LANGUAGE, LANGUAGE],
    "part": lambda: LANGUAGE, "minimum": lambda: 1, "maximum": lambda: 2, "body": lambda: LANGUAGE,
    "serialized": lambda: False, "data": lambda: b"ab", "pool": lambda: b"".join(TOKENS),
    "ends": lambda: np.cumsum([len(token) for token in TOKENS], dtype=np.int32),
    "trie": lambda: vocabulary().save_trie(),
    "negative": lambda: False, "index": lambda: 0, "definitions": lambda: [LANGUAGE, _core.epsilon()],
    "start": lambda: 0, "texts": lambda: TOKENS, "items": lambda: [(_core.literal(b"a"), True)],
    "members": lambda: [(_core.literal(b"a"), True)], "others": lambda: None, "separator": lambda: _core.literal(b","),
    "some": lambda: False, "within": lambda: None, "name": lambda: b"<s>", "otherwise": lambda: None,
    "nodes": lambda: [LANGUAGE], "origins": lambda: [0],
    "node": lambda: LANGUAGE, "names": lambda: [b"<s>"], "tokens": lambda: TOKENS, "special": lambda: [3],
    "eos_ids": lambda: [3], "size": lambda: 5, "cache_bytes": lambda: 1000, "token": lambda: 0, "left": lambda: 0,
    "right": lambda: 1, "among": lambda: [0, 1], "vocabulary": vocabulary, "encoder": encoder,
    "language": lambda: LANGUAGE,
    "states": lambda: 1000, "memory_bytes": lambda: 1 << 20, "steps": lambda: 10**6, "state": lambda: 0,
    "prompt_tokens": lambda: [0], "max_states": lambda: 9, "max_bytes": lambda: 9999, "dfa": OBJECTS["TokenDfa"],
    "dfa_start": lambda: 2, "cancel": lambda: None, "labels": lambda: struct.pack("<3I", 0, 1, 2),
    "classes": lambda: 3, "machine": machine, "max_tokens": lambda: 3, "other": OBJECTS["Matcher"],
    "row": lambda: np.zeros(1, np.int32), "token_id": lambda: 0, "token_ids": lambda: np.zeros(0, np.int64),
    "ids": lambda: np.zeros(2, np.int64), "matchers": lambda: [_core.Matcher(machine()) for _ in range(2)],
    "rows": lambda: np.zeros((2, 1), np.int32), "threads": lambda: 2, "logits": lambda: np.zeros((2, 5), np.float32),
    "type": lambda: 0, "mask": lambda: np.zeros(1, np.int32), "most": lambda: 5, "max_schemas": lambda: 5,
    "numbers": lambda: np.zeros(5, np.float32), "to": lambda: np.zeros(5, np.float32),
    "json": lambda: b'{"model": {"merges": []}}', "count": lambda: 2, "words": lambda: 1, "wait": lambda: 0.01,
    "part_tokens": lambda: 3,
    "key": lambda: LANGUAGE, "rest": lambda: LANGUAGE, "unmerged": lambda: "", "whole": machine,
    "parents": lambda: np.array([-1, 0]), "allowed": lambda: np.zeros(2, np.uint8),
    "transitions": lambda: _core.PretokenTransitions(vocabulary(), encoder()),
    "kinds": lambda: [(None, _core.literal(b"a")), (_core.literal(b'"a"'), _core.literal(b":0"))],
    "order": lambda: _core.repeat(_core.byte_set(b"\0\1"), 0, None), "escape": lambda: b" ",
    "written": lambda: True, "ordered": lambda: True, "formats": lambda: ["date"],
    "dialects": lambda: [("", "https://json-schema.org/draft/2020-12/schema", 2020)],
    "constrained": lambda: lambda text, uri: None, "closed": lambda: lambda text, uri: None,
    "intended": lambda: lambda name: "",
}  # fmt: skip
#: Where one name stands for two kinds of arguments.
SPECIAL: dict[tuple[str, str], Callable[[], Any]] = {
    ("json_string", "texts"): lambda: LANGUAGE, ("grammar", "start"): lambda: 0,
    ("TokenDfaMachine", "start"): lambda: 2,
    ("merge_states", "next"): lambda: DFA["next"].tobytes(), ("completes_within", "tokens"): lambda: 3,
    ("equal_ids", "others"): lambda: np.zeros(2, np.int64), ("copy_masked", "logits"): lambda: np.zeros(5, np.float32),
    ("chars", "ranges"): lambda: [(97, 99)], ("rollback", "steps"): lambda: 0,
    ("shortest_completion", "state"): lambda: OBJECTS["Automaton"]().start,
    ("PlainSchemas", "parts"): lambda: plain_text.parts_of(json_spelling("written", None)),
    ("PlainSchemas", "names"): lambda: [["title"], ["$id"], ["maxLength"], ["not"]],
    ("schema_at", "pointer"): lambda: "/a/0",
    ("open", "text"): lambda: '{"type": "object", "properties": {"a": {"type": "string", "maxLength": 2}}}',
    ("node_from_bytes", "text"): LANGUAGE.to_bytes, ("fill", "index"): lambda: np.zeros(2, np.int32),
    ("distinct", "names"): lambda: False, ("read_merges", "ids"): lambda: {"a": 0, "b": 1, "ab": 2},
    ("read_merges", "json"): lambda: b'["a b"]', ("some_completion", "state"): lambda: OBJECTS["Automaton"]().start,
    ("PartBudgetMachine", "tokens"): lambda: 3, ("_count_allowed", "tokens"): lambda: np.zeros(2, np.int64),
    ("_fill_draft_tree", "tokens"): lambda: np.zeros(2, np.int64),
    ("_fill_draft_tree", "rows"): lambda: np.zeros((3, 1), np.int32),
    ("_fill_draft_tree", "index"): lambda: np.zeros(3, np.int32),
    ("completion_step", "state"): lambda: OBJECTS["Automaton"]().start,
    ("least_length", "state"): lambda: OBJECTS["Automaton"]().start,
}  # fmt: skip


def hostile(annotation: str, rng: random.Random) -> Any:
    """Return a value that fits the type, or nearly, but not the object."""
    if annotation.startswith("Sequence[tuple[int"):
        width = annotation.count("int")
        return [tuple(rng.choice(INTEGERS) for _ in range(width)) for _ in range(rng.randrange(4))]
    if annotation.startswith("Sequence[int"):
        return [rng.choice(INTEGERS) for _ in range(rng.randrange(4))]
    if annotation.startswith("Sequence[Node"):
        return rng.choices(nodes(), k=rng.randrange(4))
    if annotation.startswith("Sequence[tuple[Node | None"):
        return [(rng.choice([None, *nodes()]), node) for node in rng.choices(nodes(), k=rng.randrange(4))]
    if annotation.startswith("Sequence[tuple[Node"):
        return [(node, rng.random() < 0.5) for node in rng.choices(nodes(), k=rng.randrange(4))]
    if annotation.startswith("list") or annotation == "Sequence[bytes]":
        return [rng.choice(BYTES) for _ in range(rng.randrange(9))]
    if annotation.startswith(("int", "SupportsIndex")):
        return rng.choice(INTEGERS)
    if annotation.startswith("bytes"):
        return rng.choice(BYTES)
    if annotation == "object":
        return rng.choice(ARRAYS)
    if annotation.startswith("Node"):
        return rng.choice(nodes())
    if annotation == "bool":
        return rng.random() < 0.5
    if annotation.startswith("float"):
        return rng.choice([0.0, -1e308, float("nan"), float("inf")])
    if annotation == "Vocabulary":
        return _core.Vocabulary([b"a"] * rng.randrange(1, 99), [], [], 99)
    return None


STUB = Path(detent.__file__).with_name("_core.pyi")


def bindings() -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield class (or ""), name and parameters of everything in the stub that can be called."""
    for item in ast.parse(STUB.read_text(encoding="utf-8")).body:
        functions = item.body if isinstance(item, ast.ClassDef) else [item]
        for function in functions:
            if isinstance(function, ast.FunctionDef):
                owner = item.name if isinstance(item, ast.ClassDef) else ""
                is_static = any(ast.unparse(each) == "staticmethod" for each in function.decorator_list)
                given = [*function.args.posonlyargs, *function.args.args][bool(owner) and not is_static :]
                yield owner, function.name, [(each.arg, ast.unparse(each.annotation or ast.Name(""))) for each in given]


ALL = [binding for binding in bindings() if binding[1] not in ("__hash__", "__eq__")]


def use(found: object) -> None:
    """Use an object that hostile arguments have made."""
    if isinstance(found, _core.TokenMachine):
        found = _core.Matcher(found)
    if isinstance(found, _core.Encoder):
        for token in (0, 1, 4, 2**32 - 1):
            found.may_follow(token, 0), found.followers(token), found.is_reachable(token), found.is_non_monotone(token)
        found.encode(b"abxab ")
    if isinstance(found, _core.Vocabulary):
        found = _core.Matcher(_core.LanguageMachine(LANGUAGE, found, 1000, 1 << 20, 10**6))
    if isinstance(found, _core.Matcher):
        found.forced(), found.completion(), found._diagnose(b"ab")
    if isinstance(found, _core.Node):
        _core.Automaton(found, 100, 1 << 18, 10**4).row(0)


@pytest.mark.parametrize(("owner", "name", "parameters"), ALL, ids=[f"{each[0]}.{each[1]}" for each in ALL])
def test_hostile_arguments(owner: str, name: str, parameters: list[tuple[str, str]]) -> None:
    rng = random.Random(f"{owner}.{name}.3")
    for attempt in range(1 if not parameters else 100):
        makes = name == "__init__"
        target = getattr(_core, owner) if makes else getattr(OBJECTS[owner]() if owner else _core, name)
        given = {
            parameter: (SPECIAL.get((owner if makes else name, parameter)) or ARGUMENTS[parameter])()
            for parameter, _ in parameters
        }
        if attempt:
            for parameter, annotation in rng.sample(parameters, min(len(parameters), rng.choice((1, 1, 2)))):
                given[parameter] = hostile(annotation, rng)
        if not callable(target):  # a property
            continue
        if attempt == 0:
            target(*given.values())  # the good call is good
            continue
        try:
            use(target(*given.values()))
        except EXPECTED:
            continue


def test_states_that_an_automaton_has_not_returned() -> None:
    automaton = _core.Automaton(LANGUAGE, 1000, 1 << 20, 10**6)
    for call in (automaton.row, automaton.accepting, automaton.shortest_completion):
        with pytest.raises(detent.ArgumentError, match="state 1000000 is none that the automaton has returned"):
            call(10**6)
    with pytest.raises(detent.EmptyLanguageError):
        automaton.shortest_completion(0)


def test_arrays_of_a_table_that_can_be_written_to() -> None:
    with pytest.raises(TypeError, match="cannot be written to"):
        _core.TokenDfa(**{**DFA, "next": DFA["next"].copy()})
