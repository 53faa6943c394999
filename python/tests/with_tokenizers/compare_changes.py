"""Whether tokenizer.json files that were changed at random are accepted or refused
here as by the package `tokenizers`, with the same ids:

    compare_changes.py [COUNT [SEED [headwise | reference]]]

A file is accepted if it can be read and a short text can be encoded. The readers run
in processes of their own, because the reference may abort. A panic is a refusal.
Differences that are meant are in KNOWN, with the reason.
"""
import collections
import json
import pathlib
import random
import re
import select
import struct
import subprocess
import sys

import json_changes
from readers import Failure, Headwise, Reference, attempt

TEXT = "Hello world é 12 the"
SECONDS = 20  # of one file
# (the message here, that of the reference, the change, the reason), all but the reason
# regular expressions; a message is "accepted" if there is none.
KNOWN = [
    (" has .* twice", "accepted", "", "a key stands twice; the reference keeps the last"),
    ("", "", r"\.type: |\.type\.", "a type that the other keys do not fit; the reference "
     "guesses from the keys"),
    ("accepted", "invalid type: null|untagged enum", "", "null counts as a missing key"),
    ("expected true or false", "accepted", "post_processor", "a value of another kind; "
     "the reference takes the part for another one"),
    ("type_id is not an id", "accepted", "post_processor", "a value of another kind; the "
     "reference takes the part for another one"),
    ("model.vocab.*expected a whole number", "accepted", "twice", "a token stands twice "
     "in the vocabulary; the reference looks at the last"),
    ("accepted", "invalid (type|value): .*expected u32", r"added_tokens\.\*\.id",
     "the ids of added tokens are not used"),
    ("accepted", "floating point `-0.0`", "", "-0 and -0.0 are 0"),
    ("accepted", "map with a single key", "", "a pattern has another key"),
    ("accepted", "PanicException", "", "the reference panics"),
    ("model.merges holds", "accepted", "model", "merges of a model that has none"),
    ("expected a name in special_tokens", "accepted", "post_processor", "a template of "
     "pairs names no token; the reference panics where it is used"),
    ("accepted", "Missing vocab/merges", "", "a vocabulary without merges"),
]


def verdict(make, text):
    """{"ids"} or {"why"}"""
    reader = attempt(lambda: make(text))
    if isinstance(reader, Failure):
        return {"why": f"reading: {reader.why}"}
    encoded, = reader.encode([TEXT])
    if isinstance(encoded, Failure):
        return {"why": f"encoding: {encoded.why}"}
    return {"ids": list(encoded.ids)}


def serve(make):
    while size := sys.stdin.buffer.read(8):
        text = sys.stdin.buffer.read(struct.unpack("<Q", size)[0]).decode()
        print(json.dumps(verdict(make, text)), flush=True)


class Server:
    """A process with one of the readers, started again where it dies."""

    def __init__(self, name):
        self.name, self.process = name, None

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__, "--serve", self.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, text):
        if self.process is None:
            self.start()
        data = text.encode()
        try:
            self.process.stdin.write(struct.pack("<Q", len(data)) + data)
            self.process.stdin.flush()
            ready = select.select([self.process.stdout], [], [], SECONDS)[0]
            line = self.process.stdout.readline() if ready else b""
        except OSError:
            ready, line = [1], b""
        if line:
            return json.loads(line)
        self.stop()
        return {"why": "died" if ready else f"took more than {SECONDS} s"}

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None


def plain(why):
    """Without what differs from file to file."""
    return re.sub(r"line \d+ column \d+|`[^`]*`|\"[^\"]*\"|'[^']*'|-?\d+(\.\d+)?", "_",
                  why)[:100]


def compare(texts, count, seed, other="headwise"):
    """(counts of agreement, known differences, unknown ones by kind)"""
    rng = random.Random(f"changes {seed}")
    chosen = rng.sample(sorted(texts), min(40, len(texts)))
    parts = [part for name in chosen
             for part in json_changes.parts_of(json_changes.parse(texts[name]))]
    there, here = Server("reference"), Server(other)
    totals, known = collections.Counter(), collections.Counter()
    unknown = collections.defaultdict(list)
    for _ in range(count):
        name = rng.choice(chosen)
        told, text = json_changes.changed(rng, texts[name], parts)
        one, two = there.ask(text), here.ask(text)
        for _ in range(8):  # added tokens that are equal when normalized
            if {"ids"} == one.keys() & two.keys() and one != two:
                one = there.ask(text)
        totals["ids" in one, "ids" in two] += 1
        if one.get("ids") == two.get("ids") and two.get("why") != "died":
            continue
        whys = [each.get("why", "accepted") for each in (two, one)]
        if whys == ["accepted", "accepted"]:
            whys[0] = "other ids"
        reason = next((reason for *patterns, reason in KNOWN
                       if all(map(re.search, patterns, [*whys, told]))), None)
        if reason:
            known[reason] += 1
        else:
            unknown[tuple(map(plain, whys))].append(
                (name, told, one, two, text))
    there.stop()
    here.stop()
    return totals, known, unknown


def main(count="10000", seed="1", other="headwise"):
    from small_tokenizers import small_tokenizers
    totals, known, unknown = compare(small_tokenizers(), int(count), seed, other)
    print(f"{count} changed files: {totals[True, True]} accepted by both, "
          f"{totals[False, False]} by none, {totals[True, False]} by the reference "
          f"only, {totals[False, True]} here only")
    for reason, times in known.most_common():
        print(f"  {times:5} known: {reason}")
    for (here, there), cases in sorted(unknown.items(), key=lambda kind: -len(kind[1])):
        print(f"  {len(cases):5} UNKNOWN: here {here}\n        there {there}")
        for name, told, one, two, _ in cases[:3]:
            print(f"          {name}: {told}\n            {str(one)[:200]}\n"
                  f"            {str(two)[:200]}")
    keep = pathlib.Path("build/changed-tokenizers")
    for n, cases in enumerate(unknown.values()):
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{n}.json").write_text(min((case[4] for case in cases), key=len), "utf-8")
    return 1 if unknown else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve({"reference": Reference, "headwise": Headwise}[sys.argv[2]])
    else:
        sys.exit(main(*sys.argv[1:]))
