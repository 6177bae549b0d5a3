"""Languages as bytes: what comes back, and that damaged or hostile bytes are refused as such."""

from __future__ import annotations

import copy
import copyreg
import io
import pickle
import pickletools
import subprocess
import sys
from datetime import date
from random import Random

import pytest
from hypothesis import given, settings

import detent
from detent import _core
from detent.language import Language
from detent.testing import laws
from tests.support.reference import Tree, all_trees, language, trees
from tests.support.small_stack import in_a_small_stack

EVERYTHING = _core.repeat(_core.byte_set(bytes(range(256))), 0, None)
NODES = {
    "empty": _core.empty(),
    "epsilon": _core.epsilon(),
    "set": _core.byte_set(b"\x00a\x7f\x80\xff"),
    "literal": _core.literal(b"\x00abc\xff"),
    "long literal": _core.literal(b"ab" * 300),
    "characters": _core.chars([(0x61, 0x7A), (0xE9, 0x10FFFF)]),
    "concat": _core.concat([_core.literal(b"a"), _core.byte_set(b"xy"), _core.epsilon()]),
    "union": _core.union([_core.literal(b"a"), _core.empty()]),
    "intersection": _core.intersection([EVERYTHING, _core.literal(b"a")]),
    "complement": _core.complement(_core.literal(b"a")),
    "repeat": _core.repeat(_core.literal(b"a"), 300, 2**32 - 2),
    "open repeat": _core.repeat(_core.literal(b"a"), 0, None),
    "assertions": detent.regex(r"\b(?=a)\w+(?<!b)$")._node,
    "mixed": (detent.regex("(a|bc)*d") - detent.regex(".*bcbc.*") | "é").repeat(1, 3)._node,
}


# --- What comes back


@pytest.mark.parametrize("name", NODES)
def test_a_node_and_back(name: str) -> None:
    node = NODES[name]
    data = node.to_bytes()
    assert isinstance(data, bytes)
    back = _core.node_from_bytes(data)
    assert back == node
    assert hash(back) == hash(node)
    assert back.depth == node.depth
    assert back.to_bytes() == data


@settings(max_examples=150)
@given(trees(8))
def test_any_language_and_back(tree: Tree) -> None:
    held = language(tree)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(held, protocol))
        assert back._node == held._node
        assert back.description == held.description
    laws.same("pickle", back, held)


def test_every_small_tree_and_back() -> None:
    for size in (1, 2, 3, 4):
        for tree in all_trees(size):
            node = language(tree)._node
            assert _core.node_from_bytes(node.to_bytes()) == node


def test_what_is_shared_stays_shared() -> None:
    """A graph of 200 nodes that stands for a tree of 2**100."""
    made = detent.regex("[ab]")
    for _ in range(100):
        made = made + made
    data = pickle.dumps(made)
    assert len(data) < 3000
    assert pickle.loads(data)._node == made._node


def test_equal_nodes_have_equal_bytes_whatever_they_share() -> None:
    def make() -> _core.Node:
        return _core.repeat(_core.union([_core.literal(b"ab"), _core.literal(b"cd")]), 0, None)

    part = make()
    shared, separate = (
        _core.concat([left, _core.literal(b"x"), right]) for left, right in ((part, part), (make(), make()))
    )
    assert shared == separate
    assert shared.to_bytes() == separate.to_bytes()
    assert _core.node_from_bytes(shared.to_bytes()) == shared


def test_values_come_along() -> None:
    day = Language(detent.regex("[0-9-]{10}")._node, "date", date.fromisoformat)
    back = pickle.loads(pickle.dumps(day))
    assert back.parse("2026-11-21") == date(2026, 11, 21)
    either = pickle.loads(pickle.dumps(day | "never"))
    assert either.parse("never") == "never"
    assert either.parse("2026-11-21") == date(2026, 11, 21)
    assert pickle.loads(pickle.dumps(day.optional())).parse("") is None


def test_a_function_without_a_name_cannot_be_sent() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(Language(_core.epsilon(), "odd", lambda text: text))


