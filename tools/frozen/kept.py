"""What is kept of a job: all that must not change from version to version."""

import hashlib
import re

from same_bits import DATA_BLOCK

MOST_TEXT = 1 << 14  # of a text that a report could quote
TEXT_FILES = {".json", ".svg", ".tsv", ".csv", ".txt", ".html", ".partial"}

# What differs from run to run: (command or all, what, what is put in its place).
CHANGES = [
    ("", r"headwise-[A-Za-z0-9]{6}\b", "headwise-NAME"),
    ("", r"\.headwise[-.\w]*", ".headwise-NAME"),
    ("bench", r"(?m)^(\w+)(?: +[\d.]+%?){4,}$", r"\1 N"),
    ("bench", r'"(seconds_\w+|\w*gflops|\w+_fraction|\w+_gb_s)":[\d.e+-]+', r'"\1":N'),
    ("encode", r"[\d.e+-]+( s: |초: [^\d]*)[\d.e+-]+", r"N\1N"),
    ("prune", r"(?m)^(attention|whole model|어텐션|모델 전체)  *(?=\d|이전).*$", r"\1 N"),
    ("prune", r'"(before_s|after_s|ratio)":[\d.e+-]+', r'"\1":N'),
    ("train", r"\d+\.\d( s|초)\b", r"N\1"),
    ("train", r'"seconds":[\d.e+-]+', '"seconds":N'),
]
CHANGES = [(command, re.compile(what), place) for command, what, place in CHANGES]
# With a letter: a number can have 16 digits after its point, too.
DIGEST = re.compile(r"(?<![\w.])(?=\d*[a-f])(?:[0-9a-f]{16}|[0-9a-f]{64})\b")
# Ranks differ, but do not compare what differs: it is chance which one fails, and where.
DISAGREED = re.compile(rb"rank \d+ sent \d+ bytes, expected \d+")
BY_CHANCE = {"exit code": "left to chance: ranks differ, but do not compare what differs"}


def numbered_digests(text):
    """Digests may change their values, but not from equal to different."""
    seen = {}
    return DIGEST.sub(lambda found: f"digest{seen.setdefault(found[0], len(seen))}", text)


def settled(text, command=""):
    for of, what, place in CHANGES:
        if of in ("", command):
            text = what.sub(place, text)
    return text


def digest_of(data):
    return hashlib.sha256(data).hexdigest()[:20]


def said_by_ranks(data):
    """Each line once and sorted: all ranks print it, or one of them does for all."""
    return b"".join(sorted({line for line in data.splitlines(True)
                            if line.startswith(b"headwise: ")}))


def content(path):
    """Of a page only its data: its scripts change without the command."""
    data = path.read_bytes()
    return b"".join(DATA_BLOCK.findall(data)) if path.suffix == ".html" else data


class Kept:
    """`result`: a digest of each output and file. `texts`: digest -> text."""

    def __init__(self, job, folder):
        self.command = job.ranks[0][0] if job.ranks[0] else ""
        self.folder = folder
        self.result = {}
        self.texts = {}

    def add_text(self, name, data):
        text = data.decode(errors="surrogateescape").replace(str(self.folder), "FOLDER")
        text = numbered_digests(settled(text, self.command))
        digest = digest_of(text.encode(errors="surrogateescape"))
        self.result[name] = digest
        self.texts[digest] = text[:MOST_TEXT]

    def add_files(self):
        for path in sorted(self.folder.rglob("*")):
            name = "file " + settled(str(path.relative_to(self.folder)))
            if path.is_dir():
                self.result[name] = "a folder"
            elif path.suffix in TEXT_FILES:
                self.add_text(name, content(path))
            else:
                self.result[name] = digest_of(content(path))


def kept(job, folder, code, output, errors):
    """(result, texts)"""
    if job.part == "ranks" and (code.startswith("none") or DISAGREED.search(errors)):
        return BY_CHANCE, {}
    all_of_it = Kept(job, folder)
    all_of_it.result["exit code"] = code
    all_of_it.add_text("stdout", output)
    all_of_it.add_text("stderr", errors if len(job.ranks) == 1 else said_by_ranks(errors))
    all_of_it.add_files()
    return all_of_it.result, all_of_it.texts
