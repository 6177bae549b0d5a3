r"""Lookaheads at the start and the end of a terminal: against `re.match` in every text, and against lark."""

from __future__ import annotations

import re
from random import Random

import pytest

import detent
from detent import grammar
from detent.language import Language
from detent.limits import Limits
from detent.sources.grammar.language_set import LanguageSet
from detent.sources.grammar.leftmost_match import LeftmostMatch, leftmost_match
from detent.sources.grammar.outer_lookaheads import Case
from detent.sources.regex.parser import parse_with_widths
from tests.support.derivation import strings

lark = pytest.importorskip("lark")

LETTERS = "ab-é"

PATTERNS = [
    r"a\b",
    r"(?:a|ab)\b",
    r"(?:a-|b)*a\b",
    r"(?:a\b|ba\b)",
    r"-\B",
    r"a+-*(?:-\B)",
    r"(?:a|ab|-|-b)(?![ab])",
    r"(?:b|bab)(?!a)",
    r"(?:a+|ab?)(?![ab])(?!é)",
    r"(?:a(?!b)|b(?!b))",
    r"(?:b(?:-?[ab])*|a(?:-?a)*(?!b))",
    r"a(?!b)|b(?!-)|-",
    r"(?:a|ba)(?:-(?!a)|b\b)",
    r"[a-]?(?:b(?!b)|é)(?!-)",
    r"(?!ab\b)[ab]\w*",
    r"(?!(?:a|ba)\b)[ab]\w*",
    r"(?!a\b)(?!ba)[ab]\w*",
    r"(?!a)[ab]+",
    r"(?!a\b)[ab][ab-]*",
    r"(?!ab(?!b))[ab]+",
    r"(?!a\b|b\b)[ab]+",
    r"(?i:(?!AB\b)[ab]+)",
    r"(?a:(?!a\b)[ab]+)",
]


def match_of(pattern: str) -> LeftmostMatch:
    """Return the match of a pattern, by questions to a new set."""
    return leftmost_match(parse_with_widths(pattern, Limits()), LanguageSet())


def without_assumed(match, text):
    """Whether a text has none of the characters that the match assumes not to follow it."""
    if match.assumed is None:
        return True
    texts, characters = (Language(node, "") for node in match.assumed)
    return not any(
        texts.accepts(text[:end]) and text[end : end + 1] and characters.accepts(text[end]) for end in range(len(text))
    )


def check_against_re(pattern, letters=LETTERS, length=4):
    match = match_of(pattern)
    tentative = Language(match.tentative, "")
    cases = [
        (Language(case.texts, ""), None if case.after is None else Language(case.after, "") + detent.regex("(?s:.*)"))
        for case in match.cases or [Case(match.tentative, match.after)]
    ]
    for text in strings(letters, length):
        if without_assumed(match, text):
            ends = [end for end in range(len(text) + 1) if tentative.accepts(text[:end])]
            ends = [
                end
                for end in ends
                if any(
                    texts.accepts(text[:end]) and (after is None or not after.accepts(text[end:]))
                    for texts, after in cases
                )
            ]
            found = re.match(pattern, text)
            assert (found.end() if found else None) == (ends[-1] if ends else None), (pattern, text)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_match_is_what_re_takes(pattern):
    check_against_re(pattern)


def random_pattern(rng):
    words = ["".join(rng.choices("ab-", k=rng.randint(1, 3))) for _ in range(rng.randint(1, 4))]
    end = rng.choice(["", r"\b", r"\B", "(?!a)", "(?![ab])", r"(?!\w)", "(?!-)", "(?!ab)"])
    if rng.random() < 0.5:
        return f"(?:{'|'.join(words)}){end}"
    if rng.random() < 0.3:
        return "|".join(f"{word}{rng.choice(['', end])}" for word in words)
    start = "".join(f"(?!{rng.choice(words)}{rng.choice(['', end])})" for _ in range(rng.randint(1, 2)))
    return start + rng.choice(["[ab]", "a?b", ""]) + rng.choice([r"\w*", "[ab]+", "[ab-]*", "[ab]*-*", r"\w+"])


