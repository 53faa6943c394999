"""Tensors of a folder's safetensors files, as float64."""
import json
import pathlib

import numpy as np

TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16}


def read_file(path):
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__" and entry["dtype"] in TYPES:
            begin, end = entry["data_offsets"]
            values = np.frombuffer(data[start + begin:start + end],
                                   TYPES[entry["dtype"]])
            if entry["dtype"] == "BF16":
                values = (values.astype(np.uint32) << 16).view(np.float32)
            yield name, values.reshape(entry["shape"]).astype(np.float64)


class Tensors:
    """The tensors whose names start with a prefix."""

    def __init__(self, named, prefix=""):
        self.named, self.prefix = named, prefix

    @classmethod
    def read(cls, folder):
        folder = pathlib.Path(folder)
        index = folder / "model.safetensors.index.json"
        files = (sorted(set(json.loads(index.read_text())["weight_map"].values()))
                 if index.exists() else ["model.safetensors"])
        return cls({name: values for file in files
                    for name, values in read_file(folder / file)})

    def at(self, place):
        return Tensors(self.named, self.prefix + place + ".")

    def below(self, *prefixes):
        """The first prefix that any tensor has, or none of them."""
        for prefix in prefixes:
            if any(name.startswith(prefix) for name in self.named):
                return Tensors(self.named, prefix)
        return Tensors(self.named)

    def __getitem__(self, name):
        return self.named[self.prefix + name]

    def get(self, name):
        return self.named.get(self.prefix + name)
