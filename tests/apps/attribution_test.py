"""headwise stats --attribution, against the same encoder in binary64."""
import csv
import io
import json
import math

import cli_case
import tiny_causal
import tiny_model
from cli_case import BAD_INPUT, USAGE, CliTest

SENTENCE = "heads matter so"
IDS = [2, 5, 6, 12, 3]
TOKENS = ["[CLS]", "heads", "matter", "so", "[SEP]"]
SIZE = tiny_model.HIDDEN // tiny_model.HEADS


class Reference(tiny_model.Encoder):
    """The encoder with a factor on each weight of each head."""

    def __init__(self):
        super().__init__()
        self.factors = {}  # (layer, head, key) -> factor

    def attend(self, layer, x):
        number = int(layer.split(".")[2])
        heads, _ = super().attend(layer, x)
        values = self.linear(f"{layer}.attention.self.value", x)
        merged = [[math.fsum(heads[h][i][j] * values[j][h * SIZE + d] *
                             self.factors.get((number, h, j), 1)
                             for j in range(len(x)))
                   for h in range(tiny_model.HEADS) for d in range(SIZE)]
                  for i in range(len(x))]
        return heads, self.linear(f"{layer}.attention.output.dense", merged)

    def mean(self):
        hidden = self.hidden(IDS)
        return [math.fsum(column) / len(IDS) for column in zip(*hidden)]

    def weights(self):
        return [heads for _, heads, _ in self.layers(IDS)]

    def norms(self):
        """|f[h,j]| of each layer."""
        norms = []
        for n, (x, _, _) in enumerate(self.layers(IDS)):
            layer = f"encoder.layer.{n}.attention."
            values = self.linear(layer + "self.value", x)
            w_o = self.made[layer + "output.dense.weight"][1]
            norms.append([[math.dist([math.fsum(
                w_o[o * tiny_model.HIDDEN + h * SIZE + d] * v[h * SIZE + d]
                for d in range(SIZE)) for o in range(tiny_model.HIDDEN)],
                [0] * tiny_model.HIDDEN) for v in values]
                for h in range(tiny_model.HEADS)])
        return norms

    def passed_on(self):
        """M of each layer."""
        matrices = []
        for heads in self.weights():
            matrices.append([[(math.fsum(w[i][j] for w in heads) / len(heads) +
                               (i == j)) / 2 for j in range(len(IDS))]
                             for i in range(len(IDS))])
        return matrices


class AttributionTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")

    def json_of(self, name, *arguments):
        return json.loads(self.succeed("stats", "--json", "--model", "tiny", SENTENCE,
                                       "--attribution", name, *arguments))

    def check_all(self, got, want):
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            self.assertAlmostEqual(a, b, delta=1e-5)


