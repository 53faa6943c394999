"""Whole models of transformers with random weights. A form is TASK_IMPLEMENTATION:

    forward   the last hidden states
    weights   with output_attentions: the attention weights of every layer, too
    observe   with headwise.observe: the statistics of every head, too
    scaled    with every head of every second layer scaled by 1
    replaced  with the same heads replaced by their own output
    patched   with the same heads patched from an equal run
    first-order  all heads patched to first order: two forward passes, one backward

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


# GPT-2 and BERT have their default sizes: 12 layers of 12 heads, 768 features.
CONFIGS = {
    "gpt2": lambda length: transformers.GPT2Config(n_positions=length, use_cache=False),
    "bert": lambda length: transformers.BertConfig(max_position_embeddings=length),
    "smollm2": lambda length: transformers.LlamaConfig(
        hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
        num_attention_heads=9, num_key_value_heads=3, vocab_size=49152,
        max_position_embeddings=length, use_cache=False),
}


def model_of(spec, implementation):
    torch.manual_seed(0)
    config = CONFIGS[spec["model"]](spec["L"])
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


def changed(task, model, ids):
    """The last hidden states of a run whose heads are changed to what they are."""
    with headwise.observe(model, maps=True) as run:
        model(ids)
    layers = range(0, model.config.num_hidden_layers, 2)

    def compute():
        with headwise.intervene(model) as heads:
            for layer in layers:
                if task == "scaled":
                    heads[layer].scale(1.0)
                elif task == "replaced":
                    heads[layer].replace(run.call(layer).z)
                else:
                    heads[layer].patch(run)
            return model(ids)

    return compute


def first_order(model, ids):
    """The last hidden states of the clean run."""
    def compute():
        kept = []

        def measure(output, batch):
            kept.append(output)
            return output.last_hidden_state.square().mean((1, 2))

        headwise.patch(model, {"input_ids": ids}, {"input_ids": ids}, measure,
                       approximate=True)
        return kept[-1]

    return compute


def make_task(task, model, ids):
    """(run, show)"""
    if task in ("scaled", "replaced", "patched"):
        return (changed(task, model, ids),
                lambda result: {"out": result.last_hidden_state})
    if task == "first-order":
        return (first_order(model, ids),
                lambda result: {"out": result.last_hidden_state.detach()})
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
with torch.no_grad():
    serve(make, f"transformers {transformers.__version__}, torch "
          f"{torch.__version__}", read_model)
