"""flax.linen and flax.nnx."""
import numpy as np
from flax import linen, nnx

from random_call import assert_same, blhd


def dot_product_attention(call):
    wide = (call.draw.choice((1, call.B)), call.draw.choice((1, call.H)),
            call.draw.choice((1, call.Lq)), call.draw.choice((1, call.Lkv)))
    mask = call.allowed(wide[4 - call.draw.choice((1, 2, 3, 4)):])
    if call.chance(0.3):  # as make_causal_mask() makes them
        mask = mask.astype(np.float32)
    library = call.draw.choice((linen, nnx))
    want = library.dot_product_attention(
        *map(blhd, (call.q, call.k, call.v)), mask=mask)
    assert_same("output", call.run("flax", mask=mask), blhd(np.asarray(want)))


CHECKS = {"flax": dot_product_attention}
