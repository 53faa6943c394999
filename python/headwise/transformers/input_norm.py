"""The norm before an attention layer, as a part of the layer's projections."""

from __future__ import annotations

import torch
from torch import nn

from headwise.transformers.attention_layers import LayerUse

# Of models whose attention reads normalised states; those of BERT and BART normalise
# after each layer.
_NAMES = ("input_layernorm", "ln_1", "ln_attn", "layernorm_before", "layer_norm1",
          "attn_norm")
_OWNERS_OF_LAYER_NORM = ("T5", "MT5", "UMT5")


def norm_folded(model: nn.Module, use: LayerUse, weight: torch.Tensor,
                of_states: bool = True) -> torch.Tensor:
    """diag(w) @ weight (hidden, D) with the weight w of the norm before the layer, and
    without the mean that a LayerNorm subtracts. Division by the standard deviation is
    no matrix. Of cross-attention only the queries read such states: `of_states` is
    false for its keys and values.

    Raises NotImplementedError if that norm is not known.
    """
    norm = _norm_before(model, use) if of_states else None
    if norm is None:
        raise NotImplementedError(
            f"fold_norm: the norm before {use.name} is not known, or the layer reads "
            f"states that none of its own normalises; expected one of {', '.join(_NAMES)}")
    if isinstance(norm, nn.Identity):
        return weight
    with torch.no_grad():
        factor, centers = _action(norm, weight)
    folded = factor[:, None] * weight
    return folded - folded.mean(0) if centers else folded


def _action(norm: nn.Module, like: torch.Tensor) -> tuple[torch.Tensor, bool]:
    """The factor of each feature (some norms store it minus 1), and whether the norm
    subtracts the mean. The inputs are so large that its epsilon does not matter.
    """
    dtype = next((each.dtype for each in norm.parameters()), like.dtype)
    signs = torch.ones(like.shape[0], dtype=dtype, device=like.device)
    signs[1::2] = -1
    of_signs, of_ones = ((norm(1e3 * each) - norm(-1e3 * each)) / 2
                         for each in (signs, torch.ones_like(signs)))
    centers = bool(of_ones.abs().max() < 1e-3 * of_signs.abs().max())
    return (of_signs * signs).to(like.dtype), centers


def _norm_before(model: nn.Module, use: LayerUse) -> nn.Module | None:
    """The nearest of `_NAMES` next to the layer or next to a module around it."""
    path = use.name
    while path:
        path = path.rpartition(".")[0]
        owner = model.get_submodule(path)
        names = _NAMES + (("layer_norm",) if type(owner).__name__.startswith(
            _OWNERS_OF_LAYER_NORM) else ())
        for name in names:
            norm = getattr(owner, name, None)
            if isinstance(norm, nn.Module):
                return norm
    return None
