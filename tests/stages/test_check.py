"""The gate on a small project of its own: the good, and each way to be bad."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hanyi.errors import HanyiError, ParamsError
from stages.check import main
from tests import gated

GOOD = (1, 2)  # rows that the baseline gets wrong
WORSE = range(12)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make the project once: a commit without scores, and one with those of `GOOD`."""
    folder = tmp_path_factory.mktemp("repository") / "below"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        gated.make(folder)
        gated.commit("empty")
        gated.decode(gated.translations(GOOD))
        gated.run()
        gated.commit("good")
    return folder.parent


@pytest.fixture(autouse=True)
def project(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    shutil.copytree(template, folder, symlinks=True)
    monkeypatch.chdir(folder / "below")
    monkeypatch.setenv("COLUMNS", "120")
    return folder / "below"


def gate(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, list[list[str]]]:
    """Run the gate; give its exit code and the rows that do not pass as they stand in Markdown."""
    capsys.readouterr()
    code = main([*flags, "--markdown"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    bad = [row for row in rows if row[-1] not in {"verdict", "---"} and not passes(row[-1])]
    assert (code == 1) == bool(bad)
    return code, bad


def passes(verdict: str) -> bool:
    return verdict.startswith(("ok", "no paired test", "not looked at"))


def test_what_was_run_passes(capsys: pytest.CaptureFixture[str]) -> None:
    for flags in ([], ["--lock"], ["--baseline", "good"]):
        assert gate(capsys, *flags) == (0, [])
    assert main(["--baseline", "good"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("gate passed\n")
    assert "60 pairs for the paired bootstrap" in out
    row = next(line for line in out.splitlines() if line.startswith("bleu.score"))
    assert row.split()[4:] == ["-", "1.0000", "ok"]
    assert max(map(len, out.splitlines())) <= 120


def test_a_clone_without_cache_passes(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    gated.git("clone", "-q", str(project.parent), str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone/below")
    assert gate(capsys, "--lock") == (0, [])
    assert gate(capsys, "--baseline", "good") == (0, [])
    main(["--baseline", "good"])
    assert "data/decoded/test.jsonl is not here; allowed drops decide" in capsys.readouterr().out
    gated.edit_scores("bleu.score", 99.0)
    assert [row[:2] for row in gate(capsys)[1]] == [["lock", "metrics/score.json"]]


def test_metrics_edited_by_hand_are_caught(capsys: pytest.CaptureFixture[str]) -> None:
    gated.edit_scores("bleu.score", 99.0)
    _, bad = gate(capsys)
    assert [row[:2] for row in bad] == [
        ["lock", "metrics/score.json"],
        ["sentences", "data/decoded/test.jsonl"],
    ]
    assert bad[0][2].startswith("edited: other bytes than score made by dvc.lock")
    gated.run()  # `dvc commit` hides it from the lock, not from the sentences
    assert [row[0] for row in gate(capsys)[1]] == ["sentences"]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("bleu.score", float("nan"), "bleu.score: nan, expected a finite number"),
        ("bleu.score", float("inf"), "bleu.score: inf, expected a finite number"),
        ("bleu.score", "high", "bleu.score: 'high', expected a number"),
        ("bleu.score", [30], "bleu.score: [30], expected a number"),
        ("bleu.score", None, "bleu.score: missing"),
        ("bleu.ci", None, "bleu.ci: missing"),
        ("bleu.signature", None, "bleu.signature: missing"),
        ("bleu.signature", 3, "bleu.signature: 3, expected text"),
        ("rows", "sixty", "rows: 'sixty', expected a number"),
    ],
)
def test_metrics_of_a_wrong_shape_are_caught(
    name: str, value: Any, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gated.edit_scores(name, value)
    gated.run()
    bad = [row for row in gate(capsys)[1] if row[0] == "metrics"]
    assert [row[1:] for row in bad] == [["metrics/score.json", f"{told}; run `dvc repro`"]]


@pytest.mark.parametrize(
    ("name", "text"),
    [("score", None), ("score", "{"), ("score", b"\xff"), ("decode", "[]"), ("decode", "{}")],
)
def test_metrics_that_cannot_be_read_are_caught(
    name: str, text: str | bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(f"metrics/{name}.json")
    if text is None:
        path.unlink()
    else:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    _, bad = gate(capsys)
    assert ["metrics", str(path)] in [row[:2] for row in bad]
    assert ["lock", str(path)] in [row[:2] for row in bad]


def edit_code() -> None:
    Path("code/stage.py").write_text("print(1)\n", encoding="utf-8")


def untracked() -> None:
    Path("code/new.py").write_text("", encoding="utf-8")


def lose_inputs() -> None:
    shutil.rmtree("inputs")


def change_data() -> None:
    Path("data/decoded/test.jsonl").write_text("", encoding="utf-8")


def rewire(old: str, new: str) -> None:
    text = gated.WIRING
    assert old in text
    Path("dvc.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")


def relock(old: str, new: str) -> None:
    text = Path("dvc.lock").read_text(encoding="utf-8")
    assert old in text
    Path("dvc.lock").write_text(text.replace(old, new, 1), encoding="utf-8")


def digest_of(path: str) -> str:
    lines = Path("dvc.lock").read_text(encoding="utf-8").splitlines()
    place = next(n for n, line in enumerate(lines) if line.strip() == f"- path: {path}")
    return lines[place + 2].strip()


BAD: dict[str, tuple[Any, str, str]] = {
    "parameters": (
        lambda: gated.set_params("decode", beam_size=5, method="sample"),
        "decode",
        'parameters changed since it was run: decode.beam_size 4 → 5, decode.method "beam" → "sam',
    ),
    "a list": (
        lambda: gated.set_params("decode", other=[1, 3]),
        "decode",
        "decode.other [1, 2] → [1, 3]",
    ),
    "a new parameter": (
        lambda: gated.set_params("score", more=1),
        "score",
        "score.more none → 1",
    ),
    "code": (edit_code, "decode", "changed since it was run, or holding files that git does not"),
    "a file that git does not know": (untracked, "prepare", "not know: code"),
    "inputs gone": (lose_inputs, "prepare", "inputs is missing"),
    "data edited": (change_data, "data/decoded", "`dvc checkout` brings them back"),
    "command": (
        lambda: rewire("make decode", "make it"),
        "decode",
        "it was run by another command",
    ),
    "a new dependency": (
        lambda: rewire("      - data/prepared\n    outs", "      - code/stage.py\n    outs"),
        "decode",
        "dependency code/stage.py is new in dvc.yaml; dependency data/prepared is no longer in",
    ),
    "a new output": (
        lambda: rewire("      - data/decoded\n    metrics", "      - data/more\n    metrics"),
        "decode",
        "output data/more is new in dvc.yaml; output data/decoded is no longer",
    ),
    "a new stage": (
        lambda: rewire("stages:\n", "stages:\n  more:\n    cmd: make more\n"),
        "more",
        "never run: dvc.lock has no entry",
    ),
    "a stage that is gone": (
        lambda: relock("stages:\n", "stages:\n  gone:\n    cmd: make gone\n"),
        "gone",
        "no stage of dvc.yaml",
    ),
    "conflict": (
        lambda: relock("stages:\n", "<<<<<<< HEAD\nstages:\n"),
        "dvc.lock",
        "dvc.lock:2: marks of a merge conflict",
    ),
    "broken": (lambda: relock("stages:\n", "stages: [\n"), "dvc.lock", "git checkout HEAD -- dvc"),
    "empty": (lambda: Path("dvc.lock").write_text(""), "dvc.lock", "git checkout HEAD -- dvc"),
    "no lock": (lambda: Path("dvc.lock").unlink(), "dvc.lock", "no such file"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_lock_that_is_not_up_to_date_is_caught(
    case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, where, told = BAD[case]
    spoil()
    code, bad = gate(capsys, "--lock")
    assert code == 1
    assert any(row[1] == where and told in row[2] for row in bad), bad


def test_a_lock_that_hangs_together_no_more_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree("data")  # a runner has none
    here = digest_of("data/prepared")
    relock(here, f"md5: {'ab' * 16}.dir")
    _, bad = gate(capsys, "--lock")
    assert [row[1] for row in bad] == ["decode"]
    assert "it was run on another data/prepared than prepare made" in bad[0][2]


def test_a_file_within_an_output_is_looked_up_in_the_cache(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.rmtree("data")
    relock(digest_of("data/prepared/test.parquet"), f"md5: {'ab' * 16}")
    assert [row[1] for row in gate(capsys, "--lock")[1]] == ["score"]
    shutil.rmtree(".dvc/cache")
    assert gate(capsys, "--lock") == (0, [])  # nothing tells what is in there


def branch(name: str, rows: tuple[int, ...], **params: Any) -> None:
    """Run decode with other parameters on a branch of its own."""
    gated.git("checkout", "-q", "-b", name, "good")
    gated.set_params("decode", **params)
    gated.decode(gated.translations(rows))
    gated.run()
    gated.commit(f"run-{name}")


@pytest.mark.parametrize("side", ["ours", "theirs"])
@pytest.mark.parametrize("done", [False, True])
def test_a_merge_that_was_never_run_is_caught(
    side: str, done: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    branch("one", (1,), beam_size=5)
    branch("two", (2, 3), patience=1.0)
    gated.git("merge", "-q", "-X", side, *([] if done else ["--no-commit"]), "one")
    both = {**gated.PARAMS["decode"], "beam_size": 5, "patience": 1.0}
    assert json.loads(Path("params.yaml").read_text(encoding="utf-8"))["decode"] == both
    shutil.rmtree("data")
    code, bad = gate(capsys, "--lock")
    assert code == 1
    assert [row[:2] for row in bad] == [["merges", "decode"]]
    other = "decode.patience" if side == "theirs" else "decode.beam_size"
    assert f"took data/decoded from one side and {other} from the other" in bad[0][2]
    gated.prepare(gated.REFERENCES)
    gated.decode(gated.translations((4, 5)))
    gated.run()
    gated.commit("again")
    assert gate(capsys, "--lock") == (0, [])


def test_a_run_after_a_merge_that_gave_the_same_bytes_can_be_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    branch("one", (1,), beam_size=1)
    branch("two", (2, 3), patience=1.0)
    gated.git("merge", "-q", "-X", "theirs", "one")
    shutil.rmtree("data")
    _, bad = gate(capsys, "--lock")
    assert "commit with --trailer 'Ran: decode'" in bad[0][2]
    gated.git("commit", "-q", "--allow-empty", "--trailer", "Ran: score", "-m", "another stage")
    assert len(gate(capsys, "--lock")[1]) == 1
    gated.git("commit", "-q", "--allow-empty", "--trailer", "Ran: decode", "-m", "the same")
    assert gate(capsys, "--lock") == (0, [])


def test_a_merge_with_an_edit_that_changed_no_output_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gated.git("checkout", "-q", "-b", "one", "good")
    Path("code/stage.py").write_text("# a comment\nprint()\n", encoding="utf-8")
    gated.run()
    gated.commit("comment")
    branch("two", (2, 3), patience=1.0)
    gated.git("merge", "-q", "one")
    assert gate(capsys, "--lock") == (0, [])


def test_a_worse_model_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    gated.decode(gated.translations(WORSE))
    gated.run()
    assert gate(capsys) == (0, [])
    _, bad = gate(capsys, "--baseline", "good")
    assert [(row[0], row[-1]) for row in bad] == [
        ("bleu.score", "significantly worse"),
        ("chrf.score", "significantly worse"),
    ]
    gated.set_params(baseline="good")
    assert len(gate(capsys)[1]) == 2
    assert gate(capsys, "--significance", "0.0001") == (0, [])


def test_a_drop_that_chance_explains_passes(capsys: pytest.CaptureFixture[str]) -> None:
    gated.decode(gated.translations((1, 2, 3)))
    gated.run()
    assert gate(capsys, "--baseline", "good") == (0, [])
    main(["--baseline", "good", "--markdown"])
    line = next(one for one in capsys.readouterr().out.splitlines() if "bleu.score |" in one)
    _, value, _, before, drop, p_value, verdict = line.strip("| ").split(" | ")
    assert float(before) - float(value) > 1.0
    assert (drop, verdict) == ("-", "ok")
    assert 0.05 <= float(p_value) < 1


def test_without_the_baselines_sentences_the_allowed_drop_decides(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gated.decode(gated.translations((1, 2, 3)))
    gated.run()
    shutil.rmtree(".dvc/cache")
    _, bad = gate(capsys, "--baseline", "good")
    assert [(row[0], row[4:]) for row in bad] == [
        ("bleu.score", ["1.000", "-", "fell"]),
        ("chrf.score", ["1.000", "-", "fell"]),
    ]
    main(["--baseline", "good"])
    assert "no paired test, allowed drops decide" in " ".join(capsys.readouterr().out.split())
    flags = ("--max-drop", "bleu.score=50", "--max-drop", "chrf.score=50")
    assert gate(capsys, "--baseline", "good", *flags) == (0, [])


def test_another_test_split_is_no_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    gated.prepare([f"{text} Yes." for text in gated.REFERENCES])
    gated.decode(gated.translations(GOOD))
    gated.run()
    main(["--baseline", "good", "--markdown"])
    assert "another reference or none for 60 of the 60 here" in capsys.readouterr().out


def test_another_signature_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    gated.edit_scores("bleu.signature", "nrefs:1|tok:char")
    gated.run()
    _, bad = gate(capsys, "--baseline", "good")
    assert [row[0] for row in bad] == ["signatures", "bleu.score"]
    assert bad[0][1] == "bleu.signature"
    assert bad[0][2].startswith(r"nrefs:1\|tok:char, good has nrefs:1\|case:mixed")
    assert bad[1][-1] == "other signature"


def test_a_score_under_its_floor_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    _, bad = gate(capsys, "--floor", "bleu.score=99.9")
    assert [(row[0], row[-1]) for row in bad] == [("bleu.score", "under floor")]


@pytest.mark.parametrize("drops", [{}, {"bleu.score": 1.0}])
def test_a_gate_that_holds_scores_against_nothing_is_no_gate(drops: dict[str, float]) -> None:
    gated.set_params(floors={}, max_drop=drops)
    with pytest.raises(ParamsError, match="check: no floors, and no baseline with a max_drop"):
        main([])
    assert main(["--lock"]) == 0
    if drops:
        assert main(["--baseline", "good"]) == 0


@pytest.mark.parametrize(
    ("flag", "part"),
    [
        ("--baseline=nowhere", "baseline: no revision nowhere"),
        ("--baseline=--help", "baseline: no revision --help"),
        ("--baseline=empty", "empty:metrics/score.json: no such file"),
        ("--floor=bleu.score", "check: bleu.score is not NAME=VALUE"),
        ("--max-drop=bleu.score=-1", "max_drop.bleu.score must be 0 or more"),
        ("--baseline=", "baseline: no revision"),
        ("--significance=0", "significance must lie between 0 and 1"),
        ("--significance=2", "significance must lie between 0 and 1"),
    ],
)
def test_a_flag_that_cannot_be_is_one_line(flag: str, part: str) -> None:
    with pytest.raises(HanyiError) as caught:
        main([flag])
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_exit_codes(root: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(root)}

    def run(*flags: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "stages.check", *flags]
        return subprocess.run(command, capture_output=True, env=env, text=True, check=False)

    assert run("--baseline", "good").returncode == 0
    bad = run("--baseline", "nowhere")
    assert bad.returncode == 2
    assert bad.stdout == ""
    assert bad.stderr.count("\n") == 1
    gated.edit_scores("bleu.score", 1.0)
    assert run().returncode == 1
