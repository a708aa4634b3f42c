"""A bundle: all that translating needs, in one folder that can be carried anywhere.

It holds `transformer/`, `tokenizers/`, the parameters that translating reads, and the model card.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hanyi.artifacts import atomic_directory, digest_bytes, digest_file, write_text
from hanyi.corpus.cleaning.config import PrepareConfig
from hanyi.decoding.config import DecodeConfig
from hanyi.errors import ArtifactError, ParamsError
from hanyi.export.placing import require_room
from hanyi.languages import Languages
from hanyi.model.storage import DESCRIPTION, WEIGHTS, read_description
from hanyi.params import load_section, read_params
from hanyi.plain_yaml import plain_yaml
from hanyi.tokens.bpe import Tokenizer

if TYPE_CHECKING:
    from hanyi.translator import ModelFolder

MODEL = "transformer"
TOKENIZERS = "tokenizers"
PARAMS = "params.yaml"
CARD = "README.md"
CONTENTS = {MODEL, TOKENIZERS, PARAMS, CARD}

USED: dict[str, type] = {
    "languages": Languages,
    "prepare": PrepareConfig,
    "decode": DecodeConfig,
}
"""The sections of params.yaml that translating reads: repairs of an input, and the search."""

MEANT = (
    f"{MODEL}/{DESCRIPTION}",
    f"{MODEL}/{WEIGHTS}",
    f"{TOKENIZERS}/src.json",
    f"{TOKENIZERS}/tgt.json",
    PARAMS,
)
"""The files that decide how a text is translated."""


def write_bundle(folder: ModelFolder, target: Path, card: str) -> None:
    """Publish a model with its tokenizers, parameters and card, whole or not at all.

    Equal inputs give equal bytes. Raises `ArtifactError` when files are missing or do not belong
    together, or when `target` holds something else; `ParamsError` for a model that is more than one
    (`decode.ensemble`).
    """
    params = _used_params(folder.params)
    _require_whole(folder.model, folder.tokenizers)
    require_room(target, f"{MODEL}/{DESCRIPTION}", CONTENTS)
    with atomic_directory(target) as made:
        for name in (DESCRIPTION, WEIGHTS):
            _copy(folder.model / name, made / MODEL / name)
        for name in ("src.json", "tgt.json"):
            _copy(folder.tokenizers / name, made / TOKENIZERS / name)
        if params is not None:
            write_text(made / PARAMS, plain_yaml(params))
        write_text(made / CARD, card)


def bundle_digest(bundle: Path) -> str:
    """Give one digest of all that decides how a text is translated: all files but the card."""
    lines = [f"{name} {digest_file(bundle / name)}\n" for name in MEANT if (bundle / name).exists()]
    return digest_bytes("".join(lines).encode("utf-8"))


def _used_params(path: Path | None) -> dict[str, Any] | None:
    if path is None:  # outside a project; the translator has values for that
        return None
    for name, kind in USED.items():
        load_section(name, kind, path)
    values = read_params(path)
    if others := values["decode"]["ensemble"]:
        raise ParamsError(
            f"{path}: decode.ensemble",
            f"{len(others)} more models",
            "none: a bundle holds one model",
            "set decode.ensemble to []",
        )
    return {name: values[name] for name in USED}


def _require_whole(model: Path, tokenizers: Path) -> None:
    described = read_description(model)
    weights = model / WEIGHTS
    if not weights.is_file():
        raise ArtifactError(weights, "no such file", "the weights of the model", "train it")
    if (found := digest_file(weights)) != described.weights:
        expected = f"{described.weights} as {DESCRIPTION} says"
        raise ArtifactError(weights, f"digest {found}", expected, "run `dvc repro train`")
    src, tgt = (Tokenizer.load(tokenizers / f"{side}.json").digest for side in ("src", "tgt"))
    described.require_tokenizers(model, src, tgt)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(source, target)
