"""The operators of which ONNX's function bodies are made, in `headwise onnx-run`:
each against its formula, and what it refuses."""
import math

import cli_case
import onnx_file as onnx
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, CliTest, read_npy

FLOAT, INT64, BOOL, UINT64 = onnx.FLOAT, onnx.INT64, onnx.BOOL, onnx.UINT64
INF, NAN = math.inf, math.nan
LOWEST, HIGHEST = -2 ** 63, 2 ** 63 - 1


def floats(shape, *values):
    return (FLOAT, shape, list(values))


def wholes(shape, *values):
    return (INT64, shape, list(values))


def bools(*values):
    return (BOOL, (len(values),), [bool(each) for each in values])


A = floats((2, 3), 1, 2, 3, 4, 5, 6)
B = floats((3,), 2, 2, NAN)
ROW = floats((3,), 1, 2, 3)
BITS = bools(0, 0, 1, 1), bools(0, 1, 0, 1)
NUMBERS = (UINT64, (2,), [1, 2 ** 64 - 1]), (UINT64, (2,), [2, 2])


def number(value, kind=INT64):
    return (kind, (), [value])


# operator, attributes, inputs, type and shape and values of the output
CASES = (
    ("CastLike", {}, [floats((2,), 1.9, -1.9), wholes((1,), 9)],
     wholes((2,), 1, -1)),
    ("Mod", {}, [wholes((4,), 7, -7, 7, -7), wholes((4,), 3, 3, -3, -3)],
     wholes((4,), 1, 2, -2, -1)),
    ("Mod", {"fmod": 1}, [wholes((2,), -7, 7), wholes((2,), 3, -3)],
     wholes((2,), -1, 1)),
    ("Mod", {}, [wholes((1,), LOWEST), wholes((1,), -1)], wholes((1,), 0)),
    ("Mod", {}, [(UINT64, (1,), [2 ** 64 - 1]), (UINT64, (1,), [10])],
     (UINT64, (1,), [5])),
    ("Mod", {"fmod": 1}, [floats((2,), -7.5, 1), floats((2,), 2, 0)],
     floats((2,), -1.5, NAN)),
    ("Exp", {}, [floats((2,), 1, -INF)], floats((2,), math.e, 0)),
    ("Floor", {}, [floats((2,), 1.5, -1.5)], floats((2,), 1, -2)),
    ("Reciprocal", {}, [floats((2,), 4, 0)], floats((2,), 0.25, INF)),
    ("Sigmoid", {}, [floats((3,), 0, 1, -1000)],
     floats((3,), 0.5, 1 / (1 + math.exp(-1)), 0)),
    ("Equal", {}, [A, B], (BOOL, (2, 3), [0, 1, 0, 0, 0, 0])),
    ("Less", {}, [A, B], (BOOL, (2, 3), [1, 0, 0, 0, 0, 0])),
    ("LessOrEqual", {}, [A, B], (BOOL, (2, 3), [1, 1, 0, 0, 0, 0])),
    ("Greater", {}, [A, B], (BOOL, (2, 3), [0, 0, 0, 1, 1, 0])),
    ("GreaterOrEqual", {}, [A, B], (BOOL, (2, 3), [0, 1, 0, 1, 1, 0])),
    ("Less", {}, list(NUMBERS), bools(1, 0)),
    ("Max", {}, list(NUMBERS), (UINT64, (2,), [2, 2 ** 64 - 1])),
    ("And", {}, list(BITS), bools(0, 0, 0, 1)),
    ("Or", {}, list(BITS), bools(0, 1, 1, 1)),
    ("Xor", {}, list(BITS), bools(0, 1, 1, 0)),
    ("Not", {}, [bools(0, 1)], bools(1, 0)),
    ("IsNaN", {}, [floats((3,), math.nan, 0, math.inf)], bools(1, 0, 0)),
    ("Max", {}, [A, B, floats((), 4)],
     floats((2, 3), 4, 4, NAN, 4, 5, NAN)),
    ("Min", {}, [wholes((2,), 3, -3), wholes((), 1)], wholes((2,), 1, -3)),
    ("Sum", {}, [A, ROW, floats((2, 1), 0, 10)],
     floats((2, 3), 2, 4, 6, 15, 17, 19)),
    ("ReduceMax", {}, [A, wholes((1,), -1)], floats((2, 1), 3, 6)),
    ("ReduceMax", {}, [wholes((0, 2)), wholes((1,), 0)],
     wholes((1, 2), LOWEST, LOWEST)),
    ("ReduceMax", {"keepdims": 0}, [bools(0, 1), wholes((1,), 0)],
     (BOOL, (), [1])),
    ("ReduceMin", {"keepdims": 0}, [A, wholes((1,), 0)],
     floats((3,), 1, 2, 3)),
    ("ReduceMin", {}, [floats((3,), 1, NAN, 0)], floats((1,), NAN)),
    ("ReduceMin", {}, [floats((0, 1)), wholes((1,), 0)], floats((1, 1), INF)),
    ("ReduceSum", {"keepdims": 0}, [A], floats((), 21)),
    ("ReduceSum", {"noop_with_empty_axes": 1}, [ROW, wholes((0,))], ROW),
    ("ReduceSum", {}, [wholes((2,), HIGHEST, 1)], wholes((1,), LOWEST)),
    ("ReduceMean", {}, [A, wholes((2,), 1, 0)], floats((1, 1), 3.5)),
    ("ReduceMean", {}, [wholes((2,), -3, 0)], wholes((1,), -1)),
    ("ConstantOfShape", {}, [wholes((2,), 1, 2)], floats((1, 2), 0, 0)),
    ("ConstantOfShape", {"value": onnx.tensor("", (1,), [7], INT64)},
     [wholes((0,))], wholes((), 7)),
    ("Range", {}, [number(3), number(9), number(3)], wholes((2,), 3, 6)),
    ("Range", {}, [number(1), number(9), number(-1)], wholes((0,))),
    ("Range", {}, [number(HIGHEST), number(LOWEST), number(LOWEST)],
     wholes((2,), HIGHEST, -1)),
    ("Range", {}, [number(1, FLOAT), number(0, FLOAT), number(-0.25, FLOAT)],
     floats((4,), 1, 0.75, 0.5, 0.25)),
    ("Pad", {}, [A, wholes((4,), 0, 1, 1, -1)],
     floats((3, 3), 0, 1, 2, 0, 4, 5, 0, 0, 0)),
    ("Pad", {}, [A, wholes((2,), -1, 1), floats((), 9), wholes((1,), -2)],
     floats((2, 3), 4, 5, 6, 9, 9, 9)),
    ("Pad", {"mode": "edge"}, [ROW, wholes((2,), 2, 1)],
     floats((6,), 1, 1, 1, 2, 3, 3)),
    ("Pad", {"mode": "reflect"}, [ROW, wholes((2,), 3, 4)],
     floats((10,), 2, 3, 2, 1, 2, 3, 2, 1, 2, 3)),
    ("Pad", {"mode": "wrap"}, [ROW, wholes((2,), 4, 1)],
     floats((8,), 3, 1, 2, 3, 1, 2, 3, 1)),
    ("Size", {}, [A], wholes((), 6)),
    ("Flatten", {"axis": 2}, [A], floats((6, 1), 1, 2, 3, 4, 5, 6)),
    ("Flatten", {"axis": -2}, [A], floats((1, 6), 1, 2, 3, 4, 5, 6)),
    ("Trilu", {}, [A, number(1)], floats((2, 3), 0, 2, 3, 0, 0, 6)),
    ("Trilu", {"upper": 0}, [A], floats((2, 3), 1, 0, 0, 4, 5, 0)),
    # Each step is rounded, and so is each sum of the bfloat16 ones.
    ("Softmax", {}, [(onnx.BFLOAT16, (4,), [0, 0, -0.5, -2])],
     (onnx.BFLOAT16, (4,), [0.36328125, 0.36328125, 0.2197265625,
                            0.04931640625])),
)

