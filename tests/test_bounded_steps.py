"""Languages with exponentially many states: masks stay exact, and no step of a matcher reaches a limit."""

from __future__ import annotations

import json
import re
from itertools import pairwise, product
from random import Random
from time import process_time_ns

import numpy as np
import pytest

import detent
from tests.support.long_tests import long
from tests.support.shared_data import needs_shared, real_vocabulary

LETTERS = ["".join(letters).encode() for length in range(1, 9) for letters in product("ab", repeat=length)]
LETTERS += [b"c", b"d", b"ac", b"bd"]


def vocabulary() -> detent.Vocabulary:
    """Return a vocabulary of its own: masks are shared by vocabulary."""
    return detent.Vocabulary([*LETTERS, b"</s>"], eos_token_ids=[len(LETTERS)])


def byte_vocabulary() -> detent.Vocabulary:
    return detent.Vocabulary([*(bytes([byte]) for byte in range(256)), b"</s>"], eos_token_ids=[256])


def mask(matcher: detent.Matcher) -> list[int]:
    return [int(token) for token in matcher.allowed()]


@pytest.mark.parametrize(
    "pattern", ["[ab]*a[ab]{20}", "[ab]*(a[ab]{17}|bb[ab]{15})", "[ab]{0,20}(a[ab]{19}c|b[ab]{21}d)"]
)
def test_masks_are_exact_when_the_automaton_is_large(pattern: str) -> None:
    guide = detent.compile(detent.regex(pattern), vocabulary())
    for seed in range(126):
        rng = Random(seed)
        matchers = [guide.matcher()]
        if seed >= 120:
            # From here on, masks of unions are united from those of their operands.
            assert guide.state_count > 3_000
            matchers.append(detent.compile(detent.regex(pattern), vocabulary()).matcher())
        while texts := [token for token in mask(matchers[0]) if token < len(LETTERS)]:
            assert all(mask(matcher) == mask(matchers[0]) for matcher in matchers)
            if len(matchers[0].token_ids) == 16:
                break
            token = rng.choice(texts)
            for matcher in matchers:
                matcher.advance(token)


@pytest.mark.parametrize(
    "pattern", ["[ab]*a[ab]{20}", "([ab]*a[ab]{8}){3}", "[ab]{10000}", "(?:[ab]?){300}", "(aa|b)*a[ab]{30}"]
)
@pytest.mark.parametrize("max_tokens", [5, 9, 30, 1300])
def test_a_budget_of_a_large_language_reaches_no_limit(pattern: str, max_tokens: int) -> None:
    others = [bytes([byte]) for byte in range(256) if byte not in b"ab"]
    tokens = [*LETTERS, *others]
    guide = detent.compile(detent.regex(pattern), detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)]))
    for seed in range(3):
        rng = Random(seed)
        try:
            matcher = guide.matcher(max_tokens)
        except detent.LimitError as error:
            assert "max_tokens" in str(error)
            continue
        while not matcher.is_finished:
            allowed = matcher.allowed()
            assert len(allowed)
            matcher.advance(int(rng.choice(allowed)) if seed else int(allowed[np.argmin(allowed)]))
        text = guide.vocabulary.decode([token for token in matcher.token_ids if token < len(tokens)])
        assert re.fullmatch(pattern.encode(), text)
        assert len(matcher.token_ids) <= max_tokens + 1


def test_min_tokens_is_exact() -> None:
    assert detent.regex("[ab]{80}").min_tokens(vocabulary()) == 10
    assert detent.regex("[ab]*a[ab]{10}").min_tokens(vocabulary()) == 2
    assert detent.regex("[ab]" * 800 + "[cd]").min_tokens(vocabulary()) == 101


def test_fewest_tokens_of_a_very_long_text_are_refused_soon() -> None:
    tokens = [*(bytes([byte]) for byte in range(256)), *(b"x" * count for count in range(2, 60)), b"</s>"]
    language = detent.json_schema({"const": "x" * 1_000_000})
    with pytest.raises(detent.LimitError, match="fewest tokens"):
        language.min_tokens(detent.Vocabulary(tokens, eos_token_ids=[len(tokens) - 1]))


MANY = [
    "|".join(f"[abcd]*{letter}[abcd]{{{count}}}" for letter, count in zip("abcd", (9, 10, 11, 12), strict=True)),
    "(?:[^a]*a[abcd]{7}|[^b]*b[abcd]{8}|[^c]*c[abcd]{9})*d",
    "(?=[abcd]*a)(?=[abcd]*b[abcd]{9}c)(?=[abcd]*d)[abcd]{3,60}",
]


