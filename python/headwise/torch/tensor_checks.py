"""Errors of tensors that headwise.torch cannot take."""

from __future__ import annotations

import numpy
import torch
from torch import Tensor

from headwise import _core
from headwise.torch import core_calls
from headwise.torch.call_arguments import Operands, Positions

_DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
_ONE = numpy.zeros((1, 1, 1, 1), numpy.float32)
_SEED = torch.zeros((1,), device="cpu", dtype=torch.int64)


def check_tensors(operation: str, query: Tensor, key: Tensor, value: Tensor) -> None:
    """TypeError for element types that headwise does not have, for types that
    differ, and for other devices."""
    dtype = query.dtype
    for tensor in (query, key, value):
        if (tensor.dtype != dtype or not tensor.is_cpu or tensor.is_nested
                or tensor.layout is not torch.strided):
            break
    else:
        if dtype in _DTYPES:
            return
    _check_each(operation, {"query": query, "key": key, "value": value})


def _check_each(operation: str, tensors: dict[str, Tensor]) -> None:
    query = tensors["query"]
    first = query.dtype
    autocast = torch.is_autocast_enabled("cuda" if query.is_cuda else "cpu")
    for name, tensor in tensors.items():
        check_device(operation, name, tensor)
        if tensor.device != query.device:
            raise TypeError(f"{operation}: {name} is on the device {tensor.device} and query "
                            f"is on {query.device}; expected the same device")
        if tensor.dtype not in _DTYPES:
            raise TypeError(f"{operation}: {name} is {tensor.dtype}; expected torch.float32, "
                            "torch.bfloat16, torch.float16 or torch.float64")
        if tensor.dtype != first and not autocast:
            raise TypeError(f"{operation}: {name} is {tensor.dtype} and query is {first}; "
                            "expected the same element type")


def check_device(operation: str, name: str, tensor: Tensor) -> None:
    """TypeError unless the tensor is a dense one on the CPU or a CUDA GPU."""
    if tensor.is_nested or tensor.layout != torch.strided:
        raise TypeError(
            f"{operation}: {name} is a nested or sparse tensor; expected a dense one, or in "
            "scaled_dot_product_attention a nested one with layout=torch.jagged")
    if not (tensor.is_cpu or tensor.is_cuda or tensor.is_meta):
        raise TypeError(
            f"{operation}: {name} is on the device {tensor.device}; expected the CPU or a "
            f"CUDA GPU: {name}.cpu()")


def check_call(query: Tensor, key: Tensor, value: Tensor, operands: Operands,
               positions: Positions, scale: float | None, softcap: float, causal: bool,
               dropout_p: float, attn_weights: str) -> None:
    """The errors that the kernels have, for calls that reach them later or never."""
    check_tensors("attention", query, key, value)
    for name, tensor, axes in (("query", query, "(B, Hq, L, D)"),
                               ("key", key, "(B, Hkv, S, D)")):
        if tensor.dim() != 4 or not tensor.shape[1]:
            raise _shape_error(name, tensor.shape, axes)
    batch, heads, queries, size = query.shape
    key_heads, keys = key.shape[1:3]
    if heads % key_heads:
        raise ValueError(f"attention: query has {heads} heads and key has {key_heads}; "
                         "expected a multiple")
    _check_shapes({
        "key": (key, (batch, key_heads, keys, size)),
        "value": (value, (batch, key_heads, keys, value.shape[-1])),
        "sinks": (operands.sinks, (heads,)),
        "key_mask": (operands.key_mask, (batch, keys)),
        "key_starts": (operands.key_starts, (batch,)),
        "key_lengths": (operands.key_lengths, (batch,)),
    })
    for name in ("bias", "mask"):
        _check_broadcast(name, getattr(operands, name), (batch, heads, queries, keys))
    if operands.mask is not None and operands.mask.dtype != torch.bool:
        raise TypeError(f"attention: mask is {operands.mask.dtype}; expected torch.bool")
    if not torch.compiler.is_compiling():
        # The kernel's own checks of numbers and words, on one key.
        _core.attention(_ONE, _ONE, _ONE, **core_calls.call_options(
            Operands(seed=_SEED), positions, scale, softcap, causal, dropout_p, attn_weights))


def _check_shapes(expected: dict[str, tuple[Tensor | None, tuple[int, ...]]]) -> None:
    for name, (tensor, shape) in expected.items():
        if tensor is not None and tuple(tensor.shape) != shape:
            raise _shape_error(name, tensor.shape, shape)


def _check_broadcast(name: str, tensor: Tensor | None, scores: tuple[int, ...]) -> None:
    if tensor is not None and (tensor.dim() not in (2, 4) or any(
            extent not in (1, whole)
            for extent, whole in zip(reversed(tensor.shape), reversed(scores)))):
        raise _shape_error(name, tensor.shape, f"{scores[2:]} or {scores}, 1 where broadcast")


def _shape_error(name: str, given: torch.Size, expected: object) -> ValueError:
    return ValueError(f"attention: {name} has shape {tuple(given)}, expected {expected}")
