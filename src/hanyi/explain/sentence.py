"""Everything that a model does with one sentence, as data that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from hanyi.decoding.config import PLAIN, SearchConfig
from hanyi.decoding.engine import TorchEngine
from hanyi.decoding.ensemble import Ensemble, Model
from hanyi.decoding.texts import Row, Source, TextEngine, Translation
from hanyi.errors import DataError
from hanyi.explain.engine import WatchedEngine
from hanyi.explain.pieces import pieces
from hanyi.explain.tree import leaf, pieces_alone, tree
from hanyi.explain.watch import Watch
from hanyi.model.transformer import Transformer
from hanyi.pictures.masks import masks_of
from hanyi.tokens.vocab import BOS, EOS, PAD

if TYPE_CHECKING:
    from hanyi.translator import Translator

VERSION = 1
DIGITS = 4

ALTERNATIVES = 5
"""Tokens that are told for each step, the likeliest."""

PADDING = 2
"""Padding tokens in the picture of the masks, as beside a longer sentence of a batch."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and its translation as the model reads and writes them."""

    src: list[int]  # [src_len], EOS last
    read: list[int]  # [tgt_len], the decoder's input: BOS first
    written: list[int]  # [tgt_len], row i of its output; EOS last unless the translation was cut

    @classmethod
    def of(cls, source: Source, best: Translation) -> Pair:
        """Put the special tokens where they belong."""
        written = [*best.tokens, EOS] if best.finished else best.tokens
        return cls([*source.ids[0], EOS], [BOS, *written[:-1]], written)


def explain(
    translator: Translator, text: str, search: SearchConfig | None = None
) -> dict[str, Any]:
    """Translate a sentence, and tell all that was looked at on the way.

    A beam tells all its hypotheses, as many as `beam_size`. Our own engine translates, whatever the
    translator's is; `left_out` says what is not shown. Raises `DataError` for a text without
    visible signs, and for one so long that it would be translated in parts.
    """
    config = _whole_beam(search or translator.config)
    model = _searched(translator)
    engine = WatchedEngine(model)
    most, wishes = translator.max_tokens, translator.engine.wishes
    texts = TextEngine(engine, translator.src, translator.tgt, most, wishes)
    source = texts.read([translator.normal(text)])[0]
    _require_one_sentence(source, texts)
    with translator.turn:
        row = texts.translate([source], config)[0]
        pair = Pair.of(source, row.best)
        maps, steps = _maps(model, pair), _steps(model, pair, translator)
    watch = engine.watches[0] if engine.watches else None
    return {
        "version": VERSION,
        "source": source.text,
        "translation": row.best.text,
        "finished": row.best.finished,
        "unmet": row.unmet,
        "search": _options(config),
        "src_tokens": pieces(translator.src, pair.src),
        "tgt_tokens": pieces(translator.tgt, pair.written),
        "read_tokens": pieces(translator.tgt, pair.read),
        "attention": maps,
        "steps": steps,
        "n_best": [_alternative(one, watch) for one in row.n_best],
        "tree": tree(watch, translator.tgt) if watch else None,
        "masks": _masks(pair, translator),
        "left_out": _left_out(translator, config, row),
    }


def _whole_beam(config: SearchConfig) -> SearchConfig:
    """Ask for every hypothesis of a beam, which changes neither the best nor its score."""
    if config.method == "beam" and config.choose == "likeliest":
        return replace(config, n_best=config.beam_size)
    return config


def _searched(translator: Translator) -> Transformer | Ensemble:
    """Give the model that a search asks: several as one, if there are several."""
    engine = translator.engine.engine
    found: Model = engine.model if isinstance(engine, TorchEngine) else translator.model
    return cast("Transformer | Ensemble", found)


def _require_one_sentence(source: Source, texts: TextEngine) -> None:
    if len(source.parts) != 1 or not source.ids[0]:
        tokens = len(texts.src.encode(source.text))
        found = f"{tokens} tokens" if source.parts else "nothing to translate"
        expected = f"a sentence of 1 to {texts.max_tokens} tokens"
        raise DataError("text", found, expected, "give one sentence at a time")


