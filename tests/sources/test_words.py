"""Texts that are written out or chosen, and texts with or without words: against sets, `re`, and all tokens tried."""

from __future__ import annotations

import codecs
import enum
import pickle
import random
import re
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from tests.support.hostile_corpus import expand, hostile_cases
from tests.support.shared_data import FOLDER, needs_shared, tokenizer_file

_BYTES = detent.Vocabulary([bytes([byte]) for byte in range(256)] + [b""], eos_token_ids=[256])


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"
    CRIMSON = "red"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


# --- Texts written out


@pytest.mark.parametrize("text", ["", "a+b", "\0", "é漢😀", b"\xff\x00"])
def test_literal_is_one_text(text):
    assert list(detent.literal(text).enumerate()) == [text if isinstance(text, bytes) else text.encode()]


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (("a", "ab", "b", "ab", ""), {"a": "a", "ab": "ab", "b": "b", "": ""}),
        ((["x", "y"],), {"x": "x", "y": "y"}),
        (((text for text in ("x", "y")),), {"x": "x", "y": "y"}),
        (("abc",), {"abc": "abc"}),
        ((7,), {"7": 7}),
        ((b"\xc3\xa9", "e"), {"é": b"\xc3\xa9", "e": "e"}),
        ((True, False), {"true": True, "false": False}),
        ((Literal["low", -5, True],), {"low": "low", "-5": -5, "true": True}),
        ((Colour,), {"red": Colour.RED, "blue": Colour.BLUE}),
        ((Colour.RED, "green"), {"red": Colour.RED, "green": "green"}),
        ((Level,), {"1": Level.LOW, "2": Level.HIGH}),
        ((Level.HIGH,), {"2": Level.HIGH}),
    ],
)
def test_choice_gives_the_option_back(options, values):
    language = detent.choice(*options)
    assert {text.decode() for text in language.enumerate()} == set(values)
    for text, value in values.items():
        assert language.parse(text) == value
        assert type(language.parse(text)) is type(value)


@settings(deadline=None)
@given(st.sets(st.text("abé", max_size=5), min_size=1), st.sets(st.text("abé", max_size=5)))
def test_choice_has_its_options_only(options, others):
    language = detent.choice(options)
    assert {text.decode() for text in language.enumerate()} == options
    assert all(language.accepts(text) == (text in options) for text in others)


def test_choice_of_very_many():
    options = [f"{'prefix' * 20}{number:05}" for number in range(20_000)]
    language = detent.choice(options)
    assert language.count(200) == len(options)
    assert language.parse(options[777]) == options[777]
    guide = detent.compile(language, _BYTES)
    matcher = guide.matcher()
    matcher.advance_bytes(b"prefix" * 20)
    assert matcher.allowed().tolist() == list(b"01")


def test_text_is_all_of_utf8():
    language = detent.text()
    for code in [*range(0x300), 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]:
        assert language.accepts(chr(code))
    for wrong in (b"\x80", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff"):
        assert not language.accepts(wrong)


@settings(max_examples=50)
@given(st.text(max_size=6), st.integers(0, 4), st.integers(0, 4))
def test_text_counts_characters(text, minimum, more):
    assert detent.text(minimum, minimum + more).accepts(text) == (minimum <= len(text) <= minimum + more)
    assert detent.text(minimum).accepts(text) == (minimum <= len(text))


def test_any_of_bytes():
    assert list(detent.byte_class(b"ba\xffa").enumerate()) == [b"a", b"b", b"\xff"]


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (lambda: detent.join(", "), [b""]),
        (lambda: detent.join(", ", "a"), [b"a"]),
        (lambda: detent.join(", ", "a", detent.choice("b", "c"), b"d"), [b"a, b, d", b"a, c, d"]),
        (lambda: detent.join("-", "a", maximum=2), [b"", b"a", b"a-a"]),
        (lambda: detent.join("-", "a", minimum=1, maximum=3), [b"a", b"a-a", b"a-a-a"]),
        (lambda: detent.join(detent.choice(",", ";"), "a", minimum=2, maximum=2), [b"a,a", b"a;a"]),
        (lambda: detent.join("-", "a", maximum=0), [b""]),
    ],
)
def test_join(language, texts):
    assert list(language().enumerate()) == texts


