"""Interventions next to hooks in plain torch on the eager model."""

import numpy
import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")

import headwise
from headwise.transformers import attention_layers, head_means, prune_heads
from plain_interventions import PlainModel
from small_models import inputs_of, jamba, small_model

MODELS = ["gpt2", "llama", "qwen3", "gemma2", "gemma3", "gpt_oss", "bert", "modernbert",
          "albert", "t5", "bart", "vit"]
DECODERS = ["gpt2", "llama", "qwen3", "gemma2", "gemma3", "gpt_oss", "t5", "bart"]
PATTERN = torch.rand(32, 32, generator=torch.Generator().manual_seed(3))
PATTERN[:, [0, 1, 2, 8, 9, 10]] = 0  # padding of some tests, which sees no key
FACTORS = torch.tensor([[0.5], [-2.0]])
Z = torch.linspace(-1, 1, 16)


def scale(z, first):
    z[:, :, 1] *= 0.3


def scale_two_sequences(z, first):
    z[:, :, 2:4] *= FACTORS[:, :, None, None]


def replace_positions(z, first):
    for position in (2, 12):
        if 0 <= position - first < z.shape[1]:
            z[:, position - first, 0] = Z[:z.shape[-1]]


def replace_one_sequence(z, first):
    z[1, :, :] = 0.25


def flip(z, first):
    z[:, :, [0, 3]] = z[:, :, [0, 3]].flip(-1)


def edges(queries, keys, shape, first_query, first_key):
    """The places of edges in weights of `shape`."""
    rows = [each - first_query for each in queries if 0 <= each - first_query < shape[2]]
    columns = [each - first_key for each in keys if 0 <= each - first_key < shape[3]]
    return torch.tensor(rows, dtype=torch.int64)[:, None], columns


def cut(mask, *first):
    rows, columns = edges((4, 5, 11), (2, 3), mask.shape, *first)
    for head in (1, 2):
        mask[:, head, rows, columns] = torch.finfo(mask.dtype).min


def cut_after(weights, *first):
    rows, columns = edges((4, 5, 11), (2, 3), weights.shape, *first)
    weights[1, 2, rows, columns] = 0


def put_pattern(weights, first_query, first_key):
    queries, keys = weights.shape[2:]
    weights[:, 3] = PATTERN[first_query:first_query + queries, first_key:first_key + keys]


# The change in plain torch of z, weights or scores, and the same with headwise.
CHANGES = {
    "scale": ("z", scale, lambda layer: layer[1].scale(0.3)),
    "scale_two_sequences": ("z", scale_two_sequences,
                            lambda layer: layer[2:4].scale(FACTORS[..., None])),
    "replace_positions": ("z", replace_positions, lambda layer: layer[0].replace(
        Z[:layer.value_size], positions=[2, 12])),
    "replace_one_sequence": ("z", replace_one_sequence, lambda layer: layer[:].replace(
        torch.tensor(0.25), sequences=1)),
    "flip": ("z", flip, lambda layer: layer[[0, 3]].apply(lambda z: z.flip(-1))),
    "knock_out": ("cut", cut, lambda layer: layer[1:3].knock_out([4, 5, 11], [2, 3])),
    "knock_out_after": ("weights", cut_after, lambda layer: layer[2].knock_out(
        [4, 5, 11], [2, 3], after_softmax=True, sequences=1)),
    "pattern": ("weights", put_pattern, lambda layer: layer[3].pattern(PATTERN)),
}


class Layer:
    """heads[number], with the size of z."""

    def __init__(self, heads, number, value_size):
        self._heads, self._number, self.value_size = heads, number, value_size

    def __getitem__(self, head):
        return self._heads[self._number, head]


def padded(name, side):
    """Inputs with 3 positions of padding in sequence 1, and where the output counts."""
    inputs = inputs_of(name)
    if side is None or name == "vit":
        return inputs, ...
    mask = torch.ones(inputs["input_ids"].shape, dtype=torch.int64)
    (mask[1, :3] if side == "left" else mask[1, -3:]).fill_(0)
    counts = mask.bool()
    if "decoder_input_ids" in inputs:
        counts = ...
    return {**inputs, "attention_mask": mask}, counts


def layers_of(name):
    """The first layer and the last, which is one of cross-attention if there is any."""
    return (0, 5) if name in ("t5", "bart") else (0, 1)


def close(given, expected):
    assert (given - expected).abs().max() <= 1e-5 * expected.abs().max()


