"""Files that commands read and write: none is destroyed, none is half written,
and what cannot be written is said before any work starts."""
import json
import math
import os
import resource
import shutil
import signal
import struct
import subprocess
import time

import cli_case
import tiny_causal
import tiny_model
from cli_case import BAD_INPUT, OK, OUT_OF_RESOURCES, USAGE, CliTest, read_npy

LINES = "good\theads\nbad\tmatter\ngood\tso heads\nbad\tmatters !\n"
SMALL = ("--embed-dim", "8", "--num-heads", "2")


class FilesTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")
        self.put_text(LINES, "data.tsv")
        self.put_text("heads\nmatter\n", "lines.txt")
        for name in "qkv":
            self.put(f"{name}.npy", 1, 2, 3, 4)
        self.put("d.npy", 1, 2, 3, 4)

    def bytes_of(self, name):
        return (self.folder / name).read_bytes()

    def tree(self, name="."):
        """Every file below a folder and what is in it."""
        folder = self.folder / name
        return {str(path.relative_to(folder)): path.read_bytes()
                for path in folder.rglob("*") if path.is_file()}

    def run_call(self, *arguments, out="o.npy"):
        return ("run", "--query", "q.npy", "--key", "k.npy", "--value",
                "v.npy", "--out", out, *arguments)

    def scores(self, model="tiny"):
        self.succeed("importance", "--model", model, "--data", "data.tsv",
                     "--out", "scores.json")

    def prune(self, *arguments, out="small", model="tiny"):
        return ("prune", "--model", model, "--scores", "scores.json", "--out",
                out, *(arguments or ("--remove", "1")))

    def train(self, *arguments, out="trained", model="tiny"):
        return ("train", "--model", model, "--data", "data.tsv", "--out", out,
                *arguments)

    def refused(self, message, *arguments, code=USAGE, **options):
        """And nothing is written."""
        before = self.tree()
        line = self.fail_with(code, message, *arguments, **options)
        self.assertEqual(self.tree(), before, line)


