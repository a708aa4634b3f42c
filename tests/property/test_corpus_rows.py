"""No row is lost and no sentence crosses a split, whatever the bytes."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import event, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from hanyi.corpus.cleaning import PrepareConfig, SplitConfig
from hanyi.corpus.formats import FORMATS
from hanyi.corpus.formats.text import ENCODINGS, GZIP, PACKED
from hanyi.corpus.leaks import sentence_key
from hanyi.corpus.pairs import RawFile, write_list
from hanyi.corpus.pipeline import prepare
from hanyi.errors import DataError

PIECES = [
    "a", "B.", "好", "。", "\t", ",", '"', '""', "\n", "\r\n", "\r", "\0", "\u2028", "\x85", "\x0b",
    "\x0c", "\u3000", "\xa0", " ", "\ufeff", "e\u0301", "𠮷", "😀",
]  # fmt: skip
messy = (
    st.lists(
        st.one_of(
            st.sampled_from([piece.encode("utf-8") for piece in PIECES]), st.binary(max_size=3)
        ),
        max_size=60,
    )
    .map(b"".join)
    .filter(lambda content: not content.startswith((GZIP, *PACKED)))
)


def describe(role: str, path: str, format_: str, encoding: str = "utf-8") -> RawFile:
    return RawFile(
        corpus="mine",
        role=role,
        path=path,
        format=format_,
        delimiter="\t" if format_ == "tsv" else ",",
        src_column=0,
        tgt_column=1,
        columns=2,
        header=False,
        encoding=encoding,
        source=path,
    )


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def line_count(content: bytes) -> int:
    content = content.removeprefix(b"\xef\xbb\xbf")
    return content.count(b"\n") + (not content.endswith(b"\n") and content != b"")


@settings(deadline=None)
@given(messy)
def test_every_tsv_line_is_one_row(content: bytes) -> None:
    with folder() as place:
        (place / "x").write_bytes(content)
        rows = list(FORMATS["tsv"].read(place / "x", describe("train", "x", "tsv")))
    assert [row.line for row in rows] == list(range(1, line_count(content) + 1))


@settings(deadline=None)
@given(messy, st.sampled_from([name for name in ENCODINGS if not name.startswith("utf-16")]))
def test_no_encoding_eats_line_ends(content: bytes, encoding: str) -> None:
    with folder() as place:
        (place / "x").write_bytes(content)
        rows = list(FORMATS["tsv"].read(place / "x", describe("train", "x", "tsv", encoding)))
    lines = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    assert len(rows) in {lines, line_count(content)}


@settings(deadline=None)
@given(st.lists(st.sampled_from([*PIECES, "\ud800"]), max_size=40).map("".join))
def test_every_utf16_line_is_one_row(text: str) -> None:
    content = text.encode("utf-16-le", "surrogatepass")
    with folder() as place:
        (place / "x").write_bytes(content)
        rows = list(FORMATS["tsv"].read(place / "x", describe("train", "x", "tsv", "utf-16-le")))
    text = text.removeprefix("\ufeff")
    assert len(rows) == text.count("\n") + (not text.endswith("\n") and text != "")


@settings(deadline=None)
@given(messy)
def test_every_csv_line_belongs_to_one_row(content: bytes) -> None:
    with folder() as place:
        (place / "x").write_bytes(content)
        rows = list(FORMATS["csv"].read(place / "x", describe("train", "x", "csv")))
    total = line_count(content)
    starts = [row.line for row in rows]
    assert starts == sorted(set(starts))
    assert starts[:1] == [1][:total]
    if not rows:
        return
    for row, after in zip(rows, [*starts[1:], total + 1], strict=True):
        if row.fault in {"blank", "quotes"}:
            assert after == row.line + 1
        elif row.fault is None:  # only quoted line ends make a row longer
            assert after - row.line - 1 == (row.src + row.tgt).count("\n")


# Few distinct sentences in many spellings, so that rows meet each other.
numbers, ends = st.integers(0, 60), st.sampled_from(["", ".", "！", "\xa0"])
dirt = st.sampled_from(["", "x", "x\ty", "long enough", "\u2028"])
sources = st.builds("{}{}{}".format, st.sampled_from(["", "\u3000", "我"]), numbers, ends)
targets = st.builds("{} {}{}".format, st.sampled_from(["One", "one", " ONE"]), numbers, ends)
pairs = st.lists(st.tuples(sources | dirt, targets | dirt), min_size=15, max_size=60)


def config() -> PrepareConfig:
    return PrepareConfig(
        unicode="NFC", max_chars=9, length_ratio=(0.4, 7.0),
        split=SplitConfig(valid=2, test=3, seed=1),
    )  # fmt: skip


@settings(deadline=None, max_examples=40)
@given(pairs, pairs, pairs, messy)
def test_rows_add_up_and_no_sentence_crosses(
    given_train: list[tuple[str, str]],
    given_test: list[tuple[str, str]],
    whole: list[tuple[str, str]],
    extra: bytes,
) -> None:
    """Two corpora, one with a test file and one that is split here, and dirt in each."""
    with folder() as place:
        raw = place / "raw"
        raw.mkdir()
        parts = {"train": given_train, "test": given_test, "all": whole}
        files = [describe(role, role, "tsv") for role in parts]
        contents = {}
        for role, rows in parts.items():
            text = "".join(f"{src}\t{tgt}\n" for src, tgt in rows)
            contents[role] = text.encode("utf-8") + (extra if role != "test" else b"")
            (raw / role).write_bytes(contents[role])
        write_list(raw, files)
        try:
            funnel = prepare(raw, place / "prepared", config())
        except DataError as error:
            event("refused")
            assert re.search(r"rows (left|rejected|for)", str(error))  # noqa: PT017
            assert not (place / "prepared").exists()
            return
        event("prepared")
        tables = {
            name: parquet.read_table(place / "prepared" / f"{name}.parquet").to_pylist()
            for name in ("train", "valid", "test", "rejected")
        }
    read = sum(line_count(content) for content in contents.values())
    assert sum(map(len, tables.values())) == read == funnel.metrics()["rows"]["read"]
    rejected = tables.pop("rejected")
    assert len(rejected) == funnel.metrics()["rows"]["rejected"]
    ids = [row["id"] for rows in tables.values() for row in rows]
    assert len(set(ids)) == len(ids)
    sentences = {
        split: {sentence_key(row[side]) for row in rows for side in ("src", "tgt")}
        for split, rows in tables.items()
    }
    assert not sentences["train"] & (sentences["valid"] | sentences["test"])
    assert not sentences["valid"] & sentences["test"]
