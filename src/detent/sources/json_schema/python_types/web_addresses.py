r"""Patterns of the URLs of RFC 3986 that pydantic's parser takes, which is that of browsers (WHATWG).

Browsers read hosts more strictly: names in Punycode must decode, and a name whose last label is a number is an IPv4
address. So a host is a name of letters, digits, hyphens and underscores without Punycode whose last label begins with
a letter, or an address. Schemes are in small letters, and ports end at 65535.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from detent.errors import UnsupportedError
from detent.sources.nodes import short_repr
from detent.sources.rfc_grammars import IPV4, IPV6, PERCENT_ENCODED

__all__ = ["url_pattern", "urls_pattern"]

_WITH_HOST = ("ftp", "http", "https", "ws", "wss")
"""The schemes whose URLs have a host for browsers."""

_PLAIN = r"A-Za-z0-9\-._~!$&'()*+;="
_SEGMENT = f"(?:[{_PLAIN},:@]|{PERCENT_ENCODED})"
_PATH = f"(?:/{_SEGMENT}*)*"
_TAIL = rf"(?:\?(?:{_SEGMENT}|[/?])*)?(?:#(?:{_SEGMENT}|[/?])*)?"

_WORD = "[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_LAST = "[A-Za-z](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_HOST = rf"(?:(?:(?![Xx][Nn]--){_WORD}\.)*(?![Xx][Nn]--){_LAST}|{IPV4}|\[(?:{IPV6})\])"
_PORT = r"(?::(?:[1-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5]))?"
_USER = f"(?:(?:[{_PLAIN}:]|{PERCENT_ENCODED})*@)?"
_AUTHORITY = f"{_USER}{_HOST}{_PORT}"


def url_pattern(constraints: Mapping[str, Any]) -> str:
    """Return a pattern of the URLs of pydantic's `UrlConstraints`.

    >>> re.search(url_pattern({"allowed_schemes": ["https"]}), "https://example.org/a?b#c") is not None
    True
    """
    schemes = _schemes(constraints)
    # A default host or port is added to a URL without a host, or refuses it.
    needs_host = any(constraints.get(name) is not None for name in ("default_host", "default_port", "default_path"))
    needs_host = needs_host or bool(constraints.get("host_required"))
    with_host = f"//{_AUTHORITY}{_PATH}"
    free = (
        with_host
        if needs_host
        else f"(?:{with_host}|///{_SEGMENT}*{_PATH}|/(?:{_SEGMENT}+{_PATH})?|{_SEGMENT}+{_PATH}|)"
    )
    forms = [("|".join(_chosen(_WITH_HOST, schemes)), with_host)]
    forms.append(("|".join(_chosen(("file",), schemes)), f"//(?:{_HOST})?/{_SEGMENT}*{_PATH}"))
    if schemes is None:
        others = f"(?!(?:{'|'.join((*_WITH_HOST, 'file'))}):)[a-z][a-z0-9+.-]*"
    else:
        others = "|".join(re.escape(each) for each in schemes if each not in (*_WITH_HOST, "file"))
    forms.append((others, free))
    return f"^(?:{'|'.join(f'(?:{scheme}):{rest}' for scheme, rest in forms if scheme)}){_TAIL}$"


def urls_pattern(constraints: Mapping[str, Any]) -> str:
    """Return a pattern of the URLs with one host or several, with commas between them."""
    schemes = _schemes(constraints)
    start = "[a-z][a-z0-9+.-]*" if schemes is None else "|".join(map(re.escape, schemes))
    return f"^(?:{start})://{_AUTHORITY}(?:,{_AUTHORITY})*{_PATH}{_TAIL}$"


def _schemes(constraints: Mapping[str, Any]) -> list[str] | None:
    """Return the schemes that pydantic may find, which compares them after it made them small; None for any."""
    allowed: list[str] | None = constraints.get("allowed_schemes")
    found = None if allowed is None else [each for each in allowed if each == each.lower()]
    if found == []:
        raise UnsupportedError(f"no URL has a scheme of {short_repr(allowed)}; write schemes in small letters")
    return found


def _chosen(known: tuple[str, ...], allowed: list[str] | None) -> list[str]:
    return [each for each in known if allowed is None or each in allowed]
