"""One call of a layer, kept with all that can be read from it."""

from __future__ import annotations

from typing import Any

import torch
from headwise import _core
from headwise.torch import core_calls
from headwise.torch.call_arguments import Operands
from torch import nn

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.head_layout import HeadFeatures
from headwise.transformers.watched import Attended, Place

# Statistics of every call's rows, in their order; "separator" needs separators.
ROWS = _core.STATISTICS[:_core.STATISTICS.index("separator")]
STATISTICS = (*ROWS, "sink", "key_entropy")


class ObservedCall:
    """The tensors of one call. What is not kept is computed when it is read.

    query         (B, Lq, Hq, D), after any rotation and norm
    key           (B, Lkv, Hkv, D)
    value         (B, Lkv, Hkv, Dv)
    z             (B, Lq, Hq, Dv), the output of every head before the output
                  projection, after all interventions
    attn_weights  (B, Hq, Lq, Lkv), float32, with all interventions; without dropout
                  unless one of them edits the weights themselves
    statistics    (B, Hq, Lq) by name, those of `HeadStatistics` per query; of the
                  softmax, before interventions that edit the weights themselves
    result        (B, Lq, Hq, hidden), what every head adds to the output of the
                  layer: z through its part of the output projection. The bias of
                  the projection belongs to no head.
    options       the arguments of headwise.attention
    cross         whether queries and keys are of different sequences
    """

    def __init__(self, seen: Attended, model: nn.Module, name: str, cross: bool):
        call = seen.call.with_autocast()
        # A static cache writes into its keys later.
        query, key, value = (each.detach().clone() for each in call[:3])
        operands = Operands(*(None if each is None else each.detach()
                              for each in call.operands))
        self.call = call._replace(query=query, key=key, value=value, operands=operands,
                                  dropout_p=0.0, attn_weights="none")
        self.cross = cross
        self.place: Place = seen.place
        self._z = seen.z.detach().clone()
        self._edited = None if seen.weights is None else seen.weights.detach().clone()
        self._model, self._name = model, name

    @property
    def query(self) -> torch.Tensor:
        return self.call.query.transpose(1, 2)

    @property
    def key(self) -> torch.Tensor:
        return self.call.key.transpose(1, 2)

    @property
    def value(self) -> torch.Tensor:
        return self.call.value.transpose(1, 2)

    @property
    def z(self) -> torch.Tensor:
        return self._z.transpose(1, 2)

    @property
    def options(self) -> dict[str, Any]:
        return core_calls.call_options(*self.call[3:])

    @property
    def attn_weights(self) -> torch.Tensor:
        if self._edited is not None:
            return self._edited
        with torch.no_grad():
            weights = self.call._replace(attn_weights="per_head").run()[1]
        assert weights is not None
        return weights

    @property
    def statistics(self) -> dict[str, torch.Tensor]:
        seen = _core.torch_attention(
            *self.call[:3], statistics={"rows": True},
            lse=self.call.operands.sinks is not None, **self.options)
        return dict(zip(STATISTICS, statistics_of_rows(seen, self.call).unbind(-1)))

    @property
    def result(self) -> torch.Tensor:
        """Raises NotImplementedError for a layer whose layout is not known."""
        found = HeadFeatures(self._model, self._name)
        w_o = torch.stack([found.w_o(head).detach() for head in range(found.query_heads)])
        return torch.einsum("blhd,hdo->blho", self.z, w_o.to(self.z.dtype))


def statistics_of_rows(seen: Any, call: AttentionCall) -> torch.Tensor:
    """(B, Hq, Lq, STATISTICS), from a result with rows and, if there are sinks, lse.

    The entropy of a row counts the sink's share s as an outcome: H = H_keys (1 - s)
    - s ln s - (1 - s) ln(1 - s).
    """
    rows = seen.statistics.rows[..., :len(ROWS)]
    entropy = rows[..., :1]
    if call.operands.sinks is None:
        return torch.cat([rows, torch.zeros_like(entropy), entropy], -1)
    share = (call.operands.sinks.detach()[:, None] - seen.lse).exp()[..., None]
    keys = 1 - share
    of_keys = torch.where(keys > 0, (entropy + torch.xlogy(share, share)
                                     + torch.xlogy(keys, keys)) / keys, 0)
    return torch.cat([rows, share, of_keys.clamp(min=0)], -1)
