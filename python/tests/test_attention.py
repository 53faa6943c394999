"""headwise.attention: its outputs and options against float64."""

import numpy as np
import pytest
import reference

import headwise

B, LQ, LKV, HQ, HKV, D, DV = 2, 5, 7, 4, 2, 8, 6


@pytest.fixture
def tensors():
    random = np.random.default_rng(3)

    def normal(*shape):
        return random.standard_normal(shape, dtype=np.float32)

    return normal(B, LQ, HQ, D), normal(B, LKV, HKV, D), normal(B, LKV, HKV, DV)


def close(actual, expected, tolerance=2e-6):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


def test_output(tensors):
    output = headwise.attention(*tensors)
    assert isinstance(output, np.ndarray) and output.dtype == np.float32
    close(output, reference.attention(*tensors)[0])


def test_everything_that_can_be_asked_for(tensors):
    result = headwise.attention(
        *tensors,
        attn_weights="per_head",
        scores="raw",
        lse=True,
        softmax_rows=True,
        statistics={"rows": True, "top_keys": 2, "columns": True, "map": True},
    )
    output, weights = reference.attention(*tensors)
    scores = reference.scores_of(*tensors[:2])
    close(result.output, output)
    close(result.attn_weights, weights)
    close(result.scores, scores)
    close(result.lse, np.log(np.exp(scores).sum(-1)))
    close(result.softmax_rows[..., 0], scores.max(-1) * np.log2(np.e))
    statistics = result.statistics
    entropy = -(weights * np.log(weights)).sum(-1)
    close(statistics.row("entropy"), entropy)
    close(statistics.mean("entropy"), entropy.mean((0, 2)))
    close(statistics.columns, weights.sum(2))
    close(statistics.map_mean, weights)
    close(statistics.top_weights[..., 0], weights.max(-1))
    np.testing.assert_array_equal(statistics.top_keys[..., 0], weights.argmax(-1))
    np.testing.assert_array_equal(statistics.counted, [B * LQ] * HQ)
    assert result.state is None


def test_what_was_not_asked_for_is_none(tensors):
    result = headwise.attention(*tensors, lse=True)
    assert result.attn_weights is None and result.statistics is None
    with pytest.raises(ValueError, match="not asked for"):
        headwise.attention(
            *tensors, statistics={"columns": True}
        ).statistics.row("entropy")


def test_mean_of_the_weights(tensors):
    result = headwise.attention(*tensors, attn_weights="mean")
    weights = reference.attention(*tensors)[1].mean(1, keepdims=True)
    close(result.attn_weights, weights)


def test_without_a_batch(tensors):
    alone = [tensor[1] for tensor in tensors]
    result = headwise.attention(
        *alone,
        attn_weights="per_head",
        lse=True,
        statistics={"rows": True, "map": True},
    )
    whole = headwise.attention(*tensors, attn_weights="per_head", lse=True)
    np.testing.assert_array_equal(result.output, whole.output[1])
    np.testing.assert_array_equal(result.attn_weights, whole.attn_weights[1])
    np.testing.assert_array_equal(result.lse, whole.lse[1])
    assert result.statistics.rows.shape == (HQ, LQ, 8)
    assert result.statistics.map_mean.shape == (HQ, LQ, LKV)


