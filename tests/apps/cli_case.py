"""What the tests of the command as a process share: they run

    X_test.py HEADWISE [FIXTURES] [unittest arguments]

FIXTURES is the folder of the large golden files, if the environment's
HEADWISE_FIXTURES does not name another.
"""
import array
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

OK, CHECK_FAILED, USAGE, BAD_INPUT, OUT_OF_RESOURCES = 0, 1, 2, 3, 4
HEADWISE = ""
FIXTURES = ""
SANITIZED = "HEADWISE_SANITIZED" in os.environ  # tests/apps/CMakeLists.txt
SECONDS = 1200 if SANITIZED else 120  # for one call of the command


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
    kind = {"<f4": "f", "<f8": "d", "<i8": "q", "<u8": "Q",
            "|b1": "B"}[header["descr"]]
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
            env={**environment, **(env or {})}, cwd=self.folder, timeout=SECONDS,
            **options)

    def succeed(self, *arguments, **options):
        done = self.run_it(*arguments, **options)
        self.assertEqual(done.returncode, OK, done)
        self.assertFalse(done.stderr, done)
        return (done.stdout or b"").decode(errors="surrogateescape")

    def find(self, message, *arguments, **options):
        """Finds what was looked for: the result, an exit code and a message."""
        done = self.run_it(*arguments, **options)
        self.assertEqual(done.returncode, CHECK_FAILED, done)
        self.assertRegex(done.stderr.decode(), f"^headwise: .*{message}.*\n$")
        return done.stdout.decode()

    def fail_with(self, code, message, *arguments, **options):
        """Fails with this code and message, and prints no result."""
        done = self.run_it(*arguments, **options)
        self.assertEqual(done.returncode, code, done)
        self.assertFalse(done.stdout, done)
        lines = [line for line in done.stderr.decode().splitlines()
                 if "WARNING: AddressSanitizer" not in line]
        self.assertTrue(lines[0].startswith("headwise: "), lines)
        self.assertIn(message, lines[0])
        command = next((str(word) for word in arguments
                        if not str(word).startswith("-")), "")
        hints = ["Try headwise --help.", f"Try headwise {command} --help."]
        self.assertEqual(len(lines), 2 if code == USAGE else 1, lines)
        self.assertTrue(set(lines[1:]) <= set(hints), lines)
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


def main():
    global HEADWISE, FIXTURES
    HEADWISE = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-") and \
            "/" in sys.argv[1]:
        FIXTURES = sys.argv.pop(1)
    program = unittest.main(exit=False)
    for test, reason in program.result.skipped:  # tools/left_out.py reads them
        print(f"skipped: {test}: {reason}")
    sys.exit(not program.result.wasSuccessful())
