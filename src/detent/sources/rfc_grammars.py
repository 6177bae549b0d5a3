"""Grammars of RFCs that the typed values and the formats of JSON Schema share, as patterns of `detent.regex`."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "IPV4",
    "IPV6",
    "IPV6_GROUP",
    "PERCENT_ENCODED",
    "PRIVATE_CHARACTERS",
    "SCHEME",
    "UCS_CHARACTERS",
    "absolute_uri",
    "relative_reference",
]

# RFC 3986, section 3.2.2, which has the forms of RFC 4291.
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
IPV6_GROUP = _G = "[0-9A-Fa-f]{1,4}"
_LAST_TWO = f"(?:{_G}:{_G}|{IPV4})"
IPV6 = "|".join(
    [
        f"(?:{_G}:){{6}}{_LAST_TWO}",
        *(f"(?:(?:{_G}:){{0,{4 - n}}}{_G})?::(?:{_G}:){{{n}}}{_LAST_TWO}" for n in range(4, -1, -1)),
        f"::(?:{_G}:){{5}}{_LAST_TWO}",
        f"(?:(?:{_G}:){{0,5}}{_G})?::{_G}",
        f"(?:(?:{_G}:){{0,6}}{_G})?::",
    ]
)

# RFC 3986, appendix A, and RFC 3987, section 2.2.
PERCENT_ENCODED = "%[0-9A-Fa-f]{2}"
SCHEME = r"[A-Za-z][A-Za-z0-9+\-.]*"
_SUB_DELIMS = "!$&'()*+,;="
UCS_CHARACTERS = "\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane * 0x10000 + (0x1000 if plane == 14 else 0))}-{chr(plane * 0x10000 + 0xFFFD)}" for plane in range(1, 15)
)
PRIVATE_CHARACTERS = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"


def absolute_uri(above: str = "", private: str = "", scheme: str = SCHEME) -> str:
    """Return a pattern of URIs; with characters above ASCII, of IRIs."""
    path = _paths(above)
    return f"{scheme}:(?:{path.rooted}|{path.segment}+(?:/{path.segment}*)*|){_tail(above, private)}"


def relative_reference(above: str = "", private: str = "") -> str:
    """Return a pattern of relative references, of URIs or IRIs."""
    path = _paths(above)
    return f"(?:{path.rooted}|{path.no_colon}+(?:/{path.segment}*)*|){_tail(above, private)}"


class _Paths(NamedTuple):
    rooted: str  # an authority and its path, or a path from the root
    segment: str  # one character of a segment
    no_colon: str


def _paths(above: str) -> _Paths:
    plain = rf"A-Za-z0-9\-._~{above}{_SUB_DELIMS}"
    segment = f"(?:[{plain}:@]|{PERCENT_ENCODED})"
    user, name = (
        f"(?:[{plain}:]|{PERCENT_ENCODED})*",
        f"(?:[{plain}]|{PERCENT_ENCODED})*",
    )  # an IPv4 address is a name, too
    future = rf"[vV][0-9A-Fa-f]+\.[A-Za-z0-9\-._~{_SUB_DELIMS}:]+"
    authority = rf"(?:{user}@)?(?:{name}|\[(?:{IPV6}|{future})\])(?::[0-9]*)?"
    rooted = f"//{authority}(?:/{segment}*)*|/(?:{segment}+(?:/{segment}*)*)?"
    return _Paths(rooted, segment, f"(?:[{plain}@]|{PERCENT_ENCODED})")


def _tail(above: str, private: str) -> str:
    plain = rf"A-Za-z0-9\-._~{above}{_SUB_DELIMS}:@/?"
    return rf"(?:\?(?:[{plain}{private}]|{PERCENT_ENCODED})*)?(?:#(?:[{plain}]|{PERCENT_ENCODED})*)?"
