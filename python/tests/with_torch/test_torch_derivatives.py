"""Derivatives of every order and transforms of torch.func, against plain torch."""

import functools

import pytest

torch = pytest.importorskip("torch")

import eager_attention
from headwise.torch import (MultiheadAttention, Operands, Positions,
                            attention, scaled_dot_product_attention)
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vmap


def tensors(*shapes, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def small(**options):
    return tensors((2, 4, 3, 3), (2, 2, 4, 3), (2, 2, 4, 2), **options)


def eager(query, key, value):
    key, value = (each.repeat_interleave(2, -3) for each in (key, value))
    scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
    return scores.softmax(-1) @ value


def ours(query, key, value):
    return attention(query, key, value)[0]


def check_close(given, expected, tolerance=2e-5):
    for one, other in zip(given, expected, strict=True):
        largest = max([1.0, *other.abs().flatten().tolist()])
        torch.testing.assert_close(one.double(), other.double(), rtol=0,
                                   atol=tolerance * largest)


def loss(function, *inputs):
    """A scalar with derivatives of every order in all results."""
    results = function(*inputs)
    return sum((each * each.cos()).sum() for each in (
        results if isinstance(results, tuple) else (results,)) if each is not None)


def by_autograd(function, inputs):
    """The gradients of the loss, and of a penalty on them."""
    inputs = [each.clone().requires_grad_() for each in inputs]
    first = torch.autograd.grad(loss(function, *inputs), inputs, create_graph=True)
    penalty = sum(each.sin().square().sum() for each in first)
    return [*first, *torch.autograd.grad(penalty, inputs)]


def by_func(function, inputs):
    every = tuple(range(len(inputs)))
    first = grad(functools.partial(loss, function), every)

    def penalty(*inputs):
        return sum(each.sin().square().sum() for each in first(*inputs))

    return [*first(*inputs), *grad(penalty, every)(*inputs)]


def by_vmap(function, inputs):
    """As by_func, along a new axis that some of the inputs have."""
    axes = [None if place % 2 else each.dim() for place, each in enumerate(inputs)]
    both = [each if axis is None else torch.stack([each * 0, each], axis)
            for each, axis in zip(inputs, axes)]
    mapped = vmap(lambda *one: tuple(by_func(function, one)), tuple(axes))(*both)
    return [each[1] for each in mapped]


@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("derivatives", [by_autograd, by_func, by_vmap])
def test_200_random_calls(derivatives, block):
    for number in range(20 * block, 20 * block + 20):
        call = eager_attention.EagerCall(number)
        inputs = list(call.inputs.values())
        expected = by_autograd(call.eager, [each.double() for each in inputs])
        check_close(derivatives(call.ours, inputs), expected)


def test_the_first_derivatives_are_the_kernels():
    """Bit for bit, with and without a graph."""
    inputs = [each.requires_grad_() for each in small()]
    plain = torch.autograd.grad(loss(ours, *inputs), inputs)
    recorded = torch.autograd.grad(loss(ours, *inputs), inputs, create_graph=True)
    of_func = grad(functools.partial(loss, ours), (0, 1, 2))(*inputs)
    for one, two, three in zip(plain, recorded, of_func):
        assert torch.equal(one, two) and torch.equal(one, three)


def test_a_ragged_batch():
    offsets = torch.tensor([[0, 2, 2, 5], [0, 3, 4, 6]])

    def ragged(*inputs):
        return attention(*inputs, operands=Operands(offsets=offsets), causal=True)[0]

    def of_each_sequence(*inputs):
        parts = [attention(*(each[:, :, a:b] for each, (a, b) in zip(
            inputs, (ends[0], ends[1], ends[1]))), causal=True)[0]
                 for ends in offsets.unfold(1, 2, 1).transpose(0, 1).tolist()]
        return torch.cat(parts, 2)

    inputs = tensors((1, 4, 5, 3), (1, 2, 6, 3), (1, 2, 6, 2))
    expected = by_autograd(of_each_sequence, [each.double() for each in inputs])
    for derivatives in (by_autograd, by_func, by_vmap):
        check_close(derivatives(ragged, inputs), expected)


TOOLS = {
    "jacrev": lambda f, x: jacrev(f, (0, 1, 2))(*x),
    "jacfwd": lambda f, x: jacfwd(f, (0, 1, 2))(*x),
    "jvp": lambda f, x: jvp(f, x, tuple(each.cos() for each in x)),
    "grad of jvp": lambda f, x: [grad(lambda query: loss(
        lambda: jvp(f, (query, *x[1:]), x)[1]))(x[0])],
    "hessian": lambda f, x: hessian(functools.partial(loss, f), (0, 1))(*x)[0],
    "jacrev of grad": lambda f, x: jacrev(grad(functools.partial(loss, f)), (0, 2))(*x),
    "third derivative": lambda f, x: jacrev(jacrev(jacrev(functools.partial(
        loss, f))))(*(each[:1, :, :1] for each in x)),
    "autograd's hvp": lambda f, x: torch.autograd.functional.hvp(
        functools.partial(loss, f), x, x)[1],
    "autograd's vhp": lambda f, x: torch.autograd.functional.vhp(
        functools.partial(loss, f), x, x)[1],
    "autograd's jvp": lambda f, x: torch.autograd.functional.jvp(f, x, x),
    "autograd's hessian": lambda f, x: torch.autograd.functional.hessian(
        functools.partial(loss, f), x)[1],
}


@pytest.mark.parametrize("name", TOOLS)
def test_tools_of_torch(name):
    inputs = tuple(each[:1] for each in small())
    expected = TOOLS[name](eager, tuple(each.double() for each in inputs))
    check_close(TOOLS[name](ours, inputs), expected)


def test_forward_mode_without_a_transform():
    query, key, value = small()
    results = []
    for function in (ours, eager):
        with forward_ad.dual_level():
            output = function(forward_ad.make_dual(query, query.cos()), key, value)
            results.append(forward_ad.unpack_dual(output))
    check_close(*results)


def test_constant_attention_inside_jvp():
    inputs = small()
    output = ours(*inputs)
    given, tangent = jvp(lambda factor: factor * ours(*inputs), (output,), (output.sin(),))
    assert torch.equal(given, output * output)
    assert torch.equal(tangent, output.sin() * output)


# float64, which the formula computes.


def with_every_operand(query, key, value, bias, sinks):
    operands = Operands(bias, sinks, mask=torch.arange(6).reshape(3, 2).repeat(1, 2) != 3,
                        key_lengths=torch.tensor([4, 3]), seed=torch.tensor([3]))
    return attention(query, key, value, operands=operands, positions=Positions(1, 2, 1),
                     softcap=3.0, dropout_p=0.3, attn_weights="after_dropout")


def module_call(padding, **options):
    torch.manual_seed(1)
    module = MultiheadAttention(4, 2, batch_first=True, dtype=torch.float64, **options)
    hidden = torch.tensor([[False, False, True], [False] * 3]) if padding else None
    names, parameters = zip(*module.named_parameters())

    def call(x, *parameters):
        return functional_call(module, dict(zip(names, parameters)), (x, x, x),
                               {"key_padding_mask": hidden})

    return call, (*tensors((2, 3, 4)), *parameters)


DOUBLE = {
    "attention": lambda: (with_every_operand, [*small(), *tensors((1, 4, 3, 4), (4,))]),
    "bool": lambda: (lambda *x: scaled_dot_product_attention(
        *x, torch.arange(12).reshape(3, 4) % 5 != 0, enable_gqa=True), small()),
    "float": lambda: (lambda *x: scaled_dot_product_attention(*x, enable_gqa=True),
                      [*small(), *tensors((4, 3, 4))]),
    "causal": lambda: (lambda *x: scaled_dot_product_attention(
        *x, is_causal=True, enable_gqa=True), small()),
    "module": lambda: module_call(padding=False),
    "module, masked": lambda: module_call(padding=True, add_bias_kv=True),
}


@pytest.mark.parametrize("name", DOUBLE)
def test_gradcheck_and_gradgradcheck(name):
    function, inputs = DOUBLE[name]()
    inputs = tuple(each.detach().double().requires_grad_() for each in inputs)
    assert torch.autograd.gradcheck(function, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(function, inputs, fast_mode=True)


def test_double_keeps_types_and_names_errors():
    query, key, value = small(dtype=torch.float64)
    output, weights = attention(query, key, value, attn_weights="mean")
    assert output.dtype == weights.dtype == torch.float64 and weights.shape == (2, 1, 3, 4)
    for words, changed in {
            "key is torch.float32": {"key": key.float()},
            r"value has shape \(2, 2, 3, 2\), expected": {"value": value[:, :, :3]},
            "4 heads and key has 3": {"key": key[:, [0, 1, 1]]},
            r"query has shape \(4, 3, 3\), expected": {"query": query[0]},
            r"bias has shape \(3, 2\)": {"operands": Operands(bias=torch.zeros(3, 2))},
            r"sinks has shape \(3,\)": {"operands": Operands(sinks=torch.zeros(3))},
            "mask is torch.int64": {"operands": Operands(mask=torch.ones(3, 4).long())},
            "softcap is -1": {"softcap": -1.0},
            "dropout.p is 2": {"dropout_p": 2.0},
            "attn_weights is 'some'": {"attn_weights": "some"}}.items():
        with pytest.raises((TypeError, ValueError), match=words):
            attention(**{"query": query, "key": key, "value": value, **changed})


@pytest.mark.parametrize("junk", [float("nan"), float("inf")])
def test_junk_that_no_query_sees_stays_out(junk):
    """Of a row that sees nothing, and of keys, in first and second derivatives."""
    mask = torch.ones(3, 4, dtype=torch.bool)
    mask[:, 3] = mask[1] = False
    clean = small(dtype=torch.float64)
    dirty = [each.clone() for each in clean]
    dirty[0][:, :, 1] = dirty[1][:, :, 3] = dirty[2][:, :, 3] = junk

    def call(*inputs):
        return attention(*inputs, operands=Operands(mask=mask))[0]

    for one, other in zip(by_autograd(call, dirty), by_autograd(call, clean)):
        assert torch.equal(one, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_lowest_finite_number_hides_in_the_formula(dtype):
    query, key, value = small(dtype=torch.float64)
    bias = torch.zeros(3, 4)
    bias[0, 2:] = bias[2] = torch.finfo(dtype).min
    results = [attention(query, key, value, operands=operands, attn_weights="per_head")
               for operands in (Operands(bias=bias), Operands(mask=bias == 0))]
    for one, other in zip(*results):
        assert torch.equal(one, other)


def test_autocast_changes_no_score_of_the_formula():
    query, key, value = (each.bfloat16() for each in small())
    vectors = tuple(each.cos() for each in (query, key, value))
    expected = jvp(ours, (query, key, value), vectors)
    with torch.autocast("cpu", torch.bfloat16):
        given = jvp(ours, tuple(map(torch.Tensor.float, (query, key, value))), tuple(
            map(torch.Tensor.float, vectors)))
    assert torch.equal(given[0], expected[0]) and given[0].dtype == torch.bfloat16
    torch.testing.assert_close(given[1], expected[1])


# torch.func


class Classifier(torch.nn.Module):
    def __init__(self, attention_class):
        super().__init__()
        torch.manual_seed(2)
        self.attention = attention_class(8, 2, batch_first=True)
        self.last = torch.nn.Linear(8, 1)

    def forward(self, x, hidden):
        return self.last(self.attention(x, x, x, key_padding_mask=hidden)[0]).square().mean()


def test_gradients_of_each_sample():
    model, theirs = Classifier(MultiheadAttention), Classifier(torch.nn.MultiheadAttention)
    (x,) = tensors((5, 4, 8))
    hidden = torch.arange(4) >= torch.tensor([[4], [2], [3], [1], [4]])
    parameters = dict(model.named_parameters())

    def sample_loss(parameters, x, hidden):
        return functional_call(model, parameters, (x[None], hidden[None]))

    given = vmap(grad(sample_loss), (None, 0, 0))(parameters, x, hidden)
    expected = [torch.autograd.grad(theirs(x[n:n + 1], hidden[n:n + 1]), theirs.parameters())
                for n in range(5)]
    for gradient, of_samples in zip(given.values(), zip(*expected), strict=True):
        torch.testing.assert_close(gradient, torch.stack(of_samples), atol=1e-6, rtol=1e-5)


def test_an_ensemble():
    models = [Classifier(MultiheadAttention) for _ in range(3)]
    for scale, model in enumerate(models, 1):
        torch.nn.init.normal_(model.attention.in_proj_weight, std=scale / 4)
    (x,) = tensors((2, 4, 8))
    given = vmap(lambda *state: functional_call(models[0], state, (x, None)))(
        *torch.func.stack_module_state(models))
    torch.testing.assert_close(given, torch.stack([model(x, None) for model in models]))


@pytest.mark.parametrize("name", ["bias", "bias of the batch", "sinks", "mask", "ragged"])
@pytest.mark.parametrize("shared", [False, True])
def test_vmap_of_operands(name, shared):
    """Each call along the axis is the one that it would be alone, and so is the gradient
    of an operand that all share."""
    query, key, value, bias, per_batch, sinks = tensors(
        (3, 2, 4, 3, 3), (3, 2, 2, 4, 3), (3, 2, 2, 4, 2), (3, 3, 4), (3, 2, 1, 3, 4), (3, 4))
    operand = {"bias": bias, "bias of the batch": per_batch, "sinks": sinks,
               "mask": bias > -0.5, "ragged": torch.zeros(3)}[name]
    if name == "ragged":
        query, key, value = query[:, :1], key[:, :1], value[:, :1]
    field = name.split()[0]

    def call(query, key, value, operand):
        operands = (Operands(offsets=torch.tensor([[0, 1, 3], [0, 2, 4]]))
                    if name == "ragged" else Operands(**{field: operand}))
        return attention(query, key, value, operands=operands)[0]

    where = (0, 1) if name in ("mask", "ragged") else (0, 3)
    both = grad(lambda *inputs: loss(call, *inputs), where)
    one = operand[1] if shared else operand
    axes = (0, None, 0, None if shared else 0)
    inputs = (query, key[0], value, one)
    given = (*vmap(both, axes)(*inputs), vmap(call, axes)(*inputs))
    alone = [[query[n], key[0], value[n], one if shared else one[n]] for n in range(3)]
    expected = [torch.stack(each) for each in zip(*((*both(*x), call(*x)) for x in alone))]
    check_close(given, expected, tolerance=1e-6)


def test_dropout_under_vmap_follows_randomness():
    query, key, value = small()
    same = query.expand(3, -1, -1, -1, -1)

    def dropped(query):
        return attention(query, key, value, dropout_p=0.5)[0]

    for randomness in ("same", "different"):
        one, two, _ = vmap(dropped, randomness=randomness)(same)
        assert torch.equal(one, two) == (randomness == "same")
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(dropped)(same)


COMPILED = {
    "vmap": vmap(ours),
    "grad": lambda *x: grad(lambda *one: loss(ours, *one), 1)(*(each[0] for each in x)),
    "grad of each sample": vmap(grad(lambda *one: loss(ours, *one))),
}


@pytest.mark.parametrize("name", COMPILED)
def test_transforms_inside_a_compiled_function(name):
    torch._dynamo.reset()
    inputs = tensors((3, 2, 4, 3, 3), (3, 2, 2, 4, 3), (3, 2, 2, 4, 2))
    compiled = torch.compile(COMPILED[name], backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(*inputs), COMPILED[name](*inputs))


# torch.jit.trace


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")  # shapes are checked
def test_trace_records_the_formula():
    query, key, value = small()
    traced = torch.jit.trace(lambda *x: scaled_dot_product_attention(
        *x, is_causal=True, enable_gqa=True), (query, key, value))
    query, key, value = tensors((1, 4, 6, 3), (1, 2, 5, 3), (1, 2, 5, 2), seed=4)
    torch.testing.assert_close(traced(query, key, value), scaled_dot_product_attention(
        query, key, value, is_causal=True, enable_gqa=True))
    with pytest.raises(NotImplementedError, match="dropout_p=0 .* torch.export"):
        torch.jit.trace(lambda x: scaled_dot_product_attention(x, x, x, dropout_p=0.5), query)
