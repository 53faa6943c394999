"""Masks of transformers as rules of headwise: intervals of keys, which let the
kernels skip what is masked, in place of a matrix with an element per pair.

transformers hands the value of the mask function through the model to the
attention function. Some of its paths copy that value or convert it, so the
rules travel as a small int64 tensor, (B, 1, 1, columns).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from headwise.torch.call_arguments import NO_OPERANDS, NO_POSITIONS, Operands, Positions
from transformers import masking_utils

# In the first column: no mask of a user has this number.
_MARK = 0x68656164
_COLUMNS = 9
_NO_LIMIT = -1


class Masked(NamedTuple):
    """A mask in the arguments of headwise.torch."""
    operands: Operands = NO_OPERANDS
    positions: Positions = NO_POSITIONS
    causal: bool = False
    # (B), bool: whether a cache with a window has dropped the sequence's first key.
    first_gone: torch.Tensor | None = None
    # How many keys it has dropped, padding among them; None: the mask does not say.
    first_key: int | None = 0


def mask_for_headwise(*, batch_size: int, q_length: int, kv_length: int,
                      q_offset: int | torch.Tensor = 0, kv_offset: int = 0,
                      mask_function: Callable = masking_utils.causal_mask_function,
                      attention_mask: torch.Tensor | None = None,
                      device: torch.device | str = "cpu", **others: Any) -> torch.Tensor:
    """The mask function of transformers' mask interface.

    Rules as a tensor where the mask consists of rules; else a mask of bool,
    (B, 1, Lq, Lkv), true = may attend. So is every mask that torch.compile or
    torch.export records: rules are made from the values of `attention_mask`.
    """
    rules = spans = None
    if not torch.compiler.is_compiling():
        spans = _row_spans(attention_mask, batch_size, kv_offset, kv_length)
        rules = _rules_of(mask_function)
    if spans is None or rules is None:
        others.update(allow_is_causal_skip=False, allow_is_bidirectional_skip=False)
        mask = masking_utils.sdpa_mask(
            batch_size=batch_size, q_length=q_length, kv_length=kv_length,
            q_offset=q_offset, kv_offset=kv_offset, mask_function=mask_function,
            attention_mask=attention_mask, device=device, **others)
        if not torch.compiler.is_compiling():
            padding = NO_OPERANDS
            if attention_mask is not None and attention_mask.ndim == 2:
                seen = _seen(attention_mask, kv_offset, kv_length)
                seen = torch.nn.functional.pad(seen, (0, kv_length - seen.shape[1]))
                padding = Operands(key_mask=seen, key_starts=_first_of(seen))
            # The mask leaves out padding, too; statistics must know which keys it is.
            mask._headwise_masked = Masked(
                padding._replace(mask=mask), Positions(int(q_offset) - kv_offset), False,
                _first_gone(attention_mask, batch_size, kv_offset), kv_offset)
        return mask
    causal, left, right = rules
    packed = torch.empty(batch_size, 1, 1, _COLUMNS, dtype=torch.int64)
    packed[..., :5] = torch.tensor(
        [_MARK, causal, int(q_offset) - kv_offset, left, right])
    packed[:, 0, 0, 5:7] = spans
    packed[:, 0, 0, 7] = _first_gone(attention_mask, batch_size, kv_offset)
    packed[:, 0, 0, 8] = kv_offset
    return packed


def masked_by_rules(mask: torch.Tensor, keys: int) -> Masked | None:
    """The mask that is in a tensor of rules of `mask_for_headwise`; None for another
    tensor.
    """
    if mask.dtype != torch.int64 or mask.shape[1:] != (1, 1, _COLUMNS):
        return None
    if torch.compiler.is_compiling():
        return _unpacked(mask, keys)
    # All layers are given one tensor.
    known = getattr(mask, "_headwise_masked", None)
    if known is None:
        known = mask._headwise_masked = _unpacked(mask, keys)
    return known


def _unpacked(mask: torch.Tensor, keys: int) -> Masked | None:
    rows = mask[:, 0, 0]
    mark, causal, query_start, left, right, *_ = rows[0].tolist()
    if mark != _MARK:
        return None
    starts, ends = rows[:, 5].contiguous(), rows[:, 6].contiguous()
    operands = NO_OPERANDS
    if starts.any() or (ends != keys).any():
        operands = Operands(key_starts=starts, key_lengths=ends)
    return Masked(operands, Positions(query_start, left, right), bool(causal),
                  rows[:, 7].bool(), int(rows[0, 8]))


def _first_gone(mask: torch.Tensor | None, batch: int, first: int) -> torch.Tensor:
    """(B): whether keys that are no padding come before key `first`."""
    if mask is None or mask.ndim != 2:
        return torch.full((batch,), first > 0)
    return mask[:, :first].to(device="cpu", dtype=torch.bool).any(1)


def _seen(mask: torch.Tensor, first: int, keys: int) -> torch.Tensor:
    """Which of the keys [first, first + keys) are not padding. The cache may hold more
    keys than the mask does; those come later.
    """
    return mask[:, first:first + keys].to(device="cpu", dtype=torch.bool)


def _first_of(seen: torch.Tensor) -> torch.Tensor:
    """(B): the first key that is not padding, or 0 if all are."""
    return seen.to(torch.uint8).argmax(1) if seen.shape[1] else seen.sum(1)


def _row_spans(mask: torch.Tensor | None, batch: int, first: int,
               keys: int) -> torch.Tensor | None:
    """(B, 2): the first key that is not padding and the one after the last, among
    keys [first, first + keys). None if there is padding between them.
    """
    spans = torch.empty(batch, 2, dtype=torch.int64)
    if mask is None:
        spans[:, 0], spans[:, 1] = 0, keys
        return spans
    if mask.ndim != 2:
        return None
    seen = _seen(mask, first, keys)
    begin = _first_of(seen)
    end = begin + seen.sum(1)
    positions = torch.arange(seen.shape[1])
    whole = (positions >= begin[:, None]) & (positions < end[:, None])
    if not torch.equal(whole, seen):
        return None
    spans[:, 0], spans[:, 1] = begin, end
    return spans


_AND = masking_utils.and_masks(masking_utils.causal_mask_function).__code__
_WINDOW = masking_utils.sliding_window_overlay(1).__code__
_WINDOW_BOTH = masking_utils.sliding_window_bidirectional_overlay(1).__code__


def _rules_of(mask_function: Callable) -> tuple[bool, int, int] | None:
    """Whether it is causal, and its window; None for a function of another kind."""
    causal, left, right = False, _NO_LIMIT, _NO_LIMIT
    for part in _parts(mask_function):
        if part is masking_utils.causal_mask_function:
            causal = True
        elif part is not masking_utils.bidirectional_mask_function:
            size = _window_of(part)
            if size is None or left != _NO_LIMIT:
                return None
            left, right = size
    return causal, left, right


def _parts(mask_function: Callable) -> Iterator[Callable]:
    """The functions that one combines with "and"."""
    if getattr(mask_function, "__code__", None) is _AND:
        for part in _closure(mask_function)["mask_functions"]:
            yield from _parts(part)
    else:
        yield mask_function


def _window_of(part: Callable) -> tuple[int, int] | None:
    code = getattr(part, "__code__", None)
    if code is _WINDOW:
        return _closure(part)["sliding_window"] - 1, _NO_LIMIT
    if code is _WINDOW_BOTH:
        size = _closure(part)["sliding_window"]
        return size, size
    return None


def _closure(function: Callable) -> dict[str, Any]:
    return {name: cell.cell_contents for name, cell in
            zip(function.__code__.co_freevars, function.__closure__ or ())}
