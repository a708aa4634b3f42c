"""Given translations under a model: what each token was worth, and where it comes from.

One pass over whole sentences, with the translation as the decoder's input (teacher forcing), gives
what a search adds up step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from hanyi.decoding.ensemble import Ensemble, Model
from hanyi.model.attention import CrossAttention
from hanyi.model.layers import DecoderLayer
from hanyi.model.processes import ALONE, Processes
from hanyi.model.transformer import Transformer
from hanyi.tokens.vocab import BOS, EOS, PAD

ALIGNING = 2
"""So many of the last decoder layers align together, all heads as one.

Of six layers the last but one aligns best (Garg et al. 2019, 4.1), of few layers the last does.
"""

OUTPUTS = 2048
"""Positions whose scores are computed at once; each takes as many numbers as there are tokens."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and a translation of it, token ids without specials."""

    source: Sequence[int]
    target: Sequence[int]
    finished: bool = True  # EOS follows the target, and counts


@dataclass(frozen=True, slots=True)
class Forced:
    """What a model says of a pair."""

    log_probs: list[float]  # nats, of each target token, and of EOS when it is finished
    alignment: list[int]  # of each target token, the place of its source token; empty if not asked


def force(
    model: Model,
    pairs: Sequence[Pair],
    *,
    tokens: int,
    alignment: bool = False,
    report: Callable[[int], object] | None = None,
    processes: Processes = ALONE,
) -> list[Forced]:
    """Give the log probability of each target token, and its alignment when asked.

    A target token is aligned with the source token that the step which writes it attends to most:
    never with EOS, and with nothing where the source is empty. The translation of an empty source
    into nothing is certain, as it is for every engine. A batch holds at most `tokens` padded tokens
    of either side, or a single longer pair; several processes share the batches, and all get all
    results. `report` hears after each batch how many pairs are done.
    """
    results = [Forced([], []) for _ in pairs]
    batches = _batches(pairs, tokens)
    own: list[list[Forced]] = []
    training = model.training
    model.train(False)
    try:
        with torch.no_grad():
            for start in range(0, len(batches), processes.count):
                turn = batches[start : start + processes.count]  # one for each process
                own += [
                    _force_batch(model, [pairs[row] for row in batch], alignment)
                    for batch in processes.share(turn)
                ]
                if report is not None:
                    report(sum(map(len, turn)))
    finally:
        model.train(training)
    for batch, found in zip(batches, processes.gather(own), strict=True):
        for row, forced in zip(batch, found, strict=True):
            results[row] = forced
    return results


def _batches(pairs: Sequence[Pair], tokens: int) -> list[list[int]]:
    """Group pairs of which anything is to be told, longest first."""
    lengths = [(len(pair.target), len(pair.source)) for pair in pairs]
    rows = [row for row, pair in enumerate(pairs) if _outputs(pair)]
    rows.sort(key=lambda row: (-max(lengths[row]), *lengths[row]))
    batches: list[list[int]] = []
    for row in rows:
        # The first of a batch is the longest; BOS or EOS stands beside the tokens.
        longest = max(lengths[batches[-1][0]]) + 1 if batches else 0
        if batches and (len(batches[-1]) + 1) * longest <= tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _force_batch(model: Model, pairs: Sequence[Pair], alignment: bool) -> list[Forced]:
    device = next(model.parameters()).device
    src = _pad([[*pair.source, EOS] for pair in pairs], device)
    tgt_in = _pad([[BOS, *pair.target] for pair in pairs], device)
    outputs = [_outputs(pair) for pair in pairs]
    counts = [len(tokens) for tokens in outputs]
    with _attending(model, alignment) as layers:
        hidden = model.decode(tgt_in, model.encode(src))
        aligned = _align(layers, pairs) if alignment else [[] for _ in pairs]
    hidden = torch.cat([row[:count] for row, count in zip(hidden, counts, strict=True)])
    wanted = torch.tensor([token for tokens in outputs for token in tokens], device=device)
    log_probs = torch.cat(
        [
            _gather(model.output(hidden[start : start + OUTPUTS]), wanted[start : start + OUTPUTS])
            for start in range(0, len(wanted), OUTPUTS)
        ]
    )
    each = [part.tolist() for part in log_probs.split_with_sizes(counts)]
    return [Forced(gains, places) for gains, places in zip(each, aligned, strict=True)]


def _outputs(pair: Pair) -> list[int]:
    """Give the tokens that the model writes."""
    ends = pair.finished and (len(pair.source) or len(pair.target))
    return [*pair.target, EOS] if ends else [*pair.target]


def _gather(logits: Tensor, tokens: Tensor) -> Tensor:
    """Give the log probability of each token, `[positions]`."""
    return logits.float().log_softmax(dim=-1).gather(1, tokens[:, None])[:, 0]


def _pad(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    tensors = [torch.tensor(row) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=PAD).to(device)


@contextmanager
def _attending(model: Model, asked: bool) -> Iterator[list[CrossAttention]]:
    """Let the layers that align keep their weights, in each model."""
    models = model.models if isinstance(model, Ensemble) else [model]
    decoders = [cast("Transformer", one).decoder for one in models if asked]
    layers = [
        cast("DecoderLayer", layer).cross_attention
        for decoder in decoders
        for layer in decoder[-ALIGNING:]
    ]
    for layer in layers:
        layer.keep_weights = True
    try:
        yield layers
    finally:
        for layer in layers:
            layer.keep_weights, layer.weights = False, None


def _align(layers: Sequence[CrossAttention], pairs: Sequence[Pair]) -> list[list[int]]:
    weights = [cast("Tensor", layer.weights).mean(dim=1) for layer in layers]
    weight = torch.stack(weights).mean(dim=0).cpu()  # [batch, tgt_len, src_len]
    return [
        row[: len(pair.target), : len(pair.source)].argmax(dim=1).tolist()
        if len(pair.source)
        else []
        for row, pair in zip(weight, pairs, strict=True)
    ]
