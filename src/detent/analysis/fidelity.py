"""Fidelity: the distance of masked decoding from the model, conditioned on the language.

The reference is the conditioned model: the probability of a text is that of all token sequences that decode to it, each
with end-of-text, divided by that of all texts of the language; `sample_conditioned` draws from it. Masks renormalise at
each token instead. Masks without `canonical` also allow a token that the model never uses as a prefix of a text: " The"
of " Theodore". Canonical masks allow the tokenizer's sequences only.

1. A small language is a tree of token sequences, visited whole (`_enumerate`).
2. Otherwise sequences are sampled under each kind of masks (`_estimate`). The product of the allowed masses Z1 Z2 ...
   of a sequence is its importance weight. The mean weight estimates the probability of the language; distances are
   means of functions of the weights, with errors by the delta method.
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
from detent.suggestions import as_language

__all__ = ["Distance", "Fidelity", "TextProbability", "fidelity"]

_MOST_SHOWN = 20
Logs = NDArray[np.float64]


class Distance(NamedTuple):
    """The distance of the texts under masks from those of the conditioned model.

    Attributes
    ----------
    total_variation : float
        From 0 to 1: the maximal difference of the probabilities of a set of texts.
    kl : float
        Kullback-Leibler divergence D(masks || model) in nats. Infinite if the model never writes one of the texts.
    total_variation_error, kl_error : float
        Standard errors; 0 if all texts were visited.
    effective_samples : float
        The effective sample size of the importance weights; NaN if all texts were visited. If it is small, the
        standard errors are unreliable.
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
        Under the model: the sum over all token sequences of the text.
    canonical_share : float
        The share of the canonical token sequence in it.
    plain, canonical : float
        Under masks that allow every token sequence of a text, and under canonical masks.
    """

    text: bytes
    model: float
    canonical_share: float
    plain: float
    canonical: float


@dataclass(frozen=True, repr=False)
class Fidelity:
    """The distances of both kinds of masks from the conditioned model; `str` formats a table.

    Attributes
    ----------
    plain, canonical : Distance
        Between the texts under each kind of masks and those of the conditioned model. An estimate is of the distance
        between token sequences, an upper bound.
    log_mass : float
        Natural logarithm of the model's probability of the language, end-of-text included.
    canonical_share : float
        The share of canonical token sequences in it.
    texts : tuple of TextProbability
        The most likely first, without texts of probability 0. Empty for an estimate.
    samples : int or None
        Token sequences that were drawn under each kind of masks; None if all were visited.
    model_calls : int
        Passes of the model.
    log_mass_error, canonical_share_error : float
        Standard errors; 0 if all token sequences were visited.
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
        kind = f"{len(self.texts)} texts" if self.samples is None else f"{self.samples} samples"
        distances = [f"{each.total_variation:.3g}" for each in (self.plain, self.canonical)]
        return f"Fidelity({kind}, total variation: {distances[0]} plain, {distances[1]} canonical)"

    def __str__(self) -> str:
        """Return a table."""
        kinds = (self.plain, self.canonical)
        if self.samples is None:
            names = [_shown(each.text) for each in self.texts[:_MOST_SHOWN]]
            width = max(15, *map(len, names))
            lines = [f"{'':{width}}  {'model':>9}  {'plain':>9}  {'canonical':>9}  {'own tokens':>10}"]
            for name, each in zip(names, self.texts, strict=False):
                columns = f"{each.model:9.4f}  {each.plain:9.4f}  {each.canonical:9.4f}  {each.canonical_share:10.4f}"
                lines.append(f"{name:{width}}  {columns}")
            if len(self.texts) > _MOST_SHOWN:
                lines.append(f"and {len(self.texts) - _MOST_SHOWN} more")
            for measure, index in (("total variation", 0), ("KL, nats", 1)):
                lines.append(f"{measure:{width}}  {'':9}  {self.plain[index]:9.4f}  {self.canonical[index]:9.4f}")
        else:
            lines = [f"{f'{self.samples} samples':15}  {'plain masks':>19}  {'canonical masks':>19}"]
            for measure, index in (("total variation", 0), ("KL, nats", 1)):
                cells = [f"{each[index]:9.4f} ± {each[index + 2]:7.4f}" for each in kinds]
                lines.append(f"{measure:15}  {cells[0]:>19}  {cells[1]:>19}")
            sizes = [f"{each.effective_samples:.0f}" for each in kinds]
            lines.append(f"{'effective size':15}  {sizes[0]:>19}  {sizes[1]:>19}")
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
    """Measure the distance of masked decoding from the model, conditioned on a language.

    >>> import detent
    >>> question = "Who was a member of the Sigma Alpha Epsilon fraternity: Theo or William?"
    >>> print(detent.analysis.fidelity(detent.load_model(), question, detent.choice("William", "Theodore")))
                         model      plain  canonical  own tokens
    'William'           0.9685     0.2720     0.9720      1.0000
    'Theodore'          0.0315     0.7280     0.0280      1.0000
    total variation                0.6965     0.0035
    KL, nats                       1.9414     0.0002
    log of the language's probability -1.4000, of it by the tokenizer's own tokens 1.0000; 105 model calls

    The model would rather say "Theo", in the tokens "The" and "o". A plain mask allows "The", and after it only
    "odore".

    Parameters
    ----------
    model, prompt
        As in `generate`.
    language : Language
        The texts. It is compiled twice, without and with ``canonical=True``.
    temperature : float
        Above 0: the temperature of the model's distribution.
    max_model_calls : int
        The limit of passes of the model, one for each prefix of a token sequence. A text of n bytes has up to
        2**(n-1) token sequences.
    samples : int, optional
        Estimate from this many token sequences under each kind of masks, instead of visiting all.
    max_tokens : int
        Sequences that are not complete after this many tokens count as texts that the model never writes. For samples.
    seed : int, optional
        Seed of the samples.

    Raises
    ------
    LimitError
        The language needs more passes than `max_model_calls`, or has no longest text.
    UnsupportedError, EmptyLanguageError
        The errors of `compile` with ``canonical=True``.
    ArgumentError, ModelError
        As in `generate`.

    Notes
    -----
    Without an end-of-text id in the vocabulary, a text ends where nothing may follow it, so no text of the language may
    be a prefix of another.
    """
    checked_temperature = Sampler(temperature, seed=seed).temperature
    if checked_temperature == 0:
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
            f"canonical=True; {as_language(language)}"
        )
    tree = TokenTree(model, prompt_ids, language, checked_temperature)
    if samples is not None:
        return _estimate(tree, samples, max_tokens, seed)
    if not _ends(language, model):
        raise LimitError(
            f"{language!r} has no longest text, or none that was found, so its token sequences cannot all be visited; "
            "pass samples=1000 for an estimate",
            subject="max_model_calls",
            limit=max_model_calls,
        )
    return _enumerate(tree, max_model_calls)


