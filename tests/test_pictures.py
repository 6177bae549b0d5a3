"""Pictures: pages that need nothing, say what is so, and escape everything."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from typing import Any

import pytest

import detent
from detent.generation.report import Alternative, Report, Rewind, Step
from detent.pictures import framed, page, shown_text, token_html

_VOID = {"meta", "br", "img", "input", "link", "hr"}
_HOSTILE = [
    b"<script>alert(1)</script>",
    b"\xff\xfe",
    b"\x00\n\x1b[31m",
    b'"><img src=x onerror=y>',
    "\u202e\u200b".encode(),
]


class _Page(HTMLParser):
    """The elements and the text of a page; raises where elements are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            assert not (self.open and self.open[-1] == "p" and tag in ("table", "p", "div", "ol")), "a block in a p"
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += "" if self.open and self.open[-1] == "style" else data


def _checked(text: str) -> _Page:
    """Return a page that fetches nothing and runs nothing."""
    read = _Page(text)
    for tag, attributes in read.elements:
        assert tag not in ("script", "link", "iframe", "object", "img", "base", "form")
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "href")}
    assert "url(" not in text
    assert "@import" not in text
    return read


@pytest.fixture(scope="module")
def person() -> tuple[Any, Any]:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "maximum": 120}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    rule = detent.json_schema(schema)
    prompt = "Anna Berg is 34. Anna Berg lives in Oslo. Write the person as JSON."
    return rule, detent.generate(detent.load_model(), prompt, rule, temperature=0, alternatives=6)


def test_the_page_of_a_report(person: tuple[Any, Any]) -> None:
    rule, out = person
    guide = detent.compile(rule, detent.load_model().vocabulary, canonical=True)
    free = detent.generate(detent.load_model(), "Write.", max_tokens=4, temperature=0)
    read = _checked(out.report.to_html(guide, title="A person", unconstrained=free.report))
    assert f"The rule costs {-out.report.log_mass:.2f} nats" in read.text
    steps = [attributes for tag, attributes in read.elements if "step" in (attributes.get("class") or "").split()]
    assert len(steps) == len(out.report.steps) + len(free.report.steps)
    assert all(attributes["tabindex"] == "0" for attributes in steps)
    forced = [each for each in steps if "forced" in (each["class"] or "")]
    assert len(forced) == sum(step.is_forced for step in (*out.report.steps, *free.report.steps))
    assert "/additionalProperties false" in read.text  # why a candidate was refused
    assert "Without the rule" in read.text
    assert "/age" in read.text  # where a token stands


def test_the_guide_of_another_rule_is_refused(person: tuple[Any, Any]) -> None:
    _, out = person
    guide = detent.compile(detent.date(), detent.load_model().vocabulary)
    with pytest.raises(detent.ArgumentError, match=r"the text of this report is none of .*date.*: token .* refused"):
        out.report.to_html(guide)


def test_probabilities_after_the_mask_sum_to_one_with_all_candidates() -> None:
    """Of a step whose candidates are the whole vocabulary."""
    vocabulary = detent.Vocabulary([b"a", b"b", b"c", b""], eos_token_ids=[3])
    logits = [0.0, 1.0, 2.0, -1.0]
    model = detent.models.CallableModel(lambda ids: logits, vocabulary)
    out = detent.generate(model, [0], detent.regex("[ab]"), max_tokens=2, alternatives=4, seed=1)
    step = out.report.steps[0]
    total = math.log(sum(map(math.exp, logits)))
    kept = math.log(math.exp(0.0) + math.exp(1.0)) - total
    assert step.log_mass == pytest.approx(kept)
    shown = out.report.to_html()
    for value in (0.0, 1.0):
        assert f"{100 * math.exp(value - total - kept):.1f} %" in shown


