"""Cases seed000, seed001 and seed003 (generate.py torch ROOT): self-attention
and encoder-decoder attention, every step from token ids to the output."""
import math

import numpy as np
import torch
from torch import nn

from golden import Case, largest, normal, random
from precisions import VERSION, compute

PAD = 0
FILL = -1e12
VOCABULARY = 100

TEN_SEQUENCES = [
    [62, 13, 47, 39, 78, 33, 56, 13, 39, 29, 44, 86, 71, 36, 18, 75],
    [60, 96, 51, 32, 90],
    [35, 45, 48, 65, 91, 99, 92, 10, 3, 21, 54],
    [75, 51],
    [66, 88, 98, 47],
    [21, 39, 10, 64, 21],
    [98],
    [77, 65, 51, 77, 19, 15, 35, 19, 23, 97, 50, 46, 53, 42, 45, 91, 66, 3, 43, 10],
    [70, 64, 98, 25, 99, 53, 4, 13, 69, 62, 66, 76, 15, 75, 45, 34],
    [20, 64, 81, 35, 76, 85, 1, 62, 8, 45, 99, 77, 19, 43],
]
SOURCES = [
    [62, 13, 47, 39, 78, 33, 56, 13],
    [60, 96, 51, 32, 90],
    [35, 45, 48, 65, 91, 99, 92, 10, 3, 21],
    [66, 88, 98, 47],
    [77, 65, 51, 77, 19, 15, 35, 19, 23],
]
TARGETS = [
    [33, 11, 49, 10],
    [88, 34, 5, 29, 99, 45, 11, 25],
    [67, 25, 15, 90, 54, 4, 92, 10, 46, 20, 88, 19],
    [16, 58, 91, 47, 12, 5, 8],
    [71, 63, 62, 7, 9, 11, 55, 91, 32, 48],
]


def padded(sequences):
    length = max(map(len, sequences))
    return np.array([s + [PAD] * (length - len(s)) for s in sequences])


class Layer(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        # The order fixes the random parameters.
        self.embedding = nn.Embedding(VOCABULARY, embed_dim)
        self.w_q = nn.Linear(embed_dim, embed_dim)
        self.w_k = nn.Linear(embed_dim, embed_dim)
        self.w_v = nn.Linear(embed_dim, embed_dim)
        self.w_0 = nn.Linear(embed_dim, embed_dim)
        self.num_heads = num_heads

    def forward(self, tokens, kv_tokens, mask):
        query = key = self.embedding(tokens)
        steps = {"embedded": query}
        if kv_tokens is not None:
            key = steps["embedded_kv"] = self.embedding(kv_tokens)
        projected = self.w_q(query), self.w_k(key), self.w_v(key)
        steps.update(zip("qkv", projected))
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in projected)
        steps.update(q_heads=q, k_heads=k, v_heads=v)
        scores = steps["scores"] = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(1), FILL)
            steps["masked_scores"] = scores
        steps["weights"] = scores.softmax(-1)
        steps["context"] = steps["weights"] @ v
        steps["concat"] = steps["context"].transpose(1, 2).flatten(2)
        steps["output"] = self.w_0(steps["concat"])
        return steps


def write(root, name, layer, seed, tokens, kv_tokens=None, mask=None,
          mask_kind="none", large=False, projections_of=None):
    """A large case stores only a part of its large tensors. One that has the projections of
    another stores only its results."""
    head_dim = layer.embedding.embedding_dim // layer.num_heads
    masked = mask is not None
    case = Case(root, name, "token_mha", "torch", VERSION, seed, {
        "num_heads": layer.num_heads, "head_dim": head_dim, "scale": head_dim ** -0.5,
        "bias": True, "dropout": 0.0, "pad_id": PAD, "mask_kind": mask_kind,
        "mask_true_means": "attend" if masked else None,
        "mask_fill": FILL if masked else None, "cross": kv_tokens is not None,
        "fully_masked_row": "uniform over all keys, masked ones too" if masked else None})
    ins = {"tokens": tokens, "kv_tokens": kv_tokens}
    case.give_all(ins, "token")
    case.give_all({"mask": mask}, "mask")
    for parameter, x in layer.state_dict().items():
        shared = projections_of and parameter != "embedding.weight"
        case.give(parameter, x, "weight",
                  f"../{projections_of}/{parameter}.npy" if shared else None)
    grad_output = None
    if not projections_of:
        grad_output = normal(random(seed + 1), *tokens.shape, layer.embedding.embedding_dim)
        case.give("grad_output", grad_output)

    (single, single_grad), (double, double_grad) = compute(
        lambda _, ins, layer: layer(**ins), {}, ins | {"mask": mask}, grad_output, layer)
    scores = largest(single["scores"])
    if projections_of:
        case.expect_steps({step: single[step] for step in ("weights", "output")}, double,
                          scores, doubles=())
    else:
        parts = ("embedded", "q_heads", "k_heads", "v_heads", "concat") if large else ()
        case.expect_steps(single, double, scores, rows=dict.fromkeys(parts, (0, 5)),
                          doubles=("output",) if large else ("output", "weights"))
    expect_gradients(case, single_grad, double_grad, scores, large)
    case.save()


def expect_gradients(case, single, double, scores, large):
    parts = [f"w_{name}.weight" for name in "qkv0"] if large and single else ()
    case.expect_gradients(single, double, scores, zero=("w_k.bias", "w_k.weight"),
                          rows=dict.fromkeys(parts, (0, 8)))
    # The sums check the rows that are not stored.
    for name in parts:
        for axis in (0, 1):
            case.expect(f"grad_{name}_sum{axis}", single[name].double().sum(axis),
                        double[name].sum(axis), "gradient", scores=scores, of=name)


def seeded(seed, embed_dim, num_heads):
    torch.manual_seed(seed)
    return Layer(embed_dim, num_heads)


def write_all(root):
    tokens = padded(TEN_SEQUENCES)
    layer = seeded(7000, 512, 8)
    write(root, "seed000_mha", layer, 7000, tokens, large=True)
    other = seeded(7003, 512, 8)
    other.load_state_dict(layer.state_dict() | {"embedding.weight": other.embedding.weight})
    write(root, "seed003_mha", other, 7003, tokens, projections_of="seed000_mha")

    sources, targets = padded(SOURCES), padded(TARGETS)
    padding = (sources != PAD)[:, None]
    no_peek = np.tri(sources.shape[1], dtype=bool)[None]
    for name, mask, kind in (
            ("none", None, "none"),
            ("padding", padding, "padding (B,1,L)"),
            ("nopeak", no_peek, "causal (1,L,L)"),
            ("padding_and_nopeak", padding & no_peek, "padding & causal (B,L,L)")):
        write(root, f"seed001_{name}", seeded(7001, 8, 2), 7001, sources, mask=mask,
              mask_kind=kind)
    # The last sequence is all padding.
    more = np.pad(sources, ((0, 1), (0, 0)), constant_values=PAD)
    write(root, "seed001_fully_masked", seeded(7011, 8, 2), 7011, more,
          mask=(more != PAD)[:, None] & no_peek, mask_kind="padding & causal (B,L,L)")
    write(root, "seed001_encdec", seeded(7002, 8, 2), 7002, targets, sources)
    write(root, "seed001_encdec_padding", seeded(7002, 8, 2), 7002, targets, sources, padding,
          "padding (B,1,L)")
