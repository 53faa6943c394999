"""Heads that match a pattern: headwise heads."""
import csv
import io
import json
import math
import unittest

import cli_case
import tiny_model
from cli_case import BAD_INPUT, USAGE, CliTest

# The tokens of each text, with [CLS] and [SEP].
TEXTS = {"heads so heads so heads": [2, 5, 12, 5, 12, 5, 3],
         "matter": [2, 6, 3],
         "so so": [2, 12, 12, 3]}
# The quantile of Student's t with 1 degree of freedom and with 2.
STUDENT = {2: 12.706204736, 3: 4.302652730}


def duplicate(ids, i, j):
    return j != i and ids[j] == ids[i]


def induction(ids, i, j):
    return 0 < j <= i and ids[j - 1] == ids[i]


def previous(ids, i, j):
    return j == i - 1


def score(weights, ids, wanted, every=False):
    """Of one head from its whole matrix; None where no query has such a key."""
    sums = [[w for j, w in enumerate(row) if wanted(ids, i, j)]
            for i, row in enumerate(weights)]
    counted = [math.fsum(row) for row in sums if row or every]
    return math.fsum(counted) / len(counted) if counted else None


def interval(values):
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) /
                          (len(values) - 1))
    half = STUDENT[len(values)] * deviation / math.sqrt(len(values))
    return mean, mean - half, mean + half


def expected(wanted, every=False):
    """(layer, head) -> mean, low, high."""
    scores = {}
    for ids in TEXTS.values():
        for n, (_, heads, _) in enumerate(tiny_model.Encoder().layers(ids)):
            for h, weights in enumerate(heads):
                found = score(weights, ids, wanted, every)
                if found is not None:
                    scores.setdefault((n, h), []).append(found)
    return {head: interval(values) for head, values in scores.items()}


class HeadsTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")
        (self.folder / "texts.txt").write_text("\n".join(TEXTS) + "\n")

    def json_of(self, pattern, *arguments):
        return json.loads(self.succeed("heads", "--json", "--model", "tiny",
                                       "--find", pattern, *arguments))

    def check(self, pattern, wanted, every=False):
        done = self.json_of(pattern, "--texts", "texts.txt")
        want = expected(wanted, every)
        found = {(head["layer"], head["head"]): head for head in done["heads"]}
        self.assertEqual(found.keys(), want.keys())
        for head, numbers in want.items():
            for name, number in zip(("score", "low", "high"), numbers):
                self.assertAlmostEqual(found[head][name], number, delta=2e-5)
        scores = [head["score"] for head in done["heads"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        return done


class OfTexts(HeadsTest):
    def test_scores_equal_those_from_whole_matrices(self):
        self.check("previous", previous, every=True)
        done = self.check("duplicate", duplicate)
        self.assertEqual((done["texts"], done["texts_left_out"]), (2, 1))
        done = self.check("induction", induction)
        self.assertEqual((done["schema"], done["pattern"], done["model"]),
                         ("headwise.found_heads", "induction", "tiny"))
        self.assertFalse(done["causal"])

    def test_equal_attention_is_what_a_score_is_compared_with(self):
        done = self.json_of("duplicate", "--texts", "texts.txt")
        # Three and two times the same token among 7, then 2 among 4.
        first = (3 * 2 / 7 + 2 * 1 / 7) / 5
        self.assertAlmostEqual(done["equal_attention"], (first + 1 / 4) / 2,
                               delta=1e-6)

    def test_csv_has_the_same_numbers(self):
        text = self.succeed("heads", "--csv", "--model", "tiny", "--find",
                            "induction", "--texts", "texts.txt")
        done = self.json_of("induction", "--texts", "texts.txt")
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(len(rows), len(done["heads"]))
        for row, head in zip(rows, done["heads"]):
            self.assertEqual(int(row["head"]), head["head"])
            self.assertEqual(int(row["texts"]), 2)
            for name in ("score", "low", "high"):
                self.assertAlmostEqual(float(row[name]), head[name], delta=1e-6)

    def test_the_table_has_the_best_heads_and_says_what_was_measured(self):
        text = self.succeed("heads", "--model", "tiny", "--find", "induction",
                            "--texts", "-", "--top", "2",
                            stdin="\n".join(TEXTS).encode())
        lines = text.splitlines()
        self.assertIn("token after an earlier occurrence", lines[0])
        self.assertIn("3 texts of standard input", lines[0])
        best = self.json_of("induction", "--texts", "texts.txt")["heads"][0]
        self.assertEqual(lines[3].split()[:3],
                         [str(best["layer"]), str(best["head"]),
                          f"{best['score']:.4f}"])
        self.assertEqual(len([line for line in lines if "[" in line]), 2)
        self.assertIn("1 of 3 texts left out", text)
        self.assertIn("bidirectional", text)

    def test_one_text_has_no_interval(self):
        (self.folder / "one.txt").write_text("so so\n")
        done = self.json_of("duplicate", "--texts", "one.txt")
        self.assertIsNone(done["heads"][0]["low"])
        text = self.succeed("heads", "--csv", "--model", "tiny", "--find",
                            "duplicate", "--texts", "one.txt")
        self.assertRegex(text.splitlines()[1], r"^\d,\d,0\.\d+,,,1$")

    def test_long_texts_are_cut_and_said_to_be(self):
        done = self.json_of("previous", "--texts", "texts.txt",
                            "--max-tokens", "4")
        self.assertEqual((done["cut_texts"], done["max_tokens"]), (1, 4))

    def test_empty_lines_are_left_out_and_counted(self):
        want = self.json_of("previous", "--texts", "texts.txt")
        (self.folder / "gaps.txt").write_text("\n" + "\n \t\n".join(TEXTS))
        done = self.json_of("previous", "--texts", "gaps.txt")
        self.assertEqual(done["heads"], want["heads"])
        self.assertEqual((done["texts"], done["empty_lines"]), (3, 3))
        text = self.succeed("heads", "--model", "tiny", "--find", "previous",
                            "--texts", "gaps.txt")
        self.assertIn("empty lines left out: 3", text)

    def test_positional_has_no_interval(self):
        done = self.json_of("positional", "--texts", "texts.txt")
        for head in done["heads"]:
            self.assertIsNone(head["low"])
            self.assertGreater(head["score"], 0)
        text = self.succeed("heads", "--model", "tiny", "--find", "positional",
                            "--texts", "texts.txt")
        self.assertNotIn("interval", text)

    def test_models_that_overflow_are_refused(self):
        made = tiny_model.tensors()
        name = "encoder.layer.1.attention.self.{}.weight"
        for part in "query", "key":
            shape, values = made[name.format(part)]
            made[name.format(part)] = shape, tuple(
                3e38 if n < len(values) // 2 else value
                for n, value in enumerate(values))
        (self.folder / "tiny/model.safetensors").write_bytes(
            tiny_model.safetensors(made))
        for command in (["heads", "--find", "previous", "--texts", "texts.txt"],
                        ["heads", "--find", "positional"],
                        ["stats", "so so"], ["stats", "--texts", "texts.txt"],
                        ["stats", "--corpus", "texts.txt"],
                        ["stats", "so so", "--attribution", "norms"]):
            with self.subTest(command):
                self.fail_with(BAD_INPUT, "--model computes NaN in head 1.0, "
                               "expected attention weights that are numbers",
                               *command, "--model", "tiny")

    def test_hostile_names_and_texts_stay_text(self):
        name = "a\x1b[31m\u202e.txt"
        (self.folder / name).write_text("so so\n<b> \x07 so so\n")
        done = self.run_it("heads", "--model", "tiny", "--find", "duplicate",
                           "--texts", name)
        self.assertEqual(done.returncode, 0, done)
        text = (done.stdout + done.stderr).decode()
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\u202e", text)


class OfRandomTokens(HeadsTest):
    def test_the_seed_decides_and_the_threads_do_not(self):
        first = self.json_of("induction", "--threads", "1")
        self.assertEqual(first["random_tokens"], {"seed": 0})
        self.assertEqual(first["texts"], 50)
        self.assertEqual(self.json_of("induction", "--threads", "3"), first)
        other = self.json_of("induction", "--seed", "5")
        self.assertNotEqual(other["heads"], first["heads"])

    def test_every_pattern_has_scores_from_0_to_1(self):
        for pattern in ("previous", "next", "self", "first", "separator",
                        "duplicate", "positional", "induction"):
            for head in self.json_of(pattern)["heads"]:
                self.assertGreaterEqual(head["score"], 0, pattern)
                self.assertLessEqual(head["score"], 1, pattern)


class Refuses(HeadsTest):
    def refuse(self, words, *arguments, code=USAGE):
        with self.subTest(arguments):
            self.fail_with(code, words, "heads", "--model", "tiny", *arguments)

    def test_options_that_do_not_go_together(self):
        self.refuse("--json and --csv", "--find", "self", "--json", "--csv")
        self.refuse("--seed cannot be used with --texts", "--find", "self",
                    "--texts", "texts.txt", "--seed", "1")
        self.refuse("--max-tokens needs --texts", "--find", "self",
                    "--max-tokens", "5")
        self.refuse("--find is sideways", "--find", "sideways")
        self.refuse("--top", "--find", "self", "--top", "0")
        self.refuse("--find")

    def test_texts_that_have_no_such_pattern(self):
        (self.folder / "once.txt").write_text("heads so\nmatter\n")
        (self.folder / "one.txt").write_text("heads so\n")
        for pattern in ("induction", "duplicate"):
            self.refuse("no token that a text repeats", "--find", pattern,
                        "--texts", "once.txt", code=BAD_INPUT)
        self.refuse("fewer than 2 texts", "--find", "positional", "--texts",
                    "one.txt", code=BAD_INPUT)

    def test_files_that_hold_no_texts(self):
        (self.folder / "empty.txt").write_text("")
        (self.folder / "blank.txt").write_text("\n \t\n")
        (self.folder / "bytes.txt").write_bytes(b"so\n\xff\n")
        (self.folder / "many.txt").write_text("so\n" * 10001)
        for file, words in (("empty.txt", "is empty"), ("bytes.txt", "line 2"),
                            ("many.txt", "has 10001 texts"),
                            ("blank.txt", "has empty lines only"),
                            ("missing.txt", "missing.txt")):
            self.refuse(words, "--find", "self", "--texts", file,
                        code=BAD_INPUT)

    def test_more_texts_than_positional_compares(self):
        (self.folder / "many.txt").write_text("so\n" * 2001)
        self.refuse("--texts has 2001 texts, expected at most 2000", "--find",
                    "positional", "--texts", "many.txt", code=BAD_INPUT)

    def test_models_without_heads(self):
        self.succeed("prune", "--model", "tiny", "--heads", "0.0,0.1,1.0,1.1",
                     "--out", "bare")
        self.fail_with(BAD_INPUT, "--model has no heads left", "heads",
                       "--model", "bare", "--find", "self")

    def test_limits_that_the_model_does_not_have(self):
        self.refuse("--max-tokens is 13", "--find", "self", "--texts",
                    "texts.txt", "--max-tokens", "13", code=USAGE)

    def test_a_model_that_is_not_there(self):
        self.fail_with(BAD_INPUT, "nowhere", "heads", "--model", "nowhere",
                       "--find", "self")


if __name__ == "__main__":
    cli_case.main()
