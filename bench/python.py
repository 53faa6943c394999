#!/usr/bin/env python3
"""Measures the Python package next to torch: script/bench --python calls it.

Attention alone, the cost of a call, and whole models of transformers, with and
without the weights or the statistics of their heads. Rounds are those of compare.py.
Before, the results are compared, those of attention with float64 and those of models
with `eager`: a workload with a wrong one is not timed. What it writes, in --out:
DATE-CPU-COMMIT-python.json with the numbers of every round, and from it .md.
"""
import json
import pathlib
import sys

import numpy as np

import extra_memory
import python_report
import workload as workloads
from harness import (Peers, Refused, conditions, each_result, keep,
                     load_and_compute, parsed, parser, results_file, said_by,
                     timed_rounds, with_scratch)

HERE = pathlib.Path(__file__).resolve().parent
ON_MODELS = HERE / "peers" / "with_transformers.py"
# library: (its program, its forms). Results of models are compared with those of
# the first form of a workload here.
PYTHON = {
    "headwise.attention": (HERE / "peers" / "with_headwise.py",
                           ["headwise_numpy", "headwise_plan", "headwise_torch",
                            "headwise_weights", "headwise_statistics"]),
    "torch": (HERE / "peers" / "with_torch.py", ["torch_sdpa", "torch_matmul"]),
    "eager": (ON_MODELS, ["weights_eager", "forward_eager"]),
    "sdpa": (ON_MODELS, ["forward_sdpa"]),
    "headwise.transformers": (ON_MODELS, [
        "forward_headwise", "weights_headwise", "observe_headwise", "scaled_headwise",
        "replaced_headwise", "patched_headwise", "first-order_headwise"]),
}
OF_ATTENTION = ["headwise", "headwise_numpy", "headwise_torch", "torch_sdpa"]
OF_WEIGHTS = ["headwise_weights", "headwise_statistics", "torch_matmul"]
OF_MODELS = ["forward_eager", "forward_sdpa", "forward_headwise"]
OF_HEADS = ["weights_eager", "weights_headwise", "observe_headwise", *OF_MODELS[1:]]
OF_CHANGES = ["forward_headwise", "scaled_headwise", "replaced_headwise",
              "patched_headwise", "first-order_headwise"]
SMALL = {"kind": "sdpa", "B": 1, "Hq": 1, "Hkv": 1, "Lq": 4, "Lk": 4, "d": 8,
         "causal": 0, "lens": 0, "bias": 0, "weights": 0, "dtype": "f32"}
# name: its forms, and what workers read: of a model, of tensors, or None for a
# workload of `headwise bench`.
WORKLOADS = {
    "gpt2_forward": (OF_MODELS, {"model": "gpt2", "B": 2, "L": 512}),
    "bert_forward": (OF_MODELS, {"model": "bert", "B": 2, "L": 512}),
    "bert_heads": (OF_HEADS, {"model": "bert", "B": 1, "L": 2048}),
    "bert_changed": (OF_CHANGES, {"model": "bert", "B": 1, "L": 512}),
    "smollm2_changed": (OF_CHANGES, {"model": "smollm2", "B": 1, "L": 512}),
    "bert": (OF_ATTENTION, None),
    "gpt_causal": (OF_ATTENTION, None),
    "weights_2048": (OF_WEIGHTS, {**SMALL, "Hq": 12, "Hkv": 12, "Lq": 2048,
                                  "Lk": 2048, "d": 64, "weights": 1}),
    "call": ([*OF_ATTENTION, "headwise_plan"], SMALL),
}
OF_MEMORY = ["bert_heads", "weights_2048"]
LARGEST_ERROR = 1e-4  # relative RMS; a result with a larger error is wrong
SLICE_SECONDS = 0.05  # a round's runs of one peer last at least this long
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
FEW_TOKENS = 8


class Model:
    """A workload of a whole model, in a folder that workers read."""
    reference = None

    def __init__(self, name, spec, folder):
        self.name, self.spec, self.folder = name, spec, folder
        folder.mkdir()
        (folder / "workload.json").write_text(json.dumps(spec), encoding="utf-8")

    def with_few_tokens(self, folder):
        return Model(self.name, {**self.spec, "L": FEW_TOKENS}, folder)


class Attention:
    """A workload of attention alone, with its result in float64."""

    def __init__(self, tensors, folder):
        self.name, self.folder = tensors.name, folder
        tensors.draw()
        tensors.write(folder)
        self.spec, self.reference = tensors.spec, tensors.reference()
        if self.spec["weights"]:
            self.reference["entropy"] = entropies(self.reference["weights"])

    def with_few_tokens(self, folder):
        return Attention(of_spec(self.name, {**self.spec, "Lq": FEW_TOKENS,
                                             "Lk": FEW_TOKENS}), folder)


def of_spec(name, spec):
    return workloads.Workload(name, 0.0, {**spec, "name": name}, [])


def entropies(weights):
    """(B, H, Lq, Lk) -> (H), in nats: means over the queries of all sequences."""
    logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
    return -(weights * logs).sum(-1).mean((0, 2))


def listed(headwise):
    lines = said_by(headwise, "bench", "--list", "--json").splitlines()
    return {one["workload"]: one for one in map(json.loads, lines)}


def prepared(name, headwise, scratch):
    spec, folder = WORKLOADS[name][1], scratch / name
    if spec is None:
        return Attention(
            workloads.Workload.from_listed(listed(headwise)[name]), folder)
    return (Model(name, spec, folder) if "model" in spec else
            Attention(of_spec(name, spec), folder))


def started(options, threads, log):
    peers = Peers(options.server, threads, log)
    for library, (program, forms) in PYTHON.items():
        peers.add_python(library, forms, program, OFFLINE)
    peers.need(PYTHON)
    return peers


def tells_of_heads(form):
    return any(word in form for word in ("weights", "observe", "statistics"))


def check(worker, form, workload, reference):
    """(the peer's record without times, its outputs or None); without a reference
    they are compared with themselves."""
    record, given = load_and_compute(worker, form, workload.folder)
    if given is None:
        return record, None
    needed = {"out", "entropy"} if tells_of_heads(form) else {"out"}
    if not needed <= given.keys():
        return {**record, "state": "wrong", "why": f"gave {', '.join(given)}"}, None
    expected = {name: (reference or given)[name] for name in given}
    largest, rms = workloads.errors(expected, given)
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


def memory_of(options, workload, log):
    """What extra_memory.of() says of each form with each number of threads."""
    print(f"{workload.name}, memory", file=sys.stderr)
    few = workload.with_few_tokens(workload.folder / "few")
    programs = {form: program for program, forms in PYTHON.values() for form in forms}
    return [{"workload": workload.name, "threads": threads, "form": form,
             "extra_bytes": extra_memory.of(
                 programs[form], form, few.folder, workload.folder, threads, log,
                 OFFLINE)}
            for threads in options.threads for form in WORKLOADS[workload.name][0]]


def compare(options, scratch, log):
    """0 where every workload gave a result, and 1 where one was refused."""
    told = conditions(options)
    chosen = [prepared(name, options.headwise, scratch)
              for name in options.workloads]
    memory = [record for workload in chosen if workload.name in OF_MEMORY
              for record in memory_of(options, workload, log)]
    file = results_file(options.out, told, "python")
    results = each_result(options, chosen,
                          lambda threads: started(options, threads, log), measure)
    return keep(results, told, file, lambda kept: python_report.write(
        {"conditions": told, "memory": memory, "results": kept}, file))


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
    return with_scratch("python-workers.log",
                        lambda scratch, log: compare(options, scratch, log))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