def test_random_patterns():
    accepted = 0
    for seed in range(120):
        pattern = random_pattern(Random(seed))
        try:
            check_against_re(pattern, "ab-", 4)
        except detent.UnsupportedError:
            continue
        accepted += 1
    assert accepted > 50


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        (r"b+?|a(?!b)", "order of choices"),
        (r"(a-?)\b", "may end in no word"),
        (r"(-a?)\B", "may end in a word"),
        (r"(?!ab-\b)[ab]+", "may end in no word"),
        (r"(b|ba|bab)(?!a)", "order of choices"),
        (r"(?!\ba)a", "inside an assertion"),
        (r"(?!a\bb)a+", "inside an assertion"),
        (r"(?!a\b)[ab]-?", "inside an assertion"),
        (r"(?!a)[ab]+|a\b", "one alternative"),
    ],
)
def test_what_cannot_be_held(pattern, what):
    with pytest.raises(detent.UnsupportedError, match=what):
        match_of(pattern)


GRAMMARS = [
    'start: (A | B | " ")+\nA: /f(?!i)|n/ | /-/\nB: /i/',
    'start: (OP NAME "-"?)+\nOP: /f(?![a-z])|-|1(?!1)/\nNAME: /[fin]+/\n%ignore " "',
    'start: (OP | NAME)+\nOP.2: /f\\b|in/\nNAME: /[fin]+/\n%ignore " "',
    'start: (NAME | KEY | NUMBER)+\nKEY.2: /(if|in|a)\\b/\nNAME: /[a-i]\\w*/\nNUMBER: /1+/\n%ignore " "',
    'start: (NAME | KEY | "1")+\nKEY.2: /(if|in|f)\\b/\nNAME: /[a-in]+/\n%ignore " "',
    'start: (NAME | "if" NAME)+\nNAME: /(?!(if|in)\\b)[a-in]\\w*/\n%ignore " "',
    'start: (NAME | "if" NAME "-")+\nNAME: /(?!if\\b)[a-in]+/\n%ignore " "',
    'start: (NAME "-" | OTHER)+\nNAME: /(?!if|n)[fin]\\w*/\nOTHER: /-?if/\n%ignore / +/',
    'start: (SYMBOL | "f" | "n")+\nSYMBOL: /(i|if|in|-)(?![a-z])/\n%ignore " "',
    'start: (A | B)+\nA: /f\\b/ | /in\\b/\nB: /-\\B/ | /1\\b/\n%ignore " "',
]


@pytest.mark.parametrize("lexer", ["contextual", "dynamic", "dynamic_complete"])
@pytest.mark.parametrize("text", GRAMMARS)
def test_grammars_against_lark(text, lexer):
    parser = lark.Lark(text, parser="lalr" if lexer == "contextual" else "earley", lexer=lexer)
    try:
        language = grammar(text, lexer=lexer)
    except detent.UnsupportedError:
        assert lexer != "dynamic"
        return
    wrong = []
    for candidate in strings("ifn1 -", 5 if lexer == "contextual" else 4):
        try:
            parser.parse(candidate)
            expected = True
        except lark.exceptions.LarkError:
            expected = False
        if language.accepts(candidate) != expected:
            wrong.append((candidate, expected))
    assert wrong == []


def test_characters_that_must_not_follow():
    text = 'start: (NAME | "if" NAME | {})+\nNAME: /(?!if\\b)[a-z]+/\n'
    assert grammar(text.format('"-"'), lexer="dynamic").accepts("if-") is False
    with pytest.raises(detent.UnsupportedError, match="start of terminal NAME looks beyond it"):
        grammar(text.format('"1"'), lexer="dynamic")
    with pytest.raises(detent.UnsupportedError, match="start of terminal NAME looks beyond it"):
        grammar(text.format("%json {}"), lexer="dynamic")
