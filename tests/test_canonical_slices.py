"""What canonical masks find of one string and keep for others, beside the texts that go on from each token."""

from __future__ import annotations

import itertools
import json
import random
import string
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.errors import EmptyLanguageError, UnsupportedError
from detent.vocabulary.pretokenizer_regex import GPT2_PATTERN, read_splits
from tests.support.long_tests import mostly_long
from tests.support.toy_bpe import SPLITS as TOY_SPLITS
from tests.support.toy_bpe import vocabulary_of
from tests.support.toy_tokenizers import SPLITS, of_bytes, of_pieces, opened, special, spelled

PARTS = "ab1 \n\u00e9\u00e8"
"""What stands in the strings; the last two begin with the same byte."""
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
                found = False
                for length in (3, 4) if token in allowed else (1,):
                    rows = map(encode, ways_on(language, written, length, parts))
                    found = found or any(each[: len(longer)] == longer and not special & {*each} for each in rows)
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


@pytest.mark.parametrize("seed", mostly_long(range(40), always=8))
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


@pytest.mark.parametrize("seed", mostly_long(range(20), always=2))
def test_bounded_strings_take_what_unbounded_ones_found(seed, tmp_path):
    """JSON strings of few and of many characters, with the escapes that may stand for these."""
    rng = random.Random(seed)
    letters = "ab1 \u00e9\u00e8"
    vocabulary, encode = small_tokenizer(rng, seed, letters + '"\\u0', tmp_path / "tokenizer.json")
    parts = [*letters, *(f"\\u{ord(letter):04x}" for letter in letters)]
    compared = 0
    for least, most in (
        (0, 40),
        (0, 1),
        (0, 2),
        (0, 3),
        (0, 12),
        (2, 40),
        (3, 40),
        (2, None),
        (3, None),
        (1, 3),
        (3, 3),
    ):
        few = letters if least == 0 else "".join(rng.sample(letters, rng.randint(1, 3)))
        schema = {"type": "string", "pattern": f"^[{few}]{{{least},{most or ''}}}$"}
        compared += check_walks(rng, detent.json_schema(schema), vocabulary, encode, parts, letters + '"')
    assert compared


@pytest.mark.parametrize("seed", mostly_long([27, 37, *range(20)], always=6))
def test_bounded_strings_have_exactly_their_texts(seed, tmp_path):
    """Every mask on the way to every text of a few strings, held to the encodings of all these texts."""
    rng = random.Random(seed)
    letters = "".join(rng.sample("ab1 .\n\u00e9\u00e8", 3))
    vocabulary, encode = small_tokenizer(rng, seed, letters.replace("\n", "\\n") + '"x', tmp_path / "tokenizer.json")
    for least, most in ((0, 4), (0, 3), (1, 3), (2, 4), (0, 1), (3, 3)):
        language = detent.json_schema({"type": "string", "pattern": f"^[{letters}]{{{least},{most}}}$"})
        end = rng.choice(("", "x", ".", "a"))
        following = {}
        for word in language.enumerate():
            row = (*encode(word.decode() + end), vocabulary.eos_token_ids[0])
            for position, token in enumerate(row):
                following.setdefault(row[:position], set()).add(token)
        guide = detent.compile(language + detent.literal(end), vocabulary, canonical=True)
        for row in rng.sample(sorted(following), min(len(following), 150)):
            matcher = guide.matcher()
            for token in row:
                matcher.advance(token)
            assert set(matcher.allowed().tolist()) == following[row], (least, most, end, row)


