"""The plan of an epoch pads little and changes from epoch to epoch; a batch is shifted by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hanyi.tokens.batches import collate, padding, plan
from hanyi.tokens.flat import Flat
from hanyi.tokens.shards import EncodedSplit, encoded_rows, write_shards
from hanyi.tokens.vocab import BOS, EOS, PAD

SRC = [[10, 11, 12], [], [13], [14, 15, 16, 17]]
TGT = [[20], [], [21, 22, 23, 24, 25], [26, 27]]


@pytest.fixture
def split(tmp_path: Path) -> EncodedSplit:
    fields = dict.fromkeys(["src_tokenizer", "tgt_tokenizer"], "") | {
        "corpora": ["all"],
        "weights": {"all": 1},
    }
    fields |= dict.fromkeys(["src_vocab", "tgt_vocab"], 40)
    block = encoded_rows([0, 1, 2, 3], [0] * 4, Flat.of(SRC), Flat.of(TGT))
    write_shards(tmp_path, [block], shard_rows=3, fields=fields)
    return EncodedSplit.open(tmp_path)


def lengths(rows: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Lengths as sentences have them: skewed, and the sides alike but not equal."""
    draw = np.random.default_rng(7)
    src = np.clip(draw.lognormal(2.0, 0.5, rows), 1, 100).astype(np.int32)
    tgt = np.clip(src * draw.lognormal(0.25, 0.25, rows), 1, 100).astype(np.int32)
    return src, tgt


def test_a_batch_is_laid_out(split: EncodedSplit) -> None:
    batch = collate(split, np.array([0, 2]))
    assert batch.src.tolist() == [[10, 11, 12, EOS], [13, EOS, PAD, PAD]]
    assert batch.tgt_in.tolist() == [[BOS, 20, PAD, PAD, PAD, PAD], [BOS, 21, 22, 23, 24, 25]]
    assert batch.tgt_out.tolist() == [[20, EOS, PAD, PAD, PAD, PAD], [21, 22, 23, 24, 25, EOS]]
    assert batch.src.dtype == batch.tgt_in.dtype == batch.tgt_out.dtype == np.int64


def test_the_target_is_shifted_by_one(split: EncodedSplit) -> None:
    batch = collate(split, np.array([3, 2, 0, 1, 3]))
    for tgt_in, tgt_out in zip(batch.tgt_in, batch.tgt_out, strict=True):
        real = int((tgt_out != PAD).sum())
        assert tgt_in[0] == BOS
        assert tgt_out[real - 1] == EOS
        assert tgt_in[1:real].tolist() == tgt_out[: real - 1].tolist()
        assert (tgt_in[real:] == PAD).all()
        assert EOS not in tgt_in


def test_an_empty_row_is_its_special_tokens(split: EncodedSplit) -> None:
    batch = collate(split, np.array([1]))
    assert (batch.src.tolist(), batch.tgt_in.tolist(), batch.tgt_out.tolist()) == (
        [[EOS]],
        [[BOS]],
        [[EOS]],
    )


def test_real_tokens_are_found_where_they_stand(split: EncodedSplit) -> None:
    batch = collate(split, np.array([0, 1, 2]))
    assert batch.tgt_out.ravel()[batch.real].tolist() == [20, EOS, EOS, 21, 22, 23, 24, 25, EOS]
    assert batch.real.dtype == np.int64


def test_a_batch_is_filled_up_to_a_multiple(split: EncodedSplit) -> None:
    rows = np.array([0, 2, 3])
    plain, filled = collate(split, rows), collate(split, rows, multiple=4)
    assert (filled.src.shape, filled.tgt_in.shape, filled.tgt_out.shape) == ((4, 8), (4, 8), (4, 8))
    for one, other in zip(plain[:3], filled[:3], strict=True):
        height, width = one.shape
        assert (other[:height, :width] == one).all()
        assert (other != PAD).sum() == (one != PAD).sum()
    assert (
        filled.tgt_out.ravel()[filled.real].tolist() == plain.tgt_out.ravel()[plain.real].tolist()
    )


def test_padding_is_the_share_that_collate_fills_up(split: EncodedSplit) -> None:
    batches = [np.array([0, 2]), np.array([1, 3])]
    filled = [side for rows in batches for side in collate(split, rows)[:2]]
    share = sum(int((side == PAD).sum()) for side in filled) / sum(side.size for side in filled)
    assert padding(batches, split.src_lengths, split.tgt_lengths) == pytest.approx(share)
    assert padding([], split.src_lengths, split.tgt_lengths) == 0.0


def test_padding_is_low() -> None:
    src, tgt = lengths(30_000)
    zigzag = padding(plan(src, tgt, tokens=1500, seed=1, epoch=0), src, tgt)
    by_one_side = np.array_split(np.argsort(src, kind="stable"), 250)
    assert zigzag < 0.08
    assert zigzag < 0.6 * padding(by_one_side, src, tgt)


def test_an_epoch_differs_from_the_next() -> None:
    src, tgt = lengths(3000)
    plans = [
        plan(src, tgt, tokens=500, seed=seed, epoch=epoch)
        for seed, epoch in [(1, 0), (1, 1), (2, 0)]
    ]
    company = [{frozenset(batch.tolist()) for batch in batches} for batches in plans]
    # Not only the order of the batches: hardly any row meets the same company again.
    for one, other in [(0, 1), (0, 2), (1, 2)]:
        assert len(company[one] & company[other]) < 0.05 * len(company[one])
    sizes = [[len(batch) for batch in batches] for batches in plans]
    assert sizes[0] != sorted(sizes[0])


def test_long_and_short_batches_are_mixed() -> None:
    src, tgt = lengths(3000)
    means = [src[batch].mean() for batch in plan(src, tgt, tokens=500, seed=1, epoch=0)]
    halves = np.mean(means[: len(means) // 2]), np.mean(means[len(means) // 2 :])
    assert halves[0] == pytest.approx(halves[1], rel=0.3)


def test_a_row_over_the_budget_is_alone() -> None:
    batches = plan(np.array([50, 1, 2]), np.array([1, 60, 2]), tokens=10, seed=1, epoch=0)
    assert sorted(batch.tolist() for batch in batches) == [[0], [1], [2]]


def test_no_rows_no_batches() -> None:
    none = np.array([], np.int32)
    assert plan(none, none, tokens=10, seed=1, epoch=0) == []


def test_repeated_rows_occur_as_often() -> None:
    src, tgt = lengths(100)
    rows = np.concatenate([np.arange(50), np.arange(20, 50), np.arange(40, 50)])
    batches = plan(src, tgt, tokens=200, seed=1, epoch=0, rows=rows)
    assert sorted(np.concatenate(batches)) == sorted(rows)
