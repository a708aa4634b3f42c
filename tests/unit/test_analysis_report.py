"""Tables, samples and files of the report."""

from __future__ import annotations

import csv
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from hanyi.analysis.breakdowns import breakdowns
from hanyi.analysis.report import FILES, counts, write_report
from hanyi.analysis.samples import groups
from hanyi.analysis.tables import Column, Kind, Table, markdown, write_csv
from hanyi.scoring.pairing import Pair
from tests.analysis import PAIRS, described


def bleu(pairs: list[Pair]) -> float:
    texts = [pair.hypothesis for pair in pairs]
    metric = sacrebleu.BLEU(force=True)
    return float(metric.corpus_score(texts, [[pair.reference for pair in pairs]]).score)


def test_each_part_is_scored_as_if_it_were_alone(tmp_path: Path) -> None:
    tables = {table.name: table for table in breakdowns(described(tmp_path))}
    parts = {
        "corpora": {
            "all": PAIRS,
            "everyday": [pair for pair in PAIRS if pair.corpus == "everyday"],
            "hsk": [pair for pair in PAIRS if pair.corpus == "hsk"],
        },
        "lengths": {"1-5": [PAIRS[index] for index in (1, 2, 4, 5)], "6-10": [PAIRS[0], PAIRS[3]]},
        "rarest": {
            "0": [PAIRS[index] for index in (0, 1, 3, 5)],
            "2-4": [PAIRS[2]],
            "10-99": [PAIRS[4]],
        },
    }
    for name, expected in parts.items():
        table = tables[name]
        labels = [row[0] for row in table.rows]
        assert labels == list(expected)
        assert table.of("rows") == [len(part) for part in expected.values()]
        assert table.of("bleu") == pytest.approx([bleu(part) for part in expected.values()])
    assert tables["corpora"].of("flagged") == [5, 3, 2]


def test_words_numbers_and_health_are_counted(tmp_path: Path) -> None:
    sentences = described(tmp_path)
    tables = {table.name: table for table in breakdowns(sentences)}
    words = {row[0]: row[1:4] for row in tables["words"].rows}
    assert words["10-99"] == [3, 0, 0]  # good, of which none was found
    assert words["2-4"][2] == 3  # i in two rows, hello
    assert words["1"][2] == 4  # he, left, am, read
    health = dict(zip(tables["health"].of("flag"), tables["health"].of("rows"), strict=True))
    assert health == counts(sentences)
    assert health["any"] == 5
    assert {name for name, count in health.items() if count} == {
        *("empty", "cut", "repetition", "untranslated", "short", "numbers", "any"),
    }
    assert tables["copied"].of("expected")[0] == 1
    assert tables["copied"].of("share") == [0.0, None, 0.0]


def test_groups_are_ordered_by_chrf_and_ties_by_id(tmp_path: Path) -> None:
    same = [PAIRS[2]._replace(id=key) for key in (7, 2, 30, 11)]
    pairs = sorted([*PAIRS, *same], key=lambda pair: pair.id)
    sentences = described(tmp_path, pairs)
    found = {
        group.title: [pairs[place].id for place in group.places] for group in groups(sentences)
    }
    order = sorted(
        range(len(pairs)), key=lambda row: (sentences.scores["chrf"][row], pairs[row].id)
    )
    worst = [pairs[row].id for row in order]
    assert found["Worst sentences"] == worst
    assert found["Best sentences"][:5] == [2, 7, 8, 11, 30]
    assert found["Worst sentences of hsk"] == [
        key for key in worst if pairs[[p.id for p in pairs].index(key)].corpus == "hsk"
    ]
    assert sorted(found["Any sentences"]) == [pair.id for pair in pairs]
    assert [title for title in found if title.startswith("Numbers")]
    assert "Copied" not in " ".join(found)


def test_random_rows_stay_when_others_come(tmp_path: Path) -> None:
    many = [PAIRS[0]._replace(id=key) for key in range(60)]
    few, more = (next(groups(described(tmp_path, pairs))).places for pairs in (many[:50], many))
    assert len(few) == len(more) == 20
    assert set(more[more < 50]) <= set(few)


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    sentences = described(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_report(tmp_path / name, sentences)
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == sorted(FILES)
    for name in FILES:
        first, second = ((tmp_path / run / name).read_bytes() for run in ("one", "two"))
        assert first == second, name
    assert b"20" + b"26-" not in (tmp_path / "one" / "scores.svg").read_bytes()


class Balance(HTMLParser):
    """Reads a page strictly: what opens must close, nothing comes from elsewhere."""

    FREE = frozenset({"meta", "html"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "link", "img", "iframe"}
        assert not [name for name, _ in attrs if name in {"src", "href"}]
        if tag not in self.FREE:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.FREE:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_is_whole_and_shows_texts_as_they_are(tmp_path: Path) -> None:
    write_report(tmp_path, described(tmp_path))
    page = Balance()
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page.feed(text[: text.index("<svg")] + text[text.index("</svg>") + 6 :])
    page.close()
    assert not page.open
    shown = "".join(page.text)
    for part in ("我 <b>读</b> 书 | 看报", "I read | and <look>", "I read 书 & <so> on", "⟨empty⟩"):
        assert part in shown
    assert "I am <mark>53</mark>." in text
    assert '<dd lang="zh">' in text
    assert '<dd lang="en"' in text


def test_markdown_keeps_texts_inside_their_blocks(tmp_path: Path) -> None:
    pairs = [PAIRS[0]._replace(source="```\n# no title", corpus="a|b"), *PAIRS[1:]]
    write_report(tmp_path, described(tmp_path, pairs))
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("#") and "no title" in line] == []
    assert text.count("\n```\n") * 2 == text.count("```") - text.count("  ```")
    assert r"| a\|b |" in text


@pytest.mark.parametrize(
    "pair",
    [
        Pair(1, "c", " ", " ", " "),
        Pair(1, "c", "", "", ""),
        Pair(1, "c", "", "", "text out of nothing"),
        Pair(1, "c", "好" * 3000, "good " * 300, "bad " * 200),
        Pair(1, "c\u200b<&>", "\x00\u2028", "\u202e\ud7ff", "\ufeff"),
    ],
)
def test_odd_test_sets_of_one_row_are_reported(tmp_path: Path, pair: Pair) -> None:
    write_report(tmp_path, described(tmp_path, [pair]))
    assert np.all([(tmp_path / name).stat().st_size for name in FILES])


def test_a_table_is_shown_and_written() -> None:
    columns = [Column("a", "A", Kind.TEXT), Column("n", "N", Kind.COUNT)]
    columns += [Column("s", "S", Kind.SCORE), Column("p", "P", Kind.SHARE)]
    table = Table("t", "T", "", columns, [["x|y", 1234, 27.3456789, 0.123], ["", 0, None, None]])
    assert markdown(table) == [
        "| A | N | S | P |",
        "| --- | ---: | ---: | ---: |",
        r"| x\|y | 1,234 | 27.35 | 12.3% |",
        "|  | 0 | – | – |",
    ]


def test_csv_has_plain_numbers(tmp_path: Path) -> None:
    columns = [Column("a", "A", Kind.TEXT), Column("s", "S", Kind.SCORE)]
    table = Table("t", "T", "", columns, [["x,y", 27.34567891], ["z", None]])
    write_csv(tmp_path / "t.csv", table)
    assert list(csv.reader((tmp_path / "t.csv").open(encoding="utf-8"))) == [
        ["a", "s"],
        ["x,y", "27.345679"],
        ["z", ""],
    ]
