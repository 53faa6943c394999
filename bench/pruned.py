#!/usr/bin/env python3
"""Measures layers with half of their heads beside whole ones: script/bench --pruned
calls it.

One process computes them in turns, there and back: in every round a layer stands
beside its half, and the other one comes first in the next. Each output is compared
with float64 before anything is timed, and the machine's own peak is taken before
each slice and after the last. What it writes, in --out: DATE-CPU-COMMIT-pruned.json
with the numbers of every round, and from it .md.
"""
import os
import pathlib
import sys
import tempfile

import pruned_report
from compare import check, chosen_workloads
from harness import (Peers, Refused, conditions, parsed, parser, results_file,
                     rounded, there_and_back, timed_rounds)

LAYERS = ["layer_768", "layer_384"]  # of `headwise bench --list`
LEAST_ROUNDS = 9  # quartiles of fewer say little
SLICE_SECONDS = 0.25  # a round's runs of one layer last at least this long


def load(worker, workloads, references, scratch):
    """{name: its record without times} and [(name, worker)], if all are right."""
    records, live = {}, []
    for workload in workloads:
        name, folder = workload.name, scratch / workload.name
        record = check(worker, name, workload, folder, references[name])
        records[name] = {"library": "headwise", "gflop": workload.gflop, **record}
        if record["state"] != "ok":
            raise Refused(f"{name}: {record['state']} {record['why']}")
        live.append((name, worker))
    return records, live


def measure(options, threads, workloads, references, scratch):
    """The record of one number of threads."""
    peers = Peers(options.server, threads, sys.stderr)
    try:
        records, live = load(peers.workers["headwise"], workloads, references,
                             scratch)
        rounds_of = timed_rounds(peers, live, records, options.rounds,
                                 SLICE_SECONDS, there_and_back)
    finally:
        peers.stop()
    return {"threads": threads, "timed": [name for name, _ in live],
            **rounds_of, "peers": records}


def parse(arguments):
    made = parser(__doc__.splitlines()[0], serves=True)
    made.set_defaults(
        arithmetic="exact",
        threads=[1, 2][:len(os.sched_getaffinity(0))], rounds=15,
        workloads=[name for full in LAYERS
                   for name in (full, pruned_report.half_of(full))])
    options = parsed(made, arguments)
    if options.rounds < LEAST_ROUNDS:
        made.error(f"--rounds is at least {LEAST_ROUNDS}")
    return options


def main(arguments):
    options = parse(arguments)
    told = conditions(options)
    file = results_file(options.out, told, "pruned")
    results = []
    with tempfile.TemporaryDirectory(prefix="headwise-bench-") as scratch:
        scratch = pathlib.Path(scratch)
        try:
            workloads = chosen_workloads(options)
            references = {}
            for workload in workloads:
                workload.draw()
                workload.write(scratch / workload.name)
                references[workload.name] = workload.reference()
            for threads in options.threads:
                print(f"{threads} thread(s)", file=sys.stderr)
                results.append(rounded(measure(options, threads, workloads,
                                               references, scratch)))
                # Each time: a run that is broken off keeps what it has.
                told["load_average"][1:] = [os.getloadavg()[0]]
                file.parent.mkdir(parents=True, exist_ok=True)
                pruned_report.write({"conditions": told, "results": results},
                                    file)
        except Refused as why:
            sys.exit(f"refused: {why}")
    print("\n".join(pruned_report.table(results)))
    print(file)


if __name__ == "__main__":
    main(sys.argv[1:])
