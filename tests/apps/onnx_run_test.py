"""`headwise onnx-run`: ONNX's own cases, where tensors come from and go to, and
what is refused."""
import json
import math
import os
import pathlib
import struct

import cli_case
import onnx_file as onnx
from cli_case import BAD_INPUT, OK, CliTest, npy_bytes, read_npy
from params_case import npz_bytes

CHECK_FAILED = 1
Q, K, V = (1, 1, 2, 2), (1, 1, 3, 2), (1, 1, 3, 2)


def numbers(shape, seed=0):
    return [((n * 37 + 11 + seed) % 101) / 50 - 1
            for n in range(math.prod(shape))]


def attention_model(inputs=("Q", "K", "V"), outputs=("Y",), opset=23, more=b"",
                    initializers=(), kind=onnx.FLOAT, **attributes):
    ports = [onnx.port(name, kind=kind) for name in inputs
             if name and name != "held"]
    return onnx.model(
        [onnx.node("Attention", inputs, outputs, name="attn", **attributes)],
        ports, [onnx.port(name, kind=kind) for name in outputs if name],
        initializers, opset, more)


class OnnxCase(CliTest):
    def put_model(self, data, name="model.onnx"):
        (self.folder / name).write_bytes(data)
        return name

    def put_data(self, **tensors):
        (self.folder / "data").mkdir(exist_ok=True)
        for name, data in tensors.items():
            (self.folder / "data" / name.replace("__", ".")).write_bytes(data)

    def put_inputs(self):
        self.put_data(input_0__pb=onnx.tensor("Q", Q, numbers(Q)),
                      input_1__pb=onnx.tensor("K", K, numbers(K, 1)),
                      input_2__pb=onnx.tensor("V", V, numbers(V, 2)))

    def onnx_run(self, *more):
        return self.succeed("onnx-run", "model.onnx", "--data", "data", *more)

    def refuse(self, message, data, *more):
        self.put_model(data)
        return self.fail_with(BAD_INPUT, message, "onnx-run", "model.onnx",
                              "--data", "data", *more)


class FixturesTest(OnnxCase):
    def cases(self):
        folder = pathlib.Path(
            os.environ.get("HEADWISE_FIXTURES", cli_case.FIXTURES)) / "onnx"
        cases = sorted(path.parent for path in folder.glob("*/model.onnx"))
        if not cases:
            self.skipTest(f"no cases in {folder} (script/golden makes them)")
        return cases

    def test_every_case_at_a_tenth_of_its_tolerance(self):
        for case in self.cases():
            told = json.loads((case / "case.json").read_text())["tensors"]
            inputs = case / "test_data_set_0"
            with self.subTest(case.name):
                self.succeed("onnx-run", case / "model.onnx", "--data", inputs,
                             "--out", case.name)
                self.check_outputs(case, told)

    def check_outputs(self, case, told):
        sixteen_bit = "bf16" in case.name or any(
            each["dtype"] == "float16" for each in told.values())
        strict = 1 if sixteen_bit else 10
        wanted = sorted(each["file"] for each in told.values()
                        if each["role"] == "output")
        self.assertTrue(wanted)
        for file in wanted:
            data = (case / file).read_bytes()
            shape, want = read_npy_of_case(data)
            out = self.folder / case.name / pathlib.Path(file).name
            got_shape, got = read_npy(out)
            self.assertEqual(got_shape, shape)
            for n, (g, w) in enumerate(zip(got, want)):
                close = g == w or math.isnan(g) and math.isnan(w) or \
                    abs(g - w) <= (1e-7 + 1e-3 * abs(w)) / strict
                self.assertTrue(close, (file, n, g, w))


def one_node(op, inputs, outputs=("y",), opset=24, **attributes):
    """A model of one node whose inputs and outputs are float32 of any shape."""
    return onnx.model([onnx.node(op, inputs, outputs, name="n", **attributes)],
                      [onnx.port(name) for name in inputs],
                      [onnx.port(name) for name in outputs if name],
                      opset=opset)


