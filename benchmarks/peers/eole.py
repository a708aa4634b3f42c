"""Eole's own training."""

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
                "transforms": [],
            }
        },
        "src_vocab": f"{task.folder}/src.vocab",
        "tgt_vocab": f"{task.folder}/tgt.vocab",
        "src_vocab_size": task.src_vocab,
        "tgt_vocab_size": task.tgt_vocab,
        "seed": 1,
        "model": {
            "architecture": "transformer",
            "hidden_size": task.d_model,
            "transformer_ff": task.d_ff,
            "heads": task.heads,
            "layers": task.layers,
            "share_decoder_embeddings": True,
            "add_qkvbias": True,
            "add_ffnbias": True,
            "embeddings": {
                "word_vec_size": task.d_model,
                "position_encoding_type": "SinusoidalInterleaved",
            },
        },
        "training": {
            "model_path": f"{task.folder}/model",
            "compute_dtype": task.precision,
            "use_amp": True,
            "batch_type": "tokens",
            "normalization": "tokens",
            "batch_size": task.batch_tokens,
            "dropout": [task.dropout],
            "attention_dropout": [0.0],
            "label_smoothing": task.label_smoothing,
            "log_attention_entropy": False,  # a look at each step, which costs time
            "optim": "adam",
            "adam_beta2": 0.98,
            "learning_rate": 2.0,
            "decay_method": "noam",
            "warmup_steps": 4000,
            "max_grad_norm": 1.0,
            "param_init_method": "xavier_uniform",
            "param_init": 0.0,
            "train_steps": 100_000,
            "save_checkpoint_steps": 100_000,
            "valid_steps": 100_000,
        },
    }


def main() -> None:
    """Train until the meter has seen enough."""
    task = Task.read(sys.argv[1])
    file = task.write_config(settings(task))

    from eole.bin.main import main as run
    from eole.trainer import BatchProcessor

    meter = Meter(task, version("eole"))
    process = BatchProcessor.process_batch

    def counted(self: Any, batch: dict[str, Any], *rest: Any) -> Any:
        meter.batch(batch["src"], batch["tgt"][:, 1:], PAD)
        return process(self, batch, *rest)

    BatchProcessor.process_batch = counted
    sys.argv = ["eole", "train", "-config", str(file)]
    run()


if __name__ == "__main__":
    main()
