"""Random schemas of every keyword, and random instances near what they ask for; all from one seed.

Names, texts and numbers come from small sets, so that keywords meet each other often. Numbers are exact in binary, and
patterns mean the same to ECMA-262 and to Python's `re`: what `jsonschema` says about them is then the truth.
"""

from __future__ import annotations

from random import Random
from typing import Any

NAMES = ["a", "ab", "b", "c", "é"]
TEXTS = ["", "a", "b", "ab", "ba", "aab", "é", '"', "\\/", "\t", "c😀", "2024-02-29", "2023-02-29", "10.0.0.1"]
NUMBERS = [0, 1, -1, 2, 3, 5, 10, -7, 1.0, 0.5, -0.25, 2.5, 12.0]
PATTERNS = ["^a", "b$", "^[ab]*$", "a|é", "^.{2}$", "[^a]", "^(ab)+", "^b?$"]
FORMATS = ["date", "ipv4", "uuid", "made-up"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
SCALARS = [None, True, False, *NUMBERS, *TEXTS]


def is_circular(schema: Any) -> bool:
    """Whether a definition applies to a value because it applies to that value, which has no meaning."""
    definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}
    reached = {name: _applied(definition) for name, definition in definitions.items()}
    for _ in reached:
        reached = {name: names.union(*[reached[other] for other in names]) for name, names in reached.items()}
    return any(name in names for name, names in reached.items())


def _applied(schema: Any) -> set[str]:
    """Return the definitions that a schema applies to the very value that it is applied to."""
    names = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict):
            continue
        if "$ref" in part:
            names.add(part["$ref"].rsplit("/", 1)[1])
        for keyword in ("allOf", "anyOf", "oneOf"):
            waiting += part.get(keyword, [])
        waiting += [part.get(keyword) for keyword in ("not", "if", "then", "else")]
        waiting += part.get("dependentSchemas", {}).values()
    return names