class LimitsTest(OnnxCase):
    def run_shapes(self, data, *shapes):
        self.put_model(data)
        self.put_data(**{f"input_{n}__pb": onnx.tensor("x", shape, raw=bytes(
            4 * math.prod(shape))) for n, shape in enumerate(shapes)})
        return self.run_it("onnx-run", "model.onnx", "--data", "data")

    def test_an_empty_tensor_with_a_huge_axis(self):
        huge, bare = 2 ** 40, (0, 0)
        for name, data, shapes in (
                ("MatMul", one_node("MatMul", "xb"), ((huge, 0), bare)),
                ("Attention", one_node("Attention", "qkv"), ((1, huge, 1, 0),) * 3),
                ("RotaryEmbedding", one_node("RotaryEmbedding", "xcs"),
                 ((1, huge, 1, 0), (1, 1, 0), (1, 1, 0))),
                ("TensorScatter", one_node("TensorScatter", "xu"), ((1, huge, 1, 0),) * 2)):
            with self.subTest(name):
                done = self.run_shapes(data, *shapes)
                self.assertEqual(done.returncode, BAD_INPUT, done)
                self.assertIn("data/input_0.pb has shape (", done.stderr.decode())
                self.assertIn("axes of at most 16777216 together",
                              done.stderr.decode())
        self.assertEqual(self.run_shapes(one_node("MatMul", "xb"),
                                         (2 ** 24, 0), bare).returncode, OK)

    def test_an_empty_tensor_with_a_huge_axis_that_a_node_makes(self):
        held = onnx.tensor("s", (2,), (2 ** 40, 0), onnx.INT64)
        for op in ("Reshape", "Expand"):
            data = onnx.model([onnx.node(op, ["x", "s"], ["y"], name="n",
                                         **({"allowzero": 1} if op == "Reshape"
                                            else {}))],
                              [onnx.port("x")], [onnx.port("y")], [held], 24)
            done = self.run_shapes(data, (1, 0))
            self.assertEqual(done.returncode, BAD_INPUT, done)
            self.assertIn(f"n ({op})", done.stderr.decode())

    def test_attention_without_features_computes_nothing(self):
        done = self.run_shapes(one_node("Attention", "qkv"),
                               *((1, 1, 2 ** 24, 0),) * 3)
        self.assertEqual(done.returncode, OK, done)

    def test_memory_is_limited(self):
        wide, high = 2 ** 14, 2 ** 13
        doubling = onnx.model(
            [onnx.node("Concat", [f"x{n}"] * 2, [f"x{n + 1}"], name=f"c{n}",
                       axis=0) for n in range(40)],
            [onnx.port("x0")], [onnx.port("x40")])
        expand = onnx.model(
            [onnx.node("Expand", ["x", "s"], ["y"], name="n")],
            [onnx.port("x")], [onnx.port("y")],
            [onnx.tensor("s", (2,), (wide, high), onnx.INT64)])
        for message, data, shapes in (
                ("n (Expand) needs", expand, [(1,)]),
                ("n (Add) needs", one_node("Add", "xb"),
                 [(wide, 1), (1, high)]),
                ("n (MatMul) needs", one_node("MatMul", "xb"),
                 [(wide, 1), (1, high)]),
                ("c18 (Concat) needs 16777216 bytes, expected at most "
                 "16777728 bytes", doubling, [(8,)])):
            with self.subTest(message):
                done = self.run_shapes(data, *shapes)
                self.assertEqual(done.returncode, cli_case.OUT_OF_RESOURCES,
                                 done)
                self.assertIn(message, done.stderr.decode())

    def test_the_numbers_of_nodes_and_of_names_are_limited(self):
        x, y = [onnx.port("x")], [onnx.port("y")]
        chain = [onnx.node("Neg", [f"{n}"], [f"{n + 1}"]) for n in range(20001)]
        for data, message in (
                (onnx.model(chain, [onnx.port("0")], [onnx.port("20001")]),
                 "has 20001 nodes, expected at most 20000"),
                (onnx.model([onnx.node("Sum", ["x"] * 60001, ["y"])], x, y),
                 "has 60001 node inputs, expected at most 60000"),
                (onnx.model([onnx.node("Neg", ["x"], ["y"])],
                            x + [onnx.port(f"x{n}") for n in range(10000)], y),
                 "has 10001 inputs, expected at most 10000")):
            with self.subTest(message):
                done = self.run_shapes(data, (1,))
                self.assertEqual(done.returncode, cli_case.BAD_INPUT, done)
                self.assertIn(message, done.stderr.decode())

    def test_declared_outputs_and_the_option_raise_the_limit(self):
        shapes = [(2 ** 12, 1), (1, 2 ** 11)]  # 32 MiB, and 64 in double
        free = one_node("Add", "xb")
        self.assertEqual(self.run_shapes(free, *shapes).returncode,
                         cli_case.OUT_OF_RESOURCES)
        self.onnx_run("--memory-limit", "64")
        declared = onnx.model(
            [onnx.node("Expand", ["x", "s"], ["y"])], [onnx.port("x")],
            [onnx.port("y", (3 * 2 ** 12, 2 ** 10))],
            [onnx.tensor("s", (2,), (3 * 2 ** 12, 2 ** 10), onnx.INT64)])
        done = self.run_shapes(declared, (1,))
        self.assertEqual(done.returncode, OK, done)

    def test_memory_of_values_that_are_used_up_is_given_back(self):
        count = 40  # of 1 MiB each, in 16 MiB and 16 times the input
        nodes = [onnx.node("Identity", [f"x{n}"], [f"x{n + 1}"])
                 for n in range(count)]
        done = self.run_shapes(onnx.model(
            nodes, [onnx.port("x0")], [onnx.port(f"x{count}")]), (2 ** 18,))
        self.assertEqual(done.returncode, OK, done)
        done = self.run_shapes(onnx.model(
            nodes, [onnx.port("x0")],
            [onnx.port(f"x{n + 1}") for n in range(count)]), (2 ** 18,))
        self.assertEqual(done.returncode, cli_case.OUT_OF_RESOURCES, done)

    def test_outputs_are_distinct(self):
        done = self.run_shapes(onnx.model(
            [onnx.node("Identity", ["x"], ["y"])], [onnx.port("x")],
            [onnx.port("y")] * 2), (1,))
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn("y is there twice, expected one output of each name",
                      done.stderr.decode())


