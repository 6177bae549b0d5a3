"""Lark's notation: what it means where every split counts, what is refused, and where the errors point."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent import grammar
from tests.support.derivation import derived, strings

NAMES = ["start", "x", "y", "z"]
ROWS = st.lists(st.lists(st.sampled_from([*NAMES, "a", "b", "ab"]), max_size=3), min_size=1, max_size=3)


def written(rules):
    def symbol(name):
        return name if name in rules else f'"{name}"'

    return "\n".join(
        f"{name}: " + " | ".join(" ".join(map(symbol, row)) for row in rows) for name, rows in rules.items()
    )


@settings(max_examples=150)
@given(st.fixed_dictionaries({name: ROWS for name in NAMES}))
def test_random_grammars(rules):
    texts = derived(rules, 5)["start"]
    try:
        language = grammar(written(rules), lexer="dynamic_complete")
    except detent.EmptyLanguageError:
        assert not texts
        return
    assert not [text for text in strings("ab", 5) if language.accepts(text) != (text in texts)]


@pytest.mark.parametrize("lexer", ["dynamic_complete", "auto"])
@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ('start: "a"+ ["b" "c"] "d"~2..3', ["add", "aabcddd"], ["ad", "abdd", "dd"]),
        ('start: ("a" | "b" -> two)* x?\n?x: y\n!y: "c"', ["", "abac"], ["c c", "cc"]),
        ('start: "a"~3 "b"{2,} "c"{0,1}', ["aaabb", "aaabbbc"], ["aabb", "aaab"]),
        ('start: A B\nA: "x".."z"\nB: /\\d+/ | "#"', ["x1", "z#"], ["a1", "x"]),
        ("start: /a.c/s /D/i", ["a\ncd", "abcD"], ["abc"]),
        ('start: "if"i NAME\n%import common.CNAME -> NAME\n%import common.WS\n%ignore WS', [" IF  x1 "], ["if 1"]),
        ('start: sep{NUMBER, ","}\nsep{x, d}: x (d x)*\n%import common.NUMBER', ["1,2.5,3"], ["1,", ""]),
        ('start: a{"x"} a{b{"y"}}\na{t}: t+\nb{t}: "<" t ">"', ["xx<y>", "x<y><y>"], ["x", "<y>"]),
        ('start: A\nA: "a"\n%extend A: "b"', ["a", "b"], ["ab"]),
        ('start: x\nx: "a"\n%override x: "b"', ["b"], ["a"]),
        ('start: "a" // one\n  | "b" # two\n\n  | "c"\n', ["a", "b", "c"], ["d"]),
        ('start: "\\n\\x41\\u00e9\\\\" /\\//', ["\nAé\\/"], ["nAé\\/"]),
        ('start: W\nW: /[a-z]+/ & ~("if" | "else") & /.{1,4}/', ["i", "iff", "elsa"], ["if", "else", "aaaaa", "1"]),
        ('start: W "!"\nW: ~/.*[!a].*/s', ["!", "bcd!", "é!"], ["a!", "!!"]),
        ('start: start "+" start | "1"', ["1", "1+1+1"], ["1+", ""]),
        ("start: " + "%json " + '{"type": "integer", "minimum": 5} ";"\n%ignore " "', ["5;", " 17 ;"], ["4;", "5"]),
        (
            'start: "q: " %regex {"substring_words": "to be or not"}',
            ["q: ", "q: to be", "q: be or"],
            ["q: tobe", "q: o"],
        ),
        (
            'start: %regex {"substring_chars": "abc"} %regex {"substring_chunks": ["xy", "z"]}',
            ["bcxyz", "z", ""],
            ["acz", "x"],
        ),
        ('start: "a" \\\n  "b"', ["ab"], ["a"]),
    ],
)
def test_syntax(text, accepted, refused, lexer):
    if "W: ~" in text:  # the empty text is among these, which no lexer of Lark's takes
        with pytest.raises(detent.PatternSyntaxError, match="empty text"):
            grammar(text, lexer=lexer)
        return
    language = grammar(text, lexer=lexer)
    assert [text for text in accepted if not language.accepts(text)] == []
    assert [text for text in refused if language.accepts(text)] == []


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ('start: "a', 1, 8, "text is not closed"),
        ("start: /a", 1, 8, "regex is not closed"),
        ("start: (", 1, 8, "group is not closed"),
        ('start: "a" )', 1, 12, "closes nothing"),
        ('start: ("a"\n"b")', 1, 8, "group is not closed"),
        ('start: "a"\n  ~ 2', 2, 3, "must begin here"),
        ("start: *", 1, 8, "nothing stands here"),
        ('start: "a" ~ 5..2', 1, 12, "impossible"),
        ('start: "a" ~ -1', 1, 14, "below 0"),
        ("start: x", 1, 8, "'x' is not defined"),
        ('start: valeu\nvalue: "x"', 1, 8, "define it; did you mean 'value'"),
        ("start: NUMBR\n%import common.NUMBER", 1, 8, "define it; did you mean 'NUMBER'"),
        ("start: WORDS\n%import common.WORDS", 2, 1, "correct the name; did you mean 'WORD'"),
        ('Start: "x"', 1, 1, "small letters and capitals"),
        ('start = "x"', 1, 7, "write name: ..."),
        ('start: "x"\n%ignore\n', 2, 1, "%ignore names nothing"),
        ("start: A\nB: A\nA: B", 3, 4, "calls itself"),
        ("start: A\nA: x\nx: A", 2, 4, "calls a rule"),
        ('start: "a"\nstart: "b"', 2, 1, "defined twice"),
        ('A: "a" -> b\nstart: A', 1, 8, "no alias"),
        ('start: "a" -> b c', 1, 17, "ends its option"),
        ('start: "a" -> B', 1, 15, "small letters"),
        ("start: /(/", 1, 8, "regex is refused"),
        ("start: /a\nb/", 1, 8, "several lines"),
        ('start: ""', 1, 8, "empty terminal"),
        ("start: /a*/", 1, 8, "empty text"),
        ('start: "ab".."c"', 1, 8, "one character to another"),
        ('start: "\\ud800"', 1, 9, "no character of UTF-8"),
        ('start: "\\x4"', 1, 9, "more hex digits"),
        ('start: t{"a"}\nt{x, y}: x y', 1, 8, "takes 2 arguments"),
        ("start: t\nt{x}: x", 1, 8, "needs its arguments"),
        ("t{x}: x\nstart: t{", 2, 10, "argument is missing"),
        ("%foo x\nstart: A", 1, 1, "no statement"),
        ("start: %json", 1, 8, "needs JSON"),
        ('start: %regex {"a": 1', 1, 8, "needs JSON"),
        ("%import common.NOPE\nstart: NOPE", 1, 1, "has no 'NOPE'"),
        ('A: & "a"\nstart: A', 1, 4, "before the &"),
        ('start "a"', 1, 7, "colon is missing"),
        ('start: "a" ^', 1, 12, "no meaning"),
        ('start: "z".."a"', 1, 8, "a range goes up"),
    ],
)
def test_errors_show_the_place(text, line, column, words):
    with pytest.raises(detent.PatternSyntaxError) as caught:
        grammar(text)
    message = str(caught.value)
    assert words in message
    assert f"line {line}, column {column}:" in message
    assert message.split("\n")[2].strip() == "^"
    assert len(message.encode()) <= 512


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("start: A\nA: <|eot_id|>", "special token"),
        ("start: <[12]>", "by its id"),
        ("%declare A\nstart: A", "gets its text from a program"),
        ("%import .local.A\nstart: A", "no files are read"),
        ("%import passwords.A\nstart: A", "no files are read"),
        ("start: A & A\nA: /a/", "combines languages"),
        ('A: %json {"type": "null"}\nstart: A', "inside a terminal"),
        ("start: /(a)\\1/", "not regular"),
        ("start: /^a/", "anchor"),
        ("start: /\\ba/", "\\b at the start"),
        ('start: %regex {"other": "x"}', "%regex with other"),
    ],
)
def test_what_cannot_be_held(text, words):
    with pytest.raises(detent.UnsupportedError) as caught:
        grammar(text)
    assert words in str(caught.value)
    assert len(str(caught.value).encode()) <= 512


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", detent.PatternSyntaxError),
        ("// nothing\n", detent.PatternSyntaxError),
        ('foo: "a"', detent.PatternSyntaxError),
        ("%ignore MISSING\nstart: /a/", detent.PatternSyntaxError),
        ("start: start", detent.EmptyLanguageError),
        ('start: "a"{1000000000000}', detent.LimitError),
        ("start: " + "(" * 300, detent.LimitError),
        ('start: a{"x"}\na{t}: t | a{a{t}}', detent.LimitError),
        ("start: A0\n" + "\n".join(f"A{i}: A{i + 1} A{i + 1}" for i in range(30)) + '\nA30: "a"', detent.LimitError),
        (3, detent.ArgumentError),
    ],
)
def test_other_errors(text, error):
    with pytest.raises(error) as caught:
        grammar(text)
    assert len(str(caught.value).encode()) <= 512


def test_start_and_lexer():
    text = 'start: "a"\nother: "b"'
    assert grammar(text, start="other").accepts("b")
    with pytest.raises(detent.ArgumentError, match="lexer is one of"):
        grammar(text, lexer="basic")


def test_every_split_or_lark_s():
    text = 'start: NAME "if" NAME\nNAME: /[a-z]+/'
    assert grammar(text, lexer="dynamic_complete").accepts("xify")
    with pytest.raises(detent.EmptyLanguageError, match="contextual lexer reads other terminals"):
        grammar(text, lexer="contextual")
    assert not grammar(text + '\n%ignore " "').accepts("xify")
    assert grammar(text + '\n%ignore " "').accepts("x if y")


def test_a_lookahead_at_the_end_counts_with_every_lexer():
    for lexer in ("dynamic_complete", "dynamic", "contextual"):
        language = grammar('start: A ["b"]\nA: /if(?!b)/', lexer=lexer)
        assert language.accepts("if")
        assert not language.accepts("ifb")


def test_a_lookahead_that_selects_among_prefixes_is_refused():
    with pytest.raises(detent.UnsupportedError, match="which of its prefixes"):
        grammar('start: A ["b"]\nA: /a+(?!b)/', lexer="dynamic_complete")
    for lexer in ("dynamic", "contextual"):  # `re` backtracks from "aa" to "a" before "ab"
        with pytest.raises(detent.UnsupportedError, match="how long its match is"):
            grammar('start: A "ab"\nA: /a+(?!b)/', lexer=lexer)
    assert not grammar('start: A ["b"]\nA: /a+(?!b)/', lexer="contextual").accepts("aab")


def test_large_counts():
    language = grammar('start: x~1000 y~0..100\nx: "a" | "(" x ")"\ny: "b"')
    assert language.accepts("a" * 999 + "((a))" + "b" * 100)
    assert not language.accepts("a" * 1000 + "b" * 101)
    assert not language.accepts("a" * 999)


def test_the_value_is_the_text():
    assert grammar('start: "a" "b"').parse("ab") == "ab"


def test_a_grammar_travels():
    import pickle

    language = pickle.loads(pickle.dumps(grammar('start: "(" start ")" | NAME\nNAME: /[a-z]+/')))
    assert language.accepts("((x))")
    assert not language.accepts("((x)")


def test_unicode_properties_in_terminals():
    language = grammar("start: W\nW: /\\p{Lu}\\p{Ll}+/")
    assert language.accepts("Élan")
    assert not language.accepts("élan")


@pytest.mark.parametrize(
    "text", ['start: "\ud800"', "start: /\ud800/", 'start: "a".."\udfff"', "start: A\nA: /[\ud800]/"]
)
def test_lone_surrogates_are_refused(text):
    for lexer in ("auto", "dynamic"):
        with pytest.raises(detent.PatternSyntaxError, match="surrogate"):
            grammar(text, lexer=lexer)


@pytest.mark.parametrize("rest", ["", "\nNAME: /[a-z][a-z0-9]*/\n%ignore / +/"])
def test_many_literals_are_read_in_seconds(rest):
    words = [f"{letter}{number}" for letter in "abcdefgh" for number in range(50)]
    name = " | NAME" if rest else ""
    language = grammar("start: item+\nitem: " + " | ".join(f'"{word}"' for word in words) + name + rest)
    assert language.accepts("a7")
    assert grammar("start: T\nT: " + " | ".join(f'"{word}"' for word in words)).accepts("h49")


@pytest.mark.parametrize(
    ("read", "text", "advice"),
    [
        (detent.grammar, 'root ::= "a"', "detent.gbnf and detent.ebnf read rules with ::="),
        (detent.gbnf, 'start: "a"', "detent.grammar reads rules with a colon"),
        (detent.grammar, "", "write start: ..."),
    ],
)
def test_a_grammar_in_another_notation_is_told_its_reader(read, text, advice):
    with pytest.raises(detent.PatternSyntaxError, match=advice):
        read(text)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ('{"type": "integerr"}', detent.errors.SchemaError),
        ('{"type": "integer", }', detent.errors.SchemaError),
        ('{"$ref": "#/none"}', detent.errors.SchemaError),
        ('{"uniqueItems": true, "items": {"type": "string"}, "contains": {"const": "a"}}', detent.UnsupportedError),
    ],
)
def test_errors_of_a_nested_schema_say_where_it_stands(schema: str, kind: type[detent.DetentError]) -> None:
    text = f'start: a b\na: %json {{"type": "string"}}\nb: "," %json {schema}'
    with pytest.raises(kind, match=r"^%json at line 3, column 8: ") as raised:
        grammar(text)
    assert (raised.value.position, raised.value.line, raised.value.column) == (text.rindex("%json"), 3, 8)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('start: a\na: a "x"', "calls rules that call themselves"),
        ('start: A b\nb: "x" | "y"\nA: /[a-z]+/', "the contextual lexer reads other terminals"),
    ],
)
def test_a_grammar_without_texts_says_whether_its_lexer_is_the_cause(text, words):
    with pytest.raises(detent.EmptyLanguageError, match=words):
        grammar(text, lexer="contextual")
