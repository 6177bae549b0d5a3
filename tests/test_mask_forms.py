"""Masks of states by their form (literals, choices, runs, members, bounded strings), beside trying every token.

Every text of up to five characters over a small alphabet is a token, so that some token ends before, at and after each
bound. The oracle asks the package `regex` whether a token begins a match (`partial`).
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import regex

import detent
from detent.queries import ByteDfa

# Runs of few bytes with bounds, alone, before and after literals, and beside other choices.
RUNS = ["a{2,3}b", "a{0,3}", "a{3}", "[ab]{1,2}c", "a{2,}b", "(a{1,3}|bc)a", "ca{0,2}(b|ca)", "(a{0,2}b)?c{2,4}"]
CHOICES = ["(ab|ac|b)?ca", "(abc|ab)(c|a)?", "a?b?c?a", "((a|b)(c|ab))?b", "(ab?){1,2}c"]
# A JSON string of bounded length: escapes are one character each, and so is a surrogate pair.
STRINGS = [(0, 1), (1, 1), (1, 2), (2, 3), (0, 3), (3, 4)]


def vocabulary_of(alphabet: list[str], length: int) -> tuple[detent.Vocabulary, list[str]]:
    texts = ["".join(one) for count in range(1, length + 1) for one in product(alphabet, repeat=count)]
    return detent.Vocabulary([*(text.encode() for text in texts), b""], eos_token_ids=[len(texts)]), texts


VOCABULARY, TEXTS = vocabulary_of(["a", "b", "c"], 5)


def assert_masks(language: detent.Language, vocabulary: detent.Vocabulary, texts: list[str], pattern: str) -> None:
    """Compare the masks after each token of up to two characters with the tokens that begin a match."""
    guide = detent.compile(language, vocabulary)
    begins = {text: regex.fullmatch(pattern, text, partial=True) is not None for text in ["", *texts]}
    for before in [""] + [text for text in texts if len(text) <= 2 and begins[text]]:
        matcher = guide.matcher()
        if before:
            matcher.advance(texts.index(before))
        allowed = {texts[i] for i in matcher.allowed() if i < len(texts)}
        expected = {text for text in texts if regex.fullmatch(pattern, before + text, partial=True)}
        assert allowed == expected, before


@pytest.mark.parametrize("pattern", [*RUNS, *CHOICES])
def test_runs_and_choices(pattern: str) -> None:
    assert_masks(detent.regex(pattern), VOCABULARY, TEXTS, pattern)


@pytest.mark.parametrize("is_saved", [False, True])
def test_literals_among_many_siblings(is_saved: bool, tmp_path: Path) -> None:
    """Nodes of the trie with more than eight children find these in a table."""
    letters = "abcdefghijkl"
    vocabulary, texts = vocabulary_of(list(letters), 3)
    if is_saved:
        vocabulary.save(tmp_path / "vocabulary")
        vocabulary = detent.Vocabulary.load(tmp_path / "vocabulary")
    words = [a + letters[i - 1] + letters[-1 - i] + a for i, a in enumerate(letters)] + ["ab", "aba", "ll"]
    pattern = f"({'|'.join(words)})(?:gk|l?)"
    assert_masks(detent.regex(pattern), vocabulary, texts, pattern)


def assert_masks_of_bytes(language: detent.Language, tokens: list[bytes], texts: list[bytes]) -> None:
    """Compare the masks after some texts with the derivatives by each token, byte by byte; all bytes are tokens."""
    tokens = sorted({*tokens, *(bytes([byte]) for byte in range(256))})
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    guide, questions = detent.compile(language, vocabulary), ByteDfa(language._node)
    for before in texts:
        state = questions.after(before)
        if state == 0:
            continue
        matcher = guide.matcher()
        matcher.advance_bytes(before)
        allowed = {tokens[i] for i in matcher.allowed() if i < len(tokens)}
        assert allowed == {token for token in tokens if questions.after(before + token)}, before


@pytest.mark.parametrize("required", range(8))
@pytest.mark.parametrize("others", [False, True])
def test_the_next_members_of_an_object(required: int, others: bool) -> None:
    names = ["a", "b", "c"]
    schema = {
        "type": "object",
        "properties": {name: {"type": "null"} for name in names},
        "required": [name for i, name in enumerate(names) if required >> i & 1],
        "additionalProperties": {"type": "null"} if others else False,
    }
    tokens = [text.encode() for name in "abcd" for text in (f'{{"{name}"', f', "{name}', f'"{name}":null', f'{name}"')]
    tokens += [b'{"', b": null", b":null", b"}", b"{}", b', "', b":", b"null", b",", b"{", b'null, "', b'l, "b": n']
    before = [b"", b"{", b'{"a"', b'{"a": null', b'{"a": null, ', b'{"b": null', b'{"a": nul', b'{"c": null', b'{"b']
    assert_masks_of_bytes(detent.json_schema(schema), tokens, before)


@pytest.mark.parametrize("required", [[], ["item2"], ["item1", "item3"]])
@pytest.mark.parametrize("others", [False, True])
def test_members_whose_names_begin_alike(required: list[str], others: bool) -> None:
    """Tokens end before, in and after what the names have in common, after indents too."""
    names = ["item1", "item2", "item3"]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "required": required}
    language = detent.json_schema(schema | {"additionalProperties": others})
    starts = ["", "{", "{\n", "{\n  ", "\n\t", " ", "  ", ", ", ",\n "]
    insides = ["", '"', '"i', '"it', '"item', '"item2', '"item3"', '"item1":', '"items', '"x']
    tokens = [(start + inside).encode() for start in starts for inside in insides if start + inside]
    texts = [
        "",
        "{",
        "{\n",
        "{\n ",
        '{"',
        '{"it',
        '{"item1": 1',
        '{"item1": 1,',
        '{"item2": 3,\n',
        '{"item2": 3, "item',
    ]
    assert_masks_of_bytes(language, tokens, [text.encode() for text in texts])


@pytest.mark.parametrize("limits", STRINGS)
@pytest.mark.parametrize("pattern", [None, "[ax\u00e9\U0001f600]", "(ax|\u00e9a)"])
@pytest.mark.parametrize("spelling", ["any", "written"])
def test_bounded_strings(limits: tuple[int, int], pattern: str | None, spelling: str) -> None:
    least, most = limits
    schema: dict[str, object] = {"type": "string", "minLength": least, "maxLength": most}
    if pattern is not None:
        schema = {"type": "string", "pattern": f"^{pattern}{{{least},{most}}}$"}
    parts = ["a", "\u00e9", "\U0001f600", '\\"', "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\", '"', "u00", "x"]
    tokens = {"".join(one).encode() for count in (1, 2, 3) for one in product(parts, repeat=count)}
    tokens |= {b"a" * 4, b"a" * 5 + b'"', b"\xc3", b"\xa9", b'\xa9a"', b'"a"', b'{"'}
    before = [b"", b'"', b'"a', b'"aa', '"\u00e9'.encode(), b'"\\ud83d\\ude00', b'"\\u00', b'"\xc3', b'"\\', b'"ax']
    assert_masks_of_bytes(detent.json_schema(schema, spelling=spelling), sorted(tokens), before)


@pytest.mark.parametrize("least", range(3))
@pytest.mark.parametrize("most", [None, 3, 4])
def test_indents(least: int, most: int | None) -> None:
    """White space is a run of few bytes, and tokens are longer than its bounds."""
    space = detent.byte_class(b" \t").repeat(least, most)
    language = detent.literal("{") + space + detent.literal('"a"') + space + detent.literal("}")
    tokens = [
        b"{",
        b'"a"',
        b"}",
        b'"',
        b'a"}',
        *(b" " * count + end for count in range(7) for end in (b"", b'"a', b"}")),
    ]
    tokens = sorted({token for token in tokens if token} | {b"\t" * count for count in range(1, 6)})
    before = [b"", b"{", b"{ ", b"{  ", b'{  "a"', b'{  "a" ', b'{  "a"\t\t']
    assert_masks_of_bytes(language, tokens, before)


@pytest.mark.parametrize("limits", STRINGS)
def test_tokens_that_leave_a_bounded_string(limits: tuple[int, int]) -> None:
    least, most = limits
    text = {"type": "string", "minLength": least, "maxLength": most}
    schema = {"type": "array", "prefixItems": [text, {"type": "null"}], "minItems": 2, "items": False}
    insides = ["".join(one) for count in range(5) for one in product(["a", "\u00e9", '\\"'], repeat=count)]
    tokens = [inside.encode() + end for inside in insides for end in (b'"', b'", ', b'", n', b'",x', b'"]')]
    before = [b'["', b'["a', b'["aa', '["\u00e9'.encode(), b'["aaa']
    assert_masks_of_bytes(detent.json_schema(schema), tokens, before)


# Bounds inside unions, sequences and intersections: tokens of one letter reach each of them. The texts that `not` takes
# out leave completions that only a longer text has.
NESTED_BOUNDS = [
    ("^(x?(a|ab){0,24}|b)$", None),
    ("^(x?(aa){0,12}b?|a{3}b{0,20})$", None),
    ("^(x?a{0,24}|b)$", "^x?a{10,24}$"),
    ("^(a|x?(aa){0,16})$", "^a{7,32}$"),
    ("^((a|x){1,20}b){0,2}$", "^a*b?$"),
]
BEFORE, AFTER = [b"", b"x", b"b", b"\\u0061"], [b"", b"b", b'"', b"\\", b"\\u00"]


@pytest.mark.parametrize("longest", [8, 12, 15, 20, 27, 40])
@pytest.mark.parametrize(("pattern", "excluded"), NESTED_BOUNDS)
def test_bounds_inside_other_operators(pattern: str, excluded: str | None, longest: int) -> None:
    schema = {"type": "string", "pattern": pattern} | ({"not": {"pattern": excluded}} if excluded else {})
    tokens = [before + b"a" * count + after for count in range(longest) for before in BEFORE for after in AFTER]
    texts = [b'"', b'"x', b'"a', b'"xaaa', b'"aaaaaaaaab', b'"xaaaaaaaaaaaaaaaaaaaa']
    assert_masks_of_bytes(detent.json_schema(schema), [token for token in tokens if token], texts)


@pytest.mark.parametrize(
    "string", [{}, {"minLength": 1}, {"pattern": "^a*$"}, {"pattern": "^a+$"}, {"enum": ["", "a"]}]
)
@pytest.mark.parametrize("others", [False, True])
def test_tokens_that_end_a_string_where_it_begins(string: dict[str, object], others: bool) -> None:
    """In the trie of these tokens, only quotation marks follow `":"` and `","`."""
    members = {"a": {"type": "string", **string}, "b": {"type": "string"}}
    language = detent.json_schema({"type": "object", "properties": members, "additionalProperties": others})
    tokens = [b'":""', b'":"",', b'":"","', b'":""}', b'","', b'","":', b'a":""', b'": ""}', b'a":"","b":""}']
    assert_masks_of_bytes(language, tokens, [b'{"a', b'{"', b'{"a":"', b'{"a":"a', b'{"a": "a","b', b'{"a": "", "b'])
