"""PyTorch: scaled_dot_product_attention, nn.MultiheadAttention, and plain
matmul-softmax-matmul, the only one of them that returns the weights of
attention."""
import math

import torch
import torch.nn.functional as F

from worker import by_name, key_mask, need, need_scores, serve, threads


def as_tensors(tensors):
    return {name: torch.from_numpy(value) for name, value in tensors.items()}


def attend_by(peer, spec, tensors):
    """attend(q, k, v) -> (out, weights or None)"""
    mask = key_mask(spec, tensors)
    mask = None if mask is None else torch.from_numpy(mask)
    causal = bool(spec["causal"])
    if peer == "torch_sdpa":
        need(not spec["weights"], "returns no weights")
        need(not (causal and mask is not None), "causal and padded")
        need(not causal or spec["Lq"] == spec["Lk"], "causal from another row")
        grouped = spec["Hq"] != spec["Hkv"]
        return lambda q, k, v: (F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=grouped),
                                None)
    need(peer == "torch_matmul", "no such form")
    need_scores(spec, 1)
    if causal:
        Lq, Lk = spec["Lq"], spec["Lk"]
        below = torch.ones(Lq, Lk, dtype=torch.bool).tril(Lk - Lq)
        mask = below if mask is None else mask & below
    group = spec["Hq"] // spec["Hkv"]

    def attend(q, k, v):
        if group > 1:
            k, v = (t.repeat_interleave(group, 1) for t in (k, v))
        scores = (q @ k.transpose(-1, -2)) * (1 / math.sqrt(spec["d"]))
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        p = scores.softmax(-1)
        return p @ v, p

    return attend


def make_mha(spec, t):
    need(not spec["lens"] and not spec["causal"], "masks are not set up")
    mha = torch.nn.MultiheadAttention(spec["D"], spec["Hq"],
                                      batch_first=True).eval()
    mha.in_proj_weight.copy_(torch.cat([t["wq"], t["wk"], t["wv"]]))
    mha.in_proj_bias.copy_(torch.cat([t["bq"], t["bk"], t["bv"]]))
    mha.out_proj.weight.copy_(t["wo"])
    mha.out_proj.bias.copy_(t["bo"])
    x = t["x"]
    return lambda: mha(x, x, x, need_weights=bool(spec["weights"]),
                       average_attn_weights=False)


def make(peer, spec, tensors):
    t = as_tensors(tensors)
    if peer == "torch_mha":
        need(spec["kind"] == "module", "no such form of attention")
        return make_mha(spec, t), by_name(spec)
    attend = attend_by(peer, spec, tensors)
    if spec["kind"] == "sdpa":
        return lambda: attend(t["q"], t["k"], t["v"]), by_name(spec)
    B, L, H = spec["B"], spec["Lq"], spec["Hq"]
    w_qkv = torch.cat([t["wq"], t["wk"], t["wv"]])
    b_qkv = torch.cat([t["bq"], t["bk"], t["bv"]])

    def run_layer():
        q, k, v = F.linear(t["x"], w_qkv, b_qkv).view(
            B, L, 3, H, spec["d"]).permute(2, 0, 3, 1, 4)
        context, p = attend(q, k, v)
        merged = context.transpose(1, 2).reshape(B, L, spec["D"])
        return F.linear(merged, t["wo"], t["bo"]), p

    return run_layer, by_name(spec)


torch.set_num_threads(threads())
with torch.inference_mode():
    serve(make, f"torch {torch.__version__}")
