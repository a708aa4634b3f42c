"""Test sets by the names that sacrebleu gives them: `sacrebleu:wmt17`."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

from hanyi.corpus.sources.archives import BROKEN
from hanyi.errors import DataError
from hanyi.languages import Languages, matches

log = logging.getLogger("hanyi.corpus")


def fetch_test_set(name: str, languages: Languages, where: str) -> tuple[Path, Path]:
    """Give source and (first) reference file of a test set, through sacrebleu and its cache.

    Raises `DataError` for an unknown set, one without this pair of languages, and one that is not
    in the cache and cannot be downloaded.
    """
    from sacrebleu import utils  # a quarter of a second
    from sacrebleu.dataset import DATASETS

    if name not in DATASETS:
        pairs = _fitting(DATASETS, languages)
        raise DataError(
            f"{where}.source", f"sacrebleu:{name}", "a test set that sacrebleu knows",
            f"for {languages.src}-{languages.tgt} name one of {', '.join(pairs) or 'none'}",
        )  # fmt: skip
    pair = _pair(list(DATASETS[name].langpairs), languages)
    if pair is None:
        raise DataError(
            f"{where}.source", f"sacrebleu:{name} without {languages.src}-{languages.tgt}",
            f"one of its pairs {', '.join(sorted(DATASETS[name].langpairs))}",
            "name another test set or set `languages`",
        )  # fmt: skip
    folder = Path(utils.SACREBLEU_DIR) / name
    try:
        source = Path(utils.get_source_file(name, pair))
        references = [Path(file) for file in utils.get_reference_files(name, pair)]
    except (SystemExit, *BROKEN):  # the first is how sacrebleu tells a wrong checksum
        shutil.rmtree(folder / "raw", ignore_errors=True)  # it would take the file for whole
        found = "a broken download, or one whose checksum is wrong; it was removed"
        raise _unusable(name, found, folder, "look at the network") from None
    except OSError as error:  # also what urllib raises
        found = f"not in {folder}, and no download: {error}"
        raise _unusable(name, found, folder, "look at the network") from None
    if not references:
        raise _unusable(name, f"no reference for {pair}", folder, "name another test set")
    if len(references) > 1:
        log.info("sacrebleu:%s: the first of %d references is taken", name, len(references))
    return source, references[0]


def _pair(pairs: list[str], languages: Languages) -> str | None:
    """Give the pair in this very direction: the other one's source is a translation."""
    for pair in pairs:
        src, _, tgt = pair.partition("-")
        if matches(languages.src, src) and matches(languages.tgt, tgt):
            return pair
    return None


def _fitting(sets: dict[str, Any], languages: Languages) -> list[str]:
    return sorted(name for name, one in sets.items() if _pair(list(one.langpairs), languages))


def _unusable(name: str, found: str, folder: Path, remedy: str) -> DataError:
    return DataError(
        f"sacrebleu:{name}", found, f"its files in {folder}", f"{remedy} and run again"
    )
