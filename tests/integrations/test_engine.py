"""The adapter core: constraints are compiled once, can be given up, and the state of a request fails closed."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent.integrations.engine import Constraint, ConstraintCompiler
from detent.integrations.engine_matcher import EngineMatcher
from detent.integrations.request_rule import RequestRule
from detent.single_flight import SingleFlight

_EMBEDDED = detent.Vocabulary.from_file(str(files("detent.models") / "weights" / "tokenizer.json"))
_SMALL = detent.Vocabulary([b"a", b"b", b"ab", b"ba", b"c", b"", b""], eos_token_ids=[5], special_token_ids=[6])
_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def test_each_kind_of_rule_is_its_language() -> None:
    rules: list[tuple[str, Any, str, str]] = [
        ("json", _SCHEMA, '{"n": 1}', '{"n": "1"}'),
        ("json", '{"type": "boolean"}', "true", "1"),
        ("json_object", None, '{"a": []}', "[]"),
        ("regex", "[0-9]{3}", "123", "12"),
        ("choice", ["yes", "no"], "no", "maybe"),
        ("choice", '["yes", "no"]', "yes", "maybe"),
        ("grammar", 'root ::= "a" root | "b"', "aab", "aa"),
        ("grammar", 'start: "a"+ "b"', "aab", "aa"),
        ("turn", {"style": "hermes", "answer": {"type": "integer"}}, "7", "a"),
    ]
    with ConstraintCompiler(_EMBEDDED) as compiler:
        for kind, value, good, bad in rules:
            guide = compiler.compile(Constraint(RequestRule.of(kind, value)))
            assert guide.language.accepts(good), kind
            assert not guide.language.accepts(bad), kind


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("jsn", {}),
        ("json", "{"),
        ("json", [1]),
        ("choice", []),
        ("choice", [1]),
        ("regex", 5),
        ("structural_tag", "[]"),
        ("structural_tag", {"type": "structural_tag"}),
        ("turn", {"tools": []}),
        ("turn", {"style": "hermes", "tool": []}),
    ],
)
def test_wrong_rules_are_refused(kind: str, value: Any) -> None:
    with pytest.raises(detent.ArgumentError):
        RequestRule.of(kind, value).language()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("regex", "a("),
        ("json", {"type": "nonsense"}),
        ("grammar", "root ::= unknown"),
        ("json", {"type": "integer", "minimum": 3, "maximum": 2}),
    ],
)
def test_malformed_and_empty_rules_raise_when_they_are_compiled(kind: str, value: Any) -> None:
    with ConstraintCompiler(_EMBEDDED) as compiler, pytest.raises(detent.DetentError):
        compiler.compile(Constraint(RequestRule.of(kind, value)))


def test_bans_and_canonical_tokens() -> None:
    with ConstraintCompiler(_EMBEDDED) as compiler:
        rule = RequestRule.of("regex", "[a-c]{1,4}")
        guide = compiler.compile(Constraint(rule, ban=["ab", "cc"]))
        assert guide.language.accepts("acb")
        assert not guide.language.accepts("cab")
        assert guide.canonical is True
        assert compiler.compile(Constraint(rule, canonical=False)).canonical is False
        free = compiler.compile(Constraint(None, ban=["the"]))
        assert free.language.accepts("a text")
        assert not free.language.accepts("in the text")
        turn = detent.turn(style="chatml" if "chatml" in detent.turns.STYLES else next(iter(detent.turns.STYLES)))
        assert compiler.compile(Constraint(turn, canonical=False)).language is not None


def test_a_guide_is_compiled_once_by_content() -> None:
    with ConstraintCompiler(_EMBEDDED) as compiler:
        first = compiler.compile(Constraint(RequestRule.of("json", _SCHEMA)))
        assert compiler.compile(Constraint(RequestRule.of("json", dict(_SCHEMA)))) is first
        assert compiler.compile(Constraint(RequestRule.of("json", _SCHEMA), canonical=False)) is not first
        assert compiler.compile(Constraint(RequestRule.of("json", _SCHEMA), ban=["9"])) is not first
        language = detent.regex("a+")
        assert compiler.compile(Constraint(language)) is compiler.compile(Constraint(language))
        assert compiler.compile(Constraint(detent.regex("a+"))) is not compiler.compile(Constraint(language))
        tasks = [compiler.compile_async(Constraint(RequestRule.of("json", _SCHEMA))) for _ in range(3)]

        async def all_of_them() -> list[detent.Guide]:
            return list(await asyncio.gather(*tasks))

        assert all(guide is first for guide in asyncio.run(all_of_them()))


def test_compiling_is_stopped_when_all_have_left() -> None:
    started, stopped = threading.Event(), threading.Event()
    cancel = detent.CancellationToken()

    def make() -> int:
        started.set()
        while not cancel.is_cancelled:
            time.sleep(0.001)
        stopped.set()
        raise detent.CancelledError("cancelled by the caller")

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as executor:
        flights: SingleFlight[int] = SingleFlight(2, executor)
        first = flights.submit("a", make, cancel.cancel)
        second = flights.submit("a", make, cancel.cancel)
        assert started.wait(5)
        first.cancel()
        first.cancel()  # leaves once
        assert not stopped.wait(0.05)
        with pytest.raises(detent.CancelledError):
            first.result()
        second.cancel()
        assert stopped.wait(5)
        assert flights.submit("a", lambda: 3).result(5) == 3  # nothing is left of the cancelled one


def test_a_cancelled_task_stops_the_compiling() -> None:
    cancel = detent.CancellationToken()
    started = threading.Event()

    def make() -> int:
        started.set()
        while not cancel.is_cancelled:
            time.sleep(0.001)
        raise detent.CancelledError("cancelled by the caller")

    async def main() -> None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as executor:
            flights: SingleFlight[int] = SingleFlight(2, executor)
            task = asyncio.ensure_future(flights.get("a", make, cancel.cancel))
            while not started.is_set():
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert cancel.is_cancelled

    asyncio.run(asyncio.wait_for(main(), 10))


def test_the_cache_is_bounded() -> None:
    with ConstraintCompiler(_EMBEDDED, size=2) as compiler:
        first = compiler.compile(Constraint(RequestRule.of("regex", "a")))
        for pattern in "bcdef":
            compiler.compile(Constraint(RequestRule.of("regex", pattern)))
            time.sleep(0.02)  # sizes are asked for on another thread
        assert compiler.compile(Constraint(RequestRule.of("regex", "a"))) is not first


# The state of a request, against a list of tokens and a new matcher for each question.

_GUIDES = [detent.compile(detent.regex(p), _SMALL) for p in ("(ab)+", "a*b{2,4}", "(a|bb|c)*", "abc?")]


def _bits(row: Any, width: int) -> list[int]:
    return [t for t in range(width) if int(row[t >> 5]) >> (t & 31) & 1]


def _walked(guide: detent.Guide, tokens: list[int]) -> detent.Matcher | None:
    matcher = guide.matcher()
    for token_id in tokens:
        try:
            matcher.advance(token_id)
        except detent.StateError:
            return None
    return matcher


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_state_of_a_request(data: st.DataObject) -> None:
    guide = data.draw(st.sampled_from(_GUIDES))
    state, taken = EngineMatcher(guide), []
    rows = np.full((3, 4), -1, dtype=np.int32)
    for _ in range(data.draw(st.integers(1, 12))):
        action = data.draw(st.sampled_from(["accept", "accept", "accept", "rollback", "validate", "fork", "reset"]))
        here = _walked(guide, taken)
        assert here is not None
        if action == "accept":
            allowed = here.allowed().tolist()
            tokens = data.draw(st.lists(st.sampled_from([*allowed, *range(7)]), min_size=1, max_size=3))
            cut = next((i for i in range(len(tokens)) if tokens[i] == 5), len(tokens) - 1) + 1
            text = [] if here.is_finished else tokens[:cut]  # what follows the end means nothing
            ok = _walked(guide, taken + text) is not None
            assert state.accept(tokens) is ok
            if ok:
                taken += text
        elif action == "rollback":
            count = data.draw(st.integers(0, len(taken)))
            state.rollback(count)
            taken = taken[: len(taken) - count]
        elif action == "validate":
            tokens = data.draw(st.lists(st.integers(-2, 8), max_size=4))
            good = next((n for n in range(len(tokens), 0, -1) if _walked(guide, taken + tokens[:n])), 0)
            assert state.validate(tokens) == ([] if here.is_finished else tokens[:good])
        elif action == "fork":
            other = state.fork()
            other.accept(here.allowed()[:1].tolist())
        else:
            state.reset()
            taken = []
        here = _walked(guide, taken)
        assert here is not None
        state.fill(rows, 1)
        assert _bits(rows[1], 128) == here.allowed().tolist()
        assert (rows[0] == -1).all() and (rows[2] == -1).all()
        assert state.is_terminated is here.is_finished
        assert state.is_complete is here.is_accepting


def test_stop_ids_of_a_request_are_allowed_where_the_text_may_end() -> None:
    guide = detent.compile(detent.regex("(ab)+c?"), _SMALL)
    state = EngineMatcher(guide, stop_token_ids=[4, 40])
    row = np.zeros(2, dtype=np.int32)
    state.fill(row)
    assert _bits(row, 64) == [0, 2]
    assert state.validate([2, 40, 0]) == [2, 40]
    assert state.accept([2])
    state.fill(row)
    assert _bits(row, 64) == [0, 2, 4, 5, 40]
    assert state.accept([40])
    assert state.is_terminated
    state.rollback(2)
    state.fill(row)
    assert _bits(row, 64) == [0, 2]
    only = EngineMatcher(detent.compile(detent.regex("c"), _SMALL), stop_token_ids=[4])
    only.fill(row)
    assert _bits(row, 64) == [5]  # the rule asks for the stop token itself: closed
    with pytest.raises(detent.StateError, match="stop tokens"):
        only.raise_failure()


def test_a_failure_allows_the_end_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    state = EngineMatcher(_GUIDES[0])
    row = np.full(2, -1, dtype=np.int32)
    monkeypatch.setattr(detent.Matcher, "fill_mask", lambda self, row: 1 / 0)
    state.fill(row)
    assert _bits(row, 64) == [5]
    monkeypatch.undo()
    state.fill(row)
    assert _bits(row, 64) == [5]  # it does not open again
    assert not state.accept([2])
    assert state.validate([2]) == state.forced() == []
    with pytest.raises(detent.StateError, match="ZeroDivisionError"):
        state.raise_failure()
    state.reset()
    state.fill(row)
    assert _bits(row, 64) == [0, 2]


def test_a_torch_row_is_filled_in_place() -> None:
    torch = pytest.importorskip("torch")
    rows = torch.full((2, 3), -1, dtype=torch.int32)
    EngineMatcher(_GUIDES[0]).fill(rows, 1)
    assert rows.tolist() == [[-1, -1, -1], [5, 0, 0]]


@pytest.mark.parametrize("row", [np.zeros(3, np.int32), np.zeros(64, np.int64), np.zeros((1, 64), np.int32)])
def test_a_row_of_another_form_is_refused(row: Any) -> None:
    state = EngineMatcher(detent.compile(detent.regex("a"), _EMBEDDED))
    with pytest.raises(detent.ArgumentError, match=r"int32\[64\]"):
        state.fill(row)
    assert state.failure is None and not row.any()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda state: state.rollback(4),
        lambda state: state.rollback(-1),
        lambda state: state.validate([None]),
    ],
)
def test_wrong_calls_of_an_engine_close_the_request(wrong: Any) -> None:
    state = EngineMatcher(_GUIDES[0])
    assert state.accept([2])
    wrong(state)
    row = np.zeros(2, dtype=np.int32)
    state.fill(row)
    assert _bits(row, 64) == [5]
    assert not state.accept([2])
    with pytest.raises(detent.DetentError):
        state.raise_failure()


@pytest.mark.parametrize("token", [-1, 6, 7, 63, 10**12, None, "a", 0.5])
def test_ids_that_are_no_tokens_of_the_text_change_nothing(token: Any) -> None:
    state = EngineMatcher(_GUIDES[0])  # 6 is a special token, and the engine's logits are wider than 7 ids
    row, after = np.zeros(2, dtype=np.int32), np.zeros(2, dtype=np.int32)
    state.fill(row)
    assert not state.accept([token])
    state.fill(after)
    assert (row == after).all()
    assert state.accept([2, 5]) and state.is_terminated


def test_stop_ids_without_a_logit() -> None:
    guide = detent.compile(detent.regex("(ab)+"), _SMALL)
    state = EngineMatcher(guide, stop_token_ids=[4096])
    row = np.zeros(1, dtype=np.int32)
    assert state.accept([2])
    state.fill(row)
    assert _bits(row, 32) == [0, 2, 5]
    with pytest.raises(detent.ArgumentError, match="-3"):
        EngineMatcher(guide, stop_token_ids=[-3])


def test_rows_of_a_batch_finish_and_are_replaced() -> None:
    """Sixteen rows, each taken by a new request when its text has ended; every mask is that of a matcher of its own."""
    rng = np.random.default_rng(0)
    with ConstraintCompiler(_EMBEDDED, size=4) as compiler:
        rules = [RequestRule.of("regex", f"[a-{'abcdefgh'[number]}]{{1,{number + 1}}}") for number in range(8)]
        rows, requests, ended = np.full((16, 70), -1, dtype=np.int32), {}, 0
        while ended < 100:
            for index in range(16):
                if index not in requests:
                    guide = compiler.compile(Constraint(rules[rng.integers(8)], canonical=False))
                    requests[index] = EngineMatcher(guide), guide.matcher()
                state, matcher = requests[index]
                state.fill(rows, index)
                allowed = matcher.allowed().tolist()
                assert _bits(rows[index], 70 * 32) == allowed
                token = int(rng.choice(allowed))
                assert state.accept([token])
                matcher.advance(token)
                if state.is_terminated:
                    del requests[index]
                    ended += 1


@pytest.mark.long
def test_ten_thousand_rules_in_a_bounded_cache() -> None:
    with ConstraintCompiler(_SMALL, size=64, cache_bytes=1 << 22) as compiler:
        first = compiler.compile(Constraint(RequestRule.of("regex", "(ab){1}"), canonical=False))
        state, gone = EngineMatcher(first), weakref.ref(first)
        del first
        kept = []
        for number in range(2, 10_000):
            kept.append(
                weakref.ref(compiler.compile(Constraint(RequestRule.of("regex", f"(ab){{{number}}}"), canonical=False)))
            )
        assert state.accept([2, 5]) and state.is_terminated  # a request keeps the guide that the cache has dropped
        del state
        gc.collect()
        assert gone() is None
        for _ in range(100):  # on a busy machine, threads let go of their last ones later
            gc.collect()
            if sum(guide() is not None for guide in kept) <= 64 + 4:
                break
            time.sleep(0.05)
        assert 64 <= sum(guide() is not None for guide in kept) <= 64 + 4  # each thread may hold its last one


def test_forced_tokens_and_budgets() -> None:
    state = EngineMatcher(detent.compile(detent.regex("ababc"), _SMALL, canonical=False), 3)
    assert state.forced() == [2, 2, 4]
    assert state.accept([2, 2])
    assert EngineMatcher(detent.compile(detent.regex("a{2,9}"), _SMALL), 2).validate([0, 0, 0]) == [0, 0]
    with pytest.raises(detent.LimitError):
        EngineMatcher(detent.compile(detent.regex("a{5}"), _SMALL), 2)


def test_llama_cpp_closes_on_logits_of_another_model() -> None:
    """The engine swallows what a processor raises: end-of-text alone is allowed then, and the error is kept."""
    from detent.integrations.llama_cpp import LogitsProcessor

    vocabulary = detent.Vocabulary([b"a", b"b", b"", *[b"c"] * 60], eos_token_ids=[2])
    processor = LogitsProcessor(detent.regex("c+"), vocabulary)
    masked = processor(np.array([0], np.intc), np.zeros(3, np.single))
    assert np.isfinite(masked).tolist() == [False, False, True]
    with pytest.raises(detent.ArgumentError, match="the logits have 3 ids, but the mask allows id 62"):
        processor.raise_failure()
