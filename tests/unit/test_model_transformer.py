"""The model as a whole: shapes, sharing, counts, maps, step by step decoding."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from hanyi.model.config import ModelConfig
from hanyi.model.layers import NORMS
from hanyi.model.masks import padding_mask
from hanyi.model.positions import POSITIONS
from hanyi.model.transformer import Cache, Transformer
from tests.models import SRC_VOCAB, TGT_VOCAB, random_batch, tiny_config, tiny_model

SWITCHES = [
    {"norm": norm, "positions": positions, "attention": attention}
    for norm, positions, attention in product(NORMS, POSITIONS, ("explicit", "fused"))
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


def test_explicit_and_fused_are_equal() -> None:
    src, tgt = random_batch(9, batch=4, src_len=6, tgt_len=5)
    found = [tiny_model(attention=form)(src, tgt) for form in ("explicit", "fused", "auto")]
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


def test_tied_output_is_one_tensor() -> None:
    tied, untied = tiny_model(tie_output=True), tiny_model(tie_output=False)
    assert tied.output.weight is tied.tgt_embedding.tokens.weight
    assert untied.output.weight is not untied.tgt_embedding.tokens.weight
    assert untied.output.weight.data_ptr() != untied.tgt_embedding.tokens.weight.data_ptr()


def expected_parameters(config: ModelConfig, src_vocab: int, tgt_vocab: int) -> int:
    d_model, d_ff = config.d_model, config.d_ff
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder = config.layers * (attention + feed_forward + 2 * norm)
    decoder = config.decoder_depth * (2 * attention + feed_forward + 3 * norm)
    final = 2 * norm if config.norm == "pre" else 0
    tables = src_vocab + tgt_vocab + (0 if config.tie_output else tgt_vocab)
    return encoder + decoder + final + tables * d_model


@pytest.mark.parametrize(
    "changes",
    [{}, {"norm": "post"}, {"tie_output": False}, {"decoder_layers": 1}, {"d_ff": 7, "heads": 1}],
)
def test_number_of_parameters(changes: dict[str, Any]) -> None:
    config = tiny_config(**changes)
    model = Transformer(config, SRC_VOCAB, TGT_VOCAB)
    found = sum(parameter.numel() for parameter in model.parameters())
    assert found == expected_parameters(config, SRC_VOCAB, TGT_VOCAB)


def test_the_base_model_of_the_paper_has_its_size() -> None:
    base = tiny_config(d_model=512, heads=8, d_ff=2048, layers=6)
    with torch.device("meta"):
        model = Transformer(base, 37_000, 37_000)
    found = sum(parameter.numel() for parameter in model.parameters())
    # 65 million in Table 3, with one table of 37,000 tokens for both sides and the output.
    assert 62e6 < found - 37_000 * 512 < 66e6


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


def test_everything_learns() -> None:
    model = tiny_model(tie_output=False).train()
    src, tgt = random_batch(11, batch=6, src_len=6, tgt_len=5)
    model(src, tgt).log_softmax(-1)[..., 5].sum().backward()
    silent = [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    assert not silent


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
