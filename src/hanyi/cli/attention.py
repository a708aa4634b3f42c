"""`hanyi attention`: cross-attention as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hanyi.cli.options import (
    MODEL,
    BeamOption,
    DeviceOption,
    ModelOption,
    TokenizersOption,
    load_translator,
)
from hanyi.cli.terminal import one_line_errors
from hanyi.errors import ParamsError


def attention(
    *,
    text: Annotated[str, typer.Argument(help="One sentence.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture: .png, .svg or .pdf.")],
    layer: Annotated[int, typer.Option(help="Decoder layer, 1 the first; 0: the last.")] = 0,
    model: ModelOption = MODEL,
    tokenizers: TokenizersOption = None,
    device: DeviceOption = None,
    beam_size: BeamOption = None,
) -> None:
    """Draw where each head of the decoder looked in the source while it translated."""
    with one_line_errors():
        from hanyi.pictures.attention import draw_attention
        from hanyi.pictures.saving import FORMATS

        if output.suffix not in FORMATS:
            raise ParamsError(
                "--output", f"{output}", f"a name ending in {', '.join(FORMATS)}", "rename it"
            )
        translator = load_translator(model, tokenizers, device, beam_size)
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
