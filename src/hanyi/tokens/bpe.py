"""Byte-level BPE, one tokenizer for each language (Sennrich et al. 2016; bytes as in GPT-2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers, trainers

from hanyi.artifacts import digest_bytes, write_text
from hanyi.errors import ArtifactError, DataError, ParamsError
from hanyi.params import config
from hanyi.tokens.flat import Flat
from hanyi.tokens.vocab import LARGEST, SMALLEST, SPECIALS

REMEDY = "run `dvc repro tokenizers`"

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
"""Scripts that put no space between words: a whole clause would count as one word."""

LONGEST_WORD = 64
"""Characters; longer runs of other scripts, of signs or of digits are no words."""

FEWEST_PAIRS = 2
"""A pair of pieces seen once teaches nothing, so it is not merged."""


@config
class BpeConfig:
    """How one tokenizer is trained."""

    vocab: int
    max_word_chars: int
    max_digits: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_vocab("vocab", self.vocab)
        check_word_chars(self.max_word_chars)
        check_digits(self.max_digits)


def check_vocab(name: str, tokens: int) -> None:
    """Raise `ValueError` unless a vocabulary can spell any byte and its ids fit `uint16`."""
    if not SMALLEST <= tokens <= LARGEST:
        raise ValueError(
            f"{name} must be {SMALLEST} (4 special tokens and 256 bytes) to {LARGEST}, got {tokens}"
        )


def check_word_chars(chars: int) -> None:
    """Raise `ValueError` unless words are bounded by a number that makes sense."""
    if not 1 <= chars <= LONGEST_WORD:
        raise ValueError(f"max_word_chars must be 1 to {LONGEST_WORD}, got {chars}")


def check_digits(digits: int) -> None:
    """Raise `ValueError` unless the digits of a token are bounded by a number that makes sense."""
    if not 1 <= digits <= LONGEST_WORD:
        raise ValueError(f"max_digits must be 1 to {LONGEST_WORD}, got {digits}")


def word_pattern(max_word_chars: int, max_digits: int) -> str:
    """Give the regular expression whose matches are the words, inside which pieces are merged.

    A word is at most `max_word_chars` of an unspaced script; or an apostrophe with up to two final
    letters ('s, 'll); or letters or signs, with one space before them; or at most `max_digits`
    digits, without it, so that a number has the same tokens in both languages; or white space.
    Letters never join signs, so no piece can spell a special token such as `<eos>`.
    """
    other = r"\p{L}\p{M}"
    return "|".join(
        [
            rf"[{UNSPACED}]{{1,{max_word_chars}}}",
            rf"['’][\p{{L}}&&[^{UNSPACED}]]{{1,2}}(?![{other}])",
            rf" ?[{other}&&[^{UNSPACED}]]{{1,{LONGEST_WORD}}}",
            rf"\p{{N}}{{1,{max_digits}}}",
            rf" ?[^\s{other}\p{{N}}]{{1,{LONGEST_WORD}}}",
            r"\s",
        ]
    )


def train_tokenizer(
    texts: Iterable[str] | Iterable[list[str]],
    config: BpeConfig,
    where: str = "params.yaml: tokenizers.vocab",
) -> Tokenizer:
    """Train a tokenizer on texts, or on lists of texts.

    Equal texts in equal order give equal bytes, whatever the threads.
    Raises `ParamsError`, which names `where`, when the texts do not give as many tokens as asked.
    """
    bpe = tokenizers.Tokenizer(models.BPE())
    pattern = word_pattern(config.max_word_chars, config.max_digits)
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=config.vocab,
            min_frequency=FEWEST_PAIRS,
            special_tokens=list(SPECIALS),
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        ),
    )
    reached = bpe.get_vocab_size()
    if reached < config.vocab:
        raise ParamsError(
            where,
            f"{config.vocab} tokens, but the train split gives {reached}",
            "a vocabulary that the corpus can fill",
            f"set {reached} or fewer, or add text",
        )
    return Tokenizer(bpe.to_str())


class Tokenizer:
    """A trained byte-level BPE: any text to ids and back, character for character."""

    def __init__(self, text: str, where: object = "tokenizer", remedy: str = REMEDY) -> None:
        """Build from the JSON of a tokenizers file; raise `ArtifactError` when it is another's."""
        try:
            self._bpe = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # noqa: BLE001  the binding raises plain Exception
            raise ArtifactError(where, f"{error}", "a tokenizers JSON file", remedy) from None
        # Else text that spells "<eos>" would become the special token.
        self._bpe.encode_special_tokens = True
        self._text = text
        self.digest = digest_bytes(text.encode("utf-8"))
        self.size: int = self._bpe.get_vocab_size()
        found = tuple(self._bpe.id_to_token(number) for number in range(len(SPECIALS)))
        alphabet = all(self._bpe.token_to_id(byte) for byte in pre_tokenizers.ByteLevel.alphabet())
        if found != SPECIALS or not alphabet or self.size > LARGEST:
            raise ArtifactError(
                where,
                f"a vocabulary of {self.size} that starts with {found}",
                f"{' '.join(SPECIALS)} and all bytes",
                remedy,
            )

    @classmethod
    def load(cls, path: Path, remedy: str = REMEDY) -> Tokenizer:
        """Read a tokenizers JSON file; raise `ArtifactError` when it is missing or no such file."""
        try:
            text = path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            raise ArtifactError(path, "no such file", "a tokenizer", remedy) from None
        except UnicodeDecodeError:
            raise ArtifactError(path, "no UTF-8", "a tokenizers JSON file", remedy) from None
        return cls(text, where=path, remedy=remedy)

    def save(self, path: Path) -> None:
        """Publish the tokenizer as a tokenizers JSON file, whose digest is `digest`."""
        write_text(path, self._text)

    def encode(self, text: str) -> list[int]:
        """Give the ids of a text, without special tokens."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the ids of each text, without special tokens; uses all cores.

        Raises `DataError` for a text with half a surrogate pair, which no encoding can hold.
        """
        return [encoding.ids for encoding in self._encodings(texts)]

    def encode_flat(self, texts: Sequence[str]) -> Flat:
        """Give the ids of many texts one after another, as `encode_batch`; threads may share it."""
        return Flat.of([encoding.ids for encoding in self._encodings(texts)])

    def _encodings(self, texts: Sequence[str]) -> Sequence[Any]:
        try:
            return self._bpe.encode_batch_fast(list(texts), add_special_tokens=False)
        except TypeError:
            raise _no_unicode(texts) from None

    def words(self, texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
        """Give the ids of each text, as `encode_batch`, and for each the number of its word."""
        encodings: Sequence[Any] = self._bpe.encode_batch(list(texts), add_special_tokens=False)
        return [(encoding.ids, encoding.word_ids) for encoding in encodings]

    def pieces(self) -> list[str]:
        """Give each token as the file spells it, byte by byte as visible signs, in order of ids."""
        ids = self._bpe.get_vocab()
        return sorted(ids, key=ids.__getitem__)

    def merges(self) -> list[tuple[int, int, int]]:
        """Give left, right and joined token of each merge, the one to be done first at first."""
        ids = self._bpe.get_vocab()
        pairs = json.loads(self._bpe.to_str())["model"]["merges"]
        return [(ids[left], ids[right], ids[left + right]) for left, right in pairs]

    def spelling(self) -> list[list[int]]:
        """Give the tokens of the single bytes of each token; a special one stands for itself."""
        ids = self._bpe.get_vocab()
        specials = [[number] for number in range(len(SPECIALS))]
        return specials + [
            [ids[sign] for sign in piece] for piece in self.pieces()[len(SPECIALS) :]
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """Give the text of ids, special ones skipped; bytes that spell no character are U+FFFD."""
        return self._bpe.decode(ids, skip_special_tokens=True)

    def decode_batch(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Give the text of each list of ids, as `decode`; uses all cores."""
        return self._bpe.decode_batch(ids, skip_special_tokens=True)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        r"""Give readable pieces: `▁` is a space, `\xe6` a byte that is no whole character."""
        return [self._readable(number) for number in ids]

    def _readable(self, number: int) -> str:
        if number < len(SPECIALS):
            return SPECIALS[number]
        piece = self._bpe.id_to_token(number)
        if piece is None:
            raise IndexError(f"token {number} of {self.size}")
        text = bytes(BYTE_OF_SIGN[sign] for sign in piece).decode("utf-8", "backslashreplace")
        return text.replace(" ", "▁")


def _no_unicode(texts: Sequence[str]) -> Exception:
    for number, text in enumerate(texts, start=1):
        half = next(
            (at for at, sign in enumerate(text, start=1) if "\ud800" <= sign <= "\udfff"), 0
        )
        if half:
            return DataError(
                f"text {number}, character {half}",
                "half a surrogate pair",
                "Unicode text",
                "read the text with its real encoding",
            )
    return TypeError("texts must be strings")


def _byte_of_sign() -> dict[str, int]:
    # Byte-level BPE writes each byte as one visible sign: printable Latin-1 as itself, the others,
    # in order, from U+0100 on.
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + number): byte for number, byte in enumerate(others)
    }


BYTE_OF_SIGN = _byte_of_sign()
