"""How much heads differ between two runs of the same sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from headwise import _core
from headwise.torch import core_calls

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.observed_call import ROWS

if TYPE_CHECKING:
    from headwise.transformers.observed_page import Document

Head = tuple[int, int]  # the numbers of a layer and a head


def changes_of(pairs: Sequence[tuple[Document, Document]]) -> list[dict[str, Any]]:
    """The argument of ViewPage.set_changes(): heads with the same layer and number.

    similarity   sum over the keys of the smaller of the two weights, mean over the
                 queries; sequences with other tokens do not count
    differences  of each statistic, mean over the queries, first run minus second
    """
    changes: dict[Head, dict[str, Any]] = {}
    for a, b in pairs:
        same = all(a.settings[side] == b.settings[side]
                   for side in ("query_labels", "key_labels"))
        others = {layer.number: (layer, shown.call) for layer, shown in b.calls()}
        for layer, shown in a.calls():
            if layer.number in others:
                other, call = others[layer.number]
                _add(changes, layer.number, layer.head_numbers, shown.call,
                     other.head_numbers, call, same)
    return sorted(changes.values(), key=_most_changed_first)


def _add(changes: dict[Head, dict[str, Any]], number: int, heads_a: list[int],
         a: AttentionCall, heads_b: list[int], b: AttentionCall, same: bool) -> None:
    both = [head for head in heads_a if head in heads_b]
    at_a = [heads_a.index(head) for head in both]
    at_b = [heads_b.index(head) for head in both]
    weights_a, rows_a = _seen(a)
    weights_b, rows_b = _seen(b)
    similar = (_overlap(weights_a[at_a], weights_b[at_b]) if same
               else torch.full((len(both),), math.nan)).tolist()
    difference = (_means(rows_a)[at_a] - _means(rows_b)[at_b]).T.tolist()
    for place, head in enumerate(both):
        change = changes.setdefault((number, head), {
            "head": (number, head), "other": (number, head), "similarity": [],
            "differences": {name: [] for name in ROWS}})
        change["similarity"].append(similar[place])
        for name, of_heads in zip(ROWS, difference):
            if name != "next" or not (a.causal and b.causal):  # nobody may attend to it
                change["differences"][name].append(of_heads[place])


def _seen(call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights (Hq, Lq, Lkv) and statistics (Hq, Lq, ROWS) of one sequence."""
    options = core_calls.call_options(*call._replace(attn_weights="per_head")[3:])
    with torch.no_grad():
        seen = _core.torch_attention(*call[:3], statistics={"rows": True}, **options)
    return seen.attn_weights[0], seen.statistics.rows[0, ..., :len(ROWS)]


def _overlap(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """(heads), float64. What a row lacks to 1, the share of a sink, is one more key."""
    shared = torch.minimum(a, b).double().sum(-1)
    shared += torch.minimum(1 - a.double().sum(-1), 1 - b.double().sum(-1)).clamp(min=0)
    return shared.mean(-1).clamp(max=1)


def _means(rows: torch.Tensor) -> torch.Tensor:
    """(Hq, ROWS), over the queries that see a key."""
    return rows.double().nanmean(1)


def _most_changed_first(change: dict[str, Any]) -> tuple[bool, float, Head]:
    known = [each for each in change["similarity"] if not math.isnan(each)]
    mean = sum(known) / len(known) if known else math.nan
    return math.isnan(mean), round(mean, 6) if known else 0.0, change["head"]
