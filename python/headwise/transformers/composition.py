"""How much later heads read what earlier heads write (Elhage et al. 2021, "A
Mathematical Framework for Transformer Circuits").
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn

from headwise.transformers.attention_layers import LayerUse, layer_kind, layer_uses
from headwise.transformers.circuit import Circuit
from headwise.transformers.circuits import ov_circuit, qk_circuit
from headwise.transformers.head_layout import HeadFeatures
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.pruned_record import head_numbers
from headwise.transformers.text_table import SHOWN, TextTable, name_of

Head = tuple[int, int]

_DRAWS = 32


class HeadComposition:
    """Composition scores of pairs of heads, (layer, head), by their numbers from before
    any pruning.

        scores[(0, 3), (2, 1)]     of the earlier head 0.3 and the later head 2.1
        scores.best(5)             the pairs with the largest scores

    heads   all heads, in the order of the axes of `scores`
    scores  (heads, heads), the earlier head first; NaN where the later one does not read
            what the earlier one writes
    """

    def __init__(self, kind: str, heads: list[Head], scores: torch.Tensor):
        self.kind, self.heads, self.scores = kind, heads, scores

    def __getitem__(self, pair: tuple[Head, Head]) -> float:
        """Raises KeyError for a pair that does not compose."""
        earlier, later = pair
        if earlier in self.heads and later in self.heads:
            score = self.scores[self.heads.index(earlier), self.heads.index(later)]
            if not score.isnan():
                return float(score)
        raise KeyError(f"head {later} does not read what head {earlier} writes")

    def best(self, count: int) -> list[tuple[Head, Head]]:
        """The `count` pairs with the largest scores."""
        flat = self.scores.nan_to_num(-torch.inf).flatten()
        places = flat.argsort(descending=True, stable=True)[:count].tolist()
        return [(self.heads[place // len(self.heads)], self.heads[place % len(self.heads)])
                for place in places if flat[place] > -torch.inf]

    def to_pandas(self) -> Any:
        """A DataFrame with a row per pair, the largest score first."""
        import pandas
        return pandas.DataFrame(
            [(*earlier, *later, self[earlier, later])
             for earlier, later in self.best(self.scores.numel())],
            columns=["from_layer", "from_head", "to_layer", "to_head", "score"])

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()

    def _table(self) -> TextTable:
        rows = [[name_of((a,)), name_of((b,)), f"{self[a, b]:.4f}"]
                for a, b in self.best(SHOWN)]
        left = int((~self.scores.isnan()).sum()) - SHOWN
        return TextTable(f"{self.kind.upper()}-composition of {len(self.heads)} heads",
                         ["from", "to", "score"], rows,
                         [f"and {left} more pairs"] if left > 0 else [])


def composition(model: nn.Module, kind: str, *,
                minus_random: bool = False) -> HeadComposition:
    """How much later heads read what earlier heads write.

    kind          "q", "k" or "v": whether it is read for the queries, keys or values of
                  the later head
    minus_random  subtracts the mean score of random normal matrices of the same shapes

    With the circuits OV of the earlier head, and QK and OV' of the later one, a score is
    |OV QK| / (|OV| |QK|) for "q", |OV QK^T| / (|OV| |QK|) for "k" and |OV OV'| / (|OV|
    |OV'|) for "v", with Frobenius norms: from 0 to 1. Rotary positions, biases and
    other layers in between do not count. It is computed through the factors of rank D,
    never from (hidden, hidden) matrices.

    Heads of an encoder are read by the encoder, and as keys and values by
    cross-attention.

    Errors: ValueError for another kind; NotImplementedError for a model whose layout is
    not known.
    """
    if kind not in ("q", "k", "v"):
        raise ValueError(f"kind is {kind!r}, expected 'q', 'k' or 'v'")
    model = model_of_transformers(model)
    uses = layer_uses(model)
    counts = {use: HeadFeatures(model, use.name).query_heads for use in uses}
    heads = [(use.number, head) for use in uses
             for head in head_numbers(model.config, use.pruned_as, counts[use])]
    writing = {use: _stacked([ov_circuit(model, use, head) for head in range(counts[use])],
                             "writing") for use in uses}
    reading = {use: _stacked([_read(kind, model, use, head) for head in range(counts[use])],
                             "reading") for use in uses}
    first = dict(zip(uses, torch.tensor([0, *counts.values()]).cumsum(0).tolist()))
    scores = torch.full((len(heads), len(heads)), torch.nan)
    for at, later in enumerate(uses):
        for earlier in uses[:at]:
            if _writes(earlier, uses) != _reads(kind, later, uses):
                continue
            products = torch.einsum("adn,bne->abde", writing[earlier], reading[later])
            block = products.flatten(2).norm(dim=-1)
            if minus_random:
                sizes = writing[earlier].shape[1:] + reading[later].shape[2:]
                block = block - _random_score(*sizes)
            scores[first[earlier]:, first[later]:][:len(block), :block.shape[1]] = block
    return HeadComposition(kind, heads, scores)


def _read(kind: str, model: nn.Module, use: LayerUse, head: int) -> Circuit:
    """What the head does with what it reads, on the left."""
    if kind == "v":
        return ov_circuit(model, use, head)
    circuit = qk_circuit(model, use, head)
    return circuit if kind == "q" else circuit.T


def _stacked(circuits: list[Circuit], side: str) -> torch.Tensor:
    """(heads, D, hidden) of "writing", (heads, hidden, D) of "reading", of norm 1."""
    sides = [getattr(each, side)() for each in circuits]
    return torch.stack([each / each.norm() for each in sides])


def _writes(use: LayerUse, uses: list[LayerUse]) -> str:
    """The residual stream that a layer adds to."""
    return "encoder" if layer_kind(use, uses) == "encoder" else "decoder"


def _reads(kind: str, use: LayerUse, uses: list[LayerUse]) -> str:
    crosses = layer_kind(use, uses) == "cross" and kind != "q"
    return "encoder" if crosses else _writes(use, uses)


@functools.cache
def _random_score(earlier_size: int, hidden: int, later_size: int) -> float:
    """The mean over draws of matrices with normal entries."""
    generator = torch.Generator().manual_seed(0)

    def drawn(size: int) -> Circuit:
        return Circuit(torch.randn(hidden, size, generator=generator),
                       torch.randn(size, hidden, generator=generator))
    scores = []
    for _ in range(_DRAWS):
        earlier, later = drawn(earlier_size), drawn(later_size)
        scores.append((earlier @ later).norm() / (earlier.norm() * later.norm()))
    return float(torch.stack(scores).mean())
