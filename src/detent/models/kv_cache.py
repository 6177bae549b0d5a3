"""Sessions of a decoder of transformers, alone or several in one pass, with their keys and values on shelves.

A session keeps the ids, and where the keys of the first of them stand: a row of a `Shelf`, and a slot for each id.
Appending and cropping only change these lists; the forward pass runs when logits are next read, over all ids that have
no slot yet, so several appended tokens cost one pass.

    shelf, two rows, after a pass of 1 and of 3 tokens:      A A A A . . A       slots of A: 0 1 2 3 6
                                                             . B B B B B B       slots of B: 1 2 3 4 5 6

TokenTree that are read together share a shelf. A row with fewer tokens is padded on its left, and a row that is cropped
leaves slots behind: the attention mask hides what is no row's own, and positions are given by hand, so it does not
matter where a key stands. Forks share a row until one of them is read. All this needs a model that keeps every position
(`DynamicLayer` itself). Sliding-window and recurrent layers have thrown away what a shorter sequence would need, so
there a session that is cropped starts afresh, and each is read by itself: slower, and exact.
"""

from __future__ import annotations

import copy
import inspect
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["CachedSession", "read_sessions"]

_SLACK = 64
"""Slots that may be no session's before a shelf is gathered anew."""


class BatchKVCache:
    """Keys and values of several rows, side by side; sessions say which slots are theirs."""

    def __init__(self, cache: Any, rows: int) -> None:
        self.cache = cache
        self.rows = rows
        self.sessions: weakref.WeakSet[CachedSession] = weakref.WeakSet()

    @property
    def length(self) -> int:
        """Slots of each row."""
        return int(self.cache.get_seq_length())

    @property
    def is_open(self) -> bool:
        """Whether rows may be cropped and put together."""
        return _keeps_every_position(self.cache)


class CachedSession:
    """One text under way; see `detent.models.Session`."""

    def __init__(self, model: PreTrainedModel, token_ids: Sequence[int]) -> None:
        if not token_ids:
            raise ArgumentError(
                "The prompt has no tokens; a transformers model needs at least one, such as the beginning-of-text id"
            )
        self._model = model
        self._limit: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self._token_ids = list(token_ids)
        self._shelf: BatchKVCache | None = None
        self._row = 0
        self._slots: list[int] = []
        self._logits: NDArray[np.float32] | None = None

    @property
    def token_ids(self) -> list[int]:
        """All token ids so far (a copy)."""
        return list(self._token_ids)

    @property
    def logits(self) -> NDArray[np.float32]:
        """Logits of the next token; read now if they were not."""
        if self._logits is None:
            _read([self])
        assert self._logits is not None  # noqa: S101 - what reading is
        return self._logits

    def append(self, token_ids: Sequence[int]) -> None:
        """Add tokens at the end."""
        if len(token_ids):
            self._token_ids.extend(token_ids)
            self._logits = None

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens, at least one."""
        if not 1 <= length <= len(self._token_ids):
            raise ArgumentError(f"Cannot crop a sequence of {len(self._token_ids)} tokens to {length}")
        if length == len(self._token_ids):
            return
        del self._token_ids[length:]
        self._logits = None
        if len(self._slots) > length - 1:  # the last token is run again, for its logits
            if self._is_open:
                del self._slots[length - 1 :]
            else:
                self._detach()

    @property
    def _is_open(self) -> bool:
        return self._shelf is None or self._shelf.is_open

    def _detach(self) -> None:
        """Forget what was read."""
        if self._shelf is not None:
            self._shelf.sessions.discard(self)
        self._shelf, self._row, self._slots = None, 0, []

    def _attach(self, shelf: BatchKVCache, row: int, slots: list[int]) -> None:
        """Take a place on a shelf."""
        self._detach()
        self._shelf, self._row, self._slots = shelf, row, slots
        shelf.sessions.add(self)

    def fork(self) -> CachedSession:
        """Return an independent session with the same tokens."""
        made = CachedSession(self._model, self._token_ids)
        if self._shelf is not None:
            shelf = self._shelf if self._is_open else BatchKVCache(copy.deepcopy(self._shelf.cache), 1)
            made._attach(shelf, self._row, list(self._slots))
        made._logits = self._logits
        return made


def read_sessions(sessions: Sequence[CachedSession]) -> None:
    """Compute the logits of several sessions of one model."""
    left = [session for session in sessions if session._logits is None]
    if not left:
        return
    if not _reads_together(left[0]._model):
        for session in left:
            _read([session])
        return
    # A prompt beside single tokens would pad each of these to its own length.
    new = [session for session in left if session._shelf is None]
    for group in (new, [session for session in left if session._shelf is not None]):
        if group:
            _read(group)


def _read(sessions: Sequence[CachedSession]) -> None:
    """Read what the sessions lack, in one pass; all have a place on a shelf, or none has."""
    import torch

    for session in sessions:
        if session._limit is not None and len(session._token_ids) > session._limit:
            raise ModelError(
                f"The sequence has {len(session._token_ids)} tokens, but the model was built for at most "
                f"{session._limit}; shorten the prompt or lower max_tokens"
            )
    model = sessions[0]._model
    shelf = _together(sessions)
    start = shelf.length
    fresh = [session._token_ids[len(session._slots) :] for session in sessions]
    width = max(map(len, fresh))
    ids = np.zeros((len(sessions), width), dtype=np.int64)
    positions = np.zeros((len(sessions), width), dtype=np.int64)
    seen = np.zeros((len(sessions), start + width), dtype=np.int64)
    for row, (session, tokens) in enumerate(zip(sessions, fresh, strict=True)):
        ids[row, width - len(tokens) :] = tokens
        positions[row, width - len(tokens) :] = np.arange(len(session._slots), len(session._token_ids))
        seen[row, session._slots] = 1
        seen[row, start + width - len(tokens) :] = 1
    more: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in _parameters(model) else {}
    if not seen.all():  # else the model's own defaults say the same, and faster
        more["attention_mask"] = torch.from_numpy(seen).to(model.device)
        more["position_ids"] = torch.from_numpy(positions).to(model.device)
    try:
        with torch.no_grad():
            outputs = model(
                input_ids=torch.from_numpy(ids).to(model.device), past_key_values=shelf.cache, use_cache=True, **more
            )
    except BaseException:  # out of memory or Ctrl-C between two layers leaves them at different lengths
        for session in list(shelf.sessions):
            session._detach()
        raise
    logits = outputs.logits[:, -1].float().cpu().numpy()
    for row, (session, tokens) in enumerate(zip(sessions, fresh, strict=True)):
        session._slots += range(start + width - len(tokens), start + width)
        session._logits = logits[row]


def _together(sessions: Sequence[CachedSession]) -> BatchKVCache:
    """Return a shelf whose rows are the sessions', in order; what is on it no more is dropped."""
    from transformers import DynamicCache

    model, shelf = sessions[0]._model, sessions[0]._shelf
    if shelf is None:
        shelf = BatchKVCache(DynamicCache(config=model.config), len(sessions))
        for row, session in enumerate(sessions):
            session._attach(shelf, row, [])
        return shelf
    if not shelf.is_open:
        return shelf
    longest = max(len(session._slots) for session in sessions)
    one_shelf = all(session._shelf is shelf for session in sessions)
    if one_shelf and [session._row for session in sessions] == list(range(shelf.rows)):
        surplus = shelf.length - max((max(other._slots, default=-1) + 1 for other in shelf.sessions), default=0)
        if surplus:
            shelf.cache.crop(-surplus)
        if shelf.length <= 2 * longest + _SLACK:
            return shelf
    return _compact(sessions, longest)


