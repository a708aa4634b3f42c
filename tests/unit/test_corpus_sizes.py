"""Lengths of sentences: counted right, whatever the blocks, and drawn."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pytest

from hanyi.corpus.size_charts import write_csv, write_pictures
from hanyi.corpus.sizes import RANGES, Sizes

TEXTS = ["我", "我们", "我们走", "", "a" * 12, "😀e\u0301", *["word"] * 5]


def counted(texts: list[str], block: int) -> Sizes:
    sizes = Sizes()
    for start in range(0, len(texts), block):
        sizes.add("train", "src", pa.array(texts[start : start + block]))
    return sizes


def table(path: Path, sizes: Sizes) -> list[dict[str, str]]:
    write_csv(path, sizes)
    return list(csv.DictReader(path.open(encoding="utf-8")))


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[::-1], [*TEXTS, "b" * 700], ["c" * 4999, "d" * 10]])
def test_shares_are_those_of_the_characters(tmp_path: Path, texts: list[str]) -> None:
    rows = table(tmp_path / "lengths.csv", counted(texts, 4))
    begins = [int(row["chars"]) for row in rows]
    assert len(begins) <= RANGES + 1
    for begin, after, row in zip(begins, [*begins[1:], 10**9], rows, strict=True):
        share = sum(begin <= len(text) < after for text in texts) / len(texts)
        assert float(row["train_src"]) == pytest.approx(share, abs=1e-6)
        assert float(row["test_tgt"]) == 0


def test_the_last_range_holds_the_few_that_are_longer(tmp_path: Path) -> None:
    texts = [*["x" * (number % 40) for number in range(5000)], "y" * 100_000]
    rows = table(tmp_path / "lengths.csv", counted(texts, 999))
    assert int(rows[-1]["chars"]) < 100
    assert sum(float(row["train_src"]) for row in rows) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("texts", [[], [""], TEXTS, ["x" * 5000]])
def test_blocks_leave_no_trace(tmp_path: Path, texts: list[str]) -> None:
    files = []
    for block in (1, 100):
        sizes = counted(texts, block)
        write_csv(tmp_path / "lengths.csv", sizes)
        write_pictures(tmp_path, sizes)
        names = ("lengths.csv", "lengths.png", "lengths.svg")
        files.append([(tmp_path / name).read_bytes() for name in names])
    assert files[0] == files[1]
