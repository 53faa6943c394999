"""Writes pages of the viewer's format (docs/viewer-page.md) without C++: the
second implementation of the writer, in binary64, that the page is tested with.

    make_page.py OUT.html [--queries 12] [--keys 12] [--layers 2] [--heads 4]
                 [--kv-heads 4] [--dim 32] [--kind maps|tiles] [--causal]
                 [--no-elements] [--lang en|ko] [--query-start 0] [--seed 1]

write_page() takes tensors of one's own.
"""
import argparse
import base64
import hashlib
import html
import json
import pathlib
import sys
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[5]
sys.path.append(str(ROOT / "tools"))
import catalogue  # noqa: E402

VIEWER = ROOT / "src/view/inspect/page/viewer"
# What a page carries of each query if it has all weights of a head at once.
BESIDE_MAP = ["entropy", "distance"]
POOLED_BY_PAGE = 4 * 64 * 64  # pairs
STATISTICS = ["entropy", "distance", "largest", "first", "previous", "self",
              "next", "separator"]
# They compare the positions of queries and keys.
OF_POSITIONS = ["distance", "previous", "self", "next"]
OF_HEADS = ["integrated", "integrated-by-layer"]  # numbers that queries do not have
TOP = 8
UNEVEN = 0.005  # how far from 1 a row's sum may be
CHUNK = 512  # rows of attention weights that stand in memory at once


# ---- One head. ----

def visible(mask, rows, keys):
    """Who may attend in these rows: (rows, keys) of bool."""
    begin, end = mask["ranges"][rows, 0:1], mask["ranges"][rows, 1:2]
    j = np.arange(keys)[None, :]
    may = (j >= begin) & (j < end)
    return may if mask.get("may") is None else may & mask["may"][rows]


def t5_buckets(offsets, t5):
    """T5's bucket of each offset, key position minus query position."""
    n, side = t5["buckets"], 0
    if t5["bidirectional"]:
        n //= 2
        side = np.where(offsets > 0, n, 0)
        x = np.abs(offsets)
    else:
        x = np.maximum(-offsets, 0)
    exact = n // 2
    steps = (np.log(np.maximum(x, exact) / exact) / np.log(t5["max_distance"] / exact) *
             (n - exact))
    return side + np.where(x < exact, x, np.minimum(
        n - 1, exact + np.floor(steps + 1e-9).astype(int)))


def t5_steps(t5):
    """-> the offsets at which another bucket begins, the buckets in their order."""
    offsets = np.arange(-t5["max_distance"] - 1, t5["max_distance"] + 2)
    buckets = t5_buckets(offsets, t5)
    at = np.flatnonzero(np.diff(buckets)) + 1
    return offsets[at].tolist(), buckets[np.append(0, at)]


def scores(query, key, head, rows, spec):
    """Scores of these rows before the mask, in binary64."""
    s = spec["scale"] * (query[rows].astype(np.float64) @ key.T.astype(np.float64))
    if spec.get("softcap"):
        s = spec["softcap"] * np.tanh(s / spec["softcap"])
    if head.get("t5") is not None:
        i = np.arange(len(query))[rows, None] + spec["query_start"]
        s = s + head["t5"][t5_buckets(np.arange(len(key))[None, :] - i, spec["t5"])]
    if head.get("alibi") is not None:
        i = np.arange(len(query))[rows, None] + spec["query_start"]
        s = s - head["alibi"] * np.abs(i - np.arange(len(key))[None, :])
    return s


def weights(query, key, head, rows, spec, mask):
    """-> attention weights (rows, keys), LSE (rows), may attend (rows, keys)."""
    may = visible(mask, rows, len(key))
    if head.get("weights") is not None:  # of a page of attention weights
        return head["weights"][rows], np.zeros(len(may)), may
    s = np.where(may, scores(query, key, head, rows, spec), -np.inf)
    sink = -np.inf if head.get("sink") is None else head["sink"]
    top = s.max(axis=1, initial=sink)
    shift = np.where(np.isfinite(top), top, 0)[:, None]
    p = np.exp(s - shift)
    total = p.sum(axis=1) + np.exp(sink - shift[:, 0])
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, np.log(total) + shift[:, 0], -np.inf)
    return p / np.where(total > 0, total, 1)[:, None], lse, may


