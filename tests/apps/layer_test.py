"""The layer from files of parameters, in `headwise run` and `explain`."""
import json
import math
import os
import pathlib
import shutil
import struct
import zipfile

import cli_case
from cli_case import BAD_INPUT, USAGE, CliTest, read_npy


class ParamsTest(CliTest):
    def setUp(self):
        super().setUp()
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.put(f"layer/{name}.weight.npy", 6, 6)
            self.put(f"layer/{name}.bias.npy", 6)
        self.put("x.npy", 2, 4, 6)
        self.arguments = ("run", "--query", "x.npy", "--key", "x.npy",
                          "--value", "x.npy", "--params", "layer",
                          "--num-heads", "2", "--out", "o.npy")

    def test_a_folder_and_an_archive_are_the_same(self):
        self.succeed(*self.arguments)
        output = (self.folder / "o.npy").read_bytes()
        self.assertEqual(read_npy(self.folder / "o.npy")[0], (2, 4, 6))
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(self.folder / "layer.npz", "w",
                                 method) as archive:
                for path in (self.folder / "layer").iterdir():
                    archive.write(path, path.name)
            arguments = [a if a != "layer" else "layer.npz"
                         for a in self.arguments]
            self.succeed(*arguments)
            self.assertEqual((self.folder / "o.npy").read_bytes(), output)

    def test_safetensors_are_the_same(self):
        self.succeed(*self.arguments)
        output = (self.folder / "o.npy").read_bytes()
        header, data = {}, b""
        for path in sorted((self.folder / "layer").iterdir()):
            shape, values = read_npy(path)
            header[path.stem] = {
                "dtype": "F32", "shape": shape,
                "data_offsets": [len(data), len(data) + 4 * len(values)]}
            data += values.tobytes()
        text = json.dumps(header).encode()
        file = self.folder / "layer.safetensors"
        file.write_bytes(struct.pack("<Q", len(text)) + text + data)
        arguments = [a if a != "layer" else file.name for a in self.arguments]
        self.succeed(*arguments)
        self.assertEqual((self.folder / "o.npy").read_bytes(), output)
        file.write_bytes(file.read_bytes()[:-1])
        self.fail_with(BAD_INPUT, "layer.safetensors has 671 bytes of data, "
                       "expected 672 for its tensors", *arguments)

    def test_d2l_in_torch_is_read_as_it_was_saved(self):
        case = pathlib.Path(os.environ.get("HEADWISE_FIXTURES") or
                            cli_case.FIXTURES) / "d2l_h100_bias"
        if not case.is_dir():
            self.skipTest(f"there is no {case} (script/golden makes them)")
        arguments = ("run", "--query", case / "queries.npy", "--key",
                     case / "keys.npy", "--value", case / "values.npy",
                     "--num-heads", "5", "--out", "o.npy", "--params")
        self.succeed(*arguments, case / "torch.safetensors")
        output = (self.folder / "o.npy").read_bytes()
        (self.folder / "d2l").mkdir()
        for path in case.glob("W_*.npy"):
            shutil.copy(path, self.folder / "d2l")
        self.succeed(*arguments, "d2l")
        self.assertEqual((self.folder / "o.npy").read_bytes(), output)

    def test_a_layer_in_the_layout_of_others(self):
        root = pathlib.Path(os.environ.get("HEADWISE_FIXTURES") or
                            cli_case.FIXTURES)
        if not root.is_dir():
            self.skipTest(f"there is no {root} (script/golden makes them)")
        minilm = root / "minilm"
        x = minilm / "layer5_hidden_in.npy"
        arguments = ("run", "--query", x, "--key", x, "--value", x,
                     "--num-heads", "12", "--out", "o.npy", "--params",
                     minilm / "layer5.safetensors")
        self.fail_with(BAD_INPUT, "layer5.safetensors has no layer 0, expected "
                       "one of 5", *arguments, "--layer", "0")
        self.succeed(*arguments, "--layer", "5")
        output = (self.folder / "o.npy").read_bytes()
        self.succeed(*arguments)  # the only layer of the file
        self.assertEqual((self.folder / "o.npy").read_bytes(), output)
        self.succeed(*arguments, "--layer", "5", "--layout-of", "bert")
        self.assertEqual((self.folder / "o.npy").read_bytes(), output)
        self.fail_with(BAD_INPUT, "does not fit the layout distilbert: there "
                       "is no transformer.layer.0.attention.q_lin.weight",
                       *arguments, "--layout-of", "distilbert")
        self.fail_with(USAGE, "--layout-of", *arguments, "--layout-of", "gpt")

        gqa = root / "keras_gqa"
        arguments = ("run", "--query", gqa / "query.npy", "--key",
                     gqa / "value.npy", "--value", gqa / "value.npy", "--out",
                     "o.npy", "--params", gqa / "keras.npz")
        self.succeed(*arguments, "--num-heads", "6")
        got = read_npy(self.folder / "o.npy")[1]
        want = read_npy(gqa / "output.npy")[1]
        self.assertLess(max(abs(a - b) for a, b in zip(got, want)), 1e-5)
        self.fail_with(BAD_INPUT, "--num-heads is 4, expected 6 as in",
                       *arguments, "--num-heads", "4")
        self.fail_with(BAD_INPUT, "--num-kv-heads is 3, expected 2 as in",
                       *arguments, "--num-heads", "6", "--num-kv-heads", "3")

    def test_layer_is_for_params(self):
        for option in (("--layer", "1"), ("--layout-of", "bert")):
            self.fail_with(USAGE, f"{option[0]} needs --params", "run",
                           "--query", "x.npy", "--key", "x.npy", "--value",
                           "x.npy", "--out", "o.npy", *option)
            self.fail_with(USAGE, f"{option[0]} needs --params", "explain",
                           *option)
        self.fail_with(BAD_INPUT, "layer has no layer 1, expected 0",
                       *self.arguments, "--layer", "1")

    def test_a_folder_without_parameters(self):
        (self.folder / "empty").mkdir()
        arguments = [a if a != "layer" else "empty" for a in self.arguments]
        self.fail_with(BAD_INPUT, "empty has no model.safetensors, no "
                       "model.safetensors.index.json, no params.npz and no file "
                       "NAME.npy",
                       *arguments)
        os.mkfifo(self.folder / "empty/model.safetensors")
        self.fail_with(BAD_INPUT, "empty/model.safetensors is not a regular "
                       "file", *arguments)

    def test_added_keys(self):
        self.put("layer/bias_k.npy", 6)
        self.fail_with(BAD_INPUT, "layer has bias_k and no bias_v",
                       *self.arguments)
        self.put("layer/bias_v.npy", 5)
        self.fail_with(BAD_INPUT, "bias_v has shape (5), expected (num_heads "
                       "* v_head_dim) = (6)", *self.arguments)
        self.put("layer/bias_v.npy", 6)
        self.fail_with(USAGE, "--bias-k and --bias-v are for tensors with heads; "
                       "with --params the layer's are bias_k and bias_v",
                       *self.arguments, "--bias-k", "k.npy")
        self.put("layer/embedding.weight.npy", 9, 6)
        self.put_text("1 2 3\n4 5\n", "tokens.txt")
        explain = ("explain", "--params", "layer", "--tokens", "tokens.txt",
                   "--num-heads", "2", "--zero-attn")
        shown = self.succeed(*explain)
        self.assertIn("k_added[b,h,:,:] = concat(k_heads[b,h,:,:], "
                      "bias_k[h,:], 0)", shown)
        self.assertIn("scale * sum_d q_heads[b,h,i,d] * k_added[b,h,j,d]",
                      shown)
        self.assertIn("sum_j attn_weights[b,h,i,j] * v_added[b,h,j,d]", shown)
        self.assertIn("Lkv+2=5", shown)
        self.assertIn("추가 키", self.succeed(*explain, "--lang", "ko"))
        self.succeed(*explain, "--picture", "heads.svg")
        self.assertIn("bias_k", (self.folder / "heads.svg").read_text("utf-8"))
        self.fail_with(USAGE, "--zero-attn and --decode cannot be used together",
                       *explain, "--decode")
        self.fail_with(BAD_INPUT, "--params layer has bias_k, an added key, "
                       "which --decode does not take", *explain[:-1],
                       "--decode")
        self.fail_with(USAGE, "--bias-k and --params cannot be used together",
                       *explain, "--bias-k", "k.npy")
        self.fail_with(USAGE, "--bias-v needs --bias-k", "explain", "--bias-v",
                       "k.npy")

    def test_explain_guesses_no_heads(self):
        self.put("layer/embedding.weight.npy", 9, 6)
        self.put_text("1 2 3\n4 5\n", "tokens.txt")
        call = ("explain", "--params", "layer", "--tokens", "tokens.txt",
                "--shapes-only", "--json")
        message = ("--params layer needs --num-heads N: the file "
                   "does not say how many heads the layer has")
        self.fail_with(USAGE, message, *call)
        self.fail_with(USAGE, message, "explain", "--params", "layer")
        self.succeed(*call, "--num-heads", "3")

        def heads():
            return json.loads(self.succeed(*call))["num_heads"]

        (self.folder / "layer/config.json").write_text('{"n_heads": 6}')
        self.assertEqual(heads(), 6)
        self.put("layer/num_heads.npy", 1, descr="<i8", values=[3])
        self.assertEqual(heads(), 3)
        self.put("layer/num_heads.npy", 2, descr="<i8", values=[3, 3])
        self.fail_with(BAD_INPUT, "layer/num_heads.npy is not a number of heads, "
                       "expected one integer", *call)

    def test_unbatched(self):
        self.put("x.npy", 1, 4, 6)
        self.succeed(*self.arguments)
        batched = read_npy(self.folder / "o.npy")[1]
        self.put("x.npy", 4, 6)
        self.succeed(*self.arguments, "--lse", "l.npy")
        shape, values = read_npy(self.folder / "o.npy")
        self.assertEqual((shape, values), ((4, 6), batched))
        self.assertEqual(read_npy(self.folder / "l.npy")[0], (2, 4))

    def test_parameters_that_are_wrong(self):
        def write(name, *shape, **options):
            return lambda: self.put(f"layer/{name}.npy", *shape, **options)

        def remove(name):
            return lambda: (self.folder / "layer" / f"{name}.npy").unlink()

        nan = [0.0] * 36
        nan[15] = math.nan
        for spoil, message in (
                (write("w_k.weight", 6, 6, values=nan), "layer/w_k.weight.npy "
                 "is nan at (2, 3), expected finite numbers"),
                (write("w_k.weight", 6, 6, values=[math.inf] * 36),
                 "is inf at (0, 0)"),
                (remove("w_v.weight"), "layer has no w_v.weight"),
                (write("foo", 6), "foo.npy is not a parameter known here, "
                 "expected w_q.weight"),
                (write("fc_q.weight", 6, 6), "w_q.weight.npy is w_q.weight, as fc_q.weight is"),
                (remove("w_o.weight"), "has w_o.bias and no w_o.weight"),
                (write("w_q.weight", 6), "w_q.weight has shape (6), expected "
                 "2 axes"),
                (write("w_q.bias", 5), "w_q.bias has shape (5), expected (6)"),
                (write("w_q.weight", 6, 5), "--query has shape (2, 4, 6), "
                 "expected (B, Lq, query_dim) = (2, 4, 5)"),
                (write("w_q.weight", 6, 6, descr="|b1"),
                 "w_q.weight holds bool elements, expected numbers")):
            with self.subTest(message):
                self.setUp()
                spoil()
                self.fail_with(BAD_INPUT, message, *self.arguments)
        self.setUp()
        arguments = [a if a != "2" else "4" for a in self.arguments]
        self.fail_with(BAD_INPUT, "w_q.weight has 6 rows, expected a multiple of "
                       "num_heads = 4", *arguments)
        for path in ("missing", "x.npy", "/dev/null"):
            arguments = [a if a != "layer" else path for a in self.arguments]
            self.fail_with(BAD_INPUT, path, *arguments)


