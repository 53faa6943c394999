"""What observe() collects, next to statistics of eager attention's weights."""
import math

import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")

import headwise
from headwise import observe
from headwise.transformers import attention_layers, prune_heads, register
from small_models import inputs_of, small_model
from test_view import data_of, entropies

ARCHITECTURES = ["bert", "roberta", "gpt2", "gpt_neox", "llama", "mistral", "qwen3",
                 "gemma2", "phi3", "gpt_oss", "t5", "bart", "vit", "whisper"]

register()


def ours(name):
    model = small_model(name)
    model.set_attn_implementation("headwise")
    return model


def eager_weights(name, inputs):
    """The weights of every attention module, in the order of the calls."""
    model = small_model(name)
    model.set_attn_implementation("eager")
    weights = {}
    index = 2 if name == "t5" else 1

    def record(layer):
        def hook(module, arguments, output):
            weights[layer] = output[index].detach()
        return hook

    for number, module in enumerate(attention_layers(model).values()):
        module.register_forward_hook(record(number))
    with torch.no_grad():
        model(**inputs)
    return weights


def statistics_of(weights):
    """Means over batch and queries of weights (B, H, Lq, Lkv), by head. What a row
    lacks to 1 is the share of a sink.
    """
    sink = (1 - weights.sum(-1)).clamp(min=0)
    positions = torch.arange(weights.shape[2])[:, None]
    distance = (positions - torch.arange(weights.shape[3])).abs()

    def at(offset):
        shifted = torch.zeros(weights.shape[:3])
        for i in range(weights.shape[2]):
            if 0 <= i + offset < weights.shape[3]:
                shifted[..., i] = weights[..., i, i + offset]
        return shifted

    of_keys = weights / weights.sum(-1, keepdim=True)
    entropy = -torch.xlogy(weights, weights).sum(-1) - torch.xlogy(sink, sink)
    rows = {"entropy": entropy, "sink": sink,
            "key_entropy": -torch.xlogy(of_keys, of_keys).sum(-1),
            "distance": (weights * distance).sum(-1), "largest": weights.amax(-1),
            "first": weights[..., 0], "previous": at(-1), "self": at(0), "next": at(1)}
    return {name: each.mean((0, 2)).tolist() for name, each in rows.items()}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_statistics_are_those_of_eager_weights(name):
    inputs = inputs_of(name)
    model = ours(name)
    with torch.no_grad(), observe(model) as seen:
        model(**inputs)
    weights = eager_weights(name, inputs)
    assert len(seen.layers) == len(weights)
    assert len(seen.heads) == sum(each.shape[1] for each in weights.values())
    for (layer, head), each in seen.heads.items():
        expected = statistics_of(weights[layer])
        assert each.queries == weights[layer].shape[0] * weights[layer].shape[2]
        for statistic, values in expected.items():
            given = getattr(each, statistic)
            if "encoder_attn" in seen.layers[layer] or "EncDec" in seen.layers[layer]:
                if statistic in ("distance", "previous", "self", "next"):
                    assert math.isnan(given)
                    continue
            assert given == pytest.approx(values[head], abs=2e-5), (layer, head, statistic)


@pytest.mark.parametrize("maps", [False, True])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_output_bits_are_unchanged(name, maps):
    model = ours(name)
    with torch.no_grad():
        alone = model(**inputs_of(name)).logits
        with observe(model, maps=maps):
            observed = model(**inputs_of(name)).logits
        after = model(**inputs_of(name)).logits
    assert torch.equal(observed, alone) and torch.equal(after, alone)


@pytest.mark.parametrize("name, side", [("bert", "right"), ("bert", "left"),
                                        ("llama", "left"), ("llama", "right")])
def test_padding_does_not_count(name, side):
    length, lengths = 11, (11, 6)
    inputs = inputs_of(name)
    places = torch.arange(length)
    mask = torch.stack([places >= length - n if side == "left" else places < n
                        for n in lengths])
    model = ours(name)
    positions = {}
    if side == "left":
        positions["position_ids"] = (mask.long().cumsum(1) - 1).clamp(min=0)
    with torch.no_grad():
        with observe(model) as together:
            model(**inputs, attention_mask=mask.long(), **positions)
        with observe(model) as alone:
            for row in range(2):
                model(input_ids=inputs["input_ids"][row:row + 1, mask[row]])
    for place, head in alone.heads.items():
        other = together.heads[place]
        assert head.queries == other.queries == sum(lengths)
        for statistic in ("entropy", "distance", "largest", "self"):
            assert getattr(other, statistic) == pytest.approx(getattr(head, statistic),
                                                              abs=1e-5)


