"""Budgets of languages with many or infinitely many states, against plain search: rules that call themselves, loops."""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import TypeAlias

import pytest

import detent
from tests.support.long_tests import long, mostly_long

_EVERY_BYTE = [bytes([byte]) for byte in range(256)]
State: TypeAlias = "frozenset[tuple[int, int]]"
_LONGEST_TEXT, _LONGEST_TOKEN = 12, 3


def _vocabulary(tokens: list[str]) -> tuple[list[str], detent.Vocabulary]:
    """Return the tokens by their ids, and a vocabulary of them and every byte."""
    every = [*_EVERY_BYTE, *(token.encode() for token in tokens)]
    vocabulary = detent.Vocabulary([*every, b""], eos_token_ids=[len(every)])
    return [token.decode("latin-1") for token in every], vocabulary


# --- Rules that call themselves


def _random_rules(rng: Random) -> dict[str, list[list[str]]]:
    """Return productions of two rules; each rule has one that calls no rule."""
    rules = {}
    for name in "ST":
        productions = [[rng.choice("abc")]]
        for _ in range(rng.randrange(2, 4)):
            productions.append([rng.choice(["S", "T", "a", "b", "(", ")", "ab"]) for _ in range(rng.randrange(2, 4))])
        rules[name] = productions
    return rules


def _texts(rules: dict[str, list[list[str]]]) -> set[str]:
    """Return all texts of the rule S up to a length: the least fixed point."""
    texts: dict[str, set[str]] = {name: set() for name in rules}
    while True:
        before = sum(map(len, texts.values()))
        for name, productions in rules.items():
            for production in productions:
                found = {""}
                for symbol in production:
                    parts = texts.get(symbol, {symbol})
                    found = {x + y for x in found for y in parts if len(x) + len(y) <= _LONGEST_TEXT}
                texts[name] |= found
        if sum(map(len, texts.values())) == before:
            return texts["S"]


def _fewest(texts: set[str], tokens: list[str]) -> dict[str, int]:
    """Return for each prefix of a text the fewest tokens that complete it to one of the texts."""
    prefixes = {text[:length] for text in texts for length in range(len(text) + 1)}
    fewest: dict[str, int] = {}
    for prefix in sorted(prefixes, key=len, reverse=True):
        after = [fewest[prefix + token] + 1 for token in tokens if token and prefix + token in prefixes]
        fewest[prefix] = 0 if prefix in texts else min(after)
    return fewest


@pytest.mark.parametrize("seed", mostly_long([*range(4), *range(5, 12), 4], always=11))
def test_masks_of_rules_that_call_themselves(seed: int) -> None:
    rng = Random(seed)
    rules = _random_rules(rng)
    texts = _texts(rules)
    longer = {"".join(rng.choices("abc()", k=rng.randrange(2, _LONGEST_TOKEN + 1))) for _ in range(20)}
    tokens, vocabulary = _vocabulary(sorted(longer))
    fewest = _fewest(texts, tokens)
    quoted = {
        symbol: symbol if symbol in rules else f'"{symbol}"' for row in rules.values() for p in row for symbol in p
    }
    lines = [f"{name} ::= {' | '.join(' '.join(quoted[s] for s in p) for p in row)}" for name, row in rules.items()]
    guide = detent.compile(detent.gbnf("\n".join(["root ::= S", *lines])), vocabulary)
    for _ in range(12):
        budget = rng.randrange(max(fewest[""], 1), 5)
        matcher, text, left = guide.matcher(budget), "", budget
        while left > 0 and len(text) + _LONGEST_TOKEN * left <= _LONGEST_TEXT:
            expected = {i for i, token in enumerate(tokens) if fewest.get(text + token, left) < left}
            assert set(matcher.allowed().tolist()) - {len(tokens)} == expected, (text, left)
            if not expected:
                break
            taken = rng.choice(sorted(expected))
            matcher.advance(taken)
            text, left = text + tokens[taken], left - 1


def test_a_name_that_is_declared_need_not_become_another_one() -> None:
    """The shortest text writes a longer name, so that any value may follow, but this takes more tokens."""
    schema = {"type": "object", "properties": {"lasting": {"type": "boolean"}}}
    tokens, vocabulary = _vocabulary(['{"', "last", "ing", '":', " false", "}"])
    ids = [tokens.index(token) for token in ['{"', "last", "ing", '":', " false", "}"]]
    matcher = detent.compile(detent.json_schema(schema), vocabulary).matcher(len(ids))
    for token_id in ids:
        assert token_id in matcher.allowed()
        matcher.advance(token_id)
    assert matcher.is_accepting


