"""The page of a run: whole, the same each time, and nothing but text where texts stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hanyi.analysis.sentences import write_sentences
from hanyi.errors import HanyiError
from hanyi.report.baseline import Baseline
from hanyi.report.page import page
from hanyi.report.run import Run, read_run
from hanyi.scoring.significance import Comparison
from tests.analysis import PAIRS, described

EVIL = "</dd><script>alert('1')</script><img src=x onerror=alert(2)>&amp; \"'"
PARAMS = {
    "languages": {"src": "zh", "tgt": "en"},
    "prepare": {"rules": [{"rule": "empty"}, {"rule": "repeats", "most": 12}]},
    "model": {"layers": 3, "heads": 6},
    "decode": {"prefix": ""},
}
SCORES = {
    "rows": 6,
    "bleu": {"score": 40.125, "ci": 3.5, "signature": "nrefs:1|tok:13a"},
    "ter": {"score": 55.0, "ci": 2.0, "signature": "nrefs:1|case:lc"},
    "corpora": {"hsk": {"rows": 3, "bleu": {"score": 30.0, "signature": "s"}}},
    "health": {"empty": 1, "any": 5},
}
CURVE = "step,train_loss,valid_loss,bleu,chrf,learning_rate\n"


class Checker(HTMLParser):
    """Keeps what a browser would see; fails where tags are not closed as they were opened."""

    VOID = frozenset({"meta", "br", "img", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def seen(markup: str) -> Checker:
    checker = Checker()
    checker.feed(markup)
    checker.close()
    assert not checker.open
    return checker


def run_of(folder: Path, text: str = "He left.", **changed: Any) -> Run:
    pairs = [PAIRS[0]._replace(hypothesis=text), *PAIRS[1:]]
    write_sentences(folder / "sentences.parquet", described(folder, pairs))
    values: dict[str, Any] = {
        "params": PARAMS,
        "metrics": {"score": SCORES, "train": {"best": {"step": 800}, "steps": 1200}},
        "curve": [
            {"step": str(step), "train_loss": "3.5", "valid_loss": f"{3000 / step}", "bleu": "4.25",
             "chrf": "12.5", "learning_rate": "0.001"} for step in (400, 800, 1200)
        ],
        "tables": {"lengths": [{"src_words": "1-5", "rows": "6", "bleu": "1.5", "chrf": "40.25"}]},
        "sentences": pq.read_table(folder / "sentences.parquet"),
    }  # fmt: skip
    return Run(**{**values, **changed})


def baseline_of(run: Run, name: str = "main", texts: list[str] | None = None) -> Baseline:
    compared = [("all", 6, "bleu", Comparison(30.0, 40.125, 0.001)),
                ("all", 6, "ter", Comparison(50.0, 55.0, 0.2))]  # fmt: skip
    same = [pair.hypothesis for pair in PAIRS]
    return Baseline(name=name, texts=texts or same, compared=compared, run=run)


def test_nothing_is_loaded_and_nothing_runs(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    for markup in (page(run), page(run, baseline_of(run), PARAMS)):
        checker = seen(markup)
        assert not set(checker.tags) & {"script", "link", "img", "iframe", "object", "base", "form"}
        assert not [name for name, _ in checker.attributes if name.startswith("on")]
        assert {name for name, _ in checker.attributes} & {"src", "srcset", "xlink:href"} == set()
        links = [value for name, value in checker.attributes if name == "href"]
        assert links
        assert all(value and value.startswith("#") for value in links)
        anchors = {value for name, value in checker.attributes if name == "id"}
        assert {str(value).removeprefix("#") for value in links} == anchors
        assert "url(" not in markup
        assert "@import" not in markup


def test_texts_are_texts(tmp_path: Path) -> None:
    params: Mapping[str, Any] = {**PARAMS, "decode": {"prefix": EVIL, EVIL: 1}}
    run = run_of(tmp_path, EVIL, params=params)
    run.metrics["score"] = {**SCORES, "corpora": {EVIL: SCORES}}
    run.tables["lengths"] = [{"src_words": EVIL, "rows": "1", "bleu": "1", "chrf": "2"}]
    other = run_of(tmp_path, lacking=[EVIL])
    checker = seen(page(run, baseline_of(other, EVIL), {"decode": {"prefix": EVIL[::-1]}}))
    assert not set(checker.tags) & {"script", "img"}
    assert checker.text.count(EVIL) >= 6


def test_the_same_files_give_the_same_page(tmp_path: Path) -> None:
    pages = [page(run_of(tmp_path), baseline_of(run_of(tmp_path)), PARAMS) for _ in range(2)]
    assert pages[0] == pages[1]


def test_the_scores_are_those_of_the_run(tmp_path: Path) -> None:
    text = seen(page(run_of(tmp_path))).text
    for part in ("40.12", "± 3.50", "nrefs:1|tok:13a", "55.00", "30.00", "The model is that of"):
        assert part in text
    assert "baseline" not in text.lower()


def test_the_best_and_the_worst_are_marked_by_characters(tmp_path: Path) -> None:
    markup = page(run_of(tmp_path))
    assert "I am <del>35</del>." in markup
    assert "I am <ins>53</ins>." in markup
    for title in ("Any sentences (6)", "Worst sentences (6)", "Best sentences (6)"):
        assert title in markup


def test_a_baseline_stands_beside(tmp_path: Path) -> None:
    params = {**PARAMS, "model": {"layers": 2, "heads": 6}}
    rules = {"rules": [{"rule": "empty"}, {"rule": "repeats", "most": 20}]}
    other = run_of(tmp_path, params={**params, "prepare": rules})
    texts = [pair.reference for pair in PAIRS[:1]] + [pair.hypothesis for pair in PAIRS[1:]]
    texts[2] = "Bye"
    markup = page(run_of(tmp_path), baseline_of(other, texts=texts))
    text = seen(markup).text
    for part in ("+10.12", "0.0010", "+5.00", "2 of 6 differ from the baseline", "Bye"):
        assert part in text
    assert '<em class="good">+10.12</em>' in markup
    assert "+5.00</em>" not in markup.replace("<em>+5.00, p", "")  # p 0.2 says nothing
    changed = markup[markup.index('id="changes"') : markup.index('id="sentences"')]
    better, worse = changed.split("Worse than the baseline (1)")
    assert "Better than the baseline (1)" in better
    assert "Hello!" in better
    assert "He has already left" in worse
    assert "4 of 6 translations are the same" in changed
    differing = re.search(r'id="parameters".*?</table>', markup, re.DOTALL)
    assert differing
    rows = re.findall(r"<tr>(.*?)</tr>", differing[0])
    assert [re.findall(r"<code>(.*?)</code>", row) for row in rows[1:]] == [
        ["model.layers", "3", "2"],
        ["prepare.rules", "rule: repeats, most: 12", "rule: repeats, most: 20"],
    ]
    assert markup.count('<polyline class="before') == 5
    assert markup.count('<rect class="before"') == 1


def test_parameters_that_are_not_as_in_git_are_marked(tmp_path: Path) -> None:
    old = {**PARAMS, "model": {"layers": 3}, "old": {"key": 1}}
    markup = page(run_of(tmp_path), None, old)
    assert "2 of 6 differ from git&#x27;s HEAD" in markup
    assert "<mark><code>model.heads</code></mark>" in markup
    assert "<mark><code>model.layers</code></mark>" not in markup
    assert "<code>old.key</code>" in markup


def test_what_is_lacking_is_said(tmp_path: Path) -> None:
    there = {
        "params.yaml": b"languages: {src: zh, tgt: en}\n",
        "score.json": b'{"rows": 6, "bleu": {"score": 1.0, "signature": "s"}}',
    }
    run = read_run(lambda path: there.get(path.name))
    assert "metrics/train/curve.csv" in run.lacking
    text = seen(page(run, baseline_of(Run(lacking=["all of it"])))).text
    assert "metrics/train/curve.csv" in text
    assert "Not found of the baseline: all of it" in text


@pytest.mark.parametrize(
    ("name", "data", "part"),
    [
        ("prepare.json", b"{", "metrics/prepare.json: broken JSON"),
        ("params.yaml", b"a: [\n<<<<<<< HEAD\n", "params.yaml: "),
        ("params.yaml", b"- a\n", "params.yaml: list, expected a mapping"),
        ("curve.csv", b"\xff\xfe", "metrics/train/curve.csv: 'utf-8' codec"),
        ("sentences.parquet", b"PAR1", "metrics/score/sentences.parquet: "),
    ],
)
def test_a_broken_file_is_one_line(name: str, data: bytes, part: str) -> None:
    def read(path: Path) -> bytes | None:
        return data if path.name == name else None

    with pytest.raises(HanyiError) as caught:
        read_run(read)
    assert str(caught.value).startswith(part)
    assert "\n" not in str(caught.value)
