"""Exact samples of the model conditioned on a language, by adaptive rejection sampling.

1. Masks renormalise at each token. So masked decoding prefers prefixes that are easy to continue to prefixes that lead
   to likely texts.
2. The probability of a text under masks is its probability under the model, divided by the allowed masses Z1, Z2, ...
   of its steps. Accepting a masked text with probability Z1 Z2 ... gives the conditioned distribution.
3. A tree stores, for each visited prefix, an upper bound of the mass of its completions. Tokens are proposed by
   probability times bound. Then only new prefixes reduce the probability of acceptance.
4. After a proposal, the masses of its last nodes tighten the bounds of all nodes before (`_backup`). Each sample is
   exact whatever the bounds are, so samples are independent, and each rejection makes further rejections less likely.
5. The random number that decides on acceptance is drawn first. A proposal stops when the product falls below it.

Sources: OS* (Dymetman, Bouchard & Carter 2012), adaptive rejection sampling (Gilks & Wild 1992). Related: Park et al.
2024 (grammar-aligned decoding), Lipkin et al. 2025 (adaptive weighted rejection sampling).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, LimitError, ModelError
from detent.generation.bans import Ban, Words, banned_words
from detent.generation.logits_cache import LogitsCache
from detent.generation.output import FinishReason, Output, make_output
from detent.generation.report import Report, Step, token_texts
from detent.generation.request import (
    check_model,
    guide_without_bans,
    resolve_guide,
    start_matcher,
    text_after_special,
    token_ids_of,
)
from detent.generation.sampler import Sampler, whole_number
from detent.guide import Canonical
from detent.language import Language
from detent.mask import allocate_mask
from detent.matcher import Matcher
from detent.models.base import Model
from detent.rule import Rule
from detent.vocabulary import Vocabulary

__all__ = ["ConditionedSampler", "sample_conditioned"]

_MOST_STORED = 4_000_000
"""Allowed ids of all stored nodes together, 20 bytes each; further nodes are computed again at each visit."""


@dataclass
class _Node:
    """A prefix of a text.

    `weights` are the model's probabilities of the allowed `ids`, each times the bound of the mass of its completions,
    which is 1 where nothing is known; `logs` are the logarithms of the probabilities alone.
    """

    ids: NDArray[np.int32]
    weights: NDArray[np.float64]
    logs: NDArray[np.float64]
    log_mass: float
    top: int
    children: dict[int, _Node] = field(default_factory=dict)


class ConditionedSampler:
    """Draws texts of one language after one prompt; each draw tightens the bounds for the next ones.

    Parameters
    ----------
    vocabulary : Vocabulary
        The bytes of each id.
    matcher : Matcher
        At the start of the text.
    language : Language
        The language, for the values of the texts.
    logits_cache : LogitsCache
        The model after the prompt.
    max_tokens : int
        Longer texts do not belong to the language.
    prompt_token_count : int
        For the output.
    temperature : float
        Above 0: the temperature of the model's distribution.
    seed : int or None
        Seed of the generator.
    max_rejections : int
        The most texts that may be rejected for one that is accepted.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        matcher: Matcher,
        language: Language,
        logits_cache: LogitsCache,
        *,
        max_tokens: int,
        prompt_token_count: int,
        temperature: float,
        seed: int | None,
        max_rejections: int,
    ) -> None:
        self._vocabulary = vocabulary
        self._language = language
        self._matcher = matcher
        self._logits_cache = logits_cache
        self._max_tokens = max_tokens
        self._prompt_token_count = prompt_token_count
        self._temperature = temperature
        self._random = np.random.default_rng(seed)
        self._max_rejections = max_rejections
        self._mask = allocate_mask(1, len(self._vocabulary))[0]
        self._mask_seconds = 0.0
        self._stored = 0
        self._last_ids: list[int] = []
        self._root: _Node | None = None
        self._root_bound = 1.0

    def draw(self) -> Output:
        """Draw a text.

        Raises
        ------
        LimitError
            `max_rejections` texts were rejected; the message has a bound of the language's probability.
        ModelError
            The model rules out every text of the language.
        """
        started = perf_counter()
        calls, model_seconds, self._mask_seconds = self._logits_cache.calls, self._logits_cache.seconds, 0.0
        for rejected in range(self._max_rejections):
            steps = self._propose()
            if self._root_bound == 0:
                raise ModelError(
                    "The model gives every text of the language probability 0, so none can be drawn; "
                    "check the model's output, or allow more with the language"
                )
            if steps is not None:
                report = Report(
                    steps=tuple(steps),
                    retries=rejected,
                    budget_bound_at=self._matcher.budget_bound_at,
                    model_calls=self._logits_cache.calls - calls,
                    seconds=perf_counter() - started,
                    model_seconds=self._logits_cache.seconds - model_seconds,
                    mask_seconds=self._mask_seconds,
                    tokens=token_texts(steps, self._vocabulary),
                )
                is_short = len(steps) < self._max_tokens or steps[-1].token_id in self._vocabulary.eos_token_ids
                reason: FinishReason = "stop" if is_short else "length"
                return make_output(self._vocabulary, self._language, report, reason, self._prompt_token_count)
        raise LimitError(
            f"{self._max_rejections} texts were rejected: the model itself writes the language with a probability of "
            f"at most {self._root_bound:.2g}; raise max_rejections, or use generate, whose texts are biased",
            subject="max_rejections",
            limit=self._max_rejections,
        )

    def _propose(self) -> list[Step] | None:
        """Draw a text by the bounds and accept it with the probability that makes the sample exact."""
        self._matcher.rollback(len(self._matcher))
        eos = frozenset(self._vocabulary.eos_token_ids)
        threshold = self._random.random()
        path: list[tuple[_Node, int]] = []
        ids: list[int] = []
        steps: list[Step] = []
        product = 1.0
        node = self._root
        while True:
            if node is None:
                visited = self._visit(ids)
                if visited is None:  # a vocabulary without end-of-text: the text is complete
                    break
                node = visited
                product *= float(node.weights.sum())
                if not path:
                    self._root = node
                elif self._stored < _MOST_STORED:
                    path[-1][0].children[steps[-1].token_id] = node
                    self._stored += node.ids.size
                if product <= threshold:
                    path.append((node, -1))
                    self._backup(path)
                    return None
            index = self._pick(node.weights)
            token_id = int(node.ids[index])
            path.append((node, index))
            steps.append(Step(token_id, node.top, node.log_mass, float(node.logs[index])))
            if token_id in eos:
                break
            self._matcher.advance(token_id)
            ids.append(token_id)
            node = node.children.get(token_id)
        self._backup(path)
        return steps

    def _pick(self, weights: NDArray[np.float64]) -> int:
        reached = np.cumsum(weights)
        index = int(np.searchsorted(reached, self._random.random() * reached[-1], side="right"))
        return min(index, int(np.flatnonzero(weights)[-1]))

    def _visit(self, ids: list[int]) -> _Node | None:
        """Return the node of a prefix from the model and the mask; None if the mask is empty."""
        began = perf_counter()
        self._matcher.fill_mask(self._mask)
        width = len(self._vocabulary)
        bits = np.unpackbits(self._mask.view(np.uint8), count=width, bitorder="little")
        allowed = np.flatnonzero(bits)
        self._mask_seconds += perf_counter() - began
        if not allowed.size:
            return None
        common = next((i for i, (a, b) in enumerate(zip(ids, self._last_ids, strict=False)) if a != b), None)
        self._logits_cache.crop(min(len(ids), len(self._last_ids)) if common is None else common)
        logits = self._logits_cache.logits(ids, keep=False).astype(np.float64)
        self._last_ids = list(ids)
        top = int(logits.argmax())
        if not np.isfinite(logits[top]):
            raise ModelError(f"The model gives token {top} the logit {logits[top]}; logits must be finite or -inf")
        with np.errstate(over="ignore"):
            logits = (logits - logits[top]) / self._temperature
        logs = logits[allowed] - np.log(np.exp(logits).sum())
        weights = np.exp(logs)
        with np.errstate(divide="ignore"):
            log_mass = float(np.log(weights.sum()))
        return _Node(allowed.astype(np.int32), weights, logs, min(log_mass, 0.0), top)

    def _backup(self, path: Sequence[tuple[_Node, int]]) -> None:
        """Propagate the masses of the last nodes to the first."""
        for (parent, index), (node, _) in reversed(list(pairwise(path))):
            if parent.children.get(int(parent.ids[index])) is node:
                parent.weights[index] = np.exp(parent.logs[index]) * node.weights.sum()
        if path:
            self._root_bound = float(path[0][0].weights.sum())


