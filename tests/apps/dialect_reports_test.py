"""`headwise diff` and `headwise lint-mask`."""
import itertools
import json

import cli_case
from cli_case import BAD_INPUT, CHECK_FAILED, OK, USAGE, CliTest

B, H, LQ, LKV = 2, 4, 3, 6


class DiffTest(CliTest):
    def diff(self, dialects, *opts):
        self.put("q.npy", B, H, LQ, 5)
        self.put("k.npy", B, 2, LKV, 5)
        self.put("v.npy", B, 2, LKV, 7)
        return ("diff", "--dialects", dialects, "--query", "q.npy", "--key",
                "k.npy", "--value", "v.npy", *opts)

    def found(self, dialects, *opts):
        done = self.run_it(*self.diff(dialects, *opts, "--json"))
        found = json.loads(done.stdout)
        self.assertEqual(done.returncode, OK if found["same"] else CHECK_FAILED)
        return found

    def test_names_the_step_the_rows_the_numbers_and_why(self):
        self.put("m.npy", LQ, LKV, descr="|b1",
                 values=[j <= i for i in range(LQ) for j in range(LKV)])
        found = self.found("torch-mha,keras", "--mask", "m.npy")
        self.assertEqual(found["dialects"], ["torch-mha", "keras"])
        self.assertFalse(found["same"])
        self.assertEqual(found["step"], "mask")
        self.assertEqual(found["rows"], B * H * LQ)
        self.assertEqual(found["first_rows"][0], [0, 0, 0])
        self.assertEqual(sorted(found["values"]), [0, 1])
        self.assertIn("masked in torch-mha and attend in keras", found["why"])
        text = self.find("torch-mha and keras differ",
                         *self.diff("torch-mha,keras", "--mask", "m.npy"))
        self.assertTrue(text.startswith(
            "query: B=2 H=4 L=3 D=5, layout bhld\nkey: "), text)
        self.assertIn("torch-mha and keras differ at the step mask: ", text)
        self.assertIn("24 in total", text)
        korean = self.find("torch-mha와 keras의 결과가 다릅니다",
                           *self.diff("torch-mha,keras", "--mask", "m.npy",
                                      "--lang", "ko"))
        self.assertIn("torch-mha에서는 마스킹, keras에서는 어텐션 가능", korean)

    def test_causal_weights_softcap_and_lengths(self):
        found = self.found("jax,flash-attention", "--causal")
        self.assertEqual(found["step"], "causal_mask")
        self.assertEqual(found["at"], [0, 0, 0, 1])
        self.assertTrue(self.found("jax,torch-sdpa", "--causal")["same"])
        self.put("n.npy", B, values=[0, 4], descr="<i8")
        found = self.found("d2l,onnx-1.21", "--key-lengths", "n.npy")
        self.assertEqual(found["step"], "attn_weights")
        self.assertEqual(found["rows"], H * LQ)
        self.assertEqual(found["values"][1], "nan")
        found = self.found("onnx-1.23,onnx-1.21", "--key-lengths", "n.npy",
                           "--softcap", "2")
        self.assertEqual(found["step"], "softcap")
        found = self.found("torch-mha,flax", "--weights")
        self.assertEqual(found["step"], "returned_weights")
        same = self.succeed(*self.diff("torch-mha,flax"))
        self.assertTrue(same.endswith("\ntorch-mha and flax give the same\n"), same)

    def test_refuses(self):
        self.put("m.npy", 5, 5, descr="|b1")
        for code, message, dialects, *opts in (
                (USAGE, "--dialects is keras, expected two names separated by "
                 "a comma", "keras"),
                (USAGE, "--dialects is keras,tf", "keras,tf"),
                (BAD_INPUT, "--mask has shape (5, 5), expected (Lq, Lkv) = "
                 "(3, 6)", "keras,torch-mha", "--mask", "m.npy"),
                (BAD_INPUT, "--mask is given next to causal, expected a mask or "
                 "causal, not both", "torch-sdpa,torch-sdpa", "--mask", "m.npy",
                 "--causal")):
            with self.subTest(dialects=dialects):
                self.fail_with(code, message, *self.diff(dialects, *opts))


