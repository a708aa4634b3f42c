"""What a reader can hold the scores against: `.venv/bin/python -m benchmarks.baselines`.

After a build it scores, on the same test rows with the same settings, two systems that have learnt
nothing: one copies the translation of the training sentence whose source is most alike, one is the
model of params.yaml with random weights. It prints a Markdown table with the trained model beside.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from hanyi.languages import Languages
from hanyi.metrics.lexical import QUICK, score_all
from hanyi.metrics.tokenizers import bleu_tokenizer
from hanyi.params import load_section
from hanyi.scoring.pairing import Pair, by_corpus, read_pairs
from stages.paths import DECODED, PREPARED, TOKENIZERS

NGRAMS = (1, 3)  # characters
ROWS_AT_ONCE = 256

Translate = Callable[[Sequence[str]], list[str]]


def copy_nearest(sources: Sequence[str]) -> list[str]:
    """Give the target of the training row whose source has the nearest TF-IDF of characters."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # comes with MLflow

    train = pq.read_table(PREPARED / "train.parquet", columns=["src", "tgt"]).to_pydict()
    weights = TfidfVectorizer(analyzer="char", ngram_range=NGRAMS, sublinear_tf=True)
    known = weights.fit_transform(train["src"]).T.tocsc()
    nearest: list[int] = []
    for start in range(0, len(sources), ROWS_AT_ONCE):
        alike = weights.transform(sources[start : start + ROWS_AT_ONCE]) @ known
        nearest += np.asarray(alike.argmax(axis=1)).ravel().tolist()
    return [train["tgt"][row] for row in nearest]


def untrained(sources: Sequence[str]) -> list[str]:
    """Translate greedily with the model of params.yaml as it is before its first update."""
    import torch

    from hanyi.decoding.config import PLAIN
    from hanyi.decoding.engine import translate_ids
    from hanyi.model.config import ModelConfig
    from hanyi.model.transformer import Transformer
    from hanyi.tokens.bpe import Tokenizer

    src, tgt = (Tokenizer.load(TOKENIZERS / f"{side}.json") for side in ("src", "tgt"))
    torch.manual_seed(1)
    model = Transformer(load_section("model", ModelConfig), src.size, tgt.size)
    search = replace(PLAIN, beam_size=1, max_length_ratio=1.0, max_length_offset=5)
    found = translate_ids(model, src.encode_batch(list(sources)), search, tokens=4000)
    return [tgt.decode(hypotheses[0].tokens) for hypotheses in found]


def table(pairs: Sequence[Pair], systems: dict[str, Translate], tokenize: str) -> str:
    """Score each system on all rows and on each corpus; give a Markdown table."""
    places = {pair.id: place for place, pair in enumerate(pairs)}
    groups = {"all": list(pairs), **by_corpus(pairs)}
    heads = [f"{corpus} {metric}" for corpus in groups for metric in ("BLEU", "chrF")]
    rows = [["system", *heads], ["---", *["---:"] * len(heads)]]
    for name, translate in systems.items():
        texts = translate([pair.source for pair in pairs])
        row = [name]
        for group in groups.values():
            hypotheses = [texts[places[pair.id]] for pair in group]
            scores = score_all(hypotheses, [pair.reference for pair in group], tokenize, QUICK)
            row += [f"{scores[metric].score:.1f}" for metric in ("bleu", "chrf")]
        rows.append(row)
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    """Print the table for the build in the working directory."""
    if not Path("params.yaml").exists():
        raise SystemExit("run it from the project's root")
    pairs = read_pairs(DECODED / "test.jsonl", PREPARED / "test.parquet")
    systems: dict[str, Translate] = {
        "untrained model": untrained,
        "copy of the most similar training sentence": copy_nearest,
        "trained model": lambda _: [pair.hypothesis for pair in pairs],
    }
    target = load_section("languages", Languages).tgt
    tokenize = bleu_tokenizer(load_section("score.tokenize", str), target)
    sys.stdout.write(table(pairs, systems, tokenize))


if __name__ == "__main__":
    main()
