"""Errors of tensors that headwise.torch cannot take."""

from __future__ import annotations

import torch
from torch import Tensor

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


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
                            "torch.bfloat16 or torch.float16")
        if tensor.dtype != first and not autocast:
            raise TypeError(f"{operation}: {name} is {tensor.dtype} and query is {first}; "
                            "expected the same element type")


def check_device(operation: str, name: str, tensor: Tensor) -> None:
    """TypeError unless the tensor is a dense one on the CPU or a CUDA GPU."""
    if tensor.is_nested or tensor.layout != torch.strided:
        raise TypeError(
            f"{operation}: {name} is a nested or sparse tensor; expected a dense one")
    if not (tensor.is_cpu or tensor.is_cuda or tensor.is_meta):
        raise TypeError(
            f"{operation}: {name} is on the device {tensor.device}; expected the CPU or a "
            f"CUDA GPU: {name}.cpu()")
