#!/usr/bin/env python3
"""Measures headwise beside other libraries: script/bench --peers calls it.

One worker process a library answers the lines that bench/serve/serve.h lists; one
of them works at a time, the others wait. Each output is compared with float64
before anything is timed. A round takes every peer once, in an order of its own,
and the machine's own peak before each and after the last. What it writes, in --out:
DATE-CPU.json with the numbers of every round, and from it .md and .svg.
"""
import json
import pathlib
import shutil
import sys

import bf16_report
import report
import workload as workloads
from harness import (Peers, Refused, add_arithmetic, conditions, keep,
                     load_and_compute, parsed, parser, refuse_without,
                     results_file, rounded, said_by, timed_rounds, with_scratch)

HERE = pathlib.Path(__file__).resolve().parent

# library: its forms. Of a required library at least one form must give the
# right result, or the round is none.
PYTHON = {
    "torch": ["torch_sdpa", "torch_rows", "torch_loop", "torch_nested",
              "torch_flex", "torch_matmul", "torch_mha", "torch_backward",
              "torch_sdpa_bf16", "torch_rows_bf16"],
    "onnxruntime": ["ort_mha", "ort_onnx", "ort_loop", "ort_gqa",
                    "ort_attention"],
    "openvino": ["openvino", "openvino_rows", "openvino_cache",
                 "openvino_bf16"],
    "jax": ["jax"],
    "numpy": ["numpy"],
}
# With --arithmetic bf16 headwise computes in float32 and in bfloat16, the others
# in bfloat16 alone.
PYTHON_BF16 = {
    "torch": ["torch_sdpa_bf16", "torch_rows_bf16", "torch_loop_bf16",
              "torch_nested_bf16", "torch_flex_bf16", "torch_matmul_bf16",
              "torch_mha_bf16", "torch_backward_bf16"],
    "openvino": ["openvino_bf16", "openvino_rows_bf16", "openvino_cache_bf16"],
}
REQUIRED = ["torch", "onnxruntime", "openvino"]
REQUIRED_OF_TRAINING = ["torch"]  # the others compute no gradients
# Workloads with a cache take gigabytes: only forms that may be the fastest of
# their library run.
OF_CACHES = ["headwise", "torch_sdpa", "torch_rows", "torch_rows_bf16",
             "ort_gqa", "ort_onnx", "openvino_rows", "openvino_cache",
             "openvino_rows_bf16", "openvino_cache_bf16"]
# workload: variants on the same tensors, which headwise runs in the same rounds
# as forms named headwise_ and the variant's suffix.
VARIANTS = {
    "bert": ["bert_bf16"],
    "gpt_causal": ["gpt_causal_bf16"],
    "decode": ["decode_plain", "decode_bf16", "decode_int8", "decode_paged",
               "decode_paged_16", "decode_shuffled"],
    "decode_mha": ["decode_mha_bf16", "decode_mha_int8"],
    "prefill": ["prefill_chunks"],
}
DEFAULT_WORKLOADS = [
    "bert", "bert_pad", "gpt_causal", "long_full", "long_causal", "vit",
    "cross", "bias", "attn_weights", "ragged", "seed", "module",
    "seed_module", "bert_bwd", "gpt_causal_bwd"]
# Relative RMS, by the number type of the tensors or of the cache: a result with
# a larger error is wrong. Rounding the inputs alone stays below it.
LARGEST_ERROR = {"f32": 1e-4, "bf16": 1e-2, "f16": 2e-3, "i8": 2e-2}
SLICE_SECONDS = 0.05  # a round's runs of one peer last at least this long


def started(options, threads, log):
    """The peers of this number of threads."""
    peers = Peers(options.server, threads, log)
    bf16 = options.arithmetic == "bf16"
    for library, forms in (PYTHON_BF16 if bf16 else PYTHON).items():
        peers.add_python(library, forms, HERE / "peers" / f"with_{library}.py")
    if options.onednn and not bf16:
        # Its processor engine lives in a run-time of OpenCL beside it.
        libraries = pathlib.Path(sys.prefix) / "lib"
        peers.add("onednn", ["onednn"], [options.onednn], {
            "LD_LIBRARY_PATH": str(libraries),
            "OCL_ICD_FILENAMES": str(libraries / "libintelocl.so")})
    peers.need(required(peers, REQUIRED))
    return peers


