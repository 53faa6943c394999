"""Breaks one rule of rules.py at a time in the reference, and prints how far the result
is from the right one: rule_visibility.py FOLDER [--only REGEX]

Models can test a rule if its difference is beyond the tolerance of compare.py, with
strong or with default weights."""
import argparse
import contextlib
import functools
import pathlib
import re
import sys
import unittest.mock

import numpy as np

import reference
from comparison import largest_difference, parts
from families import describe
from forms import FORMS
from rules import RULES
from sequences import decoder_sequences, sequences

KINDS = ("strong", "default")
SEEN = 1e-5
CLEAR = 10 * SEEN


def compute(model):
    return parts(reference.compute(model, sequences(), decoder_sequences()))


@functools.cache
def right(folder):
    return compute(reference.read(folder))


def visibility(rule, folder):
    """The largest difference that the broken rule makes."""
    patched = (unittest.mock.patch.object(*rule.patch) if rule.patch else
               contextlib.nullcontext())
    expected = right(folder)
    with patched, np.errstate(all="ignore"):
        config, tensors = reference.files(folder)
        model = describe(rule.config(config), tensors)
        rule.change(model)
        found = compute(model)
    return largest_difference(expected, found)[0]


def cases(only):
    for rule in RULES:
        for form in FORMS:
            if (re.fullmatch(rule.forms, form) and
                    re.search(only, f"{rule.name} {form}")):
                yield rule, form


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="",
                        help="a regular expression of rules and forms")
    options = parser.parse_args()
    missed = 0
    for rule, form in cases(options.only):
        end = f"-{rule.variation}" if rule.variation else ""
        folders = (options.folder / f"{form}-{kind}{end}" for kind in KINDS)
        found = [visibility(rule, folder) for folder in folders if folder.exists()]
        seen = max(found) > SEEN
        wrong = seen == bool(rule.invisible)
        missed += wrong
        verdict = ("seen" if max(found) > CLEAR else "weak" if seen else
                   "missed" if not rule.invisible else f"invisible: {rule.invisible}")
        print(f"{rule.name:46} {form:24}", *(f"{each:9.1e}" for each in found), verdict,
              flush=True)
    print(f"{missed} not as expected")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