HUGE = 2 ** 62

# operator, attributes, inputs, what the error says
REFUSED = (
    ("Mod", {}, [wholes((1,), 1), wholes((1,), 0)],
     "op (Mod): x1 has a 0, expected divisors other than 0"),
    ("Mod", {}, [A, A], "op (Mod): fmod is 0, expected 1 for floating-point "
                        "numbers"),
    ("Not", {}, [A], "op (Not): x0 holds float32 elements, expected bool"),
    ("And", {}, [A, A], "op (And): x0 holds float32 elements, expected bool"),
    ("Less", {}, list(BITS), "op (Less): x0 holds bool elements, expected "
                             "numbers"),
    ("Equal", {}, [A, wholes((1,), 1)],
     "op (Equal): x1 holds int64 elements, expected float32"),
    ("Max", {}, [A, floats((2,), 1, 2)],
     "op (Max): x1 has shape (2), expected axes that are broadcast to (2, 3)"),
    ("Sum", {}, [A, wholes((1,), 1)],
     "op (Sum): x1 holds int64 elements, expected float32"),
    ("ReduceMax", {}, [A, wholes((1,), 2)],
     "op (ReduceMax): x1 is 2, expected -2 to 1"),
    ("ReduceMax", {}, [A, wholes((2,), 1, -1)],
     "op (ReduceMax): x1 names an axis twice, expected distinct axes"),
    ("ReduceMax", {"axes": [0]}, [A],
     "op (ReduceMax): axes is given in opset 25, expected axes as an input"),
    ("ReduceMean", {}, [wholes((0,))],
     "op (ReduceMean): x0 has shape (0), expected at least 1 element to "
     "average (integer mean)"),
    ("ConstantOfShape", {}, [wholes((2,), 2, -1)],
     "op (ConstantOfShape): x0 has -1, expected nonnegative extents"),
    ("ConstantOfShape", {"value": onnx.tensor("", (2,), [7, 8], INT64)},
     [wholes((1,), 1)],
     "op (ConstantOfShape): value is of another kind, expected a tensor of 1 "
     "element"),
    ("ConstantOfShape", {}, [wholes((9,), *[1] * 9)],
     "op (ConstantOfShape) makes a tensor of 9 axes, expected at most 8 axes"),
    ("ConstantOfShape", {}, [wholes((2,), HUGE, HUGE)],
     "op (ConstantOfShape) needs more bytes than can be counted"),
    ("ConstantOfShape", {}, [wholes((2,), HUGE, 0)],
     "op (ConstantOfShape) has shape (4611686018427387904, 0)"),
    ("Range", {}, [number(0), number(9), number(0)],
     "op (Range): x2 is 0, expected a nonzero step"),
    ("Range", {}, [number(0), number(HUGE), number(1)],
     "op (Range) needs more bytes than can be counted"),
    ("Range", {}, [number(0, FLOAT), number(3e38, FLOAT), number(1e-38, FLOAT)],
     "op (Range) needs more bytes than can be counted"),
    ("Range", {}, [number(0, FLOAT), number(NAN, FLOAT), number(1, FLOAT)],
     "op (Range): x1 is not finite, expected a finite number"),
    ("Range", {}, [number(0, onnx.FLOAT16)] * 3,
     "op (Range): x0 holds float16 elements, expected float32, float64, int16, "
     "int32 or int64"),
    ("Range", {}, [number(0), wholes((2,), 1, 2), number(1)],
     "op (Range): x1 has shape (2), expected 1 element"),
    ("Pad", {}, [A, wholes((2,), 1, 1)],
     "op (Pad): x1 has shape (2), expected (4)"),
    ("Pad", {}, [A, wholes((4,), 0, -2, 0, -2)],
     "op (Pad): x1 has -2 and -2 for axis 1, expected padding that an axis "
     "of 3 elements allows"),
    ("Pad", {}, [A, wholes((4,), 0, LOWEST, 0, LOWEST)],
     "op (Pad): x1 has -9223372036854775808 and -9223372036854775808 for axis 1"),
    ("Pad", {"mode": "reflect"}, [floats((0,)), wholes((2,), 1, 1)],
     "op (Pad): x1 has 1 and 1 for axis 0, expected padding that an axis of "
     "0 elements allows"),
    ("Pad", {}, [A, wholes((4,), 0, HIGHEST, 0, HIGHEST)], "op (Pad) needs"),
    ("Pad", {}, [A, wholes((4,), 0, HUGE, HUGE, 0)],
     "op (Pad) needs more bytes than can be counted"),
    ("Pad", {"mode": "mirror"}, [A, wholes((4,), 0, 0, 0, 0)],
     "op (Pad): mode is mirror, expected constant, edge, reflect or wrap"),
    ("Pad", {}, [A, wholes((4,), 0, 0, 0, 0), number(1)],
     "op (Pad): x2 holds int64 elements, expected float32"),
    ("Flatten", {"axis": 3}, [A], "op (Flatten): axis is 3, expected -2 to 2"),
    ("Trilu", {}, [ROW], "op (Trilu): x0 has shape (3), expected at least 2 axes"),
    ("Trilu", {}, [A, wholes((2,), 0, 1)],
     "op (Trilu): x1 has shape (2), expected 1 element"),
)


