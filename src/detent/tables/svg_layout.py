"""Layout: where a small directed graph is drawn, in layers from left to right; `svg` makes a document of it.

A node's layer is its distance from the first node, so that no edge skips a layer forwards. Within layers, nodes are
ordered by the mean position of their neighbours (Sugiyama, Tagawa & Toda 1981), in a few sweeps. Edges back bow below,
edges within a layer to the side, loops above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from html import escape
from itertools import pairwise
from math import hypot
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrow", "Layout", "Node", "layout", "svg"]

_RADIUS = 18.0
_CHARACTER, _LINE = 7.3, 14.0  # of the 12 px monospace font
_GAP = 56.0  # between circles
_SWEEPS = 3  # over the labels

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, width, height
Edges = Mapping[tuple[int, int], Sequence[str]]


class Node(NamedTuple):
    """A node where it is drawn."""

    x: float
    y: float
    name: str
    is_accepting: bool


class Arrow(NamedTuple):
    """An edge where it is drawn; `path` is that of an SVG path element, and `head` the corners of the arrow's head."""

    source: int
    target: int
    path: str
    head: tuple[Point, ...]
    lines: tuple[str, ...]
    box: Box


class Layout(NamedTuple):
    """A graph where it is drawn, in pixels."""

    nodes: list[Node]
    arrows: list[Arrow]
    start: Arrow
    """The arrow that leads to the first node."""
    view: Box


def layout(names: Sequence[str], accepting: Set[int], edges: Edges) -> Layout:
    """Lay a graph out.

    Parameters
    ----------
    names : sequence of str
        Of the nodes; all can be reached from the first.
    accepting : set of int
        The nodes with two circles.
    edges : mapping
        The lines of the label by (source, target).
    """
    at = _points(names, edges)
    corners: list[Point] = []
    curves = {edge: _curve(at, *edge) for edge in edges}
    boxes = _label_boxes(at, curves, edges)
    arrows = []
    for edge, lines in edges.items():
        curve, box = curves[edge], boxes[edge]
        arrows.append(Arrow(*edge, curve.path, _head(curve.bend, curve.end), tuple(map(_visible, lines)), box))
        corners += [(box[0], box[1]), (box[0] + box[2], box[1] + box[3])]
    x, y = at[0]
    tip = x - _RADIUS, y
    start_path = f"M{x - 2 * _RADIUS - 8:.0f} {y:.0f}H{tip[0]:.0f}"
    start = Arrow(-1, 0, start_path, _head((x - 2 * _RADIUS, y), tip), (), (x, y, 0.0, 0.0))
    nodes = []
    for number, (x, y) in enumerate(at):
        name = names[number] if len(names[number]) <= 12 else names[number][:11] + "…"
        nodes.append(Node(x, y, _visible(name), number in accepting))
        wide = max(_RADIUS, len(name) * _CHARACTER / 2)
        corners += [(x - wide, y - _RADIUS), (x + wide, y + _RADIUS)]
    corners.append((at[0][0] - 2 * _RADIUS - 16, at[0][1]))
    left, top = min(x for x, _ in corners) - 8, min(y for _, y in corners) - 8
    width, height = max(x for x, _ in corners) + 8 - left, max(y for _, y in corners) + 8 - top
    return Layout(nodes, arrows, start, (left, top, width, height))


def svg(names: Sequence[str], accepting: Set[int], edges: Edges) -> str:
    """Return an SVG document; the arguments are those of `layout`."""
    drawn = layout(names, accepting, edges)
    paths, labels, nodes = [], [], []
    for arrow in [*drawn.arrows, drawn.start]:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow.head)
        paths.append(f'<path d="{arrow.path}"/><polygon points="{points}"/>')
        if arrow.lines:
            left, top, width, height = arrow.box
            rectangle = f'x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}"'
            labels.append(f'<rect {rectangle} fill="#fff" fill-opacity="0.85"/>')
            for row, line in enumerate(arrow.lines):
                labels.append(_text(left + width / 2, top + (row + 0.8) * _LINE, line, "label"))
    for x, y, name, is_accepting in drawn.nodes:
        nodes.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{_RADIUS:.0f}"/>')
        if is_accepting:
            nodes.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{_RADIUS - 4:.0f}"/>')
        nodes.append(_text(x, y + 4, name, "name"))
    left, top, width, height = drawn.view
    view = f"{left:.0f} {top:.0f} {width:.0f} {height:.0f}"
    return _HEAD.format(view=view, width=width, height=height, left=left, top=top) + "\n".join(
        [*paths, *labels, *nodes, "</svg>\n"]
    )


