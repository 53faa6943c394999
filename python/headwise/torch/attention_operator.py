"""The operators torch.ops.headwise.attention and attention_backward.

Both take tensors in torch's order (B, H, L, D). They are defined with
torch.library, so the dispatcher, torch.compile, torch.export and autocast know
them. attention() is how Python code calls them.

The operators have few arguments, because each costs half a microsecond per
call: rare tensors travel in one list (Operands), and rare integers in another
(Positions).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._C import _AutoDispatchBelowAutograd, _ExcludeDispatchKeyGuard
from torch.autograd import forward_ad

from headwise.torch import core_calls
from headwise.torch.call_arguments import NO_OPERANDS, NO_POSITIONS, Operands, Positions
from headwise.torch.plain_call import is_plain

_AUTOCAST_KEYS = (torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
                  | torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA))

_library = torch.library.Library("headwise", "DEF")
_OPTIONS = ("Tensor?[] operands, SymInt[] positions, float? scale, float softcap, "
            "bool causal, float dropout_p, str attn_weights")
_library.define(f"attention(Tensor query, Tensor key, Tensor value, {_OPTIONS})"
                " -> (Tensor output, Tensor softmax_rows, Tensor attn_weights)")
_library.define("attention_backward(Tensor query, Tensor key, Tensor value, Tensor output,"
                " Tensor softmax_rows, Tensor d_output, Tensor? d_attn_weights,"
                f" bool[] wanted, {_OPTIONS})"
                " -> (Tensor query, Tensor key, Tensor value, Tensor bias, Tensor sinks)")
_forward_op = torch.ops.headwise.attention.default
_backward_op = torch.ops.headwise.attention_backward.default


def attention(query: Tensor, key: Tensor, value: Tensor, *, operands: Operands = NO_OPERANDS,
              positions: Positions = NO_POSITIONS, scale: float | None = None,
              softcap: float = 0.0, causal: bool = False, dropout_p: float = 0.0,
              attn_weights: str = "none") -> tuple[Tensor, Tensor | None]:
    """Differentiable attention with every option of headwise that models need.

    query (B, Hq, L, D), key (B, Hkv, S, D), value (B, Hkv, S, Dv), all float32,
    bfloat16 or float16. Returns the output (B, Hq, L, Dv) and the attention
    weights, float32: None, or (B, Hq, L, S) for "per_head" and "after_dropout",
    (B, 1, L, S) for "mean". Gradients flow through both into query, key, value,
    operands.bias and operands.sinks. A softcap of 0 is none.

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
    plain = False
    if not torch.compiler.is_compiling():
        _refuse_tangents(query, key, value, bias, sinks)
        plain = is_plain((query, key, value), operands)
    if plain and not _wants_gradients(query, key, value, bias, sinks):
        return core_calls.inference(query, key, value, operands, positions, *options)
    rare = (() if operands is NO_OPERANDS else operands,
            () if positions is NO_POSITIONS else positions)
    output, _, weights = (
        _Attention.apply(None, query, key, value, bias, sinks, *rare, *options) if plain
        else _forward_op(query, key, value, *rare, *options))
    return output, weights if attn_weights != "none" else None


def recorded(results: tuple[Tensor, Tensor, Tensor], query: Tensor, key: Tensor,
             value: Tensor, operands: Operands, *options) -> tuple[Tensor, ...]:
    """`results` of core_calls.forward(), with the gradients of attention()."""
    bias, sinks = operands[:2]
    return _Attention.apply(results, query, key, value, bias, sinks, operands, *options)


def _refuse_tangents(*tensors: Tensor | None) -> None:
    """The kernels would drop them without a word."""
    if forward_ad._current_level >= 0 and any(
            forward_ad.unpack_dual(each).tangent is not None
            for each in tensors if each is not None):
        raise NotImplementedError(
            "attention: an input has a forward-mode tangent, expected gradients by a "
            "backward pass")


def _refuse_second_derivative() -> None:
    """Autograd would take these gradients for constants, without a word where the
    derivative of the outputs is one."""
    if torch.is_grad_enabled():
        raise NotImplementedError(
            "attention: the backward pass records gradients (create_graph=True), expected "
            "first derivatives only; for second derivatives use attn_implementation='eager', "
            "torch.nn.MultiheadAttention, or torch's scaled_dot_product_attention with "
            "torch.nn.attention.sdpa_kernel(SDPBackend.MATH)")


def _wants_gradients(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None,
                     sinks: Tensor | None) -> bool:
    return torch.is_grad_enabled() and (
        query.requires_grad or key.requires_grad or value.requires_grad
        or (bias is not None and bias.requires_grad)
        or (sinks is not None and sinks.requires_grad))


def new_seed() -> Tensor:
    """A seed from torch's generator, so torch.manual_seed() repeats a dropout."""
    return torch.randint(0, 2**62, (1,), dtype=torch.int64)


