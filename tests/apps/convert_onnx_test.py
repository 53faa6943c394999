"""`headwise convert --to onnx`: the models give the numbers of `headwise run
--params`, in `headwise onnx-run` and, where it is installed, in ONNX Runtime."""
import json
import os
import random
import struct
import subprocess
import sys
import textwrap

import cli_case
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, npy_bytes, read_npy
from params_case import ParamsCase, bert, npz_bytes, others

BATCH, QUERIES, KEYS = 2, 5, 7

# Runs model.onnx in each folder on inputs.npz and writes runtime.npy, in the
# Python of HEADWISE_PEERS_PYTHON.
RUNTIME = textwrap.dedent("""
    import pathlib, sys
    try:
        import numpy, onnxruntime
    except ImportError:
        sys.exit(77)
    for folder in map(pathlib.Path, sys.argv[1:]):
        session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
        inputs = dict(numpy.load(folder / "data" / "inputs.npz"))
        numpy.save(folder / "runtime.npy", session.run(None, inputs)[0])
""")


def floats(*shape, seed=0):
    """(dtype, shape, bytes): numbers from -1 to 1."""
    count = 1
    for extent in shape:
        count *= extent
    draw = random.Random(f"{seed} {shape}")
    return "float32", shape, struct.pack(
        f"<{count}f", *(draw.uniform(-1, 1) for _ in range(count)))


def layer(embed=12, q=12, k=12, v=12, context=12, sizes=None, biases=True):
    """A layer's tensors by headwise's names: rows of w_q, w_k and w_v, columns
    of w_o."""
    q_in, k_in, v_in = sizes or (embed,) * 3
    tensors = {}
    for seed, (name, rows, columns) in enumerate((
            ("w_q", q, q_in), ("w_k", k, k_in), ("w_v", v, v_in),
            ("w_o", embed, context))):
        tensors[f"{name}.weight"] = floats(rows, columns, seed=seed)
        if biases:
            tensors[f"{name}.bias"] = floats(rows, seed=seed + 10)
    return tensors


def pruned_bert(heads, size=6, head=2):
    """Layers of a BERT that kept this number of heads each."""
    tensors = {}
    for number, kept in enumerate(heads):
        start = f"encoder.layer.{number}.attention."
        for seed, name in enumerate(("self.query", "self.key", "self.value")):
            tensors[f"{start}{name}.weight"] = floats(
                kept * head, size, seed=8 * number + seed)
            tensors[f"{start}{name}.bias"] = floats(
                kept * head, seed=8 * number + seed)
        tensors[f"{start}output.dense.weight"] = floats(size, kept * head,
                                                        seed=number)
        tensors[f"{start}output.dense.bias"] = floats(size, seed=number)
    return tensors, {"num_heads": json.dumps(list(heads))}


class Case:
    """A layer, how it is converted and how it is run."""

    def __init__(self, tensors, convert=(), run=(), metadata=None, sizes=None,
                 mask=None, rotary=False):
        self.tensors, self.metadata = tensors, metadata
        self.convert, self.run = convert, run
        self.mask, self.rotary = mask, rotary
        self.output = None  # bytes, in place of those of `run`
        embed = next(iter(tensors.values()))[1][1]
        self.sizes = sizes or (embed,) * 3
        self.cross = sizes is not None or "--cross-attention" in convert

    def inputs(self):
        keys = KEYS if self.cross else QUERIES
        inputs = {"query": floats(BATCH, QUERIES, self.sizes[0])}
        if self.cross:
            inputs["key"] = floats(BATCH, KEYS, self.sizes[1], seed=1)
            inputs["value"] = floats(BATCH, KEYS, self.sizes[2], seed=2)
        if self.rotary:
            inputs["position_ids"] = ("int64", (BATCH, QUERIES), struct.pack(
                f"<{BATCH * QUERIES}q", *range(QUERIES), *range(QUERIES)))
        if self.mask == "float":
            inputs["attn_mask"] = floats(BATCH, 1, QUERIES, keys, seed=3)
        return inputs


