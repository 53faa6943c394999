#!/usr/bin/env python3
"""Writes the lower part of docs/commands.md: the help of every command.

    tools/write_commands.py HEADWISE           writes it
    tools/write_commands.py HEADWISE --check   fails if it is not what HEADWISE prints

What is above the line MARK is written by hand and stays.
"""
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/commands.md"
MARK = "<!-- From here on written by tools/write_commands.py. -->\n"


def help_of(headwise, *command):
    return subprocess.run([headwise, *command, "--help-all"], capture_output=True, check=True,
                          text=True, env={"LANG": "C.UTF-8"}).stdout.strip("\n")


def whole_help(headwise):
    top = help_of(headwise).split("\n==== ")[0].strip("\n")
    yield f"\n## headwise\n\n```text\n{top}\n```\n"
    listed = top.split("\nSubcommands:\n")[1]
    for name in re.findall(r"^  ([a-z-]+) ", listed, re.M):
        yield f"\n## headwise {name}\n\n```text\n{help_of(headwise, name)}\n```\n"


def main():
    headwise, *options = sys.argv[1:]
    before = PAGE.read_text("utf-8")
    after = before.split(MARK)[0] + MARK + "".join(whole_help(headwise))
    if options != ["--check"]:
        PAGE.write_text(after, "utf-8")
    elif before != after:
        sys.exit(f"{PAGE} is not what {headwise} prints: run tools/write_commands.py {headwise}")


if __name__ == "__main__":
    main()
