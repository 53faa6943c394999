"""The pages that page_test.py opens, with the truth about them in binary64."""
import numpy as np

import make_page

HOSTILE = ["[CLS]", "</script><script>window.hacked = 1</script>",
           "<img src=x onerror=\"window.hacked = 1\">", "\u202eright-to-left",
           "zero\u200bwidth", "line\u2028paragraph\u2029", "\u05e9\u05dc\u05d5\u05dd",
           "tab\tnul\u0000", "=1+1", "a,\"b\"\nc", " ", "\ud800", "\ufeff", "&lt;b&gt;",
           "{{script}}", "[SEP]"]


class Case:
    """A page on disk and what is true of it."""

    def __init__(self, folder, name, spec, layers, masks, write=make_page.write_page):
        self.keep(spec, layers, masks)
        self.path = folder / f"{name}.html"
        self.page = write(self.path, spec, layers, masks)

    def keep(self, spec, layers, masks):
        self.spec, self.masks = spec, masks
        self.heads = {(layer["number"], head["number"]): head
                      for layer in layers for head in layer["heads"]}

    def entry(self, layer, head):
        """What the page says of the head."""
        return next(h for one in self.page["layers"] if one["number"] == layer
                    for h in one["heads"] if h["number"] == head)

    def weights(self, layer, head, rows=slice(None)):
        """-> attention weights in binary64, may attend."""
        one = self.heads[layer, head]
        w, _, may = make_page.weights(
            one["query"].astype(np.float32), one["key"].astype(np.float32), one,
            rows, self.spec, self.masks[one.get("mask", 0)])
        return w, may


def layers_of(lq, lk, dim, layers, heads, kv_heads, spec):
    return [{"number": n, "heads": make_page.invented_heads(
        lq, lk, dim, heads, kv_heads, 7 + n, spec["query_start"], spec["separators"])}
        for n in range(layers)]


def ragged_mask(lq, lk):
    """Bits with holes, queries with no key, keys that nobody sees."""
    random = np.random.default_rng(3)
    may = random.random((lq, lk)) < 0.6
    may[:, 0] = True
    may[4] = False
    may[:, lk - 2:] = False
    ranges = np.tile(np.array([0, lk - 2]), (lq, 1))
    ranges[7] = (5, 5)
    return {"name": "document", "ranges": ranges,
            "may": may & (np.arange(lk) >= ranges[:, :1]) & (np.arange(lk) < ranges[:, 1:])}


def small(folder):
    """L 12: causal, grouped heads, one pruned, T5's bias, ALiBi, a sink, softcap."""
    spec = make_page.invented_spec(
        12, 12, 16, softcap=20.0,
        t5={"buckets": 8, "max_distance": 6, "bidirectional": False}, title="Small", text="The cat sat.", model="tiny",
        trace=make_page.invented_trace(12, 12, 4, 16))
    spec["trace"][3]["not_finite"] = 2
    layers = layers_of(12, 12, 16, 2, 4, 2, spec)
    layers[1]["heads"][2]["pruned"] = True
    layers[1]["heads"][0]["t5"] = np.array([.5, -1, 2, 0, -.25, 1, -2, 3])
    layers[1]["heads"][3]["alibi"] = 0.25
    layers[1]["heads"][1]["sink"] = 1.5
    return Case(folder, "small", spec, layers, [make_page.causal_mask(12, 12)])


def steps(folder):
    """As many steps as a model of six layers has."""
    spec = make_page.invented_spec(12, 12, 16, title="Steps")
    spec["trace"] = [{**step, "layer": layer} for layer in range(6) for step in
                     2 * make_page.invented_trace(12, 12, 2, 16)]
    layers = layers_of(12, 12, 16, 1, 2, 2, spec)
    return Case(folder, "steps", spec, layers, [make_page.full_mask(12, 12)])


def hostile(folder):
    size = len(HOSTILE)
    spec = make_page.invented_spec(
        size, size, 8, query_tokens=HOSTILE, key_tokens=HOSTILE,
        title="</title><script>window.hacked = 1</script>",
        text="".join(HOSTILE), command="</script> \u202e & co", model="<b>m</b>")
    layers = layers_of(size, size, 8, 1, 2, 2, spec)
    return Case(folder, "hostile", spec, layers, [make_page.full_mask(size, size)])


