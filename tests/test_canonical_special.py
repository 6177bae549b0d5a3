"""Canonical guides with special tokens: random small tokenizers beside all words of small languages, and real ones.

A word is a text whose special tokens are single characters, so that `re` knows its language too. Its row of tokens is
that of each text between special tokens, as `tokenizers` tokenizes it by itself, and it counts if `tokenizers` makes
the same of the whole.
"""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import dataclass
from functools import cached_property

import pytest

import detent
from detent.canonical import explore
from detent.errors import EmptyLanguageError, LimitError, StateError, UnsupportedError
from detent.vocabulary.byte_level import CHARACTER_OF_BYTE
from tests.conftest import SHARED
from tests.test_canonical_brute import END, LETTERS, of_bytes, of_pieces, opened, special

MARKS = {"\u2460": "<x>", "\u2461": "<yy>", "\u2462": "<xy>"}
"""The characters for special tokens, and their names."""
LONGEST = {2: 8, 3: 6, 4: 5, 5: 4, 6: 4, 7: 4}
"""Of the words that are tried, by the number of letters and special tokens."""


@dataclass
class Case:
    """A tokenizer, a language, and what is known of them without detent."""

    vocabulary: detent.Vocabulary
    language: detent.Language
    alphabet: str
    accepts: object
    of_text: object
    ids: dict[str, int]
    strips: bool

    def encode(self, word):
        """Tokenize each text between special tokens by itself."""
        parts = re.split("([" + "".join(MARKS) + "])", word)
        rows = [(self.ids[part],) if part in MARKS else self.of_text(part) for part in parts]
        return tuple(itertools.chain.from_iterable(rows))

    def as_found(self, word):
        """Tokenize it as a text in which special tokens are found."""
        return self.of_text("".join(MARKS.get(unit, unit) for unit in word))

    def word(self, tokens):
        marks = {number: mark for mark, number in self.ids.items()}
        parts = [marks[token].encode() if token in marks else self.vocabulary.decode([token]) for token in tokens]
        return b"".join(parts).decode()

    def unknown(self, tokens):
        """Whether the tokenizer has no token for a character."""
        return any(token in self.vocabulary.special_token_ids - set(self.ids.values()) for token in tokens)

    @cached_property
    def words(self):
        longest = LONGEST[len(self.alphabet)]
        every = itertools.chain.from_iterable(itertools.product(self.alphabet, repeat=n) for n in range(longest + 1))
        words = [word for word in map("".join, every) if self.accepts(word)]
        if not self.strips:
            assert all(self.as_found(word) == self.encode(word) for word in words)
        return [word for word in words if not self.strips or self.as_found(word) == self.encode(word)]

    def rows(self, prompt="", behind=()):
        """Give what follows each beginning of the words' tokens, where these go on from a prompt's."""
        tree = {}
        for word in self.words:
            tokens = self.encode(prompt + word)
            if tokens[: len(behind)] != behind or self.unknown(tokens):
                continue
            row = (*tokens[len(behind) :], END)
            for place, token in enumerate(row):
                tree.setdefault(row[:place], set()).add(token)
        return tree

    def following(self, matcher):
        ends = self.vocabulary.eos_token_ids
        found = {END if token in ends else token for token in matcher.allowed().tolist()}
        assert found
        assert matcher.is_accepting == (END in found)
        return found


def either_name(rng, marks, letters):
    """Draw the text of a regular expression over letters and special tokens, and the language that it stands for."""
    if rng.random() < 0.4:
        mark = rng.choice(marks)
        return mark, detent.special_token(MARKS[mark])
    if rng.random() < 0.3:
        some = "[" + "".join(map(re.escape, rng.sample(letters, rng.randint(1, len(letters))))) + "]"
        if rng.random() < 0.5:
            some += rng.choice(("*", "+"))
        return some, detent.regex(some)
    text = "".join(re.escape(letter) for letter in rng.choices(letters, k=rng.randint(1, 3)))
    return text, detent.regex(text)


def random_pattern(rng, marks, letters, depth=0):
    kind = rng.random()
    if depth > 3 or kind < 0.3:
        return either_name(rng, marks, letters)
    pattern, language = random_pattern(rng, marks, letters, depth + 1)
    if kind < 0.75:
        other, also = random_pattern(rng, marks, letters, depth + 1)
        return (pattern + other, language + also) if kind < 0.6 else (f"(?:{pattern}|{other})", language | also)
    count, least, most = rng.choice((("*", 0, None), ("+", 1, None), ("?", 0, 1), ("{2}", 2, 2), ("{1,3}", 1, 3)))
    return f"(?:{pattern}){count}", language.repeat(least, most)


