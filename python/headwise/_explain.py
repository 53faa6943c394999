"""The steps of a call of attention, with their shapes and arrays."""

from __future__ import annotations

import html
import math
import typing
from collections.abc import Sequence

from headwise import _core

if typing.TYPE_CHECKING:
    from typing_extensions import TypeVar, Unpack

    from headwise._types import Array, ExplainOptions

    A = TypeVar("A", bound=Array, default=typing.Any)
else:
    A = typing.TypeVar("A")

__all__ = ["Trace", "explain"]

_AXES = """\
Axes: B batch, H heads, Hkv key and value heads, Lq queries, Lkv keys, D size of a
query or key head, Dv size of a value head; 1 = the same along this axis.
"""
_HEADS = """\
q_heads, k_heads and v_heads are query, key and value with the axes (B, H, L, D).
"""
_UNEVEN = """\
In scores and context, head h of the keys and values is the one that query head h
reads (kv_groups).
"""


class Trace(Sequence["_core.TracedStep[A]"], typing.Generic[A]):
    """The steps of a call, in their order. Printing it shows them.

    trace["scores"]   a TracedStep by its name; trace[0] by its place
    trace.names       the names of the steps

    The arrays keep each other's memory.
    """

    def __init__(self, steps: Sequence[_core.TracedStep[A]], notes: str = "") -> None:
        self._steps = tuple(steps)
        self._notes = notes

    @typing.overload
    def __getitem__(self, key: int | str) -> _core.TracedStep[A]: ...
    @typing.overload
    def __getitem__(self, key: slice) -> Sequence[_core.TracedStep[A]]: ...

    def __getitem__(self, key: int | str | slice) -> typing.Any:
        if not isinstance(key, str):
            return self._steps[key]
        for step in self._steps:
            if step.name == key:
                return step
        raise KeyError(f"step is {key!r}, expected one of {', '.join(self.names)}")

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def names(self) -> list[str]:
        return [step.name for step in self._steps]

    def __str__(self) -> str:
        steps = (_step_text(n, step) for n, step in enumerate(self._steps, 1))
        return "\n".join([*steps, _AXES + self._notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """A table with a row per step; its formula is the tooltip."""
        rows = (
            f"<tr title='{html.escape(step.formula, quote=True)}'><th>{step.name}</th>"
            f"<td>{html.escape(step.operation)}</td><td>({_shape_text(step)})</td>"
            f"<td>{_numbers_text(step)}</td></tr>" for step in self._steps)
        head = "<tr><th>step</th><th>what it does</th><th>shape</th><th>numbers</th></tr>"
        notes = html.escape(_AXES + self._notes)
        return f"<table>{head}{''.join(rows)}</table><pre>{notes}</pre>"


def _shape_text(step: _core.TracedStep[typing.Any]) -> str:
    return ", ".join(
        axis if axis == "1" else f"{axis}={extent}"
        for axis, extent in zip(step.axes, step.array.shape, strict=True)
    )


def _step_text(number: int, step: _core.TracedStep[typing.Any]) -> str:
    return (
        f"{number:>2}. {step.name}: {step.operation}\n"
        f"    {step.formula}\n"
        f"    shape ({_shape_text(step)})  {_numbers_text(step)}\n"
    )


def _numbers_text(step: _core.TracedStep[typing.Any]) -> str:
    count = math.prod(step.array.shape)
    if "bool" in str(step.array.dtype):
        return f"{count - step.masked} of {count} may attend"
    parts = [
        f"min {step.min:.4g}, max {step.max:.4g}"
        if step.finite
        else "no finite number"
    ]
    if step.masked:
        parts.append(f"{step.masked} of {count} masked")
    if step.nan:
        parts.append(f"{step.nan} NaN")
    return "; ".join(parts)


def explain(
    query: A,
    key: Array | None = None,
    value: Array | None = None,
    *,
    layer: _core.MultiHeadAttention | None = None,
    **options: Unpack[ExplainOptions],
) -> Trace[A]:
    """The steps of attention(query, key, value, **options), each with its tensor.

    >>> x = np.ones((1, 3, 2, 4), np.float32)
    >>> steps = headwise.explain(x, x, x, mask=headwise.causal())
    >>> print(steps)
     1. scores: compare every query with every key, scaled
        scores[b,h,i,j] = scale * sum_d q_heads[b,h,i,d] * k_heads[b,h,j,d]
        shape (B=1, H=2, Lq=3, Lkv=3)  min 2, max 2
    ...
    >>> steps["attn_weights"].array[0, 0, 1]
    array([0.5, 0.5, 0. ], dtype=float32)

    query   (B, Lq, Hq, D)     or without B, as for attention()
    key     (B, Lkv, Hkv, D)
    value   (B, Lkv, Hkv, Dv)

    The steps of a call, in this order:

    k_added          (B, Hkv, Lkv + n, D)   with n added_keys
    v_added          (B, Hkv, Lkv + n, Dv)
    scores           (B, Hq, Lq, Lkv)  scale * q.k, or additive scores
    capped_scores    (B, Hq, Lq, Lkv)  with softcap
    biased_scores    (B, Hq, Lq, Lkv)  with bias
    t5_scores        (B, Hq, Lq, Lkv)  with t5_bias
    alibi_scores     (B, Hq, Lq, Lkv)  with alibi
    the masks        bool, with the axes that they depend on, and all combined
    masked_scores    (B, Hq, Lq, Lkv)  -inf where a query may not attend
    sinks            (Hq)              with sinks
    attn_weights     (B, Hq, Lq, Lkv)
    dropped_weights  (B, Hq, Lq, Lkv)  with dropout
    context          (B, Hq, Lq, Dv)   the output, with the heads first

    Added keys are columns behind the Lkv keys. Each step is computed on its own
    in float32, so that the numbers are those of attention() up to rounding, and
    each is kept: this takes memory for several arrays (B, Hq, Lq, Lkv).

    With layer=, they are the steps of layer.forward(query, key, value, **options),
    with its projections: query (B, Lq, query_dim), key (B, Lkv, kdim), None: the
    query, value (B, Lkv, vdim), None: the key; all float32. They begin with these.

    The options are those of attention(), without out, state, lse and
    softmax_rows. Errors: those of attention(); NotImplementedError for key_part,
    offsets and a cache.
    """
    groups: typing.Any
    if layer is not None:
        steps = _core.explain_layer(layer, query, key, value, **options)
        groups, notes = layer.config["kv_group_sizes"], ""
    else:
        steps = _core.explain_steps(query, key, value, **options)
        groups, notes = options.get("kv_groups"), _HEADS
    uneven = groups is not None and len({int(size) for size in groups}) > 1
    return Trace(steps, notes + _UNEVEN if uneven else notes)
