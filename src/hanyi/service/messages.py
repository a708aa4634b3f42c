"""What comes and goes as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hanyi.decoding.config import PLAIN, DecodeConfig, SearchConfig
from hanyi.service.faults import TOLD_CHARS, RefusedError, printable
from hanyi.service.limits import Limits
from hanyi.translator import Result

NOT_IN_A_STREAM = ("beam_size", "n_best", "scores", "alignment")


class Message(BaseModel):
    """JSON of known keys and strict types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TranslateRequest(Message):
    """Texts to translate, and how."""

    text: str | list[str] = Field(
        description="One text, or a list of texts; an empty one stays empty.",
        examples=["我爱 00700", ["你好吗？", "他们很好。"]],
    )
    beam_size: int | None = Field(
        None,
        ge=1,
        description="Hypotheses side by side; 1: greedy. By default as the model has it.",
    )
    n_best: int | None = Field(
        None, ge=1, description="Give so many translations of each text, best first."
    )
    scores: bool = Field(
        default=False, description="Give log probabilities, in nats, and what ranks translations."
    )
    alignment: bool = Field(
        default=False,
        description="Give tokens, and for each the place of the source token it attends to most.",
    )
    stream: bool = Field(
        default=False,
        description="Give one text's greedy translation as it is written, as server-sent events.",
    )

    @model_validator(mode="before")
    @classmethod
    def _first_fault(cls, values: Any) -> Any:
        """Tell one fault of those that a body has room for a hundred thousand times."""
        if not isinstance(values, dict):
            return values
        for key in values:
            if key not in cls.model_fields:
                known = ", ".join(cls.model_fields)
                raise ValueError(f"unknown key {printable(key[:TOLD_CHARS])}, expected {known}")
        if isinstance(texts := values.get("text"), list):
            kinds = [type(text).__name__ for text in texts]
            place = next((place for place, kind in enumerate(kinds) if kind != "str"), None)
            if place is not None:
                raise ValueError(f"text.{place}: {kinds[place]}, expected a string")
        return values

    @property
    def texts(self) -> list[str]:
        """Give the texts as a list."""
        return [self.text] if isinstance(self.text, str) else self.text

    def check(self, limits: Limits) -> None:
        """Raise `RefusedError` for what is over a limit, or cannot go together."""
        if len(self.texts) > limits.texts:
            found, most = f"{len(self.texts):,} texts", f"at most {limits.texts:,}"
            raise RefusedError(413, "text", found, most, "send them in several requests")
        check_chars(self.texts, limits)
        check_beams("beam_size", self.beam_size, limits)
        check_beams("n_best", self.n_best, limits)
        if self.stream:
            self._check_stream()

    def _check_stream(self) -> None:
        if not isinstance(self.text, str):
            raise RefusedError(422, "text", "a list", "one text in a stream", "send each alone")
        if others := [name for name in NOT_IN_A_STREAM if getattr(self, name)]:
            raise RefusedError(
                422,
                "stream",
                f"together with {', '.join(others)}",
                "a stream alone, which is greedy",
                "leave one of them out",
            )

    def search(self, config: DecodeConfig) -> SearchConfig:
        """Give the search that is asked for, as the `decode` section says unless asked otherwise.

        Raises `RefusedError` for what cannot be searched.
        """
        usual = SearchConfig(**{field.name: getattr(config, field.name) for field in fields(PLAIN)})
        n_best = self.n_best or usual.n_best
        beams = self.beam_size or max(usual.beam_size, n_best)
        if self.beam_size and not self.n_best and usual.choose == "likeliest":
            n_best = min(n_best, beams)
        try:
            return replace(usual, n_best=n_best, beam_size=beams)
        except ValueError as error:
            raise RefusedError(
                422, "beam_size, n_best", str(error), "what goes together", "change one of them"
            ) from None


class Candidate(Message):
    """One of the best translations of a text."""

    text: str
    log_prob: float | None = Field(description="Nats.")
    score: float | None = Field(description="The log probability by the norm of the length.")
    finished: bool = Field(description="False: cut at the limit of its length.")


class Translation(Message):
    """The translation of a text."""

    text: str
    finished: bool = Field(description="False: cut at the limit of its length.")
    parts: int = Field(description="Parts in which an over-long text was translated.")
    unmet: list[str] = Field(description="Terms that were asked for and are not there.")
    warnings: list[str] = Field(description="What else a reader should know, in plain words.")
    log_prob: float | None = Field(None, description="Nats; with `scores`.")
    score: float | None = Field(None, description="What ranks translations; with `scores`.")
    n_best: list[Candidate] | None = Field(None, description="Best first; with `n_best`.")
    src_tokens: list[str] | None = Field(None, description="With `alignment`.")
    tokens: list[str] | None = Field(None, description="With `alignment`.")
    alignment: list[int] | None = Field(
        None, description="Place of the source token of each token, from 0; with `alignment`."
    )


class TranslateAnswer(Message):
    """One translation for each text, in order."""

    model: str = Field(description="Digest of the model's weights.")
    translations: list[Translation]


class Model(Message):
    """What translates."""

    digest: str = Field(description="Of the model's weights.")
    engine: str
    device: str
    max_tokens: int = Field(description="Of a text that is translated in one part.")
    beam_size: int = Field(description="Unless a request asks for another.")


class Pair(Message):
    """The languages of a model, where they are known."""

    src: str | None
    tgt: str | None


class HealthAnswer(Message):
    """How the service is."""

    live: bool = Field(description="It answers.")
    ready: bool = Field(description="It takes requests; false while it stops.")
    version: str
    languages: Pair
    model: Model


class ErrorDetail(Message):
    """What went wrong."""

    code: str = Field(description="A name of the status that does not change.")
    message: str = Field(description="One line: where, what was found, what was expected.")


class ErrorAnswer(Message):
    """The shape of every error."""

    error: ErrorDetail


def check_chars(texts: Sequence[str], limits: Limits) -> None:
    """Raise `RefusedError` for texts that are too long together."""
    chars = sum(map(len, texts))
    if chars > limits.chars:
        found, most = f"{chars:,} characters", f"at most {limits.chars:,}"
        raise RefusedError(413, "text", found, most, "send them in several requests")


def check_beams(name: str, asked: int | None, limits: Limits) -> None:
    """Raise `RefusedError` for more beams than a request may ask for."""
    if (asked or 0) > limits.beams:
        raise RefusedError(422, name, f"{asked:,}", f"at most {limits.beams}", "ask for fewer")


def translation(result: Result, asked: TranslateRequest) -> Translation:
    """Turn a result into what a request asked for."""
    scored = asked.scores
    aligned = asked.alignment
    return Translation(
        text=result.text,
        finished=result.finished,
        parts=result.parts,
        unmet=result.unmet,
        warnings=result.warnings,
        log_prob=result.log_prob if scored else None,
        score=result.score if scored else None,
        n_best=_candidates(result) if asked.n_best else None,
        src_tokens=result.src_tokens if aligned else None,
        tokens=result.tokens if aligned else None,
        alignment=result.alignment if aligned else None,
    )


def _candidates(result: Result) -> list[Candidate]:
    return [
        Candidate(text=one.text, log_prob=one.log_prob, score=one.score, finished=one.finished)
        for one in result.n_best
    ]
