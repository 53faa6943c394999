"""Every command that can be resumed, killed twice in the middle: the second run begins
with what the first one saved, and the third gives the result of one that never stopped."""
import json
import subprocess
import time
import unittest
import zipfile

import cli_case
import tiny_model
from cli_case import CliTest

TEXTS = ["good\theads matter", "bad\t! & <", "good\tso heads", "bad\t& !"]


def done_by(saved):
    """How much of the work is in what was saved; 0 where nothing is."""
    if saved.is_dir():
        return len(list(saved.glob("rows-*")))
    if not saved.exists():
        return 0
    if saved.suffix == ".npz":
        with zipfile.ZipFile(saved) as archive:
            # The number behind the header of a .npy file.
            return int.from_bytes(archive.read("step.npy")[-8:], "little")
    state = json.loads(saved.read_text().splitlines()[0])["state"]
    return state.get("done") or state.get("groups") or len(state)


@unittest.skipIf(cli_case.SANITIZED, "takes minutes there")
class ResumeTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")

    def kill_after_saves(self, count, saved, *arguments):
        """Returns what has been done by then."""
        seen = {done_by(saved)}
        with subprocess.Popen([cli_case.HEADWISE, *arguments], cwd=self.folder,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            while len(seen) <= count:
                self.assertIsNone(process.poll(), "it ended before it could be killed")
                time.sleep(0.001)
                seen.add(done_by(saved))
            process.kill()
        return done_by(saved)

    def check(self, result, saved, call, again=None, ending=""):
        """`call(out)` are the arguments. Its result is `result` in or at `out`."""
        whole, cut = self.folder / f"whole{ending}", self.folder / f"cut{ending}"
        self.succeed(*call(whole.name))
        again, saved = again or call, self.folder / saved
        first = self.kill_after_saves(2, saved, *call(cut.name))
        second = self.kill_after_saves(1, saved, *again(cut.name))
        self.assertGreater(second, first, "the second run began anew")
        self.succeed(*again(cut.name))
        self.assertEqual(*((out / result if result else out).read_bytes()
                           for out in (whole, cut)))

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
        call = self.scored(2000)
        self.check("", "cut.svg.partial", lambda out: (
            *call, "--random", "5", "--curve", out), ending=".svg")

    def test_prune_max_drop(self):
        call = self.scored(5000)
        self.check("config.json", "cut.partial", lambda out: (
            *call, "--max-drop", "100%", "--out", out))

    def test_importance(self):
        self.scored(10000)
        self.check("", "cut.partial", lambda out: (
            "importance", "--model", "model", "--data", "data.tsv", "--save-every", "0",
            "--batch", "500", "--out", out))

    def test_stats_of_a_corpus(self):
        self.texts(20000)
        self.check("", "cut.partial", lambda out: (
            "stats", "--model", "tiny", "--corpus", "lines.txt", "--save-every", "0",
            "--json", "--out", out))

    def test_encode(self):
        self.texts(20000)
        self.check("", "cut.partial", lambda out: (
            "encode", "--model", "tiny", "lines.txt", "--save-every", "0", "--out", out))

    def test_train_on_a_task(self):
        call = "train", "--steps", "1000", "--out"
        self.check("checkpoint.npz", "cut/checkpoint.npz", lambda out: (*call, out),
                   lambda out: (*call, out, "--resume", out))

    def test_train_induction(self):
        call = "train", "--task", "induction", "--steps", "500", "--out"
        self.check("model.safetensors", "cut/checkpoint.npz", lambda out: (*call, out),
                   lambda out: (*call, out, "--resume", out))

    def test_train_a_model(self):
        self.texts(1000)
        call = ("train", "--model", "tiny", "--data", "data.tsv", "--train", "all",
                "--epochs", "3", "--out")
        self.check("model.safetensors", "cut/checkpoint.npz", lambda out: (*call, out),
                   lambda out: (*call, out, "--resume", out))


if __name__ == "__main__":
    cli_case.main()