def test_join_without_an_upper_bound():
    language = detent.join(",", detent.choice("a", "b"), minimum=2)
    assert language == detent.regex("[ab](,[ab])+")
    assert detent.join(",", "a", minimum=0) == detent.regex("(a(,a)*)?")


# --- Words, or none of them, anywhere

_LETTERS = "aAbkKsS\u212a\u017fßẞiİıµμМм漢_ -é"
_WORDS = st.lists(st.text(_LETTERS, min_size=1, max_size=3), min_size=1, max_size=4)


def _pattern(words, whole_words):
    found = "|".join(map(re.escape, words))
    return rf"(?<!\w)(?:{found})(?!\w)" if whole_words else f"(?:{found})"


@settings(max_examples=200)
@given(_WORDS, st.lists(st.text(_LETTERS, max_size=8), min_size=10), st.booleans(), st.booleans())
def test_words_are_found_as_re_finds_them(words, texts, ignore_case, whole_words):
    options = {"ignore_case": ignore_case, "whole_words": whole_words}
    search = re.compile(_pattern(words, whole_words), re.IGNORECASE if ignore_case else 0).search
    have, lack = detent.containing(*words, **options), detent.without(*words, **options)
    texts = [*texts, *words, *(f"{text}{word} {text}" for text, word in zip(texts, words, strict=False))]
    for text in texts:
        assert have.accepts(text) == (search(text) is not None)
        assert lack.accepts(text) == (search(text) is None)


@settings(max_examples=25)
@given(_WORDS, st.booleans(), st.booleans())
def test_the_set_is_that_of_the_pattern(words, ignore_case, whole_words):
    """Equality of languages is exact: this compares every text there is."""
    options = {"ignore_case": ignore_case, "whole_words": whole_words}
    pattern = f"(?s:.*){_pattern(words, whole_words)}(?s:.*)"
    have = detent.containing(*words, **options)
    assert have == detent.regex(pattern, re.IGNORECASE if ignore_case else 0)
    assert detent.without(*words, **options) == detent.text() - have


@pytest.mark.parametrize("text", ["glisten", "listener", "list en", "li", "LISTENING", "listen_", "9listen"])
def test_parts_of_other_words_remain(text):
    assert detent.without("talk", "listen", ignore_case=True, whole_words=True).accepts(text)


@pytest.mark.parametrize("text", [" Listen,", "listen", "you LİſTEN!", "(talk)", "é talk", "talk\nto me", "Li-listen"])
def test_whole_words_go_in_any_case(text):
    assert not detent.without("talk", "listen", ignore_case=True, whole_words=True).accepts(text)


def test_a_word_may_begin_and_end_with_what_is_no_letter():
    language = detent.without("C++", "#", whole_words=True)
    assert not language.accepts("in C++.")
    assert language.accepts("C++x") and language.accepts("a#") and not language.accepts("# a")


def test_without_words_nothing_is_banned():
    assert detent.without() == detent.text()
    with pytest.raises(detent.ArgumentError, match="containing needs at least one word"):
        detent.containing()


def test_bytes_need_not_be_characters():
    assert detent.without(b"\xff") == detent.text()
    assert detent.containing(b"\xff").is_empty()
    assert detent.containing(b"\xa9") == detent.containing(*(chr(code) for code in range(0x110000) if _has(code, 0xA9)))
    assert detent.containing(b"\xc3\xa9") == detent.containing("é")


def _has(code, byte):
    return not 0xD800 <= code < 0xE000 and byte in chr(code).encode()


def test_every_byte_banned_leaves_the_empty_text():
    matcher = detent.compile(detent.without(*(bytes([byte]) for byte in range(256))), _BYTES).matcher()
    assert matcher.allowed().tolist() == [256]


@pytest.mark.parametrize(
    "words", [["ab" * 200], ["a" * n for n in range(2, 2000)], ["a" * n + "b" for n in range(1, 300)]]
)
def test_words_within_words(words):
    language = detent.without(*words)
    assert language.accepts("xba") and language.accepts("b" + words[0][:-1])
    assert not language.accepts(words[0] + "x")
    assert not language.accepts("x" + words[-1])


