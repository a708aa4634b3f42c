from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional as F

from hanyi.errors import ArtifactError
from hanyi.metrics.lexical import QUICK, score_all
from hanyi.model.processes import Processes
from hanyi.tokens.batches import collate
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.vocab import PAD
from hanyi.training.trainer import Trainer
from hanyi.training.validation import GREEDY, Evaluation, Validator, translate_ids
from tests.processes import in_processes
from tests.training import CPU, make_corpus, make_trainer, make_validator, train_config


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    root = make_corpus(tmp_path_factory.mktemp("corpus"))
    trainer = make_trainer(root, root / "state", max_steps=30, validate_every=30)
    trainer.run()
    return trainer


def test_loss_and_perplexity_are_means_over_all_target_tokens(trainer: Trainer) -> None:
    split, model = trainer.validate.split, trainer.model.eval()
    smoothed = nll = tokens = 0.0
    for row in range(split.rows):
        batch = collate(split, np.array([row]))
        src, tgt_in, tgt_out = map(torch.from_numpy, batch[:3])
        logits = model(src, tgt_in)[0]
        assert PAD not in tgt_out
        smoothed += F.cross_entropy(logits, tgt_out[0], label_smoothing=0.1, reduction="sum").item()
        nll += F.cross_entropy(logits, tgt_out[0], reduction="sum").item()
        tokens += tgt_out.numel()
    found = trainer.validate(model, None)
    assert found.loss == pytest.approx(smoothed / tokens, rel=1e-5)
    assert found.perplexity == pytest.approx(math.exp(nll / tokens), rel=1e-5)
    assert found.value("loss") == found.loss
    assert found.value("chrf") == found.scores["chrf"]


def test_scores_are_those_of_greedy_translations_against_the_prepared_text(
    trainer: Trainer,
) -> None:
    validate, model = trainer.validate, trainer.model.eval()
    root = validate.split.directory.parents[2]
    frame = pd.read_parquet(root / "data/prepared/valid.parquet").set_index("id")
    tokenizer = Tokenizer.load(root / "models/tokenizers/tgt.json")
    ids = [int(validate.split.ids[row]) for row in validate.rows]
    sources = [validate.split.src(int(row)).tolist() for row in validate.rows]
    best = translate_ids(model, sources, GREEDY, tokens=50)
    hypotheses = [tokenizer.decode(one[0].tokens) for one in best]
    found = validate(model, None)
    everything = list(range(len(ids)))
    for name, places in {
        None: everything,
        "alpha": [i for i in everything if frame.corpus[ids[i]] == "alpha"],
        "beta": [i for i in everything if frame.corpus[ids[i]] == "beta"],
    }.items():
        assert places
        scores = found.scores if name is None else found.corpora[name]
        pair = [hypotheses[i] for i in places], [frame.tgt[ids[i]] for i in places]
        expected = score_all(*pair, "13a", QUICK)
        assert scores == {metric: one.score for metric, one in expected.items()}
    for sample in found.samples:
        place = frame.src[ids].tolist().index(sample.src)
        assert sample.reference == frame.tgt[ids[place]]
        assert sample.hypothesis == hypotheses[place]


@pytest.mark.parametrize("count", [2, 3])
def test_processes_share_the_work_and_all_get_the_same(trainer: Trainer, count: int) -> None:
    validate = trainer.validate
    alone = validate(trainer.model, None)
    assert len(validate.batches) > 1

    def work(processes: Processes) -> Evaluation:
        mine = make_validator(
            validate.split.directory.parents[2], validate.config, processes=processes
        )
        return mine(trainer.model, None)

    assert in_processes(count, work) == [alone] * count


def test_a_look_changes_nothing(trainer: Trainer) -> None:
    trainer.model.train()
    random = torch.get_rng_state()
    first = trainer.validate(trainer.model, None)
    assert trainer.model.training
    assert torch.equal(torch.get_rng_state(), random)
    assert trainer.validate(trainer.model, None) == first
    assert all(weights.grad is None for weights in trainer.model.parameters())


def test_rows_without_text_are_a_mixed_artifact(trainer: Trainer) -> None:
    split = trainer.validate.split
    with pytest.raises(ArtifactError, match=r"no text for id 100\d"):
        Validator(
            split, {}, trainer.validate.tokenizer, config=train_config(), tokenize="13a", device=CPU
        )


def test_bfloat16_is_near(trainer: Trainer) -> None:
    exact = trainer.validate(trainer.model, None)
    rough = trainer.validate(trainer.model, torch.bfloat16)
    assert rough.loss != exact.loss
    assert rough.loss == pytest.approx(exact.loss, rel=0.05)


def test_the_validator_takes_the_valid_split(trainer: Trainer, tmp_path: Path) -> None:
    root = trainer.validate.split.directory.parents[2]
    few = make_validator(root, train_config(validate_rows=3))
    assert len(few.rows) == 3
    assert few.split.rows == 8
