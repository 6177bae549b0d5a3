"""States of decoding are dropped where they fill memory: masks, budgets and histories stay as they are."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from random import Random

import pytest

import detent
from tests.support.long_tests import long
from tests.support.reference import Tree, language, random_tree
from tests.support.shared_data import needs_shared, real_vocabulary
from tests.support.toy_bpe import random_tokenizer, vocabulary_of

LETTERS = ["".join(letters).encode() for length in range(1, 6) for letters in product("ab", repeat=length)]
OTHERS = [bytes([byte]) for byte in range(256) if byte not in b"ab"]
TOKENS = [*LETTERS, *OTHERS, b'",', b'":', b"12", b', "', b"[[", b"]]"]
EOS = len(TOKENS)

LANGUAGES: dict[str, Callable[[], detent.Language]] = {
    "count anywhere": lambda: detent.regex("[ab]*a[ab]{9}"),
    "counts": lambda: detent.regex("(?:[^a]*a[ab]{3}|[^b]*b[ab]{4})*;"),
    "lookarounds": lambda: detent.regex(r"(?=[ab]*aa)(?:[ab](?<!bbb)){2,30}"),
    "without": lambda: detent.regex("[ab]{0,40}") - detent.regex("[ab]*(?:abba|bab|a{5})[ab]*"),
    "grammar": lambda: detent.grammar('start: "a" start "b" | start2\nstart2: "b" start2 "a" | "ab" | start2 start2'),
    "ignored": lambda: detent.grammar('start: (A | B)+\nA: /a+b/\nB: /b+/\n%ignore /[ ]+/'),
    "object": lambda: detent.json_schema(
        {"properties": {"a": {"type": "integer"}, "b": {"maxLength": 5}, "c": {"pattern": "a.b$"}}, "required": ["a"]},
        order="any",
    ),
    "unique": lambda: detent.json_schema(
        {"items": {"type": ["integer", "string"]}, "uniqueItems": True, "minItems": 2}
    ),
    "contains": lambda: detent.json_schema(
        {"type": "array", "contains": {"const": 12}, "minContains": 2, "items": {"type": "integer"}, "maxItems": 9}
    ),
}  # fmt: skip


def vocabulary() -> detent.Vocabulary:
    """Return a vocabulary that shares no masks with other guides."""
    return detent.Vocabulary([*TOKENS, b""], eos_token_ids=[EOS])


def allowed(matcher: detent.Matcher) -> list[int]:
    found: list[int] = matcher.allowed().tolist()
    return found


@pytest.mark.parametrize("max_tokens", [None, 14])
@pytest.mark.parametrize("name", LANGUAGES)
def test_masks_and_histories_do_not_depend_on_eviction(name: str, max_tokens: int | None) -> None:
    made = LANGUAGES[name]()
    kept, dropped = (detent.compile(made, vocabulary()) for _ in range(2))
    is_recursive = name in {"grammar", "ignored", "unique"}
    for seed in range(4):
        rng = Random(f"{name}{seed}")
        pairs = [(kept.matcher(max_tokens), dropped.matcher(max_tokens))]
        for _ in range(40):
            if rng.random() < 0.4:
                dropped._machine().renew()
            index = rng.randrange(len(pairs))
            one, other = pairs[index]
            expected, found = allowed(one), allowed(other)
            if max_tokens is None or not is_recursive:
                assert found == expected
            else:  # what is known of shorter completions may be lost; the mask is never empty
                assert found
            if one.is_finished:
                break
            common = sorted({*expected} & {*found})
            chosen = rng.choice(common or found)
            if not common:
                break
            for matcher in (one, other):
                matcher.advance(chosen)
            assert one.is_accepting == other.is_accepting
            if rng.random() < 0.2:
                pairs.append((one.fork(), other.fork()))
            if rng.random() < 0.2:
                steps = rng.randint(0, one.step_count)
                one.rollback(steps)
                other.rollback(steps)
        for one, other in pairs:
            assert one.token_ids == other.token_ids


@pytest.mark.parametrize("seed", range(12))
def test_generated_languages(seed: int) -> None:
    rng = Random(seed)
    tree: Tree = random_tree(rng, 12)
    made = language(tree)
    if made.is_empty():
        return
    kept, dropped = (detent.compile(made, vocabulary()) for _ in range(2))
    for max_tokens in (None, made.min_tokens(kept.vocabulary) + 2):
        one, other = kept.matcher(max_tokens), dropped.matcher(max_tokens)
        for _ in range(20):
            dropped._machine().renew()
            assert allowed(one) == allowed(other)
            if one.is_finished:
                break
            token = rng.choice(allowed(one))
            one.advance(token)
            other.advance(token)


@pytest.mark.parametrize("seed", range(6))
def test_canonical_tokens(seed: int) -> None:
    rng = Random(seed)
    tokenizer = random_tokenizer(rng)
    made = detent.regex("(?:[abc]*a[abc]{5}|a{2}[abc]{3}){1,6}")
    kept, dropped = (detent.compile(made, vocabulary_of(*tokenizer), canonical=True) for _ in range(2))
    one, other = kept.matcher(), dropped.matcher()
    while not one.is_finished:
        dropped._machine().renew()
        assert allowed(one) == allowed(other)
        token = rng.choice(allowed(one))
        one.advance(token)
        other.advance(token)


def _long_languages() -> dict[str, tuple[detent.Language, detent.Vocabulary, detent.Vocabulary, bool]]:
    """Return languages of long texts, with two equal vocabularies, and whether tokens are canonical."""
    tokenizer = random_tokenizer(Random(5))
    part = detent.regex("[ab]{0,1200}c")
    thought = (part + detent.regex("(?:[ab]{3,9},)*"))._with_part_budgets(((part._node, 400),))
    anywhere = detent.regex("(?:[abc]*a[abc]{5})*")
    return {
        "counts": (LANGUAGES["counts"](), vocabulary(), vocabulary(), False),
        "unique": (LANGUAGES["unique"](), vocabulary(), vocabulary(), False),
        "part": (thought, vocabulary(), vocabulary(), False),
        "canonical": (anywhere, vocabulary_of(*tokenizer), vocabulary_of(*tokenizer), True),
    }


@pytest.mark.parametrize("name", ["counts", "unique", "part", "canonical"])
def test_steps_of_any_age_are_undone_after_eviction(name: str) -> None:
    made, *vocabularies, canonical = _long_languages()[name]
    kept, dropped = (detent.compile(made, each, canonical=canonical) for each in vocabularies)
    for seed in range(3):
        rng = Random(f"{name}{seed}")
        pairs = [(kept.matcher(), dropped.matcher())]
        for step in range(700):
            if rng.random() < 0.01:
                dropped._machine().renew()
            one, other = rng.choice(pairs)
            if step % 9 == 0:
                assert allowed(one) == allowed(other)
            if rng.random() < 0.02:
                steps = min(one.step_count, rng.choice([1, 2, 30, 64, 65, 200, 600]))
                one.rollback(steps)
                other.rollback(steps)
                if rng.random() < 0.5:
                    dropped._machine().renew()
                assert allowed(one) == allowed(other)
                assert one.is_accepting == other.is_accepting
            if rng.random() < 0.01 and len(pairs) < 4:
                pairs.append((one.fork(), other.fork()))
            going_on = [token for token in allowed(one) if token < len(vocabularies[0]) - 1]
            chosen = rng.choice(going_on or allowed(one))
            text = kept.vocabulary.token_bytes(chosen)
            by_bytes = not canonical and going_on and rng.random() < 0.1
            for matcher in (one, other):
                if by_bytes:
                    matcher.advance_bytes(text)
                elif not matcher.is_finished:
                    matcher.advance(chosen)
            if one.is_finished:
                steps = rng.randint(1, one.step_count)
                one.rollback(steps)
                other.rollback(steps)
        for one, other in pairs:
            assert one.token_ids == other.token_ids
            while one.step_count:
                assert allowed(one) == allowed(other)
                steps = min(one.step_count, 17)
                one.rollback(steps)
                other.rollback(steps)


@pytest.mark.long
@needs_shared
def test_completions_of_canonical_tokens_are_evicted() -> None:
    """They may take half of the limit, before an eviction and after it: more than compiling may."""
    language, limits = detent.json_schema({"type": "string", "minLength": 400}), detent.Limits(memory_bytes=40 << 20)
    guide = detent.compile(language, real_vocabulary("llama3"), canonical=True, limits=limits)
    rng, largest = Random(0), [0]
    while len(largest) < 3:
        matcher = guide.matcher()
        for _ in range(100):
            tokens = matcher.allowed()
            matcher.advance(int(tokens[rng.randrange(len(tokens))]))
            if guide.memory_bytes < largest[-1] // 2:
                largest.append(0)
            largest[-1] = max(largest[-1], guide.memory_bytes)
            if matcher.is_finished:
                break
    assert all(16 << 20 < each < 25 << 20 for each in largest[:2])


def test_a_matcher_takes_all_states_of_an_open_part_along() -> None:
    """Whether the part may take a token is the verdict of a search, which another machine need not repeat."""
    part = detent.regex("[ab]{0,1200}c")
    language = (part + detent.regex("d"))._with_part_budgets(((part._node, 900),))
    guide = detent.compile(language, vocabulary())
    matcher = guide.matcher()
    for _ in range(600):
        matcher.advance(LETTERS.index(b"a"))
    guide._machine().renew()
    matcher.rollback(540)
    assert guide.state_count == 0
    matcher.advance(LETTERS.index(b"a"))
    assert guide.state_count > 0


@pytest.mark.parametrize("name", ["count anywhere", "counts", "lookarounds", "without"])
@pytest.mark.parametrize("max_tokens", [9, 12, 17])
def test_a_text_fits_its_budget_after_eviction(name: str, max_tokens: int) -> None:
    made = LANGUAGES[name]()
    guide = detent.compile(made, vocabulary())
    for seed in range(8):
        rng, matcher = Random(seed), guide.matcher(max_tokens)
        while not matcher.is_finished:
            guide._machine().renew()
            matcher.advance(rng.choice(allowed(matcher)))
        text = guide.vocabulary.decode([token for token in matcher.token_ids if token < EOS])
        assert text in made
        assert len(matcher.token_ids) <= max_tokens + 1


def test_a_language_with_more_states_than_the_limit_is_decoded_without_end() -> None:
    guide = detent.compile(detent.regex("[ab]*a[ab]{14}"), vocabulary(), limits=detent.Limits(states=2_000))
    rng, matcher, text = Random(1), guide.matcher(), ""
    for _ in range(6_000):
        matcher.fill_mask(detent.allocate_mask(1, EOS + 1)[0])
        token = rng.randrange(len(LETTERS))
        matcher.advance(token)
        text += LETTERS[token].decode()
        assert guide.state_count <= 2_000
        assert matcher.is_accepting == bool(re.fullmatch("[ab]*a[ab]{14}", text))
    matcher.rollback(6_000)
    assert allowed(matcher) == allowed(guide.matcher())


def test_distinct_items_leave_no_memory_behind() -> None:
    made = detent.json_schema({"items": {"type": "integer"}, "uniqueItems": True})
    guide = detent.compile(made, vocabulary(), limits=detent.Limits(memory_bytes=4 << 20))
    for seed in range(30):
        numbers = Random(seed).sample(range(10**9), 40)
        matcher = guide.matcher()
        for byte in json.dumps(numbers)[:-1].encode():
            matcher.advance(TOKENS.index(bytes([byte])))
        repeated = f",{numbers[7]}]"
        with pytest.raises(detent.StateError):
            matcher.advance_bytes(repeated.encode())
        assert guide.memory_bytes <= 4 << 20


@pytest.mark.parametrize("wait", [None, 60.0])
def test_slots_have_the_masks_of_matchers_where_a_machine_is_full(wait: float | None) -> None:
    made = detent.regex("(?:[^a]*a[ab]{3}|[^b]*b[ab]{4})*;|[ab]*a[ab]{14}")
    small = detent.compile(made, vocabulary(), limits=detent.Limits(states=140))
    alone = detent.compile(made, vocabulary())
    slots = detent.MaskSlots(detent.allocate_mask(40, len(alone.vocabulary)))
    rng, pairs = Random(1), [(small.matcher(), alone.matcher()) for _ in range(6)]
    row = detent.allocate_mask(1, len(alone.vocabulary))
    for _ in range(30):
        filled = slots.fill([one for one, _ in pairs], wait=wait).slots
        for (one, other), slot in zip(pairs, filled, strict=True):
            other.fill_mask(row[0])
            assert slots.rows[slot].tolist() == row[0].tolist()
            token = rng.randrange(len(LETTERS))
            one.advance(token)
            other.advance(token)


def test_threads_share_a_machine_that_is_replaced() -> None:
    guide = detent.compile(detent.regex("[ab]*a[ab]{14}"), vocabulary(), limits=detent.Limits(states=3_000))
    alone = detent.compile(detent.regex("[ab]*a[ab]{14}"), vocabulary())

    def walk(seed: int, shared: detent.Guide) -> list[list[int]]:
        rng, matcher, masks = Random(seed), shared.matcher(), []
        for _ in range(300):
            masks.append(allowed(matcher))
            matcher.advance(rng.randrange(len(LETTERS)))
        return masks

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda seed: walk(seed % 4, guide), range(8)))
    for seed in range(4):
        assert found[seed] == found[seed + 4] == walk(seed, alone)


def test_masks_within_a_budget_do_not_depend_on_texts_before() -> None:
    made = LANGUAGES["count anywhere"]()
    fresh, used = (detent.compile(made, vocabulary(), limits=limits) for limits in (None, detent.Limits(states=4000)))
    for seed in range(60):
        rng = Random(seed)
        one, other = fresh.matcher(14), used.matcher(14)
        while texts := [token for token in allowed(one) if token != EOS]:
            assert allowed(other) == allowed(one)
            token = rng.choice(texts)
            one.advance(token)
            other.advance(token)


def evict(guide: detent.Guide, seed: int) -> None:
    """Decode a random text until the machine was replaced."""
    rng, matcher, most = Random(seed), guide.matcher(), 0
    while guide.state_count >= most:
        most = guide.state_count
        matcher.advance(rng.choice([token for token in allowed(matcher) if token != guide.vocabulary.eos_token_ids[0]]))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize("canonical", [False, long(True)])
def test_replaced_machines_are_freed(canonical: bool) -> None:
    guide = detent.compile(
        detent.regex("[ab]*a[ab]{20}"),
        vocabulary_of(*random_tokenizer(Random(3))) if canonical else vocabulary(),
        canonical=canonical,
        limits=detent.Limits(memory_bytes=8 << 20),
    )

    def resident_bytes() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    evict(guide, 0)
    before = resident_bytes()
    for seed in range(1, 31):
        evict(guide, seed)
    assert resident_bytes() - before < 100 << 20


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, if another test imported it
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_a_machine_is_freed() -> None:
    guide = detent.compile(detent.regex("[ab]*a[ab]{14}"), vocabulary(), limits=detent.Limits(states=20_000))
    alone = detent.compile(detent.regex("[ab]*a[ab]{14}"), vocabulary())
    for seed in range(8):
        evict(guide, seed)
        child = os.fork()
        if child == 0:
            evict(guide, 100 + seed)
            evict(guide, 200 + seed)
            os._exit(0 if allowed(guide.matcher()) == allowed(alone.matcher()) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
