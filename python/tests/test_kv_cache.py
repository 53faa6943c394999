"""headwise.KvCache and DecodePlan: against float64 and attention()."""

import gc
import threading

import numpy as np
import pytest
import reference

import headwise

SIZES = {"num_kv_heads": 2, "head_dim": 8, "v_head_dim": 6, "max_tokens": 256,
         "max_sequences": 4, "page_size": 16}


def tokens(count, seed=73):
    """query (count, 4, 8), key (count, 2, 8), value (count, 2, 6)."""
    random = np.random.default_rng(seed)
    return [random.standard_normal((count, *shape), dtype=np.float32)
            for shape in ((4, 8), (2, 8), (2, 6))]


@pytest.fixture
def cache():
    return headwise.KvCache.create(**SIZES)


def test_what_was_appended_is_read(cache):
    _, key, value = tokens(20)
    id = cache.add()
    cache.append([id], key[:7], value[:7])
    cache.append([id], key[None, 7:], value[None, 7:])
    assert cache.length(id) == 20
    for first in (0, 5, 20):
        keys, values = cache.read(id, first)
        np.testing.assert_array_equal(keys, key[first:])
        np.testing.assert_array_equal(values, value[first:])
    assert (cache.sequences, cache.pages, cache.free_pages) == (1, 16, 14)
    assert cache.bytes > 0


@pytest.mark.parametrize("given", [{}, {"window": {"left": 8, "keep_first": 2}, "dtype": "int8"}])
def test_options(given):
    options = headwise.KvCache.create(**{**SIZES, "v_head_dim": 0, **given}).options
    expected = {**SIZES, "v_head_dim": 8, "dtype": "float32", "value_is_key_prefix": False,
                "window": None, "received_heads": 0, **given}
    assert options == expected
    assert headwise.KvCache.create(**options).options == options


def test_what_was_read_outlives_the_cache():
    cache = headwise.KvCache.create(**SIZES)
    _, key, value = tokens(20)
    id = cache.add()
    cache.append([id], key, value)
    keys, _ = cache.read(id)
    del cache
    gc.collect()
    [np.full(320, 9, np.float32) for _ in range(100)]
    np.testing.assert_array_equal(keys, key)


def test_truncate_fork_keep_and_erase(cache):
    _, key, value = tokens(20)
    first = cache.add()
    cache.append([first], key, value)
    second = cache.fork(first)
    cache.truncate(first, 5)
    cache.keep(second, [0, 3, 19])
    np.testing.assert_array_equal(cache.read(first)[0], key[:5])
    np.testing.assert_array_equal(cache.read(second)[1], value[[0, 3, 19]])
    cache.erase(first)
    assert cache.sequences == 1
    with pytest.raises(ValueError, match="sequence"):
        cache.length(first)


def test_ids_are_values(cache):
    first, second = cache.add(), cache.add()
    assert first == first and first != second and first != 3
    assert len({first, second, first}) == 2
    assert repr(first) == "SequenceId(slot=0, generation=0)"


def test_ragged_tokens(cache):
    _, key, value = tokens(9)
    ids = [cache.add() for _ in range(3)]
    cache.append(ids, key, value, offsets=[0, 4, 4, 9])
    assert [cache.length(id) for id in ids] == [4, 0, 5]
    np.testing.assert_array_equal(cache.read(ids[2])[0], key[4:])


def test_values_in_the_keys():
    cache = headwise.KvCache.create(**SIZES, value_is_key_prefix=True)
    _, key, _ = tokens(3)
    id = cache.add()
    cache.append([id], key)
    keys, values = cache.read(id)
    np.testing.assert_array_equal(values, keys[..., :6])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int8"])
def test_the_type_of_the_cache(dtype):
    cache = headwise.KvCache.create(**SIZES, dtype=dtype)
    _, key, value = tokens(20)
    id = cache.add()
    cache.append([id], key.astype(np.float16), value.astype(np.float16))
    error = {"float32": 0, "float16": 0, "bfloat16": 0.01, "int8": 0.02}[dtype]
    np.testing.assert_allclose(cache.read(id)[0], key.astype(np.float16), atol=error * 3)


