"""The tokenizers stage: two tokenizers from the train split alone, measured on all of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hanyi.artifacts import digest_file
from hanyi.errors import ArtifactError, HanyiError, ParamsError
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.prepared import read_sample
from hanyi.tracking import Tracker
from stages.tokenizers import main

SETTINGS = {
    "use": "null",
    "joint": False,
    "src_vocab": 285,
    "tgt_vocab": 280,
    "max_word_chars": 8,
    "max_digits": 1,
    "sample_chars": 1000000,
}
TRAIN = [
    (f"{who}{does}{what}。", f"{they} {do} {things}.")
    for who, they in [("我们", "We"), ("老师", "The teachers"), ("他", "They")]
    for does, do in [("喜欢", "like"), ("买", "buy")]
    for what, things in [("茶", "tea"), ("苹果", "apples"), ("00700", "00700")]
]
OTHER = [("𠮷野家 <eos> 😀", "  A rare naïve 😀 <eos> "), ("我们买茶。", "We buy tea.")]


def write_params(path: Path, **changes: Any) -> None:
    lines = [f"  {key}: {value}" for key, value in (SETTINGS | changes).items()]
    text = "\n".join(["tokenizers:", *lines, ""]).replace("True", "true").replace("False", "false")
    (path / "params.yaml").write_text(text, encoding="utf-8")


def write_prepared(path: Path, splits: Mapping[str, list[tuple[str, str]]]) -> None:
    folder = path / "data/prepared"
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        src, tgt = [row[0] for row in rows], [row[1] for row in rows]
        ids = pa.array(range(len(rows)), pa.int64())
        table = pa.table(
            {
                "id": ids,
                "corpus": pa.array(["all"] * len(rows), pa.string()),
                "src": pa.array(src, pa.string()),
                "tgt": pa.array(tgt, pa.string()),
            }
        )
        pq.write_table(table, folder / f"{split}.parquet")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_params(tmp_path)
    write_prepared(tmp_path, {"train": TRAIN, "valid": OTHER, "test": OTHER[:1]})
    return tmp_path


def fault(kind: type[HanyiError]) -> str:
    """Run the stage, which must fail in one line and leave nothing behind."""
    with pytest.raises(kind) as caught:
        main(Tracker())
    assert "\n" not in str(caught.value)
    assert list(Path("models").glob("*")) == []
    return str(caught.value)


def test_publishes_both_and_measures(here: Path) -> None:
    metrics = main(Tracker())
    assert sorted(path.name for path in (here / "models/tokenizers").iterdir()) == [
        "src.json",
        "tgt.json",
    ]
    src = Tokenizer.load(here / "models/tokenizers/src.json")
    tgt = Tokenizer.load(here / "models/tokenizers/tgt.json")
    assert (src.size, tgt.size) == (285, 280) == (metrics["src"]["vocab"], metrics["tgt"]["vocab"])

    texts = [row[1] for row in [*TRAIN, *OTHER, OTHER[0]]]
    tokens = sum(len(tgt.encode(text)) for text in texts)
    assert metrics["tgt"] == {
        "vocab": 280,
        "sentences": len(texts),
        "chars": sum(map(len, texts)),
        "words": sum(len(text.split()) for text in texts),
        "tokens": tokens,
        "tokens_per_char": tokens / sum(map(len, texts)),
        "tokens_per_word": tokens / sum(len(text.split()) for text in texts),
        "round_trip": 1.0,
    }


def test_learns_from_train_alone(here: Path) -> None:
    main(Tracker())
    before = digest_file(here / "models/tokenizers/src.json")
    write_prepared(here, {"valid": [("完全不同的句子" * 9, "Wholly other. " * 9)] * 50})
    main(Tracker())
    assert digest_file(here / "models/tokenizers/src.json") == before


def test_settings_reach_the_tokenizers(here: Path) -> None:
    main(Tracker())
    before = digest_file(here / "models/tokenizers/src.json")
    for change in ({"src_vocab": 284}, {"max_word_chars": 4}, {"max_digits": 2}):
        write_params(here, **change)
        main(Tracker())
        assert digest_file(here / "models/tokenizers/src.json") != before


def test_joint_is_one_tokenizer_that_learns_from_both_sides(here: Path) -> None:
    write_params(here, joint=True, src_vocab=285, tgt_vocab=285)
    metrics = main(Tracker())
    folder = here / "models/tokenizers"
    assert (folder / "src.json").read_bytes() == (folder / "tgt.json").read_bytes()
    one = Tokenizer.load(folder / "src.json")
    assert metrics["src"]["vocab"] == metrics["tgt"]["vocab"] == one.size == 285
    assert metrics["src"]["chars"] != metrics["tgt"]["chars"]
    for text in ("我们", "teachers"):  # pieces of either side
        assert len(one.encode(text)) < len(text.encode("utf-8"))
    write_params(here)
    main(Tracker())
    for side in ("src", "tgt"):
        assert Tokenizer.load(folder / f"{side}.json").digest != one.digest


def test_tokenizers_of_a_model_are_taken_as_they_are(here: Path) -> None:
    learnt = main(Tracker())
    taken = (here / "models/tokenizers").rename(here / "older")
    write_prepared(here, {"train": [("完全不同", "wholly other")] * 30})
    write_params(here, use="older", src_vocab=300)
    metrics = main(Tracker())
    for side in ("src", "tgt"):
        name = f"{side}.json"
        assert (here / "models/tokenizers" / name).read_bytes() == (taken / name).read_bytes()
        assert metrics[side]["vocab"] == learnt[side]["vocab"]
        assert metrics[side]["sentences"] == 30 + len(OTHER) + 1
        assert metrics[side]["round_trip"] == 1.0


def no_special(folder: Path) -> None:
    path = folder / "tgt.json"
    path.write_text(path.read_text(encoding="utf-8").replace("<eos>", "</s>"), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (shutil.rmtree, "older/src.json: no such file, expected a tokenizer"),
        (lambda folder: (folder / "tgt.json").unlink(), "older/tgt.json: no such file"),
        (lambda folder: (folder / "src.json").write_text("{"), "expected a tokenizers JSON file"),
        (no_special, "older/tgt.json: a vocabulary of 280 .* expected <pad> <unk> <bos> <eos>"),
    ],
)
def test_tokenizers_that_cannot_be_taken(
    here: Path, damage: Callable[[Path], None], expected: str
) -> None:
    main(Tracker())
    damage((here / "models/tokenizers").rename(here / "older"))
    write_params(here, use="older")
    line = fault(ArtifactError)
    assert re.search(expected, line)
    assert "name in tokenizers.use the folder of a model's tokenizers, or set it to null" in line


def test_its_own_output_cannot_be_taken(here: Path) -> None:
    write_params(here, use=str(here / "models/tokenizers"))
    assert "this stage's own output" in fault(ParamsError)


def test_two_tokenizers_are_not_joint(here: Path) -> None:
    main(Tracker())
    (here / "models/tokenizers").rename(here / "older")
    write_params(here, use="older", joint=True, tgt_vocab=285)
    line = fault(ParamsError)
    assert line.startswith("params.yaml: tokenizers.joint: src.json and tgt.json of older that")


def test_a_row_that_does_not_come_back_is_named(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode_batch = Tokenizer.decode_batch
    monkeypatch.setattr(
        Tokenizer,
        "decode_batch",
        lambda self, ids: [text.replace("苹", "平") for text in decode_batch(self, ids)],
    )
    line = fault(ArtifactError)
    assert line.startswith("data/prepared/train.parquet: row 1: src: '我们喜欢平果。' back")


def test_a_sample_is_evenly_spread(here: Path) -> None:
    rows = [(f"{number:04d}", "x") for number in range(1000)]
    write_prepared(here, {"train": rows})
    file = here / "data/prepared/train.parquet"

    def sample(chars: int) -> list[str]:
        blocks = read_sample(file, ["id", "src"], chars)
        return [text for block in blocks for text in block.column("src").to_pylist()]

    taken = [int(text) for text in sample(chars=800)]
    assert len(taken) == 200
    assert {later - earlier for earlier, later in pairwise(taken)} == {5}
    assert sample(chars=4000) == [row[0] for row in rows]


def test_no_more_than_a_sample_is_measured(here: Path) -> None:
    write_prepared(here, {"train": TRAIN * 50})
    chars = sum(len(src) for src, _ in TRAIN * 50)
    write_params(here, sample_chars=chars // 10)
    metrics = main(Tracker())
    assert metrics["src"]["sentences"] == len(TRAIN * 50) // 10 + len(OTHER) + 1
    assert metrics["src"]["round_trip"] == 1.0


def test_a_small_sample_gives_a_small_vocabulary(here: Path) -> None:
    write_params(here, sample_chars=20)
    assert "tokenizers.src_vocab: 285 tokens, but the train split gives" in fault(ParamsError)


@pytest.mark.parametrize("side", ["src", "tgt"])
def test_vocabulary_too_large(here: Path, side: str) -> None:
    write_params(here, **{f"{side}_vocab": 32000})
    line = fault(ParamsError)
    assert line.startswith(f"params.yaml: tokenizers.{side}_vocab: 32000 tokens, but the train")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"src_vocab": 100}, "src_vocab must be 260"),
        (
            {"joint": True},
            "joint is one vocabulary, so src_vocab and tgt_vocab must be equal, got 285 and 280",
        ),
        ({"tgt_vocab": 70000}, "tgt_vocab must be 260 .* to 65535, got 70000"),
        ({"max_word_chars": 0}, "max_word_chars must be 1 to 64, got 0"),
        ({"sample_chars": 0}, "sample_chars must be at least 1, got 0"),
        ({"src_vocab": "many"}, r"tokenizers\.src_vocab: .*valid integer, got 'many'"),
        ({"src_vocabulary": 300}, r"tokenizers\.src_vocabulary: unknown key"),
    ],
)
def test_bad_parameters(here: Path, change: dict[str, Any], expected: str) -> None:
    write_params(here, **change)
    with pytest.raises(ParamsError, match=expected) as caught:
        main(Tracker())
    assert "\n" not in str(caught.value)


def test_bad_inputs(here: Path) -> None:
    file = here / "data/prepared/train.parquet"
    pq.write_table(pa.table({"id": [1], "text": ["x"]}), file)
    assert fault(ArtifactError).startswith(
        "data/prepared/train.parquet: columns id, text, expected src too; run `dvc repro prepare`"
    )
    file.write_bytes(b"PAR1 cut off")
    assert "train.parquet: no readable Parquet" in fault(ArtifactError)
    file.unlink()
    assert "train.parquet: no such file, expected prepared rows" in fault(ArtifactError)


def test_equal_bytes_in_another_process_and_one_line_at_exit_2(here: Path, root: Path) -> None:
    main(Tracker())
    digests = [digest_file(path) for path in sorted((here / "models/tokenizers").iterdir())]

    def run() -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "HANYI_TRACKING": "off",
            "PYTHONHASHSEED": "7",
            "PYTHONPATH": str(root),
            "TOKENIZERS_PARALLELISM": "true",
        }
        command = [sys.executable, "-m", "stages.tokenizers"]
        return subprocess.run(command, env=environment, capture_output=True, check=False, text=True)

    assert run().returncode == 0
    assert [digest_file(path) for path in sorted((here / "models/tokenizers").iterdir())] == digests
    assert (here / "metrics/tokenizers.json").is_file()

    write_params(here, src_vocab=32000)
    failed = run()
    assert failed.returncode == 2
    assert failed.stderr.count("\n") == 1
    assert failed.stderr.startswith("tokenizers: error: params.yaml: tokenizers.src_vocab: 32000")
    # The tokenizers of the run before are still whole.
    assert [digest_file(path) for path in sorted((here / "models/tokenizers").iterdir())] == digests
