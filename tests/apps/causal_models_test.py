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

    def test_a_text_without_tokens_is_refused(self):
        for command, *arguments in (("stats",), ("view", "--json"),
                                    ("stats", "--attribution", "norms")):
            self.fail_with(USAGE, "TEXT has no tokens, expected at least 1",
                           command, "--model", "causal", " ", *arguments)


if __name__ == "__main__":
    cli_case.main()
