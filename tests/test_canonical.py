"""Canonical guides: the sequences of tokens are exactly those that the tokenizer makes of the texts of the language."""

from __future__ import annotations

import itertools
import json
import random
import string

import numpy as np
import pytest

import detent
from detent.errors import ArgumentError, EmptyLanguageError, LimitError, StateError, UnsupportedError
from detent.vocabulary.core_encoder import CoreEncoder
from tests.support.shared_data import canonical_record, needs_shared, real_vocabulary
from tests.support.toy_bpe import SPLITS, random_tokenizer, vocabulary_of

END = -1


def allowed(matcher):
    vocabulary = matcher.guide.vocabulary
    return {END if token in vocabulary.eos_token_ids else token for token in matcher.allowed().tolist()}


def matcher_at(guide, tokens):
    matcher = guide.matcher()
    for token in tokens:
        matcher.advance(token)
    return matcher


def tree_of(vocabulary, words):
    """Give what follows each beginning of the words' tokens."""
    tree = {}
    for word in words:
        tokens = (*vocabulary.encode_canonical(word), END)
        for position, token in enumerate(tokens):
            tree.setdefault(tokens[:position], set()).add(token)
    return tree


def check_tree(vocabulary, words, *, refused=False):
    tree = tree_of(vocabulary, words)
    guide = detent.compile(detent.choice(words), vocabulary, canonical=True)
    for tokens, following in tree.items():
        matcher = matcher_at(guide, tokens)
        assert allowed(matcher) == following, (tokens, words)
        assert matcher.is_accepting == (END in following)
        for token in range(len(vocabulary) - 1) if refused else ():
            if token not in following:
                with pytest.raises(StateError):
                    matcher.advance(token)
    return guide


def random_words(rng, letters, most):
    if rng.random() < 0.3:
        length = rng.randint(1, 4)
        words = ["".join(word) for size in range(length + 1) for word in itertools.product(letters, repeat=size)]
        if len(words) < 700:
            return words
    return sorted({"".join(rng.choices(letters, k=rng.randint(0, most))) for _ in range(rng.choice((1, 3, 10, 40)))})


@pytest.mark.parametrize("seed", range(40))
def test_every_mask_is_the_definition(seed):
    rng = random.Random(seed)
    for _ in range(4):
        letters = rng.choice(("ab", "ab c", " a\n", "a '1", " \n.", "a1 ", "a\u00e9", "' st"))
        tokens = [bytes([byte]) for byte in sorted(set(letters.encode()))]
        for _ in range(rng.randint(1, 10)):
            joined = rng.choice(tokens) + rng.choice(tokens)
            if joined not in tokens and len(joined) <= 7:
                tokens.append(joined)
        index = {token: number for number, token in enumerate(tokens)}
        split = rng.choice(list(SPLITS))
        whole = split != "none" and rng.random() < 0.5
        merges = [
            (index[token[:cut]], index[token[cut:]], 0, number)
            for token, number in index.items()
            for cut in range(1, len(token))
            if token[:cut] in index and token[cut:] in index and not (whole and rng.random() < 0.3)
        ]
        ranks = list(range(len(merges)))
        if rng.random() < 0.4:
            rng.shuffle(ranks)
        merges = [(left, right, rank, token) for (left, right, _, token), rank in zip(merges, ranks, strict=True)]
        vocabulary = vocabulary_of(tokens, merges, split=SPLITS[split], ignore_merges=whole)
        check_tree(vocabulary, random_words(rng, letters, 8), refused=True)


def test_endless_languages_without_dead_ends():
    rng = random.Random(3)
    patterns = ("(ab|b)*", "a*b*", "(aaa(|a))*", "((a|b){3})*", "(aa)*b?", "a(b|aa)*a", "b*(a|b)")
    for _ in range(30):
        tokens, merges = random_tokenizer(rng)
        vocabulary = vocabulary_of(tokens, merges)
        pattern = rng.choice(patterns)
        language = detent.regex(pattern) & detent.regex(f"[{''.join(t.decode() for t in tokens if len(t) == 1)}]*")
        words = list(itertools.takewhile(lambda word: len(word) <= 9, language.enumerate()))
        tree = tree_of(vocabulary, words)
        guide = detent.compile(language, vocabulary, canonical=True)
        for prefix in sorted(tree, key=len):
            matcher = matcher_at(guide, prefix)
            # Words that are longer add what the short ones do not have.
            assert allowed(matcher) >= tree[prefix]
            for token in allowed(matcher) - tree[prefix] - {END}:
                ahead = matcher.fork()
                ahead.advance(token)
                text = [*prefix, token]
                for _ in range(200):
                    if ahead.is_accepting:
                        break
                    text.append(rng.choice(sorted(allowed(ahead))))
                    ahead.advance(text[-1])
                if ahead.is_accepting:
                    assert vocabulary.encode_canonical(vocabulary.decode(text)) == text


