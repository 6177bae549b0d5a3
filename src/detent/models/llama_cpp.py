"""LlamaCpp: a model from a GGUF file, run by llama.cpp through the package llama-cpp-python.

A session is a sequence of one llama.cpp context, whose cells hold the keys and values of all sequences. A fork shares
the cells of its original; cropping removes cells. Several sessions are read in one `llama_decode`. Only `read` and
`fork` use the context, under a lock, so that sessions may be changed in any thread.

A model whose memory cannot drop the end of a sequence (recurrent layers) reads a cropped session again from the start.
"""

from __future__ import annotations

import importlib
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, ModelError
from detent.models.base import Session, checked_ids, checked_length
from detent.models.chat import Chat, Message, check_text
from detent.models.chat_template import ChatTemplate
from detent.models.template_tokens import tokenize_chat
from detent.vocabulary import Vocabulary
from detent.vocabulary.gguf import read_gguf_chat_template

__all__ = ["LlamaCpp"]

_MOST_SESSIONS = 128
"""The texts of a scheduler, and the prompts that it keeps."""
_BATCH = 512
"""The most tokens of one `llama_decode`."""


class LlamaCpp:
    """A model in a GGUF file, of any architecture that llama.cpp runs; needs the package llama-cpp-python.

    >>> from detent.models import LlamaCpp
    >>> model = LlamaCpp("model.gguf")      # doctest: +SKIP

    Logits are float32. The tokenizer and the chat template are those of the file.

    Parameters
    ----------
    path : str or Path
        The file.
    cache_tokens : int
        The most tokens of all sessions together, whose keys and values are in memory.
    threads : int, optional
        The threads of a pass; by default as many as there are cores.
    chat : bool
        Whether a prompt is the message of a user, for the file's chat template, instead of plain text.

    Raises
    ------
    ModelError
        The package is not installed, the file cannot be loaded, or it has no chat template for `chat`.
    VocabularyError
        The tokenizer of the file cannot be read.
    """

    def __init__(
        self, path: str | Path, *, cache_tokens: int = 16_384, threads: int | None = None, chat: bool = False
    ) -> None:
        if not isinstance(path, (str, Path)):
            raise ArgumentError(f"path must be a file, as a str or Path, got {type(path).__name__}")
        for name, value in (("cache_tokens", cache_tokens), ("threads", threads)):
            if value is not None and (type(value) is not int or not 0 < value < 1 << 31):
                raise ArgumentError(f"{name} must be a positive integer, got {value!r}")
        _api()
        self.vocabulary = Vocabulary.from_file(path)
        sources, special_tokens = read_gguf_chat_template(Path(path))
        self._template = ChatTemplate(sources, special_tokens=special_tokens) if sources else None
        if chat and self._template is None:
            raise ModelError(f"{path} has no chat template; leave chat=False and write the turns into the prompt")
        self.chat = chat
        self._context = _Context(Path(path), cache_tokens, threads or len(os.sched_getaffinity(0)))
        if self._context.width != len(self.vocabulary):
            raise ModelError(f"{path}: {len(self.vocabulary)} tokens, but llama.cpp has {self._context.width}")

    @property
    def context(self) -> int:
        """The most tokens of a session."""
        return self._context.length

    def encode(self, prompt: str) -> list[int]:
        """Return the token ids of a prompt: in the chat template, or with the special tokens around a plain text."""
        return self.encode_chat(Chat(prompt)) if self.chat else self.encode_text(prompt)

    def encode_text(self, text: str) -> list[int]:
        """Return the token ids of a text, with the special tokens that the tokenizer puts around it."""
        check_text(text)
        return self._context.tokenize(text, around=True, names=False)

    def encode_chat(self, chat: Chat | Sequence[Message]) -> list[int]:
        """Return the token ids of a conversation in the file's chat template.

        Raises
        ------
        ArgumentError
            The file has no chat template, or the template cannot express the conversation.
        """
        if self._template is None:
            raise ArgumentError("the GGUF file has no chat template for a conversation; pass the prompt as a str")
        return tokenize_chat(
            self._template,
            Chat.of(chat),
            self.vocabulary,
            lambda text: self._context.tokenize(text, around=False, names=True),
            lambda text: self._context.tokenize(text, around=False, names=False),
        )

    def start(self, token_ids: Sequence[int]) -> LlamaCppSession:
        """Start a session with a prompt of at least one token."""
        ids = checked_ids(token_ids, self._context.width)
        if not ids:
            raise ArgumentError("the prompt has no tokens; a session needs at least one, as of model.encode(text)")
        session = LlamaCppSession(self._context, self._context.new_sequence())
        session.append(ids)
        return session

    def read(self, sessions: Sequence[Session]) -> None:
        """Compute the logits of several sessions, in as few passes as their tokens allow."""
        self._context.read([_checked(session) for session in sessions])

    def fork(self, session: Session) -> LlamaCppSession:
        """Return an independent session with the same tokens, without reading them again."""
        return self._context.fork(_checked(session))


