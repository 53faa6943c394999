"""Additive scoring in `headwise run` and `explain`."""
import itertools
import json
import math

import cli_case
from cli_case import BAD_INPUT, USAGE, read_npy
from run_case import RunCase


class OperationTest(RunCase):
    def setUp(self):
        super().setUp()
        self.put("w.npy", 4, 5)
        self.additive = ("--scoring", "additive", "--score-weight", "w.npy")

    def scores(self):
        """A function of (b, h, i, j), from inputs() and w.npy."""
        (_, H, Lq, D), q = read_npy(self.folder / "q.npy")
        (_, G, Lk, _), k = read_npy(self.folder / "k.npy")
        _, w = read_npy(self.folder / "w.npy")

        def score(b, h, i, j):
            g = b * G + h // (H // G)
            return sum(w[h * D + d] * math.tanh(
                q[((b * H + h) * Lq + i) * D + d] +
                k[(g * Lk + j) * D + d]) for d in range(D))
        return score

    def test_its_numbers(self):
        files = ("--attn-weights", "a.npy", "--lse", "l.npy")
        for opts, allowed, cap in (
                ((), lambda b, h, i, j: True, None),
                (("--causal", "--query-start", "1"),
                 lambda b, h, i, j: j <= i + 1, None),
                (("--softcap", "0.5"), lambda b, h, i, j: True, 0.5)):
            with self.subTest(opts):
                self.succeed(*self.inputs(*files, *self.additive, *opts))
                score = self.scores()

                def term(_, b, h, i, j):
                    s = score(b, h, i, j)
                    return s if cap is None else cap * math.tanh(s / cap)
                output, weights, lse = self.attention(allowed, term=term)
                self.assert_close("o.npy", (2, 4, 3, 7), output)
                self.assert_close("a.npy", (2, 4, 3, 6), weights)
                self.assert_close("l.npy", (2, 4, 3), lse)

    def test_dot_is_the_default(self):
        self.succeed(*self.inputs())
        output = (self.folder / "o.npy").read_bytes()
        self.succeed(*self.inputs("--scoring", "dot"))
        self.assertEqual((self.folder / "o.npy").read_bytes(), output)
        self.succeed(*self.inputs(*self.additive))
        self.assertNotEqual((self.folder / "o.npy").read_bytes(), output)

    def test_what_does_not_fit(self):
        self.put("w3.npy", 3, 5)
        self.put("w1.npy", 5)
        self.put("m.npy", 4, 5, descr="|b1")
        for code, message, *opts in (
                (USAGE, "--scoring is sum, expected one of dot, additive",
                 "--scoring", "sum"),
                (USAGE, "--scoring additive needs --score-weight or --params",
                 "--scoring", "additive"),
                (USAGE, "--score-weight needs --scoring additive",
                 "--score-weight", "w.npy"),
                (USAGE, "--score-weight needs --scoring additive",
                 "--score-weight", "w.npy", "--scoring", "dot"),
                (USAGE, "--scale is for --scoring dot; additive scores have "
                 "none", *self.additive, "--scale", "2"),
                (BAD_INPUT, "--score-weight has shape (3, 5), expected "
                 "(Hq, D) = (4, 5)", "--scoring", "additive",
                 "--score-weight", "w3.npy"),
                (BAD_INPUT, "--score-weight has shape (5), expected (H, D)",
                 "--scoring", "additive", "--score-weight", "w1.npy"),
                (BAD_INPUT, "--score-weight: m.npy holds bool elements", "--scoring",
                 "additive", "--score-weight", "m.npy"),
                (BAD_INPUT, "--score-weight: ", "--scoring", "additive",
                 "--score-weight", "missing.npy")):
            with self.subTest(message):
                self.refuse(code, message, *self.inputs(*opts))


