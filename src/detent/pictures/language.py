"""Language: what its texts are, its automaton, and how a text is read; the same for guides and matchers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from detent.errors import DetentError
from detent.expected import expected_after
from detent.limits import Limits
from detent.pictures.automaton import automaton_svg, automaton_table
from detent.pictures.document import fact_list, plain, shown_text, title_of, token_html
from detent.pictures.samples import readable_samples
from detent.queries import ByteDfa
from detent.reason import listed
from detent.tables.drawing import Drawing, draw_table, table_by_bytes

if TYPE_CHECKING:
    from detent.guide import Guide
    from detent.language import Language
    from detent.matcher import Matcher

__all__ = ["guide_body", "language_body", "language_svg", "matcher_body"]

_DRAWN = 24
"""States of an automaton that is drawn."""
_EXPLORED = 400
"""States before equal ones are merged."""
_LIMITS = Limits(states=5_000, memory_bytes=32 << 20, work=2_000_000)
"""Bounds of every question: a page takes a fraction of a second."""
_LONGEST = 120
_SHOWN_TOKENS = 40


def language_body(language: Language[Any], text: str | bytes | None = None) -> str:
    """Return the HTML of a language: facts about its texts, its automaton, and where a text leaves it.

    Parameters
    ----------
    language : Language
        The language. Facts that would take too much work are left out, and the page says so.
    text : str or bytes, optional
        A text that is walked through the automaton.
    """
    parts = [f"<h1>{plain(title_of(language.description))}</h1>", fact_list(_facts(language))]
    if text is not None:
        parts.append(_reading(language, text))
    parts.append(_automaton(language))
    return "".join(parts)


def _facts(language: Language[Any]) -> list[tuple[str, str]]:
    try:
        dfa = ByteDfa(language._text_node(), _LIMITS)
        if dfa.is_empty():
            return [("texts", "none")]
        least, name = dfa._core.completion_bound(dfa.start), "a short text"
        short = dfa.some_completion(dfa.start)
    except DetentError as error:
        return [("texts", f"not found within the bounds of a page: {escape(str(error))}")]
    try:
        short, name = ByteDfa(language._text_node(), _LIMITS).shortest() or b"", "shortest text"
        least = len(short)
    except DetentError:  # a longer one is shown
        pass
    facts = [(name, _text(short)), ("some texts", "<br>".join(map(_text, readable_samples(dfa, least))))]
    try:
        longest = dfa.counts.longest()
        number = "infinitely many" if longest is None else f"{dfa.counts.count(longest):,}" if longest < 200 else ""
    except DetentError:
        number = ""
    facts.append(("number of texts", number))
    facts.append(("first characters", f"<code>{escape(expected_after(dfa, b''))}</code>"))
    return facts


def _text(text: bytes) -> str:
    return f"<code>{token_html(text, _LONGEST)}</code>"


def language_svg(language: Language[Any]) -> str | None:
    """Return the drawing of the automaton, in black on white; None if it is too large to be drawn."""
    drawing = _drawing(language)
    return None if drawing is None else drawing._repr_svg_()


def _automaton(language: Language[Any]) -> str:
    drawing = _drawing(language)
    if drawing is None:
        return f'<p class="quiet">The automaton has more than {_DRAWN} states, which a drawing does not show.</p>'
    return (
        '<h2>Automaton</h2><div class="scroll" tabindex="0" role="group" aria-label="Automaton">'
        f"{automaton_svg(drawing)}</div>"
        f"<details><summary>As a table</summary>{automaton_table(drawing)}</details>"
    )


def _drawing(language: Language[Any]) -> Drawing | None:
    try:
        return draw_table(table_by_bytes(language, _LIMITS, _EXPLORED), _DRAWN, in_bytes=True)
    except DetentError:
        return None


def _reading(language: Language[Any], text: str | bytes) -> str:
    mismatch = language.why(text)  # it checks the text
    data = text.encode() if isinstance(text, str) else bytes(text)
    if mismatch is None:
        return f"<h2>A text</h2><pre>{shown_text(data)}</pre><p>It is in the language.</p>"
    whole, position = mismatch.text, mismatch.position
    is_end = position == len(whole)
    found = "the text ends" if is_end else f"character {position} is <code>{shown_text(whole[position])}</code>"
    part = f" of {plain(mismatch.part)}" if mismatch.part else ""
    reasons = f", by {plain(listed(mismatch.reasons))}" if mismatch.reasons else ""
    example = f"<p>For example: {_text(mismatch.example.encode())}</p>" if mismatch.example is not None else ""
    hint = f"<p>{plain(mismatch.hint)}</p>" if mismatch.hint else ""
    return (
        f'<h2>A text</h2><pre>{shown_text(whole[:position])}<span class="raw"><b>'
        f"{shown_text(whole[position:])}</b></span></pre><p>It is not in the language: {found}, where "
        f"{plain(mismatch.expected)}{part} is expected{reasons}.</p>{example}{hint}"
    )


def guide_body(guide: Guide) -> str:
    """Return the HTML of a guide: its language, its vocabulary, and how much of it was built so far."""
    tokens = "any"
    if guide.canonical:
        tokens = "canonical only" if guide.canonical is True else "approximately canonical only"
    facts = [
        ("vocabulary", f"{len(guide.vocabulary):,} ids"),
        ("tokens", tokens),
        ("states so far", f"{guide.state_count:,}, {guide.memory_bytes / 1e6:.1f} MB"),
    ]
    return language_body(guide.language) + "<h2>Guide</h2>" + fact_list(facts)


def matcher_body(matcher: Matcher) -> str:
    """Return the HTML of a matcher: the text so far, the tokens that may follow, and the shortest completion."""
    vocabulary = matcher.guide.vocabulary
    state = "ended" if matcher.is_finished else "may end here" if matcher.is_accepting else "not complete"
    allowed: Sequence[int] = matcher.allowed().tolist()
    names = sorted(
        (vocabulary.token_bytes(token_id) for token_id in allowed[:5000]), key=lambda each: (-len(each), each)
    )
    tokens = " ".join(f"<code>{token_html(each, 24)}</code>" for each in names[:_SHOWN_TOKENS])
    facts = [
        ("rule", plain(title_of(matcher.guide.language.description))),
        ("text so far", f"<code>{token_html(matcher._text()[-_LONGEST:], _LONGEST)}</code>, {len(matcher)} steps"),
        ("the text", state),
        (
            "may follow",
            f"{len(allowed):,} of {len(vocabulary):,} tokens: {tokens}{' …' if len(names) > _SHOWN_TOKENS else ''}",
        ),
        ("shortest completion", _text(completion) if (completion := matcher._completion()) else ""),
    ]
    return "<h1>Matcher</h1>" + fact_list(facts)
