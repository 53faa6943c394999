#!/usr/bin/env python3
"""Prints what took longest in builds and their tests.

    tools/slowest.py BUILD...

From Ninja's log and from the tests.xml that ctest writes (--output-junit).
"""

import pathlib
import sys
import xml.etree.ElementTree

SHOWN = 8


def built(build):
    """Seconds by target, as the last run of each took."""
    seconds = {}
    log = build / ".ninja_log"
    for line in log.read_text().splitlines() if log.exists() else []:
        fields = line.split("\t")
        if len(fields) == 5:
            seconds[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return seconds


def tested(build):
    report = build / "tests.xml"
    if not report.exists():
        return {}
    cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
    return {case.get("name"): float(case.get("time") or 0) for case in cases}


def show(title, seconds):
    print(f"  {title}: {len(seconds)}, {sum(seconds.values()):.0f} s in all; slowest")
    slowest = sorted(seconds.items(), key=lambda item: -item[1])[:SHOWN]
    for name, taken in slowest:
        print(f"{taken:10.1f} s  {name}")


def main(builds):
    for build in map(pathlib.Path, builds):
        for what, seconds in (("build steps", built(build)), ("tests", tested(build))):
            if seconds:
                show(f"{build.name}, {what}", seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