@pytest.mark.parametrize("pattern", MANY)
@pytest.mark.parametrize("excluded", [None, "[abcd]*b[abcd]{11}", "[abcd]*(ab|cd)[abcd]{5}c"])
def test_masks_of_many_states_are_those_of_each_token(pattern: str, excluded: str | None) -> None:
    """Each token against the transition rows alone: a walk takes many tokens in one step."""
    tokens = [*LETTERS, *("".join(letters).encode() for letters in product("abcd", repeat=5)), b"c", b"d"]
    language = detent.regex(pattern) if excluded is None else detent.regex(pattern) - detent.regex(excluded)
    rng = Random(0)
    tokens = list(dict.fromkeys(tokens))
    guide = detent.compile(language, detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)]))
    rows = detent.compile(language, detent.Vocabulary([b"a", b"b", b"c", b"d", b""], eos_token_ids=[4]))
    for _ in range(2):
        matcher, plain = guide.matcher(), rows.matcher()
        for _ in range(6):
            allowed = set(mask(matcher))
            for token in rng.sample(range(len(tokens)), 150):
                fork = plain.fork()
                try:
                    fork.advance_bytes(tokens[token])
                except detent.StateError:
                    assert token not in allowed
                else:
                    assert token in allowed
            texts = [token for token in allowed if token < len(tokens)]
            if not texts:
                break
            token = rng.choice(texts)
            matcher.advance(token)
            plain.advance_bytes(tokens[token])


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        ("|".join(f".*{letter}.{{{n + 7}}}" for n, letter in enumerate("etaoinshrdlucmfw")), "etaoin .1\u00e9s"),
        long(
            (
                "(?:" + "|".join(f"[^{letter}]*{letter}.{{{n + 5}}}" for n, letter in enumerate("etaoinshrdl")) + ")*!",
                "etao n1\u00e9",
            )
        ),
    ],
)
def test_canonical_masks_of_many_states_are_those_of_the_encodings(pattern: str, letters: str) -> None:
    """The masks hold the tokenizer's own tokens of texts of the language, and each of their tokens is completed so."""
    known = detent.load_model().vocabulary
    guide = detent.compile(detent.regex(pattern), known, canonical=True)
    assert guide.matcher().allowed().size > 100
    assert guide.state_count < 6_000  # the walk by states has given up: two tokens lead to more states
    rng = Random(3)
    for _ in range(40):
        ends = [letter for letter in letters if re.fullmatch(pattern, letter + "x" * 20) or letter in pattern]
        text = "".join(rng.choices(letters, k=rng.randint(0, 12)))
        for _ in range(3):
            at = rng.choice(ends)
            count = int(re.findall(rf"{at}\.\{{(\d+)\}}", pattern)[0]) if rf"{at}.{{" in pattern else 0
            text += at + "".join(rng.choices(letters.replace("\u00e9", "x"), k=count))
        text += "!" if pattern.endswith("!") else ""
        if not re.fullmatch(pattern, text):
            continue
        matcher = guide.matcher()
        for token in known.encode_canonical(text):
            allowed = matcher.allowed()
            assert token in allowed, (text, matcher.token_ids)
            other = int(rng.choice(allowed))
            if other not in known.eos_token_ids:
                fork = matcher.fork()
                fork.advance(other)
                whole = [*fork.token_ids, *fork.completion()]
                words = [each for each in whole if each not in known.eos_token_ids]
                written = known.decode(words).decode()
                assert re.fullmatch(pattern, written)
                assert known.encode_canonical(written) == words
            matcher.advance(token)
        assert matcher.is_accepting


def test_an_ending_that_is_far_away_is_that_of_the_greedy_text() -> None:
    """Within a word of 2^30 beginnings, where no text ends the pre-token before the language ends."""
    guide = detent.compile(detent.regex("(a|b)*a(a|b){30}"), detent.load_model().vocabulary, canonical=True)
    for seed in range(4):
        rng, matcher = Random(seed), guide.matcher()
        for _ in range(6):
            matcher.advance(int(rng.choice([token for token in matcher.allowed() if token not in {0}])))
            whole = [*matcher.token_ids, *matcher.completion()]
            words = [each for each in whole if each not in guide.vocabulary.eos_token_ids]
            assert guide.vocabulary.encode_canonical(guide.vocabulary.decode(words).decode()) == words


