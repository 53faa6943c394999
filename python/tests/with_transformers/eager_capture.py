"""transformers' own eager attention, with its weights and values kept."""
import contextlib
import sys

import torch
from headwise.transformers.attention_layers import layer_uses
from headwise.transformers.head_layout import HeadFeatures
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

_CALLS = []  # (module, weights (B, Hq, Lq, Lkv), value (B, Hq, Lkv, Dv))


def _attend(module, query, key, value, *args, **kwargs):
    eager = sys.modules[type(module).__module__].eager_attention_forward
    output, weights = eager(module, query, key, value, *args, **kwargs)
    _CALLS.append((module, weights, value.repeat_interleave(
        weights.shape[1] // value.shape[1], 1)))
    return output, weights


AttentionInterface.register("captured", _attend)
AttentionMaskInterface.register("captured", eager_mask)


@contextlib.contextmanager
def eager_calls(model):
    """Inside, the calls of eager attention come into the list."""
    model.set_attn_implementation("captured")
    _CALLS.clear()
    yield _CALLS


def layers_of(model, inputs):
    """The output, and by layer (weights, value, HeadFeatures)."""
    with eager_calls(model) as calls:
        output = model(**inputs)
        by_module = {module: (weights, value) for module, weights, value in calls}
    return output, {use.number: (*by_module[use.module], HeadFeatures(model, use.name))
                    for use in layer_uses(model) if use.module in by_module}


def projected(found, head, z):
    """z (..., Dv) of one head through the output projection, without its bias."""
    width = found.query_heads * z.shape[-1]
    features = z.new_zeros(*z.shape[:-1], width)
    features[..., head * z.shape[-1]:(head + 1) * z.shape[-1]] = z
    return found.output(features) - found.output(torch.zeros_like(features))


def padded(inputs, side, count=3):
    """The first example with `count` tokens of padding in the place of its own."""
    mask = torch.ones_like(inputs["input_ids"])
    mask[0, slice(0, count) if side == "left" else slice(-count, None)] = 0
    return {**inputs, "attention_mask": mask,
            "input_ids": inputs["input_ids"].masked_fill(mask == 0, 0)}


def assert_close(given, expected):
    """Within 1e-5 of the largest absolute value."""
    expected = expected.detach().to(given.dtype)
    assert given.shape == expected.shape
    error = (given - expected).abs().max() / expected.abs().max()
    assert error.item() <= 1e-5, error.item()
