"""Matchers: what they allow on small vocabularies (against plain search), rolling back, forking, batches."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent import _core
from tests.support.token_model import EMPTY, Expression, TokenModel, as_regex

# --- Against plain search

_EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(
    st.sampled_from([("a",), ("b",), ("c",), EMPTY]),
    lambda inner: st.one_of(
        st.tuples(st.just("."), inner, inner),
        st.tuples(st.just("|"), inner, inner),
        st.tuples(st.just("{"), inner, st.just(0), st.none()),
        st.tuples(st.just("{"), inner, st.integers(0, 9), st.integers(0, 3)).map(
            lambda parts: ("{", parts[1], parts[2], parts[2] + parts[3])
        ),
    ),
    max_leaves=5,
)
_TOKENS = st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=6)


@settings(max_examples=300)
@given(expression=_EXPRESSIONS, tokens=_TOKENS, budget=st.none() | st.integers(0, 8), seed=st.integers(0, 2**16))
def test_exactly_the_tokens_that_lead_to_an_end(
    expression: Expression, tokens: list[str], budget: int | None, seed: int
) -> None:
    """Sound and complete, although the tokens may lack letters and be written in several ways; within a budget too."""
    model = TokenModel(expression, tokens)
    end = len(tokens)
    vocabulary = detent.Vocabulary([*(token.encode() for token in tokens), b""], eos_token_ids=[end])
    language = detent.regex(as_regex(expression))
    if model.start not in model.distance:
        with pytest.raises(detent.EmptyLanguageError):
            detent.compile(language, vocabulary)
        return
    guide = detent.compile(language, vocabulary)
    if budget is not None and model.distance[model.start] > budget:
        with pytest.raises(detent.LimitError):
            guide.matcher(budget)
        return
    matcher = guide.matcher(budget)
    choose = random.Random(seed)
    state = model.start
    while True:
        assert matcher.is_accepting == model.is_accepting(state)
        text_tokens = model.allowed(state, None if budget is None else budget - len(matcher))
        assert matcher.allowed().tolist() == text_tokens + [end] * matcher.is_accepting
        for token in set(range(end)) - set(text_tokens):
            with pytest.raises(detent.StateError):
                matcher.advance(token)
        if not text_tokens or len(matcher) == 12:
            return
        token = choose.choice(text_tokens)
        matcher.advance(token)
        state = model.steps[state][token]


def test_a_text_that_the_tokens_cannot_write_is_never_begun() -> None:
    """The seventh letter of `ba{7}` cannot be written by pairs, so `b` leads nowhere."""
    vocabulary = detent.Vocabulary([b"aa", b"b", b""], eos_token_ids=[2])
    assert detent.compile(detent.regex("ba{7}|aa"), vocabulary).matcher().allowed().tolist() == [0]
    with pytest.raises(detent.EmptyLanguageError, match="tokens"):
        detent.compile(detent.regex("ba{7}"), vocabulary)


# --- Vocabularies

_WIDTHS = [1, 31, 32, 33, 63, 64, 65, 1000]


@pytest.mark.parametrize("width", _WIDTHS)
def test_padding_is_never_allowed(width: int) -> None:
    vocabulary = detent.Vocabulary([b"a"], eos_token_ids=None, size=width)
    row = detent.allocate_mask(1, width)[0]
    row[:] = -1
    detent.compile(detent.regex("a*"), vocabulary).matcher().fill_mask(row)
    assert row.tolist() == [1] + [0] * (len(row) - 1)
    with pytest.raises(detent.StateError):
        detent.compile(detent.regex("a*"), vocabulary).matcher().advance(width)


def test_ids_with_equal_bytes_are_allowed_alike() -> None:
    vocabulary = detent.Vocabulary([b"a", b"b", b"a", b"ab", b"a", b"ab", b""], eos_token_ids=[6])
    guide = detent.compile(detent.regex("ab+"), vocabulary)
    assert guide.matcher().allowed().tolist() == [0, 2, 3, 4, 5]
    for token in (0, 2, 4):
        matcher = guide.matcher()
        matcher.advance(token)
        assert matcher.allowed().tolist() == [1]


def test_ids_without_text_are_never_allowed() -> None:
    tokens = [b"<s>", b"<", b"s", b">", b"", None, b"<s>", b"</s>"]
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[7], special_token_ids=[0])
    matcher = detent.compile(detent.regex("(?s).*"), vocabulary).matcher()
    # The special token's bytes are text that other ids may write.
    assert matcher.allowed().tolist() == [1, 2, 3, 6, 7]
    for token in (0, 4, 5):
        with pytest.raises(detent.StateError, match="special or has no text"):
            matcher.advance(token)
    assert matcher.token_ids == []


def test_every_end_of_text_id_ends() -> None:
    vocabulary = detent.Vocabulary([b"a", b"x", b"", b"y"], eos_token_ids=[3, 1, 2])
    guide = detent.compile(detent.regex("a"), vocabulary)
    for end in (1, 2, 3):
        matcher = guide.matcher()
        assert matcher.allowed().tolist() == [0]
        with pytest.raises(detent.StateError):
            matcher.advance(end)
        matcher.advance(0)
        assert matcher.allowed().tolist() == [1, 2, 3]
        matcher.advance(end)
        assert matcher.is_finished
        assert matcher.is_accepting
        assert matcher.token_ids == [0, end]


def test_a_vocabulary_may_have_no_end_of_text() -> None:
    vocabulary = detent.Vocabulary([b"a"], eos_token_ids=None)
    matcher = detent.compile(detent.regex("a"), vocabulary).matcher()
    assert matcher.allowed().tolist() == [0]
    matcher.advance(0)
    assert matcher.is_accepting
    assert matcher.allowed().tolist() == []


def test_after_the_end_there_is_only_the_end() -> None:
    matcher = _guide("a?").matcher()
    matcher.advance(_END)
    assert matcher.allowed().tolist() == [_END]
    for token in (0, _END):
        with pytest.raises(detent.StateError, match="consumed end-of-text"):
            matcher.advance(token)
    with pytest.raises(detent.StateError, match="consumed end-of-text"):
        matcher.advance_bytes(b"a")
    assert matcher.token_ids == [_END]


# --- Steps

_TOKEN_TEXTS = [b"a", b"b", b"ab", b"ba", b"abb", b"\xc3", b"\xa9", b"\xc3\xa9", b"1"]
_END = len(_TOKEN_TEXTS)
_VOCABULARY = detent.Vocabulary([*_TOKEN_TEXTS, b""], eos_token_ids=[_END])


def _guide(pattern: str) -> detent.Guide:
    return detent.compile(detent.regex(pattern), _VOCABULARY)


def _masks(matcher: detent.Matcher) -> tuple[list[int], bool, bool]:
    return matcher.allowed().tolist(), matcher.is_accepting, matcher.is_finished


@settings(max_examples=100)
@given(choices=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**16)), max_size=25))
def test_rolling_back_is_as_if_the_steps_had_never_been_taken(choices: list[tuple[int, int]]) -> None:
    guide = _guide("(?:a|b|é){0,9}1?")
    matcher = guide.matcher()
    steps: list[int | bytes] = []
    for kind, number in choices:
        allowed = [] if matcher.is_finished else matcher.allowed().tolist()
        if kind == 0:
            count = number % (len(steps) + 1)
            matcher.rollback(count)
            del steps[len(steps) - count :]
        elif kind == 1 and _can_follow(guide, steps, b"a\xc3"):
            matcher.advance_bytes(b"a\xc3")
            steps.append(b"a\xc3")
        elif allowed:
            token = allowed[number % len(allowed)]
            matcher.advance(token)
            steps.append(token)
        assert _masks(matcher) == _masks(_replay(guide, steps))
        assert matcher.token_ids == [step if isinstance(step, int) else -1 for step in steps]
        assert len(matcher) == len(steps)


def _replay(guide: detent.Guide, steps: list[int | bytes]) -> detent.Matcher:
    matcher = guide.matcher()
    for step in steps:
        if isinstance(step, int):
            matcher.advance(step)
        else:
            matcher.advance_bytes(step)
    return matcher


def _can_follow(guide: detent.Guide, steps: list[int | bytes], text: bytes) -> bool:
    try:
        _replay(guide, [*steps, text])
    except detent.StateError:
        return False
    return True


def test_rolling_back_over_end_of_text() -> None:
    matcher = _guide("ab|abb").matcher()
    matcher.advance(2)
    before = _masks(matcher)
    matcher.advance(_END)
    assert matcher.is_finished
    matcher.rollback()
    assert _masks(matcher) == before
    matcher.advance(1)
    assert matcher.token_ids == [2, 1]


@pytest.mark.parametrize("steps", [3, 2**31, 2**63 - 1, 2**63, -1, -(2**70)])
def test_rolling_back_too_far_changes_nothing(steps: int) -> None:
    matcher = _guide("ab*").matcher()
    matcher.advance(0)
    matcher.advance(1)
    before = _masks(matcher)
    with pytest.raises(detent.DetentError):
        matcher.rollback(steps)
    assert _masks(matcher) == before
    assert matcher.token_ids == [0, 1]
    matcher.rollback(0)
    matcher.rollback(2)
    assert matcher.token_ids == []


def test_forks_go_their_own_ways() -> None:
    matcher = _guide("ab*1?").matcher()
    matcher.advance(0)
    fork = matcher.fork()
    fork.advance(8)
    fork.advance(_END)
    assert (matcher.token_ids, matcher.is_finished) == ([0], False)
    assert matcher.allowed().tolist() == [1, 8, _END]
    matcher.rollback()
    assert (fork.token_ids, fork.is_finished) == ([0, 8, _END], True)
    fork.rollback(2)
    assert fork.allowed().tolist() == [1, 8, _END]
    assert fork.guide is matcher.guide


@pytest.mark.parametrize(
    "token", [1, 4, 6, 9, _END, 10, -1, 2**31, 2**63, -(2**63) - 1, 1.0, None, "a", b"a", float("nan")]
)
def test_a_refused_token_changes_nothing(token: object) -> None:
    matcher = _guide("aba|a\u00e9").matcher()
    matcher.advance(0)
    before = _masks(matcher)
    if token == 1:
        matcher.advance(1)
        matcher.rollback()
    else:
        with pytest.raises(detent.DetentError):
            matcher.advance(token)  # type: ignore[arg-type]
    assert _masks(matcher) == before
    assert matcher.token_ids == [0]


@pytest.mark.parametrize("token", [1.0, None, "a", [0], True, 2**63])
def test_what_is_no_token_id_is_a_wrong_argument(token: object) -> None:
    with pytest.raises(detent.ArgumentError, match=r"an integer|out of range"):
        _guide("ab").matcher().advance(token)  # type: ignore[arg-type]


def test_integers_of_numpy_are_token_ids() -> None:
    matcher = _guide("ab").matcher()
    matcher.advance(np.int32(0))
    matcher.advance(np.uint64(1))
    assert matcher.token_ids == [0, 1]


def test_bytes_may_split_characters() -> None:
    matcher = _guide("é1").matcher()
    matcher.advance_bytes(b"\xc3")
    assert matcher.allowed().tolist() == [6]
    with pytest.raises(detent.StateError):
        matcher.advance_bytes(b"\xa91a")
    matcher.advance_bytes(b"")
    matcher.advance(6)
    matcher.advance_bytes(b"1")
    assert matcher.token_ids == [-1, -1, 6, -1]
    assert matcher.is_accepting


# --- Masks depend on the language and the tokens only


@pytest.mark.parametrize("row_type", ["numpy", "torch"])
def test_the_row_is_overwritten(row_type: str) -> None:
    row = detent.allocate_mask(1, len(_VOCABULARY))[0]
    row[:] = -1
    target: object = row
    if row_type == "torch":
        target = pytest.importorskip("torch").from_numpy(row)
    _guide("ab").matcher().fill_mask(target)
    assert row.tolist() == [0b101]


def test_masks_do_not_depend_on_the_cache() -> None:
    patterns = ["[^b]*1", "(?:ab){0,300}", "é|[ab]{2,}", "(?:ab){0,200}", "[^b]*b?"]
    tokens = [*_TOKEN_TEXTS, b""]
    expected = [_walk(detent.compile(detent.regex(pattern), _VOCABULARY)) for pattern in patterns]
    for cache_bytes in (0, 2_000, 1 << 20):
        vocabulary = detent.Vocabulary(tokens, eos_token_ids=[_END])
        small = _core.Vocabulary([token or b"" for token in tokens], [], [_END], len(tokens), cache_bytes)
        vocabulary._tables.core = small
        for _ in range(2):
            for order in (patterns, patterns[::-1]):
                for pattern in order:
                    masks = _walk(detent.compile(detent.regex(pattern), vocabulary))
                    assert masks == expected[patterns.index(pattern)]
        assert small.cache_bytes <= cache_bytes


def _walk(guide: detent.Guide, seed: int = 0, steps: int = 30) -> list[list[int]]:
    choose = random.Random(seed)
    matcher = guide.matcher()
    masks = []
    for _ in range(steps):
        masks.append(matcher.allowed().tolist())
        token = choose.choice(masks[-1])
        if token == _END:
            break
        matcher.advance(token)
    return masks


# --- Batches


@pytest.mark.parametrize("threads", [None, 1, 2, 8])
def test_a_batch_is_its_matchers(threads: int | None) -> None:
    guides = [_guide("a*b"), _guide("(?:ab|é)+"), _guide("1?")]
    matchers = [guides[i % 3].matcher() for i in range(20)]
    for i, matcher in enumerate(matchers):
        for _ in range(i // 3):
            matcher.advance(matcher.allowed()[-1])
            if matcher.is_finished:
                break
    rows = np.full((20, 1), -1, dtype=np.int32)
    detent.BatchMatcher(matchers, threads=threads).fill_mask(rows)
    for matcher, row in zip(matchers, rows, strict=True):
        expected = detent.allocate_mask(1, len(_VOCABULARY))[0]
        matcher.fill_mask(expected)
        assert row.tolist() == expected.tolist()


def test_batches_check_their_arguments() -> None:
    matcher = _guide("a").matcher()
    with pytest.raises(detent.ArgumentError):
        detent.BatchMatcher([])
    with pytest.raises(detent.ArgumentError):
        detent.BatchMatcher([matcher], threads=0)
    wide = detent.Vocabulary([b"a", b""], eos_token_ids=[1], size=64)
    other = detent.compile(detent.regex("a"), wide).matcher()
    for matchers, shape in (
        ([matcher], (2, 1)),
        ([matcher], (1, 2)),
        ([matcher, other], (2, 1)),
        ([matcher, other], (2, 2)),
    ):
        with pytest.raises(detent.ArgumentError):
            detent.BatchMatcher(matchers).fill_mask(np.zeros(shape, dtype=np.int32))
    with pytest.raises(detent.ArgumentError):
        detent.BatchMatcher([matcher]).fill_mask(np.zeros((1, 1), dtype=np.int64))


def _refusals_while_filling(vocabulary: detent.Vocabulary, bound: int) -> int:
    """Fill a long mask in one thread, and return how often a call of another thread was refused meanwhile."""
    matcher = detent.compile(detent.regex(f"c[ab]{{0,{bound}}}a[ab]{{12}}"), vocabulary).matcher()
    matcher.advance_bytes(b"c")  # compile has found the first mask
    row = detent.allocate_mask(1, len(vocabulary))[0]

    def fill() -> None:
        while True:
            try:
                return matcher.fill_mask(row)
            except detent.BusyError:
                continue  # the other thread was asking just now

    thread = threading.Thread(target=fill)
    refusals = 0
    thread.start()
    while thread.is_alive():
        try:
            matcher.advance(len(vocabulary))  # refused in any state
        except detent.BusyError:
            refusals += 1
        except detent.StateError:
            continue
    thread.join()
    assert matcher.token_ids == [-1]
    again = detent.allocate_mask(1, len(vocabulary))[0]
    matcher.fill_mask(again)
    assert np.array_equal(row, again)
    return refusals


def test_one_matcher_in_two_threads_is_busy() -> None:
    """While one thread fills a long mask, another is refused, and the first is not disturbed."""
    choose = random.Random(0)
    tokens = [bytes(choose.choices(b"ab", k=choose.randrange(8, 24))) for _ in range(60_000)]
    vocabulary = detent.Vocabulary([*tokens, b"a", b"b", b"c", b""], eos_token_ids=[len(tokens) + 3])
    # On a machine under load, a mask may be filled before the other thread runs at all: some further masks are tried.
    assert any(_refusals_while_filling(vocabulary, bound) for bound in range(20, 40))


# --- Histories share their tail


def test_a_rollback_of_a_negative_number_of_steps_is_a_wrong_argument() -> None:
    matcher = _guide("a{3}").matcher()
    with pytest.raises(detent.ArgumentError, match="rollback needs a number of steps from 0 on, got -1"):
        matcher.rollback(-1)
    with pytest.raises(detent.StateError, match="cannot roll back 1 steps: 0 were taken"):
        matcher.rollback(1)


def test_forks_and_rollbacks_of_long_histories() -> None:
    """Against lists of tokens: forks of forks, rolled back over chunks, each independent of the others."""
    vocabulary = detent.Vocabulary([b"a", b"b", b"c", b""], eos_token_ids=[3])
    rng = random.Random(0)
    pairs = [(detent.compile(detent.regex("[abc]*"), vocabulary).matcher(), [])]
    for _ in range(4_000):
        matcher, tokens = pairs[rng.randrange(len(pairs))]
        kind = rng.random()
        if kind < 0.3 and len(pairs) < 12:
            pairs.append((matcher.fork(), list(tokens)))
        elif kind < 0.4 and len(pairs) > 1:
            pairs.remove((matcher, tokens))
        elif kind < 0.6:
            steps = rng.choice((0, 1, 5, rng.randint(0, len(tokens))))
            steps = min(steps, len(tokens))
            matcher.rollback(steps)
            del tokens[len(tokens) - steps :]
        else:
            for _ in range(rng.choice((1, 63, 64, 65, 200))):
                tokens.append(rng.randrange(3))
                matcher.advance(tokens[-1])
        for each, expected in pairs:
            assert len(each) == len(expected)
            assert each._has_taken(np.array(expected, np.int64))
        if tokens:
            other = np.array(tokens, np.int64)
            other[rng.randrange(len(other))] = 3
            assert not matcher._has_taken(other)
            assert not matcher._has_taken(other[:-1])
    for matcher, tokens in pairs:
        assert matcher.token_ids == tokens


def test_long_histories_are_freed_without_recursion_on_any_thread() -> None:
    vocabulary = detent.Vocabulary([b"a", b""], eos_token_ids=[1])
    matcher = detent.compile(detent.regex("a*"), vocabulary).matcher()
    for _ in range(500_000):  # a frame for each chunk would take the stack
        matcher.advance(0)
    forks = [matcher.fork() for _ in range(64)]
    del matcher
    threads = [threading.Thread(target=forks.clear) for _ in range(2)] + [
        threading.Thread(target=lambda: forks and forks.pop()) for _ in range(32)
    ]
    for thread in threads[2:] + threads[:2]:
        thread.start()
    for thread in threads:
        thread.join()
    assert not forks


def test_a_batch_of_one_in_place_of_a_row_is_told_the_row() -> None:
    matcher = detent.compile(detent.regex("a"), _VOCABULARY).matcher()
    with pytest.raises(detent.ArgumentError, match=r"give the row, mask\[0\]"):
        matcher.fill_mask(detent.allocate_mask(1, len(_VOCABULARY)))


def test_a_matcher_is_made_by_a_guide() -> None:
    with pytest.raises(detent.ArgumentError, match=r"write guide\.matcher\(\)"):
        detent.Matcher()
