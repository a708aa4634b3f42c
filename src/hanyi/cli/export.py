"""`hanyi export`: the model in the formats of other toolkits, or as one folder of its own."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from hanyi.cli.options import MODEL, ModelOption, TokenizersOption
from hanyi.cli.terminal import one_line_errors
from hanyi.errors import ParamsError

if TYPE_CHECKING:
    from hanyi.translator import Translator

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)

OutputOption = Annotated[Path, typer.Option("--output", "-o", help="New folder.")]


@app.callback()
def main() -> None:
    """Write a trained model in the format of another toolkit, verified, or as a bundle."""


@app.command()
def ctranslate2(
    *,
    output: OutputOption,
    weights: Annotated[
        str, typer.Option(help="float32, int8, float16 or bfloat16; smaller ones lose a little.")
    ] = "float32",
    rows: Annotated[
        Optional[int],  # noqa: UP045  typer reads annotations at run time
        typer.Option(min=1, help="Test rows, drawn, to verify with; all unless given."),
    ] = None,
    verify: Annotated[bool, typer.Option(help="Translate the test split with both.")] = True,
    model: ModelOption = MODEL,
    tokenizers: TokenizersOption = None,
) -> None:
    """Write the model for CTranslate2, and compare its translations with ours."""
    with one_line_errors():
        from hanyi.export.ctranslate2 import TYPES, export_ctranslate2
        from hanyi.export.verification import SPLIT, verify_ctranslate2

        if weights not in TYPES:
            raise ParamsError("--weights", weights, f"one of {', '.join(TYPES)}", "choose one")
        translator = _load(model, tokenizers)
        export_ctranslate2(translator, output, weights)
        typer.echo(f"{output}: written")
        split = translator.folder.home / SPLIT
        if not verify:
            return
        if not split.exists():
            typer.echo(f"{output}: not verified, for there is no {split}", err=True)
            return
        found = verify_ctranslate2(translator, output, split, rows)
        found.write(output)
        scores = ", ".join(
            f"{name} {ours:.2f} (ours) {export:.2f} (export)"
            for name, (ours, export) in found.scores.items()
        )
        same = f"{found.equal:,} of {found.rows:,} translations are the same"
        typer.echo(f"{output}: {same}; {scores}; computed in {found.compute_type}")
        found.require_close(output)


@app.command()
def marian(
    *, output: OutputOption, model: ModelOption = MODEL, tokenizers: TokenizersOption = None
) -> None:
    """Write the model as Hugging Face's MarianMTModel, if that class computes it exactly."""
    with one_line_errors():
        from hanyi.export.marian import export_marian
        from hanyi.export.verification import verify_marian

        translator = _load(model, tokenizers)
        export_marian(translator, output)
        typer.echo(f"{output}: written")
        try:
            apart = verify_marian(translator, output)
        except ImportError:
            typer.echo(f"{output}: not verified, for transformers is not installed", err=True)
            return
        typer.echo(f"{output}: logits differ from ours by {apart:.1g} at most")


@app.command()
def bundle(
    *, output: OutputOption, model: ModelOption = MODEL, tokenizers: TokenizersOption = None
) -> None:
    """Put all that translating needs into one folder: what --model takes anywhere."""
    with one_line_errors():
        from hanyi.card import card_of
        from hanyi.export.bundle import write_bundle
        from hanyi.translator import find_model

        folder = find_model(model, tokenizers)
        write_bundle(folder, output, card_of(folder))
        typer.echo(f"{output}: written")


def _load(model: str, tokenizers: Path | None) -> Translator:
    """Open the model by itself, in full precision."""
    from hanyi.translator import Translator, best_only, find_model, read_settings

    folder = find_model(model, tokenizers)
    config = best_only(read_settings(folder.params).config)
    config = dataclasses.replace(config, engine="torch", quantization="none")
    return Translator.load(folder, device="cpu", config=config)
