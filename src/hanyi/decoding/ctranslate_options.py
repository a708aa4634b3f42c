"""What the engine `ctranslate2` is asked for only when it does it as it is defined here.

It has more of these options, but in another sense: what it forbids (a repeated n-gram, an early
end) it takes out of the probabilities too, a prefix does not count in its sums, coverage decides
between finished hypotheses alone, and its draws are other draws.
"""

from __future__ import annotations

from math import isinf

from hanyi.decoding.config import DecodeConfig

OFF = {
    "method": "beam",
    "ensemble": [],
    "coverage_penalty": 0.0,
    "beam_groups": 1,
    "no_repeat_ngram": 0,
    "min_length_ratio": 0.0,
    "prefix": "",
    "terms": {},
}
"""Values of the parameters that it does not have, when they are off."""


def lacks(config: DecodeConfig) -> str | None:
    """Name the first option that is on but not to be had, with its value."""
    for name, off in OFF.items():
        value = getattr(config, name)
        if value != off:
            return f"{name} {value}"
    if isinf(config.patience):
        return f"patience {config.patience}"
    if config.token_log_probs and config.quantization != "none":
        # They come from a second pass, through the model as it was trained.
        return f"token_log_probs with quantization {config.quantization}"
    return None
