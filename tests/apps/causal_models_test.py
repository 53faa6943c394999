"""The commands on a model of attention alone, and a text of it without tokens."""
import csv
import io
import json
import unittest

import cli_case
import tiny_causal
from cli_case import USAGE, CliTest


class CausalModelsTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_causal.write(self.folder / "causal")
        self.put_text(b"w1 w2\n", "lines.txt")
        self.put_text(b"a\tw1 w2\nb\tw3\n", "labels.tsv")

    def test_every_command_takes_it(self):
        for command, *arguments in (
                ("encode", "lines.txt", "--out", "e.npy"),
                ("explain", "w1 w2"),
                ("importance", "--data", "lines.txt", "--out", "scores.json"),
                ("train", "--data", "labels.tsv", "--out", "trained"),
                ("stats", "--corpus", "lines.txt"),
                ("stats", "w1 w2"), ("stats", "--texts", "lines.txt"),
                ("view", "--json", "w1 w2"),
                ("heads", "--find", "previous", "--texts", "lines.txt"),
                ("ablate", "--data", "lines.txt", "--each"),
                ("patch", "--clean", "w1 w2", "--corrupted", "w3 w2", "--compare"),
                ("prune", "--heads", "0.1", "--out", "pruned"),
                ("prune", "--heads", "0.1", "--export", "full-size", "--out", "full"),
                ("forward", "--ids", "5,6,5", "--json")):
            self.succeed(command, "--model", "causal", *arguments)
        self.assertIn("Layout: headwise-causal", self.succeed("inspect", "causal"))

    def test_shares_that_no_head_can_have_are_no_numbers(self):
        call = "stats", "--model", "causal"
        norms = "w1 w2", "--attribution", "norms"
        head = json.loads(self.succeed(*call, *norms, "--json"))["heads"][0]
        self.assertGreater(head["previous"], 0)
        row = next(csv.DictReader(io.StringIO(self.succeed(*call, *norms, "--csv"))))
        lines = self.succeed(*call, *norms).splitlines()
        tables = [lines[n:n + 2] for n, line in enumerate(lines) if " next " in line]
        for of, (names, first) in zip(("", "norm_"), tables, strict=True):
            cells = dict(zip(names.split(), first.split(), strict=True))
            for name in "next", "separator":
                self.assertEqual((head[of + name], row[of + name], cells[name]),
                                 (None, "", "-"))
        several = json.loads(self.succeed(*call, "--texts", "lines.txt", "--json"))["heads"][0]
        change = json.loads(self.succeed(*call, "--against", "causal", "--texts", "lines.txt",
                                         "--json"))["heads"][0]
        for name in "next", "separator":
            self.assertEqual(several[name], dict.fromkeys(("mean", "low", "high")))
            self.assertIsNone(change[name]["model"])
            self.assertIsNone(change[name]["difference"]["mean"])
        self.assertIsNotNone(change["first"]["difference"]["mean"])
        # [SEP] is a token of this model, where a text has it.
        known = json.loads(self.succeed(*call, "w1 [SEP] w2", "--json"))["heads"][0]
        self.assertIsNotNone(known["separator"])

    def test_a_text_without_tokens_is_refused(self):
        for command, *arguments in (("stats",), ("view", "--json"),
                                    ("stats", "--attribution", "norms")):
            self.fail_with(USAGE, "TEXT has no tokens, expected at least 1",
                           command, "--model", "causal", " ", *arguments)


if __name__ == "__main__":
    cli_case.main()
