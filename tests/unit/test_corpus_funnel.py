"""The funnel's metrics are complete and its table adds up."""

from __future__ import annotations

from hanyi.corpus.funnel import REASONS, Funnel


def filled() -> Funnel:
    funnel = Funnel()
    funnel.read.update({("everyday", "train"): 10, ("mine", "all"): 7})
    funnel.rejected.update(
        {("everyday", "train", "leak"): 2, ("mine", "all", "leak"): 1, ("mine", "all", "empty"): 1}
    )
    funnel.kept.update(
        {("everyday", "train"): 8, ("mine", "train"): 3, ("mine", "valid"): 1, ("mine", "test"): 1}
    )
    return funnel


def test_metrics_hold_every_reason_and_split() -> None:
    metrics = filled().metrics()
    assert metrics["rows"] == {"read": 17, "kept": 13, "rejected": 4}
    assert metrics["rejected"] == dict.fromkeys(REASONS, 0) | {"leak": 3, "empty": 1}
    assert metrics["splits"] == {"train": 11, "valid": 1, "test": 1}
    assert metrics["corpora"]["everyday"] == {"train": 8, "valid": 0, "test": 0}


def test_reasons_of_the_issue_are_there() -> None:
    wanted = "columns encoding blank empty over_long length_ratio identical duplicate leak"
    assert set(wanted.split()) <= set(REASONS)


def test_table() -> None:
    lines = filled().table()
    cells = [line.split() for line in lines]
    assert cells[0] == ["corpus", "role", "read", *REASONS, "kept"]
    assert cells[1][:3] == ["everyday", "train", "10"]
    assert cells[1][-1] == "8"
    assert cells[3] == ["total", "17", *["0"] * 4, "1", *["0"] * 4, "3", "13"]
    assert cells[-1] == ["total", "11", "1", "1"]


def test_reasons_are_listed_by_frequency() -> None:
    assert filled().reasons() == "leak 3, empty 1"
    assert Funnel().reasons() == ""


def test_a_reason_that_took_many_rows_is_told() -> None:
    funnel = filled()
    assert funnel.heavy() == []
    funnel.rejected["mine", "all", "length_ratio"] = 4
    assert funnel.heavy() == ["length_ratio took 24% of all rows"]
    assert Funnel().heavy() == []