@pytest.mark.parametrize("chunks", [[12], [5, 7], [1] * 12])
def test_a_prompt_in_chunks_has_the_rows_of_attention(cache, chunks):
    query, key, value = tokens(12)
    plan = headwise.DecodePlan.create(cache, 4, 12, mask=headwise.causal())
    id = cache.add()
    ends = np.cumsum(chunks)
    outputs = [plan.run([id], *(x[end - chunk:end] for x in (query, key, value)))
               for end, chunk in zip(ends, chunks)]
    output = np.concatenate(outputs)
    np.testing.assert_array_equal(
        output, headwise.attention(query, key, value, mask=headwise.causal()))
    expected, _ = reference.attention(query[None], key[None], value[None],
                                      np.tri(12, dtype=bool))
    np.testing.assert_allclose(output, expected[0], atol=1e-5)


def test_everything_a_run_returns(cache):
    query, key, value = tokens(9)
    plan = headwise.DecodePlan.create(cache, 4, 9, mask=headwise.causal(),
                                      attn_weights="per_head", scores="raw")
    ids = [cache.add() for _ in range(2)]
    cache.append(ids[1:], key[:3], value[:3])
    result = plan.run(ids, query, key, value, offsets=[0, 4, 9], lse=True, softmax_rows=True)
    assert result.output.shape == (9, 4, 6)
    assert result.lse.shape == (4, 9)
    assert result.softmax_rows.shape == (4, 9, 2)
    assert result.attn_weights.shape == result.scores.shape == (2, 4, 5, 8)
    for n, (begin, end) in enumerate([(0, 4), (4, 9)]):
        keys, values = cache.read(ids[n])
        mask = np.tri(end - begin, len(keys), len(keys) - (end - begin), dtype=bool)
        output, weights = reference.attention(query[None, begin:end], keys[None], values[None],
                                              mask)
        np.testing.assert_allclose(result.output[begin:end], output[0], atol=1e-5)
        np.testing.assert_allclose(
            result.attn_weights[n, :, :end - begin, :len(keys)], weights[0], atol=1e-5)
        scores = reference.scores_of(query[None, begin:end], keys[None])[0]
        np.testing.assert_allclose(
            np.where(mask, result.scores[n, :, :end - begin, :len(keys)], 0),
            np.where(mask, scores, 0), atol=1e-5)
        np.testing.assert_allclose(
            result.lse[:, begin:end],
            np.log(np.exp(np.where(mask, scores, -np.inf)).sum(-1)), atol=1e-5)


STATISTICS = {"rows": True, "top_keys": 3, "columns": True, "map": True}
OF_STATISTICS = ("rows", "top_keys", "top_weights", "columns", "map_mean", "map_largest",
                 "means", "counted", "rows_without_key")


def filled(cache, lengths):
    """New sequences of these lengths."""
    _, key, value = tokens(sum(lengths), seed=79)
    ids = [cache.add() for _ in lengths]
    cache.append(ids, key, value, offsets=np.cumsum([0, *lengths]))
    return ids


def all_tokens(cache, ids):
    """All keys and values of the sequences, one after another, with offsets."""
    held = [cache.read(id) for id in ids]
    return (*(np.concatenate([pair[n] for pair in held]) for n in range(2)),
            np.cumsum([0, *(len(keys) for keys, _ in held)]))


def same_statistics(statistics, expected):
    for name in OF_STATISTICS:
        np.testing.assert_array_equal(getattr(statistics, name), getattr(expected, name), name)


def test_statistics_of_a_ragged_run(cache):
    plan = headwise.DecodePlan.create(cache, 4, 12, mask=headwise.causal(), statistics=STATISTICS)
    lengths, added = [3, 0, 70], [4, 1, 7]
    ids = filled(cache, lengths)
    arrays, offsets = tokens(12), np.cumsum([0, *added])
    result = plan.run(ids, *arrays, offsets=offsets)
    keys, values, key_offsets = all_tokens(cache, ids)
    same_statistics(result.statistics, headwise.attention(
        arrays[0], keys, values, mask=headwise.causal(), query_start=lengths,
        offsets=(offsets, key_offsets), statistics=STATISTICS).statistics)


