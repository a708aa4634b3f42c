"""Tiny models, tokenizers and artifacts that several tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hanyi.model.config import ModelConfig
from hanyi.model.storage import save_model
from hanyi.model.transformer import Transformer
from hanyi.tokens.bpe import BpeConfig, Tokenizer, train_tokenizer
from hanyi.tokens.vocab import BOS, EOS, PAD

SRC_VOCAB, TGT_VOCAB = 20, 30
SIZES: dict[str, Any] = {
    "d_model": 16,
    "heads": 4,
    "key_value_heads": None,
    "d_ff": 24,
    "layers": 2,
    "decoder_layers": None,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "activation": "relu",
    "norm": "pre",
    "norm_type": "layer_norm",
    "positions": "interleaved",
    "attention": "explicit",
    "embedding_std": None,
    "tie": "output",
}
SENTENCES = ["我爱你。", "他爱我。", "你好吗？", "他好。", "我们很好。", "你们爱他吗？"] * 3
TRANSLATIONS = [
    "I love you.",
    "He loves me.",
    "How are you?",
    "He is fine.",
    "We are fine.",
    "Do you love him?",
] * 3


def tiny_config(**changes: Any) -> ModelConfig:
    """Give a small configuration, with some values changed."""
    return ModelConfig(**{**SIZES, **changes})


def tiny_model(
    seed: int = 0, src_vocab: int = SRC_VOCAB, tgt_vocab: int = TGT_VOCAB, **changes: Any
) -> Transformer:
    """Build a model whose weights are large enough to make a difference, ready to translate."""
    torch.manual_seed(seed)
    model = Transformer(tiny_config(**changes), src_vocab, tgt_vocab).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embedding" in name:
                parameter.normal_(std=0.3)
            elif parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def random_batch(seed: int, batch: int, src_len: int, tgt_len: int) -> tuple[Tensor, Tensor]:
    """Draw a source with EOS and a target that begins with BOS, each row padded at its end."""
    draw = torch.Generator().manual_seed(seed)
    src = torch.randint(4, SRC_VOCAB, (batch, src_len), generator=draw)
    tgt = torch.randint(4, TGT_VOCAB, (batch, tgt_len), generator=draw)
    for row in range(batch):
        end = int(torch.randint(0, src_len, (), generator=draw))
        src[row, end], src[row, end + 1 :] = EOS, PAD
        tgt[row, int(torch.randint(1, tgt_len + 1, (), generator=draw)) :] = PAD
    tgt[:, 0] = BOS
    return src, tgt


def tiny_tokenizers(directory: Path) -> tuple[Tokenizer, Tokenizer]:
    """Train a tokenizer for either side and save both."""
    directory.mkdir(parents=True)
    made = []
    for side, texts in (("src", SENTENCES), ("tgt", TRANSLATIONS)):
        config = BpeConfig(vocab=270, max_word_chars=8, max_digits=1)
        tokenizer = train_tokenizer(texts, config)
        tokenizer.save(directory / f"{side}.json")
        made.append(tokenizer)
    return made[0], made[1]


def save_tiny_model(
    directory: Path, src: Tokenizer, tgt: Tokenizer, max_tokens: int = 20, **changes: Any
) -> Transformer:
    """Save a model that belongs to the tokenizers."""
    directory.mkdir(parents=True)
    model = tiny_model(src_vocab=src.size, tgt_vocab=tgt.size, **changes)
    save_model(
        directory,
        model,
        src_tokenizer=src.digest,
        tgt_tokenizer=tgt.digest,
        max_tokens=max_tokens,
    )
    return model
