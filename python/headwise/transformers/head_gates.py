"""A factor on the output of every head, for each example of a batch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import nn

from headwise.transformers.head_layout import HeadFeatures, layers_with_heads


class HeadGates:
    """Gates of every head of a model.

        with gates.applied([ones (B, Hq) for each layer]):
            model(**inputs)

    The output of head h for example b is multiplied by gates[layer][b, h]; a
    gate of 1 changes no bit, and a gate of (1, Hq) is that of every example. Layers
    that share a module (ALBERT) share its gates.
    Raises NotImplementedError for a model whose layout is not known.
    """

    def __init__(self, model: nn.Module):
        self._layers = [HeadFeatures(model, name) for name in layers_with_heads(model)]

    @property
    def heads(self) -> list[int]:
        """The number of query heads of each layer."""
        return [layer.query_heads for layer in self._layers]

    @property
    def group_sizes(self) -> list[int]:
        """The number of query heads that read one head of keys, by layer."""
        return [layer.group_size for layer in self._layers]

    def ones(self, batch: int, like: torch.Tensor) -> list[torch.Tensor]:
        """(batch, Hq) by layer, with the type and the device of `like`."""
        return [like.new_ones(batch, heads) for heads in self.heads]

    @contextlib.contextmanager
    def applied(self, gates: list[torch.Tensor]) -> Iterator[None]:
        hooks = [layer.output.register_forward_pre_hook(_gate(values))
                 for layer, values in zip(self._layers, gates, strict=True)]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


def _gate(gates: torch.Tensor):
    def hook(_: nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
        (context,) = inputs  # (B, L, Hq * D)
        batch, length, _ = context.shape
        heads = context.view(batch, length, gates.shape[1], -1)
        return ((heads * gates[:, None, :, None]).view_as(context),)
    return hook
