"""Attention weights that another program computed: headwise view and headwise stats
with --attn-weights."""
import json
import math
import re
import struct
import zipfile

import cli_case
from cli_case import BAD_INPUT, USAGE, CliTest, npy_bytes

LAYERS, HEADS, LENGTH = 2, 3, 5


def causal_rows(seed):
    """LENGTH rows of LENGTH weights; each row sums to 1."""
    rows = []
    for i in range(LENGTH):
        shares = [1 + (seed * 7 + i * 3 + j * 5) % 11 for j in range(i + 1)]
        rows.append([share / sum(shares) for share in shares] + [0] * (LENGTH - i - 1))
    return rows


def flat(rows):
    return [weight for row in rows for weight in row]


WEIGHTS = [[causal_rows(HEADS * layer + head) for head in range(HEADS)]
           for layer in range(LAYERS)]
OF_LAYERS = [[weight for rows in layer for weight in flat(rows)] for layer in WEIGHTS]
ALL = OF_LAYERS[0] + OF_LAYERS[1]


class WeightsTest(CliTest):
    def setUp(self):
        super().setUp()
        self.put("w.npy", LAYERS, 1, HEADS, LENGTH, LENGTH, values=ALL)

    def npz(self, name, shape=(HEADS, LENGTH, LENGTH), **entries):
        with zipfile.ZipFile(self.folder / name, "w") as archive:
            for entry, values in entries.items():
                archive.writestr(entry + ".npy", npy_bytes(shape, values))

    def safetensors(self, name, shape=(1, HEADS, LENGTH, LENGTH), **entries):
        header, data = {}, b""
        for entry, values in entries.items():
            packed = struct.pack(f"<{len(values)}f", *values)
            header[entry.replace("_", ".")] = {
                "dtype": "F32", "shape": shape,
                "data_offsets": [len(data), len(data) + len(packed)]}
            data += packed
        text = json.dumps(header).encode()
        (self.folder / name).write_bytes(struct.pack("<Q", len(text)) + text + data)

    def stats(self, *arguments):
        return json.loads(self.succeed("stats", "--json", "--attn-weights", *arguments))

    def page(self, *arguments):
        done = self.run_it("view", "--attn-weights", *arguments, "--out", "page.html")
        self.assertEqual(done.returncode, 0, done)
        text = (self.folder / "page.html").read_text("utf-8")
        page = json.loads(re.search(
            r'<script type="application/json" id="page">(.*?)</script>', text,
            re.S).group(1))
        return page, done.stderr.decode()


class Files(WeightsTest):
    def test_statistics_are_those_of_the_weights(self):
        heads = self.stats("w.npy")["heads"]
        self.assertEqual([(head["layer"], head["head"]) for head in heads],
                         [(n, h) for n in range(LAYERS) for h in range(HEADS)])
        for head in heads:
            rows = WEIGHTS[head["layer"]][head["head"]]
            for name, of in (
                    ("entropy", lambda i, w: -sum(x * math.log(x) for x in w if x)),
                    ("distance", lambda i, w: sum(x * (i - j) for j, x in enumerate(w))),
                    ("largest", lambda i, w: max(w)), ("first", lambda i, w: w[0]),
                    ("previous", lambda i, w: w[i - 1] if i else 0),
                    ("self", lambda i, w: w[i])):
                self.assertAlmostEqual(
                    head[name], sum(of(i, w) for i, w in enumerate(rows)) / LENGTH,
                    delta=1e-6, msg=name)
            self.assertIsNone(head["next"])

    def test_every_kind_of_file_gives_the_same(self):
        heads = self.stats("w.npy")["heads"]
        layer = dict(zip(("attentions_0", "attentions_1"), OF_LAYERS))
        self.npz("w.npz", **layer)
        self.safetensors("w.safetensors", **layer)
        self.put("w64.npy", LAYERS, 1, HEADS, LENGTH, LENGTH, values=ALL, descr="<f8")
        self.npz("whole.npz", (LAYERS, 1, HEADS, LENGTH, LENGTH), weights=ALL)
        for name in ("w.npz", "w.safetensors", "w64.npy", "whole.npz"):
            self.assertEqual(self.stats(name)["heads"], heads, name)

    def test_the_number_in_a_name_is_the_layer(self):
        self.npz("w.npz", **{"model.layers.11.attn2": OF_LAYERS[0],
                             "model.layers.2.attn2": OF_LAYERS[1]})
        layers = [head["layer"] for head in self.stats("w.npz")["heads"]]
        self.assertEqual(layers, [2] * HEADS + [11] * HEADS)
        chosen = self.stats("w.npz", "--layers", "11")["heads"]
        self.assertEqual([head["layer"] for head in chosen], [11] * HEADS)
        self.fail_with(USAGE, "--layers is 3, expected layers of --attn-weights: 2, 11",
                       "stats", "--attn-weights", "w.npz", "--layers", "3")
        self.npz("one.npz", layer_7=OF_LAYERS[0])
        self.assertEqual(self.stats("one.npz")["heads"][0]["layer"], 7)

    def test_threads_change_no_digit(self):
        one, two = (self.succeed("stats", "--csv", "--attn-weights", "w.npy",
                                 "--threads", n) for n in "12")
        self.assertEqual(one, two)


