"""What people call the columns of a parallel corpus, to find a header row that was left on."""

from __future__ import annotations

_NAMES = frozenset(
    """
    source target src tgt trg source-text target-text src-text tgt-text source-sentence
    target-sentence input output sentence sentence1 sentence2 text text1 text2 original translation
    translated query question answer key value lang1 lang2 language1 language2 l1 l2 id
    原文 译文 譯文 源 目标 目標 源文 源语言 目标语言 句子 翻译 翻譯
    english chinese mandarin cantonese french german spanish portuguese italian russian japanese
    korean arabic hindi turkish vietnamese thai indonesian dutch polish czech ukrainian greek hebrew
    中文 汉语 漢語 国语 國語 普通话 华语 英文 英语 英語 法语 德语 日语 日文 韩语 俄语
    en eng en-us en-gb zh zho cmn chi cn zh-cn zh-tw zh-hans zh-hant fr fra de deu es spa pt por it
    ita ru rus ja jpn ko kor ar ara hi hin tr tur vi vie th tha id ind nl nld pl pol cs ces uk ukr
    el ell he heb
    """.split()  # noqa: SIM905 (a list of them is ten times as long)
)


def looks_like_names(src: str, tgt: str) -> bool:
    """Tell whether both cells are what people call the columns of a parallel corpus."""
    return all(
        cell.strip().strip("\"'").strip().casefold().replace("_", "-").replace(" ", "-") in _NAMES
        for cell in (src, tgt)
    )
