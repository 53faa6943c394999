"""A workload of `headwise bench --list --json`: its tensors, the folder that
workers load, and what the result should be, in float64."""
import dataclasses
import math

import numpy as np

ROWS = 1024  # queries that the reference takes at once
FEW_QUERIES = 16  # up to here, reading the keys takes most of the time
DTYPES = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "int8": "i8"}
BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i8": 1}


@dataclasses.dataclass
class Workload:
    name: str
    gflop: float
    spec: dict  # the keys of spec.txt
    lengths: list
    tensors: dict = dataclasses.field(default_factory=dict)
    # {form: a workload on the same tensors}, run by headwise in the same rounds
    variants: dict = dataclasses.field(default_factory=dict)

    @classmethod
    def from_listed(cls, listed):
        cache = listed["cache"]
        kind = ("module" if listed["embed_dim"] > 0 else
                "ragged" if listed["ragged"] else
                "training" if listed["backward"] else
                "cached" if cache else "sdpa")
        dtype = (cache["dtype"] if cache else
                 "bfloat16" if listed["bfloat16"] else "float32")
        spec = {"name": listed["workload"], "kind": kind,
                "B": listed["B"], "Hq": listed["Hq"], "Hkv": listed["Hkv"],
                "Lq": listed["Lq"], "Lk": listed["Lkv"], "d": listed["D"],
                "causal": int(listed["causal"]),
                "lens": int(bool(listed["lengths"])),
                "bias": int(listed["bias"]),
                "weights": int(listed["attn_weights"]),
                "dtype": DTYPES[dtype], "arithmetic": "exact"}
        if kind == "module":
            spec["D"] = listed["embed_dim"]
        if listed["window"] is not None:
            spec["window"] = listed["window"]
        if listed["dropout"]:
            spec["dropout"] = listed["dropout"]
        if listed["Dv"] != listed["D"]:
            spec["dv"] = listed["Dv"]
        if cache:
            spec["prefix"] = int(cache["value_is_key_prefix"])
            spec["shuffled"] = int(listed["shuffled"])
            for key, value in (("page", cache["page_size"]),
                               ("chunk", listed["chunk"])):
                if value:
                    spec[key] = value
        return cls(listed["workload"], listed["gflop"], spec,
                   listed["lengths"])

    def in_bf16(self):
        """The same workload with Arithmetic::bf16."""
        return dataclasses.replace(
            self, spec={**self.spec, "arithmetic": "bf16"}, variants={})

    @property
    def coarsest(self):
        """The coarsest numbers that headwise multiplies."""
        return ("bf16" if self.spec["arithmetic"] == "bf16" else
                self.spec["dtype"])

    def draw(self):
        """Normal numbers, the same for the same name."""
        random = np.random.default_rng(list(self.name.encode()))
        spec = self.spec

        def normal(*shape):
            return random.standard_normal(shape, dtype=np.float32)

        if spec["kind"] == "module":
            D, features = spec["D"], spec["Hq"] * spec["d"]
            t = {"x": normal(spec["B"], spec["Lq"], D)}
            for n in "qkvo":
                rows, columns = (D, features) if n == "o" else (features, D)
                t["w" + n] = normal(rows, columns) / np.float32(
                    math.sqrt(columns))
                t["b" + n] = normal(rows) * np.float32(0.1)
        else:
            B, d = spec["B"], spec["d"]
            t = {"q": normal(B, spec["Hq"], spec["Lq"], d),
                 "k": normal(B, spec["Hkv"], spec["Lk"], d)}
            if not spec.get("prefix"):
                t["v"] = normal(B, spec["Hkv"], spec["Lk"], self.value_size)
        if spec["kind"] == "training":
            t["do"] = normal(B, spec["Hq"], spec["Lq"], d)
        if spec["bias"]:
            t["bias"] = normal(1, spec["Hq"], spec["Lq"], spec["Lk"])
        if self.lengths:
            t["lens"] = np.array(self.lengths, np.int32)
        self.tensors = t

    @property
    def value_size(self):
        return self.spec.get("dv", self.spec["d"])

    def bytes_read(self, dtype):
        """Bytes of the keys and values in this number type, if a run mainly
        waits for them; else None."""
        spec = self.spec
        if spec["kind"] not in ("cached", "sdpa") or spec["Lq"] > FEW_QUERIES:
            return None
        size = spec["d"] + (0 if spec.get("prefix") else self.value_size)
        scales = 8 if dtype == "i8" else 0  # one float per key, one per value
        return (spec["B"] * spec["Hkv"] * spec["Lk"] *
                (size * BYTES[dtype] + scales))

    def write(self, folder):
        """The folder, and a folder in it for each variant."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in self.tensors.items():
            value.tofile(folder / f"{name}.bin")
        self._write_spec(folder, self.tensors)
        for form, other in self.variants.items():
            (folder / form).mkdir()
            for name in self.tensors:
                (folder / form / f"{name}.bin").symlink_to(
                    folder / f"{name}.bin")
            other._write_spec(folder / form, self.tensors)

    def _write_spec(self, folder, tensors):
        lines = [f"{key} {value}" for key, value in self.spec.items()]
        for name, value in tensors.items():
            dtype = "i32" if value.dtype == np.int32 else "f32"
            lines.append(" ".join(["tensor", name, dtype,
                                   *map(str, value.shape)]))
        (folder / "spec.txt").write_text("\n".join(lines) + "\n")

    def reference(self):
        """The outputs by the plain formula in float64, a head at a time."""
        t = {name: value.astype(np.float64)
             for name, value in self.tensors.items() if name != "bias"}
        if self.spec.get("prefix"):
            t["v"] = t["k"][..., :self.value_size]
        if self.spec["kind"] != "module":
            return self._attend(t["q"], t["k"], t["v"])
        shape = (*t["x"].shape[:2], self.spec["Hq"], self.spec["d"])
        q, k, v = ((t["x"] @ t["w" + n].T + t["b" + n]).reshape(shape)
                   .swapaxes(1, 2) for n in "qkv")
        outputs = self._attend(q, k, v)
        merged = outputs["out"].swapaxes(1, 2).reshape(
            *t["x"].shape[:2], -1)
        outputs["out"] = merged @ t["wo"].T + t["bo"]
        return outputs

    def _attend(self, q, k, v):
        B, Hq, Lq, Lk = (self.spec[n] for n in ("B", "Hq", "Lq", "Lk"))
        group = Hq // self.spec["Hkv"]
        outputs = {"out": np.zeros((*q.shape[:3], v.shape[3]))}
        training = self.spec["kind"] == "training"
        if training:
            outputs.update(dq=np.zeros(q.shape), dk=np.zeros(k.shape),
                           dv=np.zeros(v.shape))
        if self.spec["weights"]:
            outputs["weights"] = np.zeros((B, Hq, Lq, Lk))
        for b in range(B):
            keys = self.lengths[b] if self.lengths else Lk
            queries = self.lengths[b] if self.spec["kind"] == "ragged" else Lq
            for h in range(Hq):
                for first in range(0, queries, ROWS):
                    last = min(first + ROWS, queries)
                    seen = keys
                    if self.spec["causal"]:
                        seen = min(keys, last + Lk - Lq)
                    p = self._weights(q[b, h, first:last],
                                      k[b, h // group, :seen], h, first)
                    outputs["out"][b, h, first:last] = \
                        p @ v[b, h // group, :seen]
                    if self.spec["weights"]:
                        outputs["weights"][b, h, first:last, :seen] = p
                    if training:
                        self._differentiate(
                            q[b, h], k[b, h // group, :seen],
                            v[b, h // group, :seen], p, (b, h, first, last),
                            outputs)
        return outputs

    def _differentiate(self, q, k, v, p, place, outputs):
        """Adds what these queries give to the gradients."""
        b, h, first, last = place
        g = h // (self.spec["Hq"] // self.spec["Hkv"])
        d_out = self.tensors["do"][b, h, first:last].astype(np.float64)
        d_p = d_out @ v.T
        d_s = p * (d_p - (p * d_p).sum(-1, keepdims=True))
        d_s /= math.sqrt(self.spec["d"])
        outputs["dq"][b, h, first:last] = d_s @ k
        outputs["dk"][b, g, :len(k)] += d_s.T @ q[first:last]
        outputs["dv"][b, g, :len(k)] += p.T @ d_out

    def _weights(self, q, k, h, first):
        """Of the queries of head h from `first` on over the first keys."""
        p = q @ k.T / math.sqrt(self.spec["d"])
        start = first + self.spec["Lk"] - self.spec["Lq"]
        if self.spec["bias"]:
            p += self.tensors["bias"][0, h, first:first + len(q), :len(k)]
        if self.spec["causal"]:
            p[~np.tri(*p.shape, start, dtype=bool)] = -np.inf
        if "window" in self.spec:
            left = start - self.spec["window"]
            p[np.tri(*p.shape, left - 1, dtype=bool)] = -np.inf
        p -= p.max(-1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(-1, keepdims=True)
        return p

    def rows(self):
        """(B, 1, Lq, 1), whether it is a row of a sequence; of a layer and of
        what is not ragged simply True."""
        if self.spec["kind"] != "ragged":
            return np.True_
        lengths = np.array(self.lengths)[:, None]
        return (np.arange(self.spec["Lq"]) < lengths)[:, None, :, None]


def errors(reference, given, rows=np.True_):
    """(largest absolute error, RMS error relative to the RMS of the result), of
    the worst output. `given` maps names to flat arrays. Rows that are none
    hold 0 in the reference and whatever they like in what is given."""
    worst = (0.0, 0.0)
    for name, expected in reference.items():
        difference = np.where(
            rows, given[name].reshape(expected.shape) - expected, 0)
        rms = math.sqrt(np.mean(difference**2) / np.mean(expected**2))
        largest = float(np.abs(difference).max())
        if not (math.isfinite(rms) and math.isfinite(largest)):
            return math.inf, math.inf
        worst = max(worst[0], largest), max(worst[1], rms)
    return worst