def changed_both(name, plain, heads, change):
    """Makes a change in both models; plain has run once."""
    kind, plainly, made = CHANGES[change]
    for layer in layers_of(name):
        getattr(plain, kind)[layer] = plainly
        made(Layer(heads, layer, plain.seen[layer][-1].shape[-1]))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("side", [None, "left", "right"])
@pytest.mark.parametrize("name", MODELS)
def test_a_forward_pass(name, side, change):
    inputs, counts = padded(name, side)
    plain, model = PlainModel(name), small_model(name)
    with torch.no_grad():
        whole = plain.forward(**inputs).logits
        with headwise.intervene(model) as heads:
            changed_both(name, plain, heads, change)
            expected, given = (each(**inputs).logits for each in (plain.forward, model))
        after = model(**inputs).logits
    assert not torch.equal(expected, whole)
    close(given[counts], expected[counts])
    close(after[counts], whole[counts])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", DECODERS)
def test_generation_with_a_cache(name, change):
    """Padding comes first, so that all prompts end in one column."""
    inputs, _ = padded(name, "left")
    inputs.pop("decoder_input_ids", None)
    options = dict(max_new_tokens=6, min_new_tokens=6, do_sample=False, output_logits=True,
                   return_dict_in_generate=True)
    plain, model = PlainModel(name), small_model(name)
    with torch.no_grad():
        with plain.changed():
            whole = torch.stack(plain.model.generate(**inputs, **options).logits)
        with headwise.intervene(model) as heads:
            changed_both(name, plain, heads, change)
            with plain.changed():
                expected = torch.stack(plain.model.generate(**inputs, **options).logits)
            given = torch.stack(model.generate(**inputs, **options).logits)
    assert not torch.equal(expected, whole)
    close(given, expected)