class GroupedHeadsTest(CliTest):
    """8 heads of queries on 2 of keys and values, embed_dim 16."""

    def setUp(self):
        super().setUp()
        for name, rows in (("w_q", 16), ("w_k", 4), ("w_v", 4), ("w_o", 16)):
            self.put(f"layer/{name}.weight.npy", rows, 16)
            self.put(f"layer/{name}.bias.npy", rows)
        self.put("x.npy", 2, 5, 16)
        self.arguments = ("run", "--query", "x.npy", "--key", "x.npy",
                          "--value", "x.npy", "--out", "o.npy",
                          "--attn-weights", "a.npy", "--lse", "l.npy",
                          "--causal", "--num-heads", "8")

    def repeat(self, name, columns):
        """The rows of each of 2 heads of 2 rows, 4 times."""
        _, rows = read_npy(self.folder / "layer" / f"{name}.npy")
        size = 2 * columns
        values = [x for g in (0, 1) for _ in range(4)
                  for x in rows[g * size:(g + 1) * size]]
        shape = (16,) if columns == 1 else (16, columns)
        self.put(f"repeated/{name}.npy", *shape, values=values)

    def test_they_are_the_numbers_of_repeated_keys(self):
        self.succeed(*self.arguments, "--params", "layer", "--num-kv-heads",
                     "2")
        grouped = [(self.folder / f"{name}.npy").read_bytes()
                   for name in "oal"]
        shutil.copytree(self.folder / "layer", self.folder / "repeated")
        for name in ("w_k", "w_v"):
            self.repeat(f"{name}.weight", 16)
            self.repeat(f"{name}.bias", 1)
        self.succeed(*self.arguments, "--params", "repeated")
        for name, before in zip("oal", grouped):
            self.assertEqual((self.folder / f"{name}.npy").read_bytes(),
                             before)
        self.assertEqual(read_npy(self.folder / "a.npy")[0], (2, 8, 5, 5))

    def test_explain_has_the_same_numbers(self):
        self.put_text("[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]")
        layer = ("--params", "layer", "--num-heads", "8", "--num-kv-heads",
                 "2")
        self.put("layer/embedding.weight.npy", 100, 16)
        told = ("explain", "--tokens", "tokens", "--mask-kind", "causal",
                *layer)
        self.succeed(*told, "--step", "embedded", "--out", "x.npy")
        self.succeed(*told, "--out", "e.npy")
        self.succeed(*self.arguments, *layer[:2], *layer[4:])
        self.assertEqual((self.folder / "e.npy").read_bytes(),
                         (self.folder / "o.npy").read_bytes())

    def test_parameters_that_do_not_fit(self):
        for heads, message in (
                ((), "w_k.weight has 4 rows, expected a multiple of "
                 "num_heads = 8"),
                (("--num-kv-heads", "4"), "w_k.weight has shape (4, 16), "
                 "expected (num_kv_heads * head_dim, kdim) = (8, 16)"),
                (("--num-kv-heads", "1"), "w_k.weight has shape (4, 16), "
                 "expected (num_kv_heads * head_dim, kdim) = (2, 16)")):
            with self.subTest(heads):
                self.fail_with(BAD_INPUT, message, *self.arguments, "--params",
                               "layer", *heads)
                self.assertFalse((self.folder / "o.npy").exists())


