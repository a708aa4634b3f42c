"""The stage decode: every row one line, in order of id; mixed artifacts refused in one line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hanyi.decoding.config import DecodeConfig
from hanyi.decoding.engine import translate_ids
from hanyi.errors import ArtifactError, ParamsError
from hanyi.model.devices import pick_device
from hanyi.model.storage import load_model
from hanyi.params import parse
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.shards import encoded_rows, write_shards
from hanyi.tracking import Tracker
from stages import decode
from tests.decoding import DECODE
from tests.models import SENTENCES, TRANSLATIONS, save_tiny_model, tiny_tokenizers

IDS = [31, 4, 15, 92, 6, 53, 58]
VALUES = {
    **DECODE,
    "beam_size": 3,
    "max_length_ratio": 1.0,
    "max_length_offset": 5,
    "batch_tokens": 60,
}


def write_params(**changes: Any) -> None:
    Path("params.yaml").write_text(json.dumps({"decode": {**VALUES, **changes}}))


def encode(directory: Path, src: Tokenizer, tgt: Tokenizer, ids: list[int]) -> None:
    directory.mkdir(parents=True)
    sources = src.encode_flat([*SENTENCES[: len(ids) - 1], ""][: len(ids)])
    targets = tgt.encode_flat(TRANSLATIONS[: len(ids)])
    rows = encoded_rows(ids, [0] * len(ids), sources, targets)
    fields = {
        "corpora": ["tiny"],
        "weights": {"tiny": 1.0},
        "src_vocab": src.size,
        "tgt_vocab": tgt.size,
        "src_tokenizer": src.digest,
        "tgt_tokenizer": tgt.digest,
        "max_tokens": 20,
        "counts": {},
    }
    write_shards(directory, [rows], shard_rows=4, fields=fields)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    pair = tiny_tokenizers(root / "models/tokenizers")
    save_tiny_model(root / "models/transformer", *pair)
    encode(root / "data/encoded/test", *pair, IDS)
    return root


@pytest.fixture(autouse=True)
def inside(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HANYI_DEVICE", "cpu")
    write_params()


def run() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    metrics = decode.main(Tracker())
    text = Path("data/decoded/test.jsonl").read_text(encoding="utf-8")
    assert text.endswith("\n")
    return metrics, [json.loads(line) for line in text.splitlines()]


def test_one_line_for_each_row_in_order_of_id() -> None:
    metrics, rows = run()
    assert [row["id"] for row in rows] == sorted(IDS)
    assert all(set(row) == {"id", "text", "log_prob", "tokens", "finished"} for row in rows)
    model, _ = load_model(Path("models/transformer"), pick_device("cpu"))
    src = Tokenizer.load(Path("models/tokenizers/src.json"))
    tgt = Tokenizer.load(Path("models/tokenizers/tgt.json"))
    texts = dict(zip(IDS, [*SENTENCES[: len(IDS) - 1], ""], strict=True))
    search = parse("decode", DecodeConfig, VALUES)
    for row in rows:
        ids = src.encode(texts[row["id"]])
        (best,) = translate_ids(model, [ids], search, tokens=1)[0]
        assert row["tokens"] == best.tokens
        assert row["text"] == tgt.decode(best.tokens)
        assert row["log_prob"] == pytest.approx(best.log_prob, abs=1e-4)
        assert row["finished"] == best.finished
    finished = sum(row["finished"] for row in rows)
    assert metrics == {
        "rows": len(IDS),
        "finished": finished,
        "cut": len(IDS) - finished,
        "empty": sum(not row["tokens"] for row in rows),
        "mean_tokens": sum(len(row["tokens"]) for row in rows) / len(IDS),
    }
    assert metrics["empty"] >= 1


def test_same_inputs_same_bytes() -> None:
    run()
    first = Path("data/decoded/test.jsonl").read_bytes()
    run()
    assert Path("data/decoded/test.jsonl").read_bytes() == first


@pytest.mark.parametrize("count", [2, 3])
def test_several_processes_write_the_same_bytes(root: Path, count: int) -> None:
    write_params(n_best=2, batch_tokens=60)
    metrics, _ = run()
    alone = Path("data/decoded/test.jsonl").read_bytes()
    shutil.rmtree("data/decoded")
    environment = {
        **os.environ,
        "PYTHONPATH": str(root),
        "HANYI_TRACKING": "off",
        "HANYI_TORCHRUN": f"--nproc-per-node={count}",
    }
    stage = [sys.executable, "-m", "stages.decode"]
    done = subprocess.run(stage, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == f"decode: {len(IDS)} rows, beam size 3, {count} processes\n"
    assert Path("data/decoded/test.jsonl").read_bytes() == alone
    assert json.loads(Path("metrics/decode.json").read_text())["rows"] == metrics["rows"]


def test_cores_are_shared_out_where_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode.sys, "platform", "linux")
    monkeypatch.setattr(decode, "cores", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert decode.default_processes() == 1  # too few rows
    monkeypatch.setattr(decode, "ROWS_WORTH_A_PROCESS", 3)
    assert decode.default_processes() == len(IDS) // 3
    monkeypatch.setattr(decode, "ROWS_WORTH_A_PROCESS", 1)
    assert decode.default_processes() == 4
    monkeypatch.setattr(decode, "MOST_PROCESSES", 2)
    assert decode.default_processes() == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert decode.default_processes() == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    no_split()
    assert decode.default_processes() == 1  # the stage itself tells what is missing


def test_n_best() -> None:
    write_params(n_best=3)
    _, rows = run()
    for row in rows:
        best = {key: row[key] for key in ("text", "log_prob", "tokens", "finished")}
        assert row["n_best"][0] == best
        assert len(row["n_best"]) == (3 if row["tokens"] or row["log_prob"] else 1)


def test_a_text_that_would_break_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a\n b\u2028c\u0085d\re"
    monkeypatch.setattr(Tokenizer, "decode", lambda self, ids: text)
    _, rows = run()
    assert len(rows) == len(IDS)
    assert {row["text"] for row in rows} == {text}


def test_an_empty_split() -> None:
    shutil.rmtree("data/encoded/test")
    pair = [Tokenizer.load(Path(f"models/tokenizers/{side}.json")) for side in ("src", "tgt")]
    encode(Path("data/encoded/test"), pair[0], pair[1], [])
    metrics = decode.main(Tracker())
    assert metrics == {"rows": 0, "finished": 0, "cut": 0, "empty": 0, "mean_tokens": 0.0}
    assert Path("data/decoded/test.jsonl").read_bytes() == b""


def swap_tokenizers() -> None:
    folder = Path("models/tokenizers")
    (folder / "src.json").rename(folder / "other.json")
    (folder / "tgt.json").rename(folder / "src.json")
    (folder / "other.json").rename(folder / "tgt.json")


def foreign_model() -> None:
    path = Path("models/transformer/config.json")
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({**fields, "tgt_tokenizer": "f" * 32}))


def broken_weights() -> None:
    path = Path("models/transformer/weights.safetensors")
    path.write_bytes(path.read_bytes()[:1000])


def broken_shard() -> None:
    path = Path("data/encoded/test/00000.arrow")
    path.write_bytes(path.read_bytes()[:-8])


def no_model() -> None:
    shutil.rmtree("models/transformer")


def no_split() -> None:
    shutil.rmtree("data/encoded")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (swap_tokenizers, "data/encoded/test/index.json: tokens of src tokenizer .* mixed"),
        (foreign_model, "models/transformer/config.json: trained with tgt tokenizer ffffffff"),
        (broken_weights, "models/transformer/weights.safetensors: digest"),
        (broken_shard, "data/encoded/test/00000.arrow: "),
        (no_model, "models/transformer/config.json: no such file"),
        (no_split, "data/encoded/test/index.json: no such file"),
    ],
)
def test_damaged_or_mixed_artifacts(damage: Any, message: str) -> None:
    damage()
    with pytest.raises(ArtifactError, match=message) as caught:
        decode.main(Tracker())
    assert "\n" not in str(caught.value)
    assert not Path("data/decoded").exists()


def test_bad_params() -> None:
    write_params(beam_size=0)
    with pytest.raises(ParamsError, match="beam_size must be at least 1, got 0"):
        decode.main(Tracker())


def test_a_fault_of_the_script_is_one_line(root: Path) -> None:
    no_model()
    environment = {**os.environ, "PYTHONPATH": str(root), "HANYI_TRACKING": "off"}
    command = [sys.executable, "-m", "stages.decode", "--device", "cpu"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("decode: error: models/transformer/config.json: no such file")
    assert done.stderr.count("\n") == 1
    assert not Path("metrics").exists()
