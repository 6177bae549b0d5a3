"""The embedded default model: a Llama of 2.4 million parameters that needs NumPy only and comes with the package.

It was trained from scratch on synthetic texts (tools/write_corpus.py, tools/train_model.py): it copies, extracts, fills
in JSON records, writes calls, dates, lists and short stories. Its purpose is to try and to test constraints.

A session has the tokens and a cache of keys and values. The network runs when `logits` is read, over all tokens that
the cache lacks: several appended tokens cost one pass, and cropping costs a pass of one token. A pass of several
sessions concatenates their tokens: matrix products are the same for all, and attention is computed for each session.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, ModelError
from detent.models.base import Session, checked_ids, checked_length
from detent.models.bpe import ByteLevelBPE
from detent.models.chat import Chat, Message, check_text
from detent.models.embedded_template import texts_of
from detent.models.llama import Cache, Config, Llama
from detent.models.safetensors import read_safetensors
from detent.suggestions import suggests_names
from detent.vocabulary.attached_tokenizer import AttachedTokenizer, TokenizerCalls
from detent.vocabulary.loaded_tokens import LoadedTokens
from detent.vocabulary.tokenizer_json import open_encoder
from detent.vocabulary.vocabulary import Vocabulary

__all__ = ["EmbeddedModel", "EmbeddedSession", "load_model"]

_PACKAGED = Path(__file__).parent / "weights"
_PASS = 256
"""The most tokens of a session in one pass: bounds the memory of attention over a long prompt."""


@suggests_names
def load_model(path: str | Path | None = None) -> EmbeddedModel:
    """Load the model that comes with detent, or another one of the same layout.

    >>> model = load_model()
    >>> session = model.start(model.encode("Write 7 March 2021 as an ISO date."))
    >>> answer = []
    >>> while (token := int(session.logits.argmax())) not in model.vocabulary.eos_token_ids:
    ...     answer.append(token)
    ...     session.append([token])
    >>> model.decode(answer)
    '2021-03-07'

    Parameters
    ----------
    path : str or Path, optional
        A folder with `config.json`, `model.safetensors` and `tokenizer.json`, as tools/train_model.py writes it.

    Cost: about 50 ms and 20 MB for the packaged model.

    Raises
    ------
    ModelError
        A file is missing, malformed, or of another kind of model.
    """
    if path is not None and not isinstance(path, (str, Path)):
        raise ArgumentError(f"path must be a folder, as a str or Path, got {type(path).__name__}")
    return EmbeddedModel(_PACKAGED if path is None else Path(path))


class EmbeddedModel:
    """A small Llama in NumPy; see `load_model`.

    Threads may share it; a session belongs to one thread at a time.
    """

    chat = True
    """`encode` uses the chat template."""

    style = "detent"
    """The notation of calls that the model was trained on, for `detent.turn`."""

    def __init__(self, folder: Path) -> None:
        config = _read_config(folder / "config.json")
        self._network = Llama(Config.from_json(config), read_safetensors(folder / "model.safetensors"))
        self._bpe = ByteLevelBPE(folder / "tokenizer.json")
        special, width = self._bpe.special_ids, self._network.config.vocab_size
        try:
            template = config["chat_template"]
            self._user, self._assistant, self._end = (special[template[name]] for name in ("user", "assistant", "end"))
        except (KeyError, TypeError) as error:
            raise ModelError(f"{folder}: config.json has no chat_template of known special tokens: {error!r}") from None
        tokens = self._bpe.tokens
        if len(tokens) > width:
            raise ModelError(f"{folder}: tokenizer.json has {len(tokens)} tokens, the network only {width}")
        table = LoadedTokens(
            list(tokens),
            frozenset(special.values()),
            attached=AttachedTokenizer(lambda: TokenizerCalls(self._bpe.encode, self.decode)),
            open_encoder=open_encoder(folder / "tokenizer.json"),
        )
        self._vocabulary = Vocabulary._load(lambda _: table, folder, [self._end], width)

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of each token id."""
        return self._vocabulary

    @property
    def context(self) -> int:
        """The most tokens of a session; the model was trained on 512."""
        return self._network.config.max_position_embeddings

    def encode(self, prompt: str) -> list[int]:
        """Return the token ids of a prompt in the chat template: `<|user|>`, the prompt, `<|assistant|>`.

        Special tokens come from the template only, never from the text of the prompt.

        >>> model = load_model()
        >>> model.decode(model.encode("Hi <|end|>"))
        '<|user|>Hi <|end|><|assistant|>'

        Raises
        ------
        ArgumentError
            The prompt is not a string, or holds a lone surrogate.
        """
        check_text(prompt)
        return [self._user, *self._bpe.encode(prompt), self._assistant]

    def encode_chat(self, chat: Chat | Sequence[Message]) -> list[int]:
        """Return the token ids of a conversation in the chat template.

        >>> model = load_model()
        >>> turns = [("user", "Hi"), ("assistant", "Hello."), ("user", "Who?")]
        >>> model.decode(model.encode_chat([{"role": role, "content": text} for role, text in turns]))
        '<|user|>Hi<|assistant|>Hello.<|end|><|user|>Who?<|assistant|>'

        Raises
        ------
        ArgumentError
            The template cannot express a part of the conversation, such as a variable.
        """
        ids: list[int] = []
        for role, text in texts_of(Chat.of(chat)):
            opening, closing = (self._user, []) if role == "user" else (self._assistant, [self._end])
            ids += [opening, *self._bpe.encode(text), *closing]
        return [*ids, self._assistant]

    def encode_text(self, text: str) -> list[int]:
        """Return the token ids of a text without the chat template.

        Raises
        ------
        ArgumentError
            The text holds a lone surrogate.
        """
        check_text(text)
        return self._bpe.encode(text)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of tokens; special tokens show their name, and bytes that are not UTF-8 show U+FFFD."""
        tokens = self._bpe.tokens
        return b"".join(tokens[token] for token in checked_ids(token_ids) if token < len(tokens)).decode(
            "utf-8", "replace"
        )

    def start(self, token_ids: Sequence[int]) -> EmbeddedSession:
        """Start a session with a prompt of at least one token.

        Raises
        ------
        ArgumentError
            There is no token, or an id is outside the vocabulary.
        ModelError
            There are more tokens than the context holds.
        """
        ids = checked_ids(token_ids, self._network.config.vocab_size)
        if not ids:
            raise ArgumentError("the prompt has no tokens; a session needs at least one, as of model.encode(text)")
        session = EmbeddedSession(self._network)
        session.append(ids)
        return session

    def read(self, sessions: Sequence[Session]) -> None:
        """Compute the logits of several sessions in one pass."""
        _read(self._network, [_checked(session) for session in sessions])

    def fork(self, session: Session) -> EmbeddedSession:
        """Return an independent session with the same tokens, without reading them again."""
        return _checked(session).fork()


class EmbeddedSession:
    """A session of an `EmbeddedModel`.

    >>> model = load_model()
    >>> session = model.start(model.encode("Can we talk?"))
    >>> first = session.logits
    >>> session.append(model.encode_text("Of course."))
    >>> session.crop(len(model.encode("Can we talk?")))
    >>> bool(np.allclose(session.logits, first, atol=1e-4))
    True
    """

    def __init__(self, network: Llama) -> None:
        self._network = network
        self._cache = Cache(network.config)
        self._ids: list[int] = []
        self._logits: NDArray[np.float32] | None = None

    @property
    def token_ids(self) -> list[int]:
        """All token ids so far, the prompt's included (a copy)."""
        return list(self._ids)

    @property
    def logits(self) -> NDArray[np.float32]:
        """Logits of the next token: float32, shape (V,), read-only.

        Cost: the first read after a change runs the network over the tokens that the cache lacks.
        """
        if self._logits is None:
            _read(self._network, [self])
        assert self._logits is not None  # noqa: S101 - set by the pass
        return self._logits

    def append(self, token_ids: Sequence[int]) -> None:
        """Add tokens at the end: all, or none if one of them is refused.

        Raises
        ------
        ArgumentError
            An id is outside the vocabulary.
        ModelError
            The context is full.
        """
        config = self._network.config
        added = checked_ids(token_ids, config.vocab_size)
        if len(self._ids) + len(added) > config.max_position_embeddings:
            raise ModelError(
                f"the context holds {config.max_position_embeddings} tokens; {len(self._ids)} are there and "
                f"{len(added)} more were to be added: shorten the prompt or lower max_tokens"
            )
        if added:
            self._ids += added
            self._logits = None

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens, the prompt's included; at least one must stay.

        Raises
        ------
        ArgumentError
            `length` is not from 1 to the number of tokens.
        """
        length = checked_length(length, len(self._ids), least=1)
        if length < len(self._ids):
            del self._ids[length:]
            self._cache.length = min(self._cache.length, length - 1)
            self._logits = None

    def fork(self) -> EmbeddedSession:
        """Return an independent session with the same tokens."""
        copied = EmbeddedSession(self._network)
        copied._cache, copied._ids, copied._logits = self._cache.copy(), list(self._ids), self._logits
        return copied


def _checked(session: Session) -> EmbeddedSession:
    if not isinstance(session, EmbeddedSession):
        raise ArgumentError(f"expected a session that this model started, got {type(session).__name__}")
    return session


def _read(network: Llama, sessions: Sequence[EmbeddedSession]) -> None:
    """Read the tokens that the caches lack, in passes of at most `_PASS` tokens a session."""
    unread = [session for session in sessions if session._logits is None]
    while unread:
        starts = [session._cache.length for session in unread]
        segments = [
            (session._ids[start : start + _PASS], session._cache) for session, start in zip(unread, starts, strict=True)
        ]
        logits = network.forward(segments)
        logits.flags.writeable = False
        for session, row in zip(unread, logits, strict=True):
            if session._cache.length == len(session._ids):
                session._logits = row
        unread = [session for session in unread if session._logits is None]


def _read_config(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ModelError(
            f"cannot read the model's {path}: {error.strerror}; load_model reads folders of the embedded layout; "
            "detent.models.Transformers takes models of transformers"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not valid JSON: {error}") from None
