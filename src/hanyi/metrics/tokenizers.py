"""Which of sacrebleu's tokenizers BLEU takes for a target language.

BLEU counts words, so a language that is written without spaces needs a tokenizer that finds them,
or one that cuts characters; with another one the figure is no more comparable than it is right.
"""

from __future__ import annotations

from sacrebleu.metrics.bleu import BLEU

from hanyi.errors import ParamsError
from hanyi.languages import language
from hanyi.params import one_of

AUTO = "auto"
OWN = {
    **dict.fromkeys(("zh", "yue", "wuu", "lzh", "nan", "hak"), "zh"),
    "ja": "ja-mecab",
    "ko": "ko-mecab",
}
"""Languages with a tokenizer of their own, as sacrebleu takes it for its test sets."""
UNSPACED = frozenset({"bo", "dz", "km", "lo", "my", "th"})
"""Other languages without spaces between words: characters are counted."""
SPACED = ("13a", "intl", "none")
"""Tokenizers that part words at spaces; Korean has them, so it may take these too."""
PIECES = ("char", "spm", "flores101", "flores200", "spBLEU-1K")
"""Tokenizers for every language: characters, or pieces of a model that sacrebleu downloads."""
KEY = "score.tokenize"


def check_tokenizer(name: str) -> None:
    """Raise `ValueError` for a name that is neither `auto` nor one of sacrebleu's."""
    one_of("tokenize", name, (AUTO, *BLEU.TOKENIZERS))


def bleu_tokenizer(name: str, target: str) -> str:
    """Give sacrebleu's name of the tokenizer for a target language (BCP 47).

    Raises `ParamsError` for an unknown name and for one that does not suit the language.
    """
    code = language(target)
    usual = OWN.get(code, "char" if code in UNSPACED else "13a")
    if name == AUTO:
        return usual
    suited = _suited(code)
    if name not in BLEU.TOKENIZERS:
        raise ParamsError(KEY, name, f"auto or one of {', '.join(BLEU.TOKENIZERS)}", "take one")
    if name not in suited:
        raise ParamsError(
            KEY,
            f"{name} for {target}",
            f"auto ({usual}) or one of {', '.join(suited)}",
            "set it or mend languages.tgt",
        )
    return name


def _suited(code: str) -> tuple[str, ...]:
    own = (OWN[code],) if code in OWN else ()
    parted = code == "ko" or code not in UNSPACED | set(OWN)
    spaced = SPACED if parted else ()
    return (*own, *spaced, *PIECES)
