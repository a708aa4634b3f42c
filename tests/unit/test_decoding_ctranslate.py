"""The engine ctranslate2 beside ours: the same model, the same sums, the same limits."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest
import torch

from hanyi.decoding.config import PLAIN, DecodeConfig, SearchConfig
from hanyi.decoding.ctranslate import POSITIONS, CTranslate
from hanyi.decoding.ctranslate_options import OFF, lacks
from hanyi.decoding.engine import translate_ids
from hanyi.decoding.hypothesis import NEVER, Hypothesis
from hanyi.decoding.jobs import Job
from hanyi.decoding.registry import open_engine
from hanyi.errors import ArtifactError, DataError, ParamsError
from hanyi.model.layers import ACTIVATIONS, NORM_TYPES, NORMS
from hanyi.model.positions import POSITIONS as ENCODINGS
from hanyi.model.processes import Processes
from hanyi.model.transformer import Transformer
from hanyi.params import parse
from hanyi.tokens.vocab import BOS, EOS
from tests.decoding import DECODE
from tests.models import SRC_VOCAB, TGT_VOCAB, tiny_model
from tests.processes import in_processes

SWITCHES: list[dict[str, Any]] = [
    *({"activation": name} for name in ACTIVATIONS),
    *({"norm": norm, "norm_type": name} for norm in NORMS for name in NORM_TYPES),
    *({"positions": name} for name in ENCODINGS),
    *({"key_value_heads": groups} for groups in (1, 2)),
    *({"tie": name} for name in ("none", "output", "all")),
    {"layers": 3, "decoder_layers": 1},
    {"positions": "rotary", "key_value_heads": 2, "activation": "swiglu", "norm_type": "rms_norm"},
]


def config(**changes: Any) -> SearchConfig:
    short = {"max_length_ratio": 1.5, "max_length_offset": 4, "length_norm": "average"}
    return replace(PLAIN, **{**short, **changes})


def decode_config(**changes: Any) -> DecodeConfig:
    return parse("decode", DecodeConfig, {**DECODE, "engine": "ctranslate2", **changes})


def sources(count: int, seed: int = 0) -> list[list[int]]:
    draw = random.Random(seed)
    return [
        [draw.randrange(4, SRC_VOCAB) for _ in range(draw.randrange(0, 12))] for _ in range(count)
    ]


def translate(
    engine: CTranslate, texts: list[list[int]], search: SearchConfig
) -> list[list[Hypothesis]]:
    return engine.translate([Job(text) for text in texts], search)


@torch.no_grad()
def log_probs(model: Transformer, source: list[int], one: Hypothesis) -> tuple[float, float]:
    """Add up what the model thinks of each token; then the same, were NEVER impossible."""
    written = [*one.tokens, EOS] if one.finished else one.tokens
    logits = model(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *written[:-1]]]))[0]
    allowed = logits.index_fill(1, torch.tensor(NEVER), -math.inf)
    plain, without = (
        float(each.log_softmax(-1)[range(len(written)), written].sum())
        for each in (logits, allowed)
    )
    return plain, without


@pytest.fixture(scope="module")
def model() -> Transformer:
    """Give a model that, as a trained one, never thinks of PAD or BOS; and sharper than chance."""
    model = tiny_model(5, tie="none")
    with torch.no_grad():
        model.output.weight *= 3
        # The first number of each state is 1 always.
        model.decoder_norm.weight[0], model.decoder_norm.bias[0] = 0, 1
        model.output.weight[:, 0] = 0
        model.output.weight[list(NEVER), 0] = -30
    return model


@pytest.fixture(scope="module")
def engine(model: Transformer) -> CTranslate:
    return CTranslate.converted(model, "none", tokens=200)


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_every_model_keeps_its_probabilities(switches: dict[str, Any]) -> None:
    model = tiny_model(3, src_vocab=TGT_VOCAB, tgt_vocab=TGT_VOCAB, **switches)
    texts = [text for text in sources(6) if text]
    found = translate(CTranslate.converted(model, "none", tokens=100), texts, config(n_best=3))
    for text, hypotheses in zip(texts, found, strict=True):
        for one in hypotheses:
            # Where PAD or BOS came, they were forbidden, which others gain from.
            plain, without = log_probs(model, text, one)
            assert one.log_prob in (
                pytest.approx(plain, abs=1e-4),
                pytest.approx(without, abs=1e-4),
            )


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        assert [each.finished for each in one] == [each.finished for each in other]
        for name in ("log_prob", "score"):
            values = [getattr(each, name) for each in other]
            assert [getattr(each, name) for each in one] == pytest.approx(values, abs=1e-4)


def assert_alike(found: list[list[Hypothesis]], ours: list[list[Hypothesis]]) -> None:
    """Expect the same, but that at the limit what has ended may be lost to what was cut."""
    pairs = list(zip(found, ours, strict=True))
    lost = [one for one, other in pairs if not one[0].finished and other[0].finished]
    assert len(lost) < len(pairs) / 5
    same = [(one, other) for one, other in pairs if one not in lost]
    assert {one[0].finished for one, _ in same if one[0].tokens} == {True, False}
    for one, other in same:
        ended = sum(each.finished for each in one)
        count = ended or len(one)
        assert_same([one[:count]], [other[:count]])


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("length_norm", ["gnmt", "average"])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 9.0])
def test_translations_and_scores_are_those_of_our_engine(
    model: Transformer, engine: CTranslate, beam_size: int, length_norm: str, length_penalty: float
) -> None:
    search = config(beam_size=beam_size, length_norm=length_norm, length_penalty=length_penalty)
    texts = sources(60)
    assert_alike(translate(engine, texts, search), translate_ids(model, texts, search, tokens=1000))


def test_the_n_best_and_more_patience_are_those_of_our_engine(
    model: Transformer, engine: CTranslate
) -> None:
    # Ours may end a search as soon as no other can be one of the n best.
    for n_best, patience in ((4, 1.0), (1, 1.5)):
        search = config(n_best=n_best, patience=patience, max_length_offset=2)
        ours = translate_ids(model, sources(30), search, tokens=1000)
        assert_alike(translate(engine, sources(30), search), ours)


def test_each_sentence_has_its_own_limit(engine: CTranslate) -> None:
    texts, search = sources(40, seed=1), config(n_best=2)
    together = translate(engine, texts, search)
    alone = [translate(engine, [text], search)[0] for text in texts]
    assert_same(together, alone)
    for text, hypotheses in zip(texts, together, strict=True):
        for one in hypotheses:
            length = len(one.tokens) + one.finished
            assert length == search.limit(len(text)) or one.finished
            assert length <= search.limit(len(text)) or not text


def test_batches_and_processes_change_nothing(model: Transformer, engine: CTranslate) -> None:
    texts, heard = sources(40), []
    expected = translate(engine, texts, config())
    other = CTranslate.converted(model, "none", tokens=30).translate(
        [Job(text) for text in texts], config(), report=heard.append
    )
    assert_same(other, expected)
    assert len(heard) > 5
    assert sum(heard) == sum(bool(text) for text in texts)

    def work(processes: Processes) -> list[list[Hypothesis]]:
        jobs = [Job(text) for text in texts]
        return CTranslate.converted(model, "none", tokens=60).translate(
            jobs, config(), processes=processes
        )

    for found in in_processes(2, work):
        assert_same(found, expected)


def test_nothing_and_empty_sources(engine: CTranslate) -> None:
    assert translate(engine, [], config()) == []
    assert translate(engine, [[]], config()) == [[Hypothesis([], 0.0, True, 0.0)]]


def test_int8_is_near(model: Transformer) -> None:
    texts = [text for text in sources(40) if text]
    found = translate(CTranslate.converted(model, "int8", tokens=200), texts, config(beam_size=1))
    distances = [
        abs(one.log_prob - log_probs(model, text, one)[0]) / (len(one.tokens) + 1)
        for text, (one,) in zip(texts, found, strict=True)
    ]
    # Narrow layers of random weights suffer most; what a trained model loses is measured apart.
    assert 1e-3 < sum(distances) / len(distances) < 0.5


def test_pad_and_bos_never_come() -> None:
    model = tiny_model(5, tie="none")
    with torch.no_grad():
        model.output.weight[list(NEVER)] = 3 * model.output.weight[4]
    found = translate(
        CTranslate.converted(model, "none", tokens=200), sources(30), config(n_best=3)
    )
    assert all(found)
    assert not {token for some in found for one in some for token in one.tokens} & set(NEVER)


def test_a_diverged_model_is_told() -> None:
    model = tiny_model(5)
    with torch.no_grad():
        model.output.weight.fill_(math.nan)
    with pytest.raises(ArtifactError, match="not numbers"):
        translate(CTranslate.converted(model, "none", tokens=200), [[5, 6]], config())


def test_what_is_too_long_is_refused(engine: CTranslate) -> None:
    with pytest.raises(DataError, match="engine to torch"):
        translate(engine, [[5] * POSITIONS], config())
    with pytest.raises(DataError, match=f"at most {POSITIONS}"):
        translate(engine, [[5]], config(max_length_offset=POSITIONS + 1))


ON: dict[str, Any] = {
    "method": "sample",
    "ensemble": ["models/other"],
    "coverage_penalty": 0.2,
    "beam_groups": 2,
    "no_repeat_ngram": 3,
    "min_length_ratio": 0.5,
    "prefix": "The",
    "terms": {"北京": "Beijing"},
}


def test_an_option_that_it_has_not_is_refused_by_name(model: Transformer) -> None:
    assert lacks(decode_config()) is None
    assert ON.keys() == OFF.keys()
    for name, value in ON.items():
        assert str(lacks(decode_config(**{name: value}))).startswith(name)
        with pytest.raises(ParamsError, match=name):
            open_engine(model, decode_config(**{name: value}))
    assert lacks(decode_config(token_log_probs=True)) is None
    assert "quantization" in str(lacks(decode_config(token_log_probs=True, quantization="int8")))


def test_the_parameters_choose_it(model: Transformer) -> None:
    assert isinstance(open_engine(model, decode_config()), CTranslate)
    assert isinstance(open_engine(model, decode_config(quantization="int8")), CTranslate)
