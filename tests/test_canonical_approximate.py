"""Where pairs of tokens do not decide: what the tokenizer writes is never refused, and what is allowed ends."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import dataclass

import pytest

import detent
from detent.errors import EmptyLanguageError, UnsupportedError
from tests.support import canonical_walks
from tests.support.canonical_walks import END, check_budgets, check_from_prompt, check_rows, guides
from tests.support.toy_languages import LETTERS as BPE_LETTERS
from tests.support.toy_languages import LONGEST, random_language
from tests.support.toy_tokenizers import of_bytes, of_pieces, opened
from tests.support.toy_unigram import Unigram

LETTERS = ("a", "ab", "ab ", "a\u00e9 ", "abc", "a\u00e9\u00e8")


@dataclass
class Case(canonical_walks.Case):
    """A tokenizer that may write a text in several ways, as far as pairs of tokens tell."""

    canonical = "approximate"
    most_rows = 100

    model: Unigram

    def rows_of(self, word):
        if not self.model.writable(word):
            return []
        rows = self.model.rows(word)
        assert rows, word
        return rows

    def is_written(self, word, tokens):
        return self.model.passes(tokens)

    def guesses(self, rng):
        return rng.choices(range(len(self.vocabulary)), k=8)


def random_case(rng, path):
    letters = rng.choice(LETTERS)
    model = Unigram(rng, letters)
    language, accepts = random_language(rng, letters)
    return Case(model.open(path), language, letters, accepts, min(8, LONGEST[len(letters)]), model)


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_those_of_the_pairs(seed, tmp_path):
    """All rows of which each two neighbours are right are allowed, the tokenizer's own among them, and no others."""
    for rng, case, guide in guides(random_case, seed, 8, tmp_path):
        backend = case.model.backend()  # type: ignore[attr-defined]
        for word in case.words:
            own = tuple(backend.encode(word, add_special_tokens=False).ids)
            assert own in case.rows_of(word)
            assert guide.vocabulary.encode_canonical(word) == list(own)
        check_rows(rng, case, guide.matcher(), case.rows())


@pytest.mark.parametrize("seed", range(8))
def test_rows_go_on_from_a_prompt(seed, tmp_path):
    for rng, case, guide in guides(random_case, 100 + seed, 8, tmp_path):
        prompt = "".join(rng.choices(case.letters, k=rng.randint(1, 5)))
        if case.model.writable(prompt):  # type: ignore[attr-defined]
            check_from_prompt(rng, case, guide, tuple(guide.vocabulary.encode_canonical(prompt)))


@pytest.mark.parametrize("seed", range(8))
def test_budgets_end_in_time(seed, tmp_path):
    for rng, case, guide in guides(random_case, 200 + seed, 10, tmp_path):
        check_budgets(rng, case, guide, 5)


@pytest.mark.parametrize("seed", range(8))
def test_beginnings_are_those_of_all_texts(seed, tmp_path):
    """The tokens that a text is said to begin with are those of each text that goes on from it."""
    rng = random.Random(300 + seed)
    for _ in range(6):
        letters = rng.choice(LETTERS)
        model = Unigram(rng, letters)
        vocabulary = model.open(tmp_path / "tokenizer.json")
        for _ in range(4):
            text = "".join(rng.choices(letters, k=rng.randint(1, 6)))
            if not model.writable(text):
                continue
            tokens, rest = vocabulary.heal(text)
            assert vocabulary.decode(tokens) + rest == text.encode()
            for more in ("", *map("".join, itertools.product(letters, repeat=3))):
                if model.writable(text + more):
                    assert vocabulary.encode_canonical(text + more)[: len(tokens)] == tokens


def test_tables_allow_the_same(tmp_path):
    rng = random.Random(6)
    model = Unigram(rng, "ab ")
    while not model.writable("ab"):
        model = Unigram(rng, "ab ")
    vocabulary = model.open(tmp_path / "tokenizer.json")
    for pattern in ("[ab]{0,5}", "(ab| b)*a?", "a*b", " (a|b)+ ?"):
        guide = detent.compile(detent.regex(pattern), vocabulary, canonical="approximate")
        table = guide.to_table()
        for _ in range(20):
            matcher, walked = guide.matcher(), table.matcher()
            for _ in range(8):
                allowed = matcher.allowed().tolist()
                assert walked.allowed().tolist() == allowed
                token = rng.choice(allowed)
                if token == 1:
                    break
                matcher.advance(token)
                walked.advance(token)


def test_generation_takes_it():
    model = detent.load_model()
    form = detent.regex("[a-z ]{1,20}")
    ways = (True, "approximate")
    exact, near = (detent.generate(model, "Say:", form, temperature=0, canonical=way).text for way in ways)
    assert exact == near  # the model's tokenizer can be exact
    guide = detent.compile(form, model.vocabulary, canonical="approximate")
    assert detent.generate(model, "Say:", guide, temperature=0, canonical="approximate").text == exact
    requests = [detent.Request("Say:", form, canonical="approximate", temperature=0)]
    assert detent.generate_batch(model, requests)[0].text == exact
    with pytest.raises(detent.ArgumentError, match="True, False"):
        detent.generate(model, "Say:", form, canonical="nearly")


