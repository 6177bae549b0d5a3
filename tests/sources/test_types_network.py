"""Names and addresses against `ipaddress`, `uuid` and readings of the RFCs that know no patterns."""

from __future__ import annotations

import ipaddress
import re
import string
import uuid
from itertools import product

import pytest

import detent
from tests.support.typed_values import check, valid

_LETTERS = set(string.ascii_letters + string.digits)


def read_hostname(text):
    for label in text.split("."):
        if not 1 <= len(label) <= 63 or not set(label) <= _LETTERS | {"-"} or "-" in (label[0], label[-1]):
            raise ValueError
    if len(text) > 253:
        raise ValueError
    return text


def read_email(text):
    local, at, domain = text.rpartition("@")
    if not at or not 1 <= len(local) <= 64 or len(text) > 254:
        raise ValueError
    for atom in local.split("."):
        if not atom or not set(atom) <= _LETTERS | set("!#$%&'*+-/=?^_`{|}~"):
            raise ValueError
    read_hostname(domain)
    return text


def read_ipv6(text):
    if "%" in text:
        raise ValueError
    return ipaddress.IPv6Address(text)


def read_uuid(text):
    value = uuid.UUID(text)
    if str(value) != text:
        raise ValueError
    return value


def read_uri(text):
    """Take a URI apart as RFC 3986's appendix B does, then look at the characters of each part."""
    if "\n" in text:
        raise ValueError
    match = re.fullmatch(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", text)
    scheme, authority, path, query, fragment = match.groups()
    if not scheme or scheme[0] not in string.ascii_letters or not set(scheme) <= _LETTERS | set("+-."):
        raise ValueError
    if authority is not None:
        user, at, place = authority.rpartition("@")
        if at and (":" in user or user):
            check_characters(user, ":")
        read_place(place)
        if path and not path.startswith("/"):
            raise ValueError
    elif path.startswith("//"):
        raise ValueError
    check_characters(path, ":@/")
    check_characters(query or "", ":@/?")
    check_characters(fragment or "", ":@/?")
    return text


def read_place(place):
    if place.startswith("["):
        address, bracket, port = place[1:].partition("]")
        if not bracket or (port and port[0] != ":"):
            raise ValueError
        if address.startswith("v"):
            version, _, rest = address[1:].partition(".")
            if not version or not rest or not set(version) <= set(string.hexdigits) or "%" in rest:
                raise ValueError
            check_characters(rest, ":")
        else:
            read_ipv6(address)
        port = port[1:]
    else:
        name, _, port = place.partition(":")
        check_characters(name, "")
    if not set(port) <= set(string.digits):
        raise ValueError


def check_characters(text, more):
    text = re.sub("%[0-9A-Fa-f]{2}", "", text, flags=re.ASCII)
    if not set(text) <= _LETTERS | set("-._~!$&'()*+,;=" + more):
        raise ValueError


@pytest.mark.parametrize(
    ("language", "reference", "alphabet"),
    [
        (detent.hostname(), read_hostname, "aZ09.-_é "),
        (detent.email(), read_email, 'aZ0.-@+"( é!'),
        (detent.ipv4(), ipaddress.IPv4Address, "0123456789. "),
        (detent.ipv6(), read_ipv6, "0159afAFg:.%"),
        (detent.uuid(), read_uuid, "0129afAFg-{"),
        (detent.uri(), read_uri, "aZ09:/?#[]@%.-v~!^é\n"),
    ],
)
def test_texts_and_values(language, reference, alphabet):
    check(language, reference, alphabet)


@pytest.mark.parametrize(
    ("language", "reference", "alphabet", "longest", "start"),
    [
        (detent.hostname(), read_hostname, "a1-._", 6, ""),
        (detent.email(), read_email, "a.@-(", 6, ""),
        (detent.ipv6(), read_ipv6, ":1", 12, ""),
        (detent.ipv6(), read_ipv6, ":1", 9, "1:1:1:"),
        (detent.ipv6(), read_ipv6, ("::", ":", "1.2.3.4", "FFFF"), 7, ""),
        (detent.ipv4(), ipaddress.IPv4Address, ("0", "25", "6", "."), 7, ""),
        (detent.uri(), read_uri, "a:/?#[]@%1", 4, ""),
        (detent.uri(), read_uri, "a:/?#[]@%1", 4, "a:"),
        (detent.uri(), read_uri, "a:/?[]@.1v", 4, "a://"),
        (detent.uri(), read_uri, "a:/]@.1v%", 4, "a://["),
    ],
)
def test_every_short_text(language, reference, alphabet, longest, start):
    for length in range(longest + 1):
        for letters in product(alphabet, repeat=length):
            text = start + "".join(letters)
            assert language.accepts(text) == valid(reference, text), text


def test_every_address_once():
    assert detent.ipv4().count(15) == 2**32
    assert detent.uuid().count(36) == 16**32
    assert all(detent.uuid(version).count(36) == 16**30 * 4 for version in range(1, 9))
    assert detent.uuid(4).parse(str(uuid.UUID(int=5, version=4))).version == 4  # type: ignore[attr-defined]


def test_groups_of_an_ipv6_address():
    """Groups around ``::`` in every number, with and without an IPv4 address at the end."""
    language = detent.ipv6()
    for before, after, end in product(range(10), range(10), ("", "1.2.3.4")):
        for middle in (":", "::"):
            text = middle.join([":".join(["ab0"] * before), ":".join(["0C"] * after + [end] * bool(end))])
            assert language.accepts(text) == valid(read_ipv6, text), text


def test_lengths_of_names():
    label, name = "a" * 63, ".".join(["a" * 63] * 3)
    for text in (label, label + "a", f"{name}.{'a' * 61}", f"{name}.{'a' * 62}", "a." * 126 + "a", "a." * 127 + "a"):
        assert detent.hostname().accepts(text) == valid(read_hostname, text)
    for local in ("a" * 64, "a" * 65, "a." * 31 + "a", "a." * 32 + "a"):
        assert detent.email().accepts(f"{local}@example.org") == valid(read_email, f"{local}@example.org")
    for length in (58, 59, 60):
        text = f"{'l' * 2}@{name}.{'a' * length}"
        assert detent.email().accepts(text) == valid(read_email, text)


def test_schemes():
    language = detent.uri("https", "a+b")
    assert language.accepts("https://example.org/%C3%A9?x=1#y") and language.accepts("a+b:")
    assert not language.accepts("http://example.org") and not language.accepts("aab:")


@pytest.mark.parametrize(
    "call",
    [
        lambda: detent.uuid(0),
        lambda: detent.uuid(9),
        lambda: detent.uuid("4"),
        lambda: detent.uuid(True),
        lambda: detent.uri("https:"),
        lambda: detent.uri(""),
        lambda: detent.uri(["https"]),
    ],
)
def test_wrong_arguments(call):
    with pytest.raises(detent.ArgumentError):
        call()
