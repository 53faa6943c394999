"""headwise stats --corpus, by one process and by several.

    stats_corpus_test.py HEADWISE [FIXTURES] [TEST...]
"""
import csv
import hashlib
import io
import json
import math
import os
import signal
import subprocess
import time
import unittest

import cli_case
import tiny_model
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE
from stats_test import NAMES
from together_case import MPIRUN, Job, TogetherCase, said_in

WORDS = ["heads", "matter", "so", "!", "<", "&"]
COUNT = 2500  # three groups


def lines(count):
    """Of 0 to 12 words; the model takes 10."""
    return [" ".join(WORDS[(n * 5 + k * k) % len(WORDS)] for k in range(n * 7 % 13))
            for n in range(count)]


class CorpusCase(TogetherCase):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")

    def put_lines(self, sentences, name="lines.txt"):
        self.put_text("".join(line + "\n" for line in sentences), name)

    def call(self, *options, corpus="lines.txt"):
        return ("stats", "--model", "tiny", "--corpus", corpus, "--threads", "1",
                *options)

    def rows(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.succeed(*arguments))))


class CorpusTest(CorpusCase):
    def test_one_sentence_has_the_numbers_of_stats(self):
        self.put_lines(["heads matter so"])
        self.assertEqual(self.rows(*self.call("--csv")),
                         self.rows("stats", "--model", "tiny", "heads matter so",
                                   "--csv"))

    def test_the_mean_is_over_the_tokens_of_all_sentences(self):
        sentences = lines(13)
        self.put_lines(sentences)
        each = [self.rows("stats", "--model", "tiny", line, "--csv")
                for line in sentences]
        for h, head in enumerate(self.rows(*self.call("--csv"))):
            tokens = [int(rows[h]["queries"]) for rows in each]
            self.assertEqual(int(head["queries"]), sum(tokens))
            for name in NAMES:
                mean = math.fsum(count * float(rows[h][name])
                                 for count, rows in zip(tokens, each)) / sum(tokens)
                self.assertAlmostEqual(float(head[name]), mean, delta=5e-7)

    def test_empty_and_cut_sentences_are_counted(self):
        self.put_lines(["heads", "", "so " * 10, "so " * 11, " "])
        done = json.loads(self.succeed(*self.call("--json")))
        self.assertEqual({name: done[name] for name in (
            "corpus", "sentences", "tokens", "max_tokens", "empty_sentences",
            "cut_sentences")}, {
                "corpus": "lines.txt", "sentences": 5, "tokens": 31,
                "max_tokens": 12, "empty_sentences": 2, "cut_sentences": 1})
        self.assertEqual(self.succeed(*self.call()).split("\n\n")[0],
                         "lines.txt: 5 sentences, 31 tokens of tiny\n"
                         "2 sentences are empty\n"
                         "1 sentence had more than 12 tokens; the rest was cut off")

    def test_threads_layers_and_order(self):
        self.put_lines(lines(COUNT))
        one = self.rows(*self.call("--csv"))
        self.assertEqual(one, self.rows("stats", "--model", "tiny", "--corpus",
                                        "lines.txt", "--threads", "2", "--csv"))
        self.assertEqual(self.rows(*self.call("--csv", "--layers", "1")),
                         [row for row in one if row["layer"] == "1"])
        ordered = [float(row["self"]) for row in
                   self.rows(*self.call("--csv", "--sort", "self"))]
        self.assertEqual(ordered, sorted((float(row["self"]) for row in one),
                                         reverse=True))

    def test_a_killed_run_resumes(self):
        self.put_lines(lines(20 * 1024 + 3))
        journal = self.folder / "s.json.partial"
        call = self.call("--json", "--out", "s.json", "--save-every", "0")
        with subprocess.Popen([cli_case.HEADWISE, *call],
                              cwd=self.folder) as process:
            while not journal.exists():
                self.assertIsNone(process.poll(), "it ended too early")
                time.sleep(0.001)
            process.kill()
        kept = journal.read_bytes()
        self.succeed(*self.call("--json", "--out", "whole.json"))
        whole = (self.folder / "whole.json").read_bytes()
        self.succeed(*call)
        self.assertEqual((self.folder / "s.json").read_bytes(), whole)
        self.assertFalse(journal.exists())
        # It begins with the sums of the journal.
        state = json.loads(kept.splitlines()[0])
        self.assertGreater(state["state"]["groups"], 0)
        state["state"]["numbers"][-3] += 1e6
        text = json.dumps(state)
        self.put_text(f"{text}\n{hashlib.sha256(text.encode()).hexdigest()}\n",
                      journal.name)
        self.succeed(*call)
        self.assertEqual(
            json.loads((self.folder / "s.json").read_text())["tokens"],
            json.loads(whole)["tokens"] + 1_000_000)
        # A journal of another text is not continued.
        journal.write_bytes(kept)
        self.put_lines(lines(20 * 1024 + 2))
        self.succeed(*self.call("--json", "--out", "whole.json"))
        self.succeed(*call)
        self.assertEqual((self.folder / "s.json").read_bytes(),
                         (self.folder / "whole.json").read_bytes())

    def test_mistakes(self):
        self.put_lines(["so"])
        for code, message, call in (
                (USAGE, "--corpus needs --model DIR",
                 ("stats", "--corpus", "lines.txt")),
                (USAGE, "TEXT cannot be used with --corpus", self.call("so")),
                (USAGE, "--causal cannot be used with --corpus",
                 self.call("--causal")),
                (USAGE, "--deadline needs --corpus",
                 ("stats", "--model", "tiny", "so", "--deadline", "3")),
                (USAGE, "--sort is depth", self.call("--sort", "depth")),
                (BAD_INPUT, "none.txt: No such file", self.call(corpus="none.txt")),
                (USAGE, "--max-tokens is 13", self.call("--max-tokens", "13")),
                (OUT_OF_RESOURCES, "none/s: No such file",
                 self.call("--out", "none/s"))):
            with self.subTest(message):
                self.fail_with(code, message, *call)


