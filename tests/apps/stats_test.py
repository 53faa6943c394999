"""What each head does in numbers: headwise stats."""
import csv
import io
import json
import math
import unittest

import cli_case
import tiny_model
from cli_case import BAD_INPUT, USAGE, CliTest

NAMES = ["entropy", "distance", "largest", "first", "previous", "self", "next",
         "separator"]
OF_POSITIONS = {"distance", "previous", "self", "next"}
WITHOUT_SEPARATORS = OF_POSITIONS | {"separator"}
SENTENCE = "heads matter so"
IDS = [2, 5, 6, 12, 3]
SEPARATORS = {4}
TOKENS = ["[CLS]", "heads", "matter", "so", "[SEP]"]


def means(attn_weights, separators=frozenset(), start=0, queries=None):
    """The eight numbers of one head from its whole matrix; rows of no weight are
    left out."""
    rows = [(i, w) for i, w in enumerate(attn_weights[:queries]) if any(w)]

    def mean(of):
        return math.fsum(of(i + start, w) for i, w in rows) / len(rows)

    def at(w, j):
        return w[j] if 0 <= j < len(w) else 0

    return [mean(lambda p, w: -math.fsum(x * math.log(x) for x in w if x)),
            mean(lambda p, w: math.fsum(x * abs(p - j) for j, x in enumerate(w))),
            mean(lambda p, w: max(w)), mean(lambda p, w: w[0]),
            mean(lambda p, w: at(w, p - 1)), mean(lambda p, w: at(w, p)),
            mean(lambda p, w: at(w, p + 1)),
            mean(lambda p, w: math.fsum(w[j] for j in separators))]


def matrix(query, key, may=lambda i, j: True):
    """Attention weights in binary64, of lists of rows."""
    weights = []
    for i, q in enumerate(query):
        scores = [math.fsum(a * b for a, b in zip(q, k)) / math.sqrt(len(q))
                  if may(i, j) else None for j, k in enumerate(key)]
        top = max((s for s in scores if s is not None), default=0)
        shares = [0 if s is None else math.exp(s - top) for s in scores]
        weights.append([s / (math.fsum(shares) or 1) for s in shares])
    return weights


class StatsTest(CliTest):
    def json_of(self, *arguments, **options):
        return json.loads(self.succeed("stats", "--json", *arguments, **options))

    def check(self, head, want, unknown=frozenset()):
        for name, number in zip(NAMES, want, strict=True):
            if name in unknown:
                self.assertIsNone(head[name], name)
            else:
                self.assertAlmostEqual(head[name], number, delta=2e-5, msg=name)


class OfAModel(StatsTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")

    def test_every_head_equals_the_same_from_its_whole_matrix(self):
        done = self.json_of("--model", "tiny", SENTENCE)
        self.assertEqual(done["tokens"], TOKENS)
        self.assertEqual((done["model"], done["text"], done["cut_tokens"]),
                         ("tiny", SENTENCE, 0))
        want = [(n, h, means(weights, SEPARATORS))
                for n, (_, heads, _) in enumerate(tiny_model.Encoder().layers(IDS))
                for h, weights in enumerate(heads)]
        self.assertEqual([(head["layer"], head["head"]) for head in done["heads"]],
                         [(n, h) for n, h, _ in want])
        for head, (_, _, numbers) in zip(done["heads"], want):
            self.assertEqual((head["queries"], head["queries_without_key"]), (5, 0))
            self.check(head, numbers)

    def test_threads_change_no_digit(self):
        one, two = (self.succeed("stats", "--csv", "--model", "tiny", SENTENCE,
                                 "--threads", n) for n in "12")
        self.assertEqual(one, two)

    def test_a_chosen_layer_is_the_same(self):
        every = self.json_of("--model", "tiny", SENTENCE)["heads"]
        last = self.json_of("--model", "tiny", SENTENCE, "--layers", "1")["heads"]
        self.assertEqual(last, [head for head in every if head["layer"] == 1])

    def test_the_table_says_it_to_people(self):
        text = self.succeed("stats", "--model", "tiny", SENTENCE)
        lines = text.splitlines()
        self.assertEqual(lines[0], "tiny: 5 tokens")
        self.assertEqual(lines[2].split(), ["layer", "head", *NAMES])
        self.assertEqual(len(lines), 3 + 4)
        self.assertEqual([line.split()[:2] for line in lines[3:]],
                         [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]])

    def test_sorted_the_largest_comes_first(self):
        rows = list(csv.DictReader(io.StringIO(self.succeed(
            "stats", "--csv", "--sort", "previous", "--model", "tiny", SENTENCE))))
        numbers = [float(row["previous"]) for row in rows]
        self.assertEqual(numbers, sorted(numbers, reverse=True))

    def test_text_from_standard_input_that_is_cut(self):
        done = self.json_of("--model", "tiny", "-", stdin=b"heads " * 20)
        self.assertEqual((len(done["tokens"]), done["cut_tokens"]), (12, 10))
        text = self.succeed("stats", "--model", "tiny", "heads " * 20)
        self.assertIn("12 tokens; 10 tokens were cut off at the limit of 12 "
                      "(max_position_embeddings of tiny)\n", text)

    def test_no_text_is_two_tokens(self):
        self.assertEqual(self.json_of("--model", "tiny", "")["tokens"],
                         ["[CLS]", "[SEP]"])


