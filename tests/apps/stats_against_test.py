"""Two models on the same texts: headwise stats --against."""
import csv
import io
import json
import math
import unittest

import cli_case
import tiny_model
from cli_case import BAD_INPUT, USAGE, CliTest
from stats_test import NAMES, means

TEXTS = ["heads matter so", "so so ! heads", "matter & heads <"]
T_OF_2 = 4.302653  # Student's quantile of two degrees of freedom
SIZE = tiny_model.HIDDEN // tiny_model.HEADS


def with_swapped_heads(made, layer):
    """The same function of the text; heads 0 and 1 of a layer change places."""
    def swapped(row):
        return row[SIZE:] + row[:SIZE]

    changed = dict(made)
    at = f"encoder.layer.{layer}.attention."
    for name in ("query", "key", "value"):
        for part, width in (("weight", tiny_model.HIDDEN), ("bias", 1)):
            shape, values = made[f"{at}self.{name}.{part}"]
            changed[f"{at}self.{name}.{part}"] = (
                shape, values[SIZE * width:] + values[:SIZE * width])
    shape, values = made[at + "output.dense.weight"]
    rows = [swapped(values[n:n + tiny_model.HIDDEN])
            for n in range(0, len(values), tiny_model.HIDDEN)]
    changed[at + "output.dense.weight"] = shape, sum(rows, ())
    return changed


def with_smaller_queries(made):
    return {name: (shape, tuple(v / 2 for v in values)
                   if ".self.query." in name else values)
            for name, (shape, values) in made.items()}


def maps_of(made, text):
    """head -> attn_weights[i][j], heads layer by layer."""
    encoder = tiny_model.Encoder()
    encoder.made = made
    ids = [2, *(tiny_model.VOCABULARY.index(word) for word in text.split()), 3]
    return [weights for _, heads, _ in encoder.layers(ids) for weights in heads]


def overlap(a, b):
    return math.fsum(min(x, y) for rows in zip(a, b) for x, y in zip(*rows)) / len(a)


def interval(numbers):
    mean = math.fsum(numbers) / len(numbers)
    squares = math.fsum((x - mean) ** 2 for x in numbers)
    half = T_OF_2 * math.sqrt(squares / (len(numbers) * (len(numbers) - 1)))
    return mean, mean - half, mean + half


class AgainstCase(CliTest):
    def setUp(self):
        super().setUp()
        self.put_model("a")
        self.put_text("".join(text + "\n" for text in TEXTS), "texts.txt")

    def put_model(self, name, made=None, **config):
        tiny_model.write(self.folder / name, **config)
        if made:
            (self.folder / name / "model.safetensors").write_bytes(
                tiny_model.safetensors(made))

    def call(self, *options, against="b", texts="texts.txt"):
        return ("stats", "--model", "a", "--against", against, "--texts", texts,
                *options)

    def json_of(self, *options, **names):
        return json.loads(self.succeed(*self.call("--json", *options, **names)))

    def heads_of(self, *options, **names):
        return {(head["layer"], head["head"]): head
                for head in self.json_of(*options, **names)["heads"]}