@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral", "gemma2", "gpt_oss"])
def test_cached_generation_is_one_long_pass(name, cache):
    model = ours(name)
    options = {} if cache is None else {"cache_implementation": cache}
    with torch.no_grad():
        with observe(model) as cached:
            words = model.generate(inputs_of(name)["input_ids"], max_new_tokens=12,
                                   min_new_tokens=12, do_sample=False, **options)
        with observe(model) as whole:
            model(words[:, :-1])
    expect_equal(cached, whole, 2 * 22)


def expect_equal(cached, whole, queries):
    names = ["entropy", "distance", "largest", "previous", "self", "next", "first"]
    for place, head in whole.heads.items():
        assert cached.heads[place].queries == head.queries == queries
        for statistic in names:
            assert getattr(cached.heads[place], statistic) == pytest.approx(
                getattr(head, statistic), abs=1e-5), statistic


@pytest.mark.parametrize("name", ["mistral", "gemma2"])
@pytest.mark.parametrize("hole", [False, True])
def test_a_window_that_has_passed_left_padding(name, hole):
    """The first key leaves the window of the longer row before that of the shorter."""
    model = ours(name)
    words = torch.arange(40).reshape(2, 20) + 3
    mask = torch.ones(2, 20, dtype=torch.long)
    mask[1, :7] = 0
    if hole:
        mask[0, 9] = 0
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    cache = tf.DynamicCache(config=model.config)
    with torch.no_grad():
        with observe(model) as whole:
            model(words, attention_mask=mask, position_ids=positions)
        with observe(model) as cached:
            for begin, end in [(0, 5), *((n, n + 1) for n in range(5, 20))]:
                model(words[:, begin:end], attention_mask=mask[:, :end],
                      position_ids=positions[:, begin:end], past_key_values=cache)
    for place, head in whole.heads.items():
        assert cached.heads[place].first == pytest.approx(head.first, abs=1e-5)


@pytest.mark.parametrize("name", ["bert", "llama", "gpt_oss", "t5"])
def test_autocast_and_inference_mode_are_observed(name):
    model = ours(name)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        alone = model(**inputs_of(name)).logits
        with observe(model) as seen:
            observed = model(**inputs_of(name)).logits
    assert torch.equal(observed, alone) and len(seen.heads) >= 8


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt_oss", "t5"])
def test_gradients_flow_while_observed(name, weights):
    def backward(model):
        outputs = model(**inputs_of(name), output_attentions=weights)
        loss = outputs.logits.square().mean()
        for each in (outputs.get("attentions") or outputs.get("decoder_attentions") or ()):
            loss = loss + each.square().sum()
        loss.backward()

    model, observed = ours(name), ours(name)
    backward(model)
    with observe(observed) as seen:
        backward(observed)
    with torch.no_grad(), observe(observed) as expected:
        observed(**inputs_of(name))
    assert len(seen.heads) >= 8
    for one, other in zip(seen.heads.values(), expected.heads.values()):
        assert str(one) == str(other)  # NaN included
    for one, other in zip(model.parameters(), observed.parameters()):
        assert (one.grad is None and other.grad is None) or torch.equal(one.grad, other.grad)


def test_recording_gradients_takes_no_second_pass(monkeypatch):
    calls = []

    def counted(*tensors, **options):
        calls.append(options)
        return attend(*tensors, **options)

    attend = headwise._core.torch_attention
    monkeypatch.setattr(headwise._core, "torch_attention", counted)
    model = ours("llama")
    with observe(model):
        model(**inputs_of("llama")).logits.sum().backward()
    assert len(calls) == len(attention_layers(model))


def test_dropout_does_not_count():
    inputs = inputs_of("bert")
    model = ours("bert")
    with observe(model) as calm:
        model(**inputs)
    for module in model.modules():
        module.training = "Attention" in type(module).__name__
    torch.manual_seed(1)
    expected = model(**inputs).logits
    torch.manual_seed(1)
    with observe(model) as seen:
        output = model(**inputs).logits
    assert torch.equal(output, expected)
    first = [seen.heads[0, head] == calm.heads[0, head] for head in range(4)]
    assert first == [True] * 4


def test_any_implementation_is_restored():
    model = small_model("bert")
    before = model.config._attn_implementation
    assert before != "headwise"
    with pytest.raises(KeyError), observe(model):
        assert model.config._attn_implementation == "headwise"
        raise KeyError
    assert model.config._attn_implementation == before
    with observe(model):
        pass


def test_observing_twice_is_refused():
    model = small_model("bert")
    with observe(model), pytest.raises(RuntimeError, match="already observed"):
        with observe(model):
            pass


