"""Canonical masks of intersections that are followed by conjuncts, beside the steps of a matcher.

A step looks at the state after one token alone, and the walk never makes most of these states.
"""

from __future__ import annotations

import random
import string

import pytest

import detent
from detent.vocabulary.pretokenizer_regex import GPT2_PATTERN
from tests.support.long_tests import long, mostly_long
from tests.support.shared_data import needs_shared, real_vocabulary
from tests.support.toy_bpe import SPLITS, vocabulary_of
from tests.support.toy_tokenizers import LLAMA3, of_bytes, opened, spelled, split_by

LETTERS = string.ascii_lowercase


def excluded(letters):
    """Exclude equal letters at a distance of their own."""
    return detent.regex(rf"(?!.*(?:{'|'.join(f'{a}.{{{i}}}{a}' for i, a in enumerate(letters))})).*")


def required(pairs, rest):
    return detent.regex("".join(rf"(?=.*{a}.{{{i % 4}}}{b})" for i, (a, b) in enumerate(pairs)) + rest)


def strings(patterns, **limits):
    return detent.json_schema({"type": "string", "allOf": [{"pattern": pattern} for pattern in patterns], **limits})


LANGUAGES = {
    "excluded": excluded(LETTERS[:9]),
    "required": required(zip("abcd", "zyxw", strict=True), ".{1,60}"),
    "contained": strings(LETTERS[:14]),
    "distances": strings(
        [f"{a}.{{{i + 3}}}{b}" for i, (a, b) in enumerate(zip("abc", "bcd", strict=True))], maxLength=60
    ),
    "in a member": detent.json_schema(
        {"properties": {"a": {"type": "string", "allOf": [{"pattern": a} for a in LETTERS[:14]]}}, "required": ["a"]}
    ),
    "excluded from a format": detent.json_schema(
        {"type": "string", "format": "email", "not": {"pattern": "a.{40}b"}, "minLength": 40}
    ),
    "characters": required(zip("äb日", "éc本", strict=True), r"[^\n]{1,40}"),
}

_SLOW = "excluded from a format"
_BY_TIME = [*(name for name in LANGUAGES if name != _SLOW), long(_SLOW)]


