"""headwise.view of attention weights: the page holds those weights."""

import numpy as np
import pytest
import reference
from test_view import TOKENS, block_of, data_of, pooled

import headwise


def weights_of(seed, heads=4, mask=None):
    """(2, heads, 5, 5)"""
    random = np.random.default_rng(seed)
    query, key = (random.standard_normal((2, 5, heads, 8), dtype=np.float32) for _ in range(2))
    return reference.attention(query, key, key, mask)[1].astype(np.float32)


def shown(page, layer, head):
    """(Lq, Lkv), with an error of at most 0.004."""
    block = data_of(page)["layers"][layer]["heads"][head]["map"]
    return (np.frombuffer(block_of(page, block), np.uint8).reshape(5, 5) / 255.0) ** 2


def allowed(page, layer):
    """(Lq, Lkv): the mask of the layer's head 0."""
    data = data_of(page)
    mask = data["masks"][data["layers"][layer]["heads"][0]["mask"]]
    begin, end = np.frombuffer(block_of(page, mask["ranges"]), np.int32).reshape(5, 2, 1).swapaxes(
        0, 1)
    within = (begin <= np.arange(5)) & (np.arange(5) < end)
    if mask["bits"] is not None:
        rows = np.frombuffer(block_of(page, mask["bits"]), np.uint8).reshape(5, -1)
        within &= np.unpackbits(rows, 1, 5, "little").astype(bool)
    return within


def entropy(weights):
    """(H), of (H, Lq, Lkv)."""
    return -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1).mean(-1)


def test_layers_with_masks_and_head_counts_of_their_own(tmp_path):
    triangle = np.tri(5, dtype=bool)
    layers = [weights_of(1, heads=3), weights_of(2, mask=triangle)]
    page = headwise.view(tmp_path / "page.html", layers, TOKENS, sequence=1, title="Mine").html()
    assert data_of(page)["query_tokens"] == TOKENS and data_of(page)["title"] == "Mine"
    assert data_of(page)["head_dim"] == 0
    for number, weights in enumerate(layers):
        for head, expected in enumerate(weights[1]):
            np.testing.assert_allclose(shown(page, number, head), expected, atol=0.004)
        np.testing.assert_allclose(pooled(page, number), entropy(weights[1]), atol=1e-5)
    assert allowed(page, 0).all()
    np.testing.assert_array_equal(allowed(page, 1), triangle)


def test_strides(tmp_path):
    weights = weights_of(6)[::-1, ::-1]
    page, copied = (headwise.view(tmp_path / "page.html", [layer], TOKENS).html()
                    for layer in (weights, weights.copy()))
    assert page == copied
    np.testing.assert_allclose(shown(page, 0, 0), weights[0, 0], atol=0.004)


def test_queries_and_keys_are_not_stored(tmp_path):
    page = headwise.view(tmp_path / "page.html", [weights_of(7)], TOKENS, elements=True).html()
    for head in data_of(page)["layers"][0]["heads"]:
        assert head["query"] is None and head["key"] is None


def test_single_zeros_and_queries_without_keys(tmp_path):
    weights = np.full((2, 5, 5), 0.25, np.float32)
    weights[0, :, 1] = 0  # the other head gives it weight
    weights[1, :, 2] = 0
    weights[:, 4] = 0
    page = headwise.view(tmp_path / "page.html", [weights], TOKENS).html()
    for head in range(2):
        np.testing.assert_allclose(shown(page, 0, head), weights[head], atol=0.004)
        assert data_of(page)["layers"][0]["heads"][head]["empty_rows"] == 1


def test_rows_keep_their_sums(tmp_path):
    weights = np.full((2, 5, 5), 0.2, np.float32)
    weights[1, 3] *= 0.5
    weights[0, 2] = 0  # the other head gives weight
    page = headwise.view(tmp_path / "page.html", [weights], TOKENS).html()
    heads = data_of(page)["layers"][0]["heads"]
    assert [head["uneven_rows"] for head in heads] == [0, 1]
    assert [head["empty_rows"] for head in heads] == [1, 0]
    assert heads[1]["farthest_sum"] == pytest.approx(0.5)
    np.testing.assert_allclose(shown(page, 0, 1), weights[1], atol=0.004)


def test_pruned_heads_and_16_bits(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    weights = weights_of(3)
    layer = {"attn_weights": weights.astype(ml_dtypes.bfloat16), "number": 7,
             "head_numbers": [0, 2, 3, 5], "num_heads": 6}
    page = headwise.view(tmp_path / "page.html", [layer], TOKENS).html()
    assert data_of(page)["layers"][0]["number"] == 7
    heads = data_of(page)["layers"][0]["heads"]
    assert [head["pruned"] for head in heads] == [False, True, False, False, True, False]
    np.testing.assert_allclose(shown(page, 0, 2), weights[0, 1], atol=0.008)


@pytest.mark.parametrize(
    ("layers", "options", "error", "message"),
    [
        ([np.full((1, 5, 5), np.nan, np.float32)], {}, ValueError,
         r"attn_weights\[0, 0, 0, 0\] is nan, expected a weight from 0 to 1"),
        ([np.full((1, 5, 5), np.inf, np.float32)], {}, ValueError,
         r"attn_weights\[0, 0, 0, 0\] is inf"),
        ([np.full((1, 5, 5), -1, np.float32)], {}, ValueError, "is -1, expected a weight"),
        ([weights_of(4)], {"scale": 1.0}, TypeError, "no option 'scale'"),
        ([weights_of(4)], {"sequence": 2}, ValueError, "sequence is 2, expected less than"),
        ([weights_of(4)[:, :, :4]], {}, ValueError, "query_labels has shape"),
        ([weights_of(4)[..., :4]], {}, ValueError, "key_labels has shape"),
        ([np.full((1, 5, 1025), 1 / 1025, np.float32)], {"key_tokens": ["x"] * 1025},
         NotImplementedError, "has 5 queries and 1025 keys, expected at most 1024"),
        ([weights_of(4).astype(float)], {}, TypeError, "attn_weights is float64"),
    ],
)
def test_wrong_calls(layers, options, error, message, tmp_path):
    with pytest.raises(error, match=message):
        headwise.view(tmp_path / "page.html", layers, TOKENS, **options)
    assert not list(tmp_path.iterdir())


def test_pages_of_one_form():
    page = headwise.ViewPage.create(query_labels=TOKENS, key_labels=TOKENS)
    with pytest.raises(ValueError, match="is one of query and key, expected ViewPage.of_attn"):
        page.add_attn_weights(weights_of(5))
    page = headwise.ViewPage.of_attn_weights(query_labels=TOKENS, key_labels=TOKENS)
    with pytest.raises(ValueError, match="is one of attention weights, expected ViewPage.create"):
        page.add(np.zeros((5, 1, 2), np.float32), np.zeros((5, 1, 2), np.float32))
