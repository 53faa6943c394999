"""`headwise run --parallel` on two hosts: network namespaces with their own names,
which share nothing but a slow link.

    rank_hosts_test.py HEADWISE [FIXTURES] [TEST...]

HEADWISE_FAULT_RUNS: how often the link goes down, at random moments (default 2).
"""
import os
import random
import subprocess
import time
import unittest

import cli_case
from together_case import MISSING, MPIRUN, Job, TogetherCase, said_in
from mpirun_job import rank_of

RUNS = int(os.environ.get("HEADWISE_FAULT_RUNS", "2"))
DEADLINE_S = 2
START_S = 10  # what mpirun may take to begin and to end
LIMIT_S = 60
LENGTH, HEADS, SIZE = 3000, 4, 64
SUBNET = "10.231.77"
RATE = ["tbf", "rate", "400mbit", "burst", "64kb", "latency", "50ms"]
DELAY = ["netem", "delay", "2ms", "rate", "400mbit"]


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)


class Hosts:
    """Two hosts and the link between them."""

    def __init__(self):
        self.spaces = [f"headwise-{os.getpid()}-{n}" for n in range(2)]
        self.names = [f"{SUBNET}.{n + 1}" for n in range(2)]
        self.has_delay = False

    def __enter__(self):
        for space in self.spaces:
            ip("netns", "add", space)
        ends = [f"hw{os.getpid() % 100000}{side}" for side in "ab"]
        ip("link", "add", ends[0], "netns", self.spaces[0], "type", "veth", "peer",
           "name", ends[1], "netns", self.spaces[1])
        for space, name, end in zip(self.spaces, self.names, ends):
            ip("-n", space, "addr", "add", f"{name}/24", "dev", end)
            ip("-n", space, "link", "set", end, "up")
            ip("-n", space, "link", "set", "lo", "up")
            self.has_delay = self.slow_down(space, end)
        self.ends = ends
        return self

    def slow_down(self, space, end):
        """With delay, where the kernel has it."""
        for rule in (DELAY, RATE):
            done = ip("netns", "exec", space, "tc", "qdisc", "add", "dev", end, "root",
                      *rule, check=False)
            if done.returncode == 0:
                return rule is DELAY
        raise OSError(done.stderr)

    def __exit__(self, *_):
        for space in self.spaces:
            ip("netns", "del", space, check=False)

    def set_link(self, state):
        ip("-n", self.spaces[1], "link", "set", self.ends[1], state)

    def agent(self, folder):
        """What mpirun calls in place of ssh."""
        path = folder / "agent"
        path.write_text(
            "#!/bin/sh\n"
            "host=$1\n"
            "shift\n"
            f'exec ip netns exec "{self.spaces[0][:-1]}$((${{host##*.}} - 1))" '
            'unshare -u sh -c "hostname $host; $*"\n', encoding="utf-8")
        path.chmod(0o755)
        return path

    def processes(self):
        return [int(line) for space in self.spaces
                for line in ip("netns", "pids", space).stdout.split()]

    def ranks(self):
        """How many processes of a job there are."""
        return sum(rank_of(process) is not None for process in self.processes())

    def wait_for_ranks(self, count, seconds):
        until = time.monotonic() + seconds
        while self.ranks() != count:
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True


def has_hosts():
    try:
        with Hosts():
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@unittest.skipUnless(MPIRUN and has_hosts(),
                     "no mpirun, a command without MPI, or no network namespaces")
class HostsTest(TogetherCase):
    def setUp(self):
        super().setUp()
        self.random = random.Random(1)
        for name in "qkv":
            self.put_pattern(f"{name}.npy", 1, HEADS, LENGTH, SIZE)
        self.succeed("run", *self.tensors(), "--out", "alone.npy", "--threads", "1")
        self.alone = (self.folder / "alone.npy").read_bytes()
        self.hosts = self.enterContext(Hosts())

    def tensors(self):
        return ("--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--causal")

    def start(self, scheme="context"):
        """A job of a rank on each host, started on the first."""
        hosts = self.hosts
        net = f"{SUBNET}.0/24"
        settings = {"plm_rsh_agent": hosts.agent(self.folder),
                    "oob_tcp_if_include": net, "btl_tcp_if_include": net,
                    "btl": "tcp,self"}
        words = [word for name, value in settings.items()
                 for word in ("--mca", name, value)]
        return Job(self.folder, [
            "--leave-session-attached", "--host",
            ",".join(f"{name}:1" for name in hosts.names), "-n", 2, *words,
            cli_case.HEADWISE, "run", *self.tensors(), "--threads", "1", "--out",
            "o.npy", "--parallel", scheme, "--deadline", DEADLINE_S],
            before=["ip", "netns", "exec", hosts.spaces[0], "unshare", "-u", "sh",
                    "-c", f'hostname {hosts.names[0]}; exec "$@"', "sh"])

    def begin(self):
        """A job whose ranks run: earlier, mpirun itself would report the error."""
        job = self.start()
        self.assertTrue(self.hosts.wait_for_ranks(2, START_S))
        return job

    def end(self, job):
        job.finish(LIMIT_S)
        self.assertTrue(job.ended, job.stderr)
        self.assertEqual(job.left, [], job.stderr)
        self.assertEqual(self.hosts.processes(), [])
        return job

    def test_two_hosts_write_the_file_of_one(self):
        for scheme in ("context", "heads"):
            with self.subTest(scheme=scheme):
                job = self.end(self.start(scheme))
                self.assertEqual(job.status, 0, job.stderr)
                self.assertEqual((self.folder / "o.npy").read_bytes(), self.alone)
                (self.folder / "o.npy").unlink()

    def test_the_link_goes_down(self):
        job = self.begin()
        begin = time.monotonic()
        self.assertEqual(self.end(job).status, 0)
        whole = time.monotonic() - begin
        (self.folder / "o.npy").unlink()
        for run in range(RUNS):
            with self.subTest(run=run):
                self.let_the_link_go_down(self.random.uniform(0, whole))

    def let_the_link_go_down(self, after):
        job = self.begin()
        time.sleep(after)
        self.hosts.set_link("down")
        ended = self.hosts.wait_for_ranks(0, 2 * DEADLINE_S + START_S)
        # mpirun waits for the other host by itself, longer than we would.
        self.hosts.set_link("up")
        self.end(job)
        self.assertTrue(ended, job.stderr)
        if (self.folder / "o.npy").exists():
            self.assertEqual((self.folder / "o.npy").read_bytes(), self.alone)
            (self.folder / "o.npy").unlink()
        else:
            self.assertNotEqual(job.status, 0)
            self.assertRegex("".join(said_in(job)), MISSING)


if __name__ == "__main__":
    cli_case.main()
