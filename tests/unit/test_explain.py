"""What is shown of a sentence is the model's own: maps, probabilities, hypotheses, masks."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hanyi.decoding.config import PLAIN
from hanyi.decoding.engine import translate_ids
from hanyi.decoding.forced import Pair, force
from hanyi.errors import DataError
from hanyi.explain import describe, explain
from hanyi.model.attention import CrossAttention, SelfAttention
from hanyi.tokens.vocab import BOS, EOS
from hanyi.translator import Translator
from hanyi.translator.settings import OUTSIDE
from tests.models import save_tiny_model, tiny_tokenizers

TEXTS = ["我爱你。", "你好吗？", "他们很好。"]


def loaded(root: Path, **changes: Any) -> Translator:
    (root / "models").mkdir(parents=True)
    pair = tiny_tokenizers(root / "models" / "tokenizers")
    save_tiny_model(root / "models" / "transformer", *pair, **changes)
    return Translator.load(root / "models", device="cpu", config=replace(OUTSIDE, engine="torch"))


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return loaded(tmp_path_factory.mktemp("explained"))


@contextmanager
def inputs(model: nn.Module, seen: dict[nn.Module, tuple[Tensor, ...]]) -> Iterator[None]:
    """Write down what goes into each attention."""
    handles = [
        module.register_forward_pre_hook(lambda module, given: seen.update({module: given}))
        for module in model.modules()
        if isinstance(module, SelfAttention | CrossAttention)
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def by_formula(attention: nn.Module, given: tuple[Tensor, ...], causal: bool) -> Tensor:
    """softmax(QKᵀ/√d_k), in double precision, one head after another: `[heads, q_len, k_len]`."""
    if isinstance(attention, SelfAttention):
        query, key, _ = attention.project(given[0], 0)
    else:
        (query,) = attention.split(attention.query(given[0]), attention.heads)
        key, _ = attention.keys_values(given[1])
    maps = []
    for head in range(query.size(1)):
        scores = query[0, head].double() @ key[0, head].double().T / math.sqrt(query.size(-1))
        if causal:
            rows, columns = scores.shape
            after = torch.ones(rows, columns, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(after, -math.inf)
        maps.append(scores.softmax(dim=-1))
    return torch.stack(maps)


@pytest.mark.parametrize(
    "changes",
    [{}, {"norm": "post", "positions": "rotary", "attention": "fused", "decoder_layers": 1}],
)
def test_maps_are_the_formula(tmp_path: Path, changes: dict[str, Any]) -> None:
    translator = loaded(tmp_path, **changes)
    found = explain(translator, TEXTS[0])
    seen: dict[nn.Module, tuple[Tensor, ...]] = {}
    model = translator.model
    src = torch.tensor([[*translator.src.encode(TEXTS[0]), EOS]])
    read = torch.tensor([[token["id"] for token in found["read_tokens"]]])
    with torch.no_grad(), inputs(model, seen):
        model(src, read)
        for name, layers, part, causal in (
            ("encoder", model.encoder, "self_attention", False),
            ("decoder", model.decoder, "self_attention", True),
            ("cross", model.decoder, "cross_attention", False),
        ):
            maps = found["attention"][name]
            assert len(maps) == len(layers)
            for layer, shown in zip(layers, maps, strict=True):
                attention = getattr(layer, part)
                expected = by_formula(attention, seen[attention], causal)
                np.testing.assert_allclose(shown, expected, atol=6e-5)


def test_maps_are_distributions_and_causal_ones_lower_triangular(translator: Translator) -> None:
    found = explain(translator, TEXTS[2])
    src_len, tgt_len = len(found["src_tokens"]), len(found["tgt_tokens"])
    shapes = {
        "encoder": (src_len, src_len),
        "decoder": (tgt_len, tgt_len),
        "cross": (tgt_len, src_len),
    }
    for name, shape in shapes.items():
        maps = np.array(found["attention"][name])
        assert maps.shape == (2, 4, *shape)
        np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=shape[1] * 6e-5)
        assert maps.min() >= 0
    decoder = np.array(found["attention"]["decoder"])
    assert not np.triu(decoder, 1).any()
    assert np.tril(decoder).any(axis=(-1, -2)).all()


def test_probabilities_are_those_of_a_forced_pass(translator: Translator) -> None:
    for text in TEXTS:
        found = explain(translator, text)
        tokens = [token["id"] for token in found["tgt_tokens"] if token["id"] != EOS]
        pair = Pair(translator.src.encode(text), tokens, found["finished"])
        (forced,) = force(translator.model, [pair], tokens=4000)
        shown = [step["log_prob"] for step in found["steps"]]
        assert shown == pytest.approx(forced.log_probs, abs=1e-4)
        assert sum(shown) == pytest.approx(found["n_best"][0]["log_prob"], abs=1e-3)
        for token, step in zip(found["tgt_tokens"], found["steps"], strict=True):
            shares = [other["probability"] for other in step["alternatives"]]
            assert shares == sorted(shares, reverse=True)
            assert sum(shares) <= 1 + 1e-3
            place = [other["id"] for other in step["alternatives"]].index(token["id"]) + 1
            assert step["rank"] == place
            own = step["alternatives"][place - 1]["probability"]
            assert own == pytest.approx(math.exp(step["log_prob"]), abs=2e-4)


def test_hypotheses_are_those_of_a_translation(translator: Translator) -> None:
    for beams in (1, 3):
        config = replace(translator.config, beam_size=beams, n_best=beams)
        for text in TEXTS:
            found = explain(translator, text, replace(config, n_best=1))
            (result,) = translator.translate([text], config)
            assert found["translation"] == result.text
            assert [one["text"] for one in found["n_best"]] == [one.text for one in result.n_best]
            for value in ("log_prob", "score"):
                shown = [one[value] for one in found["n_best"]]
                expected = [getattr(one, value) for one in result.n_best]
                assert shown == pytest.approx(expected, abs=1e-4)


def test_the_best_leaf_is_the_translation(translator: Translator) -> None:
    found = explain(translator, TEXTS[0])
    nodes = found["tree"]["nodes"]
    for one in found["n_best"]:
        leaf = nodes[one["leaf"]]
        assert leaf["text"] == one["text"]
        assert leaf["log_prob"] == one["log_prob"]
    tokens, node = [], nodes[found["n_best"][0]["leaf"]]
    while node["parent"] is not None:
        tokens.append(node["token"]["id"])
        node = nodes[node["parent"]]
    assert tokens[::-1] == [token["id"] for token in found["tgt_tokens"]]
    kept = defaultdict(int)
    for node in nodes:
        kept[node["step"]] += node["fate"] == "kept"
    assert max(kept.values()) <= found["tree"]["beams"] == translator.config.beam_size
    assert {"kept", "dropped"} <= {node["fate"] for node in nodes}


def test_prefix_terms_and_rules_are_heeded(translator: Translator) -> None:
    config = replace(
        OUTSIDE, engine="torch", prefix="We", terms={"爱": "love"}, no_repeat_ngram=2, beam_size=3
    )
    folder = translator.folder
    other = Translator.load(folder, device="cpu", config=config)
    found = explain(other, TEXTS[0])
    assert found["translation"] == other.translate([TEXTS[0]])[0].text
    assert found["translation"].startswith("We")
    assert "love" in found["translation"]
    assert all(
        node["text"].startswith("We"[: len(node["text"])]) for node in found["tree"]["nodes"]
    )


def test_a_cut_translation_is_told(translator: Translator) -> None:
    short = replace(translator.config, max_length_ratio=0.0, max_length_offset=2)
    found = explain(translator, TEXTS[0], short)
    assert not found["finished"]
    assert len(found["tgt_tokens"]) == len(found["steps"]) == len(found["read_tokens"]) == 2
    leaf = found["tree"]["nodes"][found["n_best"][0]["leaf"]]
    assert leaf["fate"] == "cut"


def test_drawn_translations_have_no_tree(translator: Translator) -> None:
    drawn = replace(translator.config, method="sample", n_best=2)
    found = explain(translator, TEXTS[0], drawn)
    assert found["tree"] is None
    assert "sampling" in found["left_out"]
    assert found["translation"] == translator.translate([TEXTS[0]], drawn)[0].text


def test_masks_are_the_definitions(translator: Translator) -> None:
    masks = explain(translator, TEXTS[0])["masks"]
    padding = [token["text"] == "<pad>" for token in masks["tokens"]]
    assert padding[-2:] == [True, True]
    for row in range(len(padding)):
        for column, is_padding in enumerate(padding):
            assert masks["padding"][row][column] == (not is_padding)
            assert masks["causal"][row][column] == (column <= row)
            assert masks["both"][row][column] == (column <= row and not is_padding)


def test_encodings_are_the_papers_formulas(translator: Translator) -> None:
    described = describe(translator)
    width = described["config"]["d_model"]
    for position, row in enumerate(described["positions"]["interleaved"]):
        for place, value in enumerate(row):
            angle = position / 10_000 ** ((place - place % 2) / width)
            assert value == pytest.approx(100 * (math.cos if place % 2 else math.sin)(angle), abs=1)
    for position, row in enumerate(described["positions"]["concatenated"]):
        for place, value in enumerate(row):
            angle = position * 10_000 ** (-(place % (width // 2)) / (width // 2 - 1))
            wave = math.sin if place < width // 2 else math.cos
            assert value == pytest.approx(100 * wave(angle), abs=1)


def test_what_is_no_single_sentence_is_refused(translator: Translator) -> None:
    with pytest.raises(DataError, match="nothing to translate, expected a sentence of 1 to 20"):
        explain(translator, " \n")
    with pytest.raises(DataError, match=r"\d\d tokens, expected a sentence of 1 to 20 tokens"):
        explain(translator, "我爱你。" * 20)


def test_all_of_it_is_json_and_the_same_each_time(translator: Translator) -> None:
    config = replace(translator.config, patience=math.inf)
    first, second = (
        json.dumps(explain(translator, TEXTS[0], config), allow_nan=False) for _ in range(2)
    )
    assert first == second
    json.dumps(describe(translator), allow_nan=False)


def test_explaining_leaves_the_translator_as_it_was(translator: Translator) -> None:
    before = translator.translate(TEXTS)
    explain(translator, TEXTS[0])
    assert translator.translate(TEXTS) == before
    assert not translator.turn.locked()
    assert all(
        module.weights is None
        for module in translator.model.modules()
        if isinstance(module, SelfAttention | CrossAttention)
    )


def test_other_engines_are_told(translator: Translator) -> None:
    other = Translator.load(
        translator.folder, device="cpu", config=replace(OUTSIDE, engine="ctranslate2")
    )
    found = explain(other, TEXTS[0])
    assert "ctranslate2" in found["left_out"]["engine"]
    ids = translator.src.encode(TEXTS[0])
    best = translate_ids(translator.model, [ids], replace(PLAIN, n_best=4), tokens=4000)[0][0]
    assert [token["id"] for token in found["tgt_tokens"]][: len(best.tokens)] == best.tokens
    assert found["read_tokens"][0]["id"] == BOS


def test_the_first_of_several_models_is_shown(translator: Translator) -> None:
    folder = str(translator.folder.model)
    config = replace(OUTSIDE, engine="torch", ensemble=[folder])
    several = Translator.load(translator.folder, device="cpu", config=config)
    found = explain(several, TEXTS[0])
    alone = explain(translator, TEXTS[0])
    assert "ensemble" in found["left_out"]
    np.testing.assert_allclose(found["attention"]["cross"], alone["attention"]["cross"], atol=1e-4)
    shown = [step["log_prob"] for step in found["steps"]]
    assert shown == pytest.approx([step["log_prob"] for step in alone["steps"]], abs=1e-3)
