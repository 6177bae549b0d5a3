"""Document: the frame of a picture, with its style; and how texts and numbers are written in it."""

from __future__ import annotations

import math
from html import escape

from detent.reason import printable

__all__ = ["fact_list", "framed", "page", "percent", "plain", "shown_text", "title_of", "token_html"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_STYLE = """
.detent { color-scheme: light dark; --card: light-dark(#fff, #1c2027); --sunk: light-dark(#f3f3ef, #14171c);
  --line: light-dark(#dcddd7, #3a4250); --ink: light-dark(#1b212b, #e7eaf0); --quiet: light-dark(#59616e, #a6b0be);
  --accent: light-dark(#0b6f6a, #4fc7bd); --bad: light-dark(#a8321a, #ff9d82); --soft: light-dark(#d3ebe8, #1f4a49);
  --taken: light-dark(#fdece7, #46281f); --focus: light-dark(#1d4ed8, #8ab4ff);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: var(--ink); background: var(--card);
  border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1.1rem; box-sizing: border-box; max-width: 76rem; }
body > .detent { margin: 1.2rem auto; }
.detent *, .detent { box-sizing: border-box; }
.detent h1 { font-size: 1.15rem; margin: 0 0 .4rem; } .detent h2 { font-size: 1rem; margin: 1.1rem 0 .4rem; }
.detent p { margin: .3rem 0; overflow-wrap: anywhere; } .detent .quiet { color: var(--quiet); }
.detent .headline { font-size: 1.05rem; } .detent .headline b { color: var(--accent); font-size: 1.35rem; }
.detent code, .detent .token, .detent pre { font: .93em ui-monospace, "DejaVu Sans Mono", Menlo, monospace; }
.detent pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--sunk); padding: .5rem .7rem;
  border-radius: 6px; margin: .3rem 0; }
.detent dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .15rem 1rem; margin: .4rem 0; }
.detent dt, .detent dd { float: none; width: auto; margin: 0; padding: 0; font-weight: 400; }
.detent dt { color: var(--quiet); white-space: nowrap; } .detent dd { overflow-wrap: anywhere; }
.detent ol.strip { list-style: none; margin: 0; padding: 0; }
.detent .sign { color: var(--quiet); } .detent .raw { color: var(--bad); }
.detent .band { position: relative; margin: .3rem 0; }
.detent .strip { display: flex; flex-wrap: wrap; gap: .3rem .15rem; align-items: flex-start; }
.detent .step { outline-offset: 1px; border-radius: 4px; }
.detent .step:focus-visible, .detent .scroll:focus-visible { outline: 2px solid var(--focus); }
.detent .step > .token { display: block; background: var(--soft); border-radius: 3px; padding: .05rem .22rem;
  white-space: pre; border: 1px solid transparent; }
.detent .step.overruled > .token { background: var(--taken); border-color: var(--bad); }
.detent .step.forced > .token { background: repeating-linear-gradient(135deg, var(--sunk) 0 4px, var(--line) 4px 6px); }
.detent .mass { display: block; height: 4px; margin-top: 2px; background: var(--line); border-radius: 2px; }
.detent .mass i { display: block; height: 100%; background: var(--accent); border-radius: 2px; }
.detent .step.overruled .mass i { background: var(--bad); }
.detent .taken-back { text-decoration: line-through; color: var(--bad); opacity: .85; white-space: pre; }
.detent .detail { display: none; position: absolute; left: 0; right: 0; top: 100%; z-index: 5; background: var(--card);
  border: 1px solid var(--line); border-radius: 6px; padding: .5rem .8rem; box-shadow: 0 6px 18px #0004; }
.detent .step:hover > .detail, .detent .step:focus > .detail { display: block; }
.detent .step:hover > .detail { z-index: 6; }
.detent table { border-collapse: collapse; font-size: .93em; margin: .3rem 0; }
.detent th { text-align: left; font-weight: 500; color: var(--quiet); }
.detent td, .detent th { padding: .12rem .9rem .12rem 0; vertical-align: top; background: none; border: 0;
  text-align: left; }
.detent td:last-child { overflow-wrap: anywhere; } .detent tr { background: none; }
.detent td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.detent tr.refused .token { text-decoration: line-through; color: var(--bad); }
.detent tr.chosen { font-weight: 600; }
.detent .scroll { overflow-x: auto; } .detent svg { max-width: none; display: block; }
.detent svg path, .detent svg circle { fill: none; stroke: var(--ink); stroke-width: 1.2; }
.detent svg circle { fill: var(--card); } .detent svg polygon { fill: var(--ink); }
.detent svg text { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; text-anchor: middle; white-space: pre;
  fill: var(--ink); }
.detent svg .label { fill: var(--accent); } .detent svg rect { fill: var(--card); fill-opacity: .85; }
.detent svg .here { fill: var(--soft); stroke: var(--accent); stroke-width: 2.5; }
@media (max-width: 500px) {
  .detent { padding: .6rem; } .detent dl { grid-template-columns: 1fr; }
  .detent .detail tr { display: grid; grid-template-columns: 2fr 2fr 2fr; }
  .detent .detail th:last-child { display: none; }
  .detent .detail td:last-child { grid-column: 1 / -1; padding-bottom: .5rem; }
  .detent .detail td:last-child:empty { display: none; } }
"""


def page(title: str, body: str) -> str:
    """Return a document of its own; nothing in it is fetched, and no script runs.

    >>> page("A", "<p>b</p>").count("<p>b</p>")
    1
    """
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{plain(title)}</title><style>:root {{ color-scheme: light dark }} "
        "body { margin: 0; padding: 0 .6rem; background: light-dark(#f5f5f2, #101318) }</style></head>"
        f"<body>{framed(body, 'main')}</body></html>\n"
    )


