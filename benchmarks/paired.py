"""Our translations beside another system's: `.venv/bin/python -m benchmarks.paired FILE`.

FILE holds the other system's translations of the test split, a line each, in order of id, which is
the order of a given test file. Prints BLEU and chrF of both, and the p-value of a paired bootstrap.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from sacrebleu import corpus_bleu, corpus_chrf

from benchmarks.ablation import hypotheses, p_value


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="the other system's translations")
    other = parser.parse_args().file.read_text(encoding="utf-8").splitlines()
    ours = list(hypotheses(Path()))
    test = pd.read_parquet("data/prepared/test.parquet").sort_values("id")
    references = test["tgt"].tolist()
    if not len(other) == len(ours) == len(references):
        sizes = f"{len(other)} lines, {len(ours)} translations, {len(references)} references"
        raise SystemExit(f"{sizes}: expected as many of each")
    print("| system | BLEU | chrF |\n|---|---|---|")
    for name, lines in (("ours", ours), ("the other", other)):
        bleu = corpus_bleu(lines, [references]).score
        print(f"| {name} | {bleu:.1f} | {corpus_chrf(lines, [references]).score:.1f} |")
    print(f"\np = {p_value(other, ours, references):.4f}")


if __name__ == "__main__":
    main()
