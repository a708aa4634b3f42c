"""A trained model in plain use: texts in, texts out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from threading import Lock

import torch

from hanyi.corpus.cleaning.config import repairer
from hanyi.decoding.config import PLAIN, DecodeConfig, SearchConfig
from hanyi.decoding.engine import TorchEngine
from hanyi.decoding.forced import Forced
from hanyi.decoding.jobs import Engine, Report
from hanyi.decoding.loading import Loaded, load_engine
from hanyi.decoding.registry import choose_engine
from hanyi.decoding.texts import Row, Source, TextEngine, explain
from hanyi.errors import DataError
from hanyi.model.devices import pick_device, prepare_torch
from hanyi.tokens.vocab import BOS, EOS
from hanyi.translator.folders import ModelFolder
from hanyi.translator.results import Alternative, Attention, Result
from hanyi.translator.settings import best_only
from hanyi.translator.sources import find_model
from hanyi.translator.stream import Stream, Write
from hanyi.translator.typewriter import Typewriter

NOTHING = Forced([], [])


class Translator:
    """A model with its tokenizers; threads may share it."""

    def __init__(self, folder: ModelFolder, loaded: Loaded, config: DecodeConfig) -> None:
        self.folder = folder
        self.engine = loaded.engine
        self.name = loaded.name  # of the engine
        self.model = loaded.first
        self.described = loaded.described[0]  # what config.json says
        self.config = config
        self.languages = folder.settings.languages  # None: not known
        self.normal: Callable[[str], str] = repairer(folder.settings.rules)
        self.src, self.tgt = loaded.engine.src, loaded.engine.tgt
        self.max_tokens = loaded.engine.max_tokens  # of a sentence in training
        self._all = loaded.model
        # PyTorch takes all cores for one batch, memory is planned for one, and weights that
        # attention keeps are those of the latest pass. CTranslate2 sees to its threads by itself.
        self.turn = Lock()

    @classmethod
    def load(
        cls,
        source: str | Path | ModelFolder,
        *,
        tokenizers: Path | None = None,
        device: str | None = None,
        config: DecodeConfig | None = None,
    ) -> Translator:
        """Read the model that `source` names, as `find_model` does.

        Inputs go through the repairs of `prepare.rules` in the model's params.yaml, as the sources
        of train did. `config` says how to translate; by default the `decode` section does, with
        `n_best` as low as its method allows. `device` is as in `pick_device`. Raises `HanyiError`
        when files are missing, broken or do not belong together.
        """
        prepare_torch()
        folder = source if isinstance(source, ModelFolder) else find_model(source, tokenizers)
        if config is None:
            config = best_only(folder.settings.config)
        ensemble = [str(folder.home / other) for other in config.ensemble]
        joined = replace(config, ensemble=ensemble)
        loaded = load_engine(folder.model, folder.tokenizers, joined, pick_device(device))
        return cls(folder, loaded, joined)

    def translate(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        alignment: bool = False,
        token_log_probs: bool = False,
        numbers: Sequence[int] | None = None,
        report: Report | None = None,
    ) -> list[Result]:
        """Translate each text, as the `decode` section says unless another search is given.

        An empty text stays empty. A text longer than the model has seen is cut at sentence ends
        (else at commas, spaces or anywhere), and its parts are translated and joined. What is drawn
        for a text depends on its number, by default its place. `report` hears how many parts are
        done. Raises `ParamsError` for a search that the engine cannot do.
        """
        if isinstance(texts, str):
            raise TypeError("texts must be a list of texts, not one")
        asked = self._asked(search, token_log_probs)
        engine = self._engine(asked)
        sources = engine.read([self.normal(text) for text in texts])
        with self.turn if isinstance(engine.engine, TorchEngine) else nullcontext():
            rows = engine.translate(sources, asked, numbers=numbers, report=report)
        forced: list[Forced] = [NOTHING] * len(rows)
        if alignment or token_log_probs:
            with self.turn:
                tokens = self.config.batch_tokens
                forced = explain(self._all, sources, rows, tokens=tokens, alignment=alignment)
        return [
            self._result(
                text,
                source,
                row,
                one.log_probs if token_log_probs else None,
                one.alignment if alignment else None,
            )
            for text, source, row, one in zip(texts, sources, rows, forced, strict=True)
        ]

    def stream(self, text: str, search: SearchConfig | None = None) -> Stream:
        """Translate a text by greedy search, and give its pieces while it is written.

        Prefix, terms and rules are as in `translate`; the beam is of one, and the engine is torch.
        """
        config = search or self.config
        greedy = replace(
            config, method="beam", choose="likeliest", beam_size=1, beam_groups=1, n_best=1
        )

        def work(write: Write) -> Result:
            typewriter = Typewriter(self._all, self.tgt, self.config.batch_tokens, self.turn, write)
            engine = self._by(typewriter)
            sources = engine.read([self.normal(text)])
            (row,) = engine.translate(sources, greedy)
            return self._result(text, sources[0], row)

        return Stream(work)

    def attention(self, text: str, search: SearchConfig | None = None) -> Attention:
        """Translate a text, and give the cross-attention of the translation over the source.

        Of an ensemble, it is that of the first model.
        """
        asked = self._asked(search)
        engine = self._engine(asked)
        (source,) = engine.read([self.normal(text)])
        if len(source.parts) != 1:
            tokens = len(self.src.encode(source.text))
            raise DataError(
                "text", f"{tokens} tokens", f"1 to {self.max_tokens}", "give one sentence"
            )
        with self.turn:
            (row,) = engine.translate([source], asked)
            src_ids, best = [*source.ids[0], EOS], row.best
            device = next(self.model.parameters()).device
            src = torch.tensor([src_ids], device=device)
            tgt_in = torch.tensor([[BOS, *best.tokens]], device=device)
            weights = self.model.attention_maps(src, tgt_in)["cross"][0].cpu()
        tgt_ids = [*best.tokens, EOS] if best.finished else best.tokens
        return Attention(weights[:, :, : len(tgt_ids)], src_ids, tgt_ids)

    def _asked(self, search: SearchConfig | None, token_log_probs: bool = False) -> DecodeConfig:
        """Give the whole configuration, with the options of a search in the place of its own."""
        options = {name: getattr(search or self.config, name) for name in SEARCH}
        return replace(self.config, **options, token_log_probs=token_log_probs)

    def _engine(self, asked: DecodeConfig) -> TextEngine:
        """Give the engine that does what is asked: ours too, where the choice was left open."""
        device = next(self.model.parameters()).device
        name = choose_engine(replace(asked, engine=self.config.engine), device)
        if name == self.name:
            return self.engine
        if self.config.quantization != "none":  # which was done for the other engine
            choose_engine(replace(asked, engine=self.name), device)
        return self._by(TorchEngine(self._all, self.config.batch_tokens))

    def _by(self, engine: Engine) -> TextEngine:
        return TextEngine(engine, self.src, self.tgt, self.max_tokens, self.engine.wishes)

    def _result(
        self,
        text: str,
        source: Source,
        row: Row,
        token_log_probs: list[float] | None = None,
        alignment: list[int] | None = None,
    ) -> Result:
        best = row.best
        return Result(
            source=text,
            text=best.text,
            log_prob=best.log_prob,
            score=best.score,
            finished=best.finished,
            parts=row.parts,
            tokens=self.tgt.tokens(best.tokens),
            n_best=[
                Alternative(one.text, one.log_prob, one.score, one.finished) for one in row.n_best
            ],
            unmet=row.unmet,
            src_tokens=self.src.tokens([token for ids in source.ids for token in ids]),
            alignment=alignment,
            token_log_probs=token_log_probs,
            warnings=self._warnings(row),
        )

    def _warnings(self, row: Row) -> list[str]:
        told = []
        if row.parts > 1:
            told.append(f"more than {self.max_tokens} tokens, translated in {row.parts} parts")
        if row.unmet:
            told.append(f"translated without {', '.join(row.unmet)}")
        if not row.best.finished:
            told.append("its translation is cut at the limit")
        return told


SEARCH = [field.name for field in fields(PLAIN)]
"""The options of a search among those of the `decode` section."""
