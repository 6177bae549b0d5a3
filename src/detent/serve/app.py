"""The application: routes, access, limits, metrics and logs around the endpoints."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, PlainTextResponse, Response

from detent import __version__
from detent.errors import DetentError
from detent.models import Model
from detent.serve.access import Access
from detent.serve.answers import now
from detent.serve.chat import chat
from detent.serve.chat_fields import ChatRequest
from detent.serve.completion_fields import CompletionRequest
from detent.serve.completions import complete
from detent.serve.engine import Engine
from detent.serve.errors import ApiError, from_detent, from_validation
from detent.serve.json_text import refuse_ambiguous
from detent.serve.logs import log
from detent.serve.middleware import BodyLimit, HostCheck, Observation
from detent.serve.ollama import OllamaChatRequest, model_list
from detent.serve.ollama import chat as ollama_chat
from detent.serve.playground import Inspection, Playground, Run, Walk, Why, page
from detent.serve.responses import respond
from detent.serve.responses_fields import ResponsesRequest
from detent.serve.settings import ServerSettings

__all__ = ["make_app"]

_Body = TypeVar("_Body", bound=BaseModel)

_SHORT_BODY = 64 << 10
"""Bytes of a body that are read at once; to look at longer ones would hold up the event loop."""

_ENDPOINTS: tuple[tuple[str, type[BaseModel], Callable[[Engine, Any, str], Awaitable[Response]]], ...] = (
    ("/v1/chat/completions", ChatRequest, chat),
    ("/v1/completions", CompletionRequest, complete),
    ("/v1/responses", ResponsesRequest, respond),
    ("/api/chat", OllamaChatRequest, ollama_chat),
)


def make_app(model: Model, settings: ServerSettings | None = None, *, name: str = "detent") -> FastAPI:
    """Make the ASGI application of a server.

    >>> import detent
    >>> from detent.serve import make_app
    >>> app = make_app(detent.load_model())  # run it with uvicorn, or with `detent serve`

    Parameters
    ----------
    model : Model
        The model that writes; one for all requests.
    settings : ServerSettings, optional
        Keys, limits and logs.
    name : str
        The name of the model for clients; a request for another one is an error.
    """
    settings = settings or ServerSettings()
    engine = Engine(model, name, settings)
    playground = Playground(engine)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        log("started", model=name, version=__version__)
        yield
        playground.close()
        engine.close()
        log("stopped")

    app = FastAPI(title="detent", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(BodyLimit, most=settings.max_body_bytes)
    if settings.hosts:
        app.add_middleware(HostCheck, hosts=settings.hosts)
    access = Access(settings.api_keys, settings.requests_per_minute)
    _add_observation(app, engine)
    _add_errors(app)
    _add_models(app, engine, access)
    for path, body_type, endpoint in _ENDPOINTS:
        _add_endpoint(app, engine, access, path, body_type, endpoint)
    _add_playground(app, engine, playground, access)
    return app


def _add_playground(app: FastAPI, engine: Engine, playground: Playground, access: Access) -> None:
    bodies: tuple[tuple[str, type[BaseModel], Callable[[Any, str], Awaitable[Response]]], ...] = (
        ("/playground/inspect", Inspection, playground.inspect),
        ("/playground/walk", Walk, playground.walk),
        ("/playground/run", Run, playground.run),
        ("/playground/why", Why, playground.why),
    )
    for path, body_type, answer in bodies:

        async def endpoint(
            _: Engine, body: Any, client: str, answer: Callable[[Any, str], Awaitable[Response]] = answer
        ) -> Response:
            return await answer(body, client)

        _add_endpoint(app, engine, access, path, body_type, endpoint)

    @app.get("/playground/about")
    async def about(request: Request) -> dict[str, Any]:
        access.client(request.headers.get("authorization"), _address(request))
        return playground.about()

    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return page("index.html")

    @app.get("/playground/files/{name}", include_in_schema=False)
    async def file(name: str) -> Response:
        return page(name)


def _add_endpoint(
    app: FastAPI,
    engine: Engine,
    access: Access,
    path: str,
    body_type: type[_Body],
    endpoint: Callable[[Engine, _Body, str], Awaitable[Response]],
) -> None:
    schema = {"content": {"application/json": {"schema": body_type.model_json_schema()}}, "required": True}

    @app.post(path, openapi_extra={"requestBody": schema})
    async def answer(request: Request) -> Response:
        client = access.client(request.headers.get("authorization"), _address(request))
        access.spend(client)
        try:
            data = await request.body()
        except ClientDisconnect:
            return Response(status_code=499)  # nobody reads it
        try:
            body = body_type.model_validate_json(data)
        except ValidationError as error:
            raise from_validation(error, _parsed(data)) from None
        if len(data) <= _SHORT_BODY:
            refuse_ambiguous(data)
        else:
            await engine.run(lambda: refuse_ambiguous(data))
        _check_model(engine, getattr(body, "model", None))
        return await _while_connected(request, endpoint(engine, body, client))


async def _while_connected(request: Request, work: Awaitable[Response]) -> Response:
    """Return an answer, or stop making it when the client goes."""
    made = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnection(request))
    try:
        await asyncio.wait((made, gone), return_when=asyncio.FIRST_COMPLETED)
        if not made.done():
            return Response(status_code=499)  # nobody reads it
        return made.result()
    finally:
        gone.cancel()
        made.cancel()
        await asyncio.gather(gone, made, return_exceptions=True)


async def _disconnection(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _parsed(data: bytes) -> object:
    try:
        return from_json(data)
    except ValueError:
        return None


def _check_model(engine: Engine, name: str | None) -> None:
    if name is not None and name != engine.name:
        raise ApiError(
            404,
            f"there is no model {name[:80]!r}; this server has {engine.name!r}",
            param="model",
            code="model_not_found",
        )


def _add_models(app: FastAPI, engine: Engine, access: Access) -> None:
    created = now()

    def entry() -> dict[str, Any]:
        return {"id": engine.name, "object": "model", "created": created, "owned_by": "detent"}

    @app.get("/v1/models")
    async def models(request: Request) -> dict[str, Any]:
        access.client(request.headers.get("authorization"), _address(request))
        return {"object": "list", "data": [entry()]}

    @app.get("/api/tags")
    async def tags(request: Request) -> dict[str, Any]:
        access.client(request.headers.get("authorization"), _address(request))
        return model_list(engine)

    @app.get("/api/version")
    async def version() -> dict[str, str]:
        return {"version": __version__}

    @app.get("/v1/models/{name:path}")
    async def model(request: Request, name: str) -> dict[str, Any]:
        access.client(request.headers.get("authorization"), _address(request))
        _check_model(engine, name)
        return entry()


def _add_observation(app: FastAPI, engine: Engine) -> None:
    @app.get("/health")
    async def health() -> PlainTextResponse:
        return PlainTextResponse("ok")

    @app.get("/ready")
    async def ready() -> JSONResponse:
        is_full = engine.admission.queued >= engine.settings.max_queued
        return JSONResponse(
            {"running": engine.admission.running, "queued": engine.admission.queued}, 503 if is_full else 200
        )

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(engine.metrics.text(), media_type=engine.metrics.content_type)

    def report(path: str, status: int, seconds: float) -> None:
        engine.metrics.requests.labels(path, str(status)).inc()
        engine.metrics.seconds.labels(path).observe(seconds)
        log("request", path=path, status=status, seconds=round(seconds, 4))

    app.add_middleware(Observation, report=report)


def _add_errors(app: FastAPI) -> None:
    def answer(request: Request, error: ApiError) -> JSONResponse:
        is_ollama = request.url.path.startswith("/api/")
        body = {"error": error.message} if is_ollama else error.body()
        return JSONResponse(body, error.status, error.headers)

    @app.exception_handler(ApiError)
    async def api_error(request: Request, error: ApiError) -> JSONResponse:
        return answer(request, error)

    @app.exception_handler(DetentError)
    async def detent_error(request: Request, error: DetentError) -> JSONResponse:
        return answer(request, from_detent(error))

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code != 404:
            return answer(request, ApiError(error.status_code, str(error.detail)))
        message = f"{request.method} {request.url.path} is not served; /openapi.json lists what is"
        return answer(request, ApiError(404, message, code="not_found"))

    @app.exception_handler(Exception)
    async def other_error(request: Request, error: Exception) -> JSONResponse:
        log("request failed", level=logging.ERROR, error=error)
        return answer(request, ApiError(500, "the server failed; its log has the error", kind="server_error"))


def _address(request: Request) -> str:
    return request.client.host if request.client is not None else "unknown"
