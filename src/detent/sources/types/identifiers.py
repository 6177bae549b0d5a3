"""Identifiers of daily life: phone numbers, slugs, versions, colours and bank accounts."""

from __future__ import annotations

from functools import cache

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.sources.nodes import check_flag, short_repr
from detent.sources.regex import regex
from detent.suggestions import suggests_names

__all__ = ["hex_colour", "iban", "phone", "semver", "slug"]

# https://semver.org/spec/v2.0.0.html, the regex of its FAQ.
_NUMBER = "(?:0|[1-9][0-9]*)"
_PRERELEASE = "(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMVER = (
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRERELEASE}(?:\.{_PRERELEASE})*)?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?"
)

# The account numbers of ISO 13616 by country: lengths of runs of digits (n) and capital letters (a).
_ACCOUNTS = {
    **{"AT": "16n", "BE": "12n", "CZ": "20n", "DE": "18n", "DK": "14n", "EE": "16n", "ES": "20n"},
    **{"FI": "14n", "GB": "4a14n", "HR": "17n", "HU": "24n", "IE": "4a14n", "IS": "22n", "LT": "16n", "NL": "4a10n"},
    **{"NO": "11n", "PL": "24n", "PT": "21n", "SE": "20n", "SI": "15n", "SK": "20n"},
}
_COUNTRIES = tuple(sorted(_ACCOUNTS))
_MODULUS = 97


def phone() -> Language[str]:
    """Make the language of international phone numbers after ITU-T E.164: a plus and up to 15 digits.

    >>> import detent
    >>> detent.phone().accepts("+4915123456789"), detent.phone().accepts("0151 234")
    (True, False)

    Returns
    -------
    Language
        Its value is the text.
    """
    return Language(regex(r"\+[1-9][0-9]{1,14}")._node, "phone number")


def slug() -> Language[str]:
    """Make the language of slugs: words of a-z and 0-9 with single hyphens between them.

    >>> import detent
    >>> detent.slug().accepts("exact-masks-2"), detent.slug().accepts("-a--b")
    (True, False)

    Returns
    -------
    Language
        Its value is the text.
    """
    return Language(regex("[a-z0-9]+(?:-[a-z0-9]+)*")._node, "slug")


def semver() -> Language[str]:
    """Make the language of the versions of Semantic Versioning 2.0.0.

    >>> import detent
    >>> detent.semver().accepts("1.2.0-rc.1+build.5"), detent.semver().accepts("01.2")
    (True, False)

    Returns
    -------
    Language
        Its value is the text.
    """
    return Language(regex(_SEMVER)._node, "semantic version")


@suggests_names
def hex_colour(*, alpha: bool = False) -> Language[str]:
    """Make the language of CSS colours in hexadecimal: ``#`` and 3 or 6 digits of either case.

    >>> import detent
    >>> detent.hex_colour().accepts("#1e90ff"), detent.hex_colour().accepts("#1e90ff80")
    (True, False)

    Parameters
    ----------
    alpha : bool
        Whether 4 or 8 digits, with opacity, count too.

    Returns
    -------
    Language
        Its value is the text.
    """
    check_flag(alpha, "hex_colour", "alpha")
    lengths = "{3}|{4}|{6}|{8}" if alpha else "{3}|{6}"
    pattern = "|".join(f"[0-9A-Fa-f]{length}" for length in lengths.split("|"))
    return Language(regex(f"#(?:{pattern})")._node, "hexadecimal colour")


@suggests_names
def iban(*countries: str) -> Language[str]:
    """Make the language of bank account numbers after ISO 13616, with correct check digits, without spaces.

    >>> import detent
    >>> detent.iban("DE", "GB").accepts("DE89370400440532013000")
    True
    >>> detent.iban().accepts("DE88370400440532013000")
    False

    Only countries whose account numbers have digits and letters at fixed positions are known: AT, BE, CZ, DE, DK, EE,
    ES, FI, GB, HR, HU, IE, IS, LT, NL, NO, PL, PT, SE, SI and SK. National check digits inside an account number are
    not checked.

    Parameters
    ----------
    countries : str
        The country codes that are allowed; all known ones by default.

    Returns
    -------
    Language
        Its value is the text. Takes some 2,000 nodes for each country.

    Raises
    ------
    ArgumentError
        A country is not known.
    """
    for country in countries:
        if not isinstance(country, str) or country not in _COUNTRIES:
            raise ArgumentError(f"iban knows the countries {', '.join(_COUNTRIES)}; got {short_repr(country)}")
    chosen = tuple(dict.fromkeys(countries)) or _COUNTRIES
    described = f"IBAN ({', '.join(chosen)})" if countries else "IBAN"
    return Language(_core.union([_account(country) for country in chosen]), described)


@cache
def _account(country: str) -> _core.Node:
    """Return the IBANs of a country, as an automaton over (position, remainder).

    1. An IBAN is valid if account, country and check digits, with A = 10 to Z = 35, make a number of remainder 1.
    2. So account * 10**6 + country * 100 + check = 1 (mod 97), which gives the remainder of the account for each pair
       of check digits.
    3. Reading starts with the remainder from which the account leads to 0, so the state needs no check digits.
    """
    kinds = _kinds(country)
    width = sum(2 if kind == "a" else 1 for kind in kinds)
    layer = {0: _core.epsilon()}
    for kind in reversed(kinds):
        symbols = [(chr(65 + value), 10 + value, 100) for value in range(26)]
        if kind == "n":
            symbols = [(str(value), value, 10) for value in range(10)]
        before: dict[int, _core.Node] = {}
        for remainder in range(_MODULUS):
            branches: dict[int, bytearray] = {}
            for symbol, value, factor in symbols:
                branches.setdefault((remainder * factor + value) % _MODULUS, bytearray()).extend(symbol.encode())
            options = [
                _core.concat([_core.byte_set(bytes(label)), layer[target]])
                for target, label in branches.items()
                if target in layer
            ]
            if options:
                before[remainder] = _core.union(options)
        layer = before
    code = int("".join(str(ord(letter) - 55) for letter in country)) * 100
    options = []
    for check in range(2, 99):
        account = (1 - code - check) * pow(10**6, -1, _MODULUS)
        start = -account * pow(pow(10, width, _MODULUS), -1, _MODULUS) % _MODULUS
        if start in layer:
            options.append(_core.concat([_core.literal(f"{check:02}".encode()), layer[start]]))
    return _core.concat([_core.literal(country.encode()), _core.union(options)])


def _kinds(country: str) -> str:
    """Return the kind of each character of an account number: n or a."""
    kinds, digits = "", ""
    for character in _ACCOUNTS[country]:
        if character.isdigit():
            digits += character
        else:
            kinds, digits = kinds + character * int(digits), ""
    return kinds
