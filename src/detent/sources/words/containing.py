r"""Texts with or without some words anywhere in them.

Without them is the complement: `text & ~(any* (w1|w2|...) any*)` over bytes. A word is found at characters only, since
no character of UTF-8 begins inside another. For whole words the neighbours are part of the expression, `(|any* \W) word
(|\W any*)`, so that no assertion is needed. The words are one trie; its derivatives are the states of the Aho-Corasick
automaton, built as far as decoding visits them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from detent import _core
from detent.errors import ArgumentError, UnsupportedError
from detent.expected import expected_after
from detent.language import Language
from detent.limits import Limits
from detent.origin import Origin, Quotes
from detent.queries import ByteDfa
from detent.reason import Continuation, Reason, smallest
from detent.sources.nodes import ANY_BYTES, UTF8, check_flag, concat, encode, optional, short_repr, union
from detent.sources.regex import regex
from detent.sources.regex.characters import category_ranges
from detent.sources.regex.parser import parse
from detent.sources.regex.translate import Alphabet, translate_part
from detent.sources.words.caseless import CaselessAlphabet
from detent.sources.words.escaped import containing_escaped, strings_of
from detent.sources.words.escaped_patterns import containing_escaped_matches
from detent.sources.words.trie import bytes_trie, prefix_free, trie
from detent.suggestions import suggests_names

__all__ = [
    "EscapedWords",
    "containing",
    "containing_any",
    "containing_node",
    "matches",
    "no_word_character",
    "read_words",
    "without",
]

_SHOWN_WORDS = 3
_GLOBAL_FLAGS = re.compile(r"^(?:\s*\(\?[aimsux]+\))+")


@suggests_names
def containing(
    *words: str | bytes | re.Pattern[str], ignore_case: bool = False, whole_words: bool = False
) -> Language[str]:
    r"""Make the language of all texts that have at least one of the words somewhere in them.

    >>> import detent
    >>> detent.containing("talk", "listen")
    Language(text with 'talk' or 'listen')

    A str is text, not a pattern; a compiled pattern is found as by `re.search`. Beside a language of texts with strings
    in quotes, as in ``json_schema(...) - containing(...)``, a word is found in the text and in the decoded strings, so
    that escapes hide none. To exclude words from another language, ``language & detent.without(...)`` costs about half
    of ``language - detent.containing(...)``.

    Parameters
    ----------
    words : str, bytes or compiled pattern
        Bytes need not be whole characters where neither of the options is set. The options do not apply to patterns,
        which have flags.
    ignore_case : bool
        Find each word in any case, as ``re.IGNORECASE`` has it: one character for one, so that "ß" is also "ẞ" but not
        "ss". Accents count, and a letter with a combining accent is not the composed letter.
    whole_words : bool
        Find a word only where no word character (``\w`` of `re`: letters, digits, the underscore) stands beside it:
        "listen" is in "Listen, ..." if case is ignored, and not in "glisten" or "listener".

    Returns
    -------
    Language
        10,000 words take 0.1 s; the first use of `whole_words` in a process takes 20 ms.

    Raises
    ------
    ArgumentError
        There is no word; a word is empty (which every text has), not text, or holds half of a surrogate pair.
    """
    if not words:
        raise ArgumentError("containing needs at least one word; for any text write detent.text()")
    node = _core.intersection([UTF8, containing_any(words, "containing", ignore_case, whole_words)])
    described = f"text with {_describe(words, ignore_case, whole_words)}"
    found = _FoundInStrings(_escaped(words, "containing", ignore_case, whole_words), False)
    source = _WordsSource(words, ignore_case, whole_words, False)
    return Language(node, described, _origin=Origin(in_strings=found, source=source))


@suggests_names
def without(
    *words: str | bytes | re.Pattern[str], ignore_case: bool = False, whole_words: bool = False
) -> Language[str]:
    """Make the language of all texts that have none of the words anywhere in them.

    >>> import detent
    >>> rule = detent.without("talk", "listen", ignore_case=True)
    >>> rule
    Language(text without 'talk' or 'listen', ignoring case)

    It is ``text() & ~containing(...)``, with the parameters and cost of `containing`, in strings with escapes too.
    Without words it is ``text()``. The case of letters counts, but with `ignore_case`.

    >>> vocabulary = detent.Vocabulary([b"ta", b"tal", b"lk", b"k", b"</s>"], eos_token_ids=[4])
    >>> matcher = detent.compile(rule, vocabulary).matcher()
    >>> matcher.advance(0)
    >>> [vocabulary.token_bytes(i) for i in matcher.allowed()]
    [b'ta', b'tal', b'k', b'</s>']

    Parameters
    ----------
    words : str, bytes or compiled pattern
        The words.
    ignore_case : bool
        Find each word in any case.
    whole_words : bool
        Find a word only where no word character stands beside it.

    Returns
    -------
    Language
        Always has the empty text; so it can always end, whatever the words are.

    Raises
    ------
    ArgumentError
        A word is empty, not text, or holds half of a surrogate pair.
    """
    if not words:
        return Language(UTF8, "text")
    node = _core.intersection([UTF8, _core.complement(containing_any(words, "without", ignore_case, whole_words))])
    described = f"text without {_describe(words, ignore_case, whole_words)}"
    found = _FoundInStrings(_escaped(words, "without", ignore_case, whole_words), True)
    source = _WordsSource(words, ignore_case, whole_words, True)
    return Language(node, described, _origin=Origin(in_strings=found, source=source))


@dataclass(frozen=True)
class _WordsSource:
    """Words with the options of their language: texts that have one of them, or texts without them."""

    words: tuple[str | bytes | re.Pattern[str], ...]
    ignore_case: bool
    whole_words: bool
    is_without: bool

    def expected(self, dfa: ByteDfa, text: bytes, position: int) -> tuple[str, None] | None:
        """Return the characters that are expected: words that are excluded are the reason for these."""
        return (expected_after(dfa, text[:position]), None) if self.is_without else None

    def hint(self, text: bytes) -> None:
        """Return None: no other words are known."""

    def conflict(self) -> None:
        """Return None: the language has texts."""

    def reasons(self, refused: Continuation) -> tuple[Reason, ...]:
        """Return the words that are excluded here."""
        if self.is_without == refused.is_excluded:  # texts that must have a word
            return ()

        def refuses(words: list[str | bytes | re.Pattern[str]]) -> bool:
            node = UTF8 if not words else self._without(tuple(words), Quotes(refused.quotes))
            return refused.is_refused_by(node)

        kept = smallest(self.words, refuses) or []
        return tuple(Reason("word", repr(getattr(word, "pattern", word))) for word in kept)

    def _without(self, words: tuple[str | bytes | re.Pattern[str], ...], quotes: Quotes) -> _core.Node:
        excluded = containing_any(words, "without", self.ignore_case, self.whole_words)
        if quotes:
            excluded = union(excluded, _escaped(words, "without", self.ignore_case, self.whole_words)(quotes))
        return _core.intersection([UTF8, _core.complement(excluded)])


def _escaped(
    words: Sequence[str | bytes | re.Pattern[str]], asker: str, ignore_case: bool, whole_words: bool
) -> EscapedWords:
    plain = [word for word in words if not isinstance(word, re.Pattern)]
    encoded = tuple(sorted(read_words(plain, asker, as_text=False)))
    patterns = tuple(word for word in words if isinstance(word, re.Pattern))
    return EscapedWords(encoded, patterns, ignore_case, whole_words)


@dataclass(frozen=True)
class _FoundInStrings:
    """A condition on words, which are found in the decoded strings of a text too."""

    escaped: EscapedWords
    is_excluded: bool

    def __call__(self, node: _core.Node, quotes: Quotes) -> _core.Node:
        hidden = self.escaped(quotes)
        if self.is_excluded:
            return _core.intersection([node, _core.complement(hidden)])
        return _core.union([node, hidden])


@dataclass(frozen=True)
class EscapedWords:
    """The texts in which escapes hide one of some words, or a match of one of some patterns."""

    words: tuple[bytes, ...]
    patterns: tuple[re.Pattern[str], ...]
    ignore_case: bool
    whole_words: bool

    def __call__(self, quotes: Quotes) -> _core.Node:
        """Return their node. A pattern with assertions sees whole strings; `quotes` says where they are."""
        nodes = [containing_escaped(self.words, self.ignore_case, self.whole_words)] if self.words else []
        for pattern in self.patterns:
            try:
                nodes.append(containing_escaped_matches([pattern]))
            except UnsupportedError:
                nodes.append(strings_of(_search(pattern, "containing"), quotes))
        return _core.union(nodes)


def containing_any(
    words: Sequence[str | bytes | re.Pattern[str]], asker: str, ignore_case: bool, whole_words: bool
) -> _core.Node:
    """Return the node of the byte strings that contain one of the words, or a match of one of the patterns."""
    check_flag(ignore_case, asker, "ignore_case")
    check_flag(whole_words, asker, "whole_words")
    patterns = [word for word in words if isinstance(word, re.Pattern)]
    plain = [word for word in words if not isinstance(word, re.Pattern)]
    nodes = [_search(pattern, asker) for pattern in patterns]
    if plain:
        nodes.append(containing_node(plain, asker, ignore_case, whole_words))
    return _core.union(nodes)


def _search(pattern: re.Pattern[str], asker: str) -> _core.Node:
    """Return the node of the texts in which `re.search` finds a pattern; the assertions see the whole text."""
    if not isinstance(pattern.pattern, str):
        raise ArgumentError(f"{asker} takes patterns of type str, got {short_repr(pattern.pattern)}; decode it")
    if pattern.search(""):
        raise ArgumentError(f"{asker} got {short_repr(pattern.pattern)}, which matches in every text; leave it out")
    regex(pattern.pattern, pattern.flags)  # errors point into the pattern itself
    end = "\n" if pattern.flags & re.VERBOSE else ""  # the pattern may end in a comment
    body = _GLOBAL_FLAGS.sub("", pattern.pattern)  # `pattern.flags` has them
    return regex(f"(?s:.*)(?:{body}{end})(?s:.*)", pattern.flags)._node


def matches(pattern: re.Pattern[str]) -> tuple[_core.Node, bool]:
    """Return the node of the texts of a match, and whether it is exact: assertions are left out."""
    tree, flags = parse(pattern.pattern, pattern.flags, Limits())
    return translate_part(tree, flags, Limits().pattern_size, Alphabet())


def containing_node(words: Sequence[str | bytes], asker: str, ignore_case: bool, whole_words: bool) -> _core.Node:
    """Return the node of the byte strings that contain one of the words; there is at least one word."""
    encoded = read_words(words, asker, as_text=ignore_case or whole_words)
    texts = [word.decode() for word in encoded] if ignore_case or whole_words else []
    before = after = ANY_BYTES
    if whole_words:
        edge = no_word_character()
        before, after = optional(concat(ANY_BYTES, edge)), optional(concat(edge, ANY_BYTES))
    if ignore_case:
        alphabet = CaselessAlphabet(texts)
        folded = sorted({alphabet.fold(text) for text in texts})
        return concat(before, trie(folded if whole_words else prefix_free(folded), alphabet), after)
    ordered = sorted(encoded)
    return concat(before, bytes_trie(ordered if whole_words else prefix_free(ordered)), after)


def read_words(words: Sequence[str | bytes], asker: str, *, as_text: bool) -> set[bytes]:
    """Return the words as bytes; with `as_text` they must be UTF-8. `asker` is the function that messages name."""
    encoded = {_read(word, index, asker) for index, word in enumerate(words)}
    if as_text:
        _check_text(encoded, asker)
    return encoded


def _read(word: object, index: int, asker: str) -> bytes:
    if not isinstance(word, (str, bytes)):
        raise ArgumentError(
            f"{asker} takes words of type str or bytes, got {type(word).__name__} as word {index}; "
            "write a list as *words, and a pattern as regex(...)"
        )
    if not word:
        raise ArgumentError(f"{asker} got an empty word as word {index}, which every text has; leave it out")
    return word if isinstance(word, bytes) else encode(word, asker)


def _check_text(words: Iterable[bytes], asker: str) -> None:
    try:
        for word in words:
            word.decode()
    except UnicodeDecodeError as error:
        raise ArgumentError(
            f"{asker} got {short_repr(error.object)}, which is not UTF-8, so that case and word ends mean "
            "nothing; decode it"
        ) from None


@cache
def no_word_character() -> _core.Node:
    r"""Return the node of one character that `\w` does not match."""
    return _core.chars(list(category_ranges("w", True, False)))


def _describe(words: tuple[str | bytes | re.Pattern[str], ...], ignore_case: bool, whole_words: bool) -> str:
    names = [short_repr(getattr(word, "pattern", word), 24) for word in words[:_SHOWN_WORDS]]
    if len(words) > _SHOWN_WORDS:
        names[-1] = f"{len(words) - _SHOWN_WORDS + 1} more"
    listed = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
    return listed + ", ignoring case" * ignore_case + ", as whole words" * whole_words