class CollisionTest(FilesTest):
    def test_two_outputs_are_two_files_whatever_their_names(self):
        os.symlink("o.npy", self.folder / "link.npy")
        os.symlink(".", self.folder / "here")
        for other in ("o.npy", "./o.npy", "tiny/../o.npy", "link.npy",
                      "here/o.npy", self.folder / "o.npy"):
            for option in ("--attn-weights", "--lse"):
                self.refused("name one file", *self.run_call(option, other))
        self.put("old.npy", 1)
        os.link(self.folder / "old.npy", self.folder / "same.npy")
        self.refused("--out old.npy and --lse same.npy name one file, expected "
                     "different ones",
                     *self.run_call("--lse", "same.npy", out="old.npy"))
        (self.folder / "g").mkdir()
        self.refused("name one file", *self.run_call(
            "--d-output", "d.npy", "--grad-dir", "g", out="g/d_query.npy"))
        self.refused("--out ./v.svg and --svg v.svg name one file", "view",
                     "--query", "q.npy", "--key", "k.npy", "--svg", "v.svg",
                     "--out", "./v.svg")
        self.refused("--out and --svg name one file, i.svg, expected different "
                     "ones", "importance", "--model", "tiny", "--data",
                     "data.tsv", "--out", "i.svg", "--svg", "i.svg")
        self.refused("name one file", "explain", *SMALL, "--out", "e.svg",
                     "--picture", "./e.svg")
        self.succeed(*self.run_call("--lse", "/dev/null", out="/dev/null"))

    def test_no_output_is_an_input(self):
        for call in (self.run_call(out="q.npy"),
                     self.run_call("--lse", "./k.npy"),
                     self.run_call("--attn-weights", "tiny/../v.npy")):
            self.refused("reads, expected another file", *call)
        self.refused("--out is lines.txt, which FILE reads", "encode",
                     "--model", "tiny", "lines.txt", "--out", "lines.txt")
        self.refused("--out is data.tsv, which --data reads", "importance",
                     "--model", "tiny", "--data", "data.tsv", "--out",
                     "data.tsv")
        self.refused("--out is ./data.tsv, which --data data.tsv reads",
                     "importance", "--model", "tiny", "--data", "data.tsv",
                     "--out", "./data.tsv")
        self.scores()
        self.refused("--curve is scores.json, which --scores reads", "prune",
                     "--model", "tiny", "--scores", "scores.json", "--data",
                     "data.tsv", "--curve", "scores.json")
        self.refused("--out is q.npy, which --query reads", "view", "--query",
                     "q.npy", "--key", "k.npy", "--out", "q.npy")
        self.put_text("[[1, 2]]", "t.svg")
        self.refused("--picture is t.svg, which --tokens reads", "explain",
                     *SMALL, "--tokens", "t.svg", "--picture", "t.svg")
        self.put_text("x", "scores2.json.partial")
        self.refused("the journal of --out is scores2.json.partial, which "
                     "--data reads", "importance", "--model", "tiny", "--data",
                     "scores2.json.partial", "--out", "scores2.json")

    def test_every_file_of_the_operation_is_an_input(self):
        for option in ("--mask", "--bias", "--key-lengths", "--key-starts",
                       "--key-padding", "--documents", "--query-documents",
                       "--t5-bias", "--alibi", "--sinks", "--query-start", "--offsets",
                       "--query-offsets", "--keep-mask", "--sequence-ids"):
            self.refused(f"--out is x.npy, which {option} reads",
                         *self.run_call(option, "x.npy", out="x.npy"))
        for out, option in (("x.npy", "--bias-k"), ("y.npy", "--bias-v")):
            self.refused(f"--out is {out}, which {option} reads",
                         *self.run_call("--bias-k", "x.npy", "--bias-v",
                                        "y.npy", out=out))
        gradients = ("--d-output", "d.npy", "--grad-dir", "g")
        self.refused("--out is d.npy, which --d-output reads",
                     *self.run_call(*gradients, out="d.npy"))
        self.refused("--out is x.npy, which --d-attn-weights reads",
                     *self.run_call(*gradients, "--d-attn-weights", "x.npy",
                                    out="x.npy"))

    def test_a_model_is_made_of_its_files(self):
        (self.folder / "tiny/1_Pooling").mkdir()
        self.put_text("{}", "tiny/1_Pooling/config.json")
        for out in ("tiny/config.json", "tiny/model.safetensors",
                    "tiny/1_Pooling/config.json", "tiny/vocab.txt"):
            self.refused("--model", "importance", "--model", "tiny", "--data",
                         "data.tsv", "--out", out)
        # Nor may it get a file that the next command would take for one.
        self.refused("--out is tiny/scores.json, which would be a file of "
                     "--model tiny", "importance", "--model", "tiny", "--data",
                     "data.tsv", "--out", "tiny/scores.json")
        os.link(self.folder / "tiny/config.json", self.folder / "c.json")
        os.symlink("tiny/vocab.txt", self.folder / "words")
        for out in ("c.json", "words"):
            self.refused("reads, expected another file", "importance",
                         "--model", "tiny", "--data", "data.tsv", "--out", out)
        os.remove(self.folder / "tiny/1_Pooling/config.json")
        # Other files may lie there.
        self.succeed("encode", "--model", "tiny", "lines.txt", "--out",
                     "tiny/e.npy")

    def test_standard_streams_are_files(self):
        def redirected():
            os.dup2(os.open("lines.txt", os.O_RDONLY), 0)
        self.refused("--out is lines.txt, which FILE - reads", "encode",
                     "--model", "tiny", "--out", "lines.txt", stdin=None,
                     preexec_fn=redirected)

        def appended():
            os.dup2(os.open("q.npy", os.O_WRONLY | os.O_APPEND), 1)
        self.refused("standard output is what --query q.npy reads", "stats",
                     "--query", "q.npy", "--key", "k.npy", stdout=None,
                     preexec_fn=appended)

    def test_a_link_into_a_cache_is_the_model_too(self):
        os.rename(self.folder / "tiny", self.folder / "blobs")
        (self.folder / "tiny").mkdir()
        for name in ("config.json", "vocab.txt", "model.safetensors"):
            os.symlink(f"../blobs/{name}", self.folder / "tiny" / name)
        for out in ("tiny/config.json", "blobs/config.json"):
            self.refused("--model", "importance", "--model", "tiny", "--data",
                         "data.tsv", "--out", out)


