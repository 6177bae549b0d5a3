"""Named reasons of refusals against judges of their own: python -m benchmarks.reasons [--count 400] [--seed 1].

Refusals are drawn at random: from patterns of MaskBench's schemas, read by the package `regex`; from MaskBench's
schemas, read by jsonschema; from grammars written for this file, read by an Earley recogniser. See
`tests/support/refusal_oracles.py`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import detent
from detent.reason import Reason
from detent.reason_search import find_reasons
from tests.support.refusal_oracles import NotJudgedError, Rows, judge_grammar, judge_pattern, judge_schema, refusals

DATA = Path(__file__).parents[2] / "shared/data/maskbench-dev.jsonl.gz"
PLAIN = "".join(map(chr, range(0x20, 0x7F)))
Case = tuple[str, str, str, tuple[Reason, ...], Callable[[], str]]

_WRITTEN = {
    "sums": 'root ::= term\n | root "+" term\n | root "-" term\nterm ::= factor\n | term "*" factor\n'
    'factor ::= digits\n | "(" root ")"\ndigits ::= [0-9]\n | [0-9] digits',
    "json": 'root ::= object\n | array\n | string\n | number\n | "true"\n | "false"\n | "null"\n'
    'object ::= "{}"\n | "{" members "}"\nmembers ::= pair\n | pair "," members\npair ::= string ":" root\n'
    'array ::= "[]"\n | "[" items "]"\nitems ::= root\n | root "," items\nstring ::= "\\"\\""\n | "\\"" letters "\\""\n'
    "letters ::= [a-z ]\n | [a-z ] letters\nnumber ::= [1-9]\n | [1-9] digits\ndigits ::= [0-9]\n | [0-9] digits",
    "select": 'root ::= "SELECT " columns " FROM " name\n | "SELECT " columns " FROM " name " WHERE " test\n'
    'columns ::= "*"\n | names\nnames ::= name\n | name ", " names\nname ::= [a-z]\n | [a-z] name\n'
    'test ::= name " = " value\n | test " AND " test\n | "NOT " test\nvalue ::= [0-9]\n | "\'" name "\'"',
    "calls": 'root ::= name "(" ")"\n | name "(" arguments ")"\narguments ::= value\n | value ", " arguments\n'
    "value ::= root\n | number\n | name\nname ::= [a-z_]\n | [a-z_] name\nnumber ::= [0-9]\n | [0-9] number\n"
    ' | "-" number',
    "lists": 'root ::= line\n | line "\\n" root\nline ::= "- " words\n | "* " words\n | "  " line\nwords ::= word\n'
    ' | word " " words\nword ::= [A-Za-z]\n | [A-Za-z] word',
    "url": 'root ::= scheme "://" host path\n | scheme "://" host\nscheme ::= "http"\n | "https"\n | "ftp"\n'
    'host ::= label\n | label "." host\nlabel ::= [a-z0-9]\n | [a-z0-9] label\npath ::= "/"\n | "/" label\n'
    ' | "/" label path',
    "tags": 'root ::= "<a>" inside "</a>"\n | "<b>" inside "</b>"\n | "<br/>"\ninside ::= root\n | text\n'
    " | root inside\n"
    " | text root\ntext ::= [a-z ]\n | [a-z ] text",
    "moves": 'root ::= move\n | move " " root\nmove ::= piece square\n | piece "x" square\n | square\n'
    ' | "O-O"\n | "O-O-O"\n'
    "piece ::= [KQRBN]\nsquare ::= [a-h] [1-8]",
    "logic": 'root ::= "(" root " and " root ")"\n | "(" root " or " root ")"\n | "not " root\n | "p"\n | "q"\n'
    ' | "forall " [x-z] ". " root\n | "P(" [x-z] ")"',
    "palindromes": 'root ::= "a"\n | "b"\n | "a" root "a"\n | "b" root "b"\n | "aa"\n | "bb"',
}


GRAMMARS = {name: text.replace("\n |", " |\n") for name, text in _WRITTEN.items()}
"""In GBNF a line that goes on ends with a bar."""


def schemas() -> list[tuple[str, Any]]:
    """Return the schemas of MaskBench's development part; none where the data are absent."""
    if not DATA.exists():
        return []
    with gzip.open(DATA, "rt") as file:
        rows = [json.loads(line) for line in file]
    return [(row["name"], row["schema"]) for row in rows]


