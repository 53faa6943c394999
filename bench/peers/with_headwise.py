"""The Python package of headwise on the tensors of a workload: headwise.attention with
NumPy arrays, at once and by an existing AttentionPlan, and
headwise.torch.scaled_dot_product_attention with torch tensors."""
import headwise
import headwise.torch
import torch

from worker import need, serve, threads


def make_torch(spec, tensors):
    q, k, v = (torch.from_numpy(tensors[n]) for n in "qkv")
    causal = bool(spec["causal"])
    return (lambda: headwise.torch.scaled_dot_product_attention(
        q, k, v, is_causal=causal), lambda out: {"out": out.numpy()})


def make_numpy(peer, spec, tensors):
    """headwise.attention takes (B, L, H, D): views of the same memory."""
    q, k, v = (tensors[n].swapaxes(1, 2) for n in "qkv")
    mask = headwise.causal() if spec["causal"] else None
    if peer == "headwise_numpy":
        run = lambda: headwise.attention(q, k, v, mask=mask)
    else:
        need(peer == "headwise_plan", "no such form")
        plan = headwise.AttentionPlan.create(
            B=spec["B"], Hq=spec["Hq"], Hkv=spec["Hkv"], Lq=spec["Lq"],
            Lkv=spec["Lk"], D=spec["d"], Dv=spec["dv"], mask=mask)
        run = lambda: plan.run(q, k, v)
    return run, lambda out: {"out": out.swapaxes(1, 2)}


def make(peer, spec, tensors):
    need(spec["kind"] == "sdpa" and "window" not in spec and
         not (spec["lens"] or spec["bias"] or spec["weights"]),
         "nothing but plain and causal attention is set up")
    return (make_torch(spec, tensors) if peer == "headwise_torch" else
            make_numpy(peer, spec, tensors))


torch.set_num_threads(threads())
with torch.inference_mode():
    serve(make, f"torch {torch.__version__}")
