"""`headwise train` as a process."""
import json
import shlex
import subprocess
import time
import xml.etree.ElementTree
import zipfile

import cli_case
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, CliTest


class TrainTest(CliTest):
    def train(self, *arguments, out="run"):
        """The lines of JSON."""
        text = self.succeed("train", "--json", "--out", out, *arguments)
        return [json.loads(line) for line in text.splitlines()]

    def bytes_of(self, name):
        return (self.folder / name).read_bytes()

    def test_json_says_how_it_went(self):
        lines = self.train("--steps", "3", "--task", "reverse")
        last = lines[-1]
        self.assertEqual(list(last)[:5],
                         ["task", "steps", "seconds", "loss", "accuracy"])
        self.assertEqual((last["task"], last["steps"]), ("reverse", 3))
        self.assertTrue(0 <= last["accuracy"] <= 1)
        self.assertGreater(last["seconds"], 0)
        self.assertEqual(len(last["weight_on_answer"]), 2)
        self.assertEqual(lines[0]["step"], 3)
        self.assertGreater(lines[0]["loss"], 0)

    def test_files(self):
        self.train("--steps", "2")
        names = {path.name for path in (self.folder / "run").iterdir()}
        self.assertEqual(names, {"checkpoint.npz", "params.npz", "tokens.txt",
                                 "curve.svg"})
        xml.etree.ElementTree.parse(self.folder / "run" / "curve.svg")
        lines = (self.folder / "run" / "tokens.txt").read_text().splitlines()
        self.assertEqual([len(line.split()) for line in lines], [12] * 4)

    def test_the_parameters_say_how_many_heads_they_have(self):
        self.train("--steps", "1")
        call = ("explain", "--params", "run/params.npz", "--tokens",
                "run/tokens.txt", "--shapes-only")
        self.assertEqual(json.loads(self.succeed(*call, "--json"))["num_heads"],
                         2)
        self.succeed(*call, "--num-heads", "2")
        self.fail_with(BAD_INPUT, "--num-heads is 8, expected 2 as in "
                       "run/params.npz", *call, "--num-heads", "8")

    def test_the_text_ends_with_the_command_that_shows_the_heads(self):
        for task, scoring, lengths in (
                ("recall", "dot", "(B=4, L=12)"),
                ("reverse", "dot", "(B=4, Lkv=10)"),
                ("recall", "additive", "(B=4, L=12)"),
                ("reverse", "additive", "(B=4, Lkv=10)")):
            with self.subTest((task, scoring)):
                text = self.succeed("train", "--task", task, "--scoring",
                                    scoring, "--steps", "2", "--force", "--out",
                                    "a folder's")
                self.assertIn("loss: * attention, o uniform", text)
                self.assertIn("accuracy", text)
                self.assertIn("To see what each head attends to", text)
                words = shlex.split(text.splitlines()[-1])
                self.assertEqual(words[:2], ["headwise", "explain"])
                shown = self.succeed(*words[1:])
                self.assertIn(lengths, shown)
                self.assertEqual("tanh(" in shown, scoring == "additive")
                svg = self.folder / "a folder's" / "heads.svg"
                xml.etree.ElementTree.parse(svg)

    def test_the_folder_of_a_task_is_read(self):
        self.succeed("train", "--steps", "2", "--out", "run")
        self.assertIn("run/params.npz", self.succeed("inspect", "run"))
        self.succeed("explain", "--params", "run", "--tokens", "run/tokens.txt")
        self.fail_with(BAD_INPUT, "--model run holds a layer trained on generated "
                       "sequences, expected a model of texts; to see its heads: headwise "
                       "explain --params run --tokens run/tokens.txt",
                       "view", "--json", "--model", "run", "w1")

    def test_the_examples_work(self):
        text = self.succeed("train", "--help").split("\n\n")[0]
        lines = [line.split() for line in text.splitlines()[1:]
                 if "--model" not in line]  # train_model_test.py
        self.assertEqual(len(lines), 5)
        for line in lines:
            self.assertEqual(line[:2], ["headwise", "train"])
            # train_accuracy_test.py trains with the default number of steps.
            if "--steps" not in line:
                line += ["--steps", "20"]
            elif cli_case.SANITIZED:
                line[line.index("--steps") + 1] = "25"
            self.succeed(*line[1:])

    def test_induction_writes_a_model(self):
        options = ("--task", "induction", "--seed", "3")
        lines = self.train(*options, "--steps", "3")
        self.assertEqual(list(lines[-1]),
                         ["task", "steps", "seconds", "loss", "accuracy",
                          "arithmetic"])
        names = {path.name for path in (self.folder / "run").iterdir()}
        self.assertEqual(names, {"checkpoint.npz", "config.json", "tokenizer.json",
                                 "model.safetensors", "texts.txt"})
        texts = (self.folder / "run" / "texts.txt").read_text().splitlines()
        self.assertEqual(len(texts), 200)
        for text in texts:
            words = text.split()
            half = len(words) // 2
            self.assertEqual(words[:half], words[half:])
            self.assertEqual(len(set(words)), half)
        seen = json.loads(self.succeed("view", "--model", "run", "--json",
                                       "--head", "1.2", texts[0]))
        weights = seen["heads"][0]["attn_weights"]
        self.assertTrue(all(weight is None for i, row in enumerate(weights)
                            for weight in row[i + 1:]))

    def test_induction_resumed_has_the_bits_of_one_that_never_stopped(self):
        options = ("--task", "induction", "--seed", "3")
        self.train(*options, "--steps", "4", "--threads", "1")
        self.train(*options, "--steps", "2", out="half")
        # What was not given is as it was, the task too.
        self.train("--steps", "4", "--resume", "half", out="whole")
        for name in ("checkpoint.npz", "model.safetensors", "texts.txt"):
            self.assertEqual(self.bytes_of(f"whole/{name}"),
                             self.bytes_of(f"run/{name}"))
        self.train("--steps", "4", "--resume", "half", out="half")
        self.assertEqual(self.bytes_of("half/checkpoint.npz"),
                         self.bytes_of("run/checkpoint.npz"))
        self.fail_with(BAD_INPUT, "is of another model", "train", "--task", "recall",
                       "--resume", "half", "--out", "other")
        self.fail_with(USAGE, "--out is ., expected a folder that is not the current one",
                       "train", *options, "--force", "--out", ".")
        self.fail_with(USAGE, "--scoring cannot be used with --task", "train",
                       *options, "--scoring", "dot", "--out", "other")
        self.fail_with(USAGE, "--scoring cannot be used with --task", "train",
                       "--resume", "half", "--scoring", "additive", "--out",
                       "other")

    def test_threads_change_no_bit(self):
        for threads in "12":
            self.train("--steps", "5", "--threads", threads,
                       out=f"run{threads}")
        for name in ("checkpoint.npz", "params.npz", "curve.svg"):
            self.assertEqual(self.bytes_of(f"run1/{name}"),
                             self.bytes_of(f"run2/{name}"))

    def test_resumed_it_has_the_bits_of_one_that_never_stopped(self):
        options = ("--task", "reverse", "--scoring", "additive", "--seed",
                   "9", "--learning-rate", "0.01")
        self.train(*options, "--steps", "5")
        self.train(*options, "--steps", "2", out="half")
        # What was not given is as it was.
        lines = self.train("--steps", "5", "--resume", "half", out="whole")
        self.assertEqual(lines[-1]["task"], "reverse")
        self.assertEqual(lines[-1]["scoring"], "additive")
        for name in ("checkpoint.npz", "params.npz", "curve.svg",
                     "tokens.txt", "target_tokens.txt"):
            self.assertEqual(self.bytes_of(f"whole/{name}"),
                             self.bytes_of(f"run/{name}"))

    def test_in_bf16_it_is_resumed_in_bf16_alone(self):
        for task, params in (("recall", "params.npz"),
                             ("induction", "model.safetensors")):
            with self.subTest(task):
                options = ("--task", task, "--force", "--steps")
                exact = self.train(*options, "3", out="exact")[-1]
                whole = self.train(*options, "3", "--arithmetic", "bf16")[-1]
                self.assertEqual((exact["arithmetic"], whole["arithmetic"]),
                                 ("exact", "bf16"))
                self.assertNotEqual(self.bytes_of(f"exact/{params}"),
                                    self.bytes_of(f"run/{params}"))
                self.train(*options, "1", "--arithmetic", "bf16", out="half")
                # What was not given is as it was.
                self.train(*options, "3", "--resume", "half", out="resumed")
                for name in ("checkpoint.npz", params):
                    self.assertEqual(self.bytes_of(f"resumed/{name}"),
                                     self.bytes_of(f"run/{name}"))
                call = ("train", *options, "4", "--out", "new", "--resume")
                self.fail_with(BAD_INPUT, "run/checkpoint.npz is of a run in bf16 "
                               "arithmetic, expected exact", *call, "run",
                               "--arithmetic", "exact")
                self.fail_with(BAD_INPUT, "exact/checkpoint.npz is of a run in exact "
                               "arithmetic, expected bf16", *call, "exact",
                               "--arithmetic", "bf16")
        self.assertIn("After 2 steps", self.succeed(
            "train", "--steps", "2", "--out", "said"))
        for language, said in (("en", r"After 2 steps \(\S+ s, bf16\)"),
                               ("ko", r"2스텝\(\S+초, bf16\)")):
            self.assertRegex(self.succeed(
                "train", "--lang", language, "--steps", "2", "--arithmetic", "bf16",
                "--force", "--out", "said"), said)

    def test_killed_and_resumed_it_has_the_same_bits(self):
        killed = subprocess.Popen(
            [cli_case.HEADWISE, "train", "--steps", "100000", "--out",
             "killed"], cwd=self.folder)
        path = self.folder / "killed" / "checkpoint.npz"
        try:
            for _ in range(12000):
                if path.exists():
                    break
                time.sleep(0.05)
        finally:
            killed.kill()
            killed.wait()
        with zipfile.ZipFile(path) as archive:
            # The number behind the header of a .npy file.
            done = int.from_bytes(archive.read("step.npy")[-8:], "little")
        self.assertEqual(done % 100, 0)
        steps = str(done + 20)
        self.train("--steps", steps, out="run")
        self.train("--steps", steps, "--resume", "killed", out="killed")
        self.assertEqual(self.bytes_of("killed/checkpoint.npz"),
                         self.bytes_of("run/checkpoint.npz"))

    def test_wrong_usage(self):
        self.fail_with(USAGE, "--out is required", "train")
        self.fail_with(USAGE, "--task is sort, expected one of recall, "
                       "reverse", "train", "--task", "sort", "--out", "run")
        self.fail_with(USAGE, "--scoring is sum, expected one of dot, "
                       "additive", "train", "--scoring", "sum", "--out", "run")
        self.fail_with(USAGE, "--steps is 0, expected a whole number, 1 or "
                       "greater", "train", "--steps", "0", "--out", "run")
        self.train("--steps", "2")
        self.fail_with(USAGE, "--steps is 2, expected more than the 2 that "
                       "run/checkpoint.npz has", "train", "--steps", "2",
                       "--resume", "run", "--out", "run")

    def test_a_checkpoint_that_is_wrong(self):
        self.train("--steps", "1")
        arguments = ("train", "--resume", "run", "--out", "new")
        self.fail_with(BAD_INPUT, "none/checkpoint.npz: No such file", "train",
                       "--resume", "none", "--out", "new")
        self.fail_with(BAD_INPUT, "run/checkpoint.npz is of another model: "
                       "task is recall, expected reverse", *arguments,
                       "--task", "reverse")
        self.fail_with(BAD_INPUT, "run/checkpoint.npz is of another model: "
                       "scoring is dot, expected additive", *arguments,
                       "--scoring", "additive")
        self.fail_with(BAD_INPUT, "run/checkpoint.npz has the seed 0, "
                       "expected 1", *arguments, "--seed", "1")
        path = self.folder / "run" / "checkpoint.npz"
        whole = path.read_bytes()
        path.write_bytes(whole[:len(whole) // 2])
        self.fail_with(BAD_INPUT, "run/checkpoint.npz", *arguments)
        path.write_bytes((self.folder / "run" / "params.npz").read_bytes())
        self.fail_with(BAD_INPUT, "run/checkpoint.npz is not a checkpoint: it "
                       "has no format", *arguments)
        self.assertFalse((self.folder / "new").exists())

    def test_a_loss_that_is_not_finite_stops_the_run(self):
        self.fail_with(BAD_INPUT, "train: step 2: the loss is nan, and the "
                       "first value that is not finite is the output", "train",
                       "--learning-rate", "1e20", "--out", "run")
        self.assertFalse((self.folder / "run").exists())

    def test_a_folder_that_cannot_be_made(self):
        self.fail_with(OUT_OF_RESOURCES, "--out a/b: No such file", "train",
                       "--steps", "1", "--out", "a/b")
        self.put_text("no folder", "file")
        self.fail_with(OUT_OF_RESOURCES, "file/checkpoint.npz", "train",
                       "--steps", "1", "--out", "file")


if __name__ == "__main__":
    cli_case.main()
