"""Attention in float64, by plain NumPy: what the tests compare with."""

import numpy as np


def scores_of(query, key, scale=None):
    """(B, Hq, Lq, Lkv), of tensors (B, L, H, D) with Hq a multiple of Hkv."""
    query = np.asarray(query, np.float64)
    key = np.asarray(key, np.float64)
    group = query.shape[2] // key.shape[2]
    scale = query.shape[3] ** -0.5 if scale is None else scale
    return scale * np.einsum("bihd,bjhd->bhij", query, np.repeat(key, group, 2))


def softmax(scores):
    """Rows of weights; 0 for a row without a key."""
    largest = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = powers.sum(-1, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total != 0)


def attention(query, key, value, mask=None, bias=0.0, scale=None):
    """(output, weights); the mask broadcasts to (B, Hq, Lq, Lkv)."""
    scores = scores_of(query, key, scale) + bias
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores)
    value = np.asarray(value, np.float64)
    group = scores.shape[1] // value.shape[2]
    output = np.einsum("bhij,bjhd->bihd", weights, np.repeat(value, group, 2))
    return output, weights
