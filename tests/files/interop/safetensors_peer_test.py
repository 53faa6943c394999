"""Files of the format's own library are read, and what is written it reads.

    safetensors_peer_test.py COPY [unittest arguments]

COPY is the program copy_safetensors. Runs in the Python of the environment's
HEADWISE_PEERS_PYTHON (script/test makes it); without the library it is skipped.
"""
import ctypes
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import peers  # noqa: E402

peers.need("numpy", "safetensors")
import safetensors  # noqa: E402

COPY = sys.argv.pop(1)

# The library's names, the file's, bytes of an element.
TYPES = [("float64", "F64", 8), ("float32", "F32", 4), ("float16", "F16", 2),
         ("bfloat16", "BF16", 2), ("int64", "I64", 8), ("int32", "I32", 4),
         ("int16", "I16", 2), ("int8", "I8", 1), ("uint64", "U64", 8),
         ("uint32", "U32", 4), ("uint16", "U16", 2), ("uint8", "U8", 1),
         ("bool", "BOOL", 1)]


def write(path, tensors, metadata=None):
    """tensors: name -> (dtype, shape, bytes)."""
    kept = {name: ctypes.create_string_buffer(data, len(data) or 1)
            for name, (_, _, data) in tensors.items()}
    safetensors.serialize_file(
        {name: safetensors.TensorSpec(
            dtype=dtype, shape=shape, data_len=len(data),
            data_ptr=ctypes.addressof(kept[name]))
         for name, (dtype, shape, data) in tensors.items()}, path, metadata)


def read(path):
    """name -> (dtype, shape, bytes), and the metadata."""
    tensors = {name: (t["dtype"], tuple(t["shape"]), bytes(t["data"]))
               for name, t in safetensors.deserialize(path.read_bytes())}
    with safetensors.safe_open(path, framework="numpy") as file:
        return tensors, file.metadata()


class PeerTest(unittest.TestCase):
    def copy(self, tensors, metadata=None):
        """What the library reads after it was read and written here."""
        with tempfile.TemporaryDirectory(prefix="headwise-peer-") as folder:
            there = pathlib.Path(folder) / "in.safetensors"
            back = pathlib.Path(folder) / "out.safetensors"
            write(there, tensors, metadata)
            done = subprocess.run([COPY, there, back], timeout=60,
                                  capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            return read(back)

    def test_every_type(self):
        names = {library: name for library, name, _ in TYPES}
        self.assertEqual(len(names), 13)
        random.seed(7)
        tensors = {}
        for library, _, size in TYPES:
            for count in (0, 1, 3, 8):
                data = random.randbytes(count * size)
                if library == "bool":
                    data = bytes(b & 1 for b in data)
                tensors[f"{library}.{count}"] = (library, [count], data)
        got, metadata = self.copy(tensors)
        self.assertFalse(metadata)
        self.assertEqual(got, {name: (names[library], tuple(shape), data)
                               for name, (library, shape, data)
                               in tensors.items()})

    def test_shapes_and_names(self):
        tensors = {name: ("float32", shape, bytes(range(4 * count)))
                   for name, shape, count in
                   (("scalar", [], 1), ("", [1], 1), ("a/b.c", [2, 3], 6),
                    ("empty", [4, 0, 2], 0), ("\u00e9\U0001f600\"\\\n", [1, 1], 1),
                    ("deep", [1] * 32, 1))}
        got, _ = self.copy(tensors)
        self.assertEqual(got, {name: ("F32", tuple(shape), data)
                               for name, (_, shape, data) in tensors.items()})

    def test_metadata(self):
        wanted = {"format": "pt", "note": "line\n\u00e9\x7f\x01", "": ""}
        got, metadata = self.copy({"a": ("uint8", [2], b"xy")}, wanted)
        self.assertEqual(metadata, wanted)
        self.assertEqual(got, {"a": ("U8", (2,), b"xy")})

    def test_nothing(self):
        self.assertEqual(self.copy({})[0], {})


if __name__ == "__main__":
    unittest.main()