def _ends(language: Language, model: Model) -> bool:
    try:
        return language.max_tokens(model.vocabulary) is not None
    except LimitError:
        return False


def _enumerate(tree: TokenTree, max_model_calls: int) -> Fidelity:
    """Visit all token sequences."""
    # For each text the logarithms of: the model, the model by the canonical sequence, plain masks, canonical masks.
    found: dict[bytes, list[float]] = {}
    pending: list[tuple[tuple[int, ...], float, float, float]] = [((), 0.0, 0.0, 0.0)]
    count = 1
    while pending:
        ids, model, plain, canonical = pending.pop()
        node = tree.visit(ids)
        for token_id, log, is_canonical in zip(
            node.ids.tolist(), node.logs.tolist(), node.canonical.tolist(), strict=True
        ):
            if log == -np.inf:
                continue
            masked = canonical + log - node.log_canonical_mass if is_canonical else -np.inf
            step = (model + log, plain + log - node.log_mass, masked)
            if token_id >= 0:
                pending.append(((*ids, token_id), *step))
                count += 1
                continue
            sums = found.setdefault(tree.vocabulary.decode(ids), [-np.inf] * 4)
            for column, value in enumerate((step[0], step[0] if is_canonical else -np.inf, step[1], step[2])):
                sums[column] = float(np.logaddexp(sums[column], value))
        if count > max_model_calls:
            raise LimitError(
                f"the language's token sequences have over {max_model_calls} prefixes, each a call of the model; "
                "raise max_model_calls, or pass samples=1000 for an estimate",
                subject="max_model_calls",
                limit=max_model_calls,
            )
    logs = np.array(list(found.values()))
    log_mass = log_sum(logs[:, 0])
    model_logs = logs[:, 0] - log_mass
    table = np.exp([model_logs, logs[:, 1] - logs[:, 0], logs[:, 2], logs[:, 3]]).T.tolist()
    texts = [TextProbability(text, *probabilities) for text, probabilities in zip(found, table, strict=True)]
    return Fidelity(
        plain=_distance(model_logs, logs[:, 2]),
        canonical=_distance(model_logs, logs[:, 3]),
        log_mass=log_mass,
        canonical_share=float(np.exp(log_sum(logs[:, 1]) - log_mass)),
        texts=tuple(sorted(texts, key=lambda each: (-each.model, each.text))),
        samples=None,
        model_calls=tree.model_calls,
    )


