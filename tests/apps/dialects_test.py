"""`--dialect`: masks and results as another library has them."""
import itertools
import json
import math

import cli_case
from cli_case import BAD_INPUT, USAGE, read_npy
from run_case import RunCase

# Of run_case's inputs().
B, H, LQ, LKV = 2, 4, 3, 6


class DialectsTest(RunCase):
    def mask(self, *shape, masked, descr="|b1"):
        """m.npy, false where `masked` of the indices is."""
        values = [not masked(*at)
                  for at in itertools.product(*map(range, shape))]
        self.put("m.npy", *shape, values=values, descr=descr)
        return "--mask", "m.npy"

    def outputs(self, *opts, **options):
        """(output, weights) of a call that must succeed."""
        self.succeed(*self.inputs(*opts, "--attn-weights", "w.npy", **options))
        return read_npy(self.folder / "o.npy")[1], read_npy(
            self.folder / "w.npy")

    def test_rank_and_polarity_are_those_of_the_library(self):
        head = lambda h, i, j: (h + i + j) % 3 == 0 and j
        expected = lambda b, h, i, j: not head(h, i, j)
        batch = lambda b, i, j: (b + i + j) % 3 == 0 and j
        in_batch = lambda b, h, i, j: not batch(b, i, j)
        row = lambda i, j: (i + j) % 2 == 1 and j
        as_rows = lambda b, h, i, j: not row(i, j)
        of_key = lambda b, j: (b + j) % 2 == 1 and j
        as_keys = lambda b, h, i, j: not of_key(b, j)
        for dialect, shape, masked, allowed, kind in (
                ("torch-sdpa", (H, LQ, LKV), head, expected, "|b1"),
                ("onnx-1.23", (H, LQ, LKV), head, expected, "|b1"),
                ("flax", (H, LQ, LKV), head, expected, "|b1"),
                ("keras", (B, LQ, LKV), batch, in_batch, "|b1"),
                ("fill-1e12", (B, LQ, LKV), batch, in_batch, "<i8"),
                ("torch-mha", (LQ, LKV), lambda i, j: not row(i, j), as_rows,
                 "|b1"),
                ("torch-mha", (B * H, LQ, LKV),
                 lambda n, i, j: not batch(n // H, i, j), in_batch, "|b1"),
                ("transformers", (B, LKV), of_key, as_keys, "<i8")):
            with self.subTest(dialect=dialect, shape=shape):
                mask = self.mask(*shape, masked=masked, descr=kind)
                self.succeed(*self.inputs(
                    *mask, "--dialect", dialect, "--layout", "bhld",
                    "--attn-weights", "w.npy", "--attn-weights-form",
                    "per-head"))
                output, weights, _ = self.attention(allowed)
                self.assert_close("o.npy", (B, H, LQ, 7), output)
                self.assert_close("w.npy", (B, H, LQ, LKV), weights)

    def test_a_row_without_a_key_depends_on_what_is_returned(self):
        def first(dialect, *opts):
            masks = dialect == "torch-mha"
            mask = self.mask(LQ, LKV, masked=lambda i, j: masks != (i == 0))
            self.succeed(*self.inputs(*mask, "--dialect", dialect, "--layout",
                                      "bhld", *opts))
            return read_npy(self.folder / "o.npy")[1][0]

        weights = "--attn-weights", "w.npy"
        mean = sum(self.values_of_first_head()) / LKV
        self.assertEqual(first("torch-mha"), 0)
        self.assertTrue(math.isnan(first("torch-mha", *weights)))
        self.assertAlmostEqual(first("keras"), mean, 5)
        self.assertEqual(first("keras", *weights), 0)
        self.assertEqual(first("keras", "--dropout", "0"), 0)
        self.assertEqual(first("torch-sdpa", *weights), 0)
        self.assertEqual(first("onnx-1.23", *weights), 0)
        self.assertTrue(math.isnan(first("onnx-1.21")))
        self.assertAlmostEqual(first("flax", *weights), mean, 5)
        self.assertAlmostEqual(first("fill-1e10", *weights), mean, 5)
        # --empty-rows has the last word.
        self.assertEqual(first("flax", "--empty-rows", "zero"), 0)

    def values_of_first_head(self):
        self.inputs()
        _, v = read_npy(self.folder / "v.npy")
        return [v[j * 7] for j in range(LKV)]

    def test_causal_is_aligned_as_the_library_does(self):
        for dialect, offset in (("torch-sdpa", 0), ("jax", 0),
                                ("onnx-1.23", 0),
                                ("flash-attention", LKV - LQ),
                                ("transformers", LKV - LQ)):
            self.succeed(*self.inputs("--causal", "--dialect", dialect,
                                      "--layout", "bhld"))
            output, _, _ = self.attention(
                lambda b, h, i, j: j <= i + offset)
            with self.subTest(dialect=dialect):
                self.assert_close("o.npy", (B, H, LQ, 7), output)

    def test_onnxs_causal_mask_ends_at_each_nonpad_length(self):
        lengths = [6, 4]
        self.put("n.npy", B, values=lengths, descr="<i8")
        self.succeed(*self.inputs("--causal", "--key-lengths", "n.npy",
                                  "--dialect", "onnx-1.23"))
        output, _, _ = self.attention(
            lambda b, h, i, j: j <= i + lengths[b] - LQ and j < lengths[b])
        self.assert_close("o.npy", (B, H, LQ, 7), output)

    def test_key_padding_and_float_masks_of_pytorchs_layer(self):
        self.put("p.npy", B, LKV, descr="|b1",
                 values=[b == 1 and j > 3 for b in range(B)
                         for j in range(LKV)])
        bias = [(i - j) / 3 if j else -math.inf for i in range(LQ)
                for j in range(LKV)]
        self.put("m.npy", LQ, LKV, values=bias)
        self.succeed(*self.inputs("--mask", "m.npy", "--key-padding", "p.npy",
                                  "--dialect", "torch-mha"))
        output, _, _ = self.attention(
            lambda b, h, i, j: j and not (b == 1 and j > 3),
            term=lambda score, b, h, i, j: score + bias[i * LKV + j])
        self.assert_close("o.npy", (B, H, LQ, 7), output)

    def test_a_short_mask_of_onnx_masks_the_missing_keys(self):
        for dialect in "onnx-1.23", "onnx-1.21":
            self.mask(LQ, 1, masked=lambda i, j: False)
            self.succeed(*self.inputs("--mask", "m.npy", "--dialect", dialect))
            output, _, _ = self.attention(lambda b, h, i, j: j == 0)
            with self.subTest(dialect=dialect, columns=1):
                self.assert_close("o.npy", (B, H, LQ, 7), output)
            for descr in "|b1", "<f4":
                self.put("m.npy", LQ, 0, values=[], descr=descr)
                self.succeed(*self.inputs("--mask", "m.npy", "--dialect",
                                          dialect, "--empty-rows", "zero"))
                with self.subTest(dialect=dialect, descr=descr):
                    self.assertEqual(set(read_npy(self.folder / "o.npy")[1]),
                                     {0})

    def test_a_float_key_padding_mask_of_pytorchs_layer_is_added(self):
        added = [-math.inf if b == 1 and j > 3 else j / 4
                 for b in range(B) for j in range(LKV)]
        self.put("p.npy", B, LKV, values=added)
        self.succeed(*self.inputs("--key-padding", "p.npy", "--dialect",
                                  "torch-mha"))
        output, _, _ = self.attention(
            lambda b, h, i, j: not (b == 1 and j > 3),
            term=lambda score, b, h, i, j: score + added[b * LKV + j])
        self.assert_close("o.npy", (B, H, LQ, 7), output)

    def test_layout_is_the_librarys(self):
        self.succeed(*self.inputs())
        by_heads = read_npy(self.folder / "o.npy")[1]
        for name, heads, length, size in (("q", H, LQ, 5), ("k", 2, LKV, 5),
                                          ("v", 2, LKV, 7)):
            values = read_npy(self.folder / f"{name}.npy")[1]
            self.put(f"{name}.npy", B, length, heads, size, values=[
                values[((b * heads + h) * length + i) * size + d]
                for b, i, h, d in itertools.product(
                    range(B), range(length), range(heads), range(size))])
        self.succeed("run", "--query", "q.npy", "--key", "k.npy", "--value",
                     "v.npy", "--out", "o.npy", "--dialect", "jax")
        shape, got = read_npy(self.folder / "o.npy")
        self.assertEqual(shape, (B, LQ, H, 7))
        for b, h, i, d in itertools.product(range(B), range(H), range(LQ),
                                            range(7)):
            self.assertEqual(got[((b * LQ + i) * H + h) * 7 + d],
                             by_heads[((b * H + h) * LQ + i) * 7 + d])

    def test_weights_are_returned_as_the_library_does(self):
        _, (shape, mean) = self.outputs("--dialect", "torch-mha")
        self.assertEqual(shape, (B, LQ, LKV))
        _, (_, per_head) = self.outputs("--dialect", "torch-mha",
                                        "--attn-weights-form", "per-head")
        averaged = lambda each: [
            sum(each[((b * H + h) * LQ + i) * LKV + j] for h in range(H)) / H
            for b in range(B) for i in range(LQ) for j in range(LKV)]
        for x, y in zip(mean, averaged(per_head)):
            self.assertAlmostEqual(x, y, 6)
        # After dropout the kept ones have doubled.
        drop = "--dropout", "0.5"
        _, (shape, dropped) = self.outputs(*drop, "--dialect", "torch-mha")
        self.assertEqual(shape, (B, LQ, LKV))
        _, (_, each) = self.outputs(*drop, "--attn-weights-form",
                                    "after-dropout")
        for x, y in zip(dropped, averaged(each)):
            self.assertAlmostEqual(x, y, 6)
        _, (_, before) = self.outputs(*drop, "--dialect", "fill-1e10")
        self.assertEqual(before, per_head)

    def test_view_stats_and_explain_take_dialects(self):
        self.inputs()
        tensors = "--query", "q.npy", "--key", "k.npy"
        mask = self.mask(H, LQ, LKV, masked=lambda h, i, j: i == 0 or j == 1)
        masked = *tensors, *mask, "--dialect", "torch-sdpa"
        lines = json.loads(self.succeed("stats", *masked, "--json"))
        text = json.dumps(lines)
        self.assertIn('"queries_without_key": 2', text)
        done = self.run_it("view", *masked, "--out", "page.html")
        self.assertEqual(done.returncode, 0, done)
        self.fail_with(BAD_INPUT, "--mask has shape (4, 3, 6), expected a mask "
                       "as jax takes it: (B, H, Lq, Lkv) = (2, 4, 3, 6)",
                       "stats", *tensors, *mask, "--dialect", "jax",
                       "--layout", "bhld")
        self.put_text("[[1, 2, 3], [4, 5, 6]]", "t.json")
        self.put("m.npy", 3, 3, values=[0, 0, 0, 1, 0, 0, 0, 1, 1],
                 descr="|b1")
        nan = self.succeed("explain", "--tokens", "t.json", "--mask", "m.npy",
                           "--dialect", "onnx-1.21", "--step", "attn_weights",
                           "--json")
        zero = self.succeed("explain", "--tokens", "t.json", "--mask", "m.npy",
                            "--dialect", "onnx-1.23", "--step", "attn_weights",
                            "--json")
        self.assertIn("null", nan.lower().replace("nan", "null"))
        self.assertNotEqual(nan, zero)

    def test_invalid_inputs_are_errors(self):
        self.put("m3.npy", B, LQ, LKV, descr="|b1")
        self.put("i.npy", LQ, LKV, descr="<i8")
        self.put("f.npy", B, H, LQ, LKV)
        self.put("o.npy", 3, values=[0, 2, 4], descr="<i8")
        self.put("rows.npy", LQ, LKV)
        self.put("p.npy", B, LKV)
        for code, message, *opts in (
                (BAD_INPUT, "--mask has shape (2, 4, 3, 6), expected a mask as "
                 "torch-mha takes it: (Lq, Lkv) = (3, 6); (B * H, Lq, Lkv) = "
                 "(8, 3, 6)", "--mask", "f.npy", "--dialect", "torch-mha"),
                (BAD_INPUT, "--mask has shape (2, 3, 6), expected (B * H, Lq, "
                 "Lkv) = (8, 3, 6)", "--mask", "m3.npy", "--dialect",
                 "torch-mha"),
                (BAD_INPUT, "--mask has shape (2, 3, 6), expected (H, Lq, Lkv) "
                 "= (4, 3, 6)", "--mask", "m3.npy", "--dialect", "torch-sdpa"),
                (BAD_INPUT, "--mask holds int64 elements, expected elements as "
                 "torch-sdpa takes them: bool; float", "--mask", "i.npy",
                 "--dialect", "torch-sdpa"),
                (BAD_INPUT, "expected no mask with the dialect flash-attention",
                 "--mask", "i.npy", "--dialect", "flash-attention", "--layout",
                 "bhld"),
                (USAGE, "--mask-axes and --dialect cannot be used together",
                 "--mask", "i.npy", "--mask-axes", "Lq,Lkv", "--dialect",
                 "keras", "--layout", "bhld"),
                (BAD_INPUT, "expected one bias: with --dialect torch-sdpa give "
                 "--bias or --mask", "--mask", "f.npy", "--bias", "f.npy",
                 "--dialect", "torch-sdpa"),
                (BAD_INPUT, "--softcap is given, expected neither masks nor a "
                 "bias: onnx-1.21 caps the scores after them", "--softcap",
                 "2", "--causal", "--dialect", "onnx-1.21"),
                (BAD_INPUT, "expected one bias: with --dialect torch-mha give "
                 "--bias or --key-padding", "--bias", "f.npy",
                 "--key-padding", "p.npy", "--dialect", "torch-mha"),
                (USAGE, "torch-sdpa takes --mask or --causal, not both",
                 "--mask", "f.npy", "--causal", "--dialect", "torch-sdpa"),
                (USAGE, "--dialect", "--dialect", "torch")):
            with self.subTest(opts=opts):
                self.refuse(code, message, *self.inputs(*opts))
                self.run_it(*self.inputs(*opts, "--lang", "ko"))


if __name__ == "__main__":
    cli_case.main()
