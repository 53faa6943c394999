"""Rotary positions applied to the projections of a head."""

from __future__ import annotations

import inspect
import sys

import torch
from torch import nn

from headwise.transformers.attention_layers import LayerUse

# Their layers with full attention have no rotary positions.
_IN_SOME_LAYERS = ("Cohere2", "Exaone", "Afmoe")


def rotated(model: nn.Module, use: LayerUse, weight: torch.Tensor,
            position: int) -> torch.Tensor:
    """weight (hidden, D) with the features rotated as at `position`, by the model's own
    functions: a query projected by it, and a key at position 0, are `position` apart.

    Raises NotImplementedError for a model without rotary positions, or whose functions
    are not known.
    """
    module = use.module
    if getattr(module, "use_rope", True) is False:
        return weight
    rotary = _rotary_of(model, use)
    apply = getattr(sys.modules[type(module).__module__], "apply_rotary_pos_emb", None)
    if rotary is None or apply is None or type(module).__name__.startswith(_IN_SOME_LAYERS):
        raise NotImplementedError(f"distance: no rotary positions of "
                                  f"{type(module).__name__} are known")
    at = torch.tensor([[position]])
    extra = ([module.layer_type] if "layer_type" in inspect.signature(
        rotary.forward).parameters else [])
    with torch.no_grad():
        cos, sin = rotary(weight, at, *extra)
        size = getattr(module, "rotary_ndims", weight.shape[1])
        # (hidden, heads, positions, D): every row of the weight is a sequence.
        turned = apply(*[weight[:, None, None, :size]] * 2, cos, sin)[0][:, 0, 0]
    return torch.cat([turned, weight[:, size:]], 1)


def _rotary_of(model: nn.Module, use: LayerUse) -> nn.Module | None:
    path = use.name
    while path:
        path = path.rpartition(".")[0]
        found = getattr(model.get_submodule(path), "rotary_emb", None)
        if isinstance(found, nn.Module):
            return found
    return None
