"""Comparison: how far masks carry a model away from what it would have written, given that it keeps to the language.

The measure is the model itself, conditioned on the language: a text has the probability of all rows of tokens that
spell it, each with the end of the text, divided by that of all texts of the language. `sample_conditioned`
draws from it.
Masks renormalise at each token instead. Plain masks also let a token begin a text that the model never begins so:
" The" for " Theodore". Canonical ones leave that to the tokenizer's own rows.

A small language is a tree of rows, walked whole. Otherwise rows are drawn under each kind of masks, and a row's product
of allowed masses, Z1 Z2 ..., is its weight towards the model: the mean of the weights is the model's probability of the
language, and distances are means of functions of them (importance sampling; errors by the delta method).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from detent.analysis.token_tree import TokenTree, log_sum
from detent.errors import ArgumentError, LimitError
from detent.generation.request import check_model, token_ids_of
from detent.generation.sampler import Sampler, whole_number
from detent.language import Language
from detent.models.base import Model

__all__ = ["Distance", "Fidelity", "TextProbability", "fidelity"]

_MOST_SHOWN = 20
Logs = NDArray[np.float64]


class Distance(NamedTuple):
    """How far the texts under masks are from those of the model.

    Attributes
    ----------
    total_variation : float
        From 0 to 1: the most by which the probability of any set of texts differs.
    kl : float
        Kullback-Leibler divergence of the texts under masks from the model's, in nats: how much less likely the model
        finds a text under masks, in the mean, than the masks do. Infinite where the model never writes one of them.
    total_variation_error, kl_error : float
        Standard errors; 0 where all texts were visited.
    effective_samples : float
        How many draws from the model itself those under masks are worth; NaN where all texts were visited. With few,
        the standard errors say little.
    """

    total_variation: float
    kl: float
    total_variation_error: float = 0.0
    kl_error: float = 0.0
    effective_samples: float = math.nan


class TextProbability(NamedTuple):
    """A text and its probabilities among all texts of the language.

    Attributes
    ----------
    text : bytes
        The text.
    model : float
        The model's own, over all rows of tokens that spell the text.
    canonical_share : float
        The share of it that the tokenizer's own row has.
    plain, canonical : float
        Under masks that allow every row of tokens, and under those that allow the tokenizer's own.
    """

    text: bytes
    model: float
    canonical_share: float
    plain: float
    canonical: float


@dataclass(frozen=True, repr=False)
class Fidelity:
    """What masks do to a model's choice among the texts of a language; `str` makes a table of it.

    Attributes
    ----------
    plain, canonical : Distance
        Between the texts under each kind of masks and those of the model. Where it was estimated, between the rows of
        tokens, which is at least as far.
    log_mass : float
        Natural logarithm of the probability that the model writes a text of the language and ends.
    canonical_share : float
        The share of that on the tokenizer's own rows.
    texts : tuple of TextProbability
        The likeliest first; texts of probability 0 are left out. Empty where it was estimated.
    samples : int or None
        How many rows were drawn under each kind of masks; None where all were visited.
    model_calls : int
        Passes of the model.
    log_mass_error, canonical_share_error : float
        Standard errors; 0 where all rows were visited.
    """

    plain: Distance
    canonical: Distance
    log_mass: float
    canonical_share: float
    texts: tuple[TextProbability, ...]
    samples: int | None
    model_calls: int
    log_mass_error: float = 0.0
    canonical_share_error: float = 0.0

    def __repr__(self) -> str:
        how = f"{len(self.texts)} texts" if self.samples is None else f"{self.samples} samples"
        far = [f"{each.total_variation:.3g}" for each in (self.plain, self.canonical)]
        return f"Fidelity({how}, total variation {far[0]} under plain masks, {far[1]} under canonical ones)"

    def __str__(self) -> str:
        """Return the table for people."""
        kinds = (self.plain, self.canonical)
        if self.samples is None:
            names = [_shown(each.text) for each in self.texts[:_MOST_SHOWN]]
            width = max(15, *map(len, names))
            lines = [f"{'':{width}}  {'model':>9}  {'plain':>9}  {'canonical':>9}  {'own tokens':>10}"]
            for name, each in zip(names, self.texts, strict=False):
                row = f"{each.model:9.4f}  {each.plain:9.4f}  {each.canonical:9.4f}  {each.canonical_share:10.4f}"
                lines.append(f"{name:{width}}  {row}")
            if len(self.texts) > _MOST_SHOWN:
                lines.append(f"and {len(self.texts) - _MOST_SHOWN} more")
            for noun, at in (("total variation", 0), ("KL, nats", 1)):
                lines.append(f"{noun:{width}}  {'':9}  {self.plain[at]:9.4f}  {self.canonical[at]:9.4f}")
        else:
            lines = [f"{f'{self.samples} samples':15}  {'plain masks':>19}  {'canonical masks':>19}"]
            for noun, at in (("total variation", 0), ("KL, nats", 1)):
                cells = [f"{each[at]:9.4f} ± {each[at + 2]:7.4f}" for each in kinds]
                lines.append(f"{noun:15}  {cells[0]:>19}  {cells[1]:>19}")
            worth = [f"{each.effective_samples:.0f}" for each in kinds]
            lines.append(f"{'worth samples':15}  {worth[0]:>19}  {worth[1]:>19}")
        errors = [
            f" ± {error:.2g}" if self.samples else "" for error in (self.log_mass_error, self.canonical_share_error)
        ]
        lines.append(
            f"log of the language's probability {self.log_mass:.4f}{errors[0]}, "
            f"of it by the tokenizer's own tokens {self.canonical_share:.4f}{errors[1]}; {self.model_calls} model calls"
        )
        return "\n".join(lines)


def fidelity(
    model: Model,
    prompt: str | Sequence[int],
    language: Language,
    *,
    temperature: float = 1.0,
    max_model_calls: int = 5000,
    samples: int | None = None,
    max_tokens: int = 256,
    seed: int | None = None,
) -> Fidelity:
    """Measure how far masks carry a model away from its own choice among the texts of a language.

    >>> import detent
    >>> question = "Who was a member of the Sigma Alpha Epsilon fraternity: Theo or William?"
    >>> print(detent.analysis.fidelity(detent.load_model(), question, detent.choice("William", "Theodore")))
                         model      plain  canonical  own tokens
    'William'           0.9685     0.2720     0.9720      1.0000
    'Theodore'          0.0315     0.7280     0.0280      1.0000
    total variation                0.6965     0.0035
    KL, nats                       1.9414     0.0002
    log of the language's probability -1.4000, of it by the tokenizer's own tokens 1.0000; 105 model calls

    The model would rather say "Theo", in the tokens "The" and "o". A plain mask allows "The", and behind it nothing but
    "odore".

    Parameters
    ----------
    model, prompt
        As in `generate`.
    language : Language
        What may be written. It is compiled twice, without and with ``canonical=True``.
    temperature : float
        Above 0: the model is what it is at this temperature.
    max_model_calls : int
        Bound on the model's passes where all rows are visited: one for each beginning of a row. A text of n bytes has
        up to 2**(n-1) rows.
    samples : int, optional
        Draw so many rows of tokens under each kind of masks and estimate, instead of visiting all.
    max_tokens : int
        Rows that are not complete after so many tokens are given up: as texts that the model never
        writes. For samples.
    seed : int, optional
        Of the draws.

    Raises
    ------
    LimitError
        The language needs more than `max_model_calls`, or has no longest text.
    UnsupportedError, EmptyLanguageError
        What `compile` raises with ``canonical=True``.
    ArgumentError, ModelError
        As in `generate`.

    Notes
    -----
    Without an end-of-text id in the vocabulary, a text ends where nothing may follow it, so no text of the language may
    be the beginning of another.
    """
    heat = Sampler(temperature, seed=seed).temperature
    if heat == 0:
        raise ArgumentError("temperature must be above 0 where texts have probabilities, got 0")
    max_model_calls = whole_number("max_model_calls", max_model_calls, least=1)
    max_tokens = whole_number("max_tokens", max_tokens, least=1)
    if samples is not None:
        samples = whole_number("samples", samples, least=2)
    check_model(model)
    prompt_ids = token_ids_of(prompt, model)
    if not isinstance(language, Language):
        raise ArgumentError(
            f"language must be a Language, got {type(language).__name__}; it is compiled here, without and with "
            "canonical=True"
        )
    rows = TokenTree(model, prompt_ids, language, heat)
    if samples is not None:
        return _estimate(rows, samples, max_tokens, seed)
    if not _ends(language, model):
        raise LimitError(
            f"{language!r} has no longest text, or one that is too far to be found, so its rows cannot all be visited; "
            "pass samples=1000 for an estimate",
            subject="max_model_calls",
            limit=max_model_calls,
        )
    return _walk(rows, max_model_calls)


def _ends(language: Language, model: Model) -> bool:
    try:
        return language.max_tokens(model.vocabulary) is not None
    except LimitError:
        return False


def _walk(rows: TokenTree, max_model_calls: int) -> Fidelity:
    """Visit all rows."""
    # For each text the logarithms of: the model, the model by the tokenizer's own row, plain masks, canonical masks.
    found: dict[bytes, list[float]] = {}
    pending: list[tuple[tuple[int, ...], float, float, float]] = [((), 0.0, 0.0, 0.0)]
    count = 1
    while pending:
        ids, model, plain, canonical = pending.pop()
        place = rows.visit(ids)
        for token_id, log, own in zip(place.ids.tolist(), place.logs.tolist(), place.own.tolist(), strict=True):
            if log == -np.inf:
                continue
            masked = canonical + log - place.log_own_mass if own else -np.inf
            step = (model + log, plain + log - place.log_mass, masked)
            if token_id >= 0:
                pending.append(((*ids, token_id), *step))
                count += 1
                continue
            sums = found.setdefault(rows.vocabulary.decode(ids), [-np.inf] * 4)
            for column, value in enumerate((step[0], step[0] if own else -np.inf, step[1], step[2])):
                sums[column] = float(np.logaddexp(sums[column], value))
        if count > max_model_calls:
            raise LimitError(
                f"the language's rows of tokens have over {max_model_calls} beginnings, each a call of the model; "
                "raise max_model_calls, or pass samples=1000 for an estimate",
                subject="max_model_calls",
                limit=max_model_calls,
            )
    logs = np.array(list(found.values()))
    log_mass = log_sum(logs[:, 0])
    model_logs = logs[:, 0] - log_mass
    table = np.exp([model_logs, logs[:, 1] - logs[:, 0], logs[:, 2], logs[:, 3]]).T.tolist()
    texts = [TextProbability(text, *row) for text, row in zip(found, table, strict=True)]
    return Fidelity(
        plain=_distance(model_logs, logs[:, 2]),
        canonical=_distance(model_logs, logs[:, 3]),
        log_mass=log_mass,
        canonical_share=float(np.exp(log_sum(logs[:, 1]) - log_mass)),
        texts=tuple(sorted(texts, key=lambda each: (-each.model, each.text))),
        samples=None,
        model_calls=rows.model_calls,
    )


def _distance(model: Logs, masked: Logs) -> Distance:
    under = np.exp(masked)
    written = under > 0  # the model writes these too
    kl = float(under[written] @ (masked[written] - model[written]))
    return Distance(min(1.0, float(abs(under - np.exp(model)).sum()) / 2), max(0.0, kl))


def _estimate(rows: TokenTree, samples: int, max_tokens: int, seed: int | None) -> Fidelity:
    """Draw rows under both kinds of masks.

    The model's probability of the language is that of the tokenizer's own rows, from the draws under canonical masks,
    and that of all others, from those under plain ones, which seldom find the former where texts are long.
    """
    random = np.random.default_rng(seed)
    plain = np.array([_draw(rows, random, max_tokens, own=False) for _ in range(samples)])
    canonical = np.array([_draw(rows, random, max_tokens, own=True) for _ in range(samples)])
    others = np.where(plain[:, 1] == 1, -np.inf, plain[:, 0])
    log_mass = log_sum(np.append(others, canonical[:, 0])) - math.log(samples)
    if log_mass == -np.inf:
        raise LimitError(
            f"none of {samples} rows was complete after {max_tokens} tokens; raise max_tokens, or bound the language",
            subject="max_tokens",
            limit=max_tokens,
        )
    # How far each draw moves the estimate of the mass, in parts of it.
    pulls = np.exp(others - log_mass), np.exp(canonical[:, 0] - log_mass)
    share = float(pulls[1].mean())
    return Fidelity(
        plain=_estimated(plain[:, 0], log_mass, *pulls),
        canonical=_estimated(canonical[:, 0], log_mass, *pulls[::-1]),
        log_mass=log_mass,
        canonical_share=share,
        texts=(),
        samples=samples,
        model_calls=rows.model_calls,
        log_mass_error=_error(*pulls),
        canonical_share_error=_error(share * pulls[0], (1 - share) * pulls[1]),
    )


def _draw(rows: TokenTree, random: np.random.Generator, max_tokens: int, *, own: bool) -> tuple[float, bool]:
    """Draw a row; return the logarithm of its weight, -inf if it is not complete, and whether it is the tokenizer's."""
    ids: tuple[int, ...] = ()
    log = 0.0
    while len(ids) <= max_tokens:
        place = rows.visit(ids)
        mass = place.log_own_mass if own else place.log_mass
        log += mass
        weights = np.exp(np.where(place.own, place.logs, -np.inf) - mass if own else place.logs - mass)
        reached = np.cumsum(weights)
        index = int(np.searchsorted(reached, random.random() * reached[-1], side="right"))
        token_id = int(place.ids[min(index, int(np.flatnonzero(weights)[-1]))])
        if token_id < 0:
            return log, bool(place.own[-1])
        ids = (*ids, token_id)
    return -np.inf, False


