"""Forward passes of a model that end in one number per example."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Union

import torch
from torch import nn

from headwise.transformers.attention_layers import LayerUse, layer_uses
from headwise.transformers.captured import CapturedZ, edited
from headwise.transformers.evaluation import evaluated
from headwise.transformers.importance import size_of
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.progress_bar import PassCount, Progress, counted
from headwise.transformers.registration import attention_by_headwise
from headwise.transformers.watched import (Edit, Observer, nothing_watched, observed,
                                           passes_counted)

Batch = Mapping[str, Any]
Measure = Callable[[Any, Batch], Any]


@dataclasses.dataclass
class Run:
    """A pass, and z (B, Hq, Lq, Dv) of its layers in the order of their calls."""
    measured: torch.Tensor  # (B), float64
    z: dict[LayerUse, torch.Tensor]


class Passes:
    """Passes without dropout, of which only the given edits and observers know."""

    def __init__(self, model: nn.Module, measure: Measure, count: PassCount):
        self.model, self._measure, self.count = model, measure, count
        self.inner = model_of_transformers(model)
        self.uses = layer_uses(self.inner)

    def measure(self, batch: Batch, edits: Mapping[LayerUse, Edit] | None = None,
                observers: Mapping[LayerUse, Observer] | None = None) -> torch.Tensor:
        """(B), float64"""
        with edited(edits or {}), observed(observers or {}):
            measured = per_example(self._measure(self.model(**batch), batch), batch)
        self.count.step()
        return measured

    def run(self, batch: Batch, differentiable: bool = False) -> Run:
        """Raises NotImplementedError for a layer that is called more than once."""
        captured = CapturedZ(differentiable)
        return Run(self.measure(batch, captured.edits(self.uses)), captured.layers)


@contextlib.contextmanager
def passes_of(model: nn.Module, measure: Measure, progress: Progress,
              name: str) -> Iterator[Passes]:
    """Raises what `intervene` raises."""
    with counted(progress, name) as count:
        passes = Passes(model, measure, count)
        with (nothing_watched(), attention_by_headwise(passes.inner),
              passes_counted(passes.inner, passes.uses), evaluated(model), torch.no_grad()):
            yield passes


def per_example(given: Any, batch: Batch) -> torch.Tensor:
    """The measure of a batch, (B), float64, on the CPU. Raises ValueError for another
    shape and for a number that is not finite.
    """
    values = torch.as_tensor(given)
    examples = size_of(batch)
    if values.ndim == 0 and examples == 1:
        values = values[None]
    if values.shape != (examples,):
        raise ValueError(f"measure gave the shape {tuple(values.shape)}, expected one "
                         f"number per example, ({examples},)")
    for example in (~values.isfinite()).nonzero().flatten().tolist():
        raise ValueError(f"measure gave {values[example].item()} for example {example} of "
                         "a batch, expected a finite number")
    return values.double().cpu()


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


def as_pairs(clean: Union[Batch, Iterable[Batch]], corrupted: Union[Batch, Iterable[Batch]]
             ) -> list[tuple[Batch, Batch]]:
    """Clean and corrupted batches whose examples and positions belong together.

    Raises ValueError for those that differ in more than the values of their tensors.
    """
    pairs = [as_batches(clean, "clean"), as_batches(corrupted, "corrupted")]
    if len(pairs[0]) != len(pairs[1]):
        raise ValueError(f"clean has {len(pairs[0])} batches and corrupted {len(pairs[1])}, "
                         "expected equal numbers")
    for one, other in zip(*pairs):
        _check_aligned(one, other)
    return list(zip(*pairs))


def _check_aligned(clean: Batch, corrupted: Batch) -> None:
    if clean.keys() != corrupted.keys():
        raise ValueError(f"clean has the arguments {', '.join(clean)}; corrupted has "
                         f"{', '.join(corrupted)}")
    for name, one in clean.items():
        other = corrupted[name]
        if not isinstance(one, torch.Tensor):
            continue
        if one.shape != other.shape:
            raise ValueError(
                f"{name} has the shape {tuple(one.shape)} in clean and "
                f"{tuple(other.shape)} in corrupted. {_ALIGN}")
        if name.endswith("attention_mask") and not torch.equal(one, other):
            raise ValueError(f"{name} differs between clean and corrupted. {_ALIGN}")


_ALIGN = ("Position n of clean gets what position n of corrupted has, so an example needs "
          "as many tokens in both, and the same padding: reword one of the two texts, and "
          "tokenize both with the same padding side and length")
