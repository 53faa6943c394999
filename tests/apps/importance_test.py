"""Which heads matter, and a model without the others: headwise importance and
headwise prune."""
import hashlib
import json
import math
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import cli_case
import tiny_model
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, CliTest, read_npy
from train_model_test import read_safetensors

WORDS = {"good": ["heads", "matter", "heads matter", "so heads", "matters"],
         "bad": ["!", "& <", "! !", "< & !", "& !"]}
HEADS = [[layer, head] for layer in range(tiny_model.LAYERS)
         for head in range(tiny_model.HEADS)]


def labelled(times=1):
    return "".join(f"{label}\t{text}\n" for _ in range(times)
                   for label, texts in WORDS.items() for text in texts)


class ScoresTest(CliTest):
    """A model with a classifier, and scores of its heads."""

    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "plain")
        self.put_text(labelled().encode(), "data.tsv")
        self.put_text("".join(text + "\n" for texts in WORDS.values()
                              for text in texts).encode(), "lines.txt")
        self.succeed("train", "--model", "plain", "--data", "data.tsv", "--out",
                     "model")

    def scores(self, *arguments, model="model", data="data.tsv",
               out="scores.json"):
        printed = self.succeed("importance", "--model", model, "--data", data,
                               "--out", out, *arguments)
        return json.loads((self.folder / out).read_text()), printed

    def prune(self, *arguments, out="out", model="model"):
        return json.loads(self.succeed(
            "prune", "--model", model, "--scores", "scores.json", "--out", out,
            "--json", *arguments))

    def embeddings(self, model):
        self.succeed("encode", "--model", model, "lines.txt", "--out", "e.npy")
        return read_npy(self.folder / "e.npy")