def row_statistics(w, may, rows, spec, sink_share):
    """(statistic, row); NaN for a row with no key."""
    keys = w.shape[1]
    i = np.arange(spec["num_queries"])[rows] + spec["query_start"]
    j = np.arange(keys)

    def share(at):
        inside = (at >= 0) & (at < keys)
        return np.where(inside, w[np.arange(len(w)), np.clip(at, 0, keys - 1)], 0)

    with np.errstate(divide="ignore", invalid="ignore"):
        every = np.column_stack([w, sink_share])
        entropy = np.where(every > 0, -every * np.log(every), 0).sum(axis=1)
    separators = spec.get("separators", [])
    table = np.stack([
        entropy, (w * np.abs(i[:, None] - j)).sum(axis=1), w.max(axis=1), w[:, 0],
        share(i - 1), share(i), share(i + 1), w[:, separators].sum(axis=1)])
    table[:, ~may.any(axis=1)] = np.nan
    return table


def pool_rows(w, rows, columns, small, spec):
    """Adds these rows to the small maps (maximum, sum, count)."""
    r, c = small[0].shape
    keys = w.shape[1]
    cell = np.arange(keys) * c // keys
    starts = np.searchsorted(cell, np.arange(c))
    row_cell = np.arange(spec["num_queries"])[rows] * r // spec["num_queries"]
    np.maximum.at(small[0], row_cell, np.maximum.reduceat(w, starts, axis=1))
    np.add.at(small[1], row_cell, np.add.reduceat(w, starts, axis=1))
    np.add.at(small[2], row_cell, np.diff(np.append(starts, keys))[None, :])


def coded(w):
    return np.rint(255 * np.sqrt(np.clip(w, 0, 1))).astype(np.uint8)


def decoded(b):
    return (b.astype(np.float64) / 255) ** 2


def holds_maps(spec, heads):
    """Whether the page holds the weights of a layer, and not query and key."""
    if spec["kind_of_coding"] == "tiles":
        return False
    if spec.get("weights_only") or not spec.get("elements", True):
        return True
    kept = [head for head in heads if not head.get("pruned")]
    lq, lk = spec["num_queries"], spec["num_keys"]
    keys = len({head.get("kv_head", head["number"]) for head in kept})
    return (lq * lk > POOLED_BY_PAGE and lq * lk * len(kept) <
            2 * spec["head_dim"] * (lq * len(kept) + lk * keys))


