"""The application: its routes, and what stands before and behind them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Body, FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import Receive, Scope, Send

from hanyi import __version__
from hanyi.service import page
from hanyi.service.faults import catch_all, error_body, message_of, status_of
from hanyi.service.gate import Gate
from hanyi.service.limits import Limits
from hanyi.service.messages import ErrorAnswer, HealthAnswer, TranslateAnswer, TranslateRequest
from hanyi.service.reference import reference_page
from hanyi.service.streams import Piece
from hanyi.service.work import Service, is_done
from hanyi.translator import Translator

EVENTS = "text/event-stream"
UNBUFFERED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # by proxies
EXAMPLES: dict[str, Any] = {
    "one": {"summary": "One text", "value": {"text": "我爱 00700"}},
    "several": {
        "summary": "Several, with the two best and their scores",
        "value": {"text": ["你好吗？", "他们很好。"], "n_best": 2, "scores": True},
    },
    "stream": {"summary": "As it is written", "value": {"text": "我爱 00700", "stream": True}},
}
MEANINGS = {
    400: "The body is no JSON.",
    408: "The body came too slowly.",
    413: "The body, or the texts together, are too long.",
    415: "The body is not sent as `application/json`.",
    422: "A value is unknown, of a wrong type, over its limit, or nothing this model can do.",
    429: "Too many wait. `Retry-After` says in how many seconds to try again.",
    500: "A bug; the log of the service tells more.",
    503: "The service stops, or had no time for the request. `Retry-After` as above.",
    504: "The translation takes too long.",
}


def create_app(translator: Translator, limits: Limits) -> FastAPI:
    """Make the application for one model, which it keeps for as long as it runs."""
    service = Service(translator, limits)
    off: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
    app = FastAPI(
        title="Hanyi",
        version=__version__,
        description="Translates with one trained model.",
        docs_url=None,  # FastAPI's own page loads its script from a network
        redoc_url=None,
        telemetry=off,
        lifespan=service.lifespan,
    )
    app.state.service = service
    catch_all(app)
    app.include_router(_translating(service))
    app.include_router(_looking(service, app))
    app.include_router(page.router(service), responses=_errors(*MEANINGS))
    paths = {"/translate", "/explain", "/health", "/metrics", "/docs", "/openapi.json", "/"}
    app.add_middleware(Gate, service=service, paths=paths)
    return app


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": ErrorAnswer, "description": MEANINGS[status]} for status in statuses}


def _translating(service: Service) -> APIRouter:
    router = APIRouter(tags=["translate"])
    described = {"description": "The translations; with `stream`, events.", "content": {EVENTS: {}}}

    @router.post(
        "/translate",
        response_model=TranslateAnswer,
        response_model_exclude_none=True,
        responses={200: described, **_errors(*MEANINGS)},
    )
    async def translate(
        request: Request,
        asked: TranslateRequest = Body(openapi_examples=EXAMPLES),  # noqa: B008  FastAPI's manner
    ) -> Response:
        """Translate one text or several.

        Texts of many requests are translated together, which changes no translation.
        With `stream` the answer is a stream of server-sent events: `data: {"text": ...}` for each
        piece of the greedy translation, then the event `done` with the whole answer, or `error`
        with an error.
        """
        if asked.stream:
            return await _begin(service, asked, request)
        found = await service.translate(asked, request)
        return Response(found.model_dump_json(exclude_none=True), media_type="application/json")

    return router


def _looking(service: Service, app: FastAPI) -> APIRouter:
    router = APIRouter(tags=["service"])

    @router.get(
        "/health",
        response_model=HealthAnswer,
        responses={503: {"model": HealthAnswer, "description": "It stops."}},
    )
    async def health() -> Response:
        """Tell whether the service takes requests, and what it serves."""
        found = service.health()
        return JSONResponse(found.model_dump(), 200 if found.ready else 503)

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"description": "Prometheus' text format.", "content": {"text/plain": {}}}},
    )
    async def metrics() -> Response:
        """Give counters: requests, times, batches, the queue, what was refused."""
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    @router.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        """Show what there is, as a page without scripts."""
        return HTMLResponse(reference_page(app.openapi()))

    return router


async def _begin(service: Service, asked: TranslateRequest, request: Request) -> Response:
    """Wait for the first event: what fails before it still has a status of its own."""
    asked.check(service.limits)
    events = _events(service, asked)
    first = asyncio.ensure_future(anext(events))
    try:
        await is_done(first, request)
        return EventStream(first.result(), events)
    finally:
        first.cancel()


class EventStream(StreamingResponse):
    """Server-sent events, whose source is closed when the client goes."""

    def __init__(self, first: str, events: AsyncGenerator[str, None]) -> None:
        super().__init__(_chain(first, events), headers=UNBUFFERED, media_type=EVENTS)
        self.events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what comes."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self.events.aclose()


async def _chain(first: str, events: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for event in events:
        yield event


async def _events(service: Service, asked: TranslateRequest) -> AsyncGenerator[str, None]:
    written = False
    with service.streams.place():
        async with aclosing(service.follow(asked.texts[0])) as pieces:
            async for piece in pieces:
                if isinstance(piece, Exception) and not written:
                    raise piece
                written = True
                yield _event(service, asked, piece)


def _event(service: Service, asked: TranslateRequest, piece: Piece) -> str:
    if isinstance(piece, str):
        return f"data: {json.dumps({'text': piece}, ensure_ascii=False)}\n\n"
    if isinstance(piece, Exception):
        shown = json.dumps(error_body(status_of(piece), message_of(piece)), ensure_ascii=False)
        return f"event: error\ndata: {shown}\n\n"
    done = service.answer([piece], asked).model_dump_json(exclude_none=True)
    return f"event: done\ndata: {done}\n\n"
