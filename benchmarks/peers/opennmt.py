"""OpenNMT-py's own training."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any

from benchmarks.peers.meter import Meter
from benchmarks.peers.task import Task

SPECIALS = ("<unk>", "<blank>", "<s>", "</s>")
PAD = 1


def settings(task: Task) -> dict[str, Any]:
    """Give the configuration."""
    task.write_vocabularies(SPECIALS)
    return {
        "data": {
            "race": {
                "path_src": f"{task.corpus}/train.src",
                "path_tgt": f"{task.corpus}/train.tgt",
                "weight": 1,
            }
        },
        "src_vocab": f"{task.folder}/src.vocab",
        "tgt_vocab": f"{task.folder}/tgt.vocab",
        "src_vocab_size": task.src_vocab,
        "tgt_vocab_size": task.tgt_vocab,
        "save_model": f"{task.folder}/model",
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "position_encoding": True,
        "hidden_size": task.d_model,
        "word_vec_size": task.d_model,
        "transformer_ff": task.d_ff,
        "heads": task.heads,
        "layers": task.layers,
        "share_decoder_embeddings": True,
        "dropout": [task.dropout],
        "attention_dropout": [0.0],
        "label_smoothing": task.label_smoothing,
        "optim": "adam",
        "adam_beta2": 0.98,
        "learning_rate": 2.0,
        "decay_method": "noam",
        "warmup_steps": 4000,
        "max_grad_norm": 1.0,
        "param_init": 0.0,
        "param_init_glorot": True,
        "batch_type": "tokens",
        "normalization": "tokens",
        "batch_size": task.batch_tokens,
        "train_steps": 100_000,
        "save_checkpoint_steps": 100_000,
        "valid_steps": 100_000,
        "model_dtype": "fp32",
    }


def main() -> None:
    """Train until the meter has seen enough."""
    task = Task.read(sys.argv[1])
    file = task.write_config(settings(task))

    from onmt.bin.train import main as train
    from onmt.trainer import Trainer

    meter = Meter(task, version("opennmt-py"))
    step = Trainer._gradient_accumulation

    def counted(self: Any, batches: list[dict[str, Any]], *rest: Any) -> Any:
        for batch in batches:
            meter.batch(batch["src"][:, :, 0], batch["tgt"][:, 1:, 0], PAD)
        return step(self, batches, *rest)

    Trainer._gradient_accumulation = counted
    sys.argv = ["onmt_train", "-config", str(file)]
    train()


if __name__ == "__main__":
    main()