def test_out(tensors):
    out = np.full((B, LQ, DV, HQ), 9, np.float32).transpose(0, 1, 3, 2)
    assert headwise.attention(*tensors, out=out) is out
    np.testing.assert_array_equal(out, headwise.attention(*tensors))


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_16_bits(tensors, name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    narrow = [tensor.astype(dtype) for tensor in tensors]
    output = headwise.attention(*narrow)
    assert output.dtype == dtype
    wide = headwise.attention(*[tensor.astype(np.float32) for tensor in narrow])
    np.testing.assert_array_equal(output, wide.astype(dtype))


def test_scale_softcap_and_bias(tensors):
    bias = np.random.default_rng(5).standard_normal((HQ, LQ, LKV)).astype(np.float32)
    output = headwise.attention(
        *tensors, scale=0.5, bias=headwise.dense(bias, ("H", "Lq", "Lkv"))
    )
    close(output, reference.attention(*tensors, scale=0.5, bias=bias)[0])
    result = headwise.attention(*tensors, softcap=0.7, scores="softcap")
    scores = reference.scores_of(*tensors[:2])
    close(result.scores, 0.7 * np.tanh(scores / 0.7))


def test_sinks_alibi_and_t5_bias(tensors):
    sinks = np.array([0.3, -np.inf, 1, 2], np.float32)
    weights = headwise.attention(
        *tensors, sinks=sinks, attn_weights="per_head"
    ).attn_weights
    powers = np.exp(reference.scores_of(*tensors[:2]))
    total = powers.sum(-1, keepdims=True) + np.exp(sinks)[:, None, None]
    close(weights, powers / total)

    slopes = np.array([0.5, 0.25, 0, 1], np.float32)
    distance = np.abs(np.arange(LQ)[:, None] - np.arange(LKV))
    close(
        headwise.attention(*tensors, alibi=slopes),
        reference.attention(*tensors, bias=-slopes[:, None, None] * distance)[0],
    )

    table = np.random.default_rng(7).standard_normal((32, HQ)).astype(np.float32)
    bucket = np.where(
        np.arange(LKV) > np.arange(LQ)[:, None], 16 + distance, distance
    )
    close(
        headwise.attention(
            *tensors, scale=1, t5_bias={"table": table, "bidirectional": True}
        ),
        reference.attention(
            *tensors, scale=1, bias=table[bucket].transpose(2, 0, 1)
        )[0],
    )


def test_groups_of_heads(tensors):
    query, key, value = tensors
    output = headwise.attention(query, key, value, kv_groups=[1, 3])
    heads = [0, 1, 1, 1]
    close(output, reference.attention(query, key[:, :, heads], value[:, :, heads])[0])


def test_added_keys(tensors):
    query, key, value = tensors
    random = np.random.default_rng(11)
    bias_k = random.standard_normal((HKV, D), dtype=np.float32)
    bias_v = random.standard_normal((HKV, DV), dtype=np.float32)
    result = headwise.attention(
        *tensors,
        added_keys={"bias_k": bias_k, "bias_v": bias_v, "zero_attn": True},
        attn_weights="per_head",
    )

    def extended(tensor, row):
        rows = np.stack([row, np.zeros_like(row)])[None].repeat(B, 0)
        return np.concatenate([tensor, rows], 1)

    expected = reference.attention(query, extended(key, bias_k), extended(value, bias_v))
    close(result.output, expected[0])
    close(result.attn_weights, expected[1])


def test_additive_scores(tensors):
    query, key, value = tensors
    weight = np.random.default_rng(13).standard_normal((HQ, D)).astype(np.float32)
    result = headwise.attention(
        query, key, value, score_weight=weight, attn_weights="per_head"
    )
    keys = np.repeat(key, HQ // HKV, 2).astype(np.float64)
    sums = np.tanh(query.transpose(0, 2, 1, 3)[:, :, :, None] + keys.transpose(0, 2, 1, 3)[:, :, None])
    close(result.attn_weights, reference.softmax(np.einsum("bhijd,hd->bhij", sums, weight)))


def test_dropout(tensors):
    keep = np.random.default_rng(17).random((B, HQ, LQ, LKV)) < 0.5
    result = headwise.attention(
        *tensors,
        dropout={"p": 0.5, "keep_mask": keep},
        attn_weights="after_dropout",
    )
    close(result.attn_weights, reference.attention(*tensors)[1] * keep * 2)
    options = {"p": 0.5, "training": True, "seed": 7, "step": 3, "layer": 1}
    first = headwise.attention(*tensors, dropout=options)
    np.testing.assert_array_equal(first, headwise.attention(*tensors, dropout=options))
    other = headwise.attention(*tensors, dropout={**options, "seed": 8})
    assert not np.array_equal(first, other)
    # A sequence has the bits of its id, wherever it is in a batch.
    alone = headwise.attention(
        *[tensor[1:] for tensor in tensors],
        dropout={**options, "sequence_ids": [1]},
    )
    np.testing.assert_array_equal(alone, first[1:])


def test_ragged_batch(tensors):
    rows = [tensor.reshape(-1, *tensor.shape[2:]) for tensor in tensors]
    result = headwise.attention(
        *rows,
        offsets=([0, 2, 2 * LQ], np.array([0, 6, 2 * LKV], np.int32)),
        attn_weights="per_head",
        lse=True,
    )
    output, weights = reference.attention(
        rows[0][None, :2], rows[1][None, :6], rows[2][None, :6]
    )
    close(result.output[:2], output[0])
    assert result.attn_weights.shape == (2, HQ, 2 * LQ - 2, 2 * LKV - 6)
    close(result.attn_weights[0, :, :2, :6], weights[0])
    assert result.lse.shape == (HQ, 2 * LQ)


def test_parts_of_the_keys():
    random = np.random.default_rng(19)
    query, key, value = (
        random.standard_normal((1, length, 2, D), dtype=np.float32)
        for length in (3, 300, 300)
    )
    options = {"mask": headwise.causal()}
    whole = headwise.attention(query, key, value, **options, query_start=297)
    first = headwise.attention(
        query, key[:, :256], value[:, :256], **options, query_start=297, key_part="first"
    )
    assert first.output is None
    last = headwise.attention(
        query,
        key[:, 256:],
        value[:, 256:],
        **options,
        query_start=297 - 256,
        key_part="last",
        state=first.state,
    )
    np.testing.assert_array_equal(last.output, whole)


def test_rows_without_a_key(tensors):
    def outputs(**options):
        return headwise.attention(*tensors, mask=headwise.key_lengths([0, 7]), **options)

    assert not outputs().any(axis=(1, 2, 3))[0]
    assert np.isnan(outputs(empty_rows="nan")[0]).all()
    mean = tensors[2][0].mean(0).repeat(HQ // HKV, 0)
    close(outputs(empty_rows="uniform")[0], np.broadcast_to(mean, (LQ, HQ, DV)))


def test_executors_do_not_change_bits(tensors):
    one = headwise.Executor.with_threads(1)
    assert one.threads == 1
    np.testing.assert_array_equal(
        headwise.attention(*tensors, executor=one), headwise.attention(*tensors)
    )
    with pytest.raises(ValueError, match="threads"):
        headwise.Executor.with_threads(0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scal": 1}, TypeError, "no option 'scal', expected mask, scale"),
        ({"scale": "x"}, TypeError, "scale is 'x', expected a number"),
        ({"scale": 1e39}, ValueError, "scale is 1e\\+39, expected"),
        ({"attn_weights": "all"}, ValueError, "is 'all', expected none, per_head"),
        ({"dropout": 0.1}, TypeError, "dropout is 0.1, expected a dict with any of p"),
        ({"dropout": {"rate": 1}}, TypeError, "dropout has no option 'rate'"),
        ({"dropout": {"p": 1.5}}, ValueError, "dropout.p is 1.5"),
        ({"sinks": np.zeros(3, np.float32)}, ValueError, r"sinks has shape \(3\)"),
        ({"sinks": np.zeros(4)}, TypeError, "sinks is float64, expected float32"),
        ({"bias": np.zeros((1, 2, 3), np.float32)}, ValueError, "headwise.dense"),
        ({"kv_groups": [0, 4]}, ValueError, r"kv_groups\[0\] is 0, expected 1"),
        ({"executor": 2}, TypeError, "executor is 2, expected a headwise.Executor"),
        ({"query_start": "top"}, ValueError, "expected bottom_right"),
        ({"query_start": 1.5}, TypeError, "query_start is a float"),
        ({"lse": 1}, TypeError, "lse is 1, expected True or False"),
        ({"state": 1, "key_part": "last"}, TypeError, "state is a int, expected a tuple"),
        ({"dropout": {"layer": 2**32}}, ValueError, "dropout.layer is 4294967296"),
        ({"dropout": {"seed": -1}}, ValueError, "dropout.seed is -1"),
        ({"query_start": 2**70}, ValueError, "query_start is 1180591620717411303424"),
    ],
)
def test_wrong_options(tensors, options, error, message):
    with pytest.raises(error, match=message):
        headwise.attention(*tensors, **options)


def test_what_is_unsupported_is_not_implemented(tensors):
    with pytest.raises(NotImplementedError, match="attn_weights"):
        headwise.attention(*tensors, key_part="last", attn_weights="per_head")


def test_none_is_not_given(tensors):
    np.testing.assert_array_equal(
        headwise.attention(*tensors, mask=None, scale=None, dropout=None, out=None),
        headwise.attention(*tensors),
    )
