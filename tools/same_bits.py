#!/usr/bin/env python3
"""Whether two builds of the command write the same bytes.

    tools/same_bits.py BEFORE AFTER [--model DIR] [--calls 200]

BEFORE and AFTER are two programs `headwise`. Both run the same jobs, each in a
folder of its own: random calls of attention, forward and backward, with every
option; then training, statistics, pages and, with --model, what needs a folder
of a sentence model. Of a page its data are compared, of a picture everything
but its text. Prints one SHA-256 per job, over all files of it, and the files
that differ; exits 1 if one does.
"""

import argparse
import array
import hashlib
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

NPY_TYPES = {"f": "<f4", "q": "<i8", "B": "|b1"}
DATA_BLOCK = re.compile(rb'<script type="(?:application/json|text/plain)"'
                        rb' id="[^"]*">.*?</script>', re.S)
WORDS = re.compile(rb"<(text|title|desc)\b.*?</\1>", re.S)


def write_npy(path, code, shape, values):
    sizes = "".join(f"{extent}, " for extent in shape)
    header = (f"{{'descr': '{NPY_TYPES[code]}', 'fortran_order': False, "
              f"'shape': ({sizes}), }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = array.array(code, values)
    assert len(data) == math.prod(shape), path
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") +
                     header.encode() + data.tobytes())