def test_statistics_of_a_batch(cache):
    plan = headwise.DecodePlan.create(cache, 4, 6, mask=headwise.causal(), statistics=STATISTICS)
    lengths = [30, 4]
    ids = filled(cache, lengths)
    arrays = [x.reshape(2, 3, *x.shape[1:]) for x in tokens(6)]
    statistics = plan.run(ids, *arrays).statistics
    assert statistics.rows.shape == (2, 4, 3, 8)
    assert statistics.columns.shape == (2, 4, 33)
    assert statistics.map_mean.shape == (2, 4, 3, 33)
    counts = np.zeros(4, np.int64)
    for n, (id, length) in enumerate(zip(ids, lengths)):
        expected = headwise.attention(
            arrays[0][n], *cache.read(id), mask=headwise.causal(), query_start=length,
            statistics=STATISTICS).statistics
        held = length + 3
        np.testing.assert_array_equal(statistics.rows[n], expected.rows)
        np.testing.assert_array_equal(statistics.top_keys[n], expected.top_keys)
        np.testing.assert_array_equal(statistics.columns[n, :, :held], expected.columns)
        np.testing.assert_array_equal(statistics.columns[n, :, held:], 0)
        np.testing.assert_array_equal(statistics.map_mean[n, :, :, :held], expected.map_mean)
        counts += expected.counted
    np.testing.assert_array_equal(statistics.counted, counts)
    np.testing.assert_allclose(statistics.means, statistics.rows.mean((0, 2)), atol=1e-6)


def test_statistics_of_one_sequence_without_a_batch(cache):
    plan = headwise.DecodePlan.create(cache, 4, 6, mask=headwise.causal(), statistics=STATISTICS,
                                      scores="softmax")
    arrays = tokens(6)
    result = plan.run([cache.add()], *arrays)
    expected = headwise.attention(*arrays, mask=headwise.causal(), statistics=STATISTICS,
                                  scores="softmax")
    same_statistics(result.statistics, expected.statistics)
    np.testing.assert_array_equal(result.output, expected.output)
    np.testing.assert_array_equal(result.scores, expected.scores)


def test_a_run_without_sequences(cache):
    plan = headwise.DecodePlan.create(cache, 4, 6, statistics={"rows": True})
    query, key, value = (x[None][:0, :0] for x in tokens(2))
    result = plan.run([], query, key, value)
    assert result.output.shape == (0, 0, 4, 6)
    assert result.statistics.rows.shape == (0, 4, 0, 8)


def test_out_and_mean_weights(cache):
    query, key, value = (x[None] for x in tokens(5))
    plan = headwise.DecodePlan.create(cache, 4, 5, attn_weights="mean")
    out = np.empty((1, 5, 4, 6), np.float32)
    result = plan.run([cache.add()], query, key, value, out=out)
    assert result.output is out
    output, weights = reference.attention(query, key, value)
    np.testing.assert_allclose(out, output, atol=1e-5)
    np.testing.assert_allclose(result.attn_weights[0], weights[0].mean(0, keepdims=True),
                               atol=1e-5)


def test_16_bit_tensors(cache):
    arrays = [x.astype(np.float16) for x in tokens(5)]
    plan = headwise.DecodePlan.create(cache, 4, 5)
    output = plan.run([cache.add()], *arrays)
    assert output.dtype == np.float16
    expected, _ = reference.attention(*(x[None] for x in arrays))
    np.testing.assert_allclose(output, expected[0], atol=1e-3)


def test_received_attention():
    cache = headwise.KvCache.create(**SIZES, received_heads=4)
    query, key, value = tokens(6)
    plan = headwise.DecodePlan.create(cache, 4, 6, mask=headwise.causal())
    id = cache.add()
    plan.run([id], query, key, value)
    _, weights = reference.attention(query[None], key[None], value[None], np.tri(6, dtype=bool))
    np.testing.assert_allclose(cache.read_received(id), weights[0].sum(1), atol=1e-5)
    np.testing.assert_array_equal(cache.read_received(id, 4), cache.read_received(id)[:, 4:])
    with pytest.raises(NotImplementedError, match="truncate"):
        cache.truncate(id, 1)


def test_a_rolling_window():
    cache = headwise.KvCache.create(**SIZES, window={"left": 3})
    query, key, value = tokens(40)
    plan = headwise.DecodePlan.create(cache, 4, 1, mask=headwise.causal())
    id = cache.add()
    outputs = [plan.run([id], *(x[n:n + 1] for x in (query, key, value))) for n in range(40)]
    expected, _ = reference.attention(
        query[None], key[None], value[None],
        np.tri(40, dtype=bool) & ~np.tri(40, k=-4, dtype=bool))
    np.testing.assert_allclose(np.concatenate(outputs), expected[0], atol=1e-5)
    with pytest.raises(ValueError, match="gave back"):
        cache.read(id)


def test_a_plan_keeps_its_cache_and_options():
    def plan():
        cache = headwise.KvCache.create(**SIZES)
        return headwise.DecodePlan.create(
            cache, 4, 5, sinks=np.arange(4, dtype=np.float32),
            executor=headwise.Executor.with_threads(1)), cache.add()

    arrays = tokens(5)
    (made, id), (expected, _) = plan(), plan()
    gc.collect()
    [np.full(1000, 9, np.float32) for _ in range(100)]
    np.testing.assert_array_equal(made.run([id], *arrays), expected.run([id], *arrays))


