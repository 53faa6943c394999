"""Ranks as processes under mpirun, and ranks that fail.

    mpi_test.py MPIRUN MPI_PROGRAM [TEST...]

No process is left when a test ends, whatever has become of it.
"""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

LIMIT_S = 60  # for a run; it is far from any of them
DEADLINE_S = 2  # kDeadline of mpi_program.cc
START_S = 10  # what mpirun may take to start and to end
LEAVE_S = 5  # and what its processes may take after it

ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # More ranks than cores.
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    # All on this machine, which may have no other network.
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
}


def members(session):
    """The processes of a session that have not ended."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        state, of_session = fields[0], int(fields[3])
        if of_session == session and state != "Z":
            found.append(int(entry))
    return found


class Run:
    """One run of mpirun: its exit status, its output and its time, and the
    processes that it left behind."""

    def __init__(self, ranks, *arguments, options=()):
        begin = time.monotonic()
        with subprocess.Popen(
            [MPIRUN, "-n", str(ranks), *options, PROGRAM, *map(str, arguments)],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # of which the ranks are members, too
        ) as mpirun:
            try:
                self.output, _ = mpirun.communicate(timeout=LIMIT_S)
                self.has_ended = True
            except subprocess.TimeoutExpired:
                self.has_ended = False
            self.seconds = time.monotonic() - begin
            self.left = self.end(mpirun.pid)
            if not self.has_ended:
                self.output, _ = mpirun.communicate()
        self.status = mpirun.returncode
        self.failures = dict(
            re.findall(r"^rank (\d+) failed: (.*)$", self.output, re.M)
        )

    def end(self, session):
        """Kills the processes that still run in a session, and returns them."""
        until = time.monotonic() + LEAVE_S
        while self.has_ended and members(session) and time.monotonic() < until:
            time.sleep(0.05)
        left = members(session)
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return left


class MpiTest(unittest.TestCase):
    def run_ranks(self, ranks, *arguments, options=()):
        run = Run(ranks, *arguments, options=options)
        self.assertTrue(run.has_ended, run.output)
        self.assertEqual(run.left, [], run.output)
        return run

    def assert_succeeds(self, ranks, *arguments, options=()):
        run = self.run_ranks(ranks, *arguments, options=options)
        self.assertEqual(run.status, 0, run.output)

    def test_every_operation(self):
        for ranks in (1, 2, 3, 4):
            with self.subTest(ranks=ranks):
                self.assert_succeeds(ranks, "operations")

    def test_every_operation_over_tcp(self):
        self.assert_succeeds(3, "operations", options=("--mca", "btl", "tcp,self"))

    def test_groups_do_not_disturb_each_other(self):
        self.assert_succeeds(4, "groups")

    def test_a_stopped_rank_is_named_by_all_others(self):
        for stopped in (0, 2):
            with self.subTest(stopped=stopped):
                run = self.run_ranks(3, "stopped", stopped)
                self.assertNotEqual(run.status, 0, run.output)
                self.assertLess(run.seconds, 2 * DEADLINE_S + START_S)
                self.assertEqual(len(run.failures), 2, run.output)
                for message in run.failures.values():
                    self.assertRegex(
                        message,
                        rf"attention: rank {stopped} did not answer within "
                        r"[23] s; at keys 0 to 383",
                    )

    def test_ranks_that_work_for_long_are_waited_for(self):
        for working in (0, 1):
            with self.subTest(working=working):
                self.assert_succeeds(4, "works", working)

    def test_bytes_arrive_while_all_ranks_work(self):
        self.assert_succeeds(2, "arrives_during_work")

    def test_a_stopped_rank_is_named_along_a_chain(self):
        for scenario in ("stops_at_work", "stops_while_it_waits"):
            with self.subTest(scenario):
                run = self.run_ranks(4, scenario)
                self.assertNotEqual(run.status, 0, run.output)
                self.assertLess(run.seconds, 3 * DEADLINE_S + START_S)
                # mpirun wakes the stopped one when it ends the job.
                for rank in ("1", "2"):
                    self.assertIn(
                        "rank 3 did not answer within 2 s",
                        run.failures.get(rank, "nothing"),
                    )

    def test_ranks_that_wait_for_each_other_end(self):
        run = self.run_ranks(3, "wait_for_each_other")
        self.assertNotEqual(run.status, 0, run.output)
        self.assertLess(run.seconds, 2 * DEADLINE_S + START_S)
        self.assertEqual(len(run.failures), 3, run.output)

    def test_a_rank_that_stops_in_the_middle_of_a_message_ends_all(self):
        run = self.run_ranks(3, "stops_in_a_ring", 1)
        self.assertNotEqual(run.status, 0, run.output)
        self.assertLess(run.seconds, 2 * DEADLINE_S + START_S)
        self.assertEqual(len(run.failures), 2, run.output)
        for message in run.failures.values():
            self.assertRegex(message, r"rank \d did not answer .* at keys 0 to 383")

    def test_a_killed_rank_ends_all(self):
        for scenario in ("killed", "leaves"):
            with self.subTest(scenario):
                run = self.run_ranks(3, scenario, 1)
                self.assertNotEqual(run.status, 0, run.output)
                self.assertLess(run.seconds, 2 * DEADLINE_S + START_S)

    def test_an_error_of_one_rank_reaches_all_at_once(self):
        run = self.run_ranks(4, "fails", 2)
        self.assertNotEqual(run.status, 0, run.output)
        self.assertEqual(run.failures.pop("2"), "query has a NaN")
        self.assertEqual(len(run.failures), 3, run.output)
        for message in run.failures.values():
            self.assertEqual(
                message,
                "attention: query has a NaN; on rank 2, at keys 0 to 383",
            )

    def test_another_size_is_an_error_on_every_rank(self):
        run = self.run_ranks(2, "sends_short", 0)
        self.assertNotEqual(run.status, 0, run.output)
        self.assertEqual(
            run.failures.get("1"),
            "attention: rank 0 sent 9999999 bytes, expected 10000000; "
            "at keys 0 to 383",
        )

    def test_a_rank_that_does_not_join_is_noticed(self):
        run = self.run_ranks(2, "late")
        self.assertNotEqual(run.status, 0)
        self.assertIn("a rank did not answer within 2000 ms", run.output)
        self.assertLess(run.seconds, 2 * DEADLINE_S + START_S)

    def test_mpi_that_is_not_ready_is_an_error(self):
        run = self.run_ranks(1, "without_mpi")
        self.assertIn("MPI is not initialised", run.output)
        self.assertIn("MPI is finalised already", run.output)
        self.assertRegex(run.output, "MPI allows no threads|level [123]")


if __name__ == "__main__":
    MPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
