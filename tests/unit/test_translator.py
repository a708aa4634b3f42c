"""Plain use of a model: normalised input, long texts in parts, nothing lost, threads agree."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hanyi.decoding.config import PLAIN, SamplingConfig
from hanyi.decoding.engine import translate_ids
from hanyi.decoding.segments import split_long
from hanyi.errors import ArtifactError, DataError, ParamsError
from hanyi.translator import Translator
from hanyi.translator.settings import OUTSIDE
from tests.models import SENTENCES, save_tiny_model, tiny_tokenizers

TORCH = replace(OUTSIDE, engine="torch")
ENGINES = ("torch", "ctranslate2")
DRAWN = SamplingConfig(temperature=1.0, top_k=0, top_p=1.0, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    pair = tiny_tokenizers(root / "tokenizers")
    save_tiny_model(root / "transformer", *pair, max_tokens=8)
    save_tiny_model(root / "other", *pair, max_tokens=8, seed=1)
    return root


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return Translator.load(folder, device="cpu", config=TORCH)


def expected(translator: Translator, text: str) -> str:
    ids = translator.src.encode(text)
    best = translate_ids(translator.model, [ids], PLAIN, tokens=4000)[0][0]
    return translator.tgt.decode(best.tokens).strip()


def texts_of(translator: Translator, texts: list[str]) -> list[str]:
    return [one.text for one in translator.translate(texts)]


def test_translations_are_those_of_the_engine(translator: Translator) -> None:
    texts = ["我爱你。", "", "你好吗？", "   "]
    found = translator.translate(texts)
    assert [one.source for one in found] == texts
    assert [one.text for one in found] == [
        expected(translator, texts[0]),
        "",
        expected(translator, texts[2]),
        "",
    ]
    assert translator.translate([]) == []
    with pytest.raises(TypeError, match="a list of texts"):
        translator.translate("我爱你。")


def test_results_say_how_they_came_about(translator: Translator) -> None:
    search = replace(TORCH, n_best=3)
    text, empty = translator.translate(
        ["我爱你。", ""], search, alignment=True, token_log_probs=True
    )
    ids = translator.src.encode("我爱你。")
    best = translate_ids(translator.model, [ids], search, tokens=4000)[0]
    assert [(one.log_prob, one.score) for one in text.n_best] == [
        (one.log_prob, one.score) for one in best
    ]
    assert text.text == text.n_best[0].text
    assert (text.log_prob, text.score, text.finished) == (
        best[0].log_prob,
        best[0].score,
        best[0].finished,
    )
    assert text.tokens == translator.tgt.tokens(best[0].tokens)
    assert text.src_tokens == translator.src.tokens(ids)
    assert text.alignment is not None
    assert text.token_log_probs is not None
    assert len(text.alignment) == len(text.tokens)
    assert set(text.alignment) <= set(range(len(ids)))
    assert len(text.token_log_probs) == len(text.tokens) + text.finished
    assert sum(text.token_log_probs) == pytest.approx(text.log_prob, abs=1e-4)
    assert (empty.text, empty.parts, empty.tokens, empty.log_prob) == ("", 0, [], 0.0)
    assert [one.text for one in empty.n_best] == [""]
    plain = translator.translate(["我爱你。"])[0]
    assert plain.alignment is plain.token_log_probs is None
    assert len(plain.n_best) == 1


def test_input_is_normalised(translator: Translator) -> None:
    assert texts_of(translator, ["\u3000我  爱\t你。 "]) == texts_of(translator, ["我 爱 你。"])
    assert texts_of(translator, ["e\u0301"]) == texts_of(translator, ["\u00e9"])


def test_long_texts_are_translated_in_parts_with_a_warning(translator: Translator) -> None:
    whole = "我爱你。你好吗？他们很好。"
    assert len(translator.src.encode(whole)) > 8
    found, other = translator.translate([whole, "他好。"], alignment=True)
    parts = split_long(whole, lambda part: len(translator.src.encode(part)), 8)
    assert 1 < len(parts) <= 3
    translations = [expected(translator, part) for part in parts]
    assert found.text.split() == " ".join(translations).split()
    assert other.text == expected(translator, "他好。")
    assert found.parts == len(parts)
    told = [text for text in found.warnings if "more than" in text]
    assert told == [f"more than 8 tokens, translated in {len(parts)} parts"]
    assert not any("more than" in text for text in other.warnings)
    assert found.alignment is not None
    assert max(found.alignment) < len(found.src_tokens)


def test_what_a_translation_lacks_is_told(folder: Path) -> None:
    short = replace(TORCH, max_length_ratio=0.0, max_length_offset=1)
    cut, empty = Translator.load(folder, device="cpu", config=short).translate(["我爱你。", ""])
    assert cut.warnings == ["its translation is cut at the limit"]
    assert not cut.finished
    assert empty.warnings == []
    terms = replace(short, terms={"你": "Beijing"}, max_length_offset=2)
    translator = Translator.load(folder, device="cpu", config=terms)
    held, free = translator.translate(["我爱你。", "他好。"])
    assert held.unmet == ["Beijing"]
    assert "translated without Beijing" in held.warnings
    assert not any("without" in text for text in free.warnings)


def test_the_decode_section_is_the_default(folder: Path) -> None:
    config = replace(TORCH, prefix="We are")
    translator = Translator.load(folder, device="cpu", config=config)
    texts = ["我爱你。", "他好。"]
    found = texts_of(translator, texts)
    assert all(text.startswith("We are") for text in found)
    assert found == [one.text for one in translator.translate(texts, config)]
    assert found != [one.text for one in translator.translate(texts, replace(config, beam_size=1))]


def test_a_search_that_the_engine_cannot_do_is_told(folder: Path) -> None:
    search = replace(PLAIN, no_repeat_ngram=3)
    named = Translator.load(folder, device="cpu", config=replace(OUTSIDE, engine="ctranslate2"))
    with pytest.raises(ParamsError, match="ctranslate2, which has no no_repeat_ngram 3"):
        named.translate(["他好。"], search)
    whole = Translator.load(folder, device="cpu", config=replace(OUTSIDE, quantization="int8"))
    assert whole.name == "ctranslate2"
    with pytest.raises(ParamsError, match="ctranslate2, which has no no_repeat_ngram 3"):
        whole.translate(["他好。"], search)


def test_where_the_engine_is_free_ours_does_what_the_other_lacks(
    folder: Path, translator: Translator
) -> None:
    free = Translator.load(folder, device="cpu", config=OUTSIDE)
    assert free.name == "ctranslate2"
    for search in (
        replace(PLAIN, no_repeat_ngram=3),
        replace(PLAIN, method="sample", n_best=3, sampling=DRAWN),
    ):
        assert free.translate(SENTENCES[:3], search) == translator.translate(SENTENCES[:3], search)


def test_draws_depend_on_the_number_of_a_text_alone(translator: Translator) -> None:
    search = replace(PLAIN, method="sample", n_best=2, sampling=DRAWN)
    texts = SENTENCES[:4]
    whole = translator.translate(texts, search)
    apart = [
        *translator.translate(texts[:3], search, numbers=range(3)),
        *translator.translate(texts[3:], search, numbers=[3]),
    ]
    assert [one.text for one in apart] == [one.text for one in whole]
    assert translator.translate(texts[3:], search)[0].text != whole[3].text


@pytest.mark.parametrize("engine", ENGINES)
def test_threads_share_a_translator(folder: Path, engine: str) -> None:
    """Each thread asks for something else, some with the weights of attention, all at once."""
    config = replace(OUTSIDE, engine=engine)
    translator = Translator.load(folder, device="cpu", config=config)
    texts = [SENTENCES[place % 6] * (1 + place % 3) for place in range(12)]

    def ask(place: int) -> object:
        if place % 6 == 4:
            stream = translator.stream(texts[place])
            return "".join(stream), stream.result
        if place % 6 == 5:
            found = translator.attention("他好。")
            return found.weights.tolist(), found.tgt_ids
        few = texts[place : place + 3]
        return translator.translate(few, alignment=place % 2 == 0, token_log_probs=place % 3 == 0)

    alone = [ask(place) for place in range(len(texts))]
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(ask, list(range(len(texts))) * 2))
    assert together == alone * 2


def test_attention(translator: Translator) -> None:
    found = translator.attention("我爱你。")
    assert found.weights.shape == (2, 4, len(found.tgt_ids), len(found.src_ids))
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(found.weights.shape[:-1]))
    assert translator.tgt.decode(found.tgt_ids).strip() == texts_of(translator, ["我爱你。"])[0]
    for text in ("", "我爱你。" * 9):
        with pytest.raises(DataError, match="expected 1 to 8; give one sentence"):
            translator.attention(text)


def test_attention_is_that_of_the_translation_as_it_is_asked_for(folder: Path) -> None:
    wishes = replace(TORCH, prefix="We are", ensemble=[str(folder / "other")])
    for config in (wishes, replace(TORCH, terms={"我": "love"})):
        translator = Translator.load(folder, device="cpu", config=config)
        found = translator.attention("我爱你。")
        (result,) = translator.translate(["我爱你。"])
        assert translator.tgt.decode(found.tgt_ids).strip() == result.text
        assert found.weights.size(2) == len(found.tgt_ids) == len(result.tokens) + result.finished


def test_foreign_or_missing_artifacts(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no such file"):
        Translator.load(folder, tokenizers=tmp_path)
    for mine, other in (("src", "tgt"), ("tgt", "src")):
        data = (folder / "tokenizers" / f"{other}.json").read_bytes()
        (tmp_path / f"{mine}.json").write_bytes(data)
    with pytest.raises(
        ArtifactError, match=r"trained with src tokenizer .* the artifacts are mixed"
    ):
        Translator.load(folder, tokenizers=tmp_path)
    with pytest.raises(ParamsError, match="--device: tpu"):
        Translator.load(folder, device="tpu")
