"""Given translations: what each token is worth, and where it comes from."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import torch

from hanyi.decoding import forced
from hanyi.decoding.config import PLAIN
from hanyi.decoding.engine import TorchEngine
from hanyi.decoding.ensemble import Ensemble, Model
from hanyi.decoding.forced import ALIGNING, Forced, Pair, force
from hanyi.decoding.jobs import Job
from hanyi.decoding.sentences import Wish
from hanyi.model.processes import Processes
from hanyi.tokens.vocab import BOS, EOS
from tests.models import SRC_VOCAB, TGT_VOCAB, tiny_model
from tests.processes import in_processes

MODELS: dict[str, Model] = {
    "one": tiny_model(5),
    "deep": tiny_model(1, decoder_layers=3, norm="post", attention="fused"),
    "ensemble": Ensemble([tiny_model(5), tiny_model(6, d_model=24, layers=1)]),
}


def pairs(count: int, seed: int = 0) -> list[Pair]:
    draw = random.Random(seed)

    def tokens(vocab: int) -> list[int]:
        return [draw.randrange(4, vocab) for _ in range(draw.randrange(0, 9))]

    return [Pair(tokens(SRC_VOCAB), tokens(TGT_VOCAB), draw.random() < 0.7) for _ in range(count)]


def share(processes: Processes) -> list[Forced]:
    return force(tiny_model(5), pairs(20), tokens=40, alignment=True, processes=processes)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(
    "options",
    [
        {"beam_size": 1},
        {"beam_size": 4, "n_best": 4},
        {"beam_size": 3, "n_best": 2, "coverage_penalty": 0.3, "no_repeat_ngram": 2},
        {"method": "sample", "n_best": 3, "sampling": replace(PLAIN.sampling, temperature=2.0)},
    ],
    ids=["greedy", "beam", "options", "sample"],
)
@pytest.mark.parametrize("prefix", [(), (7, 9)], ids=["free", "prefix"])
def test_the_sum_is_what_the_search_found(
    model: Model, options: dict[str, Any], prefix: tuple[int, ...]
) -> None:
    config = replace(PLAIN, max_length_ratio=1.5, max_length_offset=3, **options)
    sources = [pair.source for pair in pairs(12)]
    jobs = [Job(source, Wish(prefix), number) for number, source in enumerate(sources)]
    found = TorchEngine(model, 500).translate(jobs, config)
    rows = [
        (Pair(source, one.tokens, one.finished), one)
        for source, hypotheses in zip(sources, found, strict=True)
        for one in hypotheses
    ]
    scored = force(model, [pair for pair, _ in rows], tokens=100)
    for (pair, one), forced_one in zip(rows, scored, strict=True):
        outputs = len(pair.target) + pair.finished if len(pair.source) else 0
        assert len(forced_one.log_probs) == outputs
        assert sum(forced_one.log_probs) == pytest.approx(one.log_prob, abs=1e-4)


def test_each_token_is_read_off_the_plain_forward_pass() -> None:
    model = tiny_model(3)
    for pair, found in zip(pairs(20), force(model, pairs(20), tokens=1000), strict=True):
        if not pair.source and not pair.target:
            assert found == Forced([], [])
            continue
        with torch.no_grad():
            logits = model(
                torch.tensor([[*pair.source, EOS]]), torch.tensor([[BOS, *pair.target]])
            )[0]
        outputs = [*pair.target, EOS][: len(pair.target) + pair.finished]
        expected = [
            float(logits[place].log_softmax(-1)[token]) for place, token in enumerate(outputs)
        ]
        assert found.log_probs == pytest.approx(expected, abs=1e-5)
        assert found.alignment == []


def test_alignment_is_the_largest_mean_weight_of_the_last_layers() -> None:
    model = tiny_model(2, decoder_layers=3)
    given = pairs(20)
    for pair, found in zip(given, force(model, given, tokens=60, alignment=True), strict=True):
        assert len(found.alignment) == (len(pair.target) if pair.source else 0)
        if not found.alignment:
            continue
        maps = model.attention_maps(
            torch.tensor([[*pair.source, EOS]]), torch.tensor([[BOS, *pair.target]])
        )["cross"][0]  # [layers, heads, tgt_len, src_len]
        weights = maps[-ALIGNING:].mean(dim=(0, 1))[: len(pair.target), : len(pair.source)]
        assert found.alignment == weights.argmax(dim=1).tolist()


def test_an_ensemble_aligns_by_the_mean() -> None:
    both = [tiny_model(1), tiny_model(2)]
    pair = Pair([5, 6, 7, 8], [9, 10, 11])
    src, tgt_in = torch.tensor([[*pair.source, EOS]]), torch.tensor([[BOS, *pair.target]])
    maps = [model.attention_maps(src, tgt_in)["cross"][0] for model in both]
    weights = sum(each[-ALIGNING:].mean(dim=(0, 1)) for each in maps)
    (found,) = force(Ensemble(both), [pair], tokens=60, alignment=True)
    assert found.alignment == weights[:3, :4].argmax(dim=1).tolist()
    assert not any(layer.cross_attention.keep_weights for model in both for layer in model.decoder)


def test_results_do_not_depend_on_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model, given, heard = tiny_model(5), pairs(40), list[int]()
    together = force(model, given, tokens=10_000, alignment=True)
    monkeypatch.setattr(forced, "OUTPUTS", 7)
    alone = force(model, given, tokens=1, alignment=True, report=heard.append)
    assert heard == [1] * sum(bool(one.log_probs) for one in together)
    for one, other in zip(together, alone, strict=True):
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-4)
        assert one.alignment == other.alignment


def test_batches_keep_the_budget_longest_first() -> None:
    given = pairs(60)
    batches = forced._batches(given, 50)
    longest = [
        max(len(given[row].source), len(given[row].target)) for batch in batches for row in batch
    ]
    assert longest == sorted(longest, reverse=True)
    for batch in batches:
        most = max(max(len(given[row].source), len(given[row].target)) for row in batch) + 1
        assert len(batch) == 1 or len(batch) * most <= 50
    assert sorted(row for batch in batches for row in batch) == [
        row for row, pair in enumerate(given) if pair.target or (pair.source and pair.finished)
    ]


def test_an_empty_source_is_scored_but_aligned_with_nothing() -> None:
    model = tiny_model(5)
    (found,) = force(model, [Pair([], [4, 5])], tokens=10, alignment=True)
    assert len(found.log_probs) == 3
    assert found.alignment == []
    assert force(model, [], tokens=10) == []


def test_processes_share_the_batches() -> None:
    alone = force(tiny_model(5), pairs(20), tokens=40, alignment=True)
    assert in_processes(2, share) == [alone, alone]


def test_the_mode_of_the_model_is_given_back() -> None:
    model = tiny_model(5, dropout=0.5).train()
    once, again = (force(model, pairs(5), tokens=40) for _ in range(2))
    assert once == again
    assert model.training
