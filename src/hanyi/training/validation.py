"""What a model is worth on the valid split: loss, perplexity, scores of its translations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from hanyi.decoding.config import PLAIN
from hanyi.decoding.engine import translate_ids
from hanyi.errors import ArtifactError
from hanyi.metrics.lexical import QUICK, score_all
from hanyi.model.processes import ALONE, Processes
from hanyi.model.transformer import Transformer
from hanyi.tokens.batches import plan
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.shards import EncodedSplit
from hanyi.training.config import TrainConfig
from hanyi.training.data import load
from hanyi.training.loss import sequence_loss

# The length limits cut the endless translations of a young model; those of a good one end earlier.
GREEDY = replace(PLAIN, beam_size=1, length_penalty=0.0)
SAMPLES = 4  # translations shown at each validation


@dataclass(frozen=True, slots=True)
class Text:
    """A row of the valid split as prepared, never rebuilt from ids."""

    src: str
    tgt: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One translation to look at."""

    corpus: str
    src: str
    reference: str
    hypothesis: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A model's worth: loss and scores over the valid split, and samples."""

    loss: float  # label-smoothed cross-entropy, nats a token
    perplexity: float  # exp of the negative log-likelihood of a token
    scores: dict[str, float]  # 0 to 100, by metric
    corpora: dict[str, dict[str, float]]  # the same for each corpus
    samples: tuple[Sample, ...]

    def value(self, metric: str) -> float:
        """Give the loss or one of the scores."""
        return self.loss if metric == "loss" else self.scores[metric]


class Validator:
    """Validates models on always the same rows."""

    def __init__(
        self,
        split: EncodedSplit,
        texts: Mapping[int, Text],
        tokenizer: Tokenizer,
        *,
        config: TrainConfig,
        tokenize: str,
        device: torch.device,
        processes: Processes = ALONE,
    ) -> None:
        """Choose the rows to translate; raise `ArtifactError` when a row has no text in `texts`.

        `tokenize` is BLEU's tokenizer.
        """
        self.split = split
        self.tokenizer = tokenizer
        self.config = config
        self.tokenize = tokenize
        self.device = device
        self.processes = processes
        lengths = (split.src_lengths, split.tgt_lengths)
        self.batches = plan(*lengths, tokens=config.batch_tokens, seed=0, epoch=0)
        self.rows = spread(split.corpus, config.validate_rows)
        missing = [int(split.ids[row]) for row in self.rows if int(split.ids[row]) not in texts]
        if missing or not len(self.rows):
            found = f"no text for id {missing[0]}" if missing else "no rows"
            raise ArtifactError(
                split.directory, found, "the rows of data/prepared", "run `dvc repro encode`"
            )
        self.texts = [texts[int(split.ids[row])] for row in self.rows]
        self.corpora = [split.corpora[split.corpus[row]] for row in self.rows]

    def __call__(self, model: Transformer, dtype: torch.dtype | None) -> Evaluation:
        """Evaluate a model; its mode (training or not) is as before afterwards.

        The processes share the batches, which are the same for any number of them, and all get the
        same evaluation.
        """
        training = model.training
        model.eval()
        try:
            with torch.no_grad(), torch.autocast(self.device.type, dtype, enabled=bool(dtype)):
                loss, nll = self._losses(model)
                hypotheses = self._translate(model)
        finally:
            model.train(training)
        return self._evaluation(loss, nll, hypotheses)

    def _losses(self, model: Transformer) -> tuple[float, float]:
        pairs = []
        for rows in self.processes.share(self.batches):
            batch = load(self.split, rows, self.device)
            pairs.append(torch.stack(sequence_loss(model, batch, self.config.label_smoothing)))
        own = torch.stack(pairs).tolist() if pairs else []  # the device is waited for once
        # Added up in the order of the batches, whoever had them.
        total, nll = (sum(values) for values in zip(*self.processes.gather(own), strict=True))
        tokens = int(self.split.tgt_lengths.sum()) + self.split.rows
        return total / tokens, nll / tokens

    def _translate(self, model: Transformer) -> list[str]:
        sources = [self.split.src(int(row)).tolist() for row in self.rows]
        found = translate_ids(
            model,
            sources,
            GREEDY,
            tokens=2 * self.config.batch_tokens,
            processes=self.processes,
        )
        return self.tokenizer.decode_batch([best[0].tokens for best in found])

    def _evaluation(self, loss: float, nll: float, hypotheses: Sequence[str]) -> Evaluation:
        scores = self._scores(hypotheses, range(len(self.rows)))
        names = sorted(set(self.corpora))
        corpora = {
            name: self._scores(hypotheses, [i for i, n in enumerate(self.corpora) if n == name])
            for name in names
        }
        return Evaluation(loss, _perplexity(nll), scores, corpora, self._samples(hypotheses))

    def _scores(self, hypotheses: Sequence[str], places: Sequence[int]) -> dict[str, float]:
        chosen = [hypotheses[place] for place in places]
        references = [self.texts[place].tgt for place in places]
        return {
            name: result.score
            for name, result in score_all(chosen, references, self.tokenize, QUICK).items()
        }

    def _samples(self, hypotheses: Sequence[str]) -> tuple[Sample, ...]:
        places = np.linspace(0, len(self.rows) - 1, min(SAMPLES, len(self.rows))).astype(int)
        return tuple(
            Sample(self.corpora[i], self.texts[i].src, self.texts[i].tgt, hypotheses[i])
            for i in places.tolist()
        )


def spread(corpus: NDArray[np.uint8], count: int) -> NDArray[np.int64]:
    """Choose `count` rows, as evenly over the corpora as their sizes allow and evenly within each.

    `corpus` is `[rows]`, the number of each row's corpus. Gives row numbers, corpus by corpus.
    """
    groups = [np.flatnonzero(corpus == number) for number in np.unique(corpus)]
    left = min(count, len(corpus))
    chosen: dict[int, NDArray[np.int64]] = {}
    by_size = sorted(range(len(groups)), key=lambda number: len(groups[number]))
    for waiting, number in zip(range(len(groups), 0, -1), by_size, strict=True):
        rows = groups[number]
        take = min(len(rows), left // waiting)
        chosen[number] = rows[np.arange(take) * len(rows) // max(take, 1)]
        left -= take
    return np.concatenate([chosen[number] for number in sorted(chosen)] or [np.empty(0, np.int64)])


def _perplexity(nll: float) -> float:
    return math.exp(min(nll, 700.0))  # exp overflows past 709
