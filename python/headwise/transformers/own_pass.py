"""Passes of a model for headwise itself, with edits of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

from headwise.transformers.attention_layers import LayerUse, layer_uses
from headwise.transformers.evaluation import evaluated
from headwise.transformers.examples import Batch, per_example
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.registration import attention_by_headwise
from headwise.transformers.watched import (Attended, Edit, Observer, edited,
                                           nothing_watched, observed, passes_counted)

# target(output, batch) gives one number per example, (B).
Target = Callable[[Any, Batch], torch.Tensor]


class KeepingEdit(Edit):
    """Keeps what one layer computes with its weights, and changes nothing."""
    needs_weights = True

    def __init__(self, use: LayerUse):
        self.use = use
        self.seen: Attended | None = None

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
def own_passes(model: nn.Module, edits: Mapping[LayerUse, Edit] | None = None,
               observers: Mapping[LayerUse, Observer] | None = None) -> Iterator[None]:
    """Inside, `model` is evaluated by headwise, without dropout, with these edits and
    observers and with none of the user's. Raises what `intervene` raises.
    """
    inner = model_of_transformers(model)
    uses = layer_uses(inner)
    with (nothing_watched(uses), attention_by_headwise(inner), passes_counted(inner, uses),
          evaluated(model), edited(edits or {}), observed(observers or {})):
        yield


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


def target_of(model: nn.Module, batch: Batch, target: Target) -> torch.Tensor:
    """(B). Raises ValueError for a target of another shape."""
    numbers = per_example(target(model(**batch), batch), batch, "target")
    if not numbers.requires_grad:
        raise ValueError("target gave numbers without a gradient; they must be computed "
                         "from the output of the model, by torch")
    return numbers
