"""Whole models of transformers with random weights. A form is TASK_IMPLEMENTATION:

    forward   the last hidden states
    weights   with output_attentions: the attention weights of every layer, too
    observe   with headwise.observe: the statistics of every head, too

IMPLEMENTATION is what the model gets as attn_implementation.
"""
import json

import headwise
import headwise.transformers
import torch
import transformers

from worker import need, serve, threads

WORDS = 30000  # both vocabularies have more


def read_model(peer, folder):
    """(spec, nothing): workload.json has the model, B and L."""
    return json.loads((folder / "workload.json").read_text(encoding="utf-8")), {}


def model_of(spec, implementation):
    """The default sizes: 12 layers of 12 heads, 768 features."""
    torch.manual_seed(0)
    config = (transformers.GPT2Config(n_positions=spec["L"], use_cache=False)
              if spec["model"] == "gpt2" else
              transformers.BertConfig(max_position_embeddings=spec["L"]))
    return transformers.AutoModel.from_config(
        config, attn_implementation=implementation).eval()


def mean_entropies(attentions):
    """(layers, H), in nats: means over the queries of all sequences."""
    return torch.stack([torch.special.entr(weights).sum(-1).mean((0, 2))
                        for weights in attentions])


def observed_entropies(seen, config):
    return torch.tensor([[seen.heads[layer, head].entropy
                          for head in range(config.num_attention_heads)]
                         for layer in range(config.num_hidden_layers)])


def make_task(task, model, ids):
    """(run, show)"""
    if task == "forward":
        return (lambda: model(ids),
                lambda result: {"out": result.last_hidden_state})
    if task == "weights":
        return (lambda: model(ids, output_attentions=True),
                lambda result: {"out": result.last_hidden_state,
                                "entropy": mean_entropies(result.attentions)})
    need(task == "observe", "no such form")

    def run():
        with headwise.observe(model) as seen:
            return model(ids), seen

    return run, lambda both: {
        "out": both[0].last_hidden_state,
        "entropy": observed_entropies(both[1], model.config)}


def make(peer, spec, nothing):
    task, _, implementation = peer.partition("_")
    ids = torch.randint(WORDS, (spec["B"], spec["L"]),
                        generator=torch.Generator().manual_seed(0))
    return make_task(task, model_of(spec, implementation), ids)


torch.set_num_threads(threads())
headwise.transformers.register()
with torch.inference_mode():
    serve(make, f"transformers {transformers.__version__}, torch "
          f"{torch.__version__}", read_model)
