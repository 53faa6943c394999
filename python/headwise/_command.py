"""The console command `headwise`: the program that lies in this package."""

import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).parent / "bin" / "headwise"
    try:
        os.execv(program, ["headwise", *sys.argv[1:]])
    except FileNotFoundError:
        sys.exit(f"headwise: this package was built without the command ({program})")
