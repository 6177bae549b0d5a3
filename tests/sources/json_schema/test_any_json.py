r"""The schema `true` is any JSON text: accepted exactly when RFC 8259 says so, within the documented bounds.

The bounds are of layout and text, not of values: no byte order mark, no lone surrogates (which UTF-8 cannot write and
whose escapes are no text), and white space within the default bound. Where RFC 8259 leaves a choice, ours is listed.
"""

from __future__ import annotations

import json
import math
import sys
from random import Random
from typing import Any

import pytest

import detent

ANY = detent.json_schema(True, spelling="any")
SPACED = detent.json_schema(True, spelling="any", whitespace=r"[ \t\n\r]*")

VALID = [
    *[
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "-1",
        "10",
        "1.0",
        "0.1",
        "-0.0",
        "1e5",
        "1E5",
        "1e+5",
        "1e-5",
        "1.5e10",
    ],
    *["123456789012345678901234567890", "0.00000000000000000000000000001", "1e400", "-1.0E-400", "0e0", "0e+1", "20e1"],
    *[
        '""',
        '"a"',
        '"é"',
        '"\u20ac"',
        '"😀"',
        r'"\u0041"',
        r'"\ud83d\ude00"',
        r'"\uD83D\uDE00"',
        r'"\""',
        r'"\\"',
        r'"\/"',
    ],
    *[
        '"/"',
        r'"\b\f\n\r\t"',
        r'"\u0000"',
        '"\x7f"',
        '"\u2028\u2029"',
        '"\ufeff"',
        '"\U0010ffff"',
        r'"\uffff"',
        '"\uffff"',
    ],
    *[
        r'"\uDBFF\uDFFF"',
        r'"\u00e9"',
        r'"\\u0041"',
        r'"\\\\"',
        '"\'"',
        '"a b"',
        '" "',
        r'"\u0022"',
        r'"\u005C"',
        '"{}[],:"',
    ],
    *[
        "[]",
        "[1]",
        "[1,2]",
        "[1, 2]",
        "[[]]",
        "[[],[]]",
        "[[[[]]]]",
        "[null]",
        '[""]',
        "[{}]",
        "[true,false,null]",
        "[ ]",
    ],
    *["{}", '{"a":1}', '{"a": 1}', '{"a":1,"b":2}', '{"a": 1, "b": 2}', '{"":0}', '{"a":{}}', '{"a":[]}', "{ }"],
    *['{"a":1,"a":2}', r'{"\u0061":1}', r'{"\"":1}', '{"a":{"a":{"a":null}}}', '[{"a":[{"b":[]}]}]', '{"é":"é"}'],
    *["[ 1 ]", "[1 ,2]", "[\n1\n]", "[1,\r\n2]", '{"a" : 1}', '{ "a":1 }', "[1\n,2]"],
]
INVALID = [
    *[
        "",
        " ",
        "nul",
        "nulll",
        "NULL",
        "True",
        "tru",
        "falsee",
        "undefined",
        "NaN",
        "Infinity",
        "-Infinity",
        "nan",
        "None",
    ],
    *[
        "+1",
        "01",
        "-01",
        "00",
        "1.",
        ".1",
        "-.1",
        "1.e5",
        "1e",
        "1e+",
        "1e5.5",
        "0x1",
        "1_000",
        "-",
        "--1",
        "1-",
        "1 2",
        "1,",
    ],
    *[
        "0.e1",
        "1.0e",
        "1.0e-",
        "- 1",
        "1 .0",
        "1e 5",
        "\u0661",
        "1\u0661",
        "e5",
        "1eE2",
        "1.2.3",
        "0b1",
        "0o7",
        "1f",
        "1L",
    ],
    *[
        '"',
        '"a',
        'a"',
        '"a""b"',
        "'a'",
        '"\n"',
        '"\t"',
        '"\r"',
        '"\x00"',
        '"\x1f"',
        '"\x08"',
        r'"\a"',
        r'"\v"',
        r'"\0"',
        r'"\x41"',
    ],
    *[
        r'"\u"',
        r'"\u0"',
        r'"\u00"',
        r'"\u004"',
        r'"\u004g"',
        r'"\U0041"',
        r'"\'"',
        '"\\',
        '"\\"',
        r'"\u 041"',
        r'"\ "',
        '"\\\n"',
    ],
    *[
        "[",
        "]",
        "[1",
        "1]",
        "[,]",
        "[1,]",
        "[,1]",
        "[1,,2]",
        "[1 2]",
        "[1;2]",
        "[1:2]",
        "[[]",
        "[]]",
        "[}",
        "(1)",
        "[1,",
        "[a]",
    ],
    *[
        "{",
        "}",
        '{"a"}',
        '{"a":}',
        '{"a":1',
        '{"a":1,}',
        '{,"a":1}',
        '{"a":1,,"b":2}',
        "{a:1}",
        "{1:1}",
        "{'a':1}",
        '{"a",1}',
    ],
    *[
        '{"a"::1}',
        '{"a":1 "b":2}',
        '{"a":1;"b":2}',
        '{"a" 1}',
        '{"a":1:2}',
        "{[]:1}",
        "{null:1}",
        '{"a":1}}',
        '{{"a":1}}',
        "{]",
    ],
    *[
        '{"a":1}[]',
        "[]{}",
        "null null",
        "[1]//",
        "/**/1",
        "[1]#",
        "// c\n1",
        "\ufeff1",
        "\u00a01",
        "[\u00a01]",
        "[\x0b]",
        "[\x0c]",
    ],
    *[
        "[\u2028]",
        "1\x00",
        "\x001",
        "[1\x00]",
        "*",
        "<null>",
        "\\",
        "\\u005b]",
        "[\\n]",
        ":",
        ",",
        "$",
        "@",
        "1!",
        "~",
        "`1`",
    ],
]
OUR_CHOICE = {
    r'"\ud83d"': False,  # half of a surrogate pair is no text
    r'"\ude00\ud83d"': False,
    r'"\ud83d\ud83d"': False,
    r'"\ud83da"': False,
    r'"\ud83d\u0041"': False,
}
BYTES = [
    b'"\xff"',
    b'"\xc3"',
    b'"\xc0\x80"',
    b'"\xed\xa0\x80"',
    b'"\xf4\x90\x80\x80"',
    b'"\xe2\x82"',
    b"\xff",
    b"[\xe9]",
    b"\xef\xbb\xbf1",
]


