"""Byte-level BPE: any text to ids and back, nothing special inside text, equal bytes each time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tokenizers import pre_tokenizers

from hanyi.artifacts import digest_file
from hanyi.errors import ArtifactError, DataError, ParamsError
from hanyi.tokens.bpe import BYTE_OF_SIGN, BpeConfig, Tokenizer, train_tokenizer
from hanyi.tokens.vocab import BOS, EOS, LARGEST, PAD, SMALLEST, SPECIALS, UNK

TEXTS = [
    "我们喜欢喝茶，他们喜欢喝咖啡。",
    "我们的老师喜欢北京的秋天。",
    "I like tea, and they like coffee.",
    "They don't like the price: $700.50, not 00700.",
    "We'll buy tea and coffee in <eos> Beijing <eos> in autumn.",
] * 3


def config(vocab: int = 300, max_word_chars: int = 8, max_digits: int = 1) -> BpeConfig:
    return BpeConfig(vocab=vocab, max_word_chars=max_word_chars, max_digits=max_digits)


@pytest.fixture(scope="module")
def bpe() -> Tokenizer:
    return train_tokenizer(TEXTS, config())


def words(tokenizer: Tokenizer, text: str) -> list[str]:
    cut = tokenizer._bpe.pre_tokenizer
    assert cut is not None
    return [text[start:end] for _, (start, end) in cut.pre_tokenize_str(text)]


def test_special_tokens_have_the_first_ids(bpe: Tokenizer) -> None:
    assert (PAD, UNK, BOS, EOS) == (0, 1, 2, 3)
    assert bpe.tokens([PAD, UNK, BOS, EOS]) == list(SPECIALS)
    assert bpe.size == 300


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "  two before and after  ",
        "\ttab\r\nline\u2028separator\u3000ideographic\xa0space",
        "👩‍👩‍👧‍👦 🇨🇳 emoji",
        "𠮷野家 𪚥 𰻞",
        "\u0301 a lone combining mark",
        "\x00\x1f\x7f\x85 controls",
        "\ufeffbyte-order mark \ufffd \uffff",
        "<pad><unk><bos><eos> < eos > <EOS>",
        "Ġ Ċ signs that stand for bytes, ▁ too",
        "한국어 ไทย العربية हिन्दी ελληνικά",
        "二〇二四年00700涨了12.5%",
        "'s 's' don’t 'tis",
        "字" * 1000,
        "a" * 1000,
    ],
)
def test_any_text_comes_back(bpe: Tokenizer, text: str) -> None:
    ids = bpe.encode(text)
    assert bpe.decode(ids) == text
    assert not set(ids) & {PAD, UNK, BOS, EOS}
    assert bool(ids) == bool(text)


def test_no_piece_spells_a_special_token() -> None:
    # BPE that may merge letters with signs would give this piece the id of the special token.
    tokenizer = train_tokenizer(["<eos><eos> x<eos> <pad>"] * 50 + TEXTS, config())
    assert tokenizer.decode(tokenizer.encode("<eos>")) == "<eos>"
    assert EOS not in tokenizer.encode("<eos><eos> x<eos>")


def test_decode_skips_special_tokens(bpe: Tokenizer) -> None:
    ids = bpe.encode("喝茶 tea")
    assert bpe.decode([BOS, *ids, EOS, PAD, PAD]) == "喝茶 tea"
    assert bpe.decode_batch([[BOS, *ids, EOS], [], [EOS]]) == ["喝茶 tea", "", ""]


def test_batch_gives_what_each_text_gives(bpe: Tokenizer) -> None:
    texts = [*TEXTS, "", " x"]
    assert bpe.encode_batch(texts) == [bpe.encode(text) for text in texts]


def test_a_word_keeps_its_space_and_leaves_its_signs(bpe: Tokenizer) -> None:
    text = " Tom said: they don't.  Ok"
    assert words(bpe, text) == [" Tom", " said", ":", " they", " don", "'t", ".", " ", " Ok"]


def test_runs_without_a_space_are_cut(bpe: Tokenizer) -> None:
    run = "我们喜欢北京的秋天和上海的春天"
    assert words(bpe, f"Tom{run}。") == ["Tom", run[:8], run[8:], "。"]
    assert max(map(len, words(bpe, "ไทย" * 30 + "カタカナー" * 30 + "漢" * 99))) == 8
    assert words(bpe, "internationalisation") == ["internationalisation"]
    assert max(map(len, words(bpe, "x" * 500 + "=" * 500))) == 64


def test_digits_are_apart_when_asked(bpe: Tokenizer) -> None:
    assert words(bpe, "paid 00700") == ["paid", " ", "0", "0", "7", "0", "0"]
    pairs = train_tokenizer(TEXTS, config(max_digits=2))
    assert words(pairs, "paid 00700") == ["paid", " ", "00", "70", "0"]
    whole = train_tokenizer(TEXTS, config(max_digits=64))
    assert words(whole, "paid 00700") == ["paid", " ", "00700"]
    assert len(bpe.encode("00700")) == 5


def test_tokens_are_readable(bpe: Tokenizer) -> None:
    pieces = bpe.tokens(bpe.encode("like tea 我们𠮷"))
    assert "".join(pieces) == r"like▁tea▁我们\xf0\xa0\xae\xb7"
    with pytest.raises(IndexError, match="token 300 of 300"):
        bpe.tokens([300])


def test_signs_of_bytes_are_those_of_the_library() -> None:
    assert set(BYTE_OF_SIGN) == set(pre_tokenizers.ByteLevel.alphabet())
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for code in [*range(0x100), 0x4E2D, 0x20BB7]:
        signs = cut.pre_tokenize_str(chr(code))[0][0]
        assert bytes(BYTE_OF_SIGN[sign] for sign in signs) == chr(code).encode("utf-8")


def test_digest_is_that_of_the_file(bpe: Tokenizer, tmp_path: Path) -> None:
    bpe.save(tmp_path / "src.json")
    loaded = Tokenizer.load(tmp_path / "src.json")
    assert loaded.digest == bpe.digest == digest_file(tmp_path / "src.json")
    assert loaded.encode("我们 <eos> tea") == bpe.encode("我们 <eos> tea")
    assert loaded.size == bpe.size


TRAIN = """
import sys
from hanyi.tokens.bpe import BpeConfig, train_tokenizer
texts = [f"{a}{b}{c} {c}{b} {a}{a}" for a in "abcd天地" for b in "hijk玄黄" for c in "nopq宇宙"]
config = BpeConfig(vocab=340, max_word_chars=8, max_digits=1)
sys.stdout.write(train_tokenizer(texts, config).digest)
"""


def test_training_gives_equal_bytes_in_any_process(root: Path) -> None:
    # Every pair of this corpus is as frequent as many others, so ties decide.
    digests = set()
    for hash_seed, threads, parallel in [
        ("0", "1", "false"),
        ("1", "4", "true"),
        ("2", "2", "true"),
    ]:
        environment = os.environ | {
            "PYTHONPATH": str(root / "src"),
            "PYTHONHASHSEED": hash_seed,
            "RAYON_NUM_THREADS": threads,
            "TOKENIZERS_PARALLELISM": parallel,
        }
        command = [sys.executable, "-c", TRAIN]
        run = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
        digests.add(run.stdout)
    assert len(digests) == 1
    assert len(digests.pop()) == 32


def test_long_han_runs_train_quickly() -> None:
    signs = [chr(0x4E00 + number) for number in range(400)]
    texts = ["".join(signs[(row * 7 + at * at) % 400] for at in range(2000)) for row in range(20)]
    begin = time.perf_counter()
    tokenizer = train_tokenizer(texts, config(vocab=1000))
    assert time.perf_counter() - begin < 20
    assert tokenizer.size == 1000
    assert tokenizer.decode(tokenizer.encode(texts[0])) == texts[0]


def test_vocabulary_too_large_for_the_corpus_says_what_is_reached() -> None:
    with pytest.raises(ParamsError) as caught:
        train_tokenizer(TEXTS, config(vocab=5000), "params.yaml: tokenizers.src_vocab")
    line = str(caught.value)
    assert line.startswith("params.yaml: tokenizers.src_vocab: 5000 tokens, but the train split")
    reached = int(line.partition("gives ")[2].partition(",")[0])
    assert f"set {reached} or fewer" in line
    assert "\n" not in line
    assert train_tokenizer(TEXTS, config(vocab=reached)).size == reached


@pytest.mark.parametrize("vocab", [0, SMALLEST - 1, LARGEST + 1])
def test_vocabulary_out_of_range(vocab: int) -> None:
    with pytest.raises(ValueError, match=f"vocab must be 260 .* to 65535, got {vocab}"):
        config(vocab=vocab)


@pytest.mark.parametrize("chars", [0, 65])
def test_word_length_out_of_range(chars: int) -> None:
    with pytest.raises(ValueError, match=f"max_word_chars must be 1 to 64, got {chars}"):
        config(max_word_chars=chars)


def test_smallest_vocabulary_spells_bytes() -> None:
    tokenizer = train_tokenizer([], config(vocab=SMALLEST))
    assert len(tokenizer.encode("我𠮷 ")) == 8
    assert tokenizer.decode(tokenizer.encode("我𠮷 ")) == "我𠮷 "


def test_half_a_surrogate_pair_is_told(bpe: Tokenizer) -> None:
    with pytest.raises(DataError, match="text 2, character 3: half a surrogate pair"):
        bpe.encode_batch(["fine", "ab\ud83d"])


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"src\.json: no such file, expected a tokenizer; run"):
        Tokenizer.load(tmp_path / "src.json")


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b'{"version": "1.0"'])
def test_broken_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "src.json").write_bytes(content)
    with pytest.raises(
        ArtifactError, match=r"src\.json: .*expected a tokenizers JSON file"
    ) as error:
        Tokenizer.load(tmp_path / "src.json")
    assert "\n" not in str(error.value)


def test_foreign_file(bpe: Tokenizer, tmp_path: Path) -> None:
    bpe.save(tmp_path / "src.json")
    text = (tmp_path / "src.json").read_text(encoding="utf-8").replace("<bos>", "[CLS]")
    (tmp_path / "src.json").write_text(text, encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"expected <pad> <unk> <bos> <eos> and all bytes"):
        Tokenizer.load(tmp_path / "src.json")
