"""Two ranks of one call: with equal options, with an option that only one rank has, and
with two values of an option. Ranks that would compute different results must be refused.
"""

import dataclasses
import shutil

from frozen.calls import Call, calls_of, entry
from frozen.jobs import Job, job
from frozen.kept import BY_CHANCE
from frozen.options import options_of
from frozen.values import other_values, value_of

PART = "ranks"
# Options of output and of processes: ranks may differ in them.
LEFT_OUT = {"--help", "--help-all", "--lang", "--threads", "--deadline", "--save-every",
            "--parallel", "--out", "--json", "--csv", "--force"}
CALLS = {
    "run": ["operation", "layer", "cache", "gradients", "ragged", "layer gradients", "past"],
    "stats": ["corpus"], "encode": ["file"], "importance": ["labels"],
    "train": ["all", "probe"]}
SCHEMES = ["context", "heads"]
TAKEN = "0"


def together(*ranks):
    return Job(PART, tuple(map(tuple, ranks)))


def other_value(option, words):
    """Another plausible value: other numbers, or the same file with other numbers."""
    if not words:
        return None
    if "../in/" in words[0]:
        return [word.replace("../in/", "../other/") for word in words]
    for other in other_values(option):
        if other != words:
            return other
    try:
        return [str(2 * float(words[0]) if "." in words[0] else int(words[0]) + 1)]
    except ValueError:
        return None


def are_possible(recorder):
    """Whether there is mpirun, and a command that was built with MPI."""
    if not shutil.which("mpirun"):
        return False
    words = calls_of("run")["operation"].with_options(("--parallel", ["context"])).argv()
    each = together(words, words)
    recorder.run([each])
    return recorder.results.pop(each)["exit code"] == TAKEN


@dataclasses.dataclass(frozen=True)
class Pair:
    """The calls of two ranks, and the option in which they differ, or ""."""
    option: str
    first: Call
    second: Call

    def job(self):
        return together(self.first.argv(), self.second.argv())

    def alone(self):
        return [job(PART, call.argv()) for call in (self.first, self.second)]


class CommandRanks:
    def __init__(self, recorder, command):
        self.recorder = recorder
        self.command = command
        self.options = [each for each in options_of(recorder.help_of(command))
                        if each.name not in LEFT_OUT]
        calls = [call for name, call in calls_of(command).items() if name in CALLS[command]]
        self.calls = calls if command != "run" else [
            call.with_options(("--parallel", [scheme])) for call in calls for scheme in SCHEMES]

    def given(self, call, option):
        return call.with_options(*entry(self.command, option))

    def placed(self):
        """(call, option): each option with the first call that takes it."""
        left, found = list(self.options), []
        for call in self.calls:
            jobs = {option: job(PART, self.given(call, option).argv()) for option in left
                    if not call.has(option.name)}
            self.recorder.add(jobs.values())
            found += [(call, option) for option, each in jobs.items()
                      if self.recorder.exit_of(each) == TAKEN]
            left = [option for option in left if (call, option) not in found]
        return found

    def pairs(self):
        yield from (Pair("", call, call) for call in self.calls)
        own = {name: (call, words) for call in self.calls[::-1]
               for name, words in call.options}
        for option in self.options:
            if option.name in own:
                call, words = own[option.name]
                yield from self.other(option, call, list(words))
        for call, option in self.placed():
            given = self.given(call, option)
            bare = given.without(option.name)
            yield Pair("", given, given)
            yield Pair(option.name, bare, given)
            yield from self.other(option, given, value_of(self.command, option))

    @staticmethod
    def other(option, call, words):
        other = other_value(option, words)
        if other:
            yield Pair(option.name, call, call.with_options((option.name, other)))

    def record(self):
        """Names of options: those whose value changes a result but that ranks may differ
        in, and those in which a difference is found by chance."""
        pairs = list(self.pairs())
        self.recorder.add([each for pair in pairs for each in pair.alone()])
        # A process that refuses its own options ends before it joins the job.
        pairs = [pair for pair in pairs if all(self.recorder.exit_of(each) == TAKEN
                                               for each in pair.alone())]
        self.recorder.add([pair.job() for pair in pairs])
        taken = self.ending(pairs, TAKEN)
        return ([pair for pair in taken if self.results_differ(pair)],
                self.ending(pairs, BY_CHANCE["exit code"]))

    def ending(self, pairs, code):
        return [pair for pair in pairs if self.recorder.exit_of(pair.job()) == code]

    def results_differ(self, pair):
        """Whether one process prints or writes something else with the other call."""
        first, second = (self.recorder.results[each] for each in pair.alone())
        return any(first[name] != second.get(name, first[name]) for name in first)


def record(recorder):
    """Returns lines about what was recorded."""
    lines = []
    for command in CALLS:
        taken, by_chance = CommandRanks(recorder, command).record()
        for pairs, what in ((taken, "accepted, though results differ"),
                            (by_chance, "refusal is left to chance")):
            names = list(dict.fromkeys(pair.option for pair in pairs if pair.option))
            lines += [f"  {command}: {what}: {', '.join(names)}"] if names else []
    return lines
