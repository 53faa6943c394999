"""Files as other programs and older versions of transformers wrote them, made from those
of this version."""
import json
import re
import shutil

import numpy as np
from safetensors.numpy import load_file, save_file

from forms import FORMS

TENSORS = "model.safetensors"
PREFIXES = re.compile(r"^(transformer|gpt_neox|model|bert|distilbert|roberta|mpnet|"
                      r"electra|albert|deberta|nomic_bert)\.")


def renamed(tensors, rename):
    return {rename(name): values for name, values in tensors.items()}


OLD_THETAS = {"gemma3_text": ("rope_theta", "rope_local_base_freq"),
              "modernbert": ("global_rope_theta", "local_rope_theta")}


def old_rope(config):
    """Keys of transformers 4: rope_theta, and rope_scaling if it is not the default."""
    rope = config.pop("rope_parameters")
    family = config["model_type"]
    if family in OLD_THETAS:
        whole, sliding = rope["full_attention"], rope["sliding_attention"]
        for part, key in zip((whole, sliding), OLD_THETAS[family]):
            config[key] = part.pop("rope_theta")
        # With the key `type` alone, transformers 5.24 ignores the scaling of these two.
        kind = whole.pop("rope_type")
        config["rope_scaling"] = (None if kind == "default" else
                                  {"rope_type": kind, **whole})
        return config
    theta = rope.pop("rope_theta")
    partial = rope.pop("partial_rotary_factor", None)
    if family == "gpt_neox":
        # A key of the other families, which this one ignores.
        config |= {"rotary_emb_base": theta, "rotary_pct": partial, "rope_theta": 3.0}
    else:
        config["rope_theta"] = theta
        if partial is not None:
            config["partial_rotary_factor"] = partial
    kind = rope.pop("rope_type")
    config["rope_scaling"] = None if kind == "default" else {"type": kind, **rope}
    return config


def short(config, form):
    """Without the keys whose values are the family's defaults."""
    kept = {"model_type": config["model_type"], **form.arguments}
    if form.head == "Model":  # alone, it has no logits
        kept["architectures"] = config["architectures"]
    return json.loads(json.dumps(kept))


def both_types(config):
    config = old_rope(config)
    config["rope_scaling"] |= {"rope_type": config["rope_scaling"]["type"],
                               "type": "dynamic"}
    return config


def su(config):
    """The first name of longrope. Its original length is outside."""
    config = old_rope(config)
    config["rope_scaling"]["type"] = "su"
    del config["rope_scaling"]["original_max_position_embeddings"]
    return config


def as_yarn(config):
    config = old_rope(config)
    config["rope_scaling"]["type"] = "yarn"
    return config


def published_nomic(config):
    return {"model_type": "nomic_bert", "activation_function": "swiglu",
            "n_embd": config["hidden_size"], "n_head": config["num_attention_heads"],
            "n_inner": config["intermediate_size"],
            "n_layer": config["num_hidden_layers"], "n_positions": 64,
            "layer_norm_epsilon": config["layer_norm_eps"],
            "rotary_emb_base": config["rope_parameters"]["rope_theta"],
            "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
            "qkv_proj_bias": False, "mlp_fc1_bias": False, "mlp_fc2_bias": False,
            "prenorm": False, "type_vocab_size": 2, "vocab_size": config["vocab_size"]}


def with_extra_tensors(tensors):
    """Buffers and tensors that nobody reads."""
    rng = np.random.default_rng(2)

    def values(*shape):
        return rng.standard_normal(shape).astype(np.float32)
    extra = {}
    for name in tensors:
        if name.endswith("attn.c_attn.weight"):
            at = name.removesuffix("c_attn.weight")
            extra |= {f"{at}bias": values(1, 1, 8, 8), f"{at}masked_bias": values(1)}
        if name.endswith("attention.query_key_value.weight"):
            at = name.removesuffix("query_key_value.weight")
            extra |= {f"{at}bias": values(1, 1, 8, 8), f"{at}masked_bias": values(1),
                      f"{at}rotary_emb.inv_freq": values(4)}
        if name.endswith("self_attn.q_proj.weight"):
            extra[name.replace("q_proj.weight", "rotary_emb.inv_freq")] = values(4)
        if name.endswith("embeddings.word_embeddings.weight"):
            extra[name.replace("word_embeddings.weight", "position_ids")] = (
                np.arange(64)[None])
        if name == "shared.weight":
            extra |= {"encoder.embed_tokens.weight": tensors[name].copy(),
                      "decoder.embed_tokens.weight": tensors[name].copy(),
                      "decoder.block.0.layer.1.EncDecAttention."
                      "relative_attention_bias.weight": values(12, 6)}
    return {**tensors, **extra}


