"""What copying heads from a corrupted run into a clean one does to a measure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Union

import torch
from torch import nn

from headwise.transformers.attention_layers import LayerUse
from headwise.transformers.captured import ReplacedZ
from headwise.transformers.effects import HeadEffect, HeadEffects, share_of
from headwise.transformers.examples import Batch
from headwise.transformers.head_sets import GivenHeads, HeadSet, ModelHeads
from headwise.transformers.measured_passes import Measure, Passes, Run, as_pairs, passes_of
from headwise.transformers.own_pass import parameters_frozen
from headwise.transformers.progress_bar import Progress


def patch(model: nn.Module, clean: Union[Batch, Iterable[Batch]],
          corrupted: Union[Batch, Iterable[Batch]], measure: Measure, *,
          heads: GivenHeads = None, positions: bool = False, approximate: bool = False,
          progress: Progress = False) -> HeadEffects:
    """What each head carries of the difference between clean and corrupted examples.

        effect(head) = measure(clean, with z of this head from corrupted) - measure(clean)
        share(head)  = effect / (measure(corrupted) - measure(clean))

    z is the output of the head before the output projection, in every position.

    clean, corrupted  the keyword arguments of `model`, of one batch or of several.
                      Example n of one belongs to example n of the other, position by
                      position: their tensors have equal shapes and padding.
    measure    measure(output, batch) gives one number per example, (B), where batch is
               the clean one, or the corrupted one for measure(corrupted)
    heads      a list of (layer, head), each patched on its own; a list of heads in it
               is patched together. None: every head. Layers have the numbers of
               `attention_layers`, heads those from before any pruning.
    positions  also patches one position at a time, except of heads together whose
               layers have different lengths
    approximate  the first order of the effect, with positions:
                   sum over positions and features of (z of corrupted - z of clean)
                   * d measure / d z of clean
    progress   True shows a bar; a function is called with (done, total) passes

    The exact effect takes one forward pass for every batch and every head or set and,
    with positions, every position. The approximation takes two forward passes and one
    backward pass for every batch, whatever the number of heads. It is the tangent of
    the exact effect, so large effects are off first.

    The model is evaluated without dropout and without interventions; neither its
    parameters nor their gradients change.

    Errors: ValueError for examples that are not aligned and for a measure of another
    shape or that is not finite; with approximate=True also for a measure without a
    gradient and for heads of several layers together; otherwise as `ablate`.

    Vig et al. 2020, arXiv:2004.12265; Wang et al. 2022, arXiv:2211.00593; by gradients
    Nanda 2023, Syed et al. 2023, arXiv:2310.10348.
    """
    pairs = as_pairs(clean, corrupted)
    measured: list[tuple[torch.Tensor, torch.Tensor]] = []
    effects: list[list[torch.Tensor]] = []
    with passes_of(model, measure, progress, "patch") as passes:
        sets: list[HeadSet] = []
        for batch, other in pairs:
            there = passes.run(other)
            known = ModelHeads(there.z, passes.inner.config)
            sets = sets or known.sets(heads)
            places = [known.places(each) for each in sets]
            if approximate:
                _check_one_layer(places)
            lengths = [_length(there, each) if positions else 0 for each in places]
            passes.count.expect(len(pairs) * (2 if approximate else
                                              2 + len(sets) + sum(lengths)))
            compute = _first_order if approximate else _exact
            here, found = compute(passes, batch, there, list(zip(places, lengths)))
            measured.append((here, there.measured))
            effects.append(found)
    of_clean, of_corrupted = (torch.cat(each) for each in zip(*measured))
    rows = []
    for heads_of_set, parts in zip(sets, zip(*effects)):
        whole, by_position = _joined(parts)
        rows.append(HeadEffect(whole, heads_of_set, positions=by_position,
                               share=share_of(whole, of_clean, of_corrupted)))
    return HeadEffects("Effect of patching heads" + approximate * " to first order", rows,
                       of_clean, of_corrupted)


# The heads of a set, their places in every layer, and the number of positions.
_Places = tuple[dict[LayerUse, list[int]], int]


def _exact(passes: Passes, batch: Batch, there: Run, sets: list[_Places]
           ) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The measure of the clean batch (B), and the effects of every set: (B, 1 + L), in
    all positions and in each.
    """
    clean = passes.measure(batch)

    def effect(heads: dict[LayerUse, list[int]], positions: slice) -> torch.Tensor:
        edits = {use: ReplacedZ(places, there.z[use][:, places, positions], positions)
                 for use, places in heads.items()}
        return passes.measure(batch, edits) - clean

    return clean, [
        torch.stack([effect(heads, slice(None)),
                     *(effect(heads, slice(at, at + 1)) for at in range(length))], 1)
        for heads, length in sets]


def _first_order(passes: Passes, batch: Batch, there: Run, sets: list[_Places]
                 ) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """As _exact, always with positions."""
    with torch.enable_grad(), parameters_frozen(passes.model):
        run = passes.run(batch, differentiable=True)
        if not run.measured.requires_grad:
            raise ValueError("measure has no gradient, which approximate=True needs: "
                             "compute it from the output with torch alone")
        gradients = torch.autograd.grad(run.measured.sum(), list(run.z.values()),
                                        materialize_grads=True)
    slopes = {use: ((there.z[use] - z.detach()).double() * gradient).sum(-1)
              for (use, z), gradient in zip(run.z.items(), gradients)}  # (B, Hq, L)
    effects = []
    for heads, _ in sets:
        ((use, places),) = heads.items()
        by_position = slopes[use][:, places].sum(1)
        effects.append(torch.cat([by_position.sum(1, keepdim=True), by_position], 1))
    return run.measured.detach(), effects


def _check_one_layer(sets: list[dict[LayerUse, list[int]]]) -> None:
    for heads in sets:
        if len(heads) > 1:  # the gradient of one layer goes through the next, which is held
            raise ValueError("heads has heads of layers "
                             f"{' and '.join(str(use.number) for use in heads)} together, "
                             "which approximate=True cannot patch: expected heads of one "
                             "layer")


def _length(run: Run, heads: dict[LayerUse, list[int]]) -> int:
    """The positions of all layers of a set; 0 if they differ."""
    lengths = {run.z[use].shape[2] for use in heads}
    return lengths.pop() if len(lengths) == 1 else 0


def _joined(parts: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor | None]:
    """(N), in all positions, and (N, L), in each."""
    longest = max(each.shape[1] for each in parts)
    joined = torch.cat([nn.functional.pad(each, (0, longest - each.shape[1]),
                                          value=float("nan")) for each in parts])
    return joined[:, 0], joined[:, 1:] if longest > 1 else None
