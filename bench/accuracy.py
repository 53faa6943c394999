#!/usr/bin/env python3
"""The accuracy of classifiers in float32 and in bfloat16: script/bench --accuracy
calls it.

    accuracy.py --headwise PROGRAM --model DIR --articles DIR [--out DIR]
                [--seeds N] [--examples N] [--tests N] [--epochs N]

train.tsv of the articles in DIR (tools/labelled_articles.py) trains classifiers on the
model; `headwise classify` labels test.tsv with them. Two comparisons:

  run      a linear classifier and one with all parameters trained, both in float32,
           with all heads and without 40% of them: each labels in float32 and in bf16
  trained  for each seed two classifiers with all parameters trained, one in float32,
           which labels in float32, and one in bf16, which labels in both

What it writes, in --out: DATE-CPU-COMMIT-accuracy.json; it prints both tables.
--examples, --tests and --epochs make a short run.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from harness import conditions, parsed, parser, results_file, rounded

TOKENS = ["--max-tokens", "64"]
ARITHMETICS = ["exact", "bf16"]
# How the two classifiers of a seed are named: trained in, run in.
TRAINED = {"exact": ("exact", "exact"), "bf16": ("bf16", "bf16"),
           "bf16_run_exact": ("bf16", "exact")}


class Classifiers:
    """Trains classifiers on the first articles, and labels the others with them."""

    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.data = scratch / "train.tsv"
        examples = self.lines("train.tsv", options.examples)
        self.examples = len(examples)
        self.data.write_text("".join(examples), encoding="utf-8")
        self.expected, texts = zip(*(
            line.split("\t", 1) for line in self.lines("test.tsv", options.tests)))
        self.texts = scratch / "texts.txt"
        self.texts.write_text("".join(texts), encoding="utf-8")

    def lines(self, name, count):
        text = (self.options.articles / name).read_text(encoding="utf-8")
        return text.splitlines(keepends=True)[:count]

    def headwise(self, *arguments):
        print("headwise", *arguments, file=sys.stderr)
        return subprocess.run(
            [self.options.headwise, *map(str, arguments), *TOKENS], check=True,
            stdout=subprocess.PIPE, text=True).stdout

    def linear(self):
        out = self.scratch / "linear"
        self.headwise("train", "--model", self.options.model, "--data", self.data,
                      "--out", out)
        return out

    def trained(self, seed, arithmetic):
        out = self.scratch / f"trained_{seed}_{arithmetic}"
        if not out.exists():
            self.headwise("train", "--model", self.options.model, "--data", self.data,
                          "--train", "all", "--epochs", self.options.epochs, "--seed",
                          seed, "--arithmetic", arithmetic, "--out", out)
        return out

    def pruned(self, model):
        scores = self.scratch / f"{model.name}.json"
        out = self.scratch / f"{model.name}_pruned"
        self.headwise("importance", "--model", model, "--data", self.data,
                      "--examples", min(160, self.examples), "--out", scores)
        self.headwise("prune", "--model", model, "--scores", scores, "--remove", "40%",
                      "--out", out)
        return out

    def labels(self, model, arithmetic):
        said = self.headwise("classify", "--model", model, self.texts, "--arithmetic",
                             arithmetic)
        return [line.split("\t")[0] for line in said.splitlines()]


def accuracy(found, expected):
    """In percent."""
    right = sum(one == other for one, other in zip(found, expected, strict=True))
    return 100 * right / len(expected)


def compared(expected, found):
    """`found`: {form: labels}, float32 first, then the one it is compared with."""
    result = {"texts": len(expected)}
    result.update({form: accuracy(labels, expected)
                   for form, labels in found.items()})
    base, other = list(found)[:2]
    result["points"] = result[other] - result[base]
    result["changed_labels"] = sum(
        one != two for one, two in zip(found[base], found[other], strict=True))
    return result


def run_in_both(classifiers):
    linear, trained = classifiers.linear(), classifiers.trained(0, "exact")
    for name, model in (("linear", linear), ("trained", trained),
                        ("linear, pruned", classifiers.pruned(linear)),
                        ("trained, pruned", classifiers.pruned(trained))):
        yield {"classifier": name, **compared(classifiers.expected, {
            each: classifiers.labels(model, each) for each in ARITHMETICS})}


def trained_in_both(classifiers, seeds):
    for seed in range(seeds):
        yield {"seed": seed, **compared(classifiers.expected, {
            form: classifiers.labels(classifiers.trained(seed, trained), run)
            for form, (trained, run) in TRAINED.items()})}


def run_table(results):
    lines = ["| classifier | float32 | bf16 | difference in points | changed labels |",
             "| --- | ---: | ---: | ---: | ---: |"]
    return lines + [
        f"| {one['classifier']} | {one['exact']:.2f}% | {one['bf16']:.2f}% "
        f"| {one['points']:+.2f} | {one['changed_labels']} of {one['texts']} |"
        for one in results]


def trained_table(results):
    lines = ["| seed | trained in float32 | trained in bf16 | difference in points "
             "| changed labels | trained in bf16, run in float32 |",
             "| ---: | ---: | ---: | ---: | ---: | ---: |"]
    lines += [
        f"| {one['seed']} | {one['exact']:.2f}% | {one['bf16']:.2f}% "
        f"| {one['points']:+.2f} | {one['changed_labels']} of {one['texts']} "
        f"| {one['bf16_run_exact']:.2f}% |" for one in results]
    mean = {form: statistics.fmean(one[form] for one in results)
            for form in (*TRAINED, "points")}
    return lines + [f"| mean | {mean['exact']:.2f}% | {mean['bf16']:.2f}% "
                    f"| {mean['points']:+.2f} | | {mean['bf16_run_exact']:.2f}% |"]


def arguments_of(arguments):
    made = parser(__doc__.splitlines()[0])
    made.add_argument("--model", type=pathlib.Path, required=True)
    made.add_argument("--articles", type=pathlib.Path, required=True)
    made.add_argument("--seeds", type=int, default=3)
    made.add_argument("--examples", type=int, help="of train.tsv; default: all")
    made.add_argument("--tests", type=int, help="of test.tsv; default: all")
    made.add_argument("--epochs", type=int, default=3)
    return parsed(made, arguments)


def main(arguments):
    options = arguments_of(arguments)
    told = conditions(options)
    with tempfile.TemporaryDirectory(prefix="headwise-bench-") as scratch:
        classifiers = Classifiers(options, pathlib.Path(scratch))
        told["examples"] = classifiers.examples
        told["epochs"] = options.epochs
        run = rounded(list(run_in_both(classifiers)))
        trained = rounded(list(trained_in_both(classifiers, options.seeds)))
    out = results_file(options.out, told, "accuracy")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"conditions": told, "run": run, "trained": trained},
                              indent=1) + "\n", encoding="utf-8")
    print("\n".join([*run_table(run), "", *trained_table(trained)]))
    print(out)


if __name__ == "__main__":
    main(sys.argv[1:])
