"""Which logits of a model are attributed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

import torch

Numbers = Union[int, Sequence[int], torch.Tensor]


class LogitPlace:
    """Which logits of an output are attributed."""

    def __init__(self, tokens: Numbers, other: Numbers | None, positions: Numbers):
        self._tokens = _given(tokens, "tokens")
        self._other = None if other is None else _given(other, "other")
        self._positions = _given(positions, "positions")

    def logit_of(self, output: Any) -> torch.Tensor:
        """(B), float32 or wider."""
        logits = output.logits
        if logits.ndim != 3:
            raise NotImplementedError(f"the logits are {tuple(logits.shape)}, expected "
                                      "(B, L, vocabulary)")
        rows = self.row_of(logits, axis=1)
        rows = rows.float() if rows.dtype.itemsize < 4 else rows
        chosen = _chosen(rows, self._tokens, "tokens")
        return chosen if self._other is None else chosen - _chosen(rows, self._other, "other")

    def row_of(self, values: torch.Tensor, axis: int = 2) -> torch.Tensor:
        """The positions, along an axis of (B, ..., L, ...)."""
        batch, length = values.shape[0], values.shape[axis]
        at = _of_batch(self._positions, batch, "positions")
        if ((at < -length) | (at >= length)).any():
            raise ValueError(f"positions is {at.tolist()}; there are {length}")
        return values.movedim(axis, 1)[torch.arange(batch), at]


def _given(numbers: Numbers, name: str) -> torch.Tensor:
    if isinstance(numbers, str):
        raise TypeError(f"{name} is {numbers!r}, expected ids: tokenizer(text).input_ids")
    given = torch.as_tensor(numbers)
    if given.dtype.is_floating_point or given.dtype == torch.bool or given.ndim > 1:
        raise TypeError(f"{name} is {numbers!r}, expected a number or one per example")
    return given


def _of_batch(numbers: torch.Tensor, batch: int, name: str) -> torch.Tensor:
    """(B)"""
    if numbers.ndim == 1 and len(numbers) != batch:
        raise ValueError(f"{name} has {len(numbers)} numbers; the batch has {batch} examples")
    return numbers.expand(batch)


def _chosen(rows: torch.Tensor, tokens: torch.Tensor, name: str) -> torch.Tensor:
    """(B), of the logits (B, vocabulary) of a position."""
    tokens = _of_batch(tokens, rows.shape[0], name)
    if ((tokens < 0) | (tokens >= rows.shape[1])).any():
        raise ValueError(f"{name} is {tokens.tolist()}; the vocabulary has {rows.shape[1]} "
                         "tokens")
    return rows[torch.arange(len(tokens)), tokens]
