"""The token cases of the hostile corpus: right, or a clean error with the state as it was."""

from __future__ import annotations

import gc
import os
import pickle
import random
import threading
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import detent
from detent import _core
from detent.generation.sampler import Sampler
from tests.support.hostile_corpus import expand, hostile_cases
from tests.support.long_tests import long
from tests.support.mask_walk import VOCABULARY, masks_of
from tests.support.python_process import run_python
from tests.support.shared_data import needs_shared
from tests.support.small_stack import in_a_small_stack

Case = dict[str, Any]

CASES: dict[str, Case] = {case["id"]: case for case in hostile_cases("tokens")}

pytestmark = needs_shared

_END = VOCABULARY.eos_token_ids[0]
_WORDS = -(-len(VOCABULARY) // 32)


# --- Steps of one matcher


def _run_steps(case: Case) -> None:
    matcher = detent.compile(detent.regex(case["input"]["regex"]), VOCABULARY).matcher()
    steps = [_step(matcher, *step) for step in case["input"]["steps"]]
    for step in steps[:-1]:
        step()
    _check_mask(matcher)
    before = (matcher.token_ids, matcher.allowed().tolist(), matcher.is_accepting, matcher.is_finished)
    try:
        steps[-1]()
    except detent.DetentError as error:
        assert case["expect"] != "compiles"
        assert len(str(error).encode()) <= 512
        assert before == (matcher.token_ids, matcher.allowed().tolist(), matcher.is_accepting, matcher.is_finished)
    else:
        assert case["expect"] != "clean_error"
    _check_mask(matcher)


def _step(matcher: detent.Matcher, name: str, argument: Any = None, count: int = 1) -> Callable[[], object]:
    def ids(text: str) -> list[int]:
        return list(text.encode())  # the vocabulary's first ids are the bytes

    def advance_all(tokens: list[Any]) -> None:
        for token in tokens:
            matcher.advance(token)

    actions: dict[str, Callable[[], object]] = {
        "accept": lambda: matcher.advance(float("nan") if argument == "NaN" else argument),
        "accept_text": lambda: advance_all(ids(argument)),
        "accept_eos": lambda: matcher.advance(_END),
        "accept_many": lambda: advance_all(argument),
        "accept_repeat": lambda: advance_all(ids(argument) * count),
        "rollback": lambda: matcher.rollback(argument),
        "mask": matcher.allowed,
    }
    return actions[name]


def _check_mask(matcher: detent.Matcher) -> None:
    """The mask has exactly the tokens that a fork takes; after the end, end-of-text alone."""
    allowed = matcher.allowed().tolist()
    assert allowed
    if matcher.is_finished:
        assert allowed == [_END]
    else:
        assert allowed == [token for token in range(len(VOCABULARY)) if _takes(matcher, token)]


def _takes(matcher: detent.Matcher, token: int) -> bool:
    try:
        matcher.advance(token)
    except detent.StateError:
        return False
    matcher.rollback()
    return True


# --- Buffers


def _matcher() -> detent.Matcher:
    return detent.compile(detent.regex("ab|ac"), VOCABULARY).matcher()


def _mask_of_another_shape(case: Case) -> None:
    mask = np.zeros(case["input"]["mask_shape"], dtype=np.int32)
    _refuse(lambda: _matcher().fill_mask(mask))
    _refuse(lambda: detent.BatchMatcher([_matcher()]).fill_mask(mask))


def _mask_of_another_type(case: Case) -> None:
    for shape in ((_WORDS,), (1, _WORDS)):
        mask = np.zeros(shape, dtype=case["input"]["mask_dtype"])
        _refuse(lambda mask=mask: _matcher().fill_mask(mask))
        _refuse(lambda mask=mask: detent.BatchMatcher([_matcher()]).fill_mask(mask))
        _refuse(lambda mask=mask: detent.apply_mask(np.zeros((1, 4), dtype=np.float32), mask))


def _mask_of_another_layout(case: Case) -> None:
    if case["input"]["mask"] == "misaligned":
        mask = np.zeros(4 * _WORDS + 1, dtype=np.uint8)[1:].view(np.int32)
    else:
        mask = np.zeros(2 * _WORDS, dtype=np.int32)[::2]
    _refuse(lambda: _matcher().fill_mask(mask))
    assert not mask.any()


def _negative_row(_: Case) -> None:
    """There is no row argument: a row is a view, and NumPy's -1 is the last one."""
    rows = detent.allocate_mask(2, len(VOCABULARY))
    _matcher().fill_mask(rows[-1])
    assert not rows[0].any()
    assert rows[1].any()
    _refuse(lambda: _matcher().fill_mask(rows))


def _refuse(call: Callable[[], object]) -> None:
    with pytest.raises(detent.ArgumentError):
        call()


# --- Logits


def _logits(case: Case) -> None:
    row = detent.allocate_mask(1, len(VOCABULARY))[0]
    detent.compile(detent.regex("ac"), VOCABULARY).matcher().fill_mask(row)
    only = ord("a")
    logits = np.zeros(len(VOCABULARY), dtype=np.float32)
    kind = case["input"]["logits"]
    if kind == "+inf at a banned token":
        logits[:] = np.inf
        logits[only] = 1
        detent.apply_mask(logits, row)
        assert (logits[np.arange(len(logits)) != only] == -np.inf).all()
        for temperature in (0.0, 1.0):
            assert Sampler(temperature=temperature, seed=0).pick(logits) == only
        return
    if kind == "NaN at the only allowed token":
        logits[only] = np.nan
    else:
        logits[:] = {"all NaN": np.nan, "all -inf": -np.inf}[kind]
    detent.apply_mask(logits, row)
    for temperature in (0.0, 1.0):
        with pytest.raises(detent.ModelError):
            Sampler(temperature=temperature, top_k=3, top_p=0.9, seed=0).pick(logits)


# --- Threads, processes, lives


def _sixteen_threads(_: Case) -> None:
    """A hundred thousand steps over 16 threads, as in a row."""
    guide = detent.compile(detent.regex(r"(?:ab|ba|\w ){0,10000}[^a]*"), VOCABULARY)
    expected = [_take_pairs(guide, seed) for seed in range(16)]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(_take_pairs, [guide] * 16, range(16))) == expected


