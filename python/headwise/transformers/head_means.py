"""The mean output of every head over a set of inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from headwise.transformers.attention_layers import (LayerUse, is_cross_attention,
                                                    layer_uses, self_attention_of)
from headwise.transformers.examples import Batch, as_batches
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.observed_layer import not_padding
from headwise.transformers.own_pass import own_passes
from headwise.transformers.pruned_record import head_numbers_by_layer
from headwise.transformers.watched import Attended, Edit


class HeadMeans:
    """z of every head, averaged over queries that are not padding."""

    def __init__(self, means: dict[int, torch.Tensor], heads: dict[int, list[int]]):
        self._means, self._heads = means, heads

    def of(self, layer: int, heads: tuple[int, ...] | None = None) -> torch.Tensor:
        """(heads, Dv), of heads by their numbers; None: all."""
        means = self._means[layer]
        if heads is None:
            return means
        return means[[self._heads[layer].index(head) for head in heads]]


class _Sum(Edit):
    """Adds up z of one layer."""

    def __init__(self, decoder: _Sum | None):
        """`decoder` sums the self-attention of a cross-attention, whose masks do not say
        which queries are padding.
        """
        self._decoder = decoder
        self.sum: Any = 0
        self.queries = 0
        self.counted = torch.zeros(0, 0, dtype=torch.bool)  # (B, Lq)

    def after(self, seen: Attended) -> Attended:
        counted = (not_padding(seen.call) if self._decoder is None
                   else self._decoder.counted)
        self.sum = self.sum + (seen.z.double() * counted[:, None, :, None]).sum((0, 2))
        self.queries += int(counted.sum())
        self.counted = counted
        return seen


def head_means(model: nn.Module, batches: Batch | Iterable[Batch]) -> HeadMeans:
    """The mean of z, the output of a head before the output projection, of every head
    over the queries of `batches`, the keyword arguments of the model. The model is
    evaluated without dropout and without interventions.

    Raises ValueError without batches, and what `intervene` raises.
    """
    inner = model_of_transformers(model)
    uses = layer_uses(inner)
    sums: dict[LayerUse, _Sum] = {}
    for use in uses:
        decoder = (sums[self_attention_of(use, uses)] if is_cross_attention(use.module)
                   else None)
        sums[use] = _Sum(decoder)
    with own_passes(model, sums), torch.no_grad():
        for batch in as_batches(batches, "batches"):
            model(**batch)
    means = {use.number: (each.sum / each.queries).float()
             for use, each in sums.items() if each.queries}
    if not means:
        raise ValueError("batches is empty, expected at least one batch with a token")
    counts = {layer: len(mean) for layer, mean in means.items()}
    return HeadMeans(means, head_numbers_by_layer(inner, counts))
