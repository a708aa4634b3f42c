"""JoeyNMT's own training."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any

from benchmarks.peers.meter import Meter
from benchmarks.peers.task import Task

SPECIALS = ("<unk>", "<pad>", "<s>", "</s>")
PAD = 1


def settings(task: Task) -> dict[str, Any]:
    """Give the configuration."""
    task.write_vocabularies(SPECIALS)
    stack = {
        "type": "transformer",
        "num_layers": task.layers,
        "num_heads": task.heads,
        "embeddings": {"embedding_dim": task.d_model, "scale": True, "dropout": 0.0},
        "hidden_size": task.d_model,
        "ff_size": task.d_ff,
        "dropout": task.dropout,
        "layer_norm": "pre",
    }
    side = {"level": "word", "max_length": 200}
    return {
        "name": "race",
        "joeynmt_version": version("joeynmt"),
        "model_dir": f"{task.folder}/model",
        "use_cuda": False,
        "fp16": False,
        "data": {
            "train": f"{task.corpus}/train",
            "dev": f"{task.corpus}/valid",
            "dataset_type": "plain",
            "src": {**side, "lang": "src", "voc_file": f"{task.folder}/src.vocab"},
            "trg": {**side, "lang": "tgt", "voc_file": f"{task.folder}/tgt.vocab"},
        },
        "testing": {
            "beam_size": 1,
            "batch_size": 64,
            "batch_type": "sentence",
            "eval_metrics": ["bleu"],
        },
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "learning_rate": task.learning_rate,
            "scheduling": "warmupinversesquareroot",
            "learning_rate_warmup": 4000,
            "clip_grad_norm": 1.0,
            "label_smoothing": task.label_smoothing,
            "batch_type": "token",
            "batch_size": task.batch_tokens,
            "normalization": "tokens",
            "loss": "crossentropy",
            "epochs": 1000,
            "validation_freq": 1_000_000,
            "logging_freq": 100,
        },
        "model": {
            "initializer": "xavier_uniform",
            "tied_embeddings": False,
            "tied_softmax": True,
            "encoder": stack,
            "decoder": stack,
        },
    }


def main() -> None:
    """Train until the meter has seen enough."""
    task = Task.read(sys.argv[1])
    file = task.write_config(settings(task))

    from joeynmt.__main__ import main as train
    from joeynmt.training import TrainManager

    meter = Meter(task, version("joeynmt"))
    step = TrainManager._train_step

    def counted(self: Any, batch: Any) -> Any:
        meter.batch(batch.src, batch.trg, PAD)
        return step(self, batch)

    TrainManager._train_step = counted
    sys.argv = ["joeynmt", "train", str(file), "--skip-test"]
    train()


if __name__ == "__main__":
    main()
