"""Jobs of options: each alone on every call, each with wrong values, all pairs.

A pair is added to the first call of the command that takes each of both alone, so as
many pairs as possible succeed. A recording keeps the list of jobs, so another program
runs the same ones.
"""

import hashlib
import itertools

from frozen.calls import calls_of, entry, together, wrong_values, written_otherwise
from frozen.jobs import job
from frozen.options import commands_of, options_of
from frozen.values import other_values, value_of

PART = "options"
# They print something else entirely, or apply to every message: no pairs.
ALONE = ("--help-all", "--lang")
TAKEN = ("0", "1")  # exit codes of a call that was understood
WITHOUT_COMMAND = [[], ["--help"], ["-h"], ["--help-all"], ["--version"], ["nope"], ["ru"],
                   ["--nope"], ["--lang"], ["--lang", "xx"], ["--lang", "ko"], ["help", "nope"],
                   ["--version", "run"], ["--threads", "1"], [""]]


def plain(words):
    return job(PART, words)


class CommandJobs:
    """The jobs of one command; `recorder` runs them and keeps what they do."""

    def __init__(self, recorder, command, most_pairs):
        self.recorder = recorder
        self.command = command
        self.most_pairs = most_pairs
        help_text = recorder.help_of(command)
        self.options = options_of(help_text)
        self.calls = calls_of(command)
        self.taking = {}  # option -> names of the calls that take it alone

    def record(self):
        self.recorder.add(self.helps() + self.incomplete(), both=True)
        self.record_alone()
        self.recorder.add(self.wrong())
        pairs = self.pairs()
        self.recorder.add(pairs)
        return len(pairs)

    def helps(self):
        return [plain([self.command, "--help-all"]), plain([self.command, "--help"]),
                plain([self.command, "-h"]), plain(["help", self.command]),
                plain(["help", self.command, "--all"])]

    def incomplete(self):
        """Calls without one of their options, or without a word."""
        shorter = [call.without(name) for call in self.calls.values()
                   for name, _ in call.options]
        jobs = [plain(call.argv()) for call in (*self.calls.values(), *shorter)]
        for call in self.calls.values():
            jobs += [plain(call.argv("more")), plain(call.argv("--nope"))]
            jobs += [plain([self.command, *call.words[:n], *call.argv()[1 + len(call.words):]])
                     for n in range(len(call.words))]
        return jobs

    def record_alone(self):
        added = [(name, option, call.with_options(*entry(self.command, option)))
                 for name, call in self.calls.items() for option in self.options]
        self.recorder.add([plain(call.argv()) for _, _, call in added])
        taken = [each for each in added
                 if self.recorder.exit_of(plain(each[2].argv())) in TAKEN]
        for name, option, _ in taken:
            self.taking.setdefault(option.name, []).append(name)
        self.recorder.add([plain(call.argv()) for _, _, call in taken], both=True)
        self.recorder.add([
            plain(call.with_options(*entry(self.command, option),
                                    (option.name, words)).argv())
            for call in self.calls.values() for option in self.options
            for words in other_values(option)])
        bare = [(self.first_call(option), option) for option in self.options]
        self.recorder.add([
            plain(call.with_options((option.name, value_of(self.command, option))).argv())
            for call, option in bare])

    def first_call(self, *options):
        """The first that takes each of the options, else one that has none of them."""
        common = [name for name in self.calls
                  if all(name in self.taking.get(each.name, []) for each in options)]
        free = [name for name, call in self.calls.items()
                if not any(call.has(each.name) for each in options)]
        both = [name for name in common if name in free]
        return self.calls[(both or free or common or list(self.calls))[0]]

    def wrong(self):
        jobs = []
        for option in self.options:
            call = self.first_call(option)
            needed = call.with_options(*entry(self.command, option))
            jobs += [needed.with_options((option.name, [value])).argv()
                     for value in wrong_values(option)]
            jobs += written_otherwise(needed, option, value_of(self.command, option))
        return [plain(words) for words in jobs]

    def pairs(self):
        options = [each for each in self.options if each.name not in ALONE]
        pairs = {}
        for a, b in itertools.combinations(options, 2):
            call = together(self.first_call(a, b), self.command, a, b)
            pairs.setdefault(plain(call.argv()), f"{a.name} {b.name}")
        drawn = sorted(pairs, key=lambda each: hashlib.sha256(
            f"{self.command} {pairs[each]}".encode()).digest())[:self.most_pairs]
        return [each for each in pairs if each in set(drawn)]


def record(recorder, most_pairs):
    """Returns lines about what was recorded."""
    recorder.add([plain(words) for words in WITHOUT_COMMAND], both=True)
    lines = []
    for command in commands_of(recorder.help_of("")):
        jobs = CommandJobs(recorder, command, most_pairs)
        pairs = jobs.record()
        refused = [each.name for each in jobs.options if each.name not in jobs.taking]
        lines.append(f"  {command}: {len(jobs.options)} options, {pairs} pairs" +
                     (f"; taken by no call: {', '.join(refused)}" if refused else ""))
    recorder.add_new_messages(PART)
    return lines
