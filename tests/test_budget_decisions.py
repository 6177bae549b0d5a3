"""Budgets answer alike: masks and steps, any order of questions, and a limit beside the next larger one.

The rules are such that some searches end early, so that answers could depend on what was found before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from random import Random

import pytest

import detent
from tests.support.reference import language, random_tree

_BYTES = [bytes([byte]) for byte in range(256)]


def _vocabulary(tokens: list[bytes], alphabet: list[bytes] = _BYTES) -> detent.Vocabulary:
    every = [*alphabet, *dict.fromkeys(tokens)]
    return detent.Vocabulary([*every, b""], eos_token_ids=[len(every)])


def _strings(letters: bytes, longest: int) -> list[bytes]:
    return [bytes(text) for size in range(2, longest + 1) for text in product(letters, repeat=size)]


Case = tuple[detent.Language, detent.Vocabulary]


def _tree(rng: Random) -> Case:
    tree = random_tree(rng, rng.randrange(3, 8), (b"a", b"b", b"ab", b"ba", b"aab"))
    return language(tree), _vocabulary(_strings(b"ab", 3))


def _sparse_tree(rng: Random) -> Case:
    tree = random_tree(rng, rng.randrange(3, 8), (b"a", b"b", b"ab", b"ba", b"aab"))
    return language(tree), _vocabulary([b"ab", b"bb", b"aab"], [b"a"])


def _rules(rng: Random) -> Case:
    """Two rules that call each other."""
    lines = ["root ::= S"]
    for name in "ST":
        bodies = [f'"{rng.choice("abc")}"']
        for _ in range(3):
            symbols = rng.choices(["S", "T", '"a"', '"b"', '"("', '")"', '"ab"'], k=rng.randrange(2, 4))
            bodies.append(" ".join(symbols))
        lines.append(f"{name} ::= {' | '.join(bodies)}")
    longer = ["".join(rng.choices("abc()", k=rng.randrange(2, 5))).encode() for _ in range(30)]
    return detent.gbnf("\n".join(lines)), _vocabulary(longer)


def _distinct(rng: Random) -> Case:
    member = {"type": "object", "properties": {"q": {"type": "string"}, "a": {"enum": [1, 2]}}, "required": ["q", "a"]}
    items: list[dict[str, object]] = [{"type": "string"}, {"enum": ["a", "ab", "b"]}, {"type": "integer"}, member]
    item = rng.choice(items)
    schema = {"type": "array", "items": item, "uniqueItems": True, "minItems": rng.randrange(2, 4)}
    if rng.random() < 0.5:
        schema = {"type": "object", "minProperties": rng.randrange(1, 4), "additionalProperties": item}
    tokens = [b'["', b'", "', b'"]', b", ", b'{"', b'": ', b'": "', b'"}', b"aa", b"ab", b"12", b'a"', b'"b"', b"abc"]
    tokens += [b'[{"', b'q":"', b'","a":', b'1},{"', b"2}]", b"1}]", b"abcabc"]
    return detent.json_schema(schema), _vocabulary(tokens)


def _numbers(_: Random) -> Case:
    """States are intersections of unions of up to 2^k alternatives, and most searches end early."""
    rule = detent.number() & detent.regex(".*7.{15}") & ~detent.regex(".*3.{11}")
    return rule, _vocabulary(_strings(b"0123456789", 3))


_CASES: dict[str, Callable[[Random], Case]] = {
    "trees": _tree,
    "trees without all bytes": _sparse_tree,
    "rules": _rules,
    "distinct items": _distinct,
    "numbers": _numbers,
}


def _matcher(guide: detent.Guide, budget: int) -> detent.Matcher | None:
    try:
        return guide.matcher(budget)
    except detent.LimitError:
        return None


def _is_accepted(matcher: detent.Matcher, token_id: int) -> bool:
    ahead = matcher.fork()
    try:
        ahead.advance(token_id)
    except detent.StateError:
        return False
    return True


def _compile(kind: str, rng: Random) -> detent.Guide | None:
    rule, vocabulary = _CASES[kind](rng)
    try:
        return detent.compile(rule, vocabulary)
    except detent.EmptyLanguageError:
        return None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", _CASES)
def test_masks_and_steps_answer_alike(kind: str, seed: int) -> None:
    """A token is in the mask if and only if it is taken, whichever is asked first."""
    rng = Random(f"{kind} {seed}")
    guide = _compile(kind, rng)
    if guide is None:
        return
    size = len(guide.vocabulary)
    for budget in rng.sample(range(3, 16), 3):
        matcher = _matcher(guide, budget)
        while matcher and not matcher.is_finished:
            asked = rng.sample(range(size), 30) if rng.random() < 0.5 else []
            before = {token_id: matcher._refusal(token_id).name == "NONE" for token_id in asked}
            allowed = set(matcher.allowed().tolist())
            told = (guide.language, budget, matcher.token_ids)
            assert allowed, told
            assert {token_id for token_id in asked if before[token_id]} == allowed & set(asked), told
            fits = {token_id for token_id in range(size) if matcher._refusal(token_id).name == "NONE"}
            assert fits == allowed, told
            for token_id in rng.sample(range(size), 10):
                assert _is_accepted(matcher, token_id) == (token_id in allowed), told
            matcher.advance(rng.choice(sorted(allowed)))
        if matcher:
            assert len(matcher.token_ids) <= budget + 1
            assert guide.language.accepts(guide.vocabulary.decode(matcher.token_ids[:-1]))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", _CASES)
def test_what_fits_a_limit_fits_the_next_one(kind: str, seed: int) -> None:
    """Each token that may follow within n tokens may follow within n + 1, in guides that have read nothing else."""
    rng = Random(f"{kind} {seed}")
    rule, vocabulary = _CASES[kind](rng)
    for budget in rng.sample(range(3, 16), 2):
        try:
            fewer = _matcher(detent.compile(rule, vocabulary), budget)
            more = _matcher(detent.compile(rule, vocabulary), budget + 1)
        except detent.EmptyLanguageError:
            return
        assert more or not fewer
        while fewer and more and not fewer.is_finished:
            allowed = set(fewer.allowed().tolist())
            assert allowed <= set(more.allowed().tolist()), (rule, budget, fewer.token_ids)
            chosen = rng.choice(sorted(allowed))
            fewer.advance(chosen)
            more.advance(chosen)


@pytest.mark.parametrize("texts", [["abcabc", "ab"], ["ab", "abc"], ["", "a", "b"]])
def test_each_token_of_a_list_of_distinct_objects_fits_its_own_limit(texts: list[str]) -> None:
    """Strings inside the items: one completion serves all tokens whose string it does not contain."""
    member = {"type": "object", "properties": {"q": {"type": "string"}, "a": {"enum": [1, 2]}}, "required": ["q", "a"]}
    rule = detent.json_schema({"type": "array", "items": member, "uniqueItems": True, "minItems": 2})
    vocabulary = _vocabulary([b'[{"', b'":"', b'","', b'":', b'},{"', b"}]", b"abc", b"ab"])
    text = json.dumps([{"q": each, "a": 1} for each in texts], separators=(",", ":")).encode()
    tokens = [vocabulary.token_bytes(token_id) for token_id in range(len(vocabulary) - 1)]
    ids: list[int] = []
    while text:
        ids.append(max((i for i, token in enumerate(tokens) if text.startswith(token)), key=lambda i: len(tokens[i])))
        text = text[len(tokens[ids[-1]]) :]
    matcher = detent.compile(rule, vocabulary).matcher(len(ids))
    for token_id in ids:
        assert token_id in matcher.allowed()
        matcher.advance(token_id)
    assert matcher.is_accepting
