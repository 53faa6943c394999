"""Ranks as processes under mpirun, and ranks that fail.

    mpi_test.py MPIRUN MPI_PROGRAM [TEST...]

No process is left when a test ends, whatever has become of it.
"""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from mpirun_job import Job  # noqa: E402

LIMIT_S = 60  # for a run; it is far from any of them
DEADLINE_S = 1  # kDeadline of mpi_program.cc
START_S = 10  # what mpirun may take to start and to end


class MpiTest(unittest.TestCase):
    def run_ranks(self, ranks, *arguments, options=()):
        run = Job(None, ["-n", ranks, *options, PROGRAM, *arguments], mpirun=MPIRUN)
        run.finish(LIMIT_S)
        run.output = run.stdout + run.stderr
        run.failures = dict(
            re.findall(r"^rank (\d+) failed: (.*)$", run.stdout, re.M)
        )
        run.told = set(re.findall(r"^rank (\d+) was told$", run.stdout, re.M))
        self.assertTrue(run.ended, run.output)
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
                self.assertLess(len(run.told), 2, run.output)
                for message in run.failures.values():
                    self.assertRegex(
                        message,
                        rf"attention: rank {stopped} did not answer within "
                        r"1(\.5)? s; at keys 0 to 383",
                    )

    def test_ranks_that_work_for_long_are_waited_for(self):
        self.assert_succeeds(4, "works")

    def test_bytes_arrive_while_all_ranks_work(self):
        self.assert_succeeds(2, "arrives_during_work")

    def test_a_send_beside_many_receives_has_several_pieces_on_their_way(self):
        self.assert_succeeds(3, "sends_beside_receives")

    def test_a_stopped_rank_is_named_along_a_chain(self):
        for scenario in ("stops_at_work", "stops_while_it_waits"):
            with self.subTest(scenario):
                run = self.run_ranks(4, scenario)
                self.assertNotEqual(run.status, 0, run.output)
                self.assertLess(run.seconds, 3 * DEADLINE_S + START_S)
                # mpirun wakes the stopped one when it ends the job.
                for rank in ("1", "2"):
                    self.assertIn(
                        "rank 3 did not answer within 1 s",
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
        self.assertEqual(run.told, {"0", "1", "3"})
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
        self.assertIn("a rank did not answer within 1000 ms", run.output)
        self.assertLess(run.seconds, 2 * DEADLINE_S + START_S)

    def test_mpi_that_is_not_ready_is_an_error(self):
        run = self.run_ranks(1, "without_mpi")
        self.assertIn("MPI is not initialised", run.output)
        self.assertIn("MPI is finalised already", run.output)
        self.assertRegex(run.output, "MPI allows no threads|level [123]")


if __name__ == "__main__":
    MPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
