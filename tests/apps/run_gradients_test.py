"""`headwise run --d-output --grad-dir`: each gradient, along a direction of its
operand, is how the loss changes when the operand moves that way."""

import cli_case
from cli_case import BAD_INPUT, USAGE, read_npy
from run_case import RunCase

STEP = 2 ** -6


def direction(count):
    return [((n * 53 + 7) % 19) / 19 - 0.5 for n in range(count)]


class GradientsTest(RunCase):
    def loss(self, arguments, upstream):
        """The sum of what is written times its gradient."""
        self.succeed(*arguments)
        total = 0
        for written, gradient in upstream.items():
            shape, values = read_npy(self.folder / written)
            of_shape, by = read_npy(self.folder / gradient)
            self.assertEqual(shape, of_shape)
            total += sum(x * g for x, g in zip(values, by))
        return total

    def assert_derivative(self, gradient, operand, arguments, upstream):
        shape, values = read_npy(self.folder / operand)
        got_shape, got = read_npy(self.folder / "grad" / gradient)
        self.assertEqual(got_shape, shape, gradient)
        along = direction(len(values))
        losses = []
        for by in (STEP, -STEP):
            self.put(operand, *shape,
                     values=[x + by * d for x, d in zip(values, along)])
            losses.append(self.loss(arguments, upstream))
        self.put(operand, *shape, values=list(values))
        want = (losses[0] - losses[1]) / (2 * STEP)
        self.assertAlmostEqual(sum(g * d for g, d in zip(got, along)), want,
                               delta=2e-3 * max(1, abs(want)), msg=gradient)

    def assert_all(self, operands, arguments, upstream, more=()):
        """`operands`: gradient file -> operand file."""
        self.succeed(*arguments, "--grad-dir", "grad", "--d-output",
                     upstream["o.npy"], *more)
        self.assertEqual(sorted(p.name for p in
                                (self.folder / "grad").iterdir()),
                         sorted(operands))
        for gradient, operand in operands.items():
            self.assert_derivative(gradient, operand, arguments, upstream)

    def test_the_operation(self):
        self.put("g.npy", 2, 4, 3, 7)
        self.put("bias.npy", 6, 4)
        self.put("slopes.npy", 4, values=(0.5, 0.25, -0.125, 1))
        self.put("t5.npy", 6, 4)
        self.put("sinks.npy", 4, values=(0.5, 1, -0.25, 0))
        self.put("bk.npy", 2, 5)
        self.put("bv.npy", 2, 7)
        self.assert_all(
            {"d_query.npy": "q.npy", "d_key.npy": "k.npy",
             "d_value.npy": "v.npy", "d_bias.npy": "bias.npy",
             "d_t5_bias.npy": "t5.npy", "d_alibi.npy": "slopes.npy",
             "d_sinks.npy": "sinks.npy", "d_bias_k.npy": "bk.npy",
             "d_bias_v.npy": "bv.npy"},
            self.inputs("--causal", "--bias-k", "bk.npy", "--bias-v", "bv.npy",
                        "--zero-attn", "--query-start", "3", "--softcap", "2",
                        "--bias", "bias.npy", "--bias-axes", "Lkv,H",
                        "--t5-bias", "t5.npy", "--t5-max-distance", "6",
                        "--alibi", "slopes.npy", "--sinks", "sinks.npy"),
            {"o.npy": "g.npy"})

    def test_returned_attention_weights(self):
        self.put("g.npy", 2, 4, 3, 7)
        for form, shape in (("per-head", (2, 4, 3, 6)), ("mean", (2, 3, 6)),
                            ("after-dropout", (2, 4, 3, 6))):
            with self.subTest(form):
                self.put("ga.npy", *shape)
                self.assert_all(
                    {"d_query.npy": "q.npy", "d_key.npy": "k.npy",
                     "d_value.npy": "v.npy"},
                    self.inputs("--attn-weights", "a.npy",
                                "--attn-weights-form", form, "--dropout",
                                "0.3"),
                    {"o.npy": "g.npy", "a.npy": "ga.npy"},
                    ("--d-attn-weights", "ga.npy"))

    def test_unbatched_and_rows_first(self):
        self.put("g.npy", 3, 4, 7)
        self.assert_all(
            {"d_query.npy": "q.npy", "d_key.npy": "k.npy",
             "d_value.npy": "v.npy"},
            self.inputs("--layout", "blhd", q=(3, 4, 5), k=(6, 2, 5),
                        v=(6, 2, 7)),
            {"o.npy": "g.npy"})

    def test_a_ragged_batch(self):
        self.put("g.npy", 9, 4, 7)
        self.put("offsets.npy", 4, descr="<i8", values=(0, 4, 4, 9))
        self.assert_all(
            {"d_query.npy": "q.npy", "d_key.npy": "k.npy",
             "d_value.npy": "v.npy"},
            self.inputs("--offsets", "offsets.npy", "--causal", q=(9, 4, 5),
                        k=(9, 2, 5), v=(9, 2, 7)),
            {"o.npy": "g.npy"})

    def test_the_layer(self):
        operands = {"d_query.npy": "q.npy", "d_key.npy": "k.npy",
                    "d_value.npy": "v.npy"}
        for name, size in (("w_q", 6), ("w_k", 5), ("w_v", 4), ("w_o", 6)):
            for part, shape in (("weight", (6, size)), ("bias", (6,))):
                self.put(f"layer/{name}.{part}.npy", *shape)
                operands[f"d_{name}.{part}.npy"] = f"layer/{name}.{part}.npy"
        self.put("g.npy", 2, 3, 6)
        self.put("sinks.npy", 2, values=(0.5, -1))
        operands["d_sinks.npy"] = "sinks.npy"
        for name in ("bias_k", "bias_v"):
            self.put(f"layer/{name}.npy", 6)
            operands[f"d_{name}.npy"] = f"layer/{name}.npy"
        self.assert_all(
            operands,
            self.inputs("--params", "layer", "--num-heads", "2", "--causal",
                        "--zero-attn", "--sinks", "sinks.npy", q=(2, 3, 6),
                        k=(2, 5, 5), v=(2, 5, 4)),
            {"o.npy": "g.npy"})

    def test_a_keep_mask_that_was_written_drops_the_same(self):
        self.put("ids.npy", 2, descr="<i8", values=(7, 3))
        self.put("w.npy", 4, 5)
        self.put("offsets.npy", 4, descr="<i8", values=(0, 4, 4, 9))
        for name in ("w_q", "w_k", "w_v", "w_o"):
            for layer in ("layer", "keyed"):
                self.put(f"{layer}/{name}.weight.npy", 6, 6)
        self.put("keyed/bias_k.npy", 6)
        self.put("keyed/bias_v.npy", 6)
        self.put("bk.npy", 2, 5)
        self.put("bv.npy", 2, 7)
        batched = {"q": (2, 4, 3, 5), "k": (2, 2, 6, 5), "v": (2, 2, 6, 7)}
        for sizes, output, mask, *opts in (
                (batched, (2, 4, 3, 7), (2, 4, 3, 6), "--sequence-ids",
                 "ids.npy", "--query-start", "5"),
                (batched, (2, 4, 3, 7), (2, 4, 3, 6), "--scoring", "additive",
                 "--score-weight", "w.npy"),
                (batched, (2, 4, 3, 7), (2, 4, 3, 8), "--bias-k", "bk.npy",
                 "--bias-v", "bv.npy", "--zero-attn"),
                ({"q": (4, 3, 5), "k": (2, 6, 5), "v": (2, 6, 7)}, (4, 3, 7),
                 (4, 3, 6)),
                ({"q": (9, 4, 5), "k": (9, 2, 5), "v": (9, 2, 7)}, (9, 4, 7),
                 (3, 4, 5, 5), "--offsets", "offsets.npy"),
                ({"q": (9, 4, 5), "k": (9, 2, 5), "v": (9, 2, 7)}, (9, 4, 7),
                 (3, 4, 5, 6), "--offsets", "offsets.npy", "--zero-attn"),
                ({"q": (2, 3, 6), "k": (2, 5, 6), "v": (2, 5, 6)}, (2, 3, 6),
                 (2, 2, 3, 5), "--params", "layer", "--num-heads", "2"),
                ({"q": (2, 3, 6), "k": (2, 5, 6), "v": (2, 5, 6)}, (2, 3, 6),
                 (2, 2, 3, 7), "--params", "keyed", "--num-heads", "2",
                 "--zero-attn")):
            with self.subTest(opts):
                self.put("g.npy", *output)
                arguments = self.inputs(
                    *opts, "--dropout", "0.4", "--attn-weights", "a.npy",
                    "--attn-weights-form", "after-dropout", "--d-output",
                    "g.npy", "--grad-dir", "grad", **sizes)

                def bytes_of_run(*more):
                    self.succeed(*arguments, *more)
                    return {path.name: path.read_bytes() for path in
                            [self.folder / "o.npy", self.folder / "a.npy",
                             *(self.folder / "grad").iterdir()]}
                drawn = bytes_of_run("--dropout-seed", "3", "--keep-mask-out",
                                     "keep.npy")
                shape, kept = read_npy(self.folder / "keep.npy")
                self.assertEqual(shape, mask)
                _, weights = read_npy(self.folder / "a.npy")
                ragged = "--offsets" in opts
                for keep, weight in zip(kept, weights):
                    self.assertTrue(ragged or keep == (weight != 0))
                    self.assertTrue(keep or weight == 0)
                other_seed = ("--dropout-seed", "4")
                self.assertNotEqual(bytes_of_run(*other_seed), drawn)
                self.assertEqual(
                    bytes_of_run(*other_seed, "--keep-mask", "keep.npy"),
                    drawn)

    def test_invalid_inputs_are_errors(self):
        arguments = self.inputs()
        self.put("g.npy", 2, 4, 3, 7)
        self.put("short.npy", 2, 4, 3, 6)
        self.refuse(USAGE, "--d-output needs --grad-dir", *arguments,
                    "--d-output", "g.npy")
        self.refuse(USAGE, "--grad-dir needs --d-output", *arguments,
                    "--grad-dir", "grad")
        self.refuse(USAGE, "--d-attn-weights needs --d-output", *arguments,
                    "--d-attn-weights", "short.npy")
        self.refuse(BAD_INPUT, "--d-output has shape (2, 4, 3, 6), expected "
                    "that of the output, (2, 4, 3, 7)", *arguments,
                    "--d-output", "short.npy", "--grad-dir", "grad")
        self.refuse(BAD_INPUT, "--d-attn-weights has shape (2, 4, 3, 7), "
                    "expected that of the attention weights, (2, 4, 3, 6)",
                    *arguments, "--d-output", "g.npy", "--grad-dir", "grad",
                    "--d-attn-weights", "g.npy")
        self.refuse(BAD_INPUT, "--d-output", *arguments, "--d-output",
                    "missing.npy", "--grad-dir", "grad")

    def test_a_folder_that_cannot_be_made(self):
        self.put("g.npy", 2, 4, 3, 7)
        self.fail_with(cli_case.OUT_OF_RESOURCES, "--grad-dir g.npy/grad",
                       *self.inputs("--d-output", "g.npy", "--grad-dir",
                                    "g.npy/grad"))


if __name__ == "__main__":
    cli_case.main()
