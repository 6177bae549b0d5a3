"""Lists of members in any order against plain Python: every mask on the way through random texts."""

from __future__ import annotations

from itertools import permutations, product
from random import Random

import pytest

import detent
from detent import _core
from detent.language import Language
from detent.sources.nodes import concat
from tests.support.toy_bpe import SPLITS, Merge, vocabulary_of

_NAMES = ['"ab":', '"abc":', '"b":', '"é":', '"long name":']
_TOKENS = ['"', "a", "b", "c", "ab", '"a', '"ab', '"ab"', '":', '"ab":', '"ab":1', '"ab":0,"', '"b":1,"ab', ":", "0"]
_TOKENS += ["1", ",", "{", "}", '{"', '{"abc', '{"b":0', "1}", "0,", '0,"', "é", '"é":', "long", " name", '"z', "z"]
# Tokens that read on past a member: whether the list may go on without it, or end.
_TOKENS += ["}}", '{"b":0,', '{"b":0}', '{"b":1,"b":0', '{"b":1,"ab":0}', ',"b":0}', ',"b":0,"b":1', '{"b', ',"b']
_TOKENS += ['{"long', ',"ab":0,"b":0}', '{"ab":1,"b":0,"ab":1', '{"z":1}', '{"ab":0}', ',"ab":1}']
_TOKENS += ['{"ab":0,"z":1,"z":1']
_OTHER = '"z":1'


def _node(members: list[tuple[str, bool]], has_others: bool, least: int, most: int) -> _core.Node:
    values = _core.byte_set(b"01")
    written = [(concat(name, values), is_required) for name, is_required in members]
    others = concat(_OTHER) if has_others else None
    return concat("{", _core.unordered(written, others, concat(","), least, most), "}")


def _texts(members: list[tuple[str, bool]], has_others: bool, least: int, most: int) -> set[str]:
    """Return all texts: each arrangement of the members that may be there, with others between them."""
    found: set[str] = set()
    required = {name for name, is_required in members if is_required}
    for size in range(least, most + 1):
        for others in range(size + 1 if has_others else 1):
            for names in permutations([name for name, _ in members] + [_OTHER] * others, size):
                named = [name for name in names if name != _OTHER]
                if len(named) != size - others or not required <= {*named}:
                    continue
                for values in product("01", repeat=len(named)):
                    left = iter(values)
                    found.add("{" + ",".join(one if one == _OTHER else one + next(left) for one in names) + "}")
    return found


@pytest.mark.parametrize("seed", range(120))
def test_masks(seed: int) -> None:
    rng = Random(seed)
    members = [(name, rng.random() < 0.4) for name in rng.sample(_NAMES, rng.randint(1, 4))]
    has_others = rng.random() < 0.5
    most = rng.randint(1, 3)
    least = rng.randint(0, most)
    texts = _texts(members, has_others, least, most)
    vocabulary = detent.Vocabulary([*(token.encode() for token in _TOKENS), b"</s>"], eos_token_ids=[len(_TOKENS)])
    language = Language(_node(members, has_others, least, most), "members")
    beginnings = {text.encode()[:end] for text in texts for end in range(len(text.encode()) + 1)}
    try:
        guide = detent.compile(language, vocabulary)
    except detent.EmptyLanguageError:
        assert not texts
        return
    # All of these texts are concatenations of tokens.
    for _ in range(12):
        matcher, text = guide.matcher(), b""
        while not matcher.is_finished:
            allowed = {token for token in matcher.allowed() if token != len(_TOKENS)}
            expected = {i for i, token in enumerate(_TOKENS) if text + token.encode() in beginnings}
            assert allowed == expected, (members, has_others, least, most, text)
            assert (len(_TOKENS) in matcher.allowed()) is (text.decode() in texts)
            token = rng.choice(sorted(matcher.allowed()))
            matcher.advance(token)
            text += b"" if token == len(_TOKENS) else _TOKENS[token].encode()


