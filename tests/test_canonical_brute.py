"""Canonical guides of random small tokenizers beside all texts of small languages, as `tokenizers` tokenizes them."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

import detent
from detent.errors import EmptyLanguageError, LimitError, StateError, UnsupportedError
from detent.vocabulary.byte_level import CHARACTER_OF_BYTE
from detent.vocabulary.split_pattern import GPT2_PATTERN

tokenizers = pytest.importorskip("tokenizers", reason="what canonical means is what this package does")

END = -1
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPLITS = (
    None,
    GPT2_PATTERN,
    LLAMA3,
    r"\s\p{L}|\s+|\p{L}{1,2}|[^\s\p{L}]+(?=\p{L})|[^\s\p{L}]",
    r"\p{L}+(?!\s)|\p{L}|[^\p{L}]{2}|[^\p{L}]",
    r"(?:ab)+|a{2,3}(?=\s)|[^\s]|\s{1,2}(?!\s)|\s",
)
LETTERS = ("a", "ab", "ab ", " a\n", "a'1", "a 1", "a\u00e9", " \n", "a\u00e9\u00e8 ", "'s ", "- \n", "a\U0001f600")
LONGEST = {1: 14, 2: 8, 3: 6, 4: 5}
"""Of the texts that are tried, by the number of letters."""


@dataclass
class Case:
    """A tokenizer, a language, and what is known of them without detent."""

    vocabulary: detent.Vocabulary
    language: detent.Language
    letters: str
    words: list[str]
    accepts: Callable[[str], object]
    encode: Callable[[str], tuple[int, ...]]

    def rows(self, prompt: str = "", behind: tuple[int, ...] = ()) -> dict[tuple[int, ...], set[int]]:
        """Give what follows each beginning of the words' tokens, where these go on from a prompt's."""
        tree: dict[tuple[int, ...], set[int]] = {}
        for word in self.words:
            tokens = self.encode(prompt + word)
            if tokens[: len(behind)] != behind or self.unknown(tokens):
                continue
            row = (*tokens[len(behind) :], END)
            for place, token in enumerate(row):
                tree.setdefault(row[:place], set()).add(token)
        return tree

    def unknown(self, tokens) -> bool:
        """Whether the tokenizer has no token for a character."""
        return any(token in self.vocabulary.special_token_ids for token in tokens)

    def check_text(self, tokens, prompt: str = "") -> None:
        text = self.vocabulary.decode(tokens).decode()
        assert text.startswith(prompt)
        assert self.accepts(text[len(prompt) :])
        assert self.encode(text) == tuple(tokens)

    def following(self, matcher: detent.Matcher) -> set[int]:
        ends = self.vocabulary.eos_token_ids
        found = {END if token in ends else token for token in matcher.allowed().tolist()}
        assert found
        assert matcher.is_accepting == (END in found)
        return found


def spelled(text: bytes) -> str:
    return "".join(CHARACTER_OF_BYTE[byte] for byte in text)


def random_merges(rng, base, tokens, most):
    """Add tokens of random merges; the merges may have any order, and there may be several ways to a token."""
    pool, merges = list(base), []
    for _ in range(rng.randint(0, most)):
        pair = (rng.choice(pool), rng.choice(pool))
        joined = pair[0] + pair[1]
        if len(joined) > 8 or pair in merges:
            continue
        merges.append(pair)
        if joined not in tokens:
            tokens.append(joined)
            pool.append(joined)
    others = [
        (token[:cut], token[cut:])
        for token in pool
        for cut in range(1, len(token))
        if token[:cut] in pool and token[cut:] in pool and (token[:cut], token[cut:]) not in merges
    ]
    merges += rng.sample(others, rng.randint(0, len(others)))
    if rng.random() < 0.5:
        rng.shuffle(merges)
    return merges


def of_bytes(rng, letters):
    """Draw a byte-level tokenizer."""
    tokens = [bytes([byte]) for byte in range(256)]
    base = [bytes([byte]) for byte in sorted(set(letters.encode()))]
    merges = random_merges(rng, base, tokens, 12)
    whole = rng.random() < 0.4
    for _ in range(rng.randint(0, 4) if whole else 0):
        token = b"".join(rng.choices(base, k=rng.randint(2, 5)))
        if token not in tokens:
            tokens.append(token)
    split = rng.choice(SPLITS)
    parts = [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": split == GPT2_PATTERN}]
    if split not in (None, GPT2_PATTERN):
        parts.insert(0, {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": False})
    return {
        "added_tokens": [special(len(tokens), "</s>")],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": parts},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "ignore_merges": whole,
            "vocab": {spelled(token): number for number, token in enumerate(tokens)},
            "merges": [[spelled(left), spelled(right)] for left, right in merges],
        },
    }


def of_pieces(rng, letters):
    """Draw a tokenizer of pieces, with or without byte pieces."""
    fallback = rng.random() < 0.7
    pieces = ["\u2581", *(c for c in letters if c != " " and (not fallback or rng.random() < 0.7))]
    merges = random_merges(rng, list(pieces), pieces, 10)
    names = ["<unk>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    back = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
    return {
        "added_tokens": [special(0, "<unk>"), special(1, "</s>")],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        "decoder": {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "byte_fallback": fallback,
            "vocab": {name: number for number, name in enumerate(names)},
            "merges": [list(pair) for pair in merges],
        },
    }


def special(number, content):
    return {
        "id": number, "content": content, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
        "normalized": False,
    }  # fmt: skip


def random_pattern(rng, letters, depth=0):
    kind = rng.random()
    if depth > 3 or kind < 0.3:
        return "".join(re.escape(letter) for letter in rng.choices(letters, k=rng.randint(1, 3)))
    if kind < 0.45:
        return "[" + "".join(map(re.escape, rng.sample(letters, rng.randint(1, len(letters))))) + "]"
    if kind < 0.6:
        return random_pattern(rng, letters, depth + 1) + random_pattern(rng, letters, depth + 1)
    if kind < 0.75:
        return f"(?:{random_pattern(rng, letters, depth + 1)}|{random_pattern(rng, letters, depth + 1)})"
    return f"(?:{random_pattern(rng, letters, depth + 1)})" + rng.choice(("*", "+", "?", "{2}", "{1,3}", "{2,}"))


def random_language(rng, letters):
    """Draw a regular expression, two of them combined, or a grammar; give it with its plain meaning."""
    kind = rng.random()
    if kind < 0.15:
        opening, closing, inside = (rng.choice(letters) for _ in range(3))
        rule = f'start: "{opening}" start "{closing}" | "{inside}"'.replace("\n", r"\n")

        def nested(text):
            depth = len(text) // 2
            return text == opening * depth + inside + closing * depth and len(text) <= 21

        # Bounded, since some splits here look ahead without end, and then all that may follow is searched.
        return detent.grammar(rule) & detent.regex(r"(?s:.{0,21})"), nested
    first = random_pattern(rng, letters)
    matches = re.compile(first).fullmatch
    if kind < 0.75:
        return detent.regex(first), matches
    second = random_pattern(rng, letters)
    excluded = re.compile(second).fullmatch
    return detent.regex(first) & ~detent.regex(second), lambda text: matches(text) and not excluded(text)


def opened(data, path):
    """Return the vocabulary of a tokenizer, and what the tokenizer does."""
    path.write_text(json.dumps({"version": "1.0", **data}), encoding="utf-8")
    backend = tokenizers.Tokenizer.from_file(str(path))
    known: dict[str, tuple[int, ...]] = {}

    def encode(text):
        if text not in known:
            known[text] = tuple(backend.encode(text, add_special_tokens=False).ids)
        return known[text]

    return detent.Vocabulary.from_file(path, eos_token_ids=[data["added_tokens"][-1]["id"]]), encode


def random_case(rng, path):
    """Draw a case; None if the language has no text or no text of tokens."""
    letters = rng.choice(LETTERS)
    data = (of_pieces if rng.random() < 0.25 else of_bytes)(rng, letters)
    vocabulary, encode = opened(data, path)
    language, accepts = random_language(rng, letters)
    words = [
        word
        for length in range(LONGEST[len(letters)] + 1)
        for word in map("".join, itertools.product(letters, repeat=length))
        if accepts(word)
    ]
    case = Case(vocabulary, language, letters, words, accepts, encode)
    try:
        return case, detent.compile(language, vocabulary, canonical=True)
    except EmptyLanguageError:
        assert not case.rows()
        return None


def cases(seed, count, path):
    rng = random.Random(seed)
    for _ in range(count):
        if found := random_case(rng, path / "tokenizer.json"):
            yield rng, *found


def check_rows(rng, case, start, rows, prompt="", behind=()):
    """Hold what a matcher allows to the rows of the words, and whatever else it allows to the tokenizer."""
    pending: list[tuple[int, ...]] = [()]
    for _ in range(150):
        if not pending:
            break
        row = pending.pop(rng.randrange(len(pending)))
        matcher = start.fork()
        for token in row:
            matcher.advance(token)
        following, expected = case.following(matcher), rows.get(row, set())
        assert following >= expected
        for token in following - expected:  # towards longer texts
            ahead = matcher.fork()
            if token != END:
                ahead.advance(token)
            tokens = (*row, *([token] if token != END else []), *(ahead.completion() if token != END else []))
            case.check_text((*behind, *tokens), prompt)
            assert len(case.vocabulary.decode([*behind, *tokens]).decode()) > len(prompt) + LONGEST[len(case.letters)]
        for token in rng.sample(range(len(case.vocabulary)), 8):
            if token not in following and token not in case.vocabulary.eos_token_ids:
                with pytest.raises(StateError):
                    matcher.advance(token)
        pending += [(*row, token) for token in expected - {END}]


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_tokens_are_those_of_the_texts(seed, tmp_path):
    for rng, case, guide in cases(seed, 12, tmp_path):
        check_rows(rng, case, guide.matcher(), case.rows())


@pytest.mark.parametrize("seed", range(10))
def test_rows_go_on_from_a_prompt(seed, tmp_path):
    for rng, case, guide in cases(100 + seed, 8, tmp_path):
        for _ in range(3):
            tokens = case.encode("".join(rng.choices(case.letters, k=rng.randint(1, 6))))
            tokens = tokens[: rng.randint(1, len(tokens))]
            prompt = case.vocabulary.decode(tokens).decode("utf-8", "replace")
            if case.unknown(tokens) or "\ufffd" in prompt:
                continue
            rows = case.rows(prompt, tokens)
            try:
                start = guide.matcher(after=tokens)
            except EmptyLanguageError:
                assert not rows
                continue
            check_rows(rng, case, start, rows, prompt, tokens)


@pytest.mark.parametrize("seed", range(10))
def test_budgets_end_in_time(seed, tmp_path):
    """What a budget allows always ends within it; what it refuses of a few tokens rarely would have."""
    refused_in_vain = 0
    for rng, case, guide in cases(200 + seed, 10, tmp_path):
        rows = [tokens for word in case.words if not case.unknown(tokens := case.encode(word))]
        for limit in range(7):
            try:
                matcher = guide.matcher(limit)
            except LimitError:
                refused_in_vain += any(len(row) <= limit for row in rows)
                continue
            free, done = guide.matcher(), []
            while True:
                following, unbounded = case.following(matcher), case.following(free)
                assert following <= unbounded
                for token in unbounded - following:
                    with pytest.raises(StateError, match="tokens left"):
                        matcher.advance(token)
                    refused_in_vain += any(row[: len(done) + 1] == (*done, token) and len(row) <= limit for row in rows)
                if following == {END} or (END in following and rng.random() < 0.2):
                    break
                done.append(rng.choice(sorted(following - {END})))
                free.advance(done[-1])
                matcher.advance(done[-1])
                if rng.random() < 0.2:
                    matcher.rollback()
                    assert case.following(matcher) == following
                    matcher.advance(done[-1])
            assert len(done) <= limit
            case.check_text(done)
        case.check_text(guide.matcher().completion())
    assert refused_in_vain <= 6


def test_a_space_that_is_no_piece_is_refused(tmp_path):
    data = of_pieces(random.Random(1), "ab")
    del data["model"]["vocab"]["\u2581"]
    data["model"]["merges"] = []
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", **data}), encoding="utf-8")
    vocabulary = detent.Vocabulary.from_file(path, eos_token_ids=[1])
    with pytest.raises(UnsupportedError, match="no token stands for a space"):
        detent.compile(detent.regex("a"), vocabulary, canonical=True)


PARTS = "ab1 \n\u00e9\u00e8"
"""What stands in the strings of the tests below; the last two begin with the same byte."""
ENDS = ('"', '"x', '", a', '"a', '"b', "x", ", a", " a", "a", "b", "")


def ways_on(language: detent.Language, text: bytes, most: int, parts):
    """Yield texts of the language that begin so, with the end of a character, a few parts, and an end."""
    for first, count in itertools.product((b"", b"\xa9", b"\xa8"), range(most + 1)):
        for inner in itertools.product(parts, repeat=count):
            for end in ENDS:
                word = text + first + "".join(inner).encode() + end.encode()
                if language.accepts(word):
                    yield word.decode()


def check_walks(rng, language, vocabulary, encode, parts, letters):
    """Hold the masks along two walks to what texts tell of the tokens of `letters`; return how many were compared."""
    try:
        guide = detent.compile(language, vocabulary, canonical=True)
    except (EmptyLanguageError, UnsupportedError):
        return 0
    ends, special = set(vocabulary.eos_token_ids), set(vocabulary.special_token_ids)
    known = {token for token in range(len(vocabulary)) if set(vocabulary.token_bytes(token)) <= set(letters.encode())}
    compared = 0
    for _ in range(2):
        matcher, row = guide.matcher(), []
        for _ in range(6):
            text = vocabulary.decode(row)
            allowed = (set(matcher.allowed().tolist()) - ends) & known
            for token in known:
                longer = (*row, token)
                written = text + vocabulary.token_bytes(token)
                ways = ways_on(language, written, 3 if token in allowed else 1, parts)
                rows = map(encode, ways)
                found = any(each[: len(longer)] == longer and not special.intersection(each) for each in rows)
                assert found == (token in allowed), (language, longer, written)
                compared += 1
            if not allowed:
                break
            token = rng.choice(sorted(allowed))
            matcher.advance(token)
            row.append(token)
    return compared


def small_tokenizer(rng, seed, letters, path):
    """Draw a byte-level tokenizer with a split; every second one leaves chunks whole that are tokens."""
    data = of_bytes(rng, letters)
    split = SPLITS[1:][seed % 5]
    if split != GPT2_PATTERN:
        data["pre_tokenizer"]["pretokenizers"] = [
            {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        ]
    data["model"]["ignore_merges"] |= seed % 2 == 0
    return opened(data, path)


@pytest.mark.parametrize("seed", range(40))
def test_strings_share_their_insides(seed, tmp_path):
    """Strings with other texts behind them, of one vocabulary: what is found of one string serves the others."""
    rng = random.Random(seed)
    vocabulary, encode = small_tokenizer(rng, seed, 'ab1 \u00e9"', tmp_path / "tokenizer.json")
    string = f'"[{PARTS}]*"'
    of_strings = (string, f"{string}x", f'{string}, a|"ab"', f"({string}(, a)?)", f'"[{PARTS}]{{0,40}}"x')
    of_letters = ('1*"a', ' *"b', "[ab1 ]*\u00e9", "[ab ]*\u00e9a", "[a1]*\u00e8+b")
    patterns = of_strings if seed % 2 else of_letters
    assert sum(
        check_walks(rng, detent.regex(pattern), vocabulary, encode, PARTS, f'"x, {PARTS}') for pattern in patterns
    )


@pytest.mark.parametrize("seed", range(20))
def test_bounded_strings_take_what_unbounded_ones_found(seed, tmp_path):
    """JSON strings of few and of many characters, with the escapes that may stand for these."""
    rng = random.Random(seed)
    letters = "ab1 \u00e9\u00e8"
    vocabulary, encode = small_tokenizer(rng, seed, letters + '"\\u0', tmp_path / "tokenizer.json")
    parts = [*letters, *(f"\\u{ord(letter):04x}" for letter in letters)]
    compared = 0
    for most in (40, 1, 2, 3, 12):
        schema = {"type": "string", "maxLength": most, "pattern": f"^[{letters}]*$"}
        compared += check_walks(rng, detent.json_schema(schema), vocabulary, encode, parts, letters + '"')
    assert compared


def test_a_token_may_end_inside_a_chunk_that_stays_whole(tmp_path):
    """A chunk that is a token stays one: no other token may begin it that ends inside its last letter."""
    rng = random.Random(0)
    data = of_bytes(rng, "a")
    tokens = [*(bytes([byte]) for byte in range(256)), b"a\xc3", "a\u00e9".encode()]
    data["added_tokens"] = [special(len(tokens), "</s>")]
    data["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": r"\p{L}{1,2}|\P{L}"}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        ],
    }
    data["model"] |= {
        "ignore_merges": True,
        "vocab": {spelled(token): number for number, token in enumerate(tokens)},
        "merges": [[spelled(b"a"), spelled(b"\xc3")]],
    }
    vocabulary, encode = opened(data, tmp_path / "tokenizer.json")
    assert encode('"a\u00e9"') == (0x22, 257, 0x22)
    guide = detent.compile(detent.regex('"[a\u00e9]*"'), vocabulary, canonical=True)
    matcher = guide.matcher()
    matcher.advance(ord('"'))
    assert set(matcher.allowed().tolist()) == {ord("a"), 257, 0xC3, ord('"')}
    matcher.advance(ord("a"))
    assert set(matcher.allowed().tolist()) == {ord("a"), ord('"')}


@pytest.mark.parametrize("seed", range(30))
def test_strings_of_pieces_share_their_insides(seed, tmp_path):
    """Without a split, a character in byte pieces fits to every token, whatever follows the string."""
    rng = random.Random(seed)
    data = of_pieces(rng, 'ab1 \u00e9"')
    data["model"]["byte_fallback"] |= seed % 3 > 0
    vocabulary, encode = opened(data, tmp_path / "tokenizer.json")
    parts = "ab1 \u00e9\u00e8"
    string = f'"[{parts}]*"'
    patterns = (
        string,
        f"{string}x",
        f'{string}, a|"ab"',
        f'"[{parts}]{{0,40}}"x',
        "[ab1 ]*\u00e9",
        "[ab ]*\u00e9a",
        "[a1]*\u00e8+b",
    )
    assert sum(
        check_walks(rng, detent.regex(pattern), vocabulary, encode, parts, f'"x, {parts}') for pattern in patterns
    )


@pytest.mark.parametrize("draw", [of_bytes, of_pieces])
def test_a_long_text_without_a_split_is_forced_at_once(draw, tmp_path):
    """Each place on the way knows the row to the end; kept whole at each, these would take gigabytes."""
    rng = random.Random(7)
    data = draw(rng, "ab1")
    data["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    if draw is of_pieces:
        data["pre_tokenizer"] = None
    vocabulary, encode = opened(data, tmp_path / "tokenizer.json")
    text = "".join(rng.choices("ab1", k=30_000))
    matcher = detent.compile(detent.literal(text), vocabulary, canonical=True).matcher()
    forced = matcher.forced()
    assert tuple(forced[: len(encode(text))]) == encode(text)
