#!/usr/bin/env python3
"""Measures a pass of a model beside other engines: script/bench --forward calls it.

512 tokens go through a GPT-2 of 124 million random parameters, and the logits after the
last one come out. Each engine's logits are compared with float64 before: a wrong one is
not timed. Rounds are those of compare.py. Loading: a process opens the model and computes
one token; next to it, how long memcpy takes to write as many bytes into fresh pages.
What it writes, in --out: DATE-CPU-COMMIT-forward.json with the numbers of every round,
and a table .md.
"""
import json
import statistics
import subprocess
import sys
import time

import numpy as np

from harness import (HERE, Peers, Refused, conditions, each_result, keep, load_and_compute,
                     parsed, parser, refuse_without, results_file, status_of, timed_rounds,
                     with_scratch)

TOKENS, LAYERS, HEADS, WIDTH, VOCABULARY = 512, 12, 12, 768, 50257
IDS = [(n * 7919 + 13) % VOCABULARY for n in range(TOKENS)]
# Multiplications and additions: four projections of the width and a network of four
# widths, what a causal mask leaves of the attention, and the last row's logits.
FLOPS = (2 * LAYERS * TOKENS * WIDTH * WIDTH * 12 +
         2 * LAYERS * TOKENS * (TOKENS + 1) * WIDTH + 2 * WIDTH * VOCABULARY)
PYTHON = {"transformers": ["transformers", "transformers_bf16"],
          "ctranslate2": ["ctranslate2"], "llama_cpp": ["llama_cpp", "llama_cpp_bf16"]}
OURS = {"headwise": "exact", "headwise_bf16": "bf16"}
# Of the largest logit. It finds only mistakes: how good an engine is the table says.
LARGEST_ERROR = {"exact": 0.01, "bf16": 0.1}
SLICE_SECONDS = 0.5
MEMCPY = """
import ctypes, mmap, sys, time
size = int(sys.argv[1])
source = bytearray(size)
for n in range(0, size, 4096): source[n] = 1
seconds = []
for _ in range(5):
    fresh = mmap.mmap(-1, size)
    to = (ctypes.c_char * size).from_buffer(fresh)
    begin = time.perf_counter()
    ctypes.memmove(to, (ctypes.c_char * size).from_buffer(source), size)
    seconds.append(time.perf_counter() - begin)
    del to; fresh.close()
print(sorted(seconds)[2])
"""


class Workload:
    name = "gpt2_512"

    def __init__(self, scratch, log, ids=tuple(IDS), new_tokens=0):
        self.model = scratch / "model"
        self.model.mkdir()
        print("forward_model.py: once", file=sys.stderr)
        done = subprocess.run([sys.executable, "-B", HERE / "peers/forward_model.py",
                               self.model, ",".join(map(str, ids)), str(new_tokens)],
                              stdout=log, stderr=log)
        if done.returncode != 0:
            raise Refused(f"forward_model.py ended with {done.returncode}; see the log "
                          "of the workers")
        self.folders = {}
        for arithmetic in OURS.values():
            folder = self.folders[arithmetic] = scratch / arithmetic
            folder.mkdir()
            (folder / "workload.json").write_text(json.dumps(
                {"kind": "forward", "model": str(self.model), "ids": list(ids),
                 "arithmetic": arithmetic, "new_tokens": new_tokens}))
        self.reference = np.fromfile(self.model / "reference.f64")
        # What a token reads: the parameters, and on average half of the cache.
        size = (self.model / "model.safetensors").stat().st_size
        cache = 2 * LAYERS * WIDTH * 4 * (len(ids) + new_tokens / 2)
        self.bytes = {"headwise": size + cache, "headwise_bf16": size / 2 + cache}


def started(options, threads, log):
    peers = Peers(options.server, threads, log)
    peers.forms["headwise"] = list(OURS)
    for library, forms in PYTHON.items():
        peers.add_python(library, forms, HERE / "peers" / f"forward_with_{library}.py")
    peers.need(PYTHON)
    return peers


def check(worker, form, workload):
    arithmetic = "bf16" if form.endswith("_bf16") else "exact"
    record, given = load_and_compute(
        worker, form, workload.folders[OURS.get(form, "exact")])
    record["arithmetic"] = arithmetic
    if given is None:
        return record
    off = np.abs(given["out"].ravel() - workload.reference).max()
    record["error"] = float(off / np.abs(workload.reference).max())
    if not record["error"] <= LARGEST_ERROR[arithmetic]:
        worker.ask("drop", form)
        record.update(state="wrong", why=f"an error of {record['error']:.1e}")
    return record


