#!/usr/bin/env python3
"""Measures headwise beside other libraries: script/bench --peers calls it.

One worker process a library answers the lines that bench/serve/serve.h lists; one
of them works at a time, the others wait. Each output is compared with float64
before anything is timed. A round takes every peer once, in an order of its own,
and the machine's own peak before each and after the last. What it writes, in --out:
DATE-CPU.json with the numbers of every round, and from it .md and .svg.
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile

import report
import workload as workloads
from harness import (Peers, Refused, conditions, load_and_compute, parsed,
                     parser, refuse_without, results_file, rounded, said_by,
                     timed_rounds)

HERE = pathlib.Path(__file__).resolve().parent

# library: (its forms, the program that serves them). Of a required library at
# least one form must give the right result, or the round is none.
PYTHON = {
    "torch": ["torch_sdpa", "torch_loop", "torch_nested", "torch_flex",
              "torch_matmul", "torch_mha", "torch_backward"],
    "onnxruntime": ["ort_mha", "ort_onnx", "ort_loop", "ort_gqa",
                    "ort_attention"],
    "openvino": ["openvino"],
    "jax": ["jax"],
    "numpy": ["numpy"],
}
REQUIRED = ["torch", "onnxruntime", "openvino"]
REQUIRED_OF_TRAINING = ["torch"]  # the others compute no gradients
DEFAULT_WORKLOADS = [
    "bert", "bert_pad", "gpt_causal", "long_full", "long_causal", "vit",
    "cross", "bias", "attn_weights", "ragged", "seed", "module",
    "seed_module", "bert_bwd", "gpt_causal_bwd"]
LARGEST_ERROR = 1e-4  # relative RMS; over it a result is wrong
SLICE_SECONDS = 0.05  # a round's runs of one peer last at least this long


def started(options, threads, log):
    """The peers of this number of threads."""
    peers = Peers(options.server, threads, log)
    for library, forms in PYTHON.items():
        peers.add_python(library, forms, HERE / "peers" / f"with_{library}.py")
    if options.onednn:
        # Its processor engine lives in a run-time of OpenCL beside it.
        libraries = pathlib.Path(sys.prefix) / "lib"
        peers.add("onednn", ["onednn"], [options.onednn], {
            "LD_LIBRARY_PATH": str(libraries),
            "OCL_ICD_FILENAMES": str(libraries / "libintelocl.so")})
    peers.need(REQUIRED)
    return peers


def check(worker, form, workload, folder, reference):
    """Loads and compares; the record of the peer without times."""
    record, given = load_and_compute(worker, form, folder)
    if given is None:
        return record
    largest, rms = workloads.errors(reference, given, workload.rows())
    record.update(max_abs_error=largest, rms_error=rms)
    if rms > LARGEST_ERROR:
        worker.ask("drop", form)
        record.update(state="wrong", why=f"relative RMS error {rms:.1e}")
    return record


def measure(peers, workload, rounds, folder, reference):
    """The record of one workload with one number of threads."""
    records, live = {}, []
    for library, form, worker in peers.all():
        record = check(worker, form, workload, folder, reference)
        records[form] = {"library": library, **record}
        if record["state"] == "ok":
            live.append((form, worker))
    required = (REQUIRED_OF_TRAINING if workload.spec["kind"] == "training"
                else REQUIRED)
    refuse_without(["headwise", *required], workload.name, records, live)
    rounds_of = timed_rounds(peers, live, records, rounds, SLICE_SECONDS)
    return {"workload": workload.name, "threads": peers.threads,
            "gflop": workload.gflop, "timed": [form for form, _ in live],
            **rounds_of, "peers": records}


def chosen_workloads(options):
    listed = {one["workload"]: one for one in map(json.loads, said_by(
        options.headwise, "bench", "--list", "--json").splitlines())}
    names = options.workloads or DEFAULT_WORKLOADS
    for name in names:
        if name not in listed:
            raise Refused(f"--workloads has {name}, expected some of "
                          f"{', '.join(listed)}")
    return [workloads.Workload.from_listed(listed[name]) for name in names]


def run_all(options, scratch, log):
    """Yields each workload's result, or None where it was refused."""
    references = {}
    for threads in options.threads:
        peers = started(options, threads, log)
        try:
            for workload in chosen_workloads(options):
                folder = scratch / workload.name
                workload.draw()
                workload.write(folder)
                if workload.name not in references:
                    references[workload.name] = workload.reference()
                print(f"{workload.name}, {threads} thread(s)", file=sys.stderr)
                try:
                    yield rounded(measure(peers, workload, options.rounds,
                                          folder, references[workload.name]))
                except Refused as why:
                    print(f"refused: {why}", file=sys.stderr)
                    yield None
                shutil.rmtree(folder)
        finally:
            peers.stop()


def parse(arguments):
    made = parser(__doc__.splitlines()[0], serves=True)
    made.add_argument("--onednn", help="the peer of oneDNN, where built")
    made.add_argument("--workloads", type=lambda text: text.split(","),
                      metavar="NAME,NAME...")
    return parsed(made, arguments)


def main(arguments):
    options = parse(arguments)
    told = conditions(options)
    file = results_file(options.out, told)
    results, complete = [], True
    with tempfile.TemporaryDirectory(prefix="headwise-bench-") as scratch, \
            open(HERE.parent / "build" / "peers" / "workers.log", "w",
                 encoding="utf-8") as log:
        try:
            for result in run_all(options, pathlib.Path(scratch), log):
                if result is None:
                    complete = False
                    continue
                results.append(result)
                # Each time: a run that is broken off keeps what it has.
                told["load_average"][1:] = [os.getloadavg()[0]]
                file.parent.mkdir(parents=True, exist_ok=True)
                report.write({"conditions": told, "results": results}, file)
        except Refused as why:
            sys.exit(f"refused: {why}")
    if not results:
        sys.exit("refused: no workload gave a result")
    print(file)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