@pytest.mark.parametrize("seed", mostly_long(range(20), always=6))
def test_strings_without_words_have_exactly_their_texts(seed, tmp_path):
    """The same with words left out, some of which end with a quotation mark."""
    rng = random.Random(seed)
    letters = "".join(rng.sample("ab1 .", 2)) + rng.choice("\u00e9\u00e8")
    vocabulary, encode = small_tokenizer(rng, seed, letters + '"x\\u0e89', tmp_path / "tokenizer.json")
    compared = 0
    for least, most in ((0, 4), (1, 3), (3, 4)):
        end = rng.choice(("", "x", ".", "a"))
        words = ["".join(rng.choices(letters, k=rng.choice((1, 2, 2, 3)))) for _ in range(rng.choice((1, 2, 4)))]
        words += [rng.choice([rng.choice(letters) + '"', "8", "9", "0e8", "\\u00", "e9"])] if rng.random() < 0.7 else []
        string = detent.json_schema({"type": "string", "pattern": f"^[{letters}]{{{least},{most}}}$"})
        language = (string + detent.literal(end)) & detent.without(*words)
        following = {}
        for word in language.enumerate():
            row = (*encode(word.decode()), vocabulary.eos_token_ids[0])
            for position, token in enumerate(row):
                following.setdefault(row[:position], set()).add(token)
        if not following:
            continue
        guide = detent.compile(language, vocabulary, canonical=True)
        for row in rng.sample(sorted(following), min(len(following), 150)):
            matcher = guide.matcher()
            for token in row:
                matcher.advance(token)
            assert set(matcher.allowed().tolist()) == following[row], (least, most, words, end, row)
            compared += 1
    assert compared


@pytest.mark.parametrize("seed", mostly_long([1, 2, 3, 0, *range(4, 20)], always=3))
def test_bounds_inside_a_pattern_are_dropped_together(seed, tmp_path):
    """A local part of few characters, an optional middle, alternatives, and a bound on all of the string."""
    rng = random.Random(seed)
    letters = "ab1 \u00e9\u00e8"
    vocabulary, encode = small_tokenizer(rng, seed, letters + '"', tmp_path / "tokenizer.json")
    compared = 0
    for few, most in ((33, 34), (2, 3), (3, 40), (40, 3)):
        for pattern in (
            f"[^1]{{1,{few}}}1.*",
            f"a([ab]{{0,{few}}}b)?( a)*",
            f"[ab]{{0,{few}}}1|[a\u00e9]{{0,{most}}} b",
        ):
            string = f'"({pattern})"' if most == 40 else f'("({pattern})")&(".{{0,{most}}}")'
            left, _, right = string.partition("&")
            language = detent.regex(left) & detent.regex(right) if right else detent.regex(left)
            schema = {"type": "string", "maxLength": most, "pattern": f"^({pattern})$"}
            for each in (language, detent.json_schema(schema)):
                of_letters = each & detent.regex(f'"[{letters}]*"')
                compared += check_walks(rng, of_letters, vocabulary, encode, [*letters], letters + '"')
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


@pytest.mark.parametrize("seed", mostly_long(range(30), always=8))
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


def test_similar_strings_share_masks_in_any_order(tmp_path):
    """A mask is the same whether it starts from that of a similar string or not."""
    path = tmp_path / "vocabulary"
    detent.load_model().vocabulary.save(path)
    shared, rng = detent.Vocabulary.load(path), random.Random(4)
    names = ["name", "names", "na", "id", "\u00e9t\u00e9", "long name with spaces", "x" * 20]
    patterns = ["[a-z]+", "[a-z]{2,40}", "[^x]*", "(ab|c)*", "[a-z ]{0,9}", "[A-Za-z]+[0-9]*", ".{3,}", ".{0,60}"]
    for _ in range(25):
        declared = rng.sample(names, 3)
        value = {"type": "string", "pattern": f"^{rng.choice(patterns)}$"} if rng.random() < 0.6 else {"type": "string"}
        free = {"type": "object", "properties": {name: value for name in declared}, "additionalProperties": value}
        language = detent.json_schema(free) if rng.random() < 0.7 else detent.regex(rng.choice(patterns) + '"[a-z]*')
        guides = [detent.compile(language, each, canonical=True) for each in (shared, detent.Vocabulary.load(path))]
        first, second = (guide.matcher() for guide in guides)
        for _ in range(14):
            allowed = first.allowed().tolist()
            assert second.allowed().tolist() == allowed
            text = [token for token in allowed if token not in shared.eos_token_ids]
            if not text:
                break
            token = max(rng.choices(text, k=rng.randint(1, 3)), key=lambda each: len(shared.token_bytes(each)))
            first.advance(token)
            second.advance(token)


