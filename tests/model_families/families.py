"""The rows of rows.py: what config.json of each family means."""
import dataclasses

import numpy as np

from blocks import Alibi, BucketBias, Disentangled
from rope import Rope
from rows import Fused, Norms, Row, linear, model_of, norm

OWN_PLACES = ("rope_type", "type", "rope_theta", "partial_rotary_factor", "factor",
              "original_max_position_embeddings", "attention_factor")


def rope_of(c, size, given=None, theta=None, partial=None):
    """`given` is rope_parameters, or rope_scaling in older files. `partial` is the default
    of partial_rotary_factor, in families that read this key."""
    if given is None:
        given = c.get("rope_scaling") or c.get("rope_parameters") or {}
    original = given.get("original_max_position_embeddings")
    if partial is not None:
        size = int(size * given.get("partial_rotary_factor", partial))
    return Rope(
        size,
        given.get("rope_theta", c["rope_theta"] if theta is None else theta),
        c["max_position_embeddings"],
        given.get("rope_type", given.get("type", "default")), given.get("factor"),
        c.get("original_max_position_embeddings", original),
        given.get("attention_factor"),
        {key: value for key, value in given.items() if key not in OWN_PLACES})


def rope_by_layer_type(c, size, thetas, scaled):
    """A function of the layer type, for Gemma 3 and ModernBERT. thetas: {layer type:
    (key in old files, default)}. scaled: layer types that the older rope_scaling scales.
    """
    def rope(kind):
        key, default = thetas[kind]
        given = {**((c.get("rope_parameters") or {}).get(kind) or {}),
                 **((c.get("rope_scaling") or {}) if kind in scaled else {})}
        return rope_of(c, size, given, c.get(key, default))
    return rope


def windows(c, slides):
    """The layer's window. slides(layer): whether it has one, where no list says so."""
    kinds = c.get("layer_types")

    def window(layer):
        one = kinds[layer] == "sliding_attention" if kinds else slides(layer)
        return c["sliding_window"] if one else None
    return window


def head_size(c):
    return c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]


def llama(c, **changes):
    size = head_size(c)
    rope = changes.pop("rope", None) or (lambda layer: rope_of(c, size))
    return Row(**{**dict(
        layers=c["num_hidden_layers"], heads=c["num_attention_heads"], size=size,
        groups=c["num_key_value_heads"], activation=c["hidden_act"],
        eps=c["rms_norm_eps"], norm="rms", rope=rope, tied=c["tie_word_embeddings"]),
        **changes})


def mistral(c):
    return llama(c, window=lambda layer: c["sliding_window"])


def qwen2(c, **changes):
    return llama(c, window=windows(c, lambda layer: c["use_sliding_window"] and
                                   layer >= c["max_window_layers"]), **changes)


def qwen3(c):
    return qwen2(c, qk_norms=("self_attn.q_norm", "self_attn.k_norm"))


def phi3(c):
    heads, groups = c["num_attention_heads"], c["num_key_value_heads"]
    groups = groups or heads

    def rope(layer):
        made = rope_of(c, head_size(c), partial=c.get("partial_rotary_factor", 1))
        kind = "longrope" if made.kind in ("su", "yarn") else made.kind
        return dataclasses.replace(made, kind=kind)
    return llama(c, rope=rope, window=lambda layer: c["sliding_window"],
                 qkv=Fused("self_attn.qkv_proj", (heads, groups, groups)),
                 gate_and_up=Fused("mlp.gate_up_proj", (1, 1)))


def gemma2(c, **changes):
    return llama(c, **{**dict(
        activation=c["hidden_activation"], norm="rms + 1",
        scale_of_tokens=float(np.float32(c["hidden_size"] ** 0.5)),
        scale=c["query_pre_attn_scalar"] ** -0.5, softcap=c["attn_logit_softcapping"],
        window=windows(c, lambda layer: layer % 2 == 0),
        attention_norms=Norms("input_layernorm", "post_attention_layernorm"),
        feed_forward_norms=Norms("pre_feedforward_layernorm",
                                 "post_feedforward_layernorm"),
        logits_softcap=c["final_logit_softcapping"]), **changes})


