"""Canonical guides among threads, under limits, cancelled, and given what is hostile."""

from __future__ import annotations

import functools
import itertools
import random
import threading

import numpy as np
import pytest

import detent
from detent.errors import CancelledError, DetentError, LimitError, StateError
from detent.integrations.transformers import LogitsProcessor
from detent.vocabulary.pretokenizer_regex import read_splits
from tests.support.hostile_corpus import expand, hostile_cases
from tests.support.long_tests import long
from tests.support.shared_data import needs_shared, real_vocabulary
from tests.support.toy_bpe import SPLITS, vocabulary_of

PATTERNS = (
    r'"([^"\\]|\\[nt"])*"',
    r"(The|the) (there|thing|think)( \w+){0,5}\.",
    r"\s*a\s*b\s*(\n+c)?",
    r"( {1,9}|\t)*(if|for) [a-z]+:\n",
    r"(.|\n){0,30}",
)


@functools.cache
def vocabulary():
    return detent.load_model().vocabulary


def walks(guide, seeds, *, max_tokens=None):
    """Take random walks; give the rows of all masks."""
    found = []
    for seed in seeds:
        rng, matcher = random.Random(seed), guide.matcher(max_tokens)
        while len(matcher) < 25:
            row = detent.allocate_mask(1, len(guide.vocabulary))[0]
            matcher.fill_mask(row)
            found.append(row)
            following = [token for token in matcher.allowed().tolist() if token not in guide.vocabulary.eos_token_ids]
            if not following:
                break
            matcher.advance(rng.choice(following))
    return found


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("max_tokens", [None, 12])
def test_masks_do_not_depend_on_what_was_asked_before(pattern, max_tokens):
    seeds = range(6)
    language = detent.regex(pattern)
    expected = {
        seed: walks(detent.compile(language, vocabulary(), canonical=True), [seed], max_tokens=max_tokens)
        for seed in seeds
    }
    guide = detent.compile(language, vocabulary(), canonical=True)
    found: dict[int, list[np.ndarray]] = {}

    def work(thread):
        for seed in seeds[::-1] if thread % 2 else seeds:
            found[thread, seed] = walks(guide, [seed], max_tokens=max_tokens)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 24
    for (_, seed), rows in found.items():
        assert np.array_equal(rows, expected[seed])


@pytest.mark.parametrize("pattern", ["[ab]{1,60}", "(a|b| )*b", "a+ ?(b+ )+", r"( {1,9}a|\n\n?b)*"])
def test_a_limit_is_never_a_verdict(pattern):
    def toy():
        """A vocabulary whose cache has no masks yet."""
        tokens = [b"a", b"b", b" ", b"\n", b"ab", b"  ", b" a", b"ba", b"aba", b"\n\n"]
        merges = [(0, 1, 0, 4), (2, 2, 1, 5), (2, 0, 2, 6), (1, 0, 3, 7), (4, 0, 4, 8), (3, 3, 5, 9)]
        return vocabulary_of(tokens, merges, split=SPLITS["llama3"])

    language, seeds = detent.regex(pattern), range(4)
    expected = {seed: walks(detent.compile(language, toy(), canonical=True), [seed]) for seed in seeds}
    reached, compared = 0, 0
    for memory in (*range(1_000, 8_000, 500), *range(8_000, 60_000, 6_000)):
        try:
            guide = detent.compile(language, toy(), canonical=True, limits=detent.Limits(memory_bytes=memory))
        except LimitError:
            reached += 1
            continue
        for seed in seeds:
            rows = iter(expected[seed])
            rng, matcher = random.Random(seed), guide.matcher()
            try:
                while len(matcher) < 25:
                    row = detent.allocate_mask(1, 11)[0]
                    for attempt in range(3):
                        try:
                            matcher.fill_mask(row)
                            break
                        except LimitError:  # asked again, it is no other verdict
                            if attempt == 2:
                                raise
                    assert np.array_equal(row, next(rows))
                    compared += 1
                    following = [token for token in matcher.allowed().tolist() if token != 10]
                    if not following:
                        break
                    matcher.advance(rng.choice(following))
            except LimitError:
                reached += 1
                break
    assert reached
    assert compared


