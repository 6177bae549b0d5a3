"""Schemas of pydantic's types whose texts are all read as instances.

Pydantic's own JSON Schemas say less than its types: nothing of the digits of a Decimal, of the bounds of a date, of
time zones, schemes of URLs, or the keys of a dict. `make_generator` returns a generator that reads these from the
schemas of pydantic's core. Where a schema cannot say a constraint, the type is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from detent.errors import UnsupportedError
from detent.sources.json_schema.python_types import constrained
from detent.sources.json_schema.python_types.key_names import key_names
from detent.sources.json_schema.python_types.late_constraints import INTERNALS, with_constraints_inside
from detent.sources.json_schema.python_types.metadata import refuse_unread_fields
from detent.sources.json_schema.python_types.rust_patterns import as_ecma_pattern
from detent.sources.json_schema.python_types.web_addresses import url_pattern, urls_pattern
from detent.sources.nodes import short_repr
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

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.core_definitions: dict[str, Any] = {}

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
        return constrained.with_float_multiples({**found, **constrained.number_bounds(bounds)})

    def str_schema(self, schema: Any) -> dict[str, Any]:
        config: Any = self._config.config_dict
        found: Any = dict(schema)
        for name in ("min_length", "max_length", "strip_whitespace"):
            if found.get(name) is None and config.get(f"str_{name}"):
                found[name] = config[f"str_{name}"]
        size = sys.modules["pydantic"].ByteSize
        engine = found.get("regex_engine") or config.get("regex_engine")
        if found.get("pattern") == size.byte_string_pattern:
            units = "|".join(size.byte_sizes)
            found["pattern"] = rf"^(?:0|[1-9]\d{{0,17}})(?:\.\d{{1,9}})? ?(?:{units})?$"
        elif isinstance(found.get("pattern"), str) and engine != "python-re":
            found["pattern"] = as_ecma_pattern(found["pattern"])
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

    def is_subclass_schema(self, schema: Any) -> dict[str, Any]:
        raise UnsupportedError("a class has no form in JSON; use a Literal of names")

    def literal_schema(self, schema: Any) -> dict[str, Any]:
        _check_members(schema, schema["expected"])
        return super().literal_schema(schema)

    def enum_schema(self, schema: Any) -> dict[str, Any]:
        _check_members(schema, schema["members"])
        return super().enum_schema(schema)

    def chain_schema(self, schema: Any) -> dict[str, Any]:
        """Hold the constraints of strings, which pydantic checks in a step of their own."""
        first, *others = schema["steps"]
        made = self.generate_inner(first)
        conditions = []
        for step in others:
            if step["type"] == "is-instance" and step["cls"] is Hashable:
                conditions.append({"not": {"type": ["array", "object"]}})
            elif getattr(step.get("function", {}).get("function"), "__module__", None) == INTERNALS:
                if made.get("type") != "string" or first["type"].endswith("url"):
                    raise UnsupportedError("constraints of strings cannot be held for other types; leave them out")
                conditions.append(self.generate_inner(step))
        return {"allOf": [made, *conditions]} if conditions else made

    def tagged_union_schema(self, schema: Any) -> dict[str, Any]:
        """Ask for the tag, which pydantic reads before any default."""
        made = super().tagged_union_schema(schema)
        tag = made.get("discriminator", {}).get("propertyName")
        if tag is not None:
            made["oneOf"] = [
                {**choice, "required": list(dict.fromkeys([*choice.get("required", []), tag]))}
                for choice in made["oneOf"]
            ]
        return made

    def definitions_schema(self, schema: Any) -> dict[str, Any]:
        self.core_definitions.update((each["ref"], each) for each in schema["definitions"])
        return super().definitions_schema(schema)

    def generate_inner(self, schema: Any) -> dict[str, Any]:
        if schema["type"] in ("model", "dataclass", "typed-dict", "named-tuple") and "cls" in schema:
            refuse_unread_fields(schema["cls"])
        return super().generate_inner(with_constraints_inside(schema, self.core_definitions))

    def model_fields_schema(self, schema: Any) -> dict[str, Any]:
        return super().model_fields_schema(_with_names(schema, schema.get("model_name")))

    def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
        return super().typed_dict_schema(_with_names(schema, getattr(schema.get("cls"), "__name__", None)))

    def model_field_schema(self, schema: Any) -> dict[str, Any]:
        return self._of_field(super().model_field_schema, schema)

    def dataclass_field_schema(self, schema: Any) -> dict[str, Any]:
        return self._of_field(super().dataclass_field_schema, schema)

    def typed_dict_field_schema(self, schema: Any) -> dict[str, Any]:
        return self._of_field(super().typed_dict_field_schema, schema)

    def _of_field(self, make: Callable[[Any], dict[str, Any]], field: Any) -> dict[str, Any]:
        """Return the schema of a field; an error says which one, and of fields in fields the innermost."""
        try:
            self._check_alias(field)
            return make(field)
        except (UnsupportedError, sys.modules["pydantic"].PydanticUserError) as error:
            error.__dict__.setdefault("field", field["name"])
            raise

    def _check_alias(self, field: Any) -> None:
        alias, config = field.get("validation_alias"), self._config.config_dict
        has_name = config.get("validate_by_name") or config.get("populate_by_name")
        if has_name or alias is None or isinstance(alias, str):
            return
        if not any(isinstance(path, list) and len(path) == 1 for path in alias):
            raise UnsupportedError(f"the alias {short_repr(alias)} is a path, which is not held; use a name")

    def dict_schema(self, schema: Any) -> dict[str, Any]:
        return self._with_key_names(super().dict_schema(schema), schema)

    def frozendict_schema(self, schema: Any) -> dict[str, Any]:
        return self._with_key_names(super().frozendict_schema(schema), schema)

    def ordered_dict_schema(self, schema: Any) -> dict[str, Any]:
        return self._with_key_names(super().ordered_dict_schema(schema), schema)

    def counter_schema(self, schema: Any) -> dict[str, Any]:
        return self._with_key_names(super().counter_schema(schema), schema)

    def _with_key_names(self, made: dict[str, Any], schema: Any) -> dict[str, Any]:
        if "keys_schema" not in schema:
            return made
        made.pop("propertyNames", None)
        for values in made.pop("patternProperties", {}).values():
            made["additionalProperties"] = values
        names = key_names(schema["keys_schema"], self._without_reference, self.core_definitions)
        return {**made, "propertyNames": names} if names not in ({}, {"type": "string"}) else made

    def _without_reference(self, schema: Any) -> dict[str, Any]:
        made = self.generate_inner(schema)
        while "$ref" in made:
            made = self.get_schema_from_definitions(made["$ref"]) or {"type": "object"}
        return dict(made)


@cache
def make_generator() -> Any:
    """Return the class of the generator, a subclass of pydantic's `GenerateJsonSchema`."""
    import pydantic.json_schema

    return type("ExactSchemas", (_ExactSchemas, pydantic.json_schema.GenerateJsonSchema), {})


def _with_names(schema: Any, owner: str | None) -> Any:
    """Return a schema of fields each of which says its name, as those of dataclasses do."""
    prefix = f"{owner}." if owner else ""
    return {**schema, "fields": {name: {**field, "name": prefix + name} for name, field in schema["fields"].items()}}


def _with_length(made: dict[str, Any], schema: Any) -> dict[str, Any]:
    return made if schema.get("max_length") is None else {**made, "maxLength": schema["max_length"]}


def _check_members(schema: Any, members: list[Any]) -> None:
    """Refuse members that pydantic reads from no JSON, such as a plain Enum's in a Literal, or a tuple."""
    core = sys.modules["pydantic_core"]
    plain = {name: part for name, part in schema.items() if name not in ("ref", "metadata", "serialization")}
    reads = core.SchemaValidator(plain)
    for member in members:
        try:
            reads.validate_json(core.to_json(member.value if isinstance(member, Enum) else member))
        except (core.ValidationError, core.PydanticSerializationError):
            raise UnsupportedError(
                f"pydantic reads {short_repr(member)} from no JSON value; use an Enum of "
                "strings or numbers, or its value"
            ) from None