def test_other_models_are_refused_by_name():
    bloom = tf.BloomForCausalLM(tf.BloomConfig(hidden_size=32, n_layer=1, n_head=4,
                                               vocab_size=64))
    with pytest.raises(NotImplementedError, match=r"BloomForCausalLM does not go through .*headwise.view\(path, outputs.attent"):
        with observe(bloom):
            pass
    with pytest.raises(TypeError, match="model is Linear, expected a model of transf"):
        with observe(torch.nn.Linear(2, 2)):
            pass


class Wrapped(torch.nn.Module):
    """A model of transformers in a module of one's own."""

    def __init__(self, **models):
        super().__init__()
        for name, model in models.items():
            setattr(self, name, model)

    def forward(self, **inputs):
        return self.body(**inputs)


@pytest.mark.parametrize("seen_before", [False, True])
def test_the_model_inside_a_compiled_one_or_a_module_is_observed(seen_before):
    model, inputs = ours("bert"), inputs_of("bert")
    with torch.no_grad(), observe(model) as expected:
        model(**inputs)
    torch._dynamo.reset()
    outer = Wrapped(body=model)
    for runs in (outer, torch.compile(model, backend="eager"),
                 torch.compile(outer, backend="eager")):
        with torch.no_grad():
            if seen_before:
                runs(**inputs)
            with observe(runs) as seen:
                runs(**inputs)
            runs(**inputs)  # after the block: does not count
        assert seen.layers == expected.layers
        assert list(seen.heads.values()) == list(expected.heads.values())


def test_a_module_with_two_models_names_them():
    both = Wrapped(body=ours("bert"), other=ours("gpt2"))
    with pytest.raises(TypeError, match="model is Wrapped with body and other in it, expected"):
        with observe(both):
            pass


def test_kept_call_gives_the_weights_of_eager():
    model = ours("gemma2")
    with torch.no_grad(), observe(model, maps=True) as seen:
        model(**inputs_of("gemma2"))
    expected = eager_weights("gemma2", inputs_of("gemma2"))
    for layer in seen.layers:
        call = seen.call(layer)
        result = headwise.attention(call.query, call.key, call.key,
                                    attn_weights="per_head", **call.options)
        torch.testing.assert_close(result.attn_weights, expected[layer], atol=1e-5, rtol=0)


def test_pruned_heads_keep_their_numbers():
    model = ours("bert")
    prune_heads(model, {1: [0, 2]})
    with torch.no_grad(), observe(model) as seen:
        model(**inputs_of("bert"))
    assert [head for layer, head in seen.heads if layer == 1] == [1, 3]
    with pytest.raises(KeyError, match="head 2 of layer 1"):
        seen.heads[1, 2]


def test_maps_keep_queries_and_keys():
    model = ours("mistral")
    with torch.no_grad(), observe(model, maps=True) as seen:
        model.generate(inputs_of("mistral")["input_ids"], max_new_tokens=3)
    kept = seen.call(1)
    assert kept.query.shape == (2, 11, 4, 8) and kept.key.shape == (2, 11, 2, 8)
    assert not kept.cross
    with torch.no_grad(), observe(model) as without:
        model(**inputs_of("mistral"))
    with pytest.raises(KeyError, match="nothing was kept of layer 1"):
        without.call(1)


@pytest.mark.parametrize("name, pages", [
    ("bert", {"": 2}), ("gpt2", {"": 2}), ("llama", {"": 2}), ("mistral", {"": 2}),
    ("vit", {"": 2}), ("qwen3", {"": 2}), ("gemma2", {"": 2}),
    ("gpt_oss", {"": 2}), ("bart", {"": 2, "-2": 2, "-3": 2}),
    ("t5", {"": 2, "-2": 2, "-3": 2}), ("whisper", {"": 2, "-2": 2, "-3": 2})])
def test_page_shows_every_layer(name, pages, tmp_path):
    model = ours(name)
    with observe(model, maps=True) as seen:
        model(**inputs_of(name))
    paths = seen.view(tmp_path / "page.html", title="Seen in a test")
    assert [each.name for each in paths] == [f"page{tail}.html" for tail in pages]
    assert all("Seen in a test" in path.read_text() for path in paths)
    assert sum(pages.values()) == len(seen.layers)


def test_page_of_a_pruned_model_has_the_tokens(tmp_path):
    model = ours("bert")
    prune_heads(model, {1: [0, 2]})
    with observe(model, maps=True) as seen:
        model(**inputs_of("bert"))
    tokens = [f"word{number}" for number in range(11)]
    (path,) = seen.view(tmp_path / "page.html", tokens, layers=[1], sequence=1)
    assert "word10" in path.read_text()
    assert path.read_text().count('"pruned":true') == 2
    with pytest.raises(ValueError, match="label"):
        seen.view(tmp_path / "page.html", tokens[:-1])
    with pytest.raises(KeyError, match="layer 5"):
        seen.view(tmp_path / "page.html", layers=[5])


