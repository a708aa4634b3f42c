"""What MLflow is handed: a class that translates, and the packages that it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from mlflow.exceptions import MlflowException
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.testing import CliRunner

from hanyi.cli import app
from hanyi.export.bundle import write_bundle
from hanyi.registration.requirements import NEEDED, requirements
from hanyi.registration.served import Served
from hanyi.translator import Translator, find_model
from tests.models import save_tiny_model, tiny_tokenizers

TEXTS = ["我爱你。", "", "你好吗？"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    home = tmp_path_factory.mktemp("bundle")
    project = home / "project"
    save_tiny_model(project / "models/transformer", *tiny_tokenizers(project / "models/tokenizers"))
    shutil.copy(root / "params.yaml", project)
    write_bundle(find_model(project), home / "bundle", "card\n")
    return home / "bundle"


@pytest.fixture(scope="module")
def served(bundle: Path) -> Served:
    made = Served()
    made.load_context(SimpleNamespace(artifacts={"bundle": str(bundle)}))
    return made


def predict(served: Served, texts: list[Any], **params: Any) -> Any:
    return served.predict(None, pd.DataFrame({"text": texts}), params)


def test_it_translates_as_the_translator(served: Served, bundle: Path) -> None:
    translator = Translator.load(bundle)
    results = translator.translate(TEXTS)
    assert predict(served, TEXTS) == [result.text for result in results]
    assert predict(served, []) == []
    lists = predict(served, TEXTS, n_best=2)
    assert [one[0] for one in lists] == predict(served, TEXTS)
    assert [len(one) for one in lists] == [2, 1, 2]
    assert predict(served, TEXTS, beam_size=1, n_best=1) != predict(served, TEXTS, beam_size=8)


@pytest.mark.parametrize(
    ("texts", "params", "message"),
    [
        ([None], {}, "text 0 is None, no text"),
        (["a", 5], {}, "text 1 is 5, no text"),
        (TEXTS, {"n_best": 5}, "n_best must be from 1 to beam_size"),
        (TEXTS, {"beam_size": 0}, "beam_size must be at least 1"),
        (TEXTS, {"n_best": 0}, "n_best 0, expected at least 1"),
        (TEXTS, {"n_best": -1}, "n_best -1, expected at least 1"),
    ],
)
def test_what_cannot_be_done_is_a_wrong_value(
    served: Served, texts: list[Any], params: dict[str, Any], message: str
) -> None:
    with pytest.raises(MlflowException, match=message) as caught:
        predict(served, texts, **params)
    assert caught.value.error_code == "INVALID_PARAMETER_VALUE"


def test_requirements_are_pinned_without_the_build() -> None:
    lines = requirements()
    assert len(lines) == len(NEEDED)
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines), lines
    assert f"pandas=={pd.__version__}" in lines


def closure(names: tuple[str, ...]) -> set[str]:
    """Give the distributions that pip would install for these."""
    found: set[str] = set()
    waiting = [(canonicalize_name(name), frozenset[str]()) for name in names]
    while waiting:
        name, extras = waiting.pop()
        found.add(name)
        for line in requires(name) or []:
            one = Requirement(line)
            asked = [{"extra": extra} for extra in ("", *extras)]
            if one.marker is None or any(one.marker.evaluate(extra) for extra in asked):
                inner = canonicalize_name(one.name)
                if inner not in found:
                    waiting.append((inner, frozenset(one.extras)))
    return found


SCRIPT = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            raise ModuleNotFoundError(f"not in the requirements: {name}", name=name)

REFUSED = set(sys.argv[2].split())
sys.meta_path.insert(0, Refuse())
from hanyi.registration.served import Served
from types import SimpleNamespace
import pandas
served = Served()
served.load_context(SimpleNamespace(artifacts={"bundle": sys.argv[1]}))
print(served.predict(None, pandas.DataFrame({"text": ["我爱你。"]}), {"n_best": 2}))
"""


def test_translating_needs_no_other_package(bundle: Path, served: Served, root: Path) -> None:
    allowed = closure(NEEDED)
    refused = {
        module
        for module, owners in packages_distributions().items()
        if not {canonicalize_name(owner) for owner in owners} & (allowed | {"hanyi"})
    }
    assert {"dvc", "sacrebleu", "typer", "mtdata"} <= refused
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(bundle), " ".join(sorted(refused))],
        env={**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(predict(served, ["我爱你。"], n_best=2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a/b"], "name: 'a/b', expected letters, digits"),
        (["it's"], 'name: "it\'s", expected letters, digits'),
        (["--alias", "x y"], "--alias: 'x y', expected letters, digits"),
        (["--run", "1", "--rev", "HEAD"], "--run: given with --rev"),
    ],
)
def test_faults_are_one_line(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["register", *arguments])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"hanyi: error: {message}")
    assert done.stderr.count("\n") == 1


def test_outside_a_project_no_store_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["register"])
    assert done.exit_code == 2
    assert "no params.yaml, expected a project" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["sqlite:///{0}", "postgresql://me:secret@127.0.0.1:9/store"])
def test_a_store_that_does_not_answer_is_one_line_without_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address.format(tmp_path))
    done = CliRunner().invoke(app, ["register"])
    assert done.exit_code == 2
    assert done.stderr.startswith("hanyi: error: MLflow: ")
    assert done.stderr.count("\n") == 1
    assert "expected an MLflow store that answers; start it" in done.stderr
    assert "secret" not in done.stderr


def test_an_unknown_run_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    for name in ("DVC_ROOT", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    done = CliRunner().invoke(app, ["register", "--run", "abc"])
    assert done.exit_code == 2
    assert "hanyi: error: --run: abc, no run of the store, expected" in done.stderr
