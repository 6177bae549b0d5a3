r"""The first way to match, against `re.match` itself: what it takes is the longest tentative beginning."""

from __future__ import annotations

import re
from itertools import product
from random import Random

import pytest

import detent
from detent import _core
from detent.language import Language
from detent.limits import Limits
from detent.queries import ByteDfa
from detent.sources.grammar.language_set import LanguageSet
from detent.sources.grammar.leftmost_first import leftmost_first
from detent.sources.grammar.leftmost_match import LeftmostMatch, leftmost_match
from detent.sources.grammar.literal_alternatives import literals
from detent.sources.regex.parser import parse_with_widths
from tests.support.derivation import strings

PATTERNS = [
    "a|ab",
    "ab|a",
    "(a|ab)(c|bcd)",
    "a*b?",
    "a*?b",
    "a*?",
    "a+?b*",
    "(a|b)*?ab",
    "(ab|a)*b",
    "(a|ab)*?b",
    "a?ab?",
    "a??ab??",
    "a{1,3}a",
    "a{1,3}?a",
    "(a|ab){1,2}b?",
    "(?:a|ab){0,2}c",
    "(a*)(a|b)*",
    "(a*?)(ab)*",
    "((a|ab)*c?)*?b",
    "a(?!b)[ab]*c",
    "a(?=b)[ab]c",
    "[ab]+(?<=b)c",
    "(a|b(?!c))*c",
    "a++b",
    "a*+b?c",
    "(?>a+)b",
    "(a|b|ab)*c|a",
    "(aa|aab?)(b|c)",
    "a{2,}?",
    "(ab?)*?",
    "(a?b?)*c",
    "(?i:a|AB)b",
    "c|(b|(a|ab))(c|bc)?",
]


def match_of(pattern: str) -> LeftmostMatch:
    """Return the match of a pattern, by questions to a new set."""
    return leftmost_match(parse_with_widths(pattern, Limits()), LanguageSet())


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_longest_tentative_beginning_is_what_re_takes(pattern):
    match = match_of(pattern)
    assert match.after is None
    tentative, full = Language(match.tentative, ""), Language(match.full, "")
    for text in strings("abc", 5):
        assert full.accepts(text) == (re.fullmatch(pattern, text) is not None), text
        beginnings = [text[:end] for end in range(len(text) + 1) if tentative.accepts(text[:end])]
        found = re.match(pattern, text)
        assert (found[0] if found else None) == (beginnings[-1] if beginnings else None), text


def test_the_usual_terminals():
    comment = Language(match_of(r"/\*(?:.|\n)*?\*/").tentative, "")
    assert comment.accepts("/* a */")
    assert not comment.accepts("/* a */ b */")
    string = Language(match_of(r'".*?(?<!\\)(\\\\)*?"').tentative, "")
    assert string == detent.regex(r'"([^"\\\n]|\\[^\n])*"')
    word = match_of(r"[a-z_]\w*")
    assert word.tentative is word.full


def test_a_lookahead_at_the_end():
    match = match_of("ab*(?!c)")
    assert match.after is not None
    assert Language(match.after, "").accepts("c")


@pytest.mark.parametrize(
    "pattern",
    [
        "^a",
        "a$",
        r"\ba",
        "(?<!b)a",
        "a(?=b)",
        "(?!ab)a",
        "a(?!(?=b))b",
        "(b|bb){1,200}b(bb)?",
        r"(?!\ba)a",
    ],
)
def test_what_cannot_be_held(pattern):
    with pytest.raises(detent.UnsupportedError):
        match_of(pattern)


def test_nesting():
    deep = "(" * 200 + "a" + ")" * 200 + "*"
    assert Language(match_of(deep).tentative, "").accepts("aaa")


def tentative_texts(pattern, letters, length):
    found = {text: re.match(pattern, text) for text in strings(letters, length)}
    return [text for text, match in found.items() if match and match.end() == len(text)]


# Without an automaton: rounds that may be empty, possessive repeats, and atomic groups.
@pytest.mark.parametrize("pattern", sorted({*PATTERNS} - {"((a|ab)*c?)*?b", "(a?b?)*c", "a++b", "a*+b?c", "(?>a+)b"}))
def test_the_automaton_of_threads_accepts_the_tentative_texts(pattern):
    parsed = parse_with_widths(pattern, Limits())
    node = leftmost_first(parsed.tree, parsed.flags)
    assert node is not None
    language = Language(node, "")
    assert [text for text in strings("abc", 5) if language.accepts(text)] == tentative_texts(pattern, "abc", 5)


def random_pattern(rng, depth=3):
    kind = rng.randrange(9) if depth else 0
    if kind <= 2:
        return rng.choice(["a", "b", "c", ".", "[ab]", "[^a]", "ab", "a(?!b)", "(?<=a)b", "b(?=[ac])"])
    first, second = (random_pattern(rng, depth - 1) for _ in range(2))
    if kind <= 4:
        return f"(?:{first}|{second})"
    if kind <= 6:
        return first + second
    return f"(?:{first})" + rng.choice(["*", "*?", "+", "+?", "?", "??", "{1,3}", "{2}?", "{0,2}?"])


@pytest.mark.parametrize("seed", range(60))
def test_the_automaton_of_threads_on_random_patterns(seed):
    pattern = random_pattern(Random(seed)) + "c"
    parsed = parse_with_widths(pattern, Limits())
    node = leftmost_first(parsed.tree, parsed.flags)
    if node is not None:
        language = Language(node, "")
        assert [text for text in strings("abc", 5) if language.accepts(text)] == tentative_texts(pattern, "abc", 5)


def states_of(node):
    automaton = _core.Automaton(node, 1_000, 1 << 26, 1_000_000)
    waiting = [automaton.start]
    seen = set(waiting)
    for state in waiting:
        new = {target for target in automaton.row(state) if target} - seen
        seen |= new
        waiting += sorted(new)
    return len(seen)


@pytest.mark.parametrize(
    "pattern", [r"/\*(?:.|\r|\n)*?\*/", r"/(?!/)(\\/|\\\\|[^/])*?/[imslux]*", r'""".*?(?<!\\)(\\\\)*?"""']
)
def test_ambiguous_loops_have_few_states(pattern):
    assert states_of(match_of(pattern).tentative) <= 20


@pytest.mark.parametrize("seed", range(60))
def test_unions_of_literals(seed):
    rng = Random(seed)
    words = ["".join(rng.choices("ab", k=rng.randint(1, 4))) for _ in range(rng.randint(1, 6))]
    pattern = "|".join(words)
    if rng.random() < 0.5:
        pattern = f"a(?:{pattern})b?c" if rng.random() < 0.3 else f"b({pattern})(a|ab)"
    match = match_of(pattern)
    full, tentative = ByteDfa(match.full), ByteDfa(match.tentative)
    for length in range(8):
        for letters in product("ab", repeat=length):
            text = "".join(letters)
            found = re.match(pattern, text)
            assert full.accepts(text.encode()) == bool(re.fullmatch(pattern, text)), (pattern, text)
            assert tentative.accepts(text.encode()) == bool(found and found[0] == text), (pattern, text)


def test_a_union_of_literals_is_found():
    assert literals(parse_with_widths("ab|(?:abc|a|(b|c)d)e", Limits()).tree, 0) == [
        *(b"ab", b"abce", b"ae", b"bde", b"cde")
    ]
    for pattern in ("a|b+", "(?i:a)|b", "a|[bc]d", "a|^b"):
        assert literals(parse_with_widths(pattern, Limits()).tree, 0) is None
