"""Cases torch_mha (generate.py torch ROOT): torch.nn.MultiheadAttention with
each of its options. A boolean mask that is true ignores its key here; in all
other cases it attends."""
import numpy as np
import safetensors.torch
import torch
from torch import nn

from golden import Case, normal, random
from precisions import VERSION, compute

E, H = 24, 4  # embedding size, heads
B, LQ, LK = 3, 5, 7
LARGEST_SCORE = 6  # no score of these cases exceeds it


def random_layer(seed, **options):
    torch.manual_seed(seed)
    layer = nn.MultiheadAttention(E, H, **options).eval()
    # PyTorch starts biases at zero, which would hide a bias left out.
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.endswith("bias"):
                parameter.uniform_(-0.5, 0.5)
    return layer


def random_inputs(seed, options, self_attention, batched):
    """The inputs in the layout of the layer, and grad_output."""
    generator = random(seed)
    inputs = {"query": normal(generator, B, LQ, E)}
    if not self_attention:
        inputs["key"] = normal(generator, B, LK, options.get("kdim", E))
        inputs["value"] = normal(generator, B, LK, options.get("vdim", E))
    if not batched:
        inputs = {name: x[0] for name, x in inputs.items()}
    elif not options["batch_first"]:
        inputs = {name: np.ascontiguousarray(x.swapaxes(0, 1)) for name, x in inputs.items()}
    return inputs, normal(generator, *inputs["query"].shape)


def write(root, name, seed, average=False, self_attention=False, batched=True,
          masks=None, fully_masked=False, **options):
    options.setdefault("batch_first", True)
    layer = random_layer(seed, **options)
    inputs, grad_output = random_inputs(seed, options, self_attention, batched)
    case = Case(root, f"torch_mha_{name}", "torch_mha", "torch", VERSION, seed, {
        "num_heads": H, "scale": (E // H) ** -0.5, "batch_first": layer.batch_first,
        "add_bias_kv": layer.bias_k is not None, "add_zero_attn": layer.add_zero_attn,
        "average_attn_weights": average, "batched": batched,
        "fully_masked_row": "NaN with need_weights, zero without" if fully_masked else None})
    case.give_all({n: inputs.get(n, inputs["query"]) for n in ("query", "key", "value")})
    case.give_all(layer.state_dict(), "weight")
    safetensors.torch.save_file(layer.state_dict(),
                                case.native("state_dict", "state_dict.safetensors"))
    case.give_all(masks or {}, "mask")
    if fully_masked:
        grad_output = None  # it would be NaN
    case.give_all({"grad_output": grad_output})

    def attend(x, masks, layer):
        query = x["query"]
        call = query, x.get("key", query), x.get("value", query)
        fused, _ = layer(*call, need_weights=False, **masks)
        output, weights = layer(*call, average_attn_weights=average, **masks)
        steps = {"weights": weights, "output": output}
        if fully_masked:
            return {"output_no_weights": fused, **steps}
        assert torch.allclose(output, fused, atol=1e-5)
        return steps
    case.finish(compute(attend, inputs, masks, grad_output, layer), LARGEST_SCORE)


def write_all(root):
    padding = np.array([[0, 0, 0, 0, 0, 0, 0],
                        [0, 0, 0, 0, 1, 1, 1],
                        [0, 1, 0, 1, 0, 1, 0]], bool)
    generator = random(7100)
    ignored = generator.random((LQ, LK)) < 0.3
    ignored[:, 0] = False
    added = normal(generator, LQ, LK)
    added[0, 3:] = -np.inf
    per_head = normal(generator, B * H, LQ, LK)
    for seed, (name, options) in enumerate([
            ("self", {"self_attention": True, "average": True}),
            ("cross", {"average": True}),
            ("cross_per_head", {}),
            ("kdim_vdim", {"kdim": 10, "vdim": 14}),
            ("seq_first", {"batch_first": False, "average": True}),
            ("unbatched", {"batched": False, "average": True}),
            ("no_bias", {"bias": False, "average": True}),
            ("bias_kv", {"add_bias_kv": True}),
            ("zero_attn", {"add_zero_attn": True}),
            ("key_padding_mask", {"masks": {"key_padding_mask": padding}}),
            ("attn_mask_bool", {"masks": {"attn_mask": ignored}}),
            ("attn_mask_float", {"masks": {"attn_mask": added}}),
            ("attn_mask_float_3d", {"masks": {"attn_mask": per_head}}),
            ("all_options",
             {"kdim": 10, "vdim": 14, "add_bias_kv": True, "add_zero_attn": True,
              "batch_first": False,
              "masks": {"key_padding_mask": padding, "attn_mask": ignored}}),
    ], 7101):
        write(root, name, seed, **options)
    padding[2] = True
    write(root, "fully_masked", 7140, fully_masked=True, masks={"key_padding_mask": padding})
