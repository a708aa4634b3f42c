"""Exports compute what the model computes, and what cannot be exported says why."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import ctranslate2
import pyarrow as pa
import pytest
import tokenizers
import torch
from pyarrow import parquet
from typer.testing import CliRunner

from hanyi.cli import app
from hanyi.errors import ArtifactError, HanyiError, ParamsError
from hanyi.export import verification
from hanyi.export.ctranslate2 import TYPES, export_ctranslate2
from hanyi.export.marian import export_marian
from hanyi.export.verification import CLOSE, verify_ctranslate2, verify_marian
from hanyi.tokens.vocab import EOS
from hanyi.translator import Translator
from tests.models import SENTENCES, TRANSLATIONS, save_tiny_model, tiny_tokenizers

POST: dict[str, Any] = {"norm": "post"}


def make(root: Path, **changes: Any) -> Translator:
    """Save a small model and open it as exports do."""
    pair = tiny_tokenizers(root / "models/tokenizers")
    if changes.get("tie") == "all":
        pair = pair[0], pair[0]
        pair[0].save(root / "models/tokenizers/tgt.json")
    save_tiny_model(root / "models/transformer", *pair, **changes)
    return Translator.load(root, device="cpu")


def split(root: Path) -> Path:
    """Write a test split beside the model."""
    count = len(SENTENCES)
    table = pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "corpus": ["mine"] * count,
            "src": SENTENCES,
            "tgt": TRANSLATIONS,
        }
    )
    path = root / "data/prepared/test.parquet"
    path.parent.mkdir(parents=True)
    parquet.write_table(table, path)
    return path


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    make(root, **POST)
    split(root)
    return root


@pytest.mark.parametrize("weights", TYPES)
def test_ctranslate2_translates_the_same(project: Path, tmp_path: Path, weights: str) -> None:
    translator = Translator.load(project, device="cpu")
    export_ctranslate2(translator, tmp_path / "out", weights)
    found = verify_ctranslate2(translator, tmp_path / "out", project / "data/prepared/test.parquet")
    assert found.rows == len(SENTENCES)
    assert found.equal == found.rows or weights != "float32"
    ours, export = found.scores["bleu"]
    assert abs(ours - export) < (1e-9 if weights == "float32" else 30)
    assert found.signatures["bleu"].startswith("nrefs:1|")


def test_ctranslate2_alone_understands_the_folder(project: Path, tmp_path: Path) -> None:
    """As its README says: tokenizers and CTranslate2, nothing of ours."""
    translator = Translator.load(project, device="cpu")
    out = tmp_path / "out"
    export_ctranslate2(translator, out, "float32")
    src = tokenizers.Tokenizer.from_file(str(out / "src.json"))
    tgt = tokenizers.Tokenizer.from_file(str(out / "tgt.json"))
    beams = translator.config.beam_size
    limit = translator.config.limit(len(src.encode("我爱你。").ids))
    found = ctranslate2.Translator(str(out)).translate_batch(
        [src.encode("我爱你。").tokens], beam_size=beams, max_decoding_length=limit
    )
    ids = [tgt.token_to_id(token) for token in found[0].hypotheses[0]]
    assert ids
    assert all(number is not None for number in ids)


@pytest.mark.parametrize("weights", TYPES)
def test_the_model_stays_as_it_is(project: Path, tmp_path: Path, weights: str) -> None:
    translator = Translator.load(project, device="cpu")
    before = {name: tensor.clone() for name, tensor in translator.model.state_dict().items()}
    export_ctranslate2(translator, tmp_path / "out", weights)
    for name, tensor in translator.model.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_a_wrong_export_is_noticed(project: Path, tmp_path: Path) -> None:
    other = make(tmp_path / "other", **POST, layers=1)
    export_ctranslate2(other, tmp_path / "out", "float32")
    translator = Translator.load(project, device="cpu")
    found = verify_ctranslate2(
        translator, tmp_path / "out", project / "data/prepared/test.parquet", most=6
    )
    assert found.rows == 6
    assert found.equal < 6
    far = replace(found, scores={"bleu": (30.0, 29.1), "chrf": (50.0, 48.9)})
    with pytest.raises(ArtifactError, match=r"chrf 48\.90, expected at most 1 below ours, 50\.00"):
        far.require_close(tmp_path)
    replace(found, scores={"bleu": (30.0, 29.1)}).require_close(tmp_path)


def test_some_rows_are_drawn_from_all(project: Path) -> None:
    everything, _ = verification._read(project / "data/prepared/test.parquet", None)
    some, references = verification._read(project / "data/prepared/test.parquet", 4)
    assert everything == SENTENCES
    assert some != SENTENCES[:4]
    assert set(zip(some, references, strict=True)) <= set(zip(SENTENCES, TRANSLATIONS, strict=True))


@pytest.mark.parametrize(
    ("positions", "activation", "tie"),
    [
        *product(["interleaved", "concatenated"], ["relu", "gelu", "silu"], ["none", "output"]),
        ("interleaved", "relu", "all"),
    ],
)
def test_marian_has_equal_logits(tmp_path: Path, positions: str, activation: str, tie: str) -> None:
    pytest.importorskip("transformers")
    switches = {"positions": positions, "activation": activation, "tie": tie}
    translator = make(tmp_path, **POST, **switches, decoder_layers=1)
    export_marian(translator, tmp_path / "out")
    assert verify_marian(translator, tmp_path / "out") < CLOSE


@torch.no_grad()
def test_marian_generates_our_greedy_translation(project: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    translator = Translator.load(project, device="cpu")
    out = tmp_path / "out"
    export_marian(translator, out)
    src = transformers.AutoTokenizer.from_pretrained(out)
    tgt = transformers.AutoTokenizer.from_pretrained(out / "target")
    model = transformers.MarianMTModel.from_pretrained(out)
    for text in SENTENCES[:6]:
        asked = src(text, return_tensors="pt")
        ids = asked["input_ids"][0].tolist()
        assert ids == [*translator.src.encode(text), EOS]
        limit = translator.config.limit(len(ids) - 1)
        found = model.generate(**asked, num_beams=1, max_new_tokens=limit)[0]
        pieces = "".join(translator.stream(text))
        assert tgt.decode(found, skip_special_tokens=True).strip() == pieces.strip()


def test_a_wrong_marian_is_noticed(project: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    translator = Translator.load(project, device="cpu")
    export_marian(translator, tmp_path / "out")
    with torch.no_grad():
        next(translator.model.parameters()).mul_(1.1)
    with pytest.raises(ArtifactError, match="logits that differ by"):
        verify_marian(translator, tmp_path / "out")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"norm": "pre"}, "model.norm=pre"),
        ({**POST, "norm_type": "rms_norm"}, "model.norm_type=rms_norm"),
        ({**POST, "activation": "swiglu"}, "model.activation=swiglu"),
        ({**POST, "positions": "rotary"}, "model.positions=rotary"),
        ({**POST, "key_value_heads": 2}, "model.key_value_heads=2"),
    ],
)
def test_marian_refuses_what_it_cannot_compute(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    translator = make(tmp_path, **changes)
    with pytest.raises(ParamsError, match=told):
        export_marian(translator, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["ctranslate2", "marian"])
def test_equal_bytes_and_room(project: Path, tmp_path: Path, kind: str) -> None:
    translator = Translator.load(project, device="cpu")

    def export(target: Path) -> None:
        if kind == "marian":
            export_marian(translator, target)
        else:
            export_ctranslate2(translator, target, "int8")

    export(tmp_path / "one")
    export(tmp_path / "two")
    export(tmp_path / "two")  # an older export gives way
    names = sorted(file.relative_to(tmp_path / "one") for file in (tmp_path / "one").rglob("*.*"))
    assert len(names) > 4
    for name in names:
        if (tmp_path / "one" / name).is_file():
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/diary.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(HanyiError, match="a new or empty folder"):
        export(tmp_path / "mine")
    assert (tmp_path / "mine/diary.txt").read_text(encoding="utf-8") == "mine"
    for other in (project / "models/transformer", tmp_path / "two"):  # it looks like an export
        shutil.copytree(other, tmp_path / "other", dirs_exist_ok=True)
    (tmp_path / "other/diary.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(HanyiError, match=r"a folder with diary\.txt, expected a new or empty"):
        export(tmp_path / "other")
    with pytest.raises(HanyiError, match=r"expected a new or empty folder"):
        export(project / "models/transformer")
    assert (project / "models/transformer/weights.safetensors").is_file()


def test_the_command(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["export", "ctranslate2", "-o", str(out), "--rows", "4"])
    assert done.exit_code == 0, done.output
    assert "4 of 4 translations are the same; bleu" in done.stdout
    told = json.loads((out / "verification.json").read_text(encoding="utf-8"))
    assert told["rows"] == told["equal"] == 4
    done = CliRunner().invoke(app, ["export", "ctranslate2", "-o", str(out), "--weights", "int3"])
    assert done.exit_code == 2
    assert "one of float32, int8" in done.stderr
    pytest.importorskip("transformers")
    done = CliRunner().invoke(app, ["export", "marian", "-o", str(tmp_path / "marian")])
    assert done.exit_code == 0, done.output
    assert "logits differ from ours by" in done.stdout


def test_without_a_test_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["export", "ctranslate2", "-o", "out"])
    assert done.exit_code == 0, done.output
    assert "not verified, for there is no data/prepared/test.parquet" in done.stderr
