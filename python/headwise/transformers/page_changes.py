"""How much heads differ between two runs of the same sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from headwise import _core
from headwise.torch import core_calls

from headwise.transformers.observed_layer import ObservedLayer
from headwise.transformers.one_sequence import OneSequence

if TYPE_CHECKING:
    from headwise.transformers.observed_page import Document


def changes_of(pairs: Sequence[tuple[Document, Document]]) -> list[dict[str, Any]]:
    """The argument of ViewPage.set_changes(): heads with the same layer and number.

    similarity   sum over the keys of the smaller of the two weights, mean over the
                 queries; sequences with other tokens do not count
    differences  of each statistic, mean over the queries, first run minus second
    """
    changes: dict[tuple[int, int], dict[str, Any]] = {}
    for a, b in pairs:
        same_tokens = all(a.settings[side] == b.settings[side]
                          for side in ("query_labels", "key_labels"))
        others = {layer.number: (layer, shown) for layer, shown in b.calls()}
        for layer, shown in a.calls():
            if layer.number in others:
                heads = _Heads.of(a, layer, shown), _Heads.of(b, *others[layer.number])
                _add(changes, layer.number, *heads, same_tokens)
    return sorted(changes.values(), key=_most_changed_first)


class _Heads(NamedTuple):
    """What the heads of a layer do with one sequence."""
    numbers: list[int]
    weights: torch.Tensor           # (Hq, Lq, Lkv)
    means: dict[str, torch.Tensor]  # by statistic: (Hq), over the queries that see a key

    @classmethod
    def of(cls, document: Document, layer: ObservedLayer, shown: OneSequence) -> _Heads:
        call = shown.call._replace(attn_weights="per_head")
        asked = {"rows": True, **document.settings.get("statistics", {})}
        with torch.no_grad():
            seen = _core.torch_attention(*call[:3], statistics=asked,
                                         **core_calls.call_options(*call[3:]))
        means = seen.statistics.rows[0].double().nanmean(1).unbind(-1)
        # No separator to attend to; nobody may attend to the next key.
        none = {"separator": "separators" not in asked, "next": call.causal}
        return cls(layer.head_numbers, seen.attn_weights[0],
                   {name: mean for name, mean in zip(_core.STATISTICS, means)
                    if not none.get(name, False)})


def _add(changes: dict[tuple[int, int], dict[str, Any]], number: int, a: _Heads, b: _Heads,
         same_tokens: bool) -> None:
    for at_a, head in enumerate(a.numbers):
        if head not in b.numbers:
            continue
        at_b = b.numbers.index(head)
        change = changes.setdefault((number, head), {
            "head": (number, head), "other": (number, head), "similarity": [],
            "differences": {name: [] for name in _core.STATISTICS}})
        change["similarity"].append(
            _overlap(a.weights[at_a], b.weights[at_b]) if same_tokens else math.nan)
        for name in a.means.keys() & b.means.keys():
            change["differences"][name].append(
                (a.means[name][at_a] - b.means[name][at_b]).item())


def _overlap(a: torch.Tensor, b: torch.Tensor) -> float:
    """Of weights (Lq, Lkv). What a row lacks to 1, the share of a sink, is one more key."""
    rows = torch.minimum(a, b).double().sum(-1)
    rows += torch.minimum(1 - a.double().sum(-1), 1 - b.double().sum(-1)).clamp(min=0)
    return min(rows.mean().item(), 1.0)


def _most_changed_first(change: dict[str, Any]) -> tuple[bool, float, tuple[int, int]]:
    known = [each for each in change["similarity"] if not math.isnan(each)]
    mean = round(sum(known) / len(known), 6) if known else 0.0
    return not known, mean, change["head"]
