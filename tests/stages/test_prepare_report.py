"""prepare: what is published, logged and mirrored of a funnel, wherever that comes from."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from hanyi.corpus.funnel import Funnel
from hanyi.corpus.pipeline import REJECTED_FILE
from hanyi.corpus.report import FILES
from hanyi.tracking import Tracker
from stages import prepare as stage
from stages.paths import FUNNEL, PREPARED


class Listener(Tracker):
    """Keeps what a stage hands over."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[str] = []

    def artifact(self, path: Path, folder: str = "") -> None:
        assert path.is_file()
        self.files.append(f"{folder}/{path.name}")

    def text(self, text: str, name: str) -> None:
        assert text.endswith("\n")
        self.files.append(name)


@pytest.fixture
def seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Listener:
    """Run the stage on a made-up funnel; give what it handed to the tracker."""
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.INFO, "hanyi")
    PREPARED.mkdir(parents=True)
    (PREPARED / REJECTED_FILE).write_bytes(b"x" * 100)
    monkeypatch.setattr(stage, "load_section", lambda *_: None)
    monkeypatch.setattr(stage, "LARGEST_ARTIFACT", 100)

    def made(*_: Any) -> Funnel:
        funnel = Funnel(["empty", "chars"])
        funnel.add_read("mine", "all", 4000)
        funnel.rejected["mine", "all", "chars"] = 1000
        funnel.add_kept("mine", "train", 3000)
        return funnel

    monkeypatch.setattr(stage, "prepare", made)
    return Listener()


def test_everything_is_published_and_mirrored(
    seen: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = stage.main(seen)
    assert metrics["rows"] == {"read": 4000, "kept": 3000, "rejected": 1000}
    assert sorted(path.name for path in FUNNEL.iterdir()) == sorted(FILES)
    names = {"funnel.txt", REJECTED_FILE, *FILES}
    assert sorted(seen.files) == sorted(f"prepare/{name}" for name in names)
    lines = [record.getMessage() for record in caplog.records]
    assert ["chars", "1,000", "25.00%", "3,000"] in [line.split() for line in lines]
    assert "chars took 25% of all rows: look at metrics/prepare/samples.md" in lines


def test_many_rejected_rows_stay_where_they_are(
    seen: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    (PREPARED / REJECTED_FILE).write_bytes(b"x" * 101)
    stage.main(seen)
    assert f"prepare/{REJECTED_FILE}" not in seen.files
    assert "data/prepared/rejected.parquet of 0 MB is not copied into MLflow" in caplog.text