class CheckTest(OnnxCase):
    def put_case(self, name, want):
        folder = self.folder / "cases" / name
        (folder / "test_data_set_0").mkdir(parents=True)
        (folder / "model.onnx").write_bytes(onnx.model(
            [onnx.node("Sqrt", ["x"], ["y"])], [onnx.port("x")],
            [onnx.port("y")]))
        for file, value in (("input_0", 4.0), ("output_0", want)):
            (folder / "test_data_set_0" / f"{file}.pb").write_bytes(
                onnx.tensor("x", [1], [value]))
        return folder

    def test_a_table_of_cases(self):
        self.put_case("a_right", 2.0)
        self.put_case("within_a_tenth", 2.0 * (1 + 0.9e-4))
        text = self.succeed("check", "onnx", "cases")
        self.assertIn("a_right         passes  0.0e+00\n", text)
        self.assertIn("2 of 2 cases pass\n", text)

    def test_cases_that_fail(self):
        self.put_case("a_right", 2.0)
        self.put_case("beyond_a_tenth", 2.0 * (1 + 2e-4))
        bare = self.put_case("no_data", 2.0)
        for file in (bare / "test_data_set_0").iterdir():
            file.unlink()
        broken = self.put_case("no_model", 2.0)
        (broken / "model.onnx").write_bytes(b"")
        done = self.run_it("check", "onnx", "cases", "--json")
        self.assertEqual(done.returncode, CHECK_FAILED)
        told = json.loads(done.stdout)
        self.assertEqual((told["passed"], told["failed"]), (1, 3))
        reasons = {each["name"]: each["reason"] for each in told["cases"]}
        self.assertIsNone(reasons["a_right"])
        self.assertIn("1 of 1 elements differ", reasons["beyond_a_tenth"])
        self.assertIn("has no input 0", reasons["no_data"])
        self.assertIn("has no graph", reasons["no_model"])
        self.assertEqual(done.stderr.decode(), "headwise: 3 of 4 cases fail\n")

    def test_a_folder_without_cases(self):
        (self.folder / "empty").mkdir()
        done = self.run_it("check", "onnx", "empty")
        self.assertIn("has no case", done.stderr.decode())
        self.assertNotIn(done.returncode, (OK, CHECK_FAILED))


def read_npy_of_case(data):
    """(shape, numbers) of float32 or float16."""
    length, = struct.unpack("<H", data[8:10])
    header = eval(data[10:10 + length], {"__builtins__": {}})
    letter = {"<f4": "f", "<f2": "e"}[header["descr"]]
    count = math.prod(header["shape"])
    return header["shape"], struct.unpack(f"<{count}{letter}",
                                          data[10 + length:])


