"""Begins the d2l cases (d2l.py) with PyTorch: generate.py torch ROOT."""
import math

import numpy as np
import safetensors.torch
import torch
from torch import nn

from d2l import B, CONFIGS, FILL, INPUTS, LAYERS, LK, NUM_HEADS
from golden import Case, largest
from precisions import VERSION, compute, tensors


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        for name, size in zip(LAYERS, (*config.sizes, config.hidden)):
            setattr(self, name, nn.Linear(size, config.hidden, config.bias))
        self.load_state_dict(tensors(config.weights(), torch.float32))

    def forward(self, inputs, lengths):
        q, k, v = (project(x).unflatten(-1, (NUM_HEADS, -1)).transpose(1, 2)
                   for project, x in zip((self.W_q, self.W_k, self.W_v), inputs.values()))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        valid = torch.ones_like(scores, dtype=torch.bool)
        if lengths is not None:
            valid &= torch.arange(LK) < lengths.reshape(B, 1, -1, 1)
        weights = scores.masked_fill(~valid, FILL).softmax(-1)
        context = (weights @ v).transpose(1, 2).flatten(2)
        return {"scores": scores[valid], "weights": weights, "output": self.W_o(context)}


def begin(root, config):
    head_dim = config.hidden // NUM_HEADS
    versions = {"torch": VERSION}
    case = Case(root, config.name, "d2l_mha", "four frameworks", versions, config.seed, {
        "num_heads": NUM_HEADS, "head_dim": head_dim, "scale": head_dim ** -0.5,
        "bias": config.bias, "dropout": 0.5, "training": False, "mask_kind": "valid_lens",
        "mask_fill": FILL, "fully_masked_row":
        "uniform over all keys, masked ones too (in all four frameworks)"})
    case.give_all(config.inputs())
    case.give_all(config.weights(), "weight")
    case.json["runs"] = []
    return case


def add_run(case, config, layer, name, lengths, grad_output):
    inputs, prefix = config.inputs(), ""
    if name == "ones":
        inputs = {n: np.ones_like(x) for n, x in inputs.items()}
        prefix = "ones_"
        case.give_all({prefix + n: x for n, x in inputs.items()})
    run = {"name": name, "valid_lens": lengths and f"valid_lens_{name}",
           "output": f"output_{name}", "weights": f"weights_{name}",
           "frameworks": ["torch"], **{n: prefix + n for n in INPUTS}}
    case.give_all({f"valid_lens_{name}": lengths}, "token")
    (single, single_grad), (double, double_grad) = compute(
        lambda x, constants, layer: layer(x, constants["lengths"]),
        inputs, {"lengths": lengths}, grad_output, layer)
    scores = run["score_max"] = largest(double["scores"])
    case.expect(run["output"], single["output"], double["output"], scores=scores)
    case.expect(run["weights"], single["weights"], double["weights"], "attention", scores=scores)
    case.expect(f"{run['output']}_torch", single["output"], double["output"],
                scores=scores, keep_double=False)
    if grad_output is not None:
        run["grad_output"] = "grad_output"
        case.give("grad_output", grad_output)
        case.expect_gradients(single_grad, double_grad, scores, zero=("W_k.bias", "W_k.weight"))
    case.json["runs"].append(run)


def write_all(root):
    for config in CONFIGS:
        case = begin(root, config)
        layer = Layer(config)
        safetensors.torch.save_file(layer.state_dict(),
                                    case.native("torch", "torch.safetensors"))
        for n, (name, lengths) in enumerate(config.runs.items()):
            grads = config.grads and n == 0
            add_run(case, config, layer, name, lengths, config.grad_output() if grads else None)
        case.save()
