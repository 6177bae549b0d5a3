"""Values of outputs: an error of the conversion loses nothing, and the model can be asked again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pydantic
import pytest

import detent
from detent.errors import ArgumentError, OutputValueError
from detent.generation.output import Output
from detent.models import CallableModel

VOCABULARY = detent.Vocabulary([bytes([byte]) for byte in range(128)] + [b"</s>"], eos_token_ids=[128])


class Even(pydantic.BaseModel):
    """A type with a validator that the schema does not show."""

    number: int

    @pydantic.field_validator("number")
    @classmethod
    def _is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError(f"{number} is odd")
        return number


def writes(*texts: str) -> CallableModel:
    """Return a model that writes the i-th text at the i-th call, the calls being told apart by the prompt's length."""

    def function(ids: Sequence[int]) -> np.ndarray:
        answers = [text.encode() for text in texts]
        prompt = ids.index(0) + 1  # a NUL byte ends the prompt
        text = answers[ids[:prompt].count(1)]  # one SOH byte for each failed attempt
        done = len(ids) - prompt
        logits = np.full(129, -50.0)
        logits[text[done] if done < len(text) else 128] = 50
        return logits

    class ChatModel(CallableModel):
        chat = True

        def encode_chat(self, chat: detent.Chat | Sequence[detent.models.Message]) -> list[int]:
            self.messages = detent.Chat.of(chat).messages
            attempts = sum(message["role"] == "assistant" for message in self.messages)
            return [*b"p", *[1] * attempts, 0]

    return ChatModel(function, VOCABULARY, encode=lambda text: [*b"p", 0])


ODD, ODD2, EVEN = '{"number": 3}', '{"number": 5}', '{"number": 4}'
RULE = detent.json_schema(Even)


def check_failed(out: Output, text: str) -> None:
    assert out.text == text
    assert isinstance(out.value_error, pydantic.ValidationError)
    with pytest.raises(OutputValueError, match="is odd") as caught:
        _ = out.value
    assert caught.value.output is out
    assert caught.value.__cause__ is out.value_error
    assert "is odd" in repr(out)


def test_the_text_is_not_lost() -> None:
    check_failed(detent.generate(writes(ODD), "p", RULE, temperature=0), ODD)


def test_the_stream_is_not_lost() -> None:
    pieces = detent.stream(writes(ODD), "p", RULE, temperature=0)
    assert "".join(pieces) == ODD
    check_failed(pieces.output, ODD)
    values = detent.stream(writes(ODD), "p", RULE, temperature=0, partial=True)
    assert list(values)[-1] == {"number": 3}
    check_failed(values.output, ODD)


def test_the_other_rows_of_a_batch_are_not_lost() -> None:
    requests = [
        detent.Request("p", RULE, temperature=0),
        detent.Request("p", detent.regex(".*"), temperature=0),
    ]
    failed, other = detent.generate_batch(writes(ODD), requests)
    check_failed(failed, ODD)
    assert other.value == ODD
    for write in (detent.analysis.beam_search, detent.analysis.sample_conditioned):
        check_failed(write(writes(ODD), "p", RULE)[0], ODD)  # type: ignore[operator]