class NumbersTest(AgainstCase):
    def setUp(self):
        super().setUp()
        self.made = tiny_model.tensors()
        self.other = with_smaller_queries(self.made)
        self.put_model("b", self.other)

    def check(self, found, want):
        for key, number in zip(("mean", "low", "high"), want):
            self.assertAlmostEqual(found[key], number, delta=2e-6)

    def test_they_are_those_of_whole_matrices(self):
        a, b = ([maps_of(made, text) for text in TEXTS]
                for made in (self.made, self.other))
        for (layer, head), found in self.heads_of().items():
            n = layer * tiny_model.HEADS + head
            self.check(found["similarity"],
                       interval([overlap(x[n], y[n]) for x, y in zip(a, b)]))
            ends = [{len(x[n]) - 1} for x in a]  # the separator
            of_a, of_b = ([means(x[n], end) for x, end in zip(maps, ends)]
                          for maps in (a, b))
            for k, name in enumerate(NAMES):
                want = interval([x[k] - y[k] for x, y in zip(of_a, of_b)])
                self.check(found[name]["difference"], want)
                self.assertAlmostEqual(
                    found[name]["model"] - found[name]["against"], want[0],
                    delta=2e-6)

    def test_csv_has_those_of_json(self):
        rows = list(csv.DictReader(io.StringIO(self.succeed(*self.call("--csv")))))
        heads = self.json_of()["heads"]
        self.assertEqual(len(rows), 4)
        for row, head in zip(rows, heads, strict=True):
            self.assertEqual(int(row["layer"]), head["layer"])
            self.assertAlmostEqual(float(row["similarity_low"]),
                                   head["similarity"]["low"], places=7)
            self.assertEqual(int(row["nearest_head"]), head["nearest"]["head"])
            self.assertAlmostEqual(float(row["entropy_difference"]),
                                   head["entropy"]["difference"]["mean"], places=7)
            self.assertAlmostEqual(float(row["next_against"]),
                                   head["next"]["against"], places=7)

    def test_what_changed_most_comes_first(self):
        similarities = [head["similarity"]["mean"]
                        for head in self.json_of()["heads"]]
        self.assertEqual(similarities, sorted(similarities))
        changes = [abs(head["first"]["difference"]["mean"])
                   for head in self.json_of("--sort", "first")["heads"]]
        self.assertEqual(changes, sorted(changes, reverse=True))

    def test_a_star_marks_an_interval_without_zero(self):
        lines = self.succeed(*self.call()).splitlines()
        self.assertEqual(lines[0], "a minus b: 3 texts")
        for head, line in zip(self.json_of()["heads"], lines[3:7], strict=True):
            stars = sum(head[name]["difference"]["low"] > 0 or
                        head[name]["difference"]["high"] < 0 for name in NAMES)
            self.assertEqual(line.count("*"), stars)

    def test_one_text_has_no_intervals(self):
        done = json.loads(self.succeed("stats", "--model", "a", "--against", "b",
                                       "heads matter", "--json"))
        similarity = done["heads"][0]["similarity"]
        self.assertEqual(similarity["texts"], 1)
        self.assertIsNone(similarity["low"])
        self.assertNotIn("*", self.succeed(
            "stats", "--model", "a", "--against", "b", "-", stdin=b"heads matter"))

    def test_threads_change_nothing(self):
        self.put_text("".join(text + "\n" for text in TEXTS * 20), "many.txt")
        one, two = (self.succeed(*self.call("--csv", "--threads", threads,
                                            texts="many.txt"))
                    for threads in ("1", "2"))
        self.assertEqual(one, two)

    def test_the_result_can_be_a_file(self):
        self.assertEqual(self.succeed(*self.call("--out", "out.txt")), "")
        self.assertEqual((self.folder / "out.txt").read_text(),
                         self.succeed(*self.call()))


class MatchTest(AgainstCase):
    def test_a_model_does_not_differ_from_itself(self):
        for head in self.heads_of(against="a").values():
            self.assertAlmostEqual(head["similarity"]["mean"], 1, delta=1e-6)
            self.assertEqual(head["match"]["layer"], head["layer"])
            self.assertEqual(head["match"]["head"], head["head"])
            for name in NAMES:
                self.assertEqual(head[name]["difference"]["mean"], 0)
        self.assertNotIn("*", self.succeed(*self.call(against="a")))

    def test_heads_that_changed_places_are_found(self):
        self.put_model("b", with_swapped_heads(tiny_model.tensors(), 1))
        heads = self.heads_of()
        self.assertLess(heads[1, 0]["similarity"]["mean"], 0.99)
        self.assertEqual(heads[1, 0]["match"]["head"], 1)
        self.assertEqual(heads[1, 0]["nearest"]["head"], 1)
        self.assertAlmostEqual(heads[1, 0]["match"]["similarity"], 1, delta=1e-5)
        matched = self.heads_of("--matched")
        self.assertEqual(matched[1, 0]["against"], {"layer": 1, "head": 1})
        self.assertEqual(matched[0, 1]["against"], {"layer": 0, "head": 1})
        for head in matched.values():
            self.assertAlmostEqual(head["similarity"]["mean"], 1, delta=1e-5)
            self.assertAlmostEqual(head["first"]["difference"]["mean"], 0,
                                   delta=1e-5)
        self.assertIn("   1.0    1.1     1.0000",
                      self.succeed(*self.call("--matched")))

    def test_heads_without_a_counterpart_are_named(self):
        self.put_model("b", {name: tensor for name, tensor
                             in tiny_model.tensors().items()
                             if "layer.1." not in name}, num_hidden_layers=1)
        found = self.json_of()
        self.assertEqual(found["only_model"],
                         [{"layer": 1, "head": 0}, {"layer": 1, "head": 1}])
        self.assertEqual(found["only_against"], [])
        self.assertEqual(len(found["heads"]), 2)
        self.assertIn("heads only in a: 1.0, 1.1\n", self.succeed(*self.call()))
        turned = self.succeed("stats", "--model", "b", "--against", "a",
                              "heads matter")
        self.assertIn("heads only in a: 1.0, 1.1\n", turned)


