"""torch.nn.functional.scaled_dot_product_attention on headwise's kernels."""

from __future__ import annotations

import torch
from torch import Tensor

from headwise.torch.attention_operator import attention
from headwise.torch.call_arguments import NO_OPERANDS, Operands
from headwise.torch.jagged_tensors import attention_of_jagged
from headwise.torch.tensor_checks import check_device, check_tensors


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor,
                                 attn_mask: Tensor | None = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, *, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:
    """Attention with the arguments of torch's function of the same name.

    query      (..., Hq, L, D)
    key        (..., H, S, D)    Hq is a multiple of H with enable_gqa; else the
    value      (..., H, S, Dv)   axes before L and S are broadcast
    attn_mask  broadcast to (..., Hq, L, S): bool, True = may attend, or float32
               or the query's element type, added to the scores
    output     (..., Hq, L, Dv)

    Or all three are nested tensors with layout=torch.jagged, (B, H, j, D), without
    attn_mask; so is the output.

    is_causal  query i sees the keys up to i, counted from the first key, also
               where L and S differ
    dropout_p  always applied, as in torch: pass 0.0 outside training

    A row that sees no key gives 0. What a masked key holds, NaN included, does
    not reach the output. Elements are float32, bfloat16 or float16, with scores and
    softmax in float32, or float64, computed by torch. attention() says what it does
    with transforms and derivatives.

    Errors: TypeError for other element types and devices, and for a mask of
    integers; ValueError for shapes that do not fit and for is_causal together
    with attn_mask.
    """
    if query.is_nested and query.layout == torch.jagged:
        return attention_of_jagged(query, key, value, attn_mask, dropout_p, is_causal, scale,
                                   enable_gqa)
    check_tensors("scaled_dot_product_attention", query, key, value)
    if attn_mask is not None and is_causal:
        raise ValueError(
            "scaled_dot_product_attention: attn_mask is given together with is_causal=True; "
            "expected one of them")
    if _need_no_broadcast(query.shape, key.shape, value.shape, enable_gqa):
        output, _ = attention(query, key, value,
                              operands=_mask_operands(attn_mask, query, key, query.shape[:2]),
                              scale=scale, causal=is_causal, dropout_p=dropout_p)
        return output
    query, key, value, leading = _broadcast(query, key, value, enable_gqa)
    output, _ = attention(_with_four_axes(query), _with_four_axes(key),
                          _with_four_axes(value),
                          operands=_mask_operands(attn_mask, query, key, leading),
                          scale=scale, causal=is_causal, dropout_p=dropout_p)
    return output.reshape(*leading, *output.shape[-2:])


def _need_no_broadcast(query: torch.Size, key: torch.Size, value: torch.Size,
                       enable_gqa: bool) -> bool:
    """Whether these shapes are (B, H, L, D) already."""
    return (len(query) == len(key) == len(value) == 4 and query[0] == key[0] == value[0]
            and (enable_gqa or query[1] == key[1] == value[1]))


def _with_four_axes(tensor: Tensor) -> Tensor:
    """(B, H, L, D), all batch axes as one."""
    if tensor.dim() < 4:
        return tensor[(None,) * (4 - tensor.dim())]
    return tensor.reshape(-1, *tensor.shape[-3:]) if tensor.dim() > 4 else tensor


def _broadcast(query: Tensor, key: Tensor, value: Tensor,
               enable_gqa: bool) -> tuple[Tensor, Tensor, Tensor, torch.Size]:
    """The tensors with the same leading axes, but for the heads of key and value
    where query heads share them; and the leading axes of the output."""
    shapes = [tensor.shape for tensor in (query, key, value)]
    if min(len(shape) for shape in shapes) < (3 if enable_gqa else 2):
        axes = "(..., H, L, D)" if enable_gqa else "(..., L, D)"
        raise ValueError("scaled_dot_product_attention: query, key and value have the shapes "
                         f"{_shape_list(shapes)}; expected {axes}")
    # What of the leading axes is broadcast: all, or all but the heads.
    end = -3 if enable_gqa else -2
    try:
        common = torch.broadcast_shapes(*(shape[:end] for shape in shapes))
    except RuntimeError:
        raise ValueError(
            "scaled_dot_product_attention: query, key and value have the shapes "
            f"{_shape_list(shapes)}, whose leading axes do not fit together") from None
    if enable_gqa:
        return (*(tensor.expand(*common, *tensor.shape[-3:]) for tensor in (query, key, value)),
                common + query.shape[-3:-2])
    query = query.expand(*common, *query.shape[-2:])
    # One head of keys for all query heads: no need to repeat it.
    shared = len(common) > 0 and key.dim() > 2 and key.shape[:-2] == value.shape[:-2]
    heads = 1 if shared and key.shape[-3] == 1 else None
    for_keys = common if heads is None else common[:-1] + (heads,)
    return (query, key.expand(*for_keys, *key.shape[-2:]),
            value.expand(*for_keys, *value.shape[-2:]), common)


def _shape_list(shapes: list[torch.Size]) -> str:
    return ", ".join(str(tuple(shape)) for shape in shapes)


def _mask_operands(attn_mask: Tensor | None, query: Tensor, key: Tensor,
                   leading: torch.Size) -> Operands:
    """The mask of torch as a mask or a bias of (L, S) or (B, H, L, S), each axis 1
    where it is broadcast."""
    if attn_mask is None:
        return NO_OPERANDS
    scores = (*leading, query.shape[-2], key.shape[-2])
    _check_mask(attn_mask, query, scores)
    mask = attn_mask
    if len(leading) > 2 and any(extent != 1 for extent in mask.shape[:-3]):
        mask = mask.expand(*leading[:-1], *mask.shape[-3:])
    if mask.dim() not in (2, 4):
        mask = _with_four_axes(mask)
    if mask.dtype == torch.bool:
        return Operands(mask=mask)
    return Operands(bias=mask if query.dtype == torch.float64 else mask.float())


def _check_mask(attn_mask: Tensor, query: Tensor, scores: tuple[int, ...]) -> None:
    check_device("scaled_dot_product_attention", "attn_mask", attn_mask)
    if attn_mask.dtype not in (torch.bool, torch.float32, query.dtype):
        floats = ("torch.float32" if query.dtype == torch.float32
                  else f"torch.float32 or {query.dtype}")
        raise TypeError(
            f"scaled_dot_product_attention: attn_mask is {attn_mask.dtype}; expected torch.bool "
            f"(True = may attend) or {floats}")
    if not 2 <= attn_mask.dim() <= len(scores) or any(
            extent not in (1, whole)
            for extent, whole in zip(reversed(attn_mask.shape), reversed(scores))):
        raise ValueError(
            f"scaled_dot_product_attention: attn_mask has shape {tuple(attn_mask.shape)}; "
            f"expected one that can be broadcast to {scores}")
