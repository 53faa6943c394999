"""Pages that `headwise view` writes, with the truth about them in binary64."""
import base64
import json
import re
import subprocess
import zlib

import numpy as np

import make_page
import page_cases

DATA = re.compile(r'<script type="application/json" id="page">(.*?)</script>', re.S)
BLOCK = re.compile(r'<script type="text/plain" id="block-(\d+)">([^<]*)</script>')


class Writer:
    """Writes a page with the command, in place of make_page.write_page()."""

    def __init__(self, command):
        self.command = command

    def __call__(self, path, spec, layers, masks):
        folder = path.parent / (path.stem + "-tensors")
        folder.mkdir()
        arguments = tensors(folder, layers) + options(folder, spec, layers, masks)
        done = subprocess.run([self.command, "view", *arguments, "--out", path],
                              capture_output=True, timeout=600)
        assert done.returncode == 0, done.stderr.decode()
        return read(path)[0]


def tensors(folder, layers):
    if layers[0]["heads"][0].get("weights") is not None:
        np.savez(folder / "w.npz", **{
            f"layer.{layer['number']}.weights": np.stack(
                [head["weights"] for head in layer["heads"]]) for layer in layers})
        return ["--attn-weights", folder / "w.npz"]
    query = np.stack([[head["query"] for head in layer["heads"]] for layer in layers])
    key = np.stack([[next(head["key"] for head in layer["heads"]
                          if head.get("kv_head", head["number"]) == kv)
                     for kv in sorted({head.get("kv_head", head["number"])
                                       for head in layer["heads"]})]
                    for layer in layers])
    np.save(folder / "q.npy", query[:, None].astype(np.float32))  # (N, 1, H, L, D)
    np.save(folder / "k.npy", key[:, None].astype(np.float32))
    return ["--query", folder / "q.npy", "--key", folder / "k.npy"]


def options(folder, spec, layers, masks):
    heads = layers[0]["heads"]
    lq, lk = spec["num_queries"], spec["num_keys"]
    for name in ("query", "key"):
        (folder / f"{name}.txt").write_text(
            "".join(token + "\n" for token in spec[f"{name}_tokens"]), "utf-8")
    separators = np.zeros(lk, bool)
    separators[spec["separators"]] = True
    np.save(folder / "separators.npy", separators[None])
    given = ["--query-tokens", folder / "query.txt", "--key-tokens", folder / "key.txt",
             "--separators", folder / "separators.npy", "--title", spec["title"],
             "--lang", spec.get("lang", "en")]
    if spec.get("weights_only"):
        return given
    given += ["--scale", repr(spec["scale"])]
    if spec["query_start"]:  # it says that the keys are of the same sequence
        given += ["--query-start", str(spec["query_start"])]
    if spec.get("softcap"):
        given += ["--softcap", str(spec["softcap"])]
    if not spec.get("elements", True):
        given.append("--no-elements")
    if heads[0].get("t5") is not None:
        np.save(folder / "t5.npy",
                np.stack([head["t5"] for head in heads], axis=1).astype(np.float32))
        given += ["--t5-bias", folder / "t5.npy", "--t5-max-distance",
                  str(spec["t5"]["max_distance"])]
        if spec["t5"]["bidirectional"]:
            given.append("--t5-bidirectional")
    if heads[0].get("alibi") is not None:
        np.save(folder / "alibi.npy",
                np.array([head["alibi"] for head in heads], np.float32))
        given += ["--alibi", folder / "alibi.npy"]
    if heads[0].get("sink") is not None:
        np.save(folder / "sinks.npy",
                np.array([head["sink"] for head in heads], np.float32))
        given += ["--sinks", folder / "sinks.npy"]
    if masks[0]["name"] == "causal":
        given.append("--causal")
    elif any(mask["name"] != "none" for mask in masks):
        rows = slice(0, lq)
        np.save(folder / "mask.npy", np.stack(
            [make_page.visible(masks[head.get("mask", 0)], rows, lk) for head in heads]))
        given += ["--mask", folder / "mask.npy", "--mask-axes", "H,Lq,Lkv"]
    return given


def read(path):
    """-> the page's JSON, its blocks inflated."""
    text = path.read_text("utf-8")
    blocks = {int(number): zlib.decompress(base64.b64decode(block))
              for number, block in BLOCK.findall(text)}
    return json.loads(DATA.search(text).group(1)), blocks


