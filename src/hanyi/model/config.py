"""The `model` section of the parameters."""

from __future__ import annotations

from collections.abc import Iterable

from hanyi.model.attention import FORMS
from hanyi.model.layers import ACTIVATIONS, NORMS
from hanyi.model.positions import POSITIONS
from hanyi.params import config


@config
class ModelConfig:
    """Sizes and switches of a Transformer; see params.yaml for the unit of each."""

    d_model: int
    heads: int
    d_ff: int
    layers: int
    decoder_layers: int | None
    dropout: float
    attention_dropout: float
    activation: str
    norm: str
    positions: str
    attention: str
    tie_output: bool

    def __post_init__(self) -> None:
        """Check ranges, and choices against the registries that hold them."""
        for name in ("d_model", "heads", "d_ff", "layers"):
            _check_count(name, getattr(self, name))
        if self.decoder_layers is not None:
            _check_count("decoder_layers", self.decoder_layers)
        if self.d_model % self.heads:
            raise ValueError(
                f"heads must divide d_model, got heads {self.heads} and d_model {self.d_model}"
            )
        if self.d_model % 2:  # a sine and a cosine for each frequency
            raise ValueError(f"d_model must be even, got {self.d_model}")
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1), got {getattr(self, name)}")
        _check_choice("activation", self.activation, ACTIVATIONS)
        _check_choice("norm", self.norm, NORMS)
        _check_choice("positions", self.positions, POSITIONS)
        _check_choice("attention", self.attention, FORMS)

    @property
    def decoder_depth(self) -> int:
        """Give the number of decoder layers."""
        return self.layers if self.decoder_layers is None else self.decoder_layers


def _check_count(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")


def _check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value}")
