"""A transformer as data, and what it computes, in float64.

A block is a list of steps. A step adds the outputs of its branches to the residual
stream x: x = norm_after(x + sum of norm_out(f(norm_in(x)))). One branch per step is a
sequential block, two are a parallel one; f is attention, a feed-forward layer, experts
or a convolution."""
import dataclasses
import math
import typing

import numpy as np

from rope import Rope


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


ACTIVATIONS = {
    "gelu": gelu, "gelu_python": gelu, "gelu_new": gelu_tanh,
    "gelu_pytorch_tanh": gelu_tanh, "gelu_python_tanh": gelu_tanh,
    "relu": lambda x: np.maximum(x, 0), "relu2": lambda x: np.maximum(x, 0) ** 2,
    "silu": lambda x: x * sigmoid(x), "swish": lambda x: x * sigmoid(x),
    "quick_gelu": lambda x: x * sigmoid(1.702 * x), "tanh": np.tanh,
}


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def capped(x, cap):
    return x if cap is None else cap * np.tanh(x / cap)


@dataclasses.dataclass
class Linear:
    weight: np.ndarray  # (out, in)
    bias: np.ndarray | None = None

    def __call__(self, x):
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


@dataclasses.dataclass
class Norm:
    centred: bool  # layer norm; otherwise RMS norm
    eps: float
    weight: np.ndarray | None
    bias: np.ndarray | None = None

    def __call__(self, x):
        if self.centred:
            x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps)
        if self.weight is not None:
            x = x * self.weight
        return x if self.bias is None else x + self.bias


# Models were trained with logarithms in float32: float64 moves the edges of buckets.
BUCKET_TYPE = np.float32


@dataclasses.dataclass
class BucketBias:
    """Scores of T5 and MPNet: a number per head and bucket of the distance."""
    table: np.ndarray  # (buckets, heads)
    distance: int
    both_sides: bool

    def bucket(self, relative):
        count = len(self.table) // (2 if self.both_sides else 1)
        after = count * (relative > 0) if self.both_sides else 0
        away = np.abs(relative) if self.both_sides else np.maximum(-relative, 0)
        exact = count // 2
        real = BUCKET_TYPE
        far = (np.log(np.maximum(away, 1).astype(real) / real(exact)) /
               real(math.log(self.distance / exact)))
        far = exact + (far * real(count - exact)).astype(int)
        return after + np.where(away < exact, away, np.minimum(far, count - 1))

    def __call__(self, queries, keys):
        relative = np.arange(keys) - np.arange(queries)[:, None]
        return self.table[self.bucket(relative)].transpose(2, 0, 1)


def to_bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).view(np.float32)


@dataclasses.dataclass
class Alibi:
    """Falcon's, whose numbers are rounded to bfloat16."""
    slopes: np.ndarray
    scale: float

    @classmethod
    def of(cls, heads, scale):
        whole = 2 ** math.floor(math.log2(heads))
        powers = list(range(1, whole + 1))
        slopes = [2 ** (-8 * power / whole) for power in powers]
        slopes += [2 ** (-4 * power / whole) for power in range(1, 2 * whole, 2)]
        return cls(np.array(slopes[:heads]), scale)

    def __call__(self, queries, keys):
        products = to_bf16(to_bf16(self.slopes)[:, None] * to_bf16(np.arange(keys)))
        return self.scale * products[:, None].astype(np.float64)


