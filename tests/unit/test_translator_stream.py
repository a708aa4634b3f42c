"""Translations as they are written: joined they are the greedy ones, to the letter."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hanyi.decoding.config import DecodeConfig
from hanyi.decoding.jobs import Job
from hanyi.errors import ArtifactError
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.vocab import EOS
from hanyi.translator import Translator
from hanyi.translator.settings import OUTSIDE
from hanyi.translator.typewriter import Typewriter
from tests.models import SENTENCES, save_tiny_model, tiny_tokenizers

GREEDY = replace(OUTSIDE, engine="torch", beam_size=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    save_tiny_model(root / "transformer", *tiny_tokenizers(root / "tokenizers"), max_tokens=8)
    return root


@pytest.mark.parametrize(
    "config",
    [
        GREEDY,
        replace(GREEDY, prefix="We are"),
        replace(GREEDY, no_repeat_ngram=2),
        replace(GREEDY, min_length_ratio=1.5, coverage_penalty=0.2),
        replace(GREEDY, terms={"我": "love"}),
        replace(OUTSIDE, beam_size=4, n_best=2),
        replace(OUTSIDE, method="sample", n_best=3, choose="mbr"),
    ],
    ids=["greedy", "prefix", "ngrams", "coverage", "terms", "beam", "sample"],
)
def test_pieces_are_the_greedy_translation(folder: Path, config: DecodeConfig) -> None:
    translator = Translator.load(folder, device="cpu", config=config)
    texts = [*SENTENCES[:2], "", "我爱你。你好吗？他们很好。我们很好。", "我" * 30]
    greedy = replace(
        GREEDY, **{name: getattr(config, name) for name in ("no_repeat_ngram", "min_length_ratio")}
    )
    greedy = replace(greedy, coverage_penalty=config.coverage_penalty)
    for text in texts:
        stream = translator.stream(text)
        pieces = list(stream)
        assert all(pieces)
        assert "".join(pieces) == stream.result.text
        # Part by part, as the stream does it: in a batch, rounding could decide between equals.
        parts = translator.engine.read([translator.normal(text)])[0].parts
        alone = translator.translate([text], greedy)[0] if len(parts) == 1 else stream.result
        assert stream.result.tokens == alone.tokens
        assert stream.result.unmet == alone.unmet
        assert stream.result.log_prob == pytest.approx(alone.log_prob, abs=1e-3)
        assert stream.result.parts == len(parts)
        assert next(stream, None) is None


class Spelling:
    """A model that writes given tokens, whatever the source."""

    training = False

    def __init__(self, tokens: list[int], size: int) -> None:
        self.tokens, self.tgt_vocab, self.src_vocab, self.at = tokens, size, size, 0
        self.begun = threading.Event()

    def train(self, _mode: bool) -> None:
        pass

    def parameters(self) -> object:
        return iter([torch.zeros(1)])

    def modules(self) -> object:
        return iter([])

    def encode(self, src: torch.Tensor) -> None:
        self.at = 0

    def start(self, memory: None, beams: int) -> Spelling:
        return self

    def select(self, index: torch.Tensor) -> None:
        pass

    def step(self, tokens: torch.Tensor, cache: Spelling) -> torch.Tensor:
        logits = torch.zeros(1, self.tgt_vocab)
        logits[0, self.tokens[self.at] if self.at < len(self.tokens) else EOS] = 50.0
        self.at += 1
        return logits


def written(tokenizer: Tokenizer, tokens: list[int]) -> tuple[list[str], str]:
    pieces: list[str] = []
    model = Spelling(tokens, tokenizer.size)
    typewriter = Typewriter(model, tokenizer, 4000, threading.Lock(), pieces.append)
    typewriter.translate([Job([5] * len(tokens))], GREEDY)
    return [piece for piece in pieces if piece], tokenizer.decode(tokens).strip()


def test_characters_come_whole(folder: Path) -> None:
    """Each byte is a token here, so that every character of more bytes arrives in pieces."""
    tokenizer = Tokenizer.load(folder / "tokenizers" / "tgt.json")
    text = "Æon 汉译 🈺 e\u0301!"
    tokens = [token for sign in text for token in byte_tokens(tokenizer, sign)]
    assert len(tokens) == len(text.encode("utf-8"))
    pieces, whole = written(tokenizer, tokens)
    assert whole == text
    assert pieces == ["Æ", "o", "n", " 汉", "译", " 🈺", " e", "\u0301", "!"]


def test_bytes_that_spell_no_character_are_written_as_they_end_up(folder: Path) -> None:
    tokenizer = Tokenizer.load(folder / "tokenizers" / "tgt.json")
    half = byte_tokens(tokenizer, "汉")[:2]
    a, space = byte_tokens(tokenizer, "a"), byte_tokens(tokenizer, " ")
    for tokens in (
        [*half],
        [*half, *a],
        [*a, *space, *half, *space],
        [*space, *a, *space, *space, *a, *space],
        [*half[1:], *half, *half[1:], *a],
    ):
        pieces, whole = written(tokenizer, tokens)
        assert "".join(pieces) == whole


def byte_tokens(tokenizer: Tokenizer, sign: str) -> list[int]:
    """Spell a character in tokens of single bytes."""
    return [token for one in tokenizer.encode(sign) for token in tokenizer.spelling()[one]]


def test_a_stream_that_is_closed_stops(folder: Path) -> None:
    translator = Translator.load(folder, device="cpu", config=GREEDY)
    calls = 0
    step = translator.model.step
    gate = threading.Semaphore(0)

    def counted(*arguments: object) -> object:
        nonlocal calls
        gate.acquire()
        calls += 1
        return step(*arguments)

    translator.model.step = counted  # type: ignore[method-assign]
    stream = translator.stream("我" * 40)
    gate.release()
    stream.close()
    gate.release(1000)
    stream._thread.join(20)
    assert not stream._thread.is_alive()
    assert calls <= 2
    assert list(stream) == []
    with pytest.raises(ValueError, match="closed before its end"):
        _ = stream.result


def test_faults_reach_the_reader(folder: Path) -> None:
    translator = Translator.load(folder, device="cpu", config=GREEDY)
    with torch.no_grad():
        translator.model.output.weight.fill_(float("nan"))
    stream = translator.stream("我爱你。")
    with pytest.raises(ArtifactError, match="not numbers"):
        list(stream)
    with pytest.raises(ArtifactError, match="not numbers"):
        _ = stream.result


ENDLESS = """
import torch
from hanyi.translator import Stream

def work(write):
    while True:
        torch.randn(300, 300) @ torch.randn(300, 300)
        write("x")

next(Stream(work))
"""


def test_python_ends_in_peace_under_a_stream(root: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    for _ in range(3):
        ended = subprocess.run(
            [sys.executable, "-c", ENDLESS],
            env=environment, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (ended.returncode, ended.stderr) == (0, "")
