"""Functions as models: what they may return, and how a wrong return is refused."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

import detent
from detent.errors import ArgumentError, ModelError, VocabularyError
from detent.models import CallableModel, Model, Session

VOCABULARY = detent.Vocabulary([b"a", b"b", b"c", b"</s>"], eos_token_ids=[3])
LOGITS = [0.0, 1.0, 2.0, -3.0]


def model(function: object, **options: object) -> CallableModel:
    return CallableModel(function, VOCABULARY, **options)  # type: ignore[arg-type]


def test_it_is_a_model_with_sessions() -> None:
    it = model(lambda token_ids: LOGITS)
    assert isinstance(it, Model)
    assert isinstance(it.start([0]), Session)


def test_the_function_sees_all_ids_once_a_change() -> None:
    seen: list[list[int]] = []

    def function(token_ids: Sequence[int]) -> list[float]:
        seen.append(list(token_ids))
        return LOGITS

    session = model(function).start([0, 1])
    assert session.logits.tolist() == LOGITS
    assert session.logits.dtype == np.float32
    session.append([2])
    session.append([0, 1])
    assert session.logits.tolist() == LOGITS
    session.crop(3)
    assert session.logits.tolist() == LOGITS
    assert seen == [[0, 1], [0, 1, 2, 0, 1], [0, 1, 2]]
    assert session.token_ids == [0, 1, 2]


def test_the_function_cannot_change_the_sequence() -> None:
    def function(token_ids: list[int]) -> list[float]:
        token_ids.clear()
        return LOGITS

    session = model(function).start([0])
    assert session.logits.size == 4
    session.token_ids.append(9)
    assert session.token_ids == [0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8"])
def test_real_dtypes_become_float32(dtype: str) -> None:
    logits = model(lambda token_ids: np.array([0, 1, 2, 3], dtype=dtype)).start([0]).logits
    assert logits.dtype == np.float32
    assert logits.tolist() == [0, 1, 2, 3]


def test_tensors_are_arrays() -> None:
    torch = pytest.importorskip("torch")
    assert model(lambda token_ids: torch.tensor(LOGITS)).start([0]).logits.tolist() == LOGITS
    with_gradient = torch.tensor(LOGITS, dtype=torch.bfloat16, requires_grad=True)
    assert model(lambda token_ids: with_gradient).start([0]).logits.tolist() == with_gradient.tolist()
    for dtype in (torch.bool, torch.complex64):
        with pytest.raises(ModelError, match="real numbers"):
            _ = model(lambda token_ids, dtype=dtype: torch.tensor(LOGITS).to(dtype)).start([0]).logits


def test_values_beyond_float32_are_infinite_and_refused_where_they_count() -> None:
    it = model(lambda token_ids: [1e300, 0.0, 0.0, 0.0])
    assert it.start([0]).logits[0] == np.inf
    assert detent.generate(it, [0], detent.regex("b")).text == "b"
    with pytest.raises(ModelError, match="inf"):
        detent.generate(it, [0], detent.regex("[ab]"))


@pytest.mark.parametrize(
    "returned",
    [
        None,
        1.0,
        [],
        LOGITS[:3],
        [*LOGITS, 0.0],
        [LOGITS],
        [[0.0], [1.0, 2.0]],
        ["a", "b", "c", "d"],
        [True, False, True, False],
        [1j, 2, 3, 4],
        {"a": 1},
    ],
    ids=str,
)
def test_wrong_returns(returned: object) -> None:
    with pytest.raises(ModelError, match="function must return"):
        _ = model(lambda token_ids: returned).start([0]).logits


def test_a_wrong_width_names_the_remedy() -> None:
    with pytest.raises(ModelError, match=r"4 ids, got shape \(6,\).*size="):
        detent.generate(model(lambda token_ids: [0.0] * 6), [0])


def test_the_functions_own_errors_pass() -> None:
    def function(token_ids: Sequence[int]) -> list[float]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _ = model(function).start([0]).logits


def test_encode() -> None:
    assert model(lambda token_ids: LOGITS, encode=lambda text: ["abc".index(c) for c in text]).encode("cab") == [
        2,
        0,
        1,
    ]
    with pytest.raises(VocabularyError):
        model(lambda token_ids: LOGITS).encode("cab")


@pytest.mark.parametrize("length", [-1, 3])
def test_crop_beyond_the_sequence(length: int) -> None:
    session = model(lambda token_ids: LOGITS).start([0, 1])
    with pytest.raises(ArgumentError, match="crop"):
        session.crop(length)
    assert session.token_ids == [0, 1]


@pytest.mark.parametrize(
    "arguments", [(None, VOCABULARY), (len, ["a"]), (len, None), (len, VOCABULARY, "encode")], ids=str
)
def test_wrong_arguments(arguments: tuple[object, ...]) -> None:
    with pytest.raises(ArgumentError):
        CallableModel(*arguments)  # type: ignore[arg-type]


def test_logits_that_come_from_ctypes() -> None:
    memory = (ctypes.c_float * 3)(0.0, 1.0, -5.0)
    logits = np.ctypeslib.as_array(ctypes.cast(memory, ctypes.POINTER(ctypes.c_float)), (3,))
    assert memoryview(logits).format == "<f"
    vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    model = CallableModel(lambda token_ids: logits, vocabulary)
    assert detent.generate(model, [0], detent.regex("a?b{3}"), temperature=0).text == "bbb"