@pytest.mark.parametrize("text", VALID)
def test_json_is_accepted(text: str) -> None:
    json.loads(text)
    assert ANY.accepts(text)
    for around in ("[{}]", "[1,{}]", '{{"a":{}}}', '[[{{"k":[{}]}}]]'):
        assert ANY.accepts(around.format(text))


@pytest.mark.parametrize("text", INVALID)
def test_what_is_no_json_is_refused(text: str) -> None:
    assert not ANY.accepts(text)
    for around in ("[[{}]]", '{{"a":{}}}'):
        # A list of nothing is one, and two values with a comma between them are, too.
        whole = around.format(text)
        assert ANY.accepts(whole) == _is_json(whole)


@pytest.mark.parametrize(("text", "choice"), OUR_CHOICE.items())
def test_where_the_standard_leaves_a_choice(text: str, choice: bool) -> None:
    assert ANY.accepts(text) == choice


@pytest.mark.parametrize("text", BYTES)
def test_bytes_that_are_no_text_are_refused(text: bytes) -> None:
    assert not ANY.accepts(text)


def test_texts_near_json_are_judged_as_the_parser_judges_them() -> None:
    choose = Random(0)
    pieces = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "a",
        "\\",
        "1",
        "0",
        "-",
        ".",
        "e",
        " ",
        "true",
        "null",
        '"a"',
        '"a":',
        "[]",
        "{}",
    ]
    for _ in range(4_000):
        text = choose.choice(VALID) if choose.random() < 0.5 else ""
        for _ in range(choose.randint(1, 4)):
            place = choose.randint(0, len(text))
            text = text[:place] + choose.choice(pieces) + text[place + choose.randint(0, 1) :]
        if text == text.strip():
            assert SPACED.accepts(text) == _is_json(text), text


def test_white_space_is_bounded_unless_asked_otherwise() -> None:
    for text in ("[1,\t2]", "[1,  2]", '{"a":   1}', "[\n\n1]", "[\r\n\t \n1]"):
        assert not ANY.accepts(text)
        assert SPACED.accepts(text)
    for text in ("[1, 2]", "[\n" + " " * 96 + "1\n]", '{\n\t"a": [\n\t\t1\n\t]\n}'):
        assert ANY.accepts(text)
    compact = detent.json_schema(True, spelling="any", whitespace="compact")
    assert compact.accepts('{"a":[1,2]}')
    assert not compact.accepts('{"a": [1,2]}')


def test_every_control_character_must_be_escaped() -> None:
    for code in range(0x20):
        assert not ANY.accepts(f'"{chr(code)}"')
        assert ANY.accepts(f'"\\u{code:04x}"')


def test_deep_nesting_is_read_without_recursion() -> None:
    depth = 20 * sys.getrecursionlimit()
    assert ANY.accepts("[" * depth + "]" * depth)
    assert not ANY.accepts("[" * depth + "]" * (depth - 1))
    assert ANY.accepts('{"a":' * depth + "1" + "}" * depth)


def test_values_nest_deeper_than_the_standard_library_reads() -> None:
    depth = 20 * sys.getrecursionlimit()
    value: Any = ANY.parse("[" * depth + "2.5" + "]" * depth)
    for _ in range(depth):
        (value,) = value
    assert value == 2.5
    assert isinstance(value, float)
    assert ANY.parse("7" * 9000) == int("7" * 100) * sum(10 ** (100 * i) for i in range(90))


def test_types_are_told_apart() -> None:
    kinds = {
        "null": "null",
        "boolean": "true",
        "integer": "1",
        "number": "1.5",
        "string": '"a"',
        "array": "[]",
        "object": "{}",
    }
    for kind in kinds:
        language = detent.json_schema({"type": kind}, spelling="any")
        for other, text in kinds.items():
            assert language.accepts(text) == (kind == other or (kind == "number" and other == "integer")), (kind, text)


def _is_json(text: str) -> bool:
    def refuse(name: str) -> float:
        raise ValueError(name)

    try:
        value = json.loads(text, parse_constant=refuse, parse_float=lambda digits: math.copysign(0.5, float(digits)))
    except ValueError:
        return False
    return _is_text(value)


def _is_text(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