def ragged(folder):
    spec = make_page.invented_spec(21, 21, 8, title="Ragged", elements=False)
    layers = layers_of(21, 21, 8, 1, 2, 2, spec)
    layers[0]["heads"][1]["mask"] = 1
    return Case(folder, "ragged", spec, layers,
                [ragged_mask(21, 21), make_page.full_mask(21, 21)])


def cross(folder):
    """Queries and keys of two sequences, opened in Korean."""
    spec = make_page.invented_spec(7, 40, 8, lang="ko", title="Cross")
    layers = layers_of(7, 40, 8, 1, 2, 2, spec)
    return Case(folder, "cross", spec, layers, [make_page.full_mask(7, 40)])


def cached(folder):
    """Lq != Lkv, with a cache before the queries."""
    spec = make_page.invented_spec(7, 40, 8, query_start=20, kind="self", title="Cached")
    layers = layers_of(7, 40, 8, 1, 2, 2, spec)
    return Case(folder, "cached", spec, layers, [make_page.causal_mask(7, 40, 20)])


def pair(folder):
    """Two sentences, of 5 and 7 tokens."""
    spec = make_page.invented_spec(
        12, 12, 16, title="Pair", query_special=[0, 4, 11], key_special=[0, 4, 11],
        separators=[4, 11], token_types=[0] * 5 + [1] * 7)
    layers = layers_of(12, 12, 16, 2, 4, 4, spec)
    return Case(folder, "pair", spec, layers, [make_page.full_mask(12, 12)])


class Document(Case):
    """One document of a file."""

    def __init__(self, path, page, spec, layers, masks):
        self.path, self.page = path, page
        self.keep(spec, layers, masks)


class Several:
    """A file of several documents."""

    def __init__(self, folder, name, documents, **more):
        self.path = folder / f"{name}.html"
        pages = make_page.write_documents(self.path, name.title(), documents, **more)
        self.documents = [Document(self.path, page, *document)
                          for page, document in zip(pages, documents)]


def invented_document(lq, seed, **other):
    spec = make_page.invented_spec(lq, lq, 8, **other)
    layers = [{"number": n, "heads": make_page.invented_heads(
        lq, lq, 8, 4, 4, seed + n, 0, spec["separators"])} for n in range(2)]
    return spec, layers, [make_page.full_mask(lq, lq)]


def texts(folder):
    """Texts of three lengths, one of them hostile; the last is the first one with a head
    less."""
    size = len(HOSTILE)
    documents = [
        invented_document(12, 7, text="the cat sat on the mat", model="m/tiny"),
        invented_document(size, 17, text="".join(HOSTILE), model="m/tiny",
                          query_tokens=HOSTILE, key_tokens=HOSTILE),
        invented_document(20, 27, text="because it was tired and the dog", model="m/tiny"),
        invented_document(12, 7, text="the cat sat on the mat", model="m/tiny",
                          variant="without 1.2")]
    documents[3][1][1]["heads"][2]["pruned"] = True
    return Several(folder, "texts", documents)


def invented_changes():
    """Heads 1.0 and 1.1 changed places."""
    changes = []
    for n, (layer, head) in enumerate((layer, head) for layer in range(2)
                                      for head in range(4)):
        moved = layer == 1 and head < 2
        similarity = 0.3 + head / 100 if moved else 0.9 - n / 100
        changes.append({
            "head": [layer, head], "other": [layer, head],
            "match": [layer, 1 - head if moved else head],
            "similarity": [similarity, similarity - 0.02, similarity + 0.02],
            "differences": {statistic: [(n - 3) / 10, (n - 4) / 10, (n - 2) / 10]
                            for statistic in make_page.STATISTICS}})
    changes[2].update(match=None, similarity=[None, None, None])
    return changes


