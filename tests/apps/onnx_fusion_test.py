"""Attention that a graph spells out: run as one attention, with the numbers of
its nodes."""
import json
import math

import cli_case
import onnx_file as onnx
from cli_case import BAD_INPUT, CliTest, read_npy
from onnx_contrib_cases import numbers

B, H, L, D = 2, 3, 4, 2
F = H * D
LOWEST = -3.4028234663852886e38


def floats(name, shape, values):
    return onnx.tensor(name, shape, values)


def drawn(name, shape, seed=0):
    return floats(name, shape, numbers(shape, seed))


def longs(name, *values):
    return onnx.tensor(name, (len(values),), values, onnx.INT64)


def node(op, inputs, output, **attributes):
    return onnx.node(op, inputs.split(), [output], output, **attributes)


def heads(name, perm=(0, 2, 1, 3)):
    """A projection whose heads are split."""
    return [node("MatMul", f"x w_{name}", f"{name}_flat"),
            node("Add", f"{name}_flat b_{name}", f"{name}_bias"),
            node("Reshape", f"{name}_bias split", f"{name}_split"),
            node("Transpose", f"{name}_split", name, perm=list(perm))]


MERGE = [node("Transpose", "y4", "y_rows", perm=[0, 2, 1, 3]),
         node("Reshape", "y_rows merge", "y")]
HELD = [longs("split", 0, 0, H, D), longs("merge", 0, 0, F),
        *(drawn(f"w_{n}", (F, F), seed) for seed, n in enumerate("qkv", 3)),
        *(drawn(f"b_{n}", (F,), seed) for seed, n in enumerate("qkv", 6))]
ONE = onnx.tensor("one", (), [1.0])
SHAPE = [longs("last", -1), longs("end", 2 ** 63 - 1), ONE]
# As PyTorch exports scaled_dot_product_attention().
SDPA = [*heads("q"), *heads("k"), *heads("v"),
        node("Shape", "q", "q_shape"), node("Slice", "q_shape last end", "d"),
        node("Cast", "d", "d_float", to=onnx.FLOAT),
        node("Sqrt", "d_float", "root"), node("Div", "one root", "scale"),
        node("Transpose", "k", "kt", perm=[0, 1, 3, 2]),
        node("Sqrt", "scale", "half"), node("Mul", "q half", "qs"),
        node("Mul", "kt half", "ks"), node("MatMul", "qs ks", "s")]
END = [node("Softmax", "masked", "w", axis=-1), node("MatMul", "w v", "y4"),
       *MERGE]


def causal(fill):
    return floats("m", (L, L), [0.0 if j <= i else fill
                                for i in range(L) for j in range(L)])


# BERT's mask, of two sequences.
PADDING = floats("m", (B, 1, 1, L), [0, 0, LOWEST, LOWEST, 0, 0, 0, 0])
EMPTY = floats("m", (B, 1, 1, L), [-math.inf] * L + [0.0] * L)
BOOLS = onnx.tensor("lower", (1, 1, L, L),
                    [j <= i for i in range(L) for j in range(L)], onnx.BOOL)
UPPER = onnx.tensor("upper", (L, L), [i < j for i in range(L) for j in range(L)],
                    onnx.BOOL)


def fill(value):
    return floats("fill", (), [value])


BERT = [*heads("q"), *heads("k", (0, 2, 3, 1)), *heads("v"),
        node("MatMul", "q k", "s"), node("Div", "s root", "scaled"),
        node("Add", "scaled m", "masked"), *END]
GPT2 = [*heads("q"), *heads("k", (0, 2, 3, 1)), *heads("v"),
        node("MatMul", "q k", "s"), node("Div", "s root", "scaled"),
        node("Where", "lower scaled fill", "cut"),
        node("Add", "m cut", "masked"), *END]
ROOT = floats("root", (1,), [math.sqrt(D)])
SCALE = 1 / math.sqrt(D)
MASKED = BERT[:-len(END)]
# Heads as a part of the batch.
BATCHED = [*heads("q"), *heads("k"), *heads("v"),
           *(node("Reshape", f"{n} first", f"{n}3") for n in "qkv")]
