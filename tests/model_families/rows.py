"""Turns the row of a family, sizes and names of tensors, into a transformer of blocks.py.
"""
import dataclasses
import typing

import numpy as np

from blocks import (Attention, Branch, Convolution, Embedding, Experts, FeedForward,
                    Head, Linear, Model, Norm, Positions, Stack, Step)


@dataclasses.dataclass
class Norms:
    """Names of those before a branch, on its output, and after the sum."""
    before: str | None = None
    output: str | None = None
    after: str | None = None


@dataclasses.dataclass
class Fused:
    """One tensor for several. Its rows are (groups, sum of counts, size)."""
    name: str
    counts: tuple
    groups: int = 1


@dataclasses.dataclass
class Row:
    """A family with one config.json: what is the same in all its layers is a value, the
    rest a function of the layer. Tensors that the file does not have are left out:
    biases, norms, projections."""
    layers: int
    heads: int
    size: int  # of a head
    activation: str
    eps: float
    groups: int | None = None  # None: as many as heads
    norm: str = "layer"  # "rms", "rms + 1": (1 + weight)
    causal: bool = True
    transposed: bool = False  # (in, out)
    # Places, below one of these prefixes
    prefixes: tuple = ("model.",)
    place: typing.Callable = "layers.{}".format
    # Embedding
    tokens: str = "embed_tokens"
    scale_of_tokens: float = 1
    positions: str | None = None
    first_position: int = 0
    uncounted: int | None = None  # the padding id
    types: str | None = None
    norm_of_embeddings: str | None = None
    projections: tuple = (None, None, None)  # before positions, the norm, the blocks
    # Attention
    qkv: tuple | Fused = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
    o: str = "self_attn.o_proj"
    qk_norms: tuple | None = None
    qk_norm_per_head: bool = True
    sinks: str = "self_attn.sinks"
    scale: typing.Callable | float | None = None  # None: size ** -0.5
    softcap: float | None = None
    window: typing.Callable = lambda layer: None
    rope: typing.Callable = lambda layer: None
    bias: typing.Any = None  # of the scores: (tensors) -> function of the lengths
    relative: typing.Any = None  # DeBERTa's: (tensors, attention) -> Disentangled
    cross: "tuple | None" = None  # names of q, k, v, o of attention to the encoder
    # Feed-forward
    up: str = "mlp.up_proj"
    down: str = "mlp.down_proj"
    gate: str | None = "mlp.gate_proj"
    gate_and_up: Fused | None = None
    experts: dict | None = None
    # Norms
    attention_norms: Norms = dataclasses.field(
        default_factory=lambda: Norms("input_layernorm"))
    cross_norms: Norms | None = None
    feed_forward_norms: Norms = dataclasses.field(
        default_factory=lambda: Norms("post_attention_layernorm"))
    plain_norms: bool = False  # norms without parameters, where they have no tensors
    parallel: bool = False
    last_norm: str | None = "norm"
    convolution: str | None = None  # after the first block
    convolution_activation: str = "tanh"
    # Head of the model
    head: str | None = "lm_head"
    tied: bool = False
    scale_of_head: float = 1
    projection_of_head: str | None = None
    logits_softcap: float | None = None
    bias_of_head: str | None = None


def linear(t, name, transposed=False):
    """None if the file has no such layer."""
    weight = t.get(f"{name}.weight")
    return None if weight is None else Linear(weight.T if transposed else weight,
                                              t.get(f"{name}.bias"))


def parts(layer, counts, groups=1):
    """The layers that are fused in one."""
    ends = np.cumsum(counts)

    def part(values, end, count):
        rows = values.reshape(groups, ends[-1], -1, *values.shape[1:])
        return rows[:, end - count:end].reshape(-1, *values.shape[1:])
    return [Linear(*(None if values is None else part(values, end, count)
                     for values in (layer.weight, layer.bias)))
            for end, count in zip(ends, counts)]


def norm(row, t, name):
    """Old files call its parameters gamma and beta."""
    if not name:
        return None
    weight, bias = t.get(f"{name}.weight"), t.get(f"{name}.bias")
    if weight is None:
        weight, bias = t.get(f"{name}.gamma"), t.get(f"{name}.beta")
    if weight is None and not row.plain_norms:
        return None
    return Norm(row.norm == "layer", row.eps,
                weight + 1 if row.norm == "rms + 1" else weight, bias)


