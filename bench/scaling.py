#!/usr/bin/env python3
"""How causal attention by context scales with the ranks: script/bench --scaling
calls it.

The model of `headwise plan` gets the rates that are measured here: how fast each of
P processes computes the whole call when all do at the same time, and how fast they
exchange bytes. Its prediction is compared with 2 processes on two processors and with
4 that have half a processor each. Then it predicts 8 to 1,024 machines with the links
that --bandwidth and --latency name, of --cores processors as fast as one here.

What it writes, in --out: DATE-CPU-COMMIT-scaling.json, and from it .md.
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys

import scaling_report
from harness import Refused, conditions, parsed, parser, results_file, rounded
from scaling_model import CALL, compared, predict

CHECKED = [(2, 0.15), (4, 0.25)]  # ranks, and the largest error of the prediction
PREDICTED = [8, 16, 32, 64, 128, 256, 512, 1024]
PASSES = ["forward", "backward"]  # the latter with the former
STRONG_LENGTH = 1 << 20
WEAK_TOKENS = 1 << 14  # of a rank


class HalfProcessors:
    """Control groups that allow each of several processes half a processor."""

    PERIOD_US = 10_000
    V1 = pathlib.Path("/sys/fs/cgroup/cpu")
    V2 = pathlib.Path("/sys/fs/cgroup")

    def __init__(self, count):
        self.names = [f"headwise-{os.getpid()}-{n}" for n in range(count)]
        self.groups = []

    def __enter__(self):
        first = self.V1 if self.V1.is_dir() else self.V2
        half = self.PERIOD_US // 2
        try:
            for name in self.names:
                group = first / name
                group.mkdir()
                self.groups.append(group)
                if first == self.V1:
                    (group / "cpu.cfs_period_us").write_text(str(self.PERIOD_US))
                    (group / "cpu.cfs_quota_us").write_text(str(half))
                else:
                    (group / "cpu.max").write_text(f"{half} {self.PERIOD_US}")
        except OSError as error:
            self.__exit__()
            raise Refused(f"no control groups: {error}") from error
        return self

    def __exit__(self, *_):
        for group in self.groups:
            with contextlib.suppress(OSError):
                group.rmdir()

    def command(self, *words):
        """The words, each process of mpirun in a group of its own."""
        own = self.groups[0].parent / self.names[0].rpartition("-")[0]
        script = f'echo $$ > "{own}-$OMPI_COMM_WORLD_RANK/cgroup.procs"; exec "$@"'
        return ["sh", "-c", script, "sh", *words]


def mpirun(ranks, command):
    done = subprocess.run(
        ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none",
         *command], stdout=subprocess.PIPE, check=False, text=True,
        env={**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1"})
    if done.returncode != 0:
        raise Refused(f"rank_bench ended with {done.returncode}")
    return json.loads(done.stdout)


def check(options, ranks, most_error, which):
    """The measured and the predicted time of a call on `ranks` ranks."""
    halved = HalfProcessors(ranks) if ranks > 2 else contextlib.nullcontext()
    bench = [options.rank_bench, str(options.length), str(options.rounds), which]
    with halved as groups:
        measured = mpirun(ranks, groups.command(*bench) if groups else bench)
    return compared(options.headwise, measured, most_error)


def measure(options):
    checks = [check(options, ranks, most_error, which)
              for ranks, most_error in CHECKED for which in PASSES]
    rates = {each["pass"]: each["gflops"] for each in checks
             if each["ranks"] == CHECKED[0][0]}
    strong, weak = ([predict(options, rates[which], ranks, length(ranks), which)
                     for which in PASSES for ranks in PREDICTED]
                    for length in (lambda ranks: STRONG_LENGTH,
                                   lambda ranks: WEAK_TOKENS * ranks))
    return {"call": CALL,
            "machine": {"cores": options.cores, "gb_s": options.bandwidth,
                        "latency_us": options.latency},
            "checks": checks, "strong": strong, "weak": weak}


def parse(arguments):
    made = parser(__doc__.splitlines()[0])
    made.add_argument("--rank-bench", required=True, help="the program")
    made.add_argument("--length", type=int, default=8192,
                      help="tokens of the calls that are measured")
    made.add_argument("--cores", type=int, default=64, help="of a machine")
    made.add_argument("--bandwidth", type=float, default=12.5,
                      help="GB/s of a link")
    made.add_argument("--latency", type=float, default=10, help="microseconds")
    return parsed(made, arguments)


def main(arguments):
    options = parse(arguments)
    told = conditions(options)
    try:
        data = measure(options)
    except Refused as why:
        sys.exit(f"refused: {why}")
    told["load_average"].append(os.getloadavg()[0])
    file = results_file(options.out, told, "scaling")
    file.parent.mkdir(parents=True, exist_ok=True)
    scaling_report.write(rounded({"conditions": told, **data}), file)
    print(file.with_suffix(".md").read_text(encoding="utf-8"))
    print(file)


if __name__ == "__main__":
    main(sys.argv[1:])