def random_language(rng, marks, letters):
    """Draw a language with its plain meaning."""
    if rng.random() < 0.15:
        opening, closing = (rng.choice([*marks, rng.choice(letters)]) for _ in range(2))
        inside = rng.choice([*marks, *letters])
        names = [MARKS.get(unit) or '"' + unit.replace("\n", r"\n") + '"' for unit in (opening, closing, inside)]
        rule = detent.gbnf(f"root ::= {names[0]} root {names[1]} | {names[2]}")

        def nested(word):
            depth = len(word) // 2
            return word == opening * depth + inside + closing * depth and sum(unit not in MARKS for unit in word) <= 21

        # Bounded, since some splits look ahead without end, and then all that may follow is searched.
        return rule & detent.regex("(?s:.{0,21})"), nested
    pattern, language = random_pattern(rng, marks, letters)
    matches = re.compile(pattern).fullmatch
    kind = rng.random()
    if kind < 0.7 or not language._node.has_special:
        return language, matches
    other = "".join(map(re.escape, rng.choices(letters, k=rng.randint(1, 2))))
    contains = re.compile(f"(?s:.*){other}(?s:.*)").fullmatch
    excluded = detent.regex(f"(?s:.*){other}(?s:.*)")

    def text(word):
        return "".join(unit for unit in word if unit not in MARKS)

    if kind < 0.85:
        return language - excluded, lambda word: matches(word) and not contains(text(word))
    return language & excluded, lambda word: matches(word) and contains(text(word))


def random_case(rng, path, strips=False):
    """Draw a case and its guide; none if the language has no row of tokens."""
    letters = rng.choice([each for each in LETTERS if len(each) <= 4])
    marks = list(MARKS)[: rng.randint(1, 3)]
    data = (of_pieces if rng.random() < 0.3 else of_bytes)(rng, letters)
    size = max(max(data["model"]["vocab"].values()), data["added_tokens"][-1]["id"]) + 1
    ids = {mark: size + number for number, mark in enumerate(marks)}
    if data["added_tokens"][-1]["id"] == size - 1:  # in the order of their ids, and the end of text last
        end = data["added_tokens"].pop()
        data["added_tokens"] += [special(ids[mark] - 1, MARKS[mark]) for mark in marks]
        data["added_tokens"].append({**end, "id": size - 1 + len(marks)})
        ids = {mark: number - 1 for mark, number in ids.items()}
    else:
        data["added_tokens"] += [special(ids[mark], MARKS[mark]) for mark in marks]
        data["added_tokens"].append(special(size + len(marks), "<end>"))
    for token in data["added_tokens"]:
        token |= {"lstrip": strips and rng.random() < 0.4, "rstrip": strips and rng.random() < 0.4}
    vocabulary, of_text = opened(data, path)
    for mark, number in ids.items():
        assert vocabulary.token_bytes(number).decode() == MARKS[mark]
    language, accepts = random_language(rng, marks, letters)
    case = Case(vocabulary, language, letters + "".join(marks), accepts, of_text, ids, strips)
    try:
        return case, detent.compile(language, vocabulary, canonical=True)
    except EmptyLanguageError:
        assert not case.rows()
        return None


def cases(seed, count, path, strips=False):
    rng = random.Random(seed)
    for _ in range(count):
        if found := random_case(rng, path / "tokenizer.json", strips):
            yield rng, *found


def check_word(case, tokens, prompt=""):
    word = case.word(tokens)
    assert word.startswith(prompt)
    assert case.accepts(word[len(prompt) :])
    assert case.encode(word) == case.as_found(word) == tuple(tokens)
    return word


