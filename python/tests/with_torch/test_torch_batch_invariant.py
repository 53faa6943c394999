"""headwise.torch.make_batch_invariant: bits of a row, alone and among others."""

import copy

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from headwise.torch import (  # noqa: E402
    MultiheadAttention,
    Operands,
    attention,
    make_batch_invariant,
    scaled_dot_product_attention,
)

MOST = 70
SOME = {1: (1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 65, 69), 2: (1, 2, 5, 17, 33)}


class Call(nn.Module):
    def __init__(self, function, *modules):
        super().__init__()
        self.parts = nn.ModuleList(modules)
        self.function = function

    def forward(self, x):
        return self.function(x, *self.parts)


def rms_norm(x):
    return x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()


def rotate(x):
    angles = torch.outer(torch.arange(x.shape[1]).to(x.dtype), 1.7 ** -torch.arange(8).to(x.dtype))
    first, second = x[..., :8], x[..., 8:16]
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin, x[..., 16:]], -1)


def heads_of(x):
    return x.unflatten(-1, (4, 6)).transpose(1, 2)


def eager_attention(x):
    q = heads_of(x)
    weights = torch.softmax(q @ q.transpose(-1, -2) / 6**0.5, -1)
    return weights @ q


def encoder_layer(attention_module):
    layer = nn.TransformerEncoderLayer(24, 4, 50, dropout=0.0, batch_first=True)
    layer.self_attn = attention_module(24, 4, batch_first=True)
    return layer


# A function of a batch (B, 24) or (B, 5, 24) or (B, 24, 6, 6), and its modules.
VECTORS, SEQUENCES, IMAGES = (24,), (5, 24), (24, 6, 6)
MODELS = {
    "linear": (VECTORS, lambda x, m: m(x), lambda: [nn.Linear(24, 100)]),
    "linear without bias": (VECTORS, lambda x, m: m(x), lambda: [nn.Linear(24, 37, bias=False)]),
    "one output": (VECTORS, lambda x, m: m(x), lambda: [nn.Linear(24, 1)]),
    "linear of sequences": (SEQUENCES, lambda x, m: m(x), lambda: [nn.Linear(24, 72)]),
    "two layers": (
        VECTORS,
        lambda x, a, b: b(functional.gelu(a(x), approximate="tanh")),
        lambda: [nn.Linear(24, 300), nn.Linear(300, 10)],
    ),
    "layer norm": (SEQUENCES, lambda x, m: m(x), lambda: [nn.LayerNorm(24)]),
    "rms norm": (SEQUENCES, lambda x, m: m(x), lambda: [nn.RMSNorm(24)]),
    "rms norm in steps": (SEQUENCES, rms_norm, list),
    "group norm": (IMAGES, lambda x, m: m(x), lambda: [nn.GroupNorm(4, 24)]),
    "batch norm": (IMAGES, lambda x, m: m(x), lambda: [nn.BatchNorm2d(24).eval()]),
    "convolution": (IMAGES, lambda x, m: m(x), lambda: [nn.Conv2d(24, 8, 3, padding=1)]),
    "convolution of sequences": (
        SEQUENCES,
        lambda x, m: m(x.transpose(1, 2)),
        lambda: [nn.Conv1d(24, 8, 3)],
    ),
    "softmax": (SEQUENCES, lambda x: x.softmax(-1), list),
    "softmax of another axis": (SEQUENCES, lambda x: x.softmax(1), list),
    "log softmax": (SEQUENCES, lambda x: x.log_softmax(-1), list),
    "mean of a sequence": (SEQUENCES, lambda x: x.mean(1), list),
    "variance": (SEQUENCES, lambda x: x.var(-1), list),
    "norm": (SEQUENCES, lambda x: functional.normalize(x, dim=-1), list),
    "cumulative sum": (SEQUENCES, lambda x: x.cumsum(1) + x.cumsum(-1), list),
    "scaled sum": (SEQUENCES, lambda x: torch.add(x, x * x, alpha=0.3), list),
    "rotation": (SEQUENCES, rotate, list),
    "eager attention": (SEQUENCES, eager_attention, list),
    "torch's attention": (
        SEQUENCES,
        lambda x: functional.scaled_dot_product_attention(*[heads_of(x)] * 3, is_causal=True),
        list,
    ),
    "headwise's attention": (
        SEQUENCES,
        lambda x: scaled_dot_product_attention(*[heads_of(x)] * 3, is_causal=True),
        list,
    ),
    "encoder layer of torch": (
        SEQUENCES,
        lambda x, m: m(x),
        lambda: [encoder_layer(nn.MultiheadAttention)],
    ),
    "encoder layer of headwise": (
        SEQUENCES,
        lambda x, m: m(x),
        lambda: [encoder_layer(MultiheadAttention)],
    ),
}
for _name in "gelu silu tanh sigmoid softplus mish elu hardswish relu leaky_relu".split():
    MODELS[_name] = (VECTORS, getattr(functional, _name), list)