class StandardOutputTest(FilesTest):
    def test_data_are_not_mixed_with_a_summary(self):
        for path in ("/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"):
            done = self.run_it("encode", "--model", "tiny", "lines.txt",
                               "--out", path)
            self.assertEqual(done.returncode, OK, done)
            self.assertIn(b"2 sentences", done.stderr)
            (self.folder / "e.npy").write_bytes(done.stdout)
            self.assertEqual(read_npy(self.folder / "e.npy")[0], (2, 8))
        done = self.run_it("importance", "--model", "tiny", "--data",
                           "data.tsv", "--out", "/dev/stdout")
        self.assertIn(b"gradient of 4 heads", done.stderr)
        self.assertEqual(json.loads(done.stdout)["method"], "gradient")
        self.succeed(*self.train())
        self.scores("trained")
        done = self.run_it("prune", "--model", "trained", "--scores",
                           "scores.json", "--data", "data.tsv", "--curve",
                           "/dev/stdout")
        self.assertTrue(done.stdout.startswith(b"<svg"), done)
        self.assertIn(b"removed", done.stderr)
        done = self.run_it("explain", *SMALL, "--picture", "/dev/stdout")
        self.assertTrue(done.stdout.startswith(b"<svg"), done)
        self.assertIn(b"10 sequences", done.stderr)

    def test_json_and_data_do_not_share_it(self):
        self.refused("--out /dev/stdout is standard output, to which --json "
                     "prints", "encode", "--model", "tiny", "lines.txt",
                     "--json", "--out", "/dev/stdout")
        self.refused("is standard output", "view", "--query", "q.npy", "--key",
                     "k.npy", "--json", "--svg", "/dev/stdout")
        self.refused("name one file", *self.run_call(
            "--lse", "/dev/fd/1", out="/dev/stdout"))

    def test_a_reader_that_leaves_does_not_stop_the_work(self):
        process = subprocess.Popen(
            [cli_case.HEADWISE, "train", "--json", "--steps", "300", "--out",
             "run"], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.assertIn(b'"step"', process.stdout.readline())
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(), OK)
        self.assertTrue((self.folder / "run/curve.svg").exists())


class BeforeAnyWorkTest(FilesTest):
    def test_what_cannot_be_written_is_said_first(self):
        # The input is what would be found missing otherwise.
        for arguments in (
                ("encode", "--model", "none", "none.txt", "--out"),
                ("importance", "--model", "none", "--data", "none", "--out"),
                ("explain", "--model", "none", "heads", "--picture"),
                ("view", "--model", "none", "heads", "--svg"),
                ("run", "--query", "none", "--key", "none", "--value", "none",
                 "--out", "o.npy", "--lse"),
                ("convert", "none", "--to", "bert")):
            for path, why in (("missing/x.npz", "No such file or directory"),
                              ("q.npy/x.npz", "Not a directory")):
                self.refused(f"{path}: {why}", *arguments, path,
                             code=OUT_OF_RESOURCES)
        (self.folder / "folder.npz").mkdir()
        self.refused("--out folder.npz: Is a directory", "encode", "--model",
                     "none", "none.txt", "--out", "folder.npz",
                     code=OUT_OF_RESOURCES)
        self.refused("--grad-dir q.npy/d_query.npy: Not a directory",
                     *self.run_call("--d-output", "d.npy", "--grad-dir",
                                    "q.npy"), code=OUT_OF_RESOURCES)
        for call in (self.train(out="q.npy"), self.train(
                "--train", "all", out="q.npy")):
            self.refused("--out q.npy", *call, code=OUT_OF_RESOURCES)
        self.refused("--out q.npy: Not a directory", "prune", "--model",
                     "none", "--scores", "none", "--remove", "1", "--out",
                     "q.npy", code=OUT_OF_RESOURCES)

    def test_a_failed_read_leaves_no_folder(self):
        self.refused("none", *self.train(model="none"), code=BAD_INPUT)
        self.refused("none", *self.train("--train", "all", model="none"),
                     code=BAD_INPUT)
        self.refused("step 2", "train", "--learning-rate", "1e20", "--out",
                     "run", code=BAD_INPUT)
        for name in ("trained", "run"):
            self.assertFalse((self.folder / name).exists())

    def test_journals_are_made_with_their_folder(self):
        self.succeed(*self.train())
        self.scores("trained")
        for out in ("new/", "missing/folder", "deep/er/folder/"):
            for amount in (("--max-drop", "100%", "--data", "data.tsv"),
                           ("--remove", "1")):
                self.succeed(*self.prune(*amount, out=out, model="trained"))
                self.assertIn("config.json", self.tree(out))
        self.assertFalse([name for name in self.tree() if "partial" in name])


