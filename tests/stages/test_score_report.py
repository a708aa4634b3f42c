"""score: what is published and mirrored beside the figures."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hanyi.analysis.report import FILES
from hanyi.errors import ArtifactError
from hanyi.tracking import Tracker
from stages.paths import DECODED, PREPARED, REPORT
from stages.score import main
from tests.analysis import PAIRS, write_train


class Listener(Tracker):
    """Keeps what a stage hands over."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[str] = []

    def artifact(self, path: Path, folder: str = "") -> None:
        assert path.is_file()
        self.files.append(f"{folder}/{path.name}")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    score = {"tokenize": "auto", "comet": None, "tokenized_references": False}
    params = {"languages": {"src": "zh", "tgt": "en"}, "score": score}
    Path("params.yaml").write_text(json.dumps(params), encoding="utf-8")
    PREPARED.mkdir(parents=True)
    DECODED.mkdir()
    names = {"id": "id", "corpus": "corpus", "src": "source", "tgt": "reference"}
    table = pa.table({new: [getattr(pair, old) for pair in PAIRS] for new, old in names.items()})
    pq.write_table(table, PREPARED / "test.parquet")
    write_train(PREPARED / "train.parquet")
    with (DECODED / "test.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for pair in PAIRS:
            row = {"id": pair.id, "text": pair.hypothesis, "log_prob": pair.log_prob}
            file.write(json.dumps({**row, "finished": pair.finished}) + "\n")
    return tmp_path


def test_the_report_is_published_and_mirrored(
    workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hanyi")
    listener = Listener()
    health = main(listener)["health"]
    assert sorted(path.name for path in REPORT.iterdir()) == sorted(FILES)
    assert set(listener.files) >= {f"score/{name}" for name in FILES}
    assert health["any"] == 5
    told = "empty 1, cut 1, repetition 1, untranslated 1, short 1, numbers 1, any 5"
    assert f"signs of trouble in 6 rows: {told}" in caplog.text
    before = {name: (REPORT / name).read_bytes() for name in FILES}
    main(Tracker())
    assert before == {name: (REPORT / name).read_bytes() for name in FILES}


def test_without_the_train_split_nothing_is_half_written(workspace: Path) -> None:
    (PREPARED / "train.parquet").unlink()
    with pytest.raises(ArtifactError, match=r"train\.parquet: no such file"):
        main(Tracker())
    assert not REPORT.exists()