def test_neighbours_do_not_decide(tmp_path):
    model = Unigram(random.Random(0), "ab")
    model.vocab = [
        ("<unk>", 0.0),
        ("</s>", 0.0),
        ("\u2581", -9.0),
        ("a", -1.0),
        ("b", -1.0),
        ("ab", -1.5),
        ("ba", -1.4),
    ]
    model.fallback = False
    vocabulary = model.open(tmp_path / "tokenizer.json")
    guide = detent.compile(detent.regex("(ab)*"), vocabulary, canonical="approximate")
    matcher = guide.matcher()
    for _ in range(7):
        matcher.advance(5)
    assert matcher.is_accepting
    assert vocabulary.encode_canonical("ab" * 6) == [5] * 6
    assert vocabulary.encode_canonical("ab" * 7) == [3, *[6] * 6, 4]
    with pytest.raises(UnsupportedError, match='canonical="approximate"'):
        detent.compile(detent.regex("(ab)*"), vocabulary, canonical=True)


def unknown_parts(rng, data):
    """Make a tokenizer do what is not known."""
    if data["pre_tokenizer"] is None:
        data["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, data["normalizer"]]}
        return "Lowercase"
    parts = data["pre_tokenizer"]["pretokenizers"]
    kind = rng.randrange(4)
    if kind == 0:
        parts.insert(0, {"type": "Split", "pattern": {"Regex": r"\w+?"}, "behavior": "Isolated", "invert": False})
    elif kind == 1:
        parts.insert(0, {"type": "Punctuation", "behavior": "Isolated"})
    elif kind == 2:
        parts[-1]["add_prefix_space"] = True
    else:
        data["normalizer"] = {"type": "NFKC"}
    return "tokenizer"


@pytest.mark.parametrize("seed", range(12))
def test_bpe_that_is_not_known_has_no_dead_ends(seed, tmp_path):
    rng = random.Random(400 + seed)
    alike, count = 0, 0
    for _ in range(10):
        letters = rng.choice(BPE_LETTERS)
        data = {"pre_tokenizer": None, **(of_pieces if rng.random() < 0.25 else of_bytes)(rng, letters)}
        reason = unknown_parts(rng, data)
        vocabulary, encode = opened(data, tmp_path / "tokenizer.json")
        language, accepts = random_language(rng, letters)
        with pytest.raises(UnsupportedError, match=f'{reason}.*canonical="approximate"'):
            detent.compile(language, vocabulary, canonical=True)
        for call in (vocabulary.encode_canonical, vocabulary.heal):
            with pytest.raises(UnsupportedError, match=reason):
                call("a")
        try:
            guide = detent.compile(language, vocabulary, canonical="approximate")
        except EmptyLanguageError:
            continue
        assert guide.canonical == "approximate"
        end = vocabulary.eos_token_ids[0]
        for _ in range(10):
            matcher, row = guide.matcher(), []
            while True:
                found = {END if token == end else token for token in matcher.allowed().tolist()}
                assert found
                if found == {END} or (END in found and rng.random() < 0.3):
                    break
                row.append(rng.choice(sorted(found - {END})))
                matcher.advance(row[-1])
                if len(row) > 12:
                    row += matcher.completion()
                    break
            text = vocabulary.decode(row).decode()
            assert accepts(text)
            alike += encode(text) == tuple(row)
            count += 1
    assert alike > count / 4


def test_what_can_be_exact_is(tmp_path):
    rng = random.Random(7)
    vocabulary, _ = opened(of_bytes(rng, "ab "), tmp_path / "tokenizer.json")
    language = detent.regex("[ab ]{1,6}")
    exact, near = (detent.compile(language, vocabulary, canonical=canonical) for canonical in (True, "approximate"))
    assert near.canonical is True
    assert near.matcher().allowed().tolist() == exact.matcher().allowed().tolist()


@pytest.mark.parametrize("seed", range(6))
def test_pieces_of_words_are_exact(seed, tmp_path):
    """BPE whose text is cut before each space: no merge goes across it."""
    rng = random.Random(500 + seed)
    data = of_pieces(rng, "ab ")
    data["normalizer"] = None
    data["pre_tokenizer"] = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True}
    vocabulary, encode = opened(data, tmp_path / "tokenizer.json")
    for length in range(6):
        for word in map("".join, itertools.product("ab ", repeat=length)):
            if vocabulary.eos_token_ids[0] - 1 not in encode(word):
                assert tuple(vocabulary.encode_canonical(word)) == encode(word)
    assert detent.compile(detent.regex("[ab ]*"), vocabulary, canonical="approximate").canonical is True


def test_what_is_of_no_kind_is_refused(tmp_path):
    vocab = {"[UNK]": 0, "a": 1, "##a": 2}
    path = tmp_path / "tokenizer.json"
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocab}
    decoder = {"type": "WordPiece", "prefix": "##", "cleanup": False}
    path.write_text(json.dumps({"version": "1.0", "model": model, "decoder": decoder}), encoding="utf-8")
    vocabulary = detent.Vocabulary.from_file(path, eos_token_ids=[0])
    for canonical in (True, "approximate"):
        with pytest.raises(UnsupportedError, match=r"WordPiece.*Without it, masks allow every token sequence"):
            detent.compile(detent.regex(" aa"), vocabulary, canonical=canonical)
    with pytest.raises(detent.ArgumentError, match=r'True, False or "approximate"'):
        detent.compile(detent.regex(" aa"), vocabulary, canonical="near")
