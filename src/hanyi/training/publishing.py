"""What a training leaves behind: the model, the best checkpoint by each criterion, the curve."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hanyi.artifacts import atomic_directory
from hanyi.model.storage import save_model
from hanyi.model.transformer import Transformer
from hanyi.tokens.shards import EncodedSplit
from hanyi.training.averages import Weights, set_weights
from hanyi.training.curve import write_csv, write_picture, write_samples
from hanyi.training.trainer import Outcome


def write_curve(target: Path, outcome: Outcome) -> list[Path]:
    """Publish the learning curve as a table, a picture and sample translations; give the files."""
    history = outcome.progress.history
    with atomic_directory(target) as directory:
        write_csv(directory / "curve.csv", history)
        write_picture(directory / "curve.png", history, outcome.chosen.step)
        write_samples(directory / "samples.md", history)
    return [target / name for name in ("curve.csv", "curve.png", "samples.md")]


def write_checkpoints(
    target: Path, model: Transformer, train: EncodedSplit, outcome: Outcome
) -> None:
    """Publish the best checkpoint by each criterion as a model of its own, in a folder so named."""
    with atomic_directory(target) as directory:
        for criterion, checkpoint in outcome.progress.best.items():
            (directory / criterion).mkdir()
            _save(directory / criterion, model, train, checkpoint.weights)


def write_model(target: Path, model: Transformer, train: EncodedSplit, outcome: Outcome) -> None:
    """Publish the chosen model."""
    with atomic_directory(target) as directory:
        _save(directory, model, train, outcome.chosen.weights)


def metrics(outcome: Outcome, padding: float, parameters: int) -> Mapping[str, Any]:
    """Give what `metrics/train.json` holds."""
    progress, best = outcome.progress, outcome.chosen.evaluation
    return {
        "parameters": parameters,
        "steps": progress.step,
        "epochs": progress.epochs,
        "padding": padding,
        "skipped": progress.skipped,
        "stopped_early": progress.early > 0,
        "best": {
            "step": outcome.chosen.step,
            "averaged": outcome.averaged,
            "loss": best.loss,
            "perplexity": best.perplexity,
            **best.scores,
            "corpora": best.corpora,
        },
    }


def _save(directory: Path, model: Transformer, train: EncodedSplit, weights: Weights) -> None:
    set_weights(model, weights)
    save_model(
        directory,
        model,
        src_tokenizer=train.src_tokenizer,
        tgt_tokenizer=train.tgt_tokenizer,
        max_tokens=int(train.index["max_tokens"]),
    )