def patterns(found: list[tuple[str, Any]]) -> list[str]:
    """Return the patterns in the schemas that `re` reads too."""
    texts: dict[str, None] = {}
    pending: list[Any] = [schema for _, schema in found]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            if isinstance(node.get("pattern"), str):
                texts[node["pattern"]] = None
            if isinstance(node.get("patternProperties"), dict):
                texts.update(dict.fromkeys(node["patternProperties"]))
        pending += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return sorted(text for text in texts if len(text) < 400 and text.isascii())


def pattern_cases(texts: list[str], rng: Random) -> Iterator[Case]:
    """Yield a refusal of each pattern, again and again; patterns that `re` does not read are left out."""
    while texts:
        text = rng.choice(texts)
        try:
            re.compile(text)
            language = detent.regex(text)
            if language.is_empty():
                continue
            for started, following in refusals(language, rng, PLAIN, 1):
                if not (started.isascii() and (started.isprintable() or not started)):
                    continue  # `regex` and `re` know different versions of Unicode
                reasons = find_reasons(language, started.encode(), following.encode())
                yield text, started, following, reasons, partial(judge_pattern, text, started, following, reasons, rng)
        except (detent.DetentError, re.error):
            continue


def begins_json(started: str, following: str) -> bool:
    """Return whether a JSON text begins so, or is this one."""
    dfa = detent.json_value(whitespace="compact")._dfa()
    return bool(dfa.after((started + following).encode())) if following else dfa.accepts(started.encode())


def schema_cases(found: list[tuple[str, Any]], rng: Random) -> Iterator[Case]:
    """Yield a refusal of each schema that is drawn; schemas that are refused or that are long are left out."""
    while found:
        name, schema = rng.choice(found)
        if len(json.dumps(schema)) > 6000:
            continue
        try:
            language = detent.json_schema(schema, whitespace="compact")
            if language.is_empty():
                continue
            for started, following in refusals(language, rng, '"aey0123456789-.,:{}[]tfn', 1):
                if rng.random() < 0.9 and not begins_json(started, following):
                    continue  # the syntax of JSON is the same for all schemas
                reasons = find_reasons(language, started.encode(), following.encode())
                yield name, started, following, reasons, partial(judge_schema, schema, started, following, reasons, rng)
        except detent.DetentError:
            continue


def grammar_cases(rng: Random) -> Iterator[Case]:
    """Yield refusals of the grammars of this file."""
    made = {name: (detent.gbnf(text), Rows(text)) for name, text in GRAMMARS.items()}
    while True:
        name = rng.choice(list(made))
        language, rows = made[name]
        for started, following in refusals(language, rng, PLAIN + "\n", 1):
            reasons = find_reasons(language, started.encode(), following.encode())
            yield name, started, following, reasons, partial(judge_grammar, rows, started, following, reasons)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="refusals of each kind")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = Random(arguments.seed)
    found = schemas()
    kinds = {
        "regexes": pattern_cases(patterns(found), rng),
        "schemas": schema_cases(found, rng),
        "grammars": grammar_cases(rng),
    }
    for kind, cases in kinds.items():
        verdicts: Counter[str] = Counter()
        rules, named, times = set(), Counter[str](), []
        for _, (rule, started, following, reasons, judge) in zip(range(arguments.count), cases, strict=False):
            began = time.perf_counter()
            try:
                wrong = judge()
            except NotJudgedError:
                verdicts["not judged"] += 1
                continue
            times.append(time.perf_counter() - began)
            verdicts["agrees" if not wrong else "differs"] += 1
            rules.add(rule)
            named.update({str(each.kind) for each in reasons} or {"none"})
            if wrong:
                print(f"{kind} {rule!r}: after {started!r} {following!r}: {[*map(str, reasons)]}: {wrong}")
        mean = 1000 * statistics.mean(times) if times else 0
        summary = f"{dict(verdicts)} in {len(rules)} rules; kinds {dict(named)}"
        print(f"{kind}: {summary}; {mean:.0f} ms to judge one", flush=True)


if __name__ == "__main__":
    main()
