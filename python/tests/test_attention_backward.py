"""headwise.attention_backward against float64."""

import numpy as np
import pytest
import reference

import headwise

B, LQ, LKV, HQ, HKV, D, DV = 2, 5, 7, 4, 2, 8, 6


def normal(*shape, seed=47):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@pytest.fixture
def tensors():
    return normal(B, LQ, HQ, D), normal(B, LKV, HKV, D), normal(B, LKV, HKV, DV)


D_OUTPUT = normal(B, LQ, HQ, DV, seed=53)


def by_group(gradient):
    """Sums (B, L, Hq, D) over the query heads of each key head."""
    return gradient.reshape(*gradient.shape[:2], HKV, HQ // HKV, -1).sum(3)


def expected_gradients(tensors, d_attn_weights=0.0, **options):
    query, key, value = (tensor.astype(np.float64) for tensor in tensors)
    key, value = np.repeat(key, HQ // HKV, 2), np.repeat(value, HQ // HKV, 2)
    output, weights = reference.attention(query, key, value, **options)
    d_weights = np.einsum("bihd,bjhd->bhij", D_OUTPUT, value) + d_attn_weights
    delta = (weights * d_weights).sum(-1, keepdims=True)
    d_scores = weights * (d_weights - delta)
    scale = D**-0.5
    return {
        "query": scale * np.einsum("bhij,bjhd->bihd", d_scores, key),
        "key": by_group(scale * np.einsum("bhij,bihd->bjhd", d_scores, query)),
        "value": by_group(np.einsum("bhij,bihd->bjhd", weights, D_OUTPUT)),
        "scores": d_scores,
    }


def gradients_of(tensors, d_output=D_OUTPUT, gradients=None, **options):
    forward = headwise.attention(*tensors, softmax_rows=True, **options)
    return headwise.attention_backward(
        *tensors,
        forward.output,
        forward.softmax_rows,
        d_output,
        gradients=gradients,
        **options,
    )


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=5e-6)


def test_query_key_and_value(tensors):
    gradients = gradients_of(tensors)
    for name in ("query", "key", "value"):
        close(getattr(gradients, name), expected_gradients(tensors)[name])
    assert gradients.bias is None


def test_masked(tensors):
    allowed = np.arange(LKV) <= np.arange(LQ)[:, None]
    gradients = gradients_of(tensors, mask=headwise.causal())
    for name in ("query", "key", "value"):
        expected = expected_gradients(tensors, mask=allowed)[name]
        close(getattr(gradients, name), expected)
    assert not gradients.key[:, LQ:].any()


def test_only_what_is_asked_for(tensors):
    gradients = gradients_of(tensors, gradients=["value"])
    close(gradients.value, expected_gradients(tensors)["value"])
    assert gradients.query is None and gradients.key is None


def test_without_a_batch(tensors):
    alone = [tensor[1] for tensor in tensors]
    gradients = gradients_of(alone, D_OUTPUT[1])
    for name in ("query", "key", "value"):
        np.testing.assert_array_equal(
            getattr(gradients, name), getattr(gradients_of(tensors), name)[1]
        )


def test_bias_with_named_axes(tensors):
    bias = normal(LKV, HQ)
    gradients = gradients_of(
        tensors, gradients=["bias"], bias=headwise.dense(bias, ("Lkv", "H"))
    )
    d_scores = expected_gradients(tensors, bias=bias.T[:, None])["scores"]
    close(gradients.bias, d_scores.sum((0, 2)).T)


def test_bias_that_is_broadcast(tensors):
    bias = normal(B, 1, LQ, LKV)
    gradients = gradients_of(tensors, gradients=["bias"], bias=bias)
    d_scores = expected_gradients(tensors, bias=bias)["scores"]
    close(gradients.bias, d_scores.sum(1, keepdims=True))


def test_alibi(tensors):
    slopes = np.array([0.5, 0.25, 0, 1], np.float32)
    distance = np.abs(np.arange(LQ)[:, None] - np.arange(LKV))
    gradients = gradients_of(tensors, gradients=["alibi"], alibi=slopes)
    bias = -slopes[:, None, None] * distance
    d_scores = expected_gradients(tensors, bias=bias)["scores"]
    close(gradients.alibi, -(d_scores * distance).sum((0, 2, 3)))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sinks", {"sinks": normal(HQ)}),
        ("t5_bias", {"t5_bias": {"table": normal(8, HQ), "max_distance": 16}}),
        ("score_weight", {"score_weight": normal(HQ, D)}),
        ("bias_k", {"added_keys": {"bias_k": normal(HKV, D), "bias_v": normal(HKV, DV)}}),
        ("bias_v", {"added_keys": {"bias_k": normal(HKV, D), "bias_v": normal(HKV, DV)}}),
    ],
)
def test_parameters_by_differences(tensors, name, options):
    gradient = getattr(gradients_of(tensors, gradients=[name], **options), name)
    parent = {"t5_bias": "table", "bias_k": name, "bias_v": name}.get(name)
    outer = "added_keys" if name in ("bias_k", "bias_v") else name
    parameter = options[outer][parent] if parent else options[outer]
    assert gradient.shape == parameter.shape
    direction = normal(*parameter.shape, seed=59)

    def loss(step):
        moved = parameter + np.float32(step) * direction
        changed = {**options[outer], parent: moved} if parent else moved
        output = headwise.attention(*tensors, **{**options, outer: changed})
        return (output.astype(np.float64) * D_OUTPUT).sum()

    difference = (loss(2**-7) - loss(-(2**-7))) * 2**6
    np.testing.assert_allclose((gradient * direction).sum(), difference, rtol=0, atol=5e-3)


