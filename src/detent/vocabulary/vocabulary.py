"""Vocabulary: the bytes of each token id, which ids end a text, and which never stand for text.

It is immutable and shared: guides, caches and models hold the same one. The C++ part holds the trie that masks walk;
this part holds the bytes, for people and for decoding, and the tokenizer, where there is one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NoReturn, final

import numpy as np

from detent._core import Vocabulary as CoreVocabulary
from detent.errors import ArgumentError, VocabularyError
from detent.suggestions import suggests_names
from detent.vocabulary.arguments import read_end_of_text, read_ids, read_size, read_tokens
from detent.vocabulary.attached_tokenizer import AttachedTokenizer
from detent.vocabulary.core_tables import CoreTables
from detent.vocabulary.file_io import as_path
from detent.vocabulary.from_file import read_tokenizer_file
from detent.vocabulary.gguf import read_gguf
from detent.vocabulary.loaded_tokens import LoadedTokens, shown, token_id
from detent.vocabulary.mistral import read_mistral
from detent.vocabulary.sentencepiece import read_sentencepiece
from detent.vocabulary.tiktoken import read_tiktoken
from detent.vocabulary.token_healing import heal_tokens
from detent.vocabulary.transformers import read_transformers
from detent.vocabulary.vocabulary_file import load_vocabulary, save_vocabulary

__all__ = ["Vocabulary"]

EndOfText = int | str | Sequence[int | str] | None


@final
class Vocabulary:
    """The tokens of a model: the bytes of each id, the ids that end a text, the ids that are not text.

    >>> vocabulary = Vocabulary([b"a", b"b", b"ab", b"</s>"], eos_token_ids=[3])
    >>> len(vocabulary), vocabulary.token_bytes(2), vocabulary.decode([2, 0, 3])
    (4, b'ab', b'aba')

    The bytes of a token are what it adds in the middle of a text. Decoders of SentencePiece and WordPiece tokenizers
    strip one space from the start of a whole text. Here the token keeps it, since a mask continues a prompt;
    `leading_space` is then true. WordPiece texts are those before any clean-up: words separated by one space.

    Parameters
    ----------
    tokens : sequence of (bytes or None), or mapping from id to bytes
        Bytes of each id, not necessarily UTF-8. None and ``b""`` mark an id without text; it is never allowed.
    eos_token_ids : int, str, sequence of these, or None
        Ids or names of the tokens that end a text; they are never text. None says that this model has no end of text,
        and ``[]`` is refused: generation could not stop.
    special_token_ids : collection of int
        Further ids that are never text. Their bytes are kept for display.
    size : int, optional
        Width of the logits, where it is larger than the number of tokens; the ids above are never allowed.

    Attributes
    ----------
    eos_token_ids : tuple of int
        Sorted ids that end a text.
    special_token_ids : frozenset of int
        Ids that are never text, the end-of-text ids among them.
    leading_space : bool
        Whether `encode` puts a space before a text that does not begin with one.

    Raises
    ------
    VocabularyError
        An id, a token or a size is wrong, or the end of text is not given.

    Notes
    -----
    Setting up the 128,256 tokens of Llama 3 takes about 0.1 s and 20 MB.
    """

    __slots__ = (
        "__weakref__",
        "_attached",
        "_fingerprint",
        "_tables",
        "_tokens",
        "eos_token_ids",
        "leading_space",
        "special_token_ids",
    )

    _attached: AttachedTokenizer | None
    _fingerprint: str | None
    _tables: CoreTables
    _tokens: Sequence[bytes]
    eos_token_ids: tuple[int, ...]
    leading_space: bool
    special_token_ids: frozenset[int]

    @suggests_names
    def __init__(
        self,
        tokens: Sequence[bytes | None] | Mapping[int, bytes],
        *,
        eos_token_ids: EndOfText = "auto",
        special_token_ids: Collection[int] = (),
        size: int | None = None,
    ) -> None:
        table = read_tokens(tokens)
        width = read_size(size, len(table))
        special = read_ids(special_token_ids, width, "special_token_ids")
        eos = read_end_of_text(eos_token_ids, table, width, special)
        special |= eos
        table.extend([b""] * (width - len(table)))
        core = CoreVocabulary(table, sorted(special), sorted(eos), width)
        self._set(CoreTables(core, tuple(table), special, tuple(sorted(eos))))

    @classmethod
    @suggests_names
    def from_file(
        cls, path: str | PathLike[str], *, eos_token_ids: EndOfText = "auto", size: int | None = None
    ) -> Vocabulary:
        """Load a tokenizer file: `tokenizer.json`, Tekken's `tekken.json`, a SentencePiece model or a GGUF model.

        The content of the file decides the kind. Only `tokenizer.json` names no end of text: it is taken from
        `generation_config.json` and `tokenizer_config.json` beside it.

        Parameters
        ----------
        path : path
            The file, or a folder with one of these files.
        eos_token_ids : "auto", int, str, sequence of these, or None
            The ids or names that end a text, instead of those that the files name; None: there are none.
        size : int, optional
            Width of the logits, where it is larger than the tokenizer's.

        Returns
        -------
        Vocabulary

        Raises
        ------
        VocabularyError
            The file is malformed, its decoder cannot be told exactly, or nothing names the end of text.

        Notes
        -----
        Llama 3's 17 MB `tokenizer.json` takes 0.2 s. Its merges are read when canonical tokens first
        need them. The tokenizer's library is loaded at the first `encode` only, which also checks that the bytes of
        encoded texts give the texts back.
        """
        return cls._load(read_tokenizer_file, as_path(path), eos_token_ids, size)

    @classmethod
    @suggests_names
    def from_transformers(
        cls,
        tokenizer: Any,
        size: int | None = None,
        *,
        eos_token_ids: EndOfText = "auto",
    ) -> Vocabulary:
        """Load a tokenizer of the package transformers, fast or slow.

        Parameters
        ----------
        tokenizer : transformers.PreTrainedTokenizerBase
            The tokenizer. Its bytes are checked on a few texts.
        size : int, optional
            Width of the logits: `model.config.vocab_size`, which is often larger than the tokenizer's.
        eos_token_ids : "auto", int, str, sequence of these, or None
            As in `from_file`; "auto" takes the tokenizer's and, where it was loaded from a folder, those of
            `generation_config.json` in it.

        Returns
        -------
        Vocabulary

        Raises
        ------
        VocabularyError
            It cannot be told how the tokenizer's tokens map to bytes, or nothing names the end of text.
        """
        return cls._load(read_transformers, tokenizer, eos_token_ids, size)

    @classmethod
    @suggests_names
    def from_tiktoken(
        cls,
        encoding: Any,
        *,
        eos_token_ids: EndOfText = "auto",
        size: int | None = None,
    ) -> Vocabulary:
        """Load a `tiktoken.Encoding`; "auto" ends texts at its `<|endoftext|>`.

        Parameters
        ----------
        encoding : tiktoken.Encoding
            The encoding.
        eos_token_ids : "auto", int, str, sequence of these, or None
            As in `from_file`.
        size : int, optional
            As in `from_file`.

        Returns
        -------
        Vocabulary

        Raises
        ------
        VocabularyError
            The encoding has no `<|endoftext|>` and `eos_token_ids` is not given.
        """
        return cls._load(read_tiktoken, encoding, eos_token_ids, size)

    @classmethod
    @suggests_names
    def from_sentencepiece(
        cls,
        model: Any,
        *,
        eos_token_ids: EndOfText = "auto",
        size: int | None = None,
    ) -> Vocabulary:
        """Load a SentencePiece model: a `.model` file or a `sentencepiece.SentencePieceProcessor`.

        Parameters
        ----------
        model : path or sentencepiece.SentencePieceProcessor
            The model. A file is read without the package; only `encode` needs it.
        eos_token_ids : "auto", int, str, sequence of these, or None
            As in `from_file`; "auto" takes the model's end-of-sentence piece.
        size : int, optional
            As in `from_file`.

        Returns
        -------
        Vocabulary

        Raises
        ------
        VocabularyError
            The model is malformed, or writes spaces at the end of words.
        """
        return cls._load(read_sentencepiece, model, eos_token_ids, size)

    @classmethod
    @suggests_names
    def from_mistral(
        cls,
        tokenizer: Any,
        *,
        eos_token_ids: EndOfText = "auto",
        size: int | None = None,
    ) -> Vocabulary:
        """Load a Mistral tokenizer: `tekken.json`, `tokenizer.model.v3` and the like, or an object of mistral-common.

        Parameters
        ----------
        tokenizer : path or object of mistral_common
            A file, a `MistralTokenizer`, a `Tekkenizer` or a `SentencePieceTokenizer`.
        eos_token_ids : "auto", int, str, sequence of these, or None
            As in `from_file`; "auto" takes `</s>`.
        size : int, optional
            As in `from_file`.

        Returns
        -------
        Vocabulary

        Raises
        ------
        VocabularyError
            The file is malformed, or the object is none of these.
        """
        return cls._load(read_mistral, tokenizer, eos_token_ids, size)

    @classmethod
    @suggests_names
    def from_gguf(
        cls, path: str | PathLike[str], *, eos_token_ids: EndOfText = "auto", size: int | None = None
    ) -> Vocabulary:
        """Load the tokenizer of a GGUF model; its weights are not read.

        Parameters
        ----------
        path : path
            The `.gguf` file, or the first part of a split one.
        eos_token_ids : "auto", int, str, sequence of these, or None
            As in `from_file`; "auto" takes the file's end-of-sequence, end-of-turn and end-of-message ids.
        size : int, optional
            As in `from_file`.

        Returns
        -------
        Vocabulary

        Raises
        ------
        VocabularyError
            The file is malformed or has a kind of tokenizer that is not known.
        """
        return cls._load(read_gguf, as_path(path), eos_token_ids, size)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the vocabulary to a file, which another process loads in a few milliseconds.

        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "tokens.detent"
        >>> Vocabulary([b"a", b"b", b"</s>"], eos_token_ids=[2]).save(path)
        >>> Vocabulary.load(path)
        <Vocabulary of 3 ids, 1 special, end of text 2>

        The file has the tokens, the trie and the core's encoder, which canonical tokens need. It lacks the tokenizer of
        another package, so a loaded vocabulary has `encode_canonical` and no `encode`.

        Parameters
        ----------
        path : path
            The file; an older one is replaced.
        """
        save_vocabulary(path, self._tables, self.leading_space, self.fingerprint)

    @classmethod
    @suggests_names
    def load(cls, path: str | PathLike[str]) -> Vocabulary:
        """Load a file that `save` has written. Llama 3's 128,256 tokens take some 20 ms.

        Parameters
        ----------
        path : path
            The file. It is mapped into memory and must not be written to; saving again replaces it safely.

        Raises
        ------
        SavedFileError
            The file is damaged, or of another kind, version or machine.
        OSError
            The file cannot be read: it does not exist, for example.
        """
        saved = load_vocabulary(path)
        vocabulary = object.__new__(cls)
        vocabulary._set(saved.tables, leading_space=saved.leading_space, fingerprint=saved.fingerprint)
        return vocabulary

    @classmethod
    def _load(
        cls, read: Callable[[Any], LoadedTokens], source: object, eos_token_ids: EndOfText, size: int | None
    ) -> Vocabulary:
        try:
            table = read(source)
        except UnicodeError as error:  # JSON can write half of a surrogate pair
            raise VocabularyError(f"a token is not Unicode text: {error}") from None
        if isinstance(eos_token_ids, str) and eos_token_ids == "auto":
            eos_token_ids = sorted(table.find_end_of_text())
        vocabulary = cls(
            table.tokens, eos_token_ids=eos_token_ids, special_token_ids=table.special_token_ids, size=size
        )
        tables = vocabulary._tables.with_encoder(table.open_encoder)
        vocabulary._set(tables, leading_space=table.leading_space, attached=table.attached)
        return vocabulary

    def _set(
        self,
        tables: CoreTables,
        *,
        leading_space: bool = False,
        attached: AttachedTokenizer | None = None,
        fingerprint: str | None = None,
    ) -> None:
        for name, value in (
            ("_attached", attached),
            ("_fingerprint", fingerprint),
            ("_tables", tables),
            ("_tokens", tables.tokens),
            ("eos_token_ids", tables.eos_token_ids),
            ("leading_space", leading_space),
            ("special_token_ids", tables.special_token_ids),
        ):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """Return the width of the logits and masks: one more than the largest id, padding included."""
        return len(self._tokens)

    def token_bytes(self, token: int) -> bytes:
        r"""Return the bytes of one token: its text, or a special token's name, or ``b""`` for padding.

        >>> Vocabulary([b"\xc3", b"\xa9"], eos_token_ids=None).token_bytes(1)
        b'\xa9'

        Parameters
        ----------
        token : int
            A token id; NumPy integers too.

        Returns
        -------
        bytes

        Raises
        ------
        VocabularyError
            The id is not an integer from 0 to ``len(vocabulary) - 1``.
        """
        return self._tokens[self._check_id(token)]

    def decode(self, tokens: Iterable[int]) -> bytes:
        """Return the text of token ids, as bytes; special tokens have none.

        >>> Vocabulary([b" the", b" cat", b"</s>"], eos_token_ids=[2]).decode([0, 1, 2])
        b' the cat'

        Parameters
        ----------
        tokens : iterable of int
            Token ids.

        Returns
        -------
        bytes
            Not necessarily UTF-8: a token may hold a part of a character.

        Raises
        ------
        VocabularyError
            An id is not in the vocabulary.
        """
        known = self._check_ids(tokens)
        return b"".join([self._tokens[token] for token in known if token not in self.special_token_ids])

    def encode(self, text: str) -> list[int]:
        """Encode a text with the attached tokenizer, adding no special tokens.

        The tokenizer itself decides about special tokens that are written in the text. The packages tokenizers and
        transformers read them as tokens; the others encode them as plain text.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        list of int
            The ids; their bytes join to the text, after one space where `leading_space` is true, and but for what the
            tokenizer itself changes (lower case, unknown characters).

        Raises
        ------
        VocabularyError
            The vocabulary has no tokenizer (raw bytes, GGUF), or its package is not installed.
        ArgumentError
            `text` is not a string, or not one that can be written as UTF-8.
        """
        if not isinstance(text, str):
            raise ArgumentError(f"encode: expected a string, got {shown(text)}")
        if self._attached is None:
            raise VocabularyError(
                "this vocabulary has no tokenizer, only token bytes, so it cannot encode text. Encode with the model's "
                "own tokenizer, or load the vocabulary from it (Vocabulary.from_transformers, from_file, ...)."
            )
        return self._attached.encode(text, self._tokens, self.special_token_ids)

    def encode_canonical(self, text: str | bytes) -> list[int]:
        """Encode a text with the core's encoder, for which special tokens are plain text.

        No package is needed, nothing is normalised, and no space is put before the text: it continues another.

        >>> import detent
        >>> vocabulary = detent.load_model().vocabulary
        >>> [vocabulary.token_bytes(token_id) for token_id in vocabulary.encode_canonical("Please think")]
        [b'Please', b' th', b'ink']

        Parameters
        ----------
        text : str or bytes
            The text; bytes must be UTF-8.

        Returns
        -------
        list of int
            The ids; their bytes join to the text.

        Raises
        ------
        UnsupportedError
            The vocabulary was not read from a BPE or Unigram tokenizer whose every step is known.
        ArgumentError
            `text` is not text, or has a character without a token.
        """
        return self._tables.exact_encoder().encoder.encode(self._text_bytes(text, "encode_canonical"))

    def heal(self, text: str | bytes, recent: Sequence[int] = ()) -> tuple[list[int], bytes]:
        """Tokenize the beginning of a text: the tokens that it has however it goes on, and the bytes that are left.

        For Unigram tokenizers the result may be too short: the core's pairs may allow continuations that never occur.

        >>> import detent
        >>> vocabulary = detent.load_model().vocabulary
        >>> tokens, rest = vocabulary.heal("Please think of the th")
        >>> vocabulary.decode(tokens), rest
        (b'Please think of the', b' th')

        Parameters
        ----------
        text : str or bytes
            What is known of the text; bytes may end inside a character.
        recent : sequence of int
            Tokens before it. As many of the last 32 count as the tokenizer would write so before `text`.

        Returns
        -------
        tuple of (list of int, bytes)
            The ids, and the end of `text` that other tokens may begin with.

        Raises
        ------
        UnsupportedError
            As `tokenize`.
        ArgumentError
            No text begins so.
        VocabularyError
            A recent id is not in the vocabulary.

        Notes
        -----
        Takes a mask for each token, some 20 µs. Source: token healing, https://github.com/guidance-ai/llguidance.
        """
        raw = self._text_bytes(text, "heal")
        tokens = heal_tokens(self._tables, raw, self._check_ids(recent), self.decode)
        return tokens, raw[len(self.decode(tokens)) :]

    def _text_bytes(self, text: object, asker: str) -> bytes:
        if not isinstance(text, (str, bytes)):
            raise ArgumentError(f"{asker}: expected a string or bytes, got {shown(text)}")
        try:
            return text.encode() if isinstance(text, str) else text
        except UnicodeEncodeError as error:
            raise ArgumentError(f"{asker}: half of a surrogate pair at character {error.start}") from None

    @property
    def fingerprint(self) -> str:
        """A hash of everything that masks depend on: bytes, order, special and end-of-text ids, width.

        >>> a, b = (Vocabulary([b"a", b"b"], eos_token_ids=eos) for eos in (None, [1]))
        >>> a.fingerprint == b.fingerprint, len(a.fingerprint)
        (False, 32)

        Equal in every process and version; computed at the first use (10 ms for 128,000 tokens).
        """
        if self._fingerprint is None:
            digest = hashlib.blake2b(b"detent vocabulary 1", digest_size=16)
            for numbers in (
                [len(self._tokens), len(self.eos_token_ids), len(self.special_token_ids)],
                self.eos_token_ids,
                sorted(self.special_token_ids),
                [len(token) for token in self._tokens],
            ):
                digest.update(np.asarray(numbers, dtype="<u8").tobytes())
            digest.update(b"".join(self._tokens))
            object.__setattr__(self, "_fingerprint", digest.hexdigest())
        return str(self._fingerprint)

    def __reduce__(self) -> NoReturn:
        """Raise TypeError: a vocabulary is saved, or read in each process."""
        raise TypeError(
            "a Vocabulary cannot be pickled; write vocabulary.save(path), and detent.Vocabulary.load(path) in the "
            "other process"
        )

    def __copy__(self) -> Vocabulary:
        """Return the vocabulary itself, which nothing changes."""
        return self

    def __deepcopy__(self, memo: object) -> Vocabulary:
        """Return the vocabulary itself."""
        return self

    def __repr__(self) -> str:
        """Return a one-line summary."""
        eos = ", ".join(map(str, self.eos_token_ids)) or "none"
        return f"<Vocabulary of {len(self)} ids, {len(self.special_token_ids)} special, end of text {eos}>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Vocabulary is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Vocabulary is immutable: cannot delete {name!r}")

    def _check_ids(self, tokens: Iterable[int]) -> list[int]:
        try:
            given = list(tokens)
        except TypeError:
            raise VocabularyError(f"token ids: expected a sequence of integers, got {shown(tokens)}") from None
        return [self._check_id(token) for token in given]

    def _check_id(self, token: int) -> int:
        number = token if type(token) is int else token_id(token)
        if not 0 <= number < len(self._tokens):
            raise VocabularyError(
                f"token id {shown(number)} is not in the vocabulary: its ids are 0 to {len(self) - 1}"
            )
        return number
