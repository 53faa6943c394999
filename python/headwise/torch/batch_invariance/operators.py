"""What each operator of torch needs so that a row's bits do not depend on the
other rows.

Operators on whole numbers are exact. Those that move data, and those whose
elements each are one rounding of IEEE arithmetic, are called as they are. The
others are called in fixed shapes (fixed_shapes.py). An operator that is in no
table here is an error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from headwise.torch.batch_invariance.fixed_shapes import by_elements, by_row_blocks, by_samples

aten = torch.ops.aten

# One rounding per element, or none: the same in vectors and in their rest.
EXACT_ELEMENTWISE = frozenset(
    """abs add bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clamp_max clamp_min
    conj copysign div eq fill floor ge gt hardtanh hardtanh_backward isfinite isinf isnan
    isneginf isposinf le leaky_relu leaky_relu_backward logical_and logical_not logical_or
    logical_xor lt masked_fill maximum minimum mul nan_to_num ne neg positive reciprocal relu
    relu6 round rsub sgn sign sqrt sub threshold threshold_backward trunc where
    zero""".split())

# Data is moved, compared or drawn, not computed with. Sums of gradients that
# belong to one element (index_put, scatter_add) are taken in the order of their
# indices.
MOVES = frozenset(
    """_index_put_impl _local_scalar_dense _to_copy _unsafe_index _unsafe_index_put _unsafe_view
    all amax amin aminmax any arange argmax argmin argsort as_strided_scatter bernoulli bincount
    cat clone constant_pad_nd copy diag_embed diagonal_backward diagonal_scatter embedding
    empty_like equal exponential fill flip full_like gather histc index index_add
    index_copy index_fill index_put index_select kthvalue lift_fresh lift_fresh_copy masked_scatter
    masked_select max max_pool2d_with_indices max_pool2d_with_indices_backward median min
    multinomial native_dropout native_dropout_backward new_empty new_empty_strided new_full
    new_ones new_zeros nonzero normal ones_like pixel_shuffle pixel_unshuffle rand_like
    randint_like randn_like random reflection_pad1d reflection_pad2d repeat repeat_interleave
    replication_pad1d replication_pad2d resize roll rot90 scatter scatter_add searchsorted
    select_backward select_scatter slice_backward slice_scatter sort split_copy
    split_with_sizes_copy stack topk tril triu unfold_backward uniform unique unique_consecutive
    value_selecting_reduction_backward zero zeros_like""".split())

# Rows are independent in torch's kernels, whatever their number; sums for the
# gradients of parameters mix rows, as they must.
INDEPENDENT_ROWS = frozenset(
    """native_layer_norm native_layer_norm_backward embedding_dense_backward
    nll_loss_forward nll_loss_backward nll_loss2d_forward nll_loss2d_backward mse_loss
    mse_loss_backward""".split())

# Elementwise operators that torch does not mark as such.
UNMARKED_ELEMENTWISE = frozenset(
    """elu_backward gelu_backward hardsigmoid_backward hardswish hardswish_backward logit_backward
    mish_backward sigmoid_backward silu_backward softplus_backward tanh_backward""".split())

Handler = Callable[[Any, tuple, dict], Any]


def _as_it_is(func: Any, args: tuple, kwargs: dict) -> Any:
    return func(*args, **kwargs)


def _matrix_product(left: Tensor, right: Tensor, bias: Tensor | None = None,
                    **factors: float) -> Tensor:
    """left (N, K) times right (K, M), plus bias (M), (1, M) or (N, M)."""
    if bias is None:
        return by_row_blocks(lambda rows: torch.mm(rows, right), left)
    if bias.dim() == 2 and bias.shape[0] != 1:
        return by_row_blocks(lambda rows, added: torch.addmm(added, rows, right, **factors),
                             left, bias)
    return by_row_blocks(lambda rows: torch.addmm(bias, rows, right, **factors), left)


def _mm(func: Any, args: tuple, kwargs: dict) -> Tensor:
    return _matrix_product(*args, **kwargs)


def _addmm(func: Any, args: tuple, kwargs: dict) -> Tensor:
    bias, left, right = args
    if bias.dim() == 2 and bias.shape[1] == 1 or bias.dim() == 0:
        bias = bias.expand(left.shape[0], right.shape[1])
    return _matrix_product(left, right, bias, **kwargs)


def _mv(func: Any, args: tuple, kwargs: dict) -> Tensor:
    return _matrix_product(args[0], args[1][:, None])[:, 0]


def _bmm(func: Any, args: tuple, kwargs: dict) -> Tensor:
    left, right = args
    if left.shape[0] == 0:
        return func(*args, **kwargs)
    # Contiguous, because the strides of a single matrix are often others.
    return torch.stack([_matrix_product(a, b) for a, b in zip(left, right.contiguous())])


def _baddbmm(func: Any, args: tuple, kwargs: dict) -> Tensor:
    bias, left, right = args
    if left.shape[0] == 0:
        return func(*args, **kwargs)
    bias = bias.expand(left.shape[0], left.shape[1], right.shape[2])
    products = [
        _matrix_product(a, b, added, **kwargs)
        for added, a, b in zip(bias, left, right.contiguous())
    ]
    return torch.stack(products)


def _grouped_mm(func: Any, args: tuple, kwargs: dict) -> Tensor:
    """Groups of rows times a matrix each, the experts of a model; or, for the
    gradients of those matrices, groups of columns times groups of rows."""
    left, right = args[:2]
    offsets = args[2] if len(args) > 2 else kwargs.get("offs")
    if offsets is None or len(args) > 3 or kwargs.get("bias") is not None or left.dim() != 2:
        raise NotImplementedError(_unknown(func))
    ends = offsets.tolist()
    starts = [0, *ends[:-1]]
    if right.dim() == 2:
        products = [
            _matrix_product(left[:, start:end], right[start:end])
            for start, end in zip(starts, ends)
        ]
        return torch.stack(products)
    products = [
        _matrix_product(left[start:end], matrix)
        for start, end, matrix in zip(starts, ends, right)
    ]
    unused = left.new_zeros((left.shape[0] - ends[-1], right.shape[2]))
    return torch.cat([*products, unused])


def _reduction(func: Any, args: tuple, kwargs: dict) -> Any:
    """Operators (input, dim, ...) that reduce or normalize along axes."""
    arguments = func._schema.arguments
    names = [argument.name for argument in arguments]
    if "dim" not in names:
        return func(*args, **kwargs)  # of all elements
    given = {**dict(zip(names, args)), **kwargs}
    tensor, axes = given[names[0]], given.get("dim")
    if axes is None or axes == [] or tensor.dim() == 0:
        return func(*args, **kwargs)
    of_list = not isinstance(axes, int)
    axes = sorted(axis % tensor.dim() for axis in (axes if of_list else (axes,)))
    first = tensor.dim() - len(axes)
    if axes != list(range(first, tensor.dim())):
        if 0 in axes:
            return func(*args, **kwargs)  # a sum over the rows, not a row
        operands = {n for n, argument in enumerate(args) if isinstance(argument, Tensor)}
        return by_samples(functools.partial(func, **kwargs), args, operands)
    if first == 0:
        return func(*args, **kwargs)
    given["dim"] = list(range(1, len(axes) + 1)) if of_list else 1
    leading = tensor.shape[:first]
    # Also of the gradient's operators (grad_output, output, dim, ...).
    operands = [name for name in names if isinstance(given.get(name), Tensor)]
    if any(given[name].shape != tensor.shape for name in operands):
        raise NotImplementedError(_unknown(func))

    def of_rows(*rows: Tensor) -> Any:
        changed = {**given, **dict(zip(operands, rows))}
        positional = [
            changed[argument.name]
            for argument in arguments
            if not argument.kwarg_only and argument.name in changed
        ]
        keywords = {
            argument.name: changed[argument.name]
            for argument in arguments
            if argument.kwarg_only and argument.name in changed
        }
        return func(*positional, **keywords)

    rows = [given[name].reshape(-1, *tensor.shape[first:]) for name in operands]
    results = by_row_blocks(of_rows, *rows)
    if isinstance(results, Tensor):
        return results.reshape(*leading, *results.shape[1:])
    return tuple(result.reshape(*leading, *result.shape[1:]) for result in results)


def _samples(*batched: int, summed: tuple[int, ...] = ()) -> Handler:
    def handler(func: Any, args: tuple, kwargs: dict) -> Any:
        return by_samples(functools.partial(func, **kwargs), args, set(batched), summed)

    return handler


def _eval_batch_norm(training_argument: int, *batched: int, summed: tuple[int, ...] = ()):
    def handler(func: Any, args: tuple, kwargs: dict) -> Any:
        if args[training_argument]:
            raise NotImplementedError(
                f"make_batch_invariant: {func} mixes the rows of a batch in training; "
                "call model.eval()")
        return by_samples(functools.partial(func, **kwargs), args, set(batched), summed)

    return handler


def _group_norm(func: Any, args: tuple, kwargs: dict) -> Any:
    tensor, weight, bias, _, *rest = args
    return by_samples(lambda one: func(one, weight, bias, 1, *rest), (tensor,), {0})


def _group_norm_backward(func: Any, args: tuple, kwargs: dict) -> Any:
    d_output, tensor, mean, rstd, weight, _, *rest = args
    return by_samples(lambda *one: func(*one, weight, 1, *rest),
                      (d_output, tensor, mean, rstd), {0, 1, 2, 3}, summed=(1, 2))


def _attention(batched: int) -> Handler:
    """query, key and value lead; a mask may have the batch, too."""

    def handler(func: Any, args: tuple, kwargs: dict) -> Any:
        mask = kwargs.pop("attn_mask", None)
        of_batch = mask is not None and mask.dim() == 4 and mask.shape[0] != 1
        count = len(args)

        def call(*one: Any) -> Any:
            return func(*one[:count], attn_mask=one[count], **kwargs)

        numbers = set(range(batched)) | ({count} if of_batch else set())
        return by_samples(call, (*args, mask), numbers)

    return handler


REDUCTIONS = (
    "_log_softmax _log_softmax_backward_data _softmax _softmax_backward_data cumprod cumsum "
    "linalg_vector_norm logcumsumexp logsumexp mean norm nansum prod std sum var var_mean std_mean"
).split()

HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(REDUCTIONS, _reduction),
    "mm": _mm,
    "addmm": _addmm,
    "mv": _mv,
    "bmm": _bmm,
    "baddbmm": _baddbmm,
    "_grouped_mm": _grouped_mm,
    "convolution": _samples(0),
    "convolution_backward": _samples(0, 1, summed=(1, 2)),
    "avg_pool2d": _samples(0),
    "_adaptive_avg_pool2d": _samples(0),
    "native_group_norm": _group_norm,
    "native_group_norm_backward": _group_norm_backward,
    "_native_batch_norm_legit_no_training": _samples(0),
    "native_batch_norm": _eval_batch_norm(5, 0),
    "native_batch_norm_backward": _eval_batch_norm(7, 0, 1, summed=(1, 2)),
    "_scaled_dot_product_flash_attention_for_cpu": _attention(3),
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention(6),
}


def _elementwise(func: Any, args: tuple, kwargs: dict) -> Any:
    return by_elements(func, args, kwargs)


def _elementwise_in_place(func: Any, args: tuple, kwargs: dict) -> Any:
    name = func._schema.name.split("::")[1]
    plain = getattr(getattr(aten, name[:-1], None), func._overloadname, None)
    if plain is None:
        raise NotImplementedError(_unknown(func))
    return args[0].copy_(by_elements(plain, args, kwargs))


def _with_factor(func: Any, args: tuple, kwargs: dict) -> Any:
    """add and sub: with a factor there are two roundings, or one where they are
    fused."""
    if kwargs.get("alpha", 1) == 1:
        return func(*args, **kwargs)
    writes = func._schema.name.endswith("_")
    return (_elementwise_in_place if writes else _elementwise)(func, args, kwargs)


def _unknown(func: Any) -> str:
    return (f"make_batch_invariant: {func} is not known to keep the rows of a batch apart; "
            "the model cannot be batch-invariant with it")


def _returns_views(func: Any) -> bool:
    returns = func._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write
                                 for r in returns)


@functools.cache
def handler_of(func: Any) -> Handler:
    """Errors: NotImplementedError for an operator that is in no table."""
    namespace, name = func._schema.name.split("::")
    writes = name.endswith("_") and not name.endswith("__")
    plain = name[:-1] if writes else name
    if namespace == "headwise" or _returns_views(func):
        return _as_it_is
    if namespace in ("aten", "prims"):
        if plain in ("add", "sub", "rsub"):
            return _with_factor
        if plain in EXACT_ELEMENTWISE or plain in MOVES or plain in INDEPENDENT_ROWS:
            return _as_it_is
        if func._schema.is_mutable and not writes:
            raise NotImplementedError(_unknown(func))  # writes to out=
        if name in HANDLERS:
            return HANDLERS[name]
        if torch.Tag.pointwise in func.tags or plain in UNMARKED_ELEMENTWISE:
            return _elementwise_in_place if writes else _elementwise
    raise NotImplementedError(_unknown(func))


def call_invariant(func: Any, args: tuple, kwargs: dict) -> Any:
    """func() such that a row's bits do not depend on the other rows."""
    floats = any(
        isinstance(leaf, Tensor) and (leaf.is_floating_point() or leaf.is_complex())
        for leaf in tree_leaves((args, kwargs)))
    if not floats:
        return func(*args, **kwargs)
    return handler_of(func)(func, args, kwargs)
