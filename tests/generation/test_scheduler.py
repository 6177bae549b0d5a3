"""The scheduler: a text whose steps take long does not hold up the others."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

import detent
from detent.generation.token_buffer import TokenBuffer


@pytest.mark.parametrize("slow_from", [0, 6])
def test_a_slow_text_holds_up_nobody(
    real: detent.models.BatchModel, monkeypatch: pytest.MonkeyPatch, slow_from: int
) -> None:
    fill_mask = TokenBuffer.fill_mask
    slow = detent.regex("[a-z]{12}z")

    def slowly(buffer: TokenBuffer, mask: Any) -> None:
        if buffer.matcher.guide.language is slow and len(buffer.token_ids) >= slow_from:
            time.sleep(0.3)
        fill_mask(buffer, mask)

    monkeypatch.setattr(TokenBuffer, "fill_mask", slowly)
    quick = detent.regex("[a-z ]{40}z")
    ended: list[str] = []

    async def write(name: str, rule: Any) -> None:
        out = await detent.agenerate(real, "Write.", rule, seed=0, max_tokens=64, canonical=False)
        assert rule.accepts(out.text)
        ended.append(name)

    async def main() -> None:
        await asyncio.gather(write("slow", slow), *[write("quick", quick) for _ in range(4)])

    began = time.perf_counter()
    asyncio.run(main())
    assert ended == ["quick"] * 4 + ["slow"]
    assert time.perf_counter() - began > 0.6  # the slow one was slow


def test_an_error_of_a_pass_ends_the_texts_of_that_pass(real: detent.models.BatchModel) -> None:
    class Broken:
        vocabulary, encode, start, fork = real.vocabulary, real.encode, real.start, real.fork

        def read(self, sessions: Any) -> None:
            raise RuntimeError("the pass failed")

    async def main() -> None:
        model: Any = Broken()
        results = await asyncio.gather(
            *[detent.agenerate(model, f"{i}", detent.regex("[a-z]{9}")) for i in range(3)], return_exceptions=True
        )
        assert [str(result) for result in results] == ["the pass failed"] * 3

    asyncio.run(main())
