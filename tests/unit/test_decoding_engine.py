"""Translation of token ids by a tiny model: order, batches, limits, probabilities."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from hanyi.decoding import batches
from hanyi.decoding.batches import Cost
from hanyi.decoding.config import PLAIN, DecodeConfig, SearchConfig
from hanyi.decoding.engine import TorchEngine, translate_ids
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.jobs import Job
from hanyi.decoding.sentences import Wish
from hanyi.errors import ArtifactError, ParamsError
from hanyi.model.processes import Processes
from hanyi.model.transformer import Transformer
from hanyi.params import parse
from hanyi.tokens.vocab import BOS, EOS, PAD
from tests.decoding import DECODE
from tests.models import SRC_VOCAB, tiny_model
from tests.processes import in_processes

SHORT: dict[str, Any] = {"max_length_ratio": 1.5, "max_length_offset": 4}


def config(**changes: Any) -> SearchConfig:
    return replace(PLAIN, **{**SHORT, **changes})


def sources(count: int, seed: int = 0) -> list[list[int]]:
    draw = random.Random(seed)
    return [
        [draw.randrange(4, SRC_VOCAB) for _ in range(draw.randrange(0, 9))] for _ in range(count)
    ]


@pytest.fixture(scope="module")
def model() -> Transformer:
    return tiny_model(5)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_order_does_not_depend_on_batches(model: Transformer, beam_size: int) -> None:
    texts = sources(30)
    search = config(beam_size=beam_size)
    together = translate_ids(model, texts, search, tokens=10_000)
    alone = translate_ids(model, texts, search, tokens=1)
    assert len(together) == 30
    for one, other in zip(together, alone, strict=True):
        assert [h.tokens for h in one] == [h.tokens for h in other]
        assert [h.log_prob for h in one] == pytest.approx([h.log_prob for h in other], abs=1e-4)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_processes_share_the_work_and_all_get_the_same(model: Transformer, beam_size: int) -> None:
    texts, search = sources(20), config(beam_size=beam_size)
    alone = translate_ids(model, texts, search, tokens=60)

    def work(processes: Processes) -> tuple[list[list[Hypothesis]], list[int]]:
        told: list[int] = []
        found = translate_ids(
            model, texts, search, tokens=60, report=told.append, processes=processes
        )
        return found, told

    for found, told in in_processes(3, work):
        assert found == alone
        assert sum(told) == sum(bool(text) for text in texts)
    assert (
        in_processes(2, lambda who: translate_ids(model, [[]], search, tokens=60, processes=who))
        == [translate_ids(model, [[]], search, tokens=60)] * 2
    )


def test_same_call_same_result(model: Transformer) -> None:
    texts = sources(20)
    search = config(n_best=4)
    assert translate_ids(model, texts, search, tokens=100) == translate_ids(
        model, texts, search, tokens=100
    )


def test_greedy_equals_a_beam_of_one_by_hand(model: Transformer) -> None:
    text = sources(1, seed=3)[0]
    (found,) = translate_ids(model, [text], config(beam_size=1), tokens=100)
    src, written = torch.tensor([[*text, EOS]]), [BOS]
    with torch.no_grad():
        for _ in range(config().limit(len(text))):
            logits = model(src, torch.tensor([written]))[0, -1]
            logits[[PAD, BOS]] = float("-inf")
            written.append(int(logits.argmax()))
            if written[-1] == EOS:
                break
    assert found[0].tokens == [token for token in written[1:] if token != EOS]
    assert found[0].finished == (written[-1] == EOS)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_log_prob_is_that_of_forced_decoding(model: Transformer, beam_size: int) -> None:
    texts = [text for text in sources(12, seed=4) if text]
    search = config(beam_size=beam_size, n_best=beam_size)
    for text, hypotheses in zip(texts, translate_ids(model, texts, search, tokens=60), strict=True):
        for one in hypotheses:
            written = [*one.tokens, EOS] if one.finished else one.tokens
            with torch.no_grad():
                logits = model(torch.tensor([[*text, EOS]]), torch.tensor([[BOS, *written[:-1]]]))
            forced = logits[0].log_softmax(-1).gather(1, torch.tensor(written)[:, None]).sum()
            assert one.log_prob == pytest.approx(forced.item(), abs=1e-4)


def test_n_best_is_ordered_and_distinct(model: Transformer) -> None:
    texts = [text for text in sources(12, seed=5) if text]
    for found in translate_ids(model, texts, config(n_best=4), tokens=100):
        assert len(found) == 4
        keys = [(not one.finished, -one.score) for one in found]
        assert keys == sorted(keys)
        assert len({(*one.tokens, one.finished) for one in found}) == 4


def test_limits(model: Transformer) -> None:
    search = config(max_length_ratio=0.5, max_length_offset=2, beam_size=2, n_best=2)
    for text, found in zip(
        sources(20), translate_ids(model, sources(20), search, tokens=50), strict=True
    ):
        for one in found:
            assert len(one.tokens) + one.finished <= len(text) // 2 + 2


def test_empty_sources(model: Transformer) -> None:
    empty = [Hypothesis([], 0.0, finished=True, score=0.0)]
    assert translate_ids(model, [], config(), tokens=100) == []
    assert translate_ids(model, [[]], config(), tokens=100) == [empty]
    found = translate_ids(model, [[], [7, 8], []], config(n_best=2), tokens=100)
    assert found[0] == found[2] == empty
    assert len(found[1]) == 2


def test_batches_keep_to_the_budget(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[int, ...]] = []
    encode = model.encode

    def spy(src: Tensor) -> Any:
        shapes.append(tuple(src.shape))
        return encode(src)

    monkeypatch.setattr(model, "encode", spy)
    texts = sources(40)
    heard: list[int] = []
    translate_ids(model, texts, config(beam_size=3), tokens=60, report=heard.append)
    assert all(rows * src_len * 3 <= 60 or rows == 1 for rows, src_len in shapes)
    assert sum(rows for rows, _ in shapes) == sum(bool(text) for text in texts) == sum(heard)
    lengths = [src_len for _, src_len in shapes]
    assert lengths == sorted(lengths, reverse=True)
    assert max(rows for rows, _ in shapes) > 1


def test_batches_keep_to_the_free_memory(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, search = [text for text in sources(40) if text], config(beam_size=3)
    roomy = translate_ids(model, texts, search, tokens=10_000)
    shapes: list[tuple[int, ...]] = []
    encode = model.encode

    def spy(src: Tensor) -> Any:
        shapes.append(tuple(src.shape))
        return encode(src)

    monkeypatch.setattr(model, "encode", spy)
    longest = max(map(len, texts))
    one = Cost(model, search)(longest + 1, search.limit(longest))
    for free, most in ((2 * 5 * one, 5), (0, 1)):
        shapes.clear()
        monkeypatch.setattr(batches, "available_bytes", lambda device, free=free: free)
        tight = translate_ids(model, texts, search, tokens=10_000)
        assert shapes[0][0] == most
        assert [found[0].tokens for found in tight] == [found[0].tokens for found in roomy]


def test_memory_that_runs_out_changes_nothing_but_rounding(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, search = sources(30), config(beam_size=3)
    roomy = translate_ids(model, texts, search, tokens=10_000)
    encode = model.encode

    def full(src: Tensor) -> Any:
        if len(src) > 7:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp] can't allocate memory: 9 bytes")
        return encode(src)

    monkeypatch.setattr(model, "encode", full)
    tight = translate_ids(model, texts, search, tokens=10_000)
    for one, other in zip(tight, roomy, strict=True):
        assert [h.tokens for h in one] == [h.tokens for h in other]
        assert [h.log_prob for h in one] == pytest.approx([h.log_prob for h in other], abs=1e-4)


def test_a_prefix_has_room_whatever_the_limit(model: Transformer) -> None:
    search = config(max_length_ratio=0.0, max_length_offset=1, beam_size=2)
    prefix = (5, 6, 7, 8)
    jobs = [Job([9, 10], Wish(prefix=prefix)), Job([9, 10])]
    (begun,), (free,) = TorchEngine(model, 100).translate(jobs, search)
    assert tuple(begun.tokens[:4]) == prefix
    assert len(begun.tokens) + begun.finished <= 5
    assert len(free.tokens) + free.finished <= 1


def test_mode_of_the_model_is_left_as_it_was() -> None:
    model = tiny_model(dropout=0.5).train()
    first = translate_ids(model, sources(5), config(), tokens=100)
    assert model.training
    assert first == translate_ids(model, sources(5), config(), tokens=100)
    assert all(parameter.requires_grad for parameter in model.parameters())
    model.eval()
    translate_ids(model, sources(5), config(), tokens=100)
    assert not model.training


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_diverged_model_is_told(beam_size: int) -> None:
    model = tiny_model()
    with torch.no_grad():
        model.decoder_norm.weight[0] = float("nan")
    with pytest.raises(ArtifactError, match="not numbers, expected finite weights") as caught:
        translate_ids(model, [[7, 8]], config(beam_size=beam_size), tokens=100)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_size": 0}, "beam_size must be at least 1, got 0"),
        ({"n_best": 5}, "n_best must be from 1 to beam_size, got n_best 5 and beam_size 4"),
        ({"n_best": 0}, "n_best must be at least 1, got 0"),
        ({"choose": "mbr"}, "choose mbr needs others to compare with, got n_best 1"),
        ({"length_penalty": -0.1}, "length_penalty must be 0 or more, got -0.1"),
        ({"max_length_ratio": -1.0}, "max_length_ratio must be 0 or more, got -1.0"),
        ({"max_length_offset": 0}, "max_length_offset must be at least 1, got 0"),
        ({"batch_tokens": 0}, "batch_tokens must be at least 1, got 0"),
        ({"beams": 2}, "decode.beams"),
    ],
)
def test_bad_values(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        parse("decode", DecodeConfig, {**DECODE, **changes})
