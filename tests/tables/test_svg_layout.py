"""Drawings of small automata are legible: no label covers another label, a node, or the edge of another label."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import pytest

import detent
from detent.pictures.language import _drawing
from detent.tables.svg_layout import Box, Point

RULES = {
    "lists": detent.regex("[a-z]+(,[a-z]+)*"),
    "loop of words": detent.regex("(ab|c)*d"),
    "colours": detent.choice("red", "green", "blue"),
    "answers": detent.choice("Yes", "No", "Maybe"),
    "months": detent.choice("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    "even": detent.regex("(?:(?:0|1){2})*"),
    "multiples of 3": detent.regex("(0|1(01*0)*1)*"),
    "address": detent.regex(r"[a-z]+@[a-z]+\.(com|org)"),
    "boolean": detent.json_schema({"type": "boolean"}),
    "integer": detent.json_schema({"type": "integer"}),
    "decimal": detent.regex(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"),
    "colour code": detent.regex("#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?"),
    "two bytes": detent.regex("[à-ÿ]+|[α-ω]+"),
    "permutations": detent.regex("abc|acb|bac|bca|cab|cba"),
    "cycle": detent.regex("(abcd)*(abc)?"),
    "in order": detent.regex("a*b*c*d*"),
    "time": detent.regex("([01][0-9]|2[0-3]):[0-5][0-9]"),
    "no a twice": detent.regex("[abc]*") & ~detent.regex("(?s:.*aa.*)"),
    "between": detent.regex("(x[a-z]y)+"),
    "nested": detent.regex("(a(b(cd)*)*)*e"),
}


@pytest.mark.parametrize("name", RULES)
def test_labels_cross_nothing(name: str) -> None:
    drawing = _drawing(RULES[name])
    assert drawing is not None
    drawn = drawing.layout()
    labels = {(arrow.source, arrow.target): arrow.box for arrow in drawn.arrows}
    assert len(labels) == len(drawing.edges)
    for (one, box), (other, other_box) in combinations(labels.items(), 2):
        assert not _share_area(box, other_box), (one, other)
    circles = [(node.x - 17, node.y - 17, 34.0, 34.0) for node in drawn.nodes]
    for edge, box in labels.items():
        assert not any(_share_area(box, circle) for circle in circles), edge
        for arrow in drawn.arrows:
            if (arrow.source, arrow.target) != edge:
                assert not any(_share_area(box, each) for each in _pieces(arrow.path)), (
                    edge,
                    arrow.source,
                    arrow.target,
                )


def _pieces(path: str) -> list[Box]:
    """Return the boxes around 200 pieces of a Bézier curve; its control points are the numbers of the path."""
    numbers = [float(number) for number in re.findall(r"-?[0-9.]+", path)]
    controls = list(zip(numbers[::2], numbers[1::2], strict=True))
    points = [_point(controls, part / 200) for part in range(201)]
    return [
        (min(x1, x2), min(y1, y2), max(abs(x2 - x1), 0.01), max(abs(y2 - y1), 0.01))
        for (x1, y1), (x2, y2) in pairwise(points)
    ]


def _point(controls: list[Point], part: float) -> Point:
    if len(controls) == 1:
        return controls[0]
    start, end = _point(controls[:-1], part), _point(controls[1:], part)
    return (1 - part) * start[0] + part * end[0], (1 - part) * start[1] + part * end[1]


def _share_area(a: Box, b: Box) -> bool:
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    high = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return wide > 0 and high > 0
