"""What a head does to a measure along one path: through the inputs of other heads."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Union

import torch
from torch import nn

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.captured import call_of_heads
from headwise.transformers.effects import HeadEffect, HeadEffects, share_of
from headwise.transformers.examples import Batch
from headwise.transformers.head_sets import GivenHeads, HeadSet, ModelHeads
from headwise.transformers.measured_passes import Measure, Passes, Run, as_pairs, passes_of
from headwise.transformers.progress_bar import Progress
from headwise.transformers.text_table import name_of
from headwise.transformers.watched import Attended, Edit, Observer, Place


def path_patch(model: nn.Module, clean: Union[Batch, Iterable[Batch]],
               corrupted: Union[Batch, Iterable[Batch]], measure: Measure,
               from_heads: GivenHeads = None, to_heads: GivenHeads = None, *,
               to_inputs: str = "qkv", pairs: bool = False,
               progress: Progress = False) -> HeadEffects:
    """What each sender carries to the receivers, or to the output, on no way through
    other heads.

        effects = headwise.path_patch(model, clean, corrupted, measure, to_heads=[(9, 6)])
        effects[3, 1].share

    1. The clean and the corrupted examples run; z, the output of every head before the
       output projection, is kept.
    2. The clean examples run with z of one sender from corrupted and z of all other
       heads as in 1. Everything else is computed: embeddings, norms, MLPs. The queries,
       keys and values of the receivers are kept.
    3. The clean examples run; the receivers compute their z with the `to_inputs` of 2.
       Everything else is computed, later heads, too.

    The effect is the measure of 3 minus measure(clean). Without receivers it is that of
    2: the direct effect on the output.

    clean, corrupted, measure  as in `patch`
    from_heads  the senders, a list of (layer, head), one at a time. None: every head
    to_heads    the receivers, a list of (layer, head), together. None: the output
    to_inputs   which inputs of the receivers: letters of "qkv". Of heads that share keys
                and values, only the receivers read those of 2.
    pairs       one receiver at a time; effects[(3, 1), (9, 6)] is that of a pair
    progress    True shows a bar; a function is called with (done, total) passes

    For every batch it takes two forward passes, one for every sender and, with
    receivers, one more; with pairs one more for every receiver. A sender that is not
    before a receiver has the effect 0 and takes no pass.

    The model is evaluated without dropout and without interventions; nothing of it
    changes. Errors: ValueError for other `to_inputs` and for pairs without receivers;
    otherwise as `patch`.

    Wang et al. 2022, arXiv:2211.00593; Goldowsky-Dill et al. 2023, arXiv:2304.05969.
    """
    if not to_inputs or not set(to_inputs) <= set("qkv"):
        raise ValueError(f"to_inputs is {to_inputs!r}, expected letters of 'qkv'")
    if pairs and to_heads is None:
        raise ValueError("pairs=True needs receivers: to_heads is None")
    batches = as_pairs(clean, corrupted)
    measured: list[tuple[torch.Tensor, torch.Tensor]] = []
    found: list[torch.Tensor] = []
    with passes_of(model, measure, progress, "path_patch") as passes:
        senders: list[HeadSet] = []
        for batch, other in batches:
            here, there = passes.run(batch), passes.run(other)
            measured.append((here.measured, there.measured))
            paths = _Paths(passes, batch, here, there)
            if not senders:
                senders = paths.known.sets(from_heads, "from_heads", single=True)
                receivers = _receivers(paths.known, to_heads, pairs)
                passes.count.expect(len(batches) * (2 + sum(
                    paths.passes(sender, receivers) for sender in senders)))
            found.append(torch.stack([paths.effects(sender, receivers, to_inputs)
                                      for sender in senders], 1))
    of_clean, of_corrupted = (torch.cat(each) for each in zip(*measured))
    effects = torch.cat(found)
    rows = [HeadEffect(effects[:, i, j], sender, receiver if pairs else (),
                       share=share_of(effects[:, i, j], of_clean, of_corrupted))
            for i, sender in enumerate(senders) for j, receiver in enumerate(receivers)]
    target = "the output" if receivers == [_OUTPUT] else (
        f"{', '.join(to_inputs)} of " + ", ".join(map(name_of, receivers)))
    return HeadEffects(f"Effect of patching paths to {target}", rows, of_clean,
                       of_corrupted)


_OUTPUT: HeadSet = ()


def _receivers(known: ModelHeads, given: GivenHeads, pairs: bool) -> list[HeadSet]:
    """Each is patched on its own."""
    if given is None:
        return [_OUTPUT]
    single = known.sets(given, "to_heads", single=True)
    return single if pairs else [tuple(sorted(head for each in single for head in each))]


class _Paths:
    """The paths of a pair of batches."""

    def __init__(self, passes: Passes, batch: Batch, here: Run, there: Run):
        self.known = ModelHeads(here.z, passes.inner.config)
        self._passes, self._batch, self._here, self._there = passes, batch, here, there

    def passes(self, sender: HeadSet, receivers: list[HeadSet]) -> int:
        """How many `effects` takes."""
        reached = [each for each in receivers if self._reaches(sender, each)]
        return bool(reached) + sum(each != _OUTPUT for each in reached)

    def effects(self, sender: HeadSet, receivers: list[HeadSet],
                inputs: str) -> torch.Tensor:
        """(B, receivers)"""
        effects = torch.zeros(len(self._here.measured), len(receivers), dtype=torch.float64)
        if not self.passes(sender, receivers):
            return effects
        held = {use: _Held(z) for use, z in self._here.z.items()}
        for use, places in self.known.places(sender).items():
            z = self._here.z[use].clone()
            z[:, places] = self._there.z[use][:, places]
            held[use] = _Held(z)
        direct = self._passes.measure(self._batch, observers=held)
        for number, each in enumerate(receivers):
            if not self._reaches(sender, each):
                continue
            measured = direct if each == _OUTPUT else self._passes.measure(self._batch, {
                use: _Received(places, held[use].call, inputs)
                for use, places in self.known.places(each).items()})
            effects[:, number] = measured - self._here.measured
        return effects

    def _reaches(self, sender: HeadSet, receivers: HeadSet) -> bool:
        return receivers == _OUTPUT or any(
            self.known.is_before(sender[0], each) for each in receivers)


class _Held(Observer):
    """Gives a z that is known, and keeps the call."""
    call: AttentionCall

    def __init__(self, z: torch.Tensor):
        self._z = z

    def attend(self, call: AttentionCall, _: Place
               ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """See Observer."""
        self.call = call
        return self._z, None if call.attn_weights == "none" else call.run()[1]


_INPUTS = {"q": "query", "k": "key", "v": "value"}


@dataclasses.dataclass(eq=False)
class _Received(Edit):
    """Computes z of some heads with inputs of another call."""
    heads: list[int]
    received: AttentionCall
    inputs: str

    def after(self, seen: Attended) -> Attended:
        received = call_of_heads(self.received, self.heads)
        call = call_of_heads(seen.call, self.heads)._replace(**{
            _INPUTS[each]: getattr(received, _INPUTS[each]) for each in self.inputs})
        seen.z[:, self.heads] = call.run()[0]
        return seen
