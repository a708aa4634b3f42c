"""The loop that tutorials teach: 32 shuffled sentences a batch, PyTorch's modules, Noam's rate."""

from __future__ import annotations

import math
import sys

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from benchmarks.peers.meter import Meter
from benchmarks.peers.task import Task

PAD, BOS, EOS = 0, 2, 3
SENTENCES = 32
WARM_UP = 4000  # updates
Pair = tuple[list[int], list[int]]


class Translator(nn.Module):
    """Embeddings, sinusoids and `nn.Transformer`."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.scale = math.sqrt(task.d_model)
        self.src = nn.Embedding(task.src_vocab, task.d_model, padding_idx=PAD)
        self.tgt = nn.Embedding(task.tgt_vocab, task.d_model, padding_idx=PAD)
        self.register_buffer("positions", sinusoids(512, task.d_model))
        self.dropout = nn.Dropout(task.dropout)
        self.transformer = nn.Transformer(
            task.d_model,
            task.heads,
            task.layers,
            task.layers,
            task.d_ff,
            task.dropout,
            batch_first=True,
        )
        self.output = nn.Linear(task.d_model, task.tgt_vocab)

    def embed(self, table: nn.Embedding, ids: Tensor) -> Tensor:
        """Give `[batch, length, d_model]`."""
        return self.dropout(table(ids) * self.scale + self.positions[: ids.shape[1]])

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Give logits `[batch, tgt_len, tgt_vocab]`."""
        length = tgt.shape[1]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        hidden = self.transformer(
            self.embed(self.src, src),
            self.embed(self.tgt, tgt),
            tgt_mask=future,
            src_key_padding_mask=src == PAD,
            tgt_key_padding_mask=tgt == PAD,
            memory_key_padding_mask=src == PAD,
        )
        return self.output(hidden)


def sinusoids(length: int, width: int) -> Tensor:
    """Give `[length, width]` (Vaswani et al. 2017, 3.5)."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    angles = torch.arange(length)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)


def collate(pairs: list[Pair]) -> tuple[Tensor, Tensor]:
    """Fill up with PAD."""
    src = [torch.tensor([*src, EOS]) for src, _ in pairs]
    tgt = [torch.tensor([BOS, *tgt, EOS]) for _, tgt in pairs]
    return (
        pad_sequence(src, batch_first=True, padding_value=PAD),
        pad_sequence(tgt, batch_first=True, padding_value=PAD),
    )


def noam(task: Task, step: int) -> float:
    """Give the learning rate (Vaswani et al. 2017, 5.3)."""
    return task.d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * WARM_UP**-1.5)


def main() -> None:
    """Train until the meter has seen enough."""
    task = Task.read(sys.argv[1])
    meter = Meter(task, torch.__version__)
    torch.manual_seed(1)
    pairs = list(zip(task.lines("train.src"), task.lines("train.tgt"), strict=True))
    loader = DataLoader(pairs, SENTENCES, shuffle=True, collate_fn=collate)
    model = Translator(task)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: noam(task, step))
    while True:
        for src, tgt in loader:
            meter.batch(src, tgt[:, 1:], PAD)
            with torch.autocast("cpu", torch.bfloat16, enabled=task.precision == "bf16"):
                logits = model(src, tgt[:, :-1])
                loss = F.cross_entropy(
                    logits.flatten(0, 1),
                    tgt[:, 1:].flatten(),
                    ignore_index=PAD,
                    label_smoothing=task.label_smoothing,
                )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


if __name__ == "__main__":
    main()
