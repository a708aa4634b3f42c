"""`hanyi translate`: one line out for each line in."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Optional

import typer

from hanyi.cli.options import (
    MODEL,
    BeamOption,
    DeviceOption,
    ModelOption,
    TokenizersOption,
    load_translator,
)
from hanyi.cli.rows.columns import Wanted
from hanyi.cli.rows.feeding import Feed
from hanyi.cli.rows.writing import open_output, write_all, write_streams
from hanyi.cli.terminal import one_line_errors
from hanyi.errors import ParamsError

if TYPE_CHECKING:
    from hanyi.progress import Advance


def translate(
    *,
    texts: Annotated[
        Optional[list[str]],  # noqa: UP045  typer reads annotations at run time
        typer.Argument(
            metavar="[TEXT]...",
            help="Texts; unless given, lines of --input or standard input; on a terminal a prompt.",
        ),
    ] = None,
    inputs: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option("--input", "-i", help="File of lines, - for standard input; may be repeated."),
    ] = None,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--output", "-o", help="File to write, whole or not at all."),
    ] = None,
    kind: Annotated[
        str, typer.Option("--format", help="Of lines: auto (by suffix), plain, tsv or jsonl.")
    ] = "auto",
    column: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="Text of a line: number (from 0) or name in TSV, key in JSON Lines. "
            "0 and `text` unless given."
        ),
    ] = None,
    header: Annotated[
        bool, typer.Option("--header", help="The first line of TSV names the columns.")
    ] = False,
    into: Annotated[
        str, typer.Option(help="Key of the translation, and name of its column.")
    ] = "translation",
    n_best: Annotated[int, typer.Option("--n-best", help="Translations of each text.")] = 1,
    scores: Annotated[
        bool, typer.Option("--scores", help="Log probability (nats) and score, too.")
    ] = False,
    alignments: Annotated[
        bool, typer.Option("--alignments", help="Pairs of tokens, source-target, by attention.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="An object for each line, with scores and tokens.")
    ] = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="Print tokens as they come; greedy search.")
    ] = False,
    model: ModelOption = MODEL,
    tokenizers: TokenizersOption = None,
    device: DeviceOption = None,
    beams: BeamOption = None,
) -> None:
    """Translate texts: one line out for each line in."""
    with one_line_errors():
        if n_best < 1:
            raise ParamsError("--n-best", f"{n_best}", "1 or more", "give another number")
        wanted = Wanted(n_best, scores, alignments, as_json, into)
        feed = Feed(texts or [], inputs or [], kind, column, wanted, header=header)
        if stream:
            _check_stream(wanted, plain=feed.plain, beams=beams)
        translator = load_translator(model, tokenizers, device, beams, n_best)
        pair = translator.languages
        with open_output(output) as out:
            rows = feed.rows(f"{pair.src}-{pair.tgt}" if pair else "text")
            if stream:
                write_streams(translator, rows, wanted, out)
                return
            with _progress(feed, out) as advance:
                write_all(translator, rows, wanted, out, advance)


def _progress(feed: Feed, out: BinaryIO) -> AbstractContextManager[Advance]:
    """Show how far it is, unless the translations themselves do, or nobody looks."""
    from hanyi.progress import on_terminal, progress  # rich takes a while

    if not feed.sources or out.isatty() or not on_terminal():
        return nullcontext(lambda _done: None)
    return progress("translate", feed.total(), "lines")


def _check_stream(wanted: Wanted, *, plain: bool, beams: int | None) -> None:
    options = {
        "--n-best": wanted.n_best > 1,
        "--alignments": wanted.alignments,
        "--json": wanted.json,
        "--beams": beams not in {None, 1},
        "--format": not plain,
    }
    if others := [name for name, on in options.items() if on]:
        raise ParamsError(
            "--stream",
            f"{', '.join(others)} with it",
            "plain text, written as greedy search goes on",
            "leave one of them off",
        )
