"""Files that one version writes and another reads: runs that were killed, and results.

A killed run leaves a checkpoint, a journal or parts of its rows. It is also resumed from
a copy in which one number is changed, with the checksum that belongs to it: the result
shows that number, unless the run started over. With other options it must start over.
"""

import dataclasses

from frozen.base_calls import IN
from frozen.jobs import job
from frozen.states import States

PART = "resume"
TOPICS = ["--model", IN + "topics"]
CORPUS = ["--data", IN + "corpus.tsv"]
SOME = [*TOPICS, "--scores", IN + "scores.json", "--data", IN + "some.tsv"]
ALL = ["train", "--model", IN + "tiny", "--data", IN + "some.tsv", "--train", "all",
       "--epochs", "2", "--out", "made"]
RUN = ["run", "--query", IN + "q.npy", "--key", IN + "k.npy", "--value", IN + "v.npy",
       "--causal"]


@dataclasses.dataclass(frozen=True)
class Killed:
    name: str
    call: list
    saved: str  # what must be there before it is killed
    resume: tuple = ()  # added to resume it
    others: tuple = ()  # lists of options, each of a run that must not be resumed
    ranks: bool = True  # several processes can share it


KILLED = [
    Killed("statistics", ["stats", "--model", IN + "tiny", "--corpus", IN + "corpus.txt",
                          "--save-every", "0", "--json", "--out", "out.json"],
           "out.json.partial",
           others=(["--layers", "1"], ["--max-tokens", "4"], ["--model", "../other/tiny"],
                   ["--corpus", "../other/corpus.txt"])),
    Killed("importance", ["importance", *TOPICS, *CORPUS, "--save-every", "0", "--batch",
                          "400", "--out", "out.json"],
           "out.json.partial",
           others=(["--method", "fisher"], ["--batch", "500"], ["--examples", "7000"],
                   ["--max-tokens", "4"], ["--model", "../other/topics"],
                   ["--data", "../other/corpus.tsv"])),
    Killed("iterative importance",
           ["importance", "--model", IN + "tiny", "--data", IN + "corpus.txt", "--iterative",
            "0.5", "--save-every", "0", "--batch", "400", "--out", "out.json"],
           "out.json.partial", others=(["--seed", "3"], ["--iterative", "0.25"])),
    Killed("embeddings", ["encode", IN + "corpus.txt", "--model", IN + "tiny", "--save-every",
                          "0", "--out", "out.npy"],
           "out.npy.partial/rows-0",
           others=(["--arithmetic", "bf16"], ["--model", "../other/tiny"])),
    Killed("accuracy curve", ["prune", *SOME, "--random", "2", "--curve", "curve.svg"],
           "curve.svg.partial", ranks=False,
           others=(["--max-tokens", "4"], ["--seed", "1"], ["--drop-constant"],
                   ["--model", "../other/topics", "--scores", "../other/scores.json"],
                   ["--data", "../other/some.tsv"])),
    Killed("largest drop", ["prune", *SOME, "--max-drop", "10%", "--out", "made"],
           "made.partial", ranks=False, others=(["--max-tokens", "4"],)),
    Killed("recall", ["train", "--steps", "300", "--out", "made"], "made/checkpoint.npz",
           resume=("--resume", "made"), ranks=False),
    Killed("reverse", ["train", "--task", "reverse", "--scoring", "additive", "--steps",
                       "120", "--out", "made"],
           "made/checkpoint.npz", resume=("--resume", "made"), ranks=False),
    Killed("induction", ["train", "--task", "induction", "--steps", "80", "--out", "made"],
           "made/checkpoint.npz", resume=("--resume", "made"), ranks=False),
    Killed("sentences", ALL, "made/checkpoint.npz", resume=("--resume", "made")),
]

