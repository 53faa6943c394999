"""serve_workloads, which bench/ measures headwise with. No test asserts a time.

    serve_test.py SERVE_WORKLOADS [unittest arguments]
"""
import array
import math
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "apps"))
import cli_case  # noqa: E402


def numbers(count, seed):
    """Floats that binary32 holds exactly."""
    draw = random.Random(seed)
    return [draw.randint(-64, 64) / 32 for _ in range(count)]


def attend(spec, q, k, v, lens=None, bias=None):
    """(out, weights) of (B, H, L, d) lists, by the formula, in binary64. A
    ragged batch has 0 in the rows behind a sequence's end."""
    B, H, Hkv, Lq, Lk, d = (spec[n] for n in ("B", "Hq", "Hkv", "Lq", "Lk",
                                              "d"))
    dv = spec.get("dv", d)
    out, weights = [], []
    for b in range(B):
        for h in range(H):
            head = b * Hkv + h * Hkv // H
            for i in range(Lq):
                row = q[((b * H + h) * Lq + i) * d:][:d]
                place = i + Lk - Lq  # among the keys
                ends = lens[b] if lens else Lk
                if spec["kind"] == "ragged":
                    place = i
                    if i >= ends:
                        out += [0.0] * dv
                        continue
                if spec.get("causal"):
                    ends = min(ends, place + 1)
                seen = range(max(0, place - spec.get("window", Lk)), ends)
                p = [0.0] * Lk
                for j in seen:
                    score = sum(map(float.__mul__, row,
                                    k[(head * Lk + j) * d:][:d]))
                    added = bias[(h * Lq + i) * Lk + j] if bias else 0
                    p[j] = math.exp(score / math.sqrt(d) + added)
                p = [each / sum(p) for each in p]
                weights += p
                out += [sum(p[j] * v[(head * Lk + j) * dv + c] for j in seen)
                        for c in range(dv)]
    return out, weights


def linear(x, weight, bias):
    """y = x w^T + b of rows that give len(bias) numbers each."""
    size = len(weight) // len(bias)
    return [sum(map(float.__mul__, x[row:row + size],
                    weight[o * size:][:size])) + bias[o]
            for row in range(0, len(x), size) for o in range(len(bias))]


