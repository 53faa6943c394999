#!/usr/bin/env python3
"""Measures headwise beside other libraries: script/bench --peers calls it.

One worker process a library answers the lines of `headwise bench --serve`; one
of them works at a time, the others wait. Each output is compared with float64
before anything is timed. A round takes every peer once, in an order of its own,
and the machine's own peak before each and after the last. What it writes, in --out:
DATE-CPU.json with the numbers of every round, and from it .md and .svg.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

import report
import workload as workloads

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
LONG_SECONDS = 0.5  # a run so long does not notice that the caches were empty
SPIN_SECONDS = 0.25  # for so long may threads wait busily for the next call


class Refused(Exception):
    """No result can come of this."""


class Worker:
    """A process that answers lines, on the first `threads` processors."""

    def __init__(self, command, threads, log, environment=None):
        allowed = sorted(os.sched_getaffinity(0))[:threads]
        count = str(threads)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            text=True, preexec_fn=lambda: os.sched_setaffinity(0, allowed),
            env={**os.environ, **(environment or {}), "OMP_NUM_THREADS": count,
                 "OPENBLAS_NUM_THREADS": count, "MKL_NUM_THREADS": count,
                 "JAX_PLATFORMS": "cpu"})

    def ask(self, *words):
        """(ok | unsupported | error, the rest of the answer)"""
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            return "error", f"the worker ended with {self.process.wait()}"
        head, _, rest = line.strip().partition(" ")
        return head, rest

    def expect(self, *words):
        head, rest = self.ask(*words)
        if head != "ok":
            raise Refused(f"{words[0]}: {head} {rest}")
        return rest

    def stop(self):
        if self.process.poll() is None:
            self.process.stdin.close()  # the end of its input
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Peers:
    """The workers of one number of threads."""

    def __init__(self, options, threads, log):
        self.threads = threads
        self.workers = {"headwise": Worker(
            [options.headwise, "bench", "--serve", "--threads", str(threads)],
            threads, log)}
        for library in PYTHON:
            self.workers[library] = Worker(
                [sys.executable, "-B", HERE / "peers" / f"with_{library}.py"],
                threads, log)
        if options.onednn:
            # Its processor engine lives in a run-time of OpenCL beside it.
            libraries = pathlib.Path(sys.prefix) / "lib"
            self.workers["onednn"] = Worker([options.onednn], threads, log, {
                "LD_LIBRARY_PATH": str(libraries),
                "OCL_ICD_FILENAMES": str(libraries / "libintelocl.so")})
        self.forms = {"headwise": ["headwise"], **PYTHON, "onednn": ["onednn"]}
        for library in REQUIRED:
            head, why = self.workers[library].ask("drop", "nothing")
            if head != "ok":
                raise Refused(f"no result without {library}: {why}; see the "
                              "log of the workers")

    def all(self):
        """(library, form, worker)"""
        for library, worker in self.workers.items():
            for form in self.forms[library]:
                yield library, form, worker

    def stop(self):
        for worker in self.workers.values():
            worker.stop()


def check(worker, form, workload, folder, reference):
    """Loads and compares; the record of the peer without times."""
    head, said = worker.ask("load", form, folder)
    if head != "ok":
        return {"state": head, "why": said}
    record = {"state": "ok", "version": said}
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    for question in (("run", form, 1), ("out", form, out)):
        head, said = worker.ask(*question)
        if head != "ok":
            worker.ask("drop", form)
            return {**record, "state": head, "why": said}
    given = {name: np.fromfile(out / f"{name}.bin", np.float32)
             for name in said.split()}
    largest, rms = workloads.errors(reference, given, workload.rows())
    record.update(max_abs_error=largest, rms_error=rms)
    if rms > LARGEST_ERROR:
        worker.ask("drop", form)
        record.update(state="wrong", why=f"relative RMS error {rms:.1e}")
    return record


def seconds_of(worker, form, count, threads):
    """Of one run: processor time with one thread, else the wall's."""
    wall, processor = map(float, worker.expect("run", form, count).split())
    return (processor if threads == 1 else wall) / count


