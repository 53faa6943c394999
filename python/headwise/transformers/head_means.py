"""The mean output of every head over a set of inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.attention_layers import (LayerUse, is_cross_attention,
                                                    layer_uses)
from headwise.transformers.evaluation import evaluated
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.observed_layer import not_padding
from headwise.transformers.pruned_record import pruned_heads
from headwise.transformers.registration import attention_by_headwise
from headwise.transformers.watched import (Attended, Place, add_edit, nothing_watched,
                                           passes_counted, remove_edit)


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


class _Sum:
    """Adds up z of one layer. An edit that changes nothing."""
    needs_weights = False

    def __init__(self, use: LayerUse):
        self._cross = is_cross_attention(use.module)
        self.sum: Any = 0
        self.queries = 0

    def before(self, call: AttentionCall, _: Place) -> AttentionCall:
        return call

    def after(self, seen: Attended) -> Attended:
        counted = torch.ones(seen.z.shape[0], seen.z.shape[2], dtype=torch.bool)
        if not self._cross:
            counted &= not_padding(seen.call)
        self.sum = self.sum + (seen.z.double() * counted[:, None, :, None]).sum((0, 2))
        self.queries += int(counted.sum())
        return seen


def head_means(model: nn.Module, batches: Iterable[Mapping[str, Any]]) -> HeadMeans:
    """The mean of z, the output of a head before the output projection, of every head
    over the queries of `batches`, the keyword arguments of the model. The model is
    evaluated without dropout and without interventions.

    Raises ValueError without batches, and what `intervene` raises.
    """
    inner = model_of_transformers(model)
    uses = layer_uses(inner)
    sums = {use: _Sum(use) for use in uses}
    with (nothing_watched(), attention_by_headwise(inner), passes_counted(inner, uses),
          evaluated(model), torch.no_grad()):
        for use, each in sums.items():
            add_edit(use, each)
        try:
            for batch in batches:
                model(**batch)
        finally:
            for use, each in sums.items():
                remove_edit(use, each)
    means = {use.number: (each.sum / each.queries).float()
             for use, each in sums.items() if each.queries}
    if not means:
        raise ValueError("batches is empty, expected at least one batch with a token")
    gone = pruned_heads(inner.config)
    heads = {}
    for layer, mean in means.items():
        removed = gone.get(layer, [])
        heads[layer] = [head for head in range(len(mean) + len(removed))
                        if head not in removed]
    return HeadMeans(means, heads)
