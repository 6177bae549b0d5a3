"""The JSON Schema test suite, draft 2020-12, on detent: a table by keyword.

    python -m benchmarks.schema_suite                       # members in the order of the schema
    python -m benchmarks.schema_suite --order any           # members in any order
    python -m benchmarks.schema_suite --keywords not oneOf  # these files alone, wrong verdicts in full

The suite asks about values, detent about texts. Each value is written by `json.dumps(data, ensure_ascii=False)`. Where
detent holds the members to the order of the schema, they are put into it first: names in the order in which the schema
declares them, other names after these. Texts have `spelling="any"`, since the suite asks about values such as 1.0.
Formats are assertions, but in format.json, whose tests want annotations: there each is given as any text.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, Literal

import detent
from benchmarks.process import ROOT

RECORDS = Path(__file__).with_name("record")
SUITE = ROOT.parent / "shared" / "data" / "json-schema-test-suite-2020-12-dev.jsonl.gz"
FORMATS = """
    date date-time time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri iri-reference
    uri-template uuid json-pointer relative-json-pointer regex
""".split()
COLUMNS = ("schemas", "tests", "right", "wrongly accepted", "wrongly rejected", "refused")


def declared(schema: Any) -> list[str]:
    """Return the names that a schema declares, in order: those of properties and constants, then required ones."""
    certain: dict[str, None] = {}
    required: dict[str, None] = {}
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            for keyword in ("properties", "const"):
                if isinstance(part.get(keyword), dict):
                    certain.update(dict.fromkeys(part[keyword]))
            for keyword in ("dependentRequired", "dependencies"):
                for name, others in part.get(keyword, {}).items():
                    required.update(dict.fromkeys([name, *(others if isinstance(others, list) else ())]))
            if isinstance(part.get("required"), list):
                required.update(dict.fromkeys(name for name in part["required"] if isinstance(name, str)))
            waiting.extend(reversed(part.values()))
        elif isinstance(part, list):
            waiting.extend(reversed(part))
    return list(certain | required)


def arranged(data: Any, names: list[str]) -> Any:
    """Return the value with the members of its objects in the order of the names, others after them."""
    if isinstance(data, list):
        return [arranged(item, names) for item in data]
    if not isinstance(data, dict):
        return data
    places = {name: place for place, name in enumerate(names)}
    keys = sorted(data, key=lambda key: places.get(key, len(names)))
    return {key: arranged(data[key], names) for key in keys}


def judge(case: dict[str, Any], order: Literal["schema", "any"]) -> Iterator[tuple[str, str]]:
    """Yield the column and the details of each test of a case."""
    # The file format.json holds formats to be annotations, as they are by default; detent asserts them.
    formats = dict.fromkeys(FORMATS, detent.text()) if case["file"] == "format.json" else {}
    try:
        language = detent.json_schema(case["schema"], order=order, spelling="any", formats=formats)
    except detent.EmptyLanguageError as error:
        # No value at all: right where no test has a valid one.
        for test in case["tests"]:
            yield ("wrongly rejected" if test["valid"] else "right"), f"{test['description']}: {error}"
        return
    except detent.DetentError as error:
        yield "refused", f"{type(error).__name__}: {error}".split("\n")[0]
        return
    names = declared(case["schema"])
    found = []
    for test in case["tests"]:
        text = json.dumps(arranged(test["data"], names) if order == "schema" else test["data"], ensure_ascii=False)
        try:
            accepted = language.accepts(text)
        except detent.LimitError as error:
            yield "refused", f"LimitError at {text[:60]}: {error}"
            return
        column = "right" if accepted == test["valid"] else "wrongly accepted" if accepted else "wrongly rejected"
        found.append((column, f"{test['description']}: {text}"))
    yield from found


def main() -> None:
    """Judge, print, and record if asked to."""
    warnings.simplefilter("ignore", detent.SchemaWarning)
    arguments = _arguments()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    refused: list[list[str]] = []
    wrong: list[list[str]] = []
    with gzip.open(SUITE, "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    for case in cases:
        keyword = case["file"].removesuffix(".json")
        if arguments.keywords and keyword not in arguments.keywords:
            continue
        counts[keyword]["schemas"] += 1
        counts[keyword]["tests"] += len(case["tests"])
        for column, details in judge(case, arguments.order):
            counts[keyword][column] += 1
            if column == "refused":
                refused.append([keyword, case["description"], details])
            elif column != "right":
                schema = json.dumps(case["schema"], ensure_ascii=False)
                wrong.append([keyword, f"{case['description']}: {schema}", f"{column}: {details}"])
    total = sum(counts.values(), Counter())
    rows = [[name, *[str(counts[name][column]) for column in COLUMNS]] for name in sorted(counts)]
    rows.append(["**all**", *[f"**{total[column]}**" for column in COLUMNS]])
    text = "\n".join(
        [
            f"# JSON Schema test suite, draft 2020-12, order={arguments.order!r}\n",
            f"{date.today()}; detent {detent.__version__}. *refused* counts schemas, the other verdicts count tests.\n",
            _table(["keyword", *COLUMNS], rows),
            "## Wrong\n",
            _table(["keyword", "schema", "test"], wrong) if wrong else "None.\n",
            "## Refused\n",
            _table(["keyword", "schema", "reason"], refused) if refused else "None.\n",
        ]
    )
    sys.stdout.write(text)
    if arguments.record:
        (RECORDS / f"{date.today()}-schema-suite-{arguments.order}.md").write_text(text, encoding="utf-8")


def _table(head: list[str], rows: list[list[str]]) -> str:
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *escaped])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schema_suite", description=__doc__.splitlines()[0])
    parser.add_argument("--order", choices=["schema", "any"], default="schema")
    parser.add_argument("--keywords", nargs="+", help="files of the suite, without .json")
    parser.add_argument("--record", action="store_true", help="write the page to benchmarks/record/ too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