def _take_pairs(guide: detent.Guide, seed: int) -> list[bytes]:
    choose = random.Random(seed)
    matcher = guide.matcher()
    row = detent.allocate_mask(1, len(guide.vocabulary))[0]
    masks = []
    for step in range(3_125):
        for token in choose.choice((b"ab", b"ba", b"x ", b"a ")):
            matcher.advance(token)
        if step % 25 == 0:
            matcher.fill_mask(row)
            masks.append(row.tobytes())
    return masks


def _compiled_object_dropped(_: Case) -> None:
    matcher = detent.compile(detent.regex("ab|ac"), detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])).matcher()
    gc.collect()
    matcher.advance(0)
    assert matcher.allowed().tolist() == [1]


def _closed_object(_: Case) -> None:
    """Nothing can be closed. What was never made properly is an error too, not a crash."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nanobind says the same once more
        for kind in (detent.Matcher, _core.Matcher):
            with pytest.raises((detent.DetentError, TypeError)):
                kind.__new__(kind).advance(0)
    with pytest.raises((detent.DetentError, TypeError)):
        _core.Matcher(None)  # type: ignore[arg-type]


def _cycle_collected(_: Case) -> None:
    class Holder:
        pass

    holder = Holder()
    holder.guide = detent.compile(detent.regex("a"), VOCABULARY)  # type: ignore[attr-defined]
    holder.matcher = holder.guide.matcher()  # type: ignore[attr-defined]
    holder.itself = holder  # type: ignore[attr-defined]
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


def _step_in_the_child(_: Case) -> None:
    out = run_python(
        """
    import os
    import detent
    vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    matcher = detent.compile(detent.regex("ab+"), vocabulary).matcher()
    matcher.advance(0)
    child = os.fork()
    matcher.advance(1)
    assert matcher.allowed().tolist() == [1, 2]
    if child:
        print(os.waitpid(child, 0)[1])
    else:
        os._exit(0)
    """
    )
    assert out == "0\n"


# --- Bytes from elsewhere


class _Payload:
    """Unpickling it would set a mark."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.putenv, ("DETENT_WAS_UNPICKLED", "yes")


