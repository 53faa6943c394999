"""Compares headwise.Tokenizer with the package `tokenizers` on real and on small
tokenizers, and with other packages on files that are no tokenizer.json
(script/compare-tokenizers). Prints a line for each and writes a JSON report."""
import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import re
import sys
import time

import comparison
import real_tokenizers
from readers import Failure, Headwise, Reference, attempt
from small_tokenizers import small_tokenizers

# Parts of the other formats that are not compared: (file, text or ids, reason).
OTHER_EXCEPTIONS = [
    ("tekken.*", "<s>|</s>|<unk>", "the names of special tokens are found in texts, as "
     "those of a tokenizer.json"),
    ("qwen.*", "[\u09fe\u0c3c\u0eba]", "the package `tokenizers` does not reorder these "
     "marks, which are younger than its table"),
]


def compare_json(name, text, lines, step, other):
    made = comparison.Comparison(name, text, other)
    made.lines(comparison.lines_for(name, json.loads(text), lines))
    if step:
        made.scalars(step)
    return made.report()


def compare_other(name, path, make, lines):
    """Ids and texts of a file that another package reads."""
    import headwise
    there = make(path)
    here = attempt(lambda: headwise.Tokenizer.read(str(path)))
    if isinstance(here, Failure):
        return {"name": name, "differences": {"reading": 1}, "excepted": {},
                "cases": [here.why]}
    counts, excepted, cases = (collections.Counter(), collections.Counter(), [])

    def compare(part, given, one, two):
        def differs(given):
            values = attempt(lambda: one(given)), attempt(lambda: two(given))
            failed = [isinstance(each, Failure) for each in values]
            return None if all(failed) or values[0] == values[1] else values
        if not differs(given):
            return
        reason = next((reason for which, pattern, reason in OTHER_EXCEPTIONS
                       if re.fullmatch(which, name) and
                       re.search(pattern, str(given))), None)
        if reason:
            excepted[reason] += 1
            return
        counts[part] += 1
        if counts[part] <= 3:
            least = comparison.smallest(given, differs)
            cases.append(str(comparison.Difference(part, least, *differs(least))))

    def ids(text):
        return list(here.encode(text, add_special_tokens=False).ids)
    for line in comparison.Lines(name).take(lines):
        compare("ids", line, there.ids, ids)
        known = attempt(lambda: there.ids(line))
        if not isinstance(known, Failure):
            compare("decoded", known, there.decode, here.decode)
    return {"name": name, "differences": dict(counts), "excepted": dict(excepted),
            "cases": cases}


def jobs(options):
    """(name, function, arguments)"""
    other = Reference if options.itself else Headwise
    chosen = re.compile(options.only).fullmatch
    real = real_tokenizers.tokenizer_json(options.folder)
    for name, path in real.items():
        if chosen(name := f"real_{name}"):
            yield name, compare_json, (path().read_text("utf-8"), options.lines,
                                       options.step, other)
    for name, (path, make) in real_tokenizers.other_files().items():
        if chosen(name) and not options.itself:
            yield name, compare_other, (real_tokenizers.packaged(path), make,
                                        options.lines)
    for name, text in small_tokenizers().items():
        if chosen(name):
            # Those with added tokens are others of these tokenizers.
            alone = not name.startswith("added_")
            yield name, compare_json, (text, options.lines // (1 if alone else 4),
                                       16 * options.step if alone else 0, other)


WORK = {}  # the processes have it from before they were forked


def done(name):
    """The report of a job, with its time. A panic's trace would be thousands of
    lines."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    function, arguments = WORK[name]
    begin = time.monotonic()
    report = attempt(lambda: function(name, *arguments))
    if isinstance(report, Failure):
        report = {"name": name, "differences": {"the comparison": 1}, "excepted": {},
                  "cases": [report.why]}
    return {**report, "seconds": round(time.monotonic() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--step", type=int, default=1, help="step from one Unicode "
                        "scalar to the next, 16 times as long for small tokenizers; 0: "
                        "no scalars")
    parser.add_argument("--only", default=".*", help="a regular expression of names")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", type=pathlib.Path,
                        default=pathlib.Path("build/compare-tokenizers"))
    parser.add_argument("--itself", action="store_true",
                        help="compare the package with itself")
    options = parser.parse_args()
    WORK.update((name, rest) for name, *rest in jobs(options))
    reports = []
    with multiprocessing.get_context("fork").Pool(options.processes,
                                                  maxtasksperchild=1) as pool:
        for report in pool.imap_unordered(done, WORK):
            reports.append(report)
            told = ", ".join(f"{count} {part}" for part, count in
                             report["differences"].items()) or "equal"
            known = "".join(f"; {count} known: {reason}" for reason, count in
                            report["excepted"].items())
            print(f"{report['name']:34} {report['seconds']:7.1f} s  {told}{known}",
                  flush=True)
            for case in report["cases"]:
                print(f"  {case}")
    options.folder.mkdir(parents=True, exist_ok=True)
    file = options.folder / "report.json"
    file.write_text(json.dumps({"lines": options.lines, "step": options.step,
                                "tokenizers": reports}, indent=1), "utf-8")
    unlike = sum(bool(report["differences"]) for report in reports)
    print(f"{len(reports)} tokenizers, {unlike} of them differ ({file})")
    sys.exit(1 if unlike else 0)


if __name__ == "__main__":
    main()
