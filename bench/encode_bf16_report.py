#!/usr/bin/env python3
"""The table of a comparison of `headwise encode` in bfloat16:

    bench/encode_bf16_report.py RESULTS.json      writes RESULTS.md anew
"""
from encode_report import every_peer, memory, rate_text
from report import median_of, save, speedup, told_lines, write_anew

OURS = "headwise_in_bf16"


def speed(results):
    """A row for every form that another one is compared with."""
    lines = ["## Speed", "",
             "| workload | threads | form | speed | headwise in bf16 is faster by |",
             "| --- | ---: | --- | ---: | ---: |"]
    for result in results:
        for form in result["timed"]:
            lines.append(
                f"| `{result['workload']}` | {result['threads']} | {form} "
                f"| {rate_text(result, form)} "
                f"| {speedup(result, form, OURS):.2f}x |")
    return lines + [""]


def peaks(results):
    lines = ["| workload | threads | FMA peak GFLOP/s | bf16 peak GFLOP/s |",
             "| --- | ---: | ---: | ---: |"]
    for result in results:
        lines.append(f"| `{result['workload']}` | {result['threads']} "
                     f"| {median_of(result['fma_peak_gflops']):.1f} "
                     f"| {median_of(result['bf16_peak_gflops']):.1f} |")
    return lines + [""]


def errors(results):
    """Errors do not depend on the number of threads: of the first result."""
    result = next((each for each in results if each["sentences"] > 1), None)
    if result is None:
        return []
    of = result["peers"][OURS]["swaps"]["of"]
    lines = ["## Errors against float64", "",
             f"The ranking has {of} pairs of pairs of sentences of "
             f"`{result['workload']}`.", "",
             "| form | 1 - cosine, worst sentence | largest error of a "
             "similarity | swapped pairs of pairs | share | largest difference "
             "of similarity that is swapped |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for form, peer in result["peers"].items():
        if "swaps" not in peer:
            continue
        swaps = peer["swaps"]
        lines.append(
            f"| {form} | {peer['cosine_gap']:.1e} "
            f"| {swaps['largest_difference']:.1e} | {swaps['swapped']} "
            f"| {swaps['swapped'] / swaps['of']:.2%} "
            f"| {swaps['largest_swap']:.1e} |")
    return lines + [""]


def markdown(data):
    told, results = data["conditions"], data["results"]
    lines = [f"# Encoding sentences in bfloat16: {told['cpu']}, {told['date']}",
             "", f"Model `{told['model']['name']}`.", "", *told_lines(told),
             *speed(results), *peaks(results), *errors(results), *memory(data)]
    for result in results:
        lines += every_peer(result)
    return "\n".join(lines)


def write(data, file):
    save(data, file, {".md": markdown(data)})


if __name__ == "__main__":
    write_anew(write, __doc__)