def describe_head(head, spec, mask, blocks, shared, holds_map):
    """One head's JSON; its arrays go to `blocks`."""
    if head.get("pruned"):
        return {"number": head["number"], "pruned": True}
    lq, lk = spec["num_queries"], spec["num_keys"]
    entry = {"number": head["number"], "kv_head": head.get("kv_head", head["number"]),
             "pruned": False, "mask": head.get("mask", 0),
             "t5": None, "alibi": head.get("alibi"), "sink": head.get("sink")}
    if head.get("t5") is not None:
        entry["t5"] = head["t5"][t5_steps(spec["t5"])[1]].tolist()
    query = head["query"].astype(np.float32)
    key = head["key"].astype(np.float32)
    half_query, half_key = query.astype(np.float16), key.astype(np.float16)
    table = np.empty((len(STATISTICS), lq))
    received = np.zeros(lk)
    top_keys = np.full((lq, TOP), -1, np.int32)
    top_weights = np.zeros((lq, TOP), np.float32)
    r, c = min(64, lq), min(64, lk)
    small = np.zeros((r, c)), np.zeros((r, c)), np.zeros((r, c))
    lse = np.empty(lq, np.float32)
    sums = np.empty(lq)
    whole = spec["kind_of_coding"] == "maps"
    codes = np.empty((lq, lk), np.uint8) if holds_map else None
    error = lse_error = 0.0
    next_seen = False  # by any query
    for start in range(0, lq, CHUNK):
        rows = slice(start, min(start + CHUNK, lq))
        w, row_lse, may = weights(query, key, head, rows, spec, mask)
        lse[rows] = row_lse
        sink = -np.inf if head.get("sink") is None else head["sink"]
        with np.errstate(invalid="ignore"):
            table[:, rows] = row_statistics(w, may, rows, spec, np.exp(sink - row_lse))
        after = np.arange(lq)[rows] + spec["query_start"] + 1
        inside = (after >= 0) & (after < lk)
        next_seen |= bool(may[np.flatnonzero(inside), after[inside]].any())
        received += w.sum(axis=0)
        sums[rows] = w.sum(axis=1)
        pool_rows(w, rows, c, small, spec)
        order = np.argsort(-np.where(may, w, -1), axis=1, kind="stable")[:, :TOP]
        kept = np.take_along_axis(may, order, axis=1)
        top_keys[rows, :order.shape[1]] = np.where(kept, order, -1)
        top_weights[rows, :order.shape[1]] = np.where(
            kept, np.take_along_axis(w, order, axis=1), 0)
        if codes is not None:
            codes[rows] = coded(w)
            shown = decoded(codes[rows])
            if spec.get("weights_only"):  # above 1 and among the largest: as it is
                shown = np.where(w > np.maximum(1, top_weights[rows, -1:]), w, shown)
        elif whole:  # with the log-sum-exp of what is rounded
            shown, rounded_lse, _ = weights(half_query, half_key, head, rows, spec, mask)
            with np.errstate(invalid="ignore"):
                lse_error = max(lse_error, float(np.nan_to_num(
                    np.abs(rounded_lse - row_lse)).max(initial=0)))
            lse[rows] = rounded_lse
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                s = scores(half_query, half_key, head, rows, spec)
                shown = np.where(may, np.exp(s - lse[rows, None].astype(np.float64)), 0)
        error = max(error, float(np.abs(shown - w).max(initial=0)))
    full = ~np.isnan(table[0])
    entry["pooled"] = {name: float(table[n, full].mean()) if full.any() else None
                       for n, name in enumerate(STATISTICS)}
    if not spec.get("separators"):
        entry["pooled"]["separator"] = None
    if not next_seen:
        entry["pooled"]["next"] = None
    entry["empty_rows"] = int((~full).sum())
    entry["error"] = error
    by_map = whole and not spec.get("weights_only")
    kept = map(STATISTICS.index, BESIDE_MAP) if by_map else range(len(STATISTICS))
    entry["rows"] = blocks.add(table[list(kept)].astype("<f4"))
    entry["columns"] = None if by_map else blocks.add(
        (received / max(1, full.sum())).astype("<f4"))
    entry["top"] = {"count": TOP, "block": None if by_map else blocks.add(
        top_keys.astype("<i4"), top_weights.astype("<f4"))}
    if spec.get("weights_only"):
        uneven = full & (np.abs(sums - 1) > UNEVEN)
        entry["uneven_rows"] = int(uneven.sum())
        entry["farthest_sum"] = float(sums[np.argmax(np.abs(sums - 1) * uneven)]
                                      if uneven.any() else 1)
        if uneven.any():
            entry["uneven_sums"] = blocks.add(np.where(uneven, sums, np.nan).astype("<f4"))
    planes = [coded(small[0]), coded(small[1] / np.maximum(small[2], 1))]
    by_page = codes is not None and lq * lk <= POOLED_BY_PAGE
    entry["small"] = {"rows": r, "columns": c, "block": None if by_page else blocks.add(
        *planes[:1 if max(lq, lk) <= 64 else 2])}
    entry["map"] = None if codes is None else blocks.add(codes)
    entry["query"] = entry["key"] = entry["lse"] = None
    entry["lse_error"] = lse_error
    if codes is None:
        entry["query"] = blocks.add(half_query.astype("<f2"))
        name = (head.get("layer"), entry["kv_head"])
        if name not in shared:
            shared[name] = blocks.add(half_key.astype("<f2"))
        entry["key"] = shared[name]
        entry["lse"] = blocks.add(lse.astype("<f4"))
    norms = head.get("norms")
    entry["norms"] = None if norms is None else blocks.add(norms.astype("<f4"))
    if norms is not None:
        entry["pooled"]["norm"] = (float(received @ norms.astype(np.float64) / full.sum())
                                   if full.any() else None)
        if not whole:
            entry["norm_small"] = blocks.add(
                pooled_products(head, spec, mask, norm_products(head)).astype("<f4"))
    describe_gradient(head, spec, mask, blocks, entry)
    for name in OF_HEADS:
        if head.get(name) is not None:
            entry["pooled"][name] = head[name]
    return entry


