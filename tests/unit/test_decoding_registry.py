"""Engines by name: what one lacks is refused, and `auto` does not depend on the moment."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest
import torch

from hanyi.decoding.config import ENGINES, DecodeConfig
from hanyi.decoding.engine import TorchEngine
from hanyi.decoding.ensemble import Ensemble
from hanyi.decoding.jobs import Job
from hanyi.decoding.registry import KINDS, choose_engine, open_engine
from hanyi.errors import ParamsError
from hanyi.model import quantized
from hanyi.model.quantized import BACKEND, QuantizedLinear
from hanyi.params import parse
from tests.decoding import DECODE
from tests.models import tiny_model

PLAIN = parse("decode", DecodeConfig, DECODE)


def config(**changes: Any) -> DecodeConfig:
    return replace(PLAIN, **changes)


def test_every_name_has_an_engine() -> None:
    assert {"auto", *KINDS} == set(ENGINES)


@pytest.mark.parametrize("name", KINDS)
def test_an_engine_that_is_asked_for_is_taken(name: str) -> None:
    assert choose_engine(config(engine=name)) == name


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"method": "sample"},
        {"ensemble": ["models/another"]},
        {"coverage_penalty": 0.2},
        {"prefix": "We"},
        {"terms": {"北京": "Beijing"}},
        {"token_log_probs": True, "alignment": True},
    ],
)
def test_auto_takes_one_that_lacks_nothing(changes: dict[str, Any]) -> None:
    asked = config(engine="auto", **changes)
    assert KINDS[choose_engine(asked)].lacks(asked) is None
    assert choose_engine(asked) == choose_engine(replace(asked, batch_tokens=1))


def test_auto_is_the_faster_one_on_a_cpu_and_ours_on_a_gpu() -> None:
    asked = config(engine="auto")
    assert choose_engine(asked) == "ctranslate2"
    assert choose_engine(asked, torch.device("cuda")) == "torch"
    assert choose_engine(replace(asked, no_repeat_ngram=3)) == "torch"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": "ctranslate2", "prefix": "We"}, "ctranslate2, which has no prefix We"),
        ({"engine": "ctranslate2", "method": "sample"}, "ctranslate2, which has no method sample"),
        ({"engine": "ctranslate2", "patience": inf}, "ctranslate2, which has no patience inf"),
    ],
)
def test_what_an_engine_lacks_is_told(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParamsError, match=rf"params\.yaml: decode\.engine: {message}") as caught:
        choose_engine(config(**changes))
    assert "\n" not in str(caught.value)


def test_our_engine_takes_one_model_or_an_ensemble() -> None:
    for model in (tiny_model(), Ensemble([tiny_model(), tiny_model(1)])):
        engine = open_engine(model, config())
        assert isinstance(engine, TorchEngine)
        assert engine.model is model


@pytest.mark.skipif(
    BACKEND not in torch.backends.quantized.supported_engines, reason=f"no {BACKEND} here"
)
def test_int8_goes_through_our_own_engine_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantized, "WORTH_IT", 0)
    model = tiny_model()
    engine = open_engine(model, config(engine="torch", quantization="int8"))
    assert isinstance(engine, TorchEngine)
    assert any(isinstance(module, QuantizedLinear) for module in model.modules())
    (found,) = engine.translate([Job((5, 6, 7))], config())
    assert found