@pytest.mark.parametrize("token", _HOSTILE)
def test_hostile_tokens_are_escaped(token: bytes) -> None:
    step = Step(0, 1, -0.5, -1.0, (Alternative(1, -0.2, False), Alternative(0, -1.0, True)))
    rewind = Rewind(0, (0, 1), token)
    report = Report((step, Step(7)), (rewind, Rewind(2, (1,), None)), tokens={0: token, 1: token})
    read = _checked(report.to_html(title=token.decode(errors="replace")))
    assert "alert(1)" not in read.text or "<script>alert(1)</script>" in read.text
    assert not any(character in read.text for character in "\x00\x1b\u202e\u200b")
    for text in (token_html(token), shown_text(token), framed(shown_text(token.decode(errors="replace")))):
        _checked(text)


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (detent.regex("[0-9]{2}-[0-9]"), ["12-3", "12/3", "", "<b>"]),
        (detent.regex("<script>|&amp;"), ["<script>", "<"]),
        (detent.json_schema({"type": "object", "properties": {"a": {"maximum": 3}}}), ['{"a": 2}', '{"a": 4}']),
        (detent.grammar('start: "(" start ")" | "x"'), ["((x))", "(("]),
        (detent.date() | detent.without("never", "ever"), ["never", "2021-01-01"]),
        (detent.regex("a") & "b", ["a"]),
        (~detent.literal("a"), [b"a", b"\xff"]),
        (detent.special_token("<s>") + detent.regex("a+"), ["aa"]),
    ],
)
def test_pages_of_languages(language: detent.Language, texts: list[Any]) -> None:
    for text in [None, *texts]:
        read = _checked(language.to_html(text))
        if text is not None and language.accepts(text):
            assert "It is in the language" in read.text
    _checked(language._repr_html_())


def test_the_drawing_of_a_language_has_all_its_states() -> None:
    read = _checked(detent.regex("([0-9]+)?[.][0-9]+").to_html())
    circles = [tag for tag, _ in read.elements if tag == "circle"]
    assert len(circles) == 4  # three states, one of them with two circles
    assert "number of texts" in read.text
    assert "infinitely many" in read.text


def test_titles_show_patterns_with_their_own_backslashes() -> None:
    language = detent.regex(r"[0-9]+\.[0-9]")
    matcher = detent.compile(language, detent.Vocabulary([b"1", b".", b""], eos_token_ids=[2])).matcher()
    for picture in (language.to_html(), matcher._repr_html_()):
        assert [part in picture for part in (r"[0-9]+\.[0-9]", r"[0-9]+\\.[0-9]")] == [True, False]


def test_a_language_of_many_states_is_not_drawn() -> None:
    read = _checked(detent.regex("(?:[a-z]{9},){40}").to_html())
    assert "more than 24 states" in read.text


def test_what_notebooks_show(person: tuple[Any, Any]) -> None:
    rule, out = person
    guide = detent.compile(rule, detent.load_model().vocabulary)
    matcher = guide.matcher()
    matcher.advance_bytes(b'{"name": "')
    assert "text so far" in _checked(matcher._repr_html_()).text
    assert "ids" in _checked(guide._repr_html_()).text
    assert "Value" in _checked(out._repr_html_()).text
    assert "nats" in _checked(out.report._repr_html_()).text
    for shown in (rule, guide, matcher, out, out.report, detent.Turn(text="x")):
        bundle = shown._repr_mimebundle_()
        assert bundle["text/html"] == shown._repr_html_()
        assert bundle["text/plain"] == str(shown)
        assert "text/html" not in shown._repr_mimebundle_(exclude={"text/html"})
        assert set(shown._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}
    assert detent.regex("[0-9]+-")._repr_mimebundle_()["image/svg+xml"].startswith("<svg")
    turn = detent.Turn(thinking="hm <b>", text="x", calls=(detent.Call("f", {"a": "</pre>"}),), answer=[1])
    assert "Call of f" in _checked(turn._repr_html_()).text
    assert _checked(page("<t>", "<p>x</p>")).text.count("<t>") == 1


def test_the_plots_of_the_record_are_drawn_from_it() -> None:
    """The tables are read as they stand: names, numbers, and an escaped bar in a pattern."""
    plots = pytest.importorskip("benchmarks.plots", reason="matplotlib draws the plots")
    rows = plots.table(plots.REGEXES, "pattern", "engine", "warm mean µs")
    assert {row["engine"] for row in rows} == {"detent", "llguidance", "xgrammar", "outlines-core"}
    written = (plots.RECORD / f"{plots.REGEXES}.md").read_text("utf-8")
    assert f"| {rows[0]['warm mean µs']} |" in written
    assert [plots.number(text) for text in ("1,234.5 (3 %)", "12", "-", "")] == [1234.5, 12.0, None, None]
    for draw, _ in plots.PLOTS.values():
        assert draw().axes


def test_a_language_of_the_empty_text_has_a_picture() -> None:
    assert "<svg" in detent.regex("(|)+").to_html()
