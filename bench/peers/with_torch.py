"""PyTorch: scaled_dot_product_attention on the whole batch, on one sequence
after the other and on nested tensors, and with the query heads of a group as
rows of one head (one query only); flex_attention, compiled; nn.MultiheadAttention; and
plain matmul-softmax-matmul, of attention the only one of them that returns its
weights."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import flex_attention as flex

from worker import (by_name, need, need_one_query, need_scores, score_mask,
                    serve, threads)


def as_tensors(tensors, dtype=torch.float32):
    t = {name: torch.from_numpy(value) for name, value in tensors.items()}
    return {name: value.to(dtype) if value.is_floating_point() else value
            for name, value in t.items()}


def mask_tensor(spec, tensors, has_causal, dtype=torch.float32):
    mask, causal = score_mask(spec, tensors, has_causal)
    return None if mask is None else as_tensors({"mask": mask}, dtype)["mask"], causal


def attend_by(peer, spec, tensors, dtype):
    """attend(q, k, v) -> (out, weights or None)"""
    if peer == "torch_sdpa":
        need(not spec["weights"], "returns no weights")
        mask, causal = mask_tensor(spec, tensors, has_causal=True,
                                   dtype=dtype)
        grouped = spec["Hq"] != spec["Hkv"]
        return lambda q, k, v: (F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=grouped),
                                None)
    need(peer == "torch_matmul", "no such form")
    need_scores(spec, 1)
    mask, _ = mask_tensor(spec, tensors, has_causal=False, dtype=dtype)
    hidden = ~mask if mask is not None and mask.dtype == torch.bool else None
    group = spec["Hq"] // spec["Hkv"]
    scale = 1 / math.sqrt(spec["d"])

    def attend(q, k, v):
        if group > 1:
            k, v = (t.repeat_interleave(group, 1) for t in (k, v))
        scores = (q * scale) @ k.transpose(-1, -2)
        if hidden is not None:
            scores.masked_fill_(hidden, -math.inf)
        elif mask is not None:
            scores += mask
        p = scores.softmax(-1)
        return p @ v, p

    return attend


def make_rows(spec, t):
    """One query sees every key: no row needs a mask."""
    need_one_query(spec)
    rows = t["q"].view(spec["B"], spec["Hkv"], -1, spec["d"])
    return (lambda: F.scaled_dot_product_attention(rows, t["k"], t["v"]),
            lambda out: {"out": out})


def make_mha(spec, t):
    need(not spec["lens"] and not spec["causal"], "masks are not set up")
    mha = torch.nn.MultiheadAttention(spec["D"], spec["Hq"],
                                      batch_first=True, dtype=t["x"].dtype).eval()
    mha.in_proj_weight.copy_(torch.cat([t["wq"], t["wk"], t["wv"]]))
    mha.in_proj_bias.copy_(torch.cat([t["bq"], t["bk"], t["bv"]]))
    mha.out_proj.weight.copy_(t["wo"])
    mha.out_proj.bias.copy_(t["bo"])
    x = t["x"]
    return lambda: mha(x, x, x, need_weights=bool(spec["weights"]),
                       average_attn_weights=False)


def cut_sequences(spec, t):
    """[(q, k, v) of one sequence], each (1, H, L, d), without its padding."""
    need(spec["lens"] and spec["kind"] != "module" and
         spec["Hq"] == spec["Hkv"] and
         not (spec["causal"] or spec["bias"] or spec["weights"]),
         "no such form but for sequences of different lengths")
    lens = t["lens"].tolist()
    ragged = spec["kind"] == "ragged"
    return [[t[n][b:b + 1, :, :length if ragged or n != "q" else None]
             .contiguous() for n in "qkv"] for b, length in enumerate(lens)]


def padded_again(spec, parts):
    """[(H, L, d)] -> (B, H, Lq, d)"""
    out = np.zeros([spec[n] for n in ("B", "Hq", "Lq", "d")], np.float32)
    for whole, part in zip(out, parts):
        whole[:, :part.shape[1]] = part.float().numpy()
    return {"out": out}


def make_loop(spec, t):
    cut = cut_sequences(spec, t)
    return (lambda: [F.scaled_dot_product_attention(*one) for one in cut],
            lambda parts: padded_again(spec, [part[0] for part in parts]))


def make_nested(spec, t):
    need(spec["kind"] == "ragged", "no such form but for ragged batches")
    # Nested tensors know no inference mode.
    with torch.inference_mode(False), torch.no_grad():
        cut = cut_sequences(spec, {n: v.clone() for n, v in t.items()})
        q, k, v = (torch.nested.nested_tensor(
            [x[0].transpose(0, 1).contiguous() for x in one],
            layout=torch.jagged).transpose(1, 2) for one in zip(*cut))

    def run():
        with torch.inference_mode(False), torch.no_grad():
            return F.scaled_dot_product_attention(q, k, v)

    def show(nested):
        with torch.inference_mode(False), torch.no_grad():
            return padded_again(spec, [part.transpose(0, 1) for part in
                                       nested.transpose(1, 2).unbind()])

    return run, show


def flex_mask(spec, t):
    """What the workload masks: blocks that are hidden are skipped, of a ragged
    batch those of the padded queries, too. None where nothing is masked."""
    B, Lq, Lk = (spec[n] for n in ("B", "Lq", "Lk"))
    left = spec.get("window", Lk)
    if not (spec["causal"] or spec["lens"] or "window" in spec):
        return None
    need(B * Lq * Lk <= 2**30, "its blocks are found on all pairs at once")

    def visible(b, h, i, j):
        place = i + Lk - Lq
        seen = j >= place - left
        if spec["causal"]:
            seen = seen & (j <= place)
        if spec["lens"]:
            seen = seen & (j < t["lens"][b])
        if spec["kind"] == "ragged":
            seen = seen & (i < t["lens"][b])
        return seen

    return flex.create_block_mask(visible, B if spec["lens"] else None, None,
                                  Lq, Lk, device="cpu")


def make_flex(spec, t):
    need(spec["kind"] != "module" and not spec["weights"],
         "no such form of the layer, or with weights")
    bias = t["bias"][0] if spec["bias"] else None

    def add_bias(score, b, h, i, j):
        return score + bias[h, i, j]

    compiled = torch.compile(flex.flex_attention, dynamic=False)
    q, k, v = (t[n] for n in "qkv")
    mask = flex_mask(spec, t)

    def run():
        return compiled(q, k, v, block_mask=mask,
                        score_mod=None if bias is None else add_bias,
                        enable_gqa=spec["Hq"] != spec["Hkv"])

    return run, lambda out: {"out": out}


def make_backward(spec, tensors, dtype):
    # Gradients know no inference mode.
    with torch.inference_mode(False):
        t = {name: value.clone()
             for name, value in as_tensors(tensors, dtype).items()}
        q, k, v = (t[n].requires_grad_() for n in "qkv")
        mask, causal = mask_tensor(spec, tensors, has_causal=True, dtype=dtype)
        mask = None if mask is None else mask.clone()
    grouped = spec["Hq"] != spec["Hkv"]

    def run():
        with torch.inference_mode(False), torch.enable_grad():
            out = F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=grouped)
            return (out, *torch.autograd.grad(out, (q, k, v), t["do"]))

    return run, lambda results: dict(
        zip(("out", "dq", "dk", "dv"), (x.detach() for x in results)))


def make_form(peer, spec, tensors, dtype):
    t = as_tensors(tensors, dtype)
    if peer == "torch_rows":
        return make_rows(spec, t)
    if peer == "torch_backward":
        return make_backward(spec, tensors, dtype)
    if peer == "torch_mha":
        need(spec["kind"] == "module", "no such form of attention")
        return make_mha(spec, t), by_name(spec)
    if peer == "torch_loop":
        return make_loop(spec, t)
    if peer == "torch_nested":
        return make_nested(spec, t)
    if peer == "torch_flex":
        return make_flex(spec, t)
    attend = attend_by(peer, spec, tensors, dtype)
    if spec["kind"] != "module":
        return (lambda: attend(t["q"], t["k"], t["v"]),
                by_name(spec))
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


def make(peer, spec, tensors):
    form = peer.removesuffix("_bf16")
    run, show = make_form(form, spec, tensors, torch.float32 if form == peer
                          else torch.bfloat16)
    return run, lambda result: {
        name: value.float() if torch.is_tensor(value) else value
        for name, value in show(result).items()}


torch.set_num_threads(threads())
with torch.inference_mode():
    serve(make, f"torch {torch.__version__}")
