"""Vocabularies without a token for some bytes: masks against a search over token steps, plain and canonical."""

from __future__ import annotations

import random
from typing import Any

import pytest

import detent
from detent.queries import ByteDfa

_WORDS = [
    "a",
    "b",
    "ab",
    "ba",
    "name",
    '":',
    '": "',
    '", "',
    '"}',
    '{"',
    "\\n",
    "\\u00",
    " ",
    "  ",
    "\n",
    "é",
    "éa",
    "漢",
    "漢字",
]
_ALL = {bytes([byte]) for byte in range(256)} | {word.encode() for word in _WORDS}

_MISSING: dict[str, bytes] = {
    "never in text": bytes([0xC0, 0xC1, *range(0xF5, 0x100)]),
    "control characters": bytes(range(0x20)),
    "ASCII": b"bz{u0",
    "lead bytes": bytes([0xC3, 0xE6, 0xF0, 0xF1]),
    "continuation bytes": bytes([0x80, 0xA9, 0xBC]),
    "letters of escapes": b"\\u09af",
    "all but a few": bytes(set(range(256)) - set(b'ab "\\{}:,n\n')),
}


def _vocabulary(tokens: set[bytes]) -> detent.Vocabulary:
    return detent.Vocabulary([*sorted(tokens), b""], eos_token_ids=[len(tokens)])


def _vocabularies() -> dict[str, detent.Vocabulary]:
    found = {}
    for name, missing in _MISSING.items():
        found[f"{name}, nowhere"] = _vocabulary({token for token in _ALL if not set(token) & set(missing)})
        inside = {bytes([byte, other]) for byte in missing for other in b"a\xa9"} | {
            bytes([97, byte]) for byte in missing
        }
        found[f"{name}, inside"] = _vocabulary(
            {token for token in _ALL | inside if len(token) > 1 or token[0] not in missing}
        )
    found["whole characters"] = _vocabulary({t for t in _ALL if len(t) > 1 or t[0] < 0x80})
    return found


_VOCABULARIES = _vocabularies()

_LANGUAGES: dict[str, detent.Language] = {
    "text": detent.regex("(?s).*"),
    "few characters": detent.regex("(a|b|é|漢)*b"),
    "string": detent.regex('"[^"]*"'),
    "count": detent.regex("(é|z){3,50}a"),
    "count of a missing byte": detent.regex("(z|\\x01){2,40}"),
    "literal": detent.regex("name: (é|b|zz)+"),
    "complement": ~detent.regex("(?s).*ab.*"),
    "without": detent.without("ab", "é", "z"),
    "lookahead": detent.regex("(?!zz)[a-zé]{1,9}(?<!b)"),
    "JSON string": detent.json_schema({"type": "string", "maxLength": 12}),
    "JSON string of a pattern": detent.json_schema({"type": "string", "pattern": "^[é漢\\n\\u0001]{1,40}$"}),
    "JSON object": detent.json_schema(
        {"type": "object", "properties": {"name": {"type": "string"}, "b": {"enum": ["é", "zb", "\n"]}}}
    ),
    "brackets": detent.regex("[({]{0,3}[a-zé漢]+[)}]{0,3}"),
    "members in any order": detent.json_schema(
        {
            "type": "object",
            "properties": {"a": {"const": "é"}, "b": {"type": "integer"}},
            "additionalProperties": False,
        },
        order="any",
    ),
    "bytes": detent.byte_class(bytes(range(256))).repeat(1, 3),
}


class _Search:
    """Which tokens lead on to a text that tokens can write: the states that tokens reach, searched breadth first."""

    def __init__(self, language: detent.Language, vocabulary: detent.Vocabulary) -> None:
        self.automaton: Any = ByteDfa(language._node)._core
        self.tokens = [(i, vocabulary.token_bytes(i)) for i in range(len(vocabulary) - 1)]
        self.rows: dict[int, list[int]] = {}
        self.steps: dict[int, dict[int, int]] = {}
        self.verdicts: dict[int, bool] = {}

    def row(self, state: int) -> list[int]:
        if state not in self.rows:
            self.rows[state] = self.automaton.row(state)
        return self.rows[state]

    def after(self, state: int, text: bytes) -> int:
        for byte in text:
            if state == 0:
                break
            state = self.row(state)[self.automaton.class_of[byte]]
        return state

    def tokens_of(self, state: int) -> dict[int, int]:
        if state not in self.steps:
            after = {token_id: self.after(state, text) for token_id, text in self.tokens}
            self.steps[state] = {token_id: next_state for token_id, next_state in after.items() if next_state}
        return self.steps[state]

    def is_live(self, state: int) -> bool:
        if state in self.verdicts:
            return self.verdicts[state]
        pending, seen = [state], {state}
        for at in pending:
            if self.automaton.accepting(at) or self.verdicts.get(at, False):
                self.verdicts[state] = True
                return True
            for after in self.tokens_of(at).values():
                if after not in seen:
                    seen.add(after)
                    pending.append(after)
        self.verdicts.update(dict.fromkeys(seen, False))
        return False

    def allowed(self, state: int) -> list[int]:
        eos = [len(self.tokens)] if self.automaton.accepting(state) else []
        return [token_id for token_id, after in self.tokens_of(state).items() if self.is_live(after)] + eos


@pytest.mark.parametrize("language", _LANGUAGES)
@pytest.mark.parametrize("gap", _VOCABULARIES)
def test_masks(gap: str, language: str) -> None:
    vocabulary = _VOCABULARIES[gap]
    search = _Search(_LANGUAGES[language], vocabulary)
    start = search.automaton.start
    if not search.is_live(start):
        with pytest.raises(detent.EmptyLanguageError, match="vocabulary's tokens"):
            detent.compile(_LANGUAGES[language], vocabulary)
        return
    guide = detent.compile(_LANGUAGES[language], vocabulary)
    for seed in range(4):
        choose = random.Random(seed)
        matcher, state = guide.matcher(), start
        for _ in range(10):
            allowed = search.allowed(state)
            assert matcher.allowed().tolist() == allowed, matcher.token_ids
            text = [token_id for token_id in allowed if token_id < len(search.tokens)]
            if not text:
                break
            token_id = choose.choice(text)
            matcher.advance(token_id)
            state = search.tokens_of(state)[token_id]
