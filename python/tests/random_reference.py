"""A drawn call in float64, by plain NumPy: every output, and the gradients."""

import numpy as np


def repeated(heads, groups):
    """(B, L, Hq, D): what each query head reads."""
    return np.repeat(np.asarray(heads, np.float64), groups, 2)


def with_added(call, heads, bias):
    """Keys or values with those of added_keys behind them."""
    rows = []
    if bias is not None:
        rows.append(np.broadcast_to(bias, (call.B, 1, *bias.shape)))
    if call.zero_attn:
        rows.append(np.zeros((call.B, 1, *heads.shape[2:])))
    return np.concatenate([np.asarray(heads, np.float64), *rows], 1)


class Reference:
    def __init__(self, call):
        self.call = call
        self.query = np.asarray(call.query, np.float64)
        self.key = repeated(with_added(call, call.key, call.bias_k), call.groups)
        self.value = repeated(with_added(call, call.value, call.bias_v), call.groups)
        self.scale = call.fixed.get("scale", call.D ** -0.5)
        self.raw = self.raw_scores()
        self.softcap = call.fixed.get("softcap")
        self.capped = (self.raw if self.softcap is None
                       else self.softcap * np.tanh(self.raw / self.softcap))
        pad = [(0, 0)] * 3 + [(0, call.added)]
        self.allowed = np.pad(call.allowed(), pad, constant_values=True)
        self.biased = np.where(self.allowed, self.capped + np.pad(self.biases(), pad), -np.inf)
        self.weigh()

    def raw_scores(self):
        if self.call.score_weight is None:
            return self.scale * np.einsum("bihd,bjhd->bhij", self.query, self.key)
        self.tanh = np.tanh(self.query[:, :, None] + self.key[:, None])  # (B, Lq, Lkv, Hq, D)
        return np.einsum("bijhd,hd->bhij", self.tanh, self.call.score_weight.astype(np.float64))

    def biases(self):
        call = self.call
        sum_of = np.zeros((call.B, call.Hq, call.Lq, call.Lkv))
        if call.bias is not None:
            sum_of += np.where(call.bias == -np.inf, 0, call.bias)
        if call.alibi is not None:
            sum_of -= call.alibi[:, None, None].astype(np.float64) * np.abs(call.offsets())
        return sum_of

    def weigh(self):
        call = self.call
        sinks = np.full(call.Hq, -np.inf) if call.sinks is None else call.sinks
        sinks = np.asarray(sinks, np.float64)[None, :, None]
        self.empty = ~self.allowed.any(-1)
        largest = np.maximum(self.biased.max(-1, initial=-np.inf), sinks)
        finite = np.where(np.isfinite(largest), largest, 0)
        powers = np.exp(self.biased - finite[..., None])
        of_sinks = np.exp(sinks - finite)
        total = powers.sum(-1) + of_sinks
        safe = np.where(total == 0, 1, total)
        self.weights = powers / safe[..., None]
        self.sink_share = of_sinks / safe
        with np.errstate(divide="ignore"):
            self.lse = finite + np.log(total)
        self.visible = self.weights.copy()  # without what empty_rows says
        fill = {"zero": 0.0, "nan": np.nan,
                "uniform": 1 / max(1, self.weights.shape[-1])}[call.empty_rows]
        filled = self.empty & (sinks == -np.inf)
        self.weights[filled] = fill
        self.dropped = self.weights
        self.factor = 1.0
        if call.keep is not None:
            self.factor = call.keep / (1 - call.p)
            self.dropped = self.weights * self.factor
        self.output = np.einsum("bhij,bjhd->bihd", self.dropped, self.value)
        if call.empty_rows == "nan":  # even of weights that were dropped
            self.output[filled.transpose(0, 2, 1)] = np.nan

    # ---- Statistics ----

    def statistics(self):
        """entropy, distance, largest (B, Hq, Lq) and columns (B, Hq, Lkv)."""
        call = self.call
        every = np.concatenate([self.visible, self.sink_share[..., None]], -1)
        entropy = -(every * np.log(np.where(every > 0, every, 1))).sum(-1)
        weights = self.visible[..., :call.Lkv]
        distance = (weights * np.abs(call.offsets())).sum(-1)
        without_key = ~call.allowed().any(-1)  # whether or not it sees an added one
        entropy[without_key] = distance[without_key] = np.nan
        return {"entropy": entropy, "distance": distance,
                "largest": weights.max(-1, initial=0)}, weights.sum(2)

    # ---- Gradients ----

    def by_key_head(self, gradient):
        """Sums (B, L, Hq, D) over the query heads of each key head."""
        first = np.cumsum([0, *self.call.groups[:-1]])
        return np.add.reduceat(gradient, first, 2)

    def gradients(self, output, d_output, d_attn_weights=0.0):
        """By name: the gradient, and the sum of the absolute values of its terms. Of a
        call without empty_rows="nan". `output` is that of the forward pass, as it was
        rounded: the backward pass reads it. `d_attn_weights` is the gradient of the
        weights before dropout."""
        values, sizes = (self.summed(*(of(np.asarray(x, np.float64)) for x in (
            output, d_output, d_attn_weights)), of) for of in (np.asarray, np.abs))
        return {name: (value, sizes[name]) for name, value in values.items()}

    def summed(self, output, d_output, d_attn_weights, of):
        """With of=abs, sums of absolute values."""
        call, minus = self.call, of(-1.0)
        d_weights = (np.einsum("bihd,bjhd->bhij", d_output, of(self.value)) * self.factor
                     + d_attn_weights)
        delta = (np.einsum("bihd,bihd->bhi", d_output, output)
                 + (self.visible * d_attn_weights).sum(-1))
        d_scores = self.visible * (d_weights + minus * delta[..., None])
        slope = (1.0 if self.softcap is None
                 else 1 + minus * np.square(self.capped / self.softcap))
        d_raw = d_scores * slope
        d_scores = d_scores[..., :call.Lkv]
        made = {}
        if call.score_weight is None:
            d_query = self.scale * np.einsum("bhij,bjhd->bihd", d_raw, of(self.key))
            d_key = self.scale * np.einsum("bhij,bihd->bjhd", d_raw, of(self.query))
        else:
            weight = of(call.score_weight.astype(np.float64))
            inner = np.einsum("bhij,hd->bijhd", d_raw, weight) * (1 + minus * np.square(self.tanh))
            d_query, d_key = inner.sum(2), inner.sum(1)
            made["score_weight"] = np.einsum("bhij,bijhd->hd", d_raw, of(self.tanh))
        d_value = np.einsum("bhij,bihd->bjhd", self.dropped, d_output)
        d_key, d_value = self.by_key_head(d_key), self.by_key_head(d_value)
        made |= {"query": d_query, "key": d_key[:, :call.Lkv], "value": d_value[:, :call.Lkv]}
        if call.bias_k is not None:
            made |= {"bias_k": d_key[:, call.Lkv].sum(0), "bias_v": d_value[:, call.Lkv].sum(0)}
        if call.bias is not None:
            axes = tuple(n for n in range(4) if call.bias.shape[n] == 1)
            made["bias"] = d_scores.sum(axes, keepdims=True)
        if call.alibi is not None:
            made["alibi"] = minus * (d_scores * np.abs(call.offsets())).sum((0, 2, 3))
        if call.sinks is not None:
            made["sinks"] = minus * (self.sink_share * delta).sum((0, 2))
        return made
