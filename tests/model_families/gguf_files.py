"""GGUF files of small models: written from settings and tensors as transformers names
them, with blocks of every type that is read, and what those blocks say."""
import re
import struct

import numpy as np

# Number in the file, elements and bytes of a block.
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20),
         "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "Q6_K": (14, 256, 210),
         "BF16": (30, 1, 2)}
SETTINGS = {
    "context_length": ("max_position_embeddings", "n_positions"),
    "embedding_length": ("hidden_size", "n_embd"),
    "block_count": ("num_hidden_layers", "n_layer"),
    "feed_forward_length": ("intermediate_size", "n_inner"),
    "attention.head_count": ("num_attention_heads", "n_head"),
    "attention.head_count_kv": ("num_key_value_heads",),
    "attention.key_length": ("head_dim",), "attention.value_length": ("head_dim",),
    "attention.layer_norm_rms_epsilon": ("rms_norm_eps",),
    "attention.layer_norm_epsilon": ("layer_norm_epsilon",),
    "attention.sliding_window": ("sliding_window",),
    "attn_logit_softcapping": ("attn_logit_softcapping",),
    "final_logit_softcapping": ("final_logit_softcapping",)}
ARCHITECTURES = {"llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3",
                 "gemma2": "gemma2", "gemma3_text": "gemma3", "gpt2": "gpt2"}
NAMES = [
    (r"^(model\.|transformer\.)", ""), (r"^(layers|h)\.", "blk."),
    (r"embed_tokens|wte", "token_embd"), (r"wpe", "position_embd"),
    (r"lm_head", "output"), (r"^(norm|ln_f)\.", "output_norm."),
    (r"input_layernorm|ln_1", "attn_norm"),
    (r"pre_feedforward_layernorm|ln_2", "ffn_norm"),
    (r"post_feedforward_layernorm", "post_ffw_norm"),
    (r"self_attn\.([qkv])_proj", r"attn_\1"), (r"self_attn\.o_proj", "attn_output"),
    (r"self_attn\.([qk])_norm", r"attn_\1_norm"), (r"attn\.c_attn", "attn_qkv"),
    (r"attn\.c_proj", "attn_output"), (r"mlp\.(gate|up|down)_proj", r"ffn_\1"),
    (r"mlp\.c_fc", "ffn_up"), (r"mlp\.c_proj", "ffn_down")]


