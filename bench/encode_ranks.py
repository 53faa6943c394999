"""`headwise encode` by several processes beside one, one thread each:

    encode_ranks.py --headwise PROGRAM --model FOLDER [--sentences 5000]
                    [--ranks 2] [--rounds 5] [--mpirun PROGRAM]

In each round both encode the same sentences, one after the other; the times are
those of whole processes, from their start to their end, and `encode` is what the
command says of its work. Prints a line of JSON; fails if the files differ.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import sentences

JOB = {
    # As root in a container, and on one machine without a network.
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_plm_rsh_agent": "", "OMPI_MCA_oob_tcp_if_include": "lo",
}


def timed(call, folder):
    """(seconds of the process, seconds of its work)"""
    begin = time.perf_counter()
    printed = subprocess.run(call, cwd=folder, stdout=subprocess.PIPE, check=True,
                             text=True, env={**os.environ, **JOB}).stdout
    wall = time.perf_counter() - begin
    return wall, float(re.search(r"tokens, in (\S+) s", printed)[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--headwise", required=True, type=os.path.abspath)
    parser.add_argument("--model", required=True, type=os.path.abspath)
    parser.add_argument("--mpirun", default=shutil.which("mpirun"))
    parser.add_argument("--sentences", default=5000, type=int)
    parser.add_argument("--ranks", default=2, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="encode-ranks-") as name:
        folder = pathlib.Path(name)
        (folder / "lines.txt").write_text(
            "".join(line + "\n" for line in sentences.mixed(options.sentences)))
        encode = [options.headwise, "encode", "--model", options.model,
                  "lines.txt", "--threads", "1", "--out"]
        ranks = [options.mpirun, "-n", str(options.ranks), *encode, "ranks.npy"]
        rounds = []
        for _ in range(options.rounds):
            one, one_encode = timed([*encode, "one.npy"], folder)
            many, many_encode = timed(ranks, folder)
            if (folder / "one.npy").read_bytes() != \
                    (folder / "ranks.npy").read_bytes():
                raise SystemExit("the files differ")
            rounds.append({"one": one, "ranks": many, "ratio": one / many,
                           "encode_one": one_encode, "encode_ranks": many_encode,
                           "encode_ratio": one_encode / many_encode})
    print(json.dumps({
        "sentences": options.sentences, "ranks": options.ranks,
        "median_ratio": statistics.median(r["ratio"] for r in rounds),
        "median_encode_ratio": statistics.median(r["encode_ratio"] for r in rounds),
        "rounds": rounds}))


if __name__ == "__main__":
    main()
