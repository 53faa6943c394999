"""What removing heads does to a measure."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable
from typing import Literal, Union

import torch
from torch import nn

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.attention_layers import LayerUse
from headwise.transformers.captured import ReplacedZ
from headwise.transformers.effects import Effect, HeadEffect, HeadEffects
from headwise.transformers.examples import Batch, as_batches
from headwise.transformers.head_means import HeadMeans, head_means
from headwise.transformers.head_sets import GivenHeads, HeadSet, ModelHeads
from headwise.transformers.measured_passes import Measure, passes_of
from headwise.transformers.progress_bar import Progress
from headwise.transformers.watched import Edit, Place

Replacement = Union[Literal["zero", "mean", "uniform"], HeadMeans]


def ablate(model: nn.Module, batches: Union[Batch, Iterable[Batch]], measure: Measure, *,
           heads: GivenHeads = None, pairs: bool = False, replace: Replacement = "zero",
           progress: Progress = False) -> HeadEffects:
    """What removing each head does: measure without it minus measure with all heads,
    for every example.

        effects = headwise.ablate(model, batches, loss)
        effects[3, 1].mean, effects.order[:5], effects.to_pandas()

    batches   the keyword arguments of `model`, batch by batch, or those of one batch;
              the first axis of every tensor is the example
    measure   measure(output, batch) gives one number per example, (B); of one example
              it may be a number
    heads     a list of (layer, head), each removed on its own; a list of heads in it
              is removed together. None: every head. Layers have the numbers of
              `attention_layers`, heads those from before any pruning.
    pairs     also removes every pair of the heads; its `interaction` is the effect of
              the pair minus the effects of both heads alone
    replace   what takes the place of z, the output of a head before the output
              projection, in every token:
              "zero"     0
              "mean"     its mean over the tokens of all batches that are not
                         padding, with all heads; or what `head_means` made of others
              "uniform"  the mean of the values that the token may attend to, which is
                         attention with equal weights
    progress  True shows a bar; a function is called with (done, total) passes

    The model is evaluated without dropout and without interventions; nothing of it
    changes. Every batch takes one forward pass, one more for every head, set or pair, and
    one more with "mean". A large batch costs less per example than a small one.

    Errors: TypeError and IndexError for heads that are none or that the model does not
    have; ValueError without batches, for an unknown `replace`, for a measure of
    another shape or that is not finite; those of `intervene`.
    """
    batches = as_batches(batches, "batches")
    edit_of = _edits(model, batches, replace)
    with passes_of(model, measure, progress, "ablate") as passes:
        first = passes.run(batches[0])
        known = ModelHeads(first.z, passes.inner.config)
        sets = known.sets(heads, single=pairs)
        both = [tuple(sorted(one + other)) for one, other in itertools.combinations(sets, 2)
                ] if pairs else []
        found: dict[HeadSet, list[torch.Tensor]] = {each: [] for each in sets + both}
        passes.count.expect(len(batches) * (1 + len(found)))
        whole = [first.measured, *map(passes.measure, batches[1:])]
        for batch, measured in zip(batches, whole):
            for each, effects in found.items():
                edits = {use: edit_of(use, each, places)
                         for use, places in known.places(each).items()}
                effects.append(passes.measure(batch, edits) - measured)
    alone = {each: torch.cat(effects) for each, effects in found.items()}
    rows = [HeadEffect(alone[each], each) for each in sets]
    for pair in both:
        interaction = alone[pair] - sum(alone[head,] for head in pair)
        rows.append(HeadEffect(alone[pair], pair, interaction=Effect(interaction)))
    name = replace if isinstance(replace, str) else "mean"
    return HeadEffects(f"Effect of removing heads ({name})", rows, torch.cat(whole))


def _edits(model: nn.Module, batches: list[Batch], replace: Replacement
           ) -> Callable[[LayerUse, HeadSet, list[int]], Edit]:
    """What removes heads of a layer, from the layer, the set and their places in it."""
    if replace == "zero":
        return lambda _, __, places: ReplacedZ(places, torch.zeros(1))
    if replace == "uniform":
        return lambda _, __, places: _Uniform(places)
    if replace != "mean" and not isinstance(replace, HeadMeans):
        raise ValueError(f"replace is {replace!r}, expected 'zero', 'mean', 'uniform' or "
                         "what head_means returns")
    means = replace if isinstance(replace, HeadMeans) else head_means(model, batches)

    def of_mean(use: LayerUse, heads: HeadSet, places: list[int]) -> Edit:
        numbers = tuple(head for layer, head in heads if layer == use.number)
        return ReplacedZ(places, means.of(use.number, numbers)[:, None])
    return of_mean


# Masks that are added to scores hide a key with the lowest number of their type.
_HIDDEN = torch.finfo(torch.float16).min / 2


@dataclasses.dataclass(eq=False)
class _Uniform(Edit):
    """Equal attention to every key that a query may see: scores of 0, without sinks."""
    heads: list[int]

    def before(self, call: AttentionCall, _: Place) -> AttentionCall:
        query = call.query.clone()
        query[:, self.heads] = 0
        bias, sinks = call.operands.bias, call.operands.sinks
        if bias is not None:
            bias = bias.view((1,) * (4 - bias.ndim) + bias.shape)
            bias = bias.expand(-1, query.shape[1], -1, -1).clone()
            bias[:, self.heads] = bias[:, self.heads].where(bias[:, self.heads] < _HIDDEN, 0)
        if sinks is not None:
            sinks = sinks.clone()
            sinks[self.heads] = float("-inf")
        return call._replace(query=query,
                             operands=call.operands._replace(bias=bias, sinks=sinks))
