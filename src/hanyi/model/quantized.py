"""Linear layers in 8-bit integers, for translation on a CPU.

The weights of an output are divided by a scale of their own (Jacob et al. 2018), activations by
the largest of their row, so that a sentence's translation does not depend on its batch mates.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from hanyi.errors import ParamsError

BACKEND = "fbgemm"
# The kernel adds two products of an unsigned and a signed byte in 16 bits before it goes on in 32:
# 2 x 255 x 64 still fits.
MOST_WEIGHT = 64
MOST_ACTIVATION = 127
WORTH_IT = 2**17  # weights of a layer; below, scaling the rows takes what the product saves
ZERO_POINT = 128  # what stands for 0 among unsigned activations
LEAST_SCALE = 1e-12  # so that a row of zeros is not divided by 0


class QuantizedLinear(nn.Module):
    """What `nn.Linear` computes, with weights and activations of 8 bits and sums of 32."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()
        scales = weight.abs().amax(dim=1).clamp_min(LEAST_SCALE) / MOST_WEIGHT  # [out]
        rounded = (weight / scales[:, None]).round().to(torch.int8)
        zeros = torch.zeros_like(scales, dtype=torch.int64)
        with warnings.catch_warnings():  # tensors of such a type are going to leave PyTorch
            warnings.simplefilter("ignore", UserWarning)
            quantized = torch._make_per_channel_quantized_tensor(rounded, scales, zeros, 0)
            self.packed = torch.ops.quantized.linear_prepack(quantized, None)
        self.multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach())

    def forward(self, states: Tensor) -> Tensor:
        """Map `[..., in]` to `[..., out]`."""
        scale = states.abs().amax(dim=-1, keepdim=True).clamp_min_(LEAST_SCALE)
        products: Tensor = self.multiply(
            states / scale, 1 / MOST_ACTIVATION, ZERO_POINT, self.packed
        )
        if self.bias is None:
            return products.mul_(scale)
        return torch.addcmul(self.bias, products, scale)


def quantize(model: nn.Module) -> None:
    """Put a `QuantizedLinear` in the place of each large linear layer of a model.

    Raises `ParamsError` where this build of PyTorch has no such products.
    """
    device = next(model.parameters()).device
    if BACKEND not in torch.backends.quantized.supported_engines or device.type != "cpu":
        found = f"int8 on {device.type} without {BACKEND}"
        raise ParamsError("decode.quantization", found, "a CPU of x86", "set it to none")
    torch.backends.quantized.engine = BACKEND
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Linear) and child.weight.numel() >= WORTH_IT:
                setattr(module, name, QuantizedLinear(child))
