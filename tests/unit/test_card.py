"""The model card: every figure is one of the run's files, and it tells what it lacks."""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from hanyi.card import Facts, Workspace, card_of, read_facts, write_card
from hanyi.card.examples import LONGEST, Example, table
from hanyi.card.licenses import on_the_hub, sources
from hanyi.card.limits import wilson
from hanyi.cli import app
from hanyi.corpus.samples import excerpt
from hanyi.errors import ArtifactError
from hanyi.model.storage import read_description
from hanyi.params import flatten, read_params
from hanyi.translator import find_model
from tests.analysis import PAIRS
from tests.models import save_tiny_model, tiny_tokenizers
from tests.projects import make_project, rewrite, write_lock


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a project that no test changes."""
    return make_project(tmp_path_factory.mktemp("shared") / "project")


@pytest.fixture
def project(shared: Path, tmp_path: Path) -> Path:
    """Give a project that the test may change."""
    return Path(shutil.copytree(shared, tmp_path / "project"))


def facts(root: Path) -> Facts:
    return read_facts(Workspace(root), read_description(root / "models/transformer"))


def card(root: Path, license_: str | None = None) -> str:
    return write_card(facts(root), license_)


def scores(root: Path) -> dict[str, Any]:
    return dict(json.loads((root / "metrics/score.json").read_text(encoding="utf-8")))


def test_the_hub_reads_the_front_matter(shared: Path) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="the hub's own reader is not installed")
    data = hub.ModelCard(card(shared)).data
    assert data.language == ["zh", "en"]
    assert data.license == "cc-by-sa-4.0"
    assert (data.library_name, data.pipeline_tag) == ("hanyi", "translation")
    assert data.metrics == ["bleu", "chrf", "ter"]
    metrics = scores(shared)
    found = {
        (result.dataset_type, result.metric_name): (result.metric_value, result.metric_args)
        for result in data.eval_results
    }
    assert len(found) == 4 * 3
    for corpus, part in {"all": metrics, **metrics["corpora"]}.items():
        value, arguments = found[corpus, "chrF++"]
        assert value == round(part["chrf_pp"]["score"], 2)
        assert arguments == {"signature": part["chrf_pp"]["signature"]}


def test_scores_are_those_of_the_metrics(shared: Path) -> None:
    text = card(shared)
    metrics = scores(shared)
    for corpus, part in {"all": metrics, **metrics["corpora"]}.items():
        cells = [f"{part[name]['score']:.2f} ± 1.25" for name in ("bleu", "chrf", "chrf_pp", "ter")]
        assert f"| {corpus} | {part['rows']} | {' | '.join(cells)} |" in text
    for name in ("bleu", "ter"):
        assert f"`{metrics[name]['signature']}`" in text


def test_data_and_what_became_of_the_rows(shared: Path) -> None:
    text = card(shared)
    assert re.search(r"\| hsk \| `starter:hsk` \(.*contributors\) \| CC-BY-SA-4.0 \|", text)
    assert re.search(r"\| everyday \| `starter:everyday` \(.*grammar.*\) \| Apache-2.0 \|", text)
    assert "| hsk | 30 | 2 | 3 | 4 |" in text  # its weight is 4
    assert "Of 100 rows read, 9 were left out (empty 5, duplicate 4)." in text
    assert "Train has 900 source tokens and 1,100 target tokens." in text


def test_every_parameter_and_digest_is_there(shared: Path) -> None:
    text = card(shared)
    rows = dict(re.findall(r"^\| ([\w.]+) \| (.*) \|$", text, flags=re.MULTILINE))
    values = flatten(read_params(shared / "params.yaml"))
    assert set(values) <= set(rows)
    assert rows["train.learning_rate"] == "0.0025"
    assert rows["decode.patience"] == "2.0"
    described = read_description(shared / "models/transformer")
    for digest in (described.weights, described.src_tokenizer, described.tgt_tokenizer):
        assert f"`{digest}`" in text
    assert f"| train | `models/transformer` | `{'0' * 32}.dir` | 7 | 1 |" in text
    assert f"| your files | `data/inputs` | `{'1' * 32}.dir` | 9 | 2 |" in text
    assert "torch 2.13.0, numpy 2.4.6" in text


def test_limits_are_counted(shared: Path) -> None:
    text = card(shared)
    health = scores(shared)["health"]
    for sign in ("numbers", "cut", "empty", "any"):
        share = f"{health[sign] / 6:.1%}"
        assert re.search(rf"\| {sign} \| .* \| {health[sign]} \| {share} \| .*% to .*% \|", text)
    corpora = scores(shared)["corpora"]
    for name in ("everyday", "hsk"):
        assert f"{corpora[name]['chrf']['score']:.1f} ± 1.2 on {name}" in text
    assert "more than 20 tokens is cut at its sentence marks" in text
    with (shared / "metrics/score/lengths.csv").open(encoding="utf-8") as file:
        named = ", ".join(f"{row['src_words']} ({row['rows']})" for row in csv.DictReader(file))
    assert f"so of these lengths: {named}." in text


def test_it_is_a_function_of_the_files(shared: Path, project: Path) -> None:
    assert card(shared) == card(shared) == card(project)
    assert str(shared) not in card(shared)


def cells(markdown: str) -> list[list[str]]:
    """Give the texts of the rows of all tables, as a reader of Markdown sees them."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and token.level > 3:
            parts = [child for child in token.children or () if child.type != "softbreak"]
            assert {part.type for part in parts} <= {"text", "text_special", "code_inline"}
            rows[-1].append("".join(part.content for part in parts))
    return rows


