#!/usr/bin/env python3
"""The accuracy of classifiers in float32 and in bfloat16: script/bench --accuracy
calls it.

    accuracy.py --headwise PROGRAM --model DIR --articles DIR [--out DIR]

Of the articles in DIR (tools/labelled_articles.py) train.tsv trains three classifiers
on the model: a linear one, one with all parameters trained, and the linear one
without 40% of the heads. `headwise classify` gives the labels of test.tsv twice. What
it writes, in --out: DATE-CPU-COMMIT-accuracy.json; it prints the table.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from harness import conditions, parsed, parser, results_file, rounded

TOKENS = ["--max-tokens", "64"]
ARITHMETICS = ["exact", "bf16"]


def classifiers(options, scratch):
    """{name: the folder of its model}; trains and prunes in float32."""
    def headwise(*arguments):
        subprocess.run([options.headwise, *arguments, *TOKENS], check=True,
                       stdout=sys.stderr)

    names = {name: scratch / name for name in ("linear", "trained", "pruned")}
    data = options.articles / "train.tsv"
    for name, form in (("linear", "probe"), ("trained", "all")):
        print(f"{name}: training", file=sys.stderr)
        headwise("train", "--model", options.model, "--data", data, "--train",
                 form, "--out", names[name])
    scores = scratch / "scores.json"
    headwise("importance", "--model", names["linear"], "--data", data,
             "--examples", "160", "--out", scores)
    headwise("prune", "--model", names["linear"], "--scores", scores, "--remove",
             "40%", "--out", names["pruned"])
    return names


def labels(options, model, texts, arithmetic):
    said = subprocess.run(
        [options.headwise, "classify", "--model", model, texts, "--arithmetic",
         arithmetic, *TOKENS], check=True, stdout=subprocess.PIPE, text=True)
    return [line.split("\t")[0] for line in said.stdout.splitlines()]


def accuracy(found, expected):
    """In percent."""
    right = sum(one == other for one, other in zip(found, expected, strict=True))
    return 100 * right / len(expected)


def measured(name, expected, found):
    """`found`: {arithmetic: labels}"""
    result = {"classifier": name, "texts": len(expected)}
    result.update({each: accuracy(found[each], expected) for each in found})
    result["points"] = result["bf16"] - result["exact"]
    result["changed_labels"] = sum(
        one != other for one, other in zip(found["exact"], found["bf16"]))
    return result


def table(results):
    lines = ["| classifier | float32 | bf16 | difference in points | changed labels |",
             "| --- | ---: | ---: | ---: | ---: |"]
    return lines + [
        f"| {one['classifier']} | {one['exact']:.2f}% | {one['bf16']:.2f}% "
        f"| {one['points']:+.2f} | {one['changed_labels']} of {one['texts']} |"
        for one in results]


def main(arguments):
    made = parser(__doc__.splitlines()[0])
    made.add_argument("--model", type=pathlib.Path, required=True)
    made.add_argument("--articles", type=pathlib.Path, required=True)
    options = parsed(made, arguments)
    told = conditions(options)
    lines = (options.articles / "test.tsv").read_text(
        encoding="utf-8").splitlines()
    expected, texts = zip(*(line.split("\t", 1) for line in lines))
    results = []
    with tempfile.TemporaryDirectory(prefix="headwise-bench-") as scratch:
        scratch = pathlib.Path(scratch)
        file = scratch / "texts.txt"
        file.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
        for name, model in classifiers(options, scratch).items():
            results.append(rounded(measured(name, expected, {
                each: labels(options, model, file, each)
                for each in ARITHMETICS})))
    out = results_file(options.out, told, "accuracy")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"conditions": told, "results": results}, indent=1)
                   + "\n", encoding="utf-8")
    print("\n".join(table(results)))
    print(out)


if __name__ == "__main__":
    main(sys.argv[1:])
