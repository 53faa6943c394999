"""`headwise train --model`: a classifier out of a model's folder."""
import json
import os
import pathlib
import random
import shlex
import struct
import subprocess
import time

import cli_case
import tiny_model
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, CliTest

TOPICS = {"body": ["heads", "머리"], "signs": ["<", "so"]}
SHARED = ["matter", "matters", "internationalisation"]


def examples(seed, count):
    """Lines of two topics, each with words that both have."""
    draw = random.Random(seed)
    lines = []
    for n in range(count):
        label = sorted(TOPICS)[n % 2]
        words = [*draw.choices(TOPICS[label], k=3), draw.choice(SHARED)]
        draw.shuffle(words)
        lines.append(f"{label}\t{' '.join(words)}\n")
    return "".join(lines)


def read_safetensors(path):
    """(metadata, name -> (shape, bytes))"""
    data = pathlib.Path(path).read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    return metadata, {
        name: (tensor["shape"], data[8 + length + tensor["data_offsets"][0]:
                                     8 + length + tensor["data_offsets"][1]])
        for name, tensor in header.items()}


class TrainModelTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")
        self.put_text(examples(1, 41), "data.tsv")
        self.put_text(examples(2, 30), "test.tsv")

    def call(self, *arguments, out="out"):
        return ("train", "--model", "tiny", "--data", "data.tsv", "--out", out,
                *arguments)

    def train(self, *arguments, **options):
        """The lines of JSON."""
        text = self.succeed(*self.call("--json", *arguments, **options))
        return [json.loads(line) for line in text.splitlines()]

    def train_all(self, *arguments, **options):
        return self.train("--train", "all", "--learning-rate", "0.005",
                          *arguments, **options)

    def bytes_of(self, name):
        return (self.folder / name).read_bytes()

    def assert_same_run(self, one, other):
        for name in ("checkpoint.npz", "model.safetensors",
                     "classifier.safetensors"):
            self.assertEqual(self.bytes_of(f"{one}/{name}"),
                             self.bytes_of(f"{other}/{name}"), name)

    # ---- Training. ----

    def test_the_classifier_learns_to_tell_two_topics(self):
        last, = self.train("--test", "test.tsv")
        self.assertEqual((last["examples"], last["labels"], last["train"]),
                         (41, ["body", "signs"], "probe"))
        self.assertEqual((last["measured_on"], last["measured"]), ("test", 30))
        self.assertEqual(last["before"]["accuracy"], 0.5)
        self.assertEqual(last["before"]["of"], "always the commonest label")
        after = last["after"]
        self.assertGreaterEqual(after["accuracy"], 0.9)
        self.assertEqual(after["right"], round(30 * after["accuracy"]))
        self.assertLess(after["low"], after["accuracy"])
        self.assertLessEqual(after["accuracy"], after["high"])
        self.assertGreater(last["change"]["low"], 0.2)

    def test_the_encoder_stays_where_only_the_classifier_learns(self):
        self.train()
        _, source = read_safetensors(self.folder / "tiny/model.safetensors")
        _, out = read_safetensors(self.folder / "out/model.safetensors")
        self.assertEqual(out, source)
        metadata, classifier = read_safetensors(
            self.folder / "out/classifier.safetensors")
        self.assertEqual(json.loads(metadata["labels"]), ["body", "signs"])
        self.assertEqual({name: shape for name, (shape, _)
                          in classifier.items()},
                         {"weight": [2, tiny_model.HIDDEN], "bias": [2]})
        self.assertFalse((self.folder / "out/checkpoint.npz").exists())

    def test_all_parameters_learn(self):
        # Which of two words comes first: their mean embedding does not say it
        # to a linear map as it does to an encoder that may learn.
        draw = random.Random(3)
        lines = []
        for _ in range(48):
            words = draw.sample(["heads", "so"], 2)
            lines.append(f"{words[0]} first\t{' '.join(words)} "
                         f"{draw.choice(SHARED)}\n")
        self.put_text("".join(lines), "data.tsv")
        last = self.train_all("--epochs", "20", "--batch", "8")[-1]
        self.assertEqual((last["steps"], last["train"]), (120, "all"))
        losses = last["epoch_losses"]
        self.assertEqual(len(losses), 20)
        self.assertLess(losses[-1], losses[0])
        self.assertLess(losses[-1], 0.05)
        self.assertEqual(last["after"]["accuracy"], 1)
        self.assertGreaterEqual(last["after"]["accuracy"],
                                last["before"]["accuracy"])
        _, source = read_safetensors(self.folder / "tiny/model.safetensors")
        _, out = read_safetensors(self.folder / "out/model.safetensors")
        self.assertEqual(out.keys(), source.keys())
        for name, tensor in source.items():
            self.assertEqual(tensor[0], out[name][0])
            self.assertNotEqual(tensor[1], out[name][1], name)

    def test_at_a_learning_rate_of_0_nothing_moves(self):
        last = self.train("--train", "all", "--learning-rate", "0")[-1]
        self.assertEqual(last["change"]["change"], 0)
        _, source = read_safetensors(self.folder / "tiny/model.safetensors")
        _, out = read_safetensors(self.folder / "out/model.safetensors")
        self.assertEqual(out, source)
        # And the classifier is where all parameters begin.
        self.train(out="probe")
        self.assertEqual(self.bytes_of("out/classifier.safetensors"),
                         self.bytes_of("probe/classifier.safetensors"))

    def test_each_seed_has_its_order(self):
        self.train_all()
        self.train_all("--seed", "0", out="same")
        self.assert_same_run("out", "same")
        self.train_all("--seed", "1", out="other")
        self.assertNotEqual(self.bytes_of("out/model.safetensors"),
                            self.bytes_of("other/model.safetensors"))

    def test_threads_change_no_bit(self):
        for threads in "12":
            self.train_all("--threads", threads, out=f"out{threads}")
        self.assert_same_run("out1", "out2")

    # ---- Going on. ----

    def test_resumed_it_has_the_bits_of_one_that_never_stopped(self):
        options = ("--seed", "9", "--batch", "7", "--max-tokens", "5")
        whole = self.train_all(*options, "--epochs", "5")[-1]
        self.assertEqual(whole["steps"], 30)
        self.train_all(*options, "--epochs", "2", out="half")
        # What was not given is as it was.
        last = self.train("--train", "all", "--epochs", "5", "--resume", "half",
                          out="resumed")[-1]
        for name in ("steps", "epoch_losses", "before", "after", "max_tokens"):
            self.assertEqual(last[name], whole[name])
        self.assert_same_run("resumed", "out")
        # A run that is done is only written once more.
        self.train("--train", "all", "--resume", "out", out="again")
        self.assertEqual(self.bytes_of("again/model.safetensors"),
                         self.bytes_of("out/model.safetensors"))

    def test_killed_and_resumed_it_has_the_same_bits(self):
        # 2700 steps: the process must not end before it is killed.
        epochs = "60" if cli_case.SANITIZED else "300"
        options = ("--epochs", epochs, "--batch", "5")
        killed = subprocess.Popen(
            [cli_case.HEADWISE, *self.call(
                "--train", "all", "--learning-rate", "0.005", *options,
                out="killed")], cwd=self.folder, stdout=subprocess.DEVNULL)
        path = self.folder / "killed" / "checkpoint.npz"
        try:
            for _ in range(12000):
                if path.exists():
                    break
                time.sleep(0.01)
        finally:
            killed.kill()
            killed.wait()
        # In the middle of an epoch of 9 steps, mostly; of the epochs that were
        # asked for then, of which --resume needs no telling.
        self.train("--train", "all", "--resume", "killed", out="killed")
        self.train_all(*options)
        self.assert_same_run("killed", "out")

    def test_in_bf16_it_is_resumed_in_bf16_alone(self):
        # At a higher rate a small difference soon becomes a large one.
        options = ("--train", "all", "--learning-rate", "0.0005", "--epochs")
        bf16 = ("--arithmetic", "bf16")
        exact = self.train(*options, "2", out="exact")[-1]
        whole = self.train(*options, "2", *bf16)[-1]
        self.assertEqual((exact["arithmetic"], whole["arithmetic"]),
                         ("exact", "bf16"))
        for mean, expected in zip(whole["epoch_losses"], exact["epoch_losses"],
                                  strict=True):
            self.assertNotEqual(mean, expected)
            self.assertAlmostEqual(mean, expected, delta=0.03)
        self.train(*options, "1", *bf16, out="half")
        # What was not given is as it was.
        self.train("--train", "all", "--epochs", "2", "--resume", "half",
                   out="resumed")
        self.assert_same_run("resumed", "out")
        self.fail_with(BAD_INPUT, "out/checkpoint.npz is of a run in bf16 "
                       "arithmetic, expected exact", *self.call(
                           "--train", "all", "--arithmetic", "exact", "--resume",
                           "out", out="new"))

    def test_what_was_trained_in_bf16_is_float32(self):
        self.train_all("--epochs", "1", "--arithmetic", "bf16")
        _, source = read_safetensors(self.folder / "tiny/model.safetensors")
        _, out = read_safetensors(self.folder / "out/model.safetensors")
        self.assertEqual({name: shape for name, (shape, _) in out.items()},
                         {name: shape for name, (shape, _) in source.items()})
        # Many of its numbers are none of bfloat16: their lower half is not 0.
        name = "encoder.layer.1.output.dense.weight"
        lower = out[name][1][0::4]
        self.assertGreater(sum(byte != 0 for byte in lower), len(lower) / 2)
        self.put_text("heads matter\n", "sentences.txt")
        for arithmetic in ("exact", "bf16"):
            self.succeed("classify", "--model", "out", "--arithmetic", arithmetic,
                         "sentences.txt")

    def test_a_classifier_of_embeddings_in_bf16(self):
        last, = self.train("--arithmetic", "bf16", "--test", "test.tsv")
        self.assertEqual(last["arithmetic"], "bf16")
        self.assertEqual(last["next"], "headwise classify --model out "
                         "--arithmetic bf16 sentences.txt")
        self.assertGreaterEqual(last["after"]["accuracy"], 0.9)
        self.train(out="exact")
        self.assertNotEqual(self.bytes_of("out/classifier.safetensors"),
                            self.bytes_of("exact/classifier.safetensors"))
        self.assertRegex(self.succeed(*self.call("--arithmetic", "bf16", "--force")),
                         r"300 steps \(\S+ s, bf16\)")

    def test_a_checkpoint_of_another_run(self):
        self.train_all("--epochs", "2")
        path = "out/checkpoint.npz"
        call = self.call("--train", "all", "--resume", "out", out="new")
        for option, value, message in (
                ("--batch", "8", "batch is 16, expected 8"),
                ("--learning-rate", "1", "learning_rate is 0.005, expected 1"),
                ("--max-tokens", "3", "max_tokens is 12, expected 3"),
                ("--seed", "4", "has the seed 0, expected 4")):
            self.fail_with(BAD_INPUT, message, *call, option, value)
        self.fail_with(USAGE, "--epochs is 1: 3 steps, expected at least the 6 "
                       f"of {path}", *call, "--epochs", "1")
        self.put_text(examples(1, 41) + "body\theads\n", "data.tsv")
        self.fail_with(BAD_INPUT, f"{path} is of a run with other training data, of "
                       "SHA-256 ", *call)
        self.put_text(examples(1, 41), "data.tsv")
        made = tiny_model.tensors()
        name = "encoder.layer.1.output.dense.bias"
        shape, values = made[name]
        made[name] = shape, (values[0] + 1, *values[1:])
        (self.folder / "tiny/model.safetensors").write_bytes(
            tiny_model.safetensors(made))
        self.fail_with(BAD_INPUT, f"{path} is of a run with another model, of "
                       "SHA-256 ", *call)

    def test_a_checkpoint_that_is_none(self):
        call = self.call("--train", "all", "--resume", "old")
        self.fail_with(BAD_INPUT, "old/checkpoint.npz: No such file", *call)
        self.succeed("train", "--steps", "1", "--out", "old")
        self.fail_with(BAD_INPUT, "old/checkpoint.npz is of another model",
                       *call)
        self.train_all(out="whole")
        whole = self.bytes_of("whole/checkpoint.npz")
        (self.folder / "old/checkpoint.npz").write_bytes(whole[:-100])
        self.fail_with(BAD_INPUT, "old/checkpoint.npz", *call)

    # ---- What it says, and what may be done with it. ----

    def test_the_text_ends_with_a_command_that_works(self):
        for train in ("probe", "all"):
            with self.subTest(train):
                text = self.succeed(*self.call(
                    "--train", train, "--test", "test.tsv", "--max-tokens",
                    "5", "--force", out="a folder's"))
                self.assertRegex(
                    text, r"^41 texts of 2 labels \(body, signs\), \d+ of them "
                          r"cut to 5 tokens\.\n")
                self.assertRegex(text, r"On the 30 texts of test.tsv:\n"
                                       r"  before  accuracy \S+% \(\S+ to \S+\)"
                                       r": (always|classifier only).*\n"
                                       r"  after   accuracy \S+% \(\S+ to "
                                       r"\S+\)\n")
                words = shlex.split(text.splitlines()[-1])
                self.assertEqual(words[:2], ["headwise", "classify"])
                self.put_text("heads matter\n", "sentences.txt")
                self.assertRegex(self.succeed(*words[1:]),
                                 r"^(body|signs)\t\S+\theads matter\n$")

    def test_the_examples_work(self):
        text = self.succeed("train", "--help").split("\n\n")[0]
        lines = [line.split() for line in text.splitlines()[1:]
                 if "--model" in line and "mpirun" not in line]
        self.assertEqual(len(lines), 2)
        (self.folder / "tiny").rename(self.folder / "minilm")
        (self.folder / "data.tsv").rename(self.folder / "train.tsv")
        for line in lines:
            self.assertEqual(line[:2], ["headwise", "train"])
            self.succeed(*line[1:])

    def test_without_test_it_says_so(self):
        self.assertIn("On the training data only", self.succeed(*self.call()))
        last, = self.train("--force")
        self.assertEqual((last["measured_on"], last["measured"]),
                         ("training data", 41))

    def test_the_trained_folder_can_be_trained_again(self):
        self.train_all()
        again = self.succeed("train", "--model", "out", "--data", "data.tsv",
                             "--train", "all", "--json", "--out", "again")
        self.assertEqual(json.loads(again.splitlines()[-1])["train"], "all")

    def test_data_from_standard_input(self):
        self.train()
        self.succeed("train", "--model", "tiny", "--data", "-", "--out", "same",
                     stdin=examples(1, 41).encode())
        self.assertEqual(self.bytes_of("same/classifier.safetensors"),
                         self.bytes_of("out/classifier.safetensors"))

    # ---- What is wrong. ----

    def test_options_of_the_other_form(self):
        for option, value in (("--task", "recall"), ("--scoring", "dot"),
                              ("--steps", "3")):
            self.fail_with(USAGE, f"{option} cannot be used with --model",
                           *self.call(option, value))
        for option, value in (("--data", "data.tsv"), ("--test", "test.tsv"),
                              ("--train", "all"), ("--max-tokens", "3"),
                              ("--batch", "3"), ("--epochs", "3")):
            self.fail_with(USAGE, f"{option} needs --model DIR", "train",
                           option, value, "--out", "out")
        for option, value in (("--batch", "3"), ("--epochs", "3"),
                              ("--learning-rate", "1"), ("--seed", "3"),
                              ("--resume", "out")):
            self.fail_with(USAGE, f"{option} needs --train all when --model "
                           "is used", *self.call(option, value))
        self.assertFalse((self.folder / "out").exists())

    def test_wrong_usage(self):
        self.fail_with(USAGE, "--data is required with --model", "train",
                       "--model", "tiny", "--out", "out")
        self.fail_with(USAGE, "--out is required", "train", "--model", "tiny",
                       "--data", "data.tsv")
        self.fail_with(USAGE, "--train is some, expected one of probe, all",
                       *self.call("--train", "some"))
        self.fail_with(USAGE, "--max-tokens is 1, expected at least 2",
                       *self.call("--max-tokens", "1"))
        for option in ("--batch", "--epochs"):
            self.fail_with(USAGE, f"{option} is 0, expected a whole number, "
                           "1 or greater", *self.call("--train", "all", option, "0"))
        self.fail_with(USAGE, "--data and --test are both standard input",
                       "train", "--model", "tiny", "--data", "-", "--test", "-",
                       "--out", "out")

    def test_out_may_not_be_the_source(self):
        before = self.bytes_of("tiny/model.safetensors")
        for out in ("tiny", "./tiny/", "tiny/../tiny"):
            self.fail_with(USAGE, f"--out is {out}, expected another folder "
                           "than --model's", *self.call(out=out))
        self.assertEqual(self.bytes_of("tiny/model.safetensors"), before)
        self.assertFalse((self.folder / "tiny/classifier.safetensors").exists())

    def test_bad_data(self):
        for text, message in (
                ("", "--data: data.tsv is empty"),
                ("heads\nso\n", "--data: data.tsv has no labels, expected "
                                "label<TAB>text in each line"),
                ("a\theads\na\tso\n", "--data: data.tsv has the label a in every "
                                      "line, expected at least two"),
                ("a\theads\nso\n", "--data: data.tsv: line 2 has no tab"),
                ("a\theads\nb\t \n", "--data: data.tsv: line 2 has no "
                                     "text"),
                ("a\theads\n\tso\n", "--data: data.tsv: line 2 has no "
                                     "label"),
                (b"a\theads\n\xff\tso\n", "--data: data.tsv: line 2 is not "
                                          "UTF-8 text: its byte 0 (0xff)"),
                (b"a\theads\nb\tso \xff\n", "--data: data.tsv: line 2 is not "
                                            "UTF-8 text: its byte 5 (0xff)")):
            self.put_text(text, "data.tsv")
            self.fail_with(BAD_INPUT, message, *self.call())
        self.assertFalse((self.folder / "out").exists())
        self.fail_with(BAD_INPUT, "--data: none.tsv: No such file",
                       "train", "--model", "tiny", "--data", "none.tsv",
                       "--out", "out")

    def test_bad_test_data(self):
        for text, message in (
                ("heads\n", "--test: test.tsv has no labels"),
                ("body\theads\nlegs\tso\n", "--test: test.tsv: line 2 has the label "
                                            "legs, expected one of the "
                                            "model's: body, signs")):
            self.put_text(text, "test.tsv")
            self.fail_with(BAD_INPUT, message, *self.call("--test", "test.tsv"))

    def test_bad_folders(self):
        self.fail_with(BAD_INPUT, "none", "train", "--model", "none", "--data",
                       "data.tsv", "--out", "out")
        self.fail_with(OUT_OF_RESOURCES, "--out a/b: No such file",
                       *self.call(out="a/b"))
        self.put_text("no folder", "file")
        self.fail_with(OUT_OF_RESOURCES, "--out file: Not a directory",
                       *self.call(out="file"))
        self.fail_with(OUT_OF_RESOURCES, "file/checkpoint.npz",
                       *self.call("--train", "all", out="file"))
        (self.folder / "pipe").mkdir()
        os.mkfifo(self.folder / "pipe/checkpoint.npz")
        self.fail_with(USAGE, "--out is pipe, whose checkpoint.npz is not a "
                       "regular file", *self.call("--train", "all",
                                                     "--force", out="pipe"))

    def test_a_number_that_is_not_finite_stops_the_run(self):
        line = self.fail_with(BAD_INPUT, "train: step ", *self.call(
            "--train", "all", "--learning-rate", "1e30"))
        self.assertRegex(line, "finite|the loss is")
        self.assertFalse((self.folder / "out/model.safetensors").exists())


if __name__ == "__main__":
    cli_case.main()
