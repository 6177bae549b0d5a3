r"""Texts with or without some words anywhere in them.

Without them is the complement: `text & ~(any* (w1|w2|...) any*)` over bytes. A word is found at characters only, since no
character of UTF-8 begins inside another. For whole words the neighbours are part of the expression, `(|any* \W) word
(|\W any*)`, so that no assertion is needed. The words are one trie; its derivatives are the states of the Aho-Corasick
automaton, built as far as decoding visits them.
"""

from __future__ import annotations

from functools import cache

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.sources.nodes import EVERYTHING, TEXT, encode, shown
from detent.sources.regex.characters import category_ranges
from detent.sources.words.case import CaselessAlphabet
from detent.sources.words.trie import EPSILON, bytes_trie, prefix_free, trie

__all__ = ["containing", "without"]


def containing(*words: str | bytes, ignore_case: bool = False, whole_words: bool = False) -> Language:
    """Make the language of all texts that have at least one of the words somewhere in them.

    >>> import detent
    >>> detent.containing("talk", "listen")
    Language(text with 'talk' or 'listen')

    Words are text, not patterns. Without words there is no such text.

    Parameters
    ----------
    words : str or bytes
        Bytes need not be whole characters where neither of the options is set.
    ignore_case : bool
        Find each word in any case, as ``re.IGNORECASE`` has it: character by character, so that "ß" is also "ẞ" but not
        "ss". Accents and composed forms differ.
    whole_words : bool
        Find a word only where no word character (``\\\\w`` of `re`: letters, digits, the underscore) stands beside it:
        "listen" is in "Listen, ..." if case is ignored, and not in "glisten" or "listener".

    Returns
    -------
    Language
        10,000 words take 0.1 s; the first use of `whole_words` in a process takes 10 ms.

    Raises
    ------
    ArgumentError
        A word is empty (which every text has), not text, or holds half of a surrogate pair.
    """
    found = _Found(words, "containing", ignore_case, whole_words)
    if not words:
        node = _core.empty()
    elif found.is_text:
        node = found.between(TEXT)
    else:
        node = _core.intersection([TEXT, found.between(EVERYTHING)])
    return Language(node, f"text with {found.description}")


def without(*words: str | bytes, ignore_case: bool = False, whole_words: bool = False) -> Language:
    """Make the language of all texts that have none of the words anywhere in them.

    >>> import detent
    >>> rule = detent.without("talk", "listen", "fuck you", ignore_case=True)
    >>> rule
    Language(text without 'talk', 'listen' or 'fuck you', ignoring case)

    It is ``text() & ~containing(...)``, with the parameters, cost and errors of `containing`. Without words it is
    ``text()``.

    >>> vocabulary = detent.Vocabulary([b"ta", b"tal", b"lk", b"k", b"</s>"], eos_token_ids=[4])
    >>> matcher = detent.compile(rule, vocabulary).matcher()
    >>> matcher.advance(0)
    >>> [vocabulary.token_bytes(i) for i in matcher.allowed()]
    [b'ta', b'tal', b'k', b'</s>']

    Parameters
    ----------
    words : str or bytes
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
    found = _Found(words, "without", ignore_case, whole_words)
    node = TEXT
    if words:
        node = _core.intersection([TEXT, _core.complement(found.between(EVERYTHING))])
    return Language(node, f"text without {found.description}")


class _Found:
    """The words as a node, and what is said of them."""

    def __init__(self, words: tuple[str | bytes, ...], asker: str, ignore_case: bool, whole_words: bool) -> None:
        for index, word in enumerate(words):
            if not isinstance(word, (str, bytes)):
                raise ArgumentError(
                    f"{asker} takes words of type str or bytes, got {type(word).__name__} as word {index}; "
                    "write a list as *words, and patterns with regex"
                )
            if not word:
                raise ArgumentError(f"{asker} got an empty word (word {index}), which every text has; leave it out")
        encoded = [word if isinstance(word, bytes) else encode(word, asker) for word in words]
        texts = _decode(encoded)
        self.is_text = texts is not None
        if texts is None and (ignore_case or whole_words):
            raise ArgumentError(f"{asker} got words that are not UTF-8, where case and word ends mean nothing; decode them")
        self._node = EPSILON
        self._whole = whole_words
        if words and ignore_case and texts is not None:
            alphabet = CaselessAlphabet(texts)
            self._node = trie(self._needed({alphabet.fold(text) for text in texts}), alphabet)

        self.description = _describe(words, ignore_case, whole_words)

    def between(self, any_text: _core.Node) -> _core.Node:
        """Give the node of the words with anything around them."""
        if not self._whole:
            return _core.concat([any_text, self._node, any_text])
        edge = _not_of_words()
        return _core.concat(
            [
                _core.union([EPSILON, _core.concat([any_text, edge])]),
                self._node,
                _core.union([EPSILON, _core.concat([edge, any_text])]),
            ]
        )
