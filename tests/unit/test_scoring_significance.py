from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest

from hanyi.metrics.lexical import measure
from hanyi.metrics.statistics import Statistics
from hanyi.scoring import significance
from hanyi.scoring.significance import TESTS, bootstrap, interval, randomization

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "sees",
    "hears",
    "big",
    "small",
    "red",
    "house",
    "river",
    "in",
    "on",
    "under",
    "fast",
]
RNG = np.random.default_rng(4)
REFERENCES = [" ".join(RNG.choice(WORDS, RNG.integers(5, 15))) for _ in range(40)]


def noisy(share: float, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [
        " ".join(word if rng.random() > share else str(rng.choice(WORDS)) for word in line.split())
        for line in REFERENCES
    ]


GOOD, BAD = noisy(0.2, 1), noisy(0.3, 2)
SACREBLEU: dict[str, Any] = {
    "bleu": sacrebleu.BLEU,
    "chrf": sacrebleu.CHRF,
    "chrf_pp": lambda: sacrebleu.CHRF(word_order=2),
    "ter": sacrebleu.TER,
}


@pytest.mark.parametrize("name", SACREBLEU)
def test_the_interval_is_that_of_sacrebleu(name: str) -> None:
    """Its own sums are of single precision, so the last digits differ."""
    expected = SACREBLEU[name]().corpus_score(GOOD, [REFERENCES], n_bootstrap=1000)
    found = interval(measure(GOOD, REFERENCES, "13a", [name])[name])
    assert found == pytest.approx(expected._ci, abs=1e-4)
    assert found > 0.5


@pytest.mark.parametrize("name", SACREBLEU)
@pytest.mark.parametrize(("kind", "test"), [("bs", bootstrap), ("ar", randomization)])
def test_p_values_are_those_of_sacrebleu(
    monkeypatch: pytest.MonkeyPatch, name: str, kind: str, test: Any
) -> None:
    monkeypatch.setattr(significance, "TRIALS", 1000)
    systems = [("baseline", BAD), ("system", GOOD)]
    paired = PairedTest(
        systems, {name: SACREBLEU[name]()}, [REFERENCES], test_type=kind, n_samples=1000
    )
    _, results = paired()
    before, now = next(values for key, values in results.items() if key != "System")
    found = test(*(measure(texts, REFERENCES, "13a", [name])[name] for texts in (BAD, GOOD)))
    assert found.baseline == before.score
    assert found.system == now.score
    if name == "ter":  # whole edits make ties, which sacrebleu leaves out
        assert now.p_value <= found.p_value <= now.p_value + 0.01
    else:
        assert found.p_value == pytest.approx(now.p_value, abs=1e-9)
    assert found.difference == now.score - before.score


@pytest.mark.parametrize("test", TESTS.values())
def test_the_same_system_does_not_differ_and_a_far_better_one_does(test: Any) -> None:
    good, bad, copy = (
        measure(texts, REFERENCES, "13a", ["chrf"])["chrf"]
        for texts in (GOOD, ["nonsense"] * 40, REFERENCES)
    )
    same = test(good, good)
    assert (same.difference, same.p_value) == (0.0, 1.0)
    assert test(bad, copy).p_value < 0.002
    assert test(good, measure(BAD, REFERENCES, "13a", ["chrf"])["chrf"]).p_value > 1e-4


def test_portions_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    def figures() -> list[object]:
        good, bad = (measure(x, REFERENCES, "13a", ["chrf"])["chrf"] for x in (GOOD, BAD))
        return [interval(good), bootstrap(bad, good), randomization(bad, good)]

    whole = figures()
    monkeypatch.setattr(significance, "CELLS", 40 * 100)
    assert figures() == whole


def test_the_interval_of_a_mean_is_the_normal_one() -> None:
    values = np.random.default_rng(0).normal(50, 10, 400)
    counts = np.stack([values, np.ones(400)], axis=1)
    found = interval(Statistics(counts, lambda sums: float(sums[0] / sums[1]), ""))
    assert found == pytest.approx(1.96 * values.std() / 20, rel=0.08)


def test_one_row_has_no_width() -> None:
    assert interval(measure(["a b"], ["a c"], "13a", ["bleu"])["bleu"]) == 0.0
