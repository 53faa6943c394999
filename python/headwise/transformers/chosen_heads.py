"""The heads, positions and sequences of one layer that an intervention changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import torch

from headwise.transformers.watched import Place


class Index(NamedTuple):
    """What of a call is chosen, as indices of its tensors."""
    sequences: torch.Tensor  # (b)
    rows: torch.Tensor       # (l), queries of the call
    heads: torch.Tensor      # (h)
    given: torch.Tensor      # (l): the place of each row in what was given by position

    @property
    def of_z(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """For a tensor (B, Lq, Hq, ...): (b, l, h, ...)."""
        return self.sequences[:, None, None], self.rows[:, None], self.heads


@dataclasses.dataclass(frozen=True)
class Chosen:
    """heads      numbers from before any pruning; None: all
    one_head   whether one head was named, so that tensors have no axis of heads
    positions  in the model's input, padding counted; negative ones from the end of
               what was read so far; None: all
    sequences  of the batch; None: all
    gone       heads of the layer that were pruned
    cross      whether the layer is one of cross-attention
    """
    layer: int
    heads: tuple[int, ...] | None
    one_head: bool
    positions: tuple[int, ...] | None
    sequences: tuple[int, ...] | None
    gone: tuple[int, ...] = ()
    cross: bool = False

    def of_call(self, shape: Sequence[int], place: Place,
                length: int | None = None) -> Index:
        """For queries of `shape` (B, Hq, Lq, D). `length`: how many positions, from the
        first on, a tensor was given for; None: it has no axis of positions.
        """
        batch, heads, queries = shape[:3]
        rows = torch.arange(queries)
        given = rows
        if self.positions is not None:
            first = first_query(place)
            at = [(each if each >= 0 else first + queries + each) - first
                  for each in self.positions]
            inside = [(row, n) for n, row in enumerate(at) if 0 <= row < queries]
            rows, given = (torch.tensor(each, dtype=torch.int64)
                           for each in (zip(*inside) if inside else ((), ())))
        elif length is not None:
            first = first_query(place)
            if first == 0 and length < queries:
                raise ValueError(f"layer {self.layer}: values of {length} positions were "
                                 f"given for a call with {queries} queries; say which "
                                 "with positions=")
            given = rows + first
            rows, given = rows[given < length], given[given < length]
        return Index(self._sequences(batch), rows, self._heads(heads), given)

    def _sequences(self, batch: int) -> torch.Tensor:
        if self.sequences is None:
            return torch.arange(batch)
        for each in self.sequences:
            if not -batch <= each < batch:
                raise ValueError(f"sequences has {each}; the batch has {batch} sequences")
        return torch.tensor(self.sequences, dtype=torch.int64) % batch

    def _heads(self, count: int) -> torch.Tensor:
        if self.heads is None:
            return torch.arange(count)
        present = [head for head in range(count + len(self.gone)) if head not in self.gone]
        check_heads(self.layer, self.heads, present)
        return torch.tensor([present.index(head) for head in self.heads])


def first_query(place: Place) -> int:
    """The position of the first query of a call. Raises RuntimeError if it is not known."""
    if place.first_query is None:
        raise RuntimeError(
            "the position of this call in the input is not known, because torch.compile or "
            "the caller made its mask: to choose positions while a cache is read, run the "
            "model without torch.compile and with a mask (B, L)")
    return place.first_query


def check_heads(layer: int, heads: Sequence[int], present: Sequence[int]) -> None:
    """Raises IndexError for a head that the layer does not have."""
    for head in heads:
        if head in present:
            continue
        if present and 0 <= head < present[-1]:
            raise IndexError(f"head {head} of layer {layer} was removed")
        raise IndexError(f"layer {layer} has no head {head}: expected "
                         + (f"a number below {len(present)}"
                            if list(present) == list(range(len(present)))
                            else f"one of {list(present)}"))

