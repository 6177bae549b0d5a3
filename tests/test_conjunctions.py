"""Masks of intersections whose states are too many: the walk by conjuncts, beside the derivative by each token."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product
from random import Random

import pytest

import detent
from detent import _core
from tests.support.long_tests import mostly_long

_LETTERS = "abcde"
# Words of up to five letters, and what ends a string or escapes a character. All bytes are tokens.
_WORDS = ["".join(one) for count in range(1, 6) for one in product(_LETTERS, repeat=count)]
_ENDS = [
    word + end for word in _WORDS[:160] for end in ('"', "\\", "\\u00", "\\u0061", "é", "\xe9b", '",', "@d", "@d.e")
]
_ENDS += [word + '"' for word in _WORDS[160:]]
_TOKENS = sorted({*(word.encode() for word in [*_WORDS, *_ENDS]), *(bytes([byte]) for byte in range(256))})

_FORBIDDEN = "|".join(f"{letter}.{{{i}}}{letter}" for i, letter in enumerate(_LETTERS, 1))
_CONTAINED = [f"{a}.{{{i + 2}}}{b}" for i, (a, b) in enumerate(pairwise(_LETTERS))]
_LANGUAGES: dict[str, detent.Language] = {
    "without pairs": detent.regex(f"(?!.*(?:{_FORBIDDEN})).*"),
    "without pairs, up to a length": detent.regex(f"(?!.*(?:{_FORBIDDEN})).{{6,14}}"),
    "with all pairs": detent.regex("".join(f"(?=.*{pair})" for pair in _CONTAINED) + ".{1,24}"),
    "with a pair, without others": detent.regex(f"(?=.*{_CONTAINED[0]})(?!.*(?:{_FORBIDDEN})).{{1,12}}"),
    "strings with all pairs": detent.json_schema(
        {"type": "string", "allOf": [{"pattern": pair} for pair in _CONTAINED[:3]], "maxLength": 15}, spelling="any"
    ),
    "addresses without pairs": detent.json_schema(
        {"type": "string", "format": "email", "minLength": 8, "not": {"pattern": _FORBIDDEN}}
    ),
    "long strings without pairs": detent.json_schema(
        {"type": "string", "not": {"pattern": _FORBIDDEN}, "minLength": 6, "maxLength": 60}
    ),
    "long strings with pairs, without others": detent.json_schema(
        {"type": "string", "pattern": _CONTAINED[0], "not": {"pattern": _FORBIDDEN}, "maxLength": 60}
    ),
    "long addresses without a pair": detent.json_schema(
        {"type": "string", "format": "email", "not": {"pattern": "a.{12}b"}, "minLength": 12}
    ),
    "items without pairs": detent.json_schema(
        {"type": "array", "items": {"type": "string", "maxLength": 9, "not": {"pattern": _FORBIDDEN}}}
    ),
}


def _vocabulary() -> detent.Vocabulary:
    return detent.Vocabulary([*_TOKENS, b""], eos_token_ids=[len(_TOKENS)])


@pytest.fixture(scope="module")
def vocabulary() -> detent.Vocabulary:
    return _vocabulary()


def _dfa(language: detent.Language) -> _core.Automaton:
    return _core.Automaton(language._node, 250_000, 256 << 20, 20_000_000)


def _check_walk(guide: detent.Guide, dfa: _core.Automaton, seed: int, steps: int = 5) -> None:
    matcher, state, rng = guide.matcher(), dfa.start, Random(seed)
    for _ in range(steps):
        allowed = [i for i in matcher.allowed() if i < len(_TOKENS)]
        assert allowed == [i for i, token in enumerate(_TOKENS) if dfa.advance(state, token)]
        if not allowed:
            return
        choice = rng.choice([i for i in allowed if len(_TOKENS[i]) < 4] or allowed)
        matcher.advance(choice)
        state = dfa.advance(state, _TOKENS[choice])


_WIDE_TOKENS = sorted({b'"', b'x"', *(word.encode() for word in _WORDS), "ab\u00e9".encode(), b"\\u0061", b"\\u00"})
_WIDE = {
    "lookaheads": detent.regex("".join(f"(?=.*{pair})" for pair in _CONTAINED[:4]) + ".{0,16}"),
    "a lower bound": detent.regex(f"(?=.*{_CONTAINED[0]})(?=.*{_CONTAINED[1]})(?=.*{_CONTAINED[2]}).{{9,11}}"),
    "characters beyond ASCII": detent.regex("(?=.*\u00e9.x)(?=.*\u65e5.\u00e9)(?=.*b.{3}\u65e5)(?!.*a.b).{0,12}"),
    "strings": detent.json_schema(
        {"type": "string", "allOf": [{"pattern": pair} for pair in _CONTAINED[:4]], "maxLength": 14}, spelling="any"
    ),
    "one of several patterns": detent.json_schema(
        {"oneOf": [{"type": "string", "pattern": pair, "maxLength": 12} for pair in _CONTAINED[:4]]}, spelling="any"
    ),
}


@pytest.mark.parametrize("name", _WIDE)
@pytest.mark.parametrize("seed", mostly_long(range(4), always=1))
def test_numbers_of_characters(name: str, seed: int) -> None:
    """Each step of a text that ends near its last character: the tokens that fit beside those that the DFA takes."""
    language = _WIDE[name]
    tokens = sorted({*_WIDE_TOKENS, *(bytes([byte]) for byte in range(256))})
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    dfa = _core.Automaton(language._node, 250_000, 256 << 20, 20_000_000)
    guide = detent.compile(language, vocabulary, limits=detent.Limits(work=200_000_000))
    matcher, state, rng = guide.matcher(), dfa.start, Random(seed)
    for _ in range(12):
        allowed = [i for i in matcher.allowed() if i < len(tokens)]
        assert allowed == [i for i, token in enumerate(tokens) if dfa.advance(state, token)]
        if not allowed:
            return
        choice = rng.choice([i for i in allowed if len(tokens[i]) < 3] or allowed)
        matcher.advance(choice)
        state = dfa.advance(state, tokens[choice])


@pytest.mark.parametrize("name", _LANGUAGES)
@pytest.mark.parametrize("seed", mostly_long(range(3), always=1))
def test_masks_along_walks(name: str, seed: int, vocabulary: detent.Vocabulary) -> None:
    _check_walk(detent.compile(_LANGUAGES[name], vocabulary), _dfa(_LANGUAGES[name]), seed)


@pytest.mark.parametrize("name", mostly_long(list(_LANGUAGES), always=2))
def test_walks_of_a_guide_share_sets(name: str) -> None:
    """On several threads: each walk takes the sets that walks before it have made."""
    guide = detent.compile(_LANGUAGES[name], _vocabulary())
    with ThreadPoolExecutor(3) as pool:
        walks = [pool.submit(_check_walk, guide, _dfa(_LANGUAGES[name]), seed, 8) for seed in range(3)]
        for each in walks:
            each.result()


_WITHOUT_LONG_SEARCHES = ["without pairs", "without pairs, up to a length"]


@pytest.mark.parametrize("name", _WITHOUT_LONG_SEARCHES)
@pytest.mark.parametrize("seed", mostly_long(range(8), always=1))
def test_masks_near_a_limit_do_not_depend_on_earlier_walks(name: str, seed: int) -> None:
    """Other languages need searches for budgets that end early, in which bounds found earlier count."""

    def masks_along(guide: detent.Guide, max_tokens: int | None, choose: Callable[[list[int]], int]) -> list[list[int]]:
        matcher, masks = guide.matcher(max_tokens), []
        for _ in range(5):
            masks.append(list(matcher.allowed()))
            choices = [i for i in masks[-1] if i < len(_TOKENS) and len(_TOKENS[i]) < 4]
            if not choices:
                break
            matcher.advance(choose(choices))
        return masks

    for max_tokens in (6, 12):
        guide = detent.compile(_LANGUAGES[name], _vocabulary())
        expected = masks_along(guide, max_tokens, Random(seed).choice)
        later = detent.compile(_LANGUAGES[name], _vocabulary())
        for other in range(3):
            masks_along(later, None, Random(1000 + other).choice)
        assert masks_along(later, max_tokens, Random(seed).choice) == expected


@pytest.mark.parametrize("seed", mostly_long(range(60), always=6))
def test_random_conjunctions(seed: int, vocabulary: detent.Vocabulary) -> None:
    rng = Random(seed)

    def patterns(count: int) -> list[str]:
        return [f"{rng.choice(_LETTERS)}.{{{rng.randrange(6)}}}{rng.choice(_LETTERS)}" for _ in range(count)]

    wanted, unwanted = patterns(rng.randrange(4)), patterns(rng.randrange(5))
    least, most = rng.choice([(0, 12), (3, 9), (1, 20), (8, 30)])
    if seed % 2:
        schema = {"type": "string", "allOf": [{"pattern": each} for each in wanted] + [{"minLength": least}]}
        schema |= {"maxLength": most, "not": {"anyOf": [{"pattern": each} for each in unwanted] + [{"const": "x"}]}}
        language = detent.json_schema(schema, spelling=rng.choice(["any", "written"]))
    else:
        lookaheads = "".join(f"(?=.*{each})" for each in wanted) + "".join(f"(?!.*{each})" for each in unwanted)
        language = detent.regex(f"{lookaheads}.{{{least},{most}}}")
    if language.is_empty():
        with pytest.raises(detent.EmptyLanguageError):
            detent.compile(language, vocabulary)
        return
    try:
        guide = detent.compile(language, vocabulary)
    except detent.LimitError:
        pytest.skip("compile refuses it")
    _check_walk(guide, _dfa(language), seed)


@pytest.mark.parametrize("seed", mostly_long(range(200), always=40))
def test_live_states_have_a_text(seed: int) -> None:
    """Three or four patterns and a number of characters, beside all texts over an alphabet: which prefixes are live."""
    rng = Random(seed)
    forms = [".*a.{%d}b.*", ".*\u00e9.{%d}", "(?:..)*", "(?:a|\u00e9.)*", "[^a]*b.{%d,}", "(?!.*b.{%d}b).*", ".{%d}a.*"]
    patterns = [form.replace("%d", str(rng.randrange(4))) for form in rng.sample(forms, rng.randrange(2, 4))]
    least = rng.randrange(4)
    patterns += [rng.choice([".", "[ab\u00e9]"]) + f"{{{least},{least + rng.randrange(4)}}}"]
    language = detent.regex("[ab\u00e9]*")
    for pattern in patterns:
        language &= detent.regex(pattern)
    texts = {
        text.encode()
        for count in range(7)
        for text in map("".join, product("ab\u00e9", repeat=count))
        if all(re.fullmatch(pattern, text) for pattern in patterns)
    }
    dfa = _core.Automaton(language._node, 250_000, 256 << 20, 20_000_000)
    assert (dfa.start == 0) == (not texts)
    prefixes = [bytes(one) for count in range(7) for one in product(b"ab\xc3\xa9", repeat=count)] if texts else []
    live = {text[:end] for text in texts for end in range(len(text) + 1)}
    for prefix in prefixes:
        state = dfa.advance(dfa.start, prefix)
        assert (state != 0) == (prefix in live)
        if state:
            assert prefix + dfa.some_completion(state) in texts


@pytest.mark.parametrize("excluded", [".{11}", ".{9,12}", r"[0-9.]{4,}"])
def test_what_an_operand_excludes_is_dead(excluded: str) -> None:
    """The form shows it: a search would visit 2^11 states of the other excluded texts."""
    language = detent.regex(r"[0-9]*(?:\.[0-9]+)?") & detent.regex("[0-9.]{11}") & detent.regex(".{11}")
    language &= ~(detent.regex(excluded) | detent.regex(".*3.{11}"))
    assert _core.Automaton(language._node, 250_000, 256 << 20, 1_000).start == 0


def check_states(language: detent.Language, strings: list[str], texts: set[str]) -> None:
    """Compare the live states after all strings, and a completion of each, with all texts of a language."""
    dfa = _core.Automaton(language._node, 250_000, 256 << 20, 20_000_000)
    live = {text[:end] for text in texts for end in range(len(text) + 1)}
    for prefix in strings:
        state = dfa.advance(dfa.start, prefix.encode()) if dfa.start else 0
        assert (state != 0) == (prefix in live)
        if state:
            assert prefix + dfa.some_completion(state).decode() in texts


@pytest.mark.parametrize("seed", mostly_long(range(300), always=60))
def test_excluded_operands(seed: int) -> None:
    """Operands beside exclusions that contain some of them: which prefixes are live, by all texts."""
    rng = Random(seed)

    def pattern() -> str:
        least = rng.randrange(4)
        form = rng.choice(["(?s:.){%}", "[ab]{%}", "a{%}b?", ".*a.{%}", "b*a{%}", "(?:ab|b){%}"])
        return form.replace("%", f"{least},{least + rng.randrange(3)}")

    taken, excluded = [pattern() for _ in range(rng.randrange(1, 4))], [pattern() for _ in range(rng.randrange(1, 4))]
    excluded += rng.sample(taken, rng.randrange(len(taken) + 1)) if rng.random() < 0.3 else []
    language = detent.regex("[ab]{0,5}")
    for each in taken:
        language &= detent.regex(each)
    exclusion = detent.regex(excluded[0])
    for each in excluded[1:]:
        exclusion |= detent.regex(each)
    language &= ~exclusion
    strings = ["".join(one) for count in range(6) for one in product("ab", repeat=count)]
    texts = {
        text
        for text in strings
        if all(re.fullmatch(each, text) for each in taken) and not any(re.fullmatch(each, text) for each in excluded)
    }
    check_states(language, strings, texts)


@pytest.mark.parametrize("seed", mostly_long(range(120), always=24))
def test_many_patterns_in_few_characters(seed: int) -> None:
    """Patterns that may match anywhere, in a number of characters that hardly suffices: live states, by all texts."""
    rng = Random(seed)
    length, letters = rng.choice([(5, "abcd"), (7, "abc"), (10, "ab")])

    def pattern() -> str:
        end = rng.choice([".*", f".{{{rng.randrange(3)}}}"])
        return f".*{rng.choice(letters)}.{{{rng.randrange(length - 3)}}}{rng.choice(letters)}{end}"

    shape = rng.choice(
        [f"[{letters}]{{{length}}}", f"[{letters}]{{0,{length}}}", f"(?:[{letters}]{{2}}){{0,{length // 2}}}"]
    )
    taken, excluded = (
        [shape, *(pattern() for _ in range(rng.randrange(2, 5)))],
        [pattern() for _ in range(rng.randrange(3))],
    )
    language = detent.regex(taken[0])
    for each in taken[1:]:
        language &= detent.regex(each)
    for each in excluded:
        language &= ~detent.regex(each)
    accepted, refused = [re.compile(each) for each in taken], [re.compile(each) for each in excluded]
    strings = ["".join(one) for count in range(length + 1) for one in product(letters, repeat=count)]
    texts = {
        text
        for text in strings
        if all(each.fullmatch(text) for each in accepted) and not any(each.fullmatch(text) for each in refused)
    }
    check_states(language, strings, texts)


_ASKED_WITHIN = """
import detent
schema = {"anyOf": [
    {"type": "string", "maxLength": 36, "pattern": "^[^c]*-[ab]{4}$", "not": {"pattern": "a$"}},
    {"type": "string", "maxLength": 40, "pattern": "^b"},
]}
for _ in range(40):
    vocabulary = detent.Vocabulary([*(bytes([byte]) for byte in range(256)), b""], eos_token_ids=[256])
    detent.compile(detent.json_schema(schema) & detent.without("}", '" '), vocabulary)
"""


def test_known_texts_that_are_dropped_while_they_are_read() -> None:
    """A row that is made for a known text asks for other states, whose texts drop it; glibc fills what is freed."""
    environment = {**os.environ, "MALLOC_PERTURB_": "165"}
    subprocess.run([sys.executable, "-c", _ASKED_WITHIN], env=environment, check=True, timeout=120)
