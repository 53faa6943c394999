"""What the tests of commands under mpirun share.

They need mpirun and a command that was built with MPI, as HEADWISE_MPIRUN says.
"""
import math
import os
import pathlib
import signal
import struct
import subprocess
import time

import cli_case
from run_case import RunCase

MPIRUN = os.environ.get("HEADWISE_MPIRUN", "")
JOB = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # More processes than cores, all on this machine.
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_plm_rsh_agent": "",
}
LEAVE_S = 5  # what processes may take to end after mpirun


def said_in(done):
    """The lines of headwise, without those of mpirun."""
    return [line for line in done.stderr.splitlines()
            if line.startswith("headwise: ")]


def status_of(process):
    """(state, session) of a process; none after its end."""
    try:
        text = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[3])


def members(session):
    """The processes of a session that have not ended."""
    return [int(entry) for entry in filter(str.isdigit, os.listdir("/proc"))
            if status_of(entry) not in (None, ("Z", session)) and
            status_of(entry)[1] == session]


def rank_of(process):
    """Its rank, if it is a headwise of a job."""
    folder = pathlib.Path(f"/proc/{process}")
    try:
        words = (folder / "cmdline").read_bytes().split(b"\0")
        variables = (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return None
    if pathlib.PurePath(os.fsdecode(words[0])).name != "headwise":
        return None
    name = b"OMPI_COMM_WORLD_RANK="
    return next((int(variable[len(name):]) for variable in variables
                 if variable.startswith(name)), None)


class Job:
    """A run of mpirun, in a session of its own; `before`: what runs it."""

    def __init__(self, folder, words, env=None, before=()):
        self.begin = time.monotonic()
        self.process = subprocess.Popen(
            [*before, MPIRUN, *map(str, words)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
            start_new_session=True, env={**os.environ, **JOB, **(env or {})})

    def process_of(self, rank, seconds=10):
        """The process of a rank, once it has begun; none where the job has ended."""
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            for process in members(self.process.pid):
                if rank_of(process) == rank:
                    return process
            time.sleep(0.005)
        return None

    def finish(self, seconds):
        """Waits until mpirun ends, then kills the processes it left, listed in `left`."""
        try:
            self.stdout, self.stderr = self.process.communicate(timeout=seconds)
            self.ended = True
        except subprocess.TimeoutExpired:
            self.ended = False
        self.seconds = time.monotonic() - self.begin
        until = time.monotonic() + LEAVE_S
        while self.ended and members(self.process.pid) and \
                time.monotonic() < until:
            time.sleep(0.02)
        self.left = members(self.process.pid)
        for process in self.left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not self.ended:
            self.stdout, self.stderr = self.process.communicate()
        self.status = self.process.returncode
        return self


class TogetherCase(RunCase):
    def put_pattern(self, name, *shape):
        """A large file, fast: the same thousand numbers again and again."""
        numbers = struct.pack("<997f", *((n * 389 % 997) / 499 - 1
                                         for n in range(997)))
        size = 4 * math.prod(shape)
        header = cli_case.npy_bytes((0,), header=str(
            {"descr": "<f4", "fortran_order": False, "shape": shape}))
        (self.folder / name).write_bytes(
            header + (numbers * (size // len(numbers) + 1))[:size])

    def mpirun(self, ranks, *arguments, seconds=cli_case.SECONDS, **options):
        job = Job(self.folder, ["-n", ranks, cli_case.HEADWISE, *arguments],
                  **options).finish(seconds)
        self.assertTrue(job.ended, job.stderr)
        self.assertEqual(job.left, [])
        return job
