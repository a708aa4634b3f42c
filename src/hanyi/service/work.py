"""What the service does with a request: it hands the texts to the model and watches the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import FastAPI, Request

from hanyi import __version__
from hanyi.service.batching import Batcher, Options
from hanyi.service.faults import Gone, RefusedError
from hanyi.service.limits import Limits
from hanyi.service.messages import (
    HealthAnswer,
    Model,
    Pair,
    TranslateAnswer,
    TranslateRequest,
    translation,
)
from hanyi.service.metrics import Metrics
from hanyi.service.streams import Piece, Streams
from hanyi.translator import Result, Translator

T = TypeVar("T")


class Service:
    """One model in memory, and all who ask it."""

    def __init__(self, translator: Translator, limits: Limits) -> None:
        self.translator = translator
        self.limits = limits
        self.metrics = Metrics()
        self.stopping = False
        self.active = 0  # requests that are being answered
        self.digest = translator.described.weights
        workers = _workers(translator)
        self.streams = Streams(limits.streams, workers)
        self.batcher = Batcher(
            self._translate,
            lambda text: len(translator.src.encode(text)),
            limits,
            self.metrics,
            tokens=translator.config.batch_tokens,
            workers=workers,
        )
        self._show()

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Work while the application runs."""
        self.stopping = False
        self.batcher.start()
        self.streams.start()
        try:
            yield
        finally:
            self.stopping = True
            await asyncio.to_thread(self.batcher.close)
            self.streams.close()

    async def translate(self, asked: TranslateRequest, request: Request) -> TranslateAnswer:
        """Translate the texts of a request.

        Raises `RefusedError` when there is no place or no time, and `Gone` when nobody waits.
        """
        asked.check(self.limits)
        options = Options(asked.search(self.translator.config), asked.alignment)
        results = await self._results(asked.texts, options, request)
        return self.answer(results, asked)

    def follow(self, text: str) -> AsyncGenerator[Piece, None]:
        """Give a text's greedy translation as it is written."""
        seconds = self.limits.timeout_seconds
        return self.streams.follow(lambda: self.translator.stream(text), seconds)

    async def alone(self, work: Callable[[], T], request: Request) -> T:
        """Do what cannot be batched when a thread of the streams is free.

        Raises `RefusedError` when there is no place or no time, and `Gone` when nobody waits.
        """
        with self.streams.place():
            begun = self.streams.begin(work)
            done = asyncio.wrap_future(begun)
            try:
                if await is_done(done, request, self.limits.timeout_seconds):
                    return done.result()
                raise self._late(begun=begun.running())
            finally:
                begun.cancel()

    def answer(self, results: Sequence[Result], asked: TranslateRequest) -> TranslateAnswer:
        """Give what a request asked for."""
        translations = [translation(result, asked) for result in results]
        return TranslateAnswer(model=self.digest, translations=translations)

    def health(self) -> HealthAnswer:
        """Tell how the service is and what it serves."""
        translator = self.translator
        languages = translator.languages
        return HealthAnswer(
            live=True,
            ready=not self.stopping and self.batcher.alive,
            version=__version__,
            languages=Pair(
                src=languages.src if languages else None, tgt=languages.tgt if languages else None
            ),
            model=Model(
                digest=self.digest,
                engine=translator.name,
                device=str(next(translator.model.parameters()).device),
                max_tokens=translator.max_tokens,
                beam_size=translator.config.beam_size,
            ),
        )

    async def _results(
        self, texts: Sequence[str], options: Options, request: Request
    ) -> list[Result]:
        ticket = self.batcher.submit(texts, options)
        done = asyncio.wrap_future(ticket.future)
        try:
            if await is_done(done, request, self.limits.timeout_seconds):
                return done.result()
            raise self._late(begun=ticket.begun)
        finally:
            self.batcher.drop(ticket)

    def _late(self, *, begun: bool) -> RefusedError:
        found = f"over {self.limits.timeout_seconds:g} seconds"
        if begun:
            return RefusedError(504, "translation", found, "less", "send less text at once")
        wait = self.batcher.patience()
        return RefusedError(503, "queue", found, "less", "try again later", retry_after=wait)

    def _translate(
        self, texts: Sequence[str], options: Options, numbers: Sequence[int]
    ) -> list[Result]:
        return self.translator.translate(
            texts, options.search, alignment=options.alignment, numbers=numbers
        )

    def _show(self) -> None:
        gauge = self.metrics.gauge
        gauge("hanyi_queue_texts", "Texts that wait for the model.", lambda: self.batcher.depth)
        gauge("hanyi_requests_active", "Requests being answered.", lambda: self.active)
        gauge("hanyi_streams_active", "Streams and explanations.", lambda: self.streams.taken)
        gauge("hanyi_ready", "1: takes requests.", lambda: float(self.health().ready))
        self.metrics.describe(version=__version__, digest=self.digest, engine=self.translator.name)


async def is_done(
    future: asyncio.Future[Any], request: Request, seconds: float | None = None
) -> bool:
    """Wait for a future, and tell whether it came in time; raise `Gone` when the client goes."""
    gone = asyncio.ensure_future(_gone(request))
    either: set[asyncio.Future[Any]] = {future, gone}
    try:
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if gone.done() and not future.done():
            raise Gone
    finally:
        gone.cancel()
    return future.done()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _workers(translator: Translator) -> int:
    """Give how many batches the engine translates side by side.

    Ours uses all cores for one; CTranslate2 has workers of one thread.
    """
    return int(getattr(translator.engine.engine, "workers", 1))