def test_gradient_of_the_weights(tensors):
    d_weights = normal(B, HQ, LQ, LKV, seed=61)
    forward = headwise.attention(*tensors, softmax_rows=True, attn_weights="per_head")
    gradients = headwise.attention_backward(
        *tensors,
        forward.output,
        forward.softmax_rows,
        D_OUTPUT,
        d_attn_weights=d_weights,
        attn_weights="per_head",
    )
    close(gradients.query, expected_gradients(tensors, d_weights)["query"])


def test_16_bits_of_torch(tensors):
    torch = pytest.importorskip("torch")
    narrow = [torch.from_numpy(tensor).bfloat16() for tensor in tensors]
    gradients = gradients_of(narrow, torch.from_numpy(D_OUTPUT).bfloat16())
    assert gradients.query.dtype == torch.bfloat16
    wide = expected_gradients([tensor.float().numpy() for tensor in narrow])
    np.testing.assert_allclose(
        gradients.query.float().numpy(), wide["query"], rtol=0.02, atol=0.02
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"gradients": ["keys"]}, ValueError, "gradients is 'keys', expected query, key"),
        ({"gradients": "key"}, TypeError, "gradients is 'key', expected a sequence"),
        ({"gradients": ["bias"]}, ValueError, "'bias', which was not given"),
        ({"lse": True}, TypeError, "no option 'lse'"),
        ({"statistics": {"rows": True}}, ValueError, "statistics"),
        ({"key_part": "first"}, NotImplementedError, "key_part is given, expected none"),
    ],
)
def test_wrong_options(tensors, options, error, message):
    forward = headwise.attention(*tensors, softmax_rows=True)
    with pytest.raises(error, match=message):
        headwise.attention_backward(
            *tensors, forward.output, forward.softmax_rows, D_OUTPUT, **options
        )


def test_wrong_tensors(tensors):
    forward = headwise.attention(*tensors, softmax_rows=True)
    with pytest.raises(ValueError, match=r"d_output has shape \(2, 5, 4\), expected"):
        headwise.attention_backward(
            *tensors, forward.output, forward.softmax_rows, D_OUTPUT[..., 0]
        )
    with pytest.raises(TypeError, match="softmax_rows is float64"):
        headwise.attention_backward(
            *tensors, forward.output, forward.softmax_rows.astype(float), D_OUTPUT
        )