def two_models(folder):
    """Two texts, each in two models, with hostile names."""
    documents = [invented_document(12, seed, text=text, model=model)
                 for text, seed in (("the cat sat", 7), ("a dog ran", 17))
                 for seed, model in ((seed, "m/tuned"), (seed + 3, "m/<b>base\u202e"))]
    return Several(folder, "two_models", documents, changes=invented_changes())


def from_right_to_left(folder):
    """The same with names in Hebrew."""
    documents = [invented_document(12, seed, text=text, model=model)
                 for text in ("the cat sat", "a dog ran")
                 for seed, model in ((7, "\u05e9\u05dc\u05d5\u05dd"), (10, "\u05d0\u05d1\u05d2"))]
    return Several(folder, "from_right_to_left", documents, changes=invented_changes())


def two_tokenizers(folder):
    """Three texts in two models of the same folder name, which divide the second one into
    different tokens; head 0.1 is left in the first alone, 1.2 and 1.3 in the second."""
    documents = []
    for number, text in enumerate(("the cat sat", "a dog ran", "it rains")):
        for seed, model, pruned in ((7, "a/model", ((1, 2), (1, 3))), (10, "b/model/", ((0, 1),))):
            lq = 20 if number == 1 and seed == 10 else 12
            document = invented_document(lq, seed + number, text=text, model=model)
            for layer, head in pruned:
                document[1][layer]["heads"][head]["pruned"] = True
            documents.append(document)
    changes = [one for one in invented_changes() if one["head"] not in ([0, 1], [1, 2], [1, 3])]
    return Several(folder, "two_tokenizers", documents, changes=changes)


def ablated(folder):
    """Two texts, each with all heads and without one; 1.0 changed most."""
    documents = [invented_document(12, seed, text=text, model="m/tiny", variant=variant)
                 for text, seed in (("the cat sat", 7), ("a dog ran", 17))
                 for seed, variant in ((seed, None), (seed + 3, "without <b>0.1"))]
    changes = sorted(invented_changes(), key=lambda one: one["similarity"][0] or 1)
    return Several(folder, "ablated", documents, changes=changes)


def ablated_pair(folder):
    """The same of one text without a list of changes; the entropy of head 0.2 changed most."""
    documents = [invented_document(12, 7, text="A: a B: b", model="m/tiny", variant=variant)
                 for variant in (None, "without 0.1")]
    documents[1][1][0]["heads"][2]["query"] *= 0
    return Several(folder, "ablated_pair", documents)


def weights(folder, name="weights", write=make_page.write_page):
    """Attention weights alone: causal; query 7 has no key, queries 4 and 9 of head 1 do not
    sum to 1, and one weight of the latter is above it."""
    spec = make_page.invented_spec(21, 21, 8, title="Weights", weights_only=True)
    layers = layers_of(21, 21, 8, 1, 2, 2, spec)
    mask = make_page.causal_mask(21, 21)
    mask["ranges"][7] = 0
    mask["name"] = "no_weight"
    for head in layers[0]["heads"]:
        head["weights"] = make_page.weights(
            head["query"], head["key"], head, slice(None), spec, mask)[0].astype(np.float32)
    layers[0]["heads"][1]["weights"][4] *= np.float32(0.75)
    layers[0]["heads"][1]["weights"][9, 2] += np.float32(1.25)
    spec.update(head_dim=0, scale=1)
    return Case(folder, name, spec, layers, [mask], write)


def middle(folder):
    spec = make_page.invented_spec(512, 512, 16, title="Middle")
    layers = layers_of(512, 512, 16, 1, 2, 2, spec)
    return Case(folder, "middle", spec, layers, [make_page.causal_mask(512, 512)])


def long(folder):
    spec = make_page.invented_spec(4096, 4096, 16, title="Long", kind_of_coding="tiles")
    layers = layers_of(4096, 4096, 16, 1, 2, 1, spec)
    layers[0]["heads"][1]["alibi"] = 0.01
    return Case(folder, "long", spec, layers, [make_page.causal_mask(4096, 4096)])