def test_retries_have_the_error_in_the_prompt() -> None:
    model: Any = writes(ODD, ODD2, EVEN)
    out = detent.generate(model, "Which?", RULE, temperature=0, retries=5)
    assert out.value == Even(number=4)
    assert [attempt.text for attempt in out.failed_attempts] == [ODD, ODD2]
    assert [message["role"] for message in model.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert model.messages[0]["content"] == "Which?"
    assert model.messages[3]["content"] == ODD2
    assert "5 is odd" in model.messages[4]["content"]


def test_retries_end() -> None:
    out = detent.generate(writes(ODD, ODD2, EVEN), "p", RULE, temperature=0, retries=1)
    check_failed(out, ODD2)
    assert [attempt.text for attempt in out.failed_attempts] == [ODD]
    rows = detent.generate_batch(writes(ODD, EVEN), [detent.Request("p", RULE, temperature=0, retries=1, samples=2)])
    assert [row.text for row in rows] == [EVEN, EVEN]


def test_without_a_template_the_seed_changes() -> None:
    calls: list[tuple[int, ...]] = []

    def function(ids: Sequence[int]) -> np.ndarray:
        calls.append(tuple(ids))
        return np.zeros(129)

    model = CallableModel(function, VOCABULARY, encode=lambda text: [*text.encode()])
    failed = 0
    for seed in range(8):
        options = {"seed": seed, "temperature": 1, "max_tokens": 14, "retries": 30}
        out = detent.generate(model, "p", RULE, **options)  # type: ignore[arg-type]
        assert out.value_error is None
        failed += len(out.failed_attempts)
        assert out == detent.generate(model, "p", RULE, **options)  # type: ignore[arg-type]
    assert failed > 1
    calls.clear()
    once = detent.generate(model, "p", RULE, temperature=0, max_tokens=14)
    count = len(calls)
    again = detent.generate(model, "p", RULE, temperature=0, max_tokens=14, retries=9)
    assert (again, len(calls)) == (once, 2 * count) or once.value_error is None  # the same text would come again


def test_a_stream_has_no_retries() -> None:
    with pytest.raises(ArgumentError, match="retries"):
        detent.stream(writes(ODD), "p", RULE, retries=1)


def test_messages_are_a_prompt() -> None:
    model = detent.load_model()
    turns = [{"role": "user", "content": "Is a dog an animal?"}]
    out = detent.generate(model, turns, ["Yes", "No"], temperature=0)  # type: ignore[arg-type]
    assert out == detent.generate(model, "Is a dog an animal?", detent.choice("Yes", "No"), temperature=0)
    with pytest.raises(ArgumentError, match="role"):
        detent.generate(model, [{"role": "user"}])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match="roles system, user, assistant and tool"):
        detent.generate(model, [{"role": "ipython", "content": "Hi"}])
    with pytest.raises(ArgumentError, match="last message"):
        detent.generate(model, [{"role": "assistant", "content": "Hi"}])
    plain = CallableModel(lambda ids: np.zeros(129), VOCABULARY)
    with pytest.raises(ArgumentError, match="no chat template"):
        detent.generate(plain, turns)  # type: ignore[arg-type]


def test_objects_that_mean_a_language() -> None:
    model = detent.load_model()
    assert detent.generate(model, "Go", bool, temperature=0).value in (True, False)
    assert detent.generate(model, "Go", {"const": 5}, temperature=0).value == 5
    with pytest.raises(ArgumentError, match=r"detent\.regex\(\.\.\.\) for a pattern, detent\.literal"):
        detent.generate(model, "Go", "[0-9]+")  # type: ignore[arg-type]


def test_retries_lose_no_output() -> None:
    model: Any = writes(ODD, ODD2, EVEN)
    model.context = 24  # the conversation with the failed attempt does not fit
    model.encode_chat = lambda chat: [*b"p" * 30, 0]
    check_failed(detent.generate(model, "p", RULE, temperature=0, retries=2, max_tokens=14), ODD)

    class Broken(pydantic.BaseModel):
        number: int

        @pydantic.model_validator(mode="after")
        def _fail(self) -> Broken:
            raise RuntimeError("half of a pair: \ud800")

    out = detent.generate(writes(ODD, ODD2), "p", Broken, temperature=0, retries=2)
    assert (out.text, isinstance(out.value_error, RuntimeError)) == (ODD, True)


def test_the_prompt_of_a_retry_has_no_links() -> None:
    model: Any = writes(ODD, EVEN)
    assert detent.generate(model, "p", RULE, temperature=0, retries=1).value == Even(number=4)
    assert "3 is odd" in model.messages[2]["content"]
    assert "http" not in model.messages[2]["content"]
