"""Splits are exact, deterministic and blind to row order; keys say which sentences are the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from hanyi.corpus.leaks import fold, sentence_key
from hanyi.corpus.splits import CLUSTER_SHARE, Keys, split_off
from hanyi.errors import DataError


def keys(*pairs: tuple[str, str]) -> list[Keys]:
    return [(sentence_key(src), sentence_key(tgt)) for src, tgt in pairs]


def numbered(count: int) -> list[tuple[str, str]]:
    return [(f"句子{number}", f"sentence {number}") for number in range(count)]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Hello, world!", "hello world", True),
        ("你好。", "你好！", True),
        ("ＡＢＣ１", "abc1", True),
        ("a\u200bb", "ab", True),
        ("STRASSE", "straße", True),
        ("!", "?", False),
        ("...", "...", True),
        ("C++", "C", False),
        ("हिन्दी", "हनद", False),
        ("I don't know", "I do know", False),
    ],
)
def test_same_sentence(one: str, other: str, same: bool) -> None:
    assert (sentence_key(one) == sentence_key(other)) is same


def test_fold_never_gives_nothing_for_something() -> None:
    assert fold("—") == "—"
    assert fold("") == ""


def test_exact_sizes_and_no_crossing() -> None:
    pairs = numbered(300)
    pairs += [(src, f"{tgt} again") for src, tgt in pairs[:60]]
    pairs += [(f"{src}又", tgt) for src, tgt in pairs[:30]]
    rows = keys(*pairs)
    chosen = split_off("mine", rows, {"test": 40, "valid": 20}, seed=1)
    sizes = [list(chosen.values()).count(split) for split in ("test", "valid")]
    assert sizes == [40, 20]
    places: dict[bytes, set[str]] = {}
    for number, row in enumerate(rows):
        for key in row:
            places.setdefault(key, set()).add(chosen.get(number, "train"))
    assert all(len(splits) == 1 for splits in places.values())


def test_chains_hold_together() -> None:
    chain = [("a", "1"), ("a", "2"), ("b", "2"), ("b", "3"), ("c", "3")]
    chosen = split_off("mine", keys(*chain, *numbered(5)), {"test": 5}, seed=1)
    assert not any(number in chosen for number in range(len(chain)))


def test_order_of_rows_does_not_matter_but_seed_does() -> None:
    pairs = numbered(200)
    wanted = {"test": 30, "valid": 30}

    def choice(rows: list[tuple[str, str]], seed: int) -> dict[tuple[str, str], str]:
        chosen = split_off("mine", keys(*rows), wanted, seed)
        return {rows[number]: split for number, split in chosen.items()}

    shuffled = pairs[:]
    Random(5).shuffle(shuffled)
    assert choice(pairs, 1) == choice(shuffled, 1)
    assert choice(pairs, 1) != choice(pairs, 2)


def test_one_large_group_does_not_fill_a_split() -> None:
    size = 40
    cluster = [("都一样", f"the same {number}") for number in range(size // CLUSTER_SHARE + 1)]
    for seed in range(20):
        chosen = split_off("mine", keys(*cluster, *numbered(60)), {"test": size}, seed)
        assert not any(number in chosen for number in range(len(cluster)))


def test_a_large_group_is_taken_when_nothing_else_fills_it() -> None:
    clusters = [(f"都一样{number // 3}", f"the same {number}") for number in range(30)]
    chosen = split_off("mine", keys(*clusters, *numbered(2)), {"test": 8}, seed=1)
    assert len(chosen) == 8


def test_groups_that_do_not_fit_exactly_leave_a_split_a_little_smaller() -> None:
    twins = [(f"双{number // 2}", f"one of two {number}") for number in range(60)]
    assert len(split_off("mine", keys(*twins), {"test": 15}, seed=1)) == 14


def test_rows_that_hang_together_cannot_be_split() -> None:
    cluster = [("都一样", f"the same {number}") for number in range(10)]
    with pytest.raises(DataError, match=r"corpus mine.*common sentences.*prepare\.split"):
        split_off("mine", keys(*cluster), {"test": 3}, seed=1)


def test_hash_seed_does_not_matter(root: Path) -> None:
    code = (
        "from hanyi.corpus.leaks import sentence_key as k;"
        "from hanyi.corpus.splits import split_off;"
        "rows = [(k(f's{i}'), k(f't{i // 2}')) for i in range(99)];"
        "print(sorted(split_off('mine', rows, {'test': 20, 'valid': 8}, 1).items()))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": str(root / "src"), "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
