"""How accurate `headwise train` gets: the longest of the tests."""
import itertools
import json

import cli_case
from cli_case import CliTest

# A sanitizer looks for faults, which are the same from every seed: it sees each
# task and each scoring once.
TRAININGS = (("recall", "dot", "0"), ("reverse", "additive", "0"))
if not cli_case.SANITIZED:
    TRAININGS = (*itertools.product(("recall", "reverse"), ("dot",), "012"),
                 ("recall", "additive", "0"), ("reverse", "additive", "0"))


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

    def test_an_induction_head_forms_from_any_seed(self):
        for seed in ("0",) if cli_case.SANITIZED else "01":
            with self.subTest(seed=seed):
                self.check_induction(seed)

    def check_induction(self, seed):
        text = self.succeed("train", "--json", "--task", "induction", "--seed",
                            seed, "--force", "--out", "run")
        self.assertGreater(json.loads(text.splitlines()[-1])["accuracy"], 0.95)
        found = json.loads(self.succeed("heads", "--find", "induction",
                                        "--model", "run", "--json"))["heads"]
        last = [head for head in found if head["layer"] == 1]
        high = [head for head in last if head["score"] > 0.6]
        self.assertTrue(1 <= len(high) <= 2, last)
        self.assertLess(self.accuracy_without(high), 0.3)
        others = [head for head in last if head not in high]
        self.assertGreater(self.accuracy_without(others[:len(high)]), 0.9)

    def accuracy_without(self, heads):
        names = ",".join(f"{head['layer']}.{head['head']}" for head in heads)
        report = self.succeed("prune", "--model", "run", "--heads", names,
                              "--data", "run/texts.txt", "--out", "without",
                              "--force", "--json")
        return json.loads(report)["accuracy_after"]


if __name__ == "__main__":
    cli_case.main()