def test_a_very_long_word():
    word = "ab" * 50_000
    assert detent.without(word).accepts("abab")


@pytest.mark.parametrize(
    "call",
    [
        lambda: detent.literal("\ud800"),
        lambda: detent.literal(5),
        lambda: detent.choice(),
        lambda: detent.choice([]),
        lambda: detent.choice(enum.Enum("Nothing", [])),
        lambda: detent.choice("1", 1),
        lambda: detent.choice(1, True, "true"),
        lambda: detent.choice(None),
        lambda: detent.choice(1.5),
        lambda: detent.choice(["a", ["b"]]),
        lambda: detent.choice(detent.text(), "a"),
        lambda: detent.choice(b"\xff"),
        lambda: detent.choice("\udfff"),
        lambda: detent.choice(10**5000),
        lambda: detent.text(-1),
        lambda: detent.text(2, 1),
        lambda: detent.text(2**32),
        lambda: detent.text(True),
        lambda: detent.byte_class(b""),
        lambda: detent.byte_class("a"),
        lambda: detent.join(",", "a", "b", minimum=1),
        lambda: detent.join(",", minimum=1),
        lambda: detent.join(",", "a", minimum=2, maximum=1),
        lambda: detent.join(",", 5),
        lambda: detent.join(None, "a"),
        lambda: detent.without(""),
        lambda: detent.without(["a", "b"]),
        lambda: detent.without("a", None),
        lambda: detent.without("a\ud800"),
        lambda: detent.containing(b"\xff", ignore_case=True),
        lambda: detent.containing(b"\xff", whole_words=True),
    ],
)
def test_wrong_arguments(call):
    with pytest.raises(detent.ArgumentError) as caught:
        call()
    assert len(str(caught.value).encode()) <= 512


@pytest.mark.parametrize(
    "language",
    [
        detent.choice(Colour),
        detent.without("a", "b", ignore_case=True),
        detent.containing(*map(str, range(100)), whole_words=True),
        detent.join(", ", "a", minimum=2),
    ],
)
def test_languages_survive_pickling(language):
    copy = pickle.loads(pickle.dumps(language))
    assert copy == language and repr(copy) == repr(language) and copy.value == language.value


# --- Masks of real vocabularies

_SEED_WORDS = ("talk", "listen", "fuck you")
_TOKENIZERS = ("gpt2", "llama2-spm", "llama3")


@pytest.fixture(scope="module", params=_TOKENIZERS)
def vocabulary(request):
    if not FOLDER.is_dir():
        pytest.skip("needs the shared data")
    return detent.Vocabulary.from_file(tokenizer_file(request.param))


def _text_tokens(vocabulary):
    special = vocabulary.special_token_ids
    return [
        (i, vocabulary.token_bytes(i)) for i in range(len(vocabulary)) if i not in special and vocabulary.token_bytes(i)
    ]


def _begins_utf8(text):
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return False
    return True


@needs_shared
@pytest.mark.parametrize("start", ["", "I will lis", "fuck", "oh, FUCK yo", " tal", "\N{KELVIN SIGN} tal"])
def test_masks_ban_every_token_that_completes_a_word(vocabulary, start):
    """The naive method: try each token. A mask also knows characters that it has only the first bytes of."""
    search = re.compile("talk|listen|fuck you", re.IGNORECASE).search
    matcher = detent.compile(detent.without(*_SEED_WORDS, ignore_case=True), vocabulary).matcher()
    matcher.advance_bytes(start.encode())
    expected = []
    for token_id, token in _text_tokens(vocabulary):
        text = start.encode() + token
        if _begins_utf8(text) and not search(text.decode(errors="ignore")):
            expected.append(token_id)
    assert matcher.allowed().tolist() == sorted([*expected, *vocabulary.eos_token_ids])


