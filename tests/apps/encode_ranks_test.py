"""headwise encode by several processes, and runs that were interrupted.

    encode_ranks_test.py HEADWISE [FIXTURES] [TEST...]
"""
import os
import re
import signal
import subprocess
import time
import unittest

import cli_case
import tiny_model
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE
from together_case import MPIRUN, Job, TogetherCase, said_in
from mpirun_job import members, rank_of

WORDS = ["heads", "matter", "so", "!", "<", "&", "internationalisation"]


def sentences(count):
    """Of 0 to 14 words, some longer than the model's 12 tokens."""
    return "".join(" ".join(WORDS[(n * 5 + k * k) % len(WORDS)]
                            for k in range(n * 7 % 15)) + "\n"
                   for n in range(count)).encode()


class CorpusCase(TogetherCase):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")

    def call(self, out, *options, text="lines.txt", model="tiny"):
        return ("encode", "--model", model, text, "--out", out, "--threads", "1",
                *options)

    def encode_alone(self, count):
        self.put_text(sentences(count), "lines.txt")
        self.succeed(*self.call("alone.npy"))

    def assert_same_file(self, out="o.npy"):
        self.assertEqual((self.folder / out).read_bytes(),
                         (self.folder / "alone.npy").read_bytes())
        self.assertFalse((self.folder / f"{out}.partial").exists())
        self.assertEqual(self.left_over(), [])

    def parts(self, out="o.npy"):
        folder = self.folder / f"{out}.partial"
        return sorted(p for p in folder.glob("rows-*") if p.is_file())

    def wait_for_parts(self, process, count):
        while len(self.parts()) < count:
            self.assertIsNone(process.poll(), "it ended too early")
            time.sleep(0.001)

    def counts_of(self, printed):
        """(sentences encoded by this run, by earlier ones)"""
        encoded = re.match(r"(\d+) sentences, ", printed)
        saved = re.search(r"^(\d+) more sentences", printed, re.MULTILINE)
        return int(encoded[1]), int(saved[1]) if saved else 0


class AloneTest(CorpusCase):
    COUNT = 12_000

    def interrupted(self, *options):
        """Killed while it encodes; the sentences in its parts."""
        self.encode_alone(self.COUNT)
        # nice: this process must see the parts before all of them are written.
        with subprocess.Popen(
                ["nice", "-n", "19", cli_case.HEADWISE,
                 *self.call("o.npy", "--save-every", "0")],
                cwd=self.folder, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL) as process:
            self.wait_for_parts(process, 3)
            process.kill()
        self.assertFalse((self.folder / "o.npy").exists())
        return len(self.parts())

    def test_a_short_run_saves_no_parts(self):
        self.encode_alone(3000)
        blocked = self.folder / "o.npy.partial" / "rows-0"
        blocked.mkdir(parents=True)  # a part could not be written
        self.succeed(*self.call("o.npy"))
        blocked.rmdir()
        blocked.parent.rmdir()
        self.assert_same_file()

    def test_parts_that_would_have_no_folder(self):
        self.encode_alone(5)
        self.put_text(b"the journal of another command", "o.npy.partial")
        self.fail_with(OUT_OF_RESOURCES,
                       "the parts of --out o.npy.partial: Not a directory",
                       *self.call("o.npy"))
        self.assertFalse((self.folder / "o.npy").exists())

    def test_a_damaged_part_is_encoded_again(self):
        parts = self.interrupted()
        path = self.parts()[0]
        rows = bytearray(path.read_bytes())
        rows[-1] ^= 1
        path.write_bytes(rows)
        _, saved = self.counts_of(self.succeed(*self.call("o.npy")))
        self.assertGreaterEqual(saved, (parts - 1) * 1024)
        self.assert_same_file()

    def test_a_killed_run_resumes(self):
        parts = self.interrupted()
        encoded, saved = self.counts_of(self.succeed(*self.call("o.npy")))
        self.assertGreaterEqual(saved, parts * 1024)
        self.assertEqual(encoded + saved, self.COUNT)
        self.assert_same_file()

    def test_another_text_or_model_begins_anew(self):
        self.interrupted()
        other = sentences(self.COUNT)[::-1]
        self.put_text(other, "other.txt")
        self.succeed(*self.call("other.npy", text="other.txt"))
        kept = self.folder / "o.npy.partial"
        kept.rename(self.folder / "b.npy.partial")
        printed = self.succeed(*self.call("b.npy", text="other.txt"))
        self.assertEqual(self.counts_of(printed), (self.COUNT, 0))
        self.assertEqual((self.folder / "b.npy").read_bytes(),
                         (self.folder / "other.npy").read_bytes())

    def test_another_arithmetic_begins_anew(self):
        self.interrupted()
        bf16 = ("--arithmetic", "bf16")
        self.succeed(*self.call("bf16.npy", *bf16))
        printed = self.succeed(*self.call("o.npy", *bf16))
        self.assertEqual(self.counts_of(printed), (self.COUNT, 0))
        self.assertEqual((self.folder / "o.npy").read_bytes(),
                         (self.folder / "bf16.npy").read_bytes())

    def test_the_tokens_cut_are_those_of_one_run(self):
        self.interrupted()
        def cut(printed):
            return [line for line in printed.splitlines() if "cut off" in line]
        whole = self.succeed(*self.call("alone.npy"))
        self.assertEqual(cut(self.succeed(*self.call("o.npy"))), cut(whole))
        self.assertEqual(len(cut(whole)), 1)

    def test_a_part_that_cannot_be_written_is_said(self):
        self.encode_alone(3000)
        (self.folder / "o.npy.partial" / "rows-1024").mkdir(parents=True)
        self.fail_with(OUT_OF_RESOURCES, "o.npy.partial/rows-1024: Is a directory",
                       *self.call("o.npy", "--save-every", "0"))
        self.assertEqual(len(self.parts()), 1)
        (self.folder / "o.npy.partial" / "rows-1024").rmdir()
        printed = self.succeed(*self.call("o.npy"))
        self.assertEqual(self.counts_of(printed), (3000 - 1024, 1024))
        self.assert_same_file()


