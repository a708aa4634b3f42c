"""The model card: what a model is, was made of, and is good for.

It is Markdown with the front matter that the Hugging Face hub reads, and a function of the files of
a run: no time, no machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hanyi.card import sections
from hanyi.card.examples import choose, table
from hanyi.card.facts import Facts, read_facts
from hanyi.card.files import RunFiles, Workspace
from hanyi.card.front import front_matter
from hanyi.card.licenses import of_model
from hanyi.card.limits import limits
from hanyi.errors import ParamsError
from hanyi.model.storage import read_description
from hanyi.revisions import Revision

if TYPE_CHECKING:
    from hanyi.translator import ModelFolder

__all__ = [
    "Facts",
    "RunFiles",
    "Workspace",
    "card_of",
    "examples",
    "read_facts",
    "write_card",
]

CARD = "README.md"
WIRING = "dvc.yaml"

INTENDED = (
    "It translates sentences of the kinds that it was trained on, for reading, study and research. "
    "It is not meant for texts whose wrong translation does harm, such as medical, legal or safety "
    "advice, unless a person who knows both languages checks them."
)


def write_card(facts: Facts, license_: str | None = None) -> str:
    """Give the card of a run's model; its licence follows from the data unless given."""
    stated = license_ or of_model(facts.trained_on)
    pair = " to ".join(facts.languages) if facts.languages else "text to text"
    name = "-".join(("hanyi", *(facts.languages or ())))
    lines = [f"# Translation from {pair}", "", *_body(facts, stated)]
    return front_matter(facts, name, stated) + "\n".join(lines).rstrip("\n") + "\n"


def card_of(folder: ModelFolder, license_: str | None = None) -> str:
    """Give the card of a model that was found: a bundle's own, else one written for it."""
    parent = folder.model.parent
    if (parent / CARD).is_file() and not (parent / WIRING).exists():
        if license_ is not None:
            raise ParamsError(
                "--license",
                f"{license_}, but {parent / CARD} is written",
                "a run, whose card is to be written",
                "leave it off, or change that file",
            )
        return (parent / CARD).read_text(encoding="utf-8")
    return write_card(read_facts(_files(folder), read_description(folder.model)), license_)


def _files(folder: ModelFolder) -> RunFiles:
    if folder.params is None:  # no project is known
        return Workspace(folder.model)
    return Revision(folder.revision, folder.home) if folder.revision else Workspace(folder.home)


def examples(facts: Facts) -> list[str]:
    """Give sources of the test split, of each corpus in turn, to try the model with."""
    return [one.source for one in choose(facts.sentences)] if facts.sentences is not None else []


def _body(facts: Facts, license_: str) -> Iterator[str]:
    chosen = choose(facts.sentences) if facts.sentences is not None else []
    yield from sections.use(chosen[0] if chosen else None)
    yield from ("## Intended use", "", INTENDED, "")
    yield from ("## Scores", "", *sections.scores(facts))
    yield from ("## Limits", "", *limits(facts))
    if chosen:
        yield from ("## Examples", "", "Rows of the test split, drawn by a hash of their ids.", "")
        yield from (*table(chosen), "")
    yield from ("## Data", "", *sections.data(facts))
    yield from (f"Licence of the model: {license_}.", "")
    yield from ("## Architecture", "", *sections.architecture(facts))
    yield from ("## Training", "", *sections.training(facts))
    yield from ("## Origin", "", *sections.origin(facts))