def is_part(text):
    """Return whether a text begins or ends inside a character."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return True
    return False


def steps(matcher, tokens):
    """Return which tokens a matcher takes, one at a time."""
    taken = set()
    for token in tokens:
        fork = matcher.fork()
        try:
            fork.advance(token)
        except detent.StateError:
            continue
        taken.add(token)
    return taken


def check_walk(guide, vocabulary, rng, length, tokens):
    """Compare masks along a random walk, as far as `tokens` go, with the steps of a matcher."""
    matcher = guide.matcher()
    for _ in range(length):
        allowed = set(matcher.allowed().tolist())
        assert steps(matcher, tokens) == allowed & set(tokens)
        texts = sorted(allowed - set(vocabulary.eos_token_ids))
        if not texts:
            break
        matcher.advance(rng.choice(texts))


@pytest.mark.parametrize("name", _BY_TIME)
@pytest.mark.parametrize("seed", mostly_long(range(8), always=1))
def test_masks_are_the_steps(name, seed):
    vocabulary = detent.load_model().vocabulary
    guide = detent.compile(LANGUAGES[name], vocabulary, canonical=True)
    rng = random.Random(seed)
    for _ in range(2):
        check_walk(guide, vocabulary, rng, 10, range(len(vocabulary)))


@needs_shared
@pytest.mark.parametrize("name", ["contained", "distances", "characters"])
@pytest.mark.parametrize("seed", mostly_long(range(4), always=1))
def test_parts_of_characters(name, seed):
    """After part of a character, only a search tells which tokens lead on."""
    vocabulary = real_vocabulary("llama3")
    guide = detent.compile(LANGUAGES[name], vocabulary, canonical=True)
    rng = random.Random(seed)
    parts = [token for token in range(len(vocabulary)) if is_part(vocabulary.token_bytes(token))]
    check_walk(guide, vocabulary, rng, 4, [*parts, *rng.sample(range(len(vocabulary)), 200)])


@pytest.mark.parametrize("seed", mostly_long(range(16), always=2))
def test_masks_of_tokens_that_stay_whole(seed, tmp_path):
    rng = random.Random(seed)
    data = of_bytes(rng, "ab ")
    data["pre_tokenizer"] = split_by(rng.choice((GPT2_PATTERN, LLAMA3, r"\p{L}{1,3}|[^\p{L}]")))
    data["model"]["ignore_merges"] = bool(seed % 4)
    vocab = data["model"]["vocab"]
    for _ in range(20):
        vocab.setdefault(
            spelled("".join(rng.choices("ab ", weights=(3, 3, 1), k=rng.randint(2, 4))).encode()), len(vocab)
        )
    data["added_tokens"][0]["id"] = len(vocab)
    vocabulary, _ = opened(data, tmp_path / "tokenizer.json")
    pairs = [(rng.choice("ab "), rng.randint(2, 6), rng.choice("ab ")) for _ in range(3)]
    pairs += [(letter, rng.randint(0, 9), letter) for letter in LETTERS[2:9]]
    far = "|".join(f"{a}.{{{distance}}}{b}" for a, distance, b in pairs)
    language = detent.regex(rf"(?!.*(?:{far}))(?=.*a{rng.choice('b ')})[ab c-z]*")
    guide = detent.compile(language, vocabulary, canonical=True)
    for _ in range(3):
        check_walk(guide, vocabulary, rng, 12, range(len(vocabulary)))


def check_budget(language, guide, budget, rng):
    """Each allowed token begins a text that fits, some token is allowed, and each walk ends in time."""
    vocabulary = guide.vocabulary
    matcher = guide.matcher(budget)
    taken = []
    while not matcher.is_finished:
        allowed = matcher.allowed().tolist()
        assert allowed, taken
        assert len(matcher.completion()) <= budget - len(taken)
        for token in rng.sample(allowed, min(8, len(allowed))):
            fork = matcher.fork()
            fork.advance(token)
            assert fork.is_finished or len(fork.completion()) < budget - len(taken)
        token = rng.choice(allowed)
        matcher.advance(token)
        taken.append(token)
    text = b"".join(vocabulary.token_bytes(token) for token in taken if token not in vocabulary.eos_token_ids)
    assert language.accepts(text)


@pytest.mark.parametrize("name", _BY_TIME)
@pytest.mark.parametrize("seed", mostly_long(range(8), always=1))
def test_budgets_hold(name, seed):
    guide = detent.compile(LANGUAGES[name], detent.load_model().vocabulary, canonical=True)
    rng = random.Random(seed)
    least = len(guide.matcher().completion())
    for budget in (least, least + 2, 2 * least + 6):
        check_budget(LANGUAGES[name], guide, budget, rng)


@pytest.mark.parametrize("required", mostly_long(["é", "a", "漢"], always=1))
@pytest.mark.parametrize(
    ("counted", "longest"),
    [("^(.é+ ){0,100} *$", 60), ("^(.é ){0,9}$", 20), ("^(aé|.é+)*$", 100), ("^(.[é漢]b?){0,100}$", 60),
     ("^.*(é|ab).{3}$", 20)],
)  # fmt: skip
@pytest.mark.parametrize("seed", mostly_long(range(12), always=1))
def test_budgets_hold_where_a_similar_state_completes_sooner(required, counted, longest, seed, tmp_path):
    """The known completion of a state has an escape where that of a similar state has the letter."""
    rng = random.Random(seed)
    vocabulary, _ = opened(of_bytes(rng, 'aé "'), tmp_path / "tokenizer.json")
    language = strings([required, counted], maxLength=longest)
    guide = detent.compile(language, vocabulary, canonical=True)
    least = len(guide.matcher().completion())
    for budget in range(least, least + 7):
        check_budget(language, guide, budget, rng)


def test_a_short_completion_has_the_tokens_of_the_tokenizer():
    """Whether a pre-token ends depends on the next character there."""
    tokens = [bytes([byte]) for byte in range(256)] + [b' "', b"ab", b"\xa9 "]
    merges = [(0x20, 0x22, 0, 256), (0x61, 0x62, 1, 257), (0xA9, 0x20, 2, 258)]
    vocabulary = vocabulary_of(tokens, merges, split=SPLITS["ahead"])
    language = strings(["é", "^(.é ){0,9}$"], maxLength=60)
    guide = detent.compile(language, vocabulary, canonical=True)
    least = len(guide.matcher().completion())
    for budget in range(least, least + 7):
        for seed in range(4):
            check_budget(language, guide, budget, random.Random(seed))
