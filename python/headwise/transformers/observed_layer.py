"""The statistics of one attention layer, collected call by call."""

from __future__ import annotations

import torch
from headwise import _core
from headwise.torch import core_calls
from headwise.torch.attention_operator import recorded

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.attention_layers import LayerUse, is_cross_attention
from headwise.transformers.observed_call import STATISTICS, ObservedCall, statistics_of_rows
from headwise.transformers.watched import Attended, Place

_OF_POSITIONS = [STATISTICS.index(name) for name in _core.POSITION_STATISTICS]
_IS_FIRST = torch.tensor([name == "first" for name in STATISTICS])


class ObservedLayer:
    """Computes the attention of a layer and keeps what its heads do."""

    def __init__(self, use: LayerUse, model: torch.nn.Module, gone: list[int], keep: bool):
        self.number, self.name, self.calls = use.number, use.name, 0
        self.head_numbers: list[int] = []
        self.queries = torch.zeros(0, dtype=torch.int64)  # (Hq)
        self.largest: ObservedCall | None = None
        self._sums = torch.zeros(0, dtype=torch.float64)  # (Hq, statistics)
        self._gone, self._keep = gone, keep
        self._model, self._cross = model, is_cross_attention(use.module)

    @property
    def num_heads(self) -> int:
        """The number of heads before any pruning."""
        return len(self.head_numbers) + len(self._gone)

    def means(self) -> torch.Tensor:
        """(Hq, statistics), float64; NaN for a head without queries, and for
        statistics of positions in cross-attention.
        """
        means = self._sums / self.queries[:, None]
        if self._cross:
            means[:, _OF_POSITIONS] = float("nan")
        return means

    def attend(self, call: AttentionCall, place: Place
               ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """See Observer."""
        call = call.with_autocast()
        # Dropout is not a property of a head, and its seed is drawn in run().
        options = core_calls.call_options(*call._replace(dropout_p=0.0)[3:])
        records = _records(call)
        with torch.no_grad():
            seen = _core.torch_attention(
                call.query, call.key, call.value, softmax_rows=records,
                lse=call.operands.sinks is not None, statistics={"rows": True}, **options)
            rows = statistics_of_rows(seen, call)
        if place.first_gone is not None and place.first_gone.any():
            # The first key of the cache is another one.
            rows = torch.where(_IS_FIRST & place.first_gone[:, None, None, None], 0, rows)
        self._add(call, rows)
        if call.dropout_p > 0:
            return call.run()
        if not records:
            return seen.output, seen.attn_weights
        weights = seen.attn_weights
        results = (seen.output, seen.softmax_rows,
                   call.query.new_empty((0,)) if weights is None else weights)
        output, _, recorded_weights = recorded(results, *call)
        return output, None if weights is None else recorded_weights

    def keep(self, seen: Attended) -> None:
        """See Observer."""
        if self._keep and (self.largest is None
                           or seen.call.query.shape[2] >= self.largest.query.shape[1]):
            self.largest = ObservedCall(seen, self._model, self.name, self._cross)

    def _add(self, call: AttentionCall, rows: torch.Tensor) -> None:
        """rows (B, Hq, Lq, statistics)."""
        heads = rows.shape[1]
        if not self.calls:
            self.head_numbers = [head for head in range(heads + len(self._gone))
                                 if head not in self._gone]
            self.queries = torch.zeros(heads, dtype=torch.int64)
            self._sums = torch.zeros(heads, len(STATISTICS), dtype=torch.float64)
        self.calls += 1
        counted = ~rows[..., 0].isnan()  # a query without keys has no entropy
        if not self._cross:
            counted &= not_padding(call)[:, None]
        self.queries += counted.sum((0, 2))
        self._sums += torch.where(counted[..., None], rows, 0).sum(
            (0, 2), dtype=torch.float64)


def _records(call: AttentionCall) -> bool:
    """Whether the call takes part in a graph of gradients."""
    tensors = (call.query, call.key, call.value, call.operands.bias, call.operands.sinks)
    return torch.is_grad_enabled() and any(
        each is not None and each.requires_grad for each in tensors)


def not_padding(call: AttentionCall) -> torch.Tensor:
    """(B, Lq): the queries of self-attention whose own key is not padding."""
    positions = torch.arange(call.query.shape[2]) + call.positions.query_start
    seen = torch.ones(call.query.shape[0], len(positions), dtype=torch.bool)
    if call.operands.key_starts is not None:
        seen &= positions >= call.operands.key_starts[:, None]
    if call.operands.key_lengths is not None:
        seen &= positions < call.operands.key_lengths[:, None]
    if call.operands.key_mask is not None:
        seen &= call.operands.key_mask[:, positions]
    return seen
