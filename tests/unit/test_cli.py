"""The command line, with a tiny model: one line out for each line in, errors in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from hanyi import cli
from hanyi.cli import app
from hanyi.translator import Translator
from tests.models import save_tiny_model, tiny_tokenizers

TEXTS = ["我爱你。", "你好吗？", "", "他们很好。"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    pair = tiny_tokenizers(root / "models" / "tokenizers")
    save_tiny_model(root / "models" / "transformer", *pair)
    return root


@pytest.fixture(autouse=True)
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("HANYI_DEVICE", "cpu")


@pytest.fixture(scope="module")
def lines(project: Path) -> list[str]:
    translator = Translator.load(project, device="cpu")
    return [" ".join(found.text.split()) for found in translator.translate(TEXTS)]


def hanyi(*arguments: str, text: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=text)


def test_arguments(lines: list[str]) -> None:
    done = hanyi("translate", *TEXTS)
    assert done.exit_code == 0
    assert done.stdout.split("\n") == [*lines, ""]
    assert lines[2] == ""


def test_standard_input(lines: list[str]) -> None:
    for text in ("\n".join(TEXTS) + "\n", "\r\n".join(TEXTS), "\ufeff" + "\n".join(TEXTS)):
        done = hanyi("translate", text=text)
        assert done.exit_code == 0
        assert done.stdout.split("\n") == [*lines, ""]
    assert hanyi("translate", text="").stdout == ""
    assert hanyi("translate", text="\n\n").stdout == "\n\n"


def test_many_lines_come_in_order(lines: list[str]) -> None:
    done = hanyi("translate", text="".join(f"{text}\n" for text in TEXTS * 150))
    assert done.stdout.split("\n") == [*(lines * 150), ""]


def test_options(lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = Path.cwd() / "models"
    monkeypatch.chdir(tmp_path)
    places = ["--model", str(models / "transformer"), "--tokenizers", str(models / "tokenizers")]
    done = hanyi("translate", *places, "--device", "cpu", "--beam-size", "4", *TEXTS)
    assert done.stdout.split("\n") == [*lines, ""]
    assert hanyi("translate", *places, "--beams", "1", *TEXTS).exit_code == 0


def test_long_input_warns_on_standard_error() -> None:
    done = hanyi("translate", "我爱你。" * 20)
    assert done.exit_code == 0
    assert done.stdout.count("\n") == 1
    assert "more than 20 tokens, translated in" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "nowhere"], "--model: nowhere, no folder and no name in git or DVC"),
        (["--tokenizers", "nowhere"], "nowhere/src.json: no such file"),
        (["--device", "gpu"], "--device: gpu, expected cpu, cuda or cuda:N"),
        (["--beam-size", "0"], "--beams: beam_size must be at least 1, got 0"),
        (["--beams", "0"], "--beams: beam_size must be at least 1, got 0"),
        (["--n-best", "5"], "--n-best: n_best must be from 1 to beam_size, got n_best 5"),
        (["--n-best", "0"], "--n-best: 0, expected 1 or more"),
        (["--input", "texts.txt"], "--input: texts beside it, expected one of both"),
        (["--column", "1"], "--column: plain lines, which have none"),
        (["--format", "tsv"], "--format: tsv, but no file, expected lines"),
        (["--format", "csv"], "--format: csv, expected auto, plain, tsv, jsonl"),
        (["--header"], "--header: plain lines, which have none"),
        (["--stream", "--json", "--beams", "2"], "--stream: --json, --beams with it"),
    ],
)
def test_faults_are_one_line(arguments: list[str], message: str) -> None:
    done = hanyi("translate", *arguments, "我")
    assert done.exit_code == 2
    assert not done.stdout
    assert done.stderr.startswith(f"hanyi: error: {message}")
    assert done.stderr.count("\n") == 1


def test_half_characters_in_an_argument() -> None:
    done = hanyi("translate", "我", "我\udcff")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith("hanyi: error: argument 2: half a surrogate")
    assert done.stdout.count("\n") == 1


def test_params_of_the_model_are_used(tmp_path: Path, root: Path) -> None:
    shutil.copytree("models", tmp_path / "models")
    params = (root / "params.yaml").read_text(encoding="utf-8")
    place = ["--model", str(tmp_path)]
    (tmp_path / "params.yaml").write_text(params.replace("form: NFC}", "form: NFKC}"))
    assert hanyi("translate", *place, "Ｉ").stdout == hanyi("translate", *place, "I").stdout
    (tmp_path / "params.yaml").write_text(params.replace("beam_size: ", "beam_sizes: "))
    done = hanyi("translate", *place, "我")
    assert done.exit_code == 2
    assert "decode.beam_size" in done.stderr


def test_attention(tmp_path: Path, lines: list[str]) -> None:
    for layer in ("0", "1"):
        picture = tmp_path / f"map{layer}.png"
        done = hanyi("attention", TEXTS[0], "-o", str(picture), "--layer", layer)
        assert done.exit_code == 0, done.stderr
        assert done.stdout.split() == lines[0].split()
        assert picture.read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "map0.png").read_bytes() != (tmp_path / "map1.png").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([TEXTS[0], "-o", "map.doc"], "--output: map.doc, expected a name ending in .png"),
        ([TEXTS[0], "-o", "map.png", "--layer", "3"], "--layer: 3, expected 1 to 2, or 0"),
        (["", "-o", "map.png"], "text: 0 tokens, expected 1 to 20"),
        (
            [TEXTS[0], "-o", "models/tokenizers/src.json/map.png"],
            "models/tokenizers/src.json/map.p",
        ),
    ],
)
def test_attention_faults(arguments: list[str], message: str) -> None:
    done = hanyi("attention", *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"hanyi: error: {message}")
    assert done.stderr.count("\n") == 1


def test_help_does_not_need_torch() -> None:
    script = "import sys, hanyi.cli; sys.exit('torch' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert done.returncode == 0
    assert "translate" in hanyi("--help").stdout


def test_translating_imports_no_more_than_it_needs() -> None:
    """What takes long to import would keep a user waiting for each sentence."""
    slow = (
        "dvc",
        "fastapi",
        "matplotlib",
        "mlflow",
        "pandas",
        "sacrebleu",
        "scipy",
        "transformers",
    )
    script = (
        "import sys; from hanyi.cli import app\n"
        f"try: app(['translate', '{TEXTS[0]}'])\n"
        f"finally: print(*sorted(set(sys.modules) & set({slow})))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == [""]
