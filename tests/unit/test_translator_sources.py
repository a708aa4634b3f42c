"""Models found by their name: directories of every layout, revisions and experiments, MLflow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hanyi.errors import ArtifactError, HanyiError, ParamsError
from hanyi.params import load_section
from hanyi.revisions import Revision
from hanyi.translator import Translator, find_model, model_at, read_settings, revisions
from hanyi.translator.settings import OUTSIDE, REPAIRS
from tests.models import save_tiny_model, tiny_tokenizers

TEXT = "我爱你。"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a model, a checkpoint and their tokenizers."""
    home = tmp_path_factory.mktemp("made") / "models"
    pair = tiny_tokenizers(home / "tokenizers")
    save_tiny_model(home / "transformer", *pair)
    save_tiny_model(home / "checkpoints" / "bleu", *pair, seed=1)
    return home


@pytest.fixture
def project(models: Path, root: Path, tmp_path: Path) -> Path:
    """Give a project with a model, which is the current directory's neighbour."""
    shutil.copytree(models, tmp_path / "project" / "models")
    shutil.copy(root / "params.yaml", tmp_path / "project")
    return tmp_path / "project"


def test_directories_of_every_layout(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformer, tokenizers = project / "models/transformer", project / "models/tokenizers"
    for source in (project, project / "models", transformer, str(transformer)):
        found = find_model(source)
        assert (found.model.resolve(), found.tokenizers.resolve()) == (transformer, tokenizers)
        assert found.params == project / "params.yaml"
        assert found.home == project
        assert found.source == str(source)
    checkpoint = find_model(project / "models/checkpoints/bleu")
    assert checkpoint.tokenizers == tokenizers
    assert checkpoint.params == project / "params.yaml"
    for here, source in ((project, "."), (transformer, "."), (project / "models", "transformer")):
        monkeypatch.chdir(here)
        assert find_model(source).params == project / "params.yaml"


def test_bundles_and_flat_folders(project: Path, tmp_path: Path) -> None:
    bundle, flat = project / "bundle", project / "flat"
    for part in ("transformer", "tokenizers"):
        shutil.copytree(project / "models" / part, bundle / part)
    shutil.copytree(project / "models/transformer", flat)
    shutil.copytree(project / "models/tokenizers", flat / "tokenizers")
    for folder in (bundle, flat):  # the project's parameters are not theirs
        assert find_model(folder).params is None
        shutil.copy(project / "params.yaml", folder)
        assert find_model(folder).params == folder / "params.yaml"
    assert find_model(flat, project / "models/tokenizers").tokenizers.parent.name == "models"
    assert find_model(project / "models/transformer", flat / "tokenizers").params is not None


def test_what_is_missing_is_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    (project / "empty").mkdir()
    with pytest.raises(ArtifactError, match=r"empty: no config.json in it, in transformer/ or"):
        find_model(project / "empty")
    shutil.move(project / "models/tokenizers", project / "elsewhere")
    with pytest.raises(ArtifactError, match="name their folder with --tokenizers"):
        find_model(project)
    assert find_model(project, project / "elsewhere").params == project / "params.yaml"
    with pytest.raises(ParamsError, match="--model: nowhere, no folder and no name in git or DVC"):
        find_model("nowhere")


def test_settings_are_those_of_the_model(project: Path, models: Path) -> None:
    settings = read_settings(find_model(project).params)
    assert settings.languages is not None
    assert (settings.languages.src, settings.languages.tgt) == ("zh", "en")
    assert settings.config.engine == "auto"
    outside = read_settings(find_model(models).params)
    assert (outside.rules, outside.config, outside.languages) == (REPAIRS, OUTSIDE, None)
    params = project / "params.yaml"
    params.write_text(params.read_text(encoding="utf-8").replace("n_best: 1 ", "n_best: 3 "))
    assert Translator.load(project, device="cpu").config.n_best == 1
    text = params.read_text(encoding="utf-8").replace("form: NFC}", "form: NFKC}")
    params.write_text(text.replace("ensemble: []", "ensemble: [models/checkpoints/bleu]"))
    joined = Translator.load(project, device="cpu")
    assert joined.normal("Ｉ") == "I"
    assert joined.translate([TEXT]) != Translator.load(models, device="cpu").translate([TEXT])
    params.write_text(text.replace("beam_size: ", "beam_sizes: "))
    with pytest.raises(ParamsError, match=r"decode\.beam_size"):
        Translator.load(project, device="cpu")


@pytest.fixture(scope="module")
def history(
    models: Path, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, str]]:
    """Make a project of three commits: no model, one model, another; DVC holds the models."""
    home = tmp_path_factory.mktemp("history")
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "DVC_NO_ANALYTICS": "1",
        "DVC_GLOBAL_CONFIG_DIR": str(home / "none"),
        "DVC_SYSTEM_CONFIG_DIR": str(home / "none"),
        "DVC_SITE_CACHE_DIR": str(home / "site"),
    }

    def call(*arguments: str) -> str:
        done = subprocess.run(
            arguments, cwd=project, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    project = home / "project"
    project.mkdir()
    stages = "".join(
        f"  {name}:\n    cmd: cp -r ../{name} models/\n    deps: [../{name}]\n"
        f"    outs: [models/{name}]\n"
        for name in ("transformer", "tokenizers")
    )
    dvc = [sys.executable, "-m", "dvc"]
    call("git", "init", "-q", "-b", "main")
    call("git", "config", "user.email", "e@example.org")
    call("git", "config", "user.name", "E")
    call(*dvc, "init", "-q")
    call("git", "commit", "-q", "-m", "none")
    commits = {"none": call("git", "rev-parse", "HEAD")}
    (project / "dvc.yaml").write_text(f"stages:\n{stages}")
    (project / "models").mkdir()
    shutil.copytree(models / "tokenizers", home / "tokenizers")
    params = (root / "params.yaml").read_text(encoding="utf-8")
    for name, beams in (("transformer", 4), ("checkpoints/bleu", 2)):
        shutil.rmtree(home / "transformer", ignore_errors=True)
        shutil.copytree(models / name, home / "transformer")
        (project / "params.yaml").write_text(
            params.replace("beam_size: 4 ", f"beam_size: {beams} ")
        )
        call(*dvc, "repro", "-q")
        call("git", "add", ".")
        call("git", "commit", "-q", "-m", name)
        commits[name] = call("git", "rev-parse", "HEAD")
    call("git", "tag", "first", "HEAD~1")
    for place, (ref, commit) in enumerate(
        [("lively-mule", "HEAD~1"), ("twice", "HEAD~1"), ("twice", "HEAD")]
    ):
        call("git", "update-ref", f"refs/exps/0{place}/{'0' * 38}/{ref}", commit)
    return project, commits


def test_a_revision_is_meant_though_a_folder_has_its_name(
    history: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _ = history
    monkeypatch.chdir(project)
    shutil.copytree(project / "models", project / "first" / "models")
    try:
        assert find_model("first").revision is None
        assert model_at("first").revision == "first"
        with pytest.raises(ParamsError, match="--rev: no revision or experiment models, expected"):
            model_at("models")
    finally:
        shutil.rmtree(project / "first")


def test_a_copy_that_another_process_made_meanwhile_stays(
    history: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _ = history
    monkeypatch.chdir(project)
    folder = find_model("main").model.parent
    shutil.rmtree(folder)

    class Slow(Revision):
        def copy(self, path: str | Path, target: Path) -> bool:
            folder.mkdir(exist_ok=True)
            (folder / "theirs").touch()
            return super().copy(path, target)

    monkeypatch.setattr(revisions, "Revision", Slow)
    find_model("main")
    assert (folder / "theirs").exists()
    assert [one.name for one in folder.parent.iterdir() if one.name.startswith(".")] == []
    shutil.rmtree(folder)


def test_a_lock_that_cannot_be_read_is_one_line(
    history: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(history[0])
    broken = b"<<<<<<< HEAD\na: [\n"
    monkeypatch.setattr(revisions, "file_at", lambda *_: broken)
    with pytest.raises(ArtifactError, match=r"main:dvc\.lock: not to be read") as caught:
        find_model("main")
    assert "\n" not in str(caught.value)


def test_revisions_and_experiments(
    history: tuple[Path, dict[str, str]], models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, commits = history
    (project / "below").mkdir(exist_ok=True)
    monkeypatch.chdir(project / "below")
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")
    before = {file: file.stat().st_mtime_ns for file in (project / "models").rglob("*")}
    now, first = find_model("main"), find_model("first")
    for found, made, beams in ((now, "checkpoints/bleu", 2), (first, "transformer", 4)):
        for name in ("config.json", "weights.safetensors"):
            assert (found.model / name).read_bytes() == (models / made / name).read_bytes()
        config = read_settings(found.params).config
        assert config.beam_size == beams
        assert found.home == project
        assert found.model.is_relative_to(project / ".hanyi" / "models")
        texts = Translator.load(found, device="cpu").translate([TEXT])
        alone = Translator.load(
            models / made, tokenizers=models / "tokenizers", device="cpu", config=config
        )
        assert texts[0].text == alone.translate([TEXT])[0].text
    for name in ("HEAD~1", commits["transformer"], "lively-mule"):
        assert find_model(name).model == first.model
    after = {file: file.stat().st_mtime_ns for file in (project / "models").rglob("*")}
    assert after == before
    with pytest.raises(ParamsError, match="twice, the name of 2 experiments, expected one of them"):
        find_model("twice")
    with pytest.raises(HanyiError, match="no models/transformer and no models/tokenizers"):
        find_model(commits["none"])
    shutil.rmtree(first.model.parent)
    shutil.rmtree(project / ".dvc" / "cache")
    assert find_model("main") == now
    with pytest.raises(ArtifactError, match=r"first:.* nor in DVC's cache"):
        find_model("first")
    assert not first.model.parent.exists()


def test_models_in_mlflow(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A logged model is a folder with the bundle among its artifacts; versions have aliases."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(project)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(ArtifactError, match="there is no store"):
        find_model("models:/hanyi@champion")
    assert not (project / "mlflow.db").exists()
    home = tmp_path / "logged" / "artifacts" / "bundle"
    for part in ("transformer", "tokenizers"):
        shutil.copytree(project / "models" / part, home / part)
    shutil.copy(project / "params.yaml", home)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/store.db")
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/store.db")
    run = client.create_run(client.create_experiment("e", artifact_location=f"{tmp_path}/kept"))
    client.log_artifacts(run.info.run_id, str(tmp_path / "logged"), "model")
    client.create_registered_model("hanyi")
    source = f"{run.info.artifact_uri}/model"
    client.create_model_version("hanyi", source, run.info.run_id)
    client.set_registered_model_alias("hanyi", "champion", "1")
    alone = Translator.load(project, device="cpu").translate([TEXT])
    for uri in ("models:/hanyi@champion", "models:/hanyi/1", f"runs:/{run.info.run_id}/model"):
        found = find_model(uri)
        assert found.source == uri
        assert found.params is not None
        assert load_section("decode.beam_size", int, found.params) == 4
        assert Translator.load(found, device="cpu").translate([TEXT]) == alone
    assert len(list((project / ".hanyi" / "models").iterdir())) == 1
    with pytest.raises(ArtifactError, match=r"models:/hanyi/2: .* registered by `hanyi register`"):
        find_model("models:/hanyi/2")
