"""Calls that go to the kernels past the dispatcher: the same bits, and only where
nothing is there that has to see the operator.
"""
import itertools

import pytest

torch = pytest.importorskip("torch")

from headwise.torch import (Operands, Positions, attention,  # noqa: E402
                            attention_operator, core_calls, operator_kernels,
                            plain_call, scaled_dot_product_attention)
from torch.autograd import forward_ad  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

OPERATOR = torch.ops.headwise.attention.default


def tensors(query=(2, 4, 5, 8), key=(2, 2, 7, 8), value=(2, 2, 7, 6), dtype=torch.float32):
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(shape, generator=generator).to(dtype)
            for shape in (query, key, value)]


def past_the_operator(monkeypatch, call):
    """The results of `call`, which may not reach the operator."""
    with monkeypatch.context() as patch:
        for name in ("forward_op", "backward_op"):
            patch.setattr(operator_kernels, name, None)
        return call()


def by_the_operator(monkeypatch, call):
    with monkeypatch.context() as patch:
        for module in (attention_operator, operator_kernels):
            patch.setattr(module, "is_plain", lambda *_: False)
        return call()


def check_same(monkeypatch, call):
    """`call` returns tensors, or None for some."""
    for one, other in itertools.zip_longest(past_the_operator(monkeypatch, call),
                                            by_the_operator(monkeypatch, call)):
        if one is None or other is None:
            assert one is other
            continue
        assert one.dtype == other.dtype and one.stride() == other.stride()
        assert torch.equal(one, other)


def random_mask(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(6)) < 0.6


