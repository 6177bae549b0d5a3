"""Names and addresses: host names, mail, IP, UUID and URI, each after its RFC."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from uuid import UUID

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.sources.nodes import short_repr
from detent.sources.regex import regex
from detent.sources.rfc_grammars import IPV4, IPV6, SCHEME, absolute_uri
from detent.suggestions import suggests_names

__all__ = ["email", "hostname", "ipv4", "ipv6", "uri", "uuid"]

# RFC 1123, section 2.1.
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = rf"{_LABEL}(?:\.{_LABEL})*"

# RFC 5321, section 4.1.2: Dot-string and Domain.
_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_MAILBOX = rf"{_ATOM}(?:\.{_ATOM})*@{_HOSTNAME}"

_CHARACTER = regex("(?s:.)")._node


@dataclass(frozen=True)
class _IPv4Value:
    """From ``192.0.2.1`` to an address."""

    def __call__(self, text: str) -> ipaddress.IPv4Address:
        return ipaddress.IPv4Address(text)


@dataclass(frozen=True)
class _IPv6Value:
    """From ``2001:db8::1`` to an address."""

    def __call__(self, text: str) -> ipaddress.IPv6Address:
        return ipaddress.IPv6Address(text)


@dataclass(frozen=True)
class _UUIDValue:
    """From 32 digits in five groups to a UUID."""

    def __call__(self, text: str) -> UUID:
        return UUID(text)


def hostname() -> Language[str]:
    """Make the language of host names after RFC 1123: labels of letters, digits and inner hyphens, with points between.

    >>> import detent
    >>> detent.hostname().accepts("www.example.org"), detent.hostname().accepts("-a.org")
    (True, False)

    A label has up to 63 characters, a name up to 253. Names of digits alone are names; a point at the end, underscores
    and letters outside ASCII (other than as ``xn--``) are not.

    Returns
    -------
    Language
        Its value is the text.
    """
    return Language(_at_most(253, regex(_HOSTNAME)), "hostname")


def email() -> Language[str]:
    """Make the language of mail addresses after RFC 5321, in their common form: a dot-string, ``@``, a host name.

    >>> import detent
    >>> detent.email().accepts("ada.lovelace+notes@example.org")
    True

    ASCII only. Left out are quoted strings, address literals such as ``[192.0.2.1]``, and the comments and folding of
    RFC 5322. Up to 64 characters stand before the ``@``, and up to 254 make the whole.

    Returns
    -------
    Language
        Its value is the text.
    """
    local = regex("[^@]{1,64}@.*")
    return Language(_core.intersection([_at_most(254, regex(_MAILBOX)), local._node]), "email address")


def ipv4() -> Language[ipaddress.IPv4Address]:
    """Make the language of IPv4 addresses: four numbers from 0 to 255, without leading zeros.

    >>> import detent
    >>> detent.ipv4().parse("192.0.2.1")
    IPv4Address('192.0.2.1')

    Returns
    -------
    Language
        Its value is an `ipaddress.IPv4Address`.
    """
    return Language(regex(IPV4)._node, "IPv4 address", _IPv4Value())


def ipv6() -> Language[ipaddress.IPv6Address]:
    """Make the language of IPv6 addresses, in every form of RFC 4291: with ``::``, and with IPv4 at the end.

    >>> import detent
    >>> detent.ipv6().parse("2001:db8::192.0.2.1")
    IPv6Address('2001:db8::c000:201')

    Letters are of either case. There is no zone (``%eth0``) and no prefix length.

    Returns
    -------
    Language
        Its value is an `ipaddress.IPv6Address`.
    """
    return Language(regex(IPV6)._node, "IPv6 address", _IPv6Value())


@suggests_names
def uuid(version: int | None = None) -> Language[UUID]:
    """Make the language of UUIDs as RFC 9562 writes them: 32 digits 0-9 and a-f in five groups.

    >>> import detent
    >>> detent.uuid(4).parse("f47ac10b-58cc-4372-a567-0e02b2c3d479")
    UUID('f47ac10b-58cc-4372-a567-0e02b2c3d479')

    Parameters
    ----------
    version : int, optional
        From 1 to 8: only UUIDs that say so, in the variant of RFC 9562. Any 32 digits by default.

    Returns
    -------
    Language
        Its value is a `uuid.UUID`.

    Raises
    ------
    ArgumentError
        There is no such version.
    """
    if version is None:
        return Language(regex("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")._node, "UUID", _UUIDValue())
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= 8:
        raise ArgumentError(f"uuid needs a version from 1 to 8, got {short_repr(version)}")
    pattern = f"[0-9a-f]{{8}}-[0-9a-f]{{4}}-{version}[0-9a-f]{{3}}-[89ab][0-9a-f]{{3}}-[0-9a-f]{{12}}"
    return Language(regex(pattern)._node, f"UUID version {version}", _UUIDValue())


@suggests_names
def uri(*schemes: str) -> Language[str]:
    """Make the language of URIs after the grammar in appendix A of RFC 3986: a scheme, a colon, and the rest.

    >>> import detent
    >>> detent.uri().accepts("mailto:ada@example.org"), detent.uri().accepts("/relative")
    (True, False)
    >>> detent.uri("https").accepts("http://example.org")
    False

    Syntax only: the rules of a scheme (a host after ``http://``) are not checked. ASCII only, the rest is
    percent-encoded.

    Parameters
    ----------
    schemes : str
        The schemes that it may have, as they are written here; any by default.

    Returns
    -------
    Language
        Its value is the text.

    Raises
    ------
    ArgumentError
        A scheme is not written as RFC 3986 has it.
    """
    for scheme in schemes:
        if not isinstance(scheme, str) or not re.fullmatch(SCHEME, scheme):
            raise ArgumentError(f"uri needs schemes such as 'https', without the colon; got {short_repr(scheme)}")
    start = "|".join(map(re.escape, schemes)) or SCHEME
    described = f"URI ({', '.join(schemes)})" if schemes else "URI"
    return Language(regex(absolute_uri(scheme=f"(?:{start})"))._node, described)


def _at_most(length: int, language: Language) -> _core.Node:
    return _core.intersection([language._node, _core.repeat(_CHARACTER, 0, length)])
