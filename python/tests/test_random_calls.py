"""Random calls: attention, its gradients and caches against float64, and the bits of
the same call in other layouts.

HEADWISE_RANDOM_CALLS, HEADWISE_RANDOM_BACKWARD_CALLS and HEADWISE_RANDOM_DECODE_CALLS
say how many, HEADWISE_RANDOM_SEED which.
"""

import numpy as np
import pytest

import headwise

pytest.importorskip("ml_dtypes")

from random_call import AXES, DTYPES, RandomCall, draws, laid_out, maybe, one_of  # noqa: E402
from random_reference import Reference  # noqa: E402

ONE_THREAD = headwise.Executor.with_threads(1)
# The error of one rounding to the type, relative.
ROUNDING = {"float32": 2**-24, "float16": 2**-11, "bfloat16": 2**-8}
OUTPUTS = ("output", "attn_weights", "lse", "softmax_rows", "scores")
STATISTICS = ("rows", "columns", "top_keys", "top_weights", "means", "counted")


def arrays_of(given):
    """The arrays of a result by name."""
    if not isinstance(given, headwise.AttentionResult):
        return {"output": given}
    arrays = {name: getattr(given, name) for name in OUTPUTS}
    if given.statistics is not None:
        arrays |= {name: getattr(given.statistics, name) for name in STATISTICS}
    return {name: array for name, array in arrays.items() if array is not None}


def bits(array):
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def same(arrays, expected):
    assert arrays.keys() == expected.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(bits(array), bits(expected[name]), name)


def close(name, array, expected, dtype="float32", size=None):
    """An error may be 3e-5 of `size`, plus the rounding of the element to `dtype`."""
    expected = np.asarray(expected)
    if size is None:
        size = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    array = np.asarray(array, np.float64)
    np.testing.assert_array_equal(np.isnan(array), np.isnan(expected), name)
    with np.errstate(invalid="ignore"):
        error = np.where(array == expected, 0, np.abs(array - expected))
        most = 3e-5 * size + 2 * ROUNDING[dtype] * np.abs(expected)
    wrong = (error > most) | (np.isinf(expected) & (array != expected))
    assert not wrong.any(), f"{name}{np.argwhere(wrong)[0]}: {array[wrong][0]}, " \
        f"expected {expected[wrong][0]}"


def attend(call, chosen=slice(None), arrays=None, **more):
    arrays = [call.query, call.key, call.value] if arrays is None else arrays
    return headwise.attention(*arrays, **call.options(chosen), **call.outputs, **more)


def check_values(call, arrays):
    reference = Reference(call)
    close("output", arrays["output"], reference.output, np.dtype(call.dtype).name)
    if call.attn_weights is not None:
        expected = {"per_head": reference.weights, "after_dropout": reference.dropped,
                    "mean": reference.weights.mean(1, keepdims=True)}[call.attn_weights]
        close("attn_weights", arrays["attn_weights"], expected)
    if call.outputs["lse"]:
        close("lse", arrays["lse"], reference.lse)
    if call.outputs["softmax_rows"]:
        largest, total = np.moveaxis(arrays["softmax_rows"].astype(np.float64), -1, 0)
        with np.errstate(divide="ignore"):
            close("softmax_rows", np.where(total == 0, 0, largest) * np.log(2) + np.log(total),
                  reference.lse)
    if call.outputs["scores"] is not None:
        expected = {"raw": reference.raw, "softcap": reference.capped,
                    "bias": reference.biased, "softmax": reference.weights}
        close("scores", arrays["scores"], expected[call.outputs["scores"]])
    if "statistics" in call.outputs:
        rows, columns = reference.statistics()
        for name, expected in rows.items():
            close(name, arrays["rows"][..., headwise.STATISTICS.index(name)], expected)
        close("columns", arrays["columns"], columns)


def check_layouts(call, expected):
    """The bits do not depend on strides, threads, the batch or how it is laid out."""
    moved = [laid_out(call.random, array) for array in (call.query, call.key, call.value)]
    out = laid_out(call.random, np.zeros((call.B, call.Lq, call.Hq, call.Dv), call.dtype))
    same(arrays_of(attend(call, arrays=moved, out=out, executor=ONE_THREAD)), expected)
    b = int(call.random.integers(call.B))
    alone = attend(call, slice(b, b + 1), [array[b] for array in moved])
    same({name: array for name, array in arrays_of(alone).items() if name not in (
        "means", "counted")},
         {name: array[b] for name, array in expected.items() if name not in (
             "means", "counted")})


def check_ragged(call, expected):
    """All sequences one after another."""
    rows = [array.reshape(1, -1, *array.shape[2:])
            for array in (call.query, call.key, call.value)]
    offsets = [np.arange(call.B + 1) * length for length in (call.Lq, call.Lkv)]
    ragged = arrays_of(attend(call, arrays=rows, offsets=tuple(offsets)))
    for name, array in ragged.items():
        if name in ("lse", "softmax_rows", "columns", "rows", "top_keys", "top_weights"):
            array = array[0].reshape(call.Hq, call.B, -1, *array.shape[3:]).swapaxes(0, 1)
        ragged[name] = array.reshape(expected[name].shape)
    same(ragged, expected)


