"""Models that compute their attention with headwise, next to eager attention."""
import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")

import headwise
import headwise.transformers
from headwise.torch import make_batch_invariant
from headwise.transformers.interface import headwise_attention
from headwise.transformers.mask_rules import mask_for_headwise
from small_models import inputs_of, small_model, words

ARCHITECTURES = ["bert", "roberta", "gpt2", "gpt_neox", "llama", "mistral", "qwen3",
                 "gemma2", "phi3", "gpt_oss", "t5", "bart", "vit", "whisper"]
WITH_TOKENS = [name for name in ARCHITECTURES if name not in ("vit", "whisper")]
GENERATING = [name for name in ARCHITECTURES if name not in ("bert", "roberta", "vit")]
DECODERS = [name for name in GENERATING if name not in ("t5", "bart", "whisper")]

headwise.transformers.register()


def both(name):
    eager, ours = small_model(name), small_model(name)
    eager.set_attn_implementation("eager")
    ours.set_attn_implementation("headwise")
    return eager, ours


def padded(name, side, lengths=(11, 7, 1)):
    """Inputs whose rows have these lengths, and the places that are not padding."""
    inputs = inputs_of(name, batch=len(lengths))
    length = inputs["input_ids"].shape[1]
    places = torch.arange(length)
    mask = torch.stack([places >= length - n if side == "left" else places < n
                        for n in lengths])
    inputs["attention_mask"] = mask.long()
    if side == "left" and name in DECODERS:
        inputs["position_ids"] = (mask.long().cumsum(1) - 1).clamp(min=0)
    return inputs, mask


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_logits_are_those_of_eager(name):
    eager, ours = both(name)
    with torch.no_grad():
        expected, given = eager(**inputs_of(name)).logits, ours(**inputs_of(name)).logits
    torch.testing.assert_close(given, expected, atol=2e-5, rtol=0)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", WITH_TOKENS)
def test_logits_of_padded_batches_are_those_of_eager(name, side):
    eager, ours = both(name)
    inputs, mask = padded(name, side)
    with torch.no_grad():
        expected, given = eager(**inputs).logits, ours(**inputs).logits
    if "decoder_input_ids" not in inputs:
        expected, given = expected[mask], given[mask]
    torch.testing.assert_close(given, expected, atol=2e-5, rtol=0)


@pytest.mark.parametrize("name", ["bert", "llama", "mistral", "t5"])
def test_mask_with_holes_is_that_of_eager(name):
    eager, ours = both(name)
    inputs = inputs_of(name)
    mask = torch.ones_like(inputs["input_ids"])
    mask[0, 3] = mask[1, 5] = 0
    inputs["attention_mask"] = mask
    with torch.no_grad():
        expected, given = eager(**inputs).logits, ours(**inputs).logits
    torch.testing.assert_close(given, expected, atol=2e-5, rtol=0)


@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2"])
def test_packed_sequences_are_those_of_eager(name):
    eager, ours = both(name)
    inputs = {"input_ids": words(1, 11), "use_cache": False,
              "position_ids": torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6]])}
    with torch.no_grad():
        expected, given = eager(**inputs).logits, ours(**inputs).logits
    torch.testing.assert_close(given, expected, atol=2e-5, rtol=0)


@pytest.mark.parametrize("as_float", [False, True])
@pytest.mark.parametrize("name", ["llama", "bert"])
def test_four_dimensional_masks_are_those_of_eager(name, as_float):
    eager, ours = both(name)
    inputs = inputs_of(name)
    allowed = torch.rand(2, 1, 11, 11, generator=torch.Generator().manual_seed(3)) < 0.6
    allowed |= torch.eye(11, dtype=torch.bool)
    added = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float).min)
    with torch.no_grad():
        expected = eager(**inputs, attention_mask=added).logits
        given = ours(**inputs, attention_mask=added if as_float else allowed).logits
    torch.testing.assert_close(given, expected, atol=2e-5, rtol=0)


def test_position_bias_is_added_to_a_mask_of_numbers():
    query, key, value = torch.randn(3, 2, 4, 7, 8).unbind()
    bias, mask = torch.randn(1, 4, 7, 7), torch.randn(2, 1, 7, 7)
    given = headwise_attention(torch.nn.Module(), query, key, value, mask,
                               position_bias=bias)[0]
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=bias + mask)
    torch.testing.assert_close(given.transpose(1, 2), expected, atol=1e-5, rtol=0)


