"""arithmetic="bf16": which numbers are rounded, and to what bits."""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import headwise

B, LQ, LKV, H, D, DV = 2, 3, 131, 2, 5, 7

if not headwise.promises_same_bits():
    pytest.skip("needs fused multiply-add", allow_module_level=True)


@pytest.fixture
def tensors():
    random = np.random.default_rng(5)

    def normal(*shape):
        return random.standard_normal(shape, dtype=np.float32)

    return normal(B, LQ, H, D), normal(B, LKV, H, D), normal(B, LKV, H, DV)


def rounded(x):
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def chain(x, y):
    """The sum of x * y over the last axis, pair by pair, the upper product first. Products
    of bfloat16 are exact in float64, and so is a sum of one and a float32 that is not
    much larger or smaller."""
    x, y = (np.pad(z, [(0, 0)] * (z.ndim - 1) + [(0, z.shape[-1] % 2)]) for z in (x, y))
    products = x.astype(np.float64) * y
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape)[:-1], np.float32)
    for first in range(0, products.shape[-1], 2):
        total = (products[..., first + 1] + total).astype(np.float32)
        total = (products[..., first] + total).astype(np.float32)
    return total


def test_scores_are_those_of_rounded_numbers(tensors):
    query, key, _ = tensors
    scores = headwise.attention(*tensors, scale=1.0, scores="raw", arithmetic="bf16").scores
    expected = chain(rounded(query).transpose(0, 2, 1, 3)[:, :, :, None],
                     rounded(key).transpose(0, 2, 1, 3)[:, :, None])
    np.testing.assert_allclose(scores, expected, rtol=4e-7)


def test_the_context_has_the_bits_of_pairs():
    # Every score is 0: a sum of one block of keys, divided by their number.
    random = np.random.default_rng(6)
    value = random.standard_normal((1, 128, 1, DV), dtype=np.float32)
    query, key = np.zeros((1, 1, 1, 4), np.float32), np.zeros((1, 128, 1, 4), np.float32)
    output = headwise.attention(query, key, value, arithmetic="bf16")[0, 0, 0]
    values = rounded(value)[0, :, 0].T
    expected = chain(np.ones_like(values), values) / np.float32(128)
    np.testing.assert_array_equal(output, expected)


def test_tensors_that_are_rounded_already_are_rounded_no_more(tensors):
    output = headwise.attention(*tensors, arithmetic="bf16")
    same = headwise.attention(*map(rounded, tensors), arithmetic="bf16")
    np.testing.assert_array_equal(output, same)
    narrow = headwise.attention(*(x.astype(ml_dtypes.bfloat16) for x in tensors),
                                arithmetic="bf16")
    np.testing.assert_array_equal(narrow.view(np.uint16),
                                  output.astype(ml_dtypes.bfloat16).view(np.uint16))


def test_only_what_is_multiplied_is_rounded(tensors):
    exact = headwise.attention(*map(rounded, tensors), attn_weights="per_head",
                               arithmetic="exact")
    bf16 = headwise.attention(*tensors, attn_weights="per_head", arithmetic="bf16")
    # The scores are the same but for the order of their sums.
    np.testing.assert_allclose(bf16.attn_weights, exact.attn_weights, rtol=1e-5)
    assert not np.array_equal(bf16.output, exact.output)
    np.testing.assert_allclose(bf16.output, exact.output, rtol=0, atol=2**-8)


def test_a_plan_has_the_bits_of_the_call(tensors):
    plan = headwise.AttentionPlan.create(B=B, Hq=H, Hkv=H, Lq=LQ, Lkv=LKV, D=D, Dv=DV,
                                         arithmetic="bf16")
    np.testing.assert_array_equal(plan.run(*tensors),
                                  headwise.attention(*tensors, arithmetic="bf16"))


def test_gradients_are_of_rounded_numbers(tensors):
    query, key, value = (x[:, :1] for x in tensors)
    forward = headwise.attention(query, key, value, softmax_rows=True, arithmetic="bf16")
    d_output = forward.output + tensors[2][:, 1:2]
    gradients = headwise.attention_backward(query, key, value, forward.output,
                                            forward.softmax_rows, d_output,
                                            gradients=["value"], arithmetic="bf16")
    # Of one key the weight is 1.
    np.testing.assert_array_equal(gradients.value, rounded(d_output))


