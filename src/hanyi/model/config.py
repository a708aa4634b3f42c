"""The `model` section of the parameters."""

from __future__ import annotations

from hanyi.model.attention import FORMS
from hanyi.model.layers import ACTIVATIONS, NORMS
from hanyi.model.positions import POSITIONS
from hanyi.params import at_least, config, one_of


@config
class ModelConfig:
    """Sizes and switches of a Transformer; see params.yaml for the unit of each."""

    d_model: int
    heads: int
    d_ff: int
    layers: int
    decoder_layers: int | None
    embedding_std: float | None
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
            at_least(name, getattr(self, name), 1)
        if self.decoder_layers is not None:
            at_least("decoder_layers", self.decoder_layers, 1)
        if self.d_model % self.heads:
            raise ValueError(
                f"heads must divide d_model, got heads {self.heads} and d_model {self.d_model}"
            )
        if self.d_model % 2:  # a sine and a cosine for each frequency
            raise ValueError(f"d_model must be even, got {self.d_model}")
        if self.embedding_std is not None and not 0 < self.embedding_std <= 1:
            raise ValueError(
                f"embedding_std must be over 0 and at most 1, got {self.embedding_std}"
            )
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1), got {getattr(self, name)}")
        one_of("activation", self.activation, ACTIVATIONS)
        one_of("norm", self.norm, NORMS)
        one_of("positions", self.positions, POSITIONS)
        one_of("attention", self.attention, FORMS)

    @property
    def decoder_depth(self) -> int:
        """Give the number of decoder layers."""
        return self.layers if self.decoder_layers is None else self.decoder_layers
