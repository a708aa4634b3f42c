from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hanyi.errors import DataError
from hanyi.scoring import comet
from hanyi.scoring.comet import measure_comet
from hanyi.scoring.pairing import Pair

PAIRS = [Pair(1, "x", "你好", "Hello", "Hello"), Pair(2, "x", "再见", "Bye", "")]
NAME = "Unbabel/wmt22-comet-da"


class Judge:
    """Gives 0.9 for a copy of the reference and 0.25 for anything else."""

    def predict(self, rows: Sequence[dict[str, str]], **how: object) -> SimpleNamespace:
        assert how["gpus"] == 0
        assert how["progress_bar"] is False
        assert all(set(row) == {"src", "mt", "ref"} for row in rows)
        return SimpleNamespace(scores=[0.9 if row["mt"] == row["ref"] else 0.25 for row in rows])


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Put a package in the place of the real one, which downloads to /models/NAME."""
    module: Any = ModuleType("comet")
    module.loaded = []
    module.download_model = lambda name: f"/models/{name}"

    def load(path: str) -> Judge:
        module.loaded.append(path)
        return Judge()

    module.load_from_checkpoint = load
    monkeypatch.setitem(sys.modules, "comet", module)
    monkeypatch.setattr(comet, "_gpus", lambda: 0)
    monkeypatch.setattr(comet, "version", lambda _: "2.2.7")
    comet._load.cache_clear()
    yield module
    comet._load.cache_clear()


def refused(name: str = NAME) -> str:
    with pytest.raises(DataError) as caught:
        measure_comet(PAIRS, name)
    line = str(caught.value)
    assert line.startswith("score.comet: ")
    assert line.endswith("or set score.comet to null")
    assert "\n" not in line
    return line


def test_the_score_is_the_mean_of_the_rows(package: Any) -> None:
    found = measure_comet(PAIRS, NAME)
    assert found.score() == pytest.approx(57.5)
    assert found.counts.tolist() == [[90.0, 1.0], [25.0, 1.0]]
    assert found.signature == "model:Unbabel/wmt22-comet-da|scale:100|version:2.2.7"
    measure_comet(PAIRS, NAME)
    assert package.loaded == ["/models/Unbabel/wmt22-comet-da"]  # once for both


def test_a_checkpoint_is_signed_by_its_digest_not_by_its_place(
    package: Any, tmp_path: Path
) -> None:
    signatures = set()
    for folder in ("here", "there"):
        file = tmp_path / folder / "checkpoints" / "model.ckpt"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"weights")
        for name in (file, tmp_path / folder):
            signatures.add(measure_comet(PAIRS, str(name)).signature)
            assert package.loaded[-1] == str(file)
    assert len(signatures) == 1
    assert "model:model.ckpt@" in signatures.pop()
    file.write_bytes(b"other weights")
    comet._load.cache_clear()
    assert measure_comet(PAIRS, str(file)).signature not in signatures


def test_without_the_package_the_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)
    assert "pip install unbabel-comet" in refused()


@pytest.mark.parametrize(
    "error",
    [
        KeyError("Model 'Unbabel/wmt22-comet-da' not supported by COMET."),
        ConnectionError("no\nnetwork"),
        FileNotFoundError("no snapshot"),
        RuntimeError("broken archive"),
        Exception("hparams.yaml file is missing"),
    ],
)
def test_without_the_model_the_line_says_how_to_get_it(package: Any, error: Exception) -> None:
    def download(name: str) -> str:
        raise error

    package.download_model = download
    line = refused()
    assert type(error).__name__ in line
    assert "comet.download_model" in line


def test_a_folder_without_a_checkpoint_is_one_line(tmp_path: Path) -> None:
    assert "model.ckpt" in refused(str(tmp_path))
