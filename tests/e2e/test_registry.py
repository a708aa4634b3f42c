"""A run's model in a real MLflow registry: logged once, served, and asked from a fresh place."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import First
from tests.e2e.workspace import Done, Workspace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TEXTS = ["We like tea.", "", "Anna buys 00700."]
FRESH = "HANYI_TEST_FRESH"  # set to make an environment from the logged requirements
WIDER = "wider"  # an experiment


def hanyi(workspace: Workspace, *arguments: str, expect: int = 0) -> Done:
    """Run the command line, which finds the store of the workspace."""
    program = (sys.executable, "-c", "from hanyi.cli import app; app()")
    return workspace.run(*program, *arguments, expect=expect)


@pytest.fixture(scope="module")
def project(first: First, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Give a built project with a row for its run and one for an experiment."""
    workspace = first.copy.copy(tmp_path_factory.mktemp("registry") / "work")
    hanyi(workspace, "publish")
    workspace.tracked("exp", "run", "--name", WIDER, "-S", "decode.beam_size=3")
    workspace.run("git", "checkout", "--quiet", ".")
    workspace.dvc("checkout", "--quiet")
    return workspace


@pytest.fixture(scope="module")
def said(project: Workspace) -> Done:
    """Register the model of the workspace; give what the command said."""
    return hanyi(project, "register", "tiny", "--alias", "champion")


@pytest.fixture(scope="module")
def client(project: Workspace) -> Any:
    from mlflow.tracking import MlflowClient

    return MlflowClient(f"sqlite:///{project.path / 'mlflow.db'}")


@pytest.fixture(scope="module")
def expected(project: Workspace) -> list[str]:
    """Give what `hanyi translate` makes of the texts."""
    return hanyi(project, "translate", *TEXTS).out.split("\n")[:-1]


def artifacts(client: Any) -> Path:
    """Give the folder of the files of version 1."""
    version = client.get_model_version("tiny", "1")
    model = client.get_logged_model(version.source.removeprefix("models:/"))
    return Path(model.artifact_location.removeprefix("file://"))


def row_of(client: Any, experiment: str) -> Any:
    """Give the one row of an experiment, or of the plain run."""
    found = client.search_runs([client.get_experiment_by_name("hanyi").experiment_id])
    [row] = [one for one in found if one.data.tags.get("dvc.experiment", "") == experiment]
    return row


def test_it_is_logged_under_its_own_row(project: Workspace, said: Done, client: Any) -> None:
    row = row_of(client, "")
    assert said.out == "models:/tiny/1: registered\nmodels:/tiny@champion: this version now\n"
    assert said.err == f"logged under run {row.info.run_id}\n"
    version = client.get_model_version_by_alias("tiny", "champion")
    assert (version.version, version.run_id) in {(1, row.info.run_id), ("1", row.info.run_id)}
    assert version.tags["git.revision"] == project.run("git", "rev-parse", "HEAD").out.strip()
    assert version.tags["bleu"] == f"{project.metrics('score')['bleu']['score']:.2f}"
    assert row.info.status == "FINISHED"
    assert client.get_run(row.info.run_id).info.end_time == row.info.end_time


def test_it_holds_all_that_it_needs(project: Workspace, said: Done, client: Any) -> None:
    import mlflow

    folder = artifacts(client)
    bundle = folder / "artifacts/bundle"
    card = (bundle / "README.md").read_text(encoding="utf-8")
    assert card == hanyi(project, "card").out
    assert f"{project.metrics('score')['chrf']['score']:.2f}" in card
    for part in ("transformer", "tokenizers"):
        for file in (bundle / part).iterdir():
            assert file.read_bytes() == (project.path / "models" / part / file.name).read_bytes()
    assert (folder / "code/hanyi/translator/__init__.py").is_file()
    assert not list((folder / "code").rglob("__pycache__"))
    signature = mlflow.models.Model.load(str(folder)).signature.to_dict()
    assert json.loads(signature["inputs"]) == [{"type": "string", "required": True}]
    names = {one["name"]: one["default"] for one in json.loads(signature["params"])}
    assert names == {"beam_size": 2, "n_best": 1}
    example = json.loads((folder / "input_example.json").read_text(encoding="utf-8"))
    assert example
    assert all(f"| {text} |" in card for text in example)
    assert "torch==2.13.0\n" in (folder / "requirements.txt").read_text(encoding="utf-8")


