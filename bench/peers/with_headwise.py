"""The Python package of headwise on the tensors of a workload: headwise.attention with
NumPy arrays, at once, by an existing AttentionPlan and with the statistics of every
head; headwise.torch with torch tensors, without and with the attention weights."""
import headwise
import headwise.torch
import torch

from worker import need, serve, threads

OF_TORCH = ("headwise_torch", "headwise_weights")
OF_HEADS = ("headwise_weights", "headwise_statistics")
ENTROPY = headwise.STATISTICS.index("entropy")


def make_torch(peer, spec, tensors):
    q, k, v = (torch.from_numpy(tensors[n]) for n in "qkv")
    causal = bool(spec["causal"])
    if peer == "headwise_torch":
        return (lambda: headwise.torch.scaled_dot_product_attention(
            q, k, v, is_causal=causal), lambda out: {"out": out.numpy()})
    return (lambda: headwise.torch.attention(
        q, k, v, causal=causal, attn_weights="per_head"),
            lambda both: {"out": both[0].numpy(), "weights": both[1].numpy(),
                          "entropy": torch.special.entr(both[1]).sum(-1)
                          .mean((0, 2)).numpy()})


def make_numpy(peer, spec, tensors):
    """headwise.attention takes (B, L, H, D): views of the same memory."""
    q, k, v = (tensors[n].swapaxes(1, 2) for n in "qkv")
    mask = headwise.causal() if spec["causal"] else None
    if peer == "headwise_statistics":
        return (lambda: headwise.attention(q, k, v, mask=mask,
                                           statistics={"rows": True}),
                lambda result: {"out": result.output.swapaxes(1, 2),
                                "entropy": result.statistics.rows[..., ENTROPY]
                                .mean((0, 2))})
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
         not (spec["lens"] or spec["bias"]),
         "nothing but plain and causal attention is set up")
    need(bool(spec["weights"]) == (peer in OF_HEADS),
         "no such form with or without weights")
    return (make_torch if peer in OF_TORCH else make_numpy)(peer, spec, tensors)


torch.set_num_threads(threads())
with torch.inference_mode():
    serve(make, f"torch {torch.__version__}")
