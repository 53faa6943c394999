"""ONNX Runtime's operators of attention (com.microsoft), as `headwise onnx-run`
runs them: against ONNX Runtime, and what is refused."""
import json
import math

import cli_case
import onnx_contrib_cases as cases
import onnx_file as onnx
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, CliTest, read_npy
from onnx_contrib_cases import (GK, GQ, K, ONE_K, ONE_Q, Q, V, attention, floats,
                                gqa, ints, mha)

# operator, inputs, what the error says
REFUSED = (
    (mha(Q, K, V, None, None, None, None, None, ints((), 1)),
     "n (MultiHeadAttention): x8 is an input that headwise does not support"),
    (mha(Q, K, V, None, ints((4,), 1, 2, 0, 0)),
     "x4 has shape (4), expected (B), (3B + 2), (B, Lkv) or (B, Lq, Lkv)"),
    (mha(Q, K, V, None, None, floats(3, 4)), "x5 has shape (3, 4), expected (B or 1"),
    (mha(Q, K, V, floats(24)), "x3 has shape (24), expected (22)"),
    (mha(Q, K, V, num_heads=3), "x0 has shape (2, 3, 8), expected features of "
                                "3 heads"),
    (mha(Q, K, V, num_heads=2 ** 62), "features of 4611686018427387904 heads"),
    (mha(Q, floats(2, 4, 6), V), "x1 has shape (2, 4, 6), expected keys whose "
                                  "shape matches x0"),
    (mha(Q, K), "x1 has shape (2, 4, 8), expected 5 axes"),
    (mha(Q), "x0 has shape (2, 3, 8), expected 5 axes"),
    (mha(Q, K, V, None, None, None, floats(2, 2, 1, 4)), "x6 is given alone"),
    (mha(Q, floats(2, 4, 2, 2, 4), V), "x2 cannot be combined with a packed input"),
    (mha(Q, K, V, dropout=1), "dropout is an attribute that headwise does not"),
    (attention(floats(2, 3, 5), floats(5, 24), do_rotary=1),
     "n (Attention): do_rotary is 1, expected 0"),
    (attention(floats(2, 3, 5), floats(4, 24)), "x1 has shape (4, 24), expected "
                                                "a matrix of 5 rows"),
    (attention(floats(2, 3, 5), floats(5, 24), qkv_hidden_sizes=[8, 8, 9]),
     "x1 has shape (5, 24), expected the features of Q, K and V"),
    (attention(floats(2, 3, 5), floats(5, 22), outputs=2,
               qkv_hidden_sizes=[8, 8, 6]), "equal head sizes for K and V"),
    (gqa(GQ, GK, GK, lengths=(2, 2, 2)), "x5 has shape (3), expected 2 elements"),
    (gqa(GQ, GK, GK, lengths=(3, 2)), "x5 has 3, expected 0 to 2"),
    (gqa(GQ, GK, GK, total=4), "x6 has 4, expected 3 to 3"),
    (gqa(ONE_Q, ONE_K, ONE_K, floats(2, 1, 3, 16), floats(2, 1, 3, 16),
         lengths=(4, 3), total=4), "x5 has 4, expected 0 to 3"),
    (gqa(GQ, GK, GK, num_heads=2 ** 62, kv_num_heads=2 ** 61),
     "features of 4611686018427387904 heads"),
    (gqa(GQ, GK, GK, num_heads=3, kv_num_heads=2),
     "num_heads is 3, expected a multiple of kv_num_heads"),
    (gqa(GQ, None, GK), "x2 is given alone, expected key and value together"),
    (gqa(GQ, GK, GK, do_rotary=1), "has no input 7, expected cos_cache and"),
    (gqa(GQ, GK, GK, do_rotary=1, more=(floats(2, 4), floats(2, 4))),
     "x7 has no position 2, expected less than 2"),
    (mha(floats(1, 2, 0), floats(1, 2, 0), floats(1, 2, 4)),
     "n (MultiHeadAttention) has a head size of 0, expected a head size of at "
     "least 1"),
    (gqa(GQ, GK, GK, local_window_size=0), "local_window_size is 0"),
    (gqa(GQ, GK, GK, outputs=4), "qk_output is 0"),
    (("SkipLayerNormalization", (cases.X, Q, floats(5)), 1, {}),
     "x1 has shape (2, 3, 8), expected axes that are broadcast to (2, 3, 5)"),
    (("SkipLayerNormalization", (cases.X, cases.X, floats(1)), 1, {}),
     "x2 has shape (1), expected (5)"),
    (("SkipLayerNormalization", (cases.X, cases.X, floats(5)), 2, {}),
     "n (SkipLayerNormalization) has outputs that are for training"),
    (gqa(GQ, GK, GK, more=(None,) * 5 + (floats(1),)),
     "x12 is an input that headwise does not support"),
)


