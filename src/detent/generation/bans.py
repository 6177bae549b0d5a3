"""Banned words: the argument `Ban`, and `BannedWords`, which finds the words while a text is generated.

There are two modes, both exact. "mask" restricts the language to the texts without the words, as `detent.without` does.
"rewind" masks with the language alone, finds a word when it is complete, and rewinds to the token in which the word
began. Rewinding needs the restricted language too: a prefix without a banned word may have banned completions only.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

from detent import _core
from detent.errors import ArgumentError
from detent.generation.aho_corasick import AhoCorasick, MatchState
from detent.generation.pattern_search import BannedSearch, PatternSearch
from detent.generation.sampler import whole_number
from detent.language import Language
from detent.queries import ByteDfa
from detent.sources.nodes import ANY_BYTES, UTF8, concat, optional
from detent.sources.words.caseless import CaselessAlphabet
from detent.sources.words.containing import (
    EscapedWords,
    containing_any,
    matches,
    no_word_character,
    read_words,
)
from detent.sources.words.trie import bytes_trie, trie
from detent.suggestions import suggests_arguments

__all__ = ["Ban", "BanMode", "BannedWords", "Words", "banned_words"]

BanMode: TypeAlias = Literal["rewind", "mask"]
Word: TypeAlias = str | bytes | re.Pattern[str]
Words: TypeAlias = Sequence[Word] | set[Word] | frozenset[Word]


@suggests_arguments
@dataclass(frozen=True)
class Ban:
    r"""Words that a text must not contain, and how they are kept out.

    >>> import detent
    >>> ban = detent.Ban(["listen", "talk"], ignore_case=True)
    >>> out = detent.generate(detent.load_model(), "Can we talk?", temperature=0, ban=ban)
    >>> "listen" in out.text, [rewind.word for rewind in out.report.rewinds]
    (False, [b'listen'])

    Parameters
    ----------
    words : sequence of str, bytes or compiled pattern
        The text contains no word, however tokens divide it, alone or inside a longer word. It contains no match of a
        pattern, as by `re.search`. In a text with strings in quotes, such as JSON, the decoded strings contain none of
        them either. Anchors and other assertions of a pattern see the whole string.
    mode : "rewind" or "mask"
        "rewind": when a banned word is complete, return to the token in which the word began, and ban that token at
        that position. The model then writes something else. "mask": never write a token that completes a word. No token
        is wasted, but the model may be left inside a word that it must not complete.
    ignore_case, whole_words : bool
        As in `detent.containing`; patterns have flags instead.
    across_prompt : bool
        Whether a word that begins in the prompt's text (after its last special token) and ends in the text counts.
    max_rewinds : int
        After this many rewinds the rest of the text is masked; `Report.masked_from` is the position.

    Raises
    ------
    ArgumentError
        There is an empty word, a word is of another type, or a parameter is out of range.
    """

    words: Words
    mode: BanMode = "rewind"
    ignore_case: bool = False
    whole_words: bool = False
    across_prompt: bool = False
    max_rewinds: int = 64

    def __post_init__(self) -> None:
        if isinstance(self.words, (str, bytes)) or not isinstance(self.words, (Sequence, set, frozenset)):
            raise ArgumentError(f"ban must be a list of words, got {type(self.words).__name__}; write ban=[...]")
        if not isinstance(self.mode, str) or self.mode not in get_args(BanMode):
            raise ArgumentError(f"the mode of a ban must be 'rewind' or 'mask', got {self.mode!r}")
        whole_number("max_rewinds", self.max_rewinds, least=0)
        if self.across_prompt and any(isinstance(word, re.Pattern) for word in self.words):
            raise ArgumentError("across_prompt is for words; ban patterns without it")


class BannedWords:
    """A `Ban` with its automaton and its language.

    Parameters
    ----------
    ban : Ban
        At least one word.
    """

    def __init__(self, ban: Ban) -> None:
        words = [word for word in ban.words if not isinstance(word, re.Pattern)]
        patterns = sorted(
            {word for word in ban.words if isinstance(word, re.Pattern)}, key=lambda each: (each.pattern, each.flags)
        )
        self.mode: BanMode = ban.mode
        self.max_rewinds = ban.max_rewinds
        self._across_prompt = ban.across_prompt
        self._ignore_case = ban.ignore_case
        self._whole_words = ban.whole_words
        self._automaton: AhoCorasick | None = None
        if words:
            self._automaton = AhoCorasick(words, "ban", ignore_case=ban.ignore_case, whole_words=ban.whole_words)
        self._banned_node = containing_any([*words, *patterns], "ban", ban.ignore_case, ban.whole_words)
        self._patterns = tuple(patterns)
        self._pattern_dfas = [(ByteDfa(node), is_exact) for node, is_exact in map(matches, patterns)]
        encoded = tuple(sorted(read_words(words, "ban", as_text=False)))
        self._escaped = EscapedWords(encoded, (), ban.ignore_case, ban.whole_words)
        self._escaped_patterns = EscapedWords((), self._patterns, False, False)

    def start(self, prompt: bytes) -> MatchState | BannedSearch:
        """Return the match state of an empty text after a prompt."""
        words = None if self._automaton is None else self._start_words(self._automaton, prompt)
        if words is not None and not self._pattern_dfas:
            return words
        return BannedSearch(words, PatternSearch(self._pattern_dfas))

    def _start_words(self, automaton: AhoCorasick, prompt: bytes) -> MatchState:
        return automaton.start(prompt if self._across_prompt else b"")

    def excluding(self, language: Language, prompt: bytes, stops: AhoCorasick | None) -> Language:
        """Return the texts of a language without a banned word, and without the end of one that the prompt began.

        The words are excluded where escapes hide them too, but for the language of all text: it has no values, and its
        masks have fewer states without.
        """
        banned = [self._banned_node]
        if language._node != UTF8:
            banned.append(self._escaped(language._origin.quotes))
        if language._origin.quotes and self._patterns:
            banned.append(self._escaped_patterns(language._origin.quotes))
        if stops is not None and not all(is_exact for _, is_exact in self._pattern_dfas):
            raise ArgumentError(
                "a banned pattern with an assertion such as \\b may match at the end of a text, which stop= moves; "
                "write the pattern without assertions, or a language instead of stop="
            )
        if stops is not None and self._whole_words and self._automaton is not None:
            # Cutting the text at a stop string makes a word boundary there.
            before = optional(concat(ANY_BYTES, no_word_character()))
            stop_strings = bytes_trie(sorted(word.encode("latin-1") for word in stops.words))
            banned.append(concat(before, self._trie(self._automaton.words), stop_strings, ANY_BYTES))
        if suffixes := self._open_suffixes(prompt):
            after = optional(concat(no_word_character(), ANY_BYTES)) if self._whole_words else ANY_BYTES
            banned.append(concat(self._trie(suffixes), after))
        count = (0 if self._automaton is None else len(self._automaton.words)) + len(self._patterns)
        return language - Language(_core.union(banned), f"text with one of {count} banned words")

    def key(self, prompt: bytes, stops: AhoCorasick | None) -> Hashable:
        """Return a key of all that `excluding` depends on, besides the language."""
        stop_strings = tuple(stops.words) if stops is not None and self._whole_words else ()
        words = () if self._automaton is None else tuple(self._automaton.words)
        return (
            words,
            self._patterns,
            self._ignore_case,
            self._whole_words,
            stop_strings,
            tuple(self._open_suffixes(prompt)),
        )

    def _open_suffixes(self, prompt: bytes) -> list[str]:
        """Return the remainders of the words that the prompt begins."""
        if self._automaton is None:
            return []
        partial = self._start_words(self._automaton, prompt).partial_matches()
        return sorted({suffix for _, node in partial for suffix in self._automaton.suffixes(node)})

    def _trie(self, words: Sequence[str]) -> _core.Node:
        if self._ignore_case:
            return trie(words, CaselessAlphabet(words))
        return bytes_trie(sorted(word.encode("utf-8" if self._whole_words else "latin-1") for word in words))


def banned_words(ban: Words | Ban | None, mode: BanMode | None) -> BannedWords | None:
    """Read the arguments `ban` and `ban_mode` of `generate`; return None if nothing is banned."""
    if isinstance(ban, Ban):
        if mode is not None:
            raise ArgumentError("ban_mode is for a list of words; write detent.Ban(words, mode=...)")
    else:
        ban = Ban([] if ban is None else ban, "rewind" if mode is None else mode)
    if not ban.words:
        return None
    for index, word in enumerate(ban.words):
        if not isinstance(word, (str, bytes, re.Pattern)):
            raise ArgumentError(
                f"ban takes words of type str or bytes and compiled patterns, got {type(word).__name__} as word {index}"
            )
    return _read(tuple(ban.words), replace(ban, words=()))


@lru_cache(maxsize=8)
def _read(words: tuple[Word, ...], options: Ban) -> BannedWords:
    """Return the words with their automaton, which takes 0.1 s for 10,000."""
    return BannedWords(replace(options, words=words))