class Calls:
    """Random calls of `headwise run`: their files and their arguments."""

    def __init__(self, folder, seed):
        self.folder = folder
        self.draw = random.Random(seed)

    def floats(self, name, *shape, spread=1.0):
        write_npy(self.folder / name, "f", shape,
                  [self.draw.gauss(0, spread) for _ in range(math.prod(shape))])
        return f"../inputs/{name}"

    def integers(self, name, shape, values):
        write_npy(self.folder / name, "q", shape, values)
        return f"../inputs/{name}"

    def booleans(self, name, *shape, share=0.8):
        write_npy(self.folder / name, "B", shape,
                  [self.draw.random() < share for _ in range(math.prod(shape))])
        return f"../inputs/{name}"

    def maybe(self, share):
        return self.draw.random() < share

    def call(self, n):
        draw = self.draw
        self.n = n
        B = draw.choice([1, 1, 2, 3])
        Hkv = draw.choice([1, 2, 3])
        Hq = Hkv * draw.choice([1, 1, 2, 4])
        Lq = draw.choice([1, 7, 48, 49, 97, 130, 260])
        Lkv = Lq if self.maybe(0.5) else draw.choice([1, 5, 128, 129, 300])
        D, Dv = draw.choice([(16, 16), (64, 64), (24, 40), (7, 3)])
        ragged = self.maybe(0.2)
        if ragged:
            arguments = self.ragged(B, Hq, Hkv, D, Dv)
        else:
            arguments = self.padded(B, Hq, Hkv, Lq, Lkv, D, Dv)
        additive = self.maybe(0.1)
        if additive:
            arguments += ["--scoring", "additive", "--score-weight",
                          self.floats(f"{n}w.npy", Hq, D)]
        elif self.maybe(0.2):
            arguments += ["--scale", "0.3"]
        if self.maybe(0.15):
            arguments += ["--t5-bias", self.floats(f"{n}t5.npy", 16, Hq),
                          "--t5-max-distance", "30"]
            arguments += ["--t5-bidirectional"] if self.maybe(0.5) else []
        for share, options in (
                (0.4, ["--causal"]), (0.2, ["--window", "5,40"]),
                (0.2, ["--softcap", "3"]), (0.15, ["--alibi", "auto"]),
                (0.2, ["--query-start", draw.choice(["3", "bottom-right"])]),
                (0.2, ["--dropout", "0.3", "--dropout-seed", str(n)]),
                (0.1, ["--empty-rows", "uniform"]),
                (0.3, ["--threads", "1"])):
            if self.maybe(share):
                arguments += options
        if self.maybe(0.4):
            form = draw.choice(["per-head", "mean", "after-dropout"])
            arguments += ["--attn-weights", "weights.npy",
                          "--attn-weights-form", form]
        if self.maybe(0.5):
            arguments += ["--lse", "lse.npy"]
        return arguments

    def tensors(self, query, key, value):
        n = self.n
        d_output = (*query[:-1], value[-1])
        return ["run", "--query", self.floats(f"{n}q.npy", *query),
                "--key", self.floats(f"{n}k.npy", *key),
                "--value", self.floats(f"{n}v.npy", *value),
                "--out", "out.npy",
                "--d-output", self.floats(f"{n}d.npy", *d_output),
                "--grad-dir", "gradients"]

    def padded(self, B, Hq, Hkv, Lq, Lkv, D, Dv):
        n, draw = self.n, self.draw
        arguments = self.tensors((B, Hq, Lq, D), (B, Hkv, Lkv, D),
                                 (B, Hkv, Lkv, Dv))
        if self.maybe(0.2):
            arguments += ["--key-lengths", self.integers(
                f"{n}l.npy", (B,), [draw.randint(0, Lkv) for _ in range(B)])]
        if self.maybe(0.1):
            arguments += ["--key-lengths" if "--key-lengths" not in arguments
                          else "--key-starts",
                          self.integers(f"{n}s.npy", (B,), [
                              draw.randint(0, Lkv) for _ in range(B)])]
        if self.maybe(0.15):
            arguments += ["--key-padding", self.booleans(f"{n}p.npy", B, Lkv)]
        if self.maybe(0.15):
            arguments += self.documents(B, Lq, Lkv)
        if self.maybe(0.2):
            axes, shape = draw.choice([("Lq,Lkv", (Lq, Lkv)),
                                       ("B,1,Lq,Lkv", (B, 1, Lq, Lkv)),
                                       ("H,Lq,Lkv", (Hq, Lq, Lkv))])
            arguments += ["--mask", self.booleans(f"{n}m.npy", *shape),
                          "--mask-axes", axes]
        if self.maybe(0.2):
            axes, shape = draw.choice([("Lq,Lkv", (Lq, Lkv)),
                                       ("H,1,Lkv", (Hq, 1, Lkv))])
            arguments += ["--bias", self.floats(f"{n}b.npy", *shape),
                          "--bias-axes", axes]
        return arguments

    def documents(self, B, Lq, Lkv):
        def ids(length):
            return [x for _ in range(B)
                    for x in sorted(self.draw.randint(0, 3)
                                    for _ in range(length))]
        options = ["--documents",
                   self.integers(f"{self.n}kd.npy", (B, Lkv), ids(Lkv))]
        if Lq != Lkv or self.maybe(0.5):
            options += ["--query-documents",
                        self.integers(f"{self.n}qd.npy", (B, Lq), ids(Lq))]
        return options

    def ragged(self, B, Hq, Hkv, D, Dv):
        def offsets():
            at = [0]
            for _ in range(B):
                at.append(at[-1] + self.draw.choice([0, 1, 20, 130]))
            return at
        queries, keys = offsets(), offsets()
        arguments = self.tensors((queries[-1], Hq, D), (keys[-1], Hkv, D),
                                 (keys[-1], Hkv, Dv))
        return arguments + [
            "--offsets", self.integers(f"{self.n}ko.npy", (B + 1,), keys),
            "--query-offsets", self.integers(f"{self.n}qo.npy", (B + 1,), queries)]


SENTENCES = [
    ("animals", "the cat sat on the mat and watched the birds"),
    ("animals", "a dog barked at the horse all night"),
    ("money", "the bank raised its rates again this month"),
    ("money", "she paid the invoice with a credit card"),
    ("animals", "wolves hunt in packs when winter is long"),
    ("money", "shares fell after the company reported a loss"),
    ("animals", "the owl sleeps during the day"),
    ("money", "he saved a tenth of his wages every week"),
]


