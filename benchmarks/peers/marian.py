"""The Marian model of Hugging Face with its trainer, fed with batches of like lengths."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset
from transformers import MarianConfig, MarianMTModel, Seq2SeqTrainer, Seq2SeqTrainingArguments

from benchmarks.peers.meter import Meter
from benchmarks.peers.task import Handed, Task

PAD, EOS = 0, 3
IGNORED = -100


class Batches(Dataset[dict[str, Tensor]]):
    """Sentences sorted by length and cut by a budget of padded tokens; one item is a batch."""

    def __init__(self, task: Task) -> None:
        pairs = list(zip(task.lines("train.src"), task.lines("train.tgt"), strict=True))
        random.Random(1).shuffle(pairs)
        pairs.sort(key=lambda pair: (len(pair[0]), len(pair[1])))
        self.batches: list[list[tuple[list[int], list[int]]]] = [[]]
        longest = 0
        for pair in pairs:
            longest = max(longest, len(pair[0]) + 1, len(pair[1]) + 1)
            if longest * (len(self.batches[-1]) + 1) > task.batch_tokens:
                self.batches.append([])
                longest = max(map(len, pair)) + 1
            self.batches[-1].append(pair)

    def __len__(self) -> int:
        """Give the number of batches."""
        return len(self.batches)

    def __getitem__(self, number: int) -> dict[str, Tensor]:
        """Give one batch."""
        src = [torch.tensor([*src, EOS]) for src, _ in self.batches[number]]
        tgt = [torch.tensor([*tgt, EOS]) for _, tgt in self.batches[number]]
        ids = pad_sequence(src, batch_first=True, padding_value=PAD)
        labels = pad_sequence(tgt, batch_first=True, padding_value=IGNORED)
        shifted = F.pad(labels[:, :-1].clamp(min=PAD), (1, 0), value=PAD)
        return {
            "input_ids": ids,
            "attention_mask": (ids != PAD).long(),
            "decoder_input_ids": shifted,
            "labels": labels,
        }


def sides(task: Handed) -> dict[str, int]:
    """Give the sizes of encoder and decoder by their names in a configuration."""
    return {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (
            ("layers", task.layers),
            ("ffn_dim", task.d_ff),
            ("attention_heads", task.heads),
        )
    }


def model(task: Task) -> MarianMTModel:
    """Give a new model."""
    return MarianMTModel(
        MarianConfig(
            vocab_size=task.src_vocab,
            decoder_vocab_size=task.tgt_vocab,
            share_encoder_decoder_embeddings=False,
            d_model=task.d_model,
            dropout=task.dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            activation_function="relu",
            max_position_embeddings=512,
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=PAD,
            forced_eos_token_id=EOS,
            **sides(task),
        )
    )


class Counted(Seq2SeqTrainer):
    """The trainer as it is, with its batches counted."""

    meter: Meter

    def training_step(self, model: Any, inputs: dict[str, Tensor], *rest: Any) -> Tensor:
        """Count, then do what the trainer does."""
        self.meter.batch(inputs["input_ids"], inputs["labels"], PAD, IGNORED)
        return super().training_step(model, inputs, *rest)


def main() -> None:
    """Train until the meter has seen enough."""
    task = Task.read(sys.argv[1])
    arguments = Seq2SeqTrainingArguments(
        output_dir=str(Path(task.folder, "saved")),
        use_cpu=True,
        per_device_train_batch_size=1,  # an item is a batch
        max_steps=100_000,
        learning_rate=task.learning_rate,
        warmup_steps=4000,
        adam_beta2=0.98,
        max_grad_norm=1.0,
        label_smoothing_factor=task.label_smoothing,
        bf16=task.precision == "bf16",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    trainer = Counted(
        model=model(task),
        args=arguments,
        train_dataset=Batches(task),
        data_collator=lambda items: items[0],
    )
    trainer.meter = Meter(task, transformers.__version__)
    trainer.train()


if __name__ == "__main__":
    main()
