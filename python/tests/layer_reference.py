"""The layer in float64, by plain NumPy."""

import numpy as np
import reference


def linear(params, name, x):
    y = np.asarray(x, np.float64) @ np.asarray(params[f"{name}.weight"], np.float64).T
    return y + params.get(f"{name}.bias", 0)


def split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1)


def forward(params, query, key, value, num_heads, num_kv_heads=None, gates=None, **options):
    """(output, weights) of tensors (B, L, E)."""
    kv_heads = num_kv_heads or num_heads
    context, weights = reference.attention(
        split(linear(params, "w_q", query), num_heads),
        split(linear(params, "w_k", key), kv_heads),
        split(linear(params, "w_v", value), kv_heads), **options)
    if gates is not None:
        context = context * np.asarray(gates)[:, None]
    output = context.reshape(*context.shape[:2], -1)
    return (linear(params, "w_o", output) if "w_o.weight" in params else output), weights
