"""Heads as a page, pictures and JSON: headwise view. What is in the page is held
against a second writer in tests/view/inspect/page/viewer."""
import base64
import json
import os
import pathlib
import re
import struct
import unittest
import xml.etree.ElementTree
import zlib

import cli_case
import tiny_model
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, CliTest

SENTENCE = "heads matter so"
IDS = [2, 5, 6, 12, 3]
TOKENS = ["[CLS]", "heads", "matter", "so", "[SEP]"]
SVG = "{http://www.w3.org/2000/svg}"
NO_DISPLAY = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}


class ViewTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")
        self.put("q.npy", 2, 2, 3, 4)
        self.put("k.npy", 2, 1, 5, 4)

    def view(self, *arguments, **options):
        """Of the tiny model; what it says of the page goes to standard error."""
        done = self.run_it("view", "--model", "tiny", SENTENCE, *arguments, **options)
        self.assertEqual(done.returncode, 0, done)
        return done

    def page(self, name="page.html"):
        text = (self.folder / name).read_text("utf-8")
        return json.loads(re.search(
            r'<script type="application/json" id="page">(.*?)</script>', text,
            re.S).group(1))

    def size_of_png(self, name):
        data = (self.folder / name).read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        return struct.unpack(">II", data[16:24])


class Page(ViewTest):
    def test_says_what_it_is_of(self):
        done = self.view("--out", "page.html")
        self.assertEqual(done.stdout, b"")
        self.assertIn("page.html: 2 layers, 5 queries, 5 keys, 0.3 MB",
                      done.stderr.decode())
        page = self.page()
        self.assertEqual(page["query_tokens"], TOKENS)
        self.assertEqual(page["query_special"], [0, 4])
        self.assertEqual((page["model"], page["text"], page["kind"], page["title"]),
                         ("tiny", SENTENCE, "self", "tiny"))
        self.assertEqual(page["command"],
                         f"headwise view --model tiny '{SENTENCE}' --out page.html")
        self.assertEqual([layer["number"] for layer in page["layers"]], [0, 1])

    def test_the_command_that_it_shows_makes_it_again(self):
        self.view("--out", "page.html", "--title", "it's & <mine>")
        first = (self.folder / "page.html").read_bytes()
        command = self.page()["command"]
        os.unlink(self.folder / "page.html")
        done = cli_case.subprocess.run(
            ["sh", "-c", command.replace("headwise", cli_case.HEADWISE, 1)],
            cwd=self.folder, capture_output=True)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual((self.folder / "page.html").read_bytes(), first)

    def test_has_the_title_that_was_given(self):
        self.view("--out", "page.html", "--svg", "heads.svg", "--title", "My <heads>")
        self.assertEqual(self.page()["title"], "My <heads>")
        self.assertIn("<title>My &lt;heads&gt;</title>",
                      (self.folder / "page.html").read_text("utf-8"))
        self.assertIn("My &lt;heads&gt;", (self.folder / "heads.svg").read_text("utf-8"))

    def test_pictures_and_json_beside_it_are_as_alone(self):
        for head in ((), ("--head", "1.1")):
            self.view("--out", "alone.html")
            self.view("--svg", "alone.svg", *head)
            alone = self.view("--json", *head).stdout
            done = self.view("--out", "page.html", "--svg", "heads.svg", "--json", *head)
            self.assertEqual(done.stdout, alone)
            self.assertEqual((self.folder / "heads.svg").read_bytes(),
                             (self.folder / "alone.svg").read_bytes())
            page, other = self.page(), self.page("alone.html")
            self.assertEqual({**page, "command": ""}, {**other, "command": ""})

    def test_it_holds_queries_and_keys_or_weights(self):
        for options, missing, held in (((), "map", "query"), (("--no-elements",), "query", "map")):
            self.view("--out", "page.html", *options)
            for layer in self.page()["layers"]:
                for head in layer["heads"]:
                    self.assertIsNone(head[missing])
                    self.assertIsNotNone(head[held])

    def test_the_steps_of_each_layer_with_their_numbers(self):
        self.view("--out", "page.html", "--layers", "1")
        trace = self.page()["trace"]
        self.assertEqual({step["layer"] for step in trace}, {1})
        steps = {step["step"]: step for step in trace}
        hidden, *_ = list(tiny_model.Encoder().layers(IDS))[1]
        self.assertAlmostEqual(steps["hidden"]["max"], max(map(max, hidden)), delta=1e-5)
        self.assertEqual(steps["scores"]["shape"], [1, 2, 5, 5])
        self.assertTrue(steps["scores"]["formula"])

    def test_of_a_text_it_has_the_norms_of_what_keys_add(self):
        self.view("--out", "page.html")
        page = self.page()
        self.assertEqual(page["measures"], ["norm"])
        stats = json.loads(self.succeed("stats", "--json", "--model", "tiny", SENTENCE,
                                        "--attribution", "norms"))
        expected = {(one["layer"], one["head"]): one for one in stats["heads"]}
        text = (self.folder / "page.html").read_text("utf-8")
        for layer in page["layers"]:
            for head in layer["heads"]:
                block = re.search(f'id="block-{head["norms"]}">([^<]*)<', text).group(1)
                found = struct.unpack("<5f", zlib.decompress(base64.b64decode(block)))
                truth = expected[layer["number"], head["number"]]
                self.assertAlmostEqual(head["pooled"]["norm"], truth["norm"], delta=1e-4)
                for one, other in zip(found, truth["key_norms"]):
                    self.assertAlmostEqual(one, other, delta=1e-5 * other)

    def test_of_tensors_it_has_no_norms(self):
        self.run_it("view", "--query", "q.npy", "--key", "k.npy", "--out", "page.html")
        self.assertEqual(self.page()["measures"], [])

    def test_of_tensors_it_lists_the_steps_by_their_shapes(self):
        self.run_it("view", "--query", "q.npy", "--key", "k.npy", "--causal", "--out",
                    "page.html", "--sequence", "1")
        page = self.page()
        self.assertEqual(page["kind"], "self")  # a causal mask is of one sequence
        steps = {step["step"]: step for step in page["trace"]}
        self.assertEqual(steps["k_heads"]["shape"], [2, 1, 5, 4])
        self.assertNotIn("k_split", steps)
        self.assertIsNone(steps["scores"]["min"])
        self.assertEqual(page["masks"][0]["name"], "causal")

    def test_formulas_name_what_the_layer_takes(self):
        self.view("--out", "page.html")
        formulas = {step["step"]: step["formula"] for step in self.page()["trace"]}
        self.assertEqual(formulas["q"], "q = hidden @ w_q.weight^T + w_q.bias")
        self.assertEqual(formulas["v"], "v = hidden @ w_v.weight^T + w_v.bias")
        self.run_it("view", "--query", "q.npy", "--key", "k.npy", "--causal", "--softcap",
                    "9", "--out", "page.html")
        formulas = {step["step"]: step["formula"] for step in self.page()["trace"]}
        self.assertIn("tanh(scores / softcap)", formulas["capped_scores"])
        self.assertEqual(formulas["masked_scores"],
                         "masked_scores = capped_scores if causal_mask else -inf")
        self.assertIn("softmax(masked_scores[", formulas["attn_weights"])

    def test_elements_can_be_left_out(self):
        self.view("--out", "with.html")
        self.view("--out", "without.html", "--no-elements")
        heads = self.page("without.html")["layers"][0]["heads"]
        self.assertEqual((heads[0]["query"], heads[0]["lse"]), (None, None))
        self.assertIsNotNone(self.page("with.html")["layers"][0]["heads"][0]["query"])

    def test_a_bias_leaves_the_elements_out(self):
        self.put("bias.npy", 3, 5)
        self.run_it("view", "--query", "q.npy", "--key", "k.npy", "--bias", "bias.npy",
                    "--bias-axes", "Lq,Lkv", "--out", "page.html")
        head = self.page()["layers"][0]["heads"][0]
        self.assertIsNone(head["query"])
        self.assertIsNotNone(head["map"])

    def test_korean_by_option_and_by_environment(self):
        self.view("--out", "page.html", "--lang", "ko")
        self.assertEqual(self.page()["lang"], "ko")
        self.view("--out", "page.html", env={"LANG": "ko_KR.UTF-8"})
        self.assertEqual(self.page()["lang"], "ko")

    def test_padded_queries_are_not_in_it(self):
        self.put("lengths.npy", 2, values=[2, 3], descr="<i8")
        self.run_it("view", "--query", "q.npy", "--key", "k.npy", "--query-lengths",
                    "lengths.npy", "--out", "page.html")
        self.assertEqual(self.page()["num_queries"], 2)

    def test_a_text_that_is_cut_is_said(self):
        done = self.run_it("view", "--model", "tiny", "-", "--out", "page.html",
                           stdin=b"heads " * 20)
        self.assertIn("\n10 tokens were cut off at the limit of 12 "
                      "(max_position_embeddings of tiny)\n",
                      done.stderr.decode())

    def test_max_tokens_goes_up_to_the_positions(self):
        (self.folder / "tiny/sentence_bert_config.json").write_text(
            '{"max_seq_length": 5}')
        call = ("view", "--model", "tiny", "heads " * 20, "--json")

        def tokens(*arguments):
            return json.loads(self.succeed(*call, *arguments))["query_tokens"]

        self.assertEqual(len(tokens()), 5)
        for most in (2, 7, 12):
            self.assertEqual(len(tokens("--max-tokens", str(most))), most)
        for most in ("1", "13"):
            self.fail_with(USAGE, f"--max-tokens is {most}, expected 2 to 12, "
                           "the positions of tiny", *call, "--max-tokens", most)
        for arguments, said in (
                ((), "17 tokens were cut off at the limit of 5 (max_seq_length "
                     "of tiny); --max-tokens 12 takes more\n"),
                (("--max-tokens", "7"), "15 tokens were cut off at the limit of "
                 "7 (--max-tokens); --max-tokens 12 takes more\n")):
            done = self.run_it(*call[:-1], "--out", "page.html", *arguments)
            self.assertIn(said, done.stderr.decode())
        self.fail_with(USAGE, "--max-tokens needs --model DIR", "view",
                       "--query", "q.npy", "--key", "k.npy", "--max-tokens",
                       "3", "--json")
        stats = json.loads(self.succeed("stats", *call[1:], "--max-tokens",
                                        "9"))
        self.assertEqual(len(stats["tokens"]), 9)


