"""Sessions of a decoder of transformers, alone or several in one pass, with their key-value caches.

A session has the token ids, and the location of the keys of the first of them: a row of a `BatchKVCache`, and a slot
for each id. Append and crop only change these lists. The forward pass runs when logits are next read, over all ids
without a slot, so several appended tokens cost one pass.

    cache of two rows, after passes of 1 and of 3 tokens:    A A A A . . A       slots of A: 0 1 2 3 6
                                                             . B B B B B B       slots of B: 1 2 3 4 5 6

Sessions that are read together share a cache. A row with fewer tokens is padded on the left, and a cropped row leaves
unused slots: the attention mask hides the slots of no session, and positions are explicit, so the slot of a key does
not matter. Forks share a row until one of them is read.

This needs layers that keep every position (`DynamicLayer`). Sliding-window and recurrent layers drop what a shorter
sequence needs. With those a cropped session is read again from the start, and each session is read alone: slower, and
exact.
"""

from __future__ import annotations

import copy
import inspect
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, ModelError
from detent.models.base import checked_ids, checked_length

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["CachedSession", "read_sessions"]

_MAX_UNUSED_SLOTS = 64
"""Unused slots of a row before the cache is compacted."""


class BatchKVCache:
    """The keys and values of several sessions, one row each."""

    def __init__(self, dynamic_cache: Any, rows: int) -> None:
        self.dynamic_cache = dynamic_cache
        self.rows = rows
        self._sessions: weakref.WeakSet[CachedSession] = weakref.WeakSet()
        self._lock = threading.Lock()  # sessions are cropped in other threads than that of the pass

    def add(self, session: CachedSession) -> None:
        """Note that a session has a row."""
        with self._lock:
            self._sessions.add(session)

    def discard(self, session: CachedSession) -> None:
        """Note that a session has no row any more."""
        with self._lock:
            self._sessions.discard(session)

    @property
    def sessions(self) -> list[CachedSession]:
        """The sessions that have a row."""
        with self._lock:
            return list(self._sessions)

    @property
    def length(self) -> int:
        """Slots of a row."""
        return int(self.dynamic_cache.get_seq_length())

    @property
    def keeps_positions(self) -> bool:
        """Whether every position is kept, so that slots may be anywhere in a row."""
        return _keeps_every_position(self.dynamic_cache)


