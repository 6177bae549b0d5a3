"""Check that replaced words do not come back: docs/glossary.md has one word for one thing.

Comments, docstrings, identifiers and messages of src/ and cpp/ are read, and the prose of the docs. An identifier is
read word by word: `begin_place` and `BeginPlace` have the word "place".

    python tools/check_words.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

REPLACED = {
    "behind": "after",
    "place|places": "position, state, node, source location or slot",
    "spell|spells|spelled|spelling|spellings|spellable": "tokenization, encoding or escape",
    "rows? of tokens|token rows?": "token sequence",
    "begun": "started, or partial",
    "shelf|shelves": "cache",
    "squeeze|squeezed": "bound by the budget",
    "settle|settles|settled": "commit, or decide",
    "sooner": "earlier",
    "dear": "slow, or expensive",
    "straight": "greedy, or directly",
    "apart": "separate, or differ",
    "fresh|freshly": "new",
    "sure": "context-free, or certain",
    "owes|owe": "requires",
}
"""Words that meant several things or nothing exact, and what to write instead."""

ALLOWED = [
    r"\bin[- ]place\b",
    r"\bin (the )?place of\b",
    r"\btakes? place\b",
    r"\bplaceholders?\b",
    r"\bdecimal places?\b",
    r"\bto place\b",
    r"\bplaces the\b",
    r"\bmakes? sure\b",
    r"\bbritish spelling\b",
    r"\bspelling=",
    r"\bsqueeze=",  # an argument of matplotlib
]
"""Phrases in which a word is the ordinary one."""

OWNERS = {
    "spell|spells|spelled|spelling|spellings|spellable": (
        "src/detent/sources/json_schema/",
        "src/detent/sources/calls/",
        "src/detent/turns/arguments.py",
        "src/detent/turns/object_nodes.py",
        "docs/algorithms/json-schema.md",
        "docs/json-schema.md",
    ),
}
"""Folders and files in which a word is a term of the glossary."""

EXEMPT = {"docs/glossary.md", "src/detent/models/weights/tokenizer.json"}

_ALLOWED = re.compile("|".join(ALLOWED))
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def problems(path: str, text: str) -> list[str]:
    """Return one line for each replaced word of a file."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        plain = _ALLOWED.sub(" ", _CAMEL.sub(" ", line).replace("_", " ").lower())
        for words, instead in REPLACED.items():
            match = re.search(rf"\b(?:{words})\b", plain)
            if match and not path.startswith(OWNERS.get(words, ("\n",))):
                found.append(f"{path}:{number}: {match[0]!r}; write {instead}")
    return found


def main() -> int:
    """Print the problems; 0 if there are none."""
    paths = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    paths += [path for folder in ("src", "cpp") for path in (ROOT / folder).rglob("*") if path.is_file()]
    found = []
    for path in sorted(paths):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in {".py", ".pyi", ".cc", ".h", ".md"} and name not in EXEMPT | {"CHANGELOG.md"}:
            found += problems(name, path.read_text(encoding="utf-8"))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
