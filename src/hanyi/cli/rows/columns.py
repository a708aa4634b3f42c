"""What is written of a result: columns of a line, or keys of a JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hanyi.artifacts import METRIC_DIGITS
from hanyi.errors import ParamsError

if TYPE_CHECKING:
    from hanyi.translator import Alternative, Result

# JSON leaves these as they are, but some readers end a line there.
LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options ask for."""

    n_best: int  # translations of each text, at most
    scores: bool
    alignments: bool
    json: bool
    into: str  # key of the translation, and name of its column

    def __post_init__(self) -> None:
        """Raise `ParamsError` where the translation would go by the name of something else."""
        taken = {"log_prob", "score"} if self.scores or self.json else set()
        if self.json or self.alignments:
            taken |= {"tokens", "src_tokens", "alignment"}
        if self.n_best > 1:
            taken.add("n_best")
        if self.json:
            taken |= {"source", "columns", "token_log_probs"}
            taken |= {"finished", "parts", "unmet_terms", "warnings"}
        if self.into in taken:
            found = f"{self.into}, which is written too"
            raise ParamsError("--into", found, "a name of its own", "give another name")

    @property
    def names(self) -> list[str]:
        """Name the columns of one translation."""
        scores = ["log_prob", "score"] if self.scores else []
        return [self.into, *scores, *(["alignment"] if self.alignments else [])]

    def columns(self, result: Result) -> list[list[str]]:
        """Give the columns of each translation, the chosen one first; only that has an alignment.

        An alignment is written as `source-target`, places of tokens from 0.
        """
        rows = []
        for rank, one in enumerate(result.n_best[: self.n_best]):
            row = [one_line(one.text)]
            if self.scores:
                row += [f"{one.log_prob:.4f}", f"{one.score:.4f}"]
            if self.alignments:
                places = enumerate(result.alignment or []) if rank == 0 else ()
                row.append(" ".join(f"{src}-{tgt}" for tgt, src in places))
            rows.append(row)
        return rows

    def fields(self, result: Result) -> dict[str, Any]:
        """Give the keys and values of a JSON object, all but the source."""
        fields: dict[str, Any] = {self.into: result.text}
        if self.scores or self.json:
            fields |= _scores(result)
        if self.scores and self.json:
            fields["token_log_probs"] = [_rounded(one) for one in result.token_log_probs or []]
        if self.json:
            fields |= {
                "finished": result.finished,
                "parts": result.parts,
                "unmet_terms": result.unmet,
                "warnings": result.warnings,
            }
        if self.json or self.alignments:
            fields |= {"tokens": result.tokens, "src_tokens": result.src_tokens}
        if self.alignments:
            fields["alignment"] = result.alignment
        if self.n_best > 1:
            some = result.n_best[: self.n_best]
            fields["n_best"] = [
                {"text": one.text, **_scores(one), "finished": one.finished} for one in some
            ]
        return fields


def one_line(text: str) -> str:
    """Write white space of every kind as single spaces, so that no line or column ends there."""
    return " ".join(text.split())


def to_json(fields: Mapping[str, Any]) -> str:
    """Write an object on one line."""
    return json.dumps(fields, ensure_ascii=False).translate(LINE_ENDS)


def _scores(one: Alternative | Result) -> dict[str, float]:
    return {"log_prob": _rounded(one.log_prob), "score": _rounded(one.score)}


def _rounded(number: float) -> float:
    return round(number, METRIC_DIGITS)
