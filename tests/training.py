"""A tiny language pair to train on: words whose translation is one to one, in two corpora."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from ruamel.yaml import YAML

from hanyi.model.config import ModelConfig
from hanyi.model.processes import ALONE, Processes
from hanyi.model.transformer import Transformer
from hanyi.params import parse
from hanyi.tokens.bpe import BpeConfig, Tokenizer, train_tokenizer
from hanyi.tokens.encoding import EncodeConfig, Pair, encode_split
from hanyi.tokens.shards import EncodedSplit
from hanyi.training.config import TrainConfig
from hanyi.training.phases import make_phases
from hanyi.training.report import Reporter
from hanyi.training.segments import Segmenter
from hanyi.training.state import StateFolder
from hanyi.training.trainer import Trainer
from hanyi.training.validation import Text, Validator

WORDS = {
    "猫": "cat", "狗": "dog", "鱼": "fish", "鸟": "bird", "水": "water", "火": "fire",
    "山": "hill", "人": "man", "书": "book", "手": "hand",
}  # fmt: skip
CORPORA = ("alpha", "beta")
CPU = torch.device("cpu")

MODEL: dict[str, Any] = {
    "d_model": 16, "heads": 2, "key_value_heads": None, "d_ff": 32, "layers": 1,
    "decoder_layers": None, "dropout": 0.1, "attention_dropout": 0.0, "activation": "relu",
    "norm": "pre", "norm_type": "layer_norm", "positions": "interleaved", "attention": "auto",
    "embedding_std": None, "tie": "output",
}  # fmt: skip
TRAIN: dict[str, Any] = {
    "init": None, "seed": 1, "batch_tokens": 60, "accumulate": 1, "max_steps": 12,
    "max_epochs": None,
    "schedule": "inverse_sqrt", "learning_rate": 0.01, "warmup": 4, "betas": [0.9, 0.98],
    "weight_decay": 0.01, "clip": 1.0, "label_smoothing": 0.1, "validate_every": 4,
    "save_every": 3, "validate_rows": 6, "select": "loss", "patience": 0, "average": 2,
    "precision": "fp32", "bpe_dropout": 0.0, "r_drop": 0.0, "spike": 0.0, "ema": 0.0,
    "finetune": {"max_steps": 0, "weights": {}, "learning_rate": 0.001, "warmup": 0},
}  # fmt: skip
LANGUAGES = {"src": "zh", "tgt": "en"}
SCORE = {"tokenize": "auto"}


def model_config(**changes: object) -> ModelConfig:
    """Give a tiny model section."""
    return parse("model", ModelConfig, {**MODEL, **changes})


def train_config(**changes: object) -> TrainConfig:
    """Give a train section of a few updates."""
    return parse("train", TrainConfig, {**TRAIN, **changes})


def pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Give pairs of 1 to 6 words."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(list(WORDS), rng.integers(1, 7)).tolist() for _ in range(count)]
    return [("".join(words), " ".join(WORDS[word] for word in words)) for words in drawn]


def make_corpus(
    root: Path, train: int = 40, valid: int = 8, weights: tuple[float, float] = (1.0, 1.0)
) -> Path:
    """Write prepared, tokenizers and encoded below `root`, as the stages before train do."""
    frames = {}
    for number, (name, count) in enumerate({"train": train, "valid": valid}.items()):
        frame = pd.DataFrame(pairs(count, seed=number), columns=["src", "tgt"])
        frame.insert(0, "id", range(1000 * number, 1000 * number + count))
        frame.insert(1, "corpus", [CORPORA[row % 3 == 0] for row in range(count)])
        frames[name] = root / f"data/prepared/{name}.parquet"
        frames[name].parent.mkdir(parents=True, exist_ok=True)
        frame.to_parquet(frames[name], index=False)
    bpe = BpeConfig(vocab=270, max_word_chars=8, max_digits=64)
    text = list(zip(*pairs(400, seed=9), strict=True))
    tokenizers = Pair(train_tokenizer(text[0], bpe), train_tokenizer(text[1], bpe))
    tokenizers.src.save(root / "models/tokenizers/src.json")
    tokenizers.tgt.save(root / "models/tokenizers/tgt.json")
    settings = EncodeConfig(max_tokens=50, over_long="drop", shard_rows=1000)
    for name, file in frames.items():
        directory = root / "data/encoded" / name
        directory.mkdir(parents=True)
        weighed = dict(zip(CORPORA, weights, strict=True))
        encode_split(file, directory, tokenizers, weighed, settings)
    write_params(root)
    return root


def write_params(root: Path, **train: object) -> None:
    """Write the sections that train reads."""
    sections = {"languages": LANGUAGES, "score": SCORE, "model": MODEL, "train": {**TRAIN, **train}}
    with (root / "params.yaml").open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(sections, file)


def make_trainer(
    root: Path,
    state: Path,
    model: dict[str, Any] | None = None,
    processes: Processes = ALONE,
    **train: Any,
) -> Trainer:
    """Give a fresh trainer on the corpus below `root`, for one of several processes."""
    config = train_config(**train)
    split = EncodedSplit.open(root / "data/encoded/train")
    torch.manual_seed(config.seed)
    network = Transformer(model_config(**(model or {})), split.src_vocab, split.tgt_vocab)
    return Trainer(
        network,
        make_phases(split, config, make_segmenter(root, config)),
        make_validator(root, config, processes=processes),
        StateFolder(state),
        config=config,
        reporter=Reporter(lambda values, step: None, padding=0.0),
        processes=processes,
    )


def make_segmenter(root: Path, config: TrainConfig) -> Segmenter | None:
    """Give what BPE-dropout asks for."""
    if not config.bpe_dropout:
        return None
    sides = (Tokenizer.load(root / f"models/tokenizers/{side}.json") for side in ("src", "tgt"))
    return Segmenter(*sides, config.bpe_dropout)


def make_validator(
    root: Path, config: TrainConfig, name: str = "valid", processes: Processes = ALONE
) -> Validator:
    """Give a validator of one split."""
    frame = pd.read_parquet(root / f"data/prepared/{name}.parquet")
    texts = {row.id: Text(row.src, row.tgt) for row in frame.itertuples()}
    return Validator(
        EncodedSplit.open(root / "data/encoded" / name),
        texts,
        Tokenizer.load(root / "models/tokenizers/tgt.json"),
        config=config,
        tokenize="13a",
        device=CPU,
        processes=processes,
    )


def in_child(work: Callable[[], object]) -> int:
    """Run `work` in a forked process; give its exit code, or minus the signal that killed it."""
    return wait_for(start_child(work))


def start_child(work: Callable[[], object]) -> int:
    """Begin `work` in a forked process; give its number."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            work()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 71
        except BaseException:  # noqa: BLE001  a test must never go on in the child
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def wait_for(child: int) -> int:
    """Give the exit code of a forked process, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def die() -> None:
    """Kill this very process as the system would."""
    os.kill(os.getpid(), signal.SIGKILL)
