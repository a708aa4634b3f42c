"""A trained model on disk: `weights.safetensors` and `config.json`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from hanyi.artifacts import digest_bytes, read_header, write_header
from hanyi.errors import ArtifactError, ParamsError
from hanyi.model.config import ModelConfig
from hanyi.model.transformer import Transformer
from hanyi.params import parse

KIND = "hanyi.model"
VERSION = 2
WEIGHTS = "weights.safetensors"
DESCRIPTION = "config.json"
REMEDY = "run `dvc repro train`"

FREE = ("dropout", "attention_dropout", "attention", "embedding_std")
"""Keys of the model section that may change without changing what given weights compute."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFile:
    """What `config.json` says."""

    model: ModelConfig
    src_vocab: int  # tokens
    tgt_vocab: int  # tokens
    src_tokenizer: str  # digest
    tgt_tokenizer: str  # digest
    weights: str  # digest of weights.safetensors
    max_tokens: int  # tokens of a side in training, at most

    def require_tokenizers(
        self,
        directory: Path,
        src: str,
        tgt: str,
        *,
        whose: str = "the one given",
        remedy: str = f"the artifacts are mixed: {REMEDY}",
    ) -> None:
        """Raise `ArtifactError` unless the model was trained with tokenizers of these digests."""
        for side, trained, found in (
            ("src", self.src_tokenizer, src),
            ("tgt", self.tgt_tokenizer, tgt),
        ):
            if trained != found:
                raise ArtifactError(
                    directory / DESCRIPTION,
                    f"trained with {side} tokenizer {trained[:8]}",
                    f"{found[:8]}, {whose}",
                    remedy,
                )


def save_model(
    directory: Path, model: Transformer, *, src_tokenizer: str, tgt_tokenizer: str, max_tokens: int
) -> None:
    """Write a model into an existing directory; equal weights give equal bytes."""
    # Parameters by name hold a tied weight once, and tables that can be computed not at all.
    tensors = {
        name: parameter.detach().to("cpu", torch.float32).contiguous()
        for name, parameter in model.named_parameters()
    }
    data = safetensors.torch.save(tensors)
    (directory / WEIGHTS).write_bytes(data)
    described = ModelFile(
        model=model.config,
        src_vocab=model.src_vocab,
        tgt_vocab=model.tgt_vocab,
        src_tokenizer=src_tokenizer,
        tgt_tokenizer=tgt_tokenizer,
        weights=digest_bytes(data),
        max_tokens=max_tokens,
    )
    write_header(directory / DESCRIPTION, KIND, VERSION, dataclasses.asdict(described))


def load_model(directory: Path, device: torch.device) -> tuple[Transformer, ModelFile]:
    """Read a model, ready to translate (in `eval` mode), and its description.

    Raises `ArtifactError` when a file is missing, broken, of another version, or does not fit the
    other.
    """
    described = read_description(directory)
    model = Transformer(described.model, described.src_vocab, described.tgt_vocab)
    _fill(model, directory, described, REMEDY)
    return model.to(device).eval(), described


def load_weights(
    directory: Path, model: Transformer, src_tokenizer: str, tgt_tokenizer: str
) -> None:
    """Give a model the weights of one that was trained before, with the same tokenizers (digests).

    Raises `ArtifactError` as `load_model` does, and when vocabularies, sizes or switches differ.
    """
    described = read_description(directory)
    described.require_tokenizers(
        directory,
        src_tokenizer,
        tgt_tokenizer,
        whose="the one of this training: its tokens mean something else",
        remedy="set tokenizers.use to the folder of the tokenizers of that model",
    )
    remedy = f"set the model section to that of {DESCRIPTION}"
    here = _meaning(model.config)
    for key, value in _meaning(described.model).items():
        if value != here[key]:
            found, expected = f"{key} {value}", f"{here[key]} as in params.yaml"
            raise ArtifactError(directory / DESCRIPTION, found, expected, remedy)
    _fill(model, directory, described, remedy)


def _meaning(config: ModelConfig) -> dict[str, Any]:
    """Give what a model's weights mean: shapes alone do not tell the number of heads, say."""
    plain = dataclasses.replace(
        config, decoder_layers=config.decoder_depth, key_value_heads=config.groups
    )
    return {key: value for key, value in dataclasses.asdict(plain).items() if key not in FREE}


def _fill(model: Transformer, directory: Path, described: ModelFile, remedy: str) -> None:
    tensors = _read_weights(directory / WEIGHTS, described.weights)
    parameters = dict(model.named_parameters())
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    wanted = {name: tuple(tensor.shape) for name, tensor in parameters.items()}
    if found != wanted:
        names = sorted(name for name in found | wanted if found.get(name) != wanted.get(name))
        what = f"{names[0]} of shape {found.get(names[0])}"
        raise ArtifactError(directory / WEIGHTS, what, f"{wanted.get(names[0])}", remedy)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])


def read_description(directory: Path) -> ModelFile:
    """Read `config.json` alone."""
    path = directory / DESCRIPTION
    fields = read_header(path, KIND, VERSION)
    try:
        stored = {name: value for name, value in fields.items() if name not in {"kind", "version"}}
        described = parse("config", ModelFile, stored, where=str(path))
        described.model.require_one_vocabulary(described.src_vocab, described.tgt_vocab)
        described.model.require_one_vocabulary(described.src_tokenizer, described.tgt_tokenizer)
    except ParamsError as error:
        raise ArtifactError(path, str(error), f"the fields of version {VERSION}", REMEDY) from None
    return described


def _read_weights(path: Path, digest: str) -> dict[str, Tensor]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ArtifactError(path, "no such file", "the weights of the model", REMEDY) from None
    found = digest_bytes(data)
    if found != digest:
        raise ArtifactError(path, f"digest {found}", f"{digest} as {DESCRIPTION} says", REMEDY)
    try:
        loaded: dict[str, Any] = safetensors.torch.load(data)
    except SafetensorError as error:
        raise ArtifactError(path, str(error), "a safetensors file", REMEDY) from None
    return loaded
