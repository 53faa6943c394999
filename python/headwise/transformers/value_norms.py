"""Value-weighted norms: how much every key adds to the output of its layer.

    f[h,j] = W[h] v[h,j]      W[h] are the columns of the output projection that read
                              head h, v[h,j] is the value with its bias

The bias of the projection belongs to no key and is left out. Norms and other factors
that come after the projection are left out, too.
"""

from __future__ import annotations

import torch
from transformers import PreTrainedModel

from headwise.transformers.attention_layers import is_cross_attention, layer_uses
from headwise.transformers.attributed import Found
from headwise.transformers.examples import Batch
from headwise.transformers.head_layout import HeadFeatures
from headwise.transformers.observed_layer import not_padding
from headwise.transformers.own_pass import KeepingEdit, own_passes


def value_norms(model: PreTrainedModel, inputs: Batch) -> Found:
    """The pairs are w[h,i,j] |f[h,j]|, together |sum_h w[h,i,j] f[h,j]|."""
    edits = {use: KeepingEdit(use) for use in layer_uses(model)}
    layouts = {use: HeadFeatures(model, use.name) for use in edits}
    found = Found({}, {}, {})
    with own_passes(model, edits), torch.no_grad():
        model(**inputs)
    for use, layer in edits.items():
        if layer.seen is None:
            continue
        added = _added(layer, layouts[use])
        found.pairs[use.number] = layer.weights * added.norm(dim=-1)[:, :, None]
        found.together[use.number] = _together(layer.weights, added)
        found.totals[use.number] = _mean_of_queries(layer, found.pairs[use.number].sum(-1))
    return found


def _added(layer: KeepingEdit, found: HeadFeatures) -> torch.Tensor:
    """f, (B, Hq, Lkv, hidden)."""
    w_o = torch.stack([found.w_o(head) for head in range(found.query_heads)])
    return layer.value @ w_o.detach().to(layer.value.dtype)


def _together(weights: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
    """(B, Lq, Lkv), from the products f[h,j] . f[g,j]. Where heads cancel each other,
    float32 would leave nothing of the difference.
    """
    added, weights = added.double(), weights.double()
    products = torch.einsum("bhjo,bgjo->bjhg", added, added)
    of_one = torch.einsum("bhij,bjhg->bgij", weights, products)
    return (of_one * weights).sum(1).clamp(min=0).sqrt().to(torch.float32)


def _mean_of_queries(layer: KeepingEdit, sums: torch.Tensor) -> torch.Tensor:
    """(B, Hq), of sums (B, Hq, Lq), over queries with a key that are not padding."""
    assert layer.seen is not None
    counted = layer.weights.sum(-1) > 0
    if not is_cross_attention(layer.use.module):
        counted &= not_padding(layer.seen.call)[:, None]
    return torch.where(counted, sums, 0).sum(-1) / counted.sum(-1)
