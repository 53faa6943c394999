"""The command as a process: exit codes, streams, files, terminals."""
import fcntl
import itertools
import json
import os
import pty
import re
import resource
import shlex
import struct
import termios
import unittest
import xml.etree.ElementTree

import cli_case
import tiny_model
from cli_case import BAD_INPUT, OK, OUT_OF_RESOURCES, USAGE, CliTest, read_npy

SMALL = ("--embed-dim", "8", "--num-heads", "2")


class HelpTest(CliTest):
    def test_help_begins_with_examples(self):
        for arguments in (["--help"], ["-h"], [], ["explain", "--help"],
                          ["run", "--help"], ["train", "--help"],
                          ["bench", "--help"], ["info", "--help"]):
            with self.subTest(arguments):
                text = self.succeed(*arguments)
                self.assertTrue(text.startswith("Examples:\n  headwise "), text)
                self.assertIn("Usage: headwise", text)

    def commands(self):
        listed = self.succeed("help").split("Subcommands:\n")[1]
        return [line.split()[0] for line in listed.splitlines() if line]

    def test_no_line_is_longer_than_a_terminal(self):
        for command in ([], *([name] for name in self.commands())):
            for option in ("--help", "--help-all"):
                for line in self.succeed(*command, option).splitlines():
                    # Nobody can break a command in the middle of a word.
                    if not line.startswith("  headwise "):
                        self.assertLessEqual(len(line), 80, line)

    def test_help_names_every_command_and_has_columns(self):
        listed = self.succeed("help").split("Subcommands:\n")[1]
        for line in listed.splitlines():
            if line:
                self.assertRegex(line, r"^  [\w-]+  +\w")
        self.assertEqual(
            {"view", "encode", "prune", "classify", "help"} -
            set(self.commands()), set())
        examples = self.succeed("--help").split("\n\n")[0]
        for name in ("view", "encode", "prune", "classify", "explain"):
            self.assertIn(f"  headwise {name} ", examples)

    def test_help_is_short_and_help_all_has_every_option(self):
        for name in self.commands():
            with self.subTest(name):
                short = self.succeed(name, "--help")
                every = self.succeed(name, "--help-all")
                self.assertEqual(self.succeed("help", name), short)
                self.assertEqual(self.succeed("help", name, "--all"), every)
                self.assertLessEqual(len(short), len(every))
        self.assertLessEqual(
            self.succeed("explain", "--help").count("\n"), 85)
        self.assertNotIn("--sequence-ids",
                         self.succeed("explain", "--help"))
        self.assertIn("--sequence-ids", self.succeed("explain", "--help-all"))

    def test_every_built_in_job_is_described(self):
        table = self.succeed("explain", "--help").split(
            "Built-in examples (--example NAME):\n")[1]
        jobs = [line.split(maxsplit=1) for line in table.splitlines() if line]
        self.assertEqual(len(jobs), 6)
        for name, about in jobs:
            self.assertTrue(about)
            self.succeed("explain", "--example", name, "--shapes-only")

    def test_the_examples_of_explain_work(self):
        self.put_text("[[62, 13], [60]]", "batch.json")
        tiny_model.write(self.folder / "all-MiniLM-L6-v2")
        text = self.succeed("explain", "--help")
        lines = [shlex.split(line) for line in
                 text.split("\n\n")[0].splitlines()[1:]]
        self.assertGreater(len(lines), 4)
        for line in lines:
            self.assertEqual(line[0], "headwise")
            self.succeed(*line[1:])
        self.assertTrue((self.folder / "heads.svg").exists())

    def test_the_examples_of_run_work(self):
        for name in "qkv":
            self.put(f"{name}.npy", 2, 3, 4, 5)
        self.put("x.npy", 2, 4, 16)
        self.put("lengths.npy", 2, descr="<i8")
        for name in ("w_q", "w_k", "w_v"):
            self.put(f"layer/{name}.weight.npy", 16, 16)
        text = self.succeed("run", "--help").split("\n\n")[0]
        lines = text.replace("\\\n", "").splitlines()[1:]
        self.assertEqual(len(lines), 6)
        for line in lines:
            if "--offsets" in line:
                self.put("offsets.npy", 3, descr="<i8", values=(0, 1, 2))
                for name in ("q", "k", "v", "d_out"):
                    self.put(f"{name}.npy", 2, 3, 5)
            said = self.succeed(*line.split()[1:])
            self.assertEqual("layout" in said, "--params" not in line)
            (self.folder / "out.npy").unlink()
        self.assertTrue((self.folder / "lse.npy").exists())

    def test_version_and_info(self):
        version = self.succeed("--version")
        self.assertRegex(version, r"^headwise \d+\.\d+\.\d+\n$")
        info = self.succeed("info")
        for word in ("version: " + version.split()[1], "compiler: ",
                     "instruction sets: ", "threads: "):
            self.assertIn(word, info)

    def test_a_forced_instruction_set_is_used_or_an_error(self):
        info = self.succeed("info")
        sets = re.search("instruction sets: (.*)", info)[1].split()
        for name in sets:
            forced = self.succeed("info", env={"HEADWISE_TARGET": name})
            self.assertIn(f"in use: {name},", forced)
        self.fail_with(3, "HEADWISE_TARGET is abacus, expected one of " + ", ".join(sets),
                       "info", env={"HEADWISE_TARGET": "abacus"})
        for name in "qkv":
            self.put(f"{name}.npy", 1, 2, 3, 4)
        self.fail_with(3, "HEADWISE_TARGET is abacus", "run", "--query", "q.npy", "--key",
                       "k.npy", "--value", "v.npy", "--out", "o.npy",
                       env={"HEADWISE_TARGET": "abacus"})
        self.assertFalse((self.folder / "o.npy").exists())

    def test_mistakes_are_usage(self):
        for message, *arguments in (
                ("unknown option --frob", "--frob"),
                ("unknown option --exmaple; did you mean --example?",
                 "explain", "--exmaple", "masked"),
                ("unknown command explian; did you mean explain?", "explian"),
                ("unknown command explian; did you mean explain?", "help",
                 "explian"),
                ("unknown command prun; did you mean prune?", "prun"),
                ("unexpected argument \"masked\"", "explain", "masked"),
                ("--query is required", "run"),
                ("--num-heads is -1, expected", "explain", "--num-heads", "-1"),
                ("--lang is de, expected one of en, ko", "explain",
                 "--lang", "de"),
                ("--step scors is not a step of this run, expected one of",
                 "explain", *SMALL, "--step", "scors"),
                ("--embed-dim is 8, expected a multiple of --num-heads, which "
                 "is 3", "explain", "--embed-dim", "8", "--num-heads", "3"),
                ("--sequence needs --picture FILE", "explain", "--sequence",
                 "1"),
                ("--shapes-only computes nothing", "explain", "--shapes-only",
                 "--out", "x.npy"),
                ("--target-tokens needs --tokens", "explain", "--target-tokens",
                 "t.json"),
                ("give --tokens or --example, not both", "explain", "--tokens",
                 "t", "--example", "masked"),
                ("give --query or --example, not both", "explain", "--query",
                 "q.npy", "--example", "masked"),
                ("--key and --value need --query", "explain", "--key",
                 "k.npy"),
                ("--mask-kind none and --causal cannot be used together",
                 "explain", "--mask-kind", "none", "--causal"),
                ("unknown option --heads; did you mean --picture?", "explain",
                 "--heads", "h.svg"),
                ("unknown option --heads; did you mean --num-heads?", "plan",
                 "--heads", "32"),
                ("unknown option --heads; did you mean --num-heads?",
                 "plan", "--heads=12"),
                ("--picture is h.gif, expected a name that ends in .svg or "
                 ".png", "explain", *SMALL, "--picture", "h.gif"),
                ("--svg is h.png, expected a name that ends in .svg", "view",
                 "--query", "q.npy", "--key", "k.npy", "--svg", "h.png"),
                ("--png is h, expected a name that ends in .png", "view",
                 "--query", "q.npy", "--key", "k.npy", "--png", "h"),
                ("--curve is c.pdf, expected a name that ends in .svg or .png",
                 "prune", "--model", "m", "--scores", "s", "--data", "d",
                 "--curve", "c.pdf"),
                ("--svg is s.png, expected a name that ends in .svg",
                 "importance", "--model", "m", "--data", "d", "--out", "o",
                 "--svg", "s.png"),
                ("--params needs --num-heads", "run", "--query", "q", "--key",
                 "k", "--value", "v", "--out", "o", "--params", "p"),
                ("--num-heads needs --params; otherwise the tensor shapes",
                 "run", "--query", "q", "--key", "k", "--value", "v", "--out", "o", "--num-heads", "2"),
                ("name one file", "run", "--query", "q", "--key", "k",
                 "--value", "v", "--out", "o", "--lse", "o"),
                ("--attn-weights-form needs --attn-weights", "run", "--query",
                 "q", "--key", "k", "--value", "v", "--out", "o",
                 "--attn-weights-form", "mean"),
                ("--layout is for tensors with heads", "run", "--query", "q",
                 "--key", "k", "--value", "v", "--out", "o", "--params", "p",
                 "--num-heads", "2", "--layout", "blhd"),
                ("--num-kv-heads needs --params; otherwise the tensor shapes",
                 "run", "--query", "q", "--key", "k", "--value", "v", "--out", "o", "--num-kv-heads",
                 "2"),
                ("--num-kv-heads is 3, expected a divisor of --num-heads, "
                 "which is 8", "run", "--query", "q", "--key", "k", "--value",
                 "v", "--out", "o", "--params", "p", "--num-heads", "8",
                 "--num-kv-heads", "3"),
                ("--num-kv-heads is 0, expected a whole number, 1 or greater",
                 "run", "--num-kv-heads", "0")):
            with self.subTest(message):
                self.fail_with(USAGE, message, *arguments)
        # Two letters are close to any two.
        self.assertNotIn("did you mean", self.fail_with(
            USAGE, "--lang is fr, expected one of en, ko", "explain", "--lang",
            "fr"))

    def test_usage_points_to_the_help_of_the_command(self):
        for arguments, said in (
                (("--lang", "en", "explain", "--scale", "x"), "explain --help"),
                (("explian",), "--help"), (("--nonsense",), "--help")):
            lines = self.run_it(*arguments).stderr.decode().splitlines()
            self.assertEqual(lines[1], f"Try headwise {said}.")

    def test_messages_name_what_was_typed(self):
        (self.folder / "bad.npy").write_bytes(b"abc")
        self.put_text("one")
        self.fail_with(BAD_INPUT, "headwise: inspect: bad.npy", "inspect",
                       "bad.npy")
        self.fail_with(BAD_INPUT, "headwise: convert: bad.npy", "convert",
                       "bad.npy", "o.npz", "--to", "keras")
        self.fail_with(BAD_INPUT, "headwise: --tokens: tokens: line 1",
                       "explain", "--tokens", "tokens")

    def test_help_names_no_file_that_is_not_installed(self):
        for name in self.commands():
            self.assertNotIn("docs/", self.succeed(name, "--help-all"))


