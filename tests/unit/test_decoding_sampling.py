"""Samples against the exact distribution of a random table, and truncation as it is defined."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hanyi.decoding import sampling
from hanyi.decoding.config import PLAIN, SamplingConfig, SearchConfig
from hanyi.decoding.engine import translate_ids
from hanyi.decoding.greedy import greedy_search
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.sampling import draw, sample
from hanyi.decoding.search import search
from hanyi.decoding.sentences import Sentence, Wish
from hanyi.tokens.vocab import BOS, EOS, PAD
from tests.models import tiny_model
from tests.searches import Task
from tests.tables import Prefix, Prefixes, Table

CPU = torch.device("cpu")
A, B = 4, 5


def sampling_config(**changes: Any) -> SamplingConfig:
    return replace(PLAIN.sampling, **changes)


def config(n_best: int = 1, no_repeat_ngram: int = 0, **changes: Any) -> SearchConfig:
    return replace(
        PLAIN,
        method="sample",
        n_best=n_best,
        no_repeat_ngram=no_repeat_ngram,
        sampling=sampling_config(**changes),
    )


def drawn(
    table: Table, sentences: list[Sentence], config: SearchConfig, first: int = 0
) -> list[list[Hypothesis]]:
    """Sample sentences that the table knows by their places, from `first` on."""
    cache = Prefixes.begin(len(sentences), config.beams)
    cache.rows = [(sentence + first, prefix) for sentence, prefix in cache.rows]
    return search(table.step, cache, sentences, config, CPU)


def kept(probabilities: dict[int, float], chosen: SamplingConfig) -> dict[int, float]:
    """Truncate as the papers define it, token by token."""
    warm = {token: value ** (1 / chosen.temperature) for token, value in probabilities.items()}
    ranked = sorted(warm, key=lambda token: -warm[token])[: chosen.top_k or None]
    total, nucleus = sum(warm[token] for token in ranked), []
    for token in ranked:
        if sum(warm[one] for one in nucleus) >= chosen.top_p * total:
            break
        nucleus.append(token)
    share = sum(warm[token] for token in nucleus)
    return {token: warm[token] / share for token in nucleus}


def exact(task: Task, tokens: Prefix = (), share: float = 1.0) -> dict[tuple[Prefix, bool], float]:
    """Give the probability of every translation; the bool tells whether it is finished."""
    following = {token: math.exp(gain) for token, gain in task.gains(tokens)}
    if len(tokens) == task.sentence.limit or not following:
        return {(tokens, False): share}
    found: dict[tuple[Prefix, bool], float] = defaultdict(float)
    for token, probability in kept(following, task.config.sampling).items():
        if token == EOS:
            found[tokens, True] += share * probability
        else:
            for key, value in exact(task, (*tokens, token), share * probability).items():
                found[key] += value
    return found


@pytest.mark.parametrize(
    ("changes", "least", "prefix", "ngram"),
    [
        ({}, 0, (), 0),
        ({"temperature": 0.5}, 0, (), 0),
        ({"temperature": 2.0, "top_k": 3}, 0, (), 0),
        ({"top_p": 0.6}, 0, (), 0),
        ({"temperature": 1.5, "top_k": 4, "top_p": 0.8}, 0, (), 0),
        ({}, 2, (A,), 1),
        ({"top_p": 0.7}, 1, (B,), 2),
    ],
)
def test_frequencies_are_the_exact_distribution(
    changes: dict[str, Any], least: int, prefix: Prefix, ngram: int
) -> None:
    samples, table = 1500, Table(seed=3, vocab=7, sharpness=1.0)
    chosen = config(samples, ngram, **changes)
    task = Task(table, Sentence(4, 3, least, Wish(prefix), number=7), chosen)
    (found,) = drawn(table, [task.sentence], chosen)
    counts = Counter((tuple(one.tokens), one.finished) for one in found)
    expected = exact(task)
    assert sum(expected.values()) == pytest.approx(1)
    assert counts.keys() <= expected.keys()
    # Pearson's statistic over cells of 5 and more, the rest together: mean df, variance 2 df.
    cells = [(counts[key], samples * value) for key, value in expected.items()]
    large = [cell for cell in cells if cell[1] >= 5]
    rest = [sum(cell[side] for cell in cells if cell[1] < 5) for side in (0, 1)]
    large += [(rest[0], rest[1])] if rest[1] else []
    statistic = sum((seen - mean) ** 2 / mean for seen, mean in large)
    freedom = len(large) - 1
    assert statistic < freedom + 4 * math.sqrt(2 * freedom)


def test_log_prob_is_the_models_own_and_the_best_score_comes_first() -> None:
    table = Table(seed=5, vocab=8)
    chosen = config(50, temperature=2.0, top_k=5, top_p=0.9)
    sentence = Sentence(3, 5, 1, Wish((A, B)))
    (found,) = drawn(table, [sentence], chosen)
    assert len(found) == 50
    for one in found:
        outputs = [*one.tokens, EOS] if one.finished else one.tokens
        total = sum(
            table.log_probs(0, (BOS, *outputs[:place]))[token]
            for place, token in enumerate(outputs)
        )
        assert one.log_prob == pytest.approx(total, abs=1e-5)
        assert one.score == pytest.approx(one.log_prob / chosen.norm(len(outputs)))
        assert one.tokens[:2] == [A, B]
        assert one.finished or len(one.tokens) == 5
    assert found == sorted(found, key=lambda one: (not one.finished, -one.score))


def test_a_low_temperature_is_greedy_search() -> None:
    table, limits = Table(seed=1, vocab=9), [1, 3, 8, 8, 5]
    sentences = [Sentence(3, limit) for limit in limits]
    found = drawn(table, sentences, config(2, temperature=1e-9))
    greedy = greedy_search(table.step, Prefixes.begin(5), torch.tensor(limits), PLAIN)
    for (one, other), best in zip(found, greedy, strict=True):
        assert one == other
        assert (one.tokens, one.finished) == (best.tokens, best.finished)
        assert one.log_prob == pytest.approx(best.log_prob, abs=1e-5)


def test_draws_depend_on_seed_row_and_sample_alone() -> None:
    table = Table(seed=2, vocab=9, sharpness=0.5)
    sentences = [Sentence(3, 4 + number, number=number + 10) for number in range(6)]
    together = drawn(table, sentences, config(3, seed=4))
    for number, sentence in enumerate(sentences):
        assert drawn(table, [sentence], config(3, seed=4), first=number) == [together[number]]
    # More samples add to those that there were.
    fewer = drawn(table, sentences, config(2, seed=4))
    for some, all_of_them in zip(fewer, together, strict=True):
        assert all(one in all_of_them for one in some)
    assert drawn(table, sentences, config(3, seed=5)) != together
    elsewhere = [replace(sentence, number=sentence.number + 1) for sentence in sentences]
    assert drawn(table, elsewhere, config(3, seed=4)) != together
    assert len({tuple(one.tokens) for one in together[5]}) > 1


def test_samples_leave_as_they_end() -> None:
    class Counting(Table):
        def step(self, tokens: Tensor, cache: Prefixes) -> Tensor:
            rows.append(len(tokens))
            return super().step(tokens, cache)

    rows: list[int] = []
    sentences = [Sentence(2, 1), Sentence(2, 6), Sentence(2, 6, 3)]
    found = drawn(Counting(seed=0, vocab=6), sentences, config(8))
    lengths = [len(one.tokens) + one.finished for each in found for one in each]
    assert rows[0] == 24
    assert rows == [sum(length > step for length in lengths) for step in range(max(lengths))]


def test_what_the_rules_leave_no_token_for_is_cut_there() -> None:
    # No unigram twice, and EOS comes too early: after three tokens nothing is left.
    table = Table(seed=0, vocab=6)
    (found,) = drawn(table, [Sentence(3, 9, 8)], config(4, 1))
    for one in found:
        assert sorted(one.tokens) == [1, A, B]
        assert not one.finished
        assert math.isfinite(one.log_prob)


@pytest.mark.parametrize("vocab", [5, 128, 300])
@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [(1.0, 0, 1.0), (0.7, 0, 1.0), (1.0, 3, 1.0), (1.0, 0, 0.9), (3.0, 0, 0.99), (2.0, 90, 0.7)],
)
def test_draw_inverts_the_distribution_that_is_left(
    vocab: int, temperature: float, top_k: int, top_p: float
) -> None:
    chosen = sampling_config(temperature=temperature, top_k=top_k, top_p=top_p)
    generator = torch.Generator().manual_seed(vocab)
    log_probs = (2 * torch.randn(vocab, generator=generator)).log_softmax(0)
    log_probs[[PAD, BOS]] = -math.inf
    probabilities = {t: math.exp(v) for t, v in enumerate(log_probs.tolist()) if v > -math.inf}
    expected = kept(probabilities, chosen)
    # As evenly spread numbers as there are rows meet each token as often as it is likely.
    rows = 2000
    numbers = (torch.arange(rows, dtype=torch.double) + 0.5) / rows
    tokens = draw(log_probs.expand(rows, -1).clone(), numbers, chosen)
    counts = torch.bincount(tokens, minlength=vocab).tolist()
    for token, count in enumerate(counts):
        # In floats, whether the last token of a nucleus is in can hang on rounding: not here.
        assert abs(count - rows * expected.get(token, 0.0)) < 3, token


def test_a_token_without_probability_is_never_drawn() -> None:
    log_probs = torch.full((6, 300), -math.inf)
    for row, token in enumerate((0, 1, 127, 128, 256, 299)):
        log_probs[row, token] = 0.0
    for numbers in (
        torch.zeros(6, dtype=torch.double),
        torch.full((6,), sampling.BELOW_ONE, dtype=torch.double),
    ):
        for chosen in (sampling_config(), sampling_config(top_p=0.5), sampling_config(top_k=9)):
            assert draw(log_probs, numbers, chosen).tolist() == [0, 1, 127, 128, 256, 299]


def test_no_numbers_are_told_from_bad_luck() -> None:
    def step(tokens: Tensor, cache: Prefixes) -> Tensor:
        return torch.full((len(tokens), 7), math.nan)

    (found,) = sample(step, Prefixes.begin(1), [Sentence(2, 3)], config(2), CPU)
    assert all(math.isnan(one.log_prob) for one in found)


def test_numbers_are_even_and_below_one() -> None:
    numbers = sampling._draws([0, 1, 2**40], 50, 2**70, 200)
    assert numbers.shape == (150, 200)
    assert 0 <= numbers.min() < 0.001
    assert 0.999 < numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 4 / math.sqrt(12 * numbers.size)
    assert len(np.unique(numbers)) == numbers.size


def test_terms_are_refused() -> None:
    with pytest.raises(ValueError, match="terms"):
        drawn(Table(0, 6), [Sentence(2, 3, wish=Wish(terms=(((A,),),)))], config())


def test_a_model_draws_the_same_in_any_batch() -> None:
    model = tiny_model(4)
    sources = [[4 + place % 9 for place in range(number % 7)] for number in range(10)]
    chosen = config(4, temperature=1.5, top_k=20, top_p=0.95)
    together = translate_ids(model, sources, chosen, tokens=10_000)
    alone = translate_ids(model, sources, chosen, tokens=1)
    assert len({tuple(one.tokens) for found in together for one in found}) > 20
    for one, other in zip(together, alone, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        assert [each.log_prob for each in one] == pytest.approx(
            [each.log_prob for each in other], abs=1e-4
        )
