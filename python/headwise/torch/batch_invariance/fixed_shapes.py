"""torch's operators in calls of fixed shapes.

The kernels of torch choose their algorithm by the shape of a call, so a row can
get other bits in another batch. In calls of one shape it gets the same bits in
every place; python/tests/with_torch/test_torch_batch_invariance.py measures this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor

# Rows of one matrix product. Fewer are slower for long inputs (32: 1.3 times
# the time of one call), more are slower for a single row.
ROWS = 32
# Elements of one call: at most what torch gives to one thread, and otherwise
# whole vectors, because the rest of a vector is computed by other functions.
PIECE = 32768
VECTORS = 64


def row_blocks(rows: Tensor) -> list[Tensor]:
    """(N, ...) as contiguous blocks (ROWS, ...), the last filled with zeros."""
    blocks = []
    for start in range(0, rows.shape[0], ROWS):
        block = rows[start:start + ROWS]
        # A copy, because a kernel may also choose by strides and alignment.
        whole = block.new_zeros((ROWS, *block.shape[1:]))
        whole[:block.shape[0]] = block
        blocks.append(whole)
    return blocks


def by_row_blocks(function: Callable[..., Any], *tensors: Tensor) -> Any:
    """function(*tensors), whose result has the rows of the tensors, (N, ...)."""
    count = tensors[0].shape[0]
    if count == 0:
        return function(*tensors)
    results = [function(*blocks) for blocks in zip(*map(row_blocks, tensors))]
    return _joined(results, lambda parts: torch.cat(parts)[:count])


def by_samples(function: Callable[..., Any], arguments: tuple, batched: Collection[int],
               summed: Collection[int] = ()) -> Any:
    """function(*arguments), a call per entry of the first axis of the arguments
    with the numbers `batched`. Results with the numbers `summed` have no such
    axis; they are gradients of parameters and are added."""
    count = arguments[min(batched)].shape[0]
    if count == 0:
        return function(*arguments)
    results = [
        function(*(
            # Contiguous, because a kernel may also choose by strides.
            argument[n:n + 1].clone(memory_format=torch.contiguous_format)
            if number in batched and argument is not None else argument
            for number, argument in enumerate(arguments)))
        for n in range(count)
    ]
    return _joined(results, torch.cat, summed)


def _joined(results: list, join: Callable[[list[Tensor]], Tensor],
            summed: Collection[int] = ()) -> Any:
    if isinstance(results[0], Tensor):
        return join(results)
    return tuple(
        None if parts[0] is None else sum(parts[1:], parts[0]) if n in summed else join(parts)
        for n, parts in enumerate(zip(*results)))


def by_elements(function: Callable[..., Tensor], arguments: tuple, keywords: dict) -> Tensor:
    """function() of tensors that are broadcast, element by element."""
    tensors = [a for a in (*arguments, *keywords.values()) if isinstance(a, Tensor)]
    shape = torch.broadcast_shapes(*(tensor.shape for tensor in tensors))
    count = shape.numel()
    if count == 0:
        return function(*arguments, **keywords)

    def flat(argument: Any) -> Any:
        # A tensor without axes counts less when element types are promoted.
        if not isinstance(argument, Tensor) or argument.dim() == 0:
            return argument
        elements = argument.expand(shape).reshape(-1)
        missing = -count % VECTORS
        return torch.nn.functional.pad(elements, (0, missing)) if missing else elements

    def piece(argument: Any, start: int) -> Any:
        if not isinstance(argument, Tensor) or argument.dim() == 0:
            return argument
        return argument[start:start + PIECE]

    if not shape:
        # Only tensors without axes: one element, in whichever place.
        return function(*arguments, **keywords)
    arguments = [flat(argument) for argument in arguments]
    keywords = {name: flat(argument) for name, argument in keywords.items()}
    parts = [
        function(*(piece(argument, start) for argument in arguments),
                 **{name: piece(argument, start) for name, argument in keywords.items()})
        for start in range(0, count, PIECE)
    ]
    whole = parts[0] if len(parts) == 1 else torch.cat(parts)
    return whole[:count].reshape(shape)
