"""Cases additive (generate.py torch ROOT): additive (Bahdanau) attention."""
import numpy as np
import safetensors.torch
import torch
from torch import nn

from golden import Case, normal, random
from precisions import VERSION, compute

FILL = -1e6
B, VALUE_SIZE, HIDDEN = 2, 4, 8


def attend(x, constants, _):
    query = x["queries"] @ x["W_q.weight"].mT
    key = x["keys"] @ x["W_k.weight"].mT
    hidden = torch.tanh(query[:, :, None] + key[:, None])
    scores = (hidden @ x["w_v.weight"].mT)[..., 0]
    valid = torch.arange(scores.shape[-1]) < constants["valid_lens"].reshape(B, -1, 1)
    weights = scores.masked_fill(~valid, FILL).softmax(-1)
    return {"scores": scores, "weights": weights, "output": weights @ x["values"]}


def write(root, name, seed, Lq, Lk, query_size, key_size, valid_lens):
    generator = random(seed)
    inputs = {"queries": normal(generator, B, Lq, query_size),
              "keys": normal(generator, B, Lk, key_size),
              "values": normal(generator, B, Lk, VALUE_SIZE)}
    grad_output = normal(generator, B, Lq, VALUE_SIZE)
    torch.manual_seed(seed)
    weights = {f"{layer}.weight": nn.Linear(*sizes, bias=False).weight.detach()
               for layer, sizes in (("W_q", (query_size, HIDDEN)),
                                    ("W_k", (key_size, HIDDEN)),
                                    ("w_v", (HIDDEN, 1)))}
    case = Case(root, name, "additive", "torch", VERSION, seed, {
        "bias": False, "dropout": 0.0,
        "mask_kind": f"valid_lens_{np.ndim(valid_lens)}d", "mask_fill": FILL,
        "score": "w_v . tanh(W_q q + W_k k)", "scale": 1.0,
        "fully_masked_row": "uniform over all keys, masked ones too"})
    case.give_all(inputs)
    case.give_all(weights, "weight")
    safetensors.torch.save_file(weights, case.native("state_dict", "state_dict.safetensors"))
    case.give("valid_lens", valid_lens, "token")
    case.give("grad_output", grad_output)
    weights = {name: x.numpy() for name, x in weights.items()}
    case.finish(compute(attend, inputs | weights, {"valid_lens": valid_lens}, grad_output))


def write_all(root):
    write(root, "additive_d2l", 7400, 1, 10, 20, 2, [2, 6])
    write(root, "additive_2d", 7401, 3, 6, 5, 7, [[1, 3, 6], [6, 2, 4]])
    write(root, "additive_zero_length", 7402, 3, 6, 5, 7, [0, 4])