class ServeTest(cli_case.CliTest):
    SIZES = {"B": 2, "Hq": 4, "Hkv": 2, "Lq": 3, "Lk": 5, "d": 8}

    def setUp(self):
        super().setUp()
        self.server = subprocess.Popen(
            [cli_case.HEADWISE, "--threads", "1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end)

    def end(self):
        self.server.stdin.close()
        self.server.stdout.close()
        self.assertEqual(self.server.wait(60), 0)

    def ask(self, line):
        self.server.stdin.write(line + "\n")
        self.server.stdin.flush()
        return self.server.stdout.readline().rstrip("\n")

    def write_case(self, tensors, **spec):
        """Tensors: {name: (values, shape)}; the folder is "case"."""
        folder = self.folder / "case"
        folder.mkdir(exist_ok=True)
        lines = [f"{key} {value}" for key, value in spec.items()]
        for name, (values, shape) in tensors.items():
            kind = "i" if name == "lens" else "f"
            (folder / f"{name}.bin").write_bytes(array.array(kind, values))
            lines.append(f"tensor {name} {kind}32 " +
                         " ".join(map(str, shape)))
        (folder / "spec.txt").write_text("\n".join(lines) + "\n")
        return folder

    def heads(self, spec):
        shapes = {"q": (spec["B"], spec["Hq"], spec["Lq"], spec["d"]),
                  "k": (spec["B"], spec["Hkv"], spec["Lk"], spec["d"])}
        shapes["v"] = (*shapes["k"][:3], spec.get("dv", spec["d"]))
        return {name: (numbers(math.prod(shape), name), shape)
                for name, shape in shapes.items()}

    def outputs(self, folder):
        """Of a case that is loaded as x."""
        self.assertRegex(self.ask("run x 3"), r"^ok \d+\.\d+ \d+\.\d+$")
        names = self.ask(f"out x {folder}").split()
        self.assertEqual(names[0], "ok")
        result = {}
        for name in names[1:]:
            result[name] = array.array("f")
            result[name].frombytes((folder / f"{name}.bin").read_bytes())
        return result

    def check(self, given, expected, most=5e-6):
        self.assertEqual(len(given), len(expected))
        for one, other in zip(given, expected):
            self.assertAlmostEqual(one, other, delta=most)

    def bias(self, spec):
        shape = (1, spec["Hq"], spec["Lq"], spec["Lk"])
        return numbers(math.prod(shape), "bias"), shape

    def test_attention_is_that_of_the_formula(self):
        ragged = {"kind": "ragged", "lens": 1}
        for more in ({}, {"causal": 1}, {"lens": 1}, {"causal": 1, "lens": 1},
                     {"weights": 1, "fresh": 1, "bias": 0}, {"bias": 1},
                     {"bias": 1, "causal": 1, "lens": 1, "weights": 1},
                     {"window": 1}, {"window": 2, "causal": 1}, ragged,
                     {**ragged, "causal": 1}, {**ragged, "window": 1}):
            with self.subTest(more):
                spec = {"kind": "sdpa", **self.SIZES, "dtype": "f32", **more}
                tensors = self.heads(spec)
                lens = [3, 1] if spec["kind"] == "ragged" else [5, 4]
                if spec.get("lens"):
                    tensors["lens"] = (lens, (2,))
                if spec.get("bias"):
                    tensors["bias"] = self.bias(spec)
                folder = self.write_case(tensors, **spec)
                self.assertRegex(self.ask(f"load x {folder}"), "^ok headwise ")
                out, weights = attend(
                    spec, *(tensors[n][0] for n in "qkv"),
                    lens=lens if "lens" in more else None,
                    bias=tensors.get("bias", (None,))[0])
                given = self.outputs(folder)
                self.check(given["out"], out)
                self.assertEqual("weights" in given, "weights" in more)
                if "weights" in more:
                    self.check(given["weights"], weights)
                self.assertEqual(self.ask("drop x"), "ok")

    def test_attention_through_a_cache_is_that_of_the_formula(self):
        whole = {"page": 16, "Lk": 40}
        for more, most in (
                ({}, 5e-6), ({"Lq": 1}, 5e-6), ({"Lq": 5}, 5e-6),
                ({"chunk": 2}, 5e-6), (whole, 5e-6), ({"dv": 4}, 5e-6),
                ({**whole, "shuffled": 1}, 5e-6),
                ({"prefix": 1, "dv": 4}, 5e-6),
                ({"dtype": "bf16", **whole}, 0.02), ({"dtype": "f16"}, 2e-3),
                ({"dtype": "i8"}, 0.03)):
            with self.subTest(more):
                spec = {"kind": "cached", "causal": 1, **self.SIZES, **more}
                tensors = self.heads(spec)
                q, k, v = (tensors[n][0] for n in "qkv")
                if spec.get("prefix"):
                    del tensors["v"]
                    v = [k[row + c] for row in range(0, len(k), spec["d"])
                         for c in range(spec["dv"])]
                folder = self.write_case(tensors, **spec)
                self.assertRegex(self.ask(f"load x {folder}"), "^ok headwise ")
                out, _ = attend(spec, q, k, v)
                self.check(self.outputs(folder)["out"], out, most)

    def test_tensors_in_bfloat16_are_those_of_the_formula(self):
        spec = {"kind": "sdpa", **self.SIZES, "dtype": "bf16"}
        tensors = self.heads(spec)  # which bfloat16 holds exactly
        folder = self.write_case(tensors, **spec)
        self.assertRegex(self.ask(f"load x {folder}"), "^ok headwise ")
        out, _ = attend(spec, *(tensors[n][0] for n in "qkv"))
        self.check(self.outputs(folder)["out"], out, 0.01)

    def in_each_arithmetic(self, tensors, **spec):
        """{arithmetic: out}"""
        outputs = {}
        for arithmetic in ("exact", "bf16"):
            folder = self.write_case(tensors, **spec, arithmetic=arithmetic)
            self.assertRegex(self.ask(f"load x {folder}"), "^ok headwise ")
            outputs[arithmetic] = self.outputs(folder)["out"]
        self.assertNotEqual(outputs["exact"], outputs["bf16"])
        return outputs

    def test_the_arithmetic_is_the_one_asked_for(self):
        spec = {"kind": "sdpa", **self.SIZES}
        tensors = self.heads(spec)
        # bfloat16 has 8 digits: of x / 3 it leaves none alone.
        tensors["v"] = ([x / 3 for x in tensors["v"][0]], tensors["v"][1])
        outputs = self.in_each_arithmetic(tensors, **spec)
        out, _ = attend(spec, *(tensors[n][0] for n in "qkv"))
        self.check(outputs["exact"], out)
        self.check(outputs["bf16"], out, 0.01)
        self.in_each_arithmetic(self.layer(2), kind="module", B=2, Hq=2, Hkv=2,
                                Lq=3, Lk=3, d=4, D=8)
        folder = self.write_case(tensors, **spec, arithmetic="f16")
        self.assertEqual(
            self.ask(f"load x {folder}"),
            "error spec.txt: arithmetic is f16, expected exact or bf16")

    def test_the_layer_is_that_of_the_formula(self):
        for more in ({}, {"bias": 1}, {"lens": 1}):
            for H in (1, 2, 3):  # of 4 numbers each, where a token has 8
                with self.subTest(more, H=H):
                    self.check_layer(H, more)

    def layer(self, H, D=8):
        """The tensors of a layer of H heads of 4 on (2, 3, D)."""
        tensors = {"x": (numbers(2 * 3 * D, "x"), (2, 3, D))}
        for n in "qkvo":
            shape = (D, 4 * H) if n == "o" else (4 * H, D)
            tensors["w" + n] = (numbers(4 * H * D, "w" + n), shape)
            tensors["b" + n] = (numbers(shape[0], "b" + n), shape[:1])
        return tensors

    def check_layer(self, H, more):
        sizes = {"kind": "module", "B": 2, "Hq": H, "Hkv": H, "Lq": 3, "Lk": 3,
                 "d": 4, **more}
        lens = [2, 3] if "lens" in more else None
        bias = self.bias(sizes) if "bias" in more else None
        tensors = self.layer(H)
        if lens:
            tensors["lens"] = (lens, (2,))
        if bias:
            tensors["bias"] = bias
        folder = self.write_case(tensors, D=8, **sizes)
        self.assertRegex(self.ask(f"load x {folder}"), "^ok headwise ")
        # (B, L, H d) as heads (B, H, L, d), and back.
        place = [((b * 3 + i) * H + h) * 4 + c for b in range(2)
                 for h in range(H) for i in range(3) for c in range(4)]
        heads = []
        for n in "qkv":
            y = linear(tensors["x"][0], tensors["w" + n][0],
                       tensors["b" + n][0])
            heads.append([y[at] for at in place])
        context, _ = attend(sizes, *heads, lens=lens, bias=bias and bias[0])
        merged = [0.0] * len(context)
        for at, value in zip(place, context):
            merged[at] = value
        out = linear(merged, tensors["wo"][0], tensors["bo"][0])
        given = self.outputs(folder)["out"]
        self.assertEqual(len(given), len(out))
        for one, other in zip(given, out):
            self.assertAlmostEqual(one / max(1, abs(other)),
                                   other / max(1, abs(other)), 5)

    def test_a_layer_has_parameters_of_its_heads_alone(self):
        spec = {"kind": "module", "B": 2, "Hq": 1, "Hkv": 1, "Lq": 3, "Lk": 3,
                "d": 4, "D": 8}
        for name, message in (
                ("wq", "tensor wq is f32 (8, 8), expected f32 (4, 8)"),
                ("bk", "tensor bk is f32 (8), expected f32 (4)"),
                ("wo", "tensor wo is f32 (8, 8), expected f32 (8, 4)")):
            folder = self.write_case(
                {**self.layer(1), name: self.layer(2)[name]}, **spec)
            self.assertEqual(self.ask(f"load x {folder}"),
                             "error spec.txt: " + message)
        # 2^64 features, which are none.
        none = {name: ([], (0, 8)) for name in ("wq", "wk", "wv")}
        none |= {name: ([], (0,)) for name in ("bq", "bk", "bv")}
        folder = self.write_case({**self.layer(1), **none, "wo": ([], (8, 0))},
                                 **{**spec, "Hq": 2**32, "Hkv": 2**32,
                                    "d": 2**32})
        self.assertRegex(self.ask(f"load x {folder}"), "^error .*head_dim")

    def test_what_is_not_offered_is_unsupported(self):
        for kind, key, value in (
                ("sdpa", "dtype", "f16"), ("sdpa", "paged", 1),
                ("sdpa", "page", 16), ("ragged", "weights", 1),
                ("ragged", "bias", 1), ("ragged", "dtype", "bf16"),
                ("training", "dv", 4), ("module", "chunk", 1),
                ("cached", "bias", 1), ("cached", "window", 2),
                ("cached", "dtype", "i4")):
            spec = {"kind": kind, **self.SIZES, key: value}
            folder = self.write_case(self.heads(spec), **spec)
            self.assertEqual(self.ask(f"load x {folder}"),
                             f"unsupported {key} {value} of a {kind} workload")
        for message, more in (
                ("kind bwd", {"kind": "bwd"}),
                ("weights in bf16",
                 {"kind": "sdpa", "dtype": "bf16", "weights": 1}),
                ("a cached workload that is not causal", {"kind": "cached"})):
            folder = self.write_case(self.heads(self.SIZES), **self.SIZES,
                                     **more)
            self.assertEqual(self.ask(f"load x {folder}"),
                             f"unsupported {message}")

    def test_bad_cases_are_errors(self):
        good = {"kind": "sdpa", **self.SIZES}
        cached = {"kind": "cached", "causal": 1, **self.SIZES}
        tensors = self.heads(good)
        other = (numbers(4, "o"), (2, 2))
        for message, spec, changed in (
                ("B is 0, expected", {**good, "B": 0}, {}),
                ("d is missing, expected",
                 {k: v for k, v in good.items() if k != "d"}, {}),
                ("Lq is -1, expected", {**good, "Lq": -1}, {}),
                ("Lk is 99999999999999999999, expected",
                 {**good, "Lk": 99999999999999999999}, {}),
                ("causal is 2, expected 0 or 1", {**good, "causal": 2}, {}),
                ("tensor q is f32 (2, 2), expected f32 (2, 4, 3, 8)", good,
                 {"q": other}),
                ("tensor k is f32 (2, 2, 5, 8), expected f32 (2, 2, 6, 8)",
                 {**good, "Lk": 6}, {}),
                ("tensor lens is missing", {**good, "lens": 1}, {}),
                ("lens has 6, expected 0 to 5", {**good, "lens": 1},
                 {"lens": ([6, 1], (2,))}),
                ("lens has -1, expected 0 to 5", {**good, "lens": 1},
                 {"lens": ([5, -1], (2,))}),
                # Of the queries, too: Lq is 3.
                ("lens has 4, expected 0 to 3", {**good, "kind": "ragged"},
                 {"lens": ([3, 4], (2,))}),
                ("tensor lens is missing", {**good, "kind": "ragged"}, {}),
                ("tensor lens is i32 (1), expected i32 (2)",
                 {**good, "kind": "ragged"}, {"lens": ([1], (1,))}),
                ("tensor bias is missing", {**good, "bias": 1}, {}),
                ("tensor bias is f32 (2, 2), expected f32 (1, 4, 3, 5)",
                 {**good, "bias": 1}, {"bias": other}),
                ("window is 0, expected a whole number from 1 on",
                 {**good, "window": 0}, {}),
                ("3 heads", {**good, "Hq": 3},
                 {"q": (numbers(144, "q"), (2, 3, 3, 8))}),
                ("D is missing", {**good, "kind": "module"}, {}),
                ("dv is 0, expected", {**good, "dv": 0}, {}),
                ("Lq is 3, expected at most Lk, 2", {**cached, "Lk": 2}, {}),
                ("prefix is 2, expected 0 or 1", {**cached, "prefix": 2}, {}),
                ("page is missing, expected", {**cached, "shuffled": 1}, {}),
                ("chunk is x, expected", {**cached, "chunk": "x"}, {}),
                ("17", {**cached, "page": 17}, {})):
            with self.subTest(message):
                folder = self.write_case(tensors, **good)
                self.assertRegex(self.ask(f"load x {folder}"), "^ok")
                folder = self.write_case({**tensors, **changed}, **spec)
                said = self.ask(f"load x {folder}")
                self.assertTrue(said.startswith("error "), said)
                if message != "3 heads":
                    self.assertIn(message, said)
                self.assertEqual(self.ask("run x 1"),
                                 "error x is not loaded")
        folder = self.write_case(tensors, **good)
        (folder / "v.bin").write_bytes(b"short")
        self.assertIn("v.bin has 5 bytes, expected those of (2, 2, 5, 8)",
                      self.ask(f"load x {folder}"))
        (folder / "v.bin").unlink()
        self.assertIn("error cannot read", self.ask(f"load x {folder}"))
        huge = {**good, **dict.fromkeys(("B", "Hq", "Hkv", "Lq", "Lk"),
                                        2**40)}
        folder = self.write_case(
            {"q": ([], (2**40, 2**40, 2**40, 8))}, **huge)
        self.assertIn("q.bin has 0 bytes, expected", self.ask(f"load x {folder}"))

    def test_bad_lines_are_errors_and_the_next_line_is_answered(self):
        spec = {"kind": "sdpa", **self.SIZES}
        folder = self.write_case(self.heads(spec), **spec)
        for line, said in (
                ("", "an empty line is no command, expected load, run, "),
                ("jump", "jump is no command, expected load, run, "),
                ("load", "cannot open"),
                ("load x /nowhere", "cannot open /nowhere/spec.txt"),
                ("run x 1", "x is not loaded"),
                ("out x .", "x is not loaded")):
            self.assertIn("error " + said, self.ask(line))
        self.assertRegex(self.ask(f"load x {folder}"), "^ok")
        for count in ("0", "-1", "many", "1 2", ""):
            self.assertIn("error run: n is ", self.ask(f"run x {count}"))
        self.assertIn("error cannot write", self.ask("out x /nowhere"))
        self.assertEqual(self.ask("drop x"), "ok")
        self.assertEqual(self.ask("drop x"), "ok")
        self.assertRegex(self.ask("peak"),
                         r"^ok \d+\.\d+ \d+\.\d+ \d+\.\d+$")

    def test_quit_and_the_end_of_the_input_both_end_it(self):
        for text in (b"quit\njump\n", b""):
            done = self.run_it(stdin=text)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (0, b"", b""))

    def test_other_arguments_are_usage(self):
        for arguments in (["--threads"], ["--threads", "0"], ["1", "2"],
                          ["--threads", "1", "2"]):
            done = self.run_it(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""))


if __name__ == "__main__":
    cli_case.main()
