"""One call of attention, in the arguments of headwise.torch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from headwise.torch.attention_operator import attention
from headwise.torch.call_arguments import NO_OPERANDS, NO_POSITIONS, Operands, Positions


class AttentionCall(NamedTuple):
    """Tensors in transformers' order: query (B, Hq, Lq, D), key (B, Hkv, Lkv, D),
    value (B, Hkv, Lkv, Dv).
    """
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    operands: Operands = NO_OPERANDS
    positions: Positions = NO_POSITIONS
    scale: float | None = None
    softcap: float = 0.0
    causal: bool = False
    dropout_p: float = 0.0
    attn_weights: str = "none"

    def with_autocast(self) -> AttentionCall:
        """The call in the type that autocast gives it, in an autocast region."""
        if not torch.is_autocast_enabled("cpu"):
            return self
        dtype = torch.get_autocast_dtype("cpu")
        return self._replace(query=self.query.to(dtype), key=self.key.to(dtype),
                             value=self.value.to(dtype))

    def run(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The output (B, Hq, Lq, Dv), and the weights if they are asked for."""
        return attention(
            self.query, self.key, self.value, operands=self.operands,
            positions=self.positions, scale=self.scale, softcap=self.softcap,
            causal=self.causal, dropout_p=self.dropout_p, attn_weights=self.attn_weights)