def attention_of(row, t, layer, bias):
    if isinstance(row.qkv, Fused):
        q, k, v = parts(linear(t, row.qkv.name, row.transposed), row.qkv.counts,
                        row.qkv.groups)
    else:
        q, k, v = (linear(t, name) for name in row.qkv)
    scale = row.scale(layer) if callable(row.scale) else row.scale
    attention = Attention(
        q, k, v, linear(t, row.o, row.transposed), row.heads, row.groups or row.heads,
        row.size ** -0.5 if scale is None else scale, row.causal, row.window(layer),
        rope=row.rope(layer), norm_per_head=row.qk_norm_per_head, softcap=row.softcap,
        sinks=t.get(row.sinks), bias=bias)
    if row.qk_norms:
        attention.q_norm, attention.k_norm = (norm(row, t, name)
                                              for name in row.qk_norms)
    return attention


def feed_forward_of(row, t):
    if row.experts:
        return experts_of(row, t)
    gate, up = (parts(linear(t, row.gate_and_up.name), row.gate_and_up.counts)
                if row.gate_and_up else
                (linear(t, row.gate), linear(t, row.up, row.transposed)))
    return FeedForward(row.activation, up, linear(t, row.down, row.transposed), gate)


def experts_of(row, t):
    """Rows of gates and values take turns."""
    gates, downs = ([Linear(weight.T, bias) for weight, bias in zip(
        t[f"mlp.experts.{name}"], t[f"mlp.experts.{name}_bias"])]
        for name in ("gate_up_proj", "down_proj"))
    experts = [(*parts(gate, (1, 1), len(gate.weight) // 2), down)
               for gate, down in zip(gates, downs)]
    return Experts(linear(t, "mlp.router"), experts, **row.experts)


def block_of(row, base, layer, bias):
    t = base.at(row.place(layer))
    attention = attention_of(row, t, layer, bias)
    if row.relative:
        attention.relative = row.relative(base, t, attention)
    fs = [(attention, row.attention_norms)]
    if row.cross:
        fs.append((Attention(*(linear(t, name) for name in row.cross), row.heads,
                             row.heads, attention.scale, cross=True), row.cross_norms))
    fs.append((feed_forward_of(row, t), row.feed_forward_norms))
    branches = [Branch(f, norm(row, t, norms.before), norm(row, t, norms.output))
                for f, norms in fs]
    if row.parallel:
        return [Step(branches)]
    return [Step([branch], norm(row, t, norms.after))
            for branch, (_, norms) in zip(branches, fs)]


def stack_of(row, tensors):
    t = tensors.below(*row.prefixes)
    table = row.positions and t.get(f"{row.positions}.weight")
    first, second, third = (linear(t, name) for name in row.projections)
    embedding = Embedding(
        t[f"{row.tokens}.weight"], row.scale_of_tokens, first,
        None if table is None else Positions(table, row.first_position, row.uncounted),
        t.get(f"{row.types}.weight"), second, norm(row, t, row.norm_of_embeddings),
        third)
    bias = row.bias and row.bias(t)
    blocks = [block_of(row, t, layer, bias) for layer in range(row.layers)]
    if row.convolution and t.get(f"{row.convolution}.conv.weight") is not None:
        at = t.at(row.convolution)
        conv = Convolution(at["conv.weight"], at["conv.bias"], row.convolution_activation)
        blocks[0].append(Step([Branch(conv)], norm(row, at, "LayerNorm")))
    return Stack(embedding, blocks, norm(row, t, row.last_norm))


def head_of(row, tensors, tokens):
    """The file's own head, whatever `tied` says."""
    weight = tensors.get(f"{row.head}.weight")
    if weight is None:
        weight = tokens if row.tied else None
    if weight is None:
        return None
    bias = tensors.get(row.bias_of_head or "")
    return Head(Linear(weight, None if bias is None else bias.reshape(-1)),
                row.scale_of_head,
                linear(tensors.below(*row.prefixes), row.projection_of_head),
                row.logits_softcap)


def model_of(row, tensors, encoder=None):
    stack = stack_of(row, tensors)
    head = head_of(row, tensors, stack.embedding.tokens) if row.head else None
    return Model(stack, head, encoder and stack_of(encoder, tensors))
