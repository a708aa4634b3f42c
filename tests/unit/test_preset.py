from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hanyi.errors import ParamsError
from hanyi.params import flatten, read_params
from stages.preset import main

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.stem for path in (ROOT / "presets").glob("*.yaml"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    shutil.copytree(ROOT / "presets", tmp_path / "presets")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def nested(changes: dict, params: dict) -> bool:
    return all(
        nested(value, params[key]) if isinstance(value, dict) else params[key] == value
        for key, value in changes.items()
    )


@pytest.mark.parametrize("name", NAMES)
def test_values_are_written_and_comments_stay(project: Path, name: str) -> None:
    before = project.joinpath("params.yaml").read_text(encoding="utf-8")
    main([name])
    text = project.joinpath("params.yaml").read_text(encoding="utf-8")
    assert nested(read_params(project / "presets" / f"{name}.yaml"), read_params())
    assert text.count("#") == before.count("#")
    assert "decoder_layers: null " in text
    main([name])
    assert project.joinpath("params.yaml").read_text(encoding="utf-8") == text


def test_presets_set_the_same_keys_so_that_one_undoes_another() -> None:
    keys = [set(flatten(read_params(ROOT / "presets" / f"{name}.yaml"))) for name in NAMES]
    assert all(other == keys[0] for other in keys)


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["base", "medium"]])
def test_an_unknown_preset_is_refused_with_the_list(project: Path, arguments: list[str]) -> None:
    with pytest.raises(ParamsError, match="one of base, medium, tatoeba"):
        main(arguments)


def test_a_misspelt_key_is_refused(project: Path) -> None:
    project.joinpath("presets", "bad.yaml").write_text("model: {haeds: 4}\n", encoding="utf-8")
    with pytest.raises(ParamsError, match=r"model\.haeds"):
        main(["bad"])


def test_missing_or_broken_params_are_told(project: Path) -> None:
    project.joinpath("params.yaml").write_text("model: [\n", encoding="utf-8")
    with pytest.raises(ParamsError, match=r"params\.yaml:2"):
        main(["base"])
    project.joinpath("params.yaml").unlink()
    with pytest.raises(ParamsError, match=r"params\.yaml: no such file"):
        main(["base"])
