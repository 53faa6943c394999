"""The attention of one forward pass, kept layer by layer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.attention_layers import LayerUse
from headwise.transformers.watched import Attended, Edit


class CapturedZ:
    """z of the layers, (B, Hq, Lq, Dv), in the order of their calls.

    differentiable   z is part of the graph of gradients, also that of a first layer
                     whose inputs need no gradient
    """

    def __init__(self, differentiable: bool = False):
        self.layers: dict[LayerUse, torch.Tensor] = {}
        self._differentiable = differentiable

    def edits(self, uses: Sequence[LayerUse]) -> dict[LayerUse, Edit]:
        return {use: _Capture(use, self) for use in uses}

    def keep(self, use: LayerUse, z: torch.Tensor) -> torch.Tensor:
        """What the layer gives."""
        if use in self.layers:
            raise NotImplementedError(
                f"layer {use.number} computes its attention more than once in a forward "
                "pass")
        if self._differentiable and not z.requires_grad:
            z = z.detach().requires_grad_()
        self.layers[use] = z if self._differentiable else z.clone()
        return z


@dataclasses.dataclass(eq=False)
class _Capture(Edit):
    use: LayerUse
    captured: CapturedZ

    def after(self, seen: Attended) -> Attended:
        return seen._replace(z=self.captured.keep(self.use, seen.z))


@dataclasses.dataclass(eq=False)
class ReplacedZ(Edit):
    """Puts `values`, which broadcast to (B, heads, positions, Dv), in place of z."""
    heads: list[int]  # places in the layer
    values: torch.Tensor
    positions: slice = dataclasses.field(default_factory=lambda: slice(None))

    def after(self, seen: Attended) -> Attended:
        seen.z[:, self.heads, self.positions] = self.values.to(seen.z.dtype)
        return seen


def call_of_heads(call: AttentionCall, heads: list[int]) -> AttentionCall:
    """The attention of some query heads; each has keys and values of its own, also
    where it shared them.
    """
    group = call.query.shape[1] // call.key.shape[1]
    shared = [head // group for head in heads]
    operands = call.operands
    sinks = operands.sinks
    return call._replace(
        query=call.query[:, heads], key=call.key[:, shared], value=call.value[:, shared],
        operands=operands._replace(bias=_of_heads(operands.bias, heads),
                                   mask=_of_heads(operands.mask, heads),
                                   sinks=None if sinks is None else sinks[heads]),
        attn_weights="none")


def _of_heads(values: torch.Tensor | None, heads: list[int]) -> torch.Tensor | None:
    """Of a tensor (B, H, L, S); others are the same for every head."""
    if values is None or values.ndim < 4 or values.shape[1] == 1:
        return values
    return values[:, heads]
