"""The sections of a card; each gives its lines, none where a run does not say."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from hanyi.analysis.tables import Cell, Column, Kind, Table, markdown
from hanyi.card.examples import Example, plain
from hanyi.card.facts import Facts
from hanyi.card.licenses import Source
from hanyi.metrics.lexical import LABELS
from hanyi.params import flatten

TEXT, COUNT, SCORE = Kind.TEXT, Kind.COUNT, Kind.SCORE
SPLITS = ("train", "valid", "test")


def use(example: Example | None) -> Iterator[str]:
    """Say how to translate with it."""
    text = example.source if example else "00700"
    yield from (
        "In the folder that holds this card, with Hanyi installed:",
        "",
        "```",
        f"hanyi translate --model . {shlex.quote(text)}",
        "```",
        "",
        "```python",
        "from hanyi.translator import Translator",
        "",
        'translator = Translator.load(".")',
        f"translator.translate([{json.dumps(text, ensure_ascii=False)}])[0].text",
        "```",
        "",
    )


def scores(facts: Facts) -> Iterator[str]:
    """Give the scores of all test rows and of each corpus, with what they were measured by."""
    score = facts.metrics.get("score")
    if score is None:
        yield "This model was not scored: there are no translations of the test split made with it."
        yield ""
        return
    names = [name for name, value in score.items() if _is_score(value)]
    columns = [Column("", "test split", TEXT), Column("", "rows", COUNT)]
    columns += [Column("", LABELS.get(name, name), SCORE) for name in names]
    parts = {"all": score, **score.get("corpora", {})}
    rows = [
        [corpus, part["rows"], *(_with_interval(part[name]) for name in names)]
        for corpus, part in parts.items()
    ]
    yield from (*_table(columns, rows), "")
    yield "±: 95% confidence interval, by bootstrap over the test rows. Signatures of sacreBLEU:"
    yield ""
    yield from (f"* {LABELS.get(name, name)}: `{score[name]['signature']}`" for name in names)
    yield ""


def data(facts: Facts) -> Iterator[str]:
    """Say what it was trained on: sources, licences, rows, and what became of the rows."""
    if not facts.sources:
        yield from ("The data it was trained on are not known here.", "")
        return
    columns = [Column("", head, TEXT) for head in ("corpus", "source", "licence")]
    yield from (*_table(columns, [_source(one) for one in facts.sources]), "")
    prepare = facts.metrics.get("prepare", {})
    if corpora := prepare.get("corpora"):
        weights = {str(one["name"]): one.get("weight") for one in _corpora(facts)}
        columns = [Column("", "corpus", TEXT), *(Column("", name, COUNT) for name in SPLITS)]
        columns.append(Column("", "times in an epoch", TEXT))
        rows: list[list[Cell]] = [
            [name, *(part.get(split, 0) for split in SPLITS), f"{weights.get(name) or 1:g}"]
            for name, part in corpora.items()
        ]
        rows.append(["all", *(prepare["splits"].get(split, 0) for split in SPLITS), ""])
        yield from ("Rows after cleaning:", "", *_table(columns, rows), "")
    if counts := prepare.get("rows"):
        taken = {name: rows for name, rows in prepare.get("rejected", {}).items() if rows}
        reasons = ", ".join(f"{name} {rows:,}" for name, rows in _largest(taken))
        yield (
            f"Of {counts['read']:,} rows read, {counts['rejected']:,} were left out"
            + (f" ({reasons})" if reasons else "")
            + ". No sentence of the valid and test splits is in train."
        )
        yield ""
    if encoded := facts.metrics.get("encode", {}).get("train"):
        src, tgt = encoded["src_tokens"], encoded["tgt_tokens"]
        yield f"Train has {src:,} source tokens and {tgt:,} target tokens."
        yield ""


def architecture(facts: Facts) -> Iterator[str]:
    """Give sizes and switches of the model."""
    model = facts.model
    rows: list[list[Cell]] = [
        [name, _value(value)] for name, value in dataclasses.asdict(model.model).items()
    ]
    rows += [
        ["source vocabulary, tokens", f"{model.src_vocab:,}"],
        ["target vocabulary, tokens", f"{model.tgt_vocab:,}"],
        ["longest sentence in training, tokens", f"{model.max_tokens:,}"],
    ]
    train = facts.metrics.get("train", {})
    if "parameters" in train:
        rows.insert(0, ["parameters", f"{train['parameters']:,}"])
    yield "An encoder-decoder Transformer (Vaswani et al. 2017) with byte-level BPE on either side."
    yield from (
        "",
        *_table([Column("", head, TEXT) for head in ("size or switch", "value")], rows),
        "",
    )


def training(facts: Facts) -> Iterator[str]:
    """Give what the training came to, and every parameter of the run."""
    train = facts.metrics.get("train", {})
    if "steps" in train:
        best = train.get("best", {})
        names = [name for name in (*LABELS, "loss") if name in best]
        found = ", ".join(f"{LABELS.get(name, name)} {best[name]:.2f}" for name in names)
        yield (
            f"{train['steps']:,} updates over {train['epochs']:,} epochs; best on the valid split "
            f"at update {best.get('step', 0):,}: {found}."
        )
        yield ""
    if facts.params:
        rows: list[list[Cell]] = [
            [name, _value(value)] for name, value in flatten(facts.params).items()
        ]
        columns = [Column("", "parameter", TEXT), Column("", "value", TEXT)]
        yield from ("<details><summary>All parameters</summary>", "", *_table(columns, rows))
        yield from ("", "</details>", "")


def origin(facts: Facts) -> Iterator[str]:
    """Say from what it can be built again: revision, packages, digests."""
    if facts.revision:
        state = "with changes that are not committed" if facts.changed else "`dvc repro` builds it"
        yield f"* git revision `{facts.revision}`, {state}"
    model = facts.model
    yield f"* digest of the weights `{model.weights}` (BLAKE2b, 128 bits)"
    yield f"* digests of the tokenizers `{model.src_tokenizer}`, `{model.tgt_tokenizer}`"
    if facts.pins:
        pins = ", ".join(f"{name} {version}" for name, version in facts.pins.items())
        yield f"* packages as `requirements.lock` pins them: {pins}"
    yield ""
    if facts.outputs:
        columns = [Column("", "stage", TEXT), Column("", "path", TEXT), Column("", "md5", TEXT)]
        columns += [Column("", "bytes", COUNT), Column("", "files", COUNT)]
        rows: list[list[Cell]] = [
            [one.stage or "your files", f"`{one.path}`", f"`{one.md5}`", one.size, one.files]
            for one in facts.outputs
        ]
        yield from ("Files in `dvc.lock`:", "", *_table(columns, rows), "")


def _source(one: Source) -> list[Cell]:
    origin_ = f" ({one.origin})" if one.origin else ""
    return [one.corpus, f"`{one.source}`{origin_}", one.license or "not stated"]


def _corpora(facts: Facts) -> list[Mapping[str, Any]]:
    return list(facts.params.get("fetch", {}).get("corpora", []))


def _largest(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _is_score(value: object) -> bool:
    return isinstance(value, Mapping) and {"score", "signature"} <= set(value)


def _with_interval(value: Mapping[str, Any]) -> str:
    return f"{value['score']:.2f}" + (f" ± {value['ci']:.2f}" if "ci" in value else "")


def _value(value: object) -> str:
    return plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _table(columns: list[Column], rows: list[list[Cell]]) -> list[str]:
    return markdown(Table("", "", "", columns, rows))
