"""The funnel's metrics are complete, its table adds up, and blocks leave no trace."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hanyi.artifacts import canonical_json
from hanyi.corpus.charts import write_csv, write_pictures
from hanyi.corpus.funnel import COMPARISONS, FAULTS, Funnel, percent
from hanyi.corpus.report import FILES, write_report, write_samples
from hanyi.corpus.tables import REJECTED

RULES = ("spaces", "chars", "ratio", "chars_2")
FAULT = FAULTS[0]


def rejected(ids: range, reason: str) -> pa.RecordBatch:
    """Give rejected rows whose texts and lines follow from their ids."""
    columns = [
        ["mine.tsv"] * len(ids),
        [row + 1 for row in ids],
        [f"句子 {row}" for row in ids],
        [f"Sentence {row}." for row in ids],
        [reason] * len(ids),
    ]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, REJECTED, strict=True)],
        schema=REJECTED,
    )


def reject(funnel: Funnel, reason: str, ids: range, corpus: str = "mine") -> None:
    funnel.add_rejected(corpus, "all", reason, np.array(ids, np.int64), rejected(ids, reason))


def repair(funnel: Funnel, rule: str, side: str, ids: range) -> None:
    before, after = [f"文 字 {row}" for row in ids], [f"文字 {row}" for row in ids]
    funnel.add_repaired(rule, side, np.array(ids, np.int64), before, after)


def filled(block: int = 1000, *, backwards: bool = False) -> Funnel:
    """Give a funnel of 10,000 rows of one corpus and 10 of another, in blocks of any size."""
    funnel = Funnel(RULES, repairs=["spaces"])
    starts = range(0, 10_000, block)
    funnel.add_read("everyday", "train", 10)
    funnel.add_kept("everyday", "train", 10)
    for start in reversed(starts) if backwards else starts:
        ids = range(start, min(start + block, 10_000))
        funnel.add_read("mine", "all", len(ids))
        repair(funnel, "spaces", "src", ids)
        repair(funnel, "spaces", "tgt", range(start, min(start + block, 3)))
        for reason, first, end in (("chars_2", 0, 900), ("leak", 900, 907), (FAULT, 907, 910)):
            reject(funnel, reason, range(max(start, first), min(ids.stop, end)))
        left = range(max(start, 910), ids.stop)
        funnel.add_kept("mine", "test", sum(row < 1000 for row in left))
        funnel.add_kept("mine", "train", sum(row >= 1000 for row in left))
    return funnel


def test_metrics_hold_every_reason_and_split() -> None:
    metrics = filled().metrics()
    assert metrics["rows"] == {"read": 10_010, "kept": 9_100, "rejected": 910}
    names = [*FAULTS, "chars", "ratio", "chars_2", *COMPARISONS]
    assert metrics["rejected"] == dict.fromkeys(names, 0) | {"chars_2": 900, "leak": 7, FAULT: 3}
    assert list(metrics["rejected"]) == names
    assert metrics["repaired"] == {"spaces": {"src": 10_000, "tgt": 3}}
    assert metrics["splits"] == {"train": 9_010, "valid": 0, "test": 90}
    assert metrics["corpora"]["everyday"] == {"train": 10, "valid": 0, "test": 0}
    assert json.loads(canonical_json(metrics)) == metrics


def test_a_lost_row_is_a_bug() -> None:
    funnel = filled()
    funnel.add_read("mine", "all", 1)
    with pytest.raises(RuntimeError, match="10011 rows read, but 9100 kept and 910 rejected"):
        funnel.metrics()


def test_an_unknown_reason_is_a_bug() -> None:
    with pytest.raises(ValueError, match="'nonsense' is not among"):
        reject(Funnel(RULES), "nonsense", range(1))
    with pytest.raises(ValueError, match="'nonsense' is not among"):
        repair(Funnel(RULES), "nonsense", "src", range(1))


def test_steps_come_in_order_and_each_leaves_less() -> None:
    steps = filled().steps()
    assert [step.name for step in steps] == [FAULT, *RULES, *COMPARISONS]  # no idle faults
    assert [step.name for step in steps if step.repairs] == ["spaces"]
    left = 10_010
    for step in steps:
        left -= step.taken
        assert step.left == left
    assert left == 9_100


def test_table() -> None:
    rows = [line.split() for line in filled().table()]
    assert rows[0] == ["step", "changed", "taken", "share", "left"]
    assert rows[1] == ["read", "10,010"]
    assert rows[2] == [FAULT, "3", "0.03%", "10,007"]
    assert rows[3] == ["spaces", "10,000", "src,", "3", "tgt"]
    assert rows[6] == ["chars_2", "900", "8.99%", "9,107"]
    assert ["ratio", "0", "0%", "10,007"] in rows
    assert rows[-3:] == [
        ["everyday", "10", "0", "10", "0", "0"],
        ["mine", "10,000", "910", "9,000", "0", "90"],
        ["total", "10,010", "910", "9,010", "0", "90"],
    ]


def test_table_is_narrow_with_many_rules_and_rows() -> None:
    funnel = Funnel([f"a_rule_with_a_long_name_{number}" for number in range(40)])
    funnel.read["corpus", "all"] = 10**9
    for number in range(40):
        funnel.rejected["corpus", "all", f"a_rule_with_a_long_name_{number}"] = 10**7
    funnel.repaired["a_rule_with_a_long_name_0", "src"] = 10**9
    assert max(map(len, funnel.table())) <= 100


def test_shares_are_never_rounded_away() -> None:
    assert percent(0, 10) == "0%"
    assert percent(1, 10**6) == "<0.01%"
    assert percent(1, 3) == "33.33%"
    assert percent(10, 10) == "100%"
    assert percent(0, 0) == "0%"


def test_reasons_are_listed_by_frequency() -> None:
    assert filled().reasons() == f"chars_2 900, leak 7, {FAULT} 3"
    assert Funnel(()).reasons() == ""


def test_a_reason_that_took_many_rows_is_told() -> None:
    funnel = filled()
    assert funnel.heavy() == []
    reject(funnel, "chars", range(3), corpus="everyday")
    assert funnel.heavy() == ["chars took 30% of the rows of everyday"]
    reject(funnel, "ratio", range(2500))
    assert funnel.heavy()[1:] == ["ratio took 25% of all rows"]
    assert Funnel(RULES).heavy() == []


def test_samples_are_few_and_fair() -> None:
    funnel = filled()
    samples = funnel.rejections("chars_2")
    ids = [sample.id for sample in samples]
    assert len(ids) == 20
    assert ids == sorted(set(ids))
    assert ids[0] < 300 < 600 < ids[-1]  # from everywhere
    assert samples[0].line == ids[0] + 1
    assert samples[0].src == f"句子 {ids[0]}"
    assert len(funnel.rejections("leak")) == 7
    assert funnel.rejections("ratio") == []
    sides = [item.side for item in funnel.changes("spaces")]
    assert sides == ["src"] * 10 + ["tgt"] * 3


@pytest.mark.parametrize(("block", "backwards"), [(13, True), (997, False), (10_000, False)])
def test_blocks_leave_no_trace(tmp_path: Path, block: int, backwards: bool) -> None:
    outputs = []
    for funnel in (filled(), filled(block, backwards=backwards)):
        write_samples(tmp_path / "samples.md", funnel)
        text = (tmp_path / "samples.md").read_text(encoding="utf-8")
        outputs.append((text, canonical_json(funnel.metrics()), funnel.table(), funnel.steps()))
    assert outputs[0] == outputs[1]


def test_report_gives_the_same_bytes_twice(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        write_report(tmp_path / name, filled())
    assert sorted(path.name for path in (tmp_path / "first").iterdir()) == sorted(FILES)
    for name in FILES:
        first = (tmp_path / "first" / name).read_bytes()
        assert first == (tmp_path / "second" / name).read_bytes()
    assert (tmp_path / "first/funnel.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("rows", [0, 1, 40_000_000])
def test_pictures_of_any_size(tmp_path: Path, rows: int) -> None:
    funnel = Funnel([f"rule_{number}" for number in range(3 + 37 * (rows > 1))])
    funnel.add_read("mine", "all", rows)
    funnel.rejected["mine", "all", "rule_0"] = rows
    write_pictures(tmp_path, funnel.steps(), rows)
    assert (tmp_path / "funnel.svg").stat().st_size < 1_000_000


def test_csv(tmp_path: Path) -> None:
    funnel = filled()
    write_csv(tmp_path / "funnel.csv", funnel.steps(), 10_010)
    rows = list(csv.DictReader((tmp_path / "funnel.csv").open(encoding="utf-8")))
    assert [row["step"] for row in rows] == [step.name for step in funnel.steps()]
    assert rows[4] == {
        "step": "chars_2",
        "taken": "900",
        "share": "0.089910",
        "left": "9107",
        "changed_src": "0",
        "changed_tgt": "0",
    }
