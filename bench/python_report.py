#!/usr/bin/env python3
"""The table of a measurement of the Python package:

    bench/python_report.py RESULTS.json      writes RESULTS.md anew
"""
from report import save, seconds, speedup, time_text, write_anew

# Each form is compared with the first of these that its workload has.
BASELINES = ["weights_eager", "forward_sdpa", "torch_matmul", "torch_sdpa",
             "forward_headwise"]
MEBI = 2**20


def baseline_of(result):
    return next(form for form in BASELINES if form in result["timed"])


def short_time(value):
    return f"{value * 1e6:.3g} us" if value < 1e-3 else time_text(value)


def table(result):
    baseline = baseline_of(result)
    sizes = ", ".join(f"{name} {value}" for name, value in result["spec"].items()
                      if name in ("B", "L", "Hq", "Lq", "d", "causal"))
    lines = [f"## `{result['workload']}`, {result['threads']} thread(s)", "",
             f"{sizes}.", "",
             f"| form | median | least | times as fast as `{baseline}` "
             "| relative error |", "| --- | ---: | ---: | ---: | ---: |"]
    for form in sorted(result["timed"], key=lambda each: seconds(result, each)):
        peer = result["peers"][form]
        lines.append(f"| `{form}` | {short_time(seconds(result, form))} "
                     f"| {short_time(min(peer['seconds']))} "
                     f"| {speedup(result, baseline, form):.2f} "
                     f"| {peer['rms_error']:.1e} |")
    return lines + [""]


def memory(records):
    if not records:
        return []
    most = {(each["workload"], each["threads"]): each["extra_bytes"]
            for each in records if each["form"] in ("weights_eager", "torch_matmul")}
    lines = ["## Extra memory", "",
             "The peak of a process during one run, minus its memory before.", "",
             "| workload | threads | form | extra memory | share of the baseline's |",
             "| --- | ---: | --- | ---: | ---: |"]
    for each in records:
        share = each["extra_bytes"] / most[each["workload"], each["threads"]]
        lines.append(f"| `{each['workload']}` | {each['threads']} | `{each['form']}` "
                     f"| {each['extra_bytes'] / MEBI:.1f} MiB | {share:.3f} |")
    return lines + [""]


def markdown(data):
    told = data["conditions"]
    versions = sorted({peer["version"] for result in data["results"]
                       for peer in result["peers"].values()})
    return "\n".join([
        f"# The Python package: {told['cpu']}, {told['date']}", "",
        f"headwise {told['headwise']}; {'; '.join(versions)}. {told['rounds']} rounds, "
        f"{told['cpus']} processors, load average {told['load_average'][0]:.1f} before "
        f"and {told['load_average'][1]:.1f} after. Times are medians, ratios the medians "
        "of the rounds' ratios (bench/README.md).", "",
        *(line for result in data["results"] for line in table(result)),
        *memory(data["memory"])])


def write(data, file):
    save(data, file, {".md": markdown(data)})


if __name__ == "__main__":
    write_anew(write, __doc__)
