"""One call of attention, in the arguments of headwise.torch."""
from __future__ import annotations

from typing import NamedTuple

import torch
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

    def options(self) -> dict:
        """The keyword arguments of `headwise.torch.attention_operator.attention`."""
        return {name: value for name, value in self._asdict().items()
                if name not in ("query", "key", "value")}
