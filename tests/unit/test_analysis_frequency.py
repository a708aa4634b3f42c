from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from hanyi.analysis.buckets import FREQUENCIES, LENGTHS, Buckets
from hanyi.analysis.frequency import WordCounts, by_frequency, rarest

VOCABULARY = {f"w{frequency}": frequency for frequency in (0, 1, 2, 4, 5, 9, 10, 99, 100, 5000)}


def test_every_number_lies_in_the_bucket_that_is_named_so() -> None:
    for buckets in (LENGTHS, FREQUENCIES, Buckets((0, 3))):
        labels = list(buckets.labels())
        assert len(labels) == len(buckets.begins)
        for value in [*range(130), 999, 1000, 10**9]:
            label = labels[buckets.places(np.array([value]))[0]]
            if label.endswith("+"):
                assert value >= int(label[:-1])
            else:
                first, _, last = label.partition("-")
                assert int(first) <= value <= int(last or first)


def test_counts_are_those_of_the_plain_definition() -> None:
    draw = random.Random(1)
    rows = [[draw.choices(list(VOCABULARY), k=draw.randint(0, 9)) for _ in "rh"] for _ in range(60)]
    labels = list(FREQUENCIES.labels())
    plain = {label: [0, 0, 0] for label in labels}
    for reference, hypothesis in rows:
        for word, frequency in VOCABULARY.items():
            label = labels[FREQUENCIES.places(np.array([frequency]))[0]]
            in_reference, in_hypothesis = reference.count(word), hypothesis.count(word)
            plain[label][0] += in_reference
            plain[label][1] += in_hypothesis
            plain[label][2] += min(in_reference, in_hypothesis)
    seen = {word: frequency for word, frequency in VOCABULARY.items() if frequency}
    counters = [[Counter(words) for words in row] for row in rows]
    found = by_frequency([row[0] for row in counters], [row[1] for row in counters], seen)
    assert dict(zip(labels, found, strict=True)) == {
        label: WordCounts(*counts) for label, counts in plain.items()
    }


def test_shares_of_words() -> None:
    counts = WordCounts(reference=8, hypothesis=4, both=2)
    assert (counts.precision, counts.recall) == (0.5, 0.25)
    assert counts.f1 == pytest.approx(2 * 0.5 * 0.25 / 0.75)
    assert (
        WordCounts(0, 0, 0).f1 == WordCounts(0, 3, 0).recall == WordCounts(3, 0, 0).precision == 0
    )


def test_the_rarest_word_of_a_row() -> None:
    rows = [Counter(["the", "cat", "the"]), Counter(["the", "unseen"]), Counter[str]()]
    assert rarest(rows, {"the": 500, "cat": 3}).tolist() == [3, 0, -1]
    assert by_frequency([], [], {}) == [WordCounts(0, 0, 0)] * len(FREQUENCIES.begins)