# The kernels.


def _tensors_of(operands: Any) -> Operands:
    return Operands(*operands) if operands else NO_OPERANDS


def _positions_of(positions: Any) -> Positions:
    return Positions(*positions) if positions else NO_POSITIONS


def _forward(query, key, value, operands, positions, *options):
    return core_calls.forward(query, key, value, _tensors_of(operands),
                              _positions_of(positions), *options)


def _backward(query, key, value, output, rows, d_output, d_weights, wanted, operands,
              positions, *options):
    return core_calls.backward((query, key, value, output, rows, d_output, d_weights), wanted,
                               _tensors_of(operands), _positions_of(positions), *options)


def _on_gpu(kernel: Callable[..., tuple[Tensor, ...]]) -> Callable[..., tuple[Tensor, ...]]:
    """The library works on the current GPU, and the dispatcher does not choose it."""

    def on_gpu(query, *arguments):
        with torch.cuda.device(query.device):
            return kernel(query, *arguments)

    return on_gpu


_library.impl("attention", _forward, "CPU")
_library.impl("attention", _on_gpu(_forward), "CUDA")
_library.impl("attention_backward", _backward, "CPU")
_library.impl("attention_backward", _on_gpu(_backward), "CUDA")


# Shapes and strides without a computation.


def _fake_forward(query, key, value, operands, positions, scale, softcap, causal, dropout_p,
                  attn_weights):
    batch, heads, queries, _ = query.shape
    output = core_calls.new_output(query, value.shape[-1])
    rows = query.new_empty((batch, heads, queries, 2), dtype=torch.float32)
    shape = core_calls.weights_shape(attn_weights, batch, heads, queries, key.shape[2])
    return output, rows, query.new_empty(shape, dtype=torch.float32)


def _fake_backward(query, key, value, output, rows, d_output, d_weights, wanted, operands,
                   *options):
    given = _tensors_of(operands)
    return core_calls.new_gradients(query, key, value, given, wanted)


torch.library.register_fake("headwise::attention", _fake_forward, lib=_library)
torch.library.register_fake("headwise::attention_backward", _fake_backward, lib=_library)


# Autograd. torch.library.register_autograd() would do, but its kernel costs
# 70 us per call more than this one.


def _unrecorded(query, key, value, operands, *options):
    if is_plain((query, key, value), operands):
        return _forward(query, key, value, operands, *options)
    with _AutoDispatchBelowAutograd():
        return _forward_op(query, key, value, operands, *options)


class _Attention(torch.autograd.Function):
    """bias and sinks are arguments of their own so that autograd sees them. `results`
    are None unless they were computed already."""

    @staticmethod
    def forward(ctx, results, query, key, value, bias, sinks, operands, *options):
        if results is None:
            results = _unrecorded(query, key, value, operands, *options)
        # A seed or a mask cannot be written to between the passes unnoticed.
        ctx.save_for_backward(query, key, value, *results[:2], *operands)
        ctx.options = options
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(results[1])
        if options[-1] == "none":
            ctx.mark_non_differentiable(results[2])
        return results

    @staticmethod
    def backward(ctx, d_output, _, d_weights):
        _refuse_second_derivative()
        query, key, value, output, rows, *operands = ctx.saved_tensors
        if d_output is None and d_weights is None:
            return (None,) * (7 + len(ctx.options))
        if d_output is None:
            d_output = torch.zeros_like(output)
        wanted = ctx.needs_input_grad[1:6]
        tensors = (query, key, value, output, rows, d_output, d_weights)
        run = _backward if is_plain(tensors, operands) else _backward_op
        gradients = run(*tensors, wanted, operands, *ctx.options)
        asked_for = (g if w else None for g, w in zip(gradients, wanted))
        return (None, *asked_for, None, *(None for _ in ctx.options))


def _autograd(keys, query, key, value, operands, *options):
    bias, sinks = operands[:2] if operands else (None, None)
    if _wants_gradients(query, key, value, bias, sinks):
        return _Attention.apply(None, query, key, value, bias, sinks, operands, *options)
    with _AutoDispatchBelowAutograd():
        return _forward_op.redispatch(keys & torch._C._after_autograd_keyset, query, key,
                                      value, operands, *options)


_library.impl("attention", _autograd, "Autograd", with_keyset=True)


# Autocast casts query, key and value as it does for torch's own attention. The
# bias stays float32.


def _autocast(query, key, value, *options):
    dtype = torch.get_autocast_dtype(query.device.type)

    def cast(tensor: Tensor) -> Tensor:
        return tensor if tensor.dtype == torch.float64 else tensor.to(dtype)

    with _ExcludeDispatchKeyGuard(_AUTOCAST_KEYS):
        return _forward_op(cast(query), cast(key), cast(value), *options)


_library.impl("attention", _autocast, "AutocastCPU")
_library.impl("attention", _autocast, "AutocastCUDA")
