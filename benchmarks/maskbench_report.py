"""Results of `benchmarks.maskbench` as Markdown tables."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer

__all__ = ["failures", "report", "verdict"]

NOTES = """\
- *right*: compiled, and every instance judged right. *refused*: an error instead of a guide. *rejects a valid*,
  *accepts an invalid*: schemas with at least one instance so judged; a schema may be in both columns. *failed*: an
  error while decoding, a crash, or no answer within the limit. A schema that no value satisfies is judged right by the
  error that says so.
- An instance is accepted iff each of its tokens is in the mask before it, and end-of-text in the mask after the last.
- *first mask* is the compilation of a schema and the first mask, on a vocabulary that serves all schemas of the run;
  *between masks* are all other masks, of valid and invalid instances alike; *commit* is taking a token.
- *forced* is the share of the tokens of accepted valid instances whose mask allowed nothing else.
- *peak* is the growth of the process's largest resident memory since before the vocabulary was made.
"""

_PLACE = re.compile(r" at (/\S*|the root)(?=[:;,])")
_NO_VALUE = re.compile("EmptyLanguageError|[Uu]nsatisfiable")
SLOW_NS = 2_000_000
"""A mask above this is listed with its schema."""
RIGHT, REFUSED, REJECTS, ACCEPTS, FAILED = "right", "refused", "rejects a valid", "accepts an invalid", "failed"


def verdict(case: dict[str, Any], engine: str) -> set[str]:
    """Return the categories of a schema under an engine."""
    answer = case[engine]
    if "refused" in answer:
        # That a schema has no value at all is a verdict, and the only one that an engine without dead ends can give.
        is_right = bool(_NO_VALUE.search(answer["refused"])) and not any(
            test["valid"] for test in case["schema"]["tests"]
        )
        return {RIGHT} if is_right else {REFUSED}
    if "error" in answer:
        return {FAILED}
    pairs = [(test["valid"], stop is None) for test, stop in zip(case["schema"]["tests"], answer["stops"], strict=True)]
    wrong = {REJECTS if valid else ACCEPTS for valid, accepted in pairs if valid != accepted}
    return wrong or {RIGHT}


def report(set_up: dict[str, dict[str, Any]], every: list[dict[str, Any]], conditions: str) -> str:
    """Compose the page."""
    engines = list(set_up)
    versions = ", ".join(f"{name} {set_up[name].get('version', '?')}" for name in engines)
    parts = ["# MaskBench, side by side\n", f"{conditions}\n{versions}.\n", NOTES]
    parts += ["## Verdicts\n", _verdicts(every, engines)]
    parts += ["## Times\n", _times(every, engines)]
    for other in engines[1:]:
        both = [case for case in every if all("first_ns" in case[name] for name in (engines[0], other))]
        parts += [f"## Times on the {len(both)} schemas that both {engines[0]} and {other} take\n"]
        parts += [_times(both, [engines[0], other])]
    parts += ["## Right, by subset\n", _subsets(every, engines)]
    parts += ["## Why detent refuses\n", _reasons(every, [name for name in engines if name.startswith("detent")])]
    return "\n".join(parts)


def failures(every: list[dict[str, Any]], engines: list[str], tokenizer: Tokenizer) -> str:
    """List what detent refused or judged wrong, with reasons, and what took it longest, with the text before it."""
    lines = []
    for engine in (name for name in engines if name.startswith("detent")):
        for case in every:
            found = verdict(case, engine)
            if found == {RIGHT}:
                continue
            answer = case[engine]
            reason = answer.get("refused") or answer.get("error") or ""
            lines.append(f"## {engine}: {case['schema']['name']}: {', '.join(sorted(found))}\n{reason}")
            for number, stop in enumerate(answer.get("stops", ())):
                test, text = case["schema"]["tests"][number], case["texts"][number]
                if test["valid"] != (stop is None):
                    kind = "valid" if test["valid"] else "invalid"
                    where = "accepted" if stop is None else f"stopped at token {stop} of {case['lengths'][number]}"
                    lines.append(f"- {kind} instance {number} ({test['description'][:80]}) {where}: {text[:300]}")
        for name, spent in (("first mask", _first), ("mask", _worst)):
            slowest = sorted(every, key=lambda case: -spent(case[engine]))[:20]
            shown = [f"{case['schema']['name']} {spent(case[engine]) / 1e6:.1f}" for case in slowest]
            lines.append(f"## {engine}: slowest {name}, ms: {', '.join(shown)}")
        slow = sorted(
            (case for case in every if _worst(case[engine]) > SLOW_NS), key=lambda case: -_worst(case[engine])
        )
        lines.append(f"## {engine}: {len(slow)} of {len(every)} schemas with a mask above {SLOW_NS / 1e6:.0f} ms")
        lines += [_slowest_step(case, engine, tokenizer) for case in slow]
    return "\n".join(lines) + "\n"


def _slowest_step(case: dict[str, Any], engine: str, tokenizer: Tokenizer) -> str:
    """Describe the slowest mask between tokens: its time, how many were slow, and the text before it."""
    answer = case[engine]
    step = max(range(len(answer["fills"])), key=answer["fills"].__getitem__)
    count = sum(time > SLOW_NS for time in answer["fills"])
    title = f"- {case['schema']['name']}: {answer['fills'][step] / 1e6:.1f} ms, {count} above"
    for ids, stop in zip(case["ids"], answer["stops"], strict=False):
        masks = len(ids) if stop is None else stop
        if step < masks:
            return f"{title}; after {tokenizer.decode(ids[: step + 1])[-60:]!r}"
        step -= masks
    return title


def _first(answer: dict[str, Any]) -> int:
    return int(answer.get("compile_ns", 0) + answer.get("first_ns", 0))


def _worst(answer: dict[str, Any]) -> int:
    return int(max(answer.get("fills", ()), default=0))


def _verdicts(every: list[dict[str, Any]], engines: list[str]) -> str:
    rows = []
    for engine in engines:
        counts = Counter(category for case in every for category in verdict(case, engine))
        cells = [str(counts[category]) for category in (RIGHT, REFUSED, REJECTS, ACCEPTS, FAILED)]
        cells[0] += f" ({100 * counts[RIGHT] / len(every):.1f} %)"
        tokens, forced = 0, 0
        for case in every:
            for number, stop in enumerate(case[engine].get("stops", ())):
                if stop is None and case["schema"]["tests"][number]["valid"]:
                    tokens += case["lengths"][number] + 1
                    forced += case[engine]["forced"][number]
        peak = max((case[engine].get("peak_bytes", 0) for case in every), default=0)
        rows.append([engine, *cells, f"{100 * forced / tokens:.1f} %" if tokens else "", f"{peak / 1e6:.0f}"])
    head = ["engine", RIGHT, REFUSED, REJECTS, ACCEPTS, FAILED, "forced", "peak MB"]
    return _table(head, rows)


def _times(every: list[dict[str, Any]], engines: list[str]) -> str:
    rows = []
    for engine in engines:
        answers = [case[engine] for case in every]
        firsts = [answer["compile_ns"] + answer["first_ns"] for answer in answers if "first_ns" in answer]
        fills = [spent for answer in answers for spent in answer.get("fills", ())]
        advances = [spent for answer in answers for spent in answer.get("advances", ())]
        commit = f"{statistics.median(advances) / 1e3:.1f}" if advances else ""
        rows.append([engine, _spread(firsts, 1e6, ".2f"), _spread(fills, 1e3, ".1f"), commit])
    columns = "p50 / mean / p99 / p99.9 / max"
    return _table(["engine", f"first mask ms: {columns}", f"between masks µs: {columns}", "commit µs: p50"], rows)


def _spread(times: list[int], unit: float, form: str) -> str:
    if not times:
        return ""
    ordered = sorted(times)
    places = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.99, 0.999, 1.0)]
    figures = [places[0], statistics.fmean(times), *places[1:]]
    return " / ".join(format(figure / unit, form) for figure in figures)


def _subsets(every: list[dict[str, Any]], engines: list[str]) -> str:
    subsets = sorted({case["schema"]["subset"] for case in every})
    rows = []
    for subset in subsets:
        cases = [case for case in every if case["schema"]["subset"] == subset]
        right = [str(sum(verdict(case, engine) == {RIGHT} for case in cases)) for engine in engines]
        rows.append([subset, str(len(cases)), *right])
    return _table(["subset", "schemas", *engines], rows)


def _reasons(every: list[dict[str, Any]], engines: list[str]) -> str:
    rows = []
    for engine in engines:
        counts = Counter(_kind(case[engine]["refused"]) for case in every if "refused" in case[engine])
        rows += [[engine, str(count), reason] for reason, count in counts.most_common()]
    return _table(["engine", "schemas", "reason"], rows)


def _kind(message: str) -> str:
    """Cut a message down to what does not depend on the schema."""
    return _PLACE.sub("", message.split("\n")[0])[:110]


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *escaped])
