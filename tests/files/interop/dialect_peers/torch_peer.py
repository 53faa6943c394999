"""PyTorch: torch-sdpa, torch-mha."""
import numpy as np
import torch

from random_call import assert_same


def sdpa(call):
    shape = call.draw.choice((
        (call.Lq, call.Lkv), (1, call.Lkv),
        (call.H, call.Lq, call.Lkv), (1, call.Lq, call.Lkv),
        (call.B, 1, 1, call.Lkv), (call.B, call.H, call.Lq, call.Lkv)))
    causal, mask = call.chance(0.2), None
    if not causal:
        mask = call.draw.choice((call.allowed, call.added))(shape)
    assert_same("output", call.run("torch-sdpa", causal=causal, mask=mask),
                torch.nn.functional.scaled_dot_product_attention(
                    *map(torch.tensor, (call.q, call.k, call.v)),
                    attn_mask=None if mask is None else torch.tensor(mask),
                    is_causal=causal))


def mha(call):
    """The layer with projections that change nothing, heads side by side."""
    E = call.H * call.D
    layer = torch.nn.MultiheadAttention(E, call.H, bias=False,
                                        batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(E).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(E))
    shape = call.draw.choice(((call.Lq, call.Lkv),
                              (call.B * call.H, call.Lq, call.Lkv)))
    # PyTorch wants both masks of one type.
    masks = call.draw.choice((lambda shape: ~call.allowed(shape), call.added))
    mask = masks(shape)
    padding = masks((call.B, call.Lkv)) if call.chance(0.5) else None
    weights = call.chance(0.5)
    output = call.run("torch-mha", weights=weights, mask=mask,
                      key_padding=padding)
    output, got = output if weights else (output, None)
    joined = (torch.tensor(x).transpose(1, 2).flatten(2)
              for x in (call.q, call.k, call.v))
    with torch.no_grad():
        want, mean = layer(
            *joined, attn_mask=torch.tensor(mask), need_weights=weights,
            key_padding_mask=None if padding is None else torch.tensor(padding))
    # Its output projection spreads a head's NaN over all of them: 0 * NaN.
    output[np.isnan(output).any(axis=(1, 3), keepdims=True).repeat(
        call.H, 1).repeat(call.D, 3)] = np.nan
    assert_same("output", output,
                want.unflatten(2, (call.H, call.D)).transpose(1, 2))
    if weights:
        assert_same("weights", got, mean)


CHECKS = {"torch-sdpa": sdpa, "torch-mha": mha}
