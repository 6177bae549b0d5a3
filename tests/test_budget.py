"""Budgets against trying every continuation: texts that end in time, and masks that take away nothing else.

`DETENT_BUDGET_REGEXES=10000` in the environment makes the run over random regexes that long (10 minutes).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent.testing import check_matcher
from tests.support.reference import (
    Machine,
    Tokens,
    TooManyStates,
    Tree,
    all_trees,
    language,
    random_tree,
    trees,
    universe,
)

REGEXES = int(os.environ.get("DETENT_BUDGET_REGEXES", "300"))

_LETTERS = b"ab\xc3\xa9"
_TEXTS = (b"a", b"b", b"ab", b"ba", b"aab", b"\xc3\xa9", b"a\xc3\xa9", b"")


@dataclass(frozen=True)
class Words:
    """A vocabulary, and its tokens as the reference takes them: end-of-text, special and padding ids have no bytes."""

    tokens: list[bytes]
    vocabulary: detent.Vocabulary
    end_ids: tuple[int, ...]


def _words(tokens: list[bytes], **more: object) -> Words:
    """A vocabulary of tokens, then a special id, two that end a text, and padding."""
    special, end = len(tokens), (len(tokens) + 1, len(tokens) + 2)
    vocabulary = detent.Vocabulary(
        [*tokens, b"<a>", b"</s>", b""],
        eos_token_ids=end,
        special_token_ids=[special],
        size=len(tokens) + 40,
    )
    return Words(tokens, vocabulary, end)


_SINGLE = [bytes([byte]) for byte in _LETTERS]
_LONGER = [b"ab", b"ba", b"aab", b"aaaa", b"\xc3\xa9", b"b\xc3", b"\xa9a", b"abab", b"ab"]
EVERY_BYTE = _words([bytes([byte]) for byte in range(256)] + _LONGER)
LETTERS = _words(_SINGLE + _LONGER)
SPARSE = _words([b"aa", b"b", b"ab", b"\xc3\xa9", b"ba\xc3", b"\xa9", b"bbb", b"", b"aa"])
VOCABULARIES = {"every byte": EVERY_BYTE, "letters": LETTERS, "sparse": SPARSE}


# --- Samplers that do not want to end


def _uniform(rng: Random, ids: list[int], words: Words) -> int:
    return rng.choice(ids)


def _longest(rng: Random, ids: list[int], words: Words) -> int:
    most = max(len(words.tokens[token_id]) for token_id in ids)
    return rng.choice([token_id for token_id in ids if len(words.tokens[token_id]) == most])


def _shortest(rng: Random, ids: list[int], words: Words) -> int:
    least = min(len(words.tokens[token_id]) for token_id in ids)
    return rng.choice([token_id for token_id in ids if len(words.tokens[token_id]) == least])


Sampler = Callable[[Random, list[int], Words], int]
SAMPLERS: tuple[Sampler, ...] = (_uniform, _longest, _shortest)


# --- Random regexes


@pytest.mark.parametrize("name", VOCABULARIES)
def test_random_regexes_end_in_time(name: str) -> None:
    """For budgets from the minimum up and each sampler: every mask is exact, every text is complete at the limit."""
    words = VOCABULARIES[name]
    rng = Random(f"{name} {REGEXES}")
    runs = 0
    for _ in range(REGEXES):
        tree = random_tree(rng, rng.randrange(1, 7), _TEXTS)
        try:
            machine = Machine(tree, most=120)
        except TooManyStates:
            continue
        runs += _check_budgets(tree, Tokens(machine, words.tokens), words, rng)
    print(f"{name}: {REGEXES} regexes, {runs} texts")  # noqa: T201 - shown with -s, for the long run


def _check_budgets(tree: Tree, reference: Tokens, words: Words, rng: Random) -> int:
    held = language(tree)
    least = reference.need[0]
    if least is None:
        with pytest.raises(detent.EmptyLanguageError):
            detent.compile(held, words.vocabulary)
        with pytest.raises(detent.EmptyLanguageError):
            held.min_tokens(words.vocabulary)
        return 0
    assert held.min_tokens(words.vocabulary) == least, tree
    assert held.max_tokens(words.vocabulary) == reference.longest(), tree
    guide = detent.compile(held, words.vocabulary)
    _check_too_few(guide, reference, least - 1, rng.random() < 0.5)
    budgets = [least, least + 1, least + rng.randrange(2, 6)]
    for budget, sampler in product(budgets, SAMPLERS):
        _check_text(guide, reference, words, budget, rng.random() < 0.5, sampler, rng)
    return len(budgets) * len(SAMPLERS)


def _check_too_few(guide: detent.Guide, reference: Tokens, budget: int, count_eos: bool) -> None:
    """Below the minimum there is an error with the shortest output and its number of tokens."""
    if budget + count_eos < 0:
        return
    with pytest.raises(detent.LimitError) as caught:
        guide.matcher(budget + count_eos, count_eos=count_eos)
    found = re.search(r" is (['\"].*['\"]), (\d+) tokens?( and end-of-text)?; .* at least (\d+)$", str(caught.value))
    assert found, caught.value
    assert (int(found[2]), int(found[4])) == (budget + 1, budget + 1 + count_eos), caught.value
    assert bool(found[3]) == count_eos
    shown = found[1][1:-1]
    if "…" not in shown and "\\" not in shown:
        assert reference.machine.accepts(shown.encode()), caught.value


def _check_text(
    guide: detent.Guide,
    reference: Tokens,
    words: Words,
    budget: int,
    count_eos: bool,
    sampler: Sampler,
    rng: Random,
) -> None:
    headroom = rng.choice((0, 0, 3))
    matcher = guide.matcher(budget + count_eos + headroom, count_eos=count_eos, headroom=headroom)
    state, ids = 0, list[int]()
    budget_bound_at = None
    while True:
        expected = reference.within(state, budget - len(ids))
        end = set(words.end_ids) if reference.machine.accepting[state] else set()
        told = f"{guide.language!r}, {ids} of {budget}"
        assert set(matcher.allowed().tolist()) == expected | end, told
        if budget_bound_at is None and expected != set(reference.steps[state]):
            budget_bound_at = len(ids)
        assert matcher.budget_bound_at == budget_bound_at, told
        if not expected:
            break
        chosen = sampler(rng, sorted(expected), words)
        matcher.advance(chosen)
        state = reference.steps[state][chosen]
        ids.append(chosen)
    matcher.advance(rng.choice(words.end_ids))
    text = b"".join(words.tokens[token_id] for token_id in ids)
    assert reference.machine.accepts(text) and guide.language.accepts(text)
    assert len(ids) <= budget and matcher.is_finished and matcher.is_accepting
    assert len(matcher.token_ids) == len(ids) + 1


@pytest.mark.parametrize("name", VOCABULARIES)
def test_every_small_tree_with_every_small_budget(name: str) -> None:
    words = VOCABULARIES[name]
    rng = Random(2)
    every = [tree for size in (1, 2, 3) for tree in all_trees(size)]
    for tree in every + rng.sample(list(all_trees(4)), 40):
        reference = Tokens(Machine(tree), words.tokens)
        least = reference.need[0]
        if least is None:
            continue
        guide = detent.compile(language(tree), words.vocabulary)
        for budget in range(least, least + 4):
            _check_text(guide, reference, words, budget, False, _uniform, rng)


# --- Steps back, forks, and steps that are no tokens


class Place:
    """A matcher, and beside it what the reference makes of the same steps."""

    def __init__(self, tree: Tree, reference: Tokens, words: Words, budget: int) -> None:
        self.reference, self.words = reference, words
        self.matcher = detent.compile(language(tree), words.vocabulary).matcher(budget)
        self.places = [(0, budget)]  # the state after each step, and the tokens left
        self.budget_bound_at: int | None = None

    def check(self) -> None:
        state, left = self.places[-1]
        self.expected = self.reference.within(state, left)
        self.end = set(self.words.end_ids) if self.reference.machine.accepting[state] else set()
        assert set(self.matcher.allowed().tolist()) == self.expected | self.end
        if self.budget_bound_at is None and self.expected != set(self.reference.steps[state]):
            self.budget_bound_at = len(self.places) - 1
        assert self.matcher.budget_bound_at == self.budget_bound_at

    def token(self, rng: Random) -> None:
        state, left = self.places[-1]
        if self.expected:
            chosen = rng.choice(sorted(self.expected))
            self.matcher.advance(chosen)
            self.places.append((self.reference.steps[state][chosen], left - 1))

    def refused(self, rng: Random) -> None:
        others = sorted(set(range(len(self.words.vocabulary))) - self.expected - self.end)
        with pytest.raises(detent.StateError):
            self.matcher.advance(rng.choice(others))

    def bytes(self, rng: Random) -> None:
        state, left = self.places[-1]
        text = bytes(rng.choices(_LETTERS, k=rng.randrange(4)))
        after = self.reference.machine.after(state, text)
        need = self.reference.need[after]
        if need is not None and need <= left:
            self.matcher.advance_bytes(text)
            self.places.append((after, left))
        else:
            with pytest.raises(detent.StateError):
                self.matcher.advance_bytes(text)

    def back(self, rng: Random) -> None:
        steps = rng.randrange(len(self.places))
        self.matcher.rollback(steps)
        del self.places[len(self.places) - steps :]
        if self.budget_bound_at is not None and self.budget_bound_at >= len(self.places):
            self.budget_bound_at = None

    def fork(self, rng: Random) -> None:
        left_behind, self.matcher = self.matcher, self.matcher.fork()
        left_behind.rollback(len(left_behind))  # does not move the fork

    def end_and_back(self, rng: Random) -> None:
        if self.end:
            self.matcher.advance(rng.choice(self.words.end_ids))
            assert self.matcher.is_finished
            self.matcher.rollback()


@pytest.mark.parametrize("name", VOCABULARIES)
@settings(max_examples=100)
@given(tree=trees(5), rng=st.randoms(use_true_random=False), extra=st.integers(0, 6))
def test_any_order_of_steps(name: str, tree: Tree, rng: Random, extra: int) -> None:
    """Tokens, bytes, rollbacks and forks in any order: only tokens count, and a rollback gives them back."""
    words = VOCABULARIES[name]
    try:
        reference = Tokens(Machine(tree, most=120), words.tokens)
    except TooManyStates:
        return
    if reference.need[0] is None:
        return
    place = Place(tree, reference, words, reference.need[0] + extra)
    actions = [place.token, place.token, place.token, place.refused, place.bytes, place.bytes, place.back, place.fork]
    for _ in range(14):
        place.check()
        rng.choice([*actions, place.end_and_back])(rng)


@settings(max_examples=60)
@given(trees(5), trees(3), st.randoms(use_true_random=False), st.sampled_from(list(VOCABULARIES)), st.booleans())
def test_the_laws_of_matchers_hold_with_a_budget(a: Tree, b: Tree, rng: Random, name: str, count_eos: bool) -> None:
    words = VOCABULARIES[name]
    rule = language(a) - language(b)
    try:
        least = rule.min_tokens(words.vocabulary)
    except detent.EmptyLanguageError:
        return
    guide = detent.compile(rule, words.vocabulary)
    budget = least + rng.randrange(4) + count_eos
    check_matcher(guide, rng, max_tokens=budget, count_eos=count_eos, tries=6)


# --- Finite languages by their texts: assertions, which the reference's trees do not have


@pytest.mark.parametrize("name", ["every byte", "sparse letters"])
@pytest.mark.parametrize(
    "pattern",
    [
        r"\ba+\b.*",
        r"(?!.*ab)[ab -]*",
        r"(?=.*b$)a*.?b*",
        r"[ab]*(?<!ba)-?",
        r"(?:a|b(?=-))*-{1,3}",
        r"(?:\Ba|\b-)*.{2}",
        r"(?<=a)b|a(?!b)[a-]{2,}|^-$",
    ],
)
def test_assertions(pattern: str, name: str) -> None:
    alphabet, longest = b"ab-", 5
    short = [b"ab", b"a-", b"--b", b"bba", b"aa", b"-"]
    words = _words(([bytes([byte]) for byte in range(256)] if name == "every byte" else [b"a", b"b"]) + short)
    texts = {text for text in universe(alphabet, longest) if re.fullmatch(pattern, text.decode())}
    held = detent.regex(pattern) & detent.regex(f"[{alphabet.decode()}]{{0,{longest}}}")
    tokens = [(i, token) for i, token in enumerate(words.tokens) if token and set(token) <= set(alphabet)]
    need: dict[bytes, int | None] = {}
    for prefix in sorted(universe(alphabet, longest), key=len, reverse=True):
        counts = [need.get(prefix + token) for _, token in tokens]
        least = min((count + 1 for count in counts if count is not None), default=None)
        need[prefix] = 0 if prefix in texts else least
    least = need[b""]
    assert least is not None
    guide = detent.compile(held, words.vocabulary)
    assert held.min_tokens(words.vocabulary) == least
    for budget in (least, least + 1, least + 2, 50):
        matcher = guide.matcher(budget)
        pending: list[tuple[bytes, list[int]]] = [(b"", [])]
        while pending:
            text, ids = pending.pop()
            matcher.rollback(len(matcher))
            for token_id in ids:
                matcher.advance(token_id)
            left = budget - len(ids)
            longer = {i: text + token for i, token in tokens}
            expected = {i: after for i, after in longer.items() if (need.get(after) or 0) < left}
            expected = {i: after for i, after in expected.items() if need.get(after) is not None}
            end = set(words.end_ids) if text in texts else set()
            assert set(matcher.allowed().tolist()) == set(expected) | end, (text, budget)
            if len(ids) < 3:
                pending += [(after, [*ids, i]) for i, after in expected.items()]


# --- Threads


def test_threads_share_what_a_guide_knows() -> None:
    """Masks of many threads with budgets of their own, against those of one."""
    rule = detent.regex("((a|bb){3}|ab*a){2,6}") - detent.regex(".*abba.*")
    guide = detent.compile(rule, LETTERS.vocabulary)
    least = rule.min_tokens(LETTERS.vocabulary)

    def walk(shared: detent.Guide, seed: int) -> list[list[int]]:
        rng = Random(seed)
        matcher = shared.matcher(least + seed % 7)
        masks = []
        while not matcher.is_finished:
            masks.append(matcher.allowed().tolist())
            matcher.advance(rng.choice(masks[-1]))
        return masks

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda seed: walk(guide, seed), range(200)))
    assert found == [walk(detent.compile(rule, LETTERS.vocabulary), seed) for seed in range(200)]


# --- Particular cases


_VOCABULARY = detent.Vocabulary([b"a", b"b", b"ab", b"abb", b"</s>"], eos_token_ids=[4])


def test_a_budget_of_nothing_allows_the_empty_text_alone() -> None:
    matcher = detent.compile(detent.regex("a*"), _VOCABULARY).matcher(0)
    assert matcher.allowed().tolist() == [4]
    assert matcher.budget_bound_at == 0
    with pytest.raises(detent.StateError, match="0 tokens left"):
        matcher.advance(0)
    matcher.advance(4)
    assert matcher.is_finished


def test_the_end_counts_where_the_host_counts_it() -> None:
    guide = detent.compile(detent.regex("ab+"), _VOCABULARY)
    assert guide.matcher(1).allowed().tolist() == [2, 3]
    assert guide.matcher(2, count_eos=True).allowed().tolist() == [2, 3]
    assert guide.matcher(2).allowed().tolist() == [0, 2, 3]
    with pytest.raises(detent.LimitError, match="'ab', 1 token and end-of-text; raise max_tokens to at least 2"):
        guide.matcher(1, count_eos=True)
    with pytest.raises(detent.LimitError, match="'ab', 1 token; raise max_tokens to at least 1"):
        guide.matcher(0)


@pytest.mark.parametrize("budget", [-1, 2**32, True, False, 1.0, "3"])
def test_a_budget_is_an_integer(budget: object) -> None:
    guide = detent.compile(detent.regex("a*"), _VOCABULARY)
    with pytest.raises(detent.ArgumentError, match="max_tokens must be an integer"):
        guide.matcher(budget)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [10**6, 2**32 - 2, 2**32 - 1])
def test_a_large_budget_takes_nothing_away(budget: int) -> None:
    guide = detent.compile(detent.regex("(a|b){0,50}"), _VOCABULARY)
    rng = Random(0)
    free, bound = guide.matcher(), guide.matcher(budget)
    for _ in range(20):
        assert free.allowed().tolist() == bound.allowed().tolist()
        chosen = rng.choice(free.allowed().tolist()[:-1])
        free.advance(chosen)
        bound.advance(chosen)
    assert bound.budget_bound_at is None


def test_a_large_budget_looks_at_no_state_that_decoding_does_not_visit() -> None:
    """The length of a counted text is known without walking it."""
    guide = detent.compile(detent.regex("(?:[a-z]{2} ){50000}x"), EVERY_BYTE.vocabulary)
    guide.matcher(10**6).allowed()
    assert guide.state_count < 300


def test_a_text_without_an_end_of_text_is_over_at_the_limit() -> None:
    vocabulary = detent.Vocabulary([b"a", b"b"], eos_token_ids=None)
    matcher = detent.compile(detent.regex("(ab)*"), vocabulary).matcher(3)
    for token_id in (0, 1):
        assert matcher.allowed().tolist() == [token_id]
        matcher.advance(token_id)
    assert matcher.allowed().tolist() == []  # two more are one too many
    assert matcher.is_accepting
    assert matcher.budget_bound_at == 2


def test_a_shared_guide_serves_any_budget() -> None:
    """What a guide learned for one budget does not show in another: the same masks as from a guide of its own."""
    rule = detent.regex("(a|ab|abb|b){3,}|a{20}b") & ~detent.regex(".*bbb.*")
    shared = detent.compile(rule, _VOCABULARY)
    rng = Random(4)
    for _ in range(60):
        budget = rng.randrange(3, 12)
        mine, fresh = shared.matcher(budget), detent.compile(rule, _VOCABULARY).matcher(budget)
        for _ in range(budget):
            assert mine.allowed().tolist() == fresh.allowed().tolist()
            chosen = rng.choice(mine.allowed().tolist())
            mine.advance(chosen)
            fresh.advance(chosen)
            if mine.is_finished:
                break


def test_steps_near_a_limit_search_for_a_bounded_time() -> None:
    """Masks and steps of a language with many states stay within little work, and the text ends in time."""
    tokens = [bytes(text) for size in range(1, 11) for text in product(b"ab", repeat=size)]
    # "x" is no token by itself, so that the length of a completion in bytes is no bound.
    vocabulary = detent.Vocabulary([*tokens, b"c", b"", b"xy"], eos_token_ids=[len(tokens) + 1])
    rule = detent.regex("c?(?:[ab]{10}c){40}|cc")
    guide = detent.compile(rule, vocabulary, limits=detent.Limits(work=200_000))
    for seed in range(3):
        rng, matcher = Random(seed), guide.matcher(100)
        while not matcher.is_finished:
            matcher.advance(rng.choice(matcher.allowed().tolist()))
        assert len(matcher) <= 101
        assert rule.accepts(vocabulary.decode(matcher.token_ids[:-1]))


def test_a_known_completion_serves_where_a_search_costs_too_much() -> None:
    """A budget that the known completion fits is taken without the search that would find a shorter one."""
    tokens = [bytes(text) for size in range(1, 11) for text in product(b"ab", repeat=size)]
    # "x" is no token by itself, so that the length of a completion in bytes is no bound.
    vocabulary = detent.Vocabulary([*tokens, b"c", b"", b"xy"], eos_token_ids=[len(tokens) + 1])
    rule = detent.regex("(?:[ab]{10}c){40}")
    assert rule.min_tokens(vocabulary) == 80
    matcher = detent.compile(rule, vocabulary, limits=detent.Limits(work=200_000)).matcher(200)
    assert len(matcher.completion()) <= 200


def test_a_completion_is_written_where_lengths_do_not_descend() -> None:
    # The liveness of these states is proved by inclusion, whose bounds do not descend from a state to the next.
    tokens = [b"<", b"a", b"b", b"x", b"y", b"axxa", b"b<<a", b"ab<<", b"xab", b""]
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[9])
    free = detent.regex("[ab<]*") - detent.containing("<<a")
    wanted = detent.containing("ab") | detent.containing("b<")
    language = (free + "<<a" + detent.regex("a{4}|b")) & wanted
    assert language.min_tokens(vocabulary) == 2
    assert detent.compile(language, vocabulary).matcher(2).allowed().tolist() == [6]


def test_tokens_that_end_inside_a_character_need_the_rest_of_it() -> None:
    """A walk passes the subtree below "x" at once; only its token with an open character leads elsewhere."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"xa", b"xb", b"xc", b"xd", b"x\xc3", b"\xc3\xa9a"]
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    matcher = detent.compile(detent.regex("[^!]*!"), vocabulary).matcher(max_tokens=2)
    allowed = {tokens[int(each)] for each in matcher.allowed() if each < len(tokens)}
    assert {b"xa", b"xd", b"!", b"\xc3\xa9a"} <= allowed
    assert not {b"x\xc3", b"\xc3"} & allowed
