"""What *Attention Is All You Need* and its tutorials claim, proved in seconds on a random model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from hanyi.decoding.beam import beam_search
from hanyi.decoding.greedy import greedy_search
from hanyi.decoding.sentences import Sentence
from hanyi.doctor.findings import Finding, fault, good
from hanyi.doctor.specimen import (
    LENGTH,
    ROUNDING,
    TGT_VOCAB,
    apart,
    searching,
    sources,
    specimen,
    targets,
)
from hanyi.model.positions import MAX_WAVELENGTH, ConcatenatedPositions, InterleavedPositions
from hanyi.tokens.vocab import BOS, EOS, PAD
from hanyi.training.loss import output_loss

SHORT = 4  # tokens of a translation, EOS included, so that all can be listed
WORDS = [token for token in range(TGT_VOCAB) if token not in {PAD, BOS, EOS}]
CPU = torch.device("cpu")


def claims() -> Iterator[Finding]:
    """Prove each claim; one that does not hold is a fault of the installation or of the code."""
    with torch.no_grad():
        for claim in CLAIMS:
            yield claim()


def causality() -> Finding:
    """Prove that a later token changes no earlier logit (3.1)."""
    model, src, tgt = specimen(), sources(), targets()
    half = LENGTH // 2
    changed = tgt.clone()
    changed[:, half:] = (changed[:, half:] + 1 - EOS - 1) % (TGT_VOCAB - EOS - 1) + EOS + 1
    before, after = model(src, tgt), model(src, changed)
    still, moved = apart(before[:, :half], after[:, :half]), apart(before, after)
    return _proved(
        still < ROUNDING < moved,
        f"causal mask: {half} of {LENGTH} tokens changed, no earlier logit moved ({still:.1g})",
        f"因果掩码：改动后 {half} 个词元（共 {LENGTH} 个），之前的 logits 变化 {still:.1g}",
    )


def padding() -> Finding:
    """Prove that the logits of a sentence do not depend on padding (3.2.3)."""
    model, src, tgt = specimen(), sources(), targets()
    wider = F.pad(src, (0, 5), value=PAD)
    off = apart(model(src, tgt), model(wider, tgt))
    return _proved(
        off < ROUNDING,
        f"padding mask: 5 tokens of padding move the logits by {off:.1g}, which is rounding",
        f"填充掩码：多填充 5 个词元，logits 变化 {off:.1g}，仅为舍入误差",
    )


def cache() -> Finding:
    """Prove that decoding token by token, keys and values kept, equals the full pass."""
    model, src, tgt = specimen(), sources(), targets()
    kept = model.start(model.encode(src))
    stepped = torch.stack([model.step(tokens, kept) for tokens in tgt.unbind(1)], dim=1)
    off = apart(stepped, model(src, tgt))
    return _proved(
        off < ROUNDING,
        f"cache: step by step gives the logits of the full pass to {off:.1g}",
        f"缓存：逐步解码与整句计算的 logits 相差 {off:.1g}",
    )


def greedy_is_a_beam_of_one() -> Finding:
    """Prove that a beam of one is greedy search."""
    model, src, config = specimen(), sources(), searching(1)
    limits = torch.full((len(src),), LENGTH)
    greedy = greedy_search(model.step, model.start(model.encode(src)), limits, config)
    asked = [Sentence(LENGTH, LENGTH) for _ in src]
    beam = beam_search(model.step, model.start(model.encode(src)), asked, config, CPU)
    same = [one.tokens for one in greedy] == [best[0].tokens for best in beam]
    return _proved(
        same,
        f"a beam of 1 writes the same {len(src)} translations as greedy search",
        f"束宽为 1 的束搜索与贪心搜索得到相同的 {len(src)} 个译文",
    )


def wide_beam_is_exhaustive() -> Finding:
    """Prove that a beam wide enough finds the likeliest of all translations."""
    model, src = specimen(), sources(1)
    every, best, log_prob = _likeliest(model.decode, model.output, model.encode(src))
    config = searching(len(WORDS) ** (SHORT - 1))
    kept = model.start(model.encode(src), config.beams)
    found = beam_search(model.step, kept, [Sentence(LENGTH, SHORT)], config, CPU)[0][0]
    off = abs(found.log_prob - log_prob)
    return _proved(
        found.tokens == best and off < ROUNDING,
        f"a wide beam finds the likeliest of all {every:,} translations up to {SHORT - 1} tokens",
        f"足够宽的束搜索找到了全部 {every:,} 个（至多 {SHORT - 1} 个词元）译文中概率最大的一个",
    )


def softmax_rows() -> Finding:
    """Prove that each query shares out exactly 1 (3.2.1), and nothing of it to the future."""
    maps = specimen().attention_maps(sources(), targets())
    off = max(apart(one.sum(-1), torch.ones(one.shape[:-1])) for one in maps.values())
    causal = torch.equal(maps["decoder"], maps["decoder"].tril())
    rows = sum(one[..., 0].numel() for one in maps.values())
    return _proved(
        causal and off < ROUNDING,
        f"attention: {rows:,} rows of weights each sum to 1, none of the decoder's looks ahead",
        f"注意力：{rows:,} 行权重之和均为 1，解码器不看后文",
    )


def fused_is_explicit() -> Finding:
    """Prove that PyTorch's fused attention computes softmax(QKᵀ/√d_k)V."""
    src, tgt = sources(), targets()
    off = apart(specimen("fused")(src, tgt), specimen("explicit")(src, tgt))
    return _proved(
        off < ROUNDING,
        f"fused attention equals softmax(QKᵀ/√d_k)V to {off:.1g}",
        f"融合注意力与 softmax(QKᵀ/√d_k)V 相差 {off:.1g}",
    )