@needs_shared
def test_sequences_on_record():
    for case in canonical_record("toy_canonical")[::5]:
        texts = case["tokens"]
        index = {text: number for number, text in enumerate(texts)}
        merges = case["pair_rank"] or [
            (index[text[:cut]], index[text[cut:]], rank, index[text])
            for text, rank in (case["concat_rank"] or {}).items()
            for cut in range(1, len(text))
            if text[:cut] in index and text[cut:] in index
        ]
        guide = detent.compile(
            detent.regex(case["regex"]), vocabulary_of([text.encode() for text in texts], merges), canonical=True
        )
        found, pending = [], [((), 0)]
        while pending:
            tokens, length = pending.pop()
            following = allowed(matcher_at(guide, tokens))
            assert following
            for token in following - {END}:
                if length + len(texts[token]) <= case["max_len"]:
                    pending.append(((*tokens, token), length + len(texts[token])))
            if END in following:
                found.append(list(tokens))
        assert sorted(found) == sorted(case["sequences"])


def pieces_file(tmp_path, pieces, merges, **model):
    """Write a small tokenizer of pieces with byte pieces."""
    names = ["<unk>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    data = {
        "added_tokens": [{"id": number, "content": name, "special": True} for number, name in enumerate(names[:2])],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        "pre_tokenizer": None,
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
            "byte_fallback": True,
            "vocab": {name: number for number, name in enumerate(names)},
            "merges": merges,
            **model,
        },
    }
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return detent.Vocabulary.from_file(path, eos_token_ids=[1])


@pytest.mark.parametrize("seed", range(8))
def test_masks_of_pieces_are_the_definition(seed, tmp_path):
    rng = random.Random(seed)
    for _ in range(4):
        pieces = ["a", "b", "\u2581", "\u00e9"]
        merges = []
        for _ in range(rng.randint(1, 9)):
            left, right = rng.choice(pieces), rng.choice(pieces)
            merges.append([left, right])
            if left + right not in pieces:
                pieces.append(left + right)
        unique = [list(pair) for pair in dict.fromkeys(map(tuple, merges))]
        check_tree(pieces_file(tmp_path, pieces, unique, byte_fallback=False), random_words(rng, "ab \u00e9", 6))
        vocabulary = pieces_file(tmp_path, pieces, unique)
        check_tree(
            vocabulary, random_words(rng, rng.choice(("ab", "ab ", "a\u00e9", "a\u00e8\u4e2d ", "\u00e8\u00e9b")), 6)
        )


def test_bytes_of_pieces_stay_inside_unknown_characters(tmp_path):
    vocabulary = pieces_file(tmp_path, ["a", "\u2581", "\u00e9"], [])
    guide = detent.compile(detent.regex("."), vocabulary, canonical=True)
    tokens = allowed(guide.matcher())
    assert vocabulary.encode_canonical("a")[0] in tokens
    byte = vocabulary.encode_canonical("\n")[0] - 10
    assert not {byte + ord("a"), byte + ord(" "), byte + 0x80} & tokens
    assert byte + 0xC3 in tokens
    assert byte + 0xA9 not in allowed(matcher_at(guide, [byte + 0xC3]))  # \u00e9 is a piece
    with pytest.raises(EmptyLanguageError, match="own tokens"):
        detent.compile(detent.literal("a\u2581"), vocabulary, canonical=True)


@needs_shared
def test_acceptance():
    cases = canonical_record("acceptance")
    vocabulary = real_vocabulary("llama3")
    for case in (
        cases["llama3_orderId_orderName"],
        cases["llama3_name_of_the_person"],
        *cases["llama3_llguidance_counterexamples"],
    ):
        guide = detent.compile(detent.regex(case["regex"]), vocabulary, canonical=True)
        matcher = matcher_at(guide, case["prefix"])
        if "next" in case:
            assert matcher.allowed().tolist() == case["next"]
        if "forced" in case:
            assert matcher.forced() == case["forced"]
        else:
            assert [vocabulary.token_bytes(token).decode() for token in matcher.forced()] == case["canonical_forced"]
    pieces = real_vocabulary("mistral-v3")
    for pattern, expected in (
        ("( William)|( Theodore)", {b" William", b" Theod"}),
        ("boolean: ((true)|(false))", {b"boolean"}),
    ):
        matcher = detent.compile(detent.regex(pattern), pieces, canonical=True).matcher()
        assert {pieces.token_bytes(token) for token in matcher.allowed()} == expected


