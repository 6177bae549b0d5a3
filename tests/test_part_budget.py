"""A part with a token budget: masks are those of a brute-force search over token sequences."""

from functools import lru_cache
from random import Random

import pytest

import detent
from detent import _core

LONGEST = 16


class Oracle:
    """The plainest search: which tokens leave a completion that closes the part in time, and fits the whole budget."""

    def __init__(self, tokens, language, part):
        self.tokens, self.whole, self.part = tokens, language._dfa(), part._dfa()
        self.fits = lru_cache(None)(self._fits)

    def start(self):
        return self.whole.start, self.part.start

    def whole_after(self, state, text):
        for byte in text:
            state = self.whole.row(state)[self.whole.class_of[byte]] if state else 0
        return state

    def part_after(self, state, text):
        """Return 0 as soon as the part is closed, or the text is not in it."""
        for byte in text:
            state = self.part.row(state)[self.part.class_of[byte]] if state else 0
            if not state or self.part.is_accepting(state):
                return 0
        return state

    def after(self, whole, part, left, token):
        part_after = self.part_after(part, token)
        return self.whole_after(whole, token), part_after, left - 1 if part_after else 0

    def _fits(self, whole, part, left, budget):
        if whole and self.whole.is_accepting(whole):
            return True
        if not whole or budget == 0 or (part and left == 0):
            return False
        return any(self.fits(*self.after(whole, part, left, token), budget - 1) for token in self.tokens)

    def allowed(self, whole, part, left, budget):
        found = {len(self.tokens)} if self.whole.is_accepting(whole) else set()
        if budget > 0 and not (part and left == 0):
            for index, token in enumerate(self.tokens):
                after = self.after(whole, part, left, token)
                if after[0] and self.fits(*after, budget - 1):
                    found.add(index)
        return found


def random_case(rng):
    """Return tokens, a language that begins with a part, and the part; tags share letters with the texts."""
    closing = rng.choice(["]", "</", "<t>", "<<a"])
    opening = rng.choice(["", "[", "<"])
    letters = "ab" + rng.choice(["", "<", "x", "<x"])
    inner = detent.regex(f"[{letters}]*") - detent.containing(closing)
    part = detent.literal(opening) + inner + closing
    rest = detent.regex(rng.choice(["x{2,5}", "(a|bb){1,3}", "xyx?", "x?", "a{4}|b"]))
    language = part + rest
    kind = rng.randrange(4)
    if kind == 1:
        language |= rest
    elif kind == 2:
        language |= detent.regex("[ab]{0,3}")
    elif kind == 3:
        language &= detent.containing("ab") | detent.containing("b" + closing[0])
    whole = f"{opening}ab{closing}xxab"
    tokens = [letter.encode() for letter in sorted({*letters, *closing, *opening, "x", "y"})]
    for _ in range(rng.randrange(6)):
        first = rng.randrange(len(whole))
        tokens.append(whole[first : first + rng.randrange(2, 5)].encode())
    if rng.random() < 0.3:
        tokens += [bytes([byte]) for byte in range(256)]
    return list(dict.fromkeys(tokens)), language, part


def check_masks(rng, walks=4):
    tokens, language, part = random_case(rng)
    eos = len(tokens)
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[eos])
    part_tokens, budget = rng.randrange(1, 9), rng.choice([None, rng.randrange(1, 12)])
    oracle = Oracle(tokens, language, part)
    limit = LONGEST if budget is None else budget
    try:
        guide = detent.compile(language._with_part_budgets(((part._node, part_tokens),)), vocabulary)
        guide.matcher(budget)
    except detent.LimitError:
        assert not oracle.fits(*oracle.start(), part_tokens, limit)
        return
    assert oracle.fits(*oracle.start(), part_tokens, limit)
    for _ in range(walks):
        matcher, (whole, inside), left, spare = guide.matcher(budget), oracle.start(), part_tokens, limit
        while len(matcher) < LONGEST - 4:
            allowed = set(matcher.allowed().tolist())
            assert allowed == oracle.allowed(whole, inside, left, spare)
            for token_id in range(eos):
                assert (matcher._refusal(token_id) is _core.Refusal.NONE) == (token_id in allowed)
            if not allowed - {eos} or (eos in allowed and rng.random() < 0.1):
                break
            token_id = rng.choice(sorted(allowed - {eos}))
            matcher.advance(token_id)
            whole, inside, left = oracle.after(whole, inside, left, tokens[token_id])
            spare -= 1
        for token_id in matcher.completion():
            matcher.advance(token_id)
        assert matcher.is_accepting


