"""`headwise inspect`."""
import hashlib
import json
import math
import os
import subprocess
import zipfile

import cli_case
import tiny_causal
from cli_case import BAD_INPUT, USAGE
from params_case import ParamsCase, bert, npy_bytes, npz_bytes, others, tensor


class InspectTest(ParamsCase):
    def inspect(self, *arguments):
        return json.loads(self.succeed("inspect", "--json", *arguments))

    def test_json_has_everything(self):
        tensors = {**bert(), **others()}
        file = self.put_safetensors("m.safetensors", tensors, {"format": "pt"})
        told = self.inspect("m.safetensors")
        self.assertEqual(told["schema"], "headwise.inspect")
        self.assertEqual(told["files"], [
            {"path": "m.safetensors", "bytes": file.stat().st_size,
             "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}])
        self.assertEqual(told["metadata"], {"format": "pt"})
        self.assertEqual(told["layout"], {"name": "bert", "prefix": ""})
        self.assertIsNone(told["why_no_layout"])
        self.assertEqual(
            {t["name"]: (t["dtype"], tuple(t["shape"]), t["bytes"], t["file"])
             for t in told["tensors"]},
            {name: (dtype, shape, len(data), "m.safetensors")
             for name, (dtype, shape, data) in tensors.items()})
        self.assertEqual(told["tensor_bytes"],
                         sum(len(t[2]) for t in tensors.values()))
        # Ids are no parameters.
        self.assertEqual(told["parameters"], sum(
            math.prod(shape) for dtype, shape, _ in tensors.values()
            if dtype == "float32"))
        self.assertEqual(told["attention_parameters"], 2 * 4 * (36 + 6))
        self.assertEqual([layer["number"] for layer in told["layers"]], [0, 1])
        layer = told["layers"][1]
        self.assertEqual([layer[size] for size in (
            "query_dim", "key_dim", "value_dim", "output_dim")], [6] * 4)
        self.assertEqual(layer["params"]["w_q.weight"], [6, 6])
        self.assertEqual(layer["params"]["w_o.bias"], [6])

    def test_parameters_are_floating_point(self):
        # Packed query, key and value count once.
        self.put_safetensors("m.safetensors", {
            "in_proj_weight": tensor(18, 6, dtype="float16"),
            "out_proj.weight": tensor(6, 6, dtype="int8"),
            "x": tensor(5, dtype="bfloat16"), "y": tensor(dtype="float64")})
        told = self.inspect("m.safetensors")
        self.assertEqual((told["parameters"], told["attention_parameters"]),
                         (108 + 5 + 1, 108))

    def test_text_of_a_model(self):
        self.put_safetensors("model/model.safetensors",
                             {**bert(range(12)), **others()}, {"format": "pt"})
        self.put_bytes("model/config.json", b'{"num_attention_heads": 3}')
        text = self.succeed("inspect", "model")
        for line in ("File: model/model.safetensors, ",
                     "  SHA-256 ", "Metadata: format = pt\n",
                     "Layout: bert, 12 attention layers\n",
                     "Layers 0-11: embed_dim 6, 3 heads of 2 features (from "
                     "config.json)\n",
                     "Parameters: 2220, 2016 in attention layers (90.8%)\n",
                     "Tensors: 100, ",
                     "  encoder.layer.N, N = 0-11, each with:\n",
                     "  encoder.layer.N, N = 0-1, each with:\n",
                     "    .attention.self.query.weight"):
            self.assertIn(line, text)
        self.assertEqual(text.count(".attention.self.query.weight"), 1)
        for line in text.splitlines():
            if "SHA-256" not in line:
                self.assertLessEqual(len(line), 80, line)

    def test_tensors_lists_every_name(self):
        self.put_safetensors("m.safetensors", {**bert(), **others()})
        text = self.succeed("inspect", "m.safetensors", "--tensors")
        for name, (dtype, shape, data) in {**bert(), **others()}.items():
            line, = [line.split() for line in text.splitlines()
                     if line.split()[:1] == [name]]
            self.assertEqual(line[1], dtype)
            self.assertEqual(" ".join(line[2:-1]),
                             "(" + ", ".join(map(str, shape)) + ")")
            self.assertEqual(line[-1], str(len(data)))

    def test_a_model_in_shards(self):
        tensors = self.put_sharded()
        for path in ("model", "model/model.safetensors.index.json"):
            told = self.inspect(path)
            self.assertEqual(
                [file["path"] for file in told["files"]],
                ["model/model.safetensors.index.json",
                 "model/model-00001-of-00002.safetensors",
                 "model/model-00002-of-00002.safetensors"])
            for file in told["files"]:
                data = (self.folder / file["path"]).read_bytes()
                self.assertEqual((file["bytes"], file["sha256"]),
                                 (len(data), hashlib.sha256(data).hexdigest()))
            self.assertEqual({t["name"] for t in told["tensors"]},
                             set(tensors))
            for entry in told["tensors"]:
                shard = "1" if ".layer.0.attention" in entry["name"] else "2"
                self.assertEqual(
                    entry["file"],
                    f"model/model-0000{shard}-of-00002.safetensors")
            self.assertEqual(told["metadata"],
                             {"format": "pt", "shard": "00001"})
            self.assertEqual(len(told["layers"]), 2)

    def test_arrays(self):
        self.put_bytes("a.npz", npz_bytes({
            "query/kernel": tensor(5, 4, 2), "key/kernel": tensor(5, 2, 2),
            "value/kernel": tensor(5, 2, 3),
            "attention_output/kernel": tensor(4, 3, 7)}))
        told = self.inspect("a.npz")
        self.assertEqual(told["layout"], {"name": "keras", "prefix": ""})
        layer = told["layers"][0]
        self.assertEqual((layer["num_heads"], layer["num_kv_heads"],
                          layer["heads_from"]), (4, 2, "shapes"))
        self.assertEqual((layer["query_dim"], layer["output_dim"]), (5, 7))
        self.assertIn("Layer 0: query_dim 5, key_dim 5, value_dim 5, output 7, "
                      "no biases, 4 heads of 2 features, 2 key/value heads "
                      "(from the shapes)\n", self.succeed("inspect", "a.npz"))
        self.put("one.npy", 2, 3)
        told = self.inspect("one.npy")
        self.assertEqual([(t["name"], t["shape"]) for t in told["tensors"]],
                         [("one", [2, 3])])
        self.assertIsNone(told["layout"])
        for name in ("w_q", "w_k", "w_v"):
            self.put(f"layer/{name}.weight.npy", 6, 6)
        told = self.inspect("layer")
        self.assertEqual(told["layout"]["name"], "headwise")
        self.assertEqual([file["path"] for file in told["files"]],
                         [f"layer/w_{x}.weight.npy" for x in "kqv"])
        self.assertEqual(told["tensors"][1]["file"], "layer/w_q.weight.npy")

    def test_heads_are_those_of_the_shapes_or_of_the_model(self):
        self.put_safetensors("model/model.safetensors", bert())

        def layer(config):
            if config is not None:
                self.put_bytes("model/config.json", config)
            return self.inspect("model")["layers"][0]

        for config, why in (
                (None, "its folder has no config.json"),
                (b"{", "config.json is not a JSON object"),
                (b"[" * 100000, "config.json is not a JSON object"),
                (b"[1]", "config.json is not a JSON object"),
                (b"{}", "config.json has no num_attention_heads and no "
                 "n_heads"),
                (b'{"n_heads": 0}', "config.json has no num_attention_heads "
                 "and no n_heads"),
                (b'{"n_heads": 4}', "config.json says 4, which does not divide "
                 "the 6 features of queries and 6 of keys"),
                (b'{"n_heads": 7}', "config.json says 7, which does not")):
            told = layer(config)
            self.assertIsNone(told["num_heads"], config)
            self.assertIsNone(told["heads_from"])
            self.assertIn(why, told["why_no_heads"])
            self.assertIn("number of heads unknown: the shapes do not give "
                          "it, and " + why, self.succeed("inspect", "model"))
        for config in (b'{"num_attention_heads": 3}', b'{"n_heads": 3}',
                       b'{"num_attention_heads": 3, "n_heads": 2}'):
            told = layer(config)
            self.assertEqual((told["num_heads"], told["num_kv_heads"]), (3, 3))
            self.assertEqual(told["heads_from"], "config.json")
        # Shapes win.
        self.put_bytes("model/k.npz", npz_bytes({
            name + "/kernel": tensor(6, 2, 3)
            for name in ("query", "key", "value")} | {
            "attention_output/kernel": tensor(2, 3, 6)}))
        told = self.inspect("model/k.npz")["layers"][0]
        self.assertEqual((told["num_heads"], told["heads_from"]),
                         (2, "shapes"))

    def put_pruned(self, num_heads="[3, 2]"):
        """Two layers, 3 heads of 2 features before pruning; config.json says
        something else."""
        tensors = bert()
        for name in ("query", "key", "value"):
            start = f"encoder.layer.1.attention.self.{name}"
            tensors[start + ".weight"] = tensor(4, 6)
            tensors[start + ".bias"] = tensor(4)
        tensors["encoder.layer.1.attention.output.dense.weight"] = tensor(6, 4)
        self.put_safetensors("model/model.safetensors", tensors,
                             {"num_heads": num_heads})
        self.put_bytes("model/config.json", b'{"num_attention_heads": 1}')

    def test_the_heads_that_the_file_says_come_before_config_json(self):
        self.put_pruned()
        told = self.inspect("model")["layers"]
        self.assertEqual([(layer["num_heads"], layer["num_kv_heads"],
                           layer["heads_from"]) for layer in told],
                         [(3, 3, "file"), (2, 2, "file")])
        text = self.succeed("inspect", "model")
        self.assertIn("Layer 0: embed_dim 6, 3 heads of 2 features (from the "
                      "file)\n", text)
        self.assertIn("Layer 1: embed_dim 6, 2 heads of 2 features (from the "
                      "file)\n", text)
        # An array beside the parameters says it too.
        self.put_bytes("model/p.npz", npz_bytes(
            {f"{name}.weight": tensor(6, 6) for name in ("w_q", "w_k", "w_v")} |
            {"num_heads": ("int64", (1,), (2).to_bytes(8, "little"))}))
        told = self.inspect("model/p.npz")["layers"][0]
        self.assertEqual((told["num_heads"], told["heads_from"]), (2, "file"))

    def test_what_the_file_says_of_heads_may_be_wrong(self):
        for num_heads, why in (
                ("[3]", "num_heads is [3], expected a number, or a list that "
                        "has layer 1"),
                ("[3, two]", "num_heads is [3, two], expected"),
                ("[3, 2", "num_heads is [3, 2, expected"),
                ("[3, 2] 4", "num_heads is [3, 2] 4, expected"),
                ("[3, -2]", "num_heads is [3, -2], expected"), ("", "is ,"),
                ("[3, 3]", "its num_heads says 3, which does not divide the 4"),
                ("[3, 0]", "its num_heads says 0, which does not divide")):
            self.put_pruned(num_heads)
            told = self.inspect("model")
            self.assertEqual(told["layout"]["name"], "bert", num_heads)
            self.assertIsNone(told["layers"][1]["num_heads"], num_heads)
            self.assertIn(why, told["layers"][1]["why_no_heads"])

    def test_a_layer_without_heads(self):
        tensors = bert((0,))
        for name in ("query", "key", "value"):
            start = f"encoder.layer.0.attention.self.{name}"
            tensors[start + ".weight"] = tensor(0, 6)
            tensors[start + ".bias"] = tensor(0)
        tensors["encoder.layer.0.attention.output.dense.weight"] = tensor(6, 0)
        self.put_safetensors("m.safetensors", tensors, {"num_heads": "[0]"})
        self.assertEqual(self.inspect("m.safetensors")["layers"][0]["num_heads"],
                         0)
        self.assertIn("embed_dim 6, 0 heads (from the file)\n",
                      self.succeed("inspect", "m.safetensors"))

    def test_layers_that_differ_are_told_apart(self):
        tensors = bert((0, 1, 3))
        for name in tensors:
            if ".3." in name and ("self.query" in name or "self.key" in name):
                shape = (4, 6) if name.endswith("weight") else (4,)
                tensors[name] = tensor(*shape)
        self.put_safetensors("m.safetensors", tensors)
        self.put_bytes("config.json", b'{"n_heads": 2}')
        text = self.succeed("inspect", "m.safetensors")
        self.assertIn("Layers 0-1: embed_dim 6, 2 heads of 3 features", text)
        self.assertIn("Layer 3: embed_dim 6, 2 heads of 2 features", text)

    def test_what_fits_no_layout_is_listed_and_said(self):
        tensors = bert()
        del tensors["encoder.layer.1.attention.self.key.bias"]
        tensors["encoder.layer.0.attention.self.query.weight"] = tensor(6)
        self.put_safetensors("m.safetensors", tensors)
        text = self.succeed("inspect", "m.safetensors")
        self.assertIn(
            "Layout: none\n  does not fit the layout bert: "
            "encoder.layer.0.attention.self.query.weight has shape (6), "
            "expected 2 axes\n"
            "  there is no encoder.layer.1.attention.self.key.bias\n", text)
        self.assertIn("  encoder.layer.N, N = 0-1, each with:\n", text)
        told = self.inspect("m.safetensors", "--layout-of", "d2l")
        self.assertIsNone(told["layout"])
        self.assertEqual(told["layers"], [])
        self.assertEqual(told["attention_parameters"], 0)
        self.assertEqual(len(told["tensors"]), 15)
        self.assertEqual(told["why_no_layout"], "does not fit the layout d2l: "
                         "there is no W_q.weight")
        self.put_safetensors("n.safetensors", {"x": tensor(2)})
        self.assertIn("Layout: none\n  fits no layout, expected one of "
                      "headwise headwise-causal torch-mha", self.succeed(
                          "inspect", "n.safetensors"))
        # Heads that disagree, in a file whose names fit.
        self.put_bytes("k.npz", npz_bytes({
            name + "/kernel": tensor(6, 2, 3)
            for name in ("query", "key", "value")} | {
            "attention_output/kernel": tensor(3, 2, 6)}))
        self.assertIn("Layout: none\n  attention_output/kernel has 3 heads, "
                      "expected 2", self.succeed("inspect", "k.npz"))

    def test_a_causal_model(self):
        tiny_causal.write(self.folder / "causal")
        text = self.succeed("inspect", "causal")
        self.assertIn("Layout: headwise-causal, 2 attention layers\n"
                      "Layers 0-1: embed_dim 8, 2 heads of 4 features (from config.json)\n"
                      "Parameters: 1024, 576 in attention layers (56.2%)\n", text)
        self.succeed("prune", "--model", "causal", "--heads", "0.1,1.0,1.1", "--out",
                     "pruned")
        told = self.inspect("pruned")
        self.assertEqual([layer["num_heads"] for layer in told["layers"]], [1, 0])
        self.assertEqual(told["layers"][0]["params"]["w_o.weight"], [8, 4])
        self.assertIn("Layer 0: embed_dim 8, 1 head of 4 features (from the file)\n"
                      "Layer 1: embed_dim 8, 0 heads (from the file)\n",
                      self.succeed("inspect", "pruned"))

    def test_only_headers_of_an_npz_are_read(self):
        array = npy_bytes(*tensor(6, 6))
        with zipfile.ZipFile(self.folder / "l.npz", "w") as archive:
            for name in "qkvo":
                archive.writestr(f"w_{name}.weight.npy", array)
            archive.writestr("README.txt", "hello" * 20_000)
            # 800 MB of zeros, in 800 KB.
            archive.compression = zipfile.ZIP_DEFLATED
            with archive.open("big.npy", "w") as big:
                big.write(npy_bytes("float32", (200, 10**6), b""))
                for _ in range(200):
                    big.write(bytes(4 * 10**6))
        limit = "" if cli_case.SANITIZED else "ulimit -v 700000; "
        result = subprocess.run(
            ["bash", "-c", limit + 'exec "$0" inspect l.npz --json',
             cli_case.HEADWISE], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        told = json.loads(result.stdout)
        self.assertEqual((told["layout"]["name"], told["skipped"]),
                         ("headwise", ["README.txt"]))
        self.assertIn("Skipped: README.txt, not an array",
                      self.succeed("inspect", "l.npz"))

    def test_a_prefix_is_said(self):
        self.put_safetensors("m.safetensors", bert(prefix="bert."))
        self.assertIn('Layout: bert with the prefix "bert.", 2 attention '
                      'layers\n',
                      self.succeed("inspect", "m.safetensors"))
        self.assertEqual(self.inspect("m.safetensors")["layout"],
                         {"name": "bert", "prefix": "bert."})

    def test_names_move_no_cursor(self):
        self.put_safetensors("m.safetensors", {"a\x1b[31m": tensor(1)},
                             {"k\n": "\x1b]0;x\x07"})
        text = self.succeed("inspect", "m.safetensors")
        self.assertIn(r"a\x1b[31m", text)
        self.assertIn(r"Metadata: k\x0a = \x1b]0;x\x07", text)
        self.assertNotIn("\x1b", text)
        self.assertEqual(self.inspect("m.safetensors")["tensors"][0]["name"],
                         "a\x1b[31m")

    def test_the_first_model_file_of_a_folder(self):
        self.put_sharded()
        self.put("model/w_q.npy", 2)
        self.put_safetensors("model/model.safetensors", {"x": tensor(2)})
        self.assertEqual(self.inspect("model")["files"][0]["path"],
                         "model/model.safetensors")
        (self.folder / "model/model.safetensors").unlink()
        self.assertEqual(self.inspect("model/")["files"][0]["path"],
                         "model/model.safetensors.index.json")

    def test_what_is_no_model(self):
        (self.folder / "empty").mkdir()
        (self.folder / "torch").mkdir()
        self.put_bytes("torch/pytorch_model.bin", b"PK\x03\x04")
        pickle = b"\x80\x02}q\x00."
        for name, data in (("m.pt", pickle), ("z.pth", b"PK\x03\x04 archive"),
                           ("m.safetensors", pickle + b"." * 8),
                           ("none.pt", b""), ("none.safetensors", b""),
                           ("none.npz", b""), ("none.npy", b""),
                           ("notes.txt", b"notes\n"),
                           ("text.safetensors", b"these are notes\n"),
                           ("text.npz", b"notes\n"), ("text.npy", b"notes\n")):
            self.put_bytes(name, data)
        os.mkfifo(self.folder / "fifo")
        for path, message in (
                ("missing", "inspect: missing: No such file or directory"),
                ("empty", "inspect: empty has no model.safetensors, no "
                 "model.safetensors.index.json, no params.npz and no file NAME.npy"),
                ("torch", "its pytorch_model.bin is a pickle"),
                ("m.pt", "inspect: m.pt is a pickle or an archive, as "
                 "PyTorch writes them; these can run any program"),
                ("z.pth", "z.pth is a pickle"),
                ("m.safetensors", "m.safetensors is a pickle"),
                ("none.pt", "none.pt is empty"),
                ("none.safetensors", "none.safetensors ends in the length of its header at byte 0"),
                ("none.npz", "none.npz is empty"),
                ("none.npy", "none.npy is not a .npy file: it ends at byte"),
                ("notes.txt", "notes.txt is not a parameter file, "
                 "expected a .safetensors, .safetensors.index.json, .npz"),
                ("text.safetensors", "text.safetensors is not a safetensors file"),
                ("text.npz", "text.npz cannot be read as a zip archive"),
                ("text.npy", "text.npy is not a .npy file: it ends at byte"),
                ("fifo", "fifo is not a regular file or a folder"),
                ("/dev/null", "/dev/null is not a regular file")):
            with self.subTest(path):
                self.fail_with(BAD_INPUT, message, "inspect", path)
                self.fail_with(BAD_INPUT,
                               message.replace("inspect:", "convert:"),
                               "convert", path, "o.npz", "--to", "bert")
        self.fail_with(BAD_INPUT, ".npz, .npy or .onnx file, or a folder of "
                       "parameter files", "inspect", "notes.txt")
        self.assertFalse((self.folder / "o.npz").exists())

    def test_mistakes_are_usage(self):
        for message, *arguments in (
                ("FILE is required", "inspect"),
                ("unexpected argument \"b\"", "inspect", "a", "b"),
                ("--layout-of is gpt, expected one of headwise, headwise-causal",
                 "inspect", "a", "--layout-of", "gpt"),
                ("FILE is empty", "inspect", "")):
            with self.subTest(message):
                self.fail_with(USAGE, message, *arguments)

    def test_a_real_model(self):
        folder = self.minilm()
        told = self.inspect(folder)
        file = folder / "model.safetensors"
        self.assertEqual(told["files"][0]["sha256"],
                         hashlib.sha256(file.read_bytes()).hexdigest())
        self.assertEqual(told["layout"]["name"], "bert")
        self.assertEqual(told["parameters"], 22713216)
        self.assertEqual([(layer["number"], layer["num_heads"],
                           layer["query_dim"]) for layer in told["layers"]],
                         [(number, 12, 384) for number in range(6)])
        text = self.succeed("inspect", folder)
        self.assertIn("Layers 0-5: embed_dim 384, 12 heads of 32 features "
                      "(from config.json)\n", text)
        self.assertLess(text.count("\n"), 40)


if __name__ == "__main__":
    cli_case.main()