class RandomSchemas:
    """Schemas and instances from one source of chance."""

    def __init__(self, seed: int) -> None:
        self.choose = Random(seed)

    def schema(self, depth: int = 3) -> Any:
        """Make a schema, with definitions in half of the cases."""
        if self.choose.random() < 0.5:
            return self._schema(depth, [])
        names = NAMES[: self.choose.randint(1, 2)]
        schema = self._schema(depth, names)
        if isinstance(schema, dict):
            schema["$defs"] = {name: self._schema(depth - 1, names) for name in names}
        return schema

    def _schema(self, depth: int, names: list[str]) -> Any:
        choose = self.choose
        if choose.random() < 0.06:
            return choose.random() < 0.7
        if depth <= 0:
            return self._leaf()
        schema: dict[str, Any] = {}
        for _ in range(choose.choice([1, 1, 2, 2, 3])):
            self._add(schema, depth - 1, names)
        return schema

    def _leaf(self) -> dict[str, Any]:
        choose = self.choose
        match choose.randrange(6):
            case 0:
                return {"type": choose.choice(TYPES)}
            case 1:
                return {"type": choose.sample(TYPES, choose.randint(1, 3))}
            case 2:
                return {"const": self.value(1)}
            case 3:
                return {"enum": [self.value(1) for _ in range(choose.randint(1, 4))]}
            case 4:
                return {"type": "string", **self._text()}
            case _:
                return {"type": choose.choice(["integer", "number"]), **self._number()}

    def _text(self) -> dict[str, Any]:
        choose = self.choose
        match choose.randrange(5):
            case 0:
                return {"minLength": choose.randint(0, 3)}
            case 1:
                return {"maxLength": choose.randint(0, 3)}
            case 2:
                return {"format": choose.choice(FORMATS)}
            case _:
                return {"pattern": choose.choice(PATTERNS)}

    def _number(self) -> dict[str, Any]:
        name = self.choose.choice(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])
        return {name: self.choose.choice([1, 2, 0.5, 3, 2.5] if name == "multipleOf" else NUMBERS)}

    def _add(self, schema: dict[str, Any], depth: int, names: list[str]) -> None:
        choose = self.choose

        def some(count: int) -> list[Any]:
            return [self._schema(depth, names) for _ in range(count)]

        match choose.randrange(21):
            case 0 | 1:
                schema |= self._leaf()
            case 2 | 3 | 4:
                schema["properties"] = {name: self._schema(depth, names) for name in self._names()}
                if choose.random() < 0.6:
                    schema["type"] = "object"
                if choose.random() < 0.4:
                    schema["additionalProperties"] = choose.choice([False, False, self._schema(depth, names)])
            case 5:
                schema["required"] = self._names()
            case 6:
                patterns = choose.sample(PATTERNS, choose.randint(1, 2))
                schema["patternProperties"] = {pattern: self._schema(depth, names) for pattern in patterns}
            case 7:
                schema[choose.choice(["minProperties", "maxProperties"])] = choose.randint(0, 3)
            case 8:
                schema["propertyNames"] = choose.choice([{"pattern": choose.choice(PATTERNS)}, {"maxLength": 1}])
            case 9:
                schema["dependentRequired"] = {choose.choice(NAMES): self._names()}
            case 10:
                schema["dependentSchemas"] = {choose.choice(NAMES): self._schema(depth, names)}
            case 11:
                schema["items"] = self._schema(depth, names)
                if choose.random() < 0.6:
                    schema["type"] = "array"
                if choose.random() < 0.4:
                    schema["prefixItems"] = some(choose.randint(1, 2))
            case 12:
                schema[choose.choice(["minItems", "maxItems"])] = choose.randint(0, 3)
            case 13:
                schema["contains"] = self._schema(depth, names)
                if choose.random() < 0.5:
                    schema[choose.choice(["minContains", "maxContains"])] = choose.randint(0, 2)
            case 14:
                schema["uniqueItems"] = True
            case 15 | 16:
                schema[choose.choice(["allOf", "anyOf", "oneOf"])] = some(choose.randint(1, 3))
            case 17:
                schema["not"] = self._schema(depth, names)
            case 18:
                schema["if"], schema[choose.choice(["then", "else"])] = some(2)
            case 19:
                schema[choose.choice(["unevaluatedProperties", "unevaluatedItems"])] = choose.choice([False, *some(1)])
            case _ if names:
                schema["$ref"] = f"#/$defs/{choose.choice(names)}"
            case _:
                schema |= self._text() | self._number()

    def _names(self) -> list[str]:
        # Always in one order, so that no two parts of a schema ask for different ones.
        return sorted(self.choose.sample(NAMES, self.choose.randint(1, 3)), key=NAMES.index)

    def value(self, depth: int = 2) -> Any:
        """Make any value."""
        choose = self.choose
        if depth <= 0 or choose.random() < 0.5:
            return choose.choice(SCALARS)
        if choose.random() < 0.5:
            return [self.value(depth - 1) for _ in range(choose.randint(0, 3))]
        return {name: self.value(depth - 1) for name in choose.sample(NAMES, choose.randint(0, 3))}

    def instance(self, schema: Any, root: Any, depth: int = 4) -> Any:
        """Make a value that tries to be valid."""
        choose = self.choose
        if not isinstance(schema, dict) or depth <= 0:
            return self.value(1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return choose.choice(schema["enum"])
        parts = [schema.get(name) for name in ("not", "if", "then", "else")]
        parts += [part for name in ("allOf", "anyOf", "oneOf") for part in schema.get(name, ())]
        if "$ref" in schema:
            parts.append(root["$defs"][schema["$ref"].rsplit("/", 1)[1]])
        parts = [part for part in parts if part is not None]
        if parts and choose.random() < 0.7:
            value = self.instance(choose.choice(parts), root, depth - 1)
            if not isinstance(value, dict) or "properties" not in schema:
                return value
            return self._object(schema, root, depth) | value
        kind = schema.get("type") or choose.choice(TYPES)
        kind = choose.choice(kind) if isinstance(kind, list) else kind
        if {"properties", "required", "patternProperties", "minProperties"} & set(schema) and choose.random() < 0.8:
            kind = "object"
        if {"items", "prefixItems", "contains", "minItems", "uniqueItems"} & set(schema) and choose.random() < 0.8:
            kind = "array"
        match kind:
            case "null":
                return None
            case "boolean":
                return choose.random() < 0.5
            case "integer" | "number":
                return choose.choice(NUMBERS)
            case "string":
                return choose.choice(TEXTS)
            case "array":
                return self._array(schema, root, depth)
            case _:
                return self._object(schema, root, depth)

    def _array(self, schema: dict[str, Any], root: Any, depth: int) -> list[Any]:
        prefix = schema.get("prefixItems", [])
        rest = schema.get("items", schema.get("contains", schema.get("unevaluatedItems", True)))
        count = self.choose.randint(0, 3)
        return [self.instance(prefix[i] if i < len(prefix) else rest, root, depth - 1) for i in range(count)]

    def _object(self, schema: dict[str, Any], root: Any, depth: int) -> dict[str, Any]:
        choose = self.choose
        declared = schema.get("properties", {})
        names = [name for name in declared if name in schema.get("required", ()) or choose.random() < 0.5]
        names += [name for name in schema.get("required", ()) if name not in names and choose.random() < 0.9]
        if choose.random() < 0.4:
            names.append(choose.choice(NAMES))
        rest = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties", True)]
        return {name: self.instance(declared.get(name, choose.choice(rest)), root, depth - 1) for name in names}

    def mutated(self, value: Any) -> Any:
        """Change a value a little, somewhere."""
        choose = self.choose
        if isinstance(value, dict) and value and choose.random() < 0.8:
            name = choose.choice(list(value))
            match choose.randrange(4):
                case 0:
                    return {key: item for key, item in value.items() if key != name}
                case 1:
                    return value | {choose.choice(NAMES): self.value(1)}
                case _:
                    return value | {name: self.mutated(value[name])}
        if isinstance(value, list) and value and choose.random() < 0.8:
            place = choose.randrange(len(value))
            match choose.randrange(4):
                case 0:
                    return value[:place] + value[place + 1 :]
                case 1:
                    return [*value, choose.choice(value)]
                case _:
                    return [*value[:place], self.mutated(value[place]), *value[place + 1 :]]
        if isinstance(value, str) and choose.random() < 0.6:
            return value + choose.choice("ab") if choose.random() < 0.6 else value[1:]
        if isinstance(value, (int, float)) and not isinstance(value, bool) and choose.random() < 0.6:
            return value + choose.choice([1, -1, 0.5])
        return self.value(1)
