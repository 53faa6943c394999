#!/usr/bin/env python3
"""The table and the plot of a comparison:

    bench/report.py RESULTS.json      writes RESULTS.md and RESULTS.svg anew
"""
import json
import pathlib
import statistics
import sys
from xml.sax.saxutils import escape

COLOURS = {"headwise": "#0b6e4f", "torch": "#d1495b", "onnxruntime": "#30638e",
           "openvino": "#8f5db7", "onednn": "#edae49", "jax": "#5f6c7b",
           "numpy": "#b8b8b8"}


def share_of(result, form, amount, taken):
    """Share of the machine's peak at that time: the median over the rounds.
    `amount`: the work of a run; `taken`: for each round, the peak before each
    peer and after the last."""
    # Results of before 2026-11-22 have no order: every round had that of timed.
    orders = result.get("order", [result["timed"]] * len(taken))
    rates = [amount / seconds for seconds in result["peers"][form]["seconds"]]
    peaks = [(of_round[place] + of_round[place + 1]) / 2
             for of_round, place in zip(taken, (order.index(form)
                                                for order in orders))]
    return statistics.median(r / p for r, p in zip(rates, peaks))


def share(result, form):
    """Of the FMA peak."""
    return share_of(result, form, result["gflop"], result["fma_peak_gflops"])


def read_share(result, form):
    """Of the read bandwidth; None if the result counts no bytes."""
    size = result["peers"][form].get("bytes")
    return None if size is None else share_of(result, form, size * 1e-9,
                                              result["read_gb_s"])


def seconds(result, form):
    return statistics.median(result["peers"][form]["seconds"])


def dtype_of(result, form):
    """The number type of a form. Older results, all float32, do not name it."""
    return result["peers"][form].get("dtype", "f32")


def comparable(result):
    """`headwise`, and the peers' forms of the same number type."""
    return [form for form in result["timed"] if form == "headwise" or (
        result["peers"][form]["library"] != "headwise" and
        dtype_of(result, form) == dtype_of(result, "headwise"))]


def best_of(result, library):
    """The library's fastest form; None where it has no result."""
    forms = [form for form in comparable(result)
             if result["peers"][form]["library"] == library]
    return min(forms, key=lambda form: seconds(result, form), default=None)


def best_peer(result):
    """None where headwise is alone."""
    forms = [form for form in comparable(result) if form != "headwise"]
    return min(forms, key=lambda form: seconds(result, form), default=None)


def median_of(rounds):
    return statistics.median(value for taken in rounds for value in taken)


def speedup(result, form, own="headwise"):
    """Of headwise's form `own` over another form: the median of the rounds'
    ratios."""
    return statistics.median(
        other / ours for ours, other in zip(
            result["peers"][own]["seconds"],
            result["peers"][form]["seconds"]))


def time_text(value):
    return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def summary(results, threads):
    lines = [f"## {threads} thread(s)", "",
             "| workload | headwise | share of the peak | fastest peer | its "
             "share | headwise is faster by | peak GFLOP/s | read GB/s |",
             "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |"]
    for result in results:
        peer = best_peer(result)
        beside = " | | " if peer is None else (
            f"{peer}, {time_text(seconds(result, peer))} "
            f"| {share(result, peer):.3f} "
            f"| {speedup(result, peer):.2f}x")
        lines.append(
            f"| `{result['workload']}` "
            f"| {time_text(seconds(result, 'headwise'))} "
            f"| {share(result, 'headwise'):.3f} "
            f"| {beside} "
            f"| {median_of(result['fma_peak_gflops']):.1f} "
            f"| {median_of(result['read_gb_s']):.1f} |")
    by_name = {result["workload"]: result for result in results}
    if {"bert", "bert_pad"} <= by_name.keys():
        ratio = (seconds(by_name["bert_pad"], "headwise") /
                 seconds(by_name["bert"], "headwise"))
        lines += ["", f"`bert_pad` takes {ratio:.2f} of the time of `bert`."]
    return lines + [""]


def own_forms(results):
    """A table of headwise's forms, of workloads with variants or bound by
    memory."""
    rows = []
    for result in results:
        forms = [form for form in result["timed"]
                 if result["peers"][form]["library"] == "headwise"]
        peer = best_peer(result)
        for form in forms:
            read = read_share(result, form)
            if read is None and len(forms) == 1:
                continue
            of_read = "" if read is None else f"{read:.3f}"
            beside_peer = ("" if peer is None else
                           f"{speedup(result, peer, form):.2f}x")
            rows.append(
                f"| `{result['workload']}` | {form} "
                f"| {time_text(seconds(result, form))} | {of_read} "
                f"| {share(result, form):.3f} "
                f"| {speedup(result, 'headwise', form):.2f}x | {beside_peer} |")
    if not rows:
        return []
    return ["| workload | form | time | share of the read bandwidth | share of "
            "the peak | faster than `headwise` | faster than the fastest peer |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: |", *rows, ""]


