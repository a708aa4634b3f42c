"""What the tests of readers share: inputs with the settings of params.yaml, and rows as tuples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hanyi.corpus.formats import Format
from hanyi.corpus.formats.inputs import Input, Reading
from hanyi.corpus.tables import ROW_GROUP, ROWS, Row
from hanyi.languages import Languages

DEFAULTS = Reading(
    format="auto", encoding="auto", delimiter="auto", src_column=1, tgt_column=0, header=False
)


def make_input(*paths: Path, src: str = "zh", tgt: str = "en", **reading: object) -> Input:
    return Input(
        paths=paths,
        names=tuple(path.name for path in paths),
        reading=replace(DEFAULTS, **reading),  # type: ignore[arg-type]
        languages=Languages(src=src, tgt=tgt),
        section="fetch.reading",
    )


def read_rows(reader: Format, file: Input) -> list[Row]:
    """Inspect and read; check what holds for every reader."""
    rows = []
    for block in reader.read(reader.inspect(file)):
        assert block.schema.equals(ROWS)
        assert 0 < block.num_rows <= ROW_GROUP
        block.validate(full=True)
        rows += [Row(**row) for row in block.to_pylist()]
    for row in rows:
        assert row.line >= 1
        assert None not in (row.src, row.tgt)
        assert row.fault is None or (row.fault in reader.REASONS and row.tgt == "")  # type: ignore[attr-defined]
    return rows
