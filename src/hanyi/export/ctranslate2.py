"""A model for CTranslate2, with tokenizers beside it, ready for its Python and C++ library."""

from __future__ import annotations

import shutil
from pathlib import Path

from hanyi.artifacts import atomic_directory, write_text
from hanyi.decoding.conversion import Vocabularies, convert
from hanyi.decoding.ctranslate import POSITIONS
from hanyi.errors import ArtifactError
from hanyi.export.placing import require_room
from hanyi.tokens.bpe import Tokenizer
from hanyi.translator import ModelFolder, Translator

TYPES = ("float32", "int8", "float16", "bfloat16")
"""What weights can be written as: the smaller ones lose a little, verification says how much."""

MARKER = "model.bin"
CONTENTS = {
    MARKER,
    "README.md",
    "config.json",
    "source_vocabulary.json",
    "src.json",
    "target_vocabulary.json",
    "tgt.json",
    "verification.json",
}
SIDES = ("src", "tgt")

_USE = """# A translation model for CTranslate2

{kind} weights, written by Hanyi. `src.json` and `tgt.json` are the tokenizers.

```python
import ctranslate2
import tokenizers

src = tokenizers.Tokenizer.from_file("src.json")
tgt = tokenizers.Tokenizer.from_file("tgt.json")
translator = ctranslate2.Translator(".")
found = translator.translate_batch([src.encode("...").tokens], beam_size={beams})
print(tgt.decode([tgt.token_to_id(token) for token in found[0].hypotheses[0]]))
```

A source has at most {most} tokens in training; cut longer texts into sentences. Texts are expected
in Unicode's form NFC.
"""


def export_ctranslate2(translator: Translator, target: Path, kind: str) -> None:
    """Publish the model in `target` with weights of a type of `TYPES`; equal bytes each time.

    Raises `ArtifactError` where `target` holds something else.
    """
    require_single(translator)
    require_room(target, MARKER, CONTENTS)
    with atomic_directory(target) as made:
        convert(
            translator.model,
            made,
            POSITIONS,
            vocabularies=vocabularies(translator.src, translator.tgt),
            quantization=None if kind == "float32" else kind,
        )
        copy_tokenizers(translator.folder, made)
        use = _USE.format(kind=kind, beams=translator.config.beam_size, most=translator.max_tokens)
        write_text(made / "README.md", use)


def vocabularies(src: Tokenizer, tgt: Tokenizer) -> Vocabularies:
    """Give the names by which the tokenizers themselves call their tokens."""
    return src.pieces(), tgt.pieces()


def copy_tokenizers(folder: ModelFolder, target: Path) -> None:
    """Put both tokenizers into an existing directory."""
    for side in SIDES:
        shutil.copyfile(folder.tokenizers / f"{side}.json", target / f"{side}.json")


def require_single(translator: Translator) -> None:
    """Raise `ArtifactError` for several models that translate together."""
    if others := translator.config.ensemble:
        raise ArtifactError(
            "decode.ensemble",
            f"{len(others)} more models",
            "one model to export",
            "export each by --model, or set decode.ensemble to []",
        )
