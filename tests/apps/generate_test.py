"""headwise generate: the tokens of small random models of every decoder are those of
the reference in tests/model_families, and files say what heads looked at."""
import json
import os
import signal
import subprocess
import time
import unittest

from forward_test import SHAPES, write_model

import numpy as np

import cli_case
import reference
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, CliTest

# Those with logits and room for the steps; where a length decides on rotations, a pass
# over all tokens is another one than that of each step (tests/models/generate).
STEPS = 64 if not cli_case.SANITIZED else 8
PROMPT = [5, 17, 3, 5, 9, 3]
CLOSE = 1e-4  # logits that may change places


def generates(name):
    config, shapes = SHAPES[name]
    positions = config.get("max_position_embeddings", config.get("n_positions", 10**6))
    return (not any(word in name for word in ("dynamic", "longrope", "encoder", "bidirectional")) and
            config["model_type"] not in
            ("bert", "distilbert", "roberta", "xlm-roberta", "camembert", "mpnet", "electra",
             "albert", "modernbert", "nomic_bert", "deberta-v2") and
            positions >= len(PROMPT) + 12)


FORMS = [name for name in SHAPES if generates(name)]


class GenerateTest(CliTest):
    def put(self, name, **settings):
        write_model(self.folder / name, name)
        words = {f"t{n}": n for n in range(SHAPES[name][0]["vocab_size"])}
        (self.folder / name / "tokenizer.json").write_text(json.dumps({
            "version": "1.0", "added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": words, "unk_token": "t0"}}))
        (self.folder / name / "generation_config.json").write_text(
            json.dumps({"eos_token_id": None, **settings}))
        config = json.loads((self.folder / name / "config.json").read_text())
        config.pop("eos_token_id", None)
        (self.folder / name / "config.json").write_text(json.dumps(config))
        return name

    def generate(self, name, *arguments):
        texts = json.loads(self.succeed("generate", "--model", name, "--json",
                                        *arguments))["texts"]
        return texts[0] if len(texts) == 1 else texts

    def test_tokens_are_those_of_the_reference(self):
        for name in FORMS:
            with self.subTest(name):
                self.put(name)
                made = self.generate(name, "--ids", ",".join(map(str, PROMPT)),
                                     "--max-new-tokens", str(STEPS), "--logits", "l.npy")
                start = 2 if name.startswith("bart") else 0
                has_encoder = name.startswith(("t5", "bart"))
                before = [start] if has_encoder else PROMPT
                tokens = before + made["ids"][:-1]
                outputs = reference.run(self.folder / name,
                                        [PROMPT if has_encoder else tokens],
                                        [tokens])
                logits = outputs.logits[len(before) - 1:]
                self.assertEqual(len(logits), len(made["ids"]))
                for row, chosen in zip(logits, made["ids"]):
                    self.assertGreaterEqual(row[chosen], row.max() - CLOSE *
                                            max(1, np.abs(row).max()))
                chances = logits - np.log(np.exp(
                    logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True)) - \
                    logits.max(-1, keepdims=True)
                wanted = chances[np.arange(len(chances)), made["ids"]]
                np.testing.assert_allclose(made["log_probabilities"], wanted, atol=1e-3)
                found = np.load(self.folder / "l.npy")
                self.assertLess(np.abs(found - logits).max(), 2e-5 * np.abs(logits).max())

    def test_files_say_what_heads_looked_at(self):
        for name, heads, before in (("llama_gqa", "1.2,0.0", len(PROMPT)),
                                    ("bart", "1.0,cross.1.1", 1)):
            with self.subTest(name):
                self.put(name)
                prompt = " ".join(f"t{id}" for id in PROMPT)
                made = self.generate(name, prompt, "--max-new-tokens", "5", "--heads",
                                     heads, "--attn-weights", "w.npz", "--stats",
                                     "s.json", "--received", "r.npz")
                tokens = ([2] if before == 1 else PROMPT) + made["ids"]
                ids = ",".join(map(str, tokens[:-1]))
                of_pass = (("--ids", ",".join(map(str, PROMPT)), "--decoder-ids", ids)
                           if before == 1 else ("--ids", ids))
                self.succeed("forward", "--model", name, *of_pass, "--attn-weights",
                             "f.npz")
                whole, rows = np.load(self.folder / "f.npz"), np.load(self.folder / "w.npz")
                self.assertEqual(sorted(rows), sorted(heads.split(",")))
                for head in rows:
                    layer, number = head.rsplit(".", 1)
                    right = whole[layer][0, int(number), before - 1:]
                    found = rows[head]
                    self.assertEqual(found.shape, (5, len(PROMPT) if "cross" in head
                                                   else len(tokens)))
                    np.testing.assert_array_equal(found[:, :right.shape[1]], right)
                received = np.load(self.folder / "r.npz")
                for layer in received:
                    np.testing.assert_allclose(received[layer], whole[layer][0].sum(1),
                                               atol=1e-5)
                stats = json.loads((self.folder / "s.json").read_text())["texts"][0]
                self.assertEqual(stats["ids"], made["ids"])
                for head in stats["heads"]:
                    entry = ("cross." if head["kind"] == "cross" else "") + str(head["layer"])
                    w = whole[entry][0, head["head"], before - 1:]
                    np.testing.assert_allclose(head["largest"], w.max(-1), atol=1e-6)
                    self.assertEqual("distance" in head, head["kind"] == "self")

    def test_text_ends_where_it_is_told(self):
        self.put("gpt2")
        whole = self.generate("gpt2", "t5 t17 t3", "--max-new-tokens", "8")
        self.assertEqual(whole["end"], "max_new_tokens")
        printed = self.succeed("generate", "--model", "gpt2", "t5 t17 t3",
                               "--max-new-tokens", "8")
        self.assertEqual(printed, whole["text"] + "\n")
        word = f"t{whole['ids'][3]}"
        stopped = self.generate("gpt2", "t5 t17 t3", "--max-new-tokens", "8", "--stop", word)
        self.assertEqual(stopped["end"], "stop")
        first = json.loads(self.succeed("generate", "--model", "gpt2", "--json", "--stop", word,
                                        "--stop", "none", "t5 t17 t3"))["texts"][0]
        self.assertEqual(first["text"], stopped["text"])
        self.assertEqual(stopped["text"], whole["text"][:whole["text"].index(word)])
        (self.folder / "gpt2/tokenizer.json").unlink()
        self.assertEqual(self.succeed("generate", "--model", "gpt2", "--ids", "5,17,3",
                                      "--max-new-tokens", "8"),
                         " ".join(map(str, whole["ids"])) + "\n")
        end = whole["ids"][2]
        (self.folder / "gpt2/generation_config.json").write_text(
            json.dumps({"eos_token_id": [1, end]}))
        ended = self.generate("gpt2", "--ids", "5,17,3", "--max-new-tokens", "8")
        self.assertEqual((ended["end"], ended["ids"][-1]), ("end_token", end))

    def test_bits_depend_on_a_prompt_alone(self):
        self.put("qwen3")
        (self.folder / "prompts.txt").write_text("t5 t17 t3\nt9\nt1 t2 t3 t4 t5 t6\n")
        draws = ("--temperature", "0.8", "--top-k", "40", "--seed", "3",
                 "--max-new-tokens", "10")
        together = self.generate("qwen3", "--prompts", "prompts.txt", *draws)
        again = self.generate("qwen3", "--prompts", "prompts.txt", "--threads", "1", *draws)
        self.assertEqual(together, again)
        alone = self.generate("qwen3", "t5 t17 t3", *draws)
        self.assertEqual(alone["log_probabilities"], together[0]["log_probabilities"])
        other = self.generate("qwen3", "t5 t17 t3", *draws[:-4], "--seed", "4",
                              "--max-new-tokens", "10")
        self.assertNotEqual(alone["ids"], other["ids"])

    def test_heads_are_changed_beside_the_model_as_it_is(self):
        self.put("gpt2")
        heads = "0.0,0.1,1.0"
        both = self.generate("gpt2", "t5 t17 t3", "--max-new-tokens", "6", "--ablate", heads)
        as_is = self.generate("gpt2", "t5 t17 t3", "--max-new-tokens", "6")
        self.assertEqual(both[0], as_is)
        self.assertEqual(both[1]["variant"], f"without {heads}")
        # Pruning without the constant part leaves nothing of these heads either.
        self.succeed("prune", "--model", "gpt2", "--heads", heads, "--drop-constant",
                     "--out", "pruned")
        pruned = self.generate("pruned", "t5 t17 t3", "--max-new-tokens", "6")
        self.assertEqual(pruned["ids"], both[1]["ids"])
        np.testing.assert_allclose(pruned["log_probabilities"],
                                   both[1]["log_probabilities"], atol=1e-4)
        patched = self.generate("gpt2", "t5 t17 t3", "--max-new-tokens", "6", "--patch",
                                heads, "--patch-from", "t5 t17 t3")[1]
        self.assertEqual(patched["ids"], as_is["ids"])
        np.testing.assert_allclose(patched["log_probabilities"], as_is["log_probabilities"],
                                   atol=1e-5)
        other = self.generate("gpt2", "t5 t17 t3", "--max-new-tokens", "6", "--patch",
                              heads, "--patch-from", "t8 t9 t10")[1]
        self.assertNotEqual(other["log_probabilities"], as_is["log_probabilities"])
        self.put("t5")
        for place in ("encoder.0.0", "cross.1.0", "0.1"):
            one = self.generate("t5", "t5 t17 t3", "--max-new-tokens", "4", "--ablate", place)
            self.assertNotEqual(one[0]["log_probabilities"], one[1]["log_probabilities"])

    def test_kept_tokens_cost_log_probability(self):
        self.put("llama_gqa")
        call = ("t5 t17 t3 t9 t8 t7 t6 t5", "--max-new-tokens", "6")
        kept = self.generate("llama_gqa", *call, "--keep-tokens", "4")
        self.assertEqual(len(kept["whole_cache_log_probabilities"]), 6)
        self.assertNotEqual(kept["whole_cache_log_probabilities"],
                            kept["log_probabilities"])
        many = self.generate("llama_gqa", *call, "--keep-tokens", "100")
        np.testing.assert_array_equal(many["whole_cache_log_probabilities"],
                                      many["log_probabilities"])
        self.assertRegex(self.succeed("generate", "--model", "llama_gqa", *call,
                                      "--keep-tokens", "4"),
                         r"log-probability of a token: -[\d.]+ with 4 tokens kept")

    def test_a_page_has_prompt_and_text(self):
        for name in ("llama_gqa", "bart"):
            with self.subTest(name):
                self.put(name)
                self.succeed("generate", "--model", name, "t5 t17 t3", "--max-new-tokens",
                             "4", "--page", "page.html")
                page = (self.folder / "page.html").read_text()
                if name != "bart":  # its documents are compressed
                    self.assertIn('"generated_from":3', page)

    def test_settings_that_are_not_used_are_said(self):
        self.put("gpt2", repetition_penalty=1.2, do_sample=True, top_p=0.9)
        done = self.run_it("generate", "--model", "gpt2", "t5", "--max-new-tokens", "2")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stderr.decode(), "not used of generation_config.json: "
                         "do_sample, repetition_penalty\n")

    def test_ctrl_c_keeps_what_was_generated(self):
        self.put("gpt2")
        process = subprocess.Popen(
            [cli_case.HEADWISE, "generate", "--model", "gpt2", "--ids", "5", "--json",
             "--max-new-tokens", "20", "--logits", "l.npy"], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=cli_case.SECONDS)
        self.assertIn(process.returncode, (0, -signal.SIGINT), err)
        if out:  # it had begun
            ids = json.loads(out)["texts"][0]["ids"]
            self.assertEqual(len(np.load(self.folder / "l.npy")), len(ids))
        self.assertEqual(self.left_over(), [])

    def test_bad_input_is_named(self):
        self.put("gpt2")
        self.put("bert")
        model = ("--model", "gpt2")
        for code, said, *call in (
                (USAGE, "give a prompt", *model),
                (USAGE, "PROMPT and --prompts", *model, "t1", "--prompts", "p.txt"),
                (USAGE, "--attn-weights needs --heads", *model, "t1", "--attn-weights",
                 "w.npz"),
                (USAGE, "--temperature", *model, "t1", "--temperature", "nan"),
                (USAGE, "--temperature", *model, "t1", "--temperature", "-1"),
                (USAGE, "--top-p", *model, "t1", "--temperature", "1", "--top-p", "0"),
                (USAGE, "--top-k needs --temperature", *model, "t1", "--top-k", "3"),
                (USAGE, "--stop", *model, "t1", "--stop", ""),
                (USAGE, "--heads is x", *model, "t1", "--heads", "x"),
                (BAD_INPUT, "--heads", *model, "t1", "--heads", "9.0"),
                (USAGE, "--heads has encoder.0.0", *model, "t1", "--heads", "encoder.0.0"),
                (BAD_INPUT, "--ablate", *model, "t1", "--ablate", "cross.0.0"),
                (USAGE, "--patch needs --patch-from", *model, "t1", "--patch", "0.0"),
                (USAGE, "--patch-from has 2 tokens, expected 1", *model, "t1", "--patch",
                 "0.0", "--patch-from", "t1 t2"),
                (BAD_INPUT, "at most", *model, " ".join(["t1"] * 200)),
                (BAD_INPUT, "--ids", *model, "--ids", "5,100000"),
                (BAD_INPUT, "has no logits", "--model", "bert", "t1")):
            with self.subTest(said):
                done = self.run_it("generate", *call)
                self.assertEqual(done.returncode, code, done)
                self.assertIn(said, done.stderr.decode().splitlines()[0])
                self.assertFalse(done.stdout)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_disk_is_said(self):
        self.put("gpt2")
        with open("/dev/full", "wb") as full:
            done = self.run_it("generate", "--model", "gpt2", "t1", "--max-new-tokens", "3",
                               stdout=full)
        self.assertEqual(done.returncode, OUT_OF_RESOURCES, done)
        self.assertIn(b"No space left", done.stderr)


if __name__ == "__main__":
    cli_case.main()