class DataTest(OnnxCase):
    def expected(self):
        """softmax(Q K^T / sqrt(2)) V by plain loops."""
        q, k, v = numbers(Q), numbers(K, 1), numbers(V, 2)
        out = []
        for i in range(2):
            row = [math.exp(sum(q[i * 2 + d] * k[j * 2 + d] for d in range(2)) /
                            math.sqrt(2)) for j in range(3)]
            out += [sum(row[j] * v[j * 2 + d] for j in range(3)) / sum(row)
                    for d in range(2)]
        return out

    def test_outputs_are_files_in_the_order_of_the_graph(self):
        self.put_model(attention_model(outputs=("Y", "", "", "scores"),
                                       qk_matmul_output_mode=3))
        self.put_inputs()
        text = self.onnx_run("--out", "deep/out")
        self.assertEqual(text, "Y (1, 1, 2, 2) float32\n"
                               "scores (1, 1, 2, 3) float32\n")
        shape, got = read_npy(self.folder / "deep/out/output_0.npy")
        self.assertEqual(shape, (1, 1, 2, 2))
        for g, w in zip(got, self.expected()):
            self.assertAlmostEqual(g, w, delta=1e-6)
        shape, got = read_npy(self.folder / "deep/out/output_1.npy")
        self.assertEqual(shape, (1, 1, 2, 3))
        self.assertAlmostEqual(sum(got[:3]), 1, delta=1e-6)

    def test_the_same_inputs_from_every_kind_of_file(self):
        self.put_model(attention_model())
        self.put_inputs()
        self.onnx_run("--out", "pb")
        for file in (self.folder / "data").iterdir():
            file.unlink()
        self.put_data(input_0__npy=npy_bytes(Q, numbers(Q)),
                      input_1__npy=npy_bytes(K, numbers(K, 1)),
                      input_2__npy=npy_bytes(V, numbers(V, 2)))
        self.onnx_run("--out", "npy")
        tensors = {name: ("float32", shape, struct.pack(
            f"<{math.prod(shape)}f", *numbers(shape, seed)))
                   for name, shape, seed in (("Q", Q, 0), ("input_1", K, 1),
                                             ("V", V, 2))}
        (self.folder / "in.npz").write_bytes(npz_bytes(tensors))
        self.succeed("onnx-run", "model.onnx", "--data", "in.npz", "--out",
                     "npz")
        want = (self.folder / "pb/output_0.npy").read_bytes()
        for folder in ("npy", "npz"):
            self.assertEqual(
                (self.folder / folder / "output_0.npy").read_bytes(), want)

    def test_the_largest_difference_is_one_that_the_tolerance_forbids(self):
        self.put_model(onnx.model([onnx.node("Identity", ["x"], ["y"])],
                                  [onnx.port("x")], [onnx.port("y")]))
        self.put_data(input_0__pb=onnx.tensor("x", (2,), [1000.0, 0.0]),
                      output_0__pb=onnx.tensor("y", (2,), [1000.5, 0.25]))
        done = self.run_it("onnx-run", "model.onnx", "--data", "data")
        self.assertIn("1 of 2 elements differ; the largest difference is 0.25 "
                      "at (1)", done.stdout.decode())

    def test_a_difference_is_exit_code_1_and_names_the_largest(self):
        self.put_model(attention_model())
        self.put_inputs()
        want = self.expected()
        self.put_data(output_0__pb=onnx.tensor("Y", Q, want))
        self.assertIn("as expected", self.onnx_run())
        want[3] += 0.25
        self.put_data(output_0__pb=onnx.tensor("Y", Q, want))
        done = self.run_it("onnx-run", "model.onnx", "--data", "data")
        self.assertEqual(done.returncode, CHECK_FAILED)
        self.assertIn("1 of 4 elements differ; the largest difference is 0.25 "
                      "at (0, 0, 1, 1)", done.stdout.decode())
        self.assertEqual(done.stderr.decode(),
                         "headwise: 1 of 1 outputs differ, most Y\n")
        done = self.run_it("onnx-run", "model.onnx", "--data", "data", "--json")
        self.assertEqual(done.returncode, CHECK_FAILED)
        output = json.loads(done.stdout)["outputs"][0]
        self.assertEqual(output["differing_elements"], 1)
        self.assertAlmostEqual(output["largest_difference"], 0.25, delta=1e-6)
        self.assertEqual(output["at"], [0, 0, 1, 1])

    def test_nan_and_infinity_agree_with_themselves_only(self):
        self.put_model(onnx.model([onnx.node("Identity", ["x"], ["y"])],
                                  [onnx.port("x")], [onnx.port("y")]))
        values = [math.nan, math.inf, -math.inf, 1.0]
        for n in range(4):
            for m in range(4):
                self.put_data(
                    input_0__pb=onnx.tensor("x", [1], [values[n]]),
                    output_0__pb=onnx.tensor("y", [1], [values[m]]))
                done = self.run_it("onnx-run", "model.onnx", "--data", "data")
                self.assertEqual(done.returncode, 0 if n == m else CHECK_FAILED,
                                 (n, m, done))

    def test_a_short_mask_hides_the_keys_beyond_it(self):
        self.put_inputs()
        mask = onnx.tensor("held", (2, 2), [0.0] * 4)
        q, k, v = numbers(Q), numbers(K, 1), numbers(V, 2)
        row = [math.exp(sum(q[d] * k[j * 2 + d] for d in range(2)) /
                        math.sqrt(2)) for j in range(2)]
        want = (row[0] * v[0] + row[1] * v[2]) / sum(row)
        for opset in 23, 24:
            self.put_model(attention_model(("Q", "K", "V", "held"), opset=opset,
                                           initializers=[mask]))
            self.onnx_run("--out", "out")
            _, got = read_npy(self.folder / "out/output_0.npy")
            self.assertAlmostEqual(got[0], want, delta=1e-6)
        longer = onnx.tensor("held", (2, 4), [0.0] * 8)
        self.refuse("attn (Attention): held has shape (2, 4), expected axes "
                    "that are broadcast to (B, Hq, Lq, Lkv) = (1, 1, 2, 3)",
                    attention_model(("Q", "K", "V", "held"),
                                    initializers=[longer]))

    def test_a_mask_without_columns_hides_every_key(self):
        rows = 1000  # so many that a read beyond the mask leaves its pages
        for kind in (onnx.FLOAT, onnx.FLOAT16):
            self.put_data(**{
                f"input_{n}__pb": onnx.tensor(
                    "QKV"[n], (1, 1, rows, 2), numbers((rows, 2), n), kind)
                for n in range(3)})
            for mask in (onnx.tensor("held", (rows, 0), kind=kind),
                         onnx.tensor("held", (rows, 0), kind=onnx.BOOL)):
                self.put_model(attention_model(
                    ("Q", "K", "V", "held"), opset=24, kind=kind,
                    initializers=[mask]))
                self.onnx_run("--out", "out")
                _, got = read_npy(self.folder / "out/output_0.npy")
                self.assertEqual(set(got), {0.0})

    def test_a_row_of_the_lowest_number_is_a_mean(self):
        lowest, = struct.unpack("<f", b"\xff\xff\x7f\xff")
        self.put_model(attention_model(
            ("Q", "K", "V", "held"), ("Y", "", "", "scores"),
            qk_matmul_output_mode=2, initializers=[onnx.tensor(
                "held", (2, 3), [lowest] * 3 + [0.0, lowest, -math.inf])]))
        self.put_inputs()
        self.onnx_run("--out", "out")
        _, got = read_npy(self.folder / "out/output_0.npy")
        v = numbers(V, 2)
        for d in range(2):
            self.assertAlmostEqual(got[d], sum(v[d::2]) / 3, delta=1e-6)
            self.assertAlmostEqual(got[2 + d], v[d], delta=1e-6)
        _, scores = read_npy(self.folder / "out/output_1.npy")
        self.assertEqual(list(scores[:3]), [lowest] * 3)
        self.assertLess(abs(scores[3]), 10)
        self.assertEqual(list(scores[4:]), [lowest, -math.inf])

    def test_bfloat16_comes_from_float32_and_goes_to_it(self):
        self.put_model(attention_model(kind=onnx.BFLOAT16))
        self.put_data(input_0__npy=npy_bytes(Q, numbers(Q)),
                      input_1__npy=npy_bytes(K, numbers(K, 1)),
                      input_2__npy=npy_bytes(V, numbers(V, 2)))
        self.onnx_run("--out", "out")
        _, got = read_npy(self.folder / "out/output_0.npy")
        for g, w in zip(got, self.expected()):
            self.assertAlmostEqual(g, w, delta=0.02)
        self.assertTrue(any(abs(g - w) > 1e-5
                            for g, w in zip(got, self.expected())))


