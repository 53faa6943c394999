"""The input files of all jobs: tensors, models, texts and ONNX models of a few kilobytes.

`in` and `other` have files of the same names, shapes and types, but of other numbers:
two ranks that read one file each compute different things.
"""

import itertools
import json
import math
import pathlib
import random
import subprocess
import sys

import onnx_file as onnx
import params_case
import tiny_causal
import tiny_model
from cli_case import npy_bytes

B, H, G, L, D = 2, 4, 2, 6, 4  # sequences, heads, key heads, tokens, features
E = H * D
ROWS = 9  # of a ragged batch of B sequences

FLOATS = {
    "q": (B, H, L, D), "k": (B, G, L, D), "v": (B, G, L, D), "x": (B, L, E),
    "rq": (ROWS, H, D), "rk": (ROWS, G, D), "rv": (ROWS, G, D),
    "past_k": (B, G, 3, D), "past_v": (B, G, 3, D),
    "d_output": (B, H, L, D), "d_x": (B, L, E), "d_weights": (B, H, L, L),
    "score_weight": (H, D), "bias": (B, H, L, L), "bias_2d": (L, L), "t5": (8, H),
    "alibi": (H,), "sinks": (H,), "bias_k": (G, D), "bias_v": (G, D),
    "cos": (32, D // 2), "sin": (32, D // 2)}
LAYER = {
    "w_q.weight": (E, E), "w_q.bias": (E,), "w_k.weight": (G * D, E), "w_k.bias": (G * D,),
    "w_v.weight": (G * D, E), "w_v.bias": (G * D,), "w_o.weight": (E, E), "w_o.bias": (E,)}
NORMS = {"q_norm.weight": (D,), "k_norm.weight": (D,)}
LINES = ["heads matter", "! & <", "so heads", "& ! so matter", "internationalisation",
         "heads heads heads", "< so", "matter !"]
WORDS = ["heads", "matter", "so", "!", "<", "&"]
CORPUS = 8 * 1024 + 3  # lines of a run that is killed after its first group of 1,024
SOME = 1000
CASES = ("fits", "differs")


class Numbers:
    def __init__(self, folder, seed):
        self.folder = folder
        self.draw = random.Random(seed)
        self.seed = seed

    def floats(self, name, shape):
        values = [self.draw.gauss(0, 1) for _ in range(math.prod(shape))]
        self.put(name, npy_bytes(shape, values))

    def integers(self, name, *values):
        self.put(name, npy_bytes((len(values),), values, "<i8"))

    def rows(self, name, rows, kind="<i8"):
        shape = len(rows), len(rows[0])
        self.put(name, npy_bytes(shape, list(itertools.chain(*rows)), kind))

    def booleans(self, name, shape):
        """Every row has a true element, so that every query has a key."""
        values = [n % shape[-1] == 0 or self.draw.random() < 0.7
                  for n in range(math.prod(shape))]
        self.put(name, npy_bytes(shape, values, "|b1"))

    def put(self, name, data):
        path = self.folder / (name if "." in pathlib.Path(name).name else name + ".npy")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)

    def tensors(self):
        for name, shape in FLOATS.items():
            self.floats(name, shape)
        for name, shape in (LAYER | NORMS).items():
            if name in LAYER:
                self.floats(f"layer/{name}.npy", shape)
            self.floats(f"normed/{name}.npy", shape)
        self.floats("layer_additive/w_score.weight.npy", (H, D))
        for name, shape in LAYER.items():
            self.floats(f"layer_additive/{name}.npy", shape)

    def masks(self):
        odd = self.seed % 2
        self.booleans("mask", (B, H, L, L))
        self.booleans("mask_2d", (L, L))
        self.booleans("padding", (B, L))
        self.booleans("separators", (B, L))
        self.booleans("keep_mask", (B, H, L, L))
        self.integers("lengths", L - odd, 4)
        self.integers("starts", 1 - odd, 2)
        self.integers("query_starts", 0, 1 + odd)
        self.integers("sequence_ids", 7, 3 + odd)
        self.integers("offsets", 0, 4 + odd, ROWS)
        self.integers("query_offsets", 0, 3 + odd, ROWS)
        self.rows("documents", [[0, 0, odd, 1, 1, 1], [0, 1, 1, 1, 2, 2]])
        self.rows("query_documents", [[0, 0, 0, odd, 1, 1], [0, 0, 1, 1, 2, 2]])
        self.rows("positions", [[0, 1, 2, 3, 4, 5 + odd], [2, 3, 4, 5, 6, 7]])
        self.rows("key_positions", [[0, 1, 2, 3, 4, 6 + odd], [2, 3, 4, 5, 7, 8]])

    def weights(self):
        """Attention weights of another program, two layers."""
        rows = [[self.draw.random() for _ in range(L)] for _ in range(2 * H * L)]
        shares = [x / sum(row) for row in rows for x in row]
        self.put("weights.npy", npy_bytes((2, 1, H, L, L), shares))

    def texts(self):
        lines = LINES[::-1] if self.seed % 2 else LINES
        labelled = [f"{'good' if n % 3 else 'bad'}\t{line}" for n, line in enumerate(lines)]
        words = [[f"w{(n * n + k * (n + 1)) % 12}" for k in range(5)] * 2 for n in range(6)]
        corpus = [" ".join(WORDS[(n * 5 + k * k + self.seed) % len(WORDS)]
                           for k in range(1 + n * 7 % 5)) for n in range(CORPUS)]
        examples = [f"{'good' if n % 3 else 'bad'}\t{line}" for n, line in enumerate(corpus)]
        ids = [[(7 * n + k * k) % 19 + 1 for k in range(L - n)] for n in range(B)]
        for name, text in (("lines.txt", lines), ("data.tsv", labelled),
                           ("causal.txt", map(" ".join, words)),
                           ("corpus.txt", corpus), ("corpus.tsv", examples),
                           ("some.tsv", examples[:SOME])):
            self.put(name, "".join(line + "\n" for line in text).encode())
        self.put("tokens.json", json.dumps(ids).encode())
        self.put("target.json", json.dumps([each[1:4] for each in ids]).encode())
        self.put("words.txt", "".join(f"t{n}\n" for n in range(L)).encode())

    def models(self):
        for module, name in ((tiny_model, "tiny"), (tiny_causal, "causal")):
            module.write(self.folder / name)
            if self.seed % 2:
                path = self.folder / name / "model.safetensors"
                data = bytearray(path.read_bytes())
                data[-2] ^= 1  # of the last number
                path.write_bytes(data)
        tensors = {name: params_case.tensor(*shape, seed=self.seed)
                   for name, shape in LAYER.items()}
        self.put("layer.npz", params_case.npz_bytes(tensors))

    def onnx(self):
        """A model with its data, and a folder of cases for `check`."""
        shapes = {"Q": (1, 2, 3, 4), "K": (1, 2, 5, 4), "V": (1, 2, 5, 4)}
        model = onnx.model(
            [onnx.node("Attention", list(shapes), ["Y"], name="attn")],
            [onnx.port(name, shape) for name, shape in shapes.items()], [onnx.port("Y")])
        self.put("model.onnx", model)
        for n, (name, shape) in enumerate(shapes.items()):
            values = [self.draw.gauss(0, 1) for _ in range(math.prod(shape))]
            self.put(f"data/input_{n}.pb", onnx.tensor(name, shape, values))
        for case in CASES:
            (self.folder / "cases" / case).mkdir(parents=True, exist_ok=True)
            self.put(f"cases/{case}/model.onnx", model)
            for path in sorted((self.folder / "data").iterdir()):
                self.put(f"cases/{case}/test_data_set_0/{path.name}", path.read_bytes())


def made_by(program, folder, calls, **options):
    """What the command itself writes, for its other commands to read."""
    for words in calls:
        done = subprocess.run([program, *words], cwd=folder, capture_output=True,
                              check=False, **options)
        if done.returncode:
            sys.exit(f"cannot make what other jobs read: headwise {' '.join(words)}\n"
                     f"{done.stderr.decode()}")


def write(folder, seed, program):
    folder.mkdir(parents=True)
    numbers = Numbers(folder, seed)
    for part in (numbers.tensors, numbers.masks, numbers.weights, numbers.texts,
                 numbers.models, numbers.onnx):
        part()
    train = ["train", "--model", "tiny", "--data", "data.tsv", "--out"]
    made_by(program, folder, [
        [*train, "topics"],
        ["importance", "--model", "topics", "--data", "data.tsv", "--out", "scores.json"],
        ["prune", "--model", "topics", "--heads", "1.1", "--out", "pruned"],
        [*train, "begun", "--train", "all", "--epochs", "1"],
        ["train", "--steps", "2", "--out", "recall"],
        ["train", "--task", "induction", "--steps", "2", "--out", "induction"],
        ["onnx-run", "model.onnx", "--data", "data", "--out", "outputs"]])
    for case in CASES:
        expected = (folder / "outputs/output_0.npy").read_bytes()
        changed = b"\0\0\x80\x3f" if case == "differs" else expected[-4:]  # 1.0
        numbers.put(f"cases/{case}/test_data_set_0/output_0.npy", expected[:-4] + changed)
