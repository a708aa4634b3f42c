"""A small test set with all that the analysis looks at, for several tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hanyi.analysis.sentences import Sentences, describe
from hanyi.languages import Languages
from hanyi.metrics.lexical import measure
from hanyi.scoring.pairing import Pair

PAIRS = [
    Pair(3, "hsk", "他已经去上海了。", "He has already left for Shanghai.", "He left.", -2.5),
    Pair(5, "everyday", "我35岁。", "I am 35.", "I am 53.", -1.0),
    Pair(8, "hsk", "你好！", "Hello!", "Hello!", -0.1),
    Pair(
        9, "everyday", "我 <b>读</b> 书 | 看报", "I read | and <look>", "I read 书 & <so> on", -3.0
    ),
    Pair(12, "everyday", "好好好", "Good, good, good.", "so so so so", -9.0, finished=False),
    Pair(40, "hsk", "谢谢", "Thanks", "", 0.0),
]
TRAIN = ["He has left.", "I read", "i am here", "hello hello", "good " * 12]


def write_train(path: Path, texts: Sequence[str] = TRAIN) -> Path:
    """Write a train split with these targets; give its path."""
    pq.write_table(pa.table({"tgt": pa.array(texts, pa.string())}), path)
    return path


def described(folder: Path, pairs: Sequence[Pair] = PAIRS) -> Sentences:
    """Describe pairs of Chinese and English, with all metrics and a small train split."""
    statistics = measure(
        [pair.hypothesis for pair in pairs], [pair.reference for pair in pairs], "13a"
    )
    languages = Languages(src="zh", tgt="en")
    return describe(pairs, statistics, languages, write_train(folder / "train.parquet"))
