"""Walks that hold canonical guides to what is known of small cases without detent.

A case is a tokenizer, a language, and all of its words up to a length, each with the rows of tokens that may stand for
it. These rows make a tree: what must be allowed after each beginning. What a guide allows beyond the tree can only lead
to longer words, so it is followed to an end, and the tokenizer and the language judge the text there.
"""

from __future__ import annotations

import itertools
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

import pytest

import detent
from detent.errors import EmptyLanguageError, LimitError, StateError

END = -1
"""Stands for any token that ends the text."""

Row: TypeAlias = "tuple[int, ...]"
Tree: TypeAlias = "dict[Row, set[int]]"


@dataclass
class Case(ABC):
    """A tokenizer, a language, and what is known of them without detent."""

    canonical: ClassVar[Literal[True, "approximate"]] = True
    most_rows: ClassVar[int]
    """The beginnings of words that one walk looks at."""

    vocabulary: detent.Vocabulary
    language: detent.Language
    letters: str
    accepts: Callable[[str], object]
    longest: int
    """The length up to which words are known."""

    @abstractmethod
    def rows_of(self, word: str) -> list[Row]:
        """Give the rows of tokens that may stand for a word; none if the tokenizer cannot write it."""

    @abstractmethod
    def is_written(self, word: str, tokens: Row) -> bool:
        """Whether the tokens may stand for the word, however long that is."""

    @abstractmethod
    def guesses(self, rng: random.Random) -> Sequence[int]:
        """Draw tokens that are tried whether or not they are allowed."""

    @cached_property
    def words(self) -> list[str]:
        """The words of the language, as far as they are known, that the tokenizer can write."""
        return [word for word in texts(self.letters, self.longest) if self.accepts(word) and self.rows_of(word)]

    def word(self, tokens: Sequence[int]) -> str:
        """Give the word that tokens stand for; a UnicodeDecodeError if they end inside a character."""
        return self.vocabulary.decode(tokens).decode()

    def rows(self, prompt: str = "", behind: Row = ()) -> Tree:
        """Give what follows each beginning of the words' tokens, where these go on from a prompt's."""
        tree: Tree = {}
        for tokens in itertools.chain.from_iterable(self.rows_of(prompt + word) for word in self.words):
            if tokens[: len(behind)] == behind:
                row = (*tokens[len(behind) :], END)
                for position, token in enumerate(row):
                    tree.setdefault(row[:position], set()).add(token)
        return tree

    def following(self, matcher: detent.Matcher) -> set[int]:
        """Give what a matcher allows."""
        ends = self.vocabulary.eos_token_ids
        found = {END if token in ends else token for token in matcher.allowed().tolist()}
        assert found, self.language
        assert matcher.is_accepting == (END in found)
        return found

    def check_text(self, tokens: Sequence[int], prompt: str = "") -> str:
        """Hold all tokens of a finished text to the language and the tokenizer."""
        word = self.word(tokens)
        assert word.startswith(prompt), (word, prompt)
        assert self.accepts(word[len(prompt) :]), (self.language, word, prompt)
        assert self.is_written(word, tuple(tokens)), (word, tokens)
        return word


def texts(letters: str, longest: int) -> Iterator[str]:
    """Give all texts of the letters, the shortest first."""
    return ("".join(each) for length in range(longest + 1) for each in itertools.product(letters, repeat=length))


def guides(
    draw: Callable[[random.Random, Path], Case], seed: int, count: int, path: Path
) -> Iterator[tuple[random.Random, Case, detent.Guide]]:
    """Yield cases with their guides; none where a language has no word."""
    rng = random.Random(seed)
    for _ in range(count):
        case = draw(rng, path / "tokenizer.json")
        try:
            guide = detent.compile(case.language, case.vocabulary, canonical=case.canonical)
        except EmptyLanguageError:
            assert not case.words, case.language
            continue
        assert guide.canonical == case.canonical
        yield rng, case, guide


def check_rows(
    rng: random.Random, case: Case, start: detent.Matcher, rows: Tree, prompt: str = "", behind: Row = ()
) -> None:
    """Hold what a matcher allows to the rows of the words, and whatever else it allows to longer words."""
    pending: list[Row] = [()]
    for _ in range(case.most_rows):
        if not pending:
            break
        row = pending.pop(rng.randrange(len(pending)))
        matcher = start.fork()
        for token in row:
            matcher.advance(token)
        following, expected = case.following(matcher), rows.get(row, set())
        assert following >= expected, (case.language, row, following, expected)
        assert END not in following - expected, (case.language, row)
        for token in following - expected:  # towards longer words
            ahead = matcher.fork()
            ahead.advance(token)
            word = case.check_text((*behind, *row, token, *ahead.completion()), prompt)
            assert len(word) > len(prompt) + case.longest, (case.language, row, token, word)
        for token in case.guesses(rng):
            if token not in following and token not in case.vocabulary.eos_token_ids:
                with pytest.raises(StateError):
                    matcher.advance(token)
                assert "refused" in matcher.explain(token)
        pending += [(*row, token) for token in expected - {END}]


def check_from_prompt(rng: random.Random, case: Case, guide: detent.Guide, behind: Row) -> None:
    """Hold what a guide allows after a prompt's tokens to the rows that go on from these."""
    try:
        prompt = case.word(behind)
    except UnicodeDecodeError:
        return
    rows = case.rows(prompt, behind)
    try:
        start = guide.matcher(prompt_tokens=behind)
    except EmptyLanguageError:
        assert not rows, (case.language, prompt)
        return
    check_rows(rng, case, start, rows, prompt, behind)


def check_prompts(rng: random.Random, case: Case, guide: detent.Guide, encode: Callable[[str], Row]) -> None:
    """Do so for the first tokens of some texts."""
    for _ in range(3):
        tokens = encode("".join(rng.choices(case.letters, k=rng.randint(1, 6))))
        tokens = tokens[: rng.randint(1, len(tokens))]
        if not case.unknown(tokens):  # type: ignore[attr-defined]
            check_from_prompt(rng, case, guide, tokens)


def check_budgets(rng: random.Random, case: Case, guide: detent.Guide, most: int) -> int:
    """Hold texts within budgets of up to `most` tokens to ending in time; give how many refusals were in vain."""
    refused_in_vain = 0
    rows = [row for word in case.words for row in case.rows_of(word)]
    for limit in range(most + 1):
        try:
            matcher = guide.matcher(limit)
        except LimitError:
            refused_in_vain += any(len(row) <= limit for row in rows)
            continue
        free = guide.matcher()
        done: list[int] = []
        while True:
            following, unbounded = case.following(matcher), case.following(free)
            assert following <= unbounded, (case.language, limit, done)
            for token in unbounded - following:
                with pytest.raises(StateError, match="tokens left"):
                    matcher.advance(token)
                assert "in the tokens left" in matcher.explain(token)
                refused_in_vain += any(row[: len(done) + 1] == (*done, token) and len(row) <= limit for row in rows)
            if following == {END} or (END in following and rng.random() < 0.2):
                break
            done.append(rng.choice(sorted(following - {END})))
            free.advance(done[-1])
            matcher.advance(done[-1])
            if rng.random() < 0.2:
                matcher.rollback()
                assert case.following(matcher) == following
                matcher.advance(done[-1])
        assert len(done) <= limit
        case.check_text(done)
    case.check_text(guide.matcher().completion())
    return refused_in_vain
