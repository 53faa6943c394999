"""A model evaluated without dropout."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torch import nn


@contextlib.contextmanager
def evaluated(model: nn.Module) -> Iterator[None]:
    """Inside, `model` is in evaluation mode; afterwards every module is as before."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True
