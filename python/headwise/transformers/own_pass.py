"""Passes of a model for headwise itself, with edits of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.attention_layers import LayerUse
from headwise.transformers.evaluation import evaluated
from headwise.transformers.importance import size_of
from headwise.transformers.registration import attention_by_headwise
from headwise.transformers.watched import (Attended, Edit, Place, add_edit,
                                           nothing_watched, passes_counted, remove_edit)

Batch = Mapping[str, Any]
# target(output, batch) gives one number per example, (B).
Target = Callable[[Any, Batch], torch.Tensor]


class KeepingEdit:
    """Keeps what one layer computes with its weights, and changes nothing."""
    needs_weights = True

    def __init__(self, use: LayerUse):
        self.use = use
        self.seen: Attended | None = None

    def before(self, call: AttentionCall, _: Place) -> AttentionCall:
        return call

    def after(self, seen: Attended) -> Attended:
        if self.seen is not None:
            raise NotImplementedError(f"layer {self.use.number} ({self.use.name}) computes "
                                      "attention twice in a pass")
        self.seen = self.kept(seen)
        return self.seen

    def kept(self, seen: Attended) -> Attended:
        """What is kept, and what the model goes on with."""
        return seen

    @property
    def weights(self) -> torch.Tensor:
        """(B, Hq, Lq, Lkv)"""
        assert self.seen is not None and self.seen.weights is not None
        return self.seen.weights.detach()

    @property
    def value(self) -> torch.Tensor:
        """(B, Hq, Lkv, Dv), float32 or wider; heads of a group share it."""
        assert self.seen is not None
        value = self.seen.call.value.detach()
        value = value.to(torch.promote_types(value.dtype, torch.float32))
        return value.repeat_interleave(self.seen.z.shape[1] // value.shape[1], 1)


@contextlib.contextmanager
def own_passes(model: PreTrainedModel, edits: Mapping[LayerUse, Edit]) -> Iterator[None]:
    """Inside, `model` is evaluated by headwise, without dropout, with these edits and
    with none of the user's.
    """
    with (nothing_watched(), attention_by_headwise(model), passes_counted(model, edits),
          evaluated(model)):
        for use, edit in edits.items():
            add_edit(use, edit)
        try:
            yield
        finally:
            for use, edit in edits.items():
                remove_edit(use, edit)


@contextlib.contextmanager
def parameters_frozen(model: nn.Module) -> Iterator[None]:
    """Inside, no parameter requires a gradient."""
    trained = [each for each in model.parameters() if each.requires_grad]
    for each in trained:
        each.requires_grad_(False)
    try:
        yield
    finally:
        for each in trained:
            each.requires_grad_(True)


def target_of(model: PreTrainedModel, batch: Batch, target: Target) -> torch.Tensor:
    """(B). Raises ValueError for a target of another shape."""
    numbers = target(model(**batch), batch)
    examples = size_of(batch)
    if isinstance(numbers, torch.Tensor) and numbers.ndim == 0 and examples == 1:
        numbers = numbers[None]
    if not isinstance(numbers, torch.Tensor) or numbers.shape != (examples,):
        given = (f"the shape {tuple(numbers.shape)}" if isinstance(numbers, torch.Tensor)
                 else type(numbers).__name__)
        raise ValueError(f"target gave {given}, expected one number per example, "
                         f"({examples},)")
    if not numbers.requires_grad:
        raise ValueError("target gave numbers without a gradient; they must be computed "
                         "from the output of the model, by torch")
    return numbers
