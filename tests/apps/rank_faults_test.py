"""`headwise run --parallel` where one process fails: the others end in time and say
why, none is left, and no file is half-written.

    rank_faults_test.py HEADWISE [FIXTURES] [TEST...]

HEADWISE_FAULT_RUNS: how often each fault happens (default: one at random moments
twice, any other once).
HEADWISE_FAULT_SEED: of the moments.
"""
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import time
import unittest

import cli_case
from together_case import MISSING, MPIRUN, Job, TogetherCase, said_in

RUNS = int(os.environ.get("HEADWISE_FAULT_RUNS", "1"))
MOMENTS = int(os.environ.get("HEADWISE_FAULT_RUNS", "2"))
SEED = int(os.environ.get("HEADWISE_FAULT_SEED", "1"))
RANKS = 3
DEADLINE_S = 2
START_S = 10  # what mpirun may take to begin and to end
LIMIT_S = 60  # far from any run
LENGTH, HEADS, SIZE = 6000, 4, 64


def with_own_files():
    """The words that give a process file systems of its own; none where it may not
    have them."""
    for words in (["unshare", "-m"], ["unshare", "-rm"]):
        done = subprocess.run(
            [*words, "sh", "-c", "mount -t tmpfs tmpfs /mnt"], check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            return words
    return []


@unittest.skipUnless(MPIRUN, "no mpirun, or a command without MPI")
class FaultTest(TogetherCase):
    without_fault = None  # (the file of one process, the seconds of a job)

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        for name in "qkv":
            self.put_pattern(f"{name}.npy", 1, HEADS, LENGTH, SIZE)
        if not FaultTest.without_fault:
            alone = self.succeed_alone()
            job = self.run_job(self.call())
            self.assertEqual(job.status, 0, job.stderr)
            self.out().unlink()
            FaultTest.without_fault = alone, job.seconds
        self.alone, self.seconds = FaultTest.without_fault

    def call(self, query="q.npy", key="k.npy", out="o.npy"):
        return ("run", "--query", query, "--key", key, "--value", "v.npy",
                "--causal", "--threads", "1", "--out", out, "--parallel", "context",
                "--deadline", DEADLINE_S)

    def succeed_alone(self, query="q.npy"):
        self.succeed("run", "--query", query, "--key", "k.npy", "--value", "v.npy",
                     "--causal", "--out", "alone.npy")
        return (self.folder / "alone.npy").read_bytes()

    def out(self):
        return self.folder / "o.npy"

    def start(self, call, of_rank_1=()):
        """A job whose rank 1 may have another command."""
        headwise = (cli_case.HEADWISE, *call)
        if not of_rank_1:
            return Job(self.folder, ["-n", RANKS, *headwise])
        return Job(self.folder, ["-n", 1, *headwise, ":", "-n", 1, *of_rank_1, ":",
                                 "-n", RANKS - 2, *headwise])

    def run_job(self, call, of_rank_1=()):
        return self.end(self.start(call, of_rank_1))

    def end(self, job):
        job.finish(LIMIT_S)
        self.assertTrue(job.ended, job.stderr)
        self.assertEqual(job.left, [], job.stderr)
        return job

    def assert_whole_or_missing(self):
        if self.out().exists():
            self.assertEqual(self.out().read_bytes(), self.alone)
            self.out().unlink()

    def strike(self, what):
        """Sends a signal to one process at a random moment; (the job, the rank, the
        seconds from then on)."""
        rank = self.random.randrange(RANKS)
        after = self.random.uniform(0, self.seconds)
        job = self.start(self.call())
        time.sleep(max(0, job.begin + after - time.monotonic()))
        process = job.process_of(rank)
        struck = time.monotonic()
        if process is not None:
            os.kill(process, what)
        self.end(job)
        self.assertLess(time.monotonic() - struck, 2 * DEADLINE_S + START_S,
                        job.stderr)
        self.assert_whole_or_missing()
        return job, rank

    def test_killed(self):
        for run in range(MOMENTS):
            with self.subTest(run=run, seed=SEED):
                self.strike(signal.SIGKILL)

    def test_stopped(self):
        for run in range(MOMENTS):
            with self.subTest(run=run, seed=SEED):
                job, rank = self.strike(signal.SIGSTOP)
                if job.status == 0:
                    continue  # it had ended before
                found = [MISSING.search(line) for line in said_in(job)]
                self.assertTrue(any(found), job.stderr)
                for each in filter(None, found):
                    self.assertIn(each[1], (None, str(rank)), job.stderr)

    def test_leaves_before_it_joins(self):
        for status in ("0", "7") * RUNS:
            with self.subTest(status=status):
                job = self.run_job(self.call(), ("sh", "-c", f"exit {status}"))
                self.assertNotEqual(job.status, 0)
                self.assertLess(job.seconds, 2 * DEADLINE_S + START_S, job.stderr)
                self.assertFalse(self.out().exists())

    def test_other_shapes(self):
        self.put_pattern("short.npy", 1, HEADS, LENGTH - 384, SIZE)
        for key, given in (("k.npy", {"query": "short.npy"}),
                           ("short.npy", {"key": "short.npy"})) * RUNS:
            with self.subTest(key=key):
                job = self.run_job(self.call(),
                                   (cli_case.HEADWISE, *self.call(**given)))
                self.assertNotEqual(job.status, 0)
                self.assertLess(job.seconds, DEADLINE_S + START_S)
                self.assertIn("rank 1", "".join(said_in(job)), job.stderr)
                self.assertFalse(self.out().exists())

    def other_version(self):
        """The words that run this command in another version."""
        version = self.succeed("--version").split()[-1].encode()
        other = version[:-1] + (b"8" if version.endswith(b"9") else b"9")
        linked = subprocess.run(["ldd", cli_case.HEADWISE], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        files = [cli_case.HEADWISE, *re.findall(r"=> (\S*libheadwise\S*)", linked)]
        folder = self.folder / "other"
        folder.mkdir()
        changed = 0
        for file in files:
            copy = folder / pathlib.Path(file).name
            data = pathlib.Path(file).read_bytes()
            # Not where it ends the name of a version of symbols.
            data, count = re.subn(b"(?<!_)" + re.escape(version) + b"\0",
                                  other + b"\0", data)
            changed += count
            copy.write_bytes(data)
            copy.chmod(0o755)
        self.assertGreater(changed, 0)
        return "env", f"LD_LIBRARY_PATH={folder}", str(folder / "headwise")

    def test_another_version(self):
        other = self.other_version()
        for _ in range(RUNS):
            job = self.run_job(self.call(), (*other, *self.call()))
            self.assertNotEqual(job.status, 0)
            self.assertLess(job.seconds, DEADLINE_S + START_S)
            self.assertRegex("".join(said_in(job)), r"version.*rank 1")
            self.assertFalse(self.out().exists())

    def test_a_nan_on_one_rank(self):
        bad = bytearray((self.folder / "q.npy").read_bytes())
        rows = len(bad) - 4 * HEADS * LENGTH * SIZE
        for row in range(HEADS * LENGTH):
            at = rows + 4 * SIZE * row
            bad[at:at + 4] = struct.pack("<f", float("nan"))
        (self.folder / "nan.npy").write_bytes(bad)
        for _ in range(RUNS):
            job = self.run_job(self.call(),
                               (cli_case.HEADWISE, *self.call(query="nan.npy")))
            self.assertEqual((job.status, job.stderr), (0, ""))
            whole, size = self.out().read_bytes(), 4 * SIZE
            self.assertEqual(len(whole), len(self.alone))
            nans = 0
            for at in range(rows, len(whole), size):
                row = whole[at:at + size]
                if row != self.alone[at:at + size]:
                    nans += 1
                    self.assertTrue(all(x != x for x in
                                        struct.unpack(f"<{SIZE}f", row)))
            self.assertGreater(nans, HEADS * LENGTH // (2 * RANKS))
            self.assertLess(nans, HEADS * LENGTH // 2)

    def test_a_full_disk_on_one_rank(self):
        own_files = with_own_files()
        if not own_files:
            self.skipTest("a process cannot mount a file system here")
        folder = self.folder / "full"
        folder.mkdir()
        call = self.call(out="full/o.npy")
        first = (*own_files, "sh", "-c",
                 'mount -t tmpfs -o size=64k tmpfs full && exec "$@"', "sh",
                 cli_case.HEADWISE, *call)
        for _ in range(RUNS):
            job = self.end(Job(self.folder, ["-n", 1, *first, ":", "-n", RANKS - 1,
                                             cli_case.HEADWISE, *call]))
            self.assertEqual(job.status, cli_case.OUT_OF_RESOURCES, job.stderr)
            self.assertEqual(said_in(job), [
                "headwise: cannot write full/o.npy: No space left on device"])
            self.assertLess(job.seconds, DEADLINE_S + START_S)
            self.assertEqual(list(folder.iterdir()), [])


if __name__ == "__main__":
    cli_case.main()
