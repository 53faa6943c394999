"""How much the attention maps of the heads of two models overlap."""

from __future__ import annotations

import torch

from headwise.transformers.observed_layer import not_padding
from headwise.transformers.text_layers import TILE, LayerCall, weights_of_queries


def map_overlaps(a: list[LayerCall], b: list[LayerCall]) -> torch.Tensor:
    """(texts, heads of a, heads of b), float64: for each query, the sum over the keys of
    the smaller of the two weights, averaged over the queries that are not padding. NaN
    for heads that read different tokens: an encoder's and a decoder's.

    Raises ValueError for layers of the same tokens with different lengths.
    """
    sides_a, sides_b = _side_of_heads(a), _side_of_heads(b)
    overlaps = torch.full((a[0].call.query.shape[0], len(sides_a), len(sides_b)),
                          torch.nan, dtype=torch.float64)
    for side in set(sides_a) & set(sides_b):
        rows = torch.tensor([each == side for each in sides_a]).nonzero()
        columns = torch.tensor([each == side for each in sides_b]).nonzero()
        overlaps[:, rows, columns[:, 0]] = _of_side([each for each in a if each.side == side],
                                                    [each for each in b if each.side == side])
    return overlaps


def _side_of_heads(layers: list[LayerCall]) -> list[str]:
    return [each.side for each in layers for _ in range(each.call.query.shape[1])]


def _of_side(a: list[LayerCall], b: list[LayerCall]) -> torch.Tensor:
    shapes = {tuple(each.call.query.shape[::2]) for each in a + b}
    if len(shapes) > 1:
        raise ValueError(f"the models compute (sequences, queries) {sorted(shapes)} for the "
                         "same inputs, expected the same tokens in both")
    counted = not_padding(a[0].call)
    sums = torch.zeros(len(counted), sum(each.call.query.shape[1] for each in a),
                       sum(each.call.query.shape[1] for each in b), dtype=torch.float64)
    for first in range(0, counted.shape[1], TILE):
        rows = slice(first, min(first + TILE, counted.shape[1]))
        maps_a, maps_b = (_maps(layers, rows, counted[:, rows]) for layers in (a, b))
        # min(x, y) = (x + y - |x - y|) / 2
        both = maps_a.sum(-1)[:, :, None] + maps_b.sum(-1)[:, None]
        sums += (both - torch.cdist(maps_a, maps_b, p=1)).double() / 2
    return (sums / counted.sum(1)[:, None, None]).clamp(max=1)


def _maps(layers: list[LayerCall], rows: slice, counted: torch.Tensor) -> torch.Tensor:
    """(texts, heads, rows * keys), 0 for padding."""
    weights = torch.cat([weights_of_queries(each.call, rows.start, rows.stop)
                         for each in layers], 1)
    return torch.where(counted[:, None, :, None], weights, 0).flatten(2)