def _estimated(logs: Logs, log_mass: float, pull: Logs, other_pull: Logs) -> Distance:
    """Return the distance of the rows drawn from those of the model."""
    ratios = np.exp(logs - log_mass)  # the model's probability of a row over that under masks
    # Half of all differences are where the model has less. In that half ratios are bounded, and rows that masks never
    # allow have no part in it.
    less = np.maximum(1 - ratios, 0)
    slope = float(np.mean(np.where(ratios < 1, ratios, 0)))
    kl, kl_error = math.inf, math.nan
    if np.isfinite(logs).all():
        kl, kl_error = max(log_mass - float(logs.mean()), 0.0), _error(pull - logs, other_pull)
    worth = float(ratios.sum() ** 2 / (ratios @ ratios)) if ratios.any() else 0.0
    return Distance(float(less.mean()), kl, _error(less + slope * pull, slope * other_pull), kl_error, worth)


def _error(*terms: Logs) -> float:
    """Return the standard error of a sum of independent means."""
    return math.sqrt(sum(float(term.var(ddof=1)) / term.size for term in terms))


def _shown(text: bytes) -> str:
    try:
        shown = repr(text.decode())
    except UnicodeDecodeError:
        shown = repr(text)
    return shown if len(shown) <= 40 else shown[:39] + "…"