@pytest.mark.parametrize("seed", range(30))
def test_budgets(seed: int) -> None:
    """Each token within a budget of tokens is one after which some text is complete within what is left."""
    rng = Random(seed)
    members = [(name, rng.random() < 0.4) for name in rng.sample(_NAMES, rng.randint(1, 3))]
    has_others = rng.random() < 0.5
    most = rng.randint(1, 3)
    texts = {text.encode() for text in _texts(members, has_others, 0, most)}
    if not texts:
        return
    vocabulary = detent.Vocabulary([*(token.encode() for token in _TOKENS), b"</s>"], eos_token_ids=[len(_TOKENS)])
    guide = detent.compile(Language(_node(members, has_others, 0, most), "members"), vocabulary)
    fewest: dict[bytes, int] = {}  # tokens that complete a text, by its beginning
    for text in texts:
        ends = {len(text): 0}
        for start in range(len(text) - 1, -1, -1):
            after = [
                ends.get(start + len(token.encode()), 99)
                for token in _TOKENS
                if text[start:].startswith(token.encode())
            ]
            ends[start] = 1 + min(after, default=98)
        for start, count in ends.items():
            fewest[text[:start]] = min(fewest.get(text[:start], 99), count)
    for budget in range(fewest[b""], fewest[b""] + 8):
        matcher, text, left = guide.matcher(max_tokens=budget), b"", budget
        while not matcher.is_finished:
            allowed = {token for token in matcher.allowed() if token != len(_TOKENS)}
            expected = {i for i, token in enumerate(_TOKENS) if fewest.get(text + token.encode(), 99) <= left - 1}
            assert allowed == expected, (members, has_others, most, text, left)
            token = rng.choice(sorted(matcher.allowed()))
            matcher.advance(token)
            text += b"" if token == len(_TOKENS) else _TOKENS[token].encode()
            left -= 1


def _canonical_case(rng: Random, split: str) -> tuple[detent.Guide, list[list[int]]]:
    """Draw required and optional members and a tokenizer: a canonical guide, and the tokens of all texts."""
    members = [(name, rng.random() < 0.8) for name in rng.sample(_NAMES, rng.randint(2, 4))]
    has_others, most = rng.random() < 0.2, len(members)
    tokens = [bytes([byte]) for byte in sorted({*"".join([*_NAMES, _OTHER, "{},01"]).encode()})]
    merges: list[Merge] = []
    for _ in range(40):
        left, right = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        if tokens[left] + tokens[right] not in tokens:
            tokens.append(tokens[left] + tokens[right])
            merges.append((left, right, len(merges), len(tokens) - 1))
    vocabulary = vocabulary_of(tokens, merges, split=SPLITS[split])
    language = Language(_node(members, has_others, 0, most), "members")
    rows = [vocabulary.encode_canonical(text) for text in sorted(_texts(members, has_others, 0, most))]
    return detent.compile(language, vocabulary, canonical=True), rows


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("seed", range(12))
def test_canonical_masks(seed: int, split: str) -> None:
    rng = Random(seed)
    guide, rows = _canonical_case(rng, split)
    for row in rng.sample(rows, min(len(rows), 10)):
        matcher = guide.matcher()
        for at in range(len(row) + 1):
            expected = {(*other, -1)[at] for other in rows if other[:at] == row[:at]}
            allowed = set(matcher.allowed().tolist())
            end = guide.vocabulary.eos_token_ids[0]
            assert [*row[:at], *matcher.completion()] in rows
            assert allowed == {end if token == -1 else token for token in expected}, (row, at)
            if at < len(row):
                matcher.advance(row[at])


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("seed", range(6))
def test_canonical_budgets(seed: int, split: str) -> None:
    """A token is allowed where the known completion after it fits, and only where some text does."""
    rng = Random(seed)
    guide, rows = _canonical_case(rng, split)
    end = guide.vocabulary.eos_token_ids[0]
    shortest = len(guide.matcher().completion())
    for budget in [*range(min(map(len, rows)), shortest + 3), 2 * shortest]:
        try:
            matcher = guide.matcher(max_tokens=budget)
        except detent.LimitError:
            assert budget < shortest
            continue
        text: list[int] = []
        while not matcher.is_finished:
            left = budget - len(text) - 1  # tokens after the next one
            allowed = set(matcher.allowed().tolist()) - {end}
            fitting = [row for row in rows if row[: len(text)] == text and len(row) <= budget]
            assert allowed <= {row[len(text)] for row in fitting if len(row) > len(text)}, (text, budget)
            free = guide.matcher()
            for token in text:
                free.advance(token)
            for token in set(free.allowed().tolist()) - {end} - allowed:
                after = guide.matcher()
                for each in [*text, token]:
                    after.advance(each)
                assert len(after.completion()) > left, (text, token, budget)
            token = rng.choice(sorted(matcher.allowed().tolist()))
            matcher.advance(token)
            if token != end:
                text.append(token)


