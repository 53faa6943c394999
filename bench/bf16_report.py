#!/usr/bin/env python3
"""The table of a comparison in bfloat16:

    bench/bf16_report.py RESULTS.json      writes RESULTS.md anew
"""
import report
from report import save, seconds, speedup, time_text, write_anew

OURS = "headwise_in_bf16"  # the form of headwise that the promises are of
PEAKS = {"bf16": "bf16_peak_gflops", "exact": "fma_peak_gflops"}


def share(result, form):
    """Of the peak of the form's own arithmetic."""
    peak = PEAKS[result["peers"][form]["arithmetic"]]
    return report.share_of(result, form, result["gflop"], result[peak])


def peers(result, library=None):
    """The timed forms of the others, or of one of them."""
    libraries = {form: result["peers"][form]["library"]
                 for form in result["timed"]}
    return [form for form, its in libraries.items()
            if its == library or (library is None and its != "headwise")]


def fastest_peer(result):
    return min(peers(result), key=lambda form: seconds(result, form))


def most_exact(result, library="torch"):
    """The form of the library with the smallest RMS error."""
    return min(peers(result, library),
               key=lambda form: result["peers"][form]["rms_error"])


def speed(results, threads):
    lines = [f"## Speed, {threads} thread(s)", "",
             "| workload | float32 | bf16 | faster than float32 | share of the "
             "bf16 peak | fastest peer in bfloat16 | its share | faster than it "
             "| peaks GFLOP/s |",
             "| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |"]
    for result in results:
        peer = fastest_peer(result)
        fma, bf16 = (report.median_of(result[PEAKS[arithmetic]])
                     for arithmetic in ("exact", "bf16"))
        lines.append(
            f"| `{result['workload']}` "
            f"| {time_text(seconds(result, 'headwise'))} "
            f"| {time_text(seconds(result, OURS))} "
            f"| {speedup(result, 'headwise', OURS):.2f}x "
            f"| {share(result, OURS):.3f} "
            f"| {peer}, {time_text(seconds(result, peer))} "
            f"| {share(result, peer):.3f} "
            f"| {speedup(result, peer, OURS):.2f}x "
            f"| {fma:.0f}, {bf16:.0f} |")
    return lines + [""]


def error_ratio(result, error):
    """headwise in bf16 over PyTorch's most exact form."""
    return (result["peers"][OURS][error] /
            result["peers"][most_exact(result)][error])


def errors(results):
    """Errors do not depend on the number of threads: of the first result."""
    of_workload = {result["workload"]: result for result in results[::-1]}
    lines = ["## Errors against float64", "",
             "The form of PyTorch is the one with the smallest RMS error.", "",
             "| workload | RMS, headwise | RMS, PyTorch | ratio | largest, "
             "headwise | largest, PyTorch | ratio | form of PyTorch |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"]
    for result in reversed(of_workload.values()):
        ours = result["peers"][OURS]
        form = most_exact(result)
        theirs = result["peers"][form]
        cells = [cell for error in ("rms_error", "max_abs_error") for cell in (
            f"{ours[error]:.2e}", f"{theirs[error]:.2e}",
            f"{error_ratio(result, error):.2f}")]
        lines.append(f"| `{result['workload']}` | " + " | ".join(cells) +
                     f" | {form} |")
    return lines + [""]


def markdown(data):
    told = data["conditions"]
    lines = [f"# bfloat16: {told['cpu']}, {told['date']}", "",
             *report.told_lines(told)]
    for threads in sorted({r["threads"] for r in data["results"]}):
        lines += speed([r for r in data["results"]
                        if r["threads"] == threads], threads)
    lines += errors(data["results"])
    for result in data["results"]:
        lines += report.every_peer(result, share)
    return "\n".join(lines)


def write(data, file):
    save(data, file, {".md": markdown(data)})


if __name__ == "__main__":
    write_anew(write, __doc__)