# name -> (calls that make a folder of files, calls that read them).
MADE = {
    "past": (
        [[*RUN, "--out", "out.npy", "--present-dir", "present"]],
        [[*RUN, "--out", "next.npy", "--past-key", "present/key.npy", "--past-value",
          "present/value.npy", "--present-dir", "next"]]),
    "kept weights": (
        [[*RUN, "--out", "out.npy", "--dropout", "0.3", "--keep-mask-out", "kept.npy",
          "--attn-weights", "weights.npy"]],
        [[*RUN, "--out", "next.npy", "--dropout", "0.3", "--keep-mask", "kept.npy"],
         ["stats", "--attn-weights", "weights.npy"]]),
    "trained task": (
        [["train", "--steps", "4", "--out", "made"]],
        [["explain", "--params", "made/params.npz", "--tokens", "made/tokens.txt"],
         ["train", "--steps", "6", "--resume", "made", "--out", "made"],
         ["train", "--steps", "6", "--resume", "made", "--out", "next", "--json"],
         ["train", "--steps", "3", "--resume", "made", "--out", "made"],
         ["train", "--steps", "6", "--out", "made"],
         ["train", "--steps", "6", "--out", "made", "--force"],
         *(["train", "--steps", "6", "--resume", "made", "--out", "made", *more]
           for more in (["--seed", "3"], ["--learning-rate", "0.01"], ["--task", "reverse"],
                        ["--scoring", "additive"], ["--arithmetic", "bf16"]))]),
    "trained encoder": (
        [[*ALL[:7], "--epochs", "1", "--out", "made"]],
        [["classify", "--model", "made", "lines.txt", "--all"],
         *([*ALL, "--resume", "made", *more]
           for more in ([], ["--seed", "3"], ["--learning-rate", "0.01"], ["--batch", "8"],
                        ["--arithmetic", "bf16"], ["--max-tokens", "4"], ["--epochs", "1"],
                        ["--data", "../other/some.tsv"], ["--test", IN + "data.tsv"],
                        ["--model", "../other/tiny"]))]),
    "trained induction": (
        [["train", "--task", "induction", "--steps", "3", "--out", "made"]],
        [["heads", "--find", "induction", "--model", "made", "--json"],
         ["ablate", "--model", "made", "--data", "made/texts.txt", "--each"],
         ["train", "--steps", "5", "--resume", "made", "--out", "made"]]),
    "pruned": (
        [["prune", *SOME[:4], "--remove", "2", "--out", "made"]],
        [["stats", "--model", "made", "heads matter"],
         ["classify", "--model", "made", "lines.txt"], ["inspect", "made"],
         ["encode", "--model", "made", "lines.txt", "--json"],
         ["prune", "--model", "made", "--heads", "0.0", "--out", "next"]]),
    "exported": (
        [["convert", IN + "tiny", "made.onnx", "--to", "onnx", "--layer", "1"],
         ["convert", IN + "tiny", "made.npz", "--to", "keras", "--attention-only",
          "--layer", "0"]],
        [["inspect", "made.onnx", "--json"], ["inspect", "made.npz"],
         ["convert", "made.npz", "back.safetensors", "--to", "bert"]]),
    "scores": (
        [["importance", *TOPICS, "--data", IN + "data.tsv", "--method", "ablation", "--out",
          "scores.json"]],
        [["prune", *TOPICS, "--scores", "scores.json", "--keep", "2", "--out", "made"],
         ["prune", *TOPICS, "--scores", "scores.json", "--data", IN + "data.tsv", "--curve",
          "curve.svg"]]),
}


def changed_call(call, options):
    """With other values of its options; new ones at its end."""
    call = list(call)
    rest = iter(options)
    for name in rest:
        if name in call:
            call[call.index(name) + 1] = next(rest)
        else:
            call += [name, *rest]
    return call


@dataclasses.dataclass(frozen=True)
class Check:
    """What two jobs of one version must have in common, or must not."""
    job: object
    other: object
    same: bool
    complaint: str

    def lines(self, results):
        # A resumed run may say how much was there; what must differ may be said alone.
        looked_at = ("file ",) if self.same else ("file ", "stdout")
        ends = [{name: digest for name, digest in results[each].items()
                 if name.startswith(looked_at) and "partial" not in name}
                for each in (self.job, self.other)]
        if (ends[0] == ends[1]) != self.same:
            yield f"  {self.job.name}: {self.complaint}"


def checks_of_killed(states, each, ranks):
    """With the jobs that resume the run, and those that must not."""
    start = states.killed(each, ranks)
    again = [*each.call, *each.resume]
    whole, resumed = job(PART, each.call), job(PART, again, start=start)
    yield Check(resumed, whole, True, "not the files of a whole run")
    changed = states.with_another_number(start, each.saved)
    if not changed:
        return
    seen = job(PART, again, start=changed)
    yield Check(seen, whole, False, "started over")
    for options in each.others if ranks == 1 else ():
        words = changed_call(again, options)
        yield Check(job(PART, words, start=changed), job(PART, words), True,
                    "resumed a run of other options")


def by_more_ranks(check):
    return dataclasses.replace(check.job, ranks=check.job.ranks * 3)


def record(recorder, folder, shared):
    """`shared`: also by several processes. Returns lines about what was recorded."""
    states = States(recorder, folder)
    checks, jobs = [], []
    for each in KILLED:
        for ranks in (1, 2) if each.ranks and shared else (1,):
            new = list(checks_of_killed(states, each, ranks))
            checks += new
            jobs += [by_more_ranks(new[0])] if each.ranks and shared else []
    for name, (calls, reading) in MADE.items():
        start = states.made(name, calls)
        jobs += [job(PART, words, start=start) for words in reading]
    recorder.add([*jobs, *(each for check in checks for each in (check.other, check.job))])
    recorder.add_new_messages(PART)
    count = len(list((folder / "states").iterdir()))
    return [f"  {count} folders of files that are read again",
            *(line for check in checks for line in check.lines(recorder.results))]