def test_questions_that_were_asked_are_not_sent() -> None:
    held = detent.regex("(a|b)*abb")
    before = pickle.dumps(held)
    held.count(100)
    assert pickle.dumps(held) == before


def test_another_process_reads_the_same_language() -> None:
    """Hashes are seeded anew in each process; what is sent must not hold any."""
    held = detent.regex("(ab|c){2,}") - "cc"
    program = (
        "import pickle, sys; held = pickle.loads(sys.stdin.buffer.read());"
        "sys.stdout.buffer.write(pickle.dumps(held) + repr([hash(held) == hash(held | held), held.count(5)]).encode())"
    )
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(held), capture_output=True, check=True)
    assert done.stdout == pickle.dumps(held) + repr([True, held.count(5)]).encode()


def test_a_pickle_names_the_restoring_function_and_how_the_language_was_made() -> None:
    names = [
        argument
        for operation, argument, _ in pickletools.genops(pickle.dumps(detent.regex("a+"), 2))
        if operation.name == "GLOBAL"
    ]
    made = ["detent.origin Origin", "detent.origin Quotes", "detent.sources.regex.locations RegexSource"]
    # An enum is sent by its class, or by `getattr` of its class: that depends on Python and on the packages imported.
    assert [name for name in names if name != "__builtin__ getattr"] == [
        "detent.language _restore",
        "_codecs encode",
        *made,
    ]


# --- Damage


@pytest.mark.parametrize("name", NODES)
def test_every_flipped_byte_is_found(name: str) -> None:
    data = NODES[name].to_bytes()
    rng = Random(1)
    locations = range(len(data)) if len(data) < 400 else rng.sample(range(len(data)), 400)
    for location in locations:
        for change in {1, 0x80, 0xFF, rng.randrange(1, 256)}:
            damaged = bytearray(data)
            damaged[location] ^= change
            _refused(bytes(damaged))


@pytest.mark.parametrize("name", NODES)
def test_every_cut_is_found(name: str) -> None:
    data = NODES[name].to_bytes()
    for length in range(min(len(data), 400)):
        _refused(data[:length])
        _refused(data[length + 1 :])
    _refused(data + b"\0")
    _refused(data + data)
    _refused(b"\0" + data)


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"detent node 3\n", b"detent node 4\n" + bytes(20), bytes(1000), b"\xff" * 64]
)
def test_other_bytes_are_refused(data: bytes) -> None:
    _refused(data)


def _refused(data: bytes) -> None:
    with pytest.raises(detent.ArgumentError, match="not the bytes of a language, or damaged ones, at byte"):
        _core.node_from_bytes(data)


def test_a_damaged_pickle_is_an_argument_error() -> None:
    data = pickle.dumps(detent.regex("abc+"))
    inside = detent.regex("abc+")._node.to_bytes()
    damaged = data.replace(inside, inside[:-9] + bytes([inside[-9] ^ 1]) + inside[-8:])
    assert damaged != data
    with pytest.raises(detent.ArgumentError, match="damaged"):
        pickle.loads(damaged)


# --- Bytes with a right checksum that no node has written

_MAGIC = b"detent node 3\n"
_EMPTY, _EPSILON, _BYTES, _LITERAL, _CONCAT, _UNION, _INTERSECTION, _COMPLEMENT, _REPEAT, _AHEAD, _BEHIND, _SCOPE = (
    range(12)
)
_REFERENCE, _GRAMMAR, _JSON_STRING, _UNORDERED, _ORDERED, _GREEDY, _UNLESS = range(12, 19)


