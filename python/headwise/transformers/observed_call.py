"""One call of a layer, kept with all that can be read from it."""

from __future__ import annotations

from typing import Any

import torch
from headwise import _core
from headwise.torch import core_calls
from headwise.torch.call_arguments import Operands
from torch import nn

from headwise.transformers.head_layout import HeadFeatures, weight_axis
from headwise.transformers.watched import Attended, Place

# Statistics of every call's rows, in their order; "separator" needs separators.
ROWS = _core.STATISTICS[:_core.STATISTICS.index("separator")]


class ObservedCall:
    """The tensors of one call. What is not kept is computed when it is read.

    query         (B, Lq, Hq, D), after any rotation and norm
    key           (B, Lkv, Hkv, D)
    value         (B, Lkv, Hkv, Dv)
    z             (B, Lq, Hq, Dv), the output of every head before the output
                  projection, after all interventions
    attn_weights  (B, Hq, Lq, Lkv), float32, of the softmax: before any intervention
                  that edits the weights themselves, without dropout
    statistics    (B, Hq, Lq) by name, those of `HeadStatistics` per query
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
        with torch.no_grad():
            weights = self.call._replace(attn_weights="per_head").run()[1]
        assert weights is not None
        return weights

    @property
    def statistics(self) -> dict[str, torch.Tensor]:
        seen = _core.torch_attention(*self.call[:3], statistics={"rows": True},
                                     **self.options)
        return dict(zip(ROWS, seen.statistics.rows.unbind(-1)))

    @property
    def result(self) -> torch.Tensor:
        """Raises NotImplementedError for a layer whose layout is not known."""
        found = HeadFeatures(self._model, self._name)
        weight = found.output.weight.detach()
        if weight_axis(found.output, "in") == 1:
            weight = weight.T
        heads = weight.view(found.query_heads, -1, weight.shape[1])
        return torch.einsum("blhd,hdo->blho", self.z, heads.to(self.z.dtype))
