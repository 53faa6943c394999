"""Interventions: heads scaled, replaced, patched and cut off while a model runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from headwise.transformers.attention_layers import LayerUse, layer_kind, layer_uses
from headwise.transformers.chosen_heads import check_heads
from headwise.transformers.given_numbers import numbers, whole
from headwise.transformers.head_selection import Block, HeadSelection, Intervention
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.pruned_record import head_numbers
from headwise.transformers.registration import attention_by_headwise
from headwise.transformers.watched import passes_counted


class Heads:
    """The heads of a model inside `intervene`.

        heads[3, 1]             head 1 of layer 3
        heads[3]                all heads of layer 3
        heads[3, [1, 4]]        two heads; also heads[3, 2:5], heads[:, 0], heads[2:4]
        heads[[(3, 1), (5, 0)]] these heads, (layer, head)
        heads["encoder.layer.3.attention.self", 1]

    Layers have the numbers of `attention_layers`, heads those from before any
    pruning. In an encoder with a decoder, `heads.encoder`, `heads.decoder` (its
    self-attention) and `heads.cross` have the layers of one kind, numbered from 0.
    """

    def __init__(self, block: Block, layers: dict[int, LayerUse]):
        self._block, self._uses = block, layers

    @property
    def model(self) -> PreTrainedModel:
        return self._block.model

    @property
    def encoder(self) -> Heads:
        return self._kind("encoder")

    @property
    def decoder(self) -> Heads:
        return self._kind("decoder")

    @property
    def cross(self) -> Heads:
        return self._kind("cross")

    @property
    def interventions(self) -> list[Intervention]:
        """Those that hold, in the order in which they apply."""
        return [each for each in self._block.made if each._edits]

    def clear(self) -> None:
        """Removes all interventions of the block."""
        for each in self._block.made:
            each.remove()
        self._block.made.clear()

    def __getitem__(self, place: Any) -> HeadSelection:
        if _are_pairs(place):
            of_layer: dict[LayerUse, list[int]] = {}
            for layer, head in place:
                use, = self._layers(layer)
                of_layer.setdefault(use, []).extend(self._heads(use, head) or ())
            return HeadSelection(
                self._block, {use: tuple(heads) for use, heads in of_layer.items()}, False)
        if isinstance(place, tuple) and len(place) != 2:
            raise TypeError(f"heads[{', '.join(map(repr, place))}]: expected heads[layer], "
                            "heads[layer, head] or heads[[(layer, head), ...]]")
        layers, heads = place if isinstance(place, tuple) else (place, slice(None))
        chosen = {use: self._heads(use, heads) for use in self._layers(layers)}
        if not chosen or () in chosen.values():
            raise IndexError(f"heads[{layers!r}, {heads!r}] has no heads")
        return HeadSelection(self._block, chosen, whole(heads) is not None)

    def __iter__(self) -> Iterator[HeadSelection]:
        """All heads of each layer."""
        return (self[number] for number in self._uses)

    def __len__(self) -> int:
        return len(self._uses)

    def __repr__(self) -> str:
        lines = [f"Heads of {len(self)} attention layers of {type(self.model).__name__}"]
        return "\n  ".join(lines + [repr(each) for each in self.interventions])

    def _kind(self, kind: str) -> Heads:
        uses = [use for use in self._block.uses
                if layer_kind(use, self._block.uses) == kind]
        if not uses:
            raise AttributeError(f"{type(self.model).__name__} has no attention layers of "
                                 f"the kind {kind!r}")
        return Heads(self._block, dict(enumerate(uses)))

    def _layers(self, layers: Any) -> list[LayerUse]:
        if isinstance(layers, slice):
            among = range(*layers.indices(max(self._uses) + 1))
            return [use for number, use in self._uses.items() if number in among]
        if isinstance(layers, str):
            named = [use for use in self._uses.values() if use.name == layers]
            if not named:
                names = ", ".join(use.name for use in self._uses.values())
                raise IndexError(f"the model has no attention layer {layers!r}; its "
                                 f"layers are {names}")
            return named
        chosen = numbers(layers, "layer")
        for number in chosen:
            if number not in self._uses:
                raise IndexError(f"the model has no attention layer {number}; its layers "
                                 f"are {', '.join(map(str, self._uses))}")
        return [self._uses[number] for number in chosen]

    def _heads(self, use: LayerUse, heads: Any) -> tuple[int, ...] | None:
        present = _present(self.model, use)
        if isinstance(heads, slice):
            if heads == slice(None):
                return None
            among = range(*heads.indices(present[-1] + 1)) if present else None
            if among is None:
                raise TypeError(f"the number of heads of {use.name} is not known before "
                                "its first call: name heads in a list")
            return tuple(head for head in among if head in present)
        chosen = numbers(heads, "head")
        if present:
            check_heads(use.number, chosen, present)
        return chosen


@contextlib.contextmanager
def intervene(model: nn.Module) -> Iterator[Heads]:
    """Changes what heads do while the block runs the model.

        with headwise.intervene(model) as heads:
            heads[3, 1].scale(0)
            heads[5].patch(other_run)
            output = model(**inputs)

    What changes is z, the output of a head before the output projection, (B, L, heads,
    Dv), or the attention pattern from which it comes: `HeadSelection` has the
    methods. Interventions hold inside the block, while a model generates, too, and
    gradients flow through them. Blocks nest: the changes of all hold. Inside,
    headwise computes the attention; where nothing is changed, its bits stay.

    `model` may be compiled, unless `positions` are chosen while a cache is read, or a
    module with one model of transformers in it.

    A model that recomputes activations (gradient checkpointing) needs its backward pass
    inside the block, too. A model is changed in one thread at a time.

    Errors: NotImplementedError for a model that computes its attention itself;
    TypeError for one that is not of transformers; IndexError for a layer or a head
    that does not exist; ValueError, in the call of the model, for a tensor that does
    not fit; RuntimeError at the end if another attention implementation was set inside.
    """
    model = model_of_transformers(model)
    uses = layer_uses(model)
    if not uses:
        raise ValueError(f"{type(model).__name__} has no attention layers")
    block = Block(model, uses)
    heads = Heads(block, {use.number: use for use in uses})
    with attention_by_headwise(model), passes_counted(model, uses):
        try:
            yield heads
        finally:
            heads.clear()
            block.open = False


def _are_pairs(place: Any) -> bool:
    """Whether it is a list of (layer, head)."""
    return (isinstance(place, (list, tuple)) and len(place) > 0
            and all(isinstance(each, tuple) and len(each) == 2 for each in place))


def _present(model: PreTrainedModel, use: LayerUse) -> list[int]:
    """The numbers of the heads of a layer; none if its module does not say how many."""
    counts = (getattr(owner, name, None)
              for owner in (use.module, getattr(use.module, "config", None))
              for name in ("num_heads", "num_attention_heads", "n_heads"))
    count = next((each for each in counts if type(each) is int), 0)
    return head_numbers(model.config, use.pruned_as, count) if count else []
