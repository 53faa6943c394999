"""Calls of headwise's kernels with torch tensors in the order (B, H, L, D).

Results have the shapes and strides that the fake kernels make here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from headwise import _core
from headwise.torch import threads
from headwise.torch.call_arguments import NO_OPERANDS, NO_POSITIONS, Operands, Positions


def new_output(query: Tensor, value_size: int) -> Tensor:
    """(B, H, L, Dv) in the memory order (B, L, H, Dv), as torch's own kernel
    returns it: what follows attention merges the heads without a copy."""
    batch, heads, queries, _ = query.shape
    return query.new_empty((batch, queries, heads, value_size)).transpose(1, 2)


def weights_shape(mode: str, batch: int, heads: int, queries: int, keys: int):
    """The shape of the attention weights; (0,) if there are none."""
    if mode == "none":
        return (0,)
    return (batch, 1 if mode == "mean" else heads, queries, keys)


GRADIENTS = ("query", "key", "value", "bias", "sinks")


def new_gradients(query: Tensor, key: Tensor, value: Tensor, operands: Operands,
                  wanted: list[bool]) -> tuple[Tensor, ...]:
    """What backward() returns, uninitialised."""
    like = (query, key, value, operands.bias, operands.sinks)
    return tuple(
        _new_gradient(name, tensor) if asked else query.new_empty((0,))
        for name, tensor, asked in zip(GRADIENTS, like, wanted))


def _new_gradient(name: str, like: Tensor) -> Tensor:
    if name in ("bias", "sinks"):
        return torch.empty_like(like, memory_format=torch.contiguous_format)
    batch, heads, length, size = like.shape
    return like.new_empty((batch, length, heads, size)).transpose(1, 2)


_CAUSAL = _core.causal()


def _mask(operands: Operands, positions: Positions,
          causal: bool) -> _core.Mask | Tensor | None:
    if operands is NO_OPERANDS and positions is NO_POSITIONS:
        return _CAUSAL if causal else None
    rules = []
    if causal:
        rules.append(_CAUSAL)
    if positions.window_left >= 0 or positions.window_right >= 0:
        sides = (side if side >= 0 else None for side in positions[1:])
        rules.append(_core.window(*sides))
    if operands.key_mask is not None:
        rules.append(_core.key_padding(operands.key_mask))
    if operands.key_starts is not None:
        rules.append(_core.key_starts(operands.key_starts))
    if operands.key_lengths is not None:
        rules.append(_core.key_lengths(operands.key_lengths))
    if operands.mask is not None:
        rules.append(operands.mask)
    mask = None
    for rule in rules:
        mask = rule if mask is None else mask & rule
    return mask


def call_options(operands: Operands, positions: Positions, scale: float | None,
                 softcap: float, causal: bool, dropout_p: float,
                 attn_weights: str) -> dict[str, Any]:
    """The keyword arguments of _core.attention for those of the operator."""
    options: dict[str, Any] = {"executor": threads.executor()}
    if causal or operands is not NO_OPERANDS or positions is not NO_POSITIONS:
        options["mask"] = _mask(operands, positions, causal)
        options["query_start"] = positions.query_start
        options["bias"] = operands.bias
        options["sinks"] = operands.sinks
        if operands.offsets is not None:
            options["offsets"] = tuple(operands.offsets)
    if scale is not None:
        options["scale"] = scale
    if softcap:
        options["softcap"] = softcap
    if dropout_p > 0:
        options["dropout"] = {"p": dropout_p, "training": True, "seed": int(operands.seed)}
    if attn_weights != "none":
        options["attn_weights"] = attn_weights
    return options


def _stream(query: Tensor) -> dict[str, int]:
    """Where a call on a GPU runs: the stream that torch works in."""
    if not query.is_cuda:
        return {}
    return {"cuda_stream": torch.cuda.current_stream(query.device).cuda_stream}


def forward(query: Tensor, key: Tensor, value: Tensor, operands: Operands,
            positions: Positions, *options) -> tuple[Tensor, Tensor, Tensor]:
    """The output, the rows for the backward pass, and the attention weights."""
    result = _core.torch_attention(query, key, value, softmax_rows=True, **_stream(query),
                                   **call_options(operands, positions, *options))
    weights = result.attn_weights
    if weights is None:
        weights = query.new_empty((0,), dtype=torch.float32)
    return result.output, result.softmax_rows, weights


def inference(query: Tensor, key: Tensor, value: Tensor, operands: Operands,
              positions: Positions, *options) -> tuple[Tensor, Tensor | None]:
    """The output and the attention weights, without rows for a backward pass."""
    result = _core.torch_attention(query, key, value,
                                   **call_options(operands, positions, *options))
    if isinstance(result, Tensor):
        return result, None
    return result.output, result.attn_weights


def backward(tensors: tuple[Tensor, ...], wanted: list[bool], operands: Operands,
             positions: Positions, *options) -> tuple[Tensor, ...]:
    """The gradients of GRADIENTS. Those that are not wanted have no elements: an
    operator cannot return None."""
    query, key, value, output, rows, d_output, d_weights = tensors
    names = [name for name, asked in zip(GRADIENTS, wanted) if asked]
    computed = _core.torch_attention_backward(query, key, value, output, rows, d_output,
                                              d_attn_weights=d_weights, gradients=names,
                                              **_stream(query),
                                              **call_options(operands, positions, *options))
    gradients = (getattr(computed, name) for name in GRADIENTS)
    return tuple(query.new_empty((0,)) if each is None else each for each in gradients)