OPTIONS = {
    "plain": {},
    "causal": {"is_causal": True},
    "a scale": {"scale": 0.3},
    "a matrix of bool": {"attn_mask": random_mask(5, 7)},
    "bool per sequence": {"attn_mask": random_mask(2, 1, 1, 7)},
    "bool with a gap": {"attn_mask": random_mask(2, 4, 5, 14)[..., ::2]},
    "an expanded mask": {"attn_mask": random_mask(5, 1).expand(5, 7)},
    "a matrix of floats": {"attn_mask": random_mask(5, 7).float() * 3},
    "floats per head": {"attn_mask": random_mask(4, 5, 7).float() * 3},
    "dropout": {"dropout_p": 0.4},
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", OPTIONS)
def test_the_same_bits_with_every_option(monkeypatch, name, dtype):
    query, key, value = tensors(dtype=dtype)

    def call():
        torch.manual_seed(3)
        return [scaled_dot_product_attention(query, key, value, enable_gqa=True,
                                             **OPTIONS[name])]

    check_same(monkeypatch, call)


@pytest.mark.parametrize("shapes", [
    ((0, 4, 5, 8), (0, 2, 7, 8), (0, 2, 7, 6)),
    ((2, 4, 0, 8), (2, 2, 7, 8), (2, 2, 7, 6)),
    ((2, 4, 5, 8), (2, 2, 0, 8), (2, 2, 0, 6)),
    ((2, 4, 1, 8), (2, 4, 1, 8), (2, 4, 1, 1)),
])
def test_the_same_bits_of_small_and_empty_tensors(monkeypatch, shapes):
    inputs = tensors(*shapes)
    check_same(monkeypatch,
               lambda: [scaled_dot_product_attention(*inputs, enable_gqa=True)])
    check_same(monkeypatch, lambda: attention(*inputs, attn_weights="per_head"))
    query, _, value = inputs
    promised = core_calls.new_output(query, value.shape[-1])
    output, _ = attention(*inputs)
    assert output.shape == promised.shape and output.stride() == promised.stride()


@pytest.mark.parametrize("view", [
    lambda t: t.transpose(1, 2).contiguous().transpose(1, 2),
    lambda t: t.transpose(2, 3).contiguous().transpose(2, 3),
    lambda t: torch.stack([t, t], -1)[..., 1],
    lambda t: torch.cat([t, t], 2)[:, :, ::2],
    lambda t: t[:1].expand(t.shape),
    lambda t: t[:, :, :1].expand(t.shape),
    lambda t: torch.nn.Parameter(t, requires_grad=False),
], ids=["heads inside", "features outside", "every other feature", "every other row",
        "one sequence", "one row", "a parameter"])
def test_the_same_bits_of_any_strides(monkeypatch, view):
    inputs = tensors()
    seen = [view(tensor) for tensor in inputs]
    check_same(monkeypatch,
               lambda: [scaled_dot_product_attention(*seen, enable_gqa=True)])
    assert torch.equal(
        scaled_dot_product_attention(*seen, enable_gqa=True),
        scaled_dot_product_attention(*(one.clone(memory_format=torch.contiguous_format)
                                       for one in seen), enable_gqa=True))


@pytest.mark.parametrize("weights", ["none", "per_head", "mean", "after_dropout"])
def test_the_same_bits_of_every_operand_and_gradient(monkeypatch, weights):
    inputs = [one.requires_grad_() for one in tensors()]
    bias, sinks = torch.randn(1, 4, 5, 7).requires_grad_(), torch.zeros(4).requires_grad_()
    operands = Operands(bias=bias, sinks=sinks, mask=random_mask(2, 1, 5, 7),
                        key_mask=random_mask(2, 7), key_starts=torch.tensor([0, 1]),
                        key_lengths=torch.tensor([7, 5]), seed=torch.tensor([4]))
    differentiated = (*inputs, bias, sinks)

    def call():
        output, returned = attention(
            *inputs, operands=operands, positions=Positions(2, 3, 1), softcap=4.0,
            dropout_p=0.25 if weights == "after_dropout" else 0.0, attn_weights=weights)
        total = output.sum() if returned is None else output.sum() + returned.square().sum()
        return (output, returned, *torch.autograd.grad(total, differentiated))

    check_same(monkeypatch, call)
    with torch.no_grad():
        check_same(monkeypatch, lambda: attention(*inputs, operands=operands,
                                                  attn_weights=weights))


class Subclass(torch.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.seen.append(function)
        return super().__torch_function__(function, types, args, kwargs or {})


class DispatchMode(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen.append(function)
        return function(*args, **(kwargs or {}))


class FunctionMode(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.append(function)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [DispatchMode, FunctionMode])
@pytest.mark.parametrize("recorded", [False, True])
def test_modes_see_the_operator(mode, recorded):
    inputs = [one.requires_grad_(recorded) for one in tensors()]
    with mode() as watching:
        attention(*inputs)
    assert OPERATOR in watching.seen


@pytest.mark.parametrize("place", range(4))
def test_subclasses_see_the_operator(place):
    inputs = [*tensors(), torch.zeros(5, 7)]
    inputs[place] = inputs[place].as_subclass(Subclass)
    Subclass.seen.clear()
    query, key, value, bias = inputs
    attention(query, key, value, operands=Operands(bias=bias))
    assert OPERATOR in Subclass.seen


def test_a_profiler_sees_the_operator():
    with torch.profiler.profile() as profile:
        attention(*tensors())
    assert "headwise::attention" in [event.key for event in profile.key_averages()]


def test_forward_mode_without_a_tangent():
    inputs = tensors()
    expected, _ = attention(*inputs)
    with forward_ad.dual_level():
        assert torch.equal(attention(*inputs)[0], expected)


@pytest.mark.parametrize("name", ["_function_modes", "_dispatch_modes", "_transforms",
                                  "_trace", "_profiler"])
def test_without_a_check_the_operator_is_called(monkeypatch, name):
    monkeypatch.setattr(plain_call, name, plain_call._function(torch, "not there"))
    monkeypatch.setattr(operator_kernels, "forward_op", None)
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        attention(*tensors())


def test_results_are_on_the_cpu_whatever_the_default_device():
    inputs = tensors()
    expected = attention(*inputs, attn_weights="mean")
    torch.set_default_device("meta")
    try:
        for ours, theirs in zip(attention(*inputs, attn_weights="mean"), expected):
            assert torch.equal(ours, theirs)
    finally:
        torch.set_default_device(None)
