"""Cases to try: files of every format, spoilt or not, and an entry that may say it wrong."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from hanyi.corpus.formats import FORMATS, PAIRED
from hanyi.corpus.formats.text import ENCODINGS
from tests.fuzz.mutations import mutate
from tests.written import PACK, WRITERS, Unit, names_of, sentences

TEXT = ("tsv", "csv", "moses", "jsonl", "sgm")
"""Formats whose encoding is found out, and not told by the file."""

OTHERS = ("gb18030", "utf-16", "utf-16-be", "big5", "utf-8-sig", "cp932")
COLUMNS = [
    0,
    1,
    2,
    3,
    7,
    "zh",
    "en",
    "src",
    "id",
    "msgid",
    "msgstr",
    "translation.zh",
    "a.b.c",
    "",
    ".",
]
SUFFIXES = [".tsv", ".csv.gz", ".po", ".tmx", ".parquet", "", ".jsonl.zst", ".sgm", ".zip"]
LARGE = 20_000
LONG = 500
"""Bytes and lines of a file that is not cut into tiny blocks, which would take for ever."""

MORE_RULES = [
    {"rule": "han", "variant": "simplified"},
    {"rule": "words", "least": 1, "most": 200},
    {"rule": "mixed_han"},
    {"rule": "fragments", "words": 3},
    {"rule": "unicode", "form": "NFKC"},
]


@dataclass
class Case:
    """Files with an entry for them, and how both stages are set."""

    number: int
    format: str
    files: dict[str, bytes]
    entry: dict[str, Any]
    block_bytes: int
    row_group: int
    rules: list[dict[str, Any]] = field(default_factory=list)
    near_duplicates: float | None = None

    def __str__(self) -> str:
        """Say what is declared, for the log."""
        said = {key: value for key, value in self.entry.items() if key != "name"}
        return f"case {self.number} ({self.format}, {said})"


def make_case(seed: int, number: int) -> Case:
    """Give the case of that number, which is the same whenever it is asked for."""
    random = Random(f"{seed}:{number}")
    format_ = random.choice(sorted(FORMATS))
    contents = random.choice(_seeds(format_))
    packing = random.choice(["", "", "", *PACK])
    spoilt = random.random()
    if spoilt < 0.8:
        contents = _spoil(contents, random)
    large = any(len(one) > LARGE or one.count(b"\n") > LONG for one in contents)
    contents = [PACK[packing](content) for content in contents]
    if 0.75 < spoilt < 0.9:
        contents = _spoil(contents, random)
        large = large or max(map(len, contents)) > LARGE
    names = [name + packing for name in names_of(format_)]
    if random.random() < 0.1:
        names = [f"{place}{random.choice(SUFFIXES)}" for place in range(len(names))]
    source: Any = names if len(names) > 1 else names[0]
    if len(names) > 1 and random.random() < 0.1:
        source = names[::-1] if random.random() < 0.5 else names[0]
    return Case(
        number=number,
        format=format_,
        files=dict(zip(names, contents, strict=True)),
        entry={"name": "mine", "source": source, **_said(format_, random)},
        block_bytes=1 << 23 if large else random.choice([2, 64, 1000, 1 << 23]),
        row_group=1 << 16 if large else random.choice([3, 16, 1 << 16]),
        rules=[rule for rule in MORE_RULES if random.random() < 0.1],
        near_duplicates=random.choice([None, None, 0.9]),
    )


def _said(format_: str, random: Random) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if random.random() < 0.1:
        said["format"] = random.choice([*FORMATS, format_])
    if random.random() < 0.15:
        said["encoding"] = random.choice(ENCODINGS)
    if random.random() < 0.1:
        said["delimiter"] = random.choice(
            [",", ";", "|", " ", "\t", "，", "a", "\0", "\x80", "\u2028"]
        )
    if random.random() < 0.1:
        said["src_column"] = random.choice(COLUMNS)
    if random.random() < 0.1:
        said["tgt_column"] = random.choice(COLUMNS)
    if random.random() < 0.1:
        said["header"] = random.random() < 0.7
    if random.random() < 0.1:
        said["role"] = random.choice(["train", "all"])
    return said


def _spoil(contents: list[bytes], random: Random) -> list[bytes]:
    """Spoil one file of the two that some formats have, or both."""
    others = [
        content for format_ in sorted(FORMATS) for seed in _seeds(format_) for content in seed
    ]
    chosen = random.randrange(len(contents) + 1)
    return [
        content if number != chosen < len(contents) else mutate(content, others, random)
        for number, content in enumerate(contents)
    ]


@cache
def _seeds(format_: str) -> list[list[bytes]]:
    """Give files that are fine, in several encodings where the format leaves that open."""
    faults = [Unit(*sentences(1)[0][:2], fault) for fault in FORMATS[format_].REASONS]
    inside = [Unit("“你好”，他说。", '"Hello," he said; & <left>.'), Unit("3\\4", "3\\4 {x}")]
    write = WRITERS[format_]
    found = [write(sentences(25)), write([*sentences(25), *inside, *faults, *sentences(8)])]
    if format_ in TEXT:
        plain = [content.decode() for content in write([*sentences(25), *inside])]
        found += [[text.encode(name, "ignore") for text in plain] for name in OTHERS]
    if format_ == "tmx":
        text = write(sentences(9))[0].decode().replace("UTF-8", "UTF-16")
        found.append([text.encode("utf-16")])
    if format_ == "po":
        plural = '\n#, c-format\nmsgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d 个文件"\n'
        head = b'msgid ""\nmsgstr "Language: zh\\n"\n"Plural-Forms: nplurals=1; plural=0;\\n"\n'
        found.append([head + plural.encode() * 9 + write(sentences(9))[0].partition(b"\n\n")[2]])
    if format_ == "parquet":
        found += [[_table(**options)] for options in (
            {"compression": "zstd", "row_group_size": 5}, {"use_dictionary": False},
            {"version": "1.0", "data_page_version": "2.0", "write_page_index": True},
        )]  # fmt: skip
    assert all(len(files) == 1 + (format_ in PAIRED) for files in found)
    return found


def _table(**options: Any) -> bytes:
    """Give a table with both sides in a struct, as Hugging Face has them."""
    pairs = [{"zh": src, "en": tgt} for src, tgt, _ in sentences(20)]
    file = io.BytesIO()
    columns = {"id": pa.array(range(20)), "translation": pa.array(pairs)}
    parquet.write_table(pa.table(columns), file, **options)
    return file.getvalue()