def peak_between(peers):
    """(FMA GFLOP/s, read GB/s), once the peer before has come to rest."""
    if peers.threads > 1:
        time.sleep(SPIN_SECONDS)
    return [float(each) for each in
            peers.workers["headwise"].expect("peak").split()]


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
    for library in ["headwise", *required]:
        if not any(r["library"] == library and r["state"] == "ok"
                   for r in records.values()):
            said = "; ".join(f"{form}: {r['state']} {r['why']}" for form, r
                             in records.items() if r["library"] == library)
            for form, worker in live:
                worker.ask("drop", form)
            raise Refused(f"{workload.name}: no result without {library} "
                          f"({said})")
    count, once = {}, {}
    for form, worker in live:
        once[form] = seconds_of(worker, form, 1, peers.threads)
        count[form] = max(1, math.ceil(SLICE_SECONDS / max(once[form], 1e-6)))
        records[form].update(runs=count[form], seconds=[])
    # Before each peer and after the last: a peer's peak is the mean of its two.
    orders, peaks, reads = [], [], []
    # Who always comes after the same one bears what that one leaves behind.
    shuffled = random.Random(0)
    for _ in range(rounds):
        taken = []
        order = shuffled.sample(live, len(live))
        for form, worker in order:
            taken.append(peak_between(peers))
            if once[form] < LONG_SECONDS:
                worker.expect("run", form, 1)
            records[form]["seconds"].append(
                seconds_of(worker, form, count[form], peers.threads))
        taken.append(peak_between(peers))
        orders.append([form for form, _ in order])
        peaks.append([fma for fma, _ in taken])
        reads.append([read for _, read in taken])
    for form, worker in live:
        worker.ask("drop", form)
    return {"workload": workload.name, "threads": peers.threads,
            "gflop": workload.gflop, "timed": [form for form, _ in live],
            "order": orders, "fma_peak_gflops": peaks, "read_gb_s": reads,
            "peers": records}


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return "unknown"


def said_by(*command):
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    return done.stdout.strip()


def conditions(options):
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"cpu": cpu_name(), "cpus": len(os.sched_getaffinity(0)),
            "memory_gib": round(memory / 2**30, 1),
            "headwise": said_by("git", "describe", "--always", "--dirty"),
            "info": said_by(options.headwise, "info").splitlines(),
            "date": datetime.date.today().isoformat(),
            "rounds": options.rounds, "load_average": [os.getloadavg()[0]]}


def chosen_workloads(options):
    listed = {one["workload"]: one for one in map(json.loads, said_by(
        options.headwise, "bench", "--list", "--json").splitlines())}
    names = options.workloads or DEFAULT_WORKLOADS
    for name in names:
        if name not in listed:
            raise Refused(f"--workloads has {name}, expected some of "
                          f"{', '.join(listed)}")
    return [workloads.Workload.from_listed(listed[name]) for name in names]


def rounded(value):
    """Six digits are more than a measurement has."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return value


def run_all(options, scratch, log):
    """Yields each workload's result, or None where it was refused."""
    references = {}
    for threads in options.threads:
        peers = Peers(options, threads, log)
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
    def names(text):
        return text.split(",")

    def counts(text):
        return [int(each) for each in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--headwise", required=True, help="the command")
    parser.add_argument("--onednn", help="the peer of oneDNN, where built")
    parser.add_argument("--workloads", type=names, metavar="NAME,NAME...")
    parser.add_argument("--threads", type=counts, default=[1], metavar="N,N...")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results")
    options = parser.parse_args(arguments)
    available = len(os.sched_getaffinity(0))
    if not all(1 <= threads <= available for threads in options.threads):
        parser.error(f"--threads goes from 1 to {available} here")
    if options.rounds < 1:
        parser.error("--rounds is at least 1")
    return options


def results_file(options, told):
    words = "".join(c if c.isalnum() else " " for c in told["cpu"].lower())
    name = "-".join([told["date"], *words.split(), told["headwise"]])
    return options.out / f"{name}.json"


def main(arguments):
    options = parse(arguments)
    told = conditions(options)
    file = results_file(options, told)
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
