"""Eager attention of Hugging Face transformers, with the masks of its models."""
import torch
from transformers import masking_utils
from transformers.models.bert.modeling_bert import eager_attention_forward

from random_call import assert_same


def eager(call):
    causal, mask = call.chance(0.3), None
    start = call.Lkv - call.Lq  # as many tokens are in the cache
    causal = causal and start >= 0
    if call.chance(0.6):  # what a tokenizer gives
        mask = call.allowed((call.B, call.Lkv))
        if call.chance(0.5):
            mask = mask.astype(call.draw.choice(("int64", "float32")))
        ready = torch.tensor(mask).bool()
    elif not causal:  # models take one of rank 4 as it is
        shape = (call.draw.choice((1, call.B)), call.draw.choice((1, call.H)),
                 call.draw.choice((1, call.Lq)), call.Lkv)
        masks = (call.allowed, call.added,
                 lambda shape: call.allowed(shape).astype(int))
        mask = call.draw.choice(masks)(shape)
        ready = torch.tensor(mask)
    else:
        ready = None
    if causal or (mask is not None and mask.ndim == 2):
        ready = masking_utils.eager_mask(
            call.B, call.Lq, call.Lkv, q_offset=max(start, 0),
            mask_function=masking_utils.causal_mask_function if causal
            else masking_utils.bidirectional_mask_function,
            attention_mask=ready)
    want, want_weights = eager_attention_forward(
        torch.nn.Module(), *map(torch.tensor, (call.q, call.k, call.v)), ready)
    output, weights = call.run("transformers", weights=True, causal=causal,
                               mask=mask)
    assert_same("output", output, want.transpose(1, 2))
    assert_same("weights", weights, want_weights)


CHECKS = {"transformers": eager}