def test_layers_of_albert_are_kept_apart():
    """Its two layers are two calls of one module."""
    inputs, model, plain = inputs_of("albert"), small_model("albert"), PlainModel("albert")
    plain.z[1] = scale
    with torch.no_grad(), headwise.intervene(model) as heads:
        assert len(heads) == 2
        heads[1, 1].scale(0.3)
        for _ in range(2):
            close(model(**inputs).logits, plain.forward(**inputs).logits)
        failing = heads[0, 0].apply(lambda z: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model(**inputs)
        failing.remove()
        close(model(**inputs).logits, plain.forward(**inputs).logits)
        heads.clear()
        with headwise.observe(model, maps=True) as seen:
            model(**inputs)
    assert sorted({layer for layer, _ in seen.heads}) == [0, 1]
    assert not torch.equal(seen.call(0).z, seen.call(1).z)
    assert seen.call(1).z.shape == seen.call(1).query.shape


@pytest.mark.parametrize("name", MODELS)
def test_patch_and_mean(name):
    inputs, model, plain = inputs_of(name), small_model(name), PlainModel(name)
    other = {key: value.flip(0) for key, value in inputs.items()}
    layer = layers_of(name)[1]
    with torch.no_grad():
        with headwise.observe(model, maps=True) as run:
            model(**other)
        plain.forward(**other)
        other_z = plain.seen[layer][-1]
        close(run.call(layer).z, other_z)

        def patched(z, first):
            z[:, [1, 3], 2] = other_z[:, [1, 4], 2]
            z[:, :, :2] = other_z[:, :, :2]

        def averaged(z, first):
            z[:, :, 1:3] = other_z[:, :, 1:3].mean((0, 1))

        with headwise.intervene(model) as heads:
            heads[layer, 2].patch(run, positions=[1, 3], from_positions=[1, 4])
            heads[layer, :2].patch(run)
            plain.z[layer] = patched
            close(model(**inputs).logits, plain.forward(**inputs).logits)
            heads.clear()
            plain.z[layer] = averaged
            heads[layer, 1:3].mean([other])
            given = model(**inputs).logits
            close(given, plain.forward(**inputs).logits)
            heads.clear()
            heads[layer, 1:3].mean(head_means(model, [other]))
            assert torch.equal(model(**inputs).logits, given)


def test_means_leave_out_padding():
    inputs, counts = padded("bert", "left")
    model, plain = small_model("bert"), PlainModel("bert")
    with torch.no_grad():
        plain.forward(**inputs)
    for layer in (0, 1):
        close(head_means(model, [inputs]).of(layer), plain.seen[layer][-1][counts].mean(0))


def test_what_a_call_tells():
    for name in ("gpt2", "llama", "gpt_oss", "bart", "vit"):
        inputs, model, plain = inputs_of(name), small_model(name), PlainModel(name)
        with torch.no_grad(), headwise.observe(model, maps=True) as seen:
            model(**inputs)
        with torch.no_grad():
            plain.forward(**inputs)
        for layer in range(len(plain.modules)):
            query, key, value, weights, z = plain.seen[layer]
            call = seen.call(layer)
            for given, expected in ((call.query, query), (call.key, key), (call.value, value)):
                close(given.transpose(1, 2), expected)
            close(call.attn_weights, weights)
            close(call.z, z)
            share = call.statistics["largest"]
            close(share, weights.amax(-1))
            if name == "gpt_oss":
                close(call.statistics["sink"], 1 - weights.sum(-1))
            projection = plain.projection(layer)
            weight = projection.weight.T if name == "gpt2" else projection.weight
            parts = weight.unflatten(1, z.shape[2:])
            close(call.result, torch.einsum("blhd,ohd->blho", z, parts))


@pytest.mark.parametrize("name", ["bert", "llama", "t5"])
def test_a_factor_of_1_keeps_every_bit(name):
    inputs, model = inputs_of(name), small_model(name)
    model.set_attn_implementation("headwise")
    with torch.no_grad():
        whole = model(**inputs).logits
        with headwise.intervene(model) as heads:
            assert torch.equal(model(**inputs).logits, whole)
            heads[:].scale(1)
            heads[:, 1].scale(torch.ones(2, 1))
            assert torch.equal(model(**inputs).logits, whole)
        assert torch.equal(model(**inputs).logits, whole)


@pytest.mark.parametrize("name", ["bert", "llama", "gemma2", "t5"])
def test_gradients(name):
    inputs, model, plain = inputs_of(name), small_model(name), PlainModel(name)
    layer = layers_of(name)[1]
    gradients = []
    for run in (plain, model):
        factor = torch.ones(2, 1, 1, requires_grad=True)
        pattern = PATTERN[:9, :9].clone().requires_grad_()
        inside = {**inputs, "input_ids": inputs["input_ids"][:, :9]}

        def put(weights, *_):
            weights[:, 3] = pattern

        if run is plain:
            plain.z[0] = lambda z, first: z[:, :, 1].mul_(factor)
            plain.weights[layer] = put
            loss = plain.forward(**inside).logits.square().mean()
            parameter = plain.modules[0].parameters()
        else:
            with headwise.intervene(model) as heads:
                heads[0, 1].scale(factor[..., 0])
                heads[layer, 3].pattern(pattern)
                loss = model(**inside).logits.square().mean()
            parameter = list(attention_layers(model).values())[0].parameters()
        gradients.append(torch.autograd.grad(loss, [factor, pattern, *parameter],
                                             allow_unused=True))
    assert [each is None for each in gradients[0]] == [each is None for each in gradients[1]]
    expected, given = (torch.cat([part.flatten() for part in each if part is not None])
                       for each in gradients)
    for part in (slice(2), slice(2, 83), slice(83, None)):  # factor, pattern, parameters
        close(given[part], expected[part])


def test_blocks_nest_and_forget():
    inputs, model = inputs_of("llama"), small_model("llama")
    with torch.no_grad():
        with headwise.intervene(model) as heads:
            heads[0, 1].scale(0)
            heads[1, 2].scale(0)
            both = model(**inputs).logits
            kept = heads[1, 3].scale(0)
            kept.remove()
            kept.remove()
        with headwise.intervene(model) as outer:
            outer[0, 1].scale(0)
            one = model(**inputs).logits
            with headwise.observe(model) as seen, headwise.intervene(model) as inner:
                inner[1, 2].scale(0)
                assert torch.equal(model(**inputs).logits, both)
                assert len(inner.interventions) == len(outer.interventions) == 1
            assert seen.layers
            assert torch.equal(model(**inputs).logits, one)
            with pytest.raises(ZeroDivisionError), headwise.intervene(model) as inner:
                inner[1, 2].scale(0)
                raise ZeroDivisionError
            assert torch.equal(model(**inputs).logits, one)
    from headwise.transformers.watched import _watched
    assert not _watched


def test_kinds_of_layers():
    inputs, model = inputs_of("bart"), small_model("bart")
    with torch.no_grad(), headwise.intervene(model) as heads:
        for kind, number in (("encoder", 1), ("decoder", 4), ("cross", 5)):
            made = getattr(heads, kind)[1, 2].scale(0)
            one = model(**inputs).logits
            made.remove()
            heads[number, 2].scale(0)
            assert torch.equal(model(**inputs).logits, one)
            heads.clear()
        assert [len(each) for each in (heads.encoder, heads.decoder, heads.cross)] == [2, 2, 2]
    with headwise.intervene(small_model("llama")) as heads:
        assert len(heads.decoder) == 2
        with pytest.raises(AttributeError, match="kind 'cross'"):
            heads.cross


def test_numbers_of_a_hybrid_model():
    """Layer 0 of Jamba is not one of attention."""
    model = jamba()
    with torch.no_grad(), headwise.observe(model) as seen, headwise.intervene(model) as heads:
        model(input_ids=inputs_of("llama")["input_ids"])
        with pytest.raises(IndexError, match="no attention layer 0; its layers are 1, 3"):
            heads[0]
        assert "layer 3" in repr(heads[2:4, 1])
    assert sorted(seen.layers) == [1, 3]


def test_pruned_heads_keep_their_numbers():
    inputs, model = inputs_of("bert"), small_model("bert")
    with torch.no_grad():
        with headwise.intervene(model) as heads:
            heads[0, [1, 2]].scale(0)
            expected = model(**inputs).logits
        prune_heads(model, {0: [1]}, constant="dropped")
        with headwise.intervene(model) as heads:
            heads[0, 2].scale(0)
            close(model(**inputs).logits, expected)
            with pytest.raises(IndexError, match="head 1 of layer 0 was removed"):
                heads[0, 1]


def test_weights_that_a_model_returns_are_the_edited_ones():
    inputs, model = inputs_of("llama"), small_model("llama")
    with torch.no_grad(), headwise.intervene(model) as heads:
        heads[1, 2].knock_out(queries=5, keys=[0, -8])
        heads[0, 0].pattern(PATTERN)
        weights = model(**inputs, output_attentions=True).attentions
    assert torch.equal(weights[0][:, 0], PATTERN[:11, :11].expand(2, 11, 11))
    assert not weights[1][:, 2, 5, [0, 3]].any() and weights[1][:, 2, 5, 1].all()
    assert torch.allclose(weights[1].sum(-1), torch.tensor(1.0))


@pytest.mark.parametrize("made", [
    lambda heads: heads[1, 2].scale(0.3), lambda heads: heads[1, 2].pattern(PATTERN),
    lambda heads: heads[0, 2].knock_out(3, 1)])
def test_a_compiled_model(made):
    inputs, model = inputs_of("llama"), small_model("llama")
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        with headwise.intervene(model) as heads:
            made(heads)
            expected = model(**inputs).logits
        with headwise.intervene(compiled) as heads:
            whole = compiled(**inputs).logits
            made(heads)
            close(compiled(**inputs).logits, expected)
            heads.clear()
            close(compiled(**inputs).logits, whole)


def test_one_graph_is_an_error_that_says_how():
    model = small_model("llama")
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    with torch.no_grad(), headwise.intervene(model) as heads:
        heads[1, 2].scale(0)
        with pytest.raises(Exception, match="compile without fullgraph=True"):
            compiled(**inputs_of("llama"))


def test_a_compiled_model_that_reads_a_cache_has_no_positions():
    model = small_model("llama")
    torch._dynamo.reset()
    model.forward = torch.compile(model.forward, backend="eager")
    with torch.no_grad(), headwise.intervene(model) as heads:
        heads[1, 2].scale(0, positions=12)
        with pytest.raises(RuntimeError, match="run the model without torch.compile"):
            model.generate(**inputs_of("llama"), max_new_tokens=3, do_sample=False)


def test_errors():
    inputs, model = inputs_of("llama"), small_model("llama")
    with headwise.observe(model, maps=True) as run, torch.no_grad():
        model(**inputs)
    with headwise.intervene(model) as heads, torch.no_grad():
        for error, message, made in (
                (IndexError, "no attention layer 2; its layers are 0, 1", lambda: heads[2]),
                (IndexError, "no attention layer 'x'", lambda: heads["x", 1]),
                (IndexError, "layer 1 has no head 4: expected a number below 4",
                 lambda: heads[1, 4]),
                (IndexError, "no head -1", lambda: heads[1, -1]),
                (TypeError, "head is 1.5", lambda: heads[0, 1.5]),
                (TypeError, "layer is None", lambda: heads[None]),
                (TypeError, "z is float, expected a tensor", lambda: heads[0].replace(0.5)),
                (ValueError, "z has the shape .* expected at most 3 axes",
                 lambda: heads[0, 1].replace(torch.zeros(1, 1, 1, 8))),
                (TypeError, "positions is 'all'", lambda: heads[0].scale(0, positions="all")),
                (ValueError, "position 11: the run has 11 positions",
                 lambda: heads[0].patch(run, positions=0, from_positions=11)),
                (ValueError, "batches is empty", lambda: heads[0].mean([]))):
            with pytest.raises(error, match=message):
                made()
        for message, made in (
                ("given has .*expected what broadcasts to",
                 lambda: heads[0].replace(torch.zeros(3))),
                ("values of 3 positions were given for a call with 11 queries",
                 lambda: heads[0, 1].replace(torch.zeros(3, 8))),
                ("sequences has 2; the batch has 2", lambda: heads[0].scale(0, sequences=2)),
                ("a pattern of 4 keys", lambda: heads[0, 1].pattern(torch.ones(11, 4)))):
            made()
            with pytest.raises(ValueError, match=message):
                model(**inputs)
            heads.clear()
    with pytest.raises(TypeError, match="expected a model of transformers"):
        with headwise.intervene(torch.nn.Linear(1, 1)):
            pass


def test_texts():
    with headwise.intervene(small_model("llama")) as heads:
        heads[0, 1].scale(0.5)
        heads[:, [0, 2]].knock_out(3, [1, 2])
        assert repr(heads).splitlines()[1:] == [
            "  scale(0.5) of layer 0 head 1",
            "  knock_out(queries=3, keys=[1, 2]) of layer 0 heads 0 2, layer 1 heads 0 2"]


@pytest.fixture(scope="module")
def llama():
    return small_model("llama"), inputs_of("llama")


def logits_with(model, inputs, make):
    with torch.no_grad(), headwise.intervene(model) as heads:
        make(heads)
        return model(**inputs).logits


@pytest.mark.parametrize("later", [
    lambda heads: heads[1, 1].pattern(torch.eye(11)),
    lambda heads: heads[1, 1].knock_out(-1, 0, after_softmax=True)])
def test_outputs_are_changed_after_weights(llama, later):
    def both(heads):
        heads[1, 1].scale(0)
        later(heads)
    assert torch.equal(logits_with(*llama, both),
                       logits_with(*llama, lambda heads: heads[1, 1].scale(0)))


def test_a_run_is_patched_by_sequence_and_position(llama):
    model, inputs = llama
    with torch.no_grad():
        whole = model(**inputs).logits
        with headwise.observe(model, maps=True) as run:
            model(**inputs)
        with headwise.observe(model, maps=True) as short:
            model(input_ids=inputs["input_ids"][:, :1])
    for sequences in (1, [1, 0]):
        same = logits_with(model, inputs, lambda heads: heads[:].patch(
            run, sequences=sequences))
        close(same, whole)
    with pytest.raises(ValueError, match="values of 1 positions were given for a call with"):
        logits_with(model, inputs, lambda heads: heads[1, 2].patch(short))
    prompt = {"input_ids": inputs["input_ids"][:, :1]}
    with torch.no_grad(), headwise.intervene(model) as heads:
        expected = model.generate(**prompt, max_new_tokens=5, do_sample=False)
        heads[1, 2].patch(short)  # nothing but the prompt
        assert torch.equal(model.generate(**prompt, max_new_tokens=5, do_sample=False),
                           expected)


def test_a_pattern_for_several_heads_is_that_of_each(llama):
    pattern = torch.rand(11, 11, generator=torch.Generator().manual_seed(5))
    one = logits_with(*llama, lambda heads: heads[1].pattern(pattern))
    assert torch.equal(one, logits_with(
        *llama, lambda heads: heads[1].pattern(pattern.expand(4, 11, 11))))


def test_heads_of_several_layers(llama):
    pairs = [(0, 1), (1, 3), (1, 0)]

    def one_by_one(heads):
        for place in pairs:
            heads[place].scale(0)
    expected = logits_with(*llama, one_by_one)
    for places in (pairs, tuple(pairs)):
        assert torch.equal(logits_with(*llama, lambda heads: heads[places].scale(0)), expected)
    assert torch.equal(
        logits_with(*llama, lambda heads: heads[numpy.int64(1), numpy.array([2])].scale(0)),
        logits_with(*llama, lambda heads: heads[1, 2].scale(0)))


def test_a_block_ends_with_its_interventions(llama):
    model, inputs = llama
    with headwise.intervene(model) as heads:
        selection = heads[1, 1]
    with pytest.raises(RuntimeError, match="the block of intervene.. has ended"):
        selection.scale(0)
    with pytest.raises(RuntimeError, match="another attention implementation was set"):
        with headwise.intervene(model):
            model.set_attn_implementation("eager")
    with torch.no_grad(), headwise.intervene(model) as heads:
        made = heads[1, 1].scale(0)
        ablated = headwise.ablate(model, [inputs], lambda output, _: [made.remove() or 1., 1.],
                                  heads=[(0, 0)])
        assert len(ablated) == 1 and not heads.interventions
        assert torch.equal(model(**inputs).logits, logits_with(model, inputs, lambda _: None))


def test_other_models_keep_their_interventions(llama):
    model, inputs = llama
    other = small_model("gpt2")
    with torch.no_grad(), headwise.intervene(model) as heads:
        heads[1, 1].scale(0)
        expected = model(**inputs).logits
        seen = []
        headwise.ablate(other, [inputs_of("gpt2")], lambda output, _: seen.append(
            model(**inputs).logits) or [1., 1.], heads=[(0, 0)])
    assert all(torch.equal(each, expected) for each in seen)


def test_passes_of_headwise_see_no_intervention(llama):
    model, inputs = llama
    whole = head_means(model, inputs).of(1)
    with headwise.intervene(model) as heads:
        heads[0].scale(0)
        assert torch.equal(head_means(model, inputs).of(1), whole)


def test_float64_and_vmap(llama):
    model, inputs = llama
    double = small_model("llama").double()
    close(logits_with(double, inputs, lambda heads: heads[1, 1].pattern(torch.eye(11))).float(),
          logits_with(model, inputs, lambda heads: heads[1, 1].pattern(torch.eye(11))))

    def scaled(factor):
        with headwise.intervene(model) as heads:
            heads[1, 2].scale(factor)
            return model(**inputs, use_cache=False).logits
    factors = torch.tensor([0.0, 1.0, 2.0])
    with torch.no_grad():
        close(torch.func.vmap(scaled)(factors), torch.stack([scaled(each) for each in factors]))


def test_means_of_cross_attention_leave_out_padding():
    model, inputs = small_model("bart"), inputs_of("bart")
    mask = torch.ones(inputs["decoder_input_ids"].shape, dtype=torch.int64)
    mask[1, 6:] = 0
    means = head_means(model, {**inputs, "decoder_attention_mask": mask})
    plain = PlainModel("bart")
    with torch.no_grad():
        plain.forward(**inputs, decoder_attention_mask=mask)
    close(means.of(5), plain.seen[5][-1][mask.bool()].mean(0))


def test_weights_with_all_interventions_are_kept(llama):
    model, inputs = llama
    with torch.no_grad(), headwise.observe(model, maps=True) as seen, \
            headwise.intervene(model) as heads:
        heads[1, 1].pattern(torch.eye(11))
        model(**inputs)
    assert torch.equal(seen.call(1).attn_weights[0, 1], torch.eye(11))


@pytest.mark.parametrize("error, message, make", [
    (IndexError, r"heads\[slice\(5, 9, None\), slice.* has no heads", lambda heads: heads[5:9]),
    (ValueError, "head is empty", lambda heads: heads[0, []]),
    (TypeError, r"heads\[0, 1, 2\]: expected heads\[layer\]", lambda heads: heads[0, 1, 2]),
    (TypeError, "run is Tensor, expected what observe",
     lambda heads: heads[0].patch(torch.zeros(1))),
    (ValueError, "batches is empty", lambda heads: heads[0].mean([])),
    (TypeError, "returned NoneType, expected a tensor",
     lambda heads: heads[0].apply(lambda z: None)),
])
def test_what_is_none_of_it(llama, error, message, make):
    with pytest.raises(error, match=message):
        logits_with(*llama, make)


def test_a_pruned_module_that_layers_share():
    model, inputs = small_model("albert"), inputs_of("albert")
    prune_heads(model, {0: [1]})
    with torch.no_grad(), headwise.observe(model) as seen, headwise.intervene(model) as heads:
        model(**inputs)
        for layer in (0, 1):
            with pytest.raises(IndexError, match=f"head 1 of layer {layer} was removed"):
                heads[layer, 1]
    assert list(seen.heads) == [(layer, head) for layer in (0, 1) for head in (0, 2, 3)]
