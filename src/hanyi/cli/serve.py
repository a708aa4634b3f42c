"""`hanyi serve`: the model over HTTP."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from hanyi.cli.options import MODEL, DeviceOption, ModelOption, TokenizersOption, load_translator
from hanyi.cli.terminal import one_line_errors
from hanyi.errors import ParamsError
from hanyi.service.limits import USUAL, Limits

OPTIONS = {
    "texts": "--max-texts",
    "chars": "--max-chars",
    "body_bytes": "--max-body",
    "beams": "--max-beams",
    "queue_texts": "--queue",
    "streams": "--streams",
    "batch_texts": "--batch",
    "gather_seconds": "--gather",
    "timeout_seconds": "--timeout",
    "grace_seconds": "--grace",
}
"""The option of each limit."""


def serve(
    *,
    model: ModelOption = MODEL,
    tokenizers: TokenizersOption = None,
    host: Annotated[
        str,
        typer.Option(help="Address; others than this machine's own are open to all who reach it."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 8000,
    device: DeviceOption = None,
    max_texts: Annotated[int, typer.Option(help="Texts of a request.")] = USUAL.texts,
    max_chars: Annotated[
        int, typer.Option(help="Characters of a request's texts together.")
    ] = USUAL.chars,
    max_body: Annotated[int, typer.Option(help="Bytes of a request.")] = USUAL.body_bytes,
    max_beams: Annotated[int, typer.Option(help="Beams that a request may ask for.")] = USUAL.beams,
    queue: Annotated[
        int, typer.Option(help="Texts that wait; more are refused with 429.")
    ] = USUAL.queue_texts,
    streams: Annotated[int, typer.Option(help="Streams and explanations at once.")] = USUAL.streams,
    batch: Annotated[
        int, typer.Option(help="Texts that the model takes at once; 1: one by one.")
    ] = USUAL.batch_texts,
    gather: Annotated[
        float, typer.Option(help="Seconds that an idle model waits for more texts.")
    ] = USUAL.gather_seconds,
    timeout: Annotated[float, typer.Option(help="Seconds for an answer.")] = USUAL.timeout_seconds,
    grace: Annotated[
        float, typer.Option(help="Seconds to end what has begun, when stopped.")
    ] = USUAL.grace_seconds,
) -> None:
    """Serve a model over HTTP, with a page to try it on; Ctrl-C or SIGTERM stops in good order."""
    with one_line_errors():
        try:
            limits = Limits(
                texts=max_texts,
                chars=max_chars,
                body_bytes=max_body,
                beams=max_beams,
                queue_texts=queue,
                streams=streams,
                batch_texts=batch,
                gather_seconds=gather,
                timeout_seconds=timeout,
                grace_seconds=grace,
            )
        except ValueError as error:
            raise ParamsError(
                "limits", _named(str(error)), "what goes together", "change it"
            ) from None
        from hanyi.service.server import is_loopback, listen, run, url_of

        with listen(host, port) as taken:  # first, since all else takes longer
            from hanyi.service.app import create_app

            app = create_app(load_translator(model, tokenizers, device), limits)
            health = app.state.service.health()
            url = url_of(taken)
            if not is_loopback(taken):
                typer.echo(f"warning: {url} is open to all who reach this machine", err=True)
            pair = f"{health.languages.src or '?'} to {health.languages.tgt or '?'}"
            typer.echo(
                f"{url}: {pair}, {model}, engine {health.model.engine}; {url}/docs",
                err=True,
            )
            run(app, taken)


def _named(message: str) -> str:
    """Name the options, not the fields."""
    for field, option in OPTIONS.items():
        message = re.sub(rf"\b{field}\b", option, message)
    return message
