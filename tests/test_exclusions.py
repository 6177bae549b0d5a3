"""Grammars without the texts that begin with some words, the form of what is left after a guard, by brute force."""

from __future__ import annotations

import random
import re
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import detent
from detent import _core
from detent.sources.grammar import gbnf
from tests.support.derivation import derived, strings

ALPHABET, LENGTH = "ab", 6
NAMES = ["root", "x", "y"]
SYMBOLS = [*NAMES, "a", "b", "ab", "bb", ""]
ROWS = st.lists(st.lists(st.sampled_from(SYMBOLS), max_size=3), min_size=1, max_size=3)
WORDS = st.lists(st.sampled_from(["a", "b", "aa", "ab", "ba", "aba", "bab", "bba"]), min_size=1, max_size=2)
LIMITS = {"states": 250_000, "memory_bytes": 256 << 20, "steps": 20_000_000}


def written(rules: dict[str, list[list[str]]]) -> str:
    def symbol(name: str) -> str:
        return name if name in rules else f'"{name}"'

    return "\n".join(
        f"{name} ::= " + " | ".join(" ".join(map(symbol, row)) or '""' for row in rows) for name, rows in rules.items()
    )


def shortest(texts: set[str], prefix: str) -> int | None:
    return min((len(text) - len(prefix) for text in texts if text.startswith(prefix)), default=None)


NESTED = {"root": [["ab", "x"]], "x": [["b"], ["a", "x", "b"]], "y": [["a"]]}
BRANCHES = {"root": [["aaa", "x"], ["abb", "y"]], "x": [["b"], ["a", "x", "b"]], "y": [["a"], ["b", "y", "a"]]}
CALLS = {"root": [["x", "b"]], "x": [["a"], ["a", "x", "a"]], "y": [["a"]]}


@example(BRANCHES, ["aaa", "abbb"], "").via("the second branch is live, by its fourth byte")
@example(BRANCHES, ["aaab", "abb"], "").via("the first branch is live, by its fourth byte")
@example(CALLS, ["a"], "").via("dead, though the byte after the call is free")
@example(NESTED, ["aa"], "").via("live only by the second byte")
@example(NESTED, ["a"], "").via("dead")
@example(NESTED, ["b"], "").via("live by the first byte")
@settings(max_examples=200, deadline=None)
@given(st.fixed_dictionaries({name: ROWS for name in NAMES}), WORDS, st.sampled_from(["", "[ab]*", "a*"]))
def test_grammars_without_some_beginnings(rules, words, head):
    """Live states are those with a text; the bound of each is the length of some text or more."""
    beginnings = detent.regex(f"(?:{'|'.join(words)})[ab]*")
    roots = derived(rules, LENGTH)["root"]
    heads = [text for text in strings(ALPHABET, LENGTH) if re.fullmatch(head, text)]
    joined = {left + right for left in heads for right in roots if len(left + right) <= LENGTH}
    texts = {text for text in joined if not text.startswith(tuple(words))}
    try:
        grammar = gbnf(written(rules))
    except detent.EmptyLanguageError:
        assert not roots
        return
    with suppress(detent.LimitError):  # an ambiguous grammar may have very many states
        check(((detent.regex(head) + grammar if head else grammar) & ~beginnings)._node, texts)


EITHER = {"root": [["a", "ab", "x"], ["a", "ba", "x"]], "x": [["b"], ["a", "x", "b"]], "y": [["a"]]}


@example(EITHER, ["aaa", "aba"]).via("only the first branch is live")
@example(EITHER, ["aab", "abb"]).via("only the second branch is live")
@example(EITHER, ["aab", "aba"]).via("dead, as each branch is")
@settings(max_examples=200, deadline=None)
@given(st.fixed_dictionaries({name: ROWS for name in NAMES}), WORDS)
def test_guards_before_grammars(rules, words):
    """The same where a guard excludes the beginnings: the state after a token of a grammar."""
    try:
        grammar = gbnf(written(rules))
    except detent.EmptyLanguageError:
        return
    texts = {text for text in derived(rules, LENGTH)["root"] if not text.startswith(tuple(words))}
    guard = _core.not_followed_by(detent.regex(f"(?:{'|'.join(words)})(?s:.)*")._node, b" ")
    with suppress(detent.LimitError):  # as above
        check(_core.concat([guard, _core.union([grammar._node, _core.literal(b" ")])]), texts | {" "})


ONE = {"root": [["a"], ["a", "root", "b"]], "x": [["a"]], "y": [["b"]]}
CYCLE = {"root": [["a", "x"], ["b"]], "x": [["b", "y"], [""]], "y": [["ab", "root"], ["x"]]}
LEAVES = {"root": [["x", "y"]], "x": [["a", "y", "a"], [""]], "y": [["a", "x"], ["a", "root", "b"]]}


@example(CYCLE, "[ab]", "*", "b").via("dead: the rules call each other, and contain these letters alone")
@example(LEAVES, "a", "*", "aa").via("live by the last letter of a rule that calls two others")
@example(CALLS, "aa", "*", "aab").via("a rule that repeats the part an even number of times, and one that does not")
@example(ONE, "[ab]", "{2,}", "b").via("live by the part alone")
@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries({name: ROWS for name in NAMES}),
    st.sampled_from(["[ab]", "a", "aa", "ab?", "ab|b", "a|bb"]),
    st.sampled_from(["*", "+", "{2,}"]),
    st.sampled_from(["b", "ab", "[ab]b", "[ab]{2}"]),
)
def test_grammars_without_the_texts_over_some_parts(rules, part, count, beginning):
    """A repeat contains a grammar whose rules contain, one after the other, only what it repeats."""
    excluded = f"(?:{part}){count}|{beginning}[ab]*"
    try:
        grammar = gbnf(written(rules))
    except detent.EmptyLanguageError:
        return
    texts = {text for text in derived(rules, LENGTH)["root"] if not re.fullmatch(excluded, text)}
    with suppress(detent.LimitError):  # an ambiguous grammar may have very many states
        check((grammar & ~detent.regex(excluded))._node, texts)


