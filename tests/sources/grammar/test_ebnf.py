"""W3C-style EBNF: syntax, differences, errors."""

from __future__ import annotations

import pytest

import detent
from detent.sources.grammar import ebnf

# From the specification of XML 1.0, without the attributes' references.
XML = """
[1] document ::= element  /* no prolog */
[2] Char ::= #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]
[3] S ::= (#x20 | #x9 | #xD | #xA)+
[4] NameStartChar ::= ":" | [A-Z] | "_" | [a-z]
[4a] NameChar ::= NameStartChar | "-" | "." | [0-9]
[5] Name ::= NameStartChar (NameChar)*
[15] Comment ::= '<!--' ((Char - '-') | ('-' (Char - '-')))* '-->'
[17] PITarget ::= Name - (('X' | 'x') ('M' | 'm') ('L' | 'l'))
[16] PI ::= '<?' PITarget (S (Char* - (Char* '?>' Char*)))? '?>'
[39] element ::= '<' Name '/>' | '<' Name '>' (element | Comment | PI | [^<&])* '</' Name '>'
"""


def test_xml():
    language = ebnf(XML)
    for text in ("<a/>", "<a>x<b/><!-- c - d --><?p q?></a>", "<a><b>é</b></a>", "<a><?xmlx y ? z?></a>"):
        assert language.accepts(text), text
    for text in (
        "<a>",
        "<a><!-- c -- d --></a>",
        "<a><!-- c ---></a>",
        "<a><?XmL q?></a>",
        "<a>&</a>",
        "<a><?p q?</a>",
    ):
        assert not language.accepts(text), text


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ("a ::= 'x' b? \"'\"\nb ::= 'y'* - 'yy'", ["x'", "xyyy'"], ["xyy'"]),
        ("a ::= [a-c#x64] [^a] - 'x' #x21", ["db!", "ay!"], ["aa!", "ax!"]),
        ("a ::= b - c - 'z' b ::= [a-z] c ::= 'a' | 'b'", ["c", "y"], ["a", "b", "z"]),
        ("a ::= ('x' | 'y')+ - ('x' 'y')", ["x", "yx", "xyx"], ["xy", ""]),
        ("a ::= '(' a ')' | a a | ''", ["", "()(())"], ["(", ")("]),
        ("a ::= [a-] [-a]", ["--", "aa"], ["b-"]),
    ],
)
def test_syntax(text, accepted, refused):
    language = ebnf(text)
    assert [text for text in accepted if not language.accepts(text)] == []
    assert [text for text in refused if language.accepts(text)] == []


def test_start():
    assert ebnf("a ::= 'x' b ::= 'y'").accepts("x")
    assert ebnf("a ::= 'x' b ::= 'y'", start="b").accepts("y")
    with pytest.raises(detent.PatternSyntaxError, match="no rule 'c'"):
        ebnf("a ::= 'x'", start="c")


@pytest.mark.parametrize(
    ("text", "error", "place"),
    [
        ("a ::= 'x", detent.PatternSyntaxError, "line 1, column 7"),
        ("a ::= ('x'\n b ::= 'y'", detent.PatternSyntaxError, "line 1, column 7"),
        ("a ::= 'x' /* y", detent.PatternSyntaxError, "line 1, column 11"),
        ("a ::= #y", detent.PatternSyntaxError, "line 1, column 7"),
        ("a ::= #xD800", detent.PatternSyntaxError, "line 1, column 7"),
        ("a ::= #x99999999999999", detent.PatternSyntaxError, "line 1, column 7"),
        ("a ::= []", detent.PatternSyntaxError, "line 1, column 7"),
        ("a ::= [b-a]", detent.PatternSyntaxError, "line 1, column 8"),
        ("a ::= - 'x'", detent.PatternSyntaxError, "line 1, column 7"),
        ("a ::= 'x' -", detent.PatternSyntaxError, "line 1, column 11"),
        ("a ::= ('x' - | 'y')", detent.PatternSyntaxError, "line 1, column 12"),
        ("a ::= 'x' - - 'y'", detent.PatternSyntaxError, "line 1, column 13"),
        ("a ::= 'x' = 'y'", detent.PatternSyntaxError, "line 1, column 11"),
        ("a ::= b", detent.PatternSyntaxError, "line 1, column 7"),
        ("a ::= 'x'\na ::= 'y'", detent.PatternSyntaxError, "line 2, column 1"),
        ("x", detent.PatternSyntaxError, "line 1, column 1"),
        ("a ::= b - 'x' b ::= '(' b ')' | 'x'", detent.UnsupportedError, "line 1, column 9"),
        ("a ::= 'x' (", detent.PatternSyntaxError, "line 1, column 11"),
    ],
)
def test_errors_show_the_place(text, error, place):
    with pytest.raises(error) as caught:
        ebnf(text)
    assert place in str(caught.value)
    assert len(str(caught.value).encode()) <= 512


def test_empty():
    with pytest.raises(detent.PatternSyntaxError, match="no rules"):
        ebnf("  /* nothing */ ")
    with pytest.raises(detent.EmptyLanguageError, match="none ends"):
        ebnf("a ::= 'x' a")


def test_constraints_of_the_specification_are_comments():
    language = detent.ebnf(
        """
        [39] element ::= EmptyTag | STag content ETag [ WFC: Element Type Match ] [VC: Element Valid]
        [44] EmptyTag ::= '<' Name '/>' [wfc: Unique Att Spec]
        STag ::= '<' Name '>'   ETag ::= '</' Name '>' [vc: none]   content ::= element*   Name ::= [VCwfc:]
        """
    )
    assert language.accepts("<V><:/></w>")
    assert not language.accepts("<V></V>Element")


@pytest.mark.parametrize("text", ["digits = digit, { digit } ;", '(* ISO *)\nletter = "A" | "B" ;'])
def test_iso_ebnf_is_named(text):
    with pytest.raises(detent.UnsupportedError, match="ISO/IEC 14977"):
        detent.ebnf(text)
