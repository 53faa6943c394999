"""Runs a job in a folder of its own."""

import os
import pathlib
import shutil
import signal
import subprocess
import threading

from mpirun_job import ENVIRONMENT as MPI
from mpirun_job import members

from frozen.kept import kept, said_by_ranks

SECONDS = 100  # more is a hang
SECONDS_OF_RANKS = 15  # ranks that differ may wait for each other until their deadline
TRIES = 2
INPUT = b"heads matter\nso heads !\n"
LOCALES = {"en": "C.UTF-8", "ko": "ko_KR.UTF-8"}


class Runner:
    """Runs jobs of one program, whose inputs are copied from a recording."""

    def __init__(self, program, recording, place):
        self.program = program
        self.recording = recording
        self.place = pathlib.Path(place)
        self.count = 0
        self.lock = threading.Lock()
        for name in ("in", "other"):
            shutil.copytree(recording / "inputs" / name, self.place / name)
        opener = self.place / "bin" / "xdg-open"  # of view --open
        opener.parent.mkdir()
        opener.write_text("#!/bin/sh\nexit 0\n")
        opener.chmod(0o755)

    def changed_inputs(self):
        """Files that a job wrote where all jobs read."""
        inputs = self.recording / "inputs"
        names = [path.relative_to(inputs) for path in inputs.rglob("*") if path.is_file()]
        return [str(name) for name in names
                if (inputs / name).read_bytes() != (self.place / name).read_bytes()]

    def new_folder(self, name):
        with self.lock:
            self.count += 1
            return self.place / f"{name}{self.count}"

    def folder(self, job):
        folder = self.new_folder("job")
        if job.start:
            shutil.copytree(self.recording / job.start, folder)
        else:
            folder.mkdir()
        (folder / "lines.txt").write_bytes(INPUT)
        return folder

    def environment(self, job):
        own = {"PATH": str(self.place / "bin"), "HOME": str(self.place), "TMPDIR": ".",
               "DISPLAY": ":0", "LC_ALL": LOCALES[job.language]}
        if len(job.ranks) > 1:  # two mpirun must not tidy up the same folder
            temporary = self.new_folder("mpi")
            temporary.mkdir()
            own |= {**MPI, "PATH": os.environ["PATH"], "TMPDIR": str(temporary)}
        return own

    def words(self, job):
        if len(job.ranks) == 1:
            return [self.program, *job.ranks[0]]
        parts = [["-n", "1", self.program, *words] for words in job.ranks]
        return ["mpirun", *parts[0], *(word for part in parts[1:] for word in (":", *part))]

    def run(self, job):
        """(result, texts): the result names texts by their digests."""
        for _ in range(TRIES if len(job.ranks) > 1 else 1):
            folder = self.folder(job)
            code, output, errors = self.ended(job, folder)
            result = kept(job, folder, code, output, errors)
            shutil.rmtree(folder, ignore_errors=True)
            # On a busy machine mpirun itself can fail to begin, or to end.
            if said_by_ranks(errors) or code == "0":
                break
        return result

    def ended(self, job, folder):
        """(exit code or what is said in its place, output, errors)"""
        environment = self.environment(job)
        alone = len(job.ranks) == 1  # mpirun may end by SIGPIPE before it reads its input
        with subprocess.Popen(
                self.words(job), cwd=folder, env=environment,
                stdin=subprocess.PIPE if alone else subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True) as process:
            seconds = SECONDS_OF_RANKS if job.part == "ranks" else SECONDS
            try:
                streams = process.communicate(INPUT if alone else None, timeout=seconds)
            except subprocess.TimeoutExpired:
                for member in members(process.pid):
                    os.kill(member, signal.SIGKILL)
                return f"none after {seconds} s", *process.communicate()
        return str(process.returncode), *streams
