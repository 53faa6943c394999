"""A tensor that is resized while a mask, a bias or a plan looks at it."""

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
