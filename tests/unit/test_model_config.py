"""The model section refuses what cannot be built, in words that name the key."""

from __future__ import annotations

import pytest

from hanyi.errors import ParamsError
from hanyi.model.config import ModelConfig
from hanyi.params import parse
from tests.models import SIZES, tiny_config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heads": 3}, "heads must divide d_model, got heads 3 and d_model 16"),
        ({"d_model": 15, "heads": 5}, "d_model must be even, got 15"),
        ({"d_model": 0}, "d_model must be at least 1, got 0"),
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"decoder_layers": 0}, "decoder_layers must be at least 1, got 0"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"attention_dropout": -0.1}, r"attention_dropout must be in \[0, 1\), got -0.1"),
        (
            {"activation": "tanh"},
            "activation must be one of relu, gelu, silu, swiglu, geglu, got tanh",
        ),
        ({"norm": "none"}, "norm must be one of pre, post, got none"),
        ({"positions": "x"}, "positions must be one of interleaved, concatenated, rotary, got x"),
        ({"attention": "x"}, "attention must be one of auto, explicit, fused, got x"),
        ({"head": 4}, "model.head"),
        ({"heads": "4"}, "model.heads"),
        ({"embedding_std": 0.0}, "embedding_std must be over 0 and at most 1, got 0.0"),
        ({"tie": "x"}, "tie must be one of none, output, all, got x"),
        ({"tie_output": True}, "model.tie_output: unknown key"),
        ({"norm_type": "x"}, "norm_type must be one of layer_norm, rms_norm, got x"),
        ({"key_value_heads": 0}, "key_value_heads must be at least 1, got 0"),
        (
            {"key_value_heads": 3},
            "key_value_heads must divide heads, got key_value_heads 3 and heads 4",
        ),
        (
            {"key_value_heads": 8},
            "key_value_heads must divide heads, got key_value_heads 8 and heads 4",
        ),
        (
            {"positions": "rotary", "d_model": 12},
            "rotary positions turn pairs, so d_model / heads must be even, got 12 / 4 = 3",
        ),
    ],
)
def test_bad_values(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ParamsError, match=message) as caught:
        parse("model", ModelConfig, {**SIZES, **changes})
    assert "\n" not in str(caught.value)


def test_decoder_depth_follows_layers_unless_given() -> None:
    assert tiny_config().decoder_depth == 2
    assert tiny_config(decoder_layers=1).decoder_depth == 1


def test_key_value_heads_are_as_heads_unless_given() -> None:
    assert tiny_config().groups == 4
    assert tiny_config(key_value_heads=2).groups == 2


@pytest.mark.parametrize("tie", ["none", "output", "all"])
def test_only_one_embedding_for_all_needs_one_vocabulary(tie: str) -> None:
    config = tiny_config(tie=tie)
    config.require_one_vocabulary("a", "a")
    if tie != "all":
        config.require_one_vocabulary("a", "b")
        return
    message = "model.tie: all, with vocabularies a and b, expected one .* tokenizers.joint to true"
    with pytest.raises(ParamsError, match=message):
        config.require_one_vocabulary("a", "b")
