"""The statistics of one attention layer, collected call by call."""

from __future__ import annotations

from typing import NamedTuple

import torch
from headwise import _core
from headwise.torch import core_calls
from headwise.torch.attention_operator import recorded
from headwise.torch.call_arguments import Operands
from torch import nn

from headwise.transformers.attention_call import AttentionCall

# Those that a call without separators has, in the order of its rows.
STATISTICS = _core.STATISTICS[:_core.STATISTICS.index("separator")]
_OF_POSITIONS = [STATISTICS.index(name) for name in _core.POSITION_STATISTICS]

_IS_FIRST = torch.tensor([name == "first" for name in STATISTICS])


class ObservedCall(NamedTuple):
    """What a picture of a layer's attention needs: the arguments of one call,
    without values.
    """
    query: torch.Tensor  # (B, Lq, Hq, D)
    key: torch.Tensor    # (B, Lkv, Hkv, D)
    options: dict        # keyword arguments of headwise.attention
    cross: bool          # queries and keys of different sequences
    call: AttentionCall  # what the options are made of, without tensors

    def fits_on_a_page_with(self, other: ObservedCall) -> bool:
        """Whether both have the same lengths, head size and options."""
        if (self.query.shape[1::2] != other.query.shape[1::2]
                or self.key.shape[1] != other.key.shape[1] or self.cross != other.cross
                or self.call[4:8] != other.call[4:8]):
            return False
        return all(_equal(one, two)
                   for one, two in zip(self.call.operands, other.call.operands))


class ObservedLayer:
    """Computes the attention of a module and keeps what its heads do."""

    def __init__(self, number: int, name: str, module: nn.Module, gone: list[int],
                 keep: bool):
        self.number, self.name, self.calls = number, name, 0
        self.head_numbers: list[int] = []
        self.queries = torch.zeros(0, dtype=torch.int64)  # (Hq)
        self.largest: ObservedCall | None = None
        self._sums = torch.zeros(0, dtype=torch.float64)  # (Hq, statistics)
        self._gone, self._keep, self._cross = gone, keep, _is_cross(module)

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

    @torch.compiler.disable
    def attend(self, call: AttentionCall, first_gone: torch.Tensor | None
               ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """See Watcher."""
        call = call.with_autocast()
        # Dropout is not a property of a head, and its seed is drawn in run().
        options = core_calls.call_options(*call._replace(dropout_p=0.0)[3:])
        records = _records(call)
        with torch.no_grad():
            seen = _core.torch_attention(call.query, call.key, call.value,
                                         softmax_rows=records, statistics={"rows": True},
                                         **options)
        rows = seen.statistics.rows[..., :len(STATISTICS)]
        if first_gone is not None and first_gone.any():
            # The first key of the cache is another one.
            rows = torch.where(_IS_FIRST & first_gone[:, None, None, None], 0, rows)
        self._add(call, rows)
        if self._keep:
            self._keep_call(call)
        if call.dropout_p > 0:
            return call.run()
        if not records:
            return seen.output, seen.attn_weights
        weights = seen.attn_weights
        results = (seen.output, seen.softmax_rows,
                   call.query.new_empty((0,)) if weights is None else weights)
        output, _, recorded_weights = recorded(results, *call)
        return output, None if weights is None else recorded_weights

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
            counted &= _not_padding(call)[:, None]
        self.queries += counted.sum((0, 2))
        self._sums += torch.where(counted[..., None], rows, 0).sum(
            (0, 2), dtype=torch.float64)

    def _keep_call(self, call: AttentionCall) -> None:
        if self.largest is None or call.query.shape[2] >= self.largest.query.shape[1]:
            operands = Operands(*(None if each is None else each.detach()
                                  for each in call.operands))
            shown = call._replace(query=None, key=None, value=None, operands=operands,
                                  dropout_p=0.0, attn_weights="none")
            # A static cache writes into its keys later.
            self.largest = ObservedCall(
                call.query.detach().transpose(1, 2).clone(),
                call.key.detach().transpose(1, 2).clone(),
                core_calls.call_options(*shown[3:]), self._cross, shown)


def _equal(one: torch.Tensor | None, two: torch.Tensor | None) -> bool:
    if one is None or two is None:
        return one is two
    return one is two or torch.equal(one, two)


def _records(call: AttentionCall) -> bool:
    """Whether the call takes part in a graph of gradients."""
    tensors = (call.query, call.key, call.value, call.operands.bias, call.operands.sinks)
    return torch.is_grad_enabled() and any(
        each is not None and each.requires_grad for each in tensors)


def _is_cross(module: nn.Module) -> bool:
    """Whether queries and keys are of different sequences."""
    if "Cross" in type(module).__name__:
        return True
    return bool(getattr(module, "is_cross_attention", False)
                or (getattr(module, "is_decoder", False) and not module.is_causal))


def _not_padding(call: AttentionCall) -> torch.Tensor:
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
