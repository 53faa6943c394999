"""NumPy: the formula as it is written, each intermediate in memory."""
import math

import numpy as np

from worker import (by_name, need, need_scores, score_mask, serve,
                    split_heads)


def make(peer, spec, tensors):
    need(peer == "numpy", "no such form")
    need_scores(spec, 2)
    scale = np.float32(1 / math.sqrt(spec["d"]))
    mask, _ = score_mask(spec, tensors, has_causal=False)

    def attend(q, k, v):
        group = q.shape[1] // k.shape[1]
        if group > 1:
            k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
        p = np.matmul(q * scale, k.swapaxes(-1, -2))
        if mask is not None and mask.dtype == bool:
            np.copyto(p, -np.inf, where=~mask)
        elif mask is not None:
            p += mask
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
