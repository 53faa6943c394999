"""The function that transformers' models call for their attention."""
from __future__ import annotations

from typing import Any

import torch
from headwise.torch.attention_operator import attention
from headwise.torch.call_arguments import NO_OPERANDS, NO_POSITIONS, Operands, Positions
from torch import nn

from .attention_call import AttentionCall
from .mask_rules import MaskRules, rules_of_mask
from .watched import watcher_of


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
    call = AttentionCall(
        query, key, value, operands=_operands(masked.operands, position_bias, s_aux),
        positions=masked.positions, scale=scaling, softcap=softcap or 0.0,
        causal=masked.causal, dropout_p=dropout,
        attn_weights="none" if not output_attentions
        else "after_dropout" if dropout > 0 else "per_head")
    watcher = watcher_of(module)
    if watcher is None:
        output, weights = attention(query, key, value, **call.options())
    else:
        output, weights = watcher.attend(call)
    return output.transpose(1, 2), weights


def _is_causal(module: nn.Module, given: bool | None) -> bool:
    return getattr(module, "is_causal", True) if given is None else given


def _masked(mask: torch.Tensor | None, causal: bool, window: int | None,
            queries: int, keys: int) -> AttentionCall:
    """A call without tensors that has what the mask says. A mask with an element
    per pair, or with rules, says everything; others leave out causality.
    """
    empty = AttentionCall(None, None, None)
    if mask is None or mask.ndim == 2:
        operands = NO_OPERANDS if mask is None else Operands(key_mask=_key_mask(mask, keys))
        if not causal:
            return empty._replace(operands=operands, positions=_at_the_end(queries, keys))
        # Of a cache with room, the first keys are those of the queries.
        left = -1 if window is None else window - 1
        return empty._replace(operands=operands, causal=True,
                              positions=Positions(window_left=left))
    rules = rules_of_mask(mask, keys)
    if rules is not None:
        return _of_rules(rules)
    empty = empty._replace(positions=_at_the_end(queries, keys))
    if mask.dtype == torch.bool:
        return empty._replace(operands=Operands(mask=mask))
    if not mask.dtype.is_floating_point:
        raise TypeError(f"attention_mask is {mask.dtype}, expected torch.bool, true = may "
                        "attend, or floating-point numbers, which are added to the scores")
    return empty._replace(operands=Operands(bias=mask.float()))


def _at_the_end(queries: int, keys: int) -> Positions:
    """Where queries are that continue cached keys; only statistics depend on it."""
    return NO_POSITIONS if queries == keys else Positions(query_start=keys - queries)


def _key_mask(mask: torch.Tensor, keys: int) -> torch.Tensor:
    """(B, Lkv) of bool, from a padding mask of bool or of 0 and 1."""
    if mask.dtype != torch.bool and ((mask != 0) & (mask != 1)).any():
        raise ValueError("attention_mask has values other than 0 and 1, expected 1 for "
                         "a key that is not padding")
    return mask[:, :keys].bool()


def _of_rules(rules: MaskRules) -> AttentionCall:
    operands = NO_OPERANDS
    if rules.key_starts is not None or rules.key_lengths is not None:
        operands = Operands(key_starts=rules.key_starts, key_lengths=rules.key_lengths)
    return AttentionCall(
        None, None, None, operands=operands, causal=rules.causal,
        positions=Positions(rules.query_start, rules.window_left, rules.window_right))


def _operands(operands: Operands, position_bias: torch.Tensor | None,
              sinks: torch.Tensor | None) -> Operands:
    if position_bias is None and sinks is None:
        return operands
    bias = operands.bias
    if position_bias is not None:
        bias = position_bias.float() if bias is None else bias + position_bias.float()
    return operands._replace(bias=bias, sinks=None if sinks is None else sinks.float())