def sample_conditioned(
    model: Model,
    prompt: str | Sequence[int],
    language: Rule,
    *,
    count: int = 1,
    max_tokens: int = 256,
    temperature: float = 1.0,
    seed: int | None = None,
    max_rejections: int = 1000,
    canonical: Canonical = False,
    ban: Words | Ban | None = None,
) -> list[Output]:
    """Draw texts from the model's distribution, conditioned on the language.

    >>> import detent
    >>> model = detent.load_model()
    >>> out, = detent.analysis.sample_conditioned(model, "Write 7 March 2021 as an ISO date.", detent.date(), seed=0)
    >>> out.text
    '2021-03-07'

    The masks of `generate` renormalise at each token, which biases it to prefixes that are easy to continue. Here the
    probability of a text is its probability under the model, end-of-text included, divided by that of all texts of the
    language together. Texts are proposed until one is accepted. Suitable for languages that the unconstrained model
    stays in now and then.

    Parameters
    ----------
    model, prompt, seed
        As in `generate`.
    language : Language, token_table or Guide
        The texts.
    count : int
        How many texts.
    max_tokens : int
        Longer texts do not belong to the language.
    temperature : float
        Above 0: the temperature of the model's distribution.
    max_rejections : int
        The most texts that may be rejected for one that is accepted.
    canonical, ban
        As in `generate`; the words are excluded from the language, whatever the mode of the ban.

    Returns
    -------
    list of Output
        `report.retries` is the number of texts that were rejected before.

    Raises
    ------
    LimitError
        Too many were rejected; or the language has no text of at most `max_tokens` tokens.
    ArgumentError, ModelError, EmptyLanguageError
        As in `generate`.
    """
    checked = Sampler(temperature, seed=seed)
    if checked.temperature == 0:
        raise ArgumentError("temperature must be above 0 where texts are drawn by their probabilities, got 0")
    count, max_rejections = (
        whole_number("count", count, least=0),
        whole_number("max_rejections", max_rejections, least=1),
    )
    max_tokens = whole_number("max_tokens", max_tokens, least=1)
    check_model(model)
    bans = banned_words(ban, None)
    prompt_ids = token_ids_of(prompt, model)
    guide = resolve_guide(language, model, text_only=False, canonical=canonical)
    strict = guide if bans is None else guide_without_bans(bans, guide, text_after_special(model, prompt_ids))
    sampler = ConditionedSampler(
        model.vocabulary,
        start_matcher(strict, max_tokens, prompt_ids),
        guide.language,
        LogitsCache(model, prompt_ids),
        max_tokens=max_tokens,
        prompt_token_count=len(prompt_ids),
        temperature=checked.temperature,
        seed=seed,
        max_rejections=max_rejections,
    )
    return [sampler.draw() for _ in range(count)]
