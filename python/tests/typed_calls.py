"""What mypy --strict and pyright take the results of calls for (test_types.py)."""
from typing import Any

import headwise
import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

Floats = NDArray[np.float32]
x: Floats = np.ones((1, 3, 2, 4), np.float32)
rows: Floats = np.ones((1, 3, 8), np.float32)
layer = headwise.MultiHeadAttention.create(embed_dim=8, num_heads=2)
cache = headwise.KvCache.create(num_kv_heads=2, head_dim=4, max_tokens=8)
options = headwise.AttentionPlan.create(B=1, Hq=2, Hkv=2, Lq=3, Lkv=3, D=4, Dv=4)

assert_type(headwise.attention(x, x, x, mask=headwise.causal() & (x[0, :, :, 0] > 0)), Floats)
assert_type(headwise.attention(x, x, x, attn_weights="none", lse=False), Floats)
assert_type(headwise.attention(x, x, x, attn_weights="mean"),
            headwise.AttentionResult[Floats, Floats, None])
assert_type(headwise.attention(x, x, x, statistics={"rows": True}).statistics,
            headwise.AttentionStatistics[Floats])
assert_type(headwise.attention(x, x, x, attn_weights="mean", statistics={}, lse=True),
            headwise.AttentionResult[Floats, Floats, headwise.AttentionStatistics[Floats]])
assert_type(headwise.attention(x, x, x, lse=True).attn_weights, None)
assert_type(headwise.attention(x, x, x, softmax_rows=True).output, Floats)
assert_type(headwise.attention(x, x, x, key_part="first"),
            headwise.AttentionResult[Floats, None, None])
assert_type(headwise.attention_backward(x, x, x, x, x, x, gradients=["key"]),
            headwise.AttentionGradients[Floats])
assert_type(layer(rows, mask=headwise.causal()), Floats)
assert_type(layer.forward(rows, attn_weights="per_head").attn_weights, Floats)
assert_type(layer(rows, lse=True), headwise.AttentionResult[Floats, None, None])
assert_type(layer.forward_for_backward(rows).backward(rows).params, dict[str, Floats])
assert_type(headwise.explain(x, x, x)["scores"].array, Floats)
assert_type(headwise.explain(x, x, x)[0:2][0].axes, tuple[str, ...])
assert_type(options.run(x, x, x, lse=True), headwise.AttentionResult[Floats, Any, Any])
assert_type(cache.read(cache.add()), tuple[Floats, Floats])
assert_type(headwise.dense(x), headwise.Bias)
assert_type(headwise.dense(x > 0), headwise.Mask)

headwise.attention(x, x, x, attn_weights="all")  # type: ignore[call-overload]
headwise.attention(x, x, x, maks=None)  # type: ignore[call-overload]
headwise.attention(x, x)  # type: ignore[call-overload]
headwise.attention([1.0], x, x)  # type: ignore[call-overload]
headwise.attention(x, x, x, lse=True).attn_weights.shape  # type: ignore[attr-defined]
headwise.attention(x, x, x, statistics={"row": True})  # type: ignore[call-overload]
layer(rows, arithmetic="fp8")  # type: ignore[call-overload]
headwise.read_safetensors("", access="write")  # type: ignore[arg-type]
headwise.atention  # type: ignore[attr-defined]
