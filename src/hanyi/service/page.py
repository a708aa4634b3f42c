"""The page at `/`, and what it asks to see inside a translation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from hanyi.decoding.config import DecodeConfig, SearchConfig
from hanyi.errors import ParamsError
from hanyi.explain import compact, describe, explain, page
from hanyi.service.limits import Limits
from hanyi.service.messages import ErrorAnswer, Message, check_beams, check_chars
from hanyi.service.work import Service


class ExplainRequest(Message):
    """A sentence to look into."""

    text: str = Field(examples=["我爱 00700"])
    beam_size: int | None = Field(
        None, ge=1, description="Hypotheses side by side, as in /translate."
    )

    def check(self, limits: Limits) -> None:
        """Raise `RefusedError` for what is over a limit."""
        check_chars([self.text], limits)
        check_beams("beam_size", self.beam_size, limits)

    def search(self, config: DecodeConfig) -> SearchConfig:
        """Give the search; raise `ParamsError` for a beam that it cannot have."""
        if self.beam_size is None:
            return config
        try:
            n_best = min(config.n_best, self.beam_size)
            return replace(config, beam_size=self.beam_size, n_best=n_best)
        except ValueError as error:
            raise ParamsError("beam_size", str(error), "another beam", "change it") from None


def router(service: Service) -> APIRouter:
    """Give the routes of the page of a service."""
    made = APIRouter(tags=["page"])
    translator, limits = service.translator, service.limits
    document = page({**describe(translator), "most_beams": limits.beams})

    @made.get("/", response_class=HTMLResponse, include_in_schema=False)
    def root() -> HTMLResponse:
        """Show the page."""
        return HTMLResponse(document)

    refused = {"model": ErrorAnswer, "description": "No single sentence, or an unknown value."}

    @made.post("/explain", response_model=dict[str, Any], responses={422: refused})
    async def look(asked: ExplainRequest, request: Request) -> Response:
        """Give what the model does with a sentence.

        Tokens, attention of every layer and head, the probability of each token with the likeliest
        others, the hypotheses of the beam and the tree of the search.
        """
        asked.check(limits)
        search = asked.search(translator.config)
        # As it is: to check a hundred thousand numbers takes longer than to find them.
        found = await service.alone(
            lambda: compact(explain(translator, asked.text, search)).encode(), request
        )
        return Response(found, media_type="application/json")

    return made
