"""Schemas of pydantic's types whose texts are all read as instances.

Pydantic's own JSON Schemas say less than its types: nothing of the digits of a Decimal, of the bounds of a date, of
time zones, schemes of URLs, or the keys of a dict. `make_generator` returns a generator that reads these from the
schemas of pydantic's core. Where a schema cannot say a constraint, the type is refused.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from detent.errors import UnsupportedError
from detent.sources.json_schema.python_types import constrained
from detent.sources.json_schema.python_types.web_addresses import url_pattern, urls_pattern
from detent.sources.rfc_grammars import IPV4, IPV6

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema as _Base
else:
    _Base = object

__all__ = ["make_generator", "pattern_of_format"]

# What Rust's trim takes away, which pydantic uses.
_NO_SPACE = r"[^\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_STRIPPED = rf"^(?:{_NO_SPACE}(?:[^]*{_NO_SPACE})?)?$"

_PREFIX4 = r"/(?:3[0-2]|[12]?\d)"
_PREFIX6 = r"/(?:12[0-8]|1[01]\d|[1-9]?\d)"
_COMPLEX_PART = r"(?:0|[1-9]\d{0,99})(?:\.\d{1,99})?(?:e[+-]?\d{1,2})?"
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_BINARY = "application/octet-stream"


def _base64(last: str, *, is_binary: bool) -> str:
    """Return the Base64 of bytes, or of ASCII; without bits after the last byte, as encoders write it."""
    digits = [each if each.isalnum() else f"\\{each}" for each in (*_ALPHABET, *last)]
    free = 0 if is_binary else 1  # the highest bit of a byte, 0 in ASCII
    first, second, third, fourth = (
        f"[{''.join(digit for value, digit in enumerate(digits) if not value & bits)}]"
        for bits in (32 * free, 8 * free, 2 * free, 0)
    )
    ends = [f"[{''.join(digits[value] for value in range(0, 64, 16))}]==", ""]
    ends[1] = f"{second}[{''.join(digits[value] for value in range(0, 64, 4))}]="
    return f"(?:{first}{second}{third}{fourth})*(?:{first}(?:{'|'.join(ends)}))?"


def _networks() -> tuple[str, str]:
    """Return the networks whose address has only zeros after the prefix: of IPv4, and of IPv6 in whole groups."""
    octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    forms = []
    for prefix in range(33):
        whole, bits = divmod(prefix, 8)
        parts = [octet] * whole
        if bits:
            parts.append(f"(?:{'|'.join(str(value) for value in range(0, 256, 2 ** (8 - bits)))})")
        parts += ["0"] * (4 - len(parts))
        forms.append(rf"{'[.]'.join(parts)}/{prefix}")
    group = "[0-9a-f]{1,4}"
    short = ["::/0", *(f"(?:{group}(?::{group}){{0,{count - 1}}})?::/{16 * count}" for count in range(1, 8))]
    return "|".join(forms), "|".join([*short, f"{':'.join([group] * 7)}:0/112", f"{':'.join([group] * 8)}/128"])


@cache
def _patterns() -> dict[str, str]:
    """Return the patterns of pydantic's own formats."""
    network4, network6 = _networks()
    interface4, interface6 = f"(?:{IPV4})(?:{_PREFIX4})?", f"(?:{IPV6})(?:{_PREFIX6})?"
    return {
        "ipvanyaddress": f"{IPV4}|{IPV6}",
        "ipv4interface": interface4,
        "ipv6interface": interface6,
        "ipvanyinterface": f"{interface4}|{interface6}",
        "ipv4network": network4,
        "ipv6network": network6,
        "ipvanynetwork": f"{network4}|{network6}",
        "fraction": r"-?(?:0|[1-9]\d*)(?:/[1-9]\d*)?",
        "base64": _base64("+/", is_binary=False),
        "base64url": _base64("-_", is_binary=False),
        f"base64 {_BINARY}": _base64("+/", is_binary=True),
        f"base64url {_BINARY}": _base64("-_", is_binary=True),
        **{f"uuid{version}": _uuid(version) for version in range(1, 9)},
    }


def _uuid(version: int) -> str:
    return f"[0-9A-Fa-f]{{8}}-[0-9A-Fa-f]{{4}}-{version}[0-9A-Fa-f]{{3}}-[89ABab][0-9A-Fa-f]{{3}}-[0-9A-Fa-f]{{12}}"


def pattern_of_format(schema: dict[str, Any]) -> str | None:
    """Return the pattern of a format that pydantic has of its own, or None."""
    name = schema.get("format")
    if schema.get("type") != "string" or not isinstance(name, str):
        return None
    pattern = _patterns().get(f"{name} {schema.get('contentMediaType')}") or _patterns().get(name)
    return None if pattern is None else f"^(?:{pattern})$"


