"""What a build gave, on one screen: `python -m stages.summary`; not a stage of the pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hanyi.artifacts import read_metrics
from hanyi.errors import ArtifactError
from hanyi.metrics.lexical import LABELS
from hanyi.params import flatten
from hanyi.scoring.pairing import Pair, by_corpus, read_pairs
from stages.harness import one_line_errors
from stages.paths import CURVES, DECODED, FUNNEL, METRICS, PREPARED, REPORT

SAMPLES = 8
REASONS = 5  # of the rejected rows and of the repairs that are named
NEXT = (
    ("curves and runs", "make ui"),
    ("rows rejected", str(FUNNEL / "samples.md")),
    ("funnel", str(FUNNEL / "funnel.png")),
    ("learning curve", str(CURVES / "curve.png")),
    ("scores explained", str(REPORT / "report.html")),
    ("the run as a page", ".venv/bin/python -m stages.report"),
    ("translate", '.venv/bin/hanyi translate "我爱00700"'),
    ("see inside", ".venv/bin/hanyi serve"),
    ("another model", ".venv/bin/dvc exp run -S model.heads=4"),
    ("side by side", ".venv/bin/dvc exp show --only-changed"),
)


class Facts:
    """A stage's metrics file with flat names, which knows its own path for messages."""

    def __init__(self, stage: str) -> None:
        self.path = METRICS / f"{stage}.json"
        self.tree = read_metrics(self.path)
        self.flat = flatten(self.tree)

    def number(self, name: str) -> float:
        """Give one number; raise `ArtifactError` when it is not there."""
        value = self.flat.get(name)
        if not isinstance(value, int | float):
            raise ArtifactError(self.path, f"no {name}", "it there", "run `dvc repro`")
        return value

    def below(self, prefix: str) -> dict[str, float]:
        """Give the numbers whose names start with `prefix`, without it."""
        return {
            name.removeprefix(prefix): value
            for name, value in self.flat.items()
            if name.startswith(prefix) and isinstance(value, int | float)
        }


def main(console: Console) -> None:
    """Print rows, model, scores, translations and where to look next."""
    prepare, train, score = Facts("prepare"), Facts("train"), Facts("score")
    pairs = read_pairs(DECODED / "test.jsonl", PREPARED / "test.parquet")
    sections: tuple[tuple[str, list[RenderableType]], ...] = (
        ("What was built", [_built(prepare, train)]),
        ("Test scores", [_scores(score), *_signatures(score)]),
        ("Test translations", [_translations(choose(pairs, SAMPLES))]),
        ("Where to look next", [_grid(NEXT)]),
    )
    for title, parts in sections:
        console.print(Text(title, style="bold"))
        for part in parts:
            console.print(Padding(part, (0, 0, 0, 2), expand=False))
        console.print()


def choose(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Choose about `count` pairs, evenly spaced within each corpus and at least one of each."""
    groups = by_corpus(pairs)
    chosen: list[Pair] = []
    for place, group in enumerate(groups.values()):
        share = max(1, count // len(groups) + (place < count % len(groups)))
        share = min(share, len(group))
        chosen += [group[index * len(group) // share] for index in range(share)]
    return chosen


def _built(prepare: Facts, train: Facts) -> Table:
    best = train.below("best.")
    names = [name for name in (*LABELS, "loss") if name in best]
    scores = ", ".join(f"{LABELS.get(name, name)} {best[name]:.2f}" for name in names)
    rows = [
        *_rows(prepare),
        ("parameters", f"{train.number('parameters'):,}"),
        ("updates", f"{train.number('steps'):,}"),
        ("best on valid", f"{scores} at update {train.number('best.step'):,}"),
    ]
    return _grid(rows)


def _rows(prepare: Facts) -> list[tuple[str, str]]:
    read, kept, rejected = (prepare.number(f"rows.{name}") for name in ("read", "kept", "rejected"))
    share = f" ({kept / read:.1%})" if read else ""
    reasons = _frequent(prepare.below("rejected."))
    repairs: Counter[str] = Counter()
    for name, texts in prepare.below("repaired.").items():
        repairs[name.rpartition(".")[0]] += int(texts)
    rows = [
        ("rows read", f"{read:,}"),
        ("rows kept", f"{kept:,}{share}"),
        ("rows rejected", f"{rejected:,}" + (f" ({reasons})" if reasons else "")),
    ]
    if repairs.total():
        rows.append(("texts repaired", _frequent(repairs)))
    return rows


def _frequent(counts: Mapping[str, float]) -> str:
    found = sorted(
        ((name, count) for name, count in counts.items() if count),
        key=lambda item: (-item[1], item[0]),
    )
    parts = [f"{name} {count:,}" for name, count in found[:REASONS]]
    if rest := found[REASONS:]:
        parts.append(f"{len(rest)} more {sum(count for _, count in rest):,}")
    return ", ".join(parts)


def _scores(score: Facts) -> Table:
    names = [name for name, value in score.tree.items() if _is_score(value)]
    if not names:
        raise ArtifactError(score.path, "no score", "one at least", "run `dvc repro`")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("corpus", overflow="fold")
    for head in ["rows", *(LABELS.get(name, name) for name in names)]:
        table.add_column(head, justify="right")
    corpora: Mapping[str, Any] = score.tree.get("corpora", {})
    for corpus, part in [("all", score.tree), *corpora.items()]:
        cells = [f"{part.get('rows', 0):,}", *(_figure(part[name]) for name in names)]
        table.add_row(Text(corpus), *cells)
    return table


def _figure(value: Mapping[str, Any]) -> str:
    interval = f" ± {value['ci']:.2f}" if "ci" in value else ""
    return f"{value['score']:.2f}{interval}"


def _signatures(score: Facts) -> list[Text]:
    return [
        Text(f"{LABELS.get(name, name)}: {value['signature']}", style="dim")
        for name, value in score.tree.items()
        if _is_score(value)
    ]


def _is_score(value: object) -> bool:
    return isinstance(value, Mapping) and {"score", "signature"} <= set(value)


def _translations(pairs: Iterable[Pair]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for place, pair in enumerate(pairs):
        if place:
            table.add_row()
        table.add_row(Text(pair.corpus), Text(pair.source, style="cyan"))
        table.add_row("model", Text(pair.hypothesis, style="bold"))
        table.add_row("reference", Text(pair.reference))
    return table


def _grid(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


if __name__ == "__main__":
    with one_line_errors("summary"):
        main(Console(highlight=False))
