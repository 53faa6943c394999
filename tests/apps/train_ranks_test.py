"""`headwise train --model` under mpirun: several processes write the folder of one.

    train_ranks_test.py HEADWISE [FIXTURES] [TEST...]

Needs mpirun and a command that was built with MPI, as HEADWISE_MPIRUN says.
"""
import itertools
import json
import os
import random
import signal
import time
import unittest

import cli_case
import tiny_model
from cli_case import BAD_INPUT, USAGE
from together_case import MPIRUN, Job, TogetherCase, said_in

# Of the command on any number of processes; times differ.
FILES = ("model.safetensors", "classifier.safetensors", "checkpoint.npz")
DEADLINE_S = 1
END_S = 10  # what mpirun may take to end
WORDS = ["heads", "matter", "so", "<", "internationalisation"]


@unittest.skipUnless(MPIRUN, "no mpirun, or a command without MPI")
class TrainRanksTest(TogetherCase):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")
        draw = random.Random(1)
        self.put_text("".join(
            f"{draw.choice(['a', 'b'])}\t"
            f"{' '.join(draw.choices(WORDS, k=draw.randint(1, 4)))}\n"
            for _ in range(23)), "data.tsv")

    def call(self, *options, out):
        return ("train", "--model", "tiny", "--data", "data.tsv", "--threads", "1",
                "--json", "--batch", "5", "--learning-rate", "0.005", *options,
                "--train", "all", "--out", out)

    def train(self, ranks, *options, out):
        """The lines of JSON, without times and names."""
        job = self.mpirun(ranks, *self.call(*options, out=out))
        self.assertEqual((job.status, job.stderr), (0, ""))
        return self.lines_of(job.stdout)

    @staticmethod
    def lines_of(text):
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            for name in ("seconds", "out", "next"):
                line.pop(name, None)
        return lines

    def assert_same_folder(self, one, other):
        for name in FILES:
            self.assertEqual((self.folder / one / name).read_bytes(),
                             (self.folder / other / name).read_bytes(), name)

    def test_any_number_of_processes_writes_the_files_of_one(self):
        alone = self.lines_of(self.succeed(*self.call(out="alone")))
        # Of a batch of 5 texts some of 7 have none.
        for ranks in (2, 3, 7):
            out = f"of_{ranks}"
            self.assertEqual(self.train(ranks, out=out), alone)
            self.assert_same_folder(out, "alone")

    def test_in_bf16_they_write_the_files_of_one(self):
        bf16 = ("--epochs", "1", "--arithmetic", "bf16")
        self.succeed(*self.call(*bf16, out="alone"))
        self.train(2, *bf16, out="of_2")
        self.assert_same_folder("of_2", "alone")

    def test_it_is_resumed_on_another_number_of_processes(self):
        self.succeed(*self.call("--epochs", "4", out="alone"))
        self.train(2, "--epochs", "1", out="half")
        self.train(3, "--epochs", "2", "--resume", "half", out="more")
        self.train(2, "--epochs", "4", "--resume", "more", out="resumed")
        self.assert_same_folder("resumed", "alone")

    def test_the_classifier_alone(self):
        call = ("train", "--model", "tiny", "--data", "data.tsv", "--out")
        self.succeed(*call, "alone")
        job = self.mpirun(3, *call, "of_3")
        self.assertEqual((job.status, job.stderr), (0, ""))
        self.assertEqual((self.folder / "of_3/classifier.safetensors").read_bytes(),
                         (self.folder / "alone/classifier.safetensors").read_bytes())

    def test_a_process_that_hangs_ends_the_job_at_its_deadline(self):
        call = self.call("--epochs", "100000", "--deadline", str(DEADLINE_S),
                         out="out")
        job = Job(self.folder, ["-n", 2, cli_case.HEADWISE, *call])
        while not (self.folder / "out" / "checkpoint.npz").exists():
            self.assertIsNone(job.process.poll(), "it ended too early")
            time.sleep(0.01)
        os.kill(job.process_of(1), signal.SIGSTOP)
        stopped = time.monotonic()
        job.finish(cli_case.SECONDS)
        self.assertEqual((job.ended, job.left), (True, []))
        self.assertNotEqual(job.status, 0)
        self.assertLess(time.monotonic() - stopped, 2 * DEADLINE_S + END_S)
        self.assertEqual(len(said_in(job)), 1, job.stderr)
        self.assertRegex(said_in(job)[0], "headwise: train: rank 1 did not answer "
                         f"within {DEADLINE_S} s; at step \\d+")

    def fail_together(self, status, message, *arguments):
        job = self.mpirun(2, *arguments)
        self.assertEqual(job.status, status, job.stderr)
        said = said_in(job)
        self.assertEqual(len(said), 1, job.stderr)
        self.assertIn(message, said[0])

    def test_errors_are_said_once(self):
        self.fail_together(USAGE, "--task cannot be used by several processes",
                           "train", "--out", "out")
        self.fail_together(USAGE, "--data is standard input, expected a file",
                           "train", "--model", "tiny", "--data", "-", "--out", "out")
        self.fail_together(BAD_INPUT, "--data: none.tsv: No such file", "train",
                           "--model", "tiny", "--data", "none.tsv", "--out", "out")
        wrong = list(self.call(out="out"))
        wrong[wrong.index("0.005")] = "1e30"
        self.fail_together(BAD_INPUT, "train: step ", *wrong)
        self.assertFalse((self.folder / "out").exists())

    def test_all_processes_read_the_same(self):
        for out, seed in (("half", "0"), ("other_half", "5")):
            self.succeed(*self.call("--epochs", "1", "--seed", seed, out=out))
        text = (self.folder / "data.tsv").read_text(encoding="utf-8")
        self.put_text(text.replace("matter", "mutter"), "other.tsv")
        tiny_model.write(self.folder / "other_tiny")
        params = self.folder / "other_tiny/model.safetensors"
        changed = bytearray(params.read_bytes())
        changed[-4] ^= 1
        params.write_bytes(changed)
        same = {"--model": "tiny", "--data": "data.tsv", "--test": "data.tsv",
                "--resume": "half"}
        for option, other in (("--model", "other_tiny"), ("--data", "other.tsv"),
                              ("--test", "other.tsv"), ("--resume", "other_half"),
                              ("--resume", "")):
            def call(options):
                given = filter(lambda pair: pair[1], options.items())
                return (cli_case.HEADWISE, "train", "--train", "all", "--out", "out",
                        "--epochs", "2", *itertools.chain(*given))
            job = Job(self.folder, ["-n", 1, *call(same), ":", "-n", 1,
                                    *call({**same, option: other})])
            job.finish(cli_case.SECONDS)
            self.assertEqual((job.ended, job.left, job.status),
                             (True, [], BAD_INPUT), job.stderr)
            said = said_in(job)
            self.assertEqual(len(said), 1, job.stderr)
            given = "[0-9a-f]{64}" if other else "no file"
            self.assertRegex(said[0], f"SHA-256 of {option} is {given} on rank 1")
            self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    cli_case.main()