for _name in "sin cos exp erf log1p rsqrt sqrt".split():
    MODELS[_name] = (VECTORS, lambda x, _call=getattr(torch, _name): _call(x.abs() + 0.1), list)
MODELS["gelu by tanh"] = (VECTORS, lambda x: functional.gelu(x, approximate="tanh"), list)
MODELS["silu in place"] = (VECTORS, lambda x: functional.silu(x * 1, inplace=True), list)


def model_of(name, dtype):
    shape, function, modules = MODELS[name]
    torch.manual_seed(0)
    model = make_batch_invariant(Call(function, *modules()).to(dtype))
    return model, torch.randn(MOST, *shape).to(dtype)


def output_and_gradient(model, x):
    x = x.detach().requires_grad_()
    output = model(x)
    # Factors by place in the row, not by place in the batch.
    factors = torch.linspace(-1, 1, output[0].numel()).reshape(output[0].shape).to(output.dtype)
    (gradient,) = torch.autograd.grad((output * factors).sum(), x)
    return output.detach(), gradient


def batches(sizes):
    for size in sizes:
        start = size * 7 % (MOST - size + 1)
        yield slice(start, start + size)


@pytest.fixture(params=[1, 2], ids=["1 thread", "2 threads"])
def threads(request):
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", MODELS)
def test_a_row_does_not_depend_on_its_batch(name, dtype, threads):
    model, x = model_of(name, dtype)
    output, gradient = output_and_gradient(model, x)
    for rows in batches(SOME[threads]):
        alone, alone_gradient = output_and_gradient(model, x[rows])
        assert torch.equal(alone, output[rows]), rows
        assert torch.equal(alone_gradient, gradient[rows]), rows
    with torch.inference_mode():
        assert torch.equal(model(x[3:4]), output[3:4])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["two layers", "encoder layer of headwise"])
def test_every_batch_size(name, dtype):
    model, x = model_of(name, dtype)
    output, gradient = output_and_gradient(model, x)
    for rows in batches(range(1, MOST + 1)):
        alone, alone_gradient = output_and_gradient(model, x[rows])
        assert torch.equal(alone, output[rows]) and torch.equal(alone_gradient, gradient[rows])


def test_results_are_those_of_the_plain_model():
    for name, (shape, function, modules) in MODELS.items():
        torch.manual_seed(0)
        plain = Call(function, *modules())
        invariant = make_batch_invariant(copy.deepcopy(plain))
        x = torch.randn(9, *shape)
        for ours, theirs in zip(output_and_gradient(invariant, x), output_and_gradient(plain, x)):
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4, msg=name)
        if not list(plain.parameters()):
            continue
        for ours, theirs in zip(
            torch.autograd.grad(invariant(x).sum(), list(invariant.parameters())),
            torch.autograd.grad(plain(x).sum(), list(plain.parameters())),
        ):
            torch.testing.assert_close(ours, theirs, atol=2e-4, rtol=1e-3, msg=name)


@pytest.mark.parametrize("size", [32767, 32768, 32769, 100003])
def test_long_rows_of_elements(size):
    model = make_batch_invariant(Call(lambda x: functional.silu(x).exp()))
    x = torch.randn(2, size)
    assert torch.equal(model(x)[1], model(x[1:])[0])


