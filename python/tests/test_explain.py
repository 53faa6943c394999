"""The steps of a call: their tensors, their text, and the errors."""

import gc

import numpy as np
import pytest
import reference
from interpreter_lock import released_by

import headwise


@pytest.fixture(scope="module")
def tensors():
    random = np.random.default_rng(23)
    return [
        random.standard_normal(shape, dtype=np.float32)
        for shape in ((2, 5, 4, 8), (2, 7, 2, 8), (2, 7, 2, 6))
    ]


def heads_first(output):
    return np.swapaxes(output, -3, -2)


def test_every_step_equals_the_same_in_float64(tensors):
    mask = np.tril(np.ones((5, 7), bool))
    trace = headwise.explain(*tensors, mask=headwise.causal())
    scores = reference.scores_of(*tensors[:2])
    output, weights = reference.attention(*tensors, mask=mask)
    expected = {
        "scores": scores,
        "causal_mask": mask[None, None],
        "masked_scores": np.where(mask, scores, -np.inf),
        "attn_weights": weights,
        "context": heads_first(output),
    }
    assert trace.names == list(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(trace[name].array, array, atol=1e-5)
    assert trace["causal_mask"].array.dtype == bool
    assert trace["context"].axes == ("B", "H", "Lq", "Dv")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"softcap": 2.0, "scale": 0.5},
        {"mask": headwise.causal() & headwise.key_lengths([7, 3])},
        {"bias": np.linspace(-1, 1, 35, dtype=np.float32).reshape(5, 7)},
        {"alibi": np.array([0.5, 0.25, 0.1, 0.05], np.float32), "query_start": 2},
        {"t5_bias": {"table": np.linspace(0, 1, 128, dtype=np.float32).reshape(32, 4)}},
        {"sinks": np.array([1, 0, -1, 2], np.float32)},
        {"kv_groups": [3, 1]},
        {"added_keys": {"zero_attn": True}},
        {"score_weight": np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)},
        {"dropout": {"p": 0.4, "training": True, "seed": 3}},
    ],
    ids=lambda options: ",".join(options) or "plain",
)
def test_the_last_steps_are_those_of_attention(tensors, options):
    trace = headwise.explain(*tensors, **options)
    output = headwise.attention(*tensors, **options)
    np.testing.assert_allclose(trace[-1].array, heads_first(output), atol=1e-5)
    if "dropout" not in options:
        result = headwise.attention(*tensors, **options, attn_weights="per_head")
        np.testing.assert_allclose(
            trace["attn_weights"].array, result.attn_weights, atol=1e-5
        )


def test_without_a_batch(tensors):
    one = [tensor[0] for tensor in tensors]
    trace = headwise.explain(*one, mask=headwise.causal())
    whole = headwise.explain(*(tensor[:1] for tensor in tensors), mask=headwise.causal())
    for step, batched in zip(trace, whole, strict=True):
        np.testing.assert_array_equal(step.array, batched.array[0])
        assert step.axes == batched.axes[1:]
    assert "scores[h,i,j]" in trace["scores"].formula


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_16_bit_tensors(tensors, name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}[name]
    narrow = [tensor.astype(dtype) for tensor in tensors]
    wide = [tensor.astype(np.float32) for tensor in narrow]
    for step, expected in zip(
        headwise.explain(*narrow), headwise.explain(*wide), strict=True
    ):
        assert step.array.dtype == np.float32
        np.testing.assert_array_equal(step.array, expected.array)


def test_torch_tensors_come_back_as_such(tensors):
    torch = pytest.importorskip("torch")
    given = [torch.from_numpy(tensor) for tensor in tensors]
    trace = headwise.explain(*given, mask=headwise.causal())
    for step, expected in zip(
        trace, headwise.explain(*tensors, mask=headwise.causal()), strict=True
    ):
        assert isinstance(step.array, torch.Tensor)
        np.testing.assert_array_equal(step.array.numpy(), expected.array)
    assert str(trace) == str(headwise.explain(*tensors, mask=headwise.causal()))


def test_one_array_outlives_everything_else(tensors):
    row = headwise.explain(*tensors)["attn_weights"].array[1, 3]
    expected = row.copy()
    gc.collect()
    [np.full((2, 4, 5, 7), 9, np.float32) for _ in range(1000)]
    np.testing.assert_array_equal(row, expected)


def test_no_queries(tensors):
    query, key, value = tensors
    trace = headwise.explain(query[:, :0], key, value)
    assert trace["scores"].array.shape == (2, 4, 0, 7)
    assert "no finite number" in str(trace)


def test_sequence(tensors):
    trace = headwise.explain(*tensors)
    assert len(trace) == 3
    assert [step.name for step in trace] == trace.names
    assert trace[0] is trace["scores"] and trace[-1].name == "context"
    with pytest.raises(KeyError, match="step is 'mask', expected one of scores, attn_weights"):
        trace["mask"]


def test_numbers(tensors):
    step = headwise.explain(*tensors, mask=headwise.causal())["masked_scores"]
    finite = step.array[np.isfinite(step.array)]
    assert (step.min, step.max) == (finite.min(), finite.max())
    assert step.finite == finite.size == 2 * 4 * 15
    assert step.masked == 2 * 4 * 20
    assert step.nan == 0


