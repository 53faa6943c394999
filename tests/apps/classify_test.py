"""Texts to labels: headwise classify."""
import json
import math
import struct

import cli_case
import tiny_model
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, CliTest, read_npy
from train_model_test import examples, read_safetensors

LINES = ["heads matter!", "so < so", "", "머리 heads & so", "matters"]


def text_of(lines):
    return "".join(line + "\n" for line in lines).encode()


def softmax(logits):
    powers = [math.exp(x - max(logits)) for x in logits]
    return [power / math.fsum(powers) for power in powers]


class ClassifyTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "plain")
        self.put_text(examples(1, 41), "data.tsv")
        self.put_text(text_of(LINES), "lines.txt")
        self.succeed("train", "--model", "plain", "--data", "data.tsv", "--out",
                     "model")

    def classify(self, *arguments, **options):
        return self.succeed("classify", "--model", "model", *arguments,
                            **options)

    def expected(self, *options):
        """The probabilities of every line, in plain Python."""
        self.succeed("encode", "--model", "model", "lines.txt", "--out",
                     "e.npy", *options)
        (count, size), values = read_npy(self.folder / "e.npy")
        _, tensors = read_safetensors(
            self.folder / "model/classifier.safetensors")
        weight = struct.unpack(f"<{2 * size}f", tensors["weight"][1])
        bias = struct.unpack("<2f", tensors["bias"][1])
        return [softmax([math.fsum(
            [bias[c], *(weight[c * size + e] * values[n * size + e]
                        for e in range(size))]) for c in range(2)])
            for n in range(count)]

    def test_a_line_has_label_probability_and_text_in_order(self):
        rows = [line.split("\t") for line in
                self.classify("lines.txt").splitlines()]
        self.assertEqual([row[2] for row in rows], LINES)
        for row, wanted in zip(rows, self.expected(), strict=True):
            self.assertEqual(row[0], ["body", "signs"][wanted[1] > wanted[0]])
            self.assertAlmostEqual(float(row[1]), max(wanted), delta=1e-6)

    def test_bf16_is_of_embeddings_in_bf16(self):
        options = ("--arithmetic", "bf16")
        lines = self.classify("lines.txt", *options).splitlines()
        exact = self.expected()
        wanted = self.expected(*options)
        self.assertNotEqual(exact, wanted)
        for line, probabilities in zip(lines, wanted, strict=True):
            self.assertAlmostEqual(float(line.split("\t")[1]),
                                   max(probabilities), delta=1e-6)

    def test_json_has_the_probabilities_of_all_labels(self):
        lines = [json.loads(line) for line in
                 self.classify("lines.txt", "--json").splitlines()]
        self.assertEqual([line["text"] for line in lines], LINES)
        self.assertEqual([line["line"] for line in lines], [1, 2, 3, 4, 5])
        for line, wanted in zip(lines, self.expected(), strict=True):
            got = line["probabilities"]
            self.assertEqual(list(got), ["body", "signs"])
            for probability, exact in zip(got.values(), wanted, strict=True):
                self.assertAlmostEqual(probability, exact, delta=1e-6)
            self.assertEqual(got[line["label"]], line["probability"])
            self.assertEqual(line["probability"], max(got.values()))

    def test_all_adds_a_heading_and_a_column_for_each_label(self):
        heading, *rows = [line.split("\t") for line in
                          self.classify("lines.txt", "--all").splitlines()]
        self.assertEqual(heading,
                         ["label", "probability", "body", "signs", "text"])
        for row, text in zip(rows, LINES, strict=True):
            self.assertEqual(row[4], text)
            self.assertEqual(row[1], row[heading.index(row[0])])
            self.assertAlmostEqual(float(row[2]) + float(row[3]), 1, delta=1e-6)

    def test_out_is_what_is_printed_otherwise(self):
        printed = self.classify("lines.txt")
        done = self.run_it("classify", "--model", "model", "--out", "l.tsv",
                           stdin=text_of(LINES))
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertEqual(done.stderr, b"l.tsv: labels of 5 texts\n")
        self.assertEqual((self.folder / "l.tsv").read_text("utf-8"), printed)

    def test_neither_other_lines_nor_threads_change_a_digit(self):
        whole = self.classify("lines.txt")
        one_by_one = "".join(self.classify(stdin=text_of([line]))
                             for line in LINES)
        self.assertEqual(whole, one_by_one)
        many = self.classify("--threads", "2", stdin=text_of(LINES * 40))
        self.assertEqual(many, whole * 40)

    def test_a_trained_model_finds_the_labels_of_other_texts(self):
        lines = [line.split("\t") for line in examples(2, 60).splitlines()]
        told = self.classify(stdin=text_of([text for _, text in lines]))
        right = sum(line.split("\t")[0] == label for line, (label, _) in
                    zip(told.splitlines(), lines, strict=True))
        self.assertGreaterEqual(right, 54)

    def test_long_texts_are_cut_and_that_is_said(self):
        for arguments, most in (((), 12), (("--max-tokens", "3"), 3)):
            done = self.run_it("classify", "--model", "model", *arguments,
                               stdin=b"so\n" + b"heads " * 100 + b"\n")
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(done.stderr.decode(),
                             f"1 of 2 texts cut to {most} tokens\n")
            self.assertEqual(done.stdout.count(b"\n"), 2)

    def test_control_characters_stay_in_their_column(self):
        path = self.folder / "model/classifier.safetensors"
        # The metadata keep their length in the header.
        data = path.read_bytes()
        self.assertEqual(data.count(rb'\"body\"'), 1)
        path.write_bytes(data.replace(rb'\"body\"', rb'\"\\tb\"'))
        told = self.classify(stdin=b"heads\t\x1b[31mheads\n")
        label, probability, text = told.splitlines()[0].split("\t")
        self.assertIn(label, (r"\x09b", "signs"))
        self.assertEqual(text, r"heads\x09\x1b[31mheads")

    def test_a_model_without_a_classifier_says_how_to_train_one(self):
        self.fail_with(BAD_INPUT, "--model plain has no classifier; train one "
                       "with: headwise train --model plain --data",
                       "classify", "--model", "plain", "lines.txt")

    def test_bad_texts(self):
        call = ("classify", "--model", "model")
        self.fail_with(BAD_INPUT, "standard input is empty, expected one text "
                       "per line", *call)
        self.put_text(b"so\nso \xff\n", "bad.txt")
        self.fail_with(BAD_INPUT, "bad.txt: line 2 is not UTF-8 text: its byte 3 "
                       "(0xff)", *call, "bad.txt")
        self.fail_with(BAD_INPUT, "none.txt: No such file", *call,
                       "none.txt")
        self.fail_with(BAD_INPUT, "none", "classify", "--model", "none",
                       "lines.txt")

    def test_wrong_usage(self):
        call = ("classify", "--model", "model", "lines.txt")
        self.fail_with(USAGE, "--model is required", "classify", "lines.txt")
        self.fail_with(USAGE, "--max-tokens is 1, expected at least 2", *call,
                       "--max-tokens", "1")
        self.fail_with(USAGE, "--all adds columns", *call, "--all", "--json")

    def test_a_result_that_cannot_be_written_is_said(self):
        self.fail_with(OUT_OF_RESOURCES, "none/l.tsv", "classify", "--model",
                       "model", "lines.txt", "--out", "none/l.tsv")


if __name__ == "__main__":
    cli_case.main()
