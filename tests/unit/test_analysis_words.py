from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hanyi.analysis.words import occurrences, words
from hanyi.errors import ArtifactError
from hanyi.tokens import prepared


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat's 2 toys, don’t they?", ["the", "cat's", "2", "toys", "don’t", "they"]),
        ("'Quoted' and snake_case.", ["quoted", "and", "snake", "case"]),
        ("我爱Python3。", ["我", "爱", "python3"]),
        ("カメラが好きです", list("カメラが好きです")),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("cafe\u0301 au lait", ["cafe\u0301", "au", "lait"]),
        ("학교에 갔다", ["학교에", "갔다"]),
        ("... — !", []),
        ("", []),
    ],
)
def test_words_of_many_scripts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_occurrences_are_those_of_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "BLOCK_ROWS", 3)
    texts = ["The cat sat.", "the END", "", "cat cat", "another", "end the", "cats"]
    path = tmp_path / "train.parquet"
    pq.write_table(pa.table({"src": ["the"] * len(texts), "tgt": texts}), path)
    whole = Counter(word for text in texts for word in words(text))
    wanted = {"the", "cat", "end", "never"}
    assert occurrences(path, wanted) == {word: whole[word] for word in wanted if whole[word]}


def test_words_do_not_run_from_one_row_into_the_next(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    pq.write_table(pa.table({"tgt": ["don", "'t", "a\u2019", "b"]}), path)
    assert occurrences(path, {"don", "t", "a", "b", "don't"}) == dict.fromkeys("tab", 1) | {
        "don": 1
    }


def test_a_split_may_be_a_folder_of_parts(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    path.mkdir()
    for number, text in enumerate(["one two", "two"]):
        pq.write_table(pa.table({"tgt": [text]}), path / f"part-{number}.parquet")
    assert occurrences(path, {"one", "two", "three"}) == {"one": 1, "two": 2}


@pytest.mark.parametrize("kind", ["missing", "broken", "other"])
def test_no_train_split_is_one_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "train.parquet"
    if kind == "broken":
        path.write_bytes(b"PAR1 no table PAR1")
    elif kind == "other":
        pq.write_table(pa.table({"text": ["a"]}), path)
    with pytest.raises(ArtifactError, match=r"train\.parquet: .*run `dvc repro prepare`"):
        occurrences(path, {"a"})
