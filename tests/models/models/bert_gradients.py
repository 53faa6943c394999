"""The gradients of a small BERT as PyTorch and transformers compute them, in
float64: what bert_gradients_test.cc compares with.

    tests/models/models/bert_gradients.py

writes data/bert_gradients beside it: the model (random parameters, float32) and
its gradients. Runs in the Python of bench/peers/encode-requirements.txt.

The loss is sum(d_hidden * hidden) over three sequences; a gate is a factor on
what a head gives to the output's projection.
"""
import pathlib

import safetensors.torch
import torch
import transformers

FOLDER = pathlib.Path(__file__).resolve().parent / "data" / "bert_gradients"
# As kIds and kGates in bert_gradients_test.cc.
IDS = [[2, 5, 9, 3], [2, 3], [2, 13, 0, 1, 5, 6, 7, 8, 3]]
GATES = [[1.0, 0.5, 0.0], [-1.0, 1.0, 2.0]]


def make_model():
    config = transformers.BertConfig(
        vocab_size=14, hidden_size=12, num_hidden_layers=2,
        num_attention_heads=3, intermediate_size=20, max_position_embeddings=9,
        type_vocab_size=2, layer_norm_eps=0.01, hidden_act="gelu",
        pad_token_id=None, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, attn_implementation="eager")
    model = transformers.BertModel(config, add_pooling_layer=False)
    generator = torch.Generator().manual_seed(11)
    for name, parameter in model.named_parameters():
        around = 1.0 if name.endswith("LayerNorm.weight") else 0.0
        values = torch.rand(parameter.shape, generator=generator) * 1.4 - 0.7
        parameter.data = (values + around).float()
    return model


def gates_of(model):
    """A leaf for each sequence and layer, and what puts `gates` to work."""
    gates = [[torch.tensor(layer, dtype=torch.float64, requires_grad=True)
              for layer in GATES] for _ in IDS]
    at_work = []

    def gated(n):
        def hook(_, arguments):
            context = arguments[0].unflatten(-1, (len(GATES[n]), -1))
            return (context * at_work[0][n][:, None]).flatten(-2)
        return hook

    for n, layer in enumerate(model.encoder.layer):
        layer.attention.output.dense.register_forward_pre_hook(gated(n))
    return gates, at_work


def main():
    model = make_model()
    FOLDER.mkdir(parents=True, exist_ok=True)
    safetensors.torch.save_file(
        {name: p.data.clone() for name, p in model.named_parameters()},
        FOLDER / "model.safetensors")
    model = model.double().eval()
    gates, at_work = gates_of(model)
    generator = torch.Generator().manual_seed(12)
    d_hidden = torch.rand(sum(map(len, IDS)), 12, generator=generator) * 2 - 1
    hidden = []
    for ids, of_layers in zip(IDS, gates):
        at_work[:] = [of_layers]
        hidden.append(model(torch.tensor([ids])).last_hidden_state[0])
    (torch.cat(hidden) * d_hidden.double()).sum().backward()
    tensors = {name: p.grad for name, p in model.named_parameters()}
    tensors["hidden"] = torch.cat(hidden).detach()
    for n in range(len(GATES)):
        tensors[f"head_gates.{n}"] = torch.stack([g[n].grad for g in gates])
    tensors = {name: t.float().contiguous() for name, t in tensors.items()}
    tensors["d_hidden"] = d_hidden
    safetensors.torch.save_file(tensors, FOLDER / "gradients.safetensors")


if __name__ == "__main__":
    main()