class AttentionTest(OnnxCase):
    def attend(self, opset=25, kind=onnx.FLOAT, shapes=(Q, K, V), mask=None,
               query=None, outputs=("Y",), **attributes):
        """The output of a model that has its inputs."""
        held = [onnx.tensor(name, shape, numbers(shape, seed), kind)
                for seed, (name, shape) in enumerate(zip("QKV", shapes))]
        if query is not None:
            held[0] = onnx.tensor("Q", shapes[0], query, kind)
        names = ["Q", "K", "V"]
        if mask is not None:
            names.append("mask")
            held.append(onnx.tensor("mask", *mask))
        self.put_model(onnx.model(
            [onnx.node("Attention", names, outputs, name="attn",
                       **attributes)], [],
            [onnx.port(name, kind=kind) for name in outputs if name], held,
            opset))
        (self.folder / "data").mkdir(exist_ok=True)
        self.onnx_run("--out", "out")
        return read_npy(self.folder / "out/output_0.npy")

    def test_a_mask_of_one_column_is_padded_in_every_opset(self):
        value = numbers(V, 2)
        for opset in 23, 24, 25:
            for kind, values in (onnx.BOOL, [True, True]), (onnx.FLOAT, [0, 2]):
                _, got = self.attend(opset, mask=((2, 1), values, kind))
                with self.subTest(opset=opset, kind=kind):
                    for at in range(4):
                        self.assertAlmostEqual(got[at], value[at % 2],
                                               delta=1e-6)

    def test_a_nan_beside_masked_keys_is_no_empty_row(self):
        mask = ((2, 3), [False, True, False, False, False, False], onnx.BOOL)
        for kind in onnx.FLOAT, onnx.DOUBLE, onnx.FLOAT16:
            _, got = self.attend(kind=kind, mask=mask,
                                 query=[math.nan, 0, math.nan, 0])
            with self.subTest(kind=kind):
                self.assertTrue(all(map(math.isnan, got[:2])))
                self.assertEqual(list(got[2:]), [0, 0])

    def test_sizes_of_0_run_in_every_type(self):
        for kind in onnx.FLOAT, onnx.DOUBLE, onnx.FLOAT16:
            for shapes, want in (((Q, K, (1, 1, 3, 0)), (1, 1, 2, 0)),
                                 (((1, 0, 2, 2), K, V), (1, 0, 2, 2)),
                                 (((1, 1, 2, 0), (1, 1, 3, 0), V), Q),
                                 ((Q, (1, 1, 0, 2), (1, 1, 0, 2)), Q),
                                 (((0, 1, 2, 2), (0, 1, 3, 2), (0, 1, 3, 2)),
                                  (0, 1, 2, 2)),
                                 (((1, 1, 0, 2), K, V), (1, 1, 0, 2))):
                with self.subTest(kind=kind, shapes=shapes):
                    self.assertEqual(self.attend(kind=kind, shapes=shapes)[0],
                                     want)


