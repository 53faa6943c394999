#!/usr/bin/env python3
"""The tables of a measurement and prediction of scaling:

    bench/scaling_report.py RESULTS.json      writes RESULTS.md anew
"""
import json

from report import time_text, write_anew

NAMES = {"forward": "forward", "backward": "forward and backward"}
# Of 8 H800 with NVLink, causal: forward, forward and backward. From the README of
# ring-flash-attention, https://github.com/zhuzilin/ring-flash-attention.
PUBLISHED = [("Ring Attention", 0.52, 0.54), ("striped", 0.74, 0.83),
             ("zig-zag", 0.85, 0.90)]


def percent(share):
    return f"{100 * share:.1f}%"


def check_table(checks):
    lines = ["| ranks | tokens | | one rank alone | measured | predicted | error "
             "| allowed |",
             "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"]
    for each in checks:
        alone = sorted(each["alone"])[len(each["alone"]) // 2]
        lines.append(
            f"| {each['ranks']} | {each['length']:,} | {NAMES[each['pass']]} "
            f"| {time_text(alone)} "
            f"| {time_text(each['measured_seconds'])} "
            f"| {time_text(each['predicted_seconds'])} "
            f"| {100 * each['error']:+.1f}% | {percent(each['most_error'])} |")
    return lines


def prediction_table(predictions, which):
    lines = ["| ranks | tokens | pipelined | pieces | efficiency | memory "
             "| gathered | efficiency | memory |",
             "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for each in predictions:
        if each["pass"] != which:
            continue
        pipelined = each["forecasts"]["pipelined"]
        gathered = each["forecasts"]["gathered"]
        lines.append(
            f"| {each['ranks']:,} | {each['length']:,} "
            f"| {pipelined['seconds']:.3g} s | {pipelined['pieces']} "
            f"| {percent(pipelined['efficiency'])} "
            f"| {pipelined['most_memory_bytes'] / 2**30:.2f} GiB "
            f"| {gathered['seconds']:.3g} s | {percent(gathered['efficiency'])} "
            f"| {gathered['most_memory_bytes'] / 2**30:.2f} GiB |")
    return lines


def published_table(strong):
    best = {each["pass"]: max(forecast["efficiency"]
                              for forecast in each["forecasts"].values())
            for each in strong if each["ranks"] == 8}
    lines = ["| | forward | forward and backward |", "| --- | ---: | ---: |",
             f"| headwise, predicted | {percent(best['forward'])} "
             f"| {percent(best['backward'])} |"]
    return lines + [f"| {name}, published | {percent(forward)} | {percent(both)} |"
                    for name, forward, both in PUBLISHED]


def markdown(data):
    told, call, machine = (data[name] for name in ("conditions", "call", "machine"))
    lines = [
        f"# Scaling: {told['cpu']}, {told['date']}", "",
        f"headwise {told['headwise']}, {told['rounds']} rounds, load average "
        f"{told['load_average'][0]:.1f} before and {told['load_average'][1]:.1f} after. "
        "Causal attention by context; times are medians.", "",
        "## The model and this machine", "",
        f"{data['checks'][0]['heads']} heads of {data['checks'][0]['head_dim']}, one "
        "thread per rank; of 4 ranks each has half a processor.", "", *check_table(data["checks"]), "",
        "## More ranks, by the model", "",
        f"{call['heads']} query heads and {call['kv_heads']} key heads of "
        f"{call['head_dim']}. A rank is a machine of {machine['cores']} processors as "
        f"fast as one here, with {machine['gb_s']} GB/s per link and "
        f"{machine['latency_us']} us per message. Efficiency is compared with one such "
        "machine that needs no second pass over the scores."]
    for title, of in (("Strong scaling", "strong"), ("Weak scaling", "weak")):
        for which, name in NAMES.items():
            lines += ["", f"### {title}, {name}", "",
                      *prediction_table(data[of], which)]
    return "\n".join([
        *lines, "", "## Beside published figures, 8 ranks", "",
        "Those were measured on 8 H800, by the README of ring-flash-attention. They "
        "are of other processors and another length, and partial results of ranks are "
        "joined there, so the bits depend on the number of ranks.", "", *published_table(data["strong"]), ""])


def write(data, file):
    file.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    file.with_suffix(".md").write_text(markdown(data), encoding="utf-8")


if __name__ == "__main__":
    write_anew(write, __doc__)