@needs_shared
def test_acceptance_by_schemas():
    vocabulary = real_vocabulary("llama3")

    def behind_the_brace(members, **more):
        schema = {"type": "object", "properties": members, "additionalProperties": False, **more}
        guide = detent.compile(detent.json_schema(schema, spelling="any"), vocabulary, canonical=True)
        return matcher_at(guide, vocabulary.encode_canonical('{"'))

    text = {"type": "string"}
    either = behind_the_brace({"orderId": text, "orderName": text})
    assert {vocabulary.token_bytes(token) for token in either.allowed()} == {b"order", b"orderId"}
    assert either.forced() == []
    either.advance(vocabulary.encode_canonical("order")[0])
    assert {vocabulary.token_bytes(token) for token in either.allowed()} == {b"Name"}
    person = {"name_of_the_person": text, "age": {"type": "integer"}}
    matcher = behind_the_brace(person, required=list(person))
    forced = [vocabulary.token_bytes(token) for token in matcher.forced()]
    assert forced == [b"name", b"_of", b"_the", b"_person"]  # the quotation mark is merged with the colon
    for token in matcher.forced():
        matcher.advance(token)
    allowed_tokens = {vocabulary.token_bytes(token) for token in matcher.allowed()}
    assert {b'":', b'"'} <= allowed_tokens  # white space may stand before the colon
    pieces = real_vocabulary("mistral-v3")
    names = detent.compile(detent.regex("( William)|( Theodore)"), pieces, canonical=True)
    theodore = pieces.encode_canonical(" Theodore")
    assert matcher_at(names, theodore[:1]).forced() == theodore[1:]
    truth = detent.compile(detent.regex("boolean: ((true)|(false))"), pieces, canonical=True).matcher()
    assert [pieces.token_bytes(token) for token in truth.forced()] == [b"boolean", b":"]


@needs_shared
def test_masks_on_record():
    vocabulary = real_vocabulary("llama3")
    for case in canonical_record("llama3_finite_masks"):
        guide = detent.compile(detent.choice(case["strings"]), vocabulary, canonical=True)
        for tokens, following in case["next"]:
            assert allowed(matcher_at(guide, tokens)) == set(following)


@needs_shared
@pytest.mark.parametrize("name", ["gpt2", "llama2-spm", "llama3", "mistral-v3", "qwen2", "tekken"])
def test_masks_of_real_tokenizers_are_the_definition(name):
    rng = random.Random(name)
    letters = [
        *" \n\r\t'sST\u017flve0123\u0663aAbe\u00e9\u00df\u4e2d\u6587\U0001f600\u200d\u0301_-/.,\"{}[\u00a0\u3000~",
        " a",
        "  ",
        "the ",
    ]
    for _ in range(3):
        words = {"".join(rng.choices(letters, k=rng.randint(0, 12))) for _ in range(25)}
        words |= {word + rng.choice(letters) for word in words}
        check_tree(real_vocabulary(name), sorted(words))


@needs_shared
@pytest.mark.parametrize("name", ["gpt2", "llama3", "mistral-v3"])
def test_what_is_written_is_tokenized_alike(name):
    vocabulary = real_vocabulary(name)
    rng = np.random.default_rng(7)
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array"}},
        "required": ["name"],
    }
    for language in (
        detent.regex(r'"([^"\\]|\\[nt"])*"'),
        detent.regex(r"[a-z]+( [a-z]+)*\."),
        detent.regex("[\u4e00-\u9fff]{2,10}[\U0001f600-\U0001f64f]+\u00e9*"),
        detent.regex(r"\s*a\s*b"),
        detent.json_schema(schema),
    ):
        guide = detent.compile(language, vocabulary, canonical=True)
        for _ in range(12):
            matcher, tokens = guide.matcher(), []
            while len(tokens) < 60 and not (matcher.is_accepting and rng.random() < 0.3):
                following = matcher.allowed()
                assert len(following)
                token = int(rng.choice(following))
                if token in vocabulary.eos_token_ids:
                    break
                matcher.advance(token)
                tokens.append(token)
            if matcher.is_accepting:
                text = vocabulary.decode(tokens)
                assert language.accepts(text)
                assert vocabulary.encode_canonical(text) == tokens