class LintMaskTest(CliTest):
    def lint(self, dialect, shape, allowed, *opts, descr="|b1"):
        self.put("m.npy", *shape, descr=descr, values=[
            allowed(*at) for at in itertools.product(*map(range, shape))])
        return "lint-mask", "--dialect", dialect, "--mask", "m.npy", *opts

    def warnings(self, *arguments):
        done = self.run_it(*self.lint(*arguments, "--json"))
        found = json.loads(done.stdout)
        self.assertEqual(done.returncode,
                         CHECK_FAILED if found["warnings"] else OK)
        return {w["name"]: w for w in found["warnings"]}

    def test_each_warning_has_rows_and_the_mend(self):
        causal = lambda i, j: j <= i
        self.assertEqual(self.warnings("torch-sdpa", (4, 4), causal), {})
        self.assertEqual(
            self.succeed(*self.lint("torch-sdpa", (4, 4), causal)),
            "no warnings\n")
        inverted = self.warnings("torch-mha", (4, 4), causal)
        self.assertEqual(inverted["inverted"]["rows"], 4)
        self.assertIn("empty_rows", inverted)
        late = self.warnings("keras", (2, 6), causal)
        self.assertEqual(late["alignment"]["first_rows"],
                         [[0, 0, 0], [0, 0, 1]])
        left = lambda b, j: j >= 2 * b
        side = self.warnings("transformers", (2, 5), left)
        self.assertEqual(side["padding_side"]["first_rows"], [[1, 0, 0]])
        self.assertEqual(self.warnings("transformers", (2, 5), left,
                                       "--padding", "left"), {})
        text = self.find("--mask has warnings: leak", *self.lint(
            "torch-sdpa", (4, 4), lambda i, j: j <= i or (i, j) == (0, 3)))
        self.assertIn("leak: the mask is causal", text)
        self.assertIn("1 in total: (0, 0, 0)", text)
        self.assertIn("fix: mask these keys too", text)
        korean = self.find("--mask에 경고가 있습니다: empty_rows, inverted",
                           *self.lint("torch-mha", (4, 4), causal, "--lang",
                                      "ko"))
        self.assertIn("마스크가 뒤집힌 것 같습니다", korean)

    def test_sizes_that_the_mask_does_not_say(self):
        self.put("n.npy", 2, values=[3, 0], descr="<i8")
        line = "lint-mask", "--dialect", "d2l", "--mask", "n.npy"
        self.fail_with(USAGE, "--keys is needed", *line)
        self.assertIn("empty_rows: ", self.find("empty_rows", *line, "--keys",
                                                "4"))

    def test_refuses(self):
        self.fail_with(
            BAD_INPUT, "--mask has shape (2, 2, 4, 4), expected a mask as "
            "torch-mha takes it", *self.lint(
                "torch-mha", (2, 2, 4, 4), lambda *at: True))
        for message, *opts in (
                ("--batch is 3, expected 2, as the mask has it", "--batch", "3"),
                ("--keys is 4, expected 5, as the mask has it", "--keys", "4")):
            self.fail_with(USAGE, message, *self.lint(
                "transformers", (2, 5), lambda *at: True, *opts))
        self.succeed(*self.lint("keras", (1, 3, 3), lambda *at: True,
                                "--batch", "2"))
        # Integers that a library would read as true, but were meant otherwise.
        for values, looks in (([0, -10000] * 8, "added to the scores"),
                              ([0, 255] * 8, "255 for true"),
                              ([1, 2] * 8, "look like ids")):
            self.put("m.npy", 4, 4, descr="<i8", values=values)
            self.fail_with(BAD_INPUT, looks, "lint-mask", "--dialect", "keras",
                           "--mask", "m.npy")
        self.fail_with(USAGE, "give --mask or --key-padding", "lint-mask",
                       "--dialect", "keras")


if __name__ == "__main__":
    cli_case.main()
