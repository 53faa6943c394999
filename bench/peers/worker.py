"""What the Python peers share: the line protocol of bench/serve/serve.h.

A peer's script gives `make(peer, spec, tensors)`, which returns two functions:
run() computes once and is timed, show(result of run) gives the outputs by name.
Each peer has its tensors in the layout that it likes best: converting belongs
to make and to show.

    spec      the sizes and flags of spec.txt: B Hq Hkv Lq Lk d D causal ...
    tensors   q (B, Hq, Lq, d), k (B, Hkv, Lk, d), v (B, Hkv, Lk, dv), lens (B),
              bias (1, Hq, Lq, Lk); of a layer
              x (B, L, D), w* (D, D), b* (D): y = x w^T + b
    outputs   out (B, Hq, Lq, dv), of a layer (B, L, D); weights (B, Hq, Lq, Lk)

Of the kind "training" the gradients of sum(out * do) are computed too: dq, dk,
dv. Only forms named _backward do it.

Of the kind "ragged" the sequences end at lens, queries too: what a peer gives
for a row behind the end does not count, and a mask of the keys is right.

In the kind "cached" the last Lq tokens are new; the keys and values of the
others are in a cache if the peer has one. k and v hold all of them. If a peer's
cache grows with each run, make() returns a third function, begin(), which resets
the cache. It is called before a series of runs and is not timed.

Forms whose names end in _bf16 compute the same with bfloat16 tensors.

Of the kind "encode" there are no tensors: read_encode reads workload.json, and
make(peer, spec, sentences) gives the embeddings (sentences, E) as out.
"""
import json
import os
import pathlib
import sys
import time

import numpy as np


class Unsupported(Exception):
    """The peer cannot do this; the text says what."""


def need(condition, what):
    if not condition:
        raise Unsupported(what)


def threads():
    """How many the harness allows: the processors that this process may use."""
    return len(os.sched_getaffinity(0))


def key_mask(spec, tensors):
    """(B, 1, 1, Lk), true = attend; None where no sequence is padded."""
    if not spec["lens"]:
        return None
    return (np.arange(spec["Lk"]) < tensors["lens"][:, None])[:, None, None, :]


def score_mask(spec, tensors, has_causal=True):
    """(mask, causal): causal where the peer, if it has a flag for that, is to
    mask by it; everything else is in the mask, which is none, bool (true =
    attend) or float (added to the scores) and spreads to (B, H, Lq, Lk)."""
    mask = key_mask(spec, tensors)
    Lq, Lk = spec["Lq"], spec["Lk"]
    causal = bool(spec["causal"]) and Lq > 1  # one query sees every key
    if causal and not (has_causal and Lq == Lk and mask is None and
                       "window" not in spec and not spec["bias"]):
        below = np.tri(Lq, Lk, Lk - Lq, dtype=bool)[None, None]
        mask, causal = below if mask is None else mask & below, False
    if "window" in spec:
        above = ~np.tri(Lq, Lk, Lk - Lq - spec["window"] - 1, dtype=bool)
        mask = above[None, None] if mask is None else mask & above
    if spec["bias"]:
        mask = tensors["bias"] if mask is None else np.where(
            mask, tensors["bias"], np.float32(-np.inf))
    return mask, causal


def by_name(spec):
    """The show of a run that returns (out, weights)."""
    names = ("out", "weights") if spec["weights"] else ("out",)
    return lambda result: dict(zip(names, result))


def need_scores(spec, gib):
    """For forms that keep the scores of every head in memory."""
    scores = spec["B"] * spec["Hq"] * spec["Lq"] * spec["Lk"] * 4 / 2**30
    need(scores <= gib, f"all the scores at once would take {scores:.0f} GiB")


def need_one_query(spec):
    """For forms that pass the query heads of a group as rows of one head."""
    need(spec["kind"] in ("sdpa", "cached") and spec["Lq"] == 1 and not
         (spec["lens"] or spec["bias"] or spec["weights"] or "window" in spec),
         "no such form except for one query that sees every key")


def split_heads(x, num_heads):
    """(B, L, D) -> (B, H, L, d)"""
    return x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)


def read_folder(folder):
    spec, tensors = {}, {}
    for line in (folder / "spec.txt").read_text().splitlines():
        key, *values = line.split()
        if key == "tensor":
            name, dtype, *shape = values
            kind = {"f32": np.float32, "i32": np.int32}[dtype]
            data = np.fromfile(folder / f"{name}.bin", kind)
            tensors[name] = data.reshape([int(extent) for extent in shape])
        else:
            spec[key] = int(values[0]) if values[0].isdigit() else values[0]
    spec.setdefault("dv", spec["d"])
    if spec.get("prefix"):
        tensors["v"] = tensors["k"][..., :spec["dv"]]
    return spec, tensors


def read_attention(peer, folder):
    """What make() gets behind the peer's name."""
    spec, tensors = read_folder(folder)
    need((spec["kind"] == "training") ==
         peer.removesuffix("_bf16").endswith("_backward"),
         "no such form with or without gradients")
    return spec, tensors


def read_encode(peer, folder):
    """The folders of workload.json, and the sentences."""
    spec = json.loads((folder / "workload.json").read_text(encoding="utf-8"))
    need(spec["kind"] == "encode", "does nothing but encode")
    text = pathlib.Path(spec["sentences"]).read_text(encoding="utf-8")
    return spec, text.splitlines()


def read_forward(peer, folder):
    """The model and the ids of workload.json."""
    spec = json.loads((folder / "workload.json").read_text(encoding="utf-8"))
    need(spec["kind"] == "forward", "does nothing but passes of a model")
    return [spec]


class Worker:
    def __init__(self, make, version, read):
        self.make, self.version, self.read = make, version, read
        self.runs = {}

    def load(self, peer, folder):
        self.runs.pop(peer, None)
        self.runs[peer] = self.make(
            peer, *self.read(peer, pathlib.Path(folder)))
        return self.version

    def run(self, peer, count):
        run, _, *begin = self.runs[peer]
        for each in begin:
            each()
        wall, processor = time.perf_counter(), time.process_time()
        for _ in range(int(count)):
            run()
        return (f"{time.perf_counter() - wall:.9f} "
                f"{time.process_time() - processor:.9f}")

    def out(self, peer, folder):
        run, show, *begin = self.runs[peer]
        for each in begin:
            each()
        outputs = show(run())
        for name, value in outputs.items():
            np.ascontiguousarray(value, np.float32).tofile(
                pathlib.Path(folder) / f"{name}.bin")
        return " ".join(outputs)

    def drop(self, peer):
        self.runs.pop(peer, None)
        return ""


def serve(make, version, read=read_attention):
    """Answers standard input until it ends. What a library prints goes to
    standard error, so that the answers stand alone."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    worker = Worker(make, version, read)
    for line in sys.stdin:
        word, *arguments = line.strip().split(" ", 2)
        if word == "quit":
            return
        try:
            if word not in ("load", "run", "out", "drop"):
                raise ValueError(f"{word} is no command")
            said = f"ok {getattr(worker, word)(*arguments)}"
        except Unsupported as why:
            said = f"unsupported {why}"
        except Exception as error:  # whatever a library may throw
            said = f"error {type(error).__name__} {error}"
        answers.write(" ".join(said.split()) + "\n")
