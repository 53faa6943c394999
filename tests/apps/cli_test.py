"""The command as a process: exit codes, streams, files, terminals.

    cli_test.py HEADWISE [FIXTURES] [unittest arguments]

FIXTURES is the folder of the large golden files, if the environment's
HEADWISE_FIXTURES does not name another.
"""
import array
import fcntl
import itertools
import json
import math
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
import xml.etree.ElementTree
import zipfile

OK, USAGE, BAD_INPUT, OUT_OF_RESOURCES = 0, 2, 3, 4
HEADWISE = ""
FIXTURES = ""
SMALL = ("--embed-dim", "8", "--num-heads", "2")


def npy_bytes(shape, values=None, descr="<f4", header=None, version=1):
    """A .npy file; `header` replaces what it says of itself."""
    letter = {"<f4": "f", "<f8": "d", "<i8": "q", "|b1": "?"}.get(descr, "f")
    count = math.prod(shape)
    if values is None:
        values = [((n * 37 + 11) % 101) / 50 - 1 for n in range(count)]
        if letter in "q?":
            values = [n % 2 for n in range(count)]
    text = header or str({"descr": descr, "fortran_order": False,
                          "shape": tuple(shape)})
    text = (text + " " * (-(len(text) + 11) % 64) + "\n").encode("latin-1")
    return (b"\x93NUMPY" + bytes([version, 0]) +
            struct.pack("<H" if version == 1 else "<I", len(text)) + text +
            struct.pack(f"<{count}{letter}", *values))


def read_npy(path):
    """(shape, list of numbers) of what the command wrote."""
    data = pathlib.Path(path).read_bytes()
    assert data[:6] == b"\x93NUMPY", data[:10]
    length, = struct.unpack("<H", data[8:10])
    header = eval(data[10:10 + length], {"__builtins__": {}})
    assert not header["fortran_order"]
    kind = {"<f4": "f", "<i8": "q", "|b1": "B", "<f8": "d"}[header["descr"]]
    values = array.array(kind)
    values.frombytes(data[10 + length:])
    assert len(values) == math.prod(header["shape"]), header
    return header["shape"], values


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="headwise-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_it(self, *arguments, stdin=b"", env=None, **options):
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("LC_ALL", "LC_MESSAGES", "LANG",
                                    "NO_COLOR", "TERM")}
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.run(
            [HEADWISE, *map(os.fspath, arguments)], input=stdin,
            env={**environment, **(env or {})}, cwd=self.folder, timeout=120,
            **options)

    def succeed(self, *arguments, **options):
        done = self.run_it(*arguments, **options)
        self.assertEqual(done.returncode, OK, done)
        self.assertFalse(done.stderr, done)
        return (done.stdout or b"").decode()

    def fail_with(self, code, message, *arguments, **options):
        """Fails with this code and message, and prints no result."""
        done = self.run_it(*arguments, **options)
        self.assertEqual(done.returncode, code, done)
        self.assertFalse(done.stdout, done)
        lines = [line for line in done.stderr.decode().splitlines()
                 if "WARNING: AddressSanitizer" not in line]
        self.assertTrue(lines[0].startswith("headwise: "), lines)
        self.assertIn(message, lines[0])
        hint = ["Try headwise --help, or headwise COMMAND --help."]
        self.assertEqual(lines[1:], hint if code == USAGE else [])
        return lines[0]

    def put(self, name, *shape, **options):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(npy_bytes(shape, **options))
        return path

    def put_text(self, text, name="tokens"):
        (self.folder / name).write_bytes(
            text if isinstance(text, bytes) else text.encode())
        return name

    def left_over(self):
        return [p.name for p in self.folder.iterdir()
                if p.name.startswith(".headwise")]


