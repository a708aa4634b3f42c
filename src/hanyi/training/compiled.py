"""The layers of a model as compiled code, for the steps of training."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

import torch
from torch import Tensor
from torch.fx.experimental import _config as shapes

from hanyi.errors import ParamsError
from hanyi.model.transformer import Memory, Transformer
from hanyi.tokens.vocab import BOS, EOS

log = logging.getLogger("hanyi.training")

VARIABLE = "HANYI_COMPILE"
BACKEND = "inductor"

TRIAL = (16, 24, 32)  # rows and lengths of the batch that compiling is tried with; none is special


class Stacks:
    """What the loss uses of a model: both stacks of layers, compiled or not, and the output layer.

    The model itself stays as it is, so its parameters keep their names, and validation and decoding
    compute as ever.
    """

    def __init__(self, model: Transformer) -> None:
        self.encode: Callable[[Tensor], Memory] = model.encode
        self.decode: Callable[[Tensor, Memory], Tensor] = model.decode
        self.output = model.output


def compiling_wanted(device: torch.device) -> bool:
    """Tell whether to compile: as HANYI_COMPILE says (on, off), else on CUDA.

    It is no parameter, since it changes no result by more than rounding and other draws of dropout.
    """
    asked = os.environ.get(VARIABLE) or "auto"
    if asked not in {"auto", "on", "off"}:
        raise ParamsError(VARIABLE, repr(asked), "auto, on or off", "mend or unset it")
    return asked == "on" or (asked == "auto" and device.type == "cuda")


def compiled(
    model: Transformer,
    *,
    dtype: torch.dtype | None = None,
    longest: int = 128,
    backend: str = BACKEND,
) -> Stacks:
    """Compile both stacks, once for all shapes, and try them; give them as they are if that fails.

    `dtype` is that of autocast in training, `longest` the tokens of the longest sentence. A failure
    is told in the log. Gradients are left at None.
    """
    stacks = Stacks(model)
    # Two dimensions that happen to be equal in one batch would be taken for one, and the next
    # batch, where they differ, would be compiled anew: a dozen times, and then no more.
    shapes.use_duck_shape = False
    stacks.encode = torch.compile(model.encode, dynamic=True, backend=backend)
    stacks.decode = torch.compile(model.decode, dynamic=True, backend=backend)
    device = model.output.weight.device
    training = model.training
    try:
        model.train()
        with torch.autocast(device.type, dtype, enabled=dtype is not None):
            _grow_tables(model, device, longest)
            _try(stacks, device)
    except Exception as error:  # noqa: BLE001  compilers fail in many ways, and none is fatal
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        log.warning("going on without compiling, which failed: %s", first)
        return Stacks(model)
    finally:
        model.train(training)
        model.zero_grad()
    return stacks


@torch.no_grad()
def _grow_tables(model: Transformer, device: torch.device, longest: int) -> None:
    # Tables of positions grow when a longer sentence comes, which would be compiled anew.
    tokens = torch.full((1, longest), EOS, device=device)
    model.decode(tokens, model.encode(tokens))


def _try(stacks: Stacks, device: torch.device) -> None:
    rows, src_len, tgt_len = TRIAL
    src = torch.full((rows, src_len), EOS, device=device)
    tgt_in = torch.full((rows, tgt_len), BOS, device=device)
    # The backward pass is compiled when it is first asked for.
    stacks.decode(tgt_in, stacks.encode(src)).sum().backward()  # type: ignore[no-untyped-call]
