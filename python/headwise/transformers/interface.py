"""The function that transformers' models call for their attention."""

from __future__ import annotations

from typing import Any

import torch
from headwise.torch.call_arguments import NO_OPERANDS, NO_POSITIONS, Operands, Positions
from torch import nn

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.mask_rules import Masked, masked_by_rules
from headwise.transformers.watched import Place, watched

try:
    from transformers.utils.output_capturing import _active_collector
except ImportError:  # before transformers 5, models pass output_attentions on
    _active_collector = None


def headwise_attention(
        module: nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
        attention_mask: torch.Tensor | None = None, scaling: float | None = None,
        dropout: float = 0.0, *, is_causal: bool | None = None,
        sliding_window: int | None = None, softcap: float | None = None,
        s_aux: torch.Tensor | None = None, position_bias: torch.Tensor | None = None,
        head_mask: torch.Tensor | None = None, output_attentions: bool | None = False,
        **_: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Attention as transformers' attention interface wants it.

    query (B, Hq, Lq, D), key (B, Hkv, Lkv, D), value (B, Hkv, Lkv, Dv); returns
    (B, Lq, Hq, Dv) and, with output_attentions, the weights (B, Hq, Lq, Lkv). A
    query that sees no key gives 0.

    Errors: those of headwise.torch; TypeError for a mask of integers; ValueError
    for a head_mask, which would be ignored.
    """
    if head_mask is not None:
        raise ValueError("head_mask was given, but transformers no longer applies it; "
                         "use headwise.transformers.prune_heads or head_importance")
    causal = _is_causal(module, is_causal) and query.shape[2] > 1
    masked = _masked(attention_mask, causal, sliding_window, query.shape[2], key.shape[2])
    operands = masked.operands
    if position_bias is not None or s_aux is not None:
        operands = _with_bias(operands, position_bias, s_aux)
    weights = "none"
    if output_attentions or _are_collected():
        weights = "after_dropout" if dropout > 0 else "per_head"
    call = AttentionCall(query, key, value, operands, masked.positions, scaling,
                         softcap or 0.0, masked.causal, dropout, weights)
    watcher = watched(module)
    output, attn_weights = (call.run() if watcher is None
                            else watcher.attend(call, _place_of(masked)))
    return output.transpose(1, 2), attn_weights


def _are_collected() -> bool:
    """Whether the model's hooks collect attention weights. Many modules keep
    `output_attentions` to themselves.
    """
    if _active_collector is None or (
            torch.compiler.is_compiling() and not _active_collector.compiling):
        return False
    return any(name.endswith("attentions") for name in _active_collector.get() or ())


def _is_causal(module: nn.Module, given: bool | None) -> bool:
    return getattr(module, "is_causal", True) if given is None else given


def _masked(mask: torch.Tensor | None, causal: bool, window: int | None,
            queries: int, keys: int) -> Masked:
    """A mask with an element per pair, or with rules, says everything; others
    leave out causality.
    """
    if mask is None or mask.ndim == 2:
        operands = NO_OPERANDS if mask is None else Operands(key_mask=_key_mask(mask, keys))
        if not causal:
            return Masked(operands, _at_the_end(queries, keys))
        # Of a cache with room, the first keys are those of the queries.
        left = -1 if window is None else window - 1
        return Masked(operands, Positions(window_left=left), causal=True)
    by_rules = masked_by_rules(mask, keys)
    if by_rules is not None:
        return by_rules
    known = None if torch.compiler.is_compiling() else getattr(mask, "_headwise_masked", None)
    if known is not None:
        return known
    if mask.dtype == torch.bool:
        operands = Operands(mask=mask)
    elif mask.dtype.is_floating_point:
        operands = Operands(bias=mask.float())
    else:
        raise TypeError(f"attention_mask is {mask.dtype}, expected torch.bool, true = may "
                        "attend, or floating-point numbers, which are added to the scores")
    # A cache may have room for more keys than there are.
    first_key = 0 if queries == keys else None
    return Masked(operands, _at_the_end(queries, keys), first_key=first_key)


def _place_of(masked: Masked) -> Place:
    if masked.first_key is None:
        return Place(None)
    return Place(masked.first_key + masked.positions.query_start, masked.first_key,
                 masked.first_gone)


def _at_the_end(queries: int, keys: int) -> Positions:
    """Where queries are that continue cached keys; only statistics depend on it."""
    return NO_POSITIONS if queries == keys else Positions(query_start=keys - queries)


def _key_mask(mask: torch.Tensor, keys: int) -> torch.Tensor:
    """(B, Lkv) of bool, from a padding mask of bool or of 0 and 1."""
    if mask.dtype != torch.bool and ((mask != 0) & (mask != 1)).any():
        raise ValueError("attention_mask has values other than 0 and 1, expected 1 for "
                         "a key that is not padding")
    return mask[:, :keys].bool()


def _with_bias(operands: Operands, position_bias: torch.Tensor | None,
               sinks: torch.Tensor | None) -> Operands:
    bias = operands.bias
    if position_bias is not None:
        bias = position_bias.float() if bias is None else bias + position_bias.float()
    return operands._replace(bias=bias, sinks=None if sinks is None else sinks.float())
