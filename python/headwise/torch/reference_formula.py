"""Attention in plain torch operations, as a textbook writes it.

It serves what the kernels do not have: second and forward-mode derivatives, float64,
torch.jit.trace. It costs what eager attention costs, matrices of (B, H, L, S). Masks
and fully masked rows mean what they mean in the kernels. Keys and values that no query
sees may hold anything; of those that some queries see, NaN reaches all queries.
"""

from __future__ import annotations

import functools
import math
import operator

import torch
from torch import Tensor

from headwise.torch.call_arguments import Operands, Positions

# A bias below this is -inf in the kernels, which multiply it by log2(e).
_LOWEST_BIAS = torch.finfo(torch.float32).min * math.log(2)


def attention(query: Tensor, key: Tensor, value: Tensor, operands: Operands,
              positions: Positions, scale: float | None, softcap: float, causal: bool,
              dropout_p: float, attn_weights: str) -> tuple[Tensor, Tensor]:
    """The output (B, Hq, L, Dv) and the attention weights, as attention_operator says."""
    # Autocast would round scores to 16 bits.
    with torch.autocast("cuda" if query.is_cuda else "cpu", enabled=False):
        allowed = _allowed(query, key, operands, positions, causal)
        weights = _weights(query, key, operands, scale, softcap, allowed)
        dropped = weights
        if dropout_p > 0:
            kept = _kept(query, key, operands, positions, dropout_p)
            dropped = weights * kept / (1 - dropout_p) if dropout_p < 1 else weights * 0.0
        values = _for_query_heads(_readable(value, allowed), query)
        output = dropped @ values.to(weights.dtype)
        return output.to(query.dtype), _returned(weights, dropped, attn_weights)


def _weights(query: Tensor, key: Tensor, operands: Operands, scale: float | None,
             softcap: float, allowed: Tensor | None) -> Tensor:
    """Before dropout, (B, Hq, L, S)."""
    dtype = torch.promote_types(query.dtype, torch.float32)
    keys = _for_query_heads(_readable(key, allowed), query)
    if allowed is not None:
        empty = ~allowed.any(-1, keepdim=True)
        query = query.masked_fill(empty, 0.0)
    scores = query.to(dtype) @ keys.to(dtype).transpose(-2, -1)
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if operands.bias is not None:
        bias = operands.bias.to(dtype)
        scores = scores + bias.masked_fill(bias < _LOWEST_BIAS, 0.0)
    if allowed is None:
        return _softmax(scores, operands.sinks)
    # A fully masked row must not be NaN before it is set to 0.
    hidden = torch.where(empty, 0.0, -torch.inf).to(dtype)
    weights = _softmax(torch.where(allowed, scores, hidden), operands.sinks)
    return torch.where(allowed, weights, 0.0)


def _softmax(scores: Tensor, sinks: Tensor | None) -> Tensor:
    """Weights of the keys (B, Hq, L, S). A sink is one more score in each row."""
    if sinks is None:
        return scores.softmax(-1)
    of_rows = sinks.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.cat([scores, of_rows], -1).softmax(-1)[..., :-1]


def _returned(weights: Tensor, dropped: Tensor, mode: str) -> Tensor:
    if mode == "none":
        return weights.new_empty((0,))
    if mode == "mean":
        return weights.mean(1, keepdim=True)
    return dropped if mode == "after_dropout" else weights


def _for_query_heads(tensor: Tensor, query: Tensor) -> Tensor:
    """(B, Hkv, S, D) to (B, Hq, S, D)."""
    groups = query.shape[1] // tensor.shape[1]
    if groups == 1:
        return tensor
    return tensor[:, :, None].expand(-1, -1, groups, -1, -1).flatten(1, 2)


# Masks.


