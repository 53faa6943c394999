#!/usr/bin/env python3
"""Links of the documentation lead somewhere: each file exists, and each #anchor is a
heading of its page. So does the name of a page in a source, such as docs/arithmetic.md.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["apps", "bench", "cmake", "docs", "fuzz", "include", "python", "script", "src", "tests",
           "tools"]
NOT_OURS = {"build", "third_party"}
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED_PAGE = re.compile(r"\b(?:docs|bench)/[\w/.-]*\.md\b")


def files():
    for path in ROOT.iterdir():
        if path.is_file():
            yield path
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and not NOT_OURS & set(path.relative_to(ROOT).parts):
                yield path


def prose(text):
    """A page without its blocks of code, whose "# ..." means something else."""
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def anchors(page):
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", prose(page.read_text("utf-8")), re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.strip())
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while (each := f"{anchor}-{number}" if number else anchor) in found:
            number += 1
        found.add(each)
    return found


def broken_links(page):
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page.read_text("utf-8")))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists():
            yield f"{link}: there is no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{link}: there is no such heading"


def broken_names(path):
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        return
    for name in set(NAMED_PAGE.findall(text)):
        if not any((base / name).exists() for base in (ROOT, ROOT / "docs", path.parent)):
            yield f"{name}: there is no such page"


def main():
    broken = []
    for path in sorted(files()):
        if path.suffix == ".md":
            broken += [(path, each) for each in broken_links(path)]
        if path.name != "CHANGELOG.md":  # it names the pages of its time
            broken += [(path, each) for each in broken_names(path)]
    for path, each in broken:
        print(f"{path.relative_to(ROOT)}: {each}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
