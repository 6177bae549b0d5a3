"""Draft trees: the masks of all nodes are those that a fork has after walking to the node."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent

_EMBEDDED = detent.Vocabulary.from_file(str(files("detent.models") / "weights" / "tokenizer.json"))
_SMALL = detent.Vocabulary([b"a", b"b", b"ab", b"ba", b"c", b"", b""], eos_token_ids=[5], special_token_ids=[6])


def _guides() -> list[detent.Guide]:
    small = ["(ab)+", "a*b{2,4}", "(a|bb|c)*", "abc?", "((ab|ba)c)+", "a{3}"]
    guides = [detent.compile(detent.regex(pattern), _SMALL) for pattern in small]
    guides.append(detent.compile(detent.regex("(ab|c)+"), _SMALL).to_table())
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}, "required": ["name"]}
    languages = [detent.json_schema(schema), detent.json_value(), detent.regex("[a-z]+( [a-z]+)*")]
    for canonical in (False, True):
        guides += [detent.compile(language, _EMBEDDED, canonical=canonical) for language in languages]
    return guides


_GUIDES = _guides()


def _naive(matcher: detent.Matcher, tokens: list[int], parents: list[int]) -> tuple[list[list[int]], list[bool]]:
    """Return the mask after each node and, at last, that of the sequence; and whether each node may follow."""
    vocabulary = matcher.guide.vocabulary
    ends = detent.allocate_mask(1, len(vocabulary))[0]
    for token_id in vocabulary.eos_token_ids:
        ends[token_id >> 5] |= np.int32(1 << (token_id & 31))

    def mask(state: detent.Matcher | None) -> list[int]:
        if state is None:
            return ends.tolist()
        row = detent.allocate_mask(1, len(vocabulary))[0]
        state.fill_mask(row)
        return row.tolist()

    states: list[detent.Matcher | None] = []
    for token_id, parent in zip(tokens, parents, strict=True):
        above = matcher if parent < 0 else states[parent]
        state = None if above is None else above.fork()
        if state is not None:
            try:
                state.advance(token_id)
            except detent.StateError:
                state = None
        states.append(state)
    return [mask(state) for state in [*states, matcher]], [state is not None for state in states]


def _check(matcher: detent.Matcher, tokens: list[int], parents: list[int]) -> detent.matcher.DraftMasks:
    rows = np.full((len(tokens) + 1, -(-len(matcher.guide.vocabulary) // 32)), 0x55555555, dtype=np.int32)
    before = matcher.token_ids
    filled = matcher.fill_tree(tokens, parents, rows)
    masks, allowed = _naive(matcher, tokens, parents)
    assert rows[filled.rows].tolist() == masks
    assert filled.allowed.tolist() == allowed
    assert set(filled.rows.tolist()) == set(range(filled.written))
    assert (rows[filled.written :] == 0x55555555).all()
    assert matcher.token_ids == before
    return filled


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_masks_are_those_of_forks(data: st.DataObject) -> None:
    guide = data.draw(st.sampled_from(_GUIDES))
    try:
        matcher = guide.matcher(max_tokens=data.draw(st.sampled_from([None, None, 8, 12, 20])))
    except detent.LimitError:
        return
    for _ in range(data.draw(st.integers(0, 6))):
        if not matcher.is_finished:
            matcher.advance(data.draw(st.sampled_from(matcher.allowed().tolist())))
    tokens: list[int] = []
    parents: list[int] = []
    states: list[detent.Matcher] = []
    for node in range(data.draw(st.integers(0, 12))):
        parent = data.draw(st.integers(-1, node - 1))
        above = matcher if parent < 0 else states[parent]
        candidates = above.allowed().tolist()
        wrong = data.draw(st.integers(0, 5)) == 0 or not candidates
        token_id = (
            data.draw(st.integers(-2, len(guide.vocabulary) + 1)) if wrong else data.draw(st.sampled_from(candidates))
        )
        state = above.fork()
        if not wrong and not state.is_finished:
            state.advance(token_id)
        tokens.append(token_id)
        parents.append(parent)
        states.append(state)
    _check(matcher, tokens, parents)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_validate_counts_what_a_fork_takes(data: st.DataObject) -> None:
    guide = data.draw(st.sampled_from(_GUIDES))
    matcher, fork = guide.matcher(), guide.matcher()
    tokens = []
    for _ in range(data.draw(st.integers(0, 8))):
        allowed = fork.allowed().tolist()
        tokens.append(data.draw(st.sampled_from(allowed)))
        if not fork.is_finished:
            fork.advance(tokens[-1])
    tokens += data.draw(st.lists(st.integers(-3, len(guide.vocabulary) + 3), max_size=3))
    expected, walk = 0, guide.matcher()
    for token_id in tokens:
        try:
            walk.advance(token_id)
        except detent.StateError:
            break
        expected += 1
    assert matcher.validate(tokens) == expected
    assert len(matcher) == 0


def test_every_tree_of_three_nodes() -> None:
    guide = detent.compile(detent.regex("(ab)+c?"), _SMALL)
    for first in range(7):
        for second in range(7):
            for third in range(7):
                for parents in ([-1, -1, -1], [-1, 0, -1], [-1, -1, 0], [-1, 0, 1], [-1, 0, 0], [-1, -1, 1]):
                    _check(guide.matcher(), [first, second, third], parents)


def test_nodes_with_one_mask_share_a_row() -> None:
    matcher = detent.compile(detent.regex("[a-z]{0,400}"), _EMBEDDED).matcher()
    letter = next(t for t in range(len(_EMBEDDED)) if _EMBEDDED.token_bytes(t) == b"a")
    filled = _check(matcher, [letter] * 64, list(range(-1, 63)))
    assert filled.written == 1


def test_a_finished_sequence_and_an_empty_tree() -> None:
    matcher = detent.compile(detent.regex("a"), _SMALL).matcher()
    _check(matcher, [], [])
    matcher.advance(0)
    matcher.advance(5)
    filled = _check(matcher, [5, 0], [-1, -1])
    assert not filled.allowed.any()


@pytest.mark.parametrize("parents", [[0], [-2], [3]])
def test_a_parent_that_is_no_earlier_node_is_refused(parents: list[int]) -> None:
    matcher = detent.compile(detent.regex("a"), _SMALL).matcher()
    with pytest.raises(detent.ArgumentError, match="draft tree has the parent"):
        matcher.fill_tree([0], parents, detent.allocate_mask(2, len(_SMALL)))


def test_shapes_are_checked() -> None:
    matcher = detent.compile(detent.regex("a"), _SMALL).matcher()
    with pytest.raises(detent.ArgumentError, match="must be int32"):
        matcher.fill_tree([0], [-1], detent.allocate_mask(1, len(_SMALL)))
    with pytest.raises(detent.ArgumentError, match="as many parents"):
        matcher.fill_tree([0], [-1, 0], detent.allocate_mask(2, len(_SMALL)))


def test_items_that_differ_have_masks_of_their_own() -> None:
    """The tokens that repeat an item depend on the text of the item, which the cached mask does not know."""
    tokens = [*(bytes([byte]) for byte in range(256)), b'", "a"]', b'", "b"]', b""]
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[len(tokens) - 1])
    items = {"type": "array", "items": {"type": "string", "pattern": "^[a-z]$"}, "uniqueItems": True}
    matcher = detent.compile(detent.json_schema(items), vocabulary).matcher()
    for byte in b'["':
        matcher.advance(byte)
    _check(matcher, list(b"abc"), [-1, -1, -1])
