"""Draws calls of attention: sizes, element types, layouts and options.

An option is kept as a function of the chosen sequences, so that the same call can be
made of one sequence alone, and next to it what it means in float64.
"""

import dataclasses
import functools
import os
import typing
from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np

import headwise

SEED = int(os.environ.get("HEADWISE_RANDOM_SEED", "1"))
DTYPES = [np.float32, np.float16, ml_dtypes.bfloat16]
AXES = ("B", "H", "Lq", "Lkv")


def draws(variable: str, default: int) -> Iterator[tuple[str, np.random.Generator]]:
    """A name, for messages, and a generator for each of the calls."""
    for number in range(int(os.environ.get(variable, default))):
        yield (f"HEADWISE_RANDOM_SEED={SEED}, call {number}",
               np.random.default_rng([SEED, number]))


def one_of(random, *choices):
    return choices[random.integers(len(choices))]


def maybe(random, share=0.3):
    return random.random() < share


def length(random, most=300):
    """Often short, and around the blocks of 16, 48 and 128 that kernels have."""
    return int(min(most, one_of(random, random.integers(0, 6), random.integers(1, 60),
                                random.integers(40, 150), random.integers(120, most + 1))))


def normal(random, *shape, scale=1.0):
    return (scale * random.standard_normal(shape)).astype(np.float32)


def laid_out(random, array):
    """The same elements at other strides: permuted, reversed, with gaps."""
    order = random.permutation(array.ndim)
    steps = [one_of(random, 1, 1, 2, -1, -2) for _ in order]
    shape = [abs(steps[n]) * array.shape[axis] for n, axis in enumerate(order)]
    memory = np.zeros(shape, array.dtype)
    view = memory[tuple(slice(None, None, step) for step in steps)]
    view = view.transpose(np.argsort(order))
    view[...] = array
    return view


def combined(mask, other):
    """mask & other. NumPy's & would be asked first."""
    return (headwise.dense(mask) if isinstance(mask, np.ndarray) else mask) & other


@dataclasses.dataclass
class Mask:
    make: Callable[[slice], typing.Any]
    allowed: np.ndarray  # broadcasts to (B, Hq, Lq, Lkv)


