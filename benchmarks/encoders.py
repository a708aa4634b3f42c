"""Measure the encoders of byte-level BPE on PyPI beside the one that Hanyi uses.

`python -m benchmarks.encoders --prepared FILE --tokenizers FOLDER`, in any environment with
tokenizers and pyarrow; an encoder that is not installed is passed over, and none of them is a
dependency of the project. Each is given Hanyi's own vocabulary where it can take it, and its ids
are compared with those of tokenizers; others encode with the nearest of their own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import tokenizers

AWKWARD = [
    "<eos><pad> x <eos>",
    "\x00\u0301 a\u2028b\ufffd",
    "𠮷野家 👩‍👩‍👧‍👦",
    "   a  b\t\n",
    "'s ’t don't 00700",
    "x" * 300 + "字" * 300 + "=" * 200,
]

Encode = Callable[[list[str]], Sequence[Any]]

SIGNS = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]


def with_tokenizers(path: Path) -> Encode:
    """Encode as Hanyi does."""
    own = tokenizers.Tokenizer.from_file(str(path))
    own.encode_special_tokens = True
    return lambda texts: own.encode_batch_fast(texts, add_special_tokens=False)


def ranks(path: Path) -> tuple[str, dict[bytes, int]]:
    """Give the pattern and the bytes of each token, for encoders that merge by rank."""
    fields = json.loads(path.read_text(encoding="utf-8"))
    others = (byte for byte in range(256) if byte not in SIGNS)
    byte_of = {chr(byte): byte for byte in SIGNS}
    byte_of |= {chr(0x100 + number): byte for number, byte in enumerate(others)}
    pattern = fields["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
    special = {token["content"] for token in fields["added_tokens"]}
    vocab = {
        token: rank for token, rank in fields["model"]["vocab"].items() if token not in special
    }
    return pattern, {bytes(byte_of[sign] for sign in token): vocab[token] for token in vocab}


def with_tiktoken(path: Path) -> Encode:
    """Encode with tiktoken and our vocabulary."""
    import tiktoken

    pattern, own = ranks(path)
    encoding = tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=own, special_tokens={})
    return lambda texts: encoding.encode_ordinary_batch(texts, num_threads=2)


def with_riptoken(path: Path) -> Encode:
    """Encode with riptoken and our vocabulary."""
    import riptoken

    pattern, own = ranks(path)
    return riptoken.CoreBPE(own, {}, pattern).encode_ordinary_batch


def with_kitoken(path: Path) -> Encode:
    """Encode with kitoken and our vocabulary."""
    import kitoken

    return kitoken.Kitoken.from_tokenizers(path.read_bytes()).encode_all


def with_tokie(path: Path) -> Encode:
    """Encode with tokie and our vocabulary."""
    import tokie

    own = tokie.Tokenizer.from_json(str(path))
    return lambda texts: own.encode_batch(texts, add_special_tokens=False)


def with_gigatoken(path: Path) -> Encode:
    """Encode with gigatoken and our vocabulary."""
    import gigatoken

    return gigatoken.Tokenizer(str(path)).encode_batch_list


def with_splintr(path: Path) -> Encode:
    """Encode with splintr and our vocabulary."""
    import splintr

    return splintr.from_json(str(path)).encode_batch


def with_rs_bpe(_: Path) -> Encode:
    """Encode with rs-bpe, which holds the vocabularies of OpenAI alone."""
    from rs_bpe.bpe import openai

    own = openai.cl100k_base()
    return lambda texts: own.encode_batch(texts)[0]


def with_bpe_openai(_: Path) -> Encode:
    """Encode with bpe-openai, which holds the vocabularies of OpenAI alone."""
    import bpe_openai

    own = bpe_openai.get_encoding("cl100k_base")
    return lambda texts: [own.encode(text) for text in texts]


ENCODERS: dict[str, Callable[[Path], Encode]] = {
    "tokenizers": with_tokenizers,
    "tiktoken": with_tiktoken,
    "riptoken": with_riptoken,
    "kitoken": with_kitoken,
    "tokie": with_tokie,
    "gigatoken": with_gigatoken,
    "splintr-rs": with_splintr,
    "rs-bpe": with_rs_bpe,
    "bpe-openai": with_bpe_openai,
}


def count_equal(found: Sequence[Any], wanted: Sequence[Any]) -> int:
    """Count the texts that have equal ids."""
    sides = ((list(getattr(one, "ids", one)) for one in side) for side in (found, wanted))
    return sum(map(list.__eq__, *sides))


def measure(name: str, path: Path, texts: list[str], wanted: Sequence[Any]) -> str:
    """Give a line: time, processor time, and how many texts have the ids of tokenizers."""
    try:
        encode = ENCODERS[name](path)
        encode(texts[:100])
        begin, used = time.perf_counter(), time.process_time()
        found = encode(texts)
        seconds, spent = time.perf_counter() - begin, time.process_time() - used
    except Exception as error:  # noqa: BLE001  whatever an encoder raises, the others go on
        return f"{path.stem} {name:12} {' '.join(str(error).split())[:90]}"
    equal = count_equal(found, wanted)
    awkward = count_equal(encode(AWKWARD), with_tokenizers(path)(AWKWARD))
    return (
        f"{path.stem} {name:12} {version(name):8} {seconds:7.1f} s {spent:7.1f} processor s "
        f"{len(texts) / seconds:9.0f} texts/s, equal ids {equal / len(texts):7.2%}, "
        f"{awkward} of {len(AWKWARD)} awkward texts"
    )


def main() -> None:
    """Measure each encoder that is installed."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--prepared", type=Path, default=Path("data/prepared/train.parquet"))
    ask.add_argument("--tokenizers", type=Path, default=Path("models/tokenizers"))
    asked = ask.parse_args()
    for side in ("src", "tgt"):
        texts = pq.read_table(asked.prepared, columns=[side])[side].to_pylist()
        path = asked.tokenizers / f"{side}.json"
        wanted = with_tokenizers(path)(texts)
        for name in ENCODERS:
            try:
                version(name)
            except PackageNotFoundError:
                print(f"{side} {name:12} not installed")
                continue
            print(measure(name, path, texts, wanted), flush=True)


if __name__ == "__main__":
    main()
