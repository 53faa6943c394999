"""Arrays that carry a mask of their elements: an error wherever an array comes in."""

import numpy as np
import pytest

import headwise


def numbers(*shape):
    return np.random.default_rng(43).standard_normal(shape, dtype=np.float32)


QUERY, OTHER = numbers(2, 3, 2, 4), numbers(2, 3, 2, 4)
CACHED = numbers(3, 2, 4)


def masked(array):
    array = np.asarray(array)
    return np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) == 1)


def attend(query=QUERY, key=OTHER, value=OTHER, **options):
    return headwise.attention(query, key, value, **options)


def backward(name):
    forward = attend(softmax_rows=True, attn_weights="per_head")
    given = {"query": QUERY, "key": OTHER, "value": OTHER, "output": forward.output,
             "softmax_rows": forward.softmax_rows, "d_output": forward.output}
    extra = {"d_attn_weights": forward.attn_weights}
    for arguments in (given, extra):
        if name in arguments:
            arguments[name] = masked(arguments[name])
    return headwise.attention_backward(**given, **extra, gradients=["query"],
                                       attn_weights="per_head")


def layer():
    return headwise.MultiHeadAttention.create(embed_dim=8, num_heads=2)


def cache():
    return headwise.KvCache.create(num_kv_heads=2, head_dim=4, max_tokens=16, page_size=16)


def run(query=CACHED, key=CACHED, value=CACHED, offsets=None):
    made = cache()
    plan = headwise.DecodePlan.create(made, 2, 3)
    return plan.run([made.add()], query, key, value, offsets=offsets)


def append(**arguments):
    made = cache()
    made.append([made.add()], **{"key": CACHED, "value": CACHED, **arguments})


def keep():
    made = cache()
    id = made.add()
    made.append([id], CACHED, CACHED)
    made.keep(id, masked([0, 2]))


def page(create):
    return create(query_labels=list("abc"), key_labels=list("abc"))


PLACES = {
    "query": lambda: attend(query=masked(QUERY)),
    "key": lambda: attend(key=masked(OTHER)),
    "value": lambda: attend(value=masked(OTHER)),
    "mask": lambda: attend(mask=masked(np.ones((3, 3), bool))),
    "out": lambda: attend(out=masked(QUERY.copy())),
    "bias": lambda: attend(bias=masked(numbers(3, 3))),
    "alibi": lambda: attend(alibi=masked(numbers(2))),
    "sinks": lambda: attend(sinks=masked(numbers(2))),
    "score_weight": lambda: attend(score_weight=masked(numbers(2, 4))),
    "kv_groups": lambda: attend(kv_groups=masked([1, 1])),
    "query_start": lambda: attend(query_start=masked([0, 1])),
    "offsets": lambda: attend(offsets=masked([0, 3, 3])),
    "t5_bias.table": lambda: attend(t5_bias={"table": masked(numbers(4, 2))}),
    "dropout.keep_mask": lambda: attend(
        dropout={"p": 0.5, "training": True, "keep_mask": masked(np.ones((2, 2, 3, 3), bool))}),
    "statistics.separators": lambda: attend(
        statistics={"rows": True, "separators": masked(np.ones((2, 3), bool))}),
    "added_keys.bias_k": lambda: attend(
        added_keys={"bias_k": masked(numbers(2, 4)), "bias_v": numbers(2, 4)}),
    "dense: array": lambda: headwise.dense(masked(np.ones((3, 3), bool))),
    "key_lengths: lengths": lambda: headwise.key_lengths(masked([1, 2])),
    "key_padding: padding": lambda: headwise.key_padding(masked(np.ones((2, 3), bool))),
    "documents: query_ids": lambda: headwise.documents(
        masked(np.ones((2, 3), int)), np.ones((2, 3), int)),
    "AttentionPlan.create: sinks": lambda: headwise.AttentionPlan.create(
        B=1, Hq=2, Hkv=2, Lq=3, Lkv=3, D=4, Dv=4, sinks=masked(numbers(2))),
    "attention_backward: query": lambda: backward("query"),
    "attention_backward: output": lambda: backward("output"),
    "attention_backward: d_output": lambda: backward("d_output"),
    "attention_backward: softmax_rows": lambda: backward("softmax_rows"),
    "attention_backward: d_attn_weights": lambda: backward("d_attn_weights"),
    "KvCache.append: key": lambda: append(key=masked(CACHED)),
    "KvCache.append: value": lambda: append(value=masked(CACHED)),
    "KvCache.append: offsets": lambda: append(offsets=masked([0, 3])),
    "KvCache.keep: indices": keep,
    "DecodePlan.run: query": lambda: run(query=masked(CACHED)),
    "DecodePlan.run: key": lambda: run(key=masked(CACHED)),
    "DecodePlan.run: value": lambda: run(value=masked(CACHED)),
    "DecodePlan.run: offsets": lambda: run(offsets=masked([0, 3])),
    "MultiHeadAttention.forward: query": lambda: layer().forward(masked(numbers(2, 3, 8))),
    "MultiHeadAttention.forward: key": lambda: layer().forward(
        numbers(2, 3, 8), masked(numbers(2, 3, 8))),
    "MultiHeadAttention.forward: head_gates": lambda: layer().forward(
        numbers(2, 3, 8), head_gates=masked(numbers(2))),
    "SavedLayer.backward: d_output": lambda: layer().forward_for_backward(
        numbers(2, 3, 8)).backward(masked(numbers(2, 3, 8))),
    "set_params: w_q.bias": lambda: layer().set_params({"w_q.bias": masked(numbers(8))}),
    "from_params: w_q.weight": lambda: headwise.MultiHeadAttention.from_params(
        {**layer().params, "w_q.weight": masked(numbers(8, 8))}, num_heads=2),
    "explain: query": lambda: headwise.explain(masked(QUERY), OTHER, OTHER),
    "ViewPage.add: query": lambda: page(headwise.ViewPage.create).add(masked(QUERY), OTHER),
    "ViewPage.add: key": lambda: page(headwise.ViewPage.create).add(QUERY, masked(OTHER)),
    "add_attn_weights: attn_weights": lambda: page(headwise.ViewPage.of_attn_weights)
    .add_attn_weights(masked(np.full((2, 2, 3, 3), 1 / 3, np.float32))),
    "importance: gradients": lambda: headwise.importance(
        [2], examples=1, method="fisher",
        gradients=lambda begin, end, gates: [masked(np.zeros((end - begin, 2), np.float32))]),
}


@pytest.mark.parametrize("place", PLACES)
def test_masked_arrays(place):
    with pytest.raises(
            TypeError,
            match=rf"{place} is a MaskedArray, whose mask is not read, expected .*filled\(0\)"):
        PLACES[place]()


def test_an_array_that_masks_nothing_is_one_too():
    with pytest.raises(TypeError, match="query is a MaskedArray"):
        attend(query=np.ma.masked_array(QUERY))


def test_what_the_error_says_to_pass():
    np.testing.assert_array_equal(
        attend(query=masked(QUERY).filled(0)), attend(query=np.where(
            np.arange(QUERY.size).reshape(QUERY.shape) == 1, 0, QUERY)))


def test_masked_tensors_of_torch():
    torch = pytest.importorskip("torch")
    query = torch.as_tensor(QUERY)
    with pytest.warns(UserWarning, match="prototype"):
        given = torch.masked.masked_tensor(query, query > 0)
    with pytest.raises(TypeError, match=r"key is a MaskedTensor, .* tensor.to_tensor\(0\)"):
        attend(query, given, query)
    assert isinstance(attend(query, given.to_tensor(0), query), torch.Tensor)