class RandomCall:
    """A call with every option of AttentionOptions but t5_bias, and with most of
    OperationOptions. `start` (B) are the positions of query 0."""

    def __init__(self, random, most_work=2_000_000):
        self.random = random
        self.B = int(random.integers(1, 4))
        self.Hkv = int(random.integers(1, 4))
        self.groups = [int(random.integers(1, 4)) for _ in range(self.Hkv)]
        if maybe(random, 0.7):
            self.groups = [self.groups[0]] * self.Hkv
        self.Hq = sum(self.groups)
        self.D, self.Dv = (int(size) for size in random.integers(1, 41, 2))
        self.Lq, self.Lkv = length(random, 160), length(random)
        while self.B * self.Hq * self.Lq * self.Lkv * self.D > most_work:
            self.Lq, self.Lkv = length(random, 160), length(random)
        self.dtype = one_of(random, *DTYPES)
        self.query = normal(random, self.B, self.Lq, self.Hq, self.D).astype(self.dtype)
        self.key = normal(random, self.B, self.Lkv, self.Hkv, self.D).astype(self.dtype)
        self.value = normal(random, self.B, self.Lkv, self.Hkv, self.Dv).astype(self.dtype)
        self.fixed = {}         # options that are the same for every sequence
        self.per_sequence = {}  # functions of a slice of the sequences
        self.masks = []
        self.draw_start()
        self.draw_scores()
        self.draw_biases()
        for _ in range(random.integers(0, 3)):
            self.masks.append(self.draw_mask())
        self.draw_the_rest()

    # ---- Where queries are ----

    def draw_start(self):
        kind = one_of(self.random, "none", "none", "number", "each", "bottom_right")
        low, high = -5, self.Lkv + 5
        if kind == "number":
            self.fixed["query_start"] = int(self.random.integers(low, high))
        if kind == "bottom_right":
            self.fixed["query_start"] = kind
        self.start = np.full(self.B, {"number": self.fixed.get("query_start", 0),
                                      "bottom_right": self.Lkv - self.Lq}.get(kind, 0))
        if kind == "each":
            self.start = self.random.integers(low, high, self.B)
            self.per_sequence["query_start"] = lambda chosen: self.start[chosen]

    def offsets(self):
        """j - i - start, (B, 1, Lq, Lkv)."""
        position = self.start[:, None] + np.arange(self.Lq)
        return (np.arange(self.Lkv) - position[..., None])[:, None]

    # ---- Scores ----

    def draw_scores(self):
        random = self.random
        self.score_weight = None
        if maybe(random, 0.15) and self.B * self.Hq * self.Lq * self.Lkv * self.D < 300_000:
            self.score_weight = normal(random, self.Hq, self.D)
            self.fixed["score_weight"] = self.score_weight
        elif maybe(random):
            self.fixed["scale"] = float(random.uniform(0.02, 1))
        if maybe(random):
            self.fixed["softcap"] = float(random.uniform(0.5, 30))
        if self.groups != [self.groups[0]] * self.Hkv or maybe(random, 0.1):
            self.fixed["kv_groups"] = self.groups
        self.bias_k = self.bias_v = None
        added = {}
        if maybe(random, 0.15):
            self.bias_k = normal(random, self.Hkv, self.D)
            self.bias_v = normal(random, self.Hkv, self.Dv)
            added |= {"bias_k": self.bias_k, "bias_v": self.bias_v}
        if maybe(random, 0.1):
            added["zero_attn"] = True
        self.zero_attn = "zero_attn" in added
        if added:
            self.fixed["added_keys"] = added

    @property
    def added(self):
        return (self.bias_k is not None) + self.zero_attn

    # ---- Biases and masks ----

    def named(self, make):
        """make(shape) with some of the axes, in any order; a function of the sequences
        that returns (array, axes); and the array with the axes B, H, Lq, Lkv."""
        sizes = dict(zip(AXES, (self.B, self.Hq, self.Lq, self.Lkv)))
        axes = [axis for axis in AXES if maybe(self.random, 0.6)] or ["Lkv"]
        if maybe(self.random):
            self.random.shuffle(axes)
        array = make(tuple(sizes[axis] for axis in axes))

        def of(chosen):
            cut = tuple(chosen if axis == "B" else slice(None) for axis in axes)
            return laid_out(self.random, array[cut]), axes

        ordered = array.transpose([axes.index(axis) for axis in AXES if axis in axes])
        return of, ordered.reshape([sizes[axis] if axis in axes else 1 for axis in AXES])

    def draw_biases(self):
        random = self.random
        self.bias = self.alibi = self.sinks = None
        if maybe(random):
            def make(shape):
                bias = normal(random, *shape, scale=2)
                if maybe(random):
                    bias[random.random(shape) < 0.1] = -np.inf
                return bias

            of, self.bias = self.named(make)
            self.bias_axes = of(slice(None))[1]
            self.per_sequence["bias"] = lambda chosen: headwise.dense(*of(chosen))
        if maybe(random, 0.2):
            self.alibi = random.uniform(0, 0.5, self.Hq).astype(np.float32)
            self.fixed["alibi"] = self.alibi
        if maybe(random, 0.2):
            self.sinks = normal(random, self.Hq, scale=2)
            if maybe(random):
                self.sinks[0] = -np.inf
            self.fixed["sinks"] = self.sinks

    def draw_mask(self):
        name = one_of(self.random, "causal", "window", "key_lengths", "key_starts",
                      "key_padding", "documents", "dense", "array")
        return getattr(self, "draw_" + name)()

    def draw_causal(self):
        return Mask(lambda chosen: headwise.causal(), self.offsets() <= 0)

    def draw_window(self):
        left, right = (one_of(self.random, None, int(self.random.integers(0, 40)))
                       for _ in range(2))
        keep_first = int(one_of(self.random, 0, self.random.integers(0, 9)))
        offset, j = self.offsets(), np.arange(self.Lkv)
        allowed = np.ones_like(offset, bool)
        if left is not None:
            allowed &= (offset >= -left) | (j < keep_first)
        if right is not None:
            allowed &= offset <= right
        return Mask(lambda chosen: headwise.window(left, right, keep_first), allowed)

    def draw_key_lengths(self):
        shape = one_of(self.random, (self.B,), (self.B, self.Lq))
        lengths = self.random.integers(0, self.Lkv + 1, shape)
        given = lengths.astype(one_of(self.random, np.int64, np.int32, np.uint16))
        allowed = np.arange(self.Lkv) < lengths.reshape(self.B, 1, -1, 1)
        return Mask(lambda chosen: headwise.key_lengths(given[chosen]), allowed)

    def draw_key_starts(self):
        starts = self.random.integers(0, self.Lkv + 1, self.B)
        return Mask(lambda chosen: headwise.key_starts(starts[chosen]),
                    np.arange(self.Lkv) >= starts[:, None, None, None])

    def draw_key_padding(self):
        kept = self.random.random((self.B, self.Lkv)) < 0.8
        return Mask(lambda chosen: headwise.key_padding(laid_out(self.random, kept[chosen])),
                    kept[:, None, None])

    def draw_documents(self):
        queries, keys = (np.sort(self.random.integers(0, 4, (self.B, length)), 1)
                         for length in (self.Lq, self.Lkv))
        return Mask(lambda chosen: headwise.documents(queries[chosen], keys[chosen]),
                    queries[:, None, :, None] == keys[:, None, None])

    def draw_dense(self):
        of, allowed = self.named(lambda shape: self.random.random(shape) < 0.8)
        return Mask(lambda chosen: headwise.dense(*of(chosen)), allowed)

    def draw_array(self):
        B, H = (one_of(self.random, 1, size) for size in (self.B, self.Hq))
        allowed = self.random.random((B, H, self.Lq, self.Lkv)) < 0.8
        given = allowed.astype(one_of(self.random, bool, np.int8))
        return Mask(lambda chosen: laid_out(
            self.random, given[chosen] if B == self.B else given), allowed)

    def allowed(self):
        every = np.ones((self.B, self.Hq, self.Lq, self.Lkv), bool)
        for mask in self.masks:
            every = every & mask.allowed
        return every if self.bias is None else every & (self.bias != -np.inf)

    # ---- Weights and outputs ----

    def draw_the_rest(self):
        random = self.random
        self.empty_rows = one_of(random, "zero", "zero", "uniform", "nan")
        self.fixed["empty_rows"] = self.empty_rows
        self.keep, self.p = None, 0.0
        if maybe(random, 0.15) and not self.added:
            self.p = float(random.uniform(0, 0.9))
            self.keep = random.random((self.B, self.Hq, self.Lq, self.Lkv)) >= self.p
            self.per_sequence["dropout"] = lambda chosen: {
                "p": self.p, "training": True, "keep_mask": self.keep[chosen]}
        self.attn_weights = one_of(random, None, "per_head", "mean", "after_dropout")
        self.outputs = {"attn_weights": self.attn_weights,
                        "scores": one_of(random, None, None, "raw", "softcap", "bias", "softmax"),
                        "lse": maybe(random), "softmax_rows": maybe(random)}
        if self.attn_weights != "mean" and maybe(random):
            self.outputs["statistics"] = {"rows": True, "columns": True, "top_keys": 2}

    def options(self, chosen=slice(None)):
        made = {name: make(chosen) for name, make in self.per_sequence.items()}
        masks = [mask.make(chosen) for mask in self.masks]
        mask = functools.reduce(combined, masks) if masks else None
        return {**self.fixed, **made, "mask": mask}

    def __str__(self):
        names = sorted({*self.fixed, *self.per_sequence})
        return (f"B {self.B}, Hq {self.Hq}, Hkv {self.Hkv}, Lq {self.Lq}, Lkv {self.Lkv}, "
                f"D {self.D}, Dv {self.Dv}, {np.dtype(self.dtype).name}, options {names}, "
                f"{len(self.masks)} masks, outputs {self.outputs}")