def test_compiling_leaves_room_for_decoding_and_names_the_part() -> None:
    costly = detent.regex(".*a.{9}[^a-j]*")
    for number, letter in enumerate("bcdefghij"):
        costly &= detent.regex(f".*{letter}.{{{10 + number}}}[^a-j]*")
    rule = detent.literal("x") | costly
    with pytest.raises(
        detent.LimitError, match=r"'\.\*a\.\{9\}\[\^a-j\]\*'.*quarter of the limit of 88000.*instead of"
    ) as found:
        detent.compile(rule, detent.load_model().vocabulary, limits=detent.Limits(states=88_000))
    assert not str(found.value).startswith("(literal"), "the message names the part, not the whole rule"
    assert (found.value.subject, found.value.limit, found.value.given) == ("states", 88_000, 22_001)


_LETTERS = [("a", "g"), ("b", "h"), ("c", "i"), ("d", "j"), ("e", "k")]


@needs_shared
@pytest.mark.parametrize(
    "rule",
    [
        detent.gbnf('root ::= .* root? .* "a" .{9}'),  # the first mask takes 0.2 s, and later ones up to 7 s
        detent.gbnf(
            'root ::= d0 "!"\n'
            + "\n".join(f'd{i} ::= d{i + 1} d{i + 1} | "{letter}"' for i, letter in enumerate("abcdefghijklmnopqrst"))
            + '\nd20 ::= "u" | ""'
        ),
        detent.json_schema(  # the mask of the first name takes 50 ms, and that of the next token all memory
            {
                "type": "object",
                "propertyNames": {
                    "anyOf": [{"pattern": f"{letter}.{{{i}}}$"} for i, letter in enumerate("abcdefghijkl")]
                },
                "minProperties": 12,
            }
        ),
        detent.json_schema(  # the first mask takes 6 ms, and the second one 0.3 s
            {"oneOf": [{"type": "string", "pattern": f"^[^{a}]*{a}.{{{i + 2}}}"} for i, a in enumerate("abcdef")]}
        ),
        detent.regex("(?:.(?<!a.{200}b))*"),
        detent.json_schema(  # the first mask takes 1 ms, and those inside a string 1.5 s
            {
                "type": "array",
                "items": {"type": "string", "maxLength": 50},
                "allOf": [{"contains": {"pattern": f"{a}.{{{i}}}{b}"}} for i, (a, b) in enumerate(_LETTERS)],
            }
        ),
    ],
)
def test_a_rule_whose_first_steps_take_long_is_refused_by_compile(rule: detent.Language[str]) -> None:
    vocabulary = real_vocabulary("llama3")
    for _ in range(2):  # what the first compilation computed does not change the answer of the second one
        with pytest.raises(detent.LimitError, match="simplify it or raise Limits") as found:
            detent.compile(rule, vocabulary)
        assert found.value.subject == "work"


@needs_shared
def test_a_rule_whose_canonical_steps_take_long_is_refused_by_compile() -> None:
    """The first canonical mask is small, and so are all plain ones; the second canonical one takes all states."""
    vocabulary = real_vocabulary("llama3")
    rule = detent.grammar("start: /(a|b)*a(a|b){30}/")
    detent.compile(rule, vocabulary)
    for _ in range(2):
        with pytest.raises(detent.LimitError, match="simplify it or raise Limits"):
            detent.compile(rule, vocabulary, canonical=True)


@pytest.mark.long
def test_an_array_of_very_many_states_is_refused_while_it_is_read() -> None:
    with pytest.raises(detent.LimitError, match="simplify its oneOf, anyOf, not and counts") as found:
        detent.json_schema({"type": "array", "contains": {"const": 1}, "minContains": 100_000})
    assert found.value.subject == "pattern_size"
    detent.json_schema({"type": "array", "contains": {"const": 1}, "minContains": 10_000})


