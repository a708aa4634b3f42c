"""The model as a whole: shapes, sharing, counts, maps, step by step decoding."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from hanyi.errors import ParamsError
from hanyi.model.config import ModelConfig
from hanyi.model.layers import ACTIVATIONS, NORM_TYPES, NORMS
from hanyi.model.masks import padding_mask
from hanyi.model.positions import POSITIONS
from hanyi.model.transformer import Cache, Transformer
from tests.models import SRC_VOCAB, TGT_VOCAB, random_batch, tiny_config, tiny_model

SWITCHES: list[dict[str, Any]] = [
    *(
        {"norm": norm, "positions": positions, "attention": attention, "key_value_heads": groups}
        for norm, positions, attention, groups in product(
            NORMS, POSITIONS, ("explicit", "fused"), (None, 1, 2)
        )
    ),
    *(
        {"norm": norm, "norm_type": norm_type, "activation": activation}
        for norm, norm_type, activation in product(NORMS, NORM_TYPES, ACTIVATIONS)
    ),
]
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def steps(model: Transformer, tgt: Tensor, cache: Cache) -> Tensor:
    """Decode position by position: logits `[rows, tgt_len, tgt_vocab]`."""
    return torch.stack([model.step(tokens, cache) for tokens in tgt.unbind(1)], dim=1)


@pytest.mark.parametrize("switches", SWITCHES)
@torch.no_grad()
def test_cached_step_equals_full_pass(switches: dict[str, Any]) -> None:
    model = tiny_model(**switches, decoder_layers=3)
    src, tgt = random_batch(3, batch=5, src_len=7, tgt_len=40)  # past the growth of the cache
    expected = model(src, tgt)
    assert expected.shape == (5, 40, TGT_VOCAB)
    real = padding_mask(tgt)[:, 0, 0]
    found = steps(model, tgt, model.start(model.encode(src)))
    torch.testing.assert_close(found[real], expected[real], **CLOSE)


@torch.no_grad()
def test_beams_share_their_sentence() -> None:
    model = tiny_model()
    src, _ = random_batch(4, batch=3, src_len=5, tgt_len=2)
    tgt = random_batch(5, batch=12, src_len=2, tgt_len=6)[1]
    expected = model(src.repeat_interleave(4, dim=0), tgt)
    found = steps(model, tgt, model.start(model.encode(src), beams=4))
    torch.testing.assert_close(found, expected, **CLOSE)


@torch.no_grad()
@pytest.mark.parametrize(
    ("beams", "index"),
    [
        (1, [2, 0]),
        (1, [3, 1, 0, 2]),
        (1, [1, 1, 2, 2, 0, 0, 3, 3]),
        (2, [1, 0, 3, 3, 4, 5, 7, 6]),
        (2, [5, 4, 1, 1]),
    ],
)
def test_selected_rows_go_on_as_if_alone(beams: int, index: list[int]) -> None:
    model = tiny_model()
    src, _ = random_batch(6, batch=4, src_len=5, tgt_len=2)
    before = random_batch(7, batch=4 * beams, src_len=2, tgt_len=18)[1]
    rows = torch.tensor(index)
    after = random_batch(8, batch=len(index), src_len=2, tgt_len=4)[1]
    cache = model.start(model.encode(src), beams)
    steps(model, before, cache)
    cache.select(rows)
    found = steps(model, after, cache)
    history = torch.cat((before[rows], after), dim=1)
    sources = src.repeat_interleave(beams, dim=0)[rows]
    torch.testing.assert_close(found, model(sources, history)[:, 18:], **CLOSE)


@torch.no_grad()
def test_a_cache_may_lose_all_its_rows() -> None:
    model = tiny_model()
    src, tgt = random_batch(6, batch=2, src_len=5, tgt_len=1)
    cache = model.start(model.encode(src), beams=3)
    model.step(tgt[:, 0].repeat_interleave(3), cache)
    cache.select(torch.empty(0, dtype=torch.int64))
    assert len(cache.paths) == len(cache.padding) == len(cache.layers[0].keys) == 0


@pytest.mark.parametrize("groups", [None, 1, 2])
@pytest.mark.parametrize("positions", POSITIONS)
def test_explicit_and_fused_are_equal(positions: str, groups: int | None) -> None:
    src, tgt = random_batch(9, batch=4, src_len=6, tgt_len=5)
    switches = {"positions": positions, "key_value_heads": groups}
    found = [
        tiny_model(attention=form, **switches)(src, tgt) for form in ("explicit", "fused", "auto")
    ]
    torch.testing.assert_close(found[1], found[0], **CLOSE)
    assert torch.equal(found[2], found[0])  # on the CPU


@pytest.mark.parametrize("switches", SWITCHES)
def test_attention_maps(switches: dict[str, Any]) -> None:
    model = tiny_model(**switches, decoder_layers=3, attention_dropout=0.5).train()
    src, tgt = random_batch(10, batch=2, src_len=5, tgt_len=4)
    maps = model.attention_maps(src, tgt)
    assert {name: tuple(one.shape) for name, one in maps.items()} == {
        "encoder": (2, 2, 4, 5, 5),
        "decoder": (2, 3, 4, 4, 4),
        "cross": (2, 3, 4, 4, 5),
    }
    assert model.training
    for one in maps.values():
        torch.testing.assert_close(one.sum(-1), torch.ones(one.shape[:-1]))
    assert torch.equal(maps["decoder"], maps["decoder"].tril())
    hidden = ~padding_mask(src)[:, None]  # [batch, 1, 1, 1, src_len]
    for name in ("encoder", "cross"):
        assert (maps[name].masked_select(hidden.expand_as(maps[name])) == 0).all()
    assert all(module.weights is None for module in model.modules() if hasattr(module, "weights"))


@torch.no_grad()
def test_rotary_adds_nothing_to_the_embeddings_and_knows_the_order() -> None:
    model = tiny_model(positions="rotary")
    src = torch.tensor([[5, 6, 7, 3], [6, 5, 7, 3]])
    embedded = model.src_embedding(src)
    torch.testing.assert_close(embedded, 4 * model.src_embedding.tokens(src))  # √d_model
    states = model.encode(src).states
    assert (states[0, 2] - states[1, 2]).abs().max() > 1e-3


@torch.no_grad()
def test_the_cache_holds_only_the_heads_of_keys_and_values() -> None:
    model = tiny_model(key_value_heads=2)
    src, tgt = random_batch(14, batch=3, src_len=5, tgt_len=2)
    cache = model.start(model.encode(src), beams=2)
    model.step(tgt[:, 0].repeat_interleave(2), cache)
    for layer in cache.layers:
        assert layer.cross_keys.shape == layer.cross_values.shape == (3, 2, 5, 4)
        assert layer.keys.shape[:2] == layer.values.shape[:2] == (3, 2)


@pytest.mark.parametrize("tie", ["none", "output", "all"])
def test_what_is_tied_is_one_tensor(tie: str) -> None:
    model = tiny_model(tie=tie, src_vocab=TGT_VOCAB)
    src, tgt = model.src_embedding.tokens.weight, model.tgt_embedding.tokens.weight
    assert (model.output.weight is tgt) == (tie != "none")
    assert (src is tgt) == (tie == "all")
    tables = {weight.data_ptr() for weight in (src, tgt, model.output.weight)}
    assert len(tables) == {"none": 3, "output": 2, "all": 1}[tie]


def test_one_embedding_of_two_vocabularies_is_refused() -> None:
    with pytest.raises(ParamsError, match=r"model\.tie: all, with vocabularies 20 and 30"):
        tiny_model(tie="all")


def expected_parameters(config: ModelConfig, src_vocab: int, tgt_vocab: int) -> int:
    d_model, d_ff = config.d_model, config.d_ff
    shared = d_model // config.heads * config.groups  # width of all keys, or of all values
    attention = 2 * (d_model * d_model + d_model) + 2 * (d_model * shared + shared)
    inner = d_model * d_ff + d_ff
    feed_forward = inner * (2 if config.activation in {"swiglu", "geglu"} else 1)
    feed_forward += d_ff * d_model + d_model
    norm = d_model * (2 if config.norm_type == "layer_norm" else 1)
    encoder = config.layers * (attention + feed_forward + 2 * norm)
    decoder = config.decoder_depth * (2 * attention + feed_forward + 3 * norm)
    final = 2 * norm if config.norm == "pre" else 0
    tables = {
        "none": src_vocab + 2 * tgt_vocab,
        "output": src_vocab + tgt_vocab,
        "all": tgt_vocab,
    }
    return encoder + decoder + final + tables[config.tie] * d_model


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "post"},
        {"tie": "none"},
        {"tie": "all"},
        {"decoder_layers": 1},
        {"d_ff": 7, "heads": 1},
        {"norm_type": "rms_norm"},
        {"positions": "rotary"},
        {"activation": "swiglu"},
        {"key_value_heads": 1},
        {"key_value_heads": 2, "activation": "geglu", "norm_type": "rms_norm", "norm": "post"},
    ],
)
def test_number_of_parameters(changes: dict[str, Any]) -> None:
    config = tiny_config(**changes)
    model = Transformer(config, TGT_VOCAB, TGT_VOCAB)
    found = sum(parameter.numel() for parameter in model.parameters())
    assert found == expected_parameters(config, TGT_VOCAB, TGT_VOCAB)


def test_the_base_model_of_the_paper_has_its_size() -> None:
    base = tiny_config(d_model=512, heads=8, d_ff=2048, layers=6, tie="all")
    with torch.device("meta"):
        model = Transformer(base, 37_000, 37_000)
    found = sum(parameter.numel() for parameter in model.parameters())
    # 65 million in Table 3, with one table of 37,000 tokens for both sides and the output.
    assert 62e6 < found < 66e6


@pytest.mark.parametrize(("given", "expected"), [(None, 0.125), (0.02, 0.02)])
def test_initial_weights(given: float | None, expected: float) -> None:
    torch.manual_seed(0)
    model = Transformer(tiny_config(d_model=64, d_ff=128, embedding_std=given), 500, 500)
    found = model.src_embedding.tokens.weight.std().item()
    assert found == pytest.approx(expected, rel=0.02)
    layer = model.decoder[0]
    bound = (6 / (64 + 64)) ** 0.5  # Xavier, each projection by itself
    for weight in (layer.self_attention.query_key_value.weight, layer.cross_attention.query.weight):
        assert 0.97 * bound < weight.abs().max().item() <= bound
    assert not layer.self_attention.output.bias.any()
    logits = model(*random_batch(0, batch=8, src_len=6, tgt_len=6))
    # The last norm gives states of size √d_model = 8, so that is how far the draw spreads logits.
    assert logits.std() < 2 * 8 * expected


def test_joint_projections_are_drawn_as_if_their_parts_stood_alone() -> None:
    torch.manual_seed(0)
    config = tiny_config(d_model=64, heads=4, key_value_heads=1, d_ff=96, activation="swiglu")
    layer = Transformer(config, SRC_VOCAB, TGT_VOCAB).decoder[0]
    parts = [
        *layer.self_attention.query_key_value.weight.split([64, 16, 16]),
        *layer.cross_attention.key_value.weight.chunk(2),
        *layer.feed_forward.inner.weight.chunk(2),
    ]
    assert [len(weight) for weight in parts] == [64, 16, 16, 16, 16, 96, 96]
    for weight in parts:
        bound = (6 / (64 + len(weight))) ** 0.5
        assert 0.97 * bound < weight.abs().max().item() <= bound


@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"positions": "rotary", "key_value_heads": 2},
        {"norm_type": "rms_norm", "activation": "swiglu"},
    ],
)
def test_everything_learns(switches: dict[str, Any]) -> None:
    model = tiny_model(tie="none", **switches).train()
    src, tgt = random_batch(11, batch=6, src_len=6, tgt_len=5)
    model(src, tgt).log_softmax(-1)[..., 5].sum().backward()
    silent = [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    assert not silent


@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"positions": "rotary", "key_value_heads": 2},
        {"positions": "rotary", "key_value_heads": 1, "attention": "fused"},
        {"norm_type": "rms_norm", "activation": "swiglu", "norm": "post"},
    ],
)
@torch.no_grad()
def test_mixed_precision_stays_close(switches: dict[str, Any]) -> None:
    model = tiny_model(**switches)
    src, tgt = random_batch(15, batch=4, src_len=6, tgt_len=5)
    expected = model(src, tgt)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(src, tgt)
        cache = model.start(model.encode(src))
        stepwise = steps(model, tgt, cache)
    assert found.dtype == cache.layers[0].keys.dtype == torch.bfloat16
    real = padding_mask(tgt)[:, 0, 0]
    # By the whole and not by the worst element, whose rounding depends on the processor's kernels.
    allowed = 0.05 * expected.std()
    assert (found.float() - expected).std() < allowed
    assert (stepwise.float() - expected)[real].std() < allowed


def test_dropout_changes_a_pass_only_in_training() -> None:
    model = tiny_model(dropout=0.3)
    src, tgt = random_batch(12, batch=2, src_len=5, tgt_len=4)
    assert torch.equal(model(src, tgt), model(src, tgt))
    model.train()
    assert not torch.equal(model(src, tgt), model(src, tgt))


def test_same_seed_same_pass_on_the_cpu() -> None:
    src, tgt = random_batch(13, batch=2, src_len=5, tgt_len=4)
    found = []
    for _ in range(2):
        model = tiny_model(dropout=0.3).train()
        logits = model(src, tgt)
        logits.square().sum().backward()
        found.append([logits, *(parameter.grad for parameter in model.parameters())])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
