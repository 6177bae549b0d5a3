"""The endpoints of the playground. They obey the keys, rates, limits and the queue of the server like all others."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from starlette.responses import JSONResponse, Response

from detent.compiler import CancellationToken
from detent.errors import DetentError, SchemaError, StateError, UnsupportedSchemaError
from detent.generation import Ban, Output, Request
from detent.generation.request import PreparedRequest
from detent.models.base import context_of, temperature_of
from detent.serve.answers import event_stream, report_of
from detent.serve.engine import Engine, Job
from detent.serve.errors import ApiError, from_detent
from detent.serve.playground.fields import Inspection, RuleBody, Run, Walk, Why
from detent.serve.playground.json_position import position_of, syntax_error
from detent.serve.playground.refusals import details_of
from detent.serve.playground.rule_text import PartError, language_without_bans, read_parts
from detent.serve.playground.study import Study, check_wanted
from detent.serve.playground.trace import Note, Trace
from detent.serve.rules import Rule
from detent.single_flight import SingleFlight

__all__ = ["Playground"]

_STUDIES = 64
_CANDIDATES = 8


class Playground:
    """What the page asks a server for.

    Parameters
    ----------
    engine : Engine
        Writes the texts; its model is the page's.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._studies: SingleFlight[Study] = SingleFlight(
            _STUDIES, engine.compilers, lambda study: study.memory_bytes, engine.settings.cache_bytes // 4
        )

    def close(self) -> None:
        """Forget the rules."""
        self._studies.close()

    def about(self) -> dict[str, Any]:
        """Return the facts about the model that the page shows."""
        model = self._engine.model
        return {
            "model": self._engine.name,
            "tokens": len(model.vocabulary),
            "context": context_of(model),
            "temperature": temperature_of(model),
            "style": None if self._engine.style is None else self._engine.style.name,
        }

    async def inspect(self, body: Inspection, client: str) -> Response:
        """Answer what a rule means; an error of its text is an answer too."""
        try:
            return JSONResponse((await self._study(body.rule, client)).facts)
        except PartError as error:
            return JSONResponse({"error": _part_error(body.rule, error)})
        except DetentError as error:
            return JSONResponse({"error": {"part": None, "message": str(error), "position": None}})

    async def walk(self, body: Walk, client: str) -> Response:
        """Answer how a text is read."""
        try:
            study = await self._study(body.rule, client)
        except PartError as error:
            raise _as_answer(error) from error
        return await self._answer(client, lambda stop: study.walk(body.text))

    async def why(self, body: Why, client: str) -> Response:
        """Answer which parts of the rule refuse some tokens, after others."""
        self._check_ids("tokens", body.tokens)
        self._check_ids("refused", body.refused)
        rule = self._rule(body.rule) if body.rule.parts else None
        job = Job(_request(body), rule, client)
        prepared = await self._engine.prepare(job)

        def find(stop: CancellationToken) -> dict[str, Any]:
            matcher = prepared._token_buffer().matcher
            for token_id in body.tokens:
                matcher.advance(token_id)
            found = {}
            for token_id in body.refused:
                check_wanted(stop)
                found[str(token_id)] = details_of(matcher, token_id, body.rule.parts)
            return found

        try:
            return await self._answer(client, find)
        except StateError as error:
            raise from_detent(error, "tokens") from error

    async def run(self, body: Run, client: str) -> Response:
        """Answer with a text, token by token."""
        self._check_ids("forced", body.forced)
        is_held = body.constrained
        request = replace(
            _request(body, is_held=is_held),
            temperature=body.temperature,
            seed=body.seed,
            alternatives=_CANDIDATES,
        )
        judge = None if is_held else (await self._judged(body.rule, client)).dfa
        rule = self._rule(body.rule) if is_held and body.rule.parts else None

        def open_stream(prepared: PreparedRequest, sample: int) -> Trace:
            return Trace(prepared, body.forced, judge)

        job = Job(request, rule, client, open_stream=open_stream)
        prepared = await self._engine.prepare(job)
        return event_stream(self._events(job, prepared))

    async def _events(self, job: Job, prepared: PreparedRequest) -> AsyncIterator[dict[str, Any]]:
        yield {"type": "start", "prompt_tokens": len(prepared.prompt_ids), "canonical": prepared.guide.canonical}
        lists: Any = self._engine.write(job, prepared)
        async with aclosing(lists):
            async for items in lists:
                for item in items:
                    if isinstance(item, Note):
                        yield item.data
                    elif isinstance(item, Output):
                        yield {
                            "type": "done",
                            "text": item.text,
                            "finish_reason": item.finish_reason,
                            "report": {name: _finite(value) for name, value in report_of(item).items()},
                        }

    async def _answer(self, client: str, find: Callable[[CancellationToken], dict[str, Any]]) -> Response:
        """Answer what a function finds on a thread; it is asked to stop when nobody waits for it."""
        engine, stop = self._engine, CancellationToken()
        async with engine.admission.slot(client):
            try:
                return JSONResponse(await engine.in_time(engine.run(lambda: find(stop), is_long=True)))
            finally:
                stop.cancel()

    def _check_ids(self, param: str, token_ids: Sequence[int]) -> None:
        for each in token_ids:
            if not 0 <= each < len(self._engine.model.vocabulary):
                raise ApiError(400, f"{param}: {each} is no token id of the model", param=param, code="invalid_value")

    async def _judged(self, rule: RuleBody, client: str) -> Study:
        try:
            return await self._study(rule, client)
        except PartError as error:
            raise _as_answer(error) from error

    async def _study(self, rule: RuleBody, client: str) -> Study:
        engine, stop = self._engine, CancellationToken()
        engine.admission.check(1)

        def make() -> Study:
            language, warnings = read_parts(rule, engine.style)
            check_wanted(stop)
            return Study(language_without_bans(rule, language), engine.settings.limits, stop, warnings)

        async with engine.admission.slot(client):
            return await engine.in_time(self._studies.get(rule.model_dump_json(), make, stop.cancel))

    def _rule(self, rule: RuleBody) -> Rule:
        def make() -> Any:
            try:
                return read_parts(rule, self._engine.style)[0]
            except PartError as error:
                raise _as_answer(error) from error

        parts = [part.model_dump_json() for part in rule.parts]
        return Rule("rule", f"playground {parts}", make)


def _request(body: Run | Why, *, is_held: bool = True) -> Request:
    ban = body.rule.ban
    return Request(
        body.prompt,
        canonical=None if body.canonical else False,
        max_tokens=body.max_tokens,
        ban=Ban(**ban.model_dump()) if ban is not None and is_held else None,
    )


def _finite(value: Any) -> Any:
    """Return None for the numbers that JSON does not have: a model may give an allowed token no probability at all."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_answer(error: PartError) -> ApiError:
    return from_detent(error.error, f"rule.parts[{error.index}].source")


def _part_error(rule: RuleBody, error: PartError) -> dict[str, Any]:
    """Return an error with its position in the source of the part."""
    source, found = rule.parts[error.index].source, error.error
    position = found.position
    if isinstance(found, (SchemaError, UnsupportedSchemaError)) and position is None:
        position = syntax_error(source)
        if position is None:
            position = position_of(source, found.pointer, found.keyword)
    return {
        "part": error.index,
        "message": str(error.error),
        "position": position,
        "pointer": getattr(found, "pointer", None),
        "kind": found.code,
    }
