"""`%regex {...}` of Lark grammars for language models: any run of the parts of a text, as llguidance has it.

%regex {"substring_chars": "text"}       any part of the text
%regex {"substring_words": "some text"}  any run of its words, of the spaces between them, and of other signs
%regex {"substring_chunks": ["a", "b"]}  any run of the chunks; nothing is a run, too
"""

from __future__ import annotations

import json
import re

from detent import _core
from detent.sources.diagnostics import GrammarText

__all__ = ["substrings"]

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_KINDS = ("substring_chars", "substring_words", "substring_chunks")


def substrings(text: str, source: GrammarText, offset: int) -> _core.Node:
    """Return the node of a `%regex`; linear in its text."""
    remedy = f"write one of {', '.join(_KINDS)}"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        source.malformed("%regex needs a JSON object", offset, 'as in %regex {"substring_words": "some text"}')
    if len(value) != 1 or next(iter(value)) not in _KINDS:
        source.unsupported(f"%regex with {', '.join(value) or 'nothing'}"[:100], offset, remedy)
    kind, content = next(iter(value.items()))
    chunks = content if kind == "substring_chunks" else [content]
    if not isinstance(chunks, list) or not all(isinstance(chunk, str) for chunk in chunks):
        source.malformed(f"{kind} needs {'a list of texts' if kind == _KINDS[2] else 'a text'}", offset, remedy)
    if kind != "substring_chunks":
        chunks = list(content) if kind == "substring_chars" else _WORDS.findall(content)
    if any("\ud800" <= character <= "\udfff" for chunk in chunks for character in chunk):
        source.malformed("%regex with half of a surrogate pair, which UTF-8 text never holds", offset, "take it away")
    # Rule i is a run that begins with chunk i, or nothing. It ends in a call of rule i + 1, so runs share their ends.
    rules = [
        _core.union([_core.epsilon(), _core.concat([_core.literal(chunk.encode()), _core.reference(index + 1)])])
        for index, chunk in enumerate(chunks)
    ]
    rules.append(_core.epsilon())
    rules.append(_core.union([_core.reference(index) for index in range(len(rules))]))
    return _core.grammar(rules, len(rules) - 1)
