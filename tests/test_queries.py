"""ByteDfa about a language, against sets of strings and automata in plain Python."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import islice, product
from math import prod
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

import detent
from detent.queries import ByteDfa
from tests.support.reference import Machine, Tokens, TooManyStates, Tree, all_trees, language, strings, trees, universe
from tests.support.shared_data import needs_shared, real_vocabulary

LETTERS = detent.regex("[abx]*")
TEXTS = sorted(universe(b"abx", 4), key=lambda text: (len(text), text))


def _in_order(texts: frozenset[bytes]) -> list[bytes]:
    return sorted(texts, key=lambda text: (len(text), text))


def _machine(tree: Tree) -> Machine | None:
    try:
        return Machine(tree, most=300)
    except TooManyStates:
        return None


# --- Each question against the reference; the letters make complements countable


@settings(max_examples=200)
@given(trees(6))
def test_questions_of_a_finite_part(tree: Tree) -> None:
    """The texts of up to four of three letters, listed, counted, and one by one."""
    held = language(tree) & LETTERS
    expected = _in_order(strings(tree, b"abx", 4))
    found = []
    for text in held.enumerate():
        if len(text) > 4:
            break
        found.append(text)
    assert found == expected
    for length in range(5):
        assert held.count(length) == sum(len(text) <= length for text in expected)
    assert [text for text in TEXTS if held.accepts(text)] == expected
    assert [text for text in TEXTS if text.decode() in held] == expected


@settings(max_examples=200)
@given(trees(6))
def test_empty_and_shortest(tree: Tree) -> None:
    held, machine = language(tree), _machine(tree)
    if machine is None:
        return
    shortest = _shortest(machine)
    assert held.is_empty() == (shortest is None)
    if shortest is None:
        with pytest.raises(detent.EmptyLanguageError):
            held.shortest()
    else:
        assert held.shortest() == shortest == next(held.enumerate())


def _shortest(machine: Machine) -> bytes | None:
    """Breadth first over all bytes: the first text that is found is the least of the shortest."""
    order, seen = [(0, b"")], {0}
    for state, text in order:
        if machine.accepting[state]:
            return text
        for byte in range(256):
            after = machine.after(state, bytes([byte]))
            if after not in seen:
                seen.add(after)
                order.append((after, text + bytes([byte])))
    return None


@settings(max_examples=150)
@given(trees(5))
def test_counts_over_all_bytes(tree: Tree) -> None:
    """By multiplying matrices, as it were: ways to each state, one byte more at a time."""
    machine = _machine(tree)
    if machine is None:
        return
    ways, total = Counter({0: 1}), 0
    for length in range(6):
        total += sum(number for state, number in ways.items() if machine.accepting[state])
        assert language(tree).count(length) == total
        after: Counter[int] = Counter()
        for state, number in ways.items():
            for byte in range(256):
                after[machine.after(state, bytes([byte]))] += number
        ways = after


@settings(max_examples=200)
@given(trees(4), trees(4))
def test_comparisons(a: Tree, b: Tree) -> None:
    first, second = _machine(a), _machine(b)
    if first is None or second is None:
        return
    x, y = language(a), language(b)
    only_x, only_y = _difference(first, second), _difference(second, first)
    assert x.counterexample(y) == only_x
    assert y.counterexample(x) == only_y
    assert (x <= y, x >= y) == (only_x is None, only_y is None)
    assert (x < y) == (only_x is None and only_y is not None)
    assert (x > y) == (only_y is None and only_x is not None)
    assert (x == y) == (only_x is None and only_y is None)
    assert (x != y) != (x == y)
    if x == y:
        assert hash(x) == hash(y)


def _difference(first: Machine, second: Machine) -> bytes | None:
    """Return the least of the shortest texts that the first accepts and the second does not."""
    order, seen = [(0, 0, b"")], {(0, 0)}
    for x, y, text in order:
        if first.accepting[x] and not second.accepting[y]:
            return text
        for byte in range(256):
            after = first.after(x, bytes([byte])), second.after(y, bytes([byte]))
            if after not in seen:
                seen.add(after)
                order.append((*after, text + bytes([byte])))
    return None


_TOKENS = [b"a", b"b", b"ab", b"bab", b"aa", b"", b"ab"]
_VOCABULARY = detent.Vocabulary([*_TOKENS, b""], eos_token_ids=[len(_TOKENS)])
_SPARSE_TOKENS = [b"aa", b"ab", b"bbb"]
_SPARSE = detent.Vocabulary([*_SPARSE_TOKENS, b""], eos_token_ids=[len(_SPARSE_TOKENS)])


@pytest.mark.parametrize(("vocabulary", "tokens"), [(_VOCABULARY, _TOKENS), (_SPARSE, _SPARSE_TOKENS)])
@settings(max_examples=150)
@given(tree=trees(6))
def test_the_least_and_largest_number_of_tokens(vocabulary: detent.Vocabulary, tokens: list[bytes], tree: Tree) -> None:
    machine = _machine(tree)
    if machine is None:
        return
    reference = Tokens(machine, tokens)
    held = language(tree)
    if reference.need[0] is None:
        for ask in (held.min_tokens, held.max_tokens):
            with pytest.raises(detent.EmptyLanguageError):
                ask(vocabulary)
        return
    assert held.min_tokens(vocabulary) == reference.need[0]
    assert held.max_tokens(vocabulary) == reference.longest()


def test_every_small_tree() -> None:
    for size in (1, 2, 3, 4):
        for tree in all_trees(size):
            expected = _in_order(strings(tree, b"ab", 4))
            held = language(tree) & detent.regex("[ab]{0,4}")
            assert list(held.enumerate()) == expected
            assert held.count(4) == held.count(100) == len(expected)
            assert held.is_empty() == (not expected)


# --- Samples: each text of the length that was drawn is as likely as the other


class _Dice(Random):
    """Draws what it is told to, first of all zeros, and keeps how many ways there were for each draw."""

    def __init__(self, told: list[int]) -> None:
        super().__init__(0)
        self.told, self.ways = told, list[int]()

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        self.ways.append(start)
        return self.told[len(self.ways) - 1] if len(self.ways) <= len(self.told) else 0

    def choice(self, seq: Any) -> Any:
        return seq[self.randrange(len(seq))]


def _chances(draw: Callable[[Random], bytes]) -> dict[bytes, Fraction]:
    """Return the exact chance of each outcome, by going through all draws like an odometer."""
    chances: dict[bytes, Fraction] = {}
    told: list[int] = []
    while True:
        dice = _Dice(told)
        outcome = draw(dice)
        chances[outcome] = chances.get(outcome, Fraction(0)) + Fraction(1, prod(dice.ways))
        told += [0] * (len(dice.ways) - len(told))
        while told and told[-1] + 1 == dice.ways[len(told) - 1]:
            told.pop()
        if not told:
            return chances
        told[-1] += 1


@pytest.mark.parametrize(
    "pattern", ["[ab]{3}", "a*b?", "(a|bb|bab){1,3}", "[a-c]{0,2}", "a|bb|b[ab]|[ab]{3}", "é|[ab]{2}"]
)
def test_samples_are_uniform(pattern: str) -> None:
    held = detent.regex(pattern) & detent.regex("(?s:.{0,4})")
    sizes = Counter(len(text) for text in held.enumerate())
    expected = {text: Fraction(1, len(sizes) * sizes[len(text)]) for text in held.enumerate()}
    assert _chances(lambda dice: held.sample(dice, 8)) == expected


@settings(max_examples=60)
@given(trees(5))
def test_samples_of_generated_languages_are_uniform(tree: Tree) -> None:
    held = language(tree) & detent.regex("[ab]{0,3}")
    if held.is_empty():
        return
    sizes = Counter(len(text) for text in strings(tree, b"ab", 3))
    expected = {text: Fraction(1, len(sizes) * sizes[len(text)]) for text in strings(tree, b"ab", 3)}
    assert _chances(lambda dice: held.sample(dice, 3)) == expected


def test_samples_by_frequency() -> None:
    """Lengths first, each alike; then the texts of it: by chi-squared, with a generous bound."""
    held, rng = detent.regex("a|b[ab]{2}|[ab]{5}"), Random(11)
    drawn = Counter(held.sample(rng) for _ in range(6000))
    assert set(drawn) == set(held.enumerate())
    for length, texts in ((1, 1), (3, 4), (5, 32)):
        counts = [number for text, number in drawn.items() if len(text) == length]
        assert len(counts) == texts
        assert abs(sum(counts) - 2000) < 250
        expected = sum(counts) / texts
        assert sum((number - expected) ** 2 / expected for number in counts) < 2 * texts + 20


def test_samples_are_reproducible_and_within_the_limit() -> None:
    held = detent.regex("[a-z]{2,40}( [a-z]+)*")
    assert [held.sample(Random(5), 30) for _ in range(3)] == [held.sample(Random(5), 30)] * 3
    for seed in range(50):
        text = held.sample(Random(seed), 12)
        assert len(text) <= 12
        assert re.fullmatch(rb"[a-z]{2,40}( [a-z]+)*", text)


def test_no_sample_is_short_enough() -> None:
    with pytest.raises(detent.EmptyLanguageError, match="no text of at most 3 bytes"):
        detent.regex("a{4}").sample(Random(0), 3)


# --- Particular cases


def test_an_empty_language() -> None:
    nothing = detent.regex("a") & detent.regex("b")
    assert nothing.is_empty()
    assert nothing.count(100) == 0
    assert list(nothing.enumerate()) == []
    assert nothing <= detent.regex("c")
    assert nothing == ~(nothing | ~nothing)
    assert not nothing.accepts("")
    with pytest.raises(detent.EmptyLanguageError, match="has no text: "):
        nothing.shortest()
    with pytest.raises(detent.EmptyLanguageError):
        nothing.min_tokens(_VOCABULARY)


def test_an_unspellable_language() -> None:
    held = detent.regex("a|bb?")
    with pytest.raises(detent.EmptyLanguageError, match="vocabulary"):
        held.min_tokens(_SPARSE)
    with pytest.raises(detent.EmptyLanguageError, match="vocabulary"):
        detent.compile(held, _SPARSE)


def test_a_long_list_starts_at_once_and_ends_where_the_language_ends() -> None:
    assert list(islice(detent.regex("(a|b)*").enumerate(), 4)) == [b"", b"a", b"b", b"aa"]
    assert list(islice(detent.regex("a{300,}").enumerate(), 2)) == [b"a" * 300, b"a" * 301]
    assert sum(1 for _ in detent.regex("[ab]{0,9}").enumerate()) == 2**10 - 1
    assert list(detent.regex("a{7}|b{2}").enumerate()) == [b"bb", b"a" * 7]  # lengths between are skipped


def test_two_lists_at_once() -> None:
    held = detent.regex("[ab]{1,3}")
    assert [pair for pair in zip(held.enumerate(), held.enumerate(), strict=True) if pair[0] != pair[1]] == []


def test_large_counts_are_exact() -> None:
    assert detent.regex("[0-9]*").count(100) == sum(10**length for length in range(101))
    assert (~detent.regex("a")).count(3) == 1 + 256 + 256**2 + 256**3 - 1
    assert detent.regex("[a-z]{5000}").count(5000) == 26**5000


def test_utf_8_in_bytes() -> None:
    assert detent.regex(".").count(1) == 127  # ASCII but for the line feed
    assert detent.regex(".").count(4) == 0x110000 - 0x800 - 1
    assert detent.regex("é").shortest() == "é".encode()
    assert detent.regex("é").accepts("é")
    assert not detent.regex(".").accepts(b"\xc3")


@pytest.mark.parametrize("text", [b"ab", bytearray(b"ab"), memoryview(b"ab"), "ab"])
def test_what_counts_as_a_text(text: Any) -> None:
    assert detent.regex("ab").accepts(text)
    assert text in detent.regex("ab")


@pytest.mark.parametrize("text", [3, None, ["a"], 1.5])
def test_what_does_not_count_as_a_text(text: Any) -> None:
    with pytest.raises(detent.ArgumentError, match="a text is a str or bytes, got"):
        detent.regex("a").accepts(text)
    with pytest.raises(detent.ArgumentError):
        text in detent.regex("a")  # noqa: B015


@pytest.mark.parametrize("size", [-1, True, 1.5, "3", 2**70])
def test_sizes_are_integers(size: Any) -> None:
    with pytest.raises(detent.ArgumentError, match="max_bytes"):
        detent.regex("a").count(size)
    with pytest.raises(detent.ArgumentError, match="max_bytes"):
        detent.regex("a").sample(Random(0), size)


@pytest.mark.parametrize("other", [None, 1])
def test_comparisons_are_with_languages(other: Any) -> None:
    with pytest.raises(detent.ArgumentError, match="operand of counterexample"):
        detent.regex("a").counterexample(other)
    for ask in (detent.regex("a").min_tokens, detent.regex("a").max_tokens):
        with pytest.raises(detent.ArgumentError, match=r"detent\.Vocabulary"):
            ask(other)


def test_tokens_without_bound() -> None:
    assert detent.regex("a*").max_tokens(_VOCABULARY) is None
    assert detent.regex("a{0,9}").max_tokens(_VOCABULARY) == 9
    assert detent.regex("a{9}").min_tokens(_VOCABULARY) == 5
    assert detent.regex("").max_tokens(_VOCABULARY) == 0
    assert (detent.regex("[ab]*") & ~detent.regex("[ab]{3}.*")).max_tokens(_VOCABULARY) == 2


def test_a_question_that_costs_too_much_is_a_limit() -> None:
    held = detent.regex("(a|b)*a(a|b){30}")
    with pytest.raises(detent.LimitError):
        held.counterexample(~detent.regex("(a|b)*b(a|b){29}"))
    assert held.accepts("a" * 31)  # the language is as good as before


def test_a_long_literal_costs_its_length() -> None:
    """Each place of a long text once, whatever stands behind it."""
    text = bytes(Random(1).choices(b"abcdefgh", k=20_000))
    held = detent.regex(text.decode())
    assert held.shortest() == text
    assert held.accepts(text)
    assert not held.accepts(text[:-1])
    assert held.count(20_000) == 1


@pytest.mark.long
def test_a_grammar_with_infinitely_many_states_has_infinitely_many_texts() -> None:
    nested = detent.grammar('start: "a" start "b" | "c"')
    with pytest.raises(detent.ArgumentError, match="infinitely many texts, or too many to tell; give max_bytes"):
        nested.count()
    assert nested.count(9) == 5
    with pytest.raises(detent.LimitError, match="follows over") as caught:
        nested.count(10**6)
    assert caught.value.limit is not None
    assert nested.count(100) == 50


def test_a_sample_needs_no_search_for_the_shortest_text() -> None:
    """There are too many states up to the shortest text of this array."""
    number = {"type": "integer", "minimum": 3, "multipleOf": 7}
    item = {"type": "object", "properties": {"k": number}, "required": ["k"]}
    many = detent.json_schema({"type": "array", "contains": item, "minContains": 10, "maxItems": 40})
    assert many.sample(1) in many


@pytest.mark.parametrize("far", [30, 41])
@pytest.mark.parametrize("longest", [1, 3])
def test_min_tokens_of_languages_with_very_many_states(far: int, longest: int) -> None:
    """The shortest text is one letter and what follows it; all words of up to `longest` letters are tokens."""
    letters = "abcd"
    words = ["".join(word) for count in range(1, longest + 1) for word in product(letters, repeat=count)]
    others = [bytes([byte]) for byte in range(256) if chr(byte) not in letters]
    tokens = [*(word.encode() for word in words), *others, b"dddddddd"]
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    language = detent.regex("|".join(f".*{letter}.{{{far + i}}}" for i, letter in enumerate("cba")))

    def least(count: int) -> int:  # the fewest tokens of so many letters, eight of which may be one token
        eights = range(count // 8 + 1)
        return min(each + -(-(count - 8 * each) // longest) for each in eights)

    expected = 1 + min(least(far + i - after) for i in range(3) for after in range(longest))
    assert language.min_tokens(vocabulary) == expected


@needs_shared
def test_min_tokens_of_a_record_with_bounded_strings_and_lists() -> None:
    """A search by alternatives, which visits very many nodes of the trie."""
    name, sku = (
        {"type": "string", "minLength": 1, "maxLength": 60},
        {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
    )
    price = {"type": "number", "minimum": 0, "multipleOf": 0.01}
    percent = {"type": "number", "exclusiveMinimum": 0, "maximum": 100}
    discounts = {"type": "array", "maxItems": 3, "items": record(percent=percent, why={"enum": ["bulk", "loyal"]})}
    lines = {"type": "array", "minItems": 1, "maxItems": 50, "items": record(sku=sku, price=price, discounts=discounts)}
    number = {"type": "string", "pattern": "^INV-[0-9]{6}$"}
    bill = record(number=number, issued={"format": "date", "type": "string"}, name=name, lines=lines, total=price)
    language, vocabulary = detent.json_schema(bill), real_vocabulary("gpt2")
    assert language.min_tokens(vocabulary) == len(detent.compile(language, vocabulary).matcher().completion())


def record(**members: object) -> dict[str, object]:
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


# --- Questions that would take long: an answer or a typed refusal, after a bounded amount of work

_MANY_STATES = "".join(f"(?=.*{letter}.{{{i}}}{letter.upper()})" for i, letter in enumerate("abcdefgh")) + ".*"
"""Eight conditions on the same text: some 2^100 states."""

ASCII = detent.Vocabulary([bytes([byte]) for byte in range(256)] + [b"ab", b"abc", b""], eos_token_ids=[258])

QUESTIONS: dict[str, Callable[[detent.Language[Any]], object]] = {
    "min_tokens": lambda language: language.min_tokens(ASCII),
    "shortest": lambda language: language.shortest(),
    "enumerate": lambda language: next(language.enumerate()),
    "count": lambda language: language.count(60),
    "counterexample": lambda language: language.counterexample(detent.regex(".{5000}")),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_long_question_is_refused(question: str) -> None:
    language = detent.regex(_MANY_STATES)
    with pytest.raises(detent.LimitError, match="ask about a simpler language, or for shorter texts") as caught:
        QUESTIONS[question](language)
    assert caught.value.subject == "question_work"  # the states, of which there may be 250,000, take seconds


@pytest.mark.parametrize("question", ["min_tokens", "shortest", "sample"])
def test_a_text_of_more_bytes_than_states_is_refused_without_a_search(question: str) -> None:
    language = detent.regex("(ab|c).{3000000000}")
    questions = {**QUESTIONS, "sample": lambda language: language.sample(1)}
    before = language._dfa().memory_bytes
    with pytest.raises(detent.LimitError, match="automaton states") as caught:
        questions[question](language)
    longest = 1 if question != "min_tokens" else 3  # bytes of a token
    assert caught.value.given == -(-3_000_000_001 // longest) + 1
    assert language._dfa().memory_bytes <= before + 10_000


def test_a_text_of_almost_as_many_bytes_as_states_is_found() -> None:
    assert detent.regex("a{249990}").shortest() == b"a" * 249_990
    assert detent.regex("a{20000}").min_tokens(ASCII) == 20_000


def test_other_questions_about_many_states_are_answered() -> None:
    language = detent.regex(_MANY_STATES)
    text = language.sample(1, max_bytes=100)
    assert language.accepts(text)
    assert str(language.why("ab")).startswith("not in")
    assert not language.is_empty()


def test_a_sample_does_not_depend_on_earlier_questions() -> None:
    fresh, asked = detent.regex("(?:[ab]{2,9}c)*"), detent.regex("(?:[ab]{2,9}c)*")
    asked.count(40)
    assert asked.shortest() == b""
    assert [fresh.sample(seed, 40) for seed in range(20)] == [asked.sample(seed, 40) for seed in range(20)]


def test_an_enumeration_goes_on_after_other_questions() -> None:
    language = detent.regex("[ab]{0,6}")
    found = []
    for text in language.enumerate():
        found.append(text)
        assert language.count(len(text)) >= len(found)
    assert found == sorted(found, key=lambda text: (len(text), text))
    assert len(found) == 127


PATTERNS = ["a{3}|b{5,7}", "(?:ab|c){4,}", "(?=.*a.{3})(?=.*b)[ab]{2,9}", "a*", "x(?:yy)+", "(?:[ab]{7}|c{10})x?"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_fewest_tokens_are_those_of_a_search_over_texts(pattern: str) -> None:
    """Against the fewest tokens of each text, shorter ones first, up to a length that no better one can have."""
    words = [b"a", b"b", b"c", b"x", b"y", b"ab", b"aaa", b"bbb", b"yyx", b"cc"]
    vocabulary = detent.Vocabulary([*words, b""], eos_token_ids=[len(words)])
    language = detent.regex(pattern)
    best = None
    for text in language.enumerate():
        if best is not None and len(text) > 3 * best:
            break
        count = _fewest(text, words)
        best = count if best is None else min(best, count)
    assert language.min_tokens(vocabulary) == best


def _fewest(text: bytes, words: list[bytes]) -> int:
    counts = [0]
    for end in range(1, len(text) + 1):
        counts.append(1 + min(counts[end - len(word)] for word in words if text[:end].endswith(word)))
    return counts[-1]


def test_states_of_earlier_texts_are_given_up() -> None:
    """A language answers any number of texts; in a long one, a new automaton goes on from the last state."""
    node = detent.gbnf('root ::= "(" root ")" | "[" root "]" | [a-z]')._node
    dfa = ByteDfa(node, detent.Limits(memory_bytes=2_000_000))
    for depth in range(500, 3_000, 100):
        for first, last in (b"()", b"[]"):
            text = bytes([first]) * depth + b"a" + bytes([last]) * depth
            assert dfa.accepts(text)
            assert not dfa.accepts(text[:-1])
    assert not dfa.accepts(b"(" * 20_000)
    assert dfa.accepts(b"(" * 20_000 + b"a" + b")" * 20_000)
    assert dfa.accepts(b"((a))")


@pytest.mark.long
def test_a_refused_question_leaves_the_others_as_they_were() -> None:
    schema = {"type": "array", "uniqueItems": True, "items": {"type": "string"}}
    language = detent.json_schema(schema)
    for _ in range(2):
        with pytest.raises(detent.LimitError):
            language.count(max_bytes=6)
    assert language.sample(2) == detent.json_schema(schema).sample(2)