class Opened(ViewTest):
    def xdg_open(self, script):
        path = self.folder / "bin" / "xdg-open"
        path.parent.mkdir()
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return {"PATH": f"{path.parent}:{os.environ['PATH']}", "DISPLAY": ":0"}

    def test_by_the_programs_of_the_desktop(self):
        self.view("--out", "page.html", "--open",
                  env=self.xdg_open('echo "$1" > opened\n'))
        self.assertEqual((self.folder / "opened").read_text(), "page.html\n")

    def test_without_a_display_the_page_is_there_all_the_same(self):
        done = self.view("--out", "page.html", "--open", env=NO_DISPLAY)
        self.assertIn("no display was found", done.stderr.decode())
        self.assertIn("open page.html in a browser", done.stderr.decode())
        self.assertTrue(self.page())

    def test_alone_it_makes_a_page_of_ones_own(self):
        temporary = self.folder / "temporary"
        temporary.mkdir()
        self.view("--open", env={**self.xdg_open('echo "$1" > opened\n'),
                                 "TMPDIR": str(temporary)})
        page, = temporary.iterdir()
        self.assertEqual((self.folder / "opened").read_text(), f"{page}\n")
        self.assertEqual(page.suffix, ".html")
        self.assertEqual(page.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.page(page)["text"], SENTENCE)

    def test_alone_without_a_display_it_fails_and_names_the_page(self):
        temporary = self.folder / "temporary"
        temporary.mkdir()
        done = self.run_it("view", "--model", "tiny", SENTENCE, "--open",
                           env={**NO_DISPLAY, "TMPDIR": str(temporary)})
        self.assertEqual(done.returncode, OUT_OF_RESOURCES)
        page, = temporary.iterdir()
        self.assertIn(f"open {page} in a browser", done.stderr.decode())
        done = self.run_it("view", "--model", "tiny", SENTENCE, "--open",
                           env={**NO_DISPLAY, "TMPDIR": "/nowhere"})
        self.assertEqual(done.returncode, OUT_OF_RESOURCES)
        self.assertIn("cannot write /nowhere/", done.stderr.decode())

    def test_without_a_browser(self):
        for script, said in (("exit 3\n", "found no browser"),):
            done = self.run_it("view", "--model", "tiny", SENTENCE, "--out", "page.html",
                               "--open", env=self.xdg_open(script))
            self.assertEqual(done.returncode, 0)
            self.assertIn(said, done.stderr.decode())


