"""The direct path from the heads to the logits.

The residual stream is a sum: the embedding, and what every head and every MLP adds.
What a head adds reaches the logits directly through its output projection, norms and
factors on the way, the final norm and the unembedding. With the scales of the norms
frozen, that path is linear. All else that reads the stream starts with a matrix
product: attention with the projections of its queries, keys and values, an MLP with
its first layer, a mixture of experts with its router. So the path is found without
knowing the model: on it are the tensors that depend on the heads' outputs, as
autograd tells, and it ends at every product but output projections and unembedding.

A second pass, in which all heads give 0 while what left the path gives what it gave
in the first, computes the rest of the logits: embedding, MLPs and biases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_PRODUCTS = {"linear", "bilinear", "addmm", "mm", "bmm", "baddbmm", "matmul", "__matmul__",
             "mv", "dot", "einsum", "tensordot", "grouped_mm", "_grouped_mm",
             "grouped_mm_fallback", "conv1d", "conv2d"}


class DirectPath(TorchFunctionMode):
    """A pass in which only the direct path has gradients. Parameters must not require
    any. With `first`, an earlier pass, what left its path gives what it gave there.
    """

    def __init__(self, unembedding: torch.Tensor, first: DirectPath | None = None):
        super().__init__()
        self._unembedding = unembedding
        self._known = None if first is None else iter(first._results)
        self._results: list[Any] = []
        self._projects = False

    def leave_attention(self) -> None:
        """The next product is the output projection of the heads."""
        self._projects = True

    def __torch_function__(self, func: Any, types: Any, args: Any = (),
                           kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not _on_path([*args, *kwargs.values()]):
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "").partition(".")[0]
        if name == "layer_norm":
            return self._layer_norm(*args, **kwargs)
        if name == "rms_norm":
            return self._rms_norm(*args, **kwargs)
        if name in ("rsqrt", "sqrt") or (name == "pow" and _is_rsqrt(*args[1:])):
            return self._frozen(lambda: func(args[0].detach(), *args[1:], **kwargs))
        if name == "tanh":
            return args[0]  # the softcap of the logits
        if name not in _PRODUCTS or self._stays(args):
            return func(*args, **kwargs)
        return self._frozen(lambda: func(*map(_detached, args), **{
            key: _detached(each) for key, each in kwargs.items()}))

    def _stays(self, args: Any) -> bool:
        """Whether a product is on the path."""
        projects, self._projects = self._projects, False
        return projects or any(each is self._unembedding for each in args)

    def _frozen(self, result: Callable[[], Any]) -> Any:
        """The result in the first pass, in both."""
        if self._known is not None:
            return next(self._known)
        made = result()
        self._results.append(made.clone())  # models change tensors in place
        return made

    def _layer_norm(self, input: torch.Tensor, normalized_shape: Any,
                    weight: torch.Tensor | None = None, bias: torch.Tensor | None = None,
                    eps: float = 1e-5) -> torch.Tensor:
        axes = _last(normalized_shape)
        centred = input.float() if input.dtype.itemsize < 4 else input
        centred = centred - centred.mean(axes, keepdim=True)
        return self._scaled(centred, axes, eps, weight, bias).to(input.dtype)

    def _rms_norm(self, input: torch.Tensor, normalized_shape: Any,
                  weight: torch.Tensor | None = None, eps: float | None = None
                  ) -> torch.Tensor:
        eps = torch.finfo(input.dtype).eps if eps is None else eps
        wide = input.float() if input.dtype.itemsize < 4 else input
        return self._scaled(wide, _last(normalized_shape), eps, weight, None).to(input.dtype)

    def _scaled(self, values: torch.Tensor, axes: list[int], eps: float,
                weight: torch.Tensor | None, bias: torch.Tensor | None) -> torch.Tensor:
        scale = self._frozen(lambda: torch.rsqrt(
            values.detach().square().mean(axes, keepdim=True) + eps))
        values = values * scale
        values = values if weight is None else values * weight
        return values if bias is None else values + bias


def _on_path(values: Any) -> bool:
    return any(_on_path(each) if isinstance(each, (list, tuple))
               else isinstance(each, torch.Tensor) and each.requires_grad
               for each in values)


def _is_rsqrt(exponent: Any = None) -> bool:
    return isinstance(exponent, float) and exponent == -0.5


def _detached(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_detached, value))
    return value.detach() if isinstance(value, torch.Tensor) else value


def _last(shape: Any) -> list[int]:
    return list(range(-len(shape), 0))