def check_plan(call, expected):
    sizes = {name: getattr(call, name) for name in ("B", "Hq", "Hkv", "Lq", "Lkv", "D", "Dv")}
    outputs = dict(call.outputs)
    returned = {name: outputs.pop(name) for name in ("lse", "softmax_rows")}
    plan = headwise.AttentionPlan.create(**sizes, **call.options(), **outputs)
    same(arrays_of(plan.run(call.query, call.key, call.value, **returned)), expected)


def check_masked_keys(call, expected):
    """What a key holds that nobody may attend to reaches no output."""
    if call.outputs["scores"] in ("raw", "softcap") or call.empty_rows == "uniform":
        return
    hidden = ~call.allowed().any((1, 2))
    key, value = call.key.copy(), call.value.copy()
    key[hidden] = value[hidden] = np.nan
    same(arrays_of(attend(call, arrays=[call.query, key, value])), expected)


def check_attention(random):
    call = RandomCall(random)
    yield call
    arrays = arrays_of(attend(call))
    check_values(call, arrays)
    check_layouts(call, arrays)
    check_ragged(call, arrays)
    check_plan(call, arrays)
    check_masked_keys(call, arrays)


def run(check, variable, default):
    """Says which call failed. `check` first yields what it drew."""
    for name, random in draws(variable, default):
        steps = check(random)
        drawn = next(steps)
        try:
            list(steps)
        except Exception as error:
            raise AssertionError(f"{name}: {drawn}") from error


def test_attention():
    run(check_attention, "HEADWISE_RANDOM_CALLS", 150)


# ---- Gradients ----

OF_SEQUENCES = ("query", "key", "value")


def gradients_of(call, forward, d_output, d_attn_weights, chosen=slice(None), move=lambda x: x,
                 **more):
    arrays = (call.query, call.key, call.value, forward.output, forward.softmax_rows, d_output)
    if d_attn_weights is not None:
        more["d_attn_weights"] = move(d_attn_weights[chosen])
    return headwise.attention_backward(
        *(move(array[chosen]) for array in arrays), **call.options(chosen), **more,
        attn_weights=call.attn_weights)


def gradient_of_weights(call, reference, d_attn_weights):
    """That of the weights before dropout, from that of what was returned."""
    if d_attn_weights is None:
        return 0.0
    given = np.asarray(d_attn_weights, np.float64)
    if call.attn_weights == "mean":
        return np.broadcast_to(given / call.Hq, reference.weights.shape)
    return given * (reference.factor if call.attn_weights == "after_dropout" else 1)


def check_gradients(random):
    call = RandomCall(random, most_work=500_000)
    if call.empty_rows == "nan":
        call.empty_rows = call.fixed["empty_rows"] = "zero"
    yield call
    forward = headwise.attention(call.query, call.key, call.value, **call.options(),
                                 attn_weights=call.attn_weights, softmax_rows=True)
    reference = Reference(call)
    d_output = random.standard_normal(forward.output.shape).astype(call.dtype)
    d_attn_weights = None
    if call.attn_weights is not None and maybe(random, 0.6):
        d_attn_weights = random.standard_normal(forward.attn_weights.shape).astype(np.float32)
    expected = reference.gradients(forward.output, d_output,
                                   gradient_of_weights(call, reference, d_attn_weights))
    given = {"gradients": list(expected)}
    made = gradients_of(call, forward, d_output, d_attn_weights, **given)
    for name, (values, sizes) in expected.items():
        dtype = np.dtype(call.dtype).name if name in OF_SEQUENCES else "float32"
        array = getattr(made, name)
        close(name, by_scores(call, array) if name == "bias" else array, values, dtype,
              1e-3 + sizes)
    moved = gradients_of(call, forward, d_output, d_attn_weights, executor=ONE_THREAD,
                         move=lambda array: laid_out(random, array), **given)
    same({name: getattr(moved, name) for name in expected},
         {name: getattr(made, name) for name in expected})
    b = int(random.integers(call.B))
    alone = gradients_of(call, forward, d_output, d_attn_weights, slice(b, b + 1),
                         gradients=list(OF_SEQUENCES))
    same({name: getattr(alone, name)[0] for name in OF_SEQUENCES},
         {name: getattr(made, name)[b] for name in OF_SEQUENCES})


def by_scores(call, gradient):
    """The gradient of a bias, whose axes are named, with the axes B, H, Lq, Lkv."""
    axes = call.bias_axes
    ordered = gradient.transpose([axes.index(axis) for axis in AXES if axis in axes])
    return ordered.reshape(call.bias.shape)


