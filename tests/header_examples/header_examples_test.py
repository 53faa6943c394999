#!/usr/bin/env python3
"""Compiles the examples in the comments of the public headers.

usage: header_examples_test.py INCLUDE CONTEXT COMPILER FLAG...

An example is what is indented after "// Example:". What it uses without
declaring it is declared in CONTEXT: a line "# heads/ablation.h 24" begins the
declarations for the example there; those at the beginning are for all.
"""

import pathlib
import re
import subprocess
import sys


def examples_in(text):
    """(the line of the word Example, the code) of each."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if not re.match(r"\s*// Example\b.*:", line):
            continue
        begin = at + 1
        while begin < len(lines) and re.match(r"\s*// ?\S", lines[begin]):
            begin += 1  # the sentence goes on
        code = []
        for row in lines[begin:]:
            inside = re.match(r"\s*//(?:   (.*)|)$", row)
            if not inside:
                break
            code.append(inside[1] or "")
        yield at + 1, "\n".join(code).strip()


def contexts(text):
    """The declarations for all examples, and those by header and number."""
    common, *rest = re.split(r"^# ", text, flags=re.M)
    own = {}
    for part in rest:
        name, declarations = part.split("\n", 1)
        own[name.strip()] = declarations
    return common, own


def program(include, context):
    common, own = contexts(context)
    headers = sorted((include / "headwise").rglob("*.h"))
    names = [header.relative_to(include).as_posix() for header in headers]
    parts = [f'#include "{name}"' for name in names] + [common]
    count, used = 0, set()
    for header, name in zip(headers, names):
        for number, (line, code) in enumerate(examples_in(header.read_text("utf-8"))):
            place = name.removeprefix("headwise/") + (f" {number + 1}" if number else "")
            used.add(place)
            count += 1
            parts.append(
                f"namespace headwise::example_{count} {{\nnamespace hw = headwise;\n"
                f"{own.get(place, '')}\nvoid example() {{\n"
                f'#line {line + 1} "{name}"\n{code}\n}}\n}}')
    if unknown := own.keys() - used:
        sys.exit(f"{', '.join(sorted(unknown))}: no such example")
    return "\n".join(parts), count


def main():
    include, context, *compiler = sys.argv[1:]
    source, count = program(pathlib.Path(include), pathlib.Path(context).read_text("utf-8"))
    done = subprocess.run([*compiler, "-std=c++20", f"-I{include}", "-fsyntax-only", "-w",
                           "-x", "c++", "-"], input=source, text=True)
    print(f"{count} examples")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
