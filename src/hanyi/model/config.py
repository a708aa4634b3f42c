"""The `model` section of the parameters."""

from __future__ import annotations

from hanyi.errors import ParamsError
from hanyi.model.attention import FORMS
from hanyi.model.layers import ACTIVATIONS, NORM_TYPES, NORMS
from hanyi.model.positions import POSITIONS, TURNING
from hanyi.params import at_least, config, one_of

TIES = ("none", "output", "all")


@config
class ModelConfig:
    """Sizes and switches of a Transformer; see params.yaml for the unit of each."""

    d_model: int
    heads: int
    key_value_heads: int | None
    d_ff: int
    layers: int
    decoder_layers: int | None
    embedding_std: float | None
    dropout: float
    attention_dropout: float
    activation: str
    norm: str
    norm_type: str
    positions: str
    attention: str
    tie: str

    def __post_init__(self) -> None:
        """Check ranges, and choices against the registries that hold them."""
        for name in ("d_model", "heads", "d_ff", "layers"):
            at_least(name, getattr(self, name), 1)
        for name in ("decoder_layers", "key_value_heads"):
            if getattr(self, name) is not None:
                at_least(name, getattr(self, name), 1)
        self._check_heads()
        if self.embedding_std is not None and not 0 < self.embedding_std <= 1:
            raise ValueError(
                f"embedding_std must be over 0 and at most 1, got {self.embedding_std}"
            )
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1), got {getattr(self, name)}")
        one_of("activation", self.activation, ACTIVATIONS)
        one_of("norm", self.norm, NORMS)
        one_of("norm_type", self.norm_type, NORM_TYPES)
        one_of("positions", self.positions, POSITIONS)
        one_of("attention", self.attention, FORMS)
        one_of("tie", self.tie, TIES)

    def _check_heads(self) -> None:
        if self.d_model % self.heads:
            raise ValueError(
                f"heads must divide d_model, got heads {self.heads} and d_model {self.d_model}"
            )
        if self.heads % self.groups:
            raise ValueError(
                f"key_value_heads must divide heads, got key_value_heads {self.groups} "
                f"and heads {self.heads}"
            )
        if self.d_model % 2:  # a sine and a cosine for each frequency
            raise ValueError(f"d_model must be even, got {self.d_model}")
        if self.positions in TURNING and self.d_head % 2:
            raise ValueError(
                f"{self.positions} positions turn pairs, so d_model / heads must be even, "
                f"got {self.d_model} / {self.heads} = {self.d_head}"
            )

    def require_one_vocabulary(self, src: object, tgt: object) -> None:
        """Raise `ParamsError` when all embeddings are one but the vocabularies are two.

        `src` and `tgt` tell the vocabularies apart: their sizes, or digests of their tokenizers.
        """
        if self.tie == "all" and src != tgt:
            raise ParamsError(
                "params.yaml: model.tie",
                f"all, with vocabularies {src} and {tgt}",
                "one vocabulary for both sides",
                "set tokenizers.joint to true, or model.tie to output",
            )

    @property
    def d_head(self) -> int:
        """Give the width of a head."""
        return self.d_model // self.heads

    @property
    def groups(self) -> int:
        """Give the number of heads of keys and values, each of which serves a group of heads."""
        return self.heads if self.key_value_heads is None else self.key_value_heads

    @property
    def decoder_depth(self) -> int:
        """Give the number of decoder layers."""
        return self.layers if self.decoder_layers is None else self.decoder_layers