class Page(WeightsTest):
    def test_has_the_tokens_and_no_queries_and_keys(self):
        self.put_text("[CLS]\n<b>a\n\u202eb\nc\n[SEP]\n", "t.txt")
        page, said = self.page("w.npy", "--query-tokens", "t.txt")
        self.assertRegex(said, r"^page.html: 2 layers, 5 queries, 5 keys, 0\.\d MB\n$")
        self.assertEqual(page["query_tokens"], ["[CLS]", "<b>a", "\u202eb", "c", "[SEP]"])
        self.assertEqual((page["kind"], page["head_dim"]), ("self", 0))
        self.assertEqual(page["separators"], [4])
        head = page["layers"][1]["heads"][2]
        self.assertEqual((head["query"], head["lse"], head["uneven_rows"]),
                         (None, None, 0))

    def test_what_no_query_can_attend_to_has_no_number(self):
        self.put("ends.npy", 1, 2, descr="|b1", values=[0, 1])
        for values, more, known in (
                ([1, 0, .5, .5], (), {"separator": None, "next": None, "previous": .25}),
                ([.75, .25, .5, .5], (), {"separator": None, "next": .125, "previous": .25}),
                ([.75, .25, .5, .5], ("--separators", "ends.npy"), {"separator": .375})):
            self.put("two.npy", 1, 2, 2, values=values)
            page, _ = self.page("two.npy", *more)
            text = self.succeed("view", "--json", "--attn-weights", "two.npy", *more)
            for head in (page["layers"][0]["heads"][0]["pooled"],
                         json.loads(text)["heads"][0],
                         self.stats("two.npy", *more)["heads"][0]):
                self.assertEqual({name: head[name] for name in known}, known)

    def test_a_sequence_of_the_batch(self):
        self.put("two.npy", 2, HEADS, LENGTH, LENGTH, values=ALL)
        page, said = self.page("two.npy", "--sequence", "1")
        self.assertEqual(page["batch"], {"sequence": 1, "sequences": 2})
        self.assertTrue(said.endswith("MB\n"), said)
        _, said = self.page("two.npy")
        self.assertTrue(said.endswith("MB\nsequence 0 (0 to 1); --sequence chooses another\n"), said)
        self.assertIn("means over the queries of all 2 sequences\n",
                      self.succeed("stats", "--attn-weights", "two.npy"))
        self.assertEqual(self.stats("two.npy")["sequences"], 2)
        one, said = self.page("w.npy")
        self.assertNotIn("batch", one)
        self.assertNotIn("sequence", said + self.succeed("stats", "--attn-weights", "w.npy"))
        pooled = page["layers"][0]["heads"][0]["pooled"]
        self.assertAlmostEqual(pooled["self"], sum(
            WEIGHTS[1][0][i][i] for i in range(LENGTH)) / LENGTH, delta=1e-6)
        self.fail_with(USAGE, "--sequence is 2, expected 0 to 1", "view",
                       "--attn-weights", "two.npy", "--sequence", "2", "--out", "p.html")

    def test_cross_attention_has_no_statistics_of_positions(self):
        self.put("cross.npy", 1, 2, 3, values=[.5, .5, 0, 0, .25, .75])
        for name, more in (("cross.npy", ()), ("w.npy", ("--cross",))):
            page, _ = self.page(name, *more)
            self.assertEqual(page["kind"], "cross")
            self.assertEqual([one["name"] for one in page["statistics"]],
                             ["entropy", "largest", "first", "separator"])
            self.assertIsNone(self.stats(name, *more)["heads"][0]["previous"])
        # Queries after a cache are of the same sequence.
        page, _ = self.page("cross.npy", "--query-start", "1")
        self.assertEqual((page["kind"], page["query_start"]), ("self", 1))

    def test_pictures_and_json(self):
        done = self.run_it("view", "--attn-weights", "w.npy", "--head", "1.2", "--json",
                           "--svg", "h.svg")
        self.assertEqual(done.returncode, 0, done)
        shown = json.loads(done.stdout)["heads"][0]["attn_weights"]
        for i, row in enumerate(shown):
            # Pairs without weight in any head are masked.
            self.assertEqual(row[i + 1:], [None] * (LENGTH - i - 1))
            for weight, want in zip(row[:i + 1], WEIGHTS[1][2][i]):
                self.assertAlmostEqual(weight, want, delta=1e-6)
        self.assertIn("<svg", (self.folder / "h.svg").read_text("utf-8"))


