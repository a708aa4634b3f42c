"""fairseq's own training, its data made binary beforehand."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.peers.meter import Meter
from benchmarks.peers.task import Task

PAD = 1


def preprocess(task: Task, folder: Path) -> None:
    """Write dictionaries and binary data."""
    from fairseq_cli import preprocess as command

    for side in ("src", "tgt"):
        words = "".join(f"{word} 1\n" for word in task.words(side))
        (folder / f"dict.{side}.txt").write_text(words, encoding="utf-8")
    sys.argv = [
        *("fairseq-preprocess", "--source-lang", "src", "--target-lang", "tgt"),
        *("--srcdict", str(folder / "dict.src.txt"), "--tgtdict", str(folder / "dict.tgt.txt")),
        *("--trainpref", f"{task.corpus}/train", "--validpref", f"{task.corpus}/valid"),
        *("--destdir", str(folder / "binary")),
    ]
    command.cli_main()


def arguments(task: Task, folder: Path) -> list[str]:
    """Give the command line of fairseq-train."""
    sizes = [
        argument
        for side in ("encoder", "decoder")
        for name, value in (
            ("embed-dim", task.d_model),
            ("ffn-embed-dim", task.d_ff),
            ("attention-heads", task.heads),
            ("layers", task.layers),
        )
        for argument in (f"--{side}-{name}", str(value))
    ]
    return [
        *("fairseq-train", str(folder / "binary"), "--source-lang", "src", "--target-lang", "tgt"),
        *("--task", "translation", "--arch", "transformer", *sizes, "--cpu"),
        *("--encoder-normalize-before", "--decoder-normalize-before"),
        *("--share-decoder-input-output-embed", "--dropout", str(task.dropout)),
        *("--attention-dropout", "0", "--activation-dropout", "0"),
        *("--criterion", "label_smoothed_cross_entropy"),
        *("--label-smoothing", str(task.label_smoothing), "--optimizer", "adam"),
        *("--adam-betas", "(0.9, 0.98)", "--lr", str(task.learning_rate), "--clip-norm", "1.0"),
        *("--lr-scheduler", "inverse_sqrt", "--warmup-updates", "4000"),
        *("--max-tokens", str(task.batch_tokens), "--max-update", "100000"),
        *(
            "--save-dir",
            str(folder / "saved"),
            "--no-save",
            "--disable-validation",
            "--no-progress-bar",
        ),
    ]


def main() -> None:
    """Train until the meter has seen enough."""
    task = Task.read(sys.argv[1])
    folder = Path(task.folder)
    preprocess(task, folder)

    from fairseq.trainer import Trainer
    from fairseq_cli.train import cli_main

    meter = Meter(task.started_now(), version("fairseq-fixed"))
    step = Trainer.train_step

    def counted(self: Any, samples: list[dict[str, Any]], *rest: Any, **named: Any) -> Any:
        for sample in samples:
            meter.batch(sample["net_input"]["src_tokens"], sample["target"], PAD)
        return step(self, samples, *rest, **named)

    Trainer.train_step = counted
    sys.argv = arguments(task, folder)
    cli_main()


if __name__ == "__main__":
    main()
