"""What the tests of commands under mpirun share.

They need mpirun and a command that was built with MPI, as HEADWISE_MPIRUN says.
"""
import math
import pathlib
import re
import struct
import sys

import cli_case
from run_case import RunCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from mpirun_job import ENVIRONMENT, MPIRUN, Job  # noqa: E402

# What is said of a rank that is silent; while ranks join, none is known.
MISSING = re.compile(r"rank (\d) did not answer within \d+ s; at \w+"
                     r"|a rank did not answer within \d+ ms")


def said_in(done):
    """The lines of headwise, without those of mpirun."""
    return [line for line in done.stderr.splitlines()
            if line.startswith("headwise: ")]


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
