"""Every command that can be resumed, killed in the middle: the second run does less
work than a whole one and gives the same result."""
import os
import signal
import subprocess
import time
import unittest

import cli_case
import tiny_model
from cli_case import OK, CliTest

TEXTS = ["good\theads matter", "bad\t! & <", "good\tso heads", "bad\t& !"]
TICKS = os.sysconf("SC_CLK_TCK")


def seconds_of(pid):
    """Of the processor, so far."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@unittest.skipIf(cli_case.SANITIZED, "what is measured is the sanitizer")
class ResumeTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")

    def start(self, *arguments):
        return subprocess.Popen([cli_case.HEADWISE, *arguments, "--threads", "1"],
                                cwd=self.folder, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def work(self, *arguments):
        """Runs to the end; the seconds of the processor that it took."""
        process = self.start(*arguments)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, OK, arguments)
        return usage.ru_utime + usage.ru_stime

    def kill_after(self, seconds, saved, *arguments):
        """Once it has worked so long and has saved something."""
        process = self.start(*arguments)
        while process.poll() is None and not (
                (self.folder / saved).exists() and seconds_of(process.pid) > seconds):
            time.sleep(0.01)
        self.assertIsNone(process.poll(), "it ended before it could be killed")
        process.send_signal(signal.SIGKILL)
        process.wait()

    def check(self, result, saved, call, again=None, ending=""):
        """`call(out)` are the arguments. Its result is `result` in or at `out`."""
        # What else runs on the machine makes a run dearer: up to three tries.
        for attempt in range(3):
            one, two = f"whole{attempt}{ending}", f"cut{attempt}{ending}"
            whole = self.work(*call(one))
            self.kill_after(0.6 * whole, saved.format(attempt), *call(two))
            rest = self.work(*(again or call)(two))
            if rest < 0.8 * whole:
                break
        self.assertLess(rest, 0.8 * whole)
        bytes_of = [(self.folder / out / result if result else self.folder / out)
                    .read_bytes() for out in (one, two)]
        self.assertEqual(*bytes_of)

    def texts(self, times):
        self.put_text("".join(text + "\n" for text in TEXTS) * times, "data.tsv")
        self.put_text("".join(text.partition("\t")[2] + "\n" for text in TEXTS) * times,
                      "lines.txt")

    def scored(self, times):
        self.texts(2)
        self.succeed("train", "--model", "tiny", "--data", "data.tsv", "--out", "model")
        self.succeed("importance", "--model", "model", "--data", "data.tsv", "--out",
                     "scores.json")
        self.texts(times)
        return "prune", "--model", "model", "--scores", "scores.json", "--data", "data.tsv"

    def test_prune_curve(self):
        call = self.scored(5000)
        self.check("", "cut{}.svg.partial", lambda out: (
            *call, "--random", "5", "--curve", out), ending=".svg")

    def test_prune_max_drop(self):
        call = self.scored(15000)
        self.check("config.json", "cut{}.partial", lambda out: (
            *call, "--max-drop", "100%", "--out", out))

    def test_importance(self):
        self.scored(10000)
        self.check("", "cut{}.partial", lambda out: (
            "importance", "--model", "model", "--data", "data.tsv", "--save-every", "0",
            "--batch", "500", "--out", out))

    def test_stats_of_a_corpus(self):
        self.texts(20000)
        self.check("", "cut{}.partial", lambda out: (
            "stats", "--model", "tiny", "--corpus", "lines.txt", "--save-every", "0",
            "--json", "--out", out))

    def test_encode(self):
        self.texts(20000)
        self.check("", "cut{}.partial", lambda out: (
            "encode", "--model", "tiny", "lines.txt", "--save-every", "0", "--out", out))

    def test_train_on_a_task(self):
        call = "train", "--steps", "2000", "--out"
        self.check("checkpoint.npz", "cut{}/checkpoint.npz", lambda out: (*call, out),
                   lambda out: (*call, out, "--resume", out))

    def test_train_induction(self):
        call = "train", "--task", "induction", "--steps", "500", "--out"
        self.check("model.safetensors", "cut{}/checkpoint.npz", lambda out: (*call, out),
                   lambda out: (*call, out, "--resume", out))

    def test_train_a_model(self):
        self.texts(1000)
        call = ("train", "--model", "tiny", "--data", "data.tsv", "--train", "all",
                "--epochs", "3", "--out")
        self.check("model.safetensors", "cut{}/checkpoint.npz", lambda out: (*call, out),
                   lambda out: (*call, out, "--resume", out))


if __name__ == "__main__":
    cli_case.main()
