"""Rotary positions: frequencies of every kind, and the rotation."""
import dataclasses
import math

import numpy as np


@dataclasses.dataclass
class Rope:
    size: int  # rotated components of a head
    theta: float
    longest: int  # max_position_embeddings
    kind: str = "default"
    factor: float | None = None
    original: int | None = None  # original_max_position_embeddings
    attention_factor: float | None = None
    keys: dict = dataclasses.field(default_factory=dict)  # other keys of the kind
    interleaved: bool = False

    def __post_init__(self):
        self.original = self.original or self.longest
        if self.factor is None:
            self.factor = self.longest / self.original

    def plain(self):
        return self.theta ** (-np.arange(0, self.size, 2) / self.size)

    def frequencies(self, length):
        """Those of a sequence of this length, and what cosines are multiplied by."""
        frequencies, default_factor = KINDS[self.kind](self, length)
        given = self.attention_factor
        return frequencies, default_factor if given is None else given

    def rotate(self, x):
        """(heads, length, head size)"""
        length = x.shape[1]
        frequencies, factor = self.frequencies(length)
        angles = np.arange(length)[:, None] * frequencies
        cos, sin = factor * np.cos(angles), factor * np.sin(angles)
        half = self.size // 2
        first, second = ((slice(0, self.size, 2), slice(1, self.size, 2))
                         if self.interleaved else
                         (slice(0, half), slice(half, self.size)))
        rotated = x.copy()
        rotated[..., first] = x[..., first] * cos - x[..., second] * sin
        rotated[..., second] = x[..., second] * cos + x[..., first] * sin
        return rotated


def default(rope, length):
    return rope.plain(), 1


def linear(rope, length):
    return rope.plain() / rope.factor, 1


def dynamic(rope, length):
    """Longer sequences have a larger theta."""
    stretch = (rope.factor * max(length, rope.longest) / rope.longest -
               (rope.factor - 1))
    theta = rope.theta * stretch ** (rope.size / (rope.size - 2))
    return dataclasses.replace(rope, theta=theta).plain(), 1


def llama3(rope, length):
    low, high = rope.keys["low_freq_factor"], rope.keys["high_freq_factor"]
    plain = rope.plain()
    turns = rope.original * plain / (2 * math.pi)
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return plain * (kept + (1 - kept) / rope.factor), 1


def yarn(rope, length):
    def index(turns):
        """Which frequency turns this often within the original length."""
        return (rope.size * math.log(rope.original / (2 * math.pi * turns)) /
                (2 * math.log(rope.theta)))
    low = index(rope.keys.get("beta_fast") or 32)
    high = index(rope.keys.get("beta_slow") or 1)
    if rope.keys.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, rope.size - 1)
    if low == high:
        high += 0.001
    slowed = np.clip((np.arange(rope.size // 2) - low) / (high - low), 0, 1)
    plain = rope.plain()

    def magnitude(scale=1):
        return 0.1 * scale * math.log(rope.factor) + 1 if rope.factor > 1 else 1
    scale, of_all = rope.keys.get("mscale"), rope.keys.get("mscale_all_dim")
    factor = (magnitude(scale) / magnitude(of_all) if scale and of_all
              else magnitude())
    return plain * (1 - slowed + slowed / rope.factor), factor


def longrope(rope, length):
    which = "long_factor" if length > rope.original else "short_factor"
    factor = (math.sqrt(1 + math.log(rope.factor) / math.log(rope.original))
              if rope.factor > 1 else 1)
    return rope.plain() / np.array(rope.keys[which]), factor


KINDS = {each.__name__: each
         for each in (default, linear, dynamic, llama3, yarn, longrope)}
