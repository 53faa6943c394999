"""scaled_dot_product_attention of jagged nested tensors against torch's, per sequence."""

import pytest

torch = pytest.importorskip("torch")

from headwise.torch import scaled_dot_product_attention

torch_attention = torch.nn.functional.scaled_dot_product_attention
LENGTHS = ((3, 1, 5), (4, 2, 6))  # of queries, of keys


def jagged(lengths, width, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.nested.nested_tensor(
        [torch.randn(length, width, generator=generator).to(dtype) for length in lengths],
        layout=torch.jagged, requires_grad=True)


def heads(x, number=4):
    """(B, j, H * D) to (B, H, j, D), dense or nested."""
    return x.unflatten(-1, (number, -1)).transpose(1, 2)


def inputs(dtype=torch.float32, key_heads=4):
    queries, keys = LENGTHS
    key = jagged(keys, 2 * key_heads, 1, dtype)
    value = torch.nested.nested_tensor_from_jagged(
        key.detach().values()[:, :key_heads].clone(), key.offsets()).requires_grad_()
    return jagged(queries, 8, 0, dtype), key, value


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("causal, key_heads", [(False, 4), (True, 4), (True, 2)])
def test_equals_torch_of_each_sequence(causal, key_heads, dtype):
    options = {"is_causal": causal, "enable_gqa": key_heads != 4}
    x = inputs(dtype, key_heads)
    numbers = (4, key_heads, key_heads)
    output = scaled_dot_product_attention(*map(heads, x, numbers), **options)
    assert output.layout == torch.jagged and output.dtype == dtype
    assert output.shape[:3] == heads(x[0]).shape[:3]  # the same j
    merged = output.transpose(1, 2).flatten(2)
    gradients = torch.autograd.grad(merged.values().square().sum(), x)

    alone = [[each.unbind()[n].detach().double().requires_grad_() for each in x]
             for n in range(3)]
    tolerance = 5e-2 if dtype == torch.bfloat16 else 1e-5
    for n, one in enumerate(alone):
        expected = torch_attention(
            *map(heads, (each[None] for each in one), numbers),
            **options).transpose(1, 2).flatten(2)[0]
        of_one = torch.autograd.grad(expected.square().sum(), one)
        for given, exact in zip((merged, *gradients), (expected, *of_one)):
            torch.testing.assert_close(given.unbind()[n].double(), exact, atol=tolerance,
                                       rtol=tolerance)


def test_equals_torchs_jagged_attention():
    x = [heads(each) for each in inputs()]
    for ours, theirs in zip(scaled_dot_product_attention(*x, scale=0.3).unbind(),
                            torch_attention(*x, scale=0.3).unbind(), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_dropout():
    x = *_, value = inputs()
    torch.manual_seed(3)
    output = scaled_dot_product_attention(*map(heads, x), dropout_p=0.5)
    (d_value,) = torch.autograd.grad(output.values().sum(), value)
    # The output is linear in the value.
    torch.testing.assert_close((d_value.values() * value.values()).sum(),
                               output.values().sum())
    with pytest.raises(NotImplementedError, match="dropout_p=0 or a padded batch"):
        scaled_dot_product_attention(*(heads(each.double()) for each in x), dropout_p=0.5)


def test_a_compiled_function():
    torch._dynamo.reset()
    compiled = torch.compile(lambda *x: scaled_dot_product_attention(*map(heads, x)),
                             backend="aot_eager", fullgraph=True)
    x = [each.detach() for each in inputs()]
    assert torch.equal(compiled(*x).values(),
                       scaled_dot_product_attention(*map(heads, x)).values())


REFUSED = {
    "a dense key": (TypeError, "key is a dense tensor", lambda q, k, v: (
        q, torch.ones(3, 4, 2, 2), v)),
    "three axes": (ValueError, "query is a nested tensor of 3 axes", lambda q, k, v: (
        jagged((1, 2), 4), k, v)),
    "heads inside": (ValueError, "ragged in axis 1; expected", lambda q, k, v: (
        q.transpose(1, 2), k, v)),
    "another batch": (ValueError, "query, key and value have 2, 3 and 3 sequences",
                      lambda q, k, v: (heads(jagged((1, 2), 8)), k, v)),
    "other values": (ValueError, "sequences of different lengths",
                     lambda q, k, v: (q, k, heads(jagged((4, 3, 5), 4)))),
    "heads": (ValueError, "have 2, 4 and 4 heads", lambda q, k, v: (
        heads(jagged(LENGTHS[0], 4), 2), k, v)),
    "gaps": (ValueError, "gaps between its sequences", lambda q, k, v: (
        heads(torch.nested.narrow(torch.ones(3, 6, 8), 1, torch.tensor([0, 1, 0]),
                                  torch.tensor([3, 1, 5]), layout=torch.jagged)), k, v)),
    "types": (TypeError, "key is torch.float64", lambda q, k, v: (q, k.double(), v)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_named(name):
    error, words, changed = REFUSED[name]
    with pytest.raises(error, match=words):
        scaled_dot_product_attention(*changed(*map(heads, inputs())))


def test_masks_and_dense_queries_are_refused():
    query, key, value = map(heads, inputs())
    with pytest.raises(ValueError, match="attn_mask is given with nested tensors"):
        scaled_dot_product_attention(query, key, value, torch.ones(1, 1, dtype=torch.bool))
    with pytest.raises(TypeError, match="key is a nested .* layout=torch.jagged"):
        scaled_dot_product_attention(torch.ones(3, 4, 2, 2), key, value)
