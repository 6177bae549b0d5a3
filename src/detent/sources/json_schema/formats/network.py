"""Formats of names and addresses: mail, hosts, IP, URI and IRI with their references and templates.

Each follows the grammar of its RFC. Limits of length are intersections with counts of characters.
"""

from __future__ import annotations

from detent import _core
from detent.sources.nodes import concat, repeat, union
from detent.sources.regex import regex
from detent.sources.rfc_grammars import (
    IPV4,
    IPV6,
    IPV6_GROUP,
    PERCENT_ENCODED,
    PRIVATE_CHARACTERS,
    UCS_CHARACTERS,
    absolute_uri,
    relative_reference,
)

__all__ = [
    "email",
    "hostname",
    "idn_email",
    "ipv4",
    "ipv6",
    "iri",
    "iri_reference",
    "uri",
    "uri_reference",
    "uri_template",
]

_ALNUM = "[A-Za-z0-9]"

# RFC 5321, section 4.1.3: other leading zeros, and :: replaces two groups or more.
_SNUM = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})"
_MAIL_IPV4 = rf"{_SNUM}(?:\.{_SNUM}){{3}}"
_FIRST_GROUPS = ["", *(f"{IPV6_GROUP}(?::{IPV6_GROUP}){{{n}}}" for n in range(6))]
_MAIL_IPV6 = "|".join(
    [
        f"{IPV6_GROUP}(?::{IPV6_GROUP}){{7}}",
        f"{IPV6_GROUP}(?::{IPV6_GROUP}){{5}}:{_MAIL_IPV4}",
        *(f"{groups}::(?:{IPV6_GROUP}(?::{IPV6_GROUP}){{0,{5 - n}}})?" for n, groups in enumerate(_FIRST_GROUPS[:6])),
        f"{_FIRST_GROUPS[6]}::",
        *(f"{groups}::(?:{IPV6_GROUP}:){{0,{4 - n}}}{_MAIL_IPV4}" for n, groups in enumerate(_FIRST_GROUPS[:5])),
    ]
)
_ADDRESS_LITERAL = rf"\[(?:{_MAIL_IPV4}|(?i:IPv6:)(?:{_MAIL_IPV6}))\]"

# RFC 5321, section 4.1.2; RFC 6531, section 3.3, adds every character above ASCII.
_ABOVE_ASCII = "\x80-\U0010ffff"
_LETTERS = r"\p{L}\p{N}"
_ATEXT = "A-Za-z0-9!#$%&'*+/=?^_`{|}~-"

_BYTE = _core.byte_set(bytes(range(256)))
_NO_POINT = _core.byte_set(bytes(value for value in range(256) if value != 0x2E))


def _node(pattern: str) -> _core.Node:
    return regex(pattern)._node


# In ASCII a character is a byte. The core counts characters beside the other conditions, not in them.
_CHARACTER = _node("(?s:.)")


def hostname() -> _core.Node:
    """Return the host names of RFC 1123: labels of up to 63 characters, up to 253 in all, none in Punycode.

    Labels in Punycode, which begin with ``xn--``, are left out: their validity is not regular.
    """
    punycode = _node(r"(?:.*\.)?(?i:xn--).*")
    return _core.intersection([_domain(_ALNUM, _ALNUM, 253, _CHARACTER), _core.complement(punycode)])


def email() -> _core.Node:
    """Return the mailboxes of RFC 5321: with quoted local parts and address literals, at most 64 and 255 octets."""
    return _mailbox("", _ALNUM, _ALNUM)


def idn_email() -> _core.Node:
    """Return the mailboxes of RFC 6531; labels of domains have letters, marks and digits of any script."""
    return _mailbox(_ABOVE_ASCII, rf"[{_LETTERS}]", rf"[{_LETTERS}\p{{M}}]")


def _domain(first: str, other: str, length: int, unit: _core.Node) -> _core.Node:
    """Return labels with points between; a label has a `first` character, then `other` characters and hyphens."""
    label = f"{first}{other}*(?:-+{other}+)*"
    lengths = concat(repeat(_NO_POINT, 1, 63), repeat(concat(".", repeat(_NO_POINT, 1, 63)), 0, None))
    return _core.intersection([_node(rf"{label}(?:\.{label})*"), lengths, repeat(unit, 0, length)])


def _mailbox(above: str, first: str, other: str) -> _core.Node:
    unit = _BYTE if above else _CHARACTER
    atom, quoted = f"[{above}{_ATEXT}]+", rf'"(?:[{above} !#-\[\]-~]|\\[ -~])*"'
    local_part = _core.intersection([_node(rf"{atom}(?:\.{atom})*|{quoted}"), repeat(unit, 1, 64)])
    return concat(local_part, "@", union(_domain(first, other, 255, unit), _node(_ADDRESS_LITERAL)))


def ipv4() -> _core.Node:
    """Return the IPv4 addresses: four numbers from 0 to 255, without leading zeros."""
    return _node(IPV4)


def ipv6() -> _core.Node:
    """Return the IPv6 addresses of RFC 4291, without zones."""
    return _node(IPV6)


def uri() -> _core.Node:
    """Return the URIs of RFC 3986."""
    return _node(absolute_uri())


def uri_reference() -> _core.Node:
    """Return the URIs and relative references of RFC 3986."""
    return _node(f"{absolute_uri()}|{relative_reference()}")


def iri() -> _core.Node:
    """Return the IRIs of RFC 3987."""
    return _node(absolute_uri(UCS_CHARACTERS, PRIVATE_CHARACTERS))


def iri_reference() -> _core.Node:
    """Return the IRIs and relative references of RFC 3987."""
    return _node(
        f"{absolute_uri(UCS_CHARACTERS, PRIVATE_CHARACTERS)}|{relative_reference(UCS_CHARACTERS, PRIVATE_CHARACTERS)}"
    )


def uri_template() -> _core.Node:
    """Return the templates of RFC 6570, of every level; apostrophes are literals too, as in its errata."""
    literal = rf"[!#$&-;=?-\[\]_a-z~{UCS_CHARACTERS}{PRIVATE_CHARACTERS}]|{PERCENT_ENCODED}"
    name = rf"(?:[A-Za-z0-9_]|{PERCENT_ENCODED})+(?:\.(?:[A-Za-z0-9_]|{PERCENT_ENCODED})+)*"
    variable = rf"{name}(?::[1-9][0-9]{{0,3}}|\*)?"
    return _node(rf"(?:{literal}|\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}})*")