class OfHeads(AttributionTest):
    def test_norms(self):
        reference = Reference()
        norms = reference.norms()
        weights = reference.weights()
        for head in self.json_of("norms")["heads"]:
            n, h = head["layer"], head["head"]
            self.check_all(head["key_norms"], norms[n][h])
            shares = [[w * norm for w, norm in zip(row, norms[n][h])]
                      for row in weights[n][h]]
            sums = [math.fsum(row) for row in shares]
            self.assertAlmostEqual(head["norm"], math.fsum(sums) / 5, delta=1e-5)
            self.assertAlmostEqual(
                head["norm_separator"],
                math.fsum(row[4] / s for row, s in zip(shares, sums)) / 5,
                delta=1e-5)
            self.assertAlmostEqual(
                head["norm_entropy"],
                math.fsum(-x / s * math.log(x / s) for row, s in zip(shares, sums)
                          for x in row) / 5, delta=1e-5)

    def test_the_statistics_next_to_norms_are_unchanged(self):
        plain = json.loads(self.succeed("stats", "--json", "--model", "tiny", SENTENCE))
        for threads in "1", "3":
            for head, alone in zip(self.json_of("norms", "--threads", threads)["heads"],
                                   plain["heads"], strict=True):
                self.assertEqual(head, head | alone)

    def test_gradients_of_the_length(self):
        reference = Reference()
        whole = reference.mean()
        length = math.dist(whole, [0] * len(whole))

        def value(factors):
            reference.factors = factors
            return math.fsum(a * b for a, b in zip(reference.mean(), whole)) / length

        step = 1e-5
        done = self.json_of("gradient")
        self.assertEqual(done["target"]["kind"], "length")
        self.assertAlmostEqual(done["target"]["value"], length, delta=1e-5)
        for head in done["heads"]:
            place = head["layer"], head["head"]
            keys = [(value({(*place, j): 1 + step}) - value({(*place, j): 1 - step})) /
                    (2 * step) for j in range(5)]
            self.check_all(head["key_gradients"], keys)
            self.assertAlmostEqual(head["gradient"], math.fsum(keys), delta=2e-5)

    def test_integrated_gradients_are_complete(self):
        reference = Reference()
        whole = reference.mean()
        length = math.dist(whole, [0] * len(whole))

        def without(layers):
            reference.factors = {(n, h, j): 0 for n in layers for h in range(2)
                                 for j in range(5)}
            return math.fsum(a * b for a, b in zip(reference.mean(), whole)) / length

        heads = self.json_of("integrated")["heads"]
        self.assertAlmostEqual(math.fsum(head["integrated"] for head in heads),
                               length - without([0, 1]), delta=1e-5)
        heads = self.json_of("integrated-by-layer")["heads"]
        for n in range(2):
            self.assertAlmostEqual(
                math.fsum(head["integrated-by-layer"] for head in heads
                          if head["layer"] == n), length - without([n]), delta=1e-5)

    def test_in_the_table_and_in_csv(self):
        for name, column in (("norms", "norm"), ("gradient", "gradient")):
            arguments = "stats", "--model", "tiny", SENTENCE, "--attribution", name
            lines = self.succeed(*arguments, "--sort", column).splitlines()
            # Columns that do not fit behind the statistics have a table of their own.
            self.assertLessEqual(max(map(len, lines)), 120)
            title = next(n for n, line in enumerate(lines) if column in line.split())
            at = lines[title].split().index(column)
            rows = list(csv.DictReader(io.StringIO(
                self.succeed(*arguments, "--sort", column, "--csv"))))
            numbers = [float(row[column]) for row in rows]
            self.assertEqual(numbers, sorted(numbers, reverse=True))
            for line, number in zip(lines[title + 1:], numbers, strict=False):
                self.assertEqual(line.split()[at], f"{number:.4f}")

    def test_sort_names_what_the_attribution_adds(self):
        for sort, more, attribution in (
                ("norm", (), "norms"), ("gradient", ("--attribution", "norms"), "gradient"),
                ("integrated", ("--attribution", "integrated-by-layer"), "integrated")):
            self.fail_with(USAGE, f"--sort {sort} needs --attribution {attribution}", "stats",
                           "--model", "tiny", SENTENCE, "--sort", sort, *more)


    def test_layers_choose_the_heads(self):
        for name in "norms", "gradient", "integrated":
            every = self.json_of(name)["heads"]
            last = self.json_of(name, "--layers", "1")["heads"]
            self.assertEqual(last, [head for head in every if head["layer"] == 1])


class OfTokens(AttributionTest):
    def test_rollout(self):
        below, above = Reference().passed_on()
        for token in range(5):
            want = [math.fsum(above[token][i] * below[i][j] for i in range(5))
                    for j in range(5)]
            done = self.json_of("rollout", "--output-token", str(token))
            self.check_all(done["rollout"], want)
            self.assertEqual(done["output_token"], token)

    def test_flow(self):
        below, above = Reference().passed_on()
        want = [math.fsum(min(above[0][i], below[i][j]) for i in range(5))
                for j in range(5)]  # every token between has a single way
        self.check_all(self.json_of("flow")["flow"], want)

    def test_text_and_csv_list_the_tokens(self):
        arguments = "stats", "--model", "tiny", SENTENCE, "--attribution", "rollout"
        shares = self.json_of("rollout")["rollout"]
        lines = self.succeed(*arguments).splitlines()
        self.assertIn("rollout from output token 0 to each input token", lines)
        self.assertEqual([line.split() for line in lines[-5:]],
                         [[str(t), f"{share:.4f}", token]
                          for t, (share, token) in enumerate(zip(shares, TOKENS))])
        rows = list(csv.DictReader(io.StringIO(self.succeed(*arguments, "--csv"))))
        self.assertEqual([row["token"] for row in rows], TOKENS)
        self.check_all([float(row["rollout"]) for row in rows], shares)