def positions() -> Finding:
    """Prove that both sinusoidal layouts are what their formulas say (3.5), number by number."""
    size, length = 16, 50
    half = size // 2
    table = InterleavedPositions(size).encode(length)
    paper = torch.tensor(
        [
            [wave(place / MAX_WAVELENGTH ** (2 * i / size)) for i in range(half) for wave in WAVES]
            for place in range(length)
        ]
    )
    timing = ConcatenatedPositions(size).encode(length)
    tensor2tensor = torch.tensor(
        [
            [
                wave(place / MAX_WAVELENGTH ** (i / (half - 1)))
                for wave in WAVES
                for i in range(half)
            ]
            for place in range(length)
        ]
    )
    off = max(apart(table, paper), apart(timing, tensor2tensor))
    return _proved(
        off < ROUNDING,
        f"positions: {2 * size * length:,} numbers of both layouts equal sin and cos to {off:.1g}",
        f"位置编码：两种排列的 {2 * size * length:,} 个数与 sin、cos 公式相差 {off:.1g}",
    )


def label_smoothing() -> Finding:
    """Prove that label-smoothed cross-entropy is a KL divergence up to a constant."""
    smoothing = 0.1
    draw = torch.Generator().manual_seed(3)
    hidden = torch.randn(1, 12, 8, generator=draw)
    weight = torch.randn(TGT_VOCAB, 8, generator=draw)
    real = torch.randint(0, TGT_VOCAB, (12,), generator=draw)
    smooth = torch.full((12, TGT_VOCAB), smoothing / TGT_VOCAB)
    smooth[torch.arange(12), real] += 1 - smoothing
    divergence = F.kl_div((hidden[0] @ weight.T).log_softmax(-1), smooth, reduction="sum")
    entropy = -(smooth * smooth.log()).sum()
    off = abs(float(output_loss(hidden, weight, real, smoothing).total - divergence - entropy))
    return _proved(
        off < ROUNDING * 12,
        f"label smoothing: cross-entropy less KL divergence is the target's entropy to {off:.1g}",
        f"标签平滑：交叉熵减去 KL 散度等于目标分布的熵，误差 {off:.1g}",
    )


WAVES: tuple[Callable[[float], float], ...] = (math.sin, math.cos)
CLAIMS = (
    causality,
    padding,
    cache,
    softmax_rows,
    fused_is_explicit,
    positions,
    greedy_is_a_beam_of_one,
    wide_beam_is_exhaustive,
    label_smoothing,
)


def _likeliest(
    decode: Callable[..., Tensor], output: Callable[[Tensor], Tensor], memory: object
) -> tuple[int, list[int], float]:
    """List every finished translation of one sentence; give their number and the likeliest."""
    every = [tokens for length in range(SHORT) for tokens in product(WORDS, repeat=length)]
    best: tuple[list[int], float] = ([], -math.inf)
    for tokens in every:
        logits = output(decode(torch.tensor([[BOS, *tokens]]), memory))[0]
        ends = torch.tensor([*tokens, EOS])
        log_prob = float(logits.log_softmax(-1)[torch.arange(len(ends)), ends].sum())
        if log_prob > best[1]:
            best = (list(tokens), log_prob)
    return len(every), *best


def _proved(holds: bool, en: str, zh: str) -> Finding:
    return (good if holds else fault)(en, zh)