def _foreign_bytes(case: Case) -> None:
    """Nothing is cached on disk; the one saved form is that of languages, which is parsed and never unpickled."""
    saved = detent.regex("a(b|[c-e]){2,3}")._node.to_bytes()
    if "version" in case["input"]["blob"]:
        forms = [bytes([saved[0] ^ 0xFF]) + saved[1:], b"", saved[:-1], saved + b"\0"]
    else:
        forms = [pickle.dumps(_Payload()), pickle.dumps(_Payload(), protocol=0)]
    for form in forms:
        with pytest.raises(detent.DetentError):
            _core.node_from_bytes(form)


# --- Everything at once


def _mask_equals_language(_: Case) -> None:
    """At 1000 places of 50 constraints, every bit of the mask says whether the token is taken."""
    choose = random.Random(63)
    places = 0
    while places < 1000:
        try:
            matcher = detent.compile(detent.regex(_random_pattern(choose, depth=3)), VOCABULARY).matcher()
        except detent.EmptyLanguageError:
            continue
        for _ in range(20):
            places += 1
            _check_mask(matcher)
            token = choose.choice(matcher.allowed().tolist())
            if token == _END:
                matcher.rollback(len(matcher))
            else:
                matcher.advance(token)


def _random_pattern(choose: random.Random, depth: int) -> str:
    if depth == 0:
        return choose.choice(["a", "b", "ab", "1", " ", "é", ".", r"\w", "[^b]", "[a-f]", r"\b", ""])
    parts = [_random_pattern(choose, depth - 1) for _ in range(2)]
    shapes = ["{0}{1}", "(?:{0}|{1})", "(?:{0}){{0,3}}{1}", "(?:{0})*{1}", "(?:{0}){{2,90}}", "(?!{0}){1}a?"]
    return choose.choice(shapes).format(*parts)


def _deep_cases_on_a_small_stack(_: Case) -> None:
    cases = [case for case in hostile_cases("regex") if isinstance(case["input"], dict)]
    assert cases

    def work() -> None:
        for case in cases:
            pattern = expand(case["input"])
            try:
                masks_of(detent.compile(detent.regex(pattern), VOCABULARY), seed=0, steps=3)
            except detent.DetentError:
                continue

    in_a_small_stack(work)


_ACTIONS: dict[str, Callable[[Case], None]] = {
    "mask_shape": _mask_of_another_shape,
    "mask_dtype": _mask_of_another_type,
    "mask": _mask_of_another_layout,
    "mask_row": _negative_row,
    "logits": _logits,
    "blob": _foreign_bytes,
    "oracle": _mask_equals_language,
    "stack": _deep_cases_on_a_small_stack,
}
_BY_ID: dict[str, Callable[[Case], None]] = {
    "TN046": _sixteen_threads,
    "TN049": _compiled_object_dropped,
    "TN050": _closed_object,
    "TN051": _cycle_collected,
    "TN053": _step_in_the_child,
}
_IN_TEST_SAFETY = {
    "TN045": "test_two_threads_on_one_matcher_are_refused_or_in_turn",
    "TN054": "test_fork_while_threads_compile",
    "env": "test_masks_are_the_same_in_every_process_and_locale",
    "cancel": "test_the_interpreter_exits_while_threads_compile",
}
"""Cases, and kinds of cases, that tests/test_safety.py runs under names of their own."""
_SLOW = {"TN063", "TN065"}


@pytest.mark.parametrize("name", [long(name) if name in _SLOW else name for name in CASES])
def test_case(name: str) -> None:
    case = CASES[name]
    kind = next(iter(case["input"]))
    elsewhere = _IN_TEST_SAFETY.get(name) or _IN_TEST_SAFETY.get(kind)
    if elsewhere:
        assert f"\ndef {elsewhere}(" in Path(__file__).with_name("test_safety.py").read_text(encoding="utf-8")
        return
    action = _run_steps if "steps" in case["input"] else _BY_ID.get(name) or _ACTIONS[kind]
    action(case)
    assert "DETENT_WAS_UNPICKLED" not in os.environ
    assert threading.stack_size() == 0