class Picture(ViewTest):
    def test_of_all_heads(self):
        self.view("--svg", "heads.svg", "--png", "heads.png")
        root = xml.etree.ElementTree.parse(self.folder / "heads.svg").getroot()
        self.assertEqual(len(list(root.iter(SVG + "image"))), 4)
        width, height = self.size_of_png("heads.png")
        self.assertEqual((width, height), (2 * round(float(root.get("width"))),
                                           2 * round(float(root.get("height")))))

    def test_of_one_head(self):
        self.view("--svg", "head.svg", "--head", "1.0")
        text = (self.folder / "head.svg").read_text("utf-8")
        for token in TOKENS:
            self.assertIn(token, text)
        self.assertIn("tiny: layer 1", text)
        self.assertIn(">head 0<", text)

    def test_sorted_by_a_number(self):
        self.view("--svg", "heads.svg", "--sort", "separator")
        notes = re.findall(r">separator (\d\.\d\d)</text>",
                           (self.folder / "heads.svg").read_text("utf-8"))
        self.assertEqual(len(notes), 4)
        self.assertEqual(notes, sorted(notes, reverse=True))

    def test_of_cross_attention_it_names_no_position(self):
        tensors = ("--query", "q.npy", "--key", "k.npy")
        self.run_it("view", *tensors, "--svg", "heads.svg")
        self.run_it("view", *tensors, "--out", "page.html")
        self.assertEqual([one["name"] for one in self.page()["statistics"]],
                         ["entropy", "largest", "first", "separator"])
        text = (self.folder / "heads.svg").read_text("utf-8")
        for name in ("previous", "self", "next", "distance"):
            self.assertNotIn(f">{name} 0.", text)
        head = json.loads(self.succeed("view", *tensors, "--sequence", "0", "--json"))["heads"][0]
        self.assertIsNone(head["previous"])
        self.assertIsNotNone(head["first"])
        self.fail_with(USAGE, "--sort is self, expected one of entropy", "view", *tensors,
                       "--sort", "self", "--svg", "heads.svg")

    def test_the_legend_says_masked_where_something_is(self):
        for more, masked in (((), False), (("--causal",), True)):
            self.run_it("view", "--query", "q.npy", "--key", "k.npy", *more, "--svg",
                        "head.svg", "--head", "0.1")
            self.assertEqual(">masked</text>" in (self.folder / "head.svg").read_text("utf-8"),
                             masked)

    def test_of_cross_attention_with_masked_cells(self):
        done = self.run_it("view", "--query", "q.npy", "--key", "k.npy", "--causal",
                           "--svg", "head.svg", "--head", "0.1")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("url(#masked)", (self.folder / "head.svg").read_text("utf-8"))


