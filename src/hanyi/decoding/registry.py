"""Which engine translates: the one that is asked for, or the faster one that gives the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch

from hanyi.decoding import ctranslate_options
from hanyi.decoding.config import DecodeConfig
from hanyi.decoding.engine import TorchEngine
from hanyi.decoding.ensemble import Ensemble
from hanyi.decoding.jobs import Engine
from hanyi.errors import ParamsError
from hanyi.model.processes import ALONE, Processes
from hanyi.model.quantized import quantize
from hanyi.model.transformer import Transformer

CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Kind:
    """How to have an engine, and what it cannot do."""

    open: Callable[[Transformer | Ensemble, DecodeConfig, Processes], Engine]
    lacks: Callable[[DecodeConfig], str | None]  # the first option it has not, with its value
    parallel: bool  # it uses all cores by itself, so that one process is enough


def _open_torch(
    model: Transformer | Ensemble, config: DecodeConfig, _processes: Processes
) -> Engine:
    if config.quantization == "int8":
        quantize(model)  # in place, so that a forced pass sees what the search saw
    return TorchEngine(model, config.batch_tokens)


def _open_ctranslate2(
    model: Transformer | Ensemble, config: DecodeConfig, _processes: Processes
) -> Engine:
    from hanyi.decoding.ctranslate import CTranslate  # half a second, which others need not wait

    alone = cast("Transformer", model)  # it has no ensembles
    return CTranslate.converted(alone, config.quantization, config.batch_tokens)


KINDS = {
    "torch": Kind(_open_torch, lambda _config: None, parallel=False),
    "ctranslate2": Kind(_open_ctranslate2, ctranslate_options.lacks, parallel=True),
}


def choose_engine(config: DecodeConfig, device: torch.device = CPU) -> str:
    """Give the name of the engine, which follows from the parameters and the kind of the device.

    `auto` is CTranslate2 on a CPU, where it gives the same translations in less time, unless an
    option is on that it has not. Raises `ParamsError` for an option that the engine has not.
    """
    name = config.engine
    if name == "auto":
        fast = device.type == "cpu" and KINDS["ctranslate2"].lacks(config) is None
        name = "ctranslate2" if fast else "torch"
    if missing := KINDS[name].lacks(config):
        raise ParamsError(
            "params.yaml: decode.engine",
            f"{name}, which has no {missing}",
            "an engine with all options that are set",
            "set decode.engine to torch, or leave the option off",
        )
    return name


def open_engine(
    model: Transformer | Ensemble, config: DecodeConfig, processes: Processes = ALONE
) -> Engine:
    """Make the engine that the parameters ask for, of one model or of several as one."""
    device = next(model.parameters()).device
    return KINDS[choose_engine(config, device)].open(model, config, processes)
