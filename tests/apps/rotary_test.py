"""Rotary positions in `headwise run` and `headwise explain`."""
import json
import math
import re

import cli_case
from cli_case import BAD_INPUT, USAGE, read_npy
from run_case import RunCase

B, H, HKV, L, D = 2, 4, 2, 5, 8


def rotated(values, heads, position, *, base=10000, dim=D, pairs="halves",
            back=False):
    """(B, H, L, D) `values`; `position(b, l)` says where a token stands."""
    values = list(values)
    half = dim // 2
    for b in range(B):
        for h in range(heads):
            for row in range(L):
                at = ((b * heads + h) * L + row) * D
                for p in range(half):
                    angle = position(b, row) * base ** (-2 * p / dim)
                    cos, sin = math.cos(angle), math.sin(angle)
                    sin = -sin if back else sin
                    i, j = ((at + p, at + p + half) if pairs == "halves"
                            else (at + 2 * p, at + 2 * p + 1))
                    x, y = values[i], values[j]
                    values[i] = x * cos - y * sin
                    values[j] = y * cos + x * sin
    return values


class RotaryCase(RunCase):
    def setUp(self):
        super().setUp()
        call = self.inputs(q=(B, H, L, D), k=(B, HKV, L, D), v=(B, HKV, L, D))
        self.call = call[:call.index("--out")]

    def rotate_files(self, of_queries, of_keys, **options):
        """q.npy and k.npy rotated by the formula, as rq.npy and rk.npy."""
        for name, heads, position in (("q", H, of_queries),
                                      ("k", HKV, of_keys)):
            shape, values = read_npy(self.folder / f"{name}.npy")
            self.put(f"r{name}.npy", *shape,
                     values=rotated(values, heads, position, **options))
        return [{"q.npy": "rq.npy", "k.npy": "rk.npy"}.get(word, word)
                for word in self.call]

    def same(self, one, other, within=2e-6):
        (shape, a), (also, b) = (read_npy(self.folder / f)
                                 for f in (one, other))
        self.assertEqual(shape, also)
        for x, y in zip(a, b):
            self.assertAlmostEqual(x, y, delta=within)


