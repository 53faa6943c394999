"""The model of transformers inside another module."""

from __future__ import annotations

from typing import Any

from torch import nn
from transformers import PreTrainedModel


def model_of_transformers(model: Any) -> PreTrainedModel:
    """`model`, or the one inside: torch.compile and modules of your own wrap it.

    Raises TypeError if there is none, or if there are several next to each other.
    """
    found: dict[str, PreTrainedModel] = {}
    for name, module in model.named_modules() if isinstance(model, nn.Module) else ():
        if isinstance(module, PreTrainedModel) and not any(
                _is_inside(name, other) for other in found):
            found[name] = module
    if len(found) == 1:
        return next(iter(found.values()))
    several = f" with {' and '.join(found)} in it" if found else ""
    raise TypeError(f"model is {type(model).__name__}{several}, expected a model of "
                    "transformers (PreTrainedModel), or a module with one in it")


def _is_inside(name: str, other: str) -> bool:
    return other == "" or name.startswith(other + ".")
