"""Nested tensors with layout=torch.jagged as ragged batches.

The kernels take the rows of all sequences in one tensor, which is how torch keeps them:
nothing is padded or copied.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headwise.torch.attention_operator import attention
from headwise.torch.call_arguments import Operands
from headwise.torch.tensor_checks import check_device, check_tensors

_OPERATION = "scaled_dot_product_attention"


def attention_of_jagged(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None,
                        dropout_p: float, is_causal: bool, scale: float | None,
                        enable_gqa: bool) -> Tensor:
    """query (B, Hq, j, D), key (B, H, k, D) and value (B, H, k, Dv) with j queries and k
    keys that differ between the sequences. Returns (B, Hq, j, Dv), the j of query.

    Errors: TypeError for tensors that are not such; ValueError for attn_mask, and for
    heads and sequences that do not fit."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        _check_jagged(name, tensor)
    if attn_mask is not None:
        raise ValueError(f"{_OPERATION}: attn_mask is given with nested tensors; expected "
                         "is_causal or no mask, or padded tensors")
    if not len(query.offsets()) == len(key.offsets()) == len(value.offsets()):
        raise ValueError(
            f"{_OPERATION}: query, key and value have {query.shape[0]}, {key.shape[0]} and "
            f"{value.shape[0]} sequences; expected equal numbers")
    if key.offsets() is not value.offsets() and not torch.equal(
            key.offsets(), value.offsets()):
        raise ValueError(f"{_OPERATION}: key and value have sequences of different lengths")
    heads = [tensor.shape[1] for tensor in (query, key, value)]
    if not (enable_gqa or heads[0] == heads[1]) or heads[1] != heads[2]:
        raise ValueError(f"{_OPERATION}: query, key and value have {heads[0]}, {heads[1]} and "
                         f"{heads[2]} heads; expected equal numbers, or with enable_gqa "
                         "more query heads")
    # (1, H, rows of all sequences, D)
    rows = [tensor.values()[None] for tensor in (query, key, value)]
    check_tensors(_OPERATION, *rows)
    offsets = torch.stack([query.offsets(), key.offsets()]).cpu()
    output, _ = attention(*rows, operands=Operands(offsets=offsets), scale=scale,
                          causal=is_causal, dropout_p=dropout_p)
    return torch.nested.nested_tensor_from_jagged(output[0], query.offsets(), jagged_dim=2)


def _check_jagged(name: str, tensor: Tensor) -> None:
    if not tensor.is_nested:
        raise TypeError(f"{_OPERATION}: {name} is a dense tensor; expected a nested one, as "
                        "query, key or value is")
    if tensor.layout != torch.jagged:
        check_device(_OPERATION, name, tensor)
    if tensor.dim() != 4 or tensor._ragged_idx != 2:
        raise ValueError(f"{_OPERATION}: {name} is a nested tensor of {tensor.dim()} axes, "
                         f"ragged in axis {tensor._ragged_idx}; expected (B, H, j, D), "
                         "ragged in j")
    if tensor.lengths() is not None:
        raise ValueError(f"{_OPERATION}: {name} is a nested tensor with gaps between its "
                         "sequences (torch.nested.narrow); expected it after contiguous(), "
                         "before its heads are split")