class LayerTest(RunCase):
    def setUp(self):
        super().setUp()
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.put(f"layer/{name}.weight.npy", 6, 6)
        self.put("layer/w_score.weight.npy", 2, 3)
        self.put("x.npy", 2, 4, 6)
        self.arguments = ("run", "--query", "x.npy", "--key", "x.npy",
                          "--value", "x.npy", "--params", "layer",
                          "--num-heads", "2", "--out", "o.npy")

    def test_the_files_say_that_it_is_additive(self):
        self.succeed(*self.arguments)
        output = (self.folder / "o.npy").read_bytes()
        self.succeed(*self.arguments, "--scoring", "additive")
        self.assertEqual((self.folder / "o.npy").read_bytes(), output)
        (self.folder / "layer/w_score.weight.npy").unlink()
        self.succeed(*self.arguments)
        self.assertNotEqual((self.folder / "o.npy").read_bytes(), output)

    def test_what_does_not_fit(self):
        self.refuse(USAGE, "--score-weight is for tensors with heads; with "
                    "--params the layer's is w_score.weight", *self.arguments,
                    "--score-weight", "x.npy", "--scoring", "additive")
        self.refuse(BAD_INPUT, "--scoring is dot, expected additive: layer has "
                    "a w_score.weight", *self.arguments, "--scoring", "dot")
        self.refuse(USAGE, "--scale is for --scoring dot", *self.arguments,
                    "--scoring", "additive", "--scale", "2")
        self.refuse(BAD_INPUT, "--scale is 2, expected none with a "
                    "score_weight", *self.arguments, "--scale", "2")
        self.put("layer/w_score.weight.npy", 1, 6)
        self.refuse(BAD_INPUT, "w_score.weight has shape (1, 6), expected "
                    "(num_heads, head_dim) = (2, 3)", *self.arguments)
        (self.folder / "layer/w_score.weight.npy").unlink()
        self.refuse(BAD_INPUT, "layer has no w_score.weight, which --scoring "
                    "additive needs", *self.arguments, "--scoring", "additive")
        self.put("layer/w_score.weight.npy", 2, 3)
        (self.folder / "layer/w_v.weight.npy").unlink()
        self.refuse(BAD_INPUT, "layer has no w_v.weight", *self.arguments)

    def test_what_d2l_calls_w_v(self):
        self.put("d2l/W_q.weight.npy", 5, 6)
        self.put("d2l/W_k.weight.npy", 5, 3)
        w = self.put("d2l/w_v.weight.npy", 1, 5)
        self.put("q.npy", 2, 4, 6)
        self.put("k.npy", 2, 7, 3)
        self.put("v.npy", 2, 7, 2)
        self.succeed("run", "--query", "q.npy", "--key", "k.npy", "--value",
                     "v.npy", "--params", "d2l", "--num-heads", "1", "--out",
                     "o.npy")

        def project(name, x, rows, size):
            _, weight = read_npy(self.folder / "d2l" / f"{name}.weight.npy")
            _, x = read_npy(self.folder / x)
            return [[sum(weight[o * size + n] * x[r * size + n]
                         for n in range(size)) for o in range(5)]
                    for r in range(rows)]
        q, k = project("W_q", "q.npy", 8, 6), project("W_k", "k.npy", 14, 3)
        w, v = read_npy(w)[1], read_npy(self.folder / "v.npy")[1]
        want = []
        for b, i in itertools.product(range(2), range(4)):
            exps = [math.exp(sum(
                w[d] * math.tanh(q[b * 4 + i][d] + k[b * 7 + j][d])
                for d in range(5))) for j in range(7)]
            want += [sum(e * v[(b * 7 + j) * 2 + c]
                         for j, e in enumerate(exps)) / sum(exps)
                     for c in range(2)]
        self.assert_close("o.npy", (2, 4, 2), want)


class ExplainTest(RunCase):
    def test_it_says_its_own_formula(self):
        self.put_text("[[1, 2, 3], [4, 5]]")
        arguments = ("explain", "--tokens", "tokens", "--embed-dim", "8",
                     "--num-heads", "4", "--scoring", "additive")
        text = self.succeed(*arguments)
        self.assertIn("scores: compare every query with every key through a "
                      "hidden layer\n    scores[b,h,i,j] = sum_d "
                      "w_score.weight[h,d] * tanh(q_heads[b,h,i,d] + "
                      "k_heads[b,h,j,d])\n", text)
        self.assertNotIn("scale", text)
        told = json.loads(self.succeed(*arguments, "--json"))
        self.assertEqual(told["scoring"], "additive")
        self.assertEqual(told["scale"], 1)
        self.assertIn("은닉층", self.succeed(*arguments, "--lang", "ko"))
        shapes = self.succeed(*arguments, "--shapes-only")
        self.assertIn("tanh(q_heads", shapes)
        grouped = self.succeed(*arguments, "--num-kv-heads", "2")
        self.assertIn("k_heads[b,floor(h/2),j,d])\n", grouped)
        self.fail_with(USAGE, "--scale is for --scoring dot; additive scores "
                       "have none", *arguments, "--scale", "1")

    def test_the_numbers_of_its_steps(self):
        self.put_text("[[1, 2, 3], [4, 5]]")
        arguments = ("explain", "--tokens", "tokens", "--embed-dim", "6",
                     "--num-heads", "2", "--scoring", "additive", "--params",
                     "layer")
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.put(f"layer/{name}.weight.npy", 6, 6)
        self.put("layer/embedding.weight.npy", 10, 6)
        w = self.put("layer/w_score.weight.npy", 2, 3)
        for step in ("q_heads", "k_heads", "scores"):
            self.succeed(*arguments, "--step", step, "--out", f"{step}.npy")
        q, k, w = (read_npy(path)[1] for path in (
            self.folder / "q_heads.npy", self.folder / "k_heads.npy", w))
        want = [sum(w[h * 3 + d] * math.tanh(
            q[((b * 2 + h) * 3 + i) * 3 + d] +
            k[((b * 2 + h) * 3 + j) * 3 + d]) for d in range(3))
            for b in range(2) for h in range(2) for i in range(3)
            for j in range(3)]
        self.assert_close("scores.npy", (2, 2, 3, 3), want)

    def test_the_values_as_they_are(self):
        self.put("d2l/W_q.weight.npy", 5, 6)
        self.put("d2l/W_k.weight.npy", 5, 6)
        self.put("d2l/w_v.weight.npy", 1, 5)
        self.put("d2l/embedding.weight.npy", 10, 6)
        self.put_text("[[1, 2, 3], [4, 5]]")
        text = self.succeed("explain", "--tokens", "tokens", "--num-heads",
                            "1", "--params", "d2l")
        self.assertIn("v: no value projection: the values are used as given\n"
                      "    v = embedded\n", text)
        self.assertIn("output = merged\n", text)
        self.succeed("explain", "--tokens", "tokens", "--num-heads", "1",
                     "--params", "d2l", "--shapes-only")


if __name__ == "__main__":
    cli_case.main()
