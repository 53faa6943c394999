"""headwise.torch.scaled_dot_product_attention against torch's function."""

import pytest

torch = pytest.importorskip("torch")

from headwise.torch import scaled_dot_product_attention  # noqa: E402

torch_attention = torch.nn.functional.scaled_dot_product_attention


def tensors(query=(2, 4, 5, 8), key=(2, 4, 7, 8), value=None, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    shapes = (query, key, value or key)
    return [
        torch.randn(shape, generator=generator).to(dtype).requires_grad_(dtype.is_floating_point)
        for shape in shapes
    ]


def mask_of(shape, kind, seed=1):
    generator = torch.Generator().manual_seed(seed)
    if kind == "bool":
        mask = torch.rand(shape, generator=generator) < 0.6
        mask[..., 0] = True
        return mask
    return torch.randn(shape, generator=generator)


def check_equal(inputs, tolerance=1e-5, **options):
    """Output and all gradients equal those of torch in float64."""
    differentiated = list(inputs)
    mask = options.get("attn_mask")
    if mask is not None and mask.requires_grad:
        differentiated.append(mask)
    double = [tensor.detach().double().requires_grad_() for tensor in differentiated]
    in_double = dict(options)
    if mask is not None and mask.dtype != torch.bool:
        in_double["attn_mask"] = double[3] if len(double) > 3 else mask.double()

    output = scaled_dot_product_attention(*inputs, **options)
    expected = torch_attention(*double[:3], **in_double)
    assert output.shape == expected.shape and output.dtype == inputs[0].dtype
    torch.testing.assert_close(output.double(), expected, atol=tolerance, rtol=tolerance)

    d_output = torch.randn(output.shape, generator=torch.Generator().manual_seed(2))
    gradients = torch.autograd.grad(output, differentiated, d_output.to(output.dtype))
    expected = torch.autograd.grad(expected, double, d_output.double())
    for gradient, exact, of in zip(gradients, expected, differentiated):
        assert gradient.dtype == of.dtype
        torch.testing.assert_close(gradient.double(), exact, atol=tolerance, rtol=tolerance)


SHAPES = {
    "batch and heads": {},
    "another value size": {"value": (2, 4, 7, 6)},
    "no batch": {"query": (4, 5, 8), "key": (4, 7, 8)},
    "a matrix": {"query": (5, 8), "key": (7, 8)},
    "two batch axes": {"query": (2, 3, 4, 5, 8), "key": (2, 3, 4, 7, 8)},
    "one head of keys": {"key": (2, 1, 7, 8)},
    "one head of keys, two batch axes": {"query": (2, 3, 4, 5, 8), "key": (2, 3, 1, 7, 8)},
    "keys shared by the batch": {"key": (1, 4, 7, 8)},
    "queries shared by the batch": {"query": (1, 1, 5, 8)},
    "keys without a batch": {"key": (4, 7, 8)},
    "values of one head": {"value": (2, 1, 7, 8)},
    "one query": {"query": (2, 4, 1, 8)},
}


@pytest.mark.parametrize("name", SHAPES)
def test_equals_torch_for_every_shape(name):
    check_equal(tensors(**SHAPES[name]))


@pytest.mark.parametrize("queries, keys", [(5, 7), (7, 5), (6, 6), (1, 4)])
def test_causality_counts_from_the_first_key(queries, keys):
    check_equal(tensors((2, 4, queries, 8), (2, 4, keys, 8)), is_causal=True)


@pytest.mark.parametrize("kind", ["bool", "float", "float with a gradient"])
@pytest.mark.parametrize(
    "shape",
    [(5, 7), (1, 7), (5, 1), (4, 5, 7), (2, 1, 1, 7), (2, 4, 5, 7), (1, 4, 1, 7), (2, 1, 5, 7)],
)
def test_masks_are_broadcast(shape, kind):
    mask = mask_of(shape, kind.split()[0])
    if kind.endswith("gradient"):
        mask.requires_grad_()
    check_equal(tensors(), attn_mask=mask)


@pytest.mark.parametrize(
    "shape", [(5, 7), (4, 5, 7), (3, 1, 5, 7), (2, 1, 1, 1, 7), (2, 3, 4, 5, 7)]
)
def test_masks_of_two_batch_axes(shape):
    inputs = tensors((2, 3, 4, 5, 8), (2, 3, 4, 7, 8))
    check_equal(inputs, attn_mask=mask_of(shape, "bool"))
    check_equal(inputs, attn_mask=mask_of(shape, "float").requires_grad_())


@pytest.mark.parametrize("key_heads", [1, 2, 4, 8])
def test_grouped_heads(key_heads):
    shape = (2, key_heads, 7, 8)
    check_equal(tensors((2, 8, 5, 8), shape), enable_gqa=True, is_causal=True)
    check_equal(tensors((8, 5, 8), shape[1:]), enable_gqa=True)


@pytest.mark.parametrize("scale", [0.0, 0.3, -1.0, 2])
def test_scale(scale):
    check_equal(tensors(), scale=scale)


@pytest.mark.parametrize("dtype, tolerance", [(torch.bfloat16, 2e-2), (torch.float16, 3e-3)])
def test_16_bit_elements(dtype, tolerance):
    inputs = tensors(dtype=dtype)
    check_equal(inputs, tolerance, is_causal=True)
    check_equal(inputs, tolerance, attn_mask=mask_of((5, 7), "float").to(dtype))
    check_equal(inputs, tolerance, attn_mask=mask_of((5, 7), "float"))


@pytest.mark.parametrize("hide", [lambda mask: mask, lambda mask: (~mask) * -torch.inf])
def test_a_row_without_a_key_gives_zero_and_passes_no_gradient(hide):
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[2] = False
    bias = hide(mask)
    if bias.dtype != torch.bool:
        bias = bias.nan_to_num(nan=0.0, neginf=-torch.inf)
    inputs = tensors()
    output = scaled_dot_product_attention(*inputs, attn_mask=bias)
    assert (output[:, :, 2] == 0).all()
    d_query, *_ = torch.autograd.grad(output.sum(), inputs)
    assert (d_query[:, :, 2] == 0).all() and d_query.isfinite().all()


def test_no_keys_give_zeros():
    query, key, value = tensors(key=(2, 4, 0, 8))
    assert (scaled_dot_product_attention(query, key, value) == 0).all()


@pytest.mark.parametrize("junk", [float("nan"), float("inf"), -float("inf")])
def test_junk_behind_a_mask_stays_there(junk):
    inputs = tensors()
    visible = torch.arange(7) < 4
    dirty = [tensor.detach().clone() for tensor in inputs]
    dirty[1][:, :, 4:] = junk
    dirty[2][:, :, 4:] = junk
    for tensor in dirty:
        tensor.requires_grad_()
    results = []
    for given in (inputs, dirty):
        output = scaled_dot_product_attention(*given, attn_mask=visible[None])
        results.append((output, *torch.autograd.grad(output.sum(), given)))
    for clean, of_dirty in zip(*results):
        assert torch.equal(clean, of_dirty)


def test_strides_do_not_matter():
    packed = torch.randn(2, 6, 3, 4, 8).requires_grad_()
    views = packed.permute(2, 0, 3, 1, 4).unbind()
    copies = [view.contiguous() for view in views]
    assert torch.equal(
        scaled_dot_product_attention(*views, is_causal=True),
        scaled_dot_product_attention(*copies, is_causal=True),
    )
    by_last = [copy.transpose(2, 3).contiguous().transpose(2, 3) for copy in copies]
    assert torch.equal(
        scaled_dot_product_attention(*by_last), scaled_dot_product_attention(*copies)
    )


def test_heads_merge_without_a_copy():
    output = scaled_dot_product_attention(*tensors())
    assert output.transpose(1, 2).is_contiguous()


def test_dropout_follows_torchs_seed_and_keeps_the_mean():
    inputs = tensors((1, 1, 2, 8), (1, 1, 4000, 8))
    ones = torch.ones(1, 1, 4000, 1)

    def dropped(seed):
        torch.manual_seed(seed)
        return scaled_dot_product_attention(*inputs[:2], ones, dropout_p=0.25, scale=0.0)

    assert torch.equal(dropped(1), dropped(1))
    assert not torch.equal(dropped(1), dropped(2))
    torch.testing.assert_close(dropped(1), torch.ones(1, 1, 2, 1), atol=0.05, rtol=0)


def test_dropout_of_the_backward_pass_is_that_of_the_forward_pass():
    query, key, value = tensors()
    torch.manual_seed(3)
    output = scaled_dot_product_attention(query, key, value, dropout_p=0.5)
    (d_value,) = torch.autograd.grad(output.sum(), value)
    # The output is linear in the value.
    torch.testing.assert_close((d_value * value).sum(), output.sum(), atol=1e-4, rtol=1e-4)


def test_dropout_of_everything():
    output = scaled_dot_product_attention(*tensors(), dropout_p=1.0)
    assert (output == 0).all()


REFUSED = {
    "sizes": (ValueError, "key", {"key": (2, 4, 7, 9)}, {}),
    "heads": (ValueError, "do not fit", {"key": (2, 3, 7, 8)}, {}),
    "groups": (ValueError, "head", {"key": (2, 3, 7, 8)}, {"enable_gqa": True}),
    "one axis": (ValueError, "expected", {"query": (8,)}, {}),
    "two axes with groups": (
        ValueError,
        "expected",
        {"query": (5, 8), "key": (7, 8)},
        {"enable_gqa": True},
    ),
    "two masks": (
        ValueError,
        "is_causal",
        {},
        {"attn_mask": torch.ones(5, 7, dtype=torch.bool), "is_causal": True},
    ),
    "integers": (TypeError, "query is torch.int32; expected .* or torch.float64",
                 {"dtype": torch.int32}, {}),
    "mask of integers": (TypeError, "may attend\\) or torch.float32$", {},
                         {"attn_mask": torch.ones(5, 7).int()}),
    "mask of a 16-bit call": (TypeError, "may attend\\) or torch.float32 or torch.bfloat16$",
                              {"dtype": torch.bfloat16},
                              {"attn_mask": torch.ones(5, 7).half()}),
    "mask of bytes": (TypeError, "attn_mask", {}, {"attn_mask": torch.ones(5, 7).byte()}),
    "mask of one axis": (ValueError, "attn_mask has shape", {}, {"attn_mask": torch.ones(7)}),
    "mask of the batch": (ValueError, "attn_mask has shape", {}, {"attn_mask": torch.ones(2, 7)}),
    "mask of five axes": (ValueError, "attn_mask", {}, {"attn_mask": torch.ones(1, 1, 1, 5, 7)}),
    "dropout": (ValueError, "dropout", {}, {"dropout_p": 1.5}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_named(name):
    error, words, shapes, options = REFUSED[name]
    with pytest.raises(error, match=words):
        scaled_dot_product_attention(*tensors(**shapes), **options)


def test_mixed_types_and_nested_tensors_are_refused():
    query, key, value = tensors()
    with pytest.raises(TypeError, match="key is torch.bfloat16"):
        scaled_dot_product_attention(query, key.bfloat16(), value)
    nested = torch.nested.nested_tensor([torch.ones(4, 3, 8), torch.ones(4, 2, 8)])
    with pytest.raises(TypeError, match="query is a nested"):
        scaled_dot_product_attention(nested, key, value)
    with pytest.raises(TypeError, match="query is a nested or sparse"):
        scaled_dot_product_attention(query.detach().to_sparse(), key, value)


def test_all_tensors_are_on_one_device():
    query, key, value = tensors()
    with pytest.raises(TypeError, match="key is on the device meta and query is on cpu"):
        scaled_dot_product_attention(query, key.to("meta"), value)


def test_the_lowest_finite_number_hides_like_minus_infinity():
    mask = torch.zeros(5, 7)
    mask[1, 3:] = mask[2] = torch.finfo(torch.float32).min
    inputs = tensors()
    output = scaled_dot_product_attention(*inputs, attn_mask=mask)
    expected = scaled_dot_product_attention(*inputs, attn_mask=mask == 0)
    assert torch.equal(output, expected) and (output[:, :, 2] == 0).all()
