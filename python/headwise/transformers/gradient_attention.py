"""Gradient times attention: w[h,i,j] dF/dw[h,i,j] of a number F.

dF/dw[h,i,j] = dF/dz[i,h] . v[h,j], as if the weights were free: not through the softmax.
"""

from __future__ import annotations

import torch
from transformers import PreTrainedModel

from headwise.transformers.attention_layers import layer_uses
from headwise.transformers.attributed import Found
from headwise.transformers.examples import Batch
from headwise.transformers.own_pass import (KeepingEdit, Target, own_passes,
                                            parameters_frozen, target_of)
from headwise.transformers.watched import Attended


def gradient_attention(model: PreTrainedModel, inputs: Batch, target: Target) -> Found:
    """The pairs are the products; no layers of pairs together."""
    edits = {use: _OnGraph(use) for use in layer_uses(model)}
    with own_passes(model, edits), parameters_frozen(model), torch.enable_grad():
        total = target_of(model, inputs, target).sum()
    seen = [layer for layer in edits.values() if layer.seen is not None]
    gradients = torch.autograd.grad(total, [layer.z for layer in seen],
                                    allow_unused=True, materialize_grads=True)
    found = Found({}, {}, {})
    for layer, d_z in zip(seen, gradients, strict=True):
        d_weights = d_z.to(layer.value.dtype) @ layer.value.mT
        found.pairs[layer.use.number] = layer.weights * d_weights
        found.totals[layer.use.number] = found.pairs[layer.use.number].sum((2, 3))
    return found


class _OnGraph(KeepingEdit):
    """Keeps z where its gradient can be asked for."""

    def kept(self, seen: Attended) -> Attended:
        z = seen.z if seen.z.requires_grad else seen.z.detach().requires_grad_()
        return seen._replace(z=z)

    @property
    def z(self) -> torch.Tensor:
        assert self.seen is not None
        return self.seen.z
