"""Coverage: where the models say that they looked, and what it takes off a score."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from hanyi.decoding.config import PLAIN
from hanyi.decoding.coverage import Coverage
from hanyi.decoding.engine import translate_ids
from hanyi.decoding.ensemble import Ensemble
from hanyi.decoding.sentences import Sentence
from hanyi.tokens.vocab import BOS, EOS
from tests.models import tiny_model

CPU = torch.device("cpu")
SOURCES = [[5, 6, 7, 8], [9, 10], [11]]


def test_the_penalty_is_that_of_the_paper() -> None:
    coverage = Coverage([Sentence(3, 9), Sentence(1, 9)], 0.5, CPU)
    coverage.add(torch.tensor([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]]))
    coverage.add(torch.tensor([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]]))
    expected = [0.5 * (math.log(0.4) + math.log(0.2)), 0.0]  # padding counts for nothing
    rows = torch.tensor([0, 1])
    assert coverage.penalties(rows, rows).tolist() == pytest.approx(expected)
    coverage.select(torch.tensor([1, 0, 1]))
    found = coverage.penalties(torch.tensor([1, 2]), rows)
    assert found.tolist() == pytest.approx(expected)


def test_what_was_never_read_costs_much_but_not_everything() -> None:
    coverage = Coverage([Sentence(2, 9)], 1.0, CPU)
    coverage.add(torch.tensor([[1.0, 0.0]]))
    row = torch.tensor([0])
    assert float(coverage.penalties(row, row)) == pytest.approx(-87.3, abs=0.1)


@pytest.mark.parametrize("count", [1, 2])
def test_scores_of_translations_hold_the_attention_of_the_last_layer(count: int) -> None:
    models = [tiny_model(seed) for seed in range(count)]
    # Short ones, many of which finish, and do not read everything.
    config = replace(
        PLAIN,
        beam_size=40,
        n_best=40,
        coverage_penalty=0.3,
        max_length_ratio=0.0,
        max_length_offset=2,
    )
    model = models[0] if count == 1 else Ensemble(models)
    finished = 0
    for source, found in zip(
        SOURCES, translate_ids(model, SOURCES, config, tokens=99), strict=True
    ):
        for one in found:
            tgt_in = torch.tensor([[BOS, *one.tokens]])
            maps = [each.attention_maps(torch.tensor([[*source, EOS]]), tgt_in) for each in models]
            # [tgt_len, src_len] of the last layer, the mean over heads and models
            read = torch.stack([each["cross"][0, -1].mean(dim=0) for each in maps]).mean(dim=0)
            off = 0.3 * float(read.sum(dim=0).clamp(max=1).log().sum()) if one.finished else 0.0
            norm = ((5 + len(one.tokens) + one.finished) / 6) ** 1.0
            assert one.score == pytest.approx(one.log_prob / norm + off, abs=1e-4)
            finished += one.finished
    assert finished


def test_asking_for_attention_changes_no_logit() -> None:
    model = tiny_model(3)
    memory = model.encode(torch.tensor([[5, 6, EOS]]))
    caches = [model.start(memory, 2) for _ in range(2)]
    tokens = torch.tensor([BOS, BOS])
    plain, attending = model.step(tokens, caches[0]), model.step_attending(tokens, caches[1])
    assert torch.allclose(plain, attending, atol=1e-6)
    assert caches[0].attention is None
    assert caches[1].attention is not None
    assert caches[1].attention.sum(dim=1).tolist() == pytest.approx([1, 1])