class Json(ViewTest):
    def test_of_all_heads_equals_stats(self):
        heads = json.loads(self.view("--json").stdout)["heads"]
        stats = json.loads(self.succeed("stats", "--json", "--model", "tiny",
                                        SENTENCE))["heads"]
        for head, want in zip(heads, stats, strict=True):
            for name in ("layer", "head", "queries_without_key"):
                self.assertEqual(head[name], want[name])
            for name in ("entropy", "distance", "separator"):
                self.assertAlmostEqual(head[name], want[name], delta=1e-5)

    def test_of_one_head_has_its_attention_weights(self):
        done = json.loads(self.view("--json", "--head", "1.1").stdout)
        want = list(tiny_model.Encoder().layers(IDS))[1][1][1]
        (head,) = done["heads"]
        self.assertEqual((done["query_tokens"], done["key_tokens"]), (TOKENS, TOKENS))
        for row, wanted in zip(head["attn_weights"], want, strict=True):
            for number, exact in zip(row, wanted, strict=True):
                self.assertAlmostEqual(number, exact, delta=1e-5)

    def test_masked_pairs_are_null(self):
        done = json.loads(self.succeed(
            "view", "--query", "q.npy", "--key", "k.npy", "--causal", "--json",
            "--head", "0.0", "--sequence", "1"))
        self.assertEqual(done["batch"], {"sequence": 1, "sequences": 2})
        rows = done["heads"][0]["attn_weights"]
        self.assertEqual([[w is None for w in row] for row in rows],
                         [[j > i for j in range(5)] for i in range(3)])