def fixed_jobs(inputs, model):
    """name -> the commands of a job, run one after another."""
    draw = Calls(inputs, 77)
    query = draw.floats("stats_q.npy", 1, 4, 150, 16)
    key = draw.floats("stats_k.npy", 1, 4, 150, 16)
    jobs = {
        "stats": [["stats", "--query", query, "--key", key, "--causal",
                   "--json"]],
        "page": [["view", "--query", query, "--key", key, "--window", "20,3",
                  "--out", "page.html", "--svg", "heads.svg"]],
        "train recall": [["train", "--steps", "20", "--seed", "3", "--out",
                          "run"]],
        "train reverse": [["train", "--task", "reverse", "--scoring",
                           "additive", "--steps", "12", "--out", "run"],
                          ["train", "--task", "reverse", "--scoring",
                           "additive", "--steps", "20", "--resume", "run",
                           "--out", "run"]],
    }
    if model:
        lines = "".join(f"{label}\t{text}\n" for label, text in SENTENCES)
        (inputs / "data.tsv").write_text(lines)
        (inputs / "texts.txt").write_text(
            "".join(f"{text}\n" for _, text in SENTENCES))
        data = "../inputs/data.tsv"
        score = ["importance", "--data", data, "--out"]
        jobs |= {
            "encode": [["encode", "--model", model, "../inputs/texts.txt",
                        "--out", "embeddings.npy"]],
            "page of a model": [["view", "--model", model, SENTENCES[0][1],
                                 "--out", "page.html", "--svg", "heads.svg"]],
            "stats of a model": [["stats", "--model", model, SENTENCES[1][1],
                                  "--json"]],
            "train a classifier": [
                ["train", "--model", model, "--data", data, "--out", "topics"],
                [*score, "fisher.json", "--model", "topics", "--method",
                 "fisher"],
                ["prune", "--model", "topics", "--scores", "fisher.json",
                 "--remove", "10", "--out", "pruned"]],
            "train a whole model": [
                ["train", "--model", model, "--data", data, "--train", "all",
                 "--epochs", "1", "--batch", "4", "--out", "trained"]],
        }
        jobs |= {f"importance by {method}":
                 [[*score, "scores.json", "--svg", "scores.svg", "--model",
                   model, "--method", method, "--examples", "3"]]
                 for method in ("gradient", "entropy", "confidence", "random")}
    return jobs


def kept(path):
    """The bytes of a file that must stay the same."""
    content = path.read_bytes()
    if path.suffix == ".html":
        return b"".join(DATA_BLOCK.findall(content))
    if path.suffix == ".svg":
        return WORDS.sub(b"", content)
    return content


def outputs(program, folder, commands):
    """name -> SHA-256 of what the commands write into `folder`."""
    folder.mkdir()
    digests = {}
    for n, arguments in enumerate(commands):
        done = subprocess.run([program, *arguments], cwd=folder,
                              capture_output=True, check=False)
        digests[f"exit code of command {n}"] = str(done.returncode)
        if "--json" in arguments:
            digests[f"output of command {n}"] = hashlib.sha256(
                done.stdout).hexdigest()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digests[path.relative_to(folder).as_posix()] = hashlib.sha256(
                kept(path)).hexdigest()
    return digests


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("before")
    options.add_argument("after")
    options.add_argument("--model")
    options.add_argument("--calls", type=int, default=200)
    given = options.parse_args()
    programs = [str(pathlib.Path(program).resolve())
                for program in (given.before, given.after)]
    model = given.model and str(pathlib.Path(given.model).resolve())
    different = failed = 0
    with tempfile.TemporaryDirectory() as place:
        root = pathlib.Path(place)
        inputs = root / "inputs"
        inputs.mkdir()
        jobs = {f"call {n}": [Calls(inputs, n).call(n)]
                for n in range(given.calls)}
        jobs |= fixed_jobs(inputs, model)
        for n, (name, commands) in enumerate(jobs.items()):
            before, after = (outputs(program, root / f"{n}{side}", commands)
                             for program, side in zip(programs, "ba"))
            digest = hashlib.sha256(repr(sorted(before.items())).encode())
            print(f"{digest.hexdigest()}  {name}")
            failed += any(key.startswith("exit") and code != "0"
                          for key, code in before.items())
            for key in sorted(before.keys() | after.keys()):
                if before.get(key) != after.get(key):
                    different += 1
                    print(f"  {key}: {before.get(key)} before, "
                          f"{after.get(key)} after: {' '.join(commands[0])}")
    print(f"{len(jobs)} jobs, {failed} of them refused by both; "
          f"{different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