def test_the_same_model_makes_no_second_version(
    project: Workspace, said: Done, client: Any
) -> None:
    done = hanyi(project, "register", "tiny", "--run", row_of(client, "").info.run_id)
    assert done.out == "models:/tiny/1: the same model, no new one\n"
    assert len(client.search_model_versions("name = 'tiny'")) == 1


def test_the_model_of_an_experiment(project: Workspace, said: Done, client: Any) -> None:
    row = row_of(client, WIDER)
    done = hanyi(project, "register", "wide", "--run", row.info.run_id)
    assert done.out == "models:/wide/1: registered\n"
    assert done.err == f"logged under run {row.info.run_id}\n"
    assert client.get_model_version("wide", "1").tags["dvc.revision"] == WIDER
    card = hanyi(project, "card", "--rev", WIDER).out
    assert "| decode.beam_size | 3 |" in card
    assert "with changes that are not committed" not in card


def test_a_row_whose_model_is_not_here(project: Workspace, said: Done, client: Any) -> None:
    experiment = client.get_experiment_by_name("hanyi").experiment_id
    other = client.create_run(experiment, tags={"dvc.models/transformer": "f" * 32})
    done = hanyi(project, "register", "tiny", "--run", other.info.run_id, expect=2)
    client.delete_run(other.info.run_id)
    assert "a run of another model than the workspace holds" in done.err
    assert done.err.count("\n") == 1


def test_it_translates_as_the_project_does(
    project: Workspace, said: Done, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow
    import pandas as pd

    assert hanyi(project, "translate", "--model", "models:/tiny@champion", *TEXTS).out.split(
        "\n"
    ) == [*expected, ""]
    monkeypatch.setenv("HANYI_DEVICE", "cpu")
    mlflow.set_tracking_uri(f"sqlite:///{project.path / 'mlflow.db'}")
    try:
        model = mlflow.pyfunc.load_model("models:/tiny/1")
    finally:
        mlflow.set_tracking_uri(None)
    assert model.predict(TEXTS) == expected
    assert model.predict(pd.DataFrame({"anything": TEXTS})) == expected
    both = model.predict(TEXTS, params={"n_best": 2})
    assert [texts[0] for texts in both] == expected


@pytest.fixture(scope="module")
def server(project: Workspace, said: Done) -> Iterator[str]:
    """Start `mlflow models serve`; give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", "models:/tiny@champion"]
    command += ["--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    store = f"sqlite:///{project.path / 'mlflow.db'}"
    environment = project.environment(PATH=path, MLFLOW_TRACKING_URI=store)
    log = project.path / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=project.path, env=environment, stdout=output, stderr=output
        )
        try:
            address = f"http://127.0.0.1:{port}"
            end = time.monotonic() + 120
            while not _up(address):
                assert process.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < end, log.read_text(encoding="utf-8")
                time.sleep(0.2)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)
            log.unlink()


def _up(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/ping", timeout=5):
            return True
    except OSError:
        return False


def ask(address: str, body: Any) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"{address}/invocations",
        json.dumps(body).encode("utf-8"),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_mlflow_serves_it(server: str, expected: list[str]) -> None:
    assert ask(server, {"inputs": TEXTS}) == (200, {"predictions": expected})
    table = {"columns": ["text"], "data": [[text] for text in TEXTS]}
    assert ask(server, {"dataframe_split": table}) == (200, {"predictions": expected})
    status, found = ask(server, {"inputs": TEXTS, "params": {"n_best": 2}})
    assert status == 200
    assert [texts[0] for texts in found["predictions"]] == expected
    status, found = ask(server, {"inputs": TEXTS, "params": {"n_best": 9}})
    assert status == 400
    assert "n_best must be from 1 to beam_size" in found["message"]


@pytest.mark.timeout(1800)
@pytest.mark.skipif(FRESH not in os.environ, reason=f"installs torch anew; set {FRESH}=1 for it")
def test_a_fresh_environment_translates(
    said: Done, client: Any, expected: list[str], tmp_path: Path
) -> None:
    folder = artifacts(client)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    install = ["-m", "pip", "install", "--quiet", "--requirement", folder / "requirements.txt"]
    subprocess.run([python, *install], check=True)
    script = (
        "import json, sys, mlflow\n"
        "model = mlflow.pyfunc.load_model(sys.argv[1])\n"
        "sys.stdout.write(json.dumps(model.predict(json.loads(sys.argv[2]))))\n"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HANYI_DEVICE": "cpu"}
    done = subprocess.run(
        [python, "-c", script, folder, json.dumps(TEXTS)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    assert json.loads(done.stdout) == expected
