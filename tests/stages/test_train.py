from __future__ import annotations

import csv
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from hanyi.artifacts import digest_file, write_text
from hanyi.errors import ArtifactError, DataError, HanyiError, ParamsError
from hanyi.model.storage import load_model
from hanyi.tokens.bpe import Tokenizer
from hanyi.tracking import Tracker
from hanyi.training import publishing
from hanyi.training.state import StateFolder
from hanyi.training.trainer import Trainer
from stages import train
from stages.paths import CHECKPOINTS, CURVES, TRANSFORMER
from tests.training import CPU, die, in_child, make_corpus, write_params

OUTPUTS = (TRANSFORMER, CHECKPOINTS, CURVES)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def place(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in a workspace of its own that holds all that train reads."""
    root = tmp_path / "workspace"
    shutil.copytree(corpus, root)
    monkeypatch.chdir(root)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setenv("HANYI_DEVICE", "cpu")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield root
    torch.set_num_threads(threads)


class Listener(Tracker):
    """Keeps what a stage reports."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[int | None, dict[str, float]]] = []
        self.files: list[str] = []

    def metrics(self, values: Any, step: int | None = None) -> None:
        self.seen.append((step, dict(values)))

    def artifact(self, path: Path, folder: str = "") -> None:
        assert path.is_file()
        self.files.append(path.name)


def outputs(metrics: dict[str, Any]) -> dict[str, Any]:
    files = sorted(path for place in OUTPUTS for path in place.rglob("*") if path.is_file())
    return {"metrics": metrics, **{str(file): digest_file(file) for file in files}}


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Give the outputs of an unbroken run."""
    root = tmp_path_factory.mktemp("unbroken") / "workspace"
    shutil.copytree(corpus, root)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("HANYI_DEVICE", "cpu")
        torch.set_num_threads(1)
        return outputs(train.main(Tracker()))


def test_outputs(place: Path, expected: dict[str, Any]) -> None:
    listener = Listener()
    metrics = train.main(listener)
    assert outputs(metrics) == expected, "two fresh runs must give equal bytes"
    files = [path.name for directory in OUTPUTS for path in directory.iterdir()]
    assert sorted(files) == [
        "bleu", "chrf", "config.json", "curve.csv", "curve.png", "loss", "samples.md",
        "weights.safetensors",
    ]  # fmt: skip
    model, described = load_model(TRANSFORMER, CPU)
    assert metrics["parameters"] == sum(p.numel() for p in model.parameters())
    assert described.max_tokens == 50
    assert described.src_tokenizer == Tokenizer.load(Path("models/tokenizers/src.json")).digest
    assert described.tgt_tokenizer == Tokenizer.load(Path("models/tokenizers/tgt.json")).digest
    for criterion in ("loss", "bleu", "chrf"):
        load_model(CHECKPOINTS / criterion, CPU)
    assert metrics["steps"] == 12
    assert metrics["skipped"] == 0
    assert metrics["best"]["step"] in {4, 8, 12}
    assert set(metrics["best"]) >= {"loss", "perplexity", "bleu", "chrf", "corpora", "averaged"}
    assert 0 <= metrics["padding"] < 0.5
    rows = list(csv.DictReader((CURVES / "curve.csv").open(encoding="utf-8")))
    assert [row["step"] for row in rows] == ["4", "8", "12"]
    assert float(rows[-1]["train_loss"]) < float(rows[0]["train_loss"])
    samples = (CURVES / "samples.md").read_text(encoding="utf-8")
    assert samples.count("reference: ") == samples.count("model: ") == 3 * 4
    assert (CURVES / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(listener.files) == ["curve.csv", "curve.png", "samples.md"]
    assert [step for step, values in listener.seen if "bleu" in values] == [4, 8, 12]
    assert any("alpha.chrf" in values for _, values in listener.seen)
    assert not list(Path(".hanyi/train").iterdir()), "the state goes when the model is there"


@pytest.mark.parametrize("name", ["_update", "_save", "_finish"])
def test_killed_and_started_again(place: Path, expected: dict[str, Any], name: str) -> None:
    def work() -> None:
        real, calls = getattr(Trainer, name), [0]

        def deadly(trainer: Trainer, *arguments: Any) -> Any:
            calls[0] += 1
            if calls[0] == {"_update": 6, "_save": 3, "_finish": 1}[name]:
                die()
            return real(trainer, *arguments)

        setattr(Trainer, name, deadly)
        train.main(Tracker())

    assert in_child(work) == -signal.SIGKILL
    assert not TRANSFORMER.exists()
    assert len(list(Path(".hanyi/train").iterdir())) == 1
    assert outputs(train.main(Tracker())) == expected


def test_killed_while_publishing(place: Path, expected: dict[str, Any]) -> None:
    def work() -> None:
        publishing.save_model = lambda *args, **kwargs: die()  # type: ignore[assignment]
        train.main(Tracker())

    assert in_child(work) == -signal.SIGKILL
    assert not TRANSFORMER.exists()
    assert outputs(train.main(Tracker())) == expected
    assert not [path for path in place.rglob("*.tmp-*") if "weights" in path.name]


def test_another_setting_finds_no_state(place: Path) -> None:
    def work() -> None:
        Trainer._finish = lambda _: die()  # type: ignore[method-assign, assignment, return-value]
        train.main(Tracker())

    assert in_child(work) == -signal.SIGKILL
    write_params(place, learning_rate=0.011)
    assert in_child(work) == -signal.SIGKILL
    assert len(list(Path(".hanyi/train").iterdir())) == 2
    assert in_child(work) == -signal.SIGKILL
    assert len(list(Path(".hanyi/train").iterdir())) == 2


def test_a_second_trainer_stops(place: Path) -> None:
    def work() -> None:
        Trainer._finish = lambda _: die()  # type: ignore[method-assign, assignment, return-value]
        train.main(Tracker())

    assert in_child(work) == -signal.SIGKILL
    (state,) = Path(".hanyi/train").iterdir()
    with StateFolder(state).locked(), pytest.raises(ArtifactError, match="another process"):
        train.main(Tracker())
    assert not TRANSFORMER.exists()


def test_stop_on_request_saves_and_says_75(place: Path) -> None:
    """In a process of its own, as dvc runs it, with the real signal."""
    write_params(place, max_steps=100_000, validate_every=100_000, save_every=100_000)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(train.__file__).parents[1]),
        "HANYI_TRACKING": "off",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "stages.train", "--device", "cpu"],
        cwd=place, env=environment, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr
        for line in process.stderr:
            if "of 100000, epoch" in line:
                break
        time.sleep(0.05)
        process.terminate()
        rest = process.stderr.read()
        assert process.wait(timeout=200) == 75
    finally:
        process.kill()
        process.wait()
    assert "the state is saved" in rest
    assert "Traceback" not in rest
    (state,) = Path(".hanyi/train").iterdir()
    saved = StateFolder(state).load()
    assert saved is not None
    assert saved["progress"]["step"] >= 10
    assert not TRANSFORMER.exists()


def test_full_disk_is_one_line_and_nothing_is_half_written(place: Path) -> None:
    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        with pytest.raises(ArtifactError, match="cannot be written") as raised:
            train.main(Tracker())
        assert "\n" not in str(raised.value)

    assert in_child(work) == 0
    assert not any(path.exists() for path in OUTPUTS)
    assert not list(place.rglob("*.tmp-*"))


def test_divergence_is_one_line(place: Path) -> None:
    def work() -> None:
        # The largest rate that params.yaml takes makes Adam useless, but its weights stay finite.
        Trainer._rate = lambda *_: 1e38  # type: ignore[method-assign, assignment]
        with pytest.raises(HanyiError, match=r"training diverged: lower train\.learning_rate"):
            train.main(Tracker())

    assert in_child(work) == 0
    assert not TRANSFORMER.exists()


def test_starts_from_a_model_that_was_trained_before(place: Path) -> None:
    train.main(Tracker())
    shutil.copytree(TRANSFORMER, "before")
    first = load_model(TRANSFORMER, CPU)[0]
    # At this rate nothing is learnt, so that the start shows.
    write_params(place, init="before", learning_rate=1e-12, max_steps=1, average=1)
    train.main(Tracker())
    for old, new in zip(
        first.parameters(), load_model(TRANSFORMER, CPU)[0].parameters(), strict=True
    ):
        torch.testing.assert_close(old, new, atol=1e-9, rtol=0)


def test_a_start_from_a_model_of_other_tokens_or_sizes_is_refused(place: Path) -> None:
    write_params(place, init="nowhere")
    with pytest.raises(ArtifactError, match=r"nowhere/config.json: no such file"):
        train.main(Tracker())
    write_params(place)
    train.main(Tracker())
    shutil.copytree(TRANSFORMER, "before")
    write_params(place, init="before")
    path = Path("params.yaml")
    params, described = path.read_text("utf-8"), Path("before/config.json").read_text("utf-8")
    write_text(path, params.replace("d_ff: 32", "d_ff: 48"))
    with pytest.raises(ArtifactError, match=r"before/config.json: d_ff 32.*model section"):
        train.main(Tracker())
    write_text(path, params)
    other = {**json.loads(described), "tgt_tokenizer": "0" * 32}
    write_text(Path("before/config.json"), json.dumps(other))
    with pytest.raises(ArtifactError, match=r"tgt tokenizer 00000000.*tokenizers\.use"):
        train.main(Tracker())


def test_one_embedding_for_two_vocabularies_is_refused(place: Path) -> None:
    path = Path("params.yaml")
    write_text(path, path.read_text("utf-8").replace("tie: output", "tie: all"))
    with pytest.raises(ParamsError, match=r"tokenizers\.joint"):
        train.main(Tracker())


def test_another_model_to_start_from_finds_no_state(place: Path) -> None:
    train.main(Tracker())
    shutil.copytree(TRANSFORMER, "before")
    shutil.copytree(CHECKPOINTS / "loss", "other")
    seen = set()
    for init in (None, "before"):
        write_params(place, init=init, max_steps=8)

        def work() -> None:
            Trainer._finish = lambda _: die()  # type: ignore[method-assign, assignment, return-value]
            train.main(Tracker())

        assert in_child(work) == -signal.SIGKILL
        seen |= {state.name for state in Path(".hanyi/train").iterdir()}
    assert len(seen) == 2


def test_mixed_artifacts(place: Path) -> None:
    other = json.loads(Path("models/tokenizers/tgt.json").read_text(encoding="utf-8"))
    write_text(Path("models/tokenizers/tgt.json"), json.dumps(other))
    with pytest.raises(ArtifactError, match="tokens of tgt tokenizer"):
        train.main(Tracker())


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("data/prepared/valid.parquet", "no such file"),
        ("data/encoded/train/index.json", "no such file"),
        ("models/tokenizers/src.json", "no such file"),
    ],
)
def test_missing_inputs(place: Path, path: str, found: str) -> None:
    Path(path).unlink()
    with pytest.raises(ArtifactError, match=f"{path}: {found}"):
        train.main(Tracker())


def test_broken_references(place: Path) -> None:
    Path("data/prepared/valid.parquet").write_text("PAR1 and no more", encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"valid\.parquet"):
        train.main(Tracker())


def test_weights_that_leave_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_corpus(tmp_path, weights=(0.0, 0.0))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HANYI_DEVICE", "cpu")
    with pytest.raises(DataError, match=r"fetch.corpora: no rows to train on with the weights"):
        train.main(Tracker())


def test_references_in_parts(place: Path, expected: dict[str, Any]) -> None:
    """Neither the curve nor the model tells whether valid is one file or several."""
    whole = Path("data/prepared/valid.parquet")
    table = pq.read_table(whole)
    whole.unlink()
    for number in range(2):
        part = whole / f"half={number}/part.parquet"
        part.parent.mkdir(parents=True)
        pq.write_table(table.slice(4 * number, 4), part)
    assert outputs(train.main(Tracker())) == expected


def test_faults_of_parameters(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_params(place, selct="bleu")
    with pytest.raises(ParamsError, match=r"train.selct"):
        train.main(Tracker())
    write_params(place)
    monkeypatch.setenv("HANYI_DEVICE", "tpu")
    with pytest.raises(ParamsError, match="tpu"):
        train.main(Tracker())
    monkeypatch.delenv("HANYI_DEVICE")
    path = Path("params.yaml")
    params = path.read_text("utf-8")
    write_text(path, params.replace("tokenize: auto", "tokenize: zh"))
    with pytest.raises(ParamsError, match=r"score\.tokenize: zh for en"):
        train.main(Tracker())
    # Told before training, though only the first validation needs it.
    write_text(path, params.replace("tgt: en", "tgt: ja"))
    monkeypatch.setitem(sys.modules, "MeCab", None)
    with pytest.raises(DataError, match=r"score\.tokenize: ja-mecab cannot be had"):
        train.main(Tracker())