def test_an_endless_search_is_bounded_and_cancelled():
    # The split waits for a 1 that never comes, however deep the brackets.
    split = read_splits(r"\p{L}{2,}(?=1)|\p{L}|1+(?!\p{L})|[\s\S]")
    words = vocabulary_of([b"a", b"b", b"aa"], [(0, 0, 0, 2)], split=split)
    nested = detent.grammar('start: "a" start "b" | "aab"')
    with pytest.raises(LimitError):
        detent.compile(nested, words, canonical=True, limits=detent.Limits(states=20_000))
    stop = detent.CancellationToken()
    stop.cancel()
    with pytest.raises(CancelledError):
        detent.compile(nested, words, canonical=True, cancel=stop)


@pytest.mark.parametrize("pattern", ["a{4294967294}", ".{4000000000}"])
def test_a_count_whose_completions_no_mask_can_hold_is_refused_by_compile(pattern):
    with pytest.raises(LimitError, match=r"decoding needs room beside it: above a quarter of the limit"):
        detent.compile(detent.regex(pattern), vocabulary(), canonical=True)


@needs_shared
@pytest.mark.parametrize("half", [0, long(1)])
def test_hostile_patterns(half):
    words = real_vocabulary("gpt2")
    held = 0
    for case in hostile_cases("regex")[half::2]:
        try:
            language = detent.regex(expand(case["input"]))
            guide = detent.compile(language, words, canonical=True, limits=detent.Limits(work=2_000_000))
            guide.matcher().allowed()
            for text in [text for kind in ("accept", "reject") for text in map(expand, case.get(kind, []))]:
                matcher = guide.matcher()
                try:
                    for token in words.encode_canonical(text):
                        matcher.advance(token)
                    accepted = matcher.is_accepting
                except StateError:
                    accepted = False
                assert accepted == language.accepts(text)
                held += 1
        except DetentError as error:
            assert len(str(error).encode()) <= 512
    assert held > 25


def test_transformers_rows_are_held_to_canonical_guides():
    torch = pytest.importorskip("torch", reason="the logits processor takes its tensors")
    guide = detent.compile(detent.regex(" (there|thing)"), vocabulary(), canonical=True)
    processor = LogitsProcessor(guide)
    scores = torch.zeros(1, len(vocabulary()))
    prompt = vocabulary().encode_canonical("over")
    first = processor(torch.tensor([prompt]), scores)[0]
    assert torch.isfinite(first).nonzero().flatten().tolist() == guide.matcher().allowed().tolist()
    token = guide.matcher().allowed().tolist()[0]
    matcher = guide.matcher()
    matcher.advance(token)
    second = processor(torch.tensor([[*prompt, token]]), scores)[0]
    assert torch.isfinite(second).nonzero().flatten().tolist() == matcher.allowed().tolist()


def test_a_prompt_goes_before():
    words = vocabulary()
    guide = detent.compile(detent.regex("(re|ing|m)? ?x"), words, canonical=True)

    def texts(matcher):
        return {words.token_bytes(token) for token in matcher.allowed()}

    after_the = guide.matcher(prompt_tokens=words.encode_canonical("in the"))
    assert b"re" not in texts(after_the)  # " there" is one token
    assert b"re" in texts(guide.matcher())
    assert texts(guide.matcher(prompt_tokens=words.encode_canonical("in th"))) != texts(after_the)
    # A special token, and what the tokenizer would not have written so, cut the prompt.
    end = words.eos_token_ids[0]
    assert texts(guide.matcher(prompt_tokens=[*words.encode_canonical("in the"), end])) == texts(guide.matcher())
    cut = [*words.encode_canonical("t"), *words.encode_canonical("h"), *words.encode_canonical(" the")]
    assert texts(guide.matcher(prompt_tokens=cut)) == texts(after_the)
    with pytest.raises(detent.EmptyLanguageError, match="heal"):
        detent.compile(detent.literal("re"), words, canonical=True).matcher(
            prompt_tokens=words.encode_canonical(" the")
        )
    with pytest.raises(detent.VocabularyError, match="not in the vocabulary"):
        guide.matcher(prompt_tokens=[len(words)])
    # A plain guide takes any tokens, whatever stands before.
    plain = detent.compile(detent.literal("re"), words)
    assert texts(plain.matcher(prompt_tokens=words.encode_canonical(" the"))) == texts(plain.matcher())
    # Rolling back ends at the prompt, which is no part of the text.
    token = int(after_the.allowed()[0])
    after_the.advance(token)
    assert len(after_the) == 1
    after_the.rollback()
    assert texts(after_the.fork()) == texts(guide.matcher(prompt_tokens=words.encode_canonical("in the")))


