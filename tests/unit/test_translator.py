"""Plain use of a model: normalised input, long texts in parts, nothing lost."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hanyi.decoding.config import PLAIN
from hanyi.decoding.engine import translate_ids
from hanyi.errors import ArtifactError, DataError, ParamsError
from hanyi.translator import BATCH_TOKENS, Translator, split_long
from tests.models import save_tiny_model, tiny_tokenizers


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("models")
    save_tiny_model(root / "transformer", *tiny_tokenizers(root / "tokenizers"), max_tokens=8)
    return root / "transformer", root / "tokenizers"


@pytest.fixture(scope="module")
def translator(places: tuple[Path, Path]) -> Translator:
    return Translator.load(*places, device="cpu")


def expected(translator: Translator, text: str) -> str:
    ids = translator.src.encode(text)
    best = translate_ids(translator.model, [ids], PLAIN, tokens=BATCH_TOKENS)[0][0]
    return translator.tgt.decode(best.tokens)


def test_translations_are_those_of_the_engine(translator: Translator) -> None:
    texts = ["我爱你。", "", "你好吗？", "   "]
    found = translator.translate(texts)
    assert found == [expected(translator, texts[0]), "", expected(translator, texts[2]), ""]
    assert translator.translate([]) == []


def test_input_is_normalised(translator: Translator) -> None:
    assert translator.translate(["\u3000我  爱\t你。 "]) == translator.translate(["我 爱 你。"])
    assert translator.translate(["e\u0301"]) == translator.translate(["\u00e9"])


def test_long_texts_are_translated_in_parts_with_a_warning(
    translator: Translator, caplog: pytest.LogCaptureFixture
) -> None:
    sentences = ["我爱你。", "你好吗？", "他们很好。"]
    assert len(translator.src.encode("".join(sentences))) > 8
    with caplog.at_level(logging.WARNING, "hanyi.translator"):
        found = translator.translate(["".join(sentences), "他好。"])
    parts = split_long("".join(sentences), lambda part: len(translator.src.encode(part)), 8)
    assert 1 < len(parts) <= 3
    assert all(part in "".join(sentences) for part in parts)
    translations = [expected(translator, part) for part in parts]
    assert found[0].split() == " ".join(translations).split()
    assert found[1] == expected(translator, "他好。")
    assert len(caplog.messages) == 1
    assert "more than 8 tokens, translated in" in caplog.messages[0]


def test_attention(translator: Translator) -> None:
    found = translator.attention("我爱你。")
    assert found.weights.shape == (2, 4, len(found.tgt_ids), len(found.src_ids))
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(found.weights.shape[:-1]))
    assert translator.tgt.decode(found.tgt_ids) == translator.translate(["我爱你。"])[0]
    for text in ("", "我爱你。" * 9):
        with pytest.raises(DataError, match="expected 1 to 8; give one sentence"):
            translator.attention(text)


def test_foreign_or_missing_artifacts(places: tuple[Path, Path], tmp_path: Path) -> None:
    model, tokenizers = places
    with pytest.raises(ArtifactError, match="no such file"):
        Translator.load(tmp_path, tokenizers)
    with pytest.raises(ArtifactError, match="no such file"):
        Translator.load(model, tmp_path)
    (tmp_path / "src.json").write_bytes((tokenizers / "tgt.json").read_bytes())
    (tmp_path / "tgt.json").write_bytes((tokenizers / "src.json").read_bytes())
    with pytest.raises(
        ArtifactError, match=r"trained with src tokenizer .* the artifacts are mixed"
    ):
        Translator.load(model, tmp_path)
    with pytest.raises(ParamsError, match="--device: tpu"):
        Translator.load(model, tokenizers, device="tpu")


TEXTS = st.text(alphabet="我爱。！？；.!?;，,: 0”a", max_size=60)


@given(TEXTS, st.integers(1, 12))
def test_splitting_loses_nothing_and_keeps_the_bound(text: str, most: int) -> None:
    parts = split_long(text, len, most)
    assert "".join(parts) == text
    assert all(len(part) <= most for part in parts)
    assert all(parts) or not text


@pytest.mark.parametrize(
    ("text", "most", "parts"),
    [
        ("我爱你。你好吗？他好。", 8, ["我爱你。你好吗？", "他好。"]),
        ("他说：“你好。”我走了。", 9, ["他说：“你好。”", "我走了。"]),
        ("It is 3.14159 now. Go!", 18, ["It is 3.14159 now.", " Go!"]),
        ("一二三，四五六，七八九", 8, ["一二三，四五六，", "七八九"]),
        ("abc def ghi", 8, ["abc def ", "ghi"]),
        ("一二三四五六七", 4, ["一二三", "四五六七"]),
    ],
)
def test_texts_are_cut_where_a_reader_would(text: str, most: int, parts: list[str]) -> None:
    assert split_long(text, len, most) == parts


def test_a_character_of_many_tokens_stays_whole() -> None:
    assert split_long("龘龘", lambda text: 3 * len(text), 2) == ["龘", "龘"]
