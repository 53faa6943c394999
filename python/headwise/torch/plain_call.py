"""Calls that need nothing of torch's dispatcher.

In the dispatcher an operator meets everything that may change or record a call:
tensor subclasses, modes, transforms, tracing, autocast. It costs 10 us per call. A
call that meets none of them can go to the kernels at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.autograd import forward_ad

_PLAIN_TYPES = frozenset((Tensor, torch.nn.Parameter, type(None)))


def _unknown() -> bool:
    """Stands for a function that this version of torch does not have."""
    return True


def _function(module: object, name: str) -> Callable[[], object]:
    return getattr(module, name, _unknown)


# Each returns something that is false as long as nothing is there.
_function_modes = _function(torch._C, "_len_torch_function_stack")
_dispatch_modes = _function(torch._C, "_len_torch_dispatch_stack")
_transforms = _function(getattr(torch._C, "_functorch", None), "peek_interpreter_stack")
_trace = _function(torch._C, "_get_tracing_state")
_profiler = _function(torch.autograd, "_profiler_enabled")


def is_plain(tensors: Sequence[Tensor | None], operands: Sequence[Tensor | None]) -> bool:
    """Whether the operator would only call the kernels of the CPU. The first tensor
    is not None.

    Whether gradients are recorded or torch.compile is running is up to the caller.
    """
    first = tensors[0]
    if not (first.is_cpu and first.dtype is not torch.float64
            and _PLAIN_TYPES.issuperset(map(type, tensors))
            and _PLAIN_TYPES.issuperset(map(type, operands))):
        return False
    if _function_modes() or _dispatch_modes() or _transforms() or _trace() or _profiler():
        return False
    if forward_ad._current_level >= 0:
        return False
    return not torch.is_autocast_enabled("cpu")


def transforms() -> frozenset[str]:
    """The active transforms of torch.func: Grad, Vmap, Jvp, Functionalize."""
    stack = torch._C._functorch.get_interpreter_stack() or ()
    return frozenset(each.key().name for each in stack)