def normed(layers, keys, seed):
    """Gives all heads that are left norms of their keys; a few are much larger."""
    random = np.random.default_rng(seed)
    for layer in layers:
        for head in layer["heads"]:
            head["norms"] = np.float32(random.uniform(0.2, 3, keys) ** 2)
    return layers


def norms(folder):
    """Heads that know how much their keys add to the output: causal, one pruned."""
    spec = make_page.invented_spec(21, 21, 8, title="Norms", text="The cat sat.")
    layers = normed(layers_of(21, 21, 8, 2, 4, 2, spec), 21, 5)
    layers[1]["heads"][2]["pruned"] = True
    return Case(folder, "norms", spec, layers, [make_page.causal_mask(21, 21)])


def norms_of_some(folder):
    """The second of three documents has no norms; the third is long enough for a pooled map
    in the file."""
    documents = [invented_document(length, 7, text=text) for length, text in
                 ((12, "one"), (12, "two"), (150, "three"))]
    for n in (0, 2):
        spec, layers, _ = documents[n]
        normed(layers, spec["num_keys"], n)
    return Several(folder, "norms_of_some", documents)


def normed_texts(folder, name="normed_texts", count=3):
    """Several texts, all with norms; those of the last are the largest."""
    documents = [invented_document(12, 7, text=f"text {n}") for n in range(count)]
    for n, (_, layers, _) in enumerate(documents):
        for layer in normed(layers, 12, n):
            for head in layer["heads"]:
                head["norms"] *= np.float32(1 + n)
    return Several(folder, name, documents)


def many_normed_texts(folder):
    """More of them than fit into a window."""
    return normed_texts(folder, "many_normed_texts", 60)


HOSTILE_LABEL = "</script><b>\u202elabel"


def with_gradients(layers, lq, lk, dim, seed):
    """Gives all heads gradients and values, small and of either sign, and numbers of
    their own."""
    random = np.random.default_rng(seed)
    for layer in layers:
        for head in layer["heads"]:
            head["d_context"] = np.float32(random.normal(0, 1e-3, (lq, dim)))
            head["value"] = np.float32(random.normal(0, 2, (lk, dim)))
            head["integrated"] = float(random.normal())
            head["integrated-by-layer"] = float(random.normal())
    return layers


def gradients(folder):
    """Causal, one pruned head; the label is hostile."""
    spec = make_page.invented_spec(21, 21, 8, title="Gradients", text="The cat sat.",
                                   target={"label": HOSTILE_LABEL, "token": None,
                                           "output_token": 0, "value": 1.5})
    layers = with_gradients(
        normed(layers_of(21, 21, 8, 2, 4, 2, spec), 21, 5), 21, 21, 6, 6)
    layers[1]["heads"][2]["pruned"] = True
    return Case(folder, "gradients", spec, layers, [make_page.causal_mask(21, 21)])


def long_attribution(folder):
    """Norms and gradients of a text whose attention weights the page computes."""
    spec = make_page.invented_spec(2304, 2304, 8, title="Long attribution",
                                   kind_of_coding="tiles",
                                   target={"label": None, "token": None,
                                           "output_token": 0, "value": 5.25})
    layers = layers_of(2304, 2304, 8, 1, 2, 1, spec)
    with_gradients(normed(layers, 2304, 7), 2304, 2304, 4, 8)
    return Case(folder, "long_attribution", spec, layers,
                [make_page.causal_mask(2304, 2304)])


def through(folder):
    """Rollout and flow of hostile tokens; output token 2 is shown first."""
    size = len(HOSTILE)
    spec = make_page.invented_spec(size, size, 8, title="Through",
                                   query_tokens=HOSTILE, key_tokens=HOSTILE)
    random = np.random.default_rng(9)
    rollout = random.dirichlet(np.full(size, 0.5), size)
    spec["through"] = {"token": 2, "rollout": rollout, "flow": np.sqrt(rollout)}
    case = Case(folder, "through", spec, layers_of(size, size, 8, 1, 2, 2, spec),
                [make_page.full_mask(size, size)])
    case.shares = {name: np.float32(spec["through"][name]) for name in ("rollout", "flow")}
    return case
