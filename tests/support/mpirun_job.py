"""A run of mpirun, and the processes that it starts and leaves behind."""
import os
import pathlib
import signal
import subprocess
import time

MPIRUN = os.environ.get("HEADWISE_MPIRUN", "")
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # More processes than cores, all on this machine, which may have no other
    # network.
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_plm_rsh_agent": "",
    # mpirun would wait a second for processes that it ends.
    "OMPI_MCA_odls_base_sigkill_timeout": "0",
}
LEAVE_S = 5  # what processes may take to end after mpirun


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
    found = ((int(entry), status_of(entry))
             for entry in filter(str.isdigit, os.listdir("/proc")))
    return [process for process, status in found
            if status is not None and status[0] != "Z" and status[1] == session]


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

    def __init__(self, folder, words, env=None, before=(), mpirun=MPIRUN):
        self.begin = time.monotonic()
        self.process = subprocess.Popen(
            [*before, mpirun, *map(str, words)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
            start_new_session=True,
            env={**os.environ, **ENVIRONMENT, **(env or {})})

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
        """Waits until mpirun ends, then kills the processes it left, listed in `left`.

        The mpirun of Open MPI 4.1 can lock itself up while it ends, after a process
        was stopped that was joining the job. It is alone then: `ended` means that
        the job's processes have.
        """
        until = self.begin + seconds
        alone_s = 0
        while not self.communicated(1) and time.monotonic() < until:
            alone = members(self.process.pid) == [self.process.pid]
            alone_s = alone_s + 1 if alone else 0
            if alone_s == LEAVE_S:
                self.process.kill()
        self.ended = self.process.poll() is not None
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

    def communicated(self, seconds):
        try:
            self.stdout, self.stderr = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True
