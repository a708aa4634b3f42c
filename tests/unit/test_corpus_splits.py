"""Splits are exact, deterministic and blind to row order, and no sentence crosses them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from hanyi.corpus.digests import DigestStore
from hanyi.corpus.keys import fold_column, sentence_keys
from hanyi.corpus.near import NearIndex
from hanyi.corpus.shingles import Numbers
from hanyi.corpus.splits import CLUSTER_SHARE, FindNear, split_off
from hanyi.errors import DataError

Pairs = Sequence[tuple[str, str]]


def split(
    folder: Path,
    pairs: Pairs,
    wanted: dict[str, int],
    seed: int = 1,
    *,
    near: FindNear | None = None,
    outside: int = 0,
) -> dict[str, list[int]]:
    """Split pairs that stand behind some rows of another corpus with the same sentences."""
    rows = [*pairs[:outside], *pairs]
    stores = [DigestStore(folder / side) for side in ("src", "tgt")]
    for side, store in enumerate(stores):
        with store:
            store.append(sentence_keys(pa.array([pair[side] for pair in rows])))
    pool = np.arange(len(rows)) >= outside
    chosen = split_off("mine", stores, pool, wanted, seed, find_near=near)
    return {name: (found - outside).tolist() for name, found in chosen.items()}


def numbered(count: int) -> list[tuple[str, str]]:
    return [(f"句子{number}", f"sentence {number}") for number in range(count)]


@pytest.mark.parametrize("outside", [0, 7])
def test_exact_sizes_and_no_crossing(tmp_path: Path, outside: int) -> None:
    pairs = numbered(300)
    pairs += [(src, f"{tgt} again") for src, tgt in pairs[:60]]
    pairs += [(f"{src}又", tgt) for src, tgt in pairs[:30]]
    pairs += [("sentence 40.", "the other way round")]
    chosen = split(tmp_path, pairs, {"test": 40, "valid": 20}, outside=outside)
    assert {name: len(rows) for name, rows in chosen.items()} == {"test": 40, "valid": 20}
    split_of = {row: name for name, rows in chosen.items() for row in rows}
    places: dict[str, set[str]] = {}
    for row, pair in enumerate(pairs):
        for text in pair:
            places.setdefault(text.strip("."), set()).add(split_of.get(row, "train"))
    assert all(len(splits) == 1 for splits in places.values())


def test_chains_hold_together(tmp_path: Path) -> None:
    chain = [("a", "1"), ("a", "2"), ("b", "2"), ("b", "3"), ("c", "3")]
    chosen = split(tmp_path, [*chain, *numbered(5)], {"test": 5})
    assert chosen == {"test": list(range(5, 10))}


def test_order_of_rows_does_not_matter_but_seed_does(tmp_path: Path) -> None:
    pairs = numbered(200)
    shuffled = pairs[:]
    Random(5).shuffle(shuffled)

    def choice(rows: Pairs, seed: int) -> dict[str, set[tuple[str, str]]]:
        chosen = split(tmp_path, rows, {"test": 30, "valid": 30}, seed)
        return {name: {rows[number] for number in found} for name, found in chosen.items()}

    assert choice(pairs, 1) == choice(shuffled, 1)
    assert choice(pairs, 1) != choice(pairs, 2)


def test_one_large_group_does_not_fill_a_split(tmp_path: Path) -> None:
    size = 40
    cluster = [("都一样", f"the same {number}") for number in range(size // CLUSTER_SHARE + 1)]
    for seed in range(20):
        [rows] = split(tmp_path, [*cluster, *numbered(60)], {"test": size}, seed).values()
        assert min(rows) >= len(cluster)


def test_a_large_group_is_taken_when_nothing_else_fills_it(tmp_path: Path) -> None:
    clusters = [(f"都一样{number // 3}", f"the same {number}") for number in range(30)]
    assert len(split(tmp_path, [*clusters, *numbered(2)], {"test": 8})["test"]) == 8


def test_groups_that_do_not_fit_exactly_leave_a_split_a_little_smaller(tmp_path: Path) -> None:
    twins = [(f"双{number // 2}", f"one of two {number}") for number in range(60)]
    assert len(split(tmp_path, twins, {"test": 15})["test"]) == 14


def test_rows_that_hang_together_cannot_be_split(tmp_path: Path) -> None:
    cluster = [("都一样", f"the same {number}") for number in range(10)]
    with pytest.raises(DataError, match=r"corpus mine.*common sentences.*prepare\.split"):
        split(tmp_path, cluster, {"test": 3})


def test_near_duplicates_stay_together(tmp_path: Path) -> None:
    pairs = [
        (f"{chr(0x4E00 + 40 * row)}{row}", f"It was {row * 7919} o'clock.") for row in range(80)
    ]
    longer = "We walked slowly along the river and talked about our plans for {} until it was dark."
    pairs += [(f"甲{row}", longer.format(f"the year {row}")) for row in range(4)]
    targets = fold_column(pa.array([tgt for _, tgt in pairs]))
    asked: list[int] = []

    def find_near(rows: Numbers) -> Numbers:
        asked.extend(rows.tolist())
        pairs = NearIndex(targets.take(pa.array(rows)), 0.8).pairs(targets)
        return np.stack((pairs[:, 0], rows[pairs[:, 1]]), axis=1)

    together = 0
    for seed in range(12):
        [rows] = split(tmp_path, pairs, {"test": 40}, seed, near=find_near).values()
        assert len(rows) == 40
        assert len({80, 81, 82, 83} & set(rows)) in {0, 4}
        together += 80 in rows
    assert together == 0, "four rows are more than a twentieth of 40"


def test_kin_that_grow_without_end_stay_in_train(tmp_path: Path) -> None:
    """Row n is near n + 1: whoever is chosen brings another one, round after round."""
    rows = numbered(200)

    def chain(rows: Numbers) -> Numbers:
        links = np.concatenate([np.stack((rows + step, rows), axis=1) for step in (-1, 1)])
        return links[(links[:, 0] >= 0) & (links[:, 0] < 100) & (links[:, 1] < 100)]

    [chosen] = split(tmp_path, rows, {"test": 40}, near=chain).values()
    assert len(chosen) == 40
    assert min(chosen) >= 100
    with pytest.raises(DataError, match="near-duplicates"):
        split(tmp_path, rows, {"test": 120}, near=chain)


def test_nothing_is_asked_where_nothing_is_wanted(tmp_path: Path) -> None:
    def find_near(rows: Numbers) -> Numbers:
        raise AssertionError

    assert split(tmp_path, numbered(3), {"test": 0}, near=find_near) == {"test": []}


def test_hash_seed_does_not_matter(root: Path, tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np, pyarrow as pa; from pathlib import Path;"
        "from hanyi.corpus.keys import sentence_keys as k;"
        "from hanyi.corpus.digests import DigestStore as D;"
        "from hanyi.corpus.splits import split_off;"
        "stores = [D(Path(sys.argv[1]) / side) for side in 'st'];"
        "[store.append(k(pa.array([f'{store.path.name}{i // 2}' for i in range(98)])))"
        " for store in stores];"
        "wanted = {'test': 20, 'valid': 8};"
        "chosen = split_off('mine', stores, np.ones(98, np.bool_), wanted, 1);"
        "print(chosen['test'].tolist(), chosen['valid'].tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            env={"PYTHONPATH": str(root / "src"), "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().split()) == 28
