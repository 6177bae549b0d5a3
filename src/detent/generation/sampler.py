"""Sampler: from one row of masked logits to one token id.

The row arrives with banned ids at minus infinity. What is left is softmaxed in float64 (float32 loses the tail of a
128k vocabulary), so a banned id has probability zero exactly, not nearly. The order is that of transformers:
temperature, then top-k, then top-p, then min-p; ties are broken by the lower id, so that equal logits give equal
choices on every machine.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, ModelError

__all__ = ["Sampler"]


class Sampler:
    """Picks token ids from logits, reproducibly for a seed.

    >>> sampler = Sampler(temperature=0)
    >>> sampler.pick(np.array([0.5, -np.inf, 2.0], dtype=np.float32))
    2

    `pick` takes float[V] and costs O(V), or O(V log V) with `top_p`; it holds no reference to the row.

    Parameters
    ----------
    temperature : float
        Divides the logits; 0 picks the most likely id (greedy).
    top_k : int or None
        Keep only the k most likely ids.
    top_p : float or None
        Keep the smallest set of most likely ids whose probability reaches p (nucleus sampling).
    min_p : float or None
        Keep the ids that are at least p times as likely as the likeliest.
    seed : int or None
        Seed of the generator; None takes one from the operating system.

    Raises
    ------
    ArgumentError
        A parameter is not a number of the right kind or is out of range.

    Notes
    -----
    Top-p: Holtzman et al., "The Curious Case of Neural Text Degeneration", 2019. Min-p: Nguyen et al., "Turning Up the
    Heat: Min-p Sampling for Creative and Coherent LLM Outputs", 2024.
    """

    def __init__(
        self,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        min_p: float | None = None,
    ) -> None:
        self.temperature = _real("temperature", temperature)
        if self.temperature < 0:
            raise ArgumentError(f"temperature must be 0 (greedy) or above, got {temperature!r}")
        self.top_k = None if top_k is None else whole_number("top_k", top_k, least=1)
        self.top_p = None if top_p is None else _real("top_p", top_p)
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ArgumentError(f"top_p must be above 0 and at most 1, got {top_p!r}")
        self.min_p = None if min_p is None else _real("min_p", min_p)
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise ArgumentError(f"min_p must be from 0 to 1, got {min_p!r}")
        self._random = np.random.default_rng(None if seed is None else whole_number("seed", seed, least=0))

    def pick(self, logits: NDArray[np.floating[Any]]) -> int:
        """Return one id of `logits` (float[V], banned ids at minus infinity).

        Raises
        ------
        ModelError
            Every id is at minus infinity, or one that is not banned is NaN or plus infinity.
        """
        ids = np.flatnonzero(logits != -np.inf)
        if ids.size == 0:
            raise ModelError(
                "The model gives every allowed token a logit of -inf, so none can be chosen; "
                "check the model's output, or allow more with the language"
            )
        values = logits[ids].astype(np.float64)
        if not np.isfinite(values).all():
            worst = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ModelError(
                f"The model gives token {ids[worst]} the logit {values[worst]}; logits must be finite or -inf"
            )
        if self.temperature == 0:
            return int(ids[np.argmax(values)])
        with np.errstate(over="ignore"):  # a tiny temperature sends all but the best to -inf, as it should
            values = (values - values.max()) / self.temperature
        if self.top_k is not None and self.top_k < ids.size:
            ids, values = _keep(_highest(values, self.top_k), ids, values)
        weights = np.exp(values)
        if self.top_p is not None and self.top_p < 1:
            ids, weights = _keep(_nucleus(weights, self.top_p), ids, weights)
        if self.min_p:
            ids, weights = _keep(np.flatnonzero(weights >= self.min_p * weights.max()), ids, weights)
        return int(ids[self._draw(weights)])

    def _draw(self, weights: NDArray[np.float64]) -> int:
        # side="right" never lands on a weight of zero; rounding could only carry the point past the end.
        reached = np.cumsum(weights)
        index = int(np.searchsorted(reached, self._random.random() * reached[-1], side="right"))
        return min(index, int(np.flatnonzero(weights)[-1]))


def whole_number(name: str, value: object, *, least: int) -> int:
    """Return `value` as an int of at least `least`, or raise `ArgumentError` naming the argument."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ArgumentError(f"{name} must be an integer of at least {least}, got {value!r}")


def _real(name: str, value: object) -> float:
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # an integer beyond float64
            number = float(value)
            if math.isfinite(number):
                return number
    raise ArgumentError(f"{name} must be a finite number, got {value!r}")


def _keep(
    chosen: NDArray[np.intp], ids: NDArray[np.intp], values: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    return ids[chosen], values[chosen]


def _highest(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` highest values in ascending order; of equal ones, the first."""
    threshold = np.partition(values, values.size - count)[values.size - count]
    above = np.flatnonzero(values > threshold)
    level = np.flatnonzero(values == threshold)[: count - above.size]
    return np.sort(np.concatenate([above, level]))


def _nucleus(weights: NDArray[np.float64], mass: float) -> NDArray[np.intp]:
    """Return the positions, in ascending order, of the fewest weights that reach `mass` of the total."""
    order = np.argsort(-weights, kind="stable")
    reached = np.cumsum(weights[order])
    count = int(np.searchsorted(reached, mass * reached[-1], side="left")) + 1
    return np.sort(order[:count])
