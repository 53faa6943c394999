"""jax.nn.dot_product_attention."""
import jax
import numpy as np

from random_call import assert_same, blhd


def dot_product_attention(call):
    causal, mask = call.chance(0.3), None
    if call.chance(0.8):
        mask = call.allowed((call.draw.choice((1, call.B)),
                             call.draw.choice((1, call.H)),
                             call.draw.choice((1, call.Lq)),
                             call.draw.choice((1, call.Lkv))))
    want = jax.nn.dot_product_attention(
        *map(blhd, (call.q, call.k, call.v)), mask=mask, is_causal=causal)
    assert_same("output", call.run("jax", causal=causal, mask=mask),
                blhd(np.asarray(want)))


CHECKS = {"jax": dot_product_attention}
