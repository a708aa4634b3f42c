"""`hanyi translate` on files: formats, columns, faults with their line, what is added and kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread

import pytest
from click.testing import Result as Done
from typer.testing import CliRunner

from hanyi.cli import app
from hanyi.cli.rows.reading import in_batches
from hanyi.errors import DataError
from hanyi.translator import Result, Translator
from tests.models import save_tiny_model, tiny_tokenizers

TEXTS = ["我爱你。", "", "你好吗？"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    pair = tiny_tokenizers(root / "models" / "tokenizers")
    save_tiny_model(root / "models" / "transformer", *pair)
    return root


@pytest.fixture(scope="module")
def translator(project: Path) -> Translator:
    return Translator.load(project, device="cpu")


@pytest.fixture(scope="module")
def results(translator: Translator) -> list[Result]:
    return translator.translate(TEXTS, alignment=True, token_log_probs=True)


@pytest.fixture(scope="module")
def lines(results: list[Result]) -> list[str]:
    return [one_line(one.text) for one in results]


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HANYI_DEVICE", "cpu")


def one_line(text: str) -> str:
    return " ".join(text.split())


def write(name: str, text: str) -> str:
    Path(name).write_bytes(text.encode("utf-8"))
    return name


@pytest.fixture
def hanyi(project: Path) -> object:
    def call(*arguments: str, text: str | bytes | None = None) -> Done:
        return CliRunner().invoke(
            app, ["translate", "--model", str(project), *arguments], input=text
        )

    return call


def out(done: Done) -> list[str]:
    assert done.exit_code == 0, done.stderr
    assert not done.stdout or done.stdout_bytes.endswith(b"\n")
    return done.stdout_bytes.decode("utf-8").split("\n")[:-1]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(TEXTS),
        "\n".join(TEXTS) + "\n",
        "\r\n".join(TEXTS) + "\r\n",
        "\ufeff" + "\n".join(TEXTS),
    ],
    ids=["no final newline", "plain", "CRLF", "BOM"],
)
def test_lines_of_every_kind(hanyi, lines: list[str], text: str) -> None:
    assert out(hanyi(text=text)) == lines
    assert out(hanyi("-i", write("in.txt", text))) == lines
    assert out(hanyi("-i", "in.txt", "-i", "-", "-i", "in.txt", text=text)) == lines * 3


def test_only_line_feeds_end_a_line(hanyi) -> None:
    text = "我\u2028爱\x85你\x0b。\x0c好\r。\n好"
    assert len(out(hanyi(text=text))) == 2
    done = json.loads(out(hanyi("--json", text=text))[0])
    assert done["source"] == text.split("\n", maxsplit=1)[0]


def test_a_named_pipe_is_opened_once(hanyi, lines: list[str]) -> None:
    os.mkfifo("pipe")
    writer = Thread(target=write, args=("pipe", "\n".join(TEXTS)), daemon=True)
    writer.start()
    assert out(hanyi("-i", "pipe")) == lines
    writer.join(20)
    assert not writer.is_alive()


def test_output_is_a_file_whole_or_not_at_all(hanyi, lines: list[str]) -> None:
    assert out(hanyi("-o", "out.txt", *TEXTS)) == []
    whole = "".join(f"{line}\n" for line in lines)
    assert Path("out.txt").read_text(encoding="utf-8") == whole
    done = hanyi("-o", "out.txt", text=b"\xe6\x88\x91\n\xff\n")
    assert done.exit_code == 2
    assert Path("out.txt").read_text(encoding="utf-8") == whole
    assert [file.name for file in Path.cwd().iterdir()] == ["out.txt"]
    assert out(hanyi("-i", write("in.txt", "\n".join(TEXTS)), "-o", "in.txt")) == []
    assert Path("in.txt").read_text(encoding="utf-8") == whole


def test_scores_alignments_and_n_best(hanyi, results: list[Result]) -> None:
    for line, one in zip(out(hanyi("--scores", "--alignments", *TEXTS)), results, strict=True):
        text, log_prob, score, alignment = line.split("\t")
        assert text == one_line(one.text)
        assert float(log_prob) == pytest.approx(one.log_prob, abs=1e-4)
        assert float(score) == pytest.approx(one.score, abs=1e-4)
        pairs = [tuple(map(int, pair.split("-"))) for pair in alignment.split()]
        assert pairs == [(src, tgt) for tgt, src in enumerate(one.alignment or [])]
    rows = [line.split("\t") for line in out(hanyi("--n-best", "3", "--scores", *TEXTS))]
    assert [row[:2] for row in rows] == [
        *(["1", f"{rank}"] for rank in (1, 2, 3)),
        ["2", "1"],
        *(["3", f"{rank}"] for rank in (1, 2, 3)),
    ]
    assert rows[0][2] == one_line(results[0].text)
    scores = [float(row[4]) for row in rows[:3]]
    assert scores == sorted(scores, reverse=True)


def test_json_tells_all(hanyi, results: list[Result]) -> None:
    found = [json.loads(line) for line in out(hanyi("--json", "--alignments", "--scores", *TEXTS))]
    for fields, one in zip(found, results, strict=True):
        assert fields["source"] == one.source
        assert fields["translation"] == one.text
        assert fields["log_prob"] == pytest.approx(one.log_prob, abs=1e-6)
        assert fields["token_log_probs"] == pytest.approx(one.token_log_probs, abs=1e-6)
        for name in ("finished", "parts", "warnings", "tokens", "src_tokens", "alignment"):
            assert fields[name] == getattr(one, name)
    (fields,) = (json.loads(line) for line in out(hanyi("--json", "--n-best", "2", TEXTS[0])))
    assert fields["n_best"][0]["text"] == results[0].text
    assert len(fields["n_best"]) == 2
    assert "alignment" not in fields


def test_tsv(hanyi, lines: list[str]) -> None:
    rows = [f"{place}\t{text}\tnote" for place, text in enumerate(TEXTS)]
    text = "\n".join([*rows, ""]) + "\n\n"
    expected = [f"{row}\t{line}" for row, line in zip(rows, lines, strict=True)]
    assert out(hanyi("-i", write("in.tsv", text), "--column", "1")) == [*expected, "", ""]
    named = write("named.tsv", "id\tzh\tnote\n" + text)
    for options in (["--column", "zh"], ["--column", "1", "--header"]):
        found = out(hanyi("-i", named, *options))
        assert found == ["id\tzh\tnote\ttranslation", *expected, "", ""]
    found = out(hanyi("-i", named, "--column", "zh", "--into", "en", "--scores", "--n-best", "2"))
    assert found[0].split("\t")[3:] == ["en", "log_prob", "score", "en_2", "log_prob_2", "score_2"]
    assert all(len(line.split("\t")) == 9 for line in found[:4])
    assert found[4:] == ["", ""]
    whole = [
        json.loads(line) for line in out(hanyi("-i", named, "--column", "zh", "--json")) if line
    ]
    assert [one["columns"] for one in whole] == [row.split("\t") for row in rows]


def test_json_lines_keep_what_they_hold_to_the_letter(hanyi, lines: list[str]) -> None:
    rows = [
        f'{{"n": 1.50,  "n":2e5,"text" :"{text}", "of": {{"a": [1, "\\u00e9"]}} }}'
        for text in TEXTS
    ]
    found = out(hanyi("-i", write("in.jsonl", "\r\n".join(rows) + "\r\n\r\n")))
    assert found[3:] == [""]
    for line, row, translated in zip(found[:3], rows, lines, strict=True):
        assert line.startswith(row.removesuffix(" }"))
        assert one_line(json.loads(line)["translation"]) == translated
    text = '{"zh": "我\\u2028爱"}\n'
    (line,) = out(hanyi("--format", "jsonl", "--column", "zh", "--into", "en", text=text))
    assert list(json.loads(line)) == ["zh", "en"]
    (line,) = out(
        hanyi("--format", "jsonl", "--column", "zh", "--json", "--n-best", "2", text=text)
    )
    assert {"zh", "translation", "score", "parts", "tokens", "n_best"} <= set(json.loads(line))


@pytest.mark.parametrize(
    ("options", "text", "told"),
    [
        ([], b"\xe6\x88\x91\n\n\xe6\x88\x91\xff", "standard input:3: byte 0xff at 4"),
        ([], b"\xff\xfe\x11\x62", "standard input:1: byte 0xff at 1, which is no UTF-8"),
        (["--format", "tsv"], b"\n\xff", "standard input:2: byte 0xff"),
        (["--format", "tsv", "--column", "1"], b"a\tb\na\n", "standard input:2: no 1 among 1 col"),
        (["--format", "tsv", "--column", "zh"], b"a\tb\n", "standard input:1: no zh among a, b"),
        (["--format", "tsv", "--column", "a"], b"a\ttranslation\n", "input:1: translation, which"),
        (["--format", "jsonl"], b'\n{"zh": 1}', "standard input:2: no text among zh"),
        (["--format", "jsonl"], b'{"text": null}', "standard input:1: text: null, expected a text"),
        (["--format", "jsonl"], b'{"text": "a"', "standard input:1: Expecting ',' delimiter"),
        (["--format", "jsonl"], b"[1]", "standard input:1: list, expected a JSON object"),
        (["--format", "jsonl"], b'{"text": "\\ud800"}', "standard input:1: half a surrogate pair"),
        (["--format", "jsonl"], b"[" * 100_000, "standard input:1: maximum recursion depth"),
        (
            ["--format", "jsonl", "--scores"],
            b'{"text": "a", "score": 1}',
            "standard input:1: score, which is there already",
        ),
        (["--format", "csv"], b"", "--format: csv, expected auto, plain, tsv, jsonl"),
        (["--header", "--format", "jsonl"], b"", "--header: jsonl lines, which have none"),
        (["--stream", "--format", "tsv"], b"", "--stream: --format with it"),
        (["-i", "nowhere.txt"], b"", "nowhere.txt: no such file or directory, expected a file"),
        (["-i", "."], b"", ".: is a directory"),
    ],
)
def test_faults_name_their_line(hanyi, options: list[str], text: bytes, told: str) -> None:
    done = hanyi(*options, text=text)
    assert done.exit_code == 2
    *warnings, fault = done.stderr.splitlines()
    assert fault.startswith("hanyi: error: ")
    assert told in fault
    assert not any("error" in line for line in warnings)


def test_what_came_before_a_fault_is_translated(hanyi, lines: list[str]) -> None:
    done = hanyi(text="\n".join(TEXTS).encode() + b"\n\xff\n")
    assert done.exit_code == 2
    assert done.stdout.split("\n")[:-1] == lines


def test_long_lines_are_told_with_their_number(hanyi) -> None:
    done = hanyi("-i", write("in.txt", "我\n" + "我爱你。" * 20 + "\n"))
    assert len(out(done)) == 2
    assert f"in.txt:2: {'我爱你。' * 5}...: more than 20 tokens, translated in 7" in done.stderr


def test_streams_are_the_greedy_translations(hanyi, translator: Translator) -> None:
    text = "\n".join([*TEXTS, "我爱你。" * 20])
    done = hanyi("--stream", "--scores", text=text)
    greedy = [translator.stream(one).result for one in text.split("\n")]
    assert out(done) == [
        f"{one_line(one.text)}\t{one.log_prob:.4f}\t{one.score:.4f}" for one in greedy
    ]
    assert "standard input:4: " in done.stderr


def test_draws_go_by_the_line_not_by_the_batch(
    hanyi, project: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = (root / "params.yaml").read_text(encoding="utf-8")
    folder = tmp_path / "drawing"
    folder.mkdir()
    (folder / "models").symlink_to(project / "models")
    (folder / "params.yaml").write_text(params.replace("method: beam ", "method: sample "))
    text = "\n".join(["他好。"] * 600)
    found = out(hanyi("--model", str(folder), text=text))
    assert len(set(found[:88])) > 20
    assert found[512:] != found[:88]
    apart = out(hanyi("--model", str(folder), "-i", write("a.txt", text), "-i", "a.txt"))
    assert apart[:600] == found
    assert apart[600:] != found


def test_batches_end_at_pauses_and_faults() -> None:
    def rows():
        yield from [1, 2, 3, None, 4, None, None, 5]
        raise DataError("here", "found", "expected", "remedy")

    batches = in_batches(rows(), 2)
    assert [next(batches) for _ in range(4)] == [[1, 2], [3], [4], [5]]
    with pytest.raises(DataError):
        next(batches)
    assert list(in_batches([None, None], 2)) == []


def test_an_output_that_is_a_folder(project: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["translate", "--model", str(project), "-o", str(tmp_path), TEXTS[0]]
    )
    assert done.exit_code == 2
    assert f"--output: {tmp_path}, a folder" in done.stderr


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("score", ["--scores"]),
        ("source", ["--json"]),
        ("alignment", ["--alignments"]),
        ("n_best", ["--n-best", "2"]),
    ],
)
def test_a_name_that_is_taken(project: Path, name: str, options: list[str]) -> None:
    given = ["translate", "--model", str(project), "--into", name, *options, TEXTS[0]]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 2
    assert f"--into: {name}, which is written too" in done.stderr
