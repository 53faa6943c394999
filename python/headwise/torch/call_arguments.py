"""Rare arguments of the operators, grouped (attention_operator.py says why)."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Operands(NamedTuple):
    """Tensors that most calls do not have."""

    bias: Tensor | None = None  # (L, S) or (B, H, L, S), float32; 1 where it is broadcast
    sinks: Tensor | None = None  # (H), float32
    mask: Tensor | None = None  # (L, S) or (B, H, L, S), bool; 1 where it is broadcast
    key_mask: Tensor | None = None  # (B, S), bool
    key_starts: Tensor | None = None  # (B), int64
    key_lengths: Tensor | None = None  # (B), int64
    seed: Tensor | None = None  # (1), int64, of the dropout
    # (2, sequences + 1), int64: where the sequences of queries begin and end in L,
    # and those of keys in S. B is 1; masks and weights are those of a dense batch.
    offsets: Tensor | None = None


class Positions(NamedTuple):
    """Where queries stand among the keys, and how far they see. -1: no limit."""

    query_start: int = 0
    window_left: int = -1
    window_right: int = -1


NO_OPERANDS = Operands()
NO_POSITIONS = Positions()