def _compact(sessions: Sequence[CachedSession], longest: int) -> BatchKVCache:
    """Return a new shelf with the sessions' slots alone, each row ending at the same slot."""
    import torch
    from transformers import DynamicCache

    first = sessions[0]
    assert first._shelf is not None  # noqa: S101 - the caller looked
    made = BatchKVCache(DynamicCache(config=first._model.config), len(sessions))
    one_shelf = all(session._shelf is first._shelf for session in sessions)
    places = np.zeros((len(sessions), longest), dtype=np.int64)
    for row, session in enumerate(sessions):
        places[row, longest - len(session._slots) :] = session._slots
    device = first._model.device
    rows = torch.tensor([session._row for session in sessions], device=device)[:, None]
    slots = torch.from_numpy(places).to(device)
    for index, layer in enumerate(first._shelf.cache.layers):
        if one_shelf:
            keys, values = (
                tensor.transpose(1, 2)[rows, slots].transpose(1, 2) for tensor in (layer.keys, layer.values)
            )
        else:
            shape = (len(sessions), layer.keys.shape[1], longest)
            keys = layer.keys.new_zeros((*shape, layer.keys.shape[3]))
            values = layer.values.new_zeros((*shape, layer.values.shape[3]))
            for row, session in enumerate(sessions):
                assert session._shelf is not None  # noqa: S101 - the caller looked
                source, count = session._shelf.cache.layers[index], len(session._slots)
                keys[row, :, longest - count :] = source.keys[session._row, :, session._slots]
                values[row, :, longest - count :] = source.values[session._row, :, session._slots]
        made.cache.update(keys, values, index)
    for row, session in enumerate(sessions):
        session._attach(made, row, list(range(longest - len(session._slots), longest)))
    return made


def _parameters(model: Any) -> Mapping[str, Any]:
    return inspect.signature(model.forward).parameters


def _reads_together(model: Any) -> bool:
    """Whether keys may stand anywhere, if the model is told their positions and who may see them."""
    from transformers import DynamicCache

    takes = {"position_ids", "attention_mask"} <= _parameters(model).keys()
    return takes and _keeps_every_position(DynamicCache(config=model.config))


def _keeps_every_position(cache: Any) -> bool:
    from transformers.cache_utils import DynamicLayer

    return bool(cache.is_croppable) and all(type(layer) is DynamicLayer for layer in cache.layers)
