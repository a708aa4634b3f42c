"""The command line: `hanyi COMMAND`."""

from __future__ import annotations

import dataclasses
import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from hanyi.errors import EXIT_FAULT, DataError, HanyiError, ParamsError
from hanyi.params import PARAMS_FILE, load_section

if TYPE_CHECKING:
    from hanyi.decoding.engine import SearchConfig
    from hanyi.translator import Translator

LINES_AT_ONCE = 512

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

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
    """Hanyi (汉译): use a trained translation model."""
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
        translator = _load(model, tokenizers, device)
        search = _search(beam_size)
        lines = iter(texts) if texts else _standard_input()
        # A person who types wants each answer at once; a file is faster in batches.
        count = 1 if not texts and sys.stdin.isatty() else LINES_AT_ONCE
        while batch := list(islice(lines, count)):
            for line in translator.translate(batch, search):
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
        translator = _load(model, tokenizers, device)
        found = translator.attention(text, _search(beam_size))
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


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Show a `HanyiError` as one line on standard error, and exit with 2."""
    try:
        yield
    except HanyiError as error:
        typer.echo(f"hanyi: error: {error}", err=True)
        raise typer.Exit(EXIT_FAULT) from None


def _load(model: Path, tokenizers: Path, device: str | None) -> Translator:
    from hanyi.corpus.cleaning.config import PrepareConfig
    from hanyi.translator import Translator

    if PARAMS_FILE.exists():
        rules = load_section("prepare", PrepareConfig).rules
        return Translator.load(model, tokenizers, device, rules)
    return Translator.load(model, tokenizers, device)


def _search(beam_size: int | None) -> SearchConfig:
    from hanyi.decoding.engine import DecodeConfig
    from hanyi.translator import SEARCH

    search = load_section("decode", DecodeConfig) if PARAMS_FILE.exists() else SEARCH
    beams = search.beam_size if beam_size is None else beam_size
    try:
        return dataclasses.replace(search, n_best=1, beam_size=beams)
    except ValueError as error:
        raise ParamsError("--beam-size", str(error), "a number of beams", "give one") from None


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
