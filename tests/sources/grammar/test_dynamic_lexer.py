"""The dynamic lexers, against lark's Earley parser: the same texts are accepted and refused."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

import detent
from detent import grammar
from tests.support import lark_grammars
from tests.support.lark_grammars import random_grammar

lark = pytest.importorskip("lark")

LEXERS = ("dynamic", "dynamic_complete")


def accepts(parser, text):
    try:
        parser.parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    except RuntimeError as error:  # a defect of lark: it found two derivations
        assert "multiple start symbol items" in str(error)
    return True


@pytest.mark.parametrize("lexer", LEXERS)
@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ('start: "a" "b"\n%ignore /#[^\\n]*/', ["ab", "a#xb", "a#x\nb", "#", "#ab", "ab#", "ab#b"]),
        ('start: S\nS: /".*?"/', ['""', '"a"', '"a"b"', '"a""']),
        ('start: A "c"\nA: /a|ab/', ["ac", "abc"]),
        ('start: A "c"\nA: /ab|a/', ["ac", "abc"]),
        ("start: A A\nA: /a+/", ["a", "aa", "aaa"]),
        ('start: NAME "if" NAME\nNAME: /[a-z]+/\n%ignore " "', ["aifb", "a if b", "aif b", "a ifb", "if if if"]),
        ("start: W+\nW: /[a-z]/\n%ignore / +/", ["a b", " a  b ", "ab", " ", "a  "]),
        ('start: "a" X?\nX: /  /\n%ignore / +/', ["a", "a ", "a  ", "a   ", "  a"]),
        ('start: "x"?\n%ignore " "', ["", " ", "x ", " x", "  "]),
        ('start: "(" start ")" | "x"\n%ignore / |#[^;]*;/', ["( x)", "(x)#a;", "(x#)", "(#;#;x )"]),
    ],
)
def test_examples(text, texts, lexer):
    language = grammar(text, lexer=lexer)
    parser = lark.Lark(text, parser="earley", lexer=lexer)
    assert {text: language.accepts(text) for text in texts} == {text: accepts(parser, text) for text in texts}


def judged_alike(text, lexer, rng):
    """Whether all texts are judged alike; None if one of the two refuses the grammar."""
    try:
        parser = lark.Lark(text, parser="earley", lexer=lexer)
        language = grammar(text, lexer=lexer)
    except (lark.exceptions.LarkError, detent.DetentError):
        return None
    short = ("".join(letters) for length in range(4) for letters in product("abc ", repeat=length))
    long = ("".join(rng.choice("aabbc #A") for _ in range(rng.randint(4, 8))) for _ in range(40))
    return [text for text in [*short, *long] if language.accepts(text) != accepts(parser, text)] == []


@pytest.mark.parametrize("lexer", LEXERS)
def test_random_grammars(lexer):
    answers = {seed: judged_alike(random_grammar(Random(seed)), lexer, Random(seed)) for seed in range(100)}
    assert [seed for seed, answer in answers.items() if answer is False] == []
    assert sum(answer is True for answer in answers.values()) > 60


def test_a_nested_schema_is_ignored_around():
    language = grammar('start: %json {"type": "integer"} ";"\n%ignore /#[^\\n]*\\n/', lexer="dynamic_complete")
    assert [text for text in ("5;", "#x\n5;", "5#\n;#\n", "#5;", "5#;") if language.accepts(text)] == [
        "5;",
        "#x\n5;",
        "5#\n;#\n",
    ]


@pytest.mark.parametrize("name", ["CALCULATOR", "CALLS"])
def test_larger_grammars(name):
    texts = {
        "CALCULATOR": ["1+2*(3-x)", "x = 1 / 2", "1 +", "-1", "1.5e3 -x", "", "xx x", "1 2"],
        "CALLS": ["[f()]", "[f(a=1, b='x')]#c\n", "[ f ( [1, 2], {'a': None} ) ]", "[f(]", "[f(True)]", "[]", "[f(#)]"],
    }[name]
    text = getattr(lark_grammars, name)
    language, parser = grammar(text, lexer="dynamic"), lark.Lark(text, parser="earley", lexer="dynamic")
    assert {text: language.accepts(text) for text in texts} == {text: accepts(parser, text) for text in texts}
