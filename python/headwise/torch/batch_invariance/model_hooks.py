"""Hooks that put a model, and its backward pass, into the invariant mode."""

from __future__ import annotations

import functools
import threading
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from headwise.torch.batch_invariance.invariant_mode import Scope

Model = TypeVar("Model", bound=torch.nn.Module)


def make_batch_invariant(model: Model) -> Model:
    """Makes the results for a row of a batch independent of the batch: the bits
    of its output and of the gradient of its input are the same alone and among
    other rows. Returns the model.

    It holds for calls of this model on the CPU, and for backward passes through
    their results. Sums over the rows, such as a loss or the gradients of
    parameters, depend on the batch by nature. Attention through headwise does
    not depend on the padding either; matrix products, softmax and sums over a
    padded axis may. torch.compile is not supported.

    Errors, when the model runs: NotImplementedError for an operator that is not
    known to keep rows apart, such as batch norm in training; it names the
    operator.
    """
    model.register_forward_pre_hook(_enter, prepend=True, with_kwargs=True)
    model.register_forward_hook(_leave, with_kwargs=True, always_call=True)
    return model


class _Calls(threading.local):
    """The calls of models that this thread is in, outermost first."""

    def __init__(self) -> None:
        self.scopes: list[tuple[Scope, bool]] = []


_calls = _Calls()


def _enter(model: torch.nn.Module, args: tuple, kwargs: dict) -> None:
    # torch's fused encoder layer is a single operator on many rows.
    _calls.scopes.append((Scope(), torch.backends.mha.get_fastpath_enabled()))
    torch.backends.mha.set_fastpath_enabled(False)
    _calls.scopes[-1][0].enter()


def _leave(model: torch.nn.Module, args: tuple, kwargs: dict, output: Any) -> None:
    scope, fused_layers = _calls.scopes.pop()
    scope.leave()
    torch.backends.mha.set_fastpath_enabled(fused_layers)
    if torch.is_grad_enabled():
        _hook_backward_pass(_nodes((args, kwargs)), _nodes(output))


def _nodes(values: Any) -> list[torch.autograd.graph.Node]:
    return [
        leaf.grad_fn
        for leaf in tree_leaves(values)
        if isinstance(leaf, Tensor) and leaf.grad_fn is not None
    ]


def _hook_backward_pass(inputs: list, outputs: list) -> None:
    """Puts each step between the outputs and the inputs into the mode.

    Each step on its own, because autograd sets the state of the thread back
    before every step.
    """
    seen, waiting = set(inputs), list(outputs)
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting.extend(following for following, _ in node.next_functions)
        if node.next_functions:  # not the sum into a parameter's gradient
            scope = Scope()
            node.register_prehook(functools.partial(_enter_step, scope))
            node.register_hook(functools.partial(_leave_step, scope))


def _enter_step(scope: Scope, gradients: Any) -> None:
    scope.enter()


def _leave_step(scope: Scope, gradients_in: Any, gradients_out: Any) -> None:
    scope.leave()