@pytest.mark.parametrize("seed", range(40))
def test_masks_are_those_of_brute_force(seed):
    rng = Random(seed)
    for _ in range(8):
        check_masks(rng)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 140))
def test_more_masks_are_those_of_brute_force(seed):
    rng = Random(seed)
    for _ in range(400):
        check_masks(rng)


def thinking_rule(tokens, rest="x{3}"):
    part = detent.literal("<") + detent.regex("[ab]*") + ">"
    return (part + detent.regex(rest))._with_part_budgets(((part._node, tokens),))


LETTERS = detent.Vocabulary([b"<", b"a", b"b", b">", b"x", b""], eos_token_ids=[5])


def test_part_closes_in_time():
    matcher = detent.compile(thinking_rule(4), LETTERS).matcher(8)
    for token_id in (0, 1, 2):
        matcher.advance(token_id)
    assert matcher.allowed().tolist() == [3]
    assert "no way to complete" in matcher.explain(1)
    with pytest.raises(detent.errors.StateError):
        matcher.advance(1)
    assert matcher.completion() == [3, 4, 4, 4]


def test_whole_budget_is_smaller_than_the_part_budget():
    matcher = detent.compile(thinking_rule(100), LETTERS).matcher(6)
    matcher.advance(0)
    matcher.advance(1)
    assert matcher.allowed().tolist() == [3]


def test_too_few_tokens_for_the_part():
    with pytest.raises(detent.LimitError, match="at least 2") as raised:
        detent.compile(thinking_rule(1), LETTERS)
    assert (raised.value.limit, raised.value.given) == (1, 2)


def test_table_of_a_part_budget():
    table = detent.compile(thinking_rule(3), LETTERS).to_table()
    matcher = table.matcher()
    for token_id in (0, 1):
        matcher.advance(token_id)
    assert matcher.allowed().tolist() == [3]


def test_forks_and_rollbacks_keep_the_count():
    matcher = detent.compile(thinking_rule(4), LETTERS).matcher()
    matcher.advance(0)
    fork = matcher.fork()
    fork.advance(1)
    fork.advance(1)
    assert fork.allowed().tolist() == [3] and matcher.allowed().tolist() == [1, 2, 3]
    fork.rollback(1)
    assert fork.allowed().tolist() == [1, 2, 3]


def test_saved_guides_keep_the_budget(tmp_path):
    detent.compile(thinking_rule(4), LETTERS).save(tmp_path / "guide")
    matcher = detent.load_guide(tmp_path / "guide", LETTERS).matcher()
    for token_id in (0, 1, 1):
        matcher.advance(token_id)
    assert matcher.allowed().tolist() == [3]


@pytest.mark.parametrize(
    "combine",
    [
        lambda rule: rule | "x",
        lambda rule: "x" + rule,
        lambda rule: ~rule,
        lambda rule: rule.repeat(),
        lambda rule: detent.text() - rule,
        lambda rule: detent.join(",", rule, minimum=1),
        lambda rule: detent.compile(rule & thinking_rule(5), LETTERS),
    ],
)
def test_combinations_that_would_lose_the_budget_are_refused(combine):
    with pytest.raises(detent.ArgumentError, match="budget"):
        combine(thinking_rule(4))


def test_combinations_that_keep_the_budget():
    rule = thinking_rule(4, "x*")
    for other in (rule & detent.without("ba"), rule - "<a>", rule + "x"):
        matcher = detent.compile(other, LETTERS).matcher()
        for token_id in (0, 1, 1):
            matcher.advance(token_id)
        assert matcher.allowed().tolist() == [3]