class HeaderTest(OnnxCase):
    """What a model says about itself."""

    def setUp(self):
        super().setUp()
        self.put_inputs()

    def run_bytes(self, data):
        self.put_model(data)
        self.onnx_run("--out", "out")
        return list(read_npy(self.folder / "out/output_0.npy")[1])

    def test_every_opset_since_attention(self):
        want = self.run_bytes(attention_model())
        for opset in range(24, 29):
            self.assertEqual(self.run_bytes(attention_model(opset=opset)), want)

    def test_of_an_operator_set_that_is_there_twice_the_highest_counts(self):
        for first, second in (23, 24), (24, 23), (24, 24):
            for domain in "", "ai.onnx":
                self.put_data(input_0__pb=onnx.tensor("x", (1, 2, 1), [1, 2]),
                              input_1__pb=onnx.tensor("u", (1, 1, 1), [3]))
                got = self.run_bytes(
                    one_node("TensorScatter", "xu", opset=first) +
                    onnx.field(8, onnx.field(1, domain) + onnx.field(2, second)) +
                    2 * onnx.field(8, onnx.field(1, "com.x") + onnx.field(2, 1)))
                self.assertEqual(got, [3, 2])

    def test_an_axis_of_minus_1_has_any_extent(self):
        run = onnx.node("Attention", ["Q", "K", "V"], ["Y"])
        open_ports = [onnx.port(name, (-1, 1, -1, 2)) for name in "QKVY"]
        self.assertEqual(
            self.run_bytes(onnx.model([run], open_ports[:3], open_ports[3:])),
            self.run_bytes(attention_model()))


