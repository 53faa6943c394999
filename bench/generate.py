#!/usr/bin/env python3
"""Measures generation beside other engines: script/bench --generate calls it.

240 tokens are generated after 16, the likeliest each time, by the GPT-2 of forward.py.
Each engine's first tokens are compared with those of float64 before: one that begins
otherwise is not timed. A token reads every parameter and the cache once; how much of
read_gb_s of `headwise bench` that is, is said for headwise.
What it writes, in --out: DATE-CPU-COMMIT-generate.json with the numbers of every round,
and a table .md.
"""
import json
import sys

import numpy as np

import forward
from forward import OURS, middle, started
from harness import (conditions, each_result, keep, load_and_compute, parsed, parser,
                     refuse_without, results_file, timed_rounds, with_scratch)

PROMPT, NEW = 16, 240
SLICE_SECONDS = 0.5
# bfloat16 may choose another token among near ones sooner.
FIRST = {"exact": 8, "bf16": 1}


class Workload(forward.Workload):
    name = f"gpt2_{PROMPT}_{NEW}"

    def __init__(self, scratch, log):
        super().__init__(scratch, log, forward.IDS[:PROMPT], NEW)


def check(worker, form, workload):
    arithmetic = "bf16" if form.endswith("_bf16") else "exact"
    record, given = load_and_compute(
        worker, form, workload.folders[OURS.get(form, "exact")])
    record["arithmetic"] = arithmetic
    if given is None:
        return record
    ids = given["out"].astype(int).ravel()
    same = ids[:NEW] == workload.reference[:len(ids)]
    record["equal_tokens"] = int(np.argmin(same)) if not same.all() else len(ids)
    if len(ids) != NEW or record["equal_tokens"] < FIRST[arithmetic]:
        worker.ask("drop", form)
        record.update(state="wrong", why=f"{record['equal_tokens']} equal tokens")
    return record


def measure(peers, workload, rounds):
    records, live = {}, []
    for library, form, worker in peers.all():
        records[form] = {"library": library, **check(worker, form, workload)}
        if records[form]["state"] == "ok":
            live.append((form, worker))
    refuse_without(list(peers.workers), workload.name, records, live)
    return {"workload": workload.name, "threads": peers.threads, "new_tokens": NEW,
            "bytes": workload.bytes, "timed": [form for form, _ in live],
            **timed_rounds(peers, live, records, rounds, SLICE_SECONDS),
            "peers": records}


def table(result):
    """The lines of the table for one number of threads."""
    peers = result["peers"]
    read = middle([value for each in result["read_gb_s"] for value in each])
    lines = [f"### {result['threads']} thread(s)", "",
             "| engine | tokens per second | speedup of headwise | of read_gb_s | "
             "equal tokens |",
             "| --- | ---: | ---: | ---: | ---: |"]
    for form in result["timed"]:
        record = peers[form]
        kind = "headwise_bf16" if form.endswith("_bf16") else "headwise"
        ratio = middle([theirs / mine for theirs, mine in
                        zip(record["seconds"], peers[kind]["seconds"])])
        seconds = middle(record["seconds"]) / NEW
        share = (f"{result['bytes'][kind] / seconds / 1e9 / read:.2f}"
                 if form in OURS else "")
        lines.append(f"| `{form}` | {1 / seconds:.1f} | {ratio:.2f} | {share} | "
                     f"{record['equal_tokens']} |")
    return lines + ["", f"read_gb_s: {read:.1f}.", ""]


def write(told, results, file):
    file.write_text(json.dumps({"conditions": told, "results": results}, indent=1) + "\n")
    lines = ["# 240 tokens after 16 by GPT-2, 124 million parameters", "",
             f"{told['cpu']}, {told['headwise']}, {told['date']}, {told['rounds']} rounds.",
             ""]
    for result in results:
        lines += table(result)
    file.with_suffix(".md").write_text("\n".join(lines) + "\n")


def compare(options, scratch, log):
    told = conditions(options)
    workload = Workload(scratch, log)
    results = each_result(options, [workload],
                          lambda threads: started(options, threads, log), measure)
    file = results_file(options.out, told, "generate")
    return keep(results, told, file, lambda kept: write(told, kept, file))


def main(arguments):
    options = parsed(parser(__doc__.splitlines()[0], serves=True), arguments)
    return with_scratch("generate-workers.log",
                        lambda scratch, log: compare(options, scratch, log))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
