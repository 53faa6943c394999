"""Where the heads of models lie in their parameters."""
import contextlib
import dataclasses

import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")
from torch import nn

from headwise.transformers import attention_layers
from headwise.transformers.head_gates import HeadGates
from headwise.transformers.head_layout import HeadFeatures
from headwise.transformers.interface import headwise_attention
from headwise.transformers.known_layouts import LAYOUTS, HeadLayout, register_layout
from headwise.transformers.mask_rules import mask_for_headwise
from small_models import MODELS, inputs_of, small_model

COMPRESSED = {"deepseekv2": "qkv", "deepseekv3": "qkv", "deepseekv3_plain": "kv"}


class Seen:
    """What attention modules got and gave, by module; outputs of heads are multiplied
    by the factors of their module, (Hq).
    """

    def __init__(self, factors):
        self.factors, self.values = factors, {}

    def attend(self, module, query, key, value, *args, **options):
        output, weights = headwise_attention(module, query, key, value, *args, **options)
        self.values[module] = value
        return output * self.factors[module][:, None], weights


def watched(model, factors):
    """The model, which computes attention through the Seen that is returned."""
    seen = Seen(factors)
    tf.AttentionInterface.register("seen", seen.attend)
    tf.AttentionMaskInterface.register("seen", mask_for_headwise)
    model.set_attn_implementation("seen")
    return seen


def factors_of(model):
    """Another factor for every head."""
    return {module: 0.5 + torch.rand(HeadFeatures(model, name).query_heads,
                                     generator=torch.Generator().manual_seed(number))
            for number, (name, module) in enumerate(attention_layers(model).items())}


@pytest.mark.parametrize("name", MODELS)
def test_gates_are_factors_on_what_attention_gives(name):
    model, gated = small_model(name), small_model(name)
    seen = watched(model, factors_of(model))
    with torch.no_grad():
        expected = model(**inputs_of(name))[0]
        with HeadGates(gated).applied([each[None] for each in seen.factors.values()]):
            torch.testing.assert_close(gated(**inputs_of(name))[0], expected, atol=5e-5,
                                       rtol=1e-4)


