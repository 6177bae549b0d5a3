"""TokenTree: all token sequences of a language after a prompt, with the model's probabilities and both kinds of masks.

A node is a prefix of a token sequence. Its masks and logits are computed at its first visit. A depth-first walk costs
the model one token a node.
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

__all__ = ["Node", "TokenTree", "log_sum"]

_MOST_STORED = 4_000_000
"""Allowed ids of all stored nodes together, 13 bytes each; further nodes are computed again at each visit."""


class Node(NamedTuple):
    """A prefix of a token sequence.

    `ids` are the tokens that plain masks allow and `logs` the logarithms of the model's probabilities of them; the last
    entry of both is the end of the text, with the id -1. `canonical` marks the ids that canonical masks allow.
    """

    ids: NDArray[np.int32]
    logs: NDArray[np.float64]
    canonical: NDArray[np.bool_]
    log_mass: float
    log_canonical_mass: float


class TokenTree:
    """The token sequences of a language.

    Parameters
    ----------
    model : Model
        The model.
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
        self._canonical = compile(language, self.vocabulary, canonical=True).matcher()
        self._temperature = temperature
        self._position: tuple[int, ...] = ()
        self._last_ids: tuple[int, ...] = ()
        self._nodes: dict[tuple[int, ...], Node] = {}
        self._stored = 0

    @property
    def model_calls(self) -> int:
        """Passes of the model so far."""
        return self._logits_cache.calls

    def visit(self, ids: tuple[int, ...]) -> Node:
        """Return the node of a prefix."""
        stored = self._nodes.get(ids)
        if stored is not None:
            return stored
        self._move_to(ids)
        node = self._compute(ids)
        if self._stored < _MOST_STORED:
            self._stored += node.ids.size
            self._nodes[ids] = node
        return node

    def _move_to(self, ids: tuple[int, ...]) -> None:
        common = _common(self._position, ids)
        self._plain.rollback(len(self._plain) - common)
        self._canonical.rollback(max(0, len(self._canonical) - common))
        for position, token_id in enumerate(ids[common:], common):
            self._plain.advance(token_id)
            if len(self._canonical) == position:
                try:
                    self._canonical.advance(token_id)
                except StateError:  # the sequence is not canonical
                    continue
        self._position = ids

    def _compute(self, ids: tuple[int, ...]) -> Node:
        eos = sorted(self.vocabulary.eos_token_ids)
        allowed = self._plain.allowed()
        is_eos = np.isin(allowed, eos)
        texts = allowed[~is_eos]
        self._logits_cache.crop(_common(self._last_ids, ids))
        logits = self._logits_cache.logits(ids, keep=False).astype(np.float64)
        self._last_ids = ids
        top = float(logits.max())
        if not np.isfinite(top):  # NaN is the maximum where it is
            raise ModelError(
                f"The model gives token {int(logits.argmax())} the logit {top}; logits must be finite or -inf"
            )
        with np.errstate(over="ignore"):
            logs = (logits - top) / self._temperature
        logs -= log_sum(logs)
        if eos:
            eos_log = log_sum(logs[allowed[is_eos]]) if is_eos.any() else -np.inf
        elif texts.size and self._plain.is_accepting:
            raise ArgumentError(
                "a text of the language is a prefix of another, and without an end-of-text id the model cannot "
                "say where it ends; pass eos_token_ids to the Vocabulary"
            )
        else:
            eos_log = -np.inf if texts.size else 0.0
        found, logs = np.append(texts, -1).astype(np.int32), np.append(logs[texts], eos_log)
        canonical = np.zeros(found.size, dtype=np.bool_)
        if len(self._canonical) == len(ids):
            canonical_ids = self._canonical.allowed()
            canonical[:-1] = np.isin(texts, canonical_ids)
            canonical[-1] = np.isin(eos, canonical_ids).any() if eos else self._canonical.is_accepting
        node = Node(found, logs, canonical, log_sum(logs), log_sum(logs[canonical]))
        if node.log_mass == -np.inf or (canonical.any() and node.log_canonical_mass == -np.inf):
            raise ModelError(
                "The model gives every allowed token a logit of -inf, so none can be chosen; "
                "check the model's output, or allow more with the language"
            )
        return node


def log_sum(logs: NDArray[np.float64]) -> float:
    """Return the logarithm of the sum of the exponentials."""
    top = float(logs.max(initial=-np.inf))
    return top + float(np.log(np.exp(logs - top).sum())) if np.isfinite(top) else -np.inf


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    return next(
        (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
