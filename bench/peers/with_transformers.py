"""Whole models of transformers with random weights: the last hidden states.
Forms are named forward_ and what the model gets as attn_implementation."""
import json

import headwise
import headwise.transformers
import torch
import transformers

from worker import serve, threads

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


def make(peer, spec, nothing):
    model = model_of(spec, peer.removeprefix("forward_"))
    ids = torch.randint(WORDS, (spec["B"], spec["L"]),
                        generator=torch.Generator().manual_seed(0))
    return (lambda: model(ids),
            lambda result: {"out": result.last_hidden_state})


torch.set_num_threads(threads())
headwise.transformers.register()
with torch.inference_mode():
    serve(make, f"transformers {transformers.__version__}, torch "
          f"{torch.__version__}", read_model)