def test_a_rule_that_is_not_contained_is_not_taken_for_one_that_is():
    """A repeat is compared with a rule twice: the second answer is no better than the first."""
    rule, letter = gbnf('root ::= "b" | "a" root "a"'), detent.regex("a?")
    twice = (rule + letter) & (letter + rule)
    language = (twice + detent.literal("d")) & ~detent.regex("[ad]*")
    assert language.shortest() == b"bd"


LEXED = [
    "start: A start | B\nA: /a+/\nB: /b/",
    'start: A "b" start | A\nA: /a[ab]?/',
    'start: (A | B)* x\nx: "ab" x | "ba"\nA: /a+b?/\nB: "b"',
    'start: "a" x "b" | A\nx: A | "a" x "b"\nA: /a+/',
]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(LEXED), WORDS)
def test_lexed_grammars_without_some_beginnings(text, words):
    grammar = detent.grammar(text, lexer="contextual")
    beginnings = detent.regex(f"(?:{'|'.join(words)})[ab]*")
    texts = {text for text in strings(ALPHABET, LENGTH) if grammar.accepts(text) and not text.startswith(tuple(words))}
    check((grammar & ~beginnings)._node, texts)


def check(node: _core.Node, texts: set[str]) -> None:
    """Each prefix of a text has a live state, with a bound that is no less than the bytes to the nearest text."""
    dfa = _core.Automaton(node, **LIMITS)
    for prefix in strings(ALPHABET, 3):
        state = dfa.advance(dfa.start, prefix.encode())
        length = shortest(texts, prefix)
        if length is not None:
            assert state, prefix
            assert dfa.completion_bound(state) >= length
        elif state:
            text = prefix + dfa.shortest_completion(state).decode()
            assert len(text) > LENGTH


def test_bytes_outside_texts() -> None:
    """What is no UTF-8 of a rule that calls itself: live where it has such bytes, dead where its form has none."""
    even = gbnf('root ::= "" | "b" root "b"')
    assert ((detent.byte_class(b"a\xff") + even) & ~detent.text()).shortest() == b"\xff"
    with pytest.raises(detent.EmptyLanguageError):
        ((detent.byte_class(b"a") + even) & ~detent.text()).shortest()


def test_a_refuted_rule_leaves_no_proof() -> None:
    """A rule with a byte beyond UTF-8 is no text; so nor is one that calls it, though it is one if the first were."""
    beyond = detent.byte_class(b"\xff")._node
    calls_second = _core.union([_core.concat([_core.literal(b"x"), _core.reference(1)]), beyond])
    calls_first = _core.concat([_core.literal(b"y"), _core.reference(0)])
    start = _core.union([_core.concat([_core.literal(bytes([97 + i])), _core.reference(i)]) for i in range(2)])
    node = _core.grammar([calls_second, calls_first, start], 2)
    dfa = _core.Automaton(_core.intersection([node, (~detent.text())._node]), **LIMITS)
    assert dfa.advance(dfa.start, b"a")  # the proof of the first rule assumes that it is text, and then is the second
    after = dfa.advance(dfa.start, b"b")
    assert after
    assert dfa.shortest_completion(after) == b"y\xff"


PATTERNS = ["a*", "b*", "[ab]*", "a[ab]*", "[ab]*b", "(ab)*", "[ab]{2,3}", "a|bb", "[ab]*ab[ab]*"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PATTERNS), min_size=4, max_size=4), st.booleans())
def test_what_an_intersection_has_is_left_out_of_its_complements(patterns: list[str], nested: bool) -> None:
    a, b, c, d = map(detent.regex, patterns)
    excluded = (a & b) | c | (a & d) if nested else a & b & d
    language = a - excluded
    for text in strings(ALPHABET, 5):
        held = [re.fullmatch(pattern, text) is not None for pattern in patterns]
        is_excluded = held[0] and (held[1] or held[2] or held[3]) if nested else all((held[0], held[1], held[3]))
        assert language.accepts(text) == (held[0] and not is_excluded), (patterns, text)


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"type": "object"}, {"type": "string", "not": {"format": "regex"}}]
)
def test_a_schema_minus_texts_with_a_word_is_a_schema_without_it(schema: dict[str, object]) -> None:
    """Masks of the last one took 10 s, and ended in a LimitError."""
    whole = detent.json_schema(schema)
    minus, beside = whole - detent.containing("null", "nil"), whole & detent.without("null", "nil")
    tokens = [b'"', b"{", b"}", b":", b"n", b"nu", b"null", b"l", b"\\", b"\\u006", b"e", b"il", b"[", b"1", b" ", b""]
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[15])
    one, other = (detent.compile(each, vocabulary).matcher() for each in (minus, beside))
    rng = random.Random(5)
    for _ in range(40):
        allowed = one.allowed()
        assert list(allowed) == list(other.allowed())
        token = rng.choice(list(allowed))
        if token == 15:
            break
        one.advance(token)
        other.advance(token)


def test_bytes_that_are_no_text_stay_where_texts_with_a_word_are_excluded() -> None:
    some = (detent.byte_class(bytes([0xFF])) + "null") | detent.regex("null|x")
    rest = some - detent.containing("null")  # texts alone contain words
    assert [rest.accepts(each) for each in (b"\xffnull", b"null", b"x")] == [True, False, True]
