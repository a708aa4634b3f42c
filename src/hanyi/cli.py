"""The command line: `hanyi COMMAND`."""

from __future__ import annotations

import dataclasses
import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from hanyi.errors import EXIT_FAULT, DataError, HanyiError, ParamsError
from hanyi.params import PARAMS_FILE, load_section
from hanyi.training.state import state_root

if TYPE_CHECKING:
    from hanyi.translator import Translator

LINES_AT_ONCE = 512

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
runs_app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.add_typer(runs_app, name="runs")

ModelOption = Annotated[Path, typer.Option("--model", help="Directory of the trained model.")]
TokenizersOption = Annotated[Path, typer.Option("--tokenizers", help="Directory of tokenizers.")]
DeviceOption = Annotated[
    Optional[str],  # noqa: UP045  typer reads annotations at run time
    typer.Option("--device", help="cpu, cuda or cuda:N; picked by itself unless given."),
]
BeamOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--beam-size", help="Beams; 1 is greedy. As in params.yaml unless given."),
]
MODEL = Path("models/transformer")
TOKENIZERS = Path("models/tokenizers")


@app.callback()
def main() -> None:
    """Hanyi (汉译): use a trained translation model; see to trainings that were interrupted."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING, stream=sys.stderr, force=True)


@app.command()
def translate(
    texts: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="[TEXT]...", help="Texts; lines of standard input unless given."),
    ] = None,
    model: ModelOption = MODEL,
    tokenizers: TokenizersOption = TOKENIZERS,
    device: DeviceOption = None,
    beam_size: BeamOption = None,
) -> None:
    """Translate texts: one line out for each line in."""
    with one_line_errors():
        translator = _load(model, tokenizers, device, beam_size)
        lines = iter(texts) if texts else _standard_input()
        # A person who types wants each answer at once; a file is faster in batches.
        count = 1 if not texts and sys.stdin.isatty() else LINES_AT_ONCE
        while batch := list(islice(lines, count)):
            for line in translator.translate(batch):
                typer.echo(" ".join(line.split()))


@app.command()
def attention(
    *,
    text: Annotated[str, typer.Argument(help="One sentence.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture: .png, .svg or .pdf.")],
    layer: Annotated[int, typer.Option(help="Decoder layer, 1 the first; 0: the last.")] = 0,
    model: ModelOption = MODEL,
    tokenizers: TokenizersOption = TOKENIZERS,
    device: DeviceOption = None,
    beam_size: BeamOption = None,
) -> None:
    """Draw where each head of the decoder looked in the source while it translated."""
    with one_line_errors():
        from hanyi.pictures import FORMATS, draw_attention

        if output.suffix not in FORMATS:
            raise ParamsError(
                "--output", f"{output}", f"a name ending in {', '.join(FORMATS)}", "rename it"
            )
        translator = _load(model, tokenizers, device, beam_size)
        found = translator.attention(text)
        layers = len(found.weights)
        if not 0 <= layer <= layers:
            raise ParamsError("--layer", f"{layer}", f"1 to {layers}, or 0", "choose one of them")
        draw_attention(
            output,
            found.weights[layer - 1].numpy(),
            rows=list(zip(found.tgt_ids, translator.tgt.tokens(found.tgt_ids), strict=True)),
            columns=list(zip(found.src_ids, translator.src.tokens(found.src_ids), strict=True)),
        )
        typer.echo(translator.tgt.decode(found.tgt_ids))


@runs_app.callback(invoke_without_command=True)
def list_all(context: typer.Context) -> None:
    """List the saved states of trainings whose model is not published yet, the newest first."""
    if context.invoked_subcommand is not None:
        return
    with one_line_errors():
        from hanyi.runs import COLUMNS, list_runs

        found = list_runs(state_root())
        if found:
            _table([COLUMNS, *(run.row() for run in found)])
        else:
            typer.echo(f"{state_root()}: no training was interrupted", err=True)


@runs_app.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Beginning of its name.")],
) -> None:
    """Show what a run trains, and its validations."""
    with one_line_errors():
        from hanyi.runs import COLUMNS, find_run, history, list_runs, settings

        found = find_run(list_runs(state_root()), run)
        _table([COLUMNS, found.row()])
        _table([("setting", "value"), *settings(found)])
        if found.newest and found.newest.history:
            _table(history(found))


@runs_app.command()
def prune(
    runs: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="[RUN]...", help="Beginnings of their names."),
    ] = None,
    *,
    older_than: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(metavar="DAYS", help="Only what was saved longer ago."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All runs.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove saved states for good; one that is being trained stays."""
    with one_line_errors():
        from hanyi.runs import COLUMNS, choose, list_runs, remove

        chosen = choose(list_runs(state_root()), runs or [], older_than, everything)
        idle = [run for run in chosen if not run.in_use]
        for run in chosen:
            if run.in_use:
                typer.echo(f"{run.name}: is training now and stays", err=True)
        if not idle:
            typer.echo("nothing to remove", err=True)
            return
        _table([COLUMNS, *(run.row() for run in idle)])
        if not yes:
            typer.confirm(f"Remove {len(idle)} for good?", abort=True, err=True)
        for run in idle:
            if not remove(run):
                typer.echo(f"{run.name}: is training now and stays", err=True)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Show a `HanyiError` as one line on standard error, and exit with 2."""
    try:
        yield
    except HanyiError as error:
        typer.echo(f"hanyi: error: {error}", err=True)
        raise typer.Exit(EXIT_FAULT) from None


def _on_terminal() -> bool:
    return sys.stdout.isatty()


def _table(rows: Sequence[Sequence[str]]) -> None:
    """Show a table whose first row is its header; columns parted by tabs unless on a terminal."""
    if not _on_terminal():
        for row in rows:
            typer.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*rows[0])
    for row in rows[1:]:
        table.add_row(*(escape(cell) for cell in row))
    Console().print(table)


def _load(model: Path, tokenizers: Path, device: str | None, beam_size: int | None) -> Translator:
    """Open a translator by params.yaml, where there is one."""
    from hanyi.corpus.cleaning.config import PrepareConfig
    from hanyi.decoding.config import DecodeConfig
    from hanyi.translator import OUTSIDE, REPAIRS, Translator

    inside = PARAMS_FILE.exists()
    rules = load_section("prepare", PrepareConfig).rules if inside else REPAIRS
    config = load_section("decode", DecodeConfig) if inside else OUTSIDE
    beams = config.beam_size if beam_size is None else beam_size
    needed = config.method == "sample" or config.choose != "likeliest"
    n_best = config.n_best if needed else 1
    try:
        config = dataclasses.replace(config, n_best=n_best, beam_size=beams)
    except ValueError as error:
        raise ParamsError("--beam-size", str(error), "a number of beams", "give one") from None
    return Translator.load(model, tokenizers, device, rules, config)


def _standard_input() -> Iterator[str]:
    lines: Iterable[str] = typer.get_text_stream("stdin", encoding="utf-8-sig", errors="strict")
    read = 0
    try:
        for line in lines:
            yield line
            read += 1
    except UnicodeDecodeError as error:
        raise DataError(
            f"standard input, after line {read}", str(error), "UTF-8", "convert it"
        ) from None