def test_threads_share_a_cache():
    cache = headwise.KvCache.create(**{**SIZES, "max_tokens": 8192, "max_sequences": 8})
    plan = headwise.DecodePlan.create(cache, 4, 32, mask=headwise.causal(),
                                      executor=headwise.Executor.with_threads(1))
    given = [tokens(960, seed) for seed in range(8)]
    ids = [cache.add() for _ in given]
    outputs = [None] * len(ids)

    def decode(n):
        outputs[n] = np.concatenate([
            plan.run([ids[n]], *(x[begin:begin + 32] for x in given[n]))
            for begin in range(0, 960, 32)])

    threads = [threading.Thread(target=decode, args=[n]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for id, output, arrays in zip(ids, outputs, given):
        np.testing.assert_array_equal(cache.read(id)[0], arrays[1])
        np.testing.assert_array_equal(
            output, headwise.attention(*arrays, mask=headwise.causal()))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"page_size": 5}, ValueError, "page_size"),
        ({"head_dim": 0}, ValueError, "head_dim"),
        ({"head_dim": -1}, ValueError, "head_dim is -1"),
        ({"dtype": "float64"}, ValueError, "dtype is 'float64', expected float32"),
        ({"window": 3}, TypeError, "window is 3, expected a dict"),
        ({"window": {"right": 3}}, TypeError, "window has no option 'right'"),
        ({"max_tokens": 2**50}, MemoryError, "KvCache|kv_cache|memory"),
    ],
)
def test_wrong_caches(options, error, message):
    with pytest.raises(error, match=message):
        headwise.KvCache.create(**{**SIZES, **options})


def test_wrong_tokens(cache):
    _, key, value = tokens(5)
    id = cache.add()
    for ids, given, error, message in [
            ([id], (key, value[:4]), ValueError, "value"),
            ([id], (key[..., :4], value), ValueError, "key"),
            ([id], (key, None), ValueError, "value"),
            ([id], (key.astype(np.float64), value), TypeError, "KvCache.append: key .*float64"),
            ([id], (key, value.astype(np.float16)), TypeError, "value"),
            ([id, id], (key, value, [0, 2, 5]), ValueError, "twice|once"),
            ([3], (key, value), TypeError, "ids is 3, expected a list"),
            (3, (key, value), TypeError, "ids is 3, expected a list"),
            ([id], (key, value, [0, 9]), ValueError, "offsets"),
            ([id], (np.repeat(key, 60, 0), np.repeat(value, 60, 0)), ValueError, "pages|room"),
    ]:
        with pytest.raises(error, match=message):
            cache.append(ids, *given)
    assert cache.length(id) == 0
    with pytest.raises(ValueError, match="indices"):
        cache.keep(id, [0])
    with pytest.raises(ValueError, match="length"):
        cache.truncate(id, 1)
    with pytest.raises(ValueError):
        cache.read(id, 1)
    with pytest.raises(NotImplementedError, match="received"):
        cache.read_received(id)


def test_wrong_runs(cache):
    query, key, value = tokens(5)
    plan = headwise.DecodePlan.create(cache, 4, 4)
    id = cache.add()
    with pytest.raises(ValueError, match="4"):
        plan.run([id], query, key, value)
    with pytest.raises(ValueError, match="out"):
        plan.run([id], query[:2], key[:2], value[:2], out=np.empty((2, 4), np.float32))
    with pytest.raises(ValueError, match="offsets"):
        plan.run([id], query[:2], key[:2], value[:2], offsets=[5, -2**62])
    with pytest.raises(TypeError, match="key"):
        plan.run([id], query[:2], key[:2].astype(np.float16), value[:2])
    assert cache.length(id) == 0
    for options, error, message in [
            ({"query_start": 3}, ValueError, "query_start"),
            ({"offsets": [0, 1]}, ValueError, "offsets"),
            ({"statistics": {"top_keys": 65}}, ValueError, "statistics.top_keys"),
            ({"colour": 1}, TypeError, "no option 'colour'")]:
        with pytest.raises(error, match=message):
            headwise.DecodePlan.create(cache, 4, 4, **options)
    with pytest.raises(TypeError, match="cache is None, expected a headwise.KvCache"):
        headwise.DecodePlan.create(None, 4, 4)
