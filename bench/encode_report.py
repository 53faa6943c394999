#!/usr/bin/env python3
"""The table of a comparison of `headwise encode`:

    bench/encode_report.py RESULTS.json      writes RESULTS.md anew
"""
from report import (best_of, median_of, save, seconds, speedup, time_text,
                    write_anew)

LIBRARIES = {"sentence_transformers": "sentence-transformers",
             "onnxruntime": "ONNX Runtime"}
MEBI = 2**20


def rate(result, form):
    return result["sentences"] / seconds(result, form)


def rate_text(result, form):
    """A time where there is one sentence: how long one waits for it."""
    if result["sentences"] == 1:
        return time_text(seconds(result, form))
    return f"{rate(result, form):.4g}/s"


def summary(results):
    heads = [f"{name} | headwise is faster by" for name in LIBRARIES.values()]
    lines = ["| workload | threads | headwise | " + " | ".join(heads) +
             " | peak GFLOP/s |",
             "| --- | ---: | ---: | " + "---: | ---: | " * len(LIBRARIES) +
             "---: |"]
    for result in results:
        cells = [f"`{result['workload']}`", str(result["threads"]),
                 rate_text(result, "headwise")]
        for library in LIBRARIES:
            form = best_of(result, library)
            cells += ["-", "-"] if form is None else [
                rate_text(result, form), f"{speedup(result, form):.2f}x"]
        cells.append(f"{median_of(result['fma_peak_gflops']):.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


def memory(data):
    size = data["conditions"]["model"]["safetensors_bytes"]
    lines = ["## Memory", "",
             "The peak memory of the process `headwise encode`: its own, that "
             "of mapped files, and the total (VmHWM). `model.safetensors` has "
             f"{size / MEBI:.1f} MiB.", "",
             "| workload | threads | own memory | own memory / file size "
             "| mapped files | total |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for one in data["memory"]:
        lines.append(f"| `{one['workload']}` | {one['threads']} "
                     f"| {one['RssAnon'] / MEBI:.1f} MiB "
                     f"| {one['RssAnon'] / size:.3f} "
                     f"| {one['RssFile'] / MEBI:.1f} MiB "
                     f"| {one['VmHWM'] / MEBI:.1f} MiB |")
    return lines + [""]


def every_peer(result):
    tokens = result["tokens"]
    lines = [f"## `{result['workload']}`, {result['threads']} thread(s)", "",
             f"{result['sentences']} sentence(s), {tokens['total']} tokens: from "
             f"{tokens['least']} to {tokens['most']} a sentence, median "
             f"{tokens['median']:g}, nine in ten at most "
             f"{tokens['ninth_decile']}.", "",
             "| peer | median | least | sentences/s | 1 - cosine | largest "
             "error |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for form in sorted(result["timed"], key=lambda f: seconds(result, f)):
        peer = result["peers"][form]
        lines.append(f"| {form} ({peer['version']}) "
                     f"| {time_text(seconds(result, form))} "
                     f"| {time_text(min(peer['seconds']))} "
                     f"| {rate(result, form):.4g} "
                     f"| {peer['cosine_gap']:.1e} "
                     f"| {peer['max_abs_error']:.2e} |")
    missing = [f"{form} ({peer['state']}: {peer['why']})"
               for form, peer in result["peers"].items()
               if peer["state"] != "ok"]
    if missing:
        lines += ["", "Not timed: " + "; ".join(missing) + "."]
    return lines + [""]


def markdown(data):
    told = data["conditions"]
    lines = [f"# Encoding sentences: {told['cpu']}, {told['date']}", "",
             f"headwise {told['headwise']}, model `{told['model']['name']}`, "
             f"{told['rounds']} rounds, {told['cpus']} processors, load average "
             f"{told['load_average'][0]:.1f} before and "
             f"{told['load_average'][1]:.1f} after. Times and rates are medians, "
             "each library's fastest form; errors are against float64 "
             "(bench/README.md).", ""]
    lines += summary(data["results"]) + memory(data)
    for result in data["results"]:
        lines += every_peer(result)
    return "\n".join(lines)


def write(data, file):
    save(data, file, {".md": markdown(data)})


if __name__ == "__main__":
    write_anew(write, __doc__)
