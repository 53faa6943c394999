"""headwise importance by several processes.

    importance_ranks_test.py HEADWISE [FIXTURES] [TEST...]
"""
import hashlib
import json
import os
import signal
import time
import unittest

import cli_case
import tiny_model
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE
from importance_test import labelled
from together_case import MPIRUN, Job, TogetherCase, said_in


@unittest.skipUnless(MPIRUN, "no mpirun, or a command without MPI")
class ImportanceRanksTest(TogetherCase):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")
        self.put_text(labelled(3).encode(), "data.tsv")
        self.put_text("".join(line.split("\t")[1] + "\n"
                              for line in labelled(3).splitlines()), "lines.txt")

    def call(self, out, *options, data="data.tsv", model="tiny"):
        return ("importance", "--model", model, "--data", data, "--out", out,
                "--threads", "1", *options)

    def assert_same(self, ranks, *options, **files):
        alone = self.succeed(*self.call("alone.json", *options, **files))
        done = self.mpirun(ranks, *self.call("s.json", *options, **files))
        self.assertEqual((done.status, said_in(done)), (0, []))
        self.assertEqual(done.stdout, alone.replace("alone.json", "s.json"))
        self.assertEqual((self.folder / "s.json").read_bytes(),
                         (self.folder / "alone.json").read_bytes())
        self.assertFalse((self.folder / "s.json.partial").exists())

    def test_the_scores_are_those_of_one_process(self):
        self.assert_same(2)
        self.assert_same(3, "--method", "ablation", "--batch", "5")
        self.assert_same(3, "--method", "confidence", "--examples", "2",
                         data="lines.txt")
        self.assert_same(2, "--method", "fisher", "--iterative", "0.5",
                         data="lines.txt")

    def test_a_killed_job_resumes_on_another_number_of_processes(self):
        self.put_text(labelled(300).encode(), "long.tsv")
        self.succeed("train", "--model", "tiny", "--data", "data.tsv", "--out",
                     "model")
        long = {"data": "long.tsv", "model": "model"}
        journal = self.folder / "s.json.partial"
        job = Job(self.folder, ["-n", 2, cli_case.HEADWISE, *self.call(
            "s.json", "--batch", "4", "--save-every", "0", **long)])
        while not journal.exists():
            self.assertIsNone(job.process.poll(), "it ended too early")
            time.sleep(0.001)
        os.kill(job.process_of(1), signal.SIGKILL)
        job.finish(cli_case.SECONDS)
        self.assertNotEqual(job.status, 0)
        self.assertFalse((self.folder / "s.json").exists())
        state = json.loads(journal.read_text().splitlines()[0])
        self.assertGreater(state["state"]["done"], 0)
        self.assert_same(3, "--batch", "4", **long)
        # It begins with the sums of the journal, and takes only the steps left.
        whole = (self.folder / "alone.json").read_bytes()
        steps = json.loads(whole)["examples"] // 4
        state["state"].update(done=steps - 9, in_round=steps - 9,
                              sums=[1.0] * len(state["state"]["sums"]))
        text = json.dumps(state)
        digest = hashlib.sha256(text.encode()).hexdigest()
        for name in ("s", "alone"):
            self.put_text(f"{text}\n{digest}\n", f"{name}.json.partial")
        self.assert_same(2, "--batch", "4", **long)
        self.assertNotEqual((self.folder / "s.json").read_bytes(), whole)

    def test_mistakes_are_said_once(self):
        self.put_text("good\theads\nmatter\n", "bad.tsv")
        for code, message, call in (
                (BAD_INPUT, "line 2 has no tab", self.call("s.json", data="bad.tsv")),
                (OUT_OF_RESOURCES, "--out none/s.json", self.call("none/s.json")),
                (USAGE, "--data is -, expected a file that every",
                 self.call("s.json", data="-"))):
            with self.subTest(message):
                done = self.mpirun(2, *call)
                self.assertEqual(done.status, code, done.stderr)
                self.assertEqual(len(said_in(done)), 1, done.stderr)
                self.assertIn(message, said_in(done)[0])
                self.assertFalse((self.folder / "s.json").exists())


if __name__ == "__main__":
    cli_case.main()
