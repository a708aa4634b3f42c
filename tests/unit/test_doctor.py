"""The doctor: what it finds in a sound place, and that it notices each thing that is wrong."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from hanyi.cli import app
from hanyi.doctor import claims, machine, project
from hanyi.doctor.findings import Finding, Mark
from hanyi.model import attention, positions, transformer
from tests.models import save_tiny_model, tiny_tokenizers


def words(findings: list[Finding], mark: Mark) -> str:
    return "\n".join(finding.en for finding in findings if finding.mark is mark)


@pytest.mark.parametrize("claim", claims.CLAIMS)
@torch.no_grad()
def test_claims_hold(claim: Callable[[], Finding]) -> None:
    found = claim()
    assert found.mark is Mark.GOOD
    assert found.en.isascii() or "√" in found.en
    assert any("\u4e00" <= char <= "\u9fff" for char in found.zh)


def see_all(length: int, device: torch.device) -> Tensor:
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device)


def see_padding(tokens: Tensor) -> Tensor:
    return torch.ones(len(tokens), 1, 1, tokens.size(1), dtype=torch.bool)


def unscaled(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, _: float = 0.0
) -> object:
    scores = query @ key.transpose(-2, -1)
    weights = (scores if bias is None else scores + bias).softmax(-1)
    return weights @ value, weights


@pytest.mark.parametrize(
    ("module", "name", "wrong", "claim"),
    [
        (transformer, "causal_mask", see_all, claims.causality),
        (transformer, "causal_mask", see_all, claims.cache),
        (transformer, "causal_mask", see_all, claims.softmax_rows),
        (transformer, "padding_mask", see_padding, claims.padding),
        (attention, "explicit_attention", unscaled, claims.fused_is_explicit),
        (positions, "MAX_WAVELENGTH", 1000, claims.positions),
    ],
)
@torch.no_grad()
def test_a_wrong_part_is_noticed(
    module: object,
    name: str,
    wrong: object,
    claim: Callable[[], Finding],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, name, wrong)
    assert claim().mark is Mark.FAULT


@torch.no_grad()
def test_a_wrong_search_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def second_best(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
        rest = log_probs.scatter(1, log_probs.argmax(dim=1, keepdim=True), float("-inf"))
        values, tokens = rest.topk(min(count, rest.size(1)))
        return values, tokens

    monkeypatch.setattr("hanyi.decoding.greedy.best_tokens", second_best)
    assert claims.greedy_is_a_beam_of_one().mark is Mark.FAULT
    monkeypatch.setattr("hanyi.decoding.beam.best_tokens", second_best)
    assert claims.wide_beam_is_exhaustive().mark is Mark.FAULT


def test_machine(tmp_path: Path) -> None:
    assert words(list(machine.machine(tmp_path)), Mark.FAULT) == ""


def test_packages_that_do_not_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        machine, "requires", lambda _: ["torch<1", "no-such-thing>=2", "dvc; extra == 'x'"]
    )
    found = words(list(machine.machine(tmp_path)), Mark.FAULT)
    assert f"torch<1 ({metadata.version('torch')})" in found
    assert "no-such-thing>=2 (none)" in found
    assert "dvc" not in found


def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HANYI_DEVICE", "cuda:77")
    assert "cuda:77" in words(list(machine.machine(tmp_path)), Mark.FAULT)


@pytest.fixture
def place(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a project of this one's parameters with a corpus of one file."""
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(root / name, tmp_path)
    for name in (".git", ".dvc"):
        (tmp_path / name).symlink_to(root / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path


def edit(place: Path, old: str, new: str) -> None:
    text = (place / "params.yaml").read_text(encoding="utf-8")
    assert old in text
    (place / "params.yaml").write_text(text.replace(old, new), encoding="utf-8")


def test_a_sound_project(place: Path) -> None:
    before = sorted(place.iterdir())
    found = list(project.project(place))
    assert words(found, Mark.FAULT) == ""
    assert "hsk.all" in words(found, Mark.GOOD)
    assert "no trained model yet" in words(found, Mark.NOTE)
    assert sorted(place.iterdir()) == before


def test_every_fault_of_the_parameters(place: Path) -> None:
    edit(place, "heads: 6", "heads: 7")
    edit(place, "beam_size: 4", "beam_size: 0")
    found = words(list(project.project(place)), Mark.FAULT)
    assert "heads" in found
    assert "beam_size" in found


def test_a_corpus_that_is_not_there(place: Path) -> None:
    edit(place, "source: starter:hsk", "source: nowhere.tsv")
    assert "nowhere.tsv" in words(list(project.project(place)), Mark.FAULT)


def test_a_broken_model(place: Path) -> None:
    (place / "models/transformer").mkdir(parents=True)
    assert "models/transformer" in words(list(project.project(place)), Mark.FAULT)


def test_a_model_beside_faulty_parameters(place: Path) -> None:
    pair = tiny_tokenizers(place / "models/tokenizers")
    save_tiny_model(place / "models/transformer", *pair)
    edit(place, "heads: 6", "heads: 7")
    found = list(project.project(place))
    assert [one.mark for one in found].count(Mark.FAULT) == 1
    assert "a trained model" in words(found, Mark.GOOD)
    assert "mlflow.db" in words(found, Mark.GOOD)


def test_the_store(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "mlflow.db").write_bytes(b"no database")
    assert "mlflow.db" in words(list(project.project(place)), Mark.NOTE)
    (place / "mlflow.db").unlink()
    with sqlite3.connect(place / "mlflow.db") as database:
        database.execute("CREATE TABLE runs (id)")
        database.execute("INSERT INTO runs VALUES (1)")
    assert "1 runs in mlflow.db" in words(list(project.project(place)), Mark.GOOD)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    assert "http://127.0.0.1:9" in words(list(project.project(place)), Mark.NOTE)


def test_the_command(place: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", "--language", "zh"])
    assert done.exit_code == 0, done.output
    assert "✓ 因果掩码" in done.stdout
    edit(place, "heads: 6", "heads: 7")
    done = CliRunner().invoke(app, ["doctor", "--language", "en"])
    assert done.exit_code == 1
    assert "✗" in done.stdout
    assert CliRunner().invoke(app, ["doctor", "--language", "fr"]).exit_code == 2


def test_outside_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0, done.output
    assert "params.yaml" in done.stdout
