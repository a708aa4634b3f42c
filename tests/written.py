"""Corpora of every format as other tools write them: pairs, and each fault that a reader may tell.

Every unit becomes one row when it is read with the settings of params.yaml: Chinese is the source,
English the target, and each stands where the reader looks for it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import NamedTuple
from xml.sax.saxutils import escape

import pyarrow as pa
from pyarrow import parquet

BROKEN = "\udcff"
"""Becomes the byte 0xff, which is no UTF-8."""


class Unit(NamedTuple):
    """A pair, or what is to be read with a fault."""

    src: str
    tgt: str
    fault: str | None = None


Units = Sequence[Unit]


def raw(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def tsv(units: Units) -> list[bytes]:
    def line(src: str, tgt: str, fault: str | None) -> str:
        return {
            None: f"{tgt}\t{src}",
            "blank": "\u3000 ",
            "columns": f"{tgt}\t{src}\t{src}",
            "encoding": f"{tgt}{BROKEN}\t{src}",
        }[fault]

    return [raw(*(line(*unit) for unit in units))]


def csv(units: Units) -> list[bytes]:
    def field(text: str) -> str:
        plain = not set(text) & set('",\n')
        return text if plain else '"{}"'.format(text.replace('"', '""'))

    def line(src: str, tgt: str, fault: str | None) -> str:
        return {
            None: f"{field(tgt)},{field(src)}",
            "blank": " ",
            "quotes": '"Go"on,走',
            "columns": f"{field(tgt)},{field(src)},{field(src)}",
            "encoding": f"{field(tgt + BROKEN)},{field(src)}",
        }[fault]

    return [raw(*(line(*unit) for unit in units))]


def moses(units: Units) -> list[bytes]:
    def line(text: str, fault: str | None) -> str:
        return {None: text, "blank": "", "encoding": text + BROKEN}[fault]

    return [
        raw(*(line(unit.src, unit.fault) for unit in units)),
        raw(*(line(unit.tgt, None if unit.fault == "encoding" else unit.fault) for unit in units)),
    ]


def tmx(units: Units) -> list[bytes]:
    def side(code: str, text: str) -> str:
        return f'<tuv xml:lang="{code}"><seg>{escape(text)}</seg></tuv>'

    def unit(src: str, tgt: str, fault: str | None) -> str:
        other = {None: side("en-US", tgt), "language": side("fr", tgt),
                 "encoding": side("en", tgt + BROKEN)}[fault]  # fmt: skip
        return f"<tu>{other}<note>one</note>{side('zh-CN', src)}</tu>"

    head = '<?xml version="1.0" encoding="UTF-8"?><tmx version="1.4"><header/><body>'
    return [raw(head, *(unit(*one) for one in units), "</body></tmx>")]


def jsonl(units: Units) -> list[bytes]:
    def line(src: str, tgt: str, fault: str | None) -> str:
        whole = json.dumps({"zh": src, "en": tgt}, ensure_ascii=len(src) % 2 == 0)
        return {
            None: whole,
            "blank": "",
            "json": whole[:-1],
            "columns": json.dumps({"zh": src, "en": None}),
            "encoding": whole.replace("{", "{" + f'"x": "{BROKEN}", ', 1),
        }[fault]

    return [raw(*(line(*unit) for unit in units))]


def table(units: Units) -> list[bytes]:
    file = io.BytesIO()
    sources = [None if one.fault == "columns" else one.src.encode() for one in units]
    targets = [one.tgt.encode() + b"\xff" * (one.fault == "encoding") for one in units]
    columns = {"en": pa.array(targets, pa.binary()), "zh": pa.array(sources, pa.binary())}
    parquet.write_table(pa.table(columns), file, row_group_size=11)
    return [file.getvalue()]


def po(units: Units) -> list[bytes]:
    def quoted(text: str) -> str:
        text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return '"{}"'.format(text.replace("\t", "\\t"))

    def entry(src: str, tgt: str, fault: str | None) -> str:
        mark = {"obsolete": "#~ ", "fuzzy": "#, fuzzy\n"}.get(str(fault), "")
        second = "#~ " if fault == "obsolete" else ""
        text = {"untranslated": "", "encoding": src + BROKEN}.get(str(fault), src)
        return f"{mark}msgid {quoted(tgt)}\n{second}msgstr {quoted(text)}\n"

    return [raw('msgid ""\nmsgstr "Language: zh_CN\\n"\n', *(entry(*unit) for unit in units))]


def sgm(units: Units) -> list[bytes]:
    files: list[bytes] = []
    for kind, side in (("srcset", "src"), ("refset", "tgt")):
        lines = [f'<{kind} setid="one">', '<doc docid="a" origlang="zh">']
        for number, unit in enumerate(units):
            text = getattr(unit, side) + BROKEN * (unit.fault == "encoding")
            lacks = kind == ("srcset" if number % 2 else "refset")
            if not (unit.fault == "unpaired" and lacks):
                end = "" if unit.fault == "unclosed" else "</seg>"
                lines.append(f'<seg id="{number}">{text}{end}')
        files.append(raw(*lines, "</doc>", f"</{kind}>"))
    return files


WRITERS: dict[str, Callable[[Units], list[bytes]]] = {
    "tsv": tsv,
    "csv": csv,
    "moses": moses,
    "tmx": tmx,
    "jsonl": jsonl,
    "parquet": table,
    "po": po,
    "sgm": sgm,
}
NAMES = {"moses": ["mine.zh", "mine.en"], "sgm": ["src.zh.sgm", "ref.en.sgm"]}
"""Names of the files of a format, where there are two."""

LINES_INSIDE = {"csv", "jsonl", "parquet", "tmx", "po"}
"""Formats in which a sentence can have line ends."""

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}
"""Packings by suffix."""


def names_of(format_: str) -> list[str]:
    return NAMES.get(format_, [f"mine.{format_}"])


def read_as(format_: str, text: str) -> str:
    """Give a text as its reader does: in SGM any run of white space is one space."""
    return re.sub(r"\s+", " ", text).strip() if format_ == "sgm" else text


@cache
def sentences(count: int) -> list[Unit]:
    """Give pairs that have nothing in common."""
    random = Random(1)

    def word() -> str:
        return "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(4, 9)))

    return [
        Unit(
            "".join(random.choices([chr(code) for code in range(0x4E00, 0x9000)], k=12)) + "。",
            " ".join(word() for _ in range(7)).capitalize() + "…",  # so that both sides tell UTF-8
        )
        for _ in range(count)
    ]