class OwnNamesTest(FilesTest):
    """What the command names itself is its own, and nothing else is."""

    def test_a_folder_that_looks_like_a_leftover_stays(self):
        self.scores()
        for name in (".headwise-2024", ".headwise-old-small", ".headwise-1-old"):
            (self.folder / name).mkdir()
            self.put_text("mine", f"{name}/thesis.md")
        self.succeed(*self.train(out="small"))
        self.succeed(*self.prune())
        self.succeed(*self.run_call())
        for name in (".headwise-2024", ".headwise-old-small", ".headwise-1-old"):
            self.assertEqual(self.bytes_of(f"{name}/thesis.md"), b"mine")

    def test_a_link_in_place_of_a_journal_is_not_followed(self):
        self.put_text("precious", "victim")
        self.put_text(LINES * 500, "long.tsv")
        os.symlink("victim", self.folder / "s.json.partial")
        self.succeed("importance", "--model", "tiny", "--data", "long.tsv", "--batch",
                     "2", "--save-every", "0", "--out", "s.json")
        os.symlink("victim", self.folder / "c.json.partial")
        self.succeed("stats", "--model", "tiny", "--corpus", "lines.txt",
                     "--save-every", "0", "--json", "--out", "c.json")
        self.succeed(*self.train())
        self.scores("trained")
        os.symlink("victim", self.folder / "curve.svg.partial")
        self.succeed("prune", "--model", "trained", "--scores", "scores.json",
                     "--data", "data.tsv", "--curve", "curve.svg")
        (self.folder / "mine").mkdir()
        os.symlink("mine", self.folder / "e.npy.partial")
        self.fail_with(BAD_INPUT, "e.npy.partial is a symbolic link, expected a "
                       "folder", "encode", "--model", "tiny", "lines.txt",
                       "--save-every", "0", "--out", "e.npy")
        self.assertEqual(self.bytes_of("victim"), b"precious")
        self.assertEqual(self.tree("mine"), {})

    def test_what_cannot_be_looked_at_is_not_absent(self):
        """A link to itself: neither there nor absent, as on a failing disk."""
        self.succeed(*self.train())
        for name in ("classifier.safetensors", "vocab.txt", "tokenizer_config.json",
                     "1_Pooling"):
            model = self.folder / f"with-{name}"
            shutil.copytree(self.folder / "trained", model)
            (model / name).unlink(missing_ok=True)
            os.symlink(name, model / name)
            for call in (self.train(out="new", model=model.name),
                         ("prune", "--model", model.name, "--heads", "0.0", "--out",
                          "new")):
                # A link is no folder of the model, and a new classifier is trained.
                if name == "1_Pooling" or (call[0], name) == (
                        "train", "classifier.safetensors"):
                    self.succeed(*call)
                    shutil.rmtree(self.folder / "new")
                    continue
                self.fail_with(BAD_INPUT, "Too many levels of symbolic links", *call)
                self.assertFalse((self.folder / "new").exists(), call)

    def test_an_interrupted_save_leaves_nothing(self):
        """Ctrl-C as soon as the temporary file is there."""
        values = [0.0] * (1 << 22)
        shape = (1 << 11, 1 << 11)
        names = [f"{name}.weight" for name in ("w_q", "w_k", "w_v", "w_o")]
        (self.folder / "layer").mkdir()
        for name in names:
            self.put(f"layer/{name}.npy", *shape, values=values)
        for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen(
                [cli_case.HEADWISE, "convert", "layer", "out.safetensors", "--to",
                 "torch-mha", "--num-heads", "2"], cwd=self.folder, stdout=subprocess.DEVNULL)
            while process.poll() is None and not self.left_over():
                time.sleep(0.001)
            process.send_signal(stop)
            self.assertIn(process.wait(), (-stop, OK))
            self.assertEqual(self.left_over(), [])

    def test_a_failed_checkpoint_leaves_no_folder(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
        for call in (("train", "--steps", "1", "--out", "new"),
                     ("train", "--task", "induction", "--steps", "1", "--out", "new"),
                     self.train("--train", "all", "--epochs", "1", out="new")):
            self.refused("File too large", *call, code=OUT_OF_RESOURCES,
                         preexec_fn=limit)
            self.assertFalse((self.folder / "new").exists(), call)
        (self.folder / "new").mkdir()  # the user's own stays
        self.refused("File too large", "train", "--steps", "1", "--out", "new",
                     code=OUT_OF_RESOURCES, preexec_fn=limit)
        self.assertTrue((self.folder / "new").exists())

    def test_a_curve_without_its_journal_is_drawn(self):
        self.succeed(*self.train())
        self.scores("trained")
        self.put_text(LINES * 5000, "long.tsv")
        call = ("prune", "--model", "trained", "--scores", "scores.json", "--data",
                "long.tsv", "--curve", "c.svg")

        def limit(most):
            return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        self.succeed(*call, preexec_fn=limit(15000))
        self.assertTrue((self.folder / "c.svg").exists())
        (self.folder / "c.svg").unlink()
        self.refused("cannot write c.svg: File too large", *call,
                     code=OUT_OF_RESOURCES, preexec_fn=limit(1000))

    def test_a_model_that_is_shortened_while_it_is_read_is_said(self):
        self.put_text("so heads matter\n" * 200000, "long.txt")
        process = subprocess.Popen(
            [cli_case.HEADWISE, "encode", "--model", "tiny", "long.txt", "--save-every",
             "0", "--out", "e.npy"], cwd=self.folder, stderr=subprocess.PIPE)
        while process.poll() is None and not (self.folder / "e.npy.partial").exists():
            time.sleep(0.01)
        os.truncate(self.folder / "tiny/model.safetensors", 0)
        said = process.stderr.read().decode()
        process.stderr.close()
        self.assertEqual(process.wait(), BAD_INPUT)
        self.assertIn("tiny/model.safetensors became shorter while it was read", said)
        self.assertEqual(self.left_over(), [])


class InputTest(FilesTest):
    def test_a_text_without_an_end_is_refused(self):
        for arguments in (("encode", "--model", "tiny", "--json", "/dev/zero"),
                          ("importance", "--model", "tiny", "--data",
                           "/dev/zero", "--out", "s.json"),
                          ("explain", "--tokens", "/dev/zero")):
            self.fail_with(BAD_INPUT, "/dev/zero is longer than 268435456 "
                           "bytes", *arguments)
        self.scores()
        self.fail_with(BAD_INPUT, "/dev/zero is longer than 4194304 bytes",
                       "prune", "--model", "tiny", "--scores", "/dev/zero",
                       "--remove", "1", "--out", "small")

    def test_a_model_that_cannot_be_read_is_named_by_its_option(self):
        for name, spoil in (
                ("a file", lambda folder: (shutil.rmtree(folder), folder.write_text(""))),
                ("no config.json", lambda folder: (folder / "config.json").unlink()),
                ("no words", lambda folder: [(folder / name).unlink(missing_ok=True)
                                             for name in ("vocab.txt", "tokenizer.json")]),
                ("nan", lambda folder: self.put_nan(folder))):
            for kind, write in (("bert", tiny_model.write), ("causal", tiny_causal.write)):
                folder = self.folder / f"{kind} with {name}"
                write(folder)
                spoil(folder)
                model = "--model", folder.name
                for arguments in (
                        ("ablate", *model, "--data", "-", "--each"),
                        ("patch", *model, "--clean", "so", "--corrupted", "w1"),
                        ("prune", *model, "--heads", "0.0", "--out", "small"),
                        ("view", *model, "so", "--json"),
                        ("heads", *model, "--find", "previous"),
                        ("stats", *model, "so"),
                        ("stats", "--model", "tiny", "--against", folder.name, "so")):
                    with self.subTest(folder.name, arguments=arguments):
                        option = "--against" if "--against" in arguments else "--model"
                        said = self.fail_with(BAD_INPUT, f"headwise: {option}: ", *arguments,
                                              stdin=b"w1 w2\n")
                        self.assertIn(folder.name, said)

    def put_nan(self, folder):
        """In place of the last number of the parameters."""
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-4] + struct.pack("<f", math.nan))

    def test_a_pipe_may_be_named(self):
        os.mkfifo(self.folder / "pipe")
        for arguments, data in (
                (("encode", "--model", "tiny", "pipe", "--json"), b"heads\n"),
                (("run", "--query", "pipe", "--key", "k.npy", "--value",
                  "v.npy", "--out", "o.npy"), self.bytes_of("q.npy"))):
            writer = subprocess.Popen(["tee", "pipe"], cwd=self.folder,
                                      stdin=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL)
            writer.stdin.write(data)
            writer.stdin.close()
            self.succeed(*arguments)
            writer.wait()

    def test_a_pipe_in_a_folder_is_refused_without_waiting(self):
        for name in ("vocab.txt", "model.safetensors", "config.json"):
            folder = self.folder / f"with-{name}"
            shutil.copytree(self.folder / "tiny", folder)
            (folder / name).unlink()
            os.mkfifo(folder / name)
            self.fail_with(BAD_INPUT, f"{name} is not a regular file",
                           "encode", "--model", folder, "lines.txt", "--json")
        tiny_causal.write(self.folder / "causal")
        for name in ("tokenizer.json", "model.safetensors"):
            folder = self.folder / f"causal-with-{name}"
            shutil.copytree(self.folder / "causal", folder)
            (folder / name).unlink()
            os.mkfifo(folder / name)
            self.fail_with(BAD_INPUT, f"{name} is not a regular file",
                           "stats", "--model", folder, "w0 w1")
        (self.folder / "layer").mkdir()
        os.mkfifo(self.folder / "layer/w_q.weight.npy")
        self.fail_with(BAD_INPUT, "w_q.weight.npy is not a regular file",
                       "inspect", "layer")