def _allowed(query: Tensor, key: Tensor, operands: Operands, positions: Positions,
             causal: bool) -> Tensor | None:
    """Which keys a query sees: bool, broadcasts to (B, Hq, L, S). None: all."""
    i, j, same = _places(query, key, operands.offsets)
    rules = [] if same is None else [same]
    ahead = j - i - positions.query_start
    if causal:
        rules.append(ahead <= 0)
    if positions.window_left >= 0:
        rules.append(ahead >= -positions.window_left)
    if positions.window_right >= 0:
        rules.append(ahead <= positions.window_right)
    if operands.key_mask is not None:
        rules.append(operands.key_mask[:, None, None])
    if operands.key_starts is not None:
        rules.append(j >= operands.key_starts[:, None, None, None])
    if operands.key_lengths is not None:
        rules.append(j < operands.key_lengths[:, None, None, None])
    if operands.mask is not None:
        rules.append(operands.mask)
    if operands.bias is not None:
        rules.append(~(operands.bias < _LOWEST_BIAS))
    if not rules:
        return None
    allowed = functools.reduce(operator.and_, rules)
    return allowed[None, None] if allowed.dim() == 2 else allowed


def _places(query: Tensor, key: Tensor,
            offsets: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """The numbers of the queries (L, 1) and keys (1, S), in a ragged batch each counted
    from the first of its sequence; and which pairs are of one sequence."""
    i = torch.arange(query.shape[2], device=query.device)
    j = torch.arange(key.shape[2], device=key.device)
    if offsets is None:
        return i[:, None], j[None], None
    of_i, of_j = (torch.bucketize(places, ends[1:], right=True)
                  for places, ends in zip((i, j), offsets))
    return ((i - offsets[0][of_i])[:, None], (j - offsets[1][of_j])[None],
            of_i[:, None] == of_j)


def _readable(keys: Tensor, allowed: Tensor | None) -> Tensor:
    """Keys or values (B, Hkv, S, D), 0 where no query sees them: 0 times NaN is NaN."""
    if allowed is None:
        return keys
    seen = allowed.any(-2)
    if seen.shape[1] != 1:
        seen = seen.unflatten(1, (keys.shape[1], -1)).any(2)
    return keys.masked_fill(~seen[..., None], 0.0)


def _kept(query: Tensor, key: Tensor, operands: Operands, positions: Positions,
          dropout_p: float) -> Tensor:
    """The weights (B, Hq, L, S) that the kernels keep: those of equal scores are not 0."""
    if operands.offsets is not None:
        raise NotImplementedError(
            "attention: second and forward-mode derivatives and float64 of a ragged batch "
            "have no dropout, expected dropout_p=0 or a padded batch with key_lengths")
    zeros = (torch.zeros((*each.shape[:3], 1), device=query.device)
             for each in (query, key, key))
    *_, weights = torch.ops.headwise.attention.default(
        *zeros, Operands(seed=operands.seed), positions[:1] + (-1, -1), None, 0.0, False,
        dropout_p, "after_dropout")
    return weights != 0


# Derivatives. `inputs` are query, key, value, bias and sinks, None where there is none.

Inputs = tuple[Tensor | None, ...]


def _gradients(inputs: Inputs, d_results: Inputs, wanted: tuple[bool, ...],
               operands: Operands, *options) -> tuple[Tensor, ...]:
    """Those of the wanted inputs, for those of the output and the weights."""

    def results(*chosen: Tensor) -> tuple[Tensor, ...]:
        remaining = iter(chosen)
        query, key, value, bias, sinks = (
            next(remaining) if asked else each for each, asked in zip(inputs, wanted))
        of_call = attention(query, key, value, operands._replace(bias=bias, sinks=sinks),
                            *options)
        return tuple(each for each, d_each in zip(of_call, d_results) if d_each is not None)

    _, pullback = torch.func.vjp(
        results, *(each for each, asked in zip(inputs, wanted) if asked))
    return pullback(tuple(each for each in d_results if each is not None))


def second_derivatives(inputs: Inputs, d_results: Inputs, wanted: tuple[bool, ...],
                       d_gradients: tuple[Tensor, ...], operands: Operands,
                       *options) -> tuple[Tensor | None, ...]:
    """The gradients of (*inputs, *d_results) for d_gradients, those of the gradients of
    the wanted inputs. None where there is no tensor."""
    given = (*inputs, *d_results)

    def gradients(*present: Tensor) -> tuple[Tensor, ...]:
        remaining = iter(present)
        tensors = tuple(None if each is None else next(remaining) for each in given)
        return _gradients(tensors[:5], tensors[5:], wanted, operands, *options)

    _, pullback = torch.func.vjp(gradients, *(each for each in given if each is not None))
    computed = iter(pullback(tuple(d for d, asked in zip(d_gradients, wanted) if asked)))
    return tuple(None if each is None else next(computed) for each in given)
