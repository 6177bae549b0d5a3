"""Results of `benchmarks.regex` as Markdown tables."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.support.measured_patterns import COUNTED, PATTERNS

NOTES = """\
- *compile* makes a guide on a fresh vocabulary, all caches empty but for one short, unlike pattern; *first* is the
  first mask from it, starting a text included.
- *cold* are the other masks of random walks, *warm* the same walks again on the same guide; *step* is taking a token in
  the warm walks. A walk takes a random token of the engine's own mask, each as likely as the other, and ends with
  end-of-text. Engines whose masks differ walk different texts.
- *peak* is the growth of the process's largest resident memory during the job, since before the vocabulary was made.
- Reading the clock is subtracted. A figure is missing where the engine gave an error, or no answer within the limit.
- All engines read the patterns alike, but for `\\w` (ASCII in xgrammar) and `.` (takes a line feed in xgrammar).
- detent and llguidance read tokenizer.json during set-up; the others are given the token bytes ready-made.
"""


@dataclass
class Results:
    """What the workers answered: one entry for each repeat."""

    set_up: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    jobs: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)

    def median(self, label: str, engine: str, figure: Callable[[dict[str, Any]], float | None]) -> float | None:
        """Return the median of a figure over the repeats that have one."""
        values = [figure(job) for job in self.jobs.get((label, engine), []) if "error" not in job]
        known = [value for value in values if value is not None]
        return statistics.median(known) if known else None


def _mean(job: dict[str, Any], part: str, step: str) -> float | None:
    first = 1 if part == "cold" and step == "fill" else 0  # the very first mask is a figure of its own
    times = job[part][step][first:]
    return statistics.fmean(times) if times else None


def _worst(job: dict[str, Any], part: str) -> float | None:
    return max(job[part]["fill"][1 if part == "cold" else 0 :], default=None)


FIGURES: dict[str, tuple[float, str, Callable[[dict[str, Any]], float | None]]] = {
    "compile ms": (1e6, ".2f", lambda job: job["compile_ns"]),
    "first µs": (1e3, ".0f", lambda job: job["first_ns"]),
    "compile + first ms": (1e6, ".2f", lambda job: job["compile_ns"] + job["first_ns"]),
    "cold mean µs": (1e3, ".1f", lambda job: _mean(job, "cold", "fill")),
    "cold worst µs": (1e3, ".0f", lambda job: _worst(job, "cold")),
    "warm mean µs": (1e3, ".1f", lambda job: _mean(job, "warm", "fill")),
    "warm worst µs": (1e3, ".0f", lambda job: _worst(job, "warm")),
    "step µs": (1e3, ".1f", lambda job: _mean(job, "warm", "advance")),
    "peak MB": (1e6, ".0f", lambda job: job["peak_bytes"]),
}


def report(
    results: Results,
    *,
    engines: list[str],
    patterns: dict[str, str],
    imports: tuple[float, float] | None,
    conditions: str,
) -> str:
    """Compose the page."""
    versions = ", ".join(f"{name} {results.set_up[name][0].get('version', '?')}" for name in engines)
    parts = ["# Regexes, side by side\n", f"{conditions}\n{versions}.\n", NOTES]
    parts += ["## Vocabulary\n", _set_up(results, engines)]
    if imports:
        parts.append(f"`import detent`: {imports[1]:.0f} ms of CPU time beyond NumPy's {imports[0]:.0f} ms.\n")
    parts += ["## Patterns\n", _patterns(results, engines, patterns)]
    if "detent" in engines and len(engines) > 1:
        parts += ["## detent against the fastest peer\n", _ratios(results, engines, patterns)]
    if all(name in patterns for name in COUNTED) and "detent" in engines:
        parts.append(_counted(results))
    full = _table(["name", "pattern"], ([name, f"`{pattern}`"] for name, pattern in patterns.items()))
    parts += ["## The patterns in full\n", full]
    return "\n".join(parts)


def _set_up(results: Results, engines: list[str]) -> str:
    rows = []
    for name in engines:
        answers = results.set_up[name]
        seconds = statistics.median(answer["set_up_ns"] for answer in answers) / 1e9
        size = statistics.median(answer["set_up_bytes"] for answer in answers) / 1e6
        rows.append([name, f"{seconds:.2f}", f"{size:.0f}"])
    return _table(["engine", "set-up s", "MB"], rows)


def _patterns(results: Results, engines: list[str], patterns: dict[str, str]) -> str:
    rows = []
    for label in patterns:
        for engine in engines:
            cells = [_shown(results.median(label, engine, value), unit, form) for unit, form, value in FIGURES.values()]
            rows.append([label if engine == engines[0] else "", engine, *cells])
    return _table(["pattern", "engine", *FIGURES], rows)


def _ratios(results: Results, engines: list[str], patterns: dict[str, str]) -> str:
    columns = ("compile + first ms", "warm mean µs")
    rows, kept = [], dict[str, list[float]]((column, []) for column in columns)
    for label in patterns:
        row = [label]
        for column in columns:
            _, _, figure = FIGURES[column]
            ours = results.median(label, "detent", figure)
            theirs = {name: results.median(label, name, figure) for name in engines if name != "detent"}
            known = {name: value for name, value in theirs.items() if value}
            if ours is None or not known:
                row += ["", ""]
                continue
            fastest = min(known, key=lambda name: known[name])
            ratio = ours / known[fastest]
            if label in PATTERNS:
                kept[column].append(ratio)
            row += [f"{ratio:.2f}", fastest]
        rows.append(row)
    medians = [f"**{statistics.median(kept[column]):.2f}**" if kept[column] else "" for column in columns]
    rows.append(["**median of the first ten**", medians[0], "", medians[1], ""])
    return _table(["pattern", "compile + first: ratio", "to", "warm mean: ratio", "to"], rows)


def _counted(results: Results) -> str:
    shown = []
    for column in ("compile + first ms", "cold mean µs", "warm mean µs"):
        _, _, figure = FIGURES[column]
        free, counted = (results.median(label, "detent", figure) for label in COUNTED)
        if free and counted:
            shown.append(f"{column.rsplit(' ', 1)[0]} {counted / free:.2f}")
    return f"`.{{0,1000}}` against `.*` in detent: {', '.join(shown)} times.\n"


def _shown(value: float | None, unit: float, form: str) -> str:
    return "" if value is None else format(value / unit, form)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *escaped])
