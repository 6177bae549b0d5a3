"""A part with a token budget under canonical tokens: every text is its tokenizer's, and closes its part in time.

The texts of small languages, as `tokenizers` tokenizes them, say what a budget leaves. What a mask allows must be the
beginning of one of these; what it refuses in vain is counted.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import product, takewhile
from random import Random

import pytest

import detent
from detent import _core
from detent.errors import EmptyLanguageError, LimitError
from tests.support.long_tests import mostly_long
from tests.support.toy_tokenizers import of_bytes, of_pieces, opened

LONGEST = 6
"""The length up to which all texts within the tags are known."""


@dataclass
class Case:
    """A tokenizer and a language whose part has tags in letters, with all short texts as rows of tokens."""

    vocabulary: detent.Vocabulary
    encode: object
    language: detent.Language
    part: detent.Language
    opening: bytes
    rows: dict[tuple[int, ...], int]  # the encodings of short texts, each with its tokens up to the end of the part

    def closed_after(self, tokens):
        """Return after how many tokens the part is closed, or the text has no part; all of them if it stays open."""
        text = b""
        for count, token in enumerate(tokens):
            text += self.vocabulary.token_bytes(token)
            if not (text.startswith(self.opening) or self.opening.startswith(text)):
                return count + 1
            if any(self.part.accepts(text[:end]) for end in range(len(text) + 1)):
                return count + 1
        return len(tokens)


def random_case(rng, path):
    inner = rng.choice(["ab", "a ", "a\n", "a\u00e9", "b<"])
    opening, closing = rng.choice(["", "<"]), rng.choice([">", "</", "/a>", "\n>"])
    ends = rng.choice(["x", "xx", "", "x|xxa", "\nx", "(xa){1,2}"])
    letters = "".join(dict.fromkeys(inner + opening + closing + "xa"))
    data = (of_pieces if rng.random() < 0.3 else of_bytes)(rng, letters)
    vocabulary, encode = opened(data, path)
    free = detent.regex(f"[{inner}]*") - detent.containing(closing)
    part = detent.literal(opening) + free + closing
    language = part + detent.regex(ends)
    if rng.random() < 0.3:
        language |= detent.regex(f"[{inner}]{{0,2}}")
    texts = [
        f"{opening}{''.join(each)}{closing}{end}"
        for length in range(LONGEST + 1)
        for each in product(inner, repeat=length)
        for end in ("x", "xx", "xxa", "", "\nx", "xa", "xaxa")
    ]
    texts += ["".join(each) for length in range(3) for each in product(inner, repeat=length)]
    case = Case(vocabulary, encode, language, part, opening.encode(), {})
    for text in dict.fromkeys(texts):
        row = tuple(encode(text))
        written = b"".join(vocabulary.token_bytes(token) for token in row)
        if written == text.encode() and language.accepts(text):
            case.rows[row] = case.closed_after(row)
    return case


def check(rng, case, vain):
    """Walk at random within random budgets; count the refusals in vain by the tokens that the part has left."""
    part_tokens, budget = rng.randrange(1, 9), rng.choice([None, rng.randrange(1, 14)])
    most = 99 if budget is None else budget
    fitting = [
        row for row, closed in case.rows.items() if closed <= part_tokens and (budget is None or len(row) <= budget)
    ]
    try:
        guide = detent.compile(
            case.language._with_part_budgets(((case.part._node, part_tokens),)), case.vocabulary, canonical=True
        )
        guide.matcher(budget)
    except EmptyLanguageError:
        assert not case.rows
        return
    except LimitError:
        vain["minimum"] += bool(fitting)
        return
    eos = set(case.vocabulary.eos_token_ids)
    for _ in range(3):
        matcher, done = guide.matcher(budget), []
        while len(done) < 12:
            allowed = set(matcher.allowed().tolist())
            assert allowed, "a dead end"
            expected = {row[len(done)] for row in fitting if row[: len(done)] == tuple(done) and len(row) > len(done)}
            refused = expected - allowed
            if refused:
                vain[min(part_tokens, most) - len(done)] += 1
            vain["steps"] += 1
            for token in {*rng.sample(range(len(case.vocabulary)), 8), *allowed, *refused} - eos:
                assert (matcher._refusal(token) is _core.Refusal.NONE) == (token in allowed)
            if allowed <= eos or (allowed & eos and rng.random() < 0.1):
                break
            done.append(rng.choice(sorted(allowed - eos)))
            matcher.advance(done[-1])
            if rng.random() < 0.1:
                matcher = matcher.fork()
                matcher.rollback(1)
                assert set(matcher.allowed().tolist()) == allowed
                matcher.advance(done[-1])
        for token in matcher.completion():
            done.append(token)
            matcher.advance(token)
        assert matcher.is_accepting
        text = b"".join(case.vocabulary.token_bytes(token) for token in done)
        assert case.language.accepts(text) and tuple(case.encode(text.decode())) == tuple(done)
        assert case.closed_after(done) <= part_tokens, (part_tokens, done, text)
        assert budget is None or len(done) <= budget


def check_cases(rng, count, path):
    vain = Counter()
    for _ in range(count):
        case = random_case(rng, path / "tokenizer.json")
        for _ in range(4):
            check(rng, case, vain)
    return vain


def check_seed(seed, count, path):
    vain = check_cases(Random(seed), count, path)
    steps, minimum = vain.pop("steps"), vain.pop("minimum")
    assert minimum <= 0.02 * 4 * count, "known completions are too long for budgets that suffice"
    assert sum(vain.values()) <= 0.03 * steps, vain
    assert max(vain, default=0) <= 6, vain  # tokens left


@pytest.mark.parametrize("seed", mostly_long(range(20), always=6))
def test_parts_close_in_time(seed, tmp_path):
    check_seed(seed, 10, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 200))
def test_more_parts_close_in_time(seed, tmp_path):
    check_seed(seed, 40, tmp_path)


def thinking_case(path, tokens, closing=">"):
    """Return a guide whose part holds letters and spaces, with its vocabulary and encoder."""
    vocabulary, encode = opened(of_bytes(Random(11), "ab <>x"), path / "tokenizer.json")
    part = detent.literal("<") + detent.regex("[ab ]*") + closing
    language = (part + detent.regex("x{3}"))._with_part_budgets(((part._node, tokens),))
    return detent.compile(language, vocabulary, canonical=True), vocabulary, encode


def walk(rng, matcher, eos):
    while not matcher.is_accepting:
        matcher.advance(rng.choice([token for token in matcher.allowed().tolist() if token not in eos]))
    return list(matcher.token_ids)


def test_too_few_tokens_for_the_part(tmp_path):
    with pytest.raises(LimitError, match="at least 2") as raised:
        thinking_case(tmp_path, 1)
    assert (raised.value.limit, raised.value.given) == (1, 2)


def test_a_table_has_exactly_the_texts_that_close_in_time(tmp_path):
    guide, vocabulary, encode = thinking_case(tmp_path, 4)
    table = guide.to_table()
    for length in range(5):
        for each in product("ab ", repeat=length):
            row, matcher = list(encode(f"<{''.join(each)}>xxx")), table.matcher()
            closed = len(list(takewhile(lambda token: b">" not in vocabulary.token_bytes(token), row))) + 1
            assert (matcher.validate(row) == len(row)) == (closed <= 4)


def test_saved_guides_forks_and_new_machines_keep_the_budget(tmp_path):
    guide, vocabulary, encode = thinking_case(tmp_path, 4)
    guide.save(tmp_path / "guide")
    loaded = detent.load_guide(tmp_path / "guide", vocabulary)
    for seed in range(20):
        rng, state = Random(seed), Random(seed)
        matcher, other = guide.matcher(), loaded.matcher()
        ids = walk(rng, matcher, vocabulary.eos_token_ids)
        assert ids == walk(state, other, vocabulary.eos_token_ids)
        fork = guide.matcher()
        for token in ids:
            assert token in fork.allowed().tolist()
            fork = fork.fork()
            guide._machine().renew()
            fork.advance(token)
        text = vocabulary.decode(ids).decode()
        assert list(encode(text)) == ids
        assert b">" in b"".join(vocabulary.token_bytes(token) for token in ids[:4])