class RunTest(RotaryCase):
    def compare(self, given, plain, *also):
        self.succeed(*given, "--out", "o.npy", *also)
        self.succeed(*plain, "--out", "p.npy", *also)
        self.same("o.npy", "p.npy")

    def test_the_operation_on_rotated_heads(self):
        for words, options in (
                (("--rotary-base", "500"), {"base": 500}),
                (("--rotary-dim", "4"), {"dim": 4}),
                (("--rotary-layout", "interleaved"), {"pairs": "interleaved"})):
            plain = self.rotate_files(lambda b, l: l + 3, lambda b, l: l,
                                      **options)
            self.compare([*self.call, *words], plain, "--causal",
                         "--query-start", "3")

    def test_positions(self):
        self.put("qp.npy", B, L, descr="<i8", values=range(10, 20))
        self.put("kp.npy", B, L, descr="<i8", values=[7] * 10)
        plain = self.rotate_files(lambda b, l: 10 + 5 * b + l, lambda b, l: 7)
        self.compare([*self.call, "--rotary-base", "10000",
                      "--query-positions", "qp.npy", "--key-positions",
                      "kp.npy"], plain)

    def test_tables(self):
        half = D // 2
        angles = [n * 100 ** (-2 * p / D)
                  for n in range(L) for p in range(half)]
        self.put("cos.npy", L, half, values=map(math.cos, angles))
        self.put("sin.npy", L, half, values=map(math.sin, angles))
        plain = self.rotate_files(lambda b, l: l, lambda b, l: l, base=100)
        self.compare([*self.call, "--rotary-tables", "cos.npy,sin.npy"], plain)
        self.refuse(BAD_INPUT, "--query-start is 5, expected", *self.call,
                    "--rotary-tables", "cos.npy,sin.npy", "--query-start", "5",
                    "--out", "other.npy")

    def test_gradients_turn_back(self):
        self.put("d.npy", B, H, L, D)
        self.succeed(*self.call, "--rotary-base", "10000", "--out", "o.npy",
                     "--d-output", "d.npy", "--grad-dir", "g")
        plain = self.rotate_files(lambda b, l: l, lambda b, l: l)
        self.succeed(*plain, "--out", "p.npy", "--d-output", "d.npy",
                     "--grad-dir", "plain")
        for name, heads in (("d_query", H), ("d_key", HKV)):
            shape, values = read_npy(self.folder / f"plain/{name}.npy")
            self.put(f"{name}.npy", *shape,
                     values=rotated(values, heads, lambda b, l: l, back=True))
            self.same(f"g/{name}.npy", f"{name}.npy", 1e-5)
        self.same("g/d_value.npy", "plain/d_value.npy", 1e-5)

    def test_positions_that_were_not_given_are_not_named(self):
        self.put("starts.npy", B, descr="<i8", values=[0, -3])
        self.put("past.npy", B, HKV, 2, D)
        self.put("c.npy", L - 1, D // 2)
        self.put("cos.npy", L, D // 2)
        past = ("--past-key", "past.npy", "--past-value", "past.npy",
                "--present-dir", "present")
        base = ("--rotary-base", "100")
        tables = ("--rotary-tables", "c.npy,c.npy")
        for message, words in (
                ("--query-start is -3, expected 0", (*base, "--query-start",
                                                     "-3")),
                ("--query-start[1] is -3, expected 0",
                 (*base, "--query-start", "starts.npy")),
                ("--query-start is -3, expected 0",
                 (*base, *past, "--query-start", "-3")),
                ("--query-start[1] is -3, expected 0",
                 (*base, *past, "--query-start", "starts.npy")),
                ("--rotary-tables has 4 positions, expected at least 5",
                 tables),
                ("--rotary-tables has 5 positions, expected at least 7",
                 ("--rotary-tables", "cos.npy,cos.npy", *past))):
            self.refuse(BAD_INPUT, message, *self.call, *words, "--out",
                        "o.npy")

    def test_scaling_changes_the_output(self):
        outputs = set()
        for rule in ("linear:4", "ntk:4", "yarn:4,4096", "yarn:4,4096,32,1,false",
                     "yarn:4,4096,32,1,true,1.5", "llama3:8,1,4,32"):
            self.succeed(*self.call, "--rotary-scaling", rule, "--out",
                         "o.npy")
            outputs.add((self.folder / "o.npy").read_bytes())
        self.assertEqual(len(outputs), 6)

    def test_what_is_wrong_is_named(self):
        self.put("short.npy", B, L - 1, descr="<i8")
        self.put("negative.npy", B, L, descr="<i8", values=[-2] * 10)
        self.put("c.npy", L, D)
        on = ("--rotary-base", "10000")
        for code, message, words in (
                (USAGE, "--rotary-dim is 3, expected an even number",
                 ("--rotary-dim", "3")),
                (USAGE, "--rotary-dim rotates 10 features, expected at "
                 "most the head size, 8", ("--rotary-dim", "10")),
                (USAGE, "--rotary-base", ("--rotary-base", "0.5")),
                (USAGE, "--rotary-scaling is cubic:3, expected linear:F",
                 ("--rotary-scaling", "cubic:3")),
                (USAGE, "--rotary-scaling is yarn:4, expected linear:F",
                 ("--rotary-scaling", "yarn:4")),
                (USAGE, "--rotary-scaling.factor is 0.5, expected",
                 ("--rotary-scaling", "linear:0.5")),
                (USAGE, "--query-positions needs --rotary-base",
                 ("--query-positions", "short.npy")),
                (BAD_INPUT, "--query-positions has shape (2, 4), expected",
                 (*on, "--query-positions", "short.npy")),
                (BAD_INPUT, "--key-positions[0][0] is -2, expected 0 to "
                 "2147483647", (*on, "--key-positions", "negative.npy")),
                (USAGE, "--rotary-tables is c.npy, expected two files",
                 ("--rotary-tables", "c.npy")),
                (BAD_INPUT, "--rotary-tables rotates 16 features, expected at "
                 "most the head size, 8", ("--rotary-tables", "c.npy,c.npy")),
                (USAGE, "--rotary-base cannot be used with --rotary-tables",
                 (*on, "--rotary-tables", "c.npy,c.npy"))):
            self.refuse(code, message, *self.call, "--out", "o.npy", *words)


class ViewTest(RotaryCase):
    """Of the tensors of two layers; heads before rows, and rows before heads."""

    def setUp(self):
        super().setUp()
        self.rotate_files(lambda b, l: l + 2, lambda b, l: l, base=300)
        for name, heads in (("q", H), ("k", HKV), ("rq", H), ("rk", HKV)):
            _, values = read_npy(self.folder / f"{name}.npy")
            self.put(f"layers_{name}.npy", 2, B, heads, L, D,
                     values=[*values, *(v / 2 for v in values)])

    def both(self, *arguments, query="q", key="k", rotary=()):
        """JSON of the tensors, rotated here or by the command."""
        tensors = lambda q, k: ("--query", f"{q}.npy", "--key", f"{k}.npy")
        rotated_here = json.loads(self.succeed(
            *arguments, *tensors(f"r{query}", f"r{key}"), "--query-start", "2"))
        by_option = json.loads(self.succeed(
            *arguments, *tensors(query, key), "--query-start", "2",
            "--rotary-base", "300", *rotary))
        return by_option, rotated_here

    def near(self, one, other):
        if isinstance(one, (list, dict)):
            self.assertEqual(len(one), len(other))
            pairs = zip(one, other) if isinstance(one, list) else (
                (one[name], other[name]) for name in one)
            for a, b in pairs:
                self.near(a, b)
        elif isinstance(one, float):
            self.assertAlmostEqual(one, other, delta=2e-5)
        else:
            self.assertEqual(one, other)

    def test_statistics_and_weights_are_those_of_rotated_heads(self):
        self.near(*self.both("stats", "--json", "--causal"))
        self.near(*self.both("view", "--json", "--sequence", "0", "--head", "0.3"))
        plain = json.loads(self.succeed("stats", "--json", "--query", "q.npy",
                                        "--key", "k.npy", "--causal",
                                        "--query-start", "2"))
        turned, _ = self.both("stats", "--json", "--causal")
        self.assertNotEqual(plain, turned)

    def test_every_layer_is_rotated(self):
        layers = {name: f"layers_{name}.npy" for name in ("q", "k", "rq", "rk")}
        for name, file in layers.items():
            (self.folder / file).rename(self.folder / f"{name}.npy")
        self.near(*self.both("stats", "--json"))
        self.near(*self.both("view", "--json", "--sequence", "0", "--head", "1.2"))
        self.near(*self.both("stats", "--json", "--layers", "1"))

    def test_positions_of_files(self):
        self.put("qp.npy", B, L, descr="<i8", values=[2, 3, 4, 5, 6] * B)
        self.near(*self.both("stats", "--json",
                             rotary=("--query-positions", "qp.npy")))

    def test_the_page_lists_the_rotation(self):
        self.run_it("view", "--query", "q.npy", "--key", "k.npy", "--out",
                    "page.html", "--rotary-base", "300")
        page = json.loads(re.search(
            r'<script type="application/json" id="page">(.*?)</script>',
            (self.folder / "page.html").read_text("utf-8"), re.S).group(1))
        steps = {step["step"]: step for step in page["trace"]}
        self.assertEqual(list(steps)[:4],
                         ["q_heads", "k_heads", "q_rotated", "k_rotated"])
        self.assertEqual(steps["k_rotated"]["shape"], [B, HKV, L, D])
        self.assertIn("rotate(k_heads[b,h,j,:])", steps["k_rotated"]["formula"])
        self.assertIn("q_rotated[b,h,i,d] * k_rotated[b,floor(h/2),j,d]",
                      steps["scores"]["formula"])

    def test_what_is_wrong_is_named(self):
        tensors = ("--query", "q.npy", "--key", "k.npy")
        self.put("negative.npy", B, L, descr="<i8", values=[-2] * 10)
        for command in (("stats",), ("view", "--json")):
            self.refuse(USAGE, "--rotary-dim is 3, expected an even number",
                        *command, *tensors, "--rotary-dim", "3")
            self.refuse(USAGE, "--rotary-dim rotates 10 features, expected at "
                        "most the head size, 8", *command, *tensors,
                        "--rotary-dim", "10")
            self.refuse(BAD_INPUT, "--key-positions[0][0] is -2, expected 0 to "
                        "2147483647", *command, *tensors, "--rotary-base", "9",
                        "--key-positions", "negative.npy")
            self.refuse(USAGE, "--rotary-base cannot be used with --model",
                        *command, "--model", "m", "a", "--rotary-base", "9")


class ExplainTest(cli_case.CliTest):
    def test_the_rotation_is_a_step(self):
        small = ("explain", "--embed-dim", "16", "--num-heads", "2",
                 "--rotary-base", "10000")
        shown = self.succeed(*small)
        self.assertIn("q_rotated: rotate each pair of features", shown)
        self.assertIn("q_rotated[b,h,i,:] = rotate(q_heads[b,h,i,:])", shown)
        self.assertIn("sum_d q_rotated[b,h,i,d] * k_rotated[b,h,j,d]", shown)
        self.assertIn("k_rotated", self.succeed(*small, "--shapes-only"))
        self.assertIn("회전합니다", self.succeed(*small, "--lang", "ko"))
        self.assertNotIn("rotated", self.succeed(*small[:-2]))


if __name__ == "__main__":
    cli_case.main()