def name_of(name, gemma):
    for old, new in NAMES:
        name = re.sub(old, new, name)
    return name.replace("post_attention_layernorm",
                        "post_attention_norm" if gemma else "ffn_norm")


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def pair(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    whole = isinstance(value, int)
    return text(key) + struct.pack("<II" if whole else "<If", 4 if whole else 6, value)


def settings(config):
    """The pairs of the metadata."""
    name = ARCHITECTURES[config["model_type"]]
    said = {"general.architecture": name}
    for key, of_config in SETTINGS.items():
        for each in of_config:
            if config.get(each) is not None:
                said[f"{name}.{key}"] = config[each]
    rope = config.get("rope_parameters") or {}
    rope = rope.get("full_attention", rope)
    if "rope_theta" in rope:
        said[f"{name}.rope.freq_base"] = float(rope["rope_theta"])
    if rope.get("rope_type", "default") in ("linear", "yarn"):
        said[f"{name}.rope.scaling.type"] = rope["rope_type"]
        said[f"{name}.rope.scaling.factor"] = float(rope["factor"])
        if "original_max_position_embeddings" in rope:
            said[f"{name}.rope.scaling.original_context_length"] = rope[
                "original_max_position_embeddings"]
    return said


def paired(values, size):
    """Rows of heads, with both features of a rotated pair side by side."""
    halves = values.reshape(-1, 2, size // 2, *values.shape[1:])
    return halves.swapaxes(1, 2).reshape(values.shape)


def tensors_of(config, tensors):
    """As llama.cpp lays them out."""
    family = config["model_type"]
    made = {}
    for name, values in tensors.items():
        if family == "gpt2" and name.endswith("weight") and re.search(r"\.c_", name):
            values = values.T
        if family == "llama" and re.search(r"[qk]_proj", name):
            values = paired(values, config.get("head_dim") or config["hidden_size"] //
                            config["num_attention_heads"])
        if family.startswith("gemma") and "norm" in name:
            values = values + np.float32(1)
        made[name_of(name, family.startswith("gemma"))] = np.ascontiguousarray(values)
    return made


def blocks(rng, kind, shape):
    """Random blocks of a matrix, and the numbers that they say."""
    _, elements, size = TYPES[kind]
    count = int(np.prod(shape)) // elements
    raw = rng.integers(0, 256, (count, size), np.uint8)
    scales = {"Q6_K": [208], "Q4_1": [0, 2], "Q4_K": [0, 2]}.get(kind, [0])
    for at in scales:
        spread = 0.02 / (64 if kind.endswith("K") else 1)
        raw[:, at:at + 2] = rng.normal(0, spread, (count, 1)).astype("f2").view(np.uint8)
    return raw.tobytes(), READERS[kind](raw).reshape(shape)


def half(raw, at):
    return raw[:, at:at + 2].copy().view("f2").astype("f4")


def nibbles(raw):
    return np.concatenate([raw & 15, raw >> 4], 1).astype("f4")


def q8_0(raw):
    return half(raw, 0) * raw[:, 2:].view(np.int8).astype("f4")


def q4_0(raw):
    return half(raw, 0) * (nibbles(raw[:, 2:]) - 8)


def q4_1(raw):
    return half(raw, 0) * nibbles(raw[:, 4:]) + half(raw, 2)


def q4_k(raw):
    packed, quants = raw[:, 4:16], raw[:, 16:].reshape(-1, 4, 32)
    low, middle, high = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate([low & 63, high & 15 | low >> 6 << 4], 1)
    least = np.concatenate([middle & 63, high >> 4 | middle >> 6 << 4], 1)
    numbers = np.stack([quants & 15, quants >> 4], 2).reshape(-1, 8, 32).astype("f4")
    return ((half(raw, 0) * scales.astype("f4"))[..., None] * numbers -
            (half(raw, 2) * least.astype("f4"))[..., None])


def q6_k(raw):
    low = raw[:, :128].reshape(-1, 2, 2, 32)
    high = raw[:, 128:192].reshape(-1, 2, 1, 32)
    low = np.stack([low & 15, low >> 4], 2).reshape(-1, 2, 4, 32)
    numbers = low | (high >> np.array([0, 2, 4, 6]).reshape(1, 1, 4, 1) & 3) << 4
    scales = half(raw, 208) * raw[:, 192:208].view(np.int8).astype("f4")
    return scales[..., None] * (numbers.reshape(-1, 16, 16).astype("f4") - 32)


READERS = {"Q8_0": q8_0, "Q4_0": q4_0, "Q4_1": q4_1, "Q4_K": q4_k, "Q6_K": q6_k}


def bfloat16(values):
    """Those of whole bfloat16 numbers."""
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def write(path, said, tensors, alignment=32):
    """`tensors`: by name the type, the shape and the bytes."""
    said = said | ({} if alignment == 32 else {"general.alignment": alignment})
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(said))
    head += b"".join(pair(key, value) for key, value in said.items())
    data = b""
    for name, (kind, shape, raw) in tensors.items():
        head += text(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", size) for size in reversed(shape))
        number = kind if isinstance(kind, int) else TYPES[kind][0]
        head += struct.pack("<IQ", number, len(data))
        data += raw + b"\0" * (-len(raw) % alignment)
    path.write_bytes(head + b"\0" * (-len(head) % alignment) + data)


def write_floats(path, config, tensors, **changes):
    """A whole model in float32."""
    write(path, settings(config) | changes,
          {name: ("F32", values.shape, values.astype("f4").tobytes())
           for name, values in tensors_of(config, tensors).items()})
