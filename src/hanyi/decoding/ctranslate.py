"""The engine `ctranslate2`: our model and a beam search, run by a library made for nothing else.

It searches as ours does, to the same translations of a trained model, with two differences. The
search of a sentence ends when patience * beam_size hypotheses have ended, even if no live one can
win before. And where a beam is cut at its limit, the best by the mean remain, so that one that has
ended is lost if all that were cut are better. Log probabilities and scores mean
the same: CTranslate2 divides its sums by length^length_penalty, EOS counted, which is undone here,
and what it found is ranked by our norm.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import torch

from hanyi.decoding.batches import Cost, Found, plan, room
from hanyi.decoding.config import SearchConfig
from hanyi.decoding.conversion import Vocabularies, convert, numbered
from hanyi.decoding.engine import require_numbers
from hanyi.decoding.hypothesis import NEVER, Hypothesis
from hanyi.decoding.jobs import Job, Report
from hanyi.decoding.sentences import Sentence
from hanyi.errors import DataError
from hanyi.model.processes import ALONE, Processes
from hanyi.model.transformer import Transformer
from hanyi.tokens.vocab import EOS

COMPUTE_TYPES = {"none": "float32", "int8": "int8_float32"}
POSITIONS = 4096  # tokens of a sequence, EOS included, at most
SENTENCES = 32  # that a worker takes at once; more are no faster, and others may help with them

# Exponents for CTranslate2. At 0 it would end a search as soon as the best of the beam has ended;
# the least one changes no score in single precision, the largest keeps powers of lengths in it.
LEAST, LARGEST = 1e-9, 8.0


class CTranslate:
    """A model in the hands of CTranslate2."""

    def __init__(
        self,
        model: Transformer,
        directory: Path,
        compute_type: str,
        tokens: int,
        vocabularies: Vocabularies | None = None,
    ) -> None:
        """Open what `model` was converted into; CTranslate2 reads all of it at once.

        A batch holds at most `tokens` padded source tokens times beams.
        """
        self.tokens = tokens
        self.model = model
        src, tgt = vocabularies or numbered(model)
        self.src_names = src
        self.tgt_ids = {name: number for number, name in enumerate(tgt)}
        self.never = [tgt[number] for number in NEVER]
        self.device = next(model.parameters()).device
        self.workers = torch.get_num_threads() if self.device.type == "cpu" else 1
        # Workers of one thread each do not wait for one another in each small product, and results
        # do not depend on their number.
        self.translator = ctranslate2.Translator(
            str(directory),
            device=self.device.type,
            device_index=self.device.index or 0,
            compute_type=compute_type,
            inter_threads=self.workers,
            intra_threads=1,
            max_queued_batches=-1,  # all are handed in at once
        )

    @classmethod
    def converted(cls, model: Transformer, quantization: str, tokens: int) -> CTranslate:
        """Hand over a model, with `decode.quantization`."""
        with tempfile.TemporaryDirectory(prefix="hanyi-ctranslate2-") as directory:
            convert(model, Path(directory), POSITIONS)
            return cls(model, Path(directory), COMPUTE_TYPES[quantization], tokens)

    def translate(
        self,
        jobs: Sequence[Job],
        config: SearchConfig,
        *,
        report: Report | None = None,
        processes: Processes = ALONE,
    ) -> list[list[Hypothesis]]:
        """Give for each job its `n_best` hypotheses or less, best first."""
        sentences = [job.sentence(config) for job in jobs]
        _check_lengths(sentences)
        batches = processes.share(self._plan(jobs, sentences, config, processes))
        # CTranslate2 has one limit for a batch. A search that ended within its own limit would have
        # ended the same under that one; the few others are done again.
        limits = [max(sentences[number].limit for number in batch) for batch in batches]
        own = self._run(jobs, batches, limits, config, report=report)
        over = [number for number, one in own.items() if _is_over(one, sentences[number])]
        own |= self._run_alone(jobs, sentences, over, config)
        own = {number: _allowed(one) for number, one in own.items()}
        none = [number for number, one in own.items() if not one]
        own |= self._run_alone(jobs, sentences, none, config, never=self.never)
        require_numbers(list(own.values()))
        found = {number: one for part in processes.gather_each(own) for number, one in part.items()}
        empty = [Hypothesis([], 0.0, finished=True, score=0.0)]
        return [found.get(number, empty)[: config.n_best] for number in range(len(jobs))]

    def _plan(
        self,
        jobs: Sequence[Job],
        sentences: Sequence[Sentence],
        config: SearchConfig,
        processes: Processes,
    ) -> list[list[int]]:
        full = [number for number, job in enumerate(jobs) if len(job.source)]
        batches = plan(
            [sentences[number] for number in full],
            self.tokens // config.beam_size,
            room(self.device, processes) / self.workers,
            Cost(self.model, config),
        )
        return [[full[number] for number in batch] for batch in batches]

    def _run_alone(
        self,
        jobs: Sequence[Job],
        sentences: Sequence[Sentence],
        numbers: Sequence[int],
        config: SearchConfig,
        never: Sequence[str] = (),
    ) -> dict[int, Found]:
        limits = [sentences[number].limit for number in numbers]
        return self._run(jobs, [[number] for number in numbers], limits, config, never=never)

    def _run(
        self,
        jobs: Sequence[Job],
        batches: Sequence[Sequence[int]],
        limits: Sequence[int],
        config: SearchConfig,
        *,
        never: Sequence[str] = (),
        report: Report | None = None,
    ) -> dict[int, Found]:
        """Translate batches, each under a limit, and give what was found for the number of a job.

        Tokens of `never` are left out. CTranslate2 takes them out of the probabilities too, which
        are then no longer the model's own; so that is done only where nothing else was found.
        """
        asked = int(config.beam_size * config.patience + 0.5) if config.beam_size > 1 else 1
        waiting = [
            self.translator.translate_batch(
                [[self.src_names[one] for one in jobs[number].source] for number in batch],
                asynchronous=True,
                max_batch_size=SENTENCES,
                beam_size=config.beam_size,
                patience=config.patience,
                num_hypotheses=asked,  # all that end a search: the longest tells when it ended
                length_penalty=_exponent(config),
                suppress_sequences=[[name] for name in never],
                max_input_length=0,
                max_decoding_length=limit,
                min_decoding_length=0,
                return_scores=True,
                return_end_token=True,
            )
            for batch, limit in zip(batches, limits, strict=True)
        ]
        found = {}
        for batch, results in zip(batches, waiting, strict=True):
            for number, result in zip(batch, results, strict=True):
                found[number] = self._hypotheses(result.result(), config)
            if report is not None:
                report(len(batch))
        return found

    def _hypotheses(self, result: Any, config: SearchConfig) -> Found:
        """Read what was found, and rank it: hypotheses that were cut come last."""
        found = []
        for tokens, mean in zip(result.hypotheses, result.scores, strict=True):
            ids = [self.tgt_ids[name] for name in tokens]
            log_prob = mean * len(ids) ** _exponent(config)
            finished = ids[-1] == EOS
            score = log_prob / config.norm(len(ids))
            found.append(Hypothesis(ids[:-1] if finished else ids, log_prob, finished, score))
        return sorted(found, key=lambda one: (not one.finished, -one.score))


def _exponent(config: SearchConfig) -> float:
    return min(max(config.length_penalty, LEAST), LARGEST)


def _check_lengths(sentences: Sequence[Sentence]) -> None:
    longest = max((max(one.src_len, one.limit) for one in sentences), default=0)
    if longest > POSITIONS:
        raise DataError(
            "decode.engine: ctranslate2",
            f"a source of {longest} tokens or a translation that may have as many",
            f"at most {POSITIONS}",
            "set decode.engine to torch",
        )


def _is_over(found: Found, sentence: Sentence) -> bool:
    """Say whether a search went beyond the limit of its sentence.

    Those that end a search are always among what it gives.
    """
    return any(len(one.tokens) + one.finished > sentence.limit for one in found)


def _allowed(found: Found) -> Found:
    """Leave out what holds tokens that no target may hold."""
    return [one for one in found if not any(token in one.tokens for token in NEVER)]
