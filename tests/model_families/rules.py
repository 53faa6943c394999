"""The rules of each family that a reader can break without an error: rule_visibility.py
breaks one at a time."""
import dataclasses
import typing

import numpy as np

import blocks
import families
import rows
from blocks import (Alibi, Attention, Branch, BucketBias, Convolution, Disentangled,
                    Embedding, Experts, FeedForward, Linear, Norm, Positions, Step,
                    to_bf16)
from rope import Rope


@dataclasses.dataclass
class Rule:
    name: str
    forms: str  # a regular expression
    change: typing.Callable = lambda model: None  # of the description
    config: typing.Callable = lambda config: config
    patch: tuple | None = None  # (owner, name, a wrong function)
    variation: str = ""  # of the files; "": as transformers writes them
    invisible: str = ""  # why no output can show the rule


def objects(node, kind, seen=None):
    """All objects of a kind in a description, each once."""
    seen = set() if seen is None else seen
    if isinstance(node, (list, tuple)):
        for each in node:
            yield from objects(each, kind, seen)
    elif dataclasses.is_dataclass(node) and id(node) not in seen:
        seen.add(id(node))
        if isinstance(node, kind):
            yield node
        for field in dataclasses.fields(node):
            yield from objects(getattr(node, field.name), kind, seen)


def each(kind, changes):
    """changes(object) gives the attributes that are set, or None."""
    def change(model):
        for one in list(objects(model, kind)):
            for name, value in (changes(one) or {}).items():
                setattr(one, name, value)
    return change


def unbiased(*names):
    return lambda one: {name: Linear(getattr(one, name).weight) for name in names
                        if getattr(one, name)}


def keys(**changes):
    return lambda config: {**config, **changes}


def without(*names):
    return lambda config: {key: value for key, value in config.items()
                           if key not in names}


def size(attention):
    return len(attention.q.weight) // attention.heads


def width(attention):
    return attention.q.weight.shape[1]


def tiled(attention):
    """Query head h with keys of group h modulo the number of groups."""
    times = attention.heads // attention.groups

    def repeated(one):
        return one if one is None else dataclasses.replace(
            one, weight=np.concatenate([one.weight] * times),
            bias=None if one.bias is None else np.concatenate([one.bias] * times))
    norm = attention.k_norm
    return dict(k=repeated(attention.k), v=repeated(attention.v), groups=attention.heads,
                k_norm=norm if attention.norm_per_head else repeated(norm))


