"""What a model does without some of its heads: headwise ablate."""
import csv
import io
import json
import math
import statistics

import cli_case
import tiny_causal
import tiny_model
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, CliTest
from importance_test import HEADS, WORDS, labelled

T_9 = 2.262157  # of 95%, for ten examples


def mean(values):
    return math.fsum(values) / len(values)


def name_of(row):
    return [[head["layer"], head["head"]] for head in row["heads"]]


class AblateTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "plain")
        self.put_text(labelled(), "data.tsv")
        self.put_text("".join(text + "\n" for texts in WORDS.values()
                              for text in texts), "lines.txt")
        self.succeed("train", "--model", "plain", "--data", "data.tsv", "--out",
                     "model")

    def ablate(self, *arguments, data="data.tsv", model="model", **options):
        return self.succeed("ablate", "--model", model, "--data", data,
                            *arguments, **options)

    def effects(self, *arguments, **options):
        report = json.loads(self.ablate(*arguments, "--json", **options))
        return report, {str(name_of(row)): row for row in report["effects"]}

    def test_each_head_has_the_loss_that_importance_measures(self):
        report, rows = self.effects("--each")
        self.succeed("importance", "--model", "model", "--data", "data.tsv",
                     "--method", "ablation", "--out", "s.json")
        scores = json.loads((self.folder / "s.json").read_text())["scores"]
        self.assertEqual(len(rows), len(HEADS))
        for layer, head in HEADS:
            self.assertAlmostEqual(rows[str([[layer, head]])]["loss"]["mean"],
                                   scores[layer][head], delta=1e-12)
        sizes = [row["loss"]["mean"] for row in report["effects"]]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertEqual(report["examples"], 10)
        self.assertEqual(report["replace"], "zero")
        self.assertGreater(report["whole"]["accuracy"]["mean"], 0.4)

    def test_several_heads_go_together(self):
        report, rows = self.effects("--heads", "1.1,0.0")
        self.assertEqual(list(rows), [str([[1, 1], [0, 0]])])
        _, again = self.effects("--heads", "0.0,1.1")
        self.assertEqual([row["loss"] for row in rows.values()],
                         [row["loss"] for row in again.values()])
        _, pairs = self.effects("--pairs")
        self.assertEqual(pairs[str([[0, 0], [1, 1]])]["loss"],
                         rows[str([[1, 1], [0, 0]])]["loss"])

    def test_a_pair_interacts_beyond_its_heads(self):
        _, rows = self.effects("--pairs")
        self.assertEqual(len(rows), 4 + 6)
        both = rows[str([[0, 1], [1, 0]])]
        self.assertAlmostEqual(
            both["interaction"]["loss"]["mean"],
            both["loss"]["mean"] - rows[str([[0, 1]])]["loss"]["mean"] -
            rows[str([[1, 0]])]["loss"]["mean"], delta=1e-12)
        self.assertNotIn("interaction", rows[str([[0, 1]])])
        _, few = self.effects("--pairs", "--heads", "0.1,1.0")
        self.assertEqual(len(few), 3)
        self.assertEqual(few[str([[0, 1], [1, 0]])], both)
        table = self.ablate("--pairs")
        self.assertIn("0.1+1.0", table)
        self.assertIn("interaction", table)

    def test_without_labels_it_is_how_far_embeddings_move(self):
        """Against the encoder in plain Python."""
        _, rows = self.effects("--heads", "0.1", data="lines.txt")
        whole, without = tiny_model.Encoder(), tiny_model.Encoder()
        size = tiny_model.HIDDEN // tiny_model.HEADS
        name = "encoder.layer.0.attention.output.dense.weight"
        shape, values = without.made[name]
        without.made[name] = shape, tuple(
            0.0 if n % tiny_model.HIDDEN // size == 1 else value
            for n, value in enumerate(values))
        ids = {"heads": 5, "matter": 6, "##s": 7, "!": 8, "<": 9, "&": 10,
               "so": 12}
        moved = []
        for text in [text for texts in WORDS.values() for text in texts]:
            words = text.replace("matters", "matter ##s").split()
            tokens = [2, *(ids[word] for word in words), 3]
            e, e_0 = ([mean(column) for column in zip(*encoder.hidden(tokens))]
                      for encoder in (without, whole))
            moved.append(math.dist(e, e_0) / math.hypot(*e_0))
        got = rows[str([[0, 1]])]["distance"]
        self.assertAlmostEqual(got["mean"], mean(moved), delta=1e-5)
        half = T_9 * statistics.stdev(moved) / math.sqrt(len(moved))
        self.assertAlmostEqual(got["high"] - got["mean"], half, delta=1e-5)
        self.assertAlmostEqual(got["mean"] - got["low"], half, delta=1e-5)

    def test_replacements_differ(self):
        losses = set()
        for by in ("zero", "mean", "uniform"):
            report, rows = self.effects("--heads", "1.0", "--replace", by)
            self.assertEqual(report["replace"], by)
            losses.add(rows[str([[1, 0]])]["loss"]["mean"])
        self.assertEqual(len(losses), 3)

    def test_neither_threads_nor_examples_beside_it_change_a_number(self):
        for by in ("zero", "mean", "uniform"):
            one = self.ablate("--pairs", "--replace", by, "--json", "--threads",
                              "1")
            self.assertEqual(one, self.ablate("--pairs", "--replace", by,
                                              "--json", "--threads", "2"))

    def test_csv_has_every_number_and_the_table_its_first_rows(self):
        rows = list(csv.DictReader(io.StringIO(self.ablate("--each", "--csv"))))
        _, by_name = self.effects("--each")
        self.assertEqual(len(rows), 4)
        for row in rows:
            layer, head = map(int, row["heads"].split("."))
            effect = by_name[str([[layer, head]])]
            for name in ("loss", "accuracy"):
                for key, column in (("mean", name), ("low", name + "_low"),
                                    ("high", name + "_high")):
                    self.assertEqual(float(row[column]), effect[name][key])
        table = self.ablate("--each", "--top", "2")
        self.assertIn("2 more:", table)
        self.assertIn("95% confidence interval", table)
        self.assertIn(rows[0]["heads"], table)
        self.assertEqual(len(self.ablate("--each", "--csv", "--top", "2")
                             .splitlines()), 3)

    def test_one_example_has_no_interval(self):
        report, rows = self.effects("--heads", "0.0", "--examples", "1")
        self.assertEqual(report["examples"], 1)
        loss = rows[str([[0, 0]])]["loss"]
        self.assertIsNotNone(loss["mean"])
        self.assertIsNone(loss["low"])
        text = self.ablate("--heads", "0.0", "--examples", "1")
        self.assertNotIn("nan", text)
        self.assertNotIn("in brackets", text)
        self.assertIn("in brackets", self.ablate("--heads", "0.0"))

    def test_a_pruned_model_has_the_heads_that_stayed(self):
        self.succeed("importance", "--model", "model", "--data", "data.tsv",
                     "--out", "s.json")
        order = json.loads((self.folder / "s.json").read_text())["order"]
        self.succeed("prune", "--model", "model", "--scores", "s.json",
                     "--remove", "3", "--out", "pruned")
        _, rows = self.effects("--each", model="pruned")
        self.assertEqual(list(rows), [str([order[3]])])
        gone = ".".join(map(str, order[0]))
        self.fail_with(USAGE, f"--heads has {gone}, expected one of the heads "
                       "of layer 1: 1", "ablate", "--model", "pruned", "--data",
                       "data.tsv", "--heads", gone)
        self.succeed("prune", "--model", "model", "--scores", "s.json",
                     "--remove", "4", "--out", "none")
        for asked in (["--each"], ["--pairs"], ["--heads", "0.0"]):
            self.fail_with(BAD_INPUT, "--model has no heads left", "ablate",
                           "--model", "none", "--data", "data.tsv", *asked)

    def test_what_cannot_be_measured_is_said(self):
        tiny_causal.write(self.folder / "causal")
        tiny_causal.write(self.folder / "large", scale=1e12)
        self.put_text("w1\nw2\n", "short.txt")
        self.put_text("w1 w2 w3\n", "long.txt")
        for model, data, message in (
                ("causal", "short.txt", "--data has only texts of 1 token, "
                 "expected at least 2, the second of which is predicted"),
                ("large", "long.txt", "--model gives outputs that are NaN or "
                 "infinite, expected finite outputs")):
            self.fail_with(BAD_INPUT, message, "ablate", "--model", model,
                           "--data", data, "--each")
        self.assertIn("1 example of standard input", self.succeed(
            "ablate", "--model", "causal", "--data", "-", "--each",
            stdin=b"w1 w2 w1\n"))

    def test_a_causal_model_predicts_next_tokens(self):
        tiny_causal.write(self.folder / "causal")
        texts = ["w1 w2 w3 w1 w2 w3", "w5 w6 w5 w6", "w9"]
        self.put_text("\n".join(texts) + "\n", "texts.txt")
        report, rows = self.effects("--each", model="causal",
                                    data="texts.txt")
        self.assertEqual(len(rows), 4)
        self.assertGreater(report["whole"]["loss"]["mean"], 0)
        # One token predicts nothing.
        self.assertEqual(report["examples"], 2)
        self.assertIn("causal: 2 examples of texts.txt", self.ablate(
            "--each", model="causal", data="texts.txt"))
        # "w1 w2" and "w2 w3" come twice, and "w5 w6".
        self.assertIn("accuracy_on_repeats", rows[str([[0, 0]])])
        self.assertIn("; on repeats loss", self.ablate("--each", model="causal",
                                                  data="texts.txt"))
        table = list(csv.DictReader(io.StringIO(self.ablate(
            "--each", "--csv", model="causal", data="texts.txt"))))
        for row in table:
            layer, head = map(int, row["heads"].split("."))
            for name in ("loss_on_repeats", "accuracy_on_repeats"):
                self.assertEqual(float(row[name]),
                                 rows[str([[layer, head]])][name]["mean"])
        for line in self.ablate("--each", "--csv", model="causal",
                                data="texts.txt").splitlines()[1:]:
            self.assertEqual(line.split(",")[1], "2")
        self.assertIn("accuracy", rows[str([[0, 0]])])
        for by in ("mean", "uniform"):
            _, other = self.effects("--heads", "0.0", "--replace", by,
                                    model="causal", data="texts.txt")
            self.assertNotEqual(other[str([[0, 0]])]["loss"],
                                rows[str([[0, 0]])]["loss"])
        self.fail_with(USAGE, "--data has labels, expected text alone",
                       "ablate", "--model", "causal", "--data", "data.tsv",
                       "--each")
        self.put_text("w1 w2\n \n", "blank.txt")
        self.fail_with(BAD_INPUT, "blank.txt", "ablate", "--model", "causal",
                       "--data", "blank.txt", "--each")

    def test_heads_are_sorted_by_what_is_asked(self):
        tiny_causal.write(self.folder / "causal")
        self.put_text("w4 w5 w6 w4 w5\nw10 w2 w10 w2\n", "texts.txt")
        order = {}
        for name, sign in (("loss", 1), ("accuracy", -1),
                           ("loss_on_repeats", 1), ("accuracy_on_repeats", -1)):
            report, _ = self.effects("--each", "--sort", name, model="causal",
                                     data="texts.txt")
            self.assertEqual(report["sorted_by"], name)
            harm = [sign * row[name]["mean"] for row in report["effects"]]
            self.assertEqual(harm, sorted(harm, reverse=True))
            order[name] = [name_of(row) for row in report["effects"]]
        self.assertNotEqual(order["loss"], order["loss_on_repeats"])
        self.assertEqual(self.ablate("--each", "--sort", "loss"),
                         self.ablate("--each"))
        report, _ = self.effects("--each", "--sort", "accuracy")
        falls = [row["accuracy"]["mean"] for row in report["effects"]]
        self.assertEqual(falls, sorted(falls))
        for model, data, name, known in (
                ("causal", "texts.txt", "distance", "one of loss, accuracy, "
                 "loss_on_repeats, accuracy_on_repeats"),
                ("model", "data.tsv", "loss_on_repeats", "one of loss, accuracy"),
                ("plain", "lines.txt", "loss", "distance")):
            self.fail_with(USAGE, f"--sort is {name}, expected {known}",
                           "ablate", "--model", model, "--data", data, "--each",
                           "--sort", name)

    def test_the_interaction_of_pairs_is_that_of_the_sorting(self):
        tiny_causal.write(self.folder / "causal")
        self.put_text("w1 w2 w3 w1 w2 w3\nw5 w6 w4 w5 w6 w7\n", "texts.txt")
        asked = ["--pairs", "--sort", "loss_on_repeats"]
        options = {"model": "causal", "data": "texts.txt"}
        report, rows = self.effects(*asked, **options)
        sizes = [abs(row["interaction"]["loss_on_repeats"]["mean"])
                 for row in report["effects"] if "interaction" in row]
        self.assertEqual(len(sizes), 6)
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        table = list(csv.DictReader(io.StringIO(self.ablate(*asked, "--csv",
                                                            **options))))
        for row in table[:6]:
            heads = [list(map(int, head.split(".")))
                     for head in row["heads"].split("+")]
            self.assertEqual(
                float(row["interaction"]),
                rows[str(heads)]["interaction"]["loss_on_repeats"]["mean"])
        self.assertIn("interaction of losses on repeats",
                      self.ablate(*asked, **options))

    def test_words_that_the_vocabulary_lacks_are_counted(self):
        tiny_causal.write(self.folder / "causal")
        self.put_text("w1 dog w3 cat\nw2 w4\n", "texts.txt")
        self.put_text("w1 w2\n", "known.txt")
        of_file = "--texts", "texts.txt"
        text = "w1 dog w3 cat w2 w4"
        for tokens, share, arguments in (
                (6, "33.3", ("ablate", "--data", "texts.txt", "--each")),
                (6, "33.3", ("heads", "--find", "previous", *of_file)),
                (6, "33.3", ("stats", *of_file)),
                (6, "33.3", ("stats", text)),
                (6, "33.3", ("view", text, "--out", "a.html")),
                (6, "33.3", ("view", text, "--svg", "a.svg")),
                (6, "33.3", ("view", *of_file, "--out", "b.html", "--ablate",
                             "0.0")),
                (8, "25", ("patch", "--clean", "w1 dog w2 w3", "--corrupted",
                           "w1 cat w4 w3", "--heads-only")),
                (6, "33.3", ("prune", "--heads", "0.0", "--data", "texts.txt",
                             "--out", "pruned"))):
            with self.subTest(arguments):
                done = self.run_it(*arguments, "--model", "causal")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(
                    done.stderr.decode().splitlines()[-1],
                    f"causal: 2 of {tokens} tokens ({share}%) are words that "
                    "its vocabulary lacks ([UNK])")
        for arguments in (("ablate", "--data", "texts.txt", "--each"),
                          ("heads", "--find", "previous", *of_file),
                          ("stats", *of_file)):
            report = json.loads(self.run_it(*arguments, "--model", "causal",
                                            "--json").stdout)
            self.assertEqual(report["unknown_tokens"], 2)
        self.ablate("--each", model="causal", data="known.txt")

    def test_cut_texts_are_counted(self):
        report, _ = self.effects("--heads", "0.0", "--max-tokens", "3")
        self.assertEqual((report["max_tokens"], report["cut_texts"]), (3, 7))
        self.assertIn("7 texts had more than 3 tokens; the rest was cut off",
                      self.ablate("--heads", "0.0", "--max-tokens", "3"))
        self.assertNotIn("cut off", self.ablate("--heads", "0.0"))
        self.fail_with(USAGE, "--max-tokens is 999, expected 2 to", "ablate",
                       "--model", "model", "--data", "data.tsv", "--each",
                       "--max-tokens", "999")

    def test_korean_names_what_it_shows(self):
        text = self.ablate("--each", env={"LC_ALL": "ko_KR.UTF-8"})
        self.assertIn("95% 신뢰 구간", text)
        self.assertIn("정확도", text)

    def test_names_of_files_cannot_move_the_cursor(self):
        self.put_text(labelled(), "a\x1b[2J.tsv")
        self.assertNotIn("\x1b", self.ablate("--each", data="a\x1b[2J.tsv"))

    def test_data_comes_from_standard_input(self):
        self.assertEqual(
            self.ablate("--each", "--csv", data="-", stdin=labelled().encode()),
            self.ablate("--each", "--csv"))

    def test_what_cannot_be_asked_is_said(self):
        def refused(message, *arguments, code=USAGE, model="model",
                    data="data.tsv"):
            self.fail_with(code, message, "ablate", "--model", model, "--data",
                           data, *arguments)

        refused("expected --heads, --each or --pairs")
        refused("--each and --pairs cannot be used together", "--each",
                "--pairs")
        refused("--json and --csv cannot be used together", "--each", "--json",
                "--csv")
        for heads in ("3", "a.b", "1.0,", "1.0;1.1", "-1.0", "1.0 ", "1.2.3",
                      "99999999999999999999.1"):
            refused(f"--heads is {heads}, expected LAYER.HEAD",
                    f"--heads={heads}")
        refused("--heads has 1.0 twice", "--heads", "1.0,0.1,1.0")
        refused("--heads has 2.0, expected a head from 0.0 to 1.1", "--heads",
                "0.0,2.0")
        refused("--heads has 1.2, expected one of the heads of layer 1: 0", "--heads", "1.2", "--each")
        refused("--heads has 1 head, expected at least 2", "--heads", "1.0",
                "--pairs")
        refused("--replace is none", "--each", "--replace", "none")
        refused("--max-tokens is 1", "--each", "--max-tokens", "1")
        refused("has no classifier", "--each", code=BAD_INPUT, model="plain")
        refused("no.tsv", "--each", code=BAD_INPUT, data="no.tsv")
        refused("nowhere", "--each", code=BAD_INPUT, model="nowhere")
        self.put_text(b"", "empty.txt")
        refused("empty.txt", "--each", code=BAD_INPUT, data="empty.txt")
        self.put_text("strange\theads\n", "strange.tsv")
        refused("--data: strange.tsv: line 1", "--each", code=BAD_INPUT,
                data="strange.tsv")
        self.put_text(b"good\t\xff\xfe\n", "bad.tsv")
        refused("bad.tsv", "--each", code=BAD_INPUT, data="bad.tsv")


if __name__ == "__main__":
    cli_case.main()
