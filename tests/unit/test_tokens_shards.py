"""Shards give back what was written, from the mapped file, and any damage is found at open."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanyi.artifacts import digest_file
from hanyi.errors import ArtifactError
from hanyi.tokens.flat import Flat
from hanyi.tokens.shards import EncodedSplit, encoded_rows, write_shards

FIELDS = {
    "corpora": ["everyday", "hsk"],
    "weights": {"everyday": 1, "hsk": 2.5},
    "src_vocab": 65_535,
    "tgt_vocab": 400,
    "src_tokenizer": "a" * 32,
    "tgt_tokenizer": "b" * 32,
}

Row = tuple[int, int, list[int], list[int]]


def made_rows(count: int, seed: int = 0) -> list[Row]:
    draw = np.random.default_rng(seed)
    return [
        (
            3 * number,
            int(draw.integers(2)),
            draw.integers(4, 65_535, draw.integers(0, 12)).tolist(),
            draw.integers(4, 400, draw.integers(0, 12)).tolist(),
        )
        for number in range(count)
    ]


def write(directory: Path, rows: list[Row], *, block: int = 7, shard_rows: int = 1000) -> Path:
    directory.mkdir()
    blocks = (
        encoded_rows(ids, corpus, Flat.of(src), Flat.of(tgt))
        for first in range(0, len(rows), block)
        for ids, corpus, src, tgt in [zip(*rows[first : first + block], strict=True)]
    )
    write_shards(directory, blocks, shard_rows=shard_rows, fields=FIELDS)
    return directory


@pytest.mark.parametrize("shard_rows", [1, 6, 7, 20, 50, 1000])
def test_rows_come_back(tmp_path: Path, shard_rows: int) -> None:
    rows = made_rows(50)
    split = EncodedSplit.open(write(tmp_path / "train", rows, shard_rows=shard_rows))
    assert split.rows == 50
    assert len(list((tmp_path / "train").glob("*.arrow"))) == -(-50 // shard_rows)
    assert split.corpora == ("everyday", "hsk")
    assert split.weights == (1.0, 2.5)
    assert split.ids.tolist() == [row[0] for row in rows]
    assert split.corpus.tolist() == [row[1] for row in rows]
    assert [split.src(at).tolist() for at in range(50)] == [row[2] for row in rows]
    assert [split.tgt(at).tolist() for at in range(50)] == [row[3] for row in rows]
    assert split.src_lengths.tolist() == [len(row[2]) for row in rows]
    assert split.tgt_lengths.tolist() == [len(row[3]) for row in rows]
    assert (split.src_vocab, split.tgt_vocab) == (65_535, 400)
    assert (split.src_tokenizer, split.tgt_tokenizer) == ("a" * 32, "b" * 32)


def test_types_are_those_of_the_contract(tmp_path: Path) -> None:
    split = EncodedSplit.open(write(tmp_path / "train", made_rows(20), shard_rows=8))
    assert split.ids.dtype == np.int64
    assert split.corpus.dtype == np.uint8
    assert split.src(0).dtype == split.tgt(0).dtype == np.uint16
    assert split.src_lengths.dtype == split.tgt_lengths.dtype == np.int32


def test_tokens_are_views_of_the_file(tmp_path: Path) -> None:
    split = EncodedSplit.open(write(tmp_path / "train", made_rows(20)))
    views = [split.src(3), split.tgt(3), split.ids]
    assert not any(view.flags.owndata or view.flags.writeable for view in views)
    assert np.shares_memory(split.src(3), split._src[0].values)


@pytest.mark.parametrize("shard_rows", [1, 7, 1000])
def test_rows_are_gathered_in_any_order(tmp_path: Path, shard_rows: int) -> None:
    rows = made_rows(50)
    split = EncodedSplit.open(write(tmp_path / "train", rows, shard_rows=shard_rows))
    for wanted in ([], [49, 3, 3, 0, 12, 7, 6], list(range(50))):
        numbers = np.array(wanted, np.int64)
        assert split.src_flat(numbers).tolist() == [i for row in wanted for i in rows[row][2]]
        assert split.tgt_flat(numbers).tolist() == [i for row in wanted for i in rows[row][3]]


def test_shards_do_not_depend_on_the_blocks(tmp_path: Path) -> None:
    rows = made_rows(50)
    digests = set()
    for block in (1, 7, 20, 50):
        directory = write(tmp_path / str(block), rows, block=block, shard_rows=20)
        digests.add(tuple(digest_file(file) for file in sorted(directory.iterdir())))
    assert len(digests) == 1
    assert len(digests.pop()) == 4


def test_digest_stands_for_the_content(tmp_path: Path) -> None:
    def digest(name: str, seed: int) -> str:
        return EncodedSplit.open(write(tmp_path / name, made_rows(20, seed))).digest

    assert digest("a", 0) == digest("b", 0) != digest("c", 1)


def test_index_counts(tmp_path: Path) -> None:
    rows = made_rows(50)
    write(tmp_path / "train", rows, shard_rows=20)
    index = json.loads((tmp_path / "train/index.json").read_text(encoding="utf-8"))
    assert index["rows"] == 50
    assert index["src_tokens"] == sum(len(row[2]) for row in rows)
    assert index["tgt_tokens"] == sum(len(row[3]) for row in rows)
    assert [file["rows"] for file in index["files"]] == [20, 20, 10]
    for file in index["files"]:
        assert file["digest"] == digest_file(tmp_path / "train" / file["path"])


def test_a_split_may_be_empty(tmp_path: Path) -> None:
    split = EncodedSplit.open(write(tmp_path / "test", []))
    assert split.rows == 0
    assert split.src_lengths.tolist() == []


@pytest.mark.parametrize("row", [-1, 20])
def test_no_such_row(tmp_path: Path, row: int) -> None:
    split = EncodedSplit.open(write(tmp_path / "train", made_rows(20), shard_rows=8))
    with pytest.raises(IndexError, match=f"row {row} of 20"):
        split.src(row)


@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.999])
@pytest.mark.parametrize("shard", ["00000.arrow", "00001.arrow"])
def test_a_flipped_byte_is_found(tmp_path: Path, shard: str, place: float) -> None:
    path = write(tmp_path / "train", made_rows(20), shard_rows=10) / shard
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        ArtifactError, match=rf"{shard}: a broken or foreign file, expected the dig"
    ):
        EncodedSplit.open(tmp_path / "train")


def _cut(directory: Path) -> None:
    path = directory / "00000.arrow"
    path.write_bytes(path.read_bytes()[:-10])


def _edit(**changes: Any) -> Callable[[Path], None]:
    def edit(directory: Path) -> None:
        path = directory / "index.json"
        index = json.loads(path.read_text(encoding="utf-8")) | changes
        left = {key: value for key, value in index.items() if value is not None}
        path.write_text(json.dumps(left), encoding="utf-8")

    return edit


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (_cut, r"00000\.arrow: a broken or foreign file"),
        (lambda directory: (directory / "00001.arrow").unlink(), r"00001\.arrow: no such file"),
        (lambda directory: (directory / "index.json").unlink(), r"index\.json: no such file"),
        (lambda directory: (directory / "index.json").write_bytes(b"{"), "broken JSON"),
        (_edit(version=1), "hanyi.encoded version 1, expected hanyi.encoded version 2"),
        (_edit(kind="hanyi.raw"), "hanyi.raw version 2, expected hanyi.encoded version 2"),
        (_edit(src_vocab=None), "no usable 'src_vocab'"),
        (_edit(weights=None), "no usable 'weights'"),
        (_edit(weights={"hsk": 1}), "no usable 'everyday'"),
        (_edit(files=None), "no usable 'files'"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, damage: Callable[[Path], Any], line: str) -> None:
    directory = write(tmp_path / "train", made_rows(20), shard_rows=10)
    damage(directory)
    with pytest.raises(ArtifactError, match=line) as caught:
        EncodedSplit.open(directory)
    assert "\n" not in str(caught.value)
    assert "dvc repro" in str(caught.value)


def test_shards_of_another_run_are_found(tmp_path: Path) -> None:
    directory = write(tmp_path / "train", made_rows(20))
    other = write(tmp_path / "other", made_rows(20, seed=1))
    (other / "00000.arrow").replace(directory / "00000.arrow")
    with pytest.raises(ArtifactError, match="a broken or foreign file"):
        EncodedSplit.open(directory)


def test_mixed_tokenizers_are_found(tmp_path: Path) -> None:
    split = EncodedSplit.open(write(tmp_path / "train", made_rows(20)))
    split.require_tokenizers("a" * 32, "b" * 32)
    with pytest.raises(
        ArtifactError, match="tokens of src tokenizer aaaaaaaa, expected those of b"
    ):
        split.require_tokenizers("b" * 32, "b" * 32)
    with pytest.raises(
        ArtifactError, match="tokens of tgt tokenizer bbbbbbbb, expected those of a"
    ):
        split.require_tokenizers("a" * 32, "a" * 32)
