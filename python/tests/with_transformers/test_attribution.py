"""Attributions against plain formulas on transformers' eager attention."""
import itertools

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import headwise
import numpy as np
from eager_capture import assert_close, eager_calls, layers_of, padded, projected
from headwise.transformers import prune_heads
from small_models import inputs_of, small_model

MODELS = ["bert", "gpt2", "llama", "qwen3", "gemma2", "gemma3", "gpt_oss", "vit", "t5", "bart"]
ONE_SEQUENCE = [name for name in MODELS if name not in ("t5", "bart")]


def target(output, batch):
    """A logit of each example, of its last token that is not padding."""
    if output.logits.ndim == 2:
        return output.logits[:, 1]
    last = (batch["attention_mask"].long().cumsum(1).argmax(1) if "attention_mask" in batch
            else torch.full([len(output.logits)], output.logits.shape[1] - 1))
    return output.logits[torch.arange(len(last)), last, 5]


@pytest.mark.parametrize("name", MODELS)
def test_norms_are_those_of_values_through_the_projection(name):
    norms = headwise.attribution(small_model(name), inputs_of(name), "norms")
    _, layers = layers_of(small_model(name), inputs_of(name))
    assert list(norms.pairs) == list(layers)
    for layer, (weights, value, found) in layers.items():
        added = torch.stack([projected(found, head, value[:, head]).double()
                             for head in range(found.query_heads)], 1)
        of_pairs = weights.double()[..., None] * added[:, :, None]
        expected = of_pairs.norm(dim=-1)
        assert_close(norms.pairs[layer], expected)
        assert_close(norms.totals[layer], expected.sum(-1).mean(-1))
        assert_close(norms.together[layer], of_pairs.sum(1).norm(dim=-1))


@pytest.mark.parametrize("name", MODELS)
def test_gradient_is_that_of_the_weights_as_if_they_were_free(name):
    found = headwise.attribution(small_model(name), inputs_of(name), "gradient",
                                 target=target)
    output, layers = layers_of(small_model(name), inputs_of(name))
    weights = [each[0] for each in layers.values()]
    gradients = torch.autograd.grad(target(output, inputs_of(name)).sum(), weights)
    for layer, one, other in zip(layers, weights, gradients):
        assert_close(found.pairs[layer], one * other)
        assert_close(found.totals[layer], found.pairs[layer].sum((2, 3)))


class Gated:
    """The target, with gates of t on the eager outputs of heads of some layers."""

    def __init__(self, name):
        self.inputs, self.model = inputs_of(name, batch=1), small_model(name)
        layers = layers_of(self.model, self.inputs)[1]
        self.gates = {layer: torch.ones(4) for layer in layers}
        for layer, (_, _, found) in layers.items():
            found.output.register_forward_pre_hook(
                lambda _, features, layer=layer: self.scaled(features[0], self.gates[layer]))

    def scaled(self, features, gates):
        return (features.unflatten(-1, (4, -1)) * gates[:, None]).flatten(-2),

    def at(self, t, moved):
        self.gates = {layer: torch.full([4], t if layer in moved else 1.0).requires_grad_()
                      for layer in self.gates}
        with eager_calls(self.model):
            return target(self.model(**self.inputs), self.inputs)

    def slopes(self, t, moved):
        return torch.stack(torch.autograd.grad(self.at(t, moved).sum(),
                                               [self.gates[layer] for layer in moved]))


@pytest.mark.parametrize("name", ["bert", "gpt2", "vit"])
def test_integrated_gates_add_up_to_what_the_heads_change(name):
    plain = Gated(name)
    for method, groups in [("integrated", [[0, 1]]), ("integrated-by-layer", [[0], [1]])]:
        found = headwise.attribution(small_model(name), plain.inputs, method, target=target)
        for moved in groups:
            change = sum(found.totals[layer].sum(1) for layer in moved)
            assert_close(plain.at(0.0, moved) + change, plain.at(1.0, moved))


@pytest.mark.parametrize("name, method", [
    ("bert", "integrated"), ("bert", "integrated-by-layer"), ("llama", "integrated"),
    ("bart", "integrated")])
def test_integrated_gates_are_integrals_of_gradients(name, method):
    plain = Gated(name)
    found = headwise.attribution(small_model(name), plain.inputs, method, target=target)
    layers = list(plain.gates)
    for moved in [layers] if method == "integrated" else [[layer] for layer in layers]:
        expected = sum(weight / 20 * plain.slopes((part + (1 + point) / 2) / 10, moved)
                       for part in range(10)
                       for point, weight in zip(*np.polynomial.legendre.leggauss(4)))
        assert_close(torch.cat([found.totals[layer] for layer in moved]), expected)


def mixed_by_loops(weights):
    """M of a layer, from the mean A (L, L)."""
    length = len(weights)
    return [[(weights[i][j] + (i == j)) / (sum(weights[i]) + 1) for j in range(length)]
            for i in range(length)]


@pytest.mark.parametrize("name", ONE_SEQUENCE)
def test_rollout_and_flow_of_two_layers(name):
    rollout = headwise.attribution(small_model(name), inputs_of(name), "rollout")
    flow = headwise.attribution(small_model(name), inputs_of(name), "flow", positions=[2, -1])
    _, layers = layers_of(small_model(name), inputs_of(name))
    for example in range(2):
        first, last = (mixed_by_loops(weights[example].double().mean(0).tolist())
                       for weights, _, _ in layers.values())
        tokens = range(len(first))
        shares = [[sum(last[i][k] * first[k][j] for k in tokens) for j in tokens]
                  for i in tokens]
        assert_close(rollout.shares[example], torch.tensor(shares))
        # Through two layers, every token between them is a path of its own.
        flows = [[sum(min(last[i][k], first[k][j]) for k in tokens) for j in tokens]
                 for i in (2, len(first) - 1)]
        assert_close(flow.shares[example], torch.tensor(flows))
    assert flow.positions == [2, len(first) - 1]