@unittest.skipUnless(MPIRUN, "no mpirun, or a command without MPI")
class RanksTest(CorpusCase):
    def test_the_file_is_that_of_one_process(self):
        self.encode_alone(2500)
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                done = self.mpirun(ranks, *self.call("o.npy"))
                self.assertEqual((done.status, done.stderr), (0, ""))
                self.assertEqual(self.counts_of(done.stdout), (2500, 0))
                self.assertIn("o.npy: embeddings of shape (2500, 8)", done.stdout)
                self.assert_same_file()

    def test_a_job_of_one(self):
        self.encode_alone(5)
        done = self.mpirun(1, *self.call("o.npy", "--json"))
        self.assertEqual((done.status, done.stderr), (0, ""))
        self.assertEqual(len(done.stdout.splitlines()), 5)
        self.assert_same_file()

    def test_fewer_sentences_than_processes(self):
        self.encode_alone(2)
        done = self.mpirun(3, *self.call("o.npy"))
        self.assertEqual((done.status, done.stderr), (0, ""))
        self.assert_same_file()

    def test_killed_processes_resume_on_another_number(self):
        count = 16000
        self.put_text(b"heads matter\n" * count, "lines.txt")
        self.succeed(*self.call("alone.npy"))
        for victims, ranks in (("one", 3), ("all", 1)):
            with self.subTest(victims):
                job = Job(self.folder, ["-n", 2, cli_case.HEADWISE, *self.call(
                    "o.npy", "--save-every", "0")], before=("nice", "-n", "19"))
                self.wait_for_parts(job.process, 4)
                for process in members(job.process.pid):
                    if rank_of(process) in ((1,) if victims == "one" else (0, 1)):
                        os.kill(process, signal.SIGKILL)
                job.finish(cli_case.SECONDS)
                self.assertNotEqual(job.status, 0)
                self.assertEqual(job.left, [])
                self.assertFalse((self.folder / "o.npy").exists())
                done = self.mpirun(ranks, *self.call("o.npy"))
                self.assertEqual((done.status, done.stderr), (0, ""))
                encoded, saved = self.counts_of(done.stdout)
                self.assertEqual(encoded + saved, count)
                self.assertGreaterEqual(saved, 4 * 1024)
                self.assert_same_file()
                (self.folder / "o.npy").unlink()

    def test_a_rank_that_cannot_write_its_part(self):
        self.put_text(b"heads matter\n" * 3000, "lines.txt")
        self.succeed(*self.call("alone.npy"))
        # Of ranges of 3000 / (64 * 2) = 23 sentences every other one is rank 1's,
        # which saves 45 ranges at a time: the second part begins with range 91.
        blocked = self.folder / "o.npy.partial" / f"rows-{91 * 23}"
        blocked.mkdir(parents=True)
        # mpirun gives rank 0 a second, in which it could report the error again.
        done = self.mpirun(2, *self.call("o.npy", "--save-every", "0"),
                           env={"OMPI_MCA_odls_base_sigkill_timeout": "1"})
        self.assertEqual(done.status, OUT_OF_RESOURCES, done.stderr)
        self.assertEqual(said_in(done), [
            f"headwise: rank 1: cannot write o.npy.partial/{blocked.name}: "
            "Is a directory"])
        self.assertFalse((self.folder / "o.npy").exists())
        self.assertTrue(blocked.with_name("rows-23").is_file())
        blocked.rmdir()
        encoded, saved = self.counts_of(
            self.mpirun(2, *self.call("o.npy")).stdout)
        self.assertEqual(encoded + saved, 3000)
        self.assertGreaterEqual(saved, 45 * 23)
        self.assert_same_file()

    def test_a_folder_that_a_process_sees_late(self):
        self.encode_alone(5)
        (self.folder / "a" / "shared").mkdir(parents=True)
        (self.folder / "b" / "shared").mkdir(parents=True)
        call = self.call("shared/o.npy", text=self.folder / "lines.txt",
                         model=self.folder / "tiny")
        one, two = (["-n", 1, "-wdir", self.folder / name, cli_case.HEADWISE, *call]
                    for name in "ab")
        job = Job(self.folder, [*one, ":", *two])
        parts = self.folder / "a" / "shared" / "o.npy.partial"
        while not parts.exists():
            self.assertIsNone(job.process.poll(), "it ended too early")
            time.sleep(0.001)
        time.sleep(0.3)  # process 1 has looked by then
        (self.folder / "b" / "shared").rmdir()
        (self.folder / "b" / "shared").symlink_to(self.folder / "a" / "shared")
        job.finish(cli_case.SECONDS)
        self.assertEqual((job.status, job.stderr, job.left), (0, "", []))
        self.assertEqual((self.folder / "a" / "shared" / "o.npy").read_bytes(),
                         (self.folder / "alone.npy").read_bytes())

    def test_processes_that_see_other_files(self):
        for name, text in (("a", "heads"), ("b", "so")):
            (self.folder / name).mkdir()
            tiny_model.write(self.folder / name / "tiny")
            self.put_text(text + "\n", f"{name}/lines.txt")
        self.put_text("so\n", "lines.txt")

        def fail(message, call):
            """With the second process in the folder b."""
            one = ["-n", 1, "-wdir", self.folder / "a", cli_case.HEADWISE, *call]
            two = ["-n", 1, "-wdir", self.folder / "b", cli_case.HEADWISE, *call]
            job = Job(self.folder, [*one, ":", *two]).finish(cli_case.SECONDS)
            self.assertEqual((job.status, job.left), (BAD_INPUT, []), job.stderr)
            self.assertEqual(len(said_in(job)), 1, job.stderr)
            self.assertIn(message, said_in(job)[0])
            self.assertEqual(sorted(p.name for p in (self.folder / "a").iterdir()),
                             ["lines.txt", "tiny"])

        fail("SHA-256 of FILE is ", self.call(self.folder / "o.npy"))
        fail("--out has its parts in o.npy.partial, where this process does not "
             "see the files of rank 0, expected a folder that all processes share; "
             "on rank 1", self.call("o.npy", "--deadline", "2",
                                 text=self.folder / "lines.txt"))

    def test_mistakes_are_said_once(self):
        self.encode_alone(5)
        for code, message, call in (
                (BAD_INPUT, "none.txt: No such file", self.call("o.npy", text="none.txt")),
                (USAGE, "FILE is -, expected a file that every",
                 self.call("o.npy", text="-")),
                (USAGE, "--out is /dev/null, expected a regular file",
                 self.call("/dev/null")),
                (USAGE, "--json cannot be used by several processes",
                 self.call("o.npy", "--json"))):
            with self.subTest(message):
                done = self.mpirun(2, *call)
                self.assertEqual(done.status, code, done.stderr)
                self.assertEqual(len(said_in(done)), 1, done.stderr)
                self.assertIn(message, said_in(done)[0])
                self.assertEqual(done.stdout, "")
                self.assertFalse((self.folder / "o.npy").exists())


if __name__ == "__main__":
    cli_case.main()
