"""The page at `/`, and what it asks to see inside a translation."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from hanyi.decoding.config import DecodeConfig, SearchConfig
from hanyi.errors import ParamsError
from hanyi.explain import compact, describe, explain, page
from hanyi.service.limits import USUAL
from hanyi.service.messages import ErrorAnswer, Message
from hanyi.translator import Translator

MOST_CHARS = 10_000
"""Characters of a sentence, at most; how many tokens it may have is the model's to say."""


class ExplainRequest(Message):
    """A sentence to look into."""

    text: str = Field(max_length=MOST_CHARS, examples=["我爱 00700"])
    beam_size: Annotated[
        int | None,
        Field(ge=1, le=USUAL.beams, description="Hypotheses side by side, as in /translate."),
    ] = None

    def search(self, config: DecodeConfig) -> SearchConfig:
        """Give the search; raise `ParamsError` for a beam that it cannot have."""
        if self.beam_size is None:
            return config
        try:
            n_best = min(config.n_best, self.beam_size)
            return replace(config, beam_size=self.beam_size, n_best=n_best)
        except ValueError as error:
            raise ParamsError("beam_size", str(error), "another beam", "change it") from None


def router(translator: Translator) -> APIRouter:
    """Give the routes of the page for a translator."""
    made = APIRouter(tags=["page"])
    document = page(describe(translator))

    @made.get("/", response_class=HTMLResponse, include_in_schema=False)
    def root() -> HTMLResponse:
        """Show the page."""
        return HTMLResponse(document)

    refused = {"model": ErrorAnswer, "description": "No single sentence, or an unknown value."}

    @made.post("/explain", response_model=dict[str, Any], responses={422: refused})
    def look(asked: ExplainRequest) -> Response:
        """Give what the model does with a sentence.

        Tokens, attention of every layer and head, the probability of each token with the likeliest
        others, the hypotheses of the beam and the tree of the search.
        """
        found = explain(translator, asked.text, asked.search(translator.config))
        # As it is: to check a hundred thousand numbers takes longer than to find them.
        return Response(compact(found), media_type="application/json")

    return made
