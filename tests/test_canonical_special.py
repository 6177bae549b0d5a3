"""Canonical guides with special tokens: random small tokenizers beside all words of small languages.

A word is a text whose special tokens are single characters, so that `re` knows its language too. Its row of tokens is
that of each text between special tokens, as `tokenizers` tokenizes it by itself, and it counts if `tokenizers` makes
the same of the whole.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest

import detent
from detent.errors import LimitError
from tests.support import canonical_walks
from tests.support.canonical_walks import END, Row, check_budgets, check_prompts, check_rows, guides
from tests.support.long_tests import mostly_long
from tests.support.toy_languages import LETTERS
from tests.support.toy_tokenizers import of_bytes, of_pieces, opened, special

MARKS = {"\u2460": "<x>", "\u2461": "<yy>", "\u2462": "<xy>"}
"""The characters for special tokens, and their names."""
LONGEST = {2: 8, 3: 6, 4: 5, 5: 4, 6: 4, 7: 4}
"""Of the words that are tried, by the number of letters and special tokens."""


@dataclass
class Case(canonical_walks.Case):
    """A tokenizer that writes each word in one way, if it finds the special tokens of it in its text."""

    most_rows = 120

    of_text: Callable[[str], Row]
    ids: dict[str, int]
    strips: bool
    """Whether special tokens may take white space beside them away, so that no text has the row of some words."""

    def encode(self, word):
        """Tokenize each text between special tokens by itself."""
        parts = re.split("([" + "".join(MARKS) + "])", word)
        rows = [(self.ids[part],) if part in MARKS else self.of_text(part) for part in parts]
        return tuple(itertools.chain.from_iterable(rows))

    def as_found(self, word):
        """Tokenize it as a text in which special tokens are found."""
        return self.of_text("".join(MARKS.get(unit, unit) for unit in word))

    def rows_of(self, word):
        tokens = self.encode(word)
        found = self.as_found(word) == tokens
        assert found or self.strips, word
        return [tokens] if found and not self.unknown(tokens) else []

    def unknown(self, tokens):
        """Whether the tokenizer has no token for a character."""
        return any(token in self.vocabulary.special_token_ids - set(self.ids.values()) for token in tokens)

    def is_written(self, word, tokens):
        return self.encode(word) == self.as_found(word) == tokens

    def guesses(self, rng):
        return [*rng.sample(range(len(self.vocabulary)), 6), *self.ids.values()]

    def word(self, tokens):
        marks = {number: mark for mark, number in self.ids.items()}
        parts = [marks[token].encode() if token in marks else self.vocabulary.decode([token]) for token in tokens]
        return b"".join(parts).decode()


def either_name(rng, marks, letters):
    """Draw the text of a regular expression over letters and special tokens, and the language that it stands for."""
    if rng.random() < 0.4:
        mark = rng.choice(marks)
        return mark, detent.special_token(MARKS[mark])
    if rng.random() < 0.3:
        some = "[" + "".join(map(re.escape, rng.sample(letters, rng.randint(1, len(letters))))) + "]"
        if rng.random() < 0.5:
            some += rng.choice(("*", "+"))
        return some, detent.regex(some)
    text = "".join(re.escape(letter) for letter in rng.choices(letters, k=rng.randint(1, 3)))
    return text, detent.regex(text)


def random_pattern(rng, marks, letters, depth=0):
    kind = rng.random()
    if depth > 3 or kind < 0.3:
        return either_name(rng, marks, letters)
    pattern, language = random_pattern(rng, marks, letters, depth + 1)
    if kind < 0.75:
        other, also = random_pattern(rng, marks, letters, depth + 1)
        return (pattern + other, language + also) if kind < 0.6 else (f"(?:{pattern}|{other})", language | also)
    count, least, most = rng.choice((("*", 0, None), ("+", 1, None), ("?", 0, 1), ("{2}", 2, 2), ("{1,3}", 1, 3)))
    return f"(?:{pattern}){count}", language.repeat(least, most)


def random_language(rng, marks, letters):
    """Draw a language with its plain meaning."""
    if rng.random() < 0.15:
        opening, closing = (rng.choice([*marks, rng.choice(letters)]) for _ in range(2))
        inside = rng.choice([*marks, *letters])
        names = [MARKS.get(unit) or '"' + unit.replace("\n", r"\n") + '"' for unit in (opening, closing, inside)]
        rule = detent.gbnf(f"root ::= {names[0]} root {names[1]} | {names[2]}")

        def nested(word):
            depth = len(word) // 2
            return word == opening * depth + inside + closing * depth and sum(unit not in MARKS for unit in word) <= 21

        # Bounded, since some splits look ahead without end, and then all that may follow is searched.
        return rule & detent.regex("(?s:.{0,21})"), nested
    pattern, language = random_pattern(rng, marks, letters)
    matches = re.compile(pattern).fullmatch
    kind = rng.random()
    if kind < 0.7 or not language._node.has_special:
        return language, matches
    other = "".join(map(re.escape, rng.choices(letters, k=rng.randint(1, 2))))
    contains = re.compile(f"(?s:.*){other}(?s:.*)").fullmatch
    excluded = detent.regex(f"(?s:.*){other}(?s:.*)")

    def text(word):
        return "".join(unit for unit in word if unit not in MARKS)

    if kind < 0.85:
        return language - excluded, lambda word: matches(word) and not contains(text(word))
    return language & excluded, lambda word: matches(word) and contains(text(word))


def random_case(rng, path, strips=False):
    letters = rng.choice([each for each in LETTERS if len(each) <= 4])
    marks = list(MARKS)[: rng.randint(1, 3)]
    data = (of_pieces if rng.random() < 0.3 else of_bytes)(rng, letters)
    size = max(max(data["model"]["vocab"].values()), data["added_tokens"][-1]["id"]) + 1
    ids = {mark: size + number for number, mark in enumerate(marks)}
    if data["added_tokens"][-1]["id"] == size - 1:  # in the order of their ids, and the end of text last
        end = data["added_tokens"].pop()
        data["added_tokens"] += [special(ids[mark] - 1, MARKS[mark]) for mark in marks]
        data["added_tokens"].append({**end, "id": size - 1 + len(marks)})
        ids = {mark: number - 1 for mark, number in ids.items()}
    else:
        data["added_tokens"] += [special(ids[mark], MARKS[mark]) for mark in marks]
        data["added_tokens"].append(special(size + len(marks), "<end>"))
    for token in data["added_tokens"]:
        token |= {"lstrip": strips and rng.random() < 0.4, "rstrip": strips and rng.random() < 0.4}
    vocabulary, of_text = opened(data, path)
    for mark, number in ids.items():
        assert vocabulary.token_bytes(number).decode() == MARKS[mark]
    language, accepts = random_language(rng, marks, letters)
    alphabet = letters + "".join(marks)
    return Case(vocabulary, language, alphabet, accepts, LONGEST[len(alphabet)], of_text, ids, strips)


@pytest.mark.parametrize("seed", mostly_long(range(20), always=4))
def test_rows_of_tokens_are_those_of_the_words(seed, tmp_path):
    for rng, case, guide in guides(random_case, seed, 12, tmp_path):
        check_rows(rng, case, guide.matcher(), case.rows())


@pytest.mark.parametrize("seed", mostly_long(range(6), always=4))
def test_white_space_that_special_tokens_strip_is_not_there(seed, tmp_path):
    for rng, case, guide in guides(partial(random_case, strips=True), 400 + seed, 12, tmp_path):
        check_rows(rng, case, guide.matcher(), case.rows())


@pytest.mark.parametrize("seed", mostly_long([1, 2, 3, 4, 6, 0, 5, 7], always=5))
def test_rows_go_on_from_a_prompt(seed, tmp_path):
    for rng, case, guide in guides(random_case, 100 + seed, 8, tmp_path):
        check_prompts(rng, case, guide, case.encode)  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(10))
def test_budgets_end_in_time(seed, tmp_path):
    """What a budget allows always ends within it; what it refuses of a few tokens rarely would have."""
    found = guides(random_case, 200 + seed, 10, tmp_path)
    assert sum(check_budgets(rng, case, guide, 6) for rng, case, guide in found) <= 6


@pytest.mark.parametrize("seed", range(6))
def test_tables_allow_what_guides_do(seed, tmp_path):
    for rng, case, guide in guides(random_case, 300 + seed, 8, tmp_path):
        try:
            table = guide.to_table(max_states=300)
        except LimitError:
            continue
        for _ in range(4):
            here, there = guide.matcher(), table.matcher()
            for _ in range(8):
                following = case.following(here)
                assert case.following(there) == following
                if following == {END}:
                    break
                token = rng.choice(sorted(following - {END}))
                here.advance(token)
                there.advance(token)