@pytest.mark.parametrize("name", [each for each in MODELS if each not in COMPRESSED])
def test_matrices_of_heads_are_what_the_module_computes(name):
    model = small_model(name)
    layers = [HeadFeatures(model, layer) for layer in attention_layers(model)]
    seen = watched(model, {each.module: torch.ones(1) for each in layers})
    projections = [each for found in layers for each in (*found.inputs.values(), found.output)]
    with torch.no_grad(), inputs_and_outputs(projections) as calls:
        model(**inputs_of(name))
        for found in layers:
            for head in range(found.query_heads):
                for letter in "qkv":
                    check_features(found, letter, head, calls)
                states, _ = calls[found.inputs[found.path_of("v")]]
                torch.testing.assert_close(
                    with_bias(states @ found.w_v(head), found.b_v(head)),
                    seen.values[found.module][:, head // found.group_size],
                    atol=1e-5, rtol=1e-5)
            check_output(found, calls)


@contextlib.contextmanager
def inputs_and_outputs(projections):
    calls = {}

    def keep(module, inputs, output):
        calls[module] = (inputs[0], output)

    hooks = [each.register_forward_hook(keep) for each in projections]
    yield calls
    for hook in hooks:
        hook.remove()


def check_features(found, letter, head, calls):
    path = found.path_of(letter)
    states, features = calls[found.inputs[path]]
    read = head if letter == "q" else head // found.group_size
    computed = with_bias(states @ getattr(found, f"w_{letter}")(head),
                         getattr(found, f"b_{letter}")(head))
    torch.testing.assert_close(computed, features[..., found.of_input(path, letter, [read])],
                               atol=1e-5, rtol=1e-5)


def check_output(found, calls):
    context, output = calls[found.output]
    heads = context.unflatten(-1, (found.query_heads, found.value_size))
    whole = sum(heads[..., head, :] @ found.w_o(head) for head in range(found.query_heads))
    torch.testing.assert_close(with_bias(whole, found.output.bias), output, atol=2e-5,
                               rtol=1e-5)


def with_bias(features, bias):
    return features if bias is None else features + bias


@pytest.mark.parametrize("name", COMPRESSED)
def test_compressed_projections_have_no_matrix(name):
    model = small_model(name)
    found = HeadFeatures(model, next(iter(attention_layers(model))))
    for letter in "qkv":
        if letter in COMPRESSED[name]:
            with pytest.raises(NotImplementedError, match="compressed features"):
                getattr(found, f"w_{letter}")(0)
        else:
            assert getattr(found, f"w_{letter}")(0).shape == (32, 10)
    assert found.w_o(3).shape == (8, 32)


def test_head_that_does_not_exist_is_refused():
    model = small_model("llama")
    found = HeadFeatures(model, "model.layers.0.self_attn")
    for matrix in (found.w_q, found.w_k, found.w_v, found.w_o, found.b_q):
        with pytest.raises(ValueError, match="head is 4, expected a number below 4"):
            matrix(4)


class OwnAttention(nn.Module):
    is_causal = True

    def __init__(self):
        super().__init__()
        self.size = 4
        self.read, self.write = nn.Linear(8, 16), nn.Linear(8, 8)  # 2 heads of q, 1 of k, v


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = OwnAttention()


OWN = HeadLayout({"read": "qkv"}, "write", head_size="size")


@pytest.mark.parametrize("given", [OwnAttention, "OwnAttention"])
def test_layout_from_outside(given, monkeypatch):
    monkeypatch.setitem(LAYOUTS, "OwnAttention", None)
    with pytest.raises(NotImplementedError, match=r"register_layout\('OwnAttention', headwise.Head"):
        HeadFeatures(Own(), "attention")
    register_layout(given, OWN)
    found = HeadFeatures(Own(), "attention")
    assert (found.query_heads, found.key_heads, found.group_size) == (2, 1, 2)
    weight = found.module.read.weight
    assert torch.equal(found.w_q(1), weight[4:8].T)
    assert torch.equal(found.w_k(1), weight[8:12].T)
    assert torch.equal(found.w_v(0), weight[12:].T)


def test_layout_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setitem(LAYOUTS, "OwnAttention", OWN)
    model = Own()
    model.attention.size = 3
    with pytest.raises(ValueError, match=r"OwnAttention does not fit: .*'read': \(16, 8\)"):
        HeadFeatures(model, "attention")


@pytest.mark.parametrize("change, name", [
    (dict(head_size="head_dim"), "head_dim"), (dict(output="wo"), "wo"),
    (dict(inputs={"a": "q", "b.c": "kv"}), "a"),
])
def test_layout_with_a_name_that_the_module_lacks_is_refused(change, name, monkeypatch):
    monkeypatch.setitem(LAYOUTS, "OwnAttention", dataclasses.replace(OWN, **change))
    with pytest.raises(ValueError, match=f"names '{name}', which OwnAttention does not"):
        HeadFeatures(Own(), "attention")


@pytest.mark.parametrize("layout, message", [
    (dict(inputs={"a": "q", "b": "k"}), "letters q, k and v, each once"),
    (dict(inputs={"a": "qkv", "b": "v"}), "letters q, k and v, each once"),
    (dict(inputs={"a": "qkv"}, per_head={"sinks": "heads"}), "expected 'q' or 'k'"),
    (dict(inputs={"a": "qkv"}, compressed=("b",)), "expected paths of inputs"),
])
def test_layout_with_wrong_fields_is_refused(layout, message):
    with pytest.raises(ValueError, match=message):
        HeadLayout(output="o", **layout)


def test_wrong_arguments_of_register_layout_are_refused():
    with pytest.raises(TypeError, match="module_class is 3"):
        register_layout(3, OWN)
    with pytest.raises(TypeError, match="layout is dict, expected a HeadLayout"):
        register_layout("OwnAttention", {"read": "qkv"})
