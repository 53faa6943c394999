#!/usr/bin/env python3
"""The table of a report of bench/cuda.py, in Markdown.

    bench/cuda_report.py REPORT.json > REPORT.md
"""

import json
import sys

GRADIENTS = ("d_query", "d_key", "d_value")


def error_text(errors, direction):
    names = ("output",) if direction == "forward" else GRADIENTS
    return " ".join(f"{errors[name]['rms']:.2e}" for name in names)


def table(report):
    peers = sorted({name for r in report["results"]
                    for name in r["tflops"]["forward"]} - {"headwise"})
    lines = [
        f"{report['gpu']}, PyTorch {report['torch']}, {report['rounds']} rounds "
        "in turns; TFLOP/s, medians. Error: root mean square against float64 "
        "(backward: of the gradients of query, key and value).",
        "",
        "| workload | | headwise | " + " | ".join(peers)
        + " | of the fastest | of the matrix product | error | error of "
        + " | error of ".join(peers) + " |",
        "| --- " * (2 * len(peers) + 6) + "|",
    ]
    for r in report["results"]:
        for direction, rates in r["tflops"].items():
            own = rates["headwise"]
            others = [rates.get(name) for name in peers]
            best = max(rate for rate in others if rate)
            cells = [r["workload"]["name"], direction, f"{own:.0f}"]
            cells += [f"{rate:.0f}" if rate else "refuses" for rate in others]
            cells += [f"{own / best:.2f}", f"{own / r['matmul_tflops']:.2f}"]
            cells += [error_text(r["errors"][name], direction)
                      if name in r["errors"] else ""
                      for name in ("headwise", *peers)]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print(table(json.load(file)))
