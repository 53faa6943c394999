"""MultiHeadAttention.forward_for_backward: gradients beside differences in float64."""

import gc
import threading

import layer_reference
import numpy as np
import pytest

import headwise

CONFIG = {"embed_dim": 8, "num_heads": 4, "num_kv_heads": 2, "kdim": 5, "vdim": 6, "seed": 7}


def layer(**config):
    return headwise.MultiHeadAttention.create(**{**CONFIG, **config})


def tensors():
    random = np.random.default_rng(3)
    return [random.standard_normal(shape, dtype=np.float32)
            for shape in ((2, 3, 8), (2, 4, 5), (2, 4, 6))]


def difference(loss, values, index):
    """The derivative of loss(values) by one element."""
    step = 1e-5
    losses = []
    for sign in (1, -1):
        moved = values.astype(np.float64)
        moved[index] += sign * step
        losses.append(loss(moved))
    return (losses[0] - losses[1]) / (2 * step)


def test_gradients():
    made = layer()
    arrays = dict(zip(("query", "key", "value"), tensors()))
    random = np.random.default_rng(5)
    d_output = random.standard_normal((2, 3, 8), dtype=np.float32)
    d_weights = random.standard_normal((2, 4, 3, 4), dtype=np.float32)
    given = {**arrays, **made.params, "head_gates": np.array([1, 0.5, 2, 3], np.float32),
             "bias": random.standard_normal((1, 4, 3, 4), dtype=np.float32)}
    saved = made.forward_for_backward(*arrays.values(), mask=headwise.causal(),
                                      bias=given["bias"], head_gates=given["head_gates"],
                                      attn_weights="per_head")
    gradients = saved.backward(d_output, d_weights)
    assert list(gradients.params) == list(made.params)
    assert gradients.head_gates.shape == (2, 4) and gradients.sinks is None

    def loss(name):
        def of(values):
            changed = {**given, name: values}
            output, weights = layer_reference.forward(
                changed, changed["query"], changed["key"], changed["value"], 4, 2,
                changed["head_gates"], mask=np.tri(3, 4, dtype=bool), bias=changed["bias"])
            return (output * d_output).sum() + (weights * d_weights).sum()
        return of

    found = {**gradients.params, "head_gates": gradients.head_gates.sum(0),
             **{name: getattr(gradients, name) for name in ("query", "key", "value", "bias")}}
    for name, values in found.items():
        assert values.shape == given[name].shape
        for index in list(np.ndindex(values.shape))[::7]:
            assert values[index] == pytest.approx(
                difference(loss(name), given[name], index), abs=1e-4), (name, index)


def test_results_and_unbatched_tensors():
    made, (query, key, value) = layer(), tensors()
    options = {"attn_weights": "per_head", "lse": True}
    saved = made.forward_for_backward(query[0], key[0], value[0], **options)
    plain = made.forward(query[0], key[0], value[0], **options)
    for name in ("output", "attn_weights", "lse"):
        np.testing.assert_array_equal(getattr(saved.result, name), getattr(plain, name))
    saved.result.output[:] = 0  # a copy: the gradients do not change
    d_output = np.ones((3, 8), np.float32)
    gradients = saved.backward(d_output)
    batch = made.forward_for_backward(query[:1], key[:1], value[:1]).backward(d_output[None])
    np.testing.assert_array_equal(gradients.query, batch.query[0])
    np.testing.assert_array_equal(gradients.params["w_v.weight"], batch.params["w_v.weight"])


def test_what_was_saved_keeps_layer_tensors_and_options():
    def saved():
        return layer().forward_for_backward(
            *tensors(), mask=headwise.causal() & headwise.key_padding(np.arange(8).reshape(2, 4) % 3 != 0),
            head_gates=np.array([1, 2, 3, 4], np.float32), query_start=[1, 2],
            executor=headwise.Executor.with_threads(1))

    made = saved()
    gc.collect()
    [np.full(1000, 9, np.float32) for _ in range(100)]
    d_output = np.ones((2, 3, 8), np.float32)
    kept, expected = made.backward(d_output), saved().backward(d_output)
    np.testing.assert_array_equal(kept.key, expected.key)
    np.testing.assert_array_equal(kept.params["w_q.weight"], expected.params["w_q.weight"])


def test_training_moves_the_loss():
    made, (query, key, value) = layer(), tensors()
    losses = []
    for _ in range(5):
        saved = made.forward_for_backward(query, key, value)
        losses.append(float((saved.result**2).sum()))
        gradients = saved.backward(2 * saved.result)
        made.set_params({name: made.params[name] - 0.01 * gradient
                         for name, gradient in gradients.params.items()})
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.9 * losses[0]


def test_bfloat16():
    torch = pytest.importorskip("torch")
    made = layer()
    arrays = [torch.from_numpy(x).to(torch.bfloat16) for x in tensors()]
    gradients = made.forward_for_backward(*arrays).backward(
        torch.ones(2, 3, 8, dtype=torch.bfloat16))
    exact = made.forward_for_backward(*(x.float() for x in arrays)).backward(torch.ones(2, 3, 8))
    assert gradients.query.dtype == torch.bfloat16
    torch.testing.assert_close(gradients.query.float(), exact.query, rtol=2**-8, atol=1e-6)
    assert gradients.params["w_q.weight"].dtype == torch.float32


def test_one_of_two_threads_gets_the_gradients():
    made = headwise.MultiHeadAttention.create(embed_dim=64, num_heads=4, seed=7)
    x = np.random.default_rng(9).standard_normal((4, 200, 64), dtype=np.float32)
    barrier = threading.Barrier(2)
    outcomes = []

    def work(saved):
        barrier.wait()
        try:
            saved.backward(x)
            outcomes.append("gradients")
        except ValueError:
            outcomes.append("used")

    for _ in range(5):
        saved = made.forward_for_backward(x)
        threads = [threading.Thread(target=work, args=(saved,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(outcomes) == ["gradients"] * 5 + ["used"] * 5


def test_wrong_calls():
    made = layer()
    saved = made.forward_for_backward(*tensors())
    with pytest.raises(ValueError, match="d_output"):
        saved.backward(np.ones((2, 3, 7), np.float32))
    d_output = np.ones((2, 3, 8), np.float32)
    saved.backward(d_output)
    with pytest.raises(ValueError, match="saved"):
        saved.backward(d_output)
    saved = made.forward_for_backward(*tensors())
    made.set_params({"w_q.bias": np.zeros(8, np.float32)})
    with pytest.raises(ValueError, match="saved"):
        saved.backward(d_output)
    with pytest.raises(TypeError, match="no option 'cache'"):
        made.forward_for_backward(*tensors(), cache=None, sequences=[])