class Decoder(nn.Module):
    """Two layers on token vectors, with padding in front of short sequences."""

    def __init__(self):
        super().__init__()
        self.projections = nn.ModuleList(nn.Linear(24, 72) for _ in range(2))
        self.outputs = nn.ModuleList(nn.Linear(24, 24) for _ in range(2))

    def forward(self, x, starts):
        for projection, output in zip(self.projections, self.outputs):
            q, k, v = (heads_of(part) for part in projection(rms_norm(x)).chunk(3, -1))
            context, _ = attention(q, k, v, causal=True, operands=Operands(key_starts=starts))
            x = x + functional.silu(output(context.transpose(1, 2).flatten(2)))
        return x


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_padding_changes_no_bit(dtype, threads):
    torch.manual_seed(0)
    model = make_batch_invariant(Decoder().to(dtype))
    lengths = [1, 5, 17, 24, 40, 3]
    sequences = [torch.randn(1, length, 24).to(dtype) for length in lengths]
    alone = [output_and_gradient(lambda x: model(x, torch.zeros(1).long()), s) for s in sequences]
    starts = torch.tensor([40 - length for length in lengths])
    padded = torch.cat(
        [functional.pad(s, (0, 0, 40 - s.shape[1], 0), value=0.5) for s in sequences]
    )
    padded.requires_grad_()
    output = model(padded, starts)
    for row, start, (expected, _) in zip(output, starts, alone):
        assert torch.equal(row[start:], expected[0])
    visible = torch.arange(40) >= starts[:, None]
    factors = torch.zeros_like(output)
    for b, length in enumerate(lengths):
        factors[b, 40 - length :] = (
            torch.linspace(-1, 1, length * 24).reshape(length, 24).to(dtype)
        )
    (gradient,) = torch.autograd.grad((output * factors).sum(), padded)
    assert (gradient[~visible] == 0).all()
    for row, start, (_, expected) in zip(gradient, starts, alone):
        assert torch.equal(row[start:], expected[0])


UNKNOWN = {
    "batch norm in training": ("batch_norm", lambda: nn.BatchNorm2d(24), IMAGES),
    "recurrent network": ("aten", lambda: nn.LSTM(24, 8, batch_first=True), SEQUENCES),
    "determinant": ("aten._linalg_det", lambda: Call(torch.linalg.det), (4, 4)),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_operator_is_an_error_that_names_it(name):
    word, module, shape = UNKNOWN[name]
    model = make_batch_invariant(module())
    with pytest.raises(NotImplementedError, match=f"make_batch_invariant: .*{word}"):
        model(torch.randn(3, *shape))
    # The mode ended with the call.
    assert torch.linalg.det(torch.eye(3)) == 1


def test_other_code_is_left_alone():
    model = make_batch_invariant(nn.Linear(24, 8))
    enabled = torch.backends.mha.get_fastpath_enabled()
    x = torch.randn(3, 24, requires_grad=True)
    model(x).sum().backward()
    assert torch.backends.mha.get_fastpath_enabled() == enabled
    assert torch.linalg.det(torch.eye(3, requires_grad=True)).item() == 1


def test_models_in_models_and_shared_steps():
    inner = make_batch_invariant(nn.Linear(24, 24))
    model = make_batch_invariant(nn.Sequential(inner, nn.SiLU(), inner))
    x = torch.randn(MOST, 24)
    output, gradient = output_and_gradient(model, x)
    alone, alone_gradient = output_and_gradient(model, x[2:3])
    assert torch.equal(alone, output[2:3]) and torch.equal(alone_gradient, gradient[2:3])


def test_only_steps_of_the_model_are_hooked():
    """What came before the model may use any operator."""
    model = make_batch_invariant(nn.Linear(4, 4))
    x = torch.randn(4, 4, requires_grad=True)
    model(x * torch.linalg.det(x + 5 * torch.eye(4))).sum().backward()
    assert x.grad.isfinite().all()