@pytest.mark.parametrize(
    "words", [["ab", "aab"] * 50 + ["a", "bba"] * 50, ["a", "bb", "ba"] * 60, ["b"] * 3 + ["a"] * 150 + ["b"]]
)
def test_masks_of_many_optional_words(words: list[str]) -> None:
    """Each text is read in very many ways, which lead to few states."""
    tokens = [*LETTERS, *(b"{" + letters for letters in LETTERS)]
    tokens = list(dict.fromkeys(tokens))
    known = detent.Vocabulary([*tokens, b"</s>"], eos_token_ids=[len(tokens)])
    rule = detent.gbnf('root ::= "{" ' + " ".join(f'"{word}"?' for word in words))

    def fits(text: str) -> bool:
        behind = {"": 0}  # by what is left of the last word: the fewest words that may be behind the text
        for letter in text:
            after: dict[str, int] = {}
            for rest, count in behind.items():
                choices = [(rest, count)] if rest else [(words[i], i + 1) for i in range(count, len(words))]
                for word, place in choices:
                    if word.startswith(letter):
                        after[word[1:]] = min(place, after.get(word[1:], place))
            behind = after
        return bool(behind)

    allowed = mask(detent.compile(rule, known).matcher())
    wanted = [number for number, token in enumerate(tokens) if token[:1] == b"{" and fits(token[1:].decode())]
    assert allowed == wanted
    assert len(wanted) > 10


def test_repeats_of_unions_of_repeats_accept_the_same_texts() -> None:
    rng, longest = Random(5), 6

    def concat(one: set[str], other: set[str]) -> set[str]:
        return {a + b for a in one for b in other if len(a + b) <= longest}

    def random_repeat(depth: int) -> tuple[str, set[str]]:
        """Return the pattern of a union under a repeat, with such repeats among its operands, and its short texts."""
        parts = [(word, {word}) for word in rng.sample(["a", "b", "ab", "aab", "ba"], 2)]
        parts += [random_repeat(depth - 1)] if depth else []
        low, high = rng.choice([(0, None), (1, None), (2, None), (3, None), (1, 2), (0, 3), (2, 4)])
        union, rounds = set().union(*(texts for _, texts in parts)), {""}
        texts = set()
        # An empty round may stand for a missing one, so more rounds than letters add no text.
        for count in range(high + 1 if high else low + longest + 1):
            texts |= rounds if count >= low else set()
            rounds = concat(rounds, union)
        return f"(?:{'|'.join(source for source, _ in parts)}){{{low},{high or ''}}}", texts

    for _ in range(200):
        source, texts = random_repeat(rng.randrange(1, 4))
        language = detent.regex(source)
        for text in map("".join, product("ab", repeat=rng.randrange(longest + 1))):
            assert language.accepts(text) == (text in texts), (source, text)


def test_nested_stars_have_the_mask_of_one() -> None:
    pattern = "(a|" * 24 + "b" + ")*" * 24
    tokens = vocabulary()
    guide = detent.compile(detent.regex(pattern), tokens)
    matcher, simple = guide.matcher(), detent.compile(detent.regex("[ab]*"), tokens).matcher()
    for token in (0, 5, 1, 7):
        assert mask(matcher) == mask(simple)
        matcher.advance(token)
        simple.advance(token)
    assert guide.state_count < 10


def test_a_bound_of_length_beside_patterns_costs_few_states() -> None:
    """What texts need beyond the bound is read from the patterns; otherwise masks follow the product of both."""
    patterns = [{"pattern": pattern} for pattern in ("a.*b", "c.{3}d", "[0-9]{3}")]
    language = detent.json_schema({"type": "string", "allOf": patterns, "maxLength": 60})
    guide = detent.compile(language, detent.load_model().vocabulary)
    matcher, before = guide.matcher(), guide.state_count  # compile tries masks of other texts
    for text in (b'"', b"ab", b"c."):
        matcher.advance_bytes(text)
        matcher.allowed()
    assert guide.state_count - before < 600


@needs_shared
def test_a_walk_over_the_states_after_a_prefix_gives_up() -> None:
    """Tokens inside a string lead to as many states as a mask may have, though few of them are looked at."""
    vocabulary = real_vocabulary("llama3")
    schema = {"type": "string", "format": "email", "not": {"pattern": "a.{40}b"}, "minLength": 40}
    guide = detent.compile(detent.json_schema(schema), vocabulary, canonical=True)
    matcher, before = guide.matcher(), guide.state_count
    for text in ('"os', "odial", "bi"):
        for token in vocabulary.encode_canonical(text):
            matcher.advance(token)
        matcher.allowed()
    assert guide.state_count - before < 20_000  # 46,000 where the walk from the prefix has no limit


def test_optional_heads_absorb_their_tails() -> None:
    rng, letters = Random(8), "abc"
    texts = ["".join(text) for length in range(6) for text in product(letters, repeat=length)]
    for _ in range(150):
        parts = [
            f"[{''.join(rng.sample(letters, rng.randrange(1, 3)))}]{rng.choice(['', '*', '?', '+', '{0,2}', '{2,3}'])}"
            for _ in range(rng.randrange(2, 7))
        ]
        cuts = [rng.randrange(len(parts)) for _ in range(rng.randrange(1, 4))]
        pattern = "|".join("".join(parts[cut:]) for cut in cuts)  # sequences, and tails of theirs
        language = detent.regex(pattern)
        for text in texts:
            assert language.accepts(text) == bool(re.fullmatch(pattern, text)), (pattern, text)


