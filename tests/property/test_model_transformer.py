"""What must hold for any model and batch: causality and independence of batch mates."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from hanyi.model.layers import ACTIVATIONS, NORM_TYPES, NORMS
from hanyi.model.positions import POSITIONS
from hanyi.tokens.vocab import PAD
from tests.models import TGT_VOCAB, random_batch, tiny_model

HEADS = [(1, None), (2, None), (8, None), (2, 1), (8, 1), (8, 2)]
heads = st.sampled_from(HEADS).map(lambda pair: {"heads": pair[0], "key_value_heads": pair[1]})
others = st.fixed_dictionaries(
    {
        "norm": st.sampled_from(NORMS),
        "norm_type": st.sampled_from(sorted(NORM_TYPES)),
        "activation": st.sampled_from(sorted(ACTIVATIONS)),
        "positions": st.sampled_from(sorted(POSITIONS)),
        "attention": st.sampled_from(["explicit", "fused"]),
    }
)
switches = st.builds(lambda one, other: one | other, heads, others)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@settings(max_examples=25, deadline=None)
@given(switches, st.integers(0, 1000), st.integers(2, 9), st.data())
@torch.no_grad()
def test_a_future_token_changes_no_earlier_logit(
    chosen: dict[str, object], seed: int, tgt_len: int, data: st.DataObject
) -> None:
    model = tiny_model(seed, **chosen)
    src, tgt = random_batch(seed, batch=2, src_len=5, tgt_len=tgt_len)
    changed = data.draw(st.integers(1, tgt_len - 1))
    other = tgt.clone()
    other[:, changed:] = torch.randint(4, TGT_VOCAB, other[:, changed:].shape)
    torch.testing.assert_close(
        model(src, other)[:, :changed], model(src, tgt)[:, :changed], **CLOSE
    )


@settings(max_examples=25, deadline=None)
@given(switches, st.integers(0, 1000), st.integers(1, 6), st.integers(0, 7), st.integers(0, 7))
@torch.no_grad()
def test_logits_do_not_depend_on_batch_mates(
    chosen: dict[str, object], seed: int, batch: int, more_src: int, more_tgt: int
) -> None:
    model = tiny_model(seed, **chosen)
    src, tgt = random_batch(seed, batch, src_len=6, tgt_len=5)
    together = model(F.pad(src, (0, more_src), value=PAD), F.pad(tgt, (0, more_tgt), value=PAD))
    for row in range(batch):
        src_len, tgt_len = int((src[row] != PAD).sum()), int((tgt[row] != PAD).sum())
        alone = model(src[row : row + 1, :src_len], tgt[row : row + 1, :tgt_len])
        torch.testing.assert_close(together[row, :tgt_len], alone[0], **CLOSE)
