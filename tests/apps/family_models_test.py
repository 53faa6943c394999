"""Every command on models of every family: small random ones with words t0, t1, ..."""
import json
import shutil

from forward_test import SHAPES, write_model

import numpy as np

import cli_case
from cli_case import BAD_INPUT, USAGE, CliTest

FORMS = [name for name in SHAPES if not name.startswith(("t5", "bart"))]
PAIRS = [name for name in SHAPES if name not in FORMS]
DECODERS = ("gpt2", "gpt2_inverse_layer", "llama_gqa", "qwen3", "gemma3", "phi3", "falcon_alibi",
            "gpt_oss")
TEXT = "t3 t17 t5 t17 t40 t3"
IDS = TEXT.replace("t", "").replace(" ", ",")


class FamilyModelsTest(CliTest):
    def put(self, name):
        write_model(self.folder / name, name)
        words = {f"t{n}": n for n in range(SHAPES[name][0]["vocab_size"])}
        (self.folder / name / "tokenizer.json").write_text(json.dumps({
            "version": "1.0", "added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": words, "unk_token": "t0"}}))
        (self.folder / "texts.txt").write_text(f"{TEXT}\nt9 t8 t9 t8\nt1 t2 t3\n")
        return name

    def forward(self, name, ids, *outputs):
        self.succeed("forward", "--model", name, "--ids", ids, *outputs)

    def test_statistics_are_those_of_the_weights_of_a_pass(self):
        for name in FORMS:
            with self.subTest(name):
                self.put(name)
                self.forward(name, IDS, "--attn-weights", "w.npz")
                weights = np.load(self.folder / "w.npz")
                heads = json.loads(
                    self.succeed("stats", "--model", name, TEXT, "--json"))["heads"]
                self.assertEqual(len(heads), sum(w.shape[1] for w in weights.values()))
                for head in heads:
                    w = weights[str(head["layer"])][0, head["head"]].astype(float)
                    logs = np.log(np.where(w > 0, w, 1))
                    entropy = -(w * logs).sum(-1).mean()
                    if name.startswith("gpt_oss"):  # its sinks count as a key
                        sinks = 1 - w.sum(-1)
                        entropy -= (sinks * np.log(np.maximum(sinks, 1e-30))).mean()
                    self.assertAlmostEqual(head["entropy"], entropy, delta=1e-4)

    def test_parts_of_an_encoder_decoder_are_those_of_a_pass(self):
        target = "t9 t8 t7 t8"
        call = TEXT, "--decoder-text", target
        for name in PAIRS:
            with self.subTest(name):
                self.put(name)
                start = "2" if name.startswith("bart") else "0"
                self.forward(name, IDS, "--decoder-ids", f"{start},9,8,7",
                             "--attn-weights", "w.npz")
                weights = np.load(self.folder / "w.npz")
                for part, prefix in (("encoder", "encoder."), ("decoder", ""),
                                     ("cross", "cross.")):
                    heads = json.loads(self.succeed(
                        "stats", "--model", name, *call, "--part", part, "--json"))["heads"]
                    self.assertEqual(len(heads), sum(
                        w.shape[1] for key, w in weights.items()
                        if key.startswith(prefix) and key[len(prefix):].isdigit()))
                    for head in heads:
                        w = weights[f"{prefix}{head['layer']}"][0, head["head"]].astype(float)
                        entropy = -(w * np.log(np.where(w > 0, w, 1))).sum(-1).mean()
                        self.assertAlmostEqual(head["entropy"], entropy, delta=1e-4)
                        self.assertEqual(head["self"] is None, part == "cross")
        done = self.run_it("view", "--model", name, *call, "--out", "page.html")
        self.assertEqual([line.split(":")[0] for line in done.stderr.decode().splitlines()],
                         [f"page.html, {part}" for part in ("encoder", "decoder", "cross")])
        one = json.loads(self.succeed("view", "--model", name, *call, "--json", "--part",
                                      "cross", "--head", "0.1"))
        self.assertEqual(one["query_tokens"], [f"t{start}", "t9", "t8", "t7"])
        self.assertEqual(one["key_tokens"], TEXT.split())

    def test_what_does_not_fit_an_encoder_decoder_is_named(self):
        model = "--model", self.put("bart")
        for said, *call in (
                ("--model needs --decoder-text TEXT or --part encoder", "view", "t1", "--out", "p.html"),
                ("--part is missing, expected encoder, decoder or cross", "stats", "t1",
                 "--decoder-text", "t2"),
                ("--part is missing", "view", "t1", "--decoder-text", "t2", "--json"),
                ("--texts needs --part encoder", "view", "--texts",
                 "texts.txt", "--decoder-text", "t2", "--out", "p.html"),
                ("TEXT has no tokens, expected at least 1", "stats", "", "--part",
                 "cross", "--decoder-text", "t2"),
                ("--layers is 7, expected numbers from 0 to", "stats", "t1",
                 "--decoder-text", "t2", "--part", "cross", "--layers", "7")):
            self.fail_with(USAGE, said, *call, *model)
        for part in ("cross", "encoder"):
            self.fail_with(USAGE, "--part is for an encoder-decoder", "stats", "--model",
                           "bert" if part == "encoder" else self.put("bert"), "t1",
                           "--part", part)

    def test_the_encoder_of_an_encoder_decoder_is_a_model_of_its_own(self):
        """As where its file says that there is no decoder."""
        self.put("t5")
        shutil.copytree(self.folder / "t5", self.folder / "alone")
        config = json.loads((self.folder / "t5/config.json").read_text())
        (self.folder / "alone/config.json").write_text(
            json.dumps({**config, "architectures": ["T5EncoderModel"]}))
        for command in (("encode", "texts.txt", "--json"),
                        ("stats", "--part", "encoder", TEXT, "--json"),
                        ("heads", "--find", "previous", "--json"),
                        ("ablate", "--data", "texts.txt", "--each", "--json"),
                        ("patch", "--clean", "t1 t2 t3", "--corrupted", "t1 t4 t3",
                         "--compare", "--json")):
            of_alone = [word for word in command if word not in ("--part", "encoder")]
            told = [self.succeed(*words, "--model", name)
                    for words, name in ((command, "t5"), (of_alone, "alone"))]
            self.assertEqual(*[text.replace("alone", "t5") for text in told], command)

    def test_encoders_of_encoder_decoders_are_viewed_and_changed(self):
        (self.folder / "labelled.tsv").write_text(
            "text\tlabel\n" + "t1 t2 t3\tone\nt4 t5\ttwo\n" * 8)
        for name in PAIRS:
            with self.subTest(name):
                model = ("--model", self.put(name))
                part = ("--part", "encoder")
                self.run_to_end("view", *model, *part, "--attribution", "gradient", TEXT,
                                "--out", "page.html")
                self.run_to_end("view", *model, *part, "--ablate", "0.1", TEXT, "--out",
                                "page.html")
                self.run_to_end("explain", *model, "--layer", "1", TEXT)
                self.run_to_end("train", *model, "--data", "labelled.tsv", "--epochs", "1",
                                "--train", "all", "--out", "trained", "--force")
                self.run_to_end("importance", "--model", "trained", "--data",
                                "labelled.tsv", "--out", "scores.json")
                for ending, *full in (("pruned",), ("full", "--export", "full-size")):
                    self.run_to_end("prune", *model, "--heads", "0.1,1.0", *full, "--out",
                                    f"{name}-{ending}")
                    self.forward(f"{name}-{ending}", IDS, "--decoder-ids", "0,9,8,7",
                                 "--logits", f"{ending}.npy")
                small, large = (np.load(self.folder / f"{ending}.npy")
                                for ending in ("pruned", "full"))
                self.assertLess(np.abs(small - large).max(), 1e-5 * np.abs(large).max())
                self.forward(f"{name}-pruned", IDS, "--decoder-ids", "0,9,8,7",
                             "--attn-weights", "w.npz", "--heads", "encoder.0.0")
                self.fail_with(BAD_INPUT, "a head that was not pruned", "forward", "--model",
                               f"{name}-pruned", "--ids", IDS, "--decoder-ids", "0,9",
                               "--attn-weights", "w.npz", "--heads", "encoder.0.1")

    def run_to_end(self, *arguments):
        done = self.run_it(*arguments)
        self.assertEqual(done.returncode, 0, done)

    def test_decoders_are_viewed_and_changed(self):
        for name in DECODERS:
            with self.subTest(name):
                model = ("--model", self.put(name))
                seen = json.loads(self.succeed("view", *model, "--json", TEXT))
                self.assertEqual(len(seen["heads"]), len(json.loads(
                    self.succeed("stats", *model, "--json", TEXT))["heads"]))
                self.run_to_end("view", *model, "--attribution", "gradient", TEXT,
                                "--out", "page.html")
                self.run_to_end("explain", *model, "--layer", "1", TEXT)
                self.run_to_end("heads", *model, "--find", "induction")
                self.run_to_end("ablate", *model, "--data", "texts.txt", "--each")
                self.run_to_end("patch", *model, "--clean", "t1 t2 t3", "--corrupted",
                                "t1 t4 t3", "--compare")
                self.run_to_end("importance", *model, "--data", "texts.txt", "--out",
                                "scores.json")
                self.assertEqual(json.loads((self.folder / "scores.json").read_text())["loss"],
                                 "next_token")
                self.run_to_end("encode", *model, "texts.txt", "--out", "e.npy")

    def test_a_pruned_decoder_answers_the_same_questions(self):
        for name in DECODERS:
            with self.subTest(name):
                pruned = f"{name}-pruned"
                said = json.loads(self.succeed(
                    "prune", "--model", self.put(name), "--heads", "0.1,1.0",
                    "--data", "texts.txt", "--out", pruned, "--json"))["next_tokens"]
                self.assertEqual(said["texts"], 3)
                for model, part in ((name, "before"), (pruned, "after")):
                    self.assertAlmostEqual(said[part]["loss"], self.loss(model),
                                           delta=1e-4)
                self.run_to_end("stats", "--model", pruned, TEXT)
                self.run_to_end("stats", "--model", pruned, "--corpus", "texts.txt")
                self.run_to_end("heads", "--model", pruned, "--find", "previous")
                self.run_to_end("ablate", "--model", pruned, "--data", "texts.txt",
                             "--each")
                self.forward(pruned, IDS, "--attn-weights", "w.npz", "--heads", "0.2")

    def loss(self, model):
        losses = []
        for line in (self.folder / "texts.txt").read_text().splitlines():
            ids = [int(word[1:]) for word in line.split()]
            self.forward(model, ",".join(map(str, ids)), "--logits", "logits.npy")
            logits = np.load(self.folder / "logits.npy").astype(float)[:-1]
            chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
            losses.append(-np.log(chances[range(len(ids) - 1), ids[1:]]).mean())
        return np.mean(losses)


if __name__ == "__main__":
    cli_case.main()
