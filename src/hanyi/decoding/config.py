"""How to search: the parameters of every option, checked before a model is loaded."""

from __future__ import annotations

from hanyi.decoding.norms import LENGTH_NORMS
from hanyi.params import at_least, config, one_of

METHODS = ("beam", "sample")
CHOICES = ("likeliest", "mbr")
ENGINES = ("auto", "torch", "ctranslate2")
QUANTIZATIONS = ("none", "int8")


@config
class SamplingConfig:
    """The `decode.sampling` section: what tokens may be drawn."""

    temperature: float
    top_k: int
    top_p: float
    seed: int

    def __post_init__(self) -> None:
        """Check ranges."""
        if not 1e-9 <= self.temperature < float("inf"):  # floats do not hold much less
            raise ValueError(f"temperature must be at least 1e-9, got {self.temperature}")
        at_least("top_k", self.top_k, 0)
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be over 0 and at most 1, got {self.top_p}")
        at_least("seed", self.seed, 0)


@config
class SearchConfig:
    """How to search; see the `decode` section of params.yaml for the unit of each."""

    method: str
    beam_size: int
    n_best: int
    choose: str
    length_norm: str
    length_penalty: float
    coverage_penalty: float
    patience: float
    beam_groups: int
    diversity_penalty: float
    no_repeat_ngram: int
    min_length_ratio: float
    max_length_ratio: float
    max_length_offset: int
    sampling: SamplingConfig

    def __post_init__(self) -> None:
        """Check choices, ranges and what goes together."""
        one_of("method", self.method, METHODS)
        one_of("choose", self.choose, CHOICES)
        one_of("length_norm", self.length_norm, LENGTH_NORMS)
        for name in ("beam_size", "n_best", "beam_groups", "max_length_offset"):
            at_least(name, getattr(self, name), 1)
        at_least("no_repeat_ngram", self.no_repeat_ngram, 0)
        for name in (
            "length_penalty",
            "coverage_penalty",
            "diversity_penalty",
            "min_length_ratio",
            "max_length_ratio",
        ):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} must be 0 or more, got {value}")
        at_least("patience", self.patience, 1)
        self._check_beams()

    def _check_beams(self) -> None:
        if self.choose == "mbr" and self.n_best == 1:
            raise ValueError("choose mbr needs others to compare with, got n_best 1")
        if self.method == "beam" and self.n_best > self.beam_size:
            raise ValueError(
                f"n_best must be from 1 to beam_size, got n_best {self.n_best} "
                f"and beam_size {self.beam_size}"
            )
        if self.beam_size % self.beam_groups:
            raise ValueError(
                f"beam_groups must divide beam_size, got beam_groups {self.beam_groups} "
                f"and beam_size {self.beam_size}"
            )

    def limit(self, src_tokens: int) -> int:
        """Give the most tokens, EOS included, of a translation of that many tokens."""
        return int(self.max_length_ratio * src_tokens) + self.max_length_offset

    def least(self, src_tokens: int) -> int:
        """Give the least tokens, EOS not counted, of a translation of that many tokens."""
        return min(int(self.min_length_ratio * src_tokens), self.limit(src_tokens) - 1)

    def norm(self, length: int) -> float:
        """Give what the log probability of that many tokens, EOS included, is divided by."""
        return LENGTH_NORMS[self.length_norm](length, self.length_penalty)

    @property
    def places(self) -> int:
        """Give the rows of each sentence in the model's cache, at most."""
        return self.n_best if self.method == "sample" else self.beam_size

    @property
    def beams(self) -> int:
        """Give the rows of each sentence with which the cache begins.

        Samples have nothing to share once they have parted, so each becomes a sentence of its own.
        """
        return 1 if self.method == "sample" else self.beam_size

    @property
    def uses_attention(self) -> bool:
        """Say whether the model must tell where each step looked."""
        return self.method == "beam" and self.coverage_penalty > 0


@config
class DecodeConfig(SearchConfig):
    """The `decode` section: how to search, with what, and how much at once."""

    engine: str
    quantization: str
    ensemble: list[str]
    prefix: str
    terms: dict[str, str]
    token_log_probs: bool
    alignment: bool
    batch_tokens: int

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        SearchConfig.__post_init__(self)  # super() does not know a class that slots made anew
        one_of("engine", self.engine, ENGINES)
        one_of("quantization", self.quantization, QUANTIZATIONS)
        at_least("batch_tokens", self.batch_tokens, 1)
        if self.terms and self.method != "beam":
            raise ValueError(f"terms need method beam, got method {self.method}")


PLAIN = SearchConfig(
    method="beam",
    beam_size=4,
    n_best=1,
    choose="likeliest",
    length_norm="gnmt",
    length_penalty=1.0,
    coverage_penalty=0.0,
    patience=2.0,
    beam_groups=1,
    diversity_penalty=0.0,
    no_repeat_ngram=0,
    min_length_ratio=0.0,
    max_length_ratio=2.0,
    max_length_offset=10,
    sampling=SamplingConfig(temperature=1.0, top_k=0, top_p=1.0, seed=1),
)
"""What is good for most models, with no option switched on; for use without a params.yaml."""
