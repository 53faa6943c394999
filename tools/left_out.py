#!/usr/bin/env python3
"""Prints the tests that were left out because the large golden files are missing.

    tools/left_out.py BUILD...

From the tests.xml that ctest writes (--output-junit): what a test printed says so.
"""

import pathlib
import sys
import xml.etree.ElementTree

REASON = "script/golden makes them"


def left_out(report):
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        if REASON in "".join(case.itertext()):
            yield case.get("name")


def main(builds):
    for build in map(pathlib.Path, builds):
        report = build / "tests.xml"
        if report.exists():
            for name in left_out(report):
                print(f"    {name} ({build.name})")


if __name__ == "__main__":
    main(sys.argv[1:])