UNBATCHED = [node("Reshape", "y4 again", "y5"),
             node("Transpose", "y5", "y_rows", perm=[0, 2, 1, 3]), MERGE[1]]
BATCH_SHAPES = [longs("first", -1, L, D), longs("scores4", B, H, L, L),
                longs("scores3", B * H, L, L), longs("again", B, H, L, D)]
NO_TRAINING = onnx.tensor("train", (), [False], onnx.BOOL)


def fused(inputs, output, **attributes):
    return node("FusedMatMul", inputs, output, domain="com.microsoft",
                **attributes)


# nodes, what they hold, whether a mask is seen
GRAPHS = {
    "BERT": (BERT, [ROOT, PADDING], True),
    "BERT, -inf, a row without a key": (BERT, [ROOT, EMPTY], True),
    "GPT-2": (GPT2, [ROOT, BOOLS, fill(LOWEST), PADDING], True),
    "PyTorch": ([*SDPA, node("Add", "s m", "masked"), *END],
                [*SHAPE, causal(-math.inf)], True),
    "PyTorch without a mask":
        ([*SDPA, node("Softmax", "s", "w"), node("MatMul", "w v", "y4"), *MERGE],
         SHAPE, False),
    "PyTorch, booleans, rows without a key":
        ([*SDPA, node("Where", "keep zero fill", "m"),
          node("Add", "s m", "masked"), node("Softmax", "masked", "w", axis=-1),
          node("IsNaN", "w", "empty"), node("Where", "empty zero w", "mended"),
          node("MatMul", "mended v", "y4"), *MERGE],
         [*SHAPE, fill(-math.inf), floats("zero", (1,), [0.0]),
          onnx.tensor("keep", (L, L), [j < i for i in range(L)
                                       for j in range(L)], onnx.BOOL)], True),
    "casts, a copy and dropout that change nothing":
        ([*MASKED, node("Cast", "masked", "wide", to=onnx.FLOAT),
          node("Identity", "wide", "same"),
          node("Softmax", "same", "w", axis=3),
          node("Cast", "w", "narrow", to=onnx.FLOAT),
          node("Dropout", "narrow root train", "kept"),
          node("MatMul", "kept v", "y4"), *MERGE],
         [ROOT, PADDING, NO_TRAINING], True),
    "dropout with a mask that nobody reads":
        ([*MASKED, node("Softmax", "masked", "w"),
          onnx.node("Dropout", ["w"], ["kept", "unread"], "kept"),
          node("MatMul", "kept v", "y4"), *MERGE], [ROOT, PADDING], True),
    "NaN replaced, a cast behind it":
        ([*MASKED, node("Softmax", "masked", "w"), node("IsNaN", "w", "empty"),
          node("Where", "empty zero w", "mended"),
          node("Cast", "mended", "narrow", to=onnx.FLOAT),
          node("MatMul", "narrow v", "y4"), *MERGE],
         [ROOT, EMPTY, floats("zero", (1,), [0.0])], True),
    "flattened for the softmax, as before opset 13":
        ([*MASKED, node("Flatten", "masked", "flat", axis=3),
          node("Softmax", "flat", "w", axis=1), node("Shape", "masked", "size"),
          node("Reshape", "w size", "unflat"), node("MatMul", "unflat v", "y4"),
          *MERGE], [ROOT, PADDING], True),
    "heads in the batch, masked apart":
        ([*BATCHED, node("Transpose", "k3", "kt", perm=[0, 2, 1]),
          node("Div", "q3 root", "qs"), node("MatMul", "qs kt", "s"),
          node("Reshape", "s scores4", "s4"), node("Add", "s4 m", "masked"),
          node("Reshape", "masked scores3", "s3"), node("Softmax", "s3", "w"),
          node("MatMul", "w v3", "y4"), *UNBATCHED],
         [ROOT, PADDING, *BATCH_SHAPES], True),
    "heads in the batch, masks of every shape":
        ([*BATCHED, node("Transpose", "k3", "kt", perm=[0, 2, 1]),
          node("Div", "q3 root", "qs"), node("MatMul", "qs kt", "s"),
          node("Add", "s by_head", "s_head"), node("Add", "s_head by_query", "s_q"),
          node("Add", "s_q by_pair", "s_pair"),
          node("Reshape", "s_pair scores4", "s4"), node("Add", "s4 m", "masked"),
          node("Flatten", "masked", "flat", axis=-1),
          node("Add", "flat by_row", "rows"), node("Softmax", "rows", "w"),
          node("Reshape", "w scores3", "w3"), node("MatMul", "w3 v3", "y4"),
          *UNBATCHED],
         [ROOT, PADDING, *BATCH_SHAPES, drawn("by_head", (B * H, 1, L), 1),
          drawn("by_query", (L, 1), 2), drawn("by_pair", (B * H, L, L), 3),
          drawn("by_row", (B * H * L, L), 4)], True),
    "softcap":
        ([*heads("q"), *heads("k", (0, 2, 3, 1)), *heads("v"),
          node("MatMul", "q k", "s"), node("Div", "s root", "scaled"),
          node("Div", "scaled cap", "small"), node("Tanh", "small", "tanh"),
          node("Mul", "cap tanh", "capped"), node("Add", "capped m", "masked"),
          *END], [ROOT, floats("cap", (), [0.7]), PADDING], True),
    "softcap and a finite fill":
        ([*heads("q"), *heads("k", (0, 2, 3, 1)), *heads("v"),
          node("Div", "q root", "qs"), node("MatMul", "qs k", "s"),
          node("Mul", "s inverse", "small"), node("Tanh", "small", "tanh"),
          node("Mul", "tanh cap", "capped"),
          node("Where", "upper fill capped", "masked"), *END],
         [ROOT, floats("cap", (), [0.5]), floats("inverse", (1,), [2.0]), UPPER,
          fill(-1e9)], True),
    "ONNX Runtime's products":
        ([*heads("q"), *heads("k"), *heads("v"),
          fused("q k", "s", transB=1, alpha=SCALE),
          node("Add", "s m", "masked"), *END], [PADDING], True),
    "ONNX Runtime's products, the batch turned":
        ([*heads("q", (1, 0, 2, 3)), *heads("k", (1, 0, 2, 3)),
          *heads("v", (1, 0, 2, 3)),
          *(node("Reshape", f"{n} second", f"{n}3") for n in "qkv"),
          fused("q3 k3", "s", transBatchA=1, transBatchB=1, transB=1,
                alpha=SCALE),
          node("Reshape", "s scores4", "s4"), node("Add", "s4 m", "masked"),
          node("Reshape", "masked scores3", "s3"), node("Softmax", "s3", "w"),
          fused("w v3", "y4", transBatchB=1), *UNBATCHED],
         [PADDING, longs("second", L, B * H, D), *BATCH_SHAPES], True),
    "filled where true":
        ([*SDPA, node("Where", "upper fill s", "masked"), *END],
         [*SHAPE, UPPER, fill(-1e9)], True),
}
# The same, but such that one attention gives other numbers.
UNLIKE = {
    "a finite fill in a whole row":
        (GPT2, [ROOT, onnx.tensor("lower", (1, 1, L, L), [False] * L * L,
                                  onnx.BOOL), fill(LOWEST),
                floats("m", (1,), [0.0])]),
    "a mask far from 0": (BERT, [ROOT, floats("m", (1, 1, L, 1),
                                              [-1e4, -1e4, 0, 0])]),
    "a fill that hides nothing": (GPT2, [ROOT, BOOLS, fill(-1.0), PADDING]),
    "a fill of NaN": (GPT2, [ROOT, BOOLS, fill(math.nan), PADDING]),
    "scores that overflow before they are scaled down":
        ([*heads("q"), *heads("k", (0, 2, 3, 1)), *heads("v"),
          node("MatMul", "q k", "s"), node("Mul", "s up", "high"),
          node("Mul", "high up", "higher"), node("Mul", "higher down", "low"),
          node("Mul", "low down", "masked"), *END],
         [floats("up", (), [1e25]), floats("down", (), [1e-25])]),
    "a cast that rounds":
        ([*MASKED, node("Cast", "masked", "half", to=onnx.FLOAT16),
          node("Cast", "half", "rounded", to=onnx.FLOAT),
          node("Softmax", "rounded", "w"), node("MatMul", "w v", "y4"), *MERGE],
         [ROOT, floats("m", (1,), [0.0])]),
    "a cap behind a mask":
        ([*MASKED, node("Tanh", "masked", "capped"),
          node("Softmax", "capped", "w"), node("MatMul", "w v", "y4"), *MERGE],
         [ROOT, floats("m", (1,), [0.0])]),
    "a mask for some of the batch":
        ([*BATCHED, node("Transpose", "k3", "kt", perm=[0, 2, 1]),
          node("MatMul", "q3 kt", "s"), node("Reshape", "s scores5", "s5"),
          node("Add", "s5 m", "masked"), node("Reshape", "masked scores3", "s3"),
          node("Softmax", "s3", "w"), node("MatMul", "w v3", "y4"), *UNBATCHED],
         [*BATCH_SHAPES, longs("scores5", B, 1, H, L, L),
          drawn("m", (H, 1, L))]),
    "a weight other than 0 for NaN":
        ([*heads("q"), *heads("k", (0, 2, 3, 1)), *heads("v"),
          node("MatMul", "q k", "s"), node("Softmax", "s", "w", axis=-1),
          node("IsNaN", "w", "empty"), node("Where", "empty root w", "mended"),
          node("MatMul", "mended v", "y4"), *MERGE], [ROOT]),
    "a factor that is no number":
        ([*heads("q"), *heads("k", (0, 2, 3, 1)), *heads("v"),
          node("MatMul", "q k", "s"), node("Mul", "s m", "masked"), *END],
         [floats("m", (L,), [1.0, 2, 3, 4])]),
}


