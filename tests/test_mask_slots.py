"""Mask slots: the row of a sequence is the mask that its matcher fills, whatever the slots held before."""

from __future__ import annotations

import os
import random
from functools import reduce
from importlib.resources import files
from operator import and_
from threading import Thread
from typing import Any

import numpy as np
import pytest

import detent

_EMBEDDED = detent.Vocabulary.from_file(str(files("detent.models") / "weights" / "tokenizer.json"))
_RAW = [_EMBEDDED.token_bytes(token) for token in range(len(_EMBEDDED))]
_OTHER_END = detent.Vocabulary(_RAW, eos_token_ids=[5, 40, len(_RAW) - 1], special_token_ids=[3])


def _guides() -> list[detent.Guide]:
    languages = [
        detent.regex("[a-z]+( [a-z]+)*"),
        detent.regex("(yes|no|maybe){2,9}"),
        detent.json_schema({"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}),
        detent.json_value(),
        detent.without("the"),
    ]
    guides = [detent.compile(each, vocabulary) for each in languages for vocabulary in (_EMBEDDED, _OTHER_END)]
    guides += [detent.compile(each, _EMBEDDED, canonical=True) for each in languages[:3]]
    return [*guides, detent.compile(detent.regex("(ab|cd){3}"), _EMBEDDED).to_table()]


_GUIDES = _guides()


def _filled(matcher: detent.Matcher) -> list[int]:
    row = detent.allocate_mask(1, len(_EMBEDDED))
    matcher.fill_mask(row[0])
    return row[0].tolist()  # type: ignore[no-any-return]


def _step(matcher: detent.Matcher, rng: random.Random) -> None:
    allowed = matcher.allowed()
    if matcher.is_finished or rng.random() < 0.1:
        matcher.rollback(rng.randint(0, len(matcher)))
    else:
        matcher.advance(allowed[rng.randrange(len(allowed))])


def _start(rng: random.Random) -> detent.Matcher:
    guide = rng.choice(_GUIDES)
    return guide.matcher(max_tokens=rng.choice([None, 12, 40, 1000]))


@pytest.mark.parametrize(("count", "batch"), [(9, 8), (30, 8), (400, 12)])
def test_rows_are_the_masks(count: int, batch: int) -> None:
    rng = random.Random(count)
    rows = detent.allocate_mask(count, len(_EMBEDDED))
    slots = detent.MaskSlots(rows)
    matchers = [_start(rng) for _ in range(batch)]
    kept = 0
    for _ in range(60):
        before = rows.copy()
        index, written = slots.fill(matchers, threads=rng.choice([1, 2]))
        for number, matcher in zip(index, matchers, strict=True):
            assert rows[number].tolist() == _filled(matcher)
        assert not rows[0].any()
        assert set(np.flatnonzero((rows != before).any(axis=1)).tolist()) <= set(written)
        assert len(set(written)) == len(written) <= batch
        kept += batch - len(written)
        for matcher in matchers:
            _step(matcher, rng)
        if rng.random() < 0.3:
            matchers[rng.randrange(batch)] = _start(rng)
        rng.shuffle(matchers)
    assert kept > 60  # rows are used again, also by other sequences


def test_a_repeated_step_writes_nothing() -> None:
    matchers = [guide.matcher() for guide in _GUIDES for _ in range(2)]
    slots = detent.MaskSlots(detent.allocate_mask(2 * len(matchers), len(_EMBEDDED)))
    first = slots.fill(matchers)
    again = slots.fill(matchers)
    assert again.written == []
    assert again.slots.tolist() == first.slots.tolist()
    assert len(set(first.slots.tolist())) <= len(_GUIDES)


def test_states_with_one_mask_share_a_slot() -> None:
    guide = detent.compile(detent.regex("[a-z]{0,400}"), _EMBEDDED)
    matchers = [guide.matcher() for _ in range(3)]
    letter = _RAW.index(b"a")
    for steps, matcher in enumerate(matchers):
        for _ in range(steps):
            matcher.advance(letter)
    slots = detent.MaskSlots(detent.allocate_mask(8, len(_EMBEDDED)))
    index, written = slots.fill(matchers)
    assert len(set(index.tolist())) == len(written) == 1


def test_rows_that_others_have_written_are_written_again() -> None:
    matchers = [guide.matcher() for guide in _GUIDES]
    rows = detent.allocate_mask(40, len(_EMBEDDED))
    slots = detent.MaskSlots(rows)
    slots.fill(matchers)
    rows[:] = -1
    slots.forget()
    index, written = slots.fill(matchers)
    assert sorted(set(index.tolist())) == sorted(written)
    for number, matcher in zip(index, matchers, strict=True):
        assert rows[number].tolist() == _filled(matcher)
    assert not rows[0].any()


def test_a_new_guide_is_not_taken_for_a_dead_one() -> None:
    rng = random.Random(4)
    rows = detent.allocate_mask(6, len(_EMBEDDED))
    slots = detent.MaskSlots(rows)
    for _ in range(40):
        word = "".join(rng.choice("abc") for _ in range(3))
        matchers = [detent.compile(detent.regex(word), _EMBEDDED).matcher()]
        index, _ = slots.fill(matchers)
        assert rows[index[0]].tolist() == _filled(matchers[0])


def test_no_matchers_and_tensors() -> None:
    torch = pytest.importorskip("torch")
    rows = torch.full((4, -(-len(_EMBEDDED) // 32)), -1, dtype=torch.int32)
    slots = detent.MaskSlots(rows)
    assert slots.fill([]).slots.tolist() == []
    matcher = _GUIDES[0].matcher()
    index, _ = slots.fill([matcher])
    assert rows[int(index[0])].tolist() == _filled(matcher)
    assert rows[0].eq(0).all()


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros(4, dtype=np.int32),
        np.zeros((1, 4), dtype=np.int32),
        np.zeros((4, 4), dtype=np.int64),
        np.zeros((4, 8), dtype=np.int32)[:, ::2],
        [[0], [0]],
        None,
    ],
)
def test_wrong_rows_are_refused(rows: Any) -> None:
    with pytest.raises(detent.ArgumentError):
        detent.MaskSlots(rows)


def test_wrong_arguments_are_refused() -> None:
    matchers = [_GUIDES[0].matcher() for _ in range(4)]
    with pytest.raises(detent.ArgumentError, match="4 sequences need 4 slots and one that allows nothing"):
        detent.MaskSlots(detent.allocate_mask(4, len(_EMBEDDED))).fill(matchers)
    with pytest.raises(detent.ArgumentError, match="words of 32 bits"):
        detent.MaskSlots(detent.allocate_mask(9, len(_EMBEDDED) + 64)).fill(matchers)
    with pytest.raises(detent.ArgumentError, match="threads"):
        detent.MaskSlots(detent.allocate_mask(9, len(_EMBEDDED))).fill(matchers, threads=0)
    with pytest.raises(detent.ArgumentError, match="matcher"):
        detent.MaskSlots(detent.allocate_mask(9, len(_EMBEDDED))).fill([None])  # type: ignore[list-item]
    with pytest.raises(detent.ArgumentError, match="got int"):
        detent.MaskSlots(detent.allocate_mask(9, len(_EMBEDDED))).fill(5)  # type: ignore[arg-type]


def test_slots_of_one_thread_are_busy_for_another() -> None:
    slots = detent.MaskSlots(detent.allocate_mask(60, len(_EMBEDDED)))
    errors: list[BaseException] = []

    def fill(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(30):
            guide = detent.compile(detent.regex(f"[a-z ]{{{rng.randint(1, 50)}}}"), _EMBEDDED, canonical=True)
            try:
                slots.fill([guide.matcher() for _ in range(4)])
            except detent.BusyError as error:
                errors.append(error)

    threads = [Thread(target=fill, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("mask slots" in str(error) for error in errors)
    matcher = _GUIDES[2].matcher()
    index, _ = slots.fill([matcher])
    assert slots.rows[index[0]].tolist() == _filled(matcher)  # type: ignore[index]


# --- Masks that the step does not wait for


def test_masks_that_are_not_waited_for_come_later() -> None:
    rng = random.Random(8)
    vocabulary = detent.Vocabulary(_RAW, eos_token_ids=[5])  # its masks are unknown
    rows = detent.allocate_mask(40, len(_EMBEDDED))
    slots = detent.MaskSlots(rows)
    guides = [detent.compile(detent.regex(rf"[a-z]{{{n}}} (yes|no)"), vocabulary) for n in range(3, 7)]
    guides += [detent.compile(detent.regex("[a-z]+ (yes|no)"), _EMBEDDED, canonical=True)]
    matchers = [guide.matcher() for guide in guides]
    masks = 0
    for _ in range(20_000):
        index, _ = slots.fill(matchers, wait=0)
        for number, matcher in zip(index, matchers, strict=True):
            if number == 0:
                continue
            assert rows[number].tolist() == _filled(matcher)
            masks += 1
            _step(matcher, rng)
        assert not rows[0].any()
        if masks > 400:
            break
    assert masks > 400


def test_a_step_does_not_wait() -> None:
    slots = detent.MaskSlots(detent.allocate_mask(9, len(_EMBEDDED)))
    rule = reduce(and_, [detent.regex(f".*{letter}.{{{9 + number}}}") for number, letter in enumerate("abcd")])
    for _ in range(100):  # a mask takes many milliseconds: the thread is rarely faster than the call
        matcher = detent.compile(rule, _EMBEDDED).matcher()
        matcher.advance_bytes(b"a")
        if slots.fill([matcher], wait=0).slots[0] == 0:
            break
    else:
        pytest.fail("each step has waited")
    assert slots.fill([matcher], wait=60).slots[0] != 0


def test_a_step_waits_as_long_as_it_is_told() -> None:
    vocabulary = detent.Vocabulary(_RAW, eos_token_ids=[5])
    matchers = [detent.compile(detent.regex(f"[a-z]+{n}"), vocabulary).matcher() for n in range(5)]
    slots = detent.MaskSlots(detent.allocate_mask(40, len(_EMBEDDED)))
    index, _ = slots.fill(matchers, wait=60)
    assert index.all()
    for number, matcher in zip(index, matchers, strict=True):
        assert slots.rows[number].tolist() == _filled(matcher)  # type: ignore[index]
    for wait in (-1.0, float("nan"), 1e9):
        with pytest.raises(detent.ArgumentError, match="wait"):
            slots.fill(matchers, wait=wait)


def test_a_token_limit_is_kept_without_waiting() -> None:
    guide = detent.compile(detent.regex("[a-z]+ yes"), _EMBEDDED)
    matchers = [guide.matcher(max_tokens=number) for number in range(4, 9)]
    slots = detent.MaskSlots(detent.allocate_mask(9, len(_EMBEDDED)))
    for _ in range(200):
        index, _ = slots.fill(matchers, wait=0)
        for number, matcher in zip(index, matchers, strict=True):
            if number:
                assert slots.rows[number].tolist() == _filled(matcher)  # type: ignore[index]
                if not matcher.is_finished:
                    matcher.advance(matcher.allowed()[0])
        if all(matcher.is_finished for matcher in matchers):
            break
    assert all(matcher.is_finished for matcher in matchers)


def test_the_error_of_a_mask_arrives() -> None:
    vocabulary = detent.Vocabulary(_RAW, eos_token_ids=[5])
    language = detent.regex("(.*a.{12}|[0-9]+)x")
    slots = detent.MaskSlots(detent.allocate_mask(9, len(_EMBEDDED)))
    for wait in (None, 60):
        matcher = detent.compile(language, vocabulary, limits=detent.Limits(states=40)).matcher()
        slots.fill([matcher], wait=wait)
        matcher.advance_bytes(b"a")
        for _ in range(2):  # an error is no mask
            with pytest.raises(detent.LimitError, match="states"):
                slots.fill([matcher], wait=wait)
    matcher = _GUIDES[0].matcher()
    assert slots.rows[slots.fill([matcher]).slots[0]].tolist() == _filled(matcher)  # type: ignore[index]


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, if another test imported it
def test_a_child_process_has_a_thread_of_its_own() -> None:
    slots = detent.MaskSlots(detent.allocate_mask(9, len(_EMBEDDED)))
    slots.fill([detent.compile(detent.regex("[a-z]+[0-9]"), _EMBEDDED).matcher()], wait=60)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            matcher = detent.compile(detent.regex("[a-z]+[0-8]"), _EMBEDDED).matcher()
            index, _ = slots.fill([matcher], wait=60)
            status = 0 if slots.rows[index[0]].tolist() == _filled(matcher) else 2  # type: ignore[index]
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_slots_may_be_dropped_while_their_thread_works() -> None:
    for number in range(20):
        guide = detent.compile(detent.regex(f"(?:[a-z]+ ){{{number}}}end"), _EMBEDDED, canonical=True)
        slots = detent.MaskSlots(detent.allocate_mask(9, len(_EMBEDDED)))
        slots.fill([guide.matcher()], wait=0)
        del slots


def test_items_that_differ_share_no_row() -> None:
    """After `["a`, the token `", "a"]` repeats an item and `", "b"]` does not; after `["b`, the other way round."""
    tokens = [*(bytes([byte]) for byte in range(256)), b'", "a"]', b'", "b"]', b'", "a', b""]
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[len(tokens) - 1])
    items = {"type": "array", "items": {"type": "string", "pattern": "^[a-z]$"}, "uniqueItems": True}
    guide = detent.compile(detent.json_schema(items), vocabulary)
    rows = detent.allocate_mask(8, len(vocabulary))
    slots = detent.MaskSlots(rows)
    for text in (b'["a', b'["b', b'["c", "a', b'["a'):
        matcher = guide.matcher()
        for byte in text:
            matcher.advance(byte)
        row = detent.allocate_mask(1, len(vocabulary))[0]
        matcher.fill_mask(row)
        assert rows[slots.fill([matcher]).slots[0]].tolist() == row.tolist(), text


@pytest.mark.parametrize("wait", [None, 60])
def test_rows_of_a_step_that_failed_are_written_again(wait: float | None) -> None:
    """A step that raises tells no rows, so that a copy on the device lacks what it has written."""
    vocabulary = detent.Vocabulary(_RAW, eos_token_ids=[5])
    known = detent.compile(detent.regex("ab|ba"), vocabulary).matcher()
    row = detent.allocate_mask(1, len(vocabulary))[0]
    known.fill_mask(row)
    language = detent.regex("(.*a.{12}|[0-9]+)x")
    failing = detent.compile(language, vocabulary, limits=detent.Limits(states=40)).matcher()
    failing.advance_bytes(b"a")
    rows = detent.allocate_mask(4, len(vocabulary))
    slots, device = detent.MaskSlots(rows), rows.copy()
    with pytest.raises(detent.LimitError, match="states"):
        slots.fill([known, failing], wait=wait)
    step = slots.fill([known], wait=wait)
    device[step.written] = rows[step.written]
    assert device[step.slots[0]].tolist() == row.tolist()
