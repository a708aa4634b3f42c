"""Options that several commands have, and the translator that they ask for."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from hanyi.errors import ParamsError

if TYPE_CHECKING:
    from hanyi.translator import Translator

ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        help="Directory of a model, a bundle or a project; a git revision or DVC experiment; "
        "or a URI of MLflow such as models:/hanyi@champion.",
    ),
]
TokenizersOption = Annotated[
    Optional[Path],  # noqa: UP045  typer reads annotations at run time
    typer.Option("--tokenizers", help="Directory of the tokenizers; found by itself unless given."),
]
DeviceOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--device", help="cpu, cuda or cuda:N; picked by itself unless given."),
]
BeamOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--beams", "--beam-size", help="Beams; 1 is greedy. As in params.yaml unless given."
    ),
]
MODEL = "."


@contextmanager
def _without_collection() -> Iterator[None]:
    """Look for no garbage among what is imported and loaded, now and at the end: half a second."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@_without_collection()
def load_translator(
    model: str,
    tokenizers: Path | None = None,
    device: str | None = None,
    beams: int | None = None,
    n_best: int = 1,
) -> Translator:
    """Open a translator by the model's params.yaml, where there is one."""
    from hanyi.translator import Translator, best_only, find_model

    folder = find_model(model, tokenizers)
    config = best_only(folder.settings.config)
    try:
        config = dataclasses.replace(
            config,
            beam_size=config.beam_size if beams is None else beams,
            n_best=max(config.n_best, n_best),
        )
    except ValueError as error:
        where, remedy = ("--beams", "give another number")
        if n_best > 1:
            where, remedy = "--n-best", f"give --beams {n_best} or more, too"
        raise ParamsError(where, str(error), "what a search can do", remedy) from None
    return Translator.load(folder, device=device, config=config)
