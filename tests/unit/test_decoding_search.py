"""All options of the search together, with a model: what each row gets is its own affair."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from hanyi.decoding.config import PLAIN, SearchConfig
from hanyi.decoding.engine import TorchEngine
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.jobs import Job
from hanyi.decoding.search import search
from hanyi.decoding.sentences import Sentence, Wish
from hanyi.model.transformer import Transformer
from hanyi.tokens.vocab import BOS, EOS
from tests.models import tiny_model
from tests.tables import Prefixes, Table

JOBS = [
    Job([5, 6, 7, 8, 9], Wish((4, 9))),
    Job([9, 8], Wish((), (((7, 8), (8, 7)), ((5,),)))),
    Job([11], Wish()),
    Job([4, 4, 4, 4], Wish((6,), (((6, 10, 11),),))),
    Job([12, 13, 14], Wish((), (((20, 21, 22),),))),
]
MIXES: list[dict[str, Any]] = [
    {},
    {"beam_size": 1, "no_repeat_ngram": 2},
    {"length_norm": "average", "coverage_penalty": 0.2, "patience": 2.0},
    {"beam_size": 6, "beam_groups": 3, "diversity_penalty": 0.7, "n_best": 6},
    {"beam_size": 5, "no_repeat_ngram": 1, "min_length_ratio": 1.0, "patience": math.inf},
]


def config(changes: dict[str, Any]) -> SearchConfig:
    return replace(PLAIN, **{"max_length_ratio": 1.5, "max_length_offset": 5, **changes})


@pytest.fixture(scope="module")
def model() -> Transformer:
    return tiny_model(5)


@pytest.mark.parametrize("changes", MIXES)
def test_rows_do_not_depend_on_their_batch(model: Transformer, changes: dict[str, Any]) -> None:
    together = TorchEngine(model, 10_000).translate(JOBS, config(changes))
    alone = TorchEngine(model, 1).translate(JOBS, config(changes))
    for some, others in zip(together, alone, strict=True):
        assert [one.tokens for one in some] == [one.tokens for one in others]
        assert [one.score for one in some] == pytest.approx([one.score for one in others], abs=1e-4)


@pytest.mark.parametrize("changes", MIXES)
def test_the_log_probability_is_that_of_forced_decoding(
    model: Transformer, changes: dict[str, Any]
) -> None:
    for job, found in zip(
        JOBS, TorchEngine(model, 10_000).translate(JOBS, config(changes)), strict=True
    ):
        for one in found:
            assert one.log_prob == pytest.approx(forced(model, job.source, one), abs=1e-4)


def forced(model: Transformer, source: Any, one: Hypothesis) -> float:
    written = torch.tensor([*one.tokens, EOS] if one.finished else one.tokens)
    tgt_in = torch.tensor([[BOS, *one.tokens]])[:, : len(written)]
    with torch.no_grad():
        logits = model(torch.tensor([[*source, EOS]]), tgt_in)[0]
    return float(logits.log_softmax(dim=-1).gather(1, written[:, None]).sum())


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize(
    ("options", "wish"),
    [
        ({}, Wish()),
        ({"no_repeat_ngram": 1}, Wish()),
        ({}, Wish((5, 4))),
        ({}, Wish((), (((5,),),))),
    ],
)
def test_one_entry_finds_the_search(beam_size: int, options: dict[str, Any], wish: Wish) -> None:
    asked = [Sentence(1, 9, wish=wish)]
    chosen = config({"beam_size": beam_size, **options})
    cache = Prefixes.begin(1, chosen.places)
    ((one,),) = search(Table(3, 8).step, cache, asked, chosen, torch.device("cpu"))
    assert tuple(one.tokens[: len(wish.prefix)]) == wish.prefix
    assert not options or len(set(one.tokens)) == len(one.tokens)
    assert not wish.terms or 5 in one.tokens