class LlamaCppSession:
    """A session of a `LlamaCpp` model; see `detent.models.Session`."""

    def __init__(self, context: _Context, sequence: int) -> None:
        self._context = context
        self.sequence = sequence
        self.ids: list[int] = []
        self.cells = 0
        """How many tokens have cells in the context's memory."""
        self.wanted = 0
        """How many of these cells belong to the present tokens; the others are to be removed."""
        self.row: NDArray[np.float32] | None = None
        weakref.finalize(self, context.released.append, sequence)

    @property
    def token_ids(self) -> list[int]:
        """All token ids so far, the prompt's included (a copy)."""
        return list(self.ids)

    @property
    def logits(self) -> NDArray[np.float32]:
        """Logits of the next token: float32[V], read-only. The first read after a change runs the model."""
        if self.row is None:
            self._context.read([self])
        assert self.row is not None  # noqa: S101 - set by the pass
        return self.row

    def append(self, token_ids: Sequence[int]) -> None:
        """Add tokens at the end."""
        added = checked_ids(token_ids, self._context.width)
        if len(self.ids) + len(added) > self._context.length:
            raise ModelError(
                f"the context holds {self._context.length} tokens; {len(self.ids)} are there and {len(added)} more "
                "were to be added: shorten the prompt or lower max_tokens"
            )
        if added:
            self.ids += added
            self.row = None

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens, the prompt's included; at least one must stay."""
        length = checked_length(length, len(self.ids), least=1)
        if length < len(self.ids):
            del self.ids[length:]
            self.wanted = min(self.wanted, length - 1)
            self.row = None


