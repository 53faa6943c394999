"""Pickling and copying: what is equal afterwards, and what refuses."""
import copy
import functools
import pickle

import numpy as np
import pytest

import headwise

RANDOM = np.random.default_rng(5)
WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy} | {
    f"pickle {protocol}": lambda given, protocol=protocol: pickle.loads(
        pickle.dumps(given, protocol)) for protocol in range(2, 6)}


@pytest.fixture(params=WAYS)
def copied(request):
    return WAYS[request.param]


def numbers(*shape):
    return RANDOM.standard_normal(shape, dtype=np.float32)


Q, K, V = numbers(2, 4, 4, 8), numbers(2, 6, 2, 8), numbers(2, 6, 2, 8)


def fields(given):
    return {name: getattr(given, name) for name in dir(type(given))
            if isinstance(getattr(type(given), name), property)}


def assert_same(given, expected):
    """Bit for bit, through objects, lists and dicts."""
    assert type(given) is type(expected)
    if isinstance(given, np.ndarray):
        assert given.dtype == expected.dtype and given.tobytes() == expected.tobytes()
    elif isinstance(given, dict):
        assert given.keys() == expected.keys()
        for name in given:
            assert_same(given[name], expected[name])
    elif isinstance(given, (list, tuple)):
        assert len(given) == len(expected)
        for pair in zip(given, expected, strict=True):
            assert_same(*pair)
    elif type(given).__module__ == "headwise._core":
        assert_same(fields(given), fields(expected))
    else:
        assert given == expected


