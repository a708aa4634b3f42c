"""What each option of `decode` does: `.venv/bin/python -m benchmarks.options > docs/decoding.md`.

Run it in a project that is built. Five sentences are translated with the parameters of params.yaml,
then with one option changed at a time. Where an option changes nothing, the cell says so; the
number is the log probability of the translation, in nats.
"""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from hanyi.decoding.config import DecodeConfig
from hanyi.decoding.loading import load_engine
from hanyi.decoding.texts import Row, Translation, explain
from hanyi.errors import HanyiError
from hanyi.model.devices import pick_device, prepare_torch
from hanyi.params import load_section
from stages.paths import TOKENIZERS, TRANSFORMER

SENTENCES = (
    "我爱00700",
    "他在北京工作。",
    "药店在美术馆和火车站中间。",
    "每个周末他室友有时候看小说，有时候上网。",
    "西南的天气和北方很不同。",
)
SAME = "="


@dataclass(frozen=True)
class Option:
    """An option at work."""

    title: str
    text: str
    changes: Mapping[str, Any]
    many: bool = False  # show all n_best translations
    sampling: Mapping[str, Any] = field(default_factory=dict)

    def applied(self, config: DecodeConfig) -> DecodeConfig:
        """Give the parameters with those of the option."""
        sampling = dataclasses.replace(config.sampling, **self.sampling)
        return dataclasses.replace(config, **self.changes, sampling=sampling)


CHECKPOINTS = ["models/checkpoints/bleu", "models/checkpoints/loss"]
SAMPLES: dict[str, Any] = {"method": "sample", "n_best": 3}

OPTIONS = (
    Option(
        "Greedy",
        "Always the likeliest token. What looks best now may end badly: the beam keeps other "
        "beginnings.",
        {"beam_size": 1},
    ),
    Option(
        "A wide beam",
        "More hypotheses side by side, for more time. Scores are never lower, translations not "
        "always better.",
        {"beam_size": 16},
    ),
    Option(
        "No length penalty",
        "Each token costs probability, so the bare sum prefers what is short.",
        {"length_penalty": 0.0},
    ),
    Option(
        "Mean of the log probabilities",
        "`length_norm: average` divides by the length itself; GNMT's norm ((5 + length) / 6) "
        "is milder to short ones.",
        {"length_norm": "average"},
    ),
    Option(
        "Coverage penalty",
        "Takes off for source tokens that got little attention (Wu et al. 2016, 7).",
        {"coverage_penalty": 0.5},
    ),
    Option(
        "The n best",
        "What the beam found beside the first one. They differ little.",
        {"n_best": 4},
        many=True,
    ),
    Option(
        "Diverse beams",
        "Groups of the beam choose one after the other and lose 2 nats for a token that an "
        "earlier one took (Vijayakumar et al. 2018).",
        {"n_best": 4, "beam_groups": 4, "diversity_penalty": 2.0},
        many=True,
    ),
    Option(
        "Sampling",
        "Tokens are drawn with the model's own probabilities; the draws depend on the seed and "
        "the row alone.",
        SAMPLES,
        many=True,
    ),
    Option(
        "Sampling at a low temperature",
        "Logits divided by 0.5: likely tokens become likelier.",
        SAMPLES,
        many=True,
        sampling={"temperature": 0.5},
    ),
    Option(
        "Sampling from the 5 likeliest",
        "Top-k (Fan et al. 2018).",
        SAMPLES,
        many=True,
        sampling={"top_k": 5},
    ),
    Option(
        "Sampling from the nucleus",
        "The likeliest tokens that make up 0.8 of the probability (Holtzman et al. 2020).",
        SAMPLES,
        many=True,
        sampling={"top_p": 0.8},
    ),
    Option(
        "Minimum Bayes risk",
        "Of 16 samples, the one most like the others by chrF (Kumar and Byrne 2004; Eikema and "
        "Aziz 2020).",
        {"method": "sample", "n_best": 16, "choose": "mbr"},
    ),
    Option(
        "No repeated n-grams",
        "No two tokens in a row may come twice. A blunt tool: what is rightly said twice is lost.",
        {"no_repeat_ngram": 2},
    ),
    Option(
        "A minimum length",
        "At least 1.5 target tokens for each source token: the model must go on.",
        {"min_length_ratio": 1.5},
    ),
    Option(
        "A maximum length",
        "At most 2 tokens and a quarter of the source's: what is cut is told (`finished` is "
        "false).",
        {"max_length_ratio": 0.25, "max_length_offset": 2},
    ),
    Option(
        "A forced beginning",
        "Each translation begins with the prefix, and goes on from there.",
        {"prefix": "I think"},
    ),
    Option(
        "Terms",
        "北京 must become Peking, 小说 must become fiction: a constrained beam (Post and Vilar "
        "2018). A term that could not be fitted in is told.",
        {"terms": {"北京": "Peking", "小说": "fiction"}},
    ),
    Option(
        "An ensemble",
        "The probabilities of three models are averaged: here of the model and the best "
        "checkpoints by BLEU and by loss.",
        {"ensemble": CHECKPOINTS},
    ),
    Option(
        "CTranslate2 with 8-bit weights",
        "The other engine, faster still; some translations differ.",
        {"engine": "ctranslate2", "quantization": "int8"},
    ),
)


