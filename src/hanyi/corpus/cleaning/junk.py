"""Filters for text that is no translation: copies, broken characters, addresses, lists of words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
import pyarrow.compute as pc

from hanyi.corpus.cleaning.blocks import Block, Mask, Side
from hanyi.corpus.cleaning.characters import Class
from hanyi.corpus.cleaning.traits import Trait
from hanyi.params import at_least, config

_SPACE = ord(" ")

# Bytes 80 to BF of UTF-8, which begin no character, as Windows-1252 and Latin-1 show them.
_REST = "\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
_UNDECODED = re.compile(
    "|".join(
        [
            "[\ufffd\x80-\x84\x86-\x9f]",  # put for unreadable bytes; C1 controls
            f"â€[{_REST}]",  # UTF-8 quotes and dashes
            f"[ÂÃ][{_REST}]",  # UTF-8 letters with accents, and signs
            f"(?:[ä-é][{_REST}]{{2}}){{2}}",  # UTF-8 Han
            f"(?:[ÐÑ][{_REST}]){{2}}",  # UTF-8 Cyrillic
            "[À-ÖØ-ö][¡-þ][°-÷][¡-þ]",  # GBK as Latin-1
            "锟斤拷|烫烫烫|屯屯屯|銆|鈥",  # U+FFFD, bytes of no text, and UTF-8 punctuation as GBK
        ]
    )
)

# ASCII alone: in 见https://a.org/ no space parts the sentence from the address.
_HOST = r"(?:[\w-]+\.)+[A-Za-z]{2,}"
_LINK = re.compile(
    rf"""(?:[A-Za-z][A-Za-z0-9+.-]*://|www\.)[!-~]+  # any scheme, or none
    | (?:mailto:)?[\w.+-]+@{_HOST}                  # e-mail
    | {_HOST}(?::\d+)?/[!-~]*
    | (?:~|\.\.?)?(?:/[\w.~+%-]+){{2,}}/?             # path
    | [A-Za-z]:\\[!-~]* | \\\\[!-~]+ | %\w+%\\[!-~]*  # path of Windows
    """,
    re.VERBOSE | re.ASCII,
)
_BRACKETS = "<>()[]{}\"'“”‘’（）《》【】,.;，。；"

# As dictionaries write them: (n.), adj. at the start, CL:, (fig.), abbr. for, variant of.
_DICTIONARY = (
    r"\((?:(?:n|v|a|lit|fig|coll)\.|(?:vt|vi|adj|adv|prep|conj|pron|interj|abbr|bound form)\.?)\)"
    r"|^(?:n|v|vt|vi|adj|adv|prep|conj|pron|interj|abbr|lit|fig)\. ?[a-z]"
    r"|(?:^|[ /,;(])CL:|(?:^|[/(])(?:old )?variant of |(?:^|[ /(])abbr\. (?:for|to) "
)
_SENTENCE_MARKS = frozenset(".!?;:,…。！？；：，、．")


@config
class Identical:
    """Reject a pair whose sides are the same but for case: nothing was translated."""

    rule: Literal["identical"]
    spares_given: ClassVar[bool] = True

    def objects(self, block: Block) -> Mask:
        """Compare the sides that are equally long and have as many letters of each script."""
        src, tgt = block.src, block.tgt
        suspects = np.asarray(src.lengths == tgt.lengths)
        rows = np.flatnonzero(suspects)
        suspects[rows] = (src.counts[rows] == tgt.counts[rows]).all(axis=1)
        return block.confirmed(suspects, lambda one, other: one.lower() == other.lower())


@config
class Undecoded:
    """Reject a pair with text that was read in a wrong encoding at some time, such as `â€™`."""

    rule: Literal["undecoded"]
    spares_given: ClassVar[bool] = True

    def objects(self, block: Block) -> Mask:
        """Find U+FFFD, C1 controls, and what UTF-8 and GBK look like in other encodings."""
        return _either(block, lambda side: side.has(Trait.MISREAD), _UNDECODED.search)


@config
class Url:
    """Reject a pair with a side that is only a web address, an e-mail address or a path."""

    rule: Literal["url"]
    spares_given: ClassVar[bool] = True

    def objects(self, block: Block) -> Mask:
        """Find sides of one word that looks like an address or a path."""
        return _either(block, _is_word, lambda text: _LINK.fullmatch(text.strip(_BRACKETS)))


def _is_word(side: Side) -> Mask:
    return side.has(Trait.LINKING) & ~side.has(Trait.SPACE)


@config
class Repeats:
    """Reject a pair in which a character stands more than `most` times in a row.

    Digits do not count. All may have a space between them: `. . . . .` is a row of five.
    """

    rule: Literal["repeats"]
    most: int
    spares_given: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range."""
        at_least("most", self.most, 1)

    def objects(self, block: Block) -> Mask:
        """Look closely at sides in which every few characters are the same."""
        row = re.compile(rf"([^\s\d])(?:\1{{{self.most}}}|(?: \1){{{self.most}}})")
        return _either(block, self._suspects, row.search)

    def _suspects(self, side: Side) -> Mask:
        # A row with spaces has all but one of them two places after another.
        spaces = side.classes == Class.SPACE
        between = np.flatnonzero(spaces[:-2] & spaces[2:])
        found = np.bincount(side.row_of[between], minlength=side.rows) >= self.most - 1
        # Without spaces, some samples at equal distances are certain to lie in it and be the same.
        size = self.most + 1
        step = max(1, size // 4)
        samples = min(size // step, 4)
        chars = side.codes[::step]
        same = (chars[1:] == chars[:-1]) & (chars[1:] != _SPACE)
        places = len(same) - samples + 2
        if places > 0:
            start = np.logical_and.reduce([same[n : n + places] for n in range(samples - 1)])
            found[side.row_of[np.flatnonzero(start) * step]] = True
        return np.asarray(found)


@config
class Fragments:
    """Reject a pair that is an entry of a dictionary or the like, no sentence.

    That is: no comma, full stop or other sentence mark on either side and at most `words` words on
    each, counted as rule `words` does; or a mark of dictionaries, such as `(n.)`, `adj.` or `CL:`.
    """

    rule: Literal["fragments"]
    words: int
    spares_given: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range."""
        at_least("words", self.words, 0)

    def objects(self, block: Block) -> Mask:
        """Count words, then look for marks."""
        found = np.ones(block.src.rows, np.bool_)
        for side in (block.src, block.tgt):
            found &= side.words <= self.words
        for side in (block.src, block.tgt):
            rows = np.flatnonzero(found & (side.counts[:, Class.PUNCTUATION] > 0))
            found[rows] = [_SENTENCE_MARKS.isdisjoint(text) for text in side.strings(rows)]
        for side in (block.src, block.tgt):
            found |= np.asarray(pc.match_substring_regex(side.text, _DICTIONARY), np.bool_)
        return found


def _either(block: Block, suspects: Callable[[Side], Mask], test: Callable[[str], object]) -> Mask:
    """Tell the pairs of which either side is a suspect and passes a test."""
    found = np.zeros(block.src.rows, np.bool_)
    for side in (block.src, block.tgt):
        rows = np.flatnonzero(suspects(side) & ~found)
        found[rows] = [bool(test(text)) for text in side.strings(rows)]
    return found
