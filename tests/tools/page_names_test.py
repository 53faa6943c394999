#!/usr/bin/env python3
"""A page that a source names, such as docs/arithmetic.md, exists."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["apps", "bench", "cmake", "docs", "fuzz", "include", "python", "script", "src", "tests",
           "tools"]
PAGE = re.compile(r"\b(?:docs|bench)/[\w/.-]*\.md\b")


def sources():
    for path in [*ROOT.iterdir(), *(each for folder in FOLDERS
                                    for each in (ROOT / folder).rglob("*"))]:
        if path.is_file() and path.name != "CHANGELOG.md":  # it names the pages of its time
            yield path


def names(path):
    try:
        return set(PAGE.findall(path.read_text("utf-8")))
    except UnicodeDecodeError:
        return set()


def main():
    broken = [f"{path.relative_to(ROOT)}: there is no {name}"
              for path in sorted(sources()) for name in sorted(names(path))
              if not any((folder / name).exists() for folder in (ROOT, ROOT / "docs"))]
    print("\n".join(broken))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
