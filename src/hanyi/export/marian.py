"""The layout of Hugging Face's `MarianMTModel`, for models that it computes exactly.

That class is post-norm with LayerNorm, multiplies embeddings by √d_model, adds a table of positions
and has as many heads of keys as of queries. The table is written out, so both sinusoidal layouts
fit; what else the class cannot be is refused with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from hanyi.artifacts import atomic_directory, write_text
from hanyi.errors import ParamsError
from hanyi.export.ctranslate2 import require_single
from hanyi.export.placing import require_room
from hanyi.model.attention import CrossAttention, SelfAttention
from hanyi.model.config import ModelConfig
from hanyi.model.positions import ADDED
from hanyi.model.transformer import Embedding, Transformer
from hanyi.tokens.vocab import BOS, EOS, PAD, SPECIALS, UNK
from hanyi.translator import Translator

POSITIONS = 1024  # tokens of a sequence, at most: the table's length
MARKER = "generation_config.json"  # config.json may be of any model
CONTENTS = {
    MARKER,
    "README.md",
    "config.json",
    "model.safetensors",
    "target",
    "tokenizer.json",
    "tokenizer_config.json",
}
NAMES = {"relu": "relu", "gelu": "gelu", "silu": "silu"}
"""Our activations by Hugging Face's names."""

_USE = """# A translation model as MarianMTModel

Written by Hanyi for Hugging Face's transformers. The tokenizer of the source lies here, that of the
target in `target/`.

```python
from transformers import AutoTokenizer, MarianMTModel

src = AutoTokenizer.from_pretrained(".")
tgt = AutoTokenizer.from_pretrained("target")
model = MarianMTModel.from_pretrained(".")
found = model.generate(**src("...", return_tensors="pt"), num_beams={beams})
print(tgt.decode(found[0], skip_special_tokens=True))
```

A source has at most {most} tokens in training; cut longer texts into sentences. Texts are expected
in Unicode's form NFC.
"""


def export_marian(translator: Translator, target: Path) -> None:
    """Publish the model in `target`; equal bytes each time.

    Raises `ParamsError`, which names every switch of the model that `MarianMTModel` has not.
    """
    require_single(translator)
    _require_fit(translator.model.config)
    require_room(target, MARKER, CONTENTS)
    with atomic_directory(target) as made:
        tensors = {name: _plain(tensor) for name, tensor in _tensors(translator.model)}
        data = safetensors.torch.save(tensors, metadata={"format": "pt"})
        (made / "model.safetensors").write_bytes(data)
        _write(made / "config.json", _config(translator.model, translator.max_tokens))
        _write(made / MARKER, _generation(translator.config.beam_size))
        _write_tokenizer(made, translator.folder.tokenizers / "src.json", translator.max_tokens)
        (made / "target").mkdir()
        _write_tokenizer(made / "target", translator.folder.tokenizers / "tgt.json", POSITIONS - 1)
        use = _USE.format(beams=translator.config.beam_size, most=translator.max_tokens)
        write_text(made / "README.md", use)


def _require_fit(config: ModelConfig) -> None:
    lacking = [
        f"model.{name}={getattr(config, name)}"
        for name, fits in (
            ("norm", config.norm == "post"),
            ("norm_type", config.norm_type == "layer_norm"),
            ("activation", config.activation in NAMES),
            ("positions", config.positions in ADDED),
            ("key_value_heads", config.groups == config.heads),
        )
        if not fits
    ]
    if lacking:
        raise ParamsError(
            "the model",
            f"{', '.join(lacking)}, which MarianMTModel cannot compute",
            "norm post, norm_type layer_norm, added positions, "
            f"{', '.join(NAMES)} and all heads with keys of their own",
            "train one of these, or export to ctranslate2, which has every switch",
        )


def _config(model: Transformer, max_tokens: int) -> dict[str, Any]:
    config = model.config
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "vocab_size": model.src_vocab,
        "decoder_vocab_size": model.tgt_vocab,
        "d_model": config.d_model,
        "encoder_layers": config.layers,
        "decoder_layers": config.decoder_depth,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": NAMES[config.activation],
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": config.tie == "all",
        "tie_word_embeddings": config.tie != "none",
        "static_position_embeddings": True,
        "max_position_embeddings": POSITIONS,
        "max_length": 2 * max_tokens,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": 0.0,
        "is_encoder_decoder": True,
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
        "torch_dtype": "float32",
    }