class TokensTest(CliTest):
    def test_a_file_and_standard_input_are_the_same(self):
        text = "[[1, 2, 3], [4]]"
        self.put_text(text)
        from_file = self.succeed("explain", *SMALL, "--tokens", "tokens")
        self.assertIn("Maximum sequence length: 3\n", from_file)
        self.assertEqual(from_file, self.succeed(
            "explain", *SMALL, "--tokens", "-", stdin=text.encode()))
        self.assertEqual(from_file, self.succeed(
            "explain", *SMALL, "--tokens", "-", stdin=b"1 2 3\n4\n"))

    def test_target_tokens_are_the_queries(self):
        self.put_text("[[1, 2, 3], [4]]", "source")
        self.put_text("[[5, 6], [7]]", "target")
        text = self.succeed("explain", *SMALL, "--tokens", "source",
                            "--target-tokens", "target")
        self.assertIn("Maximum target sequence length: 2\n"
                      "Maximum source sequence length: 3\n", text)
        self.assertIn("(B=2, H=2, Lq=2, Lkv=3)", text)
        self.put_text("[[5]]", "target")
        self.fail_with(BAD_INPUT, "--target-tokens has 1 sequences, expected "
                       "one for each of the 2 in --tokens", "explain", *SMALL,
                       "--tokens", "source", "--target-tokens", "target")

    def test_bad_tokens(self):
        for text, message in (
                ("[1, 2]", "[0] holds a number, expected a list of ids"),
                ('{"a": 1}', "holds a JSON object, expected a list of lists"),
                ("[[1, 2]", "is not JSON text in UTF-8 at byte 8"),
                ("[[1, -2]]", "tokens[0][1] is -2, expected 0 "
                 "to vocab_size - 1 = 99"),
                ("[[1], [100]]", "tokens[1][0] is 100, "
                 "expected 0 to vocab_size - 1 = 99"),
                ("[[1.5]]", "[0][0] holds a number that does "
                 "not fit in a 64-bit integer, expected a whole number"),
                ("", "is empty"),
                ("5 x", 'line 1 has "x", which is not a token id'),
                (b"5 \xff\xfe", "is not a token id")):
            with self.subTest(text):
                self.put_text(text)
                for more in ((), ("--shapes-only",)):
                    done = self.run_it("explain", "--tokens", "tokens", *more)
                    self.assertEqual(done.returncode, BAD_INPUT)
                    self.assertIn(message.encode(), done.stderr)
                    self.assertEqual(done.stdout, b"")

    def test_an_unreadable_file(self):
        self.put_text("[[1]]")
        for path, why in (("missing", "No such file or directory"),
                          (".", "Is a directory"),
                          ("tokens/below", "Not a directory")):
            self.fail_with(BAD_INPUT, f"{path}: {why}", "explain",
                           "--tokens", path)
        self.fail_with(BAD_INPUT, "standard input: ", "explain",
                       "--tokens", "-", stdin=None,
                       preexec_fn=lambda: os.close(0))

    def test_a_message_is_one_line_whatever_the_name(self):
        line = self.fail_with(BAD_INPUT, r"a\x1b[31m\x0ab\x9b: ",
                              "explain", "--tokens", b"a\x1b[31m\nb\xc2\x9b")
        self.assertNotIn("\x1b", line)
        done = self.run_it("explain", "--tokens", b"\xff\xfe")
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn(b"\xff\xfe: ", done.stderr)
        self.put_text("[[1]] \x1b[31m")
        self.put_text("1 \x1b]0;title\x07")
        self.fail_with(BAD_INPUT, r"\x1b]0;title\x07", "explain", "--tokens",
                       "tokens")


