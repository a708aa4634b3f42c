"""fetch and prepare together: no row is lost, no sentence crosses a split, bytes are the same."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from hanyi.artifacts import digest_file
from hanyi.corpus import tables
from hanyi.corpus.cleaning.config import PrepareConfig
from hanyi.corpus.formats import FORMATS, PAIRED, text
from hanyi.corpus.keys import fold
from hanyi.corpus.pairs import SPLITS
from hanyi.corpus.pipeline import prepare
from hanyi.corpus.sources import FetchConfig, fetch_corpora
from hanyi.errors import DataError
from hanyi.languages import Languages
from hanyi.params import parse, read_params
from tests.written import LINES_INSIDE, PACK, WRITERS, Unit, names_of, read_as, sentences

PARAMS = read_params(Path(__file__).parents[2] / "params.yaml")
LANGUAGES = Languages(src="zh", tgt="en")
quick = settings(deadline=None, max_examples=40)

PIECES = [
    "a", "B.", "the ", "12", "好", "。", "你们", "𠮷", " ", "  ", "\u3000", "\xa0", "\u2028",
    "\x85", "\ufeff", "\ufffd", "\u200b", "\x7f", "e\u0301", "ﬁ", "Ａ", '"', "'", "\\", "\\n",
    "<b>", "</i>", "&amp;", "&quot;", "&", "<", ">", "{", "}", "#", "#~", ",", ";", "|", "%s",
    "https://a.bc/d",
    "\N{SOFT HYPHEN}", "аб", "かな", "！！！！！！！！！！！！！！！",
]  # fmt: skip


@dataclass(frozen=True)
class Project:
    """Two folders of tables, one made of the other."""

    raw: Path
    prepared: Path

    def rows(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = parquet.read_table(
            self.prepared / f"{name}.parquet"
        ).to_pylist()
        return found

    def digests(self) -> dict[str, str]:
        return {path.name: digest_file(path) for path in sorted(self.prepared.iterdir())}


@contextmanager
def project(files: dict[str, bytes], corpora: list[dict[str, Any]]) -> Iterator[Project]:
    """Write files and fetch them as corpora."""
    with tempfile.TemporaryDirectory() as place:
        inputs = Path(place, "inputs")
        inputs.mkdir()
        for name, content in files.items():
            (inputs / name).write_bytes(content)
        values = {**PARAMS["fetch"], "inputs": str(inputs), "corpora": corpora}
        found = Project(Path(place, "raw"), Path(place, "prepared"))
        fetch_corpora(parse("fetch", FetchConfig, values), LANGUAGES, found.raw)
        yield found


def prepared(files: Project, workers: int = 1, **values: Any) -> dict[str, Any]:
    split = {"valid": 3, "test": 5, "seed": 1}
    config = parse("prepare", PrepareConfig, {**PARAMS["prepare"], "split": split, **values})
    return prepare(files.raw, files.prepared, config, LANGUAGES, workers).metrics()


def any_text(format_: str) -> st.SearchStrategy[str]:
    pieces = PIECES + ["x\ny"] * (format_ in LINES_INSIDE)
    texts = st.lists(st.sampled_from(pieces), min_size=1, max_size=8).map("".join)
    return texts.filter(lambda found: bool(found.strip()))


def any_units(format_: str) -> st.SearchStrategy[list[Unit]]:
    """Draw pairs with dirt of every kind, and each fault of the reader."""
    texts, good = any_text(format_), st.sampled_from(sentences(40))
    faults = st.sampled_from([None, *FORMATS[format_].REASONS])
    dirty = st.one_of(
        st.tuples(texts, texts).map(lambda texts: Unit(*texts)),
        st.builds(lambda one, fault: one._replace(fault=fault), good, faults),
        st.builds(lambda one: Unit(one.tgt, one.src), good),
        st.builds(lambda one: Unit(one.tgt, one.tgt), good),
        st.builds(lambda one, dirt: Unit(one.src + dirt, dirt + one.tgt), good, texts),
        st.builds(lambda one: Unit(one.src, one.tgt.replace(" ", " \u200b\xa0")), good),
    )
    return st.lists(dirty, max_size=25)


@pytest.mark.parametrize("format_", FORMATS)
def test_every_fault_is_written(format_: str) -> None:
    """A new format, or a new fault of one, has to come with what makes it."""
    assert format_ in WRITERS
    assert len(names_of(format_)) == 1 + (format_ in PAIRED)
    units = sentences(20) + [
        sentences(1)[0]._replace(fault=one) for one in FORMATS[format_].REASONS
    ]
    with project(*corpus(format_, units, "")) as files:
        found = Counter(row["fault"] for row in raw_rows(files))
    assert found == Counter([None] * 20 + list(FORMATS[format_].REASONS))


def corpus(
    format_: str, units: Sequence[Unit], packing: str
) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    names = [name + packing for name in names_of(format_)]
    contents = map(PACK[packing], WRITERS[format_](units))
    source = names if len(names) > 1 else names[0]
    return dict(zip(names, contents, strict=True)), [{"name": "mine", "source": source}]


def raw_rows(files: Project) -> list[dict[str, Any]]:
    return [
        row for path in files.raw.glob("*.parquet") for row in parquet.read_table(path).to_pylist()
    ]


@pytest.mark.parametrize("format_", FORMATS)
@quick
@given(st.data())
def test_every_row_is_kept_or_rejected(format_: str, data: st.DataObject) -> None:
    dirty = data.draw(any_units(format_))
    units = sentences(40) + dirty
    last = data.draw(st.permutations(units[1:]))
    units = [units[0], *last]  # a first row that looks like a header is one
    packing = data.draw(st.sampled_from(sorted(PACK)))
    with project(*corpus(format_, units, packing)) as files:
        raw = raw_rows(files)
        metrics = prepared(files)
        kept = [row for split in SPLITS for row in files.rows(split)]
        rejected = files.rows("rejected")
    assert len(raw) == len(units) == len(kept) + len(rejected)
    assert Counter(row["fault"] for row in raw) == Counter(unit.fault for unit in units)
    read = [(row["src"], row["tgt"]) for row in raw if not row["fault"]]
    assert read == [
        (read_as(format_, unit.src), read_as(format_, unit.tgt)) for unit in units if not unit.fault
    ]
    assert len({row["id"] for row in kept}) == len(kept)
    assert all(0 <= row["id"] < len(units) for row in kept)
    # What is not kept is rejected as it was read, wherever that was.
    places = {row["id"] for row in kept}
    lines = Counter((row["line"], row["src"], row["tgt"]) for row in rejected)
    assert sum(lines.values()) == len(raw) - len(places)
    reasons = Counter(row["reason"] for row in rejected)
    assert all(reasons[unit.fault] for unit in units if unit.fault)
    assert metrics["rows"] == {"read": len(raw), "kept": len(kept), "rejected": len(rejected)}
    assert {name: count for name, count in metrics["rejected"].items() if count} == reasons
    event(f"{len(reasons)} reasons")


def shingles(sentence: str) -> set[bytes]:
    data = fold(sentence).encode()
    if len(data) < 6:
        return {data} - {b""}
    begins = [place for place in range(len(data) - 5) if data[place] & 0xC0 != 0x80]
    return {data[place : place + 6] for place in begins}


def near(one: set[bytes], other: set[bytes], share: float) -> bool:
    return bool(one and other) and len(one & other) >= share * len(one | other)


CHANGES = [
    str.upper, lambda one: one + "!!", lambda one: "  " + one, lambda one: one.replace("a", "ａ"),
    lambda one: one + " and", lambda one: one[:-3], lambda one: one[2:], lambda one: one * 2,
]  # fmt: skip
sides = st.builds(
    lambda at, side, changes: (at, side, changes),
    st.integers(0, 59), st.sampled_from([0, 1]), st.lists(st.sampled_from(CHANGES), max_size=2),
)  # fmt: skip


def mixed(first: tuple[int, int, Any], second: tuple[int, int, Any]) -> Unit:
    """Make a pair of two sentences of whatever language, each changed a little."""
    texts = []
    for at, side, changes in (first, second):
        sentence = sentences(60)[at][side] or ""
        for change in changes:
            sentence = change(sentence)
        texts.append(sentence)
    return Unit(*texts)


some = st.lists(st.builds(mixed, sides, sides), max_size=20)
RULES = [{"rule": "spaces"}, {"rule": "empty"}]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["train", "valid", "test"]), some),
             max_size=4, unique_by=lambda part: part[:2]),
    some,
    st.sampled_from([None, 0.6, 0.8, 1.0]),
    st.sampled_from(["exact", "folded", "none"]),
)  # fmt: skip
def test_no_sentence_crosses_a_split(
    parts: list[tuple[str, str, list[Unit]]], more: list[Unit], share: float | None, duplicates: str
) -> None:
    parts = [("a", "all", sentences(60) + more), *(part for part in parts if part[2])]
    files = {f"{name}.{role}.tsv": WRITERS["tsv"](units)[0] for name, role, units in parts}
    corpora = [
        {"name": name, "source": f"{name}.{role}.tsv", "role": role, "encoding": "utf-8"}
        for name, role, _ in parts
    ]
    # Sentences of both languages stand on both sides here, which every other check would refuse.
    with patch("hanyi.corpus.formats.tabular.check_sides"), project(files, corpora) as found:
        try:
            prepared(found, rules=RULES, duplicates=duplicates, leaks={"near": share})
        except DataError as error:
            event("refused")
            assert "hang together" in str(error) or "rows left" in str(error)  # noqa: PT017
            return
        split = {name: found.rows(name) for name in SPLITS}
    event("divided")
    texts = {
        name: [row[side] for row in rows for side in ("src", "tgt")] for name, rows in split.items()
    }
    keys = {name: set(map(fold, of)) for name, of in texts.items()}
    assert not keys["train"] & (keys["valid"] | keys["test"])
    assert not keys["valid"] & keys["test"]
    given_rows = Counter(
        (name, role) for name, role, units in parts for _ in units if role == "test"
    )
    for (name, _), count in given_rows.items():
        assert sum(row["corpus"] == name for row in split["test"]) == count
    if share is not None:
        held = [shingles(one) for one in texts["valid"] + texts["test"]]
        for sentence in texts["train"]:
            ours = shingles(sentence)
            assert not any(near(ours, other, share) for other in held)
        if all(role in {"all", "train"} for _, role, _ in parts):
            tests = list(map(shingles, texts["test"]))
            valid = list(map(shingles, texts["valid"]))
            assert not any(near(one, other, share) for one in valid for other in tests)


@settings(deadline=None, max_examples=8)
@given(st.data(), st.sampled_from(sorted(FORMATS)))
def test_bytes_depend_on_neither_workers_nor_blocks(data: st.DataObject, format_: str) -> None:
    units = sentences(40) + data.draw(any_units(format_))
    files, [entry] = corpus(format_, units, "")
    extra = {"more.tsv": WRITERS["tsv"](sentences(60)[30:])[0]}
    corpora = [entry, {"name": "more", "source": "more.tsv", "role": "train"}]
    found, fetched = [], []
    for rows, size, workers in ((5, 64, 1), (5, 1 << 23, 3), (64, 64, 3), (64, 1 << 23, 1)):
        with (
            patch.object(tables, "ROW_GROUP", rows),
            patch.object(text, "BLOCK_BYTES", size),
            project({**files, **extra}, corpora) as one,
            patch.object(tables, "ROW_GROUP", 16),  # the groups of what is written are in the bytes
        ):
            fetched.append({path.name: digest_file(path) for path in one.raw.iterdir()})
            prepared(one, workers)
            found.append(one.digests())
    assert found[1:] == found[:1] * 3
    assert fetched[0] == fetched[1]
    assert fetched[2] == fetched[3]
