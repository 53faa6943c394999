"""What interventions change in one layer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.chosen_heads import Chosen, Index, first_query
from headwise.transformers.watched import Attended, Edit, Place

# (b, l, h, Dv) and what was given for these places, to the new (b, l, h, Dv).
Change = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclasses.dataclass(eq=False)
class EditOfZ(Edit):
    """Changes the output of heads. `values` broadcast to (B, L, heads, Dv); with `length`
    they have an axis of positions, as in Chosen.of_call.
    """
    chosen: Chosen
    values: torch.Tensor
    change: Change
    length: int | None = None

    def after(self, seen: Attended) -> Attended:
        index = self.chosen.of_call(seen.z.shape, seen.place, self.length)
        if not len(index.rows):
            return seen
        by_token = seen.z.transpose(1, 2)
        old = by_token[index.of_z]
        values = fitted(self.values, index, self.chosen, old.shape, self.length)
        new = self.change(old, values)
        if not isinstance(new, torch.Tensor):
            raise TypeError(f"the function given to apply returned {type(new).__name__}, "
                            f"expected a tensor {tuple(old.shape)}")
        # Not in place: torch.func transforms and gradients need the old ones.
        z = by_token.index_put(index.of_z, new.to(old.dtype).expand(old.shape))
        return seen._replace(z=z.transpose(1, 2))


@dataclasses.dataclass(eq=False)
class KnockOut(Edit):
    """Cuts edges from queries to keys before the softmax: what is left sums to 1."""
    chosen: Chosen
    keys: tuple[int, ...] | None

    def before(self, call: AttentionCall, place: Place) -> AttentionCall:
        index = self.chosen.of_call(call.query.shape, place)
        columns = columns_of(self.keys, self.chosen.cross, call, place)
        batch, heads, queries, _ = call.query.shape
        cut = torch.zeros(1 if self.chosen.sequences is None else batch,
                          1 if self.chosen.heads is None else heads,
                          queries, call.key.shape[2], dtype=torch.bool)
        sequences = index.sequences if len(cut) > 1 else torch.tensor([0])
        chosen = index.heads if cut.shape[1] > 1 else torch.tensor([0])
        cut[sequences[:, None, None, None], chosen[:, None, None],
            index.rows[:, None], columns] = True
        mask = call.operands.mask
        seen = ~cut if mask is None else ~cut & mask
        return call._replace(operands=call.operands._replace(mask=seen))


@dataclasses.dataclass(eq=False)
class EditOfWeights(Edit):
    """Changes attention weights, and the outputs that follow from them. `change` maps
    the weights (b, h, l, Lkv) to new ones.
    """
    chosen: Chosen
    change: Callable[[torch.Tensor, Attended, Index], torch.Tensor]
    length: int | None = None  # as in Chosen.of_call
    needs_weights = True

    def after(self, seen: Attended) -> Attended:
        index = self.chosen.of_call(seen.z.shape, seen.place, self.length)
        if not len(index.rows):
            return seen
        assert seen.weights is not None
        z, weights = seen.z.transpose(1, 2), seen.weights.transpose(1, 2)  # (B, Lq, Hq, ..)
        new = self.change(weights[index.of_z].transpose(1, 2), seen, index)
        value = seen.call.value
        value = value[index.sequences[:, None],
                      index.heads // (z.shape[2] // value.shape[1])].to(new.dtype)
        outputs = (new @ value).transpose(1, 2).to(z.dtype)
        return seen._replace(
            z=z.index_put(index.of_z, outputs).transpose(1, 2),
            weights=weights.index_put(index.of_z, new.transpose(1, 2)).transpose(1, 2))


def without_keys(keys: tuple[int, ...] | None,
                 cross: bool) -> Callable[..., torch.Tensor]:
    """The change of weights that sets those of `keys` to 0."""
    def change(weights: torch.Tensor, seen: Attended, _: Index) -> torch.Tensor:
        left = torch.ones(weights.shape[-1], dtype=weights.dtype)
        left[columns_of(keys, cross, seen.call, seen.place)] = 0
        return weights * left
    return change


def replaced_by(pattern: torch.Tensor, chosen: Chosen) -> Callable[..., torch.Tensor]:
    """The change of weights to `pattern`, which broadcasts to (B, L, heads, keys)."""
    def change(weights: torch.Tensor, seen: Attended, index: Index) -> torch.Tensor:
        shape = weights.transpose(1, 2).shape
        of_keys = _columns_in(pattern, seen, chosen)
        length = None if pattern.shape[1] == 1 else pattern.shape[1]
        new = fitted(of_keys, index, chosen, shape, length)
        return new.transpose(1, 2).to(weights.dtype)
    return change


def columns_of(keys: tuple[int, ...] | None, cross: bool, call: AttentionCall,
               place: Place) -> torch.Tensor:
    """The keys of the call at these positions; those it does not have are left out."""
    count = call.key.shape[2]
    if keys is None:
        return torch.arange(count)
    end = place.first_key + count
    if not cross and min(keys) < 0:
        end = first_query(place) + call.query.shape[2]
    at = [(each if each >= 0 else end + each) - place.first_key for each in keys]
    return torch.tensor([each for each in at if 0 <= each < count], dtype=torch.int64)


def _columns_in(pattern: torch.Tensor, seen: Attended, chosen: Chosen) -> torch.Tensor:
    """The columns of a pattern for the keys of a call. A cache may have room for keys
    that come later.
    """
    count, first = seen.call.key.shape[2], seen.place.first_key
    given = pattern.shape[-1]
    if given == count and first == 0:
        return pattern
    queries_end = (seen.place.first_query or 0) + seen.call.query.shape[2]
    if given < min(queries_end, first + count):
        raise ValueError(f"layer {chosen.layer}: a pattern of {given} keys was given for a "
                         f"call that sees {min(queries_end, first + count)}")
    columns = pattern[..., first:first + count]
    return torch.nn.functional.pad(columns, (0, count - columns.shape[-1]))


def fitted(values: torch.Tensor, index: Index, chosen: Chosen, shape: torch.Size,
           length: int | None) -> torch.Tensor:
    """`values` (B, L, heads, n), an axis of 1 for what is broadcast, for the chosen
    places, of `shape` (b, l, h, n).
    """
    if length is not None:
        if int(index.given.max()) >= values.shape[1] or (
                chosen.positions is not None
                and values.shape[1] != len(chosen.positions)):
            raise _misfit(values, chosen, shape)
        values = values[:, index.given]
    try:
        return values.expand(shape)
    except RuntimeError:
        raise _misfit(values, chosen, shape) from None


def _misfit(values: torch.Tensor, chosen: Chosen, shape: torch.Size) -> ValueError:
    return ValueError(
        f"layer {chosen.layer}: the tensor given has {tuple(values.shape)} (sequences, "
        f"positions, heads, numbers), expected what broadcasts to {tuple(shape)}")