def required(peers, libraries):
    """Those of the libraries that take part."""
    return [each for each in libraries if each in peers.workers]


def check(worker, form, workload, folder, reference, coarsest="f32"):
    """Loads and compares; the record of the peer without times. `coarsest`: of
    the numbers that it multiplies."""
    record, given = load_and_compute(worker, form, folder)
    if given is None:
        return record
    largest, rms = workloads.errors(reference, given, workload.rows())
    record.update(max_abs_error=largest, rms_error=rms)
    if rms > LARGEST_ERROR[coarsest]:
        worker.ask("drop", form)
        record.update(state="wrong", why=f"relative RMS error {rms:.1e}")
    return record


def asked(peers, workload, folder):
    """(form, worker, what its record says of it, folder) of every form that
    should run the workload."""
    own = {"headwise": workload, **workload.variants}
    dtypes = {each.coarsest for each in own.values()}
    for library, form, worker in peers.all():
        bf16 = form.endswith("_bf16")
        dtype = (workload.spec["dtype"] if library == "headwise" else
                 "bf16" if bf16 else "f32")
        of_cache = workload.spec["kind"] != "cached" or form in OF_CACHES
        if of_cache and dtype in dtypes | {"f32"}:
            yield form, worker, {
                "library": library, "dtype": dtype,
                "arithmetic": "bf16" if bf16 else "exact"}, folder
    for form, other in workload.variants.items():
        yield form, peers.workers["headwise"], {
            "library": "headwise", "dtype": other.spec["dtype"],
            "arithmetic": other.spec["arithmetic"]}, folder / form


def measure(peers, workload, rounds, folder, reference):
    """The record of one workload with one number of threads."""
    records, live = {}, []
    for form, worker, told, its_folder in asked(peers, workload, folder):
        coarsest = "bf16" if told["arithmetic"] == "bf16" else told["dtype"]
        record = check(worker, form, workload, its_folder, reference, coarsest)
        records[form] = {**told, **record}
        if record["state"] == "ok":
            live.append((form, worker))
            size = workload.bytes_read(told["dtype"])
            records[form].update({"bytes": size} if size else {})
    refuse_without(["headwise", *required(
        peers, REQUIRED_OF_TRAINING if workload.spec["kind"] == "training"
        else REQUIRED)], workload.name, records, live)
    rounds_of = timed_rounds(peers, live, records, rounds, SLICE_SECONDS)
    return {"workload": workload.name, "threads": peers.threads,
            "gflop": workload.gflop, "timed": [form for form, _ in live],
            **rounds_of, "peers": records}


def variants_of(workload, listed, arithmetic):
    """{form: workload} of headwise on the same tensors."""
    # decode_mha_bf16 of decode_mha is headwise_bf16.
    variants = {"headwise" + other.removeprefix(workload.name):
                workloads.Workload.from_listed(listed[other])
                for other in VARIANTS.get(workload.name, [])}
    if arithmetic == "exact":
        return variants
    # Of the variants those of 16-bit tensors or of a 16-bit cache.
    in_bf16 = {bf16_report.OURS: workload.in_bf16()}
    if "headwise_bf16" in variants:
        in_bf16[bf16_report.OURS + "_from_bf16"] = variants["headwise_bf16"].in_bf16()
    return in_bf16


def chosen_workloads(options):
    listed = {one["workload"]: one for one in map(json.loads, said_by(
        options.headwise, "bench", "--list", "--json").splitlines())}
    names = options.workloads or DEFAULT_WORKLOADS
    for name in names:
        if name not in listed:
            raise Refused(f"--workloads has {name}, expected some of "
                          f"{', '.join(listed)}")
    chosen = [workloads.Workload.from_listed(listed[name]) for name in names]
    for workload in chosen:
        workload.variants = variants_of(workload, listed, options.arithmetic)
    return chosen


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
    add_arithmetic(made)
    return parsed(made, arguments)


def main(arguments):
    options = parse(arguments)
    told = conditions(options)
    bf16 = options.arithmetic == "bf16"
    file = results_file(options.out, told, *(["bf16"] if bf16 else []))
    write = (bf16_report if bf16 else report).write
    return with_scratch("workers.log", lambda scratch, log: keep(
        run_all(options, scratch, log), told, file,
        lambda kept: write({"conditions": told, "results": kept}, file)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