def check_rows(rng, case, start, rows, prompt="", behind=()):
    """Hold what a matcher allows to the rows of the words, and whatever else it allows to the tokenizer."""
    pending = [()]
    for _ in range(120):
        if not pending:
            break
        row = pending.pop(rng.randrange(len(pending)))
        matcher = start.fork()
        for token in row:
            matcher.advance(token)
        following, expected = case.following(matcher), rows.get(row, set())
        assert following >= expected, (case.language, row, following, expected)
        for token in following - expected:  # towards longer words
            ahead = matcher.fork()
            if token != END:
                ahead.advance(token)
            rest = [token, *ahead.completion()] if token != END else []
            word = check_word(case, [*behind, *row, *rest], prompt)
            assert len(word) > len(prompt) + LONGEST[len(case.alphabet)]
        for token in [*rng.sample(range(len(case.vocabulary)), 6), *case.ids.values()]:
            if token not in following and token not in case.vocabulary.eos_token_ids:
                with pytest.raises(StateError):
                    matcher.advance(token)
                assert "refused" in matcher.explain(token)
        pending += [(*row, token) for token in expected - {END}]


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_tokens_are_those_of_the_words(seed, tmp_path):
    for rng, case, guide in cases(seed, 12, tmp_path):
        check_rows(rng, case, guide.matcher(), case.rows())


@pytest.mark.parametrize("seed", range(6))
def test_white_space_that_special_tokens_strip_is_not_there(seed, tmp_path):
    for rng, case, guide in cases(400 + seed, 12, tmp_path, strips=True):
        check_rows(rng, case, guide.matcher(), case.rows())


def test_a_special_token_that_is_found_as_a_word_only_is_refused(tmp_path):
    data = small()
    data["added_tokens"][0]["single_word"] = True
    vocabulary, _ = opened(data, tmp_path / "tokenizer.json")
    detent.compile(detent.special_token("<eot>"), vocabulary, canonical=True)
    with pytest.raises(UnsupportedError, match="finds <x> only where it is a word of its own"):
        detent.compile(detent.regex("a?") + detent.special_token("<x>"), vocabulary, canonical=True)


def test_of_many_words_one_is_named(tmp_path):
    data = small()
    first = max(token["id"] for token in data["added_tokens"]) + 1
    for number in range(5):
        word = {**data["added_tokens"][0], "id": first + number, "content": f"<w{number}>", "single_word": True}
        data["added_tokens"].append(word)
    vocabulary, _ = opened(data, tmp_path / "tokenizer.json")
    detent.compile(detent.special_token("<eot>"), vocabulary, canonical=True)
    for number in range(5):
        language = detent.regex("a?") + detent.special_token(f"<w{number}>")
        with pytest.raises(UnsupportedError, match=f"finds <w{number}> only where"):
            detent.compile(language, vocabulary, canonical=True)


@pytest.mark.parametrize("seed", range(8))
def test_rows_go_on_from_a_prompt(seed, tmp_path):
    for rng, case, guide in cases(100 + seed, 8, tmp_path):
        for _ in range(3):
            tokens = case.encode("".join(rng.choices(case.alphabet, k=rng.randint(1, 6))))
            tokens = tokens[: rng.randint(1, len(tokens))]
            if case.unknown(tokens):
                continue
            try:
                prompt = case.word(tokens)
            except UnicodeDecodeError:
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
                    assert "in the tokens left" in matcher.explain(token)
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
            check_word(case, done)
        check_word(case, guide.matcher().completion())
    assert refused_in_vain <= 6


@pytest.mark.parametrize("seed", range(6))
def test_tables_allow_what_guides_do(seed, tmp_path):
    for rng, case, guide in cases(300 + seed, 8, tmp_path):
        try:
            table = guide.to_table(max_states=300)
        except LimitError:
            continue
        for _ in range(4):
            here, there = guide.matcher(), table.matcher()
            for _ in range(8):
                following = case.following(here)
                assert case.following(there) == following
                if following == {END}:
                    break
                token = rng.choice(sorted(following - {END}))
                here.advance(token)
                there.advance(token)


def runs(vocabulary, tokens):
    """Split a row at its special tokens."""
    rows = [[]]
    for token in tokens:
        if token in vocabulary.special_token_ids:
            rows.append([])
        else:
            rows[-1].append(token)
    return rows


def is_canonical(vocabulary, tokens):
    return all(vocabulary.tokenize(vocabulary.decode(run)) == run for run in runs(vocabulary, tokens))


