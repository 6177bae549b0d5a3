"""TokenTree: all rows of tokens of a language after a prompt, with what the model and both kinds of masks say of each.

A place is the beginning of a row. Its masks and the model's logits are asked for when it is first visited; a walk that
goes deep first costs the model one token a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from detent.compiler import compile
from detent.errors import ArgumentError, ModelError, StateError
from detent.generation.logits_cache import LogitsCache
from detent.language import Language
from detent.models.base import Model

__all__ = ["Place", "TokenTree", "log_sum"]

_MOST_REMEMBERED = 4_000_000
"""Allowed ids of all remembered places together, 13 bytes each; further places are visited afresh each time."""


class Place(NamedTuple):
    """What may follow some tokens.

    `ids` are the tokens that plain masks allow and `logs` the logarithms of the model's probabilities of them; the last
    of both is the end of the text, with the id -1. `own` says which canonical masks allow.
    """

    ids: NDArray[np.int32]
    logs: NDArray[np.float64]
    own: NDArray[np.bool_]
    log_mass: float
    log_own_mass: float


class TokenTree:
    """The rows of a language.

    Parameters
    ----------
    model : Model
        What is asked.
    prompt_ids : sequence of int
        The prompt.
    language : Language
        Compiled without and with ``canonical=True``.
    temperature : float
        Above 0.
    """

    def __init__(self, model: Model, prompt_ids: Sequence[int], language: Language, temperature: float) -> None:
        self.vocabulary = model.vocabulary
        self._logits_cache = LogitsCache(model, prompt_ids)
        self._plain = compile(language, self.vocabulary).matcher()
        self._own = compile(language, self.vocabulary, canonical=True).matcher()
        self._temperature = temperature
        self._at: tuple[int, ...] = ()
        self._read: tuple[int, ...] = ()
        self._places: dict[tuple[int, ...], Place] = {}
        self._remembered = 0

    @property
    def model_calls(self) -> int:
        """Passes of the model so far."""
        return self._logits_cache.calls

    def visit(self, ids: tuple[int, ...]) -> Place:
        """Return what may follow `ids`, which are the beginning of a row of the language."""
        known = self._places.get(ids)
        if known is not None:
            return known
        self._go(ids)
        place = self._look(ids)
        if self._remembered < _MOST_REMEMBERED:
            self._remembered += place.ids.size
            self._places[ids] = place
        return place

    def _go(self, ids: tuple[int, ...]) -> None:
        common = _common(self._at, ids)
        self._plain.rollback(len(self._plain) - common)
        self._own.rollback(max(0, len(self._own) - common))
        for place, token_id in enumerate(ids[common:], common):
            self._plain.advance(token_id)
            if len(self._own) == place:
                try:
                    self._own.advance(token_id)
                except StateError:  # not the tokenizer's own row any more
                    continue
        self._at = ids

    def _look(self, ids: tuple[int, ...]) -> Place:
        ends = sorted(self.vocabulary.eos_token_ids)
        allowed = self._plain.allowed()
        is_end = np.isin(allowed, ends)  # where the language asks for an end, that alone
        texts = allowed[~is_end]
        self._logits_cache.crop(_common(self._read, ids))
        logits = self._logits_cache.logits(ids, keep=False).astype(np.float64)
        self._read = ids
        top = float(logits.max())
        if not np.isfinite(top):  # NaN is the maximum where it is
            raise ModelError(
                f"The model gives token {int(logits.argmax())} the logit {top}; logits must be finite or -inf"
            )
        with np.errstate(over="ignore"):
            logs = (logits - top) / self._temperature
        logs -= log_sum(logs)
        if ends:
            end = log_sum(logs[allowed[is_end]]) if is_end.any() else -np.inf
        elif texts.size and self._plain.is_accepting:
            raise ArgumentError(
                "a text of the language is the beginning of another, and without an end-of-text id the model cannot "
                "say where it ends; pass eos_token_ids to the Vocabulary"
            )
        else:
            end = -np.inf if texts.size else 0.0
        found, logs = np.append(texts, -1).astype(np.int32), np.append(logs[texts], end)
        own = np.zeros(found.size, dtype=np.bool_)
        if len(self._own) == len(ids):
            own_ids = self._own.allowed()
            own[:-1] = np.isin(texts, own_ids)
            own[-1] = np.isin(ends, own_ids).any() if ends else self._own.is_accepting
        place = Place(found, logs, own, log_sum(logs), log_sum(logs[own]))
        if place.log_mass == -np.inf or (own.any() and place.log_own_mass == -np.inf):
            raise ModelError(
                "The model gives every allowed token a logit of -inf, so none can be chosen; "
                "check the model's output, or allow more with the language"
            )
        return place


def log_sum(logs: NDArray[np.float64]) -> float:
    """Return the logarithm of the sum of the exponentials."""
    top = float(logs.max(initial=-np.inf))
    return top + float(np.log(np.exp(logs - top).sum())) if np.isfinite(top) else -np.inf


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
