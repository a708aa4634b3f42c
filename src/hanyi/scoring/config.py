"""The `score` section of params.yaml."""

from __future__ import annotations

from hanyi.metrics.tokenizers import check_tokenizer
from hanyi.params import config


@config
class ScoreConfig:
    """How the test split is scored; params.yaml says what each value means."""

    tokenize: str
    comet: str | None
    tokenized_references: bool

    def __post_init__(self) -> None:
        """Check the choices."""
        check_tokenizer(self.tokenize)
        if self.comet == "":
            raise ValueError("comet must be the name of a model, a checkpoint or null, got ''")
