#!/usr/bin/env python3
"""The table of a measurement of layers with half of their heads:

    bench/pruned_report.py RESULTS.json      writes RESULTS.md anew
"""
import statistics

import report
from report import median_of, save, seconds, time_text, write_anew


def half_of(full):
    return full + "_half"


def pairs(result):
    """(a layer, the same with half of its heads)"""
    return [(name, half_of(name)) for name in result["timed"]
            if half_of(name) in result["timed"]]


def ratios(result, full, half):
    """Of their times, by round."""
    return [one / whole for one, whole in zip(
        *(result["peers"][name]["seconds"] for name in (half, full)))]


def share(result, name):
    """Of the FMA peak; here each workload has work of its own."""
    return report.share({**result, "gflop": result["peers"][name]["gflop"]}, name)


def row(result, full, half):
    lower, middle, upper = statistics.quantiles(
        ratios(result, full, half), n=4, method="inclusive")
    work = result["peers"][half]["gflop"] / result["peers"][full]["gflop"]
    return (f"| `{full}` | {result['threads']} "
            f"| {time_text(seconds(result, full))} "
            f"| {time_text(seconds(result, half))} "
            f"| {middle:.3f} | {lower:.3f} to {upper:.3f} | {work:.3f} "
            f"| {share(result, full):.3f} | {share(result, half):.3f} "
            f"| {median_of(result['fma_peak_gflops']):.1f} |")


def table(results):
    return ["| layer | threads | whole | half of the heads | half of them / whole "
            "| quartiles | work | whole: share of the peak | half: share "
            "| peak GFLOP/s |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *(row(result, *pair) for result in results for pair in pairs(result))]


def markdown(data):
    told = data["conditions"]
    return "\n".join([
        f"# Half of the heads: {told['cpu']}, {told['date']}", "",
        f"headwise {told['headwise']}, {told['rounds']} rounds, {told['cpus']} "
        f"processors, load average {told['load_average'][0]:.1f} before and "
        f"{told['load_average'][1]:.1f} after. Times and shares are medians; the "
        "ratio is the median of the rounds' ratios, between its quartiles, beside "
        "that of the work (bench/README.md).", "", *table(data["results"]), ""])


def write(data, file):
    save(data, file, {".md": markdown(data)})


if __name__ == "__main__":
    write_anew(write, __doc__)
