"""Rollout and flow: how much of an input token reaches an output token through all
layers.

    A_l[i,j] = mean over the heads of the attention weights of layer l
    M_l[i,j] = (A_l[i,j] + [i = j]) / (sum_j A_l[i,j] + 1)
    rollout  = M_N ... M_2 M_1
    flow     = the maximum flow through pipes with the capacities M_l

The token of a fully masked row stays as it is. Sinks are no tokens, and pruned heads
are not in the mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from headwise import _core
from transformers import PreTrainedModel

from headwise.transformers.attention_layers import is_cross_attention, layer_uses
from headwise.transformers.examples import Batch
from headwise.transformers.own_pass import KeepingEdit, own_passes


def mean_weights(model: PreTrainedModel, inputs: Batch) -> torch.Tensor:
    """A, (B, layers, L, L). Raises NotImplementedError for a model whose layers do not
    all attend among the same tokens.
    """
    edits = {use: KeepingEdit(use) for use in layer_uses(model)}
    if any(is_cross_attention(use.module) for use in edits):
        raise NotImplementedError(
            f"{type(model).__name__} has cross-attention; rollout and flow follow the tokens "
            "of one sequence: give its encoder, model.get_encoder()")
    with own_passes(model, edits), torch.no_grad():
        model(**inputs)
    means = [layer.weights.mean(1) for layer in edits.values() if layer.seen is not None]
    shapes = {tuple(each.shape[1:]) for each in means}
    if len(shapes) != 1 or any(queries != keys for queries, keys in shapes):
        raise NotImplementedError(
            f"rollout and flow follow the same tokens through all layers; those of "
            f"{type(model).__name__} have (queries, keys) {sorted(shapes)}")
    return torch.stack(means, 1)


def positions_of(positions: int | Sequence[int] | None, length: int) -> list[int]:
    """From the start. Raises ValueError for one that does not exist."""
    if positions is None:
        return list(range(length))
    given = [positions] if isinstance(positions, int) else list(positions)
    for each in given:
        if not -length <= each < length:
            raise ValueError(f"positions has {each}; there are {length} tokens")
    return [each % length for each in given]


def rollout(weights: torch.Tensor, positions: list[int]) -> torch.Tensor:
    """(B, R, L). Rows go through the layers from the last to the first."""
    token = torch.eye(weights.shape[-1], dtype=torch.float64)
    mixed = (weights.double() + token) / (weights.double().sum(-1, keepdim=True) + 1)
    rows = token[positions].expand(len(weights), -1, -1)
    for layer in reversed(mixed.unbind(1)):
        rows = rows @ layer
    return rows.float()


def flow(weights: torch.Tensor, positions: list[int]) -> torch.Tensor:
    """(B, R, L)"""
    return torch.stack([torch.stack([
        torch.from_numpy(_core.attention_flow(layers, token)).float()
        for token in positions]) for layers in weights.float()])
