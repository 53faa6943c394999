"""What the comparisons share: the workers, the rounds, the conditions under which
they were measured, and the arguments."""
import argparse
import datetime
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

HERE = pathlib.Path(__file__).resolve().parent
LONG_SECONDS = 0.5  # a run so long does not notice that the caches were empty
PEAKS = ["fma_peak_gflops", "read_gb_s", "bf16_peak_gflops"]  # of Peers.peak()
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
    """The workers of one number of threads: headwise, and who is added.
    `server`: the program of bench/serve."""

    def __init__(self, server, threads, log):
        self.threads, self.log = threads, log
        self.workers, self.forms = {}, {}
        self.add("headwise", ["headwise"],
                 [server, "--threads", str(threads)])

    def add(self, library, forms, command, environment=None):
        self.forms[library] = forms
        self.workers[library] = Worker(command, self.threads, self.log,
                                       environment)

    def add_python(self, library, forms, program, environment=None):
        self.add(library, forms, [sys.executable, "-B", program], environment)

    def need(self, libraries):
        for library in libraries:
            head, why = self.workers[library].ask("drop", "nothing")
            if head != "ok":
                raise Refused(f"no result without {library}: {why}; see the "
                              "log of the workers")

    def all(self):
        """(library, form, worker)"""
        for library, worker in self.workers.items():
            for form in self.forms[library]:
                yield library, form, worker

    def peak(self):
        """(FMA GFLOP/s, read GB/s, bf16 GFLOP/s), once the peer before has come
        to rest."""
        if self.threads > 1:
            time.sleep(SPIN_SECONDS)
        return [float(each) for each in
                self.workers["headwise"].expect("peak").split()]

    def stop(self):
        for worker in self.workers.values():
            worker.stop()


def load_and_compute(worker, form, folder):
    """(the peer's record without times, {output: raw float32}, or None where
    there is none: the record says why)"""
    head, said = worker.ask("load", form, folder)
    if head != "ok":
        return {"state": head, "why": said}, None
    record = {"state": "ok", "version": said}
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    for question in (("run", form, 1), ("out", form, out)):
        head, said = worker.ask(*question)
        if head != "ok":
            worker.ask("drop", form)
            return {**record, "state": head, "why": said}, None
    return record, {name: np.fromfile(out / f"{name}.bin", np.float32)
                    for name in said.split()}


def refuse_without(libraries, workload, records, live):
    """Unless each of these libraries has a form with the right result; of
    headwise every form must have it."""
    for library in libraries:
        right = [r["state"] == "ok" for r in records.values()
                 if r["library"] == library]
        if not any(right) or (library == "headwise" and not all(right)):
            said = "; ".join(f"{form}: {r['state']} {r['why']}" for form, r
                             in records.items()
                             if r["library"] == library and "why" in r)
            for form, worker in live:
                worker.ask("drop", form)
            raise Refused(f"{workload}: no result without {library} ({said})")


def seconds_of(worker, form, count, threads):
    """Of one run: processor time with one thread, else the wall's."""
    wall, processor = map(float, worker.expect("run", form, count).split())
    return (processor if threads == 1 else wall) / count


def shuffled(live, rounds):
    """Who always comes after the same one bears what that one leaves behind."""
    draw = random.Random(0)
    for _ in range(rounds):
        yield draw.sample(live, len(live))


def there_and_back(live, rounds):
    """Neighbours stay neighbours, and each of two comes first in turn."""
    for n in range(rounds):
        yield live if n % 2 == 0 else live[::-1]


