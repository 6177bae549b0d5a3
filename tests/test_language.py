"""The operators of languages: what they take, what they refuse, what they print, and what they keep."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent import _core
from detent.language import Language
from tests.support.long_tests import long
from tests.support.reference import Tree, language, strings, trees
from tests.support.small_stack import in_a_small_stack

A, B = detent.regex("a+"), detent.regex("b")


# --- Operands


@pytest.mark.parametrize("text", ["b", b"b"])
def test_texts_are_operands(text: str | bytes) -> None:
    assert A | text == A | B == text | A
    assert A & text == A & B == text & A
    assert A - text == A - B
    assert text - A == B - A == B
    assert A + text == A + B
    assert text + A == B + A


def test_a_text_is_taken_literally() -> None:
    assert (A | "a.*").accepts("a.*")
    assert not (A | "a.*").accepts("abc")
    assert (A + "é").accepts("aé")
    assert (A + b"\xff").accepts(b"a\xff")
    assert A.optional() == A | ""


@pytest.mark.parametrize("other", [1, None, 1.5, ["b"], object()])
@pytest.mark.parametrize(
    "operation",
    [
        lambda x, y: x | y,
        lambda x, y: x & y,
        lambda x, y: x - y,
        lambda x, y: x + y,
        lambda x, y: x < y,
        lambda x, y: x <= y,
        lambda x, y: x > y,
        lambda x, y: x >= y,
    ],
    ids="|&-+<≤>≥",
)
def test_errors_of_other_operands_name_the_right_function(operation: Callable[[Any, Any], Any], other: object) -> None:
    for call in (lambda: operation(A, other), lambda: operation(other, A)):
        with pytest.raises(detent.ArgumentError, match=r"a Language takes a language, str or bytes .*; (write|make) "):
            call()


@pytest.mark.parametrize(
    ("other", "advice"),
    [
        (5, "the text '5'"),
        (None, r"language\.optional"),
        (int, "json_schema"),
        ({"type": "string"}, "json_schema"),
        (["a", "b"], "choice"),
        (re.compile("a"), "regex"),
        (print, "calls"),
    ],
)
def test_an_operand_that_is_no_language_is_advised(other: Any, advice: str) -> None:
    with pytest.raises(detent.ArgumentError, match=advice):
        A | other


def test_comparisons_take_texts() -> None:
    assert A >= "aa"
    assert detent.literal("a") <= "a"
    assert not A < b"b"


def test_another_object_may_know_what_to_do_with_a_language() -> None:
    class Other:
        def __ror__(self, left: object) -> str:
            return "other"

    assert A | Other() == "other"  # type: ignore[operator,comparison-overlap]
    with pytest.raises(detent.ArgumentError):
        A & Other()  # type: ignore[operator]


def test_a_language_equals_no_other_object() -> None:
    assert A != "a+"
    assert A != None  # noqa: E711
    assert A not in [1, "a"]


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_half_a_surrogate_pair_is_no_text(text: str) -> None:
    for call in (A.accepts, A.__or__, A.__and__, A.__sub__, A.__add__, A.__radd__, A.__ror__, A.__rsub__, A.__rand__):
        with pytest.raises(detent.ArgumentError, match="surrogate"):
            call(text)


@pytest.mark.parametrize(
    "counts", [(-1,), (0, -1), (True,), (0, False), (1.0,), ("2",), (2**32 - 1,), (0, 2**32), (2**70,)]
)
def test_counts_are_integers_within_a_range(counts: tuple[Any, ...]) -> None:
    with pytest.raises(detent.DetentError):
        A.repeat(*counts)


def test_counts_that_exclude_each_other() -> None:
    with pytest.raises(detent.ArgumentError, match="at least 3 and at most 2"):
        A.repeat(3, 2)


@pytest.mark.parametrize("count", [2**31, 2**32 - 2])
def test_very_large_counts(count: int) -> None:
    assert not B.repeat(count).accepts("b" * 10)
    assert B.repeat(0, count).accepts("b" * 10)
    assert B.repeat(0, count) == B.repeat(0, count - 1).repeat(0, 1) | B.repeat(count, count)
    assert B.repeat(0, count).counterexample(B.repeat()) is None
    with pytest.raises(detent.LimitError, match="automaton states"):
        B.repeat(0, count).counterexample(B.repeat(0, count - 5))  # as many states as counts


# --- Immutability


@pytest.mark.parametrize("name", ["description", "value", "_node", "_dfa_cache", "new", "__class__"])
def test_nothing_can_be_set_or_deleted(name: str) -> None:
    with pytest.raises((detent.ArgumentError, TypeError)):
        setattr(A, name, None)
    with pytest.raises((detent.ArgumentError, TypeError)):
        delattr(A, name)
    assert A.accepts("aa")


def test_operators_leave_their_operands_as_they_are() -> None:
    a, b = detent.regex("a+"), detent.regex("b")
    node = a._node
    a |= b
    assert a == A | B
    assert b == B
    assert node == A._node


def test_copies_are_equal() -> None:
    assert copy.copy(A) == A
    assert copy.deepcopy(A | B) == A | B


def test_the_class_is_final() -> None:
    with pytest.raises(AttributeError):
        A.__dict__  # noqa: B018 - slots only: no attribute can be added


# --- Printing


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (A, "regex 'a+'"),
        (A | "b", "(regex 'a+') | 'b'"),
        ("b" | A, "'b' | (regex 'a+')"),
        (A & B, "(regex 'a+') & (regex 'b')"),
        (A - b"\xff", r"(regex 'a+') - b'\xff'"),
        (A + "b" + A, "(regex 'a+') + 'b' + (regex 'a+')"),
        (A + " b" + ("c " + A), "(regex 'a+') + ' b' + ('c ' + (regex 'a+'))"),
        ((A | B | "c") & A, "((regex 'a+') | (regex 'b') | 'c') & (regex 'a+')"),
        (A - B - (A - "x y"), "(regex 'a+') - (regex 'b') - ((regex 'a+') - 'x y')"),
        (detent.choice("x", "y") + "z", "('x' or 'y') + 'z'"),
        (detent.json_schema({"$ref": "#/$defs/Pet", "$defs": {"Pet": {}}}), "JSON schema 'Pet'"),
        (detent.json_schema('{"$ref": "#/$defs/Pet", "$defs": {"Pet": {}}}'), "JSON schema 'Pet'"),
        (
            detent.json_schema({"$ref": "#/$defs/n", "minimum": 1, "$defs": {"n": {}}}),
            "JSON schema with '$ref', 'minimum', '$defs'",
        ),
        (~A, "~(regex 'a+')"),
        (~~A, "~(~(regex 'a+'))"),
        (~A.repeat(2), "~((regex 'a+').repeat(2))"),
        ((~A).repeat(2), "(~(regex 'a+')).repeat(2)"),
        (A.repeat(), "(regex 'a+').repeat()"),
        (A.repeat(10), "(regex 'a+').repeat(10)"),
        (A.repeat(2, None), "(regex 'a+').repeat(2, None)"),
        (A.repeat(0, 0), "(regex 'a+').repeat(0)"),
        (A.repeat(1, 20), "(regex 'a+').repeat(1, 20)"),
        (A.optional(), "(regex 'a+').optional()"),
    ],
)
def test_a_language_shows_how_it_was_made(made: Language, shown: str) -> None:
    assert repr(made) == f"Language({shown})"
    assert made.description == shown


def test_what_is_shown_stays_short() -> None:
    long = A
    for _ in range(64):
        long = long + long  # 2**64 parts
    assert len(repr(long)) < 120
    assert len(long.description) <= 200
    assert long.description.endswith("…")


# --- Values


def _dates() -> Language:
    return Language(detent.regex("[0-9]{4}-[0-9]{2}-[0-9]{2}")._node, "date", date.fromisoformat)


def _numbers() -> Language:
    return Language(detent.regex("[0-9]+")._node, "number", int)


def test_the_value_of_a_text() -> None:
    assert A.parse("aa") == "aa"
    assert _numbers().parse("042") == 42
    assert _dates().parse("2026-11-21") == date(2026, 11, 21)


def test_a_text_that_is_not_in_the_language_has_no_value() -> None:
    with pytest.raises(detent.ArgumentError, match=r"'x' is not in Language\(number\)"):
        _numbers().parse("x")


def test_the_value_of_a_union_is_that_of_the_first_that_accepts() -> None:
    either = _numbers() | _dates() | "none"
    assert either.parse("12") == 12
    assert either.parse("2026-11-21") == date(2026, 11, 21)
    assert either.parse("none") == "none"
    assert ("12" | _numbers()).parse("12") == "12"
    assert (_numbers() | "12").parse("12") == 12
    with pytest.raises(detent.ArgumentError):
        either.parse("nine")


def test_the_value_of_what_is_optional() -> None:
    maybe = _numbers().optional()
    assert maybe.parse("7") == 7
    assert maybe.parse("") is None
    assert A.optional().parse("") == ""


def test_the_value_of_what_is_narrowed() -> None:
    assert (_numbers() & detent.regex(".{2}")).parse("07") == 7
    assert (detent.regex(".{2}") & _numbers()).parse("07") == 7
    assert (_numbers() - "0").parse("07") == 7
    with pytest.raises(detent.ArgumentError):
        (_numbers() - "0").parse("0")


def test_the_complement_has_no_value() -> None:
    assert (~_numbers()).parse("x") == "x"


def test_unions_of_many_languages_with_values() -> None:
    """As many as one likes: the first operand of a union is no deeper than the last."""
    options = [Language(_core.literal(str(number).encode()), str(number), int) for number in range(3000)]
    either = reduce(lambda left, right: left | right, options)
    try:
        values = [either.parse("0"), pickle.loads(pickle.dumps(either)).parse("2999")]
    except RecursionError:
        values = []
    assert values == [0, 2999]


# --- Depth: what a user nests without end must not be a recursion of ours


_DEEP: dict[str, tuple[int, Callable[[Language, Language], Language]]] = {
    "x + y": (100_000, lambda x, y: x + y),
    "~(x | y)": (100_000, lambda x, y: ~(x | y)),
    "x | y": (30_000, lambda x, y: x | y),
    "~x": (100_000, lambda x, y: ~x),
    "x?": (100_000, lambda x, y: x.optional()),
    "y + x": (30_000, lambda x, y: y + x),
    "x & ~y": (30_000, lambda x, y: x - y),
    "~(x + y)": (30_000, lambda x, y: ~(x + y)),
    "(x + y)*": (30_000, lambda x, y: (x + y).repeat()),
    "x{2}": (30_000, lambda x, y: x.repeat(2, 2)),
    "(x | y)(x | y)": (10_000, lambda x, y: (x | y) + (x | y)),
}
_SLOW = {"~(x | y)", "(x | y)(x | y)", "~(x + y)", "x | y"}


@pytest.mark.parametrize("name", [long(name) if name in _SLOW else name for name in _DEEP])
def test_what_is_nested_without_end(name: str) -> None:
    """Made, asked, compared, pickled, compiled and given up in a stack of 256 KiB: an answer each time, or a limit."""
    vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    count, deepen = _DEEP[name]

    def work() -> None:
        made, other = detent.regex("a"), detent.regex("b")
        for _ in range(count):
            made = deepen(made, other)
        assert len(repr(made)) < 120
        questions: list[Callable[[], object]] = [
            lambda: made.accepts("a"),
            lambda: made.shortest(),
            lambda: hash(made),
            lambda: made == made | "a",
            lambda: made == pickle.loads(pickle.dumps(made)),
            lambda: detent.compile(made, vocabulary).matcher(10**6).allowed(),
        ]
        for ask in questions:
            with suppress(detent.LimitError, detent.EmptyLanguageError):
                ask()

    in_a_small_stack(work)


# --- The nodes that Python front ends build from


@settings(max_examples=100)
@given(trees(6))
def test_equal_nodes_hash_alike(tree: Tree) -> None:
    first, second = language(tree)._node, language(tree)._node
    assert first == second
    assert hash(first) == hash(second)
    assert first != _core.complement(second)


@settings(max_examples=100)
@given(trees(4), trees(4))
def test_hashes_agree_with_equality(a: Tree, b: Tree) -> None:
    first, second = language(a), language(b)
    if first == second:
        assert hash(first) == hash(second)
        assert strings(a, b"abx", 4) == strings(b, b"abx", 4)
    elif strings(a, b"abx", 4) != strings(b, b"abx", 4):
        assert first != second


def test_a_set_of_languages() -> None:
    held = {detent.regex("(ab)*a"), detent.regex("a(ba)*"), detent.regex("a"), A, A | "a"}
    assert len(held) == 3
    assert detent.regex("aa*") in held


@given(st.lists(st.binary(max_size=4), max_size=5))
def test_unions_of_texts(texts: list[bytes]) -> None:
    nothing = A & ~A
    held = reduce(lambda left, text: left | text, texts, nothing)
    assert list(held.enumerate()) == sorted(set(texts), key=lambda text: (len(text), text))
