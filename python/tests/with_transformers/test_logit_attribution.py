"""Direct logit attribution against plain formulas on transformers' eager models."""
import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import headwise
from eager_capture import assert_close, layers_of, padded, projected
from headwise.transformers import attention_layers, prune_heads
from small_models import inputs_of, small_model

# The norm that ends the residual stream.
FINAL = {"gpt2": "transformer.ln_f", "gpt_neox": "gpt_neox.final_layer_norm",
         "opt": "model.decoder.final_layer_norm", "t5": "decoder.final_layer_norm",
         "gptj": "transformer.ln_f"}
# The norm between the output projection and the residual stream, next to the attention.
AFTER_ATTENTION = {"gemma2": "post_attention_layernorm", "olmo2": "post_attention_layernorm",
                   "gemma3": "post_attention_layernorm", "glm4": "post_self_attn_layernorm"}
MODELS = ["gpt2", "llama", "gemma", "gemma2", "gemma3", "qwen3", "gpt_oss", "opt", "gpt_neox",
          "gptj", "cohere", "granite", "olmo2", "glm4", "mixtral", "phi3", "t5", "bart"]


def frozen(norm, added, stream):
    """`added` (B, n) through a norm whose scale is that of `stream` (B, n)."""
    eps = getattr(norm, "variance_epsilon", None) or getattr(norm, "eps", None)
    added, stream, weight = added.double(), stream.double(), norm.weight.double()
    if isinstance(norm, torch.nn.LayerNorm) or "CohereLayerNorm" in type(norm).__name__:
        added = added - added.mean(-1, keepdim=True)
        stream = stream - stream.mean(-1, keepdim=True)
    weight = 1 + weight if "Gemma" in type(norm).__name__ else weight
    return added / (stream.square().mean(-1, keepdim=True) + eps).sqrt() * weight


def norms_after(name, model, layer):
    """The norms on the way from an attention to the unembedding."""
    module = list(attention_layers(model))[layer]
    if name == "bart":  # each sublayer of the decoder ends with one
        norms = [norm for block in model.model.decoder.layers
                 for norm in (block.self_attn_layer_norm, block.encoder_attn_layer_norm,
                              block.final_layer_norm)]
        block, cross = divmod(layer - 2, 2)
        return norms[3 * block + cross:]
    norms = [model.get_submodule(FINAL.get(name, "model.norm"))]
    if name in AFTER_ATTENTION:
        parent = module.rpartition(".")[0]
        norms.insert(0, model.get_submodule(f"{parent}.{AFTER_ATTENTION[name]}"))
    return norms


def factor_of(config):
    """On the way from the heads to the logits."""
    scale = config.d_model ** -0.5 if getattr(config, "scale_decoder_outputs", False) else 1
    return (scale * getattr(config, "logit_scale", 1) / getattr(config, "logits_scaling", 1)
            * getattr(config, "residual_multiplier", 1))


def uncapped(logits, model):
    config = model.config.get_text_config(decoder=True)
    cap = getattr(config, "final_logit_softcapping", None)
    return logits if cap is None else cap * torch.atanh(logits.double() / cap)


def by_formula(name, model, inputs, token, other, rows):
    """The logits (B) and, by layer, what each head adds by token, (B, Hq, Lkv)."""
    streams, hooks = {}, []
    for module in model.modules():
        if "Norm" in type(module).__name__:
            hooks.append(module.register_forward_pre_hook(
                lambda norm, given: streams.__setitem__(norm, given[0].detach())))
    output, layers = layers_of(model, inputs)
    for hook in hooks:
        hook.remove()
    batch = torch.arange(len(rows))
    unembedding = model.get_output_embeddings().weight.double()
    direction = unembedding[token] - unembedding[other]
    sources = {}
    for layer, (weights, value, found) in layers.items():
        if name in ("t5", "bart") and layer < 2:
            continue  # the encoder
        heads = []
        for head in range(weights.shape[1]):
            added = weights[batch, head, rows][..., None] * value[:, head]
            added = projected(found, head, added)  # (B, Lkv, hidden)
            for norm in norms_after(name, model, layer):
                added = frozen(norm, added, streams[norm][batch, rows][:, None])
            heads.append(added.double() @ direction * factor_of(model.config))
        sources[layer] = torch.stack(heads, 1)
    logits = uncapped(output.logits, model)[batch, rows]
    return logits[:, token] - logits[:, other], sources


def check(name, inputs, rows):
    found = headwise.logit_attribution(small_model(name), inputs, tokens=5, other=9,
                                       positions=rows)
    logit, sources = by_formula(name, small_model(name), inputs, 5, 9, rows)
    assert list(found.sources) == list(sources)
    assert_close(found.logit, logit)
    largest = max(each.abs().max() for each in sources.values())
    for layer, expected in sources.items():
        assert (found.sources[layer] - expected).abs().max() <= 1e-5 * largest
        assert_close(found.heads[layer], expected.sum(-1))
    parts = sum(each.sum(1) for each in found.heads.values()) + found.rest
    assert_close(parts, found.logit)