def main() -> None:
    """Print the page."""
    logging.disable(logging.WARNING)
    prepare_torch()
    config = load_section("decode", DecodeConfig)
    plain = translate(config)
    print(
        f"# What each option of decode does\n\nMade by `.venv/bin/python -m benchmarks.options` "
        f"with the model of `make run`. `{SAME}` is the translation of the first table; the number "
        "is the log probability in nats.\n"
    )
    print("## As params.yaml says\n")
    print(table(plain, None))
    print(
        "The tokens of the last one: how likely each was (`token_log_probs`) and the token that it "
        "looked at (`alignment`).\n"
    )
    print(tokens(config, plain))
    for option in OPTIONS:
        print(f"## {option.title}\n\n{option.text} {setting(option)}\n")
        try:
            found = translate(option.applied(config))
        except HanyiError as error:
            print(f"Not possible here: {error}\n")
            continue
        print(table(found, plain, many=option.many))


def translate(config: DecodeConfig) -> list[Row]:
    """Translate the sentences."""
    loaded = load_engine(TRANSFORMER, TOKENIZERS, config, pick_device())
    return loaded.engine.translate(loaded.engine.read(SENTENCES), config)


def tokens(config: DecodeConfig, rows: Sequence[Row]) -> str:
    """Write the tokens of the last translation with their probabilities and what they look at."""
    loaded = load_engine(TRANSFORMER, TOKENIZERS, config, pick_device())
    sources, row = loaded.engine.read(SENTENCES)[-1:], rows[-1]
    (told,) = explain(loaded.model, sources, [row], tokens=config.batch_tokens, alignment=True)
    read = [*loaded.engine.src.tokens(sources[0].ids[0]), "(end)"]
    written = [*loaded.engine.tgt.tokens(row.best.tokens), "(end)"]
    lines = ["| token | probability | looks at |", "|---|---:|---|"]
    places = [read[place] for place in told.alignment]
    for token, log_prob, source in zip_longest(written, told.log_probs, places, fillvalue=""):
        lines.append(f"| {token} | {math.exp(log_prob):.2f} | {source} |")
    return "\n".join(lines) + "\n"


def setting(option: Option) -> str:
    """Write what is changed, as it would be given to dvc."""
    changes = {
        **option.changes,
        **{f"sampling.{key}": value for key, value in option.sampling.items()},
    }
    return "`" + ", ".join(f"{key}: {value}" for key, value in changes.items()) + "`"


def table(rows: Sequence[Row], plain: Sequence[Row] | None, *, many: bool = False) -> str:
    """Put translations beside their sources."""
    lines = ["| source | translation | log probability |", "|---|---|---:|"]
    for number, (source, row) in enumerate(zip(SENTENCES, rows, strict=True)):
        usual = plain[number].best.text if plain else None
        shown = row.n_best if many else [row.best]
        for place, one in enumerate(shown):
            told = SAME if not many and one.text == usual else cell(one, row)
            lines.append(f"| {source if not place else ''} | {told} | {one.log_prob:.2f} |")
    return "\n".join(lines) + "\n"


def cell(one: Translation, row: Row) -> str:
    """Write a translation and what is to be told of it."""
    notes = [] if one.finished else ["cut"]
    notes += [f"without {', '.join(row.unmet)}"] if row.unmet else []
    text = one.text.replace("|", "\\|") or "(nothing)"
    return f"{text} *({'; '.join(notes)})*" if notes else text


if __name__ == "__main__":
    main()
