"""How accurate `headwise train` gets: the longest of the tests."""
import itertools
import json
import unittest

import cli_case
from cli_case import CliTest

TRAININGS = (*itertools.product(("recall", "reverse"), ("dot",), "012"),
             ("recall", "additive", "0"), ("reverse", "additive", "0"))


# Every step runs the same code: a sanitizer sees enough in the few steps of
# train_test.py, and this test's other calls in InductionTest.
@unittest.skipIf(cli_case.SANITIZED, "accuracy is the other build's")
class TrainAccuracyTest(CliTest):
    def test_the_defaults_learn_from_any_seed_what_averaging_cannot(self):
        for task, scoring, seed in TRAININGS:
            with self.subTest(task=task, scoring=scoring, seed=seed):
                text = self.succeed("train", "--json", "--task", task,
                                    "--scoring", scoring, "--seed", seed,
                                    "--force", "--out", "run")
                last = json.loads(text.splitlines()[-1])
                self.assertGreaterEqual(last["accuracy"], 0.95)
                self.assertLessEqual(last["uniform_accuracy"],
                                     last["accuracy"] - 0.2)
                self.assertGreater(max(last["weight_on_answer"]), 0.5)


class InductionTest(CliTest):
    @unittest.skipIf(cli_case.SANITIZED, "accuracy is the other build's")
    def test_a_head_forms_from_any_seed(self):
        for seed in "01":
            with self.subTest(seed=seed):
                self.check_induction(seed)

    def test_a_model_that_has_learnt_nothing_can_be_asked_the_same(self):
        self.train("0", "--steps", "2")
        heads = self.heads_of_the_last_layer()
        self.assertEqual(len(heads), 4)
        self.assertLess(self.accuracy_without(heads[:1]), 0.3)

    def train(self, seed, *options):
        text = self.succeed("train", "--json", "--task", "induction", "--seed",
                            seed, "--force", "--out", "run", *options)
        return json.loads(text.splitlines()[-1])["accuracy"]

    def heads_of_the_last_layer(self):
        found = json.loads(self.succeed("heads", "--find", "induction",
                                        "--model", "run", "--json"))["heads"]
        return [head for head in found if head["layer"] == 1]

    def check_induction(self, seed):
        self.assertGreater(self.train(seed), 0.95)
        last = self.heads_of_the_last_layer()
        high = [head for head in last if head["score"] > 0.6]
        self.assertTrue(1 <= len(high) <= 2, last)
        self.assertLess(self.accuracy_without(high), 0.3)
        others = [head for head in last if head not in high]
        self.assertGreater(self.accuracy_without(others[:len(high)]), 0.9)

    def accuracy_without(self, heads):
        names = ",".join(f"{head['layer']}.{head['head']}" for head in heads)
        report = json.loads(self.succeed("ablate", "--model", "run", "--heads", names,
                                         "--data", "run/texts.txt", "--json"))
        return (report["whole"]["accuracy_on_repeats"]["mean"] +
                report["effects"][0]["accuracy_on_repeats"]["mean"])


if __name__ == "__main__":
    cli_case.main()