def layer(**config):
    return headwise.MultiHeadAttention.create(embed_dim=6, num_heads=2, seed=3, **config)


def test_a_layer_rounds_at_every_product(tmp_path):
    exact, bf16 = layer(), layer(arithmetic="bf16")
    assert (exact.config["arithmetic"], bf16.config["arithmetic"]) == ("exact", "bf16")
    x = np.random.default_rng(7).standard_normal((2, 1, 6), dtype=np.float32)

    def projected(name, x):
        weight, bias = exact.params[f"{name}.weight"], exact.params[f"{name}.bias"]
        return chain(rounded(x)[:, None], rounded(weight)) + bias

    # Of one token the weight is 1.
    expected = projected("w_o", projected("w_v", x[:, 0]))
    output = bf16.forward(x)
    np.testing.assert_array_equal(output[:, 0], expected)
    assert (exact.forward(x) != output).any()

    exact.save(tmp_path / "layer.safetensors")
    loaded = headwise.MultiHeadAttention.load(tmp_path / "layer.safetensors",
                                              arithmetic="bf16")
    made = headwise.MultiHeadAttention.from_params(exact.params, num_heads=2,
                                                   arithmetic="bf16")
    for other in (loaded, made):
        assert other.config["arithmetic"] == "bf16"
        np.testing.assert_array_equal(other.forward(x), output)


def test_what_a_layer_refuses():
    x = np.zeros((1, 2, 6), np.float32)
    with pytest.raises(ValueError, match="arithmetic is bf16, expected exact, which is"):
        layer().forward(x, arithmetic="bf16")


def test_a_layer_is_trained_with_float32_parameters():
    exact, bf16 = layer(), layer(arithmetic="bf16")
    x = np.random.default_rng(8).standard_normal((2, 5, 6), dtype=np.float32)
    results = []
    for each in (exact, bf16):
        gradients = each.forward_for_backward(x).backward(np.ones_like(x))
        results.append(gradients.params["w_v.weight"])
    assert not np.array_equal(*results)
    np.testing.assert_allclose(*results, atol=2**-6 * np.abs(results[0]).max())

    for name, value in bf16.params.items():
        np.testing.assert_array_equal(value, exact.params[name])
    before = bf16.forward(x).copy()
    bf16.set_params({"w_o.bias": bf16.params["w_o.bias"] + 1,
                     "w_o.weight": 2 * bf16.params["w_o.weight"]})
    # Doubling changes no rounding.
    bias = exact.params["w_o.bias"]
    np.testing.assert_allclose(bf16.forward(x), 2 * (before - bias) + bias + 1, rtol=0,
                               atol=1e-6)


def test_errors(tensors):
    with pytest.raises(ValueError, match="arithmetic is 'fp16', expected exact, bf16"):
        headwise.attention(*tensors, arithmetic="fp16")
    message = "arithmetic is bf16, expected exact: this call computes in float32 only"
    with pytest.raises(NotImplementedError, match=message):
        headwise.explain(*tensors, arithmetic="bf16")


def test_the_environment_chooses_how_and_never_which_bits(tensors):
    def run(code, choice):
        return subprocess.run([sys.executable, "-c", f"import headwise; {code}"], text=True,
                              capture_output=True, env={**os.environ, "HEADWISE_BF16": choice})

    assert headwise.native_bf16() in (True, False)
    assert run("print(headwise.native_bf16())", "emulated").stdout.strip() == "False"
    assert headwise.bf16_projections() == (
        "avx512_bf16" if headwise.native_bf16() else "emulated")
    assert run("print(headwise.bf16_projections())", "emulated").stdout.strip() == "emulated"
    failed = run("headwise.native_bf16()", "native")
    assert "NotImplementedError" in failed.stderr
    assert "HEADWISE_BF16 is native, expected emulated or nothing" in failed.stderr
