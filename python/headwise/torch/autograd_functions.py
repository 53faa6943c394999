"""What autograd and torch.func record of a call.

Gradients come from the kernels, and gradients of gradients from reference_formula.
torch.library.register_autograd() would do for the former, but its kernel costs 70 us
per call more than Attention.
"""

from __future__ import annotations

import torch

from headwise.torch import operator_kernels, reference_formula, vmap_rule
from headwise.torch.call_arguments import NO_POSITIONS, Operands, Positions

_OPERANDS = len(Operands._fields)


class Attention(torch.autograd.Function):
    """bias and sinks are arguments of their own so that autograd sees them. `results`
    are None unless they were computed already."""

    @staticmethod
    def forward(ctx, results, query, key, value, bias, sinks, operands, *options):
        if results is None:
            results = operator_kernels.unrecorded(query, key, value, operands, *options)
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
        query, key, value, output, rows, *operands = ctx.saved_tensors
        if d_output is None and d_weights is None:
            return (None,) * (7 + len(ctx.options))
        if d_output is None:
            d_output = torch.zeros_like(output)
        wanted = ctx.needs_input_grad[1:6]
        tensors = (query, key, value, output, rows, d_output, d_weights)
        if torch.is_grad_enabled():  # create_graph=True
            gradients = _recorded_gradients(tensors, wanted, operands, ctx.options)
        else:
            gradients = operator_kernels.gradients(tensors, wanted, operands, *ctx.options)
        asked_for = (g if w else None for g, w in zip(gradients, wanted))
        return (None, *asked_for, None, *(None for _ in ctx.options))


class TransformedAttention(torch.autograd.Function):
    """Attention for the transforms of torch.func. They want setup_context(), which costs
    each call some microseconds, and a rule for vmap.

    Arguments: query, key, value, each of the operands, and the options as one tuple."""

    @staticmethod
    def forward(query, key, value, *rest):
        *operands, options = rest
        return operator_kernels.unrecorded(query, key, value, operands, *options)

    @staticmethod
    def setup_context(ctx, inputs, output):
        *tensors, ctx.options = inputs
        context, rows, weights = output
        ctx.save_for_backward(*tensors[:3], context, rows, *tensors[3:])
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*((rows, weights) if ctx.options[-1] == "none"
                                      else (rows,)))

    @staticmethod
    def backward(ctx, d_output, _, d_weights):
        query, key, value, output, rows, *operands = ctx.saved_tensors
        if d_output is None and d_weights is None:
            return (None,) * (4 + _OPERANDS)
        if d_output is None:
            d_output = torch.zeros_like(output)
        wanted = ctx.needs_input_grad[:5]
        gradients = _recorded_gradients((query, key, value, output, rows, d_output, d_weights),
                                        wanted, operands, ctx.options)
        asked_for = (g if w else None for g, w in zip(gradients, wanted))
        return (*asked_for, *(None,) * (_OPERANDS - 1))

    @staticmethod
    def vmap(info, axes, *arguments):
        *tensors, options = arguments
        return vmap_rule.forward(
            lambda folded: TransformedAttention.apply(*folded, options), info.batch_size,
            axes[:-1], tensors, dropout_p=options[4])


def _recorded_gradients(tensors, wanted, operands, options):
    """The backward pass, recorded for second derivatives."""
    query, key, value, *others = tensors
    operands = Operands(*operands)
    options = (Positions(*options[0]) if options[0] else NO_POSITIONS, *options[1:])
    return _Gradients.apply(query, key, value, *operands, *others, tuple(wanted), options)


class _Gradients(torch.autograd.Function):
    """The backward pass.

    Arguments: those of TransformedAttention, with output, softmax_rows, d_output,
    d_weights and `wanted` before the options. A gradient that is not wanted is empty."""

    @staticmethod
    def forward(query, key, value, *rest):
        *operands, output, rows, d_output, d_weights, wanted, options = rest
        return operator_kernels.gradients(
            (query, key, value, output, rows, d_output, d_weights), wanted, operands, *options)

    @staticmethod
    def setup_context(ctx, inputs, output):
        *tensors, ctx.wanted, ctx.options = inputs
        ctx.save_for_backward(*tensors)
        ctx.mark_non_differentiable(
            *(each for each, asked in zip(output, ctx.wanted) if not asked))

    @staticmethod
    def backward(ctx, *d_gradients):
        query, key, value, *operands, _, _, d_output, d_weights = ctx.saved_tensors
        operands = Operands(*operands)
        *of_inputs, of_output, of_weights = reference_formula.second_derivatives(
            (query, key, value, operands.bias, operands.sinks), (d_output, d_weights),
            ctx.wanted, d_gradients, operands, *ctx.options)
        return (*of_inputs, *(None,) * (_OPERANDS - 2), None, None, of_output, of_weights,
                None, None)

    @staticmethod
    def vmap(info, axes, *arguments):
        *tensors, wanted, options = arguments
        return vmap_rule.backward(
            lambda folded: _Gradients.apply(*folded, wanted, options), info.batch_size,
            axes[:-2], tensors, dropout_p=options[4], wanted=wanted)
