"""JAX: jax.nn.dot_product_attention, compiled; where the attention weights are
wanted, the same written out, for it returns none."""
import math

import jax
import jax.numpy as jnp
import numpy as np

from worker import by_name, key_mask, need, need_scores, serve


def make(peer, spec, tensors):
    need(peer == "jax", "no such form")
    need_scores(spec, 2)
    mask = key_mask(spec, tensors)
    mask = None if mask is None else jnp.asarray(mask)
    H, d = spec["Hq"], spec["d"]

    def attend(q, k, v):  # (B, L, H, d)
        if not spec["weights"]:
            out = jax.nn.dot_product_attention(
                q, k, v, mask=mask, is_causal=bool(spec["causal"]))
            return out, None
        need(mask is None and not spec["causal"] and H == spec["Hkv"],
             "weights under a mask or of grouped heads")
        p = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(d))
        return jnp.einsum("bhqk,bkhd->bqhd", p, v), p

    def layer(t):
        x = t["x"]
        q, k, v = ((x @ t["w" + n].T + t["b" + n]).reshape(*x.shape[:2], H, d)
                   for n in "qkv")
        context, p = attend(q, k, v)
        return context.reshape(x.shape) @ t["wo"].T + t["bo"], p

    need(not spec["causal"] or spec["Lq"] == spec["Lk"],
         "causal from another row")
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
        if spec["kind"] == "sdpa":
            out = out.swapaxes(1, 2)
        return by_name(spec)((out, p))

    return lambda: jax.block_until_ready(compiled(arguments)), show


serve(make, f"jax {jax.__version__}")