def measure(peers, workload, rounds):
    records, live = {}, []
    for library, form, worker in peers.all():
        records[form] = {"library": library, **check(worker, form, workload)}
        if records[form]["state"] == "ok":
            live.append((form, worker))
    refuse_without(list(peers.workers), workload.name, records, live)
    return {"workload": workload.name, "threads": peers.threads, "flops": FLOPS,
            "timed": [form for form, _ in live],
            **timed_rounds(peers, live, records, rounds, SLICE_SECONDS),
            "peers": records}


def loading(options, workload, rounds):
    """Seconds and bytes of a process that reads the model and computes one token, and
    of memcpy."""
    size = (workload.model / "model.safetensors").stat().st_size
    made = {"bytes": size, "memcpy_seconds": [], "seconds": {}, "anonymous_bytes": {}}
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", MEMCPY, str(size)], check=True,
                              capture_output=True, text=True)
        made["memcpy_seconds"].append(float(done.stdout))
        for form, arithmetic in OURS.items():
            begin = time.perf_counter()
            process = subprocess.Popen(
                [options.headwise, "forward", "--model", workload.model, "--ids", "5",
                 "--arithmetic", arithmetic], stdout=subprocess.DEVNULL)
            most = 0
            while process.poll() is None:
                most = max(most, status_of(process).get("RssAnon", 0))
                time.sleep(0.001)
            made["seconds"].setdefault(form, []).append(time.perf_counter() - begin)
            made["anonymous_bytes"].setdefault(form, []).append(most)
    return made


def middle(values):
    return statistics.median(values)


def table(result):
    """The lines of the table for one number of threads."""
    peers = result["peers"]
    ours = {form: peers[form]["seconds"] for form in OURS}
    peak = middle([value for each in result["fma_peak_gflops"] for value in each])
    lines = [f"### {result['threads']} thread(s)", "",
             "| engine | seconds | speedup of headwise | error |",
             "| --- | ---: | ---: | ---: |"]
    for form in result["timed"]:
        record = peers[form]
        own = ours["headwise_bf16" if form.endswith("_bf16") else "headwise"]
        ratio = middle([theirs / mine for theirs, mine in zip(record["seconds"], own)])
        lines.append(f"| `{form}` | {middle(record['seconds']):.4f} | {ratio:.2f} | "
                     f"{record['error']:.1e} |")
    share = result["flops"] / middle(ours["headwise"]) / 1e9 / peak
    return lines + ["", f"headwise in float32: {share:.2f} of the FMA peak, "
                    f"{peak:.0f} GFLOP/s.", ""]


def write(told, load, results, file):
    file.write_text(json.dumps({"conditions": told, "loading": load,
                                "results": results}, indent=1) + "\n")
    lines = ["# A pass of 512 tokens through GPT-2, 124 million parameters", "",
             f"{told['cpu']}, {told['headwise']}, {told['date']}, {told['rounds']} rounds.",
             ""]
    for result in results:
        lines += table(result)
    copy = middle(load["memcpy_seconds"])
    for form in OURS:
        lines.append(f"`{form}` reads the model and computes one token in "
                     f"{middle(load['seconds'][form]):.3f} s, "
                     f"{middle(load['seconds'][form]) / copy:.1f} times memcpy into fresh "
                     f"pages, with {middle(load['anonymous_bytes'][form]) / 1e6:.0f} MB of "
                     "its own.")
    file.with_suffix(".md").write_text("\n".join(lines) + "\n")


def compare(options, scratch, log):
    told = conditions(options)
    workload = Workload(scratch, log)
    load = loading(options, workload, options.rounds)
    results = each_result(options, [workload],
                          lambda threads: started(options, threads, log), measure)
    file = results_file(options.out, told, "forward")
    return keep(results, told, file, lambda kept: write(told, load, kept, file))


def main(arguments):
    options = parsed(parser(__doc__.splitlines()[0], serves=True), arguments)
    return with_scratch("forward-workers.log",
                        lambda scratch, log: compare(options, scratch, log))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