def framed(body: str, element: str = "div") -> str:
    """Return a body with its style, for a notebook."""
    return f'<{element} class="detent"><style>{_STYLE}</style>{body}</{element}>'


def token_html(token: bytes, most: int = 60) -> str:
    r"""Return a token's text: spaces and control characters as signs, bytes that are no UTF-8 in hexadecimal.

    >>> print(token_html(b"<b> \xff"))
    &lt;b&gt;<span class="sign">·</span><span class="raw">\xff</span>
    """
    shown = [_character_html(character) for character in token.decode("utf-8", "surrogateescape")[:most]]
    return (
        "".join(shown) + ('<span class="sign">…</span>' if len(token) > most else "") or '<span class="sign">∅</span>'
    )


_SIGNS = {" ": "·", "\n": "↵", "\r": "␍", "\t": "⇥"}


def _character_html(character: str) -> str:
    if 0xDC80 <= ord(character) <= 0xDCFF:
        return f'<span class="raw">\\x{ord(character) - 0xDC00:02x}</span>'
    if character in _SIGNS:
        return f'<span class="sign">{_SIGNS[character]}</span>'
    if not character.isprintable():
        return f'<span class="raw">{escape(character.encode("unicode_escape").decode())}</span>'
    return escape(character)


def shown_text(text: bytes | str, most: int = 2000) -> str:
    """Return a longer text for a `pre` element: lines stay lines, other control characters become signs."""
    decoded = text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text
    parts = [each if each == "\n" or each == " " else _character_html(each) for each in decoded[:most]]
    return "".join(parts) + ("…" if len(decoded) > most else "")


def plain(text: str) -> str:
    """Return a short text as it stands; characters that are not printable become escapes."""
    return escape(printable(text))


def title_of(description: str) -> str:
    r"""Return the description of a language with the backslashes of patterns as they were written, not doubled.

    >>> import detent
    >>> print(title_of(detent.regex(r"\d").description))
    regex '\d'
    """
    return description.replace("\\\\", "\\")


def percent(logarithm: float | None) -> str:
    """Return a probability of which the logarithm is given.

    >>> percent(math.log(0.5)), percent(-8.0), percent(-30.0), percent(None)
    ('50.0 %', '0.03 %', '9.4e-14', '')
    """
    if logarithm is None or math.isnan(logarithm):
        return ""
    value = math.exp(min(logarithm, 0.0))
    if value < 1e-4:
        return f"{value:.1e}" if value else "0"
    return f"{100 * value:.1f} %" if value >= 0.01 else f"{100 * value:.2f} %"


def fact_list(facts: list[tuple[str, str]]) -> str:
    """Return names and values, which are HTML, as a list."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in facts if value)
    return f"<dl>{rows}</dl>" if rows else ""