def test_texts_with_added_tokens_are_left_out(tmp_path):
    vocabulary = pieces_file(tmp_path, ["a", "b", "\u2581"], [])
    encoder = vocabulary._tables.encoder.encoder
    object.__setattr__(vocabulary, "_tables", vocabulary._tables.with_encoder(CoreEncoder(encoder, ("ba",))))
    guide = detent.compile(detent.regex("[ab]{2,3}"), vocabulary, canonical=True)
    after_b = matcher_at(guide, vocabulary.encode_canonical("b"))
    assert {vocabulary.token_bytes(token) for token in after_b.allowed()} == {b"b"}


def test_matchers_are_used_alike():
    vocabulary = vocabulary_of([b"a", b"b", b"ab"], [(0, 1, 0, 2)])
    guide = detent.compile(detent.regex("a*b{1,3}"), vocabulary, canonical=True)
    assert guide.canonical
    matcher = guide.matcher()
    assert allowed(matcher) == {0, 1, 2}
    with pytest.raises(StateError, match="leads out of the language"):
        matcher_at(guide, [1]).advance(0)
    matcher.advance(0)
    assert allowed(matcher) == {0, 2}
    assert "tokenizer writes no text" in matcher.explain(1)
    with pytest.raises(StateError, match="tokenizer's own tokens"):
        matcher.advance(1)
    other = matcher.fork()
    other.advance(2)
    assert other.is_accepting
    assert allowed(other) == {1, END}
    other.rollback()
    assert allowed(other) == allowed(matcher) == {0, 2}
    rows = detent.allocate_mask(2, len(vocabulary))
    detent.BatchMatcher([matcher, other]).fill_mask(rows)
    assert rows.tolist() == [[0b101], [0b101]]
    matcher.advance(2)
    matcher.advance(3)
    assert matcher.is_finished


def test_forced_tokens_of_any_guide():
    vocabulary = detent.Vocabulary([b"a", b"b", b"c"], eos_token_ids=None)
    matcher = detent.compile(detent.regex("abc|abb"), vocabulary).matcher()
    assert matcher.forced() == [0, 1]
    assert len(matcher) == 0
    matcher.advance(0)
    matcher.advance(1)
    assert matcher.forced() == []
    matcher.advance(2)
    assert matcher.forced() == []


@needs_shared
def test_beginnings_of_texts():
    vocabulary = real_vocabulary("llama3")
    assert vocabulary.heal("order") == ([], b"order")
    tokens, rest = vocabulary.heal('name_of_the_person"', vocabulary.encode_canonical('{"'))
    assert ([vocabulary.token_bytes(token) for token in tokens], rest) == ([b"name", b"_of", b"_the", b"_person"], b'"')
    assert vocabulary.heal("") == ([], b"")
    assert vocabulary.heal("\u65e5\u672c".encode()[:-1]) == ([], "\u65e5\u672c".encode()[:-1])
    # Recent tokens that are never written before the text do not count.
    assert vocabulary.heal("~" * 31, vocabulary.encode_canonical("~")) == ([], b"~" * 31)
    many = [
        *vocabulary.encode_canonical(" and so on" * 400),
        *vocabulary.encode_canonical("b"),
        *vocabulary.encode_canonical("e"),
    ]
    assert vocabulary.heal("llo", many) == vocabulary.heal("llo", many[-1:])
    text = 'def f(x):\n    return {"a": [1,  2], "b": "na\u00efve"}\n\n\n# \u4e2d\u6587 it\'s'
    for end in range(0, len(text), 3):
        tokens, rest = vocabulary.heal(text[:end])
        assert vocabulary.decode(tokens) + rest == text[:end].encode()
        for more in ("", "x", " ", "1", "\n", "\u4e2d", "::", "  y", text[end:]):
            assert vocabulary.encode_canonical(text[:end] + more)[: len(tokens)] == tokens
    with pytest.raises(ArgumentError, match="no text begins with"):
        vocabulary.heal(b"\xff")


_NO_TEXT = detent.byte_class(b"\xfe\xff")
_TAILS = {
    "last": detent.literal(" x y") + _NO_TEXT,
    "first": _NO_TEXT + detent.literal(" x y"),
    "in the middle": detent.literal(" x y") + _NO_TEXT + detent.literal(" z"),
    "in a repeat": detent.literal(" x y") + _NO_TEXT.repeat(1, 3) + detent.literal(" z"),
    "in a union": detent.literal(" x y") + (_NO_TEXT | (_NO_TEXT + detent.literal("z"))),
    "in an intersection": (detent.literal(" x") + _NO_TEXT.repeat(0, 2)) - detent.literal(" x"),
}


