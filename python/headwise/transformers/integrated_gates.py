"""Gradients of a number F by the gates of heads, integrated from 0 to 1.

    all layers      a[l,h] = int_0^1 dF/dg[l,h] (all gates = t) dt
    layer by layer  a[l,h] = int_0^1 dF/dg[l,h] (gates of layer l = t, all others 1) dt

A gate is a factor on the output of a head. The a[l,h] of all layers add up to F with
all heads minus F without any, layer by layer to F minus F without the layer's heads. The
integral is computed with Gauss-Legendre's rule of 4 points in each of 10 equal parts.

A norm right after the output projection, as in Gemma 2, undoes a factor on all heads,
so that F changes only very near to 0, and the rule misses it: a warning says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping

import torch
from transformers import PreTrainedModel

from headwise.transformers.attention_layers import LayerUse, layer_uses
from headwise.transformers.attributed import ByLayer, Found
from headwise.transformers.examples import Batch
from headwise.transformers.own_pass import (KeepingEdit, Target, own_passes,
                                            parameters_frozen, target_of)
from headwise.transformers.watched import Attended

_PARTS = 10
_LARGEST_ERROR = 0.01  # of the sum of all absolute values
_POINTS = [(-0.861136311594052575, 0.347854845137453857),
           (-0.339981043584856265, 0.652145154862546143),
           (0.339981043584856265, 0.652145154862546143),
           (0.861136311594052575, 0.347854845137453857)]


def integrated_gates(model: PreTrainedModel, inputs: Batch, target: Target) -> Found:
    """All layers together."""
    gates = {use: _Gates(use) for use in layer_uses(model)}
    with own_passes(model, gates), parameters_frozen(model):
        return Found(_integral(model, inputs, target, gates, list(gates)), {}, {})


def integrated_gates_by_layer(model: PreTrainedModel, inputs: Batch,
                              target: Target) -> Found:
    """Layer by layer."""
    gates = {use: _Gates(use) for use in layer_uses(model)}
    totals: ByLayer = {}
    with own_passes(model, gates), parameters_frozen(model):
        for use in gates:
            totals |= _integral(model, inputs, target, gates, [use])
    return Found(totals, {}, {})


def _integral(model: PreTrainedModel, inputs: Batch, target: Target,
              gates: Mapping[LayerUse, _Gates], moved: list[LayerUse]) -> ByLayer:
    """(B, Hq) by layer, of the layers whose gates go from 0 to 1."""
    def target_at(t: float) -> torch.Tensor:
        for use, layer in gates.items():
            layer.seen, layer.factor = None, t if use in moved else 1.0
        with torch.enable_grad():
            return target_of(model, inputs, target)

    sums: ByLayer = {}
    for t, weight in _points():
        total = target_at(t).sum()
        seen = [use for use in moved if gates[use].seen is not None]
        slopes = torch.autograd.grad(total, [gates[use].gates for use in seen],
                                     allow_unused=True, materialize_grads=True)
        for use, slope in zip(seen, slopes, strict=True):
            sums[use.number] = sums.get(use.number, 0) + weight * slope.double()
    _check(sums, (target_at(1.0) - target_at(0.0)).detach().double())
    return {layer: each.float() for layer, each in sums.items()}


def _check(sums: ByLayer, change: torch.Tensor) -> None:
    """Warns where the sums differ from what F changes by."""
    parts = torch.cat(list(sums.values()), 1)
    size = parts.abs().sum(1) + change.abs()
    error = ((parts.sum(1) - change).abs() / size.clamp(min=1e-30)).max().item()
    if error > _LARGEST_ERROR:
        warnings.warn(
            f"integrated gates add up to the change of the target only to {error:.0%}: it "
            "changes too fast while the gates go from 0 to 1, as where a norm follows the "
            "output projection of the heads", RuntimeWarning, stacklevel=5)


def _points() -> Iterator[tuple[float, float]]:
    """t and its weight; the weights add up to 1."""
    for part in range(_PARTS):
        for point, weight in _POINTS:
            yield (part + (1 + point) / 2) / _PARTS, weight / 2 / _PARTS


class _Gates(KeepingEdit):
    """A factor on the output of every head of a layer, for each example."""
    needs_weights = False
    factor = 1.0

    def kept(self, seen: Attended) -> Attended:
        self.gates = seen.z.new_full(seen.z.shape[:2], self.factor).requires_grad_()
        return seen._replace(z=seen.z * self.gates[:, :, None, None])
