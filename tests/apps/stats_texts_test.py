"""Statistics of heads over several texts: headwise stats --texts."""
import csv
import io
import json
import math
import unittest

import cli_case
import tiny_model
from cli_case import BAD_INPUT, USAGE, CliTest
from stats_test import NAMES, means

# The tokens of each text, with [CLS] and [SEP].
TEXTS = {"heads matter so": [2, 5, 6, 12, 3],
         "so so ! heads": [2, 12, 12, 8, 5, 3],
         "matter": [2, 6, 3]}
STUDENT = 4.302652730  # the quantile of 2 degrees of freedom


def interval(values):
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) /
                          (len(values) - 1))
    half = STUDENT * deviation / math.sqrt(len(values))
    return mean, mean - half, mean + half


def expected():
    """(layer, head) -> for each statistic its mean, low, high."""
    numbers = {}
    for ids in TEXTS.values():
        for n, (_, heads, _) in enumerate(tiny_model.Encoder().layers(ids)):
            for h, weights in enumerate(heads):
                numbers.setdefault((n, h), []).append(
                    means(weights, {len(ids) - 1}))
    return {head: [interval(values) for values in zip(*texts)]
            for head, texts in numbers.items()}


class StatsTextsTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")
        (self.folder / "texts.txt").write_text("\n".join(TEXTS) + "\n")

    def stats(self, *arguments, **options):
        return self.succeed("stats", "--model", "tiny", "--texts", "texts.txt",
                            *arguments, **options)

    def test_every_number_equals_the_same_from_whole_matrices(self):
        done = json.loads(self.stats("--json"))
        want = expected()
        self.assertEqual([(head["layer"], head["head"])
                          for head in done["heads"]], list(want))
        for head in done["heads"]:
            self.assertEqual(head["texts"], 3)
            for name, numbers in zip(NAMES, want[head["layer"], head["head"]],
                                     strict=True):
                for end, number in zip(("mean", "low", "high"), numbers):
                    self.assertAlmostEqual(head[name][end], number, delta=5e-5,
                                           msg=f"{name} {end}")
        self.assertEqual((done["texts"], done["tokens"], done["cut_texts"]),
                         (3, 14, 0))

    def test_csv_has_the_same_numbers(self):
        done = json.loads(self.stats("--json"))
        rows = list(csv.DictReader(io.StringIO(self.stats("--csv"))))
        self.assertEqual(len(rows), len(done["heads"]))
        for row, head in zip(rows, done["heads"]):
            for name in NAMES:
                self.assertAlmostEqual(float(row[name]), head[name]["mean"],
                                       delta=1e-6)
                self.assertAlmostEqual(float(row[name + "_high"]),
                                       head[name]["high"], delta=1e-6)

    def test_the_table_has_the_means_and_half_of_their_intervals(self):
        lines = self.stats("--sort", "previous", "--layers", "1").splitlines()
        self.assertIn("3 texts, 14 tokens", lines[0])
        heads = json.loads(self.stats("--json", "--sort", "previous",
                                      "--layers", "1"))["heads"]
        means_of = [head["previous"]["mean"] for head in heads]
        self.assertEqual(means_of, sorted(means_of, reverse=True))
        for line, head in zip(lines[-2:], heads):
            words = line.split()
            self.assertEqual(words[:2], ["1", str(head["head"])])
            of = head["entropy"]
            self.assertEqual(words[2:4],
                             [f"{of['mean']:.3f}",
                              f"±{of['high'] - of['mean']:.3f}"])

    def test_one_text_has_no_interval(self):
        head = json.loads(self.succeed(
            "stats", "--model", "tiny", "--texts", "-", "--json",
            stdin=b"so heads\n"))["heads"][0]
        self.assertIsNone(head["entropy"]["low"])
        self.assertGreater(head["entropy"]["mean"], 0)

    def test_a_result_goes_to_a_file(self):
        self.assertEqual(self.stats("--json", "--out", "stats.json"), "")
        self.assertEqual((self.folder / "stats.json").read_text(),
                         self.stats("--json"))

    def test_the_threads_change_nothing(self):
        self.assertEqual(self.stats("--json", "--threads", "1"),
                         self.stats("--json", "--threads", "3"))

    def test_long_texts_are_cut_and_said_to_be(self):
        self.assertIn("2 texts had more than 4 tokens",
                      self.stats("--max-tokens", "4"))

    def test_empty_lines_are_left_out_and_counted(self):
        want = json.loads(self.stats("--json"))
        (self.folder / "texts.txt").write_text("\n" + "\n \t\n".join(TEXTS))
        done = json.loads(self.stats("--json"))
        self.assertEqual(done["heads"], want["heads"])
        self.assertEqual((done["texts"], done["empty_lines"]), (3, 3))
        self.assertIn("empty lines left out: 3", self.stats())

    def test_models_without_heads(self):
        self.succeed("prune", "--model", "tiny", "--heads", "0.0,0.1,1.0,1.1",
                     "--out", "bare")
        self.fail_with(BAD_INPUT, "--model has no heads left", "stats",
                       "--model", "bare", "--texts", "texts.txt")

    def refuse(self, words, *arguments, code=USAGE):
        with self.subTest(arguments):
            self.fail_with(code, words, "stats", *arguments)

    def test_options_that_do_not_go_together(self):
        given = ("--model", "tiny", "--texts", "texts.txt")
        self.refuse("--texts needs --model DIR", "--texts", "texts.txt")
        self.refuse("TEXT and --texts", *given, "so")
        self.refuse("--causal cannot be used with --texts", *given, "--causal")
        self.refuse("--layers is 2", *given, "--layers", "2")

    def test_files_that_hold_no_texts(self):
        (self.folder / "empty.txt").write_text("")
        (self.folder / "bytes.txt").write_bytes(b"so\n\xff\n")
        for file, words in (("empty.txt", "is empty"), ("bytes.txt", "line 2"),
                            ("missing.txt", "missing.txt")):
            self.refuse(words, "--model", "tiny", "--texts", file,
                        code=BAD_INPUT)


if __name__ == "__main__":
    cli_case.main()
