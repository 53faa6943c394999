"""How much attention depends on the distance alone, in the same way in every text
(Voita et al. 2019, arXiv:1905.09418).
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.observed_layer import not_padding
from headwise.transformers.text_layers import TILE, equal_attention, weights_of_queries

_OFFSETS = torch.arange(-32, 33)


class OffsetProfile(NamedTuple):
    """Attention by offset of the key, of every text and head, float64.

    covered  (B, 1, offsets), share of the text's queries that see a key there
    excess   (B, Hq, offsets), mean weight of that key minus that of equal attention
    """
    covered: torch.Tensor
    excess: torch.Tensor


def offset_profile(call: AttentionCall) -> OffsetProfile:
    """Attention weights are held for a few queries at a time."""
    counted, equal = not_padding(call), equal_attention(call)
    batch, heads = call.query.shape[:2]
    sums = torch.zeros(batch, heads, len(_OFFSETS), dtype=torch.float64)
    seen = torch.zeros(batch, 1, len(_OFFSETS), dtype=torch.float64)
    for first in range(0, call.query.shape[2], TILE):
        last = min(first + TILE, call.query.shape[2])
        keys = torch.arange(first, last)[:, None] + _OFFSETS
        inside = (keys >= 0) & (keys < call.key.shape[2])
        place = keys.clamp(0, call.key.shape[2] - 1)
        uniform = _at(weights_of_queries(equal, first, last), place)
        visible = inside & (uniform > 0) & counted[:, None, first:last, None]
        excess = _at(weights_of_queries(call, first, last), place) - uniform
        sums += torch.where(visible, excess, 0).sum(2)
        seen += visible.sum(2)
    return OffsetProfile(seen / counted.sum(1)[:, None, None],
                         torch.where(seen > 0, sums / seen, 0))


def _at(weights: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """The weights (B, H, queries, L) of keys (queries, offsets), in float64."""
    return weights.double().gather(-1, keys.expand(*weights.shape[:2], -1, -1))


def positional_scores(profile: OffsetProfile) -> torch.Tensor:
    """(texts, Hq): how well each text agrees with the mean of the others. NaN if fewer
    than two texts have tokens.
    """
    counts = profile.covered.isfinite().all(-1) & profile.excess.isfinite().all(-1)
    covered = torch.where(counts[..., None], profile.covered, 0)
    excess = torch.where(counts[..., None], profile.excess, 0)
    others = (covered > 0).sum(0) - 1
    mean = (excess.sum(0) - excess) / others
    agreed = torch.where(others > 0, torch.minimum(excess, mean).clamp(min=0), 0)
    scores = (covered * agreed).sum(-1)
    return torch.where(counts & (counts.sum(0) > 1), scores, torch.nan)