# ---- Cases: as page_cases' functions. ----

def sloped(layers, slopes):
    for layer in layers:
        for head, slope in zip(layer["heads"], slopes):
            head["alibi"] = slope
    return layers


def biased(layers, buckets):
    """T5's bias, the same for all layers."""
    for layer in layers:
        for number, head in enumerate(layer["heads"]):
            head["t5"] = np.float32(2 * np.sin(1 + np.arange(buckets) * (number + 1)))
    return layers


def written_small(folder, write):
    """L 12: causal, grouped heads, T5's bias, ALiBi, sinks and softcap."""
    spec = make_page.invented_spec(
        12, 12, 16, softcap=20.0, title="Small",
        t5={"buckets": 8, "max_distance": 6, "bidirectional": False})
    layers = sloped(page_cases.layers_of(12, 12, 16, 2, 4, 2, spec), (0, .25, .125, 1))
    layers = biased(layers, 8)
    for layer in layers:
        for head, sink in zip(layer["heads"], (.5, -3, 2, 0)):
            head["sink"] = sink
    return page_cases.Case(folder, "written-small", spec, layers,
                           [make_page.causal_mask(12, 12)], write)


def written_hostile(folder, write):
    tokens = [token for token in page_cases.HOSTILE
              if "\n" not in token and token != "\ud800"]
    size = len(tokens)
    spec = make_page.invented_spec(
        size, size, 8, query_tokens=tokens, key_tokens=tokens,
        title="</title><script>window.hacked = 1</script>")
    layers = page_cases.layers_of(size, size, 8, 1, 2, 2, spec)
    return page_cases.Case(folder, "written-hostile", spec, layers,
                           [make_page.full_mask(size, size)], write)


def written_ragged(folder, write):
    """A mask of each head's own, queries with no key, no elements."""
    spec = make_page.invented_spec(21, 21, 8, title="Ragged", elements=False)
    layers = page_cases.layers_of(21, 21, 8, 1, 2, 2, spec)
    layers[0]["heads"][1]["mask"] = 1
    return page_cases.Case(folder, "written-ragged", spec, layers,
                           [page_cases.ragged_mask(21, 21), make_page.full_mask(21, 21)],
                           write)


def written_cached(folder, write):
    """Lq != Lkv, with a cache before the queries."""
    spec = make_page.invented_spec(7, 40, 8, query_start=20, kind="self", title="Cached")
    layers = page_cases.layers_of(7, 40, 8, 1, 2, 2, spec)
    return page_cases.Case(folder, "written-cached", spec, layers,
                           [make_page.causal_mask(7, 40, 20)], write)


def written_cross(folder, write):
    """Queries and keys of two sequences, opened in Korean."""
    spec = make_page.invented_spec(7, 40, 8, lang="ko", title="Cross")
    layers = page_cases.layers_of(7, 40, 8, 1, 2, 2, spec)
    return page_cases.Case(folder, "written-cross", spec, layers,
                           [make_page.full_mask(7, 40)], write)


def written_middle(folder, write):
    spec = make_page.invented_spec(512, 512, 16, title="Middle")
    layers = page_cases.layers_of(512, 512, 16, 1, 2, 2, spec)
    return page_cases.Case(folder, "written-middle", spec, layers,
                           [make_page.causal_mask(512, 512)], write)


def written_long(folder, write):
    spec = make_page.invented_spec(
        4096, 4096, 16, title="Long", kind_of_coding="tiles",
        t5={"buckets": 32, "max_distance": 128, "bidirectional": True})
    layers = sloped(page_cases.layers_of(4096, 4096, 16, 1, 2, 1, spec), (0, .01))
    layers = biased(layers, 32)
    return page_cases.Case(folder, "written-long", spec, layers,
                           [make_page.causal_mask(4096, 4096)], write)


def written_wide(folder, write):
    """Cross-attention that the page computes, with grouped heads."""
    spec = make_page.invented_spec(9, 1100, 8, title="Wide", kind_of_coding="tiles")
    layers = page_cases.layers_of(9, 1100, 8, 1, 4, 2, spec)
    return page_cases.Case(folder, "written-wide", spec, layers,
                           [make_page.full_mask(9, 1100)], write)


def written_weights(folder, write):
    return page_cases.weights(folder, "written-weights", write)


ALL = [written_small, written_hostile, written_ragged, written_cached, written_cross,
       written_middle, written_long, written_wide, written_weights]