class TokensTest(AgainstCase):
    def put_other_vocabulary(self, old, new):
        self.put_model("b")
        words = [new if word == old else word for word in tiny_model.VOCABULARY]
        (self.folder / "b/vocab.txt").write_text("\n".join(words) + "\n",
                                                 encoding="utf-8")

    def test_texts_with_other_tokens_count_in_statistics(self):
        self.put_other_vocabulary("!", "?")
        self.put_text("\n".join(["", *TEXTS]), "texts.txt")
        found = self.json_of()
        self.assertEqual(found["texts_with_same_tokens"], 2)
        self.assertEqual(found["first_line_with_different_tokens"], 3)
        head = found["heads"][0]
        self.assertEqual(head["similarity"]["texts"], 2)
        self.assertEqual(head["first"]["difference"]["texts"], 3)
        self.assertIn("The models divide 1 text into different tokens (first: line 3)", self.succeed(*self.call()))

    def test_without_a_text_in_common_there_is_no_similarity(self):
        self.put_other_vocabulary("heads", "feet")
        found = self.json_of()
        self.assertEqual(found["texts_with_same_tokens"], 0)
        for head in found["heads"]:
            self.assertIsNone(head["similarity"]["mean"])
            self.assertIsNone(head["match"])
            self.assertEqual(head["entropy"]["difference"]["texts"], 3)
        self.assertEqual([(head["layer"], head["head"]) for head in found["heads"]],
                         [(0, 0), (0, 1), (1, 0), (1, 1)])
        self.assertEqual(self.json_of("--matched")["heads"], [])

    def test_empty_and_cut_texts_are_counted(self):
        self.put_text("\nheads\n \n" + "so " * 11 + "\n", "texts.txt")
        found = self.json_of(against="a")
        self.assertEqual(found["texts"], 2)
        self.assertEqual(found["empty_lines"], 2)
        self.assertEqual(found["cut_texts"], 1)
        self.assertEqual(self.json_of("--max-tokens", "3", against="a")["cut_texts"],
                         1)

    def test_the_limit_is_that_of_both_models(self):
        self.put_model("b")
        for name in "a", "b":
            limit = self.folder / name / "sentence_bert_config.json"
            limit.write_text('{"max_seq_length": 4}')
            found = self.json_of()
            self.assertEqual((found["max_tokens"], found["cut_texts"]), (4, 3))
            limit.unlink()

    def test_names_cannot_steer_the_terminal(self):
        self.put_model("b\x1b[2J\u202e")
        text = self.succeed(*self.call(against="b\x1b[2J\u202e"))
        self.assertIn("a minus b\\x1b[2J\\u{202e}: 3 texts", text)


class RefusesTest(AgainstCase):
    def test_options_that_do_not_go_together(self):
        for message, *arguments in (
                ("--matched needs --against DIR", "--model", "a", "--matched", "so"),
                ("--against needs --model DIR", "--against", "a", "so"),
                ("--against needs TEXT or --texts FILE", "--model", "a",
                 "--against", "a"),
                ("TEXT and --texts cannot be used together", "--model", "a",
                 "--against", "a", "so", "--texts", "texts.txt"),
                ("--layers cannot be used with --against", "--model", "a",
                 "--against", "a", "so", "--layers", "0"),
                ("--against cannot be used with --corpus", "--model", "a",
                 "--against", "a", "--corpus", "texts.txt")):
            with self.subTest(message):
                self.fail_with(USAGE, message, "stats", *arguments)

    def test_files_that_cannot_be_used(self):
        self.put_text("", "empty.txt")
        self.put_text("\n \n", "blank.txt")
        (self.folder / "bytes.txt").write_bytes(b"heads\n\xff\n")
        self.put_text("so\n" * 10001, "many.txt")
        for message, arguments in (
                ("--against none: No such file or directory", {"against": "none"}),
                ("--texts: none.txt: No such file or directory",
                 {"texts": "none.txt"}),
                ("--texts: empty.txt is empty", {"texts": "empty.txt"}),
                ("--texts: blank.txt has empty lines only", {"texts": "blank.txt"}),
                ("--texts: many.txt has 10001 texts, expected at most 10000",
                 {"texts": "many.txt"}),
                ("--texts: bytes.txt: line 2 ", {"texts": "bytes.txt"})):
            with self.subTest(message):
                self.fail_with(BAD_INPUT, message,
                            *self.call(**{"against": "a", **arguments}))

    def test_more_tokens_than_a_model_has_positions(self):
        self.fail_with(USAGE, "--max-tokens is 13, expected 2 to 12, the positions",
                    *self.call("--max-tokens", "13", against="a"))

    def test_a_result_in_place_of_an_input(self):
        self.fail_with(USAGE, "--out is texts.txt, which --texts reads",
                    *self.call("--out", "texts.txt", against="a"))


if __name__ == "__main__":
    cli_case.main()
