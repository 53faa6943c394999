"""Random calls of headwise.torch.attention, and the same in plain torch operations."""

import numpy as np
import torch

from headwise.torch import Operands, Positions, attention


class EagerCall:
    """Options of a small call. `inputs` are query, key and value, and the bias and sinks
    if it has them: what can be differentiated."""

    def __init__(self, number, dropout=True):
        self._random = np.random.default_rng([7, number])
        B, Hkv, groups, L, S, D, Dv = (self._size(most) for most in (2, 2, 2, 4, 5, 4, 3))
        Hq = Hkv * groups
        self.scores = scores = (B, Hq, L, S)
        self.inputs = {"query": self._normal(B, Hq, L, D), "key": self._normal(B, Hkv, S, D),
                       "value": self._normal(B, Hkv, S, Dv)}
        if self._maybe():
            bias = self._normal(*self._broadcast(scores))
            self.inputs["bias"] = bias.masked_fill(self._bools(bias.shape, 0.1), -torch.inf)
        if self._maybe():
            self.inputs["sinks"] = self._normal(Hq)
        self.masks = {
            "mask": self._maybe() and self._bools(self._broadcast(scores), 0.7),
            "key_mask": self._maybe() and self._bools((B, S), 0.7),
            "key_starts": self._maybe() and self._integers(0, S + 1, B),
            "key_lengths": self._maybe() and self._integers(0, S + 1, B)}
        self.positions = Positions(*(int(self._random.integers(-1, 4)) if self._maybe() else no
                                     for no in Positions()))
        self.options = {
            "causal": self._maybe(), "softcap": 2.0 if self._maybe() else 0.0,
            "scale": 0.7 if self._maybe() else None,
            "dropout_p": 0.4 if dropout and self._maybe(0.2) else 0.0,
            "attn_weights": self._one_of("none", "mean", "per_head", "after_dropout")}
        self.seed = self._integers(0, 100, 1)

    def _size(self, most):
        return int(self._random.integers(1, most + 1))

    def _one_of(self, *choices):
        return choices[self._random.integers(len(choices))]

    def _maybe(self, share=0.3):
        return bool(self._random.random() < share)

    def _normal(self, *shape):
        return torch.tensor(self._random.standard_normal(shape), dtype=torch.float32)

    def _bools(self, shape, share):
        return torch.tensor(self._random.random(shape) < share)

    def _integers(self, low, high, count):
        return torch.tensor(self._random.integers(low, high, count))

    def _broadcast(self, shape):
        shape = tuple(self._one_of(1, size) for size in shape[:2]) + shape[2:]
        return shape[2:] if self._maybe() else shape

    def ours(self, query, key, value, *others):
        """The output and the weights, or None."""
        operands = Operands(
            **dict(zip(list(self.inputs)[3:], others)), seed=self.seed,
            **{name: None if mask is False else mask for name, mask in self.masks.items()})
        return attention(query, key, value, operands=operands, positions=self.positions,
                         **self.options)

    def eager(self, query, key, value, *others):
        extra = dict(zip(list(self.inputs)[3:], others))
        groups = query.shape[1] // key.shape[1]
        key, value = (each.repeat_interleave(groups, 1) for each in (key, value))
        scale, softcap = self.options["scale"], self.options["softcap"]
        raw = torch.einsum("bhid,bhjd->bhij", query, key)
        raw = raw * (query.shape[-1] ** -0.5 if scale is None else scale)
        raw = softcap * torch.tanh(raw / softcap) if softcap else raw
        if "bias" in extra:
            raw = raw + torch.where(self.inputs["bias"] == -torch.inf, 0.0, extra["bias"])
        powers = raw.exp() * self.allowed()
        total = powers.sum(-1, keepdim=True)
        if "sinks" in extra:
            total = total + extra["sinks"].exp()[:, None, None]
        weights = powers / torch.where(total == 0, 1.0, total)
        kept, p = self.kept(), self.options["dropout_p"]
        dropped = weights * kept / (1 - p)
        mode = self.options["attn_weights"]
        returned = {"none": None, "mean": weights.mean(1, keepdim=True), "per_head": weights,
                    "after_dropout": dropped}[mode]
        return torch.einsum("bhij,bhjd->bhid", dropped, value), returned

    def allowed(self):
        L, S = self.scores[2:]
        start, left, right = self.positions
        i, j = torch.arange(L)[:, None] + start, torch.arange(S)
        allowed = torch.ones(self.scores, dtype=torch.bool)
        if self.options["causal"]:
            allowed = allowed & (j <= i)
        allowed = allowed & (j >= i - left) if left >= 0 else allowed
        allowed = allowed & (j <= i + right) if right >= 0 else allowed
        masks = {name: mask for name, mask in self.masks.items() if mask is not False}
        if "mask" in masks:
            allowed = allowed & masks["mask"]
        if "key_mask" in masks:
            allowed = allowed & masks["key_mask"][:, None, None]
        if "key_starts" in masks:
            allowed = allowed & (j >= masks["key_starts"][:, None, None, None])
        if "key_lengths" in masks:
            allowed = allowed & (j < masks["key_lengths"][:, None, None, None])
        if "bias" in self.inputs:
            allowed = allowed & (self.inputs["bias"] != -torch.inf)
        return allowed

    def kept(self):
        """By the kernel, which shows it in the weights after dropout."""
        if self.options["dropout_p"] == 0:
            return torch.ones(self.scores)
        shown = {**self.options, "attn_weights": "after_dropout"}
        with torch.no_grad():
            _, weights = attention(
                *list(self.inputs.values())[:3], operands=Operands(seed=self.seed),
                positions=Positions(self.positions.query_start), **{**shown, "causal": False})
        return weights != 0