def small():
    """Return a vocabulary in which "ab" is one token, beside special ones."""
    data = of_bytes(random.Random(0), "ab")
    names = [*(bytes([byte]) for byte in range(256)), b"ab"]
    data["model"] |= {
        "ignore_merges": False,
        "vocab": {"".join(CHARACTER_OF_BYTE[byte] for byte in name): i for i, name in enumerate(names)},
        "merges": [["a", "b"]],
    }
    data["pre_tokenizer"]["pretokenizers"] = [
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    ]
    data["added_tokens"] = [special(257 + i, name) for i, name in enumerate(("<x>", "<eot>", "</s>"))]
    return data


def test_an_end_of_text_that_is_asked_for_ends_the_text(tmp_path):
    vocabulary, _ = opened(small(), tmp_path / "tokenizer.json")
    turn = detent.special_token("<x>") + detent.regex("a+b?") + detent.special_token("</s>")
    matcher = detent.compile(turn, vocabulary, canonical=True).matcher(max_tokens=3)
    for token, allowed in ((257, [257]), (256, [97, 256]), (259, [259])):
        assert matcher.allowed().tolist() == allowed
        assert not matcher.is_accepting
        matcher.advance(token)
    assert matcher.is_finished
    assert matcher.allowed().tolist() == [259]
    matcher.rollback(2)
    assert matcher.allowed().tolist() == [97, 256]
    assert matcher.forced() == []


def test_texts_meet_their_tokens_only_between_special_tokens(tmp_path):
    vocabulary, _ = opened(small(), tmp_path / "tokenizer.json")
    parts = detent.literal("a") + detent.special_token("<x>").optional() + detent.literal("b")
    matcher = detent.compile(parts, vocabulary, canonical=True).matcher()
    assert matcher.allowed().tolist() == [97, 256]
    matcher.advance(97)
    assert matcher.allowed().tolist() == [257]
    assert matcher.forced() == [257, 98]
    assert "the tokenizer writes no text of the language so" in matcher.explain(98)
    assert "the rule does not ask for it here" in matcher.explain(258)
    after = detent.compile(parts, vocabulary, canonical=True).matcher(after=[97, 257])
    assert after.allowed().tolist() == [97, 256]


def test_literals_of_added_tokens_are_left_out_between_special_tokens(tmp_path):
    data = small()
    data["added_tokens"].insert(0, special(257, "ba") | {"special": False})
    for number, token in enumerate(data["added_tokens"]):
        token["id"] = 257 + number
    vocabulary, encode = opened(data, tmp_path / "tokenizer.json")
    assert encode("bab") == (257, 98)
    assert encode("b<x>a") == (98, 258, 97)
    some = detent.regex("b") + detent.special_token("<x>").optional() + detent.regex("ab?")
    matcher = detent.compile(some, vocabulary, canonical=True).matcher()
    assert matcher.forced() == [98, 258]
    with pytest.raises(EmptyLanguageError):
        detent.compile(detent.special_token("<x>") + "ba", vocabulary, canonical=True)


def test_a_table_over_tokens_and_the_tokenizer_know_special_tokens(tmp_path):
    vocabulary, _ = opened(small(), tmp_path / "tokenizer.json")
    turn = detent.special_token("<x>") + detent.regex("[ab]{1,3}")
    every = detent.token_table([(0, (0, 258), 0)], initial=0, accepting=[0])
    both = detent.compile(every & turn, vocabulary, canonical=True).matcher()
    alone = detent.compile(turn, vocabulary, canonical=True).matcher()
    for token in (257, 256, 97):
        assert both.allowed().tolist() == alone.allowed().tolist()
        both.advance(token)
        alone.advance(token)


def test_a_model_writes_the_tokenizers_own_tokens_between_special_ones():
    model = detent.load_model()
    vocabulary = model.vocabulary
    said = detent.special_token("<|user|>") + detent.regex("[A-Za-z ,.]{9,40}") + detent.special_token("<|end|>")
    for seed in range(5):
        output = detent.generate(model, "Hello", said, canonical=True, max_tokens=20, seed=seed)
        assert vocabulary.token_bytes(output.token_ids[0]) == b"<|user|>"
        assert is_canonical(vocabulary, output.token_ids)
        assert said.accepts(output.text)
        assert output.finish_reason == "stop"
    plain = [detent.generate(model, "Hello", said, max_tokens=20, seed=seed).token_ids for seed in range(5)]
    assert not all(is_canonical(vocabulary, tokens) for tokens in plain)