def test_examples_are_read_as_they_are(shared: Path) -> None:
    rows = cells(card(shared).split("## Examples", 1)[1].split("## Data", 1)[0])
    wanted = {(one.corpus, one.source, one.hypothesis or "⟨empty⟩", one.reference) for one in PAIRS}
    assert {tuple(row) for row in rows[1:]} == wanted
    assert len(rows) == 1 + len(wanted)


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), min_size=1))
def test_any_text_is_read_as_it_is(words: list[str]) -> None:
    text = " ".join(words)
    [_, found] = cells("\n".join(table([Example("a_b", text, text, text)])))
    assert found == ["a_b", *[excerpt(text, longest=LONGEST)] * 3]


@pytest.mark.parametrize(
    ("corpora", "license_"),
    [
        ([{"name": "a", "source": "starter:everyday"}], "apache-2.0"),
        ([{"name": "a", "source": "a.tsv"}], "unknown"),
        ([{"name": "a", "source": "a.tsv", "license": "CC-BY-4.0"}], "cc-by-4.0"),
        (
            [{"name": "a", "source": "a.tsv", "license": "MIT"},
             {"name": "b", "source": ["b.zh", "b.en"], "license": "GPL-3.0"}],
            "gpl-3.0",
        ),
        (
            [{"name": "a", "source": "a.tsv", "license": "CC-BY-SA-4.0"},
             {"name": "b", "source": "b.tsv", "license": "CC-BY-NC-4.0"}],
            "other",
        ),
        (
            [{"name": "a", "source": "a.tsv", "license": "MIT"}, {"name": "b", "source": "b.tsv"}],
            "unknown",
        ),
        ([{"name": "a", "source": "a.tsv", "license": "House rules 1"}], "other"),
    ],
)  # fmt: skip
def test_the_licence_follows_from_the_data(
    shared: Path, corpora: list[dict[str, Any]], license_: str
) -> None:
    found = replace(facts(shared), sources=sources(corpora))
    text = write_card(found)
    assert f"\nlicense: {license_}\n" in text.replace('"', "")
    for one in sources(corpora):
        assert f"| {one.license or 'not stated'} |" in text
    assert "\nlicense: mit\n" in write_card(found, "MIT")


def test_names_of_licences_on_the_hub() -> None:
    assert on_the_hub("ODbL") == {"license": "odbl"}
    assert on_the_hub("A and B") == {"license": "other", "license_name": "A and B"}


def test_scores_of_other_weights_are_left_out(project: Path) -> None:
    rewrite(project / "data/decoded/index.json", models=["f" * 32])
    text = card(project)
    assert "This model was not scored" in text
    assert "model-index" not in text
    assert "## Examples" not in text
    assert "Signs of trouble" not in text
    assert "No person has judged" not in text


@pytest.mark.parametrize("what", ["metrics", "params"])
def test_what_dvc_lock_does_not_know_is_refused(project: Path, what: str) -> None:
    if what == "metrics":
        rewrite(project / "metrics/score.json", rows=7)
        expected = r"dvc.lock of the workspace: score: metrics/score.json is another"
    else:
        path = project / "params.yaml"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("beam_size: 4", "beam_size: 5"), encoding="utf-8")
        expected = r"dvc.lock of the workspace: decode: decode in params.yaml is another"
    with pytest.raises(ArtifactError, match=expected):
        facts(project)
    write_lock(project)
    assert facts(project)


def test_a_model_alone_has_a_short_card(tmp_path: Path) -> None:
    save_tiny_model(tmp_path / "model", *tiny_tokenizers(tmp_path / "tokenizers"))
    text = card_of(find_model(tmp_path / "model"))
    assert "license: unknown" in text
    assert "not scored" in text
    assert "The data it was trained on are not known here." in text
    assert "| heads | 4 |" in text


NEWCOMBE = [  # 1998, table I, method 3
    (81, 263, 0.2553, 0.3662),
    (15, 148, 0.0624, 0.1605),
    (0, 20, 0.0, 0.1611),
    (1, 29, 0.0061, 0.1718),
]


@pytest.mark.parametrize(("found", "of", "least", "most"), NEWCOMBE)
def test_intervals_of_shares(found: int, of: int, least: float, most: float) -> None:
    assert wilson(found, of) == pytest.approx((least, most), abs=5e-5)


def test_command(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared)
    done = CliRunner().invoke(app, ["card"])
    assert done.exit_code == 0, done.output
    assert done.stdout == card(shared)
    done = CliRunner().invoke(app, ["card", "-o", str(tmp_path / "CARD.md"), "--license", "MIT"])
    assert done.exit_code == 0
    assert (tmp_path / "CARD.md").read_text(encoding="utf-8") == card(shared, "MIT")
    done = CliRunner().invoke(app, ["card", "--rev", "nowhere"])
    assert done.exit_code == 2
    assert done.stderr.startswith("hanyi: error: ")
    assert done.stderr.count("\n") == 1
