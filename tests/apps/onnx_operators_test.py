"""The operators around attention that `headwise onnx-run` runs: each against its
formula, and what it refuses."""
import math

import cli_case
import onnx_file as onnx
from cli_case import BAD_INPUT, CliTest, read_npy

FLOAT, INT64, BOOL = onnx.FLOAT, onnx.INT64, onnx.BOOL
UINT64 = onnx.UINT64
# Where the outputs have other types than the first input.
OUTPUTS = {"Cast": [INT64], "Shape": [INT64], "ArgMax": [INT64],
           "ArgMin": [INT64], "TopK": [FLOAT, INT64], "Dropout": [FLOAT, BOOL]}


def floats(shape, *values):
    return (FLOAT, shape, list(values))


def wholes(shape, *values):
    return (INT64, shape, list(values))


LEFT_OUT = (FLOAT, None, None)


def gelu(x):
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


# operator, attributes, inputs, expected outputs as (shape, values)
A = floats((2, 3), 1, 2, 3, 4, 5, 6)
CASES = (
    ("Add", {}, [A, floats((3,), 10, 20, 30)],
     [((2, 3), [11, 22, 33, 14, 25, 36])]),
    ("Sub", {}, [A, floats((2, 1), 1, 2)], [((2, 3), [0, 1, 2, 2, 3, 4])]),
    ("Mul", {}, [A, floats((), 2)], [((2, 3), [2, 4, 6, 8, 10, 12])]),
    ("Div", {}, [wholes((3,), 7, -7, 9), wholes((3,), 2, 2, -3)],
     [((3,), [3, -3, -3])]),
    ("Pow", {}, [A, floats((), 2)], [((2, 3), [1, 4, 9, 16, 25, 36])]),
    ("Pow", {}, [wholes((4,), 3, -2, 3, 0), wholes((4,), 39, 3, 0, 0)],
     [((4,), [3 ** 39, -8, 1, 1])]),
    ("Pow", {}, [wholes((3,), 10, 9, -9), floats((3,), -1, 0.5, 0.5)],
     [((3,), [0, 3, 0])]),
    ("Pow", {}, [A, wholes((), 2)], [((2, 3), [1, 4, 9, 16, 25, 36])]),
    ("Sqrt", {}, [floats((2,), 4, 9)], [((2,), [2, 3])]),
    ("Log", {}, [floats((3,), 1, 8, 0)], [((3,), [0, math.log(8), -math.inf])]),
    ("Sin", {}, [floats((2,), 1, -30)], [((2,), [math.sin(1), math.sin(-30)])]),
    ("Cos", {}, [floats((2,), 1, -30)], [((2,), [math.cos(1), math.cos(-30)])]),
    ("Relu", {}, [floats((3,), -1, 0, 2)], [((3,), [0, 0, 2])]),
    ("Relu", {}, [wholes((2,), -1, 2)], [((2,), [0, 2])]),
    ("Abs", {}, [floats((3,), -1, 0, 2)], [((3,), [1, 0, 2])]),
    ("Abs", {}, [(UINT64, (2,), [2 ** 64 - 1, 2])], [((2,), [2 ** 64 - 1, 2])]),
    ("Abs", {}, [wholes((2,), -2 ** 62, 3)], [((2,), [2 ** 62, 3])]),
    ("Clip", {}, [A, floats((), 2), floats((), 5)],
     [((2, 3), [2, 2, 3, 4, 5, 5])]),
    ("Clip", {}, [A, LEFT_OUT, floats((1,), 2)], [((2, 3), [1, 2, 2, 2, 2, 2])]),
    ("Clip", {}, [A, floats((), 5), floats((), 2)], [((2, 3), [2] * 6)]),
    ("Clip", {}, [(UINT64, (2,), [2 ** 64 - 1, 2]), (UINT64, (), [3])],
     [((2,), [2 ** 64 - 1, 3])]),
    ("Clip", {}, [A], [((2, 3), [1, 2, 3, 4, 5, 6])]),
    ("LogSoftmax", {}, [floats((2, 2), 0, math.log(3), 0, -1000)],
     [((2, 2), [math.log(0.25), math.log(0.75), 0, -1000])]),
    ("LogSoftmax", {"axis": 0}, [floats((2, 1), 0, math.log(3))],
     [((2, 1), [math.log(0.25), math.log(0.75)])]),
    ("Dropout", {"seed": 3}, [A, floats((), 0.5), (BOOL, (), [False])],
     [((2, 3), [1, 2, 3, 4, 5, 6]), ((2, 3), [1] * 6)]),
    ("Dropout", {}, [A], [((2, 3), [1, 2, 3, 4, 5, 6])]),
    ("CumSum", {}, [A, wholes((), 1)], [((2, 3), [1, 3, 6, 4, 9, 15])]),
    ("CumSum", {"exclusive": 1}, [A, wholes((1,), -1)],
     [((2, 3), [0, 1, 3, 0, 4, 9])]),
    ("CumSum", {"reverse": 1}, [A, wholes((), 0)],
     [((2, 3), [5, 7, 9, 4, 5, 6])]),
    ("CumSum", {"reverse": 1, "exclusive": 1}, [wholes((3,), 1, 2, 3),
                                                wholes((), 0)],
     [((3,), [5, 3, 0])]),
    ("Einsum", {"equation": "ij,kj->ki"}, [A, floats((1, 3), 1, 0, -1)],
     [((1, 2), [-2, -2])]),
    ("Einsum", {"equation": "ij , jk"}, [A, floats((3, 1), 1, 0, -1)],
     [((2, 1), [-2, -2])]),
    ("Einsum", {"equation": "bhid,bhjd->bhij"},
     [floats((1, 1, 2, 2), 1, 2, 3, 4), floats((1, 1, 1, 2), 10, 1)],
     [((1, 1, 2, 1), [12, 34])]),
    ("Einsum", {"equation": "...ij,...jk->...ik"},
     [floats((2, 1, 2), 1, 2, 3, 4), floats((2, 1), 1, 10)],
     [((2, 1, 1), [21, 43])]),
    ("Einsum", {"equation": "ii->i"}, [wholes((2, 2), 1, 2, 3, 4)],
     [((2,), [1, 4])]),
    ("Einsum", {"equation": "ij->"}, [A], [((), [21])]),
    ("Einsum", {"equation": "ba"}, [A], [((3, 2), [1, 4, 2, 5, 3, 6])]),
    ("Einsum", {"equation": "i,i,i->i"}, [floats((2,), 1, 2), floats((2,), 3, 4),
                                          floats((2,), 5, 6)],
     [((2,), [15, 48])]),
    ("Tile", {}, [floats((2, 1), 1, 2), wholes((2,), 2, 3)],
     [((4, 3), [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2])]),
    ("Tile", {}, [floats((2,), 1, 2), wholes((1,), 0)], [((0,), [])]),
    ("ArgMax", {}, [floats((2, 3), 1, 5, 3, 4, 5, 6)], [((1, 3), [1, 0, 1])]),
    ("ArgMax", {"axis": 1, "keepdims": 0}, [floats((2, 3), 5, 5, 3, 4, 6, 6)],
     [((2,), [0, 1])]),
    ("ArgMax", {"axis": -1, "keepdims": 0, "select_last_index": 1},
     [floats((2, 3), 5, 5, 3, 4, 6, 6)], [((2,), [1, 2])]),
    ("ArgMin", {"axis": 1}, [(UINT64, (1, 2), [2 ** 64 - 1, 2])],
     [((1, 1), [1])]),
    ("TopK", {}, [floats((2, 3), 1, 3, 2, 6, 4, 6), wholes((1,), 2)],
     [((2, 2), [3, 2, 6, 6]), ((2, 2), [1, 2, 0, 2])]),
    ("TopK", {"axis": 0, "largest": 0, "sorted": 0}, [A, wholes((1,), 1)],
     [((1, 3), [1, 2, 3]), ((1, 3), [0, 0, 0])]),
    ("ScatterND", {}, [A, wholes((2, 1), 1, -2), floats((2, 3), *range(7, 13))],
     [((2, 3), [10, 11, 12, 7, 8, 9])]),
    ("ScatterND", {}, [A, wholes((2, 2), 0, 1, 1, -1), floats((2,), 8, 9)],
     [((2, 3), [1, 8, 3, 4, 5, 9])]),
    ("Neg", {}, [floats((2,), 4, -9)], [((2,), [-4, 9])]),
    ("Tanh", {}, [floats((1,), 0.5)], [((1,), [math.tanh(0.5)])]),
    ("Erf", {}, [floats((1,), 0.5)], [((1,), [math.erf(0.5)])]),
    ("Gelu", {}, [floats((2,), 0.5, -1)], [((2,), [gelu(0.5), gelu(-1)])]),
    ("Gelu", {"approximate": "tanh"}, [floats((1,), 0.5)],
     [((1,), [0.25 * (1 + math.tanh(math.sqrt(2 / math.pi) *
                                   (0.5 + 0.044715 / 8)))])]),
    ("Where", {}, [(BOOL, (2, 1), [True, False]), A, floats((), 0)],
     [((2, 3), [1, 2, 3, 0, 0, 0])]),
    ("MatMul", {}, [A, floats((3, 1), 1, 0, -1)], [((2, 1), [-2, -2])]),
    ("MatMul", {}, [floats((3,), 1, 2, 3), floats((3,), 1, 1, 1)],
     [((), [6])]),
    ("MatMul", {}, [floats((2, 1, 2), 1, 2, 3, 4), floats((2, 1), 1, 10)],
     [((2, 1, 1), [21, 43])]),
    ("Gemm", {"transB": 1, "alpha": 2.0, "beta": 0.5},
     [A, floats((1, 3), 1, 0, -1), floats((1,), 10)], [((2, 1), [1, 1])]),
    ("Cast", {"to": INT64}, [floats((3,), 1.9, -1.9, math.nan)],
     [((3,), [1, -1, 0])]),
    ("Softmax", {"axis": 0}, [floats((2, 1), 0, math.log(3))],
     [((2, 1), [0.25, 0.75])]),
    ("LayerNormalization", {"epsilon": 0.0},
     [floats((1, 2), 1, 3), floats((2,), 2, 2), floats((2,), 1, 1)],
     [((1, 2), [-1, 3]), ((1, 1), [2]), ((1, 1), [1])]),
    ("RMSNormalization", {"epsilon": 0.0},
     [floats((1, 2), 3, 4), floats((2,), 1, 2)],
     [((1, 2), [3 / math.sqrt(12.5), 8 / math.sqrt(12.5)])]),
    ("Transpose", {}, [A], [((3, 2), [1, 4, 2, 5, 3, 6])]),
    ("Transpose", {"perm": [1, 0, 2]}, [floats((2, 2, 1), 1, 2, 3, 4)],
     [((2, 2, 1), [1, 3, 2, 4])]),
    ("Reshape", {}, [A, wholes((3,), 0, -1, 1)],
     [((2, 3, 1), [1, 2, 3, 4, 5, 6])]),
    ("Squeeze", {}, [floats((1, 2, 1), 1, 2), wholes((1,), -1)],
     [((1, 2), [1, 2])]),
    ("Unsqueeze", {}, [floats((2,), 1, 2), wholes((2,), 0, -1)],
     [((1, 2, 1), [1, 2])]),
    ("Split", {"axis": 1}, [A, wholes((2,), 1, 2)],
     [((2, 1), [1, 4]), ((2, 2), [2, 3, 5, 6])]),
    ("Split", {"axis": -1, "num_outputs": 2}, [A],
     [((2, 2), [1, 2, 4, 5]), ((2, 1), [3, 6])]),
    ("Concat", {"axis": 1}, [A, floats((2, 1), 7, 8)],
     [((2, 4), [1, 2, 3, 7, 4, 5, 6, 8])]),
    ("Slice", {}, [A, wholes((2,), 1, -1), wholes((2,), 2, -9),
                   wholes((2,), 0, 1), wholes((2,), 1, -2)],
     [((1, 2), [6, 4])]),
    ("Expand", {}, [floats((2, 1), 1, 2), wholes((3,), 2, 1, 2)],
     [((2, 2, 2), [1, 1, 2, 2, 1, 1, 2, 2])]),
    ("Gather", {"axis": 1}, [A, wholes((2,), -1, 0)],
     [((2, 2), [3, 1, 6, 4])]),
    ("Shape", {"start": 1}, [A], [((1,), [3])]),
    ("Identity", {}, [A], [((2, 3), [1, 2, 3, 4, 5, 6])]),
    ("RotaryEmbedding", {}, [
        floats((1, 1, 1, 4), 1, 2, 3, 4), floats((2, 2), 9, 9, 0, 1),
        floats((2, 2), 9, 9, 1, 0), wholes((1, 1), 1)],
     [((1, 1, 1, 4), [-3, 2, 1, 4])]),
    ("RotaryEmbedding", {"interleaved": 1}, [
        floats((1, 1, 1, 4), 1, 2, 3, 4), floats((1, 1, 2), 0, 0),
        floats((1, 1, 2), 1, 1)], [((1, 1, 1, 4), [-2, 1, -4, 3])]),
    ("RotaryEmbedding", {"interleaved": 1, "num_heads": 2,
                         "rotary_embedding_dim": 2},
     [floats((1, 1, 6), 1, 2, 3, 4, 5, 6), floats((1, 1, 1), 0),
      floats((1, 1, 1), 1)], [((1, 1, 6), [-2, 1, 3, -5, 4, 6])]),
    ("TensorScatter", {}, [floats((2, 3, 1), *[0] * 6),
                           floats((2, 1, 1), 1, 2), wholes((2,), 0, 2)],
     [((2, 3, 1), [1, 0, 0, 0, 0, 2])]),
    ("TensorScatter", {"mode": "circular"},
     [floats((1, 3, 1), 0, 0, 0), floats((1, 2, 1), 1, 2), wholes((1,), 2)],
     [((1, 3, 1), [2, 0, 1])]),
    ("TensorScatter", {"mode": "circular"},
     [floats((2, 6, 1), *[0] * 12), floats((2, 2, 1), 1, 2, 3, 4),
      wholes((2,), 6, 17)],
     [((2, 6, 1), [1, 2, 0, 0, 0, 0, 4, 0, 0, 0, 0, 3])]),
)

