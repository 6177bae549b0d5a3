"""The search for words against the languages that `detent.containing` makes, and against plain search."""

from __future__ import annotations

import random

import pytest

import detent
from detent.generation.aho_corasick import AhoCorasick, Match
from detent.language import Language
from detent.sources.words.containing import containing_node

OPTIONS = [(False, False), (True, False), (False, True), (True, True)]
LETTERS = ["a", "b", "A", "k", "K", "\u212a", "s", "ß", "ẞ", "é", "É", "i", "ı", "İ", " ", "_", "日", "🙂"]


def words(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices(LETTERS, k=rng.randint(1, 4))) for _ in range(count)]


def feed(automaton: AhoCorasick, text: bytes, rng: random.Random) -> Match | None:
    """Feed a text in random pieces, going back now and then; return the first word found."""
    state = automaton.start()
    place = 0
    while place < len(text):
        end = rng.randint(place + 1, len(text))
        checkpoint = state.checkpoint()
        found = state.feed(text[place:end])
        if rng.random() < 0.3:
            state.restore(checkpoint)
            assert state.feed(text[place:end]) == found
        if found is not None:
            return found
        place = end
    return state.finish()


@pytest.mark.parametrize(("ignore_case", "whole_words"), OPTIONS)
def test_a_word_is_found_just_where_the_language_has_one(ignore_case: bool, whole_words: bool) -> None:
    rng = random.Random(7)
    hits = 0
    for _ in range(60):
        banned = words(rng, rng.randint(1, 5))
        automaton = AhoCorasick(banned, "ban", ignore_case=ignore_case, whole_words=whole_words)
        language = Language(containing_node(banned, "ban", ignore_case, whole_words), "some")
        for _ in range(20):
            text = "".join(rng.choices(LETTERS, k=rng.randint(0, 12))).encode()
            if rng.random() < 0.3:  # bytes that are not UTF-8
                place = rng.randint(0, len(text))
                text = text[:place] + bytes([rng.choice([0x80, 0xC3, 0xE2, 0xFF])]) + text[place:]
            found = feed(automaton, text, rng)
            assert (found is not None) == language.accepts(text), (banned, text)
            if found is not None:
                hits += 1
                word = text[found.start : found.end].decode()
                assert detent.containing(*banned, ignore_case=ignore_case).accepts(word)
    assert hits > 10


@pytest.mark.parametrize(("ignore_case", "whole_words"), OPTIONS)
def test_what_is_pending_is_exactly_what_may_become_a_word(ignore_case: bool, whole_words: bool) -> None:
    rng = random.Random(11)
    letters = ["a", "b", "A", "K", "\u212a", "é", " "]
    for _ in range(40):
        banned = ["".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 3))]
        automaton = AhoCorasick(banned, "ban", ignore_case=ignore_case, whole_words=whole_words)
        spellings = [letter.encode() for letter in {*letters, "k", "É", "."}]
        text = "".join(rng.choices(letters, k=rng.randint(0, 6))).encode()
        text = text[: rng.randint(max(len(text) - 1, 0), len(text))]
        state = automaton.start()
        if state.feed(text) is not None:
            continue
        # Every continuation of up to four characters, those that finish the last one included.
        half = [spelling[-n:] for spelling in spellings for n in range(1, len(spelling))]
        starts: set[int | None] = set()
        checkpoint = state.checkpoint()
        continuations = [b"", *spellings, *half]
        for _ in range(4):
            for continuation in continuations:
                found = state.feed(continuation) or state.finish()
                if found is not None and found.start < len(text):
                    starts.add(found.start)
                state.restore(checkpoint)
            continuations = [one + rng.choice(spellings) for one in continuations for _ in range(3)]
        pending = state.pending()
        if starts:
            assert pending is not None and all(start is not None and pending <= start for start in starts), (
                banned,
                text,
            )
        if pending is not None and not ignore_case:
            # The banned words themselves are the witnesses.
            starts = set()
            for word in banned:
                found = state.feed(word.encode()[len(text) - pending :]) or state.finish()
                starts.add(None if found is None else found.start)
                state.restore(checkpoint)
            assert pending in starts, (banned, text)


def test_a_word_may_begin_before_the_text() -> None:
    automaton = AhoCorasick(["listen", "this"], "ban")
    state = automaton.start(b"this: li")
    assert (state.pending(), state.feed(b"ste"), state.feed(b"n")) == (-2, None, Match(-2, 4))
    assert automaton.start(b"this").finish() is None  # what lies before is not ours
    whole = AhoCorasick(["cat"], "ban", whole_words=True)
    assert whole.start(b"a cat").feed(b" sat") is None
    assert whole.start(b"a ca").feed(b"t ") == Match(-2, 1)
    assert whole.start(b"bob").feed(b"cat ") == Match(0, 3)  # the text alone has it


def test_the_longest_word_of_those_that_end_together() -> None:
    assert AhoCorasick(["sten", "listen", "en"], "ban").start().feed(b"I listen") == Match(2, 8)


def test_many_words_and_a_long_text_take_linear_time() -> None:
    automaton = AhoCorasick(["a" * count for count in range(2, 1000)], "ban")
    assert automaton.start().feed(b"ab" * 50_000) is None


def test_words_are_checked() -> None:
    for wrong in ([""], [5], ["\ud800"], [None]):
        with pytest.raises(detent.ArgumentError, match="ban"):
            AhoCorasick(wrong, "ban")  # type: ignore[arg-type]
    with pytest.raises(detent.ArgumentError, match="UTF-8"):
        AhoCorasick([b"\xff"], "ban", ignore_case=True)
    assert AhoCorasick([b"\xff"], "ban").start().feed(b"a\xff") == Match(1, 2)
