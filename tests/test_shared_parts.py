"""Languages with a part that many share, compiled from its copy, have the masks of languages compiled whole."""

from __future__ import annotations

import random
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent import _core
from detent.sources.json_schema.emit.json_spelling import json_spelling
from detent.sources.nodes import UTF8
from tests.support.random_schemas import RandomSchemas

ASCII = [bytes([byte]) for byte in range(32, 127)]
WORDS = [b'{"', b'": ', b'", "', b"[{", b"}]", b"true", b"null", b"-1", b"1.5", b'\\"', b"\\u00", b'"}']
PARTS = [b"a\xc3", b"\xa9"]  # of a character
ALL_BYTES = [bytes([byte]) for byte in range(256)]
VOCABULARIES = {
    "all bytes": ALL_BYTES + WORDS + PARTS[:1],
    "ASCII alone": ASCII + WORDS,
    "bytes inside tokens alone": ASCII + WORDS + PARTS,
}
SCHEMAS: list[Any] = [
    True,
    {"type": "object"},
    {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}, "b": {"type": "number"}}},
    {"type": "object", "properties": {"a": True}, "required": ["a"], "additionalProperties": {"type": "integer"}},
    {"type": "array", "items": {"type": "object", "properties": {"x": {"enum": [1, "a"]}}}},
    {"not": {"type": "string"}},
    {"properties": {"a": {"pattern": "^[a-c]+$"}}, "propertyNames": {"minLength": 2}},
    {"oneOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"b": True}, "required": ["b"]}]},
]


def vocabularies(name: str) -> tuple[detent.Vocabulary, detent.Vocabulary]:
    """Return two equal vocabularies; each has a mask cache of its own."""
    tokens = [*VOCABULARIES[name], b""]
    first, second = (detent.Vocabulary(tokens, eos_token_ids=[len(tokens) - 1]) for _ in range(2))
    return first, second


def matcher(node: _core.Node, vocabulary: detent.Vocabulary) -> _core.Matcher:
    node, tables = vocabulary._tables.for_language(node)
    return _core.Matcher(_core.LanguageMachine(node, tables, 100_000, 1 << 26, 10**7, None))


def check_walks(node: _core.Node, name: str, seed: int, walks: int = 4, length: int = 40) -> None:
    copy = _core.node_from_bytes(node.to_bytes())  # none of its nodes is shared
    first, second = vocabularies(name)
    chooser = random.Random(seed)
    for _ in range(walks):
        shared, whole = matcher(node, first), matcher(copy, second)
        for _ in range(length):
            rows = np.zeros((2, (len(first) + 31) // 32), np.int32)
            shared.fill_mask(rows[0])
            whole.fill_mask(rows[1])
            assert (rows[0] == rows[1]).all()
            allowed = np.flatnonzero(np.unpackbits(rows[0].view(np.uint8), bitorder="little"))
            allowed = allowed[allowed < len(first) - 1]
            if not len(allowed):
                break
            token = int(chooser.choice(allowed))
            shared.advance(token)
            whole.advance(token)


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("index", range(len(SCHEMAS)))
@pytest.mark.parametrize("options", [{}, {"order": "any"}, {"spelling": "any"}], ids=str)
def test_masks_are_those_of_a_language_that_is_compiled_whole(name: str, index: int, options: dict[str, Any]) -> None:
    check_walks(detent.json_schema(SCHEMAS[index], **options)._node, name, index)


@pytest.mark.filterwarnings("ignore::detent.SchemaWarning")
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["all bytes", "ASCII alone"]))
def test_masks_of_random_schemas(seed: int, name: str) -> None:
    try:
        node = detent.json_schema(RandomSchemas(seed).schema())._node
        matcher(node, vocabularies(name)[0])
    except detent.DetentError:
        return
    check_walks(node, name, seed, walks=1)


def test_a_shared_part_below_a_complement_and_inside_rules() -> None:
    anything = json_spelling("written", None).anything
    digits = _core.repeat(_core.byte_set(b"0123456789"), 1, None)
    nested = _core.grammar(
        [_core.union([_core.concat([_core.literal(b"<"), _core.reference(0), _core.literal(b">")]), anything])], 0
    )
    for node in (
        anything,
        nested,
        _core.complement(anything),
        _core.intersection([_core.concat([digits, anything]), _core.complement(_core.literal(b"1{}"))]),
    ):
        for name in VOCABULARIES:
            check_walks(node, name, 7)


def test_more_shared_nodes_than_are_kept() -> None:
    quoted = [
        _core.concat([_core.literal(b'"%d' % number), _core.json_string(_core.literal(b"a")), _core.literal(b'"')])
        for number in range(40)
    ]
    for node in quoted:
        _core.share(node)
    for node in quoted:
        check_walks(_core.concat([_core.literal(b"["), node, _core.literal(b"]")]), "ASCII alone", 1, walks=1)


def test_each_alphabet_has_its_own_copy() -> None:
    for names in (("ASCII alone", "all bytes"), ("all bytes", "ASCII alone")):
        string = _core.concat([_core.literal(b'"'), _core.json_string(UTF8), _core.literal(b'"')])
        _core.share(string)
        for name in names:
            check_walks(_core.concat([_core.literal(b"["), string, _core.literal(b"]")]), name, 3)


def test_a_shared_part_is_compiled_once() -> None:
    """An array of any JSON value takes a quarter of the time of its copy, whose nodes are not the shared ones."""
    anything = json_spelling("written", None).anything
    _core.share(anything)  # again: other tests share many nodes
    node = _core.concat([_core.literal(b"["), anything, _core.literal(b"]")])
    copy = _core.node_from_bytes(node.to_bytes())

    def seconds(one: _core.Node) -> float:
        start = process_time()
        _core.Automaton(one, 100_000, 1 << 26, 10**7)
        return process_time() - start

    seconds(node)  # compiles the part
    assert min(seconds(node) for _ in range(20)) < 0.6 * min(seconds(copy) for _ in range(20))
