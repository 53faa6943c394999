"""Layers without some of their heads."""

import numpy as np
import pytest

import headwise


def layer(**config):
    return headwise.MultiHeadAttention.create(
        **{"embed_dim": 24, "num_heads": 4, "seed": 7, **config}
    )


@pytest.fixture
def x():
    return np.random.default_rng(5).standard_normal((2, 6, 24), dtype=np.float32)


def gates(heads):
    made = np.ones(4, np.float32)
    made[heads] = 0
    return made


@pytest.mark.parametrize("heads", [[], [1], [0, 3], (2, 1, 0), np.array([3])])
@pytest.mark.parametrize("num_kv_heads", [4, 2])
def test_the_output_is_that_of_gates_of_0(x, heads, num_kv_heads):
    whole = layer(num_kv_heads=num_kv_heads)
    pruned = headwise.remove_heads(whole, heads, constant="dropped")
    expected = whole.forward(x, head_gates=gates(list(heads)), mask=headwise.causal())
    np.testing.assert_allclose(
        pruned.forward(x, mask=headwise.causal()), expected, atol=1e-6
    )
    assert pruned.config["num_heads"] == 4 - len(heads)
    assert whole.config["num_heads"] == 4


def test_the_constant_part_goes_into_the_bias(x):
    whole = layer()
    params = whole.params
    pruned = headwise.remove_heads(whole, [1])
    constant = params["w_o.weight"][:, 6:12] @ params["w_v.bias"][6:12]
    assert np.abs(constant).max() > 1e-3
    np.testing.assert_allclose(
        pruned.params["w_o.bias"], params["w_o.bias"] + constant, atol=1e-6
    )
    np.testing.assert_allclose(
        pruned.forward(x),
        whole.forward(x, head_gates=gates([1])) + constant,
        atol=1e-6,
    )


def test_the_remaining_parameters_keep_their_bits():
    whole = layer()
    kept = headwise.remove_heads(whole, [1]).params
    for name in ("w_q.weight", "w_k.weight", "w_v.weight", "w_q.bias"):
        np.testing.assert_array_equal(
            kept[name], np.delete(whole.params[name], range(6, 12), 0)
        )
    np.testing.assert_array_equal(
        kept["w_o.weight"], np.delete(whole.params["w_o.weight"], range(6, 12), 1)
    )


def test_all_heads(x):
    pruned = headwise.remove_heads(layer(), [0, 1, 2, 3])
    output = pruned.forward(x)
    np.testing.assert_array_equal(
        output, np.broadcast_to(pruned.params["w_o.bias"], x.shape)
    )


@pytest.mark.parametrize(
    ("heads", "options", "error", "message"),
    [
        ([4], {}, ValueError, "head is 4, expected below num_heads = 4"),
        ([1, 1], {}, ValueError, "head is 1 twice"),
        ([-1], {}, ValueError, r"heads\[0\] is -1, expected the number of a head"),
        ([0.5], {}, TypeError, "heads is 0.5, expected a whole number"),
        (2, {}, TypeError, "heads"),
        (None, {}, TypeError, "heads"),
        ([0], {"constant": "bias"}, ValueError, "is 'bias', expected into_bias, dropped"),
        ([0], {"constant": None}, TypeError, "constant is None"),
    ],
)
def test_wrong_arguments(heads, options, error, message):
    with pytest.raises(error, match=message):
        headwise.remove_heads(layer(), heads, **options)


def test_what_is_no_layer():
    with pytest.raises(TypeError):
        headwise.remove_heads(3, [0])


def test_unsupported_layers():
    with pytest.raises(NotImplementedError, match="w_o|out_proj"):
        headwise.remove_heads(layer(out_proj=False), [0])
