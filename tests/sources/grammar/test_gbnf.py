r"""GBNF: what llama.cpp reads, its errors, and random grammars against the plainest meaning."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent.sources.grammar import gbnf
from tests.support.derivation import derived, strings

ALPHABET, LENGTH = "ab", 5
NAMES = ["root", "x", "y", "z"]
ROWS = st.lists(st.lists(st.sampled_from([*NAMES, "a", "b", "ab", ""]), max_size=3), min_size=1, max_size=3)


def written(rules):
    def symbol(name):
        return name if name in rules else f'"{name}"'

    return "\n".join(
        f"{name} ::= " + " | ".join(" ".join(map(symbol, row)) or '""' for row in rows) for name, rows in rules.items()
    )


@settings(max_examples=250)
@given(st.fixed_dictionaries({name: ROWS for name in NAMES}))
def test_random_grammars(rules):
    texts = derived(rules, LENGTH)["root"]
    try:
        language = gbnf(written(rules))
    except detent.EmptyLanguageError:
        assert not texts
        return
    wrong = [text for text in strings(ALPHABET, LENGTH) if language.accepts(text) != (text in texts)]
    assert not wrong


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        (r'root ::= "a\n\"\\\x41\u00e9\U0001F600"', ['a\n"\\Aé😀'], ["a"]),
        (r"root ::= [a-c\]\-\[] [^a-c] .", ["axy", "]\n\n", "-é😀"], ["dxy", "aay", "ax"]),
        ('root ::= "a"{2} "b"{1,} "c"{0,2} "d"{ 1 , 2 }', ["aabd", "aabbbccdd"], ["abd", "aabcccd", "aabddd"]),
        ('root ::= (\n "a" | # one\n "b"\n)+ x?\nx ::= \n "x"\n  # end', ["a", "abbax"], ["", "x", "axx"]),
        ('root ::= "a" |\n "b"', ["a", "b"], ["ab"]),
        ("root ::= [-a] [a-]", ["--", "aa"], ["b-"]),
        ('root ::= "[" (root ("," root)*)? "]"', ["[]", "[[],[[]]]"], ["[", "[,]"]),
        ('root ::= "ab"* | "c"+?', ["", "abab", "ccc"], ["aba", "abc"]),
        ('root ::= root "+" t | t\nt ::= t "*" f | f\nf ::= "(" root ")" | [0-9]+', ["1+2*(3+4)"], ["1+", "(1"]),
        ("root ::= a_b\na_b ::= [a]{3000}", ["a" * 3000], ["a" * 2999]),
        ('root ::= ("a"{0,100}){0,100} root | "b"', ["b", "aaabab" * 0 + "aab"], ["a"]),
    ],
)
def test_syntax(text, accepted, refused):
    language = gbnf(text)
    assert [text for text in accepted if not language.accepts(text)] == []
    assert [text for text in refused if language.accepts(text)] == []


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("root ::= a", 1, 10, "'a' is not defined"),
        ('root ::= item\nitems ::= "a"', 1, 10, "define it, or correct the name; did you mean 'items'"),
        ('root ::= "a"\n  | (', 2, 3, "ends with its line"),
        ('root ::= (\n "a"', 1, 10, "not closed"),
        ('root := "a"', 1, 6, "::= is missing"),
        ('root ::= "a', 1, 10, "not closed"),
        ("root ::= [a", 1, 10, "not closed"),
        ("root ::= [a-", 1, 10, "not closed"),
        ("root ::= []", 1, 10, "without characters"),
        ("root ::= [z-a]", 1, 11, "goes down"),
        (r'root ::= "\q"', 1, 11, "unknown escape"),
        (r'root ::= "\x4"', 1, 11, "2 hex digits"),
        (r'root ::= "\uD800"', 1, 11, "surrogate"),
        (r'root ::= "\U00110000"', 1, 11, "above the last character"),
        ("root ::= *", 1, 10, "nothing stands here"),
        ('root ::= "a"{5,2}', 1, 13, "impossible"),
        ('root ::= "a"{x}', 1, 13, "malformed"),
        ('root ::= "a")', 1, 13, "closes nothing"),
        ('root ::= "a"\nroot ::= "b"', 2, 1, "defined twice"),
        ("::= a", 1, 1, "rule must begin"),
    ],
)
def test_errors_show_the_place(text, line, column, words):
    with pytest.raises(detent.PatternSyntaxError) as caught:
        gbnf(text)
    message = str(caught.value)
    assert words in message
    assert f"line {line}, column {column}" in message
    assert len(message.encode()) <= 512
    rows = message.split("\n")
    assert rows[2].strip() == "^"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", detent.PatternSyntaxError),
        ("# only\n", detent.PatternSyntaxError),
        ('foo ::= "a"', detent.PatternSyntaxError),
        ("root ::= <[12]>", detent.UnsupportedError),
        ("root ::= !<think>", detent.UnsupportedError),
        ('root ::= "a"{99999999999999999999}', detent.LimitError),
        ("root ::= " + "(" * 300, detent.LimitError),
        ("root ::= root", detent.EmptyLanguageError),
        ('root ::= "a" x\nx ::= x "b"', detent.EmptyLanguageError),
        (b'root ::= "a"', detent.ArgumentError),
    ],
)
def test_other_errors(text, error):
    with pytest.raises(error) as caught:
        gbnf(text)
    assert len(str(caught.value).encode()) <= 512


def test_limits():
    with pytest.raises(detent.LimitError, match="bytes"):
        gbnf('root ::= "aaaaaaaaaa"', limits=detent.Limits(source_bytes=10))
    with pytest.raises(detent.LimitError, match="parts"):
        gbnf("root ::= " + '"a" | ' * 100 + '"b"', limits=detent.Limits(pattern_size=100))
    with pytest.raises(detent.LimitError, match="3 deep"):
        gbnf('root ::= (((("a"))))', limits=detent.Limits(depth=3))


def test_algebra():
    nested = gbnf('root ::= "(" root ")" root | ""')
    assert (nested & detent.regex(".{0,4}")).accepts("(())")
    assert not (nested & detent.regex(".{0,4}")).accepts("(())()")
    assert (nested - detent.literal("()")).accepts("()()")
    assert not (nested - detent.literal("()")).accepts("()")
    assert (nested + detent.literal("!")).accepts("()!")


def test_a_rule_without_calls_is_a_plain_node():
    assert gbnf('root ::= x "c"\nx ::= "a" | "b" x') == detent.regex("b*ac")
