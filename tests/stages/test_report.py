"""report: the page of a run that was scored, beside a file, a revision or nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dvc.repo import Repo

from hanyi.artifacts import canonical_json
from hanyi.errors import HanyiError
from hanyi.scoring.pairing import Pair
from hanyi.tracking import Tracker
from stages import report
from stages.paths import DECODED, METRICS, PREPARED
from stages.report import TARGET, main
from stages.score import main as score
from tests.analysis import PAIRS, write_train
from tests.browser import launched, visiting

ROOT = Path(__file__).resolve().parents[2]
# The contrast of the words of each kind of element with what is behind them (WCAG 2.2, 1.4.3).
CONTRASTS = """() => {
  const light = colour => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(part => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const behind = node => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (!colour.endsWith(", 0)")) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = {};
  for (const node of document.querySelectorAll("body *")) {
    const words = [...node.childNodes].some(one => one.nodeType === 3 && one.data.trim());
    if (!words || node.closest("title, desc")) continue;
    const style = getComputedStyle(node);
    const ink = node.closest("svg") ? style.fill : style.color;
    const [low, high] = [light(ink), light(behind(node))].sort((a, b) => a - b);
    const name = node.tagName + "." + node.className.toString();
    found[name] = Math.min(found[name] ?? 21, (high + 0.05) / (low + 0.05));
  }
  return found;
}"""
CURVE = "step,epoch,train_loss,valid_loss,perplexity,bleu,chrf,learning_rate\n"


def build(pairs: list[Pair], layers: int) -> None:
    """Make a workspace as `dvc repro` leaves it, with real scores."""
    section = {"tokenize": "auto", "comet": None, "tokenized_references": False}
    params = {
        "languages": {"src": "zh", "tgt": "en"},
        "model": {"layers": layers},
        "score": section,
    }
    Path("params.yaml").write_text(json.dumps(params), encoding="utf-8")
    for folder in (PREPARED, DECODED, METRICS / "train", METRICS / "prepare"):
        folder.mkdir(parents=True, exist_ok=True)
    names = {"id": "id", "corpus": "corpus", "src": "source", "tgt": "reference"}
    table = pa.table({new: [getattr(pair, old) for pair in pairs] for new, old in names.items()})
    pq.write_table(table, PREPARED / "test.parquet")
    write_train(PREPARED / "train.parquet")
    rows = [json.dumps({"id": one.id, "text": one.hypothesis, "log_prob": -1.0}) for one in pairs]
    write(DECODED / "test.jsonl", "\n".join(rows))
    write(
        METRICS / "train/curve.csv", f"{CURVE}10,1,4.5,{layers},9,1,2,0.001\n20,1,3,2,7,5,6,0.0\n"
    )
    write(METRICS / "prepare/funnel.csv", "step,taken,share,left,changed_src,changed_tgt\n")
    write(METRICS / "prepare/lengths.csv", "chars,train_src\n0,0.25\n1,0.75\n")
    counts = {"rows": {"read": 9, "kept": 6, "rejected": 3}, "splits": {"test": 6}}
    for name, values in (("prepare", counts), ("train", {"steps": 20}), ("decode", {})):
        write(METRICS / f"{name}.json", canonical_json(values))
    write(METRICS / "encode.json", "{}\n")
    write(METRICS / "score.json", canonical_json(score(Tracker())))


def write(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)  # DVC links what it keeps
    path.write_text(text, encoding="utf-8", newline="\n")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        build(PAIRS, 3)
    return folder


@pytest.fixture(autouse=True)
def project(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_without_git_and_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    assert capsys.readouterr().out == f"{TARGET}\n"
    first = TARGET.read_bytes()
    main(["-o", "deep/again.html"])
    assert Path("deep/again.html").read_bytes() == first
    text = first.decode("utf-8")
    assert "Any sentences (6)" in text
    assert "comparison" not in text
    assert "differ from" not in text


@pytest.mark.parametrize("name", ["before.txt", "before.jsonl"])
def test_translations_alone_are_a_baseline(name: str) -> None:
    other = {8: "Other words.", 40: "Thanks"}
    texts = [other.get(pair.id, pair.hypothesis) for pair in PAIRS]
    rows = [
        json.dumps({"id": pair.id, "text": text}) for pair, text in zip(PAIRS, texts, strict=True)
    ]
    write(Path(name), "\n".join(texts if name.endswith(".txt") else rows))
    main(["--baseline", name])
    text = TARGET.read_text(encoding="utf-8")
    assert "Better than the baseline (1)" in text
    assert "Worse than the baseline (1)" in text
    assert "4 of 6 translations are the same" in text
    assert "Not found of the baseline: all but its translations" in text


def git(*arguments: str) -> None:
    names = {
        f"GIT_{who}_{what}": "a@b.c"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    subprocess.run(
        ["git", *arguments], check=True, capture_output=True, env={**os.environ, **names}
    )


@pytest.mark.parametrize("below", [".", "below"])
def test_a_revision_is_a_baseline(
    below: str, built: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("init", "-q", "-b", "main")
    Path(below).mkdir(exist_ok=True)
    monkeypatch.chdir(below)
    Repo.init(subdir=True).close()
    build([PAIRS[0]._replace(hypothesis="Nothing."), *PAIRS[1:]], 2)
    with Repo() as repo:
        repo.add(["data/prepared", "data/decoded", *map(str, sorted(METRICS.glob("*/")))])
    git("add", ".")
    git("commit", "-qm", "before")
    git("tag", "before")
    for folder in ("data", "metrics"):
        shutil.rmtree(folder)
    shutil.copytree(built, project / below, dirs_exist_ok=True)
    main(["--baseline", "before"])
    text = TARGET.read_text(encoding="utf-8")
    assert "Not found of" not in text
    assert "1 of 6 differ from git&#x27;s HEAD or the baseline" in text
    assert "Better than the baseline (1)" in text
    assert "train, baseline" in text
    with pytest.raises(HanyiError, match="no file, revision or experiment nowhere"):
        main(["--baseline", "nowhere"])


def test_scores_of_other_translations_are_refused() -> None:
    rows = [json.dumps({"id": pair.id, "text": "Newer."}) for pair in PAIRS]
    write(DECODED / "test.jsonl", "\n".join(rows))
    with pytest.raises(HanyiError, match=r"sentences\.parquet: other translations") as caught:
        main(["--baseline", str(DECODED / "test.jsonl")])
    assert "\n" not in str(caught.value)


def test_a_run_without_scores_is_one_line(project: Path) -> None:
    (METRICS / "score.json").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "stages.report"],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "report: error: metrics/score: no scores, expected a run that is built; run `dvc repro`\n"
    )


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_it(project: Path, width: int, scheme: str) -> None:
    """The page fits, loads nothing, complains of nothing, and its words can be read."""
    rows = [json.dumps({"id": pair.id, "text": "Other words."}) for pair in PAIRS]
    write(Path("before.jsonl"), "\n".join(rows))
    main(["--baseline", "before.jsonl"])
    address = (project / TARGET).as_uri()
    size = {"width": width, "height": 900}
    with launched() as browser, visiting(browser, viewport=size, color_scheme=scheme) as visit:
        page = visit.page
        loaded: list[str] = []
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("section").count() >= 7
        contrasts = page.evaluate(CONTRASTS)
    assert loaded == [address]
    assert visit.faults == []
    assert contrasts
    assert min(contrasts.values()) >= 4.5, contrasts


def test_parameters_that_git_holds_broken_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for broken in (b"a: [\n<<<<<<< HEAD\n", b"\xff\xfe", b"- a\n", b""):
        monkeypatch.setattr(report, "file_at", lambda *_, broken=broken: broken)
        assert report.committed() is None