def cases():
    pruned, heads = pruned_bert((3, 1, 0))
    norms = {"q_norm.weight": floats(4), "k_norm.weight": floats(4, seed=1)}
    three = ("--num-heads", "3"), ("--num-heads", "3")
    found = {
        "plain": Case(layer(), *three),
        "no biases": Case(layer(biases=False), *three),
        "causal": Case(layer(), (*three[0], "--causal"),
                       (*three[1], "--causal")),
        "grouped": Case(layer(q=24, k=8, v=8, context=24),
                        ("--num-heads", "6"),
                        ("--num-heads", "6", "--num-kv-heads", "2")),
        "value size": Case(layer(v=15, context=15), *three),
        "encoder and decoder": Case(layer(), (*three[0], "--cross-attention"),
                                    three[1]),
        "input sizes": Case(layer(sizes=(9, 10, 11)), *three,
                            sizes=(9, 10, 11)),
        "mask": Case(layer(), (*three[0], "--mask", "float"), three[1],
                     mask="float"),
        "scores": Case(layer(), (*three[0], "--scale", "2", "--softcap", "1"),
                       (*three[1], "--scale", "2", "--softcap", "1")),
        "norm": Case(layer() | norms, (*three[0], "--qk-norm", "rms"),
                     (*three[1], "--qk-norm", "rms")),
        "rotary positions": Case(
            layer(), (*three[0], "--rotary-base", "100", "--rotary-positions",
                      "5"), (*three[1], "--rotary-base", "100"), rotary=True),
    }
    for number, kept in enumerate((3, 1, 0)):
        chosen = "--layer", str(number)
        found[f"pruned layer {number}"] = Case(
            pruned, chosen, (*chosen, "--num-heads", str(kept)), heads)
    # A call of no heads: the output is the bias.
    found["pruned layer 2"].output = (
        pruned["encoder.layer.2.attention.output.dense.bias"][2] *
        BATCH * QUERIES)
    return found