class _Context:
    """A model and a context of llama.cpp."""

    def __init__(self, path: Path, cells: int, threads: int) -> None:
        api = _api()
        api.llama_backend_init()
        self._api = api
        self._lock = threading.Lock()
        self.released: deque[int] = deque()
        """Sequences of sessions that are gone; the garbage collector may add to it at any time."""
        self._free = list(range(_MOST_SESSIONS))
        self._model = api.llama_model_load_from_file(str(path).encode(), api.llama_model_default_params())
        if not self._model:
            raise ModelError(f"{path}: llama.cpp cannot load it; its own log is on the logger llama-cpp-python")
        weakref.finalize(self, api.llama_model_free, self._model)
        self.length = min(int(api.llama_model_n_ctx_train(self._model)), cells)
        options = api.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch = cells, _BATCH, _BATCH
        options.n_seq_max, options.kv_unified = _MOST_SESSIONS, True
        options.n_threads = options.n_threads_batch = threads
        self._handle = api.llama_init_from_model(self._model, options)
        if not self._handle:
            raise ModelError(f"{path}: no memory for {cells} cached tokens; lower cache_tokens")
        weakref.finalize(self, api.llama_free, self._handle)  # called before that of the model
        self._memory = api.llama_get_memory(self._handle)
        self._words = api.llama_model_get_vocab(self._model)
        self.width = int(api.llama_vocab_n_tokens(self._words))

    def tokenize(self, text: str, *, around: bool, names: bool) -> list[int]:
        """Return the tokens of a text.

        Parameters
        ----------
        text : str
            The text.
        around : bool
            Whether the tokenizer adds special tokens around it.
        names : bool
            Whether the names of special tokens are read as these.
        """
        data = text.encode()
        room = len(data) + 2
        tokens = (self._api.llama_token * room)()
        count = self._api.llama_tokenize(self._words, data, len(data), tokens, room, around, names)
        if count < 0:
            raise ModelError(f"llama.cpp cannot tokenize a text of {len(data)} bytes")
        return list(tokens[:count])

    def new_sequence(self) -> int:
        """Return a sequence without tokens."""
        with self._lock:
            return self._new_sequence()

    def fork(self, session: LlamaCppSession) -> LlamaCppSession:
        """Return a session that shares the cells of another."""
        with self._lock:
            copied = LlamaCppSession(self, self._new_sequence())
            self._remove_unwanted(session)
            self._api.llama_memory_seq_cp(self._memory, session.sequence, copied.sequence, 0, session.cells)
            copied.ids, copied.row = list(session.ids), session.row
            copied.cells = copied.wanted = session.cells
            return copied

    def read(self, sessions: Sequence[LlamaCppSession]) -> None:
        """Compute the logits of sessions that lack them."""
        with self._lock:
            self._collect()
            unread = [session for session in sessions if session.row is None]
            for session in unread:
                self._remove_unwanted(session)
            while unread:
                self._decode(unread)
                unread = [session for session in unread if session.row is None]

    def _new_sequence(self) -> int:
        self._collect()
        if not self._free:
            raise ModelError(f"{_MOST_SESSIONS} sessions are open, the most of one model; close some")
        return self._free.pop()

    def _collect(self) -> None:
        """Free the sequences of sessions that are gone."""
        while self.released:
            sequence = self.released.popleft()
            self._api.llama_memory_seq_rm(self._memory, sequence, 0, -1)
            self._free.append(sequence)

    def _remove_unwanted(self, session: LlamaCppSession) -> None:
        """Remove the cells after those that belong to the present tokens."""
        if session.wanted < session.cells:
            if not self._api.llama_memory_seq_rm(self._memory, session.sequence, session.wanted, -1):
                session.wanted = 0
                self._api.llama_memory_seq_rm(self._memory, session.sequence, 0, -1)
            session.cells = session.wanted

    def _decode(self, sessions: Sequence[LlamaCppSession]) -> None:
        """Run the model once, over the next tokens of as many sessions as fit into a batch."""
        batch = self._api.llama_batch_init(_BATCH, 0, 1)
        try:
            size, complete = 0, []
            parts = []
            for session in sessions:
                part = session.ids[session.cells : session.cells + _BATCH - size]
                for position, token in enumerate(part, session.cells):
                    batch.token[size], batch.pos[size] = token, position
                    batch.n_seq_id[size], batch.seq_id[size][0] = 1, session.sequence
                    batch.logits[size] = position + 1 == len(session.ids)
                    size += 1
                parts.append((session, len(part)))
                if part and session.cells + len(part) == len(session.ids):
                    complete.append((session, size - 1))
                if size == _BATCH:
                    break
            batch.n_tokens = size
            status = self._api.llama_decode(self._handle, batch)
            if status:
                reason = "the sessions fill its cache; raise cache_tokens" if status == 1 else f"status {status}"
                for session, _ in parts:
                    session.wanted, session.cells = 0, len(session.ids)  # a failed pass may have stored any cells
                raise ModelError(f"llama.cpp cannot read {size} tokens: {reason}")
        finally:
            self._api.llama_batch_free(batch)
        for session, count in parts:
            session.cells += count
            session.wanted = session.cells
        for session, index in complete:
            pointer = self._api.llama_get_logits_ith(self._handle, index)
            row = np.array(np.ctypeslib.as_array(pointer, (self.width,)), np.float32)
            row.flags.writeable = False
            session.row = row


def _api() -> Any:
    """Return the functions of llama.cpp, which then log errors alone, unless the level of its logger is set."""
    try:
        api = importlib.import_module("llama_cpp")
    except (ImportError, OSError, RuntimeError) as error:
        raise ModelError(f"a GGUF file needs llama-cpp-python: {error}; pip install 'detent[gguf]'") from None
    logger = logging.getLogger("llama-cpp-python")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.ERROR)
    return api


def _checked(session: Session) -> LlamaCppSession:
    if not isinstance(session, LlamaCppSession):
        raise ArgumentError(f"expected a session that this model started, got {type(session).__name__}")
    return session
