"""Heads as an argument: each on its own, or several together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Union

import torch
from transformers import PretrainedConfig

from headwise.transformers.attention_layers import LayerUse
from headwise.transformers.chosen_heads import check_heads
from headwise.transformers.given_numbers import whole
from headwise.transformers.pruned_record import head_numbers

Head = tuple[int, int]  # layer, head
HeadSet = tuple[Head, ...]
GivenHeads = Union[Iterable[Union[Head, Sequence[Head]]], None]


class ModelHeads:
    """The heads of the layers that a pass called, by their numbers from before any
    pruning.
    """

    def __init__(self, z: dict[LayerUse, torch.Tensor], config: PretrainedConfig):
        """z (B, Hq, Lq, Dv), in the order of the calls."""
        self._uses = {use.number: use for use in z}
        self._heads = {use.number: head_numbers(config, use.pruned_as, values.shape[1])
                       for use, values in z.items()}

    def sets(self, given: GivenHeads, name: str = "heads",
             single: bool = False) -> list[HeadSet]:
        """None: every head on its own. `single`: sets of several are not allowed.

        Errors: TypeError for what is no list of heads, IndexError for a head that
        does not exist, ValueError for a head that is twice in a set.
        """
        if given is None:
            return [((layer, head),) for layer in sorted(self._heads)
                    for head in self._heads[layer]]
        if isinstance(given, (str, int)) or _is_head(given):
            raise TypeError(f"{name} is {given!r}, expected a list such as [(3, 1), (4, 5)]")
        sets = [self._set(each, name) for each in given]
        if single and any(len(each) > 1 for each in sets):
            raise TypeError(f"{name} has heads that belong together, expected single heads")
        if not sets:
            raise ValueError(f"{name} is empty, expected at least one head")
        return list(dict.fromkeys(sets))

    def places(self, heads: HeadSet) -> dict[LayerUse, list[int]]:
        """Where the heads are in their layers."""
        found: dict[LayerUse, list[int]] = {}
        for layer, head in heads:
            found.setdefault(self._uses[layer], []).append(self._heads[layer].index(head))
        return found

    def is_before(self, one: Head, other: Head) -> bool:
        """Whether a pass calls the layer of `one` before that of `other`."""
        order = list(self._uses)
        return order.index(one[0]) < order.index(other[0])

    def _set(self, given: Any, name: str) -> HeadSet:
        heads = (given,) if _is_head(given) else given
        if not isinstance(heads, Sequence) or not heads or not all(map(_is_head, heads)):
            raise TypeError(f"{name} has {given!r}, expected (layer, head), or a list of "
                            "these for heads together")
        for layer, head in heads:
            if layer not in self._uses:
                raise IndexError(f"{name}: the model called no attention layer {layer}; it "
                                 f"called {', '.join(map(str, sorted(self._uses)))}")
            check_heads(layer, [head], self._heads[layer])
        if len(set(heads)) < len(heads):
            raise ValueError(f"{name} has {given!r}, with a head twice")
        return tuple(sorted((int(layer), int(head)) for layer, head in heads))


def _is_head(given: Any) -> bool:
    return (isinstance(given, tuple) and len(given) == 2
            and all(whole(each) is not None for each in given))