def norm_products(head):
    norms = head["norms"].astype(np.float64)
    return lambda w, rows: w * norms


def gradient_products(head):
    d_context, value = (head[name].astype(np.float64) for name in ("d_context", "value"))
    return lambda w, rows: w * (d_context[rows] @ value.T)


def products(head, spec, mask, of):
    """Of all pairs, in rows of CHUNK queries: [rows, products]."""
    for start in range(0, spec["num_queries"], CHUNK):
        rows = slice(start, min(start + CHUNK, spec["num_queries"]))
        w, _, _ = weights(head["query"].astype(np.float32), head["key"].astype(np.float32),
                          head, rows, spec, mask)
        yield rows, of(w, rows)


def pooled_products(head, spec, mask, of):
    """Means over the cells of a map."""
    lq, lk = spec["num_queries"], spec["num_keys"]
    small = tuple(np.zeros((min(64, lq), min(64, lk))) for _ in range(3))
    for rows, numbers in products(head, spec, mask, of):
        pool_rows(numbers, rows, min(64, lk), small, spec)
    return small[1] / small[2]


def describe_gradient(head, spec, mask, blocks, entry):
    if head.get("d_context") is None:
        return
    of = gradient_products(head)
    columns = sum(numbers.sum(axis=0) for _, numbers in products(head, spec, mask, of))
    parts = [head[name].astype(np.float64) for name in ("d_context", "value")]
    largest = [np.abs(part).max() for part in parts]
    halves = [(part / most).astype(np.float32).astype("<f2")
              for part, most in zip(parts, largest)]
    by_page = (spec["kind_of_coding"] == "maps" and
               spec["num_queries"] * spec["num_keys"] <= POOLED_BY_PAGE)
    entry["gradient"] = {
        "scale": float(np.prod(largest)), "query": blocks.add(halves[0]),
        "key": blocks.add(halves[1]), "columns": blocks.add(columns.astype("<f4")),
        "small": None if by_page else
                 blocks.add(pooled_products(head, spec, mask, of).astype("<f4"))}
    entry["pooled"]["gradient"] = float(columns.sum())


# ---- The page. ----

class Blocks:
    def __init__(self):
        self.texts = []

    def add(self, *arrays):
        raw = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)
        self.texts.append(base64.b64encode(zlib.compress(raw, 6)).decode())
        return len(self.texts) - 1

    def elements(self):
        return "\n".join(
            f'<script type="text/plain" id="block-{n}">{text}</script>'
            for n, text in enumerate(self.texts))


def full_mask(lq, lk, name="none"):
    return {"name": name, "ranges": np.tile(np.array([0, lk]), (lq, 1)), "may": None}