def test_pages_have_the_tokens_that_observe_was_given(tmp_path):
    model = ours("bert")
    tokens = [f"word{number}" for number in range(11)]
    with observe(model, maps=True, tokens=tokens) as seen:
        model(**inputs_of("bert"))
    (path,) = seen.view(tmp_path / "page.html")
    assert "word10" in path.read_text()
    assert "word10" in seen._repr_html_()
    (path,) = seen.view(tmp_path / "page.html", [f"other{n}" for n in range(11)])
    assert "word10" not in path.read_text()


@pytest.mark.parametrize("name", ["gemma2", "gpt_oss"])
def test_layers_keep_their_windows_and_sinks_on_one_page(name, tmp_path):
    model = ours(name)
    with observe(model, maps=True) as seen:
        model(**inputs_of(name))
    (path,) = seen.view(tmp_path / "page.html", sequences=1)
    page = data_of(path.read_text())
    windows = [page["masks"][layer["heads"][0]["mask"]]["name"] for layer in page["layers"]]
    assert ["window" in each for each in windows] == [True, False]
    for layer in page["layers"]:
        sinks = seen.call(layer["number"]).call.operands.sinks
        assert [head["sink"] for head in layer["heads"]] == pytest.approx(
            [None] * 4 if sinks is None else sinks.tolist(), abs=1e-6)
    for number, heads in enumerate(entropies(page)):
        expected = seen.call(number).statistics["entropy"][1].mean(-1)
        assert heads == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("name", ["llama", "gemma2"])
def test_page_of_generation_shows_the_prompt(name, cache, tmp_path):
    model = ours(name)
    with observe(model, maps=True) as seen:
        model.generate(inputs_of(name)["input_ids"], max_new_tokens=3,
                       cache_implementation=cache)
    assert seen.call(0).query.shape[1] == 11
    (path,) = seen.view(tmp_path / "page.html", sequences=0)
    page = data_of(path.read_text())
    assert page["num_queries"] == page["num_keys"] == 11 and len(page["layers"]) == 2


def test_notebook_shows_the_page():
    model = ours("gpt2")
    with observe(model, maps=True) as seen:
        model(**inputs_of("gpt2"))
    assert "<iframe" in seen._repr_html_()


def test_table():
    pandas = pytest.importorskip("pandas")
    model = ours("bart")
    with torch.no_grad(), observe(model) as seen:
        model(**inputs_of("bart"))
    table = seen.to_pandas()
    assert isinstance(table, pandas.DataFrame) and len(table) == 6 * 4
    row = table[(table["layer"] == 3) & (table["head"] == 1)].iloc[0]
    assert row["name"] == "model.decoder.layers.0.encoder_attn"
    assert row["entropy"] == seen.heads[3, 1].entropy


def test_notebook_shows_every_head():
    model = ours("bert")
    with torch.no_grad(), observe(model) as seen:
        model(**inputs_of("bert"))
    page = seen._repr_html_()
    assert page.count("<td") == 8 and page.count("<th") == 1 + 4 + 2
    with observe(model) as empty:
        pass
    assert "No attention was computed" in empty._repr_html_()
    assert repr(empty) == "Observation: no attention was computed"


def test_a_terminal_shows_many_heads_below_each_other():
    model = tf.BertModel(tf.BertConfig(hidden_size=56, num_attention_heads=14, vocab_size=64,
                                       num_hidden_layers=1, intermediate_size=8)).eval()
    with torch.no_grad(), observe(model) as seen:
        model(**inputs_of("bert"))
    _, first, row, empty, second, rest = repr(seen).splitlines()
    assert [*first.split(), *second.split()] == ["head", *map(str, range(12)), "head", "12", "13"]
    assert empty == "" and rest.split() == [
        "layer", "0", *(f"{seen.heads[0, head].entropy:.2f}" for head in (12, 13))]
    assert len(row.split()) == 14


def test_a_terminal_shows_every_head_that_stays():
    model = ours("bert")
    prune_heads(model, {0: [1], 1: [1, 3]})
    with torch.no_grad(), observe(model) as seen:
        model(**inputs_of("bert"))
    caption, numbers, first, second = repr(seen).splitlines()
    assert "nats" in caption and numbers.split() == ["head", "0", "2", "3"]
    values = [f"{seen.heads[0, head].entropy:.2f}" for head in (0, 2, 3)]
    assert first.split() == ["layer", "0", *values]
    assert second == f"layer    1{seen.heads[1, 0].entropy:6.2f}{seen.heads[1, 2].entropy:6.2f}"
    assert numbers.index("2") == second.index(".", 14) + 2
    assert seen._repr_html_().count("<td></td>") == 1
