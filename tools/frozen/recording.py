"""A recording: a folder with inputs, half-finished runs, jobs and what each job did."""

import collections
import concurrent.futures
import dataclasses
import gzip
import json
import re

from frozen.jobs import job, job_of
from frozen.run import Runner

LANGUAGES = ("en", "ko")
OF_A_MESSAGE = 2  # Korean particles depend on the name that they follow
NAMES = re.compile(r"--[\w-]+|-?\d[\w.+-]*|\S*/\S+")


def write(folder, results, texts):
    jobs = [{"job": dataclasses.asdict(each), "result": result}
            for each, result in results.items()]
    with gzip.open(folder / "jobs.json.gz", "wt", encoding="ascii", compresslevel=3) as file:
        json.dump({"jobs": jobs, "texts": texts}, file)


def read(folder):
    """(results, texts)"""
    with gzip.open(folder / "jobs.json.gz", "rt", encoding="ascii") as file:
        saved = json.load(file)
    return {job_of(each["job"]): each["result"] for each in saved["jobs"]}, saved["texts"]


def takes_minutes(each):
    """bench measures everything unless it is told what."""
    words = each.ranks[0]
    return words[:1] == ("bench",) and not any(
        word.startswith(("--workload", "--list", "--help", "-h")) for word in words)


class Workers:
    """Runs jobs of one program, a few at a time; keeps their results."""

    def __init__(self, program, recording, place, count):
        self.runner = Runner(program, recording, place)
        self.count = count
        self.results = {}
        self.texts = {}

    def run(self, jobs):
        new = [each for each in dict.fromkeys(jobs)
               if each not in self.results and not takes_minutes(each)]
        with concurrent.futures.ThreadPoolExecutor(self.count) as pool:
            for each, (result, texts) in zip(new, pool.map(self.runner.run, new)):
                self.results[each] = result
                self.texts |= texts


class Recorder(Workers):
    """Chooses jobs by the results of earlier ones."""

    def add(self, jobs, both=False):
        """`both`: in both languages."""
        languages = LANGUAGES if both else LANGUAGES[:1]
        self.run([each.in_language(language) for language in languages for each in jobs])

    def exit_of(self, each):
        """The exit code as text, or why there is none, such as a time limit."""
        return self.results[each]["exit code"]

    def text_of(self, each, stream="stdout"):
        return self.texts[self.results[each][stream]]

    def help_of(self, command):
        """Of all commands if `command` is empty."""
        each = job("options", [command, "--help-all"] if command else ["--help"])
        self.add([each], both=True)
        return self.text_of(each)

    def add_new_messages(self, part):
        """In Korean, jobs of each kind of message that few Korean jobs have shown yet."""
        mine = [each for each in self.results if each.part == part]
        shown = collections.Counter(self.message(each.in_language("en")) for each in mine
                                    if each.language == "ko")
        new = []
        for each in mine:
            if each.language == "en" and shown[self.message(each)] < OF_A_MESSAGE:
                shown[self.message(each)] += 1
                new.append(each.in_language("ko"))
        self.run(new)

    def message(self, each):
        """Without what differs between calls: options, numbers and files."""
        errors = NAMES.sub("X", self.text_of(each, "stderr"))
        return each.ranks[0][:1], self.exit_of(each), errors
