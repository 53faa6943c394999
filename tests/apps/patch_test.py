"""Heads copied from one text into another: headwise patch."""
import csv
import io
import json
import math

import cli_case
import tiny_causal
import tiny_model
from cli_case import BAD_INPUT, USAGE, CliTest
from importance_test import labelled

CLEAN, CORRUPTED = "so heads matter !", "so heads matter <"
CLEAN_IDS, CORRUPTED_IDS = [2, 12, 5, 6, 8, 3], [2, 12, 5, 6, 9, 3]


class PatchedEncoder(tiny_model.Encoder):
    """Keeps the merged contexts of each layer, or replaces some."""

    def __init__(self, layer=None, head=None, rows=(), source=None):
        super().__init__()
        self.contexts = []
        self.patch = layer, head, rows, source

    def linear(self, name, x):
        if name.endswith("attention.output.dense"):
            layer, head, rows, source = self.patch
            size = tiny_model.HIDDEN // tiny_model.HEADS
            if len(self.contexts) == layer:
                x = [list(row) for row in x]
                for i in rows:
                    for d in range(head * size, (head + 1) * size):
                        x[i][d] = source[layer][i][d]
            self.contexts.append(x)
        return super().linear(name, x)


def embedding(encoder, ids):
    return [math.fsum(column) / len(ids)
            for column in zip(*encoder.hidden(ids))]


class PatchTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "plain")

    def train(self):
        self.put_text(labelled(), "data.tsv")
        self.succeed("train", "--model", "plain", "--data", "data.tsv", "--out",
                     "model")

    def patch(self, *arguments, model="plain", clean=CLEAN,
              corrupted=CORRUPTED, **options):
        return self.succeed("patch", "--model", model, "--clean", clean,
                            "--corrupted", corrupted, *arguments, **options)

    def report(self, *arguments, **options):
        return json.loads(self.patch(*arguments, "--json", **options))

    def test_effects_are_those_of_the_encoder_in_plain_python(self):
        report = self.report()
        source = PatchedEncoder()
        e_1 = embedding(source, CORRUPTED_IDS)
        e_0 = embedding(PatchedEncoder(), CLEAN_IDS)
        way = [b - a for a, b in zip(e_0, e_1)]

        def effect(layer, head, rows):
            e = embedding(PatchedEncoder(layer, head, rows, source.contexts),
                          CLEAN_IDS)
            return (math.fsum((x - a) * w for x, a, w in zip(e, e_0, way)) /
                    math.fsum(w * w for w in way))

        self.assertEqual(report["measure"], "toward_corrupted")
        self.assertEqual(len(report["heads"]), 4)
        for row in report["heads"]:
            at = row["layer"], row["head"]
            self.assertAlmostEqual(row["effect"], effect(*at, range(6)),
                                   delta=2e-5)
            for i, value in enumerate(row["effect_by_position"]):
                self.assertAlmostEqual(value, effect(*at, [i]), delta=2e-5)
        self.assertEqual(report["clean"]["tokens"],
                         ["[CLS]", "so", "heads", "matter", "!", "[SEP]"])

    def test_a_classifier_is_measured_by_the_odds_of_a_label(self):
        self.train()
        report = self.report(model="model")
        self.assertEqual(report["measure"], "log_odds")
        texts = f"{CLEAN}\n{CORRUPTED}\n".encode()
        lines = [json.loads(line) for line in self.succeed(
            "classify", "--model", "model", "--json", stdin=texts).splitlines()]
        self.assertEqual(report["label"], lines[0]["label"])
        for line, side in zip(lines, ("clean", "corrupted")):
            p = line["probabilities"][report["label"]]
            self.assertAlmostEqual(report[side]["value"],
                                   math.log(p / (1 - p)), delta=1e-4)
        good = self.report("--label", "good", model="model")
        bad = self.report("--label", "bad", model="model")
        # With two labels, the odds of one are those against the other.
        for a, b in zip(good["heads"], bad["heads"]):
            self.assertAlmostEqual(a["effect"], -b["effect"], delta=1e-9)
        self.assertIn("log odds of good", self.patch("--label", "good",
                                                     model="model"))

    def test_the_approximation_is_compared_with_what_is_exact(self):
        report = self.report("--compare")
        self.assertEqual([row["effect"] for row in report["heads"]],
                         [row["effect"] for row in self.report()["heads"]])
        fast = self.report("--approximate")
        self.assertEqual(sorted(row["approximate"] for row in report["heads"]),
                         sorted(row["approximate"] for row in fast["heads"]))
        self.assertNotIn("effect", fast["heads"][0])
        for row in report["heads"]:
            self.assertAlmostEqual(
                row["approximate"], math.fsum(row["approximate_by_position"]),
                delta=1e-9)
        self.assertLessEqual(abs(report["correlation"]), 1)
        table = self.patch("--compare")
        self.assertIn("by gradients", table)
        self.assertIn("correlation", table)

    def test_positions_that_change_nothing_are_left_out(self):
        """Tokens of a causal model see nothing of the change before it."""
        tiny_causal.write(self.folder / "causal")
        asked = {"model": "causal", "clean": "w1 w2 w3 w4",
                 "corrupted": "w1 w2 w5 w4"}
        shown = {}
        for line in self.patch("--compare", **asked).splitlines():
            if line[1:2] == ".":
                shown[line.split()[0]] = [int(part.split()[-3 if n == 0 else 0])
                                          for n, part in enumerate(line.split(", "))]
        heads = self.report("--compare", **asked)["heads"]
        self.assertEqual(len(shown), len(heads))
        for row in heads:
            effects = row["effect_by_position"]
            self.assertEqual(effects[:2], [0, 0])
            self.assertEqual(
                sorted(shown[f"{row['layer']}.{row['head']}"]),
                [i for i, effect in enumerate(effects) if effect != 0])
        table = self.patch(model="causal", clean="w1 w2 w3", corrupted="w1 w2 w5")
        self.assertIn(" 2 w3 ", table)
        self.assertNotIn("+0.000", table)

    def test_texts_of_other_lengths_are_patched_by_head(self):
        report = self.report(corrupted="so so heads matter !")
        self.assertNotIn("effect_by_position", report["heads"][0])
        self.assertEqual(len(report["heads"]), 4)
        text = self.patch(corrupted="so so heads matter !")
        self.assertIn("6 and 7 tokens", text)
        self.assertNotIn("strongest positions", text)

    def test_heads_only_leaves_positions_out(self):
        report = self.report("--heads-only")
        self.assertNotIn("effect_by_position", report["heads"][0])
        self.assertEqual([row["effect"] for row in report["heads"]],
                         [row["effect"] for row in self.report()["heads"]])

    def test_csv_has_every_number(self):
        rows = list(csv.DictReader(io.StringIO(self.patch("--compare",
                                                          "--csv"))))
        report = self.report("--compare")
        self.assertEqual(len(rows), 4 * 7)
        for head in report["heads"]:
            own = [row for row in rows
                   if (int(row["layer"]), int(row["head"])) ==
                   (head["layer"], head["head"])]
            self.assertEqual(float(own[0]["effect"]), head["effect"])
            self.assertEqual(own[0]["position"], "")
            self.assertEqual([float(row["approximate"]) for row in own[1:]],
                             head["approximate_by_position"])
            self.assertEqual([row["position"] for row in own[1:]],
                             list("012345"))

    def test_top_keeps_the_largest_effects_in_every_form(self):
        report = self.report()
        sizes = [abs(row["effect"]) for row in report["heads"]]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertEqual(self.report("--top", "2")["heads"],
                         report["heads"][:2])
        rows = self.patch("--csv", "--top", "1").splitlines()
        self.assertEqual(len(rows), 1 + 7)
        largest = report["heads"][0]
        self.assertTrue(rows[1].startswith(
            f"{largest['layer']},{largest['head']},,,"))
        self.assertEqual([row.split(",")[2:4] for row in rows[2:]],
                         [[str(n), f'"{token}"'] for n, token
                          in enumerate(report["clean"]["tokens"])])
        *_, best, more = self.patch("--top", "1").splitlines()
        self.assertEqual(best.split()[0], f"{largest['layer']}.{largest['head']}")
        self.assertEqual(more, "3 more: --top, --json and --csv show them")

    def test_long_texts_are_patched_by_head(self):
        tiny_causal.write(self.folder / "long", positions=80)
        texts = {"clean": "w1 w2 " * 40, "corrupted": "w3 w2 " + "w1 w2 " * 39,
                 "model": "long"}
        report = self.report(**texts)
        self.assertEqual(len(report["clean"]["tokens"]), 80)
        self.assertNotIn("effect_by_position", report["heads"][0])
        self.assertIn("more than 64 tokens", self.patch(**texts))
        fast = self.report("--approximate", **texts)
        self.assertEqual(len(fast["heads"][0]["approximate_by_position"]), 80)
        self.report("--max-tokens", "64", **texts)["heads"][0][
            "effect_by_position"]

    def test_overflowing_models_are_refused(self):
        tiny_causal.write(self.folder / "huge", scale=1e30)
        for option in ((), ("--approximate",), ("--compare",), ("--json",)):
            self.fail_with(BAD_INPUT, "--model gives outputs that are NaN or "
                           "infinite, expected finite outputs", "patch", "--model", "huge", "--clean", "w1 w2",
                           "--corrupted", "w1 w3", *option)

    def test_one_head_has_no_correlation(self):
        tiny_causal.write(self.folder / "causal")
        self.succeed("prune", "--model", "causal", "--heads", "0.0,0.1,1.0",
                     "--out", "one")
        text = self.patch("--compare", model="one", clean="w1 w2",
                          corrupted="w3 w2")
        self.assertIn("approximate effects: -\n", text)
        self.assertNotIn("nan", text)

    def test_threads_change_no_number(self):
        self.assertEqual(self.patch("--compare", "--json", "--threads", "1"),
                         self.patch("--compare", "--json", "--threads", "2"))

    def test_hostile_text_is_shown_harmlessly(self):
        texts = ("--clean", "so \u202eheads\x1b[2J <script>", "--corrupted",
                 "so heads matter <")
        done = self.run_it("patch", "--model", "plain", *texts)
        self.assertEqual(done.returncode, 0, done)
        text = (done.stdout + done.stderr).decode()
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\u202e", text)
        json.loads(self.run_it("patch", "--model", "plain", "--json",
                               *texts).stdout)

    def test_a_causal_model_has_the_odds_of_the_next_token(self):
        tiny_causal.write(self.folder / "causal")
        texts = {"clean": "w1 w2 w3 w1 w2", "corrupted": "w1 w4 w3 w1 w2"}
        report = self.report("--label", "w3", "--compare", model="causal",
                             **texts)
        self.assertEqual((report["measure"], report["label"]),
                         ("log_odds", "w3"))
        for row in report["heads"]:
            # Nothing before the difference changes.
            self.assertEqual(row["effect_by_position"][0], 0)
            self.assertEqual(row["approximate_by_position"][0], 0)
        self.assertIn("log odds of", self.patch(model="causal", **texts))
        self.fail_with(USAGE, "--clean has no tokens", "patch", "--model",
                       "causal", "--clean", " ", "--corrupted", "w1")
        self.assertEqual(self.report("--max-tokens", "1", model="causal",
                                     clean="w1 w2", corrupted="w3")
                         ["clean"]["tokens"], ["w1"])
        self.fail_with(USAGE, "--max-tokens is 17, expected 1 to 16, the "
                       "positions of causal", "patch", "--model", "causal",
                       "--clean", "w1", "--corrupted", "w2", "--max-tokens",
                       "17")
        self.fail_with(USAGE, "--label is nothing, expected one of", "patch",
                       "--model", "causal", "--clean", "w1", "--corrupted",
                       "w2", "--label", "nothing")

    def test_korean_names_what_it_shows(self):
        text = self.patch("--compare", env={"LC_ALL": "ko_KR.UTF-8"})
        self.assertIn("상관계수", text)

    def test_standard_input_is_one_of_the_texts(self):
        self.assertEqual(self.patch("--csv", clean="-", stdin=CLEAN.encode()),
                         self.patch("--csv"))
        self.fail_with(USAGE, "--clean and --corrupted are both -, expected one of them",
                       "patch", "--model", "plain", "--clean", "-", "--corrupted", "-")

    def test_cut_texts_say_so(self):
        self.assertIn("more tokens cut off", self.patch(
            clean="so " * 20 + "!", corrupted="< " + "so " * 20))

    def test_what_cannot_be_asked_is_said(self):
        def refused(message, *arguments, code=USAGE, model="plain",
                    clean=CLEAN, corrupted=CORRUPTED):
            self.fail_with(code, message, "patch", "--model", model, "--clean",
                           clean, "--corrupted", corrupted, *arguments)

        refused("--corrupted has the tokens of --clean", corrupted=CLEAN)
        refused("--approximate and --compare cannot be used together",
                "--approximate", "--compare")
        refused("--json and --csv cannot be used together", "--json", "--csv")
        refused("--label is good, expected none: the model has no classifier, "
                "so effects are on its embedding", "--label", "good")
        self.succeed("prune", "--model", "plain", "--heads", "0.0,0.1,1.0,1.1",
                     "--out", "none")
        refused("--model has no heads left", model="none", code=BAD_INPUT)
        refused("--clean: TEXT is not UTF-8", clean=b"\xff", code=BAD_INPUT)
        refused("--max-tokens is 1", "--max-tokens", "1")
        refused("nowhere", model="nowhere", code=BAD_INPUT)
        # Alike once they are cut.
        refused("--corrupted has the tokens of --clean", "--max-tokens", "4")
        self.train()
        refused("--label is other, expected one of bad, good", "--label",
                "other", model="model")
        self.fail_with(USAGE, "--clean", "patch", "--model", "plain",
                       "--corrupted", "so")


if __name__ == "__main__":
    cli_case.main()