def _number(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _signed(body: bytes) -> bytes:
    """Add the header and the checksum (FNV-1a)."""
    total = 0xCBF29CE484222325
    for byte in _MAGIC + body:
        total = (total ^ byte) * 0x100000001B3 % 2**64
    return _MAGIC + body + total.to_bytes(8, "little")


def _nodes(*nodes: bytes) -> bytes:
    return _signed(_number(len(nodes)) + b"".join(nodes))


_A = bytes([_LITERAL, 1]) + b"a" + bytes([0])


def test_the_format_is_the_one_that_these_tests_write() -> None:
    assert _nodes(_A) == _core.literal(b"a").to_bytes()
    assert _nodes(_A, bytes([_COMPLEMENT, 1, 0])) == _core.complement(_core.literal(b"a")).to_bytes()


_HOSTILE = {
    "no node": _signed(_number(0)),
    "a count without nodes": _signed(_number(3)),
    "a huge count": _signed(_number(2**63)),
    "an unknown kind": _nodes(bytes([19, 0])),
    "a huge kind": _nodes(_number(2**40) + b"\0"),
    "itself as a child": _nodes(bytes([_COMPLEMENT, 1, 0])),
    "a later child": _nodes(bytes([_COMPLEMENT, 1, 1]), _A),
    "a huge child": _nodes(_A, bytes([_COMPLEMENT, 1]) + _number(2**64 - 1)),
    "a leaf with a child": _nodes(_A, bytes([_EPSILON, 1, 0])),
    "a literal with a child": _nodes(_A, bytes([_LITERAL, 1]) + b"b" + bytes([1, 0])),
    "a complement of two": _nodes(_A, bytes([_COMPLEMENT, 2, 0, 0])),
    "a complement of none": _nodes(bytes([_COMPLEMENT, 0])),
    "a concat of one": _nodes(_A, bytes([_CONCAT, 0, 1, 0])),
    "a union of none": _nodes(bytes([_UNION, 0])),
    "more children than bytes": _nodes(_A, bytes([_CONCAT, 0]) + _number(2**50) + bytes([0, 0])),
    "a text longer than the bytes": _nodes(bytes([_LITERAL]) + _number(2**50) + b"a"),
    "a text of 2**64 bytes": _nodes(bytes([_LITERAL]) + _number(2**64 - 1) + b"a"),
    "a number that does not end": _signed(b"\xff" * 40),
    "a negation that is neither": _nodes(_A, bytes([_AHEAD, 2, 1, 0])),
    "a reference behind the last definition": _nodes(bytes([_REFERENCE, 1, 0]), bytes([_GRAMMAR, 0, 1, 0])),
    "a start behind the last definition": _nodes(_A, bytes([_GRAMMAR, 1, 1, 0])),
    "marks for other members": _nodes(_A, bytes([_ORDERED, 0, 0, 2]) + b"11" + bytes([3, 0, 0, 0])),
    "members without a separator": _nodes(_A, bytes([_UNORDERED, 0, 0, 0, 1, 0])),
    "a zero-width nothing": _nodes(bytes([_UNLESS, 0])),
    "bytes behind the last node": _signed(_number(1) + _A + b"\0"),
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_hostile_bytes_with_a_right_checksum_are_refused(name: str) -> None:
    _refused(_HOSTILE[name])


def test_a_repeat_with_reversed_counts_is_refused() -> None:
    with pytest.raises(detent.ArgumentError):
        _core.node_from_bytes(_nodes(_A, bytes([_REPEAT, 3, 2, 1, 0])))
    with pytest.raises(detent.ArgumentError):
        unbounded = _number(2**32 - 1)
        _core.node_from_bytes(_nodes(_A, bytes([_REPEAT]) + unbounded + unbounded + bytes([1, 0])))


@pytest.mark.parametrize(
    "data",
    [
        _nodes(_A, bytes([_AHEAD, 0, 1, 0])),
        _nodes(_A, bytes([_BEHIND, 1, 1, 0]), bytes([_COMPLEMENT, 1, 1])),
    ],
    ids=["lookahead", "lookbehind"],
)
def test_assertions_without_a_scope_are_refused_when_they_are_used(data: bytes) -> None:
    held = Language(_core.node_from_bytes(data), "odd")
    with pytest.raises(detent.DetentError, match="scope"):
        held.accepts("a")


def test_deeply_nested_nodes_are_an_answer_or_an_error() -> None:
    """As deep as bytes can say, in each kind that nests; nothing may overflow a stack."""
    count = 50_000
    kinds = {
        "complement": [bytes([_COMPLEMENT, 1]) + _number(n) for n in range(count)],
        "repeat": [bytes([_REPEAT, 0, 2, 1]) + _number(n) for n in range(count)],
        "concat": [bytes([_CONCAT, 0, 2]) + _number(n) + _number(0) for n in range(count)],
        "union": [bytes([_UNION, 2]) + _number(n) + _number(0) for n in range(count)],
        "intersection": [bytes([_INTERSECTION, 2]) + _number(n) + _number(n) for n in range(count)],
        "strings": [bytes([_JSON_STRING, 1]) + _number(n) for n in range(count)],
        "grammars": [bytes([_GRAMMAR, 0, 1]) + _number(n) for n in range(count)],
        "guards": [bytes([_GREEDY, 0, 2]) + _number(n) + _number(0) for n in range(count)],
        # Fewer: lists nested in lists cost the square of their depth.
        "lists": [bytes([_ORDERED, 0, 0, 1]) + b"1" + bytes([3, 0, 0]) + _number(n) for n in range(count // 10)],
        "scopes": [
            bytes([[_AHEAD, _SCOPE][n % 2]]) + (b"\0" if n % 2 == 0 else b"") + b"\1" + _number(n) for n in range(count)
        ],
        "assertions": [bytes([_BEHIND if n % 3 else _AHEAD, 0, 1]) + _number(n) for n in range(count - 1)]
        + [bytes([_SCOPE, 1]) + _number(count - 1)],
    }

    def work() -> None:
        for name, nodes in kinds.items():
            node = _core.node_from_bytes(_nodes(_A, *nodes))
            assert node.to_bytes(), name
            try:
                Language(node, name).accepts("a")
            except detent.DetentError as error:
                assert len(str(error).encode()) <= 512

    in_a_small_stack(work)


@settings(max_examples=200)
@given(trees(5))
def test_shuffled_bytes_with_a_right_checksum_do_no_harm(tree: Tree) -> None:
    """Whatever is decoded is a node like any other: it may be asked, written and read again."""
    data = language(tree)._node.to_bytes()
    rng = Random(len(data))
    body = bytearray(data[len(_MAGIC) : -8])
    for _ in range(rng.randrange(1, 4)):
        body[rng.randrange(len(body))] = rng.choice([*range(14), 0x80, 0xFF, rng.randrange(256)])
    try:
        node = _core.node_from_bytes(_signed(bytes(body)))
        assert _core.node_from_bytes(node.to_bytes()) == node
        Language(node, "shuffled").accepts("ab")
    except detent.DetentError:
        pass


def test_the_type_of_the_bytes_is_checked() -> None:
    for data in ("detent node 3\n", None, 3):
        with pytest.raises((TypeError, detent.ArgumentError)):
            _core.node_from_bytes(data)  # type: ignore[arg-type]


def test_pickling_needs_no_registry() -> None:
    assert Language not in copyreg.dispatch_table
    buffer = io.BytesIO()
    pickle.Pickler(buffer, 5).dump([detent.regex("a")] * 2)
    first, second = pickle.loads(buffer.getvalue())
    assert first is second


@pytest.mark.parametrize("kind", ["vocabulary", "guide", "table", "matcher"])
def test_what_is_saved_and_not_pickled_says_so(kind: str) -> None:
    vocabulary = detent.Vocabulary([b"a", b""], eos_token_ids=[1])
    guide = detent.compile(detent.regex("a+"), vocabulary)
    values = {"vocabulary": vocabulary, "guide": guide, "table": guide.to_table(), "matcher": guide.matcher()}
    with pytest.raises(TypeError, match="fork" if kind == "matcher" else r"cannot be pickled; write .*save"):
        pickle.dumps(values[kind])
    if kind == "matcher":
        with pytest.raises(TypeError, match="fork"):
            copy.copy(values[kind])
    else:
        assert copy.copy(values[kind]) is copy.deepcopy(values[kind]) is values[kind]
