"""COMET (Rei et al. 2020): a trained model's judgement, by the package `unbabel-comet`.

The package and its models are large, so they are an extra; nothing of them is imported unless
`score.comet` names a model.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from hanyi.artifacts import digest_file
from hanyi.errors import DataError, HanyiError
from hanyi.metrics.statistics import Counts, Statistics
from hanyi.scoring.pairing import Pair

log = logging.getLogger("hanyi.score")

KEY = "score.comet"
PACKAGE = "unbabel-comet"
INSIDE = Path("checkpoints", "model.ckpt")  # of a downloaded model's folder
BATCH_ROWS = 16
SCALE = 100  # to the range of the other metrics
DOWNLOAD = "`python -c 'import comet; print(comet.download_model(\"{}\"))'`"
OFF = "or set score.comet to null"


def measure_comet(pairs: Sequence[Pair], name: str) -> Statistics:
    """Give the model's judgement of each row, times 100; the score is their mean.

    `name` is that of a model on Hugging Face or the path of a checkpoint. Raises `DataError` when
    the package or the model cannot be had.
    """
    model, signature = _load(name)
    rows = [{"src": pair.source, "mt": pair.hypothesis, "ref": pair.reference} for pair in pairs]
    gpus = _gpus()
    log.info("COMET judges %d rows with %s on %s", len(rows), name, "a GPU" if gpus else "the CPU")
    found = model.predict(rows, batch_size=BATCH_ROWS, gpus=gpus, progress_bar=False)
    judged = SCALE * np.asarray(found.scores, dtype=np.float64)
    return Statistics(np.stack([judged, np.ones(len(rows))], axis=1), _mean, signature)


def _mean(sums: Counts) -> float:
    return float(sums[0] / sums[1])


@lru_cache(maxsize=1)  # a comparison judges two systems
def _load(name: str) -> tuple[Any, str]:
    """Give the model and the signature."""
    try:
        from comet import download_model, load_from_checkpoint
    except ImportError as error:
        raise _missing(
            f"the package {PACKAGE} cannot be imported: {error}",
            "it installed",
            f"`pip install {PACKAGE} 'setuptools<81'`, which is what hanyi[comet] does",
        ) from None
    path = Path(name)
    local = path / INSIDE if path.is_dir() else path
    described = name
    try:
        if path.exists():
            described = f"{local.name}@{digest_file(local)}"
            model = load_from_checkpoint(str(local))
        else:
            model = load_from_checkpoint(download_model(name))
    except Exception as error:  # noqa: BLE001  a bare one is what it raises for some faults
        raise _missing(
            f"{name} cannot be had, unknown or no download: {type(error).__name__}: {error}",
            f"a checkpoint at {local}, or a COMET model in the cache or on Hugging Face",
            f"download it where there is a network ({DOWNLOAD.format(name)}) and set {KEY} to the "
            "path that it prints",
        ) from None
    return model, f"model:{described}|scale:{SCALE}|version:{version(PACKAGE)}"


def _missing(found: str, expected: str, remedy: str) -> HanyiError:
    return DataError(KEY, found, expected, f"{remedy}, {OFF}")


def _gpus() -> int:
    import torch

    return int(torch.cuda.is_available())