def causal_mask(lq, lk, query_start=0):
    end = np.clip(np.arange(lq) + query_start + 1, 0, lk)
    return {"name": "causal", "may": None,
            "ranges": np.stack([np.zeros(lq, int), end], axis=1)}


def describe(spec, layers, masks, blocks):
    shown = []
    for mask in masks:
        bits = None
        if mask.get("may") is not None:
            bits = blocks.add(np.packbits(mask["may"], axis=1, bitorder="little"))
        shown.append({"name": mask["name"], "bits": bits,
                      "ranges": blocks.add(mask["ranges"].astype("<i4"))})
    shared = {}
    described = [{"number": layer["number"], "heads": [
        describe_head({**head, "layer": layer["number"]}, spec,
                      masks[head.get("mask", 0)], blocks, shared,
                      holds_maps(spec, layer["heads"]))
        for head in layer["heads"]]} for layer in layers]
    page = {"format": "headwise.view", "version": 1,
            "generator": spec.get("generator", "headwise 0.1.0"),
            "lang": spec.get("lang", "en"), "title": spec["title"],
            "command": spec.get("command", "make_page.py"),
            "model": spec.get("model"), "text": spec.get("text")}
    for name in ("query_tokens", "key_tokens", "num_queries", "num_keys", "head_dim",
                 "query_start", "scale"):
        page[name] = spec[name]
    page["query_special"] = spec.get("query_special", [])
    page["key_special"] = spec.get("key_special", [])
    page["generated_from"] = spec.get("generated_from")
    page["softcap"] = spec.get("softcap")
    page["t5_steps"] = t5_steps(spec["t5"])[0] if spec.get("t5") else None
    page["masks"] = shown
    page["statistics"] = [{"name": name, "unit": {"entropy": "nats",
                                                  "distance": "tokens"}.get(name, "")}
                          for name in STATISTICS
                          if spec.get("kind") != "cross" or name not in OF_POSITIONS]
    by_map = spec["kind_of_coding"] == "maps" and not spec.get("weights_only")
    page["row_statistics"] = BESIDE_MAP if by_map else STATISTICS
    page["first_key"] = spec.get("first_key", 0)
    page["separators"] = [int(key) for key in spec.get("separators", [])]
    page["coding"] = {"kind": spec["kind_of_coding"], "error": max(
        (head["error"] for layer in described for head in layer["heads"]
         if not head["pruned"]), default=0.0)}
    page["layers"] = described
    kept = [head for layer in described for head in layer["heads"] if not head["pruned"]]
    page["measures"] = [name for name in ("norm", "gradient") if kept and all(
        name in head["pooled"] for head in kept)]
    page["statistics"] += [
        {"name": name, "unit": ""} for name in ("norm", "gradient", *OF_HEADS)
        if kept and all(name in head["pooled"] for head in kept)]
    if spec.get("through"):
        page["through"] = {"token": spec["through"]["token"], **{
            name: None if spec["through"].get(name) is None else
            blocks.add(spec["through"][name].astype("<f4")) for name in ("rollout", "flow")}}
    if spec.get("target"):
        page["target"] = spec["target"]
    page["trace"] = spec.get("trace", [])
    page["kind"] = spec.get("kind", "self")
    if spec.get("token_types"):
        page["token_types"] = spec["token_types"]
    return page


def escaped_json(value):
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # A lone surrogate can't be UTF-8.
    return "".join(c if not 0xD800 <= ord(c) <= 0xDFFF else f"\\u{ord(c):04x}"
                   for c in text)


def script_text():
    names = (VIEWER / "ORDER").read_text("utf-8").split()
    text = "".join((VIEWER / name).read_text("utf-8") for name in names)
    assert "</script" not in text.lower() and "<!--" not in text
    return text


def digest(text):
    return "sha256-" + base64.b64encode(
        hashlib.sha256(text.encode()).digest()).decode()


def words():
    """{language: {English: translation}} of the page's texts."""
    return {language: {english: text for (context, english), text in entries.items()
                       if context == "page"}
            for language, entries in catalogue.languages().items()}


