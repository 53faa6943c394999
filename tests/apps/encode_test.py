"""Sentences to embeddings: headwise encode."""
import json
import math
import os
import pathlib

import cli_case
import tiny_model
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, CliTest, read_npy
from explain_model_test import largest_difference, real_model

LINES = ["heads matter!", "", "so heads", "matter & so < heads!", "matters"]
IDS = [[2, 5, 6, 8, 3], [2, 3], [2, 12, 5, 3], [2, 6, 10, 12, 9, 5, 8, 3],
       [2, 6, 7, 3]]


def text_of(lines):
    return "".join(line + "\n" for line in lines).encode()


class TinyModelTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")

    def encode(self, lines, *arguments, **options):
        """(what was printed, the embeddings, one list a line)"""
        self.put_text(text_of(lines), "lines.txt")
        printed = self.succeed("encode", "--model", "tiny", "lines.txt", "--out",
                               "e.npy", *arguments, **options)
        (count, size), values = read_npy(self.folder / "e.npy")
        return printed, [values[n * size:(n + 1) * size] for n in range(count)]

    def test_embeddings_are_the_means_of_the_hidden_states(self):
        _, embeddings = self.encode(LINES)
        encoder = tiny_model.Encoder()
        for ids, got in zip(IDS, embeddings, strict=True):
            hidden = encoder.hidden(ids)
            mean = [math.fsum(column) / len(ids) for column in zip(*hidden)]
            self.assertLess(largest_difference(list(got), mean), 1e-5)

    def test_neither_place_nor_threads_change_a_bit(self):
        _, few = self.encode(LINES)
        for threads in ("1", "2"):
            _, many = self.encode(LINES[::-1] * 40, "--threads", threads)
            for n, embedding in enumerate(many):
                self.assertEqual(embedding, few[::-1][n % len(few)])

    def test_bf16_is_near_exact_and_the_same_in_any_batch(self):
        _, exact = self.encode(LINES)
        bf16 = ("--arithmetic", "bf16")
        _, few = self.encode(LINES, *bf16)
        _, many = self.encode(LINES[::-1] * 40, *bf16, "--threads", "1",
                              env={"HEADWISE_BF16": "emulated"})
        for n, embedding in enumerate(many):
            self.assertEqual(embedding, few[::-1][n % len(few)])
        for one, other in zip(exact, few, strict=True):
            self.assertNotEqual(one, other)
            self.assertLess(largest_difference(list(one), list(other)), 0.05)
        self.assertEqual(self.encode(LINES, "--arithmetic", "exact")[1], exact)

    def test_json_is_a_line_a_sentence(self):
        text = self.succeed("encode", "--model", "tiny", "--json",
                            stdin=text_of(LINES))
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([line["text"] for line in lines], LINES)
        self.assertEqual([line["sentence"] for line in lines], [0, 1, 2, 3, 4])
        _, embeddings = self.encode(LINES)
        for line, embedding in zip(lines, embeddings, strict=True):
            self.assertLess(largest_difference(line["embedding"],
                                               list(embedding)), 1e-7)

    def test_it_says_how_fast_it_was_and_what_was_cut(self):
        printed, _ = self.encode([*LINES, "heads " * 100_000])
        self.assertRegex(printed, r"^6 sentences, 35 tokens, in \S+ s: \S+ "
                                  r"sentences/s\n1 of them had more than 12 "
                                  r"tokens; the rest was cut off \(up to 99990 "
                                  r"tokens, in line 6\)\ne.npy: embeddings of "
                                  r"shape \(6, 8\)\n$")

    def test_lines_may_end_as_windows_has_it_and_the_last_may_have_no_end(self):
        _, expected = self.encode(["heads", "so"])
        self.put_text(b"\xef\xbb\xbfheads\r\nso", "windows.txt")
        self.succeed("encode", "--model", "tiny", "windows.txt", "--out",
                     "w.npy")
        self.assertEqual(list(read_npy(self.folder / "w.npy")[1]),
                         [v for row in expected for v in row])

    def test_wrong_usage(self):
        self.fail_with(USAGE, "expected --out FILE.npy, or --json", "encode",
                       "--model", "tiny")
        self.fail_with(USAGE, "--model", "encode", "--json")

    def test_bad_sentences(self):
        call = ("encode", "--model", "tiny", "--json")
        self.fail_with(BAD_INPUT, "standard input is empty, expected one "
                       "sentence per line", *call)
        self.fail_with(BAD_INPUT, "FILE: standard input: line 2 is not "
                       "UTF-8 text: its byte 3 (0xff)",
                       *call, stdin=b"so\nso \xff\n")
        self.fail_with(BAD_INPUT, "none.txt: No such file", *call,
                       "none.txt")

    def test_a_step_that_fails_on_any_thread_is_said(self):
        for threads in ("1", "3"):
            self.fail_with(BAD_INPUT, "HEADWISE_TARGET is abacus", "encode",
                           "--model", "tiny", "--json", "--threads", threads,
                           stdin=text_of(LINES * 100),
                           env={"HEADWISE_TARGET": "abacus"})

    def test_bad_models(self):
        def fail(message):
            self.fail_with(BAD_INPUT, message, "encode", "--model", "tiny",
                           "--json", stdin=b"so\n")

        folder = self.folder / "tiny"
        words = tiny_model.VOCABULARY
        for wrong, message in (
                ([*words[:-1], "so"], "line 14 is \"so\" again"),
                ([w for w in words if w != "[SEP]"], "[SEP]"),
                ([*words, "more"], "has 15 tokens, expected at most "
                                   "vocab_size = 14")):
            (folder / "vocab.txt").write_text("\n".join(wrong) + "\n",
                                              encoding="utf-8")
            fail(message)
        (folder / "vocab.txt").write_text("\n".join(words) + "\n",
                                          encoding="utf-8")
        for config, message in (
                ({"model_type": "rwkv"}, 'model_type is "rwkv"'),
                ({"num_hidden_layers": 3}, "encoder.layer.2."),
                ({"hidden_size": 16}, "hidden_size")):
            (folder / "config.json").write_text(
                json.dumps({**tiny_model.CONFIG, **config}))
            fail(message)
        (folder / "config.json").write_text("{")
        fail("config.json")
        (folder / "config.json").unlink()
        fail("config.json")

    def test_a_model_that_is_not_there_is_to_be_fetched(self):
        message = ("--model my minilm: No such file or directory; headwise "
                   "downloads nothing: fetch the folder first, such as with "
                   "huggingface-cli download OWNER/NAME --local-dir "
                   "'my minilm'")
        self.put_text(b"so\n", "lines.txt")
        for call in (("encode", "lines.txt", "--json"), ("view", "so", "--json"),
                     ("stats", "so"), ("explain", "so"),
                     ("classify", "lines.txt"),
                     ("train", "--data", "d.tsv", "--out", "o"),
                     ("importance", "--data", "d.tsv", "--out", "o"),
                     ("prune", "--scores", "s", "--out", "o", "--keep", "1")):
            with self.subTest(call[0]):
                self.put_text(b"a\tso\nb\theads\n", "d.tsv")
                self.fail_with(BAD_INPUT, message, *call, "--model",
                               "my minilm")

    def test_a_result_that_cannot_be_written_is_said(self):
        self.fail_with(OUT_OF_RESOURCES, "none/e.npy", "encode", "--model",
                       "tiny", "--out", "none/e.npy", stdin=b"so\n")


class RealModelTest(CliTest):
    def test_embeddings_are_the_references(self):
        model = real_model()
        fixture = pathlib.Path(os.environ.get("HEADWISE_FIXTURES") or
                               cli_case.FIXTURES or "none") / "minilm"
        if model is None or not fixture.is_dir():
            self.skipTest("there is no real model (HEADWISE_PEERS_PYTHON), or "
                          "no fixtures of it (script/golden makes them)")
        case = json.loads((fixture / "case.json").read_text("utf-8"))
        self.put_text(text_of(case["sentences"]), "lines.txt")
        self.succeed("encode", "--model", model, "lines.txt", "--out", "e.npy")
        (count, size), got = read_npy(self.folder / "e.npy")
        _, expected = read_npy(fixture / "embeddings.npy")
        self.assertEqual((count, size), (8, 384))
        self.assertLess(largest_difference(list(got), list(expected)), 2e-5)
        for n in range(count):
            a, b = (x[n * size:(n + 1) * size] for x in (got, expected))
            cosine = math.fsum(map(float.__mul__, a, b)) / math.sqrt(
                math.fsum(x * x for x in a) * math.fsum(x * x for x in b))
            self.assertGreater(cosine, 0.999999)


if __name__ == "__main__":
    cli_case.main()