def test_bounds_matter_to_very_long_tokens():
    """A token of 290 bytes fits a string of 300, where the tokens of up to some 290 bytes need no look at the bound."""
    tokens = [bytes([byte]) for byte in range(256)]
    merges = []
    for size in (2, 4, 8, 16, 32, 64, 128, 256, 34, 290):
        left, right = {34: (b"a" * 32, b"aa"), 290: (b"a" * 256, b"a" * 34)}.get(size, (b"a" * (size // 2),) * 2)
        merges.append((tokens.index(left), tokens.index(right), len(merges), len(tokens)))
        tokens.append(b"a" * size)
    vocabulary = vocabulary_of(tokens, merges)
    for most in (280, 289, 290, 300, 600):
        language = detent.regex(f'[a-z]{{0,{most}}}"')
        allowed = detent.compile(language, vocabulary, canonical=True).matcher().allowed().tolist()
        assert (tokens.index(b"a" * 290) in allowed) == (most >= 290)
        assert tokens.index(b"a" * 256) in allowed


@pytest.mark.parametrize("seed", mostly_long(range(60), always=10))
def test_large_bounds_beside_tokens_almost_as_long(seed):
    """A repeat has the masks of the same language in two parts, which start from no unbounded repeat."""
    rng = random.Random(seed)
    letters = rng.choice(("ab ", "a.", "a1 \u00e9", "a' s"))
    tokens = [bytes([byte]) for byte in sorted(set(letters.encode()))]
    for unit in ("".join(rng.choices(letters, k=size)).encode() for size in (1, 2, 3)):
        tokens += [token for size in range(2, 50) if (token := (unit * size)[:size]) not in tokens]
    index = {token: number for number, token in enumerate(tokens)}
    merges = [
        (index[token[:cut]], index[token[cut:]], number, number)
        for token, number in index.items()
        for cut in range(1, len(token))
        if token[:cut] in index and token[cut:] in index
    ]
    whole = rng.random() < 0.5
    split = TOY_SPLITS[rng.choice([name for name in TOY_SPLITS if name != "none"] if whole else list(TOY_SPLITS))]
    part, end = (
        rng.choice((f"[{letters}]", f"[{letters[:-1]}]", "a", "(a|aa)")),
        rng.choice(("", "", letters[0], "aa ")),
    )
    end = end if set(end) <= set(letters) else ""
    for most in (34, 45, 60):
        patterns = (f"{part}{{0,{most}}}{end}", f"({part}{{0,20}}|{part}{{21,{most}}}){end}")
        guides = [
            detent.compile(
                detent.regex(pattern), vocabulary_of(tokens, merges, split=split, ignore_merges=whole), canonical=True
            )
            for pattern in patterns
        ]
        for _ in range(4):
            first, second = (guide.matcher() for guide in guides)
            while not first.is_finished:
                allowed = first.allowed().tolist()
                assert second.allowed().tolist() == allowed, (part, end, most)
                if not allowed or allowed == first.guide.vocabulary.eos_token_ids:
                    break
                token = rng.choice(allowed)
                first.advance(token)
                second.advance(token)


STRINGS: list[dict[str, Any]] = [
    *({"minLength": least} for least in (2, 8, 40)),
    *({"minLength": least, "maxLength": most} for least, most in ((3, 3), (2, 9), (30, 36))),
    {"pattern": "^allow|deny$"},
    {"pattern": "[0-9a-f]{4}-[0-9a-f]{4}"},
]
UNIONS: list[dict[str, Any]] = [
    {"oneOf": [{"const": "deny"}, {"type": "string", "pattern": "^allow|den$"}]},
    {"patternProperties": {"^/": {"type": "integer"}, "^[^/]": {"type": "string"}}, "additionalProperties": False},
    {
        "type": "object",
        "properties": {"a b": {"type": "integer"}, "ab": {}},
        "additionalProperties": {"type": "string"},
    },
]


@pytest.mark.parametrize("words", [[], ["the", "an", 'x"'], [*"0123456789abcdef"]], ids=repr)
@pytest.mark.parametrize("schema", [*({"type": "string", **bounds} for bounds in STRINGS), *UNIONS], ids=repr)
def test_masks_as_steps_decide(schema, words):
    """A step decides one token by itself, without a mask: escapes, tokens that end inside a character, a sample."""
    vocabulary = detent.load_model().vocabulary
    rng = random.Random(4)
    texts = {token: vocabulary.token_bytes(token) for token in range(len(vocabulary))}
    odd = [token for token, text in texts.items() if b"\\" in text or text[-1:] >= b"\x80" or b'"' in text]
    for end in ("", "}", ", x"):
        language = detent.json_schema(schema) + detent.literal(end)
        language = language & detent.without(*words) if words else language
        try:
            guide = detent.compile(language, vocabulary, canonical=True)
        except EmptyLanguageError:
            continue
        for _ in range(1 if words else 3):
            matcher = guide.matcher()
            while len(matcher) < 6 and not matcher.is_finished:
                allowed = matcher.allowed().tolist()
                for token in {*rng.sample(odd, min(len(odd), 400)), *rng.choices(list(texts), k=400)}:
                    assert (matcher.validate([token]) == 1) == (token in allowed), (schema, end, token)
                matcher.advance(rng.choice(allowed))


COUNTED = [
    r"^(?:\S+\s+){0,3}\S+$",
    r"^(a*|[b-z ]+01234567)$",
    r"^(a*|[b-z\u00e9]+ x y z)$",
    r"^([a-z]+\.){0,4}[a-z]{3,}$",
]


@pytest.mark.parametrize("most", [9, 14, 40])
@pytest.mark.parametrize("pattern", COUNTED)
def test_strings_near_a_bound_of_their_characters(pattern: str, most: int) -> None:
    """A step decides one token by itself: how many characters complete it depends on the token."""
    vocabulary = detent.load_model().vocabulary
    language = detent.json_schema({"type": "string", "pattern": pattern, "maxLength": most})
    guide = detent.compile(language, vocabulary, canonical=True)
    rng = random.Random(most)
    compared = set()
    while len(compared) < 20:
        matcher, row = guide.matcher(), ()
        while not matcher.is_finished:
            allowed = matcher.allowed().tolist()
            if row not in compared:
                compared.add(row)
                decided = [token for token in range(len(vocabulary)) if matcher.validate([token]) == 1]
                assert allowed == decided, vocabulary.decode(row)
            inside = [token for token in allowed if not vocabulary.token_bytes(token).endswith(b'"')]
            row = (*row, min(rng.choices(inside or allowed, k=3), key=lambda token: len(vocabulary.token_bytes(token))))
            matcher.advance(row[-1])


@pytest.mark.parametrize("ends", [["one", "two", "three"], ["one", 1], [2, 1]], ids=repr)
@pytest.mark.parametrize("canonical", [False, True])
def test_a_string_with_which_several_objects_begin(canonical: bool, ends: list[Any]) -> None:
    """After the string, each of the objects begins with the quotation mark."""
    vocabulary = detent.load_model().vocabulary
    key = {"type": "string", "maxLength": 40}
    objects: list[dict[str, Any]] = [
        {"properties": {"key": key, "a": {"const": end}}, "required": ["a"], "additionalProperties": False}
        for end in ends
    ]
    objects.append({"properties": {"key": key}, "additionalProperties": False})
    items = {"type": "array", "items": {"type": "object", "anyOf": objects}}
    schema = {"type": "object", "properties": {"m": items, "x": {}}}
    guide = detent.compile(detent.json_schema(schema), vocabulary, canonical=canonical)
    for text in ('{"m": [{"key": "', '{"m": [{"key": "one, "'):
        matcher = guide.matcher()
        for token in vocabulary.encode_canonical(text):
            matcher.advance(token)
        decided = [token for token in range(len(vocabulary)) if matcher.validate([token]) == 1]
        assert matcher.allowed().tolist() == decided


def test_a_token_that_only_the_quotation_mark_follows():
    """The tokenizer never writes "a" before another "a", so "a" begins only a string of one character."""
    tokens = [b"a", b'"', b"b", b"aa"]
    vocabulary = vocabulary_of(tokens, [(0, 0, 0, 3)], split=TOY_SPLITS["gpt2"])
    for bounds, first in (
        ("*", {0, 1, 3}),
        ("{1,}", {0, 3}),
        ("{2,}", {3}),
        ("{2,9}", {3}),
        ("{2}", {3}),
        ("{1}", {0}),
    ):
        language = detent.json_schema({"type": "string", "pattern": f"^a{bounds}$"})
        matcher = detent.compile(language, vocabulary, canonical=True).matcher()
        matcher.advance(1)
        assert set(matcher.allowed().tolist()) == first, bounds


def test_pieces_without_split_where_a_token_leaves_no_room_for_the_ending(tmp_path: Path) -> None:
    """An uncertain token of a slice may be dead where the number of characters is bounded."""
    pieces = ["<unk>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", "a", "b", '"', '\u2581"']
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    file = tmp_path / "tokenizer.json"
    tokenizer = {
        "version": "1.0",
        "added_tokens": [{"id": number, "content": pieces[number], **special} for number in range(2)],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
            ],
        },
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "byte_fallback": False,
            "vocab": {piece: number for number, piece in enumerate(pieces)},
            "merges": [["\u2581", '"']],
        },
    }
    file.write_text(json.dumps(tokenizer))
    vocabulary = detent.Vocabulary.from_file(file, eos_token_ids=[1])
    language = detent.json_schema({"type": "string", "pattern": '^[a"]*b$', "maxLength": 4})
    matcher = detent.compile(language, vocabulary, canonical=True).matcher()
    for piece in '"aaa':
        matcher.advance(pieces.index(piece))
    assert [vocabulary.token_bytes(token) for token in matcher.allowed().tolist()] == [b"b"]