# --- Loops whose unions are many


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("left", [2, 3])
def test_first_masks_of_loops(seed: int, left: int) -> None:
    rng = Random(seed)
    words = [rng.choices(["a", "b", "ab"], [1, 1, 2], k=rng.randrange(3, 17)) for _ in range(7)]
    text = "".join(rng.choice(letters) for _ in range(60) for letters in rng.choice(words))
    cut = {text[i : i + rng.randrange(2, 17)] for i in range(len(text) - 16)}
    ends = {text[i : i + rng.randrange(1, 6)] + "c" for i in range(len(text) - 16)}
    tokens, vocabulary = _vocabulary(sorted(cut | ends))
    pattern = "|".join("".join(f"[{letters}]" for letters in word) for word in words)
    matcher = detent.compile(detent.regex(f"(?:{pattern})+c"), vocabulary).matcher(left)
    used = [token for token in tokens if set(token) <= set("abc")]

    def after(state: State, token: str) -> State:
        for letter in token:
            ended = any(at == len(words[word]) for word, at in state)
            if letter == "c":
                state = frozenset([(0, -1)] if ended else [])
                continue
            state = frozenset((w, at + 1) for w, at in state if 0 <= at < len(words[w]) and letter in words[w][at])
            if ended:
                state |= {(w, 1) for w, word in enumerate(words) if letter in word[0]}
        return state

    @lru_cache(None)
    def completes(state: State, within: int) -> bool:
        if (0, -1) in state:
            return True
        return within > 0 and any((next_ := after(state, token)) and completes(next_, within - 1) for token in used)

    start = frozenset((word, 0) for word in range(len(words)))
    expected = {token for token in used if (next_ := after(start, token)) and completes(next_, left - 1)}
    assert {tokens[i] for i in matcher.allowed()} == expected


# --- Members in any order


def _members_in_any_order(count: int) -> tuple[list[str], list[str], detent.Guide]:
    """Return the names of required members, the tokens by their ids, and a guide."""
    names = [
        f"{first}_{last}" for first in ("user", "order", "price") for last in ("id", "name", "date", "code", "note")
    ]
    names = [f"{name}{i}" for i in range(3) for name in names][:count]
    joints = ['{"', '":', '":"', '","', ',"', '":"","', ', "', '": ', '": "', '", "']
    tokens, vocabulary = _vocabulary([*dict.fromkeys(part for name in names for part in name.split("_")), *joints])
    schema = {
        "properties": {name: {"type": ["integer", "string"][i % 2]} for i, name in enumerate(names)},
        "required": names,
        "additionalProperties": False,
    }
    guide = detent.compile(detent.json_schema({"type": "object", **schema}, order="any"), vocabulary)
    return names, tokens, guide


@pytest.mark.parametrize("count", [12, 30, 45])
def test_members_in_any_order_within_their_tokens(count: int) -> None:
    names, tokens, guide = _members_in_any_order(count)
    order = Random(count).sample(names, count)
    text = ", ".join(f'"{name}": ' + ("12" if names.index(name) % 2 == 0 else '"abc"') for name in order)
    ids = _longest_tokens("{" + text + "}", tokens)
    matcher = guide.matcher(len(ids) + 1)
    for token_id in ids:
        assert token_id in matcher.allowed()
        matcher.advance(token_id)
    assert matcher.is_accepting


def _longest_tokens(text: str, tokens: list[str]) -> list[int]:
    """Return the ids of the tokens of a text, each the longest that fits."""
    ids = []
    while text:
        ids.append(
            max((i for i, token in enumerate(tokens) if token and text.startswith(token)), key=lambda i: len(tokens[i]))
        )
        text = text[len(tokens[ids[-1]]) :]
    return ids


@pytest.mark.parametrize("count", [12, long(45)])
def test_the_advised_budget_is_enough(count: int) -> None:
    guide = _members_in_any_order(count)[2]
    with pytest.raises(detent.LimitError, match="raise max_tokens to at least") as refused:
        guide.matcher(2 * count)
    advised = int(str(refused.value).rpartition(" ")[2])
    for more in (0, 1, 4):
        matcher = guide.matcher(advised + more)
        while not matcher.is_finished:
            matcher.advance(matcher.allowed()[0])
        assert matcher.is_accepting


def test_members_before_a_special_token() -> None:
    tokens = [*_EVERY_BYTE, b'":', b',"', b"<end>"]
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)], special_token_ids=[len(tokens) - 1])
    names = [f"{letter}{i}" for letter in "abcd" for i in range(5)]
    schema = {"properties": {name: {"type": "integer"} for name in names}, "required": names}
    made = detent.json_schema({"type": "object", **schema, "additionalProperties": False}, order="any")
    guide = detent.compile(made + detent.special_token("<end>") + detent.literal("."), vocabulary)
    text = "{" + ",".join(f'"{name}":1' for name in reversed(names)) + "}"
    ids = [*text.encode(), len(tokens) - 1, ord(".")]
    matcher = guide.matcher(len(ids))
    for token_id in ids:
        assert token_id in matcher.allowed()
        matcher.advance(token_id)
    assert matcher.is_accepting