class Sums(WeightsTest):
    """Rows that do not sum to 1 are reported; the page shows them as they are."""

    SAID = ("rows that do not sum to 1: 1 of 30; the farthest sum is 0.5 (layer 1, sequence 0, "
            "head 2, query 4)\n")

    def setUp(self):
        super().setUp()
        halved = ALL[:-LENGTH] + [weight / 2 for weight in ALL[-LENGTH:]]
        self.put("half.npy", LAYERS, 1, HEADS, LENGTH, LENGTH, values=halved)

    def test_in_a_page(self):
        page, said = self.page("half.npy")
        self.assertTrue(said.endswith(self.SAID), said)
        head = page["layers"][1]["heads"][2]
        self.assertEqual(head["uneven_rows"], 1)
        self.assertAlmostEqual(head["farthest_sum"], 0.5, delta=1e-6)

    def test_in_statistics(self):
        for kind in ((), ("--csv",)):
            done = self.run_it("stats", "--attn-weights", "half.npy", *kind)
            self.assertEqual((done.returncode, done.stderr.decode()), (0, self.SAID))
        done = self.run_it("stats", "--attn-weights", "half.npy", "--json")
        sums = json.loads(done.stdout)["row_sums"]
        self.assertEqual((sums["rows"], sums["uneven"]), (30, 1))
        self.assertEqual({name: sums["farthest"][name] for name in
                          ("layer", "sequence", "head", "query")},
                         {"layer": 1, "sequence": 0, "head": 2, "query": 4})
        self.assertEqual(self.stats("w.npy")["row_sums"],
                         {"rows": 30, "uneven": 0, "farthest": None})


    def test_rows_of_nan_are_rows_without_a_key(self):
        # As torch's MultiheadAttention gives for a query whose keys are masked.
        nan = list(ALL)
        first = (HEADS + 2) * LENGTH * LENGTH + 3 * LENGTH
        nan[first:first + LENGTH] = [math.nan] * LENGTH
        self.put("nan.npy", LAYERS, 1, HEADS, LENGTH, LENGTH, values=nan)
        page, said = self.page("nan.npy")
        line = ("1 row is NaN and shown without a key; the first is layer 1, "
                "sequence 0, head 2, query 3\n")
        self.assertTrue(said.endswith("MB\n" + line), said)
        self.assertEqual([[head["empty_rows"] for head in layer["heads"]]
                          for layer in page["layers"]], [[0, 0, 0], [0, 0, 1]])
        done = self.run_it("stats", "--attn-weights", "nan.npy")
        self.assertEqual((done.returncode, done.stderr.decode()), (0, line))

    def test_rows_without_a_weight(self):
        zero = [0] * LENGTH + ALL[LENGTH:-LENGTH] + [0] * LENGTH
        self.put("zero.npy", LAYERS, 1, HEADS, LENGTH, LENGTH, values=zero)
        page, said = self.page("zero.npy")
        self.assertTrue(said.endswith(
            "MB\nall weights are 0 in 2 of 30 rows (queries without a key)\n"), said)
        self.assertEqual([[head["empty_rows"] for head in layer["heads"]]
                          for layer in page["layers"]], [[1, 0, 0], [0, 0, 1]])
        _, said = self.page("w.npy")
        self.assertNotIn("all weights", said)
        # Padding is not a row.
        self.put("lengths.npy", 1, descr="<i8", values=[LENGTH - 1])
        _, said = self.page("zero.npy", "--query-lengths", "lengths.npy")
        self.assertIn("in 1 of 24 rows", said)


