"""The encode stage: every kept row as ids, every other one counted, test rows never dropped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hanyi.artifacts import digest_file
from hanyi.errors import ArtifactError, DataError, HanyiError, ParamsError
from hanyi.tokens.bpe import BpeConfig, Tokenizer, train_tokenizer
from hanyi.tokens.shards import EncodedSplit
from hanyi.tracking import Tracker
from stages.encode import main

SETTINGS = {"max_tokens": 30, "over_long": "drop", "shard_rows": 1000}

Row = tuple[int, str, str, str]

LONG = "天地玄黄宇宙洪荒日月盈昃辰宿列张"  # 48 tokens, for no piece of it was learned
ROWS: dict[str, list[Row]] = {
    "train": [
        (10, "news", "我们喝茶。", "We drink tea."),
        (11, "everyday", LONG, "Too long on the left."),
        (12, "news", "右边太长。", "x!" * 40),
        (13, "everyday", "买00700", "Buy 00700 <eos>"),
    ],
    "valid": [(20, "news", "我们买茶。", "We buy tea."), (21, "news", LONG, "?!" * 40)],
    "test": [(30, "everyday", LONG, "Too long on the left."), (31, "wmt", "我们", "We")],
}


def write_params(path: Path, **changes: Any) -> None:
    lines = [f"  {key}: {value}" for key, value in (SETTINGS | changes).items()]
    (path / "params.yaml").write_text("\n".join(["encode:", *lines, ""]), encoding="utf-8")


def write_split(path: Path, split: str, rows: list[Row]) -> None:
    names = {"id": pa.int64(), "corpus": pa.string(), "src": pa.string(), "tgt": pa.string()}
    columns = zip(names.items(), zip(*rows, strict=True), strict=True)
    table = pa.table({name: pa.array(values, kind) for (name, kind), values in columns})
    (path / "data/prepared").mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path / f"data/prepared/{split}.parquet")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_params(tmp_path)
    for split, rows in ROWS.items():
        write_split(tmp_path, split, rows)
    config = BpeConfig(vocab=262, max_word_chars=8, max_digits=1)
    for side, text in [("src", "我们我们"), ("tgt", "Tea tea")]:
        train_tokenizer([text] * 9, config).save(tmp_path / f"models/tokenizers/{side}.json")
    return tmp_path


def opened(split: str) -> EncodedSplit:
    return EncodedSplit.open(Path("data/encoded") / split)


def tokenizer(side: str) -> Tokenizer:
    return Tokenizer.load(Path(f"models/tokenizers/{side}.json"))


def digests() -> dict[str, str]:
    return {str(path): digest_file(path) for path in sorted(Path("data/encoded").rglob("*.*"))}


def fault(kind: type[HanyiError]) -> str:
    """Run the stage, which must fail in one line and leave nothing behind."""
    with pytest.raises(kind) as caught:
        main(Tracker())
    assert "\n" not in str(caught.value)
    assert [path.name for path in Path("data").iterdir()] == ["prepared"]
    return str(caught.value)


def test_rows_are_encoded_and_named(here: Path) -> None:
    main(Tracker())
    src, tgt = tokenizer("src"), tokenizer("tgt")
    for split, expected in [("train", [10, 13]), ("valid", [20])]:
        encoded = opened(split)
        assert encoded.ids.tolist() == expected
        assert encoded.corpora == ("everyday", "news")
        encoded.require_tokenizers(src.digest, tgt.digest)
        assert (encoded.src_vocab, encoded.tgt_vocab) == (src.size, tgt.size)
    rows = {row[0]: row for row in ROWS["train"]}
    train = opened("train")
    for at, number in enumerate(train.ids.tolist()):
        _, corpus, src_text, tgt_text = rows[number]
        assert train.corpora[train.corpus[at]] == corpus
        assert train.src(at).tolist() == src.encode(src_text)
        assert tgt.decode(train.tgt(at).tolist()) == tgt_text


def test_dropped_rows_are_counted(here: Path) -> None:
    metrics = main(Tracker())
    nothing = {"src": 0, "tgt": 0}
    counts = {
        split: {key: metrics[split][key] for key in ("read", "rows", "dropped", "truncated")}
        for split in metrics
    }
    assert counts == {
        "train": {"read": 4, "rows": 2, "dropped": 2, "truncated": nothing},
        "valid": {"read": 2, "rows": 1, "dropped": 1, "truncated": nothing},
    }
    for split, values in metrics.items():
        encoded = opened(split)
        assert values["src_tokens"] == encoded.src_lengths.sum()
        assert values["tgt_tokens"] == encoded.tgt_lengths.sum()
        assert encoded.index["counts"]["dropped"] == values["dropped"]


def test_truncated_rows_are_counted(here: Path) -> None:
    write_params(here, over_long="truncate")
    metrics = main(Tracker())
    assert metrics["train"]["rows"] == 4
    assert metrics["train"]["dropped"] == 0
    assert metrics["train"]["truncated"] == {"src": 1, "tgt": 1}
    train = opened("train")
    assert train.src(1).tolist() == tokenizer("src").encode(LONG)[:30]
    assert int(train.src_lengths.max()) == int(train.tgt_lengths.max()) == 30


def test_another_test_set_changes_nothing_that_is_learnt_from(here: Path) -> None:
    main(Tracker())
    before = digests()
    assert not Path("data/encoded/test").exists()
    write_split(here, "test", [(40, "another", "他好。", "He is fine.")])
    main(Tracker())
    assert digests() == before


def test_shards_are_few_and_large(here: Path) -> None:
    write_split(here, "train", [(n, "all", f"我{n}", f"I {n}") for n in range(20_000)])
    write_params(here, shard_rows=9000)
    metrics = main(Tracker())
    assert metrics["train"]["shards"] == 3
    train = opened("train")
    assert train.ids.tolist() == list(range(20_000))
    assert train.tgt(17_999).tolist() == tokenizer("tgt").encode("I 17999")


def test_equal_bytes_in_another_process(here: Path, root: Path) -> None:
    main(Tracker())
    before = digests()
    environment = os.environ | {
        "HANYI_TRACKING": "off",
        "PYTHONHASHSEED": "7",
        "PYTHONPATH": str(root),
        "TOKENIZERS_PARALLELISM": "true",
    }
    command = [sys.executable, "-m", "stages.encode"]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=environment, capture_output=True, check=False, text=True)

    assert run().returncode == 0
    assert digests() == before
    assert len(before) == 4
    assert (here / "metrics/encode.json").is_file()

    Path("models/tokenizers/tgt.json").unlink()
    failed = run()
    assert failed.returncode == 2
    assert failed.stderr == (
        "encode: error: models/tokenizers/tgt.json: no such file, expected a tokenizer; "
        "run `dvc repro tokenizers`\n"
    )
    assert digests() == before


def test_new_tokenizers_make_the_shards_foreign(here: Path) -> None:
    main(Tracker())
    config = BpeConfig(vocab=261, max_word_chars=8, max_digits=1)
    train_tokenizer(["我们我们"] * 9, config).save(Path("models/tokenizers/src.json"))
    with pytest.raises(ArtifactError, match=r"train/index\.json: tokens of src tokenizer .* mixed"):
        opened("train").require_tokenizers(tokenizer("src").digest, tokenizer("tgt").digest)


def test_a_full_disk_leaves_the_shards_of_before(here: Path, root: Path) -> None:
    main(Tracker())
    before = digests()
    write_split(here, "train", [(n, "all", f"我{n}", f"I {n}") for n in range(5000)])
    # A limit on the size of files stands for the full disk: the system refuses to write on.
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); "
        "from stages.encode import main; from stages.harness import run; run('encode', main)"
    )
    environment = os.environ | {"HANYI_TRACKING": "off", "PYTHONPATH": f"{root}:{root / 'src'}"}
    command = [sys.executable, "-c", script]
    failed = subprocess.run(command, env=environment, capture_output=True, check=False, text=True)
    assert failed.returncode == 2
    line = failed.stderr.splitlines()[-1]
    assert line.startswith("encode: error: data/encoded: ")
    assert "expected a place that can be written; free space" in line
    assert digests() == before
    assert sorted(path.name for path in Path("data").iterdir()) == ["encoded", "prepared"]


def test_weights_come_along(here: Path) -> None:
    main(Tracker())
    before = opened("train").digest
    assert opened("train").weights == (1.0, 1.0)
    weights = [("news", 0.25), ("hsk", 4.0), ("gone", 2.0), ("everyday", 0.0)]
    corpora = [{"name": name, "weight": weight} for name, weight in weights]
    fields = {"kind": "hanyi.prepared", "version": 1, "corpora": corpora}
    Path("data/prepared/corpora.json").write_text(json.dumps(fields), encoding="utf-8")
    main(Tracker())
    for split in ("train", "valid"):
        encoded = opened(split)
        assert encoded.corpora == ("everyday", "news")
        assert encoded.weights == (0.0, 0.25)
    assert opened("train").digest != before, "another weight is another training"


def test_parts_give_equal_shards(here: Path) -> None:
    rows: list[Row] = [(n, f"c{n % 2}", f"我{n}", f"I {n}") for n in range(20_000)]
    write_split(here, "train", rows)
    main(Tracker())
    before = digests()
    whole = Path("data/prepared/train.parquet")
    whole.unlink()
    for number in range(4):
        write_split(here, "train", rows[5000 * number : 5000 * number + 5000])
        whole.rename(f"part-{number}.parquet")
    whole.mkdir()
    for part in Path().glob("part-*.parquet"):
        part.rename(whole / part)
    main(Tracker())
    assert digests() == before


@pytest.mark.parametrize("split", ["train", "valid"])
def test_an_id_that_occurs_twice(here: Path, split: str) -> None:
    write_split(here, split, [*ROWS[split], ROWS[split][0]])
    number = ROWS[split][0][0]
    assert f"{split}.parquet: id {number} more than once" in fault(DataError)


@pytest.mark.parametrize("split", ["train", "valid"])
def test_nothing_left(here: Path, split: str) -> None:
    write_split(here, split, [(1, "all", LONG, "x")])
    assert fault(ArtifactError) == (
        f"data/prepared/{split}.parquet: 1 rows, none within encode.max_tokens, expected {split} "
        "rows of at most 30 tokens a side; raise encode.max_tokens or give more text"
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"over_long": "cut"}, r"encode: over_long must be one of drop, truncate, got cut"),
        ({"max_tokens": 0}, "encode: max_tokens must be at least 1, got 0"),
        ({"shard_rows": 0}, r"shard_rows must be 1 to \d+ \(2\^31 tokens\), got 0"),
        ({"shard_rows": 10**9}, "shard_rows must be 1 to"),
        ({"max_token": 5}, r"encode\.max_token: unknown key"),
    ],
)
def test_bad_parameters(here: Path, change: dict[str, Any], expected: str) -> None:
    write_params(here, **change)
    with pytest.raises(ParamsError, match=expected) as caught:
        main(Tracker())
    assert "\n" not in str(caught.value)


def test_bad_inputs(here: Path) -> None:
    file = here / "data/prepared/valid.parquet"
    file.write_bytes(b"")
    assert "valid.parquet: no readable Parquet" in fault(ArtifactError)
    file.unlink()
    assert "valid.parquet: no such file, expected prepared rows" in fault(ArtifactError)
    write_split(here, "valid", [(n, f"corpus {n}", "我", "I") for n in range(300)])
    assert "302 names, expected at most 256" in fault(ArtifactError)
    Path("models/tokenizers/src.json").write_bytes(b"{}")
    assert "expected a tokenizers JSON file" in fault(ArtifactError)
