"""Hostile constraints made anew by code: families of inputs that are small and may cost much, each in three sizes.

A family is a kind of source and a function of a size. None is copied from a corpus.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from typing import Any

LETTERS = string.ascii_lowercase
Family = tuple[str, Callable[[int], Any], tuple[int, int, int]]


def _counted_words(size: int) -> str:
    return rf"(?:\w+\W+){{0,{size}}}\w{{{size},{2 * size}}}"


def _distances(size: int) -> str:
    return "(?:" + "|".join(rf".*{LETTERS[i]}.{{{size + i}}}" for i in range(6)) + ")*;"


def _lookaheads(size: int) -> str:
    return "".join(rf"(?=.*{LETTERS[i]}.{{{i}}}{LETTERS[-1 - i]})" for i in range(size)) + r".{1,200}"


def _lookbehinds(size: int) -> str:
    return rf"(?:[a-z](?<!{'[aeiou]' * min(size, 6)}))*[a-z]{{{size}}}"


def _shared_suffixes(size: int) -> str:
    return "|".join(f"{LETTERS[i % 26] * (i % 7 + 1)}.{{{i}}}end" for i in range(size))


def _nested_counts(size: int) -> str:
    return rf"(?:(?:[a-f]{{1,{size}}},){{1,{size}}};){{1,{size}}}"


def _excluded(size: int) -> str:
    return rf"(?!.*(?:{'|'.join(f'{a}.{{{i}}}{a}' for i, a in enumerate(LETTERS[:size]))})).*"


def _strings(size: int) -> dict[str, Any]:
    patterns = [{"pattern": f"{LETTERS[i]}.{{{i + 3}}}{LETTERS[i + 1]}"} for i in range(min(size, 20))]
    return {"type": "string", "allOf": patterns, "maxLength": 40 * size}


def _exclusive_patterns(size: int) -> dict[str, Any]:
    return {"oneOf": [{"type": "string", "pattern": f"^[^{a}]*{a}.{{{i + 2}}}"} for i, a in enumerate(LETTERS[:size])]}


def _overlapping_objects(size: int) -> dict[str, Any]:
    def one(first: int) -> dict[str, Any]:
        names = [f"p{(first + i) % size}" for i in range(size // 2)]
        return {
            "type": "object",
            "properties": {name: {"type": ["integer", "string"]} for name in names},
            "required": names,
        }

    return {"anyOf": [one(i) for i in range(size)]}


def _contained(size: int) -> dict[str, Any]:
    item = {
        "type": "object",
        "properties": {"k": {"type": "integer", "minimum": 3, "multipleOf": 7}},
        "required": ["k"],
    }
    return {"type": "array", "contains": item, "minContains": size, "maxContains": 2 * size, "maxItems": 4 * size}


def _unique_items(size: int) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string", "maxLength": 3}, "uniqueItems": True, "minItems": size}


def _names(size: int) -> dict[str, Any]:
    patterns = {f"^{a}.{{{i}}}": {"type": "integer", "multipleOf": i + 2} for i, a in enumerate(LETTERS[:size])}
    return {"type": "object", "patternProperties": patterns, "propertyNames": {"maxLength": size + 3}}


def _references(size: int) -> dict[str, Any]:
    definitions = {
        f"d{i}": {"anyOf": [{"type": "array", "items": {"$ref": f"#/$defs/d{(3 * i + k) % size}"}} for k in (1, 2)]}
        for i in range(size)
    }
    definitions["d0"] = {"anyOf": [{"type": "null"}, *definitions["d0"]["anyOf"]]}
    return {"$defs": definitions, "$ref": "#/$defs/d1"}


def _excluded_value(size: int) -> dict[str, Any]:
    return {"type": "string", "format": "email", "not": {"pattern": f"a.{{{size}}}b"}, "minLength": size}


def _conditions(size: int) -> dict[str, Any]:
    names = [f"c{i}" for i in range(size)]
    rules = [
        {"if": {"required": [one], "properties": {one: {"const": 1}}}, "then": {"required": [two]}}
        for one, two in zip(names, names[1:] + names[:1], strict=True)
    ]
    return {"type": "object", "properties": {name: {"enum": [0, 1]} for name in names}, "allOf": rules}


def _optional_chain(size: int) -> str:
    rules = "\n".join(f'o{i} ::= "{LETTERS[i % 26]}" o{(i * 5 + 1) % size} | ""' for i in range(size))
    return "root ::= " + " ".join(f"o{i}" for i in range(size)) + ' "!"\n' + rules


def _operators(size: int) -> str:
    levels = "\n".join(f'e{i} ::= e{i + 1} ("{LETTERS[i % 26]}" e{i + 1})* | "-" e{i}' for i in range(size))
    return f'root ::= e0\n{levels}\ne{size} ::= [0-9]+ | "(" e0 ")"'


def _brackets(size: int) -> str:
    rules = "\n".join(
        f'b{i} ::= "<{LETTERS[i]}>" (b{i} | b{(i + 1) % size})* "</{LETTERS[i]}>" | "."' for i in range(size)
    )
    return f"root ::= b0\n{rules}"


def _dangling(size: int) -> str:
    return 'start: s\ns: "if " s | "if " s " else " s | ' + " | ".join(f'"{LETTERS[i]}" s?' for i in range(size))


def _copies(size: int) -> str:
    return f'start: x~1..{size} ";" x~1..{size}\nx: /[a-z]{{1,{size}}}/ | x x'


def _keywords(size: int) -> str:
    words = [LETTERS[i % 26] + LETTERS[i // 26 % 26] + "word" for i in range(size)]
    tokens = "\n".join(f'K{i}: "{word}"' for i, word in enumerate(words))
    item = f"item: NAME ({' | '.join(f'K{i}' for i in range(size))})? NAME"
    return f'start: (item _NL)*\n{item}\nNAME: /[a-z]+/\n_NL: /\\n+/\n{tokens}\n%ignore " "'


def _lengths(size: int) -> str:
    return "".join(rf"(?=(?:.{{{prime}}})*$)" for prime in (2, 3, 5, 7, 11, 13, 17, 19)[:size]) + "[a-z]*"


def _echoes(size: int) -> str:
    return rf"(?:(?:a[ab]{{{size}}}a|b[ab]{{{size}}}b),)*;"


def _windows(size: int) -> str:
    return rf"(?:.*x.{{{size}}}y.*|.*y.{{{size}}}x.*)(?:z|.x){{{size},}}"


def _forbidden_pairs(size: int) -> str:
    return rf"(?:.(?<!a.{{{min(size, 200)}}}b))*"


def _nested_options(size: int) -> str:
    return "(?:" + "".join(f"(?:{LETTERS[i % 26]}[a-z]{{0,3}}" for i in range(size)) + ")?" * size + ")*"


def _words_of_classes(size: int) -> str:
    return rf"(?:\w{{1,{size}}}\s?[^\W\d]{{{size}}})*\d"


def _dates(size: int) -> dict[str, Any]:
    return {"type": "string", "format": "date-time", "not": {"pattern": f"1.{{{size}}}2"}, "pattern": f"3.{{{size}}}4"}


def _multiples(size: int) -> dict[str, Any]:
    return {"type": "integer", "multipleOf": size, "not": {"multipleOf": size + 1}, "minimum": -(10**size % 10**40)}


def _tuples(size: int) -> dict[str, Any]:
    items = [{"type": ["string", "integer"], "maxLength": i + 1} for i in range(size)]
    return {
        "type": "array",
        "prefixItems": items,
        "contains": {"minimum": 3},
        "minContains": 2,
        "maxContains": size // 2,
    }


def _named_patterns(size: int) -> dict[str, Any]:
    names = [{"pattern": f"{LETTERS[i]}.{{{i}}}$"} for i in range(size)]
    return {"type": "object", "propertyNames": {"anyOf": names}, "minProperties": size}


def _pieces(size: int) -> str:
    return f'root ::= piece{{0,{size}}} tail\npiece ::= [a-z]{{1,{size}}} " "?\ntail ::= [a-z ]{{{size}}} "."'


def _doubled(size: int) -> str:
    rules = "\n".join(f'd{i} ::= d{i + 1} d{i + 1} | "{LETTERS[i % 26]}"' for i in range(size))
    return f'root ::= d0 "!"\n{rules}\nd{size} ::= "z" | ""'


def _ignored(size: int) -> str:
    ignored = "\n".join(rf"%ignore /{LETTERS[i]}[^{LETTERS[i + 1]}\n]*{LETTERS[i + 1]}/" for i in range(0, size, 2))
    return f"start: item+\nitem: NAME /[0-9]+/ NAME?\nNAME: /[A-Z][a-zA-Z]*/\n{ignored}"


def _long_names(size: int) -> str:
    tokens = "\n".join(f"T{i}: /[a-z]{{{i + 1},{2 * i + 2}}}[0-9]/" for i in range(size))
    return f"start: ({' | '.join(f'T{i}' for i in range(size))})+\n{tokens}"


FAMILIES: dict[str, Family] = {
    "counted_words": ("regex", _counted_words, (10, 100, 1000)),
    "distances": ("regex", _distances, (8, 30, 200)),
    "lookaheads": ("regex", _lookaheads, (4, 8, 12)),
    "lookbehinds": ("regex", _lookbehinds, (3, 30, 300)),
    "shared_suffixes": ("regex", _shared_suffixes, (10, 100, 1000)),
    "nested_counts": ("regex", _nested_counts, (5, 50, 500)),
    "excluded": ("regex", _excluded, (4, 10, 26)),
    "strings": ("json_schema", _strings, (3, 6, 12)),
    "exclusive_patterns": ("json_schema", _exclusive_patterns, (3, 6, 12)),
    "overlapping_objects": ("json_schema", _overlapping_objects, (4, 8, 16)),
    "contained": ("json_schema", _contained, (2, 10, 50)),
    "unique_items": ("json_schema", _unique_items, (5, 50, 500)),
    "names": ("json_schema", _names, (3, 10, 25)),
    "references": ("json_schema", _references, (5, 50, 500)),
    "excluded_value": ("json_schema", _excluded_value, (3, 12, 40)),
    "conditions": ("json_schema", _conditions, (3, 6, 12)),
    "optional_chain": ("gbnf", _optional_chain, (5, 12, 25)),
    "operators": ("gbnf", _operators, (5, 20, 60)),
    "brackets": ("gbnf", _brackets, (2, 8, 24)),
    "dangling": ("lark", _dangling, (2, 8, 24)),
    "copies": ("lark", _copies, (3, 10, 40)),
    "keywords": ("lark", _keywords, (10, 100, 500)),
    "lengths": ("regex", _lengths, (3, 5, 8)),
    "echoes": ("regex", _echoes, (4, 12, 60)),
    "windows": ("regex", _windows, (3, 12, 60)),
    "forbidden_pairs": ("regex", _forbidden_pairs, (3, 20, 200)),
    "nested_options": ("regex", _nested_options, (5, 20, 80)),
    "words_of_classes": ("regex", _words_of_classes, (3, 12, 60)),
    "dates": ("json_schema", _dates, (1, 4, 9)),
    "multiples": ("json_schema", _multiples, (7, 96, 991)),
    "tuples": ("json_schema", _tuples, (4, 12, 40)),
    "named_patterns": ("json_schema", _named_patterns, (2, 5, 12)),
    "pieces": ("gbnf", _pieces, (3, 12, 60)),
    "doubled": ("gbnf", _doubled, (5, 20, 60)),
    "ignored": ("lark", _ignored, (4, 10, 24)),
    "long_names": ("lark", _long_names, (4, 16, 64)),
}


def cases() -> Iterator[dict[str, Any]]:
    """Yield the cases, as those of the corpora."""
    for name, (kind, make, sizes) in FAMILIES.items():
        for size in sizes:
            yield {"id": f"{name}_{size}", "kind": kind, "input": make(size)}
