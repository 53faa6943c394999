"""JAX: jax.nn.dot_product_attention, compiled; where the attention weights are
wanted, the same written out, for it returns none."""
import math

import jax
import jax.numpy as jnp
import numpy as np

from worker import by_name, need, need_scores, score_mask, serve


def make(peer, spec, tensors):
    need(peer == "jax", "no such form")
    need_scores(spec, 2)
    mask, causal = score_mask(spec, tensors)
    masks = {} if mask is None else {
        "mask" if mask.dtype == bool else "bias": jnp.asarray(mask)}
    H, d = spec["Hq"], spec["d"]

    def attend(q, k, v):  # (B, L, H, d)
        if not spec["weights"]:
            out = jax.nn.dot_product_attention(
                q, k, v, is_causal=causal, **masks)
            return out, None
        need(not masks and not causal and H == spec["Hkv"],
             "weights under a mask or of grouped heads")
        p = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(d))
        return jnp.einsum("bhqk,bkhd->bqhd", p, v), p

    def layer(t):
        x = t["x"]
        q, k, v = ((x @ t["w" + n].T + t["b" + n]).reshape(*x.shape[:2], H, d)
                   for n in "qkv")
        context, p = attend(q, k, v)
        return context.reshape(x.shape) @ t["wo"].T + t["bo"], p

    if spec["kind"] == "module":
        compute, arguments = layer, {n: jnp.asarray(t)
                                     for n, t in tensors.items()}
    else:
        compute = lambda t: attend(t["q"], t["k"], t["v"])
        arguments = {n: jnp.asarray(np.ascontiguousarray(
            tensors[n].swapaxes(1, 2))) for n in "qkv"}
    compiled = jax.jit(compute).lower(arguments).compile()

    def show(result):
        out, p = result
        if spec["kind"] != "module":
            out = out.swapaxes(1, 2)
        return by_name(spec)((out, p))

    return lambda: jax.block_until_ready(compiled(arguments)), show


serve(make, f"jax {jax.__version__}")
