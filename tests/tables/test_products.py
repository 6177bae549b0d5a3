"""Automata over tokens with languages, budgets and a tokenizer: against plain search, and wherever a guide goes."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np
import pytest

import detent
from detent.tables.product import intersect
from detent.testing import check_matcher
from tests.support.long_tests import mostly_long
from tests.support.table_constraints import FEW_BYTES, PATTERNS, TWO_ENDS, WITH_END
from tests.support.toy_bpe import SPLITS, random_tokenizer, vocabulary_of

CALL, CLOSE, STOP = 4, 5, 6
SMALL = detent.Vocabulary(
    [b"a", b"b", b"ab", b"a", b"<call>", b"<close>", b""], eos_token_ids=[STOP], special_token_ids=[CALL, CLOSE]
)
Rows = dict[tuple[int, Any], int]


def random_rows(rng: random.Random, symbols: list[Any], density: float) -> tuple[Rows, set[int]]:
    """Return the moves of a random automaton from state 0, and where it accepts."""
    count = rng.randint(1, 5)
    moves = {(s, x): rng.randrange(count) for s in range(count) for x in symbols if rng.random() < density}
    return moves, {s for s in range(count) if rng.random() < 0.5}


def as_table(moves: Rows, accepting: set[int], over: str) -> detent.UserDfa:
    given = [(source, symbol, target) for (source, symbol), target in moves.items()]
    return detent.token_table(given, 0, accepting, over=over, states=9, trim=True)  # type: ignore[arg-type]


class Search:
    """Pairs of states, by plain search: where each token leads, and how many tokens are left to an end."""

    def __init__(self, held: Rows, held_ends: set[int], texts: Rows, text_ends: set[int]) -> None:
        self.moves: dict[tuple[int, int], dict[int, tuple[int, int]]] = {}
        queue = [(0, 0)]
        for pair in queue:  # grows while it is read
            row = {}
            for token in range(STOP):
                after: int | None = pair[1]
                for byte in SMALL.decode([token]):
                    after = texts.get((after, byte)) if after is not None else None  # type: ignore[arg-type]
                if after is not None and (pair[0], token) in held:
                    row[token] = (held[pair[0], token], after)
            self.moves[pair] = row
            queue += [other for other in row.values() if other not in self.moves and other not in queue]
        before: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for pair, row in self.moves.items():
            for other in row.values():
                before.setdefault(other, []).append(pair)
        self.left = {pair: 0 for pair in self.moves if pair[0] in held_ends and pair[1] in text_ends}
        waiting = deque(self.left)
        while waiting:
            pair = waiting.popleft()
            for other in before.get(pair, []):
                if other not in self.left:
                    self.left[other] = self.left[pair] + 1
                    waiting.append(other)

    def allowed(self, pair: tuple[int, int], tokens: float = float("inf")) -> list[int]:
        ids = [token for token, other in self.moves[pair].items() if self.left.get(other, float("inf")) < tokens]
        return ids + [STOP] * (self.left.get(pair) == 0)


def walk(search: Search, matcher: Any, rng: random.Random, budget: int | None) -> None:
    pair, spent = (0, 0), 0
    for _ in range(12):
        left = float("inf") if budget is None else budget - spent
        allowed = search.allowed(pair, left)
        assert matcher.allowed().tolist() == allowed
        assert len(matcher.completion()) == search.left[pair]
        assert (matcher.budget_bound_at is None) or budget is not None
        for token in range(len(SMALL)):
            assert matcher.explain(token).endswith(" allowed") == (token in allowed)
            if token not in allowed:
                with pytest.raises(detent.StateError):
                    matcher.advance(token)
        token = rng.choice(allowed)
        matcher.advance(token)
        if token == STOP:
            assert matcher.is_finished
            return
        pair, spent = search.moves[pair][token], spent + 1


@pytest.mark.parametrize("seed", mostly_long(range(8), always=3))
def test_with_a_language_as_plain_search_says(seed: int) -> None:
    rng = random.Random(seed)
    checked = 0
    for _ in range(60):
        held, texts = random_rows(rng, list(range(STOP)), 0.6), random_rows(rng, [97, 98], 0.8)
        search = Search(*held, *texts)
        try:
            automaton = as_table(*held, "tokens")
            language = as_table(*texts, "bytes").language()
        except detent.EmptyLanguageError:
            assert (0, 0) not in search.left
            continue
        if (0, 0) not in search.left:
            with pytest.raises(detent.EmptyLanguageError, match="no sequence of tokens"):
                detent.compile(automaton & language, SMALL)
            continue
        checked += 1
        for table in (detent.compile(automaton & language, SMALL), automaton.table(SMALL) & language):
            walk(search, table.matcher(), rng, None)
            with pytest.raises(detent.LimitError, match="too few"):
                table.matcher(search.left[0, 0] - 1) if search.left[0, 0] else table.matcher(0, count_eos=True)
            for budget in (search.left[0, 0], search.left[0, 0] + 3):
                walk(search, table.matcher(budget), rng, budget)
                walk(search, table.matcher(budget + 6, count_eos=True, headroom=5), rng, budget)
    assert checked > 5


def test_the_operators() -> None:
    tokens = detent.token_table([(0, (0, 3), 1), (1, (0, 3), 0)], 0, [0])
    texts = detent.token_table([(0, ("a", "b"), 0)], 0, [0], over="characters")
    called = detent.token_table([("s", CALL, "t"), ("t", (0, 3), "t"), ("t", CLOSE, "end")], "s", ["t", "end"])
    language = detent.regex("(ab)+")
    rules = [
        tokens & language,
        language & tokens,
        tokens & texts & language,
        texts & tokens & language,
        language & (texts & tokens),
        tokens & (tokens & language),
        (tokens & language) & (language & texts),
        tokens & tokens & language,
    ]
    expected = detent.compile(rules[0], SMALL)
    for rule in rules:
        table = detent.compile(rule, SMALL)
        assert np.array_equal(table.next, expected.next)  # type: ignore[attr-defined]
        assert np.array_equal(table.token_class, expected.token_class)  # type: ignore[attr-defined]
    table = tokens.table(SMALL)
    for narrowed in (table & language, language & table, table & detent.compile(language, SMALL)):
        assert np.array_equal(narrowed.next, expected.next)  # type: ignore[attr-defined]
    assert detent.compile(tokens & "ab", SMALL).matcher().completion() == [0, 1]
    assert (table & b"ab").matcher().completion() == ("ab" & table).matcher().completion() == [0, 1]
    assert detent.compile("ab" & tokens, SMALL).matcher().completion() == [0, 1]
    matcher = detent.compile(called & language, SMALL).matcher()
    assert matcher.forced() == [CALL]
    assert matcher.completion() == [CALL, 2]
    with pytest.raises(detent.StateError):
        matcher.advance(CLOSE)
    with pytest.raises(detent.EmptyLanguageError):
        detent.compile(called & tokens, SMALL)
    with pytest.raises(TypeError):
        tokens & 3  # type: ignore[operator]
    assert repr(tokens & language) == "token_table(2 states over tokens) & Language(regex '(ab)+')"


def test_languages_may_ask_for_special_tokens() -> None:
    anything = detent.token_table([(0, (0, CLOSE), 0)], 0, [0])
    language = detent.literal("a") + detent.special_token("<call>") + detent.regex("b*")
    matcher = detent.compile(anything & language, SMALL).matcher()
    for token, allowed in ((0, [0, 3]), (CALL, [CALL]), (1, [1, STOP]), (1, [1, STOP])):
        assert matcher.allowed().tolist() == allowed
        matcher.advance(token)
    assert (anything.table(SMALL) & language).matcher().completion() == [0, CALL]


def test_a_recursive_grammar_is_bounded_by_the_table() -> None:
    nested = detent.ebnf('root ::= "a" root "b" | "ab"')
    at_most_six = detent.token_table([(k, (0, 3), k + 1) for k in range(6)], 0, range(7))
    table = detent.compile(at_most_six & nested, SMALL)
    found: set[bytes] = set()
    stack = [table.matcher()]
    while stack:
        matcher = stack.pop()
        for token in matcher.allowed().tolist():
            ahead = matcher.fork()
            ahead.advance(token)
            if token == STOP:
                found.add(SMALL.decode(ahead.token_ids))
            else:
                stack.append(ahead)
    assert found == {b"a" * k + b"b" * k for k in (1, 2, 3)}
    with pytest.raises(detent.LimitError, match="max_states=50"):
        anything = detent.token_table([(0, (0, 3), 0)], 0, [0]).table(SMALL)
        intersect(anything, nested, max_states=50)


@pytest.mark.parametrize("split", SPLITS)
def test_with_the_tokenizer(split: str) -> None:
    """Rows that the tokenizer writes and the automaton takes: no others, and no dead ends."""
    rng = random.Random(split)
    checked = 0
    for _ in range(15):
        tokens, merges = random_tokenizer(rng)
        vocabulary = vocabulary_of(tokens, merges, split=SPLITS[split])
        letters = sorted({chr(token[0]) for token in tokens})
        words = sorted({"".join(rng.choice(letters) for _ in range(rng.randint(0, 7))) for _ in range(30)})
        moves, accepting = random_rows(rng, list(range(len(tokens))), 0.9)

        def takes(row: tuple[int, ...]) -> bool:
            state: int | None = 0
            for token in row:
                state = moves.get((state, token)) if state is not None else None  # type: ignore[arg-type]  # noqa: B023
            return state in accepting  # noqa: B023

        rows = [row for word in words if takes(row := tuple(vocabulary.encode_canonical(word)))]
        try:
            automaton = as_table(moves, accepting, "tokens")
            table = detent.compile(automaton & detent.choice(words), vocabulary, canonical=True)
        except detent.EmptyLanguageError:
            assert not rows
            continue
        checked += 1
        tree: dict[tuple[int, ...], set[int]] = {}
        for row in rows:
            for position, token in enumerate((*row, len(tokens))):
                tree.setdefault(row[:position], set()).add(token)
        again = automaton.table(vocabulary) & detent.compile(detent.choice(words), vocabulary, canonical=True)
        for each in (table, again):
            for row, following in tree.items():
                matcher = each.matcher()
                for token in row:
                    matcher.advance(token)
                assert set(matcher.allowed().tolist()) == following
            assert each.matcher().guide.distance[each.start()] == min(map(len, rows))  # type: ignore[attr-defined, attr-defined]
    assert checked


def test_canonical_guides_have_tables() -> None:
    rng = random.Random(5)
    for _ in range(12):
        tokens, merges = random_tokenizer(rng)
        vocabulary = vocabulary_of(tokens, merges)
        letters = "".join(sorted({chr(token[0]) for token in tokens}))
        for pattern in (f"[{letters}]*", f"[{letters}]{{2,5}}", f"({letters[0]}|{letters[-1]}{letters[0]})*"):
            guide = detent.compile(detent.regex(pattern), vocabulary, canonical=True)
            table = guide.to_table()
            matcher, other = guide.matcher(), table.matcher()
            for _ in range(15):
                allowed = matcher.allowed().tolist()
                assert other.allowed().tolist() == allowed
                token = rng.choice(allowed)
                matcher.advance(token)
                other.advance(token)
                if matcher.is_finished:
                    break
            written = table.matcher(max_tokens=4)
            while not written.is_finished:
                written.advance(int(rng.choice(written.allowed())))
            text = vocabulary.decode(written.token_ids)
            assert written.token_ids[:-1] == list(vocabulary.encode_canonical(text.decode()))
            assert guide.language.accepts(text)


def test_canonical_automata_have_no_special_tokens() -> None:
    tokens, merges = random_tokenizer(random.Random(1))
    vocabulary = vocabulary_of(tokens, merges)
    automaton = detent.token_table([(0, (0, len(tokens) - 1), 0)], 0, [0])
    table = detent.compile(automaton, vocabulary, canonical=True)
    guide = detent.compile(detent.text(), vocabulary, canonical=True)
    assert table.matcher().allowed().tolist() == guide.matcher().allowed().tolist()
    model = detent.load_model().vocabulary
    special = next(iter(sorted(model.special_token_ids - set(model.eos_token_ids))))
    with pytest.raises(detent.ArgumentError, match=f"the table allows token {special}, which has no text"):
        detent.compile(detent.token_table([(0, special, 0)], 0, [0]), model, canonical=True)


@pytest.mark.parametrize("vocabulary", [WITH_END, TWO_ENDS, FEW_BYTES])
def test_tables_keep_the_laws_of_matchers(vocabulary: detent.Vocabulary) -> None:
    for seed, pattern in enumerate(PATTERNS):
        try:
            table = detent.compile(detent.regex(pattern), vocabulary).to_table()
        except detent.EmptyLanguageError:
            continue
        check_matcher(table, random.Random(seed))
        for budget in (4, 9):
            if table.distance[table.start()] <= budget - 1:
                check_matcher(table, random.Random(seed), max_tokens=budget, count_eos=True)


def test_batches_mix_tables_and_guides() -> None:
    guides = [detent.compile(detent.regex(pattern), WITH_END) for pattern in PATTERNS]
    matchers = [guide.matcher() if k % 2 else guide.to_table().matcher(30) for k, guide in enumerate(guides)]
    rows = detent.allocate_mask(len(guides), len(WITH_END))
    for some in (matchers, matchers[::2]):
        detent.BatchMatcher(some, threads=1).fill_mask(rows[: len(some)])
        for row, matcher in zip(rows, some, strict=False):
            assert np.array_equal(
                np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")), matcher.allowed()
            )
    with pytest.raises(detent.ArgumentError, match=r"needs matchers .* got LanguageGuide"):
        detent.BatchMatcher(guides)  # type: ignore[arg-type]
    with pytest.raises(detent.ArgumentError, match="the mask must be int32"):
        detent.BatchMatcher(matchers).fill_mask(rows[:2])


def test_the_processor_of_transformers_takes_tables() -> None:
    torch = pytest.importorskip("torch")
    from detent.integrations.transformers import LogitsProcessor

    guides = [detent.compile(detent.regex(pattern), WITH_END) for pattern in ("(ab)+", "a{1,30}b")]
    by_guide, by_table = LogitsProcessor(guides), LogitsProcessor([guides[0].to_table(), guides[1]])
    rng = np.random.default_rng(0)
    ids = torch.zeros(4, 2, dtype=torch.int64)
    for _ in range(10):
        scores = torch.from_numpy(rng.normal(size=(4, len(WITH_END))).astype(np.float32))
        masked = by_guide(ids, scores)
        assert torch.equal(masked, by_table(ids, scores))
        ids = torch.cat([ids, masked.argmax(dim=1, keepdim=True)], dim=1)
    with pytest.raises(detent.ArgumentError, match="needs the vocabulary"):
        LogitsProcessor(detent.regex("a"))  # type: ignore[arg-type]


class TestGenerate:
    """Over the vocabulary of the model that comes along."""

    model = detent.load_model()

    def digits(self) -> detent.UserDfa:
        """At most six digits, each token of one digit."""
        ids = [token for token in range(len(self.model.vocabulary)) if self.model.vocabulary.decode([token]).isdigit()]
        ones = [token for token in ids if len(self.model.vocabulary.decode([token])) == 1]
        return detent.token_table([(k, token, k + 1) for k in range(6) for token in ones], 0, range(1, 7))

    def test_whatever_is_a_constraint(self) -> None:
        automaton, odd = self.digits(), detent.regex("[0-9]*[13579]")
        table = detent.compile(automaton & odd, self.model.vocabulary)
        for rule in (automaton & odd, table, table & detent.regex(".{2}")):
            for seed in range(4):
                out = detent.generate(self.model, "Pick a number: ", rule, seed=seed, max_tokens=4, temperature=2.0)
                assert odd.accepts(out.text)
                assert len(out.token_ids) == len(out.text) <= 4
                assert out.finish_reason == "stop"
        assert detent.generate(self.model, "1", automaton, seed=0).text.isdigit()
        out = detent.generate(self.model, "1", detent.compile(detent.integer(7, 9), self.model.vocabulary).to_table())
        assert out.value in (7, 8, 9)
        outs = detent.generate_batch(
            self.model, [detent.Request("1", table, samples=2), detent.Request("2", automaton)]
        )
        assert [odd.accepts(out.text) for out in outs[:2]] == [True, True]
        assert "".join(detent.stream(self.model, "1", table, seed=1)).isdigit()
        assert detent.analysis.sample_conditioned(self.model, "1", table, seed=1, max_tokens=3, max_rejections=10**4)[
            0
        ].text.isdigit()

    def test_banned_words(self) -> None:
        table = detent.compile(self.digits() & detent.regex("[12]{6}"), self.model.vocabulary)
        for mode in ("rewind", "mask"):
            for seed in range(4):
                out = detent.generate(
                    self.model, "1", table, ban=["11", "22"], ban_mode=mode, seed=seed, temperature=3.0
                )
                assert out.text in ("121212", "212121")
        with pytest.raises(detent.EmptyLanguageError):
            detent.generate(self.model, "1", table, ban=["1", "2"])

    def test_as_the_guide_writes(self) -> None:
        guide = detent.compile(detent.date(), self.model.vocabulary)
        for seed in range(3):
            texts = {detent.generate(self.model, "When?", rule, seed=seed).text for rule in (guide, guide.to_table())}
            assert len(texts) == 1

    def test_special_tokens_have_no_text(self) -> None:
        vocabulary = self.model.vocabulary
        special = max(vocabulary.special_token_ids - set(vocabulary.eos_token_ids))
        rule = detent.token_table([(0, special, 1), (1, (special + 1, len(vocabulary) - 1), 1)], 0, [1])
        out = detent.generate(self.model, "1", rule & detent.literal("yes"), seed=0)
        assert out.text == "yes"
        assert out.token_ids[0] == special

    def test_mistakes_are_said(self) -> None:
        with pytest.raises(detent.ArgumentError, match=r"is for .* but the model has"):
            detent.generate(self.model, "1", detent.compile(detent.regex("a"), SMALL).to_table())
        with pytest.raises(detent.LimitError, match="too few"):
            detent.generate(self.model, "1", detent.compile(self.digits() & "123", self.model.vocabulary), max_tokens=2)
