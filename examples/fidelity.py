"""What masks do to a model's choice between two names, and how the tokenizer's own tokens leave it alone.

    python examples/fidelity.py [PICTURE.svg]

Asked for Theo or William, the model says Theo, or else William; it hardly thinks of Theodore. Held to William or
Theodore, it should say William. But its tokenizer writes "Theo" as "The" and "o", and a plain mask allows "The" as the
beginning of "Theodore": whoever takes it for Theo can only go on to "odore". With `canonical=True` the tokens are those
that the tokenizer writes. "Theodore" is one, and "The" begins no answer.

The effect was found by Vivien Tran-Thien (2024) with Mistral 7B and the answers " William" and " Theodore": 86 % for
William as the model has it, 53 % under a plain mask, 86 % under the tokenizer's own tokens.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import detent

QUESTION = "Who was a member of the Sigma Alpha Epsilon fraternity: Theo or William?"
NAMES = ("William", "Theodore")


def first_tokens(guide: detent.Guide, model: detent.models.Model) -> str:
    """Show the tokens that may come first, with the model's probabilities, the likeliest first."""
    logits = model.start(model.encode(QUESTION)).logits
    weights = np.exp(logits - logits.max())
    found = sorted(((float(weights[i] / weights.sum()), int(i)) for i in guide.matcher().allowed()), reverse=True)
    return ", ".join(f"{model.vocabulary.token_bytes(i).decode()!r} {p:.3f}" for p, i in found)


def draw(found: detent.analysis.Fidelity, path: Path) -> None:
    """Draw the probabilities of the names as bars; needs matplotlib (the extra `plot`)."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    grey = "#767676"  # seen on light and on dark pages
    rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif", "xtick.color": grey, "ytick.color": grey})
    rcParams["svg.hashsalt"] = "detent"  # the same numbers give the same file
    kinds = ("the model,\ngiven the two names", "under a plain mask", "under the tokenizer's\nown tokens")
    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    axes = figure.add_subplot()
    left = np.zeros(3)
    for name, colour in zip(NAMES, ("#2f6f8f", "#b8651b"), strict=True):
        text = next(text for text in found.texts if text.text == name.encode())
        shares = np.array([text.model, text.plain, text.canonical])
        axes.barh(range(3), shares, left=left, height=0.62, color=colour)
        for place, share in enumerate(shares):
            if share > 0.1:
                label = f"{name}  {100 * share:.0f} %"
                axes.text(left[place] + share / 2, place, label, ha="center", va="center", color="white", weight="bold")
        left += shares
    axes.set_yticks(range(3), kinds)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None} if path.suffix == ".svg" else None)


def main() -> None:
    """Ask, compare, and draw where to."""
    model = detent.load_model()
    language = detent.choice(*NAMES)
    print(QUESTION)
    print(f"  without a mask:   {detent.generate(model, QUESTION, temperature=0).text!r}")
    for canonical in (False, True):
        guide = detent.compile(language, model.vocabulary, canonical=canonical)
        print(f"  {'canonical' if canonical else 'plain':>9} mask:   {first_tokens(guide, model)}")
    found = detent.analysis.fidelity(model, QUESTION, language)
    print(found)
    if len(sys.argv) > 1:
        draw(found, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
