"""The operators torch.ops.headwise.attention and attention_backward: their schemas,
kernels and shapes.

Both take tensors in torch's order (B, H, L, D). They are defined with
torch.library, so the dispatcher, torch.compile, torch.export and autocast know
them.

The operators have few arguments, because each costs half a microsecond per
call: rare tensors travel in one list (Operands), and rare integers in another
(Positions).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._C import _AutoDispatchBelowAutograd

from headwise.torch import core_calls, vmap_rule
from headwise.torch.call_arguments import NO_OPERANDS, NO_POSITIONS, Operands, Positions
from headwise.torch.plain_call import is_plain

library = torch.library.Library("headwise", "DEF")
_OPTIONS = ("Tensor?[] operands, SymInt[] positions, float? scale, float softcap, "
            "bool causal, float dropout_p, str attn_weights")
library.define(f"attention(Tensor query, Tensor key, Tensor value, {_OPTIONS})"
               " -> (Tensor output, Tensor softmax_rows, Tensor attn_weights)")
library.define("attention_backward(Tensor query, Tensor key, Tensor value, Tensor output,"
               " Tensor softmax_rows, Tensor d_output, Tensor? d_attn_weights,"
               f" bool[] wanted, {_OPTIONS})"
               " -> (Tensor query, Tensor key, Tensor value, Tensor bias, Tensor sinks)")
forward_op = torch.ops.headwise.attention.default
backward_op = torch.ops.headwise.attention_backward.default


def unrecorded(query, key, value, operands, *options) -> tuple[Tensor, Tensor, Tensor]:
    """The forward pass, of which autograd sees nothing."""
    if is_plain((query, key, value), operands):
        return forward_kernel(query, key, value, operands, *options)
    with _AutoDispatchBelowAutograd():
        return forward_op(query, key, value, operands, *options)


def gradients(tensors: tuple[Tensor | None, ...], wanted, operands, *options
              ) -> tuple[Tensor, ...]:
    """The backward pass."""
    run = backward_kernel if is_plain(tensors, operands) else backward_op
    return run(*tensors, wanted, operands, *options)


# The kernels.


def _tensors_of(operands: Any) -> Operands:
    return Operands(*operands) if operands else NO_OPERANDS


def _positions_of(positions: Any) -> Positions:
    return Positions(*positions) if positions else NO_POSITIONS


def forward_kernel(query, key, value, operands, positions, *options):
    return core_calls.forward(query, key, value, _tensors_of(operands),
                              _positions_of(positions), *options)


def backward_kernel(query, key, value, output, rows, d_output, d_weights, wanted, operands,
                    positions, *options):
    return core_calls.backward((query, key, value, output, rows, d_output, d_weights), wanted,
                               _tensors_of(operands), _positions_of(positions), *options)


def _on_gpu(kernel: Callable[..., tuple[Tensor, ...]]) -> Callable[..., tuple[Tensor, ...]]:
    """The library works on the current GPU, and the dispatcher does not choose it."""

    def on_gpu(query, *arguments):
        with torch.cuda.device(query.device):
            return kernel(query, *arguments)

    return on_gpu


library.impl("attention", forward_kernel, "CPU")
library.impl("attention", _on_gpu(forward_kernel), "CUDA")
library.impl("attention_backward", backward_kernel, "CPU")
library.impl("attention_backward", _on_gpu(backward_kernel), "CUDA")


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


torch.library.register_fake("headwise::attention", _fake_forward, lib=library)
torch.library.register_fake("headwise::attention_backward", _fake_backward, lib=library)


# torch.vmap of the forward operator; autograd_functions has the rules of both passes.


def _vmap(info, axes, query, key, value, operands, *options):
    def call(tensors):
        return forward_op(*tensors[:3], tensors[3:], *options)

    operands, of_operands = _tensors_of(operands), tuple(axes[3] or ())
    of_operands += (None,) * (len(operands) - len(of_operands))
    return vmap_rule.forward(call, info.batch_size, (*axes[:3], *of_operands),
                             (query, key, value, *operands), dropout_p=options[4])


torch.library.register_vmap("headwise::attention", _vmap, lib=library)
