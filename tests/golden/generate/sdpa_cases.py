"""Cases sdpa (generate.py torch ROOT): scaled dot-product attention.

The output is that of torch.nn.functional.scaled_dot_product_attention, unless
the case has a softcap, which that function lacks. Attention weights and the
log-sum-exp of the scores are computed step by step.
"""
import math

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from golden import Case, largest, normal, random
from precisions import VERSION, compute


def slopes_of(num_heads):
    """ALiBi's slopes are a geometric sequence if the number of heads is a power of two. Other
    numbers add every second slope of the next power of two."""
    power = 2 ** int(math.log2(num_heads))
    slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    slopes += [2 ** (-4 * (2 * h + 1) / power) for h in range(num_heads - power)]
    return np.array(slopes)


def attended(Lq, Lk, causal, window, valid_lens, bool_mask):
    """(B or 1, 1, Lq, Lk), true where a query may attend; None for everywhere."""
    if causal is window is valid_lens is bool_mask is None:
        return None
    query, key = np.arange(Lq)[:, None], np.arange(Lk)
    at_end = query + Lk - Lq  # the last query is at the last key
    mask = np.ones((1, 1, Lq, Lk), bool)
    if causal is not None:
        mask &= key <= (at_end if causal == "bottom_right" else query)
    if window is not None:
        left, right = window
        mask &= (key >= at_end - left) & (key <= at_end + right)
    if valid_lens is not None:
        mask = mask & (key < np.array(valid_lens)[:, None, None, None])
    return mask if bool_mask is None else mask & bool_mask


def attend(q, k, v, mask, added, scale, softcap, causal_alone):
    groups = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(groups, 1).mT * scale
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    final = scores if added is None else scores + added
    if mask is not None:
        final = final.masked_fill(~mask, -math.inf)
    weights = final.softmax(-1)
    if mask is not None:
        weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0)
    output = weights @ v.repeat_interleave(groups, 1)
    if softcap is None:
        if mask is not None and added is not None:
            mask = added.masked_fill(~mask, -math.inf)
        fused = scaled_dot_product_attention(
            q, k, v, None if causal_alone else added if mask is None else mask,
            is_causal=causal_alone, scale=scale, enable_gqa=groups > 1)
        assert torch.allclose(fused, output, atol=3e-5 * max(1, largest(scores.detach())))
        output = fused
    return {"scores": scores, "weights": weights, "lse": final.logsumexp(-1), "output": output}


def write(root, name, seed, B=2, Hq=4, Hkv=None, Lq=9, Lk=11, D=16, Dv=None,
          causal=None, window=None, valid_lens=None, bool_mask=None, bias=None,
          alibi=False, scale=None, softcap=None, gain=1, grads=True):
    Hkv, Dv = Hkv or Hq, Dv or D
    scale = scale or D ** -0.5
    generator = random(seed)
    inputs = {"q": normal(generator, B, Hq, Lq, D) * np.float32(gain),
              "k": normal(generator, B, Hkv, Lk, D),
              "v": normal(generator, B, Hkv, Lk, Dv)}
    grad_output = normal(generator, B, Hq, Lq, Dv) if grads else None
    mask = attended(Lq, Lk, causal, window, valid_lens, bool_mask)
    empty = mask is not None and not mask.any(-1).all()
    case = Case(root, f"sdpa_{name}", "sdpa", "torch", VERSION, seed, {
        "num_heads": Hq, "num_kv_heads": Hkv, "scale": scale, "causal": causal,
        "window": window, "valid_lens": valid_lens is not None,
        "bool_mask": bool_mask is not None, "bias": bias is not None, "alibi": alibi,
        "softcap": softcap, "fully_masked_row": "zero" if empty else None})
    case.give_all(inputs | {"grad_output": grad_output})
    case.give_all({"valid_lens": valid_lens}, "token")
    case.give_all({"bool_mask": bool_mask, "bias": bias}, "mask")
    added = bias
    if alibi:
        slopes = slopes_of(Hq)
        case.give("alibi_slopes", slopes, "weight")
        distance = np.abs(np.arange(Lq)[:, None] + Lk - Lq - np.arange(Lk))
        added = (-slopes[:, None, None] * distance)[None]

    alone = causal == "top_left" and window is valid_lens is bool_mask is added is None
    results = compute(lambda x, masks, _: attend(**x, **masks, scale=scale, softcap=softcap,
                                                 causal_alone=alone),
                      inputs, {"mask": mask, "added": added}, grad_output)
    single, double = results[0][0], results[1][0]
    scores = largest(single.pop("scores"))
    case.expect("lse", single.pop("lse"), double.pop("lse"), "intermediate", like=scores)
    case.finish(results, scores)


def write_all(root):
    some = random(7200).random((2, 1, 9, 11)) < 0.6
    some[..., 0] = True
    two_rows_empty = some.copy()
    two_rows_empty[[0, 1], 0, [3, 8]] = False
    square = {"Lq": 11, "Lk": 11, "causal": "top_left"}
    twelve = {"Lq": 12, "Lk": 12}
    for seed, name, options in (
            (7201, "plain", {}),
            (7202, "value_dim", {"Dv": 24}),
            (7203, "scale", {"scale": 0.05}),
            (7204, "causal", {"Lq": 13, "Lk": 13, "causal": "top_left"}),
            (7205, "causal_top_left", {"Lq": 6, "causal": "top_left"}),
            (7206, "causal_bottom_right", {"Lq": 6, "causal": "bottom_right"}),
            (7207, "bool_mask", {"bool_mask": some}),
            (7208, "bias", {"bias": normal(random(7209), 2, 4, 9, 11)}),
            (7210, "valid_lens", {"B": 3, "valid_lens": [11, 4, 1]}),
            (7211, "valid_lens_causal", {**square, "B": 3, "valid_lens": [11, 4, 1]}),
            (7212, "fully_masked", {"bool_mask": two_rows_empty}),
            (7213, "gqa", {"Hq": 8, "Hkv": 2}),
            (7214, "gqa_causal", {**square, "Hq": 6, "Hkv": 3}),
            (7215, "mqa", {"Hq": 6, "Hkv": 1}),
            (7216, "softcap", {"softcap": 5.0, "gain": 4}),
            (7217, "softcap_causal", {**square, "softcap": 2.0, "gain": 3}),
            (7218, "alibi", {**twelve, "Hq": 8, "alibi": True, "causal": "top_left"}),
            (7219, "alibi_6",
             {"Hq": 6, "Lq": 5, "Lk": 12, "alibi": True, "causal": "bottom_right"}),
            (7220, "window", {**twelve, "window": (3, 0)}),
            (7221, "window_both", {"Lq": 6, "Lk": 12, "window": (2, 1)}),
            (7222, "window_gqa_softcap",
             {**twelve, "Hkv": 2, "window": (4, 0), "softcap": 3.0, "gain": 2}),
            (7223, "one_query", {"Hq": 8, "Hkv": 2, "Lq": 1, "Lk": 33, "D": 32}),
            (7224, "large_logits", {"gain": 1e3, "grads": False})):
        write(root, name, seed, **options)
