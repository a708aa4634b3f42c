"""`generate` of Hugging Face transformers, with our weights in the class that has our layers.

That is the one with the norm before the sublayer and any table of positions; its encoder gets an
embedding of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import BlenderbotConfig, BlenderbotForConditionalGeneration

from benchmarks.peers.decode_task import DecodeTask
from benchmarks.peers.marian import sides
from benchmarks.peers.tutorial import sinusoids

PAD, BOS, EOS = 0, 2, 3
POSITIONS = 1024


def model(task: DecodeTask) -> BlenderbotForConditionalGeneration:
    """Give the model with our weights."""
    config = BlenderbotConfig(
        vocab_size=task.tgt_vocab,
        d_model=task.d_model,
        max_position_embeddings=POSITIONS,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        encoder_no_repeat_ngram_size=0,
        forced_eos_token_id=None,
        **sides(task),
    )
    made = BlenderbotForConditionalGeneration(config).eval()
    inner = made.model
    scaled = type(inner.encoder.embed_tokens)
    inner.encoder.embed_tokens = scaled(task.src_vocab, task.d_model, PAD, task.d_model**0.5)
    ours = load_file(Path(task.home, "models/transformer/weights.safetensors"))
    with torch.no_grad():
        inner.encoder.embed_tokens.weight.copy_(ours["src_embedding.tokens.weight"])
        inner.decoder.embed_tokens.weight.copy_(ours["tgt_embedding.tokens.weight"])
        for side in ("encoder", "decoder"):
            stack = getattr(inner, side)
            stack.embed_positions.weight.copy_(sinusoids(POSITIONS, task.d_model))
            for name, parameter in stack.named_parameters():
                if name.startswith(("layers.", "layer_norm.")):
                    parameter.copy_(_weight(ours, side, name))
    return made


def _weight(ours: Mapping[str, Tensor], side: str, name: str) -> Tensor:
    """Give the weights that `name` has with us: queries, keys and values are one matrix there."""
    parts = name.split(".")
    kind = parts[-1]
    if parts[0] == "layer_norm":
        return ours[f"{side}_norm.{kind}"]
    layer, names = f"{side}.{parts[1]}", NAMES[side]
    if len(parts) == 4:
        return ours[f"{layer}.{names[parts[2]]}.{kind}"]
    attention = "self_attention" if parts[2] == "self_attn" else "cross_attention"
    if parts[3] == "out_proj":
        return ours[f"{layer}.{attention}.output.{kind}"]
    which = ("q_proj", "k_proj", "v_proj").index(parts[3])
    if attention == "self_attention":
        return ours[f"{layer}.{attention}.query_key_value.{kind}"].chunk(3)[which]
    if which == 0:
        return ours[f"{layer}.{attention}.query.{kind}"]
    return ours[f"{layer}.{attention}.key_value.{kind}"].chunk(2)[which - 1]


NAMES = {
    "encoder": {
        "self_attn_layer_norm": "add_norms.0.norm",
        "final_layer_norm": "add_norms.1.norm",
        "fc1": "feed_forward.inner",
        "fc2": "feed_forward.outer",
    },
    "decoder": {
        "self_attn_layer_norm": "add_norms.0.norm",
        "encoder_attn_layer_norm": "add_norms.1.norm",
        "final_layer_norm": "add_norms.2.norm",
        "fc1": "feed_forward.inner",
        "fc2": "feed_forward.outer",
    },
}


def main() -> None:
    """Translate batch after batch."""
    task = DecodeTask.read(sys.argv[1])
    torch.set_num_threads(task.threads)
    made = model(task)

    @torch.inference_mode()
    def translate(sources: list[list[int]]) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in sources]
        for batch in task.batches(sources):
            rows = [torch.tensor([*sources[row], EOS]) for row in batch]
            ids = pad_sequence(rows, batch_first=True, padding_value=PAD)
            written = made.generate(
                ids,
                attention_mask=(ids != PAD).long(),
                num_beams=task.beam,
                length_penalty=1.0,
                max_new_tokens=task.limit(sources[batch[0]]),
                min_new_tokens=task.length or None,
            )
            for row, tokens in zip(batch, written.tolist(), strict=True):
                found[row] = list(_until_end(tokens[1:]))
        return found

    task.measure(transformers.__version__, translate)


def _until_end(tokens: list[int]) -> Iterator[int]:
    for token in tokens:
        if token in (PAD, EOS):
            return
        yield token


if __name__ == "__main__":
    main()