_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{width:.0f}" height="{height:.0f}">\n'
    "<style>path, circle {{ fill: none; stroke: #333; stroke-width: 1.2 }} circle {{ fill: #fff }} "
    "polygon {{ fill: #333 }} text {{ font: 12px monospace; text-anchor: middle; white-space: pre }} "
    ".label {{ fill: #05a }}</style>\n"
    '<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" fill="#fff"/>\n'
)


class _Curve(NamedTuple):
    path: str
    bend: Point  # where the end's tangent comes from
    end: Point
    label: tuple[Point, ...]  # where it may be, best first
    side: Literal["above", "on", "below"]
    points: tuple[Point, ...]  # of the curve, a few pixels from one to the next


def _label_boxes(
    at: Sequence[Point], curves: Mapping[tuple[int, int], _Curve], edges: Edges
) -> dict[tuple[int, int], Box]:
    """Return where the labels go: each covers as little as possible of nodes, other labels and other edges.

    Labels are placed one after another, then again while this helps, since the positions of all are then known.
    """
    if not curves:  # a language of the empty text alone
        return {}
    circles = np.array([(x - _RADIUS, y - _RADIUS, 2 * _RADIUS, 2 * _RADIUS) for x, y in at])
    points = np.array([curve.points for curve in curves.values()]).reshape(len(curves), -1, 2)
    boxes = np.zeros((len(curves), 4))  # of no size until they are placed
    for _ in range(_SWEEPS):
        is_clear = True
        for number, (edge, curve) in enumerate(curves.items()):
            boxes[number] = 0
            candidates = np.array(_candidates(curve, edges[edge]))
            covered = 4 * _overlaps(candidates, circles) + _overlaps(candidates, boxes)
            covered += 40 * _counts(candidates, np.delete(points, number, axis=0).reshape(-1, 2))
            best = int(covered.argmin())
            boxes[number], is_clear = candidates[best], is_clear and not covered[best]
        if is_clear:
            break
    return {edge: (*map(float, box),) for edge, box in zip(curves, boxes, strict=True)}  # type: ignore[misc]


def _candidates(curve: _Curve, lines: Sequence[str]) -> list[Box]:
    """Return the boxes where a label may be, best first."""
    width, height = max(map(len, lines)) * _CHARACTER, _LINE * len(lines)
    rise = {"above": -height - 4, "on": -height / 2, "below": 4}
    sides = [curve.side, *(side for side in rise if side != curve.side)]
    found = [(x - width / 2, y + rise[side], width, height) for side in sides for x, y in curve.label]
    return found + [(left, y - height / 2, width, height) for x, y in curve.label for left in (x + 5, x - width - 5)]


def _overlaps(boxes: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each box the area that it shares with the others."""
    ends, other_ends = boxes[:, :2] + boxes[:, 2:], others[:, :2] + others[:, 2:]
    sizes = np.minimum(ends[:, None], other_ends) - np.maximum(boxes[:, None, :2], others[:, :2])
    areas: NDArray[np.float64] = sizes.clip(0).prod(axis=2).sum(axis=1)
    return areas


def _counts(boxes: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each box the number of points in it."""
    starts, ends = boxes[:, :2], boxes[:, :2] + boxes[:, 2:]
    in_box = (points[:, 0] > starts[:, :1]) & (points[:, 0] < ends[:, :1])
    in_box &= (points[:, 1] > starts[:, 1:]) & (points[:, 1] < ends[:, 1:])
    counts: NDArray[np.int64] = np.count_nonzero(in_box, axis=1)
    return counts


def _head(before: Point, tip: Point) -> tuple[Point, ...]:
    """Return the corners of an arrow's head."""
    length = hypot(tip[0] - before[0], tip[1] - before[1]) or 1.0
    x, y = (tip[0] - before[0]) / length, (tip[1] - before[1]) / length
    return (
        tip,
        (tip[0] - 9 * x - 3.5 * y, tip[1] - 9 * y + 3.5 * x),
        (tip[0] - 9 * x + 3.5 * y, tip[1] - 9 * y - 3.5 * x),
    )


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}">{escape(text, quote=False)}</text>'


