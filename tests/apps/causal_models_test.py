"""Which commands take a causal model, and a text of it without tokens."""
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

    def test_what_needs_berts_family_says_so(self):
        for command, *arguments in (
                ("encode", "lines.txt", "--out", "e.npy"),
                ("classify", "lines.txt", "--out", "labels.tsv"),
                ("explain", "w1 w2"),
                ("importance", "--data", "lines.txt", "--out", "scores.json"),
                ("train", "--data", "labels.tsv", "--out", "trained"),
                ("stats", "--corpus", "lines.txt")):
            self.fail_with(USAGE, "--model is a causal model, expected a model of "
                           "BERT's family", command, "--model", "causal", *arguments)

    def test_what_takes_any_model(self):
        for command, *arguments in (
                ("stats", "w1 w2"), ("stats", "--texts", "lines.txt"),
                ("view", "--json", "w1 w2"),
                ("heads", "--find", "previous", "--texts", "lines.txt"),
                ("ablate", "--data", "lines.txt", "--each"),
                ("patch", "--clean", "w1 w2", "--corrupted", "w3 w2", "--compare"),
                ("prune", "--heads", "0.1", "--out", "pruned")):
            self.succeed(command, "--model", "causal", *arguments)
        self.assertIn("Layout: headwise-causal", self.succeed("inspect", "causal"))

    def test_a_text_without_tokens_is_refused(self):
        for command, *arguments in (("stats",), ("view", "--json"),
                                    ("stats", "--attribution", "norms")):
            self.fail_with(USAGE, "TEXT has no tokens, expected at least 1",
                           command, "--model", "causal", " ", *arguments)


if __name__ == "__main__":
    cli_case.main()
