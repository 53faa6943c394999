"""Forward passes of a model that end in one number per example."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Union

import torch
from torch import nn

from headwise.transformers.attention_layers import LayerUse, layer_uses
from headwise.transformers.captured import CapturedZ
from headwise.transformers.examples import Batch, as_batches, per_example
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.own_pass import own_passes
from headwise.transformers.progress_bar import PassCount, Progress, counted
from headwise.transformers.watched import Edit, Observer, edited, observed

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
        """(B), float64, on the CPU. Raises ValueError for another shape and for a number
        that is not finite.
        """
        with edited(edits or {}), observed(observers or {}):
            given = self._measure(self.model(**batch), batch)
        measured = per_example(given, batch, "measure").double().cpu()
        for example in (~measured.isfinite()).nonzero().flatten().tolist():
            raise ValueError(f"measure gave {measured[example].item()} for example "
                             f"{example} of a batch, expected a finite number")
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
    with counted(progress, name) as count, own_passes(model), torch.no_grad():
        yield Passes(model, measure, count)


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
