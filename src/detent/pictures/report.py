"""Report: the tokens of a text as a strip, with what the rule took from the model at each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, Protocol

from detent.pictures.document import fact_list, percent, plain, token_html

__all__ = ["AlternativeLike", "ReportLike", "StepLike", "Why", "report_body"]

_BAND = 48
"""Tokens in one band, under which the details appear."""
_LEAST = 1e-6
"""The mass whose bar is empty."""

Why = Callable[[int, int], str]
"""The reason why a token is refused before the step of a number, as a sentence."""


class AlternativeLike(Protocol):
    """One of the most likely tokens of a step."""

    @property
    def token_id(self) -> int:
        """The token."""

    @property
    def log_probability(self) -> float:
        """Its probability."""

    @property
    def is_allowed(self) -> bool:
        """Whether the mask allows it."""


class StepLike(Protocol):
    """One choice of a token."""

    @property
    def token_id(self) -> int:
        """The token."""

    @property
    def top_token_id(self) -> int | None:
        """The model's first choice."""

    @property
    def log_mass(self) -> float | None:
        """The logarithm of the probability, before the mask, of all allowed tokens together."""

    @property
    def log_probability(self) -> float | None:
        """The token's probability before the mask."""

    @property
    def entropy(self) -> float | None:
        """The entropy of the model's distribution before the mask."""

    @property
    def alternatives(self) -> Sequence[Any]:
        """The most likely tokens (`AlternativeLike`)."""

    @property
    def is_forced(self) -> bool:
        """Whether no choice was left."""


class ReportLike(Protocol):
    """A `detent.Report`: the fields that are drawn."""

    @property
    def steps(self) -> Sequence[Any]:
        """The tokens (`StepLike`)."""

    @property
    def rewinds(self) -> Sequence[Any]:
        """The returns to an earlier token."""

    @property
    def tokens(self) -> Mapping[int, bytes]:
        """The bytes of ids."""

    @property
    def log_mass(self) -> float:
        """The sum over the steps."""


def report_body(
    report: ReportLike,
    title: str = "Report",
    *,
    why: Why | None = None,
    notes: Sequence[str] = (),
    unconstrained: ReportLike | None = None,
) -> str:
    """Return the headline, the strip of tokens, and the figures.

    Parameters
    ----------
    report : Report
        The report.
    title : str
        The heading.
    why : callable, optional
        Says why a candidate was refused at a step.
    notes : sequence of str
        For each step, the position in the rule, such as a JSON pointer.
    unconstrained : Report, optional
        The same model without the rule, to be shown beside it.
    """
    parts = [f"<h1>{plain(title)}</h1>", _headline(report), _strip(report, why, notes)]
    if unconstrained is not None:
        parts += ["<h2>Without the rule</h2>", _strip(unconstrained, None, ())]
    parts += ["<h2>Figures</h2>", fact_list(_figures(report)), _legend()]
    return "".join(parts)


def _headline(report: ReportLike) -> str:
    cost = -report.log_mass
    if not any(step.log_mass is not None for step in report.steps):
        return '<p class="headline">The model was never asked: each token was the only one allowed.</p>'
    if math.isnan(cost):
        return '<p class="headline">The cost of the rule is not known: the logits have NaN or infinity.</p>'
    kept = percent(-cost)
    return (
        f'<p class="headline">The rule costs <b>{max(cost, 0.0):.2f} nats</b>: with probability {kept} the model alone '
        f"stays in the language for these tokens.</p>"
    )


def _figures(report: Any) -> list[tuple[str, str]]:
    facts = [
        ("tokens", f"{len(report.steps)}, of which {sum(step.is_forced for step in report.steps)} were forced"),
        ("passes of the model", str(report.model_calls)),
        ("entropy", f"{report.entropy:.2f} nats, the mean before the mask" if report.entropy else ""),
        ("speed", f"{report.tokens_per_second:.1f} tokens a second, {100 * report.mask_share:.1f} % of it in masks"),
        ("rewinds", f"{len(report.rewinds)}" if report.rewinds else ""),
        ("canonical tokens", {True: "exactly", False: ""}.get(report.canonical, escape(str(report.canonical)))),
    ]
    if report.budget is not None:
        bound = "" if report.budget_bound_at is None else f"; it bound after {report.budget_bound_at} tokens"
        facts.append(("budget", f"{report.budget} tokens ({escape(report.budget_from)}){bound}"))
    if report.masked_from is not None:
        facts.append(("banned words", f"masked after {report.masked_from} tokens"))
    return facts


