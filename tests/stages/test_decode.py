"""The stage decode: every row one line, in order of id; mixed artifacts refused in one line."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hanyi.artifacts import DECODED, digest_path, read_header
from hanyi.decoding.config import DecodeConfig
from hanyi.decoding.engine import translate_ids
from hanyi.decoding.segments import split_long
from hanyi.errors import ArtifactError, DataError, ParamsError
from hanyi.model.devices import pick_device
from hanyi.model.storage import load_model, read_description
from hanyi.params import parse
from hanyi.tokens.bpe import Tokenizer
from hanyi.tracking import Tracker
from stages import decode
from tests.decoding import DECODE
from tests.models import SENTENCES, save_tiny_model, tiny_tokenizers

IDS = [31, 4, 15, 92, 6, 53, 58]
TEXTS = dict(zip(IDS, [*SENTENCES[: len(IDS) - 1], ""], strict=True))
VALUES = {
    **DECODE,
    "beam_size": 3,
    "max_length_ratio": 1.0,
    "max_length_offset": 5,
    "batch_tokens": 60,
}


def write_params(**changes: Any) -> None:
    Path("params.yaml").write_text(json.dumps({"decode": {**VALUES, **changes}}))


def write_test(rows: list[tuple[int, str]]) -> None:
    Path("data/prepared").mkdir(parents=True, exist_ok=True)
    ids, texts = zip(*rows, strict=True) if rows else ((), ())
    columns = {
        "id": pa.array(ids, pa.int64()),
        "corpus": pa.array(["tiny"] * len(rows), pa.string()),
        "src": pa.array(texts, pa.string()),
        "tgt": pa.array(["?"] * len(rows), pa.string()),
    }
    pq.write_table(pa.table(columns), "data/prepared/test.parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    pair = tiny_tokenizers(root / "models/tokenizers")
    save_tiny_model(root / "models/transformer", *pair)
    save_tiny_model(root / "models/another", *pair, seed=1, layers=1)
    return root


@pytest.fixture(autouse=True)
def inside(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HANYI_DEVICE", "cpu")
    write_params()
    write_test(list(TEXTS.items()))


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
    search = parse("decode", DecodeConfig, VALUES)
    for row in rows:
        ids = src.encode(TEXTS[row["id"]])
        (best,) = translate_ids(model, [ids], search, tokens=1)[0]
        assert row["tokens"] == best.tokens
        assert row["text"] == tgt.decode(best.tokens).strip()
        assert row["log_prob"] == pytest.approx(best.log_prob, abs=1e-4)
        assert row["finished"] == best.finished
    finished = sum(row["finished"] for row in rows)
    assert metrics == {
        "rows": len(IDS),
        "finished": finished,
        "cut": len(IDS) - finished,
        "empty": sum(not row["tokens"] for row in rows),
        "mean_tokens": sum(len(row["tokens"]) for row in rows) / len(IDS),
        "split": {"rows": 0, "parts": 0},
        "terms": {"asked": 0, "unmet": 0},
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
    first, speed = done.stderr.splitlines()
    assert first == f"decode: {len(IDS)} rows, engine torch, beam size 3, {count} processes"
    assert re.fullmatch(r"decode: [\d.]+ rows a second", speed)
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
    broken_split()
    assert decode.default_processes() == 1
    no_split()
    assert decode.default_processes() == 1  # the stage itself tells what is missing


def test_n_best() -> None:
    write_params(n_best=3)
    _, rows = run()
    for row in rows:
        best = {key: row[key] for key in ("text", "log_prob", "tokens", "finished")}
        assert row["n_best"][0] == best
        assert len(row["n_best"]) == (3 if row["tokens"] or row["log_prob"] else 1)


def test_the_index_names_what_was_translated_and_by_what() -> None:
    run()
    index = read_header(Path("data/decoded/index.json"), *DECODED)
    described = read_description(Path("models/transformer"))
    assert index == {
        "kind": "hanyi.decoded",
        "version": 1,
        "test": digest_path(Path("data/prepared/test.parquet")),
        "models": [described.weights],
        "src_tokenizer": described.src_tokenizer,
        "tgt_tokenizer": described.tgt_tokenizer,
        "engine": "torch",
        "quantization": "none",
        "rows": len(IDS),
    }


def test_long_sources_are_translated_in_parts_and_joined(caplog: pytest.LogCaptureFixture) -> None:
    sentences = ["我爱你。", "你好吗？", "我们很好。"]
    write_test([(2, "".join(sentences) * 2), *((10 + n, text) for n, text in enumerate(sentences))])
    with caplog.at_level(logging.WARNING):
        metrics, (long, *short) = run()
    assert metrics["split"] == {"rows": 1, "parts": long["parts"]}
    assert "1 rows have more than the 20 tokens of a sentence in training" in caplog.text
    src = Tokenizer.load(Path("models/tokenizers/src.json"))
    parts = split_long("".join(sentences) * 2, lambda text: len(src.encode(text)), 20)
    assert len(parts) == long["parts"] > 1
    write_test(list(enumerate(parts)))
    _, rows = run()
    assert long["text"] == " ".join(row["text"] for row in rows if row["text"])
    assert long["tokens"] == [token for row in rows for token in row["tokens"]]
    assert long["log_prob"] == pytest.approx(sum(row["log_prob"] for row in rows), abs=1e-4)
    assert long["finished"] == all(row["finished"] for row in rows)
    assert all("parts" not in row for row in [*short, *rows])


def test_an_ensemble_has_other_probabilities_and_is_named() -> None:
    _, alone = run()
    write_params(ensemble=["models/another"])
    _, rows = run()
    assert [row["log_prob"] for row in rows] != [row["log_prob"] for row in alone]
    index = read_header(Path("data/decoded/index.json"), *DECODED)
    folders = ("models/transformer", "models/another")
    assert index["models"] == [read_description(Path(folder)).weights for folder in folders]


def test_tokens_are_explained_when_asked() -> None:
    write_params(token_log_probs=True, alignment=True)
    _, rows = run()
    for row in rows:
        assert sum(row["token_log_probs"]) == pytest.approx(row["log_prob"], abs=1e-4)
        assert len(row["alignment"]) == len(row["tokens"])
        assert all(0 <= place < len(row["src_tokens"]) for place in row["alignment"])
    src = Tokenizer.load(Path("models/tokenizers/src.json"))
    assert [src.decode(row["src_tokens"]) for row in rows] == [TEXTS[row["id"]] for row in rows]


def test_samples_depend_on_the_row_alone() -> None:
    write_params(method="sample", n_best=3, choose="mbr")
    _, rows = run()
    assert all(len(row["n_best"]) == 3 for row in rows if TEXTS[row["id"]])
    kept = [(number, text) for number, text in TEXTS.items() if number > 10]
    write_test(kept)
    write_params(method="sample", n_best=3, choose="mbr", batch_tokens=1)
    _, again = run()
    before = [row for row in rows if row["id"] > 10]
    for row, other in zip(again, before, strict=True):
        assert [one["tokens"] for one in row["n_best"]] == [
            one["tokens"] for one in other["n_best"]
        ]


def test_wishes_are_heard_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    write_params(prefix="We", terms={"你": "you", "他": "Zoë", "驴": "donkey"}, max_length_offset=1)
    with caplog.at_level(logging.WARNING):
        metrics, rows = run()
    assert "decode.terms: no row holds 驴;" in caplog.text
    assert all(row["text"].startswith("We") for row in rows if TEXTS[row["id"]])
    asked = sum(("你" in text) + ("他" in text) for text in TEXTS.values())
    unmet = [term for row in rows for term in row.get("unmet_terms", [])]
    assert metrics["terms"] == {"asked": asked, "unmet": len(unmet)}
    assert "Zoë" in unmet


def test_what_an_engine_lacks_is_one_line() -> None:
    write_params(engine="ctranslate2", prefix="We")
    with pytest.raises(ParamsError, match=r"decode\.engine: ctranslate2, which has no prefix We"):
        decode.main(Tracker())


def test_a_text_that_would_break_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a\n b\u2028c\u0085d\re"
    monkeypatch.setattr(Tokenizer, "decode", lambda self, ids: text)
    _, rows = run()
    assert len(rows) == len(IDS)
    assert {row["text"] for row in rows if TEXTS[row["id"]]} == {text}


def test_an_empty_split() -> None:
    write_test([])
    metrics = decode.main(Tracker())
    counts = {"rows": 0, "finished": 0, "cut": 0, "empty": 0, "mean_tokens": 0.0}
    assert {key: metrics[key] for key in counts} == counts
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


def broken_split() -> None:
    path = Path("data/prepared/test.parquet")
    path.write_bytes(path.read_bytes()[:-8])


def twice() -> None:
    write_test([(7, "我"), (8, "你"), (7, "他")])


def no_model() -> None:
    shutil.rmtree("models/transformer")


def no_split() -> None:
    shutil.rmtree("data/prepared")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (swap_tokenizers, "models/transformer/config.json: trained with src tokenizer .* mixed"),
        (foreign_model, "models/transformer/config.json: trained with tgt tokenizer ffffffff"),
        (broken_weights, "models/transformer/weights.safetensors: digest"),
        (broken_split, "data/prepared/test.parquet: no readable Parquet"),
        (twice, "data/prepared/test.parquet: id 7 more than once"),
        (no_model, "models/transformer/config.json: no such file"),
        (no_split, "data/prepared/test.parquet: no such file"),
    ],
)
def test_damaged_or_mixed_artifacts(damage: Any, message: str) -> None:
    damage()
    with pytest.raises((ArtifactError, DataError), match=message) as caught:
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