class ImportanceTest(ScoresTest):
    def test_every_method_orders_all_heads_by_their_scores(self):
        for method in ("gradient", "fisher", "ablation", "entropy",
                       "confidence", "random"):
            for data in ("data.tsv", "lines.txt"):
                file, printed = self.scores("--method", method, data=data)
                self.assertEqual(file["method"], method)
                self.assertEqual(file["loss"], "classification"
                                 if data == "data.tsv" else "embedding")
                self.assertEqual(sorted(file["order"]), HEADS)
                by_score = sorted((file["scores"][l][h], [l, h])
                                  for l, h in HEADS)
                self.assertEqual(file["order"], [id for _, id in by_score])
                self.assertIn(f"{method} of 4 heads", printed)
                self.assertEqual(
                    " loss of " in printed,
                    method in ("gradient", "fisher", "ablation"), printed)

    def test_gradient_scores_of_a_layer_have_the_length_one(self):
        for layer in self.scores()[0]["scores"]:
            self.assertAlmostEqual(math.hypot(*layer), 1)

    def test_json_is_what_the_file_holds_and_the_picture_is_svg(self):
        _, printed = self.scores("--json", "--svg", "scores.svg")
        self.assertEqual(printed, (self.folder / "scores.json").read_text())
        root = ElementTree.parse(self.folder / "scores.svg").getroot()
        self.assertTrue(root.tag.endswith("svg"))

    def test_neither_threads_nor_batches_of_reading_change_scores(self):
        one, _ = self.scores("--threads", "1")
        two, _ = self.scores("--threads", "2")
        self.assertEqual(one, two)

    def test_without_a_classifier_one_is_trained_on_the_data(self):
        file, _ = self.scores(model="plain")
        self.assertEqual(file["loss"], "classification")

    def test_iterative_rounds_end_with_every_head_in_the_order(self):
        file, _ = self.scores("--iterative", "0.25")
        self.assertEqual(sorted(file["order"]), HEADS)
        self.assertEqual(file["share_a_round"], 0.25)

    def test_examples_are_spread_over_the_file(self):
        file, _ = self.scores("--examples", "4")
        self.assertEqual(file["examples"], 4)
        first, _ = self.scores()
        self.assertNotEqual(file["scores"], first["scores"])

    def test_an_interrupted_run_is_gone_on_with(self):
        self.put_text(labelled(4000 if not cli_case.SANITIZED else 400).encode(),
                      "long.tsv")
        arguments = ["importance", "--model", "model", "--data", "long.tsv",
                     "--batch", "2", "--threads", "1", "--save-every", "1", "--out"]
        process = subprocess.Popen(
            [cli_case.HEADWISE, *arguments, "cut.json"], cwd=self.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        journal = self.folder / "cut.json.partial"
        for _ in range(600):
            if journal.exists() or process.poll() is not None:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.wait()
        if journal.exists():
            state = json.loads(journal.read_text().splitlines()[0])
            self.assertGreater(state["state"]["done"], 0)
            # What it goes on from is what the journal says.
            state["state"]["sums"] = [1.0] * 5
            text = json.dumps(state)
            digest = hashlib.sha256(text.encode()).hexdigest()
            other = self.folder / "other.json.partial"
            other.write_text(f"{text}\n{digest}\n")
            damaged = self.folder / "damaged.json.partial"
            damaged.write_text(f"{text}\n{'0' * 64}\n")
        self.succeed(*arguments, "cut.json")
        self.succeed(*arguments, "whole.json")
        self.assertFalse(journal.exists())
        self.assertEqual((self.folder / "cut.json").read_text(),
                         (self.folder / "whole.json").read_text())
        if (self.folder / "other.json.partial").exists():
            self.succeed(*arguments, "other.json")
            self.assertNotEqual((self.folder / "other.json").read_text(),
                                (self.folder / "whole.json").read_text())
            self.succeed(*arguments, "damaged.json")
            self.assertEqual((self.folder / "damaged.json").read_text(),
                             (self.folder / "whole.json").read_text())

    def test_a_journal_that_cannot_be_read_is_as_if_it_were_not_there(self):
        whole, _ = self.scores()
        for text in ("", "{", "[]", '{"of": 1}', '{"of": {}, "state": 3}'):
            self.put_text(text.encode(), "again.json.partial")
            self.assertEqual(self.scores(out="again.json")[0], whole)

    def test_what_is_wrong_with_the_data_is_named_with_its_line(self):
        for text, message in (
                ("good\theads\nmatter\n", "line 2 has no tab"),
                ("heads\ngood\tmatter\n", "line 2 has a tab"),
                ("\theads\n", "line 1 has no label"),
                ("good\t \n", "line 1 has no text"),
                ("", "is empty"),
                ("ugly\theads\n", "line 1 has the label ugly, expected one of the "
                                  "model's: bad, good")):
            self.put_text(text.encode(), "bad.tsv")
            self.fail_with(BAD_INPUT, message, "importance", "--model", "model",
                           "--data", "bad.tsv", "--out", "s.json")
            self.assertFalse((self.folder / "s.json").exists())
        self.put_text(b"good\theads\n", "one.tsv")
        self.fail_with(BAD_INPUT, "labels has 1 text", "importance",
                       "--model", "plain", "--data", "one.tsv", "--out",
                       "s.json")
        self.fail_with(USAGE, "--method is magic", "importance", "--model",
                       "model", "--data", "data.tsv", "--method", "magic",
                       "--out", "s.json")
        self.fail_with(BAD_INPUT, "no.tsv", "importance", "--model", "model",
                       "--data", "no.tsv", "--out", "s.json")
        self.fail_with(OUT_OF_RESOURCES, "nowhere/s.json", "importance",
                       "--model", "model", "--data", "data.tsv", "--out",
                       "nowhere/s.json")


class PruneTest(ScoresTest):
    def setUp(self):
        super().setUp()
        self.scores()

    def test_keeping_all_keeps_every_byte(self):
        report = self.prune("--keep", "4")
        self.assertEqual(report["heads_after"], 4)
        for name in ("config.json", "vocab.txt", "classifier.safetensors"):
            self.assertEqual((self.folder / "model" / name).read_bytes(),
                             (self.folder / "out" / name).read_bytes())
        self.assertEqual(self.embeddings("model"), self.embeddings("out"))

    def test_amounts_are_numbers_and_shares(self):
        for arguments, left in ((("--keep", "3"), 3), (("--remove", "1"), 3),
                                (("--remove", "50%"), 2), (("--keep", "0"), 0),
                                (("--remove", "100%"), 0)):
            report = self.prune(*arguments)
            self.assertEqual(report["heads_after"], left)
            self.assertEqual(sum(report["heads_of_layers"]), left)
            self.assertLessEqual(report["bytes_after"], report["bytes_before"])
            self.embeddings("out")

    def test_the_pruned_model_is_the_gated_one(self):
        """Against the encoder in plain Python, without the heads that went."""
        file = json.loads((self.folder / "scores.json").read_text())
        self.prune("--remove", "3", "--drop-constant")
        gone = file["order"][:3]
        encoder = tiny_model.Encoder()
        size = tiny_model.HIDDEN // tiny_model.HEADS
        for layer, head in gone:
            name = f"encoder.layer.{layer}.attention.output.dense.weight"
            shape, values = encoder.made[name]
            encoder.made[name] = shape, tuple(
                0.0 if n % tiny_model.HIDDEN // size == head else value
                for n, value in enumerate(values))
        self.put_text(b"heads matter!\n", "one.txt")
        self.succeed("encode", "--model", "out", "one.txt", "--out", "e.npy")
        hidden = encoder.hidden([2, 5, 6, 8, 3])
        mean = [math.fsum(column) / 5 for column in zip(*hidden)]
        _, got = read_npy(self.folder / "e.npy")
        for a, b in zip(got, mean, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-5)

    def test_a_pruned_model_is_scored_pruned_viewed_and_trained_again(self):
        self.prune("--remove", "1")
        self.scores(model="out", out="more.json")
        self.succeed("prune", "--model", "out", "--scores", "more.json",
                     "--remove", "1", "--out", "out2")
        page = self.succeed("view", "--model", "out2", "heads matter", "--json")
        self.assertEqual(len(json.loads(page)["pruned"]), 2)
        self.succeed("train", "--model", "out2", "--data", "data.tsv", "--train",
                     "all", "--epochs", "1", "--out", "trained")
        self.embeddings("trained")

    def test_accuracy_is_measured_or_said_not_to_be(self):
        report = self.prune("--remove", "1")
        self.assertIn("no --data", report["accuracy_not_measured"])
        report = self.prune("--remove", "1", "--data", "data.tsv")
        self.assertEqual(report["before"]["texts"], 10)
        self.assertLessEqual(report["before"]["low"],
                             report["before"]["accuracy"])
        report = self.prune("--remove", "1", "--data", "lines.txt")
        self.assertGreater(report["cosine"], 0)
        text = self.succeed("prune", "--model", "model", "--scores",
                            "scores.json", "--remove", "1", "--out", "out",
                            "--data", "data.tsv")
        self.assertRegex(text, r"accuracy +\d+\.\d% \(")
        self.assertIn("attention ", text)
        self.assertIn("whole model ", text)

    def test_most_heads_within_a_drop(self):
        none = self.prune("--max-drop", "0%", "--data", "data.tsv")
        self.assertLessEqual(none["before"]["accuracy"],
                             none["after"]["accuracy"])
        all_may = self.prune("--max-drop", "100%", "--data", "data.tsv")
        self.assertEqual(all_may["heads_after"], 0)
        self.assertFalse((self.folder / "out.partial").exists())

    def test_corrected_outputs_are_nearer(self):
        plain = self.prune("--remove", "2", "--data", "lines.txt")
        fitted = self.prune("--remove", "2", "--data", "lines.txt", "--correct")
        self.assertTrue(fitted["corrected"])
        self.assertGreater(fitted["cosine"], plain["cosine"])

    def test_the_curve_compares_with_random_orders(self):
        done = self.succeed("prune", "--model", "model", "--scores",
                            "scores.json", "--data", "data.tsv", "--curve",
                            "curve.svg", "--random", "3", "--json")
        curve = json.loads(done)
        self.assertEqual(curve["points"][0]["removed"], 0)
        self.assertEqual(len(curve["points"][5]["random"]), 3)
        ElementTree.parse(self.folder / "curve.svg")
        again = self.succeed("prune", "--model", "model", "--scores",
                             "scores.json", "--data", "data.tsv", "--curve",
                             "curve.svg", "--random", "3")
        self.assertIn("mean over random orders (3)", again)
        # Columns begin where their headings do, whatever is in them.
        heading, *rows, last = again.splitlines()
        self.assertEqual(last, "curve.svg: accuracy curve")
        self.assertEqual(len(rows), 10)
        for title in ("accuracy", "change in points", "mean over"):
            at = heading.index(title)
            for row in rows:
                self.assertEqual(row[at - 2:at], "  ", again)
                self.assertNotEqual(row[at], " ", again)

    def test_a_full_size_export_is_the_pruned_model_in_the_original_shapes(self):
        file = json.loads((self.folder / "scores.json").read_text())
        for extra in ((), ("--correct", "--data", "lines.txt"),
                      ("--drop-constant",)):
            with self.subTest(extra):
                for name in ("out", "full"):
                    shutil.rmtree(self.folder / name, ignore_errors=True)
                self.prune("--remove", "3", *extra)
                report = self.prune("--remove", "3", "--export", "full-size",
                                    *extra, out="full")
                self.assertEqual((report["export"], report["heads_after"]),
                                 ("full-size", 1))
                _, pruned = self.embeddings("out")
                _, full = self.embeddings("full")
                for a, b in zip(full, pruned, strict=True):
                    self.assertAlmostEqual(a, b, delta=1e-5)
                self.assert_full_size(file["order"][:3])

    def assert_full_size(self, gone):
        """What any reader of BERT's files finds in the folder."""
        metadata, full = read_safetensors(self.folder /
                                          "full/model.safetensors")
        _, source = read_safetensors(self.folder / "model/model.safetensors")
        self.assertNotIn("kept_heads", metadata)
        self.assertNotIn("num_heads", metadata)
        self.assertEqual({name: shape for name, (shape, _) in full.items()},
                         {name: shape for name, (shape, _) in source.items()})
        config = json.loads((self.folder / "full/config.json").read_text())
        self.assertEqual(config, tiny_model.CONFIG)
        encoder = tiny_model.Encoder()
        for name, (shape, data) in full.items():
            encoder.made[name] = shape, struct.unpack(f"<{len(data) // 4}f",
                                                      data)
        size = tiny_model.HIDDEN // tiny_model.HEADS
        for layer, head in gone:
            own = range(head * size, (head + 1) * size)
            start = f"encoder.layer.{layer}.attention."
            for part in ("query", "key", "value"):
                _, weight = encoder.made[f"{start}self.{part}.weight"]
                _, bias = encoder.made[f"{start}self.{part}.bias"]
                for row in own:
                    self.assertEqual(bias[row], 0)
                    self.assertFalse(any(weight[row * tiny_model.HIDDEN:
                                                (row + 1) * tiny_model.HIDDEN]))
            _, weight = encoder.made[f"{start}output.dense.weight"]
            self.assertFalse(any(weight[n] for n in range(len(weight))
                                 if n % tiny_model.HIDDEN in own))
        # And the plain encoder computes with it what headwise does.
        self.put_text(b"heads matter!\n", "one.txt")
        self.succeed("encode", "--model", "full", "one.txt", "--out", "e.npy")
        hidden = encoder.hidden([2, 5, 6, 8, 3])
        _, got = read_npy(self.folder / "e.npy")
        for a, column in zip(got, zip(*hidden), strict=True):
            self.assertAlmostEqual(a, math.fsum(column) / 5, delta=1e-5)

    def test_a_full_size_export_of_a_pruned_folder_has_all_heads_again(self):
        self.prune("--remove", "1")
        self.scores(model="out", out="more.json")
        done = self.succeed("prune", "--model", "out", "--scores", "more.json",
                            "--remove", "1", "--export", "full-size", "--out",
                            "full")
        self.assertIn("full: 2 of 3 heads", done)
        self.assertIn("transformers loads the folder", done)
        _, source = read_safetensors(self.folder / "model/model.safetensors")
        _, full = read_safetensors(self.folder / "full/model.safetensors")
        self.assertEqual({name: shape for name, (shape, _) in full.items()},
                         {name: shape for name, (shape, _) in source.items()})
        self.embeddings("full")

    def test_the_report_says_what_transformers_needs(self):
        call = ("prune", "--model", "model", "--scores", "scores.json")
        self.assertIn("for transformers use --export full-size", self.succeed(
            *call, "--remove", "1", "--out", "out"))
        self.assertNotIn("transformers", self.succeed(
            *call, "--keep", "4", "--out", "out2"))
        self.assertEqual(self.prune("--remove", "1", out="out3")["export"],
                         "pruned")
        self.fail_with(USAGE, "--export needs --out", *call, "--data",
                       "data.tsv", "--curve", "c.svg", "--export", "pruned")
        self.fail_with(USAGE, "--export is half, expected one of pruned, "
                       "full-size", *call, "--keep", "1", "--out", "o",
                       "--export", "half")

    def test_scores_that_are_not_of_this_model_or_not_scores(self):
        good = json.loads((self.folder / "scores.json").read_text())

        def refused(message, text=None, **changes):
            self.put_text((text or json.dumps({**good, **changes})).encode(),
                          "bad.json")
            self.fail_with(BAD_INPUT, message, "prune", "--model", "model",
                           "--scores", "bad.json", "--remove", "1", "--out",
                           "refused")
            self.assertFalse((self.folder / "refused").exists())

        refused("scores of another model: its parameters",
                model={"sha256": "0" * 64, "num_heads": 2})
        refused("scores of another model: its layers have other heads",
                heads=[[0, 1], [0]], scores=[[1, 2], [3]],
                order=[[0, 0], [0, 1], [1, 0]])
        refused("scores[1][0] is null, expected a finite number",
                scores=[[1, 2], [None, 3]])
        refused("is not a score file",
                json.dumps(good).replace('"scores"', '"scores').encode()
                .decode())
        refused("is not a score file", "{}")
        refused("is not a score file",
                json.dumps({**good, "scores": [[1, 2], [3, 4]]})
                .replace("4", "NaN"))
        refused("scores[1] has 1 scores, expected 2", scores=[[1, 2], [3]])
        refused("order has 3 heads, expected each of the 4",
                order=good["order"][:3])
        refused("order[0] is", order=["0.1", *good["order"][1:]])
        refused("version is 2", version=2)
        refused("has no heads", text=json.dumps(
            {key: value for key, value in good.items() if key != "heads"}))

    def test_what_cannot_be_asked_is_said(self):
        def refused(message, *arguments, model="model"):
            self.fail_with(USAGE, message, "prune", "--model", model, "--scores",
                           "scores.json", *arguments)

        refused("--keep is 5, expected at most 4, the number of heads", "--keep",
                "5", "--out", "o")
        refused("--remove is 101%", "--remove", "101%", "--out", "o")
        refused("--remove is 5,", "--remove", "5", "--out", "o")
        refused("--remove is half", "--remove", "half", "--out", "o")
        refused("--remove is -1", "--remove=-1", "--out", "o")
        refused("one of --keep, --remove and --max-drop", "--out", "o")
        refused("one of --keep, --remove and --max-drop", "--keep", "1",
                "--remove", "1", "--out", "o")
        refused("either --out DIR or --curve", "--keep", "1")
        refused("--max-drop needs --data", "--max-drop", "1%", "--out", "o")
        refused("--max-drop is 1,", "--max-drop", "1", "--data", "data.tsv",
                "--out", "o")
        refused("--max-drop needs an accuracy, but --data has no labels",
                "--max-drop", "1%", "--data", "lines.txt", "--out", "o")
        refused("--random needs --curve FILE", "--random", "3", "--keep", "1",
                "--out", "o")
        refused("--correct needs --data", "--correct", "--keep", "1", "--out",
                "o")
        self.assertFalse((self.folder / "o").exists())
        shutil.copytree(self.folder / "model", self.folder / "same")
        refused("--out is same, expected another folder than --model's",
                "--keep", "1", "--out", "same", model="same")

    def test_a_folder_that_cannot_be_written_leaves_nothing(self):
        if os.geteuid() == 0:
            self.put_text(b"", "file")
            target = "file/out"
        else:
            (self.folder / "closed").mkdir(mode=0o500)
            target = "closed/out"
        self.fail_with(OUT_OF_RESOURCES, target.split("/")[0], "prune",
                       "--model", "model", "--scores", "scores.json", "--keep",
                       "1", "--out", target)


if __name__ == "__main__":
    cli_case.main()
