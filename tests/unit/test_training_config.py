from __future__ import annotations

import pytest

from hanyi.errors import ParamsError
from tests.training import train_config

FINETUNE = {"max_steps": 5, "weights": {"hsk": 1}, "learning_rate": 0.001, "warmup": 0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch_tokens": 0}, "batch_tokens must be at least 1, got 0"),
        ({"accumulate": 0}, "accumulate must be at least 1"),
        ({"validate_every": 0}, "validate_every must be at least 1"),
        ({"save_every": -1}, "save_every must be at least 1"),
        ({"average": 0}, "average must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"seed": 2**63}, "seed must be under 2^63"),
        ({"warmup": -1}, "warmup must be at least 0"),
        ({"clip": -0.5}, "clip must be at least 0"),
        ({"max_steps": 0}, "max_steps must be at least 1"),
        ({"max_epochs": 0}, "max_epochs must be at least 1"),
        ({"max_steps": None}, "max_steps or max_epochs must be a number"),
        ({"schedule": "sqrt"}, "schedule must be one of inverse_sqrt, linear, cosine, got sqrt"),
        ({"select": "ter"}, "select must be one of loss, bleu, chrf, got ter"),
        ({"learning_rate": 0}, "learning_rate must be over 0"),
        ({"label_smoothing": 1.0}, "label_smoothing must be at least 0 and under 1"),
        ({"betas": [0.9, 1.0]}, "betas must be at least 0 and under 1"),
        ({"bpe_dropout": -0.1}, "bpe_dropout must be at least 0 and under 1"),
        ({"ema": 1.0}, "ema must be at least 0 and under 1"),
        ({"r_drop": -1}, "r_drop must be 0 or more"),
        ({"spike": 0.5}, "spike must be 0 or over 1"),
        ({"finetune": {**FINETUNE, "weights": {}}}, "weights must name a corpus to finetune on"),
        ({"finetune": {**FINETUNE, "weights": {"hsk": 0}}}, "weights must name a corpus"),
        ({"finetune": {**FINETUNE, "weights": {"hsk": -1}}}, "weights.hsk must be 0 or more"),
        ({"finetune": {**FINETUNE, "learning_rate": 2}}, "learning_rate must be over 0"),
        ({"finetune": {**FINETUNE, "max_steps": -1}}, "max_steps must be at least 0"),
        ({"repeats": {"hsk": 2}}, "train.repeats: unknown key"),
        ({"precision": "fp8"}, "fp8"),
        ({"max_steps": "many"}, "train.max_steps"),
        ({"max_minutes": 5}, "train.max_minutes"),
    ],
)
def test_ranges(change: dict[str, object], message: str) -> None:
    with pytest.raises(ParamsError) as raised:
        train_config(**change)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_null_limits() -> None:
    assert train_config(max_steps=None, max_epochs=3).max_epochs == 3
    assert train_config(max_epochs=3).max_steps == 12
