"""Removing heads from the parameters of models."""
import json

import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")

import headwise
from headwise.transformers import (attention_layers, from_pretrained, head_importance,
                                   prune_heads)
from headwise.transformers.head_layout import HeadFeatures, weight_axis
from safetensors.torch import load_file, save_file
from small_models import MODELS, inputs_of, jamba, small_model

KEEPING = {"t5": "position bias", "mt5": "position bias",
           "switchtransformers": "position bias", "olmo2": "norm runs over",
           "olmoe": "norm runs over"}
PRUNABLE = [name for name in MODELS if name not in KEEPING]
WITH_BIASES = ["bert", "roberta", "distilbert", "gpt2", "gpt_neox", "vit", "bart", "opt",
               "whisper", "gpt_bigcode_heads", "phi", "starcoder2", "persimmon", "clip",
               "electra", "albert", "wav2vec2", "beit", "biogpt"]


def plan_of(model):
    """Other heads in every layer, whole groups where there are groups."""
    plan = {}
    for number, name in enumerate(attention_layers(model)):
        found = HeadFeatures(model, name)
        if 1 < found.group_size < found.query_heads:
            first = (number + 1) % found.key_heads * found.group_size
            plan[number] = list(range(first, first + found.group_size))
        else:
            plan[number] = [[1, 3], [0], [3], [0, 1, 2]][number % 4]
    return plan


def without_heads(model, plan):
    """The model with zeros in the columns of w_o instead."""
    names = list(attention_layers(model))
    with torch.no_grad():
        for layer, heads in plan.items():
            found = HeadFeatures(model, names[layer])
            found.output.weight.index_fill_(weight_axis(found.output, "in"),
                                            found.of_output(heads), 0)
    return model


