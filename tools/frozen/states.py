"""Folders that jobs begin with a copy of: runs that were killed, and results."""

import dataclasses
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from mpirun_job import members

from frozen.inputs import made_by
from frozen.jobs import job

TRIES = 5
CHECKSUM_BYTES = 64 + 2  # between two line ends


class States:
    """Makes the folders that jobs begin with a copy of."""

    def __init__(self, recorder, folder):
        self.recorder = recorder
        self.runner = recorder.runner
        self.folder = folder
        (folder / "states").mkdir()

    def made(self, name, calls):
        work = self.runner.place / "state"
        work.mkdir()
        made_by(self.runner.program, work, calls,
                env=self.runner.environment(job("resume", calls[0])))
        return self.moved(work, name)

    def moved(self, work, name):
        start = f"states/{name.replace(' ', '-')}"
        shutil.move(work, self.folder / start)
        return start

    def killed(self, each, ranks):
        """The folder of a run that was killed once it had saved something."""
        work = self.runner.place / "state"
        of = job("resume", each.call)
        of = dataclasses.replace(of, ranks=of.ranks * ranks)
        for _ in range(TRIES):
            work.mkdir()
            if self.kill(self.runner.words(of), self.runner.environment(of), work,
                         work / each.saved):
                return self.moved(work, each.name + (f" by {ranks}" if ranks > 1 else ""))
            shutil.rmtree(work)
        sys.exit(f"{each.name}: it always ends before it can be killed")

    @staticmethod
    def kill(words, environment, work, saved):
        """Whether it was killed in time. It runs under nice, or it would end too soon."""
        with subprocess.Popen(["/usr/bin/nice", "-n", "10", *words], cwd=work,
                              env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as process:
            while process.poll() is None and not saved.exists():
                time.sleep(0.001)
            in_time = process.poll() is None
            for member in members(process.pid):
                os.kill(member, signal.SIGKILL)
        return in_time

    def with_another_number(self, start, saved):
        """A copy with one number changed; "" for a checkpoint, which --resume names."""
        path = self.folder / start / saved
        if saved.endswith("checkpoint.npz"):
            return ""
        copy = f"{start}-changed"
        shutil.copytree(self.folder / start, self.folder / copy)
        changed = changed_rows if path.name.startswith("rows-") else changed_journal
        path = self.folder / copy / saved
        path.write_bytes(changed(path.read_bytes()))
        return copy


def changed_journal(data):
    """JSON, which may have line ends, then a line with its SHA-256."""
    saved = json.loads(data[:-CHECKSUM_BYTES], strict=False)
    change(saved["state"])
    line = json.dumps(saved).encode()
    return line + b"\n" + hashlib.sha256(line).hexdigest().encode() + b"\n"


def change(state):
    """The last of a list of numbers; all digits of a word of zeros and ones."""
    for name, value in state.items():
        if isinstance(value, list) and value and isinstance(value[-1], (int, float)):
            value[-1] = 3 * value[-1] + 1
        elif isinstance(value, str) and value and not value.strip("01"):
            state[name] = "1" * len(value)  # every answer is right


def changed_rows(data):
    """A line with the SHA-256 of the rows, its own SHA-256, the rows."""
    line, _, rows = data.split(b"\n", 2)
    other = bytes([rows[0] ^ 1]) + rows[1:]
    line = line.replace(hashlib.sha256(rows).hexdigest().encode(),
                        hashlib.sha256(other).hexdigest().encode())
    return b"\n".join([line, hashlib.sha256(line).hexdigest().encode(), other])
