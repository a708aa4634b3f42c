"""What people call the columns of a parallel corpus, to find a header row that was left on."""

from __future__ import annotations

import re

_NAMES = frozenset(
    """
    source target src tgt trg input output sentence sentence1 sentence2 text text1 text2 original
    translation translated query question answer key value lang1 lang2 language1 language2 l1 l2 id
    原文 译文 譯文 源 目标 目標 源文 源语言 目标语言 句子 翻译 翻譯
    english chinese mandarin cantonese french german spanish portuguese italian russian japanese
    korean arabic hindi turkish vietnamese thai indonesian dutch polish czech ukrainian greek hebrew
    中文 汉语 漢語 国语 國語 普通话 华语 英文 英语 英語 法语 德语 日语 日文 韩语 俄语
    en eng us gb zh zho cmn chi cn tw hans hant fr fra de deu es spa pt por it
    ita ru rus ja jpn ko kor ar ara hi hin tr tur vi vie th tha id ind nl nld pl pol cs ces uk ukr
    el ell he heb
    """.split()  # noqa: SIM905 (a list of them is ten times as long)
)


def looks_like_names(src: str, tgt: str) -> bool:
    """Tell whether both cells are what people call the columns of a parallel corpus.

    A cell may join several such words: `zh-CN`, `source_text`, `Sentence (EN)`.
    """
    return all(_is_name(cell) for cell in (src, tgt))


def _is_name(cell: str) -> bool:
    # A full stop parts nothing: "Hi." is a sentence, "hi" is Hindi.
    words = re.sub(r"[\s_/()\"'-]+", " ", cell.casefold()).split()
    return bool(words) and all(word in _NAMES for word in words)