@pytest.mark.parametrize("name, side", list(itertools.product(
    ["bert", "gpt2", "llama", "gemma2"], ["left", "right"])))
def test_padding_takes_no_part(name, side):
    inputs = padded(inputs_of(name), side)
    real = inputs["attention_mask"][0].bool()
    _, layers = layers_of(small_model(name), inputs)
    output, _ = layers_of(small_model(name), inputs)
    norms = headwise.attribution(small_model(name), inputs, "norms")
    gradient = headwise.attribution(small_model(name), inputs, "gradient", target=target)
    rollout = headwise.attribution(small_model(name), inputs, "rollout")
    output, layers = layers_of(small_model(name), inputs)
    gradients = torch.autograd.grad(target(output, inputs).sum(),
                                    [each[0] for each in layers.values()])
    rows = None
    for (layer, (weights, value, found)), slopes in zip(layers.items(), gradients):
        lengths = torch.stack([projected(found, head, value[:, head]).norm(dim=-1)
                               for head in range(4)], 1)
        expected = weights * lengths[:, :, None]
        assert_close(norms.pairs[layer][0][:, real], expected[0][:, real])
        assert_close(norms.totals[layer][0], expected[0][:, real].sum(-1).mean(-1))
        assert_close(gradient.pairs[layer], weights * slopes)
        mean = weights[0].mean(0).double()[real][:, real]
        mixed = torch.tensor(mixed_by_loops(mean.tolist()))
        rows = mixed if rows is None else mixed @ rows
    assert_close(rollout.shares[0][real][:, real], rows)


def test_pruned_heads_keep_their_numbers():
    model = small_model("bert")
    prune_heads(model, {0: [1]})
    found = headwise.attribution(model, inputs_of("bert"), "norms")
    assert found.numbers == {0: [0, 2, 3], 1: [0, 1, 2, 3]}
    assert found.pairs[0].shape == (2, 3, 11, 11)
    table = found.to_pandas()
    assert len(table) == 14 and set(table.columns) == {"example", "layer", "head", "norms"}
    assert repr(found).splitlines()[2].split()[:2] == ["layer", "0"]


def test_interventions_and_dropout_take_no_part():
    model = small_model("bert")
    model.config.attention_probs_dropout_prob = 0.5
    expected = headwise.attribution(model, inputs_of("bert"), "norms").pairs[1]
    with headwise.intervene(model.train()) as heads:
        heads[0].scale(0)
        given = headwise.attribution(model, inputs_of("bert"), "norms").pairs[1]
    assert model.training and torch.equal(given, expected)


@pytest.mark.parametrize("method", ["gradient", "integrated"])
def test_layers_that_share_a_module_are_told_apart(method):
    model = small_model("albert")
    found = headwise.attribution(model, inputs_of("albert"), method, target=target)
    assert list(found.totals) == [0, 1]
    assert not torch.allclose(found.totals[0], found.totals[1])
    assert all(each.requires_grad for each in model.parameters())


def test_page_shows_norms(tmp_path):
    inputs = inputs_of("bert")
    tokens = [str(each) for each in inputs["input_ids"][0].tolist()]
    headwise.attribution(small_model("bert"), inputs).view(tmp_path / "page.html", tokens)
    assert "Value-weighted norms" in (tmp_path / "page.html").read_text()
    gradient = headwise.attribution(small_model("bert"), inputs, "gradient", target=target)
    with pytest.raises(ValueError, match="a page shows norms"):
        gradient.view(tmp_path / "page.html", tokens)


def test_shares_as_text_and_table():
    found = headwise.attribution(small_model("gpt2"), inputs_of("gpt2"), "rollout",
                                 positions=-1)
    assert repr(found).startswith("Attention rollout, (2, 1, 11)")
    table = found.to_pandas()
    assert len(table) == 22 and table.rollout.sum() == pytest.approx(2, abs=1e-5)


@pytest.mark.parametrize("name, arguments, error, message", [
    ("bert", dict(method="gates"), ValueError, "method is 'gates'"),
    ("bert", dict(method="gradient"), ValueError, "target is None"),
    ("bert", dict(method="norms", target=target), ValueError, "target was given"),
    ("bert", dict(method="norms", positions=0), ValueError, "positions was given"),
    ("bert", dict(method="flow", target=target), ValueError, "target was given"),
    ("bert", dict(method="rollout", positions=11), ValueError, "positions has 11"),
    ("bart", dict(method="rollout"), NotImplementedError, "cross-attention"),
    ("bert", dict(method="gradient", target=lambda output, _: output.logits.sum()),
     ValueError, r"target gave the shape \(\)"),
    ("bert", dict(method="gradient", target=lambda output, _: torch.zeros(2)),
     ValueError, "without a gradient"),
])
def test_errors_name_the_argument(name, arguments, error, message):
    with pytest.raises(error, match=message):
        headwise.attribution(small_model(name), inputs_of(name), **arguments)


def test_integrals_that_miss_a_change_are_a_warning():
    with pytest.warns(RuntimeWarning, match="integrated gates add up"):
        headwise.attribution(small_model("gemma2"), inputs_of("gemma2"), "integrated",
                             target=target)
