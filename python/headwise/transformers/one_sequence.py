"""One sequence of a kept call, without its padding."""

from __future__ import annotations

from typing import NamedTuple

import torch
from headwise.torch.call_arguments import Operands

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.observed_call import ObservedCall


class OneSequence(NamedTuple):
    """A call of one sequence, and which of the batch's queries and keys it has."""
    call: AttentionCall
    queries: slice
    keys: slice


def one_sequence(kept: ObservedCall, sequence: int) -> OneSequence:
    """Padding on either side is cut off; in cross-attention, that of the keys. So is the
    room that a cache has for later keys.
    """
    call = kept.call
    Lq, Lkv = call.query.shape[2], call.key.shape[2]
    start = call.positions.query_start
    seen = _not_padding(call.operands, sequence, Lkv)
    if not kept.cross:
        seen[start + Lq:] = False
    places = seen.nonzero().flatten().tolist() or [0, Lkv - 1]
    keys = slice(places[0], places[-1] + 1)
    queries = slice(0, Lq)
    if not kept.cross:
        queries = slice(max(keys.start - start, 0), keys.stop - start)
    row = slice(sequence, sequence + 1)
    return OneSequence(call._replace(
        query=call.query[row, :, queries], key=call.key[row, :, keys],
        value=call.value[row, :, keys],
        operands=_narrowed(call.operands, row, queries, keys),
        positions=call.positions._replace(
            query_start=0 if kept.cross else start + queries.start - keys.start),
        attn_weights="none"), queries, keys)


def _not_padding(operands: Operands, sequence: int, count: int) -> torch.Tensor:
    """(count), bool, of the keys."""
    places = torch.arange(count)
    seen = torch.ones(count, dtype=torch.bool)
    if operands.key_starts is not None:
        seen &= places >= operands.key_starts[sequence]
    if operands.key_lengths is not None:
        seen &= places < operands.key_lengths[sequence]
    if operands.key_mask is not None:
        seen &= operands.key_mask[sequence]
    return seen


def _narrowed(operands: Operands, row: slice, queries: slice, keys: slice) -> Operands:
    """Padding that was cut off is no longer masked."""
    key_mask = operands.key_mask
    return operands._replace(
        bias=_of_pairs(operands.bias, row, queries, keys),
        mask=_unless_all(_of_pairs(operands.mask, row, queries, keys)),
        key_mask=_unless_all(None if key_mask is None else key_mask[row, keys]),
        key_starts=None, key_lengths=None)


def _unless_all(mask: torch.Tensor | None) -> torch.Tensor | None:
    return None if mask is None or mask.all() else mask


def _of_pairs(pairs: torch.Tensor | None, row: slice, queries: slice,
              keys: slice) -> torch.Tensor | None:
    """Of (L, S) or (B, H, L, S); axes of 1 are broadcast."""
    if pairs is None:
        return None
    if pairs.ndim == 4 and pairs.shape[0] > 1:
        pairs = pairs[row]
    if pairs.shape[-2] > 1:
        pairs = pairs[..., queries, :]
    return pairs[..., keys] if pairs.shape[-1] > 1 else pairs
