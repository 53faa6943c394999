"""The self-attention of every layer over some texts, call by call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import torch
from headwise import _core
from headwise.torch import core_calls
from transformers import PreTrainedModel

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.attention_layers import (LayerUse, is_cross_attention,
                                                    layer_kind, layer_uses)
from headwise.transformers.observed_layer import not_padding
from headwise.transformers.own_pass import own_passes
from headwise.transformers.watched import Observer, Place

# Queries whose attention weights are held at a time.
TILE = 48
# Biases below it hide a key, as the smallest number of a type does.
_HIDDEN = -1e4
_SHARES = ("first", "previous", "self", "next", "separator")
_ARE_SHARES = torch.tensor([name in _SHARES for name in _core.STATISTICS])


class LayerCall(NamedTuple):
    """The self-attention of one layer over a batch of texts.

    tokens  ids (B, L), those of the argument `side`; None if the model was given others
    """
    use: LayerUse
    call: AttentionCall
    side: str
    tokens: torch.Tensor | None


class _Seeing(Observer):
    """Shows a call and keeps nothing."""

    def __init__(self, see: Callable[[AttentionCall], None]):
        self._see = see

    def attend(self, call: AttentionCall, place: Place
               ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """See Observer."""
        call = call.with_autocast()
        self._see(call)
        return call.run()


def visit_layers(model: PreTrainedModel, batches: Iterable[Mapping[str, Any]],
                 see: Callable[[LayerCall], None]) -> None:
    """Runs the model on `batches`, its keyword arguments, and shows every call of
    self-attention, without dropout and interventions.

    Raises ValueError for a model without self-attention, and for token ids of another
    length than the layers compute; NotImplementedError as `register` does.
    """
    uses = layer_uses(model)
    crosses = any(is_cross_attention(use.module) for use in uses)
    given: Mapping[str, Any] = {}

    def seeing(use: LayerUse) -> _Seeing:
        decodes = crosses and layer_kind(use, uses) == "decoder"
        side = "decoder_input_ids" if decodes else "input_ids"
        return _Seeing(lambda call: see(LayerCall(use, call, side,
                                                  _tokens(given, side, use, call))))

    observers = {use: seeing(use) for use in uses if not is_cross_attention(use.module)}
    if not observers:
        raise ValueError(f"{type(model).__name__} has no layers of self-attention")
    with own_passes(model, observers=observers), torch.no_grad():
        for given in batches:
            model(**given)


def _tokens(batch: Mapping[str, Any], side: str, use: LayerUse,
            call: AttentionCall) -> torch.Tensor | None:
    ids = batch.get(side)
    if ids is None:
        return None
    shape = (call.query.shape[0], call.query.shape[2])
    if tuple(ids.shape) != shape or call.key.shape[2] != shape[1]:
        raise ValueError(f"{side} has the shape {tuple(ids.shape)}, but layer "
                         f"{use.number} computes {shape[0]} sequences of {shape[1]} "
                         f"queries and {call.key.shape[2]} keys: expected whole texts, "
                         "without a cache")
    return ids


def text_statistics(call: AttentionCall, separators: torch.Tensor | None = None
                    ) -> torch.Tensor:
    """(B, Hq, statistics), float64: the means of every text over its queries that see a
    key, in the order of headwise.STATISTICS; NaN for a text without queries. There is
    no matrix of weights. `separators` (B, L) is bool.
    """
    statistics: dict[str, Any] = {"rows": True}
    if separators is not None:
        statistics["separators"] = separators
    # Values without features: only the statistics are computed.
    rows = _core.torch_attention(
        call.query, call.key, call.value[..., :0], statistics=statistics,
        **core_calls.call_options(*call[3:])).statistics.rows.double()
    sees_none = rows[..., _core.STATISTICS.index("largest")] == 0
    counted = not_padding(call)[:, None] & ~sees_none
    sums = torch.where(counted[..., None], rows, 0).sum(2)
    return sums / counted.sum(2)[..., None]


def known_statistics(call: AttentionCall, separators: torch.Tensor | None = None
                     ) -> torch.Tensor:
    """`text_statistics`, with NaN for a share that no head can have: `next` in a causal
    model, `separator` in a text without one.
    """
    equal = text_statistics(equal_attention(call), separators)
    return torch.where(_ARE_SHARES & (equal == 0), torch.nan,
                       text_statistics(call, separators))


def equal_attention(call: AttentionCall) -> AttentionCall:
    """The call of one head that attends equally to all keys that the others see."""
    mask, bias = (None if each is None else each[:, :1] if each.ndim == 4 else each
                  for each in (call.operands.mask, call.operands.bias))
    if bias is not None:
        bias = torch.zeros_like(bias).masked_fill(bias < _HIDDEN, -torch.inf)
    return call._replace(
        query=torch.zeros_like(call.query[:, :1]), key=torch.zeros_like(call.key[:, :1]),
        value=call.value[:, :1],
        operands=call.operands._replace(mask=mask, bias=bias, sinks=None))


def weights_of_queries(call: AttentionCall, first: int, last: int) -> torch.Tensor:
    """(B, Hq, last - first, L), float32: the attention weights of these queries."""
    operands = call.operands._replace(mask=_rows(call.operands.mask, first, last),
                                      bias=_rows(call.operands.bias, first, last))
    positions = call.positions._replace(query_start=call.positions.query_start + first)
    weights = call._replace(query=call.query[:, :, first:last], value=call.value[..., :1],
                            operands=operands, positions=positions,
                            attn_weights="per_head").run()[1]
    assert weights is not None
    return weights


def _rows(each: torch.Tensor | None, first: int, last: int) -> torch.Tensor | None:
    """Of a mask or bias (.., Lq or 1, Lkv)."""
    return each if each is None or each.shape[-2] == 1 else each[..., first:last, :]
