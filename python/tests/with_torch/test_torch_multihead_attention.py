"""headwise.torch.MultiheadAttention against torch.nn.MultiheadAttention."""

import copy
import itertools
import pickle
import warnings

import pytest

torch = pytest.importorskip("torch")

from headwise.torch import MultiheadAttention  # noqa: E402

BATCH, QUERIES, KEYS, EMBED, HEADS = 2, 5, 7, 12, 3
MASKS = [None, "2-D bool", "2-D float", "3-D bool", "3-D float", "causal bool", "causal float"]
PADDINGS = [None, "bool", "float"]
CONSTRUCTORS = list(itertools.product([False, True], repeat=5))


def modules(**options):
    torch.manual_seed(0)
    theirs = torch.nn.MultiheadAttention(EMBED, HEADS, **options)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    ours = MultiheadAttention(EMBED, HEADS, **options)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def draw_mask(kind, shape):
    if kind is None:
        return None
    if kind.startswith("causal"):
        hidden = torch.ones(shape, dtype=torch.bool).triu(1)
    else:
        hidden = torch.rand(shape) < 0.3
        if kind.endswith("float") and not kind.startswith("float"):
            return torch.randn(shape)
    if kind.endswith("bool"):
        return hidden
    return torch.zeros(shape).masked_fill(hidden, -torch.inf)


def calls(kdim, vdim, batch_first):
    """Arguments of forward() in every combination."""
    for of_self, unbatched, mask, padding, weights, average, hint in itertools.product(
        [False, True], [False, True], MASKS, PADDINGS, [False, True], [False, True], [False, True]
    ):
        if of_self and kdim != EMBED:
            continue
        if hint and not (mask or "").startswith("causal"):
            continue
        if average and not weights:
            continue
        keys = QUERIES if of_self else KEYS
        batch = 1 if unbatched else BATCH
        query = torch.randn(batch, QUERIES, EMBED)
        key = query if of_self else torch.randn(batch, keys, kdim)
        value = key if vdim == kdim else torch.randn(batch, keys, vdim)
        shape = (QUERIES, keys) if mask and "3-D" not in mask else (batch * HEADS, QUERIES, keys)
        hidden_keys = draw_mask(padding and f"{padding}", (batch, keys))
        if unbatched:
            hidden_keys = None if hidden_keys is None else hidden_keys[0]
        arranged = []
        for tensor in (query, key, value):
            known = [new for old, new in arranged if old is tensor]
            new = tensor[0] if unbatched else tensor if batch_first else tensor.transpose(0, 1)
            arranged.append((tensor, known[0] if known else new))
        yield (
            [new for _, new in arranged],
            {
                "key_padding_mask": hidden_keys,
                "need_weights": weights,
                "attn_mask": draw_mask(mask, shape),
                "average_attn_weights": average,
                "is_causal": hint,
            },
        )


def assert_equal_where_theirs_is_a_number(ours, theirs, tolerance=1e-5):
    if theirs is None:
        assert ours is None
        return
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    numbers = ~theirs.isnan()
    torch.testing.assert_close(ours[numbers], theirs[numbers], atol=tolerance, rtol=tolerance)


def gradients(module, inputs, results):
    """With respect to all inputs and parameters, of a sum with random factors."""
    generator = torch.Generator().manual_seed(1)
    total = sum(
        (result * torch.randn(result.shape, generator=generator)).sum()
        for result in results
        if result is not None
    )
    leaves = list({id(leaf): leaf for leaf in inputs}.values()) + list(module.parameters())
    return torch.autograd.grad(total, leaves, allow_unused=True)


@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize("batch_first, bias, add_bias_kv, add_zero_attn, sizes", CONSTRUCTORS)
def test_equals_torch_in_every_combination(batch_first, bias, add_bias_kv, add_zero_attn, sizes):
    kdim, vdim = (6, 9) if sizes else (EMBED, EMBED)
    theirs, ours = modules(
        batch_first=batch_first,
        bias=bias,
        add_bias_kv=add_bias_kv,
        add_zero_attn=add_zero_attn,
        kdim=kdim if sizes else None,
        vdim=vdim if sizes else None,
    )
    torch.manual_seed(1)
    for number, (inputs, keywords) in enumerate(calls(kdim, vdim, batch_first)):
        with_gradients = number % 4 == 0
        leaves = {id(i): i.detach().requires_grad_(with_gradients) for i in inputs}
        inputs = [leaves[id(i)] for i in inputs]
        expected = theirs(*inputs, **keywords)
        results = ours(*inputs, **keywords)
        for result, exact in zip(results, expected):
            assert_equal_where_theirs_is_a_number(result, exact)
        if with_gradients and not any(e is not None and e.isnan().any() for e in expected):
            for gradient, exact in zip(
                gradients(ours, inputs, results), gradients(theirs, inputs, expected)
            ):
                # An exact gradient of 0 may be absent in either.
                gradient = torch.zeros(()) if gradient is None else gradient
                exact = torch.zeros_like(gradient) if exact is None else exact
                torch.testing.assert_close(
                    gradient.expand_as(exact), exact, atol=2e-4, rtol=2e-4
                )


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_query_without_a_key_gives_the_bias_and_weights_of_zero(need_weights):
    _, module = modules(batch_first=True)
    x = torch.randn(BATCH, QUERIES, EMBED, requires_grad=True)
    hidden = torch.zeros(BATCH, QUERIES, dtype=torch.bool)
    hidden[1] = True
    output, weights = module(x, x, x, key_padding_mask=hidden, need_weights=need_weights)
    assert torch.equal(output[1], module.out_proj.bias.expand(QUERIES, EMBED))
    if need_weights:
        assert (weights[1] == 0).all() and (weights[0].sum(-1) - 1).abs().max() < 1e-6
    output.sum().backward()
    assert all(p.grad.isfinite().all() for p in module.parameters() if p.grad is not None)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("as_float", [False, True])