def with_own_head(tensors):
    embeddings = ("embed_tokens.weight", "wte.weight", "shared.weight")
    like = next(values for name, values in tensors.items() if name.endswith(embeddings))
    head = np.random.default_rng(3).standard_normal(like.shape).astype(np.float32)
    return {**tensors, "lm_head.weight": head}


def old_norms(name):
    return (name.replace("LayerNorm.weight", "LayerNorm.gamma")
            .replace("LayerNorm.bias", "LayerNorm.beta"))


def write_bf16(path, tensors):
    """NumPy has no bfloat16: the file is written here."""
    header, data = {}, b""
    for name, values in tensors.items():
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16
        begin, data = len(data), data + bits.astype("<u2").tobytes()
        header[name] = dict(dtype="BF16", shape=list(values.shape),
                            data_offsets=[begin, len(data)])
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_f16(path, tensors):
    save_file({name: values.astype(np.float16) for name, values in tensors.items()},
              path, {"format": "pt"})


def write_mixed(path, tensors):
    """Matrices in float16, vectors in float32."""
    save_file({name: values.astype(np.float16 if values.ndim > 1 else np.float32)
               for name, values in tensors.items()}, path, {"format": "pt"})


def write_shards(path, tensors):
    names = sorted(tensors)
    parts = [names[at::3] for at in range(3)]
    weight_map = {}
    for n, part in enumerate(parts):
        file = f"model-{n + 1:05}-of-00003.safetensors"
        save_file({name: tensors[name] for name in part}, path.parent / file,
                  {"format": "pt"})
        weight_map |= dict.fromkeys(part, file)
    path.with_name(f"{TENSORS}.index.json").write_text(json.dumps({
        "metadata": {"total_size": sum(each.nbytes for each in tensors.values())},
        "weight_map": weight_map}))


def write_plain(path, tensors):
    save_file(tensors, path, {"format": "pt"})


def same(values):
    return values


# {name: (forms, what becomes of config.json, of the tensors, how they are written)}
VARIATIONS = {
    "old_rope": (r"llama_(theta|linear|dynamic|llama3|yarn.*|longrope)|mistral|phi3.*|"
                 r"qwen3(_yarn)?|gemma2|gemma3.*|smollm3|olmo2_biased|falcon_7b|"
                 r"gpt_oss.*|gpt_neox.*|modernbert.*", old_rope, same, write_plain),
    "both_types": ("llama_linear", both_types, same, write_plain),
    "su": ("phi3_longrope", su, same, write_plain),
    "as_yarn": ("phi3_longrope", as_yarn, same, write_plain),
    "no_prefix": (r"gpt2|gpt_neox|opt|llama(_mqa)?|falcon_7b|gemma2|bert_gelu_new|"
                  r"roberta|mpnet_masked|electra_equal|albert_groups|distilbert|"
                  r"deberta_c2p|modernbert_biased|bart", same,
                  lambda tensors: renamed(tensors, lambda name: PREFIXES.sub("", name)),
                  write_plain),
    "gamma_beta": ("bert|bert_gelu_new|roberta|electra|albert_groups|mpnet|"
                   "deberta_v2_conv", same,
                   lambda tensors: renamed(tensors, old_norms), write_plain),
    "shards": ("gpt2|llama_gqa|t5|bert", same, same, write_shards),
    "bf16": ("llama_gqa|gemma2|t5|modernbert|gpt2|gpt_oss", same, same, write_bf16),
    "f16": ("llama_gqa|bert|bart", same, same, write_f16),
    "mixed": ("gpt_oss|t5_v11", same, same, write_mixed),
    "published": ("nomic_bert.*", published_nomic, same, write_plain),
    "own_head": ("gpt2|llama_mqa|gemma2|t5|opt", same, with_own_head, write_plain),
    "extra": ("gpt2|gpt_neox|llama|bert|t5|roberta", same, with_extra_tensors,
              write_plain),
}
# transformers does not read these; they compute what the original does.
UNREADABLE = ("published", "su")


def write_variations(folder, form):
    def read(kind):
        source = folder / f"{form}-{kind}"
        return (json.loads((source / "config.json").read_text()),
                load_file(source / TENSORS))

    def write(kind, variation, config, tensors, save):
        target = folder / f"{form}-{kind}-{variation}"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        (target / "config.json").write_text(json.dumps(config, indent=2))
        save(target / TENSORS, tensors)
    for kind in ("default", "strong"):
        config, tensors = read(kind)
        write(kind, "short", short(config, FORMS[form]), tensors, write_plain)
    for name, (forms, of_config, of_tensors, save) in VARIATIONS.items():
        if re.fullmatch(forms, form):
            config, tensors = read("strong")
            write("strong", name, of_config(config), of_tensors(tensors), save)