def _generation(beams: int) -> dict[str, Any]:
    # PAD and BOS are never written.
    return {
        "bos_token_id": BOS,
        "decoder_start_token_id": BOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
        "suppress_tokens": [PAD, BOS],
        "num_beams": beams,
        "max_length": POSITIONS,
    }


def _tensors(model: Transformer) -> Iterator[tuple[str, Tensor]]:
    """Give every tensor by its name in `MarianMTModel`; a tied one once."""
    yield "final_logits_bias", torch.zeros(1, model.tgt_vocab)
    if model.config.tie == "all":
        yield "model.shared.weight", model.src_embedding.tokens.weight
    else:
        yield "model.encoder.embed_tokens.weight", model.src_embedding.tokens.weight
        yield "model.decoder.embed_tokens.weight", model.tgt_embedding.tokens.weight
    if model.config.tie == "none":
        yield "lm_head.weight", model.output.weight
    yield "model.encoder.embed_positions.weight", _positions(model.src_embedding)
    yield "model.decoder.embed_positions.weight", _positions(model.tgt_embedding)
    for side in ("encoder", "decoder"):
        for number, layer in enumerate(getattr(model, side)):
            for name, tensor in _layer(layer):
                yield f"model.{side}.layers.{number}.{name}", tensor


def _positions(embedding: Embedding) -> Tensor:
    if embedding.positions is None:  # refused before
        raise TypeError("positions are not added")
    table: Tensor = embedding.positions(0, POSITIONS)
    return table


def _layer(layer: Any) -> Iterator[tuple[str, Tensor]]:
    yield from _self_attention("self_attn", layer.self_attention)
    norms = ["self_attn_layer_norm", "final_layer_norm"]
    if hasattr(layer, "cross_attention"):
        yield from _cross_attention("encoder_attn", layer.cross_attention)
        norms.insert(1, "encoder_attn_layer_norm")
    for name, add_norm in zip(norms, layer.add_norms, strict=True):
        yield from _both(name, add_norm.norm)
    yield from _both("fc1", layer.feed_forward.inner)
    yield from _both("fc2", layer.feed_forward.outer)


def _self_attention(name: str, attention: SelfAttention) -> Iterator[tuple[str, Tensor]]:
    yield from _split(name, attention.query_key_value, ("q_proj", "k_proj", "v_proj"))
    yield from _both(f"{name}.out_proj", attention.output)


def _cross_attention(name: str, attention: CrossAttention) -> Iterator[tuple[str, Tensor]]:
    yield from _both(f"{name}.q_proj", attention.query)
    yield from _split(name, attention.key_value, ("k_proj", "v_proj"))
    yield from _both(f"{name}.out_proj", attention.output)


def _split(name: str, linear: nn.Linear, parts: tuple[str, ...]) -> Iterator[tuple[str, Tensor]]:
    """Part one product into those that it holds, of equal size."""
    weights, biases = linear.weight.chunk(len(parts)), linear.bias.chunk(len(parts))
    for part, weight, bias in zip(parts, weights, biases, strict=True):
        yield f"{name}.{part}.weight", weight
        yield f"{name}.{part}.bias", bias


def _both(name: str, module: Any) -> Iterator[tuple[str, Tensor]]:
    yield f"{name}.weight", module.weight
    yield f"{name}.bias", module.bias


def _plain(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", torch.float32).clone(memory_format=torch.contiguous_format)


def _write_tokenizer(folder: Path, source: Path, most: int) -> None:
    """Write a tokenizer that puts EOS at the end, as the model was trained to read."""
    loaded = json.loads(source.read_text(encoding="utf-8"))
    end = {"SpecialToken": {"id": SPECIALS[EOS], "type_id": 0}}
    sequence = {"Sequence": {"id": "A", "type_id": 0}}
    loaded["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [sequence, end],
        "pair": [sequence, end],
        "special_tokens": {
            SPECIALS[EOS]: {"id": SPECIALS[EOS], "ids": [EOS], "tokens": [SPECIALS[EOS]]}
        },
    }
    _write(folder / "tokenizer.json", loaded)
    _write(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": most + 1,
            "padding_side": "right",
            "pad_token": SPECIALS[PAD],
            "unk_token": SPECIALS[UNK],
            "bos_token": SPECIALS[BOS],
            "eos_token": SPECIALS[EOS],
            "clean_up_tokenization_spaces": False,
        },
    )


def _write(path: Path, value: object) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