def _options(config: SearchConfig) -> dict[str, Any]:
    """Give the options of the search; what is infinite as a word, for JSON has no number for it."""
    options: dict[str, Any] = {field.name: getattr(config, field.name) for field in fields(PLAIN)}
    del options["sampling"]
    return {
        name: str(value) if isinstance(value, float) and math.isinf(value) else value
        for name, value in options.items()
    }


def _maps(model: Transformer | Ensemble, pair: Pair) -> dict[str, Any]:
    """Give the weights of every layer and head, rounded: `[layers, heads, q_len, k_len]`."""
    first = cast("Transformer", model.models[0]) if isinstance(model, Ensemble) else model
    maps = first.attention_maps(*_batch(model, pair))
    return {name: _rounded(weights[0]) for name, weights in maps.items()}


@torch.no_grad()
def _steps(model: Model, pair: Pair, translator: Translator) -> list[dict[str, Any]]:
    """Give what the model thought of each token that was written, and of the likeliest instead."""
    src, read = _batch(model, pair)
    logits = model.output(model.decode(read, model.encode(src)))[0]
    log_probs = logits.float().log_softmax(dim=-1)  # [tgt_len, tgt_vocab]
    written = torch.tensor(pair.written, device=src.device)[:, None]
    own = log_probs[: len(written)].gather(1, written)
    ranks = (log_probs[: len(written)] > own).sum(dim=1) + 1
    likeliest = log_probs.topk(min(ALTERNATIVES, log_probs.size(1)))
    return [
        {
            "log_prob": round(log_prob, DIGITS),
            "rank": rank,
            "alternatives": [
                {**piece, "probability": round(math.exp(gain), DIGITS)}
                for piece, gain in zip(pieces_alone(translator.tgt, tokens), gains, strict=True)
            ],
        }
        for log_prob, rank, tokens, gains in zip(
            own[:, 0].tolist(),
            ranks.tolist(),
            likeliest.indices.tolist(),
            likeliest.values.tolist(),
            strict=False,
        )
    ]


def _alternative(one: Translation, watch: Watch | None) -> dict[str, Any]:
    return {
        "text": one.text,
        "log_prob": round(one.log_prob, DIGITS),
        "score": round(one.score, DIGITS),
        "finished": one.finished,
        "leaf": leaf(watch, one.parts[0]) if watch else None,
    }


def _masks(pair: Pair, translator: Translator) -> dict[str, Any]:
    """Give the masks of the decoder's input with some padding behind it; 1: may be attended to."""
    ids = [*pair.read, *[PAD] * PADDING]
    return {"tokens": pieces(translator.tgt, ids), **masks_of(ids)}


def _left_out(translator: Translator, config: SearchConfig, row: Row) -> dict[str, str]:
    """Say in a sentence each what is not shown, or not as it is elsewhere."""
    notes = {}
    if translator.name != "torch":
        notes["engine"] = (
            f"{translator.name} translates elsewhere; here it is PyTorch in float32, whose numbers"
            " may differ in the last digits"
        )
    if isinstance(_searched(translator), Ensemble):
        notes["ensemble"] = "of several models that translate as one, the first one's attention"
    if config.method == "sample":
        notes["sampling"] = "translations that are drawn have no tree"
    elif len(row.n_best) < config.beam_size and config.choose != "likeliest":
        notes["mbr"] = f"the {len(row.n_best)} translations that were compared, of the beam's"
    return notes


def _batch(model: Model, pair: Pair) -> tuple[Tensor, Tensor]:
    device = next(model.parameters()).device
    return torch.tensor([pair.src], device=device), torch.tensor([pair.read], device=device)


def _rounded(weights: Tensor) -> Sequence[Any]:
    return cast("Sequence[Any]", (weights.double() * 10**DIGITS).round().div(10**DIGITS).tolist())