def app():
    needed = "This page needs JavaScript to draw the attention heads. Please allow it."
    others = "".join(f'<p lang="{language}">{html.escape(table[needed])}</p>'
                     for language, table in words().items())
    return f'<div id="app"><noscript><p>{needed}</p>{others}</noscript></div>'


def assemble(page, blocks, script=None):
    """The page's HTML. `script` stands for the viewer's own in tests of it."""
    script = script_text() if script is None else script
    style = (VIEWER / "viewer.css").read_text("utf-8")
    policy = ("default-src 'none'; "
              f"script-src '{digest(script)}'; style-src '{digest(style)}'; "
              "img-src data: blob:; worker-src blob:; base-uri 'none'; "
              "form-action 'none'")
    parts = {
        "csp": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        "title": f"<title>{html.escape(page['title'])}</title>",
        "style": f"<style>{style}</style>",
        "app": app(),
        "words": '<script type="application/json" id="words">'
                 f"{escaped_json(words())}</script>",
        "data": '<script type="application/json" id="page">'
                f"{escaped_json(page)}</script>",
        "blocks": blocks.elements(),
        "script": f"<script>{script}</script>",
    }
    lines = (VIEWER / "template.html").read_text("utf-8").splitlines()
    return "\n".join(parts[line[2:-2]] if line.startswith("{{") else line
                     for line in lines) + "\n"


def summary(page, block, before):
    """What the file says of a document without opening it."""
    heads = [(layer["number"], head) for layer in page["layers"]
             for head in layer["heads"] if not head["pruned"]]
    tokens = [one["tokens"] for one in before] + [(page["query_tokens"], page["key_tokens"])]
    return {**{name: page[name] for name in (
        "title", "text", "model", "kind", "num_queries", "num_keys", "measures")},
        "variant": page["variant"], "same_tokens": tokens.index(tokens[-1]),
        "heads": [[layer, head["number"]] for layer, head in heads],
        "pooled": {statistic["name"]: [head["pooled"][statistic["name"]] for _, head in heads]
                   for statistic in page["statistics"]},
        "block": block, "tokens": tokens[-1]}


def write_documents(path, title, documents, **more):
    """Several documents in one file: (spec, layers, masks) of each. -> their JSON. `more` is
    what else the file says."""
    blocks, pages, listed = Blocks(), [], []
    for spec, layers, masks in documents:
        page = describe(spec, layers, masks, blocks)
        page["variant"] = spec.get("variant")
        pages.append(page)
        block = blocks.add(np.frombuffer(escaped_json(page).encode(), np.uint8))
        listed.append(summary(page, block, listed))
    for one in listed:
        del one["tokens"]
    file = {"format": "headwise.view", "version": 2, "title": title, "documents": listed,
            **{name: pages[0][name] for name in ("generator", "lang", "command")}, **more}
    pathlib.Path(path).write_text(assemble(file, blocks), "utf-8")
    return pages


def write_page(path, spec, layers, masks):
    """-> the page's JSON. A head: number, query (Lq, D), key (Lkv, D), ..."""
    blocks = Blocks()
    page = describe(spec, layers, masks, blocks)
    pathlib.Path(path).write_text(assemble(page, blocks), "utf-8")
    return page


# ---- Heads to look at. ----

