#!/usr/bin/env python3
"""Whether another version of the command still does what this one does.

    tools/frozen.py record HEADWISE FOLDER [--part options|resume|ranks] [--pairs N]
    tools/frozen.py compare FOLDER HEADWISE [--match REGEX] [--most N]

`record` runs thousands of small jobs and writes what each did to FOLDER: its exit code,
what it printed and the files it wrote. `compare` runs the same jobs with another
program, prints what differs and exits with 1 if anything does. Both take minutes.

There is a recording, instead of two programs that run side by side, for three reasons.
The old program writes the files that the new one resumes. One recording serves every
step of a long redesign. Which jobs there are depends on what the old program accepts.

    options  each option alone on several calls of its command, with wrong values and
             misspelt, and all pairs of options, --json among them. In Korean: each
             option that succeeds alone, and two jobs of each kind of message.
    resume   runs that were killed (checkpoints, journals, rows of one or two processes)
             and results that other commands read.
    ranks    two processes of one call: with equal options, and with one that differs.

Times, speeds, names of temporary files, values of digests and the scripts of a page may
differ. Do not rebuild the program while this runs.
"""

import argparse
import pathlib
import re
import sys
import tempfile
import time

from frozen import inputs, option_jobs, ranks, recording, report, resumed

PARTS = ("options", "resume", "ranks")
SEEDS = {"in": 2, "other": 3}


def recorded(recorder, given):
    """Runs the jobs of the parts; lines about each part."""
    shared = ranks.are_possible(recorder)
    parts = {
        "options": lambda: option_jobs.record(recorder, given.pairs),
        "resume": lambda: resumed.record(recorder, given.folder, shared),
        "ranks": lambda: ranks.record(recorder) if shared else [],
    }
    for part in given.part or PARTS:
        begin, before = time.monotonic(), len(recorder.results)
        lines = parts[part]()
        yield (f"{part}: {len(recorder.results) - before} jobs, "
               f"{time.monotonic() - begin:.0f} s")
        yield from lines
    if not shared:
        yield "no jobs of several processes: no mpirun, or a command without MPI"


def record(given):
    if given.folder.exists():
        sys.exit(f"{given.folder} exists: a recording is written to a new folder")
    for name, seed in SEEDS.items():
        inputs.write(given.folder / "inputs" / name, seed, given.program)
    with tempfile.TemporaryDirectory() as place:
        recorder = recording.Recorder(given.program, given.folder, place, given.jobs)
        for line in recorded(recorder, given):
            print(line, flush=True)
        check_inputs(recorder)
    recording.write(given.folder, recorder.results, recorder.texts)
    return 0


def check_inputs(workers):
    changed = workers.runner.changed_inputs()
    if changed:
        sys.exit(f"a job changed the inputs of all: {', '.join(changed)}")


def compare(given):
    begin = time.monotonic()
    before, texts = recording.read(given.folder)
    jobs = [job for job in before if re.search(given.match, job.name)]
    found = report.Report()
    with tempfile.TemporaryDirectory() as place:
        workers = recording.Workers(given.program, given.folder, place, given.jobs)
        workers.run(jobs)
        check_inputs(workers)
    for job in jobs:
        found.add(job, report.differences(before[job], workers.results[job], texts,
                                          workers.texts))
    for line in found.lines(given.most):
        print(line)
    print(f"{len(jobs)} jobs, {time.monotonic() - begin:.0f} s; {len(found.jobs)} jobs "
          f"differ, in {len(found.groups)} ways")
    return 1 if found.jobs else 0


def arguments():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--jobs", type=int, default=2, help="processes at a time")
    commands = options.add_subparsers(required=True)
    one = commands.add_parser("record")
    one.set_defaults(run=record)
    one.add_argument("program")
    one.add_argument("folder", type=pathlib.Path)
    one.add_argument("--part", action="append", choices=PARTS)
    one.add_argument("--pairs", type=int, default=10_000,
                     help="most pairs of a command, drawn by their names")
    two = commands.add_parser("compare")
    two.set_defaults(run=compare)
    two.add_argument("folder", type=pathlib.Path)
    two.add_argument("program")
    two.add_argument("--match", default="", help="only jobs whose name matches")
    two.add_argument("--most", type=int, default=20, help="differences that are printed")
    given = options.parse_args()
    given.program = str(pathlib.Path(given.program).resolve())
    given.folder = given.folder.resolve()
    return given


def main():
    given = arguments()
    try:
        return given.run(given)
    except PermissionError as error:  # also while another build replaces it
        sys.exit(f"cannot run {given.program}: {error}")


if __name__ == "__main__":
    sys.exit(main())
