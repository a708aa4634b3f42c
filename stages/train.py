"""Train a Transformer on encoded shards; give it, its curve and its sample translations."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import hanyi
from hanyi.artifacts import atomic_directory
from hanyi.model.config import ModelConfig
from hanyi.model.devices import DEVICE_VARIABLE, pick_device, prepare_torch
from hanyi.model.processes import join
from hanyi.model.storage import load_weights, read_description, save_model
from hanyi.model.transformer import Transformer
from hanyi.params import load_section
from hanyi.scoring.metrics import ScoreConfig
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.prepared import digest_parts, read_blocks
from hanyi.tokens.shards import EncodedSplit
from hanyi.tracking import Tracker
from hanyi.training.averages import Weights, set_weights
from hanyi.training.config import TrainConfig
from hanyi.training.curve import write_csv, write_picture, write_samples
from hanyi.training.phases import make_phases
from hanyi.training.report import Reporter
from hanyi.training.segments import Segmenter
from hanyi.training.signals import EXIT_INTERRUPTED, stop_signals
from hanyi.training.state import (
    FRESH_VARIABLE,
    StateFolder,
    code_digest,
    fingerprint,
    fresh_wanted,
    state_root,
)
from hanyi.training.trainer import Interrupted, Outcome, Trainer
from hanyi.training.validation import Text, Validator
from stages.harness import device_option, run, write_metrics
from stages.paths import CHECKPOINTS, CURVES, ENCODED, PREPARED, TOKENIZERS, TRANSFORMER

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
    with join(device) as processes:
        corpus = _open()
        model = _model(sizes, config, corpus.train, device)
        phases = make_phases(corpus.train, config, corpus.segmenter(config.bpe_dropout))
        padding = phases[0].data.padding()
        texts = _texts(VALID)
        validator = Validator(
            corpus.valid,
            texts,
            corpus.tgt,
            config=config,
            score=score,
            device=device,
            processes=processes,
        )
        what = _identity(sizes, config, score, corpus, device)
        processes.require_same(fingerprint(what), "train")
        state = StateFolder(state_root() / fingerprint(what))
        parameters = sum(parameter.numel() for parameter in model.parameters())
        steps = sum(phase.steps for phase in phases)
        log.info("%d parameters, %d updates at most, on %s", parameters, steps, device)
        what |= {"steps": steps}
        reporter = Reporter(tracker.metrics, padding)
        with (
            _held(state, what) if processes.first else nullcontext(),
            reporter.shown() if processes.first else nullcontext(),
            stop_signals() as stop,
        ):
            trainer = Trainer(
                model,
                phases,
                validator,
                state,
                config=config,
                reporter=reporter,
                processes=processes,
            )
            try:
                outcome = trainer.run(stop)
            except Interrupted:
                if processes.first:
                    log.warning("interrupted; the state is saved, and the next run goes on from it")
                raise SystemExit(EXIT_INTERRUPTED) from None
            metrics = _metrics(outcome, padding, parameters)
            if processes.first:
                _publish(model, corpus.train, outcome, tracker)
                write_metrics("train", metrics)  # while there is a state to go on from, if it fails
                state.remove()
    return metrics


@dataclass(frozen=True, slots=True)
class Corpus:
    """The encoded splits and the tokenizers that made them."""

    train: EncodedSplit
    valid: EncodedSplit
    src: Tokenizer
    tgt: Tokenizer

    def segmenter(self, probability: float) -> Segmenter | None:
        """Give what segments sentences anew, None without BPE-dropout."""
        return Segmenter(self.src, self.tgt, probability) if probability else None


def _open() -> Corpus:
    src = Tokenizer.load(TOKENIZERS / "src.json")
    tgt = Tokenizer.load(TOKENIZERS / "tgt.json")
    splits = []
    for name in ("train", "valid"):
        split = EncodedSplit.open(ENCODED / name)
        split.require_tokenizers(src.digest, tgt.digest)
        splits.append(split)
    return Corpus(splits[0], splits[1], src, tgt)


def _model(
    sizes: ModelConfig, config: TrainConfig, train: EncodedSplit, device: torch.device
) -> Transformer:
    sizes.require_one_vocabulary(train.src_tokenizer, train.tgt_tokenizer)
    torch.manual_seed(config.seed)
    model = Transformer(sizes, train.src_vocab, train.tgt_vocab)
    if config.init is not None:
        load_weights(Path(config.init), model, train.src_tokenizer, train.tgt_tokenizer)
    return model.to(device)


def _texts(path: Path) -> dict[int, Text]:
    return {
        number: Text(src, tgt)
        for block in read_blocks(path, ["id", "src", "tgt"])
        for number, src, tgt in zip(*(column.to_pylist() for column in block.columns), strict=True)
    }


def _identity(
    sizes: ModelConfig,
    config: TrainConfig,
    score: ScoreConfig,
    corpus: Corpus,
    device: torch.device,
) -> dict[str, Any]:
    """Give all that decides how the training goes."""
    library = Path(hanyi.__file__).parent
    return {
        "sections": {
            "model": dataclasses.asdict(sizes),
            "train": dataclasses.asdict(config),
            "score": dataclasses.asdict(score),
        },
        "encoded": [corpus.train.digest, corpus.valid.digest],
        "references": digest_parts(VALID),
        "init": config.init and read_description(Path(config.init)).weights,
        "code": code_digest([*(library / room for room in ROOMS), Path(__file__)]),
        "torch": torch.__version__,
        "device": device.type,
    }


@contextmanager
def _held(state: StateFolder, what: dict[str, Any]) -> Iterator[None]:
    """Hold the state of a training; what was saved goes if training is to begin anew."""
    with state.locked():
        state.describe(what)
        if fresh_wanted():
            state.clear()
        yield


def _publish(model: Transformer, train: EncodedSplit, outcome: Outcome, tracker: Tracker) -> None:
    history = outcome.progress.history
    with atomic_directory(CURVES) as directory:
        write_csv(directory / "curve.csv", history)
        write_picture(directory / "curve.png", history, outcome.step)
        write_samples(directory / "samples.md", history)
    with atomic_directory(CHECKPOINTS) as directory:
        for criterion, checkpoint in outcome.progress.best.items():
            (directory / criterion).mkdir()
            _save(directory / criterion, model, train, checkpoint.weights)
    with atomic_directory(TRANSFORMER) as directory:
        _save(directory, model, train, outcome.weights)
    for name in ("curve.csv", "curve.png", "samples.md"):
        tracker.artifact(CURVES / name)


def _save(directory: Path, model: Transformer, train: EncodedSplit, weights: Weights) -> None:
    set_weights(model, weights)
    save_model(
        directory,
        model,
        src_tokenizer=train.src_tokenizer,
        tgt_tokenizer=train.tgt_tokenizer,
        max_tokens=int(train.index["max_tokens"]),
    )


def _metrics(outcome: Outcome, padding: float, parameters: int) -> dict[str, Any]:
    progress, best = outcome.progress, outcome.best
    return {
        "parameters": parameters,
        "steps": progress.step,
        "epochs": progress.epoch + 1,
        "padding": padding,
        "skipped": progress.skipped,
        "stopped_early": progress.early > 0,
        "best": {
            "step": outcome.step,
            "averaged": outcome.averaged,
            "loss": best.loss,
            "perplexity": best.perplexity,
            **best.scores,
            "corpora": best.corpora,
        },
    }


if __name__ == "__main__":
    device_option(__doc__, DEVICE_VARIABLE, FRESH_VARIABLE)
    run("train", main, lambda: 1)
