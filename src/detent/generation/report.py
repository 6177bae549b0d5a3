"""Report: what the constraint cost, in probability and in time.

A mask takes from the model what it gave to tokens that are not allowed. What is left, the allowed mass, is the measure:
near 1, the model would have written this anyway; near 0, it was made to. Its logarithms add up to that of the
probability that the model, left alone, keeps to the language as long as the text does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detent import _core
from detent.vocabulary import Vocabulary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Report", "Rewind", "Step", "measure", "token_texts"]


class Step(NamedTuple):
    """One choice of a token.

    Attributes
    ----------
    token_id : int
        What was chosen; an end-of-text id for the end of the text.
    top_token_id : int or None
        What the model itself liked best of all tokens; None where it was not asked.
    log_mass : float or None
        Natural logarithm of the model's probability of all allowed tokens together, at temperature 1. NaN where the
        model's logits have NaN or infinity; None where it was not asked.
    log_probability : float or None
        The same of the chosen token, before masking.
    """

    token_id: int
    top_token_id: int | None = None
    log_mass: float | None = None
    log_probability: float | None = None

    @property
    def is_forced(self) -> bool:
        """Whether the token was the only one allowed, so that the model was not asked."""
        return self.top_token_id is None


class Rewind(NamedTuple):
    """One return to an earlier token.

    Attributes
    ----------
    position : int
        How many tokens stayed.
    dropped : tuple of int
        The ids that were taken back; the first of them was then banned at this position.
    word : bytes or None
        The banned word that was found, as the text spelled it; None where no text without one was left.
    """

    position: int
    dropped: tuple[int, ...]
    word: bytes | None


@dataclass(frozen=True)
class Report:
    """What it took to write a text.

    Attributes
    ----------
    steps : tuple of Step
        One for each token of the text, and one for an end of text that was chosen.
    rewinds : tuple of Rewind
        Each return to an earlier token, in order.
    masked_from : int or None
        How many tokens stood when banned words were left to the mask, for want of retries; 0 with ``ban_mode="mask"``.
    retries : int
        Texts that `sample_conditioned` rejected before this one.
    budget_bound_at : int or None
        As `Output.budget_bound_at`.
    model_calls : int
        Passes of the model, that of the prompt among them.
    seconds, model_seconds, mask_seconds : float
        Wall time in all, in the model, and in computing masks and following the text.
    tokens : mapping of int to bytes
        The bytes of the ids that steps name, as far as they are text.
    """

    steps: tuple[Step, ...] = ()
    rewinds: tuple[Rewind, ...] = ()
    masked_from: int | None = None
    retries: int = 0
    budget_bound_at: int | None = None
    model_calls: int = 0
    seconds: float = 0.0
    model_seconds: float = 0.0
    mask_seconds: float = 0.0
    tokens: Mapping[int, bytes] = field(default_factory=dict, repr=False, compare=False)

    @property
    def log_mass(self) -> float:
        """The steps' `log_mass` added up: 0 if the model was asked for nothing."""
        return float(sum(step.log_mass for step in self.steps if step.log_mass is not None))

    @property
    def log_probability(self) -> float:
        """The steps' `log_probability` added up: how likely the model, left alone, finds the tokens that it chose."""
        return float(sum(step.log_probability for step in self.steps if step.log_probability is not None))

    @property
    def forced_share(self) -> float:
        """The share of steps at which the model was not asked."""
        return sum(step.is_forced for step in self.steps) / len(self.steps) if self.steps else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Steps a second of wall time; dropped tokens do not count."""
        return len(self.steps) / self.seconds if self.seconds else 0.0

    @property
    def mask_share(self) -> float:
        """The share of the wall time that masks took."""
        return self.mask_seconds / self.seconds if self.seconds else 0.0

    def worst(self, count: int = 5) -> tuple[Step, ...]:
        """Return the steps of least allowed mass, the least first: where the model wanted something else."""
        asked = [step for step in self.steps if step.log_mass is not None and step.log_mass == step.log_mass]
        return tuple(sorted(asked, key=lambda step: step.log_mass or 0.0)[:count])

    def plot(self) -> Figure:
        """Draw the allowed mass of each step, and the model's own choice beside the token that was written.

        Returns
        -------
        matplotlib.figure.Figure
            Show it in a notebook, or save it: ``report.plot().savefig("report.png")``. Needs matplotlib: the extra
            ``plot``.
        """
        from detent.generation.report_plot import draw

        return draw(self)

    def __str__(self) -> str:
        """Return a few lines for people."""
        lines = [
            f"{len(self.steps)} steps, {100 * self.forced_share:.0f} % forced, {self.model_calls} model calls",
            f"{self.tokens_per_second:.1f} tokens a second, {100 * self.mask_share:.1f} % of the time in masks",
            f"log of the allowed mass {self.log_mass:.3f}",
        ]
        if self.rewinds:
            lines.append(f"{len(self.rewinds)} rewinds, {sum(len(rewind.dropped) for rewind in self.rewinds)} tokens")
        if self.masked_from is not None:
            lines.append(f"banned words left to the mask after {self.masked_from} tokens")
        if self.retries:
            lines.append(f"{self.retries} texts rejected")
        if self.budget_bound_at is not None:
            lines.append(f"squeezed by max_tokens after {self.budget_bound_at} tokens")
        return "\n".join(lines)


def token_texts(steps: Sequence[Step], vocabulary: Vocabulary) -> dict[int, bytes]:
    """Return the bytes of the ids that steps name, end-of-text ids left out."""
    ids = {step.token_id for step in steps} | {step.top_token_id for step in steps if step.top_token_id is not None}
    return {token_id: vocabulary.token_bytes(token_id) for token_id in ids.difference(vocabulary.eos_token_ids)}


def measure(logits: NDArray[np.float32], mask: NDArray[np.int32]) -> tuple[float, float, int]:
    """Return the log of the mass that a mask row allows, the log of the sum of all exponentials, and the top id.

    A few passes over the logits in float32: 0.13 ms for 128,000.
    """
    top = int(logits.argmax())
    peak = float(logits[top])
    if not math.isfinite(peak):  # NaN comes first in argmax
        return math.nan, math.nan, top
    with np.errstate(over="ignore"):  # far below the peak is -inf, as it should be
        weights = logits - logits[top]
    np.exp(weights, out=weights)
    inside, outside = _core.allowed_sums(weights, mask)
    total = inside + outside
    log_total = peak + math.log(total)
    if inside > 0.5 * total:  # near 1, what is left out says more
        return math.log1p(-outside / total), log_total, top
    if inside > 1e-30 * total:
        return math.log(inside / total), log_total, top
    allowed = np.unpackbits(mask.view(np.uint8), count=weights.size, bitorder="little")
    values = logits[allowed.view(np.bool_)].astype(np.float64)  # float32 has no exponentials this small
    best = float(values.max(initial=-np.inf))
    if not math.isfinite(best):
        return best, log_total, top
    return best + float(np.log(np.exp(values - best).sum())) - log_total, log_total, top
