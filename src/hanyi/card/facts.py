"""What a card is made of: all that the files of a run say, held against each other."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import md5
from typing import Any, NamedTuple

import pyarrow as pa
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from hanyi.analysis.sentences import read_sentences
from hanyi.artifacts import parse_metrics
from hanyi.card.files import RunFiles
from hanyi.card.licenses import Source, sources
from hanyi.errors import ArtifactError
from hanyi.model.storage import ModelFile
from hanyi.params import PARAMS_FILE, SECTIONS

STAGES = ("fetch", "prepare", "tokenizers", "encode", "train", "decode", "score")
BREAKDOWNS = ("health", "lengths", "words", "copied")  # metrics/score/NAME.csv
SENTENCES = "metrics/score/sentences.parquet"
LOCK = "dvc.lock"
PINNED = (
    "hsk-sentences-audio", "opencc", "tokenizers", "torch", "ctranslate2", "sacrebleu", "pyarrow",
    "numpy", "dvc",
)  # fmt: skip
"""Packages that decide what comes out, as requirements.lock pins them."""


class Output(NamedTuple):
    """An output of a stage as dvc.lock knows it, or the user's files, which no stage made."""

    stage: str  # empty: none
    path: str
    md5: str
    size: int  # bytes
    files: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """A run; what is not there is empty."""

    model: ModelFile
    params: Mapping[str, Any]
    sources: list[Source]
    metrics: Mapping[str, Mapping[str, Any]]  # by stage; `score` only where it is of this model
    breakdowns: Mapping[str, list[dict[str, str]]]  # by name, likewise
    sentences: pa.Table | None  # of the test split, likewise
    outputs: list[Output]
    pins: Mapping[str, str]
    revision: str
    changed: bool

    @property
    def languages(self) -> tuple[str, str] | None:
        """Give the codes of the pair, source first."""
        pair = self.params.get("languages")
        return (str(pair["src"]), str(pair["tgt"])) if pair else None

    @property
    def trained_on(self) -> list[Source]:
        """Give the sources of which rows are in train."""
        rows = self.metrics.get("prepare", {}).get("corpora", {})
        return [one for one in self.sources if rows.get(one.corpus, {}).get("train", 1)]


def read_facts(files: RunFiles, model: ModelFile) -> Facts:
    """Read all that a run says of its model.

    Scores count only if the translations were made with these weights. Raises `ArtifactError` when
    dvc.lock tells of other parameters or other metrics than there are.
    """
    params = _yaml(files, str(PARAMS_FILE))
    lock = _yaml(files, LOCK)
    _require_built(files, lock, params)
    scored = _translated_by(files) == [model.weights]
    stages = [name for name in STAGES if scored or name not in {"decode", "score"}]
    metrics = {
        name: parse_metrics(data.decode("utf-8"), f"metrics/{name}.json")
        for name in stages
        if (data := files.read(f"metrics/{name}.json"))
    }
    breakdowns = {
        name: list(csv.DictReader(io.StringIO(data.decode("utf-8"))))
        for name in (BREAKDOWNS if scored else ())
        if (data := files.read(f"metrics/score/{name}.csv"))
    }
    sentences = files.read(SENTENCES) if scored else None
    return Facts(
        model=model,
        params={name: params[name] for name in SECTIONS if name in params},
        sources=sources(params.get("fetch", {}).get("corpora", [])),
        metrics=metrics,
        breakdowns=breakdowns,
        sentences=read_sentences(sentences) if sentences else None,
        outputs=list(_outputs(lock, params.get("fetch", {}).get("inputs"))),
        pins=_pins(files),
        revision=files.revision,
        changed=files.changed,
    )


def _require_built(files: RunFiles, lock: Mapping[str, Any], params: Mapping[str, Any]) -> None:
    """Raise `ArtifactError` unless the run had these parameters and gave these metrics."""
    for stage, entry in lock.get("stages", {}).items():
        for name, value in entry.get("params", {}).get(str(PARAMS_FILE), {}).items():
            if _at(params, name) != value:
                raise _stale(files, stage, f"{name} in {PARAMS_FILE} is another")
        for out in entry.get("outs", []):
            data = files.read(out["path"]) if str(out["path"]).endswith(".json") else None
            if data is not None and md5(data).hexdigest() != out["md5"]:  # noqa: S324  as DVC does
                raise _stale(files, stage, f"{out['path']} is another")


def _stale(files: RunFiles, stage: str, found: str) -> ArtifactError:
    where = f"{LOCK} of {files.name}: {stage}"
    return ArtifactError(where, found, "what the stage was run with", "run `dvc repro`")


def _at(values: Any, dotted: str) -> Any:
    for key in dotted.split("."):
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def _outputs(lock: Mapping[str, Any], inputs: str | None) -> Iterator[Output]:
    stages = lock.get("stages", {})
    for dep in stages.get("fetch", {}).get("deps", []):
        if dep["path"] == inputs:
            yield _output("", dep)
    for stage, entry in stages.items():
        yield from (_output(stage, out) for out in entry.get("outs", []))


def _output(stage: str, entry: Mapping[str, Any]) -> Output:
    return Output(stage, entry["path"], entry["md5"], entry["size"], entry.get("nfiles", 1))


def _translated_by(files: RunFiles) -> list[str]:
    """Give the digests of the weights that the test split was translated with."""
    data = files.read("data/decoded/index.json")
    if data is None:
        return []
    index = parse_metrics(data.decode("utf-8"), "data/decoded/index.json")
    return list(index.get("models", []))


def _pins(files: RunFiles) -> dict[str, str]:
    data = files.read("requirements.lock") or b""
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", data.decode("utf-8"), flags=re.MULTILINE))
    return {name: pins[name] for name in PINNED if name in pins}


def _yaml(files: RunFiles, path: str) -> dict[str, Any]:
    data = files.read(path)
    if data is None:
        return {}
    try:
        loaded = YAML(typ="safe", pure=True).load(data.decode("utf-8"))
    except (UnicodeDecodeError, YAMLError) as error:
        raise ArtifactError(path, str(error), "YAML 1.2 in UTF-8", "mend the file") from None
    return loaded if isinstance(loaded, dict) else {}