def test_all_rows_between_special_tokens_are_seen():
    model = detent.load_model()
    vocabulary = model.vocabulary
    user = next(token for token in vocabulary.special_token_ids if vocabulary.token_bytes(token) == b"<|user|>")
    words = detent.choice(" there", " then", " thing")
    said = detent.special_token("<|user|>") + words + detent.special_token("<|end|>")
    rows = [(user, *vocabulary.tokenize(word)) for word in words.enumerate()]
    automaton = explore(detent.compile(said, vocabulary, canonical=True))
    assert all(automaton.accepts(row) for row in rows)
    assert not automaton.accepts([user, *vocabulary.tokenize(" t"), *vocabulary.tokenize("here")])
    assert not automaton.accepts(rows[0][1:])
    found = detent.fidelity(model, "Hello", said)
    assert sum(text.canonical for text in found.texts) == pytest.approx(1)
    assert 0 < found.canonical_share < 1


def walks(guide, rng, count, max_tokens):
    """Yield rows of tokens that a guide allows, drawn at random."""
    ends = set(guide.vocabulary.eos_token_ids)
    for _ in range(count):
        matcher, row = guide.matcher(max_tokens), []
        while not matcher.is_finished:
            allowed = matcher.allowed().tolist()
            token = rng.choice(allowed)
            matcher.advance(token)
            row.append(token)
        yield row[:-1] if row[-1] in ends and not guide.language._node.has_special else row


needs_tokenizers = pytest.mark.skipif(not SHARED.exists(), reason="needs the tokenizers of ../shared")


def real(name, **options):
    return detent.Vocabulary.from_file(SHARED / "data" / "tokenizers" / name / "tokenizer.json", **options)


@needs_tokenizers
def test_turns_of_llama3():
    vocabulary = real("llama3")
    rule = detent.grammar(
        """
        start: turn+ <|start_header_id|> "assistant" <|end_header_id|> "\\n\\n" call ("; " call)* <|eot_id|>
        turn: <|start_header_id|> ("user" | "system") <|end_header_id|> /[^<]+/ <|eom_id|>
        call: NAME "(" [NUMBER ("," NUMBER)*] ")"
        NAME: /[a-z_]+/
        NUMBER: /[0-9]+/
        """
    )
    guide = detent.compile(rule, vocabulary, canonical=True)
    text = (
        "<|start_header_id|>user<|end_header_id|>\n\n  Who's \n\n there? 12345 <|eom_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nadd(1,22222); now()<|eot_id|>"
    )
    tokens = vocabulary.encode(text)
    matcher = guide.matcher()
    for token in tokens:
        assert token in matcher.allowed()
        matcher.advance(token)
    assert matcher.is_finished
    assert guide.matcher(after=tokens).allowed().tolist() == tokens[:1]
    rng = random.Random(1)
    for row in walks(guide, rng, 2, 60):
        assert len(row) <= 60
        assert is_canonical(vocabulary, row)
        assert vocabulary.encode(written(vocabulary, row)) == row


def written(vocabulary, tokens):
    """Give a row as a text, special tokens by their names."""
    return b"".join(vocabulary.token_bytes(token) for token in tokens).decode()


@needs_tokenizers
@pytest.mark.parametrize("name", ["mistral-v3", "tekken"])
def test_calls_of_mistral(name):
    def get_weather(city: str, days: int = 1) -> None:
        """Ask for the weather."""

    vocabulary = real(name)
    calls = detent.calls([get_weather], style="mistral")
    guide = detent.compile(calls, vocabulary, canonical=True)
    text = '[{"name": "get_weather", "arguments": {"city": "Neustadt an der Weinstraße", "days": 12}}]'
    marker = next(token for token in vocabulary.special_token_ids if vocabulary.token_bytes(token) == b"[TOOL_CALLS]")
    assert vocabulary.encode(f"[TOOL_CALLS]{text}") == [
        marker,
        *vocabulary.tokenize(" " * vocabulary.leading_space + text),
    ]
    matcher = guide.matcher()
    for token in [marker, *vocabulary.tokenize(text)]:
        assert token in matcher.allowed()
        matcher.advance(token)
    assert matcher.is_accepting
    for row in walks(guide, random.Random(2), 3, 60):
        assert row[0] == marker
        assert is_canonical(vocabulary, row)
        assert calls.accepts(vocabulary.decode(row))
