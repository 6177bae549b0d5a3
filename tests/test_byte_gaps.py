"""Vocabularies without a token for some bytes: masks against a search over token steps, plain and canonical."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.queries import ByteDfa
from detent.vocabulary.byte_level import CHARACTER_OF_BYTE

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
    "lookaheads": detent.regex("(?=a[^b])(?:a|b|é|z|漢)*(?<!é)b?(?!z)z*"),
    "word boundaries": detent.regex(r"(?:\bz?[aé]+\b ?){1,9}"),
    "intersection": detent.regex("(?s).*é.*z?") & detent.regex("[aé漢bz]{1,40}"),
    "intersection of literals": detent.regex("ab(?s:.*)") & detent.regex("(?s:.*)(z|é)"),
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

    def fits(self, state: int, budget: int) -> bool:
        """Whether at most that many tokens lead to acceptance."""
        pending, seen = {state}, {state}
        for _ in range(budget):
            if any(self.automaton.accepting(at) for at in pending):
                return True
            pending = {after for at in pending for after in self.tokens_of(at).values()} - seen
            seen |= pending
        return any(self.automaton.accepting(at) for at in pending)

    def allowed_within(self, state: int, budget: int) -> list[int]:
        eos = [len(self.tokens)] if self.automaton.accepting(state) else []
        return [token_id for token_id, after in self.tokens_of(state).items() if self.fits(after, budget - 1)] + eos

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


def _tokenizer_file(folder: Path, missing: bytes) -> Path:
    """Write a byte-level BPE tokenizer that lacks some bytes."""
    symbols = [CHARACTER_OF_BYTE[byte] for byte in range(256) if byte not in missing]
    pairs = [(b"a", b"b"), (b"\xc3", b"\xa9"), (b"ab", b"\xc3"), (b"b", b"b"), (b"a", b"\x01"), (b"\xc3\xa9", b"a")]
    merges = [["".join(CHARACTER_OF_BYTE[byte] for byte in part) for part in pair] for pair in pairs]
    merges = [pair for pair in merges if set("".join(pair)) <= set(symbols)]
    names = [*symbols, *("".join(pair) for pair in merges)]
    split = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": {name: number for number, name in enumerate(names)}, "merges": merges}
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({"model": model, "pre_tokenizer": split, "decoder": split, "added_tokens": []}))
    return path


@pytest.mark.parametrize("missing", [b"", b"\xc0\xf5", b"\x01", b"\xc3", b"\xa9", b"b"], ids=repr)
def test_canonical_masks(tmp_path: Path, missing: bytes) -> None:
    """Of a finite language: the first tokens of the texts that have none of the missing bytes."""
    vocabulary = detent.Vocabulary.from_file(_tokenizer_file(tmp_path, missing), eos_token_ids=None)
    texts = ["".join(part) for count in range(1, 5) for part in product(["a", "b", "é", "\x01", " ü"], repeat=count)]
    writable = [text for text in texts if not set(text.encode()) & set(missing)]
    following: dict[tuple[int, ...], set[int]] = {}
    for text in writable:
        tokens = vocabulary.encode_canonical(text)
        for count, token in enumerate(tokens):
            following.setdefault(tuple(tokens[:count]), set()).add(token)
    guide = detent.compile(detent.regex("(a|b|é|\\x01| ü){1,4}"), vocabulary, canonical=True)
    for tokens, expected in following.items():
        matcher = guide.matcher()
        for token in tokens:
            matcher.advance(token)
        assert set(matcher.allowed().tolist()) == expected, tokens
    for budget in (1, 2, 3):
        matcher = guide.matcher(budget)
        fitting = {tuple(vocabulary.encode_canonical(text)) for text in writable}
        assert set(matcher.allowed().tolist()) == {tokens[0] for tokens in fitting if len(tokens) <= budget}


@pytest.mark.parametrize("gap", _VOCABULARIES)
@pytest.mark.parametrize("language", ["few characters", "JSON string of a pattern", "members in any order"])
def test_budgets(gap: str, language: str) -> None:
    """A token is allowed if a text that fits follows it."""
    vocabulary = _VOCABULARIES[gap]
    search = _Search(_LANGUAGES[language], vocabulary)
    start = search.automaton.start
    if not search.is_live(start):
        return
    guide = detent.compile(_LANGUAGES[language], vocabulary)
    shortest = _LANGUAGES[language].min_tokens(vocabulary)
    for extra in range(3):
        choose = random.Random(extra)
        matcher, state = guide.matcher(shortest + extra), start
        for remaining in range(shortest + extra, 0, -1):
            allowed = search.allowed_within(state, remaining)
            assert matcher.allowed().tolist() == allowed, matcher.token_ids
            text = [token_id for token_id in allowed if token_id < len(search.tokens)]
            if not text:
                break
            token_id = choose.choice(text)
            matcher.advance(token_id)
            state = search.tokens_of(state)[token_id]
        if shortest > 0 and extra == 0:
            assert matcher.is_accepting
