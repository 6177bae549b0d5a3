"""Bans: words that a text must not have, for both ways to keep them out.

`mask` is a language: without the words, exactly as `detent.without` has it. `rewind` needs that language too, since a
text that is held back may turn out to have no end but a banned one; but it chooses from the masks of the language
alone, finds a word when it is complete, and goes back.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, get_args

from detent import _core
from detent.errors import ArgumentError
from detent.generation.aho_corasick import AhoCorasick, MatchState
from detent.generation.sampler import whole_number
from detent.language import Language
from detent.sources.nodes import ANY_BYTES, concat, optional
from detent.sources.words.case import CaselessAlphabet
from detent.sources.words.containing import amid, no_word_character
from detent.sources.words.trie import bytes_trie, trie

__all__ = ["BanMode", "Bans", "read_bans"]

BanMode = Literal["rewind", "mask"]


class Bans:
    """The banned words, and how they are kept out.

    Parameters
    ----------
    words : sequence of str or bytes
        At least one.
    mode : "rewind" or "mask"
        See `generate`.
    ignore_case, whole_words : bool
        As `detent.containing` has them.
    across_prompt : bool
        Whether a word may begin in the prompt.
    retries : int
        After this many rewinds the rest of the text is masked.
    """

    def __init__(
        self,
        words: Sequence[str | bytes],
        *,
        mode: BanMode = "rewind",
        ignore_case: bool = False,
        whole_words: bool = False,
        across_prompt: bool = False,
        retries: int = 64,
    ) -> None:
        if mode not in get_args(BanMode):
            raise ArgumentError(f"ban_mode must be 'rewind' or 'mask', got {mode!r}")
        self.mode = mode
        self.retries = whole_number("ban_retries", retries, least=0)
        self._across_prompt = across_prompt
        self._ignore_case = ignore_case
        self._whole_words = whole_words
        self._finder = AhoCorasick(words, "ban", ignore_case=ignore_case, whole_words=whole_words)
        self._amid = amid(words, "ban", ignore_case, whole_words)

    def scan(self, prompt: bytes) -> MatchState:
        """Start to look for the words in a text after a prompt."""
        return self._finder.scan(prompt if self._across_prompt else b"")

    def excluding(self, language: Language, prompt: bytes, stops: AhoCorasick | None) -> Language:
        """Return the language of the texts that have none of the words, nor end one that began in the prompt."""
        banned = [self._amid]
        if stops is not None and self._whole_words:  # a text that is cut at a stop string ends its last word there
            before = optional(concat(ANY_BYTES, no_word_character()))
            cuts = bytes_trie(sorted(word.encode("latin-1") for word in stops.words))
            banned.append(concat(before, self._trie(self._finder.words), cuts, ANY_BYTES))
        if tails := self._suffixes(prompt):
            ends = optional(concat(no_word_character(), ANY_BYTES)) if self._whole_words else ANY_BYTES
            banned.append(concat(self._trie(tails), ends))
        return language - Language(_core.union(banned), f"text with one of {len(self._finder.words)} banned words")

    def key(self, prompt: bytes, stops: AhoCorasick | None) -> Hashable:
        """Return what `excluding` depends on beside the language."""
        stopped = tuple(stops.words) if stops is not None and self._whole_words else ()
        return tuple(self._finder.words), self._ignore_case, self._whole_words, stopped, tuple(self._suffixes(prompt))

    def _suffixes(self, prompt: bytes) -> list[str]:
        """Return how the words go on that the prompt begins."""
        return sorted({tail for _, node in self.scan(prompt).partial_matches() for tail in self._finder.suffixes(node)})

    def _trie(self, tails: Sequence[str]) -> _core.Node:
        if self._ignore_case:
            return trie(tails, CaselessAlphabet(tails))
        return bytes_trie(sorted(tail.encode("utf-8" if self._whole_words else "latin-1") for tail in tails))


def read_bans(
    ban: Sequence[str | bytes] | None,
    mode: BanMode,
    ignore_case: bool,
    whole_words: bool,
    across_prompt: bool,
    retries: int,
) -> Bans | None:
    """Check the arguments of `generate` that begin with ``ban``; None if nothing is banned."""
    if isinstance(ban, (str, bytes)) or not (ban is None or isinstance(ban, (Sequence, set, frozenset))):
        raise ArgumentError(f"ban must be a list of words, got {type(ban).__name__}; write ban=[...]")
    bans = Bans(
        list(ban or ["-"]),
        mode=mode,
        ignore_case=ignore_case,
        whole_words=whole_words,
        across_prompt=across_prompt,
        retries=retries,
    )
    return bans if ban else None