class BodyOperatorsTest(CliTest):
    def put(self, nodes, outputs, held, opset=25):
        (self.folder / "model.onnx").write_bytes(
            onnx.model(nodes, [], outputs, held, opset=opset))
        (self.folder / "data").mkdir(exist_ok=True)
        return ("onnx-run", "model.onnx", "--data", "data", "--out", "out")

    @staticmethod
    def inputs_of(inputs, prefix="x"):
        names = [f"{prefix}{i}" for i in range(len(inputs))]
        return names, [onnx.tensor(name, shape, values, kind)
                       for name, (kind, shape, values) in zip(names, inputs)]

    def test_each_operator_against_its_formula(self):
        """All of them are nodes of one model."""
        nodes, outputs, held = [], [], []
        for n, (op, attributes, inputs, (kind, _, _)) in enumerate(CASES):
            names, tensors = self.inputs_of(inputs, f"in{n}_")
            held += tensors
            nodes.append(onnx.node(op, names, [f"y{n}"], **attributes))
            outputs.append(onnx.port(f"y{n}", kind=kind))
        self.succeed(*self.put(nodes, outputs, held), "--memory-limit", "64")
        for n, (op, attributes, _, (_, shape, want)) in enumerate(CASES):
            with self.subTest(op, attributes=attributes):
                got_shape, got = read_npy(self.folder / f"out/output_{n}.npy")
                self.assertEqual(got_shape, shape)
                self.assertEqual(len(got), len(want))
                for g, w in zip(got, want):
                    if math.isnan(w):
                        self.assertTrue(math.isnan(g), got)
                    elif isinstance(w, int) or math.isinf(w):
                        self.assertEqual(g, w)
                    else:
                        self.assertAlmostEqual(g, w, delta=1e-6 * (1 + abs(w)))

    def test_invalid_inputs_are_errors(self):
        for op, attributes, inputs, message in REFUSED:
            with self.subTest(message):
                names, held = self.inputs_of(inputs)
                command = self.put(
                    [onnx.node(op, names, ["y"], name="op", **attributes)],
                    [onnx.port("y", kind=inputs[0][0])], held)
                self.fail_with(
                    OUT_OF_RESOURCES if " needs" in message else BAD_INPUT,
                    message, *command)

    def test_axes_are_an_attribute_in_old_opsets(self):
        names, held = self.inputs_of([A])
        self.succeed(*self.put([onnx.node("ReduceMax", names, ["y"], axes=[1])],
                               [onnx.port("y")], held, opset=17))
        self.assertEqual(read_npy(self.folder / "out/output_0.npy")[0], (2, 1))
        names, held = self.inputs_of([A, wholes((1,), 1)])
        self.fail_with(
            BAD_INPUT,
            "x1 is given in opset 17, expected axes as an attribute",
            *self.put([onnx.node("ReduceMax", names, ["y"])],
                      [onnx.port("y")], held, opset=17))

    def test_axes_of_pads_are_refused_in_old_opsets(self):
        names, held = self.inputs_of(
            [A, wholes((2,), 0, 0), floats((), 0), wholes((1,), 0)])
        self.fail_with(
            BAD_INPUT, "x3 is given in opset 17, expected opset 18 to 28",
            *self.put([onnx.node("Pad", names, ["y"])], [onnx.port("y")], held,
                      opset=17))


if __name__ == "__main__":
    cli_case.main()
