"""torch.ops.headwise.attention: the tools of torch that take operators."""

import copy

import pytest

torch = pytest.importorskip("torch")

import headwise.torch  # noqa: E402
from headwise.torch import (  # noqa: E402
    Operands,
    Positions,
    attention,
    scaled_dot_product_attention,
)

OPERATOR = torch.ops.headwise.attention.default


def tensors(*shapes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]


def small():
    return tensors((2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6))


ARGUMENTS = {
    "plain": ((), (), None, 0.0, False, 0.0, "none"),
    "causal, mean weights": ((), (), 0.3, 0.0, True, 0.0, "mean"),
    "window, softcap": ((), (2, 3, 0), None, 5.0, False, 0.0, "per_head"),
    "all operands": (
        (
            torch.zeros(1, 4, 5, 7).requires_grad_(),
            torch.zeros(4).requires_grad_(),
            torch.ones(2, 1, 5, 7, dtype=torch.bool),
            torch.ones(2, 7, dtype=torch.bool),
            torch.tensor([0, 1]),
            torch.tensor([7, 6]),
            torch.tensor([5]),
        ),
        (1, -1, 2),
        None,
        0.0,
        False,
        0.25,
        "after_dropout",
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_opcheck(name):
    torch.library.opcheck(OPERATOR, (*small(), *ARGUMENTS[name]))


@pytest.mark.filterwarnings("ignore:Input .* requires gradient")
@pytest.mark.parametrize("mode", ["none", "mean", "per_head"])
def test_gradients_equal_differences(mode):
    query, key, value, bias, sinks = tensors(
        (1, 4, 3, 4), (1, 2, 5, 4), (1, 2, 5, 3), (1, 1, 3, 5), (4,)
    )

    def call(query, key, value, bias, sinks):
        output, weights = attention(
            query,
            key,
            value,
            operands=Operands(bias=bias, sinks=sinks),
            softcap=3.0,
            attn_weights=mode,
        )
        return output if weights is None else (output, weights)

    # float32: the differences are good to 1e-3 at best.
    assert torch.autograd.gradcheck(
        call, (query, key, value, bias, sinks), eps=1e-2, atol=2e-3, rtol=1e-2, nondet_tol=0.0
    )


def test_only_wanted_gradients_are_computed():
    query, key, value = small()
    key, value = key.detach(), value.detach()
    output, _ = attention(query, key, value)
    output.sum().backward()
    assert query.grad is not None and key.grad is None and value.grad is None


def test_inputs_may_not_change_before_the_backward_pass():
    inputs = small()
    mask = torch.ones(1, 1, 5, 7, dtype=torch.bool)
    output, _ = attention(*inputs, operands=Operands(mask=mask))
    mask.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        output.sum().backward()


def test_options_of_models():
    """Window, position of the first query, starts and lengths of keys."""
    query, key, value = small()
    i, j = torch.arange(5)[:, None] + 2, torch.arange(7)
    starts, lengths = torch.tensor([0, 2]), torch.tensor([7, 6])
    allowed = (j <= i) & (j >= i - 3)
    allowed = allowed & (j >= starts[:, None, None, None]) & (j < lengths[:, None, None, None])
    output, weights = attention(
        query,
        key,
        value,
        operands=Operands(key_starts=starts, key_lengths=lengths),
        positions=Positions(query_start=2, window_left=3),
        causal=True,
        attn_weights="per_head",
    )
    by_mask = scaled_dot_product_attention(query, key, value, allowed, enable_gqa=True)
    torch.testing.assert_close(output, by_mask, atol=1e-6, rtol=1e-6)
    assert torch.equal(weights > 0, allowed.expand(2, 4, 5, 7))


class Model(torch.nn.Module):
    def forward(self, query, key, value):
        return scaled_dot_product_attention(query, key, value, is_causal=True) * 2


class MaskedModel(torch.nn.Module):
    def forward(self, query, key, value, mask):
        return scaled_dot_product_attention(query, key, value, mask)


def equal_heads(length=7):
    return tensors((2, 4, length, 8), (2, 4, length, 8), (2, 4, length, 8))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compile_without_a_break(backend):
    torch._dynamo.reset()
    compiled = torch.compile(Model(), fullgraph=True, backend=backend)
    for length in (7, 9):
        inputs = equal_heads(length)
        expected = Model()(*inputs)
        output = compiled(*inputs)
        torch.testing.assert_close(output, expected, atol=0, rtol=0)
        for ours, theirs in zip(
            torch.autograd.grad(output.sum(), inputs), torch.autograd.grad(expected.sum(), inputs)
        ):
            torch.testing.assert_close(ours, theirs, atol=0, rtol=0)


def test_compile_with_a_mask_and_dropout():
    torch._dynamo.reset()
    inputs = equal_heads()
    mask = torch.randn(4, 7, 7).requires_grad_()
    compiled = torch.compile(MaskedModel(), fullgraph=True, backend="aot_eager")
    output = compiled(*inputs, mask)
    assert torch.equal(output, MaskedModel()(*inputs, mask))
    output.sum().backward()
    assert mask.grad is not None

    def dropped(query, key, value):
        return scaled_dot_product_attention(query, key, value, dropout_p=0.5)

    compiled = torch.compile(dropped, fullgraph=True, backend="aot_eager")
    assert not torch.equal(compiled(*inputs), compiled(*inputs))


def test_export_with_any_length():
    length = torch.export.Dim("length", min=2, max=100)
    dims = ({2: length},) * 3
    program = torch.export.export(Model(), tuple(equal_heads()), dynamic_shapes=dims)
    inputs = equal_heads(13)
    assert torch.equal(program.module()(*inputs), Model()(*inputs))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype):
    query, key, value = equal_heads()
    with torch.autocast("cpu", dtype):
        output = Model()(query, key.to(dtype), value)
        theirs = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    assert output.dtype == theirs.dtype == dtype
    cast = [tensor.detach().to(dtype) for tensor in (query, key, value)]
    assert torch.equal(output, Model()(*cast))
    output.sum().backward()
    assert query.grad.dtype == torch.float32


def test_autocast_in_a_compiled_model():
    torch._dynamo.reset()
    inputs = equal_heads()
    with torch.autocast("cpu", torch.bfloat16):
        compiled = torch.compile(Model(), fullgraph=True, backend="aot_eager")(*inputs)
        assert compiled.dtype == torch.bfloat16 and torch.equal(compiled, Model()(*inputs))


def test_meta_tensors_give_the_shape():
    inputs = [tensor.detach().to("meta") for tensor in equal_heads()]
    output = Model()(*inputs)
    assert output.device.type == "meta" and output.shape == (2, 4, 7, 8)


def test_checkpointing_repeats_the_dropout():
    query, key, value = equal_heads()

    def dropped(query, key, value):
        return scaled_dot_product_attention(query, key, value, dropout_p=0.5)

    torch.manual_seed(1)
    plain = torch.autograd.grad(dropped(query, key, value).square().sum(), query)[0]
    torch.manual_seed(1)
    output = torch.utils.checkpoint.checkpoint(dropped, query, key, value, use_reentrant=False)
    assert torch.equal(plain, torch.autograd.grad(output.square().sum(), query)[0])


def test_the_package_finds_its_torch_part():
    assert headwise.torch.attention is attention
    assert copy.copy(Operands()) == Operands()