class _ExactSchemas(_Base):
    """Reads the constraints of types from pydantic's core schemas."""

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        text, number = constrained.decimal_text(schema), constrained.decimal_number(schema)
        return number if text is None else {"anyOf": [number, text]}

    def fraction_schema(self, schema: Any) -> dict[str, Any]:
        number = {"type": "number", **constrained.number_bounds(schema)}
        is_bounded = len(number) > 1
        return number if is_bounded else {"anyOf": [number, {"type": "string", "format": "fraction"}]}

    def complex_schema(self, schema: Any) -> dict[str, Any]:
        part = _COMPLEX_PART
        return {"type": "string", "pattern": f"^-?(?:{part}(?:[+-]{part}j)?|{part}j)$"}

    def float_schema(self, schema: Any) -> dict[str, Any]:
        bounds = dict(schema)
        allows = schema.get("allow_inf_nan")
        if allows is None:
            allows = self._config.config_dict.get("allow_inf_nan", True)
        if not allows:
            largest = sys.float_info.max
            bounds = {"ge": -largest, "le": largest, **bounds}
        found = super().float_schema(schema)
        for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            found.pop(keyword, None)
        return {**found, **constrained.number_bounds(bounds)}

    def str_schema(self, schema: Any) -> dict[str, Any]:
        config: Any = self._config.config_dict
        found: Any = dict(schema)
        for name in ("min_length", "max_length", "strip_whitespace"):
            if found.get(name) is None and config.get(f"str_{name}"):
                found[name] = config[f"str_{name}"]
        size = sys.modules["pydantic"].ByteSize
        if found.get("pattern") == size.byte_string_pattern:
            units = "|".join(size.byte_sizes)
            found["pattern"] = rf"^(?:0|[1-9]\d{{0,17}})(?:\.\d{{1,9}})? ?(?:{units})?$"
        made = super().str_schema(found)
        if found.get("strip_whitespace"):
            made = {**made, "allOf": [*made.get("allOf", []), {"pattern": _STRIPPED}]}
        return made

    def bytes_schema(self, schema: Any) -> dict[str, Any]:
        encoding = self._config.config_dict.get("val_json_bytes", "utf8")
        lengths = schema.get("min_length"), schema.get("max_length")
        if encoding == "utf8":
            made = {**super().bytes_schema(schema), "contentMediaType": _BINARY}
            # A character above ASCII has several bytes.
            return made if lengths[1] is None else {**made, "pattern": r"^[\0-\x7f]*$"}
        if lengths != (None, None):
            raise UnsupportedError(f"the length of bytes as {encoding} cannot be held; leave it out")
        pattern = "(?:[0-9A-Fa-f]{2})*" if encoding == "hex" else _base64("-_", is_binary=True)
        return {"type": "string", "pattern": f"^{pattern}$"}

    def date_schema(self, schema: Any) -> dict[str, Any]:
        return constrained.date(schema)

    def time_schema(self, schema: Any) -> dict[str, Any]:
        return constrained.time(schema)

    def datetime_schema(self, schema: Any) -> dict[str, Any]:
        return constrained.date_time(schema)

    def timedelta_schema(self, schema: Any) -> dict[str, Any]:
        return constrained.duration(schema)

    def url_schema(self, schema: Any) -> dict[str, Any]:
        return _with_length({"type": "string", "pattern": url_pattern(schema)}, schema)

    def multi_host_url_schema(self, schema: Any) -> dict[str, Any]:
        return _with_length({"type": "string", "pattern": urls_pattern(schema)}, schema)

    def json_schema(self, schema: Any) -> dict[str, Any]:
        raise UnsupportedError("Json is a JSON text inside a string, which is not held; use the type itself")

    def dict_schema(self, schema: Any) -> dict[str, Any]:
        made = super().dict_schema(schema)
        if "keys_schema" not in schema:
            return made
        names = _as_names(self.generate_inner(schema["keys_schema"]))
        if names is not None:
            for values in made.pop("patternProperties", {}).values():
                made["additionalProperties"] = values
            made["propertyNames"] = names
        return made


@cache
def make_generator() -> Any:
    """Return the class of the generator, a subclass of pydantic's `GenerateJsonSchema`."""
    import pydantic.json_schema

    return type("ExactSchemas", (_ExactSchemas, pydantic.json_schema.GenerateJsonSchema), {})


def _with_length(made: dict[str, Any], schema: Any) -> dict[str, Any]:
    return made if schema.get("max_length") is None else {**made, "maxLength": schema["max_length"]}


def _as_names(keys: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the names that are read as keys that are no strings; None if pydantic's schema has them."""
    kind = keys.get("type")
    if kind == "boolean":
        return {"enum": ["true", "false"]}
    if kind in ("integer", "number"):
        constraints = {
            name: keys[keyword]
            for name, keyword in (
                ("ge", "minimum"),
                ("gt", "exclusiveMinimum"),
                ("le", "maximum"),
                ("lt", "exclusiveMaximum"),
                ("multiple_of", "multipleOf"),
            )
            if keyword in keys
        }
        if kind == "integer":
            constraints["decimal_places"] = 0
        names = None if keys.keys() & {"anyOf", "allOf", "not"} else constrained.decimal_text(constraints)
        if names is None:
            raise UnsupportedError("multiples as keys of a dict cannot be held; use a list of pairs")
        return {keyword: value for keyword, value in names.items() if keyword != "type"}
    if "pattern" in keys:
        return {keyword: value for keyword, value in keys.items() if keyword not in ("type", "title")}
    texts = [part for part in keys.get("anyOf", ()) if part.get("type") == "string"]
    if "anyOf" in keys and any(len(part) > 1 for part in texts):
        return texts[0] if len(texts) == 1 else {"anyOf": texts}
    return None