def test_names_of_a_list_beside_tokens_that_leave_them_after_a_character() -> None:
    """A class of letters decides most tokens. The others were followed with the text of a list's item, without end."""
    tokens = [bytes([byte]) for byte in range(256)]
    index = {token: number for number, token in enumerate(tokens)}
    letters = [letter.encode() for letter in string.ascii_lowercase]
    pairs = [*itertools.product(letters, repeat=2)]
    pairs += [(left + middle, right) for left, middle, right in itertools.product(letters, letters[:6], letters)]
    pairs += [(b"\xc3", b"\xa9"), (b"\xc3\xa9", b'"'), (b'\xc3\xa9"', b":")]
    merges = []
    for rank, (left, right) in enumerate(pairs):
        index[left + right] = len(tokens)
        merges.append((index[left], index[right], rank, len(tokens)))
        tokens.append(left + right)
    vocabulary = vocabulary_of(tokens, merges, split=TOY_SPLITS["gpt2"])
    schema = {"minProperties": 3, "not": {"propertyNames": {"not": {"enum": ["1", "3"]}}}}
    guide = detent.compile(detent.json_schema({"type": "object", **schema}), vocabulary, canonical=True)
    for text in ('{"1": 1, "', '{"x": 1, "3": 2, "'):
        matcher = guide.matcher()
        for token in vocabulary.encode_canonical(text):
            matcher.advance(token)
        decided = [token for token in range(len(vocabulary)) if matcher.validate([token]) == 1]
        assert matcher.allowed().tolist() == decided, text


def test_a_character_that_only_the_text_after_its_string_completes() -> None:
    """Inside the string no text ends the chunk of the letter: the space after the string does."""
    split = read_splits("\u00e9[^ ]*(?= )|\u00e9|[^\u00e9]")
    tokens = [*(bytes([byte]) for byte in range(256)), b"a\xc3"]
    vocabulary = vocabulary_of(tokens, [(ord("a"), 0xC3, 0, 256)], split=split)
    string = detent.json_schema({"type": "string", "pattern": "^[a\u00e9]*$"})
    matcher = detent.compile(string + detent.literal(", a"), vocabulary, canonical=True).matcher()
    for token in '"\u00e9a'.encode():
        matcher.advance(token)
        assert matcher.allowed().tolist() == [each for each in range(257) if matcher.validate([each]) == 1]
    assert 0xC3 not in matcher.allowed() and 256 in matcher.allowed()