class HelpTest(CliTest):
    def test_help_begins_with_examples(self):
        for arguments in (["--help"], ["-h"], [], ["explain", "--help"],
                          ["run", "--help"], ["bench", "--help"],
                          ["info", "--help"]):
            with self.subTest(arguments):
                text = self.succeed(*arguments)
                self.assertTrue(text.startswith("Examples:\n  headwise "), text)
                self.assertIn("Usage: headwise", text)

    def test_the_examples_of_explain_work(self):
        self.put_text("[[62, 13], [60]]", "batch.json")
        text = self.succeed("explain", "--help")
        lines = [line.split() for line in
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
        self.assertEqual(len(lines), 3)
        for line in lines:
            self.assertEqual(self.succeed(*line.split()[1:]), "")
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
                ("unexpected argument \"masked\"", "explain", "masked"),
                ("--query is required", "run"),
                ("--num-heads is -1, expected", "explain", "--num-heads", "-1"),
                ("--lang is de, expected one of en, ko", "explain",
                 "--lang", "de"),
                ("--step scors is no step of this job, expected one of",
                 "explain", *SMALL, "--step", "scors"),
                ("--embed-dim is 8, expected a multiple of --num-heads, which "
                 "is 3", "explain", "--embed-dim", "8", "--num-heads", "3"),
                ("--shapes-only computes nothing", "explain", "--shapes-only",
                 "--out", "x.npy"),
                ("give --tokens or --example, not both", "explain", "--tokens",
                 "t", "--example", "masked"),
                ("--params needs --num-heads", "run", "--query", "q", "--key",
                 "k", "--value", "v", "--out", "o", "--params", "p"),
                ("--num-heads is for --params", "run", "--query", "q", "--key",
                 "k", "--value", "v", "--out", "o", "--num-heads", "2"),
                ("name one file", "run", "--query", "q", "--key", "k",
                 "--value", "v", "--out", "o", "--lse", "o"),
                ("--attn-weights-form needs --attn-weights", "run", "--query",
                 "q", "--key", "k", "--value", "v", "--out", "o",
                 "--attn-weights-form", "mean"),
                ("--layout is for tensors with heads", "run", "--query", "q",
                 "--key", "k", "--value", "v", "--out", "o", "--params", "p",
                 "--num-heads", "2", "--layout", "blhd")):
            with self.subTest(message):
                self.fail_with(USAGE, message, *arguments)


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
                ("[1, 2]", "sequence 0 is 1, expected a list of lists"),
                ('{"a": 1}', "holds a JSON object, expected a list of lists"),
                ("[[1, 2]", "is no valid JSON"),
                ("[[1, -2]]", "sequence 0, position 1 holds id -2, expected 0 "
                 "to vocab_size - 1 = 99"),
                ("[[1], [100]]", "sequence 1, position 0 holds id 100, "
                 "expected 0 to vocab_size - 1 = 99"),
                ("[[1.5]]", "is 1.5, expected a whole number"),
                ("", "is empty"),
                ("5 x", 'line 1: "x" is no token id'),
                (b"5 \xff\xfe", "is no token id")):
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
            self.fail_with(BAD_INPUT, f"cannot read {path}: {why}", "explain",
                           "--tokens", path)
        self.fail_with(BAD_INPUT, "cannot read standard input", "explain",
                       "--tokens", "-", stdin=None,
                       preexec_fn=lambda: os.close(0))

    def test_a_message_is_one_line_whatever_the_name(self):
        line = self.fail_with(BAD_INPUT, r"cannot read a\x1b[31m\x0ab\x9b: ",
                              "explain", "--tokens", b"a\x1b[31m\nb\xc2\x9b")
        self.assertNotIn("\x1b", line)
        done = self.run_it("explain", "--tokens", b"\xff\xfe")
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn(b"cannot read \xff\xfe: ", done.stderr)
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
        self.succeed(*arguments, "--heads", svg, "--lang", "ko")
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

    def test_heads_is_xml(self):
        self.put_text("[[1, 2, 3], []]")
        for more in ((), ("--sequence", "1", "--mask-kind", "padding+causal")):
            self.succeed("explain", *SMALL, "--tokens", "tokens", "--heads",
                         "h.svg", *more)
            tree = xml.etree.ElementTree.parse(self.folder / "h.svg")
            self.assertTrue(tree.getroot().tag.endswith("}svg"))
        self.fail_with(BAD_INPUT, "--sequence is 2, expected 0 to 1",
                       "explain", *SMALL, "--tokens", "tokens", "--heads",
                       "h.svg", "--sequence", "2")

    def test_shapes_only_needs_no_memory(self):
        text = self.succeed("explain", "--shapes-only", "--embed-dim",
                            str(10**15), "--num-heads", "1000", "--vocab-size",
                            str(10**18))
        self.assertIn("(B=10, Lq=20, H*D=1000000000000000)  float32", text)
        self.assertIn("Shapes only: nothing was computed.", text)

    def test_full_disk(self):
        message = "No space left on device"
        for out in ("--out", "--heads"):
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
            self.assertIn(done.returncode, (OK, -signal.SIGPIPE))
            self.assertEqual(done.stderr, b"")

    @unittest.skipIf("HEADWISE_NO_MEMORY_LIMIT" in os.environ, "sanitizers")
    def test_out_of_memory(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
        self.fail_with(OUT_OF_RESOURCES, "memory", "explain", "--embed-dim",
                       "8192", preexec_fn=limit)
        tokens = "[" + ",".join(["[1,2,3,4]"] * 2_000_000) + "]"
        self.fail_with(OUT_OF_RESOURCES, "memory", "explain", *SMALL,
                       "--tokens", "-", stdin=tokens.encode(),
                       preexec_fn=limit)

    def test_sizes_beyond_all_memory(self):
        for arguments in (("--vocab-size", str(10**12)),
                          ("--vocab-size", str(2**64 - 1)),
                          ("--embed-dim", str(2**62), "--num-heads", "1")):
            self.fail_with(OUT_OF_RESOURCES, "needs more memory than there is",
                           "explain", *arguments)


class TerminalTest(CliTest):
    def drawn(self, *arguments, env=None, columns=80):
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
        self.assertTrue(done.stdout.decode().startswith(
            ("10 sequences", "토큰")), "results stay on standard output")
        return text.decode()

    def test_the_bar_is_drawn_on_a_terminal(self):
        text = self.drawn("explain", *SMALL)
        self.assertRegex(
            text, r"\rpadding: 100%\|█+\| 10/10 \[00:0\d<00:00, [\d.]+it/s\]"
            .replace(r"\rpadding", "\\r\x1b\\[36mpadding"))
        self.assertTrue(text.endswith("\r\n"))

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


class RunTest(CliTest):
    """`run`: attention by plain loops here, and what it refuses."""

    def inputs(self, *opts, q=(2, 4, 3, 5), k=(2, 2, 6, 5), v=(2, 2, 6, 7)):
        self.put("q.npy", *q)
        self.put("k.npy", *k)
        self.put("v.npy", *v)
        return ("run", "--query", "q.npy", "--key", "k.npy", "--value",
                "v.npy", "--out", "o.npy", *opts)

    def attention(self, allowed=lambda b, h, i, j: True, scale=5 ** -0.5,
                  term=lambda score, b, h, i, j: score):
        """(output, weights, lse) of inputs() by the formula."""
        (B, H, Lq, D), q = read_npy(self.folder / "q.npy")
        (_, G, Lk, _), k = read_npy(self.folder / "k.npy")
        (_, _, _, Dv), v = read_npy(self.folder / "v.npy")
        output, weights, lse = [], [], []
        for b, h, i in itertools.product(range(B), range(H), range(Lq)):
            g = b * G + h // (H // G)
            row = [term(scale * sum(q[((b * H + h) * Lq + i) * D + d] *
                                    k[(g * Lk + j) * D + d] for d in range(D)),
                        b, h, i, j)
                   if allowed(b, h, i, j) else -math.inf for j in range(Lk)]
            total = sum(map(math.exp, row))
            share = [math.exp(s) / total if total else 0 for s in row]
            weights += share
            lse.append(math.log(total) if total else -math.inf)
            output += [sum(share[j] * v[(g * Lk + j) * Dv + d]
                           for j in range(Lk)) for d in range(Dv)]
        return output, weights, lse

    def assert_close(self, path, shape, values, atol=2e-6):
        got_shape, got = read_npy(self.folder / path)
        self.assertEqual(got_shape, shape)
        for n, (x, y) in enumerate(zip(got, values)):
            if x != y and not abs(x - y) <= atol + 1e-5 * abs(y):
                self.fail(f"{path}[{n}] is {x}, expected {y}")

    def test_the_operation(self):
        files = ("--attn-weights", "a.npy", "--lse", "l.npy")
        lengths = (4, 0)
        self.put("len.npy", 2, descr="<i8", values=lengths)
        mask = [n % 3 != 0 for n in range(12)]
        self.put("m.npy", 2, 6, descr="|b1", values=mask)
        self.put("m3.npy", 2, 1, 6, descr="<i8", values=mask)
        documents = (0, 0, 3, 3, 4, 9, -1, -1, -1, -1, 5, 5)
        of_queries = (3, 4, 4, -1, 0, 5)
        self.put("d.npy", 2, 6, descr="<i8", values=documents)
        self.put("dq.npy", 2, 3, descr="<i8", values=of_queries)
        for opts, allowed in (
                ((), lambda b, h, i, j: True),
                (("--window", "1,2"), lambda b, h, i, j: -1 <= j - i <= 2),
                (("--window", "0,inf"), lambda b, h, i, j: i <= j),
                (("--window", "inf,1"), lambda b, h, i, j: j <= i + 1),
                (("--window", "inf,inf"), lambda b, h, i, j: True),
                (("--window", "0,9223372036854775807", "--query-start", "2"),
                 lambda b, h, i, j: i + 2 <= j),
                (("--window", "2,0", "--query-start", "bottom-right"),
                 lambda b, h, i, j: i + 1 <= j <= i + 3),
                (("--key-starts", "len.npy"),
                 lambda b, h, i, j: j >= lengths[b]),
                (("--documents", "d.npy", "--query-documents", "dq.npy"),
                 lambda b, h, i, j:
                 of_queries[b * 3 + i] == documents[b * 6 + j]),
                (("--documents", "d.npy", "--query-documents", "dq.npy",
                  "--window", "1,3", "--key-starts", "len.npy"),
                 lambda b, h, i, j: -1 <= j - i <= 3 and j >= lengths[b] and
                 of_queries[b * 3 + i] == documents[b * 6 + j]),
                (("--causal",), lambda b, h, i, j: j <= i),
                (("--causal", "--query-start", "-1"),
                 lambda b, h, i, j: j <= i - 1),
                (("--causal", "--query-start", "bottom-right"),
                 lambda b, h, i, j: j <= i + 3),
                (("--causal", "--query-start", "len.npy"),
                 lambda b, h, i, j: j <= i + lengths[b]),
                (("--key-lengths", "len.npy"),
                 lambda b, h, i, j: j < lengths[b]),
                (("--key-padding", "m.npy"),
                 lambda b, h, i, j: mask[b * 6 + j]),
                (("--mask", "m3.npy", "--mask-axes", "B,1,Lkv"),
                 lambda b, h, i, j: mask[b * 6 + j]),
                (("--mask", "m.npy", "--mask-axes", "B,Lkv", "--causal"),
                 lambda b, h, i, j: mask[b * 6 + j] and j <= i)):
            with self.subTest(opts):
                self.assertEqual(self.succeed(*self.inputs(*files, *opts)), "")
                output, weights, lse = self.attention(allowed)
                self.assert_close("o.npy", (2, 4, 3, 7), output)
                self.assert_close("a.npy", (2, 4, 3, 6), weights)
                self.assert_close("l.npy", (2, 4, 3), lse)
        self.succeed(*self.inputs("--scale", "-0.75"))
        self.assert_close("o.npy", (2, 4, 3, 7), self.attention(scale=-.75)[0])

    def test_softcap_bias_and_alibi(self):
        bias = [n * 37 % 11 / 5 - 1 for n in range(4 * 3 * 6)]
        bias[7] = bias[60] = -math.inf
        self.put("bias.npy", 4, 3, 6, values=bias)
        self.put("bias4.npy", 1, 4, 3, 6, values=bias)
        slopes = (0.5, 0.25, -0.125, 2)
        self.put("slopes.npy", 4, values=slopes)

        def add_bias(score, b, h, i, j):
            return score + bias[(h * 3 + i) * 6 + j]

        def cap(score, *_):
            return 0.75 * math.tanh(score / 0.75)

        def alibi(by, start=0):
            return lambda score, b, h, i, j: score - by[h] * abs(i + start - j)

        named = ("--bias", "bias.npy", "--bias-axes", "H,Lq,Lkv")
        for opts, term in (
                (("--softcap", "0.75"), cap),
                (named, add_bias),
                (("--bias", "bias4.npy"), add_bias),
                (("--alibi", "slopes.npy"), alibi(slopes)),
                (("--alibi", "auto", "--query-start", "-2"),
                 alibi([2.0 ** -n for n in (2, 4, 6, 8)], -2)),
                (("--softcap", "0.75", *named, "--alibi", "slopes.npy"),
                 lambda s, *at: alibi(slopes)(add_bias(cap(s), *at), *at))):
            with self.subTest(opts):
                self.succeed(*self.inputs("--attn-weights", "a.npy", *opts))
                output, weights, _ = self.attention(term=term)
                self.assert_close("o.npy", (2, 4, 3, 7), output)
                self.assert_close("a.npy", (2, 4, 3, 6), weights)

    def test_softcap_bias_and_alibi_that_do_not_fit(self):
        self.put("m.npy", 2, 3, 6)
        self.put("i.npy", 2, 3, 6, descr="|b1")
        self.put("s.npy", 3)
        for code, message, *opts in (
                (BAD_INPUT, "--bias has shape (2, 3, 6), expected 4 axes "
                 "(B, H, Lq, Lkv), or --bias-axes", "--bias", "m.npy"),
                (BAD_INPUT, "bias has shape (2, 3, 6), expected (B, H, Lkv) = "
                 "(2, 4, 6)", "--bias", "m.npy", "--bias-axes", "B,H,Lkv"),
                (BAD_INPUT, "expected one axis for each name in --bias-axes",
                 "--bias", "m.npy", "--bias-axes", "B,Lkv"),
                (USAGE, "--bias-axes is B,X, expected names out of", "--bias",
                 "m.npy", "--bias-axes", "B,X"),
                (USAGE, "--bias-axes is B,B,Lkv, expected each name once",
                 "--bias", "m.npy", "--bias-axes", "B,B,Lkv"),
                (USAGE, "expected a --bias beside it", "--bias-axes", "B"),
                (BAD_INPUT, "--bias holds bool elements", "--bias", "i.npy",
                 "--bias-axes", "B,Lq,Lkv"),
                (BAD_INPUT, "softcap is 0, expected a number from 1e-37 to "
                 "2e38", "--softcap", "0"),
                (USAGE, "--softcap is much, expected a finite number",
                 "--softcap", "much"),
                (BAD_INPUT, "alibi has shape (3), expected (Hq) = (4)",
                 "--alibi", "s.npy"),
                (BAD_INPUT, "--alibi has shape (2, 3, 6), expected (H)",
                 "--alibi", "m.npy"),
                (USAGE, "--alibi is manual, expected auto or a .npy file",
                 "--alibi", "manual")):
            with self.subTest(message):
                self.fail_with(code, message, *self.inputs(*opts))

    def test_unbatched_and_the_mean_of_the_heads(self):
        self.put("q1.npy", 1, 4, 3, 5)
        self.succeed(*self.inputs("--attn-weights", "a.npy", q=(1, 4, 3, 5),
                                  k=(1, 2, 6, 5), v=(1, 2, 6, 7)))
        output, weights, _ = self.attention()
        self.succeed(*self.inputs(
            "--attn-weights", "a.npy", "--attn-weights-form", "mean", "--lse",
            "l.npy", q=(4, 3, 5), k=(2, 6, 5), v=(2, 6, 7)))
        self.assert_close("o.npy", (4, 3, 7), output)
        self.assertEqual(read_npy(self.folder / "l.npy")[0], (4, 3))
        self.assert_close("a.npy", (3, 6), [
            sum(weights[h * 18 + n] for h in range(4)) / 4 for n in range(18)])

    def test_masks_of_one_sequence_leave_the_batch_out(self):
        ids = (1, 1, 2, 2, 2, 3)
        self.put("d.npy", 6, descr="<i8", values=ids)
        self.put("dq.npy", 3, descr="<i8", values=(1, 2, 3))
        self.put("s.npy", 1, descr="<i8", values=(1,))
        self.succeed(*self.inputs(
            "--documents", "d.npy", "--query-documents", "dq.npy",
            "--key-starts", "s.npy", q=(4, 3, 5), k=(2, 6, 5), v=(2, 6, 7)))
        self.inputs(q=(1, 4, 3, 5), k=(1, 2, 6, 5), v=(1, 2, 6, 7))
        self.assert_close("o.npy", (4, 3, 7), self.attention(
            lambda b, h, i, j: j >= 1 and ids[j] == i + 1)[0])

    def test_documents_are_those_of_keys_and_queries_alike(self):
        ids = (1, 1, 2, 0, 0, 0)
        self.put("d.npy", 2, 3, descr="<i8", values=ids)
        self.succeed(*self.inputs("--documents", "d.npy", k=(2, 2, 3, 5),
                                  v=(2, 2, 3, 7)))
        self.assert_close("o.npy", (2, 4, 3, 7), self.attention(
            lambda b, h, i, j: ids[b * 3 + i] == ids[b * 3 + j])[0])

    def test_threads_change_no_bit_and_say_nothing(self):
        outputs = set()
        for threads in ("1", "2", "7", "1000000"):
            self.succeed(*self.inputs("--threads", threads, "--dropout", "0.5"))
            outputs.add((self.folder / "o.npy").read_bytes())
        self.assertEqual(len(outputs), 1)

    def test_keep_mask_and_after_dropout(self):
        keep = [n % 4 != 1 for n in range(2 * 4 * 3 * 6)]
        self.put("keep.npy", 2, 4, 3, 6, descr="|b1", values=keep)
        self.succeed(*self.inputs(
            "--keep-mask", "keep.npy", "--dropout", "0.25", "--attn-weights",
            "a.npy", "--attn-weights-form", "after-dropout"))
        weights = self.attention()[1]
        self.assert_close("a.npy", (2, 4, 3, 6), [
            w / 0.75 if kept else 0 for w, kept in zip(weights, keep)])

    def test_shapes_that_do_not_fit(self):
        for sizes, message in (
                ({"k": (2, 2, 6, 4)}, "--key has shape (2, 2, 6, 4), expected "
                 "(B, Hkv, Lkv, D) = (2, 2, 6, 5)"),
                ({"k": (3, 2, 6, 5)}, "--key has shape (3, 2, 6, 5), expected "
                 "(B, Hkv, Lkv, D) = (2, 2, 6, 5)"),
                ({"v": (2, 2, 5, 7)}, "--value has shape (2, 2, 5, 7), "
                 "expected (B, Hkv, Lkv, Dv) = (2, 2, 6, 7)"),
                ({"v": (2, 4, 6, 7)}, "--value has shape (2, 4, 6, 7), "
                 "expected (B, Hkv, Lkv, Dv) = (2, 2, 6, 7)"),
                ({"k": (2, 3, 6, 5), "v": (2, 3, 6, 7)},
                 "--query has 4 heads, expected a multiple of the 3 of --key"),
                ({"q": (4, 3, 5)}, "--key has shape (2, 2, 6, 5), expected "
                 "(B, H, L, D) or (H, L, D), the same for --query"),
                ({"q": (5,), "k": (5,), "v": (5,)},
                 "--query has shape (5), expected (B, H, L, D) or (H, L, D)"),
                ({"q": (2, 4, 3, 0), "k": (2, 2, 6, 0)},
                 "the head size D is 0, expected at least 1")):
            with self.subTest(message):
                self.fail_with(BAD_INPUT, message, *self.inputs(**sizes))
                self.assertFalse((self.folder / "o.npy").exists())
        self.fail_with(
            BAD_INPUT, "--value has shape (2, 6, 4, 7), expected "
            "(B, Lkv, Hkv, Dv) = (2, 6, 2, 7)",
            *self.inputs("--layout", "blhd", q=(2, 3, 4, 5), k=(2, 6, 2, 5),
                         v=(2, 6, 4, 7)))

    def test_masks_that_do_not_fit(self):
        self.put("m.npy", 2, 3, 6, descr="|b1")
        self.put("f.npy", 2, 3, 6)
        self.put("l.npy", 2, descr="<i8", values=(7, 1))
        self.put("n.npy", 2, descr="<i8", values=(1, -1))
        self.put("l3.npy", 3, descr="<i8")
        self.put("k.npy", 2, 3, 3, 6, descr="|b1")
        self.put("d.npy", 2, 6, descr="<i8", values=(1,) * 12)
        self.put("dq.npy", 2, 3, descr="<i8", values=(1, 1, 1, 2, 1, 3))
        for code, message, *opts in (
                (BAD_INPUT, "--mask has shape (2, 3, 6), expected 4 axes "
                 "(B, H, Lq, Lkv), or --mask-axes", "--mask", "m.npy"),
                (BAD_INPUT, "mask has shape (2, 3, 6), expected (B, H, Lkv) = "
                 "(2, 4, 6)", "--mask", "m.npy", "--mask-axes", "B,H,Lkv"),
                (BAD_INPUT, "expected one axis for each name in --mask-axes",
                 "--mask", "m.npy", "--mask-axes", "B,Lkv"),
                (USAGE, "--mask-axes is B,X, expected names out of", "--mask",
                 "m.npy", "--mask-axes", "B,X"),
                (USAGE, "--mask-axes is B,B,Lkv, expected each name once",
                 "--mask", "m.npy", "--mask-axes", "B,B,Lkv"),
                (USAGE, "expected a --mask beside it", "--mask-axes", "B"),
                (BAD_INPUT, "--mask holds float32 elements, expected bool or "
                 "integers", "--mask", "f.npy", "--mask-axes", "B,Lq,Lkv"),
                (BAD_INPUT, "key_lengths[0] is 7, expected 0 to Lkv = 6",
                 "--key-lengths", "l.npy"),
                (BAD_INPUT, "key_lengths[1] is -1, expected 0 to Lkv = 6",
                 "--key-lengths", "n.npy"),
                (BAD_INPUT, "key_lengths has shape (3), expected (B) = (2)",
                 "--key-lengths", "l3.npy"),
                (BAD_INPUT, "--key-lengths holds bool elements, expected "
                 "integers", "--key-lengths", "b.npy"),
                (BAD_INPUT, "--key-padding has shape (2, 3, 6), expected "
                 "(B, Lkv)", "--key-padding", "m.npy"),
                *((USAGE, f"--window is {window}, expected two whole numbers "
                   "from 0 on, or inf for no limit, such as 128,0 or 128,inf",
                   "--window", window)
                  for window in ("4", "-1,0", "0,-1", "1,2,3", "1,", ",1",
                                 "1.5,2", "1, 2", "inf", "none,0",
                                 "9223372036854775808,0")),
                (BAD_INPUT, "--key-starts has shape (2, 3, 6), expected (B)",
                 "--key-starts", "m.npy"),
                (BAD_INPUT, "--key-starts holds bool elements, expected "
                 "integers", "--key-starts", "b.npy"),
                (BAD_INPUT, "key_starts[0] is 7, expected 0 to Lkv = 6",
                 "--key-starts", "l.npy"),
                (BAD_INPUT, "--documents has shape (2), expected (B, Lkv)",
                 "--documents", "l.npy"),
                (BAD_INPUT, "--query-documents has shape (2), expected "
                 "(B, Lq)", "--documents", "d.npy", "--query-documents",
                 "l.npy"),
                (BAD_INPUT, "documents.query_ids has shape (2, 6), expected "
                 "(B, Lq) = (2, 3)", "--documents", "d.npy"),
                (BAD_INPUT, "documents.query_ids[1, 1] is 1, expected at "
                 "least the 2 before it", "--documents", "d.npy",
                 "--query-documents", "dq.npy"),
                (USAGE, "--query-documents is d.npy, expected a --documents "
                 "beside it", "--query-documents", "d.npy"),
                (BAD_INPUT, "--keep-mask has shape (2, 3, 6), expected "
                 "(B, H, Lq, Lkv)", "--keep-mask", "m.npy"),
                (BAD_INPUT, "keep_mask has shape (2, 3, 3, 6), expected "
                 "(B, Hq, Lq, Lkv) = (2, 4, 3, 6)", "--keep-mask", "keep.npy"),
                (BAD_INPUT, "--sequence-ids has shape (2, 3, 6), expected (B)",
                 "--sequence-ids", "m.npy"),
                (USAGE, "--query-start is 1.5, expected a whole number, "
                 "bottom-right or a .npy file", "--query-start", "1.5")):
            with self.subTest(message):
                arguments = self.inputs(*opts)
                self.put("b.npy", 2, descr="|b1")
                self.put("keep.npy", 2, 3, 3, 6, descr="|b1")
                self.fail_with(code, message, *arguments)

    def test_files_that_are_none(self):
        good = npy_bytes((2, 4, 3, 5))
        for content, message in (
                (b"", "q.npy: "),
                (b"PK", "q.npy: "),
                (good[:-1], "q.npy: "),
                (good[:20], "q.npy: "),
                (good + b"x", "q.npy: "),
                (npy_bytes((2, 4, 3, 5), header=str(
                    {"descr": "<f4", "fortran_order": False,
                     "shape": (2, 4, 3, 500)})), "q.npy: "),
                (npy_bytes((2,), header=str(
                    {"descr": "<f4", "fortran_order": False,
                     "shape": (2**62, 2**62, 1, 1)})), "q.npy: "),
                (npy_bytes((2,), header=str(
                    {"descr": "<f4", "fortran_order": False,
                     "shape": (-1, 4, 3, 5)})), "q.npy: "),
                (npy_bytes((2,), header="{'descr': '|O', 'fortran_order': "
                           "False, 'shape': (2,), }"), "object"),
                (npy_bytes((2,), header="{}"), "q.npy: ")):
            with self.subTest(content[:200]):
                arguments = self.inputs()
                (self.folder / "q.npy").write_bytes(content)
                self.fail_with(BAD_INPUT, message, *arguments)
        arguments = self.inputs()
        (self.folder / "q.npy").unlink()
        self.fail_with(BAD_INPUT, "q.npy: No such file", *arguments)
        (self.folder / "q.npy").mkdir()
        self.fail_with(BAD_INPUT, "q.npy: Is a directory", *arguments)

    def test_a_failure_to_write_leaves_the_others(self):
        self.fail_with(OUT_OF_RESOURCES, "No space left on device",
                       *self.inputs("--lse", "/dev/full"))
        self.assertEqual(self.left_over(), [])


class ParamsTest(CliTest):
    def setUp(self):
        super().setUp()
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.put(f"layer/{name}.weight.npy", 6, 6)
            self.put(f"layer/{name}.bias.npy", 6)
        self.put("x.npy", 2, 4, 6)
        self.arguments = ("run", "--query", "x.npy", "--key", "x.npy",
                          "--value", "x.npy", "--params", "layer",
                          "--num-heads", "2", "--out", "o.npy")

    def test_a_folder_and_an_archive_are_the_same(self):
        self.succeed(*self.arguments)
        output = (self.folder / "o.npy").read_bytes()
        self.assertEqual(read_npy(self.folder / "o.npy")[0], (2, 4, 6))
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(self.folder / "layer.npz", "w",
                                 method) as archive:
                for path in (self.folder / "layer").iterdir():
                    archive.write(path, path.name)
            arguments = [a if a != "layer" else "layer.npz"
                         for a in self.arguments]
            self.succeed(*arguments)
            self.assertEqual((self.folder / "o.npy").read_bytes(), output)

    def test_unbatched(self):
        self.put("x.npy", 1, 4, 6)
        self.succeed(*self.arguments)
        batched = read_npy(self.folder / "o.npy")[1]
        self.put("x.npy", 4, 6)
        self.succeed(*self.arguments, "--lse", "l.npy")
        shape, values = read_npy(self.folder / "o.npy")
        self.assertEqual((shape, values), ((4, 6), batched))
        self.assertEqual(read_npy(self.folder / "l.npy")[0], (2, 4))

    def test_parameters_that_are_wrong(self):
        def write(name, *shape, **options):
            return lambda: self.put(f"layer/{name}.npy", *shape, **options)

        def remove(name):
            return lambda: (self.folder / "layer" / f"{name}.npy").unlink()

        nan = [0.0] * 36
        nan[15] = math.nan
        for spoil, message in (
                (write("w_k.weight", 6, 6, values=nan), "layer/w_k.weight.npy "
                 "is nan at (2, 3), expected finite numbers"),
                (write("w_k.weight", 6, 6, values=[math.inf] * 36),
                 "is inf at (0, 0)"),
                (remove("w_v.weight"), "layer has no w_v.weight"),
                (write("foo", 6), "foo.npy is no parameter known here, "
                 "expected w_q.weight"),
                (write("fc_q.weight", 6, 6), "are both w_q.weight"),
                (remove("w_o.weight"), "has w_o.bias and no w_o.weight"),
                (write("w_q.weight", 6), "w_q.weight has shape (6), expected "
                 "2 axes"),
                (write("w_q.bias", 5), "w_q.bias has shape (5), expected (6)"),
                (write("w_q.weight", 6, 5), "query has shape (2, 4, 6), "
                 "expected (B, Lq, query_dim) = (2, 4, 5)"),
                (write("w_q.weight", 6, 6, descr="|b1"),
                 "w_q.weight holds bool elements, expected numbers")):
            with self.subTest(message):
                self.setUp()
                spoil()
                self.fail_with(BAD_INPUT, message, *self.arguments)
        self.setUp()
        arguments = [a if a != "2" else "4" for a in self.arguments]
        self.fail_with(BAD_INPUT, "w_q.weight is 6, expected a multiple of "
                       "num_heads = 4", *arguments)
        for path in ("missing", "x.npy", "/dev/null"):
            arguments = [a if a != "layer" else path for a in self.arguments]
            self.fail_with(BAD_INPUT, path, *arguments)


class FixtureTest(CliTest):
    """The numbers that PyTorch gave, through files of parameters."""

    def setUp(self):
        super().setUp()
        self.cases = pathlib.Path(os.environ.get("HEADWISE_FIXTURES") or
                                  FIXTURES)
        if not (self.cases / "seed000_mha").is_dir():
            if os.environ.get("CI"):
                self.fail(f"CI is set and there are no fixtures in {self.cases}"
                          " (HEADWISE_FIXTURES names their folder)")
            self.skipTest(f"no fixtures in {self.cases}")

    def params(self, case, embedding=True):
        folder = self.folder / "params"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        told = json.loads((self.cases / case / "case.json").read_text())
        for name, tensor in told["tensors"].items():
            if tensor["role"] == "weight" and (
                    embedding or not name.startswith("embedding")):
                shutil.copy(self.cases / case / tensor["file"],
                            folder / f"{name}.npy")
        return told["tensors"]

    def compare(self, case, tensors, name, got):
        told = tensors[name]
        shape, values = read_npy(self.folder / got)
        want_shape, want = read_npy(self.cases / case / told["file"])
        self.assertEqual(math.prod(shape), math.prod(want_shape))
        worst = max(abs(x - y) - told["rtol"] * abs(y)
                    for x, y in zip(values, want))
        self.assertLessEqual(worst, told["atol"])

    def test_token_cases(self):
        for case, example in (("seed000_mha", "self-attention"),
                              ("seed003_mha", "self-attention"),
                              ("seed001_padding_and_nopeak", "masked"),
                              ("seed001_encdec_padding", "encoder-decoder")):
            with self.subTest(case):
                tensors = self.params(case)
                for step, name in (("output", "output"),
                                   ("attn_weights", "weights")):
                    self.succeed("explain", "--example", example, "--params",
                                 "params", "--step", step, "--out", "o.npy")
                    self.compare(case, tensors, name, "o.npy")

    def test_step_cases(self):
        for case, heads, *more in (
                ("seed002_step1", "1"), ("seed002_step2", "8"),
                ("seed002_step3", "8"),
                ("seed002_step3_dropout", "8", "--keep-mask",
                 self.cases / "seed002_step3_dropout/dropout_keep.npy",
                 "--dropout", "0.25"),
                ("seed002_step4_padding", "8", "--mask",
                 self.cases / "seed002_step4_padding/mask.npy"),
                ("seed002_step4_fully_masked", "8", "--mask",
                 self.cases / "seed002_step4_fully_masked/mask.npy",
                 "--empty-rows", "uniform")):
            with self.subTest(case):
                tensors = self.params(case)
                at = {name: self.cases / case / tensors[name]["file"]
                      for name in ("query", "key", "value")}
                self.succeed("run", "--query", at["query"], "--key", at["key"],
                             "--value", at["value"], "--params", "params",
                             "--num-heads", heads, "--out", "o.npy",
                             "--attn-weights", "a.npy", *more)
                self.compare(case, tensors, "x", "o.npy")
                self.compare(case, tensors, "attention", "a.npy")


if __name__ == "__main__":
    HEADWISE = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-") and \
            "/" in sys.argv[1]:
        FIXTURES = sys.argv.pop(1)
    unittest.main()
