"""Plain use of a model: normalised input, long texts in parts, nothing lost."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hanyi.decoding.config import PLAIN
from hanyi.decoding.engine import translate_ids
from hanyi.decoding.segments import split_long
from hanyi.errors import ArtifactError, DataError, ParamsError
from hanyi.translator import OUTSIDE, Translator
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
    best = translate_ids(translator.model, [ids], PLAIN, tokens=4000)[0][0]
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
    assert [text for text in caplog.messages if "more than 8 tokens, translated in" in text] == [
        f"我爱你。你好吗？他们很好。...: more than 8 tokens, translated in {len(parts)} parts"
    ]


def test_what_a_translation_lacks_is_told(
    places: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    short = replace(OUTSIDE, max_length_ratio=0.0, max_length_offset=1)
    translator = Translator.load(*places, device="cpu", config=short)
    with caplog.at_level(logging.WARNING, "hanyi.translator"):
        translator.translate(["我爱你。", ""])
    assert caplog.messages == ["我爱你。...: its translation is cut at the limit"]


def test_the_decode_section_is_the_default(places: tuple[Path, Path]) -> None:
    config = replace(OUTSIDE, prefix="We are")
    translator = Translator.load(*places, device="cpu", config=config)
    texts = ["我爱你。", "他好。"]
    found = translator.translate(texts)
    assert all(text.startswith("We are") for text in found)
    assert found == translator.translate(texts, config)
    assert found != translator.translate(texts, replace(config, beam_size=1))


def test_a_search_that_the_engine_cannot_do_is_told(places: tuple[Path, Path]) -> None:
    translator = Translator.load(
        *places, device="cpu", config=replace(OUTSIDE, engine="ctranslate2")
    )
    assert translator.translate(["他好。"], PLAIN) == translator.translate(["他好。"])
    with pytest.raises(ParamsError, match="ctranslate2, which has no no_repeat_ngram 3"):
        translator.translate(["他好。"], replace(PLAIN, no_repeat_ngram=3))


def test_terms_that_are_not_met_are_told(
    places: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    short = replace(OUTSIDE, terms={"你": "Beijing"}, max_length_ratio=0.0, max_length_offset=2)
    translator = Translator.load(*places, device="cpu", config=short)
    with caplog.at_level(logging.WARNING, "hanyi.translator"):
        translator.translate(["我爱你。", "他好。"])
    assert "我爱你。...: translated without Beijing" in caplog.messages
    assert not any("他好。" in text and "without" in text for text in caplog.messages)


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
