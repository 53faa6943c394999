#!/usr/bin/env python3
"""Holds the readmes' console blocks against what the command prints.

usage: console_test.py COMMAND README...

A block begins with `$ headwise ...`; a line that is `...` alone stands for any
number of lines.
"""
import re
import shlex
import subprocess
import sys


def blocks(readme):
    with open(readme, encoding="utf-8") as file:
        for block in re.findall(r"```console\n(.*?)```", file.read(), re.S):
            first, rest = block.split("\n", 1)
            yield shlex.split(first.removeprefix("$ ")), rest.splitlines()


def find(lines, part, start):
    """Where `part` stands in `lines` at or after `start`; -1 if nowhere."""
    for at in range(start, len(lines) - len(part) + 1):
        if lines[at : at + len(part)] == part:
            return at
    return -1


def parts_between_gaps(expected):
    part = []
    for line in expected:
        if line == "...":
            yield part
            part = []
        else:
            part.append(line)
    yield part


def check(command, readme):
    failures = 0
    for arguments, expected in blocks(readme):
        assert arguments[0] == "headwise", arguments
        printed = subprocess.run(
            [command, *arguments[1:]], capture_output=True, check=True, text=True,
            env={"LANG": "C.UTF-8", "PATH": ""},
        ).stdout.splitlines()
        at = 0
        for part in parts_between_gaps(expected):
            found = find(printed, part, at)
            if found < 0:
                failures += 1
                print(f"{readme}: `{' '.join(arguments)}` does not print:")
                print("\n".join("    " + line for line in part))
                break
            at = found + len(part)
    return failures


def main():
    command, *readmes = sys.argv[1:]
    failures = sum(check(command, readme) for readme in readmes)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