def assert_same_gradients(ours, eager):
    expected = {key: each.grad for key, each in eager.named_parameters()
                if each.grad is not None}
    largest = max(each.abs().max().item() for each in expected.values())
    for key, each in ours.named_parameters():
        if key in expected:
            torch.testing.assert_close(each.grad, expected[key], atol=1e-4 * largest,
                                       rtol=0, msg=lambda text, key=key: f"{key}: {text}")
        else:
            assert each.grad is None or not each.grad.any(), key


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_gradients_are_those_of_eager(name):
    eager, ours = both(name)
    for model in (eager, ours):
        model(**inputs_of(name)).logits.square().mean().backward()
    assert_same_gradients(ours, eager)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ["bert", "gpt2", "mistral", "gpt_oss", "t5"])
def test_gradients_of_padded_batches_are_those_of_eager(name, side):
    eager, ours = both(name)
    inputs, mask = padded(name, side)
    for model in (eager, ours):
        logits = model(**inputs).logits
        if "decoder_input_ids" not in inputs:
            logits = logits[mask]
        logits.square().mean().backward()
    assert_same_gradients(ours, eager)


def generated(model, name, tokens=64, **options):
    inputs = inputs_of(name)
    inputs.pop("decoder_input_ids", None)
    return model.generate(**inputs, max_new_tokens=tokens, min_new_tokens=tokens,
                          do_sample=False, **options)


@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("name", GENERATING)
def test_greedy_generation_is_that_of_eager(name, cache):
    eager, ours = both(name)
    options = {} if cache is None else {"cache_implementation": cache}
    expected, given = generated(eager, name, **options), generated(ours, name, **options)
    assert expected.shape[1] >= 64
    assert torch.equal(given, expected)


@pytest.mark.parametrize("name", ["gpt2", "mistral", "t5", "bart"])
def test_beam_search_is_that_of_eager(name):
    eager, ours = both(name)
    expected, given = (generated(model, name, tokens=12, num_beams=3)
                       for model in (eager, ours))
    assert torch.equal(given, expected)


@pytest.mark.parametrize("name", DECODERS)
def test_generation_from_padded_prompts_is_that_of_eager(name):
    eager, ours = both(name)
    inputs, _ = padded(name, "left")
    del inputs["position_ids"]
    expected, given = (model.generate(**inputs, max_new_tokens=24, min_new_tokens=24,
                                      do_sample=False) for model in (eager, ours))
    assert torch.equal(given, expected)


@pytest.mark.parametrize("queries", [None, 1])
@pytest.mark.parametrize("keys", [1, 2, 4])
@pytest.mark.parametrize("window, options", [
    (None, {}), (40, {}), (None, {"softcap": 2.0}), (40, {"s_aux": torch.ones(4)})])
def test_attention_of_a_padded_batch_is_that_of_each_sequence_bit_for_bit(
        window, options, keys, queries):
    longest, lengths = 150, [150, 97, 3]
    generator = torch.Generator().manual_seed(5)
    query, key, value = (torch.randn(3, heads, longest, 16, generator=generator)
                         for heads in (4, keys, keys))
    kind = tf.masking_utils.causal_mask_function
    if window is not None:
        kind = tf.masking_utils.sliding_window_causal_mask_function(window)

    def attend(rows, length, mask):
        new = queries or length  # the last ones, after cached keys
        rules = mask_for_headwise(
            batch_size=len(mask), q_length=new, kv_length=length, q_offset=length - new,
            mask_function=kind, attention_mask=mask)
        return headwise_attention(
            torch.nn.Module(), query[rows, :, longest - new:],
            key[rows, :, longest - length:], value[rows, :, longest - length:], rules,
            scaling=0.3, **options)[0]

    together = attend(slice(None), longest, torch.stack(
        [torch.arange(longest) >= longest - n for n in lengths]))
    for row, length in enumerate(lengths):
        alone = attend(slice(row, row + 1), length, torch.ones(1, length))[0]
        assert torch.equal(together[row, -len(alone):], alone)


