"""The picture of a report: what is in it, and that it can be drawn whatever the text is."""

from __future__ import annotations

import io
import math

import pytest

import detent
from detent.errors import ArgumentError
from detent.generation import Report, Rewind, Step

pytest.importorskip("matplotlib", reason="needs matplotlib")


def texts(report: Report) -> list[str]:
    figure = report.plot()
    figure.savefig(io.BytesIO(), format="png", dpi=40)  # a glyph that is missing would be a warning
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_tokens_and_what_the_model_would_have_written() -> None:
    model = detent.load_model()
    out = detent.generate(model, "Can we talk?", temperature=0, ban=["listen"])
    figure = out.report.plot()
    masses, tokens, entropies = figure.axes
    (dots,) = entropies.lines
    assert dots.get_ydata().tolist() == [step.entropy for step in out.report.steps]
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    shown = [text.get_text() for text in tokens.texts]
    assert shown.count("·help") == shown.count("·listen") == 1
    assert shown[-1] == "(end)"
    worst = out.report.worst(1)[0]
    bars = {bar.get_x() + bar.get_width() / 2: bar for bar in masses.patches}  # type: ignore[attr-defined, attr-defined]
    assert len(bars) == len(out.report.steps)
    bar = bars[out.report.steps.index(worst)]
    assert bar.get_y() + bar.get_height() == pytest.approx(math.exp(worst.log_mass or 0))  # type: ignore[attr-defined, attr-defined]
    assert [text.get_text() for text in figure.legends[0].texts] == [
        "the model's most likely token", "another token (the model's below it)", "rewound to here",
        "entropy of the model",
    ]  # fmt: skip


def test_forced_tokens_have_no_bar() -> None:
    out = detent.generate(detent.load_model(), "Which?", detent.regex("<(one|two)>"), seed=0)
    figure = out.report.plot()
    assert len(figure.axes[0].patches) == out.report.model_calls < len(out.report.steps)
    assert any("forced" in text.get_text() for text in figure.legends[0].texts)


def test_any_text_and_any_mass() -> None:
    tokens = [b"$x_1$", "日本".encode(), "🙂".encode(), b"\xf0\x9f", b"a" * 50, b"\n\t ", b"\\"]
    masses = [0.0, -1e-9, -700.0, -math.inf, math.nan, None]
    steps = tuple(Step(i % 8, (i + 1) % 8, masses[i % 6], -1.0) for i in range(8 * 25))
    report = Report(steps=steps, rewinds=(Rewind(70, (1,), b"x"),), budget_bound_at=9, tokens=dict(enumerate(tokens)))
    shown = texts(report)
    assert {"$x_1$", "▯▯", "▯", "\\xf0\\x9f", "a" * 13 + "…", "↵→·", "\\", "(end)"} == set(shown)
    assert len(report.plot().axes) == 2 * 4
    with pytest.raises(ArgumentError, match="no steps"):
        Report().plot()


def test_logits_without_probabilities() -> None:
    """Of NaN there is no entropy, and no cost."""
    steps = (Step(1, 2, math.nan, math.nan, entropy=math.nan), Step(2, 2, math.nan, math.nan, entropy=math.nan))
    figure = Report(steps=steps, tokens={1: b"a", 2: b"b"}).plot()
    assert "the cost of the rule is not known" in figure.get_suptitle()
    assert len(figure.axes) == 2