@needs_shared
@pytest.mark.parametrize("word", _SEED_WORDS)
def test_no_path_of_tokens_spells_a_word(vocabulary, word):
    """Every tokenization of a text with the word in it, not only the usual one, stops at a mask."""
    text = f"You {word}ed".encode()
    by_bytes = {}
    for token_id, token in _text_tokens(vocabulary):
        if token in text:
            by_bytes.setdefault(token, []).append(token_id)
    matcher = detent.compile(detent.without(*_SEED_WORDS), vocabulary).matcher()
    end = text.index(word.encode()) + len(word)
    row = np.zeros((len(vocabulary) + 31) // 32, np.int32)
    reached, refused = {0}, set()
    for offset in range(len(text)):
        if offset not in reached:
            continue
        matcher.rollback(len(matcher.token_ids))
        if offset:
            matcher.advance_bytes(text[:offset])
        matcher.fill_mask(row)
        for token, token_ids in by_bytes.items():
            if text.startswith(token, offset):
                for token_id in token_ids:
                    allowed = bool(row[token_id >> 5] >> (token_id & 31) & 1)
                    assert allowed == (offset + len(token) < end)
                    (reached if allowed else refused).add(offset + len(token))
        matcher.rollback(len(matcher))
    assert refused and max(reached) < end


@needs_shared
def test_ten_thousand_words(vocabulary):
    """Masks among many words, where each state is new, against the naive method; several states share their walk."""
    rng = random.Random(7)
    tokens = _text_tokens(vocabulary)
    letters = sorted({token.strip() for _, token in tokens if token.strip().isalpha() and len(token) > 4})
    words = rng.sample(letters, min(10_000, len(letters) // 2))
    banned, sizes = set(words), sorted({len(word) for word in words})
    matcher = detent.compile(detent.without(*words), vocabulary).matcher()
    text = b""
    for _ in range(12):
        allowed = set(matcher.allowed().tolist()) - set(vocabulary.eos_token_ids)
        sample = rng.sample(tokens, 300)
        assert [token_id for token_id, _ in sample if token_id in allowed] == [
            token_id
            for token_id, token in sample
            if _begins_utf8(text + token) and not _has_word(text + token, banned, sizes)
        ]
        token_id = rng.choice(sorted(allowed))
        matcher.advance(token_id)
        text += vocabulary.token_bytes(token_id)


def _has_word(text, words, sizes):
    return any(text[start : start + size] in words for start in range(len(text)) for size in sizes)


# --- The hostile corpus


@needs_shared
@pytest.mark.parametrize("case", hostile_cases("banned_words"), ids=lambda case: case["id"])
def test_hostile_words(case):
    given_ = case["input"]
    options = {"ignore_case": given_.get("ignore_case", False), "whole_words": given_.get("mode") == "word"}
    try:
        language = detent.without(*map(expand, expand(given_["words"])), **options)
        if "regex" in given_:
            language = detent.regex(given_["regex"]) & language
        matcher = detent.compile(language, _BYTES).matcher()
    except detent.DetentError as error:
        assert len(str(error).encode()) <= 512
        assert case["expect"] in ("clean_error", "bounded")
        return
    assert case["expect"] in ("compiles", "bounded")
    assert matcher.allowed().size
    for text, accepted in [(x, True) for x in case.get("accept", [])] + [(x, False) for x in case.get("reject", [])]:
        assert language.accepts(expand(text)) == accepted


def test_patterns_are_searched_for():
    rng = random.Random(4)
    texts = ["", *("".join(rng.choices("ab1 \né", k=rng.randint(1, 6))) for _ in range(300))]
    for pattern in (r"a\d", r"\bab", r"^b", r"1$", r"(?i)A+b", r"a(?!b)", re.compile(r"a # one\n b # two", re.VERBOSE)):
        compiled = re.compile(pattern)
        found, rest = detent.containing(compiled), detent.without(compiled)
        for text in texts:
            assert found.accepts(text) == bool(compiled.search(text)) != rest.accepts(text), (pattern, text)
    both = detent.without("é", re.compile("[0-9]"))
    assert both.accepts("ab") and not both.accepts("a1") and not both.accepts("é")


def test_patterns_that_match_everywhere():
    with pytest.raises(detent.ArgumentError, match="every text"):
        detent.without(re.compile("a*"))
    with pytest.raises(detent.UnsupportedError):
        detent.without(re.compile(r"(a)\1"))


_STRINGS = detent.json_schema({"type": "array", "items": {"type": "string"}}, spelling="any")
_HIDDEN = '["li\\u0073ten"]'


@pytest.mark.parametrize(
    "rule",
    [
        lambda: _STRINGS & detent.without("listen"),
        lambda: _STRINGS & ~detent.containing("listen"),
        lambda: ~detent.containing("listen") & _STRINGS,
        lambda: _STRINGS - detent.containing("listen"),
        lambda: _STRINGS - (detent.containing("listen") | detent.containing("talk")),
        lambda: _STRINGS & ~(detent.containing("listen") | detent.containing("talk")),
        lambda: _STRINGS & (detent.text() & detent.without("listen")),
        lambda: _STRINGS & detent.without(re.compile("l.sten")),
        lambda: _STRINGS - detent.containing(re.compile(r"\blisten\b")),
        lambda: _STRINGS & detent.without(re.compile("^listen$")),
        lambda: _STRINGS & ~~detent.without("LISTEN", ignore_case=True),
        lambda: pickle.loads(pickle.dumps(_STRINGS)) & pickle.loads(pickle.dumps(~detent.containing("listen"))),
    ],
)
def test_escapes_hide_no_word_however_it_is_excluded(rule):
    language = rule()
    assert not language.accepts(_HIDDEN)
    assert not language.accepts('["a", "li\\u0073\\u0074en"]')
    assert language.accepts('["li\\u0073t"]')
    assert language.accepts("[]")


@pytest.mark.parametrize("word", ["listen", re.compile("l.sten"), re.compile("^listen")])
def test_containing_and_its_complement_divide_a_language_of_strings(word):
    both, without = _STRINGS & detent.containing(word), _STRINGS - detent.containing(word)
    assert both.accepts(_HIDDEN)
    assert (both & without).is_empty()
    assert (both | without) == _STRINGS
    assert without == _STRINGS & ~detent.containing(word) == _STRINGS & detent.without(word)


def test_lists_and_optional_parts_of_strings_hide_no_word():
    words = detent.without("listen")
    for language in (
        _STRINGS.repeat(),
        _STRINGS.optional(),
        _STRINGS.capture("a"),
        detent.join(", ", _STRINGS, minimum=1),
        detent.join(", ", _STRINGS, "end"),
        "answer: " + _STRINGS,
        _STRINGS | "none",
    ):
        found = next(text for text in (_HIDDEN, f"{_HIDDEN}, end", f"answer: {_HIDDEN}") if language.accepts(text))
        assert not (language & words).accepts(found)


def test_anchors_of_a_pattern_see_whole_strings():
    rule = _STRINGS & detent.without(re.compile(r"^\W+$"))
    assert rule.accepts('["a b", "c"]')
    assert not rule.accepts('["--"]')
    assert not rule.accepts('["\\u002d\\u002d"]')
    assert not rule.accepts('["a", "--", "b"]')


def test_escapes_of_python_hide_no_match_of_a_pattern():
    def say(text: str) -> None:
        """Say it."""

    rule = detent.calls([say], style="llama3-pythonic") & detent.without(re.compile("l.sten"))
    assert rule.accepts("[say(text='lost')]")
    assert rule.accepts("[say(text='a\\n')]")
    assert not rule.accepts("[say(text='\\x6cisten')]")
    assert not rule.accepts("[say(text='li\\u0073ten')]")


def test_words_stay_plain_texts_beside_plain_texts():
    assert (detent.text() & detent.without("listen")).accepts("li\\u0073ten")
    assert (detent.text() - detent.containing("listen")).accepts("li\\u0073ten")


def test_deep_combinations_of_conditions_are_pickled():
    rule = detent.without("listen")
    for index in range(60):
        rule = ~(rule & detent.without(f"word{index}"))
    restored = pickle.loads(pickle.dumps(rule))
    assert (_STRINGS & rule).accepts(_HIDDEN) == (_STRINGS & restored).accepts(_HIDDEN)
    assert (_STRINGS & rule) == (_STRINGS & restored)