def _visible(text: str) -> str:
    """Return a text without controls, which XML does not have."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _points(names: Sequence[str], edges: Edges) -> list[Point]:
    layer = [-1] * len(names)
    layer[0], queue = 0, [0]
    after: dict[int, list[int]] = {}
    for source, target in edges:
        after.setdefault(source, []).append(target)
    for node in queue:  # the list grows in the loop
        for target in after.get(node, []):
            if layer[target] < 0:
                layer[target] = layer[node] + 1
                queue.append(target)
    layers: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for node in queue:
        layers[layer[node]].append(node)
    _order(layers, layer, edges)
    looped = {source for source, target in edges if source == target}
    at: list[Point] = [(0.0, 0.0)] * len(names)
    x = 0.0
    for depth, nodes in enumerate(layers):
        labels = [
            max(map(len, lines))
            for (source, target), lines in edges.items()
            if {layer[source], layer[target]} == {depth, depth - 1} or (layer[source], layer[target]) == (depth, depth)
        ]
        x += (2 * _RADIUS + max(_GAP, max(labels, default=0) * _CHARACTER + 32)) if depth else 0
        heights = [
            2 * _RADIUS + _GAP * 1.1 + (_LINE * len(edges[node, node]) + 24 if node in looped else 0) for node in nodes
        ]
        below = [sum(heights[: index + 1]) for index in range(len(nodes))]
        middle = sum(below) / len(below)  # layers of one node are on one line, with loops or without
        for node, y in zip(nodes, below, strict=True):
            at[node] = x, y - middle
    return at


def _order(layers: list[list[int]], layer: Sequence[int], edges: Edges) -> None:
    """Sort each layer by the mean position of the neighbours in the one before, then in the one after, four times."""
    beside: dict[int, set[int]] = {}
    for source, target in edges:
        beside.setdefault(source, set()).add(target)
        beside.setdefault(target, set()).add(source)
    for sweep in range(8):
        step = 1 if sweep % 2 == 0 else -1
        for depth in range(len(layers))[::step]:
            fixed = depth - step
            if not 0 <= fixed < len(layers):
                continue
            row = {node: number / len(layers[fixed]) for number, node in enumerate(layers[fixed])}
            order = {node: number / len(layers[depth]) for number, node in enumerate(layers[depth])}

            def mean(node: int, row: dict[int, float] = row, order: dict[int, float] = order) -> float:
                found = [row[other] for other in beside.get(node, ()) if other in row]
                return sum(found) / len(found) if found else order[node]

            layers[depth].sort(key=mean)


def _curve(at: Sequence[Point], source: int, target: int) -> _Curve:
    (x1, y1), (x2, y2) = at[source], at[target]
    if source == target:
        side, rise = _RADIUS * 0.55, _RADIUS * 0.83
        bend, end = (x1 + 26, y1 - 52), (x1 + side, y1 - rise)
        path = f"M{x1 - side:.0f} {y1 - rise:.0f}C{x1 - 26:.0f} {y1 - 52:.0f} {bend[0]:.0f} {bend[1]:.0f} "
        controls = (x1 - side, y1 - rise), (x1 - 26, y1 - 52), bend, end
        return _Curve(f"{path}{end[0]:.0f} {end[1]:.0f}", bend, end, ((x1, y1 - 43),), "above", _sampled(controls))
    where: Literal["above", "on", "below"]
    if x2 > x1:
        bend, where = ((x1 + x2) / 2, (y1 + y2) / 2), "above" if abs(y2 - y1) < 1 else "on"
    elif x2 == x1:
        down = 1 if y2 > y1 else -1
        bend, where = (x1 + down * (30 + abs(y2 - y1) / 4), (y1 + y2) / 2), "on"
    else:
        bend, where = ((x1 + x2) / 2, max(y1, y2) + 50 + (x1 - x2) / 5), "below"
        others = [point for point in at if point not in (at[source], at[target])]
        for _ in range(24):  # deeper, until the curve is clear of other nodes
            curve = _sampled((at[source], bend, at[target]))[1:-1]
            if all(hypot(x - a, y - b) > _RADIUS + 6 for x, y in curve for a, b in others):
                break
            bend = bend[0], bend[1] + 20
    start, end = _towards(at[source], bend), _towards(at[target], bend)
    spots = [_along((start, bend, end), part) for part in (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78, 0.14, 0.86)]
    path = f"M{start[0]:.0f} {start[1]:.0f}Q{bend[0]:.0f} {bend[1]:.0f} {end[0]:.0f} {end[1]:.0f}"
    return _Curve(path, bend, end, tuple(spots), where, _sampled((start, bend, end)))


def _along(controls: Sequence[Point], part: float) -> Point:
    """Return the point of a Bézier curve that is so far along it (de Casteljau)."""
    points = list(controls)
    while len(points) > 1:
        points = [((1 - part) * x1 + part * x2, (1 - part) * y1 + part * y2) for (x1, y1), (x2, y2) in pairwise(points)]
    return points[0]


def _sampled(controls: Sequence[Point]) -> tuple[Point, ...]:
    return tuple(_along(controls, part / 24) for part in range(25))


def _towards(centre: Point, to: Point) -> Point:
    """Return the point of a circle that is nearest to another point."""
    length = hypot(to[0] - centre[0], to[1] - centre[1]) or 1.0
    return (
        centre[0] + (to[0] - centre[0]) * _RADIUS / length,
        centre[1] + (to[1] - centre[1]) * _RADIUS / length,
    )
