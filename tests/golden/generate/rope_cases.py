"""Cases rope (generate.py torch ROOT): causal attention with positions as
transformers' models rotate them, by halves (Llama) or adjacent pairs (GPT-J)."""
import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama

from golden import Case, normal, random
from precisions import VERSION, compute

B, H, L, D = 2, 4, 11, 16
LARGEST_SCORE = 6


def rotate(x, cos, sin, style):
    """x (B, heads, L, D); cos and sin (B, L, half of the rotated elements)."""
    rotated, rest = x.tensor_split([2 * cos.shape[-1]], -1)
    if style == "half":
        rotated, _ = llama.apply_rotary_pos_emb(
            rotated, rotated, torch.cat((cos, cos), -1),
            torch.cat((sin, sin), -1))
    else:
        rotated = gptj.apply_rotary_pos_emb(rotated.transpose(1, 2), sin, cos).transpose(1, 2)
    return torch.cat((rotated, rest), -1)


def write(root, name, seed, style, rotary_dim=D, Hkv=H, theta=10000.0, positions=None):
    generator = random(seed)
    inputs = {"q": normal(generator, B, H, L, D),
              "k": normal(generator, B, Hkv, L, D),
              "v": normal(generator, B, Hkv, L, D)}
    grad_output = normal(generator, B, H, L, D)
    if positions is None:
        positions = np.tile(np.arange(L), (B, 1))
    case = Case(root, f"rope_{name}", "rope", "torch and transformers", VERSION,
                seed, {"num_heads": H, "num_kv_heads": Hkv, "style": style,
                       "theta": theta, "rotary_dim": rotary_dim,
                       "scale": D ** -0.5, "causal": "top_left"})
    case.give_all(inputs)
    case.give("positions", positions, "token")
    case.give("grad_output", grad_output)

    def attend(x, tables, _):
        q, k = (rotate(x[name], tables["cos"], tables["sin"], style) for name in "qk")
        output = scaled_dot_product_attention(q, k, x["v"], is_causal=True, enable_gqa=Hkv != H)
        return tables | {"q_rotated": q, "k_rotated": k, "output": output}
    # In float64 here: an angle of float32 may be off by 1e-4.
    frequencies = 1 / theta ** (np.arange(0, rotary_dim, 2) / rotary_dim)
    angles = positions[..., None] * frequencies
    tables = {"cos": np.cos(angles), "sin": np.sin(angles)}
    case.finish(compute(attend, inputs, tables, grad_output), LARGEST_SCORE)


def write_all(root):
    write(root, "half", 7300, "half")
    write(root, "interleaved", 7301, "interleaved")
    write(root, "half_partial", 7302, "half", rotary_dim=8, Hkv=2)
    write(root, "interleaved_positions", 7303, "interleaved", theta=500000.0,
          positions=np.array([np.arange(5, 16),
                              [0, 1, 2, 0, 1, 2, 3, 100, 101, 102, 4095]]))
