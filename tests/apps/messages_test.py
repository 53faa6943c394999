"""What the command says of files and labels that were made to mislead."""
import json
import os
import shlex

import cli_case
import tiny_model
from cli_case import BAD_INPUT, USAGE, CliTest

ESCAPE = "\x1b[2J"
CONTROLS = {chr(code) for code in range(32)} - {"\n"}


class MessagesTest(CliTest):
    def model(self, name="tiny"):
        tiny_model.write(self.folder / name)
        return name

    def data(self, *labels, name="data.tsv"):
        return self.put_text("".join(f"{label}\theads matter\n"
                                     for label in labels), name)

    def train(self, *options, data="data.tsv", out="out"):
        return self.run_it("train", "--model", "tiny", "--data", data, "--out",
                           out, *options)

    def assert_plain(self, done):
        for text in (done.stdout, done.stderr):
            self.assertFalse(CONTROLS & set(text.decode()), text)

    def test_labels_and_paths_move_no_cursor(self):
        self.model()
        self.data(f"a{ESCAPE}", "b")
        out = f"o{ESCAPE}"
        done = self.train("--test", "data.tsv", out=out)
        self.assertEqual(done.returncode, 0, done)
        self.assert_plain(done)
        self.assertIn(b"\\x1b[2J", done.stdout)
        scores = f"s{ESCAPE} .json"
        done = self.run_it("importance", "--model", out, "--data", "data.tsv",
                           "--method", "random", "--out", scores)
        self.assertEqual(done.returncode, 0, done)
        self.assert_plain(done)
        done = self.run_it("prune", "--model", out, "--scores", scores,
                           "--remove", "1", "--out", f"p{ESCAPE}")
        self.assertEqual(done.returncode, 0, done)
        self.assert_plain(done)
        self.put_text("heads matter\n", "lines.txt")
        done = self.run_it("encode", "--model", out, "lines.txt", "--out",
                           f"e{ESCAPE}.npy")
        self.assertEqual(done.returncode, 0, done)
        self.assert_plain(done)
        done = self.run_it("stats", "--model", out, f"heads {ESCAPE}")
        self.assertEqual(done.returncode, 0, done)
        self.assert_plain(done)

    def test_suggested_commands_can_be_typed(self):
        self.model("my model's")
        self.data("a", "b")
        done = self.succeed("importance", "--model", "my model's", "--data",
                            "data.tsv", "--method", "random", "--out",
                            "my $(scores).json")
        command, = [line for line in done.splitlines() if "prune" in line]
        words = shlex.split(command)
        self.assertEqual(words[words.index("--model") + 1], "my model's")
        self.assertEqual(words[words.index("--scores") + 1],
                         "my $(scores).json")

    def test_json_of_names_that_are_no_utf8(self):
        self.model()
        self.data("a", "b")
        path = os.fsdecode(b"out\xff")
        done = self.train("--json", out=path)
        self.assertEqual(done.returncode, 0, done)
        said = json.loads(done.stdout.decode().splitlines()[-1])
        self.assertEqual(said["out"], "out\ufffd")
        self.succeed("importance", "--model", path, "--data", "data.tsv",
                     "--method", "random", "--out", "s.json", "--json")
        done = self.succeed("prune", "--model", path, "--scores", "s.json",
                            "--remove", "1", "--out",
                            os.fsdecode(b"pruned\xfe"), "--json")
        self.assertEqual(json.loads(done)["out"], "pruned\ufffd")

    def test_long_labels_are_cut(self):
        self.model()
        long = "x" * 2_000_000
        self.data(long, long)
        done = self.train()
        self.assertEqual(done.returncode, BAD_INPUT, done)
        self.assertLess(len(done.stderr), 300)
        self.assertIn(b"xxx...", done.stderr)
        self.data("a", "b")
        self.data(long, "a", name="test.tsv")
        done = self.train("--test", "test.tsv")
        self.assertEqual(done.returncode, BAD_INPUT, done)
        self.assertLess(len(done.stderr), 300)

    def test_many_labels_are_counted(self):
        self.model()
        self.data(*(f"label{n:03}" for n in range(100)))
        self.data("other", "label001", name="test.tsv")
        self.fail_with(
            BAD_INPUT, "--test: test.tsv: line 1 has the label other, expected "
            "one of the model's: label000, label001,", "train", "--model",
            "tiny", "--data", "data.tsv", "--out", "out", "--test", "test.tsv")
        done = self.train()
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(b"label011 and 88 more", done.stdout)

    def test_a_message_of_any_length_is_cut(self):
        self.fail_with(USAGE, "...", "explain", "--" + "x" * 100_000)

    def test_a_line_that_is_no_utf8_is_named(self):
        self.model()
        self.put_text(b"heads\nmat\xffter\n", "lines.txt")
        self.fail_with(
            BAD_INPUT, "FILE: lines.txt: line 2 is not UTF-8 text: its byte 3 "
            "(0xff)", "encode", "--model", "tiny", "lines.txt", "--json")
        self.fail_with(
            BAD_INPUT, "FILE: standard input: line 2 is not UTF-8 text",
            "encode", "--model", "tiny", "--json", stdin=b"heads\nmat\xffter\n")
        self.fail_with(
            BAD_INPUT, "text: standard input is not UTF-8 text: its byte 1", "view",
            "--model", "tiny", "-", "--json", stdin=b"a\xff")

    def test_an_unknown_label_of_some_lines_has_its_own_number(self):
        self.model()
        self.data("a", "b")
        self.assertEqual(self.train().returncode, 0)
        self.data("a", "b", "a", "b", "a", "c", name="more.tsv")
        self.fail_with(
            BAD_INPUT, "--data: more.tsv: line 6 has the label c", "importance",
            "--model", "out", "--data", "more.tsv", "--examples", "6",
            "--method", "random", "--out", "s.json")
        self.data("a", "b", "a", "c", name="more.tsv")
        self.fail_with(
            BAD_INPUT, "--data: more.tsv: line 4 has the label c", "prune",
            "--model", "out", "--data", "more.tsv", "--scores",
            self.scores("out"), "--remove", "1", "--out", "p")

    def scores(self, model):
        self.succeed("importance", "--model", model, "--data", "data.tsv",
                     "--method", "random", "--out", "scores.json")
        return "scores.json"

    def test_ids_outside_the_vocabulary_name_their_file(self):
        self.put_text("1 2\n3 100\n", "ids.txt")
        self.fail_with(
            BAD_INPUT, "--tokens: ids.txt: tokens[1][1] is "
            "100", "explain", "--embed-dim", "8", "--num-heads", "2",
            "--tokens", "ids.txt")

    def test_ranges_are_said(self):
        self.fail_with(USAGE, "--learning-rate is 1e300, expected a number from "
                       "0 to 1e30", "train", "--out", "o", "--learning-rate",
                       "1e300")

    def test_tensors_are_named_by_their_options(self):
        self.put("q.npy", 2, 1, 3, 4)
        self.put("k.npy", 2, 1, 3, 4)
        self.put("v.npy", 2, 1, 3, 0)
        self.put("empty.npy", 2, 1, 3, 0)
        self.fail_with(BAD_INPUT, "--value has shape (2, 1, 3, 0), expected Dv "
                       "of at least 1", "run", "--query", "q.npy", "--key",
                       "k.npy", "--value", "v.npy", "--out", "o.npy")
        self.fail_with(BAD_INPUT, "--query has shape (2, 1, 3, 0), expected D "
                       "of at least 1", "run", "--query", "empty.npy", "--key",
                       "empty.npy", "--value", "q.npy", "--out", "o.npy")
        nan = [0.0] * 24
        nan[6] = float("nan")
        self.put("nan.npy", 2, 1, 3, 4, values=nan)
        self.fail_with(BAD_INPUT, "--query[0, 1, 0, 2] is "
                       "nan, expected a finite number", "view", "--query",
                       "nan.npy", "--key", "k.npy", "--out", "page.html")
        self.fail_with(BAD_INPUT, "--key[0, 1, 0, 2] is "
                       "nan, expected a finite number", "view", "--query",
                       "q.npy", "--key", "nan.npy", "--out", "page.html")

    def test_an_empty_batch_of_any_size_ends(self):
        self.put("x.npy", 1 << 60, 1, 0, 1, values=[])
        done = self.succeed("run", "--query", "x.npy", "--key", "x.npy",
                            "--value", "x.npy", "--out", "o.npy")
        self.assertIn(f"query: B={1 << 60} H=1 L=0 D=1, layout bhld\n", done)
        self.assertEqual(cli_case.read_npy(self.folder / "o.npy")[0],
                         (1 << 60, 1, 0, 1))
        self.put("layers.npy", 1 << 40, 1, 1, 0, 4, values=[])
        for command in ("stats", "view"):
            with self.subTest(command):
                self.run_it(command, "--query", "x.npy", "--key", "x.npy",
                            "--json")
                self.fail_with(
                    BAD_INPUT, f"--query has {1 << 40} layers, expected at "
                    "most 100000", command, "--query", "layers.npy", "--key",
                    "layers.npy", "--json")


if __name__ == "__main__":
    cli_case.main()