class LanguageTest(CliTest):
    def test_the_locale_decides_and_lang_wins(self):
        korean = "토큰 시퀀스"
        arguments = ("explain", *SMALL)
        for env, more, expected in (
                ({}, (), False),
                ({"LANG": "ko_KR.UTF-8"}, (), True),
                ({"LANG": "ko_KR.UTF-8"}, ("--lang", "en"), False),
                ({"LANG": "en_US.UTF-8"}, ("--lang", "ko"), True),
                ({"LANG": "ko_KR", "LC_ALL": "C"}, (), False),
                ({"LANG": "kok_IN"}, (), False)):
            with self.subTest((env, more)):
                text = self.succeed(*arguments, *more, env=env)
                self.assertEqual(text.startswith(korean), expected)
        svg = self.folder / "h.svg"
        self.succeed(*arguments, "--picture", svg, "--lang", "ko")
        self.assertIn("어텐션 가중치", svg.read_text("utf-8"))


class OutputTest(CliTest):
    def test_out_holds_the_output_or_the_step(self):
        for example in ("self-attention", "masked", "encoder-decoder",
                        "single-head", "unbatched", "valid-lengths"):
            for step in (None, "attn_weights", "q_heads"):
                more = ("--step", step) if step else ()
                self.succeed("explain", "--example", example, "--out", "o.npy",
                             *more)
                shape, values = read_npy(self.folder / "o.npy")
                text = self.succeed("explain", "--example", example, "--json",
                                    "--step", step or "output")
                told = json.loads(text)["steps"][0]
                self.assertEqual(list(shape), told["shape"])
                flat = told["values"]
                while isinstance(flat[0], list):
                    flat = list(itertools.chain.from_iterable(flat))
                self.assertEqual(list(values), flat)
        self.succeed("explain", "--step", "lengths", "--out", "o.npy")
        self.assertEqual(list(read_npy(self.folder / "o.npy")[1]),
                         [16, 5, 11, 2, 4, 5, 1, 20, 16, 14])

    def test_json_is_json_in_both_languages(self):
        told = [json.loads(self.succeed("explain", *SMALL, "--json", "--lang",
                                        lang)) for lang in ("en", "ko")]
        for one, other in zip(told[0]["steps"], told[1]["steps"]):
            self.assertNotEqual(one.pop("operation"), other.pop("operation"))
            self.assertEqual(one, other)

    def test_dropout_is_a_share_of_what_may_attend(self):
        text = self.succeed("explain", *SMALL, "--mask-kind", "padding+causal",
                            "--dropout", "0.3")
        dropped, of = map(int, re.search(r"(\d+) of (\d+) weights dropped",
                                         text).groups())
        masked, pairs = map(int, re.search(r"(\d+) of (\d+) masked",
                                           text).groups())
        self.assertEqual(of, pairs - masked)
        self.assertLess(abs(dropped / of - 0.3), 0.1)

    def test_what_is_given_replaces_the_masks_of_the_example(self):
        def masks(*arguments):
            steps = json.loads(self.succeed("explain", "--json",
                                            *arguments))["steps"]
            names = [step["name"] for step in steps]
            self.assertEqual(len(set(names)), len(names))
            return [name for name in names
                    if re.search(r"mask(_\d)?$", name)]

        lengths = ("--example", "valid-lengths")
        self.put("n.npy", 2, descr="<i8", values=[6, 5])
        self.put("p.npy", 5, 10, descr="|b1", values=[True] * 50)
        self.assertEqual(masks(*lengths), ["key_lengths_mask"])
        self.assertEqual(masks(*lengths, "--mask-kind", "none"), [])
        self.assertEqual(masks("--example", "masked", "--mask-kind", "none"), [])
        self.assertEqual(masks(*lengths, "--key-lengths", "n.npy"),
                         ["key_lengths_mask"])
        self.assertIn("11 of 12 may attend", self.succeed(
            "explain", *lengths, "--key-lengths", "n.npy", "--step",
            "key_lengths_mask"))
        self.assertEqual(masks("--example", "masked", "--key-padding", "p.npy"),
                         ["padding_mask", "causal_mask", "mask"])
        both = ("--example", "masked", "--mask-kind", "padding",
                "--key-padding", "p.npy")
        self.assertEqual(masks(*both), ["padding_mask", "padding_mask_2", "mask"])
        self.assertIn("padding_mask_2[b,0,0,j] = key j",
                      self.succeed("explain", *both, "--step", "padding_mask_2"))

    def test_vectors_of_the_user_and_parameters(self):
        self.put("x.npy", 2, 5, 8)
        self.put("one.npy", 5, 8)
        self.put("key.npy", 2, 7, 6)
        text = self.succeed("explain", "--query", "x.npy", "--num-heads", "2",
                            "--mask-kind", "causal")
        self.assertIn("q_split: split the queries", text)
        self.assertIn("shape (B=2, Lq=5, H=2, D=4)", text)
        self.succeed("explain", "--query", "x.npy", "--key", "key.npy",
                     "--num-heads", "2", "--step", "k", "--out", "k.npy")
        self.assertEqual(read_npy(self.folder / "k.npy")[0], (2, 7, 8))
        self.assertIn("shape (Lq=5, H*D=8)", self.succeed(
            "explain", "--query", "one.npy", "--num-heads", "2", "--step", "q"))
        for message, *arguments in (
                ("--key has shape (5, 8), expected (B, L, E) or (L, E)",
                 "--key", "one.npy"),
                ("--value has 5 rows, expected the 7 of --key", "--key",
                 "key.npy", "--value", "x.npy")):
            self.fail_with(BAD_INPUT, message, "explain", "--query", "x.npy",
                           "--num-heads", "2", *arguments)
        # The random parameters, as files that --params takes.
        (self.folder / "layer").mkdir()
        call = ("explain", "--query", "x.npy", "--num-heads", "2")
        for name in ("w_q", "w_k", "w_v", "w_o"):
            for kind in ("weight", "bias"):
                said = self.succeed(*call, "--step", f"{name}.{kind}", "--out",
                                    f"layer/{name}.{kind}.npy")
                self.assertTrue(said.startswith(f"{name}.{kind}: a parameter"))
                self.assertTrue(said.endswith(
                    f"layer/{name}.{kind}.npy: written\n"), said)
        self.succeed(*call, "--out", "a.npy")
        self.succeed(*call, "--params", "layer", "--out", "b.npy")
        self.assertEqual((self.folder / "a.npy").read_bytes(),
                         (self.folder / "b.npy").read_bytes())
        told = json.loads(self.succeed("explain", *SMALL, "--step",
                                       "embedding.weight", "--json"))
        self.assertEqual(told["steps"][0]["shape"], [100, 8])
        self.fail_with(USAGE, "did you mean w_q.weight?", *call, "--step",
                       "w_q.weigth")

    def test_the_ending_of_a_picture_decides(self):
        for name, begins in (("h.svg", b"<svg"), ("h.png", b"\x89PNG")):
            said = self.succeed("explain", *SMALL, "--picture", name)
            self.assertTrue(said.endswith(f"{name}: written\n"))
            self.assertTrue((self.folder / name).read_bytes().startswith(begins))

    def test_heads_is_xml(self):
        self.put_text("[[1, 2, 3], []]")
        for more in ((), ("--sequence", "1", "--mask-kind", "padding+causal")):
            self.succeed("explain", *SMALL, "--tokens", "tokens", "--picture",
                         "h.svg", *more)
            tree = xml.etree.ElementTree.parse(self.folder / "h.svg")
            self.assertTrue(tree.getroot().tag.endswith("}svg"))
        self.fail_with(USAGE, "--sequence is 2, expected 0 to 1",
                       "explain", *SMALL, "--tokens", "tokens", "--picture",
                       "h.svg", "--sequence", "2")

    def test_shapes_only_needs_no_memory(self):
        text = self.succeed("explain", "--shapes-only", "--embed-dim",
                            str(10**15), "--num-heads", "1000", "--vocab-size",
                            str(10**18))
        self.assertIn("(B=10, Lq=20, H*D=1000000000000000)  float32", text)
        self.assertIn("Shapes only: nothing was computed.", text)

    def test_full_disk(self):
        message = "No space left on device"
        for out in ("--out", "--picture"):
            self.fail_with(OUT_OF_RESOURCES, message, "explain", *SMALL, out,
                           "/dev/full")
        for arguments in (("explain", *SMALL), ("--help",), ("--version",),
                          ("info",), ("explain", *SMALL, "--json")):
            with open("/dev/full", "wb") as full:
                self.fail_with(
                    OUT_OF_RESOURCES,
                    "cannot write to standard output: " + message, *arguments,
                    stdout=full)

    def test_file_size_limit_leaves_the_old_file_whole(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        (self.folder / "o.npy").write_bytes(b"old")
        self.fail_with(OUT_OF_RESOURCES, "File too large", "explain", "--out",
                       "o.npy", preexec_fn=limit)
        self.assertEqual((self.folder / "o.npy").read_bytes(), b"old")
        self.assertEqual(self.left_over(), [])
        with open(self.folder / "text", "wb") as text:
            self.fail_with(OUT_OF_RESOURCES, "File too large", "explain",
                           stdout=text, preexec_fn=limit)

    def test_a_place_that_cannot_be_written(self):
        self.put_text("x", "file")
        for path, why in (("missing/o.npy", "No such file or directory"),
                          (".", "Is a directory"),
                          ("file/o.npy", "Not a directory")):
            self.fail_with(OUT_OF_RESOURCES, f"{path}: {why}", "explain",
                           *SMALL, "--out", path)

    def test_out_replaces_a_file_in_one_go(self):
        (self.folder / "o.npy").write_bytes(b"old")
        os.link(self.folder / "o.npy", self.folder / "same")
        self.succeed("explain", *SMALL, "--out", "o.npy")
        self.assertEqual(read_npy(self.folder / "o.npy")[0], (10, 20, 8))
        self.assertEqual((self.folder / "same").read_bytes(), b"old")
        self.assertEqual(self.left_over(), [])

    def test_names_of_any_bytes(self):
        for name in (b"\xff\xfe.npy", b"a\nb \x1b.npy", "한국어.npy".encode()):
            self.succeed("explain", *SMALL, "--out", name)
            self.assertTrue(os.path.exists(os.path.join(
                os.fsencode(self.folder), name)))

    def test_closed_standard_output(self):
        for arguments in (("explain", *SMALL), ("--help",), ("--version",)):
            self.fail_with(
                OUT_OF_RESOURCES, "cannot write to standard output: Bad file "
                "descriptor", *arguments, stdout=None,
                preexec_fn=lambda: os.close(1))

    def test_closed_standard_error_changes_nothing_else(self):
        done = self.run_it("explain", "--bogus", stderr=None,
                           preexec_fn=lambda: os.close(2))
        self.assertEqual((done.returncode, done.stdout), (USAGE, b""))
        done = self.run_it("explain", *SMALL, "--out", "o.npy", stderr=None,
                           preexec_fn=lambda: os.close(2))
        self.assertEqual(done.returncode, OK)
        self.assertEqual(read_npy(self.folder / "o.npy")[0], (10, 20, 8))

    def test_a_reader_that_has_gone_is_no_error(self):
        for restore in (True, False):  # SIGPIPE kills, or is ignored
            reader, writer = os.pipe()
            os.close(reader)
            done = self.run_it("explain", *SMALL, stdout=writer,
                               restore_signals=restore)
            os.close(writer)
            self.assertEqual(done.returncode, OK)
            self.assertEqual(done.stderr, b"")

    @unittest.skipIf(cli_case.SANITIZED, "sanitizers")
    def test_out_of_memory(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
        self.fail_with(OUT_OF_RESOURCES, "memory", "explain", "--embed-dim",
                       "8192", preexec_fn=limit)
        tokens = "[" + ",".join(["[1,2,3,4]"] * 1_000_000) + "]"
        self.fail_with(OUT_OF_RESOURCES, "memory", "explain", *SMALL,
                       "--tokens", "-", stdin=tokens.encode(),
                       preexec_fn=limit)

    def test_sizes_beyond_all_memory(self):
        for arguments in (("--vocab-size", str(10**12)),
                          ("--vocab-size", str(2**64 - 1)),
                          ("--embed-dim", str(2**62), "--num-heads", "1")):
            self.fail_with(OUT_OF_RESOURCES, "out of memory",
                           "explain", *arguments)


class TerminalTest(CliTest):
    def drawn(self, *arguments, env=None, columns=80,
              begins=("10 sequences", "토큰")):
        """What a terminal shows of standard error."""
        try:
            ours, theirs = pty.openpty()
        except OSError as error:  # a root without /dev/pts
            self.skipTest(f"no terminal to be had here: {error}")
        fcntl.ioctl(theirs, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))
        done = self.run_it(*arguments, env={"TERM": "xterm", **(env or {})},
                           stderr=theirs)
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(ours, 65536):
                text += piece
        except OSError:  # how Linux says that the other side is closed
            pass
        os.close(ours)
        self.assertEqual(done.returncode, OK)
        self.assertTrue(done.stdout.decode().startswith(begins),
                        "results stay on standard output")
        return text.decode()

    def test_the_bar_is_drawn_on_a_terminal(self):
        text = self.drawn("explain", *SMALL)
        self.assertRegex(
            text, r"\rpadding: 100%\|█+\| 10/10 sequences "
            r"\[00:0\d<00:00, [\d.]+it/s\]"
            .replace(r"\rpadding", "\\r\x1b\\[36mpadding"))
        self.assertTrue(text.endswith("\r\n"))

    def test_every_long_part_of_pruning_has_a_bar(self):
        tiny_model.write(self.folder / "plain")
        self.put_text("a\theads\nb\tso so\n" * 8, "data.tsv")
        self.put_text("heads\nso so\n" * 8, "lines.txt")
        self.succeed("train", "--model", "plain", "--data", "data.tsv", "--out",
                     "model")
        self.succeed("importance", "--model", "model", "--data", "data.tsv",
                     "--out", "scores.json")
        for data in ("data.tsv", "lines.txt"):
            text = self.drawn("prune", "--model", "model", "--scores",
                              "scores.json", "--remove", "1", "--data", data,
                              "--out", "out", columns=100, begins="out: ",
                              env={"NO_COLOR": "1"})
            for bar in (r"before: 100%.* 16/16 texts \[",
                        r"after: 100%.* 16/16 texts \[",
                        r"timing: 100%.* 10/10 rounds \["):
                self.assertRegex(text, r"\r" + bar)
        text = self.drawn("importance", "--model", "model", "--data",
                          "data.tsv", "--out", "s.json", "--batch", "4",
                          columns=100, begins="gradient", env={"NO_COLOR": "1"})
        self.assertRegex(text, r"\rimportance: 100%.* 4/4 batches \[")

    def test_no_color(self):
        self.assertNotIn("\x1b[36m", self.drawn("explain", *SMALL,
                                                env={"NO_COLOR": "1"}))
        self.assertIn("\x1b[36m", self.drawn("explain", *SMALL,
                                             env={"NO_COLOR": ""}))

    def test_a_narrow_terminal_and_korean(self):
        for columns in (1, 5, 12, 20, 40):
            text = self.drawn("explain", *SMALL, "--lang", "ko",
                              columns=columns)
            self.assertNotIn("\ufffd", text)
            for line in text.replace("\x1b[36m", "").replace(
                    "\x1b[0m", "").replace("\x1b[K", "").split("\r"):
                wide = sum(2 if "가" <= c <= "힣" else 1
                           for c in line.strip("\n"))
                self.assertLess(wide, max(columns, 2))

    def test_nothing_is_drawn_elsewhere(self):
        self.assertEqual(self.drawn("explain", *SMALL,
                                    env={"TERM": "dumb"}), "")
        self.assertEqual(self.run_it("explain", *SMALL).stderr, b"")


if __name__ == "__main__":
    cli_case.main()