@pytest.mark.parametrize("seed", range(60))
def test_unions_drop_included_lists_alone(seed: int) -> None:
    """Lists with members of few names, so that many include each other, also with members in another order."""
    rng = Random(seed)
    lists = []
    for _ in range(rng.randint(2, 4)):
        members = [(name, rng.random() < 0.4) for name in rng.sample(_NAMES[:3], rng.randint(1, 3))]
        most = rng.randint(1, 3)
        lists.append((members, rng.random() < 0.3, rng.randint(1, most), most))
    automaton = _core.Automaton(_core.union([_node(*each) for each in lists]), 100_000, 1 << 28, 10**9)
    expected = set().union(*(_texts(*each) for each in lists))
    names = [name + "0" for name in _NAMES[:3]] + [_OTHER]
    for count in range(1, 4):
        for written in product(names, repeat=count):
            text = "{" + ",".join(written) + "}"
            assert automaton.accepts(text.encode()) == (text in expected), (lists, text)


def test_completions_without_a_split_share_their_members() -> None:
    """The completions after 8 letters have 3 KB each; only the members before the one that is left out differ."""
    names = [first + second for first in "abcdefgh" for second in "klmnop"]
    tokens = [*(bytes([byte]) for byte in sorted({*b'{}":,abcdefghklmnop'})), b'":']
    merges = [(tokens.index(b'"'), tokens.index(b":"), 0, len(tokens) - 1)]
    vocabulary = vocabulary_of(tokens, merges, split=SPLITS["none"])
    schema = {
        "type": "object",
        "properties": {name: {"const": "a" * 60} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    language = detent.json_schema(schema, order="any", whitespace="compact")
    guide = detent.compile(language, vocabulary, canonical=True, limits=detent.Limits(states=6000))
    matcher = guide.matcher()
    for token in vocabulary.encode_canonical('{"'):
        matcher.advance(token)
    assert {vocabulary.token_bytes(token) for token in matcher.allowed().tolist()} == {*map(str.encode, "abcdefgh")}


@pytest.mark.parametrize("seed", range(30))
def test_lists_that_are_left_depend_on_their_members_alone(seed: int) -> None:
    """After a member, whatever its position was, the state is that of the others, with their facts and hash."""
    rng = Random(seed)
    kinds = [
        concat("x", _core.byte_set(b"01")),
        _core.complement(concat("y")),
        concat(_core.repeat(concat("é"), 2, 90)),
    ]
    others = [(concat(name, rng.choice(kinds)), rng.random() < 0.5) for name in "abcde"[: rng.randint(0, 5)]]
    extra = concat("z", rng.choice(kinds)) if rng.random() < 0.5 else None
    least, most = rng.randint(0, 2), rng.choice([None, 3, 6])
    lists = []
    for position in range(len(others) + 1):
        # The member that is read first has another name at each position, since equal lists would be one.
        first = (concat(f"{position};"), False)
        members = [*others[:position], first, *others[position:]]
        lists.append(concat(f"{position}", _core.unordered(members, extra, concat(","), least, most)))
    automaton = _core.Automaton(_core.union(lists), 100_000, 1 << 26, 1 << 26)

    def after(text: str) -> int:
        state = automaton.start
        for byte in text.encode():
            state = automaton.row(state)[automaton.class_of[byte]]
        return state

    assert len({after(f"{position}{position};") for position in range(len(others) + 1)}) == 1