def test_attention_backward():
    run(check_gradients, "HEADWISE_RANDOM_BACKWARD_CALLS", 100)


# ---- Caches ----


class Decoded:
    """Sequences that grow in a cache, each with its tokens and what one call gives."""

    def __init__(self, random):
        self.random = random
        Hkv, group, D, Dv = (int(size) for size in random.integers(1, (4, 4, 33, 33)))
        self.Hq = Hkv * group
        self.dtype = one_of(random, *DTYPES)
        stored = one_of(random, np.float32, self.dtype)
        mask = headwise.causal()
        if maybe(random):
            mask = mask & headwise.window(int(random.integers(0, 60)), None,
                                          int(random.integers(0, 4)))
        self.options = {"mask": mask, "statistics": {"rows": True, "top_keys": 2}}
        for name, value in (("softcap", 5.0), ("scale", 0.3),
                            ("sinks", random.standard_normal(self.Hq).astype(np.float32)),
                            ("alibi", headwise.alibi_slopes(self.Hq))):
            if maybe(random):
                self.options[name] = value
        count = int(random.integers(1, 5))
        self.cache = headwise.KvCache.create(
            num_kv_heads=Hkv, head_dim=D, v_head_dim=Dv, dtype=np.dtype(stored).name,
            page_size=int(one_of(random, 0, 16, 32, 64, 128)), max_sequences=2 * count,
            max_tokens=2 * count * 256)
        self.plan = headwise.DecodePlan.create(self.cache, self.Hq, count * 200, **self.options)
        self.ids = [self.cache.add() for _ in range(count)]
        self.done = [0] * count
        self.tokens = [
            [random.standard_normal((length, heads, size)).astype(self.dtype)
             for heads, size in ((self.Hq, D), (Hkv, D), (Hkv, Dv))]
            for length in random.integers(1, 201, count)]
        self.expected = [headwise.attention(*tokens, **self.options, lse=True)
                         for tokens in self.tokens]

    def left(self, n):
        return len(self.tokens[n][0]) - self.done[n]

    def step(self):
        """Some of the sequences grow, in a ragged batch or all by as many tokens."""
        random = self.random
        growing = [n for n in range(len(self.ids)) if self.left(n) and maybe(random, 0.7)]
        if not growing:
            return
        added = [int(one_of(random, 1, random.integers(1, self.left(n) + 1))) for n in growing]
        together = maybe(random)
        if together:
            added = [min(added)] * len(growing)
        rows = [[tokens[self.done[n]:self.done[n] + count]
                 for n, count in zip(growing, added) for tokens in [self.tokens[n][axis]]]
                for axis in range(3)]
        arrays = [np.stack(each) if together else np.concatenate(each)[None] for each in rows]
        offsets = None if together else np.cumsum([0, *added])
        result = self.plan.run([self.ids[n] for n in growing],
                               *(laid_out(random, array) for array in arrays),
                               offsets=offsets, lse=True)
        for place, (n, count) in enumerate(zip(growing, added)):
            first = self.done[n]
            of_call = ((place, slice(None)) if together
                       else (0, slice(offsets[place], offsets[place + 1])))
            self.compare(result, of_call, self.expected[n], slice(first, first + count))
            self.done[n] += count

    def compare(self, result, of_call, expected, rows):
        b, i = of_call
        same({"output": result.output[b, i], "lse": result.lse[b, :, i],
              "rows": result.statistics.rows[b, :, i],
              "top_keys": result.statistics.top_keys[b, :, i]},
             {"output": expected.output[rows], "lse": expected.lse[:, rows],
              "rows": expected.statistics.rows[:, rows],
              "top_keys": expected.statistics.top_keys[:, rows]})

    def go_back(self):
        """Takes tokens back, or goes on with a copy of a sequence."""
        n = int(self.random.integers(len(self.ids)))
        if maybe(self.random, 0.5):
            self.done[n] = int(self.random.integers(0, self.done[n] + 1))
            self.cache.truncate(self.ids[n], self.done[n])
        else:
            copy = self.cache.fork(self.ids[n])
            self.cache.erase(self.ids[n])
            self.ids[n] = copy

    def __str__(self):
        return f"{self.cache.options}, {sorted(self.options)}, {len(self.ids)} sequences"


def check_cache(random):
    decoded = Decoded(random)
    yield decoded
    turns = 0
    while any(decoded.left(n) for n in range(len(decoded.ids))):
        decoded.step()
        turns += 1
        if turns < 30 and maybe(random, 0.2):
            decoded.go_back()
    for id, tokens in zip(decoded.ids, decoded.tokens):
        keys, values = decoded.cache.read(id)
        np.testing.assert_array_equal(keys, tokens[1].astype(np.float32))
        np.testing.assert_array_equal(values, tokens[2].astype(np.float32))


def test_a_cache_filled_in_chunks():
    run(check_cache, "HEADWISE_RANDOM_DECODE_CALLS", 30)