@needs_shared
def test_a_union_with_exponentially_many_states_is_the_union_of_its_parts():
    vocabulary = real_vocabulary("llama3")
    patterns = [f"[^x]*{letter}.{{{10 + index}}}" for index, letter in enumerate("abcdefghijklmnop")]
    union = detent.compile(detent.regex("|".join(patterns)), vocabulary, canonical=True).matcher()
    apart = [detent.compile(detent.regex(pattern), vocabulary, canonical=True).matcher() for pattern in patterns]
    allowed = set[int]().union(*(matcher.allowed().tolist() for matcher in apart))
    assert set(union.allowed().tolist()) == allowed


@needs_shared
def test_a_far_ending_of_the_pretoken_is_not_searched_through_all_states():
    """The nearest end of a run of letters is 30 letters away, behind exponentially many states."""
    guide = detent.compile(detent.regex("(a|b)*a(a|b){30}"), real_vocabulary("llama3"), canonical=True)
    matcher = guide.matcher()
    for _ in range(8):
        matcher.advance(int(matcher.allowed()[0]))
    assert guide.state_count < 30_000  # 100,000 where 1,000 nodes are searched before the greedy text is tried


def test_completions_of_billions_of_bytes_are_refused_before_decoding() -> None:
    """Each of 31 definitions has two members of the next one. Shorter chains are decoded."""

    def doubled(depth: int) -> detent.Language:
        definitions: dict[str, object] = {
            f"d{level}": {
                "type": "object",
                "properties": {name: {"$ref": f"#/$defs/d{level + 1}"} for name in ("a", "b")},
                "required": ["a", "b"],
                "additionalProperties": False,
            }
            for level in range(depth)
        }
        return detent.json_schema({"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{depth}": {"const": 0}}})

    vocabulary = detent.load_model().vocabulary
    with pytest.raises(detent.LimitError, match="completion"):
        detent.compile(doubled(31), vocabulary, canonical=True)
    matcher = detent.compile(doubled(12), vocabulary, canonical=True).matcher()
    for _ in range(20):
        matcher.advance(int(matcher.allowed()[0]))


@needs_shared
@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(lambda: detent.gbnf('root ::= .* root? .* "a" .{9}'), id="nested rules"),
        pytest.param(lambda: detent.regex("(?:.(?<!a.{200}b))*"), id="lookbehind"),
        pytest.param(
            lambda: detent.json_schema(
                {
                    "type": "object",
                    "propertyNames": {
                        "anyOf": [{"pattern": f"{letter}.{{{n}}}$"} for n, letter in enumerate("abcdefghijkl")]
                    },
                    "minProperties": 12,
                }
            ),
            id="distinct names",
        ),
        pytest.param(
            lambda: detent.json_schema(
                {
                    "type": "string",
                    "allOf": [
                        {"pattern": f"{a}.{{{n}}}{b}"} for n, (a, b) in enumerate(itertools.pairwise("abcdefg"), 3)
                    ],
                    "maxLength": 240,
                }
            ),
            id="patterns of one string",
        ),
    ],
)
def test_compile_refuses_a_costly_rule_with_canonical_masks_as_without(rule) -> None:
    """Canonical steps of these rules took 0.1 to 1 s each, and some ended in a LimitError."""
    vocabulary = real_vocabulary("llama3")
    language = rule()
    for canonical in (True, False, True):  # the second time, masks and the refusal are cached
        with pytest.raises(LimitError, match=r"Limits\((work|states)="):
            detent.compile(language, vocabulary, canonical=canonical)