# operator, attributes, inputs, what the error says
REFUSED = (
    ("Add", {}, [A, floats((2,), 1, 2)],
     "op (Add): x1 has shape (2), expected axes that are broadcast to (2, 3)"),
    ("Add", {}, [A, wholes((3,), 1, 2, 3)],
     "op (Add): x1 holds int64 elements, expected float32"),
    ("Div", {}, [wholes((1,), 1), wholes((1,), 0)], "op (Div): x1 has a 0"),
    ("MatMul", {}, [A, A], "op (MatMul): x1 has shape (2, 3), expected a "
                           "matrix of 3 rows"),
    ("Reshape", {}, [A, wholes((1,), 4)],
     "op (Reshape): x1 is [4], expected a shape for the elements of (2, 3)"),
    ("Reshape", {}, [A, wholes((3,), 2 ** 62, 2 ** 62, 0)],
     "op (Reshape): x1 is [4611686018427387904, 4611686018427387904, 0]"),
    ("Transpose", {"perm": [0, 0]}, [A], "op (Transpose): perm is not an order"),
    ("Split", {"axis": 1}, [A, wholes((2,), 2, 2)],
     "op (Split): x1 does not divide 3 elements among 2 outputs"),
    ("Concat", {"axis": 0}, [A, floats((2,), 1, 2)],
     "op (Concat): x1 has shape (2), expected (2, 3)"),
    ("Concat", {"axis": 2}, [A], "op (Concat): axis is 2, expected -2 to 1"),
    ("Gather", {}, [A, wholes((1,), 2)],
     "op (Gather): x1 has 2, expected -2 to 1"),
    ("Softmax", {"axis": -3}, [A], "op (Softmax): axis is -3"),
    ("Cast", {"to": onnx.STRING}, [A], "op (Cast): to is string"),
    ("Expand", {}, [floats((1,), 1), wholes((2,), 2 ** 40, 2 ** 40)],
     "op (Expand) needs more bytes than can be counted"),
    ("Unsqueeze", {}, [A, wholes((7,), *range(7))],
     "op (Unsqueeze) makes a tensor of 9 axes, expected at most 8 axes"),
    ("Squeeze", {}, [A, wholes((1,), 0)],
     "op (Squeeze): x0 has shape (2, 3), expected 1 element along axis 0"),
    ("RotaryEmbedding", {}, [
        floats((1, 1, 1, 2), 1, 2), floats((1, 1), 1), floats((1, 1), 1),
        wholes((1, 1), 1)], "op (RotaryEmbedding): x3 has 1, expected 0 to"),
    ("TensorScatter", {}, [floats((1, 3, 1), 0, 0, 0),
                           floats((1, 2, 1), 1, 2), wholes((1,), 2)],
     "op (TensorScatter): x2 has 2, expected 0 to 1"),
    ("TensorScatter", {"mode": "circular"},
     [floats((1, 3, 1), 0, 0, 0), floats((1, 2, 1), 1, 2), wholes((1,), -1)],
     "op (TensorScatter): x2 has -1, expected at least 0"),
    ("Pow", {}, [wholes((1,), 2), wholes((1,), -1)],
     "op (Pow): x1 has -1, expected at least 0 for integers"),
    ("Pow", {}, [(BOOL, (1,), [True]), A],
     "op (Pow): x0 holds bool elements, expected numbers"),
    ("LayerNormalization", {}, [A, (onnx.FLOAT16, (3,), [1, 1, 1])],
     "op (LayerNormalization): x1 holds float16 elements, expected float32"),
    ("RMSNormalization", {}, [A, wholes((3,), 1, 1, 1)],
     "op (RMSNormalization): x1 holds int64 elements, expected "
     "floating-point numbers"),
    ("Concat", {}, [A], "op (Concat): axis is left out, expected an axis"),
    ("Split", {"axis": 0}, [A], "op (Split): num_outputs is left out, "
                                "expected num_outputs or lengths"),
    ("Split", {"axis": 0, "num_outputs": 2}, [A, wholes((2,), 1, 1)],
     "op (Split): num_outputs is given next to lengths, expected num_outputs "
     "or lengths"),
    ("Clip", {}, [A, floats((2,), 1, 2)],
     "op (Clip): x1 has shape (2), expected 1 element"),
    ("Clip", {}, [A, wholes((), 1)],
     "op (Clip): x1 holds int64 elements, expected float32"),
    ("Dropout", {}, [A, floats((), 0.5), (BOOL, (), [True])],
     "op (Dropout): x2 is not false, expected false, because dropout in "
     "training is random"),
    ("CumSum", {}, [A, wholes((), 2)],
     "op (CumSum): x1 is 2, expected -2 to 1"),
    ("CumSum", {}, [A, wholes((2,), 0, 1)],
     "op (CumSum): x1 has shape (2), expected 1 element"),
    ("Einsum", {"equation": "ij,jk"}, [A, A],
     "op (Einsum): x1 has shape (2, 3), expected axes that fit the other inputs "
     "of the equation"),
    *(("Einsum", {"equation": equation}, [A],
       f"op (Einsum): equation is {equation}, expected letters for the axes of "
       "each input and of the output")
      for equation in ("ij,jk", "i", "ijk", "ij->ik", "ij->ii", "i.j", "i....j",
                       "...->i", "...j->j", "ij->k->", "1j", "ij,")),
    ("Tile", {}, [A, wholes((1,), 2)],
     "op (Tile): x1 has shape (1), expected 2 elements"),
    ("Tile", {}, [A, wholes((2,), 2, -1)],
     "op (Tile): x1 has -1, expected at least 0"),
    ("ArgMax", {"axis": 2}, [A], "op (ArgMax): axis is 2, expected -2 to 1"),
    ("ArgMax", {}, [floats((0, 2))],
     "op (ArgMax): x0 has shape (0, 2), expected at least 1 element along axis "
     "0"),
    ("TopK", {}, [A, wholes((1,), 4)],
     "op (TopK): x1 is not a number of elements to take, expected one number, "
     "0 to 3"),
    ("ScatterND", {"reduction": "add"}, [A, wholes((1, 1), 0),
                                         floats((1, 3), 1, 2, 3)],
     "op (ScatterND): reduction is add, expected none"),
    ("ScatterND", {}, [A, wholes((1, 1), 2), floats((1, 3), 1, 2, 3)],
     "op (ScatterND): x1 has 2, expected -2 to 1"),
    ("ScatterND", {}, [A, wholes((1, 1), 0), floats((3,), 1, 2, 3)],
     "op (ScatterND): x2 has shape (3), expected (1, 3)"),
    ("ScatterND", {}, [A, wholes((1, 3), 0, 0, 0), floats((1,), 1)],
     "op (ScatterND): x1 has shape (1, 3), expected a last axis of at most 2"),
    ("Mod", {}, [A, A], "op (Mod): fmod is 0, expected 1 for floating-point "
                        "numbers"),
    ("Gelu", {"approximate": "fast"}, [A],
     "op (Gelu): approximate is fast, expected none or tanh"),
)


