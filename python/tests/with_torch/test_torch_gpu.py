"""Tensors on a GPU. Without one, tensors that say they are on it go as far as the
library, which was built without CUDA.
"""
import contextlib
import types

import headwise
import pytest

torch = pytest.importorskip("torch")

from headwise import _core  # noqa: E402
from headwise.torch import (Operands, attention, core_calls,  # noqa: E402
                            operator_kernels, scaled_dot_product_attention)
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

# The GPU would read memory that it does not have.
only_without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


class OnGpu(torch.Tensor):
    """A tensor of the CPU that says it is on a GPU."""
    __torch_function__ = torch._C._disabled_torch_function_impl
    is_cpu, is_cuda, device = False, True, torch.device("cuda:0")


def on_gpu(*shape, dtype=torch.bfloat16):
    return torch.zeros(shape, dtype=dtype).as_subclass(OnGpu)


def inputs(**options):
    return [on_gpu(1, 2, 3, 8, **options) for _ in range(3)]


@only_without_gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_library_was_built_without_cuda(dtype):
    with pytest.raises(NotImplementedError, match="built without it.*HEADWISE_CUDA=ON"):
        _core.torch_attention(*inputs(dtype=dtype), cuda_stream=0, mask=headwise.causal())
    query, key, value = inputs(dtype=dtype)
    with pytest.raises(NotImplementedError, match="built without it"):
        _core.torch_attention_backward(
            query, key, value, query, on_gpu(1, 2, 3, 2, dtype=torch.float32), query,
            gradients=[], cuda_stream=0)


@only_without_gpu
def test_masks_and_bias_may_be_on_the_gpu():
    for option in ({"mask": on_gpu(3, 3, dtype=torch.bool)},
                   {"bias": on_gpu(1, 1, 3, 3, dtype=torch.float32)}):
        with pytest.raises(NotImplementedError, match="built without it"):
            _core.torch_attention(*inputs(), cuda_stream=0, **option)


@only_without_gpu
@pytest.mark.parametrize(("options", "error", "message"), [
    ({"bias": torch.zeros(3, 3)}, TypeError, "bias is a tensor on the device cpu, .* cuda:0"),
    ({"mask": torch.ones(3, 3, dtype=torch.bool)}, TypeError,
     "mask is a tensor on the device cpu"),
    ({"statistics": {"rows": True}}, NotImplementedError, "statistics"),
    ({"sinks": on_gpu(2, dtype=torch.float32)}, NotImplementedError, "sinks"),
    ({"mask": on_gpu(3, 3, dtype=torch.int64)}, TypeError, "expected one on the CPU"),
], ids=["bias", "mask", "statistics", "sinks", "integers"])
def test_options_that_a_gpu_does_not_take(options, error, message):
    with pytest.raises(error, match=message):
        _core.torch_attention(*inputs(), cuda_stream=0, **options)


@only_without_gpu
@pytest.mark.parametrize("place", range(3))
def test_all_tensors_are_on_one_gpu(place):
    given = inputs()
    given[place] = torch.zeros(1, 2, 3, 8, dtype=torch.bfloat16)
    name = ("query", "key", "value")[place]
    with pytest.raises(TypeError, match=f"{name} is a tensor on the device cpu"):
        _core.torch_attention(*given, cuda_stream=0)


@only_without_gpu
def test_calls_for_the_cpu_refuse_the_gpu():
    query, key, value = inputs()
    with pytest.raises(TypeError, match="query is a tensor on the device cuda:0, .* the CPU"):
        headwise.attention(query, key, value)
    with pytest.raises(TypeError, match="query is a tensor on the device cuda:0, .* the CPU"):
        _core.torch_attention(query, key, value)
    plain = torch.zeros(1, 2, 3, 8)
    with pytest.raises(TypeError, match="bias is a tensor on the device cuda:0"):
        _core.torch_attention(plain, plain, plain,
                              bias=on_gpu(3, 3, dtype=torch.float32))


@only_without_gpu
def test_float32_is_for_the_cpu():
    with pytest.raises(TypeError, match="query is float32, expected bfloat16 or float16"):
        _core.torch_attention(*inputs(dtype=torch.float32), cuda_stream=0)


def test_the_operator_has_kernels_for_cuda():
    for name in ("attention", "attention_backward"):
        assert torch._C._dispatch_has_kernel_for_dispatch_key(f"headwise::{name}", "CUDA")
    assert torch._C._dispatch_has_kernel_for_dispatch_key("headwise::attention",
                                                          "AutocastCUDA")


@only_without_gpu
def test_kernels_run_on_the_gpu_and_stream_of_torch(monkeypatch):
    seen = []

    @contextlib.contextmanager
    def device(wanted):
        seen.append(wanted)
        yield
        seen.append("left")

    def torch_attention(*tensors, cuda_stream, **options):
        seen.append(cuda_stream)
        return types.SimpleNamespace(output=tensors[0], softmax_rows=tensors[0],
                                     attn_weights=tensors[0])

    monkeypatch.setattr(torch.cuda, "device", device)
    monkeypatch.setattr(torch.cuda, "current_stream",
                        lambda of: types.SimpleNamespace(cuda_stream=1234))
    monkeypatch.setattr(core_calls, "_core",
                        types.SimpleNamespace(torch_attention=torch_attention))
    options = (None, 0.0, False, 0.0, "none")
    operator_kernels._on_gpu(operator_kernels.forward_kernel)(*inputs(), (), (), *options)
    assert seen == [torch.device("cuda:0"), 1234, "left"]


@only_without_gpu
def test_shapes_on_a_gpu():
    with FakeTensorMode():
        query, key, value = (torch.empty(1, 2, 3, 8, device="cuda", dtype=torch.bfloat16)
                             for _ in range(3))
        output = scaled_dot_product_attention(query, key, value, is_causal=True)
    assert output.device.type == "cuda" and output.shape == (1, 2, 3, 8)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_gpu_computes_what_the_cpu_does(dtype):
    generator = torch.Generator().manual_seed(7)
    on_cpu = [torch.randn(2, 4, 65, 64, generator=generator).to(dtype).requires_grad_()
              for _ in range(3)]
    on_cuda = [one.detach().cuda().requires_grad_() for one in on_cpu]
    mask = torch.rand(65, 65, generator=generator) < 0.7
    lengths = torch.tensor([65, 50])

    def call(tensors, mask):
        operands = Operands(mask=mask)
        both = attention(*tensors, operands=operands)[0].float().square().sum()
        output, _ = attention(*tensors, operands=Operands(key_lengths=lengths), causal=True)
        return output, *torch.autograd.grad(both + output.float().sum(), tensors)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    try:
        with torch.cuda.stream(stream):
            results = call(on_cuda, mask.cuda())
    except NotImplementedError as why:
        pytest.skip(str(why))
    stream.synchronize()
    for ours, expected in zip(results, call(on_cpu, mask)):
        torch.testing.assert_close(ours.cpu().float(), expected.float(), atol=5e-2, rtol=5e-2)