class OfTensors(StatsTest):
    """Two sequences of two heads, one key head; 3 queries, 5 keys, D 4."""

    def setUp(self):
        super().setUp()
        self.values = {name: [((n * step + 7) % 53) / 13 - 2 for n in range(count)]
                       for name, count, step in (("q", 48, 31), ("k", 40, 17))}
        self.put("q.npy", 2, 2, 3, 4, values=self.values["q"])
        self.put("k.npy", 2, 1, 5, 4, values=self.values["k"])

    def rows(self, name, place, rows):
        values = self.values[name][place * rows * 4:(place + 1) * rows * 4]
        return [values[r * 4:r * 4 + 4] for r in range(rows)]

    def want(self, h, may=lambda i, j: True, separators=((), ()), start=0,
             lengths=(3, 3)):
        """Of the rows of both sequences together."""
        pooled, count = [0] * 8, 0
        for b in range(2):
            weights = matrix(self.rows("q", 2 * b + h, 3), self.rows("k", b, 5), may)
            rows = sum(any(w) for w in weights[:lengths[b]])
            if rows:
                for k, number in enumerate(means(weights, separators[b], start,
                                                 lengths[b])):
                    pooled[k] += rows * number
            count += rows
        return [number / count for number in pooled]

    def stats(self, *arguments):
        return self.json_of("--query", "q.npy", "--key", "k.npy", *arguments)["heads"]

    def test_of_a_batch_with_grouped_heads(self):
        heads = self.stats()
        self.assertEqual([head["queries"] for head in heads], [6, 6])
        for h, head in enumerate(heads):
            self.check(head, self.want(h), unknown=WITHOUT_SEPARATORS)

    def test_padded_queries_are_left_out(self):
        self.put("lengths.npy", 2, values=[3, 1], descr="<i8")
        for h, head in enumerate(self.stats("--query-lengths", "lengths.npy")):
            self.assertEqual(head["queries"], 4)
            self.check(head, self.want(h, lengths=(3, 1)), unknown=WITHOUT_SEPARATORS)

    def test_queries_without_a_key_are_counted_and_in_no_mean(self):
        self.put("mask.npy", 3, 5, descr="|b1", values=[0] * 5 + [1] * 10)
        arguments = ("--mask", "mask.npy", "--mask-axes", "Lq,Lkv")
        for h, head in enumerate(self.stats(*arguments)):
            self.assertEqual((head["queries"], head["queries_without_key"]), (4, 2))
            self.check(head, self.want(h, may=lambda i, j: i > 0), unknown=WITHOUT_SEPARATORS)
        text = self.succeed("stats", "--query", "q.npy", "--key", "k.npy", *arguments)
        self.assertIn("2 of 6 queries see no key", text)

    def test_no_query_sees_a_key(self):
        self.put("mask.npy", 1, 1, descr="|b1", values=[0])
        arguments = ("--query", "q.npy", "--key", "k.npy", "--key-lengths", "none.npy")
        self.put("none.npy", 2, values=[0, 0], descr="<i8")
        self.assertIsNone(self.json_of(*arguments)["heads"][0]["entropy"])
        self.assertIn(",,,", self.succeed("stats", "--csv", *arguments))
        self.assertIn(" - ", self.succeed("stats", *arguments))

    def test_cross_attention_has_no_statistics_of_positions(self):
        tensors = ("--query", "q.npy", "--key", "k.npy")
        lines = self.succeed("stats", *tensors).splitlines()
        self.assertRegex("\n".join(lines[-3:]),
                         r"^\nquery: B=2 .*, layout bhld\nkey: B=2 .*, layout bhld$")
        header = lines[0].split()
        self.assertEqual(header, ["layer", "head", "entropy", "largest", "first",
                                  "separator"])
        row = next(csv.DictReader(io.StringIO(self.succeed("stats", "--csv", *tensors))))
        self.assertEqual({name for name in NAMES if row[name] == ""},
                         WITHOUT_SEPARATORS)
        for name in sorted(OF_POSITIONS):
            self.fail_with(USAGE, f"--sort is {name}, expected one of entropy, largest, "
                           "first, separator for cross-attention", "stats", *tensors, "--sort", name)
        self.succeed("stats", *tensors, "--sort", "largest")
        # Keys of the same sequence, as with a cache.
        for more in (("--causal",), ("--query-start", "2")):
            self.assertIn(" previous ", self.succeed("stats", *tensors, *more, "--sort",
                                                     "previous"))

    def test_separators_that_nobody_names_have_no_share(self):
        tensors = ("--query", "q.npy", "--key", "k.npy", "--causal")
        lines = self.succeed("stats", *tensors).splitlines()
        self.assertEqual([line.split()[-1] for line in lines[1:3]], ["-", "-"])
        self.assertIn("--separators", lines[3])
        self.put("some.npy", 2, 5, descr="|b1", values=[1, 0, 0, 0, 0] * 2)
        named = self.succeed("stats", *tensors, "--separators", "some.npy").splitlines()
        self.assertEqual([line.split()[-2:].count("-") for line in named[1:3]], [1, 1])
        self.assertNotEqual(named[1].split()[-1], "-")

    def test_masks_places_and_separators(self):
        self.put("separators.npy", 2, 5, descr="|b1",
                 values=[0, 1, 0, 0, 1, 1, 0, 0, 0, 0])
        for h, head in enumerate(self.stats("--causal", "--query-start", "2",
                                            "--separators", "separators.npy")):
            self.check(head, self.want(h, may=lambda i, j: j <= i + 2, start=2,
                                       separators=((1, 4), (0,))), unknown={"next"})

    def test_layouts_layers_and_ragged_batches_are_the_same(self):
        alone = self.stats()
        q = self.values["q"]
        blhd = [q[((b * 2 + h) * 3 + i) * 4 + d] for b in range(2) for i in range(3)
                for h in range(2) for d in range(4)]
        self.put("rows.npy", 2, 3, 2, 4, values=blhd)
        self.put("k_rows.npy", 2, 5, 1, 4, values=self.values["k"])
        self.assertEqual(self.json_of("--query", "rows.npy", "--key", "k_rows.npy",
                                      "--layout", "blhd")["heads"], alone)
        self.put("layers.npy", 1, 2, 2, 3, 4, values=q)
        self.put("k_layers.npy", 1, 2, 1, 5, 4, values=self.values["k"])
        self.assertEqual(self.json_of("--query", "layers.npy", "--key",
                                      "k_layers.npy")["heads"], alone)
        self.put("ragged.npy", 6, 2, 4, values=blhd)
        self.put("k_ragged.npy", 10, 1, 4, values=self.values["k"])
        self.put("offsets.npy", 3, values=[0, 5, 10], descr="<i8")
        self.put("query_offsets.npy", 3, values=[0, 3, 6], descr="<i8")
        self.assertEqual(self.json_of(
            "--query", "ragged.npy", "--key", "k_ragged.npy", "--offsets", "offsets.npy",
            "--query-offsets", "query_offsets.npy")["heads"], alone)