class OperatorsTest(CliTest):
    def put(self, op, attributes, inputs, outputs, opset=25):
        """A model of one node whose inputs are in it."""
        names = [f"x{i}" if each is not LEFT_OUT else ""
                 for i, each in enumerate(inputs)]
        made = [f"y{i}" for i in range(outputs)]
        held = [onnx.tensor(name, shape, values, kind)
                for name, (kind, shape, values) in zip(names, inputs) if name]
        kinds = OUTPUTS.get(op, [inputs[1 if op == "Where" else 0][0]] * outputs)
        (self.folder / "model.onnx").write_bytes(onnx.model(
            [onnx.node(op, names, made, name="op", **attributes)], [],
            [onnx.port(name, kind=kind) for name, kind in zip(made, kinds)],
            held, opset=opset))
        (self.folder / "data").mkdir(exist_ok=True)
        return ("onnx-run", "model.onnx", "--data", "data", "--out", "out")

    def expect(self, op, attributes, inputs, expected, opset=25):
        with self.subTest(op, attributes=attributes, opset=opset):
            self.succeed(*self.put(op, attributes, inputs, len(expected), opset))
            for number, (shape, want) in enumerate(expected):
                got_shape, got = read_npy(
                    self.folder / f"out/output_{number}.npy")
                self.assertEqual(got_shape, shape)
                for g, w in zip(got, want):
                    if not math.isfinite(w):
                        self.assertEqual(str(g), str(w))
                    else:
                        self.assertAlmostEqual(g, w, delta=1e-6 * (1 + abs(w)))

    def test_each_operator_against_its_formula(self):
        for case in CASES:
            self.expect(*case)

    def test_what_the_newest_opsets_changed(self):
        """Mod of floating-point numbers rounds down, as Python's % does."""
        inf = math.inf
        a = (7.5, -7.5, 7.5, -7.5, 0, -0.0, inf, 1, 5, -5, 5)
        b = (2, 2, -2, -2, -3, 3, 2, 0, inf, inf, -inf)
        want = [1.5, 0.5, -0.5, -1.5, -0.0, 0, math.nan, math.nan, 5, inf, -inf]
        self.expect("Mod", {}, [floats((11,), *a), floats((11,), *b)],
                    [((11,), want)], opset=28)
        for stash in {}, {"stash_type": 1}:
            command = self.put("Range", stash, [
                (onnx.FLOAT16, (), [each]) for each in (2046, 2051, 1.5)], 1, 27)
            self.succeed(*command)
            self.assertEqual(list(read_npy(self.folder / "out/output_0.npy")[1]),
                             [2046, 2048, 2048, 2050])
        for opset, stash, message in (
                (26, {"stash_type": 1}, "stash_type is given in opset 26, "
                                        "expected opset 27 to 28"),
                (27, {"stash_type": 10}, "stash_type is 10, expected 1 (float32) "
                                         "or 11 (float64)")):
            self.fail_with(BAD_INPUT, message, *self.put(
                "Range", stash, [floats((), 0), floats((), 3), floats((), 1)], 1,
                opset))

    def test_a_matrix_product_of_any_size(self):
        """Whole tiles of rows and columns, and what is left over."""
        for m, k, n in (1, 1, 1), (4, 3, 8), (5, 7, 9), (9, 2, 17), (3, 0, 2):
            a = [((i * 7) % 11) / 4 - 1 for i in range(m * k)]
            b = [((i * 5) % 13) / 8 - 1 for i in range(k * n)]
            want = [sum(a[i * k + p] * b[p * n + j] for p in range(k))
                    for i in range(m) for j in range(n)]
            turned = [b[p * n + j] for j in range(n) for p in range(k)]
            for kind in FLOAT, onnx.DOUBLE:
                self.expect("MatMul", {}, [(kind, (m, k), a), (kind, (k, n), b)],
                            [((m, n), want)])
                self.expect("Gemm", {"transB": 1},
                            [(kind, (m, k), a), (kind, (n, k), turned)],
                            [((m, n), want)])

    def put_one(self, op, inputs, kind, **attributes):
        """A node whose output has another type than its first input."""
        names = [f"x{i}" for i in range(len(inputs))]
        held = [onnx.tensor(name, shape, values, held_as)
                for name, (held_as, shape, values) in zip(names, inputs)]
        (self.folder / "model.onnx").write_bytes(onnx.model(
            [onnx.node(op, names, ["y"], name="op", **attributes)], [],
            [onnx.port("y", kind=kind)], held, opset=25))
        (self.folder / "data").mkdir(exist_ok=True)
        self.succeed("onnx-run", "model.onnx", "--data", "data", "--out", "out")
        return list(read_npy(self.folder / "out/output_0.npy")[1])

    def test_a_cast_rounds_once(self):
        for kind, to, number, want in (
                (INT64, FLOAT, 2 ** 60 + 2 ** 36 + 1, 2 ** 60 + 2 ** 37),
                (INT64, FLOAT, -(2 ** 60 + 2 ** 36 + 1), -2 ** 60 - 2 ** 37),
                (INT64, FLOAT, 2 ** 60 + 2 ** 36, 2 ** 60),
                (INT64, FLOAT, -2 ** 63, -2 ** 63),
                (INT64, onnx.BFLOAT16, 2 ** 60 + 2 ** 52 + 1, 2 ** 60 + 2 ** 53),
                (onnx.DOUBLE, onnx.FLOAT16, 65519.999999, 65504),
                (onnx.DOUBLE, onnx.FLOAT16, 65520.0, math.inf),
                (onnx.DOUBLE, onnx.FLOAT16, 1 + 2 ** -11 + 2 ** -40,
                 1 + 2 ** -10),
                (onnx.DOUBLE, onnx.FLOAT16, -1 - 3 * 2 ** -11 + 2 ** -40,
                 -1 - 2 ** -10),
                (onnx.DOUBLE, onnx.BFLOAT16, 1 + 2 ** -8 + 2 ** -40,
                 1 + 2 ** -7)):
            with self.subTest(number=number, to=to):
                self.assertEqual(
                    self.put_one("Cast", [(kind, (1,), [number])], to, to=to),
                    [want])

    def test_rms_normalization_has_the_type_of_its_scale(self):
        ones = (onnx.FLOAT16, (2,), [1, 1])
        got = self.put_one("RMSNormalization", [floats((1, 2), 3, 4), ones],
                           onnx.FLOAT16, epsilon=0.0)
        self.assertAlmostEqual(got[0], 3 / math.sqrt(12.5), delta=1e-3)

    def test_invalid_inputs_are_errors(self):
        for op, attributes, inputs, message in REFUSED:
            with self.subTest(message):
                command = self.put(op, attributes, inputs,
                                   2 if op == "Split" else 1)
                code = cli_case.OUT_OF_RESOURCES if "needs more bytes" in message \
                    else BAD_INPUT
                self.fail_with(code, message, *command)

    def test_a_constant(self):
        (self.folder / "model.onnx").write_bytes(onnx.model(
            [onnx.node("Constant", [], ["c"], value_floats=[0.5, 2.0]),
             onnx.node("Constant", [], ["i"], value_ints=[3])],
            [], [onnx.port("c"), onnx.port("i", kind=INT64)], opset=25))
        (self.folder / "data").mkdir()
        self.succeed("onnx-run", "model.onnx", "--data", "data", "--out", "out")
        self.assertEqual(list(read_npy(self.folder / "out/output_0.npy")[1]),
                         [0.5, 2.0])
        self.assertEqual(list(read_npy(self.folder / "out/output_1.npy")[1]),
                         [3])


if __name__ == "__main__":
    cli_case.main()