class RefusalsTest(OnnxCase):
    def setUp(self):
        super().setUp()
        self.put_inputs()

    def test_graphs(self):
        ports = [onnx.port(name) for name in "QKV"]
        out = [onnx.port("Y")]
        run = onnx.node("Attention", ["Q", "K", "V"], ["Y"], name="attn")

        def graph(*nodes, opset=23, **options):
            return onnx.model(nodes, ports, out, opset=opset, **options)
        for message, data in (
                ("#1 (Foo) is an operator that headwise does not run",
                 graph(run, onnx.node("Foo", ["Y"], ["Z"]))),
                ("of domain com.x", graph(
                    onnx.node("Attention", ["Q", "K", "V"], ["Y"],
                              domain="com.x"))),
                ("attn (Attention) is in opset 22", graph(run, opset=22)),
                ("is of opset 29, expected opset 13 to 28",
                 graph(run, opset=29)),
                ("a (Attention): y is made by b (Attention), which does not run "
                 "before it", graph(
                     onnx.node("Attention", ["y", "K", "V"], ["Y"], name="a"),
                     onnx.node("Attention", ["Y", "K", "V"], ["y"], name="b"))),
                ("attn (Attention): W is made by no node", graph(
                    onnx.node("Attention", ["Q", "K", "W"], ["Y"],
                              name="attn"))),
                ("Y is there twice", graph(run, run)),
                ("attn (Attention): scale is there twice", graph(
                    onnx.node("Attention", ["Q", "K", "V"], ["Y"], name="attn",
                              raw_attributes=[onnx.attribute("scale", 1.0),
                                              onnx.attribute("scale", 2.0)]))),
                ("attn (Attention): scale is an attribute of a function", graph(
                    onnx.node("Attention", ["Q", "K", "V"], ["Y"], name="attn",
                              raw_attributes=[
                                  onnx.attribute("scale", 1.0) +
                                  onnx.field(21, "outer")]))),
                ("is of opset 29", graph(run) + onnx.field(
                    8, onnx.field(1, "ai.onnx") + onnx.field(2, 29))),
                ("Attention is a function of the model",
                 graph(run) + onnx.field(25, onnx.field(1, "Attention") +
                                         onnx.field(10, ""))),
                ("Q has an axis of extent -2, expected at least 0, or -1 for any",
                 onnx.model([run], [onnx.port("Q", (1, 1, -2, 2)), *ports[1:]],
                            out)),
                ("r (Reshape): allowzero is given in opset 13, expected opset "
                 "14 to 28", graph(
                     onnx.node("Reshape", ["Q", "K"], ["Y"], name="r",
                               allowzero=1), opset=13)),
                ("Y is made by no node", graph()),
                ("attn (Attention) has no input 2", graph(
                    onnx.node("Attention", ["Q", "K"], ["Y"], name="attn"))),
                ("attn (Attention): body is a subgraph", graph(
                    onnx.node("Attention", ["Q", "K", "V"], ["Y"], name="attn",
                              raw_attributes=[onnx.field(1, "body") +
                                              onnx.field(6, b"") +
                                              onnx.field(20, 5)]))),
                ("attn (Attention): heads is an attribute that headwise does "
                 "not know",
                 graph(onnx.node("Attention", ["Q", "K", "V"], ["Y"],
                                 name="attn", heads=2))),
                ("s is a sparse tensor", graph(run, more=onnx.field(
                    15, onnx.field(1, onnx.tensor("s", [1], [1.0])))))):
            with self.subTest(message):
                self.refuse(message, data)

    def test_tensors(self):
        def held(tensor):
            return attention_model(("Q", "K", "V", "held"),
                                   initializers=[tensor])
        for message, tensor in (
                ("held holds elements of type string", onnx.tensor(
                    "held", [1], kind=onnx.STRING, raw=b"\0")),
                ("held has 8 bytes of data, expected 24 for (2, 3) float32",
                 onnx.tensor("held", (2, 3), raw=bytes(8))),
                ("held has an axis of extent -1",
                 onnx.tensor("held", (-1,), [1.0])),
                ("held is too large", onnx.tensor(
                    "held", (2 ** 62, 2 ** 62), [1.0])),
                ("held has 9 axes", onnx.tensor("held", [1] * 9, [1.0])),
                ("held has 0 bytes of data, expected 4611686018427387904",
                 onnx.tensor("held", (2 ** 60,)))):
            with self.subTest(message):
                self.refuse(message, held(tensor))

    def test_damaged_files(self):
        data = attention_model()
        for length in range(0, len(data), 7):
            self.put_model(data[:length])
            done = self.run_it("onnx-run", "model.onnx", "--data", "data")
            self.assertEqual(done.returncode, BAD_INPUT, (length, done))
        # Two bytes of a file, and a message in memory: two million of them.
        empty_nodes = onnx.field(7, b"\x0a\x00" * 2_000_000)
        self.put_model(empty_nodes)
        done = self.run_it("onnx-run", "model.onnx", "--data", "data")
        self.assertEqual(done.returncode, cli_case.OUT_OF_RESOURCES, done)
        self.assertIn(f"needs more than {16 * len(empty_nodes) + 2 ** 24} bytes",
                      done.stderr.decode())

    def test_attention_of_wrong_shapes_and_attributes(self):
        for message, options in (
                ("attn (Attention): is_causal is 2", {"is_causal": 2}),
                ("attn (Attention): scale is -1", {"scale": -1.0}),
                ("attn (Attention): scale is of another kind", {"scale": 1}),
                ("attn (Attention): softcap is -1", {"softcap": -1.0}),
                ("attn (Attention): qk_matmul_output_mode is 4",
                 {"qk_matmul_output_mode": 4}),
                ("attn (Attention): softmax_precision is 7",
                 {"softmax_precision": 7}),
                ("attn (Attention): left_window_size is given in opset 23",
                 {"left_window_size": 1}),
                ("attn (Attention): left_window_size is -2",
                 {"left_window_size": -2, "opset": 25}),
                ("attn (Attention): q_num_heads is 1, expected no number of "
                 "heads", {"q_num_heads": 1, "opset": 25}),
                ("attn (Attention): q_num_heads is 2",
                 {"q_num_heads": 2}),
                ("attn (Attention): V is given alone",
                 {"inputs": ("Q", "K", "V", "", "V")}),
                ("attn (Attention): Q is given in opset 23", {
                    "inputs": ("Q", "K", "V", "", "", "", "Q")}),
                ("attn (Attention): Q holds float32 elements, expected int64", {
                    "inputs": ("Q", "K", "V", "", "", "", "Q"), "opset": 24})):
            with self.subTest(message):
                data = attention_model(**options) if "inputs" not in options \
                    else onnx.model(
                        [onnx.node("Attention", options["inputs"], ["Y"],
                                   name="attn")],
                        [onnx.port(name) for name in "QKV"], [onnx.port("Y")],
                        opset=options.get("opset", 23))
                self.refuse(message, data)
        self.put_data(input_1__pb=onnx.tensor("K", (1, 1, 3, 4),
                                              numbers((1, 1, 3, 4))))
        self.refuse("attn (Attention): K has shape (1, 1, 3, 4), expected "
                    "(1, 1, 3, 2)", attention_model())
        self.put_data(input_1__pb=onnx.tensor("K", K, numbers(K),
                                              onnx.FLOAT16))
        self.refuse("attn (Attention): K holds float16 elements, expected "
                    "float32, as Q", onnx.model(
                        [onnx.node("Attention", "QKV", ["Y"], name="attn")],
                        [onnx.port("Q"), onnx.port("K", kind=onnx.FLOAT16),
                         onnx.port("V")], [onnx.port("Y")]))

    def test_inputs_that_are_not_there_or_not_as_declared(self):
        (self.folder / "data/input_1.pb").unlink()
        self.put_model(attention_model())
        done = self.run_it("onnx-run", "model.onnx", "--data", "data")
        self.assertIn("--data has no input 1, which is K",
                      done.stderr.decode())
        self.put_data(input_1__pb=onnx.tensor("K", K, [1] * 6, onnx.INT64))
        self.refuse("K holds int64 elements, expected float32 as the model "
                    "declares it", attention_model())

    def test_external_data_stays_in_the_folder_of_the_model(self):
        good = b"".join(map(lambda _: b"\0\0\0\0", range(6)))
        (self.folder / "sub").mkdir()
        for name in ("mask.bin", "sub/mask.bin", "other.bin"):
            (self.folder / name).write_bytes(good)
        (self.folder / "link.bin").symlink_to("mask.bin")
        (self.folder / "linked").symlink_to("sub")
        os.link(self.folder / "other.bin", self.folder / "hard.bin")

        def held(**place):
            return attention_model(("Q", "K", "V", "held"), initializers=[
                onnx.external("held", (2, 3), place)])
        for place in ("mask.bin", "sub/mask.bin", "./mask.bin",
                      "././sub/./mask.bin"):
            self.put_model(held(location=place, offset=0, length=24))
            self.onnx_run()
        above = f"../{self.folder.name}/mask.bin"
        for message, place in (
                ("expected a file in the folder of the model", above),
                ("expected a file in the folder of the model",
                 "sub/../mask.bin"),
                ("expected a file in the folder of the model", "."),
                ("expected a file in the folder of the model", "sub/."),
                ("expected a file in the folder of the model", "./../x"),
                ("expected a file in the folder of the model",
                 str(self.folder / "mask.bin")),
                ("expected a file in the folder of the model", ""),
                ("expected a file that no link leads to", "link.bin"),
                ("expected a file that no link leads to", "linked/mask.bin"),
                ("expected a regular file without a second name", "hard.bin"),
                ("expected a regular file without a second name", "sub"),
                ("No such file", "missing.bin")):
            with self.subTest(place):
                self.refuse(message, held(location=place))
        for message, place in (
                ("which has 24 bytes, expected at least 24 bytes from byte 4",
                 {"offset": 4}),
                ("held: offset is -1", {"offset": -1}),
                ("expected at least 24 bytes from byte "
                 "18446744073709551615", {"offset": 2 ** 64 - 1}),
                ("held: length is 23", {"length": 23})):
            with self.subTest(message):
                self.refuse(message, held(location="mask.bin", **place))

    def test_tensor_files_have_no_external_data(self):
        self.put_data(input_0__pb=onnx.external("Q", Q, {"location": "x"}))
        self.refuse("has its data in another file", attention_model())


if __name__ == "__main__":
    cli_case.main()