@unittest.skipUnless(MPIRUN, "no mpirun, or a command without MPI")
class RanksTest(CorpusCase):
    def test_the_numbers_are_those_of_one_process(self):
        self.put_lines(lines(COUNT))
        alone = self.succeed(*self.call("--json"))
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                done = self.mpirun(ranks, *self.call("--json"))
                self.assertEqual((done.status, done.stderr), (0, ""))
                self.assertEqual(done.stdout, alone)

    def test_a_killed_job_resumes_on_another_number_of_processes(self):
        self.put_lines(lines(20 * 1024 + 3))
        journal = self.folder / "s.json.partial"
        call = self.call("--json", "--out", "s.json", "--save-every", "0")
        job = Job(self.folder, ["-n", 2, cli_case.HEADWISE, *call])
        while not journal.exists():
            self.assertIsNone(job.process.poll(), "it ended too early")
            time.sleep(0.001)
        os.kill(job.process_of(1), signal.SIGKILL)
        job.finish(cli_case.SECONDS)
        self.assertNotEqual(job.status, 0)
        self.assertTrue(journal.exists())
        done = self.mpirun(3, *call)
        self.assertEqual((done.status, done.stderr), (0, ""))
        self.succeed(*self.call("--json", "--out", "alone.json"))
        self.assertEqual((self.folder / "s.json").read_bytes(),
                         (self.folder / "alone.json").read_bytes())
        self.assertFalse(journal.exists())

    def test_mistakes_are_said_once(self):
        self.put_text(b"so\nso \xff\n", "lines.txt")
        for code, message, call in (
                (BAD_INPUT, "line 2 is not UTF-8", self.call()),
                (USAGE, "--corpus is -, expected a file", self.call(corpus="-"))):
            with self.subTest(message):
                done = self.mpirun(2, *call)
                self.assertEqual(done.status, code, done.stderr)
                self.assertEqual(len(said_in(done)), 1, done.stderr)
                self.assertIn(message, said_in(done)[0])


if __name__ == "__main__":
    cli_case.main()
