"""The plot of a report: one column a token, in bands that are read like lines of text.

    upper axes   a bar from 1 down to the allowed mass, on a logarithmic scale; dots are the entropy of the model
    lower axes   the token, and under it the model's most likely token where that is another

The colours are a colour-blind safe palette (Okabe & Ito 2008). Tokens without a bar were forced.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from detent.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from detent.generation.report import Report, Rewind, Step

__all__ = ["draw"]

_BAND = 64
"""Tokens in a band."""
_LEAST_MASS = 1e-9
"""The least mass that is drawn exactly."""
_MOST_CHARACTERS = 14
"""The most characters of a token that are shown."""
_FONT = "DejaVu Sans Mono"  # comes with matplotlib
_FORCED, _AGREED, _OVERRULED, _REWOUND = "#9A9A9A", "#0072B2", "#D55E00", "#CC79A7"
_ENTROPY = "#444444"


def draw(report: Report) -> Figure:
    """Draw a report; see `Report.plot`."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("plot needs matplotlib: pip install 'detent[plot]'", name=error.name) from error

    class ShownFigure(Figure):
        """A figure that notebooks show without `matplotlib.pyplot`."""

        def _repr_png_(self) -> bytes:
            file = BytesIO()
            self.savefig(file, format="png", dpi=150)
            return file.getvalue()

    steps = report.steps
    if not steps:
        raise ArgumentError("The report has no steps, so there is nothing to draw")
    bands = -(-len(steps) // _BAND)
    width = min(len(steps), _BAND)
    figure = ShownFigure(figsize=(max(6.0, 1.2 + 0.2 * width), 0.7 + 3.0 * bands), layout="constrained")
    rows: Any = figure.subplots(2 * bands, 1, squeeze=False, height_ratios=[5, 4] * bands)[:, 0]
    least = min((_mass(step) for step in steps), default=1.0)
    floor = min(0.1, 10.0 ** math.floor(math.log10(least) - 0.1))
    for band in range(bands):
        first = band * _BAND
        shown = steps[first : first + _BAND]
        rewinds = [rewind for rewind in report.rewinds if 0 <= rewind.position - first < len(shown)]
        _draw_masses(rows[2 * band], shown, rewinds, first, floor)
        _draw_tokens(rows[2 * band + 1], shown, report.tokens)
        for axes in rows[2 * band : 2 * band + 2]:
            axes.set_xlim(-0.8, max(width, 20) - 0.2)
    figure.suptitle(_title(report), fontsize=10, x=0.01, ha="left")
    _legend(figure, report)
    return figure


def _draw_masses(axes: Axes, steps: Sequence[Step], rewinds: Sequence[Rewind], first: int, floor: float) -> None:
    axes.set_yscale("log")
    axes.set_ylim(floor, 1.6)
    axes.axhline(1, color="#333333", linewidth=0.8, zorder=3)
    for column, step in enumerate(steps):
        if step.is_forced:
            axes.plot(column, 1, marker="s", markersize=3.5, color=_FORCED, zorder=4)
            continue
        mass = max(_mass(step), floor)
        colour = _AGREED if step.token_id == step.top_token_id else _OVERRULED
        axes.bar(column, mass - 1, bottom=1, width=0.7, color=colour)
        axes.plot(column, 1, marker="s", markersize=3.5, color=colour, zorder=4)
    _draw_entropies(axes, steps)
    for rewind in rewinds:
        axes.plot(rewind.position - first, 1.28, marker="v", markersize=5, color=_REWOUND, clip_on=False, zorder=5)
    axes.set_ylabel("allowed mass", fontsize=8)
    axes.yaxis.set_minor_formatter("")
    axes.tick_params(labelsize=7)
    axes.set_xticks(range(0, len(steps), 10), [str(first + column) for column in range(0, len(steps), 10)])
    axes.grid(axis="y", color="#E5E5E5", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_entropies(axes: Axes, steps: Sequence[Step]) -> None:
    known = [
        (column, step.entropy)
        for column, step in enumerate(steps)
        if step.entropy is not None and math.isfinite(step.entropy)
    ]
    if not known:
        return
    beside = axes.twinx()
    beside.plot(*zip(*known, strict=True), "o", markersize=2.5, color=_ENTROPY)
    beside.set_ylim(0, max(1.0, *(entropy for _, entropy in known)) * 1.15)
    beside.set_ylabel("entropy, nats", fontsize=8, color=_ENTROPY)
    beside.tick_params(labelsize=7, colors=_ENTROPY)
    beside.spines[["top", "left"]].set_visible(False)


def _draw_tokens(axes: Axes, steps: Sequence[Step], tokens: Mapping[int, bytes]) -> None:
    axes.set_ylim(0, 1)
    axes.axis("off")
    style: dict[str, Any] = {
        "rotation": 90, "ha": "center", "va": "top", "fontsize": 7, "family": _FONT, "parse_math": False,
    }  # fmt: skip
    for column, step in enumerate(steps):
        colour = _FORCED if step.is_forced else "#222222"
        axes.text(column, 1, _label(step.token_id, tokens), color=colour, **style)
        if step.top_token_id is not None and step.top_token_id != step.token_id:
            axes.text(column, 0.5, _label(step.top_token_id, tokens), color=_OVERRULED, **style)


def _title(report: Report) -> str:
    parts = [
        f"{len(report.steps)} steps, {100 * report.forced_share:.0f} % forced",
        f"{report.model_calls} model calls",
        "the cost of the rule is not known"
        if math.isnan(report.log_mass)
        else f"the rule cost {max(-report.log_mass, 0.0):.2f} nats",
    ]
    if report.budget_bound_at is not None:
        parts.append(f"bound by max_tokens after {report.budget_bound_at}")
    return "  ·  ".join(parts)


def _legend(figure: Figure, report: Report) -> None:
    from matplotlib.lines import Line2D

    asked = [step for step in report.steps if not step.is_forced]
    kinds = [
        ("s", _AGREED, "the model's most likely token", any(step.token_id == step.top_token_id for step in asked)),
        ("s", _OVERRULED, "another token (the model's below it)", any(s.token_id != s.top_token_id for s in asked)),
        ("s", _FORCED, "forced, model not asked", len(asked) < len(report.steps)),
        ("v", _REWOUND, "rewound to here", bool(report.rewinds)),
        (".", _ENTROPY, "entropy of the model", any(step.entropy is not None for step in asked)),
    ]
    handles = [
        Line2D([], [], marker=marker, color=colour, linestyle="", markersize=5, label=label)
        for marker, colour, label, is_present in kinds
        if is_present
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=len(handles), fontsize=7.5, frameon=False)


def _mass(step: Step) -> float:
    if step.log_mass is None or step.log_mass != step.log_mass:  # NaN
        return 1.0
    return max(math.exp(step.log_mass), _LEAST_MASS)


def _label(token_id: int, tokens: Mapping[int, bytes]) -> str:
    if (data := tokens.get(token_id)) is None:
        return "(end)"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1").encode("unicode_escape").decode()
    text = text.replace(" ", "·").replace("\n", "↵").replace("\t", "→")
    text = text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"
    return "".join(character if _has_glyph(character) else "▯" for character in text)


def _has_glyph(character: str) -> bool:
    from matplotlib.font_manager import findfont, get_font

    return ord(character) in get_font(findfont(_FONT)).get_charmap()
