"""The Transformer: embeddings, encoder, decoder and output (Vaswani et al. 2017, 3 and 3.4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from hanyi.model.attention import CrossAttention, MultiHeadAttention, SelfAttention
from hanyi.model.cache import Cache, LayerCache
from hanyi.model.config import ModelConfig
from hanyi.model.dropout import Dropout
from hanyi.model.layers import DecoderLayer, EncoderLayer, FeedForward, make_norm
from hanyi.model.masks import additive, causal_mask, padding_mask
from hanyi.model.positions import ADDED


class Memory(NamedTuple):
    """What the encoder made of the source."""

    states: Tensor  # [batch, src_len, d_model]
    mask: Tensor  # [batch, 1, 1, src_len], True = attend


class Embedding(nn.Module):
    """Sum of token embedding times √d_model and position (3.4, 3.5), then dropout (5.4).

    Tokens drawn with a deviation of 1/√d_model are thus as large as the positions. The tutorials
    draw from N(0, 0.02), which leaves them at a third of that: learning begins more slowly.
    Positions that attention brings in are not added here.
    """

    def __init__(self, config: ModelConfig, vocab: int) -> None:
        super().__init__()
        self.scale = config.d_model**0.5
        self.tokens = nn.Embedding(vocab, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.embedding_std or 1 / self.scale)
        added = ADDED.get(config.positions)
        self.positions = added(config.d_model) if added else None
        self.dropout = Dropout(config.dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """Embed `[batch, length]` as `[batch, length, d_model]`."""
        return self.embed(tokens, 0, tokens.size(1))

    def step(self, tokens: Tensor, position: int) -> Tensor:
        """Embed `[batch, beams]`, all of one position, as `[batch, beams, d_model]`."""
        return self.embed(tokens, position, 1)

    def embed(self, tokens: Tensor, start: int, length: int) -> Tensor:
        """Embed tokens whose second dimension are `length` positions, or all of one."""
        states = self.tokens(tokens)
        if self.positions is None:
            states = states * self.scale
        else:
            states = torch.add(self.positions(start, length), states, alpha=self.scale)
        embedded: Tensor = self.dropout(states)
        return embedded


class Transformer(nn.Module):
    """Map a source and the target so far to a score for every next token.

    `forward(src, tgt_in)` is the whole of it; `encode`, `decode` and `output` are its parts;
    `start` and `step` decode one token at a time; `attention_maps` shows where it looked.
    """

    def __init__(self, config: ModelConfig, src_vocab: int, tgt_vocab: int) -> None:
        """Build a model whose weights are drawn at random.

        Raises `ParamsError` when one embedding shall serve two vocabularies.
        """
        super().__init__()
        config.require_one_vocabulary(src_vocab, tgt_vocab)
        self.config = config
        self.src_vocab = src_vocab
        self.tgt_vocab = tgt_vocab
        self.src_embedding = Embedding(config, src_vocab)
        self.tgt_embedding = Embedding(config, tgt_vocab)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_depth))
        self.encoder_norm = _final_norm(config)
        self.decoder_norm = _final_norm(config)
        self.output = nn.Linear(config.d_model, tgt_vocab, bias=False)
        self.apply(_initialise)
        if config.tie != "none":  # Press and Wolf 2017; all three in Vaswani et al. 2017, 3.4
            self.output.weight = self.tgt_embedding.tokens.weight
        if config.tie == "all":
            self.src_embedding.tokens.weight = self.tgt_embedding.tokens.weight

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Map `[batch, src_len]` and `[batch, tgt_len]` to logits `[batch, tgt_len, tgt_vocab]`."""
        logits: Tensor = self.output(self.decode(tgt_in, self.encode(src)))
        return logits

    def encode(self, src: Tensor) -> Memory:
        """Encode `[batch, src_len]`, EOS included, as `[batch, src_len, d_model]` and its mask."""
        mask = padding_mask(src)
        bias = additive(mask)
        states = self.src_embedding(src)
        for layer in self.encoder:
            states = layer(states, bias)
        return Memory(self.encoder_norm(states), mask)

    def decode(self, tgt_in: Tensor, memory: Memory) -> Tensor:
        """Map `[batch, tgt_len]`, BOS first, to hidden states `[batch, tgt_len, d_model]`.

        Padding stands at the end, where the causal mask hides it from every real token, so that it
        needs no mask of its own.
        """
        causal = additive(causal_mask(tgt_in.size(1), tgt_in.device))
        padding = additive(memory.mask)
        states = self.tgt_embedding(tgt_in)
        for layer in self.decoder:
            states = layer(states, memory.states, causal, padding)
        hidden: Tensor = self.decoder_norm(states)
        return hidden

    def start(self, memory: Memory, beams: int = 1) -> Cache:
        """Begin to decode step by step, with `beams` rows for each sentence of the memory."""
        layers = [
            LayerCache.begin(*layer.cross_attention.keys_values(memory.states), beams)
            for layer in self._decoder()
        ]
        paths = torch.zeros(len(memory.mask), 1, beams, 0, device=memory.mask.device)
        return Cache(layers, additive(memory.mask), paths)

    def step(self, tokens: Tensor, cache: Cache) -> Tensor:
        """Map the newest tokens `[batch * beams]` to logits `[batch * beams, tgt_vocab]`."""
        states = self.tgt_embedding.step(tokens.view(-1, cache.beams), cache.length)
        paths = cache.extend()
        for layer, kept in zip(self._decoder(), cache.layers, strict=True):
            states = layer.step(states, kept, cache.length, paths, cache.padding)
        cache.length += 1
        logits: Tensor = self.output(self.decoder_norm(states).flatten(0, 1))
        return logits

    def step_attending(self, tokens: Tensor, cache: Cache) -> Tensor:
        """Do the same, and leave in the cache what was read of each source token.

        It is cross-attention in the last layer, the mean over its heads; padding has 0.
        """
        last = self._decoder()[-1].cross_attention
        last.keep_weights = True
        try:
            logits = self.step(tokens, cache)
            weights = cast("Tensor", last.weights)  # [batch, heads, beams, src_len]
            cache.attention = weights.mean(dim=1).flatten(0, 1)
        finally:
            last.keep_weights, last.weights = False, None
        return logits

    @torch.no_grad()
    def attention_maps(self, src: Tensor, tgt_in: Tensor) -> dict[str, Tensor]:
        """Give the weights of every head as `[batch, layers, heads, q_len, k_len]`.

        Keys: encoder and decoder (self-attention), cross (target over source).
        """
        attentions = [module for module in self.modules() if isinstance(module, MultiHeadAttention)]
        training = self.training
        self.eval()
        for attention in attentions:
            attention.keep_weights = True
        try:
            self.forward(src, tgt_in)
            return {
                "encoder": _stack(self.encoder, "self_attention"),
                "decoder": _stack(self.decoder, "self_attention"),
                "cross": _stack(self.decoder, "cross_attention"),
            }
        finally:
            self.train(training)
            for attention in attentions:
                attention.keep_weights, attention.weights = False, None

    def _decoder(self) -> list[DecoderLayer]:
        return [layer for layer in self.decoder if isinstance(layer, DecoderLayer)]


def _final_norm(config: ModelConfig) -> nn.Module:
    return make_norm(config) if config.norm == "pre" else nn.Identity()


def _stack(layers: nn.ModuleList, name: str) -> Tensor:
    return torch.stack([getattr(layer, name).weights for layer in layers], dim=1)


def _initialise(module: nn.Module) -> None:
    """Draw projections by Xavier's rule; biases are 0."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    if isinstance(module, SelfAttention):
        _initialise_parts(module.query_key_value.weight.split_with_sizes(module.widths))
    if isinstance(module, CrossAttention):
        _initialise_parts(module.key_value.weight.chunk(2))
    if isinstance(module, FeedForward) and module.gated:
        _initialise_parts(module.inner.weight.chunk(2))


def _initialise_parts(parts: Iterable[Tensor]) -> None:
    # Xavier's range depends on the shape, so the parts of a joint projection are drawn as if they
    # stood alone.
    for part in parts:
        nn.init.xavier_uniform_(part)
