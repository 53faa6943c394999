"""NumPy: the formula as it is written, each intermediate in memory."""
import math

import numpy as np

from worker import by_name, key_mask, need, need_scores, serve, split_heads


def make(peer, spec, tensors):
    need(peer == "numpy", "no such form")
    need_scores(spec, 2)
    scale = np.float32(1 / math.sqrt(spec["d"]))
    allowed = key_mask(spec, tensors)
    if spec["causal"]:
        Lq, Lk = spec["Lq"], spec["Lk"]
        causal = np.tri(Lq, Lk, Lk - Lq, dtype=bool)
        allowed = causal if allowed is None else allowed & causal

    def attend(q, k, v):
        group = q.shape[1] // k.shape[1]
        if group > 1:
            k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
        p = np.matmul(q, k.swapaxes(-1, -2))
        p *= scale
        if allowed is not None:
            np.copyto(p, -np.inf, where=~allowed)
        p -= p.max(-1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(-1, keepdims=True)
        return np.matmul(p, v), p

    def run_attention():
        return attend(tensors["q"], tensors["k"], tensors["v"])

    def run_layer():
        x = tensors["x"]
        q, k, v = (split_heads(x @ tensors["w" + n].T + tensors["b" + n],
                               spec["Hq"]) for n in "qkv")
        context, p = attend(q, k, v)
        merged = context.swapaxes(1, 2).reshape(x.shape)
        return merged @ tensors["wo"].T + tensors["bo"], p

    run = run_layer if spec["kind"] == "module" else run_attention
    return run, by_name(spec)


serve(make, f"numpy {np.__version__}")