@dataclasses.dataclass
class Disentangled:
    """DeBERTa's scores of contents with distances."""
    table: np.ndarray  # (2 * span, E)
    key: Linear | None  # of distances, that queries are multiplied by
    query: Linear | None
    buckets: int  # 0: none
    longest: int

    def distance(self, relative):
        if not self.buckets:
            return relative
        middle = self.buckets // 2
        real = BUCKET_TYPE
        far = (np.log((np.maximum(np.abs(relative), 1) / middle).astype(real)) /
               np.log(real((self.longest - 1) / middle)))
        far = np.ceil(far * real(middle - 1)).astype(int) + middle
        return np.where(np.abs(relative) <= middle, relative, np.sign(relative) * far)

    def __call__(self, q, k):
        heads, length, _ = q.shape
        places = np.arange(length)
        span = len(self.table) // 2
        index = np.clip(self.distance(places[:, None] - places) + span, 0, 2 * span - 1)
        scores = 0
        if self.key:
            of_query = q @ split(self.key(self.table), heads).transpose(0, 2, 1)
            scores = scores + np.take_along_axis(of_query, index[None], 2)
        if self.query:
            of_key = split(self.query(self.table), heads) @ k.transpose(0, 2, 1)
            scores = scores + np.take_along_axis(of_key, index[None], 1)
        return scores


def split(x, heads):
    """(length, heads * d) to (heads, length, d)"""
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


