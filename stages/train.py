"""Train a Transformer on encoded shards; give it, its curve and its sample translations."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any

import torch

import hanyi
from hanyi.artifacts import atomic_directory
from hanyi.model.config import ModelConfig
from hanyi.model.devices import DEVICE_VARIABLE, pick_device, prepare_torch
from hanyi.model.storage import save_model
from hanyi.model.transformer import Transformer
from hanyi.params import load_section
from hanyi.scoring.metrics import ScoreConfig
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.prepared import digest_parts, read_blocks
from hanyi.tokens.shards import EncodedSplit
from hanyi.tracking import Tracker
from hanyi.training.config import TrainConfig
from hanyi.training.curve import write_csv, write_picture, write_samples
from hanyi.training.data import TrainingData
from hanyi.training.report import Reporter
from hanyi.training.signals import EXIT_INTERRUPTED, stop_signals
from hanyi.training.state import StateFolder, code_digest, fingerprint, state_root
from hanyi.training.trainer import Interrupted, Outcome, Trainer
from hanyi.training.validation import Text, Validator
from stages.harness import device_option, run
from stages.paths import CURVES, ENCODED, PREPARED, TOKENIZERS, TRANSFORMER

log = logging.getLogger("hanyi")

ROOMS = ("tokens", "model", "decoding", "scoring", "training")
VALID = PREPARED / "valid.parquet"


def main(tracker: Tracker) -> dict[str, Any]:
    """Train, from the state of an interrupted run of the same training if there is one."""
    sizes = load_section("model", ModelConfig)
    config = load_section("train", TrainConfig)
    score = load_section("score", ScoreConfig)
    device = pick_device()
    prepare_torch()
    train, valid, tokenizer = _open()
    torch.manual_seed(config.seed)
    model = Transformer(sizes, train.src_vocab, train.tgt_vocab).to(device)
    data = TrainingData(train, config)
    reporter = Reporter(tracker.metrics, data.padding())
    validator = Validator(
        valid, _texts(VALID), tokenizer, config=config, score=score, device=device
    )
    settings = [dataclasses.asdict(section) for section in (sizes, config, score)]
    state = StateFolder(state_root() / _fingerprint(settings, train, valid, device))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    log.info("%d parameters, %d updates at most, on %s", parameters, data.steps(), device)
    with state.locked(), stop_signals() as stop:
        trainer = Trainer(model, data, validator, state, config=config, reporter=reporter)
        try:
            outcome = trainer.run(stop)
        except Interrupted:
            log.warning("interrupted; the state is saved, and the next run goes on from it")
            raise SystemExit(EXIT_INTERRUPTED) from None
        _publish(model, train, outcome, tracker)
        state.remove()
    return _metrics(outcome, data, parameters)


def _open() -> tuple[EncodedSplit, EncodedSplit, Tokenizer]:
    src = Tokenizer.load(TOKENIZERS / "src.json")
    tgt = Tokenizer.load(TOKENIZERS / "tgt.json")
    splits = []
    for name in ("train", "valid"):
        split = EncodedSplit.open(ENCODED / name)
        split.require_tokenizers(src.digest, tgt.digest)
        splits.append(split)
    return splits[0], splits[1], tgt


def _texts(path: Path) -> dict[int, Text]:
    return {
        number: Text(src, tgt)
        for block in read_blocks(path, ["id", "src", "tgt"])
        for number, src, tgt in zip(*(column.to_pylist() for column in block.columns), strict=True)
    }


def _fingerprint(
    settings: list[dict[str, Any]], train: EncodedSplit, valid: EncodedSplit, device: torch.device
) -> str:
    library = Path(hanyi.__file__).parent
    return fingerprint(
        {
            "settings": settings,
            "encoded": [train.digest, valid.digest],
            "references": digest_parts(VALID),
            "code": code_digest([*(library / room for room in ROOMS), Path(__file__)]),
            "torch": torch.__version__,
            "device": device.type,
        }
    )


def _publish(model: Transformer, train: EncodedSplit, outcome: Outcome, tracker: Tracker) -> None:
    history = outcome.progress.history
    with atomic_directory(CURVES) as directory:
        write_csv(directory / "curve.csv", history)
        write_picture(directory / "curve.png", history, outcome.progress.best_step)
        write_samples(directory / "samples.md", history)
    with atomic_directory(TRANSFORMER) as directory:
        save_model(
            directory,
            model,
            src_tokenizer=train.src_tokenizer,
            tgt_tokenizer=train.tgt_tokenizer,
            max_tokens=int(train.index["max_tokens"]),
        )
    for name in ("curve.csv", "curve.png", "samples.md"):
        tracker.artifact(CURVES / name)


def _metrics(outcome: Outcome, data: TrainingData, parameters: int) -> dict[str, Any]:
    progress, best = outcome.progress, outcome.best
    return {
        "parameters": parameters,
        "steps": progress.step,
        "epochs": progress.epoch + 1,
        "padding": data.padding(),
        "stopped_early": outcome.stopped_early,
        "best": {
            "step": progress.best_step,
            "averaged": outcome.averaged,
            "loss": best.loss,
            "perplexity": best.perplexity,
            **best.scores,
            "corpora": best.corpora,
        },
    }


if __name__ == "__main__":
    device_option(__doc__, DEVICE_VARIABLE)
    run("train", main)
