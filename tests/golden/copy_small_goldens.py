#!/usr/bin/env python3
"""Copies the small goldens into tests/golden/data, so that the suite passes
alone.

    tests/golden/copy_small_goldens.py FIXTURES

What the tests do not compare is left out: gradients, files in other formats,
the float32 file of a tensor that has a float64 one (for intermediates it is
the other way round, they are large). A file whose bytes another case has
already is not copied: the case then names that one.
"""
import json
import pathlib
import shutil
import sys

CASES = [
    "seed001_none", "seed001_padding", "seed001_nopeak",
    "seed001_padding_and_nopeak", "seed001_fully_masked", "seed001_encdec",
    "seed001_encdec_padding", "seed002_step1", "seed002_step4_dropout",
    "d2l_sizes", "additive_2d", "additive_d2l", "additive_zero_length",
]


def is_compared(name, tensor):
    return tensor["role"] not in ("gradient", "info") and name != "grad_output"


def copy_case(source, target, copied):
    case = json.loads((source / "case.json").read_text())
    case["tensors"] = {name: tensor for name, tensor in case["tensors"].items()
                       if is_compared(name, tensor)}
    case["native_files"] = {}
    target.mkdir(parents=True)
    for tensor in case["tensors"].values():
        if tensor["role"] == "intermediate":
            tensor.pop("f64", None)
        key = "f64" if "f64" in tensor else "file"
        content = (source / tensor[key]).read_bytes()
        if content in copied:
            tensor[key] = f"../{copied[content]}"
        else:
            shutil.copyfile(source / tensor[key], target / tensor[key])
            copied[content] = f"{target.name}/{tensor[key]}"
    # One tensor a line, as the fixtures have it.
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(tensor)}"
                       for name, tensor in case["tensors"].items())
    case["tensors"] = "TENSORS"
    text = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}"
                      for key, value in case.items())
    text = text.replace('"TENSORS"', "{\n" + lines + "\n }")
    (target / "case.json").write_text("{\n" + text + "\n}\n")


def main():
    fixtures = pathlib.Path(sys.argv[1])
    data = pathlib.Path(__file__).parent / "data"
    shutil.rmtree(data, ignore_errors=True)
    copied = {}
    for case in CASES:
        copy_case(fixtures / case, data / case, copied)


if __name__ == "__main__":
    main()