class OfACausalModel(CliTest):
    """F is linear in the unembedding; the gradients are tested in C++."""
    TEXT = "w0 w1 w0 w2"

    def setUp(self):
        super().setUp()
        tiny_causal.write(self.folder / "causal")

    def stats(self, name, *arguments):
        return self.succeed("stats", "--model", "causal", self.TEXT, "--attribution", name,
                            *arguments)

    def json_of(self, name, *arguments):
        return json.loads(self.stats(name, "--json", *arguments))

    def test_targets(self):
        predicted = self.json_of("gradient")
        self.assertEqual(predicted["target"]["kind"], "token")
        self.assertIsNone(predicted["target"]["label"])
        self.assertEqual(predicted["output_token"], 3)
        token = predicted["target"]["token"]
        self.assertEqual(self.json_of("gradient", "--target", token,
                                      "--output-token", "3"), predicted)
        for other in tiny_causal.VOCABULARY:
            self.assertLessEqual(
                self.json_of("gradient", "--target", other)["target"]["value"],
                predicted["target"]["value"])
        before = self.json_of("gradient", "--target", "w2", "--output-token", "1")
        self.assertEqual(before["output_token"], 1)
        for head in before["heads"]:
            self.assertEqual(head["key_gradients"][2:], [0, 0])
            self.assertAlmostEqual(head["gradient"], math.fsum(head["key_gradients"]),
                                   delta=1e-5)

    def test_text_and_csv(self):
        for name in "gradient", "integrated", "integrated-by-layer":
            done = self.json_of(name, "--target", "w2")
            lines = self.stats(name, "--target", "w2").splitlines()
            self.assertEqual(lines[-1], f"{name}: of the logit of w2 after token 3 (w2), "
                             f"{done['target']['value']:.4f}")
            at = lines[2].split().index(name)
            rows = list(csv.DictReader(io.StringIO(self.stats(name, "--target", "w2",
                                                              "--csv"))))
            for line, row, head in zip(lines[3:], rows, done["heads"]):
                self.assertEqual(line.split()[at], f"{head[name]:.4f}")
                self.assertAlmostEqual(float(row[name]), head[name], delta=1e-6)
        self.assertIn("토큰 3(w2) 다음에 오는 w2의 로짓",
                      self.stats("gradient", "--target", "w2", "--lang", "ko"))

    def test_other_measures(self):
        for name in ("norms", "rollout", "flow"):
            self.stats(name)

    def test_what_does_not_exist(self):
        text = "stats", "--model", "causal", self.TEXT, "--attribution", "gradient"
        self.fail_with(USAGE, "--target is w99, expected a token of the model's vocabulary",
                       *text, "--target", "w99")
        self.fail_with(USAGE, "--output-token is 4, expected less than 4", *text,
                       "--output-token", "4")


class Refused(AttributionTest):
    def test_options_that_do_not_go_together(self):
        text = "stats", "--model", "tiny", SENTENCE
        for message, *arguments in (
                ("--target needs --attribution gradient, integrated or",
                 "--attribution", "norms", "--target", "a"),
                ("--output-token needs an --attribution other than norms", "--attribution", "norms",
                 "--output-token", "0"),
                ("--target needs --attribution gradient, integrated or", "--target", "a"),
                ("leave out --layers", "--attribution", "rollout", "--layers", "1"),
                ("lists tokens: leave out --sort", "--attribution", "flow", "--sort", "self"),
                ("--attribution is shapley", "--attribution", "shapley")):
            self.fail_with(USAGE, message, *text, *arguments)
        (self.folder / "lines.txt").write_text("heads\n")
        self.fail_with(USAGE, "needs --model and a single text", "stats", "--model",
                       "tiny", "--corpus", "lines.txt", "--attribution", "norms")

    def test_targets_and_tokens_that_do_not_exist(self):
        text = "stats", "--model", "tiny", SENTENCE, "--attribution"
        self.fail_with(USAGE, "--target is a, expected none: the model has no "
                       "classifier", *text, "gradient", "--target", "a")
        self.fail_with(USAGE, "--output-token is 5, expected less than 5", *text,
                       "rollout", "--output-token", "5")
        self.fail_with(USAGE, "--output-token is 1, expected none: gradients of this model "
                       "are of its whole text", *text, "gradient", "--output-token", "1")

    def test_models_that_overflow(self):
        tiny_causal.write(self.folder / "huge", scale=1e30)
        for name in "rollout", "flow", "gradient", "integrated":
            for more in ((), ("--json",)):
                with self.subTest(name, more=more):
                    self.fail_with(BAD_INPUT, "--model computes NaN in head 0.0, expected "
                                   "attention weights that are numbers", "stats", "--model",
                                   "huge", "w1 w2", "--attribution", name, *more)
        self.assertIn("--model의 헤드 0.0에서 NaN이 나왔습니다. 수로 된 어텐션 가중치여야 합니다",
                      self.fail_with(BAD_INPUT, "", "stats", "--model", "huge", "w1 w2",
                                     "--attribution", "flow", "--lang", "ko"))


if __name__ == "__main__":
    cli_case.main()
