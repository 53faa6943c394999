"""attention(), and what torch's dispatcher does before the kernels.

A call goes one of four ways: to the kernels at once, to the operator (operator_kernels),
to an autograd.Function for transforms of torch.func, or to reference_formula.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch._C import _AutoDispatchBelowAutograd, _ExcludeDispatchKeyGuard
from torch.autograd import forward_ad

from headwise.torch import core_calls, operator_kernels, plain_call, reference_formula
from headwise.torch.autograd_functions import Attention, TransformedAttention
from headwise.torch.call_arguments import NO_OPERANDS, NO_POSITIONS, Operands, Positions
from headwise.torch.plain_call import is_plain
from headwise.torch.tensor_checks import check_call

_AUTOCAST_KEYS = (torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
                  | torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA))


def attention(query: Tensor, key: Tensor, value: Tensor, *, operands: Operands = NO_OPERANDS,
              positions: Positions = NO_POSITIONS, scale: float | None = None,
              softcap: float = 0.0, causal: bool = False, dropout_p: float = 0.0,
              attn_weights: str = "none") -> tuple[Tensor, Tensor | None]:
    """Differentiable attention with every option of headwise that models need.

    query (B, Hq, L, D), key (B, Hkv, S, D), value (B, Hkv, S, Dv), all float32,
    bfloat16, float16 or float64. Returns the output (B, Hq, L, Dv) and the attention
    weights, float32 (float64): None, or (B, Hq, L, S) for "per_head" and
    "after_dropout", (B, 1, L, S) for "mean". Gradients flow through both into query,
    key, value, operands.bias and operands.sinks. A softcap of 0 is none.

    torch.func's transforms work, as do derivatives of any order. Those after the
    first, forward-mode derivatives, float64 and torch.jit.trace are computed by
    torch in plain operations, at the cost of eager attention.

    Tensors on a GPU, bfloat16 or float16, go to torch's current stream. There the
    masks and the bias are on the GPU, too, and starts, lengths and seed are not.
    NotImplementedError for what headwise cannot do there, which is everything
    where it was built without CUDA.
    """
    if dropout_p > 0 and operands.seed is None:
        operands = operands._replace(seed=new_seed())
    options = (scale, softcap, causal, dropout_p, attn_weights)
    bias, sinks = operands[:2]
    # torch.compile sees the operator.
    plain = not torch.compiler.is_compiling() and is_plain((query, key, value), operands)
    if plain and not _wants_gradients(query, key, value, bias, sinks):
        return core_calls.inference(query, key, value, operands, positions, *options)
    if plain:
        output, _, weights = Attention.apply(
            None, query, key, value, bias, sinks, () if operands is NO_OPERANDS else operands,
            () if positions is NO_POSITIONS else positions, *options)
    else:
        output, weights = _not_plain(query, key, value, operands, positions, *options)
    return output, weights if attn_weights != "none" else None


def _not_plain(query: Tensor, key: Tensor, value: Tensor, operands: Operands,
               positions: Positions, *options) -> tuple[Tensor, Tensor]:
    compiling = torch.compiler.is_compiling()
    transforms = frozenset() if compiling else plain_call.transforms()
    by_formula = query.dtype == torch.float64 or not compiling and (
        torch.jit.is_tracing() or _has_tangent(query, key, value, *operands[:2]))
    recorded_by_func = bool(transforms) and transforms <= {"Grad", "Vmap"}
    if not by_formula and not recorded_by_func:
        output, _, weights = operator_kernels.forward_op(
            query, key, value, () if operands is NO_OPERANDS else operands,
            () if positions is NO_POSITIONS else positions, *options)
        return output, weights
    check_call(query, key, value, operands, positions, *options)
    if options[3] > 0 and torch.jit.is_tracing():
        raise NotImplementedError(
            "attention: torch.jit.trace would record the dropout pattern as a constant; "
            "expected dropout_p=0 (model.eval()), or torch.export")
    query, key, value = _cast_by_autocast(query, key, value)
    if by_formula:
        return reference_formula.attention(query, key, value, operands, positions, *options)
    output, _, weights = TransformedAttention.apply(query, key, value, *operands,
                                                    (positions, *options))
    return output, weights


def _has_tangent(*tensors: Tensor | None) -> bool:
    return forward_ad._current_level >= 0 and any(
        each is not None and forward_ad.unpack_dual(each).tangent is not None
        for each in tensors)


def recorded(results: tuple[Tensor, Tensor, Tensor], query: Tensor, key: Tensor,
             value: Tensor, operands: Operands, *options) -> tuple[Tensor, ...]:
    """`results` of core_calls.forward(), with the gradients of attention()."""
    bias, sinks = operands[:2]
    return Attention.apply(results, query, key, value, bias, sinks, operands, *options)


def _wants_gradients(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None,
                     sinks: Tensor | None) -> bool:
    return torch.is_grad_enabled() and (
        query.requires_grad or key.requires_grad or value.requires_grad
        or (bias is not None and bias.requires_grad)
        or (sinks is not None and sinks.requires_grad))


def new_seed() -> Tensor:
    """A seed from torch's generator, so torch.manual_seed() repeats a dropout."""
    return torch.randint(0, 2**62, (1,), dtype=torch.int64)


# What the dispatcher does before the kernels.


def _autograd(keys, query, key, value, operands, *options):
    bias, sinks = operands[:2] if operands else (None, None)
    if not _wants_gradients(query, key, value, bias, sinks):
        with _AutoDispatchBelowAutograd():
            return operator_kernels.forward_op.redispatch(
                keys & torch._C._after_autograd_keyset, query, key, value, operands, *options)
    if torch._C._are_functorch_transforms_active():
        return _recorded_by_formula(query, key, value, operands, *options)
    return Attention.apply(None, query, key, value, bias, sinks, operands, *options)


def _recorded_by_formula(query, key, value, operands, positions, *options):
    """For a transform of torch.func inside a compiled function: below the dispatcher an
    autograd.Function cannot serve it. Nothing reads the rows."""
    output, weights = reference_formula.attention(
        query, key, value, Operands(*operands), Positions(*positions), *options)
    return output, output.new_empty((*query.shape[:3], 2), dtype=torch.float32), weights


operator_kernels.library.impl("attention", _autograd, "Autograd", with_keyset=True)


# Autocast casts query, key and value as it does for torch's own attention. The
# bias stays float32.


def _cast(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    dtype = torch.get_autocast_dtype(tensors[0].device.type)
    return tuple(each if each.dtype == torch.float64 else each.to(dtype) for each in tensors)


def _cast_by_autocast(*tensors: Tensor) -> tuple[Tensor, ...]:
    device = tensors[0].device.type
    if device in ("cpu", "cuda") and torch.is_autocast_enabled(device):
        return _cast(tensors)
    return tensors


def _autocast(query, key, value, *options):
    with _ExcludeDispatchKeyGuard(_AUTOCAST_KEYS):
        return operator_kernels.forward_op(*_cast((query, key, value)), *options)


operator_kernels.library.impl("attention", _autocast, "AutocastCPU")
operator_kernels.library.impl("attention", _autocast, "AutocastCUDA")