class OnnxContribTest(CliTest):
    def run_data(self, data, count):
        (self.folder / "model.onnx").write_bytes(data)
        (self.folder / "data").mkdir(exist_ok=True)
        self.succeed("onnx-run", "model.onnx", "--data", "data", "--out", "out")
        return [read_npy(self.folder / f"out/output_{n}.npy")
                for n in range(count)]

    def run_case(self, case):
        op, inputs, outputs, attributes = case
        return self.run_data(cases.model(op, inputs, outputs, **attributes),
                             outputs)

    def expect_near(self, got, want, delta=1e-5):
        self.assertEqual(tuple(got[0]), tuple(want[0]))
        for g, w in zip(got[1], want[1]):
            if math.isnan(w) or math.isinf(w):
                self.assertEqual(str(g), str(w))
            else:
                self.assertLessEqual(abs(g - w), delta * max(1, abs(w)))

    def test_matches_onnx_runtime(self):
        for name, wanted in json.loads(cases.VALUES.read_text()).items():
            with self.subTest(name):
                for got, want in zip(self.run_case(cases.CASES[name]), wanted):
                    self.expect_near(got, want)

    def test_lengths_of_any_axes(self):
        """As exported decoders have them."""
        op, inputs, outputs, attributes = cases.CASES["gqa cache has room"]
        want = self.run_case(cases.CASES["gqa cache has room"])
        for shape in (2, 1), (1, 2), (2, 1, 1):
            lengths = ints(shape, *inputs[5][2])
            got = self.run_case((op, (*inputs[:5], lengths, *inputs[6:]),
                                 outputs, attributes))
            self.assertEqual([list(each[1]) for each in got],
                             [list(each[1]) for each in want])

    def test_packed_inputs(self):
        """ONNX Runtime runs them on a GPU only. (B, L, H, n, D) is a
        transpose of n inputs."""
        parts = {"q": 0, "k": 1, "v": 2}
        held = [onnx.tensor(name, (1, 3, 2, 4), cases.numbers((1, 3, 2, 4), seed))
                for name, seed in parts.items()]
        held.append(onnx.tensor("flat", (3,), (1, 3, 8), onnx.INT64))
        held.append(onnx.tensor("axis", (1,), (3,), onnx.INT64))

        def stack(names, made):
            return [*(onnx.node("Unsqueeze", [n, "axis"], [f"{made}{n}"])
                      for n in names),
                    onnx.node("Concat", [f"{made}{n}" for n in names], [made],
                              axis=3)]

        def run(inputs, y):
            return onnx.node("MultiHeadAttention", inputs, [y], y,
                             "com.microsoft", num_heads=2)
        flat = [onnx.node("Reshape", [n, "flat"], [f"{n}3"]) for n in "qkv"]
        got = self.run_data(onnx.model(
            flat + stack("qkv", "qkv") + stack("kv", "kv") +
            [run(["q3", "k3", "v3"], "y0"), run(["qkv"], "y1"),
             run(["q3", "kv"], "y2")], [],
            [onnx.port(f"y{n}") for n in range(3)], held, 17), 3)
        for packed in got[1:]:
            self.assertEqual(got[0][0], packed[0])
            self.assertEqual(list(got[0][1]), list(packed[1]))

    def test_float16_is_rounded_once(self):
        op, inputs, _, attributes = cases.CASES["mha bias, scale"]
        names = [f"x{n}" for n in range(4)]
        held = [onnx.tensor(name, shape, cases.numbers(shape, seed), onnx.FLOAT16)
                for seed, (name, shape) in enumerate(zip(names, inputs))]
        got = self.run_data(onnx.model(
            [onnx.node(op, names, ["y"], "n", "com.microsoft", **attributes)],
            [], [onnx.port("y", kind=onnx.FLOAT16)], held, 17), 1)
        want = json.loads(cases.VALUES.read_text())["mha bias, scale"][0]
        self.expect_near(got[0], want, delta=2e-3)

    def test_padding_beyond_the_window_is_0(self):
        """As in ONNX Runtime."""
        rows = self.run_case(gqa(GQ, GK, GK, lengths=(2, 0),
                                 local_window_size=1))[0][1]
        self.assertEqual(list(rows[-2 * 16:]), [0.0] * 32)
        self.assertNotIn(0.0, rows[:-2 * 16])

    def limited(self, data, mebibytes):
        (self.folder / "model.onnx").write_bytes(data)
        (self.folder / "data").mkdir(exist_ok=True)
        return self.run_it("onnx-run", "model.onnx", "--data", "data",
                           "--memory-limit", str(mebibytes)).returncode

    def test_a_mask_is_part_of_the_memory(self):
        """8 MiB of numbers, and 4 MiB of biases."""
        one = floats(1, 1024, 1)
        data = cases.model("MultiHeadAttention",
                           (one, one, one, None, ints((1,), 1000)), 1,
                           num_heads=1, unidirectional=1)
        for limit, code in ((11, OUT_OF_RESOURCES), (13, 0)):
            self.assertEqual(self.limited(data, limit), code)

    def test_float16_is_widened_once(self):
        """The packed query, 4.5 MiB with its doubles, is read three times."""
        shape = (1, 4096, 96)
        self.assertEqual(self.limited(onnx.model(
            [onnx.node("GroupQueryAttention", ["x", "", "", "", "", "n", "t"],
                       ["y"], "n", "com.microsoft", num_heads=1,
                       kv_num_heads=1, local_window_size=8)], [],
            [onnx.port("y", kind=onnx.FLOAT16)],
            [onnx.tensor("x", shape, cases.numbers(shape), onnx.FLOAT16),
             onnx.tensor("n", (1,), (4095,), cases.INT32),
             onnx.tensor("t", (1,), (4096,), cases.INT32)], 17), 14), 0)

    def test_a_causal_mask_is_aligned_with_the_first_key(self):
        """Also in the last row, which ONNX Runtime does not mask."""
        first, later = (self.run_case(mha(floats(1, 2, 8), floats(1, length, 8),
                                          floats(1, length, 8),
                                          unidirectional=1))[0][1]
                        for length in (2, 4))
        # The values are drawn row by row, so the longer ones begin alike.
        for a, b in zip(first, later):
            self.assertAlmostEqual(a, b, delta=1e-6)

    def test_invalid_inputs_are_errors(self):
        for (op, inputs, outputs, attributes), message in REFUSED:
            with self.subTest(message):
                (self.folder / "model.onnx").write_bytes(
                    cases.model(op, inputs, outputs, **attributes))
                (self.folder / "data").mkdir(exist_ok=True)
                self.fail_with(BAD_INPUT, message, "onnx-run", "model.onnx",
                               "--data", "data")

    def test_the_sum_of_a_skip(self):
        """The fourth output; the second and third are left out."""
        held = [onnx.tensor("x", (2,), [1.0, 2.0]),
                onnx.tensor("skip", (2,), [10.0, 20.0])]
        got = self.run_data(onnx.model(
            [onnx.node("SkipLayerNormalization", ["x", "skip", "x"],
                       ["y", "", "", "sum"], "n", "com.microsoft")], [],
            [onnx.port("y"), onnx.port("sum")], held, 17), 2)
        self.assertEqual(list(got[1][1]), [11, 22])
        self.assertAlmostEqual(got[0][1][0], -1, delta=1e-6)

    def test_other_operators_of_the_domain(self):
        (self.folder / "model.onnx").write_bytes(
            cases.model("QAttention", (Q,), 1))
        (self.folder / "data").mkdir()
        self.fail_with(BAD_INPUT, "n (QAttention) is an operator that headwise "
                       "does not run, of domain com.microsoft", "onnx-run",
                       "model.onnx", "--data", "data")

    def test_inspect(self):
        for name, want in (
                ("mha", ("MultiHeadAttention", 2, 2, 4, 3, 0.5, False, False)),
                ("mha causal, bias, scores",
                 ("MultiHeadAttention", 2, 2, 4, 3, 0.5, True, True)),
                ("attention sizes",
                 ("Attention", 2, 2, 5, 2, 1 / math.sqrt(5), False, False)),
                ("gqa packed, window, softcap",
                 ("GroupQueryAttention", 2, 1, 8, 8, 1 / math.sqrt(8), True, False))):
            (self.folder / "model.onnx").write_bytes(cases.model_of(name))
            told, = json.loads(self.succeed("inspect", "model.onnx",
                                            "--json"))["attention"]
            with self.subTest(name):
                self.assertEqual(told.pop("name"), "n")
                self.assertEqual(told.pop("pattern"), "com.microsoft " + want[0])
                self.assertEqual(tuple(told.values()), want[1:])


if __name__ == "__main__":
    cli_case.main()
