"""How much each head of a model matters.

    gradient   mean_x |dL_x/dg_h|, divided by the Euclidean norm over the heads
               of its layer (Michel et al. 2019, arXiv:1905.10650, section 4.1)
    fisher     mean_x (dL_x/dg_h)^2 (Kwon et al. 2022, arXiv:2204.09656,
               equation 8)
    ablation   mean_x L_x without head h, minus mean_x L_x: exact

L_x is the loss of example x and g_h a factor on the output of head h, which is
1. A head with a larger score matters more. `headwise importance` computes the
same for the models of the command.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from headwise.transformers.attention_layers import layer_numbers
from headwise.transformers.evaluation import evaluated
from headwise.transformers.examples import Batch, as_batches, per_example, size_of
from headwise.transformers.head_gates import HeadGates
from headwise.transformers.head_layout import layers_with_heads
from headwise.transformers.pruned_record import head_numbers

Loss = Callable[[Any, Batch], torch.Tensor]


@dataclasses.dataclass(frozen=True)
class HeadImportance:
    """The scores of the heads of a model.

    scores  by layer, one number per head that the layer has
    heads   by layer, the numbers of these heads, from before any pruning
    groups  by layer, how many query heads read one head of keys
    layers  the numbers of these layers (`attention_layers`)
    order   (layer, head), the least important first; of equal scores the lowest
            layer and head
    """
    method: str
    scores: list[list[float]]
    heads: list[list[int]]
    groups: list[int]
    layers: list[int]

    @property
    def order(self) -> list[tuple[int, int]]:
        ranked = sorted((score, layer, head)
                        for layer, scores, heads in zip(self.layers, self.scores, self.heads)
                        for score, head in zip(scores, heads))
        return [(layer, head) for _, layer, head in ranked]

    def least(self, count: int) -> dict[int, list[int]]:
        """The `count` heads that matter least, for `prune_heads`.

        Whole groups, by the sum of their scores, and never all heads of a layer; heads
        one by one in a layer with one group.
        Raises ValueError if that cannot be `count` heads.
        """
        plan: dict[int, list[int]] = {}
        left = count
        sizes = {layer: len(heads) for layer, heads in zip(self.layers, self.heads)}
        for layer, group in self._groups():
            removed = plan.get(layer, [])
            if len(group) <= left and len(removed) + len(group) < sizes[layer]:
                plan[layer] = sorted(removed + group)
                left -= len(group)
        if left:
            raise ValueError(f"count is {count}, but whole groups that leave every "
                             f"layer a head are {count - left} heads")
        return dict(sorted(plan.items()))

    def _groups(self) -> list[tuple[int, list[int]]]:
        groups = []
        for layer, scores, heads, group in zip(self.layers, self.scores, self.heads,
                                               self.groups):
            size = group if group < len(heads) else 1
            for first in range(0, len(heads), size):
                groups.append((sum(scores[first:first + size]), layer,
                               heads[first:first + size]))
        return [(layer, group) for _, layer, group in sorted(groups)]


def head_importance(model: nn.Module, batches: Iterable[Batch], loss: Loss,
                    method: str = "gradient") -> HeadImportance:
    """The importance of every head of `model`.

    model    a model whose layers have known layouts; where layers share a module
             (ALBERT), they share its heads and their scores
    batches  the keyword arguments of `model`, batch by batch; the first axis of
             every tensor is the example
    loss     loss(output, batch) gives one loss per example, (B); of one example
             it may be a number
    method   "gradient", "fisher" or "ablation"

    The model is evaluated without dropout; its parameters and their gradients
    do not change. A padded batch gives what its examples alone give. Gradients
    take one backward pass, ablation one forward pass per head and batch.

    Errors: NotImplementedError for a model whose layout is not known; ValueError
    for an unknown method, no batches, a loss of another shape, and a score that
    is not finite.
    """
    if method not in ("gradient", "fisher", "ablation"):
        raise ValueError(f"method is {method!r}, expected 'gradient', 'fisher' or "
                         "'ablation'")
    batches = as_batches(batches, "batches")
    gates = HeadGates(model)
    with evaluated(model):
        losses = _Losses(model, gates, loss)
        scores = (_by_ablation(losses, batches) if method == "ablation"
                  else _by_gradients(losses, batches, method))
    layers = layer_numbers(layers_with_heads(model))
    heads = [head_numbers(model.config, *each) for each in zip(layers, gates.heads)]
    for layer, numbers, values in zip(layers, heads, scores):
        for head, score in zip(numbers, values.tolist()):
            if not math.isfinite(score):
                raise ValueError(f"the score of head {head} of layer {layer} is {score}")
    return HeadImportance(method, [each.tolist() for each in scores], heads,
                          gates.group_sizes, layers)


class _Losses:
    """The losses of the examples of a batch for given gates."""

    def __init__(self, model: nn.Module, gates: HeadGates, loss: Loss):
        self._model, self.gates, self._loss = model, gates, loss
        self.like = next(model.parameters())

    def of(self, batch: Batch, gates: list[torch.Tensor]) -> torch.Tensor:
        """(B)"""
        with self.gates.applied(gates):
            return per_example(self._loss(self._model(**batch), batch), batch, "loss")


def _by_gradients(losses: _Losses, batches: list[Batch],
                  method: str) -> list[torch.Tensor]:
    sums = [torch.zeros(heads, dtype=torch.float64) for heads in losses.gates.heads]
    examples = 0
    for batch in batches:
        gates = [each.requires_grad_()
                 for each in losses.gates.ones(size_of(batch), losses.like.detach())]
        with torch.enable_grad():
            total = losses.of(batch, gates).sum()
        for layer, gradient in enumerate(torch.autograd.grad(total, gates)):
            gradient = gradient.double().cpu()
            sums[layer] += (gradient.abs() if method == "gradient"
                            else gradient.square()).sum(0)
        examples += size_of(batch)
    means = [each / examples for each in sums]
    return [_over_norm(each) for each in means] if method == "gradient" else means


def _over_norm(scores: torch.Tensor) -> torch.Tensor:
    norm = scores.norm()
    return scores / norm if norm > 0 else scores


def _by_ablation(losses: _Losses, batches: list[Batch]) -> list[torch.Tensor]:
    sums = [torch.zeros(heads, dtype=torch.float64) for heads in losses.gates.heads]
    examples = sum(size_of(batch) for batch in batches)
    for batch in batches:
        gates = losses.gates.ones(1, losses.like.detach())
        with torch.no_grad():
            whole = losses.of(batch, gates).double().sum().cpu()
            for layer, heads in enumerate(losses.gates.heads):
                for head in range(heads):
                    gates[layer][0, head] = 0
                    sums[layer][head] += (losses.of(batch, gates).double().sum().cpu()
                                          - whole)
                    gates[layer][0, head] = 1
    return [each / examples for each in sums]
