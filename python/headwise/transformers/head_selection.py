"""What can be done to heads inside `intervene`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Union

import torch
from torch import nn
from transformers import PreTrainedModel

from headwise.transformers.attention_layers import (LayerUse, is_cross_attention,
                                                    self_attention_of)
from headwise.transformers.chosen_heads import Chosen, check_heads
from headwise.transformers.circuit import Circuit
from headwise.transformers.circuits import Tokens, ov_circuit, qk_circuit
from headwise.transformers.decoder_place import DecoderPlace, EditOfCross
from headwise.transformers.edits import (Change, EditOfWeights, EditOfZ, KnockOut,
                                         replaced_by, without_keys)
from headwise.transformers.given_numbers import numbers
from headwise.transformers.head_layout import HeadFeatures
from headwise.transformers.head_means import HeadMeans, head_means
from headwise.transformers.observation import Observation
from headwise.transformers.pruned_record import gone_heads, head_numbers
from headwise.transformers.watched import Edit, add_edit, remove_edit

Places = Union[int, Sequence[int], None]


class Intervention:
    """One change of some heads. It holds until `remove` or the end of the block."""

    def __init__(self, text: str, edits: list[tuple[LayerUse, Edit]]):
        self._text, self._edits = text, edits
        for use, edit in edits:
            add_edit(use, edit)

    def remove(self) -> None:
        for use, edit in self._edits:
            remove_edit(use, edit)
        self._edits = []

    def __repr__(self) -> str:
        return self._text if self._edits else f"{self._text}, removed"


@dataclasses.dataclass
class Block:
    """A block of `intervene`."""
    model: PreTrainedModel
    uses: list[LayerUse]
    made: list[Intervention] = dataclasses.field(default_factory=list)
    open: bool = True


class HeadSelection:
    """Some heads of some layers, and what can be done to them.

    Every method takes `positions` (or `queries`), of the model's input with padding
    counted from 0, negative ones from the end of what was read so far, and
    `sequences` of the batch: a number, a list of numbers, or None for all. While a
    cache is read, positions go on from the cached ones. Changes of attention weights
    apply before changes of outputs, each in the order in which they were made; what a
    number or a tensor changes keeps its gradients.

    Tensors have the axes (sequences, positions, heads, ...), an axis of 1 or a
    missing leading axis for what is the same everywhere, and no axis of heads if one
    head was named: for heads[3, 1] z may be (Dv), (L, Dv) or (B, L, Dv). The axis of
    positions has the given positions or, without any, all from the first on.
    """

    def __init__(self, block: Block, chosen: Mapping[LayerUse, tuple[int, ...] | None],
                 one_head: bool):
        self._block, self._chosen, self._one_head = block, chosen, one_head

    def scale(self, factor: float | torch.Tensor, positions: Places = None,
              sequences: Places = None) -> Intervention:
        """Multiplies the output of every head by `factor`, a number or a tensor (B, L,
        heads). 0 removes the head; 1 changes no bit.
        """
        values = self._with_axes(torch.as_tensor(factor), "factor", 0)
        return self._of_z(f"scale({_short(factor)})", positions, sequences, values,
                          lambda z, given: z * given)

    def replace(self, z: torch.Tensor, positions: Places = None,
                sequences: Places = None) -> Intervention:
        """Puts `z` (B, L, heads, Dv) in place of the output of every head."""
        return self._of_z(f"replace({_short(z)})", positions, sequences,
                          self._with_axes(z, "z", 1), lambda _, given: given)

    def apply(self, change: Callable[[torch.Tensor], torch.Tensor],
              positions: Places = None, sequences: Places = None) -> Intervention:
        """Puts change(z) in place of z (B, L, heads, Dv), the outputs of the chosen
        heads, positions and sequences.
        """
        return self._of_z("apply(...)", positions, sequences, torch.zeros(1, 1, 1, 1),
                          lambda z, _: change(z))

    def mean(self, over: HeadMeans | Iterable[Mapping[str, Any]], positions: Places = None,
             sequences: Places = None) -> Intervention:
        """Replaces the output of every head by its mean over all queries of `over`:
        batches of the model's keyword arguments, which it reads now without any
        intervention, or what `head_means` made of them.
        """
        means = over if isinstance(over, HeadMeans) else head_means(self._block.model, over)
        return self._of_each("mean(...)", positions, sequences,
                             lambda use, heads: means.of(use.number, heads)[None, None],
                             False)

    def patch(self, run: Observation, positions: Places = None, sequences: Places = None,
              from_positions: Places = None) -> Intervention:
        """Copies the output of every head from another run, which
        observe(model, maps=True) saw: at the same positions, or from those of
        `from_positions` to `positions`. Sequence n gets what sequence n had there; a
        run of one sequence goes to all.
        """
        if not isinstance(run, Observation):
            raise TypeError(f"run is {type(run).__name__}, expected what observe(model, "
                            "maps=True) saw")
        if positions is None and from_positions is not None:
            raise ValueError("from_positions needs positions, to which they go")
        there = _numbers(positions if from_positions is None else from_positions,
                         "from_positions")
        here = _numbers(sequences, "sequences")

        def values(use: LayerUse, heads: tuple[int, ...] | None) -> torch.Tensor:
            z, known = run.call(use.number).z, run.head_numbers(use.number)
            if heads is not None:
                check_heads(use.number, heads, known)
                z = z[:, :, [known.index(head) for head in heads]]
            if here is not None and len(z) > 1:
                z = z[list(here)]
            if there is None:
                return z
            for each in there:
                if not -z.shape[1] <= each < z.shape[1]:
                    raise ValueError(f"position {each}: the run has {z.shape[1]} positions")
            return z[:, list(there)]
        return self._of_each("patch(...)", positions, sequences, values, positions is None)

    def knock_out(self, queries: Places = None, keys: Places = None,
                  after_softmax: bool = False, sequences: Places = None) -> Intervention:
        """Cuts the edges from `queries` to `keys` out of the attention pattern.

        Before the softmax the other weights of a query grow to a sum of 1, and a query
        without keys gives 0; after it they stay as they are.
        """
        cut = _numbers(keys, "keys")
        text = f"knock_out(queries={queries}, keys={keys})"
        if not after_softmax:
            return self._add(text, queries, sequences, lambda _, chosen: KnockOut(chosen, cut))
        return self._add(text, queries, sequences, lambda _, chosen: EditOfWeights(
            chosen, without_keys(cut, chosen.cross)))

    def pattern(self, weights: torch.Tensor, queries: Places = None,
                sequences: Places = None) -> Intervention:
        """Puts `weights` in place of the attention weights: (L, keys), the same for all
        heads, or (B, heads, L, keys), for one head (B, L, keys). They need not sum to 1.
        """
        by_token = weights
        if not self._one_head and isinstance(weights, torch.Tensor) and weights.ndim > 1:
            by_token = (weights[:, None] if weights.ndim == 2 else weights.transpose(-3, -2))
        values = self._with_axes(by_token, "weights", 1)
        return self._add(f"pattern({_short(weights)})", queries, sequences,
                         lambda _, chosen: EditOfWeights(
                             chosen, replaced_by(values, chosen), _length(values)))

    def ov(self, tokens: Tokens = None) -> Circuit:
        """W_V W_O of one head, (hidden, hidden), as a product of rank D: a key with the
        hidden state x and weight 1 adds x @ ov().matrix to the output.

        tokens  ids, or "tokens" for the whole vocabulary: from the embedding of each to
                the logits of each, (tokens, tokens), without any norm

        Errors: ValueError for several heads, and for a model without such embeddings;
        NotImplementedError if the layout is not known.
        """
        return ov_circuit(*self._one(), tokens)

    def qk(self, tokens: Tokens = None) -> Circuit:
        """W_Q W_K^T of one head, (hidden, hidden), as a product of rank D: the score of
        a query x and a key y is x @ qk().matrix @ y, before the scale. The key head is
        that of the head's group. Biases, rotary positions and norms of queries and keys
        are left out. `tokens` as in `ov`, from the embedding of each to that of each.

        Errors: those of `ov`.
        """
        return qk_circuit(*self._one(), tokens)

    def _one(self) -> tuple[nn.Module, LayerUse, int]:
        """The model, the layer and the place of the only head."""
        found = [(use, head) for use, heads in self._chosen.items() for head in heads or ()]
        if len(found) != 1 or None in self._chosen.values():
            raise ValueError(f"heads is {self}, expected one head: heads[layer, head]")
        (use, head), model = found[0], self._block.model
        present = head_numbers(model.config, use.pruned_as,
                               HeadFeatures(model, use.name).query_heads)
        check_heads(use.number, [head], present)
        return model, use, present.index(head)

    def __repr__(self) -> str:
        return ", ".join(f"layer {use.number} "
                         + ("all heads" if heads is None else
                            f"head{'' if len(heads) == 1 else 's'} "
                            + " ".join(map(str, heads)))
                         for use, heads in self._chosen.items())

    def _of_z(self, text: str, positions: Places, sequences: Places, values: torch.Tensor,
              change: Change) -> Intervention:
        return self._add(text, positions, sequences,
                         lambda _, chosen: EditOfZ(chosen, values, change, _length(values)))

    def _of_each(self, text: str, positions: Places, sequences: Places,
                 values: Callable[[LayerUse, tuple[int, ...] | None], torch.Tensor],
                 by_position: bool) -> Intervention:
        """Replaces z by what `values` gives for a layer, (B, L, heads, Dv)."""
        def edit(use: LayerUse, chosen: Chosen) -> Edit:
            given = values(use, chosen.heads)
            length = given.shape[1] if by_position else _length(given)
            return EditOfZ(chosen, given, lambda _, new: new, length)
        return self._add(text, positions, sequences, edit)

    def _add(self, text: str, positions: Places, sequences: Places,
             edit_of: Callable[[LayerUse, Chosen], Edit]) -> Intervention:
        if not self._block.open:
            raise RuntimeError("the block of intervene() has ended")
        places = _numbers(positions, "positions")
        batch = _numbers(sequences, "sequences")
        edits: list[tuple[LayerUse, Edit]] = []
        for use, heads in self._chosen.items():
            cross = is_cross_attention(use.module)
            gone = tuple(gone_heads(self._block.model.config, use))
            edit = edit_of(use, Chosen(use.number, heads, self._one_head, places, batch,
                                       gone, cross))
            if cross:
                decoder = DecoderPlace()
                edits.append((self_attention_of(use, self._block.uses), decoder))
                edit = EditOfCross(edit, decoder)
            edits.append((use, edit))
        made = Intervention(f"{text} of {self}", edits)
        self._block.made.append(made)
        return made

    def _with_axes(self, values: Any, name: str, last: int) -> torch.Tensor:
        """(B, L, heads, n), with 1 for a missing axis; n is missing if `last` is 0."""
        if not isinstance(values, torch.Tensor):
            raise TypeError(f"{name} is {type(values).__name__}, expected a tensor")
        axes = 3 + last - self._one_head
        if values.ndim > axes:
            raise ValueError(f"{name} has the shape {tuple(values.shape)}, expected at most "
                             f"{axes} axes")
        if last == 0 or values.ndim == 0:
            values = values[..., None]
        if self._one_head:
            values = values.unsqueeze(-2)
        return values[(None,) * (4 - values.ndim)]


def _numbers(given: Places, name: str) -> tuple[int, ...] | None:
    return None if given is None else numbers(given, name)


def _length(values: torch.Tensor) -> int | None:
    """How many positions values (B, L, heads, n) have; None for one that is broadcast."""
    return None if values.shape[1] == 1 else values.shape[1]


def _short(given: Any) -> str:
    return (f"a tensor {tuple(given.shape)}" if isinstance(given, torch.Tensor)
            else repr(given))
