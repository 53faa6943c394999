"""`headwise prune --heads` as a process."""
import json
import resource

import cli_case
import tiny_causal
import tiny_model
from cli_case import OUT_OF_RESOURCES, USAGE, CliTest


class PruneHeadsTest(CliTest):
    def prune(self, model, *arguments, out="out"):
        return json.loads(self.succeed("prune", "--model", model, "--out", out,
                                       "--json", *arguments))

    def test_the_heads_of_a_bert_model_are_removed_without_scores(self):
        tiny_model.write(self.folder / "tiny")
        heads = json.loads(self.succeed("stats", "--model", "tiny", "--json",
                                        "so heads"))["heads"]
        first = f"{heads[0]['layer']}.{heads[0]['head']}"
        report = self.prune("tiny", "--heads", first)
        self.assertEqual(report["method"], "--heads")
        left = json.loads(self.succeed("stats", "--model", "out", "--json",
                                       "so heads"))["heads"]
        self.assertEqual([(head["layer"], head["head"]) for head in left],
                         [(head["layer"], head["head"]) for head in heads[1:]])
        text = self.succeed("prune", "--model", "tiny", "--heads", first, "--out", "other")
        self.assertIn("alternating rounds", text)
        self.assertNotIn("in brackets", text)  # nothing has an interval
        self.fail_with(USAGE, "headwise: --heads has 2.0, expected a head from 0.0 to 1.1",
                       "prune", "--model", "tiny", "--heads", "2.0", "--out", "no")

    def test_a_causal_model_keeps_the_numbers_of_its_heads(self):
        self.succeed("train", "--task", "induction", "--steps", "2", "--out",
                     "run")
        report = self.prune("run", "--heads", "1.0,0.2", "--data",
                            "run/texts.txt")
        self.assertEqual((report["heads_before"], report["heads_after"],
                          report["heads_of_layers"], report["next_tokens"]["texts"]),
                         (8, 6, [3, 3], 200))
        left = json.loads(self.succeed("stats", "--model", "out", "--json",
                                       "cat sun cat sun"))["heads"]
        self.assertEqual([(head["layer"], head["head"]) for head in left],
                         [(0, 0), (0, 1), (0, 3), (1, 1), (1, 2), (1, 3)])
        self.fail_with(USAGE, "--heads has 1.0, expected one of the heads of "
                       "layer 1: 1-3", "prune", "--model", "out", "--heads",
                       "1.0", "--out", "again")

    def test_a_failure_leaves_the_old_causal_model(self):
        tiny_causal.write(self.folder / "causal")
        self.prune("causal", "--heads", "1.0")
        (self.folder / "out/tokenizer.json").write_text("of the old model\n")
        before = {path.name: path.read_bytes() for path in (self.folder / "out").iterdir()}

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        self.fail_with(OUT_OF_RESOURCES, "cannot write out/model.safetensors: File too large",
                       "prune", "--model", "causal", "--heads", "1.1", "--out", "out",
                       preexec_fn=limit)
        self.assertEqual({path.name: path.read_bytes()
                          for path in (self.folder / "out").iterdir()}, before)

    def test_what_does_not_go_together_is_refused(self):
        self.succeed("train", "--task", "induction", "--steps", "1", "--out",
                     "run")
        call = ("prune", "--model", "run", "--out", "out")
        for arguments, message in (
                ((), "expected either --scores FILE.json or --heads LIST"),
                (("--heads", "1.0", "--remove", "1"), "--heads names the heads"),
                (("--heads", "1.0", "--scores", "s"), "expected either"),
                (("--heads", "x"), "--heads is x, expected LAYER.HEAD")):
            with self.subTest(arguments=arguments):
                self.fail_with(USAGE, message, *call, *arguments)
        self.fail_with(USAGE, "--heads has 9.0, expected a head from 0.0 to 1.3",
                       *call, "--heads", "9.0")
        self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    cli_case.main()
