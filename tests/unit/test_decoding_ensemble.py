"""Several models as one: the mean of their probabilities, in every search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from hanyi.decoding.config import PLAIN
from hanyi.decoding.engine import translate_ids
from hanyi.decoding.ensemble import Ensemble, Model, load_ensemble, mean_log_probs
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.errors import ArtifactError
from hanyi.tokens.vocab import BOS
from tests.models import random_batch, save_tiny_model, tiny_model, tiny_tokenizers

SOURCES = [[4, 5, 6, 7], [8], [], [9, 10, 11], [12, 13, 14, 15, 16, 17]]
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"beam_size": 1},
    "beam": {"beam_size": 4, "n_best": 3},
    "coverage": {"beam_size": 3, "coverage_penalty": 0.5},
    "sample": {"method": "sample", "n_best": 3},
}


def translated(model: Model, options: dict[str, Any]) -> list[list[Hypothesis]]:
    config = replace(PLAIN, max_length_ratio=1.0, max_length_offset=5, **options)
    return translate_ids(model, SOURCES, config, tokens=200)


def two() -> Ensemble:
    """Make one of two models of other widths and depths."""
    return Ensemble([tiny_model(1), tiny_model(2, d_model=24, layers=1, heads=2)])


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_one_model_and_twice_the_same_are_that_model(options: dict[str, Any]) -> None:
    model = tiny_model(3)
    expected = translated(model, options)
    for ensemble in (Ensemble([model]), Ensemble([model, model])):
        found = translated(ensemble, options)
        for hypotheses, wanted in zip(found, expected, strict=True):
            assert [one.tokens for one in hypotheses] == [one.tokens for one in wanted]
            scores = [(one.log_prob, one.score) for one in wanted]
            assert [(one.log_prob, one.score) for one in hypotheses] == [
                pytest.approx(each, abs=1e-4) for each in scores
            ]


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_log_probs_are_those_of_the_mean_of_probabilities(options: dict[str, Any]) -> None:
    ensemble = two()
    models = [ensemble.models[0], ensemble.models[1]]
    for source, hypotheses in zip(SOURCES, translated(ensemble, options), strict=True):
        for one in hypotheses if source else []:
            outputs = [*one.tokens, 3] if one.finished else one.tokens
            src, tgt_in = torch.tensor([[*source, 3]]), torch.tensor([[BOS, *one.tokens]])
            with torch.no_grad():
                mean = sum(model(src, tgt_in)[0].softmax(-1) for model in models) / 2
            total = sum(float(mean[place, token].log()) for place, token in enumerate(outputs))
            assert one.log_prob == pytest.approx(total, abs=1e-4)


def test_the_mean_is_of_probabilities_not_of_logits() -> None:
    one, other = torch.tensor([[0.0, 5.0, 1.0]]), torch.tensor([[9.0, 1.0, 3.0]])
    expected = ((one.softmax(-1) + other.softmax(-1)) / 2).log()
    assert torch.allclose(mean_log_probs([one, other + 100]), expected, atol=1e-6)
    # A model that rules a token out does not rule it out for all.
    one[0, 0] = float("-inf")
    assert mean_log_probs([one, other])[0, 0] == pytest.approx(
        float(other.log_softmax(-1)[0, 0]) - torch.tensor(2.0).log().item()
    )


def test_whole_passes_equal_steps() -> None:
    ensemble = two()
    src, tgt_in = random_batch(0, 3, 5, 4)
    with torch.no_grad():
        memories = ensemble.encode(src)
        whole = ensemble.output(ensemble.decode(tgt_in, memories))  # [batch, tgt_len, tgt_vocab]
        cache = ensemble.start(memories)
        steps = [ensemble.step(tgt_in[:, place], cache) for place in range(4)]
    real = tgt_in != 0
    assert torch.allclose(whole[real], torch.stack(steps, dim=1)[real], atol=1e-5)


def test_attention_is_the_mean() -> None:
    ensemble = two()
    src, tgt_in = random_batch(1, 3, 5, 4)
    with torch.no_grad():
        cache = ensemble.start(ensemble.encode(src))
        ensemble.step_attending(tgt_in[:, 0], cache)
    assert cache.attention is not None
    each = [kept.attention for kept in cache.caches]
    assert torch.allclose(cache.attention, sum(each) / 2)
    assert torch.allclose(cache.attention.sum(dim=1), torch.ones(3))


def test_other_vocabularies_are_refused() -> None:
    with pytest.raises(ArtifactError, match=r"20 and 31 tokens, expected .* 20 and 30 tokens"):
        Ensemble([tiny_model(1), tiny_model(2, tgt_vocab=31)])


def test_models_are_read_from_their_folders(tmp_path: Path) -> None:
    src, tgt = tiny_tokenizers(tmp_path / "tokenizers")
    folders = [tmp_path / "one", tmp_path / "other"]
    save_tiny_model(folders[0], src, tgt)
    save_tiny_model(folders[1], src, tgt, max_tokens=30, d_model=32)
    ensemble, described = load_ensemble(folders, torch.device("cpu"))
    assert not ensemble.training
    assert [one.max_tokens for one in described] == [20, 30]
    assert len(translated(ensemble, {"beam_size": 2})) == len(SOURCES)

    save_tiny_model(tmp_path / "stranger", src, src)
    with pytest.raises(ArtifactError) as error:
        load_ensemble([*folders, tmp_path / "stranger"], torch.device("cpu"))
    assert "stranger" in str(error.value)
    assert f"tgt tokenizer {src.digest[:8]}, expected {tgt.digest[:8]}" in str(error.value)
    with pytest.raises(ArtifactError, match="nowhere"):
        load_ensemble([folders[0], tmp_path / "nowhere"], torch.device("cpu"))
