"""A model on disk: the same bytes for the same weights, the same model back, damage in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from hanyi.artifacts import digest_file
from hanyi.errors import ArtifactError
from hanyi.model.storage import load_model, load_weights, save_model
from hanyi.model.transformer import Transformer
from tests.models import SRC_VOCAB, TGT_VOCAB, random_batch, tiny_config, tiny_model

CPU = torch.device("cpu")


def save(directory: Path, model: Transformer, tgt_tokenizer: str = "b" * 32) -> Path:
    directory.mkdir()
    save_model(directory, model, src_tokenizer="a" * 32, tgt_tokenizer=tgt_tokenizer, max_tokens=50)
    return directory


@pytest.mark.parametrize("tie", ["output", "none"])
def test_round_trip(tmp_path: Path, tie: str) -> None:
    model = tiny_model(tie=tie, decoder_layers=1, dropout=0.25)
    loaded, described = load_model(save(tmp_path / "model", model), CPU)
    src, tgt = random_batch(0, batch=3, src_len=5, tgt_len=4)
    assert torch.equal(loaded(src, tgt), model(src, tgt))
    assert not loaded.training
    assert (loaded.output.weight is loaded.tgt_embedding.tokens.weight) == (tie == "output")
    assert loaded.config == described.model == model.config
    assert (described.src_vocab, described.tgt_vocab) == (SRC_VOCAB, TGT_VOCAB)
    assert (described.src_tokenizer, described.tgt_tokenizer) == ("a" * 32, "b" * 32)
    assert described.max_tokens == 50
    assert described.weights == digest_file(tmp_path / "model" / "weights.safetensors")


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "rotary", "key_value_heads": 1},
        {"norm_type": "rms_norm", "activation": "swiglu", "norm": "post"},
    ],
)
def test_round_trip_of_each_switch(tmp_path: Path, changes: dict[str, Any]) -> None:
    model = tiny_model(**changes)
    loaded, _ = load_model(save(tmp_path / "model", model), CPU)
    batch = random_batch(0, batch=3, src_len=5, tgt_len=4)
    assert torch.equal(loaded(*batch), model(*batch))


def test_a_tied_weight_is_stored_once_and_loads_as_one(tmp_path: Path) -> None:
    model = tiny_model(tie="all", src_vocab=TGT_VOCAB)
    directory = save(tmp_path / "model", model, tgt_tokenizer="a" * 32)
    stored = safetensors.torch.load_file(directory / "weights.safetensors")
    tables = [name for name, weight in stored.items() if weight.shape == (TGT_VOCAB, 16)]
    assert tables == ["src_embedding.tokens.weight"]
    loaded, described = load_model(directory, CPU)
    assert described.model.tie == "all"
    weight = loaded.output.weight
    assert loaded.src_embedding.tokens.weight is weight is loaded.tgt_embedding.tokens.weight
    batch = random_batch(0, batch=3, src_len=5, tgt_len=4)
    assert torch.equal(loaded(*batch), model(*batch))


@pytest.mark.parametrize("tie", ["output", "all"])
def test_a_tied_weight_that_is_stored_twice_is_refused(tmp_path: Path, tie: str) -> None:
    model = tiny_model(tie=tie, src_vocab=TGT_VOCAB)
    directory = save(tmp_path / "model", model, tgt_tokenizer="a" * 32)
    path = directory / "weights.safetensors"
    twice = {**safetensors.torch.load_file(path), "output.weight": torch.zeros(TGT_VOCAB, 16)}
    safetensors.torch.save_file(twice, path)
    edit(directory, weights=digest_file(path))
    with pytest.raises(ArtifactError, match=r"output.weight of shape \(30, 16\), expected None"):
        load_model(directory, CPU)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"src_vocab": SRC_VOCAB}, "model.tie: all, with vocabularies 20 and 30"),
        ({"src_tokenizer": "b" * 32}, "model.tie: all, with vocabularies b{32} and a{32}"),
    ],
)
def test_one_embedding_of_two_vocabularies_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    model = tiny_model(tie="all", src_vocab=TGT_VOCAB)
    directory = save(tmp_path / "model", model, tgt_tokenizer="a" * 32)
    edit(directory, **changes)
    with pytest.raises(ArtifactError, match=message) as caught:
        load_model(directory, CPU)
    assert "\n" not in str(caught.value)


def test_equal_weights_give_equal_bytes(tmp_path: Path) -> None:
    first, second, other = tiny_model(0), tiny_model(0), tiny_model(1)
    second.train()(*random_batch(0, batch=2, src_len=200, tgt_len=200))  # grows its tables
    places = [
        save(tmp_path / name, one) for name, one in zip("abc", (first, second, other), strict=True)
    ]
    for name in ("weights.safetensors", "config.json"):
        contents = [(place / name).read_bytes() for place in places]
        assert contents[0] == contents[1] != contents[2]


def test_weights_are_plain_safetensors(tmp_path: Path) -> None:
    model = tiny_model()
    stored = safetensors.torch.load_file(save(tmp_path / "m", model) / "weights.safetensors")
    assert set(stored) == set(dict(model.named_parameters()))


def truncate(directory: Path) -> None:
    path = directory / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def flip(directory: Path) -> None:
    path = directory / "weights.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def remove_weights(directory: Path) -> None:
    (directory / "weights.safetensors").unlink()


def remove_config(directory: Path) -> None:
    (directory / "config.json").unlink()


def edit(directory: Path, **changes: object) -> None:
    path = directory / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def older_version(directory: Path) -> None:
    edit(directory, version=1)


def other_kind(directory: Path) -> None:
    edit(directory, kind="hanyi.encoded")


def other_sizes(directory: Path) -> None:
    edit(directory, tgt_vocab=TGT_VOCAB + 1)


def no_field(directory: Path) -> None:
    path = directory / "config.json"
    fields = json.loads(path.read_text())
    del fields["max_tokens"]
    path.write_text(json.dumps(fields))


def bad_heads(directory: Path) -> None:
    model = json.loads((directory / "config.json").read_text())["model"]
    edit(directory, model={**model, "heads": 3})


def no_safetensors(directory: Path) -> None:
    (directory / "weights.safetensors").write_bytes(b"no weights")
    edit(directory, weights=digest_file(directory / "weights.safetensors"))


def broken_json(directory: Path) -> None:
    (directory / "config.json").write_text("{")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate, r"weights.safetensors: digest \w+, expected \w+ as config.json says; run"),
        (flip, r"weights.safetensors: digest \w+, expected \w+ as config.json says; run"),
        (remove_weights, "weights.safetensors: no such file"),
        (remove_config, "config.json: no such file"),
        (older_version, "hanyi.model version 1, expected hanyi.model version 2; run `dvc repro`"),
        (other_kind, "hanyi.encoded version 2, expected hanyi.model version 2"),
        (other_sizes, r"tgt_embedding.tokens.weight of shape \(30, 16\), expected \(31, 16\)"),
        (no_field, "max_tokens"),
        (bad_heads, "heads must divide d_model, got heads 3 and d_model 16"),
        (no_safetensors, "weights.safetensors: .*expected a safetensors file"),
        (broken_json, "config.json: broken JSON"),
    ],
)
def test_damage_is_told_in_one_line(
    tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    directory = save(tmp_path / "model", tiny_model())
    damage(directory)
    with pytest.raises(ArtifactError, match=message) as caught:
        load_model(directory, CPU)
    assert "\n" not in str(caught.value)
    assert str(directory) in str(caught.value)


def test_foreign_tokenizers_are_refused(tmp_path: Path) -> None:
    _, described = load_model(save(tmp_path / "model", tiny_model()), CPU)
    described.require_tokenizers(tmp_path, "a" * 32, "b" * 32)
    with pytest.raises(ArtifactError, match="trained with tgt tokenizer bbbbbbbb, expected cccc"):
        described.require_tokenizers(tmp_path, "a" * 32, "c" * 32)


def test_training_starts_from_the_weights_of_a_model(tmp_path: Path) -> None:
    older = tiny_model(0, decoder_layers=2)
    directory = save(tmp_path / "model", older)
    model = tiny_model(1, dropout=0.2, attention_dropout=0.1, attention="fused", embedding_std=0.02)
    load_weights(directory, model, "a" * 32, "b" * 32)
    for one, other in zip(model.parameters(), older.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_ff": 32}, "d_ff 24, expected 32 as in params.yaml; set the model section to that of"),
        ({"layers": 3}, "layers 2, expected 3"),
        ({"heads": 2}, "heads 4, expected 2"),
        ({"key_value_heads": 1}, "key_value_heads 4, expected 1"),
        ({"activation": "gelu"}, "activation relu, expected gelu"),
        ({"positions": "rotary"}, "positions interleaved, expected rotary"),
        ({"tie": "none"}, "tie output, expected none"),
    ],
)
def test_a_start_from_a_model_of_another_make_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    directory = save(tmp_path / "model", tiny_model())
    with pytest.raises(ArtifactError, match=message) as caught:
        load_weights(directory, tiny_model(**changes), "a" * 32, "b" * 32)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("side", "digests"), [("src", "cb"), ("tgt", "ac")])
def test_a_start_from_a_model_of_other_vocabularies_is_refused(
    tmp_path: Path, side: str, digests: str
) -> None:
    directory = save(tmp_path / "model", tiny_model())
    message = f"trained with {side} tokenizer .*, expected cccccccc.*; set tokenizers.use"
    with pytest.raises(ArtifactError, match=message):
        load_weights(directory, tiny_model(), digests[0] * 32, digests[1] * 32)


def test_a_model_of_half_precision_is_saved_in_full(tmp_path: Path) -> None:
    model = Transformer(tiny_config(), SRC_VOCAB, TGT_VOCAB).to(torch.bfloat16)
    loaded, _ = load_model(save(tmp_path / "model", model), CPU)
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.float32}