def with_groups(groups_of, count):
    """Fused tensors of `count` parts, split with another number of groups."""
    right = rows.parts

    def parts(layer, counts, groups=1):
        if len(counts) != count:
            return right(layer, counts, groups)
        other = groups_of(layer)
        return right(layer, [max(each * groups // other, 1) for each in counts], other)
    return rows, "parts", parts


def windows(change):
    """change(windows of all layers) gives others."""
    def change_model(model):
        found = [a for a in objects(model, Attention) if not a.cross]
        for attention, window in zip(found, change([a.window for a in found])):
            attention.window = window
    return change_model


def largest(found):
    return [max(filter(None, found))] * len(found)


def exchanged(found):
    whole = largest(found)
    return [None if each else window for each, window in zip(found, whole)]


def steps(change):
    """change(steps of a block) changes them, or gives others."""
    def change_model(model):
        for stack in (model.stack, model.encoder):
            for n, block in enumerate(stack.blocks if stack else ()):
                stack.blocks[n] = change(block) or block
    return change_model


def after_not_before(block):
    for step in block:
        step.norm_after, step.branches[0].norm_in = step.branches[0].norm_in, None


def before_not_after(block):
    for step in block:
        step.branches[0].norm_in, step.norm_after = step.norm_after, None


def norms_exchanged(block):
    ends = block[0], block[-1]
    first, last = (step.branches[0] for step in ends)
    first.norm_in, last.norm_in = last.norm_in, first.norm_in
    ends[0].norm_after, ends[1].norm_after = ends[1].norm_after, ends[0].norm_after


def sequential(block):
    return [Step([branch]) for branch in block[0].branches]


def parallel(block):
    return [Step([step.branches[0] for step in block])]


def one_norm(block):
    block[0].branches[1].norm_in = block[0].branches[0].norm_in


def norm_in_first_layer(model):
    first, second = (block[0].branches[0] for block in model.stack.blocks[:2])
    first.norm_in = second.norm_in


def first_layer_alone(model):
    for stack in (model.stack, model.encoder):
        for block in stack.blocks[1:] if stack else ():
            for attention in objects(block, Attention):
                attention.bias = None


def cross_bias(model):
    bias = next(objects(model.stack.blocks, BucketBias))
    for attention in objects(model.stack.blocks, Attention):
        attention.bias = bias


def bias_scaled(model):
    for attention in objects(model, Attention):
        attention.bias = dataclasses.replace(
            attention.bias, table=attention.bias.table * attention.scale)


def rope_of_head(attention):
    if attention.rope:
        return dict(rope=dataclasses.replace(attention.rope, size=size(attention)))


def in_full_and_sliding(config):
    both = config["rope_parameters"]
    return {**config, "rope_parameters": {"full_attention": both["full_attention"],
                                          "sliding_attention": both["full_attention"]}}


def scaled_in_both(config):
    both = config["rope_parameters"]
    full, sliding = both["full_attention"], both["sliding_attention"]
    return {**config, "rope_parameters": {
        "full_attention": full,
        "sliding_attention": {**full, "rope_theta": sliding["rope_theta"]}}}


def unprepared(self, q, k):
    """Norms after the rotation."""
    q, k = self.rope.rotate(q), self.rope.rotate(k)
    return self.q_norm(q), self.k_norm(k)


def last_components(right):
    def rotate(self, x):
        return np.roll(right(self, np.roll(x, self.size, -1)), -self.size, -1)
    return rotate


def frequencies_of_longest(right):
    return lambda self, length: right(self, 23)


def conv_of_layer(right):
    class Seen:
        def __init__(self, x):
            self.embedded = x
    return lambda self, x, context: right(self, x, Seen(x))


def untransposed(self, q, k):
    """p2c with the positions of queries instead of those of keys."""
    turned = dataclasses.replace(self, key=None)
    direct = dataclasses.replace(self, query=None)
    scores = DISENTANGLED(turned, q, k).transpose(0, 2, 1)
    return scores + (DISENTANGLED(direct, q, k) if self.key else 0)


DISENTANGLED = Disentangled.__call__
OTHER_GELU = {"gelu": "gelu_new", "gelu_new": "gelu", "gelu_pytorch_tanh": "gelu"}
OTHER_EPS = {1e-6: 1e-5, 1e-5: 1e-6, 1e-12: 1e-5, 1e-7: 1e-5, 1e-3: 1e-5}
GELU = ("gpt2|gpt_neox|opt_without_final_norm|llama_biased|gemma[23]|falcon_7b|"
        "falcon_40b|falcon_biased|bert|bert_gelu_new|distilbert|roberta|xlm_roberta|"
        "camembert|mpnet|electra|albert|deberta_v3|modernbert|t5_v11|bart")
GATED_SILU = ("llama|mistral|qwen[23]|phi3|smollm3|olmo2|nomic_bert|t5_gated_silu")
PRE_NORM = "gpt2|gpt_neox_sequential|opt|llama|mistral|qwen[23]|phi3|smollm3|t5|gpt_oss"
POST_NORM = ("bert|distilbert|roberta|mpnet|electra|albert|deberta_v3|nomic_bert|bart|"
             "opt_post_norm")
GROUPED = ("llama_gqa|mistral|qwen[23]|phi3|gemma[23]|smollm3|olmo2|falcon_40b|gpt_oss")
ROPE = ("gpt_neox|llama|mistral|qwen[23]|phi3|gemma[23]|smollm3|olmo2|falcon_(7b|40b)|"
        "gpt_oss|modernbert|nomic_bert")
WINDOWS = ("mistral|qwen2_windows|qwen3_biased|phi3_window|gemma[23]|smollm3_layers|"
           "gpt_oss|modernbert")
SOME_WINDOWS = WINDOWS.replace("mistral|", "").replace("phi3_window|", "")
BIASED = ("gpt2|gpt_neox|opt|llama_biased|qwen3_biased|olmo2_biased|smollm3_layers|"
          "falcon_biased|gpt_oss|bert|distilbert|roberta|mpnet|electra|albert|deberta_v3|"
          "modernbert_biased|bart")
FACTORS = "llama_yarn.*|llama_longrope|qwen3_yarn|phi3_.*longrope.*|gpt_oss"
ENCODERS = POST_NORM.replace("|opt_post_norm", "") + "|modernbert|t5"
DECODERS = PRE_NORM + "|gpt_neox|gemma[23]|olmo2|falcon_(7b|40b|alibi)|opt_post_norm|bart"
ALL = f"{ENCODERS}|{DECODERS}|{ROPE}"

RULES = [
    # Feed-forward layers
    Rule("the other GELU", GELU, each(FeedForward, lambda f: dict(
        activation=OTHER_GELU[f.activation]))),
    Rule("GELU for SiLU", GATED_SILU, each(FeedForward, lambda f: dict(
        activation="gelu"))),
    Rule("GELU for ReLU", "opt|t5|bart_scaled", each(FeedForward, lambda f: dict(
        activation="gelu"))),
    Rule("gate and values exchanged", GATED_SILU + "|gemma[23]|modernbert|t5_v11",
         each(FeedForward, lambda f: dict(gate=f.up, up=f.gate))),
    Rule("halves as even and odd rows", "phi3|modernbert",
         patch=with_groups(lambda layer: len(layer.weight) // 2, 2)),
    Rule("even and odd columns as halves", "gpt_oss",
         patch=with_groups(lambda layer: 1, 2)),
    Rule("experts: weights of all experts", "gpt_oss", patch=(
        Experts, "shares", lambda self, scores, chosen: blocks.softmax(scores)[chosen])),
    Rule("experts: one fewer", "gpt_oss", each(Experts, lambda e: dict(best=e.best - 1))),
    Rule("experts: plain SiLU", "gpt_oss", each(Experts, lambda e: dict(alpha=1))),
    Rule("experts: no limit", "gpt_oss_plain", each(Experts, lambda e: dict(
        limit=np.inf))),
    Rule("experts: values without 1 added", "gpt_oss", each(Experts, lambda e: dict(
        shift=0))),
    Rule("experts: bias of the router ignored", "gpt_oss",
         each(Experts, unbiased("router"))),
    Rule("experts: biases ignored", "gpt_oss", each(Experts, lambda e: dict(experts=[
        [Linear(layer.weight) for layer in expert] for expert in e.experts]))),
    # Biases
    Rule("biases of queries, keys and values ignored", BIASED + "|qwen2",
         each(Attention, unbiased("q", "k", "v"))),
    Rule("bias of keys ignored", "bert", each(Attention, unbiased("k")), invisible=
         "without rotary positions it adds the same to all scores of a query"),
    Rule("bias of the attention's output ignored", BIASED,
         each(Attention, unbiased("o"))),
    Rule("biases of the feed-forward layer ignored",
         BIASED.replace("qwen3_biased|olmo2_biased|smollm3_layers|", "")
         .replace("gpt_oss|", ""), each(FeedForward, unbiased("gate", "up", "down"))),
    Rule("biases of norms ignored", "gpt2|gpt_neox|opt|falcon_7b|" + POST_NORM,
         each(Norm, lambda norm: dict(bias=None))),
    Rule("final_logits_bias ignored", "bart", lambda model: setattr(
        model.head.linear, "bias", None)),
    # Norms
    Rule("another eps", ALL.replace("|opt_post_norm", ""), each(Norm, lambda norm: dict(
        eps=OTHER_EPS[norm.eps]))),
    Rule("another eps", "opt_post_norm", each(Norm, lambda norm: dict(eps=1e-6)),
         invisible="what its norms read has a variance of about 1, which 1e-5 changes by "
         "half of that"),
    Rule("weight for 1 + weight", "gemma[23]", each(Norm, lambda norm: dict(
        weight=norm.weight - 1))),
    Rule("RMS norm for layer norm", "gpt2|gpt_neox|opt|falcon_7b|modernbert|" + POST_NORM,
         each(Norm, lambda norm: dict(centred=False))),
    Rule("layer norm for RMS norm", "llama|mistral|qwen[23]|phi3|gemma[23]|smollm3|olmo2|"
         "gpt_oss|t5", each(Norm, lambda norm: dict(centred=True))),
    Rule("weights of norms ignored", ALL, each(Norm, lambda norm: dict(weight=None))),
    Rule("final norm left out", PRE_NORM + "|gemma[23]|olmo2|falcon_7b|modernbert",
         lambda model: setattr(model.stack, "norm", None)),
    Rule("a final norm after the last post-norm", "opt_post_norm",
         lambda model: setattr(model.stack, "norm", Norm(True, 1e-5, None))),
    Rule("norm of embeddings left out", "bert|distilbert|roberta|mpnet|electra|albert|"
         "deberta_v3|modernbert|nomic_bert|bart",
         each(Embedding, lambda e: dict(norm=None))),
    Rule("norms after the sum instead of before", PRE_NORM, steps(after_not_before)),
    Rule("norms before instead of after the sum", POST_NORM, steps(before_not_after)),
    Rule("norms of the two halves exchanged", PRE_NORM + "|" + POST_NORM,
         steps(norms_exchanged)),
    Rule("norms of outputs left out", "gemma[23]|olmo2",
         each(Branch, lambda branch: dict(norm_out=None))),
    Rule("norms of inputs instead of outputs", "olmo2",
         each(Branch, lambda branch: dict(norm_in=branch.norm_out, norm_out=None))),
    Rule("one norm for two", "falcon_40b|gpt_neox", steps(one_norm)),
    Rule("a norm in the first layer, too", "modernbert", norm_in_first_layer),
    Rule("parallel as sequential", "gpt_neox|falcon_(7b|40b|11b)", steps(sequential)),
    Rule("sequential as parallel", "gpt_neox_sequential|falcon_(biased|alibi)|llama",
         steps(parallel)),
    # Queries, keys and values
    Rule("fused rows: parts of all heads", "gpt_neox|falcon_(40b|11b|biased|alibi)",
         patch=with_groups(lambda layer: 1, 3)),
    Rule("fused rows: heads of all parts", "gpt2|phi3_window|modernbert|nomic_bert",
         patch=with_groups(lambda layer: 6, 3)),
    Rule("keys and values exchanged", "gpt2|gpt_neox|phi3|falcon_(7b|40b)|modernbert|"
         "nomic_bert", each(Attention, lambda a: dict(k=a.v, v=a.k))),
    Rule("Conv1D of the output not transposed", "gpt2", each(Attention, lambda a: dict(
        o=Linear(a.o.weight.T, a.o.bias)))),
    Rule("groups in turn", GROUPED, each(Attention, tiled)),
    Rule("decoder with the encoder's heads", "bart_scaled",
         config=lambda config: {**config, "decoder_attention_heads":
                                config["encoder_attention_heads"]}),
    Rule("norms of queries and keys left out", "qwen3|gemma3|olmo2",
         each(Attention, lambda a: dict(q_norm=None))),
    Rule("norms of queries and keys after rotation", "qwen3|gemma3",
         patch=(Attention, "prepared", unprepared)),
    Rule("norm of all heads together", "qwen3|gemma3", each(Attention, lambda a: dict(
        norm_per_head=False, **{name: dataclasses.replace(norm, weight=np.tile(
            norm.weight, count)) for name, norm, count in (
                ("q_norm", a.q_norm, a.heads), ("k_norm", a.k_norm, a.groups))}))),
    Rule("norm of each head", "olmo2", each(Attention, lambda a: dict(
        norm_per_head=True, **{name: dataclasses.replace(norm, weight=norm.weight.reshape(
            count, 1, -1)) for name, norm, count in (
                ("q_norm", a.q_norm, a.heads), ("k_norm", a.k_norm, a.groups))}))),
    # Scores
    Rule("scores not scaled", ALL.replace("|t5", ""), each(Attention, lambda a: dict(
        scale=1))),
    Rule("scores scaled", "t5", each(Attention, lambda a: dict(scale=size(a) ** -0.5))),
    Rule("scale of the head size", "gemma[23]",
         each(Attention, lambda a: dict(scale=size(a) ** -0.5))),
    Rule("scale of hidden size / heads", "llama_gqa|mistral_whole|qwen3|gpt_oss",
         each(Attention, lambda a: dict(scale=(width(a) / a.heads) ** -0.5))),
    Rule("scale_attn_by_inverse_layer_idx ignored", "gpt2_inverse_layer",
         config=keys(scale_attn_by_inverse_layer_idx=False)),
    Rule("scale_attn_weights ignored", "gpt2_unscaled",
         config=keys(scale_attn_weights=True)),
    Rule("scores not capped", "gemma2|gemma2_caps", each(Attention, lambda a: dict(
        softcap=None))),
    Rule("scores capped before they are scaled", "gemma2|gemma2_caps",
         each(Attention, lambda a: dict(softcap=a.softcap * a.scale))),
    Rule("scores of Gemma 3 capped", "gemma3_pattern", each(Attention, lambda a: dict(
        softcap=2.0))),
    Rule("logits not capped", "gemma2|gemma2_caps|gemma3_pattern",
         lambda model: setattr(model.head, "softcap", None)),
    Rule("sinks left out", "gpt_oss", each(Attention, lambda a: dict(sinks=None))),
    Rule("sinks scaled", "gpt_oss", each(Attention, lambda a: dict(
        sinks=a.sinks * a.scale))),
    # Masks
    Rule("decoder not causal", DECODERS, lambda model: each(
        Attention, lambda a: dict(causal=False))(model.stack)),
    Rule("encoder causal", ENCODERS, lambda model: each(
        Attention, lambda a: dict(causal=True))(model.encoder or model)),
    Rule("cross-attention causal", "t5|bart", each(Attention, lambda a: dict(
        causal=a.causal or a.cross))),
    Rule("window one longer", WINDOWS, windows(lambda found: [
        each and each + 1 for each in found])),
    Rule("window one shorter", WINDOWS, windows(lambda found: [
        each and each - 1 for each in found])),
    Rule("no window", WINDOWS, windows(lambda found: [None] * len(found))),
    Rule("window in all layers", SOME_WINDOWS, windows(largest)),
    Rule("windows in the other layers", SOME_WINDOWS, windows(exchanged)),
    Rule("windows of earlier tokens alone", "modernbert", each(
        Attention, lambda a: dict(causal=a.window is not None))),
    Rule("layer_types ignored", "qwen2_layer_types|gemma3_pattern|modernbert_biased",
         config=without("layer_types")),
    Rule("no window where the key is missing", "mistral_default_groups",
         config=keys(sliding_window=None), variation="short",
         invisible="the default of 4096 is longer than a sequence of a test"),
    Rule("bidirectional window as long as the key says", "gemma3_bidirectional", windows(
        lambda found: [each and 10 for each in found])),
    Rule("use_bidirectional_attention ignored", "gemma3_bidirectional",
         config=without("use_bidirectional_attention")),
    # Rotary positions
    Rule("neighbours rotate", ROPE, each(Rope, lambda rope: dict(interleaved=True))),
    Rule("no rotation", ROPE, each(Attention, lambda a: dict(rope=None))),
    Rule("the whole head rotates", "gpt_neox|gpt_neox_sequential|gpt_neox_dynamic|"
         "phi3_window",
         each(Attention, rope_of_head)),
    Rule("the last components rotate", "gpt_neox|phi3_window",
         patch=(Rope, "rotate", last_components(Rope.rotate))),
    Rule("positions from 1", "llama", patch=(Rope, "rotate", lambda self, x: ROTATE(
        self, np.pad(x, [(0, 0), (1, 0), (0, 0)]))[:, 1:]),
        invisible="scores depend on distances alone"),
    Rule("theta of 10000", "llama_theta|smollm3|gpt_oss|gemma3|modernbert|nomic_bert|"
         "gpt_neox_sequential", each(Rope, lambda rope: dict(theta=10000))),
    Rule("rope_theta instead of rotary_emb_base", "gpt_neox", config=lambda config: {
        **config, "rotary_emb_base": config.get("rope_theta", 3)}, variation="old_rope"),
    Rule("rotary_pct ignored", "gpt_neox_sequential", config=without("rotary_pct"),
         variation="old_rope"),
    Rule("rotary_emb_base ignored", "gpt_neox_sequential",
         config=without("rotary_emb_base"), variation="old_rope"),
    Rule("rope_theta ignored", "llama_theta|gemma3_pattern", config=without("rope_theta"),
         variation="old_rope"),
    Rule("rope_scaling ignored", "llama_(linear|dynamic|llama3|yarn|longrope)|qwen3_yarn|"
         "phi3_longrope|gemma3_linear|gpt_neox_linear",
         config=without("rope_scaling"), variation="old_rope"),
    Rule("rope_local_base_freq ignored", "gemma3_pattern",
         config=without("rope_local_base_freq"), variation="old_rope"),
    Rule("global_rope_theta ignored", "modernbert_biased",
         config=without("global_rope_theta"), variation="old_rope"),
    Rule("local_rope_theta ignored", "modernbert_biased",
         config=without("local_rope_theta"), variation="old_rope"),
    Rule("partial_rotary_factor ignored", "phi3_window",
         config=without("partial_rotary_factor"), variation="old_rope"),
    Rule("type instead of rope_type", "llama_linear", config=lambda config: {
        **config, "rope_scaling": {"type": "dynamic", "factor": 2.5}},
        variation="both_types"),
    Rule("rope scaling ignored", "(llama|gpt_neox|gemma3)_(linear|dynamic|llama3|yarn.*|"
         "longrope)|qwen3_yarn|phi3_.*longrope.*|gpt_oss|olmo2_biased",
         each(Rope, lambda rope: dict(kind="default", attention_factor=1))),
    Rule("attention factor ignored", FACTORS, each(Rope, lambda rope: dict(
        attention_factor=1))),
    Rule("attention factor once", FACTORS, each(Rope, lambda rope: dict(
        attention_factor=rope.frequencies(23)[1] ** 0.5))),
    Rule("truncate ignored", "llama_yarn_keys|gpt_oss", each(Rope, lambda rope: dict(
        keys={**rope.keys, "truncate": True}))),
    Rule("beta_fast and beta_slow ignored", "llama_yarn_keys", each(
        Rope, lambda rope: dict(keys={"truncate": False}))),
    Rule("mscale ignored", "llama_yarn_mscale", each(Rope, lambda rope: dict(keys={}))),
    Rule("short factors for long sequences", "llama_longrope|phi3_(partial_)?longrope",
         each(Rope, lambda rope: dict(keys={**rope.keys, "long_factor":
                                            rope.keys["short_factor"]}))),
    Rule("long factors for short sequences", "(llama|phi3)_longrope|phi3_longrope_short",
         each(Rope, lambda rope: dict(keys={**rope.keys, "short_factor":
                                            rope.keys["long_factor"]}))),
    Rule("the longest of the sequences decides", "(llama|phi3)_longrope|llama_dynamic|"
         "gpt_neox_dynamic",
         patch=(Rope, "frequencies", frequencies_of_longest(Rope.frequencies))),
    Rule("theta of full layers in sliding layers", "gemma3|modernbert",
         config=in_full_and_sliding),
    Rule("scaling in sliding layers", "gemma3_linear", config=scaled_in_both),
    Rule("rotation in every layer", "smollm3|smollm3_layers", config=lambda config: {
        **config, "no_rope_layers": [1] * 5}),
    # Embeddings
    Rule("positions from row 0", "opt|bart|roberta|xlm_roberta|camembert|mpnet", each(
        Positions, lambda positions: dict(first=0))),
    Rule("padding ids counted", "roberta|roberta_pad|xlm_roberta|camembert|mpnet", each(
        Positions, lambda positions: dict(pad=None))),
    Rule("positions left out", "gpt2|opt|bert|distilbert|electra|albert|deberta_absolute|"
         "bart", each(Embedding, lambda e: dict(positions=None))),
    Rule("positions of the encoder in the decoder", "bart", lambda model: setattr(
        model.stack.embedding, "positions", model.encoder.embedding.positions)),
    Rule("token types left out", "bert|roberta|electra|albert|nomic_bert|deberta_v2_conv",
         each(Embedding, lambda e: dict(types=None))),
    Rule("embeddings not scaled", "gemma[23]|bart_scaled", each(
        Embedding, lambda e: dict(scale=1))),
    Rule("scale of embeddings rounded to bfloat16", "gemma[23]", each(
        Embedding, lambda e: dict(scale=float(to_bf16(e.scale))))),
    # Heads of the model
    Rule("the file's head ignored", "gpt2|llama_mqa|gemma2|t5|opt", lambda model: setattr(
        model.head.linear, "weight", model.stack.embedding.tokens),
        variation="own_head"),
    Rule("tied head", "llama|gpt2_untied|gpt_neox|t5_v11", lambda model: setattr(
        model.head.linear, "weight", model.stack.embedding.tokens)),
    Rule("head of T5 not scaled", "t5", lambda model: setattr(model.head, "scale", 1)),
    Rule("head of T5 1.1 scaled", "t5_v11", lambda model: setattr(
        model.head, "scale", 48 ** -0.5)),
    # Scores of distances
    Rule("relative positions left out", "t5|mpnet|falcon_alibi", each(
        Attention, lambda a: dict(bias=None))),
    Rule("relative positions in the first layer alone", "t5|mpnet", first_layer_alone),
    Rule("relative positions of cross-attention", "t5", cross_bias),
    Rule("relative positions scaled", "mpnet", bias_scaled),
    Rule("buckets of one side for two", "t5|mpnet", each(
        BucketBias, lambda bias: dict(both_sides=False))),
    Rule("buckets of two sides for one", "t5", each(
        BucketBias, lambda bias: dict(both_sides=True))),
    Rule("buckets of queries minus keys", "t5|mpnet", patch=(
        BucketBias, "bucket", lambda self, relative: BUCKET(self, -relative))),
    Rule("relative_attention_max_distance ignored", "t5", each(
        BucketBias, lambda bias: dict(distance=128))),
    Rule("buckets in float64", "t5_edges|deberta_projections",
         patch=(blocks, "BUCKET_TYPE", np.float64)),
    Rule("buckets in float64", "t5_default_buckets|mpnet", invisible=
         "32 buckets up to a distance of 128 have no edge that rounding moves",
         patch=(blocks, "BUCKET_TYPE", np.float64)),
    Rule("ALiBi not rounded to bfloat16", "falcon_alibi",
         patch=(blocks, "to_bf16", lambda x: x)),
    Rule("ALiBi not scaled", "falcon_alibi", each(Alibi, lambda bias: dict(scale=1))),
    Rule("ALiBi twice", "falcon_alibi", each(Alibi, lambda bias: dict(
        scale=2 * bias.scale))),
    Rule("ALiBi: slopes of a power of 2", "falcon_alibi", each(
        Alibi, lambda bias: dict(slopes=2.0 ** (-8 * np.arange(1, 13) / 12)))),
    # DeBERTa
    Rule("scale of one term", "deberta_(v3|c2p|p2c|absolute)", each(
        Attention, lambda a: dict(scale=size(a) ** -0.5))),
    Rule("c2p left out", "deberta_(v3|c2p|projections)", each(
        Disentangled, lambda d: dict(key=None))),
    Rule("p2c left out", "deberta_(v3|p2c|projections)", each(
        Disentangled, lambda d: dict(query=None))),
    Rule("p2c not transposed", "deberta_(v3|p2c)", patch=(
        Disentangled, "__call__", untransposed)),
    Rule("keys minus queries", "deberta_v3", patch=(
        Disentangled, "distance", lambda self, relative: DISTANCE(self, -relative))),
    Rule("position_buckets ignored", "deberta_(v3|projections)", each(
        Disentangled, lambda d: dict(buckets=0))),
    Rule("norm_rel_ebd ignored", "deberta_v3", config=keys(norm_rel_ebd="none")),
    Rule("share_att_key ignored in keys", "deberta_v3", each(
        Attention, lambda a: dict(relative=dataclasses.replace(
            a.relative, key=a.relative.query)))),
    Rule("convolution left out", "deberta_v2_conv.*", lambda model: model.stack.blocks[
        0].pop()),
    Rule("convolution of the first layer's output", "deberta_v2_conv", patch=(
        Convolution, "__call__", conv_of_layer(Convolution.__call__))),
    Rule("conv_act ignored", "deberta_v2_conv", each(Convolution, lambda conv: dict(
        activation="tanh"))),
    # Keys that are not in the file
    Rule("missing eps: 1e-6", "phi3|olmo2|gpt_oss", config=keys(rms_norm_eps=1e-6),
         variation="short"),
    Rule("missing eps: 1e-5", "llama|mistral|qwen[23]|gemma[23]|smollm3",
         config=keys(rms_norm_eps=1e-5), variation="short"),
    Rule("missing eps: 1e-12", "gpt2|gpt_neox|falcon_7b|deberta_v3|modernbert",
         config=keys(layer_norm_epsilon=1e-12, layer_norm_eps=1e-12, norm_eps=1e-12),
         variation="short"),
    Rule("missing eps: 1e-5", "bert|camembert|mpnet|electra|albert|nomic_bert|t5",
         config=keys(layer_norm_eps=1e-5, layer_norm_epsilon=1e-5), variation="short"),
    Rule("missing theta: 10000", "smollm3|nomic_bert|gemma3|modernbert", config=keys(
        rope_theta=1e4, global_rope_theta=1e4), variation="short"),
    Rule("missing rope of gpt-oss: plain", "gpt_oss", config=keys(
        rope_scaling=dict(rope_type="default")), variation="short"),
    Rule("missing softcaps: none", "gemma2", config=keys(
        attn_logit_softcapping=None, final_logit_softcapping=None), variation="short"),
    Rule("missing activation: GELU", "gpt2|albert", config=keys(
        activation_function="gelu", hidden_act="gelu"), variation="short"),
    Rule("missing use_parallel_residual: false", "gpt_neox", config=keys(
        use_parallel_residual=False), variation="short"),
    Rule("missing rotary_pct: 1", "gpt_neox", config=keys(rotary_pct=1),
         variation="short"),
    Rule("missing pad_token_id: 0", "roberta|xlm_roberta|camembert|mpnet", config=keys(
        pad_token_id=0), variation="short"),
    Rule("sliding_window_pattern ignored", "gemma3_every_third", config=without(
        "sliding_window_pattern"), variation="short"),
    Rule("no_rope_layer_interval ignored", "smollm3_every_third", config=without(
        "no_rope_layer_interval"), variation="short"),
    Rule("global_attn_every_n_layers ignored", "modernbert_every_second", config=without(
        "global_attn_every_n_layers"), variation="short"),
    Rule("windows of layers with rotation", "smollm3_layers", config=keys(
        layer_types=["full_attention", "sliding_attention", "sliding_attention"]),
        variation="short"),
    # ALBERT
    Rule("one group", "albert_groups", config=lambda config: {
        **config, "num_hidden_groups": 1}),
    Rule("groups of layers in turn", "albert_groups", patch=(
        families, "albert_group", lambda layer, layers, groups: layer % groups)),
]
ROTATE = Rope.rotate
BUCKET = BucketBias.bucket
DISTANCE = Disentangled.distance