class OnnxFusionTest(CliTest):
    def put(self, nodes, held, outputs=("y",), more=()):
        (self.folder / "model.onnx").write_bytes(onnx.model(
            [*nodes, *more], [onnx.port("x", ("B", "L", F))],
            [onnx.port(name, kind=onnx.INT64 if name == "size" else onnx.FLOAT)
             for name in outputs], [*HELD, *held], 17))
        (self.folder / "data").mkdir(exist_ok=True)
        (self.folder / "data/input_0.pb").write_bytes(
            drawn("x", (B, L, F), 2))

    def output(self):
        self.succeed("onnx-run", "model.onnx", "--data", "data", "--out", "out")
        return read_npy(self.folder / "out/output_0.npy")

    def found(self):
        return json.loads(self.succeed("inspect", "model.onnx",
                                       "--json"))["attention"]

    def both(self, nodes, held):
        """The outputs as one attention, if it is one, and node by node: the
        weights are then an output."""
        self.put(nodes, held, ("y", "w"))
        self.assertEqual(self.found(), [])
        want = self.output()
        self.put(nodes, held)
        return self.output(), want

    def expect_same(self, got, want, delta=1e-5):
        self.assertEqual(got[0], want[0])
        for g, w in zip(got[1], want[1]):
            self.assertTrue(math.isnan(g) if math.isnan(w) else
                            abs(g - w) <= delta * max(1, abs(w)), (g, w))

    def stats(self):
        return self.run_it("stats", "--onnx", "model.onnx", "--data", "data")

    def test_one_attention_gives_the_numbers_of_its_nodes(self):
        for name, (nodes, held, mask) in GRAPHS.items():
            with self.subTest(name):
                got, want = self.both(nodes, held)
                self.expect_same(got, want)
                self.assertEqual(self.stats().returncode, 0, self.stats())
                told, = self.found()
                self.assertAlmostEqual(told.pop("scale"), SCALE, delta=1e-7)
                self.assertEqual(told, {
                    "name": "y4", "pattern": "MatMul-Softmax-MatMul",
                    "num_heads": H, "num_kv_heads": H, "head_size": D,
                    "value_size": D, "causal": False, "mask": mask})

    def test_a_softmax_along_other_axes_is_none(self):
        shapes = {"q": (2, 3, 4, 4), "kt": (2, 3, 4, 4), "v": (2, 3, 4, 4)}

        def put(axis, between=(), scores="s", known=True, rank=4):
            (self.folder / "model.onnx").write_bytes(onnx.model(
                [node("MatMul", "q kt", "s"), *between,
                 node("Softmax", scores, "w", axis=axis),
                 node("MatMul", "w v", "y")],
                [onnx.port(name, shape[-rank:] if known else None)
                 for name, shape in shapes.items()], [onnx.port("y")], [], 17))
            return len(self.found())
        for axis, rank, found in ((3, 4, 1), (-1, 4, 1), (2, 4, 0), (-2, 4, 0),
                                  (1, 4, 0), (2, 3, 1), (1, 3, 0), (1, 2, 1)):
            self.assertEqual(put(axis, rank=rank), found, (axis, rank))
        # A rank that the file does not say.
        self.assertEqual(put(2, known=False), 1)
        masked = [node("Where", "q s kt", "t")]
        self.assertEqual(put(2, masked, "t"), 0)
        # The keys of all heads in a row.
        flat = [node("Flatten", "s", "t", axis=1)]
        self.assertEqual(put(-1, flat, "t"), 0)

    def test_against_its_formula(self):
        nodes = [node("MatMul", "q kt", "s"), node("Softmax", "s", "w"),
                 node("MatMul", "w v", "y")]
        self.put(nodes, [floats("q", (1, 1), [2.0]),
                         floats("kt", (1, 2), [1.0, 3.0]),
                         floats("v", (2, 1), [5.0, 7.0])])
        weight = 1 / (1 + math.exp(-4))
        self.assertAlmostEqual(self.output()[1][0],
                               5 * (1 - weight) + 7 * weight, delta=1e-6)

    def test_unsafe_fusions_run_node_by_node(self):
        for name, (nodes, held) in UNLIKE.items():
            with self.subTest(name):
                got, want = self.both(nodes, held)
                self.expect_same(got, want, delta=0)
                self.fail_with(BAD_INPUT, "y4 (MatMul) cannot run as a "
                               "single attention operation on these inputs", "stats", "--onnx",
                               "model.onnx", "--data", "data")

    def test_an_infinite_value_behind_a_mask_gives_nan(self):
        """0 times infinity, in every row."""
        nodes = [node("MatMul", "q kt", "s"), node("Add", "s m", "masked"),
                 node("Softmax", "masked", "w"), node("MatMul", "w v", "y")]
        self.put(nodes, [floats("q", (1, 1), [2.0]),
                         floats("kt", (1, 2), [1.0, 3.0]),
                         floats("m", (2,), [0.0, -math.inf]),
                         floats("v", (2, 1), [5.0, math.inf])])
        self.assertTrue(math.isnan(self.output()[1][0]))

    def test_shapes_that_are_used_elsewhere(self):
        nodes, held, _ = GRAPHS["PyTorch, booleans, rows without a key"]
        for inner in "s", "masked", "w", "empty", "mended":
            self.put(nodes, held, ("y", "size"), [node("Shape", inner, "size")])
            with self.subTest(inner):
                self.assertEqual(self.found(), [])
                self.succeed("onnx-run", "model.onnx", "--data", "data")

    def test_values_that_are_used_elsewhere(self):
        nodes, held, _ = GRAPHS["BERT"]
        for inner in "s", "scaled", "masked", "w":
            self.put(nodes, held, ("y", "copy"),
                     [node("Identity", inner, "copy")])
            with self.subTest(inner):
                self.assertEqual(self.found(), [])

    def test_errors_name_the_node_that_is_wrong(self):
        nodes, held, _ = GRAPHS["BERT"]
        self.put(nodes, [ROOT, floats("m", (5,), [0.0] * 5)])
        self.fail_with(BAD_INPUT, "masked (Add): m has shape (5)", "onnx-run",
                       "model.onnx", "--data", "data")


if __name__ == "__main__":
    cli_case.main()
