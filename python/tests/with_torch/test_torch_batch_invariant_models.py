"""make_batch_invariant() on models of transformers: left-padded batches."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import headwise.transformers  # noqa: E402
from headwise.torch import make_batch_invariant  # noqa: E402

SIZES = {
    "vocab_size": 99,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
MODELS = {
    "Llama": {},
    "Mistral": {"sliding_window": 8},
    "Gemma2": {"head_dim": 8},
    "Mixtral": {"num_local_experts": 4},
    "GPT2": None,
}


def model_of(name):
    torch.manual_seed(0)
    if name == "GPT2":
        config = transformers.GPT2Config(
            vocab_size=99, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2
        )
        model = transformers.GPT2LMHeadModel(config)
    else:
        config = getattr(transformers, f"{name}Config")(**SIZES, **MODELS[name])
        model = getattr(transformers, f"{name}ForCausalLM")(config)
    headwise.transformers.register()
    model.set_attn_implementation("headwise")
    return make_batch_invariant(model.eval())


@pytest.mark.parametrize("name", MODELS)
def test_logits_of_a_left_padded_batch_have_the_bits_of_each_sequence(name):
    model = model_of(name)
    lengths = [3, 9, 17, 30, 1, 24]
    ids = torch.randint(3, 99, (len(lengths), max(lengths)))
    mask = torch.arange(max(lengths)) >= max(lengths) - torch.tensor(lengths)[:, None]
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    with torch.no_grad():
        logits = model(
            ids * mask, attention_mask=mask.long(), position_ids=positions
        ).logits
        for row, tokens, length in zip(logits, ids, lengths):
            alone = model(tokens[None, -length:]).logits[0]
            assert torch.equal(row[-length:], alone), length


@pytest.mark.parametrize("name", ["Llama", "Mixtral"])
def test_gradients_are_those_of_the_plain_model(name):
    model = model_of(name)
    ids = torch.randint(3, 99, (3, 9))

    def gradients():
        return torch.autograd.grad(model(ids, labels=ids).loss, list(model.parameters()))

    invariant = gradients()
    model._forward_hooks.clear()
    model._forward_pre_hooks.clear()
    for ours, theirs in zip(invariant, gradients()):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-4)
