"""The starter corpus: made on the spot, so that the pipeline runs with nothing but a package index.

`everyday` comes from the grammar in `hanyi.starter`. `hsk` is the text of the package
hsk-sentences-audio (CC-BY-SA-4.0): graded sentences; `glosses` are the senses of its words.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from hanyi.corpus.pairs import SPLITS, WHOLE, RawFile
from hanyi.corpus.sources.glosses import collect
from hanyi.params import config
from hanyi.starter.everyday import EverydayConfig, generate

log = logging.getLogger("hanyi.corpus")


@config
class StarterConfig:
    """What the starter corpus is made of."""

    everyday: EverydayConfig
    glosses: bool

    def __post_init__(self) -> None:
        """Check the ranges."""
        everyday = self.everyday
        if min(everyday.sentences, everyday.valid, everyday.test) < 1:
            raise ValueError(
                "everyday.sentences, valid and test must be at least 1, "
                f"got {everyday.sentences}, {everyday.valid} and {everyday.test}"
            )


Files = list[tuple[RawFile, int]]


def fetch_starter(starter: StarterConfig, directory: Path) -> tuple[Files, dict[str, Any]]:
    """Write the starter corpus into a directory; give its files with their rows, and metrics."""
    files = _write_everyday(starter.everyday, directory)
    records = _load_hsk()
    sentences = [(record["chinese"], record["translation"]["en"]) for record in records]
    files.append(_write(directory, "hsk", WHOLE, sentences))
    if not starter.glosses:
        return files, {}
    glosses = collect(token for record in records for token in record["tokens"])
    files.append(_write(directory, "glosses", "train", glosses.pairs))
    log.info(
        "glosses: %d pairs, %d words without a usable sense", len(glosses.pairs), glosses.skipped
    )
    return files, {"glosses": {"kept": len(glosses.pairs), "skipped": glosses.skipped}}


def _load_hsk() -> list[dict[str, Any]]:
    from hsk_sentences_audio import load_sentences  # its data takes a quarter of a second to load

    return list(load_sentences())


def _write_everyday(everyday: EverydayConfig, directory: Path) -> Files:
    pairs: dict[str, list[tuple[str, str]]] = {split: [] for split in SPLITS}
    for pair in generate(everyday):
        pairs[pair.split].append((pair.zh, pair.en))
    return [_write(directory, "everyday", split, pairs[split]) for split in SPLITS]


def _write(
    directory: Path, corpus: str, role: str, pairs: list[tuple[str, str]]
) -> tuple[RawFile, int]:
    path = f"{corpus}.{role}.tsv"
    with (directory / path).open("w", encoding="utf-8", newline="\n") as file:
        # A tab or a line end inside a sentence would break the row.
        file.writelines(f"{' '.join(src.split())}\t{' '.join(tgt.split())}\n" for src, tgt in pairs)
    log.info("%s: %d rows", path, len(pairs))
    raw = RawFile(
        corpus=corpus, role=role, path=path, format="tsv", delimiter="\t", src_column=0,
        tgt_column=1, columns=2, header=False, encoding="utf-8", source=path,
    )  # fmt: skip
    return raw, len(pairs)