def test_nan_behind_a_mask_stays_there(need_weights, as_float):
    _, module = modules(batch_first=True)
    x = torch.randn(BATCH, QUERIES, EMBED)
    hidden = torch.zeros(BATCH, QUERIES, dtype=torch.bool)
    hidden[1, 3:] = True
    dirty = x.masked_fill(hidden[..., None], float("nan"))
    mask = torch.zeros(BATCH, QUERIES).masked_fill(hidden, -torch.inf) if as_float else hidden
    clean, clean_weights = module(x, x, x, key_padding_mask=mask, need_weights=need_weights)
    output, weights = module(
        dirty, dirty, dirty, key_padding_mask=mask, need_weights=need_weights
    )
    assert torch.equal(output[~hidden], clean[~hidden])
    assert output[hidden].isnan().all()
    if need_weights:
        assert torch.equal(weights[~hidden], clean_weights[~hidden])


def test_weights_do_not_change_the_output():
    _, module = modules(batch_first=True)
    x = torch.randn(BATCH, QUERIES, EMBED)
    plain, _ = module(x, x, x, need_weights=False)
    for average in (False, True):
        assert torch.equal(module(x, x, x, average_attn_weights=average)[0], plain)


def test_dropout_only_in_training():
    torch.manual_seed(2)
    module = MultiheadAttention(EMBED, HEADS, dropout=0.5, batch_first=True)
    x = torch.randn(BATCH, QUERIES, EMBED)

    def call(**keywords):
        torch.manual_seed(5)
        return module(x, x, x, **keywords)

    output, weights = call(average_attn_weights=False)
    assert (weights == 0).any() and torch.equal(call(need_weights=False)[0], output)
    assert torch.equal(call()[1], weights.mean(1))
    module.eval()
    assert not (call()[1] == 0).any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bit_module(dtype):
    theirs, ours = modules(batch_first=True)
    x = torch.randn(BATCH, QUERIES, EMBED)
    expected, expected_weights = theirs(x, x, x)
    output, weights = ours.to(dtype)(*(x.to(dtype),) * 3)
    assert output.dtype == weights.dtype == dtype
    torch.testing.assert_close(output.float(), expected, atol=0.1, rtol=0.1)
    torch.testing.assert_close(weights.float(), expected_weights, atol=0.03, rtol=0.1)


@pytest.mark.parametrize("as_float", [False, True])
def test_float64_module(as_float):
    theirs, ours = (module.double() for module in modules(batch_first=True))
    x = torch.randn(BATCH, QUERIES, EMBED).double()
    mask = draw_mask("float" if as_float else "causal bool", (QUERIES, QUERIES))
    mask = mask.double() / 3 if as_float else mask
    for given, expected in zip(ours(x, x, x, attn_mask=mask), theirs(x, x, x, attn_mask=mask)):
        torch.testing.assert_close(given, expected, atol=1e-14, rtol=1e-14)


def test_state_hooks_copies_and_pickles_are_those_of_torch():
    theirs, ours = modules(add_bias_kv=True, batch_first=True)
    assert isinstance(ours, torch.nn.MultiheadAttention)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(BATCH, QUERIES, EMBED)
    expected, _ = ours(x, x, x)
    assert torch.equal(copy.deepcopy(ours)(x, x, x)[0], expected)
    assert torch.equal(pickle.loads(pickle.dumps(ours))(x, x, x)[0], expected)

    seen = []
    handle = ours.register_forward_hook(lambda module, given, result: seen.append(result[1]))
    _, weights = ours(x, x, x)
    handle.remove()
    assert seen[0] is weights