class ModelFolderTest(FilesTest):
    def other(self):
        """A model with other settings and no classifier."""
        tiny_model.write(self.folder / "other")
        (self.folder / "other/1_Pooling").mkdir()
        module = "sentence_transformers.models."
        self.put_text(json.dumps(
            [{"path": "", "type": module + "Transformer"},
             {"path": "1_Pooling", "type": module + "Pooling"},
             {"path": "2", "type": module + "Normalize"}]),
            "other/modules.json")
        self.put_text(json.dumps({"word_embedding_dimension": 8,
                                  "pooling_mode_cls_token": True}),
                      "other/1_Pooling/config.json")
        return "other"

    def embeddings(self, model):
        self.succeed("encode", "--model", model, "lines.txt", "--out", "e.npy")
        return self.bytes_of("e.npy")

    def test_no_part_of_another_model_stays(self):
        self.succeed(*self.train(model=self.other()))
        self.assertEqual(self.embeddings("trained"), self.embeddings("other"))
        self.assertIn("modules.json", self.tree("trained"))
        self.succeed(*self.train("--force"))
        self.assertEqual(self.embeddings("trained"), self.embeddings("tiny"))
        self.assertEqual(sorted(self.tree("trained")), [
            "classifier.safetensors", "config.json", "model.safetensors",
            "vocab.txt"])
        self.scores()  # tiny has no classifier, and none of "trained" stays
        self.succeed(*self.prune(out="trained"))
        self.assertEqual(sorted(self.tree("trained")), [
            "config.json", "model.safetensors", "vocab.txt"])

    def test_a_failure_leaves_the_old_model(self):
        self.succeed(*self.train(model=self.other()))
        before = self.tree("trained")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        self.refused("cannot write trained/model.safetensors: File too large",
                     *self.train("--force"), code=OUT_OF_RESOURCES,
                     preexec_fn=limit)
        self.assertEqual(self.tree("trained"), before)
        self.assertEqual(self.left_over(), [])

    def test_killed_at_any_moment_there_is_one_model(self):
        self.scores()
        self.succeed(*self.prune("--keep", "4"))
        whole = self.tree("small")
        self.succeed(*self.prune("--keep", "2"))
        half = self.tree("small")
        for kill in range(6 if cli_case.SANITIZED else 20):
            process = subprocess.Popen(
                [cli_case.HEADWISE, *self.prune("--keep", "42"[kill % 2])],
                cwd=self.folder, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            time.sleep(0.003 * kill)
            process.kill()
            process.wait()
            self.assertIn(self.tree("small"), (whole, half))
        self.succeed(*self.prune("--keep", "4"))
        self.assertEqual(self.tree("small"), whole)
        self.assertEqual(self.left_over(), [])

    def test_a_folder_of_something_else_is_refused(self):
        self.scores()
        (self.folder / "thesis").mkdir()
        self.put_text("mine", "thesis/chapter.md")
        for call in (self.prune(out="thesis"), self.train(out="thesis"),
                     self.train("--train", "all", out="thesis")):
            self.refused("--out is thesis, which holds chapter.md (no file of "
                         "a model), expected another folder, or --force", *call)
        self.succeed(*self.prune("--remove", "1", "--force", out="thesis"))
        self.assertEqual(self.bytes_of("thesis/chapter.md"), b"mine")
        self.embeddings("thesis")
        self.succeed(*self.train("--force", out="thesis"))
        self.assertEqual(sorted(self.tree("thesis")), [
            "chapter.md", "classifier.safetensors", "config.json",
            "model.safetensors", "vocab.txt"])

    def test_a_folder_that_the_command_needs_is_refused(self):
        self.scores()
        for out in ("tiny", "./tiny/", "tiny/../tiny"):
            self.refused(f"--out is {out}, expected another folder than "
                         "--model's", *self.prune(out=out))
        self.refused("--out is tiny/small, expected a folder outside --model "
                     "tiny", *self.prune(out="tiny/small"))
        (self.folder / "home").mkdir()
        os.rename(self.folder / "tiny", self.folder / "home/tiny")
        self.refused("--out is home, expected a folder without --model "
                     "home/tiny", *self.prune("--remove", "1", "--force",
                                              out="home", model="home/tiny"))
        self.refused("--out is ., expected a folder without",
                     *self.prune("--remove", "1", "--force", out=".",
                                 model="home/tiny"))

    def test_a_run_that_lacks_its_last_files_is_finished(self):
        for call, names in (
                (("train", "--steps", "2"), ("params.npz", "tokens.txt", "curve.svg")),
                (("train", "--task", "induction", "--steps", "2"),
                 ("config.json", "model.safetensors", "tokenizer.json", "texts.txt"))):
            out = f"run{len(names)}"
            self.succeed(*call, "--out", out)
            whole = self.tree(out)
            for missing in (names, names[-1:], names[:1]):
                for name in missing:
                    (self.folder / out / name).unlink()
                self.succeed("train", "--steps", "2", "--resume", out, "--out", out)
                self.assertEqual(self.tree(out), whole)
            self.refused("--steps is 2, expected more than the 2 that", "train",
                         "--steps", "2", "--resume", out, "--out", out)
            self.succeed("train", "--steps", "2", "--resume", out, "--out",
                         f"other{len(names)}")
            self.assertEqual(self.tree(f"other{len(names)}"), whole)
            # Files of fewer steps are not those of this checkpoint.
            for name in names:
                os.utime(self.folder / out / name, (1, 1))
            self.succeed("train", "--steps", "2", "--resume", out, "--out", out)

    def test_a_refusal_names_resume_where_a_checkpoint_is(self):
        call = self.train("--train", "all", "--epochs", "1")
        self.succeed(*call)
        (self.folder / "trained/checkpoint.npz").rename(self.folder / "kept")
        self.refused("which holds an earlier model, expected another folder, or "
                     "--force", *call)
        (self.folder / "kept").rename(self.folder / "trained/checkpoint.npz")
        self.refused("which holds an earlier model, expected another folder, --resume "
                     "to continue that run, or --force", *call)

    def test_an_earlier_result_is_kept(self):
        self.succeed(*self.train())
        for more in ((), ("--train", "all")):
            self.refused("--out is trained, which holds an earlier model, "
                         "expected another folder, or --force",
                         *self.train(*more))
        self.succeed("train", "--steps", "2", "--task", "reverse", "--out",
                     "run")
        self.refused("--out is run, which holds the checkpoint.npz of an "
                     "earlier run, expected another folder, --resume to "
                     "continue that run, or --force to replace it", "train",
                     "--steps", "2", "--out", "run")
        self.succeed("train", "--steps", "3", "--resume", "run", "--out",
                     "run")
        self.put_text("mine", "run/notes")
        self.succeed("train", "--steps", "2", "--force", "--out", "run")
        self.assertEqual(sorted(self.tree("run")), [
            "checkpoint.npz", "curve.svg", "notes", "params.npz",
            "tokens.txt"])

    def induction(self, *arguments, out="run"):
        return ("train", "--task", "induction", "--steps", "1", "--out", out,
                *arguments)

    def test_models_in_a_folder_of_the_output_stay(self):
        self.scores()
        tiny_causal.write(self.folder / "causal")
        for seed in "12":
            (self.folder / f"runs{seed}").mkdir()
            self.succeed(*self.induction("--seed", seed, out=f"runs{seed}/k"))
            shutil.copytree(self.folder / "tiny", self.folder / f"runs{seed}/tiny")
            self.put_text("mine", f"runs{seed}/vocab.txt")
        before = self.tree("runs1")
        self.refused("--out is runs1, which holds k (no file of a model)",
                     *self.prune(out="runs1"))
        prune_causal = ("prune", "--model", "causal", "--heads", "1.0")
        self.refused("--out is runs1, which holds k (no file of a model)",
                     *prune_causal, "--out", "runs1")
        self.refused("--out is runs1, expected a folder without --resume "
                     "runs1/k/checkpoint.npz", "train", "--resume", "runs1/k",
                     "--steps", "2", "--out", "runs1")
        self.succeed(*self.induction(out="runs1"))
        after = self.tree("runs1")
        self.assertEqual({name: after[name] for name in before}, before)
        del before["vocab.txt"]  # of a model
        self.succeed(*prune_causal, "--force", "--out", "runs1")
        after = self.tree("runs1")
        self.assertEqual({name: after[name] for name in before}, before)
        # A model of BERT's family has a vocab.txt of its own.
        before = self.tree("runs2")
        del before["vocab.txt"]
        self.succeed(*self.prune("--remove", "1", "--force", out="runs2"))
        after = self.tree("runs2")
        self.assertEqual({name: after[name] for name in before}, before)

    def test_a_failed_run_leaves_the_old_model(self):
        self.succeed(*self.induction())
        before = self.tree("run")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (400000, 400000))
        self.fail_with(OUT_OF_RESOURCES, "File too large",
                       *self.induction("--force", "--seed", "2"),
                       preexec_fn=limit)
        self.assertEqual(self.tree("run"), before)

    def test_a_pipe_in_place_of_a_result_is_refused(self):
        self.succeed(*self.induction())
        (self.folder / "run/checkpoint.npz").unlink()
        os.mkfifo(self.folder / "run/checkpoint.npz")
        self.fail_with(BAD_INPUT, "checkpoint.npz is not a regular file",
                       "train", "--resume", "run", "--out", "other")
        (self.folder / "pipe").mkdir()
        os.mkfifo(self.folder / "pipe/texts.txt")
        for more in ((), ("--force",)):
            self.fail_with(USAGE, "--out is pipe, whose texts.txt is not a "
                           "regular file", *self.induction(*more, out="pipe"))

    def test_a_mount_point_is_written_file_by_file(self):
        self.scores()
        (self.folder / "mnt").mkdir()
        command = cli_case.HEADWISE
        script = f"""
            mount -t tmpfs none mnt || exit 99
            set -e
            {command} train --task induction --steps 1 --out mnt
            echo mine > mnt/notes.md
            {command} train --resume mnt --steps 2 --out mnt
            ls -A mnt
            {command} train --task induction --steps 1 --out mnt --force
            {command} prune --model tiny --scores scores.json --remove 1 --out mnt --force
            {command} encode --model mnt lines.txt --out e.npy
            rm mnt/notes.md mnt/texts.txt
            {command} prune --model tiny --scores scores.json --remove 2 --out mnt --force
            ls -A mnt
        """
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
             script], cwd=self.folder, capture_output=True, text=True)
        if done.returncode in (1, 99) and "headwise" not in done.stderr:
            self.skipTest("nothing can be mounted here")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn("checkpoint.npz\nconfig.json\nmodel.safetensors\n"
                      "notes.md\ntexts.txt\ntokenizer.json\n", done.stdout)
        self.assertTrue(done.stdout.endswith(
            "config.json\nmodel.safetensors\nvocab.txt\n"), done.stdout)


if __name__ == "__main__":
    cli_case.main()
