"""Examples: batches of a model's arguments, and a number for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Union

import torch

# The keyword arguments of a model; the first axis of every tensor is the example.
Batch = Mapping[str, Any]


def size_of(batch: Batch) -> int:
    """The number of examples in a batch. A tensor of one row is the same for all.

    Raises ValueError for a batch without tensors.
    """
    if not isinstance(batch, Mapping):
        raise TypeError(f"a batch is {type(batch).__name__}, expected a mapping of the "
                        "model's keyword arguments")
    sizes = [value.shape[0] for value in batch.values()
             if isinstance(value, torch.Tensor) and value.ndim > 0]
    if not sizes:
        raise ValueError("a batch has no tensor, expected the arguments of the model")
    return max(sizes)


def as_batches(given: Union[Batch, Iterable[Batch]], name: str) -> list[Batch]:
    """One batch or several, as a list."""
    batches = [given] if isinstance(given, Mapping) else list(given)
    if not batches:
        raise ValueError(f"{name} is empty, expected at least one batch")
    for batch in batches:
        if not isinstance(batch, Mapping):
            raise TypeError(f"{name} has a {type(batch).__name__}, expected mappings of "
                            "the model's keyword arguments")
    return batches


def per_example(given: Any, batch: Batch, name: str) -> torch.Tensor:
    """What the function `name` gave for a batch, (B); of one example it may be a number.

    Raises ValueError for another shape.
    """
    examples = size_of(batch)
    values = given if isinstance(given, torch.Tensor) else None
    if isinstance(given, (int, float, list)):
        values = torch.tensor(given)
    if values is not None and values.ndim == 0 and examples == 1:
        values = values[None]
    if values is None or values.shape != (examples,):
        shape = ("a " + type(given).__name__ if values is None
                 else f"the shape {tuple(values.shape)}")
        raise ValueError(f"{name} gave {shape}, expected one number per example, "
                         f"({examples},), as with reduction=\"none\"")
    return values