KEEP = RANDOM.random((2, 1, 4, 6)) < 0.7
MASKS = {
    "causal": headwise.causal,
    "window": lambda: headwise.window(1, None),
    "window that keeps": lambda: headwise.window(1, 2, keep_first=1),
    "key_lengths": lambda: headwise.key_lengths([3, 6]),
    "key_lengths by query": lambda: headwise.key_lengths(RANDOM.integers(0, 7, (2, 4))),
    "key_starts": lambda: headwise.key_starts(np.array([0, 2], np.int8)),
    "key_padding": lambda: headwise.key_padding(KEEP[:, 0, 1, ::-1]),
    "key_padding of integers": lambda: headwise.key_padding(KEEP[:, 0, 1].astype(int)),
    "documents": lambda: headwise.documents([0, 0, 1, 1], [0, 0, 0, 1, 1, 2]),
    "dense": lambda: headwise.dense(KEEP[0, 0].T, ("Lkv", "Lq")),
    "many": lambda: (headwise.causal() & headwise.key_lengths([5, 6]) & KEEP
                     & headwise.window(3, 0)),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask(copied, name):
    mask = MASKS[name]()
    again = copied(mask)
    assert repr(again) == repr(mask)
    assert_same(headwise.attention(Q, K, V, mask=again),
                headwise.attention(Q, K, V, mask=mask))
    headwise.attention(Q, K, V, mask=again & headwise.causal())


def test_a_copy_of_a_mask_has_arrays_of_its_own(copied):
    array = KEEP[:, 0, 1].copy()
    mask = headwise.key_padding(array)
    expected = headwise.attention(Q, K, V, mask=mask)
    again = copied(mask)
    array[:] = True
    assert_same(headwise.attention(Q, K, V, mask=again), expected)


def test_a_bias(copied):
    bias = headwise.dense(numbers(6, 4).T, ("Lq", "Lkv"))
    assert_same(headwise.attention(Q, K, V, bias=copied(bias)),
                headwise.attention(Q, K, V, bias=bias))


def results():
    result = headwise.attention(
        Q, K, V, attn_weights="per_head", lse=True, softmax_rows=True, scores="raw",
        statistics={"rows": True, "top_keys": 2, "columns": True, "map": True})
    layer = headwise.MultiHeadAttention.create(embed_dim=8, num_heads=2)
    x = numbers(1, 3, 8)
    return [
        result,
        headwise.attention_backward(
            Q, K, V, result.output, result.softmax_rows, Q),
        layer.forward_for_backward(x).backward(x),
        headwise.importance([2, 3], method="random"),
        headwise.explain(Q, K, V, mask=headwise.causal())[1],
        headwise.attention(Q, *numbers(2, 2, 128, 2, 8), key_part="first"),
    ]


def test_results(copied):
    for result in results():
        assert_same(copied(result), result)


def test_a_trace_and_a_sequence(copied):
    trace = headwise.explain(Q, K, V)
    assert str(copied(trace)) == str(trace)
    cache = headwise.KvCache.create(num_kv_heads=1, head_dim=4, max_tokens=16)
    id = cache.add()
    assert copied(id) == id and hash(copied(id)) == hash(id)


create = functools.partial(headwise.MultiHeadAttention.create, embed_dim=24, num_heads=4,
                           seed=3)
TABLES = {"cos": np.cos(numbers(5, 2)), "sin": np.sin(numbers(5, 2))}
LAYERS = {
    "plain": create,
    "sizes": lambda: create(query_dim=24, kdim=24, head_dim=4, v_head_dim=2, bias=False,
                            num_kv_heads=2, dropout=0.25),
    "uneven groups": lambda: create(kv_group_sizes=[1, 3]),
    "no value projection": lambda: create(value_proj=False, out_proj=False),
    "additive": lambda: create(scoring="additive", add_bias_kv=True, add_zero_attn=True),
    "norms": lambda: create(qk_norm={"kind": "layer", "over": "each_head", "bias": True}),
    "rotary": lambda: create(rotary={"rotary_dim": 4, "base": 500.0, "layout": "interleaved",
                                     "scaling": {"kind": "yarn", "factor": 4,
                                                 "original_length": 16}}),
    "rotary tables": lambda: create(rotary={**TABLES, "layout": "interleaved"}),
    "bf16": lambda: create(arithmetic="bf16"),
    "pruned": lambda: headwise.remove_heads(create(rotary={"rotary_dim": 4}), [0, 2]),
    "no heads": lambda: headwise.remove_heads(create(), [0, 1, 2, 3]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer(copied, name):
    layer, x = LAYERS[name](), numbers(2, 5, 24)
    again = copied(layer)
    assert again.config == layer.config and repr(again) == repr(layer)
    assert_same(dict(again.params), dict(layer.params))
    gates = np.linspace(0, 1, layer.config["num_heads"], dtype=np.float32)
    for options in ({}, {"mask": headwise.causal(), "head_gates": gates}):
        assert_same(again(x, **options), layer(x, **options))
    again.set_params({"w_q.weight": again.params["w_q.weight"] + 1})
    assert_same(dict(LAYERS[name]().params), dict(layer.params))


def test_a_layer_whose_rotary_was_set_and_taken(copied):
    layer, x = create(), numbers(1, 5, 24)
    layer.set_rotary({"rotary_dim": 6})
    assert_same(copied(layer)(x), layer(x))
    layer.set_rotary(None)
    assert copied(layer).config["rotary"] is False


def test_what_has_no_copy_says_what_to_do(copied, tmp_path):
    cache = headwise.KvCache.create(num_kv_heads=2, head_dim=8, max_tokens=16)
    page = headwise.view(tmp_path / "page.html", [(Q, K)], list("abcd"), list("abcdef"))
    refused = [
        cache, page, headwise.DecodePlan.create(cache, 4, 2),
        headwise.Executor.with_threads(1),
        headwise.AttentionPlan.create(B=1, Hq=2, Hkv=2, Lq=3, Lkv=3, D=4, Dv=4),
        create().forward_for_backward(numbers(1, 3, 24))]
    for each in refused:
        name = type(each).__name__
        with pytest.raises(TypeError, match=f"a headwise.{name} cannot be pickled or copied"):
            copied(each)
    with pytest.raises(ValueError, match="while an input size is open"):
        copied(create(query_dim="open"))