class CachedSession:
    """A session; see `detent.models.Session`."""

    def __init__(self, model: PreTrainedModel, token_ids: Sequence[int]) -> None:
        ids = checked_ids(token_ids)
        if not ids:
            raise ArgumentError(
                "The prompt has no tokens; a transformers model needs at least one, such as the beginning-of-text id"
            )
        self._model = model
        self._limit: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self._token_ids = ids
        self._cache: BatchKVCache | None = None
        self._row = 0
        self._slots: list[int] = []
        self._logits: NDArray[np.float32] | None = None

    @property
    def token_ids(self) -> list[int]:
        """All token ids so far (a copy)."""
        return list(self._token_ids)

    @property
    def logits(self) -> NDArray[np.float32]:
        """Logits of the next token; the first read after a change runs the model."""
        if self._logits is None:
            _read([self])
        assert self._logits is not None  # noqa: S101 - set by the pass
        return self._logits

    def append(self, token_ids: Sequence[int]) -> None:
        """Add tokens at the end."""
        added = checked_ids(token_ids)
        if added:
            self._token_ids.extend(added)
            self._logits = None

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens, at least one."""
        length = checked_length(length, len(self._token_ids), least=1)
        if length == len(self._token_ids):
            return
        del self._token_ids[length:]
        self._logits = None
        if len(self._slots) > length - 1:  # the last token is run again, for its logits
            if self._keeps_positions:
                del self._slots[length - 1 :]
            else:
                self._detach()

    @property
    def _keeps_positions(self) -> bool:
        return self._cache is None or self._cache.keeps_positions

    def _detach(self) -> None:
        """Release the row of the session."""
        if self._cache is not None:
            self._cache.discard(self)
        self._cache, self._row, self._slots = None, 0, []

    def _attach(self, cache: BatchKVCache, row: int, slots: list[int]) -> None:
        """Take a row of a cache."""
        self._detach()
        self._cache, self._row, self._slots = cache, row, slots
        cache.add(self)

    def fork(self) -> CachedSession:
        """Return an independent session with the same tokens."""
        copied = CachedSession(self._model, self._token_ids)
        if self._cache is not None:
            cache = self._cache if self._keeps_positions else BatchKVCache(copy.deepcopy(self._cache.dynamic_cache), 1)
            copied._attach(cache, self._row, list(self._slots))
        copied._logits = self._logits
        return copied


def read_sessions(sessions: Sequence[CachedSession]) -> None:
    """Compute the logits of several sessions of one model."""
    unread = [session for session in sessions if session._logits is None]
    if not unread:
        return
    if not _reads_together(unread[0]._model):
        for session in unread:
            _read([session])
        return
    # In one pass with a prompt, single tokens would be padded to the length of the prompt.
    new = [session for session in unread if session._cache is None]
    for group in (new, [session for session in unread if session._cache is not None]):
        if group:
            _read(group)


def _read(sessions: Sequence[CachedSession]) -> None:
    """Read the tokens without slots in one pass; all sessions have a row of a cache, or none has."""
    import torch

    for session in sessions:
        if session._limit is not None and len(session._token_ids) > session._limit:
            raise ModelError(
                f"The sequence has {len(session._token_ids)} tokens, but the model was built for at most "
                f"{session._limit}; shorten the prompt or lower max_tokens"
            )
    model = sessions[0]._model
    cache = _common_cache(sessions)
    start = cache.length
    new_tokens = [session._token_ids[len(session._slots) :] for session in sessions]
    width = max(map(len, new_tokens))
    ids = np.zeros((len(sessions), width), dtype=np.int64)
    positions = np.zeros((len(sessions), width), dtype=np.int64)
    visible = np.zeros((len(sessions), start + width), dtype=np.int64)
    for row, (session, tokens) in enumerate(zip(sessions, new_tokens, strict=True)):
        ids[row, width - len(tokens) :] = tokens
        positions[row, width - len(tokens) :] = np.arange(len(session._slots), len(session._token_ids))
        visible[row, session._slots] = 1
        visible[row, start + width - len(tokens) :] = 1
    parameters = _parameters(model)
    # transformers 5.24 renamed the argument.
    arguments: dict[str, Any] = {"cache" if "cache" in parameters else "past_key_values": cache.dynamic_cache}
    if "logits_to_keep" in parameters:
        arguments["logits_to_keep"] = 1
    if not visible.all():  # otherwise the defaults of the model mean the same and are faster
        arguments["attention_mask"] = torch.from_numpy(visible).to(model.device)
        arguments["position_ids"] = torch.from_numpy(positions).to(model.device)
    try:
        with torch.no_grad():
            outputs = model(
                input_ids=torch.from_numpy(ids).to(model.device),
                use_cache=True,
                **arguments,
            )
    except BaseException:  # out of memory or Ctrl-C between two layers: their lengths differ now
        for session in cache.sessions:
            session._detach()
        raise
    logits = outputs.logits[:, -1].float().cpu().numpy()
    for row, (session, tokens) in enumerate(zip(sessions, new_tokens, strict=True)):
        session._slots += range(start + width - len(tokens), start + width)
        session._logits = logits[row]


def _common_cache(sessions: Sequence[CachedSession]) -> BatchKVCache:
    """Return a cache whose rows are those of the sessions, in order, without the slots of dropped sessions."""
    from transformers import DynamicCache

    model, cache = sessions[0]._model, sessions[0]._cache
    if cache is None:
        cache = BatchKVCache(DynamicCache(config=model.config), len(sessions))
        for row, session in enumerate(sessions):
            session._attach(cache, row, [])
        return cache
    if not cache.keeps_positions:
        return cache
    longest = max(len(session._slots) for session in sessions)
    one_cache = all(session._cache is cache for session in sessions)
    if one_cache and [session._row for session in sessions] == list(range(cache.rows)):
        surplus = cache.length - max((max(other._slots, default=-1) + 1 for other in cache.sessions), default=0)
        if surplus:
            cache.dynamic_cache.crop(-surplus)
        if cache.length <= 2 * longest + _MAX_UNUSED_SLOTS:
            return cache
    return _compact(sessions, longest)


def _compact(sessions: Sequence[CachedSession], longest: int) -> BatchKVCache:
    """Return a new cache with the slots of the sessions alone; all rows end at the same slot."""
    import torch
    from transformers import DynamicCache

    first = sessions[0]
    assert first._cache is not None  # noqa: S101 - checked by the caller
    compacted = BatchKVCache(DynamicCache(config=first._model.config), len(sessions))
    one_cache = all(session._cache is first._cache for session in sessions)
    old_slots = np.zeros((len(sessions), longest), dtype=np.int64)
    for row, session in enumerate(sessions):
        old_slots[row, longest - len(session._slots) :] = session._slots
    device = first._model.device
    rows = torch.tensor([session._row for session in sessions], device=device)[:, None]
    slots = torch.from_numpy(old_slots).to(device)
    for index, layer in enumerate(first._cache.dynamic_cache.layers):
        if one_cache:
            keys, values = (
                tensor.transpose(1, 2)[rows, slots].transpose(1, 2) for tensor in (layer.keys, layer.values)
            )
        else:
            shape = (len(sessions), layer.keys.shape[1], longest)
            keys = layer.keys.new_zeros((*shape, layer.keys.shape[3]))
            values = layer.values.new_zeros((*shape, layer.values.shape[3]))
            for row, session in enumerate(sessions):
                assert session._cache is not None  # noqa: S101 - checked by the caller
                source, count = session._cache.dynamic_cache.layers[index], len(session._slots)
                keys[row, :, longest - count :] = source.keys[session._row, :, session._slots]
                values[row, :, longest - count :] = source.values[session._row, :, session._slots]
        compacted.dynamic_cache.update(keys, values, index)
    for row, session in enumerate(sessions):
        session._attach(compacted, row, list(range(longest - len(session._slots), longest)))
    return compacted


def _parameters(model: Any) -> Mapping[str, Any]:
    return inspect.signature(model.forward).parameters


def _reads_together(model: Any) -> bool:
    """Return whether the slot of a key is free, because the model takes positions and an attention mask."""
    from transformers import DynamicCache

    takes_both = {"position_ids", "attention_mask"} <= _parameters(model).keys()
    return takes_both and _keeps_every_position(DynamicCache(config=model.config))


def _keeps_every_position(cache: Any) -> bool:
    from transformers.cache_utils import DynamicLayer

    return bool(cache.is_croppable) and all(type(layer) is DynamicLayer for layer in cache.layers)