@pytest.mark.parametrize("name", MODELS)
def test_heads_go_through_frozen_norms_to_the_logits(name):
    check(name, inputs_of(name), torch.tensor([8, 4]))


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "gemma3", "gpt_oss"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_takes_no_part(name, side):
    check(name, padded(inputs_of(name), side), torch.tensor([10 if side == "left" else 7, 9]))


@pytest.mark.parametrize("name", [
    "mistral", "qwen2", "phi", "stablelm", "nemotron", "starcoder2", "smollm3", "olmo",
    "deepseekv3", "qwen3moe", "granitemoe", "cohere2", "exaone4", "apertus", "whisper",
    "mbart", "t5gemma", "switchtransformers", "gpt2_decoder", "biogpt"])
def test_heads_and_rest_add_up(name):
    model = small_model(name)
    logits = uncapped(model(**inputs_of(name)).logits[:, -1], model)
    found = headwise.logit_attribution(model, inputs_of(name), [5, 9])
    assert_close(found.logit, logits[[0, 1], [5, 9]])
    parts = sum(each.sum(1) for each in found.heads.values()) + found.rest
    assert_close(parts, found.logit)
    for layer, sources in found.sources.items():
        assert_close(sources.sum(-1), found.heads[layer])


@pytest.mark.parametrize("products", ["batched_mm", "grouped_mm"])
def test_experts_leave_the_path_however_they_are_computed(products):
    model = small_model("mixtral")
    model.set_experts_implementation("eager")
    expected = headwise.logit_attribution(model, inputs_of("mixtral"), 5)
    model.set_experts_implementation(products)
    found = headwise.logit_attribution(model, inputs_of("mixtral"), 5)
    for layer, heads in expected.heads.items():
        assert_close(found.heads[layer], heads)


def test_rest_is_embedding_mlps_and_biases():
    """But not the biases of the values, which belong to the heads."""
    model = small_model("gpt2")
    streams = []
    for module in [model.transformer.drop, *(block.mlp for block in model.transformer.h)]:
        module.register_forward_hook(lambda _, given, output: streams.append(output[:, -1]))
    norm = model.transformer.ln_f
    norm.register_forward_pre_hook(lambda _, given: streams.append(given[0][:, -1]))
    model(**inputs_of("gpt2"))
    *streams, last = streams
    streams += [block.attn.c_proj.bias for block in model.transformer.h]
    rest = sum(streams).double()
    direction = model.lm_head.weight[5].double()
    expected = (frozen(norm, rest, last) + norm.bias.double()) @ direction
    assert_close(headwise.logit_attribution(model, inputs_of("gpt2"), 5).rest, expected)


def test_heads_are_named_and_the_model_stays():
    model = small_model("gpt2").train()
    prune_heads(model, {1: [0, 2]})
    with headwise.intervene(model) as heads:
        heads[0].scale(0)
        found = headwise.logit_attribution(model, inputs_of("gpt2"), 5)
    assert found.numbers == {0: [0, 1, 2, 3], 1: [1, 3]}
    assert found.heads[0].abs().min() > 0 and model.training
    assert all(each.requires_grad for each in model.parameters())
    table = found.to_pandas()
    assert list(table.columns) == ["example", "layer", "head", "logit"] and len(table) == 12
    lines = repr(found).splitlines()
    assert "means of 2 examples" in lines[0] and len(lines) == 4
    assert math.isclose(float(lines[2].split()[2]), found.heads[0][:, 0].mean(), rel_tol=0.01)


@pytest.mark.parametrize("name, arguments, error, message", [
    ("vit", dict(tokens=1), NotImplementedError, "no unembedding"),
    ("bert", dict(tokens=1), NotImplementedError, "through norms and the unembedding alone"),
    ("gpt2", dict(tokens=64), ValueError, r"tokens is \[64, 64\]; the vocabulary has 64"),
    ("gpt2", dict(tokens=1, other=-1), ValueError, "other is"),
    ("gpt2", dict(tokens=[1, 2, 3]), ValueError, "tokens has 3 numbers"),
    ("gpt2", dict(tokens=1, positions=11), ValueError, "positions is"),
    ("gpt2", dict(tokens=1.5), TypeError, "tokens is 1.5"),
])
def test_errors_name_the_argument(name, arguments, error, message):
    with pytest.raises(error, match=message):
        headwise.logit_attribution(small_model(name), inputs_of(name), **arguments)