@pytest.mark.parametrize("tail", _TAILS.values(), ids=_TAILS)
def test_bytes_that_no_text_has_are_no_way_on(tail):
    vocabulary = detent.load_model().vocabulary
    language = (detent.literal("one two") + tail) | detent.literal("one three")
    matcher = matcher_at(detent.compile(language, vocabulary, canonical=True), vocabulary.encode_canonical("one"))
    assert allowed(matcher) == {vocabulary.encode_canonical("one three")[1]}
    language = (detent.literal("one two") + (tail | detent.literal(" four"))) | detent.literal("one three")
    matcher = matcher_at(detent.compile(language, vocabulary, canonical=True), vocabulary.encode_canonical("one"))
    assert len(allowed(matcher)) == 2


def test_many_required_members_in_any_order_take_few_states():
    """A completion through all of them is found for no member: one mask would take over 10,000 states."""
    names = [f"field_{number}" for number in range(160)]
    properties = {name: {"type": "string"} for name in names}
    schema = {"type": "object", "properties": properties, "required": names[:60], "additionalProperties": False}
    vocabulary = detent.load_model().vocabulary
    language = detent.json_schema(schema, order="any")
    guide = detent.compile(language, vocabulary, canonical=True, limits=detent.Limits(states=10_000))
    matcher = guide.matcher()
    members = [*random.Random(0).sample(names[60:], 2), *names[:60]]
    for token in vocabulary.encode_canonical(json.dumps(dict.fromkeys(members, "x"))):
        assert token in allowed(matcher)
        matcher.advance(token)
    assert END in allowed(matcher)


@pytest.mark.parametrize("canonical", [False, True])
def test_words_over_many_byte_classes(canonical: bool) -> None:
    """Rows of 60 byte classes; most states have one successor: a class of one byte, or of e, n and s, which merge."""
    vocabulary = detent.load_model().vocabulary
    letters = "".join(each for each in string.ascii_letters + string.digits if each not in "ens")
    words = [
        letters[i] + letters[(7 * i + 3) % len(letters)] + last + letters[(11 * i + 5) % len(letters)]
        for i in range(len(letters))
        for last in "ens"
    ]
    kept = [word for word in words if ord(word[-1]) % 3]  # the others are dead from their first byte on
    language = detent.choice(*words) & detent.regex(f"...[{''.join(each for each in letters if ord(each) % 3)}]")
    guide = detent.compile(language, vocabulary, canonical=canonical)
    texts = {word: vocabulary.encode_canonical(word) for word in kept}
    tokens = [vocabulary.token_bytes(token_id) for token_id in range(len(vocabulary))]
    for ids in {tuple(found[:length]) for found in texts.values() for length in range(len(found))}:
        matcher = guide.matcher()
        for token_id in ids:
            matcher.advance(token_id)
        text = b"".join(tokens[token_id] for token_id in ids).decode()
        if canonical:
            expected = {found[len(ids)] for found in texts.values() if tuple(found[: len(ids)]) == ids}
        else:
            rests = {word[len(text) : end].encode() for word in kept if word.startswith(text) for end in range(5)}
            expected = {token_id for token_id, token in enumerate(tokens) if token and token in rests}
        assert set(matcher.allowed().tolist()) == expected, text


def test_what_is_refused():
    plain = detent.Vocabulary([b"a", b"b"], eos_token_ids=None)
    with pytest.raises(UnsupportedError, match="how its tokenizer splits"):
        detent.compile(detent.regex("a"), plain, canonical=True)
    with pytest.raises(ArgumentError, match='True, False or "approximate"'):
        detent.compile(detent.regex("a"), plain, canonical="yes")
    vocabulary = vocabulary_of([b"a", b"b", b"ab"], [(0, 1, 0, 2)])
    guide = detent.compile(detent.regex("[ab]*"), vocabulary, canonical=True)
    with pytest.raises(UnsupportedError, match="which tokens they are"):
        guide.matcher().advance_bytes(b"a")
    with pytest.raises(EmptyLanguageError, match="own tokens"):
        detent.compile(detent.byte_class(b"\xff"), vocabulary_of([b"a", b"\xff"], []), canonical=True)
    with pytest.raises(LimitError, match="memory_bytes"):
        detent.compile(detent.regex("[ab]{200}"), vocabulary, canonical=True, limits=detent.Limits(memory_bytes=8_000))