def _distance(model: Logs, masked: Logs) -> Distance:
    under = np.exp(masked)
    written = under > 0  # the model's probability of these is positive too
    kl = float(under[written] @ (masked[written] - model[written]))
    return Distance(min(1.0, float(abs(under - np.exp(model)).sum()) / 2), max(0.0, kl))


def _estimate(tree: TokenTree, samples: int, max_tokens: int, seed: int | None) -> Fidelity:
    """Sample token sequences under both kinds of masks.

    The model's probability of the language is the sum of two estimates: of canonical sequences, from the samples under
    canonical masks, and of all others, from the samples under plain masks. Plain masks seldom draw a canonical sequence
    of a long text.
    """
    random = np.random.default_rng(seed)
    plain = np.array([_draw(tree, random, max_tokens, canonical=False) for _ in range(samples)])
    canonical = np.array([_draw(tree, random, max_tokens, canonical=True) for _ in range(samples)])
    others = np.where(plain[:, 1] == 1, -np.inf, plain[:, 0])
    log_mass = log_sum(np.append(others, canonical[:, 0])) - math.log(samples)
    if log_mass == -np.inf:
        raise LimitError(
            f"none of {samples} token sequences was complete after {max_tokens} tokens; raise max_tokens, or bound "
            "the language",
            subject="max_tokens",
            limit=max_tokens,
        )
    # The influence of each sample on the estimate of the mass, relative to the mass.
    influences = np.exp(others - log_mass), np.exp(canonical[:, 0] - log_mass)
    share = float(influences[1].mean())
    return Fidelity(
        plain=_estimated(plain[:, 0], log_mass, *influences),
        canonical=_estimated(canonical[:, 0], log_mass, *influences[::-1]),
        log_mass=log_mass,
        canonical_share=share,
        texts=(),
        samples=samples,
        model_calls=tree.model_calls,
        log_mass_error=_error(*influences),
        canonical_share_error=_error(share * influences[0], (1 - share) * influences[1]),
    )


def _draw(tree: TokenTree, random: np.random.Generator, max_tokens: int, *, canonical: bool) -> tuple[float, bool]:
    """Draw a token sequence.

    Returns
    -------
    float
        The logarithm of its weight; -inf if it is not complete after `max_tokens`.
    bool
        Whether it is canonical.
    """
    ids: tuple[int, ...] = ()
    log = 0.0
    while len(ids) <= max_tokens:
        node = tree.visit(ids)
        mass = node.log_canonical_mass if canonical else node.log_mass
        log += mass
        weights = np.exp((np.where(node.canonical, node.logs, -np.inf) if canonical else node.logs) - mass)
        reached = np.cumsum(weights)
        index = int(np.searchsorted(reached, random.random() * reached[-1], side="right"))
        token_id = int(node.ids[min(index, int(np.flatnonzero(weights)[-1]))])
        if token_id < 0:
            return log, bool(node.canonical[-1])
        ids = (*ids, token_id)
    return -np.inf, False


def _estimated(logs: Logs, log_mass: float, influence: Logs, other_influence: Logs) -> Distance:
    """Return the distance of the sampled sequences from the conditioned model."""
    ratios = np.exp(logs - log_mass)  # the model's probability of a sequence, divided by that under masks
    # The total variation is the sum of the differences where the model has less probability. There the ratios are
    # bounded, and sequences that masks never allow do not count.
    less = np.maximum(1 - ratios, 0)
    slope = float(np.mean(np.where(ratios < 1, ratios, 0)))
    kl, kl_error = math.inf, math.nan
    if np.isfinite(logs).all():
        kl, kl_error = max(log_mass - float(logs.mean()), 0.0), _error(influence - logs, other_influence)
    effective_samples = float(ratios.sum() ** 2 / (ratios @ ratios)) if ratios.any() else 0.0
    return Distance(
        float(less.mean()), kl, _error(less + slope * influence, slope * other_influence), kl_error, effective_samples
    )


def _error(*terms: Logs) -> float:
    """Return the standard error of a sum of independent means."""
    return math.sqrt(sum(float(term.var(ddof=1)) / term.size for term in terms))


def _shown(text: bytes) -> str:
    try:
        shown = repr(text.decode())
    except UnicodeDecodeError:
        shown = repr(text)
    return shown if len(shown) <= 40 else shown[:39] + "…"
