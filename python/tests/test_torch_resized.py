"""A tensor that is resized while a mask, a bias, a plan or a layer's backward pass
looks at it."""

import pytest

import headwise

torch = pytest.importorskip("torch")

SIZES = {"B": 1, "Hq": 2, "Hkv": 2, "Lq": 3, "Lkv": 3, "D": 4, "Dv": 4}


def resize(tensor):
    tensor.resize_(1 << 16)


@pytest.fixture
def query():
    return torch.randn(1, 3, 2, 4)


def test_mask(query):
    padding = torch.ones(1, 3, dtype=torch.bool)
    mask = headwise.causal() & headwise.key_padding(padding)
    headwise.attention(query, query, query, mask=mask)
    resize(padding)
    with pytest.raises(ValueError, match="padding was resized"):
        headwise.attention(query, query, query, mask=mask)


def test_bias(query):
    numbers = torch.zeros(3, 3)
    bias = headwise.dense(numbers)
    headwise.attention(query, query, query, bias=bias)
    resize(numbers)
    with pytest.raises(ValueError, match="array was resized"):
        headwise.attention(query, query, query, bias=bias)


@pytest.mark.parametrize("option", ["sinks", "bias"])
def test_plan(query, option):
    tensor = {"sinks": torch.zeros(2), "bias": torch.zeros(3, 3)}[option]
    plan = headwise.AttentionPlan.create(**SIZES, **{option: tensor})
    plan.run(query, query, query)
    resize(tensor)
    with pytest.raises(ValueError, match=f"{option} was resized"):
        plan.run(query, query, query)


@pytest.mark.parametrize("resized", ["query", "head_gates"])
def test_backward_pass_of_a_layer(resized):
    layer = headwise.MultiHeadAttention.create(embed_dim=8, num_heads=2, seed=7)
    x, gates = torch.randn(1, 3, 8), torch.ones(2)
    saved = layer.forward_for_backward(x, head_gates=gates)
    resize({"query": x, "head_gates": gates}[resized])
    with pytest.raises(ValueError, match=f"{resized} was resized"):
        saved.backward(torch.ones(1, 3, 8))