@pytest.mark.parametrize("name", DECODERS)
def test_logits_of_a_padded_batch_are_those_of_each_sequence_bit_for_bit(name):
    model = small_model(name)
    model.set_attn_implementation("headwise")
    make_batch_invariant(model)
    lengths = (40, 23, 3)
    ids = words(len(lengths), 40)
    mask = torch.stack([torch.arange(40) >= 40 - n for n in lengths])
    positions = (mask.long().cumsum(1) - 1).clamp(min=0)
    with torch.no_grad():
        together = model(ids, attention_mask=mask.long(), position_ids=positions).logits
        for row in range(len(lengths)):
            alone = model(ids[row:row + 1, mask[row]]).logits
            assert torch.equal(together[row, mask[row]], alone[0])


@pytest.mark.parametrize("name", ["bert", "llama", "whisper", "t5", "bart", "gpt2", "opt",
                                  "gpt_bigcode", "stablelm", "nemotron", "persimmon",
                                  "siglip"])
def test_attention_weights_are_those_of_eager(name):
    eager, ours = both(name)
    with torch.no_grad():
        expected = eager(**inputs_of(name), output_attentions=True)
        given = ours(**inputs_of(name), output_attentions=True)
    for kind in ("attentions", "decoder_attentions", "cross_attentions"):
        for one, other in zip(getattr(given, kind, None) or (),
                              getattr(expected, kind, None) or (), strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=0)
    assert getattr(given, "attentions", None) or given.decoder_attentions


@pytest.mark.parametrize("name", ["llama", "mistral", "gpt2"])
def test_compiled_model_computes_the_same(name):
    torch._dynamo.reset()
    _, ours = both(name)
    compiled = torch.compile(ours, backend="eager")
    inputs, mask = padded(name, "left")
    with torch.no_grad():
        for each in ({"input_ids": inputs["input_ids"]}, inputs):
            torch.testing.assert_close(compiled(**each).logits[mask],
                                       ours(**each).logits[mask], atol=2e-5, rtol=0)
        with headwise.observe(ours) as seen:
            compiled(**inputs)
    assert seen.heads[1, 2].queries == mask.sum()


def test_dropout_in_training_repeats_with_the_seed():
    _, ours = both("bert")
    ours.train()

    def run(seed):
        torch.manual_seed(seed)
        return ours(**inputs_of("bert")).logits

    assert torch.equal(run(1), run(1))
    assert not torch.equal(run(1), run(2))
    assert torch.isfinite(run(1)).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sixteen_bits(dtype):
    model = small_model("llama").to(dtype)
    model.set_attn_implementation("headwise")
    wide = small_model("llama")
    with torch.no_grad():
        given = model(**inputs_of("llama")).logits
        expected = wide(**inputs_of("llama")).logits
    assert given.dtype == dtype
    assert (given.float() - expected).abs().max() < 0.1 * expected.abs().max()


def test_float64():
    model = small_model("llama").double()
    logits = []
    for name in ("headwise", "eager"):
        model.set_attn_implementation(name)
        logits.append(model(**inputs_of("llama")).logits)
    # Its eager attention has a softmax in float32.
    torch.testing.assert_close(*logits, atol=1e-6, rtol=1e-6)


def test_mask_of_integers_is_refused():
    model = small_model("llama")
    model.set_attn_implementation("headwise")
    with pytest.raises(TypeError, match="attention_mask is torch.int64"):
        model(**inputs_of("llama"), attention_mask=torch.ones(2, 1, 11, 11).long())


def test_head_mask_is_refused():
    model = small_model("bert")
    model.set_attn_implementation("headwise")
    with pytest.raises(ValueError, match="head_mask was given"):
        model(**inputs_of("bert"), head_mask=torch.ones(2, 4))


def test_model_without_the_interface_is_refused_by_name():
    config = tf.BloomConfig(hidden_size=32, n_layer=1, n_head=4, vocab_size=64)
    with pytest.raises(NotImplementedError, match="BloomForCausalLM does not go through"):
        tf.BloomForCausalLM(config).set_attn_implementation("headwise")
    config._attn_implementation = "headwise"
    with pytest.raises(NotImplementedError, match="BloomForCausalLM does not go through"):
        tf.BloomForCausalLM(config)


def test_registering_again_changes_nothing():
    method = tf.PreTrainedModel.set_attn_implementation
    headwise.transformers.register()
    assert tf.PreTrainedModel.set_attn_implementation is method