def test_a_chain_of_stars_has_one_state_for_each_star() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    pattern = "".join(f"[a-{letter}]*" for letter in letters) * 8
    guide = detent.compile(detent.regex(pattern), byte_vocabulary())
    for text in ("az" * 4, "zyxzyx", "hello"):
        matcher = guide.matcher()
        for end in range(len(text)):
            matcher.advance(ord(text[end]))
            following = [letter for letter in letters if re.fullmatch(pattern, text[: end + 1] + letter)]
            assert mask(matcher) == [*map(ord, following), 256]
    assert guide.memory_bytes < 40_000


def test_blanks_before_many_members_take_no_work_for_each_member() -> None:
    members = {f"p{number:05}": {"type": "integer"} for number in range(10_000)}
    schema = {"type": "object", "properties": members, "additionalProperties": False}
    guide = detent.compile(detent.json_schema(schema), byte_vocabulary())
    matcher = guide.matcher()

    def cost(text: bytes) -> int:
        start = process_time_ns()
        matcher.advance_bytes(text)
        return process_time_ns() - start

    first = cost(b"{\n ")  # their row
    assert cost(b" " * 80) < 10 * first


@pytest.mark.parametrize("pattern", ["(?:(?:a{0,99999}){0,99999}b)*", "(?:a{65536}){65536}", "(?:a{65536,}){65536,}"])
def test_repeats_of_repeats_have_the_largest_count_of_one(pattern: str) -> None:
    with pytest.raises(detent.LimitError, match="open repeat") as caught:
        detent.compile(detent.regex(pattern), vocabulary())
    assert caught.value.subject == "nested_repeat_count"


def test_nested_repeats_of_a_grammar_are_refused_or_one_repeat() -> None:
    def grammar(count: int) -> str:
        rules = [f"r{number} ::= r{number + 1}{{0,{count}}}" for number in range(6)]
        return "\n".join(["root ::= r0", *rules, 'r6 ::= "a"'])

    with pytest.raises(detent.LimitError, match="open repeat"):
        detent.compile(detent.gbnf(grammar(99)), vocabulary())
    matcher = detent.compile(detent.gbnf(grammar(2)), vocabulary()).matcher()
    for length in range(2**6):
        assert mask(matcher) == [
            *(token for token in (0, 2, 6, 14, 30, 62, 126, 254) if len(LETTERS[token]) + length <= 2**6),
            len(LETTERS),
        ]
        matcher.advance(0)


def test_stacks_of_many_optional_symbols_share_their_heads() -> None:
    letters = "bcdefghijklmnopqrstuvwxyz"
    source = f'root ::= {" ".join(f"e{letter}" for letter in letters)} root "a" | "a"\n'
    source += "".join(f'e{letter} ::= "{letter}" | ""\n' for letter in letters)
    guide = detent.compile(detent.gbnf(source), byte_vocabulary())
    matcher, text = guide.matcher(), "lumberjck" * 2
    for letter in text:
        matcher.advance(ord(letter))
    # Each round of ascending letters needs an `a` after it, and so does the root without letters.
    rounds = 1 + sum(one >= other for one, other in pairwise(text))
    for count in range(24):
        assert matcher.is_accepting == (count > rounds)
        matcher.advance(ord("a"))
    assert guide.memory_bytes < 80_000
    rng, matcher = Random(2), guide.matcher()
    for _ in range(30):
        matcher.advance(rng.choice(mask(matcher)))
    assert guide.memory_bytes < 130_000  # 180,000 where only the first heads are shared


