"""Weights say how often the rows of a corpus occur in an epoch, and steps are counted exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hanyi.errors import DataError
from hanyi.tokens.shards import EncodedSplit
from hanyi.training.data import TrainingData, weighted
from tests.training import make_corpus, train_config

CORPUS = np.array([0, 1, 0, 0, 1, 0, 0, 0, 0, 0], np.uint8)


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> EncodedSplit:
    root = make_corpus(tmp_path_factory.mktemp("corpus"), weights=(2.5, 0.0))
    return EncodedSplit.open(root / "data/encoded/train")


def counts(epoch: int, *weights: float, seed: int = 1) -> list[int]:
    rows = weighted(CORPUS, weights, seed, epoch)
    return np.bincount(rows, minlength=len(CORPUS)).tolist()


def test_whole_weights_repeat_rows() -> None:
    assert weighted(CORPUS, (1.0, 1.0), 1, 0).tolist() == list(range(10))
    assert counts(0, 0, 3) == counts(7, 0.0, 3.0) == [0, 3, 0, 0, 3, 0, 0, 0, 0, 0]


def test_a_share_of_the_rows_is_drawn_anew_each_epoch() -> None:
    drawn = [counts(epoch, 1.25, 0) for epoch in range(400)]
    assert {sum(epoch) for epoch in drawn} == {10}  # 8 rows, and a quarter of them once more
    assert {count for epoch in drawn for count in epoch} == {0, 1, 2}
    assert len({tuple(epoch) for epoch in drawn}) > 20
    means = np.mean(drawn, axis=0)
    assert means[CORPUS == 1].tolist() == [0, 0]
    assert np.abs(means[CORPUS == 0] - 1.25).max() < 0.09  # 4 deviations


def test_an_expected_count_is_exact() -> None:
    drawn = np.array([counts(epoch, 0.1, 0.25) for epoch in range(4000)])
    first, second = drawn[:, CORPUS == 0].sum(1), drawn[:, CORPUS == 1].sum(1)
    assert set(first.tolist()) == set(second.tolist()) == {0, 1}  # 0.8 and 0.5 rows expected
    assert first.mean() == pytest.approx(0.8, abs=0.026)
    assert second.mean() == pytest.approx(0.5, abs=0.032)
    assert {sum(counts(epoch, 0.0, 1.5)) for epoch in range(50)} == {3}
    tenth = np.zeros(10, np.uint8)
    assert {len(weighted(tenth, [1.1], 1, epoch)) for epoch in range(200)} == {11}


def test_epoch_and_seed_decide_alone() -> None:
    assert counts(3, 1.5, 0.5) == counts(3, 1.5, 0.5)
    assert counts(3, 1.5, 0.5) != counts(4, 1.5, 0.5)
    assert counts(3, 1.5, 0.5) != counts(3, 1.5, 0.5, seed=2)


def test_corpora_are_weighted(split: EncodedSplit) -> None:
    alpha = split.corpora.index("alpha")
    data = TrainingData(split, train_config())
    plans = [
        [row for update in data.updates(epoch) for batch in update for row in batch.tolist()]
        for epoch in range(4)
    ]
    assert {split.corpus[row] for rows in plans for row in rows} == {alpha}
    assert {len(rows) for rows in plans} <= {
        int(2.5 * (split.corpus == alpha).sum()) + n for n in (0, 1)
    }
    assert len({tuple(sorted(rows)) for rows in plans}) == 4


def test_epochs_limit_training(split: EncodedSplit) -> None:
    data = TrainingData(split, train_config(max_steps=None, max_epochs=5))
    assert data.steps() == sum(len(data.updates(epoch)) for epoch in range(5))
    assert TrainingData(split, train_config(max_steps=3, max_epochs=5)).steps() == 3
    assert TrainingData(split, train_config(max_steps=3)).steps() == 3
    two = TrainingData(split, train_config(max_steps=None, max_epochs=5, accumulate=2))
    assert two.steps() == sum(len(two.updates(epoch)) for epoch in range(5))


def test_no_row_left(tmp_path: Path) -> None:
    root = make_corpus(tmp_path, weights=(0.0, 0.0))
    split = EncodedSplit.open(root / "data/encoded/train")
    with pytest.raises(DataError) as caught:
        TrainingData(split, train_config())
    assert str(caught.value) == (
        "params.yaml: fetch.corpora: no rows to train on with the weights alpha 0, beta 0, "
        "expected a weight over 0; raise the weight of a corpus that has train rows"
    )