def every_peer(result, share=share):
    lines = [f"### `{result['workload']}`, {result['threads']} thread(s), "
             f"{result['gflop']:.4g} GFLOP", "",
             "| peer | median | least | share of the peak | RMS error | "
             "largest error |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for form in sorted(result["timed"], key=lambda f: seconds(result, f)):
        peer = result["peers"][form]
        lines.append(
            f"| {form} ({peer['version']}) "
            f"| {time_text(seconds(result, form))} "
            f"| {time_text(min(peer['seconds']))} "
            f"| {share(result, form):.3f} | {peer['rms_error']:.2e} "
            f"| {peer['max_abs_error']:.2e} |")
    missing = [f"{form} ({peer['state']}: {peer['why']})"
               for form, peer in result["peers"].items()
               if peer["state"] != "ok" and "no such form" not in peer["why"]]
    if missing:
        lines += ["", "Not timed: " + "; ".join(missing) + "."]
    return lines + [""]


def told_lines(told):
    """The conditions, and what the numbers are."""
    return [f"headwise {told['headwise']}, {told['rounds']} rounds, "
            f"{told['cpus']} processors, load average "
            f"{told['load_average'][0]:.1f} before and "
            f"{told['load_average'][1]:.1f} after. Times and shares are "
            "medians; errors are against float64, the RMS error relative to "
            "the RMS of the result (bench/README.md).", ""]


def markdown(data):
    told = data["conditions"]
    lines = [f"# {told['cpu']}, {told['date']}", "", *told_lines(told)]
    for threads in sorted({r["threads"] for r in data["results"]}):
        results = [r for r in data["results"] if r["threads"] == threads]
        lines += summary(results, threads) + own_forms(results)
    for result in data["results"]:
        lines += every_peer(result)
    return "\n".join(lines)


def bars(result, top):
    """The bars of one workload, from `top` down, and the height they take."""
    parts = [f'<text x="150" y="{top + 12}" text-anchor="end" '
             f'font-weight="bold">{escape(result["workload"])}, '
             f'{result["threads"]} thr.</text>']
    y = top
    for library, colour in COLOURS.items():
        form = best_of(result, library)
        if form is None:
            continue
        part = share(result, form)
        parts.append(
            f'<rect x="160" y="{y}" width="{part * 500:.1f}" height="13" '
            f'fill="{colour}"><title>{escape(form)}: {part:.3f}</title></rect>'
            f'<text x="{165 + part * 500:.1f}" y="{y + 11}">{part:.2f} '
            f'{escape(form)}</text>')
        y += 16
    return parts, y - top + 14


def svg(data):
    parts, y = [], 50
    for result in data["results"]:
        drawn, height = bars(result, y)
        parts += drawn
        y += height
    lines = [f'<line x1="{160 + 50 * tenth}" y1="40" x2="{160 + 50 * tenth}" '
             f'y2="{y}" stroke="#ddd"/><text x="{160 + 50 * tenth}" y="36" '
             f'text-anchor="middle">{tenth / 10}</text>'
             for tenth in range(0, 11, 2)]
    title = ("Share of the FMA peak, each library's fastest form: "
             f"{data['conditions']['cpu']}, {data['conditions']['date']}")
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="820" height="{y + 10}"'
        f' font-family="sans-serif" font-size="11" role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="18" font-size="14">{escape(title)}</text>',
        *lines, *parts, "</svg>", ""])


def as_json(data):
    """One line a peer, so that a file of many rounds can be read and compared."""
    def result_lines(result):
        outer = {k: v for k, v in result.items() if k != "peers"}
        peers = ",\n".join(f"    {json.dumps(form)}: {json.dumps(peer)}"
                           for form, peer in result["peers"].items())
        return json.dumps(outer)[:-1] + ', "peers": {\n' + peers + "}}"

    outer = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n"
                    for key, value in data.items() if key != "results")
    return ("{" + outer + '"results": [\n' +
            ",\n".join(map(result_lines, data["results"])) + "\n]}\n")


def save(data, file, made):
    """Writes the results as JSON to `file`, and each text of `made`, {suffix: text},
    to a file next to it."""
    file.write_text(as_json(data), encoding="utf-8")
    for suffix, text in made.items():
        file.with_suffix(suffix).write_text(text, encoding="utf-8")


def write_anew(write, usage):
    """A report as a program: its only argument is the JSON file."""
    if len(sys.argv) != 2:
        sys.exit(usage)
    path = pathlib.Path(sys.argv[1])
    write(json.loads(path.read_text(encoding="utf-8")), path)


def write(data, file):
    save(data, file, {".md": markdown(data), ".svg": svg(data)})


if __name__ == "__main__":
    write_anew(write, __doc__)