def gemma3(c):
    both_sides = c["use_bidirectional_attention"]
    if both_sides:  # the window in the file is that of both sides together
        c = {**c, "sliding_window": c["sliding_window"] // 2 + 1}
    window = windows(c, lambda layer: (layer + 1) % c["sliding_window_pattern"])
    rope = rope_by_layer_type(
        c, head_size(c), {"full_attention": ("rope_theta", 1e6),
                          "sliding_attention": ("rope_local_base_freq", 1e4)},
        ["full_attention"])
    return gemma2(c, softcap=None, window=window, causal=not both_sides,
                  rope=lambda layer: rope("sliding_attention" if window(layer) else
                                          "full_attention"),
                  qk_norms=("self_attn.q_norm", "self_attn.k_norm"))


def smollm3(c):
    """Layers without rotary positions may have windows, if no list says otherwise."""
    listed = c.get("no_rope_layers")

    def rotates(layer):
        return listed[layer] if listed else (layer + 1) % c["no_rope_layer_interval"]
    rope = rope_of(c, head_size(c))
    return llama(c, rope=lambda layer: rope if rotates(layer) else None,
                 window=windows(c, lambda layer: c["use_sliding_window"] and
                                not rotates(layer)))


def olmo2(c):
    return llama(c, qk_norms=("self_attn.q_norm", "self_attn.k_norm"),
                 qk_norm_per_head=False,
                 attention_norms=Norms(output="post_attention_layernorm"),
                 feed_forward_norms=Norms(output="post_feedforward_layernorm"))


def gpt_oss(c):
    given = c.get("rope_scaling") or c.get("rope_parameters") or dict(
        rope_type="yarn", factor=32.0, truncate=False,
        original_max_position_embeddings=4096)
    return llama(c, rope=lambda layer: rope_of(c, head_size(c), given),
                 window=windows(c, lambda layer: layer % 2 == 0),
                 experts=dict(best=c["num_experts_per_tok"], alpha=c["swiglu_alpha"],
                              limit=c["swiglu_limit"]))


def gpt2(c):
    size = c["n_embd"] // c["n_head"]
    scale = size ** -0.5 if c["scale_attn_weights"] else 1
    by_layer = c["scale_attn_by_inverse_layer_idx"]
    return Row(
        c["n_layer"], c["n_head"], size, c["activation_function"],
        c["layer_norm_epsilon"], transposed=True, prefixes=("transformer.",),
        place="h.{}".format, tokens="wte", positions="wpe",
        scale=lambda layer: scale / (layer + 1 if by_layer else 1),
        qkv=Fused("attn.c_attn", (1, 1, 1)), o="attn.c_proj", up="mlp.c_fc",
        down="mlp.c_proj", gate=None, attention_norms=Norms("ln_1"),
        feed_forward_norms=Norms("ln_2"), last_norm="ln_f",
        tied=c["tie_word_embeddings"])


def gpt_neox(c):
    heads = c["num_attention_heads"]
    rope = rope_of(c, head_size(c), theta=c["rotary_emb_base"], partial=c["rotary_pct"])
    return Row(
        c["num_hidden_layers"], heads, head_size(c), c["hidden_act"],
        c["layer_norm_eps"], prefixes=("gpt_neox.",), tokens="embed_in",
        rope=lambda layer: rope,
        qkv=Fused("attention.query_key_value", (1, 1, 1), heads), o="attention.dense",
        up="mlp.dense_h_to_4h", down="mlp.dense_4h_to_h", gate=None,
        parallel=c["use_parallel_residual"], last_norm="final_layer_norm",
        head="embed_out", tied=c["tie_word_embeddings"])


def opt(c):
    before = c["do_layer_norm_before"]

    def norms(name):
        return Norms(before=name) if before else Norms(after=name)
    return Row(
        c["num_hidden_layers"], c["num_attention_heads"], head_size(c),
        c["activation_function"], 1e-5, prefixes=("model.decoder.", "decoder."),
        positions="embed_positions", first_position=2,
        projections=("project_in", None, None), o="self_attn.out_proj", up="fc1",
        down="fc2", gate=None, attention_norms=norms("self_attn_layer_norm"),
        feed_forward_norms=norms("final_layer_norm"), plain_norms=True,
        last_norm="final_layer_norm" if before and not c["_remove_final_layer_norm"]
        else None, projection_of_head="project_out", tied=c["tie_word_embeddings"])


def falcon(c):
    heads, new = c["num_attention_heads"], c["new_decoder_architecture"]
    size = head_size(c)
    groups = (c["num_kv_heads"] or heads) if new else 1 if c["multi_query"] else heads
    two = new and c["num_ln_in_parallel_attn"] in (None, 2)
    parallel = new or c["parallel_attn"]
    first = "ln_attn" if two else "input_layernorm"
    second = "ln_mlp" if two else first if parallel else "post_attention_layernorm"
    rope = None if c["alibi"] else rope_of(c, size)
    return Row(
        c["num_hidden_layers"], heads, size, c["activation"], c["layer_norm_epsilon"],
        groups, prefixes=("transformer.",), place="h.{}".format,
        tokens="word_embeddings",
        qkv=Fused("self_attention.query_key_value", (heads // groups, 1, 1), groups),
        o="self_attention.dense", rope=lambda layer: rope,
        bias=(lambda t: Alibi.of(heads, size ** -0.5)) if c["alibi"] else None,
        up="mlp.dense_h_to_4h", down="mlp.dense_4h_to_h", gate=None,
        attention_norms=Norms(first), feed_forward_norms=Norms(second),
        parallel=parallel, last_norm="ln_f", tied=c["tie_word_embeddings"])


def bert(c, **changes):
    """And those that differ from it in names, in a few places."""
    own = "attention.self."
    return Row(**{**dict(
        layers=c["num_hidden_layers"], heads=c["num_attention_heads"],
        size=head_size(c), activation=c["hidden_act"], eps=c["layer_norm_eps"],
        causal=False,
        prefixes=(f"{c['model_type']}.",), place="encoder.layer.{}".format,
        tokens="embeddings.word_embeddings", positions="embeddings.position_embeddings",
        types="embeddings.token_type_embeddings",
        norm_of_embeddings="embeddings.LayerNorm",
        qkv=(f"{own}query", f"{own}key", f"{own}value"), o="attention.output.dense",
        up="intermediate.dense", down="output.dense", gate=None,
        attention_norms=Norms(after="attention.output.LayerNorm"),
        feed_forward_norms=Norms(after="output.LayerNorm"), last_norm=None, head=None),
        **changes})


def distilbert(c):
    renamed = {"hidden_size": c["dim"], "num_attention_heads": c["n_heads"],
               "num_hidden_layers": c["n_layers"], "hidden_act": c["activation"],
               "layer_norm_eps": 1e-12}
    return bert({**c, **renamed}, place="transformer.layer.{}".format,
                qkv=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
                o="attention.out_lin", up="ffn.lin1", down="ffn.lin2",
                attention_norms=Norms(after="sa_layer_norm"),
                feed_forward_norms=Norms(after="output_layer_norm"))


def roberta(c, **changes):
    return bert(c, **{**dict(prefixes=("roberta.",),
                             first_position=c["pad_token_id"] + 1,
                             uncounted=c["pad_token_id"]), **changes})


def mpnet(c):
    def bias(t):
        return BucketBias(t["encoder.relative_attention_bias.weight"], 128, True)
    own = "attention.attn."
    return roberta(c, prefixes=("mpnet.",), bias=bias,
                   qkv=(f"{own}q", f"{own}k", f"{own}v"), o=f"{own}o",
                   attention_norms=Norms(after="attention.LayerNorm"))


def electra(c):
    return bert(c, projections=(None, None, "embeddings_project"))


def albert(c):
    layers, inner = c["num_hidden_layers"], c["inner_group_num"]

    def place(block):
        group = albert_group(block // inner, layers, c["num_hidden_groups"])
        return f"encoder.albert_layer_groups.{group}.albert_layers.{block % inner}"
    return bert(c, layers=layers * inner, place=place,
                projections=(None, None, "encoder.embedding_hidden_mapping_in"),
                qkv=("attention.query", "attention.key", "attention.value"),
                o="attention.dense", up="ffn", down="ffn_output",
                attention_norms=Norms(after="attention.LayerNorm"),
                feed_forward_norms=Norms(after="full_layer_layer_norm"))


def albert_group(layer, layers, groups):
    """Of layers that share their parameters."""
    return int(layer / (layers / groups))


def deberta(c):
    kinds = c["pos_att_type"] or []
    if isinstance(kinds, str):
        kinds = [kind.strip() for kind in kinds.lower().split("|")]
    own = "attention.self."
    row = bert(c, prefixes=("deberta.",),
               projections=(None, "embeddings.embed_proj", None),
               qkv=tuple(f"{own}{name}_proj" for name in ("query", "key", "value")),
               scale=(head_size(c) * (1 + len(kinds))) ** -0.5,
               convolution="encoder.conv", convolution_activation=c["conv_act"])

    def relative(base, t, attention):
        table = base["encoder.rel_embeddings.weight"]
        if "layer_norm" in c["norm_rel_ebd"].lower():
            table = norm(row, base, "encoder.LayerNorm")(table)
        key, query = ((attention.k, attention.q) if c["share_att_key"] else
                      (linear(t, f"{own}pos_{name}_proj") for name in ("key", "query")))
        longest = c["max_relative_positions"]
        return Disentangled(
            table, key if "c2p" in kinds else None, query if "p2c" in kinds else None,
            max(c["position_buckets"], 0),
            longest if longest > 0 else c["max_position_embeddings"])
    return dataclasses.replace(row, relative=relative) if c["relative_attention"] else row


def modernbert(c):
    window = windows({**c, "sliding_window": c["local_attention"] // 2 + 1},
                     lambda layer: layer % c["global_attn_every_n_layers"])
    rope = rope_by_layer_type(
        c, head_size(c), {"full_attention": ("global_rope_theta", 160000.0),
                          "sliding_attention": ("local_rope_theta", 10000.0)},
        ["full_attention", "sliding_attention"])
    return Row(
        c["num_hidden_layers"], c["num_attention_heads"], head_size(c),
        c["hidden_activation"], c["norm_eps"], causal=False,
        tokens="embeddings.tok_embeddings", norm_of_embeddings="embeddings.norm",
        qkv=Fused("attn.Wqkv", (1, 1, 1)), o="attn.Wo", window=window,
        rope=lambda layer: rope("sliding_attention" if window(layer) else
                                "full_attention"),
        gate_and_up=Fused("mlp.Wi", (1, 1)), down="mlp.Wo",
        attention_norms=Norms("attn_norm"), feed_forward_norms=Norms("mlp_norm"),
        last_norm="final_norm", head=None)


NOMIC_KEYS = {"n_embd": "hidden_size", "n_head": "num_attention_heads",
              "n_layer": "num_hidden_layers", "n_positions": "max_position_embeddings",
              "layer_norm_epsilon": "layer_norm_eps", "rotary_emb_base": "rope_theta"}


def nomic_bert(c):
    """Published files have the keys of GPT-2, which transformers does not read."""
    c = {**c, **{key: c[old] for old, key in NOMIC_KEYS.items() if old in c}}
    rope = rope_of(c, head_size(c))
    return bert(c, place="encoder.layers.{}".format, norm_of_embeddings="emb_ln",
                qkv=Fused("attn.Wqkv", (1, 1, 1)), o="attn.out_proj",
                rope=lambda layer: rope, up="mlp.fc11", gate="mlp.fc12", down="mlp.fc2",
                attention_norms=Norms(after="norm1"),
                feed_forward_norms=Norms(after="norm2"))


def t5(c):
    kind, *gated = reversed(c["feed_forward_proj"].split("-"))
    heads, size = c["num_heads"], c["d_kv"]
    scaled = c.get("scale_decoder_outputs", c["tie_word_embeddings"] is not False)

    def side(name, layers, **changes):
        def bias(t):
            first = t.at(f"{name}.block.0.layer.0.SelfAttention")
            return BucketBias(first["relative_attention_bias.weight"],
                              c["relative_attention_max_distance"], name == "encoder")
        own, last = "layer.0.SelfAttention.", "layer.2" if changes else "layer.1"
        dense = f"{last}.DenseReluDense"
        return Row(
            layers, heads, size, "gelu_new" if gated and kind == "gelu" else kind,
            c["layer_norm_epsilon"], norm="rms", causal=name == "decoder", prefixes=(),
            place=f"{name}.block.{{}}".format, tokens="shared", scale=1, bias=bias,
            qkv=(f"{own}q", f"{own}k", f"{own}v"), o=f"{own}o",
            up=f"{dense}.wi_1" if gated else f"{dense}.wi", down=f"{dense}.wo",
            gate=f"{dense}.wi_0" if gated else None,
            attention_norms=Norms("layer.0.layer_norm"),
            feed_forward_norms=Norms(f"{last}.layer_norm"),
            last_norm=f"{name}.final_layer_norm", tied=True, **changes)
    cross = tuple(f"layer.1.EncDecAttention.{name}" for name in "qkvo")
    return (side("decoder", c["num_decoder_layers"] or c["num_layers"], cross=cross,
                 cross_norms=Norms("layer.1.layer_norm"),
                 scale_of_head=c["d_model"] ** -0.5 if scaled else 1),
            side("encoder", c["num_layers"]))


def bart(c):
    def side(name, **changes):
        heads = c[f"{name}_attention_heads"]
        return Row(
            c[f"{name}_layers"], heads, c["d_model"] // heads, c["activation_function"],
            1e-5, causal=name == "decoder", place=f"{name}.layers.{{}}".format,
            tokens="shared",
            scale_of_tokens=c["d_model"] ** 0.5 if c["scale_embedding"] else 1,
            positions=f"{name}.embed_positions", first_position=2,
            norm_of_embeddings=f"{name}.layernorm_embedding", o="self_attn.out_proj",
            up="fc1", down="fc2", gate=None,
            attention_norms=Norms(after="self_attn_layer_norm"),
            feed_forward_norms=Norms(after="final_layer_norm"), last_norm=None,
            tied=c["tie_word_embeddings"], bias_of_head="final_logits_bias", **changes)
    cross = tuple(f"encoder_attn.{name}_proj" for name in ("q", "k", "v", "out"))
    norms = Norms(after="encoder_attn_layer_norm")
    return side("decoder", cross=cross, cross_norms=norms), side("encoder")


LLAMA = dict(num_key_value_heads=None, head_dim=None, rms_norm_eps=1e-6,
             rope_theta=10000.0, hidden_act="silu", max_position_embeddings=2048,
             tie_word_embeddings=False)
WINDOWED = dict(LLAMA, sliding_window=4096)
QWEN = dict(WINDOWED, num_key_value_heads=32, use_sliding_window=False,
            max_window_layers=28, max_position_embeddings=32768)
GEMMA = dict(WINDOWED, num_key_value_heads=4, head_dim=256, query_pre_attn_scalar=256,
             hidden_activation="gelu_pytorch_tanh", tie_word_embeddings=True)
BERT = dict(hidden_act="gelu", layer_norm_eps=1e-12)
ROBERTA = dict(BERT, pad_token_id=1)
TIED = dict(tie_word_embeddings=True)

# {model_type: (row, values of keys that are not in the file)}
FAMILIES = {
    "llama": (llama, LLAMA),
    "mistral": (mistral, dict(WINDOWED, num_key_value_heads=8,
                              max_position_embeddings=131072)),
    "qwen2": (qwen2, QWEN),
    "qwen3": (qwen3, dict(QWEN, head_dim=128)),
    "phi3": (phi3, dict(LLAMA, rms_norm_eps=1e-5, sliding_window=None,
                        max_position_embeddings=4096,
                        original_max_position_embeddings=4096)),
    "gemma2": (gemma2, dict(GEMMA, attn_logit_softcapping=50.0,
                            final_logit_softcapping=30.0,
                            max_position_embeddings=8192)),
    "gemma3_text": (gemma3, dict(
        {key: value for key, value in GEMMA.items() if key != "rope_theta"},
        attn_logit_softcapping=None, final_logit_softcapping=None,
        sliding_window_pattern=6, use_bidirectional_attention=False,
        max_position_embeddings=131072)),
    "smollm3": (smollm3, dict(LLAMA, num_key_value_heads=4, rope_theta=2e6,
                              no_rope_layer_interval=4, sliding_window=None,
                              use_sliding_window=False, tie_word_embeddings=True,
                              max_position_embeddings=32768)),
    "olmo2": (olmo2, dict(LLAMA, rms_norm_eps=1e-5)),
    "gpt_oss": (gpt_oss, dict(LLAMA, num_key_value_heads=8, head_dim=64,
                              rms_norm_eps=1e-5, sliding_window=128,
                              rope_theta=150000.0, swiglu_alpha=1.702, swiglu_limit=7.0,
                              num_experts_per_tok=4,
                              max_position_embeddings=131072)),
    "gpt2": (gpt2, dict(TIED, activation_function="gelu_new", layer_norm_epsilon=1e-5,
                        scale_attn_weights=True,
                        scale_attn_by_inverse_layer_idx=False)),
    "gpt_neox": (gpt_neox, dict(hidden_act="gelu", layer_norm_eps=1e-5, rotary_pct=0.25,
                                rotary_emb_base=10000, use_parallel_residual=True,
                                max_position_embeddings=2048,
                                tie_word_embeddings=False)),
    "opt": (opt, dict(TIED, do_layer_norm_before=True, activation_function="relu",
                      _remove_final_layer_norm=False)),
    "falcon": (falcon, dict(TIED, num_kv_heads=None, alibi=False, multi_query=True,
                            new_decoder_architecture=False, parallel_attn=True,
                            activation="gelu", num_ln_in_parallel_attn=None,
                            layer_norm_epsilon=1e-5, rope_theta=10000.0,
                            max_position_embeddings=2048)),
    "bert": (bert, BERT),
    "distilbert": (distilbert, dict(activation="gelu")),
    "roberta": (roberta, ROBERTA),
    "xlm-roberta": (roberta, ROBERTA),
    "camembert": (roberta, ROBERTA),
    "mpnet": (mpnet, ROBERTA),
    "electra": (electra, BERT),
    "albert": (albert, dict(hidden_act="gelu_new", layer_norm_eps=1e-12,
                            num_hidden_groups=1, inner_group_num=1)),
    "deberta-v2": (deberta, dict(
        hidden_act="gelu", layer_norm_eps=1e-7, relative_attention=False,
        max_relative_positions=-1, position_buckets=-1, pos_att_type=None,
        share_att_key=False, norm_rel_ebd="none", max_position_embeddings=512,
        conv_act="tanh")),
    "modernbert": (modernbert, dict(hidden_activation="gelu", norm_eps=1e-5,
                                    local_attention=128, global_attn_every_n_layers=3,
                                    max_position_embeddings=8192)),
    "nomic_bert": (nomic_bert, dict(hidden_act="silu", layer_norm_eps=1e-12,
                                    rope_theta=1000.0, max_position_embeddings=2048)),
    "t5": (t5, dict(TIED, d_kv=64, num_decoder_layers=None,
                    relative_attention_max_distance=128, layer_norm_epsilon=1e-6,
                    feed_forward_proj="relu")),
    "bart": (bart, dict(TIED, activation_function="gelu", scale_embedding=False,
                        encoder_attention_heads=16, decoder_attention_heads=16)),
}


def describe(config, tensors):
    row, defaults = FAMILIES[config["model_type"]]
    made = row({**defaults, **config})
    return model_of(made[0], tensors, made[1]) if isinstance(made, tuple) else model_of(
        made, tensors)
