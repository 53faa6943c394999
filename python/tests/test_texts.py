"""What objects say of themselves, and what a layer refuses to pretend."""

import headwise
import numpy as np
import pytest

X = np.ones((1, 8, 2, 4), np.float32)


def test_a_result_names_what_was_asked_for():
    result = headwise.attention(X, X, X, lse=True, statistics={"columns": True})
    assert repr(result) == ("AttentionResult(output=float32 (1, 8, 2, 4), lse=float32 (1, 2, 8), "
                            "statistics=AttentionStatistics(columns=float32 (1, 2, 8)))")


def test_gradients_have_the_shapes_of_their_tensors():
    saved = headwise.attention(X, X, X, softmax_rows=True)
    gradients = headwise.attention_backward(X, X, X, saved.output, saved.softmax_rows, X,
                                            gradients=["value", "query"])
    assert repr(gradients) == ("AttentionGradients(query=float32 (1, 8, 2, 4), "
                               "value=float32 (1, 8, 2, 4))")


def test_a_bias_has_its_extents():
    assert repr(headwise.dense(X[0, :, 0])) == "Bias(float32 (8, 4))"


def test_a_long_list_ends_with_its_length():
    found = headwise.importance([4, 4], method="random")
    assert repr(found).startswith("HeadImportance(scores=[float64 (4,), float64 (4,)], order=[(")
    assert repr(found).endswith(", ... 8 in all])")


def test_a_layer_has_the_arguments_that_make_it():
    layer = headwise.MultiHeadAttention.create(embed_dim=64, num_heads=8, kv_group_sizes=[1, 7],
                                               dropout=0.5, query_dim="open")
    assert repr(layer) == (
        "MultiHeadAttention(embed_dim=64, num_heads=8, num_kv_heads=2, kv_group_sizes=[1, 7], "
        "dropout=0.5, query_dim='open', kdim=64, vdim=64, head_dim=8, v_head_dim=8)")
    given = eval(repr(layer)[len("MultiHeadAttention"):].replace("(", "dict(", 1))
    assert headwise.MultiHeadAttention.create(**given).config == layer.config


def test_gradients_of_a_layer_name_some_parameters():
    layer = headwise.MultiHeadAttention.create(embed_dim=8, num_heads=2)
    x = np.ones((1, 3, 8), np.float32)
    gradients = layer.forward_for_backward(x).backward(x)
    assert repr(gradients).endswith("'w_v.bias': float32 (8,), ... 8 in all})")


def test_a_layer_is_called_as_it_is_in_torch():
    layer = headwise.MultiHeadAttention.create(embed_dim=8, num_heads=2)
    x = np.arange(24, dtype=np.float32).reshape(1, 3, 8) / 24
    result = layer(x, x, x, mask=headwise.causal(), lse=True)
    expected = layer.forward(x, mask=headwise.causal(), lse=True)
    assert np.array_equal(result.output, expected.output)
    assert np.array_equal(result.lse, expected.lse)


def test_a_parameter_is_not_replaced_in_silence():
    layer = headwise.MultiHeadAttention.create(embed_dim=8, num_heads=2)
    with pytest.raises(TypeError, match="does not support item assignment"):
        layer.params["w_q.bias"] = np.zeros(8, np.float32)
    twin = headwise.MultiHeadAttention.from_params(layer.params, num_heads=2)
    twin.set_params({name: -value for name, value in layer.params.items()})
    layer.set_params(twin.params)
    assert all(np.array_equal(layer.params[name], twin.params[name]) for name in twin.params)


def test_a_mask_is_the_call_that_makes_it():
    mask = (headwise.causal() & headwise.key_lengths([20, 13]) & headwise.window(2, 0, 1)
            & np.ones((4, 4), bool) & headwise.key_starts(list(range(9))))
    assert repr(mask) == ("causal() & key_lengths([20, 13]) & window(2, 0, 1) & "
                          "dense(bool (4, 4), ('Lq', 'Lkv')) & "
                          "key_starts([0, 1, 2, 3, 4, 5, ... 9 in all])")


def test_plans_caches_and_pages_have_their_numbers(tmp_path):
    cache = headwise.KvCache.create(num_kv_heads=2, head_dim=8, max_tokens=512)
    cache.add()
    plan = headwise.DecodePlan.create(cache, 4, 2, mask=headwise.causal())
    shown = ("<KvCache: 1 of 1 sequences, 4 of 4 pages free, 2 heads of 8, float32, "
             "0.1 MiB>")
    assert repr(plan) == f"DecodePlan(cache={shown}, num_heads=4, max_queries=2, mask=causal())"
    plan = headwise.AttentionPlan.create(B=1, Hq=2, Hkv=2, Lq=3, Lkv=3, D=4, Dv=4, scale=0.5)
    assert repr(plan) == "AttentionPlan(B=1, Hq=2, Hkv=2, Lq=3, Lkv=3, D=4, Dv=4, scale=0.5)"
    page = headwise.view(tmp_path / "page.html", [(X, X)], list("abcdefgh"), title="T")
    assert repr(page).startswith("ViewPage(layers=1, query_labels=['a', 'b', ")


def test_a_trace_is_a_table_in_a_notebook():
    trace = headwise.explain(X, X, X, mask=headwise.causal())
    table = trace._repr_html_()
    assert table.count("<tr") == 1 + len(trace)
    assert "<th>scores</th>" in table and "(B=1, H=2, Lq=8, Lkv=8)" in table
    assert repr(trace[0]).startswith("TracedStep(name='scores', axes=('B', 'H', 'Lq', 'Lkv'), ")