def invented_heads(lq, lk, dim, num_heads, num_kv_heads, seed, query_start=0,
                   separators=()):
    """Heads with habits: previous token, self, first, separator, content."""
    random = np.random.default_rng(seed)
    place = random.normal(size=(max(lk, lq + query_start) + 2, dim)) / dim ** 0.25
    content = random.normal(size=(lk, dim))
    group = num_heads // num_kv_heads
    keys = [2.0 * place[1:lk + 1] + content * random.uniform(0.3, 0.8)
            for _ in range(num_kv_heads)]
    heads = []
    for h in range(num_heads):
        at = np.arange(lq) + query_start
        key = keys[h // group]
        step = [-1, 0, 1][h % 3]
        query = place[np.clip(at + 1 + step, 0, len(place) - 1)] * random.uniform(1.5, 3)
        if h % 4 == 3:
            query = random.normal(size=(lq, dim)) * random.uniform(0.7, 2.0)
        if h % 5 == 4:
            aim = list(separators) or [0]
            query = query * 0.4 + key[aim].mean(axis=0) * random.uniform(0.8, 1.6)
        heads.append({"number": h, "kv_head": h // group, "query": query, "key": key})
    return heads


WORDS = ("the cat sat on the mat because it was tired and the dog that had "
         "slept by the door all afternoon looked up at it with mild un ##con "
         "##cern before it went back to sleep").split()


def invented_tokens(count):
    middle = [WORDS[n % len(WORDS)] for n in range(max(0, count - 2))]
    return (["[CLS]"] + middle + ["[SEP]"])[:count]


def invented_trace(lq, lk, heads, dim):
    embed = heads * dim
    steps = [("project_query", "q = x W_q^T + b_q", [1, lq, embed], ["B", "Lq", "E"]),
             ("project_key", "k = x W_k^T + b_k", [1, lk, embed], ["B", "Lkv", "E"]),
             ("split_heads", "q -> (B, H, Lq, D)", [1, heads, lq, dim],
              ["B", "H", "Lq", "D"]),
             ("scores", "scale q k^T", [1, heads, lq, lk], ["B", "H", "Lq", "Lkv"]),
             ("attn_weights", "softmax(scores)", [1, heads, lq, lk],
              ["B", "H", "Lq", "Lkv"]),
             ("output", "merge(attn_weights v) W_o^T + b_o", [1, lq, embed],
              ["B", "Lq", "E"])]
    return [{"step": name, "formula": formula, "shape": shape, "axes": axes,
             "min": -1.5 - n, "max": 2.25 + n, "not_finite": 0, "layer": 0}
            for n, (name, formula, shape, axes) in enumerate(steps)]


def invented_spec(lq, lk, dim, **other):
    spec = {"title": f"Invented heads, {lq} queries, {lk} keys", "num_queries": lq,
            "num_keys": lk, "head_dim": dim, "query_start": 0, "scale": dim ** -0.5,
            "query_tokens": invented_tokens(lq), "key_tokens": invented_tokens(lk),
            "query_special": [0, lq - 1], "key_special": [0, lk - 1],
            "separators": [lk - 1], "kind_of_coding": "maps",
            "kind": "self" if lq == lk else "cross"}
    return {**spec, **other}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    for name, default in (("queries", 12), ("keys", 0), ("layers", 2), ("heads", 4),
                          ("kv-heads", 0), ("dim", 32), ("query-start", 0), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--kind", choices=["maps", "tiles"], default="maps")
    parser.add_argument("--lang", choices=["en", "ko"], default="en")
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--no-elements", action="store_true")
    args = parser.parse_args()
    lq, lk = args.queries, args.keys or args.queries
    spec = invented_spec(
        lq, lk, args.dim, lang=args.lang, kind_of_coding=args.kind,
        elements=not args.no_elements, query_start=args.query_start,
        trace=invented_trace(lq, lk, args.heads, args.dim),
        text=" ".join(invented_tokens(min(lq, 40))[1:-1]), model="invented",
        command=f"make_page.py {args.out} --queries {lq} --keys {lk}")
    mask = causal_mask(lq, lk, args.query_start) if args.causal else full_mask(lq, lk)
    layers = [{"number": n, "heads": invented_heads(
        lq, lk, args.dim, args.heads, args.kv_heads or args.heads, args.seed + n,
        args.query_start, spec["separators"])} for n in range(args.layers)]
    write_page(args.out, spec, layers, [mask])


if __name__ == "__main__":
    main()
