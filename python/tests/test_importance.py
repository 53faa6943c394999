"""How much heads matter: the scores of small functions, and of a layer."""

import numpy as np
import pytest

import headwise

# The loss of example x is sum(WEIGHTS[x] * gates), so that its gradient with
# respect to a gate is the weight.
WEIGHTS = np.random.default_rng(2).standard_normal((7, 5)).astype(np.float32)
NUM_HEADS = [3, 2]


def by_layer(array):
    return [array[:, :3], array[:, 3:]]


def losses(begin, end, gates):
    return WEIGHTS[begin:end] @ np.concatenate(gates)


def gradients(begin, end, gates):
    return by_layer(WEIGHTS[begin:end])


def means(begin, end, gates):
    return by_layer(WEIGHTS[begin:end]), by_layer(2 * WEIGHTS[begin:end])


def normalised(scores):
    return np.concatenate([part / np.linalg.norm(part) for part in np.split(scores, [3])])


@pytest.mark.parametrize("batch", [1, 3, 16])
@pytest.mark.parametrize(
    ("method", "functions", "expected"),
    [
        ("gradient", {"gradients": gradients}, normalised(np.abs(WEIGHTS).mean(0))),
        ("fisher", {"gradients": gradients}, (WEIGHTS**2).mean(0)),
        ("ablation", {"losses": losses}, -WEIGHTS.mean(0)),
        ("entropy", {"means": means}, -WEIGHTS.mean(0)),
        ("confidence", {"means": means}, 2 * WEIGHTS.mean(0)),
    ],
)
def test_scores(method, functions, expected, batch):
    result = headwise.importance(
        NUM_HEADS, examples=7, method=method, batch=batch, **functions
    )
    assert [layer.dtype for layer in result.scores] == [np.float64] * 2
    np.testing.assert_allclose(np.concatenate(result.scores), expected, atol=1e-6)
    places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert result.order == [places[n] for n in np.argsort(expected)]


def test_random_needs_no_function():
    one, again, other = (
        headwise.importance([4], method="random", seed=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.scores, again.scores)
    assert not np.array_equal(one.scores, other.scores)


def test_rounds_turn_heads_off():
    seen = []

    def watched(begin, end, gates):
        seen.append(tuple(gates[0]))
        return by_layer(WEIGHTS[begin:end])[0:1]

    result = headwise.importance(
        [3], examples=7, gradients=watched, method="fisher", share_a_round=1 / 3
    )
    first, second, third = result.order
    assert [sum(gates) for gates in seen] == [3, 2, 1]
    assert seen[1][first[1]] == 0 and seen[2][third[1]] == 1
    assert sorted(result.order) == [(0, 0), (0, 1), (0, 2)]


def test_the_gates_are_copies():
    kept = []

    def keeping(begin, end, gates):
        gates[0][:] = 9
        kept.append(gates[0])
        return WEIGHTS[begin:end].sum(1)

    headwise.importance([5], examples=7, losses=keeping, method="ablation")
    assert len(kept) == 6 and all((gates == 9).all() for gates in kept)


def test_a_layer():
    """The head that the output depends on most is removed last."""
    layer = headwise.MultiHeadAttention.create(embed_dim=12, num_heads=3, seed=3)
    output_weight = layer.params["w_o.weight"].copy()
    output_weight[:, 4:8] *= 20
    layer.set_params({"w_o.weight": output_weight})
    x = np.random.default_rng(4).standard_normal((6, 5, 12), dtype=np.float32)
    target = layer.forward(x)

    def moved(begin, end, gates):
        output = layer.forward(x[begin:end], head_gates=gates[0])
        return ((output - target[begin:end]) ** 2).sum((1, 2))

    result = headwise.importance([3], examples=6, losses=moved, method="ablation")
    assert result.order[-1] == (0, 1)
    expected = [
        ((layer.forward(x, head_gates=1 - np.eye(3, dtype=np.float32)[h]) - target) ** 2)
        .sum((1, 2))
        .mean()
        for h in range(3)
    ]
    np.testing.assert_allclose(result.scores[0], expected, rtol=1e-4)


def test_progress():
    seen = []
    headwise.importance(
        NUM_HEADS,
        examples=7,
        losses=losses,
        method="ablation",
        batch=4,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(n, 12) for n in range(1, 13)]


def raising(begin, end, gates):
    raise ZeroDivisionError


@pytest.mark.parametrize("name", ["losses", "gradients", "means", "progress"])
def test_what_a_function_raises_ends_the_call(name):
    method = {"losses": "ablation", "means": "entropy"}.get(name, "gradient")
    functions = {"gradients": gradients, name: raising}
    if name == "progress":
        functions[name] = lambda done, total: 1 / 0
    with pytest.raises(ZeroDivisionError):
        headwise.importance(NUM_HEADS, examples=7, method=method, **functions)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "method is gradient, expected a method the model supports"),
        ({"method": "most"}, ValueError, "is 'most', expected gradient, fisher, abl"),
        ({"method": "fisher", "gradients": 3}, TypeError, "gradients is 3, expected a f"),
        ({"gradients": gradients, "examples": 0}, ValueError, "examples is 0"),
        ({"gradients": gradients, "batch": 0}, ValueError, "batch is 0"),
        ({"gradients": gradients, "share_a_round": 2}, ValueError, "share_a_round is 2"),
        ({"gradients": lambda *_: 3}, ValueError, "gradients returned a int, expected"),
        ({"gradients": lambda *_: [1]}, ValueError, "gradients returned 1 entries"),
        (
            {"gradients": lambda b, e, g: by_layer(WEIGHTS[:1])},
            ValueError,
            r"gradients has shape \(1, 3\), expected \(examples, heads\) = \(7, 3\)",
        ),
        (
            {"gradients": lambda b, e, g: by_layer(WEIGHTS[b:e].astype(int))},
            TypeError,
            "gradients is int64",
        ),
        (
            {"gradients": lambda b, e, g: by_layer(WEIGHTS[b:e] * np.nan)},
            ValueError,
            "head",
        ),
        (
            {"method": "ablation", "losses": lambda *_: [1.0]},
            ValueError,
            "losses returned 1 numbers, expected 7, one per example",
        ),
        (
            {"method": "ablation", "losses": lambda *_: ["x"] * 7},
            TypeError,
            "losses is 'x', expected a number",
        ),
        ({"method": "entropy", "means": gradients}, ValueError, "means returned a|means has shape"),
        ({"num_heads": [-1]}, ValueError, r"num_heads\[0\] is -1"),
        ({"num_heads": []}, ValueError, "has no heads"),
        ({"num_heads": None}, TypeError, "num_heads is a NoneType"),
        ({"examples": 1.5}, TypeError, "examples is 1.5"),
    ],
)
def test_wrong_arguments(options, error, message):
    with pytest.raises(error, match=message):
        headwise.importance(**{"num_heads": NUM_HEADS, "examples": 7, **options})
