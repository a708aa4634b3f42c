"""AdamW with the parameters that should not decay set apart."""

from __future__ import annotations

import torch
from torch import nn

from hanyi.training.config import TrainConfig

EPSILON = 1e-9  # Vaswani et al. 2017, 5.3


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """Make AdamW (Loshchilov and Hutter 2019); the learning rate is set before each update.

    Norms, biases and embeddings do not decay; nor does an output layer that shares an embedding.
    """
    embeddings = {
        id(parameter)
        for module in model.modules()
        if isinstance(module, nn.Embedding)
        for parameter in module.parameters()
    }
    decaying: list[nn.Parameter] = []
    steady: list[nn.Parameter] = []
    for parameter in model.parameters():
        matrix = parameter.dim() >= 2 and id(parameter) not in embeddings
        (decaying if matrix else steady).append(parameter)
    groups = [
        {"params": decaying, "weight_decay": config.weight_decay},
        {"params": steady, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups, lr=config.learning_rate, betas=config.betas, eps=EPSILON, fused=True
    )
