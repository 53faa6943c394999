"""keras.layers.MultiHeadAttention, with projections that change nothing."""
import keras
import numpy as np

from random_call import assert_same, blhd


def multi_head_attention(call):
    layer = keras.layers.MultiHeadAttention(call.H, call.D, use_bias=False)
    E = call.H * call.D
    layer.build((call.B, call.Lq, E), (call.B, call.Lkv, E))
    split = np.eye(E, dtype=np.float32).reshape(E, call.H, call.D)
    layer.set_weights([split, split, split, split.transpose(1, 2, 0)])

    def joined(x):
        return np.ascontiguousarray(blhd(x)).reshape(call.B, -1, E)

    weights, causal, mask = call.chance(0.5), call.chance(0.3), None
    if call.chance(0.8):
        wide = (call.B, call.draw.choice((1, call.H)), call.Lq, call.Lkv)
        mask = call.allowed(call.draw.choice(
            ((call.Lq, call.Lkv), (call.B, call.Lq, call.Lkv), wide)))
        if call.chance(0.3):
            mask = mask.astype(np.int32)
    want = layer(joined(call.q), joined(call.v), joined(call.k),
                 attention_mask=mask, use_causal_mask=causal,
                 return_attention_scores=weights)
    output = call.run("keras", weights=weights, causal=causal, mask=mask)
    if weights:
        output, got = output
        want, want_weights = want
        assert_same("weights", got, want_weights)
    assert_same("output", output, blhd(
        np.asarray(want).reshape(call.B, call.Lq, call.H, call.D)))


CHECKS = {"keras": multi_head_attention}
