"""headwise.AttentionPlan: the results of attention()."""

import gc
import threading

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


RAGGED = [0, 1, 4, 10]


def ragged_plan(**options):
    return headwise.AttentionPlan.create(
        **{**SIZES, "B": 1, "Lq": 10, "Lkv": 10}, offsets=RAGGED,
        mask=headwise.causal(), alibi=headwise.alibi_slopes(4), **options)


def rows(count):
    random = np.random.default_rng(37)
    return [random.standard_normal((count, *shape), dtype=np.float32)
            for shape in ((4, 8), (2, 8), (2, 6))]


@pytest.mark.parametrize("offsets", [[0, 6, 6, 8], [0, 0, 0, 0], RAGGED, ([0, 1, 2, 3], RAGGED)])
def test_offsets_of_a_run(offsets):
    plan = ragged_plan(statistics={"rows": True, "columns": True})
    queries, keys = offsets if isinstance(offsets, tuple) else (offsets, offsets)
    query, key, value = rows(10)
    given = query[:queries[-1]], key[:keys[-1]], value[:keys[-1]]
    own = plan.run(*rows(10)).output
    gc.collect()
    [np.full(4, 9, np.int64) for _ in range(1000)]
    expected = headwise.attention(
        *given, offsets=offsets, mask=headwise.causal(), alibi=headwise.alibi_slopes(4),
        statistics={"rows": True, "columns": True})
    result = plan.run(*given, offsets=offsets)
    np.testing.assert_array_equal(plan.run(*rows(10)).output, own)
    np.testing.assert_array_equal(result.output, expected.output)
    for name in ("rows", "columns", "means", "counted"):
        np.testing.assert_array_equal(getattr(result.statistics, name),
                                      getattr(expected.statistics, name))


@pytest.mark.parametrize(
    ("offsets", "error", "message"),
    [
        ([0, 7, 8, 9], ValueError, "7"),
        ([0, 4, 8], ValueError, r"\(3,\)|\(3\)"),
        ([0, 4, 2, 6], ValueError, "offsets"),
        ([1, 2, 3, 4], ValueError, "offsets"),
        ([0, 1.5, 2, 3], TypeError, "run: offsets is 1.5"),
        (object(), TypeError, "run: offsets is a object"),
    ],
)
def test_wrong_offsets_leave_the_plan_as_it_was(offsets, error, message):
    plan = ragged_plan()
    before = plan.run(*rows(10))
    with pytest.raises(error, match=message):
        plan.run(*rows(10), offsets=offsets)
    np.testing.assert_array_equal(plan.run(*rows(10)), before)


def test_a_plan_without_offsets_takes_none():
    with pytest.raises(ValueError, match="offsets"):
        headwise.AttentionPlan.create(**SIZES).run(*rows(10), offsets=[0, 5, 10])


def test_threads_share_a_plan_with_offsets_of_their_own():
    plan = ragged_plan()
    choices = [[0, 4, 4, 10], [0, 0, 5, 6], RAGGED]
    outputs = {}

    def run(n):
        arrays = [each[:choices[n][-1]] for each in rows(10)]
        outputs[n] = [plan.run(*arrays, offsets=choices[n]) for _ in range(100)]

    threads = [threading.Thread(target=run, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, made in outputs.items():
        arrays = [each[:choices[n][-1]] for each in rows(10)]
        expected = headwise.attention(*arrays, offsets=choices[n], mask=headwise.causal(),
                                      alibi=headwise.alibi_slopes(4))
        for output in made:
            np.testing.assert_array_equal(output, expected)


def test_alibi_slopes():
    slopes = headwise.alibi_slopes(4)
    assert slopes.dtype == np.float32
    np.testing.assert_array_equal(slopes, [0.25, 0.0625, 2**-6, 2**-8])
    with pytest.raises(ValueError, match="num_heads"):
        headwise.alibi_slopes(0)