def with_constant_values(model, plan):
    """The model with zeros in w_v: what these heads add is w_o b_v alone."""
    names = list(attention_layers(model))
    with torch.no_grad():
        for layer, heads in plan.items():
            found = HeadFeatures(model, names[layer])
            path = found.path_of("v")
            projection = found.inputs[path]
            read = [head // found.group_size for head in heads]
            projection.weight.index_fill_(weight_axis(projection, "out"),
                                          found.of_input(path, "v", read), 0)
    return model


def outputs(model, name):
    """Logits, or hidden states of a model without a head on top."""
    return model(**inputs_of(name))[0]


def logits(model, name):
    with torch.no_grad():
        return outputs(model, name)


@pytest.mark.parametrize("name", PRUNABLE)
def test_pruned_model_computes_what_the_heads_that_stay_compute(name):
    model = small_model(name)
    plan = plan_of(model)
    before = sum(each.numel() for each in model.parameters())
    expected = logits(without_heads(small_model(name), plan), name)
    prune_heads(model, plan, constant="dropped")
    torch.testing.assert_close(logits(model, name), expected, atol=2e-5, rtol=1e-5)
    assert sum(each.numel() for each in model.parameters()) < before


@pytest.mark.parametrize("name", WITH_BIASES)
def test_constant_that_a_head_adds_goes_into_the_bias(name):
    model = small_model(name)
    plan = plan_of(model)
    with_constant_values(model, plan)
    expected = logits(model, name)
    prune_heads(model, plan)
    torch.testing.assert_close(logits(model, name), expected, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("name", PRUNABLE)
def test_pruned_model_is_saved_and_read_then_trains_and_generates(name, tmp_path):
    model = small_model(name)
    prune_heads(model, plan_of(model))
    model.save_pretrained(tmp_path)
    again = from_pretrained(type(model), tmp_path)
    assert type(again) is type(model)
    assert again.config.headwise_pruned_heads == model.config.headwise_pruned_heads
    assert torch.equal(logits(again, name), logits(model, name))
    outputs(again, name).square().mean().backward()
    assert all(HeadFeatures(again, layer).output.weight.grad.any()
               for layer in attention_layers(again))
    if again.can_generate():
        first = next(iter(inputs_of(name).values()))
        assert again.generate(first, max_new_tokens=3, do_sample=False).shape[1] >= 3


def test_model_that_was_read_is_saved_again(tmp_path):
    model = small_model("gpt2")
    prune_heads(model, plan_of(model))
    model.save_pretrained(tmp_path / "once")
    from_pretrained(type(model), tmp_path / "once").save_pretrained(tmp_path / "twice")
    again = from_pretrained(type(model), tmp_path / "twice")
    assert torch.equal(logits(again, "gpt2"), logits(model, "gpt2"))


def test_auto_class_reads_a_pruned_model(tmp_path):
    model = small_model("llama")
    prune_heads(model, plan_of(model))
    model.save_pretrained(tmp_path)
    again = from_pretrained(tf.AutoModelForCausalLM, tmp_path)
    assert type(again) is tf.LlamaForCausalLM
    assert torch.equal(logits(again, "llama"), logits(model, "llama"))


def test_folder_of_the_command_is_read(tmp_path):
    """`headwise prune` leaves config.json as it was."""
    model = small_model("llama")
    plan = plan_of(model)
    whole = model.config.num_attention_heads
    prune_heads(model, plan)
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["headwise_pruned_heads"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    file = str(tmp_path / "model.safetensors")
    kept = [[head for head in range(whole) if head not in plan[layer]]
            for layer in range(len(plan))]
    save_file(load_file(file), file, {"format": "pt", "kept_heads": json.dumps(kept)})
    again = from_pretrained(tf.AutoModelForCausalLM, tmp_path)
    assert again.config.headwise_pruned_heads == model.config.headwise_pruned_heads
    assert torch.equal(logits(again, "llama"), logits(model, "llama"))


def test_model_that_was_not_pruned_is_read(tmp_path):
    model = small_model("gpt2")
    model.save_pretrained(tmp_path)
    assert torch.equal(logits(from_pretrained(tf.GPT2LMHeadModel, tmp_path), "gpt2"),
                       logits(model, "gpt2"))


def test_class_with_other_layers_is_refused(tmp_path):
    model = small_model("bart")
    prune_heads(model, plan_of(model))
    model.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="4 attention layers; the pruned model had 6"):
        from_pretrained(tf.BartForCausalLM, tmp_path)


def test_heads_keep_their_numbers():
    once, twice = small_model("bert"), small_model("bert")
    prune_heads(once, {0: [1, 3], 1: [2]}, constant="dropped")
    prune_heads(twice, {0: [1]}, constant="dropped")
    prune_heads(twice, {0: [3], 1: [2]}, constant="dropped")
    assert once.config.headwise_pruned_heads == twice.config.headwise_pruned_heads
    for first, second in zip(once.parameters(), twice.parameters()):
        assert torch.equal(first, second)


def test_layer_is_given_by_its_name():
    by_name, by_number = small_model("bart"), small_model("bart")
    prune_heads(by_name, {"model.decoder.layers.0.encoder_attn": [2]})
    prune_heads(by_number, {3: [2]})
    assert torch.equal(logits(by_name, "bart"), logits(by_number, "bart"))


def test_record_is_json():
    model = small_model("bert")
    prune_heads(model, {1: [2, 0]})
    assert json.loads(model.config.to_json_string())["headwise_pruned_heads"] == {
        "layers": 2, "heads": {"1": [0, 2]}}


def test_layers_of_phi3_follow_a_change_of_the_config():
    model = small_model("phi3")
    prune_heads(model, plan_of(model))
    model.set_attn_implementation("eager")
    assert all(each.config._attn_implementation == "eager"
               for each in attention_layers(model).values())


@pytest.mark.parametrize("heads, message", [
    ({2: [0]}, "layer is 2, expected a number below 2"),
    ({-1: [0]}, "layer is -1, expected a number below 2"),
    ({"encoder": [0]}, "no attention layer 'encoder'"),
    ({0: [4]}, "head 4 of layer 0: expected a number below 4"),
    ({0: [1, 1]}, "a head is given twice"),
    ({1: [0, 1, 2, 3]}, "layer 1 would have no heads left"),
])
def test_heads_that_do_not_exist_are_refused(heads, message):
    model = small_model("bert")
    with pytest.raises(ValueError, match=message):
        prune_heads(model, {0: [0], **heads} if 0 not in heads else heads)
    assert torch.equal(logits(model, "bert"), logits(small_model("bert"), "bert"))
    assert not hasattr(model.config, "headwise_pruned_heads")


def test_head_that_was_removed_is_refused():
    model = small_model("bert")
    prune_heads(model, {0: [1]})
    with pytest.raises(ValueError, match="head 1 of layer 0 was removed before"):
        prune_heads(model, {0: [1]})


def test_part_of_a_group_is_refused():
    with pytest.raises(ValueError, match=r"reads the same keys as heads \[2, 3\]"):
        prune_heads(small_model("llama"), {0: [2]})


def test_equally_many_heads_of_every_group_may_go(tmp_path):
    model, expected = small_model("llama"), small_model("llama")
    for each in (model, expected):  # eager repeats the keys itself
        each.set_attn_implementation("eager")
    plan = {0: [1, 2], 1: [0, 1]}
    prune_heads(model, plan, constant="dropped")
    torch.testing.assert_close(logits(model, "llama"),
                               logits(without_heads(expected, plan), "llama"),
                               atol=2e-5, rtol=1e-5)
    prune_heads(model, {1: [3]})
    model.save_pretrained(tmp_path)
    again = from_pretrained(type(model), tmp_path, attn_implementation="eager")
    assert torch.equal(logits(again, "llama"), logits(model, "llama"))


def test_unknown_constant_is_refused():
    with pytest.raises(ValueError, match="constant is 'kept'"):
        prune_heads(small_model("bert"), {0: [1]}, constant="kept")


def _bloom():
    return tf.BloomForCausalLM(tf.BloomConfig(
        hidden_size=32, n_layer=1, n_head=4, vocab_size=64))


def _bitnet():
    return tf.BitNetForCausalLM(tf.BitNetConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=64))


@pytest.mark.parametrize("name", KEEPING)
def test_heads_that_others_depend_on_stay(name):
    model = small_model(name)
    with pytest.raises(NotImplementedError, match=f"cannot be removed: .*{KEEPING[name]}"):
        prune_heads(model, {0: [1]})


def test_heads_of_tied_parameters_stay():
    model = small_model("llama")
    first, last = (each.self_attn for each in model.model.layers)
    last.o_proj.weight = first.o_proj.weight
    with pytest.raises(NotImplementedError, match="heads of layer 1 .* the same parameters"):
        prune_heads(model, {1: [0, 1]})


def test_heads_with_a_position_bias_of_all_layers_stay():
    model = tf.BeitModel(tf.BeitConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        image_size=16, patch_size=4, use_shared_relative_position_bias=True))
    with pytest.raises(NotImplementedError, match="BeitAttention .* position bias"):
        prune_heads(model, {0: [1]})


@pytest.mark.parametrize("make, reason", [
    (_bloom, "BloomAttention .* fixed number of heads"),
    (_bitnet, "BitNetAttention .* norm runs over the outputs of all its heads"),
])
def test_models_whose_heads_have_no_output_of_their_own_are_refused(make, reason):
    with pytest.raises(NotImplementedError, match=reason):
        prune_heads(make(), {0: [1]})


def test_layers_of_a_hybrid_model_have_its_numbers():
    """Only layers 1 and 3 of this model have attention."""
    model, inputs = jamba(), inputs_of("llama")
    importance = head_importance(model, [inputs], lambda output, _: output.logits.mean((1, 2)))
    assert importance.layers == [1, 3]
    prune_heads(model, {1: [0, 1], 3: [2, 3]})
    with torch.no_grad(), headwise.observe(model) as seen:
        model(**inputs)
    assert list(seen.heads) == [(1, 2), (1, 3), (3, 0), (3, 1)]
    assert importance.least(2).keys() <= {1, 3}
