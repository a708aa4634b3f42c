"""The `decode` section for tests: our engine, every option off."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hanyi.decoding.config import PLAIN

DECODE: dict[str, Any] = {
    **asdict(PLAIN),
    "engine": "torch",
    "quantization": "none",
    "ensemble": [],
    "prefix": "",
    "terms": {},
    "token_log_probs": False,
    "alignment": False,
    "batch_tokens": 4000,
}
