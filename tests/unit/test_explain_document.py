"""The page as a file: whole, safe whatever a text holds; tokens that a reader can take in."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from hanyi.cli import app
from hanyi.explain import describe, explain, page
from hanyi.explain.pieces import pieces
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.vocab import EOS
from hanyi.translator import Translator
from tests.models import save_tiny_model, tiny_tokenizers

NASTY = "</script><script>alert(1)</script>&<!--"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    pair = tiny_tokenizers(root / "models" / "tokenizers")
    save_tiny_model(root / "models" / "transformer", *pair, max_tokens=60)
    return root


@pytest.fixture(scope="module")
def translator(project: Path) -> Translator:
    return Translator.load(project, device="cpu")


@pytest.fixture(scope="module")
def tokenizer(translator: Translator) -> Tokenizer:
    return translator.src


class Scripts(HTMLParser):
    """The content of each script, and every address that a tag names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href"}]
        if tag == "script":
            self.found.append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found[-1] += data


def test_no_text_can_break_out(translator: Translator) -> None:
    found = explain(translator, NASTY)
    assert found["source"] == NASTY
    described = describe(translator)
    scripts = Scripts(page(described, found)).found
    assert len(scripts) == 2
    assert json.loads(scripts[0]) == {"model": described, "sentence": found}
    assert "alert(1)" not in scripts[1]


def test_the_page_names_no_other_address(translator: Translator) -> None:
    text = page(describe(translator), explain(translator, "我爱你。"))
    assert Scripts(text).addresses == ["data:,"]
    assert "@import" not in text
    assert "url(" not in text
    # The name of the SVG language is the only address in the scripts.
    assert set(re.findall(r"https?://[^\"'\s]+", text)) == {"http://www.w3.org/2000/svg"}


def test_both_languages_have_the_same_texts(root: Path) -> None:
    text = (root / "src/hanyi/explain/page/texts.js").read_text(encoding="utf-8")
    english, chinese = text[: text.index("let language")].split("\n  zh: {")
    keys = [re.findall(r"^ +(\w+):", half, flags=re.MULTILINE) for half in (english, chinese)]
    assert len(keys[1]) > 50
    assert keys[0][1:] == keys[1]  # the first is that of the language


def test_each_text_that_is_named_is_there(root: Path) -> None:
    folder = root / "src/hanyi/explain/page"
    known = (folder / "texts.js").read_text(encoding="utf-8")
    named = re.findall(r'data-t(?:-\w+)?="(\w+)"', (folder / "index.html").read_text("utf-8"))
    for script in folder.glob("*.js"):
        named += re.findall(r'say\("(\w+)', script.read_text("utf-8"))
    assert len(named) > 30
    assert [key for key in named if f"\n    {key}: " not in known] == []


def test_pieces_of_a_character_are_shown_as_what_they_spell(tokenizer: Tokenizer) -> None:
    text = "龘 我"
    ids = tokenizer.encode(text)
    found = pieces(tokenizer, [*ids, EOS])
    assert [token["id"] for token in found] == [*ids, EOS]
    assert found[-1] == {"id": EOS, "text": "<eos>"}
    parts = [token for token in found if token["text"] == "龘"]
    assert [token["part"] for token in parts] == [[1, 3], [2, 3], [3, 3]]
    assert any(token["text"] == "▁" for token in found)


def test_bytes_that_spell_nothing_stay_bytes(tokenizer: Tokenizer) -> None:
    first, *_ = tokenizer.encode("龘")
    assert pieces(tokenizer, [first, EOS]) == [
        {"id": first, "text": r"\xe9"},
        {"id": EOS, "text": "<eos>"},
    ]


def hanyi(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["explain", *arguments])


def test_the_command_writes_a_page_or_its_numbers(
    project: Path, translator: Translator, tmp_path: Path
) -> None:
    expected = explain(translator, "我爱你。")
    for name in ("page.html", "page.json"):
        done = hanyi("我爱你。", "-o", f"{tmp_path / name}", "--model", f"{project}")
        assert (done.exit_code, done.output) == (0, f"{expected['translation']}\n")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text == page(describe(translator), expected)
    data = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    assert data == {"model": describe(translator), "sentence": expected}
    few = hanyi("我爱你。", "-o", f"{tmp_path / 'b.json'}", "--model", f"{project}", "--beams", "2")
    assert few.exit_code == 0
    beam = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["sentence"]
    assert len(beam["n_best"]) == 2


def test_what_cannot_be_is_told_in_one_line(project: Path, tmp_path: Path) -> None:
    for arguments, told in (
        (["我爱你。", "-o", "page.pdf"], "--output: page.pdf, expected a name ending in .html"),
        ([" ", "-o", f"{tmp_path / 'a.html'}"], "text: nothing to translate"),
    ):
        done = hanyi(*arguments, "--model", f"{project}")
        assert done.exit_code == 2
        assert told in done.output
        assert done.output.count("\n") == 1
    assert not list(tmp_path.iterdir())
