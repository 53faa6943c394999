#!/usr/bin/env python3
"""Whether calls of attention allocate as often and are as fast as before.

    tools/small_calls.py BEFORE AFTER [--runs 15]

BEFORE and AFTER are folders, each LIBRARIES or LIBRARIES:INCLUDES: where a build has put
its shared libheadwise.so, and its public headers; without them those of this project.
Both run tools/frozen/small_calls.cc in turns on one thread, a fast and a slow run beside
each other. Prints the numbers of allocations that differ and the ratio of the medians of
the times; exits with 1 if an allocation is added or a median is over 1.02.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = 1.02


def compiled(version, program):
    libraries, _, includes = version.partition(":")
    subprocess.run(
        ["c++", "-std=c++20", "-O2", f"-I{includes or ROOT / 'include'}",
         ROOT / "tools/frozen/small_calls.cc", "-o", program, f"-L{libraries}", "-lheadwise",
         f"-Wl,-rpath,{pathlib.Path(libraries).resolve()}"], check=True)
    return program


def run(program):
    """The numbers by their names: "allocations float32_call" -> 0."""
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: float(number)
            for name, _, number in (line.rpartition(" ") for line in lines.splitlines())}


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("before")
    options.add_argument("after")
    options.add_argument("--runs", type=int, default=15)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        before = compiled(given.before, f"{folder}/before")
        after = compiled(given.after, f"{folder}/after")
        pairs = [(run(before), run(after)) for _ in range(given.runs)]
    worse = False
    for name in pairs[0][1]:
        old, new = (statistics.median(pair[side][name] for pair in pairs)
                    for side in (0, 1))
        if name.startswith("allocations"):
            worse |= new > old
            if new != old:
                print(f"{name}: {old:.0f} -> {new:.0f}")
        else:
            worse |= new > old * MOST
            print(f"{name}: {old:.0f} -> {new:.0f}, {new / old:.3f}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