def test_unions_of_very_many_operands_are_those_of_their_counts() -> None:
    """The states between items are unions of up to 3,000 stacks, one for each way to count what is still missing."""
    counts = {2: 2, 3: 3, 5: 5, 7: 7}
    contains = [{"contains": {"multipleOf": factor}, "minContains": count} for factor, count in counts.items()]
    schema = {"type": "array", "items": {"type": "integer"}, "allOf": contains}
    guide = detent.compile(detent.json_schema(schema), byte_vocabulary())
    rng = Random(3)
    for _ in range(20):
        numbers = [
            rng.choice([-1, 1]) * rng.choice([1, 6, 30, 35, 42, 70, 105, 210]) for _ in range(rng.randint(5, 14))
        ]
        matcher = guide.matcher()
        for letter in json.dumps(numbers)[:-1]:
            matcher.advance(ord(letter))
        needed = max(count - sum(number % factor == 0 for number in numbers) for factor, count in counts.items())
        assert (ord("]") in mask(matcher)) == (needed <= 0), numbers
    for seed in range(4):
        matcher, rng = guide.matcher(60), Random(seed)
        while not matcher.is_finished:
            matcher.advance(rng.choice(mask(matcher)))
        numbers = json.loads(bytes(token for token in matcher.token_ids if token < 256))
        assert all(sum(number % factor == 0 for number in numbers) >= count for factor, count in counts.items())
    assert guide.memory_bytes < 25_000_000  # 56,000,000 where equal operands of large unions are kept


@pytest.mark.parametrize("max_tokens", [12, 30])
def test_a_budget_of_a_grammar_with_patterns_takes_little_work(max_tokens: int) -> None:
    """A search near a token limit may not decide about each state: some of these take over 2,000,000 steps."""
    expression = r"""
        start: expr
        expr: expr "+" term | term
        term: term "*" f | f
        f: "(" expr ")" | /[a-z0-9]+/
    """
    language = detent.grammar(expression) & detent.regex(".*1.{5}2.*") & ~detent.regex(".*3.{6}4.*")
    guide = detent.compile(language, byte_vocabulary(), limits=detent.Limits(work=2_000_000))
    for seed in range(6):
        matcher, rng = guide.matcher(max_tokens), Random(seed)
        while not matcher.is_finished:
            matcher.advance(rng.choice(mask(matcher)))
        assert language.accepts(bytes(token for token in matcher.token_ids if token < 256))


def test_patterns_that_may_match_no_more_cost_no_search() -> None:
    """An address consists of characters. So without all texts of characters there is none, which takes no search."""
    patterns = (".*a.{4}b.*", ".*c.{6}d.*", ".*e.{8}f.*")
    language = detent.email() - detent.regex("|".join(patterns))
    core = language._dfa()._core
    state, before = core.start, core.work
    for byte in b"xcqaqqqq":
        state = core.row(state)[core.class_of[byte]]
    assert core.row(state)[core.class_of[ord("b")]] == 0
    assert core.work - before < 5_000  # 45,000 with a search


@needs_shared
def test_negated_members_of_one_schema_need_little_work() -> None:
    """Only optional common heads are factored further than two deep: others would multiply the states of negations."""
    plain = {"type": "object", "not": {"patternProperties": {"c": {"not": {"type": "string", "pattern": "99"}}}}}
    other = {"type": "object", "patternProperties": {"c": {"type": "string", "pattern": "77"}}}
    alternatives = [
        {"allOf": [{"patternProperties": {name: value}}, {"not": {"patternProperties": {name: {"not": plain}}}}]}
        for name, value in (("a", plain), ("b", other))
    ]
    language = detent.json_schema({"type": "object", "oneOf": alternatives})
    guide = detent.compile(language, real_vocabulary("gpt2"), limits=detent.Limits(work=2_000_000))
    for text in (b'{"', b'{"a', b'{"a": {"', b'{"a": {"c', b'{"a": {"c": "'):
        matcher = guide.matcher()
        matcher.advance_bytes(text)
        assert mask(matcher)


def test_words_that_close_many_rules_at_once_take_time_linear_in_the_text() -> None:
    """After k letters, the state holds those after fewer letters, each with its own tail: as a tree, 2^k operands."""
    count = 10
    rules = "\n".join(f'r{i} ::= [a-z]{{{i + 1}}} root? ";"' for i in range(count))
    guide = detent.compile(
        detent.gbnf("root ::= " + " ".join(f"r{i}?" for i in range(count)) + "\n" + rules), byte_vocabulary()
    )
    times = []
    for letters in (1, 2, 9, 12, 24):
        start = process_time_ns()
        matcher = guide.matcher()
        for _ in range(letters):
            matcher.advance(ord("a"))
        for ends in range(letters + 1):
            # Each of so many rules, one inside the other, has one to ten letters.
            assert (256 in matcher.allowed()) == (ends <= letters <= ends * count)
            assert (ord(";") in matcher.allowed()) == (ends < letters)
            if ends < letters:
                matcher.advance(ord(";"))
        times.append(process_time_ns() - start)
    assert times[-1] < 2e9
