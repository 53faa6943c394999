#!/usr/bin/env python3
"""Measures the Python package next to torch: script/bench --python calls it.

Attention alone, the cost of a call, and whole models of transformers. Rounds are those of compare.py.
Before, the results are compared, those of attention with float64 and those of models
with `eager`: a workload with a wrong one is not timed. What it writes, in --out:
DATE-CPU-COMMIT-python.json with the numbers of every round, and from it .md.
"""
import json
import pathlib
import sys
import tempfile

import python_report
import workload as workloads
from harness import (Peers, Refused, conditions, each_result, keep,
                     load_and_compute, parsed, parser, results_file, said_by,
                     timed_rounds)

HERE = pathlib.Path(__file__).resolve().parent
ON_MODELS = HERE / "peers" / "with_transformers.py"
# library: (its program, its forms). Results of models are compared with those of
# the first form of a workload here.
PYTHON = {
    "headwise.attention": (HERE / "peers" / "with_headwise.py",
                           ["headwise_numpy", "headwise_plan", "headwise_torch"]),
    "torch": (HERE / "peers" / "with_torch.py", ["torch_sdpa"]),
    "eager": (ON_MODELS, ["forward_eager"]),
    "sdpa": (ON_MODELS, ["forward_sdpa"]),
    "headwise.transformers": (ON_MODELS, ["forward_headwise"]),
}
OF_ATTENTION = ["headwise", "headwise_numpy", "headwise_torch", "torch_sdpa"]
OF_MODELS = ["forward_eager", "forward_sdpa", "forward_headwise"]
# name: its forms, and for models what workers read. bert and gpt_causal are
# workloads of `headwise bench`.
WORKLOADS = {
    "gpt2_forward": (OF_MODELS, {"model": "gpt2", "B": 2, "L": 512}),
    "bert_forward": (OF_MODELS, {"model": "bert", "B": 2, "L": 512}),
    "bert": (OF_ATTENTION, None),
    "gpt_causal": (OF_ATTENTION, None),
    "call": ([*OF_ATTENTION, "headwise_plan"], None),
}
CALL = {"kind": "sdpa", "B": 1, "Hq": 1, "Hkv": 1, "Lq": 4, "Lk": 4, "d": 8,
        "causal": 0, "lens": 0, "bias": 0, "weights": 0, "dtype": "f32"}
LARGEST_ERROR = 1e-4  # relative RMS; a result with a larger error is wrong
SLICE_SECONDS = 0.05  # a round's runs of one peer last at least this long
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


class Model:
    """A workload of a whole model, in a folder that workers read."""
    reference = None

    def __init__(self, name, spec, folder):
        self.name, self.spec, self.folder = name, spec, folder
        folder.mkdir()
        (folder / "workload.json").write_text(json.dumps(spec), encoding="utf-8")


class Attention:
    """A workload of attention alone, with its result in float64."""

    def __init__(self, name, headwise, folder):
        self.name, self.folder = name, folder
        tensors = (workloads.Workload(name, 0.0, {"name": name, **CALL}, [])
                   if name == "call" else
                   workloads.Workload.from_listed(listed(headwise)[name]))
        tensors.draw()
        tensors.write(folder)
        self.spec, self.reference = tensors.spec, tensors.reference()


def listed(headwise):
    lines = said_by(headwise, "bench", "--list", "--json").splitlines()
    return {one["workload"]: one for one in map(json.loads, lines)}


def prepared(name, headwise, scratch):
    spec = WORKLOADS[name][1]
    return (Attention(name, headwise, scratch / name) if spec is None else
            Model(name, spec, scratch / name))


def started(options, threads, log):
    peers = Peers(options.server, threads, log)
    for library, (program, forms) in PYTHON.items():
        peers.add_python(library, forms, program, OFFLINE)
    peers.need(PYTHON)
    return peers


def check(worker, form, workload, reference):
    """(the peer's record without times, its outputs or None); without a reference
    they are compared with themselves."""
    record, given = load_and_compute(worker, form, workload.folder)
    if given is None:
        return record, None
    largest, rms = workloads.errors(reference or given, given)
    record.update(max_abs_error=largest, rms_error=rms)
    if rms > LARGEST_ERROR:
        record.update(state="wrong", why=f"relative RMS error {rms:.1e}")
    return record, given


def measure(peers, workload, rounds):
    """The record of one workload with one number of threads."""
    forms, reference = WORKLOADS[workload.name][0], workload.reference
    records, live = {}, []
    for library, form, worker in peers.all():
        if form in forms:
            record, given = check(worker, form, workload, reference)
            reference = reference or given
            records[form] = {"library": library, **record}
            live.append((form, worker))
    wrong = [f"{form}: {r['state']} {r['why']}" for form, r in records.items()
             if r["state"] != "ok"]
    if wrong:
        for form, worker in live:
            worker.ask("drop", form)
        raise Refused(f"{workload.name}: {'; '.join(wrong)}")
    rounds_of = timed_rounds(peers, live, records, rounds, SLICE_SECONDS)
    return {"workload": workload.name, "threads": peers.threads,
            "spec": workload.spec, "timed": [form for form, _ in live],
            **rounds_of, "peers": records}


def compare(options, scratch, log):
    """0 where every workload gave a result, and 1 where one was refused."""
    told = conditions(options)
    chosen = [prepared(name, options.headwise, scratch)
              for name in options.workloads]
    file = results_file(options.out, told, "python")
    results = each_result(options, chosen,
                          lambda threads: started(options, threads, log), measure)
    return keep(results, told, file, lambda kept: python_report.write(
        {"conditions": told, "results": kept}, file))


def parse(arguments):
    made = parser(__doc__.splitlines()[0], serves=True)
    made.add_argument("--workloads", type=lambda text: text.split(","),
                      metavar="NAME,NAME...", default=list(WORKLOADS))
    options = parsed(made, arguments)
    for name in options.workloads:
        if name not in WORKLOADS:
            made.error(f"--workloads has {name}, expected some of "
                       f"{', '.join(WORKLOADS)}")
    return options


def main(arguments):
    options = parse(arguments)
    logs = HERE.parent / "build" / "peers"
    logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="headwise-bench-") as scratch, \
            open(logs / "python-workers.log", "w", encoding="utf-8") as log:
        try:
            return compare(options, pathlib.Path(scratch), log)
        except Refused as why:
            sys.exit(f"refused: {why}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