def _legend() -> str:
    return (
        '<p class="quiet">The bar under a token is the probability that the mask kept: full for all of it, empty for a '
        "millionth. Red: the model would have chosen another token. Hatched: forced, without asking the model. Crossed "
        "out: taken back. Hover over a token, or go to it with Tab, for details.</p>"
    )


def _strip(report: ReportLike, why: Why | None, notes: Sequence[str]) -> str:
    rewinds: dict[int, list[Any]] = {}
    for rewind in report.rewinds:
        rewinds.setdefault(rewind.position, []).append(rewind)
    bands = []
    for first in range(0, len(report.steps), _BAND):
        items = []
        for number in range(first, min(first + _BAND, len(report.steps))):
            items += [_rewound(report, each) for each in rewinds.get(number, ())]
            items.append(_step(report, number, why, notes[number] if number < len(notes) else ""))
        bands.append(f'<div class="band"><ol class="strip">{"".join(items)}</ol></div>')
    last = [
        _rewound(report, each) for position, found in rewinds.items() if position >= len(report.steps) for each in found
    ]
    if last:
        bands.append(f'<div class="band"><ol class="strip">{"".join(last)}</ol></div>')
    return "".join(bands) or '<p class="quiet">No tokens.</p>'


def _rewound(report: ReportLike, rewind: Any) -> str:
    word = f"the banned word {rewind.word!r}" if rewind.word is not None else "no text could follow"
    tokens = "".join(_name(report, token_id) for token_id in rewind.dropped)
    return f'<li class="taken-back token" title="{escape("taken back: " + word)}">{tokens}</li>'


def _name(report: ReportLike, token_id: int) -> str:
    known = report.tokens.get(token_id)
    return '<span class="sign">end</span>' if known is None else token_html(known)  # a report has all texts


def _step(report: ReportLike, number: int, why: Why | None, note: str) -> str:
    step: StepLike = report.steps[number]
    is_overruled = step.top_token_id is not None and step.top_token_id != step.token_id
    kind = "step forced" if step.is_forced else "step overruled" if is_overruled else "step"
    name = _name(report, step.token_id)
    mass = ""
    if step.log_mass is not None and not math.isnan(step.log_mass):
        width = 100 * min(1.0, max(0.0, 1 - step.log_mass / math.log(_LEAST)))
        mass = f'<span class="mass"><i style="width:{width:.0f}%"></i></span>'
    detail = _detail(report, number, why, note)
    token = f'<span class="token">{name}</span>{mass}'
    return f'<li class="{kind}" tabindex="0">{token}<div class="detail">{detail}</div></li>'


def _detail(report: ReportLike, number: int, why: Why | None, note: str) -> str:
    step: StepLike = report.steps[number]
    where = f", at <code>{plain(note)}</code>" if note else ""
    head = f"<p><b>Token {number + 1}</b>, id {step.token_id}{where}. "
    if step.is_forced:
        return head + "It was the only one allowed, so the model was not asked.</p>"
    kept = f"The mask keeps {percent(step.log_mass)} of the probability."
    if step.entropy is not None and not math.isnan(step.entropy):
        kept += f" The model's entropy is {step.entropy:.2f} nats."
    rows = []
    candidates = {each.token_id: (each.log_probability, each.is_allowed) for each in step.alternatives}
    if step.log_probability is not None:
        candidates.setdefault(step.token_id, (step.log_probability, True))
    for token_id, (log_probability, is_allowed) in sorted(candidates.items(), key=lambda each: -each[1][0]):
        after = log_probability - (step.log_mass or 0.0) if is_allowed else None
        reason = why(number, token_id) if why is not None and not is_allowed else ""
        state = "chosen" if token_id == step.token_id else "" if is_allowed else "refused"
        label = "chosen" if state == "chosen" else "refused" if state else ""
        rows.append(
            f'<tr class="{state}"><td><span class="token">{_name(report, token_id)}</span></td>'
            f'<td class="number">{percent(log_probability)}</td>'
            f'<td class="number">{percent(after) if is_allowed else "0"}</td><td>{plain(reason) or label}</td></tr>'
        )
    table = (
        "<table><tr><th>candidate</th><th>before the mask</th><th>after it</th><th>why</th></tr>"
        + "".join(rows)
        + "</table>"
    )
    other = ""
    if step.top_token_id is not None and step.top_token_id not in candidates:
        other = f' The model\'s first choice was <span class="token">{_name(report, step.top_token_id)}</span>.'
    return head + kept + other + "</p>" + table