class ConvertOnnxTest(ParamsCase):
    def prepare(self, name, case):
        """A folder with the model, its inputs and the layer's output."""
        self.put_safetensors(f"{name}/layer.safetensors", case.tensors,
                             case.metadata)
        self.succeed("convert", f"{name}/layer.safetensors",
                     f"{name}/model.onnx", "--to", "onnx", *case.convert)
        inputs = case.inputs()
        self.put_bytes(f"{name}/data/inputs.npz", npz_bytes(inputs))
        if case.output:
            self.put_array(f"{name}/expected.npy", inputs["query"][1],
                           case.output)
        else:
            self.run_layer(name, f"{name}/layer.safetensors", inputs, case.run)

    def run_layer(self, name, params, inputs, options):
        arguments = []
        for option in ("query", "key", "value"):
            _, shape, data = inputs.get(option, inputs["query"])
            self.put_array(f"{name}/{option}.npy", shape, data)
            arguments += [f"--{option}", f"{name}/{option}.npy"]
        if "attn_mask" in inputs:
            _, shape, data = inputs["attn_mask"]
            self.put_array(f"{name}/bias.npy", shape, data)
            arguments += ["--bias", f"{name}/bias.npy", "--bias-axes",
                          "B,1,Lq,Lkv"]
        self.succeed("run", "--params", params, *arguments, *options, "--out",
                     f"{name}/expected.npy")

    def put_array(self, path, shape, data):
        count = len(data) // 4
        self.put_bytes(path, npy_bytes(shape, struct.unpack(f"<{count}f",
                                                            data)))

    def assert_same_output(self, name, got):
        shape, want = read_npy(self.folder / name / "expected.npy")
        got_shape, values = read_npy(self.folder / name / got)
        self.assertEqual(got_shape, shape, name)
        worst = max(abs(g - w) for g, w in zip(values, want))
        self.assertLessEqual(worst, 1e-5, (name, got))

    def check_onnx_run(self, name):
        self.succeed("onnx-run", f"{name}/model.onnx", "--data",
                     f"{name}/data", "--out", f"{name}/out")
        self.assert_same_output(name, "out/output_0.npy")

    def check_runtime(self, names):
        """In ONNX Runtime, all in one process."""
        python = os.environ.get("HEADWISE_PEERS_PYTHON", sys.executable)
        done = subprocess.run([python, "-B", "-c", RUNTIME, *names],
                              cwd=self.folder, capture_output=True,
                              timeout=cli_case.SECONDS, check=False)
        if done.returncode == 77:
            if os.environ.get("CI"):
                self.fail(f"CI is set and {python} has no onnxruntime")
            self.skipTest(f"no onnxruntime in {python}")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        for name in names:
            self.assert_same_output(name, "runtime.npy")

    def test_models_give_the_numbers_of_the_layer(self):
        for name, case in cases().items():
            with self.subTest(name):
                self.prepare(name, case)
                self.check_onnx_run(name)

    def test_onnx_runtime_agrees(self):
        found = cases()
        for name, case in found.items():
            self.prepare(name, case)
        self.check_runtime(list(found))

    def test_layers_of_a_real_model(self):
        names = []
        for number in (0, 5):
            folder, name = self.fixture("minilm"), f"layer{number}"
            shape, values = read_npy(folder / f"{name}_hidden_in.npy")
            inputs = {"query": ("float32", shape, values.tobytes())}
            self.put_bytes(f"{name}/data/inputs.npz", npz_bytes(inputs))
            params = folder / f"{name}.safetensors"
            self.succeed("convert", params, f"{name}/model.onnx", "--to",
                         "onnx", "--num-heads", "12")
            self.run_layer(name, params, inputs, ("--num-heads", "12",
                                                  "--layer", str(number)))
            self.check_onnx_run(name)
            names.append(name)
        self.check_runtime(names)