class FixtureTest(CliTest):
    """The numbers that PyTorch gave, through files of parameters."""

    def setUp(self):
        super().setUp()
        self.cases = pathlib.Path(os.environ.get("HEADWISE_FIXTURES") or
                                  cli_case.FIXTURES)
        if not (self.cases / "seed000_mha").is_dir():
            self.skipTest(f"no fixtures in {self.cases} (script/golden makes "
                          "them)")

    def params(self, case, embedding=True):
        folder = self.folder / "params"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        told = json.loads((self.cases / case / "case.json").read_text())
        for name, tensor in told["tensors"].items():
            if tensor["role"] == "weight" and (
                    embedding or not name.startswith("embedding")):
                shutil.copy(self.cases / case / tensor["file"],
                            folder / f"{name}.npy")
        return told["tensors"]

    def compare(self, case, tensors, name, got):
        told = tensors[name]
        shape, values = read_npy(self.folder / got)
        want_shape, want = read_npy(self.cases / case / told["file"])
        self.assertEqual(math.prod(shape), math.prod(want_shape))
        worst = max(abs(x - y) - told["rtol"] * abs(y)
                    for x, y in zip(values, want))
        self.assertLessEqual(worst, told["atol"])

    def test_token_cases(self):
        for case, example in (("seed000_mha", "self-attention"),
                              ("seed003_mha", "self-attention"),
                              ("seed001_padding_and_nopeak", "masked"),
                              ("seed001_encdec_padding", "encoder-decoder")):
            with self.subTest(case):
                tensors = self.params(case)
                for step, name in (("output", "output"),
                                   ("attn_weights", "weights")):
                    self.succeed("explain", "--example", example, "--params",
                                 "params", "--step", step, "--out", "o.npy")
                    self.compare(case, tensors, name, "o.npy")

    def test_step_cases(self):
        for case, heads, *more in (
                ("seed002_step1", "1"), ("seed002_step2", "8"),
                ("seed002_step3", "8"),
                ("seed002_step3_dropout", "8", "--keep-mask",
                 self.cases / "seed002_step3_dropout/dropout_keep.npy",
                 "--dropout", "0.25"),
                ("seed002_step4_padding", "8", "--mask",
                 self.cases / "seed002_step4_padding/mask.npy"),
                ("seed002_step4_fully_masked", "8", "--mask",
                 self.cases / "seed002_step4_fully_masked/mask.npy",
                 "--empty-rows", "uniform")):
            with self.subTest(case):
                tensors = self.params(case)
                at = {name: self.cases / case / tensors[name]["file"]
                      for name in ("query", "key", "value")}
                self.succeed("run", "--query", at["query"], "--key", at["key"],
                             "--value", at["value"], "--params", "params",
                             "--num-heads", heads, "--out", "o.npy",
                             "--attn-weights", "a.npy", *more)
                self.compare(case, tensors, "x", "o.npy")
                self.compare(case, tensors, "attention", "a.npy")


if __name__ == "__main__":
    cli_case.main()
