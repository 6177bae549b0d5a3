"""The contextual lexer, against lark itself: the same texts are accepted and refused."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

import detent
from detent import grammar
from detent.limits import Limits
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.guards import Guard, Guards
from detent.sources.grammar.lark_bnf import expand_ebnf
from detent.sources.grammar.lark_definitions import Definitions
from detent.sources.grammar.lark_rules import LarkRules
from detent.sources.grammar.terminals import Path, Terminals
from tests.support import lark_grammars as grammars
from tests.support.derivation import strings
from tests.support.lark_grammars import random_grammar

lark = pytest.importorskip("lark")

PIECES = {
    "CALCULATOR": ["x", "1", "+", " ", "(", ")", "1.5e3", ".", "-", "=", "e", "xx", "*", "/", "\t"],
    "SQL": [
        *" \n,'*;.()1ab_+%/=<>!-",
        *["select", "SELECT ", "from", " from ", " where ", " and ", " or ", "x", "--c\n", "in", "is", "not", "null"],
        *["between", "1.5", " as ", " limit ", " desc", " order by ", " group by ", "<>", " having ", "''", "distinct"],
        *["fro", "m"],
    ],
    "CALLS": [
        *"[](){},.='\" #\n1a\\:_",
        *["True", "Tru", "e", "lambda", " lambda ", "None", "x", "-1.5e3", '"a"', "é", "\\n", "0", "12"],
    ],
}


def accepts(parser, text):
    try:
        parser.parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    return True


def mutated(rng, text, pieces):
    characters = list(text)
    for _ in range(rng.randint(1, 3)):
        index, kind = rng.randrange(len(characters) + 1), rng.randrange(4)
        if kind == 0:
            del characters[max(index - 1, 0) : index]
        elif kind == 1:
            characters[index:index] = rng.choice(pieces)
        elif kind == 2 and characters:
            start = rng.randrange(len(characters))
            characters[index:index] = characters[start : start + rng.randint(1, 6)]
        else:
            characters[max(index - 1, 0) : index] = rng.choice(pieces)
    return "".join(characters)


@pytest.mark.parametrize("name", sorted(PIECES))
def test_written_texts_and_their_neighbours(name):
    text, pieces = getattr(grammars, name), PIECES[name]
    language = grammar(text, lexer="contextual")
    parser = lark.Lark(text, parser="lalr", lexer="contextual")
    vocabulary = detent.Vocabulary([*map(str.encode, pieces), b"</s>"], eos_token_ids=[len(pieces)])
    guide = detent.compile(language, vocabulary)
    rng = Random(7)
    written = []
    for _ in range(60):
        matcher = guide.matcher(max_tokens=rng.choice([12, 20, 40]))
        out = ""
        while not matcher.is_finished:
            token = rng.choice(list(matcher.allowed()))
            matcher.advance(token)
            out += pieces[token] if token < len(pieces) else ""
        written.append(out)
    assert [text for text in written if not accepts(parser, text)] == []
    near = [mutated(rng, rng.choice(written), pieces) for _ in range(1500)]
    assert [text for text in near if language.accepts(text) != accepts(parser, text)] == []


def judged_alike(text, rng):
    """Whether the grammar is one for both and all texts are judged alike; None if it is refused."""
    try:
        parser = lark.Lark(text, parser="lalr", lexer="contextual")
        language = grammar(text, lexer="contextual")
    except (lark.exceptions.LarkError, detent.DetentError):
        return None
    short = ("".join(letters) for length in range(4) for letters in product("abc ", repeat=length))
    long = ("".join(rng.choice("aabbc #A") for _ in range(rng.randint(4, 8))) for _ in range(60))
    return [text for text in [*short, *long] if language.accepts(text) != accepts(parser, text)] == []


def test_random_grammars():
    answers = {seed: judged_alike(random_grammar(Random(seed)), Random(seed)) for seed in range(300)}
    assert [seed for seed, answer in answers.items() if answer is False] == []
    assert sum(answer is True for answer in answers.values()) > 100


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        pytest.param(
            'start: "if" NAME | NAME "=" NAME\nNAME: /[a-z]+/\n%ignore " "',
            ["if x", "ifx", "if = x", "iff = if", "i = x", "ifx = y", "x = iff"],
            id="keywords and names",
        ),
        pytest.param('start: A+ B?\nA: "a"\nB: "aa"', ["a", "aa", "aaa"], id="longer texts first"),
        pytest.param('start: (A | B)+\nA.2: "a"\nB: "ab"', ["ab", "a", "aa"], id="priorities"),
        pytest.param(
            'start: (KW | NAME)+\nKW: /if(?!\\w)/\nNAME: /\\w+/\n%ignore " "', ["if", "iffy", "if x"], id="lookahead"
        ),
        pytest.param(
            'start: LETTER~1..2 | WORD "x"\nWORD: /ab\\b/\nLETTER: /[a-c]/\n%ignore " "',
            ["ab", "ab x", "a b", "abc", "ac", "ab "],
            id="a lookahead accepts the end of the text",
        ),
        pytest.param("start: C x\nC: /\\/\\*.*?\\*\\//s\nx: /[a-z*\\/]+/", ["/**/a", "/* */ */", "/**/*/"], id="lazy"),
        pytest.param(
            "start: (N | D)+\nN: /\\d+(\\.\\d+)?/\nD: /\\./", ["1.5", "1.", "1..5", "1.5.", ".5", "1.5.5"], id="numbers"
        ),
        pytest.param(
            'start: [X] "y"\nX: "x"\n%ignore /x/', ["xy", "y", "xxyx", "x"], id="what is ignored is never a token"
        ),
        pytest.param('start: "a"* B\nB: "b"\n%ignore /#.*/', ["ab", "a#b", "a#b\nb", "#\nab", "ab#c"], id="comments"),
        pytest.param('start: OP+\nOP: "<" | "<=" | "="', ["<=", "<", "<=="], id="one terminal of several"),
        pytest.param(
            'start: "for" NAME "in" NAME | "in"\nNAME: /[a-z]+/\n%ignore / /',
            ["forxiny", "for x in y", "for in in in", "in", "forin in x", "for x iny"],
            id="what is a keyword depends on the place",
        ),
        pytest.param(
            "start: STR\n%import common.ESCAPED_STRING -> STR", ['"a"', r'"a\""', '"a""', r'"\\"', r'"\"'], id="strings"
        ),
    ],
)
def test_cases(text, texts):
    language = grammar(text, lexer="contextual")
    parser = lark.Lark(text, parser="lalr", lexer="contextual")
    assert {text: language.accepts(text) for text in texts} == {text: accepts(parser, text) for text in texts}


def test_conflicts():
    text = 'start: e\ne: e "+" e | NAME\nNAME: /[a-z]+/\n%ignore " "'
    assert grammar(text).accepts("a + b + c")
    with pytest.raises(detent.UnsupportedError, match="shift/reduce"):
        grammar(text, lexer="contextual")
    ambiguous = 'start: x | y\nx: "a"\ny: "a"'
    assert "dynamic_complete" in grammar(ambiguous).description
    with pytest.raises(detent.UnsupportedError, match="reduce/reduce"):
        grammar(ambiguous, lexer="contextual")


@pytest.mark.parametrize(
    "name", ["CNAME", "ESCAPED_STRING", "NUMBER", "SIGNED_NUMBER", "WS", "C_COMMENT", "SH_COMMENT"]
)
def test_the_terminals_of_common(name):
    text = f"start: {name}\n%import common.{name}"
    language = grammar(text)
    parser = lark.Lark(text, parser="lalr")
    for text in [
        "a1",
        "_",
        '"a\\"b"',
        '""',
        "1",
        "-1.5e+3",
        ".5",
        "1.",
        "+",
        " \n",
        "/* * */",
        "/**/ */",
        "# x",
        "#",
        "",
    ]:
        assert language.accepts(text) == accepts(parser, text), text


def test_grammars_that_come_with_lark():
    imported = "%import python (NAME, HEX_NUMBER, DEC_NUMBER)\n%ignore / /"
    text = 'start: ((NAME | HEX_NUMBER | DEC_NUMBER) ";")+\n' + imported
    language = grammar(text)
    parser = lark.Lark(text, parser="lalr")
    for text in ("x; 0xf_f ;12_3;", "0x;", "12_;", "é1;", "0b1;", "", "0_0;", "0_01;", "00;", "05;"):
        assert language.accepts(text) == accepts(parser, text), text
    with pytest.raises(detent.UnsupportedError, match="how long its match is"):  # "0_01" is "0" and "_01"
        grammar("start: (NAME | HEX_NUMBER | DEC_NUMBER)+\n" + imported)
    with pytest.raises(detent.UnsupportedError, match="looks beyond the terminal"):
        grammar("start: STRING\n%import python.STRING")
    with pytest.raises(detent.UnsupportedError, match="text from a program"):
        grammar("start: file_input\n%import python.file_input")


@pytest.mark.parametrize("lexer", ["contextual", "dynamic"])
@pytest.mark.parametrize("other", ["[è1]+", "[é1]+", "é?1+", "è|1"])
def test_characters_that_share_their_first_byte(other, lexer):
    text = f"start: (WORD OTHER)+\nWORD: /[aé]+/\nOTHER: /{other}/\n%ignore / +/"
    language = grammar(text, lexer=lexer)
    parser = lark.Lark(text, parser="lalr" if lexer == "contextual" else "earley", lexer=lexer)
    for candidate in strings("aéè1 ", 4):
        assert language.accepts(candidate) == accepts(parser, candidate), candidate


def test_no_guard_where_only_the_first_byte_of_characters_is_shared():
    text = 'start: (NUMBER | "-")+\nNUMBER: /\\d+/\n%ignore /\\s+/'
    source = GrammarText(text)
    rules = LarkRules(Definitions(source, Limits()), source, Limits())
    rules.start("start")
    assert expand_ebnf(rules, 1_000) is not None  # which finds the terminals
    terminals = Terminals(rules)
    (space,) = rules.ignored
    following = frozenset(range(len(rules.terminals))) - {space}
    path = Path(space, frozenset(), frozenset())
    assert set(terminals.first_bytes(space)) & set(terminals.first_bytes_of(following))
    assert Guards(terminals).narrowed(space, path, following) == (path, Guard.NONE)