class Refuses(StatsTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")
        self.put("q.npy", 2, 2, 3, 4)
        self.put("k.npy", 2, 2, 5, 4)

    def test_options_that_do_not_go_together(self):
        tensors = ("--query", "q.npy", "--key", "k.npy")
        for message, arguments in [
                ("expected --model DIR", ()),
                ("--model has no text", ("--model", "tiny")),
                ("a text needs --model DIR", ("a text", *tensors)),
                ("--key needs --query", ("--key", "k.npy")),
                ("--query needs --key", ("--query", "q.npy")),
                ("--causal cannot be used with --model",
                 ("--model", "tiny", "text", "--causal")),
                ("--query cannot be used with --model",
                 ("--model", "tiny", "text", *tensors)),
                ("--json and --csv cannot be used together", (*tensors, "--json", "--csv")),
                ("--layers is 0-2, expected numbers from 0 to 1",
                 ("--model", "tiny", "text", "--layers", "0-2")),
                ("--layers is 1,, expected", ("--model", "tiny", "a", "--layers", "1,")),
                ("--scoring additive needs --score-weight",
                 (*tensors, "--scoring", "additive")),
                ("--sort", (*tensors, "--sort", "entropie"))]:
            with self.subTest(message):
                self.fail_with(USAGE, message, "stats", *arguments)

    def test_files_that_do_not_fit(self):
        self.put("short.npy", 3, 4)
        self.put("narrow.npy", 2, 2, 5, 3)
        self.put("three.npy", 2, 3, 5, 4)
        self.put("lengths.npy", 2, values=[3, 9], descr="<i8")
        self.put("words.npy", 2, 5)
        for message, arguments in [
                ("--key has shape (3, 4), expected", ("k", "short.npy")),
                ("--key has 3 features per head, expected the 4", ("k", "narrow.npy")),
                ("--query has 2 heads, expected a multiple of the 3",
                 ("k", "three.npy")),
                ("none.npy: No such file", ("k", "none.npy")),
                ("--query-lengths[1] is 9, expected a number from 0 to the 3",
                 ("k", "k.npy", "--query-lengths", "lengths.npy")),
                ("--separators: words.npy holds float32 elements, expected bool",
                 ("k", "k.npy", "--separators", "words.npy")),
                ("--separators has shape (3, 4), expected",
                 ("k", "k.npy", "--separators", "bools.npy"))]:
            self.put("bools.npy", 3, 4, descr="|b1")
            with self.subTest(message):
                self.fail_with(BAD_INPUT, message, "stats", "--query", "q.npy",
                               "--key", *arguments[1:])

    def test_models_that_are_none(self):
        self.fail_with(BAD_INPUT, "nowhere: No such file", "stats", "--model", "nowhere",
                       "text")
        self.fail_with(BAD_INPUT, "UTF-8", "stats", "--model", "tiny", "-",
                       stdin=b"heads \xff")


if __name__ == "__main__":
    cli_case.main()
