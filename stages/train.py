"""Train a Transformer on encoded shards; give it, its curve and its sample translations."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

import hanyi
from hanyi.languages import Languages
from hanyi.metrics.lexical import require_tokenizer
from hanyi.metrics.tokenizers import bleu_tokenizer
from hanyi.model.config import ModelConfig
from hanyi.model.devices import DEVICE_VARIABLE, pick_device, prepare_torch
from hanyi.model.processes import Processes, join
from hanyi.model.storage import load_weights, read_description
from hanyi.model.transformer import Transformer
from hanyi.params import load_section
from hanyi.tracking import Tracker
from hanyi.training.config import TrainConfig
from hanyi.training.corpus import Corpus
from hanyi.training.phases import make_phases
from hanyi.training.publishing import metrics, write_checkpoints, write_curve, write_model
from hanyi.training.report import Reporter
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
from hanyi.training.validation import Validator
from stages.harness import device_option, run, write_metrics
from stages.paths import CHECKPOINTS, CURVES, ENCODED, PREPARED, TOKENIZERS, TRANSFORMER

log = logging.getLogger("hanyi")

ROOMS = ("tokens", "model", "decoding", "metrics", "training")


def main(tracker: Tracker) -> Mapping[str, Any]:
    """Train, from the state of an interrupted run of the same training if there is one."""
    sizes = load_section("model", ModelConfig)
    config = load_section("train", TrainConfig)
    languages = load_section("languages", Languages)
    tokenize = bleu_tokenizer(load_section("score.tokenize", str), languages.tgt)
    require_tokenizer(tokenize)
    device = pick_device()
    prepare_torch()
    with join(device) as processes:
        corpus = Corpus.open(ENCODED, TOKENIZERS, PREPARED)
        model = _model(sizes, config, corpus, device)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        phases = make_phases(corpus.train, config, corpus.segmenter(config.bpe_dropout))
        padding = phases[0].data.padding()
        validator = Validator(
            corpus.valid,
            corpus.texts(),
            corpus.tgt,
            config=config,
            tokenize=tokenize,
            device=device,
            processes=processes,
        )
        what = _identity(sizes, config, tokenize, corpus, device)
        processes.require_same(fingerprint(what), "train")
        state = StateFolder(state_root() / fingerprint(what))
        reporter = Reporter(tracker.metrics, padding)
        trainer = Trainer(
            model,
            phases,
            validator,
            state,
            config=config,
            reporter=reporter,
            processes=processes,
        )
        steps = sum(phase.steps for phase in phases)
        log.info("%d parameters, %d updates at most, on %s", parameters, steps, device)
        with _held(state, {**what, "steps": steps}) if processes.first else nullcontext():
            outcome = _run(trainer, reporter, processes)
            measured = metrics(outcome, padding, parameters)
            if processes.first:
                for path in write_curve(CURVES, outcome):
                    tracker.artifact(path)
                write_checkpoints(CHECKPOINTS, model, corpus.train, outcome)
                write_model(TRANSFORMER, model, corpus.train, outcome)
                # While there is a state to go on from, should it fail.
                write_metrics("train", measured)
                state.remove()
    return measured


def _model(
    sizes: ModelConfig, config: TrainConfig, corpus: Corpus, device: torch.device
) -> Transformer:
    digests = corpus.src.digest, corpus.tgt.digest
    sizes.require_one_vocabulary(*digests)
    torch.manual_seed(config.seed)
    model = Transformer(sizes, corpus.train.src_vocab, corpus.train.tgt_vocab)
    if config.init is not None:
        load_weights(Path(config.init), model, *digests)
    return model.to(device)


def _identity(
    sizes: ModelConfig, config: TrainConfig, tokenize: str, corpus: Corpus, device: torch.device
) -> dict[str, Any]:
    """Give all that decides how the training goes."""
    library = Path(hanyi.__file__).parent
    return {
        "sections": {"model": dataclasses.asdict(sizes), "train": dataclasses.asdict(config)},
        "tokenize": tokenize,
        **corpus.digests(),
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


def _run(trainer: Trainer, reporter: Reporter, processes: Processes) -> Outcome:
    shown = reporter.shown() if processes.first else nullcontext()
    with shown, stop_signals() as stop:
        try:
            return trainer.run(stop)
        except Interrupted:
            if processes.first:
                log.warning("interrupted; the state is saved, and the next run goes on from it")
            raise SystemExit(EXIT_INTERRUPTED) from None


if __name__ == "__main__":
    device_option(__doc__, DEVICE_VARIABLE, FRESH_VARIABLE)
    run("train", main, lambda: 1)