def test_text():
    query = np.eye(2, dtype=np.float32).reshape(1, 2, 1, 2)
    trace = headwise.explain(query, query, query, mask=headwise.causal(), scale=1.0)
    text = str(trace)
    assert text == repr(trace)
    assert text.startswith(
        " 1. scores: compare every query with every key, scaled\n"
        "    scores[b,h,i,j] = scale * sum_d q_heads[b,h,i,d] * k_heads[b,h,j,d]\n"
        "    shape (B=1, H=1, Lq=2, Lkv=2)  min 0, max 1\n\n"
        " 2. causal_mask: "
    )
    assert "shape (1, 1, Lq=2, Lkv=2)  3 of 4 may attend\n" in text
    assert "min 0, max 1; 1 of 4 masked\n" in text
    assert "Axes: B batch" in text


def test_formulas_name_the_head_that_is_read(tensors):
    assert "floor(h/2)" in headwise.explain(*tensors)["scores"].formula
    uneven = headwise.explain(*tensors, kv_groups=[3, 1])
    assert "floor" not in uneven["scores"].formula
    assert "kv_groups" in str(uneven)
    assert "kv_groups" not in str(headwise.explain(*tensors, kv_groups=[2, 2]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"lse": True}, TypeError, "explain: there is no option 'lse'"),
        ({"out": None}, TypeError, "explain: there is no option 'out'"),
        ({"scale": "x"}, TypeError, "scale is 'x', expected a number"),
        ({"sinks": np.zeros(3, np.float32)}, ValueError, r"sinks has shape \(3\)"),
        ({"key_part": "first"}, NotImplementedError, "key_part is first"),
        ({"offsets": ([0, 5], [0, 7])}, NotImplementedError, "offsets is given"),
    ],
)
def test_wrong_options(tensors, options, error, message):
    one = [tensor[:1] for tensor in tensors]
    with pytest.raises(error, match=message):
        headwise.explain(*one, **options)


def test_wrong_tensors(tensors):
    query, key, value = tensors
    with pytest.raises(ValueError, match=r"key has shape \(7, 2, 8\), expected \(B, "):
        headwise.explain(query, key[0], value)
    with pytest.raises(ValueError, match="value"):
        headwise.explain(query, key, value[:, :3])
    with pytest.raises(TypeError, match="query is float64"):
        headwise.explain(query.astype(np.float64), key, value)


def made(**config):
    return headwise.MultiHeadAttention.create(
        **{"embed_dim": 12, "num_heads": 4, "num_kv_heads": 2, "seed": 1, **config}
    )


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(6).standard_normal((2, 3, 12), dtype=np.float32)


def test_a_layer(x):
    layer = made()
    options = {"mask": headwise.causal(), "head_gates": np.array([1, 0, 2, 1], np.float32)}
    trace = headwise.explain(x, layer=layer, **options)
    result = layer.forward(x, **options, attn_weights="per_head")
    params = layer.params
    expected = {
        "query": x,
        "key": x,
        "value": x,
        "q": x @ params["w_q.weight"].T + params["w_q.bias"],
        "k": x @ params["w_k.weight"].T + params["w_k.bias"],
        "v": x @ params["w_v.weight"].T + params["w_v.bias"],
        "attn_weights": result.attn_weights,
        "output": result.output,
    }
    for name, array in expected.items():
        np.testing.assert_allclose(trace[name].array, array, atol=1e-5)
    one = headwise.explain(x[1], layer=layer, **options)
    assert one.names == trace.names
    np.testing.assert_array_equal(one["output"].array, trace["output"].array[1])
    assert one["output"].axes == ("Lq", "E")


def test_formulas_of_a_layer(x):
    trace = headwise.explain(x, layer=made())
    assert trace["q"].formula == "q = query @ w_q.weight^T + w_q.bias"
    assert "floor(h/2)" in trace["scores"].formula
    assert "q_heads, k_heads and v_heads are" not in str(trace)
    plain = headwise.explain(x, layer=made(bias=False))
    assert plain["q"].formula == "q = query @ w_q.weight^T"
    assert plain["output"].formula == "output = merged @ w_o.weight^T"
    uneven = headwise.explain(x, layer=made(num_kv_heads=None, kv_group_sizes=[3, 1]))
    assert "floor" not in uneven["scores"].formula and "kv_groups" in str(uneven)


def test_wrong_calls_of_a_layer(x):
    with pytest.raises(TypeError, match="query is float64, expected float32"):
        headwise.explain(x.astype(np.float64), layer=made())
    with pytest.raises(ValueError, match="query"):
        headwise.explain(x[..., :5], layer=made())
    with pytest.raises(TypeError, match="no option 'kv_groups'"):
        headwise.explain(x, layer=made(), kv_groups=[2, 2])
    cache = headwise.KvCache.create(num_kv_heads=2, head_dim=3, max_tokens=64)
    with pytest.raises(NotImplementedError, match="cache is given"):
        headwise.explain(x[:1], layer=made(), cache=cache, sequences=[cache.add()])
    with pytest.raises(TypeError, match="key is a NoneType"):
        headwise.explain(np.ones((3, 2, 4), np.float32))


def test_the_interpreter_lock_is_released():
    query = np.ones((1, 600, 4, 16), np.float32)
    one = headwise.Executor.with_threads(1)
    assert released_by(lambda: headwise.explain(query, query, query, executor=one))
