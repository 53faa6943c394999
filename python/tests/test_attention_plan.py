"""headwise.AttentionPlan: the results of attention()."""

import gc

import numpy as np
import pytest

import headwise

SIZES = {"B": 2, "Hq": 4, "Hkv": 2, "Lq": 5, "Lkv": 7, "D": 8, "Dv": 6}


@pytest.fixture
def tensors():
    random = np.random.default_rng(67)
    return [
        random.standard_normal(shape, dtype=np.float32)
        for shape in ((2, 5, 4, 8), (2, 7, 2, 8), (2, 7, 2, 6))
    ]


def test_the_bits_of_attention(tensors):
    options = {"mask": headwise.causal(), "attn_weights": "per_head"}
    plan = headwise.AttentionPlan.create(**SIZES, **options)
    assert plan.workspace_bytes > 0
    for _ in range(2):
        result = plan.run(*tensors, lse=True)
        expected = headwise.attention(*tensors, lse=True, **options)
        for name in ("output", "attn_weights", "lse"):
            np.testing.assert_array_equal(getattr(result, name), getattr(expected, name))


def test_a_plan_keeps_its_options(tensors):
    def plan():
        return headwise.AttentionPlan.create(
            **SIZES,
            mask=headwise.key_padding(np.arange(14).reshape(2, 7) % 3 != 0),
            sinks=np.arange(4, dtype=np.float32),
            query_start=[1, 2],
            executor=headwise.Executor.with_threads(1),
        )

    made = plan()
    gc.collect()
    [np.full(1000, 9, np.float32) for _ in range(100)]
    np.testing.assert_array_equal(made.run(*tensors), plan().run(*tensors))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scale": "x"}, TypeError, "AttentionPlan.create: scale is 'x'"),
        ({"lse": True}, TypeError, "no option 'lse'"),
        ({"Hq": 3}, ValueError, "query has 3 heads"),
        ({"B": -1}, ValueError, "B is -1, expected 0 to"),
        ({"D": 1.5}, TypeError, "D is 1.5, expected a whole number"),
    ],
)
def test_wrong_plans(options, error, message):
    with pytest.raises(error, match=message):
        headwise.AttentionPlan.create(**{**SIZES, **options})


def test_tensors_of_other_sizes(tensors):
    plan = headwise.AttentionPlan.create(**SIZES)
    with pytest.raises(ValueError, match="query has shape"):
        plan.run(tensors[0][:, :4], *tensors[1:])


def test_alibi_slopes():
    slopes = headwise.alibi_slopes(4)
    assert slopes.dtype == np.float32
    np.testing.assert_array_equal(slopes, [0.25, 0.0625, 2**-6, 2**-8])
    with pytest.raises(ValueError, match="num_heads"):
        headwise.alibi_slopes(0)
