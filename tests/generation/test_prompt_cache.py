"""PromptCache: a prompt is read from where it differs from the prompts before it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

import detent
from detent.generation.logits_cache import LogitsCache
from detent.generation.prompt_cache import PromptCache

LONG = "Write the numbers of the following text, and nothing else, as digits: "


class Recording:
    """The embedded model, with the prompts that are read from their first token."""

    def __init__(self, model: Any) -> None:
        self.inner, self.vocabulary, self.encode, self.fork = model, model.vocabulary, model.encode, model.fork
        self.read = model.read
        self.started: list[list[int]] = []

    def start(self, token_ids: Sequence[int]) -> detent.models.Session:
        self.started.append(list(token_ids))
        return self.inner.start(token_ids)


def read(model: Any, prompts: PromptCache, text: str) -> LogitsCache:
    cache = LogitsCache(model, model.encode(text))
    prompts.open(cache)
    model.read([cache.session(())])
    prompts.keep(cache)
    return cache


def test_a_prompt_is_read_from_where_it_differs(real: detent.models.BatchModel) -> None:
    model: Any = Recording(real)
    prompts = PromptCache()
    for text in ("one", "two", "one"):
        cache = read(model, prompts, LONG + text)
        fresh = real.start(cache.prompt_ids)
        assert cache.session(()).token_ids == cache.prompt_ids
        assert cache.logits((), keep=False) == pytest.approx(fresh.logits, abs=1e-3)
    assert len(model.started) == 1


def test_an_empty_prompt_has_no_beginning(real: detent.models.BatchModel) -> None:
    with pytest.raises(detent.ArgumentError, match="at least one"):
        asyncio.run(detent.agenerate(real, [], detent.regex("[ab]{3}")))


def test_the_longest_beginning_is_taken_and_the_oldest_forgotten(real: detent.models.BatchModel) -> None:
    model: Any = Recording(real)
    prompts = PromptCache(size=2)
    for text in (LONG, LONG + "one two", "Something else that has as many tokens as it takes to be worth a copy."):
        read(model, prompts, text)
    assert len(model.started) == 2
    assert read(model, prompts, LONG + "one two three").session(()).token_ids == real.encode(LONG + "one two three")
    assert len(model.started) == 2
    read(model, prompts, "Yes?")
    read(model, prompts, "Yes?")
    assert len(model.started) == 4  # too short to be kept


def test_texts_of_one_prompt_at_the_same_time(real: detent.models.BatchModel) -> None:
    model: Any = Recording(real)
    language = detent.regex("[a-z ]{12,20}")

    async def main() -> list[detent.Output]:
        return await asyncio.gather(*[detent.agenerate(model, LONG, language, seed=i, max_tokens=12) for i in range(6)])

    outputs = asyncio.run(main())
    assert outputs == [detent.generate(real, LONG, language, seed=i, max_tokens=12) for i in range(6)]
    assert model.started == [real.encode(LONG)]
    assert all(out.report.model_calls <= len(out.token_ids) + 1 for out in outputs)
