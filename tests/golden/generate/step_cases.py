"""Cases seed002 (generate.py torch ROOT): a layer built up in four steps.

Step 1 has one head and no output projection. Step 2 adds heads, step 3 a batch
and dropout with a given keep mask, step 4 a mask. The layer returns the
attention weights as they were before dropout.
"""
import math

import numpy as np
import torch
from torch import nn

from golden import Case, normal, random
from precisions import VERSION, compute

FILL = -1e10
HIDDEN = 32


class Layer(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.fc_q = nn.Linear(HIDDEN, HIDDEN)
        self.fc_k = nn.Linear(HIDDEN, HIDDEN)
        self.fc_v = nn.Linear(HIDDEN, HIDDEN)
        self.num_heads = 1
        if step > 1:
            self.fc_o = nn.Linear(HIDDEN, HIDDEN)
            self.num_heads = 8

    def forward(self, inputs, mask, keep, p):
        q, k, v = self.fc_q(inputs["query"]), self.fc_k(inputs["key"]), \
            self.fc_v(inputs["value"])
        steps = {"q": q, "k": k, "v": v}
        if self.num_heads > 1:
            q, k, v = (x.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)
                       for x in (q, k, v))
        scores = steps["scores"] = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = steps["masked_scores"] = scores.masked_fill(~mask, FILL)
        weights = steps["attention"] = scores.softmax(-1)
        if keep is not None:
            weights = weights * keep / (1 - p)
        context = steps["context"] = weights @ v
        steps["x"] = (context if self.num_heads == 1 else
                      self.fc_o(context.transpose(-3, -2).flatten(-2)))
        return steps


def write(root, name, step, seed, B=None, Lq=7, mask=None, mask_kind="none", dropout=0.0):
    torch.manual_seed(seed)
    layer = Layer(step)
    head_dim = HIDDEN // layer.num_heads
    generator = random(seed)
    batch = () if B is None else (B,)
    inputs = {"query": normal(generator, *batch, Lq, HIDDEN),
              "key": normal(generator, *batch, 9, HIDDEN),
              "value": normal(generator, *batch, 9, HIDDEN)}
    keep = None
    if dropout:
        keep = generator.random((B, layer.num_heads, Lq, 9)) >= dropout
    grad_output = normal(generator, *batch, Lq, HIDDEN)
    masked = mask is not None
    case = Case(root, name, "step_mha", "torch", VERSION, seed, {
        "step": step, "num_heads": layer.num_heads, "head_dim": head_dim,
        "scale": 1 / math.sqrt(head_dim), "bias": True, "dropout": dropout,
        "output_projection": step > 1, "batched": B is not None,
        "mask_kind": mask_kind, "mask_true_means": "attend" if masked else None,
        "mask_fill": FILL if masked else None,
        "fully_masked_row": "uniform over all keys, masked ones too" if masked else None,
        "returns": ["x"] if step == 1 else ["x", "attention"]})
    masks = {"mask": mask, "dropout_keep": keep}
    case.give_all(inputs)
    case.give_all(layer.state_dict(), "weight")
    case.give_all(masks, "mask")
    case.give("grad_output", grad_output)
    case.finish(compute(lambda x, masks, layer: layer(x, *masks.values(), dropout),
                        inputs, masks, grad_output, layer), zero=("fc_k.bias", "fc_k.weight"))


def write_all(root):
    write(root, "seed002_step1", 1, 7020)
    write(root, "seed002_step2", 2, 7021)
    write(root, "seed002_step3", 3, 7022, B=3)
    write(root, "seed002_step3_dropout", 3, 7023, B=3, dropout=0.25)

    def padding(*lengths):
        return (np.arange(9) < np.array(lengths)[:, None])[:, None, None]
    write(root, "seed002_step4_padding", 4, 7024, B=3, mask=padding(9, 4, 1),
          mask_kind="padding (B,1,1,S)")
    write(root, "seed002_step4_fully_masked", 4, 7025, B=3, Lq=9,
          mask=padding(9, 4, 0) & np.tri(9, dtype=bool),
          mask_kind="padding & causal (B,1,L,S)")
    write(root, "seed002_step4_dropout", 4, 7026, B=3, mask=padding(9, 4, 1),
          mask_kind="padding (B,1,1,S)", dropout=0.1)
