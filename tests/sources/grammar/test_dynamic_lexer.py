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


COMMENTS = {
    "line or block": ("start: A+\nA: /a+/\nC: /%[^\\n]*/ | /<.*?>/s\nW: /[ \\n]+/\n%ignore W\n%ignore C", "a%<>\n"),
    "of which one goes on as the other": ("start: A+\nA: /[ab]/\nC: /%a*/ | /%ab+/\n%ignore C", "ab%"),
    "ends that differ": ('start: (A | "%")+\nA: /a+/\nC: /<a*>/ | /<a*>%/ | /<a+/\n%ignore C', "a<>%"),
    "the first of two": ('start: "a" "b"?\nC: /%(a|ab)/ | /%b/\n%ignore C', "ab%"),
}


@pytest.mark.parametrize("lexer", ["contextual", *LEXERS])
@pytest.mark.parametrize("name", COMMENTS)
def test_ignored_alternatives_end_as_in_lark(name, lexer):
    # What may follow a comment depends on the alternative that has read it.
    text, alphabet = COMMENTS[name]
    parser = lark.Lark(text, parser="lalr" if lexer == "contextual" else "earley", lexer=lexer)
    language = grammar(text, lexer=lexer)
    texts = [
        "".join(letters) for length in range(8 - len(alphabet) // 2) for letters in product(alphabet, repeat=length)
    ]
    accepted = [text for text in texts if accepts(parser, text)]
    assert [text for text in texts if language.accepts(text)] == accepted
    assert any("%" in text for text in accepted)


def test_comments_leave_no_guards():
    # With a guard, whether a state is live takes a search of the grammar: 108 states.
    comments = r"C: /\/\*(.|\n)*?\*\// | /\/\/[^\n]*/"
    text = 'start: "{" (start | x ";")* "}"\nx: /[a-z]+/ (("+" | "/") x)*\nW: /[ \\n]+/\n' + comments
    language = grammar(text + "\n%ignore W\n%ignore C", lexer="dynamic_complete")
    vocabulary = detent.Vocabulary([bytes([byte]) for byte in range(256)], eos_token_ids=None)
    guide = detent.compile(language, vocabulary)
    matcher = guide.matcher()
    for byte in b"{{a+b/c;//x\n/*/ */{}{a;}":
        matcher.advance(byte)
        matcher.fill_mask(detent.allocate_mask(1, len(vocabulary))[0])
    assert guide.state_count < 70


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