def test_compiled_module():
    torch._dynamo.reset()
    _, module = modules(batch_first=True)
    x = torch.randn(BATCH, QUERIES, EMBED)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for result, expected in zip(compiled(x, x, x), module(x, x, x)):
        torch.testing.assert_close(result, expected, atol=1e-6, rtol=1e-6)


def layer_pair(**options):
    torch.manual_seed(0)
    theirs = torch.nn.TransformerEncoderLayer(
        EMBED, 2, 20, dropout=0.0, batch_first=True, **options
    )
    ours = copy.deepcopy(theirs)
    ours.self_attn = MultiheadAttention(EMBED, 2, batch_first=True)
    ours.self_attn.load_state_dict(theirs.self_attn.state_dict())
    return theirs, ours


class CallCount:
    def __init__(self, module):
        self.calls = 0
        forward = module.forward

        def counted(*arguments, **keywords):
            self.calls += 1
            return forward(*arguments, **keywords)

        module.forward = counted


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_encoder_layer_calls_it(training, masked):
    theirs, ours = layer_pair()
    theirs.train(training)
    ours.train(training)
    count = CallCount(ours.self_attn)
    x = torch.randn(BATCH, QUERIES, EMBED)
    hidden = torch.arange(QUERIES) >= torch.tensor([[QUERIES], [3]]) if masked else None
    with torch.set_grad_enabled(training):
        expected = theirs(x, src_key_padding_mask=hidden)
        output = ours(x, src_key_padding_mask=hidden)
    assert count.calls == 1
    seen = torch.ones(BATCH, QUERIES, dtype=torch.bool) if hidden is None else ~hidden
    torch.testing.assert_close(output[seen], expected[seen], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("replaced_later", [False, True])
def test_encoder_calls_it(replaced_later):
    theirs, ours = layer_pair()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = torch.nn.TransformerEncoder(theirs, 2).eval()
        encoder = torch.nn.TransformerEncoder(theirs if replaced_later else ours, 2).eval()
    if replaced_later:
        for layer in encoder.layers:
            layer.self_attn = copy.deepcopy(ours.self_attn)
    counts = [CallCount(layer.self_attn) for layer in encoder.layers]
    x = torch.randn(BATCH, QUERIES, EMBED)
    hidden = torch.arange(QUERIES) >= torch.tensor([[QUERIES], [3]])
    with torch.no_grad():
        expected = reference(x, src_key_padding_mask=hidden)
        output = encoder(x, src_key_padding_mask=hidden)
    assert [count.calls >= 1 for count in counts] == [True, True]
    torch.testing.assert_close(output[~hidden], expected[~hidden], atol=1e-5, rtol=1e-5)


def test_encoder_and_decoder_of_a_transformer():
    torch.manual_seed(0)
    theirs = torch.nn.Transformer(EMBED, 2, 2, 2, 20, dropout=0.0, batch_first=True)
    ours = copy.deepcopy(theirs)
    for module in ours.modules():
        for name, child in module.named_children():
            if type(child) is torch.nn.MultiheadAttention:
                replacement = MultiheadAttention(EMBED, 2, batch_first=True)
                replacement.load_state_dict(child.state_dict())
                setattr(module, name, replacement)
    source, target = torch.randn(BATCH, KEYS, EMBED), torch.randn(BATCH, QUERIES, EMBED)
    causal = torch.nn.Transformer.generate_square_subsequent_mask(QUERIES)
    torch.testing.assert_close(
        ours(source, target, tgt_mask=causal, tgt_is_causal=True),
        theirs(source, target, tgt_mask=causal, tgt_is_causal=True),
        atol=1e-5,
        rtol=1e-5,
    )


REFUSED = {
    "types": (TypeError, "key is torch.float32 and query is torch.float64", {
        "query": torch.ones(2, 5, 12).double()}),
    "hint alone": (ValueError, "attn_mask", {"is_causal": True}),
    "query": (ValueError, "query has shape", {"query": torch.ones(2, 5, 11)}),
    "key": (ValueError, "key has shape", {"key": torch.ones(2, 7, 11)}),
    "value": (ValueError, "value has shape", {"value": torch.ones(2, 6, 12)}),
    "mask": (ValueError, "attn_mask has shape", {"attn_mask": torch.ones(7, 5)}),
    "padding": (ValueError, "key_padding_mask has", {"key_padding_mask": torch.ones(7, 2)}),
    "integers": (TypeError, "attn_mask is torch.int64", {"attn_mask": torch.ones(5, 7).long()}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_named(name):
    error, words, changed = REFUSED[name]
    arguments = {
        "query": torch.ones(2, 5, 12),
        "key": torch.ones(2, 7, 12),
        "value": torch.ones(2, 7, 12),
    }
    module = MultiheadAttention(EMBED, HEADS, batch_first=True)
    with pytest.raises(error, match=words):
        module(**{**arguments, **changed})
