"""What a run left behind, from the workspace or as it was at a revision."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from hanyi.analysis.sentences import read_sentences
from hanyi.artifacts import parse_metrics
from hanyi.errors import ArtifactError
from hanyi.params import PARAMS_FILE

METRICS = Path("metrics")
REMEDY = "mend it or run `dvc repro`"
STAGES = ("prepare", "encode", "train", "decode", "score")
CURVE = METRICS / "train/curve.csv"
FUNNEL = METRICS / "prepare/funnel.csv"
SENTENCES = METRICS / "score/sentences.parquet"
TABLES = {
    "chars": METRICS / "prepare/lengths.csv",
    **{name: METRICS / f"score/{name}.csv" for name in ("lengths", "rarest", "words", "health")},
}

Read = Callable[[Path], bytes | None]
"""Gives the bytes of a file of the project; None where it is not there."""
Rows = Sequence[Mapping[str, str]]
"""The lines of a table as they are written, by the heads of its columns."""


@dataclass(kw_only=True)
class Run:
    """The results of a run; what is not there is empty, and named in `lacking`."""

    params: Mapping[str, Any] = field(default_factory=dict)
    metrics: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Each stage's metrics file by the name of the stage."""
    curve: Rows = ()
    funnel: Rows = ()
    tables: dict[str, Rows] = field(default_factory=dict)
    sentences: pa.Table | None = None
    lacking: list[str] = field(default_factory=list)


def read_run(read: Read) -> Run:
    """Read what there is of a run.

    Raises `HanyiError` for a file that is there and cannot be understood.
    """
    lacking: list[str] = []

    def rows(path: Path) -> Rows:
        return _parsed(read, path, _rows, lacking) or ()

    metrics = {
        stage: _parsed(read, METRICS / f"{stage}.json", _metrics, lacking) or {} for stage in STAGES
    }
    return Run(
        params=_parsed(read, PARAMS_FILE, read_yaml, lacking) or {},
        metrics=metrics,
        curve=rows(CURVE),
        funnel=rows(FUNNEL),
        tables={name: rows(path) for name, path in TABLES.items()},
        sentences=_parsed(read, SENTENCES, _table, lacking),
        lacking=lacking,
    )


def workspace(path: Path) -> bytes | None:
    """Read a file of the workspace."""
    return path.read_bytes() if path.is_file() else None


def read_yaml(data: bytes, where: Path = PARAMS_FILE) -> dict[str, Any]:
    """Read parameters as they are written, without a look at what they mean."""
    try:
        loaded = YAML(typ="safe", pure=True).load(data.decode("utf-8"))
    except (UnicodeDecodeError, YAMLError) as error:
        raise ArtifactError(where, str(error), "YAML in UTF-8", REMEDY) from None
    if not isinstance(loaded, dict):
        raise ArtifactError(where, type(loaded).__name__, "a mapping of sections", REMEDY)
    return loaded


def _parsed(read: Read, path: Path, parse: Callable[[bytes, Path], Any], lacking: list[str]) -> Any:
    data = read(path)
    if data is None:
        lacking.append(path.as_posix())
        return None
    try:
        return parse(data, path)
    except (UnicodeDecodeError, csv.Error, pa.ArrowInvalid) as error:
        raise ArtifactError(path, str(error), "what a stage or a person wrote", REMEDY) from None


def _metrics(data: bytes, path: Path) -> dict[str, Any]:
    return parse_metrics(data.decode("utf-8"), path)


def _rows(data: bytes, _: Path) -> Rows:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline="")))


def _table(data: bytes, _: Path) -> pa.Table:
    return read_sentences(data)
