"""The ONNX operator Attention (opsets 23 to 25) in float64, written from the
text of its specification: the reference for the tolerances of onnx_cases.py."""
import numpy as np

SLOTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")


def split(x, heads):
    """(B, L, heads * D) as (B, heads, L, D)."""
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def bias_of(mask, keys):
    """A mask as what is added to the scores. Keys behind it are excluded."""
    if mask is None:
        return np.zeros((1, keys))
    bias = np.where(mask, 0, -np.inf) if mask.dtype == bool else mask
    behind = max(keys - bias.shape[-1], 0)
    return np.pad(bias, [(0, 0)] * (bias.ndim - 1) + [(0, behind)], constant_values=-np.inf)


def visible(attributes, Lq, Lk, past, lengths):
    """(B or 1, 1, Lq, Lk), true where a query may attend."""
    offset = past if lengths is None else lengths[:, None, None, None] - Lq
    position = np.arange(Lq)[:, None] + offset
    key = np.arange(Lk)
    seen = np.broadcast_to(True, (1, 1, Lq, Lk))
    if attributes.get("is_causal"):
        seen = seen & (key <= position)
    left = attributes.get("left_window_size", -1)
    right = attributes.get("right_window_size", -1)
    if left >= 0:
        seen = seen & (key >= position - left)
    if right >= 0:
        seen = seen & (key <= position + right)
    if lengths is not None:
        seen = seen & (key < lengths[:, None, None, None])
    return seen


@np.errstate(all="ignore")
def attention(attributes, inputs):
    """Y, present_key, present_value and qk_matmul_output, of the inputs in the
    operator's order; one that is left out is None."""
    q, k, v, mask, past_key, past_value, lengths = (
        x if x is None or x.dtype.kind in "bi" else x.astype(np.float64)
        for x in inputs)
    three_axes = q.ndim == 3
    if three_axes:
        q = split(q, attributes["q_num_heads"])
        k, v = (split(x, attributes["kv_num_heads"]) for x in (k, v))
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        k = np.concatenate([past_key, k], 2)
        v = np.concatenate([past_value, v], 2)
    present = k, v
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
    Lq, Lk = q.shape[2], k.shape[2]

    scores = q @ k.swapaxes(2, 3) * attributes.get("scale", q.shape[3] ** -0.5)
    softcap = attributes.get("softcap", 0)
    capped = softcap * np.tanh(scores / softcap) if softcap else scores
    bias = np.where(visible(attributes, Lq, Lk, past, lengths), bias_of(mask, Lk), -np.inf)
    excluded = bias == -np.inf
    # Not a sum: the score of an excluded key may be NaN.
    masked = np.where(excluded, -np.inf, capped + bias)
    empty = excluded.all(-1, keepdims=True)
    weights = np.exp(masked - masked.max(-1, keepdims=True))
    weights = np.where(empty, 0, weights / weights.sum(-1, keepdims=True))
    y = np.where(empty, 0, weights @ v)
    if three_axes:
        y = y.swapaxes(1, 2).reshape(len(y), Lq, -1)
    stages = scores, capped, masked, weights
    return y, *present, stages[attributes.get("qk_matmul_output_mode", 0)]