class Refuses(ViewTest):
    def test_options_that_do_not_go_together(self):
        tensors = ("--query", "q.npy", "--key", "k.npy")
        for message, arguments in [
                ("expected --out PAGE.html, --open, --svg FILE, --png FILE or "
                 "--json", tensors),
                ("--no-elements needs --out PAGE.html or --open", (*tensors, "--no-elements", "--json")),
                ("--head needs --svg", (*tensors, "--head", "0.0", "--out", "p.html")),
                ("--title needs --out", (*tensors, "--title", "Mine", "--json")),
                ("--head is 3, expected LAYER.HEAD", (*tensors, "--head", "3", "--json")),
                ("--head is 0.7, expected a head from 0.0 to 0.",
                 (*tensors, "--head", "0.7", "--json")),
                ("--sort needs --svg", (*tensors, "--sort", "self", "--json")),
                ("--svg and --png name one file, x", (*tensors, "--svg", "x", "--png", "x"))]:
            with self.subTest(message):
                self.fail_with(USAGE, message, "view", *arguments)

    def test_an_empty_title(self):
        arguments = ("view", "--query", "q.npy", "--key", "k.npy", "--out", "page.html",
                     "--title", "")
        self.fail_with(USAGE, "--title is empty, expected a value", *arguments)
        done = self.run_it(*arguments, "--lang", "ko")
        self.assertEqual(done.returncode, USAGE, done)
        self.assertIn("--title이 비어 있습니다. 값이 필요합니다", done.stderr.decode())
        self.assertFalse((self.folder / "page.html").exists())

    def test_tensors_that_cannot_be_shown(self):
        self.put("nan.npy", 2, 2, 3, 4, values=[1] * 47 + [float("nan")])
        self.put("large.npy", 2, 2, 3, 4, values=[7e4] * 48)
        self.put("empty.npy", 2, 1, 0, 4)
        for message, arguments in [
                ("expected a finite number",
                 ("--query", "nan.npy", "--sequence", "1")),
                ("expected at most 65504, which binary16 can hold",
                 ("--query", "large.npy")),
                ("tokens: No such file",
                 ("--query", "q.npy", "--query-tokens", "tokens"))]:
            with self.subTest(message):
                self.fail_with(BAD_INPUT, message, "view", *arguments, "--key", "k.npy",
                               "--out", "page.html")
        self.fail_with(USAGE, "--sequence is 2, expected 0 to 1", "view", "--query",
                       "q.npy", "--key", "k.npy", "--sequence", "2", "--out",
                       "page.html")
        for name in "qk":
            self.put(f"{name}0.npy", 0, 2, 3, 4)
        self.fail_with(BAD_INPUT, "query is an empty batch, expected at least one "
                       "sequence", "view", "--query", "q0.npy", "--key", "k0.npy",
                       "--out", "page.html")
        self.put_text("one\ntwo\n", "two")
        self.fail_with(BAD_INPUT, "--query-tokens: two has 2 lines, expected 3", "view",
                       "--query", "q.npy", "--key", "k.npy", "--query-tokens", "two",
                       "--out", "page.html")
        self.fail_with(BAD_INPUT, "key is empty, expected at least one row", "view",
                       "--query", "q.npy", "--key", "empty.npy", "--out", "page.html")
        self.assertFalse((self.folder / "page.html").exists())

    def test_values_beyond_binary16_are_shown_without_elements(self):
        self.put("large.npy", 2, 2, 3, 4, values=[7e4] * 48)
        done = self.run_it("view", "--query", "large.npy", "--key", "k.npy",
                           "--no-elements", "--out", "page.html")
        self.assertEqual(done.returncode, 0, done)

    def test_outputs_that_cannot_be_written(self):
        for option in ("--out", "--svg", "--png"):
            with self.subTest(option):
                done = self.run_it("view", "--model", "tiny", SENTENCE, option,
                                   "nowhere/x")
                self.assertEqual(done.returncode, OUT_OF_RESOURCES, done)
                self.assertIn("nowhere/x: No such file or directory",
                              done.stderr.decode())
        self.assertEqual(self.left_over(), [])

    def test_a_model_of_another_family_names_the_ways_to_see_it(self):
        (self.folder / "rwkv").mkdir()
        (self.folder / "rwkv/config.json").write_text('{"model_type": "rwkv"}')
        for call in (("view", "--out", "page.html"), ("stats",)):
            line = self.fail_with(BAD_INPUT, 'model_type is "rwkv", expected bert, ',
                                  *call, "--model", "rwkv", "a")
            self.assertIn("headwise.observe()", line)
            self.assertIn("--attn-weights FILE", line)

    def test_a_model_that_is_none(self):
        self.fail_with(BAD_INPUT, "nowhere: No such file", "view", "--model", "nowhere", "a",
                       "--out", "page.html")


if __name__ == "__main__":
    cli_case.main()
