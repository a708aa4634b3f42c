"""Pictures: attention maps whose labels are never boxes, positions and masks."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.axes import Axes
from typer.testing import CliRunner

from hanyi.cli import app
from hanyi.errors import ArtifactError
from hanyi.model.positions import ConcatenatedPositions, InterleavedPositions
from hanyi.pictures import attention as pictures
from hanyi.pictures import encodings
from hanyi.pictures.attention import FALLBACK, draw_attention, fonts_for
from hanyi.pictures.encodings import draw_masks, draw_positions
from hanyi.pictures.saving import FORMATS

ROWS = [(40, "I"), (41, "▁love"), (3, "<eos>")]
COLUMNS = [(50, "abc"), (51, "00"), (52, "7"), (3, "<eos>")]


@pytest.mark.parametrize(("suffix", "begin"), [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
@pytest.mark.parametrize("heads", [1, 5])
def test_picture_is_saved(tmp_path: Path, suffix: str, begin: bytes, heads: int) -> None:
    path = tmp_path / f"maps{suffix}"
    draw_attention(path, np.full((heads, 3, 4), 0.25), ROWS, COLUMNS)
    assert path.read_bytes().startswith(begin)
    assert list(tmp_path.iterdir()) == [path]


def svg(tmp_path: Path, columns: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(
        pictures.Figure.__init__.__globals__["mpl"].rcParams, "svg.fonttype", "none"
    )
    path = tmp_path / "maps.svg"
    draw_attention(path, np.full((1, 3, len(columns)), 0.25), ROWS, columns)
    return path.read_text(encoding="utf-8")


def test_labels_are_the_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = svg(tmp_path, COLUMNS, monkeypatch)
    assert all(label.replace("<", "&lt;").replace(">", "&gt;") in text for _, label in ROWS)


def test_tokens_without_a_font_are_shown_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pictures, "fonts_for", lambda texts: [FALLBACK])
    with caplog.at_level(logging.WARNING):
        text = svg(tmp_path, [(777, "我爱"), (51, "00")], monkeypatch)
    assert "#777" in text
    assert "我" not in text
    assert ">00<" in text
    assert "Glyph" not in caplog.text
    assert "shown by number" in caplog.text


def test_a_font_that_has_the_characters_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fonts_for(["I", "▁love"]) == [FALLBACK]
    families = {font.name for font in font_manager.fontManager.ttflist}
    other = min(families - {FALLBACK})

    def lacking(characters: Iterable[str], names: list[str]) -> set[str]:
        found = {"I"} if FALLBACK in names else set()
        return set(characters) - found - ({"我", "爱"} if other in names else set())

    monkeypatch.setattr(pictures, "lacking", lacking)
    assert fonts_for(["我", "I", "爱"]) == [other, FALLBACK]
    assert fonts_for(["我龘"]) == [other, FALLBACK]
    assert fonts_for(["龘"]) == [FALLBACK]


def test_a_font_of_boxes_is_never_chosen() -> None:
    """A character of no real font: only last-resort fonts, which draw a box, claim to have it."""
    assert fonts_for(["\U0010fffd"]) == [FALLBACK]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match=r"maps\.png"):
        draw_attention(tmp_path / "file" / "maps.png", np.ones((1, 3, 4)), ROWS, COLUMNS)


def test_equal_pictures_have_equal_bytes(tmp_path: Path) -> None:
    for number in range(2):
        for suffix in FORMATS:
            draw_positions(tmp_path / str(number) / f"positions{suffix}", 8, 5)
    first, second = (sorted((tmp_path / str(number)).iterdir()) for number in range(2))
    assert len(first) == len(FORMATS)
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


def test_positions_and_masks_are_the_models_own(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[np.ndarray] = []
    monkeypatch.setattr(encodings, "save", lambda figure, path: None)
    monkeypatch.setattr(Axes, "imshow", lambda axes, values, **_: shown.append(values))
    monkeypatch.setattr(encodings.Figure, "colorbar", lambda *_, **__: None)
    draw_positions(Path("positions.png"), 6, 9)
    draw_masks(Path("masks.png"), 5)
    for values, kind in zip(shown, (InterleavedPositions, ConcatenatedPositions), strict=False):
        np.testing.assert_array_equal(values, kind(6)(0, 9))
    padding = [[1, 1, 0, 0, 0]] * 5
    causal = np.tril(np.ones((5, 5)))
    np.testing.assert_array_equal(shown[2], padding)
    np.testing.assert_array_equal(shown[3], causal)
    np.testing.assert_array_equal(shown[4], causal * padding)


def test_the_command(tmp_path: Path) -> None:
    asked = ["pictures", "-o", f"{tmp_path}", "--d-model", "8", "--positions", "4"]
    done = CliRunner().invoke(app, [*asked, "--format", "svg"])
    assert (done.exit_code, done.output.split()) == (
        0,
        [f"{tmp_path / 'positions.svg'}", f"{tmp_path / 'masks.svg'}"],
    )
    assert "<svg" in (tmp_path / "masks.svg").read_text(encoding="utf-8")
    for wrong, told in (
        (["--format", "gif"], "--format: gif, expected one of png, svg, pdf"),
        (["--d-model", "7"], "--d-model: 7, expected an even number"),
    ):
        done = CliRunner().invoke(app, [*asked, *wrong])
        assert done.exit_code == 2
        assert told in done.output