class Refuses(WeightsTest):
    def refused(self, message, name, *more, exit_code=BAD_INPUT):
        for command in (("stats",), ("view", "--out", "page.html")):
            with self.subTest(message, command=command[0]):
                self.fail_with(exit_code, message, *command, "--attn-weights", name, *more)
        self.assertFalse((self.folder / "page.html").exists())

    def test_weights_that_are_none(self):
        for value, said in ((math.nan, "nan"), (math.inf, "inf"), (-0.5, "-0.5")):
            values = list(ALL)
            values[LENGTH * LENGTH * (HEADS + 2) + 3 * LENGTH + 1] = value
            self.put("bad.npy", LAYERS, 1, HEADS, LENGTH, LENGTH, values=values)
            self.refused(f"--attn-weights: bad.npy: layer 1, element [0, 2, 3, 1] is {said}, "
                         "expected a weight from 0 to 1", "bad.npy")

    def test_files_that_do_not_fit(self):
        self.put("flat.npy", 5, 5)
        self.put("empty.npy", 1, 0, 5)
        self.npz("names.npz", a1=OF_LAYERS[0], b2=OF_LAYERS[1])
        self.npz("twice.npz", a1=OF_LAYERS[0], a01=OF_LAYERS[1])
        self.npz("deep.npz", (1, 1, HEADS, LENGTH, LENGTH), a1=OF_LAYERS[0],
                 a2=OF_LAYERS[1])
        with zipfile.ZipFile(self.folder / "lengths.npz", "w") as archive:
            archive.writestr("a0.npy", npy_bytes((1, 2, 3), [.5] * 6))
            archive.writestr("a1.npy", npy_bytes((1, 2, 4), [.25] * 8))
        with zipfile.ZipFile(self.folder / "axes.npz", "w") as archive:
            archive.writestr("a0.npy", npy_bytes((1, 2, 3), [.5] * 6))
            archive.writestr("a1.npy", npy_bytes((1, 1, 2, 3), [.25] * 6))
        self.npz("nothing.npz")
        self.put_text("not an array", "text.npy")
        for message, name in (
                ("--attn-weights has shape (5, 5), expected (B, H, Lq, Lkv), (H, Lq, Lkv) "
                 "or (N, B, H, Lq, Lkv)", "flat.npy"),
                ("--attn-weights has shape (1, 0, 5), expected 1 or more on every axis",
                 "empty.npy"),
                ("names.npz has the entries a1 and b2, expected names that differ only in "
                 "the layer's number", "names.npz"),
                ("twice.npz has the entries a01 and a1, expected names", "twice.npz"),
                ("--attn-weights has shape (1, 1, 3, 5, 5), expected (B, H, Lq, Lkv) or "
                 "(H, Lq, Lkv) per layer", "deep.npz"),
                ("--attn-weights has 4 keys in layer 1, expected the 3 of layer 0",
                 "lengths.npz"),
                ("--attn-weights has 4 axes in layer 1, expected the 3 of layer 0",
                 "axes.npz"),
                ("nothing.npz", "nothing.npz"),
                ("--attn-weights: text.npy", "text.npy"),
                ("--attn-weights: none.npy: No such file", "none.npy")):
            self.refused(message, name)

    def test_tokens_that_do_not_fit(self):
        self.put_text("a\nb\n", "t.txt")
        for option, axis in (("--query-tokens", "query"), ("--key-tokens", "key")):
            self.fail_with(BAD_INPUT, f"{option}: t.txt has 2 lines, expected 5, one for each "
                           f"{axis}", "view", "--attn-weights", "w.npy", option, "t.txt",
                           "--out", "page.html")

    def test_options_that_do_not_go_together(self):
        self.put("q.npy", 1, 2, 3)
        for message, more in (
                ("--scale cannot be used with --attn-weights", ("--scale", "2")),
                ("--causal cannot be used with --attn-weights", ("--causal",)),
                ("--query cannot be used with --attn-weights", ("--query", "q.npy")),
                ("--layout cannot be used with --attn-weights", ("--layout", "blhd")),
                ("--cross cannot be used with --query-start",
                 ("--cross", "--query-start", "1"))):
            self.refused(message, "w.npy", *more, exit_code=USAGE)

    def test_more_tokens_than_a_page_shows(self):
        self.put("long.npy", 1, 1, 1025, values=[1 / 1025] * 1025)
        self.fail_with(BAD_INPUT, "layer 0 has 1 query and 1025 keys, expected at most 1024",
                       "view", "--attn-weights", "long.npy", "--out", "page.html")
        self.assertEqual(self.stats("long.npy")["heads"][0]["queries"], 1)


if __name__ == "__main__":
    cli_case.main()
