"""The mode in which operators are called through operators.py.

It is a TorchDispatchMode and not an override of torch's kernels: it sees every
operator, also those nobody wrote an override for, and other code in the process
does not notice it.
"""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from headwise.torch.batch_invariance.operators import call_invariant


class InvariantMode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs=None) -> Any:
        kwargs = dict(kwargs or {})
        if func._can_decompose():
            # Only in torch.inference_mode(); otherwise the parts arrive here.
            with self:
                return func.decompose(*args, **kwargs)
        return call_invariant(func, args, kwargs)


class Scope:
    """A part of the program in the mode. Inside another one it does nothing: a
    model in a model, or a backward pass in a forward pass, enters it once."""

    def __init__(self) -> None:
        self._mode: InvariantMode | None = None

    def enter(self) -> None:
        # torch's own list of modes: after an error in a step of a backward pass
        # it is right, while a counter would not be.
        active = _get_current_dispatch_mode_stack()
        if not any(isinstance(mode, InvariantMode) for mode in active):
            self._mode = InvariantMode()
            self._mode.__enter__()

    def leave(self) -> None:
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._mode = None
