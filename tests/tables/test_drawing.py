"""Drawings say what is drawn: edges, labels and circles, as Graphviz and as SVG."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import detent
from detent.tables.svg_layout import svg
from tests.support.table_constraints import random_pattern

ONE_TWO_THREE = detent.token_table([(1, 1, 2), (2, 2, 3), (3, 3, 1)], 1, [1])
DIGITS = detent.Vocabulary([b"0", b"1", b"2", b"3", b"4", b"<tool>", b""], eos_token_ids=[6], special_token_ids=[5])
SVG = "{http://www.w3.org/2000/svg}"


def test_an_automaton() -> None:
    drawn = detent.draw_automaton(detent.token_table([("a", (1, 4), "b"), ("b", 0, "b")], "a", ["b"]), DIGITS)
    assert drawn.dot().splitlines()[5:] == [
        '  0 [label="a"]',
        '  1 [label="b", shape=doublecircle]',
        "  0 -> 1 [label=\"'1', '2', '3', '4'\"]",
        "  1 -> 1 [label=\"'0'\"]",
        "}",
    ]
    hostile = detent.draw_automaton(detent.token_table([('"];<', "\\", '"];<')], '"];<', ['"];<'], over="characters"))
    assert r'[label="\"];<", shape=doublecircle]' in hostile.dot()
    assert '"];<' in [text.text for text in ElementTree.fromstring(hostile.svg()).iter(SVG + "text")]
    many = detent.draw_automaton(detent.token_table([(0, (0, 5000), 0)], 0, [0]), detent.load_model().vocabulary)
    assert many.edges[0].size == 5001
    assert "… 5001 in all" in many.svg()


def test_the_picture_of_the_docs() -> None:
    picture = Path(__file__).parents[2] / "docs" / "one-two-three.svg"
    assert picture.read_text(encoding="utf-8") == detent.draw_automaton(ONE_TWO_THREE).svg()


def test_languages_guides_tables_and_rules() -> None:
    language = detent.draw_automaton(detent.regex("a(b|c)*é"))
    assert [(edge.source, edge.target, edge.symbols) for edge in language.edges] == [
        (0, 1, ["a"]),
        (1, 1, ["b-c"]),
        (1, 2, ["\\xc3"]),
        (2, 3, ["\\xa9"]),
    ]
    assert language.accepting == {3}
    special = detent.draw_automaton(detent.literal("a") + detent.special_token("<tool>"))
    assert [edge.symbols for edge in special.edges] == [["a"], ["<tool>"]]
    by_token = detent.draw_automaton(detent.compile(detent.regex("12?"), DIGITS))
    assert [(edge.source, edge.target, edge.symbols) for edge in by_token.edges] == [(0, 1, ["'1'"]), (1, 2, ["'2'"])]
    assert by_token.accepting == {1, 2}
    called = detent.token_table([("s", 5, "t"), ("t", (0, 4), "t")], "s", ["t"])
    both = detent.draw_automaton(called & detent.regex("[01]"), DIGITS)
    assert [edge.symbols for edge in both.edges] == [["'<tool>'"], ["'0'", "'1'"]]
    table = detent.compile(ONE_TWO_THREE, DIGITS)
    assert detent.draw_automaton(detent.stack_tables([table, table])).edges == detent.draw_automaton(table).edges  # type: ignore[list-item]
    with pytest.raises(detent.LimitError, match="max_states=64"):
        detent.draw_automaton(detent.regex("a{80}"))
    with pytest.raises(detent.LimitError, match="calls itself have no end") as caught:
        detent.draw_automaton(detent.grammar('start: "(" start? ")"'))
    assert caught.value.subject == "states"
    with pytest.raises(detent.ArgumentError, match="for a vocabulary"):
        detent.draw_automaton(called & detent.regex("[01]"))
    with pytest.raises(detent.ArgumentError, match="got int"):
        detent.draw_automaton(3)  # type: ignore[arg-type]


def test_drawings_are_whole() -> None:
    """Every state, edge and symbol of random languages is drawn once, inside the picture, and nodes stand apart."""
    rng = random.Random(0)
    for _ in range(60):
        try:
            drawing = detent.draw_automaton(detent.regex(random_pattern(rng)))
        except detent.LimitError:
            continue
        root = ElementTree.fromstring(drawing.svg())
        left, top, width, height = map(float, root.attrib["viewBox"].split())
        circles = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root.iter(SVG + "circle")]
        assert len(circles) == len(drawing.names) + len(drawing.accepting)
        assert all(left < x < left + width and top < y < top + height for x, y in circles)
        places = set(circles)
        assert len(places) == len(drawing.names)
        assert all(abs(x - a) + abs(y - b) > 36 for x, y in places for a, b in places if (x, y) != (a, b))
        assert len(list(root.iter(SVG + "path"))) == len(drawing.edges) + 1
        shown = sorted(text.text or "" for text in root.iter(SVG + "text") if text.attrib["class"] == "label")
        if all(edge.size <= 4 for edge in drawing.edges):
            assert sorted(" ".join(edge.symbols) for edge in drawing.edges) == shown


def test_names_that_are_no_text() -> None:
    drawn = svg(["\x00\n", "long" * 10], {1}, {(0, 1): ["a\x01"], (1, 0): ["b"]})
    texts = [text.text or "" for text in ElementTree.fromstring(drawn).iter(SVG + "text")]
    assert texts == ["a\ufffd", "b", "\ufffd\ufffd", "longlonglon…"]