def timed_rounds(peers, live, records, rounds, slice_seconds, in_order=shuffled):
    """Adds the seconds of every round to the records of the live (form, worker)
    and drops what they loaded. The runs of one peer in one round last at least
    slice_seconds; in_order(live, rounds) yields the order of each."""
    count, once = {}, {}
    for form, worker in live:
        once[form] = seconds_of(worker, form, 1, peers.threads)
        count[form] = max(1, math.ceil(slice_seconds / max(once[form], 1e-6)))
        records[form].update(runs=count[form], seconds=[])
    # Before each peer and after the last: a peer's peak is the mean of its two.
    orders, taken_of = [], {name: [] for name in PEAKS}
    for order in in_order(live, rounds):
        taken = []
        for form, worker in order:
            taken.append(peers.peak())
            if once[form] < LONG_SECONDS:
                worker.expect("run", form, 1)
            records[form]["seconds"].append(
                seconds_of(worker, form, count[form], peers.threads))
        taken.append(peers.peak())
        orders.append([form for form, _ in order])
        for name, values in zip(PEAKS, zip(*taken)):
            taken_of[name].append(list(values))
    for form, worker in live:
        worker.ask("drop", form)
    return {"order": orders, **taken_of}


def each_result(options, workloads, start, measure):
    """Yields each workload's result with each number of threads, or None where it
    was refused. start(threads) gives the peers."""
    for threads in options.threads:
        peers = start(threads)
        try:
            for workload in workloads:
                print(f"{workload.name}, {threads} thread(s)", file=sys.stderr)
                try:
                    yield rounded(measure(peers, workload, options.rounds))
                except Refused as why:
                    print(f"refused: {why}", file=sys.stderr)
                    yield None
        finally:
            peers.stop()


def keep(results, told, file, write):
    """Calls write(results so far) after each result. 0 where every workload gave
    one, and 1 where one was refused. Raises Refused where none did."""
    kept, complete = [], True
    for result in results:
        if result is None:
            complete = False
            continue
        kept.append(result)
        # Each time: a run that is broken off keeps what it has.
        told["load_average"][1:] = [os.getloadavg()[0]]
        file.parent.mkdir(parents=True, exist_ok=True)
        write(kept)
    if not kept:
        raise Refused("no workload gave a result")
    print(file)
    return 0 if complete else 1


def status_of(process):
    """{field: bytes} of its memory; empty once it has ended."""
    try:
        text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return {}
    fields = (line.split() for line in text.splitlines())
    return {name.rstrip(":"): int(size) * 1024 for name, size, *_ in
            (each for each in fields if each[0] in
             ("VmHWM:", "RssAnon:", "RssFile:", "RssShmem:"))}


def with_scratch(log_name, compare):
    """compare(a scratch folder, the open log of the workers), which is in
    build/peers. Ends the program where it refuses."""
    logs = HERE.parent / "build" / "peers"
    logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="headwise-bench-") as scratch, \
            open(logs / log_name, "w", encoding="utf-8") as log:
        try:
            return compare(pathlib.Path(scratch), log)
        except Refused as why:
            sys.exit(f"refused: {why}")


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


def rounded(value):
    """Six digits are more than a measurement has."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return value


def counts(text):
    """1,2 -> [1, 2]"""
    return [int(each) for each in text.split(",")]


def parser(description, serves=False):
    """Of the arguments that every comparison has; with `serves` the program
    that Peers starts, too."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--headwise", required=True, help="the command")
    if serves:
        made.add_argument("--server", required=True,
                          help="the program of bench/serve")
    made.add_argument("--threads", type=counts, default=[1], metavar="N,N...")
    made.add_argument("--rounds", type=int, default=10)
    made.add_argument("--out", type=pathlib.Path, default=HERE / "results")
    return made


def add_arithmetic(made):
    made.add_argument("--arithmetic", choices=["exact", "bf16"],
                      default="exact", help="bf16: measure bfloat16, headwise "
                      "with --arithmetic bf16")


def parsed(made, arguments):
    options = made.parse_args(arguments)
    available = len(os.sched_getaffinity(0))
    if not all(1 <= threads <= available for threads in options.threads):
        made.error(f"--threads goes from 1 to {available} here")
    if options.rounds < 1:
        made.error("--rounds is at least 1")
    return options


def results_file(folder, told, *more):
    words = "".join(c if c.isalnum() else " " for c in told["cpu"].lower())
    name = "-".join([told["date"], *words.split(), told["headwise"], *more])
    return folder / f"{name}.json"
