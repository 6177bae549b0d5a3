"""Report: the cost of a constraint in probability and in time.

The allowed mass of a step is the model's probability of all tokens that the mask allows. Near 1, the model agrees with
the constraint; near 0, the constraint overrules it. The sum of its logarithms is the logarithm of the probability that
the unconstrained model stays in the language for as many tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detent import _core
from detent.vocabulary import Vocabulary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from detent.guide import Guide

__all__ = ["Alternative", "Measured", "Report", "Rewind", "Step", "alternatives", "measure", "token_texts"]

_NEGLIGIBLE = np.float32(-1000.0)
"""A difference of logits whose exponential is 0 in float32."""


class Alternative(NamedTuple):
    """One of the most likely tokens of a step.

    Attributes
    ----------
    token_id : int
        The token.
    log_probability : float
        Natural logarithm of the model's probability of the token, before masking, at temperature 1.
    is_allowed : bool
        Whether the mask allows it.
    """

    token_id: int
    log_probability: float
    is_allowed: bool


class Step(NamedTuple):
    """One choice of a token.

    Attributes
    ----------
    token_id : int
        The token; an end-of-text id for the end of the text.
    top_token_id : int or None
        The most likely of all tokens, allowed or not; None if the model was not asked.
    log_mass : float or None
        Natural logarithm of the model's probability of all allowed tokens together, at temperature 1. NaN if the
        logits have NaN or infinity; None if the model was not asked.
    log_probability : float or None
        Natural logarithm of the model's probability of the token, before masking, at temperature 1.
    alternatives : tuple of Alternative
        The most likely tokens, allowed or not, the most likely first, as many as the option `alternatives` says.
    entropy : float or None
        The entropy of the model's distribution before masking, at temperature 1, in nats: near 0 if one token
        has nearly all of it. None if the model was not asked, and in `detent.analysis`; NaN as `log_mass`.
    """

    token_id: int
    top_token_id: int | None = None
    log_mass: float | None = None
    log_probability: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    entropy: float | None = None

    @property
    def is_forced(self) -> bool:
        """Whether the token was the only one allowed, so that the model was not asked."""
        return self.top_token_id is None


class Rewind(NamedTuple):
    """A return to an earlier token.

    Attributes
    ----------
    position : int
        How many tokens were kept.
    dropped : tuple of int
        The ids that were taken back; the first of them is banned at this position from then on.
    word : bytes or None
        The banned word as it stood in the text; None if no text without a banned word could follow.
    """

    position: int
    dropped: tuple[int, ...]
    word: bytes | None


@dataclass(frozen=True)
class Report:
    """Probabilities, model calls and times of one text.

    Attributes
    ----------
    steps : tuple of Step
        One for each token of the text, and one for an end-of-text token that was chosen.
    rewinds : tuple of Rewind
        Each return to an earlier token, in order.
    masked_from : int or None
        How many tokens were written when banned words were masked from then on; 0 with ``ban_mode="mask"``.
    retries : int
        Texts that `detent.analysis.sample_conditioned` rejected before this one.
    budget_bound_at : int or None
        As `Output.budget_bound_at`.
    budget : int or None
        The most tokens of the text: the smaller of `max_tokens` and the context of the model without the prompt.
    budget_from : "max_tokens" or "context"
        The smaller of the two.
    canonical : bool or "approximate"
        Whether only canonical tokens were allowed.
    model_calls : int
        Passes of the model, that of the prompt among them.
    seconds, model_seconds, mask_seconds : float
        Wall time: total, in the model, and in masks and matchers.
    tokens : mapping of int to bytes
        The bytes of the ids in `steps` and `rewinds`, except end-of-text.
    """

    steps: tuple[Step, ...] = ()
    rewinds: tuple[Rewind, ...] = ()
    masked_from: int | None = None
    retries: int = 0
    budget_bound_at: int | None = None
    budget: int | None = None
    budget_from: Literal["max_tokens", "context"] = "max_tokens"
    canonical: bool | Literal["approximate"] = False
    model_calls: int = 0
    seconds: float = 0.0
    model_seconds: float = 0.0
    mask_seconds: float = 0.0
    tokens: Mapping[int, bytes] = field(default_factory=dict, repr=False, compare=False)

    @property
    def log_mass(self) -> float:
        """The sum of the steps' `log_mass`; 0 if the model was never asked."""
        return float(sum(step.log_mass for step in self.steps if step.log_mass is not None))

    @property
    def log_probability(self) -> float:
        """The sum of the steps' `log_probability`: the unconstrained model's probability of the chosen tokens."""
        return float(sum(step.log_probability for step in self.steps if step.log_probability is not None))

    @property
    def entropy(self) -> float:
        """The mean of the steps' `entropy`, of those that asked the model; 0 if none did.

        A rule that costs much where the entropy is low overrules a model that had decided.
        """
        known = [step.entropy for step in self.steps if step.entropy is not None]
        return float(sum(known)) / len(known) if known else 0.0

    @property
    def forced_share(self) -> float:
        """The share of steps at which the model was not asked."""
        return sum(step.is_forced for step in self.steps) / len(self.steps) if self.steps else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Steps per second of wall time; tokens that were taken back do not count."""
        return len(self.steps) / self.seconds if self.seconds else 0.0

    @property
    def mask_share(self) -> float:
        """The share of masks and matchers in the wall time."""
        return self.mask_seconds / self.seconds if self.seconds else 0.0

    def worst(self, count: int = 5) -> tuple[Step, ...]:
        """Return the steps of least allowed mass, the least first: where the constraint overrules the model most."""
        asked = [step for step in self.steps if step.log_mass is not None and step.log_mass == step.log_mass]
        return tuple(sorted(asked, key=lambda step: step.log_mass or 0.0)[:count])

    def plot(self) -> Figure:
        """Draw the allowed mass of each step, the token, and the model's most likely token where that is another.

        Returns
        -------
        matplotlib.figure.Figure
            Show it in a notebook, or save it: ``report.plot().savefig("report.png")``. Needs matplotlib: the extra
            ``plot``.
        """
        from detent.generation.report_plot import draw

        return draw(self)

    def to_html(self, guide: Guide | None = None, *, title: str = "Report", unconstrained: Report | None = None) -> str:
        """Return a page that shows the tokens, what the rule took from the model at each, and what it costs in all.

        >>> import detent
        >>> out = detent.generate(detent.load_model(), "Pick a number.", detent.regex("[1-9]"), seed=0, alternatives=4)
        >>> page = out.report.to_html()
        >>> "The rule costs" in page, "<script" in page
        (True, False)

        Parameters
        ----------
        guide : Guide, optional
            The rule, compiled for the model's vocabulary: the page then says why candidates were refused, and for JSON
            where in the value each token stands.
        title : str
            The heading.
        unconstrained : Report, optional
            That of the same prompt without the rule, shown beside it.

        Returns
        -------
        str
            An HTML document that needs no other file and no script. The candidates of each step are those that
            `generate` was asked for with `alternatives`. In notebooks a report shows itself so.

        Raises
        ------
        ArgumentError
            The guide does not have the text: it is that of another rule.
        """
        from detent.generation.reasons_of_steps import read_report
        from detent.pictures import page, report_body

        why, notes = read_report(self, guide) if guide is not None else (None, ())
        return page(title, report_body(self, title, why=why, notes=notes, unconstrained=unconstrained))

    def _repr_html_(self) -> str:
        from detent.pictures import framed, report_body

        return framed(report_body(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from detent.pictures import mime_bundle

        return mime_bundle(self, include, exclude)

    def __str__(self) -> str:
        """Return a summary of a few lines."""
        lines = [
            f"{len(self.steps)} steps, {100 * self.forced_share:.0f} % forced, {self.model_calls} model calls",
            f"{self.tokens_per_second:.1f} tokens a second, {100 * self.mask_share:.1f} % of the time in masks",
            f"log of the allowed mass {self.log_mass:.3f}, mean entropy of the model {self.entropy:.2f} nats",
        ]
        if self.rewinds:
            lines.append(f"{len(self.rewinds)} rewinds, {sum(len(rewind.dropped) for rewind in self.rewinds)} tokens")
        if self.masked_from is not None:
            lines.append(f"banned words masked after {self.masked_from} tokens")
        if self.retries:
            lines.append(f"{self.retries} texts rejected")
        if self.budget_bound_at is not None or self.budget_from == "context":
            bound = "" if self.budget_bound_at is None else f" bound after {self.budget_bound_at} tokens"
            lines.append(f"budget of {self.budget} tokens ({self.budget_from}){bound}")
        return "\n".join(lines)


def token_texts(steps: Sequence[Step], vocabulary: Vocabulary, rewinds: Sequence[Rewind] = ()) -> dict[int, bytes]:
    """Return the bytes of the ids in steps, their alternatives and rewinds, without end-of-text ids."""
    ids = {step.token_id for step in steps} | {step.top_token_id for step in steps if step.top_token_id is not None}
    ids.update(each.token_id for step in steps for each in step.alternatives)
    ids.update(token_id for rewind in rewinds for token_id in rewind.dropped)
    return {token_id: vocabulary.token_bytes(token_id) for token_id in ids.difference(vocabulary.eos_token_ids)}


class Measured(NamedTuple):
    """Measures of the logits of one step and its mask. All logarithms are natural."""

    log_mass: float
    """The logarithm of the probability, before the mask, of all allowed tokens together."""
    log_total: float
    """The logarithm of the sum of the exponentials of all logits."""
    top: int
    """The most likely id."""
    entropy: float


def measure(logits: NDArray[np.float32], mask: NDArray[np.int32]) -> Measured:
    """Measure the logits of a step and its mask. Cost: a few passes over the logits in float32."""
    top = int(logits.argmax())
    peak = float(logits[top])
    if not math.isfinite(peak):  # NaN comes first in argmax
        return Measured(math.nan, math.nan, top, math.nan)
    with np.errstate(over="ignore"):  # far below the peak is -inf, the correct limit
        below = logits - logits[top]
    np.maximum(below, _NEGLIGIBLE, out=below)
    weights = np.exp(below)
    allowed_sum, masked_sum = _core.allowed_sums(weights, mask)
    total = allowed_sum + masked_sum
    log_total = peak + math.log(total)
    entropy = max(math.log(total) - float(np.dot(weights, below)) / total, 0.0)
    if allowed_sum > 0.5 * total:  # near 1, the masked sum is more precise
        return Measured(math.log1p(-masked_sum / total), log_total, top, entropy)
    if allowed_sum > 1e-30 * total:
        return Measured(math.log(allowed_sum / total), log_total, top, entropy)
    bits = np.unpackbits(mask.view(np.uint8), count=weights.size, bitorder="little")
    values = logits[bits.view(np.bool_)].astype(np.float64)  # float32 has no exponentials this small
    best = float(values.max(initial=-np.inf))
    if not math.isfinite(best):
        return Measured(best, log_total, top, entropy)
    return Measured(best + float(np.log(np.exp(values - best).sum())) - log_total, log_total, top, entropy)


def alternatives(
    logits: NDArray[np.float32], mask: NDArray[np.int32], log_total: float, count: int
) -> tuple[Alternative, ...]:
    """Return the `count` most likely tokens, the most likely first."""
    count = min(count, logits.size)
    if count == 0:
        return ()
    ids = np.argpartition(-logits, count - 1)[:count]
    ids = ids[np.lexsort((ids, -logits[ids]))]
    return tuple(
        Alternative(
            token_id, float(logits[token_id]) - log_total, bool(int(mask[token_id >> 5]) >> (token_id & 31) & 1)
        )
        for token_id in ids.tolist()
    )
