"""Special tokens in languages: against sets of words, on a real vocabulary, and with all that a guide does."""

from __future__ import annotations

import codecs
import pickle
import re
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from tests.support.shared_data import needs_shared, real_vocabulary

# A word is a tuple of characters and of special tokens' names.
SPECIAL = {"<s>": 6, "<st>": 7}
TOKENS = [b"a", b"b", b"ab", b"ba", b"\xff", b"\xff\x80", b"<s>", b"<st>", b"</s>"]
VOCABULARY = detent.Vocabulary(TOKENS, eos_token_ids=[8], special_token_ids=[6, 7])

Word = tuple[str, ...]
Case = tuple[detent.Language, frozenset[Word]]


_MOST_WORDS = 200
"""Of a case: nested repeats would square them again and again."""


def text_of(word: Word) -> str:
    return "".join(unit for unit in word if unit not in SPECIAL)


def plain() -> st.SearchStrategy[Case]:
    letter = st.sampled_from("ab").map(lambda c: (detent.literal(c), frozenset({(c,)})))
    return st.recursive(letter | st.just((detent.literal(""), frozenset({()}))), combined, max_leaves=4)


def combined(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    def row(pair: tuple[Case, Case]) -> Case:
        (left, words), (right, others) = pair
        if len(words) * len(others) > _MOST_WORDS:
            return pair[0]
        return left + right, frozenset(x + y for x in words for y in others)

    def either(pair: tuple[Case, Case]) -> Case:
        (left, words), (right, others) = pair
        return left | right, words | others

    def twice(case: Case) -> Case:
        language, words = case
        if len(words) ** 2 > _MOST_WORDS:
            return case
        return language.repeat(0, 2), frozenset({(), *words}) | frozenset(x + y for x in words for y in words)

    pairs = st.tuples(inner, inner)
    return pairs.map(row) | pairs.map(either) | inner.map(twice)


def conditioned(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    def both(pair: tuple[Case, Case]) -> Case:
        (left, words), (right, others) = pair
        texts = {text_of(word) for word in others}
        return left & right, frozenset(word for word in words if text_of(word) in texts)

    def difference(pair: tuple[Case, Case]) -> Case:
        (left, words), (right, others) = pair
        texts = {text_of(word) for word in others}
        return left - right, frozenset(word for word in words if text_of(word) not in texts)

    pairs = st.tuples(inner, plain())
    return combined(inner) | pairs.map(both) | pairs.map(difference)


def languages() -> st.SearchStrategy[Case]:
    special = st.sampled_from(sorted(SPECIAL)).map(lambda name: (detent.special_token(name), frozenset({(name,)})))
    return st.recursive(special | plain(), conditioned, max_leaves=6)


def units(token: int) -> Word:
    name = TOKENS[token].decode(errors="surrogateescape")
    return (name,) if token in SPECIAL.values() else tuple(name)


@settings(max_examples=150)
@given(languages())
def test_masks_are_those_of_the_words(case: Case) -> None:
    language, words = case
    if not language._node.has_special:
        return  # an intersection of two texts, which other tests know
    if not words:
        with pytest.raises(detent.EmptyLanguageError):
            detent.compile(language, VOCABULARY)
        return
    guide = detent.compile(language, VOCABULARY)
    prefixes = {word[:end] for word in words for end in range(len(word) + 1)}
    for length in range(4):
        for row in product(range(8), repeat=length):
            word = sum((units(token) for token in row), ())
            if word not in prefixes:
                continue
            matcher = guide.matcher()
            for token in row:
                matcher.advance(token)
            expected = [token for token in range(8) if word + units(token) in prefixes]
            assert matcher.allowed().tolist() == expected + [8] * (word in words)
    assert set(language.enumerate()) == {text_of(word).encode() for word in words}


def test_a_condition_is_about_the_text_without_special_tokens() -> None:
    turn = detent.text() + detent.special_token("<s>") + detent.text()
    vocabulary = detent.Vocabulary(
        [*(bytes([byte]) for byte in range(256)), b"<s>", b"</s>"], eos_token_ids=[257], special_token_ids=[256]
    )
    for banned in (detent.without("talk"), ~detent.containing("talk"), detent.without("Talk", ignore_case=True)):
        matcher = detent.compile(turn & banned, vocabulary).matcher()
        for token in [*b"tal", 256]:
            assert token in matcher.allowed()
            matcher.advance(token)
        assert ord("k") not in matcher.allowed()
        assert ord("x") in matcher.allowed()


_ANY = detent.byte_class(bytes(range(256)))
_PLAIN = detent.byte_class(bytes(set(range(256)) - {0x5C}))
_UNPAIRED = r"(?:[^\\]|\\.)*"
CONDITIONS: dict[str, tuple[detent.Language, Callable[[str], bool]]] = {
    "without words": (detent.without("ab", "ba", "b\\"), lambda text: not re.search(r"ab|ba|b\\", text)),
    "whole words": (detent.without("ab", whole_words=True), lambda text: not re.search(r"\bab\b", text)),
    "with a word": (detent.containing("ab"), lambda text: "ab" in text),
    "three bytes": (_ANY.repeat(3, 3), lambda text: len(text) == 3),
    "some bytes": (_ANY.repeat(1, None) + "a", lambda text: len(text) > 1 and text[-1] == "a"),
    "no bytes": (~_ANY.repeat(0, 2), lambda text: len(text) > 2),
    "not an escaped word": (
        ~((_PLAIN | "\\" + _ANY).repeat(0, None) + "ab" + _ANY.repeat(0, None)),
        lambda text: not re.match(_UNPAIRED + "ab", text),
    ),
    "escapes only": ((_ANY | "\\" + _ANY).repeat(0, None), lambda text: True),
    "a frame's bytes": (~(_ANY.repeat(0, None) + b"\xff" + _ANY.repeat(0, None)), lambda text: True),
    "two conditions": (
        detent.without("aa") & detent.containing("b") & ~detent.literal("b"),
        lambda text: "aa" not in text and "b" in text and text != "b",
    ),
}


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("length", [3, pytest.param(5, marks=pytest.mark.long)])
def test_conditions_beside_special_tokens(name: str, length: int) -> None:
    """All rows of some letters and special tokens, of which those remain whose text satisfies a condition."""
    condition, holds = CONDITIONS[name]
    tokens = ["a", "b", "\\", "<s>", "<st>"]
    vocabulary = detent.Vocabulary([*map(str.encode, tokens), b"</s>"], eos_token_ids=[5], special_token_ids=[3, 4])
    unit = detent.regex(r"[ab\\]") | detent.special_token("<s>") | detent.special_token("<st>")
    rows = [row for count in range(length + 1) for row in product(range(5), repeat=count)]
    kept = {row for row in rows if holds("".join(tokens[each] for each in row if each < 3))}
    prefixes = {row[:end] for row in kept for end in range(len(row) + 1)}
    matcher = detent.compile(unit.repeat(0, length) & condition, vocabulary).matcher()
    for row in prefixes:
        for token in row:
            matcher.advance(token)
        expected = [token for token in range(5) if (*row, token) in prefixes] + [5] * (row in kept)
        assert matcher.allowed().tolist() == expected, row
        matcher.rollback(len(row))


def test_bytes_of_a_frame_write_no_special_token() -> None:
    language = detent.special_token("<s>") | detent.byte_class(bytes(range(256))).repeat(1, 9)
    matcher = detent.compile(language, VOCABULARY).matcher()
    assert matcher.allowed().tolist() == [0, 1, 2, 3, 6]  # not the tokens with 0xFF, which begins a frame


def test_an_end_of_text_that_is_asked_for_ends_the_text() -> None:
    vocabulary = detent.Vocabulary([b"a", b"<eot>", b"</s>", b"<s>"], eos_token_ids=[1, 2], special_token_ids=[3])
    turn = detent.special_token("<s>") + detent.literal("a") + detent.special_token("<eot>")
    matcher = detent.compile(turn, vocabulary).matcher()
    for token in (3, 0, 1):
        assert not matcher.is_finished
        assert matcher.allowed().tolist() == [token]
        matcher.advance(token)
    assert matcher.is_finished
    assert matcher.allowed().tolist() == [1, 2]
    matcher.rollback(1)
    assert matcher.allowed().tolist() == [1]
    for more in (turn.repeat(1, 2), turn + "a", turn + detent.special_token("<s>"), turn.repeat(1, None)):
        with pytest.raises(detent.ArgumentError, match="goes on after '<eot>'"):
            detent.compile(more, vocabulary)
    detent.compile(turn.repeat(1, None) & detent.literal("a"), vocabulary)


@pytest.mark.parametrize("spelled", ["not x, then b", "a less x", "not x, twice"])
def test_an_end_of_text_stands_at_the_end_of_what_a_complement_asks_for(spelled: str) -> None:
    """All rows of four tokens: an end of text is allowed where the text may end, and nothing behind it."""
    some = ~detent.special_token("<s>")
    ended = (detent.regex("[ab]*") + detent.special_token("<st>") | detent.regex("[ab]*")) + detent.special_token(
        "</s>"
    )
    language = {
        "not x, then b": some + "b",
        "a less x": ended - detent.special_token("<s>"),
        "not x, twice": some + some,
    }[spelled]
    guide, ends = detent.compile(language, VOCABULARY), 0
    rows: list[tuple[int, ...]] = [()]
    while rows:
        matcher = guide.matcher()
        for token in (row := rows.pop()):
            matcher.advance(token)
        if row and row[-1] == 8:
            ends += 1
            assert matcher.is_accepting
            assert set(matcher.allowed().tolist()) <= {8}
        elif len(row) < 4:
            rows += [(*row, token) for token in matcher.allowed().tolist()]
    assert ends


def test_a_model_writes_special_tokens() -> None:
    model = detent.load_model()
    said = detent.special_token("<|user|>") + detent.regex("[a-z ]{3,9}") + detent.special_token("<|end|>")
    output = detent.generate(model, "Hello", said, max_tokens=12, temperature=0)
    assert model.vocabulary.token_bytes(output.token_ids[0]) == b"<|user|>"
    assert said.accepts(output.text)
    assert output.finish_reason == "stop"
    banned = detent.generate(model, "Hello", said, max_tokens=12, temperature=0, ban=[output.text[:2]])
    assert output.text[:2] not in banned.text


def test_a_budget_counts_special_tokens() -> None:
    language = (detent.special_token("<s>") + detent.regex("[ab]*")).repeat(1, None) + detent.special_token("<st>")
    matcher = detent.compile(language, VOCABULARY).matcher(max_tokens=3)
    assert matcher.allowed().tolist() == [6]
    matcher.advance(6)
    assert matcher.allowed().tolist() == [0, 1, 2, 3, 6, 7]
    matcher.advance(2)
    assert matcher.allowed().tolist() == [7]
    assert detent.special_token("<s>").min_tokens(VOCABULARY) == 1


def test_tables_know_special_tokens() -> None:
    vocabulary = detent.Vocabulary([b"a", b"<eot>", b"</s>", b"<s>"], eos_token_ids=[1, 2], special_token_ids=[3])
    language = detent.special_token("<s>") + detent.literal("a") + detent.special_token("<eot>")
    guide = detent.compile(language, vocabulary)
    for tokens in [(), (3,), (3, 0), (3, 0, 1)]:
        plain, by_table = guide.matcher(), guide.to_table().matcher()
        for token in tokens:
            plain.advance(token)
            by_table.advance(token)
        assert plain.allowed().tolist() == by_table.allowed().tolist()
        assert plain.is_finished == by_table.is_finished


def test_a_name_of_a_token_of_text_is_that_text() -> None:
    vocabulary = detent.Vocabulary([b"<", b"go", b">", b"<go>", b"</s>"], eos_token_ids=[4])
    matcher = detent.compile(detent.special_token("<go>"), vocabulary).matcher()
    assert matcher.allowed().tolist() == [0, 3]


def test_what_is_not_known_is_said() -> None:
    with pytest.raises(detent.VocabularyError, match="no special token '<x>'; it has '<s>'"):
        detent.compile(detent.special_token("<x>"), VOCABULARY)
    with pytest.raises(detent.VocabularyError, match="it has none"):
        detent.compile(detent.special_token("<x>"), detent.Vocabulary([b"a"], eos_token_ids=None))
    with pytest.raises(detent.ArgumentError, match="give the name"):
        detent.special_token("")
    with pytest.raises(detent.UnsupportedError, match="canonical=True cannot be"):
        detent.compile(detent.special_token("<s>"), VOCABULARY, canonical=True)
    with pytest.raises(detent.UnsupportedError, match="intersect the parts"):
        detent.compile(detent.special_token("<s>") & detent.regex(r"(?=a)\w+"), VOCABULARY)


def test_languages_with_special_tokens_are_pickled() -> None:
    language = detent.special_token("<s>")
    again = pickle.loads(pickle.dumps(language))
    assert again == language
    assert again != detent.special_token("<st>")
    assert detent.compile(again, VOCABULARY).matcher().allowed().tolist() == [6]


@needs_shared
def test_turns_of_llama3() -> None:
    vocabulary = real_vocabulary("llama3")
    rule = detent.grammar(
        """
        start: <|start_header_id|> "assistant" <|end_header_id|> "\\n\\n" call ("; " call)* <|eot_id|>
        call: NAME "(" [NUMBER ("," NUMBER)*] ")"
        NAME: /[a-z_]+/
        NUMBER: /[0-9]+/
        """
    )
    guide = detent.compile(rule, vocabulary)
    special = {name: vocabulary.encode(name)[0] for name in ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")}
    ids = [special["<|start_header_id|>"], *vocabulary.encode_canonical("assistant"), special["<|end_header_id|>"]]
    ids += [*vocabulary.encode_canonical("\n\nadd(1,22); now()"), special["<|eot_id|>"]]
    matcher = guide.matcher(max_tokens=len(ids))
    for token in ids:
        assert token in matcher.allowed()
        matcher.advance(token)
    assert matcher.is_finished
    text = vocabulary.decode(ids).decode()
    assert text == "assistant\n\nadd(1,22); now()"
    assert rule.accepts(text)


def test_gbnf_names_special_tokens() -> None:
    rule = detent.gbnf('root ::= <s> ("a" | <st>)+ <s>')
    matcher = detent.compile(rule, VOCABULARY).matcher()
    for allowed, token in (([6], 6), ([0, 7], 7), ([0, 6, 7], 0), ([0, 6, 7], 6), ([8], 8)):
        assert matcher.allowed().tolist() == allowed
        matcher.advance(token)


def test_a_refusal_of_a_grammar_with_special_tokens_names_its_terminals() -> None:
    rule = detent.gbnf('root ::= (<s> "a" | "a" <st> "a")+')
    refusal = detent.compile(rule, VOCABULARY).matcher().why(1)
    assert refusal is not None
    assert [(reason.kind, reason.name, reason.text) for reason in refusal.reasons] == [("rule", "root", '"a"')]


def test_refusals_name_special_tokens() -> None:
    matcher = detent.compile(detent.special_token("<s>") + detent.literal("a"), VOCABULARY).matcher()
    assert "expected a special token" in matcher.explain(0)
    assert "special, and the rule does not ask for it here" in matcher.explain(7)
    matcher.advance(6)
    assert "expected 'a', by" in matcher.explain(1)


@pytest.mark.parametrize("excluded", ["<s>", "x<s>", "any"])
def test_no_special_token_stands_inside_a_character(excluded: str) -> None:
    # All token sequences of up to five tokens, with the bytes of characters of one to four bytes.
    letters = [bytes([byte]) for byte in "aé東😀".encode()]
    tokens = [*dict.fromkeys(letters), b"<s>", b"</s>"]
    special = tokens.index(b"<s>")
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[special + 1], special_token_ids=[special])
    token = detent.special_token("<s>")
    text = detent.text()
    others = {"<s>": token, "x<s>": detent.literal("x") + token, "any": text + token + token + text}
    matcher = detent.compile(text - others[excluded], vocabulary).matcher()

    def pieces(ids: list[int]) -> list[bytes]:
        found = [b""]
        for each in ids:
            if each == special:
                found.append(b"")
            else:
                found[-1] += tokens[each]
        return found

    def begins_text(piece: bytes) -> bool:
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(piece)
        except UnicodeDecodeError:
            return False
        return True

    def is_text(piece: bytes) -> bool:
        return begins_text(piece) and piece.decode(errors="ignore").encode() == piece

    pending: list[list[int]] = [[]]
    while pending:
        ids = pending.pop()
        for each in ids:
            matcher.advance(each)
        allowed = set(matcher.allowed().tolist()) - {special + 1}
        matcher.rollback(len(ids))
        for each in range(special + 1):
            *whole, last = pieces([*ids, each])
            expected = all(map(is_text, whole)) and begins_text(last)
            assert (each in allowed) == expected, (ids, each)
        if len(ids) < 4:
            pending += [[*ids, each] for each in allowed]