class MessagesTest(ParamsCase):
    def setUp(self):
        super().setUp()
        self.put_safetensors("two.safetensors", {**bert(), **others()})
        self.put_safetensors("layer.safetensors", layer())

    def convert(self, *arguments):
        return self.succeed("convert", *arguments, "--to", "onnx")

    def refuse(self, code, message, *arguments):
        self.fail_with(code, message, "convert", *arguments, "--to", "onnx")
        self.assertFalse(list(self.folder.glob("*.onnx")))
        self.assertEqual(self.left_over(), [])

    def test_summary_line(self):
        self.assertEqual(
            self.convert("layer.safetensors", "o.onnx", "--num-heads", "6"),
            "o.onnx: opset 23, a layer of 6 heads\n")
        grouped = layer(k=4, v=4)
        self.put_safetensors("layer.safetensors", grouped)
        self.assertEqual(
            self.convert("layer.safetensors", "o.onnx", "--num-heads", "6"),
            "o.onnx: opset 23, a layer of 6 heads, 2 key/value heads\n")

    def test_an_existing_file_is_replaced_as_a_whole_or_not_at_all(self):
        self.convert("layer.safetensors", "o.onnx", "--num-heads", "6")
        before = (self.folder / "o.onnx").read_bytes()
        self.fail_with(USAGE, "--num-heads is not given, expected a number: the "
                       "file does not say how many heads the layer has",
                       "convert", "layer.safetensors", "o.onnx", "--to", "onnx")
        self.assertEqual((self.folder / "o.onnx").read_bytes(), before)
        self.convert("layer.safetensors", "o.onnx", "--num-heads", "3")
        self.assertNotEqual((self.folder / "o.onnx").read_bytes(), before)
        self.assertEqual(self.left_over(), [])

    def test_a_file_of_several_layers_needs_a_number(self):
        self.refuse(USAGE, "--layer is not given, expected one of the 2 layers "
                    "of two.safetensors, the first being 0",
                    "two.safetensors", "o.onnx", "--num-heads", "3")
        self.refuse(BAD_INPUT, "two.safetensors has no layer 2, expected one of "
                    "0 1", "two.safetensors", "o.onnx", "--layer", "2")

    def test_a_folder_of_a_model(self):
        pruned, heads = pruned_bert((3, 1))
        self.put_safetensors("model/model.safetensors", pruned, heads)
        self.assertEqual(self.convert("model", "o.onnx", "--layer", "1"),
                         "o.onnx: opset 23, a layer of 1 head\n")

    def test_options_that_do_not_go_together(self):
        for option in (("--to-prefix", "bert."), ("--as-layer", "1"),
                       ("--attention-only",)):
            self.refuse(USAGE, f"{option[0]} cannot be used with --to onnx",
                        "layer.safetensors", "o.onnx", *option)
        for option in (("--causal",), ("--cross-attention",),
                       ("--mask", "bool"), ("--scale", "2"),
                       ("--softcap", "2"), ("--qk-norm", "rms"),
                       ("--rotary-base", "10"), ("--rotary-positions", "10")):
            self.fail_with(USAGE, f"{option[0]} needs --to onnx", "convert",
                           "layer.safetensors", "o.npz", "--to", "keras",
                           *option)
        self.refuse(USAGE, "--rotary-positions needs --rotary-base or "
                    "--rotary-tables",
                    "layer.safetensors", "o.onnx", "--rotary-positions", "9")
        for scale in "0", "-0.7":
            self.refuse(USAGE, "a number from 1e-37 to 2e38",
                        "layer.safetensors", "o.onnx", "--scale", scale)
        self.refuse(USAGE, "OUT is o.npz, expected a name that ends in .onnx",
                    "layer.safetensors", "o.npz", "--num-heads", "3")

    def test_invalid_inputs_are_errors(self):
        self.refuse(OUT_OF_RESOURCES, "OUT no/o.onnx: No such file or directory",
                    "layer.safetensors", "no/o.onnx", "--num-heads", "3")
        self.refuse(BAD_INPUT, "no.safetensors: No such file or directory",
                    "no.safetensors", "o.onnx")
        (self.folder / "in.onnx").write_bytes(b"\x08\x0a no zip archive")
        self.fail_with(BAD_INPUT, "in.onnx is not a parameter file, expected a "
                       ".safetensors", "convert", "in.onnx", "o.onnx", "--to",
                       "onnx")
        (self.folder / "in.onnx").unlink()
        os.mkfifo(self.folder / "in.fifo")
        self.refuse(BAD_INPUT, "in.fifo is not a regular file or a folder",
                    "in.fifo", "o.onnx")
        self.put_safetensors("other.safetensors", others())
        self.refuse(BAD_INPUT, "other.safetensors", "other.safetensors",
                    "o.onnx")
        self.put_safetensors("additive.safetensors",
                             layer() | {"w_score.weight": floats(3, 4)})
        self.refuse(BAD_INPUT, "convert: additive.safetensors uses additive "
                    "scoring, expected dot products, as in ONNX's Attention",
                    "additive.safetensors", "o.onnx", "--num-heads", "3")
        self.put_safetensors(
            "added.safetensors",
            layer() | {"bias_k": floats(12), "bias_v": floats(12)})
        self.refuse(BAD_INPUT, "convert: added.safetensors has bias_k (an extra "
                    "learned key), expected a layer without added keys",
                    "added.safetensors", "o.onnx", "--num-heads", "3")
        self.refuse(BAD_INPUT, "needs 2 GiB or more", "layer.safetensors",
                    "o.onnx", "--num-heads", "3", "--rotary-base", "10",
                    "--rotary-positions", str(10 ** 15))


if __name__ == "__main__":
    cli_case.main()
