"""torch.vmap of the kernels: the new axis becomes part of the batch.

It does not where the calls along the axis differ in something that a batch shares:
dropout, whose pattern depends on the place in the batch, sinks, and ragged batches.
Then they are made one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from headwise.torch.call_arguments import Operands

# The tensors of a call: query, key, value, the operands, and in the backward pass those
# that follow. `axes` says which axis of each is the new one, of `count` elements.
Tensors = Sequence[Tensor | None]
Axes = Sequence[int | None]
Call = Callable[[list[Tensor | None]], tuple[Tensor, ...]]
Mapped = tuple[tuple[Tensor, ...], tuple[int | None, ...]]  # results, and their axes

_PLACES = {name: 3 + place for place, name in enumerate(Operands._fields)}


def forward(call: Call, count: int, axes: Axes, tensors: Tensors,
            dropout_p: float) -> Mapped:
    """call(tensors) returns what core_calls.forward() does."""
    if _share(axes, tensors, dropout_p):
        return _one_by_one(call, count, axes, tensors)
    return _unfolded(call(_folded(count, axes, tensors)), count)


def backward(call: Call, count: int, axes: Axes, tensors: Tensors, dropout_p: float,
             wanted: Sequence[bool]) -> Mapped:
    """call(tensors) returns what core_calls.backward() does."""
    of_bias, of_sinks = wanted[3:]
    if of_sinks or _share(axes, tensors, dropout_p):
        return _one_by_one(call, count, axes, tensors)
    gradients = call(_folded(count, axes, tensors, repeat_bias=of_bias))
    mapped, of = _unfolded(gradients, count)
    if of_bias:
        axis, bias = axes[_PLACES["bias"]], tensors[_PLACES["bias"]]
        shape = bias.shape if axis is None else bias.movedim(axis, 0).shape[1:]
        d_bias = mapped[3]  # (count, B, H, L, S)
        if len(shape) == 2 or shape[0] == 1:
            d_bias = d_bias.sum(1)
        mapped = (*mapped[:3], d_bias.reshape(count, *shape), mapped[4])
    return mapped, of


def _share(axes: Axes, tensors: Tensors, dropout_p: float) -> bool:
    """Whether calls along the new axis cannot be one batch."""
    return (dropout_p > 0 or axes[_PLACES["sinks"]] is not None
            or tensors[_PLACES["offsets"]] is not None)


def _one_by_one(call: Call, count: int, axes: Axes, tensors: Tensors) -> Mapped:
    results = [call([each if axis is None else each.select(axis, number)
                     for each, axis in zip(tensors, axes)]) for number in range(count)]
    stacked = tuple(torch.stack(each) for each in zip(*results))
    return stacked, (0,) * len(stacked)


def _folded(count: int, axes: Axes, tensors: Tensors, repeat_bias: bool = False
            ) -> list[Tensor | None]:
    """The tensors of one call. A bias or mask that the whole batch shares stays one,
    unless each call wants the gradient of its own."""
    query, axis = tensors[0], axes[0]
    batch = query.shape[0] if axis is None else query.movedim(axis, 0).shape[1]
    folded = []
    for place, (tensor, axis) in enumerate(zip(tensors, axes)):
        of_scores = place in (_PLACES["bias"], _PLACES["mask"])
        shared = place == _PLACES["sinks"] or of_scores and axis is None and (
            tensor is None or tensor.dim() == 2 or tensor.shape[0] == 1)
        if tensor is None or shared and not (repeat_bias and place == _PLACES["bias"]):
            folded.append(tensor)
            continue
        first = (tensor.expand(count, *tensor.shape) if axis is None
                 else tensor.movedim(axis, 0))
        if of_scores:
            first = first[:, None, None] if first.dim() == 3 else first
            first = first.expand(count, batch, *first.shape[2:])
        folded.append(first.flatten(0, 1))
    return folded


def _unfolded(results: Sequence[Tensor], count: int) -> Mapped:
    """Results of one axis stand for none."""
    none = [each.dim() == 1 for each in results]
    return (tuple(each if empty else each.unflatten(0, (count, -1))
                  for each, empty in zip(results, none)),
            tuple(None if empty else 0 for empty in none))