@dataclasses.dataclass
class Attention:
    q: Linear
    k: Linear
    v: Linear
    o: Linear
    heads: int
    groups: int  # heads of keys and values
    scale: float
    causal: bool = False
    window: int | None = None  # keys this far or farther are hidden
    q_norm: Norm | None = None
    k_norm: Norm | None = None
    norm_per_head: bool = True
    rope: Rope | None = None
    softcap: float | None = None
    sinks: np.ndarray | None = None
    bias: typing.Callable | None = None
    relative: Disentangled | None = None
    cross: bool = False

    def __call__(self, x, context):
        source = context.encoded if self.cross else x
        q, k = self.q(x), self.k(source)
        if self.q_norm and not self.norm_per_head:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = split(q, self.heads), split(k, self.groups), split(self.v(source),
                                                                    self.groups)
        q, k = self.prepared(q, k)
        k, v = (np.repeat(each, self.heads // self.groups, 0) for each in (k, v))
        scores = q @ k.transpose(0, 2, 1)
        if self.relative:
            scores = scores + self.relative(q, k)
        scores = capped(scores * self.scale, self.softcap)
        if self.bias:
            scores = scores + self.bias(len(x), len(source))
        scores = np.where(self.visible(len(x), len(source)), scores, -np.inf)
        if self.sinks is not None:
            column = np.broadcast_to(self.sinks[:, None, None], (*scores.shape[:2], 1))
            scores = np.concatenate([scores, column], 2)
        weights = softmax(scores)[..., :len(source)]
        context.saw(self, weights)
        return self.o((weights @ v).transpose(1, 0, 2).reshape(len(x), -1))

    def prepared(self, q, k):
        if self.q_norm and self.norm_per_head:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rope:
            q, k = self.rope.rotate(q), self.rope.rotate(k)
        return q, k

    def visible(self, queries, keys):
        before = np.arange(queries)[:, None] - np.arange(keys)
        seen = np.ones_like(before, bool)
        if self.causal:
            seen &= before >= 0
        if self.window is not None:
            seen &= np.abs(before) < self.window
        return seen


@dataclasses.dataclass
class FeedForward:
    activation: str
    up: Linear
    down: Linear
    gate: Linear | None = None

    def __call__(self, x, context):
        act = ACTIVATIONS[self.activation]
        return self.down(act(self.gate(x)) * self.up(x) if self.gate else
                         act(self.up(x)))


@dataclasses.dataclass
class Experts:
    """gpt-oss: the best experts of each row, with its own gated activation."""
    router: Linear
    experts: list  # (gate, up, down)
    best: int
    alpha: float = 1.702
    limit: float = 7.0
    shift: float = 1.0  # added to what the gate is multiplied by

    def __call__(self, x, context):
        scores = self.router(x)
        out = np.zeros_like(x)
        for row, each in enumerate(x):
            chosen = np.argsort(-scores[row], kind="stable")[:self.best]
            for share, expert in zip(self.shares(scores[row], chosen), chosen):
                gate, up, down = self.experts[expert]
                opened = np.minimum(gate(each), self.limit)
                value = np.clip(up(each), -self.limit, self.limit) + self.shift
                out[row] += share * down(value * opened * sigmoid(self.alpha * opened))
        return out

    def shares(self, scores, chosen):
        return softmax(scores[chosen])


@dataclasses.dataclass
class Convolution:
    """DeBERTa's, of the embeddings."""
    weight: np.ndarray  # (out, in / groups, width)
    bias: np.ndarray
    activation: str

    def __call__(self, x, context):
        x = context.embedded
        size, part, width = self.weight.shape
        groups = x.shape[1] // part
        padded = np.pad(x, [((width - 1) // 2,) * 2, (0, 0)])
        out = np.zeros_like(x)
        for at in range(width):
            moved = padded[at:at + len(x)].reshape(len(x), groups, part)
            weight = self.weight[..., at].reshape(groups, size // groups, part)
            out += np.einsum("lgi,goi->lgo", moved, weight).reshape(len(x), size)
        return ACTIVATIONS[self.activation](out + self.bias)


@dataclasses.dataclass
class Branch:
    f: typing.Callable
    norm_in: Norm | None = None
    norm_out: Norm | None = None

    def __call__(self, x, context):
        y = self.f(self.norm_in(x) if self.norm_in else x, context)
        return self.norm_out(y) if self.norm_out else y


@dataclasses.dataclass
class Step:
    branches: list
    norm_after: Norm | None = None

    def __call__(self, x, context):
        x = x + sum(branch(x, context) for branch in self.branches)
        return self.norm_after(x) if self.norm_after else x


@dataclasses.dataclass
class Positions:
    table: np.ndarray
    first: int = 0  # row of the first token
    pad: int | None = None  # this token has the row of its id and is not counted

    def __call__(self, ids):
        if self.pad is None:
            return self.table[self.first:self.first + len(ids)]
        counted = ids != self.pad
        return self.table[np.where(counted, self.first + np.cumsum(counted) - 1,
                                   self.pad)]


@dataclasses.dataclass
class Embedding:
    tokens: np.ndarray
    scale: float = 1
    project_first: Linear | None = None  # before positions are added
    positions: Positions | None = None
    types: np.ndarray | None = None  # that of type 0 is added
    project_second: Linear | None = None  # before the norm
    norm: Norm | None = None
    project: Linear | None = None  # after the norm

    def __call__(self, ids):
        x = self.tokens[ids] * self.scale
        if self.project_first:
            x = self.project_first(x)
        if self.positions:
            x = x + self.positions(ids)
        if self.types is not None:
            x = x + self.types[0]
        for f in (self.project_second, self.norm, self.project):
            x = f(x) if f else x
        return x


@dataclasses.dataclass
class Head:
    linear: Linear
    scale: float = 1
    project: Linear | None = None
    softcap: float | None = None

    def __call__(self, x):
        x = self.project(x) if self.project else x
        return capped(self.linear(x * self.scale), self.softcap)


class Context:
    """What blocks of one sequence share, and the attention weights they computed."""

    def __init__(self, embedded, encoded):
        self.embedded, self.encoded = embedded, encoded
        self.attn_weights, self.cross_weights = [], []

    def saw(self, attention, weights):
        (self.cross_weights if attention.cross else self.attn_weights).append(weights)


@dataclasses.dataclass
class Stack:
    embedding: Embedding
    blocks: list  # of lists of steps
    norm: Norm | None = None

    def __call__(self, ids, encoded=None):
        """Hidden states after the embedding and each block, the last after the norm;
        and the context."""
        x = self.embedding(ids)
        context = Context(x, encoded)
        hidden = [x]
        for block in self.blocks:
            for step in block:
                x = step(x, context)
            hidden.append(x)
        if self.norm:
            hidden[-1] = self.norm(x)
        return np.stack(hidden), context


@dataclasses.dataclass
class Model:
    stack: Stack  # of an encoder-decoder: the decoder
    head: Head | None = None
    encoder: Stack | None = None
